// SPDX-License-Identifier: GPL-2.0
/*
 * Each address that a request can name, in each way in which an address can be
 * bad: the exact refusal, and the store as it was.
 */
#include "abi_call.h"

enum where {
	AT_NULL,
	AT_UNMAPPED,
	AT_EDGE,	/* begins in memory, ends outside */
	AT_NONE,	/* PROT_NONE */
	AT_RDONLY,
	AT_KERNEL,
	AT_NONCANON,	/* no address at all on x86-64 */
	AT_TOP,		/* wraps */
	AT_LAST,	/* across the end of user space */
	AT_ODD1,
	AT_ODD4,
	AT_COUNT
};

static const char * const where_name[AT_COUNT] = {
	"NULL", "unmapped", "edge", "PROT_NONE", "read-only", "kernel",
	"non-canonical", "top", "last", "odd by 1", "odd by 4",
};

/* What lies at an address. */
enum class {
	OF_HEADER,
	OF_ENTRIES,
	OF_RESULTS,
	OF_KEYS,
	OF_LENS,
	OF_TAGS,
	OF_LEASES,
	OF_ARRAYS = OF_LEASES,
	OF_KEY,
	OF_PARENT,
	OF_MANIFEST,
	OF_TAG,
	OF_SEGS,	/* or ranges */
	OF_DATA_IN,
	OF_DATA_OUT,
	OF_COUNT
};

struct expect {
	int err;		/* 0: the request goes well; -1: not tried here */
	__u32 reason;
};

#define FINE	{ 0, KVSTASH_R_OK }
#define LATER	{ -1, 0 }
#define KEYF	{ EFAULT, KVSTASH_R_KEY_FAULT }
#define TAGF	{ EFAULT, KVSTASH_R_TAG_FAULT }
#define SEGF	{ EFAULT, KVSTASH_R_SEGS_FAULT }
#define DATAF	{ EFAULT, KVSTASH_R_DATA_FAULT }
#define CALLF	{ EFAULT, KVSTASH_R_BUFFER }
#define BUFFER	{ EINVAL, KVSTASH_R_BUFFER }
#define ALIGN	{ EINVAL, KVSTASH_R_ALIGN }
#define NOKEY	{ EINVAL, KVSTASH_R_KEY_LEN }

/* In the order of enum where. */
static const struct expect expect[OF_COUNT][AT_COUNT] = {
	[OF_HEADER] = { CALLF, CALLF, CALLF, CALLF, LATER, CALLF, CALLF, CALLF,
			CALLF, FINE, FINE },
	[OF_ENTRIES] = { CALLF, CALLF, CALLF, CALLF, LATER, CALLF, CALLF,
			 CALLF, CALLF, ALIGN, ALIGN },
	[OF_RESULTS] = { CALLF, CALLF, CALLF, CALLF, LATER, CALLF, CALLF,
			 CALLF, CALLF, ALIGN, ALIGN },
	[OF_KEYS] = { KEYF, KEYF, KEYF, KEYF, FINE, KEYF, KEYF, KEYF, KEYF,
		      FINE, FINE },
	[OF_LENS] = { NOKEY, CALLF, CALLF, CALLF, FINE, CALLF, CALLF, CALLF,
		      CALLF, ALIGN, FINE },	/* of 16 bits each */
	[OF_TAGS] = { FINE, CALLF, CALLF, CALLF, CALLF, CALLF, CALLF, CALLF,
		      CALLF, FINE, FINE },
	[OF_LEASES] = { CALLF, CALLF, CALLF, CALLF, CALLF, CALLF, CALLF, CALLF,
			CALLF, ALIGN, ALIGN },
	[OF_KEY] = { KEYF, KEYF, KEYF, KEYF, FINE, KEYF, KEYF, KEYF, KEYF,
		     FINE, FINE },
	[OF_PARENT] = { NOKEY, KEYF, KEYF, KEYF, FINE, KEYF, KEYF, KEYF, KEYF,
			FINE, FINE },
	[OF_MANIFEST] = { FINE, TAGF, TAGF, TAGF, FINE, TAGF, TAGF, TAGF, TAGF,
			  FINE, FINE },
	[OF_TAG] = { { EINVAL, KVSTASH_R_TAG }, TAGF, TAGF, TAGF, FINE, TAGF, TAGF, TAGF, TAGF,
		     FINE, FINE },
	[OF_SEGS] = { SEGF, SEGF, SEGF, SEGF, FINE, SEGF, SEGF, SEGF, SEGF,
		      ALIGN, ALIGN },
	[OF_DATA_IN] = { DATAF, DATAF, DATAF, DATAF, FINE, BUFFER, BUFFER,
			 BUFFER, LATER, FINE, FINE },
	[OF_DATA_OUT] = { DATAF, DATAF, DATAF, DATAF, DATAF, BUFFER, BUFFER,
			  BUFFER, LATER, FINE, FINE },
};

/* A member with an address, and the memory that it names in a good request. */
struct slot {
	unsigned int kinds;
	enum class class;
	size_t ptr;
	size_t obj;
	size_t len;
};

#define AT(m)	offsetof(struct call, m)

#define SEGS	(CALL_BIT(CALL_PUT_SEGS) | CALL_BIT(CALL_WRITE_SEGS) | \
		 CALL_BIT(CALL_GET_SEGS))
#define RANGES	CALL_BIT(CALL_GET_RANGES)
#define WHOLE	(CALL_GETS & ~SEGS & ~RANGES)

static const struct slot slots[] = {
	{ CALL_NEWS, OF_ENTRIES, AT(arg.b.entries), AT(e), sizeof(struct kvstash_put) },
	{ CALL_WRITES, OF_ENTRIES, AT(arg.b.entries), AT(e), sizeof(struct kvstash_write) },
	{ CALL_ENDS, OF_ENTRIES, AT(arg.b.entries), AT(e), sizeof(struct kvstash_end) },
	{ CALL_GETS, OF_ENTRIES, AT(arg.b.entries), AT(e), sizeof(struct kvstash_get) },
	{ CALL_NEWS, OF_KEY, AT(e.put.key), AT(key), 8 },
	{ CALL_NEWS, OF_PARENT, AT(e.put.parent), AT(parent), 8 },
	{ CALL_BIT(CALL_PUT_GROUP), OF_PARENT, AT(e.put.group), AT(group), 10 },
	{ CALL_NEWS, OF_MANIFEST, AT(e.put.manifest), AT(manifest), 32 },
	{ CALL_NEWS, OF_TAG, AT(e.put.tag), AT(tag), 16 },
	{ CALL_BIT(CALL_PUT) | CALL_BIT(CALL_PUT_GROUP), OF_DATA_IN, AT(e.put.buf),
	  AT(data), CALL_DATA_LEN },
	{ CALL_BIT(CALL_PUT_SEGS), OF_SEGS, AT(e.put.buf), AT(segs), 32 },
	{ CALL_BIT(CALL_WRITE), OF_DATA_IN, AT(e.write.buf), AT(data),
	  CALL_DATA_LEN },
	{ CALL_BIT(CALL_WRITE_SEGS), OF_SEGS, AT(e.write.buf), AT(segs), 32 },
	{ SEGS & ~CALL_GETS, OF_DATA_IN, AT(segs[0].addr), AT(data),
	  CALL_SEG0 },
	{ SEGS & ~CALL_GETS, OF_DATA_IN, AT(segs[1].addr),
	  AT(data[CALL_SEG0]), CALL_DATA_LEN - CALL_SEG0 },
	{ CALL_KEY_GETS, OF_KEY, AT(e.get.key), AT(key), 8 },
	{ WHOLE, OF_DATA_OUT, AT(e.get.buf), AT(data), KVT_ONE_LEN },
	{ SEGS & CALL_GETS, OF_SEGS, AT(e.get.buf), AT(segs), 32 },
	{ SEGS & CALL_GETS, OF_DATA_OUT, AT(segs[0].addr), AT(data),
	  CALL_SEG0 },
	{ SEGS & CALL_GETS, OF_DATA_OUT, AT(segs[1].addr), AT(data[CALL_SEG0]),
	  CALL_DATA_LEN - CALL_SEG0 },
	{ RANGES, OF_SEGS, AT(e.get.buf), AT(ranges), 64 },
	{ RANGES, OF_DATA_OUT, AT(ranges[0].addr), AT(data), 100 },
	{ RANGES, OF_DATA_OUT, AT(ranges[1].addr), AT(data[100]), 300 },
	{ CALL_KEYS, OF_KEYS, AT(arg.k.keys), AT(keys), 18 },
	{ CALL_KEYS, OF_LENS, AT(arg.k.lens), AT(lens), 4 },
	{ CALL_RESULTS, OF_RESULTS, AT(arg.k.results), AT(out),
	  2 * sizeof(struct kvstash_exists) },
	{ CALL_EXISTSES, OF_TAGS, AT(arg.k.tags), AT(tags), 2 * KVSTASH_TAG_MAX },
	{ CALL_KEY_LEASES, OF_LEASES, AT(arg.k.leases), AT(leases),
	  2 * sizeof(struct kvstash_handle) },
};

/* A copy of an object, or nothing, at a place of the kind asked for. */
struct spot {
	char *map;
	__u64 addr;
	char *copy;		/* where the copy is, if there is one */
};

#define SPOT_LEN	(4 * KVT_PAGE)

static void spot_copy(struct spot *s, size_t off, const void *obj, size_t len)
{
	s->copy = s->map + off;
	s->addr = kvstash_addr(s->copy);
	memcpy(s->copy, obj, len);
}

static bool spot_make(struct spot *s, enum where w, const void *obj,
		      size_t len)
{
	size_t half = len / 2 < 1000 ? len / 2 : 1000;

	if (half > 8)
		half &= ~7UL;
	s->copy = NULL;
	s->map = kvt_map(SPOT_LEN);
	if (!s->map)
		return false;
	switch (w) {
	case AT_NULL:
		s->addr = 0;
		break;
	case AT_UNMAPPED:
		s->addr = kvstash_addr(s->map);
		munmap(s->map, SPOT_LEN);
		break;
	case AT_EDGE:
		spot_copy(s, KVT_PAGE - half, obj, half);
		mprotect(s->map + KVT_PAGE, SPOT_LEN - KVT_PAGE, PROT_NONE);
		break;
	case AT_NONE:
		s->addr = kvstash_addr(s->map);
		mprotect(s->map, SPOT_LEN, PROT_NONE);
		break;
	case AT_RDONLY:
		spot_copy(s, 0, obj, len);
		mprotect(s->map, SPOT_LEN, PROT_READ);
		break;
	case AT_KERNEL:
		s->addr = 0xffff888000000000ULL;
		break;
	case AT_NONCANON:
		s->addr = 1ULL << 63;
		break;
	case AT_TOP:
		s->addr = -8ULL;
		break;
	case AT_LAST:
		s->addr = 0x00007ffffffff000ULL - 8;
		break;
	case AT_ODD1:
		spot_copy(s, 1, obj, len);
		break;
	default:
		spot_copy(s, 4, obj, len);
		break;
	}
	return true;
}

/* Arrays are the call's, all else is its entry's. */
static bool whole_call(enum class class)
{
	return class <= OF_ARRAYS;
}

static void expect_call(struct __test_metadata *_metadata, const char *what,
			const struct expect *x, const struct outcome *o,
			size_t field)
{
	EXPECT_EQ(x->err, o->err) {
		TH_LOG("%s: reason %u field %u", what, o->reason, o->field);
	}
	EXPECT_EQ(x->reason, o->reason) {
		TH_LOG("%s: errno %d", what, o->err);
	}
	/* NULL as @lens is an empty @key_len */
	if (x->reason != KVSTASH_R_KEY_LEN)
		EXPECT_EQ(field, o->field) {
			TH_LOG("%s: errno %d", what, o->err);
		}
}

static void undo(struct call *c, const struct kvt_store *s)
{
	if (call_is(c->kind, CALL_PUTS))
		kvt_remove1(s->fd, c->key, strlen(c->key));
	if (c->kind == CALL_RESERVE)
		kvt_abort1(s->fd, &c->e.put.handle);
	call_release(c);
}

static void try_slot(struct __test_metadata *_metadata,
		     const struct kvt_store *s, enum call_kind kind,
		     const struct slot *slot, enum where where)
{
	const struct expect *x = &expect[slot->class][where];
	struct kvstash_result r;
	struct spot spot;
	struct outcome o;
	struct call c;
	char what[80];

	if (x->err < 0 || (!x->err && (kind == CALL_ABORT ||
				       kind == CALL_REMOVE)))
		return;
	call_prep(&c, kind, s);
	ASSERT_TRUE(spot_make(&spot, where, (char *)&c + slot->obj,
			      slot->len));
	kvt_poke(&c, slot->ptr, 8, spot.addr);
	snprintf(what, sizeof(what), "%s, member at %zu, %s",
		 call_kinds[kind].name, slot->ptr, where_name[where]);
	o = call_run(&c);
	if (whole_call(slot->class) && x->err) {
		expect_call(_metadata, what, x, &o, slot->ptr - AT(arg));
	} else {
		EXPECT_EQ(0, o.err) {
			TH_LOG("%s: reason %u", what, o.reason);
		}
		r = o.r;
		if (kind == CALL_COMMIT)	/* UNWRITTEN, see call_control() */
			memset(&r, 0, sizeof(r));
		EXPECT_EQ(-x->err, r.res) {
			TH_LOG("%s: reason %u", what, r.reason);
		}
		EXPECT_EQ(x->reason, r.reason) {
			TH_LOG("%s: errno %d", what, -r.res);
		}
	}
	if (x->err) {
		EXPECT_EQ(0, o.leased) {
			TH_LOG("%s", what);
		}
	} else {
		undo(&c, s);
	}
	munmap(spot.map, SPOT_LEN);
	kvt_store_same(_metadata, s);
}

static void try_kinds(struct __test_metadata *_metadata,
		      const struct kvt_store *s, unsigned int kinds)
{
	for (int k = 0; k < CALL_KINDS; k++)
		for (size_t i = 0; i < KVT_LEN(slots); i++)
			for (int w = 0; w < AT_COUNT; w++)
				if (call_is(k, slots[i].kinds & kinds))
					try_slot(_metadata, s, k, &slots[i], w);
}

TEST_F(store, addresses_of_PUT)
{
	try_kinds(_metadata, &self->s, CALL_PUTS);
}

TEST_F(store, addresses_of_RESERVE)
{
	try_kinds(_metadata, &self->s, CALL_BIT(CALL_RESERVE));
}

TEST_F(store, addresses_of_WRITE)
{
	try_kinds(_metadata, &self->s, CALL_WRITES);
}

TEST_F(store, addresses_of_COMMIT_ABORT_RELEASE)
{
	try_kinds(_metadata, &self->s, CALL_ENDS);
}

TEST_F(store, addresses_of_GET)
{
	try_kinds(_metadata, &self->s, CALL_GETS);
}

TEST_F(store, addresses_of_EXISTS_REMOVE_PIN_LOOKUP)
{
	try_kinds(_metadata, &self->s, CALL_KEYS);
}

TEST_F(store, addresses_of_headers)
{
	const struct expect *x;
	struct spot spot;
	struct call c;
	int r;

	for (int k = 0; k < CALL_KINDS; k++) {
		for (int w = 0; w < AT_COUNT; w++) {
			x = &expect[OF_HEADER][w];
			if (x->err <= 0)	/* odd ones: see abi.c */
				continue;
			call_prep(&c, k, &self->s);
			ASSERT_TRUE(spot_make(&spot, w, &c.arg,
					      c.arg.b.size));
			r = kvt_ioctl(c.fd, c.cmd, (void *)spot.addr);
			EXPECT_EQ(-x->err, r) {
				TH_LOG("%s, %s", call_kinds[k].name,
				       where_name[w]);
			}
			munmap(spot.map, SPOT_LEN);
			kvt_store_same(_metadata, &self->s);
		}
	}
}

TEST_F(store, addresses_of_QUERY_and_BIND)
{
	static const unsigned long cmds[] = { KVSTASH_IOC_QUERY,
					      KVSTASH_IOC_BIND };
	struct kvstash_bind b = { .size = sizeof(b), .ns = "default" };
	struct kvstash_query q = { .size = sizeof(q) };
	struct spot spot;

	for (size_t i = 0; i < KVT_LEN(cmds); i++) {
		for (int w = 0; w < AT_ODD1; w++) {
			/* a good BIND has nothing to write back */
			if (w == AT_RDONLY && i == 1)
				continue;
			ASSERT_TRUE(spot_make(&spot, w, i ? (void *)&b : &q,
					      i ? sizeof(b) : sizeof(q)));
			EXPECT_EQ(-EFAULT, kvt_ioctl(self->s.fd, cmds[i],
						     (void *)spot.addr)) {
				TH_LOG("command %zu, %s", i, where_name[w]);
			}
			munmap(spot.map, SPOT_LEN);
		}
	}
	kvt_store_same(_metadata, &self->s);
}

/* Data across the end of user space: no address there is the caller's. */
TEST_F(store, data_across_the_end_of_user_space)
{
	struct spot spot;
	struct outcome o;
	struct call c;

	for (int k = 0; k < CALL_KINDS; k++) {
		for (size_t i = 0; i < KVT_LEN(slots); i++) {
			if (!call_is(k, slots[i].kinds) ||
			    slots[i].class < OF_DATA_IN)
				continue;
			call_prep(&c, k, &self->s);
			ASSERT_TRUE(spot_make(&spot, AT_LAST, NULL, 0));
			kvt_poke(&c, slots[i].ptr, 8, spot.addr);
			o = call_run(&c);
			munmap(spot.map, SPOT_LEN);
			EXPECT_EQ(0, o.err);
			if (o.r.reason == KVSTASH_R_BUFFER)
				KVT_EXPECT(EINVAL, KVSTASH_R_BUFFER, o.r);
			else
				KVT_EXPECT(EFAULT, KVSTASH_R_DATA_FAULT, o.r);
			kvt_store_same(_metadata, &self->s);
		}
	}
}

/* A tag of some length at NULL is refused, one of none is none. */
TEST_F(store, tag_at_NULL)
{
	struct outcome o;
	struct call c;

	call_prep(&c, CALL_PUT, &self->s);
	c.e.put.tag = 0;
	o = call_run(&c);
	EXPECT_EQ(0, o.err);
	KVT_EXPECT(EINVAL, KVSTASH_R_TAG, o.r);
	kvt_store_same(_metadata, &self->s);
	call_prep(&c, CALL_PUT, &self->s);
	c.e.put.tag_len = 0;
	call_control(_metadata, &c, &self->s);
}

/* How far a faulting copy came is told, and is never too much. */
TEST_F(store, fault_tells_the_bytes_moved_before)
{
	const size_t there = 3000;
	struct kvstash_result r;
	char *edge = kvt_map_edge(there);
	__u64 bytes = 0;

	ASSERT_NE(NULL, edge);
	r = kvt_get1(self->s.fd, "seed/one", 8, edge, KVT_ONE_LEN, &bytes);
	KVT_EXPECT(EFAULT, KVSTASH_R_DATA_FAULT, r);
	EXPECT_LE(r.detail, there);
	EXPECT_EQ(-1, kvt_verify(edge, r.detail, kvt_seed_of("seed/one", 0)));
	r = kvt_put1(self->s.fd, "call/new", 8, edge, KVT_ONE_LEN);
	KVT_EXPECT(EFAULT, KVSTASH_R_DATA_FAULT, r);
	EXPECT_LE(r.detail, there);
	EXPECT_EQ(KVSTASH_STATE_ABSENT, kvt_state(self->s.fd, "call/new", 8));
	kvt_store_same(_metadata, &self->s);
}

/*
 * Bytes that a faulting WRITE did not bring are not written: the part can't be
 * committed without them.
 */
TEST_F(store, I1_faulting_write_leaves_a_gap)
{
	const size_t there = 3000, len = 8000;
	char *edge = kvt_map_edge(there), *back = kvt_map(len);
	struct kvstash_handle h;
	struct kvstash_result r;
	__u64 moved;

	ASSERT_NE(NULL, edge);
	ASSERT_NE(NULL, back);
	kvt_fill(edge, there, 7);
	KVT_OK(kvt_reserve1(self->s.fd, "call/new", 8, len, &h));
	r = kvt_write1(self->s.fd, &h, 0, edge, len);
	KVT_EXPECT(EFAULT, KVSTASH_R_DATA_FAULT, r);
	moved = r.detail;
	EXPECT_LE(moved, there);
	r = kvt_commit1(self->s.fd, &h);
	KVT_EXPECT(EINVAL, KVSTASH_R_UNWRITTEN, r);
	EXPECT_LE(len - moved, r.detail);
	EXPECT_LE(r.detail, len);
	kvt_fill(back, len, 8);
	KVT_OK(kvt_write1(self->s.fd, &h, 0, back, len));
	KVT_OK(kvt_commit1(self->s.fd, &h));
	memset(back, 0, len);
	KVT_OK(kvt_get1(self->s.fd, "call/new", 8, back, len, NULL));
	EXPECT_EQ(-1, kvt_verify(back, len, 8));
	KVT_OK(kvt_remove1(self->s.fd, "call/new", 8));
}

TEST_HARNESS_MAIN
