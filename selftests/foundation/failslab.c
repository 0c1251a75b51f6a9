// SPDX-License-Identifier: GPL-2.0
/* kvstash-timeout: 600 */
/*
 * Each command with its first, second, ... allocation or user copy failing,
 * until none fails any more: it succeeds or says "no memory" (or a fault),
 * nothing is lost, and all works again.
 */
#include "failslab.h"

#define LEN	9000UL
#define LARGE	((5UL << 20) + 1)	/* more extents than fit an object */
#define RUNS	40U
#define SEGS	20U

/** struct ctx - what a step works on */
struct ctx {
	const struct kvt_store *s;
	int fail;
	int fd;			/* the client that is under test */
	struct kvstash_handle h;
	char *buf;		/* LARGE bytes of pattern 1 */
	char *back;
	struct kvstash_put put[3];
	struct kvstash_write write[RUNS];
	struct kvstash_seg segs[SEGS];
	struct kvstash_range ranges[SEGS];
	struct kvstash_exists x[3];
	char tags[3][KVSTASH_TAG_MAX];
	struct kvt_nl_reply reply;
	struct kvt_nl nl;
};

static struct kvstash_result plain(int r)
{
	return (struct kvstash_result){ r < 0 ? r : 0, 0, 0 };
}

static bool gone(int fd, const char *key)
{
	struct kvstash_result r = kvt_remove1(fd, key, strlen(key));

	return !r.res || r.reason == KVSTASH_R_MISS;
}

/* Nothing to bring back. */
static bool undo_nothing(struct ctx *c, const struct kvstash_result *r)
{
	(void)c;
	(void)r;
	return true;
}

/* open, first command, BIND, close */

static struct kvstash_result call_open(struct ctx *c)
{
	c->fd = kvt_open();
	return plain(c->fd);
}

static bool undo_open(struct ctx *c, const struct kvstash_result *r)
{
	return r->res || !close(c->fd);
}

static bool prep_open(struct ctx *c)
{
	c->fd = kvt_open();
	return c->fd >= 0;
}

static bool undo_close(struct ctx *c, const struct kvstash_result *r)
{
	(void)r;
	return !close(c->fd);
}

static struct kvstash_result call_bind(struct ctx *c)
{
	return kvt_bind(c->fd, "default");
}

static struct kvstash_result call_query(struct ctx *c)
{
	struct kvstash_query q;

	return plain(kvt_query(c->fd, &q));
}

static struct kvstash_result call_first(struct ctx *c)
{
	return kvt_exists1(c->fd, "seed/one", 8, NULL);
}

static bool prep_close(struct ctx *c)
{
	struct kvstash_handle h;

	return prep_open(c) && !kvt_reserve1(c->fd, "a", 1, LEN, &h).res &&
	       !kvt_write1(c->fd, &h, 5, c->buf, 100).res &&
	       !kvt_reserve1(c->fd, "b", 1, LARGE, &h).res &&
	       !kvt_put1(c->fd, "c", 1, c->buf, LEN).res;
}

static struct kvstash_result call_close(struct ctx *c)
{
	return plain(close(c->fd) ? -errno : 0);
}

static bool undo_closed(struct ctx *c, const struct kvstash_result *r)
{
	(void)r;
	return gone(c->s->fd, "c");
}

/* PUT */

static bool prep_put(struct ctx *c)
{
	kvstash_prep_put(&c->put[0], "fail", 4, c->buf, LEN);
	return true;
}

static bool prep_put_large(struct ctx *c)
{
	kvstash_prep_put(&c->put[0], "fail", 4, c->buf, LARGE);
	return true;
}

static bool prep_put_segs(struct ctx *c)
{
	for (unsigned int i = 0; i < SEGS; i++)
		kvstash_prep_seg(&c->segs[i], c->buf + i * 100, 100);
	kvstash_prep_put(&c->put[0], "fail", 4, NULL, 0);
	kvstash_prep_put_segs(&c->put[0], c->segs, SEGS);
	return true;
}

static struct kvstash_result call_put(struct ctx *c)
{
	return kvt_put_one(c->s->fd, &c->put[0]);
}

/* Whatever there is, is whole. */
static bool undo_put(struct ctx *c, const struct kvstash_result *r)
{
	struct kvstash_exists x;
	__u64 len = c->put[0].part_len;

	kvt_exists1(c->s->fd, "fail", 4, &x);
	if (x.state == KVSTASH_STATE_ABSENT)
		return r->res;
	return x.state == KVSTASH_STATE_VISIBLE && x.object_size == len &&
	       !kvt_get1(c->s->fd, "fail", 4, c->back, len, NULL).res &&
	       kvt_verify(c->back, len, 1) < 0 && gone(c->s->fd, "fail");
}

static bool prep_put_parts(struct ctx *c)
{
	for (unsigned int i = 0; i < 3; i++) {
		kvstash_prep_put(&c->put[i], "fail", 4, c->buf, LEN + i);
		kvstash_prep_put_part(&c->put[i], i, 3);
		kvstash_prep_put_parent(&c->put[i], "seed/one", 8);
		kvstash_prep_put_manifest(&c->put[i], c->s->manifest);
		kvstash_prep_put_tag(&c->put[i], c->s->tag, 100);
	}
	return true;
}

/* The call's result, or the first of an entry that is not good. */
static struct kvstash_result worst(int done, const struct kvstash_put *e,
				   unsigned int n)
{
	if (done < 0)
		return plain(done);
	for (unsigned int i = 0; i < n; i++)
		if (e[i].r.res)
			return e[i].r;
	return plain(0);
}

static struct kvstash_result call_put_parts(struct ctx *c)
{
	return worst(kvt_put(c->s->fd, c->put, 3), c->put, 3);
}

/* The parts that are missing can be put. */
static bool undo_put_parts(struct ctx *c, const struct kvstash_result *r)
{
	(void)r;
	prep_put_parts(c);
	if (kvt_put(c->s->fd, c->put, 3) != 3)
		return false;
	for (unsigned int i = 0; i < 3; i++)
		if (c->put[i].r.res && c->put[i].r.reason != KVSTASH_R_EXISTS)
			return false;
	return kvt_state(c->s->fd, "fail", 4) == KVSTASH_STATE_VISIBLE &&
	       gone(c->s->fd, "fail");
}

/* RESERVE, WRITE, COMMIT, ABORT */

static bool prep_reserve(struct ctx *c)
{
	kvstash_prep_reserve(&c->put[0], "fail", 4, LARGE);
	return true;
}

static struct kvstash_result call_reserve(struct ctx *c)
{
	return kvt_reserve_one(c->s->fd, &c->put[0]);
}

static bool undo_reserve(struct ctx *c, const struct kvstash_result *r)
{
	struct kvstash_result a;

	if (!r->res)
		return !kvt_abort1(c->s->fd, &c->put[0].handle).res;
	if (c->put[0].handle.seq) {	/* seen, but given up with its result */
		a = kvt_abort1(c->s->fd, &c->put[0].handle);
		if (a.reason != KVSTASH_R_ABORTED)
			return false;
	}
	return kvt_state(c->s->fd, "fail", 4) == KVSTASH_STATE_ABSENT;
}

static bool prep_write(struct ctx *c)
{
	if (kvt_reserve1(c->s->fd, "fail", 4, LEN, &c->h).res)
		return false;
	for (unsigned int i = 0; i < RUNS; i++)
		kvstash_prep_write(&c->write[i], &c->h, 100 * i,
				   c->buf + 100 * i, 7);
	return true;
}

static struct kvstash_result call_write(struct ctx *c)
{
	int done = kvt_write(c->s->fd, c->write, RUNS);

	if (done < 0)
		return plain(done);
	for (unsigned int i = 0; i < RUNS; i++)
		if (c->write[i].r.res)
			return c->write[i].r;
	return plain(0);
}

/* However much was written: the rest can be, and makes the part whole. */
static bool undo_write(struct ctx *c, const struct kvstash_result *r)
{
	struct kvstash_result m = kvt_commit1(c->s->fd, &c->h);

	if (m.reason != KVSTASH_R_UNWRITTEN || m.detail > LEN ||
	    (!r->res && m.detail != LEN - 7 * RUNS))
		return false;
	return !kvt_write1(c->s->fd, &c->h, 0, c->buf, LEN).res &&
	       !kvt_commit1(c->s->fd, &c->h).res &&
	       !kvt_get1(c->s->fd, "fail", 4, c->back, LEN, NULL).res &&
	       kvt_verify(c->back, LEN, 1) < 0 && gone(c->s->fd, "fail");
}

static bool prep_end(struct ctx *c)
{
	return !kvt_reserve1(c->s->fd, "fail", 4, LEN, &c->h).res &&
	       !kvt_write1(c->s->fd, &c->h, 0, c->buf, LEN).res;
}

static struct kvstash_result call_commit(struct ctx *c)
{
	return kvt_commit1(c->s->fd, &c->h);
}

static bool undo_commit(struct ctx *c, const struct kvstash_result *r)
{
	struct kvstash_result again = kvt_commit1(c->s->fd, &c->h);

	if (again.reason != KVSTASH_R_COMMITTED && (!r->res || again.res))
		return false;
	return !kvt_get1(c->s->fd, "fail", 4, c->back, LEN, NULL).res &&
	       kvt_verify(c->back, LEN, 1) < 0 && gone(c->s->fd, "fail");
}

static struct kvstash_result call_abort(struct ctx *c)
{
	return kvt_abort1(c->s->fd, &c->h);
}

static bool undo_abort(struct ctx *c, const struct kvstash_result *r)
{
	struct kvstash_result again = kvt_abort1(c->s->fd, &c->h);

	return again.reason == KVSTASH_R_ABORTED || (r->res && !again.res);
}

/* GET */

static struct kvstash_result call_get(struct ctx *c)
{
	return kvt_get1(c->s->fd, "seed/three", 10, c->back, KVT_THREE_LEN,
			NULL);
}

static bool undo_get(struct ctx *c, const struct kvstash_result *r)
{
	char *at = c->back;

	for (unsigned int i = 0; i < KVT_THREE_PARTS && !r->res; i++) {
		if (kvt_verify(at, kvt_three_len[i],
			       kvt_seed_of("seed/three", i)) >= 0)
			return false;
		at += kvt_three_len[i];
	}
	memset(c->back, 0, KVT_THREE_LEN);
	return true;
}

static bool prep_get_segs(struct ctx *c)
{
	for (unsigned int i = 0; i < SEGS; i++)
		kvstash_prep_seg(&c->segs[i], c->back + i * 700, 700);
	return true;
}

static struct kvstash_result call_get_segs(struct ctx *c)
{
	struct kvstash_get e;

	kvstash_prep_get_segs(&e, "seed/three", 10, c->segs, SEGS);
	return kvt_get_one(c->s->fd, &e);
}

/* Backwards, so that the check for overlaps has to sort them. */
static bool prep_get_ranges(struct ctx *c)
{
	for (unsigned int i = 0; i < SEGS; i++)
		kvstash_prep_range(&c->ranges[i], 0, 40 * i,
				   c->back + 40 * (SEGS - i), 40);
	return true;
}

static struct kvstash_result call_get_ranges(struct ctx *c)
{
	struct kvstash_get e;

	kvstash_prep_get_ranges(&e, "seed/three", 10, c->ranges, SEGS);
	return kvt_get_one(c->s->fd, &e);
}

/* EXISTS, LOOKUP, REMOVE */

static struct kvstash_result call_exists(struct ctx *c)
{
	static const __u16 lens[] = { 8, 10, 9 };
	struct kvstash_keys k;
	int done;

	kvstash_prep_keys_var(&k, "seed/oneseed/threeseed/none", lens, 3);
	kvstash_prep_keys_tags(&k, c->tags);
	done = kvt_exists(c->s->fd, &k, c->x);
	if (done < 0)
		return plain(done);
	return plain(done == 3 && !c->x[0].r.res && !c->x[1].r.res &&
		     c->x[2].r.reason == KVSTASH_R_MISS ? 0 : -EPROTO);
}

static struct kvstash_result call_lookup(struct ctx *c)
{
	static const __u16 lens[] = { 8, 10, 9 };
	struct kvstash_keys k;
	int run;

	kvstash_prep_keys_var(&k, "seed/oneseed/threeseed/none", lens, 3);
	run = kvt_lookup(c->s->fd, &k);
	return plain(run < 0 ? run : run == 2 ? 0 : -EPROTO);
}

static bool prep_remove(struct ctx *c)
{
	struct kvstash_put e;

	if (kvt_put1(c->s->fd, "fail", 4, c->buf, LEN).res)
		return false;
	kvt_prep_named(&e, "child", "fail");
	if (kvt_put_pattern(c->s->fd, &e, 1, LARGE).res)
		return false;
	kvt_prep_named(&e, "grandchild", "child");
	kvstash_prep_put_tag(&e, c->s->tag, 10);
	return !kvt_put_pattern(c->s->fd, &e, 1, 1).res;
}

static struct kvstash_result call_remove(struct ctx *c)
{
	return kvt_remove1(c->s->fd, "fail", 4);
}

static bool undo_remove(struct ctx *c, const struct kvstash_result *r)
{
	if (!r->res && kvt_state(c->s->fd, "fail", 4) != KVSTASH_STATE_ABSENT)
		return false;
	return gone(c->s->fd, "fail") &&
	       kvt_state(c->s->fd, "child", 5) == KVSTASH_STATE_ABSENT &&
	       kvt_state(c->s->fd, "grandchild", 10) == KVSTASH_STATE_ABSENT;
}

/* Figures: a read of each file */

static struct kvstash_result call_figures(struct ctx *c)
{
	char text[4096];
	ssize_t r;

	(void)c;
	r = kvt_slurp(KVT_POOL, text, sizeof(text));
	if (r >= 0)
		r = kvt_slurp(KVT_CHECK, text, sizeof(text));
	return plain(r < 0 ? r : 0);
}

static const struct step steps[] = {
	{ "open", NULL, call_open, undo_open },
	{ "query", prep_open, call_query, undo_close },
	{ "bind", prep_open, call_bind, undo_close },
	{ "first command", prep_open, call_first, undo_close },
	{ "close", prep_close, call_close, undo_closed },
	{ "put", prep_put, call_put, undo_put },
	{ "put large", prep_put_large, call_put, undo_put },
	{ "put segs", prep_put_segs, call_put, undo_put },
	{ "put parts", prep_put_parts, call_put_parts, undo_put_parts },
	{ "reserve", prep_reserve, call_reserve, undo_reserve },
	{ "write in gaps", prep_write, call_write, undo_write },
	{ "commit", prep_end, call_commit, undo_commit },
	{ "abort", prep_end, call_abort, undo_abort },
	{ "get", NULL, call_get, undo_get },
	{ "get segs", prep_get_segs, call_get_segs, undo_get },
	{ "get ranges", prep_get_ranges, call_get_ranges, undo_nothing },
	{ "exists", NULL, call_exists, undo_nothing },
	{ "lookup", NULL, call_lookup, undo_nothing },
	{ "remove", prep_remove, call_remove, undo_remove },
	{ "figures", NULL, call_figures, undo_nothing },
};

static bool ctx_init(struct ctx *c, const struct kvt_store *s)
{
	memset(c, 0, sizeof(*c));	/* and all of its pages are there */
	c->s = s;
	c->fail = fail_open();
	c->buf = kvt_map(LARGE);
	c->back = kvt_map(LARGE);
	if (!c->buf || !c->back)
		return false;
	kvt_fill(c->buf, LARGE, 1);
	memset(c->back, 1, LARGE);
	return true;
}

TEST_F(store, I6_every_command_with_every_allocation_failing)
{
	static struct ctx c;

	ASSERT_TRUE(ctx_init(&c, &self->s));
	if (c.fail < 0)
		SKIP(return, "no fault injection in this kernel");
	for (size_t i = 0; i < KVT_LEN(steps); i++)
		fail_each(_metadata, c.s, c.fail, &c, &steps[i]);
}

/*
 * Control: an ack that was lost (ENOBUFS), or could not be read (EFAULT), leaves
 * open what happened; all else that is no success leaves nothing.
 */

static bool exists(const char *dir, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/kvstash/%s/%s", dir, name);
	return !access(path, F_OK);
}

static void control_each(struct __test_metadata *_metadata, struct ctx *c,
			 const char *dir, void (*build)(struct kvt_nl *m),
			 int (*undo)(const char *name))
{
	unsigned int n, left = 0;
	int nl = kvt_nl_open(), r;
	bool there;

	ASSERT_LE(0, nl);
	for (n = 1; !left && n < FAIL_LIMIT; n++) {
		build(&c->nl);
		fail_arm(c->fail, n);
		r = kvt_nl_talk(nl, &c->nl, &c->reply);
		left = fail_disarm(c->fail);
		there = exists(dir, "fail");
		EXPECT_TRUE(r == 0 || r == -ENOMEM || r == -EFAULT ||
			    r == -ENOBUFS) {
			TH_LOG("%s, chance %u: errno %d", dir, n, -r);
		}
		EXPECT_TRUE(r == -ENOBUFS || r == -EFAULT || there == !r) {
			TH_LOG("%s, chance %u: errno %d, there: %d", dir, n,
			       -r, there);
		}
		if (there)
			ASSERT_EQ(0, undo("fail"));
		EXPECT_FALSE(exists(dir, "fail"));
		kvt_store_same(_metadata, c->s);
		/* what is left of a talk that was cut short */
		close(nl);
		nl = kvt_nl_open();
		ASSERT_LE(0, nl);
	}
	close(nl);
	TH_LOG("%s: %u chances", dir, n - 2);
	EXPECT_LT(n, FAIL_LIMIT);
}

static __u16 family;

static void build_pool(struct kvt_nl *m)
{
	kvt_nl_start(m, family, KVSTASH_CMD_POOL_NEW);
	kvt_nl_str(m, KVSTASH_A_POOL_NAME, "fail");
	kvt_nl_u64(m, KVSTASH_A_POOL_BYTES, 5 << 20);
}

static void build_ns(struct kvt_nl *m)
{
	kvt_nl_start(m, family, KVSTASH_CMD_NS_NEW);
	kvt_nl_str(m, KVSTASH_A_NS_NAME, "fail");
}

TEST_F(store, I6_control_with_every_allocation_failing)
{
	static struct ctx c;
	int nl, id;

	ASSERT_TRUE(ctx_init(&c, &self->s));
	if (c.fail < 0)
		SKIP(return, "no fault injection in this kernel");
	nl = kvt_nl_open();
	ASSERT_LE(0, nl);
	id = kvt_nl_family(nl);
	ASSERT_LT(0, id);
	close(nl);
	family = id;
	control_each(_metadata, &c, "ns", build_ns, kvt_ns_del);
	control_each(_metadata, &c, "pool", build_pool, kvt_pool_del);
}

TEST_HARNESS_MAIN
