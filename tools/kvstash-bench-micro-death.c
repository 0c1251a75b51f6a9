// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench micro: from a writer's death until its bytes are free */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kvstash-bench.h"
#include "kvstash-bench-micro.h"

#define IN_FLIGHT	0x40000000ULL
#define PART		114688
#define BATCH		256
#define ROUNDS		9
#define PEERS_MS	30000.0		/* the others' timers, at least */
#define PATIENCE_NS	60000000000ULL	/* then it hangs */

static noreturn void writer(__u64 serial, int ready)
{
	struct kvstash *c = client_open(NULL);
	struct kvstash_put e[BATCH];
	__u8 keys[BATCH][KEY_BYTES];
	__u64 left, some;

	for (left = IN_FLIGHT / PART; left; left -= some) {
		some = left < BATCH ? left : BATCH;
		for (__u64 i = 0; i < some; i++) {
			store_key(keys[i], serial++);
			kvstash_prep_reserve(&e[i], keys[i], KEY_BYTES, PART);
		}
		store_must("reserve", kvstash_reserve(c, e, (unsigned int)some));
		for (__u64 i = 0; i < some; i++)
			store_must_entry("reserve", &e[i].r);
	}
	if (write(ready, "r", 1) != 1)
		_exit(EXIT_USAGE);
	for (;;)
		pause();
}

static pid_t start_writer(struct micro *m)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid)
		writer(m->serial, ready[1]);
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		die("the writer ended before its time");
	close(ready[0]);
	m->serial += IN_FLIGHT / PART;
	return pid;
}

static __u64 free_now(const struct micro *m, int fd)
{
	__u64 v;

	if (!stat_reread(fd, "free_bytes", &v))
		die("/proc/kvstash/pool/%s: no free_bytes", m->pool);
	return v;
}

static double round_ms(struct micro *m, int fd)
{
	__u64 before = free_now(m, fd), start, ns;
	pid_t pid = start_writer(m);

	if (before - free_now(m, fd) < IN_FLIGHT / PART * PART)
		die("the writer's bytes are not in flight");
	start = now_ns();
	kill(pid, SIGKILL);
	do {
		ns = now_ns() - start;
		if (ns > PATIENCE_NS)
			die("a writer died a minute ago and its bytes are not free");
	} while (free_now(m, fd) != before);
	ns = now_ns() - start;
	waitpid(pid, NULL, 0);
	return (double)ns / 1e6;
}

void micro_death(struct micro *m, size_t arg)
{
	struct row row = {
		.id = "death_to_free", .unit = "ms",
		.against = "30 s, others' timers; SIGKILL with 1 GiB reserved, 114,688 B parts",
	};
	int fd;

	(void)arg;
	if (store_pool_stat(m, "free_bytes") < IN_FLIGHT) {
		row_skip(m, row.id, "the pool has no 1 GiB free");
		return;
	}
	fd = stat_open("pool", m->pool);
	if (fd < 0)
		die("/proc/kvstash/pool/%s cannot be opened", m->pool);
	for (int i = 0; i < ROUNDS; i++) {
		double ms = round_ms(m, fd);

		series_add(&row.value, ms);
		series_add(&row.ratio, ms / PEERS_MS);
	}
	close(fd);
	row_put(m, &row);
}
