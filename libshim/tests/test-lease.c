// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Leases and pins: handles of batches of any length, what a failure gives back
 */
#include <errno.h>
#include <stdlib.h>

#include "check.h"

#define MAX KVSTASH_BATCH_MAX

static const struct kvstash_handle none;

/* The first @n have the leases given out in order, the others none. */
static void leases_are(const struct kvstash_handle *h, size_t n, size_t all)
{
	size_t i;

	for (i = 0; i < n && h[i].client == FAKE_CLIENT && h[i].seq == i + 1;
	     i++)
		;
	CHECK_EQ(i, n);
	for (; i < all && !memcmp(&h[i], &none, sizeof(none)); i++)
		;
	CHECK_EQ(i, all);
}

static void test_release(void)
{
	struct kvstash *c = fake_open();
	struct kvstash_end *e = zeros(MAX + 3, sizeof(*e));
	struct kvstash_handle h = { .client = FAKE_CLIENT };
	size_t done;

	for (size_t i = 0; i < MAX + 3; i++) {
		h.seq = i;
		kvstash_prep_end(&e[i], &h);
	}
	CHECK_EQ(kvstash_release(c, e, 3), 3);
	CHECK_EQ(fake.released, 3);
	CHECK_EQ(kvstash_release_all(c, e, MAX + 3, &done), 0);
	CHECK_EQ(done, MAX + 3);
	CHECK_EQ(fake.released, MAX + 6);
	CHECK_EQ(e[MAX + 2].r.detail, MAX + 6);
	fake.signal = 2;
	CHECK_EQ(kvstash_release(c, e, 3), 2);
	CHECK_EQ(e[2].r.reason, KVSTASH_R_INTERRUPTED);
	free(e);
	kvstash_close(c);
}

static void test_exists(int var)
{
	struct kvstash *c = fake_open();
	size_t n = MAX + 77, done;
	struct kvstash_exists *res = zeros(n, sizeof(*res));
	struct kvstash_handle *h = zeros(n, sizeof(*h));
	__u16 *lens = zeros(n, sizeof(*lens));
	char *keys = number_keys(n, var ? lens : NULL);
	struct kvstash_keys k;

	if (var)
		kvstash_prep_keys_var(&k, keys, lens, n);
	else
		kvstash_prep_keys(&k, keys, 8, n);
	kvstash_prep_keys_lease(&k, h);
	fake.visible = MAX + 3;
	fake.signal = 50000;
	fake.eintr = 2;
	CHECK_EQ(kvstash_exists_all(c, &k, res, &done), 0);
	CHECK_EQ(done, n);
	leases_are(h, MAX + 3, n);
	CHECK_EQ(k.leases, (uintptr_t)h);
	CHECK_EQ(k.flags, KVSTASH_KEYS_LEASE);

	/* what the call that failed had carried out counts, with its leases */
	fake.signal = 0;
	fake.eintr = 0;
	fake.bad = fake.calls + 2;
	fake.err = EFAULT;
	fake.partly = 5;
	CHECK_EQ(kvstash_exists_all(c, &k, res, &done), -EFAULT);
	CHECK_EQ(done, MAX + 5);
	CHECK_EQ(k.done, MAX + 5);
	CHECK_EQ(fake.released, 0);
	free(lens);
	free(keys);
	free(res);
	free(h);
	kvstash_close(c);
}

static void test_lookup(void)
{
	struct kvstash *c = fake_open();
	size_t n = 2 * MAX + 77, done;
	struct kvstash_handle *h = zeros(n, sizeof(*h));
	char *keys = number_keys(n, NULL);
	unsigned int reason, field;
	struct kvstash_keys k;

	kvstash_prep_keys(&k, keys, 8, n);
	kvstash_prep_keys_lease(&k, h);
	fake.visible = MAX + 3;
	fake.signal = 40000;
	CHECK_EQ(kvstash_lookup_all(c, &k, &done), 0);
	CHECK_EQ(done, MAX + 3);
	leases_are(h, MAX + 3, MAX + 3);

	/* all or none: what the calls before the refused one leased goes back */
	fake.signal = 0;
	fake.visible = n;
	fake.leased = 0;
	fake.bad = fake.calls + 3;
	fake.err = EDQUOT;
	fake.reason = KVSTASH_R_LEASE_BUDGET;
	fake.field = 80;
	memset(h, 0, n * sizeof(*h));
	CHECK_EQ(kvstash_lookup_all(c, &k, &done), -EDQUOT);
	CHECK_EQ(fake.leased, 2 * MAX);
	CHECK_EQ(fake.released, 2 * MAX);
	leases_are(h, 0, n);
	CHECK_EQ(k.reason, KVSTASH_R_LEASE_BUDGET);
	kvstash_last_refusal(c, &reason, &field);
	CHECK_EQ(reason, KVSTASH_R_LEASE_BUDGET);
	CHECK_EQ(field, 80);

	/* a single call that is refused has nothing to give back */
	fake.bad = fake.calls + 1;
	CHECK_EQ(kvstash_lookup(c, &k), -EINVAL);
	k.count = 9;
	fake.bad = fake.calls + 1;
	CHECK_EQ(kvstash_lookup(c, &k), -EDQUOT);
	CHECK_EQ(fake.released, 2 * MAX);
	CHECK_EQ(kvstash_lookup(c, &k), 9);
	free(keys);
	free(h);
	kvstash_close(c);
}

static void test_pin(void)
{
	struct kvstash *c = fake_open();
	size_t n = MAX + 7, done;
	struct kvstash_exists *res = zeros(n, sizeof(*res));
	char *keys = number_keys(n, NULL);
	char *tags = zeros(n, KVSTASH_TAG_MAX);
	struct kvstash_keys k;

	kvstash_prep_keys(&k, keys, 8, n);
	kvstash_prep_keys_pin(&k, KVSTASH_PIN_HARD);
	kvstash_prep_keys_tags(&k, tags);
	fake.visible = MAX + 3;
	CHECK_EQ(kvstash_pin_all(c, &k, res, &done), 0);
	CHECK_EQ(done, n);
	CHECK_EQ(fake.pin, KVSTASH_PIN_HARD);
	CHECK_EQ(k.pin, KVSTASH_PIN_HARD);
	CHECK_EQ(res[MAX + 2].r.res, 0);
	CHECK_EQ(res[MAX + 3].r.res, -ENOENT);
	kvstash_prep_keys_pin(&k, KVSTASH_PIN_NONE);
	k.count = 3;
	CHECK_EQ(kvstash_pin(c, &k, res), 3);
	CHECK_EQ(fake.pin, KVSTASH_PIN_NONE);
	/* the same keys for another command: the pin is no part of that */
	kvstash_prep_keys_pin(&k, KVSTASH_PIN_SOFT);
	CHECK_EQ(kvstash_exists(c, &k, res), 3);
	kvstash_prep_keys_pin(&k, KVSTASH_PIN_SOFT);
	CHECK_EQ(kvstash_remove(c, &k, res), 3);
	kvstash_prep_keys_pin(&k, KVSTASH_PIN_SOFT);
	CHECK_EQ(kvstash_lookup(c, &k), 3);
	free(keys);
	free(tags);
	free(res);
	kvstash_close(c);
}

void test_lease(void)
{
	test_release();
	test_exists(0);
	test_exists(1);
	test_lookup();
	test_pin();
}
