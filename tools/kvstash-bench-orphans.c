// SPDX-License-Identifier: GPL-2.0
/*
 * kvstash-bench replay: blocks that are visible behind one that is not
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

static void walk_some(const struct replay *r, struct kvstash *c, __u32 from,
		      __u32 n, bool *visible)
{
	__u8 *keys = xalloc(n, KEY_BYTES);
	struct kvstash_exists *res = xalloc(n, sizeof(*res));
	struct kvstash_keys k;
	int err;

	for (__u32 i = 0; i < n; i++)
		replay_key(r, keys + (size_t)i * KEY_BYTES, from + i);
	kvstash_prep_keys(&k, keys, KEY_BYTES, n);
	err = kvstash_exists_all(c, &k, res, NULL);
	if (err)
		die("exists: %s", strerror(-err));
	for (__u32 i = 0; i < n; i++)
		visible[from + i] = res[i].state == KVSTASH_STATE_VISIBLE;
	free(res);
	free(keys);
}

/* @requests: how many of the trace have been played */
__u64 orphans_count(const struct replay *r, struct kvstash *c, size_t requests)
{
	__u32 blocks = r->t->seen[requests], n;
	bool *visible = xalloc(blocks, sizeof(*visible));
	__u64 orphans = 0;

	for (__u32 b = 0; b < blocks; b += n) {
		n = blocks - b < WALK_KEYS ? blocks - b : WALK_KEYS;
		walk_some(r, c, b, n, visible);
	}
	for (__u32 b = 0; b < blocks; b++) {
		__u32 pred = r->t->pred[b];

		if (!visible[b] || pred == TRACE_NO_BLOCK || visible[pred])
			continue;
		if (orphans++ < ORPHANS_TOLD)
			warn("orphan: block %llu is visible, block %llu before it is not",
			     r->t->id[b],
			     r->t->id[pred]);
	}
	free(visible);
	return orphans;
}
