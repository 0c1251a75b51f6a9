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
	CALL_RESERVE,
	CALL_WRITE,
	CALL_WRITE_SEGS,
	CALL_COMMIT,
	CALL_ABORT,
	CALL_GET,
	CALL_GET_SEGS,
	CALL_GET_RANGES,
	CALL_EXISTS,
	CALL_REMOVE,
	CALL_LOOKUP,
	CALL_KINDS
};

#define CALL_BIT(kind)	(1U << (kind))
#define CALL_PUTS	(CALL_BIT(CALL_PUT) | CALL_BIT(CALL_PUT_SEGS))
#define CALL_NEWS	(CALL_PUTS | CALL_BIT(CALL_RESERVE))
#define CALL_WRITES	(CALL_BIT(CALL_WRITE) | CALL_BIT(CALL_WRITE_SEGS))
#define CALL_ENDS	(CALL_BIT(CALL_COMMIT) | CALL_BIT(CALL_ABORT))
#define CALL_GETS	(CALL_BIT(CALL_GET) | CALL_BIT(CALL_GET_SEGS) | \
			 CALL_BIT(CALL_GET_RANGES))
#define CALL_BATCHES	(CALL_NEWS | CALL_WRITES | CALL_ENDS | CALL_GETS)
#define CALL_KEYS	(CALL_BIT(CALL_EXISTS) | CALL_BIT(CALL_REMOVE) | \
			 CALL_BIT(CALL_LOOKUP))

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
	char key[32];
	char parent[32];
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
	struct kvstash_result r;	/* of the first entry or key */
};

static const struct {
	const char *name;
	unsigned long cmd;
	__u32 stride;
} call_kinds[CALL_KINDS] = {
	[CALL_PUT] = { "PUT", KVSTASH_IOC_PUT, sizeof(struct kvstash_put) },
	[CALL_PUT_SEGS] = { "PUT segs", KVSTASH_IOC_PUT,
			    sizeof(struct kvstash_put) },
	[CALL_RESERVE] = { "RESERVE", KVSTASH_IOC_RESERVE,
			   sizeof(struct kvstash_put) },
	[CALL_WRITE] = { "WRITE", KVSTASH_IOC_WRITE,
			 sizeof(struct kvstash_write) },
	[CALL_WRITE_SEGS] = { "WRITE segs", KVSTASH_IOC_WRITE,
			      sizeof(struct kvstash_write) },
	[CALL_COMMIT] = { "COMMIT", KVSTASH_IOC_COMMIT,
			  sizeof(struct kvstash_end) },
	[CALL_ABORT] = { "ABORT", KVSTASH_IOC_ABORT,
			 sizeof(struct kvstash_end) },
	[CALL_GET] = { "GET", KVSTASH_IOC_GET, sizeof(struct kvstash_get) },
	[CALL_GET_SEGS] = { "GET segs", KVSTASH_IOC_GET,
			    sizeof(struct kvstash_get) },
	[CALL_GET_RANGES] = { "GET ranges", KVSTASH_IOC_GET,
			      sizeof(struct kvstash_get) },
	[CALL_EXISTS] = { "EXISTS", KVSTASH_IOC_EXISTS,
			  sizeof(struct kvstash_exists) },
	[CALL_REMOVE] = { "REMOVE", KVSTASH_IOC_REMOVE,
			  sizeof(struct kvstash_exists) },
	[CALL_LOOKUP] = { "LOOKUP", KVSTASH_IOC_LOOKUP, 0 },
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
}

static inline void call_prep_keys(struct call *c)
{
	struct kvstash_keys *k = &c->arg.k;

	snprintf(c->keys, sizeof(c->keys), "seed/oneseed/three");
	c->lens[0] = strlen("seed/one");
	c->lens[1] = strlen("seed/three");
	kvstash_prep_keys_var(k, c->keys, c->lens, 2);
	if (c->kind != CALL_LOOKUP) {
		k->results = kvstash_addr(c->out.res);
		k->stride = c->stride;
	}
	if (c->kind == CALL_EXISTS)
		kvstash_prep_keys_tags(k, c->tags);
}

/* Makes @c a valid request of @kind. */
static inline void call_prep(struct call *c, enum call_kind kind,
			     const struct kvt_store *s)
{
	memset(c, 0, sizeof(*c));
	c->kind = kind;
	c->fd = s->fd;
	c->cmd = call_kinds[kind].cmd;
	c->stride = call_kinds[kind].stride;
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
		kvstash_prep_end(&c->e.end, &s->open);
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
	struct outcome o = { 0 };

	o.err = -kvt_ioctl(c->fd, c->cmd, arg);
	if (call_is(c->kind, CALL_KEYS)) {
		o.reason = c->arg.k.reason;
		o.field = c->arg.k.field;
		o.done = c->arg.k.done;
		if (c->kind != CALL_LOOKUP)
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
	if (c->kind == CALL_LOOKUP)
		EXPECT_EQ(2, c->arg.k.run);
	kvt_store_same(_metadata, s);
}

#endif
