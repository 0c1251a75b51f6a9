// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/*
 * How an atomic group fills, and that nobody sees a member before the last one
 * is complete.
 */
#include "g_store.h"

#define LEN	5000U

static char buf[65536];

static const struct grp four = {
	.key = { 1, 1 }, .len = LEN, .members = 4, .flags = KVSTASH_PUT_ATOMIC,
};

TEST_F(store, I4_member_never_uploaded)
{
	static const unsigned int order[] = { 2, 0, 3 };
	struct kvr_store *s = &self->s;
	__u32 in = 0;
	int fd2;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	fd2 = kvt_open_ns(s->name);
	ASSERT_LE(0, fd2);
	grp_expect_gone(_metadata, s->fd, &four, buf);
	for (unsigned int i = 0; i < KVT_LEN(order); i++) {
		KVT_OK(grp_put(s->fd, &four, order[i], buf));
		in |= 1U << order[i];
		grp_expect_hidden(_metadata, s->fd, &four, in, buf);
		grp_expect_hidden(_metadata, fd2, &four, in, buf);
		EXPECT_EQ(1, kvr_ns(s, "groups_filling"));
		EXPECT_EQ(0, kvr_ns(s, "groups_complete"));
		EXPECT_EQ(0, kvr_ns(s, "visible"));
		kvr_sane(_metadata, s);
	}
	KVT_OK(grp_put(fd2, &four, 1, buf));
	grp_expect_visible(_metadata, s->fd, &four, buf);
	grp_expect_visible(_metadata, fd2, &four, buf);
	EXPECT_EQ(0, kvr_ns(s, "groups_filling"));
	EXPECT_EQ(1, kvr_ns(s, "groups_complete"));
	EXPECT_EQ(1, kvr_ns(s, "groups_published"));
	EXPECT_EQ(4 * kvt_pages(LEN), kvr_pool(s, "committed_bytes"));
	close(fd2);
}

/* Asserts that a client's reserved member 1 holds back the other three. */
static void expect_stuck(struct __test_metadata *_metadata, int fd)
{
	struct kvstash_exists x[4];
	struct kvstash_result r;

	ASSERT_EQ(4, grp_exists_all(fd, &four, x));
	for (unsigned int i = 0; i < 4; i++) {
		r = grp_get(fd, &four, i, buf);
		EXPECT_EQ(KVSTASH_STATE_FILLING, x[i].state);
		grp_expect_facts(_metadata, &four, &x[i], 3, KVSTASH_STATE_FILLING);
		if (i == 1) {
			KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, x[i].r);
			KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, r);
			continue;
		}
		KVT_EXPECT(ENOENT, KVSTASH_R_GROUP_INCOMPLETE, x[i].r);
		EXPECT_EQ(3, x[i].r.detail);
		KVT_EXPECT(ENOENT, KVSTASH_R_GROUP_INCOMPLETE, r);
	}
}

/* A living writer that does not finish keeps its group, and hidden. */
TEST_F(store, I4_put_started_and_never_finished)
{
	struct kvt_ns_args ns = { .incomplete_ms = 1 };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	int slow;

	kvr_store_make(_metadata, s, KVR_MB(4), &ns);
	slow = kvt_open_ns(s->name);
	ASSERT_LE(0, slow);
	KVT_OK(grp_reserve(slow, &four, 1, 0, &h));
	for (unsigned int i = 0; i < 4; i++)
		if (i != 1)
			KVT_OK(grp_put(s->fd, &four, i, buf));
	expect_stuck(_metadata, s->fd);
	KVT_OK(grp_write(slow, &four, 1, 0, &h, buf));
	grp_pressure(_metadata, s->fd, 0, KVR_MB(40), buf);
	expect_stuck(_metadata, s->fd);
	KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, grp_put(s->fd, &four, 1, buf));
	KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, grp_remove(s->fd, &four));
	EXPECT_EQ(0, kvr_ns(s, "groups_collected"));
	EXPECT_EQ(kvt_pages(LEN), kvr_pool(s, "in_flight_bytes"));
	KVT_OK(kvt_commit1(slow, &h));
	grp_expect_visible(_metadata, s->fd, &four, buf);
	close(slow);
}

TEST_F(store, I4_aborted_member_can_be_put_again)
{
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(grp_put_some(s->fd, &four, 0, 3, buf));
	KVT_OK(grp_reserve(s->fd, &four, 3, 0, &h));
	KVT_OK(grp_write(s->fd, &four, 3, 0, &h, buf));
	KVT_OK(kvt_abort1(s->fd, &h));
	grp_expect_hidden(_metadata, s->fd, &four, 7, buf);
	EXPECT_EQ(0, kvr_pool(s, "in_flight_bytes"));
	KVT_OK(grp_put(s->fd, &four, 3, buf));
	grp_expect_visible(_metadata, s->fd, &four, buf);
}

/* A group of which nothing came goes with what was to be its first member. */
TEST_F(store, I4_aborted_first_member_leaves_no_group)
{
	struct kvr_store *s = &self->s;
	struct grp_figures was;
	struct kvstash_handle h;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	was = grp_figures(s);
	KVT_OK(grp_reserve(s->fd, &four, 2, 0, &h));
	KVT_EXPECT(ENOENT, KVSTASH_R_GROUP_INCOMPLETE, grp_exists(s->fd, &four, NULL));
	KVT_OK(kvt_abort1(s->fd, &h));
	grp_expect_gone(_metadata, s->fd, &four, buf);
	grp_expect_figures(_metadata, s, &was);
}

struct victim {
	struct kvr_store *s;
	struct kvt_gate ready;
	struct grp g;
};

/* Members 0 and 1 are in, half of 2 is written. */
static int victim_main(void *arg)
{
	struct victim *v = arg;
	int fd = kvt_open_ns(v->s->name);
	struct kvr_obj o = grp_member(&v->g, 2);
	struct kvstash_handle h;

	if (fd < 0 || grp_put_some(fd, &v->g, 0, 2, buf).res ||
	    grp_reserve(fd, &v->g, 2, 0, &h).res ||
	    kvr_write(fd, &o, 0, &h, buf, 0, LEN / 2).res)
		return kvr_say("not set up");
	kvt_gate_open(&v->ready, 1);
	for (;;)
		pause();
}

static void kill_victim(struct __test_metadata *_metadata, struct kvr_store *s,
			const struct grp *g)
{
	struct victim v = { .s = s, .g = *g };
	pid_t pid;

	ASSERT_EQ(0, kvt_gate_init(&v.ready));
	pid = kvr_spawn(victim_main, &v);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, kvr_ready(&v.ready, pid));
	kvt_gate_end(&v.ready);
	EXPECT_EQ(kvt_pages(LEN), kvr_pool(s, "in_flight_bytes"));
	EXPECT_EQ(-SIGKILL, kvr_kill(pid));
	EXPECT_EQ(0, kvr_pool(s, "in_flight_bytes"));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
}

TEST_F(store, I4_I5_killed_writer_leaves_what_was_in)
{
	struct kvt_ns_args ns = { .incomplete_ms = 0x7fffffff };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVR_MB(4), &ns);
	kill_victim(_metadata, s, &four);
	grp_expect_hidden(_metadata, s->fd, &four, 3, buf);
	EXPECT_EQ(2 * kvt_pages(LEN), kvr_pool(s, "committed_bytes"));
	EXPECT_EQ(1, kvr_ns(s, "groups_filling"));
	KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, grp_put(s->fd, &four, 0, buf));
	KVT_OK(grp_put(s->fd, &four, 2, buf));
	grp_expect_hidden(_metadata, s->fd, &four, 7, buf);
	KVT_OK(grp_put(s->fd, &four, 3, buf));
	grp_expect_visible(_metadata, s->fd, &four, buf);
}

TEST_F(store, I4_I5_killed_writer_with_NO_LINGER_leaves_nothing)
{
	struct kvt_ns_args ns = { .incomplete_ms = 0x7fffffff };
	struct kvr_store *s = &self->s;
	struct grp_figures was;
	struct grp g = four;

	kvr_store_make(_metadata, s, KVR_MB(4), &ns);
	was = grp_figures(s);
	g.flags |= KVSTASH_PUT_NO_LINGER;
	kill_victim(_metadata, s, &g);
	grp_expect_gone(_metadata, s->fd, &g, buf);
	grp_expect_figures(_metadata, s, &was);
	KVT_OK(grp_put_all(s->fd, &g, buf));
	grp_expect_visible(_metadata, s->fd, &g, buf);
}

/* It goes with its last contributor, not with the first. */
TEST_F(store, I4_NO_LINGER_waits_for_the_last_contributor)
{
	struct kvr_store *s = &self->s;
	struct grp_figures was;
	struct grp g = four;
	int fd2;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	was = grp_figures(s);
	g.flags |= KVSTASH_PUT_NO_LINGER;
	fd2 = kvt_open_ns(s->name);
	ASSERT_LE(0, fd2);
	KVT_OK(grp_put(fd2, &g, 3, buf));
	kill_victim(_metadata, s, &g);
	grp_expect_hidden(_metadata, s->fd, &g, 11, buf);
	close(fd2);
	grp_expect_gone(_metadata, s->fd, &g, buf);
	grp_expect_figures(_metadata, s, &was);
}

/* A complete group is no one's: it outlives all who contributed. */
TEST_F(store, I4_complete_group_outlives_its_writers)
{
	struct kvt_ns_args ns = { .incomplete_ms = 1 };
	struct kvr_store *s = &self->s;
	struct grp g = four;
	int fd[4];

	kvr_store_make(_metadata, s, KVR_MB(4), &ns);
	g.flags |= KVSTASH_PUT_NO_LINGER;
	for (unsigned int i = 0; i < 4; i++) {
		fd[i] = kvt_open_ns(s->name);
		ASSERT_LE(0, fd[i]);
		KVT_OK(grp_put(fd[i], &g, i, buf));
	}
	for (unsigned int i = 0; i < 4; i++) {
		close(fd[i]);
		grp_expect_visible(_metadata, s->fd, &g, buf);
	}
	EXPECT_EQ(0, kvr_ns(s, "groups_collected"));
}

TEST_F(store, I2_I4_same_member_put_again)
{
	struct kvr_obj o = grp_member(&four, 1);
	struct kvr_store *s = &self->s;
	struct kvstash_put e;
	int fd2;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	fd2 = kvt_open_ns(s->name);
	ASSERT_LE(0, fd2);
	KVT_OK(grp_put(s->fd, &four, 1, buf));
	for (unsigned int round = 0; round < 2; round++) {
		memset(buf, 0xee, LEN);	/* other bytes: they must not be taken */
		grp_prep(&e, &four, 1, &o, 0, buf);
		KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, kvt_put_one(s->fd, &e));
		KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, kvt_put_one(fd2, &e));
		e.buf = 0;
		KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, kvt_reserve_one(fd2, &e));
		if (round)
			continue;
		grp_expect_hidden(_metadata, fd2, &four, 2, buf);
		KVT_OK(grp_put(fd2, &four, 0, buf));
		KVT_OK(grp_put_some(fd2, &four, 2, 4, buf));
	}
	grp_expect_visible(_metadata, fd2, &four, buf);
	close(fd2);
}

TEST_F(store, I4_group_of_1)
{
	struct grp g = { .key = { 2, 1 }, .len = LEN, .members = 1, .flags = KVSTASH_PUT_ATOMIC };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int i = 0; i < 2; i++) {
		KVT_OK(grp_put(s->fd, &g, 0, buf));
		grp_expect_visible(_metadata, s->fd, &g, buf);
		KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, grp_put(s->fd, &g, 0, buf));
		KVT_OK(grp_remove_member(s->fd, &g, 0, 0));
		grp_expect_gone(_metadata, s->fd, &g, buf);
	}
	KVT_OK(grp_reserve(s->fd, &g, 0, 0, &h));
	KVT_OK(grp_write(s->fd, &g, 0, 0, &h, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, grp_get(s->fd, &g, 0, buf));
	KVT_OK(kvt_commit1(s->fd, &h));
	grp_expect_visible(_metadata, s->fd, &g, buf);
	g.flags = 0;
	g.key.id = 2;
	KVT_OK(grp_put(s->fd, &g, 0, buf));
	grp_expect_visible(_metadata, s->fd, &g, buf);
}

/* The same keys, two tenants: each has a group of its own. */
TEST_F(store, I4_I10_same_group_key_in_two_namespaces)
{
	struct kvr_store *s = &self->s;
	struct kvt_ns_args ns = { .name = "second", .pool = s->name };
	int fd2;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	ASSERT_EQ(0, kvt_ns_new(&ns));
	fd2 = kvt_open_ns("second");
	ASSERT_LE(0, fd2);
	KVT_OK(grp_put_some(s->fd, &four, 0, 2, buf));
	KVT_OK(grp_put_some(fd2, &four, 2, 4, buf));
	grp_expect_hidden(_metadata, s->fd, &four, 3, buf);
	grp_expect_hidden(_metadata, fd2, &four, 12, buf);
	KVT_OK(grp_put_some(s->fd, &four, 2, 4, buf));
	grp_expect_visible(_metadata, s->fd, &four, buf);
	grp_expect_hidden(_metadata, fd2, &four, 12, buf);
	KVT_OK(grp_put_some(fd2, &four, 0, 2, buf));
	grp_expect_visible(_metadata, fd2, &four, buf);
	KVT_OK(grp_remove(s->fd, &four));
	grp_expect_gone(_metadata, s->fd, &four, buf);
	grp_expect_visible(_metadata, fd2, &four, buf);
	close(fd2);
	EXPECT_EQ(0, kvt_ns_del("second"));
}

/* Group, page and parent keys are of two kinds: same bytes, nothing shared. */
TEST_F(store, I7_group_and_page_of_the_same_key)
{
	struct kvr_obj page = { .key = four.key, .len = LEN, .parts = 1 };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	KVT_OK(kvr_put(s->fd, &page, buf));
	grp_expect_gone(_metadata, s->fd, &four, buf);
	KVT_OK(grp_put_all(s->fd, &four, buf));
	grp_expect_visible(_metadata, s->fd, &four, buf);
	KVT_OK(kvr_remove(s->fd, &page));
	grp_expect_visible(_metadata, s->fd, &four, buf);
	KVT_OK(kvr_put(s->fd, &page, buf));
	KVT_OK(grp_remove(s->fd, &four));
	grp_expect_gone(_metadata, s->fd, &four, buf);
	KVT_OK(kvr_get(s->fd, &page, buf));
}

#define PARTS	3

/* Asserts what is said of a member of which only some parts are there. */
static void expect_partial(struct __test_metadata *_metadata, int fd, const struct grp *g,
			   unsigned int i, unsigned int parts, unsigned int present)
{
	struct kvstash_exists x;

	KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE, grp_member_exists(fd, g, i, &x));
	EXPECT_EQ(parts, x.r.detail);
	EXPECT_EQ(parts, x.parts_present);
	EXPECT_EQ(PARTS, x.parts);
	EXPECT_EQ(KVSTASH_STATE_FILLING, x.state);
	grp_expect_facts(_metadata, g, &x, present, KVSTASH_STATE_FILLING);
	KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE, grp_get(fd, g, i, buf));
}

/* A member is in when all of its parts are; the group when all of them are. */
TEST_F(store, I1_I4_members_of_several_parts)
{
	struct grp g = four;
	struct kvr_store *s = &self->s;

	g.parts = PARTS;
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int i = 0; i < 3; i++)
		KVT_OK(grp_put_part(s->fd, &g, i, i, buf));
	for (unsigned int i = 0; i < 3; i++)
		expect_partial(_metadata, s->fd, &g, i, 1, 0);
	KVT_OK(grp_put(s->fd, &g, 3, buf));
	for (unsigned int i = 0; i < 3; i++)
		for (unsigned int n = 1; n < PARTS; n++) {
			expect_partial(_metadata, s->fd, &g, i, n, 1 + i);
			KVT_OK(grp_put_part(s->fd, &g, i, (i + n) % PARTS, buf));
			KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS,
				   grp_put_part(s->fd, &g, i, (i + n) % PARTS, buf));
		}
	grp_expect_visible(_metadata, s->fd, &g, buf);
}

/* All reserved in one call, committed one by one, each by a batch of its own. */
TEST_F(store, I4_reserve_write_commit)
{
	struct kvr_store *s = &self->s;
	struct kvstash_put e[4];
	struct kvr_obj o[4];
	__u32 in = 0;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int i = 0; i < 4; i++) {
		o[i] = grp_member(&four, i);
		grp_prep(&e[i], &four, i, &o[i], 0, NULL);
	}
	ASSERT_EQ(4, kvt_reserve(s->fd, e, 4));
	for (unsigned int i = 0; i < 4; i++) {
		KVT_OK(e[i].r);
		KVT_OK(grp_write(s->fd, &four, i, 0, &e[i].handle, buf));
		KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, grp_get(s->fd, &four, i, buf));
	}
	for (unsigned int i = 4; i--;) {
		KVT_OK(kvt_commit1(s->fd, &e[i].handle));
		in |= 1U << i;
		EXPECT_EQ(i ? 0 : 4, grp_visible(s->fd, &four));
		KVT_EXPECT(EALREADY, KVSTASH_R_COMMITTED, kvt_commit1(s->fd, &e[i].handle));
	}
	EXPECT_EQ(15, in);
	grp_expect_visible(_metadata, s->fd, &four, buf);
	EXPECT_EQ(0, kvr_pool(s, "in_flight_bytes"));
}

/* A batch that puts them all; the order of the entries is no matter. */
TEST_F(store, I4_members_in_one_batch)
{
	static const unsigned int order[] = { 3, 1, 0, 2 };
	static char data[4][LEN];
	struct kvr_store *s = &self->s;
	struct kvstash_put e[5];
	struct kvr_obj o[4];

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	for (unsigned int i = 0; i < 4; i++) {
		o[i] = grp_member(&four, order[i]);
		kvr_fill(&o[i], 0, data[i]);
		grp_prep(&e[i], &four, order[i], &o[i], 0, data[i]);
	}
	e[4] = e[0];
	ASSERT_EQ(5, kvt_put(s->fd, e, 5));
	for (unsigned int i = 0; i < 4; i++)
		KVT_OK(e[i].r);
	KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, e[4].r);
	grp_expect_visible(_metadata, s->fd, &four, buf);
}

TEST_HARNESS_MAIN
