/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of a namespace: per CPU, only ever counting up, summed when read.
 * The names are those of /proc/kvstash/ns/NAME; Documentation/proc.rst says
 * what each counts.
 */
#ifndef KVS_STATS_H
#define KVS_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

enum kvs_stat {
	KVS_STAT_LOOKUPS,
	KVS_STAT_LOOKUP_KEYS,
	KVS_STAT_LOOKUP_HITS,
	KVS_STAT_EXISTS_KEYS,
	KVS_STAT_EXISTS_HITS,
	KVS_STAT_GETS,
	KVS_STAT_GET_HITS,
	KVS_STAT_GET_BYTES,
	KVS_STAT_PUTS,
	KVS_STAT_PUT_BYTES,
	KVS_STAT_PUT_EXISTS,
	KVS_STAT_PUT_BUSY,
	KVS_STAT_PUT_MISMATCH,
	KVS_STAT_PUT_NO_PARENT,
	KVS_STAT_PUT_NO_SPACE,
	KVS_STAT_PUT_QUOTA,
	KVS_STAT_PUT_REFUSED,
	KVS_STAT_RESERVES,
	KVS_STAT_COMMITS,
	KVS_STAT_ABORTS,
	KVS_STAT_ABORTS_BY_DEATH,
	KVS_STAT_PUBLISHED,
	KVS_STAT_REMOVED,
	KVS_STAT_EVICTIONS,
	KVS_STAT_EVICTED_BYTES,
	KVS_STAT_EVICTED_UNFETCHED,
	KVS_STAT_COLLECTED_INCOMPLETE,
	KVS_STAT_KILLED_WITH_PARENT,
	KVS_STAT_FAULTS,
	KVS_NR_STATS,
};

struct kvs_stats {
	u64 v[KVS_NR_STATS];
};

extern const char * const kvs_stat_names[KVS_NR_STATS];

#define kvs_stat_add(ns, name, n) this_cpu_add((ns)->stats->v[KVS_STAT_##name], n)
#define kvs_stat_inc(ns, name) kvs_stat_add(ns, name, 1)

#endif /* KVS_STATS_H */
