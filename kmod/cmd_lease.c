// SPDX-License-Identifier: GPL-2.0
/*
 * RELEASE. Leases are taken by GET, EXISTS and LOOKUP.
 *
 * Locking: none here.
 */
#include "batch.h"
#include "client.h"
#include "lease.h"
#include "result.h"

static void release_run(struct kvs_client *client, void *entry, struct kvs_scratch *s)
{
	struct kvstash_end *e = entry;

	if (e->flags)
		kvs_result(&e->r, -EINVAL, KVSTASH_R_FLAGS, e->flags);
	else if (e->reserved)
		kvs_result(&e->r, -EINVAL, KVSTASH_R_RESERVED, 0);
	else
		kvs_lease_release(client, &e->handle, &e->r);
}

const struct kvs_batch_op kvs_release_op = {
	.size = sizeof(struct kvstash_end),
	.rights = KVS_MAY_READ,
	.run = release_run,
};
