// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/* kvstash-timeout: 600 */
/*
 * What went wrong elsewhere with objects that belong together: R27 R28 R32 R35 R37.
 */
#include "g_store.h"

static char buf[65536];
static unsigned int my_rank;	/* set before the fork */

/*
 * R27: K, V and pipeline shards of one token. Eight writers, an atomic group of
 * eight, in random order; one is killed before its commit.
 */
#define R27_RANKS	8
#define R27_LEN		14336U

struct r27 {
	struct kvr_store *s;
	struct kvr_barrier b;
	struct grp g;
	__u64 seed;
	unsigned int victim;
	struct kvt_gate stuck;	/* opened by the victim when it is before its commit */
	__u32 in;		/* members that were put */
};

static int r27_writer(void *arg)
{
	struct r27 *t = arg;
	int fd = kvt_open_ns(t->s->name);
	__u64 rnd = t->seed + my_rank;
	struct kvstash_handle h;

	if (fd < 0 || kvr_barrier_wait(&t->b))
		return kvr_barrier_break(&t->b);
	for (unsigned int n = kvr_below(&rnd, 5); n--;)
		sched_yield();
	if (my_rank != t->victim) {
		if (grp_put(fd, &t->g, my_rank, buf).res)
			return kvr_say("rank %u: not put", my_rank);
		kvr_add(&t->in, 1);
		return 0;
	}
	if (grp_reserve(fd, &t->g, my_rank, 0, &h).res ||
	    grp_write(fd, &t->g, my_rank, 0, &h, buf).res)
		return kvr_say("rank %u: not written", my_rank);
	kvt_gate_open(&t->stuck, 1);
	for (;;)
		pause();
}

/* No member is visible to anyone, in any way of asking. */
static void r27_expect_none(struct __test_metadata *_metadata, const struct r27 *t,
			    const int *fd)
{
	__u32 reason;

	for (unsigned int i = 0; i < 2; i++) {
		EXPECT_EQ(0, grp_visible(fd[i], &t->g));
		EXPECT_EQ(0, grp_lookup(fd[i], &t->g, &reason));
		for (unsigned int m = 0; m < R27_RANKS; m++)
			EXPECT_EQ(-ENOENT, grp_get(fd[i], &t->g, m, buf).res);
	}
}

static void r27_round(struct __test_metadata *_metadata, struct r27 *t)
{
	int fd[2] = { t->s->fd, kvt_open_ns(t->s->name) };
	pid_t pid[R27_RANKS];

	ASSERT_LE(0, fd[1]);
	ASSERT_EQ(0, kvt_gate_init(&t->stuck));
	t->b = (struct kvr_barrier){ .n = R27_RANKS };
	t->in = 0;
	for (my_rank = 0; my_rank < R27_RANKS; my_rank++)
		pid[my_rank] = kvr_spawn(r27_writer, t);
	EXPECT_EQ(0, kvr_ready(&t->stuck, pid[t->victim]));
	r27_expect_none(_metadata, t, fd);
	for (unsigned int i = 0; i < R27_RANKS; i++)
		if (i != t->victim)
			EXPECT_EQ(0, kvt_wait(pid[i]));
	EXPECT_EQ(R27_RANKS - 1, t->in);
	r27_expect_none(_metadata, t, fd);
	EXPECT_EQ(-SIGKILL, kvr_kill(pid[t->victim]));
	EXPECT_EQ(0, kvr_pool(t->s, "in_flight_bytes"));
	grp_expect_hidden(_metadata, fd[1], &t->g, 255 & ~(1U << t->victim), buf);
	KVT_OK(grp_put(fd[1], &t->g, t->victim, buf));
	grp_expect_visible(_metadata, fd[0], &t->g, buf);
	KVT_OK(grp_remove(fd[0], &t->g));
	close(fd[1]);
	kvt_gate_end(&t->stuck);
}

TEST_F(store, R27_I4_killed_shard_hides_all_until_it_is_put_again)
{
	struct kvt_ns_args ns = { .incomplete_ms = 0x7fffffff };
	struct r27 *t = kvr_shared(sizeof(*t));
	unsigned long rounds = kvt_rounds(200);
	struct kvr_store *s = &self->s;
	__u64 rnd = kvr_run_seed();

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVR_MB(2), &ns);
	t->s = s;
	for (unsigned long round = 0; round < rounds; round++) {
		t->seed = kvr_rnd(&rnd);
		t->victim = kvr_below(&rnd, R27_RANKS);
		t->g = (struct grp){
			.key = { 27, round }, .len = R27_LEN, .members = R27_RANKS,
			.flags = KVSTASH_PUT_ATOMIC,
		};
		r27_round(_metadata, t);
		if (_metadata->exit_code)
			break;
	}
}

/*
 * R28: pipeline ranks see different hit lengths. 64 pages as groups of four, one
 * member a rank; one LOOKUP with leases, then each rank gets its member of each
 * page that was reported, while others put ten times the pool.
 */
#define R28_PAGES	64
#define R28_RANKS	4
#define R28_LEN		12288U
#define R28_POOL	(2ULL * R28_PAGES * R28_RANKS * R28_LEN)

struct r28 {
	struct kvr_store *s;
	struct grp g[R28_PAGES];
	unsigned int run;
	__u32 stop;
	__u32 pressed;		/* puts of the one who presses */
	__u32 hits;
};

static int r28_press(void *arg)
{
	struct kvr_obj o = { .key = { 29, 0 }, .len = 65536, .parts = 1 };
	struct r28 *t = arg;
	int fd = kvt_open_ns(t->s->name);

	for (; fd >= 0 && !kvr_load(&t->stop); o.key.id++) {
		if (kvr_put(fd, &o, buf).res)
			return kvr_say("put %llu failed", o.key.id);
		kvr_add(&t->pressed, 1);
	}
	return fd < 0;
}

/* Ten pools have gone by before the first get, and more do meanwhile. */
static int r28_rank(void *arg)
{
	struct r28 *t = arg;
	int fd = kvt_open_ns(t->s->name);
	struct kvstash_result r;

	if (fd < 0 || kvr_await(&t->pressed, 10 * R28_POOL / 65536, &t->stop))
		return kvr_say("no pressure");
	for (unsigned int page = 0; page < t->run; page++) {
		r = grp_get(fd, &t->g[page], my_rank, buf);
		if (r.res)
			return kvr_say("rank %u page %u: %d reason %u", my_rank, page,
				       r.res, r.reason);
		kvr_add(&t->hits, 1);
	}
	return 0;
}

static void r28_put(struct __test_metadata *_metadata, struct r28 *t)
{
	for (unsigned int i = 0; i < R28_PAGES; i++) {
		t->g[i] = (struct grp){
			.key = { 28, i }, .len = R28_LEN, .members = R28_RANKS,
			.flags = KVSTASH_PUT_ATOMIC, .parent = i ? &t->g[i - 1].key : NULL,
			.parent_kind = KVSTASH_KIND_GROUP,
		};
		KVT_OK(grp_put_all(t->s->fd, &t->g[i], buf));
	}
}

TEST_F(store, R28_I4_all_ranks_get_what_one_lookup_reported)
{
	struct kvt_ns_args ns = { .lease_bytes = R28_POOL / 2 };
	struct r28 *t = kvr_shared(sizeof(*t));
	struct kvstash_handle h[R28_PAGES];
	struct kvr_store *s = &self->s;
	struct kvr_key keys[R28_PAGES];
	pid_t pid[R28_RANKS], press;
	struct kvstash_keys k;

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, R28_POOL, &ns);
	t->s = s;
	r28_put(_metadata, t);
	for (unsigned int i = 0; i < R28_PAGES; i++)
		keys[i] = t->g[i].key;
	grp_prep_keys(&k, keys, R28_PAGES);
	t->run = kvt_lookup_lease(s->fd, &k, h);
	ASSERT_EQ(R28_PAGES, t->run);
	EXPECT_EQ(R28_POOL / 2, kvr_ns(s, "leased_bytes"));
	press = kvr_spawn(r28_press, t);
	for (my_rank = 0; my_rank < R28_RANKS; my_rank++)
		pid[my_rank] = kvr_spawn(r28_rank, t);
	for (unsigned int i = 0; i < R28_RANKS; i++)
		EXPECT_EQ(0, kvt_wait(pid[i]));
	kvr_add(&t->stop, 1);
	EXPECT_EQ(0, kvt_wait(press));
	EXPECT_EQ(R28_PAGES * R28_RANKS, t->hits);
	EXPECT_EQ(0, kvr_ns(s, "groups_evicted"));
	EXPECT_LT(0, kvr_ns(s, "evictions"));
	for (unsigned int i = 0; i < R28_PAGES; i++)
		KVT_OK(kvt_release1(s->fd, &h[i]));
	EXPECT_EQ(0, kvr_ns(s, "leased_bytes"));
}

/*
 * R32: the index sidecar of sparse attention. Atomic groups {kv, index}: never one
 * without the other.
 */
#define R32_EVICTIONS	10000
#define R32_POOL	KVR_MB(1)
#define R32_WINDOW	64U	/* of the youngest, who are looked at */

static struct grp r32_group(__u64 id)
{
	return (struct grp){
		.key = { 32, id }, .len = 8192, .members = 2, .flags = KVSTASH_PUT_ATOMIC,
	};
}

struct r32 {
	struct kvr_store *s;
	__u32 next;
	__u32 stop;
	__u64 looks;
	__u64 whole;
	__u64 none;
};

static int r32_look(void *arg)
{
	struct kvr_key keys[2 * R32_WINDOW];
	struct kvstash_exists x[2 * R32_WINDOW];
	struct r32 *t = arg;
	int fd = kvt_open_ns(t->s->name);

	while (fd >= 0 && !kvr_load(&t->stop)) {
		__u64 last = kvr_load(&t->next), first = last > 96 ? last - 96 : 0;

		for (unsigned int i = 0; i < 2 * R32_WINDOW; i++) {
			struct grp g = r32_group(first + i % R32_WINDOW);

			keys[i] = grp_member(&g, i / R32_WINDOW).key;
		}
		if (kvr_exists_many(fd, keys, 2 * R32_WINDOW, x) != 2 * R32_WINDOW)
			return kvr_say("EXISTS failed");
		for (unsigned int i = 0; i < R32_WINDOW; i++) {
			if (!x[i].r.res != !x[i + R32_WINDOW].r.res)
				return kvr_say("group %llu: kv %u, index %u", first + i,
					       x[i].r.reason, x[i + R32_WINDOW].r.reason);
			t->looks++;
			t->whole += !x[i].r.res;
			t->none += !!x[i].r.res;
		}
	}
	return fd < 0;
}

TEST_F(store, R32_I4_kv_and_index_are_evicted_together)
{
	struct r32 *t = kvr_shared(sizeof(*t));
	struct kvr_store *s = &self->s;
	unsigned int split = 0;
	pid_t pid;

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, R32_POOL, NULL);
	t->s = s;
	pid = kvr_spawn(r32_look, t);
	while (kvr_ns(s, "groups_evicted") < R32_EVICTIONS) {
		for (unsigned int i = 0; i < 16; i++) {
			struct grp g = r32_group(t->next), old = r32_group(t->next - 60);
			struct kvstash_result r[2];

			KVT_OK(grp_put(s->fd, &g, t->next & 1, buf));
			EXPECT_EQ(0, grp_visible(s->fd, &g));
			KVT_OK(grp_put(s->fd, &g, ~t->next & 1, buf));
			EXPECT_EQ(2, grp_visible(s->fd, &g));
			kvr_add(&t->next, 1);
			if (t->next <= 60)
				continue;
			r[0] = grp_get(s->fd, &old, 0, buf);
			r[1] = grp_get(s->fd, &old, 1, buf);
			split += !r[0].res != !r[1].res;
		}
		if (_metadata->exit_code)
			break;
	}
	kvr_add(&t->stop, 1);
	EXPECT_EQ(0, kvt_wait(pid));
	EXPECT_EQ(0, split);
	TH_LOG("%u groups; %llu looks: %llu whole, %llu gone", t->next, t->looks, t->whole,
	       t->none);
	EXPECT_LT(0, t->whole);
	EXPECT_LT(0, t->none);
}

/* kv is there, its index is not: the run ends before it. */
TEST_F(store, R32_I4_lookup_ends_where_the_index_is_missing)
{
	struct kvr_store *s = &self->s;
	struct kvr_key kv[8], keys[8];
	struct kvstash_keys k;
	struct grp g[8];

	kvr_store_make(_metadata, s, R32_POOL, NULL);
	for (unsigned int i = 0; i < 8; i++) {
		g[i] = r32_group(i);
		g[i].parent = i ? &g[i - 1].key : NULL;
		g[i].parent_kind = KVSTASH_KIND_GROUP;
		keys[i] = g[i].key;
		kv[i] = grp_member(&g[i], 0).key;
		KVT_OK(grp_put_some(s->fd, &g[i], 0, i == 4 ? 1 : 2, buf));
	}
	KVT_EXPECT(ENOENT, KVSTASH_R_GROUP_INCOMPLETE, grp_get(s->fd, &g[4], 0, buf));
	for (unsigned int i = 0; i < 2; i++) {
		grp_prep_keys(&k, keys, 8);
		EXPECT_EQ(i ? 8 : 4, kvt_lookup(s->fd, &k));
		EXPECT_EQ(i ? KVSTASH_R_OK : KVSTASH_R_GROUP_INCOMPLETE, k.reason);
		kvstash_prep_keys(&k, kv, sizeof(kv[0]), 8);
		EXPECT_EQ(i ? 8 : 4, kvt_lookup(s->fd, &k));
		EXPECT_EQ(i ? KVSTASH_R_OK : KVSTASH_R_GROUP_INCOMPLETE, k.reason);
		if (!i)
			KVT_OK(grp_put(s->fd, &g[4], 1, buf));
	}
}

/*
 * R35: groups of best effort know no expected count, show what is there, and are
 * split by eviction. A thousand groups of eight under pressure, all looked at after
 * each step: none is partial.
 */
#define R35_GROUPS	1000
#define R35_MEMBERS	8

static struct grp r35_group(__u64 id)
{
	return (struct grp){
		.key = { 35, id }, .len = 4000, .members = R35_MEMBERS,
		.flags = KVSTASH_PUT_ATOMIC,
	};
}

struct r35 {
	unsigned int whole;
	unsigned int none;
	unsigned int partial;
};

/* All groups in one call. */
static void r35_count(struct __test_metadata *_metadata, int fd, struct r35 *c)
{
	static struct kvstash_exists x[R35_GROUPS * R35_MEMBERS];
	static struct kvr_key keys[R35_GROUPS * R35_MEMBERS];

	*c = (struct r35){ 0 };
	for (unsigned int i = 0; i < KVT_LEN(keys); i++) {
		struct grp g = r35_group(i % R35_GROUPS);

		keys[i] = grp_member(&g, i / R35_GROUPS).key;
	}
	ASSERT_EQ(KVT_LEN(keys), kvr_exists_many(fd, keys, KVT_LEN(keys), x));
	for (unsigned int i = 0; i < R35_GROUPS; i++) {
		unsigned int n = 0;

		for (unsigned int m = 0; m < R35_MEMBERS; m++)
			n += !x[m * R35_GROUPS + i].r.res;
		c->whole += n == R35_MEMBERS;
		c->none += !n;
		c->partial += n && n != R35_MEMBERS;
	}
}

TEST_F(store, R35_I4_no_group_is_ever_partial)
{
	const unsigned int step = 10;
	unsigned int partial = 0;
	struct kvr_store *s = &self->s;
	struct r35 c;

	kvr_store_make(_metadata, s, 200 * R35_MEMBERS * KVT_PAGE, NULL);
	for (unsigned int i = 0; i < R35_GROUPS; i++) {
		struct grp g = r35_group(i);

		/* the last is put when the next ones have begun */
		KVT_OK(grp_put_some(s->fd, &g, 0, R35_MEMBERS - 1, buf));
		if (i >= 4) {
			g = r35_group(i - 4);
			KVT_OK(grp_put(s->fd, &g, R35_MEMBERS - 1, buf));
		}
		if (i % step && i < R35_GROUPS - 1)
			continue;
		r35_count(_metadata, s->fd, &c);
		partial += c.partial;
	}
	EXPECT_EQ(0, partial);
	EXPECT_LT(100, c.whole);
	EXPECT_EQ(R35_GROUPS, c.whole + c.none);
	EXPECT_EQ(R35_GROUPS - 4 - c.whole, kvr_ns(s, "groups_evicted"));
	for (unsigned int i = 0; i < 100; i++) {
		grp_pressure(_metadata, s->fd, i, 65536, buf);
		r35_count(_metadata, s->fd, &c);
		partial += c.partial;
	}
	EXPECT_EQ(0, partial);
}

/* The difference: without the flag what is there is shown, and the count told. */
TEST_F(store, R35_I11_plain_group_tells_what_is_missing)
{
	struct kvr_store *s = &self->s;
	struct kvstash_exists x;
	struct grp g = r35_group(1);

	kvr_store_make(_metadata, s, KVR_MB(1), NULL);
	g.flags = 0;
	for (unsigned int i = 0; i < R35_MEMBERS; i++) {
		KVT_OK(grp_put(s->fd, &g, i, buf));
		EXPECT_EQ(i + 1, grp_visible(s->fd, &g));
		KVT_OK(grp_member_exists(s->fd, &g, i, &x));
		grp_expect_facts(_metadata, &g, &x, i + 1, i == R35_MEMBERS - 1 ?
				 KVSTASH_STATE_VISIBLE : KVSTASH_STATE_FILLING);
	}
}

/*
 * R37: completion notices of one rank taken for another's. A group is complete when
 * as many *different* members are in, however often each is put. (A client that
 * waits for it is of a later topic.)
 */
TEST_F(store, R37_I4_completion_counts_different_members)
{
	struct grp g = {
		.key = { 37, 1 }, .len = 4096, .members = 3, .flags = KVSTASH_PUT_ATOMIC,
	};
	struct kvr_obj other = grp_member(&g, 7);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	struct kvstash_put e;
	int fd2;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	fd2 = kvt_open_ns(s->name);
	ASSERT_LE(0, fd2);
	KVT_OK(grp_reserve(s->fd, &g, 1, 0, &h));
	KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, grp_put(fd2, &g, 1, buf));
	kvr_fill(&other, 0, buf);
	grp_prep(&e, &g, 1, &other, 0, buf);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_INDEX, kvt_put_one(fd2, &e));
	KVT_OK(grp_write(s->fd, &g, 1, 0, &h, buf));
	KVT_OK(kvt_commit1(s->fd, &h));
	for (unsigned int i = 0; i < 5; i++) {
		KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, grp_put(i & 1 ? fd2 : s->fd, &g, 1, buf));
		KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_INDEX, kvt_put_one(fd2, &e));
		grp_expect_hidden(_metadata, fd2, &g, 2, buf);
	}
	KVT_OK(grp_put(fd2, &g, 0, buf));
	grp_expect_hidden(_metadata, fd2, &g, 3, buf);
	KVT_OK(grp_put(s->fd, &g, 2, buf));
	grp_expect_visible(_metadata, fd2, &g, buf);
	close(fd2);
}

#define R37_RANKS	6
#define R37_MEMBERS	24

struct r37 {
	struct kvr_store *s;
	struct kvr_barrier b;
	__u32 wins[R37_MEMBERS];
};

static const struct grp r37_group = {
	.key = { 37, 2 }, .len = 4000, .members = R37_MEMBERS, .flags = KVSTASH_PUT_ATOMIC,
};

/* Each rank puts each member, in an order of its own. */
static int r37_rank(void *arg)
{
	struct r37 *t = arg;
	int fd = kvt_open_ns(t->s->name), n;
	struct kvstash_result r;

	if (fd < 0 || kvr_barrier_wait(&t->b))
		return kvr_barrier_break(&t->b);
	for (unsigned int i = 0; i < R37_MEMBERS; i++) {
		unsigned int m = (i * 5 + my_rank * 7) % R37_MEMBERS;

		r = grp_put(fd, &r37_group, m, buf);
		if (!r.res)
			__atomic_add_fetch(&t->wins[m], 1, __ATOMIC_SEQ_CST);
		else if (r.reason != KVSTASH_R_IN_FLIGHT && r.reason != KVSTASH_R_EXISTS)
			return kvr_say("member %u: %d reason %u", m, r.res, r.reason);
		n = grp_visible(fd, &r37_group);
		if (n && n != R37_MEMBERS)
			return kvr_say("%d members visible", n);
	}
	return kvr_barrier_wait(&t->b) || grp_visible(fd, &r37_group) != R37_MEMBERS;
}

TEST_F(store, R37_I4_ranks_race_for_the_members)
{
	struct r37 *t = kvr_shared(sizeof(*t));
	struct kvr_store *s = &self->s;
	pid_t pid[R37_RANKS];

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int round = 0; round < 20; round++) {
		*t = (struct r37){ .s = s, .b.n = R37_RANKS };
		for (my_rank = 0; my_rank < R37_RANKS; my_rank++)
			pid[my_rank] = kvr_spawn(r37_rank, t);
		for (unsigned int i = 0; i < R37_RANKS; i++)
			EXPECT_EQ(0, kvt_wait(pid[i]));
		for (unsigned int i = 0; i < R37_MEMBERS; i++)
			EXPECT_EQ(1, t->wins[i]);
		EXPECT_EQ(round + 1, kvr_ns(s, "groups_published"));
		grp_expect_visible(_metadata, s->fd, &r37_group, buf);
		KVT_OK(grp_remove(s->fd, &r37_group));
	}
}

TEST_HARNESS_MAIN
