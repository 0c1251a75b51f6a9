// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: none */
/*
 * I6: the module goes with all that layouts have: slots, states, layouts that were
 * dropped a moment ago. What leaks is seen by kmemleak and by the slab caches.
 */
#include "s_store.h"

TEST(I6_unload_with_slots_and_states_in_all_conditions)
{
	struct sst_key k = sst_nth(&sst_small, 1), tied = sst_nth(&sst_tied, 1);
	struct kvr_obj o = sst_page(1, 4096);
	char *buf = kvt_map(SST_BYTES);
	struct kvstash_handle h;
	int fd;

	if (!kvt_module_path())
		SKIP(return, "KVSTASH_KO is not set");
	ASSERT_NE(NULL, buf);
	for (unsigned int round = 0; round < 3; round++) {
		ASSERT_EQ(0, kvt_module_load("pool_mb=8"));
		fd = kvt_open();
		ASSERT_LE(0, fd);
		KVT_OK(sst_add(fd, &sst_small, 8));
		KVT_OK(sst_add(fd, &sst_tied, 3));
		KVT_OK(sst_add(fd, &sst_reference, 2));
		KVT_OK(sst_put_some(fd, &sst_small, 0, 5, buf));
		KVT_OK(sst_put_some(fd, &sst_reference, 0, 1, buf));
		KVT_OK(kvr_put(fd, &o, buf));
		KVT_OK(sst_put_below(fd, &sst_tied, &tied, &o.key, buf));
		/* one is removed and held, one in flight, when the client goes */
		KVT_OK(sst_lease(fd, &k, &h));
		KVT_OK(sst_remove(fd, &k));
		KVT_OK(sst_reserve(fd, &sst_small, &k, &h));
		EXPECT_EQ(-EWOULDBLOCK, kvt_module_unload());
		close(fd);
		EXPECT_EQ(2 * SST_SMALL_SLOT + SST_SLOT + 4 * SST_SMALL_SLOT,
			  kvt_pool("slot_free_bytes"));
		kvt_sane(_metadata);
		if (round == 1) {	/* and dropped just before */
			fd = kvt_open();
			KVT_OK(sst_resize(fd, &sst_small, 0));
			KVT_OK(sst_drop(fd, &sst_small));
			close(fd);
		}
		ASSERT_EQ(0, kvt_module_unload());
	}
}

TEST_HARNESS_MAIN
