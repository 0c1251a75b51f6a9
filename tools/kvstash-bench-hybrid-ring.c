// SPDX-License-Identifier: GPL-2.0
/*
 * kvstash-bench hybrid: the window layers
 *
 * Each keeps the rows of the last positions in a ring. The bytes of a row can be
 * told from its layer, its position and the block in which that is: the block stands
 * for all that comes before it, as its hash does. So the state of another prompt, of
 * another length, or with rows out of their order is found out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvstash-bench-play.h"

#define RING_DOMAIN	0x72696e67ULL

struct rings {
	struct kvstash_ring ring;
	struct kvstash_seg segs[2 * STATE_LAYERS];
	__u8 *base;
};

/* Rows that are one behind the other, in the ring and in their block */
struct rows {
	__u8 *at;
	size_t bytes;
	__u64 seed;
	__u64 offset;
};

struct rings *rings_create(void)
{
	struct rings *s = xalloc(1, sizeof(*s));
	__u64 stride = (__u64)RING_ROWS * model.row_bytes;

	s->base = map_pages(STATE_LAYERS * stride);
	s->ring = (struct kvstash_ring){
		.base = s->base, .layer_stride = stride, .layers = STATE_LAYERS,
		.rows = RING_ROWS, .row_bytes = model.row_bytes,
	};
	return s;
}

/* From @pos on, to @end at most; returns how many rows. */
static __u64 rows_at(const struct rings *s, const struct player *p, __u32 layer, __u64 pos,
		     __u64 end, struct rows *rows)
{
	__u64 in_block = pos % BLOCK_TOKENS, in_ring = pos % RING_ROWS, n = end - pos;
	__u64 block = p->r->t->id[p->chain[pos / BLOCK_TOKENS]];

	if (n > BLOCK_TOKENS - in_block)
		n = BLOCK_TOKENS - in_block;
	if (n > RING_ROWS - in_ring)
		n = RING_ROWS - in_ring;
	*rows = (struct rows){
		.at = s->base + layer * s->ring.layer_stride + in_ring * model.row_bytes,
		.bytes = n * model.row_bytes,
		.seed = pattern_seed(RING_DOMAIN + layer, block),
		.offset = in_block * model.row_bytes,
	};
	return n;
}

/* Of positions @from to @to - 1, those that a state at @to has */
void rings_compute(struct rings *s, const struct player *p, __u64 from, __u64 to)
{
	struct rows rows;

	if (from + model.rows < to)
		from = to - model.rows;
	for (__u32 layer = 0; layer < STATE_LAYERS; layer++)
		for (__u64 pos = from; pos < to;) {
			pos += rows_at(s, p, layer, pos, to, &rows);
			pattern_fill(rows.at, rows.bytes, rows.seed, rows.offset);
		}
}

static bool layer_checked(const struct player *p, __u32 layer)
{
	switch (p->r->verify) {
	case VERIFY_FULL:
		return true;
	case VERIFY_SAMPLE:
		return (layer + p->tally->requests) % 7 == 0;
	default:
		return false;
	}
}

/* Are the rows before @end what they should be? Counts the runs that are not. */
size_t rings_wrong(struct rings *s, const struct player *p, __u64 end)
{
	size_t wrong = 0;
	struct rows rows;

	for (__u32 layer = 0; layer < STATE_LAYERS; layer++)
		for (__u64 pos = end - model.rows; pos < end && layer_checked(p, layer);) {
			pos += rows_at(s, p, layer, pos, end, &rows);
			wrong += pattern_check(rows.at, rows.bytes, rows.seed,
					       rows.offset) < rows.bytes;
		}
	return wrong;
}

/* Where the state at @end is */
const struct kvstash_seg *rings_segs(struct rings *s, __u64 end, size_t *n)
{
	int ret = kvstash_ring_segs(&s->ring, end, model.rows, s->segs, 2 * STATE_LAYERS);

	if (ret < 0)
		die("segments of the rings at %llu tokens: %s", end, strerror(-ret));
	*n = (size_t)ret;
	return s->segs;
}
