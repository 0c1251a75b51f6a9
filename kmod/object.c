// SPDX-License-Identifier: GPL-2.0
/*
 * Objects: making and freeing, identity, publishing, the prefix chain. How they
 * go is in kill.c.
 *
 * Locking: an object's lock nests inside its parent's, and no third one is ever
 * taken; kvs_object_lock() takes both. Inside them: a bucket lock or the
 * evict_lock, then pool->lock. Walks over a chain hold references, not locks.
 * The last reference is dropped with no lock held, since that frees memory.
 */
#include <linux/sched.h>
#include <linux/slab.h>

#include "evict.h"
#include "group.h"
#include "layout.h"
#include "object.h"
#include "result.h"
#include "slot.h"
#include "trace.h"
#include "ttl.h"
#include "write.h"

/* A cache for each size of key, in cache lines, so that a short one costs little. */
static const u16 key_sizes[] = { 64, 128, 192, 256, 384, 512 };
static const char * const cache_names[] = {
	"kvstash_object_64", "kvstash_object_128", "kvstash_object_192",
	"kvstash_object_256", "kvstash_object_384", "kvstash_object_512",
};

static struct kmem_cache *object_caches[ARRAY_SIZE(key_sizes)];

static struct kmem_cache *object_cache(u16 key_len)
{
	unsigned int i = 0;

	while (key_sizes[i] < key_len)
		i++;
	return object_caches[i];
}

int kvs_object_init(void)
{
	unsigned int i;

	BUILD_BUG_ON(offsetof(struct kvs_object, key) - offsetof(struct kvs_object, hash_node) !=
		     64);
	for (i = 0; i < ARRAY_SIZE(key_sizes); i++) {
		object_caches[i] = kmem_cache_create(cache_names[i],
						     sizeof(struct kvs_object) + key_sizes[i],
						     0, SLAB_HWCACHE_ALIGN, NULL);
		if (!object_caches[i]) {
			kvs_object_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

void kvs_object_exit(void)
{
	unsigned int i;

	rcu_barrier();
	for (i = 0; i < ARRAY_SIZE(key_sizes); i++) {
		kmem_cache_destroy(object_caches[i]);
		object_caches[i] = NULL;
	}
}

/** kvs_object_meta() - memory of an object beside its pages */
size_t kvs_object_meta(const struct kvs_object *obj)
{
	size_t bytes = kmem_cache_size(object_cache(obj->key_len));

	if (kvs_object_is_group(obj))
		bytes += kvs_group_meta(obj);
	else if (obj->nr_parts > 1)
		bytes += obj->nr_parts * sizeof(struct kvs_part);
	if (obj->extra)
		bytes += sizeof(*obj->extra) + obj->extra->tag_len;
	return bytes;
}

static int object_alloc_extra(struct kvs_object *obj, const struct kvs_identity *id)
{
	bool rooted = obj->flags & KVS_OBJ_ROOTED;
	struct kvs_extra *extra;

	if (likely(!id->manifest && !id->tag_len && !id->ttl_ms && !id->layout && !rooted))
		return 0;
	extra = kzalloc(struct_size(extra, tag, id->tag_len), GFP_KERNEL);
	if (!extra)
		return -ENOMEM;
	if (id->manifest) {
		memcpy(extra->manifest, id->manifest, KVSTASH_DIGEST_LEN);
		extra->has_manifest = true;
	}
	if (id->layout) {
		refcount_inc(&id->layout->refs);
		kvs_layout_enter(id->layout);
		extra->layout = id->layout;
	}
	if (rooted)
		extra->root = id->parent.hash;
	extra->ttl_ms = id->ttl_ms;
	extra->tag_len = id->tag_len;
	memcpy(extra->tag, id->tag, id->tag_len);
	obj->extra = extra;
	return 0;
}

static void object_free_rcu(struct rcu_head *rcu)
{
	struct kvs_object *obj = container_of(rcu, struct kvs_object, rcu);

	if (kvs_object_is_group(obj))
		kvfree(obj->group);
	else if (obj->nr_parts > 1)
		kfree(obj->parts);
	kfree(obj->extra);
	kmem_cache_free(object_cache(obj->key_len), obj);
}

/* Parts or members, and what not every object has. */
static int object_alloc_rest(struct kvs_object *obj, const struct kvs_identity *id)
{
	if (kvs_object_is_group(obj))
		obj->group = kvs_group_alloc(id);
	else if (id->parts > 1)
		obj->parts = kcalloc(id->parts, sizeof(*obj->parts), GFP_KERNEL);
	/* The union is zero where there is nothing to be had. */
	if (id->parts != 1 && !obj->parts)
		return -ENOMEM;
	if (!object_alloc_extra(obj, id))
		return 0;
	if (id->parts != 1)
		kvfree(obj->parts);
	return -ENOMEM;
}

/* KVS_OBJ_* that follow from what is named, and whether the parent is there. */
static u8 object_flags(const struct kvs_identity *id, const struct kvs_object *parent)
{
	if (id->group.len)
		return KVS_OBJ_MEMBER | (id->flags & KVS_OBJ_NO_LINGER);
	return id->flags | (id->parent.len && !parent ? KVS_OBJ_ROOTED : 0);
}

/* An object of @id that is being filled, with the index's reference, or NULL. */
static struct kvs_object *object_alloc(const struct kvs_identity *id, struct kvs_object *parent)
{
	struct kvs_object *obj;

	obj = kmem_cache_zalloc(object_cache(id->key.len), GFP_KERNEL);
	if (!obj)
		return NULL;
	obj->hash = id->key.hash;
	obj->key_len = id->key.len;
	obj->kind = id->key.kind;
	obj->ns = id->key.ns;
	memcpy(obj->key, id->key.data, id->key.len);
	obj->state = KVS_FILLING;
	obj->nr_parts = id->parts;
	obj->index = id->member;
	obj->flags = object_flags(id, parent);
	obj->parent = parent;
	refcount_set(&obj->refs, 1);
	spin_lock_init(&obj->lock);
	INIT_LIST_HEAD(&obj->idle);
	if (object_alloc_rest(obj, id)) {
		kmem_cache_free(object_cache(obj->key_len), obj);
		return NULL;
	}
	return obj;
}

/**
 * kvs_object_make() - make an object, not yet in the index
 * @id:     its identity
 * @parent: with a reference that the object takes over, NULL, or an ERR_PTR
 *          with its result; of a member: its group
 * @out:    out: an object that is being filled, with the index's reference
 * @r:      out: why not; the reference on @parent is dropped then
 *
 * Return: 0 or a negative errno.
 */
int kvs_object_make(const struct kvs_identity *id, struct kvs_object *parent,
		    struct kvs_object **out, struct kvstash_result *r)
{
	struct kvs_ns *ns = id->key.ns;
	struct kvs_object *obj;
	int ret;

	if (IS_ERR(parent))
		return PTR_ERR(parent);
	ret = kvs_reclaim_object(ns, parent, r);
	if (ret) {
		kvs_object_put(parent);
		return ret;
	}
	obj = object_alloc(id, parent);
	if (!obj) {
		atomic64_dec(&ns->objects);
		kvs_object_put(parent);
		return kvs_result(r, -ENOMEM, KVSTASH_R_NO_MEMORY, 0);
	}
	if (kvs_object_is_group(obj))
		atomic64_inc(&ns->filling);
	percpu_counter_add(&ns->pool->meta_bytes, kvs_object_meta(obj));
	*out = obj;
	return 0;
}

/* Give back the pages of a page object; returns the memory of their lists. */
static s64 free_parts(struct kvs_object *obj)
{
	struct kvs_ns *ns = obj->ns;
	unsigned int i;
	s64 meta = 0;

	for (i = 0; i < obj->nr_parts; i++) {
		struct kvs_part *part = kvs_object_part(obj, i);

		if (part->state != KVS_PART_COMMITTED)
			continue;
		meta += kvs_extents_meta(&part->ext);
		atomic64_sub(kvs_extents_pages(&part->ext), &ns->pages);
		kvs_pool_free(ns->pool, &part->ext, KVS_POOL_HELD);
		cond_resched();
	}
	return meta;
}

/* Give back the slot of a state, and let go of its layout. */
static void free_state(struct kvs_object *obj)
{
	if (obj->extra->slot)
		kvs_slot_give(obj->extra->slot, KVS_POOL_HELD);
	kvs_layout_leave(obj->extra->layout);
}

/* The last reference is gone. The parent's is the caller's to drop. */
static void object_free(struct kvs_object *obj)
{
	struct kvs_ns *ns = obj->ns;
	struct kvs_pool *pool = ns->pool;
	s64 meta = kvs_object_meta(obj);

	if (unlikely(kvs_object_is_state(obj)))
		free_state(obj);
	else
		meta += free_parts(obj);
	/* Only here can no reader add it any more. */
	if (obj->hit && obj->kind == KVSTASH_KIND_PAGE)
		atomic64_sub(kvs_pages(obj->bytes), &ns->proven);
	/* One that nobody ever saw. */
	if (kvs_object_is_group(obj) && obj->state != KVS_DYING)
		atomic64_dec(&ns->filling);
	if (obj->flags & KVS_OBJ_IN_GROUP)
		atomic_dec(&obj->parent->group->kids);
	percpu_counter_sub(&pool->meta_bytes, meta);
	call_rcu(&obj->rcu, object_free_rcu);
	/* Last: namespace and pool may go when there is no object left. */
	rcu_read_lock();
	if (atomic64_dec_and_test(&ns->objects) && wq_has_sleeper(&pool->freed))
		wake_up_all(&pool->freed);
	rcu_read_unlock();
}

/**
 * kvs_object_put() - drop a reference
 * @obj: may be freed, and then its parent's reference is dropped, and so on
 *
 * Context: process, no lock held.
 */
void kvs_object_put(struct kvs_object *obj)
{
	while (obj && refcount_dec_and_test(&obj->refs)) {
		struct kvs_object *parent = obj->parent;

		object_free(obj);
		obj = parent;
	}
}

/**
 * kvs_object_discard() - free an object that was never in the index
 * @obj: from kvs_object_make()
 */
void kvs_object_discard(struct kvs_object *obj)
{
	kvs_object_put(obj);
}

/* The __acquire() and __release() keep sparse's count where there is no parent. */
void kvs_object_lock(struct kvs_object *obj)
	__acquires(&obj->parent->lock)
	__acquires(&obj->lock)
{
	if (obj->parent)
		spin_lock(&obj->parent->lock);
	else
		__acquire(&obj->parent->lock);
	spin_lock_nested(&obj->lock, SINGLE_DEPTH_NESTING);
}

void kvs_object_unlock(struct kvs_object *obj)
	__releases(&obj->lock)
	__releases(&obj->parent->lock)
{
	spin_unlock(&obj->lock);
	if (obj->parent)
		spin_unlock(&obj->parent->lock);
	else
		__release(&obj->parent->lock);
}

/*
 * A prompt that goes on from a proven parent where another ended: what that one
 * put last, often a block filled up otherwise now, is not asked for again. The
 * parent's lock is held.
 */
static void demote_sibling(struct kvs_object *obj)
{
	struct hlist_node *other = obj->sibling.next;
	struct kvs_object *sibling = hlist_entry_safe(other, struct kvs_object, sibling);

	if (sibling && !other->next && !kvs_object_is_state(obj) &&
	    !kvs_object_is_state(sibling))
		kvs_evict_demote(sibling);
}

/**
 * kvs_object_attach() - become a child of one's parent
 * @obj: in the index, with a part in flight so that it can't complete yet; or a
 *       group
 *
 * Return: 0, or -ENOENT if the parent has gone or is going, or @obj has.
 */
int kvs_object_attach(struct kvs_object *obj)
{
	struct kvs_object *parent = obj->parent;
	int ret = 0;

	if (!parent)
		return 0;
	spin_lock(&parent->lock);
	/*
	 * A group without members may have been killed since it is in the index;
	 * that, too, was done under this lock.
	 */
	if (parent->state == KVS_DYING || (parent->flags & KVS_OBJ_REMOVING) ||
	    READ_ONCE(obj->state) == KVS_DYING)
		ret = -ENOENT;
	else
		hlist_add_head(&obj->sibling, &parent->children);
	if (!ret && READ_ONCE(parent->hit))
		demote_sibling(obj);
	spin_unlock(&parent->lock);
	return ret;
}

/**
 * kvs_object_held() - does somebody hold it, so that it is not to be evicted?
 * @obj: ungrouped, or a group; with a reference
 * @own: references of the caller's
 *
 * Beside the index, the caller, and the members.
 */
bool kvs_object_held(const struct kvs_object *obj, unsigned int own)
{
	unsigned int refs = refcount_read(&obj->refs);
	const struct kvs_group *g;

	if (!kvs_object_is_group(obj))
		return refs > 1 + own;
	/* A member that goes leaves @kids before it drops its reference. */
	g = obj->group;
	return refs > 1 + own + atomic_read(&g->kids) || READ_ONCE(g->writers);
}

bool kvs_object_visible_slow(const struct kvs_object *obj, u8 state)
{
	const struct kvs_object *group = obj->parent;
	u8 shown;

	switch (state) {
	case KVS_TIMED:
		return !kvs_object_expired(obj);
	case KVS_WHOLE:
		return READ_ONCE(obj->group->present) == obj->group->expected &&
		       !kvs_object_expired(obj);
	case KVS_JOINED:
		/* As for @obj: one of its group's members or all. */
		shown = smp_load_acquire(&group->state);
		return (shown == KVS_OPEN || shown == KVS_WHOLE) &&
		       !kvs_object_expired(group) && !kvs_object_expired(obj);
	}
	return false;
}

/**
 * kvs_parent_get() - the parent that an identity names
 * @id: the identity
 * @r:  out: why not
 *
 * Return: with a reference; NULL if there is none; or an ERR_PTR.
 */
struct kvs_object *kvs_parent_get(const struct kvs_identity *id, struct kvstash_result *r)
{
	struct kvs_object *parent;

	if (!id->parent.len)
		return NULL;
	parent = kvs_index_get(&id->parent);
	if (parent && kvs_object_is_member(parent)) {
		kvs_object_put(parent);
		return ERR_PTR(kvs_result(r, -EINVAL, KVSTASH_R_PARENT_MEMBER, 0));
	}
	/* What has expired is as good as gone. */
	if (parent && kvs_object_expired(parent)) {
		kvs_object_put(parent);
		parent = NULL;
	}
	if (parent || id->root_if_no_parent)
		return parent;
	return ERR_PTR(kvs_result(r, -ENOENT, KVSTASH_R_PARENT_MISS, 0));
}

/** kvs_object_parent_differs() - is @key that of another parent than @obj has? */
bool kvs_object_parent_differs(const struct kvs_object *obj, const struct kvs_key *key)
{
	const struct kvs_object *parent = obj->parent;

	/* Its key is not kept; a tenant can't compute another of the same hash. */
	if (obj->flags & KVS_OBJ_ROOTED)
		return !key->len || obj->extra->root != key->hash;
	if (!parent)
		return key->len;
	return parent->key_len != key->len || parent->kind != key->kind ||
	       memcmp(parent->key, key->data, key->len);
}

/* The place in a group, and what the group is. */
static u32 group_mismatch(const struct kvs_object *obj, const struct kvs_identity *id,
			  u64 *detail)
{
	const struct kvs_object *group = obj->parent;

	if (group->key_len != id->group.len ||
	    memcmp(group->key, id->group.data, id->group.len))
		return KVSTASH_R_MISMATCH_GROUP;
	if (obj->index != id->member) {
		*detail = obj->index;
		return KVSTASH_R_MISMATCH_INDEX;
	}
	return kvs_group_mismatch(group, id, detail);
}

/**
 * kvs_object_mismatch() - compare an identity with that of an object
 * @obj:    the object, with a reference
 * @id:     what a put says
 * @detail: out: goes with the reason
 *
 * Return: 0 or KVSTASH_R_MISMATCH_*.
 */
u32 kvs_object_mismatch(const struct kvs_object *obj, const struct kvs_identity *id,
			u64 *detail)
{
	const struct kvs_extra *extra = obj->extra;
	bool has_manifest = extra && extra->has_manifest;
	u32 ttl_ms = extra ? extra->ttl_ms : 0, reason;

	if (kvs_object_is_member(obj) != !!id->group.len)
		return KVSTASH_R_MISMATCH_GROUP;
	reason = id->group.len ? group_mismatch(obj, id, detail) : 0;
	if (reason)
		return reason;
	if (obj->nr_parts != id->parts) {
		*detail = obj->nr_parts;
		return KVSTASH_R_MISMATCH_PARTS;
	}
	if (has_manifest != !!id->manifest ||
	    (has_manifest && memcmp(extra->manifest, id->manifest, KVSTASH_DIGEST_LEN)))
		return KVSTASH_R_MISMATCH_MANIFEST;
	/* A member's is its group's. */
	if (!id->group.len && kvs_object_parent_differs(obj, &id->parent))
		return KVSTASH_R_MISMATCH_PARENT;
	if (ttl_ms != id->ttl_ms) {
		*detail = ttl_ms;
		return KVSTASH_R_MISMATCH_TTL;
	}
	if ((extra ? extra->tag_len : 0) != id->tag_len ||
	    (id->tag_len && memcmp(extra->tag, id->tag, id->tag_len)))
		return KVSTASH_R_MISMATCH_TAG;
	return 0;
}

/* The state in which @obj is shown, with all that comes before it. */
static u8 shown_state(struct kvs_object *obj)
{
	struct kvs_ns *ns = obj->ns;

	/* Nearly always there is no end of life. */
	if (unlikely(obj->extra || kvs_object_is_group(obj)) ||
	    (obj->parent && obj->parent->expires))
		kvs_ttl_begin(obj);
	if (!kvs_object_is_group(obj)) {
		atomic64_inc(&ns->visible);
		kvs_stat_inc(ns, PUBLISHED);
		return obj->expires ? KVS_TIMED : KVS_VISIBLE;
	}
	if (obj->state != KVS_OPEN)
		kvs_group_show(obj);
	atomic64_dec(&ns->filling);
	atomic64_inc(&ns->whole);
	kvs_stat_inc(ns, GROUPS_PUBLISHED);
	/* A full barrier, see view.c: all members are in the index by now. */
	WRITE_ONCE(obj->group->born, atomic64_inc_return(&ns->moment));
	return KVS_WHOLE;
}

/**
 * kvs_object_publish() - make a complete object visible, or wait for its parent
 * @obj: all parts committed, or a group with all its members; kvs_object_lock()
 *       held
 * @now: ktime_get_ns() of the command
 *
 * Return: true if it is visible now: the caller, without the locks, then calls
 * kvs_object_published().
 */
bool kvs_object_publish(struct kvs_object *obj, u64 now)
{
	struct kvs_object *parent = obj->parent;

	lockdep_assert_held(&obj->lock);
	if (parent && !kvs_state_shown(parent->state)) {
		WRITE_ONCE(obj->state, KVS_WAITING);
		hlist_del(&obj->sibling);
		hlist_add_head(&obj->sibling, &parent->waiting);
		return false;
	}
	/* A plain group may wait for its parent before it is complete. */
	if (parent && (obj->state == KVS_WAITING || kvs_object_is_group(obj))) {
		hlist_del(&obj->sibling);
		hlist_add_head(&obj->sibling, &parent->children);
	}
	obj->used = now;
	/* Pairs with kvs_object_visible(): parts and bytes come before it. */
	smp_store_release(&obj->state, shown_state(obj));
	trace_kvstash_publish(obj);
	return true;
}

/* Publish one child that waits for @obj; returned with a reference. */
static struct kvs_object *publish_waiting(struct kvs_object *obj)
{
	struct kvs_object *child;

	spin_lock(&obj->lock);
	child = hlist_entry_safe(obj->waiting.first, struct kvs_object, sibling);
	/* A plain group that is opened shows members, not yet what descends from it. */
	if (child && !kvs_state_shown(obj->state))
		child = NULL;
	if (child) {
		spin_lock_nested(&child->lock, SINGLE_DEPTH_NESTING);
		refcount_inc(&child->refs);
		if (child->state == KVS_FILLING)
			kvs_group_open(child);
		else
			kvs_object_publish(child, obj->used);
		spin_unlock(&child->lock);
	}
	spin_unlock(&obj->lock);
	return child;
}

/**
 * kvs_object_published() - what follows publishing
 * @top: visible now, with a reference; no lock held
 *
 * Lists it as a leaf and publishes all that waited for it: down the chain by
 * references, up again by the parents, whose references the children hold.
 */
void kvs_object_published(struct kvs_object *top)
{
	struct kvs_object *cur = top, *next;

	kvs_evict_list_leaf(top);
	for (;;) {
		next = publish_waiting(cur);
		if (next) {
			kvs_evict_list_leaf(next);
			cur = next;
			cond_resched();
			continue;
		}
		if (cur == top)
			return;
		next = cur->parent;
		kvs_object_put(cur);
		cur = next;
	}
}

/** kvs_object_pages() - pages of the parts committed; none for a group */
u64 kvs_object_pages(struct kvs_object *obj)
{
	u64 pages = 0;
	unsigned int i;

	for (i = 0; i < obj->nr_parts; i++) {
		struct kvs_part *part = kvs_object_part(obj, i);

		if (part->state == KVS_PART_COMMITTED)
			pages += kvs_pages(part->len);
	}
	return pages;
}

/**
 * kvs_object_absence() - say why an object that was found is not to be seen
 * @obj: not visible; under RCU or with a reference
 * @r:   out
 *
 * Takes no lock: each figure is true of a moment during the call.
 */
void kvs_object_absence(const struct kvs_object *obj, struct kvstash_result *r)
{
	u8 state = READ_ONCE(obj->state);
	u16 present = READ_ONCE(obj->nr_present);

	/* Visible by now: it was in flight when the caller looked. */
	if (state == KVS_VISIBLE || state == KVS_JOINED ||
	    (state == KVS_FILLING && READ_ONCE(obj->nr_in_flight)))
		kvs_result(r, -ENOENT, KVSTASH_R_IN_FLIGHT, present);
	else if (state == KVS_FILLING)
		kvs_result(r, -ENOENT, KVSTASH_R_INCOMPLETE, present);
	else if (state == KVS_WAITING)
		kvs_result(r, -ENOENT, KVSTASH_R_PARENT_PENDING, present);
	else if (state == KVS_TIMED)
		kvs_result(r, -ENOENT, KVSTASH_R_EXPIRED, 0);
	else
		kvs_result(r, -ENOENT, KVSTASH_R_MISS, 0);
}
