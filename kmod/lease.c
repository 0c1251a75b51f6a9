// SPDX-License-Identifier: GPL-2.0
/*
 * Leases.
 *
 * A lease is a reference on an object, and on its group, that a client has: an
 * entry of client->leases, which is all there is to it. What is leased is not
 * evicted, since it is held; what is removed keeps its bytes (I3).
 *
 * The budget counts the pages of each object, or group, that is leased, once for
 * all its leases: that is what can't be evicted for them. What it descends from
 * stays as well, as with any child, and is not counted: a caller that wants the
 * chain leases it.
 *
 * Locking: the object's or group's lock guards its count of leases and what was
 * charged; an eviction looks at the references under the same lock, so either
 * it sees the lease or the lease sees that the object is gone. The xarray's lock
 * guards client->lease_seq.
 */
#include "client.h"
#include "group.h"
#include "lease.h"
#include "result.h"
#include "trace.h"

static u64 lease_budget(const struct kvs_ns *ns)
{
	u64 bytes = READ_ONCE(ns->config.lease_bytes), quota = READ_ONCE(ns->config.quota_bytes);

	return kvs_ns_share(ns, bytes, quota, 2);
}

/** kvs_unit_pages() - the pages that a lease of @unit keeps; its lock is held */
u64 kvs_unit_pages(struct kvs_object *unit)
{
	return kvs_object_is_group(unit) ? unit->group->pages : kvs_object_pages(unit);
}

/* One more lease of @unit, unless it is gone or does not fit the budget. */
static int unit_lease(struct kvs_object *unit, bool seen, u64 *missing)
{
	struct kvs_ns *ns = unit->ns;
	int ret = 0;
	u64 pages;

	spin_lock(&unit->lock);
	if (!seen && !kvs_state_shown(unit->state) && unit->state != KVS_OPEN) {
		ret = -ENOENT;
	} else if (!unit->leases) {
		pages = kvs_unit_pages(unit);
		ret = kvs_ns_charge(&ns->leased, pages, lease_budget(ns), missing);
		if (!ret && kvs_object_is_group(unit))
			unit->group->leased = pages;
	}
	if (!ret && !unit->leases++ && unit->state == KVS_DYING)
		atomic64_add(kvs_unit_pages(unit), &ns->pool->held_leased);
	spin_unlock(&unit->lock);
	return ret;
}

static void unit_unlease(struct kvs_object *unit)
{
	struct kvs_ns *ns = unit->ns;

	spin_lock(&unit->lock);
	if (!--unit->leases) {
		atomic64_sub(kvs_object_is_group(unit) ? unit->group->leased :
							 kvs_object_pages(unit), &ns->leased);
		if (unit->state == KVS_DYING)
			atomic64_sub(kvs_unit_pages(unit), &ns->pool->held_leased);
	}
	spin_unlock(&unit->lock);
}

/* Take a lease out of its client's table; of two at a time one has it. */
static struct kvs_object *lease_unregister(struct kvs_client *client, unsigned long seq)
{
	struct kvs_object *obj;

	xa_lock(&client->leases);
	obj = __xa_erase(&client->leases, seq);
	if (obj)
		client->nr_leases--;
	xa_unlock(&client->leases);
	return obj;
}

/* Let go of what a lease has; it is in no table any more. */
static void lease_drop(struct kvs_object *obj)
{
	struct kvs_object *unit = kvs_object_unit(obj);
	struct kvs_pool *pool = obj->ns->pool;

	atomic64_dec(&obj->ns->leases);
	unit_unlease(unit);
	if (unit != obj)
		kvs_object_put(unit);
	kvs_object_put(obj);
	/* A put may wait for what it would evict; the client keeps the pool. */
	if (wq_has_sleeper(&pool->freed))
		wake_up_all(&pool->freed);
}

static int lease_register(struct kvs_client *client, struct kvs_object *obj, u64 *seq)
{
	bool full;
	void *old;

	xa_lock(&client->leases);
	full = client->nr_leases == KVSTASH_LEASES_MAX;
	client->nr_leases += !full;
	*seq = KVS_LEASE_SEQ | ++client->lease_seq;
	xa_unlock(&client->leases);
	if (full)
		return -EDQUOT;
	old = xa_store(&client->leases, *seq, obj, GFP_KERNEL);
	if (!xa_is_err(old))
		return 0;
	xa_lock(&client->leases);
	client->nr_leases--;
	xa_unlock(&client->leases);
	return -ENOMEM;
}

/**
 * kvs_lease_take() - lease an object
 * @client: who
 * @obj:    with a reference of the caller's, which stays his
 * @seen:   the caller's view holds its group, hidden or not
 * @handle: out, if it is leased
 * @r:      out: why not
 *
 * Return: 0; -ENOENT with no result if it is not visible any more; -EDQUOT;
 * -ENOMEM.
 */
int kvs_lease_take(struct kvs_client *client, struct kvs_object *obj, bool seen,
		   struct kvstash_handle *handle, struct kvstash_result *r)
{
	struct kvs_object *unit = kvs_object_unit(obj);
	struct kvs_ns *ns = obj->ns;
	u64 missing, seq;
	int ret;

	/* Held before it is looked at, so that an eviction sees it. */
	refcount_inc(&obj->refs);
	if (unit != obj)
		refcount_inc(&unit->refs);
	ret = unit_lease(unit, seen, &missing);
	if (ret) {
		if (unit != obj)
			kvs_object_put(unit);
		kvs_object_put(obj);
		if (ret == -ENOENT)
			return ret;
		kvs_stat_inc(ns, LEASE_REFUSED);
		return kvs_result(r, ret, KVSTASH_R_LEASE_BUDGET, missing << KVS_PAGE_SHIFT);
	}
	atomic64_inc(&ns->leases);
	ret = lease_register(client, obj, &seq);
	if (ret) {
		lease_drop(obj);
		if (ret == -ENOMEM)
			return kvs_result(r, ret, KVSTASH_R_NO_MEMORY, 0);
		kvs_stat_inc(ns, LEASE_REFUSED);
		return kvs_result(r, ret, KVSTASH_R_LEASE_COUNT, KVSTASH_LEASES_MAX);
	}
	handle->client = client->id;
	handle->seq = seq;
	kvs_stat_inc(ns, LEASES_TAKEN);
	trace_kvstash_lease(client->id, obj, seq);
	return 0;
}

/* What is wrong with a handle that is in the table no more. */
static int lease_refuse(struct kvs_client *client, const struct kvstash_handle *handle,
			struct kvstash_result *r)
{
	u64 nr = handle->seq & ~KVS_LEASE_SEQ;

	if (handle->client >> 32 != client->id >> 32)
		return kvs_result(r, -ESTALE, KVSTASH_R_HANDLE_STALE, 0);
	if (handle->client != client->id)
		return kvs_result(r, -EPERM, KVSTASH_R_HANDLE_OWNER, 0);
	if (!(handle->seq & KVS_LEASE_SEQ) || !nr || nr > READ_ONCE(client->lease_seq))
		return kvs_result(r, -EBADF, KVSTASH_R_HANDLE_UNKNOWN, 0);
	return kvs_result(r, -EALREADY, KVSTASH_R_RELEASED, 0);
}

/**
 * kvs_lease_release() - end a lease
 * @client: who asks
 * @handle: as user space gave it
 * @r:      out: why not
 *
 * Return: 0 or a negative errno; of two at a time one succeeds.
 */
int kvs_lease_release(struct kvs_client *client, const struct kvstash_handle *handle,
		      struct kvstash_result *r)
{
	struct kvs_object *obj = NULL;

	if (handle->client == client->id && (handle->seq & KVS_LEASE_SEQ))
		obj = lease_unregister(client, handle->seq);
	if (!obj)
		return lease_refuse(client, handle, r);
	kvs_stat_inc(obj->ns, LEASES_RELEASED);
	trace_kvstash_release(client->id, obj, handle->seq);
	lease_drop(obj);
	return 0;
}

/** kvs_lease_undo() - end a lease whose handle could not be delivered */
void kvs_lease_undo(struct kvs_client *client, const struct kvstash_handle *handle)
{
	struct kvstash_result r;

	if (handle->seq)
		kvs_lease_release(client, handle, &r);
}

/**
 * kvs_lease_get() - the object of a lease
 * @client: who asks
 * @handle: as user space gave it
 * @r:      out: why not
 *
 * Return: the object, visible or not, with a reference; or NULL.
 */
struct kvs_object *kvs_lease_get(struct kvs_client *client, const struct kvstash_handle *handle,
				 struct kvstash_result *r)
{
	struct kvs_object *obj = NULL;

	if (handle->client == client->id && (handle->seq & KVS_LEASE_SEQ)) {
		xa_lock(&client->leases);
		obj = xa_load(&client->leases, handle->seq);
		if (obj)
			refcount_inc(&obj->refs);
		xa_unlock(&client->leases);
	}
	if (!obj)
		lease_refuse(client, handle, r);
	return obj;
}

/**
 * kvs_client_end_leases() - end all leases of a client (I5)
 * @client: closed: no command of it runs or will run
 */
void kvs_client_end_leases(struct kvs_client *client)
{
	struct kvs_object *obj;
	unsigned long seq;

	xa_for_each(&client->leases, seq, obj) {
		lease_unregister(client, seq);
		kvs_stat_inc(obj->ns, LEASES_BY_DEATH);
		lease_drop(obj);
		cond_resched();
	}
	xa_destroy(&client->leases);
}
