// SPDX-License-Identifier: GPL-2.0
/*
 * A 32-bit caller: the structures have the same layout, so all commands work as
 * for a 64-bit one. Uses nothing but the ABI header, and prints TAP by itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/kvstash.h>

#define LEN	10000

static int device = -1;
static bool failed;

static __u64 addr(const void *p)
{
	return (uintptr_t)p;
}

static void expect(int line, long long want, long long got, const char *what)
{
	if (want == got)
		return;
	printf("# line %d: %s is %lld, not %lld\n", line, what, got, want);
	failed = true;
}

#define EXPECT(want, got)	expect(__LINE__, want, got, #got)

static int call(unsigned long cmd, void *arg)
{
	return ioctl(device, cmd, arg) ? -errno : 0;
}

/* One entry: its result, or that of the call. */
static struct kvstash_result one(unsigned long cmd, void *e, __u32 stride)
{
	struct kvstash_batch b = {
		.size = sizeof(b),
		.entries = addr(e),
		.count = 1,
		.stride = stride,
	};
	struct kvstash_result r = { 0 };

	r.res = call(cmd, &b);
	r.reason = b.reason;
	if (r.res)
		return r;
	return *(struct kvstash_result *)e;
}

static void expect_result(int line, int err, __u32 reason,
			  struct kvstash_result r)
{
	expect(line, err, -r.res, "the errno");
	expect(line, reason, r.reason, "the reason");
}

#define EXPECT_RESULT(err, reason, r) expect_result(__LINE__, err, reason, r)

static struct kvstash_put put_of(const char *key, const void *buf, __u64 len)
{
	struct kvstash_put e = {
		.key = addr(key),
		.key_len = strlen(key),
		.buf = addr(buf),
		.part_len = len,
		.parts = 1,
	};

	return e;
}

static struct kvstash_result put(const char *key, const void *buf, __u64 len)
{
	struct kvstash_put e = put_of(key, buf, len);

	return one(KVSTASH_IOC_PUT, &e, sizeof(e));
}

static struct kvstash_result get(const char *key, void *buf, __u64 len)
{
	struct kvstash_get e = {
		.key = addr(key),
		.key_len = strlen(key),
		.buf = addr(buf),
		.len = len,
	};

	return one(KVSTASH_IOC_GET, &e, sizeof(e));
}

static struct kvstash_keys keys_of(const char *key, struct kvstash_exists *x)
{
	struct kvstash_keys k = {
		.size = sizeof(k),
		.keys = addr(key),
		.key_len = strlen(key),
		.results = addr(x),
		.stride = x ? sizeof(*x) : 0,
		.count = 1,
	};

	return k;
}

static struct kvstash_result remove_key(const char *key)
{
	struct kvstash_exists x = { 0 };
	struct kvstash_keys k = keys_of(key, &x);
	int r = call(KVSTASH_IOC_REMOVE, &k);

	if (r)
		x.r.res = r;
	return x.r;
}

static void fill(unsigned char *buf, unsigned int seed)
{
	for (unsigned int i = 0; i < LEN; i++)
		buf[i] = (i * 7 + i / 251 + seed) & 0xff;
}

static void test_layout(void)
{
	EXPECT(16, sizeof(struct kvstash_result));
	EXPECT(16, sizeof(struct kvstash_seg));
	EXPECT(32, sizeof(struct kvstash_range));
	EXPECT(96, sizeof(struct kvstash_query));
	EXPECT(48, sizeof(struct kvstash_bind));
	EXPECT(40, sizeof(struct kvstash_batch));
	EXPECT(120, sizeof(struct kvstash_put));
	EXPECT(64, sizeof(struct kvstash_write));
	EXPECT(40, sizeof(struct kvstash_end));
	EXPECT(88, sizeof(struct kvstash_get));
	EXPECT(72, sizeof(struct kvstash_exists));
	EXPECT(104, sizeof(struct kvstash_keys));
	EXPECT(56, sizeof(struct kvstash_candidate));
	EXPECT(48, sizeof(struct kvstash_state_key));
	EXPECT(16, sizeof(struct kvstash_layer));
	EXPECT(232, sizeof(struct kvstash_layout));
	EXPECT(4, sizeof(void *));
}

static void test_query(void)
{
	struct kvstash_query q = { .size = sizeof(q) };

	EXPECT(0, call(KVSTASH_IOC_QUERY, &q));
	EXPECT(KVSTASH_ABI_VERSION, q.abi);
	EXPECT(KVSTASH_KEY_MAX, q.key_max);
	EXPECT(KVSTASH_BATCH_MAX, q.batch_max);
	EXPECT((long long)KVSTASH_PART_BYTES_MAX, q.part_bytes_max);
	EXPECT(1, !!q.epoch);
	EXPECT(1, !!q.client);
}

static void test_bind(void)
{
	struct kvstash_bind b = { .size = sizeof(b), .ns = "default" };

	EXPECT(0, call(KVSTASH_IOC_BIND, &b));
	memcpy(b.ns, "other", sizeof("other"));
	EXPECT(-EISCONN, call(KVSTASH_IOC_BIND, &b));
	EXPECT(KVSTASH_R_BOUND, b.reason);
}

static void test_put_get(void)
{
	static unsigned char buf[LEN], back[LEN];

	fill(buf, 1);
	EXPECT_RESULT(0, 0, put("put", buf, LEN));
	EXPECT_RESULT(EEXIST, KVSTASH_R_EXISTS, put("put", buf, LEN));
	EXPECT_RESULT(0, 0, get("put", back, LEN));
	EXPECT(0, memcmp(buf, back, LEN));
	EXPECT_RESULT(ENOSPC, KVSTASH_R_BUFFER_SMALL, get("put", back, 5));
	EXPECT_RESULT(0, 0, remove_key("put"));
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, get("put", back, LEN));
}

static void test_segments_and_ranges(void)
{
	static unsigned char buf[LEN], back[LEN];
	struct kvstash_seg segs[3] = {
		{ addr(buf), 1 },
		{ addr(buf + 1), 4999 },
		{ addr(buf + 5000), 5000 },
	};
	struct kvstash_range ranges[2] = {
		{ .addr = addr(back + 7000), .offset = 7000, .len = 3000 },
		{ .addr = addr(back), .offset = 0, .len = 7000 },
	};
	struct kvstash_put e = put_of("segs", segs, LEN);
	struct kvstash_get g = {
		.key = addr("segs"),
		.key_len = 4,
		.buf = addr(ranges),
		.nr = 2,
		.flags = KVSTASH_GET_RANGES,
	};

	fill(buf, 2);
	e.nr_segs = 3;
	EXPECT_RESULT(0, 0, one(KVSTASH_IOC_PUT, &e, sizeof(e)));
	EXPECT_RESULT(0, 0, one(KVSTASH_IOC_GET, &g, sizeof(g)));
	EXPECT(LEN, g.bytes);
	EXPECT(0, memcmp(buf, back, LEN));
	EXPECT_RESULT(0, 0, remove_key("segs"));
}

static void test_reserve_write_commit(void)
{
	static unsigned char buf[LEN], back[LEN];
	struct kvstash_put e = put_of("two", NULL, LEN);
	struct kvstash_write w = { .buf = addr(buf), .len = LEN };
	struct kvstash_end end = { 0 };

	fill(buf, 3);
	EXPECT_RESULT(0, 0, one(KVSTASH_IOC_RESERVE, &e, sizeof(e)));
	w.handle = e.handle;
	end.handle = e.handle;
	EXPECT_RESULT(EINVAL, KVSTASH_R_UNWRITTEN,
		      one(KVSTASH_IOC_COMMIT, &end, sizeof(end)));
	EXPECT_RESULT(0, 0, one(KVSTASH_IOC_WRITE, &w, sizeof(w)));
	EXPECT_RESULT(0, 0, one(KVSTASH_IOC_COMMIT, &end, sizeof(end)));
	EXPECT_RESULT(EALREADY, KVSTASH_R_COMMITTED,
		      one(KVSTASH_IOC_ABORT, &end, sizeof(end)));
	EXPECT_RESULT(0, 0, get("two", back, LEN));
	EXPECT(0, memcmp(buf, back, LEN));
	EXPECT_RESULT(0, 0, remove_key("two"));
	EXPECT_RESULT(0, 0, one(KVSTASH_IOC_RESERVE, &e, sizeof(e)));
	end.handle = e.handle;
	EXPECT_RESULT(0, 0, one(KVSTASH_IOC_ABORT, &end, sizeof(end)));
}

static void test_keys(void)
{
	static const char keys[] = "k1k2k3";
	struct kvstash_exists x[3] = { 0 };
	struct kvstash_keys k = {
		.size = sizeof(k),
		.keys = addr(keys),
		.key_len = 2,
		.results = addr(x),
		.stride = sizeof(x[0]),
		.count = 3,
	};

	EXPECT_RESULT(0, 0, put("k1", "a", 1));
	EXPECT_RESULT(0, 0, put("k2", "bb", 2));
	EXPECT(0, call(KVSTASH_IOC_EXISTS, &k));
	EXPECT(3, k.done);
	EXPECT_RESULT(0, 0, x[0].r);
	EXPECT_RESULT(0, 0, x[1].r);
	EXPECT(2, x[1].object_size);
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, x[2].r);
	k.results = 0;
	k.stride = 0;
	EXPECT(0, call(KVSTASH_IOC_LOOKUP, &k));
	EXPECT(2, k.run);
	EXPECT(3, k.bytes);
	EXPECT(KVSTASH_R_MISS, k.reason);
	k.results = addr(x);
	k.stride = sizeof(x[0]);
	EXPECT(0, call(KVSTASH_IOC_REMOVE, &k));
	EXPECT_RESULT(0, 0, x[0].r);
	EXPECT_RESULT(0, 0, x[1].r);
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, x[2].r);
}

/* Two members of an atomic group, the second of which publishes both. */
static void test_group(void)
{
	static const char keys[] = "g1g2";
	struct kvstash_exists x[2] = { 0 };
	struct kvstash_keys k = keys_of("g1", x);
	struct kvstash_put e;

	k.keys = addr(keys);
	k.count = 2;
	for (unsigned int i = 0; i < 2; i++) {
		e = put_of(i ? "g2" : "g1", "x", 1);
		e.group = addr("group");
		e.group_len = 5;
		e.members = 2;
		e.member = i;
		e.flags = KVSTASH_PUT_ATOMIC;
		EXPECT_RESULT(0, 0, one(KVSTASH_IOC_PUT, &e, sizeof(e)));
		EXPECT(0, call(KVSTASH_IOC_EXISTS, &k));
		EXPECT_RESULT(i ? 0 : ENOENT, i ? 0 : KVSTASH_R_GROUP_INCOMPLETE, x[0].r);
		EXPECT_RESULT(i ? 0 : ENOENT, i ? 0 : KVSTASH_R_MISS, x[1].r);
		EXPECT(2, x[0].members);
		EXPECT(1 + i, x[0].members_present);
		EXPECT(KVSTASH_GROUP_ATOMIC, x[0].group_flags);
	}
	EXPECT_RESULT(0, 0, remove_key("g1"));
	EXPECT(0, call(KVSTASH_IOC_EXISTS, &k));
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, x[1].r);
}

/* A lease of EXISTS and one of LOOKUP; the bytes by lease; a pin. */
static void test_leases_and_pins(void)
{
	struct kvstash_handle h[2] = { 0 };
	struct kvstash_exists x = { 0 };
	struct kvstash_keys k = keys_of("lease", &x);
	char back = 0;
	struct kvstash_get g = { .flags = KVSTASH_GET_BY_LEASE, .buf = addr(&back), .len = 1 };
	struct kvstash_end end = { 0 };

	EXPECT_RESULT(0, 0, put("lease", "l", 1));
	k.flags = KVSTASH_KEYS_LEASE;
	k.leases = addr(&h[0]);
	EXPECT(0, call(KVSTASH_IOC_EXISTS, &k));
	EXPECT_RESULT(0, 0, x.r);
	k.leases = addr(&h[1]);
	k.results = 0;
	k.stride = 0;
	EXPECT(0, call(KVSTASH_IOC_LOOKUP, &k));
	EXPECT(1, k.run);
	k = keys_of("lease", &x);
	k.pin = KVSTASH_PIN_SOFT;
	EXPECT(0, call(KVSTASH_IOC_PIN, &k));
	EXPECT_RESULT(0, 0, x.r);
	k.pin = 0;
	EXPECT(0, call(KVSTASH_IOC_EXISTS, &k));
	EXPECT(KVSTASH_PIN_SOFT, x.pin);
	EXPECT_RESULT(0, 0, remove_key("lease"));
	for (unsigned int i = 0; i < 2; i++) {
		back = 0;
		g.lease = h[i];
		end.handle = h[i];
		EXPECT_RESULT(0, 0, one(KVSTASH_IOC_GET, &g, sizeof(g)));
		EXPECT('l', back);
		EXPECT_RESULT(0, 0, one(KVSTASH_IOC_RELEASE, &end, sizeof(end)));
		EXPECT_RESULT(EALREADY, KVSTASH_R_RELEASED,
			      one(KVSTASH_IOC_RELEASE, &end, sizeof(end)));
	}
}

/* A layout of two layers and two slots. */
static struct kvstash_layout layout_of(const struct kvstash_layer *layers)
{
	struct kvstash_layout l = { .size = sizeof(l), .scheme = 3 };

	memset(l.fingerprint, 7, sizeof(l.fingerprint));
	if (!layers)
		return l;
	l.alignment = 4;
	l.slot_bytes = LEN;
	l.layers = addr(layers);
	l.nr_layers = 2;
	l.slots = 2;
	return l;
}

static void test_layouts(void)
{
	struct kvstash_layer layers[3] = { { 0, 4000 }, { 4000, LEN - 4000 } }, back[3];
	struct kvstash_layout l = layout_of(layers);

	EXPECT(0, call(KVSTASH_IOC_LAYOUT_ADD, &l));
	EXPECT(2, l.slots);
	EXPECT(1, l.id);
	l = layout_of(NULL);
	l.layers = addr(back);
	l.nr_layers = 3;
	EXPECT(0, call(KVSTASH_IOC_LAYOUT_GET, &l));
	EXPECT(2, l.nr_layers);
	EXPECT(LEN, l.slot_bytes);
	EXPECT(12288, l.slot_pages_bytes);
	EXPECT(0, memcmp(layers, back, 2 * sizeof(back[0])));
	l = layout_of(NULL);
	l.flags = KVSTASH_LAYOUT_NEXT;
	EXPECT(0, call(KVSTASH_IOC_LAYOUT_GET, &l));
	EXPECT(3, l.scheme);
	l = layout_of(NULL);
	l.slots = 3;
	EXPECT(0, call(KVSTASH_IOC_LAYOUT_SET, &l));
	EXPECT(3, l.slots);
	/* an address that no 32-bit process has is not cut */
	l = layout_of(layers);
	l.scheme = 4;
	l.layers += 1ULL << 32;
	EXPECT(-EFAULT, call(KVSTASH_IOC_LAYOUT_ADD, &l));
	EXPECT(KVSTASH_R_LAYERS, l.reason);
	l = layout_of(NULL);
	l.layers = addr(back) + (1ULL << 32);
	l.nr_layers = 3;
	EXPECT(-EFAULT, call(KVSTASH_IOC_LAYOUT_GET, &l));
}

/* The state that comes after @tokens; its prefix hash is one byte. */
struct state_key {
	struct kvstash_state_key head;
	char prefix[8];
};

static struct state_key state_key_of(__u64 tokens)
{
	struct state_key k = { .head = { .scheme = 3, .tokens = tokens }, .prefix = "p" };

	memset(k.head.fingerprint, 7, sizeof(k.head.fingerprint));
	return k;
}

static void test_states(void)
{
	static unsigned char buf[LEN], back[LEN];
	struct state_key k = state_key_of(8), none = state_key_of(12);
	struct kvstash_candidate c[2] = {
		{ .key = addr(&k), .key_len = 49 }, { .key = addr(&none), .key_len = 49 },
	};
	struct kvstash_keys keys = {
		.size = sizeof(keys), .flags = KVSTASH_KEYS_LEASE, .candidates = addr(c),
		.nr_candidates = 2, .candidate_stride = sizeof(c[0]),
	};
	struct kvstash_put e = put_of("", buf, LEN);
	struct kvstash_get g = { .key = addr(&k), .key_len = 49, .kind = KVSTASH_KIND_STATE,
				 .buf = addr(back), .len = LEN };
	struct kvstash_layout l = layout_of(NULL);
	struct kvstash_end end = { 0 };

	fill(buf, 9);
	e.key = addr(&k);
	e.key_len = 49;
	e.kind = KVSTASH_KIND_STATE;
	EXPECT_RESULT(0, 0, one(KVSTASH_IOC_PUT, &e, sizeof(e)));
	EXPECT_RESULT(0, 0, one(KVSTASH_IOC_GET, &g, sizeof(g)));
	EXPECT(0, memcmp(buf, back, LEN));
	EXPECT(0, call(KVSTASH_IOC_LOOKUP, &keys));
	EXPECT_RESULT(0, 0, c[0].r);
	EXPECT(LEN, c[0].bytes);
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, c[1].r);
	end.handle = c[0].lease;
	EXPECT_RESULT(0, 0, one(KVSTASH_IOC_RELEASE, &end, sizeof(end)));
	keys.candidates += 1ULL << 32;
	EXPECT(-EFAULT, call(KVSTASH_IOC_LOOKUP, &keys));
	EXPECT(KVSTASH_R_BUFFER, keys.reason);
	c[0].key += 1ULL << 32;
	keys.candidates = addr(c);
	EXPECT(0, call(KVSTASH_IOC_LOOKUP, &keys));
	EXPECT_RESULT(EFAULT, KVSTASH_R_KEY_FAULT, c[0].r);
	EXPECT(-EBUSY, call(KVSTASH_IOC_LAYOUT_DEL, &l));
	EXPECT(KVSTASH_R_LAYOUT_BUSY, l.reason);
	EXPECT(1, l.detail);
	l = layout_of(NULL);
	EXPECT(0, call(KVSTASH_IOC_LAYOUT_SET, &l));
	l = layout_of(NULL);
	EXPECT(0, call(KVSTASH_IOC_LAYOUT_DEL, &l));
}

static void test_sizes(void)
{
	struct kvstash_put e = put_of("size", "x", 1);
	struct kvstash_batch b = {
		.size = sizeof(b),
		.entries = addr(&e),
		.count = 1,
		.stride = sizeof(e),
	};

	b.size = sizeof(b) - 4;
	EXPECT(-EINVAL, call(KVSTASH_IOC_PUT, &b));
	b.size = sizeof(b);
	b.stride = 104 - 8;	/* of the first version: 104 */
	EXPECT(-EINVAL, call(KVSTASH_IOC_PUT, &b));
	EXPECT(KVSTASH_R_SIZE, b.reason);
	b.stride = sizeof(e);
	b.reason = 0;
	EXPECT(0, call(KVSTASH_IOC_PUT, &b));
	EXPECT(1, b.done);
	EXPECT_RESULT(0, 0, remove_key("size"));
}

/* An address that no 32-bit process has: refused, not cut to 32 bits. */
static void test_high_addresses(void)
{
	const __u64 high = 1ULL << 32;
	struct kvstash_put e = put_of("high", "x", 1);
	struct kvstash_exists x;
	struct kvstash_keys k;
	char back = 0;
	struct kvstash_get g = {
		.key = addr("high"),
		.key_len = 4,
		.buf = addr(&back),
		.len = 1,
	};
	struct kvstash_batch b = {
		.size = sizeof(b),
		.entries = addr(&e) + high,
		.count = 1,
		.stride = sizeof(e),
	};

	EXPECT(-EFAULT, call(KVSTASH_IOC_PUT, &b));
	e.key += high;
	EXPECT_RESULT(EFAULT, KVSTASH_R_KEY_FAULT,
		      one(KVSTASH_IOC_PUT, &e, sizeof(e)));
	e = put_of("high", "x", 1);
	e.buf += high;
	EXPECT(1, one(KVSTASH_IOC_PUT, &e, sizeof(e)).res != 0);
	EXPECT_RESULT(ENOENT, KVSTASH_R_MISS, get("high", &back, 1));
	EXPECT_RESULT(0, 0, put("high", "x", 1));
	g.buf += high;
	EXPECT(1, one(KVSTASH_IOC_GET, &g, sizeof(g)).res != 0);
	EXPECT(0, back);
	k = keys_of("high", &x);
	k.keys += high;
	EXPECT(-EFAULT, call(KVSTASH_IOC_EXISTS, &k));
	k = keys_of("high", &x);
	k.results += high;
	EXPECT(-EFAULT, call(KVSTASH_IOC_EXISTS, &k));
	EXPECT_RESULT(0, 0, remove_key("high"));
}

static void test_unknown_command(void)
{
	struct kvstash_batch b = { .size = sizeof(b) };

	EXPECT(-ENOTTY, call(_IOWR(KVSTASH_IOC, 0x3f, struct kvstash_batch),
			     &b));
	EXPECT(-ENOTTY, call(_IOWR(KVSTASH_IOC, 0x51, struct kvstash_batch),
			     &b));
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "layout", test_layout },
	{ "query", test_query },
	{ "bind", test_bind },
	{ "put_get", test_put_get },
	{ "segments_and_ranges", test_segments_and_ranges },
	{ "reserve_write_commit", test_reserve_write_commit },
	{ "keys", test_keys },
	{ "group", test_group },
	{ "leases_and_pins", test_leases_and_pins },
	{ "layouts", test_layouts },
	{ "states", test_states },
	{ "sizes", test_sizes },
	{ "high_addresses", test_high_addresses },
	{ "unknown_command", test_unknown_command },
};

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

int main(void)
{
	int rc = 0;

	printf("TAP version 13\n1..%zu\n", ARRAY_SIZE(tests));
	device = open(KVSTASH_DEVICE, O_RDWR);
	if (device < 0) {
		printf("Bail out! %s: %s\n", KVSTASH_DEVICE, strerror(errno));
		return 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		failed = false;
		tests[i].run();
		printf("%sok %zu compat.%s\n", failed ? "not " : "", i + 1,
		       tests[i].name);
		rc |= failed;
	}
	close(device);
	return rc;
}
