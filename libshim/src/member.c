// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * libkvstash: what an engine's key says of its place in a group
 */
#include <errno.h>

#include "lib.h"

/* What is left of a key. */
struct rest {
	const char *p;
	const char *end;
};

/* Hex digits from here on: how many. */
static size_t take_hex(struct rest *r)
{
	const char *from = r->p;

	while (r->p < r->end && ((*r->p >= '0' && *r->p <= '9') ||
				 (*r->p >= 'a' && *r->p <= 'f') ||
				 (*r->p >= 'A' && *r->p <= 'F')))
		r->p++;
	return (size_t)(r->p - from);
}

static int take_text(struct rest *r, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(r->end - r->p) < len || memcmp(r->p, text, len))
		return -EINVAL;
	r->p += len;
	return 0;
}

/* Decimal as printf("%d") writes it: no sign, no zero in front. */
static int take_number(struct rest *r, __s32 *out)
{
	const char *from = r->p;
	__s32 v = 0;

	for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, *r->p - '0', &v))
			return -EINVAL;
	if (r->p == from || (*from == '0' && r->p > from + 1))
		return -EINVAL;
	*out = v;
	return 0;
}

static int take_side(struct rest *r, char *out)
{
	if (r->p == r->end || (*r->p != 'k' && *r->p != 'v'))
		return -EINVAL;
	*out = *r->p++;
	return 0;
}

/* All behind the hash; nothing may be left. */
static int parse(struct rest *r, struct kvstash_member *m)
{
	m->hash_len = take_hex(r);
	if (!m->hash_len)
		return -EINVAL;
	if (r->p == r->end)
		return 0;
	if (take_text(r, "_") || take_number(r, &m->layer) ||
	    take_text(r, "_") || take_side(r, &m->side))
		return -EINVAL;
	if (r->p == r->end)
		return 0;
	if (take_text(r, "_tp_") || take_number(r, &m->tp_rank))
		return -EINVAL;
	return r->p == r->end ? 0 : -EINVAL;
}

int kvstash_member_of(const void *key, size_t len, struct kvstash_member *out)
{
	struct kvstash_member m = { .layer = -1, .tp_rank = -1 };
	struct rest r = { .p = key };
	int ret;

	if (!len || len > KVSTASH_KEY_MAX)
		return -EINVAL;
	r.end = r.p + len;
	ret = parse(&r, &m);
	if (!ret)
		*out = m;
	return ret;
}
