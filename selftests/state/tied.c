// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * States and pages: what goes with what, and what does not. Tied states go with
 * their page (I9); all others only for slots, and no page goes for these.
 */
#include "../group/lease.h"
#include "s_store.h"

#define ROOM	KVR_BLOCK

static char buf[ROOM];

static void begin(struct __test_metadata *_metadata, struct kvr_store *s,
		  const struct sst_layout *l, __u64 slots)
{
	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	ASSERT_EQ(0, sst_add(s->fd, l, slots).res);
}

/* Page @id with the tied states @first to @first + @n - 1 below it. */
static void put_with_states(struct __test_metadata *_metadata, int fd, __u64 id, __u64 first,
			    unsigned int n)
{
	struct kvr_obj o = sst_page(id, 4096);

	ASSERT_EQ(0, kvr_put(fd, &o, buf).res);
	for (unsigned int i = 0; i < n; i++) {
		struct sst_key k = sst_nth(&sst_tied, first + i);

		ASSERT_EQ(0, sst_put_below(fd, &sst_tied, &k, &o.key, buf).res);
	}
}

TEST_F(store, I9_tied_states_go_with_their_page)
{
	struct kvr_obj o = sst_page(1, 4096), other = sst_page(2, 4096);
	struct kvr_store *s = &self->s;
	struct sst_key k;

	begin(_metadata, s, &sst_tied, 8);
	put_with_states(_metadata, s->fd, 1, 0, 3);
	put_with_states(_metadata, s->fd, 2, 3, 2);
	EXPECT_EQ(0x1f, sst_those(s->fd, &sst_tied, 0, 5));
	KVT_OK(kvr_remove(s->fd, &o));
	EXPECT_EQ(0x18, sst_those(s->fd, &sst_tied, 0, 5));
	for (unsigned int i = 0; i < 3; i++) {
		k = sst_nth(&sst_tied, i);
		KVT_EXPECT(ENOENT, KVSTASH_R_MISS, sst_get(s->fd, &sst_tied, &k, buf));
	}
	EXPECT_EQ(3, sst_figures(s->fd, &sst_tied).removed);
	EXPECT_EQ(2, sst_figures(s->fd, &sst_tied).used);
	EXPECT_EQ(6 * SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
	EXPECT_EQ(3, kvr_ns(s, "killed_with_parent"));
	/* a state by itself leaves the page */
	k = sst_nth(&sst_tied, 3);
	KVT_OK(sst_remove(s->fd, &k));
	KVT_OK(kvr_get(s->fd, &other, buf));
	EXPECT_EQ(0x10, sst_those(s->fd, &sst_tied, 0, 5));
}

/* A chain of pages, each with a state: of the first that goes all below go before. */
TEST_F(store, I9_tied_states_go_with_the_chain)
{
	struct kvr_store *s = &self->s;
	struct kvr_obj o[4];
	struct sst_key k;

	begin(_metadata, s, &sst_tied, 8);
	for (unsigned int i = 0; i < 4; i++) {
		o[i] = sst_page(i, 4096);
		o[i].parent = i ? &o[i - 1].key : NULL;
		KVT_OK(kvr_put(s->fd, &o[i], buf));
		k = sst_nth(&sst_tied, i);
		KVT_OK(sst_put_below(s->fd, &sst_tied, &k, &o[i].key, buf));
	}
	KVT_OK(kvr_remove(s->fd, &o[2]));
	EXPECT_EQ(3, sst_those(s->fd, &sst_tied, 0, 4));
	EXPECT_EQ(2, kvr_count_visible(s->fd, 7, 0, 4));
}

static __u64 visible_pages(int fd, unsigned int n)
{
	__u64 bits = 0;

	for (unsigned int i = 0; i < n; i++)
		bits |= (__u64)kvr_count_visible(fd, 7, i, 1) << i;
	return bits;
}

TEST_F(store, I9_pages_under_pressure_take_their_tied_states_first)
{
	struct kvr_store *s = &self->s;
	unsigned int rounds = 0;
	__u64 states, seen = 0;

	begin(_metadata, s, &sst_tied, 16);
	for (unsigned int i = 0; i < 16; i++)
		put_with_states(_metadata, s->fd, i, i, 1);
	do {
		grp_pressure(_metadata, s->fd, 1000 + 4 * rounds, 4 * 65536, buf);
		/* nobody puts now: each page of a state that is there is, too */
		states = sst_those(s->fd, &sst_tied, 0, 16);
		EXPECT_EQ(states, states & visible_pages(s->fd, 16));
		seen |= states;
	} while (states && rounds++ < 100);
	EXPECT_EQ(0, states);
	EXPECT_LT(0, seen);
	EXPECT_EQ(0, kvr_count_visible(s->fd, 7, 0, 16));
	EXPECT_EQ(16, sst_figures(s->fd, &sst_tied).evictions);
	EXPECT_EQ(16 * SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
	kvr_sane(_metadata, s);
}

TEST_F(store, slots_under_pressure_take_tied_states_and_leave_the_pages)
{
	struct kvr_store *s = &self->s;

	begin(_metadata, s, &sst_tied, 4);
	for (unsigned int i = 0; i < 20; i++)
		put_with_states(_metadata, s->fd, i, i, 1);
	EXPECT_EQ(20, kvr_count_visible(s->fd, 7, 0, 20));
	EXPECT_EQ(0xf0000, sst_those(s->fd, &sst_tied, 0, 20));
	EXPECT_EQ(16, sst_figures(s->fd, &sst_tied).evictions);
	EXPECT_EQ(16, kvr_ns(s, "evictions"));
	KVT_OK(sst_resize(s->fd, &sst_tied, 1));
	EXPECT_EQ(20, kvr_count_visible(s->fd, 7, 0, 20));
	EXPECT_EQ(0x80000, sst_those(s->fd, &sst_tied, 0, 20));
	/* and the pages can go now, as leaves */
	EXPECT_TRUE(kvl_flood_out(s, s->fd, 7, 0, 20, buf));
}

TEST_F(store, R76_pressure_of_pages_takes_no_state_and_the_reverse)
{
	struct kvr_store *s = &self->s;
	struct kvr_obj o = sst_page(1, 4096);

	begin(_metadata, s, &sst_small, 4);
	KVT_OK(sst_put_some(s->fd, &sst_small, 0, 4, buf));
	KVT_OK(kvr_put(s->fd, &o, buf));
	KVT_OK(sst_put_some(s->fd, &sst_small, 4, 20, buf));
	KVT_OK(kvr_get(s->fd, &o, buf));
	EXPECT_EQ(20, kvr_ns(s, "evictions"));
	KVT_OK(kvl_flood(s, s->fd, buf));
	EXPECT_EQ(KVSTASH_STATE_ABSENT, kvr_state(s->fd, &o));
	EXPECT_EQ(0xf00000, sst_those(s->fd, &sst_small, 0, 24));
	EXPECT_EQ(20, sst_figures(s->fd, &sst_small).evictions);
}

/*
 * Parents
 */

/* A put of state @id of @l below what @e says beside. */
static struct kvstash_result put_as(int fd, const struct sst_layout *l, __u64 id,
				    struct kvstash_put *e, const struct kvr_key *parent,
				    __u8 kind)
{
	static struct sst_key k;

	k = sst_nth(l, id);
	sst_prep(e, l, &k, buf);
	if (parent)
		kvstash_prep_put_parent(e, parent, sizeof(*parent));
	e->parent_kind = kind;
	return kvt_put_one(fd, e);
}

TEST_F(store, tied_state_must_name_a_parent_and_another_must_not)
{
	struct kvr_obj o = sst_page(1, 4096), none = sst_page(2, 4096);
	struct kvr_store *s = &self->s;
	struct kvstash_result r;
	struct kvstash_put e;

	begin(_metadata, s, &sst_tied, 4);
	KVT_OK(sst_add(s->fd, &sst_small, 4));
	KVT_OK(kvr_put(s->fd, &o, buf));
	r = put_as(s->fd, &sst_tied, 1, &e, NULL, 0);
	KVT_EXPECT(EINVAL, KVSTASH_R_TIED, r);
	EXPECT_EQ(1, r.detail);
	r = put_as(s->fd, &sst_small, 1, &e, &o.key, KVSTASH_KIND_PAGE);
	KVT_EXPECT(EINVAL, KVSTASH_R_TIED, r);
	EXPECT_EQ(0, r.detail);
	r = put_as(s->fd, &sst_small, 1, &e, &o.key, KVSTASH_KIND_GROUP);
	KVT_EXPECT(EINVAL, KVSTASH_R_TIED, r);
	EXPECT_EQ(0, r.detail);
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS,
		   put_as(s->fd, &sst_tied, 1, &e, &none.key, KVSTASH_KIND_PAGE));
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS,
		   put_as(s->fd, &sst_tied, 1, &e, &o.key, KVSTASH_KIND_GROUP));
	KVT_EXPECT(EINVAL, KVSTASH_R_KIND,
		   put_as(s->fd, &sst_tied, 1, &e, &o.key, KVSTASH_KIND_STATE));
	EXPECT_EQ(0, sst_figures(s->fd, &sst_tied).states);
	EXPECT_EQ(0, sst_figures(s->fd, &sst_small).states);
	EXPECT_EQ(3, sst_figures(s->fd, &sst_tied).refused_other);
	EXPECT_EQ(2, sst_figures(s->fd, &sst_small).refused_other);
	KVT_OK(put_as(s->fd, &sst_tied, 1, &e, &o.key, KVSTASH_KIND_PAGE));
	/* another parent, or none, is another identity */
	KVT_OK(kvr_put(s->fd, &none, buf));
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_PARENT,
		   put_as(s->fd, &sst_tied, 1, &e, &none.key, KVSTASH_KIND_PAGE));
}

/* With the flag a tied state starts a chain; then it goes for slots only. */
TEST_F(store, tied_state_without_its_parent_if_the_flag_says_so)
{
	struct sst_key k = sst_nth(&sst_tied, 1);
	struct kvr_obj o = sst_page(1, 4096);
	struct kvr_store *s = &self->s;
	struct kvstash_put e;

	begin(_metadata, s, &sst_tied, 4);
	sst_prep(&e, &sst_tied, &k, buf);
	kvstash_prep_put_parent(&e, &o.key, sizeof(o.key));
	e.flags = KVSTASH_PUT_ROOT_IF_NO_PARENT;
	KVT_OK(kvt_put_one(s->fd, &e));
	KVT_OK(kvr_put(s->fd, &o, buf));
	KVT_OK(kvr_remove(s->fd, &o));
	KVT_OK(sst_get(s->fd, &sst_tied, &k, buf));
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(sst_get(s->fd, &sst_tied, &k, buf));
}

TEST_F(store, I9_tied_state_waits_for_its_page)
{
	struct kvr_obj o = sst_page(1, 4096), orphan = sst_page(2, 4096);
	struct sst_key k[2] = { sst_nth(&sst_tied, 1), sst_nth(&sst_tied, 2) };
	struct kvr_store *s = &self->s;
	struct kvstash_exists x;
	struct kvstash_handle h;

	begin(_metadata, s, &sst_tied, 2);
	KVT_OK(kvr_reserve(s->fd, &o, 0, &h));
	KVT_OK(sst_put_below(s->fd, &sst_tied, &k[0], &o.key, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_PENDING, sst_exists(s->fd, &k[0], &x));
	EXPECT_EQ(KVSTASH_STATE_WAITING, x.state);
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_PENDING, sst_get(s->fd, &sst_tied, &k[0], buf));
	KVT_OK(kvr_write_all(s->fd, &o, 0, &h, buf));
	KVT_OK(kvt_commit1(s->fd, &h));
	KVT_OK(sst_get(s->fd, &sst_tied, &k[0], buf));
	/* and goes with one that is given up */
	KVT_OK(kvr_reserve(s->fd, &orphan, 0, &h));
	KVT_OK(sst_put_below(s->fd, &sst_tied, &k[1], &orphan.key, buf));
	EXPECT_EQ(2, sst_figures(s->fd, &sst_tied).used);
	KVT_OK(kvt_abort1(s->fd, &h));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, sst_exists(s->fd, &k[1], &x));
	EXPECT_EQ(1, sst_figures(s->fd, &sst_tied).used);
}

TEST_F(store, I9_tied_state_below_a_group_goes_with_it)
{
	struct grp g = { .key = { 5, 1 }, .len = 4096, .members = 2,
			 .flags = KVSTASH_PUT_ATOMIC };
	struct kvr_obj member = grp_member(&g, 0);
	struct kvr_store *s = &self->s;
	struct kvstash_put e;

	begin(_metadata, s, &sst_tied, 2);
	KVT_OK(grp_put_all(s->fd, &g, buf));
	KVT_EXPECT(EINVAL, KVSTASH_R_PARENT_MEMBER,
		   put_as(s->fd, &sst_tied, 1, &e, &member.key, KVSTASH_KIND_PAGE));
	KVT_OK(put_as(s->fd, &sst_tied, 1, &e, &g.key, KVSTASH_KIND_GROUP));
	EXPECT_EQ(1, sst_those(s->fd, &sst_tied, 1, 1));
	KVT_OK(grp_remove(s->fd, &g));
	EXPECT_EQ(0, sst_those(s->fd, &sst_tied, 1, 1));
	EXPECT_EQ(0, sst_figures(s->fd, &sst_tied).used);
}

/* In one call, in the order of their chain; turned round the state misses its page. */
TEST_F(store, state_in_the_batch_of_its_pages)
{
	struct kvr_obj o = sst_page(1, 4096);
	struct sst_key k = sst_nth(&sst_tied, 1);
	struct kvr_store *s = &self->s;
	static char page[4096];
	struct kvstash_put e[2];

	begin(_metadata, s, &sst_tied, 2);
	for (unsigned int turned = 0; turned < 2; turned++) {
		kvr_fill(&o, 0, page);
		kvr_prep(&e[turned], &o, 0, page);
		sst_prep(&e[!turned], &sst_tied, &k, buf);
		kvstash_prep_put_parent(&e[!turned], &o.key, sizeof(o.key));
		ASSERT_EQ(2, kvt_put(s->fd, e, 2));
		KVT_OK(e[turned].r);
		KVT_EXPECT(turned ? ENOENT : 0, turned ? KVSTASH_R_PARENT_MISS : 0,
			   e[!turned].r);
		EXPECT_EQ(!turned, sst_there(s->fd, &k));
		KVT_OK(kvr_remove(s->fd, &o));
	}
}

TEST_F(store, I9_tied_state_does_not_outlive_its_page)
{
	struct kvr_obj o = sst_page(1, 4096);
	struct sst_key k[2] = { sst_nth(&sst_tied, 1), sst_nth(&sst_tied, 2) };
	struct kvr_store *s = &self->s;
	struct kvstash_put e;
	struct kvstash_exists x;

	begin(_metadata, s, &sst_tied, 2);
	kvr_fill(&o, 0, buf);
	kvr_prep(&e, &o, 0, buf);
	kvstash_prep_put_ttl(&e, 200);
	KVT_OK(kvt_put_one(s->fd, &e));
	for (unsigned int i = 0; i < 2; i++) {
		sst_prep(&e, &sst_tied, &k[i], buf);
		kvstash_prep_put_parent(&e, &o.key, sizeof(o.key));
		kvstash_prep_put_ttl(&e, i ? 1000000 : 0);
		KVT_OK(kvt_put_one(s->fd, &e));
	}
	while (kvr_state(s->fd, &o) == KVSTASH_STATE_VISIBLE)
		;
	for (unsigned int i = 0; i < 2; i++)
		KVT_EXPECT(ENOENT, KVSTASH_R_EXPIRED, sst_exists(s->fd, &k[i], &x));
	/* the worker takes all of it back before long */
	while (sst_figures(s->fd, &sst_tied).states)
		usleep(10000);
	EXPECT_EQ(2 * SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
	EXPECT_EQ(0, kvr_ns(s, "objects"));
}

/*
 * Pins and leases
 */

/* A tied state that stays keeps its page, too: a page is no leaf then. */
TEST_F(store, I9_leased_or_pinned_tied_state_keeps_its_page)
{
	struct sst_key k = sst_nth(&sst_tied, 0);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;

	begin(_metadata, s, &sst_tied, 1);
	put_with_states(_metadata, s->fd, 0, 0, 1);
	KVT_OK(sst_lease(s->fd, &k, &h));
	KVL_LEASED(1, SST_SMALL_SLOT, s);
	KVT_OK(kvl_flood(s, s->fd, buf));
	EXPECT_EQ(1, kvr_count_visible(s->fd, 7, 0, 1));
	KVT_OK(kvt_release1(s->fd, &h));
	KVT_OK(sst_pin(s->fd, &k, KVSTASH_PIN_HARD));
	EXPECT_EQ(SST_SMALL_SLOT, kvr_ns(s, "pinned_bytes"));
	KVT_OK(kvl_flood(s, s->fd, buf));
	EXPECT_EQ(1, kvr_count_visible(s->fd, 7, 0, 1));
	EXPECT_TRUE(sst_there(s->fd, &k));
	KVT_EXPECT(EBUSY, KVSTASH_R_SLOTS_HELD, sst_resize(s->fd, &sst_tied, 0));
	KVT_OK(sst_pin(s->fd, &k, KVSTASH_PIN_NONE));
	EXPECT_EQ(0, kvr_ns(s, "pinned_bytes"));
	EXPECT_TRUE(kvl_flood_out(s, s->fd, 7, 0, 1, buf));
	EXPECT_FALSE(sst_there(s->fd, &k));
}

/* Whatever the pin, REMOVE takes the page and the state. */
TEST_F(store, removal_of_a_page_takes_a_pinned_tied_state)
{
	struct sst_key k = sst_nth(&sst_tied, 0);
	struct kvr_obj o = sst_page(0, 4096);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;

	begin(_metadata, s, &sst_tied, 1);
	put_with_states(_metadata, s->fd, 0, 0, 1);
	KVT_OK(sst_pin(s->fd, &k, KVSTASH_PIN_HARD));
	KVT_OK(sst_lease(s->fd, &k, &h));
	KVT_OK(kvr_remove(s->fd, &o));
	EXPECT_FALSE(sst_there(s->fd, &k));
	EXPECT_EQ(0, kvr_ns(s, "pinned_bytes"));
	KVT_OK(sst_get_leased(s->fd, &sst_tied, &k, &h, buf));
	KVT_OK(kvt_release1(s->fd, &h));
	EXPECT_EQ(SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
}

TEST_HARNESS_MAIN
