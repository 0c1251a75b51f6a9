// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/*
 * Groups in the prefix chain: a group's parent is a page or a group, and a page's
 * parent may be a group. What is missing, in flight, or goes meanwhile; cycles.
 */
#include "g_store.h"

#define LEN	5000U

static char buf[65536];

/* Group @id of the tests' chains; @parent, a key of @kind, or NULL. */
static struct grp chain_grp(__u64 id, const struct kvr_key *parent, __u8 kind)
{
	return (struct grp){
		.key = { 1, id }, .parent = parent, .parent_kind = kind, .len = LEN,
		.members = 3, .flags = KVSTASH_PUT_ATOMIC,
	};
}

static struct kvr_obj chain_page(__u64 id)
{
	return (struct kvr_obj){ .key = { 2, id }, .len = LEN, .parts = 1 };
}

/* A put of page @o whose parent is group @parent. */
static struct kvstash_result put_below(int fd, const struct kvr_obj *o,
				       const struct kvr_key *parent)
{
	struct kvstash_put e;

	kvr_fill(o, 0, buf);
	kvr_prep(&e, o, 0, buf);
	kvstash_prep_put_parent_group(&e, parent, sizeof(*parent));
	return kvt_put_one(fd, &e);
}

TEST_F(store, I9_parent_missing)
{
	struct kvr_key missing = { 9, 1 };
	struct kvr_store *s = &self->s;
	struct grp_figures was;
	struct grp g;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	was = grp_figures(s);
	for (unsigned int kind = 0; kind < 2; kind++) {
		g = chain_grp(kind, &missing, kind);
		KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS, grp_put(s->fd, &g, 0, buf));
		grp_expect_gone(_metadata, s->fd, &g, buf);
		grp_expect_figures(_metadata, s, &was);
	}
	for (unsigned int kind = 0; kind < 2; kind++) {
		g = chain_grp(kind, &missing, kind);
		g.flags |= KVSTASH_PUT_ROOT_IF_NO_PARENT;
		KVT_OK(grp_put_all(s->fd, &g, buf));
		grp_expect_visible(_metadata, s->fd, &g, buf);
	}
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS,
		   put_below(s->fd, &(struct kvr_obj){ { 2, 1 }, NULL, LEN, 1 }, &missing));
}

/* A page with the key of the group that is named as parent is another thing. */
TEST_F(store, I9_parent_of_the_other_kind_is_missing)
{
	struct kvr_obj page = { .key = { 1, 1 }, .len = LEN, .parts = 1 };
	struct grp a = chain_grp(1, NULL, 0), b = chain_grp(2, &a.key, KVSTASH_KIND_GROUP);
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(kvr_put(s->fd, &page, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS, grp_put(s->fd, &b, 0, buf));
	KVT_OK(kvr_remove(s->fd, &page));
	KVT_OK(grp_put_all(s->fd, &a, buf));
	b.parent_kind = KVSTASH_KIND_PAGE;
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS, grp_put(s->fd, &b, 0, buf));
	b.parent_kind = KVSTASH_KIND_GROUP;
	KVT_OK(grp_put_all(s->fd, &b, buf));
	grp_expect_visible(_metadata, s->fd, &b, buf);
}

TEST_F(store, I4_I9_parent_in_flight)
{
	struct kvr_obj page = chain_page(1);
	struct grp g = chain_grp(1, &page.key, KVSTASH_KIND_PAGE);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(kvr_reserve(s->fd, &page, 0, &h));
	KVT_OK(grp_put_some(s->fd, &g, 0, 2, buf));
	grp_expect_hidden(_metadata, s->fd, &g, 3, buf);
	KVT_OK(grp_put(s->fd, &g, 2, buf));
	grp_expect_waiting(_metadata, s->fd, &g, buf);
	EXPECT_EQ(0, kvr_ns(s, "groups_published"));
	KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, grp_put(s->fd, &g, 2, buf));
	KVT_OK(kvr_write_all(s->fd, &page, 0, &h, buf));
	grp_expect_waiting(_metadata, s->fd, &g, buf);
	KVT_OK(kvt_commit1(s->fd, &h));
	grp_expect_visible(_metadata, s->fd, &g, buf);
	EXPECT_EQ(1, kvr_ns(s, "groups_published"));
}

TEST_F(store, I4_I9_parent_group_lacks_a_member)
{
	struct grp a = chain_grp(1, NULL, 0), b = chain_grp(2, &a.key, KVSTASH_KIND_GROUP);
	struct kvr_store *s = &self->s;
	struct kvr_obj page = chain_page(1);

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(grp_put_some(s->fd, &a, 1, 3, buf));
	KVT_OK(grp_put_all(s->fd, &b, buf));
	KVT_OK(put_below(s->fd, &page, &b.key));
	grp_expect_waiting(_metadata, s->fd, &b, buf);
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_PENDING, kvr_get(s->fd, &page, buf));
	KVT_OK(grp_put(s->fd, &a, 0, buf));
	grp_expect_visible(_metadata, s->fd, &a, buf);
	grp_expect_visible(_metadata, s->fd, &b, buf);
	KVT_OK(kvr_get(s->fd, &page, buf));
}

TEST_F(store, I9_aborted_parent_takes_the_group)
{
	struct kvr_obj page = chain_page(1);
	struct grp g = chain_grp(1, &page.key, KVSTASH_KIND_PAGE);
	struct kvr_store *s = &self->s;
	struct grp_figures was;
	struct kvstash_handle h;
	int fd2;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	fd2 = kvt_open_ns(s->name);
	ASSERT_LE(0, fd2);
	was = grp_figures(s);
	for (unsigned int n = 1; n < 4; n++) {
		KVT_OK(kvr_reserve(s->fd, &page, 0, &h));
		KVT_OK(grp_put_some(fd2, &g, 0, n, buf));
		KVT_OK(kvt_abort1(s->fd, &h));
		grp_expect_gone(_metadata, fd2, &g, buf);
		grp_expect_figures(_metadata, s, &was);
		KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS, grp_put(fd2, &g, 0, buf));
	}
	close(fd2);
}

/* The parent is removed while the group fills: with it goes the group. */
TEST_F(store, I4_I9_parent_dying_while_its_group_fills)
{
	struct kvr_obj page = chain_page(1), one;
	struct grp g = chain_grp(1, &page.key, KVSTASH_KIND_PAGE);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	int fd2;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	fd2 = kvt_open_ns(s->name);
	ASSERT_LE(0, fd2);
	KVT_OK(kvr_put(s->fd, &page, buf));
	KVT_OK(grp_put(fd2, &g, 0, buf));
	KVT_OK(grp_reserve(fd2, &g, 1, 0, &h));
	one = grp_member(&g, 1);
	KVT_OK(kvr_write(fd2, &one, 0, &h, buf, 0, 1000));
	KVT_OK(kvr_remove(s->fd, &page));
	grp_expect_gone(_metadata, s->fd, &g, buf);
	EXPECT_EQ(0, kvr_ns(s, "groups_filling"));
	EXPECT_EQ(0, kvr_pool(s, "committed_bytes"));
	EXPECT_EQ(0, kvr_pool(s, "in_flight_bytes"));
	KVT_EXPECT(EIDRM, KVSTASH_R_REMOVED, kvr_write(fd2, &one, 0, &h, buf, 1000, 2000));
	KVT_EXPECT(EIDRM, KVSTASH_R_REMOVED, kvt_commit1(fd2, &h));
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS, grp_put(fd2, &g, 1, buf));
	grp_expect_gone(_metadata, s->fd, &g, buf);
	KVT_OK(kvr_put(s->fd, &page, buf));
	KVT_OK(grp_put_all(fd2, &g, buf));
	grp_expect_visible(_metadata, s->fd, &g, buf);
	close(fd2);
}

/* The parent is itself a member: of this group, or of another. */
TEST_F(store, I9_parent_that_is_a_member_is_refused)
{
	struct grp g = chain_grp(1, NULL, 0), b = chain_grp(2, NULL, KVSTASH_KIND_PAGE);
	struct kvr_store *s = &self->s;
	struct kvr_obj page = chain_page(1), first = grp_member(&g, 0);
	struct grp_figures was;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(grp_put(s->fd, &g, 0, buf));
	b.parent = &first.key;
	page.parent = &first.key;
	for (unsigned int visible = 0; visible < 2; visible++) {
		was = grp_figures(s);
		KVT_EXPECT(EINVAL, KVSTASH_R_PARENT_MEMBER, grp_put(s->fd, &b, 0, buf));
		b.flags |= KVSTASH_PUT_ROOT_IF_NO_PARENT;
		KVT_EXPECT(EINVAL, KVSTASH_R_PARENT_MEMBER, grp_put(s->fd, &b, 0, buf));
		KVT_EXPECT(EINVAL, KVSTASH_R_PARENT_MEMBER, kvr_put(s->fd, &page, buf));
		grp_expect_gone(_metadata, s->fd, &b, buf);
		KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(s->fd, &page, NULL));
		grp_expect_figures(_metadata, s, &was);
		if (!visible)
			KVT_OK(grp_put_some(s->fd, &g, 1, 3, buf));
	}
	grp_expect_visible(_metadata, s->fd, &g, buf);
}

/* Of the same group: one that is in, and one that is to come. */
TEST_F(store, I9_parent_that_is_a_member_of_the_same_group_is_refused)
{
	struct grp g = chain_grp(1, NULL, KVSTASH_KIND_PAGE);
	struct kvr_obj first = grp_member(&g, 0);
	struct kvr_store *s = &self->s;
	struct grp_figures was;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	was = grp_figures(s);
	g.parent = &first.key;
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS, grp_put(s->fd, &g, 1, buf));
	grp_expect_gone(_metadata, s->fd, &g, buf);
	grp_expect_figures(_metadata, s, &was);
	g.parent = NULL;
	KVT_OK(grp_put(s->fd, &g, 0, buf));
	was = grp_figures(s);
	g.parent = &first.key;
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_PARENT, grp_put(s->fd, &g, 1, buf));
	grp_expect_hidden(_metadata, s->fd, &g, 1, buf);
	grp_expect_figures(_metadata, s, &was);
}

/* Of itself: a group, and a member that has its own key as the group's parent. */
TEST_F(store, I9_own_parent_is_refused)
{
	struct grp g = chain_grp(1, NULL, KVSTASH_KIND_GROUP);
	struct kvr_obj first = grp_member(&g, 0);
	struct kvr_store *s = &self->s;
	struct grp_figures was;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	was = grp_figures(s);
	for (unsigned int i = 0; i < 2; i++) {
		g.flags ^= KVSTASH_PUT_ROOT_IF_NO_PARENT;
		g.parent = &g.key;
		g.parent_kind = KVSTASH_KIND_GROUP;
		KVT_EXPECT(ELOOP, KVSTASH_R_PARENT_SELF, grp_put(s->fd, &g, 0, buf));
		g.parent = &first.key;
		g.parent_kind = KVSTASH_KIND_PAGE;
		KVT_EXPECT(ELOOP, KVSTASH_R_PARENT_SELF, grp_put(s->fd, &g, 0, buf));
		grp_expect_gone(_metadata, s->fd, &g, buf);
		grp_expect_figures(_metadata, s, &was);
	}
}

/* A's parent shall be B, whose parent is A: whichever way, it is refused. */
TEST_F(store, I9_cycle_is_refused)
{
	struct grp a = chain_grp(1, NULL, 0), b = chain_grp(2, &a.key, KVSTASH_KIND_GROUP);
	struct kvr_store *s = &self->s;
	struct kvr_obj page = chain_page(1);
	struct grp_figures was;
	struct grp a_of_b;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	a_of_b = chain_grp(1, &b.key, KVSTASH_KIND_GROUP);
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS, grp_put(s->fd, &a_of_b, 0, buf));
	KVT_OK(grp_put(s->fd, &a, 0, buf));
	KVT_OK(grp_put(s->fd, &b, 0, buf));
	was = grp_figures(s);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_PARENT, grp_put(s->fd, &a_of_b, 1, buf));
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_PARENT, grp_put(s->fd, &a_of_b, 0, buf));
	grp_expect_figures(_metadata, s, &was);
	KVT_OK(grp_put_some(s->fd, &a, 1, 3, buf));
	KVT_OK(grp_put_some(s->fd, &b, 1, 3, buf));
	/* over a page: A - B - page - A */
	KVT_OK(put_below(s->fd, &page, &b.key));
	a_of_b = chain_grp(1, &page.key, KVSTASH_KIND_PAGE);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_PARENT, grp_put(s->fd, &a_of_b, 1, buf));
	grp_expect_visible(_metadata, s->fd, &a, buf);
	grp_expect_visible(_metadata, s->fd, &b, buf);
	KVT_OK(grp_remove(s->fd, &a));
	EXPECT_EQ(0, kvr_ns(s, "objects"));
}

/* With the flag a put that finds no parent starts a chain, and stays its root. */
TEST_F(store, I9_cycle_by_missing_parent_is_refused)
{
	struct grp a, b;
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	a = chain_grp(1, NULL, KVSTASH_KIND_GROUP);
	b = chain_grp(2, &a.key, KVSTASH_KIND_GROUP);
	a.parent = &b.key;
	a.flags |= KVSTASH_PUT_ROOT_IF_NO_PARENT;
	KVT_OK(grp_put(s->fd, &a, 0, buf));
	KVT_OK(grp_put_all(s->fd, &b, buf));
	/* A has no parent, whatever it was put with; B waits for it */
	grp_expect_waiting(_metadata, s->fd, &b, buf);
	KVT_OK(grp_put_some(s->fd, &a, 1, 3, buf));
	grp_expect_visible(_metadata, s->fd, &a, buf);
	grp_expect_visible(_metadata, s->fd, &b, buf);
}

/* All members of a group name one parent. */
TEST_F(store, I4_members_with_different_parents)
{
	struct kvr_obj page[2] = { chain_page(1), chain_page(2) };
	struct grp g = chain_grp(1, &page[0].key, KVSTASH_KIND_PAGE), h = g;
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int i = 0; i < 2; i++)
		KVT_OK(kvr_put(s->fd, &page[i], buf));
	KVT_OK(grp_put(s->fd, &g, 0, buf));
	h.parent = &page[1].key;
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_PARENT, grp_put(s->fd, &h, 1, buf));
	h.parent = NULL;
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_PARENT, grp_put(s->fd, &h, 1, buf));
	grp_expect_hidden(_metadata, s->fd, &g, 1, buf);
	KVT_OK(grp_put_some(s->fd, &g, 1, 3, buf));
	grp_expect_visible(_metadata, s->fd, &g, buf);
	KVT_OK(kvr_remove(s->fd, &page[1]));
	grp_expect_visible(_metadata, s->fd, &g, buf);
	KVT_OK(kvr_remove(s->fd, &page[0]));
	grp_expect_gone(_metadata, s->fd, &g, buf);
}

/*
 * Group 0 - page 1 - group 2 - group 3, of which each is completed in each order;
 * visible is always a run from the root.
 */
#define LINKS	4

struct chain {
	struct grp g[LINKS];	/* 1 is not used */
	struct kvr_obj page;
	struct kvstash_handle h[LINKS];
};

static void chain_reserve(struct __test_metadata *_metadata, int fd, struct chain *c)
{
	struct kvstash_put e;

	c->g[0] = chain_grp(10, NULL, 0);
	c->page = chain_page(11);
	c->g[2] = chain_grp(12, &c->page.key, KVSTASH_KIND_PAGE);
	c->g[3] = chain_grp(13, &c->g[2].key, KVSTASH_KIND_GROUP);
	for (unsigned int i = 0; i < LINKS; i++) {
		if (i == 1) {
			kvr_prep(&e, &c->page, 0, NULL);
			kvstash_prep_put_parent_group(&e, &c->g[0].key, sizeof(c->g[0].key));
			KVT_OK(kvt_reserve_one(fd, &e));
			c->h[1] = e.handle;
			KVT_OK(kvr_write_all(fd, &c->page, 0, &c->h[1], buf));
			continue;
		}
		KVT_OK(grp_put_some(fd, &c->g[i], 0, 2, buf));
		KVT_OK(grp_reserve(fd, &c->g[i], 2, 0, &c->h[i]));
		KVT_OK(grp_write(fd, &c->g[i], 2, 0, &c->h[i], buf));
	}
}

static bool link_visible(int fd, const struct chain *c, unsigned int i)
{
	int n;

	if (i == 1)
		return kvr_state(fd, &c->page) == KVSTASH_STATE_VISIBLE;
	n = grp_visible(fd, &c->g[i]);
	if (n && n != 3)
		kvr_say("link %u: %d of 3", i, n);
	return n == 3;
}

static void commit_chain(struct __test_metadata *_metadata, struct kvr_store *s,
			 const unsigned int *order)
{
	bool in[LINKS] = { false }, all;
	struct chain c;

	chain_reserve(_metadata, s->fd, &c);
	for (unsigned int n = 0; n < LINKS; n++) {
		KVT_OK(kvt_commit1(s->fd, &c.h[order[n]]));
		in[order[n]] = true;
		all = true;
		for (unsigned int i = 0; i < LINKS; i++) {
			all = all && in[i];
			EXPECT_EQ(all, link_visible(s->fd, &c, i));
		}
	}
	KVT_OK(grp_get(s->fd, &c.g[3], 1, buf));
	KVT_OK(grp_remove_member(s->fd, &c.g[0], 1, 0));
	for (unsigned int i = 0; i < LINKS; i++)
		EXPECT_FALSE(link_visible(s->fd, &c, i));
	EXPECT_EQ(0, kvr_ns(s, "objects"));
}

TEST_F(store, I4_I9_chain_of_groups_and_pages_publishes_from_the_root)
{
	struct kvr_store *s = &self->s;
	unsigned int n = 0, o[LINKS];

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int i = 0; i < 256; i++) {
		for (unsigned int k = 0; k < LINKS; k++)
			o[k] = i >> 2 * k & 3;
		if ((1 << o[0] | 1 << o[1] | 1 << o[2] | 1 << o[3]) != 15)
			continue;
		commit_chain(_metadata, s, o);
		n++;
	}
	EXPECT_EQ(24, n);
}

/* REMOVE of a link takes what is below, in both directions of kinds. */
TEST_F(store, I9_remove_takes_what_descends)
{
	struct kvr_store *s = &self->s;
	static const unsigned int order[] = { 0, 1, 2, 3 };
	struct chain c;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int cut = 0; cut < LINKS; cut++) {
		chain_reserve(_metadata, s->fd, &c);
		for (unsigned int i = 0; i < LINKS; i++)
			KVT_OK(kvt_commit1(s->fd, &c.h[order[i]]));
		if (cut == 1)
			KVT_OK(kvr_remove(s->fd, &c.page));
		else
			KVT_OK(grp_remove_member(s->fd, &c.g[cut], cut % 3, 0));
		for (unsigned int i = 0; i < LINKS; i++)
			EXPECT_EQ(i < cut, link_visible(s->fd, &c, i));
		kvr_sane(_metadata, s);
		if (cut)
			KVT_OK(grp_remove(s->fd, &c.g[0]));
		EXPECT_EQ(0, kvr_ns(s, "objects"));
		EXPECT_EQ(0, kvr_pool(s, "committed_bytes"));
	}
}

/* LOOKUP over the keys of groups: the run ends at one that is not whole. */
TEST_F(store, I4_I11_lookup_over_a_chain_of_groups)
{
	struct kvr_store *s = &self->s;
	struct kvr_key keys[8];
	struct kvstash_keys k;
	struct grp g[8];

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int i = 0; i < 8; i++) {
		g[i] = chain_grp(1 + i, i ? &g[i - 1].key : NULL, KVSTASH_KIND_GROUP);
		keys[i] = g[i].key;
		KVT_OK(grp_put_some(s->fd, &g[i], i == 5, 3, buf));
	}
	grp_prep_keys(&k, keys, 8);
	EXPECT_EQ(5, kvt_lookup(s->fd, &k));
	EXPECT_EQ(KVSTASH_R_GROUP_INCOMPLETE, k.reason);
	EXPECT_EQ(5 * 3 * LEN, k.bytes);
	grp_prep_keys(&k, keys + 6, 2);
	EXPECT_EQ(0, kvt_lookup(s->fd, &k));
	EXPECT_EQ(KVSTASH_R_PARENT_PENDING, k.reason);
	KVT_OK(grp_put(s->fd, &g[5], 0, buf));
	grp_prep_keys(&k, keys, 8);
	EXPECT_EQ(8, kvt_lookup(s->fd, &k));
	EXPECT_EQ(KVSTASH_R_OK, k.reason);
	EXPECT_EQ(8 * 3 * LEN, k.bytes);
	KVT_OK(grp_remove_member(s->fd, &g[3], 1, 0));
	grp_prep_keys(&k, keys, 8);
	EXPECT_EQ(3, kvt_lookup(s->fd, &k));
	EXPECT_EQ(KVSTASH_R_MISS, k.reason);
	/* as pages, these keys name nothing */
	kvstash_prep_keys(&k, keys + 3, sizeof(keys[0]), 5);
	EXPECT_EQ(0, kvt_lookup(s->fd, &k));
	EXPECT_EQ(KVSTASH_R_MISS, k.reason);
}

TEST_HARNESS_MAIN
