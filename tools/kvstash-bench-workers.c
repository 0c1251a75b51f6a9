// SPDX-License-Identifier: GPL-2.0
/*
 * kvstash-bench replay: the worker processes
 *
 * Requests are dealt in the trace's order, one to whichever worker asks. A
 * worker plays up to a limit, says so and waits for the next limit: between two
 * of them all are at rest and the store can be looked at. A pipe each way is
 * how they talk, so that a worker's death is seen as an end of file.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kvstash-bench.h"
#include "kvstash-bench-replay.h"

#define PROGRESS_MS	250

struct worker {
	pid_t pid;
	int go;		/* written to: play on */
	int done;	/* read from: the limit is reached */
};

static bool take(struct shared *s, size_t *request)
{
	size_t next = atomic_load(&s->next);

	do {
		if (next >= atomic_load(&s->limit))
			return false;
	} while (!atomic_compare_exchange_weak(&s->next, &next, next + 1));
	*request = next;
	return true;
}

static noreturn void worker_main(const struct replay *r, size_t index, int go, int done)
{
	struct player *p = player_create(r, &r->shared->tally[index]);
	size_t request;
	char c;

	while (read(go, &c, 1) == 1) {
		while (take(r->shared, &request))
			r->engine->request(p, request);
		if (write(done, "d", 1) != 1)
			_exit(EXIT_USAGE);
	}
	_exit(EXIT_OK);
}

/* The ends that belong to the workers before must not live on in this one. */
static void worker_start(const struct replay *r, struct worker *w, size_t index)
{
	int go[2], done[2];

	if (pipe(go) || pipe(done))
		die("pipe: %s", strerror(errno));
	w[index].pid = fork();
	if (w[index].pid < 0)
		die("fork: %s", strerror(errno));
	if (!w[index].pid) {
		for (size_t i = 0; i < index; i++) {
			close(w[i].go);
			close(w[i].done);
		}
		close(go[1]);
		close(done[0]);
		worker_main(r, index, go[0], done[1]);
	}
	close(go[0]);
	close(done[1]);
	w[index].go = go[1];
	w[index].done = done[0];
}

static void wait_done(const struct replay *r, struct worker *w, __u64 start)
{
	struct pollfd fd = { .fd = w->done, .events = POLLIN };
	char c;
	int n;

	while (!(n = poll(&fd, 1, PROGRESS_MS)) || (n < 0 && errno == EINTR))
		progress_show(r, (double)(now_ns() - start) / 1e9);
	if (n < 0 || read(w->done, &c, 1) != 1)
		die("a worker ended before its time");
}

static void segment(const struct replay *r, struct worker *w, size_t limit,
		    __u64 start)
{
	size_t i;

	atomic_store(&r->shared->limit, limit);
	for (i = 0; i < r->workers; i++)
		if (write(w[i].go, "g", 1) != 1)
			die("a worker ended before its time");
	for (i = 0; i < r->workers; i++)
		wait_done(r, &w[i], start);
}

static void workers_end(const struct replay *r, struct worker *w)
{
	int status;

	for (size_t i = 0; i < r->workers; i++) {
		close(w[i].go);
		if (waitpid(w[i].pid, &status, 0) != w[i].pid || status)
			die("a worker ended badly");
		close(w[i].done);
	}
}

/**
 * workers_run() - play the trace
 * @r:       the replay
 * @at_rest: called after each @r->check_every requests and at the end, when no
 *           worker does anything; gets the number of requests played
 *
 * Return: seconds, without those spent at rest.
 */
double workers_run(struct replay *r, void (*at_rest)(struct replay *r, size_t requests))
{
	struct worker *w = xalloc(r->workers, sizeof(*w));
	size_t done = 0, i, n = r->t->requests;
	__u64 start, ns = 0;

	for (i = 0; i < r->workers; i++)
		worker_start(r, w, i);
	while (done < n) {
		size_t limit = n;

		if (r->check_every && n - done > r->check_every)
			limit = done + r->check_every;
		start = now_ns();
		segment(r, w, limit, start - ns);
		ns += now_ns() - start;
		done = limit;
		at_rest(r, done);
	}
	progress_end(r);
	workers_end(r, w);
	free(w);
	return (double)ns / 1e9;
}

void tally_sum(const struct replay *r, struct tally *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; i < r->workers; i++) {
		const struct tally *t = &r->shared->tally[i];

		sum->requests += t->requests;
		sum->blocks += t->blocks;
		sum->hits += t->hits;
		sum->requests_hit += t->requests_hit;
		sum->requests_full += t->requests_full;
		sum->got += t->got;
		sum->put += t->put;
		sum->gone += t->gone;
		sum->corrupt += t->corrupt;
		sum->exists += t->exists;
		sum->busy += t->busy;
		sum->no_space += t->no_space;
		sum->no_parent += t->no_parent;
		sum->errors += t->errors;
		hybrid_tally_add(&sum->hybrid, &t->hybrid);
		hist_merge(&sum->lookup_ns, &t->lookup_ns);
		hist_merge(&sum->get_ns, &t->get_ns);
		hist_merge(&sum->put_ns, &t->put_ns);
	}
}
