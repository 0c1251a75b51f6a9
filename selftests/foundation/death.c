// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * Death at any moment: four processes put multipart objects and one of them is
 * killed, 1,000 times. What the dead one had in flight must be gone by the time
 * that it is reaped, what anyone committed must be there, and the next put of
 * what is missing must succeed at once.
 */
#include "r_store.h"

#define ROUNDS	1000
#define RANKS	4
#define SHARED	6	/* objects with a part of each rank */
#define OWN	2	/* objects with all parts of one rank */
#define OWN_PARTS 3

/**
 * struct rank - what a rank of this round has done so far
 * @steps:  system calls, or DONE
 * @shared: parts of the shared objects whose commit has returned
 * @own:    objects of its own whose commit has returned
 */
struct rank {
	__u32 steps;
	__u32 shared;
	__u32 own;
};

#define DONE	1000

struct round {
	struct kvr_store *s;
	__u64 nr;
	__u32 broken;
	struct rank rank[RANKS];
};

static char buf[OWN_PARTS][16384];
static unsigned int my_rank;	/* set before the fork */

static struct kvr_obj shared_obj(__u64 round, unsigned int i)
{
	return (struct kvr_obj){
		.key = { 100 + i, round }, .len = 2000 + 1500 * i, .parts = RANKS,
	};
}

static struct kvr_obj own_obj(__u64 round, unsigned int rank, unsigned int i)
{
	return (struct kvr_obj){
		.key = { 200 + RANKS * i + rank, round }, .len = 4096 + 3000 * i,
		.parts = OWN_PARTS,
	};
}

/* One more system call is done; with one CPU who waits for it gets a chance. */
static void count_step(struct rank *me)
{
	kvr_add(&me->steps, 1);
	sched_yield();
}

static bool step(struct rank *me, struct kvstash_result r)
{
	count_step(me);
	if (r.res)
		kvr_say("result %d reason %u detail %llu", r.res, r.reason, r.detail);
	return !r.res;
}

/* One part in two writes and a commit, or in one put. */
static int put_shared(int fd, struct rank *me, const struct kvr_obj *o,
		      unsigned int part, bool in_one)
{
	size_t len = kvr_part_len(o, part);
	struct kvstash_handle h;

	if (in_one)
		return !step(me, kvr_put_part(fd, o, part, buf));
	return !step(me, kvr_reserve(fd, o, part, &h)) ||
	       !step(me, kvr_write(fd, o, part, &h, buf, len / 2, len)) ||
	       !step(me, kvr_write(fd, o, part, &h, buf, 0, len / 2)) ||
	       !step(me, kvt_commit1(fd, &h));
}

/* All parts of an object of one's own, in three batches. */
static int put_own(int fd, struct rank *me, const struct kvr_obj *o)
{
	struct kvstash_put put[OWN_PARTS];
	struct kvstash_write write[OWN_PARTS];
	struct kvstash_end end[OWN_PARTS];
	int bad = 0;

	for (unsigned int i = 0; i < OWN_PARTS; i++)
		kvr_prep(&put[i], o, i, NULL);
	bad |= kvt_reserve(fd, put, OWN_PARTS) != OWN_PARTS;
	count_step(me);
	for (unsigned int i = 0; i < OWN_PARTS; i++) {
		kvr_fill(o, i, buf[i]);
		kvstash_prep_write(&write[i], &put[i].handle, 0, buf[i],
				   kvr_part_len(o, i));
		kvstash_prep_end(&end[i], &put[i].handle);
	}
	bad |= kvt_write(fd, write, OWN_PARTS) != OWN_PARTS;
	count_step(me);
	bad |= kvt_commit(fd, end, OWN_PARTS) != OWN_PARTS;
	count_step(me);
	for (unsigned int i = 0; i < OWN_PARTS; i++)
		bad |= put[i].r.res || write[i].r.res || end[i].r.res;
	return bad;
}

static int rank_run(struct round *t, struct rank *me, int fd)
{
	struct kvr_obj o;

	for (unsigned int i = 0; i < SHARED; i++) {
		o = shared_obj(t->nr, i);
		if (put_shared(fd, me, &o, my_rank, i & 1))
			return kvr_say("round %llu: shared part failed", t->nr);
		me->shared = i + 1;
	}
	for (unsigned int i = 0; i < OWN; i++) {
		o = own_obj(t->nr, my_rank, i);
		if (put_own(fd, me, &o))
			return kvr_say("round %llu: own object failed", t->nr);
		me->own = i + 1;
	}
	return 0;
}

static int rank_main(void *arg)
{
	struct round *t = arg;
	struct rank *me = &t->rank[my_rank];
	int fd = kvt_open_ns(t->s->name), bad = 1;

	if (fd >= 0)
		bad = rank_run(t, me, fd);
	if (bad)
		__atomic_store_n(&t->broken, 1, __ATOMIC_SEQ_CST);
	kvr_add(&me->steps, DONE);
	return bad;
}

/* Starts the ranks, kills one at a random step and moment, reaps all. */
static unsigned int run_and_kill(struct __test_metadata *_metadata, struct round *t,
				 __u64 *rnd)
{
	unsigned int victim = kvr_below(rnd, RANKS), killed = 0;
	pid_t pid[RANKS];
	int status;

	memset(t->rank, 0, sizeof(t->rank));
	for (unsigned int i = 0; i < RANKS; i++) {
		my_rank = i;
		pid[i] = kvr_spawn(rank_main, t);
		ASSERT_LT(0, pid[i]);
	}
	kvr_await(&t->rank[victim].steps, kvr_below(rnd, 24), &t->broken);
	for (unsigned int spin = kvr_below(rnd, 20000); spin; spin--)
		__asm__ volatile("" ::: "memory");
	kill(pid[victim], SIGKILL);
	for (unsigned int i = 0; i < RANKS; i++) {
		status = kvt_wait(pid[i]);
		killed += status == -SIGKILL;
		EXPECT_TRUE(status == 0 || (i == victim && status == -SIGKILL)) {
			TH_LOG("round %llu: rank %u: %d", t->nr, i, status);
		}
	}
	return killed ? victim : RANKS;
}

/* A fact about each object, and no part of it in flight. */
static void check_object(struct __test_metadata *_metadata, int fd,
			 const struct kvr_obj *o, unsigned int least)
{
	__u32 want = KVSTASH_R_INCOMPLETE;
	struct kvstash_result r;
	struct kvstash_exists x;

	kvr_exists(fd, o, &x);
	EXPECT_LE(least, x.parts_present);
	if (!x.parts_present)
		want = KVSTASH_R_MISS;
	else if (x.parts_present == o->parts)
		want = KVSTASH_R_OK;
	EXPECT_EQ(want, x.r.reason);
	for (unsigned int i = 0; i < o->parts; i++) {
		r = kvr_put_part(fd, o, i, buf);
		EXPECT_TRUE(!r.res || r.reason == KVSTASH_R_EXISTS) {
			TH_LOG("part %u: %d reason %u", i, r.res, r.reason);
		}
	}
	KVT_OK(kvr_get(fd, o, buf));
	KVT_OK(kvr_remove(fd, o));
}

static void check_round(struct __test_metadata *_metadata, const struct round *t,
			unsigned int victim)
{
	struct kvr_obj o;

	for (unsigned int i = 0; i < SHARED; i++) {
		bool sure = victim == RANKS || t->rank[victim].shared > i;

		o = shared_obj(t->nr, i);
		check_object(_metadata, t->s->fd, &o, sure ? RANKS : RANKS - 1);
	}
	for (unsigned int r = 0; r < RANKS; r++) {
		for (unsigned int i = 0; i < OWN; i++) {
			bool sure = r != victim || t->rank[r].own > i;

			o = own_obj(t->nr, r, i);
			check_object(_metadata, t->s->fd, &o, sure ? OWN_PARTS : 0);
		}
	}
}

TEST_F(store, I5_killed_at_any_moment)
{
	struct kvt_ns_args ns = { .incomplete_ms = 0x7fffffff };
	struct round *t = kvr_shared(sizeof(*t));
	struct kvr_store *s = &self->s;
	__u64 rnd = kvr_run_seed();
	unsigned int victim, killed = 0;
	struct kvt_counts c;

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVR_MB(8), &ns);
	t->s = s;
	for (t->nr = 0; t->nr < ROUNDS; t->nr++) {
		victim = run_and_kill(_metadata, t, &rnd);
		killed += victim < RANKS;
		ASSERT_EQ(0, kvt_counts_of(s->pool, &c));
		ASSERT_TRUE(kvt_i6(&c));
		ASSERT_EQ(0, c.in_flight);
		ASSERT_EQ(0, c.held);
		check_round(_metadata, t, victim);
		ASSERT_EQ(0, kvt_counts_of(s->pool, &c));
		ASSERT_EQ(c.total, c.free);
		ASSERT_EQ(0, _metadata->exit_code) {
			TH_LOG("round %llu", t->nr);
		}
	}
	TH_LOG("%u rounds, in %u the victim was still at work", ROUNDS, killed);
	EXPECT_LT(ROUNDS / 4, killed);
	EXPECT_LT(0, kvr_ns(s, "aborts_by_death"));
	EXPECT_EQ(0, kvr_ns(s, "evictions"));
	EXPECT_EQ(1, kvr_ns(s, "clients"));
}

TEST_HARNESS_MAIN
