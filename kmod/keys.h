/* SPDX-License-Identifier: GPL-2.0 */
/* Commands that take a list of keys: the list, a window of it at a time. */
#ifndef KVS_KEYS_H
#define KVS_KEYS_H

#include <linux/kvstash.h>

#include "index.h"
#include "view.h"

struct kvs_client;

#define KEYS_WINDOW	64
#define KEYS_BYTES	4096

/**
 * struct keys_scratch - memory of one call
 * @lens:   lengths of the window's keys
 * @key:    the window's keys
 * @at:     where in its chain each key's prefetch is
 * @bytes:  their bytes
 * @result: results of EXISTS
 * @lease:  leases taken for the window, all zero where none was
 * @view:   what the call has seen of groups
 * @sights: where it begins
 * @tags:   tags for EXISTS, KVSTASH_TAG_MAX bytes each, or NULL
 */
struct keys_scratch {
	u16 lens[KEYS_WINDOW];
	struct kvs_key key[KEYS_WINDOW];
	struct hlist_node *at[KEYS_WINDOW];
	u8 bytes[KEYS_BYTES];
	struct kvstash_exists result[KEYS_WINDOW];
	struct kvstash_handle lease[KEYS_WINDOW];
	struct kvs_view view;
	struct kvs_sight sights[2 * KEYS_WINDOW];
	u8 (*tags)[KVSTASH_TAG_MAX];
};

/**
 * struct keys_call - a call under way
 * @client: who
 * @arg:  user address of the argument
 * @hdr:  the argument
 * @next: user address of the next key's bytes
 * @done: keys carried out
 * @nr:   keys in the window
 */
struct keys_call {
	struct kvs_client *client;
	void __user *arg;
	struct kvstash_keys hdr;
	u64 next;
	u32 done;
	u32 nr;
};

struct keys_scratch *kvs_keys_scratch(bool tags);
int kvs_keys_refuse(struct keys_call *call, u32 reason, u32 field, int ret);
int kvs_keys_begin(struct keys_call *call, struct kvs_client *client, void __user *arg,
		   unsigned int rights, u32 flags);
int kvs_keys_window(struct keys_call *call, struct kvs_ns *ns, struct keys_scratch *s);
void kvs_keys_prefetch_objects(const struct keys_call *call, struct keys_scratch *s);
int kvs_keys_lease(struct keys_call *call, struct keys_scratch *s, u32 i,
		   struct kvs_object *obj, struct kvstash_result *r);

#define KEYS_REFUSE(call, reason, member, ret) \
	kvs_keys_refuse(call, reason, offsetof(struct kvstash_keys, member), ret)

#endif /* KVS_KEYS_H */
