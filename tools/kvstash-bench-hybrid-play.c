// SPDX-License-Identifier: GPL-2.0
/*
 * kvstash-bench hybrid: what an engine does with one request
 *
 * The pages hold what the model keeps of all tokens, a state what its window layers
 * keep of the last ones. To resume at a boundary the engine wants the pages before it
 * and the state at it; where that is follows from one LOOKUP. What that found is
 * leased until the request is done with, so it must all be there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvstash-bench-play.h"

/**
 * struct hybrid - the engine's own, for the request at hand
 * @full:   blocks that are all prompt: a state may be behind each
 * @prompt: tokens
 * @run:    blocks that are there
 * @leases: theirs
 * @states: candidates, the first behind one block, and so on
 * @keys:   theirs
 * @facts:  and what came of them
 * @ends:   for release of all leases
 * @at:     where to resume
 */
struct hybrid {
	size_t full;
	__u64 prompt;
	size_t run;
	struct kvstash_handle *leases;
	struct kvstash_candidate *states;
	__u8 *keys;
	struct kvstash_state_fact *facts;
	struct kvstash_end *ends;
	struct rings *rings;
	struct kvstash_resume at;
};

void hybrid_equip(struct player *p)
{
	size_t longest = play_longest(p->r->t);
	struct hybrid *h = xalloc(1, sizeof(*h));

	h->leases = xalloc(longest, sizeof(*h->leases));
	h->states = xalloc(longest, sizeof(*h->states));
	h->keys = xalloc(longest, STATE_KEY_BYTES);
	h->facts = xalloc(longest, sizeof(*h->facts));
	h->ends = xalloc(2 * longest, sizeof(*h->ends));
	h->rings = rings_create();
	p->own = h;
}

void hybrid_tally_add(struct hybrid_tally *to, const struct hybrid_tally *from)
{
	const __u64 *add = (const __u64 *)from;
	__u64 *sum = (__u64 *)to;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*sum); i++)
		sum[i] += add[i];
}

static void begin(struct player *p, size_t request)
{
	struct hybrid *h = p->own;

	play_begin(p, request);
	h->prompt = p->r->t->tokens[request];
	h->full = h->prompt / BLOCK_TOKENS < p->n ? h->prompt / BLOCK_TOKENS : p->n;
	memset(h->leases, 0, p->n * sizeof(*h->leases));
	for (size_t i = 0; i < h->full; i++) {
		__u8 *key = h->keys + i * STATE_KEY_BYTES;

		replay_state_key(p->r, key, p->chain[i], (i + 1) * BLOCK_TOKENS);
		kvstash_prep_candidate(&h->states[i], key, STATE_KEY_BYTES);
	}
}

/* The facts: which blocks and which states, all leased, or nothing of it */
static void look(struct player *p)
{
	struct hybrid *h = p->own;
	struct kvstash_keys k;
	__u64 start;
	int err;

	kvstash_prep_keys(&k, p->keys, KEY_BYTES, p->n);
	kvstash_prep_keys_candidates(&k, h->states, h->full);
	kvstash_prep_keys_lease(&k, h->leases);
	start = now_ns();
	err = kvstash_lookup_all(p->c, &k, &h->run);
	hist_add(&p->tally->lookup_ns, now_ns() - start);
	if (err && err != -EDQUOT)
		play_call_failed(p, "lookup", err);
	if (err) {
		p->tally->hybrid.no_lease++;
		h->run = 0;
	}
	p->tally->hybrid.asked += h->full;
	for (size_t i = 0; i < h->full; i++) {
		bool found = !err && !h->states[i].r.res;

		if (!err && !found && h->states[i].r.res != -ENOENT)
			play_entry_failed(p, "lookup", p->chain[i], &h->states[i].r);
		h->facts[i] = (struct kvstash_state_fact){
			.tokens = (i + 1) * BLOCK_TOKENS, .available = found,
		};
		p->tally->hybrid.found += found;
	}
}

static struct kvstash_resume resolve(const struct hybrid *h, size_t layouts, size_t facts)
{
	const struct kvstash_engine_layout l = {
		.window = model.rows, .replay = KVSTASH_REPLAY_EXACT,
	};
	const struct kvstash_engine e = {
		.prompt_tokens = h->prompt, .block_tokens = BLOCK_TOKENS, .step = STATE_ALIGN,
		.least_recompute = LEAST_RECOMPUTE, .layouts = &l, .nr_layouts = layouts,
	};
	const struct kvstash_facts f = {
		.page_run = h->run, .states = h->facts, .nr_states = facts,
	};
	struct kvstash_resume at;
	int err = kvstash_resume(&e, &f, &at);

	if (err)
		die("resume: %s", strerror(-err));
	return at;
}

/* The deepest boundary that is all there, found in the plainest way */
static __u64 deepest(const struct hybrid *h)
{
	__u64 best = 0;

	for (size_t i = 0; i < h->full && i < h->run; i++)
		if (h->facts[i].available && h->facts[i].tokens + LEAST_RECOMPUTE <= h->prompt)
			best = h->facts[i].tokens;
	return best;
}

static void choose(struct player *p)
{
	struct hybrid_tally *t = &p->tally->hybrid;
	struct hybrid *h = p->own;
	__u64 claimed = resolve(h, 0, 0).boundary;

	h->at = resolve(h, 1, h->full);
	if (h->at.boundary != deepest(h)) {
		play_tell(p, "resume", p->chain[0], "another boundary than the deepest");
		p->tally->errors++;
	}
	t->prompt += h->prompt;
	t->claimed += claimed;
	t->honest += resolve(h, 1, 0).boundary;
	t->saved += h->at.boundary;
	t->resumed += h->at.boundary > 0;
	t->missed += claimed && !h->at.boundary;
	t->shortened += h->at.boundary && h->at.boundary < claimed;
}

static void prep_state(struct player *p, struct kvstash_get *e, size_t i)
{
	struct hybrid *h = p->own;
	const struct kvstash_seg *segs;
	size_t n;

	segs = rings_segs(h->rings, h->at.boundary, &n);
	for (size_t k = 0; k < n; k++)
		pattern_spoil((void *)(uintptr_t)segs[k].addr, segs[k].len);
	kvstash_prep_get_segs(e, h->keys + i * STATE_KEY_BYTES, STATE_KEY_BYTES, segs, n);
	kvstash_prep_get_by_lease(e, &h->states[i].lease);
}

static bool state_right(struct player *p, const struct kvstash_get *e, __u32 block)
{
	struct hybrid *h = p->own;

	if (e->r.res) {
		play_entry_failed(p, "get of the state", block, &e->r);
		return false;
	}
	p->tally->hybrid.got++;
	if (e->bytes == model.layout.slot_bytes &&
	    !rings_wrong(h->rings, p, h->at.boundary))
		return true;
	play_tell(p, "get of the state", block, "wrong bytes");
	p->tally->corrupt++;
	return false;
}

/* All that the boundary stands on, the state in the call of the first pages */
static void fetch(struct player *p)
{
	struct tally *t = p->tally;
	__u64 wrong = t->corrupt + t->errors + t->gone;
	struct hybrid *h = p->own;
	bool right = true;
	size_t at, some;

	if (!h->at.boundary)
		return;
	for (at = 0; at < h->at.pages; at += some) {
		some = h->at.pages - at < p->slots ? h->at.pages - at : p->slots;
		if (!at)
			prep_state(p, &p->get[some], (size_t)h->at.state[0]);
		play_get(p, at, some, h->leases, !at);
		if (!at)
			right = state_right(p, &p->get[some], p->chain[h->at.state[0]]);
	}
	if (!right || t->corrupt + t->errors + t->gone != wrong)
		t->hybrid.false_long++;
}

/* Whether the state behind block @i is to be put: it is computed and not there */
static bool state_due(const struct hybrid *h, size_t i)
{
	size_t blocks = i + 1;

	if (blocks > h->full || h->facts[i].available)
		return false;
	return blocks == h->full || (model.every && blocks % model.every == 0);
}

static void prep_put_state(struct player *p, struct kvstash_put *e, size_t i)
{
	struct hybrid *h = p->own;
	__u64 end = h->facts[i].tokens;
	const struct kvstash_seg *segs;
	size_t n;

	rings_compute(h->rings, p, h->at.start, end);
	segs = rings_segs(h->rings, end, &n);
	kvstash_prep_put(e, h->keys + i * STATE_KEY_BYTES, STATE_KEY_BYTES, NULL, 0);
	kvstash_prep_put_segs(e, segs, n);
	kvstash_prep_put_state(e);
	if (model.layout.tied)
		kvstash_prep_put_parent(e, play_key(p, i), KEY_BYTES);
}

static void state_was_put(struct player *p, const struct kvstash_put *e, size_t i)
{
	struct hybrid_tally *t = &p->tally->hybrid;

	switch (e->r.reason) {
	case KVSTASH_R_OK:
		t->put++;
		break;
	case KVSTASH_R_EXISTS:
		t->exists++;
		break;
	case KVSTASH_R_IN_FLIGHT:
		t->busy++;
		break;
	case KVSTASH_R_NO_SLOT:
		t->no_slot++;
		break;
	case KVSTASH_R_PARENT_MISS:
	case KVSTASH_R_REMOVED:
		t->no_parent++;
		break;
	default:
		play_entry_failed(p, "put of the state", p->chain[i], &e->r);
	}
}

/* Compute from the boundary on; put the pages and states that are not there. */
static void compute(struct player *p)
{
	struct hybrid *h = p->own;
	size_t at, n = 0;

	for (at = h->at.start / BLOCK_TOKENS; at < p->n; at++) {
		bool due = state_due(h, at);

		n += at >= h->run;
		if (due)
			prep_put_state(p, &p->put[n], at);
		if (due || n == p->slots || (n && at + 1 == p->n)) {
			play_put(p, at + 1 - n, n, due);
			if (due)
				state_was_put(p, &p->put[n], at);
			n = 0;
		}
	}
}

static size_t add_end(struct kvstash_end *ends, size_t n, const struct kvstash_handle *lease)
{
	if (lease->client)
		kvstash_prep_end(&ends[n++], lease);
	return n;
}

static void release(struct player *p)
{
	struct hybrid *h = p->own;
	size_t n = 0;
	int err;

	for (size_t i = 0; i < p->n; i++)
		n = add_end(h->ends, n, &h->leases[i]);
	for (size_t i = 0; i < h->full; i++)
		n = add_end(h->ends, n, &h->states[i].lease);
	err = kvstash_release_all(p->c, h->ends, n, NULL);
	if (err)
		play_call_failed(p, "release", err);
	for (size_t i = 0; i < n; i++)
		if (h->ends[i].r.res)
			play_entry_failed(p, "release", p->chain[0], &h->ends[i].r);
}

void hybrid_request(struct player *p, size_t request)
{
	struct hybrid *h = p->own;

	begin(p, request);
	look(p);
	choose(p);
	fetch(p);
	compute(p);
	release(p);
	play_end(p, h->run);
}
