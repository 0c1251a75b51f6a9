// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/*
 * Writers that die, that are slow, and that race: R01 R04 R05 R07 R12 R33 R37.
 * Leases and mappings are of later topics: here a client holds reserved parts.
 */
#include "r_store.h"

static char buf[KVR_STATE + 4096];

/* A child that has done something and then only waits for its end. */
struct holder {
	struct kvr_store *s;
	struct kvr_obj o;
	struct kvt_gate ready;
	unsigned int done;	/* parts that it commits before */
};

static int hold_half(void *arg)
{
	struct holder *h = arg;
	int fd = kvt_open_ns(h->s->name);
	struct kvstash_handle handle;

	if (fd < 0)
		return kvr_say("open: %d", fd);
	for (unsigned int i = 0; i < h->done; i++)
		if (kvr_put_part(fd, &h->o, i, buf).res)
			return kvr_say("part %u not put", i);
	if (kvr_reserve(fd, &h->o, h->done, &handle).res ||
	    kvr_write(fd, &h->o, h->done, &handle, buf, 0, h->o.len / 2).res)
		return kvr_say("part not reserved or not written");
	kvt_gate_open(&h->ready, 1);
	for (;;)
		pause();
}

/* A child with part @done of @o half written and those before it committed. */
static pid_t holder_start(struct __test_metadata *_metadata, struct holder *h,
			  struct kvr_store *s, const struct kvr_obj *o,
			  unsigned int done)
{
	pid_t pid;

	*h = (struct holder){ .s = s, .o = *o, .done = done };
	ASSERT_EQ(0, kvt_gate_init(&h->ready));
	pid = kvr_spawn(hold_half, h);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, kvr_ready(&h->ready, pid));
	kvt_gate_end(&h->ready);
	return pid;
}

TEST_F(store, R01_I5_killed_writer_leaves_nothing)
{
	struct kvr_obj o = { .key = { 1, 1 }, .len = KVR_BLOCK, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct kvstash_exists x;
	struct holder h;
	pid_t pid;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	pid = holder_start(_metadata, &h, s, &o, 0);
	EXPECT_EQ(KVR_BLOCK, kvr_pool(s, "in_flight_bytes"));
	KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, kvr_exists(s->fd, &o, &x));
	EXPECT_EQ(0, x.parts_present);
	EXPECT_EQ(KVSTASH_STATE_FILLING, x.state);
	KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, kvr_get(s->fd, &o, buf));
	KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, kvr_put(s->fd, &o, buf));
	KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, kvr_remove(s->fd, &o));

	EXPECT_EQ(-SIGKILL, kvr_kill(pid));
	EXPECT_EQ(0, kvr_pool(s, "in_flight_bytes"));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
	EXPECT_EQ(0, kvr_ns(s, "objects"));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(s->fd, &o, &x));
	EXPECT_EQ(0, x.parts_present);
	KVT_OK(kvr_put(s->fd, &o, buf));
	KVT_OK(kvr_get(s->fd, &o, buf));
	EXPECT_EQ(0, kvr_pool(s, "in_flight_bytes"));
}

/* The same with a part that was committed: it stays, and the rest is free. */
TEST_F(store, R01_I5_killed_writer_keeps_committed_parts)
{
	struct kvr_obj o = { .key = { 1, 2 }, .len = KVR_BLOCK, .parts = 3 };
	struct kvt_ns_args ns = { .incomplete_ms = 0x7fffffff };
	struct kvr_store *s = &self->s;
	struct kvstash_exists x;
	struct holder h;
	pid_t pid;

	kvr_store_make(_metadata, s, KVR_MB(4), &ns);
	pid = holder_start(_metadata, &h, s, &o, 1);
	EXPECT_EQ(-SIGKILL, kvr_kill(pid));
	EXPECT_EQ(0, kvr_pool(s, "in_flight_bytes"));
	EXPECT_EQ(KVR_BLOCK, kvr_pool(s, "committed_bytes"));
	KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE, kvr_exists(s->fd, &o, &x));
	EXPECT_EQ(1, x.r.detail);
	EXPECT_EQ(1, x.parts_present);
	KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, kvr_put_part(s->fd, &o, 0, buf));
	KVT_OK(kvr_put_part(s->fd, &o, 1, buf));
	KVT_OK(kvr_put_part(s->fd, &o, 2, buf));
	KVT_OK(kvr_get(s->fd, &o, buf));
}

#define R04_ROUNDS	10000

struct r04 {
	struct kvr_store *s;
	struct kvr_barrier b;
	struct kvstash_result got[2];
	__u32 wins[2];
};

static unsigned int r04_me;	/* of this process */

/* The winner's bytes say who wrote them. */
static __u64 r04_seed(__u64 round, unsigned int who)
{
	return kvt_word(0x04, 2 * round + who);
}

static int r04_win(int fd, __u64 round, const struct kvstash_handle *h)
{
	struct kvstash_result r;
	char data[512];

	kvt_fill(data, sizeof(data), r04_seed(round, r04_me));
	if (kvt_write1(fd, h, 0, data, sizeof(data)).res)
		return kvr_say("round %llu: write failed", round);
	if (kvt_commit1(fd, h).res)
		return kvr_say("round %llu: commit failed", round);
	r = kvt_commit1(fd, h);
	if (r.res != -EALREADY || r.reason != KVSTASH_R_COMMITTED)
		return kvr_say("round %llu: second commit %d reason %u", round,
			       r.res, r.reason);
	return 0;
}

/* Exactly one won, the other was told why not, the bytes are the winner's. */
static int r04_judge(struct r04 *t, int fd, const struct kvr_key *key)
{
	const struct kvstash_result *l;
	char data[512];
	int win = -1;

	for (int i = 0; i < 2; i++)
		if (!t->got[i].res)
			win = win < 0 ? i : 2;
	if (win < 0 || win > 1)
		return kvr_say("round %llu: results %d and %d", key->id,
			       t->got[0].res, t->got[1].res);
	l = &t->got[!win];
	if (!(l->res == -EBUSY && l->reason == KVSTASH_R_IN_FLIGHT) &&
	    !(l->res == -EEXIST && l->reason == KVSTASH_R_EXISTS))
		return kvr_say("round %llu: loser's result %d reason %u",
			       key->id, l->res, l->reason);
	if (kvt_get1(fd, key, sizeof(*key), data, sizeof(data), NULL).res)
		return kvr_say("round %llu: get failed", key->id);
	if (kvt_verify(data, sizeof(data), r04_seed(key->id, win)) >= 0)
		return kvr_say("round %llu: not the winner's bytes", key->id);
	if (r04_me == (unsigned int)win)
		t->wins[win]++;
	return 0;
}

static int r04_round(struct r04 *t, int fd, __u64 round)
{
	struct kvr_key key = { 4, round };
	struct kvstash_handle h;

	if (kvr_barrier_wait(&t->b))
		return 1;
	t->got[r04_me] = kvt_reserve1(fd, &key, sizeof(key), 512, &h);
	if (!t->got[r04_me].res && r04_win(fd, round, &h))
		return 1;
	if (kvr_barrier_wait(&t->b) || r04_judge(t, fd, &key))
		return 1;
	return 0;
}

static int r04_child(struct r04 *shared, unsigned int me)
{
	int fd = kvt_open_ns(shared->s->name);

	r04_me = me;
	kvr_pin(me);
	if (fd < 0)
		return kvr_barrier_break(&shared->b);
	for (__u64 round = 0; round < R04_ROUNDS; round++)
		if (r04_round(shared, fd, round))
			return kvr_barrier_break(&shared->b);
	return 0;
}

static int r04_first(void *arg)
{
	return r04_child(arg, 0);
}

static int r04_second(void *arg)
{
	return r04_child(arg, 1);
}

TEST_F(store, R04_I1_I2_two_reserve_one_wins)
{
	struct kvr_store *s = &self->s;
	struct r04 *t = kvr_shared(sizeof(*t));
	pid_t pid[2];

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVR_MB(16), NULL);
	t->s = s;
	t->b.n = 2;
	pid[0] = kvr_spawn(r04_first, t);
	pid[1] = kvr_spawn(r04_second, t);
	ASSERT_LT(0, pid[0]);
	ASSERT_LT(0, pid[1]);
	EXPECT_EQ(0, kvt_wait(pid[0]));
	EXPECT_EQ(0, kvt_wait(pid[1]));
	EXPECT_EQ(R04_ROUNDS, t->wins[0] + t->wins[1]);
	TH_LOG("wins: %u and %u", t->wins[0], t->wins[1]);
}

TEST_F(store, R05_I2_batch_put_skips_what_is_there)
{
	static char data[8][KVR_BLOCK];
	static const bool there[8] = { [1] = true, [4] = true, [7] = true };
	struct kvr_store *s = &self->s;
	struct kvstash_put e[8];
	struct kvr_obj o[8];

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int i = 0; i < 8; i++) {
		o[i] = (struct kvr_obj){ .key = { 5, i }, .len = KVR_BLOCK, .parts = 1 };
		if (there[i])
			KVT_OK(kvr_put(s->fd, &o[i], buf));
		kvr_fill(&o[i], 0, data[i]);
		if (there[i])	/* other bytes for what is there */
			memset(data[i], 0xee, KVR_BLOCK);
		kvr_prep(&e[i], &o[i], 0, data[i]);
	}
	ASSERT_EQ(8, kvt_put(s->fd, e, 8));
	for (unsigned int i = 0; i < 8; i++) {
		KVT_EXPECT(there[i] ? EEXIST : 0,
			   there[i] ? KVSTASH_R_EXISTS : KVSTASH_R_OK, e[i].r);
		KVT_OK(kvr_get(s->fd, &o[i], buf));
	}
	EXPECT_EQ(8ULL * KVR_BLOCK, kvr_pool(s, "committed_bytes"));
	EXPECT_EQ(8, kvr_ns(s, "visible"));
}

/* Puts of other content, length, parts, parent, manifest, tag under one key. */
static void r07_overwrite(struct __test_metadata *_metadata, struct kvr_store *s,
			  const struct kvr_obj *o)
{
	struct kvr_key parent = { 7, 2 };
	struct kvstash_result r;
	struct kvstash_put e;

	memset(buf, 0x77, sizeof(buf));
	kvr_prep(&e, o, 0, buf);
	KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, kvt_put_one(s->fd, &e));
	e.part_len = o->len / 2;
	r = kvt_put_one(s->fd, &e);
	EXPECT_TRUE((r.res == -EEXIST && r.reason == KVSTASH_R_EXISTS) ||
		    (r.res == -EXDEV && r.reason == KVSTASH_R_MISMATCH_LENGTH));
	kvr_prep(&e, o, 0, buf);
	e.parts = 2;
	r = kvt_put_one(s->fd, &e);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_PARTS, r);
	EXPECT_EQ(1, r.detail);
	kvr_prep(&e, o, 0, buf);
	kvstash_prep_put_parent(&e, &parent, sizeof(parent));
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_PARENT, kvt_put_one(s->fd, &e));
	kvr_prep(&e, o, 0, buf);
	kvstash_prep_put_manifest(&e, buf);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_MANIFEST, kvt_put_one(s->fd, &e));
	kvr_prep(&e, o, 0, buf);
	kvstash_prep_put_tag(&e, "t", 1);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_TAG, kvt_put_one(s->fd, &e));
	kvr_prep(&e, o, 0, NULL);
	KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, kvt_reserve_one(s->fd, &e));
}

TEST_F(store, R07_I2_nothing_overwrites_and_no_mix)
{
	struct kvr_obj o = { .key = { 7, 1 }, .len = KVR_BLOCK, .parts = 1 };
	struct kvr_obj parent = { .key = { 7, 2 }, .len = 4096, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct kvstash_exists x;
	struct holder h;
	pid_t pid;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(kvr_put(s->fd, &parent, buf));
	KVT_OK(kvr_put(s->fd, &o, buf));
	r07_overwrite(_metadata, s, &o);
	KVT_OK(kvr_get(s->fd, &o, buf));
	EXPECT_EQ(0, kvr_pool(s, "in_flight_bytes"));

	KVT_OK(kvr_remove(s->fd, &o));
	pid = holder_start(_metadata, &h, s, &o, 0);
	KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, kvr_get(s->fd, &o, buf));
	EXPECT_EQ(-SIGKILL, kvr_kill(pid));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(s->fd, &o, &x));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_get(s->fd, &o, buf));
}

/* R12: what the client that gets stopped does, before and after. */
struct r12 {
	struct kvr_store *s;
	struct kvr_obj one;
	struct kvr_obj two;
};

static int r12_child(void *arg)
{
	struct r12 *t = arg;
	int fd = kvt_open_ns(t->s->name);
	struct kvstash_handle h;

	if (fd < 0 || kvr_reserve(fd, &t->one, 0, &h).res ||
	    kvr_write(fd, &t->one, 0, &h, buf, 0, t->one.len / 2).res ||
	    kvr_put_part(fd, &t->two, 0, buf).res)
		return kvr_say("not set up");
	raise(SIGSTOP);
	if (kvr_write(fd, &t->one, 0, &h, buf, t->one.len / 2, t->one.len).res)
		return kvr_say("write failed after the stop");
	if (kvt_commit1(fd, &h).res)
		return kvr_say("commit failed after the stop");
	if (kvr_put_part(fd, &t->two, 1, buf).res)
		return kvr_say("second part failed after the stop");
	if (kvr_get(fd, &t->one, buf).res || kvr_get(fd, &t->two, buf).res)
		return kvr_say("get failed after the stop");
	return 0;
}

/* The shortest time-out there is: it must not touch what a living client has. */
TEST_F(store, R12_I5_stopped_writer_loses_nothing)
{
	struct r12 t = {
		.one = { .key = { 12, 1 }, .len = KVR_BLOCK, .parts = 1 },
		.two = { .key = { 12, 2 }, .len = KVR_BLOCK, .parts = 2 },
	};
	struct kvr_obj o = { .key = { 13, 0 }, .len = 65536, .parts = 1 };
	struct kvt_ns_args ns = { .incomplete_ms = 1 };
	struct kvr_store *s = &self->s;
	struct kvstash_exists x;
	int status;
	pid_t pid;

	kvr_store_make(_metadata, s, KVR_MB(4), &ns);
	t.s = s;
	pid = kvr_spawn(r12_child, &t);
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));
	for (; o.key.id < 10 * KVR_MB(4) / o.len; o.key.id++)
		ASSERT_EQ(0, kvr_put(s->fd, &o, buf).res);
	KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, kvr_exists(s->fd, &t.one, NULL));
	KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE, kvr_exists(s->fd, &t.two, &x));
	EXPECT_EQ(1, x.parts_present);
	EXPECT_EQ(0, kvr_ns(s, "collected_incomplete"));
	kill(pid, SIGCONT);
	EXPECT_EQ(0, kvt_wait(pid));
	KVT_OK(kvr_get(s->fd, &t.one, buf));
	KVT_OK(kvr_get(s->fd, &t.two, buf));
}

TEST_F(store, R33_I8_ranks_of_one_key)
{
	struct kvr_obj o = { .key = { 33, 1 }, .len = KVR_BLOCK, .parts = 2 };
	char manifest[KVSTASH_DIGEST_LEN], other[KVSTASH_DIGEST_LEN];
	struct kvr_store *s = &self->s;
	struct kvstash_exists x;
	struct kvstash_put e;
	int rank1;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	rank1 = kvt_open_ns(s->name);
	ASSERT_LE(0, rank1);
	kvt_fill(manifest, sizeof(manifest), 33);
	kvt_fill(other, sizeof(other), 34);

	kvr_fill(&o, 0, buf);
	kvr_prep(&e, &o, 0, buf);
	kvstash_prep_put_manifest(&e, manifest);
	KVT_OK(kvt_put_one(s->fd, &e));

	kvr_fill(&o, 1, buf);
	kvr_prep(&e, &o, 1, buf);
	kvstash_prep_put_part(&e, 0, 1);
	kvstash_prep_put_manifest(&e, manifest);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_PARTS, kvt_put_one(rank1, &e));
	kvstash_prep_put_part(&e, 1, 2);
	kvstash_prep_put_manifest(&e, other);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_MANIFEST, kvt_put_one(rank1, &e));
	kvstash_prep_put_manifest(&e, NULL);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_MANIFEST, kvt_put_one(rank1, &e));
	KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE, kvr_exists(rank1, &o, &x));
	EXPECT_EQ(1, x.parts_present);

	kvstash_prep_put_manifest(&e, manifest);
	KVT_OK(kvt_put_one(rank1, &e));
	KVT_OK(kvr_exists(rank1, &o, &x));
	EXPECT_EQ(2, x.parts_present);
	EXPECT_EQ(0, memcmp(x.manifest, manifest, sizeof(manifest)));
	KVT_OK(kvr_get(rank1, &o, buf));
	close(rank1);
}

/* Waiting for an object, hence its single wake-up, is of a later topic. */
TEST_F(store, R37_completion_counts_different_parts)
{
	struct kvr_obj o = { .key = { 37, 1 }, .len = 4096, .parts = 3 };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	struct kvstash_exists x;
	int fd2;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	fd2 = kvt_open_ns(s->name);
	ASSERT_LE(0, fd2);
	KVT_OK(kvr_reserve(s->fd, &o, 1, &h));
	KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, kvr_put_part(fd2, &o, 1, buf));
	KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, kvr_put_part(s->fd, &o, 1, buf));
	KVT_OK(kvr_write_all(s->fd, &o, 1, &h, buf));
	KVT_OK(kvt_commit1(s->fd, &h));
	for (unsigned int i = 0; i < 5; i++) {
		KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS,
			   kvr_put_part(i & 1 ? fd2 : s->fd, &o, 1, buf));
		KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE, kvr_exists(fd2, &o, &x));
		EXPECT_EQ(1, x.parts_present);
	}
	KVT_OK(kvr_put_part(fd2, &o, 0, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE, kvr_exists(fd2, &o, &x));
	EXPECT_EQ(2, x.r.detail);
	KVT_OK(kvr_put_part(s->fd, &o, 2, buf));
	KVT_OK(kvr_get(fd2, &o, buf));
	close(fd2);
}

#define R37_RANKS	6
#define R37_PARTS	24

struct r37 {
	struct kvr_store *s;
	struct kvr_barrier b;
	__u32 wins[R37_PARTS];
	__u32 rank;
};

/* Each rank puts each part, in an order of its own. */
static int r37_rank(void *arg)
{
	struct kvr_obj o = { .key = { 37, 2 }, .len = 4000, .parts = R37_PARTS };
	struct r37 *t = arg;
	unsigned int me = __atomic_fetch_add(&t->rank, 1, __ATOMIC_SEQ_CST);
	int fd = kvt_open_ns(t->s->name);
	struct kvstash_result r;

	if (fd < 0 || kvr_barrier_wait(&t->b))
		return kvr_barrier_break(&t->b);
	for (unsigned int i = 0; i < R37_PARTS; i++) {
		unsigned int part = (i * 5 + me * 7) % R37_PARTS;

		r = kvr_put_part(fd, &o, part, buf);
		if (!r.res)
			__atomic_add_fetch(&t->wins[part], 1, __ATOMIC_SEQ_CST);
		else if (r.res != -EBUSY && r.res != -EEXIST)
			return kvr_say("part %u: %d reason %u", part, r.res,
				       r.reason);
	}
	return kvr_barrier_wait(&t->b) || kvr_get(fd, &o, buf).res;
}

TEST_F(store, R37_ranks_race_for_the_parts)
{
	struct r37 *t = kvr_shared(sizeof(*t));
	struct kvr_store *s = &self->s;
	pid_t pid[R37_RANKS];

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	t->s = s;
	t->b.n = R37_RANKS;
	for (unsigned int i = 0; i < R37_RANKS; i++)
		pid[i] = kvr_spawn(r37_rank, t);
	for (unsigned int i = 0; i < R37_RANKS; i++)
		EXPECT_EQ(0, kvt_wait(pid[i]));
	for (unsigned int i = 0; i < R37_PARTS; i++)
		EXPECT_EQ(1, t->wins[i]);
	EXPECT_EQ(1, kvr_ns(s, "visible"));
}

TEST_HARNESS_MAIN
