// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/*
 * Plain groups, whose members are visible each by itself; and what REMOVE does to
 * groups of both sorts.
 */
#include "g_store.h"

#define LEN	5000U

static char buf[65536];

static const struct grp plain = { .key = { 1, 1 }, .len = LEN, .members = 4 };
static const struct grp atomic = {
	.key = { 1, 2 }, .len = LEN, .members = 4, .flags = KVSTASH_PUT_ATOMIC,
};

/*
 * Asserts that exactly the members in @in (a bit each) are visible, and that
 * EXISTS of each, and of the group, tells that the group is complete or not.
 */
static void expect_plain(struct __test_metadata *_metadata, int fd, const struct grp *g,
			 __u32 in)
{
	unsigned int present = __builtin_popcount(in);
	__u8 state = present == g->members ? KVSTASH_STATE_VISIBLE : KVSTASH_STATE_FILLING;
	struct kvstash_exists x[GRP_MAX];

	ASSERT_EQ(g->members, grp_exists_all(fd, g, x));
	for (unsigned int i = 0; i < g->members; i++) {
		if (!(in >> i & 1)) {
			KVT_EXPECT(ENOENT, KVSTASH_R_MISS, x[i].r);
			KVT_EXPECT(ENOENT, KVSTASH_R_MISS, grp_get(fd, g, i, buf));
			continue;
		}
		KVT_OK(x[i].r);
		EXPECT_EQ(KVSTASH_STATE_VISIBLE, x[i].state);
		grp_expect_facts(_metadata, g, &x[i], present, state);
		KVT_OK(grp_get(fd, g, i, buf));
	}
	grp_exists(fd, g, x);
	EXPECT_EQ(state, x[0].state);
	grp_expect_facts(_metadata, g, x, present, state);
	if (present == g->members) {
		KVT_OK(x[0].r);
		return;
	}
	KVT_EXPECT(ENOENT, KVSTASH_R_GROUP_INCOMPLETE, x[0].r);
	EXPECT_EQ(present, x[0].r.detail);
}

TEST_F(store, I11_plain_members_are_visible_by_themselves)
{
	static const unsigned int order[] = { 2, 0, 3, 1 };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	__u32 in = 0;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int i = 0; i < 4; i++) {
		KVT_OK(grp_reserve(s->fd, &plain, order[i], 0, &h));
		KVT_OK(grp_write(s->fd, &plain, order[i], 0, &h, buf));
		KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT,
			   grp_member_exists(s->fd, &plain, order[i], NULL));
		EXPECT_EQ(i, grp_visible(s->fd, &plain));
		KVT_OK(kvt_commit1(s->fd, &h));
		in |= 1U << order[i];
		expect_plain(_metadata, s->fd, &plain, in);
		KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, grp_put(s->fd, &plain, order[i], buf));
	}
	EXPECT_EQ(1, kvr_ns(s, "groups_complete"));
}

TEST_F(store, I9_plain_members_wait_for_the_parent)
{
	struct kvr_obj page = { .key = { 2, 1 }, .len = LEN, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct grp g = plain;
	struct kvstash_exists x;
	struct kvstash_handle h;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	g.parent = &page.key;
	KVT_OK(kvr_reserve(s->fd, &page, 0, &h));
	KVT_OK(grp_put_some(s->fd, &g, 0, 3, buf));
	for (unsigned int i = 0; i < 3; i++) {
		KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_PENDING,
			   grp_member_exists(s->fd, &g, i, &x));
		EXPECT_EQ(KVSTASH_STATE_WAITING, x.state);
		KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_PENDING, grp_get(s->fd, &g, i, buf));
	}
	KVT_OK(kvr_write_all(s->fd, &page, 0, &h, buf));
	KVT_OK(kvt_commit1(s->fd, &h));
	expect_plain(_metadata, s->fd, &g, 7);
	KVT_OK(grp_put(s->fd, &g, 3, buf));
	expect_plain(_metadata, s->fd, &g, 15);
	KVT_OK(kvr_remove(s->fd, &page));
	grp_expect_gone(_metadata, s->fd, &g, buf);
}

/* A plain group that lacks members can be a parent: it is visible all the same. */
TEST_F(store, I9_child_of_a_plain_group_that_lost_a_member)
{
	struct kvr_store *s = &self->s;
	struct grp below = atomic;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	below.parent = &plain.key;
	below.parent_kind = KVSTASH_KIND_GROUP;
	KVT_OK(grp_put_all(s->fd, &plain, buf));
	KVT_OK(grp_put_all(s->fd, &below, buf));
	grp_expect_visible(_metadata, s->fd, &below, buf);
	KVT_OK(grp_remove_member(s->fd, &plain, 1, KVSTASH_KEYS_MEMBER));
	expect_plain(_metadata, s->fd, &plain, 13);
	grp_expect_visible(_metadata, s->fd, &below, buf);
	KVT_OK(grp_put(s->fd, &plain, 1, buf));
	expect_plain(_metadata, s->fd, &plain, 15);
	KVT_OK(grp_remove_member(s->fd, &plain, 1, 0));
	grp_expect_gone(_metadata, s->fd, &plain, buf);
	grp_expect_gone(_metadata, s->fd, &below, buf);
	EXPECT_EQ(0, kvr_ns(s, "objects"));
}

/* One member goes, the others stay; the index is free for another key. */
TEST_F(store, I3_member_of_a_plain_group_is_removed_alone)
{
	struct kvr_obj other = grp_member(&plain, 9);
	struct kvr_store *s = &self->s;
	struct kvstash_put e;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(grp_put_all(s->fd, &plain, buf));
	KVT_OK(grp_remove_member(s->fd, &plain, 2, KVSTASH_KEYS_MEMBER));
	expect_plain(_metadata, s->fd, &plain, 11);
	EXPECT_EQ(3 * kvt_pages(LEN), kvr_pool(s, "committed_bytes"));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS,
		   grp_remove_member(s->fd, &plain, 2, KVSTASH_KEYS_MEMBER));
	kvr_fill(&other, 0, buf);
	grp_prep(&e, &plain, 2, &other, 0, buf);
	KVT_OK(kvt_put_one(s->fd, &e));
	KVT_OK(kvr_get(s->fd, &other, buf));
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_INDEX, grp_put(s->fd, &plain, 2, buf));
	KVT_OK(grp_exists(s->fd, &plain, NULL));
	KVT_OK(kvr_remove(s->fd, &other));
	grp_expect_gone(_metadata, s->fd, &plain, buf);
	EXPECT_EQ(0, kvr_pool(s, "committed_bytes"));
}

/* All members one by one: with the last the group is of no use, and can go. */
TEST_F(store, I6_all_members_of_a_plain_group_are_removed_alone)
{
	struct kvr_store *s = &self->s;
	__u32 in = 15;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(grp_put_all(s->fd, &plain, buf));
	for (unsigned int i = 0; i < 4; i++) {
		KVT_OK(grp_remove_member(s->fd, &plain, i, KVSTASH_KEYS_MEMBER));
		in &= ~(1U << i);
		EXPECT_EQ(3 - i, grp_visible(s->fd, &plain));
		if (in)
			expect_plain(_metadata, s->fd, &plain, in);
	}
	EXPECT_EQ(0, kvr_pool(s, "committed_bytes"));
	kvr_sane(_metadata, s);
	KVT_OK(grp_put_all(s->fd, &plain, buf));
	expect_plain(_metadata, s->fd, &plain, 15);
}

TEST_F(store, I4_member_of_an_atomic_group_is_not_removed_alone)
{
	struct kvr_obj page = { .key = { 2, 1 }, .len = LEN, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct grp_figures was;
	struct kvstash_keys k;
	struct kvstash_exists x = { 0 };

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(grp_put_all(s->fd, &atomic, buf));
	KVT_OK(kvr_put(s->fd, &page, buf));
	was = grp_figures(s);
	KVT_EXPECT(EINVAL, KVSTASH_R_GROUP_ATOMIC,
		   grp_remove_member(s->fd, &atomic, 1, KVSTASH_KEYS_MEMBER));
	grp_expect_visible(_metadata, s->fd, &atomic, buf);
	kvstash_prep_keys(&k, &page.key, sizeof(page.key), 1);
	k.flags = KVSTASH_KEYS_MEMBER;
	ASSERT_EQ(1, kvt_remove(s->fd, &k, &x));
	KVT_EXPECT(EINVAL, KVSTASH_R_NO_MEMBER, x.r);
	KVT_OK(kvr_get(s->fd, &page, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS,
		   grp_remove_member(s->fd, &plain, 1, KVSTASH_KEYS_MEMBER));
	grp_expect_figures(_metadata, s, &was);
}

/* By a member or by its own key: all of it goes, and at once. */
TEST_F(store, I3_I4_removed_wholly)
{
	struct kvr_store *s = &self->s;
	struct grp g;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int i = 0; i < 10; i++) {
		g = i % 2 ? atomic : plain;
		KVT_OK(grp_put_all(s->fd, &g, buf));
		if (i < 8)
			KVT_OK(grp_remove_member(s->fd, &g, i / 2, 0));
		else
			KVT_OK(grp_remove(s->fd, &g));
		grp_expect_gone(_metadata, s->fd, &g, buf);
		EXPECT_EQ(0, kvr_pool(s, "committed_bytes"));
		EXPECT_EQ(0, kvr_ns(s, "objects"));
		EXPECT_EQ(i + 1, kvr_ns(s, "groups_removed"));
		KVT_EXPECT(ENOENT, KVSTASH_R_MISS, grp_remove(s->fd, &g));
		KVT_EXPECT(ENOENT, KVSTASH_R_MISS, grp_remove_member(s->fd, &g, 1, 0));
	}
}

/* All members in one REMOVE: the first takes the others. */
TEST_F(store, I4_remove_of_all_members_in_one_call)
{
	struct kvr_store *s = &self->s;
	struct kvstash_exists x[4];
	struct kvr_key keys[4];

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(grp_put_all(s->fd, &atomic, buf));
	for (unsigned int i = 0; i < 4; i++)
		keys[i] = grp_member(&atomic, 3 - i).key;
	ASSERT_EQ(4, kvr_remove_many(s->fd, keys, 4, x));
	KVT_OK(x[0].r);
	for (unsigned int i = 1; i < 4; i++)
		KVT_EXPECT(ENOENT, KVSTASH_R_MISS, x[i].r);
	grp_expect_gone(_metadata, s->fd, &atomic, buf);
}

/* A group that a living client fills is its writer's; an idle one is nobody's. */
TEST_F(store, I4_I5_remove_of_a_filling_group)
{
	struct kvt_ns_args ns = { .incomplete_ms = 0x7fffffff };
	struct kvr_store *s = &self->s;
	int fd;

	kvr_store_make(_metadata, s, KVR_MB(4), &ns);
	for (unsigned int i = 0; i < 2; i++) {
		fd = kvt_open_ns(s->name);
		ASSERT_LE(0, fd);
		KVT_OK(grp_put_some(fd, &atomic, 0, 3, buf));
		KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, grp_remove(s->fd, &atomic));
		KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT,
			   grp_remove_member(s->fd, &atomic, 1, 0));
		KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, grp_remove(fd, &atomic));
		grp_expect_hidden(_metadata, s->fd, &atomic, 7, buf);
		close(fd);
		grp_expect_hidden(_metadata, s->fd, &atomic, 7, buf);
		if (i)
			KVT_OK(grp_remove(s->fd, &atomic));
		else
			KVT_OK(grp_remove_member(s->fd, &atomic, 2, 0));
		grp_expect_gone(_metadata, s->fd, &atomic, buf);
		EXPECT_EQ(0, kvr_ns(s, "objects"));
	}
}

static void expect_plain_members(struct __test_metadata *_metadata, int fd, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		KVT_OK(grp_get(fd, &plain, i, buf));
}

/* A plain group shows its members meanwhile: what a living client fills stays all the same. */
TEST_F(store, I5_remove_of_a_plain_group_that_is_filled)
{
	struct kvt_ns_args ns = { .incomplete_ms = 0x7fffffff };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	int fd;

	kvr_store_make(_metadata, s, KVR_MB(4), &ns);
	for (unsigned int put = 0; put < 3; put++) {
		fd = kvt_open_ns(s->name);
		ASSERT_LE(0, fd);
		KVT_OK(grp_put_some(fd, &plain, 0, put, buf));
		KVT_OK(grp_reserve(fd, &plain, 3, 0, &h));
		KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, grp_remove(s->fd, &plain));
		KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, grp_remove(fd, &plain));
		for (unsigned int i = 0; i < put; i++)
			KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT,
				   grp_remove_member(s->fd, &plain, i, 0));
		expect_plain_members(_metadata, s->fd, put);
		KVT_OK(kvt_write1(fd, &h, 0, buf, LEN));
		KVT_OK(kvt_commit1(fd, &h));
		/* none is in flight now, but others are to come */
		KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, grp_remove(s->fd, &plain));
		/* one that is visible can go by itself */
		KVT_OK(grp_remove_member(s->fd, &plain, 3, KVSTASH_KEYS_MEMBER));
		close(fd);
		if (put) {
			KVT_OK(grp_remove(s->fd, &plain));
			grp_expect_gone(_metadata, s->fd, &plain, buf);
		}
		EXPECT_EQ(0, kvr_ns(s, "objects"));
	}
}

/* Plain groups are evicted wholly, too. */
TEST_F(store, I9_plain_group_is_evicted_wholly)
{
	struct kvr_store *s = &self->s;
	struct grp g = plain;

	kvr_store_make(_metadata, s, KVR_MB(2), NULL);
	g.len = 65536;
	for (g.key.id = 0; g.key.id < 8; g.key.id++)
		KVT_OK(grp_put_all(s->fd, &g, buf));
	for (unsigned int i = 0; i < 8; i++) {
		grp_pressure(_metadata, s->fd, 10 * i, 4 * g.len, buf);
		for (g.key.id = 0; g.key.id < 8; g.key.id++)
			EXPECT_EQ(g.key.id <= i ? 0 : 4, grp_visible(s->fd, &g));
		EXPECT_EQ(i + 1, kvr_ns(s, "groups_evicted"));
	}
}

/* No group given: all as if there were none. */
TEST_F(store, I11_page_in_no_group_knows_of_none)
{
	struct kvr_obj page = { .key = { 2, 1 }, .len = LEN, .parts = 2 };
	struct kvr_store *s = &self->s;
	struct kvstash_exists x;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(kvr_put(s->fd, &page, buf));
	KVT_OK(kvr_exists(s->fd, &page, &x));
	EXPECT_EQ(0, x.members);
	EXPECT_EQ(0, x.members_present);
	EXPECT_EQ(0, x.group_state);
	EXPECT_EQ(0, x.group_flags);
	EXPECT_EQ(KVSTASH_PIN_NONE, x.pin);
	EXPECT_EQ(1, kvr_ns(s, "objects"));
	EXPECT_EQ(0, kvr_ns(s, "groups_complete"));
	EXPECT_EQ(0, kvr_ns(s, "groups_published"));
}

TEST_HARNESS_MAIN
