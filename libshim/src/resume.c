// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * libkvstash: where an engine resumes a prompt
 *
 * A boundary is had in one of two ways: by states of all layouts, or by computing
 * the window before it again. Which states serve changes only at the ends of the
 * spans of boundaries that a state serves, [tokens - rollback, tokens]. Between two
 * such ends, and for each way, start is the boundary less a constant: it grows with
 * it. So the best boundary of each such region is its last usable one: the region's
 * end, or where one of the bounds from above cuts it off (the prompt, the page run,
 * least_recompute), rounded down to a step. These few are tried; whether one is
 * usable, serve() alone says.
 */
#include <errno.h>
#include <limits.h>

#include "lib.h"

static __u64 add(__u64 a, __u64 b)
{
	return __builtin_add_overflow(a, b, &a) ? UINT64_MAX : a;
}

static __u64 less(__u64 a, __u64 b)
{
	return a > b ? a - b : 0;
}

static int check_layout(const struct kvstash_engine_layout *l)
{
	if (l->replay == KVSTASH_REPLAY_BOUNDED)
		return l->window ? 0 : -EINVAL;
	return l->replay == KVSTASH_REPLAY_EXACT ? 0 : -EINVAL;
}

static int check_args(const struct kvstash_engine *e,
		      const struct kvstash_facts *f)
{
	if (e->nr_layouts > KVSTASH_RESUME_LAYOUTS_MAX ||
	    f->nr_states > INT_MAX)
		return -EINVAL;
	for (size_t i = 0; i < e->nr_layouts; i++)
		if (check_layout(&e->layouts[i]))
			return -EINVAL;
	for (size_t i = 0; i < f->nr_states; i++)
		if (f->states[i].layout >= e->nr_layouts ||
		    !f->states[i].tokens)
			return -EINVAL;
	return 0;
}

static void nothing(const struct kvstash_engine *e, struct kvstash_resume *r)
{
	memset(r, 0, sizeof(*r));
	r->recompute = e->prompt_tokens;
	for (int i = 0; i < KVSTASH_RESUME_LAYOUTS_MAX; i++)
		r->state[i] = -1;
}

/* For each layout the shortest available state that serves @b, or -1 */
static void find_states(const struct kvstash_engine *e,
			const struct kvstash_facts *f, __u64 b, int *state)
{
	for (size_t i = 0; i < f->nr_states; i++) {
		const struct kvstash_state_fact *s = &f->states[i];
		int *best = &state[s->layout];

		if (!s->available || b > s->tokens ||
		    b < less(s->tokens, e->layouts[s->layout].rollback))
			continue;
		if (*best < 0 || s->tokens < f->states[*best].tokens)
			*best = (int)i;
	}
}

/* A state of each layout serves @b: computing starts there. */
static int serve_states(const struct kvstash_engine *e,
			const struct kvstash_facts *f, __u64 b,
			struct kvstash_resume *r)
{
	find_states(e, f, b, r->state);
	for (size_t i = 0; i < e->nr_layouts; i++)
		if (r->state[i] < 0)
			return 0;
	r->start = b;
	return 1;
}

/*
 * No state is needed if all layouts can be made again: computing starts the largest
 * window before @b. One that can't would need a state there, not at @b.
 */
static int serve_replay(const struct kvstash_engine *e, __u64 b,
			struct kvstash_resume *r)
{
	__u64 window = 0;

	for (size_t i = 0; i < e->nr_layouts; i++) {
		if (e->layouts[i].replay != KVSTASH_REPLAY_BOUNDED)
			return 0;
		if (e->layouts[i].window > window)
			window = e->layouts[i].window;
	}
	r->start = less(b, window);
	return e->nr_layouts > 0;
}

/* Whether boundary @b is usable, in that way; @r says nothing before. */
static int serve(const struct kvstash_engine *e, const struct kvstash_facts *f,
		 __u64 b, int replay, struct kvstash_resume *r)
{
	__u64 n = e->prompt_tokens;

	if (!b || b > n || (e->step && b % e->step))
		return 0;
	r->boundary = b;
	r->pages = e->block_tokens ? (b - 1) / e->block_tokens + 1 : 0;
	if (r->pages && r->pages > f->page_run)
		return 0;
	if (replay ? !serve_replay(e, b, r) : !serve_states(e, f, b, r))
		return 0;
	r->recompute = n - r->start;
	return r->start && r->recompute >= e->least_recompute;
}

/* The deeper start is better, then the smaller boundary: fewer bytes to fetch. */
static int better(const struct kvstash_resume *a, const struct kvstash_resume *b)
{
	return a->start > b->start ||
	       (a->start == b->start && a->boundary < b->boundary);
}

/* Try the last boundary up to @limit that is on a step. */
static void attempt(const struct kvstash_engine *e,
		    const struct kvstash_facts *f, __u64 limit,
		    struct kvstash_resume *best)
{
	__u64 b = e->step ? limit - limit % e->step : limit;
	struct kvstash_resume r;

	/* start is not behind its boundary */
	if (b < best->start)
		return;
	for (int replay = 0; replay < 2; replay++) {
		nothing(e, &r);
		if (serve(e, f, b, replay, &r) && better(&r, best))
			*best = r;
	}
}

/* What bounds the boundary from above, whatever serves it */
static void try_bounds(const struct kvstash_engine *e,
		       const struct kvstash_facts *f,
		       struct kvstash_resume *best)
{
	__u64 start_max = e->prompt_tokens - e->least_recompute;
	__u64 paged;

	attempt(e, f, e->prompt_tokens, best);
	if (!__builtin_mul_overflow(f->page_run, e->block_tokens, &paged))
		attempt(e, f, paged, best);
	attempt(e, f, start_max, best);
	for (size_t i = 0; i < e->nr_layouts; i++)
		attempt(e, f, add(start_max, e->layouts[i].window), best);
}

/* The ends of the span that each state serves, and of what lies before it */
static void try_states(const struct kvstash_engine *e,
		       const struct kvstash_facts *f,
		       struct kvstash_resume *best)
{
	for (size_t i = f->nr_states; i--; ) {
		const struct kvstash_state_fact *s = &f->states[i];
		__u64 rollback = e->layouts[s->layout].rollback;

		if (!s->available)
			continue;
		attempt(e, f, s->tokens, best);
		attempt(e, f, less(less(s->tokens, rollback), 1), best);
	}
}

int kvstash_resume(const struct kvstash_engine *e,
		   const struct kvstash_facts *f, struct kvstash_resume *out)
{
	struct kvstash_resume best;

	if (check_args(e, f))
		return -EINVAL;
	nothing(e, &best);
	if (e->least_recompute < e->prompt_tokens) {
		try_bounds(e, f, &best);
		try_states(e, f, &best);
	}
	*out = best;
	return 0;
}
