// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Rings: the rows that come out are the last ones, in order, and go back in
 */
#include <errno.h>
#include <stdlib.h>

#include "check.h"

/* 20 layers that keep 396 rows of 528 bytes, of which 134 are a state */
#define LAYERS	20
#define ROWS	396
#define ROW	528
#define WANT	134

static struct kvstash_ring ring_of(void *base, __u32 layers, __u32 rows,
				   __u32 row_bytes)
{
	struct kvstash_ring r = {
		.base = base, .layers = layers, .rows = rows,
		.row_bytes = row_bytes,
		.layer_stride = (__u64)rows * row_bytes,
	};

	return r;
}

static void test_reference(void)
{
	struct kvstash_seg s[2 * LAYERS];
	char *base = zeros(LAYERS * ROWS, ROW);
	struct kvstash_ring r = ring_of(base, LAYERS, ROWS, ROW);
	struct kvstash_put p;

	/* position 134 is the first with so many rows before it */
	CHECK_EQ(kvstash_ring_segs(&r, WANT, WANT, s, LAYERS), LAYERS);
	CHECK_EQ(kvstash_segs_len(s, LAYERS), 1415040);
	CHECK_EQ(s[0].addr, (uintptr_t)base);
	CHECK_EQ(s[1].addr, (uintptr_t)base + ROWS * ROW);
	/* the last row of the ring is the last of the state: no wrap yet */
	CHECK_EQ(kvstash_ring_segs(&r, 4 * ROWS, WANT, s, LAYERS), LAYERS);
	CHECK_EQ(s[0].addr, (uintptr_t)base + (ROWS - WANT) * ROW);
	CHECK_EQ(s[0].len, WANT * ROW);
	/* one further, and it wraps */
	CHECK_EQ(kvstash_ring_segs(&r, 4 * ROWS + 1, WANT, s, 2 * LAYERS),
		 2 * LAYERS);
	CHECK_EQ(s[0].addr, (uintptr_t)base + (ROWS - WANT + 1) * ROW);
	CHECK_EQ(s[0].len, (WANT - 1) * ROW);
	CHECK_EQ(s[1].addr, (uintptr_t)base);
	CHECK_EQ(s[1].len, ROW);
	CHECK_EQ(kvstash_segs_len(s, 2 * LAYERS), 1415040);
	CHECK_EQ(kvstash_ring_segs(&r, 4 * ROWS + 1, WANT, s, 2 * LAYERS - 1),
		 -ENOSPC);
	/* as a put takes it */
	kvstash_prep_put(&p, "key", 3, NULL, 0);
	kvstash_prep_put_segs(&p, s, 2 * LAYERS);
	CHECK_EQ(p.part_len, 1415040);
	free(base);
}

/* What a row at a position of a layer holds */
static char mark(__u32 layer, __u64 pos, __u32 byte)
{
	return (char)(layer * 101 + pos * 7 + byte * 31 + 1);
}

/* Rows of the last positions before @end, as an engine has written them */
static void play(const struct kvstash_ring *r, char *const *at, __u64 end)
{
	for (__u64 pos = end > r->rows ? end - r->rows : 0; pos < end; pos++)
		for (__u32 l = 0; l < r->layers; l++)
			for (__u32 b = 0; b < r->row_bytes; b++)
				at[l][pos % r->rows * r->row_bytes + b] =
					mark(l, pos, b);
}

/* A byte that is not that of layer, position and place; -1: all are. */
static long long wrong(const struct kvstash_ring *r, const char *state,
		       __u64 end, __u32 want)
{
	const char *p = state;

	for (__u32 l = 0; l < r->layers; l++)
		for (__u64 pos = end - want; pos < end; pos++)
			for (__u32 b = 0; b < r->row_bytes; b++)
				if (*p++ != mark(l, pos, b))
					return p - state - 1;
	return -1;
}

/* As the kernel does: segments one after the other, to or from a state */
static size_t move(const struct kvstash_seg *s, int n, char *state, int gather)
{
	size_t at = 0;

	for (int i = 0; i < n; i++) {
		char *mem = (char *)(uintptr_t)s[i].addr;

		if (gather)
			memcpy(state + at, mem, s[i].len);
		else
			memcpy(mem, state + at, s[i].len);
		at += s[i].len;
	}
	return at;
}

/* Out of a ring and into one of another size, from where it comes out the same */
static void round_trip(__u32 rows, __u64 end, __u32 want, int separate)
{
	enum { L = 3, R = 5 };
	size_t bytes = (size_t)L * want * R;
	struct kvstash_ring a = ring_of(zeros(L * rows, R), L, rows, R);
	struct kvstash_ring b = ring_of(zeros(L * (want + 1), R), L, want + 1, R);
	char *state = zeros(bytes, 1), *again = zeros(bytes, 1);
	char *at[L];
	struct kvstash_seg s[2 * L];
	int n;

	/* layers in another order in memory, if they are separate */
	for (__u32 l = 0; l < L; l++)
		at[l] = (char *)a.base +
			(separate ? L - 1 - l : l) * (size_t)rows * R;
	play(&a, at, end);
	if (separate) {
		a.bases = (void *const *)at;
		a.layer_stride = 1;
	}
	n = kvstash_ring_segs(&a, end, want, s, 2 * L);
	CHECK(n == L || n == 2 * L);
	CHECK_EQ(move(s, n, state, 1), bytes);
	CHECK_EQ(wrong(&a, state, end, want), -1);
	n = kvstash_ring_segs(&b, end, want, s, 2 * L);
	CHECK_EQ(move(s, n, state, 0), bytes);
	n = kvstash_ring_segs(&b, end, want, s, 2 * L);
	CHECK_EQ(move(s, n, again, 1), bytes);
	CHECK(!memcmp(state, again, bytes));
	free(a.base);
	free(b.base);
	free(state);
	free(again);
}

static void test_rows(void)
{
	for (__u32 rows = 1; rows <= 7; rows++)
		for (__u32 want = 1; want <= rows; want++)
			for (__u64 end = want; end < want + 2 * rows + 1; end++)
				round_trip(rows, end, want, end & 1);
}

static void is(const struct kvstash_ring *r, __u64 end, __u32 want, int ret)
{
	struct kvstash_seg s[4], before[4];

	memset(s, 0xa5, sizeof(s));
	memcpy(before, s, sizeof(s));
	CHECK_EQ(kvstash_ring_segs(r, end, want, s, 4), ret);
	if (ret < 0)
		CHECK(!memcmp(s, before, sizeof(s)));
}

static void test_refused(void)
{
	static char mem[64];
	void *bases[2] = { mem, mem };
	struct kvstash_ring r = ring_of(mem, 2, 4, 4);

	is(&r, 3, 4, -ERANGE);
	is(&r, 0, 1, -ERANGE);
	is(&r, 100, 5, -ERANGE);
	is(&r, UINT64_MAX, 4, 4);
	is(&r, 4, 0, -EINVAL);
	is(&r, 4, 4, 2);
	r.rows = 0;
	is(&r, 4, 4, -EINVAL);
	r = ring_of(mem, 0, 4, 4);
	is(&r, 4, 4, -EINVAL);
	r = ring_of(mem, 2, 4, 0);
	is(&r, 4, 4, -EINVAL);
	r = ring_of(NULL, 2, 4, 4);
	is(&r, 4, 4, -EINVAL);
	r.bases = bases;
	is(&r, 4, 4, 2);
	bases[1] = NULL;
	is(&r, 4, 4, -EINVAL);
	/* layers that overlap; one alone has nothing to overlap */
	r = ring_of(mem, 2, 4, 4);
	r.layer_stride = 15;
	is(&r, 4, 4, -EINVAL);
	r.layers = 1;
	is(&r, 4, 4, 1);
	r.layers = 3;
	r.layer_stride = 16;
	is(&r, 5, 4, -ENOSPC);
	is(&r, 4, 4, 3);
}

static void test_overflow(void)
{
	void *bases[2] = { (void *)(UINTPTR_MAX - 16), (void *)16 };
	struct kvstash_ring r = ring_of((void *)16, 2, 4, 4);

	r.layer_stride = UINT64_MAX;
	is(&r, 4, 4, -EOVERFLOW);
	r.layers = 3;
	r.layer_stride = 1ULL << 63;
	is(&r, 4, 4, -EOVERFLOW);
	r = ring_of((void *)16, UINT32_MAX, 4, 4);
	is(&r, 4, 4, -EINVAL);
	r = ring_of((void *)16, 2, UINT32_MAX, UINT32_MAX);
	is(&r, 4, 4, -EOVERFLOW);
	r = ring_of((void *)16, 1, UINT32_MAX, UINT32_MAX);
	is(&r, UINT64_MAX, 1, 1);
	r = ring_of((void *)(UINTPTR_MAX - 16), 1, 4, 4);
	is(&r, 4, 4, 1);
	r.rows = 5;
	is(&r, 4, 4, -EOVERFLOW);
	r = ring_of(NULL, 2, 4, 4);
	r.bases = bases;
	is(&r, 4, 4, 2);
	r.row_bytes = 5;
	is(&r, 4, 4, -EOVERFLOW);
}

void test_ring(void)
{
	test_reference();
	test_rows();
	test_refused();
	test_overflow();
}
