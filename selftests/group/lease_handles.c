// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=16 wm_low=0 wm_high=0 */
/*
 * The handle of a lease: each misuse has its error and changes nothing; a lease
 * whose handle can't be handed over does not stay.
 */
#include <stddef.h>

#include "lease.h"

static char buf[65536 + KVT_PAGE];

static struct kvr_obj object(__u64 id)
{
	return (struct kvr_obj){ .key = { 1, id }, .len = 5000, .parts = 1 };
}

/* What can be done to a handle. */
enum action {
	RELEASE,
	GET,
	WRITE,
	COMMIT,
	ABORT,
	ACTIONS
};

static const char * const action_name[ACTIONS] = {
	"release", "get", "write", "commit", "abort",
};

static struct kvstash_result act(int fd, const struct kvstash_handle *h, unsigned int what)
{
	switch (what) {
	case RELEASE:
		return kvt_release1(fd, h);
	case GET:
		return kvt_get_by_lease1(fd, h, buf, 5000, NULL);
	case WRITE:
		return kvt_write1(fd, h, 0, "x", 1);
	case COMMIT:
		return kvt_commit1(fd, h);
	default:
		return kvt_abort1(fd, h);
	}
}

static void refuse(struct __test_metadata *_metadata, int fd,
		   const struct kvstash_handle *h, unsigned int from, unsigned int to,
		   int err, __u32 reason)
{
	for (unsigned int a = from; a <= to; a++) {
		struct kvstash_result r = act(fd, h, a);

		EXPECT_TRUE(r.res == -err && r.reason == reason) {
			TH_LOG("%s of %llu.%llu: %d reason %u", action_name[a], h->client,
			       h->seq, r.res, r.reason);
		}
	}
}

FIXTURE(leased) {
	struct kvr_store s;
	struct kvr_obj o;
	struct kvstash_handle lease;
	struct kvstash_handle part;	/* reserved, of another object */
};

FIXTURE_SETUP(leased)
{
	struct kvr_obj other = object(1);

	self->o = object(0);
	kvr_store_make(_metadata, &self->s, KVR_MB(2), NULL);
	KVT_OK(kvr_put(self->s.fd, &self->o, buf));
	KVT_OK(kvl_lease(self->s.fd, &self->o, &self->lease));
	KVT_OK(kvr_reserve(self->s.fd, &other, 0, &self->part));
}

/* Whatever was tried, both are as good as before. */
FIXTURE_TEARDOWN(leased)
{
	struct kvr_obj other = object(1);
	int fd = self->s.fd;

	KVL_LEASED(1, kvr_room(&self->o), &self->s);
	EXPECT_EQ(kvr_ns(&self->s, "leases_released") + 1, kvr_ns(&self->s, "leases_taken"));
	KVT_OK(kvl_get(fd, &self->lease, &self->o, buf));
	KVT_OK(kvt_release1(fd, &self->lease));
	KVL_LEASED(0, 0, &self->s);
	KVT_OK(kvr_write_all(fd, &other, 0, &self->part, buf));
	KVT_OK(kvt_commit1(fd, &self->part));
	KVT_OK(kvr_get(fd, &other, buf));
	kvr_store_end(_metadata, &self->s);
}

TEST_F(leased, a_lease_is_no_part_and_a_part_no_lease)
{
	refuse(_metadata, self->s.fd, &self->lease, WRITE, ABORT, EBADF,
	       KVSTASH_R_HANDLE_UNKNOWN);
	refuse(_metadata, self->s.fd, &self->part, RELEASE, GET, EBADF,
	       KVSTASH_R_HANDLE_UNKNOWN);
	EXPECT_NE(self->lease.seq, self->part.seq);
	EXPECT_EQ(self->lease.client, self->part.client);
}

TEST_F(leased, handles_never_given_out)
{
	static const __u64 seqs[] = { 0, 1000000, 1ULL << 32, 1ULL << 63, ~0ULL };
	struct kvstash_handle h = self->lease;

	for (size_t i = 0; i < KVT_LEN(seqs); i++) {
		h.seq = seqs[i];
		refuse(_metadata, self->s.fd, &h, RELEASE, ABORT, EBADF,
		       KVSTASH_R_HANDLE_UNKNOWN);
	}
	for (int d = -3; d <= 3; d++) {		/* those beside the two that are */
		h.seq = self->lease.seq + d;
		if (h.seq != self->lease.seq)
			refuse(_metadata, self->s.fd, &h, RELEASE, GET, EBADF,
			       KVSTASH_R_HANDLE_UNKNOWN);
	}
}

TEST_F(leased, handle_of_another_client)
{
	int other = kvt_open_ns(self->s.name), unbound = kvt_open();

	ASSERT_LE(0, other);
	ASSERT_LE(0, unbound);
	refuse(_metadata, other, &self->lease, RELEASE, ABORT, EPERM,
	       KVSTASH_R_HANDLE_OWNER);
	refuse(_metadata, unbound, &self->lease, RELEASE, ABORT, EPERM,
	       KVSTASH_R_HANDLE_OWNER);
	close(other);
	close(unbound);
}

TEST_F(leased, release_with_flags_or_reserved_bytes)
{
	struct kvstash_end e;

	kvstash_prep_end(&e, &self->lease);
	e.flags = 1;
	KVT_EXPECT(EINVAL, KVSTASH_R_FLAGS,
		   kvt_one(self->s.fd, KVSTASH_IOC_RELEASE, &e, sizeof(e)));
	kvstash_prep_end(&e, &self->lease);
	e.reserved = 1;
	KVT_EXPECT(EINVAL, KVSTASH_R_RESERVED,
		   kvt_one(self->s.fd, KVSTASH_IOC_RELEASE, &e, sizeof(e)));
}

/* GET by a lease takes no key, and an unknown flag is one. */
TEST_F(leased, get_by_lease_with_a_key)
{
	struct kvstash_get e;

	kvstash_prep_get(&e, &self->o.key, sizeof(self->o.key), buf, 5000);
	e.flags = KVSTASH_GET_BY_LEASE;
	e.lease = self->lease;
	EXPECT_EQ(-EINVAL, kvt_get_one(self->s.fd, &e).res);
	kvstash_prep_get(&e, NULL, 0, buf, 5000);
	e.flags = KVSTASH_GET_BY_LEASE;
	e.lease = self->lease;
	e.kind = KVSTASH_KIND_GROUP;
	EXPECT_EQ(-EINVAL, kvt_get_one(self->s.fd, &e).res);
	kvstash_prep_get(&e, NULL, 0, buf, 5000);
	e.flags = KVSTASH_GET_BY_LEASE | 1U << 31;
	e.lease = self->lease;
	KVT_EXPECT(EINVAL, KVSTASH_R_FLAGS, kvt_get_one(self->s.fd, &e));
	EXPECT_EQ(1U << 31, e.r.detail);
}

/* Ranges, segments and buffers that do not fit are as without a lease. */
TEST_F(leased, get_by_lease_in_all_forms)
{
	struct kvstash_range range;
	struct kvstash_seg seg[2];
	struct kvstash_get e;

	kvstash_prep_get(&e, NULL, 0, buf, 4999);
	e.flags = KVSTASH_GET_BY_LEASE;
	e.lease = self->lease;
	KVT_EXPECT(ENOSPC, KVSTASH_R_BUFFER_SMALL, kvt_get_one(self->s.fd, &e));
	EXPECT_EQ(5000, e.r.detail);
	kvstash_prep_range(&range, 0, 1234, buf, 100);
	kvstash_prep_get_ranges(&e, NULL, 0, &range, 1);
	e.flags |= KVSTASH_GET_BY_LEASE;
	e.lease = self->lease;
	KVT_OK(kvt_get_one(self->s.fd, &e));
	EXPECT_EQ(100, e.bytes);
	EXPECT_EQ(5000, e.object_size);
	EXPECT_EQ(-1, kvt_verify_at(buf, 100, kvr_seed(&self->o.key, 0), 1234));
	range.offset = 4950;
	KVT_EXPECT(ERANGE, KVSTASH_R_RANGE, kvt_get_one(self->s.fd, &e));
	EXPECT_EQ(5000, e.r.detail);
	kvstash_prep_seg(&seg[0], buf, 17);
	kvstash_prep_seg(&seg[1], buf + 17, 4983);
	kvstash_prep_get_segs(&e, NULL, 0, seg, 2);
	e.flags = KVSTASH_GET_BY_LEASE;
	e.lease = self->lease;
	memset(buf, 0, 5000);
	KVT_OK(kvt_get_one(self->s.fd, &e));
	KVT_OK(kvr_verify(&self->o, buf));
}

/* Flags and members that belong to other commands. */
TEST_F(leased, misplaced_flags)
{
	struct kvstash_handle h[1];
	struct kvstash_exists x[1];
	struct kvstash_keys k;
	int fd = self->s.fd;

	kvstash_prep_keys(&k, &self->o.key, sizeof(self->o.key), 1);
	k.leases = kvstash_addr(h);		/* without the flag */
	EXPECT_EQ(-EINVAL, kvt_exists(fd, &k, x));
	EXPECT_EQ(offsetof(struct kvstash_keys, leases), k.field);
	k.results = 0;
	k.stride = 0;
	EXPECT_EQ(-EINVAL, kvt_lookup(fd, &k));
	kvstash_prep_keys(&k, &self->o.key, sizeof(self->o.key), 1);
	k.flags = KVSTASH_KEYS_LEASE;		/* of commands that take none */
	k.leases = kvstash_addr(h);
	EXPECT_EQ(-EINVAL, kvt_remove(fd, &k, x));
	EXPECT_EQ(KVSTASH_R_FLAGS, k.reason);
	k.pin = KVSTASH_PIN_SOFT;
	EXPECT_EQ(-EINVAL, kvt_pin(fd, &k, x));
	EXPECT_EQ(KVSTASH_R_FLAGS, k.reason);
	kvstash_prep_keys(&k, &self->o.key, sizeof(self->o.key), 1);
	k.flags = KVSTASH_KEYS_MEMBER;
	EXPECT_EQ(-EINVAL, kvt_exists(fd, &k, x));
	EXPECT_EQ(KVSTASH_R_FLAGS, k.reason);
}

/* An array for the handles that is not there, not aligned, or can't be written. */
TEST_F(leased, unwritable_lease_array_leaves_no_lease)
{
	char *edge = kvt_map_edge(sizeof(struct kvstash_handle));
	const void *bad[] = { NULL, edge + 8, buf + 4, (void *)KVT_PAGE,
			      (void *)-4096UL };
	struct kvstash_exists x[2];
	struct kvr_key keys[2] = { self->o.key, self->o.key };
	struct kvstash_keys k;
	int fd = self->s.fd;

	ASSERT_NE(NULL, edge);
	for (size_t i = 0; i < KVT_LEN(bad); i++) {
		kvstash_prep_keys(&k, keys, sizeof(*keys), 2);
		EXPECT_GT(0, kvt_exists_lease(fd, &k, x, (void *)bad[i]));
		EXPECT_EQ(offsetof(struct kvstash_keys, leases), k.field) {
			TH_LOG("array %zu: reason %u", i, k.reason);
		}
		KVL_LEASED(1, kvr_room(&self->o), &self->s);
		kvstash_prep_keys(&k, keys, sizeof(*keys), 2);
		EXPECT_GT(0, kvt_lookup_lease(fd, &k, (void *)bad[i]));
		KVL_LEASED(1, kvr_room(&self->o), &self->s);
	}
}

/* Entries of a GET that can't be written get no lease either. */
TEST_F(leased, unwritable_entries_leave_no_lease)
{
	struct kvstash_get *e = kvt_map(KVT_PAGE);
	struct kvstash_batch b;

	ASSERT_NE(NULL, e);
	kvstash_prep_get(e, &self->o.key, sizeof(self->o.key), buf, 5000);
	e->flags = KVSTASH_GET_LEASE;
	ASSERT_EQ(0, mprotect(e, KVT_PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, kvt_batch_hdr(self->s.fd, KVSTASH_IOC_GET, e, 1, sizeof(*e), &b));
	EXPECT_EQ(KVSTASH_R_BUFFER, b.reason);
	munmap(e, KVT_PAGE);
}

#define MANY	3000U

/* Keys of one object, so many that their handles fill several pages. */
static void lease_into(struct __test_metadata *_metadata, const struct kvr_store *s,
		       const struct kvr_obj *o, struct kvstash_handle *h, size_t good)
{
	static struct kvstash_exists x[MANY];
	static struct kvr_key keys[MANY];
	size_t room = kvt_pages(MANY * sizeof(*h));
	struct kvstash_keys k;

	for (unsigned int i = 0; i < MANY; i++)
		keys[i] = o->key;
	ASSERT_EQ(0, mprotect((char *)h + good, room - good, PROT_READ));
	kvstash_prep_keys(&k, keys, sizeof(*keys), MANY);
	EXPECT_EQ(-EFAULT, kvt_exists_lease(s->fd, &k, x, h));
	EXPECT_EQ(KVSTASH_R_BUFFER, k.reason);
	EXPECT_GE(good / sizeof(*h), k.done);
	KVL_LEASED(k.done, k.done ? kvr_room(o) : 0, s);
	for (unsigned int i = 0; i < k.done; i++)
		ASSERT_EQ(0, kvl_get(s->fd, &h[i], o, buf).res);
	ASSERT_EQ(0, mprotect(h, room, PROT_READ | PROT_WRITE));
	EXPECT_TRUE(!k.done || kvl_release_all(s->fd, h, k.done));
	KVL_LEASED(0, 0, s);
}

/*
 * A long array of which the end can't be written: the handles that were handed
 * over before are good, and there is no lease without a handle.
 */
TEST_F(store, I5_no_lease_without_its_handle)
{
	size_t room = kvt_pages(MANY * sizeof(struct kvstash_handle));
	struct kvstash_handle *h = kvt_map(room);
	struct kvr_store *s = &self->s;
	struct kvr_obj o = object(0);

	ASSERT_NE(NULL, h);
	kvr_store_make(_metadata, s, KVR_MB(2), NULL);
	KVT_OK(kvr_put(s->fd, &o, buf));
	for (size_t good = 0; good < room; good += KVT_PAGE)
		lease_into(_metadata, s, &o, h, good);
	munmap(h, room);
}

/* R23: however it is released again, the second says so and counts nothing. */
TEST_F(store, R23_release_again)
{
	struct kvr_store *s = &self->s;
	struct kvr_obj o = object(0);
	struct kvstash_handle h[3], twice[4];
	struct kvstash_end e[4];
	int owner, heir;

	kvr_store_make(_metadata, s, KVR_MB(2), NULL);
	owner = kvt_open_ns(s->name);
	ASSERT_LE(0, owner);
	KVT_OK(kvr_put(s->fd, &o, buf));
	for (int i = 0; i < 3; i++)
		KVT_OK(kvl_lease(s->fd, &o, &h[i]));

	KVT_OK(kvt_release1(s->fd, &h[0]));
	for (int i = 0; i < 10; i++)
		KVT_EXPECT(EALREADY, KVSTASH_R_RELEASED, kvt_release1(s->fd, &h[0]));
	KVL_LEASED(2, kvr_room(&o), s);
	EXPECT_EQ(1, kvr_ns(s, "leases_released"));

	twice[0] = h[1];
	twice[1] = h[1];
	twice[2] = h[0];
	twice[3] = h[1];
	ASSERT_EQ(4, kvl_release(s->fd, twice, 4, e));
	KVT_OK(e[0].r);
	for (int i = 1; i < 4; i++)
		KVT_EXPECT(EALREADY, KVSTASH_R_RELEASED, e[i].r);
	KVL_LEASED(1, kvr_room(&o), s);
	EXPECT_EQ(2, kvr_ns(s, "leases_released"));

	KVT_OK(kvl_lease(owner, &o, &h[0]));
	close(owner);
	heir = kvt_open_ns(s->name);
	ASSERT_LE(0, heir);
	KVT_EXPECT(EPERM, KVSTASH_R_HANDLE_OWNER, kvt_release1(heir, &h[0]));
	KVT_EXPECT(EPERM, KVSTASH_R_HANDLE_OWNER, kvt_release1(s->fd, &h[0]));
	KVL_LEASED(1, kvr_room(&o), s);
	EXPECT_EQ(2, kvr_ns(s, "leases_released"));
	EXPECT_EQ(1, kvr_ns(s, "leases_by_death"));
	KVT_OK(kvl_get(s->fd, &h[2], &o, buf));
	KVT_OK(kvt_release1(s->fd, &h[2]));
	KVL_LEASED(0, 0, s);
	close(heir);
}

/* A released lease gives no bytes, and is nothing to the commands of parts. */
TEST_F(store, released_handle_is_of_no_use)
{
	struct kvr_store *s = &self->s;
	struct kvr_obj o = object(0);
	struct kvstash_handle h;

	kvr_store_make(_metadata, s, KVR_MB(2), NULL);
	KVT_OK(kvr_put(s->fd, &o, buf));
	KVT_OK(kvl_lease(s->fd, &o, &h));
	KVT_OK(kvt_release1(s->fd, &h));
	refuse(_metadata, s->fd, &h, RELEASE, GET, EALREADY, KVSTASH_R_RELEASED);
	KVT_OK(kvr_remove(s->fd, &o));
	refuse(_metadata, s->fd, &h, RELEASE, GET, EALREADY, KVSTASH_R_RELEASED);
	for (unsigned int a = WRITE; a < ACTIONS; a++)
		EXPECT_EQ(-EBADF, act(s->fd, &h, a).res);
}

/* One that was released long ago is still none: how it ended may be forgotten. */
TEST_F(store, handles_of_long_ago)
{
	struct kvr_store *s = &self->s;
	struct kvstash_handle first, h;
	struct kvr_obj o = object(0);
	struct kvstash_result r;

	kvr_store_make(_metadata, s, KVR_MB(2), NULL);
	KVT_OK(kvr_put(s->fd, &o, buf));
	KVT_OK(kvl_lease(s->fd, &o, &first));
	KVT_OK(kvt_release1(s->fd, &first));
	for (unsigned int i = 0; i < 20000; i++) {
		ASSERT_EQ(0, kvl_lease(s->fd, &o, &h).res);
		ASSERT_LT(first.seq, h.seq);
		ASSERT_EQ(0, kvt_release1(s->fd, &h).res);
	}
	r = kvt_release1(s->fd, &first);
	EXPECT_TRUE((r.res == -EALREADY && r.reason == KVSTASH_R_RELEASED) ||
		    (r.res == -EBADF && r.reason == KVSTASH_R_FINISHED)) {
		TH_LOG("%d reason %u", r.res, r.reason);
	}
	KVT_EXPECT(EALREADY, KVSTASH_R_RELEASED, kvt_release1(s->fd, &h));
	KVL_LEASED(0, 0, s);
	EXPECT_EQ(20001, kvr_ns(s, "leases_taken"));
	EXPECT_EQ(20001, kvr_ns(s, "leases_released"));
}

/* Leases of an earlier load of the module are stale. */
TEST(handle_of_an_earlier_load_is_stale)
{
	struct kvstash_handle old, h;
	int fd;

	if (!kvt_module_path())
		SKIP(return, "KVSTASH_KO is not set");
	for (unsigned int i = 0; i < 3; i++) {
		fd = kvt_open();
		ASSERT_LE(0, fd);
		KVT_OK(kvt_put1(fd, "epoch", 5, buf, 5000));
		KVT_OK(kvt_exists_lease1(fd, "epoch", 5, NULL, &h));
		if (i)
			refuse(_metadata, fd, &old, RELEASE, ABORT, ESTALE,
			       KVSTASH_R_HANDLE_STALE);
		KVT_OK(kvt_get_by_lease1(fd, &h, buf, 5000, NULL));
		old = h;
		close(fd);
		kvt_sane(_metadata);
		ASSERT_EQ(0, kvt_module_reload("pool_mb=16"));
	}
}

TEST_HARNESS_MAIN
