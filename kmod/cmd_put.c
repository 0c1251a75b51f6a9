// SPDX-License-Identifier: GPL-2.0
/*
 * PUT, RESERVE, WRITE, COMMIT, ABORT: decode and check, then call write.c. All
 * of an entry is checked before the store is touched.
 *
 * Locking: none here.
 */
#include <linux/ktime.h>
#include <linux/uaccess.h>

#include "batch.h"
#include "client.h"
#include "layout.h"
#include "ns.h"
#include "result.h"
#include "state.h"
#include "write.h"

#define PUT_FLAGS	(KVSTASH_PUT_ROOT_IF_NO_PARENT | KVSTASH_PUT_ATOMIC | \
			 KVSTASH_PUT_NO_LINGER)

static int put_check_group(const struct kvstash_put *e, struct kvstash_result *r)
{
	if (!e->group != !e->group_len)
		return kvs_result(r, -EINVAL, KVSTASH_R_KEY_LEN, KVSTASH_KEY_MAX);
	if (!e->group != !e->members)
		return kvs_result(r, -EINVAL, KVSTASH_R_MEMBERS, KVSTASH_MEMBERS_MAX);
	if (e->group ? e->member >= e->members : e->member)
		return kvs_result(r, -EINVAL, KVSTASH_R_MEMBER_INDEX, e->members);
	if (!e->group && (e->flags & KVSTASH_PUT_ATOMIC))
		return kvs_result(r, -EINVAL, KVSTASH_R_FLAGS, KVSTASH_PUT_ATOMIC);
	return 0;
}

static int put_check(const struct kvstash_put *e, bool reserve, struct kvstash_result *r)
{
	u32 unknown = e->flags & ~PUT_FLAGS;

	if (unknown)
		return kvs_result(r, -EINVAL, KVSTASH_R_FLAGS, unknown);
	if (e->reserved || (reserve && (e->buf || e->nr_segs)))
		return kvs_result(r, -EINVAL, KVSTASH_R_RESERVED, 0);
	if (e->parent_kind > KVSTASH_KIND_GROUP || (e->parent_kind && !e->parent))
		return kvs_result(r, -EINVAL, KVSTASH_R_KIND, 0);
	if (e->kind != KVSTASH_KIND_PAGE && e->kind != KVSTASH_KIND_STATE)
		return kvs_result(r, -EINVAL, KVSTASH_R_KIND, 0);
	if (!e->parts || e->parts > KVSTASH_PARTS_MAX)
		return kvs_result(r, -EINVAL, KVSTASH_R_PARTS, KVSTASH_PARTS_MAX);
	if (e->part >= e->parts)
		return kvs_result(r, -EINVAL, KVSTASH_R_PART_INDEX, e->parts);
	/* That of a state is its layout's business. */
	if (e->kind == KVSTASH_KIND_PAGE &&
	    (!e->part_len || e->part_len > KVSTASH_PART_BYTES_MAX))
		return kvs_result(r, -EINVAL, KVSTASH_R_LENGTH, KVSTASH_PART_BYTES_MAX);
	if (e->tag_len > KVSTASH_TAG_MAX || (e->tag_len && !e->tag))
		return kvs_result(r, -EINVAL, KVSTASH_R_TAG, KVSTASH_TAG_MAX);
	if (!e->parent != !e->parent_len)
		return kvs_result(r, -EINVAL, KVSTASH_R_KEY_LEN, KVSTASH_KEY_MAX);
	return unlikely(e->group || e->group_len || e->member || e->members ||
			(e->flags & KVSTASH_PUT_ATOMIC)) ? put_check_group(e, r) : 0;
}

static bool same_key(const struct kvs_key *a, const struct kvs_key *b)
{
	return a->kind == b->kind && a->len == b->len && !memcmp(a->data, b->data, a->len);
}

/* Copy the keys beside the object's own. */
static int put_relations(struct kvs_ns *ns, const struct kvstash_put *e, struct kvs_scratch *s,
			 struct kvs_identity *id, struct kvstash_result *r)
{
	int ret = 0;

	if (e->parent)
		ret = kvs_key_copy(&id->parent, ns, s->parent, e->parent, e->parent_len,
				   e->parent_kind, r);
	if (!ret && unlikely(e->group))
		ret = kvs_key_copy(&id->group, ns, s->group, e->group, e->group_len,
				   KVSTASH_KIND_GROUP, r);
	if (ret)
		return ret;
	if (e->parent && (same_key(&id->parent, &id->key) ||
			  (e->group && same_key(&id->parent, &id->group))))
		return kvs_result(r, -ELOOP, KVSTASH_R_PARENT_SELF, 0);
	return 0;
}

/* Copy what identifies the object. */
static int put_identity(struct kvs_ns *ns, const struct kvstash_put *e, struct kvs_scratch *s,
			struct kvs_identity *id, struct kvstash_result *r)
{
	int ret;

	if (s->cur->r.res) {
		*r = s->cur->r;
		return r->res;
	}
	id->key = s->cur->key;
	ret = unlikely(e->kind == KVSTASH_KIND_STATE) ? kvs_state_identify(ns, e, id, r) : 0;
	if (!ret)
		ret = put_relations(ns, e, s, id, r);
	if (ret)
		return ret;
	if (e->manifest) {
		if (copy_from_user(s->manifest, u64_to_user_ptr(e->manifest),
				   sizeof(s->manifest)))
			return kvs_result(r, -EFAULT, KVSTASH_R_TAG_FAULT, 0);
		id->manifest = s->manifest;
	}
	if (e->tag_len && copy_from_user(s->tag, u64_to_user_ptr(e->tag), e->tag_len))
		return kvs_result(r, -EFAULT, KVSTASH_R_TAG_FAULT, 0);
	id->tag = s->tag;
	id->tag_len = e->tag_len;
	id->parts = e->parts;
	id->member = e->member;
	id->members = e->members;
	id->ttl_ms = e->ttl_ms;
	id->flags = (e->flags & KVSTASH_PUT_ATOMIC ? KVS_OBJ_ATOMIC : 0) |
		    (e->flags & KVSTASH_PUT_NO_LINGER ? KVS_OBJ_NO_LINGER : 0);
	id->root_if_no_parent = e->flags & KVSTASH_PUT_ROOT_IF_NO_PARENT;
	return 0;
}

/* A put that came to nothing, by reason. */
static void count_refusal(struct kvs_ns *ns, const struct kvstash_result *r)
{
	switch (r->reason) {
	case KVSTASH_R_EXISTS:
		kvs_stat_inc(ns, PUT_EXISTS);
		break;
	case KVSTASH_R_IN_FLIGHT:
		kvs_stat_inc(ns, PUT_BUSY);
		break;
	case KVSTASH_R_MISMATCH_GROUP ... KVSTASH_R_MISMATCH_FLAGS:
		kvs_stat_inc(ns, PUT_MISMATCH_GROUP);
		fallthrough;
	case KVSTASH_R_MISMATCH_PARTS ... KVSTASH_R_MISMATCH_LENGTH:
	case KVSTASH_R_MISMATCH_TTL:
		kvs_stat_inc(ns, PUT_MISMATCH);
		break;
	case KVSTASH_R_PARENT_MISS:
		kvs_stat_inc(ns, PUT_NO_PARENT);
		break;
	case KVSTASH_R_NO_SPACE:
	case KVSTASH_R_TOO_LARGE:
		kvs_stat_inc(ns, PUT_NO_SPACE);
		break;
	case KVSTASH_R_QUOTA_BYTES:
	case KVSTASH_R_QUOTA_OBJECTS:
		kvs_stat_inc(ns, PUT_QUOTA);
		break;
	default:
		kvs_stat_inc(ns, PUT_REFUSED);
	}
}

/* What follows a put or a reservation, whatever came of it. */
static void put_end(struct kvs_ns *ns, struct kvs_identity *id, const struct kvstash_result *r)
{
	if (r->res)
		count_refusal(ns, r);
	if (likely(!id->layout))
		return;
	if (r->res)
		kvs_state_refused(id->layout, r);
	kvs_layout_leave(id->layout);
}

/* Copy the bytes of a one-shot put and commit it, or leave nothing of it. */
static void put_fill(struct kvs_write *write, struct kvs_vec *vec, u64 now,
		     struct kvstash_result *r)
{
	struct iov_iter iter;
	int ret;

	iov_iter_init(&iter, ITER_SOURCE, vec->iov, vec->nr, vec->len);
	ret = kvs_write_fill(write, 0, &iter, r);
	if (!ret)
		ret = kvs_write_commit(write, now, r);
	if (ret)
		kvs_write_drop(write);
	else
		kvs_write_put(write);
}

static void put_ahead(struct kvs_client *client, const void *entry, struct kvs_ahead *ahead)
{
	const struct kvstash_put *e = entry;

	kvs_key_copy(&ahead->key, client->ns, ahead->data, e->key, e->key_len, e->kind,
		     &ahead->r);
}

static void put_run(struct kvs_client *client, void *entry, struct kvs_scratch *s)
{
	struct kvs_ns *ns = client->ns;
	struct kvs_identity id = {};
	struct kvstash_put *e = entry;
	struct kvs_write *write;

	if (put_check(e, false, &e->r) || put_identity(ns, e, s, &id, &e->r))
		goto refused;
	if (kvs_vec_import(&s->vec, e->buf, e->part_len, e->nr_segs, &e->r))
		goto out;
	if (s->vec.len != e->part_len) {
		kvs_result(&e->r, -EINVAL, KVSTASH_R_LENGTH, e->part_len);
		goto out;
	}
	if (kvs_vec_plain(&s->vec, &e->r))
		goto out;
	if (!kvs_write_begin(client, &id, e->part, e->part_len, false, &write, &e->r))
		put_fill(write, &s->vec, s->now, &e->r);
out:
	kvs_vec_release(&s->vec);
refused:
	put_end(ns, &id, &e->r);
}

static void reserve_run(struct kvs_client *client, void *entry, struct kvs_scratch *s)
{
	struct kvs_ns *ns = client->ns;
	struct kvs_identity id = {};
	struct kvstash_put *e = entry;
	struct kvs_write *write;

	memset(&e->handle, 0, sizeof(e->handle));
	if (!put_check(e, true, &e->r) && !put_identity(ns, e, s, &id, &e->r) &&
	    !kvs_write_begin(client, &id, e->part, e->part_len, true, &write, &e->r)) {
		e->handle.client = client->id;
		e->handle.seq = write->seq;
		kvs_stat_inc(ns, RESERVES);
		kvs_write_put(write);
	}
	put_end(ns, &id, &e->r);
}

/* Nobody knows the handle: give the part up. */
static void reserve_undo(struct kvs_client *client, void *entry)
{
	struct kvstash_put *e = entry;
	struct kvstash_result r;
	struct kvs_write *write;

	if (e->r.res)
		return;
	write = kvs_write_get(client, &e->handle, &r);
	if (!write)
		return;
	kvs_write_abort(write, 0, &r);
	kvs_write_put(write);
}

static int write_check(const struct kvstash_write *e, struct kvstash_result *r)
{
	if (e->flags)
		return kvs_result(r, -EINVAL, KVSTASH_R_FLAGS, e->flags);
	if (!e->len || e->len > KVSTASH_PART_BYTES_MAX)
		return kvs_result(r, -EINVAL, KVSTASH_R_LENGTH, KVSTASH_PART_BYTES_MAX);
	return 0;
}

static void write_fill(struct kvs_write *write, struct kvstash_write *e, struct kvs_vec *vec)
{
	struct iov_iter iter;

	if (vec->len != e->len) {
		kvs_result(&e->r, -EINVAL, KVSTASH_R_LENGTH, e->len);
		return;
	}
	if (e->offset >= write->len || e->len > write->len - e->offset) {
		kvs_result(&e->r, -ERANGE, KVSTASH_R_RANGE, write->len);
		return;
	}
	if (kvs_vec_plain(vec, &e->r))
		return;
	iov_iter_init(&iter, ITER_SOURCE, vec->iov, vec->nr, vec->len);
	kvs_write_fill(write, e->offset, &iter, &e->r);
}

static void write_run(struct kvs_client *client, void *entry, struct kvs_scratch *s)
{
	struct kvstash_write *e = entry;
	struct kvs_write *write;

	if (write_check(e, &e->r))
		return;
	write = kvs_write_get(client, &e->handle, &e->r);
	if (!write)
		return;
	if (!kvs_vec_import(&s->vec, e->buf, e->len, e->nr_segs, &e->r))
		write_fill(write, e, &s->vec);
	kvs_vec_release(&s->vec);
	kvs_write_put(write);
}

static void end_run(struct kvs_client *client, struct kvstash_end *e, u64 now,
		    int (*end)(struct kvs_write *write, u64 now, struct kvstash_result *r))
{
	struct kvs_write *write;

	if (e->flags) {
		kvs_result(&e->r, -EINVAL, KVSTASH_R_FLAGS, e->flags);
		return;
	}
	if (e->reserved) {
		kvs_result(&e->r, -EINVAL, KVSTASH_R_RESERVED, 0);
		return;
	}
	write = kvs_write_get(client, &e->handle, &e->r);
	if (!write)
		return;
	end(write, now, &e->r);
	kvs_write_put(write);
}

static void commit_run(struct kvs_client *client, void *entry, struct kvs_scratch *s)
{
	struct kvstash_end *e = entry;

	end_run(client, e, s->now, kvs_write_commit);
	if (!e->r.res)
		kvs_stat_inc(client->ns, COMMITS);
}

static void abort_run(struct kvs_client *client, void *entry, struct kvs_scratch *s)
{
	end_run(client, entry, s->now, kvs_write_abort);
}

const struct kvs_batch_op kvs_put_op = {
	.size = sizeof(struct kvstash_put),
	.least = KVSTASH_PUT_SIZE_VER0,
	.rights = KVS_MAY_WRITE,
	.ahead = put_ahead,
	.run = put_run,
};

const struct kvs_batch_op kvs_reserve_op = {
	.size = sizeof(struct kvstash_put),
	.least = KVSTASH_PUT_SIZE_VER0,
	.rights = KVS_MAY_WRITE,
	.ahead = put_ahead,
	.run = reserve_run,
	.undo = reserve_undo,
};

const struct kvs_batch_op kvs_write_op = {
	.size = sizeof(struct kvstash_write),
	.rights = KVS_MAY_WRITE,
	.run = write_run,
};

const struct kvs_batch_op kvs_commit_op = {
	.size = sizeof(struct kvstash_end),
	.rights = KVS_MAY_WRITE,
	.run = commit_run,
};

const struct kvs_batch_op kvs_abort_op = {
	.size = sizeof(struct kvstash_end),
	.rights = KVS_MAY_WRITE,
	.run = abort_run,
};
