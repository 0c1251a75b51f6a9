/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Free runs of pages in chunks. Pure bookkeeping: no locking (the caller holds
 * the pool's lock, see pool.h), no memory is touched but the tables.
 */
#ifndef KVS_EXTENT_H
#define KVS_EXTENT_H

#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define KVS_PAGE_SHIFT		12	/* granularity of extents: 4 KiB */
#define KVS_PAGE_SIZE		4096UL
#define KVS_CHUNK_ORDER		9	/* a whole chunk: 2 MiB */
#define KVS_CHUNK_PAGES		512U
#define KVS_CHUNK_BYTES		((u64)KVS_CHUNK_PAGES << KVS_PAGE_SHIFT)
#define KVS_CHUNK_MIN_ORDER	3	/* the smallest fallback: 32 KiB */
#define KVS_CHUNKS_MAX		(U32_MAX / KVS_CHUNK_PAGES)	/* extents have 32 bits */

/* Extents that are found or given back under one hold of the lock. */
#define KVS_EXTENT_SLICE	64

/**
 * struct kvs_extent - a physically contiguous run inside a chunk
 * @page: first page; the chunk is @page / KVS_CHUNK_PAGES
 * @nr:   pages, 1 to KVS_CHUNK_PAGES
 */
struct kvs_extent {
	u32 page;
	u32 nr;
};

/**
 * struct kvs_chunk - physically contiguous memory
 * @used:    a bit per page; set: in use, or beyond the end of a small chunk
 * @addr:    kernel address
 * @run:     on kvs_space.runs[@longest]
 * @free:    pages free
 * @index:   its place in the table
 * @longest: pages of the longest free run
 * @order:   order of the allocation
 */
struct kvs_chunk {
	DECLARE_BITMAP(used, KVS_CHUNK_PAGES);
	void *addr;
	struct list_head run;
	u32 index;
	u16 free;
	u16 longest;
	u8 order;
};

/**
 * struct kvs_space - the chunks of a pool
 * @chunks: table
 * @nr:     chunks in the table
 * @room:   size of the table
 * @have:   lists in @runs that are not empty
 * @runs:   chunks by the length of their longest free run
 */
struct kvs_space {
	struct kvs_chunk **chunks;
	u32 nr;
	u32 room;
	DECLARE_BITMAP(have, KVS_CHUNK_PAGES + 1);
	struct list_head runs[KVS_CHUNK_PAGES + 1];
};

static inline void *kvs_space_addr(const struct kvs_space *space, u32 page)
{
	return (u8 *)space->chunks[page >> KVS_CHUNK_ORDER]->addr +
	       ((u64)(page & (KVS_CHUNK_PAGES - 1)) << KVS_PAGE_SHIFT);
}

void kvs_space_init(struct kvs_space *space);
void kvs_space_add(struct kvs_space *space, struct kvs_chunk *chunk);
u32 kvs_space_take(struct kvs_space *space, u64 *pages, struct kvs_extent *ext,
		   u32 max);
void kvs_space_give(struct kvs_space *space, const struct kvs_extent *ext, u32 nr);
u32 kvs_chunk_longest(const struct kvs_chunk *chunk);

#endif /* KVS_EXTENT_H */
