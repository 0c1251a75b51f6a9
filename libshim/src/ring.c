// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * libkvstash: the last rows of rings, as segments
 *
 * Addresses are numbers here: whether they end within the address space is checked
 * before a pointer could be made of them.
 */
#include <errno.h>

#include "lib.h"

static __u64 layer_at(const struct kvstash_ring *r, __u32 layer)
{
	return r->bases ? kvstash_addr(r->bases[layer]) :
			  kvstash_addr(r->base) + layer * r->layer_stride;
}

/* A layer of @bytes bytes at @at */
static int check_layer(__u64 at, __u64 bytes)
{
	__u64 end;

	if (!at)
		return -EINVAL;
	if (__builtin_add_overflow(at, bytes, &end) || end > UINTPTR_MAX)
		return -EOVERFLOW;
	return 0;
}

/* One array of all layers: they do not overlap, and the last one fits. */
static int check_array(const struct kvstash_ring *r, __u64 bytes)
{
	__u64 last;

	if (!r->base || (r->layers > 1 && r->layer_stride < bytes))
		return -EINVAL;
	if (__builtin_mul_overflow(r->layer_stride, r->layers - 1, &last) ||
	    __builtin_add_overflow(last, kvstash_addr(r->base), &last))
		return -EOVERFLOW;
	return check_layer(last, bytes);
}

static int check_ring(const struct kvstash_ring *r)
{
	__u64 bytes = (__u64)r->rows * r->row_bytes;
	int ret = 0;

	if (!r->layers || !bytes || r->layers > INT32_MAX / 2)
		return -EINVAL;
	if (!r->bases)
		return check_array(r, bytes);
	for (__u32 i = 0; i < r->layers && !ret; i++)
		ret = check_layer(layer_at(r, i), bytes);
	return ret;
}

/* @n rows of a layer from row @row on */
static void rows_seg(const struct kvstash_ring *r, struct kvstash_seg *s,
		     __u32 layer, __u32 row, __u32 n)
{
	s->addr = layer_at(r, layer) + (__u64)row * r->row_bytes;
	s->len = (__u64)n * r->row_bytes;
}

int kvstash_ring_segs(const struct kvstash_ring *r, __u64 end, __u32 want,
		      struct kvstash_seg *segs, size_t room)
{
	__u32 row, first;
	int ret, n = 0;

	ret = check_ring(r);
	if (ret || !want)
		return ret ? ret : -EINVAL;
	if (want > r->rows || want > end)
		return -ERANGE;
	/* from @row on to the end of the ring, the rest from its beginning on */
	row = (__u32)((end - want) % r->rows);
	first = want < r->rows - row ? want : r->rows - row;
	if (room < (first < want ? 2 : 1) * (__u64)r->layers)
		return -ENOSPC;
	for (__u32 i = 0; i < r->layers; i++) {
		rows_seg(r, &segs[n++], i, row, first);
		if (first < want)
			rows_seg(r, &segs[n++], i, 0, want - first);
	}
	return n;
}
