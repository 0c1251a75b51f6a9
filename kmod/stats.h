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

#define KVS_STATS(X)				\
	X(lookups)				\
	X(lookup_keys)				\
	X(lookup_hits)				\
	X(exists_keys)				\
	X(exists_hits)				\
	X(gets)					\
	X(get_hits)				\
	X(get_bytes)				\
	X(puts)					\
	X(put_bytes)				\
	X(put_exists)				\
	X(put_busy)				\
	X(put_mismatch)				\
	X(put_no_parent)			\
	X(put_no_space)				\
	X(put_quota)				\
	X(put_refused)				\
	X(reserves)				\
	X(commits)				\
	X(aborts)				\
	X(aborts_by_death)			\
	X(published)				\
	X(removed)				\
	X(evictions)				\
	X(evicted_bytes)			\
	X(evicted_unfetched)			\
	X(collected_incomplete)			\
	X(killed_with_parent)			\
	X(faults)

enum kvs_stat {
#define KVS_STAT_ENUM(name) KVS_STAT_##name,
	KVS_STATS(KVS_STAT_ENUM)
#undef KVS_STAT_ENUM
	KVS_NR_STATS,
};

struct kvs_stats {
	u64 v[KVS_NR_STATS];
};

extern const char * const kvs_stat_names[KVS_NR_STATS];

#define kvs_stat_add(ns, name, n) this_cpu_add((ns)->stats->v[KVS_STAT_##name], n)
#define kvs_stat_inc(ns, name) kvs_stat_add(ns, name, 1)

#endif /* KVS_STATS_H */
