/* SPDX-License-Identifier: GPL-2.0 */
/* Leases: a client's holds on objects. */
#ifndef KVS_LEASE_H
#define KVS_LEASE_H

#include "object.h"

struct kvs_client;

/* Leases and reserved parts have numbers of their own: one is never the other. */
#define KVS_LEASE_SEQ	BIT_ULL(62)

u64 kvs_unit_pages(struct kvs_object *unit);
int kvs_lease_take(struct kvs_client *client, struct kvs_object *obj, bool seen,
		   struct kvstash_handle *handle, struct kvstash_result *r);
int kvs_lease_release(struct kvs_client *client, const struct kvstash_handle *handle,
		      struct kvstash_result *r);
struct kvs_object *kvs_lease_get(struct kvs_client *client, const struct kvstash_handle *handle,
				 struct kvstash_result *r);
void kvs_lease_undo(struct kvs_client *client, const struct kvstash_handle *handle);
void kvs_client_end_leases(struct kvs_client *client);

#endif /* KVS_LEASE_H */
