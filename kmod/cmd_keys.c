// SPDX-License-Identifier: GPL-2.0
/*
 * EXISTS, REMOVE, LOOKUP: lists of keys.
 *
 * Locking: EXISTS and LOOKUP run under RCU only, take no reference and store
 * nothing in an object. A window of keys is hashed first, and buckets and
 * objects are prefetched, so that the cache misses of many keys overlap.
 */
#include <linux/prefetch.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "batch.h"
#include "client.h"
#include "object.h"
#include "result.h"

#define KEYS_WINDOW	64
#define KEYS_BYTES	4096
#define KEYS_PREFETCH	3	/* places of a chain that are fetched ahead */

/**
 * struct keys_scratch - memory of one call
 * @lens:   lengths of the window's keys
 * @key:    the window's keys
 * @at:     where in its chain each key's prefetch is
 * @bytes:  their bytes
 * @result: results of EXISTS
 * @tags:   tags for EXISTS, KVSTASH_TAG_MAX bytes each, or NULL
 */
struct keys_scratch {
	u16 lens[KEYS_WINDOW];
	struct kvs_key key[KEYS_WINDOW];
	struct hlist_node *at[KEYS_WINDOW];
	u8 bytes[KEYS_BYTES];
	struct kvstash_exists result[KEYS_WINDOW];
	u8 (*tags)[KVSTASH_TAG_MAX];
};

static struct keys_scratch *keys_scratch(bool tags)
{
	struct keys_scratch *s = kmalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	s->tags = NULL;
	if (!tags)
		return s;
	s->tags = kmalloc_array(KEYS_WINDOW, sizeof(*s->tags), GFP_KERNEL);
	if (s->tags)
		return s;
	kfree(s);
	return NULL;
}

/**
 * struct keys_call - a call under way
 * @arg:  user address of the argument
 * @hdr:  the argument
 * @next: user address of the next key's bytes
 * @done: keys carried out
 * @nr:   keys in the window
 */
struct keys_call {
	void __user *arg;
	struct kvstash_keys hdr;
	u64 next;
	u32 done;
	u32 nr;
};

static int keys_refuse(struct keys_call *call, u32 reason, u32 field, int ret)
{
	return kvs_refuse(call->arg, offsetof(struct kvstash_keys, reason), reason,
			  offsetof(struct kvstash_keys, field), field, ret);
}

#define KEYS_REFUSE(call, reason, member, ret) \
	keys_refuse(call, reason, offsetof(struct kvstash_keys, member), ret)

static int keys_check(struct keys_call *call)
{
	const struct kvstash_keys *hdr = &call->hdr;

	if (hdr->flags)
		return KEYS_REFUSE(call, KVSTASH_R_FLAGS, flags, -EINVAL);
	if (hdr->reserved)
		return KEYS_REFUSE(call, KVSTASH_R_RESERVED, reserved, -EINVAL);
	if (hdr->reserved2)
		return KEYS_REFUSE(call, KVSTASH_R_RESERVED, reserved2, -EINVAL);
	if (hdr->kind != KVSTASH_KIND_PAGE)
		return KEYS_REFUSE(call, KVSTASH_R_KIND, kind, -EINVAL);
	if (!hdr->count || hdr->count > KVSTASH_BATCH_MAX)
		return KEYS_REFUSE(call, KVSTASH_R_COUNT, count, -EINVAL);
	if (hdr->lens ? hdr->key_len : !hdr->key_len || hdr->key_len > KVSTASH_KEY_MAX)
		return KEYS_REFUSE(call, KVSTASH_R_KEY_LEN, key_len, -EINVAL);
	if (hdr->lens % sizeof(u16))
		return KEYS_REFUSE(call, KVSTASH_R_ALIGN, lens, -EINVAL);
	return 0;
}

/* Where results go, for those commands that have some. */
static int keys_check_results(struct keys_call *call, bool tags)
{
	const struct kvstash_keys *hdr = &call->hdr;

	if (hdr->stride < sizeof(struct kvstash_exists) || hdr->stride % 8)
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

static int keys_begin(struct keys_call *call, struct kvs_client *client, void __user *arg,
		      unsigned int rights)
{
	u32 usize, reason;
	int ret;

	memset(call, 0, sizeof(*call));
	call->arg = arg;
	ret = kvs_copy_struct(&call->hdr, sizeof(call->hdr), arg, &usize);
	if (ret == -E2BIG)
		return KEYS_REFUSE(call, KVSTASH_R_SIZE, size, ret);
	if (ret)
		return ret;
	ret = keys_check(call);
	if (ret)
		return ret;
	call->next = call->hdr.keys;
	ret = kvs_client_ready(client, rights, &reason);
	if (ret)
		return KEYS_REFUSE(call, reason, size, ret);
	return 0;
}

/* How many of @nr keys fit the buffer, and their bytes. Lengths are checked. */
static int keys_measure(struct keys_call *call, struct keys_scratch *s, u32 *nr, u32 *bytes)
{
	u32 i;

	if (!call->hdr.lens) {
		*nr = min(*nr, KEYS_BYTES / call->hdr.key_len);
		*bytes = *nr * call->hdr.key_len;
		for (i = 0; i < *nr; i++)
			s->lens[i] = call->hdr.key_len;
		return 0;
	}
	if (copy_from_user(s->lens, u64_to_user_ptr(call->hdr.lens + call->done * sizeof(u16)),
			   *nr * sizeof(u16)))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, lens, -EFAULT);
	for (i = 0, *bytes = 0; i < *nr; i++) {
		if (!s->lens[i] || s->lens[i] > KVSTASH_KEY_MAX)
			return KEYS_REFUSE(call, KVSTASH_R_KEY_LEN, lens, -EINVAL);
		if (*bytes + s->lens[i] > KEYS_BYTES)
			break;
		*bytes += s->lens[i];
	}
	*nr = i;
	return 0;
}

/* Fetch and hash the next window of keys. */
static int keys_window(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s)
{
	u32 nr = min_t(u32, call->hdr.count - call->done, KEYS_WINDOW), bytes, i;
	u8 *at = s->bytes;
	int ret;

	ret = keys_measure(call, s, &nr, &bytes);
	if (ret)
		return ret;
	if (copy_from_user(s->bytes, u64_to_user_ptr(call->next), bytes))
		return KEYS_REFUSE(call, KVSTASH_R_KEY_FAULT, keys, -EFAULT);
	for (i = 0; i < nr; at += s->lens[i], i++) {
		struct kvs_key *key = &s->key[i];

		key->data = at;
		key->len = s->lens[i];
		key->kind = call->hdr.kind;
		key->ns = ns;
		key->hash = kvs_index_hash(ns, key->kind, at, key->len);
		prefetch(kvs_index_bucket(ns->pool->index, key->hash));
	}
	call->next += bytes;
	call->nr = nr;
	return 0;
}

/*
 * Fetch the objects of a window, under RCU: the first of each chain, then the
 * next of those that turned out to be another key's.
 */
static void keys_prefetch_objects(const struct keys_call *call, const struct kvs_ns *ns,
				  struct keys_scratch *s)
{
	struct hlist_node *node;
	u32 i, step;

	for (i = 0; i < call->nr; i++) {
		struct hlist_head *bucket = kvs_index_bucket(ns->pool->index, s->key[i].hash);

		s->at[i] = rcu_dereference(hlist_first_rcu(bucket));
		prefetch(s->at[i]);
	}
	for (step = 0; step < KEYS_PREFETCH; step++) {
		for (i = 0; i < call->nr; i++) {
			struct kvs_object *obj = hlist_entry_safe(s->at[i], struct kvs_object,
								  hash_node);

			if (!obj)
				continue;
			if (obj->hash == s->key[i].hash) {
				prefetch(obj->key);
				continue;
			}
			node = rcu_dereference(hlist_next_rcu(s->at[i]));
			prefetch(node);
			s->at[i] = node;
		}
	}
}

static void exists_fill(const struct kvs_object *obj, struct kvstash_exists *res, u8 *tag)
{
	const struct kvs_extra *extra;

	if (!obj) {
		kvs_result(&res->r, -ENOENT, KVSTASH_R_MISS, 0);
		return;
	}
	if (kvs_object_visible(obj))
		res->state = KVSTASH_STATE_VISIBLE;
	else
		kvs_object_absence(obj, &res->r);
	/* It died since it was found: then it was never there. */
	if (res->r.reason == KVSTASH_R_MISS)
		return;
	if (res->r.reason == KVSTASH_R_PARENT_PENDING)
		res->state = KVSTASH_STATE_WAITING;
	else if (res->r.reason)
		res->state = KVSTASH_STATE_FILLING;
	res->object_size = READ_ONCE(obj->bytes);
	res->parts = obj->nr_parts;
	res->parts_present = READ_ONCE(obj->nr_present);
	extra = obj->extra;
	if (extra) {
		memcpy(res->manifest, extra->manifest, KVSTASH_DIGEST_LEN);
		res->tag_len = extra->tag_len;
		if (tag)
			memcpy(tag, extra->tag, extra->tag_len);
	}
}

static int results_out(struct keys_call *call, const struct keys_scratch *s, size_t size)
{
	u64 to = call->hdr.results + (u64)call->done * call->hdr.stride;
	u32 i;

	if (call->hdr.stride == size)
		return copy_to_user(u64_to_user_ptr(to), s->result, call->nr * size) ?
		       -EFAULT : 0;
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
	keys_prefetch_objects(call, ns, s);
	for (i = 0; i < call->nr; i++) {
		exists_fill(kvs_index_find_rcu(&s->key[i]), &s->result[i],
			    s->tags ? s->tags[i] : NULL);
		hits += !s->result[i].r.res;
	}
	rcu_read_unlock();
	kvs_stat_add(ns, EXISTS_KEYS, call->nr);
	kvs_stat_add(ns, EXISTS_HITS, hits);
}

static void remove_window(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s)
{
	u32 i;

	memset(s->result, 0, call->nr * sizeof(s->result[0]));
	for (i = 0; i < call->nr; i++) {
		struct kvs_object *obj = kvs_index_get(&s->key[i]);
		struct kvstash_result *r = &s->result[i].r;
		int ret = obj ? kvs_object_remove(obj) : -ENOENT;

		if (ret == -ENOENT)
			kvs_result(r, ret, KVSTASH_R_MISS, 0);
		else if (ret)
			kvs_result(r, ret, KVSTASH_R_IN_FLIGHT, 0);
		kvs_object_put(obj);
		cond_resched();
	}
}

/* Keys that a signal came before. */
static int mark_interrupted(struct keys_call *call)
{
	struct kvstash_result r = { .res = -EINTR, .reason = KVSTASH_R_INTERRUPTED };
	u32 i;

	for (i = call->done; i < call->hdr.count; i++)
		if (copy_to_user(u64_to_user_ptr(call->hdr.results + (u64)i * call->hdr.stride),
				 &r, sizeof(r)))
			return -EFAULT;
	return 0;
}

static int exists_run(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s)
{
	u64 to = call->hdr.tags + (u64)call->done * KVSTASH_TAG_MAX;

	exists_window(call, ns, s);
	if (s->tags && copy_to_user(u64_to_user_ptr(to), s->tags, call->nr * sizeof(s->tags[0])))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, tags, -EFAULT);
	if (results_out(call, s, sizeof(struct kvstash_exists)))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, results, -EFAULT);
	return 0;
}

/* Results must be writable before anything is removed. */
static int remove_probe(const struct keys_call *call)
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
	if (remove_probe(call))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, results, -EFAULT);
	remove_window(call, ns, s);
	if (results_out(call, s, sizeof(struct kvstash_result)))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, results, -EFAULT);
	return 0;
}

/* EXISTS and REMOVE: windows until all keys are done or a signal comes. */
static int keys_windows(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s,
			int (*run)(struct keys_call *call, struct kvs_ns *ns,
				   struct keys_scratch *s))
{
	int ret;

	while (call->done < call->hdr.count) {
		if (call->done && signal_pending(current))
			return mark_interrupted(call);
		ret = keys_window(call, ns, s);
		if (!ret)
			ret = run(call, ns, s);
		if (ret)
			return ret;
		call->done += call->nr;
		cond_resched();
	}
	return 0;
}

static long keys_command(struct kvs_client *client, void __user *arg, unsigned int rights,
			 bool tags, int (*run)(struct keys_call *call, struct kvs_ns *ns,
					       struct keys_scratch *s))
{
	struct keys_scratch *s;
	struct keys_call call;
	int ret;

	ret = keys_begin(&call, client, arg, rights);
	if (ret)
		return ret;
	ret = keys_check_results(&call, tags);
	if (ret)
		return ret;
	s = keys_scratch(call.hdr.tags);
	if (!s)
		return KEYS_REFUSE(&call, KVSTASH_R_NO_MEMORY, size, -ENOMEM);
	ret = keys_windows(&call, client->ns, s, run);
	kfree(s->tags);
	kfree(s);
	if (put_user(call.done, (u32 __user *)(arg + offsetof(struct kvstash_keys, done))))
		return -EFAULT;
	return ret;
}

long kvs_exists(struct kvs_client *client, void __user *arg)
{
	return keys_command(client, arg, KVS_MAY_READ, true, exists_run);
}

long kvs_remove(struct kvs_client *client, void __user *arg)
{
	return keys_command(client, arg, KVS_MAY_WRITE, false, remove_run);
}

/* Count the visible keys of a window from its first on. */
static u32 lookup_window(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s,
			 u64 *bytes, struct kvstash_result *end)
{
	u32 i;

	rcu_read_lock();
	keys_prefetch_objects(call, ns, s);
	for (i = 0; i < call->nr; i++) {
		const struct kvs_object *obj = kvs_index_find_rcu(&s->key[i]);

		if (!obj) {
			kvs_result(end, -ENOENT, KVSTASH_R_MISS, 0);
			break;
		}
		if (!kvs_object_visible(obj)) {
			kvs_object_absence(obj, end);
			break;
		}
		*bytes += READ_ONCE(obj->bytes);
	}
	rcu_read_unlock();
	return i;
}

static int lookup_windows(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s,
			  struct kvstash_result *end, u64 *bytes)
{
	u32 run;
	int ret;

	while (call->done < call->hdr.count) {
		/* Cut short it would be a wrong fact: only death ends it early. */
		if (fatal_signal_pending(current))
			return -EINTR;
		ret = keys_window(call, ns, s);
		if (ret)
			return ret;
		run = lookup_window(call, ns, s, bytes, end);
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
	return 0;
}

long kvs_lookup(struct kvs_client *client, void __user *arg)
{
	struct kvstash_keys __user *out = arg;
	struct kvstash_result end = {};
	struct keys_scratch *s;
	struct keys_call call;
	u64 bytes = 0;
	int ret;

	ret = keys_begin(&call, client, arg, KVS_MAY_READ);
	if (ret)
		return ret;
	ret = lookup_check(&call);
	if (ret)
		return ret;
	s = keys_scratch(false);
	if (!s)
		return KEYS_REFUSE(&call, KVSTASH_R_NO_MEMORY, size, -ENOMEM);
	ret = lookup_windows(&call, client->ns, s, &end, &bytes);
	kfree(s);
	if (ret)
		return ret;
	if (put_user(call.hdr.count, &out->done) || put_user(call.done, &out->run) ||
	    put_user(end.reason, &out->reason) || copy_to_user(&out->bytes, &bytes, sizeof(bytes)))
		return -EFAULT;
	return 0;
}
