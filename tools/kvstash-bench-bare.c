// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench micro: the bare module, and the empty call */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../selftests/kmod/kvstash_bare.h"
#include "kvstash-bench.h"
#include "kvstash-bench-micro.h"

#define EMPTY_SAMPLES	101
#define EMPTY_CALLS	101
#define EMPTY_FEW	9

void bare_open(struct micro *m)
{
	__u64 bytes = 0;

	m->bare = open(KVSTASH_BARE_DEVICE, O_RDWR | O_CLOEXEC);
	if (m->bare < 0)
		return;
	if (ioctl(m->bare, KVSTASH_BARE_BYTES, &bytes))
		die("%s: %s", KVSTASH_BARE_DEVICE, strerror(errno));
	m->bare_bytes = bytes;
}

static double query_ns(const struct micro *m)
{
	struct kvstash_query q;
	__u64 ns = now_ns();

	store_must("query", kvstash_query(m->c, &q));
	return (double)(now_ns() - ns);
}

static double nop_ns(const struct micro *m)
{
	__u64 ns = now_ns();

	if (ioctl(m->bare, KVSTASH_BARE_NOP))
		die("no-op: %s", strerror(errno));
	return (double)(now_ns() - ns);
}

/*
 * Time of an empty call, the median of a few. The no-op where there is one: it is
 * the cheapest call there is, so no more is taken off than any call must cost.
 */
double empty_ns(const struct micro *m)
{
	struct series s = {};
	double ns;

	for (int i = 0; i < EMPTY_FEW; i++)
		series_add(&s, m->bare >= 0 ? nop_ns(m) : query_ns(m));
	ns = series_median(&s);
	series_free(&s);
	return ns;
}

static void sample(const struct micro *m, struct row *q, struct row *n)
{
	struct series query = {}, nop = {};

	for (int i = 0; i < EMPTY_CALLS; i++) {
		series_add(&query, query_ns(m));
		if (m->bare >= 0)
			series_add(&nop, nop_ns(m));
	}
	series_add(&q->value, series_median(&query) / 1e3);
	if (m->bare >= 0) {
		series_add(&n->value, series_median(&nop) / 1e3);
		series_add(&q->ratio, series_median(&query) / series_median(&nop));
	}
	series_free(&query);
	series_free(&nop);
}

void micro_empty(struct micro *m, size_t arg)
{
	struct row q = { .id = "empty.query", .unit = "us",
			 .against = "the bare module's no-op, paired" };
	struct row n = { .id = "empty.nop", .unit = "us", .against = "nothing" };

	(void)arg;
	for (int i = 0; i < EMPTY_SAMPLES; i++)
		sample(m, &q, &n);
	row_put(m, &q);
	if (m->bare < 0)
		row_skip(m, n.id, "no %s", KVSTASH_BARE_DEVICE);
	else
		row_put(m, &n);
}
