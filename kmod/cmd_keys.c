// SPDX-License-Identifier: GPL-2.0
/*
 * EXISTS, REMOVE, PIN: commands with a result for each key of a list.
 *
 * Locking: EXISTS runs under RCU only, takes no reference and stores nothing in an
 * object, unless it takes leases. What it sees of groups is of one moment: view.c.
 */
#include <linux/prefetch.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "batch.h"
#include "client.h"
#include "group.h"
#include "keys.h"
#include "lease.h"
#include "object.h"
#include "pin.h"
#include "result.h"
#include "state.h"

/* Where results go, for those commands that have some. */
static int keys_check_results(struct keys_call *call, bool tags)
{
	const struct kvstash_keys *hdr = &call->hdr;

	if (hdr->stride < KVSTASH_EXISTS_SIZE_VER0 || hdr->stride % 8)
		return KEYS_REFUSE(call, KVSTASH_R_SIZE, stride, -EINVAL);
	if (hdr->stride > PAGE_SIZE)
		return KEYS_REFUSE(call, KVSTASH_R_SIZE, stride, -E2BIG);
	if (hdr->results % 8)
		return KEYS_REFUSE(call, KVSTASH_R_ALIGN, results, -EINVAL);
	if (!access_ok(u64_to_user_ptr(hdr->results), (u64)hdr->count * hdr->stride))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, results, -EFAULT);
	if (hdr->tags && !tags)
		return KEYS_REFUSE(call, KVSTASH_R_RESERVED, tags, -EINVAL);
	if (!access_ok(u64_to_user_ptr(hdr->tags), (u64)hdr->count * KVSTASH_TAG_MAX))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, tags, -EFAULT);
	return 0;
}

/* They are LOOKUP's. */
static int keys_check_no_candidates(struct keys_call *call)
{
	if (call->hdr.candidates)
		return KEYS_REFUSE(call, KVSTASH_R_RESERVED, candidates, -EINVAL);
	if (call->hdr.nr_candidates)
		return KEYS_REFUSE(call, KVSTASH_R_RESERVED, nr_candidates, -EINVAL);
	return call->hdr.candidate_stride ?
	       KEYS_REFUSE(call, KVSTASH_R_RESERVED, candidate_stride, -EINVAL) : 0;
}

/* What there is of the group that @obj is, or is a member of. */
static void exists_fill_group(struct kvs_object *group, struct kvs_view *view,
			      struct kvstash_exists *res)
{
	struct kvs_sight sight;

	kvs_view_group(view, group, &sight);
	res->members = group->group->expected;
	res->members_present = sight.present;
	res->group_state = sight.state;
	res->group_flags = kvs_group_atomic(group) ? KVSTASH_GROUP_ATOMIC : 0;
	res->pin = READ_ONCE(group->pin);
}

static u8 state_of_reason(u32 reason)
{
	switch (reason) {
	case KVSTASH_R_PARENT_PENDING:
		return KVSTASH_STATE_WAITING;
	case KVSTASH_R_EXPIRED:
		return KVSTASH_STATE_EXPIRED;
	}
	return KVSTASH_STATE_FILLING;
}

static void exists_fill_extra(const struct kvs_extra *extra, struct kvstash_exists *res, u8 *tag)
{
	memcpy(res->manifest, extra->manifest, KVSTASH_DIGEST_LEN);
	res->tag_len = extra->tag_len;
	if (tag)
		memcpy(tag, extra->tag, extra->tag_len);
}

/* Inline: the call alone would be a thirtieth of what EXISTS costs a key. */
static __always_inline void exists_fill(struct kvs_object *obj, struct kvs_view *view,
					struct kvstash_exists *res, u8 *tag)
{
	u8 state;

	if (!obj) {
		kvs_result(&res->r, -ENOENT, KVSTASH_R_MISS, 0);
		return;
	}
	/* Pairs with the release when it is published: parts and bytes are there. */
	state = smp_load_acquire(&obj->state);
	if (likely(state == KVS_VISIBLE) || kvs_view_sees_slow(view, obj, state)) {
		res->state = KVSTASH_STATE_VISIBLE;
	} else {
		kvs_view_absence(view, obj, &res->r);
		/* It died since it was found: then it was never there. */
		if (res->r.reason == KVSTASH_R_MISS)
			return;
		res->state = state_of_reason(res->r.reason);
	}
	res->object_size = READ_ONCE(obj->bytes);
	res->parts = obj->nr_parts;
	res->parts_present = READ_ONCE(obj->nr_present);
	res->pin = READ_ONCE(obj->pin);
	if (unlikely(state != KVS_VISIBLE)) {
		if (kvs_object_is_group(obj))
			exists_fill_group(obj, view, res);
		else if (kvs_object_is_member(obj))
			exists_fill_group(obj->parent, view, res);
	}
	if (unlikely(obj->extra))
		exists_fill_extra(obj->extra, res, tag);
}

static int results_out(struct keys_call *call, const struct keys_scratch *s, size_t size)
{
	u64 to = call->hdr.results + (u64)call->done * call->hdr.stride;
	u32 i;

	if (call->hdr.stride == size)
		return copy_to_user(u64_to_user_ptr(to), s->result, call->nr * size) ?
		       -EFAULT : 0;
	size = min_t(size_t, size, call->hdr.stride);
	for (i = 0; i < call->nr; i++, to += call->hdr.stride)
		if (copy_to_user(u64_to_user_ptr(to), &s->result[i], size))
			return -EFAULT;
	return 0;
}

static void exists_window(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s)
{
	u32 i, hits = 0;

	memset(s->result, 0, call->nr * sizeof(s->result[0]));
	if (s->tags)
		memset(s->tags, 0, call->nr * sizeof(s->tags[0]));
	rcu_read_lock();
	kvs_keys_prefetch_objects(call, s);
	for (i = 0; i < call->nr; i++) {
		exists_fill(kvs_index_find_in_view(&s->key[i], &s->view), &s->view,
			    &s->result[i], s->tags ? s->tags[i] : NULL);
		hits += !s->result[i].r.res;
	}
	rcu_read_unlock();
	kvs_stat_add(ns, EXISTS_KEYS, call->nr);
	kvs_stat_add(ns, EXISTS_HITS, hits);
}

static void exists_forget(struct keys_scratch *s, u32 i)
{
	memset(&s->result[i], 0, sizeof(s->result[i]));
	if (s->tags)
		memset(s->tags[i], 0, sizeof(s->tags[i]));
}

/*
 * Lease what EXISTS found visible in a window. Each key is looked for again, and may
 * be another object's by now: so it is told again, too, and the view needs room for
 * those groups. Returns 0 or -ENOMEM.
 */
static int exists_lease(struct keys_call *call, struct keys_scratch *s)
{
	u32 i;
	int ret;

	if (!kvs_view_ready(&s->view, call->nr))
		return KEYS_REFUSE(call, KVSTASH_R_NO_MEMORY, size, -ENOMEM);
	memset(s->lease, 0, call->nr * sizeof(s->lease[0]));
	for (i = 0; i < call->nr; i++) {
		struct kvstash_exists *res = &s->result[i];
		struct kvs_object *obj;

		if (res->r.res)
			continue;
		obj = kvs_index_get_in_view(&s->key[i], &s->view);
		exists_forget(s, i);
		exists_fill(obj, &s->view, res, s->tags ? s->tags[i] : NULL);
		ret = res->r.res ? 0 : kvs_keys_lease(call, s, i, obj, &res->r);
		kvs_object_put(obj);
		if (ret == -ENOENT) {
			exists_forget(s, i);
			kvs_result(&res->r, ret, KVSTASH_R_MISS, 0);
		}
		cond_resched();
	}
	return 0;
}

/* Leases whose handles could not be delivered. */
static void leases_undo(struct keys_call *call, struct keys_scratch *s)
{
	u32 i;

	for (i = 0; i < call->nr; i++)
		kvs_lease_undo(call->client, &s->lease[i]);
}

static void remove_key(struct kvs_object *obj, bool member, struct kvstash_result *r)
{
	int ret = -ENOENT;

	if (obj)
		ret = member ? kvs_group_remove_member(obj) :
			       kvs_object_remove(kvs_object_unit(obj));
	switch (ret) {
	case -ENOENT:
		kvs_result(r, ret, KVSTASH_R_MISS, 0);
		break;
	case -EBUSY:
		kvs_result(r, ret, KVSTASH_R_IN_FLIGHT, 0);
		break;
	case -EINVAL:
		kvs_result(r, ret, KVSTASH_R_NO_MEMBER, 0);
		break;
	case -EPERM:
		kvs_result(r, -EINVAL, KVSTASH_R_GROUP_ATOMIC, 0);
		break;
	}
}

static void remove_window(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s)
{
	u32 i;

	memset(s->result, 0, call->nr * sizeof(s->result[0]));
	for (i = 0; i < call->nr; i++) {
		struct kvs_object *obj = kvs_index_get(&s->key[i]);

		remove_key(obj, call->hdr.flags & KVSTASH_KEYS_MEMBER, &s->result[i].r);
		kvs_object_put(obj);
		cond_resched();
	}
}

static void pin_window(struct keys_call *call, struct keys_scratch *s)
{
	u32 i;

	memset(s->result, 0, call->nr * sizeof(s->result[0]));
	for (i = 0; i < call->nr; i++) {
		struct kvs_object *obj = kvs_index_get_in_view(&s->key[i], &s->view);
		struct kvstash_result *r = &s->result[i].r;
		int ret = obj ? 0 : -ENOENT;

		if (obj && !kvs_view_sees(&s->view, obj))
			kvs_view_absence(&s->view, obj, r);
		else if (obj)
			ret = kvs_pin(obj, call->hdr.pin, r);
		if (ret == -ENOENT)
			kvs_result(r, ret, KVSTASH_R_MISS, 0);
		kvs_object_put(obj);
		cond_resched();
	}
}

/* Keys that a signal came before: not carried out, and not leased. */
static int mark_interrupted(struct keys_call *call)
{
	struct kvstash_result r = { .res = -EINTR, .reason = KVSTASH_R_INTERRUPTED };
	u64 size = sizeof(struct kvstash_handle);
	u32 i;

	if (call->hdr.leases &&
	    clear_user(u64_to_user_ptr(call->hdr.leases + call->done * size),
		       (call->hdr.count - call->done) * size))
		return -EFAULT;

	for (i = call->done; i < call->hdr.count; i++)
		if (copy_to_user(u64_to_user_ptr(call->hdr.results + (u64)i * call->hdr.stride),
				 &r, sizeof(r)))
			return -EFAULT;
	return 0;
}

static int exists_out(struct keys_call *call, struct keys_scratch *s)
{
	u64 tags = call->hdr.tags + (u64)call->done * KVSTASH_TAG_MAX;
	u64 leases = call->hdr.leases + (u64)call->done * sizeof(s->lease[0]);

	if (s->tags &&
	    copy_to_user(u64_to_user_ptr(tags), s->tags, call->nr * sizeof(s->tags[0])))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, tags, -EFAULT);
	if (call->hdr.leases &&
	    copy_to_user(u64_to_user_ptr(leases), s->lease, call->nr * sizeof(s->lease[0])))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, leases, -EFAULT);
	if (results_out(call, s, sizeof(struct kvstash_exists)))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, results, -EFAULT);
	return 0;
}

static int exists_run(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s)
{
	u32 i;
	int ret;

	exists_window(call, ns, s);
	ret = call->hdr.leases ? exists_lease(call, s) : 0;
	if (ret)
		return ret;
	for (i = 0; unlikely(call->hdr.kind == KVSTASH_KIND_STATE) && i < call->nr; i++)
		kvs_state_probed(&s->key[i], &s->result[i].r);
	ret = exists_out(call, s);
	if (ret && call->hdr.leases)
		leases_undo(call, s);
	return ret;
}

/* Results must be writable before anything is changed. */
static int results_probe(const struct keys_call *call)
{
	u64 to = call->hdr.results + (u64)call->done * call->hdr.stride;
	u32 i;

	for (i = 0; i < call->nr; i++, to += call->hdr.stride)
		if (clear_user(u64_to_user_ptr(to), sizeof(struct kvstash_result)))
			return -EFAULT;
	return 0;
}

static int remove_run(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s)
{
	if (results_probe(call))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, results, -EFAULT);
	remove_window(call, ns, s);
	if (results_out(call, s, sizeof(struct kvstash_result)))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, results, -EFAULT);
	return 0;
}

static int pin_run(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s)
{
	if (results_probe(call))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, results, -EFAULT);
	pin_window(call, s);
	if (results_out(call, s, sizeof(struct kvstash_result)))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, results, -EFAULT);
	return 0;
}

/* All but LOOKUP: windows until all keys are done or a signal comes. */
static int keys_windows(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s,
			int (*run)(struct keys_call *call, struct kvs_ns *ns,
				   struct keys_scratch *s))
{
	int ret;

	while (call->done < call->hdr.count) {
		if (call->done && signal_pending(current))
			return mark_interrupted(call);
		ret = kvs_keys_window(call, ns, s);
		if (!ret)
			ret = run(call, ns, s);
		if (ret)
			return ret;
		call->done += call->nr;
		cond_resched();
	}
	return 0;
}

/**
 * struct keys_op - a command with a result for each key
 * @rights: KVS_MAY_* that it needs
 * @flags:  KVSTASH_KEYS_* that it knows
 * @tags:   it has tags to give
 * @pin:    it takes a pin
 * @run:    carry out a window
 */
struct keys_op {
	unsigned int rights;
	u32 flags;
	bool tags;
	bool pin;
	int (*run)(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s);
};

static long keys_command(struct kvs_client *client, void __user *arg, const struct keys_op *op)
{
	struct keys_scratch *s;
	struct keys_call call;
	int ret;

	ret = kvs_keys_begin(&call, client, arg, op->rights, op->flags);
	if (ret)
		return ret;
	ret = keys_check_no_candidates(&call);
	if (ret)
		return ret;
	if (call.hdr.pin > (op->pin ? KVSTASH_PIN_HARD : 0))
		return KEYS_REFUSE(&call, op->pin ? KVSTASH_R_PIN : KVSTASH_R_RESERVED, pin,
				   -EINVAL);
	ret = keys_check_results(&call, op->tags);
	if (ret)
		return ret;
	s = kvs_keys_scratch(call.hdr.tags);
	if (!s)
		return KEYS_REFUSE(&call, KVSTASH_R_NO_MEMORY, size, -ENOMEM);
	kvs_view_begin(&s->view, client->ns, s->sights, ARRAY_SIZE(s->sights));
	ret = keys_windows(&call, client->ns, s, op->run);
	kvs_view_end(&s->view);
	kfree(s->tags);
	kfree(s);
	if (put_user(call.done, (u32 __user *)(arg + offsetof(struct kvstash_keys, done))))
		return -EFAULT;
	return ret;
}

static const struct keys_op exists_op = {
	.rights = KVS_MAY_READ,
	.flags = KVSTASH_KEYS_LEASE,
	.tags = true,
	.run = exists_run,
};

static const struct keys_op remove_op = {
	.rights = KVS_MAY_WRITE,
	.flags = KVSTASH_KEYS_MEMBER,
	.run = remove_run,
};

static const struct keys_op pin_op = {
	.rights = KVS_MAY_WRITE,
	.pin = true,
	.run = pin_run,
};

long kvs_exists(struct kvs_client *client, void __user *arg)
{
	return keys_command(client, arg, &exists_op);
}

long kvs_remove(struct kvs_client *client, void __user *arg)
{
	return keys_command(client, arg, &remove_op);
}

long kvs_pin_keys(struct kvs_client *client, void __user *arg)
{
	return keys_command(client, arg, &pin_op);
}
