// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/*
 * Pins: soft ones are evicted last, hard ones never and within a quota; they are
 * attributes of the object or its group, and no client's.
 */
#include <stddef.h>

#include "lease.h"

#include <grp.h>

static char buf[KVL_POOL + KVT_PAGE];

static struct kvstash_result pin(int fd, const struct kvr_obj *o, __u8 how)
{
	return kvt_pin1(fd, &o->key, sizeof(o->key), how);
}

static struct kvstash_result pin_piece(int fd, __u64 space, __u64 id, __u8 how)
{
	struct kvr_obj o = kvl_piece(space, id);

	return pin(fd, &o, how);
}

/* KVSTASH_PIN_* as EXISTS tells it, or -1. */
static int pin_of(int fd, const struct kvr_obj *o)
{
	struct kvstash_exists x;

	return kvr_exists(fd, o, &x).res ? -1 : x.pin;
}

static int pin_of_piece(int fd, __u64 space, __u64 id)
{
	struct kvr_obj o = kvl_piece(space, id);

	return pin_of(fd, &o);
}

/*
 * Pieces 0 to 7 fill the pool; 0 and 3 are pinned softly, 1 hard. The unpinned
 * go first, oldest first, and what is put goes before a soft pin, too.
 */
TEST_F(store, soft_last_hard_never)
{
	struct kvr_obj large = { .key = { 2, 0 }, .parts = 1 };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 8, buf));
	KVT_OK(pin_piece(s->fd, 1, 0, KVSTASH_PIN_SOFT));
	KVT_OK(pin_piece(s->fd, 1, 1, KVSTASH_PIN_HARD));
	KVT_OK(pin_piece(s->fd, 1, 3, KVSTASH_PIN_SOFT));
	for (unsigned int i = 0; i < 5; i++) {
		static const __u64 goes[] = { 2, 4, 5, 6, 7 };

		EXPECT_EQ(1, kvr_count_visible(s->fd, 1, goes[i], 1));
		KVT_OK(kvl_put_pieces(s->fd, 3, i, 1, buf));
		EXPECT_EQ(0, kvr_count_visible(s->fd, 1, goes[i], 1));
	}
	KVT_OK(kvl_flood(s, s->fd, buf));
	EXPECT_EQ(KVSTASH_PIN_SOFT, pin_of_piece(s->fd, 1, 0));
	EXPECT_EQ(KVSTASH_PIN_HARD, pin_of_piece(s->fd, 1, 1));
	EXPECT_EQ(KVSTASH_PIN_SOFT, pin_of_piece(s->fd, 1, 3));
	/* room for six pieces: the older of the soft ones goes, for seven the other */
	large.len = 6 * KVL_PIECE;
	KVT_OK(kvr_put(s->fd, &large, buf));
	EXPECT_EQ(0, kvr_count_visible(s->fd, 1, 0, 1));
	EXPECT_EQ(1, kvr_count_visible(s->fd, 1, 3, 1));
	KVT_OK(kvr_remove(s->fd, &large));
	large.len = 7 * KVL_PIECE;
	KVT_OK(kvr_put(s->fd, &large, buf));
	EXPECT_EQ(0, kvr_count_visible(s->fd, 1, 3, 1));
	EXPECT_EQ(1, kvr_count_visible(s->fd, 1, 1, 1));
	KVT_OK(kvl_flood(s, s->fd, buf));
	EXPECT_EQ(KVSTASH_PIN_HARD, pin_of_piece(s->fd, 1, 1));
}

/*
 * Pieces 0 to 7 fill the pool, and then the quota in a larger one. What does not fit
 * beside one that is pinned hard is refused, and the others are still there; a byte
 * less, and they go.
 */
static void no_room_beside(struct __test_metadata *_metadata, struct kvr_store *s, bool quota)
{
	struct kvr_obj large = { .key = { 2, 0 }, .parts = 1 };
	struct kvt_ns_args ns = { .quota_bytes = KVL_POOL };
	struct kvstash_result r;

	kvr_store_make(_metadata, s, quota ? 2 * KVL_POOL : KVL_POOL, quota ? &ns : NULL);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 8, buf));
	KVT_OK(pin_piece(s->fd, 1, 1, KVSTASH_PIN_HARD));
	large.len = 7 * KVL_PIECE + 1;
	r = kvr_put(s->fd, &large, buf);
	if (quota)
		KVT_EXPECT(EDQUOT, KVSTASH_R_QUOTA_BYTES, r);
	else
		KVT_EXPECT(ENOSPC, KVSTASH_R_NO_SPACE, r);
	EXPECT_EQ(7 * KVL_PIECE + KVT_PAGE, r.detail);
	EXPECT_EQ(8, kvr_count_visible(s->fd, 1, 0, 8));
	EXPECT_EQ(0, kvr_ns(s, "evictions"));
	large.len = 7 * KVL_PIECE;
	KVT_OK(kvr_put(s->fd, &large, buf));
	EXPECT_EQ(1, kvr_count_visible(s->fd, 1, 0, 8));
}

TEST_F(store, what_does_not_fit_beside_a_pin_evicts_nothing)
{
	no_room_beside(_metadata, &self->s, false);
}

TEST_F(store, I10_what_does_not_fit_the_quota_beside_a_pin_evicts_nothing)
{
	no_room_beside(_metadata, &self->s, true);
}

/* A pin does not outlast the time to live: what it held back can be had at once. */
TEST_F(store, expired_pin_holds_nothing_back)
{
	struct kvr_obj o = { .key = { 7, 0 }, .parts = 1, .len = 2 * KVL_PIECE };
	struct kvr_obj large = { .key = { 8, 0 }, .parts = 1, .len = 7 * KVL_PIECE };
	struct kvr_store *s = &self->s;
	struct kvstash_put e;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	kvr_fill(&o, 0, buf);
	kvr_prep(&e, &o, 0, buf);
	e.ttl_ms = 1;
	KVT_OK(kvt_put_one(s->fd, &e));
	/* it may have gone by then, and holds nothing back in that case either */
	pin(s->fd, &o, KVSTASH_PIN_HARD);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 6, buf));
	while (!kvr_exists(s->fd, &o, NULL).res)
		;
	KVT_OK(kvr_put(s->fd, &large, buf));
}

/* Unpinned it is as any other. */
TEST_F(store, unpinned_goes_like_any_other)
{
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 8, buf));
	for (unsigned int how = KVSTASH_PIN_SOFT; how <= KVSTASH_PIN_HARD; how++) {
		KVT_OK(pin_piece(s->fd, 1, how, how));
		KVT_OK(pin_piece(s->fd, 1, how, KVSTASH_PIN_NONE));
		EXPECT_EQ(KVSTASH_PIN_NONE, pin_of_piece(s->fd, 1, how));
	}
	KVT_OK(pin_piece(s->fd, 1, 3, KVSTASH_PIN_NONE));
	EXPECT_EQ(0, kvr_ns(s, "pinned_bytes"));
	KVT_OK(kvl_flood(s, s->fd, buf));
	EXPECT_EQ(0, kvr_count_visible(s->fd, 1, 0, 8));
}

TEST_F(store, I10_hard_pins_have_a_quota)
{
	struct kvt_ns_args ns = { .pin_bytes = 2 * KVL_PIECE };
	struct kvr_obj large = { { 2, 0 }, NULL, 2 * KVL_PIECE, 1 };
	struct kvr_store *s = &self->s;
	struct kvstash_result r;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	EXPECT_EQ(2 * KVL_PIECE, kvr_ns(s, "pin_quota_bytes"));
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 5, buf));
	KVT_OK(kvr_put(s->fd, &large, buf));
	KVT_OK(pin_piece(s->fd, 1, 0, KVSTASH_PIN_HARD));
	KVT_OK(pin_piece(s->fd, 1, 1, KVSTASH_PIN_HARD));
	EXPECT_EQ(2 * KVL_PIECE, kvr_ns(s, "pinned_bytes"));
	r = pin_piece(s->fd, 1, 2, KVSTASH_PIN_HARD);
	KVT_EXPECT(EDQUOT, KVSTASH_R_PIN_QUOTA, r);
	EXPECT_EQ(KVL_PIECE, r.detail);
	EXPECT_EQ(KVSTASH_PIN_NONE, pin_of_piece(s->fd, 1, 2));
	r = pin(s->fd, &large, KVSTASH_PIN_HARD);
	KVT_EXPECT(EDQUOT, KVSTASH_R_PIN_QUOTA, r);
	EXPECT_EQ(2 * KVL_PIECE, r.detail);
	EXPECT_EQ(2, kvr_ns(s, "pin_refused"));
	/* again is nothing new, and a soft one costs nothing */
	KVT_OK(pin_piece(s->fd, 1, 1, KVSTASH_PIN_HARD));
	KVT_OK(pin(s->fd, &large, KVSTASH_PIN_SOFT));
	EXPECT_EQ(2 * KVL_PIECE, kvr_ns(s, "pinned_bytes"));
	/* a hard pin that is refused leaves the soft one */
	r = pin(s->fd, &large, KVSTASH_PIN_HARD);
	KVT_EXPECT(EDQUOT, KVSTASH_R_PIN_QUOTA, r);
	EXPECT_EQ(KVSTASH_PIN_SOFT, pin_of(s->fd, &large));
	KVT_OK(pin_piece(s->fd, 1, 0, KVSTASH_PIN_SOFT));
	EXPECT_EQ(KVL_PIECE, kvr_ns(s, "pinned_bytes"));
	r = pin(s->fd, &large, KVSTASH_PIN_HARD);
	EXPECT_EQ(KVL_PIECE, r.detail);
	KVT_OK(pin_piece(s->fd, 1, 1, KVSTASH_PIN_NONE));
	EXPECT_EQ(0, kvr_ns(s, "pinned_bytes"));
	KVT_OK(pin(s->fd, &large, KVSTASH_PIN_HARD));
	EXPECT_EQ(2 * KVL_PIECE, kvr_ns(s, "pinned_bytes"));
}

/* How many pieces can be pinned. */
static unsigned int pin_many(int fd, unsigned int n)
{
	unsigned int got;

	for (got = 0; got < n; got++)
		if (pin_piece(fd, 1, got, KVSTASH_PIN_HARD).res)
			break;
	return got;
}

/* A quarter of the quota, or without one of the pool. */
TEST_F(store, quota_by_default)
{
	struct kvt_ns_args quota = { .quota_bytes = 4 * KVL_PIECE };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 8, buf));
	EXPECT_EQ(2, pin_many(s->fd, 8));
	kvr_store_end(_metadata, s);
	kvr_store_make(_metadata, s, KVL_POOL, &quota);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 4, buf));
	EXPECT_EQ(1, pin_many(s->fd, 4));
}

TEST_F(store, pin_of_a_member_is_its_groups)
{
	struct kvt_ns_args ns = { .pin_bytes = KVL_POOL };
	struct grp g = { .key = { 1, 1 }, .len = 60000, .members = 4 };
	struct kvr_store *s = &self->s;
	struct kvstash_exists x;
	struct kvr_obj o;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	for (int atomic = 0; atomic < 2; atomic++) {
		g.flags = atomic ? KVSTASH_PUT_ATOMIC : 0;
		KVT_OK(grp_put_all(s->fd, &g, buf));
		o = grp_member(&g, 2);
		KVT_OK(pin(s->fd, &o, KVSTASH_PIN_HARD));
		EXPECT_EQ(kvl_room(&g), kvr_ns(s, "pinned_bytes"));
		for (unsigned int i = 0; i < g.members; i++) {
			o = grp_member(&g, i);
			EXPECT_EQ(KVSTASH_PIN_HARD, pin_of(s->fd, &o));
		}
		KVT_OK(grp_exists(s->fd, &g, &x));
		EXPECT_EQ(KVSTASH_PIN_HARD, x.pin);
		KVT_OK(kvl_flood(s, s->fd, buf));
		KVT_OK(kvl_get_all(s->fd, &g, buf));
		/* by the group's key, and by another member */
		KVT_OK(grp_pin(s->fd, &g, KVSTASH_PIN_SOFT));
		EXPECT_EQ(0, kvr_ns(s, "pinned_bytes"));
		EXPECT_EQ(KVSTASH_PIN_SOFT, pin_of(s->fd, &o));
		KVT_OK(kvl_flood(s, s->fd, buf));
		KVT_OK(kvl_get_all(s->fd, &g, buf));
		o = grp_member(&g, 0);
		KVT_OK(pin(s->fd, &o, KVSTASH_PIN_NONE));
		KVT_OK(kvl_flood(s, s->fd, buf));
		for (unsigned int i = 0; i < g.members; i++)
			KVT_EXPECT(ENOENT, KVSTASH_R_MISS, grp_get(s->fd, &g, i, buf));
	}
}

/* The quota counts all of a group, and exactly. */
TEST_F(store, quota_counts_the_whole_group)
{
	struct grp g = { .key = { 1, 1 }, .len = 60000, .members = 4 };
	struct kvt_ns_args ns = { .pin_bytes = 4 * kvt_pages(60000) - KVT_PAGE };
	struct kvr_store *s = &self->s;
	struct kvstash_result r;
	struct kvr_obj o;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	KVT_OK(grp_put_all(s->fd, &g, buf));
	o = grp_member(&g, 1);
	r = pin(s->fd, &o, KVSTASH_PIN_HARD);
	KVT_EXPECT(EDQUOT, KVSTASH_R_PIN_QUOTA, r);
	EXPECT_EQ(KVT_PAGE, r.detail);
	r = grp_pin(s->fd, &g, KVSTASH_PIN_HARD);
	KVT_EXPECT(EDQUOT, KVSTASH_R_PIN_QUOTA, r);
	EXPECT_EQ(0, kvr_ns(s, "pinned_bytes"));
	ns.name = s->name;
	ns.pin_bytes += KVT_PAGE;
	ASSERT_EQ(0, kvt_ns_set(&ns));
	KVT_OK(grp_pin(s->fd, &g, KVSTASH_PIN_HARD));
	EXPECT_EQ(kvl_room(&g), kvr_ns(s, "pinned_bytes"));
}

/* A plain group that is pinned and loses a member, gets it back, goes. */
TEST_F(store, members_come_and_go_under_a_pin)
{
	struct grp g = { .key = { 1, 1 }, .len = 60000, .members = 4 };
	struct kvt_ns_args ns = { .pin_bytes = KVL_POOL };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	KVT_OK(grp_put_all(s->fd, &g, buf));
	KVT_OK(grp_pin(s->fd, &g, KVSTASH_PIN_HARD));
	KVT_OK(grp_remove_member(s->fd, &g, 1, KVSTASH_KEYS_MEMBER));
	EXPECT_EQ(3 * kvt_pages(g.len), kvr_ns(s, "pinned_bytes"));
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(grp_get(s->fd, &g, 0, buf));
	KVT_OK(grp_put(s->fd, &g, 1, buf));
	EXPECT_EQ(kvl_room(&g), kvr_ns(s, "pinned_bytes"));
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(kvl_get_all(s->fd, &g, buf));
	KVT_OK(grp_remove(s->fd, &g));
	EXPECT_EQ(0, kvr_ns(s, "pinned_bytes"));
}

/* REMOVE works on what is pinned; the next of that key is not. */
TEST_F(store, remove_of_a_pinned_object)
{
	struct kvr_store *s = &self->s;
	struct kvr_obj o = kvl_piece(1, 0);

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	for (unsigned int how = KVSTASH_PIN_SOFT; how <= KVSTASH_PIN_HARD; how++) {
		KVT_OK(kvr_put(s->fd, &o, buf));
		EXPECT_EQ(KVSTASH_PIN_NONE, pin_of(s->fd, &o));
		KVT_OK(pin(s->fd, &o, how));
		KVT_OK(kvr_remove(s->fd, &o));
		KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(s->fd, &o, NULL));
		EXPECT_EQ(0, kvr_ns(s, "pinned_bytes"));
		EXPECT_EQ(KVL_POOL, kvr_pool(s, "free_bytes"));
	}
}

/* With its parent, too; and what a pinned object descends from stays. */
TEST_F(store, I9_ancestors_of_a_pinned_object_stay)
{
	struct kvr_key keys[3] = { { 1, 0 }, { 1, 1 }, { 1, 2 } };
	struct kvr_store *s = &self->s;
	struct kvr_obj o[3];

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	for (int i = 0; i < 3; i++) {
		o[i] = (struct kvr_obj){ keys[i], i ? &keys[i - 1] : NULL, 20000, 1 };
		KVT_OK(kvr_put(s->fd, &o[i], buf));
	}
	KVT_OK(pin(s->fd, &o[2], KVSTASH_PIN_HARD));
	EXPECT_EQ(kvt_pages(20000), kvr_ns(s, "pinned_bytes"));
	KVT_OK(kvl_flood(s, s->fd, buf));
	for (int i = 0; i < 3; i++)
		KVT_OK(kvr_get(s->fd, &o[i], buf));
	KVT_OK(kvr_remove(s->fd, &o[0]));
	EXPECT_EQ(0, kvr_count_visible(s->fd, 1, 0, 3));
	EXPECT_EQ(0, kvr_ns(s, "pinned_bytes"));
}

/* No client's: it stays when the one that set it goes, and any may take it off. */
TEST_F(store, pin_outlives_its_client)
{
	struct kvr_store *s = &self->s;
	struct kvr_obj o = kvl_piece(1, 0);
	int fd;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	fd = kvt_open_ns(s->name);
	ASSERT_LE(0, fd);
	KVT_OK(kvr_put(fd, &o, buf));
	KVT_OK(pin(fd, &o, KVSTASH_PIN_HARD));
	close(fd);
	KVT_OK(kvl_flood(s, s->fd, buf));
	EXPECT_EQ(KVSTASH_PIN_HARD, pin_of(s->fd, &o));
	KVT_OK(pin(s->fd, &o, KVSTASH_PIN_NONE));
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_get(s->fd, &o, buf));
}

/* A pool of hard pins: a put is refused at once, and with a number. */
TEST_F(store, only_pinned_objects_is_no_space)
{
	struct kvt_ns_args ns = { .pin_bytes = KVL_POOL };
	struct kvr_store *s = &self->s;
	struct kvr_obj o = kvl_piece(2, 0);
	struct kvstash_result r;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 8, buf));
	EXPECT_EQ(8, pin_many(s->fd, 8));
	r = kvr_put(s->fd, &o, buf);
	KVT_EXPECT(ENOSPC, KVSTASH_R_NO_SPACE, r);
	EXPECT_EQ(KVL_PIECE, r.detail);
	EXPECT_EQ(8, kvr_count_visible(s->fd, 1, 0, 8));
	KVT_OK(pin_piece(s->fd, 1, 6, KVSTASH_PIN_SOFT));
	KVT_OK(kvr_put(s->fd, &o, buf));
	EXPECT_EQ(0, kvr_count_visible(s->fd, 1, 6, 1));
	EXPECT_EQ(7, kvr_count_visible(s->fd, 1, 0, 8));
}

/* What is not visible can't be pinned, and why is said. */
TEST_F(store, pin_of_what_is_not_visible)
{
	struct kvr_obj half = { .key = { 1, 1 }, .len = 5000, .parts = 2 };
	struct kvr_obj wait = { .key = { 1, 2 }, .len = 5000, .parts = 1 };
	struct kvr_obj flight = { .key = { 1, 3 }, .len = 5000, .parts = 1 };
	struct grp g = { .key = { 1, 4 }, .len = 5000, .members = 2,
			 .flags = KVSTASH_PUT_ATOMIC };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	struct kvr_obj o;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	wait.parent = &half.key;
	KVT_OK(kvr_put_part(s->fd, &half, 0, buf));
	KVT_OK(kvr_put(s->fd, &wait, buf));
	KVT_OK(kvr_reserve(s->fd, &flight, 0, &h));
	KVT_OK(grp_put(s->fd, &g, 0, buf));
	o = grp_member(&g, 0);
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, pin_piece(s->fd, 1, 77, KVSTASH_PIN_HARD));
	KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE, pin(s->fd, &half, KVSTASH_PIN_HARD));
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_PENDING, pin(s->fd, &wait, KVSTASH_PIN_HARD));
	KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, pin(s->fd, &flight, KVSTASH_PIN_HARD));
	KVT_EXPECT(ENOENT, KVSTASH_R_GROUP_INCOMPLETE, pin(s->fd, &o, KVSTASH_PIN_HARD));
	KVT_EXPECT(ENOENT, KVSTASH_R_GROUP_INCOMPLETE,
		   grp_pin(s->fd, &g, KVSTASH_PIN_HARD));
	EXPECT_EQ(0, kvr_ns(s, "pinned_bytes"));
}

TEST_F(store, kinds_of_pin_that_are_none)
{
	static const __u8 bad[] = { 3, 4, 128, 255 };
	struct kvr_store *s = &self->s;
	struct kvr_obj o = kvl_piece(1, 0);
	struct kvstash_exists x;
	struct kvstash_keys k;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(kvr_put(s->fd, &o, buf));
	for (size_t i = 0; i < KVT_LEN(bad); i++) {
		kvstash_prep_keys(&k, &o.key, sizeof(o.key), 1);
		k.pin = bad[i];
		EXPECT_EQ(-EINVAL, kvt_pin(s->fd, &k, &x));
		EXPECT_EQ(KVSTASH_R_PIN, k.reason);
		EXPECT_EQ(offsetof(struct kvstash_keys, pin), k.field);
	}
	/* and it is PIN's only */
	kvstash_prep_keys(&k, &o.key, sizeof(o.key), 1);
	k.pin = KVSTASH_PIN_HARD;
	EXPECT_EQ(-EINVAL, kvt_exists(s->fd, &k, &x));
	EXPECT_EQ(offsetof(struct kvstash_keys, pin), k.field);
	EXPECT_EQ(-EINVAL, kvt_remove(s->fd, &k, &x));
	EXPECT_EQ(offsetof(struct kvstash_keys, pin), k.field);
	k.results = 0;
	k.stride = 0;
	EXPECT_EQ(-EINVAL, kvt_lookup(s->fd, &k));
	EXPECT_EQ(offsetof(struct kvstash_keys, pin), k.field);
	EXPECT_EQ(KVSTASH_PIN_NONE, pin_of(s->fd, &o));
}

/* In a batch each key has its own result. */
TEST_F(store, batch_of_pins)
{
	struct kvt_ns_args ns = { .pin_bytes = 2 * KVL_PIECE };
	static const __u32 why[5] = { KVSTASH_R_OK, KVSTASH_R_MISS, KVSTASH_R_OK,
				      KVSTASH_R_PIN_QUOTA, KVSTASH_R_OK };
	struct kvr_key keys[5] = { { 1, 0 }, { 1, 9 }, { 1, 1 }, { 1, 2 }, { 1, 0 } };
	struct kvr_store *s = &self->s;
	struct kvstash_exists x[5];
	struct kvstash_keys k;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 3, buf));
	kvstash_prep_keys(&k, keys, sizeof(*keys), 5);
	k.pin = KVSTASH_PIN_HARD;
	ASSERT_EQ(5, kvt_pin(s->fd, &k, x));
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(why[i], x[i].r.reason);
	EXPECT_EQ(2 * KVL_PIECE, kvr_ns(s, "pinned_bytes"));
}

/* Pinning takes the right to write: of the namespace, and of the open file. */
TEST_F(store, I10_pin_needs_the_right_to_write)
{
	struct kvt_ns_args ns = { .uid = 12345, .mode = 0644 };
	struct kvr_store *s = &self->s;
	struct kvr_obj o = kvl_piece(1, 0);
	int fd;
	pid_t pid;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	KVT_OK(kvr_put(s->fd, &o, buf));
	fd = kvt_open_flags(O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, kvt_bind(fd, s->name).res);
	KVT_EXPECT(EACCES, KVSTASH_R_PERMISSION, pin(fd, &o, KVSTASH_PIN_HARD));
	KVT_EXPECT(EACCES, KVSTASH_R_PERMISSION, pin(fd, &o, KVSTASH_PIN_NONE));
	close(fd);
	ASSERT_EQ(0, chmod(KVSTASH_DEVICE, 0666));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct kvstash_result r;

		if (setgroups(0, NULL) || setresgid(777, 777, 777) ||
		    setresuid(777, 777, 777))
			_exit(1);
		fd = kvt_open_ns(s->name);
		if (fd < 0 || kvr_exists(fd, &o, NULL).res)
			_exit(2);
		r = pin(fd, &o, KVSTASH_PIN_SOFT);
		_exit(r.res == -EACCES && r.reason == KVSTASH_R_PERMISSION ? 0 : 3);
	}
	EXPECT_EQ(0, kvt_wait(pid));
	EXPECT_EQ(KVSTASH_PIN_NONE, pin_of(s->fd, &o));
}

/* A leased and pinned object: each keeps it by itself. */
TEST_F(store, lease_and_pin)
{
	struct kvr_store *s = &self->s;
	struct kvr_obj o = kvl_piece(1, 0);
	struct kvstash_handle h;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(kvr_put(s->fd, &o, buf));
	KVT_OK(kvl_lease(s->fd, &o, &h));
	KVT_OK(pin(s->fd, &o, KVSTASH_PIN_HARD));
	KVL_LEASED(1, KVL_PIECE, s);
	KVT_OK(kvt_release1(s->fd, &h));
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(kvl_lease(s->fd, &o, &h));
	KVT_OK(pin(s->fd, &o, KVSTASH_PIN_NONE));
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(kvr_get(s->fd, &o, buf));
	/* a pin that is removed under a lease counts no more, though its bytes do */
	KVT_OK(pin(s->fd, &o, KVSTASH_PIN_HARD));
	KVT_OK(kvr_remove(s->fd, &o));
	EXPECT_EQ(0, kvr_ns(s, "pinned_bytes"));
	EXPECT_EQ(KVL_PIECE, kvr_pool(s, "held_bytes"));
	KVT_OK(kvt_release1(s->fd, &h));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
}

TEST_HARNESS_MAIN
