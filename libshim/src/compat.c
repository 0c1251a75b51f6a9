// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * libkvstash: functions for programs that were compiled with smaller structures
 *
 * Only the shared library has their names. The kernel takes entries and results
 * of any size from the first version on, so batches go on with the caller's. What
 * has grown in keys is zero for those who did not know it.
 */
#include "lib.h"

/* Sizes of version 0.1; what was added since stands behind. */
#define PUT_0_1		104
#define GET_0_1		72

/* Of the versions that had other keys than now, or other results */
struct sizes {
	unsigned int keys;
	unsigned int exists;
};

static const struct sizes sizes_0_1 = { .keys = 80, .exists = 64 };
static const struct sizes sizes_0_2 = { .keys = 88, .exists = 72 };

#ifdef KVSTASH_SHARED
#define VERSION(name, v, node) \
	__asm__(".symver kvstash_" #name "_" #v ", kvstash_" #name "@" node)
#define VERSION_0_1(name) VERSION(name, 0_1, "KVSTASH_0.1")
#define VERSION_0_2(name) VERSION(name, 0_2, "KVSTASH_0.2")

VERSION_0_1(put);
VERSION_0_1(reserve);
VERSION_0_1(get);
VERSION_0_1(put_all);
VERSION_0_1(reserve_all);
VERSION_0_1(get_all);
VERSION_0_1(exists);
VERSION_0_1(remove);
VERSION_0_1(lookup);
VERSION_0_1(exists_all);
VERSION_0_1(remove_all);
VERSION_0_1(lookup_all);
VERSION_0_2(exists);
VERSION_0_2(remove);
VERSION_0_2(pin);
VERSION_0_2(lookup);
VERSION_0_2(exists_all);
VERSION_0_2(remove_all);
VERSION_0_2(pin_all);
VERSION_0_2(lookup_all);
#endif

int kvstash_put_0_1(struct kvstash *c, void *e, unsigned int n)
{
	return kvstash_batch_call(c, KVSTASH_IOC_PUT, e, n, PUT_0_1);
}

int kvstash_reserve_0_1(struct kvstash *c, void *e, unsigned int n)
{
	return kvstash_batch_call(c, KVSTASH_IOC_RESERVE, e, n, PUT_0_1);
}

int kvstash_get_0_1(struct kvstash *c, void *e, unsigned int n)
{
	return kvstash_batch_call(c, KVSTASH_IOC_GET, e, n, GET_0_1);
}

int kvstash_put_all_0_1(struct kvstash *c, void *e, size_t n, size_t *done)
{
	return kvstash_batch_all(c, KVSTASH_IOC_PUT, e, n, PUT_0_1, done);
}

int kvstash_reserve_all_0_1(struct kvstash *c, void *e, size_t n, size_t *done)
{
	return kvstash_batch_all(c, KVSTASH_IOC_RESERVE, e, n, PUT_0_1, done);
}

int kvstash_get_all_0_1(struct kvstash *c, void *e, size_t n, size_t *done)
{
	return kvstash_batch_all(c, KVSTASH_IOC_GET, e, n, GET_0_1, done);
}

/* The caller's keys, and what came of them, in a structure of now. */
static struct kvstash_keys keys_in(const void *k, const struct sizes *old)
{
	struct kvstash_keys now;

	memset(&now, 0, sizeof(now));
	memcpy(&now, k, old->keys);
	return now;
}

static int keys_out(void *k, struct kvstash_keys *now, const struct sizes *old,
		    int ret)
{
	now->size = old->keys;
	memcpy(k, now, old->keys);
	return ret;
}

static int keys_call(struct kvstash *c, unsigned long cmd, void *k, void *res,
		     const struct sizes *old)
{
	struct kvstash_keys now = keys_in(k, old);

	return keys_out(k, &now, old,
			kvstash_keys_call(c, cmd, &now, res,
					  res ? old->exists : 0));
}

static int keys_all(struct kvstash *c, unsigned long cmd, void *k, void *res,
		    size_t *done, const struct sizes *old)
{
	struct kvstash_keys now = keys_in(k, old);

	return keys_out(k, &now, old,
			kvstash_keys_all(c, cmd, &now, res, old->exists, done));
}

static int lookup_all(struct kvstash *c, void *k, size_t *done,
		      const struct sizes *old)
{
	struct kvstash_keys now = keys_in(k, old);

	return keys_out(k, &now, old, kvstash_lookup_all(c, &now, done));
}

/* A function on keys as it was at version @v, and that for any count */
#define KEYS(name, cmd, v)						\
int kvstash_##name##_##v(struct kvstash *c, void *k, void *res)		\
{									\
	return keys_call(c, cmd, k, res, &sizes_##v);			\
}

#define KEYS_ALL(name, cmd, v)						\
int kvstash_##name##_all_##v(struct kvstash *c, void *k, void *res,	\
			     size_t *done)				\
{									\
	return keys_all(c, cmd, k, res, done, &sizes_##v);		\
}

#define LOOKUP(v)							\
int kvstash_lookup_##v(struct kvstash *c, void *k)			\
{									\
	return keys_call(c, KVSTASH_IOC_LOOKUP, k, NULL, &sizes_##v);	\
}									\
									\
int kvstash_lookup_all_##v(struct kvstash *c, void *k, size_t *done)	\
{									\
	return lookup_all(c, k, done, &sizes_##v);			\
}

KEYS(exists, KVSTASH_IOC_EXISTS, 0_1)
KEYS_ALL(exists, KVSTASH_IOC_EXISTS, 0_1)
KEYS(remove, KVSTASH_IOC_REMOVE, 0_1)
KEYS_ALL(remove, KVSTASH_IOC_REMOVE, 0_1)
LOOKUP(0_1)

KEYS(exists, KVSTASH_IOC_EXISTS, 0_2)
KEYS_ALL(exists, KVSTASH_IOC_EXISTS, 0_2)
KEYS(remove, KVSTASH_IOC_REMOVE, 0_2)
KEYS_ALL(remove, KVSTASH_IOC_REMOVE, 0_2)
KEYS(pin, KVSTASH_IOC_PIN, 0_2)
KEYS_ALL(pin, KVSTASH_IOC_PIN, 0_2)
LOOKUP(0_2)
