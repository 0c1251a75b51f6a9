// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: none */
/*
 * R61, R81: sizes of pools are rounded up and reported, or refused at once with
 * the rule; what a pool says it has can be used.
 */
#include <kvstash_test.h>

#define MIB	0x100000ULL

static int figure(const char *pool, const char *name, __u64 *v)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/kvstash/pool/%s", pool);
	return kvt_figure(path, name, v);
}

static void pool_sane(struct __test_metadata *_metadata, const char *pool,
		      __u64 bytes)
{
	struct kvt_counts c;
	char path[64];
	__u64 chunks;

	snprintf(path, sizeof(path), "/proc/kvstash/pool/%s", pool);
	ASSERT_EQ(0, kvt_counts_of(path, &c));
	EXPECT_EQ(bytes, c.total);
	EXPECT_EQ(bytes, c.free);
	EXPECT_TRUE(kvt_i6(&c));
	ASSERT_EQ(0, figure(pool, "chunks", &chunks));
	EXPECT_LE(bytes / (2 * MIB), chunks);
}

FIXTURE(module) {
};

FIXTURE_SETUP(module)
{
	if (!kvt_module_path())
		SKIP(return, "KVSTASH_KO is not set");
	ASSERT_EQ(0, kvt_module_load(""));
}

FIXTURE_TEARDOWN(module)
{
	if (kvt_module_path())
		EXPECT_EQ(0, kvt_module_unload());
}

static const struct {
	__u64 ask;
	__u64 get;
	int err;
} sizes[] = {
	{ 1, 2 * MIB, 0 },
	{ 4096, 2 * MIB, 0 },
	{ 2 * MIB - 1, 2 * MIB, 0 },
	{ 2 * MIB, 2 * MIB, 0 },
	{ 2 * MIB + 1, 4 * MIB, 0 },
	{ 3 * MIB, 4 * MIB, 0 },
	{ 5 * MIB, 6 * MIB, 0 },
	{ 7 * MIB + 12345, 8 * MIB, 0 },
	{ 33 * MIB, 34 * MIB, 0 },
	{ 0, 0, EINVAL },
	{ 1ULL << 45, 0, EFBIG },
	{ 1ULL << 62, 0, EFBIG },
	{ 1ULL << 63, 0, EFBIG },
	{ ~0ULL, 0, EFBIG },
	{ ~0ULL - 2 * MIB + 2, 0, EFBIG },	/* wraps if rounded first */
};

TEST_F(module, R61_sizes_are_rounded_and_reported)
{
	static struct kvt_nl_reply r;
	__u64 bytes;

	for (size_t i = 0; i < KVT_LEN(sizes); i++) {
		memset(&r, 0, sizeof(r));
		EXPECT_EQ(-sizes[i].err,
			  kvt_pool_new("sized", sizes[i].ask, &r)) {
			TH_LOG("%llu bytes: %s", sizes[i].ask, r.text);
		}
		if (sizes[i].err) {
			EXPECT_NE('\0', r.text[0]);
			EXPECT_NE(0, access("/proc/kvstash/pool/sized", F_OK));
			continue;
		}
		bytes = 0;
		EXPECT_EQ(8, kvt_nl_find((void *)r.msg, GENL_HDRLEN,
					 KVSTASH_A_POOL_BYTES, &bytes, 8));
		EXPECT_EQ(sizes[i].get, bytes);
		pool_sane(_metadata, "sized", sizes[i].get);
		EXPECT_EQ(0, kvt_pool_del("sized"));
		EXPECT_NE(0, access("/proc/kvstash/pool/sized", F_OK));
	}
}

TEST_F(module, size_must_be_given)
{
	struct kvt_pool_args a = { .name = "unsized" };
	static struct kvt_nl_reply r;

	EXPECT_EQ(-EINVAL, kvt_nl_do(KVSTASH_CMD_POOL_NEW, kvt_pool_fill, &a,
				     &r));
}

static const struct {
	const char *name;
	int err;
} names[] = {
	{ "a", 0 },
	{ "A-z_0.9", 0 },
	{ "0123456789012345678901234567890", 0 },
	{ "", EINVAL },
	{ "white space", EINVAL },
	{ "a/b", EINVAL },
	{ "..", EINVAL },
	{ "caf\xc3\xa9", EINVAL },
};

TEST_F(module, names_of_pools)
{
	for (size_t i = 0; i < KVT_LEN(names); i++) {
		EXPECT_EQ(-names[i].err, kvt_pool_new(names[i].name, 1, NULL)) {
			TH_LOG("\"%s\"", names[i].name);
		}
		if (!names[i].err)
			EXPECT_EQ(0, kvt_pool_del(names[i].name));
	}
	EXPECT_NE(0, kvt_pool_new("01234567890123456789012345678901", 1, NULL));
}

TEST_F(module, pools_come_and_go)
{
	struct kvt_ns_args ns = { .name = "tenant", .pool = "second" };

	EXPECT_NE(0, kvt_pool_del("first"));
	ASSERT_EQ(0, kvt_pool_new("first", 2 * MIB, NULL));
	EXPECT_EQ(-EEXIST, kvt_pool_new("first", 2 * MIB, NULL));
	ASSERT_EQ(0, kvt_pool_new("second", 4 * MIB, NULL));
	ASSERT_EQ(0, kvt_ns_new(&ns));
	EXPECT_EQ(-EEXIST, kvt_ns_new(&ns));
	EXPECT_EQ(-EBUSY, kvt_pool_del("second"));
	EXPECT_EQ(0, kvt_ns_del("tenant"));
	EXPECT_EQ(0, kvt_pool_del("second"));
	EXPECT_EQ(0, kvt_pool_del("first"));
	/* left for the module's end to take down */
	ASSERT_EQ(0, kvt_pool_new("third", 2 * MIB, NULL));
	ns.pool = "third";
	ASSERT_EQ(0, kvt_ns_new(&ns));
}

/* A pool in use is not taken away. */
TEST_F(module, pool_in_use_is_busy)
{
	int fd;

	ASSERT_EQ(0, kvt_pool_new("used", 2 * MIB, NULL));
	fd = kvt_open_ns("default");
	ASSERT_LE(0, fd);
	KVT_OK(kvt_put1(fd, "k", 1, "x", 1));
	EXPECT_EQ(-EBUSY, kvt_pool_del("used"));
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, kvt_state(fd, "k", 1));
	close(fd);
	EXPECT_EQ(0, kvt_pool_del("used"));
}

/* Without a pool there is a device, but nothing to bind to. */
TEST_F(module, no_pool_no_namespace)
{
	struct kvstash_query q;
	int fd = kvt_open();

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, kvt_query(fd, &q));
	EXPECT_EQ(0, q.bound);
	KVT_EXPECT(ENODEV, KVSTASH_R_NO_NAMESPACE, kvt_bind(fd, "default"));
	KVT_EXPECT(ENODEV, KVSTASH_R_NO_NAMESPACE,
		   kvt_put1(fd, "k", 1, "x", 1));
	KVT_EXPECT(ENODEV, KVSTASH_R_NO_NAMESPACE,
		   kvt_exists1(fd, "k", 1, NULL));
	ASSERT_EQ(0, kvt_pool_new("late", 2 * MIB, NULL));
	KVT_OK(kvt_put1(fd, "k", 1, "x", 1));
	close(fd);
	EXPECT_EQ(0, kvt_pool_del("late"));
}

/* Every page of a pool of the least size can be had, and not one more. */
TEST_F(module, I6_least_pool_is_usable_to_the_last_page)
{
	const __u64 bytes = 2 * MIB;
	struct kvstash_handle h;
	struct kvstash_result r;
	char key[16];
	int fd;

	ASSERT_EQ(0, kvt_pool_new("least", 1, NULL));
	fd = kvt_open();
	ASSERT_LE(0, fd);
	for (unsigned int i = 0; i < bytes / KVT_PAGE; i++) {
		snprintf(key, sizeof(key), "page/%u", i);
		KVT_OK(kvt_reserve1(fd, key, strlen(key), 1, NULL));
	}
	r = kvt_reserve1(fd, "more", 4, 1, &h);
	KVT_EXPECT(ENOSPC, KVSTASH_R_NO_SPACE, r);
	EXPECT_EQ(KVT_PAGE, r.detail);
	KVT_EXPECT(EFBIG, KVSTASH_R_TOO_LARGE,
		   kvt_reserve1(fd, "more", 4, bytes + 1, &h));
	close(fd);
	fd = kvt_open();
	KVT_OK(kvt_reserve1(fd, "all", 3, bytes, &h));
	close(fd);
	pool_sane(_metadata, "least", bytes);
	EXPECT_EQ(0, kvt_pool_del("least"));
}

/* The size that the module is loaded with follows the same rule. */
static const struct {
	const char *params;
	__u64 total;		/* 0: not loaded */
} loads[] = {
	{ "pool_mb=1", 2 * MIB },
	{ "pool_mb=3", 4 * MIB },
	{ "pool_mb=16", 16 * MIB },
	{ "pool_mb=17592186044415", 0 },	/* 2^64 - 2^20 bytes */
	{ "pool_mb=17592186044416", 0 },
	{ "pool_mb=17592186044417", 0 },	/* 1 MiB if it wraps */
	{ "pool_mb=18446744073709551615", 0 },
	{ "pool_mb=-1", 0 },
	{ "pool_mb=1 pool_node=4096", 0 },
	{ "pool_mb=1 pool_node=-2", 0 },
};

TEST(R61_sizes_at_load)
{
	if (!kvt_module_path())
		SKIP(return, "KVSTASH_KO is not set");
	for (size_t i = 0; i < KVT_LEN(loads); i++) {
		int err = kvt_module_load(loads[i].params);

		EXPECT_EQ(!loads[i].total, !!err) {
			TH_LOG("%s: %d", loads[i].params, err);
		}
		if (err)
			continue;
		EXPECT_EQ(loads[i].total, kvt_pool("total_bytes"));
		EXPECT_EQ(loads[i].total, kvt_pool("free_bytes"));
		kvt_sane(_metadata);
		ASSERT_EQ(0, kvt_module_unload());
	}
}

TEST_HARNESS_MAIN
