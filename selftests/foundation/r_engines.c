// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * Engines that crash, come back and join: R08 R09 R13. Mappings, fixed buffers,
 * the directory daemon and the exporter are of later topics: here a client holds
 * leases and reserved parts and is inside GET.
 */
#include "r_store.h"

static char buf[65536];

/* R08: what a client leaves behind when it crashes. */
struct r08 {
	struct kvr_store *s;
	struct kvr_obj read;	/* that it is inside a GET of */
	struct kvt_gate ready;
};

#define R08_PARTS	4

static int r08_child(void *arg)
{
	struct kvr_obj o = { .key = { 8, 0 }, .len = 20000, .parts = 1 };
	struct r08 *t = arg;
	int fd = kvt_open_ns(t->s->name);
	struct kvstash_handle h;
	struct kvr_reader rd;

	for (; o.key.id < R08_PARTS; o.key.id++)
		if (kvr_reserve(fd, &o, 0, &h).res ||
		    kvr_write(fd, &o, 0, &h, buf, 0, 5000 * o.key.id + 1).res)
			return kvr_say("part not reserved or not written");
	if (t->read.parts && kvr_reader_start(&rd, fd, &t->read))
		return kvr_say("no reader");
	kvt_gate_open(&t->ready, 1);
	for (;;)
		pause();
}

static __u64 clients(void)
{
	__u64 v;

	return kvt_figure("/proc/kvstash/stats", "clients", &v) ? ~0ULL : v;
}

static void r08_cycle(struct __test_metadata *_metadata, struct r08 *t)
{
	struct kvr_obj o = { .key = { 80, 1 }, .len = 20000, .parts = 2 };
	struct kvr_store *s = t->s;
	pid_t pid;

	if (t->read.parts) {
		t->read = o;
		KVT_OK(kvr_put(s->fd, &o, buf));
	}
	pid = kvr_spawn(r08_child, t);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, kvr_ready(&t->ready, pid));
	if (t->read.parts) {
		KVT_OK(kvr_remove(s->fd, &o));
		EXPECT_EQ(kvr_room(&o), kvr_pool(s, "held_bytes"));
	}
	EXPECT_EQ(R08_PARTS * kvt_pages(20000), kvr_pool(s, "in_flight_bytes"));
	EXPECT_EQ(-SIGKILL, kvr_kill(pid));
}

TEST_F(store, R08_I5_I6_crashes_leave_nothing)
{
	struct r08 t = { .s = &self->s };
	struct kvt_counts start, now;
	__u64 had, meta;

	kvr_store_make(_metadata, t.s, KVR_MB(2), NULL);
	if (kvr_uffd_works())
		TH_LOG("no reader inside GET: userfaultfd: %s", strerror(-kvr_uffd_works()));
	else
		t.read.parts = 1;
	ASSERT_EQ(0, kvt_gate_init(&t.ready));
	ASSERT_EQ(0, kvt_counts_of(t.s->pool, &start));
	had = clients();
	meta = kvr_pool(t.s, "meta_bytes");
	ASSERT_NE(~0ULL, had);
	for (unsigned int i = 0; i < 100; i++) {
		r08_cycle(_metadata, &t);
		ASSERT_EQ(0, kvt_counts_of(t.s->pool, &now));
		ASSERT_EQ(start.free, now.free);
		ASSERT_EQ(0, now.in_flight + now.held + now.committed + now.objects);
		ASSERT_EQ(had, clients());
		ASSERT_EQ(1, kvr_ns(t.s, "clients"));
		ASSERT_EQ(meta, kvr_pool(t.s, "meta_bytes"));
	}
}

/* Clients at work: each puts objects of its own, and gets and verifies them. */
#define WORKERS	4

struct work {
	struct kvr_store *s;
	__u32 rounds[WORKERS];
	__u32 stop;
	__u32 broken;
};

static unsigned int my_number;	/* set before the fork */

static int worker(void *arg)
{
	struct work *w = arg;
	int fd = kvt_open_ns(w->s->name);
	__u64 rnd = my_number;
	struct kvr_obj o;

	for (unsigned int i = 0; fd >= 0 && !kvr_load(&w->stop); i++) {
		o = (struct kvr_obj){
			.key = { 90 + my_number, i % 64 }, .parts = 1,
			.len = 1 + kvt_word(i % 64, my_number) % 20000,
		};
		if (kvr_put(fd, &o, buf).res == -EEXIST && kvr_below(&rnd, 2))
			kvr_remove(fd, &o);
		if (kvr_get(fd, &o, buf).res == -EILSEQ)
			break;
		kvr_add(&w->rounds[my_number], 1);
	}
	if (kvr_load(&w->stop))
		return 0;
	kvr_add(&w->broken, 1);
	return kvr_say("client %u failed", my_number);
}

static void work_start(struct __test_metadata *_metadata, struct work *w, pid_t *pid)
{
	for (my_number = 0; my_number < WORKERS; my_number++) {
		pid[my_number] = kvr_spawn(worker, w);
		ASSERT_LT(0, pid[my_number]);
	}
}

/* Each of them does another @n rounds from now on. */
static bool work_goes_on(struct work *w, unsigned int n)
{
	__u32 from[WORKERS];

	for (unsigned int i = 0; i < WORKERS; i++)
		from[i] = kvr_load(&w->rounds[i]);
	for (unsigned int i = 0; i < WORKERS; i++)
		if (kvr_await(&w->rounds[i], from[i] + n, &w->broken))
			return false;
	return true;
}

static void work_end(struct __test_metadata *_metadata, struct work *w, pid_t *pid)
{
	kvr_add(&w->stop, 1);
	for (unsigned int i = 0; i < WORKERS; i++)
		EXPECT_EQ(0, kvt_wait(pid[i]));
}

#define R09_PARTS	1024U
#define R09_LEASES	65536U
#define R09_ROUNDS	3U

struct r09 {
	struct kvr_store *s;
	struct kvt_gate ready;
	struct kvr_key *keys;	/* of the objects that it leases */
};

/* A client with all of them leased, and as many leases as objects. */
static int r09_lease(struct r09 *t, int fd)
{
	struct kvstash_handle *h = calloc(R09_LEASES, sizeof(*h));
	struct kvstash_keys k;

	kvstash_prep_keys(&k, t->keys, sizeof(*t->keys), R09_LEASES);
	if (!h || kvt_lookup_lease(fd, &k, h) != (int)R09_LEASES)
		return kvr_say("a run of %u: reason %u", k.run, k.reason);
	return 0;
}

static int r09_victim(void *arg)
{
	static struct kvstash_put e[R09_PARTS];
	static struct kvr_key keys[R09_PARTS];
	struct kvr_obj o = { .len = 4000, .parts = 1 };
	struct r09 *t = arg;
	int fd = kvt_open_ns(t->s->name);

	for (unsigned int i = 0; i < R09_PARTS; i++) {
		keys[i] = (struct kvr_key){ 9, i };
		kvr_prep(&e[i], &o, 0, NULL);
		e[i].key = kvstash_addr(&keys[i]);
	}
	if (r09_lease(t, fd))
		return 1;
	if (kvt_reserve(fd, e, R09_PARTS) != (int)R09_PARTS)
		return kvr_say("not reserved");
	for (unsigned int i = 0; i < R09_PARTS; i++)
		if (e[i].r.res)
			return kvr_say("part %u not reserved", i);
	kvt_gate_open(&t->ready, 1);
	for (;;)
		pause();
}

/* The objects to lease; the pool has room for them and for what the others put. */
static void r09_fill(struct __test_metadata *_metadata, struct r09 *t)
{
	static struct kvstash_put e[R09_PARTS];
	struct kvr_obj o = { .len = 8, .parts = 1 };

	t->keys = calloc(R09_LEASES, sizeof(*t->keys));
	ASSERT_NE(NULL, t->keys);
	for (unsigned int i = 0; i < R09_LEASES; i++) {
		t->keys[i] = (struct kvr_key){ 900, i };
		o.key = t->keys[i];
		kvr_prep(&e[i % R09_PARTS], &o, 0, buf);
		e[i % R09_PARTS].key = kvstash_addr(&t->keys[i]);
		if (i % R09_PARTS == R09_PARTS - 1)
			ASSERT_EQ(R09_PARTS, kvt_put(t->s->fd, e, R09_PARTS));
	}
	EXPECT_EQ(R09_LEASES, kvr_ns(t->s, "visible"));
}

/*
 * The others go on before, while and after a client with 65,536 leases and 1,024
 * parts in flight is released. What is asked is that each comes forward, not how
 * fast.
 */
TEST_F(store, R09_I5_death_of_a_large_client_stops_nobody)
{
	struct kvt_ns_args ns = { .lease_bytes = R09_LEASES * KVT_PAGE };
	struct work *w = kvr_shared(sizeof(*w));
	struct r09 t = { .s = &self->s };
	pid_t pid[WORKERS], victim;

	ASSERT_NE(NULL, w);
	kvr_store_make(_metadata, t.s, KVR_MB(288), &ns);
	ASSERT_EQ(0, kvt_gate_init(&t.ready));
	r09_fill(_metadata, &t);
	w->s = t.s;
	work_start(_metadata, w, pid);
	for (unsigned int i = 0; i < R09_ROUNDS; i++) {
		victim = kvr_spawn(r09_victim, &t);
		ASSERT_LT(0, victim);
		ASSERT_EQ(0, kvr_ready(&t.ready, victim));
		EXPECT_LE(R09_PARTS * KVT_PAGE, kvr_pool(t.s, "in_flight_bytes"));
		EXPECT_EQ(R09_LEASES, kvr_ns(t.s, "leases"));
		EXPECT_EQ(R09_LEASES * KVT_PAGE, kvr_ns(t.s, "leased_bytes"));
		EXPECT_TRUE(work_goes_on(w, 1));
		kill(victim, SIGKILL);
		EXPECT_TRUE(work_goes_on(w, 2));
		EXPECT_EQ(-SIGKILL, kvt_wait(victim));
		EXPECT_EQ(0, kvr_ns(t.s, "leases"));
		EXPECT_EQ(0, kvr_ns(t.s, "leased_bytes"));
		EXPECT_TRUE(work_goes_on(w, 1));
		EXPECT_EQ(0, kvr_count_visible(t.s->fd, 9, 0, R09_PARTS));
	}
	work_end(_metadata, w, pid);
	EXPECT_EQ(0, kvr_pool(t.s, "in_flight_bytes"));
	EXPECT_EQ(R09_ROUNDS * R09_PARTS, kvr_ns(t.s, "aborts_by_death"));
	EXPECT_EQ(R09_ROUNDS * R09_LEASES, kvr_ns(t.s, "leases_by_death"));
}

/*
 * R13: an engine serves prompts: what is there it gets and verifies, the rest
 * it computes and puts. It always has a part in flight, too.
 */
#define PROMPTS	32
#define ENGINES	2

struct r13 {
	struct kvr_store *s;
	__u32 served[ENGINES];
	__u32 hits[ENGINES];
	__u32 broken;
};

static struct kvr_obj prompt(unsigned int i)
{
	return (struct kvr_obj){ .key = { 130, i }, .len = 6000 + i, .parts = 2 };
}

/* The part in flight: a part of a prompt that the engine never completes. */
static struct kvr_obj unfinished(unsigned int engine)
{
	return (struct kvr_obj){ .key = { 131, engine }, .len = 9000, .parts = 1 };
}

/* Gets a prompt, else puts it. 1: hit, 0: put, or another puts it; or -1. */
static int serve(int fd, unsigned int i)
{
	struct kvr_obj o = prompt(i);
	struct kvstash_result r = kvr_get(fd, &o, buf);

	if (!r.res)
		return 1;
	if (r.res != -ENOENT)
		return -1;
	for (unsigned int part = 0; part < o.parts; part++) {
		r = kvr_put_part(fd, &o, part, buf);
		if (r.res && r.res != -EEXIST && r.res != -EBUSY)
			return -1;
	}
	return 0;
}

static int engine(void *arg)
{
	struct kvr_obj o = unfinished(my_number);
	struct r13 *t = arg;
	int fd = kvt_open_ns(t->s->name), hit;
	struct kvstash_handle h;

	if (fd < 0 || kvr_reserve(fd, &o, 0, &h).res)
		goto broken;
	for (unsigned int i = 0;; i = (i + 1) % PROMPTS) {
		hit = serve(fd, i);
		if (hit < 0)
			goto broken;
		__atomic_add_fetch(&t->hits[my_number], hit, __ATOMIC_SEQ_CST);
		kvr_add(&t->served[my_number], 1);
	}
broken:
	kvr_add(&t->broken, 1);
	return kvr_say("R13: number %u failed", my_number);
}

static pid_t engine_start(struct r13 *t, unsigned int nr)
{
	my_number = nr;
	t->served[nr] = 0;
	t->hits[nr] = 0;
	return kvr_spawn(engine, t);
}

/* Serves all prompts twice: the second time each must be a hit. */
static bool engine_serves(struct r13 *t, unsigned int nr)
{
	__u32 hits;

	if (kvr_await(&t->served[nr], kvr_load(&t->served[nr]) + PROMPTS, &t->broken))
		return false;
	hits = kvr_load(&t->hits[nr]);
	if (kvr_await(&t->served[nr], kvr_load(&t->served[nr]) + PROMPTS + 1, &t->broken))
		return false;
	return kvr_load(&t->hits[nr]) >= hits + PROMPTS;
}

/* Whoever is left serves all, what the dead one had in flight at the first try. */
static bool survivor_serves(struct r13 *t, unsigned int dead)
{
	struct kvr_obj o = unfinished(dead);
	bool good;

	for (unsigned int i = 0; i < PROMPTS; i++)
		if (serve(t->s->fd, i) < 0 || serve(t->s->fd, i) != 1)
			return false;
	good = !kvr_put(t->s->fd, &o, buf).res && !kvr_get(t->s->fd, &o, buf).res;
	kvr_remove(t->s->fd, &o);
	return good;
}

static bool engine_killed(struct r13 *t)
{
	pid_t pid = engine_start(t, 0);

	kvr_await(&t->served[0], PROMPTS / 2, &t->broken);
	return kvr_kill(pid) == -SIGKILL && survivor_serves(t, 0);
}

static bool engine_restarted(struct r13 *t)
{
	pid_t pid = engine_start(t, 0);
	bool good;

	kvr_await(&t->served[0], PROMPTS / 2, &t->broken);
	good = kvr_kill(pid) == -SIGKILL;
	pid = engine_start(t, 0);
	good = good && engine_serves(t, 0);
	kvr_kill(pid);
	return good && survivor_serves(t, 0);
}

static bool engine_joins(struct r13 *t)
{
	pid_t first = engine_start(t, 0), second;
	bool good;

	kvr_await(&t->served[0], PROMPTS / 2, &t->broken);
	second = engine_start(t, 1);
	good = engine_serves(t, 1) && engine_serves(t, 0);
	kvr_kill(first);
	good = good && engine_serves(t, 1);
	kvr_kill(second);
	return good && survivor_serves(t, 0) && survivor_serves(t, 1);
}

TEST_F(store, R13_restart_matrix)
{
	static const struct {
		const char *name;
		bool (*run)(struct r13 *t);
	} rows[] = {
		{ "engine killed", engine_killed },
		{ "engine restarted", engine_restarted },
		{ "second engine joins", engine_joins },
	};
	struct r13 *t = kvr_shared(sizeof(*t));
	struct work *w = kvr_shared(sizeof(*w));
	bool good[KVT_LEN(rows)][2];
	pid_t pid[WORKERS];

	ASSERT_NE(NULL, t);
	ASSERT_NE(NULL, w);
	kvr_store_make(_metadata, &self->s, KVR_MB(16), NULL);
	t->s = &self->s;
	w->s = &self->s;
	for (int load = 0; load < 2; load++) {
		if (load)
			work_start(_metadata, w, pid);
		for (unsigned int i = 0; i < KVT_LEN(rows); i++) {
			for (unsigned int p = 0; p < PROMPTS; p += 2) {
				struct kvr_obj o = prompt(p);

				kvr_remove(self->s.fd, &o);
			}
			good[i][load] = rows[i].run(t);
			EXPECT_TRUE(good[i][load]);
		}
	}
	EXPECT_TRUE(work_goes_on(w, 10));
	work_end(_metadata, w, pid);
	EXPECT_EQ(0, kvr_pool(&self->s, "in_flight_bytes"));
	kvr_say("R13 %-20s %-10s %-10s", "event", "idle", "under load");
	for (unsigned int i = 0; i < KVT_LEN(rows); i++)
		kvr_say("R13 %-20s %-10s %-10s", rows[i].name,
			good[i][0] ? "recovers" : "FAILS", good[i][1] ? "recovers" : "FAILS");
}

TEST_HARNESS_MAIN
