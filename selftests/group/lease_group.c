// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/*
 * Leases of groups and of their members: one member charges and keeps the group.
 */
#include "lease.h"

#define LEN	60000U

static char buf[KVL_POOL + KVT_PAGE];

static struct grp group(__u64 id, __u32 flags)
{
	return (struct grp){ .key = { 1, id }, .len = LEN, .members = 4,
				   .flags = flags };
}

FIXTURE_VARIANT(store) {
	__u32 flags;
};

FIXTURE_VARIANT_ADD(store, atomic) {
	.flags = KVSTASH_PUT_ATOMIC,
};

FIXTURE_VARIANT_ADD(store, plain) {
	.flags = 0,
};

TEST_F(store, I4_lease_of_a_member_keeps_the_group)
{
	struct grp g = group(1, variant->flags), other = group(2, variant->flags);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[3];
	struct kvr_obj o;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(grp_put_all(s->fd, &g, buf));
	KVT_OK(grp_put_all(s->fd, &other, buf));
	o = grp_member(&g, 2);
	KVT_OK(kvl_lease(s->fd, &o, &h[0]));
	KVL_LEASED(1, kvl_room(&g), s);
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(kvl_get_all(s->fd, &g, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvl_get_all(s->fd, &other, buf));
	/* another member, and the group itself, cost nothing more */
	o = grp_member(&g, 0);
	KVT_OK(kvl_lease(s->fd, &o, &h[1]));
	KVT_OK(kvl_lease_group(s->fd, &g, NULL, &h[2]));
	KVL_LEASED(3, kvl_room(&g), s);
	for (unsigned int i = 0; i < 3; i++) {
		KVT_OK(kvl_flood(s, s->fd, buf));
		KVT_OK(kvl_get_all(s->fd, &g, buf));
		KVT_OK(kvt_release1(s->fd, &h[i]));
		KVL_LEASED(2 - i, i < 2 ? kvl_room(&g) : 0, s);
	}
	KVT_OK(kvl_flood(s, s->fd, buf));
	for (unsigned int i = 0; i < g.members; i++)
		KVT_EXPECT(ENOENT, KVSTASH_R_MISS, grp_get(s->fd, &g, i, buf));
	EXPECT_EQ(2, kvr_ns(s, "groups_evicted"));
}

TEST_F(store, budget_counts_the_whole_group)
{
	struct kvt_ns_args ns = { .lease_bytes = 4 * kvt_pages(LEN) - KVT_PAGE };
	struct grp g = group(1, variant->flags);
	struct kvr_store *s = &self->s;
	struct kvstash_exists x;
	struct kvstash_handle h;
	struct kvstash_result r;
	struct kvr_obj o;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	KVT_OK(grp_put_all(s->fd, &g, buf));
	o = grp_member(&g, 1);
	r = kvl_lease(s->fd, &o, &h);
	KVT_EXPECT(EDQUOT, KVSTASH_R_LEASE_BUDGET, r);
	EXPECT_EQ(KVT_PAGE, r.detail);
	EXPECT_TRUE(kvl_no_handle(&h));
	r = kvl_lease_group(s->fd, &g, &x, &h);
	KVT_EXPECT(EDQUOT, KVSTASH_R_LEASE_BUDGET, r);
	EXPECT_EQ(KVT_PAGE, r.detail);
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, x.state);
	EXPECT_EQ(4, x.members_present);
	KVL_LEASED(0, 0, s);
	ns.name = s->name;
	ns.lease_bytes += KVT_PAGE;
	ASSERT_EQ(0, kvt_ns_set(&ns));
	KVT_OK(kvl_lease(s->fd, &o, &h));
	KVL_LEASED(1, kvl_room(&g), s);
}

/* All members in one LOOKUP are one group: as many leases, counted once. */
TEST_F(store, lookup_of_members)
{
	struct kvt_ns_args ns = { .lease_bytes = 4 * kvt_pages(LEN) };
	struct grp g = group(1, variant->flags);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[4];
	struct kvr_key keys[4];
	struct kvr_obj o;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	for (unsigned int i = 0; i < 4; i++)
		keys[i] = grp_member(&g, i).key;
	KVT_OK(grp_put_all(s->fd, &g, buf));
	ASSERT_EQ(4, kvl_lookup(s->fd, keys, 4, h, NULL));
	KVL_LEASED(4, kvl_room(&g), s);
	KVT_OK(kvl_flood(s, s->fd, buf));
	for (unsigned int i = 0; i < 4; i++) {
		o = grp_member(&g, i);
		KVT_OK(kvl_get(s->fd, &h[i], &o, buf));
	}
	EXPECT_TRUE(kvl_release_all(s->fd, h, 4));
	KVL_LEASED(0, 0, s);
}

/* Hidden wholly at once; the leased member's bytes stay to the last release. */
TEST_F(store, I3_I4_remove_of_a_leased_group)
{
	struct grp g = group(1, variant->flags);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[2];
	struct kvr_obj o;
	__u64 held;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	for (int kind = 0; kind < 2; kind++) {	/* by a member, and by its own key */
		KVT_OK(grp_put_all(s->fd, &g, buf));
		o = grp_member(&g, 3);
		KVT_OK(kvl_lease(s->fd, &o, &h[0]));
		KVT_OK(kvl_lease(s->fd, &o, &h[1]));
		KVT_OK(kind ? grp_remove(s->fd, &g) : kvr_remove(s->fd, &o));
		for (unsigned int i = 0; i < 4; i++)
			KVT_EXPECT(ENOENT, KVSTASH_R_MISS,
				   grp_get(s->fd, &g, i, buf));
		held = kvr_pool(s, "held_bytes");
		EXPECT_LE(kvt_pages(LEN), held);
		EXPECT_GE(kvl_room(&g), held);
		/* the same keys are free */
		KVT_OK(grp_put_all(s->fd, &g, buf));
		KVT_OK(grp_remove(s->fd, &g));
		KVT_OK(kvl_flood(s, s->fd, buf));
		KVT_OK(kvl_get(s->fd, &h[0], &o, buf));
		KVT_OK(kvt_release1(s->fd, &h[0]));
		KVT_OK(kvl_get(s->fd, &h[1], &o, buf));
		EXPECT_EQ(held, kvr_pool(s, "held_bytes"));
		KVT_OK(kvt_release1(s->fd, &h[1]));
		EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
		KVL_LEASED(0, 0, s);
	}
	EXPECT_EQ(4, kvr_ns(s, "groups_removed"));
}

/* A group has no bytes of its own: GET of it, leased or not, is refused. */
TEST_F(store, lease_of_a_group_gives_no_bytes)
{
	struct grp g = group(1, variant->flags);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	struct kvr_obj o;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(grp_put_all(s->fd, &g, buf));
	KVT_OK(kvl_lease_group(s->fd, &g, NULL, &h));
	EXPECT_NE(0, kvt_get_by_lease1(s->fd, &h, buf, sizeof(buf), NULL).res);
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(kvl_get_all(s->fd, &g, buf));
	/* removed, the group's lease holds no member's bytes but its own nothing */
	o = grp_member(&g, 0);
	KVT_OK(kvr_remove(s->fd, &o));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, grp_exists(s->fd, &g, NULL));
	KVT_OK(kvt_release1(s->fd, &h));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
	KVL_LEASED(0, 0, s);
}

/* What comes or goes while a plain group is leased: in the end nothing counts. */
TEST_F(store, plain_group_changes_under_its_lease)
{
	struct grp g = group(1, 0);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[2];
	struct kvr_obj o;

	if (variant->flags & KVSTASH_PUT_ATOMIC)
		SKIP(return, "no member of an atomic group is visible before all are");
	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(grp_put(s->fd, &g, 0, buf));
	o = grp_member(&g, 0);
	KVT_OK(kvl_lease(s->fd, &o, &h[0]));
	EXPECT_LE(kvt_pages(LEN), kvr_ns(s, "leased_bytes"));
	KVT_OK(grp_put_some(s->fd, &g, 1, 4, buf));
	KVL_LEASED(1, kvl_room(&g), s);
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(kvl_get_all(s->fd, &g, buf));
	o = grp_member(&g, 3);
	KVT_OK(kvl_lease(s->fd, &o, &h[1]));
	KVT_OK(grp_remove_member(s->fd, &g, 3, KVSTASH_KEYS_MEMBER));
	EXPECT_EQ(kvt_pages(LEN), kvr_pool(s, "held_bytes"));
	KVT_OK(kvl_get(s->fd, &h[1], &o, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_get(s->fd, &o, buf));
	KVT_OK(grp_get(s->fd, &g, 0, buf));
	KVT_OK(grp_put(s->fd, &g, 3, buf));
	KVT_OK(kvl_get_all(s->fd, &g, buf));
	KVT_OK(kvt_release1(s->fd, &h[0]));
	KVT_OK(kvt_release1(s->fd, &h[1]));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
	KVL_LEASED(0, 0, s);
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, grp_get(s->fd, &g, 0, buf));
}

/* An incomplete group is not there: no lease of it, nor of its members. */
TEST_F(store, no_lease_of_an_incomplete_group)
{
	struct grp g = group(1, variant->flags);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	struct kvstash_exists x;
	struct kvr_obj o = grp_member(&g, 0);

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	for (unsigned int i = 0; i < 3; i++)
		KVT_OK(grp_put(s->fd, &g, i, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_GROUP_INCOMPLETE,
		   kvl_lease_group(s->fd, &g, &x, &h));
	EXPECT_EQ(3, x.r.detail);
	EXPECT_TRUE(kvl_no_handle(&h));
	if (variant->flags & KVSTASH_PUT_ATOMIC) {
		KVT_EXPECT(ENOENT, KVSTASH_R_GROUP_INCOMPLETE, kvl_lease(s->fd, &o, &h));
		EXPECT_TRUE(kvl_no_handle(&h));
		KVL_LEASED(0, 0, s);
	}
}

/*
 * A lease outlasts the members that were leased with it: their bytes are free, and
 * others can have them, however often that was.
 */
TEST_F(store, I3_lease_holds_back_no_more_than_its_object)
{
	struct grp g = { .key = { 9, 1 }, .len = KVL_PIECE, .members = 3 };
	struct kvr_obj large = { .key = { 9, 2 }, .parts = 1, .len = 6 * KVL_PIECE };
	struct kvr_store *s = &self->s;
	struct kvr_obj o = grp_member(&g, 0);
	struct kvstash_handle h;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(grp_put_all(s->fd, &g, buf));
	KVT_OK(kvl_lease(s->fd, &o, &h));
	for (unsigned int i = 0; i < 20; i++) {
		KVT_OK(grp_remove_member(s->fd, &g, 1, KVSTASH_KEYS_MEMBER));
		KVT_OK(grp_put(s->fd, &g, 1, buf));
	}
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 8, buf));
	KVT_OK(grp_remove(s->fd, &g));
	EXPECT_EQ(KVL_PIECE, kvr_pool(s, "held_bytes"));
	KVT_OK(kvl_put_pieces(s->fd, 1, 8, 7, buf));
	KVT_OK(kvr_put(s->fd, &large, buf));
	KVT_OK(kvl_get(s->fd, &h, &o, buf));
}

TEST_HARNESS_MAIN
