// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * The contract of states, at the reference size.
 */
#include "s_store.h"

TEST_F(store, I7_hit_answers_for_exactly_its_key)
{
	struct kvr_store *s = &self->s;
	struct kvstash_exists x;
	struct kvstash_layout d;
	struct sst_key k = sst_key(&sst_reference, 1280, 1), other;
	char *buf = kvt_map(SST_BYTES);
	struct kvstash_result r;

	kvr_store_make(_metadata, s, KVR_MB(32), NULL);
	ASSERT_EQ(0, sst_add(s->fd, &sst_reference, 4).res);
	EXPECT_EQ(4 * SST_SLOT, kvr_pool(s, "slot_free_bytes"));
	ASSERT_EQ(0, sst_put(s->fd, &sst_reference, &k, buf).res);
	ASSERT_EQ(0, sst_exists(s->fd, &k, &x).res);
	EXPECT_EQ(SST_BYTES, x.object_size);
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, x.state);
	ASSERT_EQ(0, sst_get(s->fd, &sst_reference, &k, buf).res);
	EXPECT_EQ(3 * SST_SLOT, kvr_pool(s, "slot_free_bytes"));
	EXPECT_EQ(SST_SLOT, kvr_pool(s, "committed_bytes"));

	/* neither a longer nor a shorter prefix, nor another's hash, nor a page */
	other = sst_key(&sst_reference, 1408, 1);
	r = sst_get(s->fd, &sst_reference, &other, buf);
	EXPECT_EQ(-ENOENT, r.res);
	EXPECT_EQ(KVSTASH_R_MISS, r.reason);
	other = sst_key(&sst_reference, 1152, 1);
	EXPECT_EQ(-ENOENT, sst_get(s->fd, &sst_reference, &other, buf).res);
	other = sst_key(&sst_reference, 1280, 2);
	EXPECT_EQ(-ENOENT, sst_get(s->fd, &sst_reference, &other, buf).res);
	EXPECT_EQ(-ENOENT, kvt_get1(s->fd, &k, sizeof(k), buf, SST_BYTES, NULL).res);

	ASSERT_EQ(0, sst_describe(s->fd, &sst_reference, &d).res);
	EXPECT_EQ(4, d.slots);
	EXPECT_EQ(1, d.used);
	EXPECT_EQ(1, d.states);
	EXPECT_EQ(1, d.puts);
	EXPECT_EQ(1, d.hits);
	EXPECT_EQ(3, d.misses);
	EXPECT_EQ(1, d.found);
	kvr_sane(_metadata, s);
}

TEST_F(store, I3_slots_are_used_again_least_recently_used_first)
{
	struct kvr_store *s = &self->s;
	char *buf = kvt_map(sst_small.bytes);
	struct kvstash_layout d;
	struct kvstash_exists x;
	struct sst_key k;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	ASSERT_EQ(0, sst_add(s->fd, &sst_small, 4).res);
	for (unsigned int i = 0; i < 4; i++) {
		k = sst_key(&sst_small, 16, i);
		ASSERT_EQ(0, sst_put(s->fd, &sst_small, &k, buf).res);
	}
	k = sst_key(&sst_small, 16, 0);
	ASSERT_EQ(0, sst_get(s->fd, &sst_small, &k, buf).res);
	for (unsigned int i = 4; i < 7; i++) {
		k = sst_key(&sst_small, 16, i);
		ASSERT_EQ(0, sst_put(s->fd, &sst_small, &k, buf).res);
	}
	for (unsigned int i = 0; i < 7; i++) {
		k = sst_key(&sst_small, 16, i);
		EXPECT_EQ(i == 0 || i > 3 ? 0 : -ENOENT, sst_exists(s->fd, &k, &x).res);
	}
	ASSERT_EQ(0, sst_describe(s->fd, &sst_small, &d).res);
	EXPECT_EQ(3, d.evictions);
	EXPECT_EQ(4, d.used);
	EXPECT_EQ(-EBUSY, sst_drop(s->fd, &sst_small).res);
	EXPECT_EQ(0, sst_resize(s->fd, &sst_small, 2).res);
	k = sst_key(&sst_small, 16, 6);
	EXPECT_EQ(0, sst_exists(s->fd, &k, &x).res);
	k = sst_key(&sst_small, 16, 4);
	EXPECT_EQ(-ENOENT, sst_exists(s->fd, &k, &x).res);
	EXPECT_EQ(0, sst_resize(s->fd, &sst_small, 0).res);
	EXPECT_EQ(0, sst_drop(s->fd, &sst_small).res);
	EXPECT_EQ(KVR_MB(4), kvr_pool(s, "free_bytes"));
	EXPECT_EQ(0, kvr_pool(s, "slot_free_bytes"));
	kvr_sane(_metadata, s);
}

TEST_F(store, I11_lookup_reports_run_and_states_as_two_facts)
{
	struct kvr_store *s = &self->s;
	char *buf = kvt_map(SST_BYTES);
	struct kvstash_candidate c[3];
	struct kvstash_keys keys;
	struct kvr_key pages[4];
	struct sst_key k[3];

	kvr_store_make(_metadata, s, KVR_MB(32), NULL);
	ASSERT_EQ(0, sst_add(s->fd, &sst_reference, 2).res);
	for (unsigned int i = 0; i < 4; i++) {
		struct kvr_obj o = { .key = { 1, i }, .len = 4096, .parts = 1 };

		pages[i] = o.key;
		if (i != 2)
			ASSERT_EQ(0, kvr_put(s->fd, &o, buf).res);
	}
	for (unsigned int i = 0; i < 3; i++) {
		k[i] = sst_key(&sst_reference, 128 * (i + 1) + (i == 2), i);
		sst_prep_candidate(&c[i], &k[i]);
	}
	ASSERT_EQ(0, sst_put(s->fd, &sst_reference, &k[1], buf).res);
	kvstash_prep_keys(&keys, pages, sizeof(pages[0]), 4);
	keys.candidates = kvstash_addr(c);
	keys.nr_candidates = 3;
	keys.candidate_stride = sizeof(c[0]);
	ASSERT_EQ(2, kvt_lookup(s->fd, &keys));
	EXPECT_EQ(-ENOENT, c[0].r.res);
	EXPECT_EQ(0, c[1].r.res);
	EXPECT_EQ(SST_BYTES, c[1].bytes);
	EXPECT_EQ(-EINVAL, c[2].r.res);
	EXPECT_EQ(KVSTASH_R_MISALIGNED, c[2].r.reason);
	EXPECT_EQ(SST_ALIGN, c[2].r.detail);
	kvr_sane(_metadata, s);
}

TEST_HARNESS_MAIN
