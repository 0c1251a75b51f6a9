// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/* kvstash-timeout: 900 */
/*
 * Leases in the field: R12 R15 R16 R17 R19 R21. R09 is in foundation/r_engines.c,
 * R23 in lease_handles.c, R25 in lease_files.c.
 */
#include "lease.h"

static char buf[KVR_STATE];

/* R12: a client with a lease and a reserved part, before and after its stop. */
struct r12 {
	struct kvr_store *s;
	struct kvr_obj leased;
	struct kvr_obj part;
};

static int r12_child(void *arg)
{
	struct r12 *t = arg;
	int fd = kvt_open_ns(t->s->name);
	struct kvstash_handle lease, part;

	if (fd < 0 || kvr_put(fd, &t->leased, buf).res ||
	    kvl_lease(fd, &t->leased, &lease).res ||
	    kvr_reserve(fd, &t->part, 0, &part).res ||
	    kvr_write(fd, &t->part, 0, &part, buf, 0, t->part.len / 2).res)
		return kvr_say("not set up");
	raise(SIGSTOP);
	if (kvl_get(fd, &lease, &t->leased, buf).res ||
	    kvr_get(fd, &t->leased, buf).res)
		return kvr_say("the lease is not valid after the stop");
	if (kvr_write(fd, &t->part, 0, &part, buf, t->part.len / 2, t->part.len).res ||
	    kvt_commit1(fd, &part).res)
		return kvr_say("commit failed after the stop");
	if (kvt_release1(fd, &lease).res)
		return kvr_say("release failed after the stop");
	return kvr_get(fd, &t->part, buf).res ? kvr_say("not got") : 0;
}

TEST_F(store, R12_I5_stopped_client_keeps_its_lease_and_its_part)
{
	struct kvt_ns_args ns = { .incomplete_ms = 1 };
	struct r12 t = {
		.s = &self->s,
		.leased = { .key = { 12, 1 }, .len = KVR_BLOCK, .parts = 2 },
		.part = { .key = { 12, 2 }, .len = KVR_BLOCK, .parts = 1 },
	};
	struct kvr_store *s = &self->s;
	int status;
	pid_t pid;

	kvr_store_make(_metadata, s, KVR_MB(4), &ns);
	pid = kvr_spawn(r12_child, &t);
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVL_LEASED(1, kvr_room(&t.leased), s);
	KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, kvr_exists(s->fd, &t.part, NULL));
	KVT_OK(kvr_get(s->fd, &t.leased, buf));
	EXPECT_EQ(0, kvr_ns(s, "collected_incomplete"));
	kill(pid, SIGCONT);
	EXPECT_EQ(0, kvt_wait(pid));
	KVL_LEASED(0, 0, s);
	KVT_OK(kvr_get(s->fd, &t.part, buf));
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_get(s->fd, &t.leased, buf));
}

/*
 * Chains of small objects, by the thousand
 */

#define MOST	6722U
#define SMALL	700U

static struct kvr_key keys[MOST];
static struct kvstash_put put[MOST];
static struct kvstash_get get[MOST];
static struct kvstash_handle lease[MOST];

static struct kvr_obj nth(unsigned int i, bool chained)
{
	return (struct kvr_obj){ .key = keys[i], .len = SMALL - i % 64, .parts = 1,
				 .parent = chained && i ? &keys[i - 1] : NULL };
}

/* Objects @from to @to - 1; @data has SMALL bytes for each. */
static void put_links(struct __test_metadata *_metadata, int fd, unsigned int from,
		      unsigned int to, bool chained, char *data)
{
	struct kvr_obj o;

	for (unsigned int i = from; i < to; i++) {
		o = nth(i, chained);
		kvr_fill(&o, 0, data + i * SMALL);
		kvr_prep(&put[i], &o, 0, data + i * SMALL);
		put[i].key = kvstash_addr(&keys[i]);
	}
	ASSERT_EQ(to - from, kvt_put(fd, put + from, to - from));
	for (unsigned int i = from; i < to; i++)
		ASSERT_EQ(0, put[i].r.res);
}

/* How many of the first @n one batch GET hits; all bytes of these are right. */
static unsigned int get_links(struct __test_metadata *_metadata, int fd, unsigned int n,
			      bool chained, char *data)
{
	unsigned int hits = 0;

	memset(data, KVT_CANARY_BYTE, n * SMALL);
	for (unsigned int i = 0; i < n; i++)
		kvstash_prep_get(&get[i], &keys[i], sizeof(*keys), data + i * SMALL, SMALL);
	EXPECT_EQ(n, kvt_get(fd, get, n));
	for (unsigned int i = 0; i < n; i++) {
		struct kvr_obj o = nth(i, chained);

		if (get[i].r.res) {
			EXPECT_EQ(KVSTASH_R_MISS, get[i].r.reason);
			continue;
		}
		hits++;
		EXPECT_EQ(0, kvr_verify(&o, data + i * SMALL).res);
	}
	return hits;
}

static void name_links(__u64 space)
{
	for (unsigned int i = 0; i < MOST; i++)
		keys[i] = (struct kvr_key){ space, i };
}

static int flood_child(void *arg)
{
	struct kvr_store *s = arg;
	int fd = kvt_open_ns(s->name);
	struct kvstash_result r = { 0 };

	if (fd >= 0)
		r = kvl_flood(s, fd, buf);
	return fd < 0 || r.res ? kvr_say("put: %d reason %u", r.res, r.reason) : 0;
}

/* Another process writes ten times the pool. */
static void flood_by_another(struct __test_metadata *_metadata, struct kvr_store *s)
{
	pid_t pid = kvr_spawn(flood_child, s);

	ASSERT_LT(0, pid);
	EXPECT_EQ(0, kvt_wait(pid));
}

TEST_F(store, R15_I3_no_lease_ends_by_time)
{
	struct kvt_ns_args ns = { .lease_bytes = KVR_MB(30) };
	struct kvr_store *s = &self->s;
	char *data = kvt_map(MOST * SMALL);

	ASSERT_NE(NULL, data);
	kvr_store_make(_metadata, s, KVR_MB(32), &ns);
	name_links(15);
	put_links(_metadata, s->fd, 0, MOST, true, data);
	ASSERT_EQ(MOST, kvl_lookup(s->fd, keys, MOST, lease, NULL));
	KVL_LEASED(MOST, MOST * KVT_PAGE, s);
	flood_by_another(_metadata, s);
	EXPECT_LT(0, kvr_ns(s, "evictions"));
	if (kvl_clock_jump(KVL_DAY))
		SKIP(return, "the clock can't be set: %s", strerror(errno));
	flood_by_another(_metadata, s);
	EXPECT_EQ(MOST, get_links(_metadata, s->fd, MOST, true, data));
	KVL_LEASED(MOST, MOST * KVT_PAGE, s);
	EXPECT_TRUE(kvl_release_all(s->fd, lease, MOST));
	EXPECT_EQ(0, kvl_clock_jump(-KVL_DAY));
	KVL_LEASED(0, 0, s);
	EXPECT_TRUE(kvl_flood_out(s, s->fd, 15, 0, MOST, buf));
}

#define R16_PUTS	10000U
#define R16_KEYS	256U

struct r16 {
	struct kvr_store *s;
	__u32 put;
	__u32 stop;
	__u64 hits;
};

/* Loops over the newest: EXISTS and LOOKUP of pages, without the lease flag. */
static int r16_probe(void *arg)
{
	static struct kvstash_exists x[R16_KEYS];
	struct r16 *t = arg;
	int fd = kvt_open_ns(t->s->name);
	struct kvstash_keys k;

	while (fd >= 0 && !kvr_load(&t->stop)) {
		__u32 at = kvr_load(&t->put);

		for (unsigned int i = 0; i < R16_KEYS; i++)
			keys[i] = (struct kvr_key){ 16, at + i };
		if (kvr_exists_many(fd, keys, R16_KEYS, x) != R16_KEYS)
			return kvr_say("EXISTS failed");
		kvstash_prep_keys(&k, keys, sizeof(*keys), R16_KEYS);
		if (kvt_lookup(fd, &k) < 0)
			return kvr_say("LOOKUP failed");
		for (unsigned int i = 0; i < R16_KEYS; i++)
			t->hits += !x[i].r.res;
	}
	return fd < 0;
}

/* The pool is full of unleased objects: every put finds room, whatever is probed. */
TEST_F(store, R16_I10_probes_take_no_lease)
{
	struct r16 *t = kvr_shared(sizeof(*t));
	struct kvr_obj o = { .key = { 16, 0 }, .len = 4096, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct grp g = { .key = { 160, 0 }, .len = 4096, .members = 4,
			 .flags = KVSTASH_PUT_ATOMIC };
	pid_t pid;

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, R16_KEYS * KVT_PAGE, NULL);
	t->s = s;
	for (; o.key.id < R16_KEYS; o.key.id++)
		ASSERT_EQ(0, kvr_put(s->fd, &o, buf).res);
	pid = kvr_spawn(r16_probe, t);
	ASSERT_LT(0, pid);
	for (; o.key.id < R16_KEYS + R16_PUTS; o.key.id++) {
		struct kvstash_result r;

		if (o.key.id % 8) {
			r = kvr_put(s->fd, &o, buf);
		} else {	/* and groups among them */
			g.key.id = o.key.id;
			r = grp_put_all(s->fd, &g, buf);
		}
		ASSERT_EQ(0, r.res) {
			TH_LOG("put %llu: reason %u detail %llu", o.key.id, r.reason,
			       r.detail);
		}
		__atomic_add_fetch(&t->put, 1, __ATOMIC_SEQ_CST);
	}
	kvr_add(&t->stop, 1);
	EXPECT_EQ(0, kvt_wait(pid));
	EXPECT_LT(0, t->hits);
	TH_LOG("%llu hits", t->hits);
	KVL_LEASED(0, 0, s);
	EXPECT_EQ(0, kvr_ns(s, "leases_taken"));
}

#define R17_KEYS	1024U
#define R17_RUN		40U

/* Exactly the run is leased, and the other candidates can all be evicted. */
TEST_F(store, R17_I10_lookup_leases_what_it_reports)
{
	struct kvr_store *s = &self->s;
	char *data = kvt_map(R17_KEYS * SMALL);
	__u32 reason;

	ASSERT_NE(NULL, data);
	kvr_store_make(_metadata, s, KVR_MB(8), NULL);
	name_links(17);
	put_links(_metadata, s->fd, 0, R17_RUN, true, data);
	put_links(_metadata, s->fd, R17_RUN + 1, R17_KEYS, false, data);
	memset(lease, 0xff, sizeof(lease));
	ASSERT_EQ(R17_RUN, kvl_lookup(s->fd, keys, R17_KEYS, lease, &reason));
	EXPECT_EQ(KVSTASH_R_MISS, reason);
	for (unsigned int i = 0; i < R17_KEYS; i++)
		EXPECT_EQ(i >= R17_RUN, kvl_no_handle(&lease[i]));
	KVL_LEASED(R17_RUN, R17_RUN * KVT_PAGE, s);
	EXPECT_EQ(R17_RUN, kvr_ns(s, "leases_taken"));
	flood_by_another(_metadata, s);
	EXPECT_EQ(R17_RUN, kvr_count_visible(s->fd, 17, 0, R17_KEYS));
	EXPECT_EQ(R17_RUN, get_links(_metadata, s->fd, R17_RUN, true, data));
	EXPECT_TRUE(kvl_release_all(s->fd, lease, R17_RUN));
	KVL_LEASED(0, 0, s);
}

#define R19_READERS	8U

/**
 * struct r19 - eight readers of a page of eight parts
 * @h:    the test's lease, of which half of the readers make use through its file
 * @got:  of each reader, how many gets
 * @gone: the page has been removed
 */
struct r19 {
	struct kvr_store *s;
	struct kvr_obj o;
	struct kvstash_handle h;
	__u32 ready;
	__u32 got[R19_READERS];
	__u32 gone;
	__u32 broken;
};

static unsigned int r19_me;	/* set before the fork */

static int r19_get_part(const struct r19 *t, int fd, const struct kvstash_handle *h)
{
	struct kvstash_range range;
	struct kvstash_get e;

	memset(buf, KVT_CANARY_BYTE, kvr_part_len(&t->o, r19_me));
	kvstash_prep_range(&range, r19_me, 0, buf, kvr_part_len(&t->o, r19_me));
	kvstash_prep_get_ranges(&e, NULL, 0, &range, 1);
	e.flags |= KVSTASH_GET_BY_LEASE;
	e.lease = *h;
	if (kvt_get_one(fd, &e).res)
		return kvr_say("reader %u: %d reason %u", r19_me, e.r.res, e.r.reason);
	if (kvt_verify(buf, range.len, kvr_seed(&t->o.key, r19_me)) >= 0)
		return kvr_say("reader %u: wrong bytes", r19_me);
	return 0;
}

/* Gets its part over and over, and a few times more after the removal. */
static int r19_reader(void *arg)
{
	struct r19 *t = arg;
	int fd = r19_me & 1 ? t->s->fd : kvt_open_ns(t->s->name);
	struct kvstash_handle h = t->h;

	if (fd < 0 || (!(r19_me & 1) && kvl_lease(fd, &t->o, &h).res))
		goto broken;
	kvr_add(&t->ready, 1);
	for (unsigned int after = 0; after < 10; after += kvr_load(&t->gone)) {
		if (r19_get_part(t, fd, &h))
			goto broken;
		kvr_add(&t->got[r19_me], 1);
	}
	return 0;
broken:
	kvr_add(&t->broken, 1);
	return kvr_say("reader %u failed", r19_me);
}

/* One without a lease: gets it, or a miss; after the removal a miss. */
static int r19_ninth(void *arg)
{
	struct r19 *t = arg;
	int fd = kvt_open_ns(t->s->name);
	struct kvstash_result r;
	__u32 gone;

	do {
		gone = kvr_load(&t->gone);
		r = kvr_get(fd, &t->o, buf);
		if (gone ? r.reason != KVSTASH_R_MISS :
		    r.res && r.reason != KVSTASH_R_MISS)
			return kvr_say("the ninth: %d reason %u", r.res, r.reason);
	} while (!gone);
	return 0;
}

TEST_F(store, R19_I3_readers_of_a_leased_page_that_is_removed)
{
	struct r19 *t = kvr_shared(sizeof(*t));
	struct kvr_store *s = &self->s;
	pid_t pid[R19_READERS + 1];

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	t->s = s;
	t->o = (struct kvr_obj){ .key = { 19, 0 }, .len = 14336, .parts = R19_READERS };
	KVT_OK(kvr_put(s->fd, &t->o, buf));
	KVT_OK(kvl_lease(s->fd, &t->o, &t->h));
	for (r19_me = 0; r19_me < R19_READERS; r19_me++)
		pid[r19_me] = kvr_spawn(r19_reader, t);
	pid[R19_READERS] = kvr_spawn(r19_ninth, t);
	ASSERT_EQ(0, kvr_await(&t->ready, R19_READERS, &t->broken));
	for (unsigned int i = 0; i < R19_READERS; i++)
		ASSERT_EQ(0, kvr_await(&t->got[i], 3, &t->broken));
	KVL_LEASED(1 + R19_READERS / 2, kvr_room(&t->o), s);
	KVT_OK(kvr_remove(s->fd, &t->o));
	kvr_add(&t->gone, 1);
	KVT_OK(kvl_flood(s, s->fd, buf));	/* over all that is free */
	for (unsigned int i = 0; i <= R19_READERS; i++)
		EXPECT_EQ(0, kvt_wait(pid[i]));
	EXPECT_EQ(kvr_room(&t->o), kvr_pool(s, "held_bytes"));
	KVT_OK(kvt_release1(s->fd, &t->h));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_get(s->fd, &t->o, buf));
}

#define R21_KEYS	100U
#define R21_GOT		40U

/* How the holder of 100 leases goes on. */
enum r21 {
	R21_GETS_40,		/* and releases the other 60 by one call, then those */
	R21_ABORTS,		/* before any GET: one call for all */
	R21_CLOSES,
	R21_EXITS,
	R21_DIES,
	R21_WAYS
};

static const char * const r21_name[R21_WAYS] = {
	"gets 40", "aborts", "closes", "exits", "dies",
};

struct r21_run {
	struct kvr_store *s;
	enum r21 way;
};

static int r21_holder(void *arg)
{
	const struct r21_run *t = arg;
	int fd = kvt_open_ns(t->s->name);

	if (fd < 0 || kvl_lookup(fd, keys, R21_KEYS, lease, NULL) != R21_KEYS)
		return kvr_say("not leased");
	switch (t->way) {
	case R21_GETS_40:
		for (unsigned int i = 0; i < R21_GOT; i++) {
			struct kvr_obj o = nth(i, true);

			if (kvl_get(fd, &lease[i], &o, buf).res)
				return kvr_say("object %u not got", i);
		}
		if (!kvl_release_all(fd, lease + R21_GOT, R21_KEYS - R21_GOT) ||
		    kvr_ns(t->s, "leases") != R21_GOT ||
		    kvr_ns(t->s, "leased_bytes") != R21_GOT * KVT_PAGE)
			return kvr_say("60 not released");
		return !kvl_release_all(fd, lease, R21_GOT);
	case R21_ABORTS:
		return !kvl_release_all(fd, lease, R21_KEYS);
	case R21_CLOSES:
		close(fd);
		return kvr_ns(t->s, "leases") != 0;
	case R21_DIES:
		raise(SIGKILL);
		return 1;
	default:
		return 0;
	}
}

TEST_F(store, R21_I5_leases_that_are_never_used)
{
	struct kvt_ns_args ns = { .lease_bytes = R21_KEYS * KVT_PAGE };
	struct kvr_store *s = &self->s;
	char *data = kvt_map(R21_KEYS * SMALL);
	struct r21_run t = { .s = s };

	ASSERT_NE(NULL, data);
	kvr_store_make(_metadata, s, KVR_MB(2), &ns);
	name_links(21);
	for (unsigned int i = 0; i < 3 * R21_WAYS; i++) {
		pid_t pid;

		t.way = i % R21_WAYS;
		put_links(_metadata, s->fd, 0, R21_KEYS, true, data);
		pid = kvr_spawn(r21_holder, &t);
		ASSERT_LT(0, pid);
		ASSERT_EQ(t.way == R21_DIES ? -SIGKILL : 0, kvt_wait(pid)) {
			TH_LOG("the holder %s", r21_name[t.way]);
		}
		KVL_LEASED(0, 0, s);
		/* the whole budget is there again, and all 100 can be evicted */
		ASSERT_EQ(R21_KEYS, kvl_lookup(s->fd, keys, R21_KEYS, lease, NULL));
		EXPECT_TRUE(kvl_release_all(s->fd, lease, R21_KEYS));
		EXPECT_TRUE(kvl_flood_out(s, s->fd, 21, 0, R21_KEYS, buf));
	}
	EXPECT_EQ(kvr_ns(s, "leases_taken"),
		  kvr_ns(s, "leases_released") + kvr_ns(s, "leases_by_death"));
	EXPECT_EQ(9 * R21_KEYS, kvr_ns(s, "leases_by_death"));
}

TEST_HARNESS_MAIN
