// SPDX-License-Identifier: GPL-2.0
/*
 * LOOKUP: how far a chain is there.
 *
 * Locking: RCU only, no reference, unless leases are taken. What it sees of
 * groups is of one moment: view.c.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "batch.h"
#include "client.h"
#include "keys.h"
#include "lease.h"
#include "object.h"
#include "result.h"

/**
 * struct lookup - what a LOOKUP has found
 * @end:    why the run ends
 * @bytes:  of the objects in the run
 * @leases: of the objects in the run, or NULL
 */
struct lookup {
	struct kvstash_result end;
	u64 bytes;
	struct kvstash_handle *leases;
};

/* Count the visible keys of a window from its first on. */
static u32 lookup_window(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s,
			 struct lookup *l)
{
	u32 i;

	rcu_read_lock();
	kvs_keys_prefetch_objects(call, ns, s);
	for (i = 0; i < call->nr; i++) {
		struct kvs_object *obj = kvs_index_find_in_view(&s->key[i], &s->view);

		if (!obj) {
			kvs_result(&l->end, -ENOENT, KVSTASH_R_MISS, 0);
			break;
		}
		if (!kvs_view_sees(&s->view, obj)) {
			kvs_view_absence(&s->view, obj, &l->end);
			break;
		}
		l->bytes += READ_ONCE(obj->bytes);
	}
	rcu_read_unlock();
	return i;
}

/* No lease for the run: how much is missing goes where its bytes would. */
static int lookup_refuse_lease(struct keys_call *call, const struct kvstash_result *r)
{
	struct kvstash_keys __user *out = call->arg;

	if (copy_to_user(&out->bytes, &r->detail, sizeof(r->detail)))
		return -EFAULT;
	return KEYS_REFUSE(call, r->reason, leases, r->res);
}

/* The same, with a lease on each. */
static int lookup_window_lease(struct keys_call *call, struct keys_scratch *s,
			       struct lookup *l, u32 *run)
{
	u32 i;
	int ret;

	for (i = 0; i < call->nr; i++) {
		struct kvs_object *obj = kvs_index_get_in_view(&s->key[i], &s->view);

		memset(&s->lease[i], 0, sizeof(s->lease[i]));
		if (!obj)
			kvs_result(&l->end, -ENOENT, KVSTASH_R_MISS, 0);
		else if (!kvs_view_sees(&s->view, obj))
			kvs_view_absence(&s->view, obj, &l->end);
		ret = l->end.reason ? 0 : kvs_keys_lease(call, s, i, obj, &l->end);
		if (ret == -ENOENT)
			kvs_result(&l->end, ret, KVSTASH_R_MISS, 0);
		else if (!ret && !l->end.reason)
			l->bytes += READ_ONCE(obj->bytes);
		kvs_object_put(obj);
		if (ret && ret != -ENOENT)
			return lookup_refuse_lease(call, &l->end);
		if (l->end.reason)
			break;
		l->leases[call->done + i] = s->lease[i];
		cond_resched();
	}
	*run = i;
	return 0;
}

static int lookup_windows(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s,
			  struct lookup *l)
{
	u32 run;
	int ret;

	while (call->done < call->hdr.count) {
		/* Cut short it would be a wrong fact: only death ends it early. */
		if (fatal_signal_pending(current))
			return -EINTR;
		ret = kvs_keys_window(call, ns, s);
		if (ret)
			return ret;
		if (l->leases)
			ret = lookup_window_lease(call, s, l, &run);
		else
			run = lookup_window(call, ns, s, l);
		if (ret)
			return ret;
		call->done += run;
		if (run < call->nr)
			break;
		cond_resched();
	}
	kvs_stat_inc(ns, LOOKUPS);
	kvs_stat_add(ns, LOOKUP_KEYS, call->hdr.count);
	kvs_stat_add(ns, LOOKUP_HITS, call->done);
	return 0;
}

static int lookup_check(struct keys_call *call)
{
	if (call->hdr.results)
		return KEYS_REFUSE(call, KVSTASH_R_RESERVED, results, -EINVAL);
	if (call->hdr.tags)
		return KEYS_REFUSE(call, KVSTASH_R_RESERVED, tags, -EINVAL);
	if (call->hdr.stride)
		return KEYS_REFUSE(call, KVSTASH_R_RESERVED, stride, -EINVAL);
	if (call->hdr.pin)
		return KEYS_REFUSE(call, KVSTASH_R_RESERVED, pin, -EINVAL);
	return 0;
}

static int lookup_out(struct keys_call *call, const struct lookup *l)
{
	struct kvstash_keys __user *out = call->arg;

	if (l->leases && copy_to_user(u64_to_user_ptr(call->hdr.leases), l->leases,
				      call->hdr.count * sizeof(*l->leases)))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, leases, -EFAULT);
	if (put_user(call->hdr.count, &out->done) || put_user(call->done, &out->run) ||
	    put_user(l->end.reason, &out->reason) ||
	    copy_to_user(&out->bytes, &l->bytes, sizeof(l->bytes)))
		return -EFAULT;
	return 0;
}

/* All or none is leased: a call that fails leaves no lease behind. */
static void lookup_undo(struct keys_call *call, struct lookup *l)
{
	u32 i;

	for (i = 0; l->leases && i < call->hdr.count; i++) {
		kvs_lease_undo(call->client, &l->leases[i]);
		cond_resched();
	}
}

static int lookup_run(struct keys_call *call, struct kvs_ns *ns, struct lookup *l)
{
	struct keys_scratch *s = kvs_keys_scratch(false);
	int ret;

	if (!s)
		return KEYS_REFUSE(call, KVSTASH_R_NO_MEMORY, size, -ENOMEM);
	kvs_view_begin(&s->view, ns, s->sights, ARRAY_SIZE(s->sights));
	ret = lookup_windows(call, ns, s, l);
	kvs_view_end(&s->view);
	kfree(s);
	if (!ret)
		ret = lookup_out(call, l);
	if (ret)
		lookup_undo(call, l);
	return ret;
}

long kvs_lookup(struct kvs_client *client, void __user *arg)
{
	struct lookup l = {};
	struct keys_call call;
	int ret;

	ret = kvs_keys_begin(&call, client, arg, KVS_MAY_READ, KVSTASH_KEYS_LEASE);
	if (ret)
		return ret;
	ret = lookup_check(&call);
	if (ret)
		return ret;
	if (call.hdr.leases) {
		l.leases = kvcalloc(call.hdr.count, sizeof(*l.leases), GFP_KERNEL);
		if (!l.leases)
			return KEYS_REFUSE(&call, KVSTASH_R_NO_MEMORY, size, -ENOMEM);
	}
	ret = lookup_run(&call, client->ns, &l);
	kvfree(l.leases);
	return ret;
}
