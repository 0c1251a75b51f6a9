/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of "hybrid" share. */
#ifndef KVSTASH_BENCH_HYBRID_H
#define KVSTASH_BENCH_HYBRID_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "kvstash-bench-state.h"

#define BLOCK_TOKENS	512	/* of a block of the trace */
#define RING_ROWS	396	/* that a layer keeps */
#define LEAST_RECOMPUTE	140	/* tokens at the end of a prompt, computed in any case */

/**
 * struct hybrid_tally - what one worker saw, in tokens but for what is named
 * @prompt:   of all requests
 * @saved:    before the boundaries where requests resumed
 * @claimed:  that the page run alone would have had skipped
 * @honest:   that an engine saves by the page run alone if it needs the state, too
 * @resumed, @missed, @shortened: requests that resumed; that had pages but no state;
 *            that resumed before the end of the pages
 * @false_long: requests whose boundary was not all there, with right bytes
 * @asked, @found: candidates of lookups
 * @got, @put: states that GET and PUT moved
 * @exists, @busy, @no_slot, @no_parent: puts of states refused
 * @no_lease: lookups refused: over the budget of leases
 */
struct hybrid_tally {
	__u64 prompt;
	__u64 saved;
	__u64 claimed;
	__u64 honest;
	__u64 resumed;
	__u64 missed;
	__u64 shortened;
	__u64 false_long;
	__u64 asked;
	__u64 found;
	__u64 got;
	__u64 put;
	__u64 exists;
	__u64 busy;
	__u64 no_slot;
	__u64 no_parent;
	__u64 no_lease;
};

/**
 * struct model - the engines' model
 * @rows:      of each layer in a state: the tokens that it depends on
 * @row_bytes: of each
 * @every:     a state behind each so many blocks, too; 0: at prompts' ends only
 * @slots:     for states
 */
struct model {
	__u32 rows;
	__u32 row_bytes;
	size_t every;
	__u64 slots;
	struct state_layout layout;
};

extern struct model model;

struct player;

/* play */
void hybrid_equip(struct player *p);
void hybrid_request(struct player *p, size_t request);
void hybrid_tally_add(struct hybrid_tally *to, const struct hybrid_tally *from);

/* ring: the last rows of each layer */
struct rings;

struct rings *rings_create(void);
void rings_compute(struct rings *s, const struct player *p, __u64 from, __u64 to);
size_t rings_wrong(struct rings *s, const struct player *p, __u64 end);
const struct kvstash_seg *rings_segs(struct rings *s, __u64 end, size_t *n);

#endif /* KVSTASH_BENCH_HYBRID_H */
