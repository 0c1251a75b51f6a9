// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=100 wm_high=250 */
/* The worker that makes room ahead of need, between the two watermarks. */
#include "r_store.h"

#define POOL	KVR_MB(16)
#define PIECE	65536U

static char buf[PIECE];

static struct kvr_obj piece(__u64 id)
{
	return (struct kvr_obj){ .key = { 1, id }, .len = PIECE, .parts = 1 };
}

/* Nothing tells that the worker is done: look. The bound is for hangs. */
static bool free_rises_to(const struct kvr_store *s, __u64 want)
{
	const struct timespec nap = { .tv_nsec = 5000000 };

	for (unsigned int i = 0; i < 20000; i++) {
		if (kvr_pool(s, "free_bytes") >= want)
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

/*
 * Puts down to the low mark evict nothing; the next one wakes the worker, which
 * makes room up to the high mark, oldest first, and no further.
 */
TEST_F(store, worker_keeps_between_the_watermarks)
{
	const __u64 low = POOL / 10, high = POOL / 4;
	struct kvr_store *s = &self->s;
	struct kvr_obj o = piece(0);
	unsigned int visible;

	kvr_store_make(_metadata, s, POOL, NULL);
	EXPECT_LE(kvr_pool(s, "wm_low_bytes"), low);
	EXPECT_LT(low - KVT_PAGE, kvr_pool(s, "wm_low_bytes"));
	EXPECT_LT(high - KVT_PAGE, kvr_pool(s, "wm_high_bytes"));
	for (; (o.key.id + 1) * PIECE <= POOL - low; o.key.id++)
		KVT_OK(kvr_put(s->fd, &o, buf));
	EXPECT_EQ(0, kvr_ns(s, "evictions"));
	EXPECT_EQ(o.key.id, kvr_ns(s, "visible"));
	for (unsigned int round = 0; round < 60; round++, o.key.id++) {
		__u64 before = kvr_pool(s, "free_bytes"), evicted = kvr_ns(s, "evictions");

		KVT_OK(kvr_put(s->fd, &o, buf));
		if (before - PIECE >= kvr_pool(s, "wm_low_bytes")) {
			EXPECT_EQ(evicted, kvr_ns(s, "evictions"));
			continue;
		}
		ASSERT_TRUE(free_rises_to(s, kvr_pool(s, "wm_high_bytes")));
		EXPECT_GT(high + PIECE, kvr_pool(s, "free_bytes"));
	}
	EXPECT_LT(0, kvr_ns(s, "evictions"));
	visible = kvr_ns(s, "visible");
	EXPECT_EQ(visible, kvr_count_visible(s->fd, 1, o.key.id - visible, visible));
	EXPECT_EQ(0, kvr_pool(s, "direct_reclaims"));
	EXPECT_EQ(0, kvr_pool(s, "no_space"));
}

/* With the worker far behind puts make room by themselves, and none fails. */
TEST_F(store, puts_faster_than_the_worker_succeed)
{
	struct kvr_store *s = &self->s;
	struct kvr_obj o = piece(0);

	kvr_store_make(_metadata, s, POOL, NULL);
	for (; o.key.id < 4 * POOL / PIECE; o.key.id++)
		ASSERT_EQ(0, kvr_put(s->fd, &o, buf).res);
	EXPECT_NE(~0ULL, kvr_pool(s, "direct_reclaims"));
	EXPECT_EQ(0, kvr_pool(s, "no_space"));
	ASSERT_TRUE(free_rises_to(s, kvr_pool(s, "wm_low_bytes")));
	for (__u64 last = o.key.id; o.key.id-- > last - 10;)
		KVT_OK(kvr_get(s->fd, &o, buf));
}

TEST_HARNESS_MAIN
