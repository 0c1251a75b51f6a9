// SPDX-License-Identifier: GPL-2.0
/*
 * How bytes come out of an object, and go into it: whole, by segments and by
 * ranges, of one part and of many, with every target guarded on both sides.
 */
#include "abi_call.h"

#define THREE	"seed/three", 10

/* Bytes [off, off + len) of seed/three are those of its parts in order. */
static bool three_ok(const unsigned char *buf, __u64 len)
{
	__u64 n;

	for (unsigned int i = 0; i < KVT_THREE_PARTS && len; i++) {
		n = len < kvt_three_len[i] ? len : kvt_three_len[i];
		if (kvt_verify(buf, n, kvt_seed_of("seed/three", i)) >= 0)
			return false;
		buf += n;
		len -= n;
	}
	return true;
}

static const struct {
	__u64 room;
	int err;
	__u32 reason;
} rooms[] = {
	{ 1, ENOSPC, KVSTASH_R_BUFFER_SMALL },
	{ 999, ENOSPC, KVSTASH_R_BUFFER_SMALL },
	{ 1000, ENOSPC, KVSTASH_R_BUFFER_SMALL },
	{ KVT_THREE_LEN - 1, ENOSPC, KVSTASH_R_BUFFER_SMALL },
	{ KVT_THREE_LEN, 0, KVSTASH_R_OK },
	{ KVT_THREE_LEN + 1, 0, KVSTASH_R_OK },
	{ KVT_THREE_LEN + 100000, 0, KVSTASH_R_OK },
};

TEST_F(store, whole_object_into_buffers_of_any_size)
{
	struct kvstash_get e;
	unsigned char *buf;

	for (size_t i = 0; i < KVT_LEN(rooms); i++) {
		buf = kvt_target(rooms[i].room);
		ASSERT_NE(NULL, buf);
		kvstash_prep_get(&e, THREE, buf, rooms[i].room);
		KVT_EXPECT(rooms[i].err, rooms[i].reason,
			   kvt_get_one(self->s.fd, &e));
		EXPECT_EQ(KVT_THREE_LEN, e.object_size);
		if (rooms[i].err) {
			EXPECT_EQ(KVT_THREE_LEN, e.r.detail);
			EXPECT_EQ(0, e.bytes);
			EXPECT_TRUE(kvt_untouched(buf, rooms[i].room));
		} else {
			EXPECT_EQ(KVT_THREE_LEN, e.bytes);
			EXPECT_TRUE(three_ok(buf, KVT_THREE_LEN));
			EXPECT_TRUE(kvt_untouched(buf + KVT_THREE_LEN,
						  rooms[i].room -
						  KVT_THREE_LEN));
		}
		EXPECT_TRUE(kvt_target_guarded(buf, rooms[i].room));
		kvt_target_free(buf);
	}
	kvt_store_same(_metadata, &self->s);
}

struct range {
	__u32 part;
	__u64 off;
	__u64 len;
};

#define RANGES_MAX	4

/* Ranges of seed/three: parts of 1000, 4096 and 8193 bytes. */
static const struct {
	const char *what;
	unsigned int nr;
	struct range r[RANGES_MAX];
	int err;
	__u32 reason;
	__u64 detail;
} lists[] = {
	{ "first byte", 1, { { 0, 0, 1 } }, 0, 0, 0 },
	{ "last byte", 1, { { 2, 8192, 1 } }, 0, 0, 0 },
	{ "whole parts, backwards", 3,
	  { { 2, 0, 8193 }, { 1, 0, 4096 }, { 0, 0, 1000 } }, 0, 0, 0 },
	{ "exactly to the end", 3,
	  { { 0, 999, 1 }, { 1, 1, 4095 }, { 2, 4097, 4096 } }, 0, 0, 0 },
	{ "across pages", 3,
	  { { 2, 4095, 2 }, { 2, 4095, 4097 }, { 2, 1, 8191 } }, 0, 0, 0 },
	{ "the same bytes again", 3,
	  { { 0, 3, 30 }, { 0, 3, 30 }, { 0, 2, 31 } }, 0, 0, 0 },
	{ "a byte past the end", 1, { { 0, 1000, 1 } }, ERANGE,
	  KVSTASH_R_RANGE, 1000 },
	{ "across the end", 1, { { 1, 4095, 2 } }, ERANGE, KVSTASH_R_RANGE,
	  4096 },
	{ "good, then past the end", 2, { { 2, 0, 100 }, { 0, 0, 1001 } },
	  ERANGE, KVSTASH_R_RANGE, 1000 },
	{ "past the end, then good", 2, { { 0, 0, 1001 }, { 2, 0, 100 } },
	  ERANGE, KVSTASH_R_RANGE, 1000 },
	{ "of the next part", 2, { { 2, 0, 100 }, { 0, 1000, 4096 } }, ERANGE,
	  KVSTASH_R_RANGE, 1000 },
	{ "far", 1, { { 0, 1ULL << 32, 1 } }, ERANGE, KVSTASH_R_RANGE, 1000 },
	{ "wraps to 0", 1, { { 0, -1ULL, 1 } }, ERANGE, KVSTASH_R_RANGE, 1000 },
	{ "wraps to within", 1, { { 0, -1ULL, 10 } }, ERANGE, KVSTASH_R_RANGE,
	  1000 },
	{ "empty", 2, { { 2, 0, 100 }, { 2, 0, 0 } }, EINVAL,
	  KVSTASH_R_LENGTH, ~0ULL },
	{ "no such part", 2, { { 2, 0, 100 }, { 3, 0, 1 } }, EINVAL,
	  KVSTASH_R_PART_INDEX, 3 },
};

static __u64 list_len(const struct range *r, unsigned int nr)
{
	__u64 sum = 0;

	for (unsigned int i = 0; i < nr; i++)
		sum += r[i].len;
	return sum;
}

/* The targets lie one behind another, then with a byte between each. */
static void try_list(struct __test_metadata *_metadata, int fd, size_t n,
		     unsigned int gap)
{
	const unsigned int nr = lists[n].nr;
	const __u64 room = list_len(lists[n].r, nr) + nr * gap;
	struct kvstash_range ranges[RANGES_MAX];
	unsigned char *buf = kvt_target(room), *at = buf;
	const struct range *r;
	struct kvstash_get e;
	__u64 bytes = 0, seed;

	ASSERT_NE(NULL, buf);
	for (unsigned int i = 0; i < nr; i++) {
		r = &lists[n].r[i];
		kvstash_prep_range(&ranges[i], r->part, r->off, at, r->len);
		at += r->len + gap;
		bytes += r->len;
	}
	kvstash_prep_get_ranges(&e, THREE, ranges, nr);
	KVT_EXPECT(lists[n].err, lists[n].reason, kvt_get_one(fd, &e));
	if (e.r.reason != lists[n].reason)
		TH_LOG("%s", lists[n].what);
	if (lists[n].err) {
		if (lists[n].detail != ~0ULL)
			EXPECT_EQ(lists[n].detail, e.r.detail);
		EXPECT_EQ(0, e.bytes);
		EXPECT_TRUE(kvt_untouched(buf, room));
	} else {
		EXPECT_EQ(bytes, e.bytes);
		at = buf;
		for (unsigned int i = 0; i < nr; i++) {
			r = &lists[n].r[i];
			seed = kvt_seed_of("seed/three", r->part);
			EXPECT_EQ(-1, kvt_verify_at(at, r->len, seed, r->off)) {
				TH_LOG("%s, range %u", lists[n].what, i);
			}
			EXPECT_TRUE(kvt_untouched(at + r->len, gap));
			at += r->len + gap;
		}
	}
	EXPECT_TRUE(kvt_target_guarded(buf, room));
	kvt_target_free(buf);
}

TEST_F(store, ranges_are_checked_before_a_byte_moves)
{
	for (size_t n = 0; n < KVT_LEN(lists); n++) {
		try_list(_metadata, self->s.fd, n, 0);
		try_list(_metadata, self->s.fd, n, 1);
		try_list(_metadata, self->s.fd, n, 4096);
	}
	kvt_store_same(_metadata, &self->s);
}

/* Where each of three targets of 100 bytes begins; the one that overlaps. */
static const struct {
	unsigned int at[3];
	bool overlap;
} overlaps[] = {
	{ { 0, 100, 200 }, false },
	{ { 200, 100, 0 }, false },
	{ { 100, 300, 200 }, false },
	{ { 0, 99, 200 }, true },
	{ { 0, 0, 200 }, true },
	{ { 0, 200, 0 }, true },
	{ { 200, 0, 101 }, true },
	{ { 50, 200, 0 }, true },
	{ { 300, 100, 399 }, true },
};

/* The targets of ranges, and of segments, must not overlap. */
TEST_F(store, overlapping_targets_are_refused)
{
	struct kvstash_range r[3];
	unsigned char *buf;
	struct kvstash_get e;

	for (size_t n = 0; n < KVT_LEN(overlaps); n++) {
		buf = kvt_target(500);
		ASSERT_NE(NULL, buf);
		for (int i = 0; i < 3; i++)
			kvstash_prep_range(&r[i], i, 17,
					   buf + overlaps[n].at[i], 100);
		kvstash_prep_get_ranges(&e, THREE, r, 3);
		KVT_EXPECT(overlaps[n].overlap ? EINVAL : 0,
			   overlaps[n].overlap ? KVSTASH_R_OVERLAP :
						 KVSTASH_R_OK,
			   kvt_get_one(self->s.fd, &e));
		if (overlaps[n].overlap) {
			EXPECT_LT(e.r.detail, 3);
			EXPECT_TRUE(kvt_untouched(buf, 500));
		}
		for (int i = 0; i < 3 && !overlaps[n].overlap; i++)
			EXPECT_EQ(-1, kvt_verify_at(buf + overlaps[n].at[i],
						    100,
						    kvt_seed_of("seed/three", i),
						    17));
		EXPECT_TRUE(kvt_target_guarded(buf, 500));
		kvt_target_free(buf);
	}
	kvt_store_same(_metadata, &self->s);
}

/*
 * Lists of many segments of odd lengths, at odd addresses
 */

static const unsigned int counts[] = { 1, 2, 7, 8, 9, 127, 128, 129, 255, 256,
				       257, 511, 512, 513, 1023, 1024 };

static __u64 odd_len(unsigned int i)
{
	return 1 + i * 37 % 211;
}

/* Segments in memory of their own, with a guard byte between each. */
static __u64 segs_make(struct kvstash_seg *segs, unsigned int nr,
		       unsigned char *buf)
{
	__u64 sum = 0;

	for (unsigned int i = 0; i < nr; i++) {
		kvstash_prep_seg(&segs[i], buf, odd_len(i));
		buf += odd_len(i) + 1;
		sum += odd_len(i);
	}
	return sum;
}

static void segs_fill(const struct kvstash_seg *segs, unsigned int nr,
		      __u64 seed)
{
	__u64 off = 0;

	for (unsigned int i = 0; i < nr; i++) {
		kvt_fill_at((void *)segs[i].addr, segs[i].len, seed, off);
		off += segs[i].len;
	}
}

/* How many of them have not the bytes that they ought to have. */
static unsigned int segs_wrong(const struct kvstash_seg *segs, unsigned int nr,
			       __u64 seed, __u64 off)
{
	unsigned int wrong = 0;
	unsigned char *at;

	for (unsigned int i = 0; i < nr; i++) {
		at = (void *)segs[i].addr;
		wrong += kvt_verify_at(at, segs[i].len, seed, off) >= 0 ||
			 at[segs[i].len] != KVT_CANARY_BYTE;
		off += segs[i].len;
	}
	return wrong;
}

#define ROOM	(KVSTASH_SEGS_MAX * 213UL)

TEST_F(store, segments_of_odd_lengths)
{
	static struct kvstash_seg segs[KVSTASH_SEGS_MAX];
	struct kvstash_handle h;
	struct kvstash_write w;
	struct kvstash_put p;
	struct kvstash_get g;
	unsigned char *buf;
	unsigned int nr;
	__u64 len;

	for (size_t n = 0; n < 2 * KVT_LEN(counts); n++) {
		nr = counts[n / 2];
		buf = kvt_target(ROOM);
		ASSERT_NE(NULL, buf);
		len = segs_make(segs, nr, buf + n % 8);
		segs_fill(segs, nr, n);
		if (n % 2) {
			kvstash_prep_put(&p, "segs", 4, NULL, 0);
			kvstash_prep_put_segs(&p, segs, nr);
			KVT_OK(kvt_put_one(self->s.fd, &p));
		} else {
			KVT_OK(kvt_reserve1(self->s.fd, "segs", 4, len, &h));
			kvstash_prep_write(&w, &h, 0, NULL, 0);
			kvstash_prep_write_segs(&w, segs, nr);
			KVT_OK(kvt_one(self->s.fd, KVSTASH_IOC_WRITE, &w,
				       sizeof(w)));
			KVT_OK(kvt_commit1(self->s.fd, &h));
		}
		memset(buf, KVT_CANARY_BYTE, ROOM);
		kvstash_prep_get_segs(&g, "segs", 4, segs, nr);
		KVT_OK(kvt_get_one(self->s.fd, &g));
		EXPECT_EQ(len, g.bytes);
		EXPECT_EQ(0, segs_wrong(segs, nr, n, 0)) {
			TH_LOG("%u segments", nr);
		}
		EXPECT_TRUE(kvt_target_guarded(buf, ROOM));
		kvt_target_free(buf);
		KVT_OK(kvt_remove1(self->s.fd, "segs", 4));
	}
}

/* As many ranges as may be, of one part, from its end to its beginning. */
TEST_F(store, ranges_of_odd_lengths)
{
	static struct kvstash_range r[KVSTASH_SEGS_MAX + 1];
	static struct kvstash_seg segs[KVSTASH_SEGS_MAX];
	unsigned char *buf;
	struct kvstash_put p;
	struct kvstash_get g;
	unsigned int nr, wrong;
	__u64 len, off;

	for (size_t n = 0; n < KVT_LEN(counts); n++) {
		nr = counts[n];
		buf = kvt_target(ROOM);
		ASSERT_NE(NULL, buf);
		len = segs_make(segs, nr, buf);
		kvt_prep_named(&p, "ranges", NULL);
		KVT_OK(kvt_put_pattern(self->s.fd, &p, n, len));
		memset(buf, KVT_CANARY_BYTE, ROOM);
		off = len;
		for (unsigned int i = 0; i < nr; i++) {
			off -= segs[i].len;
			kvstash_prep_range(&r[i], 0, off, (void *)segs[i].addr,
					   segs[i].len);
		}
		kvstash_prep_get_ranges(&g, "ranges", 6, r, nr);
		KVT_OK(kvt_get_one(self->s.fd, &g));
		EXPECT_EQ(len, g.bytes);
		wrong = 0;
		for (unsigned int i = 0; i < nr; i++)
			wrong += segs_wrong(&segs[i], 1, n, r[i].offset);
		EXPECT_EQ(0, wrong);
		EXPECT_TRUE(kvt_target_guarded(buf, ROOM));
		kvt_target_free(buf);
		KVT_OK(kvt_remove1(self->s.fd, "ranges", 6));
	}
	kvstash_prep_get_ranges(&g, "seed/one", 8, r, KVSTASH_SEGS_MAX + 1);
	KVT_EXPECT(EINVAL, KVSTASH_R_SEGS, kvt_get_one(self->s.fd, &g));
	EXPECT_EQ(KVSTASH_SEGS_MAX, g.r.detail);
}

/* An object of as many parts as may be, got whole and by ranges. */
TEST_F(store, object_of_many_parts)
{
	const unsigned int nr = KVSTASH_PARTS_MAX;
	struct kvstash_range r[3];
	__u64 len = 0, off = 0;
	struct kvstash_put p;
	struct kvstash_get g;
	unsigned char *buf;
	unsigned int wrong = 0;

	for (unsigned int n = 0; n < nr; n++) {
		/* 389 has no common divisor with 1,024, so all parts come */
		unsigned int i = n * 389 % nr;

		kvt_prep_named(&p, "many", NULL);
		kvstash_prep_put_part(&p, i, nr);
		KVT_OK(kvt_put_pattern(self->s.fd, &p, i, odd_len(i)));
		len += odd_len(i);
	}
	buf = kvt_target(len);
	ASSERT_NE(NULL, buf);
	kvstash_prep_get(&g, "many", 4, buf, len);
	KVT_OK(kvt_get_one(self->s.fd, &g));
	EXPECT_EQ(len, g.bytes);
	EXPECT_EQ(len, g.object_size);
	for (unsigned int i = 0; i < nr; i++) {
		wrong += kvt_verify(buf + off, odd_len(i), i) >= 0;
		off += odd_len(i);
	}
	EXPECT_EQ(0, wrong);
	EXPECT_TRUE(kvt_target_guarded(buf, len));
	kvstash_prep_range(&r[0], nr - 1, 0, buf, odd_len(nr - 1));
	kvstash_prep_range(&r[1], 0, 0, buf + 1000, odd_len(0));
	kvstash_prep_range(&r[2], 500, 1, buf + 2000, odd_len(500) - 1);
	kvstash_prep_get_ranges(&g, "many", 4, r, 3);
	KVT_OK(kvt_get_one(self->s.fd, &g));
	EXPECT_EQ(-1, kvt_verify(buf, odd_len(nr - 1), nr - 1));
	EXPECT_EQ(-1, kvt_verify(buf + 1000, odd_len(0), 0));
	EXPECT_EQ(-1, kvt_verify_at(buf + 2000, odd_len(500) - 1, 500, 1));
	r[1].part = nr;
	KVT_EXPECT(EINVAL, KVSTASH_R_PART_INDEX, kvt_get_one(self->s.fd, &g));
	EXPECT_EQ(nr, g.r.detail);
	kvt_target_free(buf);
	KVT_OK(kvt_remove1(self->s.fd, "many", 4));
}

/* Large parts over many chunks, at unaligned addresses and offsets. */
TEST_F(store, I1_parts_larger_than_a_chunk)
{
	const __u64 len = (5UL << 20) + 12345;
	char *buf = kvt_map(len + 8), *back = kvt_map(len + 8);
	struct kvstash_range r;
	struct kvstash_get g;

	ASSERT_TRUE(buf && back);
	for (int skew = 0; skew < 8; skew += 3) {
		kvt_fill(buf + skew, len, skew);
		KVT_OK(kvt_put1(self->s.fd, "large", 5, buf + skew, len));
		KVT_OK(kvt_get1(self->s.fd, "large", 5, back + 7 - skew, len,
				NULL));
		EXPECT_EQ(0, memcmp(buf + skew, back + 7 - skew, len));
		for (__u64 off = 1; off < len - 70001; off += 997 * 997) {
			kvstash_prep_range(&r, 0, off, back + skew, 70001);
			kvstash_prep_get_ranges(&g, "large", 5, &r, 1);
			KVT_OK(kvt_get_one(self->s.fd, &g));
			EXPECT_EQ(0, memcmp(buf + skew + off, back + skew,
					    70001));
		}
		KVT_OK(kvt_remove1(self->s.fd, "large", 5));
	}
	kvt_store_same(_metadata, &self->s);
}

TEST_HARNESS_MAIN
