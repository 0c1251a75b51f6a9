/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of replay and hybrid share. */
#ifndef KVSTASH_BENCH_REPLAY_H
#define KVSTASH_BENCH_REPLAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include <jansson.h>

#include "kvstash-bench-hist.h"
#include "kvstash-bench-hybrid.h"
#include "kvstash-bench-state.h"
#include "kvstash-bench-trace.h"

#define REPLAY_WORKERS_MAX	256

enum verify { VERIFY_FULL, VERIFY_SAMPLE, VERIFY_NONE };

/**
 * struct tally - what one worker saw
 * @requests: requests played
 * @blocks:   blocks of these
 * @hits:     blocks in the leading runs that LOOKUP reported
 * @requests_hit, @requests_full: requests with a run, and with nothing missing
 * @got, @put: blocks that GET and PUT moved
 * @gone:     counted by LOOKUP, but evicted before the GET
 * @corrupt:  wrong bytes
 * @exists:   PUT found the block there
 * @busy:     PUT found another worker's PUT of it under way
 * @no_space: PUT refused, nothing to evict
 * @no_parent: PUT refused, the block before was evicted or refused
 * @errors:   any other result
 * @hybrid:   beside all that, of an engine with states
 * @lookup_ns, @get_ns, @put_ns: times of the calls
 */
struct tally {
	__u64 requests;
	__u64 blocks;
	__u64 hits;
	__u64 requests_hit;
	__u64 requests_full;
	__u64 got;
	__u64 put;
	__u64 gone;
	__u64 corrupt;
	__u64 exists;
	__u64 busy;
	__u64 no_space;
	__u64 no_parent;
	__u64 errors;
	struct hybrid_tally hybrid;
	struct hist lookup_ns;
	struct hist get_ns;
	struct hist put_ns;
};

/** struct shared - memory that all workers see */
struct shared {
	atomic_size_t next;	/* the next request to be played */
	atomic_size_t limit;	/* and where to stop */
	struct tally tally[];
};

struct player;
struct replay;

#define ENGINE_OPTION		256

/**
 * struct engine - a kind of engine that plays a trace
 * @options: its own, numbered from ENGINE_OPTION on; ends with zeros
 * @help:    how it is called, and its own options
 * @option:  sets one of its own
 * @start:   before the workers, with a client of the namespace
 * @equip:   makes a worker's @own
 * @request: plays one
 * @report:  adds to the summary
 *
 * But for @help and @request all may be NULL.
 */
struct engine {
	const struct option *options;
	const char *help;
	void (*option)(int option, const char *arg);
	void (*start)(struct replay *r, struct kvstash *c);
	void (*equip)(struct player *p);
	void (*request)(struct player *p, size_t request);
	void (*report)(const struct replay *r, struct kvstash *c, const struct tally *sum,
		       json_t *obj);
};

/**
 * struct replay - a trace that is played
 * @layout:    of the engines' states; NULL: they have none
 * @evictions: of the namespace, before
 */
struct replay {
	const struct engine *engine;
	const struct trace *t;
	const struct state_layout *layout;
	const char *ns;
	size_t block_bytes;
	size_t workers;
	size_t check_every;
	enum verify verify;
	bool progress;
	__u64 evictions;
	struct shared *shared;
};

int replay_main(int argc, char **argv, const struct engine *engine);

/* play: one request of an engine */
struct player *player_create(const struct replay *r, struct tally *tally);
void player_request(struct player *p, size_t request);

/* workers */
double workers_run(struct replay *r, void (*at_rest)(struct replay *r, size_t requests));
void tally_sum(const struct replay *r, struct tally *sum);

/* orphans */
__u64 orphans_count(const struct replay *r, struct kvstash *c, size_t requests);

/* progress */
void progress_show(const struct replay *r, double seconds);
void progress_end(const struct replay *r);

static inline void replay_key(const struct replay *r, __u8 *key, __u32 block)
{
	pattern_key(key, r->block_bytes, r->t->id[block]);
}

/* Of the state behind a block that ends at @tokens */
static inline void replay_state_key(const struct replay *r, __u8 *key, __u32 block,
				    __u64 tokens)
{
	__u8 prefix[KEY_BYTES];

	replay_key(r, prefix, block);
	state_key(r->layout, key, tokens, prefix);
}

#endif /* KVSTASH_BENCH_REPLAY_H */
