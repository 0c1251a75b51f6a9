// SPDX-License-Identifier: GPL-2.0
/* kvstash-timeout: 600 */
/*
 * Groups, leases, pins: each command with its first, second, ... allocation or
 * user copy failing, until none fails any more. No lease stays without its handle,
 * no pin that was not asked for, and a group can always be completed.
 */
#include "../foundation/failslab.h"

#define LEN	9000UL
#define LARGE	((5UL << 20) + 1)	/* more extents than fit an object */
#define NR	3U			/* members, keys, leases */

/** struct ctx - what a step works on */
struct ctx {
	const struct kvt_store *s;
	int fail;
	int fd;			/* the client that is under test */
	__u32 flags;		/* of the group's puts */
	struct kvstash_handle h;
	struct kvstash_handle lease[NR];
	char *buf;		/* LARGE bytes of pattern 1 */
	char *back;
	struct kvstash_put put[NR];
	struct kvstash_end end[NR];
	struct kvstash_exists x[NR];
	struct kvstash_get get;
};

/* Keys of the members; the group's is GROUP. */
static const char keys[NR][5] = { "mem0", "mem1", "mem2" };

#define KEY	4
#define GROUP	"team"

static struct kvstash_result plain(int r)
{
	return (struct kvstash_result){ r < 0 ? r : 0, 0, 0 };
}

/* No lease, no pin; and with that the seeds are as they were. */
static bool clean(void)
{
	return !kvt_ns("leases") && !kvt_ns("leased_bytes") && !kvt_ns("pinned_bytes");
}

static struct kvstash_result call_of_group(struct ctx *c, struct kvstash_keys *k,
					   unsigned long cmd)
{
	kvstash_prep_keys(k, GROUP, KEY, 1);
	k->kind = KVSTASH_KIND_GROUP;
	k->results = kvstash_addr(c->x);
	k->stride = sizeof(*c->x);
	if (cmd == KVSTASH_IOC_EXISTS) {
		k->flags = KVSTASH_KEYS_LEASE;
		k->leases = kvstash_addr(c->lease);
		memset(c->lease, 0, sizeof(c->lease));
	}
	return plain(kvt_ioctl(c->s->fd, cmd, k));
}

/* The group and all of it, if it is there. */
static bool group_gone(struct ctx *c)
{
	struct kvstash_keys k;
	struct kvstash_result r = call_of_group(c, &k, KVSTASH_IOC_REMOVE);

	return !r.res && (!c->x[0].r.res || c->x[0].r.reason == KVSTASH_R_MISS) &&
	       kvt_state(c->s->fd, keys[0], KEY) == KVSTASH_STATE_ABSENT && clean();
}

/*
 * Puts of members
 */

static void prep_member(struct ctx *c, unsigned int i, const void *buf, __u64 len)
{
	struct kvstash_put *e = &c->put[i];

	kvstash_prep_put(e, keys[i], KEY, buf, len);
	kvstash_prep_put_parent(e, "seed/one", 8);
	kvstash_prep_put_tag(e, c->s->tag, 100);
	e->group = kvstash_addr(GROUP);
	e->group_len = KEY;
	e->member = i;
	e->members = NR;
	e->flags = c->flags;
	e->ttl_ms = 1000000;
}

static bool prep_group(struct ctx *c)
{
	for (unsigned int i = 0; i < NR; i++)
		prep_member(c, i, c->buf, LEN + i);
	return true;
}

static bool prep_atomic(struct ctx *c)
{
	c->flags = KVSTASH_PUT_ATOMIC | KVSTASH_PUT_NO_LINGER;
	return prep_group(c);
}

static bool prep_plain(struct ctx *c)
{
	c->flags = 0;
	return prep_group(c);
}

static struct kvstash_result call_put_group(struct ctx *c)
{
	int done = kvt_put(c->s->fd, c->put, NR);

	if (done < 0)
		return plain(done);
	for (unsigned int i = 0; i < NR; i++)
		if (c->put[i].r.res)
			return c->put[i].r;
	return plain(0);
}

/* The members that are missing can be put, and then all are visible and whole. */
static bool complete(struct ctx *c)
{
	prep_group(c);
	if (kvt_put(c->s->fd, c->put, NR) != NR)
		return false;
	for (unsigned int i = 0; i < NR; i++) {
		if (c->put[i].r.res && c->put[i].r.reason != KVSTASH_R_EXISTS)
			return false;
		if (kvt_get1(c->s->fd, keys[i], KEY, c->back, LEN + i, NULL).res ||
		    kvt_verify(c->back, LEN + i, 1) >= 0)
			return false;
	}
	return true;
}

static bool undo_put_group(struct ctx *c, const struct kvstash_result *r)
{
	(void)r;
	return complete(c) && group_gone(c);
}

static bool make_group(struct ctx *c)
{
	return prep_atomic(c) && !call_put_group(c).res;
}

static bool make_plain(struct ctx *c)
{
	return prep_plain(c) && !call_put_group(c).res;
}

static bool undo_group(struct ctx *c, const struct kvstash_result *r)
{
	(void)r;
	return group_gone(c);
}

/* The first member: with it comes the group. */
static bool prep_reserve(struct ctx *c)
{
	c->flags = KVSTASH_PUT_ATOMIC;
	prep_member(c, 0, NULL, LARGE);
	return true;
}

static struct kvstash_result call_reserve(struct ctx *c)
{
	return kvt_reserve_one(c->s->fd, &c->put[0]);
}

/* A group without a member is none. */
static bool undo_reserve(struct ctx *c, const struct kvstash_result *r)
{
	struct kvstash_keys k;

	if (!r->res && kvt_abort1(c->s->fd, &c->put[0].handle).res)
		return false;
	call_of_group(c, &k, KVSTASH_IOC_EXISTS);
	return c->x[0].r.reason == KVSTASH_R_MISS && group_gone(c);
}

/* The last member: with its commit all appear. */
static bool prep_last(struct ctx *c)
{
	prep_atomic(c);
	if (kvt_put(c->s->fd, c->put, NR - 1) != NR - 1)
		return false;
	prep_member(c, NR - 1, NULL, LEN + NR - 1);
	if (kvt_reserve_one(c->s->fd, &c->put[NR - 1]).res)
		return false;
	c->h = c->put[NR - 1].handle;
	return !kvt_write1(c->s->fd, &c->h, 0, c->buf, LEN + NR - 1).res;
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
	return complete(c) && group_gone(c);
}

static struct kvstash_result call_abort(struct ctx *c)
{
	return kvt_abort1(c->s->fd, &c->h);
}

static bool undo_abort(struct ctx *c, const struct kvstash_result *r)
{
	struct kvstash_result again = kvt_abort1(c->s->fd, &c->h);

	if (again.reason != KVSTASH_R_ABORTED && (!r->res || again.res))
		return false;
	return complete(c) && group_gone(c);
}

/* A page below a group */
static bool prep_child(struct ctx *c)
{
	if (!make_group(c))
		return false;
	kvstash_prep_put(&c->put[0], "child", 5, c->buf, LARGE);
	kvstash_prep_put_parent(&c->put[0], GROUP, KEY);
	c->put[0].parent_kind = KVSTASH_KIND_GROUP;
	return true;
}

static struct kvstash_result call_put(struct ctx *c)
{
	return kvt_put_one(c->s->fd, &c->put[0]);
}

static bool undo_child(struct ctx *c, const struct kvstash_result *r)
{
	int state = kvt_state(c->s->fd, "child", 5);

	/* a result that could not be written back says nothing */
	if (state != KVSTASH_STATE_VISIBLE && (!r->res || state != KVSTASH_STATE_ABSENT))
		return false;
	return group_gone(c) &&
	       kvt_state(c->s->fd, "child", 5) == KVSTASH_STATE_ABSENT;
}

/*
 * Leases
 */

/* Those that were handed over; if the call failed there is none. */
static bool let_go(struct ctx *c, const struct kvstash_result *r, bool whole)
{
	if (whole && r->res && kvt_ns("leases"))
		return false;
	for (unsigned int i = 0; i < NR; i++)
		if (c->lease[i].seq && !(whole && r->res) &&
		    kvt_release1(c->s->fd, &c->lease[i]).res)
			return false;
	return clean();
}

static const __u16 seed_lens[NR] = { 8, 10, 9 };

static void prep_seeds(struct kvstash_keys *k)
{
	kvstash_prep_keys_var(k, "seed/oneseed/threeseed/none", seed_lens, NR);
}

static bool prep_lease(struct ctx *c)
{
	memset(c->lease, 0, sizeof(c->lease));
	return true;
}

static struct kvstash_result call_exists(struct ctx *c)
{
	struct kvstash_keys k;
	int done;

	prep_seeds(&k);
	done = kvt_exists_lease(c->s->fd, &k, c->x, c->lease);
	if (done < 0)
		return plain(done);
	for (unsigned int i = 0; i < 2; i++)
		if (c->x[i].r.res)	/* and then without a handle */
			return c->lease[i].seq ? plain(-EPROTO) : c->x[i].r;
	return plain(c->x[2].r.reason == KVSTASH_R_MISS && !c->lease[2].seq ? 0 : -EPROTO);
}

/* A key that failed leaves the leases of the others: these have their handles. */
static bool undo_exists(struct ctx *c, const struct kvstash_result *r)
{
	return let_go(c, r, r->res == -EFAULT || (r->res == -ENOMEM && !r->reason));
}

static struct kvstash_result call_lookup(struct ctx *c)
{
	struct kvstash_keys k;
	int run;

	prep_seeds(&k);
	run = kvt_lookup_lease(c->s->fd, &k, c->lease);
	return plain(run < 0 ? run : run == 2 && !c->lease[2].seq ? 0 : -EPROTO);
}

static bool undo_all_or_none(struct ctx *c, const struct kvstash_result *r)
{
	return let_go(c, r, true);
}

static bool prep_get(struct ctx *c)
{
	kvstash_prep_get(&c->get, "seed/three", 10, c->back, KVT_THREE_LEN);
	c->get.flags = KVSTASH_GET_LEASE;
	return prep_lease(c);
}

static struct kvstash_result call_get(struct ctx *c)
{
	struct kvstash_result r = kvt_get_one(c->s->fd, &c->get);

	c->lease[0] = c->get.lease;
	return r;
}

static bool make_lease(struct ctx *c)
{
	struct kvstash_result r;

	prep_lease(c);
	r = call_exists(c);
	return !r.res;
}

static bool prep_get_by_lease(struct ctx *c)
{
	kvstash_prep_get(&c->get, NULL, 0, c->back, KVT_THREE_LEN);
	c->get.flags = KVSTASH_GET_BY_LEASE;
	if (!make_lease(c))
		return false;
	c->get.lease = c->lease[1];
	return true;
}

static struct kvstash_result call_get_by_lease(struct ctx *c)
{
	return kvt_get_one(c->s->fd, &c->get);
}

static bool undo_leases(struct ctx *c, const struct kvstash_result *r)
{
	(void)r;
	return let_go(c, r, false);
}

static bool prep_release(struct ctx *c)
{
	if (!make_lease(c))
		return false;
	c->lease[2] = c->lease[0];	/* once more: it says so */
	for (unsigned int i = 0; i < NR; i++)
		kvstash_prep_end(&c->end[i], &c->lease[i]);
	return true;
}

static struct kvstash_result call_release(struct ctx *c)
{
	int done = kvt_release(c->s->fd, c->end, NR);

	if (done < 0)
		return plain(done);
	for (unsigned int i = 0; i < NR; i++)
		if (c->end[i].r.res && (i < 2 || c->end[i].r.reason != KVSTASH_R_RELEASED))
			return c->end[i].r;
	return plain(0);
}

static bool undo_release(struct ctx *c, const struct kvstash_result *r)
{
	struct kvstash_result again;

	for (unsigned int i = 0; i < 2; i++) {
		again = kvt_release1(c->s->fd, &c->lease[i]);
		if (again.reason != KVSTASH_R_RELEASED && (!r->res || again.res))
			return false;
	}
	return clean();
}

static struct kvstash_result call_lease_group(struct ctx *c)
{
	struct kvstash_keys k;
	struct kvstash_result r = call_of_group(c, &k, KVSTASH_IOC_EXISTS);

	return r.res ? r : c->x[0].r;
}

static bool undo_lease_group(struct ctx *c, const struct kvstash_result *r)
{
	return let_go(c, r, true) && group_gone(c);
}

/* Facts of one moment about all members */
static struct kvstash_result call_members(struct ctx *c)
{
	static const char all[] = "mem0mem1mem2";
	struct kvstash_keys k;
	int done;

	kvstash_prep_keys(&k, all, KEY, NR);
	done = kvt_exists_lease(c->s->fd, &k, c->x, c->lease);
	if (done < 0)
		return plain(done);
	for (unsigned int i = 0; i < NR; i++)
		if (c->x[i].r.res)
			return c->lease[i].seq ? plain(-EPROTO) : c->x[i].r;
	return plain(0);
}

static bool make_group_and_lease(struct ctx *c)
{
	return make_group(c) && prep_lease(c);
}

static bool undo_members(struct ctx *c, const struct kvstash_result *r)
{
	return undo_exists(c, r) && group_gone(c);
}

/*
 * Pins, REMOVE, and the end of a client
 */

static struct kvstash_result call_pin(struct ctx *c)
{
	return kvt_pin1(c->s->fd, keys[1], KEY, KVSTASH_PIN_HARD);
}

static bool make_pinned(struct ctx *c)
{
	return make_group(c) && !call_pin(c).res;
}

static struct kvstash_result call_unpin(struct ctx *c)
{
	return kvt_pin1(c->s->fd, keys[2], KEY, KVSTASH_PIN_NONE);
}

static struct kvstash_result call_remove_member(struct ctx *c)
{
	struct kvstash_keys k;
	int done;

	kvstash_prep_keys(&k, keys[1], KEY, 1);
	k.flags = KVSTASH_KEYS_MEMBER;
	done = kvt_remove(c->s->fd, &k, c->x);
	return done < 0 ? plain(done) : c->x[0].r;
}

/* The member can be put again. */
static bool undo_remove_member(struct ctx *c, const struct kvstash_result *r)
{
	if (!r->res && kvt_state(c->s->fd, keys[1], KEY) != KVSTASH_STATE_ABSENT)
		return false;
	return complete(c) && group_gone(c);
}

static struct kvstash_result call_remove(struct ctx *c)
{
	return kvt_remove1(c->s->fd, keys[2], KEY);
}

static bool undo_remove(struct ctx *c, const struct kvstash_result *r)
{
	for (unsigned int i = 0; i < NR && !r->res; i++)
		if (kvt_state(c->s->fd, keys[i], KEY) != KVSTASH_STATE_ABSENT)
			return false;
	return group_gone(c);
}

/* A client with leases and with the only contribution to a group. */
static bool prep_close(struct ctx *c)
{
	struct kvstash_keys k;

	c->fd = kvt_open();
	prep_atomic(c);
	if (c->fd < 0 || kvt_put_one(c->fd, &c->put[1]).res)
		return false;
	prep_seeds(&k);
	return kvt_lookup_lease(c->fd, &k, c->lease) == 2;
}

static struct kvstash_result call_close(struct ctx *c)
{
	return plain(close(c->fd) ? -errno : 0);
}

/* NO_LINGER: the group has gone with it. */
static bool undo_close(struct ctx *c, const struct kvstash_result *r)
{
	(void)r;
	return kvt_state(c->s->fd, keys[1], KEY) == KVSTASH_STATE_ABSENT && group_gone(c);
}

static struct kvstash_result call_figures(struct ctx *c)
{
	char text[4096];
	ssize_t r;

	(void)c;
	r = kvt_slurp(KVT_NS, text, sizeof(text));
	if (r >= 0)
		r = kvt_slurp("/sys/kernel/debug/kvstash/leases", text, sizeof(text));
	return plain(r < 0 ? r : 0);
}

static const struct step steps[] = {
	{ "put atomic group", prep_atomic, call_put_group, undo_put_group },
	{ "put plain group", prep_plain, call_put_group, undo_put_group },
	{ "reserve member", prep_reserve, call_reserve, undo_reserve },
	{ "commit last member", prep_last, call_commit, undo_commit },
	{ "abort last member", prep_last, call_abort, undo_abort },
	{ "put below group", prep_child, call_put, undo_child },
	{ "exists+lease", prep_lease, call_exists, undo_exists },
	{ "lookup+lease", prep_lease, call_lookup, undo_all_or_none },
	{ "get+lease", prep_get, call_get, undo_all_or_none },
	{ "get by lease", prep_get_by_lease, call_get_by_lease, undo_leases },
	{ "release", prep_release, call_release, undo_release },
	{ "lease group", make_group, call_lease_group, undo_lease_group },
	{ "lease members", make_group_and_lease, call_members, undo_members },
	{ "pin", make_group, call_pin, undo_group },
	{ "unpin", make_pinned, call_unpin, undo_group },
	{ "remove member", make_plain, call_remove_member, undo_remove_member },
	{ "remove group", make_group, call_remove, undo_remove },
	{ "close", prep_close, call_close, undo_close },
	{ "figures", make_lease, call_figures, undo_leases },
};

TEST_F(store, I5_I6_every_command_with_every_allocation_failing)
{
	static struct ctx c;

	c.s = &self->s;
	c.fail = fail_open();
	if (c.fail < 0)
		SKIP(return, "no fault injection in this kernel");
	c.buf = kvt_map(LARGE);
	c.back = kvt_map(LARGE);
	ASSERT_TRUE(c.buf && c.back);
	kvt_fill(c.buf, LARGE, 1);
	memset(c.back, 1, LARGE);	/* and all of its pages are there */
	for (size_t i = 0; i < KVT_LEN(steps); i++)
		fail_each(_metadata, c.s, c.fail, &c, &steps[i]);
}

TEST_HARNESS_MAIN
