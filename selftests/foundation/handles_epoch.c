// SPDX-License-Identifier: GPL-2.0
/*
 * Handles of an earlier load of the module are stale; no client id and no epoch
 * ever comes again.
 */
#include <kvstash_test.h>

#define KEY	"epoch", 5
#define LOADS	4

TEST(handle_of_an_earlier_load_is_stale)
{
	struct kvstash_query q[LOADS];
	struct kvstash_handle h[LOADS];
	struct kvstash_result r;
	int fd, err;

	if (!kvt_module_path())
		SKIP(return, "KVSTASH_KO is not set");
	for (int i = 0; i < LOADS; i++) {
		fd = kvt_open();
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, kvt_query(fd, &q[i]));
		KVT_OK(kvt_reserve1(fd, KEY, 1, &h[i]));
		EXPECT_EQ(q[i].client, h[i].client);
		for (int old = 0; old < i; old++) {
			EXPECT_NE(q[old].epoch, q[i].epoch);
			EXPECT_NE(q[old].client, q[i].client);
			r = kvt_write1(fd, &h[old], 0, "x", 1);
			KVT_EXPECT(ESTALE, KVSTASH_R_HANDLE_STALE, r);
			r = kvt_commit1(fd, &h[old]);
			KVT_EXPECT(ESTALE, KVSTASH_R_HANDLE_STALE, r);
			r = kvt_abort1(fd, &h[old]);
			KVT_EXPECT(ESTALE, KVSTASH_R_HANDLE_STALE, r);
		}
		KVT_EXPECT(EINVAL, KVSTASH_R_UNWRITTEN, kvt_commit1(fd, &h[i]));
		close(fd);
		kvt_sane(_metadata);
		err = kvt_module_reload("pool_mb=64");
		ASSERT_EQ(0, err);
	}
}

/* The module can't go while a client has it open, and loses nothing then. */
TEST(module_is_busy_while_it_is_open)
{
	int fd = kvt_open();

	ASSERT_LE(0, fd);
	KVT_OK(kvt_put1(fd, KEY, "x", 1));
	EXPECT_NE(0, kvt_module_unload());
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, kvt_state(fd, KEY));
	KVT_OK(kvt_remove1(fd, KEY));
	close(fd);
}

TEST_HARNESS_MAIN
