// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * libkvstash: one call of the device for one batch
 *
 * The size of each structure is part of a function's symbol version: a caller
 * that was compiled with larger entries must be linked to a later version of
 * the function, which passes that stride. Hence the assertions. Those who were
 * compiled with smaller ones find theirs in compat.c.
 */
#include <assert.h>

#include "lib.h"

static_assert(sizeof(struct kvstash_put) == 120, "KVSTASH_0.2");
static_assert(sizeof(struct kvstash_write) == 64, "KVSTASH_0.1");
static_assert(sizeof(struct kvstash_end) == 40, "KVSTASH_0.1");
static_assert(sizeof(struct kvstash_get) == 88, "KVSTASH_0.2");
static_assert(sizeof(struct kvstash_exists) == 72, "KVSTASH_0.2");
static_assert(sizeof(struct kvstash_keys) == 104, "KVSTASH_0.3");
static_assert(sizeof(struct kvstash_query) == 96, "KVSTASH_0.1");
static_assert(sizeof(struct kvstash_candidate) == 56, "KVSTASH_0.3");

int kvstash_batch_some(struct kvstash *c, unsigned long cmd, void *entries,
		       unsigned int n, unsigned int stride, unsigned int *done)
{
	struct kvstash_batch b = {
		.size = sizeof(b),
		.entries = kvstash_addr(entries),
		.count = n,
		.stride = stride,
	};
	int ret = kvstash_call(c, cmd, &b);

	if (ret)
		kvstash_refused(c, b.reason, b.field);
	*done = b.done;
	return ret;
}

int kvstash_batch_call(struct kvstash *c, unsigned long cmd, void *entries,
		       unsigned int n, unsigned int stride)
{
	unsigned int done;
	int ret = kvstash_batch_some(c, cmd, entries, n, stride, &done);

	return ret ? ret : (int)done;
}

int kvstash_put(struct kvstash *c, struct kvstash_put *e, unsigned int n)
{
	return kvstash_batch_call(c, KVSTASH_IOC_PUT, e, n, sizeof(*e));
}

int kvstash_reserve(struct kvstash *c, struct kvstash_put *e, unsigned int n)
{
	return kvstash_batch_call(c, KVSTASH_IOC_RESERVE, e, n, sizeof(*e));
}

int kvstash_write(struct kvstash *c, struct kvstash_write *e, unsigned int n)
{
	return kvstash_batch_call(c, KVSTASH_IOC_WRITE, e, n, sizeof(*e));
}

int kvstash_commit(struct kvstash *c, struct kvstash_end *e, unsigned int n)
{
	return kvstash_batch_call(c, KVSTASH_IOC_COMMIT, e, n, sizeof(*e));
}

int kvstash_abort(struct kvstash *c, struct kvstash_end *e, unsigned int n)
{
	return kvstash_batch_call(c, KVSTASH_IOC_ABORT, e, n, sizeof(*e));
}

int kvstash_release(struct kvstash *c, struct kvstash_end *e, unsigned int n)
{
	return kvstash_batch_call(c, KVSTASH_IOC_RELEASE, e, n, sizeof(*e));
}

int kvstash_get(struct kvstash *c, struct kvstash_get *e, unsigned int n)
{
	return kvstash_batch_call(c, KVSTASH_IOC_GET, e, n, sizeof(*e));
}

/* What a command has no use for would be refused, were it left of another. */
static void keys_clear(unsigned long cmd, struct kvstash_keys *k)
{
	if (cmd != KVSTASH_IOC_EXISTS)
		k->tags = 0;
	if (cmd != KVSTASH_IOC_PIN)
		k->pin = 0;
	if (cmd != KVSTASH_IOC_LOOKUP)
		k->nr_candidates = 0;
	if (!k->nr_candidates)
		k->candidates = 0;
	k->candidate_stride = k->nr_candidates ? sizeof(struct kvstash_candidate) : 0;
	k->size = sizeof(*k);
	k->done = 0;
	k->reason = KVSTASH_R_OK;
	k->field = 0;
	k->run = 0;
	k->bytes = 0;
}

int kvstash_keys_call(struct kvstash *c, unsigned long cmd,
		      struct kvstash_keys *k, void *res, unsigned int stride)
{
	int ret;

	keys_clear(cmd, k);
	k->results = kvstash_addr(res);
	k->stride = stride;
	ret = kvstash_call(c, cmd, k);
	if (ret) {
		kvstash_refused(c, k->reason, k->field);
		return ret;
	}
	return (int)(cmd == KVSTASH_IOC_LOOKUP ? k->run : k->done);
}

int kvstash_exists(struct kvstash *c, struct kvstash_keys *k,
		   struct kvstash_exists *res)
{
	return kvstash_keys_call(c, KVSTASH_IOC_EXISTS, k, res, sizeof(*res));
}

int kvstash_remove(struct kvstash *c, struct kvstash_keys *k,
		   struct kvstash_exists *res)
{
	return kvstash_keys_call(c, KVSTASH_IOC_REMOVE, k, res, sizeof(*res));
}

int kvstash_pin(struct kvstash *c, struct kvstash_keys *k,
		struct kvstash_exists *res)
{
	return kvstash_keys_call(c, KVSTASH_IOC_PIN, k, res, sizeof(*res));
}

int kvstash_lookup(struct kvstash *c, struct kvstash_keys *k)
{
	return kvstash_keys_call(c, KVSTASH_IOC_LOOKUP, k, NULL, 0);
}
