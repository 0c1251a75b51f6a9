// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=64 hash_bits=0 */
/*
 * R43: the same families of keys, all of them in one bucket with one value of
 * the hash: only the keys themselves tell them apart.
 */
#include "abi_call.h"
#include "objects_keys.h"

TEST_F(store, R43_keys_that_differ_in_one_bit_of_one_hash)
{
	static const unsigned int lens[] = { 1, 8, 9, 65 };

	for (size_t i = 0; i < KVT_LEN(lens); i++)
		keys_one_bit(_metadata, self->s.fd, lens[i]);
	kvt_store_same(_metadata, &self->s);
}

TEST_F(store, R43_keys_that_are_prefixes_of_one_hash)
{
	keys_prefixes(_metadata, self->s.fd);
	kvt_store_same(_metadata, &self->s);
}

/* Namespaces of one pool share its buckets. */
TEST(I10_same_key_of_one_hash_in_two_namespaces)
{
	struct kvt_ns_args args = { .name = "tenant-a" };
	char back = 0;
	int a, b;

	ASSERT_EQ(0, kvt_ns_new(&args));
	a = kvt_open();
	b = kvt_open_ns("tenant-a");
	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	KVT_OK(kvt_put1(a, "same", 4, "a", 1));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvt_get1(b, "same", 4, &back, 1,
						    NULL));
	KVT_OK(kvt_put1(b, "same", 4, "b", 1));
	KVT_OK(kvt_get1(a, "same", 4, &back, 1, NULL));
	EXPECT_EQ('a', back);
	KVT_OK(kvt_get1(b, "same", 4, &back, 1, NULL));
	EXPECT_EQ('b', back);
	KVT_OK(kvt_remove1(a, "same", 4));
	KVT_OK(kvt_remove1(b, "same", 4));
	close(a);
	close(b);
	EXPECT_EQ(0, kvt_ns_del("tenant-a"));
	kvt_sane(_metadata);
}

TEST_HARNESS_MAIN
