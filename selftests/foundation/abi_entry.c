// SPDX-License-Identifier: GPL-2.0
/*
 * The members of entries, one by one at and beyond their limits. A bad member
 * is the entry's own refusal, and nothing in the store moves.
 */
#include "abi_call.h"

#define ANY		(~0ULL)		/* a detail that nobody promised */

/* A member of the entry, the value that spoils it, the refusal. */
struct spoil {
	unsigned int kinds;
	size_t off;
	size_t width;
	__u64 v;
	int err;
	__u32 reason;
	__u64 detail;
};

#define PUT(m)		offsetof(struct kvstash_put, m)
#define WRITE(m)	offsetof(struct kvstash_write, m)
#define GET(m)		offsetof(struct kvstash_get, m)
#define SEG(i, m)	(offsetof(struct call, segs[i].m) - \
			 offsetof(struct call, e))
#define RANGE(i, m)	(offsetof(struct call, ranges[i].m) - \
			 offsetof(struct call, e))

#define SEGS_PUT	CALL_BIT(CALL_PUT_SEGS)
#define SEGS_WRITE	CALL_BIT(CALL_WRITE_SEGS)
#define SEGS_GET	CALL_BIT(CALL_GET_SEGS)
#define RANGES		CALL_BIT(CALL_GET_RANGES)
#define RESERVE		CALL_BIT(CALL_RESERVE)
#define GET_PLAIN	(CALL_BIT(CALL_GET) | CALL_BIT(CALL_GET_LEASE) | BY_LEASE)
#define BY_LEASE	CALL_BIT(CALL_GET_BY_LEASE)
#define GROUP		CALL_BIT(CALL_PUT_GROUP)

static const struct spoil entries[] = {
	/* PUT and RESERVE */
	{ CALL_NEWS, PUT(key_len), 2, 0, EINVAL, KVSTASH_R_KEY_LEN, 512 },
	{ CALL_NEWS, PUT(key_len), 2, 513, EINVAL, KVSTASH_R_KEY_LEN, 512 },
	{ CALL_NEWS, PUT(key_len), 2, 65535, EINVAL, KVSTASH_R_KEY_LEN, 512 },
	{ CALL_NEWS, PUT(parent_len), 2, 0, EINVAL, KVSTASH_R_KEY_LEN, 512 },
	{ CALL_NEWS, PUT(parent_len), 2, 513, EINVAL, KVSTASH_R_KEY_LEN, 512 },
	{ CALL_NEWS, PUT(parent_len), 2, 65535, EINVAL, KVSTASH_R_KEY_LEN,
	  512 },
	{ CALL_NEWS, PUT(parent), 8, 0, EINVAL, KVSTASH_R_KEY_LEN, 512 },
	{ CALL_NEWS, PUT(tag_len), 2, 257, EINVAL, KVSTASH_R_TAG, 256 },
	{ CALL_NEWS, PUT(tag_len), 2, 65535, EINVAL, KVSTASH_R_TAG, 256 },
	{ CALL_NEWS, PUT(parts), 2, 0, EINVAL, KVSTASH_R_PARTS, 1024 },
	{ CALL_NEWS, PUT(parts), 2, 1025, EINVAL, KVSTASH_R_PARTS, 1024 },
	{ CALL_NEWS, PUT(parts), 2, 65535, EINVAL, KVSTASH_R_PARTS, 1024 },
	{ CALL_NEWS, PUT(part), 2, 1, EINVAL, KVSTASH_R_PART_INDEX, 1 },
	{ CALL_NEWS, PUT(part), 2, 65535, EINVAL, KVSTASH_R_PART_INDEX, 1 },
	{ CALL_NEWS, PUT(part_len), 8, 0, EINVAL, KVSTASH_R_LENGTH, ANY },
	{ CALL_NEWS, PUT(part_len), 8, KVSTASH_PART_BYTES_MAX + 1, EINVAL,
	  KVSTASH_R_LENGTH, ANY },
	{ CALL_NEWS, PUT(part_len), 8, 1ULL << 63, EINVAL, KVSTASH_R_LENGTH,
	  ANY },
	{ CALL_NEWS, PUT(part_len), 8, ~0ULL, EINVAL, KVSTASH_R_LENGTH, ANY },
	{ SEGS_PUT, PUT(part_len), 8, CALL_DATA_LEN - 1, EINVAL,
	  KVSTASH_R_LENGTH, ANY },
	{ SEGS_PUT, PUT(part_len), 8, CALL_DATA_LEN + 1, EINVAL,
	  KVSTASH_R_LENGTH, ANY },
	{ SEGS_PUT, PUT(nr_segs), 4, 1, EINVAL, KVSTASH_R_LENGTH, ANY },
	{ CALL_PUTS, PUT(nr_segs), 4, 1025, EINVAL, KVSTASH_R_SEGS, 1024 },
	{ CALL_PUTS, PUT(nr_segs), 4, 1U << 31, EINVAL, KVSTASH_R_SEGS, 1024 },
	{ CALL_PUTS, PUT(nr_segs), 4, ~0U, EINVAL, KVSTASH_R_SEGS, 1024 },
	{ RESERVE, PUT(buf), 8, 4096, EINVAL, KVSTASH_R_RESERVED, ANY },
	{ RESERVE, PUT(nr_segs), 4, 1, EINVAL, KVSTASH_R_RESERVED, ANY },
	/* a group: all of it or nothing */
	{ GROUP, PUT(group), 8, 0, EINVAL, KVSTASH_R_KEY_LEN, 512 },
	{ GROUP, PUT(group_len), 2, 0, EINVAL, KVSTASH_R_KEY_LEN, 512 },
	{ GROUP, PUT(group_len), 2, 513, EINVAL, KVSTASH_R_KEY_LEN, 512 },
	{ GROUP, PUT(group_len), 2, 65535, EINVAL, KVSTASH_R_KEY_LEN, 512 },
	{ GROUP, PUT(members), 2, 0, EINVAL, KVSTASH_R_MEMBERS, KVSTASH_MEMBERS_MAX },
	{ GROUP, PUT(member), 2, 1, EINVAL, KVSTASH_R_MEMBER_INDEX, 1 },
	{ GROUP, PUT(member), 2, 65535, EINVAL, KVSTASH_R_MEMBER_INDEX, 1 },
	{ CALL_NEWS & ~GROUP, PUT(group_len), 2, 1, EINVAL, KVSTASH_R_KEY_LEN, 512 },
	{ CALL_NEWS & ~GROUP, PUT(members), 2, 1, EINVAL, KVSTASH_R_MEMBERS, ANY },
	{ CALL_NEWS & ~GROUP, PUT(members), 2, 65535, EINVAL, KVSTASH_R_MEMBERS, ANY },
	/* WRITE: 20,000 bytes are reserved */
	{ CALL_WRITES, WRITE(nr_segs), 4, 1025, EINVAL, KVSTASH_R_SEGS, 1024 },
	{ CALL_WRITES, WRITE(nr_segs), 4, ~0U, EINVAL, KVSTASH_R_SEGS, 1024 },
	{ CALL_WRITES, WRITE(len), 8, 0, EINVAL, KVSTASH_R_LENGTH, ANY },
	{ SEGS_WRITE, WRITE(len), 8, CALL_DATA_LEN - 1, EINVAL,
	  KVSTASH_R_LENGTH, ANY },
	{ SEGS_WRITE, WRITE(len), 8, CALL_DATA_LEN + 1, EINVAL,
	  KVSTASH_R_LENGTH, ANY },
	{ SEGS_WRITE, WRITE(nr_segs), 4, 1, EINVAL, KVSTASH_R_LENGTH, ANY },
	{ CALL_WRITES, WRITE(offset), 8, KVT_FLIGHT_LEN - CALL_DATA_LEN + 1,
	  ERANGE, KVSTASH_R_RANGE, KVT_FLIGHT_LEN },
	{ CALL_WRITES, WRITE(offset), 8, KVT_FLIGHT_LEN, ERANGE,
	  KVSTASH_R_RANGE, KVT_FLIGHT_LEN },
	{ CALL_WRITES, WRITE(offset), 8, 1ULL << 32, ERANGE, KVSTASH_R_RANGE,
	  KVT_FLIGHT_LEN },
	{ CALL_WRITES, WRITE(offset), 8, -CALL_DATA_LEN, ERANGE,
	  KVSTASH_R_RANGE, KVT_FLIGHT_LEN },
	{ CALL_WRITES, WRITE(offset), 8, ~0ULL, ERANGE, KVSTASH_R_RANGE,
	  KVT_FLIGHT_LEN },
	/* GET: of 5,000 bytes */
	{ CALL_KEY_GETS, GET(key_len), 2, 0, EINVAL, KVSTASH_R_KEY_LEN, 512 },
	{ CALL_KEY_GETS, GET(key_len), 2, 513, EINVAL, KVSTASH_R_KEY_LEN, 512 },
	{ CALL_KEY_GETS, GET(key_len), 2, 65535, EINVAL, KVSTASH_R_KEY_LEN, 512 },
	{ CALL_GETS, GET(nr), 4, 1025, EINVAL, KVSTASH_R_SEGS, 1024 },
	{ CALL_GETS, GET(nr), 4, ~0U, EINVAL, KVSTASH_R_SEGS, 1024 },
	{ BY_LEASE, GET(key), 8, 4096, EINVAL, KVSTASH_R_RESERVED, ANY },
	{ BY_LEASE, GET(key_len), 2, 1, EINVAL, KVSTASH_R_RESERVED, ANY },
	{ BY_LEASE, GET(kind), 1, 1, EINVAL, KVSTASH_R_RESERVED, ANY },
	{ BY_LEASE, GET(lease.seq), 8, 0, EBADF, KVSTASH_R_HANDLE_UNKNOWN, ANY },
	{ BY_LEASE, GET(lease.seq), 8, ~0ULL, EBADF, KVSTASH_R_HANDLE_UNKNOWN, ANY },
	{ RANGES, GET(nr), 4, 0, EINVAL, KVSTASH_R_SEGS, ANY },
	{ SEGS_GET | RANGES, GET(len), 8, 1, EINVAL, KVSTASH_R_LENGTH, ANY },
	{ GET_PLAIN & ~CALL_BIT(CALL_GET_LEASE), GET(len), 8, 0, ENOSPC, KVSTASH_R_BUFFER_SMALL,
	  KVT_ONE_LEN },
	{ GET_PLAIN, GET(len), 8, KVT_ONE_LEN - 1, ENOSPC,
	  KVSTASH_R_BUFFER_SMALL, KVT_ONE_LEN },
	{ SEGS_GET, GET(nr), 4, 1, ENOSPC, KVSTASH_R_BUFFER_SMALL,
	  KVT_ONE_LEN },
	{ RANGES, RANGE(1, part), 4, 1, EINVAL, KVSTASH_R_PART_INDEX, 1 },
	{ RANGES, RANGE(1, part), 4, ~0U, EINVAL, KVSTASH_R_PART_INDEX, 1 },
	{ RANGES, RANGE(1, len), 8, 0, EINVAL, KVSTASH_R_LENGTH, ANY },
	{ RANGES, RANGE(1, offset), 8, KVT_ONE_LEN - 299, ERANGE,
	  KVSTASH_R_RANGE, KVT_ONE_LEN },
	{ RANGES, RANGE(1, offset), 8, KVT_ONE_LEN, ERANGE, KVSTASH_R_RANGE,
	  KVT_ONE_LEN },
	{ RANGES, RANGE(1, offset), 8, -300ULL, ERANGE, KVSTASH_R_RANGE,
	  KVT_ONE_LEN },
	{ RANGES, RANGE(1, offset), 8, ~0ULL, ERANGE, KVSTASH_R_RANGE,
	  KVT_ONE_LEN },
	{ RANGES, RANGE(1, len), 8, KVT_ONE_LEN, ERANGE, KVSTASH_R_RANGE,
	  KVT_ONE_LEN },
	/* segments; the second is at fault, so that the first is no excuse */
	{ SEGS_PUT | SEGS_WRITE | SEGS_GET, SEG(1, len), 8, 0, EINVAL,
	  KVSTASH_R_LENGTH, ANY },
	{ SEGS_PUT | SEGS_WRITE, SEG(1, len), 8, CALL_DATA_LEN - CALL_SEG0 - 1,
	  EINVAL, KVSTASH_R_LENGTH, ANY },
	{ SEGS_PUT | SEGS_WRITE, SEG(1, len), 8, CALL_DATA_LEN - CALL_SEG0 + 1,
	  EINVAL, KVSTASH_R_LENGTH, ANY },
};

/* Members of which each single bit is refused, but those of @v. */
static const struct spoil bits[] = {
	{ CALL_NEWS, PUT(flags), 4, KVSTASH_PUT_ROOT_IF_NO_PARENT | KVSTASH_PUT_ATOMIC |
	  KVSTASH_PUT_NO_LINGER, EINVAL, KVSTASH_R_FLAGS, ANY },
	{ CALL_NEWS, PUT(reserved), 2, 0, EINVAL, KVSTASH_R_RESERVED, ANY },
	{ CALL_NEWS, PUT(kind), 1, KVSTASH_KIND_STATE, EINVAL, KVSTASH_R_KIND, ANY },
	{ CALL_NEWS, PUT(parent_kind), 1, KVSTASH_KIND_GROUP, EINVAL, KVSTASH_R_KIND, ANY },
	{ CALL_WRITES, WRITE(flags), 4, 0, EINVAL, KVSTASH_R_FLAGS, ANY },
	{ CALL_ENDS, offsetof(struct kvstash_end, flags), 4, 0, EINVAL,
	  KVSTASH_R_FLAGS, ANY },
	{ CALL_ENDS, offsetof(struct kvstash_end, reserved), 4, 0, EINVAL,
	  KVSTASH_R_RESERVED, ANY },
	{ CALL_GETS, GET(flags), 4, KVSTASH_GET_RANGES | KVSTASH_GET_LEASE |
	  KVSTASH_GET_BY_LEASE, EINVAL, KVSTASH_R_FLAGS, ANY },
	{ CALL_GETS, GET(reserved), 1, 0, EINVAL, KVSTASH_R_RESERVED, ANY },
	{ CALL_GETS, GET(reserved2), 4, 0, EINVAL, KVSTASH_R_RESERVED, ANY },
	{ CALL_KEY_GETS, GET(kind), 1, KVSTASH_KIND_GROUP | KVSTASH_KIND_STATE, EINVAL,
	  KVSTASH_R_KIND, ANY },
	{ RANGES, RANGE(1, reserved), 4, 0, EINVAL, KVSTASH_R_RESERVED, ANY },
};

static bool touched(const struct call *c)
{
	for (size_t i = 0; i < sizeof(c->data); i++)
		if (c->data[i])
			return true;
	return false;
}

/* One entry, spoilt: the call goes well, the entry says why it did not. */
static void refuse(struct __test_metadata *_metadata,
		   const struct kvt_store *s, enum call_kind kind,
		   const struct spoil *p, __u64 v, __u64 detail)
{
	struct outcome o;
	struct call c;

	call_prep(&c, kind, s);
	kvt_poke(&c.e, p->off, p->width, v);
	o = call_run(&c);
	EXPECT_EQ(0, o.err);
	EXPECT_EQ(1, o.done);
	EXPECT_EQ(-p->err, o.r.res);
	EXPECT_EQ(p->reason, o.r.reason);
	EXPECT_EQ(0, o.leased);
	if (detail != ANY)
		EXPECT_EQ(detail, o.r.detail);
	if (o.err || o.r.res != -p->err || o.r.reason != p->reason ||
	    (detail != ANY && detail != o.r.detail))
		TH_LOG("%s, member at %zu = %#llx: errno %d reason %u detail %llu",
		       call_kinds[kind].name, p->off, v, -o.r.res, o.r.reason,
		       o.r.detail);
	if (call_is(kind, CALL_GETS)) {
		EXPECT_FALSE(touched(&c));
		EXPECT_EQ(0, c.e.get.bytes);
	}
	kvt_store_same(_metadata, s);
}

TEST_F(store, refused_entry_says_why)
{
	for (int k = 0; k < CALL_KINDS; k++)
		for (size_t i = 0; i < KVT_LEN(entries); i++)
			if (call_is(k, entries[i].kinds))
				refuse(_metadata, &self->s, k, &entries[i],
				       entries[i].v, entries[i].detail);
}

TEST_F(store, each_unknown_bit_is_refused)
{
	const struct spoil *p;
	__u64 v;

	for (int k = 0; k < CALL_KINDS; k++) {
		for (size_t i = 0; i < KVT_LEN(bits); i++) {
			p = &bits[i];
			for (size_t bit = 0; bit < 8 * p->width &&
			     call_is(k, p->kinds); bit++) {
				v = 1ULL << bit;
				if (v & p->v)
					continue;
				refuse(_metadata, &self->s, k, p, v,
				       p->reason == KVSTASH_R_FLAGS ? v : ANY);
			}
		}
	}
}

/* Lengths of segments whose sum wraps to the length that is asked for. */
TEST_F(store, sums_of_segments_do_not_wrap)
{
	static const struct {
		__u64 len[2];
	} sums[] = {
		{ { 1ULL << 63, (1ULL << 63) + CALL_DATA_LEN } },
		{ { CALL_DATA_LEN + 1, ~0ULL } },
		{ { ~0ULL, CALL_DATA_LEN + 1 } },
		{ { 1ULL << 32, -(1ULL << 32) + CALL_DATA_LEN } },
	};
	struct outcome o;
	struct call c;

	for (int k = 0; k < CALL_KINDS; k++) {
		if (!call_is(k, SEGS_PUT | SEGS_WRITE | SEGS_GET))
			continue;
		for (size_t i = 0; i < KVT_LEN(sums); i++) {
			call_prep(&c, k, &self->s);
			c.segs[0].len = sums[i].len[0];
			c.segs[1].len = sums[i].len[1];
			o = call_run(&c);
			EXPECT_EQ(0, o.err);
			EXPECT_EQ(-EINVAL, o.r.res);
			EXPECT_TRUE(o.r.reason == KVSTASH_R_LENGTH ||
				    o.r.reason == KVSTASH_R_BUFFER) {
				TH_LOG("%s: reason %u", call_kinds[k].name,
				       o.r.reason);
			}
			EXPECT_FALSE(touched(&c));
			kvt_store_same(_metadata, &self->s);
		}
	}
}

/* More than the pool has: another fact than a length out of bounds. */
TEST_F(store, part_larger_than_the_pool_is_EFBIG)
{
	static const __u64 lens[] = { 0, 1ULL << 32, KVSTASH_PART_BYTES_MAX };
	struct kvstash_result r;
	struct kvstash_handle h;

	for (size_t i = 0; i < KVT_LEN(lens); i++) {
		r = kvt_reserve1(self->s.fd, "big", 3,
				 lens[i] ? lens[i] : self->s.bare.total + 1,
				 &h);
		KVT_EXPECT(EFBIG, KVSTASH_R_TOO_LARGE, r);
		EXPECT_EQ(self->s.bare.total, r.detail);
		kvt_store_same(_metadata, &self->s);
	}
}

/* Valid at each limit; then taken away again. */
static const struct {
	__u16 key_len;
	__u16 parent_len;
	__u16 tag_len;
	__u16 parts;
	__u64 part_len;
} good[] = {
	{ 1, 0, 0, 1, 1 },
	{ 512, 0, 0, 1, 1 },
	{ 1, 1, 1, 1, 4095 },
	{ 512, 512, 256, 1, 4096 },
	{ 511, 512, 255, 2, 4097 },
	{ 2, 512, 256, 1024, 1 },
};

TEST_F(store, limits_themselves_are_valid)
{
	char key[KVSTASH_KEY_MAX], parent[KVSTASH_KEY_MAX];
	char tag[KVSTASH_TAG_MAX], back[KVSTASH_TAG_MAX], buf[4097];
	struct kvstash_exists x;
	struct kvstash_keys k;
	struct kvstash_put e;

	memset(key, 'k', sizeof(key));
	memset(parent, 'p', sizeof(parent));
	memset(tag, 't', sizeof(tag));
	for (size_t i = 0; i < KVT_LEN(good); i++) {
		if (good[i].parent_len)
			KVT_OK(kvt_put1(self->s.fd, parent, good[i].parent_len,
					buf, 1));
		for (int part = 0; part < good[i].parts; part++) {
			kvstash_prep_put(&e, key, good[i].key_len, buf,
					 good[i].part_len);
			kvstash_prep_put_part(&e, part, good[i].parts);
			if (good[i].parent_len)
				kvstash_prep_put_parent(&e, parent,
							good[i].parent_len);
			if (good[i].tag_len)
				kvstash_prep_put_tag(&e, tag, good[i].tag_len);
			KVT_OK(kvt_put_one(self->s.fd, &e));
		}
		kvstash_prep_keys(&k, key, good[i].key_len, 1);
		kvstash_prep_keys_tags(&k, back);
		ASSERT_EQ(1, kvt_exists(self->s.fd, &k, &x));
		KVT_OK(x.r);
		EXPECT_EQ(good[i].parts, x.parts);
		EXPECT_EQ(good[i].parts, x.parts_present);
		EXPECT_EQ(good[i].parts * good[i].part_len, x.object_size);
		EXPECT_EQ(good[i].tag_len, x.tag_len);
		EXPECT_EQ(0, memcmp(tag, back, x.tag_len));
		KVT_OK(kvt_remove1(self->s.fd, key, good[i].key_len));
		if (good[i].parent_len)
			KVT_OK(kvt_remove1(self->s.fd, parent,
					   good[i].parent_len));
	}
}

/* Keys with a length each: one out of bounds spoils the list of keys. */
TEST_F(store, bad_length_of_a_key_is_refused)
{
	static const __u16 bad[] = { 0, KVSTASH_KEY_MAX + 1, 60000 };
	struct outcome o;
	struct call c;

	for (int k = CALL_EXISTS; k < CALL_KINDS; k++) {
		for (size_t i = 0; i < 2 * KVT_LEN(bad); i++) {
			call_prep(&c, k, &self->s);
			c.lens[i % 2] = bad[i / 2];
			o = call_run(&c);
			EXPECT_EQ(EINVAL, o.err);
			EXPECT_EQ(KVSTASH_R_KEY_LEN, o.reason);
			EXPECT_EQ(offsetof(struct kvstash_keys, lens), o.field);
			EXPECT_EQ(0, o.done);
			kvt_store_same(_metadata, &self->s);
		}
	}
}

/* A batch of the largest size, and each entry has its result. */
TEST_F(store, largest_batch_of_keys)
{
	const __u32 n = KVSTASH_BATCH_MAX;
	struct kvstash_exists *x = kvt_map(n * sizeof(*x));
	char *keys = kvt_map(n * 8);
	struct kvstash_keys k;
	__u32 wrong = 0;

	ASSERT_NE(NULL, x);
	ASSERT_NE(NULL, keys);
	for (__u32 i = 0; i < n; i++)
		memcpy(keys + 8 * i, i % 3 ? "seed/one" : "nothere!", 8);
	memset(x, 0xff, n * sizeof(*x));
	kvstash_prep_keys(&k, keys, 8, n);
	ASSERT_EQ(n, kvt_exists(self->s.fd, &k, x));
	for (__u32 i = 0; i < n; i++)
		wrong += x[i].state != (i % 3 ? KVSTASH_STATE_VISIBLE :
						KVSTASH_STATE_ABSENT);
	EXPECT_EQ(0, wrong);
	kvstash_prep_keys(&k, keys + 8, 8, n - 1);
	EXPECT_EQ(2, kvt_lookup(self->s.fd, &k));
	EXPECT_EQ(KVSTASH_R_MISS, k.reason);
	EXPECT_EQ(2 * KVT_ONE_LEN, k.bytes);
}

TEST_HARNESS_MAIN
