// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Keys of states: their bytes, what is no key, builders
 */
#include <errno.h>

#include "check.h"

#define HEAD 48

static const unsigned char fingerprint[KVSTASH_DIGEST_LEN] = "fingerprint of 32 bytes........";

/* All numbers of the key lie low byte first, whatever the machine's order is. */
static void test_bytes(void)
{
	static const unsigned char tail[] = {
		0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0,
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 'p', 'r', 'e'
	};
	unsigned char key[64], before[64];

	memset(key, 0xa5, sizeof(key));
	memcpy(before, key, sizeof(key));
	CHECK_EQ(kvstash_state_key(key, sizeof(key), fingerprint, 0x11223344,
				   0x1122334455667788, "pre", 3), HEAD + 3);
	CHECK(!memcmp(key, fingerprint, 32));
	CHECK(!memcmp(key + 32, tail, sizeof(tail)));
	CHECK(!memcmp(key + HEAD + 3, before, sizeof(key) - HEAD - 3));
}

static void test_limits(void)
{
	unsigned char key[KVSTASH_KEY_MAX + 1], before[KVSTASH_KEY_MAX + 1];
	unsigned char prefix[KVSTASH_PREFIX_MAX + 1];

	memset(prefix, 'p', sizeof(prefix));
	memset(key, 0xa5, sizeof(key));
	memcpy(before, key, sizeof(key));
	CHECK_EQ(kvstash_state_key(key, sizeof(key), fingerprint, 1, 0, prefix,
				   32), -EINVAL);
	CHECK_EQ(kvstash_state_key(key, sizeof(key), fingerprint, 1, 1, prefix,
				   0), -EINVAL);
	CHECK_EQ(kvstash_state_key(key, sizeof(key), fingerprint, 1, 1, prefix,
				   KVSTASH_PREFIX_MAX + 1), -EINVAL);
	CHECK_EQ(kvstash_state_key(key, sizeof(key), fingerprint, 1, 1, prefix,
				   SIZE_MAX), -EINVAL);
	CHECK_EQ(kvstash_state_key(key, KVSTASH_KEY_MAX - 1, fingerprint, 1, 1,
				   prefix, KVSTASH_PREFIX_MAX), -ENOSPC);
	CHECK_EQ(kvstash_state_key(NULL, 0, fingerprint, 1, 1, prefix, 1),
		 -ENOSPC);
	CHECK(!memcmp(key, before, sizeof(key)));
	CHECK_EQ(kvstash_state_key(key, KVSTASH_KEY_MAX, fingerprint, 1,
				   UINT64_MAX, prefix, KVSTASH_PREFIX_MAX),
		 KVSTASH_KEY_MAX);
	CHECK_EQ(key[KVSTASH_KEY_MAX - 1], 'p');
	CHECK_EQ(key[KVSTASH_KEY_MAX], 0xa5);
	/* an odd address will do, and exactly the room that it takes */
	CHECK_EQ(kvstash_state_key(key + 1, HEAD + 1, fingerprint, UINT32_MAX,
				   1, prefix, 1), HEAD + 1);
}

static void test_builders(void)
{
	struct kvstash_candidate s, want;
	struct kvstash_put p;
	struct kvstash_get g;
	struct kvstash_keys k;

	kvstash_prep_put(&p, "key", 3, "data", 4);
	kvstash_prep_put_state(&p);
	CHECK_EQ(p.kind, KVSTASH_KIND_STATE);
	CHECK_EQ(p.parts, 1);
	CHECK_EQ(p.part_len, 4);
	kvstash_prep_get(&g, "key", 3, &p, 4);
	kvstash_prep_get_state(&g);
	CHECK_EQ(g.kind, KVSTASH_KIND_STATE);
	/* the kind is no part of what a lease is on */
	kvstash_prep_get_by_lease(&g, &p.handle);
	CHECK_EQ(g.kind, 0);
	kvstash_prep_keys(&k, "key", 3, 1);
	kvstash_prep_keys_state(&k);
	CHECK_EQ(k.kind, KVSTASH_KIND_STATE);

	memset(&s, 0xa5, sizeof(s));
	memset(&want, 0, sizeof(want));
	want.key = (uintptr_t)fingerprint;
	want.key_len = 7;
	kvstash_prep_candidate(&s, fingerprint, 7);
	CHECK(!memcmp(&s, &want, sizeof(s)));
	kvstash_prep_candidate(&s, fingerprint, 65536 + 7);
	CHECK_EQ(s.key_len, 65535);
	kvstash_prep_keys_candidates(&k, &s, (1ULL << 32) + 1);
	CHECK_EQ(k.candidates, (uintptr_t)&s);
	CHECK_EQ(k.nr_candidates, UINT32_MAX);
	CHECK_EQ(k.candidate_stride, sizeof(s));
	kvstash_prep_keys_candidates(&k, NULL, 0);
	CHECK_EQ(k.candidate_stride, 0);
}

void test_state(void)
{
	test_bytes();
	test_limits();
	test_builders();
}
