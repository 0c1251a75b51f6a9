// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench micro: samples and their order statistics */
#include <stdlib.h>
#include <string.h>

#include "kvstash-bench.h"
#include "kvstash-bench-micro.h"

void series_add(struct series *s, double v)
{
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		s->v = xgrow(s->v, s->room, sizeof(*s->v));
	}
	s->v[s->n++] = v;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Linear between neighbours; 0 of none */
double series_quantile(const struct series *s, double q)
{
	double *sorted, at, res;
	size_t low;

	if (!s->n)
		return 0;
	sorted = xalloc(s->n, sizeof(*sorted));
	memcpy(sorted, s->v, s->n * sizeof(*sorted));
	qsort(sorted, s->n, sizeof(*sorted), compare);
	at = q * (double)(s->n - 1);
	low = (size_t)at;
	res = sorted[low];
	if (low + 1 < s->n)
		res += (at - (double)low) * (sorted[low + 1] - sorted[low]);
	free(sorted);
	return res;
}

double series_median(const struct series *s)
{
	return series_quantile(s, 0.5);
}

void series_free(struct series *s)
{
	free(s->v);
	*s = (struct series){};
}
