/* SPDX-License-Identifier: GPL-2.0 */
/* Slots: the memory of states, carved from a pool for one layout. */
#ifndef KVS_SLOT_H
#define KVS_SLOT_H

#include <linux/list.h>
#include <linux/rbtree.h>

#include "pool.h"

struct kvs_layout;
struct kvs_ns;
struct kvs_object;
struct kvstash_result;

/* kvs_slot.listed, under layout->lock */
#define KVS_SLOT_CLAIMED	(KVS_NR_SLOT_TREES + 1)	/* off the trees, for a while */

/**
 * struct kvs_slot - memory for one state
 * @layout: whose; fixed
 * @entry:  in layout->free, or in the list of who claimed it
 * @node:   in layout->recency while it has a complete state
 * @stamp:  key there
 * @obj:    the state, from when it is complete
 * @listed: enum kvs_slot_tree and one, KVS_SLOT_CLAIMED, or 0
 * @ext:    its pages; fixed
 */
struct kvs_slot {
	struct kvs_layout *layout;
	struct list_head entry;
	struct rb_node node;
	u64 stamp;
	struct kvs_object *obj;
	u8 listed;
	struct kvs_extents ext;
};

int kvs_slots_carve(struct kvs_layout *layout, u64 nr, struct kvstash_result *r);
int kvs_slots_grow(struct kvs_layout *layout, u64 nr, struct kvstash_result *r);
int kvs_slots_give_up(struct kvs_layout *layout, u64 nr, struct kvstash_result *r);
u64 kvs_slots_drain(struct kvs_layout *layout);
int kvs_slot_take(struct kvs_layout *layout, struct kvs_slot **out, struct kvstash_result *r);
void kvs_slot_give(struct kvs_slot *slot, enum kvs_pool_count from);
void kvs_slot_list(struct kvs_object *obj);
void kvs_slot_relist(struct kvs_object *obj);
void kvs_slots_unpinned(struct kvs_ns *ns);
void kvs_slot_unlist(struct kvs_object *obj);
bool kvs_slot_evict(struct kvs_layout *layout, bool *busy);

#endif /* KVS_SLOT_H */
