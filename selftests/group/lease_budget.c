// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/*
 * The lease budget of a namespace: its own reason with the bytes that are missing,
 * nothing half leased, and a put that finds only leased objects says so at once.
 */
#include "lease.h"

static char buf[KVL_POOL + KVT_PAGE];

/* Leases pieces @first on until one is refused: how many were not. */
static unsigned int lease_pieces(int fd, __u64 space, unsigned int first, unsigned int n,
				 struct kvstash_handle *h, struct kvstash_result *r)
{
	struct kvr_obj o = kvl_piece(space, first);
	unsigned int got;

	for (got = 0; got < n; got++, o.key.id++) {
		*r = kvl_lease(fd, &o, &h[got]);
		if (r->res)
			break;
	}
	return got;
}

TEST_F(store, I10_budget_refuses_with_the_bytes_missing)
{
	struct kvt_ns_args ns = { .lease_bytes = 3 * KVL_PIECE };
	struct kvr_obj large = { { 2, 0 }, NULL, 2 * KVL_PIECE, 1 };
	struct kvr_obj o = kvl_piece(1, 3);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[4];
	struct kvstash_exists x;
	struct kvstash_result r;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 4, buf));
	KVT_OK(kvr_put(s->fd, &large, buf));
	EXPECT_EQ(3, lease_pieces(s->fd, 1, 0, 4, h, &r));
	KVL_LEASED(3, 3 * KVL_PIECE, s);

	memset(&h[3], 0xff, sizeof(h[3]));
	r = kvt_exists_lease1(s->fd, &o.key, sizeof(o.key), &x, &h[3]);
	KVT_EXPECT(EDQUOT, KVSTASH_R_LEASE_BUDGET, r);
	EXPECT_EQ(KVL_PIECE, r.detail);
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, x.state);
	EXPECT_EQ(o.len, x.object_size);
	EXPECT_EQ(1, x.parts_present);
	EXPECT_TRUE(kvl_no_handle(&h[3]));
	r = kvl_lease(s->fd, &large, &h[3]);
	KVT_EXPECT(EDQUOT, KVSTASH_R_LEASE_BUDGET, r);
	EXPECT_EQ(2 * KVL_PIECE, r.detail);
	r = kvt_get_lease1(s->fd, &o.key, sizeof(o.key), NULL, 0, NULL, &h[3]);
	KVT_EXPECT(EDQUOT, KVSTASH_R_LEASE_BUDGET, r);
	EXPECT_EQ(KVL_PIECE, r.detail);
	EXPECT_EQ(4, kvr_ns(s, "lease_refused"));
	KVL_LEASED(3, 3 * KVL_PIECE, s);

	KVT_OK(kvt_release1(s->fd, &h[1]));
	r = kvl_lease(s->fd, &large, &h[3]);
	KVT_EXPECT(EDQUOT, KVSTASH_R_LEASE_BUDGET, r);
	EXPECT_EQ(KVL_PIECE, r.detail);
	KVT_OK(kvt_release1(s->fd, &h[2]));
	KVT_OK(kvl_lease(s->fd, &large, &h[3]));
	KVL_LEASED(2, 3 * KVL_PIECE, s);
}

/* In one EXISTS the keys before are leased, the rest are not: each says so. */
TEST_F(store, budget_within_a_batch)
{
	struct kvt_ns_args ns = { .lease_bytes = 3 * KVL_PIECE };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[8];
	struct kvstash_exists x[8];
	struct kvr_key keys[8];
	struct kvstash_keys k;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 6, buf));
	for (unsigned int i = 0; i < 8; i++)
		keys[i] = (struct kvr_key){ 1, i };
	kvstash_prep_keys(&k, keys, sizeof(*keys), 8);
	ASSERT_EQ(8, kvt_exists_lease(s->fd, &k, x, h));
	for (unsigned int i = 0; i < 8; i++) {
		if (i < 3)
			KVT_OK(x[i].r);
		else if (i < 6)
			KVT_EXPECT(EDQUOT, KVSTASH_R_LEASE_BUDGET, x[i].r);
		else
			KVT_EXPECT(ENOENT, KVSTASH_R_MISS, x[i].r);
		EXPECT_EQ(i < 6 ? KVSTASH_STATE_VISIBLE : KVSTASH_STATE_ABSENT, x[i].state);
		EXPECT_EQ(i >= 3, kvl_no_handle(&h[i]));
	}
	KVL_LEASED(3, 3 * KVL_PIECE, s);
	EXPECT_TRUE(kvl_release_all(s->fd, h, 3));
	/* one key four times is one object */
	for (unsigned int i = 0; i < 3; i++)
		keys[i] = (struct kvr_key){ 1, 5 };
	ASSERT_EQ(8, kvt_exists_lease(s->fd, &k, x, h));
	for (unsigned int i = 0; i < 6; i++)
		KVT_OK(x[i].r);
	KVL_LEASED(6, 3 * KVL_PIECE, s);
}

/* Half of the quota, or without one of the pool. */
TEST_F(store, budget_by_default)
{
	struct kvt_ns_args quota = { .quota_bytes = 6 * KVL_PIECE };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[8];
	struct kvstash_result r;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 8, buf));
	EXPECT_EQ(4, lease_pieces(s->fd, 1, 0, 8, h, &r));
	KVT_EXPECT(EDQUOT, KVSTASH_R_LEASE_BUDGET, r);
	EXPECT_EQ(KVL_PIECE, r.detail);
	kvr_store_end(_metadata, s);

	kvr_store_make(_metadata, s, KVL_POOL, &quota);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 6, buf));
	EXPECT_EQ(3, lease_pieces(s->fd, 1, 0, 6, h, &r));
	KVT_EXPECT(EDQUOT, KVSTASH_R_LEASE_BUDGET, r);
	EXPECT_EQ(KVL_PIECE, r.detail);
}

/* Another setting counts from then on; what is leased stays. */
TEST_F(store, budget_can_be_changed)
{
	struct kvt_ns_args ns = { .lease_bytes = 4 * KVL_PIECE };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[8];
	struct kvstash_result r;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	ns.name = s->name;
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 8, buf));
	EXPECT_EQ(4, lease_pieces(s->fd, 1, 0, 8, h, &r));
	ns.lease_bytes = 2 * KVL_PIECE;
	ASSERT_EQ(0, kvt_ns_set(&ns));
	KVL_LEASED(4, 4 * KVL_PIECE, s);
	EXPECT_EQ(0, lease_pieces(s->fd, 1, 5, 1, &h[5], &r));
	EXPECT_EQ(3 * KVL_PIECE, r.detail);
	/* what counts already takes nothing of the budget */
	EXPECT_EQ(1, lease_pieces(s->fd, 1, 0, 1, &h[5], &r));
	EXPECT_TRUE(kvl_release_all(s->fd, h, 4));
	KVL_LEASED(1, KVL_PIECE, s);
	EXPECT_EQ(1, lease_pieces(s->fd, 1, 5, 2, &h[6], &r));
	ns.lease_bytes = KVL_POOL;
	ASSERT_EQ(0, kvt_ns_set(&ns));
	EXPECT_EQ(1, lease_pieces(s->fd, 1, 6, 1, &h[7], &r));
}

/* I10: a tenant's leases are not another's. */
TEST_F(store, I10_each_namespace_has_its_own)
{
	struct kvt_ns_args other = { .name = "lease-other", .lease_bytes = KVL_PIECE };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[8];
	struct kvstash_result r;
	__u64 v;
	int fd;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	other.pool = s->name;
	ASSERT_EQ(0, kvt_ns_new(&other));
	fd = kvt_open_ns(other.name);
	ASSERT_LE(0, fd);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 5, buf));
	KVT_OK(kvl_put_pieces(fd, 1, 0, 2, buf));
	EXPECT_EQ(4, lease_pieces(s->fd, 1, 0, 5, h, &r));
	EXPECT_EQ(1, lease_pieces(fd, 1, 0, 2, &h[4], &r));
	KVT_EXPECT(EPERM, KVSTASH_R_HANDLE_OWNER, kvt_release1(s->fd, &h[4]));
	KVL_LEASED(4, 4 * KVL_PIECE, s);
	EXPECT_EQ(0, kvt_figure("/proc/kvstash/ns/lease-other", "leased_bytes", &v));
	EXPECT_EQ(KVL_PIECE, v);
	close(fd);
	EXPECT_EQ(0, kvt_figure("/proc/kvstash/ns/lease-other", "leased_bytes", &v));
	EXPECT_EQ(0, v);
	KVL_LEASED(4, 4 * KVL_PIECE, s);
	EXPECT_EQ(0, kvt_ns_del(other.name));
}

/* LOOKUP leases the whole run, or fails and leases nothing. */
TEST_F(store, R17_lookup_above_the_budget_leases_nothing)
{
	struct kvt_ns_args ns = { .lease_bytes = 3 * KVL_PIECE };
	struct kvr_store *s = &self->s;
	struct kvr_key keys[6];
	struct kvstash_handle h[6], one;
	struct kvstash_keys k;
	struct kvr_obj o;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	for (unsigned int i = 0; i < 6; i++) {
		keys[i] = (struct kvr_key){ 1, i };
		o = kvl_piece(1, i);
		o.parent = i ? &keys[i - 1] : NULL;
		if (i < 5)
			KVT_OK(kvr_put(s->fd, &o, buf));
	}
	kvstash_prep_keys(&k, keys, sizeof(*keys), 6);
	EXPECT_EQ(-EDQUOT, kvt_lookup_lease(s->fd, &k, h));
	EXPECT_EQ(KVSTASH_R_LEASE_BUDGET, k.reason);
	KVL_LEASED(0, 0, s);
	EXPECT_EQ(1, kvr_ns(s, "lease_refused"));
	/* without a lease, and with one that fits, it works */
	kvstash_prep_keys(&k, keys, sizeof(*keys), 6);
	EXPECT_EQ(5, kvt_lookup(s->fd, &k));
	EXPECT_EQ(KVSTASH_R_MISS, k.reason);
	kvstash_prep_keys(&k, keys, sizeof(*keys), 3);
	ASSERT_EQ(3, kvt_lookup_lease(s->fd, &k, h));
	KVL_LEASED(3, 3 * KVL_PIECE, s);
	/* what is leased costs nothing again: three of a run of four are */
	kvstash_prep_keys(&k, keys, sizeof(*keys), 4);
	EXPECT_EQ(-EDQUOT, kvt_lookup_lease(s->fd, &k, h + 3));
	KVL_LEASED(3, 3 * KVL_PIECE, s);
	kvstash_prep_keys(&k, keys, sizeof(*keys), 3);
	ASSERT_EQ(3, kvt_lookup_lease(s->fd, &k, h + 3));
	KVL_LEASED(6, 3 * KVL_PIECE, s);
	EXPECT_TRUE(kvl_release_all(s->fd, h, 6));
	KVL_LEASED(0, 0, s);
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvl_lease(s->fd, &o, &one));
}

/* A pool of leased objects: a put is refused at once, and with a number. */
TEST_F(store, only_leased_objects_is_no_space)
{
	struct kvt_ns_args ns = { .lease_bytes = KVL_POOL };
	struct kvr_obj o = kvl_piece(2, 0);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[8];
	struct kvstash_result r;
	__u64 evictions;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 8, buf));
	EXPECT_EQ(8, lease_pieces(s->fd, 1, 0, 8, h, &r));
	for (unsigned int i = 0; i < 100; i++) {
		r = kvr_put(s->fd, &o, buf);
		KVT_EXPECT(ENOSPC, KVSTASH_R_NO_SPACE, r);
		EXPECT_EQ(KVL_PIECE, r.detail);
	}
	EXPECT_EQ(8, kvr_count_visible(s->fd, 1, 0, 8));
	EXPECT_EQ(0, kvr_ns(s, "evictions"));
	KVT_OK(kvt_release1(s->fd, &h[5]));
	KVT_OK(kvr_put(s->fd, &o, buf));
	evictions = kvr_ns(s, "evictions");
	EXPECT_EQ(1, evictions);
	EXPECT_EQ(0, kvr_count_visible(s->fd, 1, 5, 1));
	EXPECT_EQ(7, kvr_count_visible(s->fd, 1, 0, 8));
}

/* R55, the half about leases: all of the quota is leased. */
TEST_F(store, R55_all_of_the_quota_leased_is_quota)
{
	struct kvt_ns_args ns = { .quota_bytes = 4 * KVL_PIECE,
				  .lease_bytes = 4 * KVL_PIECE };
	struct kvr_obj o = kvl_piece(2, 0);
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[4];
	struct kvstash_result r;

	kvr_store_make(_metadata, s, KVL_POOL, &ns);
	KVT_OK(kvl_put_pieces(s->fd, 1, 0, 4, buf));
	EXPECT_EQ(4, lease_pieces(s->fd, 1, 0, 4, h, &r));
	r = kvr_put(s->fd, &o, buf);
	KVT_EXPECT(EDQUOT, KVSTASH_R_QUOTA_BYTES, r);
	EXPECT_EQ(KVL_PIECE, r.detail);
	KVT_OK(kvt_release1(s->fd, &h[0]));
	KVT_OK(kvr_put(s->fd, &o, buf));
	EXPECT_EQ(3, kvr_count_visible(s->fd, 1, 1, 3));
}

/* What a client can make the kernel remember has an end, also for one object. */
TEST_F(store, I10_leases_of_a_client_are_bounded)
{
	static struct kvr_key keys[KVSTASH_BATCH_MAX];
	static struct kvstash_handle h[KVSTASH_BATCH_MAX + 1];
	struct kvr_store *s = &self->s;
	struct kvstash_handle one;
	struct kvstash_result r;
	struct kvstash_keys k;

	kvr_store_make(_metadata, s, KVL_POOL, NULL);
	KVT_OK(kvl_put_pieces(s->fd, 1, 7, 1, buf));
	for (unsigned int i = 0; i < KVSTASH_BATCH_MAX; i++)
		keys[i] = kvl_piece(1, 7).key;
	kvstash_prep_keys(&k, keys, sizeof(*keys), KVSTASH_BATCH_MAX);
	for (unsigned int n = 0; n < KVSTASH_LEASES_MAX; n += KVSTASH_BATCH_MAX)
		ASSERT_EQ(KVSTASH_BATCH_MAX, kvt_lookup_lease(s->fd, &k, h));
	EXPECT_EQ(KVSTASH_LEASES_MAX, kvr_ns(s, "leases"));
	EXPECT_EQ(KVL_PIECE, kvr_ns(s, "leased_bytes"));
	EXPECT_EQ(-EDQUOT, kvt_lookup_lease(s->fd, &k, h + 1));
	EXPECT_EQ(KVSTASH_R_LEASE_COUNT, k.reason);
	r = kvt_get_lease1(s->fd, keys, sizeof(*keys), NULL, 0, NULL, &one);
	KVT_EXPECT(EDQUOT, KVSTASH_R_LEASE_COUNT, r);
	EXPECT_EQ(KVSTASH_LEASES_MAX, r.detail);
	EXPECT_EQ(KVSTASH_LEASES_MAX, kvr_ns(s, "leases"));
	KVT_OK(kvt_release1(s->fd, &h[0]));
	KVT_OK(kvt_get_lease1(s->fd, keys, sizeof(*keys), NULL, 0, NULL, &one));
	close(s->fd);
	s->fd = -1;
	EXPECT_EQ(0, kvr_ns(s, "leases"));
	EXPECT_EQ(KVSTASH_LEASES_MAX, kvr_ns(s, "leases_by_death"));
}

TEST_HARNESS_MAIN
