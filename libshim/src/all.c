// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * libkvstash: batches of any length
 */
#include <errno.h>

#include "lib.h"

unsigned int kvstash_chunk(size_t left)
{
	return left < KVSTASH_BATCH_MAX ? (unsigned int)left : KVSTASH_BATCH_MAX;
}

int kvstash_batch_all(struct kvstash *c, unsigned long cmd, void *entries,
		      size_t n, unsigned int stride, size_t *done)
{
	unsigned int some;
	char *p = entries;
	size_t i = 0;
	int ret = 0;

	kvstash_refused(c, KVSTASH_R_OK, 0);
	while (i < n) {
		ret = kvstash_batch_some(c, cmd, p + i * stride,
					 kvstash_chunk(n - i), stride, &some);
		/* of a call that fails, those before what it failed for */
		i += some;
		if (ret && ret != -EINTR)
			break;
	}
	if (done)
		*done = i;
	return ret;
}

int kvstash_put_all(struct kvstash *c, struct kvstash_put *e, size_t n,
		    size_t *done)
{
	return kvstash_batch_all(c, KVSTASH_IOC_PUT, e, n, sizeof(*e), done);
}

int kvstash_reserve_all(struct kvstash *c, struct kvstash_put *e, size_t n,
			size_t *done)
{
	return kvstash_batch_all(c, KVSTASH_IOC_RESERVE, e, n, sizeof(*e),
				 done);
}

int kvstash_write_all(struct kvstash *c, struct kvstash_write *e, size_t n,
		      size_t *done)
{
	return kvstash_batch_all(c, KVSTASH_IOC_WRITE, e, n, sizeof(*e), done);
}

int kvstash_commit_all(struct kvstash *c, struct kvstash_end *e, size_t n,
		       size_t *done)
{
	return kvstash_batch_all(c, KVSTASH_IOC_COMMIT, e, n, sizeof(*e), done);
}

int kvstash_abort_all(struct kvstash *c, struct kvstash_end *e, size_t n,
		      size_t *done)
{
	return kvstash_batch_all(c, KVSTASH_IOC_ABORT, e, n, sizeof(*e), done);
}

int kvstash_release_all(struct kvstash *c, struct kvstash_end *e, size_t n,
			size_t *done)
{
	return kvstash_batch_all(c, KVSTASH_IOC_RELEASE, e, n, sizeof(*e),
				 done);
}

int kvstash_get_all(struct kvstash *c, struct kvstash_get *e, size_t n,
		    size_t *done)
{
	return kvstash_batch_all(c, KVSTASH_IOC_GET, e, n, sizeof(*e), done);
}

void kvstash_keys_skip(struct kvstash_keys *k, unsigned int n)
{
	const __u16 *lens = (const __u16 *)(uintptr_t)k->lens;

	if (lens) {
		for (unsigned int i = 0; i < n; i++)
			k->keys += lens[i];
		k->lens += n * sizeof(*lens);
	} else {
		k->keys += (__u64)n * k->key_len;
	}
	if (k->tags)
		k->tags += (__u64)n * KVSTASH_TAG_MAX;
	if (k->leases)
		k->leases += (__u64)n * sizeof(struct kvstash_handle);
}

void kvstash_keys_end(struct kvstash_keys *k, const struct kvstash_keys *part,
		      size_t i, size_t *done)
{
	k->size = sizeof(*k);
	k->done = (__u32)i;
	k->reason = part->reason;
	k->field = part->field;
	if (done)
		*done = i;
}

int kvstash_keys_all(struct kvstash *c, unsigned long cmd,
		     struct kvstash_keys *k, void *res, unsigned int stride,
		     size_t *done)
{
	struct kvstash_keys part = *k;
	size_t n = k->count, i = 0;
	int ret = 0;

	part.reason = KVSTASH_R_OK;
	part.field = 0;
	kvstash_refused(c, KVSTASH_R_OK, 0);
	while (i < n) {
		part.count = kvstash_chunk(n - i);
		ret = kvstash_keys_call(c, cmd, &part,
					(char *)res + i * stride, stride);
		if (ret > 0) {
			i += (unsigned int)ret;
			if (i < n)
				kvstash_keys_skip(&part, (unsigned int)ret);
		} else if (ret < 0 && ret != -EINTR) {
			/* keys before the refused one, with their leases */
			i += part.done;
			break;
		}
	}
	kvstash_keys_end(k, &part, i, done);
	return ret < 0 ? ret : 0;
}

int kvstash_exists_all(struct kvstash *c, struct kvstash_keys *k,
		       struct kvstash_exists *res, size_t *done)
{
	return kvstash_keys_all(c, KVSTASH_IOC_EXISTS, k, res, sizeof(*res),
				done);
}

int kvstash_remove_all(struct kvstash *c, struct kvstash_keys *k,
		       struct kvstash_exists *res, size_t *done)
{
	return kvstash_keys_all(c, KVSTASH_IOC_REMOVE, k, res, sizeof(*res),
				done);
}

int kvstash_pin_all(struct kvstash *c, struct kvstash_keys *k,
		    struct kvstash_exists *res, size_t *done)
{
	return kvstash_keys_all(c, KVSTASH_IOC_PIN, k, res, sizeof(*res), done);
}
