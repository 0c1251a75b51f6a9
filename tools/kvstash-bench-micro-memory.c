// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench micro: kernel memory beside the bytes, and bytes of a pool in use */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvstash-bench.h"
#include "kvstash-bench-micro.h"

/* Bytes; ends the program if there is no such line */
__u64 memory_figure(const char *name)
{
	char line[128];
	FILE *f = fopen("/proc/meminfo", "re");
	size_t len = strlen(name);
	__u64 kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len) && line[len] == ':')
			kib = strtoull(line + len + 1, NULL, 10);
	if (f)
		fclose(f);
	if (!kib)
		die("/proc/meminfo: no %s", name);
	return kib << 10;
}

/* @slab, @available: as they were before the objects */
void million_memory(struct micro *m, __u64 slab, __u64 available)
{
	double index = (double)store_pool_stat(m, "index_bytes");
	double objects = (double)m->objects;
	struct row row = { .id = "bytes_per_object", .unit = "bytes" };
	struct row cross = { .id = "bytes_per_object.available", .unit = "bytes" };

	snprintf(row.against, sizeof(row.against),
		 "growth of all slabs by the million objects, and the index; key of %d B included; meta_bytes says %.1f with the index",
		 KEY_BYTES, ((double)store_pool_stat(m, "meta_bytes") + index) / objects);
	snprintf(cross.against, sizeof(cross.against),
		 "the same by the fall of MemAvailable, and the index");
	series_add(&row.value, ((double)(memory_figure("Slab") - slab) + index) / objects);
	series_add(&cross.value,
		   ((double)(available - memory_figure("MemAvailable")) + index) / objects);
	row_put(m, &row);
	row_put(m, &cross);
}

/*
 * slot_waste: what slots take beside the bytes of their states. The layout is there
 * before, so that it is the slots alone.
 */
#define SLOTS_MAX	256

/* Bytes of the pool that are free and not carved */
static __u64 uncarved(const struct micro *m)
{
	return store_pool_stat(m, "free_bytes") - store_pool_stat(m, "slot_free_bytes");
}

void micro_slot_waste(struct micro *m, size_t bytes)
{
	struct row row = { .id = "slot_waste", .unit = "%" };
	__u64 free = uncarved(m), meta;
	__u64 n = free / 3 / bytes < SLOTS_MAX ? free / 3 / bytes : SLOTS_MAX;
	struct state_layout l;
	double each;

	if (!n) {
		row_skip(m, row.id, "the pool has too little free");
		return;
	}
	state_layout_init(&l, STATE_LAYERS, bytes / STATE_LAYERS, false);
	state_layout_add(m->c, &l, 0);
	meta = store_pool_stat(m, "meta_bytes");
	state_layout_set(m->c, &l, n);
	free -= uncarved(m);
	meta = store_pool_stat(m, "meta_bytes") - meta;
	state_layout_drop(m->c, &l);
	each = (double)(free + meta) / (double)n - (double)bytes;
	snprintf(row.against, sizeof(row.against),
		 "the %zu B of a state; of %llu slots each takes %.1f B of the pool and %.1f B beside it",
		 bytes, n, (double)free / (double)n, (double)meta / (double)n);
	series_add(&row.value, 100 * each / (double)bytes);
	series_add(&row.ratio, each / (double)bytes);
	row_put(m, &row);
}

/*
 * pool_usable: parts of mixed sizes are reserved and given up at random, all in
 * flight, so that nothing can be evicted; then the pool is filled until the first
 * "no space".
 */
#define OPS		1000000
#define SIZE_MIN	4096
#define SIZE_MAX_PART	(3U << 20)
#define CHURN_FULL	0.9
#define BATCH		64
#define ENDINGS		9

struct part {
	struct kvstash_handle handle;
	__u64 bytes;
};

struct heap_of_parts {
	struct micro *m;
	struct part *part;
	size_t n;
	size_t room;
	__u64 bytes;
	__u64 ops;
	__u64 random;
};

/* As many parts between 4 and 8 KiB as between 1.5 and 3 MiB; no multiples of a page */
static __u64 random_size(struct heap_of_parts *h)
{
	double x = (double)(mix64(h->random++) >> 11) / (double)(1ULL << 53);

	return (__u64)(SIZE_MIN * pow((double)SIZE_MAX_PART / SIZE_MIN, x));
}

static void keep(struct heap_of_parts *h, const struct kvstash_put *e)
{
	if (h->n == h->room) {
		h->room = h->room ? 2 * h->room : 4096;
		h->part = xgrow(h->part, h->room, sizeof(*h->part));
	}
	h->part[h->n++] = (struct part){ e->handle, e->part_len };
	h->bytes += e->part_len;
}

/* Whether all had room */
static bool reserve(struct heap_of_parts *h, unsigned int n)
{
	struct kvstash_put e[BATCH];
	__u8 keys[BATCH][KEY_BYTES];
	bool room = true;

	for (unsigned int i = 0; i < n; i++) {
		store_key(keys[i], h->m->serial++);
		kvstash_prep_reserve(&e[i], keys[i], KEY_BYTES, random_size(h));
	}
	store_must("reserve", kvstash_reserve(h->m->c, e, n));
	for (unsigned int i = 0; i < n; i++) {
		if (e[i].r.reason == KVSTASH_R_NO_SPACE) {
			room = false;
			continue;
		}
		store_must_entry("reserve", &e[i].r);
		keep(h, &e[i]);
	}
	h->ops += n;
	return room;
}

/* Give random parts up, @max at most, until no more than @target bytes are left. */
static void give_up(struct heap_of_parts *h, double target, unsigned int max)
{
	struct kvstash_end e[BATCH];
	unsigned int n = 0;

	for (; n < max && h->n && (double)h->bytes > target; n++) {
		size_t i = mix64(h->random++) % h->n;

		kvstash_prep_end(&e[n], &h->part[i].handle);
		h->bytes -= h->part[i].bytes;
		h->part[i] = h->part[--h->n];
	}
	if (!n)
		return;
	store_must("abort", kvstash_abort(h->m->c, e, n));
	for (unsigned int i = 0; i < n; i++)
		store_must_entry("abort", &e[i].r);
	h->ops += n;
}

static void churn(struct heap_of_parts *h, __u64 ops)
{
	double full = CHURN_FULL * (double)h->m->pool_bytes;
	__u64 end = h->ops + ops;

	while (h->ops < end) {
		reserve(h, BATCH / 2);
		while ((double)h->bytes > full)
			give_up(h, full, BATCH);
	}
}

void micro_pool_usable(struct micro *m, size_t arg)
{
	struct row row = { .id = "pool_usable", .unit = "%" };
	struct heap_of_parts h = { .m = m };

	(void)arg;
	churn(&h, OPS);
	snprintf(row.against, sizeof(row.against),
		 "the pool's %llu bytes; parts of 4 KiB to 3 MiB after %llu operations and 10000 more each time",
		 m->pool_bytes, h.ops);
	for (int i = 0; i < ENDINGS; i++) {
		if (i)
			churn(&h, 10000);
		while (reserve(&h, 1))
			;
		series_add(&row.value, 100 * (double)h.bytes / (double)m->pool_bytes);
		series_add(&row.ratio, (double)h.bytes / (double)m->pool_bytes);
	}
	while (h.n)
		give_up(&h, 0, BATCH);
	free(h.part);
	row_put(m, &row);
}
