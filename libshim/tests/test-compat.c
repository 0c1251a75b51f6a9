// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * What a program calls that was compiled with the structures of an earlier version:
 * nothing behind their ends is read or written
 */
#include <errno.h>
#include <stdlib.h>

#include "check.h"

#define PUT	104
#define GET	72

/* Entry @i of @size bytes was the (@i + 1)th to be carried out. */
static void in_order(const char *e, size_t size, size_t n)
{
	struct kvstash_result r;
	size_t i;

	for (i = 0; i < n; i++) {
		memcpy(&r, e + i * size, sizeof(r));
		if (r.res || r.detail != i + 1)
			break;
	}
	CHECK_EQ(i, n);
}

static void test_batches(void)
{
	struct kvstash *c = fake_open();
	size_t n = KVSTASH_BATCH_MAX + 3, done;
	char *e = zeros(n, PUT);

	fake.old = 1;
	CHECK_EQ(kvstash_put_0_1(c, e, 5), 5);
	in_order(e, PUT, 5);
	fake.carried = 0;
	CHECK_EQ(kvstash_reserve_0_1(c, e, 5), 5);
	in_order(e, PUT, 5);
	fake.carried = 0;
	CHECK_EQ(kvstash_get_0_1(c, e, 5), 5);
	in_order(e, GET, 5);
	fake.carried = 0;
	CHECK_EQ(kvstash_put_all_0_1(c, e, n, &done), 0);
	CHECK_EQ(done, n);
	in_order(e, PUT, n);
	fake.carried = 0;
	CHECK_EQ(kvstash_reserve_all_0_1(c, e, n, NULL), 0);
	in_order(e, PUT, n);
	fake.carried = 0;
	CHECK_EQ(kvstash_get_all_0_1(c, e, n, NULL), 0);
	in_order(e, GET, n);
	free(e);
	kvstash_close(c);
}

static __u32 keys_size(const void *k)
{
	__u32 size;

	memcpy(&size, k, sizeof(size));
	return size;
}

/* A version: its sizes, its functions; those on results for one call and all */
struct version {
	size_t keys;
	size_t exists;

	int (*call[3])(struct kvstash *c, void *k, void *res);
	int (*all[3])(struct kvstash *c, void *k, void *res, size_t *done);
	int (*lookup)(struct kvstash *c, void *k);
	int (*lookup_all)(struct kvstash *c, void *k, size_t *done);
};

static const struct version versions[] = {
	{
		80, 64,
		{ kvstash_exists_0_1, kvstash_remove_0_1 },
		{ kvstash_exists_all_0_1, kvstash_remove_all_0_1 },
		kvstash_lookup_0_1, kvstash_lookup_all_0_1
	}, {
		88, 72,
		{ kvstash_exists_0_2, kvstash_remove_0_2, kvstash_pin_0_2 },
		{ kvstash_exists_all_0_2, kvstash_remove_all_0_2,
		  kvstash_pin_all_0_2 },
		kvstash_lookup_0_2, kvstash_lookup_all_0_2
	}
};

static void results_are(const char *res, size_t n, size_t size)
{
	struct kvstash_result r;
	size_t i;

	for (i = 0; i < n; i++) {
		memcpy(&r, res + i * size, sizeof(r));
		if (r.res != (i < fake.visible ? 0 : -ENOENT))
			break;
	}
	CHECK_EQ(i, n);
}

/* @k is of just the version's size, so that the sanitizer sees its end. */
static void keys_of(void *k, const struct version *v, const char *keys, size_t n)
{
	struct kvstash_keys now;

	kvstash_prep_keys(&now, keys, 8, n);
	memcpy(k, &now, v->keys);
}

static void run_is(const void *k, const struct version *v, unsigned int run)
{
	struct kvstash_keys now;

	memset(&now, 0, sizeof(now));
	memcpy(&now, k, v->keys);
	CHECK_EQ(now.size, v->keys);
	CHECK_EQ(now.run, run);
	CHECK_EQ(now.bytes, run * FAKE_OBJECT);
	CHECK_EQ(now.reason, KVSTASH_R_MISS);
}

static void test_one_call(struct kvstash *c, const struct version *v, void *k,
			  char *res)
{
	fake.visible = 5;
	for (size_t i = 0; i < ARRAY_SIZE(v->call) && v->call[i]; i++) {
		memset(res, 0xa5, 7 * v->exists);
		CHECK_EQ(v->call[i](c, k, res), 7);
		CHECK_EQ(keys_size(k), v->keys);
		results_are(res, 7, v->exists);
	}
	CHECK_EQ(v->lookup(c, k), 5);
	run_is(k, v, 5);
}

static void test_any_count(struct kvstash *c, const struct version *v, void *k,
			   char *res, size_t n)
{
	size_t done;

	fake.visible = KVSTASH_BATCH_MAX + 1;
	for (size_t i = 0; i < ARRAY_SIZE(v->all) && v->all[i]; i++) {
		memset(res, 0xa5, n * v->exists);
		CHECK_EQ(v->all[i](c, k, res, &done), 0);
		CHECK_EQ(done, n);
		CHECK_EQ(keys_size(k), v->keys);
		results_are(res, n, v->exists);
	}
	CHECK_EQ(v->lookup_all(c, k, &done), 0);
	CHECK_EQ(done, KVSTASH_BATCH_MAX + 1);
	run_is(k, v, KVSTASH_BATCH_MAX + 1);
}

static void test_keys(const struct version *v)
{
	struct kvstash *c = fake_open();
	size_t n = KVSTASH_BATCH_MAX + 3;
	char *keys = number_keys(n, NULL);
	char *res = zeros(n, v->exists);
	char *k = zeros(1, v->keys);

	fake.old = v->exists == 64;
	keys_of(k, v, keys, 7);
	test_one_call(c, v, k, res);
	keys_of(k, v, keys, n);
	test_any_count(c, v, k, res, n);
	free(keys);
	free(res);
	free(k);
	kvstash_close(c);
}

/* Leases are of version 0.2: handles go where that says. */
static void test_leases(void)
{
	const struct version *v = &versions[1];
	struct kvstash *c = fake_open();
	char *keys = number_keys(7, NULL);
	struct kvstash_handle h[7];
	char *k = zeros(1, v->keys);
	struct kvstash_keys now;
	size_t done;

	kvstash_prep_keys(&now, keys, 8, 7);
	kvstash_prep_keys_lease(&now, h);
	memcpy(k, &now, v->keys);
	memset(h, 0, sizeof(h));
	fake.visible = 5;
	CHECK_EQ(v->lookup_all(c, k, &done), 0);
	CHECK_EQ(done, 5);
	CHECK_EQ(h[4].client, FAKE_CLIENT);
	CHECK_EQ(h[4].seq, 5);
	CHECK_EQ(h[5].client, 0);
	free(keys);
	free(k);
	kvstash_close(c);
}

void test_compat(void)
{
	test_batches();
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		test_keys(&versions[i]);
	test_leases();
}
