// SPDX-License-Identifier: GPL-2.0
/*
 * What a put, an exists and a get cost a caller that gives no group: nanoseconds
 * an object, net of the empty call, one line each. Where the clock counts
 * instructions (see cost.sh) that is instructions. Bare ioctls, so that it
 * builds against the headers of any version.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#include <kvstash.h>

#define OBJECTS		2048
#define ROUNDS		5
#define ENTRIES		32	/* of a PUT or GET */
#define KEYS		128	/* of an EXISTS */
#define KEY_BYTES	32
#define CALLS		(OBJECTS / ENTRIES * ROUNDS)

static int fd;
static char keys[OBJECTS][KEY_BYTES];
static struct kvstash_put put[ENTRIES];
static struct kvstash_get get[ENTRIES];
static struct kvstash_exists res[OBJECTS];
static char *buf;

/** struct samples - times of calls */
struct samples {
	double ns[CALLS];
	unsigned int n;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void must(const char *what, int err, const struct kvstash_result *r)
{
	if (!err && (!r || !r->res))
		return;
	fprintf(stderr, "%s: %s, reason %u\n", what, strerror(err ? errno : -r->res),
		r ? r->reason : 0);
	exit(1);
}

static void timed(struct samples *s, const char *what, unsigned long cmd, void *arg)
{
	double from = now();
	int err = ioctl(fd, cmd, arg);

	s->ns[s->n++] = now() - from;
	must(what, err, NULL);
}

static int order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(struct samples *s)
{
	qsort(s->ns, s->n, sizeof(*s->ns), order);
	return s->ns[s->n / 2];
}

static double empty_call(void)
{
	static struct samples s;

	for (s.n = 0; s.n < CALLS - 1;) {
		struct kvstash_query q = { .size = sizeof(q) };

		timed(&s, "query", KVSTASH_IOC_QUERY, &q);
	}
	return median(&s);
}

static void put_all(struct samples *s, size_t bytes)
{
	for (unsigned int at = 0; at < OBJECTS; at += ENTRIES) {
		struct kvstash_batch b = {
			.size = sizeof(b), .entries = kvstash_addr(put),
			.count = ENTRIES, .stride = sizeof(*put),
		};

		for (unsigned int i = 0; i < ENTRIES; i++)
			kvstash_prep_put(&put[i], keys[at + i], KEY_BYTES,
					 buf + i * bytes, bytes);
		timed(s, "put", KVSTASH_IOC_PUT, &b);
		for (unsigned int i = 0; i < ENTRIES; i++)
			must("put", 0, &put[i].r);
	}
}

static void get_all(struct samples *s, size_t bytes)
{
	for (unsigned int at = 0; at < OBJECTS; at += ENTRIES) {
		struct kvstash_batch b = {
			.size = sizeof(b), .entries = kvstash_addr(get),
			.count = ENTRIES, .stride = sizeof(*get),
		};

		for (unsigned int i = 0; i < ENTRIES; i++)
			kvstash_prep_get(&get[i], keys[at + i], KEY_BYTES,
					 buf + i * bytes, bytes);
		timed(s, "get", KVSTASH_IOC_GET, &b);
		for (unsigned int i = 0; i < ENTRIES; i++)
			must("get", 0, &get[i].r);
	}
}

static void exists_all(struct samples *s)
{
	for (unsigned int at = 0; at < OBJECTS; at += KEYS) {
		struct kvstash_keys k;

		kvstash_prep_keys(&k, keys[at], KEY_BYTES, KEYS);
		k.results = kvstash_addr(res);
		k.stride = sizeof(*res);
		timed(s, "exists", KVSTASH_IOC_EXISTS, &k);
		for (unsigned int i = 0; i < KEYS; i++)
			must("exists", 0, &res[i].r);
	}
}

static void lookup_all(struct samples *s)
{
	for (unsigned int at = 0; at < OBJECTS; at += KEYS) {
		struct kvstash_keys k;

		kvstash_prep_keys(&k, keys[at], KEY_BYTES, KEYS);
		timed(s, "lookup", KVSTASH_IOC_LOOKUP, &k);
		if (k.run != KEYS) {
			fprintf(stderr, "lookup: a run of %u\n", k.run);
			exit(1);
		}
	}
}

static void remove_all(struct samples *s)
{
	struct kvstash_keys k;

	kvstash_prep_keys(&k, keys, KEY_BYTES, OBJECTS);
	k.results = kvstash_addr(res);
	k.stride = sizeof(*res);
	timed(s, "remove", KVSTASH_IOC_REMOVE, &k);
	for (unsigned int i = 0; i < OBJECTS; i++)
		must("remove", 0, &res[i].r);
}

static void print(const char *what, size_t bytes, struct samples *s, double empty,
		  unsigned int per)
{
	printf("%s.%zu %.1f\n", what, bytes, (median(s) - empty) / per);
}

static void measure(size_t bytes)
{
	static struct samples puts, exists, lookups, gets, removes;
	double empty = empty_call();

	puts.n = 0;
	exists.n = 0;
	lookups.n = 0;
	gets.n = 0;
	removes.n = 0;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		put_all(&puts, bytes);
		exists_all(&exists);
		lookup_all(&lookups);
		get_all(&gets, bytes);
		remove_all(&removes);
	}
	print("put", bytes, &puts, empty, ENTRIES);
	print("exists", bytes, &exists, empty, KEYS);
	print("lookup", bytes, &lookups, empty, KEYS);
	print("get", bytes, &gets, empty, ENTRIES);
	print("remove", bytes, &removes, empty, OBJECTS);
}

int main(void)
{
	const size_t room = ENTRIES * 4096;

	fd = open(KVSTASH_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		perror(KVSTASH_DEVICE);
		return 1;
	}
	/* no fault may fall into a measurement */
	buf = mmap(NULL, room, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buf == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	for (unsigned int i = 0; i < OBJECTS; i++)
		snprintf(keys[i], KEY_BYTES, "cost/%026u", i * 2654435761U);
	memset(res, 0, sizeof(res));
	measure(4096);	/* all that is touched later is there then */
	measure(64);
	return 0;
}
