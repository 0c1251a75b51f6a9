// SPDX-License-Identifier: GPL-2.0
/*
 * Times to live, on the monotonic clock.
 *
 * Lookups compare the clock with kvs_object.expires, so an object is hidden at
 * its end exactly. Its memory is taken back by the worker a moment later, or at
 * once by who needs the room or the key.
 *
 * An object never outlives its parent: what descends from one that ends does so
 * at that moment or before, so that there is no orphan (I9). Only objects with a
 * time of their own are in ns->timed; the others go with them.
 *
 * Locking: ns->timed is under ns->evict_lock, which nests in the object's lock.
 * kvs_object.expires is written under the latter, before the object is shown.
 */
#include "evict.h"
#include "group.h"
#include "ttl.h"

static struct kvs_timed *timed_of(struct kvs_object *obj)
{
	return kvs_object_is_group(obj) ? &obj->group->timed : &obj->extra->timed;
}

static u32 ttl_of(const struct kvs_object *obj)
{
	if (kvs_object_is_group(obj))
		return obj->group->ttl_ms;
	return obj->extra ? obj->extra->ttl_ms : 0;
}

static bool timed_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct kvs_timed, node)->obj->expires <
	       rb_entry(b, struct kvs_timed, node)->obj->expires;
}

/**
 * kvs_ttl_begin() - set when the life of an object ends
 * @obj: about to be shown; kvs_object_lock() held
 */
void kvs_ttl_begin(struct kvs_object *obj)
{
	u64 inherited = obj->parent ? obj->parent->expires : 0;
	struct kvs_ns *ns = obj->ns;
	u32 ttl_ms = ttl_of(obj);
	struct kvs_timed *timed;
	struct rb_node *first;

	lockdep_assert_held(&obj->lock);
	if (!ttl_ms) {
		WRITE_ONCE(obj->expires, inherited);
		return;
	}
	WRITE_ONCE(obj->expires,
		   min_not_zero(inherited, ktime_get_ns() + (u64)ttl_ms * NSEC_PER_MSEC));
	timed = timed_of(obj);
	timed->obj = obj;
	spin_lock(&ns->evict_lock);
	first = rb_add_cached(&timed->node, &ns->timed, timed_less);
	spin_unlock(&ns->evict_lock);
	if (first)
		kvs_collect_kick(ns->pool);
}

/**
 * kvs_ttl_end() - an object goes, for whatever reason
 * @obj: kvs_object_lock() held
 */
void kvs_ttl_end(struct kvs_object *obj)
{
	struct kvs_ns *ns = obj->ns;
	struct kvs_timed *timed;

	if (!obj->expires || !ttl_of(obj))
		return;
	timed = timed_of(obj);
	spin_lock(&ns->evict_lock);
	if (timed->obj) {
		rb_erase_cached(&timed->node, &ns->timed);
		timed->obj = NULL;
	}
	spin_unlock(&ns->evict_lock);
}

static struct kvs_object *timed_first(struct kvs_ns *ns)
{
	struct rb_node *node = rb_first_cached(&ns->timed);

	lockdep_assert_held(&ns->evict_lock);
	return node ? rb_entry(node, struct kvs_timed, node)->obj : NULL;
}

/**
 * kvs_ttl_first() - when the next object of a namespace expires
 * @ns:      the namespace
 * @expires: out
 *
 * Return: false if none does.
 */
bool kvs_ttl_first(struct kvs_ns *ns, u64 *expires)
{
	struct kvs_object *obj;

	spin_lock(&ns->evict_lock);
	obj = timed_first(ns);
	if (obj)
		*expires = obj->expires;
	spin_unlock(&ns->evict_lock);
	return obj;
}

/**
 * kvs_object_expire() - take back what has expired
 * @obj: with a reference of the caller's; of a plain group, a single member
 */
void kvs_object_expire(struct kvs_object *obj)
{
	if (!kvs_object_is_member(obj)) {
		kvs_object_kill_tree(obj, KVS_KILL_EXPIRE);
	} else if (kvs_group_atomic(obj->parent)) {
		kvs_object_kill_tree(obj->parent, KVS_KILL_EXPIRE);
	} else {
		kvs_object_kill(obj, KVS_KILL_EXPIRE);
		kvs_group_settle(obj->parent);
	}
}

/**
 * kvs_ttl_expire() - take back one object that has expired
 * @ns:     the namespace
 * @before: it expired by then (ktime_get_ns())
 *
 * Return: false if there is none.
 */
bool kvs_ttl_expire(struct kvs_ns *ns, u64 before)
{
	struct kvs_object *obj;

	spin_lock(&ns->evict_lock);
	obj = timed_first(ns);
	/* It leaves the tree before the index drops its reference. */
	if (obj && obj->expires <= before)
		refcount_inc(&obj->refs);
	else
		obj = NULL;
	spin_unlock(&ns->evict_lock);
	if (!obj)
		return false;
	kvs_object_expire(obj);
	kvs_object_put(obj);
	return true;
}
