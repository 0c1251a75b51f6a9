// SPDX-License-Identifier: GPL-2.0
/*
 * GET: whole objects, or ranges of their parts.
 *
 * Locking: none. The object is found under RCU, or by a lease, and kept by a
 * reference, with its group, while its bytes are copied; all ranges are checked
 * before the first byte moves.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "batch.h"
#include "client.h"
#include "copy.h"
#include "lease.h"
#include "object.h"
#include "result.h"
#include "state.h"
#include "trace.h"

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
	u32 unknown = e->flags & ~(KVSTASH_GET_RANGES | KVSTASH_GET_LEASE | KVSTASH_GET_BY_LEASE);

	if (unknown)
		return kvs_result(r, -EINVAL, KVSTASH_R_FLAGS, unknown);
	if ((e->flags & KVSTASH_GET_LEASE) && (e->flags & KVSTASH_GET_BY_LEASE))
		return kvs_result(r, -EINVAL, KVSTASH_R_FLAGS, KVSTASH_GET_LEASE);
	if (e->reserved || e->reserved2 ||
	    ((e->flags & KVSTASH_GET_BY_LEASE) && (e->key || e->key_len || e->kind)))
		return kvs_result(r, -EINVAL, KVSTASH_R_RESERVED, 0);
	if (e->kind != KVSTASH_KIND_PAGE && e->kind != KVSTASH_KIND_STATE)
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

	/* The caller takes it for a state of another size. */
	if (unlikely(kvs_object_is_state(obj)) && vec->nr && vec->len != obj->bytes) {
		kvs_result(&e->r, -EINVAL, KVSTASH_R_SLOT_BYTES, obj->bytes);
		return;
	}
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

/* Copy, and lease, what is visible to the caller or leased by him. */
static void get_bytes(struct kvs_client *client, struct kvs_object *obj, struct kvstash_get *e,
		      const struct get_ranges *ranges, struct kvs_scratch *s)
{
	struct kvs_ns *ns = obj->ns;

	e->object_size = obj->bytes;
	kvs_object_hit(obj, s->now);
	if (e->flags & KVSTASH_GET_RANGES)
		get_ranges(obj, e, ranges, &s->vec);
	else if (s->vec.nr || !(e->flags & KVSTASH_GET_LEASE))
		get_whole(obj, e, &s->vec);
	if (unlikely(e->r.res)) {
		if (e->flags & KVSTASH_GET_LEASE)
			kvs_lease_undo(client, &e->lease);
		return;
	}
	kvs_stat_inc(ns, GET_HITS);
	if (unlikely(kvs_object_is_state(obj)))
		kvs_state_got(obj);
	kvs_stat_add(ns, GET_BYTES, e->bytes);
	trace_kvstash_get(obj);
}

static void get_missed(struct kvstash_get *e, struct kvs_scratch *s)
{
	if (unlikely(e->kind == KVSTASH_KIND_STATE) && e->r.res == -ENOENT)
		kvs_state_missed(&s->cur->key, &e->r);
}

/* By its key: what this batch sees. */
static void get_by_key(struct kvs_client *client, struct kvstash_get *e,
		       const struct get_ranges *ranges, struct kvs_scratch *s)
{
	struct kvs_object *obj = kvs_index_get_in_view(&s->cur->key, &s->view);
	struct kvs_object *unit;
	int ret = 0;

	if (!obj) {
		kvs_result(&e->r, -ENOENT, KVSTASH_R_MISS, 0);
		get_missed(e, s);
		return;
	}
	/* A reader of a member keeps the group, before it is looked at. */
	unit = kvs_object_unit(obj);
	if (unlikely(unit != obj))
		refcount_inc(&unit->refs);
	if (!kvs_view_sees(&s->view, obj)) {
		kvs_view_absence(&s->view, obj, &e->r);
	} else {
		if (e->flags & KVSTASH_GET_LEASE)
			ret = kvs_lease_take(client, obj, kvs_view_knows(&s->view, unit),
					     &e->lease, &e->r);
		if (ret == -ENOENT)
			kvs_result(&e->r, ret, KVSTASH_R_MISS, 0);
		else if (!ret)
			get_bytes(client, obj, e, ranges, s);
	}
	if (unlikely(unit != obj))
		kvs_object_put(unit);
	kvs_object_put(obj);
	get_missed(e, s);
}

static void get_by_lease(struct kvs_client *client, struct kvstash_get *e,
			 const struct get_ranges *ranges, struct kvs_scratch *s)
{
	struct kvs_object *obj = kvs_lease_get(client, &e->lease, &e->r);

	if (!obj)
		return;
	if (kvs_object_is_group(obj))
		kvs_result(&e->r, -EINVAL, KVSTASH_R_KIND, 0);
	else
		get_bytes(client, obj, e, ranges, s);
	kvs_object_put(obj);
}

static void get_ahead(struct kvs_client *client, const void *entry, struct kvs_ahead *ahead)
{
	const struct kvstash_get *e = entry;

	if (unlikely(e->flags & KVSTASH_GET_BY_LEASE)) {
		kvs_result(&ahead->r, -EINVAL, KVSTASH_R_KEY_LEN, KVSTASH_KEY_MAX);
		return;
	}
	kvs_key_copy(&ahead->key, client->ns, ahead->data, e->key, e->key_len, e->kind,
		     &ahead->r);
}

/* Check the entry's buffers and ranges. */
static int get_import(struct kvstash_get *e, struct get_ranges *ranges, struct kvs_scratch *s)
{
	int ret = 0;

	s->vec.iov = s->vec.fast;
	s->vec.nr = 0;
	s->vec.len = 0;
	if (e->flags & KVSTASH_GET_RANGES)
		ret = ranges_import(ranges, &s->vec, e, &e->r);
	else if (e->nr || e->len)	/* else the caller asks for the size, or a lease */
		ret = kvs_vec_import(&s->vec, e->buf, e->len, e->nr, &e->r);
	if (ret)
		return ret;
	ret = kvs_check_overlap(s->vec.iov, s->vec.nr, &e->r);
	return ret ?: kvs_vec_plain(&s->vec, &e->r);
}

static void get_run(struct kvs_client *client, void *entry, struct kvs_scratch *s)
{
	struct get_ranges ranges = { .range = ranges.fast };
	struct kvstash_get *e = entry;
	struct kvs_ns *ns = client->ns;

	e->bytes = 0;
	e->object_size = 0;
	if (!(e->flags & KVSTASH_GET_BY_LEASE))
		memset(&e->lease, 0, sizeof(e->lease));
	kvs_stat_inc(ns, GETS);
	if (get_check(e, &e->r))
		return;
	/* A caller whose entry has no room for a lease can't be given one. */
	if (unlikely(s->stride < sizeof(*e)) &&
	    (e->flags & (KVSTASH_GET_LEASE | KVSTASH_GET_BY_LEASE))) {
		kvs_result(&e->r, -EINVAL, KVSTASH_R_SIZE, sizeof(*e));
		return;
	}
	if (s->cur->r.res && !(e->flags & KVSTASH_GET_BY_LEASE)) {
		e->r = s->cur->r;
		return;
	}
	if (get_import(e, &ranges, s))
		goto out;
	if (!kvs_view_ready(&s->view, 1)) {
		kvs_result(&e->r, -ENOMEM, KVSTASH_R_NO_MEMORY, 0);
		goto out;
	}
	if (unlikely(e->flags & KVSTASH_GET_BY_LEASE))
		get_by_lease(client, e, &ranges, s);
	else
		get_by_key(client, e, &ranges, s);
	/* A put may wait for us to let go of what it would evict. */
	if (wq_has_sleeper(&ns->pool->freed))
		wake_up_all(&ns->pool->freed);
out:
	kvs_vec_release(&s->vec);
	if (ranges.range != ranges.fast)
		kfree(ranges.range);
}

/* Nobody knows the lease: end it. */
static void get_undo(struct kvs_client *client, void *entry)
{
	struct kvstash_get *e = entry;

	if (!e->r.res && (e->flags & KVSTASH_GET_LEASE))
		kvs_lease_undo(client, &e->lease);
}

const struct kvs_batch_op kvs_get_op = {
	.size = sizeof(struct kvstash_get),
	.least = KVSTASH_GET_SIZE_VER0,
	.rights = KVS_MAY_READ,
	.ahead = get_ahead,
	.run = get_run,
	.undo = get_undo,
};
