// SPDX-License-Identifier: GPL-2.0
/*
 * What one batch sees of groups.
 *
 * A batch looks at its keys one after the other, while groups come and go. All
 * that it says about an atomic group has to be of one moment:
 *
 *  - what the batch has decided of a group at its first sight, it keeps to;
 *  - a group that became visible after the batch began (kvs_group.born beyond
 *    kvs_view.moment) is not visible to it, since the batch may have found one
 *    of its keys missing before it met the group. The count is taken when all
 *    members are in the index, so who began after finds them all, and then either
 *    sees the group visible or has it in its view as not;
 *  - the members of a group that is hidden while a batch sees it stay in the
 *    index, for that batch alone, until it has ended: kvs_group.viewers.
 *
 * Locking: none. A view is its batch's own; kvs_group.viewers and the group's
 * state are ordered by full barriers on both sides.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "group.h"
#include "result.h"
#include "ttl.h"
#include "view.h"

static struct kvs_sight *view_slot(const struct kvs_view *view, const struct kvs_object *group)
{
	u32 i = hash_ptr(group, 32) & (view->size - 1);

	while (view->sights[i].group && view->sights[i].group != group)
		i = (i + 1) & (view->size - 1);
	return &view->sights[i];
}

/**
 * kvs_view_grow() - make room for more groups
 * @view: the view
 * @nr:   how many more
 *
 * Context: may sleep.
 *
 * Return: false without memory.
 */
bool kvs_view_grow(struct kvs_view *view, unsigned int nr)
{
	struct kvs_sight *old = view->sights;
	u32 size = roundup_pow_of_two(4 * (view->nr + nr)), old_size = view->size, i;
	struct kvs_sight *sights = kvcalloc(size, sizeof(*sights), GFP_KERNEL);

	if (!sights)
		return false;
	view->sights = sights;
	view->size = size;
	for (i = 0; view->nr && i < old_size; i++)
		if (old[i].group)
			*view_slot(view, old[i].group) = old[i];
	if (old != view->fast)
		kvfree(old);
	return true;
}

/** kvs_view_finish() - the batch has ended */
void kvs_view_finish(struct kvs_view *view)
{
	u32 i;

	for (i = 0; i < view->size && view->nr_seen; i++) {
		struct kvs_sight *sight = &view->sights[i];

		if (!sight->group || !sight->seen)
			continue;
		kvs_group_unview(sight->group);
		kvs_object_put(sight->group);
		view->nr_seen--;
		cond_resched();
	}
	if (view->sights != view->fast)
		kvfree(view->sights);
	view->nr = 0;
}

static u8 group_state(const struct kvs_object *group, u8 state)
{
	const struct kvs_group *g = group->group;

	switch (state) {
	case KVS_FILLING:
	case KVS_OPEN:
		return KVSTASH_STATE_FILLING;
	case KVS_WAITING:
		return KVSTASH_STATE_WAITING;
	case KVS_WHOLE:
		if (kvs_object_expired(group))
			return KVSTASH_STATE_EXPIRED;
		return READ_ONCE(g->present) == g->expected ? KVSTASH_STATE_VISIBLE :
							      KVSTASH_STATE_FILLING;
	}
	return KVSTASH_STATE_ABSENT;
}

/*
 * Count as a viewer of an atomic group, unless it is hidden. Until it is buried the
 * index has a reference, so ours is not the first. Nothing is dropped here: that
 * may not be done under RCU.
 */
static bool group_view(struct kvs_object *group)
{
	if (!atomic_inc_not_zero(&group->group->viewers))
		return false;
	refcount_inc(&group->refs);
	return true;
}

/*
 * First sight of an atomic group. One that is hidden between the look at its state
 * and the count of the viewer stays seen: it was visible a moment ago.
 */
static void sight_take(struct kvs_view *view, struct kvs_object *group, struct kvs_sight *out)
{
	/* Pairs with the release when it is shown: members and counts are there. */
	u8 state = smp_load_acquire(&group->state);

	out->present = READ_ONCE(group->group->present);
	out->state = group_state(group, state);
	out->seen = false;
	if (out->state != KVSTASH_STATE_VISIBLE)
		return;
	if (READ_ONCE(group->group->born) > view->moment)
		out->state = KVSTASH_STATE_FILLING;
	else if (group_view(group))
		out->seen = true;
	else
		out->state = KVSTASH_STATE_ABSENT;
}

static void sight_plain(struct kvs_object *group, struct kvs_sight *out)
{
	/* Pairs with the release when it is shown: members and counts are there. */
	u8 state = smp_load_acquire(&group->state);

	out->present = READ_ONCE(group->group->present);
	out->state = group_state(group, state);
	out->seen = (state == KVS_OPEN || state == KVS_WHOLE) && !kvs_object_expired(group);
}

/**
 * kvs_view_group() - how a batch sees a group
 * @view:  what it has seen; has room for one more group
 * @group: under RCU or with a reference
 * @out:   out
 */
void kvs_view_group(struct kvs_view *view, struct kvs_object *group, struct kvs_sight *out)
{
	struct kvs_sight *sight;

	out->group = group;
	if (!kvs_group_atomic(group)) {
		sight_plain(group, out);
		return;
	}
	if (!view->nr)
		memset(view->sights, 0, view->size * sizeof(*view->sights));
	sight = view_slot(view, group);
	if (!sight->group) {
		sight_take(view, group, out);
		*sight = *out;
		view->nr++;
		view->nr_seen += sight->seen;
	}
	*out = *sight;
}

/** kvs_view_knows() - has the batch seen this group visible? */
bool kvs_view_knows(const struct kvs_view *view, const struct kvs_object *group)
{
	return view->nr_seen && view_slot(view, group)->seen;
}

bool kvs_view_sees_slow(struct kvs_view *view, struct kvs_object *obj, u8 state)
{
	struct kvs_sight sight;

	if (kvs_object_is_group(obj)) {
		kvs_view_group(view, obj, &sight);
		return sight.state == KVSTASH_STATE_VISIBLE;
	}
	if (state != KVS_JOINED)
		return kvs_object_visible_slow(obj, state);
	kvs_view_group(view, obj->parent, &sight);
	return sight.seen && !kvs_object_expired(obj);
}

/**
 * kvs_view_absence() - say why an object that was found is not to be seen
 * @view: what the batch has seen
 * @obj:  not visible to it; under RCU or with a reference
 * @r:    out
 */
void kvs_view_absence(struct kvs_view *view, struct kvs_object *obj, struct kvstash_result *r)
{
	bool member = READ_ONCE(obj->state) == KVS_JOINED;
	struct kvs_sight sight;

	if (!member && !kvs_object_is_group(obj)) {
		kvs_object_absence(obj, r);
		return;
	}
	kvs_view_group(view, member ? obj->parent : obj, &sight);
	switch (sight.state) {
	case KVSTASH_STATE_FILLING:
		/*
		 * The other members are no concern of one of a plain group: either its
		 * own time is up, or the group's parent is not there.
		 */
		if (member && !kvs_group_atomic(obj->parent))
			kvs_result(r, -ENOENT, sight.seen ? KVSTASH_R_EXPIRED :
							    KVSTASH_R_PARENT_PENDING, 0);
		else
			kvs_result(r, -ENOENT, KVSTASH_R_GROUP_INCOMPLETE, sight.present);
		break;
	case KVSTASH_STATE_WAITING:
		kvs_result(r, -ENOENT, KVSTASH_R_PARENT_PENDING, sight.present);
		break;
	case KVSTASH_STATE_EXPIRED:
	case KVSTASH_STATE_VISIBLE:
		kvs_result(r, -ENOENT, KVSTASH_R_EXPIRED, 0);
		break;
	default:
		kvs_result(r, -ENOENT, KVSTASH_R_MISS, 0);
	}
}
