// SPDX-License-Identifier: GPL-2.0
/*
 * Groups: members come, the group is whole, the group goes.
 *
 * A group is an object whose members are other objects, in place of parts. It has
 * the state; a member that is complete is only JOINED to it. So one store makes
 * an atomic group visible, and one hides it.
 *
 * Locking: a member's parent is its group, so kvs_object_lock() of a member takes
 * the group's lock first, and that of the group its parent's. The group's lock
 * guards struct kvs_group and both lists of members.
 *
 * Lifetime: a member holds a reference on its group until it is freed. Nobody
 * holds one on a member for being listed: whoever kills it takes it off. Members
 * of a dying group are killed one at a time by who drops the last of
 * kvs_group.viewers, see view.c.
 */
#include <linux/bitmap.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "evict.h"
#include "group.h"
#include "result.h"
#include "ttl.h"
#include "write.h"

/**
 * kvs_group_alloc() - the part of a group that is no object's
 * @id: identity of the group
 */
struct kvs_group *kvs_group_alloc(const struct kvs_identity *id)
{
	struct kvs_group *g;

	g = kvzalloc(struct_size(g, taken, BITS_TO_LONGS(id->members)), GFP_KERNEL);
	if (!g)
		return NULL;
	g->expected = id->members;
	atomic_set(&g->viewers, 1);
	return g;
}

size_t kvs_group_meta(const struct kvs_object *group)
{
	return struct_size(group->group, taken, BITS_TO_LONGS(group->group->expected));
}

/*
 * Make the group that a member names, if nobody else does. Returns 0 with *@out;
 * -EAGAIN if the parent has just gone; or an error with its result.
 */
static int group_make(const struct kvs_identity *id, struct kvs_object **out,
		      struct kvstash_result *r)
{
	struct kvs_identity gid = {
		.key = id->group, .parent = id->parent, .members = id->members,
		.flags = id->flags, .root_if_no_parent = id->root_if_no_parent,
	};
	struct kvs_object *group;
	int ret;

	ret = kvs_object_make(&gid, kvs_parent_get(&gid, r), &group, r);
	if (ret)
		return ret;
	refcount_inc(&group->refs);
	*out = kvs_index_insert(group);
	if (*out) {
		refcount_dec(&group->refs);
		kvs_object_discard(group);
		return 0;
	}
	if (!kvs_object_attach(group)) {
		kvs_group_attached(group);
		/* Others may have found it, and put all of its members, before that. */
		kvs_group_complete(group);
		*out = group;
		return 0;
	}
	kvs_object_kill_tree(group, KVS_KILL_EMPTY);
	kvs_object_put(group);
	return -EAGAIN;
}

/**
 * kvs_group_get() - the group that a member names
 * @id:  identity of the member
 * @out: out: the group, with a reference
 * @r:   out: why not
 *
 * Return: 0; -EAGAIN: try again; or a negative errno.
 */
int kvs_group_get(const struct kvs_identity *id, struct kvs_object **out,
		  struct kvstash_result *r)
{
	int ret;

	*out = kvs_index_get(&id->group);
	if (*out && kvs_object_expired(*out)) {
		kvs_object_expire(*out);
		kvs_object_put(*out);
		return -EAGAIN;
	}
	if (!*out) {
		ret = group_make(id, out, r);
		if (ret)
			return ret;
	}
	r->reason = kvs_group_mismatch(*out, id, &r->detail);
	if (!r->reason)
		return 0;
	kvs_object_put(*out);
	return kvs_result(r, -EXDEV, r->reason, r->detail);
}

/**
 * kvs_group_mismatch() - compare what a member says of its group
 * @group:  the group, with a reference
 * @id:     identity of the member
 * @detail: out: goes with the reason
 *
 * Return: 0 or KVSTASH_R_MISMATCH_*.
 */
u32 kvs_group_mismatch(const struct kvs_object *group, const struct kvs_identity *id,
		       u64 *detail)
{
	if (group->group->expected != id->members) {
		*detail = group->group->expected;
		return KVSTASH_R_MISMATCH_MEMBERS;
	}
	if ((group->flags ^ id->flags) & KVS_OBJ_ATOMIC)
		return KVSTASH_R_MISMATCH_FLAGS;
	if (kvs_object_parent_differs(group, &id->parent))
		return KVSTASH_R_MISMATCH_PARENT;
	return 0;
}

/**
 * kvs_group_index_taken() - does a member have an index?
 * @group:   with a reference
 * @index:   of it
 * @changes: out: kvs_group.changes
 *
 * If it does at two moments with the same @changes, it is one and the same member,
 * and was in the index of keys all the while.
 *
 * Return: false, too, if the group is going.
 */
bool kvs_group_index_taken(struct kvs_object *group, unsigned int index, u32 *changes)
{
	bool taken;

	spin_lock(&group->lock);
	taken = group->state != KVS_DYING && test_bit(index, group->group->taken);
	*changes = group->group->changes;
	spin_unlock(&group->lock);
	return taken;
}

static u32 count_writes(const struct kvs_object *obj)
{
	const struct hlist_node *node;
	u32 nr = 0;

	for (node = obj->writes.first; node; node = node->next)
		nr++;
	return nr;
}

/**
 * kvs_group_join() - a new object takes its index in its group
 * @obj: in the index, with a part in flight
 *
 * Return: 0; -ENOENT if the group is going; -EXDEV if the index is another's.
 */
int kvs_group_join(struct kvs_object *obj)
{
	struct kvs_object *group = obj->parent;
	struct kvs_group *g = group->group;
	u32 ttl_ms = obj->extra ? obj->extra->ttl_ms : 0;
	int ret = 0;

	kvs_object_lock(obj);
	if (group->state == KVS_DYING || (group->flags & KVS_OBJ_REMOVING) ||
	    obj->state == KVS_DYING) {
		ret = -ENOENT;
	} else if (__test_and_set_bit(obj->index, g->taken)) {
		ret = -EXDEV;
	} else {
		obj->flags |= KVS_OBJ_IN_GROUP;
		group->flags |= obj->flags & KVS_OBJ_NO_LINGER;
		if (kvs_group_atomic(group))
			g->ttl_ms = min_not_zero(g->ttl_ms, ttl_ms);
		hlist_add_head(&obj->sibling, &g->fresh);
		g->changes++;
		g->has_state |= kvs_object_is_state(obj);
		atomic_inc(&g->kids);
		g->writers += count_writes(obj);
		if (kvs_object_fills(group))
			kvs_evict_unlist(group);
	}
	kvs_object_unlock(obj);
	return ret;
}

/* The members are visible from now on. @group->lock held. */
void kvs_group_show(struct kvs_object *group)
{
	struct kvs_ns *ns = group->ns;

	lockdep_assert_held(&group->lock);
	atomic64_add(group->group->present, &ns->visible);
	kvs_stat_add(ns, PUBLISHED, group->group->present);
}

/**
 * kvs_group_open() - show the members of a plain group, or let it wait to
 * @group: lacks members; kvs_object_lock() held
 */
void kvs_group_open(struct kvs_object *group)
{
	struct kvs_object *parent = group->parent;
	bool shown = !parent || kvs_state_shown(parent->state);

	lockdep_assert_held(&group->lock);
	if (parent) {
		hlist_del(&group->sibling);
		hlist_add_head(&group->sibling, shown ? &parent->children : &parent->waiting);
		group->expires = parent->expires;
	}
	if (!shown)
		return;
	/* Pairs with the acquire in kvs_object_visible(). */
	smp_store_release(&group->state, KVS_OPEN);
	kvs_group_show(group);
}

/** kvs_group_attached() - a group that was just made has its place in the chain */
void kvs_group_attached(struct kvs_object *group)
{
	if (kvs_group_atomic(group))
		return;
	kvs_object_lock(group);
	if (group->state == KVS_FILLING)
		kvs_group_open(group);
	kvs_object_unlock(group);
}

/*
 * A plain group grows or shrinks under its leases or its pin. What is leased stays
 * charged until the last lease goes, since a lease keeps removed bytes, too.
 */
static void group_add_pages(struct kvs_object *group, s64 pages)
{
	struct kvs_group *g = group->group;

	g->pages += pages;
	if (group->leases && pages > 0) {
		g->leased += pages;
		atomic64_add(pages, &group->ns->leased);
	}
	if (group->pin == KVSTASH_PIN_HARD) {
		g->pinned += pages;
		atomic64_add(pages, &group->ns->pinned);
	}
}

/**
 * kvs_group_member_done() - all parts of a member are committed
 * @obj:  the member; kvs_object_lock() held
 * @done: out: its writes, if nobody needs them any more
 *
 * Until the group is whole the writes stay, as a sign that a living client
 * contributed.
 *
 * Return: true if kvs_group_complete() is to be called, without the locks.
 */
bool kvs_group_member_done(struct kvs_object *obj, struct hlist_head *done)
{
	struct kvs_object *group = obj->parent;
	struct kvs_group *g = group->group;

	lockdep_assert_held(&group->lock);
	g->present++;
	g->changes++;
	group_add_pages(group, kvs_object_pages(obj));
	WRITE_ONCE(group->bytes, group->bytes + obj->bytes);
	if (!kvs_group_atomic(group))
		kvs_ttl_begin(obj);
	/* Pairs with the acquire in kvs_object_visible(). */
	smp_store_release(&obj->state, KVS_JOINED);
	if (group->state == KVS_OPEN || group->state == KVS_WHOLE) {
		atomic64_inc(&obj->ns->visible);
		kvs_stat_inc(obj->ns, PUBLISHED);
	}
	if (!kvs_object_fills(group)) {
		hlist_move_list(&obj->writes, done);
		hlist_del(&obj->sibling);
		hlist_add_head(&obj->sibling, &g->settled);
	}
	return g->present == g->expected && kvs_object_fills(group);
}

/* Let go of the writes of the members, one member at a time. */
static void release_writes(struct kvs_object *group)
{
	struct kvs_group *g = group->group;
	struct kvs_object *obj;
	HLIST_HEAD(done);

	for (;;) {
		spin_lock(&group->lock);
		obj = group->state == KVS_DYING ? NULL :
		      hlist_entry_safe(g->fresh.first, struct kvs_object, sibling);
		if (obj) {
			spin_lock_nested(&obj->lock, SINGLE_DEPTH_NESTING);
			refcount_inc(&obj->refs);
			hlist_del(&obj->sibling);
			hlist_add_head(&obj->sibling, &g->settled);
			g->changes++;
			if (obj->state == KVS_JOINED)
				hlist_move_list(&obj->writes, &done);
			spin_unlock(&obj->lock);
		}
		spin_unlock(&group->lock);
		if (!obj)
			return;
		kvs_write_orphan(obj, &done);
		kvs_object_put(obj);
		cond_resched();
	}
}

/* It has its place in the chain; kvs_object_lock() held. */
static bool group_in_place(const struct kvs_object *group)
{
	return !group->parent || !hlist_unhashed(&group->sibling);
}

/**
 * kvs_group_complete() - publish a group if it has its place and all its members
 * @group: with a reference; no lock held
 *
 * Called by whoever does the last of the two.
 */
void kvs_group_complete(struct kvs_object *group)
{
	struct kvs_group *g = group->group;
	bool whole, visible = false;

	kvs_object_lock(group);
	whole = kvs_object_fills(group) && g->present == g->expected && group_in_place(group);
	if (whole) {
		/* Its place in the idle list is the leaf tree's from here on. */
		kvs_evict_unlist(group);
		visible = kvs_object_publish(group, ktime_get_ns());
	}
	kvs_object_unlock(group);
	if (!whole)
		return;
	release_writes(group);
	if (visible)
		kvs_object_published(group);
}

/**
 * kvs_group_hide() - what hiding a group does beside
 * @group: about to be dying; kvs_object_lock() held
 * @why:   goes for its members, too
 */
void kvs_group_hide(struct kvs_object *group, enum kvs_kill_why why)
{
	struct kvs_ns *ns = group->ns;

	lockdep_assert_held(&group->lock);
	if (group->state == KVS_OPEN || group->state == KVS_WHOLE)
		atomic64_sub(group->group->present, &ns->visible);
	atomic64_dec(group->state == KVS_WHOLE ? &ns->whole : &ns->filling);
	/* Its members' pages are held from here on, whenever these are buried. */
	if (group->group->pages)
		kvs_pool_move(ns->pool, group->group->pages, KVS_POOL_COMMITTED, KVS_POOL_HELD);
	group->group->why = why;
}

/**
 * kvs_group_hide_member() - a member leaves its group, which may be dying
 * @obj: about to be dying; kvs_object_lock() held
 */
void kvs_group_hide_member(struct kvs_object *obj)
{
	struct kvs_object *group = obj->parent;
	struct kvs_group *g = group->group;

	lockdep_assert_held(&group->lock);
	if (!(obj->flags & KVS_OBJ_IN_GROUP))
		return;
	g->changes++;
	__clear_bit(obj->index, g->taken);
	if (group->state == KVS_DYING || obj->state != KVS_JOINED)
		return;
	g->present--;
	group_add_pages(group, -(s64)kvs_object_pages(obj));
	WRITE_ONCE(group->bytes, group->bytes - obj->bytes);
	if (group->state == KVS_OPEN || group->state == KVS_WHOLE)
		atomic64_dec(&obj->ns->visible);
}

/* A member of a dying group, with a reference; each is taken once. */
static struct kvs_object *next_member(struct kvs_object *group)
{
	struct kvs_group *g = group->group;
	struct kvs_object *obj;

	spin_lock(&group->lock);
	obj = hlist_entry_safe(g->fresh.first ?: g->settled.first, struct kvs_object, sibling);
	if (obj)
		refcount_inc(&obj->refs);
	spin_unlock(&group->lock);
	return obj;
}

/**
 * kvs_group_unview() - drop one of kvs_group.viewers
 * @group: with a reference of the caller's; no lock held
 *
 * The last finds the group dying, and buries it with its members.
 */
void kvs_group_unview(struct kvs_object *group)
{
	struct kvs_object *obj;

	if (!atomic_dec_and_test(&group->group->viewers))
		return;
	while ((obj = next_member(group))) {
		kvs_object_kill(obj, group->group->why);
		kvs_object_put(obj);
		cond_resched();
	}
	kvs_index_remove(group);
	kvs_object_put(group);	/* the index's */
}

/**
 * kvs_group_settle() - look at a group after a write or a member of it ended
 * @group: with a reference of the caller's; no lock held
 */
void kvs_group_settle(struct kvs_object *group)
{
	struct kvs_group *g = group->group;
	bool empty = false, collect = false;

	spin_lock(&group->lock);
	if (kvs_object_fills(group) && !g->writers) {
		empty = hlist_empty(&g->fresh) && hlist_empty(&g->settled);
		collect = group->flags & KVS_OBJ_NO_LINGER;
		if (empty)
			group->flags |= KVS_OBJ_REMOVING;
		else
			kvs_evict_list_idle(group);
	}
	spin_unlock(&group->lock);
	if (empty)
		kvs_object_kill_tree(group, KVS_KILL_EMPTY);
	else if (collect)
		kvs_object_collect(group);
}

/**
 * kvs_group_remove_member() - remove one member of a plain group
 * @obj: with a reference of the caller's
 *
 * Return: 0; -EINVAL if it is in no group; -EPERM if that is atomic; -EBUSY if a
 * living client is filling it; -ENOENT if it is gone.
 */
int kvs_group_remove_member(struct kvs_object *obj)
{
	struct kvs_object *group = obj->parent;
	int ret = 0;

	if (!kvs_object_is_member(obj))
		return -EINVAL;
	if (kvs_group_atomic(group))
		return -EPERM;
	kvs_object_lock(obj);
	if (obj->state == KVS_DYING || group->state == KVS_DYING ||
	    (obj->flags & KVS_OBJ_REMOVING))
		ret = -ENOENT;
	else if (obj->state == KVS_FILLING && !hlist_empty(&obj->writes))
		ret = -EBUSY;
	else
		obj->flags |= KVS_OBJ_REMOVING;
	kvs_object_unlock(obj);
	if (ret)
		return ret;
	kvs_object_kill(obj, KVS_KILL_REMOVE);
	kvs_group_settle(group);
	return 0;
}
