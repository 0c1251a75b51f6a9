// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=20 wm_high=60 */
/* kvstash-timeout: 1200 */
/*
 * Readers on two CPUs verify every byte while writers put, get and remove chains
 * of ten times the pool, so that eviction never rests. TORTURE_SECONDS says
 * for how long (default 10).
 *
 * What proves an orphan (I9)? Keys are looked at one after another, so that two
 * of them are never seen at one moment. "Child seen, then parent not" proves
 * nothing: both may have been removed in between, the child first. Nor does
 * "parent not seen, then child": both may have been put in between. But a child
 * that is seen before and after its parent was missed is an orphan, if it is the
 * same child: an object that was hidden never comes back, so it was visible all
 * the while. That it is the same, and not one put again, its tag tells: each put
 * has a tag of its own, and the tag is part of an object's identity. Therefore a
 * chain is probed from its end to its root and back to its end in one EXISTS.
 */
#include "r_store.h"

#define POOL	KVR_MB(16)
#define DEPTH	12
#define CHAINS	420	/* with about 32 KiB an object: 10 times the pool */

#define WRITERS	2
#define READERS	2

struct torture {
	struct kvr_store *s;
	__u32 stop;
	__u64 seed;
	__u64 tag;	/* the last one given out */
	__u64 puts;
	__u64 there;
	__u64 refused;
	__u64 hits;
	__u64 misses;
	__u64 pairs;	/* child and parent that the probe could judge */
	__u64 samples;
	__u64 removes;
};

static unsigned int my_number;	/* set before the fork */
static char buf[DEPTH][98304];

static void count(__u64 *word, __u64 n)
{
	__atomic_add_fetch(word, n, __ATOMIC_RELAXED);
}

static struct kvr_key chain_key(unsigned int chain, unsigned int i)
{
	return (struct kvr_key){ 0x1000 + chain, i };
}

/* 1 byte to 64 KiB, in 1 to 3 parts. @parent has room for the parent's key. */
static struct kvr_obj chain_obj(unsigned int chain, unsigned int i, struct kvr_key *parent)
{
	__u64 w = kvt_word(chain, i);

	if (i)
		*parent = chain_key(chain, i - 1);
	return (struct kvr_obj){
		.key = chain_key(chain, i), .parts = 1 + w % 3,
		.len = 1 + (w >> 8) % (65536 / (1 + w % 3)),
		.parent = i ? parent : NULL,
	};
}

/*
 * Puts one object with a tag of its own. What another one has put, or puts, has
 * another tag: a mismatch. A parent may be evicted, and a part's object go with
 * it.
 */
static int put_one(struct torture *t, int fd, const struct kvr_obj *o)
{
	__u64 tag = __atomic_add_fetch(&t->tag, 1, __ATOMIC_RELAXED);
	struct kvstash_put e[3];

	for (unsigned int p = 0; p < o->parts; p++) {
		kvr_fill(o, p, buf[p]);
		kvr_prep(&e[p], o, p, buf[p]);
		kvstash_prep_put_tag(&e[p], &tag, sizeof(tag));
	}
	if (kvt_put(fd, e, o->parts) != o->parts)
		return kvr_say("PUT as a whole failed");
	for (unsigned int p = 0; p < o->parts; p++) {
		switch (e[p].r.reason) {
		case KVSTASH_R_OK:
			count(&t->puts, 1);
			break;
		case KVSTASH_R_MISMATCH_TAG:
			count(&t->there, 1);
			break;
		case KVSTASH_R_PARENT_MISS:
		case KVSTASH_R_REMOVED:
		case KVSTASH_R_IN_FLIGHT:
			count(&t->refused, 1);
			break;
		default:
			return kvr_say("put: %d reason %u detail %llu", e[p].r.res,
				       e[p].r.reason, e[p].r.detail);
		}
	}
	return 0;
}

static int write_chain(struct torture *t, int fd, __u64 *rnd)
{
	unsigned int chain = kvr_below(rnd, CHAINS), n = kvr_below(rnd, DEPTH);
	struct kvr_key parent;
	struct kvr_obj o;

	for (unsigned int i = 0; i <= n; i++) {
		o = chain_obj(chain, i, &parent);
		if (put_one(t, fd, &o))
			return 1;
	}
	if (kvr_below(rnd, 8))
		return 0;
	o.key = chain_key(kvr_below(rnd, CHAINS), kvr_below(rnd, DEPTH));
	count(&t->removes, !kvr_remove(fd, &o).res);
	return 0;
}

/*
 * If an object goes with its parent between two parts, the next part begins it
 * anew, and nobody completes that, as the tag is never used again. So the client
 * ends now and then, and what it left is idle and is collected under pressure.
 */
static int writer(void *arg)
{
	struct torture *t = arg;
	__u64 rnd = t->seed + 100 * my_number;
	int fd, bad = 0;

	while (!bad && !kvr_load(&t->stop)) {
		fd = kvt_open_ns(t->s->name);
		if (fd < 0)
			return kvr_say("open: %d", fd);
		for (unsigned int i = 0; i < 32 && !bad && !kvr_load(&t->stop); i++)
			bad = write_chain(t, fd, &rnd);
		close(fd);
	}
	return bad;
}

/* One call for the chain; each byte of what is there. */
static int read_chain(struct torture *t, int fd, unsigned int chain)
{
	struct kvstash_get e[DEPTH];
	struct kvr_key keys[DEPTH], parent;
	struct kvr_obj o[DEPTH];

	for (unsigned int i = 0; i < DEPTH; i++) {
		o[i] = chain_obj(chain, i, &parent);
		keys[i] = o[i].key;
		kvstash_prep_get(&e[i], &keys[i], sizeof(keys[i]), buf[i],
				 sizeof(buf[i]));
	}
	if (kvt_get(fd, e, DEPTH) != DEPTH)
		return kvr_say("GET as a whole failed");
	for (unsigned int i = 0; i < DEPTH; i++) {
		struct kvstash_result r = e[i].r;

		if (r.res == -ENOENT) {
			count(&t->misses, 1);
			continue;
		}
		if (!r.res && e[i].bytes == kvr_size(&o[i]))
			r = kvr_verify(&o[i], buf[i]);
		if (r.res || e[i].bytes != kvr_size(&o[i]))
			return kvr_say("chain %u object %u: %d reason %u at %llu of %llu",
				       chain, i, r.res, r.reason, r.detail, e[i].bytes);
		count(&t->hits, 1);
	}
	return 0;
}

/* End to root and back; see above. */
static int probe_chain(struct torture *t, int fd, unsigned int chain)
{
	static char tags[2 * DEPTH][KVSTASH_TAG_MAX];
	struct kvstash_exists x[2 * DEPTH];
	struct kvr_key keys[2 * DEPTH];
	struct kvstash_keys k;

	for (unsigned int i = 0; i < DEPTH; i++) {
		keys[DEPTH - 1 - i] = chain_key(chain, i);
		keys[DEPTH + i] = chain_key(chain, i);
	}
	kvstash_prep_keys(&k, keys, sizeof(*keys), 2 * DEPTH);
	kvstash_prep_keys_tags(&k, tags);
	if (kvt_exists(fd, &k, x) != 2 * DEPTH)
		return kvr_say("EXISTS as a whole failed");
	for (unsigned int i = 1; i < DEPTH; i++) {
		unsigned int before = DEPTH - 1 - i, after = DEPTH + i;

		if (x[before].r.res || x[after].r.res ||
		    memcmp(tags[before], tags[after], sizeof(__u64)))
			continue;
		count(&t->pairs, 1);
		if (x[before + 1].r.res || x[after - 1].r.res)
			return kvr_say("chain %u: object %u is an orphan", chain, i);
	}
	return 0;
}

static int reader(void *arg)
{
	struct torture *t = arg;
	int fd = kvt_open_ns(t->s->name);
	__u64 rnd = t->seed + 1000 * (1 + my_number);

	kvr_pin(my_number);
	while (fd >= 0 && !kvr_load(&t->stop)) {
		/* the young ones more often, so that there are hits */
		unsigned int chain = kvr_below(&rnd, 1 + kvr_below(&rnd, CHAINS));

		if (probe_chain(t, fd, chain) || read_chain(t, fd, chain) ||
		    probe_chain(t, fd, chain))
			return 1;
	}
	return fd < 0;
}

/* I6 in each of many samples. */
static int sampler(void *arg)
{
	struct torture *t = arg;
	struct kvt_counts c;

	while (!kvr_load(&t->stop)) {
		if (kvt_counts_of(t->s->pool, &c) || !kvt_i6(&c))
			return kvr_say("I6: free %llu committed %llu in flight %llu held %llu",
				       c.free, c.committed, c.in_flight, c.held);
		count(&t->samples, 1);
	}
	return 0;
}

static unsigned int torture_seconds(void)
{
	const char *s = getenv("TORTURE_SECONDS");
	unsigned int n = s ? strtoul(s, NULL, 0) : 0;

	return n ? n : 10;
}

/* Until the time is over or one of them has found something. Who is left is told. */
static void run_for(struct torture *t, const pid_t *pid, unsigned int n)
{
	struct pollfd p[WRITERS + READERS + 1];

	for (unsigned int i = 0; i < n; i++)
		p[i] = (struct pollfd){ syscall(SYS_pidfd_open, pid[i], 0), POLLIN, 0 };
	poll(p, n, 1000 * torture_seconds());
	kvr_add(&t->stop, 1);
	for (unsigned int i = 0; i < n; i++)
		close(p[i].fd);
}

static void torture(struct __test_metadata *_metadata, struct kvr_store *s)
{
	struct torture *t = kvr_shared(sizeof(*t));
	pid_t pid[WRITERS + READERS + 1];
	unsigned int n = 0;

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, POOL, NULL);
	t->s = s;
	t->seed = kvr_run_seed();
	for (my_number = 0; my_number < WRITERS; my_number++)
		pid[n++] = kvr_spawn(writer, t);
	for (my_number = 0; my_number < READERS; my_number++)
		pid[n++] = kvr_spawn(reader, t);
	pid[n++] = kvr_spawn(sampler, t);
	run_for(t, pid, n);
	for (unsigned int i = 0; i < n; i++)
		EXPECT_EQ(0, kvt_wait(pid[i]));
	TH_LOG("%u s: parts put %llu, there %llu, refused %llu; removed %llu; evicted %llu",
	       torture_seconds(), t->puts, t->there, t->refused, t->removes,
	       kvr_ns(s, "evictions"));
	TH_LOG("got %llu, missed %llu; pairs judged %llu; samples %llu", t->hits,
	       t->misses, t->pairs, t->samples);
	EXPECT_LT(0, t->puts);
	EXPECT_LT(0, t->hits);
	EXPECT_LT(0, t->misses);
	EXPECT_LT(0, t->pairs);
	EXPECT_LT(0, t->samples);
	EXPECT_LT(0, kvr_ns(s, "evictions"));
	EXPECT_EQ(0, kvr_pool(s, "no_space"));
}

/* The bound is for hangs: the run of ten minutes and time to come to an end. */
TEST_F_TIMEOUT(store, I1_I3_I6_I9_churn, 3600)
{
	torture(_metadata, &self->s);
}

TEST_HARNESS_MAIN
