// SPDX-License-Identifier: GPL-2.0
/*
 * How objects go: hidden, then buried; by request, eviction, collection or with
 * what they descend from.
 *
 * Locking: an object is hidden under kvs_object_lock(). What follows is done
 * without a lock, and may free memory. Walks over a chain hold references.
 */
#include <linux/sched.h>

#include "evict.h"
#include "group.h"
#include "lease.h"
#include "object.h"
#include "pin.h"
#include "slot.h"
#include "state.h"
#include "trace.h"
#include "ttl.h"
#include "write.h"

/* A group is counted as such; its members are counted when they go. */
static void count_kill_group(struct kvs_ns *ns, enum kvs_kill_why why)
{
	if (why == KVS_KILL_EVICT)
		kvs_stat_inc(ns, GROUPS_EVICTED);
	else if (why == KVS_KILL_COLLECT)
		kvs_stat_inc(ns, GROUPS_COLLECTED);
	else if (why == KVS_KILL_REMOVE)
		kvs_stat_inc(ns, GROUPS_REMOVED);
}

static void count_kill(struct kvs_object *obj, u64 pages, enum kvs_kill_why why)
{
	struct kvs_ns *ns = obj->ns;

	trace_kvstash_kill(obj, why);
	if (kvs_object_is_group(obj)) {
		count_kill_group(ns, why);
		return;
	}
	if (unlikely(kvs_object_is_state(obj)))
		kvs_state_count_kill(obj, why);
	switch (why) {
	case KVS_KILL_REMOVE:
		kvs_stat_inc(ns, REMOVED);
		break;
	case KVS_KILL_EVICT:
		kvs_stat_inc(ns, EVICTIONS);
		kvs_stat_add(ns, EVICTED_BYTES, pages << KVS_PAGE_SHIFT);
		if (!READ_ONCE(obj->hit))
			kvs_stat_inc(ns, EVICTED_UNFETCHED);
		break;
	case KVS_KILL_COLLECT:
		kvs_stat_inc(ns, COLLECTED_INCOMPLETE);
		break;
	case KVS_KILL_WITH_PARENT:
		kvs_stat_inc(ns, KILLED_WITH_PARENT);
		break;
	case KVS_KILL_EXPIRE:
		kvs_stat_inc(ns, EXPIRED);
		break;
	default:
		break;
	}
}

/*
 * Hide @obj, both locks held. Its pages are held from here to the last
 * reference; a part in flight goes on being counted as such until its write
 * ends.
 */
static u64 object_hide(struct kvs_object *obj, enum kvs_kill_why why,
		       struct hlist_head *writes)
{
	u64 pages = kvs_object_pages(obj);
	/* Then its pages were moved when the group was hidden. */
	bool moved = obj->state == KVS_JOINED && obj->parent->state == KVS_DYING;

	/* Until it is shown they are where the place in the leaf tree will be. */
	if (obj->state == KVS_FILLING || obj->state == KVS_JOINED)
		hlist_move_list(&obj->writes, writes);
	if (unlikely(kvs_object_is_group(obj)))
		kvs_group_hide(obj, why);
	else if (kvs_object_is_member(obj))
		kvs_group_hide_member(obj);
	else if (kvs_state_shown(obj->state))
		atomic64_dec(&obj->ns->visible);
	if (obj->leases)
		atomic64_add(kvs_unit_pages(obj), &obj->ns->pool->held_leased);
	kvs_ttl_end(obj);
	kvs_pin_end(obj);
	WRITE_ONCE(obj->state, KVS_DYING);
	if (!hlist_unhashed(&obj->sibling))
		hlist_del_init(&obj->sibling);
	if (pages && !moved)
		kvs_pool_move(obj->ns->pool, pages, KVS_POOL_COMMITTED, KVS_POOL_HELD);
	return pages;
}

/* What a kill does once the object is hidden, without its locks. */
static void object_bury(struct kvs_object *obj, struct hlist_head *writes)
{
	struct kvs_object *parent = obj->parent;

	kvs_evict_unlist(obj);
	if (unlikely(kvs_object_is_state(obj)))
		kvs_slot_unlist(obj);
	/* After unlisting, see "leaf or not" in Documentation/design.rst. */
	if (parent && !kvs_object_has_children(parent))
		kvs_evict_list_leaf(parent);
	if (kvs_object_is_group(obj)) {
		kvs_group_unview(obj);
		return;
	}
	kvs_index_remove(obj);
	kvs_write_orphan(obj, writes);
	kvs_object_put(obj);	/* the index's */
}

/**
 * kvs_object_kill() - hide an object without children and forget it
 * @obj: with a reference of the caller's
 * @why: for the counters
 *
 * Return: false if it has children or is dying already.
 */
bool kvs_object_kill(struct kvs_object *obj, enum kvs_kill_why why)
{
	HLIST_HEAD(writes);
	u64 pages;

	kvs_object_lock(obj);
	if (obj->state == KVS_DYING || kvs_object_has_children(obj)) {
		kvs_object_unlock(obj);
		return false;
	}
	pages = object_hide(obj, why, &writes);
	kvs_object_unlock(obj);

	count_kill(obj, pages, why);
	object_bury(obj, &writes);
	return true;
}

/**
 * kvs_object_evict() - kill an object if it is still a leaf that nobody holds
 * @obj: with a reference of the caller's
 *
 * Return: true if it was evicted.
 */
bool kvs_object_evict(struct kvs_object *obj)
{
	HLIST_HEAD(writes);
	u64 pages;

	kvs_object_lock(obj);
	if (!kvs_state_shown(obj->state) || kvs_object_has_children(obj) ||
	    obj->pin == KVSTASH_PIN_HARD || kvs_object_held(obj, 1)) {
		kvs_object_unlock(obj);
		return false;
	}
	pages = object_hide(obj, KVS_KILL_EVICT, &writes);
	kvs_object_unlock(obj);

	count_kill(obj, pages, KVS_KILL_EVICT);
	object_bury(obj, &writes);
	return true;
}

/* Nobody fills it, and nobody will: both locks are held. */
static bool object_idle(const struct kvs_object *obj)
{
	if (kvs_object_fills(obj))
		return kvs_object_is_group(obj) ? !obj->group->writers :
						  hlist_empty(&obj->writes);
	return obj->state == KVS_WAITING;
}

/**
 * kvs_object_collect() - kill an object that is not complete and nobody fills
 * @obj: with a reference of the caller's
 *
 * Return: true if it was killed; false if it has children, a living client's
 * part, is complete or held, or is dying already.
 */
bool kvs_object_collect(struct kvs_object *obj)
{
	enum kvs_kill_why why;
	HLIST_HEAD(writes);
	u64 pages = 0;
	bool ok;

	kvs_object_lock(obj);
	ok = object_idle(obj) && !kvs_object_has_children(obj) &&
	     !(obj->flags & KVS_OBJ_REMOVING) && obj->pin != KVSTASH_PIN_HARD &&
	     !obj->leases;
	why = kvs_object_fills(obj) ? KVS_KILL_COLLECT : KVS_KILL_WITH_PARENT;
	if (ok)
		pages = object_hide(obj, why, &writes);
	kvs_object_unlock(obj);
	if (!ok)
		return false;

	count_kill(obj, pages, why);
	object_bury(obj, &writes);
	return true;
}

/**
 * kvs_object_deepest() - go down the first children to one that has none
 * @obj: with a reference of the caller's, which stays
 *
 * Return: @obj or a descendant, with a reference.
 */
struct kvs_object *kvs_object_deepest(struct kvs_object *obj)
{
	struct kvs_object *cur = obj, *child;

	refcount_inc(&cur->refs);
	for (;;) {
		spin_lock(&cur->lock);
		child = hlist_entry_safe(cur->children.first ?: cur->waiting.first,
					 struct kvs_object, sibling);
		if (child)
			refcount_inc(&child->refs);
		spin_unlock(&cur->lock);
		if (!child)
			return cur;
		kvs_object_put(cur);
		cur = child;
		cond_resched();
	}
}

/* A child of @obj, marked so that it takes no children; with a reference. */
static struct kvs_object *removing_child(struct kvs_object *obj)
{
	struct kvs_object *child;

	spin_lock(&obj->lock);
	obj->flags |= KVS_OBJ_REMOVING;
	child = hlist_entry_safe(obj->children.first ?: obj->waiting.first,
				 struct kvs_object, sibling);
	if (child) {
		spin_lock_nested(&child->lock, SINGLE_DEPTH_NESTING);
		child->flags |= KVS_OBJ_REMOVING;
		refcount_inc(&child->refs);
		spin_unlock(&child->lock);
	}
	spin_unlock(&obj->lock);
	return child;
}

/**
 * kvs_object_kill_tree() - kill an object and all that descend from it
 * @root: with a reference of the caller's
 * @why:  for the counters
 *
 * Deepest first, so that no child is visible without its parent (I9). No object
 * can join a subtree once its root is marked, so this ends.
 */
void kvs_object_kill_tree(struct kvs_object *root, enum kvs_kill_why why)
{
	struct kvs_object *cur = root, *next;

	for (;;) {
		next = removing_child(cur);
		if (next) {
			cur = next;
			continue;
		}
		kvs_object_kill(cur, cur == root ? why : KVS_KILL_WITH_PARENT);
		if (cur == root)
			return;
		next = cur->parent;
		kvs_object_put(cur);
		cur = next;
		cond_resched();
	}
}

/**
 * kvs_object_remove() - remove an object on request
 * @obj: with a reference of the caller's
 *
 * Return: 0; -EBUSY if a living client is filling it, also if it is a plain group
 * that shows members meanwhile; -ENOENT if another request was first. It is hidden
 * in any case but the second.
 */
int kvs_object_remove(struct kvs_object *obj)
{
	int ret = 0;

	spin_lock(&obj->lock);
	if (kvs_object_fills(obj) && !object_idle(obj))
		ret = -EBUSY;
	else if (obj->state == KVS_DYING || (obj->flags & KVS_OBJ_REMOVING))
		ret = -ENOENT;
	else
		obj->flags |= KVS_OBJ_REMOVING;
	spin_unlock(&obj->lock);
	if (ret != -EBUSY)
		kvs_object_kill_tree(obj, KVS_KILL_REMOVE);
	return ret;
}

/* As kvs_object_settle(), for a member: its group decides how long it stays. */
static void settle_member(struct kvs_object *obj)
{
	struct kvs_object *group = obj->parent;
	bool useless;

	kvs_object_lock(obj);
	useless = obj->state == KVS_FILLING && hlist_empty(&obj->writes) &&
		  (!obj->nr_present || !kvs_object_fills(group));
	if (useless)
		obj->flags |= KVS_OBJ_REMOVING;
	kvs_object_unlock(obj);
	if (useless)
		kvs_object_kill(obj, obj->nr_present ? KVS_KILL_COLLECT : KVS_KILL_EMPTY);
	kvs_group_settle(group);
}

/**
 * kvs_object_settle() - look at an object after one of its writes ended
 * @obj: with a reference of the caller's; no lock held
 *
 * Nobody fills it any more: without a committed part it goes at once, else it
 * is idle.
 */
void kvs_object_settle(struct kvs_object *obj)
{
	bool empty = false, collect = false;

	if (kvs_object_is_member(obj)) {
		settle_member(obj);
		return;
	}
	spin_lock(&obj->lock);
	if (obj->state == KVS_FILLING && hlist_empty(&obj->writes)) {
		empty = !obj->nr_present;
		collect = obj->flags & KVS_OBJ_NO_LINGER;
		if (empty)
			obj->flags |= KVS_OBJ_REMOVING;
		else
			kvs_evict_list_idle(obj);
	}
	spin_unlock(&obj->lock);
	if (empty)
		kvs_object_kill_tree(obj, KVS_KILL_EMPTY);
	else if (collect)
		kvs_object_collect(obj);
}
