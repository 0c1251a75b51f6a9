// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Builders: each sets all members, and cuts no number to a valid one
 */
#include "check.h"

#define DIRTY(e) memset(&(e), 0xa5, sizeof(e))

static const char key[] = "0123456789abcdef";
static char data[64];

static void test_put(void)
{
	struct kvstash_put e, want;

	DIRTY(e);
	memset(&want, 0, sizeof(want));
	want.key = (uintptr_t)key;
	want.key_len = 16;
	want.buf = (uintptr_t)data;
	want.part_len = 64;
	want.parts = 1;
	kvstash_prep_put(&e, key, 16, data, 64);
	CHECK(!memcmp(&e, &want, sizeof(e)));

	want.parent = (uintptr_t)(key + 1);
	want.parent_len = 15;
	kvstash_prep_put_parent(&e, key + 1, 15);
	want.part = 3;
	want.parts = 1024;
	kvstash_prep_put_part(&e, 3, 1024);
	want.manifest = (uintptr_t)(data + 8);
	kvstash_prep_put_manifest(&e, data + 8);
	want.tag = (uintptr_t)(data + 1);
	want.tag_len = 256;
	kvstash_prep_put_tag(&e, data + 1, 256);
	CHECK(!memcmp(&e, &want, sizeof(e)));

	DIRTY(e);
	memset(&want, 0, sizeof(want));
	want.key = (uintptr_t)key;
	want.key_len = 16;
	want.part_len = 1ULL << 36;
	want.parts = 1;
	kvstash_prep_reserve(&e, key, 16, 1ULL << 36);
	CHECK(!memcmp(&e, &want, sizeof(e)));
}

/* A length that wraps to a valid one in 16 bits must stay invalid. */
static void test_caps(void)
{
	struct kvstash_keys k;
	struct kvstash_put p;
	struct kvstash_get g;

	kvstash_prep_put(&p, key, 65536 + 16, data, 64);
	CHECK_EQ(p.key_len, 65535);
	kvstash_prep_put_parent(&p, key, 65536 + 16);
	CHECK_EQ(p.parent_len, 65535);
	kvstash_prep_put_tag(&p, key, 65536);
	CHECK_EQ(p.tag_len, 65535);
	kvstash_prep_put_part(&p, 65536, 65537);
	CHECK_EQ(p.part, 65535);
	CHECK_EQ(p.parts, 65535);
	kvstash_prep_get(&g, key, SIZE_MAX, data, 64);
	CHECK_EQ(g.key_len, 65535);
	kvstash_prep_get_segs(&g, key, 16, NULL, (1ULL << 32) + 1);
	CHECK_EQ(g.nr, UINT32_MAX);
	kvstash_prep_keys(&k, key, 65536 + 8, (1ULL << 32) + 1);
	CHECK_EQ(k.key_len, 65535);
	CHECK_EQ(k.count, UINT32_MAX);
}

static void test_group(void)
{
	struct kvstash_put e, want;

	DIRTY(e);
	memset(&want, 0, sizeof(want));
	want.key = (uintptr_t)key;
	want.key_len = 16;
	want.buf = (uintptr_t)data;
	want.part_len = 64;
	want.parts = 1;
	want.group = (uintptr_t)(key + 2);
	want.group_len = 14;
	want.member = 65534;
	want.members = 65535;
	want.flags = KVSTASH_PUT_ROOT_IF_NO_PARENT | KVSTASH_PUT_ATOMIC |
		     KVSTASH_PUT_NO_LINGER;
	want.parent = (uintptr_t)(key + 3);
	want.parent_len = 13;
	want.parent_kind = KVSTASH_KIND_GROUP;
	want.ttl_ms = UINT32_MAX;
	kvstash_prep_put(&e, key, 16, data, 64);
	e.flags = KVSTASH_PUT_ROOT_IF_NO_PARENT;
	kvstash_prep_put_group(&e, key + 2, 14, 65534, 65535,
			       KVSTASH_PUT_ATOMIC | KVSTASH_PUT_NO_LINGER);
	kvstash_prep_put_parent_group(&e, key + 3, 13);
	kvstash_prep_put_ttl(&e, UINT32_MAX);
	CHECK(!memcmp(&e, &want, sizeof(e)));

	/* a parent of the other kind, said afterwards */
	want.parent_kind = KVSTASH_KIND_PAGE;
	kvstash_prep_put_parent(&e, key + 3, 13);
	CHECK(!memcmp(&e, &want, sizeof(e)));

	/* 65536 + 4 members would be 4, and index 65536 + 3 one of them */
	kvstash_prep_put_group(&e, key, 65536 + 16, 65536 + 3, 65536 + 4, 0);
	CHECK_EQ(e.group_len, 65535);
	CHECK_EQ(e.member, 65535);
	CHECK_EQ(e.members, 0);
	kvstash_prep_put_ttl(&e, (1ULL << 32) + 5);
	CHECK_EQ(e.ttl_ms, UINT32_MAX);
	kvstash_prep_put_ttl(&e, 0);
	CHECK_EQ(e.ttl_ms, 0);
}

static void test_segs(void)
{
	struct kvstash_handle h = { .client = 7, .seq = 9 };
	struct kvstash_seg segs[3];
	struct kvstash_write w;
	struct kvstash_put p;

	kvstash_prep_seg(&segs[0], data, 10);
	kvstash_prep_seg(&segs[1], data + 10, 20);
	kvstash_prep_seg(&segs[2], data + 30, 1);
	CHECK_EQ(segs[1].addr, (uintptr_t)data + 10);
	CHECK_EQ(segs[1].len, 20);
	CHECK_EQ(kvstash_segs_len(segs, 3), 31);
	CHECK_EQ(kvstash_segs_len(NULL, 0), 0);

	kvstash_prep_put(&p, key, 16, NULL, 0);
	kvstash_prep_put_segs(&p, segs, 3);
	CHECK_EQ(p.buf, (uintptr_t)segs);
	CHECK_EQ(p.nr_segs, 3);
	CHECK_EQ(p.part_len, 31);

	kvstash_prep_write(&w, &h, 5, NULL, 0);
	kvstash_prep_write_segs(&w, segs, 2);
	CHECK_EQ(w.buf, (uintptr_t)segs);
	CHECK_EQ(w.nr_segs, 2);
	CHECK_EQ(w.len, 30);
	CHECK_EQ(w.offset, 5);

	segs[0].len = UINT64_MAX;
	CHECK(kvstash_segs_len(segs, 2) == UINT64_MAX);
	CHECK(kvstash_segs_len(segs, 1) == UINT64_MAX);
	/* 20 - 1 would be a valid length, were the overflow not seen */
	kvstash_prep_put_segs(&p, segs, 2);
	CHECK(p.part_len == UINT64_MAX);
}

static void test_handles(void)
{
	struct kvstash_handle h = { .client = 7, .seq = 9 };
	struct kvstash_write w, want_w;
	struct kvstash_end e, want_e;

	DIRTY(w);
	memset(&want_w, 0, sizeof(want_w));
	want_w.handle = h;
	want_w.offset = 1ULL << 35;
	want_w.len = 64;
	want_w.buf = (uintptr_t)data;
	kvstash_prep_write(&w, &h, 1ULL << 35, data, 64);
	CHECK(!memcmp(&w, &want_w, sizeof(w)));

	DIRTY(e);
	memset(&want_e, 0, sizeof(want_e));
	want_e.handle = h;
	kvstash_prep_end(&e, &h);
	CHECK(!memcmp(&e, &want_e, sizeof(e)));
}

static void test_get(void)
{
	struct kvstash_handle h = { .client = 7, .seq = 9 };
	struct kvstash_get e, want;
	struct kvstash_range r[2];
	struct kvstash_seg s[2];

	DIRTY(e);
	memset(&want, 0, sizeof(want));
	want.key = (uintptr_t)key;
	want.key_len = 4;
	want.buf = (uintptr_t)data;
	want.len = 64;
	kvstash_prep_get(&e, key, 4, data, 64);
	CHECK(!memcmp(&e, &want, sizeof(e)));

	want.len = 0;
	want.nr = 2;
	want.buf = (uintptr_t)s;
	kvstash_prep_get_segs(&e, key, 4, s, 2);
	CHECK(!memcmp(&e, &want, sizeof(e)));

	want.flags = KVSTASH_GET_RANGES;
	want.buf = (uintptr_t)r;
	kvstash_prep_get_ranges(&e, key, 4, r, 2);
	CHECK(!memcmp(&e, &want, sizeof(e)));

	kvstash_prep_get_lease(&e);
	want.flags |= KVSTASH_GET_LEASE;
	CHECK(!memcmp(&e, &want, sizeof(e)));

	/* all that says where the bytes go stays */
	kvstash_prep_get_ranges(&e, key, 4, r, 2);
	kvstash_prep_get_by_lease(&e, &h);
	want.flags = KVSTASH_GET_RANGES | KVSTASH_GET_BY_LEASE;
	want.key = 0;
	want.key_len = 0;
	want.lease = h;
	CHECK(!memcmp(&e, &want, sizeof(e)));

	DIRTY(r);
	kvstash_prep_range(&r[0], 5, 1ULL << 33, data, 32);
	CHECK_EQ(r[0].addr, (uintptr_t)data);
	CHECK_EQ(r[0].offset, 1ULL << 33);
	CHECK_EQ(r[0].len, 32);
	CHECK_EQ(r[0].part, 5);
	CHECK_EQ(r[0].reserved, 0);
	kvstash_prep_range(&r[0], 1ULL << 32, 0, data, 32);
	CHECK_EQ(r[0].part, UINT32_MAX);
}

static void test_keys(void)
{
	static const __u16 lens[] = { 1, 2, 3 };
	struct kvstash_keys k, want;
	struct kvstash_handle h[3];

	DIRTY(k);
	memset(&want, 0, sizeof(want));
	want.size = sizeof(want);
	want.keys = (uintptr_t)key;
	want.key_len = 8;
	want.count = 2;
	kvstash_prep_keys(&k, key, 8, 2);
	CHECK(!memcmp(&k, &want, sizeof(k)));

	want.key_len = 0;
	want.lens = (uintptr_t)lens;
	want.count = 3;
	want.tags = (uintptr_t)data;
	kvstash_prep_keys_var(&k, key, lens, 3);
	kvstash_prep_keys_tags(&k, data);
	CHECK(!memcmp(&k, &want, sizeof(k)));

	want.kind = KVSTASH_KIND_GROUP;
	want.flags = KVSTASH_KEYS_LEASE | KVSTASH_KEYS_MEMBER;
	want.leases = (uintptr_t)h;
	want.pin = KVSTASH_PIN_HARD;
	kvstash_prep_keys_group(&k);
	kvstash_prep_keys_lease(&k, h);
	kvstash_prep_keys_member(&k);
	kvstash_prep_keys_pin(&k, KVSTASH_PIN_HARD);
	CHECK(!memcmp(&k, &want, sizeof(k)));
	kvstash_prep_keys_pin(&k, 256 + KVSTASH_PIN_SOFT);
	CHECK_EQ(k.pin, 255);
}

void test_build(void)
{
	test_put();
	test_caps();
	test_group();
	test_segs();
	test_handles();
	test_get();
	test_keys();
}
