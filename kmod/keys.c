// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of keys, a window at a time.
 *
 * Locking: none; objects are prefetched under RCU. A window of keys is hashed
 * first, and buckets and objects are prefetched, so that the cache misses of many
 * keys overlap.
 */
#include <linux/prefetch.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "batch.h"
#include "client.h"
#include "keys.h"
#include "lease.h"
#include "object.h"
#include "result.h"
#include "state.h"

#define KEYS_PREFETCH	3	/* places of a chain that are fetched ahead */

/**
 * kvs_keys_scratch() - memory for a call
 * @tags: with room for tags
 *
 * Return: NULL without memory; the caller frees it, and its @tags.
 */
struct keys_scratch *kvs_keys_scratch(bool tags)
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
 * kvs_keys_refuse() - say why a call as a whole fails; see KEYS_REFUSE()
 * @call:   the call
 * @reason: KVSTASH_R_*
 * @field:  offset of the refused member
 * @ret:    negative errno
 *
 * Return: @ret.
 */
int kvs_keys_refuse(struct keys_call *call, u32 reason, u32 field, int ret)
{
	return kvs_refuse(call->arg, offsetof(struct kvstash_keys, reason), reason,
			  offsetof(struct kvstash_keys, field), field, ret);
}

static bool key_len_valid(u8 kind, u16 len)
{
	return len && len <= KVSTASH_KEY_MAX && !kvs_state_key_short(kind, len);
}

static int keys_check(struct keys_call *call, u32 flags)
{
	const struct kvstash_keys *hdr = &call->hdr;

	if (hdr->flags & ~flags)
		return KEYS_REFUSE(call, KVSTASH_R_FLAGS, flags, -EINVAL);
	if (hdr->reserved)
		return KEYS_REFUSE(call, KVSTASH_R_RESERVED, reserved, -EINVAL);
	if ((!hdr->count && !hdr->nr_candidates) || hdr->count > KVSTASH_BATCH_MAX)
		return KEYS_REFUSE(call, KVSTASH_R_COUNT, count, -EINVAL);
	/* States alone: what is said of keys is not looked at. */
	if (!hdr->count)
		return 0;
	if (hdr->kind > KVSTASH_KIND_STATE)
		return KEYS_REFUSE(call, KVSTASH_R_KIND, kind, -EINVAL);
	if (hdr->lens ? hdr->key_len : !key_len_valid(hdr->kind, hdr->key_len))
		return KEYS_REFUSE(call, KVSTASH_R_KEY_LEN, key_len, -EINVAL);
	if (hdr->lens % sizeof(u16))
		return KEYS_REFUSE(call, KVSTASH_R_ALIGN, lens, -EINVAL);
	return 0;
}

/* Where leases go, if any are asked for. */
static int keys_check_leases(struct keys_call *call)
{
	const struct kvstash_keys *hdr = &call->hdr;

	if (!(hdr->flags & KVSTASH_KEYS_LEASE))
		return hdr->leases ? KEYS_REFUSE(call, KVSTASH_R_RESERVED, leases, -EINVAL) : 0;
	if (hdr->leases % 8)
		return KEYS_REFUSE(call, KVSTASH_R_ALIGN, leases, -EINVAL);
	if ((hdr->count && !hdr->leases) ||
	    !access_ok(u64_to_user_ptr(hdr->leases),
		       (u64)hdr->count * sizeof(struct kvstash_handle)))
		return KEYS_REFUSE(call, KVSTASH_R_BUFFER, leases, -EFAULT);
	return 0;
}

/**
 * kvs_keys_begin() - take in and check what all commands have
 * @call:   out
 * @client: who
 * @arg:    user address of a struct kvstash_keys
 * @rights: KVS_MAY_* that the command needs
 * @flags:  KVSTASH_KEYS_* that it knows
 *
 * Return: 0 or a negative errno.
 */
int kvs_keys_begin(struct keys_call *call, struct kvs_client *client, void __user *arg,
		   unsigned int rights, u32 flags)
{
	u32 usize, reason;
	int ret;

	memset(call, 0, sizeof(*call));
	call->arg = arg;
	ret = kvs_copy_struct(&call->hdr, sizeof(call->hdr), KVSTASH_KEYS_SIZE_VER0, arg, &usize);
	if (ret == -E2BIG)
		return KEYS_REFUSE(call, KVSTASH_R_SIZE, size, ret);
	if (ret)
		return ret;
	ret = keys_check(call, flags);
	if (!ret)
		ret = keys_check_leases(call);
	if (ret)
		return ret;
	call->client = client;
	call->next = call->hdr.keys;
	ret = kvs_client_ready(client, rights, &reason);
	if (ret)
		return KEYS_REFUSE(call, reason, size, ret);
	return kvs_probe(arg, offsetof(struct kvstash_keys, done));
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
		if (!key_len_valid(call->hdr.kind, s->lens[i]))
			return KEYS_REFUSE(call, KVSTASH_R_KEY_LEN, lens, -EINVAL);
		if (*bytes + s->lens[i] > KEYS_BYTES)
			break;
		*bytes += s->lens[i];
	}
	*nr = i;
	return 0;
}

/**
 * kvs_keys_window() - fetch and hash the next window of keys
 * @call: the call; @call->nr is set
 * @ns:   namespace
 * @s:    out: the keys, and room in the view for as many groups
 *
 * Return: 0 or a negative errno, which the caller is told why.
 */
int kvs_keys_window(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s)
{
	u32 nr = min_t(u32, call->hdr.count - call->done, KEYS_WINDOW), bytes, i;
	u8 *at = s->bytes;
	int ret;

	ret = keys_measure(call, s, &nr, &bytes);
	if (ret)
		return ret;
	if (!kvs_view_ready(&s->view, nr))
		return KEYS_REFUSE(call, KVSTASH_R_NO_MEMORY, size, -ENOMEM);
	if (copy_from_user(s->bytes, u64_to_user_ptr(call->next), bytes))
		return KEYS_REFUSE(call, KVSTASH_R_KEY_FAULT, keys, -EFAULT);
	for (i = 0; i < nr; at += s->lens[i], i++) {
		kvs_index_key(&s->key[i], ns, call->hdr.kind, at, s->lens[i]);
		kvs_index_prefetch_bucket(&s->key[i]);
	}
	call->next += bytes;
	call->nr = nr;
	return 0;
}

/**
 * kvs_keys_prefetch_objects() - fetch the objects of a window
 * @call: the call
 * @s:    the keys
 *
 * Under RCU: the first of each chain, then the next of those that turned out to be
 * another key's.
 */
void kvs_keys_prefetch_objects(const struct keys_call *call, struct keys_scratch *s)
{
	struct hlist_node *node;
	u32 i, step;

	for (i = 0; i < call->nr; i++) {
		s->at[i] = rcu_dereference(hlist_first_rcu(s->key[i].bucket));
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

/**
 * kvs_keys_lease() - lease an object that the call has seen
 * @call: the call
 * @s:    the lease goes into @s->lease
 * @i:    place in the window
 * @obj:  with a reference of the caller's
 * @r:    out: why not
 *
 * Return: 0; -ENOENT with no result if it has gone since; another error.
 */
int kvs_keys_lease(struct keys_call *call, struct keys_scratch *s, u32 i,
		   struct kvs_object *obj, struct kvstash_result *r)
{
	bool held = kvs_view_knows(&s->view, kvs_object_unit(obj));

	return kvs_lease_take(call->client, obj, held, &s->lease[i], r);
}
