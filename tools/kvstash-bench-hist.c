// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench: log-linear histograms */
#include "kvstash-bench.h"
#include "kvstash-bench-hist.h"

#define SUB	32U		/* 2 to the power of HIST_SUB_BITS */

/* Values below SUB have a bucket each, then each power of two has SUB of them. */
static unsigned int bucket_of(__u64 v)
{
	unsigned int shift;

	if (v < SUB)
		return (unsigned int)v;
	shift = 63 - (unsigned int)__builtin_clzll(v) - HIST_SUB_BITS;
	return ((shift + 1) << HIST_SUB_BITS) + (unsigned int)((v >> shift) - SUB);
}

static __u64 bucket_end(unsigned int bucket)
{
	unsigned int shift = bucket >> HIST_SUB_BITS;

	if (!shift)
		return bucket;
	shift--;
	return (((__u64)SUB + bucket % SUB + 1) << shift) - 1;
}

void hist_add(struct hist *h, __u64 v)
{
	h->count++;
	h->bucket[bucket_of(v)]++;
	if (v > h->max)
		h->max = v;
}

void hist_merge(struct hist *to, const struct hist *from)
{
	to->count += from->count;
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
	if (from->max > to->max)
		to->max = from->max;
}

/* The value that @percent of all values do not exceed, at most 3 % too high */
__u64 hist_percentile(const struct hist *h, double percent)
{
	__u64 want = (__u64)((double)h->count * percent / 100 + 0.999999), sum = 0;

	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		sum += h->bucket[i];
		if (sum && sum >= want)
			return bucket_end(i) < h->max ? bucket_end(i) : h->max;
	}
	return h->max;
}
