// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * What a program calls that was compiled with the structures of version 0.1:
 * nothing behind their ends is read or written
 */
#include <errno.h>
#include <stdlib.h>

#include "check.h"

#define PUT	104
#define GET	72
#define EXISTS	64
#define KEYS	80

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

static void results_are(const char *res, size_t n)
{
	struct kvstash_result r;
	size_t i;

	for (i = 0; i < n; i++) {
		memcpy(&r, res + i * EXISTS, sizeof(r));
		if (r.res != (i < fake.visible ? 0 : -ENOENT))
			break;
	}
	CHECK_EQ(i, n);
}

static void test_keys(void)
{
	struct kvstash *c = fake_open();
	size_t n = KVSTASH_BATCH_MAX + 3, done;
	char *keys = number_keys(n, NULL);
	char *res = zeros(n, EXISTS);
	char *k = zeros(1, KEYS);
	struct kvstash_keys now;

	kvstash_prep_keys(&now, keys, 8, 7);
	memcpy(k, &now, KEYS);
	fake.old = 1;
	fake.visible = 5;
	CHECK_EQ(kvstash_exists_0_1(c, k, res), 7);
	CHECK_EQ(keys_size(k), KEYS);
	results_are(res, 7);
	CHECK_EQ(kvstash_remove_0_1(c, k, res), 7);
	CHECK_EQ(kvstash_lookup_0_1(c, k), 5);
	memset(&now, 0, sizeof(now));
	memcpy(&now, k, KEYS);
	CHECK_EQ(now.run, 5);
	CHECK_EQ(now.bytes, 5 * FAKE_OBJECT);
	CHECK_EQ(now.reason, KVSTASH_R_MISS);

	kvstash_prep_keys(&now, keys, 8, n);
	memcpy(k, &now, KEYS);
	fake.visible = KVSTASH_BATCH_MAX + 1;
	CHECK_EQ(kvstash_exists_all_0_1(c, k, res, &done), 0);
	CHECK_EQ(done, n);
	results_are(res, n);
	CHECK_EQ(kvstash_remove_all_0_1(c, k, res, &done), 0);
	CHECK_EQ(done, n);
	CHECK_EQ(kvstash_lookup_all_0_1(c, k, &done), 0);
	CHECK_EQ(done, KVSTASH_BATCH_MAX + 1);
	CHECK_EQ(keys_size(k), KEYS);
	free(keys);
	free(res);
	free(k);
	kvstash_close(c);
}

void test_compat(void)
{
	test_batches();
	test_keys();
}
