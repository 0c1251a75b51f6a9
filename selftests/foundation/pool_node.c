// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 pool_node=0 */
/* R115: memory of the NUMA node that was asked for, and of no other. */
#include "r_store.h"

struct place {
	const char *name;
	__u64 bytes;
	__s32 node;
};

static void place_fill(struct kvt_nl *m, void *arg)
{
	const struct place *p = arg;

	kvt_nl_str(m, KVSTASH_A_POOL_NAME, p->name);
	kvt_nl_u64(m, KVSTASH_A_POOL_BYTES, p->bytes);
	kvt_nl_u32(m, KVSTASH_A_POOL_NODE, p->node);
}

static int place_new(const char *name, __u64 bytes, int node, struct kvt_nl_reply *r)
{
	struct place p = { name, bytes, node };

	return kvt_nl_do(KVSTASH_CMD_POOL_NEW, place_fill, &p, r);
}

static bool node_there(int node)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
	return !access(path, F_OK);
}

/* Bytes of a node by a line of its meminfo, "Node 1 MemFree:  123 kB". */
static __u64 node_bytes(int node, const char *line)
{
	char path[64], name[64], text[8192];
	__u64 kib = 0;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
	snprintf(name, sizeof(name), "Node %d %s", node, line);
	if (kvt_slurp(path, text, sizeof(text)) < 0 || kvt_line(text, name, &kib))
		return 0;
	return kib << 10;
}

/* Chunks of a pool in the debugfs map: of @node, and of any other. */
static void count_chunks(const char *pool, int node, unsigned int *here, unsigned int *other)
{
	FILE *f = fopen("/sys/kernel/debug/kvstash/pool_map", "r");
	char line[256], name[64];
	int chunk, nid;

	*here = 0;
	*other = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %d %d", name, &chunk, &nid) != 3 ||
		    strcmp(name, pool))
			continue;
		*(nid == node ? here : other) += 1;
	}
	if (f)
		fclose(f);
}

static void expect_on(struct __test_metadata *_metadata, const char *pool, int node)
{
	unsigned int here, other;
	char path[64];
	__u64 v;

	snprintf(path, sizeof(path), "/proc/kvstash/pool/%s", pool);
	count_chunks(pool, node, &here, &other);
	EXPECT_LT(0, here);
	EXPECT_EQ(0, other);
	ASSERT_EQ(0, kvt_figure(path, "chunks", &v));
	EXPECT_EQ(v, here);
	ASSERT_EQ(0, kvt_figure(path, "node", &v));
	EXPECT_EQ(node, v);
}

/*
 * Free bytes of a node. Pages that were freed a moment ago may lie in lists per
 * CPU, whole chunks of 2 MiB too, which MemFree does not count.
 */
static __u64 node_free(int node)
{
	__u64 pages = 0, count;
	bool here = false;
	char line[256];
	int n;
	FILE *f = fopen("/proc/zoneinfo", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Node %d,", &n) == 1)
			here = n == node;
		else if (here && sscanf(line, " count: %llu", &count) == 1)
			pages += count;
	}
	if (f)
		fclose(f);
	return node_bytes(node, "MemFree") + pages * KVT_PAGE;
}

TEST(R115_chunks_are_of_the_node_asked_for)
{
	static struct kvt_nl_reply r;
	__u64 before;

	expect_on(_metadata, "pool0", 0);	/* by the module's parameter */
	if (!node_there(1))
		SKIP(return, "one NUMA node only");
	for (int node = 0; node < 2; node++) {
		before = node_free(node);
		ASSERT_EQ(0, place_new("placed", KVR_MB(64), node, &r));
		expect_on(_metadata, "placed", node);
		EXPECT_GT(before - KVR_MB(60), node_free(node));
		EXPECT_EQ(0, kvt_pool_del("placed"));
	}
}

TEST(R115_node_that_is_not_there_is_refused_by_name)
{
	static const int nodes[] = { 9, 4096, -2, 0x7fffffff };
	static struct kvt_nl_reply r;

	for (unsigned int i = 0; i < KVT_LEN(nodes); i++) {
		EXPECT_EQ(-ENODEV, place_new("nowhere", KVR_MB(2), nodes[i], &r));
		EXPECT_NE(NULL, strstr(r.text, "node")) {
			TH_LOG("text: \"%s\"", r.text);
		}
		EXPECT_NE(0, access("/proc/kvstash/pool/nowhere", F_OK));
	}
}

/*
 * More than the node has, though all nodes together have it: refused at once. A
 * creation that ends half way is the matter of R111 and of the failslab tests: a
 * node filled to the brim keeps the kernel compacting it for minutes here.
 */
TEST(R115_more_than_the_node_has_is_refused_by_name)
{
	static struct kvt_nl_reply r;
	__u64 size;

	if (!node_there(1))
		SKIP(return, "one NUMA node only");
	size = node_bytes(1, "MemTotal") / 4 * 5;
	if (size > node_bytes(0, "MemTotal") + node_bytes(1, "MemTotal"))
		SKIP(return, "node 1 is nearly all of the machine");
	EXPECT_EQ(-EFBIG, place_new("full", size, 1, &r));
	EXPECT_NE(NULL, strstr(r.text, "memory of the node")) {
		TH_LOG("text: \"%s\"", r.text);
	}
	EXPECT_NE(0, access("/proc/kvstash/pool/full", F_OK));
	ASSERT_EQ(0, place_new("fits", KVR_MB(64), 1, &r));
	expect_on(_metadata, "fits", 1);
	EXPECT_EQ(0, kvt_pool_del("fits"));
}

TEST_HARNESS_MAIN
