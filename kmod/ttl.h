/* SPDX-License-Identifier: GPL-2.0 */
/* Times to live. */
#ifndef KVS_TTL_H
#define KVS_TTL_H

#include <linux/ktime.h>

#include "object.h"

/* How long an object that has expired is kept, so that lookups can say so. */
#define KVS_TTL_LINGER	NSEC_PER_SEC

static inline bool kvs_object_expired(const struct kvs_object *obj)
{
	u64 expires = READ_ONCE(obj->expires);

	return expires && ktime_get_ns() >= expires;
}

void kvs_ttl_begin(struct kvs_object *obj);
void kvs_ttl_end(struct kvs_object *obj);
bool kvs_ttl_expire(struct kvs_ns *ns, u64 before);
bool kvs_ttl_first(struct kvs_ns *ns, u64 *expires);
void kvs_object_expire(struct kvs_object *obj);

#endif /* KVS_TTL_H */
