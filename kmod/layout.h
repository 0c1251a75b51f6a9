/* SPDX-License-Identifier: GPL-2.0 */
/* Layouts: the registered schemas of states, and who owns their slots. */
#ifndef KVS_LAYOUT_H
#define KVS_LAYOUT_H

#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/kvstash.h>

#include "ns.h"

/* Counters of a layout; struct kvstash_layout says what they count. */
enum kvs_layout_stat {
	KVS_LAYOUT_HITS,
	KVS_LAYOUT_MISSES,
	KVS_LAYOUT_FOUND,
	KVS_LAYOUT_NOT_FOUND,
	KVS_LAYOUT_PUTS,
	KVS_LAYOUT_EVICTIONS,
	KVS_LAYOUT_EXPIRED,
	KVS_LAYOUT_REMOVED,
	KVS_LAYOUT_REFUSED_NO_SLOT,
	KVS_LAYOUT_REFUSED_BYTES,
	KVS_LAYOUT_REFUSED_MISALIGNED,
	KVS_LAYOUT_REFUSED_THERE,
	KVS_LAYOUT_REFUSED_OTHER,
	KVS_NR_LAYOUT_STATS,
};

struct kvs_layout_stats {
	u64 v[KVS_NR_LAYOUT_STATS];
};

#define kvs_layout_stat_inc(layout, name) \
	this_cpu_inc((layout)->stats->v[KVS_LAYOUT_##name])

/* Recency trees of a layout, in the order in which states are evicted. */
enum kvs_slot_tree {
	KVS_SLOTS_PLAIN,
	KVS_SLOTS_SOFT,		/* pinned soft */
	KVS_NR_SLOT_TREES,
};

/**
 * struct kvs_layout - a layout
 * @list:       in ns->layouts; changed under ns->layout_lock, read by RCU
 * @rcu:        frees it
 * @refs:       of the namespace's list, of each state, and of each command at work
 * @ns:         whose
 * @id:         in the order of registration
 * @stats:      counters
 * @lock:       guards what follows up to @slot_pages; inside an object's lock,
 *              outside pool->lock
 * @free:       slots without a state
 * @recency:    slots with a complete one, by kvs_slot.stamp
 * @nr_carved:  all slots
 * @nr_free:    of these in @free
 * @surplus:    of these to go back to the pool as they come free
 * @nr_claimed: slots that are off the trees while somebody looks what could go
 * @swept:      ns->unpins of which the SOFT tree shows nothing any more
 * @sweeping:   the same, once @sweep is through
 * @sweep:      next in the SOFT tree to look at, or NULL
 * @states:     objects, and puts under way
 * @dropped:    there will be none any more
 * @slot_pages: pages of a slot; fixed, as all that follows
 * @slot_bytes: bytes of a state
 * @scheme:     with @fingerprint: its name
 * @flags:      KVSTASH_LAYOUT_TIED
 * @alignment:  tokens
 * @fingerprint: see @scheme
 * @nr_layers:  of @layers
 * @layers:     where each is in a slot
 */
struct kvs_layout {
	struct list_head list;
	struct rcu_head rcu;
	refcount_t refs;
	struct kvs_ns *ns;
	u32 id;
	struct kvs_layout_stats __percpu *stats;

	spinlock_t lock;	/* see above */
	struct list_head free;
	struct rb_root_cached recency[KVS_NR_SLOT_TREES];
	u64 nr_carved;
	u64 nr_free;
	u64 surplus;
	u64 nr_claimed;
	u64 swept;
	u64 sweeping;
	struct rb_node *sweep;
	u64 states;
	bool dropped;

	u64 slot_pages;
	u64 slot_bytes;
	u32 scheme;
	u32 flags;
	u32 alignment;
	u8 fingerprint[KVSTASH_DIGEST_LEN];
	u32 nr_layers;
	struct kvstash_layer layers[];
};

struct kvs_layout *kvs_layout_alloc(struct kvs_ns *ns, u32 nr_layers);
void kvs_layout_put(struct kvs_layout *layout);
bool kvs_layout_enter(struct kvs_layout *layout);
void kvs_layout_leave(struct kvs_layout *layout);
struct kvs_layout *kvs_layout_find_rcu(const struct kvs_ns *ns, const u8 *fingerprint,
				       u32 scheme);
struct kvs_layout *kvs_layout_get(const struct kvs_ns *ns, const u8 *fingerprint, u32 scheme);
struct kvs_layout *kvs_layout_next(const struct kvs_ns *ns, u32 id);
int kvs_layout_check(const struct kvs_layout *layout, struct kvstash_result *r, u32 *field);
int kvs_layout_add(struct kvs_layout *new, u64 slots, u32 permille, struct kvs_layout **out,
		   struct kvstash_result *r, u32 *field);
int kvs_layout_set(struct kvs_layout *layout, u64 slots, u32 permille,
		   struct kvstash_result *r);
int kvs_layout_del(struct kvs_layout *layout, struct kvstash_result *r);
void kvs_layout_describe(struct kvs_layout *layout, struct kvstash_layout *out);
bool kvs_layouts_evict(struct kvs_ns *ns, bool *busy);
void kvs_layouts_exit(struct kvs_ns *ns);

#endif /* KVS_LAYOUT_H */
