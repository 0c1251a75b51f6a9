// SPDX-License-Identifier: GPL-2.0
/*
 * GET: whole objects, or ranges of their parts.
 *
 * Locking: none. The object is found under RCU and kept by a reference while its
 * bytes are copied; all ranges are checked before the first byte moves.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "batch.h"
#include "client.h"
#include "copy.h"
#include "object.h"
#include "result.h"

/**
 * struct get_ranges - the ranges of an entry, and their targets as a vector
 * @range: @vec->nr ranges
 * @fast:  where it begins
 */
struct get_ranges {
	struct kvstash_range *range;
	struct kvstash_range fast[KVS_VEC_FAST];
};

static int get_check(const struct kvstash_get *e, struct kvstash_result *r)
{
	u32 unknown = e->flags & ~KVSTASH_GET_RANGES;

	if (unknown)
		return kvs_result(r, -EINVAL, KVSTASH_R_FLAGS, unknown);
	if (e->reserved || e->reserved2)
		return kvs_result(r, -EINVAL, KVSTASH_R_RESERVED, 0);
	if (e->kind != KVSTASH_KIND_PAGE)
		return kvs_result(r, -EINVAL, KVSTASH_R_KIND, 0);
	if (e->nr > KVSTASH_SEGS_MAX || (!e->nr && (e->flags & KVSTASH_GET_RANGES)))
		return kvs_result(r, -EINVAL, KVSTASH_R_SEGS, KVSTASH_SEGS_MAX);
	if (e->nr && e->len)
		return kvs_result(r, -EINVAL, KVSTASH_R_LENGTH, 0);
	return 0;
}

static int ranges_import(struct get_ranges *ranges, struct kvs_vec *vec,
			 const struct kvstash_get *e, struct kvstash_result *r)
{
	struct kvstash_range *range;
	u32 i;

	if (e->buf % 8)
		return kvs_result(r, -EINVAL, KVSTASH_R_ALIGN, 8);
	if (e->nr > KVS_VEC_FAST) {
		range = kmalloc_array(e->nr, sizeof(*range), GFP_KERNEL | __GFP_NOWARN);
		vec->iov = kmalloc_array(e->nr, sizeof(*vec->iov), GFP_KERNEL | __GFP_NOWARN);
		if (range)
			ranges->range = range;
		if (!vec->iov)
			vec->iov = vec->fast;
		if (ranges->range == ranges->fast || vec->iov == vec->fast)
			return kvs_result(r, -ENOMEM, KVSTASH_R_NO_MEMORY, 0);
	}
	if (copy_from_user(ranges->range, u64_to_user_ptr(e->buf), e->nr * sizeof(*range)))
		return kvs_result(r, -EFAULT, KVSTASH_R_SEGS_FAULT, 0);
	for (i = 0; i < e->nr; i++) {
		range = &ranges->range[i];
		if (range->reserved)
			return kvs_result(r, -EINVAL, KVSTASH_R_RESERVED, i);
		if (!range->len || range->len > KVSTASH_PART_BYTES_MAX)
			return kvs_result(r, -EINVAL, KVSTASH_R_LENGTH, KVSTASH_PART_BYTES_MAX);
		if (range->addr + range->len < range->addr ||
		    !access_ok(u64_to_user_ptr(range->addr), range->len))
			return kvs_result(r, -EINVAL, KVSTASH_R_BUFFER, i);
		vec->iov[i].iov_base = u64_to_user_ptr(range->addr);
		vec->iov[i].iov_len = range->len;
	}
	vec->nr = e->nr;
	return 0;
}

/* All ranges lie in their parts; part lengths never change once visible. */
static int ranges_check(struct kvs_object *obj, const struct get_ranges *ranges, u32 nr,
			struct kvstash_result *r)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		const struct kvstash_range *range = &ranges->range[i];
		u64 len;

		if (range->part >= obj->nr_parts)
			return kvs_result(r, -EINVAL, KVSTASH_R_PART_INDEX, obj->nr_parts);
		len = kvs_object_part(obj, range->part)->len;
		if (range->offset >= len || range->len > len - range->offset)
			return kvs_result(r, -ERANGE, KVSTASH_R_RANGE, len);
	}
	return 0;
}

static void get_fault(struct kvs_object *obj, struct kvstash_get *e, int err)
{
	if (err == -EINTR) {
		kvs_result(&e->r, err, KVSTASH_R_INTERRUPTED, e->bytes);
		return;
	}
	kvs_stat_inc(obj->ns, FAULTS);
	kvs_result(&e->r, err, KVSTASH_R_DATA_FAULT, e->bytes);
}

static void get_ranges(struct kvs_object *obj, struct kvstash_get *e,
		       const struct get_ranges *ranges, const struct kvs_vec *vec)
{
	struct kvs_space *space = &obj->ns->pool->space;
	struct iov_iter iter;
	u64 copied;
	u32 i;
	int err;

	if (ranges_check(obj, ranges, vec->nr, &e->r))
		return;
	for (i = 0; i < vec->nr; i++) {
		const struct kvstash_range *range = &ranges->range[i];
		struct kvs_part *part = kvs_object_part(obj, range->part);

		iov_iter_init(&iter, ITER_DEST, &vec->iov[i], 1, range->len);
		err = kvs_copy_out(space, &part->ext, range->offset, range->len, &iter, &copied);
		e->bytes += copied;
		if (err) {
			get_fault(obj, e, err);
			return;
		}
		if (fatal_signal_pending(current)) {
			get_fault(obj, e, -EINTR);
			return;
		}
	}
}

static void get_whole(struct kvs_object *obj, struct kvstash_get *e, const struct kvs_vec *vec)
{
	struct kvs_space *space = &obj->ns->pool->space;
	struct iov_iter iter;
	unsigned int i;
	u64 copied;
	int err;

	if (vec->len < obj->bytes) {
		kvs_result(&e->r, -ENOSPC, KVSTASH_R_BUFFER_SMALL, obj->bytes);
		return;
	}
	iov_iter_init(&iter, ITER_DEST, vec->iov, vec->nr, vec->len);
	for (i = 0; i < obj->nr_parts; i++) {
		struct kvs_part *part = kvs_object_part(obj, i);

		err = kvs_copy_out(space, &part->ext, 0, part->len, &iter, &copied);
		e->bytes += copied;
		if (err) {
			get_fault(obj, e, err);
			return;
		}
	}
}

static void get_object(struct kvs_object *obj, struct kvstash_get *e,
		       const struct get_ranges *ranges, struct kvs_scratch *s)
{
	struct kvs_ns *ns = obj->ns;

	if (!kvs_object_visible(obj)) {
		kvs_object_absence(obj, &e->r);
		return;
	}
	e->object_size = obj->bytes;
	kvs_object_hit(obj, s->now);
	if (e->flags & KVSTASH_GET_RANGES)
		get_ranges(obj, e, ranges, &s->vec);
	else
		get_whole(obj, e, &s->vec);
	if (!e->r.res) {
		kvs_stat_inc(ns, GET_HITS);
		kvs_stat_add(ns, GET_BYTES, e->bytes);
	}
}

static void get_ahead(struct kvs_client *client, const void *entry, struct kvs_ahead *ahead)
{
	const struct kvstash_get *e = entry;

	kvs_key_copy(&ahead->key, client->ns, ahead->data, e->key, e->key_len, e->kind,
		     &ahead->r);
}

static void get_run(struct kvs_client *client, void *entry, struct kvs_scratch *s)
{
	struct get_ranges ranges = { .range = ranges.fast };
	struct kvstash_get *e = entry;
	struct kvs_ns *ns = client->ns;
	struct kvs_object *obj;
	int ret;

	e->bytes = 0;
	e->object_size = 0;
	kvs_stat_inc(ns, GETS);
	if (get_check(e, &e->r))
		return;
	if (s->cur->r.res) {
		e->r = s->cur->r;
		return;
	}
	s->vec.iov = s->vec.fast;
	s->vec.nr = 0;
	s->vec.len = 0;
	ret = 0;
	if (e->flags & KVSTASH_GET_RANGES)
		ret = ranges_import(&ranges, &s->vec, e, &e->r);
	else if (e->nr || e->len)	/* else the caller asks for the size */
		ret = kvs_vec_import(&s->vec, e->buf, e->len, e->nr, &e->r);
	if (ret || kvs_check_overlap(s->vec.iov, s->vec.nr, &e->r) || kvs_vec_plain(&s->vec, &e->r))
		goto out;
	obj = kvs_index_get(&s->cur->key);
	if (!obj) {
		kvs_result(&e->r, -ENOENT, KVSTASH_R_MISS, 0);
		goto out;
	}
	get_object(obj, e, &ranges, s);
	kvs_object_put(obj);
	/* A put may wait for us to let go of what it would evict. */
	if (wq_has_sleeper(&ns->pool->freed))
		wake_up_all(&ns->pool->freed);
out:
	kvs_vec_release(&s->vec);
	if (ranges.range != ranges.fast)
		kfree(ranges.range);
}

const struct kvs_batch_op kvs_get_op = {
	.size = sizeof(struct kvstash_get),
	.rights = KVS_MAY_READ,
	.ahead = get_ahead,
	.run = get_run,
};
