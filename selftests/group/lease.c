// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/*
 * Leases: what they keep, what they count for, and how they end. Without
 * watermarks only a put that needs room evicts, so each eviction can be foretold.
 */
#include "lease.h"

static char buf[KVL_POOL + KVT_PAGE];

/* I3: leased, it is there however many puts come between; else it may not be. */
TEST_F(store, I3_exists_with_a_lease_then_get_always_hits)
{
	struct kvr_obj leased = kvl_piece(1, 0), bare = kvl_piece(1, 1);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(kvr_put(s->fd, &leased, buf));
	KVT_OK(kvr_put(s->fd, &bare, buf));
	KVT_OK(kvl_lease(s->fd, &leased, &h));
	KVT_OK(kvr_exists(s->fd, &bare, NULL));
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(kvr_get(s->fd, &leased, buf));
	KVT_OK(kvl_get(s->fd, &h, &leased, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_get(s->fd, &bare, buf));
	KVT_OK(kvt_release1(s->fd, &h));
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_get(s->fd, &leased, buf));
}

/* The same while others put as fast as they can. */
struct race {
	struct kvr_store *s;
	__u32 stop;
	__u32 rounds;
};

static int putter(void *arg)
{
	struct race *t = arg;
	int fd = kvt_open_ns(t->s->name);

	if (fd < 0)
		return kvr_say("open: %d", fd);
	while (!kvr_load(&t->stop)) {
		struct kvstash_result r = kvl_flood(t->s, fd, buf);

		if (r.res)
			return kvr_say("put: %d reason %u", r.res, r.reason);
		kvr_add(&t->rounds, 1);
	}
	return 0;
}

/* With a lease or without: 1 if it was there and was got, 0 if not, else -1. */
static int probe_and_get(const struct kvr_store *s, const struct kvr_obj *o,
			 bool lease)
{
	struct kvstash_handle h = { 0 };
	struct kvstash_result r;

	r = lease ? kvl_lease(s->fd, o, &h) : kvr_exists(s->fd, o, NULL);
	if (r.reason == KVSTASH_R_MISS && kvl_no_handle(&h))
		return 0;
	if (r.res)
		return -kvr_say("exists: %d reason %u", r.res, r.reason);
	sched_yield();
	r = kvr_get(s->fd, o, buf);
	if (lease && !r.res)
		r = kvl_get(s->fd, &h, o, buf);
	if (lease && kvt_release1(s->fd, &h).res)
		return -kvr_say("not released");
	if (!lease && r.reason == KVSTASH_R_MISS)
		return 0;
	return r.res ? -kvr_say("get: %d reason %u", r.res, r.reason) : 1;
}

TEST_F(store, I3_leases_race_with_eviction)
{
	struct race *t = kvr_shared(sizeof(*t));
	unsigned int rounds = 200 + kvt_rounds(20000), got[2] = { 0 };
	struct kvr_store *s = &self->s;
	pid_t pid[2];

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	t->s = s;
	for (int i = 0; i < 2; i++)
		pid[i] = kvr_spawn(putter, t);
	for (unsigned int i = 0; i < rounds; i++) {
		struct kvr_obj o = { .key = { 2, i }, .len = 20000, .parts = 1 };
		int r;

		KVT_OK(kvr_put(s->fd, &o, buf));
		r = probe_and_get(s, &o, i & 1);
		ASSERT_LE(0, r);
		got[i & 1] += r;
	}
	kvr_add(&t->stop, 1);
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(0, kvt_wait(pid[i]));
	TH_LOG("%u rounds, hits with a lease %u, without %u, %u floods", rounds, got[1],
	       got[0], t->rounds);
	EXPECT_LT(0, got[1]);
	KVL_LEASED(0, 0, s);
	EXPECT_EQ(kvr_ns(s, "leases_taken"), kvr_ns(s, "leases_released"));
}

/* Each way of taking one: EXISTS, LOOKUP, GET with bytes and without. */
TEST_F(store, each_way_to_take_a_lease)
{
	struct kvr_key keys[4] = { { 3, 0 }, { 3, 1 }, { 3, 2 }, { 3, 3 } };
	struct kvr_obj o = kvl_piece(3, 0);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[4];
	__u64 bytes = 1;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(kvl_put_pieces(s->fd, 3, 0, 4, buf));
	KVT_OK(kvl_lease(s->fd, &o, &h[0]));
	ASSERT_EQ(1, kvl_lookup(s->fd, &keys[1], 1, &h[1], NULL));
	o = kvl_piece(3, 2);
	memset(buf, KVT_CANARY_BYTE, o.len);
	KVT_OK(kvt_get_lease1(s->fd, &keys[2], sizeof(*keys), buf, o.len, &bytes, &h[2]));
	EXPECT_EQ(o.len, bytes);
	KVT_OK(kvr_verify(&o, buf));
	KVT_OK(kvt_get_lease1(s->fd, &keys[3], sizeof(*keys), NULL, 0, &bytes, &h[3]));
	EXPECT_EQ(0, bytes);
	KVL_LEASED(4, 4 * KVL_PIECE, s);
	EXPECT_EQ(4, kvr_ns(s, "leases_taken"));
	KVT_OK(kvl_flood(s, s->fd, buf));
	for (int i = 0; i < 4; i++) {
		o.key = keys[i];
		EXPECT_FALSE(kvl_no_handle(&h[i]));
		KVT_OK(kvr_get(s->fd, &o, buf));
		KVT_OK(kvl_get(s->fd, &h[i], &o, buf));
	}
	EXPECT_TRUE(kvl_release_all(s->fd, h, 4));
	KVL_LEASED(0, 0, s);
}

/* No lease comes of what is not there, or of a GET that failed. */
TEST_F(store, no_lease_of_what_is_not_got)
{
	struct kvr_obj o = kvl_piece(4, 0), half = { { 4, 1 }, NULL, 100, 2 };
	struct kvstash_handle none = { 0 }, h;
	struct kvr_store *s = &self->s;
	struct kvr_key keys[3] = { { 4, 0 }, { 4, 1 }, { 4, 2 } };
	struct kvstash_handle hs[3];
	struct kvstash_exists x[3];
	struct kvstash_keys k;
	struct kvstash_get e;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(kvr_put(s->fd, &o, buf));
	KVT_OK(kvr_put_part(s->fd, &half, 0, buf));
	memset(hs, 0xff, sizeof(hs));
	kvstash_prep_keys(&k, keys, sizeof(*keys), 3);
	ASSERT_EQ(3, kvt_exists_lease(s->fd, &k, x, hs));
	EXPECT_FALSE(kvl_no_handle(&hs[0]));
	for (int i = 1; i < 3; i++) {
		KVT_EXPECT(ENOENT, i == 1 ? KVSTASH_R_INCOMPLETE : KVSTASH_R_MISS, x[i].r);
		EXPECT_TRUE(kvl_no_handle(&hs[i]));
	}
	KVT_OK(kvt_release1(s->fd, &hs[0]));

	kvstash_prep_get(&e, &o.key, sizeof(o.key), buf, o.len - 1);
	e.flags = KVSTASH_GET_LEASE;
	KVT_EXPECT(ENOSPC, KVSTASH_R_BUFFER_SMALL, kvt_get_one(s->fd, &e));
	kvstash_prep_get(&e, &o.key, sizeof(o.key), (void *)KVT_PAGE, o.len);
	e.flags = KVSTASH_GET_LEASE;
	KVT_EXPECT(EFAULT, KVSTASH_R_DATA_FAULT, kvt_get_one(s->fd, &e));
	KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE,
		   kvt_get_lease1(s->fd, &half.key, sizeof(half.key), NULL, 0, NULL, &h));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS,
		   kvt_get_lease1(s->fd, &keys[2], sizeof(*keys), NULL, 0, NULL, &h));
	KVL_LEASED(0, 0, s);
	/* without the flag an empty buffer is refused, and @lease not looked at */
	kvstash_prep_get(&e, &o.key, sizeof(o.key), NULL, 0);
	EXPECT_NE(0, kvt_get_one(s->fd, &e).res);
	kvstash_prep_get(&e, &o.key, sizeof(o.key), buf, o.len);
	e.lease = (struct kvstash_handle){ 7, 7 };
	KVT_OK(kvt_get_one(s->fd, &e));
	KVT_EXPECT(ESTALE, KVSTASH_R_HANDLE_STALE, kvl_get(s->fd, &none, &o, buf));
	KVL_LEASED(0, 0, s);
}

#define MANY	16

static struct kvr_obj small(__u64 id)
{
	return (struct kvr_obj){ .key = { 5, id }, .len = 60000 - id, .parts = 1 };
}

static void lease_many(struct __test_metadata *_metadata, const struct kvr_store *s,
		       int fd, struct kvstash_handle *h)
{
	for (unsigned int i = 0; i < MANY; i++) {
		struct kvr_obj o = small(i);

		if (kvr_state(fd, &o) != KVSTASH_STATE_VISIBLE)
			KVT_OK(kvr_put(fd, &o, buf));
		KVT_OK(kvl_lease(fd, &o, &h[i]));
	}
	KVT_OK(kvl_flood(s, fd, buf));
	EXPECT_EQ(MANY, kvr_count_visible(fd, 5, 0, MANY));
	KVL_LEASED(MANY, MANY * kvt_pages(60000), s);
}

/* Then all can be evicted. */
static void expect_free(struct __test_metadata *_metadata, const struct kvr_store *s)
{
	KVL_LEASED(0, 0, s);
	KVT_OK(kvl_flood(s, s->fd, buf));
	EXPECT_EQ(0, kvr_count_visible(s->fd, 5, 0, MANY));
}

TEST_F(store, released_one_by_one_and_in_a_batch)
{
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[MANY];

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	lease_many(_metadata, s, s->fd, h);
	for (unsigned int i = 0; i < MANY; i++) {
		struct kvr_obj o = small(i);

		KVT_OK(kvt_release1(s->fd, &h[i]));
		KVL_LEASED(MANY - 1 - i, (MANY - 1 - i) * kvt_pages(60000), s);
		KVT_EXPECT(EALREADY, KVSTASH_R_RELEASED, kvl_get(s->fd, &h[i], &o, buf));
	}
	expect_free(_metadata, s);
	lease_many(_metadata, s, s->fd, h);
	EXPECT_TRUE(kvl_release_all(s->fd, h, MANY));
	expect_free(_metadata, s);
	EXPECT_EQ(2 * MANY, kvr_ns(s, "leases_taken"));
	EXPECT_EQ(2 * MANY, kvr_ns(s, "leases_released"));
	EXPECT_EQ(0, kvr_ns(s, "leases_by_death"));
}

struct holder {
	struct kvr_store *s;
	struct kvt_gate ready;
};

/* Has all of them leased, and waits for its end. */
static int hold_leases(void *arg)
{
	struct holder *t = arg;
	int fd = kvt_open_ns(t->s->name);
	struct kvstash_handle h;

	for (unsigned int i = 0; i < MANY; i++) {
		struct kvr_obj o = small(i);

		if (fd < 0 || kvl_lease(fd, &o, &h).res)
			return kvr_say("object %u not leased", i);
	}
	kvt_gate_open(&t->ready, 1);
	for (;;)
		pause();
}

TEST_F(store, I5_released_by_death_before_the_file_is)
{
	struct holder t = { .s = &self->s };
	struct kvr_store *s = &self->s;
	struct kvr_obj o;
	pid_t pid;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	ASSERT_EQ(0, kvt_gate_init(&t.ready));
	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < MANY; i++) {
			o = small(i);
			KVT_OK(kvr_put(s->fd, &o, buf));
		}
		pid = kvr_spawn(hold_leases, &t);
		ASSERT_LT(0, pid);
		ASSERT_EQ(0, kvr_ready(&t.ready, pid));
		KVL_LEASED(MANY, MANY * kvt_pages(60000), s);
		if (round & 1) {	/* its last holder is the dying client */
			o = small(3);
			KVT_OK(kvr_remove(s->fd, &o));
			EXPECT_EQ(kvr_room(&o), kvr_pool(s, "held_bytes"));
		}
		EXPECT_EQ(-SIGKILL, kvr_kill(pid));
		EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
		expect_free(_metadata, s);
	}
	EXPECT_EQ(20 * MANY, kvr_ns(s, "leases_by_death"));
	EXPECT_EQ(0, kvr_ns(s, "leases_released"));
}

/* An object counts once, however many leases are on it and whoever has them. */
TEST_F(store, I10_object_counts_once)
{
	struct kvt_ns_args ns = { .lease_bytes = KVL_PIECE };
	struct kvr_obj o = kvl_piece(6, 0), other = kvl_piece(6, 1);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[5], no;
	int fd2;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	fd2 = kvt_open_ns(s->name);
	ASSERT_LE(0, fd2);
	KVT_OK(kvl_put_pieces(s->fd, 6, 0, 2, buf));
	for (unsigned int i = 0; i < 5; i++) {
		KVT_OK(kvl_lease(i & 1 ? fd2 : s->fd, &o, &h[i]));
		KVL_LEASED(i + 1, KVL_PIECE, s);
	}
	KVT_EXPECT(EDQUOT, KVSTASH_R_LEASE_BUDGET, kvl_lease(fd2, &other, &no));
	for (unsigned int i = 0; i < 3; i++)
		KVT_OK(kvt_release1(i & 1 ? fd2 : s->fd, &h[i]));
	KVL_LEASED(2, KVL_PIECE, s);
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(kvr_get(s->fd, &o, buf));
	close(fd2);
	KVL_LEASED(1, KVL_PIECE, s);
	KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, kvr_put(s->fd, &o, buf));
	KVT_OK(kvt_release1(s->fd, &h[4]));
	KVL_LEASED(0, 0, s);
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_get(s->fd, &o, buf));
}

/* What a lease is on can't go, and neither can what it descends from. */
TEST_F(store, I9_ancestors_of_a_leased_object_stay)
{
	struct grp g = { .key = { 7, 100 }, .len = 30000, .members = 3,
			       .flags = KVSTASH_PUT_ATOMIC };
	struct kvr_key keys[3] = { { 7, 0 }, { 7, 1 }, { 7, 2 } };
	struct kvr_store *s = &self->s;
	struct kvr_obj o[4];
	struct kvstash_handle h;
	struct kvstash_put e;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	for (int i = 0; i < 3; i++) {
		o[i] = (struct kvr_obj){ keys[i], i ? &keys[i - 1] : NULL, 20000, 1 };
		KVT_OK(kvr_put(s->fd, &o[i], buf));
	}
	g.parent = &keys[2];
	KVT_OK(grp_put_all(s->fd, &g, buf));
	o[3] = (struct kvr_obj){ { 7, 3 }, &g.key, 10000, 1 };
	kvr_fill(&o[3], 0, buf);
	kvr_prep(&e, &o[3], 0, buf);
	e.parent_kind = KVSTASH_KIND_GROUP;
	KVT_OK(kvt_put_one(s->fd, &e));

	KVT_OK(kvl_lease(s->fd, &o[3], &h));
	KVL_LEASED(1, kvt_pages(10000), s);
	KVT_OK(kvl_flood(s, s->fd, buf));
	for (int i = 0; i < 4; i++)
		KVT_OK(kvr_get(s->fd, &o[i], buf));
	KVT_OK(kvl_get_all(s->fd, &g, buf));
	/* a REMOVE of the root hides all, and the lease keeps its own bytes only */
	KVT_OK(kvr_remove(s->fd, &o[0]));
	for (int i = 0; i < 4; i++)
		KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_get(s->fd, &o[i], buf));
	KVT_OK(kvl_get(s->fd, &h, &o[3], buf));
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(kvl_get(s->fd, &h, &o[3], buf));
	KVT_OK(kvt_release1(s->fd, &h));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
}

TEST_HARNESS_MAIN
