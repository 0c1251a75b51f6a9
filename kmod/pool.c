// SPDX-License-Identifier: GPL-2.0
/*
 * Pools: chunks of pinned memory, and the byte counts that always add up.
 *
 * Locking: pool->lock guards the free extents and the counts. An allocation
 * takes its budget of pages off @free first; as pages enter the space before
 * they enter @free, the runs for the budget are there and are then found slice
 * by slice, with the lock dropped between slices.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "evict.h"
#include "index.h"
#include "pool.h"

/* Pages that pools under creation have got so far, for an operator who waits. */
atomic64_t kvs_creating_pages;

static void pool_free_chunks(struct kvs_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->space.nr; i++) {
		struct kvs_chunk *chunk = pool->space.chunks[i];

		free_pages((unsigned long)chunk->addr, chunk->order);
		kfree(chunk);
		cond_resched();
	}
	kvfree(pool->space.chunks);
}

/* Small chunks need more table than was made for whole ones. */
static int pool_grow_table(struct kvs_space *space)
{
	struct kvs_chunk **chunks;
	u32 room = space->room * 2;

	if (space->nr < space->room)
		return 0;
	if (room > KVS_CHUNKS_MAX)
		return -EFBIG;
	chunks = kvmalloc_array(room, sizeof(*chunks), GFP_KERNEL);
	if (!chunks)
		return -ENOMEM;
	memcpy(chunks, space->chunks, space->nr * sizeof(*chunks));
	kvfree(space->chunks);
	space->chunks = chunks;
	space->room = room;
	return 0;
}

static struct kvs_chunk *chunk_alloc(int node, unsigned int *order)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOWARN;
	struct kvs_chunk *chunk;
	struct page *page = NULL;

	chunk = kzalloc(sizeof(*chunk), GFP_KERNEL);
	if (!chunk)
		return NULL;
	if (node != NUMA_NO_NODE)
		gfp |= __GFP_THISNODE;
	/*
	 * Once an order was not to be had, larger ones are not tried again. Only
	 * the smallest is worth reclaiming hard for: compaction for large ones
	 * in a full node would take minutes.
	 */
	for (;; (*order)--) {
		bool last = *order <= KVS_CHUNK_MIN_ORDER;

		page = alloc_pages_node(node, gfp | __GFP_COMP |
					(last ? __GFP_RETRY_MAYFAIL : __GFP_NORETRY), *order);
		if (page || last)
			break;
	}
	if (!page) {
		kfree(chunk);
		return NULL;
	}
	chunk->addr = page_address(page);
	chunk->order = *order;
	return chunk;
}

static int pool_fill(struct kvs_pool *pool, u64 pages)
{
	unsigned int order = clamp_t(unsigned int, kvs_chunk_order, KVS_CHUNK_MIN_ORDER,
				     min(KVS_CHUNK_ORDER, KVS_MAX_PAGE_ORDER));
	struct kvs_chunk *chunk;
	int ret;

	while (pool->pages < pages) {
		if (fatal_signal_pending(current))
			return -EINTR;
		ret = pool_grow_table(&pool->space);
		if (ret)
			return ret;
		while (order > KVS_CHUNK_MIN_ORDER && (1ULL << order) > pages - pool->pages)
			order--;
		chunk = chunk_alloc(pool->node, &order);
		if (!chunk)
			return -ENOMEM;
		kvs_space_add(&pool->space, chunk);
		pool->pages += 1ULL << chunk->order;
		atomic64_add(1 << chunk->order, &kvs_creating_pages);
		if (chunk->order < KVS_CHUNK_ORDER)
			pool->chunks_small++;
		cond_resched();
	}
	pool->free = pool->pages;
	return 0;
}

/* Refuse at once what can never be had, by the rule and with the numbers. */
static int pool_check_size(u64 *bytes, int node, struct netlink_ext_ack *extack)
{
	u64 limit;

	if (!*bytes) {
		NL_SET_ERR_MSG(extack, "pool size is 0");
		return -EINVAL;
	}
	if (node != NUMA_NO_NODE && (node < 0 || node >= MAX_NUMNODES || !node_online(node))) {
		pr_err("kvstash: pool refused: NUMA node %d is not there\n", node);
		NL_SET_ERR_MSG(extack, "no such NUMA node");
		return -ENODEV;
	}
	limit = (u64)(node == NUMA_NO_NODE ? totalram_pages() : node_present_pages(node))
		<< PAGE_SHIFT;
	if (*bytes > limit || *bytes > (u64)KVS_CHUNKS_MAX * KVS_CHUNK_BYTES) {
		pr_err("kvstash: pool of %llu bytes on node %d refused: there are %llu bytes\n",
		       *bytes, node, limit);
		NL_SET_ERR_MSG(extack, "pool size exceeds the memory of the node or machine");
		return -EFBIG;
	}
	*bytes = roundup(*bytes, KVS_CHUNK_BYTES);
	return 0;
}

static struct kvs_pool *pool_alloc_struct(const char *name, u64 bytes, int node)
{
	struct kvs_pool *pool = kvzalloc(sizeof(*pool), GFP_KERNEL);

	if (!pool)
		return NULL;
	pool->space.room = bytes / KVS_CHUNK_BYTES;
	pool->space.chunks = kvmalloc_array(pool->space.room, sizeof(*pool->space.chunks),
					    GFP_KERNEL);
	if (!pool->space.chunks || percpu_counter_init(&pool->meta_bytes, 0, GFP_KERNEL)) {
		kvfree(pool->space.chunks);
		kvfree(pool);
		return NULL;
	}
	strscpy(pool->name, name, sizeof(pool->name));
	pool->node = node;
	spin_lock_init(&pool->lock);
	kvs_space_init(&pool->space);
	INIT_LIST_HEAD(&pool->list);
	INIT_LIST_HEAD(&pool->namespaces);
	init_waitqueue_head(&pool->freed);
	INIT_WORK(&pool->reclaim, kvs_reclaim_work);
	INIT_DELAYED_WORK(&pool->collect, kvs_collect_work);
	return pool;
}

/**
 * kvs_pool_create() - get the memory of a pool
 * @name:    valid name
 * @bytes:   size, rounded up to 2 MiB
 * @node:    NUMA node, or NUMA_NO_NODE
 * @objects: objects to lay the index out for, 0: one per 16 KiB
 * @extack:  for the reason of a refusal, or NULL
 *
 * May take long and can be killed. Nothing is left of a pool that fails.
 *
 * Return: the pool, or an ERR_PTR.
 */
struct kvs_pool *kvs_pool_create(const char *name, u64 bytes, int node, u64 objects,
				 struct netlink_ext_ack *extack)
{
	struct kvs_pool *pool;
	u64 pages;
	int ret;

	ret = pool_check_size(&bytes, node, extack);
	if (ret)
		return ERR_PTR(ret);
	pool = pool_alloc_struct(name, bytes, node);
	if (!pool)
		return ERR_PTR(-ENOMEM);
	pages = bytes >> KVS_PAGE_SHIFT;

	pool->objects_hint = objects ?: bytes >> 14;
	pool->index = kvs_index_create(pool->objects_hint, node);
	ret = -ENOMEM;
	if (!pool->index) {
		NL_SET_ERR_MSG(extack, "no memory for the index");
		goto err;
	}
	ret = pool_fill(pool, pages);
	atomic64_sub(pool->pages, &kvs_creating_pages);
	if (ret) {
		pr_err("kvstash: pool \"%s\": asked for %llu MiB on node %d, had %llu MiB (error %d)\n",
		       name, pages >> 8, node, pool->pages >> 8, ret);
		NL_SET_ERR_MSG(extack, "not enough memory; the kernel log has the numbers");
		goto err;
	}
	pool->wm_low = div_u64(pages * min(kvs_wm_low, 1000U), 1000);
	pool->wm_high = div_u64(pages * clamp(kvs_wm_high, kvs_wm_low, 1000U), 1000);
	pr_info("kvstash: pool \"%s\": %llu MiB on node %d, %u chunks (%u below 2 MiB)\n",
		name, pages >> 8, node, pool->space.nr, pool->chunks_small);
	return pool;
err:
	kvs_index_destroy(pool->index);
	pool_free_chunks(pool);
	percpu_counter_destroy(&pool->meta_bytes);
	kvfree(pool);
	return ERR_PTR(ret);
}

/**
 * kvs_pool_destroy() - give a pool's memory back
 * @pool: no namespace lives in it, it is not listed any more
 */
void kvs_pool_destroy(struct kvs_pool *pool)
{
	cancel_delayed_work_sync(&pool->collect);
	cancel_work_sync(&pool->reclaim);
	/* Whoever dropped the last object or reference may still wake @freed. */
	synchronize_rcu();
	WARN_ON(pool->free != pool->pages);
	kvs_index_destroy(pool->index);
	pool_free_chunks(pool);
	percpu_counter_destroy(&pool->meta_bytes);
	kvfree(pool);
}

static bool pool_promise(struct kvs_pool *pool, u64 pages, u64 *missing)
{
	bool low, ok;

	spin_lock(&pool->lock);
	ok = pool->free >= pages;
	if (ok) {
		pool->free -= pages;
		pool->count[KVS_POOL_IN_FLIGHT] += pages;
		pool->generation++;
	} else {
		*missing = (pages - pool->free) << KVS_PAGE_SHIFT;
	}
	low = pool->free < pool->wm_low;
	spin_unlock(&pool->lock);

	if (ok && low)
		kvs_reclaim_kick(pool);
	return ok;
}

static void pool_give(struct kvs_pool *pool, const struct kvs_extent *ext, u32 nr,
		      enum kvs_pool_count from, u64 promised)
{
	u64 pages = promised;
	u32 i, n;

	do {
		n = min_t(u32, nr, KVS_EXTENT_SLICE);
		for (i = 0; i < n; i++)
			pages += ext[i].nr;
		spin_lock(&pool->lock);
		kvs_space_give(&pool->space, ext, n);
		pool->count[from] -= pages;
		pool->free += pages;
		pool->generation++;
		spin_unlock(&pool->lock);
		pages = 0;
		ext += n;
		nr -= n;
		if (nr)
			cond_resched();
	} while (nr);
	if (wq_has_sleeper(&pool->freed))
		wake_up_all(&pool->freed);
}

/* Room for more extents than a slice; doubles, as their number is not known. */
static int extents_grow(struct kvs_extent **ext, u32 nr, u32 *room)
{
	u32 more = max_t(u32, *room * 2, 2 * KVS_EXTENT_SLICE);
	struct kvs_extent *new;

	if (nr + KVS_EXTENT_SLICE <= *room)
		return 0;
	new = kvmalloc_array(more, sizeof(*new), GFP_KERNEL | __GFP_NOWARN);
	if (!new)
		return -ENOMEM;
	if (*ext) {
		memcpy(new, *ext, nr * sizeof(*new));
		kvfree(*ext);
	}
	*ext = new;
	*room = more;
	return 0;
}

/* More extents than one slice: rare, in a fragmented pool or for huge parts. */
static int pool_take_many(struct kvs_pool *pool, u64 pages, const struct kvs_extent *slice,
			  u32 nr, struct kvs_extents *out)
{
	struct kvs_extent *ext = NULL;
	u32 room = 0;
	int ret;

	ret = extents_grow(&ext, 0, &room);
	if (ret) {
		pool_give(pool, slice, nr, KVS_POOL_IN_FLIGHT, pages);
		return ret;
	}
	memcpy(ext, slice, nr * sizeof(*ext));
	while (pages) {
		ret = extents_grow(&ext, nr, &room);
		if (ret) {
			pool_give(pool, ext, nr, KVS_POOL_IN_FLIGHT, pages);
			kvfree(ext);
			return ret;
		}
		spin_lock(&pool->lock);
		nr += kvs_space_take(&pool->space, &pages, ext + nr, KVS_EXTENT_SLICE);
		spin_unlock(&pool->lock);
		cond_resched();
	}
	out->many = ext;
	out->nr = nr;
	return 0;
}

/**
 * kvs_pool_alloc() - take pages, counted as in flight
 * @pool:    the pool
 * @pages:   how many, > 0
 * @ext:     out
 * @missing: out with -ENOSPC: bytes that were missing
 *
 * Evicts nothing; see kvs_reclaim_alloc() for that.
 *
 * Return: 0, -ENOSPC, or -ENOMEM for the list of extents.
 */
int kvs_pool_alloc(struct kvs_pool *pool, u64 pages, struct kvs_extents *ext,
		   u64 *missing)
{
	struct kvs_extent slice[8];
	u32 nr;

	if (!pool_promise(pool, pages, missing))
		return -ENOSPC;
	spin_lock(&pool->lock);
	nr = kvs_space_take(&pool->space, &pages, slice, ARRAY_SIZE(slice));
	spin_unlock(&pool->lock);

	if (pages)
		return pool_take_many(pool, pages, slice, nr, ext);
	ext->nr = nr;
	if (nr == 1) {
		ext->one = slice[0];
		return 0;
	}
	ext->many = kmemdup(slice, nr * sizeof(*slice), GFP_KERNEL | __GFP_NOWARN);
	if (ext->many)
		return 0;
	ext->nr = 0;
	pool_give(pool, slice, nr, KVS_POOL_IN_FLIGHT, 0);
	return -ENOMEM;
}

/**
 * kvs_pool_free() - give pages back
 * @pool: the pool
 * @ext:  what kvs_pool_alloc() gave; empty afterwards
 * @from: where the pages are counted
 *
 * Context: process, no lock held.
 */
void kvs_pool_free(struct kvs_pool *pool, struct kvs_extents *ext,
		   enum kvs_pool_count from)
{
	if (!ext->nr)
		return;
	pool_give(pool, kvs_extents_array(ext), ext->nr, from, 0);
	if (ext->nr > 1)
		kvfree(ext->many);
	ext->nr = 0;
}

/**
 * kvs_pool_move() - count pages elsewhere
 * @pool:  the pool
 * @pages: how many
 * @from:  where they are counted
 * @to:    where they are counted then
 *
 * Context: may be called with an object's lock held.
 */
void kvs_pool_move(struct kvs_pool *pool, u64 pages, enum kvs_pool_count from,
		   enum kvs_pool_count to)
{
	spin_lock(&pool->lock);
	pool->count[from] -= pages;
	pool->count[to] += pages;
	pool->generation++;
	spin_unlock(&pool->lock);
}

void kvs_pool_sample(struct kvs_pool *pool, struct kvs_pool_counts *counts)
{
	spin_lock(&pool->lock);
	counts->free = pool->free + pool->count[KVS_POOL_SLOTS];
	memcpy(counts->count, pool->count, sizeof(counts->count));
	counts->generation = pool->generation;
	spin_unlock(&pool->lock);
}

u64 kvs_extents_pages(const struct kvs_extents *ext)
{
	const struct kvs_extent *e = kvs_extents_array(ext);
	u64 pages = 0;
	u32 i;

	for (i = 0; i < ext->nr; i++)
		pages += e[i].nr;
	return pages;
}
