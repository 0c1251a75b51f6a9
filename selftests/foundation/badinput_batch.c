// SPDX-License-Identifier: GPL-2.0
/*
 * Batches of which a part is bad: an entry that faults, an array that can't be
 * read or written from some entry on, a signal in the middle.
 */
#include <signal.h>
#include <sys/time.h>

#include "abi_call.h"

#define NR	100U		/* entries: more than fit a page */
#define KEY	16U

static void key_of(char key[KEY], const char *stem, unsigned int i)
{
	snprintf(key, KEY, "%s/%06u", stem, i);
}

/* @n keys, each of KEY - 1 bytes and a NUL that is part of it. */
static char *keys_of(const char *stem, unsigned int n)
{
	char *keys = kvt_map((size_t)n * KEY);

	for (unsigned int i = 0; keys && i < n; i++)
		key_of(keys + i * KEY, stem, i);
	return keys;
}

static void remove_keys(struct __test_metadata *_metadata, int fd,
			const char *keys, unsigned int n)
{
	struct kvstash_exists *x = kvt_map(n * sizeof(*x));
	struct kvstash_keys k;

	ASSERT_NE(NULL, x);
	kvstash_prep_keys(&k, keys, KEY, n);
	ASSERT_EQ(n, kvt_remove(fd, &k, x));
	munmap(x, n * sizeof(*x));
}

/* R39: [hit, miss, hit, faulting buffer, hit], in that order. */
TEST_F(store, R39_each_entry_has_its_own_result)
{
	static const char * const key[] = { "seed/one", "seed/none", "seed/one",
					    "seed/one", "seed/one" };
	unsigned char *buf[5];
	struct kvstash_get e[5];

	for (int i = 0; i < 5; i++) {
		buf[i] = kvt_target(KVT_ONE_LEN);
		ASSERT_NE(NULL, buf[i]);
		kvstash_prep_get(&e[i], key[i], strlen(key[i]), buf[i],
				 KVT_ONE_LEN);
	}
	e[3].buf = KVT_PAGE;	/* below what mmap() gives out */
	ASSERT_EQ(5, kvt_get(self->s.fd, e, 5));
	for (int i = 0; i < 5; i++) {
		if (i == 1) {
			KVT_EXPECT(ENOENT, KVSTASH_R_MISS, e[i].r);
		} else if (i == 3) {
			KVT_EXPECT(EFAULT, KVSTASH_R_DATA_FAULT, e[i].r);
			EXPECT_EQ(0, e[i].r.detail);
		} else {
			KVT_OK(e[i].r);
			EXPECT_EQ(-1, kvt_verify(buf[i], KVT_ONE_LEN,
						 kvt_seed_of("seed/one", 0)));
		}
		EXPECT_EQ(i == 1 || i == 3 ? 0 : KVT_ONE_LEN, e[i].bytes);
		if (i == 1 || i == 3)
			EXPECT_TRUE(kvt_untouched(buf[i], KVT_ONE_LEN));
		EXPECT_TRUE(kvt_target_guarded(buf[i], KVT_ONE_LEN));
		kvt_target_free(buf[i]);
	}
}

/* The same for PUT, whichever of five is the one that faults. */
TEST_F(store, R39_one_faulting_put_spoils_no_other)
{
	char *keys = keys_of("fault", 5), buf[1000], back[1000];
	struct kvstash_put e[5];

	ASSERT_NE(NULL, keys);
	kvt_fill(buf, sizeof(buf), 9);
	for (int bad = 0; bad < 5; bad++) {
		for (int i = 0; i < 5; i++)
			kvstash_prep_put(&e[i], keys + i * KEY, KEY,
					 i == bad ? (void *)KVT_PAGE : buf,
					 sizeof(buf));
		ASSERT_EQ(5, kvt_put(self->s.fd, e, 5));
		for (int i = 0; i < 5; i++) {
			if (i == bad) {
				KVT_EXPECT(EFAULT, KVSTASH_R_DATA_FAULT,
					   e[i].r);
				EXPECT_EQ(KVSTASH_STATE_ABSENT,
					  kvt_state(self->s.fd, keys + i * KEY,
						    KEY));
				continue;
			}
			KVT_OK(e[i].r);
			KVT_OK(kvt_get1(self->s.fd, keys + i * KEY, KEY, back,
					sizeof(back), NULL));
			EXPECT_EQ(0, memcmp(buf, back, sizeof(buf)));
		}
		remove_keys(_metadata, self->s.fd, keys, 5);
		kvt_store_same(_metadata, &self->s);
	}
}

/*
 * An array of entries of which all from byte @good on, a multiple of the page,
 * can only be read (or, @gone, not even that).
 */
static void spoil_rest(void *array, size_t good, size_t len, bool gone)
{
	if (gone)
		munmap((char *)array + good, len - good);
	else
		mprotect((char *)array + good, len - good, PROT_READ);
}

/*
 * After a RESERVE whose results were lost from somewhere on: the handles that
 * can be seen can be aborted, and then nothing is left of any.
 */
static void abort_visible(struct __test_metadata *_metadata,
			  const struct kvt_store *s,
			  const struct kvstash_put *e, size_t good, __u32 done)
{
	struct kvstash_result r;

	for (unsigned int i = 0; (i + 1) * sizeof(*e) <= good; i++) {
		if (e[i].r.res || !e[i].handle.seq)
			continue;
		r = kvt_abort1(s->fd, &e[i].handle);
		if (i < done)
			KVT_OK(r);
		else
			EXPECT_TRUE(!r.res || r.reason == KVSTASH_R_ABORTED ||
				    r.reason == KVSTASH_R_HANDLE_UNKNOWN) {
				TH_LOG("entry %u: %d %u", i, -r.res, r.reason);
			}
	}
	kvt_store_same(_metadata, s);
}

static void lose_reservations(struct __test_metadata *_metadata,
			      const struct kvt_store *s, unsigned int nr,
			      size_t good, bool gone)
{
	size_t len = kvt_pages(NR * sizeof(struct kvstash_put));
	struct kvstash_put *e = kvt_map(len);
	char *keys = keys_of("lost", nr);
	struct kvstash_batch b;
	int r;

	ASSERT_NE(NULL, e);
	ASSERT_NE(NULL, keys);
	for (unsigned int i = 0; i < nr; i++)
		kvstash_prep_reserve(&e[i], keys + i * KEY, KEY, 5000 + i);
	spoil_rest(e, good, len, gone);
	r = kvt_batch_hdr(s->fd, KVSTASH_IOC_RESERVE, e, nr, sizeof(*e), &b);
	EXPECT_EQ(-EFAULT, r);
	EXPECT_EQ(KVSTASH_R_BUFFER, b.reason);
	EXPECT_EQ(offsetof(struct kvstash_batch, entries), b.field);
	EXPECT_LE(b.done * sizeof(*e), good);
	abort_visible(_metadata, s, e, good, b.done);
	for (unsigned int i = 0; i < nr; i++)
		EXPECT_EQ(KVSTASH_STATE_ABSENT,
			  kvt_state(s->fd, keys + i * KEY, KEY));
	munmap(e, len);
	munmap(keys, nr * KEY);
}

TEST_F(store, I6_reservations_with_lost_handles_are_undone)
{
	const size_t len = kvt_pages(NR * sizeof(struct kvstash_put));

	for (size_t good = 0; good < len; good += KVT_PAGE)
		lose_reservations(_metadata, &self->s, NR, good, false);
	for (size_t good = KVT_PAGE; good < len; good += KVT_PAGE)
		lose_reservations(_metadata, &self->s, NR, good, true);
	/* the last entry has its result on the page before, its handle behind */
	lose_reservations(_metadata, &self->s,
			  1 + KVT_PAGE / sizeof(struct kvstash_put), KVT_PAGE, false);
}

/*
 * PUT: whatever was put is whole, nothing was put whose result has no place,
 * and putting all again completes it.
 */
TEST_F(store, puts_with_lost_results_can_be_repeated)
{
	const size_t len = kvt_pages(NR * sizeof(struct kvstash_put));
	char *keys = keys_of("lost", NR), buf[3000], back[3000];
	struct kvstash_batch b;
	struct kvstash_put *e;
	bool there;

	ASSERT_NE(NULL, keys);
	kvt_fill(buf, sizeof(buf), 10);
	for (size_t good = 0; good < len; good += KVT_PAGE) {
		e = kvt_map(len);
		ASSERT_NE(NULL, e);
		for (unsigned int i = 0; i < NR; i++)
			kvstash_prep_put(&e[i], keys + i * KEY, KEY, buf,
					 sizeof(buf));
		spoil_rest(e, good, len, false);
		EXPECT_EQ(-EFAULT, kvt_batch_hdr(self->s.fd, KVSTASH_IOC_PUT, e,
						 NR, sizeof(*e), &b));
		kvt_sane(_metadata);
		for (unsigned int i = 0; i < NR; i++) {
			there = kvt_state(self->s.fd, keys + i * KEY, KEY) ==
				KVSTASH_STATE_VISIBLE;
			EXPECT_EQ(i < b.done, there);
			KVT_EXPECT(there ? EEXIST : 0,
				   there ? KVSTASH_R_EXISTS : KVSTASH_R_OK,
				   kvt_put1(self->s.fd, keys + i * KEY, KEY,
					    buf, sizeof(buf)));
			KVT_OK(kvt_get1(self->s.fd, keys + i * KEY, KEY, back,
					sizeof(back), NULL));
			EXPECT_EQ(0, memcmp(buf, back, sizeof(buf)));
		}
		munmap(e, len);
		remove_keys(_metadata, self->s.fd, keys, NR);
		kvt_store_same(_metadata, &self->s);
	}
}

/* WRITE, COMMIT, ABORT and GET with entries that can't be written back. */
TEST_F(store, read_only_entries_are_EFAULT)
{
	static const unsigned long cmds[] = { KVSTASH_IOC_WRITE,
		KVSTASH_IOC_COMMIT, KVSTASH_IOC_ABORT };
	struct kvstash_handle h;
	char buf[100] = "bytes";
	struct kvstash_result r;
	union {
		struct kvstash_write w;
		struct kvstash_end e;
		struct kvstash_get g;
	} *e;

	for (size_t i = 0; i < KVT_LEN(cmds); i++) {
		e = kvt_map(KVT_PAGE);
		ASSERT_NE(NULL, e);
		KVT_OK(kvt_reserve1(self->s.fd, "ro", 2, sizeof(buf), &h));
		KVT_OK(kvt_write1(self->s.fd, &h, 0, buf, sizeof(buf)));
		if (!i)
			kvstash_prep_write(&e->w, &h, 0, buf, sizeof(buf));
		else
			kvstash_prep_end(&e->e, &h);
		mprotect(e, KVT_PAGE, PROT_READ);
		EXPECT_EQ(-EFAULT, kvt_batch(self->s.fd, cmds[i], e, 1,
					     i ? sizeof(e->e) : sizeof(e->w)));
		/* whichever way it went, it can be brought to an end */
		r = kvt_commit1(self->s.fd, &h);
		EXPECT_TRUE(!r.res || r.reason == KVSTASH_R_COMMITTED ||
			    r.reason == KVSTASH_R_ABORTED) {
			TH_LOG("command %zu: %d %u", i, -r.res, r.reason);
		}
		kvt_remove1(self->s.fd, "ro", 2);
		munmap(e, KVT_PAGE);
		kvt_store_same(_metadata, &self->s);
	}
	e = kvt_map(KVT_PAGE);
	ASSERT_NE(NULL, e);
	kvstash_prep_get(&e->g, "seed/one", 8, buf, sizeof(buf));
	mprotect(e, KVT_PAGE, PROT_READ);
	EXPECT_EQ(-EFAULT, kvt_batch(self->s.fd, KVSTASH_IOC_GET, e, 1,
				     sizeof(e->g)));
	munmap(e, KVT_PAGE);
}

/* REMOVE: gone is what has a result, the rest is as it was. */
TEST_F(store, removes_with_lost_results)
{
	const size_t len = kvt_pages(NR * sizeof(struct kvstash_exists));
	char *keys = keys_of("lost", NR), buf[3000] = "", back[3000];
	struct kvstash_exists *x;
	struct kvstash_keys k;
	__u32 done;
	int state;

	ASSERT_NE(NULL, keys);
	for (size_t good = 0; good < len; good += KVT_PAGE) {
		x = kvt_map(len);
		ASSERT_NE(NULL, x);
		for (unsigned int i = 0; i < NR; i++)
			KVT_OK(kvt_put1(self->s.fd, keys + i * KEY, KEY, buf,
					sizeof(buf)));
		spoil_rest(x, good, len, false);
		kvstash_prep_keys(&k, keys, KEY, NR);
		EXPECT_EQ(-EFAULT, kvt_remove(self->s.fd, &k, x));
		EXPECT_EQ(KVSTASH_R_BUFFER, k.reason);
		EXPECT_EQ(offsetof(struct kvstash_keys, results), k.field);
		done = k.done;
		EXPECT_EQ(-EFAULT, kvt_exists(self->s.fd, &k, x));
		EXPECT_EQ(offsetof(struct kvstash_keys, results), k.field);
		for (unsigned int i = 0; i < NR; i++) {
			state = kvt_state(self->s.fd, keys + i * KEY, KEY);
			EXPECT_EQ(i < done ? KVSTASH_STATE_ABSENT :
					     KVSTASH_STATE_VISIBLE, state);
			if (i < done)
				continue;
			KVT_OK(kvt_get1(self->s.fd, keys + i * KEY, KEY, back,
					sizeof(back), NULL));
			EXPECT_EQ(0, memcmp(buf, back, sizeof(buf)));
		}
		munmap(x, len);
		remove_keys(_metadata, self->s.fd, keys, NR);
		kvt_store_same(_metadata, &self->s);
	}
}

/* A header that can't be written back: EFAULT, and nothing is done. */
TEST_F(store, read_only_header_is_EFAULT)
{
	struct call c;
	void *ro;

	for (int k = 0; k < CALL_KINDS; k++) {
		call_prep(&c, k, &self->s);
		ro = kvt_map(KVT_PAGE);
		ASSERT_NE(NULL, ro);
		memcpy(ro, &c.arg, sizeof(c.arg));
		mprotect(ro, KVT_PAGE, PROT_READ);
		EXPECT_EQ(EFAULT, call_run_at(&c, ro).err) {
			TH_LOG("%s", call_kinds[k].name);
		}
		munmap(ro, KVT_PAGE);
		if (k == CALL_RELEASE || k == CALL_GET_BY_LEASE)
			KVT_OK(kvt_release1(self->s.fd, &c.leases[0]));
		kvt_store_same(_metadata, &self->s);
	}
}

/* An array that is shorter than the count says: what is there is done. */
TEST_F(store, array_ends_before_the_count)
{
	struct kvstash_get *e = kvt_map_edge(NR * sizeof(*e));
	struct kvstash_batch b;
	char buf[KVT_ONE_LEN];

	ASSERT_NE(NULL, e);
	for (unsigned int i = 0; i < NR; i++) {
		kvstash_prep_get(&e[i], "seed/one", 8, buf, sizeof(buf));
		e[i].r.res = 1;
	}
	EXPECT_EQ(-EFAULT, kvt_batch_hdr(self->s.fd, KVSTASH_IOC_GET, e,
					 KVSTASH_BATCH_MAX, sizeof(*e), &b));
	EXPECT_LE(b.done, NR);
	for (unsigned int i = 0; i < b.done; i++)
		KVT_OK(e[i].r);
	for (unsigned int i = b.done; i < NR; i++)
		EXPECT_EQ(1, e[i].r.res);
}

/*
 * R89: signals in the middle of batches
 */

#define STORM	4096U

static void on_alarm(int sig)
{
	(void)sig;
}

static void storm(unsigned int us)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval it = {
		.it_interval.tv_usec = us,
		.it_value.tv_usec = us,
	};

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

/* One command in a storm: @entry has the result of entry i at i * @stride. */
struct stormy {
	unsigned long cmd;
	void *entry;
	__u32 stride;
	char *keys;		/* of EXISTS and REMOVE */
	int again;		/* errno of an entry that was done before */
	__u32 why;
};

static int stormy_call(int fd, const struct stormy *w, __u32 first, __u32 n)
{
	struct kvstash_keys k;

	if (!w->keys)
		return kvt_batch(fd, w->cmd, (char *)w->entry + first * w->stride,
				 n, w->stride);
	kvstash_prep_keys(&k, w->keys + first * KEY, KEY, n);
	if (w->cmd == KVSTASH_IOC_EXISTS)
		return kvt_exists(fd, &k, (struct kvstash_exists *)w->entry +
				  first);
	return kvt_remove(fd, &k, (struct kvstash_exists *)w->entry + first);
}

static const struct kvstash_result *stormy_result(const struct stormy *w,
						  __u32 i)
{
	return (void *)((char *)w->entry + i * w->stride);
}

/* Entries [first, first + done) are carried out, the rest is interrupted. */
static void stormy_check(struct __test_metadata *_metadata,
			 const struct stormy *w, __u32 first, __u32 n, int done)
{
	const struct kvstash_result *r;
	unsigned int bad = 0;

	ASSERT_LT(0, done);
	for (__u32 i = 0; i < n; i++) {
		r = stormy_result(w, first + i);
		if (i < (__u32)done)
			bad += r->reason == KVSTASH_R_INTERRUPTED ||
			       (r->res && (r->res != -w->again ||
					   r->reason != w->why));
		else
			bad += r->reason != KVSTASH_R_INTERRUPTED ||
			       r->res != -EINTR;
	}
	EXPECT_EQ(0, bad) {
		TH_LOG("command %#lx: of %u from %u, %d done", w->cmd, n,
		       first, done);
	}
}

/* Carries all out, going on after each signal. Returns the interruptions. */
static unsigned int stormy_run(struct __test_metadata *_metadata, int fd,
			       const struct stormy *w)
{
	unsigned int breaks = 0;
	__u32 first = 0;
	int done;

	while (first < STORM) {
		done = stormy_call(fd, w, first, STORM - first);
		stormy_check(_metadata, w, first, STORM - first, done);
		breaks += first + done < STORM;
		first += done;
	}
	return breaks;
}

/*
 * Run until a batch has been interrupted at least once; how often it takes, and
 * how long, is no matter.
 */
static void stormy_until(struct __test_metadata *_metadata, int fd,
			 const struct stormy *w)
{
	unsigned int us = 500, breaks;

	do {
		storm(us);
		breaks = stormy_run(_metadata, fd, w);
		us = us > 20 ? us / 2 : us;
		storm(0);
	} while (!breaks);
}

TEST_F(store, R89_signals_end_batches_early_and_repeating_is_idempotent)
{
	struct kvstash_exists *x = kvt_map(STORM * sizeof(*x));
	struct kvstash_put *p = kvt_map(STORM * sizeof(*p));
	struct kvstash_get *g = kvt_map(STORM * sizeof(*g));
	char *keys = keys_of("storm", STORM), buf[600], back[600];
	const struct stormy put = { KVSTASH_IOC_PUT, p, sizeof(*p), NULL,
				    EEXIST, KVSTASH_R_EXISTS };
	const struct stormy get = { KVSTASH_IOC_GET, g, sizeof(*g), NULL, 0, 0 };
	const struct stormy exists = { KVSTASH_IOC_EXISTS, x, sizeof(*x), keys,
				       0, 0 };
	const struct stormy remove = { KVSTASH_IOC_REMOVE, x, sizeof(*x), keys,
				       ENOENT, KVSTASH_R_MISS };

	ASSERT_TRUE(x && p && g && keys);
	kvt_fill(buf, sizeof(buf), 11);
	for (__u32 i = 0; i < STORM; i++) {
		kvstash_prep_put(&p[i], keys + i * KEY, KEY, buf, sizeof(buf));
		kvstash_prep_get(&g[i], keys + i * KEY, KEY, back,
				 sizeof(back));
	}
	stormy_until(_metadata, self->s.fd, &put);
	/* what a signal left undone was done by going on; now nothing is new */
	ASSERT_EQ(STORM, stormy_call(self->s.fd, &put, 0, STORM));
	for (__u32 i = 0; i < STORM; i++)
		EXPECT_EQ(KVSTASH_R_EXISTS, p[i].r.reason);
	stormy_until(_metadata, self->s.fd, &get);
	EXPECT_EQ(0, memcmp(buf, back, sizeof(buf)));
	stormy_until(_metadata, self->s.fd, &exists);
	stormy_until(_metadata, self->s.fd, &remove);
	kvt_sane(_metadata);
}

/* A LOOKUP that a signal ends says so, with the run that it has so far. */
TEST_F(store, R89_interrupted_lookup_is_no_miss)
{
	char *keys = kvt_map((size_t)KVSTASH_BATCH_MAX * 8);
	struct kvstash_keys k;
	unsigned int rounds = kvt_rounds(50);
	int run;

	ASSERT_NE(NULL, keys);
	for (__u32 i = 0; i < KVSTASH_BATCH_MAX; i++)
		memcpy(keys + i * 8, "seed/one", 8);
	storm(500);
	while (rounds--) {
		kvstash_prep_keys(&k, keys, 8, KVSTASH_BATCH_MAX);
		run = kvt_lookup(self->s.fd, &k);
		ASSERT_LT(0, run);
		EXPECT_EQ(run == KVSTASH_BATCH_MAX ? KVSTASH_R_OK :
						     KVSTASH_R_INTERRUPTED,
			  k.reason);
		EXPECT_EQ(run * KVT_ONE_LEN, k.bytes);
	}
	storm(0);
}

TEST_HARNESS_MAIN
