/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One valid request of every command against fixture "store", to be spoilt
 *
 * Each kind of request reads all that its command can read: a key, a parent, a
 * manifest, a tag, bytes, segments. A test pokes one member and asks for the
 * exact refusal; call_control() proves that the request is good without that.
 */
#ifndef KVSTASH_ABI_CALL_H
#define KVSTASH_ABI_CALL_H

#define KVT_STORE
#include <kvstash_test.h>

enum call_kind {
	CALL_PUT,
	CALL_PUT_SEGS,
	CALL_PUT_GROUP,		/* the only member of an atomic group */
	CALL_RESERVE,
	CALL_WRITE,
	CALL_WRITE_SEGS,
	CALL_COMMIT,
	CALL_ABORT,
	CALL_RELEASE,
	CALL_GET,
	CALL_GET_SEGS,
	CALL_GET_RANGES,
	CALL_GET_LEASE,
	CALL_GET_BY_LEASE,
	CALL_EXISTS,
	CALL_EXISTS_LEASE,
	CALL_REMOVE,
	CALL_PIN,
	CALL_LOOKUP,
	CALL_LOOKUP_LEASE,
	CALL_KINDS
};

#define CALL_BIT(kind)	(1U << (kind))
#define CALL_PUTS	(CALL_BIT(CALL_PUT) | CALL_BIT(CALL_PUT_SEGS) | \
			 CALL_BIT(CALL_PUT_GROUP))
#define CALL_NEWS	(CALL_PUTS | CALL_BIT(CALL_RESERVE))
#define CALL_WRITES	(CALL_BIT(CALL_WRITE) | CALL_BIT(CALL_WRITE_SEGS))
#define CALL_ENDS	(CALL_BIT(CALL_COMMIT) | CALL_BIT(CALL_ABORT) | \
			 CALL_BIT(CALL_RELEASE))
#define CALL_KEY_GETS	(CALL_BIT(CALL_GET) | CALL_BIT(CALL_GET_SEGS) | \
			 CALL_BIT(CALL_GET_RANGES) | CALL_BIT(CALL_GET_LEASE))
#define CALL_GETS	(CALL_KEY_GETS | CALL_BIT(CALL_GET_BY_LEASE))
#define CALL_BATCHES	(CALL_NEWS | CALL_WRITES | CALL_ENDS | CALL_GETS)
#define CALL_EXISTSES	(CALL_BIT(CALL_EXISTS) | CALL_BIT(CALL_EXISTS_LEASE))
#define CALL_LOOKUPS	(CALL_BIT(CALL_LOOKUP) | CALL_BIT(CALL_LOOKUP_LEASE))
#define CALL_KEY_LEASES	(CALL_BIT(CALL_EXISTS_LEASE) | CALL_BIT(CALL_LOOKUP_LEASE))
#define CALL_RESULTS	(CALL_EXISTSES | CALL_BIT(CALL_REMOVE) | CALL_BIT(CALL_PIN))
#define CALL_KEYS	(CALL_RESULTS | CALL_LOOKUPS)

/* Sizes of the first version: nothing smaller was ever a structure. */
#define CALL_FIRST_PUT		104U
#define CALL_FIRST_GET		72U
#define CALL_FIRST_EXISTS	64U
#define CALL_FIRST_KEYS		80U

#define CALL_DATA_LEN	8000UL
#define CALL_SEG0	3000UL

/** struct call - a request with the memory that it names, page by page */
struct call {
	union {
		struct kvstash_batch b;
		struct kvstash_keys k;
		char room[4096];
	} arg;
	union {
		struct kvstash_put put;
		struct kvstash_write write;
		struct kvstash_end end;
		struct kvstash_get get;
		char room[4096];
	} e;
	union {
		struct kvstash_exists res[2];
		char room[4096];
	} out;
	char tags[2][KVSTASH_TAG_MAX];
	struct kvstash_seg segs[2];
	struct kvstash_range ranges[2];
	struct kvstash_handle leases[2];
	char key[32];
	char parent[32];
	char group[32];
	char keys[32];
	__u16 lens[4];
	char manifest[KVSTASH_DIGEST_LEN];
	char tag[16];
	unsigned char data[CALL_DATA_LEN];
	int fd;
	enum call_kind kind;
	unsigned long cmd;
	__u32 stride;
};

/** struct outcome - all that a call says */
struct outcome {
	int err;		/* of the call as a whole, positive */
	__u32 reason;
	__u32 field;
	__u32 done;
	__s64 leased;		/* leases more, or fewer, than before */
	struct kvstash_result r;	/* of the first entry or key */
};

#define CALL_PUT_KIND(text, nr) \
	{ text, nr, sizeof(struct kvstash_put), CALL_FIRST_PUT }
#define CALL_WRITE_KIND(text) \
	{ text, KVSTASH_IOC_WRITE, sizeof(struct kvstash_write), sizeof(struct kvstash_write) }
#define CALL_END_KIND(text, nr) \
	{ text, nr, sizeof(struct kvstash_end), sizeof(struct kvstash_end) }
#define CALL_GET_KIND(text) \
	{ text, KVSTASH_IOC_GET, sizeof(struct kvstash_get), CALL_FIRST_GET }
#define CALL_KEYS_KIND(text, nr) \
	{ text, nr, sizeof(struct kvstash_exists), CALL_FIRST_EXISTS }

static const struct {
	const char *name;
	unsigned long cmd;
	__u32 stride;
	__u32 least;		/* the stride of the first version */
} call_kinds[CALL_KINDS] = {
	[CALL_PUT] = CALL_PUT_KIND("PUT", KVSTASH_IOC_PUT),
	[CALL_PUT_SEGS] = CALL_PUT_KIND("PUT segs", KVSTASH_IOC_PUT),
	[CALL_PUT_GROUP] = CALL_PUT_KIND("PUT group", KVSTASH_IOC_PUT),
	[CALL_RESERVE] = CALL_PUT_KIND("RESERVE", KVSTASH_IOC_RESERVE),
	[CALL_WRITE] = CALL_WRITE_KIND("WRITE"),
	[CALL_WRITE_SEGS] = CALL_WRITE_KIND("WRITE segs"),
	[CALL_COMMIT] = CALL_END_KIND("COMMIT", KVSTASH_IOC_COMMIT),
	[CALL_ABORT] = CALL_END_KIND("ABORT", KVSTASH_IOC_ABORT),
	[CALL_RELEASE] = CALL_END_KIND("RELEASE", KVSTASH_IOC_RELEASE),
	[CALL_GET] = CALL_GET_KIND("GET"),
	[CALL_GET_SEGS] = CALL_GET_KIND("GET segs"),
	[CALL_GET_RANGES] = CALL_GET_KIND("GET ranges"),
	[CALL_GET_LEASE] = CALL_GET_KIND("GET lease"),
	[CALL_GET_BY_LEASE] = CALL_GET_KIND("GET by lease"),
	[CALL_EXISTS] = CALL_KEYS_KIND("EXISTS", KVSTASH_IOC_EXISTS),
	[CALL_EXISTS_LEASE] = CALL_KEYS_KIND("EXISTS lease", KVSTASH_IOC_EXISTS),
	[CALL_REMOVE] = CALL_KEYS_KIND("REMOVE", KVSTASH_IOC_REMOVE),
	[CALL_PIN] = CALL_KEYS_KIND("PIN", KVSTASH_IOC_PIN),
	[CALL_LOOKUP] = { "LOOKUP", KVSTASH_IOC_LOOKUP, 0, 0 },
	[CALL_LOOKUP_LEASE] = { "LOOKUP lease", KVSTASH_IOC_LOOKUP, 0, 0 },
};

static inline bool call_is(enum call_kind kind, unsigned int mask)
{
	return CALL_BIT(kind) & mask;
}

static inline void call_prep_put(struct call *c)
{
	struct kvstash_put *e = &c->e.put;

	snprintf(c->key, sizeof(c->key), "call/new");
	snprintf(c->parent, sizeof(c->parent), "seed/one");
	kvt_fill(c->manifest, sizeof(c->manifest), 3);
	kvt_fill(c->tag, sizeof(c->tag), 4);
	kvstash_prep_put(e, c->key, strlen(c->key), c->data, CALL_DATA_LEN);
	kvstash_prep_put_parent(e, c->parent, strlen(c->parent));
	kvstash_prep_put_manifest(e, c->manifest);
	kvstash_prep_put_tag(e, c->tag, sizeof(c->tag));
	if (c->kind == CALL_PUT_SEGS)
		kvstash_prep_put_segs(e, c->segs, 2);
	if (c->kind == CALL_RESERVE)
		e->buf = 0;
	if (c->kind == CALL_PUT_GROUP) {
		snprintf(c->group, sizeof(c->group), "call/group");
		e->group = kvstash_addr(c->group);
		e->group_len = strlen(c->group);
		e->members = 1;
		e->flags = KVSTASH_PUT_ATOMIC;
	}
}

/* The half of seed/flight that is written already, once more. */
static inline void call_prep_write(struct call *c,
				   const struct kvstash_handle *h)
{
	kvstash_prep_write(&c->e.write, h, 0, c->data, CALL_DATA_LEN);
	if (c->kind == CALL_WRITE_SEGS)
		kvstash_prep_write_segs(&c->e.write, c->segs, 2);
}

static inline void call_prep_get(struct call *c)
{
	struct kvstash_get *e = &c->e.get;
	size_t n;

	snprintf(c->key, sizeof(c->key), "seed/one");
	n = strlen(c->key);
	kvstash_prep_range(&c->ranges[0], 0, 0, c->data, 100);
	kvstash_prep_range(&c->ranges[1], 0, 200, c->data + 100, 300);
	kvstash_prep_get(e, c->key, n, c->data, KVT_ONE_LEN);
	if (c->kind == CALL_GET_SEGS)
		kvstash_prep_get_segs(e, c->key, n, c->segs, 2);
	if (c->kind == CALL_GET_RANGES)
		kvstash_prep_get_ranges(e, c->key, n, c->ranges, 2);
	if (c->kind == CALL_GET_LEASE)
		e->flags = KVSTASH_GET_LEASE;
	if (c->kind == CALL_GET_BY_LEASE) {
		kvstash_prep_get(e, NULL, 0, c->data, KVT_ONE_LEN);
		e->flags = KVSTASH_GET_BY_LEASE;
		e->lease = c->leases[0];
	}
}

static inline void call_prep_keys(struct call *c)
{
	struct kvstash_keys *k = &c->arg.k;

	snprintf(c->keys, sizeof(c->keys), "seed/oneseed/three");
	c->lens[0] = strlen("seed/one");
	c->lens[1] = strlen("seed/three");
	kvstash_prep_keys_var(k, c->keys, c->lens, 2);
	if (call_is(c->kind, CALL_KEY_LEASES)) {
		k->flags = KVSTASH_KEYS_LEASE;
		k->leases = kvstash_addr(c->leases);
	}
	if (!call_is(c->kind, CALL_LOOKUPS)) {
		k->results = kvstash_addr(c->out.res);
		k->stride = c->stride;
	}
	if (call_is(c->kind, CALL_EXISTSES))
		kvstash_prep_keys_tags(k, c->tags);
}

/*
 * Makes @c a valid request of @kind. A lease that it needs is taken here, and goes
 * with the file at the latest.
 */
static inline void call_prep(struct call *c, enum call_kind kind,
			     const struct kvt_store *s)
{
	memset(c, 0, sizeof(*c));
	c->kind = kind;
	c->fd = s->fd;
	c->cmd = call_kinds[kind].cmd;
	c->stride = call_kinds[kind].stride;
	if (kind == CALL_RELEASE || kind == CALL_GET_BY_LEASE)
		kvt_exists_lease1(s->fd, "seed/one", strlen("seed/one"), NULL, c->leases);
	kvstash_prep_seg(&c->segs[0], c->data, CALL_SEG0);
	kvstash_prep_seg(&c->segs[1], c->data + CALL_SEG0,
			 CALL_DATA_LEN - CALL_SEG0);
	if (call_is(kind, CALL_KEYS)) {
		call_prep_keys(c);
		return;
	}
	if (call_is(kind, CALL_NEWS))
		call_prep_put(c);
	else if (call_is(kind, CALL_WRITES))
		call_prep_write(c, &s->open);
	else if (call_is(kind, CALL_ENDS))
		kvstash_prep_end(&c->e.end, kind == CALL_RELEASE ? c->leases : &s->open);
	else
		call_prep_get(c);
	c->arg.b.size = sizeof(c->arg.b);
	c->arg.b.entries = kvstash_addr(&c->e);
	c->arg.b.count = 1;
	c->arg.b.stride = c->stride;
}

/* Carries @c out; the header may lie elsewhere. */
static inline struct outcome call_run_at(struct call *c, void *arg)
{
	struct outcome o = { .leased = -kvt_ns("leases") };

	o.err = -kvt_ioctl(c->fd, c->cmd, arg);
	o.leased += kvt_ns("leases");
	if (call_is(c->kind, CALL_KEYS)) {
		o.reason = c->arg.k.reason;
		o.field = c->arg.k.field;
		o.done = c->arg.k.done;
		if (!call_is(c->kind, CALL_LOOKUPS))
			o.r = c->out.res[0].r;
	} else {
		o.reason = c->arg.b.reason;
		o.field = c->arg.b.field;
		o.done = c->arg.b.done;
		o.r = c->e.put.r;
	}
	return o;
}

static inline struct outcome call_run(struct call *c)
{
	return call_run_at(c, &c->arg);
}

/* Ends the leases that a good request took. */
static inline void call_release(struct call *c)
{
	if (c->kind == CALL_GET_LEASE)
		kvt_release1(c->fd, &c->e.get.lease);
	for (unsigned int i = 0; i < 2 && call_is(c->kind, CALL_KEY_LEASES); i++)
		kvt_release1(c->fd, &c->leases[i]);
	if (c->kind == CALL_GET_BY_LEASE)
		kvt_release1(c->fd, c->leases);
}

/* Asserts that @c is a good request, then undoes what it did. */
static inline void call_control(struct __test_metadata *_metadata,
				struct call *c, const struct kvt_store *s)
{
	struct outcome o;

	if (c->kind == CALL_ABORT || c->kind == CALL_REMOVE)
		return;		/* would spoil the fixture */
	o = call_run(c);
	EXPECT_EQ(0, o.err) {
		TH_LOG("control %s: reason %u field %u",
		       call_kinds[c->kind].name, o.reason, o.field);
	}
	EXPECT_EQ(0, c->kind == CALL_COMMIT ? 0 : o.r.res) {
		TH_LOG("control %s: errno %d reason %u",
		       call_kinds[c->kind].name, -o.r.res, o.r.reason);
	}
	if (c->kind == CALL_COMMIT)	/* as only half of it is written */
		KVT_EXPECT(EINVAL, KVSTASH_R_UNWRITTEN, o.r);
	if (call_is(c->kind, CALL_PUTS))
		KVT_OK(kvt_remove1(s->fd, c->key, strlen(c->key)));
	if (c->kind == CALL_RESERVE)
		KVT_OK(kvt_abort1(s->fd, &c->e.put.handle));
	if (call_is(c->kind, CALL_LOOKUPS))
		EXPECT_EQ(2, c->arg.k.run);
	call_release(c);
	kvt_store_same(_metadata, s);
}

#endif
