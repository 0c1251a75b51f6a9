// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/*
 * Readers: R24 and R69. A reader that holds references is one that stands still
 * inside GET; see kvr_reader_start().
 */
#include "r_store.h"

static char buf[KVR_BLOCK * 2];

#define R24_OBJECTS	64
#define R24_READERS	16

static struct kvr_obj r24_obj(unsigned int i)
{
	return (struct kvr_obj){ .key = { 24, i }, .len = 16384 - 7, .parts = 1 };
}

/* Objects in @first .. @first + 31 that are visible. */
static unsigned int r24_visible(int fd, unsigned int first)
{
	return kvr_count_visible(fd, 24, first, R24_OBJECTS / 2);
}

/* Puts other bytes over all that has come free, three times. */
static void r24_reuse(struct __test_metadata *_metadata, struct kvr_store *s,
		      unsigned int round)
{
	struct kvr_obj o = { .key = { 240 + round, 0 }, .len = 16384, .parts = 1 };
	unsigned int n = 3 * kvr_pool(s, "total_bytes") / o.len;

	for (; o.key.id < n; o.key.id++)
		ASSERT_EQ(0, kvr_put(s->fd, &o, buf).res);
}

/*
 * A reader is on every fourth of 64 objects. A batch REMOVE takes the first
 * half, an eviction pass the second; what is being read is passed over by
 * eviction (design.rst), so another REMOVE takes those. Then all 64 are hidden,
 * and what the 16 readers get is their object's to the last byte, though all
 * else was written over again and again.
 */
TEST_F(store, R24_I3_readers_keep_their_bytes)
{
	static struct kvr_reader rd[R24_READERS];
	struct kvstash_exists x[R24_OBJECTS];
	struct kvr_key keys[R24_OBJECTS];
	struct kvr_store *s = &self->s;
	struct kvr_obj o;

	if (kvr_uffd_works())
		SKIP(return, "userfaultfd: %s", strerror(-kvr_uffd_works()));
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int i = 0; i < R24_OBJECTS; i++) {
		o = r24_obj(i);
		keys[i] = o.key;
		KVT_OK(kvr_put(s->fd, &o, buf));
	}
	for (unsigned int i = 0; i < R24_READERS; i++) {
		o = r24_obj(4 * i);
		ASSERT_EQ(0, kvr_reader_start(&rd[i], s->fd, &o));
	}
	ASSERT_EQ(32, kvr_remove_many(s->fd, keys, 32, x));
	for (unsigned int i = 0; i < 32; i++)
		KVT_OK(x[i].r);
	EXPECT_EQ(0, r24_visible(s->fd, 0));
	EXPECT_EQ(8 * 16384, kvr_pool(s, "held_bytes"));
	r24_reuse(_metadata, s, 0);
	EXPECT_EQ(8, r24_visible(s->fd, 32));
	ASSERT_EQ(32, kvr_remove_many(s->fd, keys + 32, 32, x));
	for (unsigned int i = 0; i < 32; i++)
		EXPECT_EQ(i % 4 ? KVSTASH_R_MISS : KVSTASH_R_OK, x[i].r.reason);
	EXPECT_EQ(0, r24_visible(s->fd, 0) + r24_visible(s->fd, 32));
	EXPECT_EQ(16 * 16384, kvr_pool(s, "held_bytes"));
	r24_reuse(_metadata, s, 1);
	for (unsigned int i = 0; i < R24_READERS; i++)
		KVT_OK(kvr_reader_finish(&rd[i]));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
}

/* The key of a removed object is free at once, though its bytes are held. */
TEST_F(store, I2_I3_put_again_beside_a_held_object)
{
	struct kvr_obj o = { .key = { 25, 1 }, .len = 10000, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct kvr_reader rd;

	if (kvr_uffd_works())
		SKIP(return, "userfaultfd: %s", strerror(-kvr_uffd_works()));
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(kvr_put(s->fd, &o, buf));
	ASSERT_EQ(0, kvr_reader_start(&rd, s->fd, &o));
	KVT_OK(kvr_remove(s->fd, &o));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_get(s->fd, &o, buf));
	memset(buf, 0x11, sizeof(buf));
	KVT_OK(kvt_put1(s->fd, &o.key, sizeof(o.key), buf, 10000));
	EXPECT_EQ(kvt_pages(10000), kvr_pool(s, "held_bytes"));
	EXPECT_EQ(kvt_pages(10000), kvr_pool(s, "committed_bytes"));
	KVT_OK(kvr_reader_finish(&rd));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
	EXPECT_EQ(-EILSEQ, kvr_get(s->fd, &o, buf).res);
}

#define R69_MOST	1024

static struct kvr_key r69_keys[R69_MOST];
static struct kvstash_put r69_put[R69_MOST];
static struct kvstash_get r69_get[R69_MOST];

static struct kvr_obj r69_obj(unsigned int i, __u32 len)
{
	return (struct kvr_obj){
		.key = r69_keys[i], .len = len - i % 7, .parts = 1,
		.parent = i ? &r69_keys[i - 1] : NULL,
	};
}

/* A chain of @n objects in one call; @data has room for all. */
static void r69_put_chain(struct __test_metadata *_metadata, int fd, __u64 space,
			  unsigned int n, __u32 len, char *data)
{
	struct kvr_obj o;

	for (unsigned int i = 0; i < n; i++) {
		r69_keys[i] = (struct kvr_key){ space, i };
		o = r69_obj(i, len);
		kvr_fill(&o, 0, data + i * len);
		kvr_prep(&r69_put[i], &o, 0, data + i * len);
		r69_put[i].key = kvstash_addr(&r69_keys[i]);
	}
	ASSERT_EQ(n, kvt_put(fd, r69_put, n));
	for (unsigned int i = 0; i < n; i++)
		EXPECT_EQ(0, r69_put[i].r.res);
}

/* The first @n of the chain by one GET, each byte verified. */
static void r69_get_chain(struct __test_metadata *_metadata, int fd, unsigned int n,
			  __u32 len, char *data)
{
	struct kvstash_keys k;
	struct kvr_obj o;

	memset(data, KVT_CANARY_BYTE, n * len);
	for (unsigned int i = 0; i < n; i++)
		kvstash_prep_get(&r69_get[i], &r69_keys[i], sizeof(r69_keys[i]),
				 data + i * len, len);
	ASSERT_EQ(n, kvt_get(fd, r69_get, n));
	for (unsigned int i = 0; i < n; i++) {
		o = r69_obj(i, len);
		ASSERT_EQ(0, r69_get[i].r.res);
		ASSERT_EQ(o.len, r69_get[i].bytes);
		ASSERT_EQ(0, kvr_verify(&o, data + i * len).res) {
			TH_LOG("%u objects: number %u", n, i);
		}
		ASSERT_TRUE(kvt_untouched((unsigned char *)data + i * len + o.len,
					  len - o.len));
	}
	kvstash_prep_keys(&k, r69_keys, sizeof(*r69_keys), n);
	ASSERT_EQ(n, kvt_lookup(fd, &k));
}

/* Every length from 1 to 1,024 (in a slow bed every so-manyth) of one chain. */
TEST_F(store, R69_every_length_of_one_chain)
{
	char *data = kvt_map(R69_MOST * 512);
	unsigned int step = R69_MOST / kvt_rounds(R69_MOST);
	struct kvr_store *s = &self->s;

	ASSERT_NE(NULL, data);
	kvr_store_make(_metadata, s, KVR_MB(8), NULL);
	r69_put_chain(_metadata, s->fd, 69, R69_MOST, 512, data);
	for (unsigned int n = 1; n <= R69_MOST; n += step)
		r69_get_chain(_metadata, s->fd, n, 512, data);
	r69_get_chain(_metadata, s->fd, R69_MOST, 512, data);
}

/* The lengths around the powers of two as chains of their own, larger objects. */
TEST_F(store, R69_chains_around_the_limits)
{
	static const struct {
		unsigned int from;
		unsigned int to;
	} lengths[] = {
		{ 1, 3 }, { 113, 129 }, { 255, 257 }, { 511, 513 }, { 1023, 1024 },
	};
	const __u32 len = KVT_PAGE + 100;
	char *data = kvt_map(R69_MOST * len);
	struct kvr_store *s = &self->s;

	ASSERT_NE(NULL, data);
	kvr_store_make(_metadata, s, KVR_MB(16), NULL);
	for (unsigned int l = 0; l < KVT_LEN(lengths); l++) {
		for (unsigned int n = lengths[l].from; n <= lengths[l].to; n++) {
			r69_put_chain(_metadata, s->fd, 6900 + n, n, len, data);
			r69_get_chain(_metadata, s->fd, n, len, data);
		}
	}
}

/* Puts and gets one object through @n segments of odd lengths. */
static void r69_scatter(struct __test_metadata *_metadata, int fd, unsigned int n)
{
	struct kvr_obj o = { .key = { 690, n }, .len = 0, .parts = 1 };
	struct kvstash_seg in[257], out[257];
	struct kvstash_put put;
	struct kvstash_get get;
	static char copy[2 * KVR_BLOCK];
	__u32 at = 0;

	for (unsigned int i = 0; i < n; i++)
		o.len += 1 + (i * 37) % 600;
	ASSERT_GE(sizeof(buf), o.len);
	kvr_fill(&o, 0, buf);
	memset(copy, KVT_CANARY_BYTE, sizeof(copy));
	for (unsigned int i = 0; i < n; i++) {
		__u32 len = 1 + (i * 37) % 600;

		kvstash_prep_seg(&in[i], buf + at, len);
		kvstash_prep_seg(&out[i], copy + at, len);
		at += len;
	}
	kvr_prep(&put, &o, 0, NULL);
	kvstash_prep_put_segs(&put, in, n);
	KVT_OK(kvt_put_one(fd, &put));
	kvstash_prep_get_segs(&get, &o.key, sizeof(o.key), out, n);
	KVT_OK(kvt_get_one(fd, &get));
	EXPECT_EQ(o.len, get.bytes);
	KVT_OK(kvr_verify(&o, copy));
	EXPECT_TRUE(kvt_untouched((unsigned char *)copy + o.len, 64));
}

TEST_F(store, R69_scatter_lists_around_the_limits)
{
	static const unsigned int n[] = { 1, 2, 127, 128, 129, 255, 256, 257 };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int i = 0; i < KVT_LEN(n); i++)
		r69_scatter(_metadata, s->fd, n[i]);
}

TEST_HARNESS_MAIN
