// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/* kvstash-timeout: 1200 */
/*
 * Writers put states, at once or in pieces, and are killed at random; readers get
 * them, or look for all and lease what they find; the layout has from 4 to 16 slots,
 * and other numbers all the time. Of each state every byte is verified: it begins
 * with the number of its put, and the rest follows from that and the key.
 */
#include "../group/lease.h"
#include "s_store.h"

#define KEYS	24U
#define WRITERS	4U
#define READERS	4U
#define LEAST	4U
#define MOST	16U

static const struct sst_layout churned = {
	.nr = 5, .scheme = 1, .bytes = 20008, .align = 16, .layers = 4,
};

/** struct torture - in shared memory */
struct torture {
	const struct kvr_store *s;
	__u64 seed;
	__u64 numbers;		/* of puts */
	__u64 observations;	/* states that were there, all bytes right */
	__u64 leased;		/* of these by lease, twice each */
	__u64 absent;
	__u64 puts;
	__u64 refused;		/* there already, in flight, or no slot */
	__u64 removes;
	__u64 resizes;
	__u64 held;		/* and those that were refused */
	__u64 kills;
	__u64 samples;
	__u32 stop;
};

static unsigned int my_number;	/* set before the fork */
static char buf[20008], back[20008];

static void count(__u64 *v)
{
	__atomic_add_fetch(v, 1, __ATOMIC_RELAXED);
}

static __u64 enough(void)
{
	const char *s = getenv("TORTURE_OBSERVATIONS");
	__u64 n = s ? strtoull(s, NULL, 0) : 0;

	return n ? n : kvt_rounds(20000);
}

/* The bytes of put number @nr of @k. */
static void make_bytes(const struct sst_key *k, __u64 nr)
{
	memcpy(buf, &nr, sizeof(nr));
	kvt_fill(buf + sizeof(nr), sizeof(buf) - sizeof(nr), kvt_word(sst_seed(k), nr));
}

/* The number of the put that @p has the bytes of, or 0. */
static __u64 whose(const struct sst_key *k, const char *p)
{
	__u64 nr;

	memcpy(&nr, p, sizeof(nr));
	return kvt_verify(p + sizeof(nr), churned.bytes - sizeof(nr),
			  kvt_word(sst_seed(k), nr)) < 0 ? nr : 0;
}

static bool refusal(const struct kvstash_result *r)
{
	return r->reason == KVSTASH_R_EXISTS || r->reason == KVSTASH_R_IN_FLIGHT ||
	       r->reason == KVSTASH_R_NO_SLOT;
}

/* In pieces, in any order; some are given up half way. */
static struct kvstash_result put_pieces(int fd, const struct sst_key *k, __u64 *rnd)
{
	__u64 half = 1 + kvr_below(rnd, churned.bytes - 1);
	bool second = kvr_below(rnd, 2);
	struct kvstash_handle h;
	struct kvstash_result r;

	r = sst_reserve(fd, &churned, k, &h);
	for (unsigned int i = 0; i < 2 && !r.res; i++, second = !second)
		r = kvt_write1(fd, &h, second ? half : 0, buf + (second ? half : 0),
			       second ? churned.bytes - half : half);
	if (r.res)
		return r;
	return kvr_below(rnd, 8) ? kvt_commit1(fd, &h) : kvt_abort1(fd, &h);
}

static int writer(void *arg)
{
	struct torture *t = arg;
	int fd = kvt_open_ns(t->s->name);
	__u64 rnd = t->seed + 100 * my_number;

	while (fd >= 0 && !kvr_load(&t->stop)) {
		struct sst_key k = sst_nth(&churned, kvr_below(&rnd, KEYS));
		struct kvstash_result r;
		struct kvstash_put e;

		if (!kvr_below(&rnd, 8)) {
			r = sst_remove(fd, &k);
			if (!r.res)
				count(&t->removes);
			continue;
		}
		make_bytes(&k, __atomic_add_fetch(&t->numbers, 1, __ATOMIC_RELAXED));
		kvstash_prep_put(&e, &k, sizeof(k), buf, churned.bytes);
		kvstash_prep_put_state(&e);
		r = kvr_below(&rnd, 2) ? kvt_put_one(fd, &e) : put_pieces(fd, &k, &rnd);
		if (r.res && !refusal(&r))
			return kvr_say("put: %d reason %u", r.res, r.reason);
		count(r.res ? &t->refused : &t->puts);
	}
	return fd < 0;
}

/* One by its key: missing, or all of one put. */
static int read_one(struct torture *t, int fd, const struct sst_key *k)
{
	struct kvstash_get e;
	struct kvstash_result r;

	memset(back, 0, sizeof(back));
	sst_prep_get(&e, k, back, churned.bytes);
	r = kvt_get_one(fd, &e);
	if (r.res == -ENOENT) {
		count(&t->absent);
		return 0;
	}
	if (r.res || !whose(k, back))
		return kvr_say("get of %llu: %d reason %u, or wrong bytes", k->prefix.id, r.res,
			       r.reason);
	count(&t->observations);
	return 0;
}

/* By its lease it is always there, and twice the same. */
static int read_leased(struct torture *t, int fd, const struct sst_key *k,
		       const struct kvstash_handle *h)
{
	__u64 nr[2];

	for (unsigned int i = 0; i < 2; i++) {
		memset(back, 0, sizeof(back));
		if (kvt_get_by_lease1(fd, h, back, churned.bytes, NULL).res)
			return kvr_say("leased state %llu can't be got", k->prefix.id);
		nr[i] = whose(k, back);
	}
	if (!nr[0] || nr[0] != nr[1])
		return kvr_say("leased state %llu: puts %llu, %llu", k->prefix.id, nr[0], nr[1]);
	count(&t->observations);
	count(&t->leased);
	return kvt_release1(fd, h).res ? kvr_say("release failed") : 0;
}

/* All in one call; the leases do not fit the budget now and then. */
static int look(struct torture *t, int fd, bool lease)
{
	struct kvstash_keys keys = { .size = sizeof(keys),
				     .flags = lease ? KVSTASH_KEYS_LEASE : 0 };
	struct kvstash_candidate c[KEYS];
	struct sst_key k[KEYS];
	int r;

	for (unsigned int i = 0; i < KEYS; i++) {
		k[i] = sst_nth(&churned, i);
		sst_prep_candidate(&c[i], &k[i]);
	}
	sst_prep_candidates(&keys, c, KEYS);
	r = kvt_lookup(fd, &keys);
	if (r == -EDQUOT && keys.reason == KVSTASH_R_LEASE_BUDGET)
		return 0;
	if (r)
		return kvr_say("lookup: %d reason %u", r, keys.reason);
	for (unsigned int i = 0; i < KEYS; i++) {
		if (c[i].r.res && c[i].r.res != -ENOENT)
			return kvr_say("lookup of %u: %d reason %u", i, c[i].r.res, c[i].r.reason);
		if ((lease && !c[i].r.res) != !!c[i].lease.seq)
			return kvr_say("lookup of %u: %d, lease %llu", i, c[i].r.res,
				       c[i].lease.seq);
		if (c[i].lease.seq && read_leased(t, fd, &k[i], &c[i].lease))
			return 1;
	}
	return 0;
}

static int reader(void *arg)
{
	struct torture *t = arg;
	int fd = kvt_open_ns(t->s->name);
	__u64 rnd = t->seed + 1000 * (1 + my_number);

	while (fd >= 0 && !kvr_load(&t->stop)) {
		struct sst_key k = sst_nth(&churned, kvr_below(&rnd, KEYS));

		if (read_one(t, fd, &k) || (!kvr_below(&rnd, 8) && look(t, fd, kvr_below(&rnd, 4))))
			return 1;
	}
	return fd < 0;
}

/* I6 in each sample, and never more slots than were asked for. */
static int resizer(void *arg)
{
	struct torture *t = arg;
	int fd = kvt_open_ns(t->s->name);
	__u64 rnd = t->seed + 7;
	struct kvstash_result r;
	struct kvt_counts c;

	while (fd >= 0 && !kvr_load(&t->stop)) {
		__u64 slots = LEAST + kvr_below(&rnd, MOST - LEAST + 1);

		r = sst_resize(fd, &churned, slots);
		if (r.res && r.reason != KVSTASH_R_SLOTS_HELD)
			return kvr_say("resize: %d reason %u", r.res, r.reason);
		count(r.res ? &t->held : &t->resizes);
		if (!r.res && sst_figures(fd, &churned).slots != slots)
			return kvr_say("%llu slots", slots);
		if (kvt_counts_of(t->s->pool, &c) || !kvt_i6(&c))
			return kvr_say("I6: free %llu committed %llu in flight %llu held %llu",
				       c.free, c.committed, c.in_flight, c.held);
		count(&t->samples);
		usleep(500);
	}
	return fd < 0;
}

static pid_t start(int (*fn)(void *arg), struct torture *t, unsigned int number)
{
	my_number = number;
	return kvr_spawn(fn, t);
}

/* Kills a writer now and then, until there were enough observations or one failed. */
static void kill_writers(struct __test_metadata *_metadata, struct torture *t, pid_t *writers,
			 const pid_t *others, unsigned int nr)
{
	unsigned int number = WRITERS;
	struct pollfd p[READERS + 1];
	__u64 rnd = t->seed + 3;

	for (unsigned int i = 0; i < nr; i++)
		p[i] = (struct pollfd){ syscall(SYS_pidfd_open, others[i], 0), POLLIN, 0 };
	while (__atomic_load_n(&t->observations, __ATOMIC_RELAXED) < enough()) {
		unsigned int i = kvr_below(&rnd, WRITERS);

		if (poll(p, nr, 1 + kvr_below(&rnd, 20)))
			break;
		ASSERT_EQ(-SIGKILL, kvr_kill(writers[i]));
		writers[i] = start(writer, t, number++);
		t->kills++;
	}
	for (unsigned int i = 0; i < nr; i++)
		close(p[i].fd);
}

static void expect_figures(struct __test_metadata *_metadata, struct torture *t)
{
	const struct kvr_store *s = t->s;
	struct kvstash_layout d = sst_figures(s->fd, &churned);

	TH_LOG("%llu observations, %llu leased, %llu absent; puts %llu, refused %llu, removed %llu",
	       t->observations, t->leased, t->absent, t->puts, t->refused, t->removes);
	TH_LOG("resizes %llu, held %llu; killed %llu; samples %llu; evictions %llu", t->resizes,
	       t->held, t->kills, t->samples, d.evictions);
	EXPECT_LE(enough(), t->observations);
	EXPECT_LT(0, t->leased);
	EXPECT_LT(0, t->absent);
	EXPECT_LT(0, t->puts);
	EXPECT_LT(0, t->removes);
	EXPECT_LT(0, t->resizes);
	EXPECT_LT(0, t->kills);
	EXPECT_LT(0, d.evictions);
	EXPECT_EQ(0, kvr_pool(s, "in_flight_bytes"));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
	EXPECT_EQ(0, kvr_ns(s, "leases"));
	EXPECT_EQ(d.used, d.states);
	EXPECT_EQ(__builtin_popcountll(sst_those(s->fd, &churned, 0, KEYS)), d.states);
	EXPECT_EQ(d.puts, d.states + d.evictions + d.removed);
	EXPECT_EQ((d.slots - d.used) * d.slot_pages_bytes, kvr_pool(s, "slot_free_bytes"));
	EXPECT_EQ(d.slots * d.slot_pages_bytes, kvr_ns(s, "slot_bytes"));
	kvr_sane(_metadata, s);
}

/* The bound is for hangs. */
TEST_F_TIMEOUT(store, I1_I5_I6_churn, 14400)
{
	struct kvt_ns_args ns = { .lease_bytes = 12 * kvt_pages(churned.bytes) };
	struct torture *t = kvr_shared(sizeof(*t));
	pid_t writers[WRITERS], others[READERS + 1];
	struct kvr_store *s = &self->s;

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	ASSERT_EQ(0, sst_add(s->fd, &churned, MOST).res);
	t->s = s;
	t->seed = kvr_run_seed();
	for (unsigned int i = 0; i < WRITERS; i++)
		writers[i] = start(writer, t, i);
	for (unsigned int i = 0; i < READERS; i++)
		others[i] = start(reader, t, i);
	others[READERS] = start(resizer, t, 0);
	kill_writers(_metadata, t, writers, others, READERS + 1);
	kvr_add(&t->stop, 1);
	for (unsigned int i = 0; i < WRITERS; i++)
		EXPECT_EQ(0, kvt_wait(writers[i]));
	for (unsigned int i = 0; i <= READERS; i++)
		EXPECT_EQ(0, kvt_wait(others[i]));
	expect_figures(_metadata, t);
}

TEST_HARNESS_MAIN
