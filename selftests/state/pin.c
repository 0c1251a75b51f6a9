// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * What keeps a state from making room for another: pins, leases and their budgets,
 * and quotas of objects; who wins a key that several put; what figures add up to.
 */
#include "../group/lease.h"
#include "s_store.h"

static const struct sst_layout *const l = &sst_small;
static char buf[KVR_BLOCK];

static void begin(struct __test_metadata *_metadata, struct kvr_store *s, __u64 slots,
		  const struct kvt_ns_args *limits)
{
	kvr_store_make(_metadata, s, KVL_POOL, limits);
	ASSERT_EQ(0, sst_add(s->fd, l, slots).res);
}

static struct kvstash_result pin_nth(int fd, __u64 id, __u8 pin)
{
	struct sst_key k = sst_nth(l, id);

	return sst_pin(fd, &k, pin);
}

TEST_F(store, soft_pinned_state_goes_after_all_others)
{
	struct kvr_store *s = &self->s;
	struct kvstash_exists x;
	struct sst_key k = sst_nth(l, 0);

	begin(_metadata, s, 4, NULL);
	KVT_OK(sst_put_some(s->fd, l, 0, 4, buf));
	KVT_OK(pin_nth(s->fd, 0, KVSTASH_PIN_SOFT));
	KVT_OK(pin_nth(s->fd, 1, KVSTASH_PIN_SOFT));
	KVT_OK(sst_exists(s->fd, &k, &x));
	EXPECT_EQ(KVSTASH_PIN_SOFT, x.pin);
	KVT_OK(sst_put_some(s->fd, l, 4, 20, buf));
	EXPECT_EQ(0xc00003, sst_those(s->fd, l, 0, 24));
	/* of those that are left the older goes first */
	KVT_OK(sst_resize(s->fd, l, 1));
	EXPECT_EQ(2, sst_those(s->fd, l, 0, 24));
	KVT_OK(sst_put_some(s->fd, l, 30, 1, buf));
	EXPECT_EQ(0, sst_those(s->fd, l, 0, 24));
}

/* Of a pin that was taken back nothing is left: it goes in its turn. */
TEST_F(store, state_pinned_no_more_goes_in_its_turn)
{
	struct kvr_store *s = &self->s;

	begin(_metadata, s, 4, NULL);
	KVT_OK(sst_put_some(s->fd, l, 0, 4, buf));
	KVT_OK(pin_nth(s->fd, 0, KVSTASH_PIN_SOFT));
	KVT_OK(pin_nth(s->fd, 1, KVSTASH_PIN_HARD));
	KVT_OK(sst_put_some(s->fd, l, 4, 4, buf));
	EXPECT_EQ(0xc3, sst_those(s->fd, l, 0, 8));
	KVT_OK(pin_nth(s->fd, 0, KVSTASH_PIN_NONE));
	KVT_OK(sst_put_some(s->fd, l, 8, 1, buf));
	EXPECT_EQ(0x1c2, sst_those(s->fd, l, 0, 9));
}

TEST_F(store, hard_pinned_state_is_never_evicted)
{
	struct kvt_ns_args ns = { .pin_bytes = 2 * SST_SMALL_SLOT };
	struct kvr_store *s = &self->s;
	struct kvstash_result r;

	begin(_metadata, s, 3, &ns);
	KVT_OK(sst_put_some(s->fd, l, 0, 3, buf));
	KVT_OK(pin_nth(s->fd, 0, KVSTASH_PIN_HARD));
	KVT_OK(pin_nth(s->fd, 1, KVSTASH_PIN_HARD));
	r = pin_nth(s->fd, 2, KVSTASH_PIN_HARD);
	KVT_EXPECT(EDQUOT, KVSTASH_R_PIN_QUOTA, r);
	EXPECT_EQ(SST_SMALL_SLOT, r.detail);
	KVT_OK(sst_put_some(s->fd, l, 3, 20, buf));
	EXPECT_EQ(3, sst_those(s->fd, l, 0, 3));
	EXPECT_EQ(2 * SST_SMALL_SLOT, kvr_ns(s, "pinned_bytes"));
	KVT_OK(sst_resize(s->fd, l, 2));
	r = sst_put_some(s->fd, l, 50, 1, buf);
	KVT_EXPECT(ENOSPC, KVSTASH_R_NO_SLOT, r);
	EXPECT_EQ(2, r.detail);
	KVT_OK(pin_nth(s->fd, 0, KVSTASH_PIN_SOFT));
	KVT_OK(sst_put_some(s->fd, l, 50, 1, buf));
	EXPECT_EQ(2, sst_those(s->fd, l, 0, 3));
	KVT_OK(pin_nth(s->fd, 1, KVSTASH_PIN_NONE));
}

TEST_F(store, lease_budget_counts_slots)
{
	struct kvt_ns_args ns = { .lease_bytes = 2 * SST_SMALL_SLOT + 4096 };
	struct sst_key k[3] = { sst_nth(l, 0), sst_nth(l, 1), sst_nth(l, 2) };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[3];
	struct kvstash_result r;

	begin(_metadata, s, 3, &ns);
	KVT_OK(sst_put_some(s->fd, l, 0, 3, buf));
	KVT_OK(sst_lease(s->fd, &k[0], &h[0]));
	KVT_OK(sst_lease(s->fd, &k[1], &h[1]));
	r = sst_lease(s->fd, &k[2], &h[2]);
	KVT_EXPECT(EDQUOT, KVSTASH_R_LEASE_BUDGET, r);
	EXPECT_EQ(4096, r.detail);
	EXPECT_TRUE(kvl_no_handle(&h[2]));
	KVL_LEASED(2, 2 * SST_SMALL_SLOT, s);
	r = kvt_get_lease1(s->fd, &k[0], sizeof(k[0]), NULL, 0, NULL, &h[2]);
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, r);	/* that is a page's key */
	close(s->fd);
	s->fd = kvt_open_ns(s->name);
	KVL_LEASED(0, 0, s);
	KVT_OK(sst_put_some(s->fd, l, 10, 3, buf));
	EXPECT_EQ(0, sst_those(s->fd, l, 0, 3));
}

/* An object as any other: at the quota a state makes room for a page, or a state. */
TEST_F(store, I10_quota_of_objects_full_of_states)
{
	struct kvt_ns_args ns = { .quota_objects = 4 };
	struct kvr_store *s = &self->s;
	struct kvr_obj o = sst_page(1, 4096);

	begin(_metadata, s, 8, &ns);
	KVT_OK(sst_put_some(s->fd, l, 0, 4, buf));
	KVT_OK(kvr_put(s->fd, &o, buf));
	EXPECT_EQ(0xe, sst_those(s->fd, l, 0, 4));
	KVT_OK(kvr_get(s->fd, &o, buf));
	for (unsigned int i = 0; i < 4; i++)
		pin_nth(s->fd, i, KVSTASH_PIN_HARD);
	KVT_OK(sst_put_some(s->fd, l, 10, 1, buf));
	EXPECT_EQ(KVSTASH_STATE_ABSENT, kvr_state(s->fd, &o));
	EXPECT_EQ(0xe, sst_those(s->fd, l, 0, 4));
	pin_nth(s->fd, 10, KVSTASH_PIN_HARD);
	KVT_EXPECT(EDQUOT, KVSTASH_R_QUOTA_OBJECTS, sst_put_some(s->fd, l, 11, 1, buf));
	KVT_EXPECT(EDQUOT, KVSTASH_R_QUOTA_OBJECTS, kvr_put(s->fd, &o, buf));
	EXPECT_EQ(4, kvr_ns(s, "objects"));
	EXPECT_EQ(4 * SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
}

/* Other tenants' states neither go nor count. */
TEST_F(store, I10_pressure_stays_in_its_namespace)
{
	struct kvt_ns_args other = { .name = "state-tenant", .quota_objects = 2 };
	struct kvr_store *s = &self->s;
	int fd;

	begin(_metadata, s, 4, NULL);
	KVT_OK(sst_put_some(s->fd, l, 0, 4, buf));
	other.pool = s->name;
	ASSERT_EQ(0, kvt_ns_new(&other));
	fd = kvt_open_ns(other.name);
	ASSERT_LE(0, fd);
	KVT_OK(sst_add(fd, l, 1));
	KVT_OK(sst_put_some(fd, l, 0, 10, buf));
	EXPECT_EQ(0xf, sst_those(s->fd, l, 0, 4));
	EXPECT_EQ(1ULL << 9, sst_those(fd, l, 0, 10));
	KVT_OK(sst_resize(fd, l, 0));
	KVT_OK(sst_drop(fd, l));
	EXPECT_EQ(0xf, sst_those(s->fd, l, 0, 4));
	close(fd);
	EXPECT_EQ(0, kvt_ns_del(other.name));
}

/*
 * One key, several processes
 */

#define RACERS	4U
#define RACES	100U

struct race {
	struct kvr_store *s;
	struct kvr_barrier barrier;
	__u32 won[RACES];
	__u32 other;
};

static __u32 racer_me;

static int racer(void *arg)
{
	struct race *t = arg;
	int fd = kvt_open_ns(t->s->name);

	for (unsigned int i = 0; i < RACES; i++) {
		struct sst_key k = sst_nth(l, i);
		struct kvstash_result r;
		struct kvstash_put e;

		sst_prep(&e, l, &k, buf);
		memset(buf, racer_me, l->bytes);
		if (kvr_barrier_wait(&t->barrier))
			return 1;
		r = kvt_put_one(fd, &e);
		if (!r.res)
			kvr_add(&t->won[i], 1 + (racer_me << 8));
		else if (r.reason != KVSTASH_R_EXISTS && r.reason != KVSTASH_R_IN_FLIGHT)
			return kvr_say("put: %d reason %u", r.res, r.reason) +
			       kvr_barrier_break(&t->barrier);
	}
	return 0;
}

TEST_F(store, I2_one_of_several_puts_of_a_key_wins)
{
	struct race *t = kvr_shared(sizeof(*t));
	struct kvr_store *s = &self->s;
	pid_t pid[RACERS];

	ASSERT_NE(NULL, t);
	begin(_metadata, s, RACES, NULL);
	t->s = s;
	t->barrier.n = RACERS;
	for (racer_me = 0; racer_me < RACERS; racer_me++)
		pid[racer_me] = kvr_spawn(racer, t);
	for (unsigned int i = 0; i < RACERS; i++)
		EXPECT_EQ(0, kvt_wait(pid[i]));
	for (unsigned int i = 0; i < RACES; i++) {
		struct sst_key k = sst_nth(l, i);
		struct kvstash_get e;

		ASSERT_EQ(1, t->won[i] & 0xff);
		sst_prep_get(&e, &k, buf, l->bytes);
		KVT_OK(kvt_get_one(s->fd, &e));
		for (__u64 b = 0; b < l->bytes; b++)
			ASSERT_EQ(t->won[i] >> 8, (unsigned char)buf[b]);
	}
	EXPECT_EQ(RACES, sst_figures(s->fd, l).puts);
	EXPECT_EQ(RACES * (RACERS - 1), sst_figures(s->fd, l).refused_there);
}

/*
 * Figures
 */

/* I6, and that slots are counted where they are: each in one place. */
static void expect_where(struct __test_metadata *_metadata, struct kvr_store *s, __u64 free,
			 __u64 there, __u64 in_flight, __u64 held)
{
	struct kvt_counts c;

	ASSERT_EQ(0, kvt_counts_of(s->pool, &c));
	EXPECT_EQ(free * SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
	EXPECT_EQ(there * SST_SMALL_SLOT, c.committed);
	EXPECT_EQ(in_flight * SST_SMALL_SLOT, c.in_flight);
	EXPECT_EQ(held * SST_SMALL_SLOT, c.held);
	/* those that hold no state are free, if only for their layout */
	EXPECT_EQ(KVL_POOL - (there + in_flight + held) * SST_SMALL_SLOT, c.free);
	EXPECT_EQ(there + in_flight + held, sst_figures(s->fd, l).used);
	EXPECT_EQ(free + there + in_flight + held, sst_figures(s->fd, l).slots);
	kvr_sane(_metadata, s);
}

TEST_F(store, I6_each_slot_is_counted_once)
{
	struct kvr_store *s = &self->s;
	struct sst_key k = sst_nth(l, 1), open = sst_nth(l, 50);
	struct kvstash_handle h, w;

	begin(_metadata, s, 6, NULL);
	expect_where(_metadata, s, 6, 0, 0, 0);
	KVT_OK(sst_put_some(s->fd, l, 0, 4, buf));
	expect_where(_metadata, s, 2, 4, 0, 0);
	KVT_OK(sst_reserve(s->fd, l, &open, &w));
	expect_where(_metadata, s, 1, 4, 1, 0);
	KVT_OK(sst_lease(s->fd, &k, &h));
	KVT_OK(sst_remove(s->fd, &k));
	expect_where(_metadata, s, 1, 3, 1, 1);
	KVT_OK(sst_put_some(s->fd, l, 10, 2, buf));
	expect_where(_metadata, s, 0, 4, 1, 1);
	KVT_OK(kvt_release1(s->fd, &h));
	expect_where(_metadata, s, 1, 4, 1, 0);
	KVT_OK(kvt_abort1(s->fd, &w));
	expect_where(_metadata, s, 2, 4, 0, 0);
	KVT_OK(sst_resize(s->fd, l, 3));
	expect_where(_metadata, s, 0, 3, 0, 0);
	KVT_OK(sst_resize(s->fd, l, 5));
	expect_where(_metadata, s, 2, 3, 0, 0);
	EXPECT_EQ(5 * SST_SMALL_SLOT, kvr_ns(s, "slot_bytes"));
	EXPECT_EQ(5 * SST_SMALL_SLOT, kvr_ns(s, "bytes"));
}

/* With clients gone a namespace goes with its layouts, slots and states. */
TEST_F(store, I6_namespace_goes_with_its_layouts)
{
	struct kvt_ns_args other = { .name = "state-going" };
	struct kvr_store *s = &self->s;
	struct sst_layout many = sst_small;
	struct kvr_obj o = sst_page(1, 4096);
	struct sst_key k = sst_nth(&sst_tied, 1);
	__u64 meta;
	int fd;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	other.pool = s->name;
	meta = kvr_pool(s, "meta_bytes");
	for (unsigned int round = 0; round < 3; round++) {
		ASSERT_EQ(0, kvt_ns_new(&other));
		fd = kvt_open_ns(other.name);
		ASSERT_LE(0, fd);
		for (many.nr = 10; many.nr < 20; many.nr++) {
			ASSERT_EQ(0, sst_add(fd, &many, 3).res);
			ASSERT_EQ(0, sst_put_some(fd, &many, 0, 2, buf).res);
		}
		KVT_OK(sst_add(fd, &sst_tied, 1));
		KVT_OK(kvr_put(fd, &o, buf));
		KVT_OK(sst_put_below(fd, &sst_tied, &k, &o.key, buf));
		EXPECT_EQ(-EBUSY, kvt_ns_del(other.name));
		EXPECT_EQ(10 * SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
		close(fd);
		EXPECT_EQ(0, kvt_ns_del(other.name));
		EXPECT_EQ(0, kvr_pool(s, "slot_free_bytes"));
		EXPECT_EQ(KVL_POOL, kvr_pool(s, "free_bytes"));
		EXPECT_EQ(meta, kvr_pool(s, "meta_bytes"));
	}
}

TEST_HARNESS_MAIN
