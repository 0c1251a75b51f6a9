// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * A full store goes on taking puts: R16 R41 R51 R60, all with the settings that
 * a module has by itself.
 */
#include "r_store.h"

static char buf[KVR_STATE + KVT_PAGE];

static struct kvr_obj block(__u64 space, __u64 id)
{
	return (struct kvr_obj){ .key = { space, id }, .len = KVR_BLOCK, .parts = 1 };
}

#define R16_PUTS	10000

struct r16 {
	struct kvr_store *s;
	__u32 put;	/* puts done */
	__u32 stop;
	__u32 room;	/* objects that fit */
	__u64 probes;
	__u64 hits;
};

/* Loops EXISTS over all that the pool can hold. */
static int r16_probe(void *arg)
{
	static struct kvstash_exists x[1024];
	static struct kvr_key keys[1024];
	struct r16 *t = arg;
	int fd = kvt_open_ns(t->s->name);

	if (fd < 0)
		return 1;
	while (!kvr_load(&t->stop)) {
		unsigned int n = t->room;
		__u32 put = kvr_load(&t->put);

		for (unsigned int i = 0; i < n; i++)
			keys[i] = (struct kvr_key){ 16, put + i };
		if (kvr_exists_many(fd, keys, n, x) != (int)n)
			return kvr_say("EXISTS failed");
		for (unsigned int i = 0; i < n; i++)
			t->hits += !x[i].r.res;
		t->probes += n;
	}
	return 0;
}

/*
 * The pool is full of objects 0 to room - 1, and put number i is of object
 * room + i: it is there if the room - 1 last ones are, and those before are
 * not, whatever was probed.
 */
TEST_F(store, R16_I10_probes_hold_nothing_back)
{
	struct r16 *t = kvr_shared(sizeof(*t));
	struct kvr_store *s = &self->s;
	unsigned int visible;
	struct kvr_obj o;
	pid_t pid;

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVR_MB(32), NULL);
	t->s = s;
	t->room = KVR_MB(32) / kvt_pages(KVR_BLOCK);
	for (o = block(16, 0); o.key.id < t->room; o.key.id++)
		ASSERT_EQ(0, kvr_put(s->fd, &o, buf).res);
	pid = kvr_spawn(r16_probe, t);
	ASSERT_LT(0, pid);
	for (; o.key.id < t->room + R16_PUTS; o.key.id++) {
		struct kvstash_result r = kvr_put(s->fd, &o, buf);

		ASSERT_EQ(0, r.res) {
			TH_LOG("put %llu: reason %u detail %llu", o.key.id, r.reason,
			       r.detail);
		}
		__atomic_add_fetch(&t->put, 1, __ATOMIC_SEQ_CST);
	}
	kvr_add(&t->stop, 1);
	EXPECT_EQ(0, kvt_wait(pid));
	EXPECT_LT(0, t->hits);
	TH_LOG("%llu probes, %llu hits", t->probes, t->hits);
	visible = kvr_ns(s, "visible");
	EXPECT_EQ(visible, kvr_count_visible(s->fd, 16, o.key.id - visible, visible));
	EXPECT_EQ(t->room + R16_PUTS - visible, kvr_ns(s, "evictions"));
	for (__u64 last = o.key.id; o.key.id-- > last - 10;)
		KVT_OK(kvr_get(s->fd, &o, buf));
}

#define R41_THREADS	32
#define R41_BATCHES	2
#define R41_BATCH	64

struct r41 {
	struct kvr_store *s;
	unsigned int nr;
	pthread_t thread;
	unsigned int bad;
};

/* Mixed sizes, the large ones fewer: 1 byte to KVR_STATE. */
static __u32 r41_len(unsigned int thread, unsigned int i)
{
	__u64 w = kvt_word(41, thread * 4096 + i);
	__u32 most = w % 8 == 0 ? KVR_STATE : w % 8 < 4 ? KVR_BLOCK : 8192;

	return 1 + (w >> 8) % most;
}

/* One buffer for a batch: each object's bytes begin at its start. */
static void *r41_thread(void *arg)
{
	struct r41 *t = arg;
	struct kvstash_put e[R41_BATCH];
	struct kvr_obj o[R41_BATCH];
	int fd = kvt_open_ns(t->s->name);
	char *room[R41_BATCH];

	for (unsigned int b = 0; b < R41_BATCHES; b++) {
		for (unsigned int i = 0; i < R41_BATCH; i++) {
			__u64 id = b * R41_BATCH + i;

			o[i] = (struct kvr_obj){
				.key = { 410 + t->nr, id }, .parts = 1,
				.len = r41_len(t->nr, id),
			};
			room[i] = malloc(o[i].len);
			kvr_fill(&o[i], 0, room[i]);
			kvr_prep(&e[i], &o[i], 0, room[i]);
		}
		t->bad += kvt_put(fd, e, R41_BATCH) != R41_BATCH;
		for (unsigned int i = 0; i < R41_BATCH; i++) {
			if (e[i].r.res)
				t->bad += kvr_say("put of %u: %d reason %u detail %llu",
						  o[i].len, e[i].r.res, e[i].r.reason,
						  e[i].r.detail);
			if (kvr_get(fd, &o[i], room[i]).res == -EILSEQ)
				t->bad += kvr_say("wrong bytes");
			free(room[i]);
		}
	}
	close(fd);
	return NULL;
}

/*
 * 32 threads have one entry each in hand, at most KVR_STATE: less than the pool
 * all together. So whenever a put looks for room, as much as it needs is free
 * or evictable, and "no space" is never true.
 */
TEST_F(store, R41_no_spurious_no_space)
{
	struct kvr_store *s = &self->s;
	struct r41 t[R41_THREADS];
	struct kvr_obj o;

	kvr_store_make(_metadata, s, KVR_MB(48), NULL);
	ASSERT_LE(R41_THREADS * kvt_pages(KVR_STATE), KVR_MB(48));
	for (o = block(16, 0); o.key.id < KVR_MB(48) / KVR_BLOCK; o.key.id++)
		ASSERT_EQ(0, kvr_put(s->fd, &o, buf).res);
	for (unsigned int i = 0; i < R41_THREADS; i++) {
		t[i] = (struct r41){ .s = s, .nr = i };
		ASSERT_EQ(0, pthread_create(&t[i].thread, NULL, r41_thread, &t[i]));
	}
	for (unsigned int i = 0; i < R41_THREADS; i++) {
		pthread_join(t[i].thread, NULL);
		EXPECT_EQ(0, t[i].bad);
	}
	EXPECT_EQ(0, kvr_pool(s, "no_space"));
	EXPECT_LT(0, kvr_ns(s, "evictions"));
}

/* A skewed trace: small numbers are asked for more often. */
static unsigned int r51_next(__u64 *rnd, unsigned int n)
{
	unsigned int a = kvr_below(rnd, n), b = kvr_below(rnd, n);

	return a * b / n;
}

/* Get, else put, each state of the trace. Returns the hits in percent x 100. */
static unsigned int r51_run(struct __test_metadata *_metadata, int fd, unsigned int room)
{
	struct kvr_obj o = { .key = { 51, 0 }, .len = KVR_STATE, .parts = 1 };
	unsigned int hits = 0, n = kvt_rounds(800);
	struct kvstash_range range;
	struct kvstash_get e;
	__u64 rnd = 51;

	if (n < 200)
		n = 200;
	for (unsigned int i = 0; i < n; i++) {
		o.key.id = r51_next(&rnd, 3 * room);
		/* one page of it is enough to know, and moves its recency */
		kvstash_prep_range(&range, 0, KVT_PAGE, buf, KVT_PAGE);
		kvstash_prep_get_ranges(&e, &o.key, sizeof(o.key), &range, 1);
		if (kvt_get_one(fd, &e).res == 0) {
			hits++;
			EXPECT_EQ(-1, kvt_verify_at(buf, KVT_PAGE, kvr_seed(&o.key, 0),
						    KVT_PAGE));
			continue;
		}
		EXPECT_EQ(KVSTASH_R_MISS, e.r.reason);
		ASSERT_EQ(0, kvr_put(fd, &o, buf).res);
	}
	return hits * 10000 / n;
}

TEST_F(store, R51_large_after_small_hits_as_in_a_fresh_pool)
{
	static struct kvstash_put e[512];
	static struct kvr_key keys[512];
	struct kvr_obj o = { .key = { 5, 0 }, .len = KVT_PAGE, .parts = 1 };
	struct kvr_obj first = { .key = { 50, 0 }, .len = KVR_STATE, .parts = 1 };
	unsigned int room = KVR_MB(32) / kvt_pages(KVR_STATE), aged, fresh;
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVR_MB(32), NULL);
	kvr_fill(&o, 0, buf);
	for (; o.key.id < KVR_MB(32) / KVT_PAGE; o.key.id++) {
		unsigned int i = o.key.id % KVT_LEN(e);

		kvr_prep(&e[i], &o, 0, buf);
		keys[i] = o.key;
		e[i].key = kvstash_addr(&keys[i]);
		if (i == KVT_LEN(e) - 1)
			ASSERT_EQ(KVT_LEN(e), kvt_put(s->fd, e, KVT_LEN(e)));
	}
	EXPECT_LE(KVR_MB(32) / 100 * 99, kvr_pool(s, "committed_bytes"));
	KVT_OK(kvr_put(s->fd, &first, buf));
	KVT_OK(kvr_get(s->fd, &first, buf));
	aged = r51_run(_metadata, s->fd, room);
	kvr_store_end(_metadata, s);

	kvr_store_make(_metadata, s, KVR_MB(32), NULL);
	fresh = r51_run(_metadata, s->fd, room);
	TH_LOG("hits: %u.%02u %% after small ones, %u.%02u %% fresh", aged / 100,
	       aged % 100, fresh / 100, fresh % 100);
	EXPECT_LE(fresh, aged + 200);
	EXPECT_LE(aged, fresh + 200);
}

TEST_F(store, R60_three_pools_of_puts_without_any_setting)
{
	struct kvr_store *s = &self->s;
	unsigned int room;
	struct kvr_obj o;

	kvr_store_make(_metadata, s, KVR_MB(16), NULL);
	room = KVR_MB(16) / kvt_pages(KVR_BLOCK);
	for (o = block(60, 0); o.key.id < 3 * room; o.key.id++)
		KVT_OK(kvr_put(s->fd, &o, buf));
	EXPECT_EQ(room, kvr_count_visible(s->fd, 60, 2 * room, room));
	for (o.key.id = 2 * room; o.key.id < 3 * room; o.key.id++)
		KVT_OK(kvr_get(s->fd, &o, buf));
	EXPECT_EQ(0, kvr_pool(s, "no_space"));
}

TEST_HARNESS_MAIN
