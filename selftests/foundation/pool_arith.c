// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: none */
/*
 * R113: the arithmetic of a pool of 2 TiB, in user space: the very sources of
 * the module that keep free extents and written runs, over tables as large as
 * such a pool has them, with addresses that are never touched.
 */
#include "r_store.h"

#include <linux/slab.h>

#include "../../kmod/extent.c"
#include "../../kmod/runs.c"

#define TIB		(1024ULL * 1024 * 1024 * 1024)
#define TABLE_MAX	(2ULL * 1024 * 1024 * 1024)
#define FAKE_BASE	0x100000000000ULL	/* where chunk 0 would be */

static struct kvs_space space;

/* A space of @nr chunks of @order, one after the other in memory. */
static void space_make(struct __test_metadata *_metadata, u32 nr, u8 order)
{
	struct kvs_chunk *chunks = calloc(nr, sizeof(*chunks));

	kvs_space_init(&space);
	space.nr = 0;
	space.room = nr;
	space.chunks = calloc(nr, sizeof(*space.chunks));
	ASSERT_NE(NULL, chunks);
	ASSERT_NE(NULL, space.chunks);
	for (u32 i = 0; i < nr; i++) {
		chunks[i].addr = (void *)(uintptr_t)(FAKE_BASE + i * KVS_CHUNK_BYTES);
		chunks[i].order = order;
		kvs_space_add(&space, &chunks[i]);
	}
}

static void space_end(void)
{
	free(space.chunks[0]);
	free(space.chunks);
}

static u64 space_free(void)
{
	u64 pages = 0;

	for (u32 i = 0; i < space.nr; i++)
		pages += space.chunks[i]->free;
	return pages;
}

/* Takes @pages in slices, as pool.c does. Returns the extents, in @ext. */
static u32 take(u64 pages, struct kvs_extent *ext, u32 room)
{
	u32 nr = 0, n;

	while (pages) {
		n = kvs_space_take(&space, &pages, ext + nr,
				   min_t(u32, KVS_EXTENT_SLICE, room - nr));
		if (!n)
			return 0;
		nr += n;
	}
	return nr;
}

/* Each extent is inside one chunk, and its address is where its page is. */
static bool extents_right(const struct kvs_extent *ext, u32 nr, u64 pages)
{
	u64 sum = 0;

	for (u32 i = 0; i < nr; i++) {
		u64 addr = (uintptr_t)kvs_space_addr(&space, ext[i].page);

		if (!ext[i].nr || ext[i].page % KVS_CHUNK_PAGES + ext[i].nr > KVS_CHUNK_PAGES)
			return false;
		if (addr != FAKE_BASE + ((u64)ext[i].page << KVS_PAGE_SHIFT))
			return false;
		sum += ext[i].nr;
	}
	return sum == pages;
}

#define PART_PAGES	(KVSTASH_PART_BYTES_MAX >> KVS_PAGE_SHIFT)
#define PART_EXTENTS	(PART_PAGES / KVS_CHUNK_PAGES)

TEST(R113_space_of_2_tib)
{
	const u32 chunks = 2 * TIB / KVS_CHUNK_BYTES;
	const u64 pages = (u64)chunks * KVS_CHUNK_PAGES;
	struct kvs_extent *ext;
	u32 parts = pages / PART_PAGES, nr, last = 0;

	ASSERT_GE(KVS_CHUNKS_MAX, chunks);
	ASSERT_GE(TABLE_MAX, (u64)KVS_CHUNKS_MAX * sizeof(*space.chunks));
	space_make(_metadata, chunks, KVS_CHUNK_ORDER);
	ext = calloc((size_t)parts * PART_EXTENTS, sizeof(*ext));
	ASSERT_NE(NULL, ext);
	EXPECT_EQ(pages, space_free());
	/* the whole of it in parts as large as a part may be */
	for (u32 i = 0; i < parts; i++) {
		struct kvs_extent *part = ext + (size_t)i * PART_EXTENTS;

		nr = take(PART_PAGES, part, PART_EXTENTS);
		ASSERT_EQ(PART_EXTENTS, nr);
		ASSERT_TRUE(extents_right(part, nr, PART_PAGES));
		for (u32 j = 0; j < nr; j++)
			last = max(last, part[j].page + part[j].nr - 1);
	}
	EXPECT_EQ(0, space_free());
	EXPECT_EQ(pages - 1, last);
	kvs_space_give(&space, ext, parts * PART_EXTENTS);
	EXPECT_EQ(pages, space_free());
	/* and what was given back is whole again */
	EXPECT_EQ(1, take(KVS_CHUNK_PAGES, ext, 1));
	free(ext);
	space_end();
}

/* One page of each chunk, then single pages from the rest: no two the same. */
TEST(R113_no_page_is_given_twice)
{
	const u32 chunks = 64;
	static struct kvs_extent ext[64 * KVS_CHUNK_PAGES];
	static bool seen[64 * KVS_CHUNK_PAGES];
	u32 nr = 0;

	space_make(_metadata, chunks, KVS_CHUNK_ORDER);
	while (space_free()) {
		ASSERT_EQ(1, take(1, &ext[nr], 1));
		ASSERT_TRUE(extents_right(&ext[nr], 1, 1));
		ASSERT_FALSE(seen[ext[nr].page]);
		seen[ext[nr++].page] = true;
	}
	EXPECT_EQ(chunks * KVS_CHUNK_PAGES, nr);
	space_end();
}

struct held {
	struct kvs_extent ext[KVS_CHUNK_PAGES];
	u32 nr;
	u64 pages;
};

/* The longest run of each chunk is known, and no taken page is free. */
static bool space_consistent(const struct held *h, unsigned int n, u64 all)
{
	u64 pages = 0;

	for (unsigned int i = 0; i < n; i++)
		pages += h[i].pages;
	for (u32 i = 0; i < space.nr; i++)
		if (kvs_chunk_longest(space.chunks[i]) != space.chunks[i]->longest)
			return false;
	return space_free() + pages == all;
}

/* Sizes of 4 KiB to 3 MiB: whatever is within the free pages is had. */
static void churn(struct __test_metadata *_metadata, u8 order)
{
	static struct held h[256];
	const u32 chunks = 128;
	const u64 all = (u64)chunks << order;
	__u64 rnd = kvr_run_seed();

	memset(h, 0, sizeof(h));
	space_make(_metadata, chunks, order);
	for (unsigned int i = 0; i < 20000; i++) {
		struct held *x = &h[kvr_below(&rnd, KVT_LEN(h))];
		u64 want = 1 + kvr_below(&rnd, kvr_below(&rnd, 4) ? 16 : 512);

		if (x->nr) {
			kvs_space_give(&space, x->ext, x->nr);
			*x = (struct held){ 0 };
		} else if (space_free() >= want) {
			x->nr = take(want, x->ext, KVT_LEN(x->ext));
			x->pages = want;
			ASSERT_TRUE(extents_right(x->ext, x->nr, want));
		}
		if (i % 100 == 0)
			ASSERT_TRUE(space_consistent(h, KVT_LEN(h), all));
	}
	for (unsigned int i = 0; i < KVT_LEN(h); i++)
		kvs_space_give(&space, h[i].ext, h[i].nr);
	EXPECT_EQ(all, space_free());
	for (u32 i = 0; i < chunks; i++)
		ASSERT_EQ(1U << order, space.chunks[i]->longest);
	space_end();
}

TEST(R113_churn_of_whole_chunks)
{
	churn(_metadata, KVS_CHUNK_ORDER);
}

TEST(R113_churn_of_the_smallest_chunks)
{
	churn(_metadata, KVS_CHUNK_MIN_ORDER);
}

/* Written runs of a part against a bitmap of it, in units of @unit bytes. */
static void runs_against_map(struct __test_metadata *_metadata, u64 base, u64 unit)
{
	static bool map[512];
	__u64 rnd = kvr_run_seed();
	struct kvs_runs runs;
	u64 bytes;

	memset(map, 0, sizeof(map));
	kvs_runs_init(&runs);
	for (unsigned int i = 0; i < 2000; i++) {
		u32 from = kvr_below(&rnd, KVT_LEN(map));
		u32 n = 1 + kvr_below(&rnd, min_t(u32, 6, KVT_LEN(map) - from));

		ASSERT_EQ(0, kvs_runs_add(&runs, base + from * unit,
					  base + (from + n) * unit));
		for (u32 j = from; j < from + n; j++)
			map[j] = true;
		bytes = 0;
		for (u32 j = 0; j < KVT_LEN(map); j++)
			bytes += map[j] ? unit : 0;
		ASSERT_EQ(bytes, kvs_runs_bytes(&runs));
		for (u32 j = 1; j < runs.nr; j++)
			ASSERT_LT(runs.run[j - 1].end, runs.run[j].start);
	}
	kvs_runs_destroy(&runs);
}

TEST(R113_runs_at_both_ends_of_the_largest_part)
{
	runs_against_map(_metadata, 0, 1);
	runs_against_map(_metadata, KVSTASH_PART_BYTES_MAX - 512 * 4099, 4099);
}

TEST(R113_runs_have_a_limit_and_then_merge)
{
	const u64 gap = KVSTASH_PART_BYTES_MAX / 2048;
	struct kvs_runs runs;

	kvs_runs_init(&runs);
	for (u64 i = 0; i < KVSTASH_WRITE_GAPS_MAX; i++)
		ASSERT_EQ(0, kvs_runs_add(&runs, i * gap, i * gap + 1));
	EXPECT_EQ(-ENOBUFS, kvs_runs_add(&runs, KVSTASH_PART_BYTES_MAX - 1,
					 KVSTASH_PART_BYTES_MAX));
	EXPECT_EQ(KVSTASH_WRITE_GAPS_MAX, kvs_runs_bytes(&runs));
	EXPECT_EQ(0, kvs_runs_add(&runs, 1, gap));
	EXPECT_EQ(KVSTASH_WRITE_GAPS_MAX - 1, runs.nr);
	EXPECT_EQ(0, kvs_runs_add(&runs, 0, KVSTASH_PART_BYTES_MAX));
	EXPECT_EQ(1, runs.nr);
	EXPECT_EQ(KVSTASH_PART_BYTES_MAX, kvs_runs_bytes(&runs));
	kvs_runs_destroy(&runs);
}

TEST_HARNESS_MAIN
