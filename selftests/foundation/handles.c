// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a handle: what each command says to a handle in each state, and
 * what WRITE makes of the bytes of a reserved part.
 */
#include "abi_call.h"

#define KEY	"handle", 6
#define LEN	10000UL

enum action {
	WRITE,
	COMMIT,
	ABORT,
	ACTIONS
};

static struct kvstash_result act(int fd, const struct kvstash_handle *h,
				 enum action action)
{
	char byte = 1;

	if (action == WRITE)
		return kvt_write1(fd, h, 0, &byte, 1);
	return action == COMMIT ? kvt_commit1(fd, h) : kvt_abort1(fd, h);
}

/* A part reserved and wholly written. */
static void reserve_full(struct __test_metadata *_metadata, int fd,
			 struct kvstash_handle *h)
{
	char buf[LEN];

	kvt_fill(buf, LEN, 1);
	KVT_OK(kvt_reserve1(fd, KEY, LEN, h));
	KVT_OK(kvt_write1(fd, h, 0, buf, LEN));
}

/* How a handle ends, and what it says for ever after. */
static const struct {
	enum action end;
	int err;
	__u32 reason;
} ends[] = {
	{ COMMIT, EALREADY, KVSTASH_R_COMMITTED },
	{ ABORT, ECANCELED, KVSTASH_R_ABORTED },
};

TEST_F(store, I2_ended_handle_says_how_and_does_nothing)
{
	struct kvstash_handle h;
	char back[LEN];

	for (size_t i = 0; i < KVT_LEN(ends); i++) {
		reserve_full(_metadata, self->s.fd, &h);
		KVT_OK(act(self->s.fd, &h, ends[i].end));
		for (int a = 0; a < 2 * ACTIONS; a++)
			KVT_EXPECT(ends[i].err, ends[i].reason,
				   act(self->s.fd, &h, a % ACTIONS));
		if (ends[i].end == COMMIT) {
			KVT_OK(kvt_get1(self->s.fd, KEY, back, LEN, NULL));
			EXPECT_EQ(-1, kvt_verify(back, LEN, 1));
			KVT_OK(kvt_remove1(self->s.fd, KEY));
			/* and after its object has gone */
			KVT_EXPECT(EALREADY, KVSTASH_R_COMMITTED,
				   act(self->s.fd, &h, COMMIT));
		}
		EXPECT_EQ(KVSTASH_STATE_ABSENT, kvt_state(self->s.fd, KEY));
		kvt_store_same(_metadata, &self->s);
	}
}

TEST_F(store, handles_never_given_out_are_unknown)
{
	struct kvstash_handle h = self->s.open;
	static const __u64 seqs[] = { 1000000, 1ULL << 32, 1ULL << 63, ~0ULL };

	h.seq = 0;
	for (int a = 0; a < ACTIONS; a++)
		KVT_EXPECT(EBADF, KVSTASH_R_HANDLE_UNKNOWN,
			   act(self->s.fd, &h, a));
	for (size_t i = 0; i < KVT_LEN(seqs); i++) {
		h.seq = seqs[i];
		for (int a = 0; a < ACTIONS; a++)
			KVT_EXPECT(EBADF, KVSTASH_R_HANDLE_UNKNOWN,
				   act(self->s.fd, &h, a));
	}
	kvt_store_same(_metadata, &self->s);
}

/* The next handle of a client is not known before it is given out. */
TEST_F(store, next_handle_is_unknown)
{
	struct kvstash_handle h = self->s.open;

	h.seq++;
	for (int a = 0; a < ACTIONS; a++)
		KVT_EXPECT(EBADF, KVSTASH_R_HANDLE_UNKNOWN,
			   act(self->s.fd, &h, a));
	kvt_store_same(_metadata, &self->s);
}

/* A handle is one client's: not another's, and not of no client. */
TEST_F(store, handle_of_another_client_is_refused)
{
	int other = kvt_open();
	struct kvstash_query q;
	struct kvstash_handle h;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, kvt_query(self->s.fd, &q));
	EXPECT_EQ(q.client, self->s.open.client);
	for (int a = 0; a < ACTIONS; a++)
		KVT_EXPECT(EPERM, KVSTASH_R_HANDLE_OWNER,
			   act(other, &self->s.open, a));
	reserve_full(_metadata, other, &h);
	for (int a = 0; a < ACTIONS; a++)
		KVT_EXPECT(EPERM, KVSTASH_R_HANDLE_OWNER,
			   act(self->s.fd, &h, a));
	KVT_OK(kvt_abort1(other, &h));
	close(other);
	kvt_store_same(_metadata, &self->s);
}

/* Any client id but one's own is refused, whichever bit differs. */
TEST_F(store, forged_client_ids_are_refused)
{
	struct kvstash_handle h;
	struct kvstash_result r;

	for (int bit = 0; bit < 64; bit++) {
		for (int a = 0; a < ACTIONS; a++) {
			h = self->s.open;
			h.client ^= 1ULL << bit;
			r = act(self->s.fd, &h, a);
			if (r.reason == KVSTASH_R_HANDLE_STALE)
				KVT_EXPECT(ESTALE, KVSTASH_R_HANDLE_STALE, r);
			else
				KVT_EXPECT(EPERM, KVSTASH_R_HANDLE_OWNER, r);
		}
	}
	kvt_store_same(_metadata, &self->s);
}

/* One byte each, ended as asked; returns the handle. */
static struct kvstash_handle quick(struct __test_metadata *_metadata, int fd,
				   enum action end)
{
	struct kvstash_handle h = { 0 };
	char byte = 1;

	KVT_OK(kvt_reserve1(fd, KEY, 1, &h));
	KVT_OK(kvt_write1(fd, &h, 0, &byte, 1));
	KVT_OK(act(fd, &h, end));
	if (end == COMMIT)
		KVT_OK(kvt_remove1(fd, KEY));
	return h;
}

#define FATES	4096

/* The fate of each of the last handles is told, beyond that it is forgotten. */
TEST_F(store, fate_is_told_for_the_last_4096)
{
	static struct kvstash_handle h[FATES];
	enum action end;
	int n = 0;

	for (n = 0; n < FATES; n++)
		h[n] = quick(_metadata, self->s.fd,
			     n % 3 ? COMMIT : ABORT);
	for (n = 0; n < FATES; n++) {
		end = n % 3 ? COMMIT : ABORT;
		KVT_EXPECT(end == COMMIT ? EALREADY : ECANCELED,
			   end == COMMIT ? KVSTASH_R_COMMITTED :
					   KVSTASH_R_ABORTED,
			   act(self->s.fd, &h[n], COMMIT));
	}
	quick(_metadata, self->s.fd, ABORT);
	for (int a = 0; a < ACTIONS; a++)
		KVT_EXPECT(EBADF, KVSTASH_R_FINISHED,
			   act(self->s.fd, &h[0], a));
	/* a handle in use is never forgotten: seed/flight is older than all */
	KVT_EXPECT(EINVAL, KVSTASH_R_UNWRITTEN,
		   act(self->s.fd, &self->s.open, COMMIT));
	kvt_store_same(_metadata, &self->s);
}

TEST_F(store, fate_of_a_young_handle_survives_the_end_of_an_old_one)
{
	struct kvstash_handle old, young;

	for (int i = 0; i < 2; i++) {
		KVT_OK(kvt_reserve1(self->s.fd, "old", 3, 1, &old));
		do
			young = quick(_metadata, self->s.fd, i ? COMMIT : ABORT);
		while (young.seq < old.seq + FATES);
		KVT_OK(kvt_write1(self->s.fd, &old, 0, "x", 1));
		KVT_OK(act(self->s.fd, &old, i ? ABORT : COMMIT));
		KVT_EXPECT(i ? EALREADY : ECANCELED,
			   i ? KVSTASH_R_COMMITTED : KVSTASH_R_ABORTED,
			   act(self->s.fd, &young, COMMIT));
		KVT_EXPECT(EBADF, KVSTASH_R_FINISHED,
			   act(self->s.fd, &old, COMMIT));
		if (!i)
			KVT_OK(kvt_remove1(self->s.fd, "old", 3));
	}
}

/*
 * WRITE: which bytes are written
 */

/* Bytes [off, off + len) of the pattern of seed @seed. */
static struct kvstash_result put_bytes(int fd, const struct kvstash_handle *h,
				       __u64 off, __u64 len, __u64 seed)
{
	char buf[LEN];

	kvt_fill_at(buf, len, seed, off);
	return kvt_write1(fd, h, off, buf, len);
}

/* Writes into a part of LEN bytes; the last leaves a gap of 100. */
static const struct {
	__u64 off;
	__u64 len;
} steps[] = {
	{ 0, 1 },
	{ LEN - 1, 1 },
	{ 0, 1 },		/* again */
	{ 5000, 100 },
	{ 4900, 100 },		/* touches from below */
	{ 5100, 100 },		/* touches from above */
	{ 4950, 300 },		/* overlaps the end */
	{ 4000, 5000 },		/* covers */
	{ 4096, 4096 },		/* inside */
	{ 2000, 1000 },
	{ 1, 2400 },		/* joins two */
	{ 9500, 500 },		/* covers the last */
	{ 3100, 900 },
	{ 8999, 502 },		/* joins */
};

TEST_F(store, UNWRITTEN_tells_the_bytes_missing)
{
	bool written[LEN] = { false };
	struct kvstash_handle h;
	struct kvstash_result r;
	__u64 missing = LEN;
	char back[LEN];

	KVT_OK(kvt_reserve1(self->s.fd, KEY, LEN, &h));
	for (size_t i = 0; i < KVT_LEN(steps); i++) {
		r = kvt_commit1(self->s.fd, &h);
		KVT_EXPECT(EINVAL, KVSTASH_R_UNWRITTEN, r);
		EXPECT_EQ(missing, r.detail) {
			TH_LOG("before step %zu", i);
		}
		KVT_OK(put_bytes(self->s.fd, &h, steps[i].off, steps[i].len, 1));
		memset(written + steps[i].off, true, steps[i].len);
		missing = 0;
		for (size_t b = 0; b < LEN; b++)
			missing += !written[b];
	}
	EXPECT_EQ(100, missing);
	KVT_OK(put_bytes(self->s.fd, &h, 3000, 100, 1));
	KVT_OK(kvt_commit1(self->s.fd, &h));
	KVT_OK(kvt_get1(self->s.fd, KEY, back, LEN, NULL));
	EXPECT_EQ(-1, kvt_verify(back, LEN, 1));
	KVT_OK(kvt_remove1(self->s.fd, KEY));
}

/* Pieces of odd sizes in many orders: the bytes are those of the last write. */
TEST_F(store, I1_pieces_in_any_order_make_the_part)
{
	const unsigned int piece = 997, nr = (LEN + piece - 1) / piece;
	unsigned int rounds = kvt_rounds(40);
	struct kvstash_handle h;
	char back[LEN];
	__u64 off;

	for (unsigned int round = 0; round < rounds; round++) {
		KVT_OK(kvt_reserve1(self->s.fd, KEY, LEN, &h));
		/* 7 has no common divisor with 11, so all pieces come */
		for (unsigned int i = 0; i < nr; i++) {
			off = (round + i * 7) % nr * piece;
			KVT_OK(put_bytes(self->s.fd, &h, off,
					 off + piece > LEN ? LEN - off : piece,
					 round));
		}
		KVT_OK(kvt_commit1(self->s.fd, &h));
		KVT_OK(kvt_get1(self->s.fd, KEY, back, LEN, NULL));
		EXPECT_EQ(-1, kvt_verify(back, LEN, round));
		KVT_OK(kvt_remove1(self->s.fd, KEY));
	}
}

TEST_F(store, bytes_may_be_rewritten_before_commit)
{
	struct kvstash_handle h;
	char back[LEN];

	KVT_OK(kvt_reserve1(self->s.fd, KEY, LEN, &h));
	for (int seed = 1; seed < 5; seed++)
		KVT_OK(put_bytes(self->s.fd, &h, 0, LEN, seed));
	KVT_OK(put_bytes(self->s.fd, &h, 4095, 2, 9));
	KVT_OK(kvt_commit1(self->s.fd, &h));
	KVT_OK(kvt_get1(self->s.fd, KEY, back, LEN, NULL));
	EXPECT_EQ(-1, kvt_verify_at(back, 4095, 4, 0));
	EXPECT_EQ(-1, kvt_verify_at(back + 4095, 2, 9, 4095));
	EXPECT_EQ(-1, kvt_verify_at(back + 4097, LEN - 4097, 4, 4097));
	KVT_OK(kvt_remove1(self->s.fd, KEY));
}

/* Single bytes with a gap between each: so many runs, and not one more. */
TEST_F(store, separate_runs_have_a_limit)
{
	const __u64 max = KVSTASH_WRITE_GAPS_MAX, len = 2 * max + 10;
	struct kvstash_handle h;
	struct kvstash_result r;
	char back[2 * KVSTASH_WRITE_GAPS_MAX + 10];

	KVT_OK(kvt_reserve1(self->s.fd, KEY, len, &h));
	for (__u64 i = 0; i < max; i++)
		KVT_OK(put_bytes(self->s.fd, &h, 2 * i, 1, 3));
	r = put_bytes(self->s.fd, &h, 2 * max, 1, 3);
	KVT_EXPECT(ENOBUFS, KVSTASH_R_GAPS, r);
	EXPECT_EQ(max, r.detail);
	/* one that is no run of its own still goes */
	KVT_OK(put_bytes(self->s.fd, &h, 2 * max - 1, 1, 3));
	r = kvt_commit1(self->s.fd, &h);
	KVT_EXPECT(EINVAL, KVSTASH_R_UNWRITTEN, r);
	EXPECT_EQ(len - max - 1, r.detail);
	/* closing a gap makes room for another */
	KVT_EXPECT(ENOBUFS, KVSTASH_R_GAPS,
		   put_bytes(self->s.fd, &h, 2 * max + 5, 1, 3));
	KVT_OK(put_bytes(self->s.fd, &h, 1, 1, 3));
	KVT_OK(put_bytes(self->s.fd, &h, 2 * max + 5, 1, 3));
	KVT_OK(put_bytes(self->s.fd, &h, 0, len, 3));
	KVT_OK(kvt_commit1(self->s.fd, &h));
	KVT_OK(kvt_get1(self->s.fd, KEY, back, len, NULL));
	EXPECT_EQ(-1, kvt_verify(back, len, 3));
	KVT_OK(kvt_remove1(self->s.fd, KEY));
}

TEST_F(store, I6_abort_of_a_part_with_many_runs)
{
	struct kvstash_handle h;

	KVT_OK(kvt_reserve1(self->s.fd, KEY, LEN, &h));
	for (__u64 i = 0; i < LEN / 16; i++)
		KVT_OK(put_bytes(self->s.fd, &h, 16 * i, 3, 3));
	KVT_OK(kvt_abort1(self->s.fd, &h));
	kvt_store_same(_metadata, &self->s);
}

/* Batches of COMMIT and ABORT that name a handle twice. */
TEST_F(store, handle_named_twice_in_a_batch)
{
	struct kvstash_handle h;
	struct kvstash_end e[3];

	for (int i = 0; i < 2; i++) {
		reserve_full(_metadata, self->s.fd, &h);
		for (int j = 0; j < 3; j++)
			kvstash_prep_end(&e[j], &h);
		ASSERT_EQ(3, i ? kvt_commit(self->s.fd, e, 3) :
				 kvt_abort(self->s.fd, e, 3));
		KVT_OK(e[0].r);
		for (int j = 1; j < 3; j++)
			KVT_EXPECT(i ? EALREADY : ECANCELED,
				   i ? KVSTASH_R_COMMITTED : KVSTASH_R_ABORTED,
				   e[j].r);
		if (i)
			KVT_OK(kvt_remove1(self->s.fd, KEY));
		kvt_store_same(_metadata, &self->s);
	}
}

/* A part in flight is nobody else's until it is given up. */
TEST_F(store, part_in_flight_is_busy)
{
	struct kvstash_handle h;
	struct kvstash_result r;
	int other = kvt_open();

	ASSERT_LE(0, other);
	for (int i = 0; i < 2; i++) {
		KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT,
			   kvt_put1(i ? other : self->s.fd, "seed/flight", 11,
				    "x", KVT_FLIGHT_LEN));
		KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT,
			   kvt_reserve1(i ? other : self->s.fd, "seed/flight",
					11, KVT_FLIGHT_LEN, &h));
		KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT,
			   kvt_remove1(i ? other : self->s.fd, "seed/flight",
				       11));
		r = kvt_get1(i ? other : self->s.fd, "seed/flight", 11, &h,
			     sizeof(h), NULL);
		KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, r);
		KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT,
			   kvt_exists1(i ? other : self->s.fd, "seed/flight",
				       11, NULL));
	}
	close(other);
	kvt_store_same(_metadata, &self->s);
}

/* I5: with the last close all that was in flight is gone, whatever its state. */
TEST_F(store, I5_close_gives_up_what_is_in_flight)
{
	int other = kvt_open();
	struct kvstash_handle h;
	char key[16];

	ASSERT_LE(0, other);
	for (int i = 0; i < 50; i++) {
		snprintf(key, sizeof(key), "close/%d", i);
		KVT_OK(kvt_reserve1(other, key, strlen(key), LEN, &h));
		if (i % 2)
			KVT_OK(put_bytes(other, &h, i * 10, 100, i));
		if (i % 3 == 2)
			KVT_OK(kvt_abort1(other, &h));
	}
	close(other);
	kvt_store_same(_metadata, &self->s);
	for (int i = 0; i < 50; i++) {
		snprintf(key, sizeof(key), "close/%d", i);
		EXPECT_EQ(KVSTASH_STATE_ABSENT,
			  kvt_state(self->s.fd, key, strlen(key)));
	}
}

/* A part whose object went away with its parent. */
TEST_F(store, I9_handle_of_an_object_removed_with_its_parent)
{
	struct kvstash_handle h[ACTIONS];
	struct kvstash_put e;
	char key[2] = "0";

	KVT_OK(kvt_put1(self->s.fd, "parent", 6, "x", 1));
	for (int a = 0; a < ACTIONS; a++) {
		key[0] = '0' + a;
		kvt_prep_named(&e, key, "parent");
		e.part_len = 1;
		KVT_OK(kvt_reserve_one(self->s.fd, &e));
		h[a] = e.handle;
		if (a)
			KVT_OK(kvt_write1(self->s.fd, &h[a], 0, "x", 1));
	}
	KVT_OK(kvt_remove1(self->s.fd, "parent", 6));
	for (int a = 0; a < ACTIONS; a++) {
		key[0] = '0' + a;
		EXPECT_EQ(KVSTASH_STATE_ABSENT, kvt_state(self->s.fd, key, 1));
		KVT_EXPECT(EIDRM, KVSTASH_R_REMOVED,
			   act(self->s.fd, &h[a], a));
	}
	/* its owner is told, and the bytes are back at the latest then */
	for (int a = 0; a < ACTIONS; a++)
		act(self->s.fd, &h[a], ABORT);
	kvt_store_same(_metadata, &self->s);
}

TEST_HARNESS_MAIN
