// SPDX-License-Identifier: GPL-2.0
/*
 * kvstash-bench replay: blocks that are visible behind one that is not, and states
 * that are behind none
 *
 * The walk is in the order in which the trace first shows the blocks, so each
 * is asked for after its predecessor. While nobody puts, a predecessor that was
 * not visible cannot come back: a block found visible after that is an orphan,
 * whatever is evicted during the walk.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kvstash.h>

#include "kvstash-bench.h"
#include "kvstash-bench-replay.h"

#define WALK_KEYS	4096
#define ORPHANS_TOLD	5

/**
 * struct walk - what is asked for
 * @tokens:  where each block ends: its state is asked for; NULL: the block is
 * @visible: the answers
 */
struct walk {
	const struct replay *r;
	struct kvstash *c;
	const __u64 *tokens;
	bool *visible;
};

static void walk_some(struct walk *w, __u32 from, __u32 n)
{
	size_t len = w->tokens ? STATE_KEY_BYTES : KEY_BYTES;
	struct kvstash_exists *res = xalloc(n, sizeof(*res));
	__u8 *keys = xalloc(n, len);
	struct kvstash_keys k;
	int err;

	for (__u32 i = 0; i < n; i++)
		if (w->tokens)
			replay_state_key(w->r, keys + i * len, from + i, w->tokens[from + i]);
		else
			replay_key(w->r, keys + i * len, from + i);
	kvstash_prep_keys(&k, keys, len, n);
	if (w->tokens)
		kvstash_prep_keys_state(&k);
	err = kvstash_exists_all(w->c, &k, res, NULL);
	if (err)
		die("exists: %s", strerror(-err));
	for (__u32 i = 0; i < n; i++)
		w->visible[from + i] = res[i].state == KVSTASH_STATE_VISIBLE;
	free(res);
	free(keys);
}

static bool *walk(const struct replay *r, struct kvstash *c, __u32 blocks,
		  const __u64 *tokens)
{
	struct walk w = { r, c, tokens, xalloc(blocks, sizeof(*w.visible)) };
	__u32 n;

	for (__u32 b = 0; b < blocks; b += n) {
		n = blocks - b < WALK_KEYS ? blocks - b : WALK_KEYS;
		walk_some(&w, b, n);
	}
	return w.visible;
}

static __u64 blocks_orphaned(const struct replay *r, __u32 blocks, const bool *visible)
{
	__u64 orphans = 0;

	for (__u32 b = 0; b < blocks; b++) {
		__u32 pred = r->t->pred[b];

		if (!visible[b] || pred == TRACE_NO_BLOCK || visible[pred])
			continue;
		if (orphans++ < ORPHANS_TOLD)
			warn("orphan: block %llu is visible, block %llu before it is not",
			     r->t->id[b],
			     r->t->id[pred]);
	}
	return orphans;
}

/* After the blocks: a state that is still there when its block was gone before */
static __u64 states_orphaned(const struct replay *r, struct kvstash *c, __u32 blocks,
			     const bool *visible)
{
	__u64 *tokens = xalloc(blocks, sizeof(*tokens)), orphans = 0;
	bool *states;

	for (__u32 b = 0; b < blocks; b++) {
		__u32 pred = r->t->pred[b];

		tokens[b] = (pred == TRACE_NO_BLOCK ? 0 : tokens[pred]) + BLOCK_TOKENS;
	}
	states = walk(r, c, blocks, tokens);
	for (__u32 b = 0; b < blocks; b++)
		if (states[b] && !visible[b] && orphans++ < ORPHANS_TOLD)
			warn("orphan: the state at %llu tokens is visible, its block %llu is not",
			     tokens[b],
			     r->t->id[b]);
	free(states);
	free(tokens);
	return orphans;
}

/* @requests: how many of the trace have been played */
__u64 orphans_count(const struct replay *r, struct kvstash *c, size_t requests)
{
	__u32 blocks = r->t->seen[requests];
	bool *visible = walk(r, c, blocks, NULL);
	__u64 orphans = blocks_orphaned(r, blocks, visible);

	if (r->layout && r->layout->tied)
		orphans += states_orphaned(r, c, blocks, visible);
	free(visible);
	return orphans;
}
