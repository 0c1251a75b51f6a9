// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * What a state answers for, and what it does not (I7), at the reference size: 20
 * layers of 134 rows of 528 bytes, aligned to 128 tokens.
 */
#include "s_store.h"

static const struct sst_layout *const ref = &sst_reference;

/* A store with a layout of @slots, and a buffer for a state. */
static char *begin(struct __test_metadata *_metadata, struct kvr_store *s, __u64 slots)
{
	char *buf = kvt_map(SST_BYTES + KVT_PAGE);

	kvr_store_make(_metadata, s, KVR_MB(16), NULL);
	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, sst_add(s->fd, ref, slots).res);
	return buf;
}

TEST_F(store, I7_put_of_another_size_is_refused_with_both_numbers)
{
	static const __u64 wrong[] = {
		1, SST_BYTES - 1, SST_BYTES + 1, SST_LAYERS * SST_ROWS * 512, SST_BYTES + 4096,
		2 * SST_BYTES, KVSTASH_PART_BYTES_MAX,
	};
	struct kvr_store *s = &self->s;
	struct sst_key k = sst_key(ref, 1280, 1);
	char *buf = begin(_metadata, s, 2);
	struct kvstash_result r;
	struct kvstash_put e;

	for (size_t i = 0; i < KVT_LEN(wrong); i++) {
		sst_prep(&e, ref, &k, buf);
		e.part_len = wrong[i];
		r = kvt_put_one(s->fd, &e);
		KVT_EXPECT(EINVAL, KVSTASH_R_SLOT_BYTES, r);
		EXPECT_EQ(SST_BYTES, r.detail);
		e.buf = 0;
		r = kvt_reserve_one(s->fd, &e);
		KVT_EXPECT(EINVAL, KVSTASH_R_SLOT_BYTES, r);
		EXPECT_EQ(SST_BYTES, r.detail);
		EXPECT_EQ(0, e.handle.seq);
	}
	e.part_len = 0;
	KVT_EXPECT(EINVAL, KVSTASH_R_SLOT_BYTES, kvt_reserve_one(s->fd, &e));
	sst_prep(&e, ref, &k, buf);
	e.parts = 2;
	r = kvt_put_one(s->fd, &e);
	KVT_EXPECT(EINVAL, KVSTASH_R_PARTS, r);
	EXPECT_EQ(1, r.detail);
	EXPECT_FALSE(sst_there(s->fd, &k));
	EXPECT_EQ(2 * SST_SLOT, kvr_pool(s, "slot_free_bytes"));
	EXPECT_EQ(2 * KVT_LEN(wrong) + 1, sst_figures(s->fd, ref).refused_bytes);
}

TEST_F(store, I7_get_into_a_buffer_of_another_size_moves_no_byte)
{
	static const __u64 wrong[] = { 1, SST_BYTES - 1, SST_BYTES + 1, SST_BYTES + 4096 };
	struct kvr_store *s = &self->s;
	struct sst_key k = sst_key(ref, 1280, 1);
	char *buf = begin(_metadata, s, 2);
	struct kvstash_result r;
	struct kvstash_get e;
	unsigned char *to;

	KVT_OK(sst_put(s->fd, ref, &k, buf));
	for (size_t i = 0; i < KVT_LEN(wrong); i++) {
		to = kvt_target(SST_BYTES + 4096);
		ASSERT_NE(NULL, to);
		sst_prep_get(&e, &k, to, wrong[i]);
		r = kvt_get_one(s->fd, &e);
		KVT_EXPECT(EINVAL, KVSTASH_R_SLOT_BYTES, r);
		EXPECT_EQ(SST_BYTES, r.detail);
		EXPECT_EQ(SST_BYTES, e.object_size);
		EXPECT_EQ(0, e.bytes);
		EXPECT_TRUE(kvt_untouched(to, SST_BYTES + 4096));
		kvt_target_free(to);
	}
	/* without a buffer it is the size that is asked for */
	sst_prep_get(&e, &k, NULL, 0);
	r = kvt_get_one(s->fd, &e);
	KVT_EXPECT(ENOSPC, KVSTASH_R_BUFFER_SMALL, r);
	EXPECT_EQ(SST_BYTES, r.detail);
	EXPECT_EQ(0, sst_figures(s->fd, ref).hits);
	to = kvt_target(SST_BYTES);
	sst_prep_get(&e, &k, to, SST_BYTES);
	KVT_OK(kvt_get_one(s->fd, &e));
	EXPECT_EQ(SST_BYTES, e.bytes);
	EXPECT_EQ(-1, kvt_verify(to, SST_BYTES, sst_seed(&k)));
	EXPECT_TRUE(kvt_target_guarded(to, SST_BYTES));
	kvt_target_free(to);
}

/* A put of the state with @tokens and @reserved in its key, and a get. */
static void refuse_key(struct __test_metadata *_metadata, struct kvr_store *s, char *buf,
		       __u64 tokens, __u32 reserved, __u32 reason, __u64 detail)
{
	struct sst_key k = sst_key(ref, tokens, 1);
	struct kvstash_result r;
	struct kvstash_exists x;

	k.head.reserved = htole32(reserved);
	r = sst_put(s->fd, ref, &k, buf);
	KVT_EXPECT(EINVAL, reason, r);
	EXPECT_EQ(detail, r.detail);
	r = sst_get(s->fd, ref, &k, buf);
	KVT_EXPECT(EINVAL, reason, r);
	EXPECT_EQ(detail, r.detail);
	EXPECT_TRUE(kvt_untouched((unsigned char *)buf, SST_BYTES));
	KVT_EXPECT(EINVAL, reason, sst_exists(s->fd, &k, &x));
	EXPECT_EQ(KVSTASH_STATE_ABSENT, x.state);
}

TEST_F(store, I7_length_0_or_off_the_alignment_and_reserved_bits_are_refused)
{
	static const __u64 off[] = {
		1, 64, 127, 129, 1279, 1281, (1ULL << 63) + 1, ~0ULL,
	};
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 2);
	struct kvstash_layout d;
	struct sst_key k;

	for (size_t i = 0; i < KVT_LEN(off); i++)
		refuse_key(_metadata, s, buf, off[i], 0, KVSTASH_R_MISALIGNED, SST_ALIGN);
	refuse_key(_metadata, s, buf, 0, 0, KVSTASH_R_TOKENS, 0);
	for (unsigned int bit = 0; bit < 32; bit++)
		refuse_key(_metadata, s, buf, 1280, 1U << bit, KVSTASH_R_RESERVED, 0);
	d = sst_figures(s->fd, ref);
	EXPECT_EQ(KVT_LEN(off) + 1, d.refused_misaligned);
	EXPECT_EQ(32, d.refused_other);
	EXPECT_EQ(0, d.used);
	EXPECT_EQ(0, d.states);
	/* the greatest multiple is a length as any other */
	k = sst_key(ref, 0 - 128ULL, 1);
	KVT_OK(sst_put(s->fd, ref, &k, buf));
}

/* The prefix hash has 1 to KVSTASH_PREFIX_MAX bytes; all of it is the key. */
TEST_F(store, I7_prefix_hash_of_each_length)
{
	static const __u16 len[] = { 0, 1, 2, 32, KVSTASH_PREFIX_MAX, KVSTASH_PREFIX_MAX + 1 };
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 4);
	struct sst_key k = sst_key(ref, 1280, 1);
	char key[KVSTASH_KEY_MAX + 1];
	struct kvstash_put e;

	memset(key, 1, sizeof(key));
	memcpy(key, &k.head, sizeof(k.head));
	for (size_t i = 0; i < KVT_LEN(len); i++) {
		bool good = len[i] && len[i] <= KVSTASH_PREFIX_MAX;

		kvt_fill(buf, SST_BYTES, i);
		kvstash_prep_put(&e, key, sizeof(k.head) + len[i], buf, SST_BYTES);
		kvstash_prep_put_state(&e);
		KVT_EXPECT(good ? 0 : EINVAL, good ? 0 : KVSTASH_R_KEY_LEN,
			   kvt_put_one(s->fd, &e));
	}
	for (size_t i = 1; i < KVT_LEN(len) - 1; i++) {
		struct kvstash_get g;

		kvstash_prep_get(&g, key, sizeof(k.head) + len[i], buf, SST_BYTES);
		g.kind = KVSTASH_KIND_STATE;
		KVT_OK(kvt_get_one(s->fd, &g));
		EXPECT_EQ(-1, kvt_verify(buf, SST_BYTES, i));
	}
	EXPECT_EQ(KVT_LEN(len) - 2, sst_figures(s->fd, ref).states);
}

/* Of a prompt of 10 boundaries each state is the one of its own. */
TEST_F(store, I7_neither_a_longer_nor_a_shorter_prefix_answers)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 4);
	struct sst_key k;

	for (unsigned int i = 2; i <= 8; i += 2) {
		k = sst_key(ref, i * SST_ALIGN, 1);
		KVT_OK(sst_put(s->fd, ref, &k, buf));
	}
	for (unsigned int i = 1; i <= 10; i++) {
		bool there = i % 2 == 0 && i <= 8;

		k = sst_key(ref, i * SST_ALIGN, 1);
		KVT_EXPECT(there ? 0 : ENOENT, there ? 0 : KVSTASH_R_MISS,
			   sst_get(s->fd, ref, &k, buf));
	}
	EXPECT_EQ(4, sst_figures(s->fd, ref).hits);
	EXPECT_EQ(6, sst_figures(s->fd, ref).misses);
}

TEST_F(store, I7_get_under_another_layout_is_a_clean_miss)
{
	struct sst_layout scheme = sst_reference, other = sst_reference;
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 2);
	struct sst_key k = sst_key(ref, 1280, 1), ks, ko;

	scheme.scheme = 2;
	other.nr = 9;
	ks = sst_key(&scheme, 1280, 1);
	ko = sst_key(&other, 1280, 1);
	KVT_OK(sst_put(s->fd, ref, &k, buf));
	/* neither is registered: no state can be there, and none can be put */
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, sst_get(s->fd, &scheme, &ks, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, sst_get(s->fd, &other, &ko, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_LAYOUT_UNKNOWN, sst_put(s->fd, &scheme, &ks, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_LAYOUT_UNKNOWN, sst_put(s->fd, &other, &ko, buf));
	KVT_OK(sst_add(s->fd, &scheme, 1));
	KVT_OK(sst_add(s->fd, &other, 1));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, sst_get(s->fd, &scheme, &ks, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, sst_get(s->fd, &other, &ko, buf));
	KVT_OK(sst_put(s->fd, &scheme, &ks, buf));
	KVT_OK(sst_put(s->fd, &other, &ko, buf));
	KVT_OK(sst_get(s->fd, ref, &k, buf));
	KVT_OK(sst_get(s->fd, &scheme, &ks, buf));
	KVT_OK(sst_get(s->fd, &other, &ko, buf));
	EXPECT_EQ(1, sst_figures(s->fd, &scheme).misses);
	EXPECT_EQ(1, sst_figures(s->fd, &other).hits);
	EXPECT_EQ(1, sst_figures(s->fd, ref).states);
}

/* Puts pattern @seed under the bytes of @k, as a page or a member of a group. */
static struct kvstash_result put_page(int fd, const struct sst_key *k, __u64 seed, bool group)
{
	char buf[1000];
	struct kvstash_put e;

	kvt_fill(buf, sizeof(buf), seed);
	kvstash_prep_put(&e, k, sizeof(*k), buf, sizeof(buf));
	if (group) {	/* the member is another page, the group has these bytes */
		e.key = kvstash_addr("member");
		e.key_len = 6;
		kvstash_prep_put_group(&e, k, sizeof(*k), 0, 1, KVSTASH_PUT_ATOMIC);
	}
	kvstash_prep_put_manifest(&e, k);
	return kvt_put_one(fd, &e);
}

TEST_F(store, R48_I7_same_bytes_as_page_state_group_and_manifest_are_four_things)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 2), page[1000];
	struct sst_key k = sst_key(ref, 1280, 1);
	struct kvstash_keys keys;
	struct kvstash_exists x;

	KVT_OK(put_page(s->fd, &k, 1, false));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, sst_get(s->fd, ref, &k, buf));
	KVT_OK(sst_put(s->fd, ref, &k, buf));
	KVT_OK(put_page(s->fd, &k, 2, true));
	KVT_OK(kvt_get1(s->fd, &k, sizeof(k), page, sizeof(page), NULL));
	EXPECT_EQ(-1, kvt_verify(page, sizeof(page), 1));
	KVT_OK(sst_get(s->fd, ref, &k, buf));
	KVT_OK(kvt_get1(s->fd, "member", 6, page, sizeof(page), NULL));
	EXPECT_EQ(-1, kvt_verify(page, sizeof(page), 2));
	/* each goes by itself */
	KVT_OK(kvt_remove1(s->fd, &k, sizeof(k)));
	KVT_OK(sst_get(s->fd, ref, &k, buf));
	kvstash_prep_keys(&keys, &k, sizeof(k), 1);
	keys.kind = KVSTASH_KIND_GROUP;
	ASSERT_EQ(1, kvt_exists(s->fd, &keys, &x));
	KVT_OK(x.r);
	EXPECT_EQ(1, x.members);
	KVT_OK(sst_remove(s->fd, &k));
	ASSERT_EQ(1, kvt_exists(s->fd, &keys, &x));
	KVT_OK(x.r);
	KVT_OK(put_page(s->fd, &k, 3, false));
	ASSERT_EQ(1, kvt_remove(s->fd, &keys, &x));
	KVT_OK(x.r);
	KVT_OK(kvt_get1(s->fd, &k, sizeof(k), page, sizeof(page), NULL));
	EXPECT_EQ(-1, kvt_verify(page, sizeof(page), 3));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, sst_get(s->fd, ref, &k, buf));
}

TEST_F(store, I10_another_namespace_has_layouts_and_states_of_its_own)
{
	struct kvt_ns_args ns = { .name = "state-other" };
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 2);
	struct sst_key k = sst_key(ref, 1280, 1);
	struct kvstash_exists x;
	int fd;

	ns.pool = s->name;
	ASSERT_EQ(0, kvt_ns_new(&ns));
	fd = kvt_open_ns(ns.name);
	ASSERT_LE(0, fd);
	KVT_OK(sst_put(s->fd, ref, &k, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_LAYOUT_UNKNOWN, sst_put(fd, ref, &k, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, sst_get(fd, ref, &k, buf));
	KVT_OK(sst_add(fd, ref, 1));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, sst_get(fd, ref, &k, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, sst_exists(fd, &k, &x));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, sst_remove(fd, &k));
	KVT_OK(sst_put(fd, ref, &k, buf));
	KVT_OK(sst_remove(fd, &k));
	KVT_OK(sst_get(s->fd, ref, &k, buf));
	EXPECT_EQ(1, sst_figures(s->fd, ref).states);
	EXPECT_EQ(0, sst_figures(s->fd, ref).misses);
	EXPECT_EQ(1, sst_figures(fd, ref).misses);
	/* pressure for slots there takes none here */
	for (__u64 id = 0; id < 3; id++) {
		struct sst_key other = sst_nth(ref, id);

		KVT_OK(sst_put(fd, ref, &other, buf));
	}
	KVT_OK(sst_get(s->fd, ref, &k, buf));
	close(fd);
	EXPECT_EQ(0, kvt_ns_del(ns.name));
	EXPECT_EQ(SST_SLOT, kvr_pool(s, "slot_free_bytes"));
}

/* I2: the first writer wins, and says so; another identity is a mismatch. */
TEST_F(store, I2_state_that_is_there_stays)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 2);
	struct sst_key k = sst_key(ref, 1280, 1);
	struct kvstash_put e;

	KVT_OK(sst_put(s->fd, ref, &k, buf));
	sst_prep(&e, ref, &k, buf);
	memset(buf, 0, SST_BYTES);
	KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, kvt_put_one(s->fd, &e));
	kvstash_prep_put_tag(&e, "tag", 3);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_TAG, kvt_put_one(s->fd, &e));
	sst_prep(&e, ref, &k, buf);
	kvstash_prep_put_ttl(&e, 1000);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_TTL, kvt_put_one(s->fd, &e));
	sst_prep(&e, ref, &k, buf);
	kvstash_prep_put_group(&e, "group", 5, 0, 2, 0);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_GROUP, kvt_put_one(s->fd, &e));
	KVT_OK(sst_get(s->fd, ref, &k, buf));
	EXPECT_EQ(4, sst_figures(s->fd, ref).refused_there);
	EXPECT_EQ(1, sst_figures(s->fd, ref).used);
}

TEST_HARNESS_MAIN
