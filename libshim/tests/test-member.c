// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Keys of engines: each form is read whole, and nothing else is
 */
#include <errno.h>
#include <limits.h>

#include "check.h"

#define HASH "0123456789abcdefABCDEF0123456789abcdefabcdef0123456789abcdef0000"

static void is(const char *key, size_t hash_len, int layer, char side, int rank)
{
	struct kvstash_member m;

	memset(&m, 0xa5, sizeof(m));
	CHECK_EQ(kvstash_member_of(key, strlen(key), &m), 0);
	CHECK_EQ(m.hash_len, hash_len);
	CHECK_EQ(m.layer, layer);
	CHECK_EQ(m.side, side);
	CHECK_EQ(m.tp_rank, rank);
}

static void is_none_of(const void *key, size_t len)
{
	struct kvstash_member m, before;

	memset(&m, 0xa5, sizeof(m));
	before = m;
	CHECK_EQ(kvstash_member_of(key, len, &m), -EINVAL);
	CHECK(!memcmp(&m, &before, sizeof(m)));
}

static void test_forms(void)
{
	is("0", 1, -1, 0, -1);
	is(HASH, 64, -1, 0, -1);
	is("beef_0_k", 4, 0, 'k', -1);
	is("beef_0_v", 4, 0, 'v', -1);
	is(HASH "_61_k", 64, 61, 'k', -1);
	is(HASH "_61_v_tp_0", 64, 61, 'v', 0);
	is(HASH "_10_k_tp_15", 64, 10, 'k', 15);
	is("12_3_v_tp_4", 2, 3, 'v', 4);
	is("f_2147483647_k_tp_2147483647", 1, INT_MAX, 'k', INT_MAX);
}

static void test_others(void)
{
	static const char *const keys[] = {
		"", "_", "g", "beefy", "be ef", "0x12", "-1", "prompt/1",
		"_0_k", "beef_", "beef_0", "beef_0_", "beef_k", "beef__k",
		"beef_0_q", "beef_0_K", "beef_0_kv", "beef_0_k_", "beef_0k",
		"beef_00_k", "beef_01_k", "beef_+1_k", "beef_-1_k", "beef_ 1_k",
		"beef_a_k", "beef_2147483648_k", "beef_99999999999999999999_k",
		"beef_0_k_tp", "beef_0_k_tp_", "beef_0_k_tp_01",
		"beef_0_k_tp_-1", "beef_0_k_tp_x", "beef_0_k_tp_1x",
		"beef_0_k_tp_1_", "beef_0_k_tp_2147483648", "beef_0_k_TP_1",
		"beef_0_k_pp_1", "beef_0_1_k", "beef_0_k_tp_1_tp_2",
		"m_beef_0_k", " beef_0_k", "beef_0_k ", "beef_0_k\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		is_none_of(keys[i], strlen(keys[i]));
	/* bytes count, not what a NUL ends */
	is_none_of("beef_0_k", 9);
	is_none_of("beef", 5);
	is_none_of("\xbe\xef", 2);
}

/* Each shorter length of a key is a form of its own or none. */
static void test_lengths(void)
{
	static const char key[] = "beef_12_k_tp_34";
	char digits[KVSTASH_KEY_MAX + 1];
	struct kvstash_member m;

	for (size_t len = 0; len <= sizeof(key); len++) {
		/* be, bee, ...; _12_k; _tp_3, _tp_34 */
		int ok = (len >= 1 && len <= 4) || len == 9 || len == 14 ||
			 len == 15;

		CHECK_EQ(kvstash_member_of(key, len, &m), ok ? 0 : -EINVAL);
	}
	memset(digits, 'a', sizeof(digits));
	CHECK_EQ(kvstash_member_of(digits, KVSTASH_KEY_MAX, &m), 0);
	CHECK_EQ(m.hash_len, KVSTASH_KEY_MAX);
	is_none_of(digits, KVSTASH_KEY_MAX + 1);
	is_none_of(NULL, 0);
}

void test_member(void)
{
	test_forms();
	test_others();
	test_lengths();
}
