// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * States as members of groups, beside pages: seen together, kept together, gone
 * together, whichever of the two has to make room (I4).
 */
#include "../group/lease.h"
#include "s_store.h"

#define PAGES	3U

static char buf[KVR_BLOCK];

/* A group of three pages and a state. */
static struct grp team(__u64 id, __u32 flags)
{
	return (struct grp){ .key = { 5, id }, .len = 4096, .members = PAGES + 1,
			     .flags = flags };
}

/* Its last member, state @id of @l. */
static struct kvstash_result put_state(int fd, const struct grp *g, const struct sst_layout *l,
				       __u64 id)
{
	struct sst_key k = sst_nth(l, id);
	struct kvstash_put e;

	sst_prep(&e, l, &k, buf);
	kvstash_prep_put_group(&e, &g->key, sizeof(g->key), PAGES, g->members, g->flags);
	return kvt_put_one(fd, &e);
}

/* Group @id with state @id. */
static void put_team(struct __test_metadata *_metadata, int fd, __u64 id, __u32 flags,
		     const struct sst_layout *l)
{
	struct grp g = team(id, flags);

	ASSERT_EQ(0, grp_put_some(fd, &g, 0, PAGES, buf).res);
	ASSERT_EQ(0, put_state(fd, &g, l, id).res);
}

/* How many of its pages are visible. */
static unsigned int pages_of(int fd, __u64 id)
{
	return kvr_count_visible(fd, 5, id << 16, PAGES);
}

static void begin(struct __test_metadata *_metadata, struct kvr_store *s,
		  const struct sst_layout *l, __u64 slots)
{
	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	ASSERT_EQ(0, sst_add(s->fd, l, slots).res);
}

TEST_F(store, I4_atomic_group_of_pages_and_a_state_appears_at_once)
{
	struct grp g = team(1, KVSTASH_PUT_ATOMIC);
	struct sst_key k = sst_nth(&sst_small, 1);
	struct kvr_store *s = &self->s;
	struct kvstash_result r;
	struct kvstash_exists x;

	begin(_metadata, s, &sst_small, 2);
	/* the state before the last page */
	KVT_OK(grp_put_some(s->fd, &g, 0, PAGES - 1, buf));
	KVT_OK(put_state(s->fd, &g, &sst_small, 1));
	r = sst_get(s->fd, &sst_small, &k, buf);
	KVT_EXPECT(ENOENT, KVSTASH_R_GROUP_INCOMPLETE, r);
	EXPECT_EQ(PAGES, r.detail);
	KVT_EXPECT(ENOENT, KVSTASH_R_GROUP_INCOMPLETE, sst_exists(s->fd, &k, &x));
	EXPECT_EQ(PAGES + 1, x.members);
	EXPECT_EQ(PAGES, x.members_present);
	EXPECT_EQ(KVSTASH_GROUP_ATOMIC, x.group_flags);
	EXPECT_EQ(0, pages_of(s->fd, 1));
	KVT_OK(grp_put(s->fd, &g, PAGES - 1, buf));
	EXPECT_EQ(PAGES, pages_of(s->fd, 1));
	KVT_OK(sst_get(s->fd, &sst_small, &k, buf));
	KVT_OK(sst_exists(s->fd, &k, &x));
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, x.group_state);
	EXPECT_EQ(PAGES + 1, x.members_present);
	KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, put_state(s->fd, &g, &sst_small, 1));
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_GROUP, sst_put(s->fd, &sst_small, &k, buf));
	/* and goes at once, by its state as by its pages */
	KVT_OK(sst_remove(s->fd, &k));
	EXPECT_EQ(0, pages_of(s->fd, 1));
	EXPECT_EQ(2 * SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
	EXPECT_EQ(1, sst_figures(s->fd, &sst_small).removed);
}

/* A member of a group needs no parent, tied or not: the group's is its own. */
TEST_F(store, member_of_a_tied_layout_needs_no_parent)
{
	struct kvr_store *s = &self->s;

	begin(_metadata, s, &sst_tied, 2);
	put_team(_metadata, s->fd, 1, KVSTASH_PUT_ATOMIC, &sst_tied);
	EXPECT_EQ(1, sst_those(s->fd, &sst_tied, 1, 1));
}

TEST_F(store, I4_pressure_for_slots_takes_the_whole_group)
{
	struct kvr_obj page = { .key = { 5, 1 << 16 }, .len = 4096, .parts = 1 };
	struct kvr_store *s = &self->s;

	begin(_metadata, s, &sst_small, 2);
	for (__u64 id = 0; id < 2; id++)
		put_team(_metadata, s->fd, id, id ? 0 : KVSTASH_PUT_ATOMIC, &sst_small);
	KVT_OK(sst_put_some(s->fd, &sst_small, 10, 1, buf));
	EXPECT_EQ(0, pages_of(s->fd, 0));
	EXPECT_EQ(PAGES, pages_of(s->fd, 1));
	EXPECT_EQ(2, sst_those(s->fd, &sst_small, 0, 2));
	EXPECT_EQ(1, kvr_ns(s, "groups_evicted"));
	EXPECT_EQ(PAGES + 1, kvr_ns(s, "evictions"));
	/* the state by itself was used less recently than the group */
	KVT_OK(kvr_get(s->fd, &page, buf));
	KVT_OK(sst_put_some(s->fd, &sst_small, 11, 1, buf));
	EXPECT_EQ(PAGES, pages_of(s->fd, 1));
	EXPECT_EQ(0, sst_those(s->fd, &sst_small, 10, 1));
	KVT_OK(sst_put_some(s->fd, &sst_small, 12, 1, buf));
	EXPECT_EQ(0, pages_of(s->fd, 1));
	EXPECT_EQ(3, sst_figures(s->fd, &sst_small).evictions);
	kvr_sane(_metadata, s);
}

TEST_F(store, I4_pressure_for_pages_takes_the_whole_group)
{
	struct kvr_store *s = &self->s;

	begin(_metadata, s, &sst_small, 4);
	for (__u64 id = 0; id < 3; id++)
		put_team(_metadata, s->fd, id, KVSTASH_PUT_ATOMIC, &sst_small);
	KVT_OK(sst_put_some(s->fd, &sst_small, 10, 1, buf));
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(kvl_flood(s, s->fd, buf));
	for (__u64 id = 0; id < 3; id++)
		EXPECT_EQ(0, pages_of(s->fd, id));
	EXPECT_EQ(0, sst_those(s->fd, &sst_small, 0, 3));
	EXPECT_EQ(1, sst_those(s->fd, &sst_small, 10, 1));
	EXPECT_EQ(3, sst_figures(s->fd, &sst_small).evictions);
	EXPECT_EQ(3 * SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
}

/* Whoever of it is leased, or pinned: all stay. */
TEST_F(store, I4_leased_member_protects_the_state)
{
	struct kvr_obj page = { .key = { 5, 1 << 16 | 1 }, .len = 4096, .parts = 1 };
	struct grp g = team(1, KVSTASH_PUT_ATOMIC);
	struct sst_key k = sst_nth(&sst_small, 1);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	struct kvstash_result r;

	begin(_metadata, s, &sst_small, 1);
	put_team(_metadata, s->fd, 1, KVSTASH_PUT_ATOMIC, &sst_small);
	for (unsigned int way = 0; way < 4; way++) {
		if (way == 0)
			KVT_OK(kvl_lease(s->fd, &page, &h));
		else if (way == 1)
			KVT_OK(sst_lease(s->fd, &k, &h));
		else if (way == 2)
			KVT_OK(kvl_lease_group(s->fd, &g, NULL, &h));
		else
			KVT_OK(grp_pin(s->fd, &g, KVSTASH_PIN_HARD));
		if (way < 3)
			KVL_LEASED(1, PAGES * 4096 + SST_SMALL_SLOT, s);
		r = sst_put_some(s->fd, &sst_small, 10, 1, buf);
		KVT_EXPECT(ENOSPC, KVSTASH_R_NO_SLOT, r);
		EXPECT_EQ(1, r.detail);
		r = sst_resize(s->fd, &sst_small, 0);
		KVT_EXPECT(EBUSY, KVSTASH_R_SLOTS_HELD, r);
		EXPECT_EQ(1, r.detail);
		KVT_OK(sst_get(s->fd, &sst_small, &k, buf));
		EXPECT_EQ(PAGES, pages_of(s->fd, 1));
		if (way < 3)
			KVT_OK(kvt_release1(s->fd, &h));
	}
	EXPECT_EQ(PAGES * 4096 + SST_SMALL_SLOT, kvr_ns(s, "pinned_bytes"));
	KVT_OK(grp_pin(s->fd, &g, KVSTASH_PIN_NONE));
	KVT_OK(sst_put_some(s->fd, &sst_small, 10, 1, buf));
	EXPECT_EQ(0, pages_of(s->fd, 1));
}

/* A pin of the group is the state's; taken back it counts no more. */
TEST_F(store, I4_soft_pinned_group_goes_after_other_states)
{
	struct grp g = team(1, KVSTASH_PUT_ATOMIC);
	struct kvr_store *s = &self->s;

	begin(_metadata, s, &sst_small, 3);
	put_team(_metadata, s->fd, 1, KVSTASH_PUT_ATOMIC, &sst_small);
	KVT_OK(grp_pin(s->fd, &g, KVSTASH_PIN_SOFT));
	KVT_OK(sst_put_some(s->fd, &sst_small, 10, 20, buf));
	EXPECT_EQ(PAGES, pages_of(s->fd, 1));
	EXPECT_EQ(3ULL << 18, sst_those(s->fd, &sst_small, 10, 20));
	KVT_OK(grp_pin(s->fd, &g, KVSTASH_PIN_NONE));
	KVT_OK(sst_put_some(s->fd, &sst_small, 40, 1, buf));
	EXPECT_EQ(0, pages_of(s->fd, 1));
	EXPECT_EQ(3ULL << 18, sst_those(s->fd, &sst_small, 10, 20));
}

/* The same of more states than are looked at in one go. */
TEST_F(store, I4_unpinned_group_of_many_states_goes_in_its_turn)
{
	struct grp g = { .key = { 5, 1 }, .len = 4096, .members = 200,
			 .flags = KVSTASH_PUT_ATOMIC };
	struct kvr_store *s = &self->s;
	struct kvstash_put e;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	ASSERT_EQ(0, sst_add(s->fd, &sst_small, 202).res);
	for (unsigned int i = 0; i < g.members; i++) {
		struct sst_key k = sst_nth(&sst_small, 100 + i);

		sst_prep(&e, &sst_small, &k, buf);
		kvstash_prep_put_group(&e, &g.key, sizeof(g.key), i, g.members, g.flags);
		ASSERT_EQ(0, kvt_put_one(s->fd, &e).res);
	}
	KVT_OK(grp_pin(s->fd, &g, KVSTASH_PIN_SOFT));
	KVT_OK(sst_put_some(s->fd, &sst_small, 10, 10, buf));
	EXPECT_EQ(3ULL << 8, sst_those(s->fd, &sst_small, 10, 10));
	KVT_OK(grp_pin(s->fd, &g, KVSTASH_PIN_NONE));
	KVT_OK(sst_put_some(s->fd, &sst_small, 30, 1, buf));
	EXPECT_EQ(0, sst_those(s->fd, &sst_small, 100, 64));
	EXPECT_EQ(3ULL << 8, sst_those(s->fd, &sst_small, 10, 10));
	EXPECT_EQ(3, sst_figures(s->fd, &sst_small).used);
}

/* A group with what descends from it is no leaf: it stays, and so does its state. */
TEST_F(store, I9_group_with_children_keeps_its_state)
{
	struct grp g = team(1, KVSTASH_PUT_ATOMIC);
	struct kvr_obj o = sst_page(1, 4096);
	struct kvr_store *s = &self->s;
	struct kvstash_put e;

	begin(_metadata, s, &sst_small, 1);
	put_team(_metadata, s->fd, 1, KVSTASH_PUT_ATOMIC, &sst_small);
	kvr_fill(&o, 0, buf);
	kvr_prep(&e, &o, 0, buf);
	kvstash_prep_put_parent_group(&e, &g.key, sizeof(g.key));
	KVT_OK(kvt_put_one(s->fd, &e));
	KVT_EXPECT(ENOSPC, KVSTASH_R_NO_SLOT, sst_put_some(s->fd, &sst_small, 10, 1, buf));
	EXPECT_EQ(PAGES, pages_of(s->fd, 1));
	KVT_OK(kvr_remove(s->fd, &o));
	KVT_OK(sst_put_some(s->fd, &sst_small, 10, 1, buf));
	EXPECT_EQ(0, pages_of(s->fd, 1));
}

/*
 * Groups that lack members
 */

TEST_F(store, I5_incomplete_group_gives_its_slot_when_its_writers_are_gone)
{
	struct grp g = team(1, KVSTASH_PUT_ATOMIC);
	struct kvr_store *s = &self->s;
	struct kvstash_result r;
	int fd;

	begin(_metadata, s, &sst_small, 1);
	fd = kvt_open_ns(s->name);
	ASSERT_LE(0, fd);
	KVT_OK(put_state(fd, &g, &sst_small, 1));
	/* its writer lives, and may complete it at any time */
	r = sst_put_some(s->fd, &sst_small, 10, 1, buf);
	KVT_EXPECT(ENOSPC, KVSTASH_R_NO_SLOT, r);
	KVT_EXPECT(EBUSY, KVSTASH_R_SLOTS_HELD, sst_resize(s->fd, &sst_small, 0));
	close(fd);
	EXPECT_EQ(1, sst_figures(s->fd, &sst_small).used);
	KVT_OK(sst_put_some(s->fd, &sst_small, 10, 1, buf));
	EXPECT_EQ(1, kvr_ns(s, "groups_collected"));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, grp_exists(s->fd, &g, NULL));
	kvr_sane(_metadata, s);
}

/* NO_LINGER: its slot is back before the close returns. */
TEST_F(store, I5_group_without_linger_gives_its_slot_with_its_last_writer)
{
	struct grp g = team(1, KVSTASH_PUT_ATOMIC | KVSTASH_PUT_NO_LINGER);
	struct kvr_store *s = &self->s;
	int fd;

	begin(_metadata, s, &sst_small, 1);
	fd = kvt_open_ns(s->name);
	ASSERT_LE(0, fd);
	KVT_OK(put_state(fd, &g, &sst_small, 1));
	EXPECT_EQ(0, kvr_pool(s, "slot_free_bytes"));
	close(fd);
	EXPECT_EQ(SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
	EXPECT_EQ(0, sst_figures(s->fd, &sst_small).states);
}

/* A group does not take its own slots away: it can't be complete with too few. */
TEST_F(store, I4_group_of_more_states_than_slots_is_refused)
{
	struct grp g = { .key = { 5, 1 }, .len = 4096, .members = 3,
			 .flags = KVSTASH_PUT_ATOMIC };
	struct kvr_store *s = &self->s;
	struct kvstash_result r;
	struct kvstash_put e;
	struct sst_key k;

	begin(_metadata, s, &sst_small, 2);
	for (unsigned int i = 0; i < 3; i++) {
		k = sst_nth(&sst_small, i);
		sst_prep(&e, &sst_small, &k, buf);
		kvstash_prep_put_group(&e, &g.key, sizeof(g.key), i, 3, g.flags);
		r = kvt_put_one(s->fd, &e);
		KVT_EXPECT(i == 2 ? ENOSPC : 0, i == 2 ? KVSTASH_R_NO_SLOT : 0, r);
	}
	EXPECT_EQ(2, sst_figures(s->fd, &sst_small).used);
	EXPECT_EQ(0, sst_those(s->fd, &sst_small, 0, 3));
	KVT_OK(sst_resize(s->fd, &sst_small, 3));
	KVT_OK(kvt_put_one(s->fd, &e));
	EXPECT_EQ(7, sst_those(s->fd, &sst_small, 0, 3));
	/* all or nothing: two of its slots are not to be had alone */
	KVT_OK(sst_resize(s->fd, &sst_small, 2));
	EXPECT_EQ(0, sst_those(s->fd, &sst_small, 0, 3));
	EXPECT_EQ(3, sst_figures(s->fd, &sst_small).evictions);
	EXPECT_EQ(2 * SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
}

TEST_F(store, state_of_a_plain_group_is_seen_and_goes_by_itself)
{
	struct sst_key k = sst_nth(&sst_small, 1);
	struct grp g = team(1, 0);
	struct kvr_store *s = &self->s;
	struct kvstash_keys keys = { .flags = KVSTASH_KEYS_MEMBER };

	begin(_metadata, s, &sst_small, 1);
	KVT_OK(put_state(s->fd, &g, &sst_small, 1));
	KVT_OK(sst_get(s->fd, &sst_small, &k, buf));
	KVT_OK(grp_put_some(s->fd, &g, 0, PAGES, buf));
	KVT_OK(sst_keys_one(s->fd, KVSTASH_IOC_REMOVE, &keys, &k));
	EXPECT_EQ(PAGES, pages_of(s->fd, 1));
	EXPECT_EQ(SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
	KVT_OK(put_state(s->fd, &g, &sst_small, 1));
	KVT_OK(grp_remove(s->fd, &g));
	EXPECT_FALSE(sst_there(s->fd, &k));
	EXPECT_EQ(2, sst_figures(s->fd, &sst_small).removed);
}

TEST_HARNESS_MAIN
