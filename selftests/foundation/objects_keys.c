// SPDX-License-Identifier: GPL-2.0
/*
 * Keys are compared whole, within their namespace: no two that differ in
 * anything are one object.
 */
#include "abi_call.h"
#include "objects_keys.h"

TEST_F(store, R43_keys_that_differ_in_one_bit)
{
	static const unsigned int lens[] = { 1, 2, 7, 8, 9, 32, 63, 64, 65, 511,
					     512 };

	for (size_t i = 0; i < KVT_LEN(lens); i++)
		keys_one_bit(_metadata, self->s.fd, lens[i]);
	kvt_store_same(_metadata, &self->s);
}

TEST_F(store, R43_keys_that_are_prefixes_of_each_other)
{
	keys_prefixes(_metadata, self->s.fd);
	kvt_store_same(_metadata, &self->s);
}

/* Keys are bytes: NUL and 0xff are as good as any. */
TEST_F(store, keys_of_any_byte)
{
	unsigned char key[256];

	for (int i = 0; i < 256; i++) {
		key[i] = i;
		KVT_OK(kvt_put1(self->s.fd, &key[i], 1, &key[i], 1));
	}
	for (int i = 0; i < 256; i++) {
		unsigned char back = ~i;

		KVT_OK(kvt_get1(self->s.fd, &key[i], 1, &back, 1, NULL));
		EXPECT_EQ(i, back);
		KVT_OK(kvt_remove1(self->s.fd, &key[i], 1));
	}
	kvt_store_same(_metadata, &self->s);
}

static const char * const spaces[] = { "default", "tenant-a", "tenant-b" };

/* R49, I10: the same key in several namespaces is several objects. */
TEST(I10_same_key_in_several_namespaces)
{
	struct kvt_ns_args args[2] = { { .name = "tenant-a" },
				       { .name = "tenant-b" } };
	char buf[3000], back[3000];
	int fd[3], err;

	for (int i = 0; i < 2; i++) {
		err = kvt_ns_new(&args[i]);
		ASSERT_EQ(0, err);
	}
	for (int i = 0; i < 3; i++) {
		fd[i] = kvt_open_ns(spaces[i]);
		ASSERT_LE(0, fd[i]);
		KVT_EXPECT(ENOENT, KVSTASH_R_MISS,
			   kvt_exists1(fd[i], "same", 4, NULL));
		kvt_fill(buf, sizeof(buf), i);
		KVT_OK(kvt_put1(fd[i], "same", 4, buf, sizeof(buf)));
	}
	for (int i = 0; i < 3; i++) {
		KVT_OK(kvt_get1(fd[i], "same", 4, back, sizeof(back), NULL));
		EXPECT_EQ(-1, kvt_verify(back, sizeof(back), i));
	}
	for (int i = 0; i < 3; i++) {
		KVT_OK(kvt_remove1(fd[i], "same", 4));
		for (int j = 0; j < 3; j++)
			EXPECT_EQ(j > i ? KVSTASH_STATE_VISIBLE :
					  KVSTASH_STATE_ABSENT,
				  kvt_state(fd[j], "same", 4));
	}
	KVT_EXPECT(EISCONN, KVSTASH_R_BOUND, kvt_bind(fd[1], "tenant-b"));
	KVT_OK(kvt_bind(fd[1], "tenant-a"));
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	for (int i = 1; i < 3; i++)
		EXPECT_EQ(0, kvt_ns_del(spaces[i]));
	kvt_sane(_metadata);
}

/* A parent of another namespace is none, and none of its keys are listed. */
TEST(I10_parent_of_another_namespace_is_not_there)
{
	struct kvt_ns_args args = { .name = "tenant-a" };
	struct kvstash_put e;
	int own, other;

	ASSERT_EQ(0, kvt_ns_new(&args));
	own = kvt_open_ns("tenant-a");
	other = kvt_open();
	ASSERT_LE(0, own);
	ASSERT_LE(0, other);
	KVT_OK(kvt_put1(other, "parent", 6, "x", 1));
	kvt_prep_named(&e, "child", "parent");
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS,
		   kvt_put_pattern(own, &e, 1, 1));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvt_remove1(own, "parent", 6));
	KVT_OK(kvt_remove1(other, "parent", 6));
	close(own);
	close(other);
	EXPECT_EQ(0, kvt_ns_del("tenant-a"));
	kvt_sane(_metadata);
}

/* A handle of a client is no good in another namespace's client. */
TEST(I10_handle_does_not_cross_namespaces)
{
	struct kvt_ns_args args = { .name = "tenant-a" };
	struct kvstash_handle h;
	int own, other;

	ASSERT_EQ(0, kvt_ns_new(&args));
	own = kvt_open_ns("tenant-a");
	other = kvt_open();
	ASSERT_LE(0, own);
	ASSERT_LE(0, other);
	KVT_OK(kvt_reserve1(other, "k", 1, 1, &h));
	KVT_EXPECT(EPERM, KVSTASH_R_HANDLE_OWNER, kvt_write1(own, &h, 0, "x", 1));
	KVT_EXPECT(EPERM, KVSTASH_R_HANDLE_OWNER, kvt_commit1(own, &h));
	KVT_EXPECT(EPERM, KVSTASH_R_HANDLE_OWNER, kvt_abort1(own, &h));
	KVT_OK(kvt_abort1(other, &h));
	EXPECT_EQ(-EBUSY, kvt_ns_del("tenant-a"));
	close(own);
	close(other);
	EXPECT_EQ(0, kvt_ns_del("tenant-a"));
	kvt_sane(_metadata);
}

/* What lives in a namespace goes with it, down to the last byte. */
TEST(I6_namespace_takes_its_objects_along)
{
	struct kvt_ns_args args = { .name = "tenant-a" };
	struct kvt_counts bare;
	struct kvstash_put e;
	char key[16], parent[16];
	int fd;

	ASSERT_EQ(0, kvt_counts(&bare));
	ASSERT_EQ(0, kvt_ns_new(&args));
	fd = kvt_open_ns("tenant-a");
	ASSERT_LE(0, fd);
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "link/%d", i);
		snprintf(parent, sizeof(parent), "link/%d", i - 1);
		kvt_prep_named(&e, key, i % 10 ? parent : NULL);
		if (i % 10 == 9)	/* one part of two */
			kvstash_prep_put_part(&e, 0, 2);
		KVT_OK(kvt_put_pattern(fd, &e, i, 100 * i + 1));
	}
	close(fd);
	EXPECT_EQ(0, kvt_ns_del("tenant-a"));
	kvt_no_leak(_metadata, &bare);
}

TEST_HARNESS_MAIN
