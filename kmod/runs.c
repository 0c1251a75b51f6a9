// SPDX-License-Identifier: GPL-2.0
/*
 * Which bytes of a reserved part have been written, so that COMMIT can refuse a
 * part with a hole: what lies there is some former object's bytes.
 *
 * Locking: the caller holds the object's lock, hence no sleeping allocation.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "runs.h"
#include <linux/kvstash.h>

void kvs_runs_init(struct kvs_runs *runs)
{
	runs->nr = 0;
	runs->room = KVS_RUNS_INLINE;
	runs->run = runs->first;
}

void kvs_runs_destroy(struct kvs_runs *runs)
{
	if (runs->run != runs->first)
		kfree(runs->run);
	kvs_runs_init(runs);
}

static int runs_grow(struct kvs_runs *runs)
{
	u32 room = min_t(u32, runs->room * 2, KVSTASH_WRITE_GAPS_MAX);
	struct kvs_run *run;

	if (runs->nr < runs->room)
		return 0;
	if (runs->nr >= KVSTASH_WRITE_GAPS_MAX)
		return -ENOBUFS;
	run = kmalloc_array(room, sizeof(*run), GFP_ATOMIC | __GFP_NOWARN);
	if (!run)
		return -ENOMEM;
	memcpy(run, runs->run, runs->nr * sizeof(*run));
	if (runs->run != runs->first)
		kfree(runs->run);
	runs->run = run;
	runs->room = room;
	return 0;
}

/* The first run that ends at or after @start: what [start, ...) may touch. */
static u32 runs_search(const struct kvs_runs *runs, u64 start)
{
	u32 lo = 0, hi = runs->nr;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (runs->run[mid].end < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/**
 * kvs_runs_add() - note bytes as written
 * @runs:  the runs
 * @start: first byte
 * @end:   byte after the last, > @start
 *
 * Return: 0; -ENOBUFS above KVSTASH_WRITE_GAPS_MAX runs; -ENOMEM.
 */
int kvs_runs_add(struct kvs_runs *runs, u64 start, u64 end)
{
	u32 at = runs_search(runs, start), last = at;
	struct kvs_run *run;
	int ret;

	while (last < runs->nr && runs->run[last].start <= end)
		last++;
	if (last == at) {
		ret = runs_grow(runs);
		if (ret)
			return ret;
		run = &runs->run[at];
		memmove(run + 1, run, (runs->nr - at) * sizeof(*run));
		run->start = start;
		run->end = end;
		runs->nr++;
		return 0;
	}
	run = &runs->run[at];
	run->start = min(run->start, start);
	run->end = max(runs->run[last - 1].end, end);
	memmove(run + 1, &runs->run[last], (runs->nr - last) * sizeof(*run));
	runs->nr -= last - at - 1;
	return 0;
}

u64 kvs_runs_bytes(const struct kvs_runs *runs)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < runs->nr; i++)
		bytes += runs->run[i].end - runs->run[i].start;
	return bytes;
}
