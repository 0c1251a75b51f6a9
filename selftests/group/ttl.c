// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/* kvstash-timeout: 600 */
/*
 * Time to live: an object is hidden exactly at its end, by the monotonic clock, and
 * its memory comes back by itself. Nothing here sleeps and then expects: each
 * answer of EXISTS is held against the clock before and after the call.
 */
#include "lease.h"

#define MS	1000000ULL
#define TTL	300U		/* milliseconds, where nothing else is said */

static char buf[KVL_POOL + KVT_PAGE];

static __u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/** struct span - the clock before and after the call that made something visible */
struct span {
	__u64 from;
	__u64 to;
};

/* Puts all parts, the last of them in the span. */
static struct kvstash_result put_ttl(int fd, const struct kvr_obj *o, __u32 ttl,
				     struct span *t)
{
	struct kvstash_result r = { 0 };
	struct kvstash_put e;

	for (unsigned int i = 0; i < o->parts && !r.res; i++) {
		kvr_fill(o, i, buf);
		kvr_prep(&e, o, i, buf);
		e.ttl_ms = ttl;
		t->from = now();
		r = kvt_put_one(fd, &e);
		t->to = now();
	}
	return r;
}

/* Is an answer given between two moments right? Not late, and not early. */
static bool timely(bool visible, const struct span *born, __u32 ttl, __u64 before,
		   __u64 after)
{
	if (visible)
		return before < born->to + ttl * MS;
	return after >= born->from + ttl * MS;
}

/* The first answer that is not "visible", if all were timely; else -ETIME. */
static struct kvstash_result watch(int fd, const struct kvr_obj *o,
				   const struct span *born, __u32 ttl)
{
	struct kvstash_result r;
	__u64 before, after;

	do {
		before = now();
		r = kvr_exists(fd, o, NULL);
		after = now();
		if (!timely(!r.res, born, ttl, before, after))
			return (struct kvstash_result){ -ETIME, r.reason, after - born->to };
	} while (!r.res);
	return r;
}

/* Hidden, or hidden and its memory taken back since. */
static bool ended(const struct kvstash_result *r)
{
	return r->res == -ENOENT &&
	       (r->reason == KVSTASH_R_EXPIRED || r->reason == KVSTASH_R_MISS);
}

#define EXPECT_ENDED(result) do { \
	struct kvstash_result _e = (result); \
	EXPECT_TRUE(ended(&_e)) { \
		TH_LOG("%s: %d reason %u detail %llu", #result, _e.res, _e.reason, \
		       _e.detail); \
	} \
} while (0)

/* Nothing tells of it: look until a figure has a value. The bound is for hangs. */
static bool becomes(const char *path, const char *name, __u64 want)
{
	const struct timespec nap = { .tv_nsec = 10000000 };
	__u64 v;

	for (unsigned int i = 0; i < 20000; i++) {
		if (!kvt_figure(path, name, &v) && v == want)
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

/*
 * The first answer that is not "visible" is EXPIRED. That the memory is taken back
 * just between two questions is possible: then another try.
 */
TEST_F(store, hidden_exactly_at_its_end)
{
	struct kvr_obj o = { .key = { 1, 0 }, .len = 5000, .parts = 2 };
	struct kvr_store *s = &self->s;
	struct kvstash_exists x;
	struct kvstash_result r = { 0 };
	struct span born;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	for (; o.key.id < 5 && r.reason != KVSTASH_R_EXPIRED; o.key.id++) {
		KVT_OK(put_ttl(s->fd, &o, TTL, &born));
		r = kvr_get(s->fd, &o, buf);
		EXPECT_TRUE(!r.res || now() >= born.from + TTL * MS);
		r = watch(s->fd, &o, &born, TTL);
		EXPECT_TRUE(ended(&r)) {
			TH_LOG("%d reason %u after %llu ns", r.res, r.reason, r.detail);
		}
		kvr_exists(s->fd, &o, &x);
		EXPECT_EQ(x.r.reason == KVSTASH_R_EXPIRED ? KVSTASH_STATE_EXPIRED :
			  KVSTASH_STATE_ABSENT, x.state);
	}
	EXPECT_EQ(KVSTASH_R_EXPIRED, r.reason);
}

/* All commands see it alike. */
TEST_F(store, expired_to_every_command)
{
	struct kvr_obj o = { .key = { 1, 0 }, .len = 5000, .parts = 1 };
	struct kvr_obj child = { .key = { 1, 1 }, .len = 5000, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	struct kvstash_put e;
	struct span born;
	__u32 reason;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	child.parent = &o.key;
	KVT_OK(put_ttl(s->fd, &o, TTL, &born));
	EXPECT_ENDED(watch(s->fd, &o, &born, TTL));
	EXPECT_ENDED(kvr_get(s->fd, &o, buf));
	EXPECT_ENDED(kvl_lease(s->fd, &o, &h));
	EXPECT_TRUE(kvl_no_handle(&h));
	EXPECT_ENDED(kvt_get_lease1(s->fd, &o.key, sizeof(o.key), NULL, 0, NULL, &h));
	EXPECT_ENDED(kvt_pin1(s->fd, &o.key, sizeof(o.key), KVSTASH_PIN_SOFT));
	EXPECT_EQ(0, kvl_lookup(s->fd, &o.key, 1, &h, &reason));
	EXPECT_TRUE(reason == KVSTASH_R_EXPIRED || reason == KVSTASH_R_MISS);
	KVL_LEASED(0, 0, s);
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS, kvr_put(s->fd, &child, buf));
	kvr_fill(&child, 0, buf);
	kvr_prep(&e, &child, 0, buf);
	e.flags = KVSTASH_PUT_ROOT_IF_NO_PARENT;
	KVT_OK(kvt_put_one(s->fd, &e));
	KVT_OK(kvr_get(s->fd, &child, buf));
}

/* Not from the first part on, but from when all are there. */
TEST_F(store, counted_from_visibility)
{
	struct kvr_obj o = { .key = { 1, 0 }, .len = 5000, .parts = 2 };
	struct kvr_obj child = { .key = { 1, 1 }, .len = 5000, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct kvstash_put e;
	struct span born;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	child.parent = &o.key;
	kvr_fill(&o, 0, buf);
	kvr_prep(&e, &o, 0, buf);
	e.ttl_ms = 2 * TTL;
	KVT_OK(kvt_put_one(s->fd, &e));
	KVT_OK(put_ttl(s->fd, &child, TTL, &born));
	while (now() < born.to + 3 * TTL * MS) {
		KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE, kvr_exists(s->fd, &o, NULL));
		KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_PENDING,
			   kvr_exists(s->fd, &child, NULL));
	}
	kvr_fill(&o, 1, buf);
	kvr_prep(&e, &o, 1, buf);
	e.ttl_ms = 2 * TTL;
	born.from = now();
	KVT_OK(kvt_put_one(s->fd, &e));
	born.to = now();
	EXPECT_ENDED(watch(s->fd, &child, &born, TTL));
	EXPECT_ENDED(watch(s->fd, &o, &born, 2 * TTL));
}

/* I9: a child ends with its parent at the latest, and never outlives it a moment. */
TEST_F(store, I9_child_ends_with_its_parent)
{
	struct kvr_key keys[3] = { { 1, 0 }, { 1, 1 }, { 1, 2 } };
	static const __u32 ttl[3] = { 2 * TTL, 0, 1000000 };
	struct kvr_store *s = &self->s;
	struct kvstash_exists x[3];
	struct span born[3];
	struct kvr_obj o[3];
	__u64 before, after;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	for (int i = 0; i < 3; i++) {
		o[i] = (struct kvr_obj){ keys[i], i ? &keys[i - 1] : NULL, 5000, 1 };
		KVT_OK(put_ttl(s->fd, &o[i], ttl[i], &born[i]));
	}
	do {
		before = now();
		ASSERT_EQ(3, kvr_exists_many(s->fd, keys, 3, x));
		after = now();
		for (int i = 0; i < 3; i++) {
			ASSERT_TRUE(timely(!x[i].r.res, &born[0], ttl[0], before, after));
			/* asked later, so it can't be there if the one before is not */
			ASSERT_TRUE(!i || !x[i - 1].r.res || x[i].r.res);
		}
	} while (!x[2].r.res);
	EXPECT_ENDED(x[2].r);
	EXPECT_TRUE(becomes(s->pool, "free_bytes", KVL_POOL));
}

/* A child's own end does not touch its parent. */
TEST_F(store, child_may_end_earlier)
{
	struct kvr_obj o = { .key = { 1, 0 }, .len = 5000, .parts = 1 };
	struct kvr_obj child = { .key = { 1, 1 }, .len = 5000, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct span born;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	child.parent = &o.key;
	KVT_OK(kvr_put(s->fd, &o, buf));
	KVT_OK(put_ttl(s->fd, &child, TTL, &born));
	EXPECT_ENDED(watch(s->fd, &child, &born, TTL));
	KVT_OK(kvr_get(s->fd, &o, buf));
	EXPECT_TRUE(becomes(s->ns, "objects", 1));
	KVT_OK(kvr_get(s->fd, &o, buf));
	KVT_OK(put_ttl(s->fd, &child, 0, &born));
	KVT_OK(kvr_get(s->fd, &child, buf));
}

/* I4: the shortest of its members' ends an atomic group, wholly, in one moment. */
TEST_F(store, I4_atomic_group_ends_wholly)
{
	struct grp g = { .key = { 1, 0 }, .len = 5000, .members = 4,
			 .flags = KVSTASH_PUT_ATOMIC };
	static const __u32 ttl[4] = { 100000, 2 * TTL, 0, 3 * TTL };
	struct kvr_store *s = &self->s;
	struct span born = { 0 };
	__u64 before, after;
	int visible;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	for (unsigned int i = 0; i < 4; i++) {
		g.ttl_ms = ttl[i];
		if (i == 3)	/* counted from when the group is there */
			while (now() < born.to + 3 * TTL * MS)
				ASSERT_EQ(0, grp_visible(s->fd, &g));
		born.from = now();
		KVT_OK(grp_put(s->fd, &g, i, buf));
		born.to = now();
	}
	do {
		before = now();
		visible = grp_visible(s->fd, &g);
		after = now();
		ASSERT_TRUE(visible == 0 || visible == 4);
		ASSERT_TRUE(timely(visible, &born, 2 * TTL, before, after));
	} while (visible);
	EXPECT_ENDED(grp_exists(s->fd, &g, NULL));
	for (unsigned int i = 0; i < 4; i++)
		EXPECT_ENDED(grp_get(s->fd, &g, i, buf));
	EXPECT_TRUE(becomes(s->pool, "free_bytes", KVL_POOL));
	EXPECT_EQ(0, kvr_ns(s, "groups_complete"));
	EXPECT_EQ(0, kvr_ns(s, "objects"));
	/* and the key of the group is free for one of another kind */
	g.ttl_ms = 0;
	g.flags = 0;
	KVT_OK(grp_put_all(s->fd, &g, buf));
}

/* What descends from a group ends with it. */
TEST_F(store, I9_child_of_a_group_ends_with_it)
{
	struct grp g = { .key = { 1, 0 }, .len = 5000, .members = 2,
			 .flags = KVSTASH_PUT_ATOMIC, .ttl_ms = TTL };
	struct grp child = { .key = { 1, 1 }, .len = 5000, .members = 2,
			     .parent_kind = KVSTASH_KIND_GROUP };
	struct kvr_store *s = &self->s;
	struct span born;
	struct kvr_obj o;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	child.parent = &g.key;
	KVT_OK(grp_put(s->fd, &g, 0, buf));
	KVT_OK(grp_put_all(s->fd, &child, buf));
	EXPECT_EQ(0, grp_visible(s->fd, &child));
	born.from = now();
	KVT_OK(grp_put(s->fd, &g, 1, buf));
	born.to = now();
	o = grp_member(&child, 1);
	EXPECT_ENDED(watch(s->fd, &o, &born, TTL));
	EXPECT_EQ(0, grp_visible(s->fd, &g));
	EXPECT_EQ(0, grp_visible(s->fd, &child));
	EXPECT_TRUE(becomes(s->pool, "free_bytes", KVL_POOL));
}

/* The members of a plain group each have their own end. */
TEST_F(store, plain_members_end_each_by_itself)
{
	struct grp g = { .key = { 1, 0 }, .len = 5000, .members = 2 };
	struct kvr_store *s = &self->s;
	struct span born;
	struct kvr_obj o = grp_member(&g, 0);

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	g.ttl_ms = TTL;
	born.from = now();
	KVT_OK(grp_put(s->fd, &g, 0, buf));
	born.to = now();
	g.ttl_ms = 0;
	KVT_OK(grp_put(s->fd, &g, 1, buf));
	EXPECT_ENDED(watch(s->fd, &o, &born, TTL));
	KVT_OK(grp_get(s->fd, &g, 1, buf));
	EXPECT_TRUE(becomes(s->pool, "committed_bytes", kvt_pages(5000)));
	KVT_OK(grp_get(s->fd, &g, 1, buf));
}

/* The key is free the moment that its object has ended, for anything. */
TEST_F(store, put_again_at_once)
{
	struct kvr_obj o = { .key = { 1, 0 }, .len = 5000, .parts = 1 };
	struct kvr_obj other = { .key = { 1, 0 }, .len = 9000, .parts = 2 };
	struct kvr_store *s = &self->s;
	struct kvstash_result r;
	struct span born, again;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	for (unsigned int i = 0; i < 5; i++) {
		KVT_OK(put_ttl(s->fd, &o, TTL, &born));
		EXPECT_ENDED(watch(s->fd, &o, &born, TTL));
		KVT_OK(put_ttl(s->fd, &other, 0, &again));
		KVT_OK(kvr_get(s->fd, &other, buf));
		KVT_OK(kvr_remove(s->fd, &other));
	}
	/* puts alone: "exists" to the end, and then it works */
	KVT_OK(put_ttl(s->fd, &o, TTL, &born));
	do {
		r = put_ttl(s->fd, &o, TTL, &again);
		ASSERT_TRUE(timely(r.reason == KVSTASH_R_EXISTS, &born, TTL, again.from,
				   again.to)) {
			TH_LOG("%d reason %u", r.res, r.reason);
		}
	} while (r.reason == KVSTASH_R_EXISTS);
	KVT_OK(r);
	EXPECT_ENDED(watch(s->fd, &o, &again, TTL));
}

/* Nobody asks for the keys, and nobody needs the room. */
TEST_F(store, memory_comes_back_by_itself)
{
	struct kvr_obj o = { .key = { 1, 0 }, .len = 20000, .parts = 2 };
	struct kvr_store *s = &self->s;
	struct span born;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	for (; o.key.id < 20; o.key.id++)
		KVT_OK(put_ttl(s->fd, &o, TTL + 10 * o.key.id, &born));
	EXPECT_TRUE(becomes(s->pool, "free_bytes", KVL_POOL));
	EXPECT_EQ(20, kvr_ns(s, "expired"));
	EXPECT_EQ(0, kvr_ns(s, "objects"));
	EXPECT_EQ(0, kvr_ns(s, "visible"));
	EXPECT_EQ(0, kvr_ns(s, "evictions"));
	EXPECT_LE(born.to + TTL * MS, now());
}

/* A put that needs the room takes it from what has ended, not from the living. */
TEST_F(store, expired_objects_go_before_any_other)
{
	struct kvr_store *s = &self->s;
	struct kvr_obj o = kvl_piece(2, 0);
	struct span born;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 2, buf));	/* the oldest */
	for (; o.key.id < 6; o.key.id++)
		KVT_OK(put_ttl(s->fd, &o, TTL, &born));
	EXPECT_EQ(0, kvr_pool(s, "free_bytes"));
	while (now() <= born.to + TTL * MS)
		;
	KVT_OK(kvl_put_pieces(s->fd, 3, 0, 6, buf));
	EXPECT_EQ(2, kvr_count_visible(s->fd, 1, 0, 2));
	EXPECT_EQ(6, kvr_count_visible(s->fd, 3, 0, 6));
	EXPECT_EQ(6, kvr_ns(s, "expired"));
}

/* It is part of the key's identity. */
TEST_F(store, another_time_to_live_is_a_mismatch)
{
	struct kvr_obj o = { .key = { 1, 0 }, .len = 5000, .parts = 2 };
	struct kvr_obj without = { .key = { 1, 1 }, .len = 5000, .parts = 1 };
	static const __u32 other[] = { 0, 1, 999999, 1000001, ~0U };
	struct kvr_store *s = &self->s;
	struct kvstash_result r;
	struct kvstash_put e;
	struct span born;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	kvr_prep(&e, &o, 0, buf);
	e.ttl_ms = 1000000;
	KVT_OK(kvt_put_one(s->fd, &e));
	for (int whole = 0; whole < 2; whole++) {
		for (size_t i = 0; i < KVT_LEN(other); i++) {
			kvr_prep(&e, &o, 1, buf);
			e.ttl_ms = other[i];
			r = kvt_put_one(s->fd, &e);
			KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_TTL, r);
			EXPECT_EQ(1000000, r.detail);
		}
		kvr_prep(&e, &o, 1, buf);
		e.ttl_ms = 1000000;
		KVT_EXPECT(whole ? EEXIST : 0, whole ? KVSTASH_R_EXISTS : KVSTASH_R_OK,
			   kvt_put_one(s->fd, &e));
	}
	KVT_OK(kvr_put(s->fd, &without, buf));
	r = put_ttl(s->fd, &without, 5, &born);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_TTL, r);
	EXPECT_EQ(0, r.detail);
	EXPECT_EQ(2 * KVT_LEN(other) + 1, kvr_ns(s, "put_mismatch"));
}

/* The wall clock, set to anything, ends nothing; nor does it keep anything. */
TEST_F(store, wall_clock_does_not_count)
{
	struct kvr_obj o = { .key = { 1, 0 }, .len = 5000, .parts = 1 };
	struct kvr_store *s = &self->s;
	static const long jump[] = { KVL_DAY, -2 * KVL_DAY, KVL_DAY };
	struct span born;
	int err;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(put_ttl(s->fd, &o, 1000000, &born));
	for (size_t i = 0; i < KVT_LEN(jump); i++) {
		o.key.id = 0;
		err = kvl_clock_jump(jump[i]);
		if (err)
			SKIP(return, "the clock can't be set: %s", strerror(-err));
		KVT_OK(kvr_get(s->fd, &o, buf));
		/* as exact as ever, and what ended is cleared away as ever */
		o.key.id = 1;
		KVT_OK(put_ttl(s->fd, &o, TTL, &born));
		EXPECT_ENDED(watch(s->fd, &o, &born, TTL));
		EXPECT_TRUE(becomes(s->ns, "objects", 1));
		o.key.id = 0;
		KVT_OK(kvr_get(s->fd, &o, buf));
	}
}

/* A lease keeps the bytes, not the visibility. */
TEST_F(store, I3_lease_outlives_the_end)
{
	struct kvr_obj o = { .key = { 1, 0 }, .len = 5000, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	struct span born;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(put_ttl(s->fd, &o, 5 * TTL, &born));
	KVT_OK(kvl_lease(s->fd, &o, &h));
	EXPECT_ENDED(watch(s->fd, &o, &born, 5 * TTL));
	KVT_OK(kvl_get(s->fd, &h, &o, buf));
	EXPECT_TRUE(becomes(s->pool, "committed_bytes", 0));
	EXPECT_EQ(kvr_room(&o), kvr_pool(s, "held_bytes"));
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(kvl_get(s->fd, &h, &o, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_get(s->fd, &o, buf));
	KVT_OK(kvt_release1(s->fd, &h));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
	KVL_LEASED(0, 0, s);
}

/* Nor does a pin. */
TEST_F(store, pinned_objects_end)
{
	struct kvr_obj o = { .key = { 1, 0 }, .len = 5000, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct span born;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(put_ttl(s->fd, &o, 2 * TTL, &born));
	KVT_OK(kvt_pin1(s->fd, &o.key, sizeof(o.key), KVSTASH_PIN_HARD));
	EXPECT_ENDED(watch(s->fd, &o, &born, 2 * TTL));
	EXPECT_TRUE(becomes(s->pool, "free_bytes", KVL_POOL));
	EXPECT_EQ(0, kvr_ns(s, "pinned_bytes"));
}

/* A reader that is inside GET at the end gets all of its bytes. */
TEST_F(store, I1_I3_reader_outlives_the_end)
{
	struct kvr_obj o = { .key = { 1, 0 }, .len = 10000, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct kvr_reader rd;
	struct span born;

	if (kvr_uffd_works())
		SKIP(return, "userfaultfd: %s", strerror(-kvr_uffd_works()));
	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(put_ttl(s->fd, &o, 5 * TTL, &born));
	ASSERT_EQ(0, kvr_reader_start(&rd, s->fd, &o));
	EXPECT_ENDED(watch(s->fd, &o, &born, 5 * TTL));
	EXPECT_TRUE(becomes(s->pool, "held_bytes", kvr_room(&o)));
	KVT_OK(kvr_reader_finish(&rd));
	EXPECT_EQ(KVL_POOL, kvr_pool(s, "free_bytes"));
}

/* A child in flight when its parent ends: never visible, and nothing of it stays. */
TEST_F(store, I9_writer_below_a_parent_that_ends)
{
	struct kvr_obj o = { .key = { 1, 0 }, .len = 5000, .parts = 1 };
	struct kvr_obj child = { .key = { 1, 1 }, .len = 5000, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	struct kvstash_result r;
	struct span born;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	child.parent = &o.key;
	for (int late = 0; late < 2; late++) {
		KVT_OK(put_ttl(s->fd, &o, TTL, &born));
		KVT_OK(kvr_reserve(s->fd, &child, 0, &h));
		KVT_OK(kvr_write_all(s->fd, &child, 0, &h, buf));
		EXPECT_ENDED(watch(s->fd, &o, &born, TTL));
		if (late)	/* its parent's memory has been taken back, too */
			EXPECT_TRUE(becomes(s->ns, "expired", 2));
		r = kvt_commit1(s->fd, &h);
		EXPECT_TRUE(late || !r.res || r.reason == KVSTASH_R_REMOVED);
		if (late)
			KVT_EXPECT(EIDRM, KVSTASH_R_REMOVED, r);
		EXPECT_NE(KVSTASH_STATE_VISIBLE, kvr_state(s->fd, &child));
		EXPECT_TRUE(becomes(s->pool, "free_bytes", KVL_POOL));
	}
}

#define STORM	400U

/* Many, each with an end of its own: every answer is timely. */
TEST_F(store, I9_I11_many_ends)
{
	static struct kvstash_exists x[STORM];
	static struct kvr_key keys[STORM];
	static struct span born[STORM];
	static __u32 ttl[STORM];
	struct kvr_store *s = &self->s;
	__u64 rnd = kvr_run_seed(), before, after;
	struct kvr_obj o = { .len = 3000, .parts = 1 };
	unsigned int visible;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	for (unsigned int i = 0; i < STORM; i++) {
		keys[i] = (struct kvr_key){ 1, i };
		ttl[i] = 100 + kvr_below(&rnd, 2000);
		o.key = keys[i];
		KVT_OK(put_ttl(s->fd, &o, ttl[i], &born[i]));
	}
	do {
		before = now();
		ASSERT_EQ(STORM, kvr_exists_many(s->fd, keys, STORM, x));
		after = now();
		visible = 0;
		for (unsigned int i = 0; i < STORM; i++) {
			visible += !x[i].r.res;
			ASSERT_TRUE(timely(!x[i].r.res, &born[i], ttl[i], before, after)) {
				TH_LOG("object %u, %u ms: reason %u", i, ttl[i],
				       x[i].r.reason);
			}
			ASSERT_TRUE(!x[i].r.res || ended(&x[i].r));
		}
	} while (visible);
	EXPECT_TRUE(becomes(s->pool, "free_bytes", KVL_POOL));
	EXPECT_EQ(STORM, kvr_ns(s, "expired"));
	EXPECT_EQ(0, kvr_ns(s, "evictions"));
}

/* The longest there is does not wrap. */
TEST_F(store, longest_time_to_live)
{
	struct kvr_obj o = { .key = { 1, 0 }, .len = 5000, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct span born;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(put_ttl(s->fd, &o, ~0U, &born));
	KVT_OK(kvr_get(s->fd, &o, buf));
	o.key.id = 1;
	KVT_OK(put_ttl(s->fd, &o, 1, &born));
	EXPECT_ENDED(watch(s->fd, &o, &born, 1));
	o.key.id = 0;
	EXPECT_TRUE(becomes(s->ns, "objects", 1));
	KVT_OK(kvr_get(s->fd, &o, buf));
}

TEST_HARNESS_MAIN
