// SPDX-License-Identifier: GPL-2.0
/*
 * kvstash-bench simulate: a trace against a cache in user space
 *
 * The rule is that of replay: the leading run of blocks that are there is hit,
 * then what is missing is put, one block after the other. A full cache evicts
 * one block for each that is put, never the one that the new block stands
 * behind.
 */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstash-bench.h"
#include "kvstash-bench-report.h"
#include "kvstash-bench-trace.h"

enum policy {
	POLICY_LRU,		/* least recently used, chains are not looked at */
	POLICY_LEAF_LRU,	/* of those that no other block stands behind */
	POLICY_QUARTER,		/* the same, but see victim_heap() */
	NR_POLICIES,
};

static const char * const policy_names[NR_POLICIES] = { "lru", "leaf-lru", "quarter" };

enum { UNPROVEN, PROVEN, NR_HEAPS };

struct block {
	__u64 stamp;		/* when it was put or hit last */
	__u32 children;
	bool here;
	bool proven;		/* hit since it was put */
};

struct entry {
	__u64 stamp;		/* that of the block when it was listed */
	__u32 block;
};

/* Oldest first. Entries may be out of date: looked at when they come up. */
struct heap {
	struct entry *e;
	size_t n;
	size_t room;
};

struct cache {
	const struct trace *t;
	enum policy policy;
	struct block *b;
	struct heap heap[NR_HEAPS];
	__u64 clock;
	size_t capacity;
	size_t used;
	size_t proven;
	size_t evictions;
	size_t no_space;
};

static void heap_push(struct heap *h, struct entry e)
{
	size_t i = h->n++;

	if (h->n > h->room) {
		h->room = 2 * h->n;
		h->e = xgrow(h->e, h->room, sizeof(*h->e));
	}
	for (; i && h->e[(i - 1) / 2].stamp > e.stamp; i = (i - 1) / 2)
		h->e[i] = h->e[(i - 1) / 2];
	h->e[i] = e;
}

static void heap_pop(struct heap *h)
{
	struct entry e = h->e[--h->n];
	size_t i = 0, kid;

	for (; (kid = 2 * i + 1) < h->n; i = kid) {
		if (kid + 1 < h->n && h->e[kid + 1].stamp < h->e[kid].stamp)
			kid++;
		if (h->e[kid].stamp >= e.stamp)
			break;
		h->e[i] = h->e[kid];
	}
	h->e[i] = e;
}

static bool evictable(const struct cache *c, __u32 block)
{
	return c->policy == POLICY_LRU || !c->b[block].children;
}

static int heap_of(const struct cache *c, __u32 block)
{
	return c->policy == POLICY_QUARTER && c->b[block].proven ? PROVEN : UNPROVEN;
}

static void list(struct cache *c, __u32 block)
{
	struct entry e = { c->b[block].stamp, block };

	if (c->b[block].here && evictable(c, block))
		heap_push(&c->heap[heap_of(c, block)], e);
}

/* The oldest entry of a heap that is true, put right on the way */
static struct entry *oldest(struct cache *c, int which)
{
	struct heap *h = &c->heap[which];

	while (h->n) {
		struct entry e = h->e[0];
		const struct block *b = &c->b[e.block];

		if (b->here && b->stamp == e.stamp && evictable(c, e.block) &&
		    heap_of(c, e.block) == which)
			return h->e;
		/* Hit since: it was listed anew then. */
		heap_pop(h);
	}
	return NULL;
}

/*
 * While blocks that were hit since they were put take less than a quarter, an
 * older one of these is kept before a younger one that never was.
 */
static int victim_heap(struct cache *c)
{
	const struct entry *plain = oldest(c, UNPROVEN);
	const struct entry *proven = oldest(c, PROVEN);

	if (!plain || !proven)
		return plain ? UNPROVEN : PROVEN;
	if (c->proven < c->capacity / 4)
		return UNPROVEN;
	return plain->stamp < proven->stamp ? UNPROVEN : PROVEN;
}

static void drop(struct cache *c, __u32 block)
{
	__u32 pred = c->t->pred[block];

	c->b[block].here = false;
	c->proven -= c->b[block].proven;
	c->used--;
	if (pred != TRACE_NO_BLOCK && !--c->b[pred].children)
		list(c, pred);
}

/* @keep: the block that the new one will stand behind */
static bool make_room(struct cache *c, __u32 keep)
{
	struct entry held = {}, *e;
	bool is_held = false, found = false;
	int which;

	if (c->used < c->capacity)
		return true;
	for (;;) {
		which = victim_heap(c);
		e = oldest(c, which);
		if (!e || e->block != keep)
			break;
		held = *e;
		is_held = true;
		heap_pop(&c->heap[which]);
	}
	if (e) {
		__u32 block = e->block;

		heap_pop(&c->heap[which]);
		drop(c, block);
		c->evictions++;
		found = true;
	}
	if (is_held)
		list(c, held.block);
	return found;
}

static void hit(struct cache *c, __u32 block)
{
	struct block *b = &c->b[block];

	b->stamp = ++c->clock;
	c->proven += !b->proven;
	b->proven = true;
	list(c, block);
}

static bool put(struct cache *c, __u32 block)
{
	__u32 pred = c->t->pred[block];
	struct block *b = &c->b[block];

	if (!b->here) {
		if (!make_room(c, pred))
			return false;
		b->here = true;
		b->proven = false;
		c->used++;
		if (pred != TRACE_NO_BLOCK)
			c->b[pred].children++;
	}
	b->stamp = ++c->clock;
	list(c, block);
	return true;
}

struct score {
	size_t hits;
	size_t requests_hit;
	size_t requests_full;
};

static void play(struct cache *c, size_t request, struct score *s)
{
	const __u32 *chain = c->t->blocks + c->t->first[request];
	size_t n = trace_len(c->t, request), run = 0, i;

	while (run < n && c->b[chain[run]].here)
		run++;
	s->hits += run;
	s->requests_hit += run > 0;
	s->requests_full += run == n;
	for (i = 0; i < run; i++)
		hit(c, chain[i]);
	for (; i < n; i++)
		if (!put(c, chain[i]))
			c->no_space++;
}

static double share(size_t part, size_t all)
{
	return (double)part / (double)all;
}

static json_t *simulate(const struct trace *t, enum policy by, size_t capacity)
{
	struct cache c = { .t = t, .policy = by, .capacity = capacity };
	struct score s = {};
	json_t *obj;

	c.b = xalloc(t->unique, sizeof(*c.b));
	for (size_t r = 0; r < t->requests; r++)
		play(&c, r, &s);
	free(c.b);
	for (int i = 0; i < NR_HEAPS; i++)
		free(c.heap[i].e);
	obj = json_object();
	json_object_set_new(obj, "policy", json_string(policy_names[by]));
	report_int(obj, "capacity_blocks", capacity);
	report_int(obj, "requests", t->requests);
	report_int(obj, "blocks", trace_blocks(t));
	report_int(obj, "unique_blocks", t->unique);
	report_real(obj, "block_hit_ratio", share(s.hits, trace_blocks(t)));
	report_real(obj, "request_hit_ratio", share(s.requests_hit, t->requests));
	report_real(obj, "request_full_ratio", share(s.requests_full, t->requests));
	report_int(obj, "evictions", c.evictions);
	report_int(obj, "no_space", c.no_space);
	report_int(obj, "broken_lines", t->broken);
	return obj;
}

static enum policy policy_by_name(const char *name)
{
	for (int i = 0; i < NR_POLICIES; i++)
		if (!strcmp(name, policy_names[i]))
			return i;
	die("--policy: there is no '%s'", name);
}

static const char help[] =
"usage: kvstash-bench simulate --trace FILE [OPTION]...\n"
"  --percent P       capacity in percent of the trace's unique blocks (default 10)\n"
"  --capacity N      capacity in blocks, instead\n"
"  --policy NAME     lru, leaf-lru or quarter (default leaf-lru)\n"
"  --requests N      only the first N requests\n"
"  --on-broken HOW   skip or fail (default fail)\n"
"  --json            print the result as a JSON object, too, on the last line\n";

static const struct option options[] = {
	{ "trace", required_argument, NULL, 't' },
	{ "percent", required_argument, NULL, 'p' },
	{ "capacity", required_argument, NULL, 'c' },
	{ "policy", required_argument, NULL, 'P' },
	{ "requests", required_argument, NULL, 'n' },
	{ "on-broken", required_argument, NULL, 'b' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{}
};

int cmd_simulate(int argc, char **argv)
{
	enum policy policy = POLICY_LEAF_LRU;
	const char *path = NULL;
	size_t capacity = 0, requests = 0;
	double percent = 0;
	bool json = false, skip = false;
	struct trace *t;
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 't':
			path = optarg;
			break;
		case 'p':
			percent = parse_percent("--percent", optarg);
			break;
		case 'c':
			capacity = parse_u64("--capacity", optarg, 1, UINT32_MAX);
			break;
		case 'P':
			policy = policy_by_name(optarg);
			break;
		case 'n':
			requests = parse_u64("--requests", optarg, 1, UINT32_MAX);
			break;
		case 'b':
			skip = parse_on_broken(optarg);
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return EXIT_USAGE;
		}
	}
	if (!path || optind < argc)
		die("simulate: --trace FILE and options only; see --help");

	if (percent > 0 && capacity)
		die("simulate: only one of --percent and --capacity may be given");

	t = trace_load(path, requests, skip);
	if (!capacity)
		capacity = (size_t)((double)t->unique * (percent > 0 ? percent : 10) / 100);
	if (!capacity)
		die("the capacity is less than one block");
	report_put(simulate(t, policy, capacity), json);
	trace_free(t);
	return EXIT_OK;
}
