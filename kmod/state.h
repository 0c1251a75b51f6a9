/* SPDX-License-Identifier: GPL-2.0 */
/* States: what their keys say. */
#ifndef KVS_STATE_H
#define KVS_STATE_H

#include "object.h"

int kvs_state_identify(struct kvs_ns *ns, const struct kvstash_put *e, struct kvs_identity *id,
		       struct kvstash_result *r);
void kvs_state_refused(struct kvs_layout *layout, const struct kvstash_result *r);
void kvs_state_got(struct kvs_object *obj);
void kvs_state_missed(const struct kvs_key *key, struct kvstash_result *r);
void kvs_state_probed(const struct kvs_key *key, struct kvstash_result *r);
void kvs_state_count_kill(struct kvs_object *obj, enum kvs_kill_why why);

/* The key of a state is long enough for the prefix hash to have a byte. */
static inline bool kvs_state_key_short(u8 kind, u16 len)
{
	return unlikely(kind == KVSTASH_KIND_STATE) && len <= sizeof(struct kvstash_state_key);
}

#endif /* KVS_STATE_H */
