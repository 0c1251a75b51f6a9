// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * Registering layouts: what is the same and what is not, how many, in which order,
 * how many slots by number and by share, and what of that is refused.
 */
#include "s_store.h"

#define POOL		KVR_MB(4)
#define MOST		(POOL / 2 / SST_SMALL_SLOT)	/* slots, by default half of the pool */
#define FIELD(m)	offsetof(struct kvstash_layout, m)

/* An ADD that is refused: why, and which member is to blame. */
static void refuse_add(struct __test_metadata *_metadata, int fd, struct kvstash_layout k,
		       int err, __u32 reason, __u32 field, __u64 detail)
{
	struct kvstash_result r = sst_layout_call(fd, KVSTASH_IOC_LAYOUT_ADD, &k);

	KVT_EXPECT(err, reason, r);
	EXPECT_EQ(detail, r.detail);
	EXPECT_EQ(field, k.field);
}

/* The same fingerprint with another description, member by member. */
TEST_F(store, I7_another_description_is_refused_and_names_the_member)
{
	struct kvr_store *s = &self->s;
	struct kvstash_layer layers[64];
	struct kvstash_layout k, d, was;

	kvr_store_make(_metadata, s, POOL, NULL);
	KVT_OK(sst_add(s->fd, &sst_small, 3));
	was = sst_figures(s->fd, &sst_small);
	sst_prep_add(&k, &sst_small, layers, 3);
	d = k;
	d.flags = KVSTASH_LAYOUT_TIED;
	refuse_add(_metadata, s->fd, d, EXDEV, KVSTASH_R_MISMATCH_LAYOUT, FIELD(flags), 0);
	d = k;
	d.alignment *= 2;
	refuse_add(_metadata, s->fd, d, EXDEV, KVSTASH_R_MISMATCH_LAYOUT, FIELD(alignment),
		   sst_small.align);
	d = k;
	d.slot_bytes++;		/* a gap at the end */
	refuse_add(_metadata, s->fd, d, EXDEV, KVSTASH_R_MISMATCH_LAYOUT, FIELD(slot_bytes),
		   sst_small.bytes);
	d = k;
	d.nr_layers--;
	refuse_add(_metadata, s->fd, d, EXDEV, KVSTASH_R_MISMATCH_LAYOUT, FIELD(nr_layers),
		   sst_small.layers);
	layers[3].len--;
	refuse_add(_metadata, s->fd, k, EXDEV, KVSTASH_R_MISMATCH_LAYOUT, FIELD(layers), 0);
	/* the order of the layers is part of it */
	sst_layers(&sst_small, layers);
	layers[4] = layers[1];
	layers[1] = layers[2];
	layers[2] = layers[4];
	refuse_add(_metadata, s->fd, k, EXDEV, KVSTASH_R_MISMATCH_LAYOUT, FIELD(layers), 0);
	d = sst_figures(s->fd, &sst_small);
	EXPECT_EQ(0, memcmp(&was, &d, sizeof(d)));
	EXPECT_EQ(1, kvr_ns(s, "layouts"));
	EXPECT_EQ(3 * SST_SMALL_SLOT, kvr_ns(s, "slot_bytes"));
}

TEST_F(store, registering_again_is_a_no_op)
{
	struct kvr_store *s = &self->s;
	char *buf = kvt_map(sst_small.bytes);
	struct sst_key k = sst_nth(&sst_small, 1);
	struct kvstash_layer layers[64];
	struct kvstash_layout again;

	kvr_store_make(_metadata, s, POOL, NULL);
	KVT_OK(sst_add(s->fd, &sst_small, 3));
	KVT_OK(sst_put(s->fd, &sst_small, &k, buf));
	for (__u64 slots = 0; slots < 10; slots++) {
		sst_prep_add(&again, &sst_small, layers, slots);
		KVT_OK(sst_layout_call(s->fd, KVSTASH_IOC_LAYOUT_ADD, &again));
		EXPECT_EQ(3, again.slots);
		EXPECT_EQ(1, again.used);
		EXPECT_EQ(1, again.id);
	}
	/* not even more than there can be */
	KVT_OK(sst_add(s->fd, &sst_small, ~0ULL));
	KVT_OK(sst_get(s->fd, &sst_small, &k, buf));
	EXPECT_EQ(1, kvr_ns(s, "layouts"));
	EXPECT_EQ(3 * SST_SMALL_SLOT, kvr_ns(s, "slot_bytes"));
}

TEST_F(store, description_comes_back)
{
	struct kvr_store *s = &self->s;
	struct kvstash_layer in[64], out[64];
	struct kvstash_layout k;

	kvr_store_make(_metadata, s, KVR_MB(16), NULL);
	KVT_OK(sst_add(s->fd, &sst_reference, 2));
	sst_layers(&sst_reference, in);
	for (__u32 room = 0; room <= SST_LAYERS + 1; room++) {
		__u32 got = room < SST_LAYERS ? room : SST_LAYERS;

		memset(out, KVT_CANARY_BYTE, sizeof(out));
		sst_prep_layout(&k, &sst_reference);
		k.layers = kvstash_addr(out);
		k.nr_layers = room;
		KVT_OK(sst_layout_call(s->fd, KVSTASH_IOC_LAYOUT_GET, &k));
		EXPECT_EQ(0, memcmp(in, out, got * sizeof(*in)));
		EXPECT_TRUE(kvt_untouched((void *)&out[got], sizeof(out[0])));
		EXPECT_EQ(SST_LAYERS, k.nr_layers);
	}
	EXPECT_EQ(0, k.flags);
	EXPECT_EQ(SST_ALIGN, k.alignment);
	EXPECT_EQ(SST_BYTES, k.slot_bytes);
	EXPECT_EQ(1, k.scheme);
	EXPECT_EQ(2, k.slots);
	EXPECT_EQ(SST_SLOT, k.slot_pages_bytes);
	EXPECT_EQ(kvstash_addr(out), k.layers);
	KVT_OK(sst_add(s->fd, &sst_tied, 0));
	EXPECT_EQ(KVSTASH_LAYOUT_TIED, sst_figures(s->fd, &sst_tied).flags);
}

/* 64 of a namespace, in the order of registration, also after one was dropped. */
TEST_F(store, layouts_of_a_namespace_are_counted_and_listed)
{
	struct sst_layout l = sst_small;
	struct kvr_store *s = &self->s;
	struct kvstash_layout k;
	struct kvstash_result r;
	__u32 id = 0;
	int n = 0;

	kvr_store_make(_metadata, s, POOL, NULL);
	for (l.nr = 0; l.nr < KVSTASH_LAYOUTS_MAX; l.nr++)
		ASSERT_EQ(0, sst_add(s->fd, &l, 1).res);
	r = sst_add(s->fd, &l, 1);
	KVT_EXPECT(EDQUOT, KVSTASH_R_LAYOUT_COUNT, r);
	EXPECT_EQ(KVSTASH_LAYOUTS_MAX, r.detail);
	KVT_EXPECT(ENOENT, KVSTASH_R_LAYOUT_UNKNOWN, sst_describe(s->fd, &l, &k));
	EXPECT_EQ(KVSTASH_LAYOUTS_MAX * SST_SMALL_SLOT, kvr_ns(s, "slot_bytes"));
	l.nr = 10;
	KVT_OK(sst_add(s->fd, &l, 1));	/* there already */
	KVT_OK(sst_drop(s->fd, &l));
	l.nr = KVSTASH_LAYOUTS_MAX;
	KVT_OK(sst_add(s->fd, &l, 0));
	for (;; n++) {
		memset(&k, 0, sizeof(k));
		k.size = sizeof(k);
		k.flags = KVSTASH_LAYOUT_NEXT;
		k.id = id;
		r = sst_layout_call(s->fd, KVSTASH_IOC_LAYOUT_GET, &k);
		if (r.res)
			break;
		EXPECT_LT(id, k.id);
		EXPECT_EQ(n < 10 ? n : n + 1, k.fingerprint[0]);
		EXPECT_EQ(k.fingerprint[0], k.fingerprint[KVSTASH_DIGEST_LEN - 1]);
		id = k.id;
	}
	KVT_EXPECT(ENOENT, KVSTASH_R_LAYOUT_UNKNOWN, r);
	EXPECT_EQ(KVSTASH_LAYOUTS_MAX, n);
	EXPECT_EQ(KVSTASH_LAYOUTS_MAX, kvr_ns(s, "layouts"));
}

TEST_F(store, unknown_layout_has_its_own_reason)
{
	struct kvr_store *s = &self->s;
	struct kvstash_layout k;

	kvr_store_make(_metadata, s, POOL, NULL);
	KVT_EXPECT(ENOENT, KVSTASH_R_LAYOUT_UNKNOWN, sst_describe(s->fd, &sst_small, &k));
	EXPECT_EQ(FIELD(fingerprint), k.field);
	KVT_EXPECT(ENOENT, KVSTASH_R_LAYOUT_UNKNOWN, sst_resize(s->fd, &sst_small, 1));
	KVT_EXPECT(ENOENT, KVSTASH_R_LAYOUT_UNKNOWN, sst_drop(s->fd, &sst_small));
	KVT_OK(sst_add(s->fd, &sst_small, 1));
	KVT_OK(sst_drop(s->fd, &sst_small));
	KVT_EXPECT(ENOENT, KVSTASH_R_LAYOUT_UNKNOWN, sst_drop(s->fd, &sst_small));
	EXPECT_EQ(0, kvr_ns(s, "layouts"));
	EXPECT_EQ(0, kvr_ns(s, "slot_bytes"));
}

/* ADD and SET with a share: how many slots are there then. */
static __u64 by_share(struct __test_metadata *_metadata, int fd, unsigned long cmd,
		      __u32 permille)
{
	struct kvstash_layer layers[64];
	struct kvstash_layout k;

	sst_prep_add(&k, &sst_small, layers, 0);
	if (cmd == KVSTASH_IOC_LAYOUT_SET)
		sst_prep_layout(&k, &sst_small);
	k.pool_permille = permille;
	KVT_OK(sst_layout_call(fd, cmd, &k));
	return k.slots;
}

TEST_F(store, share_of_the_pool_is_as_many_slots_as_fit)
{
	struct kvt_ns_args ns = { .slot_bytes = POOL };
	struct kvr_store *s = &self->s;
	struct kvstash_layer layers[64];
	struct kvstash_layout k;
	static const __u32 bad[] = { 1001, 0x80000000, ~0U };

	kvr_store_make(_metadata, s, POOL, &ns);
	/* 4 of 1024 pages, by 2 pages a slot */
	EXPECT_EQ(2, by_share(_metadata, s->fd, KVSTASH_IOC_LAYOUT_ADD, 4));
	EXPECT_EQ(0, by_share(_metadata, s->fd, KVSTASH_IOC_LAYOUT_SET, 1));
	EXPECT_EQ(1, by_share(_metadata, s->fd, KVSTASH_IOC_LAYOUT_SET, 2));
	EXPECT_EQ(256, by_share(_metadata, s->fd, KVSTASH_IOC_LAYOUT_SET, 500));
	EXPECT_EQ(512, by_share(_metadata, s->fd, KVSTASH_IOC_LAYOUT_SET, 1000));
	EXPECT_EQ(POOL, kvr_pool(s, "slot_free_bytes"));
	EXPECT_EQ(1, by_share(_metadata, s->fd, KVSTASH_IOC_LAYOUT_SET, 3));
	sst_prep_layout(&k, &sst_small);
	k.pool_permille = 500;
	k.slots = 1;
	KVT_EXPECT(EINVAL, KVSTASH_R_RESERVED,
		   sst_layout_call(s->fd, KVSTASH_IOC_LAYOUT_SET, &k));
	EXPECT_EQ(FIELD(slots), k.field);
	for (size_t i = 0; i < KVT_LEN(bad); i++) {
		sst_prep_add(&k, &sst_small, layers, 0);
		k.pool_permille = bad[i];
		refuse_add(_metadata, s->fd, k, EINVAL, KVSTASH_R_COUNT, FIELD(pool_permille),
			   1000);
	}
	EXPECT_EQ(1, sst_figures(s->fd, &sst_small).slots);
}

/*
 * More slots than may or can be
 */

/* ADD of another and SET of @l to @slots are refused, and nothing changes. */
static void refuse_slots(struct __test_metadata *_metadata, struct kvr_store *s,
			 const struct sst_layout *l, __u64 slots, int err, __u32 reason,
			 __u64 detail, __u64 detail_add)
{
	struct kvstash_layout was = sst_figures(s->fd, l), now;
	struct sst_layout other = *l;
	struct kvt_counts c, d;
	struct kvstash_result r;

	other.nr = 99;
	ASSERT_EQ(0, kvt_counts_of(s->pool, &c));
	r = sst_resize(s->fd, l, slots);
	KVT_EXPECT(err, reason, r);
	EXPECT_EQ(detail, r.detail);
	r = sst_add(s->fd, &other, slots);
	KVT_EXPECT(err, reason, r);
	EXPECT_EQ(detail_add, r.detail);
	KVT_EXPECT(ENOENT, KVSTASH_R_LAYOUT_UNKNOWN, sst_describe(s->fd, &other, &now));
	now = sst_figures(s->fd, l);
	EXPECT_EQ(0, memcmp(&was, &now, sizeof(now)));
	ASSERT_EQ(0, kvt_counts_of(s->pool, &d));
	EXPECT_EQ(0, memcmp(&c, &d, sizeof(d)));
	EXPECT_EQ(was.slots * was.slot_pages_bytes, kvr_ns(s, "slot_bytes"));
	kvr_sane(_metadata, s);
}

TEST_F(store, more_slots_than_the_quota_or_the_pool_are_refused)
{
	struct kvt_ns_args ns = { .slot_bytes = 10 * SST_SMALL_SLOT + 4096 };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, POOL, NULL);
	KVT_OK(sst_add(s->fd, &sst_small, 1));
	refuse_slots(_metadata, s, &sst_small, MOST + 1, EDQUOT, KVSTASH_R_SLOT_QUOTA,
		     SST_SMALL_SLOT, 2 * SST_SMALL_SLOT);
	KVT_OK(sst_resize(s->fd, &sst_small, MOST));
	KVT_OK(sst_resize(s->fd, &sst_small, 1));
	refuse_slots(_metadata, s, &sst_small, 514, EFBIG, KVSTASH_R_TOO_LARGE, POOL, POOL);
	refuse_slots(_metadata, s, &sst_small, 1ULL << 62, EFBIG, KVSTASH_R_TOO_LARGE, POOL,
		     POOL);
	refuse_slots(_metadata, s, &sst_small, (1ULL << 63) + 1, EFBIG, KVSTASH_R_TOO_LARGE, POOL,
		     POOL);
	refuse_slots(_metadata, s, &sst_small, ~0ULL, EFBIG, KVSTASH_R_TOO_LARGE, POOL, POOL);
	ns.name = s->name;
	ASSERT_EQ(0, kvt_ns_set(&ns));
	refuse_slots(_metadata, s, &sst_small, 11, EDQUOT, KVSTASH_R_SLOT_QUOTA,
		     SST_SMALL_SLOT - 4096, 2 * SST_SMALL_SLOT - 4096);
	KVT_OK(sst_resize(s->fd, &sst_small, 10));
	/* a lower quota takes none away, and lets none be made */
	ns.slot_bytes = SST_SMALL_SLOT;
	ASSERT_EQ(0, kvt_ns_set(&ns));
	refuse_slots(_metadata, s, &sst_small, 11, EDQUOT, KVSTASH_R_SLOT_QUOTA,
		     10 * SST_SMALL_SLOT, 20 * SST_SMALL_SLOT);
	EXPECT_EQ(10, sst_figures(s->fd, &sst_small).slots);
}

/* Slots are charged to the namespace's bytes as all else is. */
TEST_F(store, I10_slots_count_in_the_quota_of_bytes)
{
	struct kvt_ns_args ns = { .quota_bytes = 100 * SST_SMALL_SLOT,
				  .slot_bytes = POOL };
	struct kvr_store *s = &self->s;
	struct kvr_obj o = sst_page(1, 200 * 4096), small = sst_page(2, 4096);
	char *buf = kvt_map(o.len);

	kvr_store_make(_metadata, s, POOL, &ns);
	KVT_OK(sst_add(s->fd, &sst_small, 60));
	EXPECT_EQ(60 * SST_SMALL_SLOT, kvr_ns(s, "bytes"));
	KVT_EXPECT(EDQUOT, KVSTASH_R_QUOTA_BYTES, kvr_put(s->fd, &o, buf));
	KVT_OK(kvr_put(s->fd, &small, buf));
	refuse_slots(_metadata, s, &sst_small, 161, EDQUOT, KVSTASH_R_QUOTA_BYTES,
		     61 * SST_SMALL_SLOT, 121 * SST_SMALL_SLOT);
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, kvr_state(s->fd, &small));
	KVT_OK(kvr_remove(s->fd, &small));
	KVT_OK(sst_resize(s->fd, &sst_small, 0));
	KVT_OK(kvr_put(s->fd, &o, buf));
	/* and take the room of pages that are not used */
	KVT_OK(sst_resize(s->fd, &sst_small, 50));
	EXPECT_EQ(KVSTASH_STATE_ABSENT, kvr_state(s->fd, &o));
}

/* All pages leased but those of @left slots: one more than that is no space. */
TEST_F(store, no_space_for_slots_carves_none)
{
	struct kvt_ns_args ns = { .slot_bytes = POOL, .lease_bytes = POOL };
	struct kvr_store *s = &self->s;
	char *buf = kvt_map(POOL);
	struct kvr_obj o = sst_page(1, POOL - 4 * SST_SMALL_SLOT);
	struct kvstash_handle h;

	kvr_store_make(_metadata, s, POOL, &ns);
	KVT_OK(sst_add(s->fd, &sst_small, 1));
	KVT_OK(kvr_put(s->fd, &o, buf));
	KVT_OK(kvt_exists_lease1(s->fd, &o.key, sizeof(o.key), NULL, &h));
	refuse_slots(_metadata, s, &sst_small, 5, ENOSPC, KVSTASH_R_NO_SPACE, SST_SMALL_SLOT,
		     2 * SST_SMALL_SLOT);
	refuse_slots(_metadata, s, &sst_small, 100, ENOSPC, KVSTASH_R_NO_SPACE,
		     96 * SST_SMALL_SLOT, 97 * SST_SMALL_SLOT);
	KVT_OK(kvr_get(s->fd, &o, buf));
	KVT_OK(sst_resize(s->fd, &sst_small, 4));
	KVT_OK(kvt_release1(s->fd, &h));
	KVT_OK(sst_resize(s->fd, &sst_small, 5));
	EXPECT_EQ(KVSTASH_STATE_ABSENT, kvr_state(s->fd, &o));
}

/* With what there is already they are more than the pool has: no page goes for that. */
TEST_F(store, more_slots_in_all_than_the_pool_has)
{
	struct kvt_ns_args ns = { .slot_bytes = 4 * POOL };
	struct kvr_store *s = &self->s;
	char *buf = kvt_map(4096);
	struct kvr_obj o = sst_page(1, 4096);

	kvr_store_make(_metadata, s, POOL, &ns);
	KVT_OK(sst_add(s->fd, &sst_small, 100));
	KVT_OK(kvr_put(s->fd, &o, buf));
	KVT_EXPECT(EFBIG, KVSTASH_R_TOO_LARGE, sst_resize(s->fd, &sst_small, 513));
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, kvr_state(s->fd, &o));
	KVT_OK(sst_resize(s->fd, &sst_small, 512));
	EXPECT_EQ(POOL, kvr_pool(s, "slot_free_bytes"));
}

/* R51: a pool full of small pages has room for slots, by evicting enough of them. */
TEST_F(store, R51_slots_and_states_after_small_pages)
{
	struct kvr_store *s = &self->s;
	char *buf = kvt_map(SST_BYTES);
	struct kvr_obj o = sst_page(0, 4096);
	struct sst_key k = sst_nth(&sst_reference, 1);

	kvr_store_make(_metadata, s, KVR_MB(8), NULL);
	for (; o.key.id < KVR_MB(8) / 4096; o.key.id++)
		ASSERT_EQ(0, kvr_put(s->fd, &o, buf).res);
	KVT_OK(sst_add(s->fd, &sst_reference, 2));
	KVT_OK(sst_put(s->fd, &sst_reference, &k, buf));
	KVT_OK(sst_get(s->fd, &sst_reference, &k, buf));
	EXPECT_LT(0, kvr_ns(s, "evictions"));
	EXPECT_EQ(0, sst_figures(s->fd, &sst_reference).evictions);
}

/* R59: slots are a setting of the layout's own, and waste at most 0.5 %. */
TEST_F(store, R59_slot_count_is_its_own_setting_and_little_is_wasted)
{
	struct kvr_store *s = &self->s;
	char *buf = kvt_map(SST_BYTES);
	struct kvstash_layout d;

	kvr_store_make(_metadata, s, KVR_MB(32), NULL);
	KVT_OK(sst_add(s->fd, &sst_reference, 2));
	KVT_OK(sst_add(s->fd, &sst_small, 40));
	d = sst_figures(s->fd, &sst_reference);
	EXPECT_EQ(SST_SLOT, d.slot_pages_bytes);
	EXPECT_LE((d.slot_pages_bytes - d.slot_bytes) * 1000, 5 * d.slot_bytes);
	KVT_OK(sst_put_some(s->fd, &sst_reference, 0, 2, buf));
	/* up and down while in use; the other layout does not care */
	for (__u64 n = 3; n <= 10; n++) {
		KVT_OK(sst_resize(s->fd, &sst_reference, n));
		KVT_OK(sst_put_some(s->fd, &sst_reference, n - 1, 1, buf));
		EXPECT_EQ(n, sst_figures(s->fd, &sst_reference).used);
		EXPECT_EQ(n * SST_SLOT, kvr_pool(s, "committed_bytes"));
	}
	EXPECT_EQ(0x3ff, sst_those(s->fd, &sst_reference, 0, 10));
	for (__u64 n = 9; n; n--) {
		KVT_OK(sst_resize(s->fd, &sst_reference, n));
		EXPECT_EQ(n, sst_figures(s->fd, &sst_reference).used);
		/* the oldest go */
		EXPECT_EQ(0x3ffULL >> (10 - n) << (10 - n),
			  sst_those(s->fd, &sst_reference, 0, 10));
	}
	EXPECT_EQ(40 * SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
	EXPECT_EQ(SST_SLOT + 40 * SST_SMALL_SLOT, kvr_ns(s, "slot_bytes"));
	EXPECT_EQ(9, sst_figures(s->fd, &sst_reference).evictions);
	kvr_sane(_metadata, s);
}

TEST_HARNESS_MAIN
