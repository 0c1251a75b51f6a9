// SPDX-License-Identifier: GPL-2.0
/*
 * Each call of the library against the module: what it hands over and back
 *
 * The rules of the store have their own tests; here one case of each shows that
 * the library says what the kernel said.
 */
#include <kvstash_test.h>

#include <signal.h>
#include <sys/time.h>
#include <time.h>

#define LEN	5000UL

/* A result as KVT_EXPECT() takes it, and its detail. */
#define EXPECT_RESULT(err, why, det, result) do { \
	struct kvstash_result _got = (result); \
	KVT_EXPECT(err, why, _got); \
	EXPECT_EQ((__u64)(det), _got.detail); \
} while (0)

FIXTURE(api) {
	struct kvstash *c;
	struct kvt_counts bare;
	unsigned char data[2 * LEN];
};

FIXTURE_SETUP(api)
{
	ASSERT_EQ(0, kvt_counts(&self->bare));
	ASSERT_EQ(0, kvstash_open(&self->c, NULL, 0));
	kvt_fill(self->data, sizeof(self->data), 1);
}

/* All keys of these tests begin with "api/" and are of this list. */
FIXTURE_TEARDOWN(api)
{
	static const char keys[][6] = {
		"api/0", "api/1", "api/2", "api/3", "api/4", "api/5",
	};
	struct kvstash_exists res[KVT_LEN(keys)];
	char packed[5 * KVT_LEN(keys)];
	struct kvstash *c;
	struct kvstash_keys k;

	for (size_t i = 0; i < KVT_LEN(keys); i++)
		memcpy(packed + 5 * i, keys[i], 5);
	kvstash_close(self->c);
	ASSERT_EQ(0, kvstash_open(&c, NULL, 0));
	kvstash_prep_keys(&k, packed, 5, KVT_LEN(keys));
	EXPECT_EQ((int)KVT_LEN(keys), kvstash_remove(c, &k, res));
	kvstash_close(c);
	kvt_no_leak(_metadata, &self->bare);
}

/* One part under one of the keys. */
static struct kvstash_result put1(struct kvstash *c, const char *key,
				  const void *data, __u64 len)
{
	struct kvstash_put e;

	kvstash_prep_put(&e, key, 5, data, len);
	if (kvstash_put(c, &e, 1) != 1)
		return (struct kvstash_result){ -EPROTO, 0, 0 };
	return e.r;
}

static struct kvstash_result exists1(struct kvstash *c, const char *key,
				     struct kvstash_exists *x)
{
	struct kvstash_keys k;

	memset(x, 0xa5, sizeof(*x));
	kvstash_prep_keys(&k, key, 5, 1);
	if (kvstash_exists(c, &k, x) != 1)
		return (struct kvstash_result){ -EPROTO, 0, 0 };
	return x->r;
}

TEST_F(api, query)
{
	struct kvstash_query q, other;
	struct kvstash *c;

	ASSERT_EQ(0, kvstash_query(self->c, &q));
	EXPECT_EQ((__u32)KVSTASH_ABI_VERSION, q.abi);
	EXPECT_EQ(0ULL, q.features);
	EXPECT_NE(0ULL, q.epoch);
	EXPECT_EQ((__u32)KVSTASH_KEY_MAX, q.key_max);
	EXPECT_EQ((__u32)KVSTASH_TAG_MAX, q.tag_max);
	EXPECT_EQ((__u32)KVSTASH_BATCH_MAX, q.batch_max);
	EXPECT_EQ((__u32)KVSTASH_SEGS_MAX, q.segs_max);
	EXPECT_EQ((__u32)KVSTASH_PARTS_MAX, q.parts_max);
	EXPECT_EQ(KVSTASH_PART_BYTES_MAX, q.part_bytes_max);
	EXPECT_EQ(0U, q.bound);
	EXPECT_STREQ("", q.ns);

	ASSERT_EQ(0, kvstash_open(&c, KVSTASH_DEVICE, O_RDWR | O_CLOEXEC));
	ASSERT_EQ(0, kvstash_query(c, &other));
	EXPECT_EQ(q.epoch, other.epoch);
	EXPECT_NE(q.client, other.client);
	EXPECT_NE(kvstash_fd(self->c), kvstash_fd(c));
	kvstash_close(c);
}

TEST_F(api, bind)
{
	unsigned int reason, field;
	struct kvstash_query q;

	EXPECT_EQ(-ENODEV, kvstash_bind(self->c, "no-such"));
	kvstash_last_refusal(self->c, &reason, &field);
	EXPECT_EQ((unsigned int)KVSTASH_R_NO_NAMESPACE, reason);
	EXPECT_EQ(-EINVAL, kvstash_bind(self->c, ""));
	kvstash_last_refusal(self->c, &reason, &field);
	EXPECT_EQ((unsigned int)KVSTASH_R_NAME, reason);
	EXPECT_EQ(-EINVAL, kvstash_bind(self->c, "a/b"));
	kvstash_last_refusal(self->c, &reason, &field);
	EXPECT_EQ((unsigned int)KVSTASH_R_NAME, reason);
	EXPECT_EQ(offsetof(struct kvstash_bind, ns), (size_t)field);

	EXPECT_EQ(0, kvstash_bind(self->c, "default"));
	EXPECT_EQ(0, kvstash_bind(self->c, "default"));
	kvstash_last_refusal(self->c, &reason, &field);
	EXPECT_EQ((unsigned int)KVSTASH_R_OK, reason);
	ASSERT_EQ(0, kvstash_query(self->c, &q));
	EXPECT_EQ(1U, q.bound);
	EXPECT_STREQ("default", q.ns);
}

TEST_F(api, wrong_file)
{
	struct kvstash *c = NULL;
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOTTY, kvstash_from_fd(fd, &c));
	EXPECT_EQ(0, close(fd));
	EXPECT_EQ(-ENOTTY, kvstash_open(&c, "/dev/null", 0));
	EXPECT_EQ(NULL, c);
}

TEST_F(api, refused_call)
{
	unsigned int reason, field;
	struct kvstash_exists x;
	struct kvstash_keys k;
	struct kvstash_put e;

	kvstash_prep_put(&e, "api/0", 5, self->data, LEN);
	EXPECT_EQ(-EINVAL, kvstash_put(self->c, &e, 0));
	kvstash_last_refusal(self->c, &reason, &field);
	EXPECT_EQ((unsigned int)KVSTASH_R_COUNT, reason);
	EXPECT_EQ(offsetof(struct kvstash_batch, count), (size_t)field);

	EXPECT_EQ(-EFAULT, kvstash_put(self->c, (void *)8, 1));

	kvstash_prep_keys(&k, "api/0", 5, 1);
	k.reserved = 1;
	EXPECT_EQ(-EINVAL, kvstash_exists(self->c, &k, &x));
	kvstash_last_refusal(self->c, &reason, &field);
	EXPECT_EQ((unsigned int)KVSTASH_R_RESERVED, reason);
	EXPECT_EQ(offsetof(struct kvstash_keys, reserved), (size_t)field);

	EXPECT_EQ(1, kvstash_put(self->c, &e, 1));
	kvstash_last_refusal(self->c, &reason, &field);
	EXPECT_EQ((unsigned int)KVSTASH_R_OK, reason);
	EXPECT_EQ(0U, field);
}

TEST_F(api, put_get)
{
	unsigned char *buf = kvt_target(LEN);
	struct kvstash_get g;
	char text[128];

	ASSERT_NE(NULL, buf);
	EXPECT_RESULT(0, KVSTASH_R_OK, 0,
		      put1(self->c, "api/0", self->data, LEN));
	EXPECT_RESULT(EEXIST, KVSTASH_R_EXISTS, 0,
		      put1(self->c, "api/0", self->data, LEN));

	kvstash_prep_get(&g, "api/0", 5, buf, LEN - 1);
	ASSERT_EQ(1, kvstash_get(self->c, &g, 1));
	EXPECT_RESULT(ENOSPC, KVSTASH_R_BUFFER_SMALL, LEN, g.r);
	EXPECT_TRUE(kvt_untouched(buf, LEN));
	kvstash_result_format(&g.r, text, sizeof(text));
	EXPECT_STREQ("buffer shorter than the object; 5000 bytes needed (ENOSPC, buffer_small)",
		     text);

	kvstash_prep_get(&g, "api/0", 5, buf, LEN);
	ASSERT_EQ(1, kvstash_get(self->c, &g, 1));
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, g.r);
	EXPECT_EQ(LEN, g.bytes);
	EXPECT_EQ(LEN, g.object_size);
	EXPECT_EQ(-1, kvt_verify(buf, LEN, 1));
	EXPECT_TRUE(kvt_target_guarded(buf, LEN));

	kvstash_prep_get(&g, "api/1", 5, buf, LEN);
	ASSERT_EQ(1, kvstash_get(self->c, &g, 1));
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, 0, g.r);
	EXPECT_EQ(0ULL, g.bytes);
	kvt_target_free(buf);
}

/* Two parts, of 5000 and 4000 bytes: the pattern from 0 and from 5000 on. */
static void put_two_parts(struct __test_metadata *_metadata,
			  struct kvstash *c, const unsigned char *data)
{
	struct kvstash_seg segs[3];
	struct kvstash_put e[2];

	kvstash_prep_seg(&segs[0], data, 1);
	kvstash_prep_seg(&segs[1], data + 1, 4095);
	kvstash_prep_seg(&segs[2], data + 4096, LEN - 4096);
	kvstash_prep_put(&e[0], "api/1", 5, NULL, 0);
	kvstash_prep_put_segs(&e[0], segs, 3);
	kvstash_prep_put_part(&e[0], 0, 2);
	kvstash_prep_put(&e[1], "api/1", 5, data + LEN, 4000);
	kvstash_prep_put_part(&e[1], 1, 2);
	ASSERT_EQ(2, kvstash_put(c, e, 2));
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, e[0].r);
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, e[1].r);
}

TEST_F(api, segments)
{
	unsigned char *a = kvt_target(LEN + 10);
	unsigned char *b = kvt_target(3990);
	struct kvstash_seg segs[2];
	struct kvstash_get g;

	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	put_two_parts(_metadata, self->c, self->data);
	kvstash_prep_seg(&segs[0], a, LEN + 10);
	kvstash_prep_seg(&segs[1], b, 3990);
	kvstash_prep_get_segs(&g, "api/1", 5, segs, 2);
	ASSERT_EQ(1, kvstash_get(self->c, &g, 1));
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, g.r);
	EXPECT_EQ(9000ULL, g.bytes);
	EXPECT_EQ(9000ULL, g.object_size);
	EXPECT_EQ(-1, kvt_verify_at(a, LEN + 10, 1, 0));
	EXPECT_EQ(-1, kvt_verify_at(b, 3990, 1, LEN + 10));
	EXPECT_TRUE(kvt_target_guarded(a, LEN + 10));
	EXPECT_TRUE(kvt_target_guarded(b, 3990));
	kvt_target_free(a);
	kvt_target_free(b);
}

TEST_F(api, ranges)
{
	unsigned char *buf = kvt_target(300);
	struct kvstash_range r[2];
	struct kvstash_get g;

	ASSERT_NE(NULL, buf);
	put_two_parts(_metadata, self->c, self->data);
	kvstash_prep_range(&r[0], 1, 3900, buf, 100);
	kvstash_prep_range(&r[1], 0, 4000, buf + 100, 200);
	kvstash_prep_get_ranges(&g, "api/1", 5, r, 2);
	ASSERT_EQ(1, kvstash_get(self->c, &g, 1));
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, g.r);
	EXPECT_EQ(300ULL, g.bytes);
	EXPECT_EQ(9000ULL, g.object_size);
	EXPECT_EQ(-1, kvt_verify_at(buf, 100, 1, LEN + 3900));
	EXPECT_EQ(-1, kvt_verify_at(buf + 100, 200, 1, 4000));
	EXPECT_TRUE(kvt_target_guarded(buf, 300));

	/* one byte past the end of part 1, and nothing moves */
	memset(buf, KVT_CANARY_BYTE, 300);
	kvstash_prep_range(&r[1], 1, 3901, buf + 100, 100);
	ASSERT_EQ(1, kvstash_get(self->c, &g, 1));
	EXPECT_RESULT(ERANGE, KVSTASH_R_RANGE, 4000, g.r);
	EXPECT_TRUE(kvt_untouched(buf, 300));
	kvt_target_free(buf);
}

TEST_F(api, two_phase)
{
	struct kvstash_exists x;
	struct kvstash_write w[2];
	struct kvstash_query q;
	struct kvstash_seg segs[2];
	unsigned char buf[LEN];
	struct kvstash_put p;
	struct kvstash_end end;
	struct kvstash_get g;

	ASSERT_EQ(0, kvstash_query(self->c, &q));
	kvstash_prep_reserve(&p, "api/2", 5, LEN);
	ASSERT_EQ(1, kvstash_reserve(self->c, &p, 1));
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, p.r);
	EXPECT_EQ(q.client, p.handle.client);
	EXPECT_RESULT(ENOENT, KVSTASH_R_IN_FLIGHT, 0,
		      exists1(self->c, "api/2", &x));
	EXPECT_EQ(KVSTASH_STATE_FILLING, x.state);
	EXPECT_EQ(0, x.parts_present);
	EXPECT_EQ(1, x.parts);

	/* the end first, in two segments */
	kvstash_prep_seg(&segs[0], self->data + 3000, 1500);
	kvstash_prep_seg(&segs[1], self->data + 4500, 500);
	kvstash_prep_write(&w[0], &p.handle, 3000, NULL, 0);
	kvstash_prep_write_segs(&w[0], segs, 2);
	ASSERT_EQ(1, kvstash_write(self->c, w, 1));
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, w[0].r);
	kvstash_prep_end(&end, &p.handle);
	ASSERT_EQ(1, kvstash_commit(self->c, &end, 1));
	EXPECT_RESULT(EINVAL, KVSTASH_R_UNWRITTEN, 3000, end.r);

	kvstash_prep_write(&w[0], &p.handle, 0, self->data, 1000);
	kvstash_prep_write(&w[1], &p.handle, 1000, self->data + 1000, 2000);
	ASSERT_EQ(2, kvstash_write(self->c, w, 2));
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, w[0].r);
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, w[1].r);
	ASSERT_EQ(1, kvstash_commit(self->c, &end, 1));
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, end.r);
	ASSERT_EQ(1, kvstash_commit(self->c, &end, 1));
	EXPECT_RESULT(EALREADY, KVSTASH_R_COMMITTED, 0, end.r);

	kvstash_prep_get(&g, "api/2", 5, buf, LEN);
	ASSERT_EQ(1, kvstash_get(self->c, &g, 1));
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, g.r);
	EXPECT_EQ(-1, kvt_verify(buf, LEN, 1));
}

TEST_F(api, abort)
{
	struct kvstash_write w;
	struct kvstash_exists x;
	struct kvstash_put p;
	struct kvstash_end e;

	kvstash_prep_reserve(&p, "api/2", 5, LEN);
	ASSERT_EQ(1, kvstash_reserve(self->c, &p, 1));
	KVT_OK(p.r);
	kvstash_prep_write(&w, &p.handle, 0, self->data, LEN);
	ASSERT_EQ(1, kvstash_write(self->c, &w, 1));
	KVT_OK(w.r);
	kvstash_prep_end(&e, &p.handle);
	ASSERT_EQ(1, kvstash_abort(self->c, &e, 1));
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, e.r);
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, 0,
		      exists1(self->c, "api/2", &x));
	EXPECT_EQ(KVSTASH_STATE_ABSENT, x.state);
	ASSERT_EQ(1, kvstash_commit(self->c, &e, 1));
	EXPECT_RESULT(ECANCELED, KVSTASH_R_ABORTED, 0, e.r);
	ASSERT_EQ(1, kvstash_write(self->c, &w, 1));
	EXPECT_RESULT(ECANCELED, KVSTASH_R_ABORTED, 0, w.r);
	e.handle.seq += 1000;
	ASSERT_EQ(1, kvstash_abort(self->c, &e, 1));
	EXPECT_RESULT(EBADF, KVSTASH_R_HANDLE_UNKNOWN, 0, e.r);
}

/* Keys of different lengths, a tag and a manifest, and one that is not whole. */
TEST_F(api, exists)
{
	static const __u16 lens[] = { 5, 5, 9, 5 };
	unsigned char tags[4][KVSTASH_TAG_MAX];
	unsigned char digest[KVSTASH_DIGEST_LEN];
	struct kvstash_exists x[4];
	struct kvstash_keys k;
	struct kvstash_put e;

	kvt_fill(digest, sizeof(digest), 2);
	put_two_parts(_metadata, self->c, self->data);
	kvstash_prep_put(&e, "api/3", 5, self->data, 10);
	kvstash_prep_put_manifest(&e, digest);
	kvstash_prep_put_tag(&e, "tag", 3);
	ASSERT_EQ(1, kvstash_put(self->c, &e, 1));
	KVT_OK(e.r);
	kvstash_prep_put(&e, "api/4", 5, self->data, 4097);
	kvstash_prep_put_part(&e, 6, 7);
	ASSERT_EQ(1, kvstash_put(self->c, &e, 1));
	KVT_OK(e.r);

	memset(tags, 0xa5, sizeof(tags));
	memset(x, 0xa5, sizeof(x));
	kvstash_prep_keys_var(&k, "api/1api/3api/3noneapi/4", lens, 4);
	kvstash_prep_keys_tags(&k, tags);
	ASSERT_EQ(4, kvstash_exists(self->c, &k, x));
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, x[0].r);
	EXPECT_EQ(9000ULL, x[0].object_size);
	EXPECT_EQ(2, x[0].parts);
	EXPECT_EQ(2, x[0].parts_present);
	EXPECT_EQ(0, x[0].tag_len);
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, x[0].state);
	EXPECT_EQ(0, x[0].manifest[0]);

	EXPECT_RESULT(0, KVSTASH_R_OK, 0, x[1].r);
	EXPECT_EQ(10ULL, x[1].object_size);
	EXPECT_EQ(3, x[1].tag_len);
	EXPECT_EQ(0, memcmp(tags[1], "tag", 3));
	EXPECT_EQ(0, memcmp(x[1].manifest, digest, sizeof(digest)));

	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, 0, x[2].r);
	EXPECT_EQ(KVSTASH_STATE_ABSENT, x[2].state);

	/* a living client contributed, so it is not told as given up */
	EXPECT_EQ(-ENOENT, x[3].r.res);
	EXPECT_EQ(KVSTASH_STATE_FILLING, x[3].state);
	EXPECT_EQ(7, x[3].parts);
	EXPECT_EQ(1, x[3].parts_present);
	EXPECT_EQ(4097ULL, x[3].object_size);
}

static void put_chain(struct __test_metadata *_metadata, struct kvstash *c,
		      const unsigned char *data)
{
	static const char keys[] = "api/0api/1api/2";
	struct kvstash_put e[3];

	for (unsigned int i = 0; i < 3; i++) {
		kvstash_prep_put(&e[i], keys + 5 * i, 5, data, 100 + i);
		if (i)
			kvstash_prep_put_parent(&e[i], keys + 5 * (i - 1), 5);
	}
	ASSERT_EQ(3, kvstash_put(c, e, 3));
	KVT_OK(e[0].r);
	KVT_OK(e[1].r);
	KVT_OK(e[2].r);
}

TEST_F(api, lookup)
{
	static const __u16 lens[] = { 5, 5, 5, 7, 5 };
	struct kvstash_keys k;

	put_chain(_metadata, self->c, self->data);
	kvstash_prep_keys(&k, "api/0api/1api/2api/3", 5, 3);
	EXPECT_EQ(3, kvstash_lookup(self->c, &k));
	EXPECT_EQ(3U, k.run);
	EXPECT_EQ(303ULL, k.bytes);
	EXPECT_EQ((__u32)KVSTASH_R_OK, k.reason);

	kvstash_prep_keys_var(&k, "api/0api/1api/2missingapi/2", lens, 5);
	EXPECT_EQ(3, kvstash_lookup(self->c, &k));
	EXPECT_EQ(3U, k.run);
	EXPECT_EQ(303ULL, k.bytes);
	EXPECT_EQ((__u32)KVSTASH_R_MISS, k.reason);

	kvstash_prep_keys(&k, "api/3api/0", 5, 2);
	EXPECT_EQ(0, kvstash_lookup(self->c, &k));
	EXPECT_EQ(0ULL, k.bytes);
	EXPECT_EQ((__u32)KVSTASH_R_MISS, k.reason);
}

TEST_F(api, remove)
{
	struct kvstash_exists x[2];
	struct kvstash_keys k;

	put_chain(_metadata, self->c, self->data);
	kvstash_prep_keys(&k, "api/1api/3", 5, 2);
	ASSERT_EQ(2, kvstash_remove(self->c, &k, x));
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, x[0].r);
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, 0, x[1].r);
	/* with it went its child; its parent is still there */
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, 0,
		      exists1(self->c, "api/2", x));
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, exists1(self->c, "api/0", x));
}

/* One part of 100 bytes as a member of a group; more may be added to @e. */
static void prep_member(struct kvstash_put *e, const char *key,
			const void *data, const char *group, size_t member,
			size_t members, __u32 flags)
{
	kvstash_prep_put(e, key, 5, data, 100);
	kvstash_prep_put_group(e, group, 5, member, members, flags);
}

static struct kvstash_result put_entry(struct kvstash *c, struct kvstash_put *e)
{
	if (kvstash_put(c, e, 1) != 1)
		return (struct kvstash_result){ -EPROTO, 0, 0 };
	return e->r;
}

static struct kvstash_result exists_group(struct kvstash *c, const char *key,
					  struct kvstash_exists *x)
{
	struct kvstash_keys k;

	kvstash_prep_keys(&k, key, 5, 1);
	kvstash_prep_keys_group(&k);
	if (kvstash_exists(c, &k, x) != 1)
		return (struct kvstash_result){ -EPROTO, 0, 0 };
	return x->r;
}

TEST_F(api, atomic_group)
{
	struct kvstash_exists x[2];
	struct kvstash_put e;
	struct kvstash_keys k;

	prep_member(&e, "api/0", self->data, "api/g", 0, 2, KVSTASH_PUT_ATOMIC);
	KVT_OK(put_entry(self->c, &e));
	EXPECT_RESULT(ENOENT, KVSTASH_R_GROUP_INCOMPLETE, 1,
		      exists1(self->c, "api/0", x));
	EXPECT_EQ(KVSTASH_STATE_FILLING, x[0].state);
	EXPECT_EQ(2, x[0].members);
	EXPECT_EQ(1, x[0].members_present);
	EXPECT_EQ(KVSTASH_STATE_FILLING, x[0].group_state);
	EXPECT_EQ(KVSTASH_GROUP_ATOMIC, x[0].group_flags);
	EXPECT_RESULT(ENOENT, KVSTASH_R_GROUP_INCOMPLETE, 1,
		      exists_group(self->c, "api/g", x));
	EXPECT_EQ(2, x[0].members);

	prep_member(&e, "api/1", self->data, "api/g", 1, 3, KVSTASH_PUT_ATOMIC);
	EXPECT_RESULT(EXDEV, KVSTASH_R_MISMATCH_MEMBERS, 2,
		      put_entry(self->c, &e));
	prep_member(&e, "api/1", self->data, "api/g", 1, 2, 0);
	EXPECT_RESULT(EXDEV, KVSTASH_R_MISMATCH_FLAGS, 0,
		      put_entry(self->c, &e));
	prep_member(&e, "api/1", self->data, "api/g", 2, 2, KVSTASH_PUT_ATOMIC);
	EXPECT_RESULT(EINVAL, KVSTASH_R_MEMBER_INDEX, 2,
		      put_entry(self->c, &e));
	/* 65536 + 2 are not stored as 2 */
	prep_member(&e, "api/1", self->data, "api/g", 1, 65538,
		    KVSTASH_PUT_ATOMIC);
	KVT_EXPECT(EINVAL, KVSTASH_R_MEMBERS, put_entry(self->c, &e));
	prep_member(&e, "api/1", self->data, "api/g", 1, 2, KVSTASH_PUT_ATOMIC);
	KVT_OK(put_entry(self->c, &e));

	kvstash_prep_keys(&k, "api/0api/1", 5, 2);
	ASSERT_EQ(2, kvstash_exists(self->c, &k, x));
	KVT_OK(x[0].r);
	KVT_OK(x[1].r);
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, x[1].group_state);
	KVT_OK(exists_group(self->c, "api/g", x));
	EXPECT_EQ(2, x[0].members_present);
	/* a page of the group's key is another thing */
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, 0, exists1(self->c, "api/g", x));

	kvstash_prep_keys(&k, "api/0", 5, 1);
	kvstash_prep_keys_member(&k);
	ASSERT_EQ(1, kvstash_remove(self->c, &k, x));
	EXPECT_RESULT(EINVAL, KVSTASH_R_GROUP_ATOMIC, 0, x[0].r);
	kvstash_prep_keys(&k, "api/0", 5, 1);
	ASSERT_EQ(1, kvstash_remove(self->c, &k, x));
	KVT_OK(x[0].r);
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, 0, exists1(self->c, "api/1", x));
}

TEST_F(api, plain_group_and_parents)
{
	struct kvstash_exists x[2];
	struct kvstash_keys k;
	struct kvstash_put e;

	prep_member(&e, "api/0", self->data, "api/g", 0, 1, 0);
	KVT_OK(put_entry(self->c, &e));
	prep_member(&e, "api/1", self->data, "api/h", 0, 2, 0);
	kvstash_prep_put_parent(&e, "api/0", 5);
	EXPECT_RESULT(EINVAL, KVSTASH_R_PARENT_MEMBER, 0,
		      put_entry(self->c, &e));
	kvstash_prep_put_parent_group(&e, "api/h", 5);
	EXPECT_RESULT(ELOOP, KVSTASH_R_PARENT_SELF, 0, put_entry(self->c, &e));
	kvstash_prep_put_parent_group(&e, "api/g", 5);
	KVT_OK(put_entry(self->c, &e));
	prep_member(&e, "api/2", self->data, "api/h", 1, 2, 0);
	EXPECT_RESULT(EXDEV, KVSTASH_R_MISMATCH_PARENT, 0,
		      put_entry(self->c, &e));
	/* alone it is there already, as the group is plain */
	KVT_OK(exists1(self->c, "api/1", x));
	EXPECT_EQ(1, x[0].members_present);
	kvstash_prep_put_parent_group(&e, "api/g", 5);
	KVT_OK(put_entry(self->c, &e));
	kvstash_prep_keys(&k, "api/gapi/hapi/i", 5, 3);
	kvstash_prep_keys_group(&k);
	EXPECT_EQ(2, kvstash_lookup(self->c, &k));
	EXPECT_EQ((__u32)KVSTASH_R_MISS, k.reason);

	KVT_OK(put1(self->c, "api/5", self->data, 10));
	kvstash_prep_keys(&k, "api/1api/5", 5, 2);
	kvstash_prep_keys_member(&k);
	ASSERT_EQ(2, kvstash_remove(self->c, &k, x));
	KVT_OK(x[0].r);
	EXPECT_RESULT(EINVAL, KVSTASH_R_NO_MEMBER, 0, x[1].r);
	KVT_OK(exists1(self->c, "api/2", x));
	EXPECT_EQ(1, x[0].members_present);
	EXPECT_RESULT(ENOENT, KVSTASH_R_GROUP_INCOMPLETE, 1,
		      exists_group(self->c, "api/h", x));
	/* with the first group goes what descends from it */
	kvstash_prep_keys(&k, "api/g", 5, 1);
	kvstash_prep_keys_group(&k);
	ASSERT_EQ(1, kvstash_remove(self->c, &k, x));
	KVT_OK(x[0].r);
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, 0, exists1(self->c, "api/2", x));
}

static struct kvstash_result release1(struct kvstash *c,
				      const struct kvstash_handle *h)
{
	struct kvstash_end e;

	kvstash_prep_end(&e, h);
	if (kvstash_release(c, &e, 1) != 1)
		return (struct kvstash_result){ -EPROTO, 0, 0 };
	return e.r;
}

TEST_F(api, leases)
{
	static const struct kvstash_handle none;
	unsigned char *buf = kvt_target(102);
	struct kvstash_handle h[3], by;
	struct kvstash_exists x[3];
	struct kvstash_keys k;
	struct kvstash_get g;

	ASSERT_NE(NULL, buf);
	put_chain(_metadata, self->c, self->data);
	memset(h, 0xa5, sizeof(h));
	kvstash_prep_keys(&k, "api/3api/0", 5, 2);
	kvstash_prep_keys_lease(&k, h);
	ASSERT_EQ(2, kvstash_exists(self->c, &k, x));
	EXPECT_EQ(0, memcmp(&h[0], &none, sizeof(none)));
	EXPECT_NE(0, memcmp(&h[1], &none, sizeof(none)));
	KVT_OK(release1(self->c, &h[1]));

	memset(h, 0xa5, sizeof(h));
	kvstash_prep_keys(&k, "api/0api/1api/3", 5, 3);
	kvstash_prep_keys_lease(&k, h);
	EXPECT_EQ(2, kvstash_lookup(self->c, &k));
	EXPECT_NE(0, memcmp(&h[0], &h[1], sizeof(none)));
	EXPECT_EQ(0, memcmp(&h[2], &none, sizeof(none)));
	EXPECT_EQ(2ULL, kvt_ns("leases"));

	/* the lease alone, then its bytes after the removal of the object */
	kvstash_prep_get(&g, "api/2", 5, NULL, 0);
	kvstash_prep_get_lease(&g);
	ASSERT_EQ(1, kvstash_get(self->c, &g, 1));
	KVT_OK(g.r);
	by = g.lease;
	kvstash_prep_keys(&k, "api/0", 5, 1);
	ASSERT_EQ(1, kvstash_remove(self->c, &k, x));
	KVT_OK(x[0].r);
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, 0, exists1(self->c, "api/2", x));
	kvstash_prep_get(&g, NULL, 0, buf, 102);
	kvstash_prep_get_by_lease(&g, &by);
	ASSERT_EQ(1, kvstash_get(self->c, &g, 1));
	KVT_OK(g.r);
	EXPECT_EQ(102ULL, g.bytes);
	EXPECT_EQ(-1, kvt_verify(buf, 102, 1));
	EXPECT_TRUE(kvt_target_guarded(buf, 102));

	KVT_OK(release1(self->c, &h[0]));
	KVT_OK(release1(self->c, &h[1]));
	KVT_OK(release1(self->c, &by));
	EXPECT_EQ(0ULL, kvt_ns("leases"));
	ASSERT_EQ(1, kvstash_get(self->c, &g, 1));
	EXPECT_RESULT(EALREADY, KVSTASH_R_RELEASED, 0, g.r);
	kvt_target_free(buf);
}

TEST_F(api, release)
{
	struct kvstash_handle h, bad;
	struct kvstash_exists x;
	struct kvstash_keys k;
	struct kvstash_put p;
	struct kvstash_end e;
	struct kvstash *c;

	KVT_OK(put1(self->c, "api/0", self->data, LEN));
	kvstash_prep_keys(&k, "api/0", 5, 1);
	kvstash_prep_keys_lease(&k, &h);
	ASSERT_EQ(1, kvstash_exists(self->c, &k, &x));
	KVT_OK(x.r);

	ASSERT_EQ(0, kvstash_open(&c, NULL, 0));
	EXPECT_RESULT(EPERM, KVSTASH_R_HANDLE_OWNER, 0, release1(c, &h));
	bad = h;
	bad.seq += 1000;
	EXPECT_RESULT(EBADF, KVSTASH_R_HANDLE_UNKNOWN, 0,
		      release1(self->c, &bad));
	bad = h;
	bad.client ^= 1ULL << 40;
	EXPECT_RESULT(ESTALE, KVSTASH_R_HANDLE_STALE, 0,
		      release1(self->c, &bad));
	/* a lease is no reserved part, and the reverse */
	kvstash_prep_end(&e, &h);
	ASSERT_EQ(1, kvstash_commit(self->c, &e, 1));
	EXPECT_RESULT(EBADF, KVSTASH_R_HANDLE_UNKNOWN, 0, e.r);
	ASSERT_EQ(1, kvstash_abort(self->c, &e, 1));
	EXPECT_RESULT(EBADF, KVSTASH_R_HANDLE_UNKNOWN, 0, e.r);
	kvstash_prep_reserve(&p, "api/1", 5, LEN);
	ASSERT_EQ(1, kvstash_reserve(self->c, &p, 1));
	KVT_OK(p.r);
	EXPECT_RESULT(EBADF, KVSTASH_R_HANDLE_UNKNOWN, 0,
		      release1(self->c, &p.handle));

	KVT_OK(release1(self->c, &h));
	EXPECT_RESULT(EALREADY, KVSTASH_R_RELEASED, 0, release1(self->c, &h));

	/* what is not released goes with the client */
	ASSERT_EQ(1, kvstash_exists(c, &k, &x));
	KVT_OK(x.r);
	EXPECT_EQ(1ULL, kvt_ns("leases"));
	kvstash_close(c);
	EXPECT_EQ(0ULL, kvt_ns("leases"));
	EXPECT_EQ(0ULL, kvt_ns("leased_bytes"));
}

TEST_F(api, pin)
{
	unsigned int reason, field;
	struct kvstash_exists x[2];
	struct kvstash_keys k;

	KVT_OK(put1(self->c, "api/0", self->data, LEN));
	kvstash_prep_keys(&k, "api/0api/1", 5, 2);
	kvstash_prep_keys_pin(&k, KVSTASH_PIN_HARD);
	ASSERT_EQ(2, kvstash_pin(self->c, &k, x));
	KVT_OK(x[0].r);
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, 0, x[1].r);
	KVT_OK(exists1(self->c, "api/0", x));
	EXPECT_EQ(KVSTASH_PIN_HARD, x[0].pin);
	EXPECT_EQ(8192ULL, kvt_ns("pinned_bytes"));

	kvstash_prep_keys_pin(&k, KVSTASH_PIN_SOFT);
	ASSERT_EQ(2, kvstash_pin(self->c, &k, x));
	KVT_OK(exists1(self->c, "api/0", x));
	EXPECT_EQ(KVSTASH_PIN_SOFT, x[0].pin);
	EXPECT_EQ(0ULL, kvt_ns("pinned_bytes"));
	kvstash_prep_keys_pin(&k, KVSTASH_PIN_NONE);
	ASSERT_EQ(2, kvstash_pin(self->c, &k, x));
	KVT_OK(exists1(self->c, "api/0", x));
	EXPECT_EQ(KVSTASH_PIN_NONE, x[0].pin);

	/* 256 is not stored as none */
	kvstash_prep_keys_pin(&k, 256);
	EXPECT_EQ(-EINVAL, kvstash_pin(self->c, &k, x));
	kvstash_last_refusal(self->c, &reason, &field);
	EXPECT_EQ((unsigned int)KVSTASH_R_PIN, reason);
	EXPECT_EQ(offsetof(struct kvstash_keys, pin), (size_t)field);
}

TEST_F(api, ttl)
{
	struct timespec ms = { .tv_nsec = 1000000 };
	struct kvstash_exists x;
	struct kvstash_put e;

	for (unsigned int i = 0; i < 2; i++) {
		kvstash_prep_put(&e, "api/0", 5, self->data, 10);
		kvstash_prep_put_part(&e, i, 2);
		kvstash_prep_put_ttl(&e, 60001);
		if (i) {
			e.ttl_ms--;
			EXPECT_RESULT(EXDEV, KVSTASH_R_MISMATCH_TTL, 60001,
				      put_entry(self->c, &e));
			e.ttl_ms++;
		}
		KVT_OK(put_entry(self->c, &e));
	}
	KVT_OK(exists1(self->c, "api/0", &x));

	kvstash_prep_put(&e, "api/1", 5, self->data, 10);
	kvstash_prep_put_ttl(&e, 20);
	KVT_OK(put_entry(self->c, &e));
	while (!exists1(self->c, "api/1", &x).res)
		nanosleep(&ms, NULL);
	EXPECT_EQ(-ENOENT, x.r.res);
	EXPECT_TRUE(x.r.reason == KVSTASH_R_EXPIRED ||
		    x.r.reason == KVSTASH_R_MISS);
	EXPECT_EQ(x.r.reason == KVSTASH_R_EXPIRED ? KVSTASH_STATE_EXPIRED :
						    KVSTASH_STATE_ABSENT,
		  x.state);
	/* and the key is free at once */
	KVT_OK(put1(self->c, "api/1", self->data, 10));
}

/* More than the kernel takes in one call: each entry still has its result. */
TEST_F(api, all_split)
{
	size_t n = KVSTASH_BATCH_MAX + 5, done = 0;
	struct kvstash_put *p = calloc(n, sizeof(*p));
	struct kvstash_get *g = calloc(n, sizeof(*g));
	unsigned char buf[8];
	size_t bad = 0;

	ASSERT_NE(NULL, p);
	ASSERT_NE(NULL, g);
	for (size_t i = 0; i < n; i++) {
		kvstash_prep_put(&p[i], "api/0", 5, self->data, 8);
		kvstash_prep_get(&g[i], "api/0", 5, buf, 8);
	}
	EXPECT_EQ(-EINVAL, kvstash_put(self->c, p, n));
	ASSERT_EQ(0, kvstash_put_all(self->c, p, n, &done));
	EXPECT_EQ(n, done);
	EXPECT_RESULT(0, KVSTASH_R_OK, 0, p[0].r);
	for (size_t i = 1; i < n; i++)
		bad += p[i].r.res != -EEXIST ||
		       p[i].r.reason != KVSTASH_R_EXISTS;
	EXPECT_EQ(0UL, bad);
	ASSERT_EQ(0, kvstash_get_all(self->c, g, n, NULL));
	for (size_t i = 0; i < n; i++)
		bad += g[i].r.res != 0 || g[i].bytes != 8;
	EXPECT_EQ(0UL, bad);
	EXPECT_EQ(-1, kvt_verify(buf, 8, 1));
	free(p);
	free(g);
}

TEST_F(api, all_keys)
{
	size_t n = KVSTASH_BATCH_MAX + 5, done = 0, visible = 0;
	struct kvstash_exists *x = calloc(n, sizeof(*x));
	char *keys = malloc(5 * n);
	struct kvstash_keys k;

	ASSERT_NE(NULL, x);
	ASSERT_NE(NULL, keys);
	KVT_OK(put1(self->c, "api/0", self->data, 3));
	for (size_t i = 0; i < n; i++)
		memcpy(keys + 5 * i, "api/0", 5);
	kvstash_prep_keys(&k, keys, 5, n);
	ASSERT_EQ(0, kvstash_lookup_all(self->c, &k, &done));
	EXPECT_EQ(n, done);
	EXPECT_EQ(3ULL * n, k.bytes);
	EXPECT_EQ((__u32)KVSTASH_R_OK, k.reason);

	keys[5 * (n - 2) + 4] = '1';
	ASSERT_EQ(0, kvstash_lookup_all(self->c, &k, &done));
	EXPECT_EQ(n - 2, done);
	EXPECT_EQ((__u32)KVSTASH_R_MISS, k.reason);

	ASSERT_EQ(0, kvstash_exists_all(self->c, &k, x, &done));
	EXPECT_EQ(n, done);
	for (size_t i = 0; i < n; i++)
		visible += x[i].state == KVSTASH_STATE_VISIBLE;
	EXPECT_EQ(n - 1, visible);
	EXPECT_EQ(-ENOENT, x[n - 2].r.res);

	/* the first takes it away, the others find nothing */
	ASSERT_EQ(0, kvstash_remove_all(self->c, &k, x, &done));
	EXPECT_EQ(n, done);
	KVT_OK(x[0].r);
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, 0, x[1].r);
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, 0, x[n - 1].r);
	free(x);
	free(keys);
}

TEST_F(api, all_two_phase)
{
	static const char keys[] = "api/0api/1api/2";
	struct kvstash_write w[3];
	struct kvstash_exists x;
	struct kvstash_put p[3];
	struct kvstash_end e[3];
	size_t done;

	for (unsigned int i = 0; i < 3; i++)
		kvstash_prep_reserve(&p[i], keys + 5 * i, 5, LEN);
	ASSERT_EQ(0, kvstash_reserve_all(self->c, p, 3, &done));
	EXPECT_EQ(3UL, done);
	for (unsigned int i = 0; i < 3; i++) {
		KVT_OK(p[i].r);
		kvstash_prep_write(&w[i], &p[i].handle, 0, self->data, LEN);
		kvstash_prep_end(&e[i], &p[i].handle);
	}
	ASSERT_EQ(0, kvstash_write_all(self->c, w, 3, &done));
	EXPECT_EQ(3UL, done);
	KVT_OK(w[2].r);
	ASSERT_EQ(0, kvstash_commit_all(self->c, e, 2, &done));
	EXPECT_EQ(2UL, done);
	KVT_OK(e[0].r);
	KVT_OK(e[1].r);
	ASSERT_EQ(0, kvstash_abort_all(self->c, e + 2, 1, NULL));
	KVT_OK(e[2].r);
	KVT_OK(exists1(self->c, "api/1", &x));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, exists1(self->c, "api/2", &x));
	EXPECT_EQ(0, kvstash_commit_all(self->c, e, 0, &done));
	EXPECT_EQ(0UL, done);
}

static int alarms;

static void on_alarm(int sig)
{
	(void)sig;
	__atomic_fetch_add(&alarms, 1, __ATOMIC_RELAXED);
}

/* Signals all the while; nothing is left out and nothing done twice. */
TEST_F(api, all_signals)
{
	struct itimerval every = { { 0, 20000 }, { 0, 20000 } };
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = on_alarm };
	size_t n = 20000, done, put = 0, there = 0;
	struct kvstash_put *p = calloc(n, sizeof(*p));

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, sigaction(SIGALRM, &sa, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &every, NULL));
	while (__atomic_load_n(&alarms, __ATOMIC_RELAXED) < 10) {
		for (size_t i = 0; i < n; i++)
			kvstash_prep_put(&p[i], i % 2 ? "api/1" : "api/0", 5,
					 self->data, 8);
		ASSERT_EQ(0, kvstash_put_all(self->c, p, n, &done));
		ASSERT_EQ(n, done);
		for (size_t i = 0; i < n; i++) {
			put += !p[i].r.res;
			there += p[i].r.reason == KVSTASH_R_EXISTS;
		}
	}
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &never, NULL));
	EXPECT_EQ(2UL, put);
	EXPECT_EQ(0UL, (put + there) % n);
	free(p);
}

static int send_fd(int sock, int fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} u;
	struct iovec iov = { .iov_base = "f", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = u.room, .msg_controllen = sizeof(u.room),
	};
	struct cmsghdr *cmsg;

	memset(&u, 0, sizeof(u));
	cmsg = CMSG_FIRSTHDR(&msg);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -errno;
}

static int receive_fd(int sock)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} u;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = u.room, .msg_controllen = sizeof(u.room),
	};
	struct cmsghdr *cmsg;
	int fd;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -errno;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS)
		return -EBADMSG;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

/* The child reserves a part and sends its client; 0, or which step failed. */
static int reserve_and_send(int sock)
{
	struct kvstash *c;
	struct kvstash_put p;

	if (kvstash_open(&c, NULL, 0))
		return 1;
	kvstash_prep_reserve(&p, "api/5", 5, LEN);
	if (kvstash_reserve(c, &p, 1) != 1 || p.r.res)
		return 2;
	if (send_fd(sock, kvstash_fd(c)))
		return 3;
	if (write(sock, &p.handle, sizeof(p.handle)) != sizeof(p.handle))
		return 4;
	kvstash_close(c);
	return 0;
}

/* A client that another process opened, with a part in flight, goes on here. */
TEST_F(api, passed_fd)
{
	struct kvstash_handle handle;
	struct kvstash_write w;
	struct kvstash_query q;
	struct kvstash_exists x;
	struct kvstash_end e;
	struct kvstash *c;
	int sock[2], fd, status;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(reserve_and_send(sock[1]));
	fd = receive_fd(sock[0]);
	ASSERT_LE(0, fd);
	ASSERT_EQ((ssize_t)sizeof(handle),
		  read(sock[0], &handle, sizeof(handle)));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);

	ASSERT_EQ(0, kvstash_from_fd(fd, &c));
	EXPECT_EQ(fd, kvstash_fd(c));
	ASSERT_EQ(0, kvstash_query(c, &q));
	EXPECT_EQ(handle.client, q.client);
	EXPECT_EQ(1U, q.bound);
	kvstash_prep_write(&w, &handle, 0, self->data, LEN);
	/* a handle is of its client alone */
	ASSERT_EQ(1, kvstash_write(self->c, &w, 1));
	EXPECT_RESULT(EPERM, KVSTASH_R_HANDLE_OWNER, 0, w.r);
	ASSERT_EQ(1, kvstash_write(c, &w, 1));
	KVT_OK(w.r);
	kvstash_prep_end(&e, &handle);
	ASSERT_EQ(1, kvstash_commit(c, &e, 1));
	KVT_OK(e.r);
	kvstash_close(c);
	KVT_OK(exists1(self->c, "api/5", &x));
	EXPECT_EQ(LEN, x.object_size);
	close(sock[0]);
	close(sock[1]);
}

/* Ends @n leases; how many of them were none. */
static size_t release_many(struct kvstash *c, const struct kvstash_handle *h,
			   size_t n)
{
	struct kvstash_end *e = calloc(n, sizeof(*e));
	size_t bad = 0, done = 0;

	if (!e)
		return n;
	for (size_t i = 0; i < n; i++)
		kvstash_prep_end(&e[i], &h[i]);
	if (kvstash_release_all(c, e, n, &done) || done != n)
		bad = n;
	for (size_t i = 0; i < done; i++)
		bad += e[i].r.res != 0;
	free(e);
	return bad;
}

/* Leases of more keys than a call takes: a run is leased whole or not at all. */
TEST_F(api, all_leases)
{
	size_t n = KVSTASH_BATCH_MAX + 5, done = 0;
	struct kvstash_handle *h = calloc(n, sizeof(*h));
	struct kvstash_exists *x = calloc(n, sizeof(*x));
	__u16 *lens = calloc(n, sizeof(*lens));
	char *keys = malloc(5 * n);
	struct kvstash_keys k;

	ASSERT_TRUE(h && x && lens && keys);
	KVT_OK(put1(self->c, "api/0", self->data, 3));
	for (size_t i = 0; i < n; i++) {
		memcpy(keys + 5 * i, "api/0", 5);
		lens[i] = 5;
	}
	kvstash_prep_keys_var(&k, keys, lens, n);
	kvstash_prep_keys_lease(&k, h);
	ASSERT_EQ(0, kvstash_lookup_all(self->c, &k, &done));
	EXPECT_EQ(n, done);
	EXPECT_EQ((__u64)n, kvt_ns("leases"));
	EXPECT_EQ(4096ULL, kvt_ns("leased_bytes"));
	EXPECT_EQ(0UL, release_many(self->c, h, n));
	EXPECT_EQ(0ULL, kvt_ns("leases"));

	ASSERT_EQ(0, kvstash_exists_all(self->c, &k, x, &done));
	EXPECT_EQ(n, done);
	EXPECT_EQ((__u64)n, kvt_ns("leases"));
	EXPECT_EQ(0UL, release_many(self->c, h, n));

	/* the second call is refused: what the first leased is given back */
	lens[n - 1] = 0;
	EXPECT_EQ(-EINVAL, kvstash_lookup_all(self->c, &k, &done));
	EXPECT_EQ((__u32)KVSTASH_R_KEY_LEN, k.reason);
	EXPECT_EQ(0ULL, kvt_ns("leases"));
	EXPECT_EQ(0ULL, h[0].seq);

	kvstash_prep_keys(&k, keys, 5, n);
	kvstash_prep_keys_pin(&k, KVSTASH_PIN_SOFT);
	ASSERT_EQ(0, kvstash_pin_all(self->c, &k, x, &done));
	EXPECT_EQ(n, done);
	KVT_OK(x[n - 1].r);
	free(keys);
	free(lens);
	free(h);
	free(x);
}

/* The last close takes what is in flight. */
TEST_F(api, close)
{
	struct kvstash_exists x;
	struct kvstash_put p;
	struct kvstash *c;

	ASSERT_EQ(0, kvstash_open(&c, NULL, 0));
	kvstash_prep_reserve(&p, "api/4", 5, LEN);
	ASSERT_EQ(1, kvstash_reserve(c, &p, 1));
	KVT_OK(p.r);
	KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, exists1(self->c, "api/4", &x));
	kvstash_close(c);
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, exists1(self->c, "api/4", &x));
}

TEST_HARNESS_MAIN
