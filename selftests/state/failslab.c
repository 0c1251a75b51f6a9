// SPDX-License-Identifier: GPL-2.0
/* kvstash-timeout: 900 */
/*
 * Layouts and states: each command with its first, second, ... allocation or user
 * copy failing, until none fails any more. No slot is lost, no layout half there, no
 * lease without its handle.
 */
#include "../foundation/failslab.h"
#include "s_store.h"

#define NR	3U

/** struct ctx - what a step works on */
struct ctx {
	struct kvt_store *s;
	int fail;
	int fd;			/* a client that is closed by the step */
	struct kvstash_handle h;
	struct kvstash_handle lease[NR];
	struct kvstash_layer layers[64];
	struct kvstash_layout l;
	struct sst_key k[NR];
	struct kvstash_candidate c[NR];
	struct kvstash_keys keys;
	struct kvstash_put put;
	struct kvstash_get get;
	struct kvstash_exists x[NR];
	char *buf;
};

static struct kvstash_result plain(int r)
{
	return (struct kvstash_result){ r < 0 ? r : 0, 0, 0 };
}

/* All that the steps make is gone: no slot, no layout, no lease. */
static bool clean(struct ctx *c)
{
	struct kvstash_result r;

	for (unsigned int i = 0; i < 2; i++) {
		const struct sst_layout *l = i ? &sst_tied : &sst_small;

		r = sst_resize(c->s->fd, l, 0);
		if (r.res && r.reason != KVSTASH_R_LAYOUT_UNKNOWN)
			return false;
		r = sst_drop(c->s->fd, l);
		if (r.res && r.reason != KVSTASH_R_LAYOUT_UNKNOWN)
			return false;
	}
	/* evictions are the steps' own */
	c->s->snap.c.evictions = kvt_pool("evictions");
	return !kvt_ns("layouts") && !kvt_ns("slot_bytes") && !kvt_pool("slot_free_bytes") &&
	       !kvt_ns("leases") && !kvt_ns("leased_bytes") && !kvt_ns("pinned_bytes");
}

static bool undo_clean(struct ctx *c, const struct kvstash_result *r)
{
	(void)r;
	return clean(c);
}

static struct kvstash_result layout_call(struct ctx *c, unsigned long cmd)
{
	return sst_layout_call(c->s->fd, cmd, &c->l);
}

/*
 * Layouts
 */

static bool prep_add(struct ctx *c)
{
	sst_prep_add(&c->l, &sst_small, c->layers, NR);
	return true;
}

static struct kvstash_result call_add(struct ctx *c)
{
	return layout_call(c, KVSTASH_IOC_LAYOUT_ADD);
}

/* With its slots, or not at all; but it stays if only the answer was lost. */
static bool undo_add(struct ctx *c, const struct kvstash_result *r)
{
	struct kvstash_layout d = sst_figures(c->s->fd, &sst_small);

	if (d.size && (d.slots != NR || (r->res && r->res != -EFAULT)))
		return false;
	if (!d.size && (!r->res || kvt_ns("slot_bytes")))
		return false;
	return clean(c);
}

static bool make_layout(struct ctx *c)
{
	for (unsigned int i = 0; i < NR; i++)
		c->k[i] = sst_nth(&sst_small, i);
	memset(c->lease, 0, sizeof(c->lease));
	return !sst_add(c->s->fd, &sst_small, NR).res;
}

static bool prep_add_again(struct ctx *c)
{
	return make_layout(c) && prep_add(c);
}

/* It was there, and is, whatever came of the call. */
static bool undo_add_again(struct ctx *c, const struct kvstash_result *r)
{
	struct kvstash_layout d = sst_figures(c->s->fd, &sst_small);

	(void)r;
	return d.slots == NR && kvt_ns("layouts") == 1 && clean(c);
}

static bool prep_get_layout(struct ctx *c)
{
	if (!make_layout(c))
		return false;
	sst_prep_layout(&c->l, &sst_small);
	c->l.layers = kvstash_addr(c->layers);
	c->l.nr_layers = 64;
	return true;
}

static struct kvstash_result call_get_layout(struct ctx *c)
{
	return layout_call(c, KVSTASH_IOC_LAYOUT_GET);
}

static bool prep_grow(struct ctx *c)
{
	if (!make_layout(c))
		return false;
	sst_prep_layout(&c->l, &sst_small);
	c->l.slots = 2 * NR;
	return true;
}

static struct kvstash_result call_set(struct ctx *c)
{
	return layout_call(c, KVSTASH_IOC_LAYOUT_SET);
}

/* As many as before or as asked for, nothing between. */
static bool undo_grow(struct ctx *c, const struct kvstash_result *r)
{
	__u64 slots = sst_figures(c->s->fd, &sst_small).slots;

	if (slots * SST_SMALL_SLOT != kvt_ns("slot_bytes") ||
	    (slots != 2 * NR && (!r->res || slots != NR)))
		return false;
	return clean(c);
}

static bool make_states(struct ctx *c)
{
	return make_layout(c) && !sst_put_some(c->s->fd, &sst_small, 0, NR, c->buf).res;
}

static bool prep_shrink(struct ctx *c)
{
	if (!make_states(c))
		return false;
	sst_prep_layout(&c->l, &sst_small);
	c->l.slots = 1;
	return true;
}

/* All states, or the last one. */
static bool undo_shrink(struct ctx *c, const struct kvstash_result *r)
{
	__u64 slots = sst_figures(c->s->fd, &sst_small).slots;
	__u64 there = sst_those(c->s->fd, &sst_small, 0, NR);

	if (slots == NR ? !r->res || there != 7 : slots != 1 || there != 4)
		return false;
	return clean(c);
}

static bool prep_drop(struct ctx *c)
{
	if (!make_layout(c))
		return false;
	sst_prep_layout(&c->l, &sst_small);
	return true;
}

static struct kvstash_result call_drop(struct ctx *c)
{
	return layout_call(c, KVSTASH_IOC_LAYOUT_DEL);
}

/*
 * Puts
 */

static bool prep_put(struct ctx *c)
{
	if (!make_layout(c))
		return false;
	sst_prep(&c->put, &sst_small, &c->k[0], c->buf);
	kvstash_prep_put_tag(&c->put, c->s->tag, 100);
	kvstash_prep_put_manifest(&c->put, c->s->manifest);
	kvstash_prep_put_ttl(&c->put, 1000000);
	return true;
}

/* The slots are all taken. */
static bool prep_put_full(struct ctx *c)
{
	if (!make_states(c))
		return false;
	c->k[0] = sst_nth(&sst_small, 10);
	sst_prep(&c->put, &sst_small, &c->k[0], c->buf);
	return true;
}

static bool prep_put_tied(struct ctx *c)
{
	c->k[0] = sst_nth(&sst_tied, 0);
	sst_prep(&c->put, &sst_tied, &c->k[0], c->buf);
	kvstash_prep_put_parent(&c->put, "seed/one", 8);
	return !sst_add(c->s->fd, &sst_tied, 1).res;
}

static bool prep_put_member(struct ctx *c)
{
	if (!make_layout(c))
		return false;
	sst_prep(&c->put, &sst_small, &c->k[0], c->buf);
	kvstash_prep_put_parent(&c->put, "seed/one", 8);
	kvstash_prep_put_group(&c->put, "team", 4, 0, 1,
			       KVSTASH_PUT_ATOMIC | KVSTASH_PUT_NO_LINGER);
	return true;
}

static struct kvstash_result call_put(struct ctx *c)
{
	return kvt_put_one(c->s->fd, &c->put);
}

/* It is there with all its bytes, or not at all and has no slot. */
static bool undo_put(struct ctx *c, const struct kvstash_result *r)
{
	const struct sst_layout *l = c->k[0].head.fingerprint[0] == sst_tied.nr ? &sst_tied :
									       &sst_small;
	struct kvstash_layout d = sst_figures(c->s->fd, l);

	if (sst_there(c->s->fd, &c->k[0])) {
		if (sst_get(c->s->fd, l, &c->k[0], c->buf).res ||
		    sst_remove(c->s->fd, &c->k[0]).res)
			return false;
	} else if (!r->res) {
		return false;
	}
	if (d.used != d.states)
		return false;
	return clean(c);
}

static bool prep_reserve(struct ctx *c)
{
	if (!make_layout(c))
		return false;
	kvstash_prep_reserve(&c->put, &c->k[0], sizeof(c->k[0]), sst_small.bytes);
	c->put.kind = KVSTASH_KIND_STATE;
	return true;
}

static struct kvstash_result call_reserve(struct ctx *c)
{
	return kvt_reserve_one(c->s->fd, &c->put);
}

static bool undo_reserve(struct ctx *c, const struct kvstash_result *r)
{
	if (!r->res && kvt_abort1(c->s->fd, &c->put.handle).res)
		return false;
	return !sst_figures(c->s->fd, &sst_small).states && clean(c);
}

static bool prep_commit(struct ctx *c)
{
	return make_layout(c) && !sst_reserve(c->s->fd, &sst_small, &c->k[0], &c->h).res &&
	       !sst_write(c->s->fd, &sst_small, &c->k[0], &c->h, c->buf, 0, sst_small.bytes).res;
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
	return !sst_get(c->s->fd, &sst_small, &c->k[0], c->buf).res && clean(c);
}

/* A client goes with a state in flight and one leased. */
static bool prep_close(struct ctx *c)
{
	if (!make_layout(c))
		return false;
	c->fd = kvt_open();
	return c->fd >= 0 && !sst_put(c->fd, &sst_small, &c->k[1], c->buf).res &&
	       !sst_lease(c->fd, &c->k[1], &c->lease[0]).res &&
	       !sst_reserve(c->fd, &sst_small, &c->k[0], &c->h).res;
}

static struct kvstash_result call_close(struct ctx *c)
{
	return plain(close(c->fd) ? -errno : 0);
}

static bool undo_close(struct ctx *c, const struct kvstash_result *r)
{
	(void)r;
	return sst_figures(c->s->fd, &sst_small).states == 1 && clean(c);
}

/*
 * Gets and lookups
 */

static bool prep_get(struct ctx *c)
{
	sst_prep_get(&c->get, &c->k[1], c->buf, sst_small.bytes);
	return make_states(c);
}

static bool prep_get_lease(struct ctx *c)
{
	bool good = prep_get(c);

	c->get.flags = KVSTASH_GET_LEASE;
	return good;
}

static struct kvstash_result call_get(struct ctx *c)
{
	struct kvstash_result r = kvt_get_one(c->s->fd, &c->get);

	if (c->get.flags)
		c->lease[0] = c->get.lease;
	if (!r.res && kvt_verify(c->buf, sst_small.bytes, sst_seed(&c->k[1])) >= 0)
		r.res = -EILSEQ;
	return r;
}

/* Leases that were handed over; if the call failed there is none. */
static bool undo_leases(struct ctx *c, const struct kvstash_result *r)
{
	if (r->res && kvt_ns("leases"))
		return false;
	for (unsigned int i = 0; i < NR && !r->res; i++)
		if ((c->lease[i].seq && kvt_release1(c->s->fd, &c->lease[i]).res) ||
		    (c->c[i].lease.seq && kvt_release1(c->s->fd, &c->c[i].lease).res))
			return false;
	return clean(c);
}

static const __u16 seed_lens[NR] = { 8, 10, 9 };

static bool prep_lookup(struct ctx *c)
{
	if (!make_states(c))
		return false;
	c->k[2] = sst_nth(&sst_small, 77);	/* is not there */
	for (unsigned int i = 0; i < NR; i++)
		sst_prep_candidate(&c->c[i], &c->k[i]);
	kvstash_prep_keys_var(&c->keys, "seed/oneseed/threeseed/none", seed_lens, NR);
	sst_prep_candidates(&c->keys, c->c, NR);
	return true;
}

static bool prep_lookup_lease(struct ctx *c)
{
	bool good = prep_lookup(c);

	c->keys.flags = KVSTASH_KEYS_LEASE;
	c->keys.leases = kvstash_addr(c->lease);
	return good;
}

static struct kvstash_result call_lookup(struct ctx *c)
{
	int run = kvt_lookup(c->s->fd, &c->keys);

	if (run < 0)
		return (struct kvstash_result){ run, c->keys.reason, 0 };
	if (c->c[0].r.res == -EFAULT)	/* the key of one: its own result */
		return c->c[0].r;
	if (c->c[1].r.res == -EFAULT)
		return c->c[1].r;
	if (c->c[2].r.res == -EFAULT)
		return c->c[2].r;
	return plain(run == 2 && !c->c[0].r.res && !c->c[1].r.res &&
		     c->c[2].r.reason == KVSTASH_R_MISS ? 0 : -EPROTO);
}

/* Also with a candidate that could not be read the others are leased. */
static bool undo_lookup(struct ctx *c, const struct kvstash_result *r)
{
	struct kvstash_result good = { 0 };

	return undo_leases(c, r->reason == KVSTASH_R_KEY_FAULT && c->keys.run ? &good : r);
}

static bool prep_exists(struct ctx *c)
{
	if (!make_states(c))
		return false;
	memset(c->c, 0, sizeof(c->c));
	kvstash_prep_keys(&c->keys, c->k, sizeof(c->k[0]), NR);
	c->keys.kind = KVSTASH_KIND_STATE;
	c->keys.flags = KVSTASH_KEYS_LEASE;
	c->keys.leases = kvstash_addr(c->lease);
	return true;
}

static struct kvstash_result call_exists(struct ctx *c)
{
	int done = kvt_exists(c->s->fd, &c->keys, c->x);

	if (done < 0)
		return (struct kvstash_result){ done, c->keys.reason, 0 };
	for (unsigned int i = 0; i < NR; i++)
		if (c->x[i].r.res)
			return c->x[i].r;
	return plain(0);
}

/* A key that could not be leased has none; the others have theirs. */
static bool undo_exists(struct ctx *c, const struct kvstash_result *r)
{
	struct kvstash_result good = { 0 };

	return undo_leases(c, r->reason == KVSTASH_R_NO_MEMORY && kvt_ns("leases") ? &good : r);
}

static struct kvstash_result call_pin(struct ctx *c)
{
	return sst_pin(c->s->fd, &c->k[1], KVSTASH_PIN_HARD);
}

static bool undo_pin(struct ctx *c, const struct kvstash_result *r)
{
	(void)r;
	return !sst_pin(c->s->fd, &c->k[1], KVSTASH_PIN_NONE).res && clean(c);
}

static struct kvstash_result call_remove(struct ctx *c)
{
	return sst_remove(c->s->fd, &c->k[1]);
}

static bool undo_remove(struct ctx *c, const struct kvstash_result *r)
{
	if (!r->res && sst_there(c->s->fd, &c->k[1]))
		return false;
	return clean(c);
}

static const struct step steps[] = {
	{ "layout add", prep_add, call_add, undo_add },
	{ "layout add again", prep_add_again, call_add, undo_add_again },
	{ "layout get", prep_get_layout, call_get_layout, undo_clean },
	{ "layout set up", prep_grow, call_set, undo_grow },
	{ "layout set down", prep_shrink, call_set, undo_shrink },
	{ "layout del", prep_drop, call_drop, undo_clean },
	{ "put", prep_put, call_put, undo_put },
	{ "put, evicting", prep_put_full, call_put, undo_put },
	{ "put below page", prep_put_tied, call_put, undo_put },
	{ "put into group", prep_put_member, call_put, undo_put },
	{ "reserve", prep_reserve, call_reserve, undo_reserve },
	{ "commit", prep_commit, call_commit, undo_commit },
	{ "close", prep_close, call_close, undo_close },
	{ "get", prep_get, call_get, undo_clean },
	{ "get+lease", prep_get_lease, call_get, undo_leases },
	{ "lookup", prep_lookup, call_lookup, undo_clean },
	{ "lookup+lease", prep_lookup_lease, call_lookup, undo_lookup },
	{ "exists+lease", prep_exists, call_exists, undo_exists },
	{ "pin", make_states, call_pin, undo_pin },
	{ "remove", make_states, call_remove, undo_remove },
};

TEST_F(store, I5_I6_every_command_on_states_with_every_allocation_failing)
{
	static struct ctx c;

	c.s = &self->s;
	c.fail = fail_open();
	if (c.fail < 0)
		SKIP(return, "no fault injection in this kernel");
	c.buf = kvt_map(sst_small.bytes);
	ASSERT_NE(NULL, c.buf);
	memset(c.buf, 1, sst_small.bytes);
	for (size_t i = 0; i < KVT_LEN(steps); i++)
		fail_each(_metadata, c.s, c.fail, &c, &steps[i]);
}

TEST_HARNESS_MAIN
