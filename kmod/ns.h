/* SPDX-License-Identifier: GPL-2.0 */
/* Namespaces: a tenant's key space, rights, limits and counters. */
#ifndef KVS_NS_H
#define KVS_NS_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/kvstash.h>

#include "stats.h"

struct kvs_pool;
struct netlink_ext_ack;
struct proc_dir_entry;

#define KVS_NS_DEFAULT		"default"
#define KVS_INCOMPLETE_MS	30000
#define KVS_NR_LEAVES		3	/* leaf trees, enum kvs_leaf_tree */

/**
 * struct kvs_ns_config - what an operator sets
 * @uid, @gid, @mode: rights, as a file's (only the r and w bits)
 * @quota_bytes:   pool bytes, 0: no limit but the pool
 * @quota_objects: objects, 0: no limit
 * @lease_bytes:   lease budget, 0: half of the quota or pool
 * @pin_bytes:     quota of hard pins, 0: a quarter of the quota or pool
 * @slot_bytes:    quota of slots, 0: half of the quota or pool
 * @incomplete_ms: how long an idle incomplete object is kept
 */
struct kvs_ns_config {
	kuid_t uid;
	kgid_t gid;
	umode_t mode;
	u64 quota_bytes;
	u64 quota_objects;
	u64 lease_bytes;
	u64 pin_bytes;
	u64 slot_bytes;
	u32 incomplete_ms;
};

/**
 * struct kvs_leaves - a leaf tree
 * @root:   objects by kvs_object.stamp
 * @newest: the last
 */
struct kvs_leaves {
	struct rb_root_cached root;
	struct rb_node *newest;
};

/**
 * struct kvs_ns - a namespace
 * @list:      in pool->namespaces; changed under kvs_admin_mutex, read by RCU
 * @refs:      see Documentation/design.rst, "References"
 * @pool:      where it lives
 * @name:      unique
 * @config:    single words, read without a lock
 * @hash_key:  random
 * @clients:   bound clients; more only under kvs_admin_mutex
 * @dying:     takes no client any more, under kvs_admin_mutex
 * @pages:     pages charged, hidden and in flight ones too
 * @objects:   objects in the index
 * @visible:   of these visible
 * @proven:    pages of the objects that were got at least once
 * @unpins:    soft pins taken back from groups with states
 * @leased:    pages of what is leased
 * @leases:    leases
 * @pinned:    pages of what is pinned hard
 * @carved:    pages of slots, or about to be
 * @slot_pages: of these allocated
 * @carving:   of these allocated, and not yet a layout's
 * @moment:    counts the atomic groups that became visible, see struct kvs_view
 * @filling:   groups that lack members
 * @whole:     groups that do not
 * @evict_lock: guards @leaves, @nr_leaves, @demoted, @idle, @timed
 * @leaves:    visible objects without children (and some that got children
 *             since), by enum kvs_leaf_tree
 * @nr_leaves: entries of @leaves
 * @oldest:    least stamp in @leaves, U64_MAX if none; read without lock
 * @oldest_soft: of those pinned soft
 * @timed:     struct kvs_timed by kvs_object.expires
 * @demoted:   stamp of the last leaf that was let go before all others
 * @idle:      idle incomplete objects, the longest idle first
 * @layout_mutex: one at a time registers a layout, drops one or changes its slots
 * @layout_lock: guards changes of @layouts
 * @layouts:   struct kvs_layout in the order of registration, read by RCU
 * @layout_id: number of the last one; under @layout_lock
 * @nr_layouts: how many; under @layout_lock
 * @stats:     counters
 * @proc:      its file
 */
struct kvs_ns {
	struct list_head list;
	refcount_t refs;
	struct kvs_pool *pool;
	char name[KVSTASH_NAME_MAX];
	struct kvs_ns_config config;
	siphash_key_t hash_key;
	atomic_t clients;
	atomic64_t pages;
	atomic64_t objects;
	atomic64_t visible;
	atomic64_t proven;
	atomic64_t unpins;
	atomic64_t leased;
	atomic64_t leases;
	atomic64_t pinned;
	atomic64_t carved;
	atomic64_t slot_pages;
	atomic64_t carving;
	atomic64_t moment;
	atomic64_t filling;
	atomic64_t whole;
	bool dying;

	spinlock_t evict_lock;	/* see above */
	struct kvs_leaves leaves[KVS_NR_LEAVES];
	struct rb_root_cached timed;
	u64 nr_leaves;
	u64 demoted;
	u64 oldest;
	u64 oldest_soft;
	struct list_head idle;

	struct mutex layout_mutex;	/* see above */
	spinlock_t layout_lock;		/* see above */
	struct list_head layouts;
	u32 layout_id;
	u32 nr_layouts;

	struct kvs_stats __percpu *stats;
	struct proc_dir_entry *proc;
};

extern struct mutex kvs_admin_mutex;
extern struct list_head kvs_pools;

bool kvs_name_valid(const char *name);
struct kvs_pool *kvs_pool_by_name(const char *name);
struct kvs_ns *kvs_ns_by_name(const char *name);
int kvs_pool_new(const char *name, u64 bytes, int node, u64 objects,
		 struct netlink_ext_ack *extack);
int kvs_pool_del(struct kvs_pool *pool, struct netlink_ext_ack *extack);
int kvs_ns_new(const char *name, struct kvs_pool *pool, const struct kvs_ns_config *config,
	       struct netlink_ext_ack *extack);
int kvs_ns_del(struct kvs_ns *ns, struct netlink_ext_ack *extack);
void kvs_ns_config_default(struct kvs_ns_config *config);
int kvs_ns_rights(const struct kvs_ns *ns);
struct kvs_ns *kvs_ns_bind(const char *name);
void kvs_ns_unbind(struct kvs_ns *ns);
void kvs_ns_put(struct kvs_ns *ns);
u64 kvs_ns_share(const struct kvs_ns *ns, u64 bytes, u64 quota, unsigned int part);
int kvs_ns_charge(atomic64_t *count, u64 pages, u64 limit, u64 *missing);
void kvs_ns_sum(const struct kvs_ns *ns, struct kvs_stats *sum);
void kvs_pools_exit(void);

#endif /* KVS_NS_H */
