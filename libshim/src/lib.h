/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * libkvstash: what its own files share
 */
#ifndef KVSTASH_LIB_H
#define KVSTASH_LIB_H

#include <kvstash.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct kvstash {
	int fd;
};

/* One ioctl; 0 or a negative errno. Forgets this thread's last refusal. */
int kvstash_call(struct kvstash *c, unsigned long cmd, void *arg);

/* Keep why a call of this thread failed. */
void kvstash_refused(const struct kvstash *c, __u32 reason, __u32 field);

/*
 * One call of a batch whose entries have @stride bytes: 0 or a negative errno. In
 * either case @done gets the entries that were carried out.
 */
int kvstash_batch_some(struct kvstash *c, unsigned long cmd, void *entries,
		       unsigned int n, unsigned int stride, unsigned int *done);

/* One call of a batch whose entries have @stride bytes, as kvstash_put(). */
int kvstash_batch_call(struct kvstash *c, unsigned long cmd, void *entries,
		       unsigned int n, unsigned int stride);

/* The same for any @n, as kvstash_put_all() */
int kvstash_batch_all(struct kvstash *c, unsigned long cmd, void *entries,
		      size_t n, unsigned int stride, size_t *done);

/*
 * One call about keys, whose results have @stride bytes: the keys carried out,
 * or the run of LOOKUP, which has no results.
 */
int kvstash_keys_call(struct kvstash *c, unsigned long cmd,
		      struct kvstash_keys *k, void *res, unsigned int stride);

/* The same for any count, as kvstash_exists_all(); not for LOOKUP */
int kvstash_keys_all(struct kvstash *c, unsigned long cmd,
		     struct kvstash_keys *k, void *res, unsigned int stride,
		     size_t *done);

/* How many of @left entries go into one call */
unsigned int kvstash_chunk(size_t left);

/* Move the start of @k on by @n keys; @count and @results are the caller's. */
void kvstash_keys_skip(struct kvstash_keys *k, unsigned int n);

/* The caller's keys come back: @i of them are done, @part was the last call. */
void kvstash_keys_end(struct kvstash_keys *k, const struct kvstash_keys *part,
		      size_t i, size_t *done);

static inline struct kvstash_handle *kvstash_leases(const struct kvstash_keys *k)
{
	return (struct kvstash_handle *)(uintptr_t)k->leases;
}

static inline struct kvstash_candidate *
kvstash_candidates(const struct kvstash_keys *k)
{
	return (struct kvstash_candidate *)(uintptr_t)k->candidates;
}

/* compat.c: what programs call that were linked to another version */
int kvstash_put_0_1(struct kvstash *c, void *e, unsigned int n);
int kvstash_reserve_0_1(struct kvstash *c, void *e, unsigned int n);
int kvstash_get_0_1(struct kvstash *c, void *e, unsigned int n);
int kvstash_put_all_0_1(struct kvstash *c, void *e, size_t n, size_t *done);
int kvstash_reserve_all_0_1(struct kvstash *c, void *e, size_t n, size_t *done);
int kvstash_get_all_0_1(struct kvstash *c, void *e, size_t n, size_t *done);

#define KVSTASH_COMPAT_KEYS(name, v)					\
	int kvstash_##name##_##v(struct kvstash *c, void *k, void *res);\
	int kvstash_##name##_all_##v(struct kvstash *c, void *k, void *res, \
				     size_t *done)
#define KVSTASH_COMPAT_LOOKUP(v)					\
	int kvstash_lookup_##v(struct kvstash *c, void *k);		\
	int kvstash_lookup_all_##v(struct kvstash *c, void *k, size_t *done)

KVSTASH_COMPAT_KEYS(exists, 0_1);
KVSTASH_COMPAT_KEYS(remove, 0_1);
KVSTASH_COMPAT_LOOKUP(0_1);
KVSTASH_COMPAT_KEYS(exists, 0_2);
KVSTASH_COMPAT_KEYS(remove, 0_2);
KVSTASH_COMPAT_KEYS(pin, 0_2);
KVSTASH_COMPAT_LOOKUP(0_2);

#endif /* KVSTASH_LIB_H */
