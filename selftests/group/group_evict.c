// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/*
 * A group is evicted wholly, or not at all: not while a member of it is leased,
 * pinned, being read or in flight. Without watermarks only a put that needs room
 * evicts, so each eviction can be foretold.
 */
#include "g_store.h"

#define POOL	KVR_MB(2)
#define LEN	65536U
#define MEMBERS	4
#define FIT	8U	/* groups that the pool has room for */

static char buf[LEN + 4096];

static struct grp unit(__u64 id)
{
	return (struct grp){
		.key = { 1, id }, .len = LEN, .members = MEMBERS, .flags = KVSTASH_PUT_ATOMIC,
	};
}

static void put_units(struct __test_metadata *_metadata, int fd, __u64 first, unsigned int n)
{
	for (__u64 id = first; id < first + n; id++) {
		struct grp g = unit(id);

		KVT_OK(grp_put_all(fd, &g, buf));
	}
}

/* Asserts which of groups 0.. are visible: '+' all members, '-' none, '?' some. */
static void expect_units(struct __test_metadata *_metadata, int fd, const char *want)
{
	char have[64] = "";

	for (unsigned int i = 0; want[i]; i++) {
		struct grp g = unit(i);
		int n = grp_visible(fd, &g);

		have[i] = n == MEMBERS ? '+' : n ? '?' : '-';
	}
	EXPECT_STREQ(want, have);
}

/* A put of one page takes a whole group, the least recently used one. */
TEST_F(store, I4_evicted_wholly_and_in_order)
{
	struct kvr_obj page = { .key = { 2, 0 }, .len = 4096, .parts = 1 };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, POOL, NULL);
	put_units(_metadata, s->fd, 0, FIT);
	expect_units(_metadata, s->fd, "++++++++");
	EXPECT_EQ(0, kvr_pool(s, "free_bytes"));
	KVT_OK(kvr_put(s->fd, &page, buf));
	expect_units(_metadata, s->fd, "-+++++++");
	EXPECT_EQ(MEMBERS * LEN - 4096, kvr_pool(s, "free_bytes"));
	EXPECT_EQ(1, kvr_ns(s, "groups_evicted"));
	EXPECT_EQ(FIT - 1, kvr_ns(s, "groups_complete"));
	for (unsigned int i = 1; i < FIT; i++) {
		grp_pressure(_metadata, s->fd, 10 * i, MEMBERS * LEN, buf);
		EXPECT_EQ(1 + i, kvr_ns(s, "groups_evicted"));
		EXPECT_EQ(FIT - 1 - i, kvr_ns(s, "groups_complete"));
	}
	expect_units(_metadata, s->fd, "--------");
}

/* A hit on any member, by GET or PUT, is a hit on the group; EXISTS is none. */
TEST_F(store, I4_hit_on_a_member_is_a_hit_on_the_group)
{
	struct grp g[3] = { unit(0), unit(1), unit(2) };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, POOL, NULL);
	put_units(_metadata, s->fd, 0, FIT);
	KVT_OK(grp_get(s->fd, &g[0], 3, buf));
	KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, grp_put(s->fd, &g[1], 2, buf));
	EXPECT_EQ(MEMBERS, grp_visible(s->fd, &g[2]));
	for (unsigned int i = 0; i < 2; i++) {
		grp_pressure(_metadata, s->fd, 10 * i, LEN, buf);
		expect_units(_metadata, s->fd, i ? "++--++++" : "++-+++++");
		grp_pressure(_metadata, s->fd, 10 * i + 1, (MEMBERS - 1) * LEN, buf);
	}
	expect_units(_metadata, s->fd, "++--++++");
}

/*
 * Pressure by pages that are used, too: what was got once is evicted in its turn
 * then, and not after all that was never got.
 */
static void used_pressure(struct __test_metadata *_metadata, int fd, __u64 first, __u64 bytes)
{
	struct kvr_obj o = { .key = { 3, first }, .len = LEN, .parts = 1 };

	for (; o.key.id < first + bytes / LEN; o.key.id++) {
		ASSERT_EQ(0, kvr_put(fd, &o, buf).res);
		ASSERT_EQ(0, kvr_get(fd, &o, buf).res);
	}
}

/* What holds a group back, each by one member or by the group itself. */
enum hold { LEASE, LEASE_GROUP, LEASE_LOOKUP, PIN, PIN_GROUP, READ, HOLDS };

static const char * const hold_name[HOLDS] = {
	"lease", "lease of the group", "lease by LOOKUP", "pin", "pin of the group", "reader",
};

struct held {
	struct kvstash_handle h;
	struct kvr_reader rd;
};

static struct kvstash_result lease_group(int fd, const struct grp *g, struct kvstash_handle *h)
{
	struct kvstash_exists x = { 0 };
	struct kvstash_keys k;
	int err;

	grp_prep_keys(&k, &g->key, 1);
	err = kvt_exists_lease(fd, &k, &x, h);
	return err < 0 ? (struct kvstash_result){ err, k.reason, k.field } : x.r;
}

static struct kvstash_result lease_lookup(int fd, const struct grp *g, struct kvstash_handle *h)
{
	struct kvstash_keys k;
	int run;

	grp_prep_keys(&k, &g->key, 1);
	run = kvt_lookup_lease(fd, &k, h);
	return (struct kvstash_result){ run == 1 ? 0 : -ENOENT, k.reason, k.run };
}

static struct kvstash_result hold(int fd, const struct grp *g, enum hold how, struct held *held)
{
	struct kvr_obj o = grp_member(g, 2);

	switch (how) {
	case LEASE:
		return kvt_exists_lease1(fd, &o.key, sizeof(o.key), NULL, &held->h);
	case LEASE_GROUP:
		return lease_group(fd, g, &held->h);
	case LEASE_LOOKUP:
		return lease_lookup(fd, g, &held->h);
	case PIN:
		return kvt_pin1(fd, &o.key, sizeof(o.key), KVSTASH_PIN_HARD);
	case PIN_GROUP:
		return grp_pin(fd, g, KVSTASH_PIN_HARD);
	default:
		return (struct kvstash_result){ kvr_reader_start(&held->rd, fd, &o), 0, 0 };
	}
}

static struct kvstash_result let_go(int fd, const struct grp *g, enum hold how,
				    struct held *held)
{
	struct kvr_obj o = grp_member(g, 1);

	switch (how) {
	case LEASE:
	case LEASE_GROUP:
	case LEASE_LOOKUP:
		return kvt_release1(fd, &held->h);
	case PIN:	/* by another member: the pin is the group's */
		return kvt_pin1(fd, &o.key, sizeof(o.key), KVSTASH_PIN_NONE);
	case PIN_GROUP:
		return grp_pin(fd, g, KVSTASH_PIN_NONE);
	default:
		return kvr_reader_finish(&held->rd);
	}
}

/* Group 0 is older than all else, all the time, and outlives ten pools of it. */
static void outlives(struct __test_metadata *_metadata, struct kvr_store *s, enum hold how)
{
	struct grp g = unit(0);
	struct held held;

	put_units(_metadata, s->fd, 0, 2);
	KVT_OK(hold(s->fd, &g, how, &held));
	for (unsigned int i = 0; i < 10; i++) {
		grp_pressure(_metadata, s->fd, 1000 * how + 100 * i, POOL, buf);
		expect_units(_metadata, s->fd, "+-");
	}
	KVT_OK(let_go(s->fd, &g, how, &held));
	expect_units(_metadata, s->fd, "+-");
	used_pressure(_metadata, s->fd, 1000 * how, 2 * POOL);
	expect_units(_metadata, s->fd, "--");
	kvr_sane(_metadata, s);
}

TEST_F(store, I4_not_evicted_while_a_member_is_held)
{
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, POOL, NULL);
	for (int how = 0; how < HOLDS; how++) {
		if (how == READ && kvr_uffd_works()) {
			TH_LOG("no userfaultfd: not tried with a reader");
			continue;
		}
		outlives(_metadata, s, how);
		if (!_metadata->exit_code)
			continue;
		TH_LOG("held by %s", hold_name[how]);
		break;
	}
	EXPECT_EQ(0, kvr_ns(s, "leases"));
	EXPECT_EQ(0, kvr_ns(s, "leased_bytes"));
	EXPECT_EQ(0, kvr_ns(s, "pinned_bytes"));
}

/* A plain group with a member in flight is held as a whole, too. */
TEST_F(store, I4_not_evicted_while_a_member_is_in_flight)
{
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	struct grp g = unit(0);

	kvr_store_make(_metadata, s, POOL, NULL);
	g.flags = 0;
	KVT_OK(grp_put_some(s->fd, &g, 0, 3, buf));
	KVT_OK(grp_reserve(s->fd, &g, 3, 0, &h));
	for (unsigned int i = 0; i < 10; i++) {
		grp_pressure(_metadata, s->fd, 100 * i, POOL, buf);
		EXPECT_EQ(3, grp_visible(s->fd, &g));
	}
	KVT_OK(grp_write(s->fd, &g, 3, 0, &h, buf));
	KVT_OK(kvt_commit1(s->fd, &h));
	grp_expect_visible(_metadata, s->fd, &g, buf);
	used_pressure(_metadata, s->fd, 0, 2 * POOL);
	EXPECT_EQ(0, grp_visible(s->fd, &g));
}

/* A lease goes with its client; then the group can. */
TEST_F(store, I4_I5_dead_lessee_holds_nothing)
{
	struct kvr_store *s = &self->s;
	struct grp g = unit(0);
	struct kvstash_handle h;
	int fd;

	kvr_store_make(_metadata, s, POOL, NULL);
	put_units(_metadata, s->fd, 0, 1);
	fd = kvt_open_ns(s->name);
	ASSERT_LE(0, fd);
	KVT_OK(lease_group(fd, &g, &h));
	EXPECT_EQ(MEMBERS * LEN, kvr_ns(s, "leased_bytes"));
	grp_pressure(_metadata, s->fd, 0, 3 * POOL, buf);
	expect_units(_metadata, s->fd, "+");
	close(fd);
	EXPECT_EQ(0, kvr_ns(s, "leases"));
	EXPECT_EQ(0, kvr_ns(s, "leased_bytes"));
	grp_pressure(_metadata, s->fd, 1000, 2 * POOL, buf);
	expect_units(_metadata, s->fd, "-");
}

/* Leaves first: of a chain of groups the last goes, whatever its age. */
TEST_F(store, I4_I9_tail_goes_before_the_head)
{
	struct kvr_store *s = &self->s;
	struct grp g[4];

	kvr_store_make(_metadata, s, POOL, NULL);
	for (unsigned int i = 0; i < 4; i++) {
		g[i] = unit(i);
		g[i].parent = i ? &g[i - 1].key : NULL;
		g[i].parent_kind = KVSTASH_KIND_GROUP;
		KVT_OK(grp_put_all(s->fd, &g[i], buf));
	}
	grp_pressure(_metadata, s->fd, 0, POOL / 2, buf);
	expect_units(_metadata, s->fd, "++++");
	for (unsigned int i = 0; i < 4; i++) {
		static const char * const left[] = { "+++-", "++--", "+---", "----" };

		grp_pressure(_metadata, s->fd, 100 + 10 * i, LEN, buf);
		expect_units(_metadata, s->fd, left[i]);
		grp_pressure(_metadata, s->fd, 105 + 10 * i, (MEMBERS - 1) * LEN, buf);
		expect_units(_metadata, s->fd, left[i]);
	}
	EXPECT_EQ(4, kvr_ns(s, "groups_evicted"));
}

/* What is incomplete and nobody's goes before all that is visible. */
TEST_F(store, I4_idle_group_is_collected_under_pressure_first)
{
	struct kvt_ns_args ns = { .incomplete_ms = 0x7fffffff };
	struct kvr_store *s = &self->s;
	struct grp idle = unit(FIT);
	int fd;

	kvr_store_make(_metadata, s, POOL, &ns);
	put_units(_metadata, s->fd, 0, FIT - 1);
	fd = kvt_open_ns(s->name);
	ASSERT_LE(0, fd);
	KVT_OK(grp_put_some(fd, &idle, 0, 3, buf));
	close(fd);
	grp_pressure(_metadata, s->fd, 0, LEN, buf);
	grp_expect_hidden(_metadata, s->fd, &idle, 7, buf);
	grp_pressure(_metadata, s->fd, 1, LEN, buf);
	grp_expect_gone(_metadata, s->fd, &idle, buf);
	expect_units(_metadata, s->fd, "+++++++");
	EXPECT_EQ(1, kvr_ns(s, "groups_collected"));
	EXPECT_EQ(0, kvr_ns(s, "groups_evicted"));
	EXPECT_EQ(2 * LEN, kvr_pool(s, "free_bytes"));
}

/* One that a living client contributed to is not idle, and not in the way. */
TEST_F(store, I4_I5_living_contributor_keeps_its_group)
{
	struct kvt_ns_args ns = { .incomplete_ms = 1 };
	struct kvr_store *s = &self->s;
	struct grp g = unit(0);
	int fd[2];

	kvr_store_make(_metadata, s, POOL, &ns);
	for (unsigned int i = 0; i < 2; i++) {
		fd[i] = kvt_open_ns(s->name);
		ASSERT_LE(0, fd[i]);
		KVT_OK(grp_put(fd[i], &g, i, buf));
	}
	close(fd[0]);
	grp_pressure(_metadata, s->fd, 0, 10 * POOL, buf);
	grp_expect_hidden(_metadata, s->fd, &g, 3, buf);
	EXPECT_EQ(0, kvr_ns(s, "groups_collected"));
	KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, grp_remove(s->fd, &g));
	close(fd[1]);
	grp_pressure(_metadata, s->fd, 1000, 2 * POOL, buf);
	grp_expect_gone(_metadata, s->fd, &g, buf);
	EXPECT_EQ(1, kvr_ns(s, "groups_collected"));
}

/* Waits until a group is gone. What hangs is ended by the runner. */
static void await_gone(int fd, const struct grp *g)
{
	while (grp_exists(fd, g, NULL).reason != KVSTASH_R_MISS)
		usleep(1000);
}

/* Without pressure it goes when the time-out of its namespace has passed. */
TEST_F(store, I4_incomplete_timeout)
{
	struct kvt_ns_args ns = { .incomplete_ms = 50 };
	struct kvr_store *s = &self->s;
	struct grp g = unit(0);
	int fd;

	kvr_store_make(_metadata, s, POOL, &ns);
	fd = kvt_open_ns(s->name);
	ASSERT_LE(0, fd);
	KVT_OK(grp_put_some(fd, &g, 0, 2, buf));
	usleep(200000);
	grp_expect_hidden(_metadata, s->fd, &g, 3, buf);
	close(fd);
	await_gone(s->fd, &g);
	grp_expect_gone(_metadata, s->fd, &g, buf);
	EXPECT_EQ(1, kvr_ns(s, "groups_collected"));
	EXPECT_EQ(0, kvr_ns(s, "objects"));
	EXPECT_EQ(0, kvr_pool(s, "committed_bytes"));
}

/* A member that comes late finds nothing, and starts a group of its own. */
TEST_F(store, I4_late_member_of_a_collected_group_starts_a_new_one)
{
	struct kvt_ns_args ns = { .incomplete_ms = 1 };
	struct kvr_store *s = &self->s;
	struct grp g = unit(0);
	int fd;

	kvr_store_make(_metadata, s, POOL, &ns);
	for (unsigned int expected = 4; expected < 6; expected++) {
		g.members = 4;
		fd = kvt_open_ns(s->name);
		ASSERT_LE(0, fd);
		KVT_OK(grp_put_some(fd, &g, 0, 3, buf));
		close(fd);
		await_gone(s->fd, &g);
		/* the second time the new one has another identity */
		g.members = expected;
		KVT_OK(grp_put(s->fd, &g, 3, buf));
		grp_expect_hidden(_metadata, s->fd, &g, 8, buf);
		KVT_OK(grp_put_some(s->fd, &g, 0, 3, buf));
		if (expected > 4)
			KVT_OK(grp_put(s->fd, &g, 4, buf));
		grp_expect_visible(_metadata, s->fd, &g, buf);
		KVT_OK(grp_remove(s->fd, &g));
	}
	EXPECT_EQ(2, kvr_ns(s, "groups_collected"));
}

/* A put of the key of a group that is removed but still read makes a new one. */
TEST_F(store, I1_I3_I4_member_never_joins_a_dying_group)
{
	struct kvr_store *s = &self->s;
	struct grp g = unit(0);
	struct kvr_reader rd;
	struct kvr_obj o = grp_member(&g, 1);
	int r = kvr_uffd_works();

	if (r)
		SKIP(return, "no userfaultfd: %d", r);
	kvr_store_make(_metadata, s, POOL, NULL);
	KVT_OK(grp_put_all(s->fd, &g, buf));
	ASSERT_EQ(0, kvr_reader_start(&rd, s->fd, &o));
	KVT_OK(grp_remove_member(s->fd, &g, 3, 0));
	grp_expect_gone(_metadata, s->fd, &g, buf);
	EXPECT_LE(LEN, kvr_pool(s, "held_bytes"));
	g.members = 5;
	KVT_OK(grp_put(s->fd, &g, 1, buf));
	grp_expect_hidden(_metadata, s->fd, &g, 2, buf);
	KVT_OK(grp_put(s->fd, &g, 0, buf));
	KVT_OK(grp_put_some(s->fd, &g, 2, 5, buf));
	grp_expect_visible(_metadata, s->fd, &g, buf);
	KVT_OK(kvr_reader_finish(&rd));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
	grp_expect_visible(_metadata, s->fd, &g, buf);
}

TEST_HARNESS_MAIN
