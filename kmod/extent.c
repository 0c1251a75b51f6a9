// SPDX-License-Identifier: GPL-2.0
/*
 * Free runs of pages in chunks: best fit by the longest run of a chunk.
 *
 * Locking: none here; all of it runs under pool->lock. Cost: a chunk's bitmap
 * is one cache line, so finding a run and measuring what is left are a scan of
 * eight words.
 */
#include <linux/build_bug.h>

#include "extent.h"

static void chunk_list(struct kvs_space *space, struct kvs_chunk *chunk)
{
	list_add(&chunk->run, &space->runs[chunk->longest]);
	__set_bit(chunk->longest, space->have);
}

static void chunk_unlist(struct kvs_space *space, struct kvs_chunk *chunk)
{
	list_del(&chunk->run);
	if (list_empty(&space->runs[chunk->longest]))
		__clear_bit(chunk->longest, space->have);
}

static void chunk_relist(struct kvs_space *space, struct kvs_chunk *chunk)
{
	u32 longest = kvs_chunk_longest(chunk);

	if (longest == chunk->longest)
		return;
	chunk_unlist(space, chunk);
	chunk->longest = longest;
	chunk_list(space, chunk);
}

/**
 * kvs_chunk_longest() - measure the longest free run
 * @chunk: the chunk
 *
 * Return: its pages, 0 if the chunk is full.
 */
u32 kvs_chunk_longest(const struct kvs_chunk *chunk)
{
	u32 start, end, longest = 0;

	start = find_first_zero_bit(chunk->used, KVS_CHUNK_PAGES);
	while (start < KVS_CHUNK_PAGES) {
		end = find_next_bit(chunk->used, KVS_CHUNK_PAGES, start);
		if (end - start > longest)
			longest = end - start;
		start = find_next_zero_bit(chunk->used, KVS_CHUNK_PAGES, end);
	}
	return longest;
}

/* First run of at least @want pages, which is known to be there. */
static u32 chunk_find(const struct kvs_chunk *chunk, u32 want)
{
	u32 start, end;

	start = find_first_zero_bit(chunk->used, KVS_CHUNK_PAGES);
	while (start < KVS_CHUNK_PAGES) {
		end = find_next_bit(chunk->used, KVS_CHUNK_PAGES, start);
		if (end - start >= want)
			return start;
		start = find_next_zero_bit(chunk->used, KVS_CHUNK_PAGES, end);
	}
	return KVS_CHUNK_PAGES;
}

void kvs_space_init(struct kvs_space *space)
{
	u32 i;

	BUILD_BUG_ON(BIT(KVS_PAGE_SHIFT) != KVS_PAGE_SIZE);
	BUILD_BUG_ON(BIT(KVS_CHUNK_ORDER) != KVS_CHUNK_PAGES);
	for (i = 0; i <= KVS_CHUNK_PAGES; i++)
		INIT_LIST_HEAD(&space->runs[i]);
	bitmap_zero(space->have, KVS_CHUNK_PAGES + 1);
}

/**
 * kvs_space_add() - put a chunk into the table, all its pages free
 * @space: the space, with room in its table
 * @chunk: @addr and @order set, the rest zero
 */
void kvs_space_add(struct kvs_space *space, struct kvs_chunk *chunk)
{
	u32 pages = 1U << chunk->order;

	if (pages < KVS_CHUNK_PAGES)
		bitmap_set(chunk->used, pages, KVS_CHUNK_PAGES - pages);
	chunk->free = pages;
	chunk->longest = pages;
	chunk->index = space->nr;
	space->chunks[space->nr++] = chunk;
	chunk_list(space, chunk);
}

/* The list to take from: the shortest run that suffices, else the longest. */
static u32 space_pick(const struct kvs_space *space, u32 want)
{
	u32 len = find_next_bit(space->have, KVS_CHUNK_PAGES + 1, want);

	if (len > KVS_CHUNK_PAGES)
		len = find_last_bit(space->have, KVS_CHUNK_PAGES + 1);
	return len;
}

/**
 * kvs_space_take() - take free runs
 * @space: the space; has at least *@pages free
 * @pages: in: pages wanted; out: pages still wanted after @max extents
 * @ext:   out: the extents
 * @max:   room in @ext
 *
 * Return: extents taken.
 */
u32 kvs_space_take(struct kvs_space *space, u64 *pages, struct kvs_extent *ext,
		   u32 max)
{
	u32 nr = 0;

	while (*pages && nr < max) {
		u32 want = min_t(u64, *pages, KVS_CHUNK_PAGES);
		u32 len = space_pick(space, want);
		struct kvs_chunk *chunk;
		u32 start;

		chunk = list_first_entry(&space->runs[len], struct kvs_chunk, run);
		want = min(want, len);
		start = chunk_find(chunk, want);
		bitmap_set(chunk->used, start, want);
		chunk->free -= want;
		chunk_relist(space, chunk);

		ext[nr].page = chunk->index * KVS_CHUNK_PAGES + start;
		ext[nr].nr = want;
		*pages -= want;
		nr++;
	}
	return nr;
}

/**
 * kvs_space_give() - give extents back
 * @space: the space
 * @ext:   extents that kvs_space_take() gave, wholly
 * @nr:    of them
 */
void kvs_space_give(struct kvs_space *space, const struct kvs_extent *ext, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		struct kvs_chunk *chunk = space->chunks[ext[i].page >> KVS_CHUNK_ORDER];

		bitmap_clear(chunk->used, ext[i].page & (KVS_CHUNK_PAGES - 1), ext[i].nr);
		chunk->free += ext[i].nr;
		chunk_relist(space, chunk);
	}
}
