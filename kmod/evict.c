// SPDX-License-Identifier: GPL-2.0
/*
 * Making room.
 *
 * Locking: ns->evict_lock guards the leaf tree and the idle list; it nests in
 * an object's lock. Victims are taken with a reference and killed without it.
 *
 * A leaf tree is sorted by the stamp of the last hit as known when the object
 * was listed. Hits only store a stamp in the object; the evictor compares, and
 * lists again what was hit since. So it takes exactly the least recently used
 * leaf, and a hit takes no lock.
 *
 * There are two trees: objects never got, and proven ones. Most blocks of a
 * prompt are never asked for again, so the proven ones have a quarter of the
 * namespace to themselves: while they use less, a never-got leaf goes first.
 * Above that, the least recently used leaf of both. On the trace that
 * README.md names this hits more than one tree at every size.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/rculist.h>
#include <linux/sched/signal.h>

#include "evict.h"
#include "group.h"
#include "layout.h"
#include "object.h"
#include "result.h"
#include "ttl.h"

/* How often the tree is looked at under one hold of the lock. */
#define KVS_EVICT_SLICE		64
/* How many leaves that are held for a moment one pass leaves where they are. */
#define KVS_EVICT_ASIDE		8
/* How often a put looks again because others were faster, at most. */
#define KVS_EVICT_AGAIN		100
/* One in so many pages of a namespace is kept for proven objects. */
#define KVS_PROVEN_SHARE	4

static struct workqueue_struct *evict_wq;

int kvs_evict_init(void)
{
	evict_wq = alloc_workqueue("kvstash", WQ_UNBOUND, 0);
	return evict_wq ? 0 : -ENOMEM;
}

void kvs_evict_exit(void)
{
	destroy_workqueue(evict_wq);
}

static struct kvs_object *leaf_entry(struct rb_node *node)
{
	return node ? rb_entry(node, struct kvs_object, leaf) : NULL;
}

static u64 leaves_oldest(const struct kvs_ns *ns, enum kvs_leaf_tree tree)
{
	struct kvs_object *first = leaf_entry(rb_first_cached(&ns->leaves[tree].root));

	return first ? first->stamp : U64_MAX;
}

static void leaf_update_oldest(struct kvs_ns *ns)
{
	WRITE_ONCE(ns->oldest, min(leaves_oldest(ns, KVS_LEAVES_NEW),
				   leaves_oldest(ns, KVS_LEAVES_PROVEN)));
	WRITE_ONCE(ns->oldest_soft, leaves_oldest(ns, KVS_LEAVES_SOFT));
}

static enum kvs_leaf_tree leaf_tree(const struct kvs_object *obj)
{
	if (READ_ONCE(obj->pin) == KVSTASH_PIN_SOFT)
		return KVS_LEAVES_SOFT;
	return READ_ONCE(obj->hit) ? KVS_LEAVES_PROVEN : KVS_LEAVES_NEW;
}

static void leaf_insert(struct kvs_ns *ns, struct kvs_object *obj)
{
	enum kvs_leaf_tree tree = leaf_tree(obj);
	struct kvs_leaves *leaves = &ns->leaves[tree];
	struct rb_node **link = &leaves->root.rb_root.rb_node, *parent = NULL;
	bool leftmost = true, rightmost = true;

	obj->stamp = READ_ONCE(obj->used);
	/* Nearly always it is the newest: no walk. */
	if (leaves->newest && obj->stamp >= leaf_entry(leaves->newest)->stamp) {
		parent = leaves->newest;
		link = &parent->rb_right;
		leftmost = false;
	}
	while (*link) {
		parent = *link;
		if (obj->stamp < leaf_entry(parent)->stamp) {
			link = &parent->rb_left;
			rightmost = false;
		} else {
			link = &parent->rb_right;
			leftmost = false;
		}
	}
	rb_link_node(&obj->leaf, parent, link);
	rb_insert_color_cached(&obj->leaf, &leaves->root, leftmost);
	if (rightmost)
		leaves->newest = &obj->leaf;
	obj->listed = tree + 1;
	ns->nr_leaves++;
	if (leftmost)
		leaf_update_oldest(ns);
}

static void leaf_erase(struct kvs_ns *ns, struct kvs_object *obj)
{
	struct kvs_leaves *leaves = &ns->leaves[obj->listed - 1];

	if (leaves->newest == &obj->leaf)
		leaves->newest = rb_prev(&obj->leaf);
	rb_erase_cached(&obj->leaf, &leaves->root);
	obj->listed = 0;
	ns->nr_leaves--;
	leaf_update_oldest(ns);
}

/* A kill stores DYING before it unlists: it can't be listed after that. */
static void leaf_list(struct kvs_ns *ns, struct kvs_object *obj)
{
	if (!obj->listed && kvs_state_shown(READ_ONCE(obj->state)) && !kvs_object_free_state(obj) &&
	    READ_ONCE(obj->pin) != KVSTASH_PIN_HARD && !kvs_object_has_children(obj))
		leaf_insert(ns, obj);
}

/**
 * kvs_evict_list_leaf() - list an object if it is a visible leaf
 * @obj: with a reference, or as the parent of an object that has one
 */
void kvs_evict_list_leaf(struct kvs_object *obj)
{
	struct kvs_ns *ns = obj->ns;

	spin_lock(&ns->evict_lock);
	leaf_list(ns, obj);
	spin_unlock(&ns->evict_lock);
}

/**
 * kvs_evict_relist() - list a leaf by its new pin
 * @obj: its lock is held
 */
void kvs_evict_relist(struct kvs_object *obj)
{
	struct kvs_ns *ns = obj->ns;

	lockdep_assert_held(&obj->lock);
	spin_lock(&ns->evict_lock);
	if (obj->listed && obj->listed != KVS_LISTED_IDLE)
		leaf_erase(ns, obj);
	leaf_list(ns, obj);
	spin_unlock(&ns->evict_lock);
}

/**
 * kvs_evict_demote() - let a leaf that was never got go before all others
 * @obj: kept by its parent's lock
 */
void kvs_evict_demote(struct kvs_object *obj)
{
	struct kvs_ns *ns = obj->ns;

	spin_lock(&ns->evict_lock);
	if (obj->listed == KVS_LEAVES_NEW + 1 && !READ_ONCE(obj->hit) &&
	    !kvs_object_has_children(obj)) {
		u64 used = READ_ONCE(obj->used);

		leaf_erase(ns, obj);
		/*
		 * Counts slower than nanoseconds, so it is before any real stamp.
		 * A hit at this moment keeps its own.
		 */
		cmpxchg(&obj->used, used, ++ns->demoted);
		leaf_insert(ns, obj);
	}
	spin_unlock(&ns->evict_lock);
}

/**
 * kvs_evict_list_idle() - an incomplete object has nobody who fills it
 * @obj: its lock is held
 */
void kvs_evict_list_idle(struct kvs_object *obj)
{
	struct kvs_ns *ns = obj->ns;

	lockdep_assert_held(&obj->lock);
	spin_lock(&ns->evict_lock);
	if (!obj->listed) {
		obj->stamp = get_jiffies_64();
		list_add_tail(&obj->idle, &ns->idle);
		obj->listed = KVS_LISTED_IDLE;
	}
	spin_unlock(&ns->evict_lock);
	kvs_collect_kick(ns->pool);
}

/**
 * kvs_collect_kick() - look anew at whose time comes next
 * @pool: an object got idle in it, or a time-out was changed
 */
void kvs_collect_kick(struct kvs_pool *pool)
{
	mod_delayed_work(evict_wq, &pool->collect, 0);
}

/** kvs_evict_unlist() - take an object off whichever list it is on */
void kvs_evict_unlist(struct kvs_object *obj)
{
	struct kvs_ns *ns = obj->ns;

	spin_lock(&ns->evict_lock);
	if (obj->listed == KVS_LISTED_IDLE) {
		list_del_init(&obj->idle);
		obj->listed = 0;
	} else if (obj->listed) {
		leaf_erase(ns, obj);
	}
	spin_unlock(&ns->evict_lock);
}

/**
 * struct evict_pass - one look at what could go
 * @before: objects hit since are not victims (nanoseconds)
 * @since:  nor objects that are idle since later (jiffies)
 * @keep:   held by who makes room, who need not wait for himself; or NULL
 * @soft:   what is pinned soft may go
 * @busy:   somebody was reading one that else would have been
 * @aside:  taken off the tree until the pass has ended, with a reference: held by
 *          a reader, or by a child that is about to be free
 * @nr_aside: how many
 */
struct evict_pass {
	u64 before;
	u64 since;
	const struct kvs_object *keep;
	bool soft;
	bool busy;
	struct kvs_object *aside[KVS_EVICT_ASIDE];
	unsigned int nr_aside;
};

static struct evict_pass pass_begin(const struct kvs_object *keep)
{
	return (struct evict_pass) {
		.before = ktime_get_ns(),
		.since = get_jiffies_64(),
		.keep = keep,
	};
}

/* Each goes back to the place that its last use gave it. */
static void pass_end(struct evict_pass *pass)
{
	while (pass->nr_aside) {
		struct kvs_object *obj = pass->aside[--pass->nr_aside];

		kvs_evict_list_leaf(obj);
		kvs_object_put(obj);
	}
}

/*
 * A leaf that is held: look at the others. A lease may last, and then it counts as
 * just used; evict_lock is held.
 */
static void leaf_pass_over(struct kvs_ns *ns, struct kvs_object *obj, struct evict_pass *pass)
{
	if (!READ_ONCE(obj->leases)) {
		/* Nobody waits for himself. */
		pass->busy |= obj != pass->keep;
		if (pass->nr_aside < KVS_EVICT_ASIDE) {
			refcount_inc(&obj->refs);
			leaf_erase(ns, obj);
			pass->aside[pass->nr_aside++] = obj;
			return;
		}
	}
	WRITE_ONCE(obj->used, ktime_get_ns());
}

/* The first leaf of a tree, if it was not hit since the pass began. */
static struct kvs_object *leaf_first(struct kvs_leaves *leaves, u64 before)
{
	struct kvs_object *obj = leaf_entry(rb_first_cached(&leaves->root));

	return obj && obj->stamp <= before ? obj : NULL;
}

/* Pages that are no slots'; for a moment what is carved may be more. */
static s64 ns_page_pages(const struct kvs_ns *ns)
{
	return max(atomic64_read(&ns->pages) - atomic64_read(&ns->carved), 0LL);
}

/* Which leaf is next, as far as the trees know. */
static struct kvs_object *leaf_next(struct kvs_ns *ns, const struct evict_pass *pass)
{
	struct kvs_object *new = leaf_first(&ns->leaves[KVS_LEAVES_NEW], pass->before);
	struct kvs_object *proven = leaf_first(&ns->leaves[KVS_LEAVES_PROVEN], pass->before);

	if (!new && !proven && pass->soft)
		return leaf_first(&ns->leaves[KVS_LEAVES_SOFT], pass->before);
	if (!new || !proven)
		return new ?: proven;
	if (atomic64_read(&ns->proven) < ns_page_pages(ns) / KVS_PROVEN_SHARE)
		return new;
	return new->stamp <= proven->stamp ? new : proven;
}

/* The least recently used leaf, with a reference; NULL with *@more: go on. */
static struct kvs_object *leaf_victim(struct kvs_ns *ns, struct evict_pass *pass, bool *more)
{
	struct kvs_object *obj;
	unsigned int i;

	for (i = 0; i < KVS_EVICT_SLICE; i++) {
		*more = false;
		obj = leaf_next(ns, pass);
		if (!obj)
			return NULL;
		*more = true;
		if (kvs_object_has_children(obj)) {
			leaf_erase(ns, obj);
		} else if (READ_ONCE(obj->used) > obj->stamp) {
			leaf_erase(ns, obj);
			leaf_insert(ns, obj);
		} else if (kvs_object_held(obj, 0)) {
			leaf_pass_over(ns, obj, pass);
		} else {
			/* Listed, so the index's reference is still there. */
			refcount_inc(&obj->refs);
			return obj;
		}
	}
	return NULL;
}

/* Evict one object of @ns; false if none could go. */
static bool evict_one(struct kvs_ns *ns, struct evict_pass *pass)
{
	struct kvs_object *obj;
	bool more, done;

	do {
		spin_lock(&ns->evict_lock);
		obj = leaf_victim(ns, pass, &more);
		spin_unlock(&ns->evict_lock);
		if (obj) {
			done = kvs_object_evict(obj);
			kvs_object_put(obj);
			if (done)
				return true;
		}
		cond_resched();
	} while (more);
	return false;
}

/*
 * One of the longest idle objects, if it is idle since before @since (jiffies).
 * The list is in order but for those that were listed again: look at a few.
 */
static struct kvs_object *idle_first(struct kvs_ns *ns, u64 since)
{
	struct kvs_object *obj;
	unsigned int i = 0;

	lockdep_assert_held(&ns->evict_lock);
	list_for_each_entry(obj, &ns->idle, idle) {
		if (time_before_eq64(obj->stamp, since))
			return obj;
		if (++i == KVS_EVICT_SLICE)
			break;
	}
	return NULL;
}

static struct kvs_object *idle_victim(struct kvs_ns *ns, u64 since)
{
	struct kvs_object *obj;

	spin_lock(&ns->evict_lock);
	obj = idle_first(ns, since);
	if (obj)
		refcount_inc(&obj->refs);
	spin_unlock(&ns->evict_lock);
	return obj;
}

/* It can't go now: listed again as idle since after @since. */
static void idle_again(struct kvs_object *obj, u64 since)
{
	struct kvs_ns *ns = obj->ns;

	spin_lock(&ns->evict_lock);
	if (obj->listed == KVS_LISTED_IDLE) {
		obj->stamp = max(get_jiffies_64(), since + 1);
		list_move_tail(&obj->idle, &ns->idle);
	}
	spin_unlock(&ns->evict_lock);
}

/*
 * Collect one object that nobody fills, deepest first: an idle one, or what
 * waits for it. One below which a living client is still writing stays.
 */
static bool collect_one(struct kvs_ns *ns, u64 since)
{
	struct kvs_object *obj, *leaf;
	bool done = false;

	while (!done && (obj = idle_victim(ns, since))) {
		leaf = kvs_object_deepest(obj);
		done = kvs_object_collect(leaf);
		kvs_object_put(leaf);
		if (!done)
			idle_again(obj, since);
		kvs_object_put(obj);
		cond_resched();
	}
	return done;
}

static bool idle_due(struct kvs_ns *ns, u64 since)
{
	bool due;

	spin_lock(&ns->evict_lock);
	due = idle_first(ns, since);
	spin_unlock(&ns->evict_lock);
	return due;
}

/* A namespace of @pool with an object that was idle when the pass began, held. */
static struct kvs_ns *pool_victim_idle(struct kvs_pool *pool, const struct evict_pass *pass)
{
	struct kvs_ns *ns, *found = NULL;

	rcu_read_lock();
	list_for_each_entry_rcu(ns, &pool->namespaces, list) {
		if (!idle_due(ns, pass->since) || !refcount_inc_not_zero(&ns->refs))
			continue;
		found = ns;
		break;
	}
	rcu_read_unlock();
	return found;
}

static u64 ns_oldest(const struct kvs_ns *ns, const struct evict_pass *pass)
{
	return pass->soft ? READ_ONCE(ns->oldest_soft) : READ_ONCE(ns->oldest);
}

/*
 * The namespace of @pool with the oldest leaf not hit since the pass began, held.
 * It gives leaves that are not pinned first, until pass->soft.
 */
static struct kvs_ns *pool_victim(struct kvs_pool *pool, const struct evict_pass *pass)
{
	struct kvs_ns *ns, *best = NULL;

	rcu_read_lock();
	list_for_each_entry_rcu(ns, &pool->namespaces, list) {
		if (ns_oldest(ns, pass) > pass->before)
			continue;
		if (!best || ns_oldest(ns, pass) < ns_oldest(best, pass))
			best = ns;
	}
	if (best && !refcount_inc_not_zero(&best->refs))
		best = NULL;
	rcu_read_unlock();
	return best;
}

static bool pool_evict_leaf(struct kvs_pool *pool, struct evict_pass *pass)
{
	struct kvs_ns *ns;
	bool done = false;

	while (!done && (ns = pool_victim(pool, pass))) {
		done = evict_one(ns, pass);
		kvs_ns_put(ns);
		cond_resched();
	}
	return done;
}

/* Take back something in @pool that has expired. */
static bool pool_expire(struct kvs_pool *pool)
{
	u64 now = ktime_get_ns(), expires;
	struct kvs_ns *ns, *found = NULL;
	bool done;

	rcu_read_lock();
	list_for_each_entry_rcu(ns, &pool->namespaces, list) {
		if (RB_EMPTY_ROOT(&ns->timed.rb_root) || !kvs_ttl_first(ns, &expires) ||
		    expires > now || !refcount_inc_not_zero(&ns->refs))
			continue;
		found = ns;
		break;
	}
	rcu_read_unlock();
	if (!found)
		return false;
	done = kvs_ttl_expire(found, now);
	kvs_ns_put(found);
	return done;
}

/*
 * Free something in @pool: what has expired, idle objects, the oldest leaf, at
 * last one pinned soft. A namespace that could give nothing has none from before
 * the pass any more, so the next one's turn comes, and this ends.
 */
static bool pool_evict(struct kvs_pool *pool, struct evict_pass *pass)
{
	struct kvs_ns *ns;
	bool done = false;

	done = pool_expire(pool);
	while (!done && (ns = pool_victim_idle(pool, pass))) {
		done = collect_one(ns, pass->since);
		kvs_ns_put(ns);
	}
	pass->soft = false;
	done = done || pool_evict_leaf(pool, pass);
	pass->soft = true;
	return done || pool_evict_leaf(pool, pass);
}

/* Free something of @ns alone, which is over its quota. */
static bool ns_evict(struct kvs_ns *ns, struct evict_pass *pass)
{
	pass->soft = true;
	return kvs_ttl_expire(ns, pass->before) || collect_one(ns, pass->since) ||
	       evict_one(ns, pass);
}

/**
 * kvs_reclaim_wait() - wait until a reader lets go, or pages or a slot come back
 * @pool: where all that could go is being read
 * @left: how long this may take, in jiffies; less afterwards
 *
 * Not for ever: a reader may be stopped in a page fault of its own making. The cap
 * on one sleep covers a wake-up missed between the caller's look and here.
 *
 * Return: 0 to try again, or -ENOSPC.
 */
int kvs_reclaim_wait(struct kvs_pool *pool, unsigned long *left)
{
	DEFINE_WAIT(wait);
	long nap = min_t(long, *left, HZ / 50 + 1);

	if (!*left)
		return -ENOSPC;
	prepare_to_wait(&pool->freed, &wait, TASK_KILLABLE);
	*left -= nap - schedule_timeout(nap);
	finish_wait(&pool->freed, &wait);
	return 0;
}

/*
 * Evict once, from @ns alone or from the whole pool. Returns 0 to try again,
 * -ENOSPC if nothing could go, -EINTR if killed.
 */
static int reclaim_once(struct kvs_ns *ns, bool own, const struct kvs_object *keep,
			unsigned long *left)
{
	struct evict_pass pass = pass_begin(keep);
	bool done;

	if (fatal_signal_pending(current))
		return -EINTR;
	done = own ? ns_evict(ns, &pass) : pool_evict(ns->pool, &pass);
	pass_end(&pass);
	cond_resched();
	if (done)
		return 0;
	/* Hidden, but a reader or another evictor has not let go yet. */
	if (READ_ONCE(ns->pool->count[KVS_POOL_HELD]) > atomic64_read(&ns->pool->held_leased))
		pass.busy = true;
	return pass.busy ? kvs_reclaim_wait(ns->pool, left) : -ENOSPC;
}

/* Charge @pages if they fit @quota (pages); a charge that fails is never seen. */
static bool charge_fits(struct kvs_ns *ns, u64 pages, u64 quota, u64 *missing)
{
	s64 now = atomic64_read(&ns->pages);

	do {
		if (now + pages > quota) {
			*missing = (now + pages - quota) << KVS_PAGE_SHIFT;
			return false;
		}
	} while (!atomic64_try_cmpxchg(&ns->pages, &now, now + pages));
	return true;
}

/*
 * Pages of @ns that stay, whatever is evicted: never more than there are. States may
 * be pinned, too. Leases are not counted: they outlast what they were taken for.
 */
static u64 ns_fixed_pages(struct kvs_ns *ns)
{
	u64 expires, pinned = atomic64_read(&ns->pinned);

	/* A pin does not outlast the time to live. */
	if (kvs_ttl_first(ns, &expires) && expires <= ktime_get_ns())
		pinned = 0;
	return max_t(u64, atomic64_read(&ns->slot_pages), pinned);
}

/*
 * Could there be @pages in the pool if all went that may go? While pages move, as
 * @generation tells, namespaces were looked at in different moments: they could.
 */
static bool pool_could_hold(struct kvs_pool *pool, u64 pages, u64 generation)
{
	struct kvs_ns *ns;
	u64 fixed = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(ns, &pool->namespaces, list)
		fixed += ns_fixed_pages(ns);
	rcu_read_unlock();
	return pages + fixed <= pool->pages || READ_ONCE(pool->generation) != generation;
}

static u64 quota_pages(const struct kvs_ns *ns)
{
	u64 bytes = READ_ONCE(ns->config.quota_bytes);

	return bytes ? bytes >> KVS_PAGE_SHIFT : S64_MAX;
}

/**
 * kvs_reclaim_check() - refuse a part that never fits, before anything is done for it
 * @ns:    who will be charged
 * @pages: its pages
 * @r:     out: why not
 *
 * Return: 0 or a negative errno.
 */
int kvs_reclaim_check(const struct kvs_ns *ns, u64 pages, struct kvstash_result *r)
{
	u64 quota = quota_pages(ns);

	if (pages > ns->pool->pages)
		return kvs_result(r, -EFBIG, KVSTASH_R_TOO_LARGE,
				  ns->pool->pages << KVS_PAGE_SHIFT);
	if (pages > quota)
		return kvs_result(r, -EDQUOT, KVSTASH_R_QUOTA_BYTES,
				  (pages - quota) << KVS_PAGE_SHIFT);
	return 0;
}

/* Charge @pages to @ns, evicting its own while it would be over its quota. */
static int charge(struct kvs_ns *ns, u64 pages, unsigned long *left,
		  struct kvstash_result *r)
{
	u64 quota = quota_pages(ns), missing;
	int ret;

	ret = kvs_reclaim_check(ns, pages, r);
	if (ret)
		return ret;
	while (!charge_fits(ns, pages, quota, &missing)) {
		/* Nothing goes for what can't fit all the same. */
		ret = pages + ns_fixed_pages(ns) > quota ? -EDQUOT :
							   reclaim_once(ns, true, NULL, left);
		if (ret == -EINTR)
			return kvs_result(r, ret, KVSTASH_R_INTERRUPTED, 0);
		if (ret)
			return kvs_result(r, -EDQUOT, KVSTASH_R_QUOTA_BYTES, missing);
	}
	return 0;
}

/**
 * kvs_reclaim_alloc() - take pages for a part, evicting what must go for them
 * @ns:    who is charged
 * @pages: how many
 * @ext:   out
 * @r:     out: why not
 *
 * Return: 0 or a negative errno.
 */
int kvs_reclaim_alloc(struct kvs_ns *ns, u64 pages, struct kvs_extents *ext,
		      struct kvstash_result *r)
{
	unsigned long left = KVS_EVICT_WAIT;
	struct kvs_pool *pool = ns->pool;
	unsigned int again = 0;
	u64 missing = 0, generation;
	bool direct = false;
	int ret;

	ret = charge(ns, pages, &left, r);
	if (ret)
		return ret;
	for (;;) {
		generation = READ_ONCE(pool->generation);
		ret = kvs_pool_alloc(pool, pages, ext, &missing);
		if (!ret)
			return 0;
		if (ret != -ENOSPC)
			break;
		if (!direct && !pool_could_hold(pool, pages, generation))
			break;
		if (!direct)
			atomic64_inc(&pool->direct);
		direct = true;
		ret = reclaim_once(ns, false, NULL, &left);
		/*
		 * Others may have gone through the whole pool while we looked: then
		 * all leaves are newer than our pass, and some will do for the next.
		 */
		if (ret == -ENOSPC && READ_ONCE(pool->generation) != generation &&
		    again++ < KVS_EVICT_AGAIN)
			continue;
		if (ret)
			break;
	}
	atomic64_sub(pages, &ns->pages);
	if (ret == -EINTR)
		return kvs_result(r, ret, KVSTASH_R_INTERRUPTED, 0);
	if (ret == -ENOMEM)
		return kvs_result(r, ret, KVSTASH_R_NO_MEMORY, 0);
	atomic64_inc(&pool->no_space);
	return kvs_result(r, ret, KVSTASH_R_NO_SPACE, missing);
}

/* Evict a state of any layout. Returns 0 to try again, or -ENOSPC. */
static int evict_state(struct kvs_ns *ns, unsigned long *left)
{
	bool busy = false;

	if (kvs_layouts_evict(ns, &busy))
		return 0;
	return busy ? kvs_reclaim_wait(ns->pool, left) : -ENOSPC;
}

/* Count one more object if the quota has room for it. */
static bool count_object(struct kvs_ns *ns, u64 quota)
{
	s64 now = atomic64_read(&ns->objects);

	do {
		if (quota && now >= quota)
			return false;
	} while (!atomic64_try_cmpxchg(&ns->objects, &now, now + 1));
	return true;
}

/**
 * kvs_reclaim_object() - count one more object, making room for it in the quota
 * @ns:   the namespace
 * @keep: object that the caller holds and that must stay, or NULL
 * @r:    out: why not
 *
 * Return: 0 or a negative errno.
 */
int kvs_reclaim_object(struct kvs_ns *ns, const struct kvs_object *keep,
		       struct kvstash_result *r)
{
	unsigned long left = KVS_EVICT_WAIT;
	u64 quota = READ_ONCE(ns->config.quota_objects);
	int ret;

	while (!count_object(ns, quota)) {
		ret = reclaim_once(ns, true, keep, &left);
		/* A state gives no pages, but is an object as any other. */
		if (ret == -ENOSPC)
			ret = evict_state(ns, &left);
		if (ret == -EINTR)
			return kvs_result(r, ret, KVSTASH_R_INTERRUPTED, 0);
		if (ret)
			return kvs_result(r, -EDQUOT, KVSTASH_R_QUOTA_OBJECTS, quota);
	}
	return 0;
}

void kvs_reclaim_kick(struct kvs_pool *pool)
{
	queue_work(evict_wq, &pool->reclaim);
}

/* Between the watermarks: ahead of need, so that puts seldom evict. */
void kvs_reclaim_work(struct work_struct *work)
{
	struct kvs_pool *pool = container_of(work, struct kvs_pool, reclaim);
	struct evict_pass pass = pass_begin(NULL);

	while (READ_ONCE(pool->free) < pool->wm_high && pool_evict(pool, &pass))
		cond_resched();
	pass_end(&pass);
}

/*
 * A namespace with an idle object whose time has come, held, or NULL; *@next is
 * then how many jiffies the next one has left.
 */
static struct kvs_ns *collect_due(struct kvs_pool *pool, u64 now, u64 *since, u64 *next)
{
	struct kvs_object *obj;
	struct kvs_ns *ns;
	bool due = false;

	*next = U64_MAX;
	rcu_read_lock();
	list_for_each_entry_rcu(ns, &pool->namespaces, list) {
		u64 age = msecs_to_jiffies(READ_ONCE(ns->config.incomplete_ms));

		spin_lock(&ns->evict_lock);
		obj = list_first_entry_or_null(&ns->idle, struct kvs_object, idle);
		due = obj && obj->stamp + age <= now;
		if (obj && !due)
			*next = min(*next, obj->stamp + age - now);
		spin_unlock(&ns->evict_lock);
		if (!due)
			continue;
		due = refcount_inc_not_zero(&ns->refs);
		*since = now - age;
		break;
	}
	rcu_read_unlock();
	return due ? ns : NULL;
}

/*
 * A namespace with an object that has expired and lingered, held, or NULL; *@next
 * is lowered to when the next one's time comes, in jiffies from now.
 */
static struct kvs_ns *expire_due(struct kvs_pool *pool, u64 before, u64 *next)
{
	struct kvs_ns *ns, *found = NULL;
	u64 expires;

	rcu_read_lock();
	list_for_each_entry_rcu(ns, &pool->namespaces, list) {
		if (!kvs_ttl_first(ns, &expires))
			continue;
		if (expires > before) {
			*next = min(*next, nsecs_to_jiffies64(expires - before) + 1);
		} else if (refcount_inc_not_zero(&ns->refs)) {
			found = ns;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

/* Collect what has been idle for its namespace's time; come back for the rest. */
void kvs_collect_work(struct work_struct *work)
{
	struct kvs_pool *pool = container_of(to_delayed_work(work), struct kvs_pool, collect);
	u64 since, next, before;
	struct kvs_ns *ns;

	while ((ns = collect_due(pool, get_jiffies_64(), &since, &next))) {
		while (collect_one(ns, since))
			cond_resched();
		kvs_ns_put(ns);
	}
	before = ktime_get_ns() - KVS_TTL_LINGER;
	while ((ns = expire_due(pool, before, &next))) {
		while (kvs_ttl_expire(ns, before))
			cond_resched();
		kvs_ns_put(ns);
	}
	if (next != U64_MAX)
		queue_delayed_work(evict_wq, &pool->collect, next);
}
