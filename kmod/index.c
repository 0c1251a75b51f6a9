// SPDX-License-Identifier: GPL-2.0
/*
 * The index: chains of objects in buckets.
 *
 * Locking: lookups run under RCU only. A bucket lock guards each change of a
 * chain, and the check for a duplicate before an insert. What a lookup compares
 * (hash, namespace, kind, key) never changes while the object is in its chain.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/prefetch.h>
#include <linux/sched/signal.h>
#include <linux/siphash.h>
#include <linux/slab.h>

#include "index.h"
#include "ns.h"
#include "object.h"
#include "pool.h"
#include "view.h"

#define KVS_BUCKETS_MIN	1024
#define KVS_BUCKETS_MAX	BIT_ULL(31)

static u64 nr_segments(const struct kvs_index *index)
{
	return (index->mask >> KVS_SEGMENT_SHIFT) + 1;
}

static int segments_alloc(struct kvs_index *index, int node)
{
	u64 nr = nr_segments(index), i;
	size_t buckets = min_t(u64, index->mask + 1, KVS_SEGMENT_BUCKETS);

	index->segments = kvcalloc(nr, sizeof(*index->segments), GFP_KERNEL);
	if (!index->segments)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		if (fatal_signal_pending(current))
			return -EINTR;
		index->segments[i] = kvzalloc_node(buckets * sizeof(**index->segments), GFP_KERNEL,
						   node);
		if (!index->segments[i])
			return -ENOMEM;
		cond_resched();
	}
	return 0;
}

static void segments_free(struct kvs_index *index)
{
	u64 i;

	for (i = 0; index->segments && i < nr_segments(index); i++) {
		kvfree(index->segments[i]);
		cond_resched();
	}
	kvfree(index->segments);
}

/**
 * kvs_index_create() - make an index
 * @objects: objects to lay it out for
 * @node:    NUMA node of the table
 *
 * Return: the index or NULL.
 */
struct kvs_index *kvs_index_create(u64 objects, int node)
{
	u64 nr = roundup_pow_of_two(clamp_t(u64, objects, KVS_BUCKETS_MIN, KVS_BUCKETS_MAX));
	struct kvs_index *index;

	index = kzalloc(sizeof(*index), GFP_KERNEL);
	if (!index)
		return NULL;
	index->mask = nr - 1;
	index->hash_mask = kvs_hash_bits >= 64 ? U64_MAX : BIT_ULL(kvs_hash_bits) - 1;
	if (segments_alloc(index, node))
		goto err;
	if (alloc_bucket_spinlocks(&index->locks, &index->lock_mask, min(nr, 16384ULL), 64,
				   GFP_KERNEL))
		goto err;
	return index;
err:
	segments_free(index);
	kfree(index);
	return NULL;
}

void kvs_index_destroy(struct kvs_index *index)
{
	if (!index)
		return;
	free_bucket_spinlocks(index->locks);
	segments_free(index);
	kfree(index);
}

/**
 * kvs_index_key() - fill in a key
 * @key:  out
 * @ns:   namespace; its secret keeps others from computing collisions
 * @kind: kind of object
 * @data: bytes, which stay where they are
 * @len:  how many
 */
void kvs_index_key(struct kvs_key *key, struct kvs_ns *ns, u8 kind, const u8 *data, u16 len)
{
	const struct kvs_index *index = ns->pool->index;
	u64 hash = siphash(data, len, &ns->hash_key);

	key->data = data;
	key->ns = ns;
	key->len = len;
	key->kind = kind;
	/* Kinds differ by comparison; the product only keeps them apart. */
	key->hash = (hash ^ kind * 0x9e3779b97f4a7c15ULL) & index->hash_mask;
	key->bucket = kvs_index_bucket(index, key->hash);
}

/** kvs_index_prefetch_object() - @key will be looked for next; its bucket is here */
void kvs_index_prefetch_object(const struct kvs_key *key)
{
	struct kvs_object *obj;

	rcu_read_lock();
	obj = hlist_entry_safe(rcu_dereference(hlist_first_rcu(key->bucket)), struct kvs_object,
			       hash_node);
	if (obj) {
		prefetch(&obj->hash_node);
		prefetch(obj->key);
		prefetch(&obj->part);
	}
	rcu_read_unlock();
}

static bool key_matches(const struct kvs_object *obj, const struct kvs_key *key)
{
	return obj->hash == key->hash && obj->ns == key->ns &&
	       obj->key_len == key->len && obj->kind == key->kind &&
	       !memcmp(obj->key, key->data, key->len);
}

/* Neither is it dying, nor the group that it is a complete member of. */
static bool object_lives(const struct kvs_object *obj)
{
	u8 state = READ_ONCE(obj->state);

	return state != KVS_DYING &&
	       (likely(state != KVS_JOINED) || READ_ONCE(obj->parent->state) != KVS_DYING);
}

/**
 * kvs_index_find_rcu() - find an object in any state but dying
 * @key: what to find
 *
 * Context: under rcu_read_lock(), for as long as the object is used.
 *
 * Return: the object, without a reference, or NULL.
 */
struct kvs_object *kvs_index_find_rcu(const struct kvs_key *key)
{
	struct kvs_object *obj;

	hlist_for_each_entry_rcu(obj, key->bucket, hash_node)
		if (key_matches(obj, key) && object_lives(obj))
			return obj;
	return NULL;
}

/* A group that the batch has seen visible, or a member of one. */
static bool object_viewed(const struct kvs_object *obj, const struct kvs_view *view)
{
	if (obj->kind == KVSTASH_KIND_GROUP)
		return kvs_view_knows(view, obj);
	return READ_ONCE(obj->state) == KVS_JOINED && kvs_view_knows(view, obj->parent);
}

/**
 * kvs_index_find_viewed() - kvs_index_find_in_view() of a view with groups in it
 * @key:  what to find
 * @view: what the batch has seen
 *
 * What the view holds comes before a newer object of the same key.
 */
struct kvs_object *kvs_index_find_viewed(const struct kvs_key *key, const struct kvs_view *view)
{
	struct kvs_object *obj, *found = NULL;

	hlist_for_each_entry_rcu(obj, key->bucket, hash_node) {
		if (!key_matches(obj, key))
			continue;
		if (object_viewed(obj, view))
			return obj;
		if (!found && object_lives(obj))
			found = obj;
	}
	return found;
}

/* The last reference went while we looked: it is dying, so a miss. */
static struct kvs_object *object_get(struct kvs_object *obj)
{
	return obj && refcount_inc_not_zero(&obj->refs) ? obj : NULL;
}

/**
 * kvs_index_get() - find an object and take a reference
 * @key: what to find
 *
 * Return: the object, for kvs_object_put(), or NULL.
 */
struct kvs_object *kvs_index_get(const struct kvs_key *key)
{
	struct kvs_object *obj;

	rcu_read_lock();
	obj = object_get(kvs_index_find_rcu(key));
	rcu_read_unlock();
	return obj;
}

/**
 * kvs_index_get_in_view() - the same, as a batch sees it
 * @key:  what to find
 * @view: what the batch has seen of groups
 */
struct kvs_object *kvs_index_get_in_view(const struct kvs_key *key, const struct kvs_view *view)
{
	struct kvs_object *obj;

	rcu_read_lock();
	obj = object_get(kvs_index_find_in_view(key, view));
	rcu_read_unlock();
	return obj;
}

static spinlock_t *index_lock(const struct kvs_index *index, u64 hash)
{
	return &index->locks[hash & index->mask & index->lock_mask];
}

/**
 * kvs_index_insert() - put an object into its chain unless its key is there
 * @obj: wholly initialised
 *
 * Return: NULL, or the object that is there, with a reference.
 */
struct kvs_object *kvs_index_insert(struct kvs_object *obj)
{
	struct kvs_index *index = obj->ns->pool->index;
	struct kvs_key key = {
		.data = obj->key, .len = obj->key_len, .kind = obj->kind,
		.ns = obj->ns, .hash = obj->hash,
		.bucket = kvs_index_bucket(index, obj->hash),
	};
	spinlock_t *lock = index_lock(index, obj->hash);
	struct kvs_object *there;

	rcu_read_lock();
	spin_lock(lock);
	there = object_get(kvs_index_find_rcu(&key));
	if (!there)
		hlist_add_head_rcu(&obj->hash_node, key.bucket);
	spin_unlock(lock);
	rcu_read_unlock();
	return there;
}

/**
 * kvs_index_remove() - take an object out of its chain
 * @obj: in its chain, dying
 */
void kvs_index_remove(struct kvs_object *obj)
{
	spinlock_t *lock = index_lock(obj->ns->pool->index, obj->hash);

	spin_lock(lock);
	hlist_del_rcu(&obj->hash_node);
	spin_unlock(lock);
}
