/* SPDX-License-Identifier: GPL-2.0 */
/* A pool: pinned memory of one NUMA node, its free extents, its byte counts. */
#ifndef KVS_POOL_H
#define KVS_POOL_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/percpu_counter.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/kvstash.h>

#include "extent.h"

struct kvs_index;
struct netlink_ext_ack;
struct proc_dir_entry;

/**
 * struct kvs_extents - the memory of one part
 * @one:  the extent, if @nr is 1
 * @many: @nr extents, if more
 * @nr:   0: none
 */
struct kvs_extents {
	union {
		struct kvs_extent one;
		struct kvs_extent *many;
	};
	u32 nr;
};

static inline const struct kvs_extent *kvs_extents_array(const struct kvs_extents *ext)
{
	return ext->nr == 1 ? &ext->one : ext->many;
}

/* Where the pages of an allocation are counted; free is a count of its own. */
enum kvs_pool_count {
	KVS_POOL_IN_FLIGHT,
	KVS_POOL_COMMITTED,
	KVS_POOL_HELD,
	KVS_POOL_SLOTS,		/* slots without a state: free, but for one layout only */
	KVS_POOL_NR_COUNTS,
};

/**
 * struct kvs_pool - see Documentation/design.rst, "Pools"
 * @list:       in the list of pools, under kvs_admin_mutex
 * @name:       unique
 * @node:       NUMA node, or NUMA_NO_NODE: wherever memory was
 * @pages:      size in pages of KVS_PAGE_SIZE
 * @chunks_small: chunks below 2 MiB
 * @lock:       guards @space, @free and @count
 * @space:      free extents
 * @free:       pages free, and not promised to an allocation under way
 * @count:      pages in use
 * @generation: counts the changes of @free and @count
 * @index:      objects by key
 * @namespaces: those that live here; changed under kvs_admin_mutex, read by RCU
 * @freed:      woken when pages come back or a reader lets go of an object
 * @wm_low:     the worker starts when fewer pages are free
 * @wm_high:    and goes on until as many are
 * @reclaim:    the worker
 * @collect:    collects idle objects whose time has come
 * @meta_bytes: memory of objects, beside the pages and the index
 * @objects_hint: objects that the index is laid out for
 * @proc:       its file
 * @held_leased: of the pages held those that are leased, about: what is hidden
 *              and leased as a whole
 * @no_space:   puts refused for lack of space
 * @direct:     puts that had to evict by themselves
 */
struct kvs_pool {
	struct list_head list;
	char name[KVSTASH_NAME_MAX];
	int node;
	u64 pages;
	u32 chunks_small;
	u64 objects_hint;

	spinlock_t lock;	/* see above */
	struct kvs_space space;
	u64 free;
	u64 count[KVS_POOL_NR_COUNTS];
	u64 generation;

	struct kvs_index *index;
	struct list_head namespaces;
	wait_queue_head_t freed;
	u64 wm_low;
	u64 wm_high;
	struct work_struct reclaim;
	struct delayed_work collect;
	struct percpu_counter meta_bytes;
	struct proc_dir_entry *proc;
	atomic64_t held_leased;
	atomic64_t no_space;
	atomic64_t direct;
};

/**
 * struct kvs_pool_counts - a sample of the counts that adds up (I6)
 * @free:  pages free, with those of @count[KVS_POOL_SLOTS]
 * @count: pages in use
 * @generation: counts the changes
 */
struct kvs_pool_counts {
	u64 free;
	u64 count[KVS_POOL_NR_COUNTS];
	u64 generation;
};

static inline u64 kvs_pages(u64 bytes)
{
	return (bytes + KVS_PAGE_SIZE - 1) >> KVS_PAGE_SHIFT;
}

struct kvs_pool *kvs_pool_create(const char *name, u64 bytes, int node, u64 objects,
				 struct netlink_ext_ack *extack);
void kvs_pool_destroy(struct kvs_pool *pool);
int kvs_pool_alloc(struct kvs_pool *pool, u64 pages, struct kvs_extents *ext,
		   u64 *missing);
void kvs_pool_free(struct kvs_pool *pool, struct kvs_extents *ext,
		   enum kvs_pool_count from);
void kvs_pool_move(struct kvs_pool *pool, u64 pages, enum kvs_pool_count from,
		   enum kvs_pool_count to);
void kvs_pool_sample(struct kvs_pool *pool, struct kvs_pool_counts *counts);
u64 kvs_extents_pages(const struct kvs_extents *ext);

static inline size_t kvs_extents_meta(const struct kvs_extents *ext)
{
	return ext->nr > 1 ? ext->nr * sizeof(struct kvs_extent) : 0;
}

extern atomic64_t kvs_creating_pages;

/* module parameters, main.c */
extern unsigned int kvs_chunk_order;
extern unsigned int kvs_wm_low;
extern unsigned int kvs_wm_high;
extern unsigned int kvs_hash_bits;

#endif /* KVS_POOL_H */
