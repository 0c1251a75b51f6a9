// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * Slots run out, are taken away, come back: by leases, parts in flight, dead
 * writers, times to live. What is refused changes nothing.
 */
#include "s_store.h"

static const struct sst_layout *const l = &sst_small;

static char *begin(struct __test_metadata *_metadata, struct kvr_store *s, __u64 slots)
{
	char *buf = kvt_map(sst_small.bytes);

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, sst_add(s->fd, l, slots).res);
	return buf;
}

/* A state whose put finds no slot: refused with their number, and nothing changed. */
static void expect_no_slot(struct __test_metadata *_metadata, struct kvr_store *s, char *buf,
			   __u64 slots)
{
	struct kvstash_layout was = sst_figures(s->fd, l), now;
	struct sst_key k = sst_nth(l, 1000);
	struct kvstash_handle h;
	struct kvstash_result r;

	r = sst_put(s->fd, l, &k, buf);
	KVT_EXPECT(ENOSPC, KVSTASH_R_NO_SLOT, r);
	EXPECT_EQ(slots, r.detail);
	r = sst_reserve(s->fd, l, &k, &h);
	KVT_EXPECT(ENOSPC, KVSTASH_R_NO_SLOT, r);
	EXPECT_EQ(slots, r.detail);
	EXPECT_EQ(0, h.seq);
	EXPECT_FALSE(sst_there(s->fd, &k));
	now = sst_figures(s->fd, l);
	EXPECT_EQ(2, now.refused_no_slot - was.refused_no_slot);
	EXPECT_EQ(was.used, now.used);
	EXPECT_EQ(was.states, now.states);
	EXPECT_EQ(was.evictions, now.evictions);
	EXPECT_EQ(was.puts, now.puts);
	kvr_sane(_metadata, s);
}

TEST_F(store, all_slots_leased)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 3);
	struct kvstash_handle h[3];
	struct sst_key k;

	KVT_OK(sst_put_some(s->fd, l, 0, 3, buf));
	for (unsigned int i = 0; i < 3; i++) {
		k = sst_nth(l, i);
		KVT_OK(sst_lease(s->fd, &k, &h[i]));
	}
	expect_no_slot(_metadata, s, buf, 3);
	EXPECT_EQ(7, sst_those(s->fd, l, 0, 3));
	for (unsigned int i = 0; i < 3; i++) {
		k = sst_nth(l, i);
		KVT_OK(sst_get(s->fd, l, &k, buf));
		KVT_OK(sst_get_leased(s->fd, l, &k, &h[i], buf));
	}
	/* what is let go is the one that goes, though it was got last but one */
	KVT_OK(kvt_release1(s->fd, &h[1]));
	KVT_OK(sst_put_some(s->fd, l, 3, 1, buf));
	EXPECT_EQ(0xd, sst_those(s->fd, l, 0, 4));
	EXPECT_EQ(1, sst_figures(s->fd, l).evictions);
}

TEST_F(store, all_slots_in_flight)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 2);
	struct kvstash_handle h[2];
	struct sst_key k[2] = { sst_nth(l, 0), sst_nth(l, 1) };

	for (unsigned int i = 0; i < 2; i++)
		KVT_OK(sst_reserve(s->fd, l, &k[i], &h[i]));
	EXPECT_EQ(2 * SST_SMALL_SLOT, kvr_pool(s, "in_flight_bytes"));
	EXPECT_EQ(0, kvr_pool(s, "slot_free_bytes"));
	EXPECT_EQ(2, sst_figures(s->fd, l).states);
	expect_no_slot(_metadata, s, buf, 2);
	KVT_OK(kvt_abort1(s->fd, &h[0]));
	EXPECT_EQ(SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
	KVT_OK(sst_write(s->fd, l, &k[1], &h[1], buf, 0, l->bytes));
	KVT_OK(kvt_commit1(s->fd, &h[1]));
	KVT_OK(sst_put_some(s->fd, l, 10, 1, buf));
	EXPECT_EQ(2, sst_those(s->fd, l, 0, 2));
}

/* A reservation evicts as a put does; that it is aborted does not bring it back. */
TEST_F(store, reservation_takes_the_oldest)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 2);
	struct sst_key k = sst_nth(l, 5);
	struct kvstash_handle h;

	KVT_OK(sst_put_some(s->fd, l, 0, 2, buf));
	KVT_OK(sst_reserve(s->fd, l, &k, &h));
	EXPECT_EQ(2, sst_those(s->fd, l, 0, 2));
	KVT_OK(kvt_abort1(s->fd, &h));
	EXPECT_EQ(1, sst_figures(s->fd, l).used);
	EXPECT_EQ(1, sst_figures(s->fd, l).states);
}

TEST_F(store, layout_without_slots)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 0);
	struct sst_key k = sst_nth(l, 1);

	expect_no_slot(_metadata, s, buf, 0);
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, sst_get(s->fd, l, &k, buf));
	KVT_OK(sst_resize(s->fd, l, 1));
	KVT_OK(sst_put(s->fd, l, &k, buf));
	KVT_OK(sst_get(s->fd, l, &k, buf));
}

TEST_F(store, fewer_slots_than_are_held_is_refused_and_evicts_nothing)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 8);
	struct kvstash_handle h, w;
	struct sst_key k = sst_nth(l, 2), pinned = sst_nth(l, 4), open = sst_nth(l, 50);
	struct kvstash_result r;

	KVT_OK(sst_put_some(s->fd, l, 0, 6, buf));
	KVT_OK(sst_lease(s->fd, &k, &h));
	KVT_OK(sst_pin(s->fd, &pinned, KVSTASH_PIN_HARD));
	KVT_OK(sst_reserve(s->fd, l, &open, &w));
	for (__u64 n = 0; n < 3; n++) {
		r = sst_resize(s->fd, l, n);
		KVT_EXPECT(EBUSY, KVSTASH_R_SLOTS_HELD, r);
		EXPECT_EQ(3, r.detail);
		EXPECT_EQ(0x3f, sst_those(s->fd, l, 0, 6));
		EXPECT_EQ(8, sst_figures(s->fd, l).slots);
		EXPECT_EQ(7, sst_figures(s->fd, l).used);
		EXPECT_EQ(0, sst_figures(s->fd, l).evictions);
	}
	/* the order of use is as it was */
	KVT_OK(sst_resize(s->fd, l, 6));
	EXPECT_EQ(0x3e, sst_those(s->fd, l, 0, 6));
	KVT_OK(sst_resize(s->fd, l, 3));
	EXPECT_EQ(0x14, sst_those(s->fd, l, 0, 6));
	EXPECT_EQ(3 * SST_SMALL_SLOT, kvr_ns(s, "slot_bytes"));
	KVT_OK(kvt_release1(s->fd, &h));
	r = sst_resize(s->fd, l, 1);
	KVT_EXPECT(EBUSY, KVSTASH_R_SLOTS_HELD, r);
	EXPECT_EQ(2, r.detail);
	KVT_OK(sst_resize(s->fd, l, 2));
	EXPECT_FALSE(sst_there(s->fd, &k));
	KVT_OK(kvt_abort1(s->fd, &w));
	KVT_OK(sst_pin(s->fd, &pinned, KVSTASH_PIN_NONE));
	KVT_OK(sst_resize(s->fd, l, 0));
	EXPECT_EQ(6, sst_figures(s->fd, l).evictions);
	EXPECT_EQ(KVR_MB(4), kvr_pool(s, "free_bytes"));
	EXPECT_EQ(0, kvr_pool(s, "slot_free_bytes"));
}

/* I3: removed while it is leased, a state keeps its slot, and its layout. */
TEST_F(store, I3_removed_state_keeps_its_slot_until_its_lease_ends)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 2);
	struct sst_key k = sst_nth(l, 1);
	struct kvstash_handle h;
	struct kvstash_result r;

	KVT_OK(sst_put(s->fd, l, &k, buf));
	KVT_OK(sst_lease(s->fd, &k, &h));
	r = sst_drop(s->fd, l);
	KVT_EXPECT(EBUSY, KVSTASH_R_LAYOUT_BUSY, r);
	EXPECT_EQ(1, r.detail);
	KVT_OK(sst_remove(s->fd, &k));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, sst_get(s->fd, l, &k, buf));
	EXPECT_EQ(SST_SMALL_SLOT, kvr_pool(s, "held_bytes"));
	EXPECT_EQ(1, sst_figures(s->fd, l).used);
	/* it can be put again, beside the one that went */
	KVT_OK(sst_put(s->fd, l, &k, buf));
	EXPECT_EQ(2, sst_figures(s->fd, l).used);
	KVT_OK(sst_get_leased(s->fd, l, &k, &h, buf));
	KVT_OK(sst_remove(s->fd, &k));
	r = sst_resize(s->fd, l, 0);
	KVT_EXPECT(EBUSY, KVSTASH_R_SLOTS_HELD, r);
	EXPECT_EQ(1, r.detail);
	r = sst_drop(s->fd, l);
	KVT_EXPECT(EBUSY, KVSTASH_R_LAYOUT_BUSY, r);
	EXPECT_EQ(1, r.detail);
	KVT_OK(kvt_release1(s->fd, &h));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
	KVT_OK(sst_drop(s->fd, l));
	EXPECT_EQ(KVR_MB(4), kvr_pool(s, "free_bytes"));
	EXPECT_EQ(0, kvr_ns(s, "slot_bytes"));
}

/*
 * Not complete
 */

TEST_F(store, I1_partly_written_state_is_never_visible)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 2);
	struct sst_key k = sst_nth(l, 1);
	struct kvstash_candidate c;
	struct kvstash_handle h;
	struct kvstash_keys keys;
	struct kvstash_exists x;
	struct kvstash_result r;

	KVT_OK(sst_reserve(s->fd, l, &k, &h));
	for (__u64 to = 0; to < l->bytes; to += 1250) {
		if (to)
			KVT_OK(sst_write(s->fd, l, &k, &h, buf, to - 1250, to));
		KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, sst_get(s->fd, l, &k, buf));
		EXPECT_TRUE(kvt_untouched((unsigned char *)buf, l->bytes));
		KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, sst_exists(s->fd, &k, &x));
		EXPECT_EQ(KVSTASH_STATE_FILLING, x.state);
		memset(&keys, 0, sizeof(keys));
		keys.size = sizeof(keys);
		sst_prep_candidate(&c, &k);
		sst_prep_candidates(&keys, &c, 1);
		ASSERT_EQ(0, kvt_lookup(s->fd, &keys));
		KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, c.r);
		EXPECT_EQ(0, c.bytes);
		r = kvt_commit1(s->fd, &h);
		KVT_EXPECT(EINVAL, KVSTASH_R_UNWRITTEN, r);
		EXPECT_EQ(l->bytes - to, r.detail);
		KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, sst_put(s->fd, l, &k, buf));
		KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, sst_remove(s->fd, &k));
	}
	r = sst_write(s->fd, l, &k, &h, buf, l->bytes - 1, l->bytes + 1);
	KVT_EXPECT(ERANGE, KVSTASH_R_RANGE, r);
	EXPECT_EQ(l->bytes, r.detail);
	KVT_OK(sst_write(s->fd, l, &k, &h, buf, l->bytes - 1250, l->bytes));
	KVT_OK(kvt_commit1(s->fd, &h));
	KVT_OK(sst_get(s->fd, l, &k, buf));
}

struct death {
	const struct kvr_store *s;
	const struct kvt_gate *ready;
	unsigned int parts;
};

/* Reserves some, writes half of each, and waits for its death. */
static int dying_writer(void *arg)
{
	struct death *t = arg;
	int fd = kvt_open_ns(t->s->name);
	char *buf = kvt_map(l->bytes);

	for (unsigned int i = 0; i < t->parts; i++) {
		struct sst_key k = sst_nth(l, i);
		struct kvstash_handle h;

		if (sst_reserve(fd, l, &k, &h).res ||
		    sst_write(fd, l, &k, &h, buf, 0, l->bytes / 2).res)
			return kvr_say("state %u not reserved", i);
	}
	kvt_gate_open(t->ready, 1);
	pause();
	return 0;
}

TEST_F(store, I5_slots_of_a_killed_writer_are_back_at_once)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 4);
	struct kvt_gate ready;
	struct death t = { .s = s, .ready = &ready };
	pid_t pid;

	ASSERT_EQ(0, kvt_gate_init(&ready));
	for (unsigned int round = 0; round < 20; round++) {
		t.parts = 1 + round % 4;
		pid = kvr_spawn(dying_writer, &t);
		ASSERT_LT(0, pid);
		ASSERT_EQ(0, kvr_ready(&ready, pid));
		EXPECT_EQ(t.parts, sst_figures(s->fd, l).used);
		ASSERT_EQ(-SIGKILL, kvr_kill(pid));
		EXPECT_EQ(4 * SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
		EXPECT_EQ(0, kvr_pool(s, "in_flight_bytes"));
		EXPECT_EQ(0, sst_figures(s->fd, l).states);
		KVT_OK(sst_put_some(s->fd, l, 0, 4, buf));
		EXPECT_EQ(0xf, sst_those(s->fd, l, 0, 4));
		KVT_OK(sst_resize(s->fd, l, 0));
		KVT_OK(sst_resize(s->fd, l, 4));
	}
}

/*
 * Gone between the lookup and the get
 */

/* What a LOOKUP of @k alone says, with a lease in @h unless that is NULL. */
static struct kvstash_result look(int fd, const struct sst_key *k, struct kvstash_handle *h)
{
	struct kvstash_keys keys = { .size = sizeof(keys) };
	struct kvstash_candidate c;
	int run;

	sst_prep_candidate(&c, k);
	sst_prep_candidates(&keys, &c, 1);
	if (h)
		keys.flags = KVSTASH_KEYS_LEASE;
	run = kvt_lookup(fd, &keys);
	if (h)
		*h = c.lease;
	return run < 0 ? (struct kvstash_result){ run, keys.reason, keys.bytes } : c.r;
}

TEST_F(store, I11_state_that_goes_between_lookup_and_get_is_a_miss)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 1);
	struct sst_key k = sst_nth(l, 0);

	KVT_OK(sst_put(s->fd, l, &k, buf));
	KVT_OK(look(s->fd, &k, NULL));
	KVT_OK(sst_put_some(s->fd, l, 1, 1, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, sst_get(s->fd, l, &k, buf));
	EXPECT_TRUE(kvt_untouched((unsigned char *)buf, l->bytes));
}

TEST_F(store, I11_state_leased_by_lookup_is_always_got)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 2);
	struct sst_key k = sst_nth(l, 0);
	struct kvstash_handle h;

	KVT_OK(sst_put(s->fd, l, &k, buf));
	KVT_OK(look(s->fd, &k, &h));
	EXPECT_NE(0, h.seq);
	for (unsigned int i = 1; i < 100; i++) {
		KVT_OK(sst_put_some(s->fd, l, i, 1, buf));
		if (i % 10)
			continue;
		KVT_OK(sst_get(s->fd, l, &k, buf));
		KVT_OK(sst_get_leased(s->fd, l, &k, &h, buf));
	}
	EXPECT_EQ(98, sst_figures(s->fd, l).evictions);
	KVT_OK(kvt_release1(s->fd, &h));
	KVT_OK(sst_put_some(s->fd, l, 200, 2, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, look(s->fd, &k, &h));
	EXPECT_EQ(0, h.seq);
}

/*
 * Times to live
 */

static struct kvstash_result put_timed(int fd, const struct sst_key *k, __u32 ms, void *buf)
{
	struct kvstash_put e;

	sst_prep(&e, l, k, buf);
	kvstash_prep_put_ttl(&e, ms);
	return kvt_put_one(fd, &e);
}

/* Until @k is not there any more: why. */
static __u32 wait_until_expired(int fd, const struct sst_key *k)
{
	struct kvstash_exists x;
	struct kvstash_result r;

	do
		r = sst_exists(fd, k, &x);
	while (!r.res);
	return r.reason;
}

TEST_F(store, I11_expired_state_is_an_observed_miss)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 2);
	struct sst_key k = sst_nth(l, 1);
	struct kvstash_layout d;

	KVT_OK(put_timed(s->fd, &k, 100, buf));
	EXPECT_EQ(KVSTASH_R_EXPIRED, wait_until_expired(s->fd, &k));
	KVT_EXPECT(ENOENT, KVSTASH_R_EXPIRED, look(s->fd, &k, NULL));
	KVT_EXPECT(ENOENT, KVSTASH_R_EXPIRED, sst_get(s->fd, l, &k, buf));
	EXPECT_TRUE(kvt_untouched((unsigned char *)buf, l->bytes));
	d = sst_figures(s->fd, l);
	EXPECT_EQ(1, d.misses);
	EXPECT_LE(2, d.not_found);
	/* the key is free for another at once, and that has no end */
	KVT_OK(sst_put(s->fd, l, &k, buf));
	KVT_OK(sst_get(s->fd, l, &k, buf));
	EXPECT_EQ(1, sst_figures(s->fd, l).expired);
	EXPECT_EQ(0, sst_figures(s->fd, l).evictions);
}

/* What has expired makes room before all that has not, however old that is. */
TEST_F(store, expired_state_gives_its_slot_first)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 3);
	struct sst_key k = sst_nth(l, 5);

	KVT_OK(sst_put_some(s->fd, l, 0, 2, buf));
	KVT_OK(put_timed(s->fd, &k, 50, buf));
	wait_until_expired(s->fd, &k);
	KVT_OK(sst_put_some(s->fd, l, 2, 1, buf));
	EXPECT_EQ(7, sst_those(s->fd, l, 0, 3));
	EXPECT_EQ(1, sst_figures(s->fd, l).expired);
	EXPECT_EQ(0, sst_figures(s->fd, l).evictions);
}

/* I3: it is hidden, and its slot is its own until the lease ends. */
TEST_F(store, leased_state_expires_and_keeps_its_bytes)
{
	struct kvr_store *s = &self->s;
	char *buf = begin(_metadata, s, 1);
	struct sst_key k = sst_nth(l, 1);
	struct kvstash_handle h;

	KVT_OK(put_timed(s->fd, &k, 200, buf));
	KVT_OK(sst_lease(s->fd, &k, &h));
	wait_until_expired(s->fd, &k);
	KVT_OK(sst_get_leased(s->fd, l, &k, &h, buf));
	expect_no_slot(_metadata, s, buf, 1);
	KVT_OK(sst_get_leased(s->fd, l, &k, &h, buf));
	KVT_OK(kvt_release1(s->fd, &h));
	KVT_OK(sst_put_some(s->fd, l, 2, 1, buf));
}

TEST_HARNESS_MAIN
