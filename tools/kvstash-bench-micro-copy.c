// SPDX-License-Identifier: GPL-2.0
/*
 * kvstash-bench micro: put and get beside the bare copy and beside memcpy, of pages
 * and of states
 *
 * Each sample moves the same number of bytes three ways, one after the other:
 * through kvstash, through the bare module, within user space. All are as cold as
 * each other: the user's side is a ring that is larger than caches are, the
 * store's objects are put in and got out in the order of their making all over
 * the pool, and the bare copy walks a pool of its own in the same steps. What one
 * way leaves dirty in the caches is written back in the time of the next, so each
 * follows each other equally often, and each comes to all places of the ring.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "../selftests/kmod/kvstash_bare.h"
#include "kvstash-bench.h"
#include "kvstash-bench-micro.h"

#define RING_BYTES	(64U << 20)
#define FILL_SHARE	0.8	/* of the pool, so that nothing is evicted */
#define SLOT_SHARE	0.5	/* what a namespace without a quota may carve */
#define SAMPLES_BYTES	(640ULL << 20)	/* through each way, in all samples */
#define SAMPLES_MIN	31
#define SAMPLES_MAX	401

enum way { WAY_STORE, WAY_BARE, WAY_MEMCPY, NR_WAYS };

#define NR_ORDERS	6

/* One after the other, and again: each way comes three times after each other. */
static const enum way orders[NR_ORDERS][NR_WAYS] = {
	{ WAY_STORE, WAY_BARE, WAY_MEMCPY },
	{ WAY_BARE, WAY_MEMCPY, WAY_STORE },
	{ WAY_MEMCPY, WAY_STORE, WAY_BARE },
	{ WAY_STORE, WAY_MEMCPY, WAY_BARE },
	{ WAY_MEMCPY, WAY_BARE, WAY_STORE },
	{ WAY_BARE, WAY_STORE, WAY_MEMCPY },
};

/**
 * struct copier - one size of block
 * @layout: the blocks are states of it; NULL: they are pages
 * @bytes:  of a block
 * @batch:  blocks of a sample
 * @single: one block a call
 * @in:     put, else get
 * @slots:  samples that the user's ring takes; @slot is the next
 * @room:   objects that the store takes
 * @first:  serial of the first that is in the store
 * @stored: how many are
 * @next:   the next of them to be got
 * @at:     where the bare copy goes on
 */
struct copier {
	struct micro *m;
	const struct state_layout *layout;
	size_t bytes;
	unsigned int batch;
	bool single;
	bool in;
	size_t slots;
	size_t slot;
	__u64 room;
	__u64 first;
	__u64 stored;
	__u64 next;
	__u64 at;
	size_t key_len;
	__u8 *keys;
	struct kvstash_put *put;
	struct kvstash_get *get;
	struct kvstash_bare_span *spans;
};

static size_t sample_bytes(const struct copier *c)
{
	return c->bytes * c->batch;
}

static __u8 *next_slot(struct copier *c)
{
	__u8 *p = c->m->ring + c->slot * sample_bytes(c);

	c->slot = (c->slot + 1) % c->slots;
	return p;
}

static void copier_init(struct copier *c, struct micro *m, const struct state_layout *l,
			size_t bytes, unsigned int batch)
{
	double share = l ? SLOT_SHARE : FILL_SHARE;

	*c = (struct copier){ .m = m, .layout = l, .bytes = bytes, .batch = batch };
	/* No multiple of the ways, nor of two of them: see orders. */
	c->slots = RING_BYTES / sample_bytes(c);
	while (c->slots % 2 == 0 || c->slots % NR_WAYS == 0)
		c->slots--;
	if (!m->ring) {
		m->ring = map_pages(RING_BYTES);
		m->to = map_pages(RING_BYTES);
		memset(m->ring, 0x5a, RING_BYTES);
		memset(m->to, 0xa5, RING_BYTES);
	}
	c->room = (__u64)((double)m->pool_bytes * share) / round_up(bytes, PAGE_UNIT);
	c->key_len = store_key_bytes(l);
	c->keys = xalloc(batch, c->key_len);
	c->put = xalloc(batch, sizeof(*c->put));
	c->get = xalloc(batch, sizeof(*c->get));
	c->spans = xalloc(batch, sizeof(*c->spans));
	c->first = m->serial;
}

static void copier_empty(struct copier *c)
{
	store_remove(c->m->c, c->layout, c->first, c->stored);
	c->first += c->stored;
	c->m->serial = c->first;
	c->stored = 0;
	c->next = 0;
}

static void copier_end(struct copier *c)
{
	copier_empty(c);
	free(c->keys);
	free(c->put);
	free(c->get);
	free(c->spans);
}

static void prepare_put(struct copier *c)
{
	__u8 *user = next_slot(c);

	if (c->stored + c->batch > c->room)
		copier_empty(c);
	for (unsigned int i = 0; i < c->batch; i++) {
		__u8 *key = c->keys + i * c->key_len;

		store_key_of(c->layout, key, c->first + c->stored++);
		kvstash_prep_put(&c->put[i], key, c->key_len, user + i * c->bytes, c->bytes);
		if (c->layout)
			kvstash_prep_put_state(&c->put[i]);
	}
}

static void prepare_get(struct copier *c)
{
	__u8 *user = next_slot(c);

	for (unsigned int i = 0; i < c->batch; i++) {
		__u8 *key = c->keys + i * c->key_len;

		store_key_of(c->layout, key, c->first + c->next);
		c->next = (c->next + 1) % c->stored;
		kvstash_prep_get(&c->get[i], key, c->key_len, user + i * c->bytes, c->bytes);
		if (c->layout)
			kvstash_prep_get_state(&c->get[i]);
	}
}

static double store_call(struct copier *c, unsigned int i, unsigned int n)
{
	__u64 ns = now_ns();
	int err = c->in ? kvstash_put(c->m->c, c->put + i, n) :
			  kvstash_get(c->m->c, c->get + i, n);

	ns = now_ns() - ns;
	store_must(c->in ? "put" : "get", err);
	return (double)ns;
}

/* The blocks of a sample by one call, or by one call each: its median time then */
static double all_calls(struct copier *c,
			double (*call)(struct copier *c, unsigned int i, unsigned int n))
{
	struct series s = {};
	double ns;

	if (!c->single)
		return call(c, 0, c->batch);
	for (unsigned int i = 0; i < c->batch; i++)
		series_add(&s, call(c, i, 1));
	ns = series_median(&s);
	series_free(&s);
	return ns;
}

static double store_sample(struct copier *c)
{
	double ns;

	if (c->in)
		prepare_put(c);
	else
		prepare_get(c);
	ns = all_calls(c, store_call);
	for (unsigned int i = 0; i < c->batch; i++)
		store_must_entry(c->in ? "put" : "get",
				 c->in ? &c->put[i].r : &c->get[i].r);
	return ns;
}

static void prepare_spans(struct copier *c)
{
	__u64 step = round_up(c->bytes, PAGE_UNIT);
	__u8 *user = next_slot(c);

	for (unsigned int i = 0; i < c->batch; i++) {
		if (c->at + c->bytes > c->m->bare_bytes)
			c->at = 0;
		c->spans[i].addr = kvstash_addr(user + i * c->bytes);
		c->spans[i].len = c->bytes;
		c->spans[i].offset = c->at;
		c->at += step;
	}
}

static double bare_call(struct copier *c, unsigned int i, unsigned int n)
{
	struct kvstash_bare_batch b = { .spans = kvstash_addr(c->spans + i), .count = n };
	unsigned long one = c->in ? KVSTASH_BARE_ONE_IN : KVSTASH_BARE_ONE_OUT;
	unsigned long all = c->in ? KVSTASH_BARE_COPY_IN : KVSTASH_BARE_COPY_OUT;
	__u64 ns = now_ns();
	int err = c->single ? ioctl(c->m->bare, one, c->spans + i) :
			      ioctl(c->m->bare, all, &b);

	ns = now_ns() - ns;
	if (err)
		die("bare copy: %s", strerror(errno));
	return (double)ns;
}

static double bare_sample(struct copier *c)
{
	prepare_spans(c);
	return all_calls(c, bare_call);
}

static double memcpy_sample(struct copier *c)
{
	size_t at = (size_t)(next_slot(c) - c->m->ring);
	__u64 ns = now_ns();

	for (unsigned int i = 0; i < c->batch; i++)
		memcpy(c->m->to + at + i * c->bytes, c->m->ring + at + i * c->bytes,
		       c->bytes);
	return (double)(now_ns() - ns);
}

static double sample(struct copier *c, enum way way)
{
	switch (way) {
	case WAY_STORE:
		return store_sample(c);
	case WAY_BARE:
		return bare_sample(c);
	default:
		return memcpy_sample(c);
	}
}

static void add(struct row *row, const struct copier *c, double ns, double other,
		double empty)
{
	double bytes = (double)(c->single ? c->bytes : sample_bytes(c));

	series_add(&row->value, bytes / ns);
	series_add(&row->ratio, other / ns);
	series_add(&row->other, bytes / (ns - empty));
	series_add(&row->other_ratio, (other - empty) / (ns - empty));
}

static void measure(struct copier *c, struct row *bare, struct row *mem)
{
	size_t n = SAMPLES_BYTES / sample_bytes(c);
	double ns[NR_WAYS];

	if (n < SAMPLES_MIN)
		n = SAMPLES_MIN;
	if (n > SAMPLES_MAX)
		n = SAMPLES_MAX;
	for (size_t i = 0; i < n; i++) {
		double empty = empty_ns(c->m);

		for (int w = 0; w < NR_WAYS; w++) {
			enum way way = orders[i % NR_ORDERS][w];

			if (way != WAY_MEMCPY || mem)
				ns[way] = sample(c, way);
		}
		add(bare, c, ns[WAY_STORE], ns[WAY_BARE], empty);
		if (!mem)
			continue;
		series_add(&mem->value, (double)sample_bytes(c) / ns[WAY_STORE]);
		series_add(&mem->ratio, ns[WAY_MEMCPY] / ns[WAY_STORE]);
	}
}

/* The rows of one direction: batched, batched beside memcpy, one a call */
static void measure_way(struct copier *c, bool in, const char *id, const char *id_one,
			const char *id_memcpy)
{
	struct row row = { .id = id, .unit = "GB/s" };
	struct row one = { .id = id_one, .unit = "GB/s" };
	struct row mem = { .id = id_memcpy, .unit = "GB/s" };

	snprintf(row.against, sizeof(row.against),
		 "the bare copy of the same %zu B, %u a call", c->bytes, c->batch);
	snprintf(one.against, sizeof(one.against),
		 "the bare copy of the same %zu B, one a call", c->bytes);
	snprintf(mem.against, sizeof(mem.against),
		 "memcpy in user space of the same %zu B", c->bytes);
	c->in = in;
	c->single = false;
	measure(c, &row, id_memcpy ? &mem : NULL);
	row_put(c->m, &row);
	if (id_memcpy)
		row_put(c->m, &mem);
	c->single = true;
	measure(c, &one, NULL);
	row_put(c->m, &one);
}

static void fill(struct copier *c)
{
	copier_empty(c);
	c->in = true;
	c->single = false;
	while (c->stored + c->batch <= c->room)
		store_sample(c);
}

/* Row ids of a size that has no row beside memcpy are made of the size. */
static void copy(struct micro *m, const struct state_layout *l, size_t bytes)
{
	bool main_size = bytes == 114688;
	const char *kind = l ? "state." : "";
	char put[32], put1[32], get[32], get1[32];
	struct copier c;

	snprintf(put, sizeof(put), "%sput.%zu", kind, bytes);
	snprintf(put1, sizeof(put1), "%sput1.%zu", kind, bytes);
	snprintf(get, sizeof(get), "%sget.%zu", kind, bytes);
	snprintf(get1, sizeof(get1), "%sget1.%zu", kind, bytes);
	if (m->bare < 0) {
		row_skip(m, put, "no %s", KVSTASH_BARE_DEVICE);
		return;
	}
	store_warm_up(m);
	copier_init(&c, m, l, bytes, bytes > 1000000 ? 8 : 32);
	if (l)
		state_layout_add(m->c, l, c.room);
	measure_way(&c, true, put, put1, main_size ? "put.memcpy" : NULL);
	fill(&c);
	measure_way(&c, false, get, get1, main_size ? "get.memcpy" : NULL);
	copier_end(&c);
	if (l)
		state_layout_drop(m->c, l);
}

void micro_copy(struct micro *m, size_t bytes)
{
	copy(m, NULL, bytes);
}

void micro_copy_states(struct micro *m, size_t bytes)
{
	struct state_layout l;

	state_layout_init(&l, STATE_LAYERS, bytes / STATE_LAYERS, false);
	copy(m, &l, bytes);
}

/* Four blocks an object and one: the same bytes in the same calls */
#define FOUR		4
#define FOUR_SAMPLES	101

static void both(struct copier *c, double *put, double *get)
{
	c->in = true;
	*put = store_sample(c);
	c->in = false;
	c->next = c->stored - c->batch;
	*get = store_sample(c);
}

void micro_one_vs_four(struct micro *m, size_t arg)
{
	static const char * const ids[] = {
		"one_vs_four", "one_vs_four.put", "one_vs_four.get"
	};
	struct row row[3];
	struct copier one, four;

	(void)arg;
	store_warm_up(m);
	copier_init(&one, m, NULL, 114688, 32);
	copier_init(&four, m, NULL, FOUR * 114688, 32 / FOUR);
	one.room /= 2;
	four.room /= 2;
	four.first = one.first + (1ULL << 32);
	for (int i = 0; i < 3; i++) {
		row[i] = (struct row){ .id = ids[i], .unit = "GB/s" };
		snprintf(row[i].against, sizeof(row[i].against),
			 "four blocks an object: %s of the same bytes, 32 blocks a call",
			 i == 0 ? "put and get" : i == 1 ? "put" : "get");
	}
	for (int i = 0; i < FOUR_SAMPLES; i++) {
		double a[3], b[3];

		if (i % 2)
			both(&four, &b[1], &b[2]);
		both(&one, &a[1], &a[2]);
		if (i % 2 == 0)
			both(&four, &b[1], &b[2]);
		a[0] = a[1] + a[2];
		b[0] = b[1] + b[2];
		for (int k = 0; k < 3; k++) {
			double bytes = (double)sample_bytes(&one) * (k ? 1 : 2);

			series_add(&row[k].value, bytes / a[k]);
			series_add(&row[k].ratio, b[k] / a[k]);
		}
	}
	for (int i = 0; i < 3; i++)
		row_put(m, &row[i]);
	copier_end(&one);
	copier_end(&four);
}
