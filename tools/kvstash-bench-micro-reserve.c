// SPDX-License-Identifier: GPL-2.0
/*
 * kvstash-bench micro: what a two-phase put costs beside its bytes
 *
 * COMMIT wants all bytes written. So a WRITE stands between RESERVE and COMMIT;
 * it is left out of reserve_commit, which is what a writer pays that fills the
 * part by itself, and it is in reserve_write_commit, from which the bare copy of
 * the same bytes is taken off instead.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "../selftests/kmod/kvstash_bare.h"
#include "kvstash-bench.h"
#include "kvstash-bench-micro.h"

#define BATCH		1024
#define CALL_BYTES	(96U << 20)	/* of parts reserved by one call: 32 of 3 MiB */
#define SAMPLES		101

struct reserver {
	struct micro *m;
	size_t bytes;
	unsigned int n;
	__u8 *buf;		/* the bytes of all parts: one part's */
	__u8 *keys;
	struct kvstash_put *e;
	struct kvstash_write *w;
	struct kvstash_end *end;
};

/* ns of the calls of one sample */
struct times {
	double reserve;
	double write;
	double end;
};

static void reserver_init(struct reserver *r, struct micro *m, size_t bytes)
{
	*r = (struct reserver){ .m = m, .bytes = bytes };
	r->n = CALL_BYTES / bytes < BATCH ? CALL_BYTES / bytes : BATCH;
	r->buf = map_pages(bytes);
	r->keys = xalloc(r->n, KEY_BYTES);
	r->e = xalloc(r->n, sizeof(*r->e));
	r->w = xalloc(r->n, sizeof(*r->w));
	r->end = xalloc(r->n, sizeof(*r->end));
}

static void reserver_end(struct reserver *r)
{
	unmap_pages(r->buf, r->bytes);
	free(r->keys);
	free(r->e);
	free(r->w);
	free(r->end);
}

static double reserve(struct reserver *r)
{
	__u64 ns;

	for (unsigned int i = 0; i < r->n; i++) {
		__u8 *key = r->keys + i * KEY_BYTES;

		store_key(key, r->m->serial + i);
		kvstash_prep_reserve(&r->e[i], key, KEY_BYTES, r->bytes);
	}
	ns = now_ns();
	store_must("reserve", kvstash_reserve(r->m->c, r->e, r->n));
	ns = now_ns() - ns;
	for (unsigned int i = 0; i < r->n; i++) {
		store_must_entry("reserve", &r->e[i].r);
		kvstash_prep_end(&r->end[i], &r->e[i].handle);
		kvstash_prep_write(&r->w[i], &r->e[i].handle, 0, r->buf, r->bytes);
	}
	return (double)ns;
}

static double write_all(struct reserver *r)
{
	__u64 ns = now_ns();

	store_must("write", kvstash_write(r->m->c, r->w, r->n));
	ns = now_ns() - ns;
	for (unsigned int i = 0; i < r->n; i++)
		store_must_entry("write", &r->w[i].r);
	return (double)ns;
}

static double end_all(struct reserver *r, bool commit)
{
	__u64 ns = now_ns();
	int err = commit ? kvstash_commit(r->m->c, r->end, r->n) :
			   kvstash_abort(r->m->c, r->end, r->n);

	ns = now_ns() - ns;
	store_must(commit ? "commit" : "abort", err);
	for (unsigned int i = 0; i < r->n; i++)
		store_must_entry(commit ? "commit" : "abort", &r->end[i].r);
	return (double)ns;
}

static struct times round_of(struct reserver *r, bool commit)
{
	struct times t = { .reserve = reserve(r) };

	if (commit) {
		t.write = write_all(r);
		/* The copy has emptied the caches of the path that both calls take. */
		empty_ns(r->m);
	}
	t.end = end_all(r, commit);
	if (commit)
		store_remove(r->m->c, NULL, r->m->serial, r->n);
	r->m->serial += r->n;
	return t;
}

static double bare_copy(const struct reserver *r)
{
	struct kvstash_bare_span *spans = xalloc(r->n, sizeof(*spans));
	struct kvstash_bare_batch b = { .spans = kvstash_addr(spans), .count = r->n };
	__u64 ns;

	for (unsigned int i = 0; i < r->n; i++) {
		spans[i].addr = kvstash_addr(r->buf);
		spans[i].len = r->bytes;
		spans[i].offset = (__u64)i * r->bytes;
	}
	ns = now_ns();
	if (ioctl(r->m->bare, KVSTASH_BARE_COPY_IN, &b))
		die("bare copy: %s", strerror(errno));
	ns = now_ns() - ns;
	free(spans);
	return (double)ns;
}

static void add(struct row *row, const struct reserver *r, double gross, double net)
{
	series_add(&row->value, net / r->n / 1e3);
	series_add(&row->other, gross / r->n / 1e3);
}

static void measure_commit(struct reserver *r, struct row *row, struct row *copied)
{
	for (int i = 0; i < SAMPLES; i++) {
		double empty = empty_ns(r->m), bare;
		struct times t = round_of(r, true);
		double both = t.reserve + t.end;

		add(row, r, both, both - 2 * empty);
		if (!copied || r->m->bare < 0)
			continue;
		bare = bare_copy(r);
		add(copied, r, both + t.write, both + t.write - bare - 2 * empty);
	}
}

static void measure_abort(struct reserver *r, struct row *row)
{
	for (int i = 0; i < SAMPLES; i++) {
		double empty = empty_ns(r->m);
		struct times t = round_of(r, false);

		add(row, r, t.reserve + t.end, t.reserve + t.end - 2 * empty);
	}
}

void micro_reserve(struct micro *m, size_t bytes)
{
	struct row row = { .unit = "us", .is_net = true }, copied = row, abrt = row;
	bool small = bytes == 4096, large = bytes == 3145728;
	struct reserver r;
	char id[40];

	store_warm_up(m);
	reserver_init(&r, m, bytes);
	snprintf(id, sizeof(id), small ? "reserve_commit" : "reserve_commit.%zu", bytes);
	row.id = id;
	copied.id = "reserve_write_commit";
	abrt.id = "reserve_abort.3145728";
	snprintf(row.against, sizeof(row.against),
		 "RESERVE and COMMIT calls of %u parts of %zu B, an object each, less 2 empty calls; a WRITE and an empty call between them are not in it",
		 r.n, bytes);
	snprintf(copied.against, sizeof(copied.against),
		 "RESERVE, WRITE, COMMIT of %u parts of %zu B, less the bare copy of the same and 2 empty calls",
		 r.n, bytes);
	snprintf(abrt.against, sizeof(abrt.against),
		 "RESERVE and ABORT calls of %u parts of %zu B, less 2 empty calls",
		 r.n, bytes);
	measure_commit(&r, &row, small ? &copied : NULL);
	row_put(m, &row);
	if (small && m->bare >= 0)
		row_put(m, &copied);
	else if (small)
		row_skip(m, copied.id, "no %s", KVSTASH_BARE_DEVICE);
	if (large) {
		measure_abort(&r, &abrt);
		row_put(m, &abrt);
	}
	reserver_end(&r);
}
