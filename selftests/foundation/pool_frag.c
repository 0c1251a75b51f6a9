// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 chunk_order=4 wm_low=0 wm_high=0 */
/* Fragmented memory: chunks of 64 KiB at most, as if no larger were to be had. */
#include "r_store.h"

#define POOL	KVR_MB(8)
#define CHUNK	65536

static char buf[POOL + KVT_PAGE];

TEST_F(store, chunks_are_small)
{
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, POOL, NULL);
	EXPECT_EQ(POOL, kvr_pool(s, "total_bytes"));
	EXPECT_EQ(POOL, kvr_pool(s, "free_bytes"));
	EXPECT_LE(POOL / CHUNK, kvr_pool(s, "chunks_small"));
	EXPECT_EQ(kvr_pool(s, "chunks"), kvr_pool(s, "chunks_small"));
}

/* Larger than any chunk, and at last as large as the pool. */
TEST_F(store, object_larger_than_any_chunk)
{
	static const __u32 sizes[] = {
		CHUNK - 1, CHUNK, CHUNK + 1, KVR_BLOCK, KVR_STATE, POOL / 2 + 1, POOL,
	};
	struct kvr_obj o = { .key = { 1, 0 }, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct kvstash_exists x;

	kvr_store_make(_metadata, s, POOL, NULL);
	for (; o.key.id < KVT_LEN(sizes); o.key.id++) {
		o.len = sizes[o.key.id];
		KVT_OK(kvr_put(s->fd, &o, buf));
		KVT_OK(kvr_get(s->fd, &o, buf));
		KVT_OK(kvr_exists(s->fd, &o, &x));
		EXPECT_EQ(o.len, x.object_size);
		kvr_sane(_metadata, s);
	}
	EXPECT_EQ(0, kvr_pool(s, "free_bytes"));
	EXPECT_EQ(1, kvr_ns(s, "visible"));
}

/* Sizes mixed at random: whatever fits by its bytes is taken without eviction. */
TEST_F(store, fits_whenever_the_bytes_are_there)
{
	unsigned int rounds = 400, first = 0, last = 0;
	static struct kvr_obj o[4096];
	struct kvr_store *s = &self->s;
	__u64 rnd = kvr_run_seed();

	kvr_store_make(_metadata, s, POOL, NULL);
	while (last < rounds) {
		o[last] = (struct kvr_obj){
			.key = { 2, last }, .parts = 1 + kvr_below(&rnd, 3),
			.len = 1 + kvr_below(&rnd, kvr_below(&rnd, 8) ? 20000 : 1000000),
		};
		while (kvr_pool(s, "free_bytes") < kvr_room(&o[last])) {
			/* any of those that are there, not the oldest */
			unsigned int i = first + kvr_below(&rnd, last - first);
			struct kvr_obj t = o[i];

			o[i] = o[first];
			o[first++] = t;
			KVT_OK(kvr_get(s->fd, &t, buf));
			KVT_OK(kvr_remove(s->fd, &t));
		}
		ASSERT_EQ(0, kvr_put(s->fd, &o[last], buf).res);
		last++;
	}
	for (; first < last; first++)
		KVT_OK(kvr_get(s->fd, &o[first], buf));
	EXPECT_EQ(0, kvr_ns(s, "evictions"));
	EXPECT_EQ(0, kvr_pool(s, "direct_reclaims"));
}

TEST_F(store, filled_to_the_last_page)
{
	struct kvr_obj o = { .key = { 3, 0 }, .len = KVT_PAGE, .parts = 1 };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVR_MB(2), NULL);
	for (; o.key.id < KVR_MB(2) / KVT_PAGE; o.key.id++)
		ASSERT_EQ(0, kvr_put(s->fd, &o, buf).res);
	EXPECT_EQ(0, kvr_pool(s, "free_bytes"));
	EXPECT_EQ(0, kvr_ns(s, "evictions"));
	while (o.key.id--)
		ASSERT_EQ(0, kvr_get(s->fd, &o, buf).res);
}

TEST_HARNESS_MAIN
