/* SPDX-License-Identifier: GPL-2.0 */
/* Find objects by key: one table per pool, laid out once. */
#ifndef KVS_INDEX_H
#define KVS_INDEX_H

#include <linux/bits.h>
#include <linux/prefetch.h>
#include <linux/rculist.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct kvs_ns;
struct kvs_object;
struct kvs_view;

/*
 * A segment is as large as what a page table maps at once: from the page allocator
 * it is in the kernel's direct map, and a walk over random buckets needs few
 * entries of the TLB; one table by vmalloc() would need one for each 4 KiB.
 */
#define KVS_SEGMENT_SHIFT	18
#define KVS_SEGMENT_BUCKETS	BIT(KVS_SEGMENT_SHIFT)

/**
 * struct kvs_index - the table
 * @segments:  buckets, chains of objects, KVS_SEGMENT_BUCKETS each
 * @mask:      buckets - 1
 * @hash_mask: bits of the hash that are used; all, but in tests of collisions
 * @locks:     bucket locks, shared by buckets
 * @lock_mask: locks - 1
 */
struct kvs_index {
	struct hlist_head **segments;
	u64 mask;
	u64 hash_mask;
	spinlock_t *locks;	/* each guards the chains of its buckets */
	unsigned int lock_mask;
};

/**
 * struct kvs_key - what an object is found by
 * @data:   bytes, in kernel memory
 * @ns:     namespace
 * @bucket: where in the index it belongs
 * @hash:   of all but @bucket
 * @len:    bytes of @data
 * @kind:   KVSTASH_KIND_*
 */
struct kvs_key {
	const u8 *data;
	struct kvs_ns *ns;
	struct hlist_head *bucket;
	u64 hash;
	u16 len;
	u8 kind;
};

struct kvs_index *kvs_index_create(u64 objects, int node);
void kvs_index_destroy(struct kvs_index *index);
void kvs_index_key(struct kvs_key *key, struct kvs_ns *ns, u8 kind, const u8 *data, u16 len);
struct kvs_object *kvs_index_find_rcu(const struct kvs_key *key);
struct kvs_object *kvs_index_get(const struct kvs_key *key);
struct kvs_object *kvs_index_find_viewed(const struct kvs_key *key, const struct kvs_view *view);
struct kvs_object *kvs_index_get_in_view(const struct kvs_key *key, const struct kvs_view *view);
struct kvs_object *kvs_index_insert(struct kvs_object *obj);
void kvs_index_remove(struct kvs_object *obj);

void kvs_index_prefetch_object(const struct kvs_key *key);

static inline u64 kvs_index_bytes(const struct kvs_index *index)
{
	return (index->mask + 1) * sizeof(**index->segments) +
	       ((index->mask >> KVS_SEGMENT_SHIFT) + 1) * sizeof(*index->segments) +
	       ((u64)index->lock_mask + 1) * sizeof(*index->locks);
}

static inline struct hlist_head *kvs_index_bucket(const struct kvs_index *index, u64 hash)
{
	u64 nr = hash & index->mask;

	return &index->segments[nr >> KVS_SEGMENT_SHIFT][nr & (KVS_SEGMENT_BUCKETS - 1)];
}

/** kvs_index_prefetch_bucket() - @key will be looked for */
static inline void kvs_index_prefetch_bucket(const struct kvs_key *key)
{
	prefetch(key->bucket);
}

#endif /* KVS_INDEX_H */
