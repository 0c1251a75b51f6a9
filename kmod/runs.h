/* SPDX-License-Identifier: GPL-2.0 */
/* Which bytes of a reserved part have been written. */
#ifndef KVS_RUNS_H
#define KVS_RUNS_H

#include <linux/types.h>

/** struct kvs_run - bytes [@start, @end) */
struct kvs_run {
	u64 start;
	u64 end;
};

#define KVS_RUNS_INLINE	2	/* K and V of a part filled in order */

/**
 * struct kvs_runs - sorted, disjoint, not adjacent runs
 * @nr:   runs
 * @room: size of @run
 * @run:  @first, or memory of its own
 * @first: where it begins
 */
struct kvs_runs {
	u32 nr;
	u32 room;
	struct kvs_run *run;
	struct kvs_run first[KVS_RUNS_INLINE];
};

void kvs_runs_init(struct kvs_runs *runs);
void kvs_runs_destroy(struct kvs_runs *runs);
int kvs_runs_add(struct kvs_runs *runs, u64 start, u64 end);
u64 kvs_runs_bytes(const struct kvs_runs *runs);

#endif /* KVS_RUNS_H */
