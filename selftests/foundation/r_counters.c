// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * R117: the figures never wrap and always add up, whatever is removed, destroyed
 * or collected, in any order, while readers hold. A pool can't be resized, so
 * that part of the scenario has no counterpart.
 */
#include "r_store.h"

#define TENANTS	3
#define KEYS	40
#define READERS	3

static char buf[65536];

struct r117 {
	struct kvr_store *s;
	__u32 stop;
	__u32 samples;
	__u32 broken;
};

static void tenant_name(const struct kvr_store *s, unsigned int i, char *name)
{
	snprintf(name, KVSTASH_NAME_MAX, "%.20s-%u", s->name, i);
}

#define WRAPPED	1000000000000ULL	/* no size or number here comes near to it */

static bool gauges_sane(const char *path, const char * const *names, unsigned int n)
{
	char text[8192];
	__u64 v = 0;

	if (kvt_slurp(path, text, sizeof(text)) < 0)
		return true;	/* the namespace is just not there */
	for (unsigned int i = 0; i < n; i++) {
		if (kvt_line(text, names[i], &v) || v >= WRAPPED) {
			kvr_say("%s: %s is %llu", path, names[i], v);
			return false;
		}
	}
	return true;
}

static bool sample(const struct kvr_store *s)
{
	static const char * const pool[] = { "objects", "meta_bytes", "free_bytes" };
	static const char * const ns[] = {
		"bytes", "objects", "visible", "proven_bytes", "clients",
	};
	char name[KVSTASH_NAME_MAX], path[64];
	struct kvt_counts c;

	if (kvt_counts_of(s->pool, &c) || !kvt_i6(&c)) {
		kvr_say("I6: free %llu committed %llu in flight %llu held %llu total %llu",
			c.free, c.committed, c.in_flight, c.held, c.total);
		return false;
	}
	if (!gauges_sane(s->pool, pool, KVT_LEN(pool)))
		return false;
	for (unsigned int i = 0; i < TENANTS; i++) {
		tenant_name(s, i, name);
		snprintf(path, sizeof(path), "/proc/kvstash/ns/%s", name);
		if (!gauges_sane(path, ns, KVT_LEN(ns)))
			return false;
	}
	return true;
}

static int sampler(void *arg)
{
	struct r117 *t = arg;

	while (!kvr_load(&t->stop)) {
		if (!sample(t->s)) {
			kvr_add(&t->broken, 1);
			return 1;
		}
		kvr_add(&t->samples, 1);
	}
	return 0;
}

static void tenant_new(struct __test_metadata *_metadata, struct kvr_store *s,
		       unsigned int i)
{
	char name[KVSTASH_NAME_MAX];
	struct kvt_ns_args ns = { .name = name, .pool = s->name, .incomplete_ms = 1 };

	tenant_name(s, i, name);
	ASSERT_EQ(0, kvt_ns_new(&ns));
}

static int tenant_open(const struct kvr_store *s, unsigned int i)
{
	char name[KVSTASH_NAME_MAX];

	tenant_name(s, i, name);
	return kvt_open_ns(name);
}

static struct kvr_obj thing(unsigned int tenant, unsigned int i)
{
	static struct kvr_key keys[TENANTS][KEYS];

	keys[tenant][i] = (struct kvr_key){ 117 + tenant, i };
	return (struct kvr_obj){
		.key = keys[tenant][i], .len = 5000 + 1000 * (i % 8),
		.parts = 1 + i % 3, .parent = i % 5 ? &keys[tenant][i - 1] : NULL,
	};
}

/* Puts all; every seventh without its last part, so that it is collected. */
static void fill(struct __test_metadata *_metadata, int fd, unsigned int tenant)
{
	for (unsigned int i = 0; i < KEYS; i++) {
		struct kvr_obj o = thing(tenant, i);
		unsigned int parts = i % 7 == 6 ? o.parts - 1 : o.parts;
		struct kvstash_result r;

		for (unsigned int p = 0; p < parts; p++) {
			r = kvr_put_part(fd, &o, p, buf);
			/* it may be there, or its parent may be collected */
			EXPECT_TRUE(!r.res || r.res == -EEXIST || r.res == -ENOENT ||
				    r.res == -EBUSY) {
				TH_LOG("put: %d reason %u", r.res, r.reason);
			}
		}
	}
}

static void remove_all(struct __test_metadata *_metadata, int fd, unsigned int tenant)
{
	struct kvstash_exists x[KEYS];
	struct kvr_key keys[KEYS];

	for (unsigned int i = 0; i < KEYS; i++)
		keys[i] = thing(tenant, i).key;
	ASSERT_EQ(KEYS, kvr_remove_many(fd, keys, KEYS, x));
	EXPECT_EQ(0, kvr_count_visible(fd, 117 + tenant, 0, KEYS));
}

/* Readers of up to READERS objects, held over what is done next. */
struct hold {
	struct kvr_reader rd[READERS];
	unsigned int n;
};

static void hold_some(struct hold *h, int fd, unsigned int tenant, __u64 *rnd)
{
	h->n = 0;
	if (kvr_uffd_works())
		return;
	for (unsigned int i = 0; i < READERS; i++) {
		struct kvr_obj o = thing(tenant, kvr_below(rnd, KEYS));

		if (kvr_state(fd, &o) == KVSTASH_STATE_VISIBLE &&
		    !kvr_reader_start(&h->rd[h->n], fd, &o))
			h->n++;
	}
}

static void hold_none(struct __test_metadata *_metadata, struct hold *h)
{
	while (h->n)
		KVT_OK(kvr_reader_finish(&h->rd[--h->n]));
}

/* One tenant is filled, and then emptied in one of three ways. */
static void r117_step(struct __test_metadata *_metadata, struct r117 *t, __u64 *rnd)
{
	unsigned int tenant = kvr_below(rnd, TENANTS), how = kvr_below(rnd, 3);
	int fd = tenant_open(t->s, tenant);
	char name[KVSTASH_NAME_MAX];
	static struct hold h;

	ASSERT_LE(0, fd);
	tenant_name(t->s, tenant, name);
	fill(_metadata, fd, tenant);
	hold_some(&h, fd, tenant, rnd);
	switch (how) {
	case 0:
		remove_all(_metadata, fd, tenant);
		hold_none(_metadata, &h);
		break;
	case 1:	/* closing leaves what is incomplete to be collected */
		EXPECT_EQ(-EBUSY, kvt_ns_del(name));
		hold_none(_metadata, &h);
		break;
	case 2:
		remove_all(_metadata, fd, tenant);
		fill(_metadata, fd, tenant);
		hold_none(_metadata, &h);
		close(fd);
		ASSERT_EQ(0, kvt_ns_del(name));
		tenant_new(_metadata, t->s, tenant);
		return;
	}
	close(fd);
}

TEST_F(store, R117_I6_figures_never_wrap)
{
	struct r117 *t = kvr_shared(sizeof(*t));
	struct kvr_store *s = &self->s;
	__u64 rnd = kvr_run_seed();
	char name[KVSTASH_NAME_MAX];
	struct kvt_counts c;
	pid_t pid;

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVR_MB(2), NULL);
	t->s = s;
	for (unsigned int i = 0; i < TENANTS; i++)
		tenant_new(_metadata, s, i);
	pid = kvr_spawn(sampler, t);
	ASSERT_LT(0, pid);
	for (unsigned int i = 0; i < 200 && !kvr_load(&t->broken); i++)
		r117_step(_metadata, t, &rnd);
	kvr_await(&t->samples, 20, &t->broken);
	kvr_add(&t->stop, 1);
	EXPECT_EQ(0, kvt_wait(pid));
	TH_LOG("%u samples", t->samples);
	for (unsigned int i = 0; i < TENANTS; i++) {
		tenant_name(s, i, name);
		EXPECT_EQ(0, kvt_ns_del(name));
	}
	ASSERT_EQ(0, kvt_counts_of(s->pool, &c));
	EXPECT_EQ(c.total, c.free);
	EXPECT_EQ(0, c.objects);
	EXPECT_EQ(0, kvr_pool(s, "meta_bytes"));
}

TEST_HARNESS_MAIN
