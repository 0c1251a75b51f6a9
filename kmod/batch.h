/* SPDX-License-Identifier: GPL-2.0 */
/* Arguments of commands: headers, windows of entries, user buffers. */
#ifndef KVS_BATCH_H
#define KVS_BATCH_H

#include <linux/uio.h>
#include <linux/kvstash.h>

#include "index.h"
#include "view.h"

struct kvs_client;
struct kvs_ns;

/* Bytes of entries or results that are carried out between two copies. */
#define KVS_WINDOW_BYTES	4096

/* Segments that need no memory of their own. */
#define KVS_VEC_FAST		8

/**
 * struct kvs_vec - user memory of an entry, checked
 * @iov:  @nr runs, all within user space
 * @nr:   runs
 * @len:  their sum
 * @plain_start: where the last mapping begins that was seen to be no device's
 * @plain_end:   and where it ends; kept from entry to entry of a call
 * @fast: where @iov begins
 */
struct kvs_vec {
	struct iovec *iov;
	unsigned int nr;
	u64 len;
	unsigned long plain_start;
	unsigned long plain_end;
	struct iovec fast[KVS_VEC_FAST];
};

/* Twice as many groups as a call can see without memory of its own. */
#define KVS_SIGHTS		32

/* How many entries ahead of the one at hand keys are fetched and hashed. */
#define KVS_AHEAD		2

/**
 * struct kvs_ahead - the key of an entry, fetched ahead
 * @key:  the key
 * @r:    why not, if @r.res
 * @data: its bytes
 */
struct kvs_ahead {
	struct kvs_key key;
	struct kvstash_result r;
	u8 data[KVSTASH_KEY_MAX];
};

/**
 * struct kvs_scratch - memory of one batch call, reused by its entries
 * @now:      ktime_get_ns() of the call
 * @stride:   size of an entry as the caller knows it
 * @vec:      the entry's buffers
 * @ahead:    keys of the entry at hand and of those after it
 * @cur:      that of the entry at hand
 * @parent:   its parent's
 * @group:    its group's
 * @view:     what the call has seen of groups
 * @sights:   where it begins
 * @tag:      its tag
 * @manifest: its manifest
 * @window:   entries
 */
struct kvs_scratch {
	u64 now;
	u32 stride;
	struct kvs_vec vec;
	struct kvs_ahead ahead[KVS_AHEAD + 1];
	struct kvs_ahead *cur;
	u8 parent[KVSTASH_KEY_MAX];
	u8 group[KVSTASH_KEY_MAX];
	u8 tag[KVSTASH_TAG_MAX];
	u8 manifest[KVSTASH_DIGEST_LEN];
	u8 window[KVS_WINDOW_BYTES] __aligned(8);
	struct kvs_view view;
	struct kvs_sight sights[KVS_SIGHTS];
};

/**
 * struct kvs_batch_op - a command that takes entries
 * @size:   of an entry, begins with struct kvstash_result
 * @least:  size of the first version
 * @rights: KVS_MAY_* that it needs
 * @ahead:  fetch an entry's key, or NULL if it has none; see window_run()
 * @run:    carry out an entry; its result is in it
 * @undo:   its result could not be delivered; or NULL
 */
struct kvs_batch_op {
	size_t size;
	size_t least;
	unsigned int rights;
	void (*ahead)(struct kvs_client *client, const void *entry, struct kvs_ahead *ahead);
	void (*run)(struct kvs_client *client, void *entry, struct kvs_scratch *scratch);
	void (*undo)(struct kvs_client *client, void *entry);
};

extern const struct kvs_batch_op kvs_put_op, kvs_reserve_op, kvs_write_op, kvs_commit_op,
				 kvs_abort_op, kvs_get_op, kvs_release_op;

long kvs_batch(struct kvs_client *client, void __user *arg, const struct kvs_batch_op *op);
int kvs_copy_struct(void *dst, size_t ksize, size_t least, void __user *arg, u32 *usize);
int kvs_probe(void __user *arg, size_t done_at);
int kvs_refuse(void __user *arg, size_t reason_at, u32 reason, size_t field_at, u32 field,
	       int ret);
int kvs_key_copy(struct kvs_key *key, struct kvs_ns *ns, u8 *data, u64 addr, u16 len, u8 kind,
		 struct kvstash_result *r);
int kvs_vec_plain(struct kvs_vec *vec, struct kvstash_result *r);
int kvs_vec_import(struct kvs_vec *vec, u64 addr, u64 len, u32 nr, struct kvstash_result *r);
void kvs_vec_release(struct kvs_vec *vec);
int kvs_check_overlap(const struct iovec *iov, unsigned int nr, struct kvstash_result *r);
int kvs_client_ready(struct kvs_client *client, unsigned int rights, u32 *reason);

long kvs_exists(struct kvs_client *client, void __user *arg);
long kvs_remove(struct kvs_client *client, void __user *arg);
long kvs_lookup(struct kvs_client *client, void __user *arg);
long kvs_pin_keys(struct kvs_client *client, void __user *arg);
long kvs_layout_cmd_add(struct kvs_client *client, void __user *arg);
long kvs_layout_cmd_get(struct kvs_client *client, void __user *arg);
long kvs_layout_cmd_set(struct kvs_client *client, void __user *arg);
long kvs_layout_cmd_del(struct kvs_client *client, void __user *arg);

#endif /* KVS_BATCH_H */
