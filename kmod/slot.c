// SPDX-License-Identifier: GPL-2.0
/*
 * Slots: carving, giving and taking, and which state makes room for another.
 *
 * A slot's pages are taken from the pool once, for its layout. It has a state, which
 * counts them as in flight, committed or held like any object's, or is free. So
 * pressure for pages never takes a state, and that for slots never takes a page,
 * but for what a state is tied to or in a group with.
 *
 * As in the leaf trees (evict.c), a hit only stores a stamp in the object; whoever
 * needs a slot compares, and lists again what was hit since. A state that goes is
 * evicted as its unit: itself, or the group that it is in.
 *
 * Locking: layout->lock guards free slots and recency trees. It nests in an object's
 * lock, and pool->lock in it. States are evicted without it.
 *
 * Lifetime: a state in a tree is not yet buried, so the index has its reference; a
 * slot that is claimed has one of its own on the state.
 */
#include <linux/ktime.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "evict.h"
#include "group.h"
#include "layout.h"
#include "object.h"
#include "result.h"
#include "slot.h"
#include "ttl.h"

/* How many slots are looked at under one hold of the lock. */
#define KVS_SLOT_SLICE	64

static size_t slot_meta(const struct kvs_slot *slot)
{
	return sizeof(*slot) + kvs_extents_meta(&slot->ext);
}

/* Give its pages back to the pool; it is in no list. */
static void slot_destroy(struct kvs_slot *slot, enum kvs_pool_count from)
{
	struct kvs_layout *layout = slot->layout;
	struct kvs_ns *ns = layout->ns;

	percpu_counter_sub(&ns->pool->meta_bytes, slot_meta(slot));
	atomic64_sub(layout->slot_pages, &ns->pages);
	atomic64_sub(layout->slot_pages, &ns->carved);
	atomic64_sub(layout->slot_pages, &ns->slot_pages);
	kvs_pool_free(ns->pool, &slot->ext, from);
	kfree(slot);
}

static struct kvs_slot *slot_create(struct kvs_layout *layout, struct kvstash_result *r)
{
	struct kvs_ns *ns = layout->ns;
	struct kvs_slot *slot = kzalloc(sizeof(*slot), GFP_KERNEL);

	if (!slot) {
		kvs_result(r, -ENOMEM, KVSTASH_R_NO_MEMORY, 0);
		return NULL;
	}
	slot->layout = layout;
	if (kvs_reclaim_alloc(ns, layout->slot_pages, &slot->ext, r)) {
		kfree(slot);
		return NULL;
	}
	percpu_counter_add(&ns->pool->meta_bytes, slot_meta(slot));
	atomic64_add(layout->slot_pages, &ns->slot_pages);
	atomic64_add(layout->slot_pages, &ns->carving);
	return slot;
}

static u64 slots_there(struct kvs_layout *layout)
{
	u64 slots;

	spin_lock(&layout->lock);
	slots = layout->nr_carved - layout->surplus;
	spin_unlock(&layout->lock);
	return slots;
}

/* What can be seen not to fit is refused before a page goes for it. */
static int carve_charge(struct kvs_layout *layout, u64 nr, struct kvstash_result *r)
{
	struct kvs_ns *ns = layout->ns;
	u64 bytes = READ_ONCE(ns->config.quota_bytes);
	u64 limit = kvs_ns_share(ns, READ_ONCE(ns->config.slot_bytes), bytes, 2);
	u64 quota = bytes ? bytes >> KVS_PAGE_SHIFT : U64_MAX;
	u64 missing, pages;

	if (check_mul_overflow(nr, layout->slot_pages, &pages) ||
	    pages > ns->pool->pages - slots_there(layout) * layout->slot_pages)
		return kvs_result(r, -EFBIG, KVSTASH_R_TOO_LARGE,
				  ns->pool->pages << KVS_PAGE_SHIFT);
	if (kvs_ns_charge(&ns->carved, pages, min(limit, quota), &missing))
		return kvs_result(r, -EDQUOT,
				  quota < limit ? KVSTASH_R_QUOTA_BYTES : KVSTASH_R_SLOT_QUOTA,
				  missing << KVS_PAGE_SHIFT);
	return 0;
}

/**
 * kvs_slots_carve() - carve slots for a layout, evicting what must go for them
 * @layout: whose; ns->layout_mutex held
 * @nr:     how many
 * @r:      out: why not
 *
 * All of them or none.
 *
 * Return: 0 or a negative errno.
 */
int kvs_slots_carve(struct kvs_layout *layout, u64 nr, struct kvstash_result *r)
{
	struct kvs_ns *ns = layout->ns;
	struct kvs_slot *slot, *next;
	LIST_HEAD(slots);
	u64 got;
	int ret;

	ret = carve_charge(layout, nr, r);
	if (ret)
		return ret;
	for (got = 0; got < nr; got++) {
		if (fatal_signal_pending(current)) {
			kvs_result(r, -EINTR, KVSTASH_R_INTERRUPTED, 0);
			break;
		}
		slot = slot_create(layout, r);
		if (!slot)
			break;
		list_add_tail(&slot->entry, &slots);
		cond_resched();
	}
	if (got < nr) {
		/* That of one slot: the others lack all of theirs. */
		if (r->reason == KVSTASH_R_NO_SPACE || r->reason == KVSTASH_R_QUOTA_BYTES)
			r->detail += (nr - got - 1) * layout->slot_pages << KVS_PAGE_SHIFT;
		atomic64_sub((nr - got) * layout->slot_pages, &ns->carved);
		list_for_each_entry_safe(slot, next, &slots, entry) {
			atomic64_sub(layout->slot_pages, &ns->carving);
			slot_destroy(slot, KVS_POOL_IN_FLIGHT);
			cond_resched();
		}
		return r->res;
	}
	spin_lock(&layout->lock);
	list_splice_tail(&slots, &layout->free);
	layout->nr_carved += nr;
	layout->nr_free += nr;
	kvs_pool_move(ns->pool, nr * layout->slot_pages, KVS_POOL_IN_FLIGHT, KVS_POOL_SLOTS);
	atomic64_sub(nr * layout->slot_pages, &ns->carving);
	spin_unlock(&layout->lock);
	return 0;
}

/**
 * kvs_slots_grow() - more slots for a layout
 * @layout: whose; ns->layout_mutex held
 * @nr:     how many
 * @r:      out: why not
 *
 * First those that were to go back and are still being read, then new ones.
 *
 * Return: 0 or a negative errno.
 */
int kvs_slots_grow(struct kvs_layout *layout, u64 nr, struct kvstash_result *r)
{
	u64 kept;
	int ret;

	spin_lock(&layout->lock);
	kept = min(layout->surplus, nr);
	layout->surplus -= kept;
	spin_unlock(&layout->lock);
	ret = nr > kept ? kvs_slots_carve(layout, nr - kept, r) : 0;
	if (!ret || !kept)
		return ret;
	spin_lock(&layout->lock);
	layout->surplus += kept;
	spin_unlock(&layout->lock);
	kvs_slots_drain(layout);
	return ret;
}

/* A free slot, off the list. */
static struct kvs_slot *slot_pop(struct kvs_layout *layout)
{
	struct kvs_slot *slot;

	lockdep_assert_held(&layout->lock);
	slot = list_first_entry_or_null(&layout->free, struct kvs_slot, entry);
	if (slot) {
		list_del(&slot->entry);
		layout->nr_free--;
	}
	return slot;
}

/**
 * kvs_slots_drain() - give the free slots that are too many back to the pool
 * @layout: whose
 *
 * Return: how many.
 */
u64 kvs_slots_drain(struct kvs_layout *layout)
{
	struct kvs_slot *slot;
	u64 nr = 0;

	do {
		spin_lock(&layout->lock);
		slot = layout->surplus ? slot_pop(layout) : NULL;
		if (slot) {
			layout->surplus--;
			layout->nr_carved--;
		}
		spin_unlock(&layout->lock);
		if (slot)
			slot_destroy(slot, KVS_POOL_SLOTS);
		nr += !!slot;
		cond_resched();
	} while (slot);
	return nr;
}

/**
 * kvs_slot_give() - a slot has no state any more
 * @slot: in no list
 * @from: where its pages are counted
 *
 * Context: process, no lock held.
 */
void kvs_slot_give(struct kvs_slot *slot, enum kvs_pool_count from)
{
	struct kvs_layout *layout = slot->layout;
	struct kvs_pool *pool = layout->ns->pool;
	bool surplus;

	slot->obj = NULL;
	spin_lock(&layout->lock);
	surplus = layout->surplus;
	if (surplus) {
		layout->surplus--;
		layout->nr_carved--;
	} else {
		list_add(&slot->entry, &layout->free);
		layout->nr_free++;
		kvs_pool_move(pool, layout->slot_pages, from, KVS_POOL_SLOTS);
	}
	spin_unlock(&layout->lock);
	if (surplus)
		slot_destroy(slot, from);
	else if (wq_has_sleeper(&pool->freed))
		wake_up_all(&pool->freed);
}

static bool slot_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct kvs_slot, node)->stamp <
	       rb_entry(b, struct kvs_slot, node)->stamp;
}

static void slot_insert(struct kvs_slot *slot, enum kvs_slot_tree tree, u64 stamp)
{
	struct kvs_layout *layout = slot->layout;

	lockdep_assert_held(&layout->lock);
	slot->stamp = stamp;
	slot->listed = tree + 1;
	rb_add_cached(&slot->node, &layout->recency[tree], slot_less);
}

static void slot_erase(struct kvs_slot *slot)
{
	struct kvs_layout *layout = slot->layout;

	lockdep_assert_held(&layout->lock);
	if (layout->sweep == &slot->node)
		layout->sweep = rb_next(&slot->node);
	rb_erase_cached(&slot->node, &layout->recency[slot->listed - 1]);
	slot->listed = 0;
}

static enum kvs_slot_tree slot_tree(struct kvs_object *obj)
{
	return READ_ONCE(kvs_object_unit(obj)->pin) == KVSTASH_PIN_SOFT ? KVS_SLOTS_SOFT :
									  KVS_SLOTS_PLAIN;
}

/**
 * kvs_slot_relist() - list a state by its new pin, in the order of its last use
 * @obj: a state; its lock is held, or its group's
 */
void kvs_slot_relist(struct kvs_object *obj)
{
	struct kvs_slot *slot = obj->extra->slot;

	if (!slot)
		return;
	spin_lock(&slot->layout->lock);
	if (slot->listed && slot->listed != KVS_SLOT_CLAIMED) {
		slot_erase(slot);
		slot_insert(slot, slot_tree(obj), slot->stamp);
	}
	spin_unlock(&slot->layout->lock);
}

/**
 * kvs_slots_unpinned() - a soft pin of a group with states was taken back
 * @ns: whose; the group's lock is held
 */
void kvs_slots_unpinned(struct kvs_ns *ns)
{
	/* After the pin: who sees the count sees that. See sweep_soft(). */
	smp_mb__before_atomic();
	atomic64_inc(&ns->unpins);
}

/**
 * kvs_slot_list() - a state is complete: from now on it may go for another
 * @obj: with a reference
 */
void kvs_slot_list(struct kvs_object *obj)
{
	struct kvs_slot *slot = obj->extra->slot;
	u64 now = ktime_get_ns();

	spin_lock(&slot->layout->lock);
	/* A kill stores DYING before it unlists: it can't be listed after that. */
	if (READ_ONCE(obj->state) != KVS_DYING && !slot->listed)
		slot_insert(slot, KVS_SLOTS_PLAIN, now);
	spin_unlock(&slot->layout->lock);
}

/** kvs_slot_unlist() - a state is hidden; its slot comes free with the last reference */
void kvs_slot_unlist(struct kvs_object *obj)
{
	struct kvs_slot *slot = obj->extra->slot;

	/* None while it was being filled. */
	if (!slot)
		return;
	spin_lock(&slot->layout->lock);
	if (slot->listed && slot->listed != KVS_SLOT_CLAIMED)
		slot_erase(slot);
	spin_unlock(&slot->layout->lock);
}

/**
 * struct slot_pass - one look at which states could go
 * @layout: whose
 * @before: states used since are no victims (nanoseconds)
 * @claimed: slots taken off the trees until the pass ends, or they are evicted
 * @nr:     how many
 * @busy:   one may go in a moment: it is being read or has just been used, or another
 *          pass has claimed it
 */
struct slot_pass {
	struct kvs_layout *layout;
	u64 before;
	struct list_head claimed;
	u64 nr;
	bool busy;
};

/* Take a slot off its tree, with a reference on its state. */
static void slot_claim(struct slot_pass *pass, struct kvs_slot *slot)
{
	slot_erase(slot);
	slot->listed = KVS_SLOT_CLAIMED;
	pass->layout->nr_claimed++;
	refcount_inc(&slot->obj->refs);
	list_add_tail(&slot->entry, &pass->claimed);
}

/* Put it back to where its last use belongs, unless its state has gone. */
static void slot_unclaim(struct kvs_slot *slot)
{
	struct kvs_layout *layout = slot->layout;
	struct kvs_object *obj = slot->obj;

	spin_lock(&layout->lock);
	list_del(&slot->entry);
	slot->listed = 0;
	layout->nr_claimed--;
	if (READ_ONCE(obj->state) != KVS_DYING)
		slot_insert(slot, KVS_SLOTS_PLAIN, slot->stamp);
	spin_unlock(&layout->lock);
	kvs_object_put(obj);
}

static void pass_begin(struct slot_pass *pass, struct kvs_layout *layout)
{
	*pass = (struct slot_pass) { .layout = layout, .before = ktime_get_ns() };
	INIT_LIST_HEAD(&pass->claimed);
}

static void pass_end(struct slot_pass *pass)
{
	struct kvs_slot *slot, *next;

	list_for_each_entry_safe(slot, next, &pass->claimed, entry) {
		slot_unclaim(slot);
		cond_resched();
	}
}

enum slot_look {
	SLOT_VICTIM,	/* it may go */
	SLOT_LATER,	/* listed elsewhere: look at the next */
	SLOT_BUSY,	/* being read, or on its way out: for a moment */
};

/*
 * What lasts counts as just used: a lease, a hard pin, a group or a parent that is
 * not complete yet, a group that has children.
 */
static bool unit_stays(struct kvs_object *unit)
{
	u8 state = READ_ONCE(unit->state);

	if (READ_ONCE(unit->leases) || READ_ONCE(unit->pin) == KVSTASH_PIN_HARD ||
	    kvs_object_has_children(unit))
		return true;
	if (state == KVS_FILLING || state == KVS_OPEN)
		return !kvs_object_is_group(unit) || READ_ONCE(unit->group->writers);
	return state == KVS_WAITING;
}

static enum slot_look slot_look(struct slot_pass *pass, struct kvs_slot *slot)
{
	struct kvs_object *unit = kvs_object_unit(slot->obj);
	enum kvs_slot_tree tree = slot->listed - 1, right = slot_tree(slot->obj);
	u64 used = max(READ_ONCE(slot->obj->used), READ_ONCE(unit->used));
	bool stays = unit_stays(unit);

	if (used > slot->stamp || right != tree || stays) {
		u64 stamp = stays ? ktime_get_ns() : max(used, slot->stamp);

		/* Hit since the pass began: the next one may take it. */
		pass->busy |= !stays && used > pass->before;
		slot_erase(slot);
		slot_insert(slot, right, stamp);
		return SLOT_LATER;
	}
	slot_claim(pass, slot);
	if (kvs_object_held(unit, unit == slot->obj) || READ_ONCE(unit->state) == KVS_DYING) {
		pass->busy = true;
		return SLOT_BUSY;
	}
	return SLOT_VICTIM;
}

/* The first slot of a tree that was not used since the pass began. */
static struct kvs_slot *slot_first(struct slot_pass *pass, enum kvs_slot_tree tree)
{
	struct rb_node *node = rb_first_cached(&pass->layout->recency[tree]);
	struct kvs_slot *slot = node ? rb_entry(node, struct kvs_slot, node) : NULL;

	return slot && slot->stamp <= pass->before ? slot : NULL;
}

/*
 * Groups of states were unpinned: what is in the SOFT tree for nothing goes back to
 * its turn. Returns true when the tree has been looked at from one end to the other
 * since; a slice of it at a time.
 */
static bool sweep_soft(struct kvs_layout *layout)
{
	/* Pairs with the barrier in kvs_slots_unpinned(). */
	u64 unpins = atomic64_read_acquire(&layout->ns->unpins);
	unsigned int i;

	lockdep_assert_held(&layout->lock);
	if (likely(layout->swept == unpins))
		return true;
	if (!layout->sweep) {
		layout->sweep = rb_first_cached(&layout->recency[KVS_SLOTS_SOFT]);
		layout->sweeping = unpins;
	}
	for (i = 0; i < KVS_SLOT_SLICE && layout->sweep; i++) {
		struct kvs_slot *slot = rb_entry(layout->sweep, struct kvs_slot, node);

		if (slot_tree(slot->obj) == KVS_SLOTS_SOFT) {
			layout->sweep = rb_next(layout->sweep);
			continue;
		}
		slot_erase(slot);
		slot_insert(slot, KVS_SLOTS_PLAIN, slot->stamp);
	}
	if (layout->sweep)
		return false;
	layout->swept = layout->sweeping;
	return true;
}

/* The state used longest ago that may go, claimed; NULL with *@more: go on. */
static struct kvs_slot *slot_victim(struct slot_pass *pass, bool *more)
{
	struct kvs_slot *slot = NULL;
	unsigned int i;
	bool swept;

	spin_lock(&pass->layout->lock);
	*more = true;
	swept = sweep_soft(pass->layout);
	for (i = 0; swept && i < KVS_SLOT_SLICE; i++) {
		slot = slot_first(pass, KVS_SLOTS_PLAIN) ?: slot_first(pass, KVS_SLOTS_SOFT);
		*more = slot;
		/* What others have claimed may come back. */
		if (!slot)
			pass->busy |= !!pass->layout->nr_claimed;
		if (!slot || slot_look(pass, slot) == SLOT_VICTIM)
			break;
		slot = NULL;
	}
	spin_unlock(&pass->layout->lock);
	return slot;
}

/* Evict the state of a claimed slot, or its group, or what of that is idle. */
static bool slot_evict_claimed(struct kvs_slot *slot)
{
	struct kvs_object *obj = slot->obj, *unit = kvs_object_unit(obj);
	u8 state = READ_ONCE(unit->state);
	bool done;

	if (unit != obj)
		refcount_inc(&unit->refs);
	done = kvs_state_shown(state) ? kvs_object_evict(unit) : kvs_object_collect(unit);
	if (unit != obj)
		kvs_object_put(unit);
	return done;
}

static bool slot_evict_one(struct slot_pass *pass)
{
	struct kvs_slot *slot;
	bool more, done;

	do {
		slot = slot_victim(pass, &more);
		if (slot) {
			done = slot_evict_claimed(slot);
			/* Held since we looked: not in this pass again. */
			if (!done) {
				slot->stamp = ktime_get_ns();
				pass->busy = true;
			}
			slot_unclaim(slot);
			if (done)
				return true;
		}
		cond_resched();
	} while (more);
	return false;
}

/**
 * kvs_slot_evict() - evict the state used longest ago
 * @layout: with a reference
 * @busy:   out: set if one could go in a moment
 *
 * Return: false if none could go.
 */
bool kvs_slot_evict(struct kvs_layout *layout, bool *busy)
{
	struct slot_pass pass;
	bool done;

	pass_begin(&pass, layout);
	done = slot_evict_one(&pass);
	pass_end(&pass);
	*busy |= pass.busy;
	return done;
}

/* Evict once. Returns 0 to try again, -ENOSPC if nothing could go, -EINTR. */
static int slot_reclaim(struct kvs_layout *layout, unsigned long *left)
{
	struct kvs_pool *pool = layout->ns->pool;
	struct slot_pass pass;
	bool done;

	if (fatal_signal_pending(current))
		return -EINTR;
	pass_begin(&pass, layout);
	done = kvs_ttl_expire(layout->ns, pass.before) || slot_evict_one(&pass);
	pass_end(&pass);
	cond_resched();
	if (done)
		return 0;
	/* Hidden, but a reader or another evictor has not let go yet. */
	if (READ_ONCE(pool->count[KVS_POOL_HELD]) > atomic64_read(&pool->held_leased))
		pass.busy = true;
	return pass.busy ? kvs_reclaim_wait(pool, left) : -ENOSPC;
}

/**
 * kvs_slot_take() - a slot for a state, evicting one that must go for it
 * @layout: with a reference
 * @out:    out: the slot, its pages counted as in flight
 * @r:      out: why not
 *
 * Return: 0 or a negative errno.
 */
int kvs_slot_take(struct kvs_layout *layout, struct kvs_slot **out, struct kvstash_result *r)
{
	unsigned long left = KVS_EVICT_WAIT;
	u64 slots;
	int ret;

	do {
		spin_lock(&layout->lock);
		/* Those that were given up are not to be had. */
		*out = layout->nr_free > layout->surplus ? slot_pop(layout) : NULL;
		slots = layout->nr_carved - layout->surplus;
		if (*out)
			kvs_pool_move(layout->ns->pool, layout->slot_pages, KVS_POOL_SLOTS,
				      KVS_POOL_IN_FLIGHT);
		spin_unlock(&layout->lock);
		if (*out)
			return 0;
		ret = slots ? slot_reclaim(layout, &left) : -ENOSPC;
	} while (!ret);
	if (ret == -EINTR)
		return kvs_result(r, ret, KVSTASH_R_INTERRUPTED, 0);
	return kvs_result(r, ret, KVSTASH_R_NO_SLOT, slots);
}

/*
 * Claim states until @nr slots are free or can be, and count them as given up; false
 * if there are not so many.
 */
static bool claim_enough(struct slot_pass *pass, u64 nr, u64 *held)
{
	struct kvs_layout *layout = pass->layout;
	u64 have, slots;
	bool more = true;

	for (;;) {
		spin_lock(&layout->lock);
		have = layout->nr_free + pass->nr;
		slots = layout->nr_carved - layout->surplus;
		if (have >= nr)
			layout->surplus += nr;
		spin_unlock(&layout->lock);
		*held = slots - min(have, slots);
		if (have >= nr || !more)
			return have >= nr;
		if (slot_victim(pass, &more))
			pass->nr++;
		cond_resched();
	}
}

/* Its state goes, or is on its way out by others, maybe with its group. */
static bool slot_gone(struct kvs_slot *slot)
{
	return slot_evict_claimed(slot) || READ_ONCE(slot->obj->state) == KVS_DYING ||
	       READ_ONCE(kvs_object_unit(slot->obj)->state) == KVS_DYING;
}

/* The same, and waits a moment for a reader who came after the claim. */
static bool slot_gone_soon(struct kvs_slot *slot, unsigned long *left)
{
	struct kvs_object *unit = kvs_object_unit(slot->obj);

	while (!slot_gone(slot))
		if (fatal_signal_pending(current) || unit_stays(unit) ||
		    kvs_reclaim_wait(slot->layout->ns->pool, left))
			return false;
	return true;
}

/* Make @need of the claimed go, and let the others be. Returns how many did not. */
static u64 claimed_go(struct slot_pass *pass, u64 need)
{
	unsigned long left = KVS_EVICT_WAIT;
	struct kvs_slot *slot, *next;
	unsigned int wait;
	bool gone;

	/* First those for which nobody has to be waited. */
	for (wait = 0; wait < 2; wait++) {
		list_for_each_entry_safe(slot, next, &pass->claimed, entry) {
			/* Those that others gave back count, too. */
			if (!READ_ONCE(pass->layout->surplus))
				need = 0;
			gone = need && (wait ? slot_gone_soon(slot, &left) : slot_gone(slot));
			need -= gone;
			if (gone || wait || !need)
				slot_unclaim(slot);
			cond_resched();
		}
	}
	return need;
}

/**
 * kvs_slots_give_up() - give slots back to the pool, evicting what is in them
 * @layout: ns->layout_mutex held
 * @nr:     how many, at most as many as there are
 * @r:      out: why not
 *
 * First it is seen that enough can go, so that a refusal has evicted nothing; unless
 * somebody leases, or stays to read, one of those meanwhile: then the others have
 * gone and their slots with them.
 *
 * Return: 0 or -EBUSY.
 */
int kvs_slots_give_up(struct kvs_layout *layout, u64 nr, struct kvstash_result *r)
{
	struct slot_pass pass;
	u64 held, drained;

	pass_begin(&pass, layout);
	if (!claim_enough(&pass, nr, &held)) {
		pass_end(&pass);
		return kvs_result(r, -EBUSY, KVSTASH_R_SLOTS_HELD, held);
	}
	drained = kvs_slots_drain(layout);
	held = claimed_go(&pass, nr - min(nr, drained));
	spin_lock(&layout->lock);
	held = min(held, layout->surplus);
	layout->surplus -= held;
	spin_unlock(&layout->lock);
	return held ? kvs_result(r, -EBUSY, KVSTASH_R_SLOTS_HELD, held) : 0;
}
