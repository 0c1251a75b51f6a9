// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench replay: how far it is */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvstash-bench.h"
#include "kvstash-bench-replay.h"

#define BAR		30
#define LINE_SECONDS	30	/* between two lines where there is no terminal */

static bool on_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && strcmp(term, "dumb");
}

static void counts(const struct replay *r, __u64 *requests, double *hit_ratio)
{
	__u64 hits = 0, blocks = 0;

	*requests = 0;
	for (size_t i = 0; i < r->workers; i++) {
		*requests += r->shared->tally[i].requests;
		blocks += r->shared->tally[i].blocks;
		hits += r->shared->tally[i].hits;
	}
	*hit_ratio = blocks ? (double)hits / (double)blocks : 0;
}

void progress_show(const struct replay *r, double seconds)
{
	static double last;
	__u64 done, all = r->t->requests;
	double hit_ratio;
	int full;

	if (!r->progress)
		return;
	if (!on_terminal() && seconds < last + LINE_SECONDS)
		return;
	last = seconds;
	counts(r, &done, &hit_ratio);
	full = (int)(done * BAR / all);
	if (on_terminal())
		fprintf(stderr, "\r[%.*s%*s] ", full, "##############################",
			BAR - full, "");
	fprintf(stderr, "%llu of %llu requests, %.0f a second, hit ratio %.4f",
		done, all,
		seconds > 0 ? (double)done / seconds : 0, hit_ratio);
	if (!on_terminal())
		fputc('\n', stderr);
	fflush(stderr);
}

/* Leave the terminal's line to what follows. */
void progress_end(const struct replay *r)
{
	if (r->progress && on_terminal())
		fprintf(stderr, "\r%100s\r", "");
}
