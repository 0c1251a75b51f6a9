/* SPDX-License-Identifier: GPL-2.0 */
/* What the engines of replay and hybrid share: pages of a request. */
#ifndef KVSTASH_BENCH_PLAY_H
#define KVSTASH_BENCH_PLAY_H

#include <kvstash.h>

#include "kvstash-bench.h"
#include "kvstash-bench-replay.h"

/**
 * struct player - one engine
 * @own:   what only the kind of engine knows
 * @chain: blocks of the request at hand
 * @n:     how many
 * @keys:  theirs
 * @slots: blocks that a call moves, at most; there is room for one entry more
 */
struct player {
	const struct replay *r;
	struct tally *tally;
	struct kvstash *c;
	void *own;
	const __u32 *chain;
	size_t n;
	__u8 *keys;
	__u8 *buf;
	size_t slots;
	union {
		struct kvstash_get *get;
		struct kvstash_put *put;
		void *entries;
	};
};

static inline const __u8 *play_key(const struct player *p, size_t i)
{
	return p->keys + i * KEY_BYTES;
}

size_t play_longest(const struct trace *t);
void play_begin(struct player *p, size_t request);
void play_end(struct player *p, size_t run);
void play_get(struct player *p, size_t from, size_t n, const struct kvstash_handle *leases,
	      size_t more);
void play_put(struct player *p, size_t from, size_t n, size_t more);
void play_tell(struct player *p, const char *call, __u32 block, const char *what);
void play_entry_failed(struct player *p, const char *call, __u32 block,
		       const struct kvstash_result *res);
noreturn void play_call_failed(struct player *p, const char *call, int err);

#endif /* KVSTASH_BENCH_PLAY_H */
