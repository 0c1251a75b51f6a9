/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects: what a key names. States, references and locks are told in
 * Documentation/design.rst.
 */
#ifndef KVS_OBJECT_H
#define KVS_OBJECT_H

#include <linux/cache.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/kvstash.h>

#include "index.h"
#include "ns.h"
#include "pool.h"

struct kvs_group;
struct kvs_layout;
struct kvs_slot;
struct kvs_write;

/* In Documentation/design.rst, "Object states". From WHOLE to TIMED: shown. */
enum kvs_state {
	KVS_FILLING,
	KVS_WAITING,
	KVS_JOINED,	/* a complete member: visible if its group is */
	KVS_OPEN,	/* a plain group that lacks members: these are visible */
	KVS_WHOLE,	/* a group that has, or had, all its members */
	KVS_VISIBLE,
	KVS_TIMED,	/* visible until its time has come */
	KVS_DYING,
};

/* May be the parent of what is visible. */
static inline bool kvs_state_shown(u8 state)
{
	return state >= KVS_WHOLE && state <= KVS_TIMED;
}

enum kvs_part_state {
	KVS_PART_ABSENT,
	KVS_PART_IN_FLIGHT,
	KVS_PART_COMMITTED,
};

/**
 * struct kvs_part - a part
 * @len:   bytes, once it is in flight
 * @state: enum kvs_part_state
 * @ext:   its pages, once committed
 */
struct kvs_part {
	u64 len : 48;
	u64 state : 16;
	struct kvs_extents ext;
};

/**
 * struct kvs_timed - a place in the order of ends of life
 * @node: in ns->timed, under ns->evict_lock
 * @obj:  whose
 */
struct kvs_timed {
	struct rb_node node;
	struct kvs_object *obj;
};

/**
 * struct kvs_extra - the rest of an identity, where there is one
 * @timed:    when its time to live ends
 * @layout:   of a state, with a reference; else NULL
 * @slot:     of a state that is complete: its memory, under the object's lock
 * @root:     of a ROOTED object: hash of the parent that it names and that was missing
 * @ttl_ms:   time to live, 0: no end
 * @manifest: digest, or zeros
 * @has_manifest: @manifest is meant
 * @tag_len:  bytes of @tag
 * @tag:      opaque
 */
struct kvs_extra {
	struct kvs_timed timed;
	struct kvs_layout *layout;
	struct kvs_slot *slot;
	u64 root;
	u32 ttl_ms;
	u8 manifest[KVSTASH_DIGEST_LEN];
	bool has_manifest;
	u16 tag_len;
	u8 tag[];
};

/* kvs_object.flags, under its lock; those of the identity are fixed at creation */
#define KVS_OBJ_ROOTED		0x01	/* identity: its parent was missing */
#define KVS_OBJ_REMOVING	0x02	/* takes no child and no part any more */
#define KVS_OBJ_MEMBER		0x04	/* identity: @parent is its group */
#define KVS_OBJ_IN_GROUP	0x08	/* has its index in that group */
#define KVS_OBJ_ATOMIC		0x10	/* identity: an atomic group */
#define KVS_OBJ_NO_LINGER	0x20	/* incomplete, it goes with its last writer */

/* Leaf trees of a namespace, in the order in which they are evicted. */
enum kvs_leaf_tree {
	KVS_LEAVES_NEW,		/* never got */
	KVS_LEAVES_PROVEN,	/* got */
	KVS_LEAVES_SOFT,	/* pinned soft */
};

/* kvs_object.listed, under ns->evict_lock: a leaf tree and one, or */
#define KVS_LISTED_IDLE		(KVS_NR_LEAVES + 1)

/**
 * struct kvs_object - an object
 * @hash_node:  in its chain of the index
 * @hash:       that of its kvs_key
 * @key_len, @kind, @key: the key
 * @state:      enum kvs_state; written under @lock (and the parent's), read by
 *              lookups without
 * @refs:       see Documentation/design.rst, "References"
 * @ns:         namespace
 * @bytes:      length of the parts committed, or of a group's complete members
 * @nr_parts:   parts
 * @nr_present: parts committed
 * @nr_in_flight: parts that a living client is writing
 * @extra:      manifest and tag, or NULL; fixed
 * @used:       time of the last hit; stored by readers without a lock
 * @pin:        KVSTASH_PIN_*; of a member: its group's counts
 * @lock:       guards @state, @flags, @pin, @leases, the parts, @writes,
 *              @children, @waiting
 * @flags:      KVS_OBJ_*
 * @listed:     KVS_LISTED_*
 * @index:      of a member: in its group; fixed
 * @leases:     of it, and of a group's members
 * @expires:    end of life (ktime_get_ns()), 0: none; fixed once it is shown
 * @hit:        got at least once
 * @parent:     of a member: its group; with a reference, or NULL; fixed
 * @children:   published children, or being filled; under @lock
 * @waiting:    complete children that wait for this object to be visible
 * @sibling:    in one of the parent's lists, or of the group's, under its lock
 * @leaf:       in ns->leaves while visible, under ns->evict_lock
 * @idle:       in ns->idle while filling, under ns->evict_lock
 * @writes:     writes of its parts until it is shown
 * @rcu:        frees it when it is dead
 * @stamp:      key in ns->leaves, or since when it is idle (jiffies)
 * @part:       the part, if @nr_parts is 1
 * @parts:      the parts, if more
 * @group:      of a group, which has no parts
 */
struct kvs_object {
	u64 used;
	u64 stamp;
	struct kvs_object *parent;
	struct hlist_head children;
	struct hlist_head waiting;
	struct hlist_node sibling;
	union {
		struct rb_node leaf;
		struct {
			struct list_head idle;
			struct hlist_head writes;
		};
		struct rcu_head rcu;
	};
	union {
		struct kvs_part part;
		struct kvs_part *parts;
		struct kvs_group *group;
	};
	spinlock_t lock;	/* see above */
	u8 flags;
	u8 listed;
	u16 index;
	u32 leases;
	u64 expires;

	/* What a lookup reads: one cache line, and the key in the next. */
	struct hlist_node hash_node ____cacheline_aligned;
	u64 hash;
	u16 key_len;
	u8 kind;
	u8 state;
	refcount_t refs;
	struct kvs_ns *ns;
	u64 bytes;
	u16 nr_parts;
	u16 nr_present;
	u16 nr_in_flight;
	u8 pin;
	u8 hit;
	struct kvs_extra *extra;
	u8 key[];
};

static inline struct kvs_part *kvs_object_part(struct kvs_object *obj, unsigned int i)
{
	return obj->nr_parts == 1 ? &obj->part : &obj->parts[i];
}

static inline bool kvs_object_is_group(const struct kvs_object *obj)
{
	return obj->kind == KVSTASH_KIND_GROUP;
}

static inline bool kvs_object_is_state(const struct kvs_object *obj)
{
	return obj->kind == KVSTASH_KIND_STATE;
}

/* A state that is tied to nothing and in no group: only slot pressure takes it. */
static inline bool kvs_object_free_state(const struct kvs_object *obj)
{
	return unlikely(kvs_object_is_state(obj)) && !obj->parent;
}

static inline bool kvs_object_is_member(const struct kvs_object *obj)
{
	return obj->flags & KVS_OBJ_MEMBER;
}

/* What it shares visibility and lifetime with: its group, or it is by itself. */
static inline struct kvs_object *kvs_object_unit(struct kvs_object *obj)
{
	return kvs_object_is_member(obj) ? obj->parent : obj;
}

/* Under @obj->lock: @obj is filling, or shows members while it lacks others. */
static inline bool kvs_object_fills(const struct kvs_object *obj)
{
	return obj->state == KVS_FILLING || obj->state == KVS_OPEN;
}

bool kvs_object_visible_slow(const struct kvs_object *obj, u8 state);

/**
 * kvs_object_visible() - is it visible at this moment?
 * @obj: under RCU or with a reference
 *
 * For more than one object, see struct kvs_view.
 */
static inline bool kvs_object_visible(const struct kvs_object *obj)
{
	/* Pairs with the release when it is published: parts and bytes are there. */
	u8 state = smp_load_acquire(&obj->state);

	return likely(state == KVS_VISIBLE) || kvs_object_visible_slow(obj, state);
}

static inline void kvs_object_use(struct kvs_object *obj, u64 now)
{
	WRITE_ONCE(obj->used, now);
	if (!READ_ONCE(obj->hit) && !xchg(&obj->hit, 1) && obj->kind == KVSTASH_KIND_PAGE)
		atomic64_add(kvs_pages(obj->bytes), &obj->ns->proven);
}

/**
 * kvs_object_hit() - note that an object was got; takes no lock
 * @obj: with a reference
 * @now: ktime_get_ns() of the command
 */
static inline void kvs_object_hit(struct kvs_object *obj, u64 now)
{
	kvs_object_use(obj, now);
	if (unlikely(kvs_object_is_member(obj)))
		kvs_object_use(obj->parent, now);
}

bool kvs_object_held(const struct kvs_object *obj, unsigned int own);

static inline bool kvs_object_has_children(const struct kvs_object *obj)
{
	return !hlist_empty(&obj->children) || !hlist_empty(&obj->waiting);
}

/**
 * struct kvs_identity - what a put says of an object
 * @key:      the key
 * @parent:   the parent's key; @parent.len 0: none. Of a member: its group's
 * @group:    its group's key; @group.len 0: in none
 * @layout:   of a state, entered by the caller; else NULL
 * @manifest: KVSTASH_DIGEST_LEN bytes, or NULL
 * @tag:      @tag_len bytes
 * @tag_len:  0: no tag
 * @parts:    part count; of a group 0
 * @member:   index in the group
 * @members:  of the group
 * @ttl_ms:   time to live, 0: no end
 * @flags:    KVS_OBJ_ATOMIC, KVS_OBJ_NO_LINGER
 * @root_if_no_parent: a missing parent starts a chain
 */
struct kvs_identity {
	struct kvs_key key;
	struct kvs_key parent;
	struct kvs_key group;
	struct kvs_layout *layout;
	const u8 *manifest;
	const u8 *tag;
	u16 tag_len;
	u16 parts;
	u16 member;
	u16 members;
	u32 ttl_ms;
	u8 flags;
	bool root_if_no_parent;
};

enum kvs_kill_why {
	KVS_KILL_REMOVE,
	KVS_KILL_EVICT,
	KVS_KILL_COLLECT,
	KVS_KILL_EMPTY,
	KVS_KILL_WITH_PARENT,
	KVS_KILL_EXPIRE,
	KVS_NR_KILLS,
};

int kvs_object_init(void);
void kvs_object_exit(void);
struct kvs_object *kvs_parent_get(const struct kvs_identity *id, struct kvstash_result *r);
int kvs_object_make(const struct kvs_identity *id, struct kvs_object *parent,
		    struct kvs_object **out, struct kvstash_result *r);
void kvs_object_discard(struct kvs_object *obj);
int kvs_object_attach(struct kvs_object *obj);
u32 kvs_object_mismatch(const struct kvs_object *obj, const struct kvs_identity *id,
			u64 *detail);
bool kvs_object_parent_differs(const struct kvs_object *obj, const struct kvs_key *key);
void kvs_object_put(struct kvs_object *obj);
void kvs_object_lock(struct kvs_object *obj)
	__acquires(&obj->parent->lock)
	__acquires(&obj->lock);
void kvs_object_unlock(struct kvs_object *obj)
	__releases(&obj->lock)
	__releases(&obj->parent->lock);
bool kvs_object_publish(struct kvs_object *obj, u64 now);
void kvs_object_published(struct kvs_object *obj);
bool kvs_object_kill(struct kvs_object *obj, enum kvs_kill_why why);
void kvs_object_kill_tree(struct kvs_object *root, enum kvs_kill_why why);
int kvs_object_remove(struct kvs_object *obj);
u64 kvs_object_pages(struct kvs_object *obj);
void kvs_object_absence(const struct kvs_object *obj, struct kvstash_result *r);
bool kvs_object_evict(struct kvs_object *obj);
bool kvs_object_collect(struct kvs_object *obj);
struct kvs_object *kvs_object_deepest(struct kvs_object *obj);
void kvs_object_settle(struct kvs_object *obj);
size_t kvs_object_meta(const struct kvs_object *obj);

#endif /* KVS_OBJECT_H */
