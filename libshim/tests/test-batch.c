// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Batches: what is sent, splitting, going on after a signal
 */
#include <errno.h>
#include <stdlib.h>

#include "check.h"

#define MAX KVSTASH_BATCH_MAX

/* Each entry is carried out once and in order. */
static void in_order(const struct kvstash_put *e, size_t n)
{
	size_t i;

	for (i = 0; i < n && e[i].r.detail == i + 1 && !e[i].r.res; i++)
		;
	CHECK_EQ(i, n);
}

static void test_single(void)
{
	struct kvstash *c = fake_open();
	struct kvstash_put e[5];

	memset(e, 0, sizeof(e));
	CHECK_EQ(kvstash_put(c, e, 5), 5);
	in_order(e, 5);
	fake.signal = 2;
	CHECK_EQ(kvstash_reserve(c, e, 5), 2);
	CHECK_EQ(e[1].r.detail, 7);
	CHECK_EQ(e[2].r.reason, KVSTASH_R_INTERRUPTED);
	fake.eintr = fake.calls + 1;
	CHECK_EQ(kvstash_put(c, e, 5), -EINTR);
	kvstash_close(c);
}

static void test_split(void)
{
	static const size_t sizes[] = { 0, 1, MAX - 1, MAX, MAX + 1, 2 * MAX,
					2 * MAX + 7 };
	struct kvstash_put *e;

	for (size_t t = 0; t < ARRAY_SIZE(sizes); t++) {
		struct kvstash *c = fake_open();
		size_t n = sizes[t], done = 99;

		e = zeros(n ? n : 1, sizeof(*e));
		CHECK_EQ(kvstash_put_all(c, e, n, &done), 0);
		CHECK_EQ(done, n);
		CHECK_EQ(fake.calls, (n + MAX - 1) / MAX);
		if (fake.calls)
			CHECK_EQ(fake.count[fake.calls],
				 n - (fake.calls - 1) * MAX);
		in_order(e, n);
		free(e);
		kvstash_close(c);
	}
}

static void test_signals(void)
{
	struct kvstash *c = fake_open();
	struct kvstash_put *e;
	size_t n = MAX + 10, done;

	e = zeros(n, sizeof(*e));
	fake.signal = 30000;
	fake.eintr = 2;
	CHECK_EQ(kvstash_put_all(c, e, n, &done), 0);
	CHECK_EQ(done, n);
	/* 30000, none, 30000, then the rest */
	CHECK_EQ(fake.calls, 4);
	CHECK_EQ(fake.count[1], MAX);
	CHECK_EQ(fake.count[2], n - 30000);
	CHECK_EQ(fake.count[4], n - 60000);
	in_order(e, n);
	free(e);
	kvstash_close(c);
}

static void test_failed_call(void)
{
	struct kvstash *c = fake_open();
	unsigned int reason, field;
	struct kvstash_put *e;
	size_t done;

	e = zeros(2 * MAX, sizeof(*e));
	fake.bad = 2;
	fake.err = EFAULT;
	fake.reason = KVSTASH_R_ALIGN;
	fake.field = 8;
	/* what was carried out before the fault counts */
	fake.partly = 34;
	CHECK_EQ(kvstash_put_all(c, e, 2 * MAX, &done), -EFAULT);
	CHECK_EQ(done, MAX + 34);
	kvstash_last_refusal(c, &reason, &field);
	CHECK_EQ(reason, KVSTASH_R_ALIGN);
	CHECK_EQ(field, 8);
	in_order(e, MAX + 34);
	free(e);
	kvstash_close(c);
}

/* The other commands differ in nothing but command and stride. */
static void test_others(void)
{
	struct kvstash *c = fake_open();
	struct kvstash_write *w = zeros(MAX + 1, sizeof(*w));
	struct kvstash_end *n = zeros(MAX + 1, sizeof(*n));
	struct kvstash_get *g = zeros(MAX + 1, sizeof(*g));
	struct kvstash_put *p = zeros(MAX + 1, sizeof(*p));

	CHECK_EQ(kvstash_write(c, w, 3), 3);
	CHECK_EQ(kvstash_commit(c, n, 3), 3);
	CHECK_EQ(kvstash_abort(c, n, 3), 3);
	CHECK_EQ(kvstash_get(c, g, 3), 3);
	CHECK_EQ(kvstash_reserve_all(c, p, MAX + 1, NULL), 0);
	fake.carried = 0;
	CHECK_EQ(kvstash_write_all(c, w, MAX + 1, NULL), 0);
	CHECK_EQ(w[MAX].r.detail, MAX + 1);
	CHECK_EQ(kvstash_commit_all(c, n, MAX + 1, NULL), 0);
	CHECK_EQ(n[MAX].r.detail, 2 * (MAX + 1));
	CHECK_EQ(kvstash_abort_all(c, n, MAX + 1, NULL), 0);
	CHECK_EQ(n[MAX].r.detail, 3 * (MAX + 1));
	CHECK_EQ(kvstash_get_all(c, g, MAX + 1, NULL), 0);
	CHECK_EQ(g[MAX].r.detail, 4 * (MAX + 1));
	free(w);
	free(n);
	free(g);
	free(p);
	kvstash_close(c);
}

static void results_are(const struct kvstash_exists *res, const char *tags,
			size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		__u32 tag = (__u32)i;

		if (tags)
			memcpy(&tag, tags + i * KVSTASH_TAG_MAX, sizeof(tag));
		if (res[i].object_size != i || tag != i ||
		    res[i].r.res != (i < fake.visible ? 0 : -ENOENT))
			break;
	}
	CHECK_EQ(i, n);
}

static void test_exists(int var)
{
	struct kvstash *c = fake_open();
	size_t n = MAX + 77, done;
	__u16 *lens = zeros(n, sizeof(*lens));
	struct kvstash_exists *res = zeros(n, sizeof(*res));
	char *tags = zeros(n, KVSTASH_TAG_MAX);
	char *keys = number_keys(n, var ? lens : NULL);
	struct kvstash_keys k, before;

	if (var)
		kvstash_prep_keys_var(&k, keys, lens, n);
	else
		kvstash_prep_keys(&k, keys, 8, n);
	kvstash_prep_keys_tags(&k, tags);
	before = k;
	fake.visible = MAX + 3;
	fake.signal = 50000;
	fake.eintr = 1;
	CHECK_EQ(kvstash_exists_all(c, &k, res, &done), 0);
	CHECK_EQ(done, n);
	CHECK_EQ(fake.calls, 3);
	results_are(res, tags, n);
	before.done = k.done;
	CHECK_EQ(k.done, n);
	CHECK(!memcmp(&k, &before, sizeof(k)));

	memset(res, 0, n * sizeof(*res));
	k.tags = 0;
	fake.signal = 0;
	CHECK_EQ(kvstash_remove_all(c, &k, res, NULL), 0);
	results_are(res, NULL, n);

	fake.bad = fake.calls + 2;
	fake.err = EFAULT;
	fake.reason = KVSTASH_R_KEY_FAULT;
	CHECK_EQ(kvstash_remove_all(c, &k, res, &done), -EFAULT);
	CHECK_EQ(done, MAX);
	CHECK_EQ(k.done, MAX);
	CHECK_EQ(k.reason, KVSTASH_R_KEY_FAULT);
	free(lens);
	free(res);
	free(tags);
	free(keys);
	kvstash_close(c);
}

static void lookup_gives(struct kvstash *c, struct kvstash_keys *k, size_t run,
			 unsigned int reason, unsigned int calls)
{
	struct kvstash_keys before = *k;
	size_t done;

	fake.calls = 0;
	CHECK_EQ(kvstash_lookup_all(c, k, &done), 0);
	CHECK_EQ(done, run);
	CHECK_EQ(k->run, run);
	CHECK_EQ(k->bytes, run * FAKE_OBJECT);
	CHECK_EQ(k->reason, reason);
	CHECK_EQ(fake.calls, calls);
	CHECK_EQ(k->keys, before.keys);
	CHECK_EQ(k->lens, before.lens);
	CHECK_EQ(k->count, before.count);
}

static void test_lookup(int var)
{
	struct kvstash *c = fake_open();
	size_t n = 2 * MAX + 5;
	__u16 *lens = zeros(n, sizeof(*lens));
	char *keys = number_keys(n, var ? lens : NULL);
	struct kvstash_keys k;

	if (var)
		kvstash_prep_keys_var(&k, keys, lens, n);
	else
		kvstash_prep_keys(&k, keys, 8, n);
	fake.visible = n;
	lookup_gives(c, &k, n, KVSTASH_R_OK, 3);
	fake.visible = MAX + 9;
	lookup_gives(c, &k, MAX + 9, KVSTASH_R_MISS, 2);
	fake.visible = MAX;
	lookup_gives(c, &k, MAX, KVSTASH_R_MISS, 2);
	fake.visible = 0;
	lookup_gives(c, &k, 0, KVSTASH_R_MISS, 1);
	/* a signal is no gap */
	fake.visible = MAX + 9;
	fake.signal = 40000;
	lookup_gives(c, &k, MAX + 9, KVSTASH_R_MISS, 2);
	fake.visible = 9;
	k.count = 9;
	fake.signal = 0;
	CHECK_EQ(kvstash_lookup(c, &k), 9);
	CHECK_EQ(k.bytes, 9 * FAKE_OBJECT);
	k.count = 10;
	CHECK_EQ(kvstash_lookup(c, &k), 9);
	CHECK_EQ(k.reason, KVSTASH_R_MISS);
	k.count = 0;
	lookup_gives(c, &k, 0, KVSTASH_R_OK, 0);
	free(lens);
	free(keys);
	kvstash_close(c);
}

void test_batch(void)
{
	test_single();
	test_split();
	test_signals();
	test_failed_call();
	test_others();
	test_exists(0);
	test_exists(1);
	test_lookup(0);
	test_lookup(1);
}
