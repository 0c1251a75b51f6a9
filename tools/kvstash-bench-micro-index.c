// SPDX-License-Identifier: GPL-2.0
/*
 * kvstash-bench micro: finding objects among a million of them
 *
 * The million are a page each; the first 65,536 stand in chains of 1,024. Keys
 * are asked for at random, so that hardly one is in a cache of the processor.
 */
#include <stdlib.h>
#include <stdio.h>

#include "kvstash-bench.h"
#include "kvstash-bench-micro.h"

#define SMALL_OBJECTS	10000
#define KEYS		128	/* of an EXISTS call */
#define GETS		32	/* objects of a GET call */
#define CALLS		64	/* in a sample: their median counts */
#define SAMPLES		101
#define STATES		8	/* candidates of a lookup */
#define STATE_BYTES	4096	/* no lookup looks at them */

/**
 * struct asker - calls about random objects of a client's namespace
 * @objects: serials of those that are there: below this
 * @keys: of CALLS calls, made before the clock runs
 * @states: likewise those of states, STATES a call; NULL: none is asked for
 * @per:  objects of a call
 * @call: makes call number @i
 * @ns:   times of the calls of a sample
 */
struct asker {
	struct kvstash *c;
	__u64 objects;
	unsigned int per;
	double (*call)(struct asker *a, unsigned int i);
	__u8 *keys;
	__u8 *states;
	__u8 *buf;
	struct kvstash_exists *res;
	struct kvstash_get *get;
	__u64 random;
	struct series ns;
};

static __u8 *call_keys(const struct asker *a, unsigned int call)
{
	return a->keys + (size_t)call * a->per * KEY_BYTES;
}

static double exists_call(struct asker *a, unsigned int i)
{
	struct kvstash_keys k;
	__u64 ns;

	kvstash_prep_keys(&k, call_keys(a, i), KEY_BYTES, a->per);
	ns = now_ns();
	store_must("exists", kvstash_exists(a->c, &k, a->res));
	ns = now_ns() - ns;
	for (unsigned int j = 0; j < a->per; j++)
		store_must_entry("exists", &a->res[j].r);
	return (double)ns;
}

static double get_call(struct asker *a, unsigned int i)
{
	const __u8 *keys = call_keys(a, i);
	unsigned int j;
	__u64 ns;

	for (j = 0; j < a->per; j++)
		kvstash_prep_get(&a->get[j], keys + (size_t)j * KEY_BYTES, KEY_BYTES,
				 a->buf + (size_t)j * MILLION_BYTES, MILLION_BYTES);
	ns = now_ns();
	store_must("get", kvstash_get(a->c, a->get, a->per));
	ns = now_ns() - ns;
	for (j = 0; j < a->per; j++)
		store_must_entry("get", &a->get[j].r);
	return (double)ns;
}

static __u8 *state_of(const struct asker *a, unsigned int call, unsigned int i)
{
	return a->states + ((size_t)call * STATES + i) * STATE_KEY_BYTES;
}

static double lookup_call(struct asker *a, unsigned int i)
{
	unsigned int states = a->states ? STATES : 0;
	struct kvstash_candidate s[STATES];
	struct kvstash_keys k;
	__u64 ns;
	int run;

	for (unsigned int j = 0; j < states; j++)
		kvstash_prep_candidate(&s[j], state_of(a, i, j), STATE_KEY_BYTES);
	kvstash_prep_keys(&k, call_keys(a, i), KEY_BYTES, a->per);
	kvstash_prep_keys_candidates(&k, s, states);
	ns = now_ns();
	run = kvstash_lookup(a->c, &k);
	ns = now_ns() - ns;
	store_must("lookup", run);
	if ((unsigned int)run != a->per)
		die("lookup: a run of %d instead of %u", run, a->per);
	for (unsigned int j = 0; j < states; j++)
		store_must_entry("lookup of a state", &s[j].r);
	return (double)ns;
}

static void asker_init(struct asker *a, struct kvstash *c, __u64 objects, unsigned int per,
		       double (*call)(struct asker *a, unsigned int i))
{
	*a = (struct asker){ .c = c, .objects = objects, .per = per, .call = call };
	a->keys = xalloc((size_t)CALLS * per, KEY_BYTES);
	a->res = xalloc(per, sizeof(*a->res));
	a->get = xalloc(per, sizeof(*a->get));
	a->buf = map_pages((size_t)per * MILLION_BYTES);
}

static void asker_end(struct asker *a)
{
	free(a->keys);
	free(a->states);
	free(a->res);
	free(a->get);
	unmap_pages(a->buf, (size_t)a->per * MILLION_BYTES);
}

static void new_keys(struct asker *a)
{
	for (size_t i = 0; i < (size_t)CALLS * a->per; i++) {
		/* a lookup's calls are about a chain each */
		__u64 obj = a->call == lookup_call ? i : mix64(a->random++) % a->objects;

		store_key(a->keys + i * KEY_BYTES, obj);
	}
	series_free(&a->ns);
}

/* Calls of all @askers and the empty call in turn; returns the empty call's time. */
static double sample(struct micro *m, struct asker **askers, int n)
{
	struct series empty = {};
	double ns;

	for (int k = 0; k < n; k++)
		new_keys(askers[k]);
	for (unsigned int i = 0; i < CALLS; i++) {
		if (i % 8 == 0)
			series_add(&empty, empty_ns(m));
		for (int k = 0; k < n; k++)
			series_add(&askers[k]->ns, askers[k]->call(askers[k], i));
	}
	ns = series_median(&empty);
	series_free(&empty);
	return ns;
}

void million_exists(struct micro *m)
{
	struct row row = {
		.id = "exists.128", .unit = "keys/s", .is_net = true,
		.against = "random keys among the million, 128 a call, less the empty call",
	};
	struct asker a, *one = &a;

	asker_init(&a, m->c, m->objects, KEYS, exists_call);
	for (int i = 0; i < SAMPLES; i++) {
		double empty = sample(m, &one, 1), all = series_median(&a.ns);

		series_add(&row.value, 1e9 * KEYS / (all - empty));
		series_add(&row.other, 1e9 * KEYS / all);
	}
	asker_end(&a);
	row_put(m, &row);
}

/* States behind keys of each chain: of as many chains as there are calls */
static void put_states(struct asker *a, const struct state_layout *l)
{
	struct kvstash_put e[STATES];
	__u8 bytes[STATE_BYTES] = {};

	a->states = xalloc((size_t)CALLS * STATES, STATE_KEY_BYTES);
	for (unsigned int i = 0; i < CALLS; i++) {
		for (unsigned int j = 0; j < STATES; j++) {
			__u8 *key = state_of(a, i, j);

			store_key_of(l, key, i * CHAIN_KEYS + j * CHAIN_KEYS / STATES);
			kvstash_prep_put(&e[j], key, STATE_KEY_BYTES, bytes, sizeof(bytes));
			kvstash_prep_put_state(&e[j]);
		}
		store_must("put", kvstash_put(a->c, e, STATES));
		for (unsigned int j = 0; j < STATES; j++)
			store_must_entry("put of a state", &e[j].r);
	}
}

/* Not in one run with others: each chain has been out of sight for the same time. */
static void measure_lookup(struct micro *m, struct row *row, struct asker *a)
{
	for (int i = 0; i < SAMPLES; i++) {
		double empty = sample(m, &a, 1), all = series_median(&a->ns);

		series_add(&row->value, (all - empty) / 1e3);
		series_add(&row->other, all / 1e3);
	}
	row_put(m, row);
}

void million_lookup(struct micro *m)
{
	struct row both = {
		.id = "lookup.1024", .unit = "us", .is_net = true,
		.against = "1,024 keys of a chain and 8 states, less the empty call",
	};
	struct row chain = {
		.id = "lookup.1024.chain", .unit = "us", .is_net = true,
		.against = "1,024 keys of a chain, another for each call, less the empty call",
	};
	struct state_layout l;
	struct asker a;

	asker_init(&a, m->c, m->objects, CHAIN_KEYS, lookup_call);
	measure_lookup(m, &chain, &a);
	state_layout_init(&l, 1, STATE_BYTES, false);
	state_layout_add(m->c, &l, CALLS * STATES);
	put_states(&a, &l);
	measure_lookup(m, &both, &a);
	state_layout_drop(m->c, &l);
	asker_end(&a);
}

static void measure_scale(struct micro *m, struct row *row, struct asker *many,
			  struct asker *few)
{
	struct asker *both[] = { many, few };

	snprintf(row->against, sizeof(row->against),
		 "a pool laid out for and holding 10,000 objects; %u a call, less the empty call",
		 many->per);
	for (int i = 0; i < SAMPLES; i++) {
		double empty = sample(m, both, 2);
		double a = series_median(&many->ns), b = series_median(&few->ns);

		series_add(&row->value, (a - empty) / many->per);
		series_add(&row->ratio, (a - empty) / (b - empty));
		series_add(&row->other, a / many->per);
		series_add(&row->other_ratio, a / b);
	}
	row_put(m, row);
	asker_end(many);
	asker_end(few);
}

void million_scale(struct micro *m)
{
	struct row exists = { .id = "scale.exists", .unit = "ns/key", .is_net = true };
	struct row get = { .id = "scale.get", .unit = "ns/obj", .is_net = true };
	struct asker many, few;
	struct kvstash *c;

	if (!m->small) {
		row_skip(m, exists.id, "needs --small");
		row_skip(m, get.id, "needs --small");
		return;
	}
	c = client_open(m->small);
	store_fill(c, 0, SMALL_OBJECTS, MILLION_BYTES, 0);
	asker_init(&many, m->c, m->objects, KEYS, exists_call);
	asker_init(&few, c, SMALL_OBJECTS, KEYS, exists_call);
	measure_scale(m, &exists, &many, &few);
	asker_init(&many, m->c, m->objects, GETS, get_call);
	asker_init(&few, c, SMALL_OBJECTS, GETS, get_call);
	measure_scale(m, &get, &many, &few);
	store_remove(c, NULL, 0, SMALL_OBJECTS);
	kvstash_close(c);
}

static bool million_fits(struct micro *m)
{
	static const char * const ids[] = {
		"bytes_per_object", "exists.128", "lookup.1024",
		"lookup.1024.chain", "scale.exists", "scale.get", "exists.evict",
	};
	__u64 need = m->objects * MILLION_BYTES;

	if (need <= m->pool_bytes / 100 * 99)
		return true;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		row_skip(m, ids[i], "%llu objects of 4,096 B want a larger pool", m->objects);
	return false;
}

void micro_million(struct micro *m, size_t arg)
{
	__u64 slab, available;

	(void)arg;
	if (!million_fits(m))
		return;
	slab = memory_figure("Slab");
	available = memory_figure("MemAvailable");
	store_fill(m->c, 0, CHAINS * CHAIN_KEYS, MILLION_BYTES, CHAIN_KEYS);
	store_fill(m->c, CHAINS * CHAIN_KEYS, m->objects - CHAINS * CHAIN_KEYS,
		   MILLION_BYTES, 0);
	million_memory(m, slab, available);
	million_exists(m);
	million_lookup(m);
	million_scale(m);
	million_evict(m);
	store_remove(m->c, NULL, 0, m->objects);
}
