// SPDX-License-Identifier: GPL-2.0
/*
 * Objects: states, publishing, killing, the prefix chain.
 *
 * Locking: an object's lock nests inside its parent's, and no third one is ever
 * taken; kvs_object_lock() takes both. Inside them: a bucket lock or the
 * evict_lock, then pool->lock. Walks over a chain hold references, not locks.
 * The last reference is dropped with no lock held, since that frees memory.
 */
#include <linux/sched.h>
#include <linux/slab.h>

#include "evict.h"
#include "object.h"
#include "result.h"
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

	if (obj->nr_parts > 1)
		bytes += obj->nr_parts * sizeof(struct kvs_part);
	if (obj->extra)
		bytes += sizeof(*obj->extra) + obj->extra->tag_len;
	return bytes;
}

static int object_alloc_extra(struct kvs_object *obj, const struct kvs_identity *id)
{
	struct kvs_extra *extra;

	if (!id->manifest && !id->tag_len)
		return 0;
	extra = kzalloc(struct_size(extra, tag, id->tag_len), GFP_KERNEL);
	if (!extra)
		return -ENOMEM;
	if (id->manifest) {
		memcpy(extra->manifest, id->manifest, KVSTASH_DIGEST_LEN);
		extra->has_manifest = true;
	}
	extra->tag_len = id->tag_len;
	memcpy(extra->tag, id->tag, id->tag_len);
	obj->extra = extra;
	return 0;
}

static void object_free_rcu(struct rcu_head *rcu)
{
	struct kvs_object *obj = container_of(rcu, struct kvs_object, rcu);

	if (obj->nr_parts > 1)
		kfree(obj->parts);
	kfree(obj->extra);
	kmem_cache_free(object_cache(obj->key_len), obj);
}

/**
 * kvs_object_alloc() - make an object, not yet in the index
 * @id:     its identity; it is counted in its namespace by kvs_reclaim_object()
 * @parent: with a reference that the object takes over, or NULL
 *
 * Return: an object that is being filled, with the index's reference, or NULL;
 * the caller then keeps its reference on the parent.
 */
struct kvs_object *kvs_object_alloc(const struct kvs_identity *id, struct kvs_object *parent)
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
	if (id->parent.len && !parent)
		obj->flags = KVS_OBJ_ROOTED;
	refcount_set(&obj->refs, 1);
	spin_lock_init(&obj->lock);
	INIT_LIST_HEAD(&obj->idle);
	if (id->parts > 1)
		obj->parts = kcalloc(id->parts, sizeof(*obj->parts), GFP_KERNEL);
	if ((id->parts > 1 && !obj->parts) || object_alloc_extra(obj, id)) {
		if (id->parts > 1)
			kfree(obj->parts);
		kmem_cache_free(object_cache(obj->key_len), obj);
		return NULL;
	}
	obj->parent = parent;
	percpu_counter_add(&obj->ns->pool->meta_bytes, kvs_object_meta(obj));
	return obj;
}

/* The last reference is gone. The parent's is the caller's to drop. */
static void object_free(struct kvs_object *obj)
{
	struct kvs_ns *ns = obj->ns;
	struct kvs_pool *pool = ns->pool;
	s64 meta = kvs_object_meta(obj);
	unsigned int i;

	for (i = 0; i < obj->nr_parts; i++) {
		struct kvs_part *part = kvs_object_part(obj, i);

		if (part->state != KVS_PART_COMMITTED)
			continue;
		meta += kvs_extents_meta(&part->ext);
		atomic64_sub(kvs_extents_pages(&part->ext), &ns->pages);
		kvs_pool_free(pool, &part->ext, KVS_POOL_HELD);
		cond_resched();
	}
	/* Only here can no reader add it any more. */
	if (obj->hit)
		atomic64_sub(kvs_pages(obj->bytes), &ns->proven);
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
 * @obj: from kvs_object_alloc()
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

	if (other && !other->next)
		kvs_evict_demote(hlist_entry(other, struct kvs_object, sibling));
}

/**
 * kvs_object_attach() - become a child of one's parent
 * @obj: in the index, with a part in flight so that it can't complete yet
 *
 * Return: 0, or -ENOENT if the parent has gone or is going.
 */
int kvs_object_attach(struct kvs_object *obj)
{
	struct kvs_object *parent = obj->parent;
	int ret = 0;

	if (!parent)
		return 0;
	spin_lock(&parent->lock);
	if (parent->state == KVS_DYING || (parent->flags & KVS_OBJ_REMOVING))
		ret = -ENOENT;
	else
		hlist_add_head(&obj->sibling, &parent->children);
	if (!ret && READ_ONCE(parent->hit))
		demote_sibling(obj);
	spin_unlock(&parent->lock);
	return ret;
}

static bool parent_differs(const struct kvs_object *obj, const struct kvs_key *key)
{
	const struct kvs_object *parent = obj->parent;

	if (obj->flags & KVS_OBJ_ROOTED)
		return !key->len;
	if (!parent)
		return key->len;
	return parent->key_len != key->len || memcmp(parent->key, key->data, key->len);
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

	if (obj->nr_parts != id->parts) {
		*detail = obj->nr_parts;
		return KVSTASH_R_MISMATCH_PARTS;
	}
	if (has_manifest != !!id->manifest ||
	    (has_manifest && memcmp(extra->manifest, id->manifest, KVSTASH_DIGEST_LEN)))
		return KVSTASH_R_MISMATCH_MANIFEST;
	if (parent_differs(obj, &id->parent))
		return KVSTASH_R_MISMATCH_PARENT;
	if ((extra ? extra->tag_len : 0) != id->tag_len ||
	    (id->tag_len && memcmp(extra->tag, id->tag, id->tag_len)))
		return KVSTASH_R_MISMATCH_TAG;
	return 0;
}

/**
 * kvs_object_publish() - make a complete object visible, or wait for its parent
 * @obj: all parts committed; kvs_object_lock() held
 * @now: ktime_get_ns() of the command
 *
 * Return: true if it is visible now: the caller, without the locks, then calls
 * kvs_object_published().
 */
bool kvs_object_publish(struct kvs_object *obj, u64 now)
{
	struct kvs_object *parent = obj->parent;

	lockdep_assert_held(&obj->lock);
	if (parent && parent->state != KVS_VISIBLE) {
		WRITE_ONCE(obj->state, KVS_WAITING);
		hlist_del(&obj->sibling);
		hlist_add_head(&obj->sibling, &parent->waiting);
		return false;
	}
	if (parent && obj->state == KVS_WAITING) {
		hlist_del(&obj->sibling);
		hlist_add_head(&obj->sibling, &parent->children);
	}
	obj->used = now;
	/* Pairs with kvs_object_visible(): parts and bytes come before it. */
	smp_store_release(&obj->state, KVS_VISIBLE);
	atomic64_inc(&obj->ns->visible);
	kvs_stat_inc(obj->ns, PUBLISHED);
	return true;
}

/* Publish one child that waits for @obj; returned with a reference. */
static struct kvs_object *publish_waiting(struct kvs_object *obj)
{
	struct kvs_object *child;

	spin_lock(&obj->lock);
	child = hlist_entry_safe(obj->waiting.first, struct kvs_object, sibling);
	if (child) {
		spin_lock_nested(&child->lock, SINGLE_DEPTH_NESTING);
		refcount_inc(&child->refs);
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

static u64 object_pages(struct kvs_object *obj)
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

static void count_kill(struct kvs_object *obj, bool visible, u64 pages, enum kvs_kill_why why)
{
	struct kvs_ns *ns = obj->ns;

	if (visible)
		atomic64_dec(&ns->visible);
	switch (why) {
	case KVS_KILL_REMOVE:
		kvs_stat_inc(ns, REMOVED);
		break;
	case KVS_KILL_EVICT:
		kvs_stat_inc(ns, EVICTIONS);
		kvs_stat_add(ns, EVICTED_BYTES, pages << KVS_PAGE_SHIFT);
		if (!READ_ONCE(obj->hit))
			kvs_stat_inc(ns, EVICTED_UNFETCHED);
		break;
	case KVS_KILL_COLLECT:
		kvs_stat_inc(ns, COLLECTED_INCOMPLETE);
		break;
	case KVS_KILL_WITH_PARENT:
		kvs_stat_inc(ns, KILLED_WITH_PARENT);
		break;
	default:
		break;
	}
}

/*
 * Hide @obj, both locks held. Its pages are held from here to the last
 * reference; a part in flight goes on being counted as such until its write
 * ends.
 */
static u64 object_hide(struct kvs_object *obj, struct hlist_head *writes)
{
	u64 pages = object_pages(obj);

	if (obj->state == KVS_FILLING)
		hlist_move_list(&obj->writes, writes);
	WRITE_ONCE(obj->state, KVS_DYING);
	if (!hlist_unhashed(&obj->sibling))
		hlist_del_init(&obj->sibling);
	if (pages)
		kvs_pool_move(obj->ns->pool, pages, KVS_POOL_COMMITTED, KVS_POOL_HELD);
	return pages;
}

/* What a kill does once the object is hidden, without its locks. */
static void object_bury(struct kvs_object *obj, struct hlist_head *writes)
{
	struct kvs_object *parent = obj->parent;

	kvs_evict_unlist(obj);
	/* After unlisting, see "leaf or not" in Documentation/design.rst. */
	if (parent && !kvs_object_has_children(parent))
		kvs_evict_list_leaf(parent);
	kvs_index_remove(obj);
	kvs_write_orphan(obj, writes);
	kvs_object_put(obj);	/* the index's */
}

/**
 * kvs_object_kill() - hide an object without children and forget it
 * @obj: with a reference of the caller's
 * @why: for the counters
 *
 * Return: false if it has children or is dying already.
 */
bool kvs_object_kill(struct kvs_object *obj, enum kvs_kill_why why)
{
	HLIST_HEAD(writes);
	bool visible;
	u64 pages;

	kvs_object_lock(obj);
	if (obj->state == KVS_DYING || kvs_object_has_children(obj)) {
		kvs_object_unlock(obj);
		return false;
	}
	visible = obj->state == KVS_VISIBLE;
	pages = object_hide(obj, &writes);
	kvs_object_unlock(obj);

	count_kill(obj, visible, pages, why);
	object_bury(obj, &writes);
	return true;
}

/**
 * kvs_object_evict() - kill an object if it is still a leaf that nobody holds
 * @obj: with a reference of the caller's
 *
 * Return: true if it was evicted.
 */
bool kvs_object_evict(struct kvs_object *obj)
{
	HLIST_HEAD(writes);
	u64 pages;

	kvs_object_lock(obj);
	if (obj->state != KVS_VISIBLE || kvs_object_has_children(obj) ||
	    kvs_object_held(obj, 1)) {
		kvs_object_unlock(obj);
		return false;
	}
	pages = object_hide(obj, &writes);
	kvs_object_unlock(obj);

	count_kill(obj, true, pages, KVS_KILL_EVICT);
	object_bury(obj, &writes);
	return true;
}

/**
 * kvs_object_collect() - kill an object that is not visible and nobody fills
 * @obj: with a reference of the caller's
 *
 * Return: true if it was killed; false if it has children, a living client's
 * part, is visible, or is dying already.
 */
bool kvs_object_collect(struct kvs_object *obj)
{
	HLIST_HEAD(writes);
	bool filling, ok;
	u64 pages = 0;

	kvs_object_lock(obj);
	filling = obj->state == KVS_FILLING;
	ok = (filling ? hlist_empty(&obj->writes) : obj->state == KVS_WAITING) &&
	     !kvs_object_has_children(obj) && !(obj->flags & KVS_OBJ_REMOVING);
	if (ok)
		pages = object_hide(obj, &writes);
	kvs_object_unlock(obj);
	if (!ok)
		return false;

	count_kill(obj, false, pages, filling ? KVS_KILL_COLLECT : KVS_KILL_WITH_PARENT);
	object_bury(obj, &writes);
	return true;
}

/**
 * kvs_object_deepest() - go down the first children to one that has none
 * @obj: with a reference of the caller's, which stays
 *
 * Return: @obj or a descendant, with a reference.
 */
struct kvs_object *kvs_object_deepest(struct kvs_object *obj)
{
	struct kvs_object *cur = obj, *child;

	refcount_inc(&cur->refs);
	for (;;) {
		spin_lock(&cur->lock);
		child = hlist_entry_safe(cur->children.first ?: cur->waiting.first,
					 struct kvs_object, sibling);
		if (child)
			refcount_inc(&child->refs);
		spin_unlock(&cur->lock);
		if (!child)
			return cur;
		kvs_object_put(cur);
		cur = child;
		cond_resched();
	}
}

/* A child of @obj, marked so that it takes no children; with a reference. */
static struct kvs_object *removing_child(struct kvs_object *obj)
{
	struct kvs_object *child;

	spin_lock(&obj->lock);
	obj->flags |= KVS_OBJ_REMOVING;
	child = hlist_entry_safe(obj->children.first ?: obj->waiting.first,
				 struct kvs_object, sibling);
	if (child) {
		spin_lock_nested(&child->lock, SINGLE_DEPTH_NESTING);
		child->flags |= KVS_OBJ_REMOVING;
		refcount_inc(&child->refs);
		spin_unlock(&child->lock);
	}
	spin_unlock(&obj->lock);
	return child;
}

/**
 * kvs_object_kill_tree() - kill an object and all that descend from it
 * @root: with a reference of the caller's
 * @why:  for the counters
 *
 * Deepest first, so that no child is visible without its parent (I9). No object
 * can join a subtree once its root is marked, so this ends.
 */
void kvs_object_kill_tree(struct kvs_object *root, enum kvs_kill_why why)
{
	struct kvs_object *cur = root, *next;

	for (;;) {
		next = removing_child(cur);
		if (next) {
			cur = next;
			continue;
		}
		kvs_object_kill(cur, cur == root ? why : KVS_KILL_WITH_PARENT);
		if (cur == root)
			return;
		next = cur->parent;
		kvs_object_put(cur);
		cur = next;
		cond_resched();
	}
}

/**
 * kvs_object_remove() - remove an object on request
 * @obj: with a reference of the caller's
 *
 * Return: 0; -EBUSY if a living client is filling it; -ENOENT if another
 * request was first. It is hidden in any case but the second.
 */
int kvs_object_remove(struct kvs_object *obj)
{
	int ret = 0;

	spin_lock(&obj->lock);
	if (obj->state == KVS_FILLING && !hlist_empty(&obj->writes))
		ret = -EBUSY;
	else if (obj->state == KVS_DYING || (obj->flags & KVS_OBJ_REMOVING))
		ret = -ENOENT;
	else
		obj->flags |= KVS_OBJ_REMOVING;
	spin_unlock(&obj->lock);
	if (ret != -EBUSY)
		kvs_object_kill_tree(obj, KVS_KILL_REMOVE);
	return ret;
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
	if (state == KVS_VISIBLE ||
	    (state == KVS_FILLING && READ_ONCE(obj->nr_in_flight)))
		kvs_result(r, -ENOENT, KVSTASH_R_IN_FLIGHT, present);
	else if (state == KVS_FILLING)
		kvs_result(r, -ENOENT, KVSTASH_R_INCOMPLETE, present);
	else if (state == KVS_WAITING)
		kvs_result(r, -ENOENT, KVSTASH_R_PARENT_PENDING, present);
	else
		kvs_result(r, -ENOENT, KVSTASH_R_MISS, 0);
}

/**
 * kvs_object_settle() - look at an object after one of its writes ended
 * @obj: with a reference of the caller's; no lock held
 *
 * Nobody fills it any more: without a committed part it goes at once, else it
 * is idle.
 */
void kvs_object_settle(struct kvs_object *obj)
{
	bool empty = false;

	spin_lock(&obj->lock);
	if (obj->state == KVS_FILLING && hlist_empty(&obj->writes)) {
		empty = !obj->nr_present;
		if (empty)
			obj->flags |= KVS_OBJ_REMOVING;
		else
			kvs_evict_list_idle(obj);
	}
	spin_unlock(&obj->lock);
	if (empty)
		kvs_object_kill_tree(obj, KVS_KILL_EMPTY);
}
