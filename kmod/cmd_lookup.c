// SPDX-License-Identifier: GPL-2.0
/*
 * LOOKUP: how far a chain is there, and which states.
 *
 * The two are facts of their own; neither is looked at for the other.
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
#include "state.h"

/**
 * struct lookup - what a LOOKUP has found
 * @end:    why the run ends
 * @bytes:  of the objects in the run
 * @lease:  take leases
 * @leases: of the objects in the run, if so
 * @states: the candidates, and what came of them
 */
struct lookup {
	struct kvstash_result end;
	u64 bytes;
	bool lease;
	struct kvstash_handle *leases;
	struct kvstash_candidate *states;
};

/* Count the visible keys of a window from its first on. */
static u32 lookup_window(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s,
			 struct lookup *l)
{
	u32 i;

	rcu_read_lock();
	kvs_keys_prefetch_objects(call, s);
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

/*
 * Lease what was found in place @i of the window, if it is visible. @r then says
 * that it is, or why not. Returns 0, or that the call fails for want of a lease.
 */
static int lookup_lease(struct keys_call *call, struct keys_scratch *s, u32 i, u64 *bytes,
			struct kvstash_result *r)
{
	struct kvs_object *obj = kvs_index_get_in_view(&s->key[i], &s->view);
	int ret = -ENOENT;

	memset(&s->lease[i], 0, sizeof(s->lease[i]));
	if (obj && !kvs_view_sees(&s->view, obj))
		kvs_view_absence(&s->view, obj, r);
	else if (obj)
		ret = kvs_keys_lease(call, s, i, obj, r);
	if (!ret)
		*bytes += READ_ONCE(obj->bytes);
	else if (ret == -ENOENT && !r->reason)
		kvs_result(r, ret, KVSTASH_R_MISS, 0);
	kvs_object_put(obj);
	return ret && ret != -ENOENT ? lookup_refuse_lease(call, r) : 0;
}

/* The same, with a lease on each. */
static int lookup_window_lease(struct keys_call *call, struct keys_scratch *s,
			       struct lookup *l, u32 *run)
{
	u32 i;
	int ret;

	for (i = 0; i < call->nr; i++) {
		ret = lookup_lease(call, s, i, &l->bytes, &l->end);
		if (ret)
			return ret;
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
		if (l->lease)
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

/* What there is of one candidate, whose key is in place 0 of the window. */
static int lookup_state(struct keys_call *call, struct keys_scratch *s, bool lease,
			struct kvstash_candidate *e)
{
	struct kvs_object *obj;
	int ret = 0;

	if (!kvs_view_ready(&s->view, 1))
		return KEYS_REFUSE(call, KVSTASH_R_NO_MEMORY, size, -ENOMEM);
	if (lease) {
		ret = lookup_lease(call, s, 0, &e->bytes, &e->r);
		e->lease = s->lease[0];
	} else {
		rcu_read_lock();
		obj = kvs_index_find_in_view(&s->key[0], &s->view);
		if (!obj)
			kvs_result(&e->r, -ENOENT, KVSTASH_R_MISS, 0);
		else if (kvs_view_sees(&s->view, obj))
			e->bytes = READ_ONCE(obj->bytes);
		else
			kvs_view_absence(&s->view, obj, &e->r);
		rcu_read_unlock();
	}
	if (!ret)
		kvs_state_probed(&s->key[0], &e->r);
	return ret;
}

/* Take in the candidates, all before the first is looked for. */
static int states_in(struct keys_call *call, struct lookup *l)
{
	const struct kvstash_keys *hdr = &call->hdr;
	size_t size = sizeof(l->states[0]);
	u32 i;
	int ret;

	for (i = 0; i < hdr->nr_candidates; i++) {
		u64 from = hdr->candidates + (u64)i * hdr->candidate_stride;
		struct kvstash_candidate *e = &l->states[i];

		ret = copy_struct_from_user(e, size, u64_to_user_ptr(from), hdr->candidate_stride);
		if (ret == -EFAULT)
			return KEYS_REFUSE(call, KVSTASH_R_BUFFER, candidates, ret);
		if (ret)
			return KEYS_REFUSE(call, KVSTASH_R_SIZE, candidate_stride, ret);
		memset(&e->r, 0, sizeof(e->r));
		memset(&e->lease, 0, sizeof(e->lease));
		e->bytes = 0;
		if (e->reserved || e->reserved2)
			kvs_result(&e->r, -EINVAL, KVSTASH_R_RESERVED, 0);
	}
	return 0;
}

static int states_out(struct keys_call *call, const struct lookup *l)
{
	const struct kvstash_keys *hdr = &call->hdr;
	u32 i;

	for (i = 0; i < hdr->nr_candidates; i++)
		if (copy_to_user(u64_to_user_ptr(hdr->candidates +
						 (u64)i * hdr->candidate_stride),
				 &l->states[i], sizeof(l->states[i])))
			return KEYS_REFUSE(call, KVSTASH_R_BUFFER, candidates, -EFAULT);
	return 0;
}

static int lookup_states(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s,
			 struct lookup *l)
{
	u32 i;
	int ret;

	for (i = 0; i < call->hdr.nr_candidates; i++) {
		struct kvstash_candidate *e = &l->states[i];

		if (fatal_signal_pending(current))
			return -EINTR;
		if (e->r.res || kvs_key_copy(&s->key[0], ns, s->bytes, e->key, e->key_len,
					     KVSTASH_KIND_STATE, &e->r))
			continue;
		ret = lookup_state(call, s, l->lease, e);
		if (ret)
			return ret;
		cond_resched();
	}
	return 0;
}

static int check_candidates(struct keys_call *call)
{
	const struct kvstash_keys *hdr = &call->hdr;
	u64 bytes = (u64)hdr->nr_candidates * hdr->candidate_stride;

	if (hdr->nr_candidates > KVSTASH_CANDIDATES_MAX)
		return KEYS_REFUSE(call, KVSTASH_R_COUNT, nr_candidates, -EINVAL);
	if (!hdr->nr_candidates) {
		if (hdr->candidates)
			return KEYS_REFUSE(call, KVSTASH_R_RESERVED, candidates, -EINVAL);
		return hdr->candidate_stride ?
		       KEYS_REFUSE(call, KVSTASH_R_RESERVED, candidate_stride, -EINVAL) : 0;
	}
	if (hdr->candidate_stride < sizeof(struct kvstash_candidate) || hdr->candidate_stride % 8)
		return KEYS_REFUSE(call, KVSTASH_R_SIZE, candidate_stride, -EINVAL);
	if (hdr->candidate_stride > PAGE_SIZE)
		return KEYS_REFUSE(call, KVSTASH_R_SIZE, candidate_stride, -E2BIG);
	if (hdr->candidates % 8)
		return KEYS_REFUSE(call, KVSTASH_R_ALIGN, candidates, -EINVAL);
	if (hdr->candidates + bytes < hdr->candidates ||
	    !access_ok(u64_to_user_ptr(hdr->candidates), bytes))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, candidates, -EFAULT);
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
	return check_candidates(call);
}

static int lookup_out(struct keys_call *call, const struct lookup *l)
{
	struct kvstash_keys __user *out = call->arg;

	if (states_out(call, l))
		return -EFAULT;
	if (l->lease && copy_to_user(u64_to_user_ptr(call->hdr.leases), l->leases,
				     call->hdr.count * sizeof(*l->leases)))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, leases, -EFAULT);
	/* Why the run ends comes last: of a call that fails it says something else. */
	if (copy_to_user(&out->bytes, &l->bytes, sizeof(l->bytes)) ||
	    put_user(call->hdr.count, &out->done) || put_user(call->done, &out->run) ||
	    put_user(l->end.reason, &out->reason))
		return -EFAULT;
	return 0;
}

/* All or none is leased: a call that fails leaves no lease behind. */
static void lookup_undo(struct keys_call *call, struct lookup *l)
{
	u32 i;

	for (i = 0; l->lease && i < call->hdr.count; i++) {
		kvs_lease_undo(call->client, &l->leases[i]);
		cond_resched();
	}
	for (i = 0; l->lease && i < call->hdr.nr_candidates; i++)
		kvs_lease_undo(call->client, &l->states[i].lease);
}

static int lookup_run(struct keys_call *call, struct kvs_ns *ns, struct lookup *l)
{
	struct keys_scratch *s;
	int ret;

	ret = states_in(call, l);
	if (ret)
		return ret;
	s = kvs_keys_scratch(false);
	if (!s)
		return KEYS_REFUSE(call, KVSTASH_R_NO_MEMORY, size, -ENOMEM);
	kvs_view_begin(&s->view, ns, s->sights, ARRAY_SIZE(s->sights));
	ret = lookup_windows(call, ns, s, l);
	if (!ret)
		ret = lookup_states(call, ns, s, l);
	kvs_view_end(&s->view);
	kfree(s);
	if (!ret)
		ret = lookup_out(call, l);
	if (ret)
		lookup_undo(call, l);
	return ret;
}

/* Room for what goes back. */
static int lookup_alloc(struct keys_call *call, struct lookup *l)
{
	const struct kvstash_keys *hdr = &call->hdr;

	l->lease = hdr->flags & KVSTASH_KEYS_LEASE;
	if (l->lease && hdr->count) {
		l->leases = kvcalloc(hdr->count, sizeof(*l->leases), GFP_KERNEL);
		if (!l->leases)
			return KEYS_REFUSE(call, KVSTASH_R_NO_MEMORY, size, -ENOMEM);
	}
	if (hdr->nr_candidates) {
		l->states = kvcalloc(hdr->nr_candidates, sizeof(*l->states), GFP_KERNEL);
		if (!l->states)
			return KEYS_REFUSE(call, KVSTASH_R_NO_MEMORY, size, -ENOMEM);
	}
	return 0;
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
	ret = lookup_alloc(&call, &l);
	if (!ret)
		ret = lookup_run(&call, client->ns, &l);
	kvfree(l.leases);
	kvfree(l.states);
	return ret;
}
