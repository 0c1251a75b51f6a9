// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * Processes that race for a member, for being the last, or with the end of a group
 * that has only begun: at a barrier, so that they are at it at the same time.
 */
#include "g_store.h"

#define LEN	3000U

static char buf[8192];
static unsigned int my_rank;	/* set before the fork */

/**
 * struct race - in shared memory
 * @other_key: the second one names another key for the index
 * @rounds:    of which each has a group of its own
 * @got:       what each was told in this round
 * @wins:      of each
 */
struct race {
	struct kvr_store *s;
	struct kvr_barrier b;
	bool other_key;
	unsigned long rounds;
	struct kvstash_result got[2];
	__u32 wins[2];
};

static struct grp race_group(unsigned long round)
{
	return (struct grp){
		.key = { 1, round }, .len = LEN, .members = 2, .flags = KVSTASH_PUT_ATOMIC,
	};
}

/* The key that rank @rank puts as member 1: its own number tells who won. */
static struct kvr_obj race_member(const struct race *t, const struct grp *g, unsigned int rank)
{
	return grp_member(g, t->other_key ? 1 + rank : 1);
}

/* In two phases every second round. */
static struct kvstash_result race_put(const struct race *t, int fd, const struct grp *g)
{
	struct kvr_obj o = race_member(t, g, my_rank);
	struct kvstash_result r;
	struct kvstash_put e;

	kvr_fill(&o, 0, buf);
	grp_prep(&e, g, 1, &o, 0, buf);
	if (g->key.id & 1)
		return kvt_put_one(fd, &e);
	e.buf = 0;
	r = kvt_reserve_one(fd, &e);
	if (r.res)
		return r;
	r = kvt_write1(fd, &e.handle, 0, buf, LEN);
	return r.res ? r : kvt_commit1(fd, &e.handle);
}

static bool loser_says(const struct race *t, struct kvstash_result r)
{
	if (t->other_key)
		return r.res == -EXDEV && r.reason == KVSTASH_R_MISMATCH_INDEX && r.detail == 1;
	return (r.res == -EBUSY && r.reason == KVSTASH_R_IN_FLIGHT) ||
	       (r.res == -EEXIST && r.reason == KVSTASH_R_EXISTS);
}

/* Exactly one won; the other was told why not, and left nothing behind. */
static int race_judge(struct race *t, int fd, const struct grp *g)
{
	unsigned int win = t->got[0].res ? 1 : 0;
	struct kvr_obj won = race_member(t, g, win), lost = race_member(t, g, !win);
	struct kvstash_exists x;

	if (t->got[win].res || !t->got[!win].res || !loser_says(t, t->got[!win]))
		return kvr_say("round %llu: %d reason %u and %d reason %u", g->key.id,
			       t->got[0].res, t->got[0].reason, t->got[1].res,
			       t->got[1].reason);
	if (grp_exists(fd, g, &x).reason != KVSTASH_R_GROUP_INCOMPLETE || x.members_present != 1)
		return kvr_say("round %llu: %u present", g->key.id, x.members_present);
	if (kvr_exists(fd, &won, NULL).reason != KVSTASH_R_GROUP_INCOMPLETE)
		return kvr_say("round %llu: the winner's is not in", g->key.id);
	if (t->other_key && kvr_exists(fd, &lost, NULL).reason != KVSTASH_R_MISS)
		return kvr_say("round %llu: the loser's is there", g->key.id);
	if (grp_put(fd, g, 0, buf).res || kvr_get(fd, &won, buf).res ||
	    grp_get(fd, g, 0, buf).res || grp_remove(fd, g).res)
		return kvr_say("round %llu: not complete", g->key.id);
	t->wins[win]++;
	return 0;
}

static int race_rank(void *arg)
{
	struct race *t = arg;
	int fd = kvt_open_ns(t->s->name);

	kvr_pin(my_rank);
	if (fd < 0)
		return kvr_barrier_break(&t->b);
	for (unsigned long round = 0; round < t->rounds; round++) {
		struct grp g = race_group(round);

		if (kvr_barrier_wait(&t->b))
			return 1;
		t->got[my_rank] = race_put(t, fd, &g);
		if (kvr_barrier_wait(&t->b))
			return 1;
		/* judged by one of them, who changes */
		if (round % 2 == my_rank && race_judge(t, fd, &g))
			return kvr_barrier_break(&t->b);
	}
	return 0;
}

static void race(struct __test_metadata *_metadata, struct kvr_store *s, bool other_key)
{
	struct race *t = kvr_shared(sizeof(*t));
	pid_t pid[2];

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	*t = (struct race){ .s = s, .b.n = 2, .other_key = other_key,
			    .rounds = kvt_rounds(10000) };
	for (my_rank = 0; my_rank < 2; my_rank++)
		pid[my_rank] = kvr_spawn(race_rank, t);
	for (unsigned int i = 0; i < 2; i++)
		EXPECT_EQ(0, kvt_wait(pid[i]));
	EXPECT_EQ(t->rounds, t->wins[0] + t->wins[1]);
	TH_LOG("wins: %u and %u", t->wins[0], t->wins[1]);
	EXPECT_EQ(t->rounds, kvr_ns(s, "groups_published"));
	EXPECT_EQ(t->rounds, kvr_ns(s, "groups_removed"));
	EXPECT_EQ(0, kvr_ns(s, "objects"));
}

TEST_F(store, I4_two_race_for_an_index_with_one_key)
{
	race(_metadata, &self->s, false);
}

TEST_F(store, I4_two_race_for_an_index_with_two_keys)
{
	race(_metadata, &self->s, true);
}

/*
 * Eight ranks, one member each, all at once: whoever is last publishes. A ninth
 * process looks all the while, at all members in one call.
 */
#define RANKS	8

struct last {
	struct kvr_store *s;
	struct kvr_barrier b;
	unsigned long rounds;
	__u32 round;	/* the watcher looks at this one's group */
	__u32 stop;
	__u64 looks;
	__u64 whole;
};

static struct grp last_group(unsigned long round)
{
	return (struct grp){
		.key = { 2, round }, .len = LEN, .members = RANKS, .flags = KVSTASH_PUT_ATOMIC,
	};
}

static int last_rank(void *arg)
{
	struct last *t = arg;
	int fd = kvt_open_ns(t->s->name);

	kvr_pin(my_rank);
	if (fd < 0)
		return kvr_barrier_break(&t->b);
	for (unsigned long round = 0; round < t->rounds; round++) {
		struct grp g = last_group(round);

		if (my_rank == 0)
			__atomic_store_n(&t->round, round, __ATOMIC_SEQ_CST);
		if (kvr_barrier_wait(&t->b))
			return 1;
		if (grp_put(fd, &g, my_rank, buf).res)
			return kvr_barrier_break(&t->b) | kvr_say("not put");
		if (kvr_barrier_wait(&t->b))
			return 1;
		if (grp_visible(fd, &g) != RANKS || grp_get(fd, &g, my_rank, buf).res)
			return kvr_barrier_break(&t->b) | kvr_say("not there");
	}
	return 0;
}

static int last_watch(void *arg)
{
	struct last *t = arg;
	int fd = kvt_open_ns(t->s->name), n;

	while (fd >= 0 && !kvr_load(&t->stop)) {
		struct grp g = last_group(kvr_load(&t->round));

		n = grp_visible(fd, &g);
		if (n && n != RANKS)
			return kvr_say("round %llu: %d of %d", g.key.id, n, RANKS);
		t->looks++;
		t->whole += n == RANKS;
	}
	return fd < 0;
}

TEST_F(store, I4_last_of_eight_publishes)
{
	struct last *t = kvr_shared(sizeof(*t));
	struct kvr_store *s = &self->s;
	pid_t pid[RANKS], watch;

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	*t = (struct last){ .s = s, .b.n = RANKS, .rounds = kvt_rounds(3000) };
	watch = kvr_spawn(last_watch, t);
	for (my_rank = 0; my_rank < RANKS; my_rank++)
		pid[my_rank] = kvr_spawn(last_rank, t);
	for (unsigned int i = 0; i < RANKS; i++)
		EXPECT_EQ(0, kvt_wait(pid[i]));
	kvr_add(&t->stop, 1);
	EXPECT_EQ(0, kvt_wait(watch));
	TH_LOG("%llu looks, %llu saw all", t->looks, t->whole);
	EXPECT_EQ(t->rounds, kvr_ns(s, "groups_published"));
}

/*
 * Two processes take one index by one key, and give it up, again and again: each is
 * told that it has it or that the other is about it, and never that a stranger is.
 */
struct again {
	struct kvr_store *s;
	unsigned long rounds;
	__u32 had[2];
};

static const struct grp again_group = { .key = { 5, 1 }, .len = LEN, .members = 2 };

static int again_rank(void *arg)
{
	struct again *t = arg;
	int fd = kvt_open_ns(t->s->name);
	struct kvstash_handle h;
	struct kvstash_result r;

	kvr_pin(my_rank);
	for (unsigned long round = 0; fd >= 0 && round < t->rounds; round++) {
		r = grp_reserve(fd, &again_group, 0, 0, &h);
		if (r.res == -EBUSY && r.reason == KVSTASH_R_IN_FLIGHT)
			continue;
		if (r.res)
			return kvr_say("round %lu: %d reason %u", round, r.res, r.reason);
		r = kvt_abort1(fd, &h);
		if (r.res)
			return kvr_say("abort %lu: %d reason %u", round, r.res, r.reason);
		t->had[my_rank]++;
	}
	return fd < 0;
}

TEST_F_TIMEOUT(store, index_that_is_given_up_is_nobodys, 300)
{
	struct again *t = kvr_shared(sizeof(*t));
	struct kvr_store *s = &self->s;
	struct kvstash_handle keeper;
	pid_t pid[2];

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	*t = (struct again){ .s = s, .rounds = kvt_rounds(200000) };
	/* so that the group stays */
	KVT_OK(grp_reserve(s->fd, &again_group, 1, 0, &keeper));
	for (my_rank = 0; my_rank < 2; my_rank++)
		pid[my_rank] = kvr_spawn(again_rank, t);
	for (unsigned int i = 0; i < 2; i++)
		EXPECT_EQ(0, kvt_wait(pid[i]));
	TH_LOG("had by %u and %u", t->had[0], t->had[1]);
	EXPECT_LT(0, t->had[0] + t->had[1]);
	KVT_OK(kvt_abort1(s->fd, &keeper));
	EXPECT_EQ(0, kvr_ns(s, "objects"));
}

/*
 * A group is in the index before it has its place below its parent, and as long as
 * it has no member anyone can remove it. One process puts groups below a page, in one
 * call; the other removes those groups all the while. Each put makes its group anew
 * if need be. Then the page goes, with what there is below it.
 */
#define NESTS	64U	/* groups of a round */

struct nest {
	struct kvr_store *s;
	struct kvr_barrier b;
	unsigned long rounds;
	__u32 done;	/* rounds of which all is put */
};

static const struct kvr_obj nest_page = { .key = { 3, 1 << 16 }, .len = 100, .parts = 1 };

static struct grp nest_group(unsigned int i)
{
	return (struct grp){
		.key = { 4, i }, .len = 100, .members = 2, .flags = KVSTASH_PUT_ATOMIC,
		.parent = &nest_page.key,
	};
}

static int nest_put(int fd)
{
	struct kvstash_put e[2 * NESTS];
	struct kvr_obj o[2 * NESTS];
	struct grp g[NESTS];

	memset(buf, 7, 100);
	for (unsigned int i = 0; i < 2 * NESTS; i++) {
		g[i / 2] = nest_group(i / 2);
		o[i] = grp_member(&g[i / 2], i % 2);
		grp_prep(&e[i], &g[i / 2], i % 2, &o[i], 0, buf);
	}
	if (kvt_put(fd, e, 2 * NESTS) != 2 * NESTS)
		return kvr_say("PUT as a whole failed");
	for (unsigned int i = 0; i < 2 * NESTS; i++)
		if (e[i].r.res)
			return kvr_say("group %u: %d reason %u", i / 2, e[i].r.res, e[i].r.reason);
	return 0;
}

static int nest_remove(int fd)
{
	struct kvstash_exists x[NESTS];
	struct kvr_key keys[NESTS];
	struct kvstash_keys k;

	for (unsigned int i = 0; i < NESTS; i++)
		keys[i] = nest_group(i).key;
	grp_prep_keys(&k, keys, NESTS);
	if (kvt_remove(fd, &k, x) != (int)NESTS)
		return kvr_say("REMOVE as a whole failed");
	for (unsigned int i = 0; i < NESTS; i++)
		if (x[i].r.res && x[i].r.reason != KVSTASH_R_MISS &&
		    x[i].r.reason != KVSTASH_R_IN_FLIGHT)
			return kvr_say("remove %u: %d reason %u", i, x[i].r.res, x[i].r.reason);
	return 0;
}

/* Nothing is left of a round when the page has gone. */
static int nest_end(const struct nest *t, int fd)
{
	struct kvstash_result r = kvr_remove(fd, &nest_page);

	if (r.res)
		return kvr_say("page: %d reason %u", r.res, r.reason);
	return kvr_ns(t->s, "objects") ? kvr_say("objects are left") : 0;
}

static int nest_putter(void *arg)
{
	struct nest *t = arg;
	int fd = kvt_open_ns(t->s->name), bad = fd < 0;
	struct kvr_obj page = nest_page;

	kvr_pin(0);
	for (unsigned long round = 0; !bad && round < t->rounds; round++) {
		bad = kvr_put(fd, &page, buf).res || kvr_barrier_wait(&t->b) || nest_put(fd);
		kvr_add(&t->done, 1);
		bad = bad || kvr_barrier_wait(&t->b) || nest_end(t, fd);
	}
	return bad ? kvr_barrier_break(&t->b) : 0;
}

static int nest_remover(void *arg)
{
	struct nest *t = arg;
	int fd = kvt_open_ns(t->s->name), bad = fd < 0;

	kvr_pin(1);
	for (unsigned long round = 0; !bad && round < t->rounds; round++) {
		bad = !!kvr_barrier_wait(&t->b);
		while (!bad && kvr_load(&t->done) == round) {
			bad = nest_remove(fd);
			sched_yield();
		}
		bad = bad || kvr_barrier_wait(&t->b);
	}
	return bad ? kvr_barrier_break(&t->b) : 0;
}

TEST_F_TIMEOUT(store, I9_groups_are_removed_before_they_have_their_place, 300)
{
	struct nest *t = kvr_shared(sizeof(*t));
	struct kvr_store *s = &self->s;
	__u64 published, empty;
	pid_t pid[2];

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	*t = (struct nest){ .s = s, .b.n = 2, .rounds = 400 };
	pid[0] = kvr_spawn(nest_putter, t);
	pid[1] = kvr_spawn(nest_remover, t);
	for (unsigned int i = 0; i < 2; i++)
		EXPECT_EQ(0, kvt_wait(pid[i]));
	published = kvr_ns(s, "groups_published");
	EXPECT_EQ(NESTS * t->rounds, published);
	/* with a whole group two members were removed, and in each round the page */
	empty = kvr_ns(s, "groups_removed") - (kvr_ns(s, "removed") - t->rounds) / 2;
	TH_LOG("%llu groups; %llu removed before they had a member", published, empty);
	EXPECT_EQ(0, kvr_ns(s, "objects"));
}

TEST_HARNESS_MAIN
