/* SPDX-License-Identifier: GPL-2.0 */
/* Times in buckets of about 3 %: enough for percentiles, and no allocation. */
#ifndef KVSTASH_BENCH_HIST_H
#define KVSTASH_BENCH_HIST_H

#include <linux/types.h>

#define HIST_SUB_BITS	5
#define HIST_BUCKETS	((64 - HIST_SUB_BITS) << HIST_SUB_BITS)

struct hist {
	__u64 count;
	__u64 max;
	__u64 bucket[HIST_BUCKETS];
};

void hist_add(struct hist *h, __u64 v);
void hist_merge(struct hist *to, const struct hist *from);
__u64 hist_percentile(const struct hist *h, double percent);

#endif /* KVSTASH_BENCH_HIST_H */
