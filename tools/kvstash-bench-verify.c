// SPDX-License-Identifier: GPL-2.0
/*
 * kvstash-bench: the bytes of a block
 *
 * Word i of a block is seed + i * STEP, with a seed that is a mixed block id:
 * any byte can be told without those before it, two blocks share no word at the
 * same place and a shifted block is found out, too. An addition a word is all
 * there is to do, so checking runs at the speed of memory.
 */
#include <string.h>

#include "kvstash-bench.h"

#define STEP	0xd1342543de82ef95ULL	/* odd */
#define LANES	4

typedef __u64 lanes_t __attribute__((vector_size(LANES * sizeof(__u64))));

__u64 pattern_seed(__u64 domain, __u64 id)
{
	return mix64(id ^ mix64(domain));
}

/* A key is no plainer than a digest would be: all its bytes differ between ids. */
void pattern_key(__u8 *key, __u64 domain, __u64 id)
{
	__u64 w = pattern_seed(~domain, id);

	for (size_t i = 0; i < KEY_BYTES; i += sizeof(w)) {
		memcpy(key + i, &w, sizeof(w));
		w = mix64(w);
	}
}

static __u64 word_at(__u64 seed, __u64 word)
{
	return seed + word * STEP;
}

static void lanes_at(lanes_t *v, __u64 seed, __u64 word)
{
	for (unsigned int i = 0; i < LANES; i++)
		(*v)[i] = word_at(seed, word + i);
}

static __u8 byte_at(__u64 seed, __u64 offset)
{
	return (__u8)(word_at(seed, offset / 8) >> (offset % 8 * 8));
}

/* @offset: where in the block @buf begins, a multiple of 8 */
void pattern_fill(void *buf, size_t len, __u64 seed, __u64 offset)
{
	const __u64 stride = LANES * STEP;
	__u8 *p = buf;
	size_t i;
	lanes_t v;

	lanes_at(&v, seed, offset / 8);
	for (i = 0; i + sizeof(v) <= len; i += sizeof(v)) {
		memcpy(p + i, &v, sizeof(v));
		v += stride;
	}
	for (; i < len; i++)
		p[i] = byte_at(seed, offset + i);
}

static size_t first_wrong(const __u8 *p, size_t from, size_t len, __u64 seed,
			  __u64 offset)
{
	while (from < len && p[from] == byte_at(seed, offset + from))
		from++;
	return from;
}

/* Index of the first wrong byte, @len if there is none */
size_t pattern_check(const void *buf, size_t len, __u64 seed, __u64 offset)
{
	const __u64 stride = LANES * STEP;
	const __u8 *p = buf;
	size_t i = 0;
	lanes_t v;

	lanes_at(&v, seed, offset / 8);
	/* Look once in a page's worth: no branch in the inner loop. */
	while (len - i >= PAGE_UNIT) {
		lanes_t wrong = {};

		for (size_t k = 0; k < PAGE_UNIT; k += sizeof(v)) {
			lanes_t have;

			memcpy(&have, p + i + k, sizeof(have));
			wrong |= have ^ v;
			v += stride;
		}
		if (wrong[0] | wrong[1] | wrong[2] | wrong[3])
			break;
		i += PAGE_UNIT;
	}
	return first_wrong(p, i, len, seed, offset);
}

/* So that a get which leaves out a page is not taken for right by an older one. */
void pattern_spoil(void *buf, size_t len)
{
	__u8 *p = buf;

	for (size_t i = 0; i < len; i += PAGE_UNIT)
		p[i] = (__u8)~p[i];
	if (len)
		p[len - 1] = (__u8)~p[len - 1];
}
