/* SPDX-License-Identifier: GPL-2.0 */
/* Parts in flight, their owners, and the handles that name them. */
#ifndef KVS_WRITE_H
#define KVS_WRITE_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/uio.h>

#include "object.h"
#include "runs.h"

struct kvs_client;

enum kvs_write_state {
	KVS_WRITE_OPEN,
	KVS_WRITE_COMMITTED,
	KVS_WRITE_ABORTED,
	KVS_WRITE_DEAD,
};

/**
 * struct kvs_write - a part in flight
 * @obj:      its object, with a reference
 * @client:   its owner, with a reference
 * @seq:      its handle, 0 if it has none (a PUT of a single part)
 * @refs:     see Documentation/design.rst, "References"
 * @part:     which part
 * @state:    enum kvs_write_state, under obj->lock
 * @whole:    written wholly by one command, under obj->lock
 * @users:    copies going on, under obj->lock
 * @len:      bytes of the part
 * @ext:      its pages until COMMIT, under obj->lock
 * @slot:     of a state: whose they are, until then
 * @obj_node: in obj->writes, under obj->lock
 * @client_node: in client->writes
 * @runs:     what is written, under obj->lock
 */
struct kvs_write {
	struct kvs_object *obj;
	struct kvs_client *client;
	u64 seq;
	refcount_t refs;
	u16 part;
	u8 state;
	bool whole;
	u32 users;
	u64 len;
	struct kvs_extents ext;
	struct kvs_slot *slot;
	struct hlist_node obj_node;
	struct list_head client_node;
	struct kvs_runs runs;
};

int kvs_write_init(void);
void kvs_write_exit(void);
int kvs_write_begin(struct kvs_client *client, const struct kvs_identity *id,
		    unsigned int part, u64 len, bool handle, struct kvs_write **out,
		    struct kvstash_result *r);
int kvs_write_fill(struct kvs_write *write, u64 offset, struct iov_iter *iter,
		   struct kvstash_result *r);
int kvs_write_commit(struct kvs_write *write, u64 now, struct kvstash_result *r);
int kvs_write_abort(struct kvs_write *write, u64 now, struct kvstash_result *r);
void kvs_write_drop(struct kvs_write *write);
void kvs_write_put(struct kvs_write *write);
void kvs_write_orphan(struct kvs_object *obj, struct hlist_head *writes);
struct kvs_write *kvs_write_get(struct kvs_client *client,
				const struct kvstash_handle *handle,
				struct kvstash_result *r);
void kvs_client_end_writes(struct kvs_client *client);

#endif /* KVS_WRITE_H */
