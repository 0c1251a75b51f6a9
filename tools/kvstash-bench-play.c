// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench replay: what an engine does with one request */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kvstash.h>

#include "kvstash-bench-play.h"

#define CALL_BYTES	(16U << 20)	/* user memory that one call moves, at most */
#define CALL_ENTRIES	4096
#define ERRORS_TOLD	5		/* a worker's errors that are told in full */

/* Blocks of the longest request */
size_t play_longest(const struct trace *t)
{
	size_t longest = 0;

	for (size_t i = 0; i < t->requests; i++)
		if (trace_len(t, i) > longest)
			longest = trace_len(t, i);
	return longest;
}

struct player *player_create(const struct replay *r, struct tally *tally)
{
	size_t longest = play_longest(r->t);
	struct player *p = xalloc(1, sizeof(*p));

	p->r = r;
	p->tally = tally;
	p->c = client_open(r->ns);
	p->keys = xalloc(longest, KEY_BYTES);
	p->slots = CALL_BYTES / r->block_bytes;
	if (p->slots > longest)
		p->slots = longest;
	if (p->slots > CALL_ENTRIES)
		p->slots = CALL_ENTRIES;
	if (!p->slots)
		p->slots = 1;
	p->buf = map_pages(p->slots * r->block_bytes);
	p->entries = xalloc(p->slots + 1, sizeof(*p->put) + sizeof(*p->get));
	if (r->engine->equip)
		r->engine->equip(p);
	return p;
}

static __u8 *slot(const struct player *p, size_t i)
{
	return p->buf + i * p->r->block_bytes;
}

static __u64 seed(const struct player *p, __u32 block)
{
	return pattern_seed(p->r->block_bytes, p->r->t->id[block]);
}

void play_tell(struct player *p, const char *call, __u32 block, const char *what)
{
	if (p->tally->errors + p->tally->corrupt < ERRORS_TOLD)
		warn("%s of block %llu: %s", call,
		     p->r->t->id[block], what);
}

void play_entry_failed(struct player *p, const char *call, __u32 block,
		       const struct kvstash_result *res)
{
	char text[256];

	kvstash_result_format(res, text, sizeof(text));
	play_tell(p, call, block, text);
	p->tally->errors++;
}

void play_call_failed(struct player *p, const char *call, int err)
{
	unsigned int reason, field;

	kvstash_last_refusal(p->c, &reason, &field);
	die("%s: %s (%s, member at %u)", call, strerror(-err),
	    kvstash_reason_name(reason), field);
}

/* The run of blocks that are there */
static size_t lookup(struct player *p)
{
	struct kvstash_keys k;
	__u64 start;
	size_t run;
	int err;

	kvstash_prep_keys(&k, p->keys, KEY_BYTES, p->n);
	start = now_ns();
	err = kvstash_lookup_all(p->c, &k, &run);
	hist_add(&p->tally->lookup_ns, now_ns() - start);
	if (err)
		play_call_failed(p, "lookup", err);
	return run;
}

/* Index of the first wrong byte, or the length */
static size_t check(const struct player *p, const __u8 *buf, __u32 block)
{
	size_t len = p->r->block_bytes, bad;
	__u64 s = seed(p, block);
	size_t at[3] = {
		0, (len - 1) / PAGE_UNIT, mix64(s ^ p->tally->got) % ((len - 1) / PAGE_UNIT + 1),
	};

	if (p->r->verify == VERIFY_FULL)
		return pattern_check(buf, len, s, 0);
	for (int i = 0; i < 3 && p->r->verify == VERIFY_SAMPLE; i++) {
		size_t from = at[i] * PAGE_UNIT;
		size_t n = len - from < PAGE_UNIT ? len - from : PAGE_UNIT;

		bad = pattern_check(buf + from, n, s, from);
		if (bad < n)
			return from + bad;
	}
	return len;
}

static void got(struct player *p, size_t i, __u32 block)
{
	const struct kvstash_get *e = &p->get[i];
	size_t bad;

	if (e->r.res == -ENOENT) {
		p->tally->gone++;
		return;
	}
	if (e->r.res) {
		play_entry_failed(p, "get", block, &e->r);
		return;
	}
	bad = check(p, slot(p, i), block);
	if (bad < p->r->block_bytes || e->bytes != p->r->block_bytes) {
		play_tell(p, "get", block, "wrong bytes");
		p->tally->corrupt++;
	}
	p->tally->got++;
}

/**
 * play_get() - get pages, and check them
 * @p:      the engine
 * @from:   the first of them, in the chain
 * @n:      how many, up to @p->slots
 * @leases: those of the chain's pages, by which to get them; NULL: by their keys
 * @more:   entries that the caller has prepared behind @n, for the same call
 */
void play_get(struct player *p, size_t from, size_t n, const struct kvstash_handle *leases,
	      size_t more)
{
	__u64 start;
	int err;

	for (size_t i = 0; i < n; i++) {
		kvstash_prep_get(&p->get[i], play_key(p, from + i), KEY_BYTES, slot(p, i),
				 p->r->block_bytes);
		if (leases)
			kvstash_prep_get_by_lease(&p->get[i], &leases[from + i]);
		pattern_spoil(slot(p, i), p->r->block_bytes);
	}
	start = now_ns();
	err = kvstash_get_all(p->c, p->get, n + more, NULL);
	hist_add(&p->tally->get_ns, now_ns() - start);
	if (err)
		play_call_failed(p, "get", err);
	for (size_t i = 0; i < n; i++)
		got(p, i, p->chain[from + i]);
}

static void was_put(struct player *p, size_t i, __u32 block)
{
	const struct kvstash_result *res = &p->put[i].r;

	switch (res->reason) {
	case KVSTASH_R_OK:
		p->tally->put++;
		break;
	case KVSTASH_R_EXISTS:
		p->tally->exists++;
		break;
	case KVSTASH_R_IN_FLIGHT:
		p->tally->busy++;
		break;
	case KVSTASH_R_NO_SPACE:
		p->tally->no_space++;
		break;
	case KVSTASH_R_PARENT_MISS:
	case KVSTASH_R_REMOVED:
		p->tally->no_parent++;
		break;
	default:
		play_entry_failed(p, "put", block, res);
	}
}

/* Likewise put them. */
void play_put(struct player *p, size_t from, size_t n, size_t more)
{
	__u64 start;
	int err;

	for (size_t i = 0; i < n; i++) {
		struct kvstash_put *e = &p->put[i];
		size_t at = from + i;

		pattern_fill(slot(p, i), p->r->block_bytes, seed(p, p->chain[at]), 0);
		kvstash_prep_put(e, play_key(p, at), KEY_BYTES, slot(p, i), p->r->block_bytes);
		if (at)
			kvstash_prep_put_parent(e, play_key(p, at - 1), KEY_BYTES);
	}
	start = now_ns();
	err = kvstash_put_all(p->c, p->put, n + more, NULL);
	hist_add(&p->tally->put_ns, now_ns() - start);
	if (err)
		play_call_failed(p, "put", err);
	for (size_t i = 0; i < n; i++)
		was_put(p, i, p->chain[from + i]);
}

void play_begin(struct player *p, size_t request)
{
	const struct trace *t = p->r->t;

	p->chain = t->blocks + t->first[request];
	p->n = trace_len(t, request);
	for (size_t at = 0; at < p->n; at++)
		replay_key(p->r, p->keys + at * KEY_BYTES, p->chain[at]);
}

/* @run: blocks that were there */
void play_end(struct player *p, size_t run)
{
	p->tally->hits += run;
	p->tally->requests_hit += run > 0;
	p->tally->requests_full += run == p->n;
	p->tally->blocks += p->n;
	p->tally->requests++;
}

/* Look up the whole chain, get and check what is there, put what is not. */
void player_request(struct player *p, size_t request)
{
	size_t run, at, some;

	play_begin(p, request);
	run = lookup(p);
	for (at = 0; at < p->n; at += some) {
		some = (at < run ? run : p->n) - at;
		if (some > p->slots)
			some = p->slots;
		if (at < run)
			play_get(p, at, some, NULL, 0);
		else
			play_put(p, at, some, 0);
	}
	play_end(p, run);
}
