/* SPDX-License-Identifier: GPL-2.0 */
/* Families of keys that are easily taken for one another. */
#ifndef KVSTASH_OBJECTS_KEYS_H
#define KVSTASH_OBJECTS_KEYS_H

#include <kvstash_test.h>

/*
 * @n objects, of which number i has the key at keys + offs[i] of lens[i] bytes
 * and i as its bytes: each is put, each has its own, each goes by itself.
 */
static inline void keys_distinct(struct __test_metadata *_metadata, int fd,
				 const unsigned char *keys, const __u32 *offs,
				 const __u16 *lens, __u32 n)
{
	struct kvstash_put *p = calloc(n, sizeof(*p));
	struct kvstash_get *g = calloc(n, sizeof(*g));
	__u32 *bytes = calloc(n, sizeof(*bytes));
	__u32 *back = calloc(n, sizeof(*back));
	__u32 wrong = 0;

	ASSERT_TRUE(p && g && bytes && back);
	for (__u32 i = 0; i < n; i++) {
		bytes[i] = i;
		kvstash_prep_put(&p[i], keys + offs[i], lens[i], &bytes[i],
				 sizeof(*bytes));
		kvstash_prep_get(&g[i], keys + offs[i], lens[i], &back[i],
				 sizeof(*back));
	}
	ASSERT_EQ(n, kvt_put(fd, p, n));
	ASSERT_EQ(n, kvt_get(fd, g, n));
	for (__u32 i = 0; i < n; i++)
		wrong += p[i].r.res || g[i].r.res || back[i] != i;
	EXPECT_EQ(0, wrong);
	/* take every second one away; the others are there still */
	for (__u32 i = 0; i < n; i += 2)
		wrong += !!kvt_remove1(fd, keys + offs[i], lens[i]).res;
	ASSERT_EQ(n, kvt_get(fd, g, n));
	for (__u32 i = 0; i < n; i++)
		wrong += g[i].r.reason != (i % 2 ? KVSTASH_R_OK :
						   KVSTASH_R_MISS);
	for (__u32 i = 1; i < n; i += 2)
		wrong += !!kvt_remove1(fd, keys + offs[i], lens[i]).res;
	EXPECT_EQ(0, wrong);
	free(p);
	free(g);
	free(bytes);
	free(back);
}

/* A key of @len bytes, and all that differ from it in one bit. */
static inline void keys_one_bit(struct __test_metadata *_metadata, int fd,
				unsigned int len)
{
	const __u32 n = 8 * len + 1;
	unsigned char *keys = malloc((size_t)n * len);
	__u32 *offs = calloc(n, sizeof(*offs));
	__u16 *lens = calloc(n, sizeof(*lens));

	ASSERT_TRUE(keys && offs && lens);
	for (__u32 i = 0; i < n; i++) {
		offs[i] = i * len;
		lens[i] = len;
		kvt_fill(keys + offs[i], len, 77);
		if (i)
			keys[offs[i] + (i - 1) / 8] ^= 1 << (i - 1) % 8;
	}
	keys_distinct(_metadata, fd, keys, offs, lens, n);
	free(keys);
	free(offs);
	free(lens);
}

/* All prefixes of one key of the greatest length, of zeros and of a pattern. */
static inline void keys_prefixes(struct __test_metadata *_metadata, int fd)
{
	static unsigned char keys[2 * KVSTASH_KEY_MAX];
	static __u32 offs[2 * KVSTASH_KEY_MAX];
	static __u16 lens[2 * KVSTASH_KEY_MAX];

	kvt_fill(keys, KVSTASH_KEY_MAX, 78);
	memset(keys + KVSTASH_KEY_MAX, 0, KVSTASH_KEY_MAX);
	for (__u32 i = 0; i < 2 * KVSTASH_KEY_MAX; i++) {
		offs[i] = i / KVSTASH_KEY_MAX * KVSTASH_KEY_MAX;
		lens[i] = i % KVSTASH_KEY_MAX + 1;
	}
	keys_distinct(_metadata, fd, keys, offs, lens, 2 * KVSTASH_KEY_MAX);
}

#endif
