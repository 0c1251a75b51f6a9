// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * libkvstash: functions for programs that were compiled with smaller structures
 *
 * Only the shared library has their names. The kernel takes entries and results
 * of any size from the first version on, so batches go on with the caller's.
 */
#include "lib.h"

/* Sizes of version 0.1; what was added since stands behind. */
#define PUT_0_1		104
#define GET_0_1		72
#define EXISTS_0_1	64
#define KEYS_0_1	80

#ifdef KVSTASH_SHARED
#define VERSION_0_1(name) \
	__asm__(".symver kvstash_" #name "_0_1, kvstash_" #name "@KVSTASH_0.1")

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
static struct kvstash_keys keys_in(const void *k)
{
	struct kvstash_keys now;

	memset(&now, 0, sizeof(now));
	memcpy(&now, k, KEYS_0_1);
	return now;
}

static int keys_out(void *k, struct kvstash_keys *now, int ret)
{
	now->size = KEYS_0_1;
	memcpy(k, now, KEYS_0_1);
	return ret;
}

static int keys_call(struct kvstash *c, unsigned long cmd, void *k, void *res)
{
	struct kvstash_keys now = keys_in(k);

	return keys_out(k, &now, kvstash_keys_call(c, cmd, &now, res,
						   res ? EXISTS_0_1 : 0));
}

static int keys_all(struct kvstash *c, unsigned long cmd, void *k, void *res,
		    size_t *done)
{
	struct kvstash_keys now = keys_in(k);

	return keys_out(k, &now, kvstash_keys_all(c, cmd, &now, res, EXISTS_0_1,
						  done));
}

int kvstash_exists_0_1(struct kvstash *c, void *k, void *res)
{
	return keys_call(c, KVSTASH_IOC_EXISTS, k, res);
}

int kvstash_remove_0_1(struct kvstash *c, void *k, void *res)
{
	return keys_call(c, KVSTASH_IOC_REMOVE, k, res);
}

int kvstash_lookup_0_1(struct kvstash *c, void *k)
{
	return keys_call(c, KVSTASH_IOC_LOOKUP, k, NULL);
}

int kvstash_exists_all_0_1(struct kvstash *c, void *k, void *res, size_t *done)
{
	return keys_all(c, KVSTASH_IOC_EXISTS, k, res, done);
}

int kvstash_remove_all_0_1(struct kvstash *c, void *k, void *res, size_t *done)
{
	return keys_all(c, KVSTASH_IOC_REMOVE, k, res, done);
}

int kvstash_lookup_all_0_1(struct kvstash *c, void *k, size_t *done)
{
	struct kvstash_keys now = keys_in(k);

	return keys_out(k, &now, kvstash_lookup_all(c, &now, done));
}
