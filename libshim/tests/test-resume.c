// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Where to resume: named cases, and random ones against a search of all boundaries
 *
 * The search knows the rules as the header has them, and nothing of how the library
 * finds its answer.
 */
#include <errno.h>
#include <limits.h>

#include "check.h"

#define LAYOUTS		3
#define STATES		6

#ifdef __SANITIZE_ADDRESS__
#define CASES		60000
#else
#define CASES		1000000
#endif

/* A question, with what it points to */
struct ask {
	struct kvstash_engine e;
	struct kvstash_facts f;
	struct kvstash_engine_layout layouts[LAYOUTS];
	struct kvstash_state_fact states[STATES];
};

static __u64 seed = 88172645463325252ULL;

/* 0 to @n - 1 */
static __u64 below(__u64 n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % n;
}

static void say(const struct ask *a, const struct kvstash_resume *r,
		const struct kvstash_resume *want)
{
	printf("prompt %llu block %llu step %llu least %llu pages %llu\n",
	       (unsigned long long)a->e.prompt_tokens,
	       (unsigned long long)a->e.block_tokens,
	       (unsigned long long)a->e.step,
	       (unsigned long long)a->e.least_recompute,
	       (unsigned long long)a->f.page_run);
	for (size_t i = 0; i < a->e.nr_layouts; i++)
		printf(" layout window %llu rollback %llu replay %u\n",
		       (unsigned long long)a->layouts[i].window,
		       (unsigned long long)a->layouts[i].rollback,
		       a->layouts[i].replay);
	for (size_t i = 0; i < a->f.nr_states; i++)
		printf(" state %llu of %u there %u\n",
		       (unsigned long long)a->states[i].tokens,
		       a->states[i].layout, a->states[i].available);
	printf(" boundary %llu start %llu pages %llu, not %llu %llu %llu\n",
	       (unsigned long long)r->boundary, (unsigned long long)r->start,
	       (unsigned long long)r->pages,
	       (unsigned long long)want->boundary,
	       (unsigned long long)want->start,
	       (unsigned long long)want->pages);
}

/* The pages that [0, b) lies in, counted one by one */
static __u64 pages_of(const struct ask *a, __u64 b)
{
	__u64 pages = 0;

	if (a->e.block_tokens)
		while (pages * a->e.block_tokens < b)
			pages++;
	return pages;
}

/* The shortest state of a layout from which boundary @b can be had, or -1 */
static int search_state(const struct ask *a, __u32 layout, __u64 b)
{
	int found = -1;

	for (int i = (int)a->f.nr_states - 1; i >= 0; i--) {
		const struct kvstash_state_fact *s = &a->states[i];

		if (s->layout != layout || !s->available)
			continue;
		if (b > s->tokens || b + a->layouts[layout].rollback < s->tokens)
			continue;
		if (found < 0 || a->states[found].tokens >= s->tokens)
			found = i;
	}
	return found;
}

/* Enough is left to compute, and not all of the prompt. */
static int start_fits(const struct ask *a, long long start)
{
	return start > 0 && (long long)a->e.prompt_tokens - start >=
			    (long long)a->e.least_recompute;
}

/* Where computing starts for boundary @b; -1 if it can't be used */
static long long search_start(const struct ask *a, __u64 b, int *state)
{
	int have_all = 1, make_all = a->e.nr_layouts > 0;
	long long from = (long long)b;

	if (a->e.step > 1 && b % a->e.step)
		return -1;
	if (a->e.block_tokens && pages_of(a, b) > a->f.page_run)
		return -1;
	for (__u32 i = 0; i < a->e.nr_layouts; i++) {
		long long early = (long long)(b - a->layouts[i].window);

		state[i] = search_state(a, i, b);
		have_all &= state[i] >= 0;
		make_all &= a->layouts[i].replay == KVSTASH_REPLAY_BOUNDED;
		if (early < from)
			from = early;
	}
	if (have_all && start_fits(a, (long long)b))
		return (long long)b;
	for (__u32 i = 0; i < a->e.nr_layouts; i++)
		state[i] = -1;
	return make_all && start_fits(a, from) ? from : -1;
}

static void search(const struct ask *a, struct kvstash_resume *out)
{
	memset(out, 0, sizeof(*out));
	memset(out->state, -1, sizeof(out->state));
	for (__u64 b = 1; b <= a->e.prompt_tokens; b++) {
		int state[KVSTASH_RESUME_LAYOUTS_MAX];
		long long start;

		memset(state, -1, sizeof(state));
		start = search_start(a, b, state);
		if (start < 0 || (__u64)start <= out->start)
			continue;
		out->boundary = b;
		out->start = (__u64)start;
		out->pages = pages_of(a, b);
		memcpy(out->state, state, sizeof(state));
	}
	out->recompute = a->e.prompt_tokens - out->start;
}

/* A question with small numbers, where all the rules meet */
static void make(struct ask *a)
{
	__u64 n = below(40);

	memset(a, 0, sizeof(*a));
	a->e.prompt_tokens = n;
	a->e.block_tokens = below(3) ? 1 + below(9) : 0;
	a->e.step = below(2) ? below(8) : 1;
	a->e.least_recompute = below(2) ? below(5) : below(n + 3);
	a->e.layouts = a->layouts;
	a->e.nr_layouts = below(LAYOUTS + 1);
	a->f.page_run = below(4) ? below(12) : 50;
	for (size_t i = 0; i < a->e.nr_layouts; i++) {
		struct kvstash_engine_layout *l = &a->layouts[i];

		l->window = below(3) ? 1 + below(12) : 0;
		l->rollback = below(2) ? below(10) : 0;
		l->replay = l->window && below(2) ? KVSTASH_REPLAY_BOUNDED :
						    KVSTASH_REPLAY_EXACT;
	}
	a->f.states = a->states;
	a->f.nr_states = a->e.nr_layouts ? below(STATES + 1) : 0;
	for (size_t i = 0; i < a->f.nr_states; i++) {
		a->states[i].tokens = 1 + below(n + 4);
		a->states[i].layout = (__u32)below(a->e.nr_layouts);
		a->states[i].available = below(5) ? 1 + (__u32)below(2) : 0;
	}
}

/* How often a case was worth asking: each kind must have come up. */
struct kinds {
	unsigned int nothing;
	unsigned int prompt_end;
	unsigned int replayed;
	unsigned int cut_back;
	unsigned int stepped;
	unsigned int partial;
	unsigned int passed_over;
};

static void note(struct kinds *k, const struct ask *a,
		 const struct kvstash_resume *r)
{
	k->nothing += !r->boundary;
	if (!r->boundary)
		return;
	for (size_t i = 0; i < a->e.nr_layouts; i++) {
		if (r->state[i] >= 0)
			k->cut_back += a->states[r->state[i]].tokens > r->boundary;
	}
	k->prompt_end += r->boundary == a->e.prompt_tokens;
	k->replayed += r->start < r->boundary;
	k->stepped += a->e.step > 2;
	k->partial += a->e.block_tokens && r->boundary % a->e.block_tokens;
	k->passed_over += a->f.nr_states && r->start < r->boundary;
}

static int same(const struct kvstash_resume *a, const struct kvstash_resume *b)
{
	return a->boundary == b->boundary && a->start == b->start &&
	       a->recompute == b->recompute && a->pages == b->pages &&
	       !memcmp(a->state, b->state, sizeof(a->state));
}

static void test_random(void)
{
	struct kvstash_resume r, want;
	struct kinds k = { 0 };
	struct ask a;
	size_t i;

	for (i = 0; i < CASES; i++) {
		make(&a);
		search(&a, &want);
		memset(&r, 0xa5, sizeof(r));
		if (kvstash_resume(&a.e, &a.f, &r) || !same(&r, &want))
			break;
		note(&k, &a, &want);
	}
	if (i < CASES)
		say(&a, &r, &want);
	CHECK_EQ(i, CASES);
	CHECK(k.nothing > CASES / 100 && k.nothing < CASES / 4 * 3);
	CHECK(k.prompt_end > CASES / 100);
	CHECK(k.replayed > CASES / 100);
	CHECK(k.cut_back > CASES / 100);
	CHECK(k.stepped > CASES / 100);
	CHECK(k.partial > CASES / 100);
	CHECK(k.passed_over > CASES / 100);
}

static void scale(struct ask *a, __u64 by)
{
	a->e.prompt_tokens *= by;
	a->e.block_tokens *= by;
	a->e.step = (a->e.step ? a->e.step : 1) * by;
	a->e.least_recompute *= by;
	for (size_t i = 0; i < LAYOUTS; i++) {
		a->layouts[i].window *= by;
		a->layouts[i].rollback *= by;
	}
	for (size_t i = 0; i < STATES; i++)
		a->states[i].tokens *= by;
}

/* In units of 2^58 tokens nothing is different. */
static void test_large(void)
{
	const __u64 by = 1ULL << 58;
	struct kvstash_resume r, want;
	struct ask a;
	size_t i;

	for (i = 0; i < CASES / 10; i++) {
		make(&a);
		search(&a, &want);
		scale(&a, by);
		want.boundary *= by;
		want.start *= by;
		want.recompute *= by;
		if (kvstash_resume(&a.e, &a.f, &r) || !same(&r, &want))
			break;
	}
	if (i < CASES / 10)
		say(&a, &r, &want);
	CHECK_EQ(i, CASES / 10);
}

/* @n tokens, pages of 64, one layout with a window of 128 that is not replayed */
static struct ask *one(struct ask *a, __u64 n, __u64 page_run)
{
	memset(a, 0, sizeof(*a));
	a->e.prompt_tokens = n;
	a->e.block_tokens = 64;
	a->e.layouts = a->layouts;
	a->e.nr_layouts = 1;
	a->layouts[0].window = 128;
	a->f.page_run = page_run;
	a->f.states = a->states;
	return a;
}

static void state(struct ask *a, __u32 layout, __u64 tokens)
{
	struct kvstash_state_fact *s = &a->states[a->f.nr_states++];

	s->tokens = tokens;
	s->layout = layout;
	s->available = 1;
}

/* @s: state of the first layout */
static void gives(const struct ask *a, __u64 boundary, __u64 start,
		  __u64 pages, int s)
{
	struct kvstash_resume r;

	memset(&r, 0xa5, sizeof(r));
	CHECK_EQ(kvstash_resume(&a->e, &a->f, &r), 0);
	CHECK_EQ(r.boundary, boundary);
	CHECK_EQ(r.start, start);
	CHECK_EQ(r.recompute, a->e.prompt_tokens - start);
	CHECK_EQ(r.pages, pages);
	CHECK_EQ(r.state[0], s);
	for (size_t i = a->e.nr_layouts; i < KVSTASH_RESUME_LAYOUTS_MAX; i++)
		CHECK_EQ(r.state[i], -1);
}

/* The same prompt again: its end is a state, and 140 tokens are computed anew. */
static void test_same_prompt(void)
{
	struct ask a;

	one(&a, 1024, 16);
	a.e.least_recompute = 140;
	state(&a, 0, 1024);
	gives(&a, 0, 0, 0, -1);
	state(&a, 0, 512);
	gives(&a, 512, 512, 8, 1);
	a.layouts[0].rollback = 139;
	gives(&a, 512, 512, 8, 1);
	a.layouts[0].rollback = 140;
	gives(&a, 884, 884, 14, 0);
	a.e.step = 128;
	gives(&a, 512, 512, 8, 1);
	a.layouts[0].rollback = 256;
	gives(&a, 768, 768, 12, 0);
	a.e.step = 0;
	a.e.least_recompute = 0;
	gives(&a, 1024, 1024, 16, 0);
	/* replay starts before the boundary, so that the end itself will do */
	a.layouts[0].rollback = 0;
	a.layouts[0].replay = KVSTASH_REPLAY_BOUNDED;
	a.e.least_recompute = 140;
	a.f.nr_states = 1;
	gives(&a, 1012, 884, 16, -1);
	/* the state at the end starts too late for what is to be computed, replay not */
	a.e.least_recompute = 128;
	gives(&a, 1024, 896, 16, -1);
}

static void test_pages_and_states(void)
{
	struct ask a;

	/* a state deeper than the pages is of no use, a shallower one is */
	one(&a, 1024, 8);
	state(&a, 0, 576);
	gives(&a, 0, 0, 0, -1);
	state(&a, 0, 256);
	gives(&a, 256, 256, 4, 1);
	a.layouts[0].rollback = 64;
	gives(&a, 512, 512, 8, 0);
	/* pages deeper than the states: only those before the boundary */
	one(&a, 1024, 16);
	state(&a, 0, 300);
	gives(&a, 300, 300, 5, 0);
	/* replay goes as deep as the pages, less the window, if that is deeper */
	a.layouts[0].replay = KVSTASH_REPLAY_BOUNDED;
	gives(&a, 1024, 896, 16, -1);
	a.f.page_run = 6;
	gives(&a, 300, 300, 5, 0);
	/* a model without pages, and one without states */
	one(&a, 1024, 0);
	a.e.block_tokens = 0;
	state(&a, 0, 300);
	gives(&a, 300, 300, 0, 0);
	one(&a, 1000, 12);
	a.e.nr_layouts = 0;
	a.e.least_recompute = 1;
	gives(&a, 768, 768, 12, -1);
	a.f.page_run = 99;
	gives(&a, 999, 999, 16, -1);
}

/* States at 10 points, of which one is lost: the others are as good as before. */
static void test_ten(void)
{
	struct ask a;
	struct kvstash_state_fact states[10];

	one(&a, 10240, 160);
	a.f.states = states;
	a.f.nr_states = 10;
	for (__u32 i = 0; i < 10; i++) {
		states[i].tokens = (i + 1) * 1000;
		states[i].layout = 0;
		states[i].available = i != 4;
	}
	gives(&a, 10000, 10000, 157, 9);
	states[9].available = 0;
	gives(&a, 9000, 9000, 141, 8);
	a.f.page_run = 80;
	gives(&a, 4000, 4000, 63, 3);
}

static void test_layouts(void)
{
	struct kvstash_resume r;
	struct ask a;

	/* one recurrent layout, and one with a window: both at one boundary */
	one(&a, 4096, 64);
	a.e.nr_layouts = 2;
	a.layouts[1].window = 0;
	state(&a, 0, 1024);
	state(&a, 0, 2048);
	state(&a, 1, 1024);
	state(&a, 1, 3072);
	gives(&a, 1024, 1024, 16, 0);
	CHECK_EQ(kvstash_resume(&a.e, &a.f, &r), 0);
	CHECK_EQ(r.state[1], 2);
	/*
	 * The window could be made again, but not from there: computing would start
	 * where there is no state of the recurrent layout.
	 */
	a.layouts[0].replay = KVSTASH_REPLAY_BOUNDED;
	gives(&a, 1024, 1024, 16, 0);
	/* a state cut back */
	a.layouts[1].rollback = 1024;
	gives(&a, 2048, 2048, 32, 1);
	a.states[3].available = 0;
	state(&a, 1, 2560);
	gives(&a, 2048, 2048, 32, 1);
	/* both with a window that can be made again: the larger one counts */
	a.layouts[1].window = 256;
	a.layouts[1].replay = KVSTASH_REPLAY_BOUNDED;
	gives(&a, 4096, 4096 - 256, 64, -1);
}

/* Of equal starts the boundary that fetches less, of equal states the first */
static void test_ties(void)
{
	struct ask a;

	one(&a, 4096, 64);
	a.layouts[0].replay = KVSTASH_REPLAY_BOUNDED;
	a.f.page_run = 18;
	state(&a, 0, 1024);
	gives(&a, 1024, 1024, 16, 0);
	state(&a, 0, 1024);
	gives(&a, 1024, 1024, 16, 0);
	a.layouts[0].rollback = 100;
	state(&a, 0, 1060);
	a.f.page_run = 16;
	gives(&a, 1024, 1024, 16, 0);
	a.states[0].available = 0;
	a.states[1].available = 0;
	gives(&a, 1024, 1024, 16, 2);
}

static void test_nothing(void)
{
	struct ask a;

	one(&a, 0, 0);
	gives(&a, 0, 0, 0, -1);
	one(&a, 1024, 16);
	gives(&a, 0, 0, 0, -1);
	state(&a, 0, 512);
	a.e.least_recompute = 1024;
	gives(&a, 0, 0, 0, -1);
	a.e.least_recompute = UINT64_MAX;
	gives(&a, 0, 0, 0, -1);
	/* a replay that begins at 0 is no better than nothing */
	one(&a, 128, 2);
	a.layouts[0].replay = KVSTASH_REPLAY_BOUNDED;
	gives(&a, 0, 0, 0, -1);
	a.e.prompt_tokens = 129;
	a.f.page_run = 3;
	gives(&a, 129, 1, 3, -1);
}

static void test_extremes(void)
{
	struct ask a;

	one(&a, UINT64_MAX, UINT64_MAX);
	a.e.least_recompute = 1;
	state(&a, 0, UINT64_MAX);
	gives(&a, 0, 0, 0, -1);
	a.layouts[0].rollback = UINT64_MAX;
	gives(&a, UINT64_MAX - 1, UINT64_MAX - 1, 1ULL << 58, 0);
	a.e.step = UINT64_MAX;
	gives(&a, 0, 0, 0, -1);
	a.e.least_recompute = 0;
	gives(&a, UINT64_MAX, UINT64_MAX, 1ULL << 58, 0);
	a.e.block_tokens = UINT64_MAX;
	a.f.page_run = 1;
	gives(&a, UINT64_MAX, UINT64_MAX, 1, 0);
	a.f.nr_states = 0;
	a.layouts[0].replay = KVSTASH_REPLAY_BOUNDED;
	a.layouts[0].window = UINT64_MAX;
	gives(&a, 0, 0, 0, -1);
	a.layouts[0].window = UINT64_MAX - 1;
	gives(&a, UINT64_MAX, 1, 1, -1);
}

static void refused(const struct ask *a)
{
	struct kvstash_resume r, before;

	memset(&r, 0xa5, sizeof(r));
	before = r;
	CHECK_EQ(kvstash_resume(&a->e, &a->f, &r), -EINVAL);
	CHECK(same(&r, &before));
}

static void test_bad(void)
{
	struct kvstash_engine_layout many[KVSTASH_RESUME_LAYOUTS_MAX + 1];
	struct kvstash_resume r;
	struct ask a;

	one(&a, 1024, 16);
	memset(many, 0, sizeof(many));
	a.e.layouts = many;
	a.e.nr_layouts = KVSTASH_RESUME_LAYOUTS_MAX + 1;
	refused(&a);
	a.e.nr_layouts = KVSTASH_RESUME_LAYOUTS_MAX;
	CHECK_EQ(kvstash_resume(&a.e, &a.f, &r), 0);
	one(&a, 1024, 16);
	a.f.nr_states = (size_t)INT_MAX + 1;
	refused(&a);
	one(&a, 1024, 16);
	state(&a, 1, 512);
	refused(&a);
	one(&a, 1024, 16);
	state(&a, 0, 0);
	a.states[0].available = 0;
	refused(&a);
	one(&a, 1024, 16);
	a.layouts[0].replay = 2;
	refused(&a);
	a.layouts[0].replay = KVSTASH_REPLAY_BOUNDED;
	a.layouts[0].window = 0;
	refused(&a);
}

static void common(const __u64 *a, size_t n, const __u64 *b, size_t m,
		   const __u64 *want, size_t nr)
{
	__u64 stops[4], before[4];

	memset(stops, 0xa5, sizeof(stops));
	if (n)
		memcpy(stops, a, n * sizeof(*a));
	memcpy(before, stops, sizeof(stops));
	CHECK_EQ(kvstash_stops_common(stops, n, b, m), nr);
	CHECK(!nr || !memcmp(stops, want, nr * sizeof(*want)));
	CHECK(!memcmp(stops + n, before + n, (4 - n) * sizeof(*stops)));
}

static void test_stops(void)
{
	static const __u64 a[] = { 1, 3 }, b[] = { 1, 2 }, c[] = { 2, 3, 4 };
	static const __u64 far[] = { 0, 3, UINT64_MAX };

	common(a, 2, b, 2, a, 1);
	common(b, 2, a, 2, a, 1);
	common(a, 2, c, 3, a + 1, 1);
	common(c, 3, a, 2, a + 1, 1);
	common(c, 3, c, 3, c, 3);
	common(far, 3, c, 3, far + 1, 1);
	common(far, 3, far + 2, 1, far + 2, 1);
	common(b, 2, c + 1, 2, NULL, 0);
	common(NULL, 0, c, 3, NULL, 0);
	common(c, 3, NULL, 0, NULL, 0);
}

void test_resume(void)
{
	test_same_prompt();
	test_pages_and_states();
	test_ten();
	test_layouts();
	test_ties();
	test_nothing();
	test_extremes();
	test_bad();
	test_random();
	test_large();
	test_stops();
}
