// SPDX-License-Identifier: GPL-2.0
/*
 * kvstash-bench micro: EXISTS while the pool evicts at full rate
 *
 * A second process puts pages into the full pool, so that each evicts one. It is
 * stopped and continued, so that idle and busy stretches alternate. On one
 * processor it takes its share of the time: calls during which the scheduler ran
 * it are left out, told by the caller's count of context switches.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kvstash-bench.h"
#include "kvstash-bench-micro.h"

#define KEYS		128
#define CALLS		400	/* of a stretch */
#define STRETCHES	10	/* of each kind */
#define EVICT_BATCH	128
#define FULL_CALLS	64	/* puts without a gain in objects: the pool is full */

/* Its serials are far from all others. */
static noreturn void evict_for_ever(int ready, __u64 pool_pages)
{
	struct kvstash *c = client_open(NULL);
	__u64 serial = 1ULL << 48, full = serial + pool_pages + FULL_CALLS * EVICT_BATCH;

	for (;; serial += EVICT_BATCH) {
		store_fill(c, serial, EVICT_BATCH, MILLION_BYTES, 0);
		if (serial < full && serial + EVICT_BATCH >= full && write(ready, "r", 1) != 1)
			_exit(EXIT_USAGE);
	}
}

static long switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_nivcsw + u.ru_nvcsw;
}

/* Times of calls into @s; returns how many were left out. */
static unsigned int stretch(struct micro *m, struct series *s, __u64 *random)
{
	struct kvstash_exists *res = xalloc(KEYS, sizeof(*res));
	__u8 *keys = xalloc(KEYS, KEY_BYTES);
	unsigned int out = 0;

	for (int i = 0; i < CALLS; i++) {
		struct kvstash_keys k;
		long before;
		__u64 ns;

		for (int j = 0; j < KEYS; j++)
			store_key(keys + j * KEY_BYTES, mix64((*random)++) % m->objects);
		kvstash_prep_keys(&k, keys, KEY_BYTES, KEYS);
		before = switches();
		ns = now_ns();
		store_must("exists", kvstash_exists(m->c, &k, res));
		ns = now_ns() - ns;
		if (switches() != before && sysconf(_SC_NPROCESSORS_ONLN) == 1)
			out++;
		else
			series_add(s, (double)ns / 1e3);
	}
	free(keys);
	free(res);
	return out;
}

static void put_rows(struct micro *m, const struct series *idle, const struct series *busy,
		     double rate, unsigned int out)
{
	static const struct {
		const char *id;
		double q;
	} rows[] = { { "exists.evict", 0.99 }, { "exists.evict.p50", 0.5 } };

	for (size_t i = 0; i < 2; i++) {
		struct row row = { .id = rows[i].id, .unit = "us" };
		double a = series_quantile(idle, rows[i].q);
		double b = series_quantile(busy, rows[i].q);

		snprintf(row.against, sizeof(row.against),
			 "p%.0f of a call of 128 keys when idle, %.1f us; %.0f evictions/s; %u of %u calls left out, as the scheduler ran the other process",
			 100 * rows[i].q, a, rate, out, CALLS * STRETCHES);
		series_add(&row.value, b);
		series_add(&row.ratio, b / a);
		row_put(m, &row);
	}
}

static void alternate(struct micro *m, pid_t pid)
{
	struct series idle = {}, busy = {};
	__u64 random = 0, evicted, start, ns = 0, all = 0;
	unsigned int out = 0;

	for (int i = 0; i < STRETCHES; i++) {
		kill(pid, SIGSTOP);
		waitpid(pid, NULL, WUNTRACED);
		stretch(m, &idle, &random);
		kill(pid, SIGCONT);
		evicted = store_pool_stat(m, "evictions");
		start = now_ns();
		out += stretch(m, &busy, &random);
		ns += now_ns() - start;
		all += store_pool_stat(m, "evictions") - evicted;
	}
	put_rows(m, &idle, &busy, (double)all * 1e9 / (double)ns, out);
	series_free(&idle);
	series_free(&busy);
}

void million_evict(struct micro *m)
{
	int ready[2];
	pid_t pid;
	char c;

	if (!row_wanted(m, "exists.evict") && !row_wanted(m, "exists.evict.p50"))
		return;
	if (pipe(ready))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid)
		evict_for_ever(ready[1], (m->pool_bytes - m->objects * MILLION_BYTES) / PAGE_UNIT);
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		die("the evicting process ended");
	close(ready[0]);
	alternate(m, pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
