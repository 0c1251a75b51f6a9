// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/*
 * Making room: quotas, idle incomplete objects, readers. Without watermarks
 * only a put that needs room evicts, so each eviction can be foretold.
 */
#include "r_store.h"

#define POOL	KVR_MB(2)
#define PIECE	(POOL / 8)	/* of this size are most objects here */

static char buf[POOL + 4096];

static struct kvr_obj piece(__u64 space, __u64 id)
{
	return (struct kvr_obj){ .key = { space, id }, .len = PIECE, .parts = 1 };
}

/* A second namespace in the store's pool: a client of it. */
static int neighbour(struct __test_metadata *_metadata, const struct kvr_store *s,
		     const char *name, const struct kvt_ns_args *limits)
{
	struct kvt_ns_args ns = { 0 };
	int fd;

	if (limits)
		ns = *limits;
	ns.name = name;
	ns.pool = s->name;
	EXPECT_EQ(0, kvt_ns_new(&ns));
	fd = kvt_open_ns(name);
	EXPECT_LE(0, fd);
	return fd;
}

static void neighbour_end(struct __test_metadata *_metadata, const char *name, int fd)
{
	close(fd);
	EXPECT_EQ(0, kvt_ns_del(name));
}

static void put_pieces(struct __test_metadata *_metadata, int fd, __u64 space,
		       __u64 first, unsigned int n)
{
	for (__u64 id = first; id < first + n; id++) {
		struct kvr_obj o = piece(space, id);

		KVT_OK(kvr_put(fd, &o, buf));
	}
}

TEST_F(store, I10_byte_quota_evicts_own_oldest_only)
{
	struct kvt_ns_args quota = { .quota_bytes = 3 * PIECE };
	struct kvr_store *s = &self->s;
	int fd;

	kvr_store_make(_metadata, s, POOL, NULL);
	put_pieces(_metadata, s->fd, 1, 0, 4);	/* older than all of the other */
	fd = neighbour(_metadata, s, "quota", &quota);
	put_pieces(_metadata, fd, 2, 0, 3);
	EXPECT_EQ(3, kvr_count_visible(fd, 2, 0, 3));
	EXPECT_EQ(PIECE, kvr_pool(s, "free_bytes"));
	for (__u64 id = 3; id < 10; id++) {
		put_pieces(_metadata, fd, 2, id, 1);
		EXPECT_EQ(3, kvr_count_visible(fd, 2, id - 2, 3));
		EXPECT_EQ(0, kvr_count_visible(fd, 2, 0, id - 2));
	}
	EXPECT_EQ(4, kvr_count_visible(s->fd, 1, 0, 4));
	EXPECT_EQ(0, kvr_ns(s, "evictions"));
	neighbour_end(_metadata, "quota", fd);
}

TEST_F(store, I10_byte_quota_without_a_victim_is_refused)
{
	struct kvt_ns_args quota = { .quota_bytes = 3 * PIECE };
	struct kvr_store *s = &self->s;
	struct kvr_obj o = piece(2, 0);
	struct kvstash_handle h[3];
	struct kvstash_result r;
	int fd;

	kvr_store_make(_metadata, s, POOL, NULL);
	fd = neighbour(_metadata, s, "quota", &quota);
	for (o.key.id = 0; o.key.id < 3; o.key.id++)
		KVT_OK(kvr_reserve(fd, &o, 0, &h[o.key.id]));
	r = kvr_put(fd, &o, buf);
	KVT_EXPECT(EDQUOT, KVSTASH_R_QUOTA_BYTES, r);
	EXPECT_EQ(PIECE, r.detail);
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(fd, &o, NULL));
	KVT_OK(kvt_abort1(fd, &h[0]));
	KVT_OK(kvr_put(fd, &o, buf));
	o = piece(3, 0);
	o.len = 3 * PIECE + 1;	/* never fits the quota, though the pool */
	r = kvr_put(fd, &o, buf);
	KVT_EXPECT(EDQUOT, KVSTASH_R_QUOTA_BYTES, r);
	EXPECT_EQ(KVT_PAGE, r.detail);
	neighbour_end(_metadata, "quota", fd);
}

TEST_F(store, R57_I10_object_quota)
{
	struct kvt_ns_args quota = { .quota_objects = 3 };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[3];
	struct kvr_obj o = piece(2, 0);
	struct kvstash_result r;
	int fd;

	kvr_store_make(_metadata, s, POOL, NULL);
	put_pieces(_metadata, s->fd, 1, 0, 2);
	fd = neighbour(_metadata, s, "quota", &quota);
	for (__u64 id = 0; id < 6; id++)
		put_pieces(_metadata, fd, 2, id, 1);
	EXPECT_EQ(3, kvr_count_visible(fd, 2, 3, 3));
	EXPECT_EQ(0, kvr_count_visible(fd, 2, 0, 3));
	EXPECT_EQ(2, kvr_count_visible(s->fd, 1, 0, 2));

	for (o.key.id = 10; o.key.id < 13; o.key.id++)
		KVT_OK(kvr_reserve(fd, &o, 0, &h[o.key.id - 10]));
	r = kvr_put(fd, &o, buf);
	KVT_EXPECT(EDQUOT, KVSTASH_R_QUOTA_OBJECTS, r);
	EXPECT_EQ(3, r.detail);
	KVT_OK(kvt_abort1(fd, &h[2]));
	KVT_OK(kvr_put(fd, &o, buf));
	neighbour_end(_metadata, "quota", fd);
}

/* That a put never fits in bytes is seen before an object goes for the quota of objects. */
TEST_F(store, I10_refused_for_its_bytes_it_takes_no_objects_place)
{
	struct kvt_ns_args quota = { .quota_bytes = 3 * PIECE, .quota_objects = 2 };
	struct kvr_store *s = &self->s;
	struct kvr_obj o = piece(3, 0);
	struct kvstash_handle h;
	struct kvstash_result r;
	int fd;

	kvr_store_make(_metadata, s, POOL, NULL);
	fd = neighbour(_metadata, s, "quota", &quota);
	put_pieces(_metadata, fd, 2, 0, 2);
	o.len = 3 * PIECE + 1;
	r = kvr_put(fd, &o, buf);
	KVT_EXPECT(EDQUOT, KVSTASH_R_QUOTA_BYTES, r);
	EXPECT_EQ(KVT_PAGE, r.detail);
	KVT_EXPECT(EDQUOT, KVSTASH_R_QUOTA_BYTES, kvr_reserve(fd, &o, 0, &h));
	o.len = POOL + 1;
	KVT_EXPECT(EFBIG, KVSTASH_R_TOO_LARGE, kvr_put(fd, &o, buf));
	EXPECT_EQ(2, kvr_count_visible(fd, 2, 0, 2));
	neighbour_end(_metadata, "quota", fd);
}

/* Lockdep and the like make every lock larger. */
static bool debug_kernel(void)
{
	const char *bed = getenv("KVSTASH_BED");

	return bed && (!strcmp(bed, "debug") || !strcmp(bed, "smp"));
}

/* R57: what the index takes is told, and little: 256 bytes and the key each. */
TEST_F(store, R57_memory_beside_the_bytes_is_told)
{
	struct kvr_obj o = { .key = { 57, 0 }, .len = 64, .parts = 1 };
	static struct kvstash_put e[512];
	static struct kvr_key keys[512];
	struct kvr_store *s = &self->s;
	const __u64 n = 8192;
	__u64 index, meta;

	kvr_store_make(_metadata, s, n * KVT_PAGE, NULL);
	for (o.key.id = 0; o.key.id < n; o.key.id++) {
		unsigned int i = o.key.id % KVT_LEN(e);

		kvr_prep(&e[i], &o, 0, buf);
		keys[i] = o.key;
		e[i].key = kvstash_addr(&keys[i]);
		if (i == KVT_LEN(e) - 1)
			ASSERT_EQ(KVT_LEN(e), kvt_put(s->fd, e, KVT_LEN(e)));
	}
	EXPECT_EQ(n, kvr_ns(s, "visible"));
	index = kvr_pool(s, "index_bytes");
	meta = kvr_pool(s, "meta_bytes");
	EXPECT_LT(0, index);
	EXPECT_LT(n * sizeof(o.key), meta);
	EXPECT_GE(n * ((debug_kernel() ? 512 : 256) + sizeof(o.key)), index + meta);
	TH_LOG("%llu objects: index %llu, objects %llu: %llu bytes each", n, index,
	       meta, (index + meta) / n);
}

TEST_F(store, pool_pressure_takes_the_oldest_of_all_namespaces)
{
	struct kvr_store *s = &self->s;
	int fd;

	kvr_store_make(_metadata, s, POOL, NULL);
	fd = neighbour(_metadata, s, "other", NULL);
	for (__u64 id = 0; id < 4; id++) {
		put_pieces(_metadata, s->fd, 1, id, 1);
		put_pieces(_metadata, fd, 2, id, 1);
	}
	for (__u64 id = 0; id < 8; id++) {
		put_pieces(_metadata, fd, 3, id, 1);
		EXPECT_EQ(3 - id / 2, kvr_count_visible(s->fd, 1, 0, 4));
		EXPECT_EQ(4 - (id + 1) / 2, kvr_count_visible(fd, 2, 0, 4));
	}
	neighbour_end(_metadata, "other", fd);
}

/* Leaves @o with its first part and without anyone who fills it. */
static void make_idle(struct __test_metadata *_metadata, const char *ns,
		      const struct kvr_obj *o)
{
	int fd = kvt_open_ns(ns);

	ASSERT_LE(0, fd);
	KVT_OK(kvr_put_part(fd, o, 0, buf));
	close(fd);
}

static const struct kvt_ns_args patient = { .incomplete_ms = 0x7fffffff };

TEST_F(store, idle_incomplete_objects_go_first)
{
	struct kvr_obj idle = { .key = { 2, 0 }, .len = PIECE, .parts = 2 };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, POOL, &patient);
	put_pieces(_metadata, s->fd, 1, 0, 6);
	for (idle.key.id = 0; idle.key.id < 2; idle.key.id++)
		make_idle(_metadata, s->name, &idle);
	EXPECT_EQ(0, kvr_pool(s, "free_bytes"));
	for (__u64 id = 0; id < 3; id++) {
		put_pieces(_metadata, s->fd, 3, id, 1);
		EXPECT_EQ(id < 2 ? 6 : 5, kvr_count_visible(s->fd, 1, 0, 6));
	}
	EXPECT_EQ(2, kvr_ns(s, "collected_incomplete"));
	EXPECT_EQ(1, kvr_ns(s, "evictions"));
	for (idle.key.id = 0; idle.key.id < 2; idle.key.id++)
		KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(s->fd, &idle, NULL));
}

/* What a client contributed to is not idle while it lives: visible ones go. */
TEST_F(store, I5_living_contributor_keeps_an_incomplete_object)
{
	struct kvr_obj o = { .key = { 2, 0 }, .len = PIECE - 24, .parts = 2 };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, POOL, NULL);
	KVT_OK(kvr_put_part(s->fd, &o, 0, buf));
	put_pieces(_metadata, s->fd, 1, 0, 70);
	KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE, kvr_exists(s->fd, &o, NULL));
	KVT_OK(kvr_put_part(s->fd, &o, 1, buf));
	KVT_OK(kvr_get(s->fd, &o, buf));
	EXPECT_EQ(0, kvr_ns(s, "collected_incomplete"));
}

/* Nothing tells of a collection: look until it is done. The bound is for hangs. */
static bool collected(const char *path, __u64 want)
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	__u64 v = 0;

	for (unsigned int i = 0; i < 10000; i++) {
		if (!kvt_figure(path, "collected_incomplete", &v) && v >= want)
			return v == want;
		nanosleep(&nap, NULL);
	}
	return false;
}

TEST_F(store, incomplete_object_is_collected_and_its_key_free)
{
	struct kvr_obj idle = { .key = { 2, 0 }, .len = PIECE, .parts = 2 };
	struct kvt_ns_args ns = { .incomplete_ms = 100 };
	struct kvr_store *s = &self->s;
	struct kvr_obj o = piece(2, 0);
	struct kvr_key keys[2] = { { 2, 0 }, { 2, 1 } };
	struct kvr_obj child = piece(2, 1);

	kvr_store_make(_metadata, s, POOL, &ns);
	child.parent = &keys[0];
	KVT_OK(kvr_put_part(s->fd, &idle, 0, buf));
	KVT_OK(kvr_put(s->fd, &child, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_PENDING, kvr_exists(s->fd, &child, NULL));
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_PARTS, kvr_put(s->fd, &o, buf));
	/* the client dies, another one looks */
	close(s->fd);
	s->fd = kvt_open_ns(s->name);
	ASSERT_LE(0, s->fd);
	EXPECT_TRUE(collected(s->ns, 1));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(s->fd, &idle, NULL));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(s->fd, &child, NULL));
	KVT_OK(kvr_put(s->fd, &o, buf));
	KVT_OK(kvr_get(s->fd, &o, buf));
	EXPECT_EQ(PIECE, kvr_pool(s, "committed_bytes"));
}

/* A namespace that waits for long does not make another one wait. */
TEST_F(store, incomplete_timeout_is_each_namespaces_own)
{
	struct kvr_obj idle = { .key = { 2, 0 }, .len = PIECE, .parts = 2 };
	struct kvt_ns_args quick = { .incomplete_ms = 100 };
	struct kvr_store *s = &self->s;
	int fd;

	kvr_store_make(_metadata, s, POOL, &patient);
	fd = neighbour(_metadata, s, "quick", &quick);
	make_idle(_metadata, s->name, &idle);
	make_idle(_metadata, "quick", &idle);
	EXPECT_TRUE(collected("/proc/kvstash/ns/quick", 1));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(fd, &idle, NULL));
	KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE, kvr_exists(s->fd, &idle, NULL));
	neighbour_end(_metadata, "quick", fd);
}

/* So does one whose time-out is made shorter afterwards. */
TEST_F(store, shorter_incomplete_timeout_takes_effect)
{
	struct kvr_obj idle = { .key = { 2, 0 }, .len = PIECE, .parts = 2 };
	struct kvt_ns_args shorter = { .incomplete_ms = 100 };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, POOL, &patient);
	make_idle(_metadata, s->name, &idle);
	shorter.name = s->name;
	ASSERT_EQ(0, kvt_ns_set(&shorter));
	EXPECT_TRUE(collected(s->ns, 1));
}

/*
 * Nobody fills the parent any more, but a living client fills a child of it: both
 * stay, though the time-out has passed long ago and a put looks for room.
 */
TEST_F(store, I5_idle_parent_of_a_living_clients_child_stays)
{
	struct kvr_obj parent = { .key = { 2, 0 }, .len = PIECE - 24, .parts = 2 };
	struct kvt_ns_args hasty = { .incomplete_ms = 1 }, calm = patient;
	struct kvr_obj child = piece(2, 1), loose = { .key = { 4, 0 }, .len = PIECE, .parts = 2 };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;

	kvr_store_make(_metadata, s, POOL, &patient);
	child.parent = &parent.key;
	make_idle(_metadata, s->name, &parent);
	KVT_OK(kvr_reserve(s->fd, &child, 0, &h));
	hasty.name = s->name;
	ASSERT_EQ(0, kvt_ns_set(&hasty));
	put_pieces(_metadata, s->fd, 1, 0, 70);
	/* The collector has been at work when this one is gone. */
	make_idle(_metadata, s->name, &loose);
	EXPECT_TRUE(collected(s->ns, 1));
	KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE, kvr_exists(s->fd, &parent, NULL));
	/* Committed, the child keeps nobody any more: both could be collected. */
	calm.name = s->name;
	ASSERT_EQ(0, kvt_ns_set(&calm));
	KVT_OK(kvr_write_all(s->fd, &child, 0, &h, buf));
	KVT_OK(kvt_commit1(s->fd, &h));
	KVT_OK(kvr_put_part(s->fd, &parent, 1, buf));
	KVT_OK(kvr_get(s->fd, &child, buf));
	KVT_OK(kvr_get(s->fd, &parent, buf));
	EXPECT_EQ(1, kvr_ns(s, "collected_incomplete"));
}

/* What waits for an idle parent goes before it, when a put needs the room. */
TEST_F(store, I9_idle_parent_goes_after_what_waits_for_it)
{
	struct kvr_obj parent = { .key = { 2, 0 }, .len = PIECE, .parts = 2 };
	struct kvr_obj child = piece(2, 1);
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, POOL, &patient);
	child.parent = &parent.key;
	make_idle(_metadata, s->name, &parent);
	KVT_OK(kvr_put(s->fd, &child, buf));
	put_pieces(_metadata, s->fd, 1, 0, 7);
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(s->fd, &child, NULL));
	KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE, kvr_exists(s->fd, &parent, NULL));
	put_pieces(_metadata, s->fd, 1, 7, 1);
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(s->fd, &parent, NULL));
	EXPECT_EQ(8, kvr_count_visible(s->fd, 1, 0, 8));
	EXPECT_EQ(1, kvr_ns(s, "killed_with_parent"));
	EXPECT_EQ(1, kvr_ns(s, "collected_incomplete"));
	EXPECT_EQ(0, kvr_ns(s, "evictions"));
}

/* An object that is being read is not evicted: it counts as just used. */
TEST_F(store, I3_read_object_is_passed_over)
{
	struct kvr_store *s = &self->s;
	struct kvr_obj o = piece(1, 0);
	struct kvr_reader rd;

	if (kvr_uffd_works())
		SKIP(return, "userfaultfd: %s", strerror(-kvr_uffd_works()));
	kvr_store_make(_metadata, s, POOL, NULL);
	put_pieces(_metadata, s->fd, 1, 0, 8);
	ASSERT_EQ(0, kvr_reader_start(&rd, s->fd, &o));
	put_pieces(_metadata, s->fd, 2, 0, 3);
	EXPECT_EQ(1, kvr_count_visible(s->fd, 1, 0, 4));
	EXPECT_EQ(4, kvr_count_visible(s->fd, 1, 4, 4));
	put_pieces(_metadata, s->fd, 2, 3, 20);
	EXPECT_EQ(1, kvr_count_visible(s->fd, 1, 0, 8));
	KVT_OK(kvr_reader_finish(&rd));
	KVT_OK(kvr_get(s->fd, &o, buf));
}

/* If all that could go is being read, the put is refused, with the bytes. */
TEST_F(store, nothing_to_evict_is_no_space_with_the_bytes)
{
	struct kvr_store *s = &self->s;
	struct kvstash_handle h[8];
	struct kvr_obj o = piece(1, 0);
	struct kvstash_result r;
	__u64 refused;

	kvr_store_make(_metadata, s, POOL, NULL);
	for (; o.key.id < 8; o.key.id++)
		KVT_OK(kvr_reserve(s->fd, &o, 0, &h[o.key.id]));
	refused = kvr_pool(s, "no_space");
	r = kvr_put(s->fd, &o, buf);
	KVT_EXPECT(ENOSPC, KVSTASH_R_NO_SPACE, r);
	EXPECT_EQ(PIECE, r.detail);
	KVT_OK(kvt_abort1(s->fd, &h[0]));
	o.len = PIECE + 1;
	r = kvr_put(s->fd, &o, buf);
	KVT_EXPECT(ENOSPC, KVSTASH_R_NO_SPACE, r);
	EXPECT_EQ(KVT_PAGE, r.detail);
	EXPECT_EQ(refused + 2, kvr_pool(s, "no_space"));
	o.len = POOL + 1;
	r = kvr_put(s->fd, &o, buf);
	KVT_EXPECT(EFBIG, KVSTASH_R_TOO_LARGE, r);
	EXPECT_EQ(POOL, r.detail);
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(s->fd, &o, NULL));
	o.len = PIECE;
	KVT_OK(kvr_put(s->fd, &o, buf));
}

TEST_HARNESS_MAIN
