/* SPDX-License-Identifier: GPL-2.0 */
/* Layouts and keys of the states that the tool makes. */
#ifndef KVSTASH_BENCH_STATE_H
#define KVSTASH_BENCH_STATE_H

#include <stdbool.h>
#include <linux/types.h>

#include <kvstash.h>

#include "kvstash-bench.h"

#define STATE_KEY_BYTES	(sizeof(struct kvstash_state_key) + KEY_BYTES)
#define STATE_ALIGN	128	/* tokens */

/* The reference slot: 1,415,040 bytes */
#define STATE_LAYERS	20
#define STATE_ROWS	134
#define STATE_ROW_BYTES	528

/**
 * struct state_layout - a layout; its fingerprint follows from the rest
 * @layers:      how many, of the same size and one behind the other
 * @layer_bytes: of each
 * @slot_bytes:  of all
 * @tied:        a state goes with the page that it stands behind
 */
struct state_layout {
	__u8 fingerprint[KVSTASH_DIGEST_LEN];
	__u32 layers;
	__u64 layer_bytes;
	__u64 slot_bytes;
	bool tied;
};

void state_layout_init(struct state_layout *l, __u32 layers, __u64 layer_bytes, bool tied);
void state_layout_add(struct kvstash *c, const struct state_layout *l, __u64 slots);
void state_layout_set(struct kvstash *c, const struct state_layout *l, __u64 slots);
void state_layout_get(struct kvstash *c, const struct state_layout *l,
		      struct kvstash_layout *out);
void state_layout_drop(struct kvstash *c, const struct state_layout *l);
void state_key(const struct state_layout *l, __u8 *key, __u64 tokens, const __u8 *prefix);

#endif /* KVSTASH_BENCH_STATE_H */
