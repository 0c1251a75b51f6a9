/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of "micro" share. */
#ifndef KVSTASH_BENCH_MICRO_H
#define KVSTASH_BENCH_MICRO_H

#include <jansson.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <kvstash.h>

#include "kvstash-bench-state.h"

/* Samples of one quantity */
struct series {
	double *v;
	size_t n;
	size_t room;
};

void series_add(struct series *s, double v);
double series_median(const struct series *s);
double series_quantile(const struct series *s, double q);
void series_free(struct series *s);

/**
 * struct micro - a run of the speed table
 * @c:          client of the namespace "default"
 * @bare:       descriptor of /dev/kvstash_bare, -1: not there
 * @bare_bytes: its pool
 * @pool:       name of the pool, for /proc/kvstash/pool
 * @pool_bytes: its size
 * @objects:    how many "a million objects" are
 * @small:      namespace in a pool laid out for few objects, or NULL
 * @only:       ids that are wanted, separated by commas, or NULL: all
 * @results:    JSON array
 * @serial:     numbers the objects, so that each has a key of its own
 * @skipped:    rows that could not be measured
 * @warm:       all pages of the pool have been written to
 * @ring:       user memory for copies, NULL until it is needed: the same for all of
 *              them, as it matters how its pages lie
 * @to:         as much for memcpy in user space
 */
struct micro {
	struct kvstash *c;
	int bare;
	__u64 bare_bytes;
	char pool[KVSTASH_NAME_MAX];
	__u64 pool_bytes;
	__u64 objects;
	const char *small;
	const char *only;
	json_t *results;
	__u64 serial;
	unsigned int skipped;
	bool warm;
	__u8 *ring;
	__u8 *to;
};

/**
 * struct row - one line of the table
 * @value:     the figure, in @unit
 * @ratio:     of each pair, to what @against names; none: no ratio
 * @is_net:    @value and @ratio are without the empty call
 * @other:     @value with it, if @is_net, else without it; none: not known
 * @other_ratio: @ratio likewise
 */
struct row {
	const char *id;
	const char *unit;
	char against[320];
	struct series value;
	struct series ratio;
	bool is_net;
	struct series other;
	struct series other_ratio;
};

void row_put(struct micro *m, struct row *row);
void row_skip(struct micro *m, const char *id, const char *fmt, ...)
	__attribute__((LIKE_PRINTF_3));
bool row_wanted(const struct micro *m, const char *id);

/* bare */
void bare_open(struct micro *m);
double empty_ns(const struct micro *m);

/* store: calls that must succeed */
void store_key(__u8 *key, __u64 serial);
size_t store_key_bytes(const struct state_layout *l);
void store_key_of(const struct state_layout *l, __u8 *key, __u64 serial);
void store_fill(struct kvstash *c, __u64 first, __u64 n, size_t bytes, unsigned int chain);
void store_remove(struct kvstash *c, const struct state_layout *l, __u64 first, __u64 n);
void store_warm_up(struct micro *m);
void store_must(const char *call, int err);
void store_must_entry(const char *call, const struct kvstash_result *res);
__u64 store_pool_stat(const struct micro *m, const char *name);

/* the groups of rows */
void micro_empty(struct micro *m, size_t arg);
void micro_copy(struct micro *m, size_t bytes);
void micro_copy_states(struct micro *m, size_t bytes);
void micro_one_vs_four(struct micro *m, size_t arg);
void micro_reserve(struct micro *m, size_t bytes);
void micro_million(struct micro *m, size_t arg);
void micro_pool_usable(struct micro *m, size_t arg);
void micro_slot_waste(struct micro *m, size_t bytes);
void micro_death(struct micro *m, size_t arg);

/* parts of micro_million(), in this order */
void million_memory(struct micro *m, __u64 slab, __u64 available);
void million_exists(struct micro *m);
void million_lookup(struct micro *m);
void million_scale(struct micro *m);
void million_evict(struct micro *m);

#define MILLION_BYTES	4096	/* of each of the million objects: a page */
#define CHAIN_KEYS	1024	/* the first of them stand in chains this long */
#define CHAINS		64

/* memory */
__u64 memory_figure(const char *name);

#endif /* KVSTASH_BENCH_MICRO_H */
