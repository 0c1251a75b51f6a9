// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Ranges of chosen layers: in the order asked, each layer once
 */
#include <errno.h>

#include "check.h"

#define LEN(i) (70752 + (__u64)(i))

static struct kvstash_layer layers[KVSTASH_LAYERS_MAX];
static char data[4][8];
static void *const addrs[] = { data[0], data[1], data[2], data[3] };

static void fill(void)
{
	__u64 at = 0;

	for (size_t i = 0; i < KVSTASH_LAYERS_MAX; i++) {
		layers[i].offset = at;
		layers[i].len = LEN(i);
		at += LEN(i) + 64;
	}
}

static void test_order(void)
{
	static const __u32 chosen[] = { 19, 0, 4095, 64 }, second[] = { 1 };
	struct kvstash_range r[5], want[5];

	memset(r, 0xa5, sizeof(r));
	memcpy(want, r, sizeof(want));
	for (size_t i = 0; i < 4; i++)
		kvstash_prep_range(&want[i], 0, layers[chosen[i]].offset,
				   data[i], LEN(chosen[i]));
	CHECK_EQ(kvstash_layer_ranges(layers, KVSTASH_LAYERS_MAX, chosen, 4,
				      addrs, r), 4);
	CHECK(!memcmp(r, want, sizeof(r)));
	CHECK_EQ(kvstash_layer_ranges(layers, 20, chosen, 1, addrs, r), 1);
	CHECK_EQ(kvstash_layer_ranges(layers, 20, NULL, 0, NULL, NULL), 0);
	/* a length that has no pointer type's size is not cut */
	layers[1].len = (1ULL << 35) + 8;
	CHECK_EQ(kvstash_layer_ranges(layers, 2, second, 1, addrs, r), 1);
	CHECK_EQ(r[0].len, (1ULL << 35) + 8);
	layers[1].len = LEN(1);
}

static void refused(size_t nr_layers, const __u32 *chosen, size_t n)
{
	struct kvstash_range r[4], before[4];

	memset(r, 0xa5, sizeof(r));
	memcpy(before, r, sizeof(r));
	CHECK_EQ(kvstash_layer_ranges(layers, nr_layers, chosen, n, addrs, r),
		 -EINVAL);
	CHECK(!memcmp(r, before, sizeof(r)));
}

static void test_refused(void)
{
	static const __u32 past[] = { 0, 20 }, twice[] = { 3, 67, 131, 67 };
	static const __u32 far[] = { UINT32_MAX };
	struct kvstash_range r[3];

	refused(20, past, 2);
	refused(200, twice, 4);
	refused(KVSTASH_LAYERS_MAX, far, 1);
	refused(0, past, 1);
	refused(KVSTASH_LAYERS_MAX + 1, past, 1);
	/* the same bit of other words is another layer */
	CHECK_EQ(kvstash_layer_ranges(layers, 200, twice, 3, addrs, r), 3);
}

/* All of them, backwards */
static void test_all(void)
{
	static struct kvstash_range r[KVSTASH_LAYERS_MAX];
	static __u32 chosen[KVSTASH_LAYERS_MAX];
	static void *to[KVSTASH_LAYERS_MAX];
	size_t i;

	for (i = 0; i < KVSTASH_LAYERS_MAX; i++) {
		chosen[i] = (__u32)(KVSTASH_LAYERS_MAX - 1 - i);
		to[i] = data[0];
	}
	CHECK_EQ(kvstash_layer_ranges(layers, KVSTASH_LAYERS_MAX, chosen,
				      KVSTASH_LAYERS_MAX, to, r),
		 KVSTASH_LAYERS_MAX);
	for (i = 0; i < KVSTASH_LAYERS_MAX && r[i].len == LEN(chosen[i]); i++)
		;
	CHECK_EQ(i, KVSTASH_LAYERS_MAX);
}

void test_layer(void)
{
	fill();
	test_order();
	test_refused();
	test_all();
}
