// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/*
 * What a member says of its group is fixed by the first that says it. Another
 * answer is refused with its own reason, and a refused put leaves nothing.
 */
#include "g_store.h"

#define LEN	5000U

static char buf[65536];

static const struct grp four = {
	.key = { 1, 1 }, .len = LEN, .members = 4, .flags = KVSTASH_PUT_ATOMIC,
};

/* A put of key @key that is like that of member @like, but for some members. */
struct twist {
	const char *what;
	unsigned int key;	/* of the members; those from 8 on are of others */
	unsigned int like;
	void (*make)(struct kvstash_put *e);
	__u32 reason;
	__u64 detail;
};

static const struct kvr_key other_group = { 1, 2 }, page_key = { 2, 1 };

static void no_group(struct kvstash_put *e)
{
	e->group = 0;
	e->group_len = 0;
	e->member = 0;
	e->members = 0;
	e->flags = 0;
}

static void another_group(struct kvstash_put *e)
{
	e->group = kvstash_addr(&other_group);
}

static void shorter_group(struct kvstash_put *e)
{
	e->group_len--;
}

static void expects_5(struct kvstash_put *e)
{
	e->members = 5;
}

static void expects_3(struct kvstash_put *e)
{
	e->members = 3;
}

static void plain(struct kvstash_put *e)
{
	e->flags = 0;
}

static void lives_5_ms(struct kvstash_put *e)
{
	kvstash_prep_put_ttl(e, 5);
}

static void child_of_page(struct kvstash_put *e)
{
	kvstash_prep_put_parent(e, &page_key, sizeof(page_key));
}

static void child_of_group(struct kvstash_put *e)
{
	kvstash_prep_put_parent_group(e, &other_group, sizeof(other_group));
}

static void as_it_is(struct kvstash_put *e)
{
	(void)e;
}

/* Members 0 and 1 are in; 2 and 3 are not. */
static const struct twist twists[] = {
	{ "member in no group", 0, 0, no_group, KVSTASH_R_MISMATCH_GROUP, 0 },
	{ "member in another group", 0, 0, another_group, KVSTASH_R_MISMATCH_GROUP, 0 },
	{ "member in a group of a shorter key", 1, 1, shorter_group,
	  KVSTASH_R_MISMATCH_GROUP, 0 },
	{ "one more expected", 2, 2, expects_5, KVSTASH_R_MISMATCH_MEMBERS, 4 },
	{ "one less expected", 2, 2, expects_3, KVSTASH_R_MISMATCH_MEMBERS, 4 },
	{ "one more expected, of a member", 0, 0, expects_5, KVSTASH_R_MISMATCH_MEMBERS, 4 },
	{ "another index of a member", 0, 2, as_it_is, KVSTASH_R_MISMATCH_INDEX, 0 },
	{ "another member's index of a member", 1, 0, as_it_is, KVSTASH_R_MISMATCH_INDEX, 1 },
	{ "a taken index", 8, 1, as_it_is, KVSTASH_R_MISMATCH_INDEX, 1 },
	{ "plain", 2, 2, plain, KVSTASH_R_MISMATCH_FLAGS, 0 },
	{ "plain, of a member", 0, 0, plain, KVSTASH_R_MISMATCH_FLAGS, 0 },
	{ "another time to live of a member", 0, 0, lives_5_ms, KVSTASH_R_MISMATCH_TTL, 0 },
	{ "a parent", 2, 2, child_of_page, KVSTASH_R_MISMATCH_PARENT, 0 },
	{ "a parent, of a member", 0, 0, child_of_page, KVSTASH_R_MISMATCH_PARENT, 0 },
	{ "a group as parent", 2, 2, child_of_group, KVSTASH_R_MISMATCH_PARENT, 0 },
};

static void refuse_twist(struct __test_metadata *_metadata, struct kvr_store *s,
			 const struct twist *t)
{
	struct kvr_obj o = grp_member(&four, t->key);
	struct grp_figures was = grp_figures(s);
	struct kvstash_result r;
	struct kvstash_put e;

	kvr_fill(&o, 0, buf);
	grp_prep(&e, &four, t->like, &o, 0, buf);
	t->make(&e);
	for (unsigned int i = 0; i < 2; i++) {
		r = i ? kvt_reserve_one(s->fd, &e) : kvt_put_one(s->fd, &e);
		EXPECT_EQ(-EXDEV, r.res) {
			TH_LOG("%s: reason %u", t->what, r.reason);
		}
		EXPECT_EQ(t->reason, r.reason) {
			TH_LOG("%s: errno %d", t->what, -r.res);
		}
		EXPECT_EQ(t->detail, r.detail) {
			TH_LOG("%s", t->what);
		}
		e.buf = 0;
	}
	grp_expect_figures(_metadata, s, &was);
}

static void refuse_twists(struct __test_metadata *_metadata, struct kvr_store *s, bool visible)
{
	struct grp other = four;

	other.key = other_group;
	for (size_t i = 0; i < KVT_LEN(twists); i++) {
		refuse_twist(_metadata, s, &twists[i]);
		if (visible)
			grp_expect_visible(_metadata, s->fd, &four, buf);
		else
			grp_expect_hidden(_metadata, s->fd, &four, 3, buf);
		grp_expect_gone(_metadata, s->fd, &other, buf);
	}
}

TEST_F(store, I4_another_identity_is_refused)
{
	struct kvr_obj page = { .key = page_key, .len = LEN, .parts = 1 };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(kvr_put(s->fd, &page, buf));
	KVT_OK(grp_put_some(s->fd, &four, 0, 2, buf));
	refuse_twists(_metadata, s, false);
	KVT_OK(grp_put_some(s->fd, &four, 2, 4, buf));
	grp_expect_visible(_metadata, s->fd, &four, buf);
	KVT_OK(kvr_get(s->fd, &page, buf));
}

TEST_F(store, I2_I4_another_identity_is_refused_of_a_visible_group)
{
	struct kvr_obj page = { .key = page_key, .len = LEN, .parts = 1 };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(kvr_put(s->fd, &page, buf));
	KVT_OK(grp_put_all(s->fd, &four, buf));
	refuse_twists(_metadata, s, true);
}

/* Ranks that count differently: the first one's count is that of the group. */
TEST_F(store, I4_expected_count_differs_between_ranks)
{
	struct grp rank[3] = { four, four, four };
	struct kvr_store *s = &self->s;
	struct kvstash_result r;
	int fd[3];

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int i = 0; i < 3; i++) {
		fd[i] = kvt_open_ns(s->name);
		ASSERT_LE(0, fd[i]);
		rank[i].members = i == 1 ? 8 : 3;
	}
	KVT_OK(grp_put(fd[0], &rank[0], 0, buf));
	r = grp_put(fd[1], &rank[1], 1, buf);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_MEMBERS, r);
	EXPECT_EQ(3, r.detail);
	r = grp_put(fd[1], &rank[1], 7, buf);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_MEMBERS, r);
	KVT_OK(grp_put(fd[2], &rank[2], 2, buf));
	grp_expect_hidden(_metadata, fd[1], &rank[0], 5, buf);
	rank[1].members = 3;
	KVT_OK(grp_put(fd[1], &rank[1], 1, buf));
	grp_expect_visible(_metadata, fd[1], &rank[0], buf);
	for (unsigned int i = 0; i < 3; i++)
		close(fd[i]);
}

/* A page that is there by itself does not become a member, nor the reverse. */
TEST_F(store, I4_page_in_no_group_joins_none)
{
	struct kvr_obj page = grp_member(&four, 2);
	struct kvr_store *s = &self->s;
	struct grp_figures was;
	struct kvstash_handle h;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(kvr_put(s->fd, &page, buf));
	was = grp_figures(s);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_GROUP, grp_put(s->fd, &four, 2, buf));
	grp_expect_figures(_metadata, s, &was);
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, grp_exists(s->fd, &four, NULL));
	KVT_OK(kvr_get(s->fd, &page, buf));
	KVT_OK(kvr_remove(s->fd, &page));

	KVT_OK(kvr_reserve(s->fd, &page, 0, &h));
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_GROUP, grp_put(s->fd, &four, 2, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, grp_exists(s->fd, &four, NULL));
	KVT_OK(kvt_abort1(s->fd, &h));
	KVT_OK(grp_put_all(s->fd, &four, buf));
	grp_expect_visible(_metadata, s->fd, &four, buf);
}

/* An index in flight is taken; given up, it is free for any key. */
TEST_F(store, I4_index_in_flight_is_taken)
{
	struct kvr_obj other = grp_member(&four, 8);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	struct kvstash_result r;
	struct kvstash_put e;
	int fd2;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	fd2 = kvt_open_ns(s->name);
	ASSERT_LE(0, fd2);
	KVT_OK(grp_put(s->fd, &four, 0, buf));
	KVT_OK(grp_reserve(fd2, &four, 2, 0, &h));
	kvr_fill(&other, 0, buf);
	grp_prep(&e, &four, 2, &other, 0, buf);
	r = kvt_put_one(s->fd, &e);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_INDEX, r);
	EXPECT_EQ(2, r.detail);
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(s->fd, &other, NULL));
	KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, grp_put(s->fd, &four, 2, buf));
	close(fd2);
	kvr_fill(&other, 0, buf);
	KVT_OK(kvt_put_one(s->fd, &e));
	r = grp_put(s->fd, &four, 2, buf);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_INDEX, r);
	EXPECT_EQ(2, r.detail);
	KVT_OK(grp_put(s->fd, &four, 1, buf));
	KVT_OK(grp_put(s->fd, &four, 3, buf));
	KVT_OK(kvr_get(s->fd, &other, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, grp_get(s->fd, &four, 2, buf));
	KVT_OK(grp_get(s->fd, &four, 3, buf));
}

/* Puts that fail for another reason than the group: it is not made, or kept. */
static void expect_failure(struct __test_metadata *_metadata, struct kvr_store *s,
			   struct kvstash_put *e, int err, __u32 reason,
			   const struct grp_figures *was, __u32 in)
{
	KVT_EXPECT(err, reason, kvt_put_one(s->fd, e));
	grp_expect_hidden(_metadata, s->fd, &four, in, buf);
	grp_expect_figures(_metadata, s, was);
}

TEST_F(store, I4_I6_failing_puts_leave_nothing)
{
	struct kvt_ns_args ns = { .quota_bytes = KVR_MB(1) };
	struct kvr_obj o = grp_member(&four, 3);
	struct kvr_store *s = &self->s;
	struct kvr_key missing = { 9, 9 };
	struct kvstash_put good, e;
	struct grp_figures was;

	kvr_store_make(_metadata, s, KVR_MB(4), &ns);
	for (__u32 in = 0; in < 2; in++) {
		if (in)
			KVT_OK(grp_put(s->fd, &four, 0, buf));
		was = grp_figures(s);
		grp_prep(&good, &four, 3, &o, 0, buf);
		e = good;
		e.buf = KVT_PAGE;	/* below what mmap() gives out */
		expect_failure(_metadata, s, &e, EFAULT, KVSTASH_R_DATA_FAULT, &was, in);
		e = good;
		e.group = KVT_PAGE;
		expect_failure(_metadata, s, &e, EFAULT, KVSTASH_R_KEY_FAULT, &was, in);
		e = good;
		e.part_len = KVR_MB(5);
		expect_failure(_metadata, s, &e, EFBIG, KVSTASH_R_TOO_LARGE, &was, in);
		e.part_len = KVR_MB(2);
		expect_failure(_metadata, s, &e, EDQUOT, KVSTASH_R_QUOTA_BYTES, &was, in);
		if (in)
			continue;
		e = good;
		kvstash_prep_put_parent(&e, &missing, sizeof(missing));
		expect_failure(_metadata, s, &e, ENOENT, KVSTASH_R_PARENT_MISS, &was, in);
		e.parent_kind = KVSTASH_KIND_GROUP;
		expect_failure(_metadata, s, &e, ENOENT, KVSTASH_R_PARENT_MISS, &was, in);
	}
	KVT_OK(grp_put_some(s->fd, &four, 1, 4, buf));
	grp_expect_visible(_metadata, s->fd, &four, buf);
}

/* Nothing can be evicted: no space, and no group. */
TEST_F(store, I4_I6_no_space_leaves_no_group)
{
	struct kvr_obj hog = { .key = { 3, 1 }, .len = KVR_MB(4) - KVT_PAGE, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	struct kvstash_result r;
	struct grp_figures was;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(kvr_reserve(s->fd, &hog, 0, &h));
	was = grp_figures(s);
	r = grp_put(s->fd, &four, 0, buf);
	KVT_EXPECT(ENOSPC, KVSTASH_R_NO_SPACE, r);
	EXPECT_EQ(KVT_PAGE, r.detail);
	grp_expect_gone(_metadata, s->fd, &four, buf);
	grp_expect_figures(_metadata, s, &was);
	KVT_OK(kvt_abort1(s->fd, &h));
	KVT_OK(grp_put_all(s->fd, &four, buf));
	grp_expect_visible(_metadata, s->fd, &four, buf);
}

/* In a batch each entry is judged by itself. */
TEST_F(store, I4_batch_of_good_and_bad_members)
{
	static char data[6][LEN];
	struct kvr_store *s = &self->s;
	struct kvstash_put e[6];
	struct kvr_obj o[6];

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int i = 0; i < 6; i++) {
		o[i] = grp_member(&four, i);
		kvr_fill(&o[i], 0, data[i]);
		grp_prep(&e[i], &four, i < 4 ? i : 0, &o[i], 0, data[i]);
	}
	e[1].member = 4;		/* out of range */
	e[2].members = 9;
	ASSERT_EQ(6, kvt_put(s->fd, e, 6));
	KVT_OK(e[0].r);
	KVT_EXPECT(EINVAL, KVSTASH_R_MEMBER_INDEX, e[1].r);
	EXPECT_EQ(4, e[1].r.detail);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_MEMBERS, e[2].r);
	KVT_OK(e[3].r);
	for (unsigned int i = 4; i < 6; i++)
		KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_INDEX, e[i].r);
	grp_expect_hidden(_metadata, s->fd, &four, 9, buf);
	KVT_OK(grp_put_some(s->fd, &four, 1, 3, buf));
	grp_expect_visible(_metadata, s->fd, &four, buf);
}

TEST_HARNESS_MAIN
