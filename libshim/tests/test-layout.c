// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Layouts: what each command asks for, and what it leaves of an earlier one
 */
#include <errno.h>

#include "check.h"

static const unsigned char print[KVSTASH_DIGEST_LEN] = "a fingerprint";
static struct kvstash_layer layers[3];

static struct kvstash_layout described(void)
{
	struct kvstash_layout l;

	memset(&l, 0xa5, sizeof(l));
	kvstash_prep_layout(&l, print, 3);
	kvstash_prep_layout_desc(&l, 128, 1415040, layers, 3);
	kvstash_prep_layout_tied(&l);
	kvstash_prep_layout_slots(&l, 8);
	return l;
}

static void test_builders(void)
{
	struct kvstash_layout l = described(), want;

	memset(&want, 0, sizeof(want));
	want.size = sizeof(want);
	memcpy(want.fingerprint, print, sizeof(print));
	want.scheme = 3;
	want.flags = KVSTASH_LAYOUT_TIED;
	want.alignment = 128;
	want.slot_bytes = 1415040;
	want.layers = (uintptr_t)layers;
	want.nr_layers = 3;
	want.slots = 8;
	CHECK(!memcmp(&l, &want, sizeof(l)));
	/* one or the other says how many */
	kvstash_prep_layout_share(&l, 250);
	want.slots = 0;
	want.pool_permille = 250;
	CHECK(!memcmp(&l, &want, sizeof(l)));
	kvstash_prep_layout_slots(&l, 0);
	CHECK_EQ(l.pool_permille, 0);
	kvstash_prep_layout_desc(&l, (1ULL << 32) + 128, 1, layers,
				 (1ULL << 32) + 3);
	CHECK_EQ(l.alignment, UINT32_MAX);
	CHECK_EQ(l.nr_layers, UINT32_MAX);
	kvstash_prep_layout_share(&l, (1ULL << 32) + 5);
	CHECK_EQ(l.pool_permille, UINT32_MAX);
}

/* What came to the fake; all else of it is 0. */
static void asked(const struct kvstash_layout *want)
{
	CHECK(!memcmp(&fake.layout, want, sizeof(*want)));
}

/* Filled to the last bit, as if other commands had left it. */
static void used(struct kvstash_layout *l)
{
	memset(l, 0xa5, sizeof(*l));
	memcpy(l->fingerprint, print, sizeof(print));
	l->scheme = 3;
	l->slots = 5;
	l->pool_permille = 7;
}

static void test_commands(void)
{
	struct kvstash *c = fake_open();
	struct kvstash_layout l, want;
	struct kvstash_layer got[2];

	used(&l);
	want = described();
	l.flags = want.flags;
	l.alignment = want.alignment;
	l.slot_bytes = want.slot_bytes;
	l.layers = want.layers;
	l.nr_layers = want.nr_layers;
	want.slots = 5;
	want.pool_permille = 7;
	CHECK_EQ(kvstash_layout_add(c, &l), 0);
	CHECK_EQ(fake.cmd, KVSTASH_IOC_LAYOUT_ADD);
	asked(&want);
	CHECK_EQ(l.id, 1);
	CHECK_EQ(l.slots, FAKE_SLOTS);

	used(&l);
	kvstash_prep_layout(&want, print, 3);
	want.slots = 5;
	want.pool_permille = 7;
	CHECK_EQ(kvstash_layout_set(c, &l), 0);
	CHECK_EQ(fake.cmd, KVSTASH_IOC_LAYOUT_SET);
	asked(&want);

	used(&l);
	kvstash_prep_layout(&want, print, 3);
	CHECK_EQ(kvstash_layout_del(c, &l), 0);
	CHECK_EQ(fake.cmd, KVSTASH_IOC_LAYOUT_DEL);
	asked(&want);

	used(&l);
	want.layers = (uintptr_t)got;
	want.nr_layers = 2;
	CHECK_EQ(kvstash_layout_get(c, &l, got, 2), 0);
	CHECK_EQ(fake.cmd, KVSTASH_IOC_LAYOUT_GET);
	asked(&want);
	CHECK_EQ(l.nr_layers, 3);

	used(&l);
	kvstash_prep_layout(&want, print, 3);
	CHECK_EQ(kvstash_layout_get(c, &l, NULL, 2), 0);
	asked(&want);
	used(&l);
	CHECK_EQ(kvstash_layout_get(c, &l, got, 0), 0);
	asked(&want);
	kvstash_close(c);
}

/* All of them, one by one; how many there are does not become the room. */
static void test_next(void)
{
	struct kvstash *c = fake_open();
	struct kvstash_layer got[2];
	struct kvstash_layout l, want;
	unsigned int reason, n = 0;

	memset(&l, 0, sizeof(l));
	while (!kvstash_layout_next(c, &l, got, 2)) {
		CHECK_EQ(fake.cmd, KVSTASH_IOC_LAYOUT_GET);
		memset(&want, 0, sizeof(want));
		want.size = sizeof(want);
		want.flags = KVSTASH_LAYOUT_NEXT;
		want.id = n++;
		want.layers = (uintptr_t)got;
		want.nr_layers = 2;
		asked(&want);
		CHECK_EQ(l.id, n);
		CHECK_EQ(l.nr_layers, 3);
		CHECK_EQ(l.fingerprint[0], n);
	}
	CHECK_EQ(n, FAKE_LAYOUTS);
	kvstash_last_refusal(c, &reason, NULL);
	CHECK_EQ(reason, KVSTASH_R_LAYOUT_UNKNOWN);
	CHECK_EQ(kvstash_layout_next(c, &l, NULL, 0), -ENOENT);
	kvstash_close(c);
}

static void test_refusals(void)
{
	struct kvstash *c = fake_open();
	struct kvstash_layout l = described();
	unsigned int reason, field;

	fake.bad = 1;
	fake.err = EDQUOT;
	fake.reason = KVSTASH_R_SLOT_QUOTA;
	fake.field = offsetof(struct kvstash_layout, slots);
	CHECK_EQ(kvstash_layout_add(c, &l), -EDQUOT);
	kvstash_last_refusal(c, &reason, &field);
	CHECK_EQ(reason, KVSTASH_R_SLOT_QUOTA);
	CHECK_EQ(field, offsetof(struct kvstash_layout, slots));
	CHECK_EQ(l.reason, KVSTASH_R_SLOT_QUOTA);
	CHECK_EQ(l.detail, FAKE_DETAIL);
	/* nothing but the refusal comes back, and what was asked for stays */
	CHECK_EQ(l.slots, 8);
	CHECK_EQ(l.nr_layers, 3);
	CHECK_EQ(kvstash_layout_add(c, &l), 0);
	kvstash_last_refusal(c, &reason, &field);
	CHECK_EQ(reason, KVSTASH_R_OK);
	CHECK_EQ(l.reason, KVSTASH_R_OK);

	/* a file that is gone leaves no figures of the call before */
	fake.fd = -2;
	CHECK_EQ(kvstash_layout_get(c, &l, NULL, 0), -ENOTTY);
	CHECK_EQ(l.hits, 0);
	CHECK_EQ(l.id, 0);
	CHECK_EQ(kvstash_layout_next(c, &l, NULL, 0), -ENOTTY);
	CHECK_EQ(kvstash_layout_set(c, &l), -ENOTTY);
	CHECK_EQ(kvstash_layout_del(c, &l), -ENOTTY);
	CHECK_EQ(kvstash_layout_add(c, &l), -ENOTTY);
	kvstash_last_refusal(c, &reason, &field);
	CHECK_EQ(reason, KVSTASH_R_OK);
	kvstash_close(c);
}

void test_layout(void)
{
	test_builders();
	test_commands();
	test_next();
	test_refusals();
}
