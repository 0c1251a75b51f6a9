// SPDX-License-Identifier: GPL-2.0
/*
 * kvstash-bench: the clock
 *
 * In User-Mode Linux even clock_gettime() is a system call, of 20 us: as much as
 * what is to be measured. So the processor's counter is read where it runs at one
 * rate for all processors.
 */
#include <time.h>

#include "kvstash-bench.h"

#define CALIBRATE_NS	50000000ULL

static __u64 clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (__u64)ts.tv_sec * 1000000000ULL + (__u64)ts.tv_nsec;
}

#ifdef __x86_64__
#include <cpuid.h>
#include <x86intrin.h>

#define LEAF_POWER	0x80000007
#define INVARIANT_TSC	0x100	/* in EDX */

static double ns_per_tick;	/* 0: not calibrated yet, below 0: no such counter */

static void calibrate(void)
{
	unsigned int a, b, c, d;
	__u64 ticks, ns;

	if (!__get_cpuid(LEAF_POWER, &a, &b, &c, &d) || !(d & INVARIANT_TSC)) {
		ns_per_tick = -1;
		return;
	}
	ns = clock_ns();
	ticks = __rdtsc();
	while (clock_ns() - ns < CALIBRATE_NS)
		;
	/* both read in the same order as at the start */
	ns = clock_ns() - ns;
	ticks = __rdtsc() - ticks;
	ns_per_tick = (double)ns / (double)ticks;
}

__u64 now_ns(void)
{
	unsigned int cpu;

	if (!ns_per_tick)
		calibrate();
	if (ns_per_tick < 0)
		return clock_ns();
	return (__u64)((double)__rdtscp(&cpu) * ns_per_tick);
}
#else
__u64 now_ns(void)
{
	return clock_ns();
}
#endif
