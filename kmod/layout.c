// SPDX-License-Identifier: GPL-2.0
/*
 * Layouts of a namespace: registering, finding, how many slots, dropping.
 *
 * Locking: ns->layout_mutex serialises all that changes a layout or how many slots
 * it has. Carving may evict and wait, and so do only those who want the same; all of
 * them can be killed. ns->layout_lock guards the list itself, which is read by RCU.
 *
 * Lifetime: the list has a reference, and so has each state from when it is made
 * until it is freed. A layout can be dropped when it counts no states; a put enters
 * it before it makes one, under layout->lock, and none can once it is dropped.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "layout.h"
#include "pool.h"
#include "result.h"
#include "slot.h"

#define LAYOUT_FIELD(name)	offsetof(struct kvstash_layout, name)

/**
 * kvs_layout_alloc() - memory for a layout
 * @ns:        whose
 * @nr_layers: room
 *
 * Return: with one reference and no slots, for the caller to describe; or NULL.
 */
struct kvs_layout *kvs_layout_alloc(struct kvs_ns *ns, u32 nr_layers)
{
	struct kvs_layout *layout;
	unsigned int i;

	layout = kvzalloc(struct_size(layout, layers, nr_layers), GFP_KERNEL);
	if (!layout)
		return NULL;
	layout->stats = alloc_percpu(struct kvs_layout_stats);
	if (!layout->stats) {
		kvfree(layout);
		return NULL;
	}
	layout->ns = ns;
	layout->nr_layers = nr_layers;
	refcount_set(&layout->refs, 1);
	spin_lock_init(&layout->lock);
	INIT_LIST_HEAD(&layout->list);
	INIT_LIST_HEAD(&layout->free);
	for (i = 0; i < KVS_NR_SLOT_TREES; i++)
		layout->recency[i] = RB_ROOT_CACHED;
	return layout;
}

static void layout_free_rcu(struct rcu_head *rcu)
{
	struct kvs_layout *layout = container_of(rcu, struct kvs_layout, rcu);

	free_percpu(layout->stats);
	kvfree(layout);
}

/** kvs_layout_put() - drop a reference; a reader may look at it a little longer */
void kvs_layout_put(struct kvs_layout *layout)
{
	if (layout && refcount_dec_and_test(&layout->refs))
		call_rcu(&layout->rcu, layout_free_rcu);
}

/**
 * kvs_layout_enter() - a state is made, or about to be
 * @layout: with a reference
 *
 * Return: false if the layout is dropped; never for one that has been entered.
 */
bool kvs_layout_enter(struct kvs_layout *layout)
{
	bool ok;

	spin_lock(&layout->lock);
	ok = !layout->dropped;
	layout->states += ok;
	spin_unlock(&layout->lock);
	return ok;
}

/** kvs_layout_leave() - a state has gone, or was not made; drops the reference */
void kvs_layout_leave(struct kvs_layout *layout)
{
	spin_lock(&layout->lock);
	layout->states--;
	spin_unlock(&layout->lock);
	kvs_layout_put(layout);
}

/**
 * kvs_layout_find_rcu() - find a layout by its name
 * @ns:          namespace
 * @fingerprint: KVSTASH_DIGEST_LEN bytes
 * @scheme:      version of the scheme
 *
 * There are at most KVSTASH_LAYOUTS_MAX, so a list will do.
 *
 * Return: under RCU, without a reference, or NULL.
 */
struct kvs_layout *kvs_layout_find_rcu(const struct kvs_ns *ns, const u8 *fingerprint,
				       u32 scheme)
{
	struct kvs_layout *layout;

	list_for_each_entry_rcu(layout, &ns->layouts, list)
		if (layout->scheme == scheme &&
		    !memcmp(layout->fingerprint, fingerprint, KVSTASH_DIGEST_LEN))
			return layout;
	return NULL;
}

/** kvs_layout_get() - the same, with a reference, for kvs_layout_put() */
struct kvs_layout *kvs_layout_get(const struct kvs_ns *ns, const u8 *fingerprint, u32 scheme)
{
	struct kvs_layout *layout;

	rcu_read_lock();
	layout = kvs_layout_find_rcu(ns, fingerprint, scheme);
	if (layout && !refcount_inc_not_zero(&layout->refs))
		layout = NULL;
	rcu_read_unlock();
	return layout;
}

/** kvs_layout_next() - the first layout with a number above @id, with a reference */
struct kvs_layout *kvs_layout_next(const struct kvs_ns *ns, u32 id)
{
	struct kvs_layout *layout, *found = NULL;

	rcu_read_lock();
	list_for_each_entry_rcu(layout, &ns->layouts, list) {
		if (layout->id <= id || !refcount_inc_not_zero(&layout->refs))
			continue;
		found = layout;
		break;
	}
	rcu_read_unlock();
	return found;
}

static int layer_cmp(const void *a, const void *b, const void *layers)
{
	const struct kvstash_layer *l = layers;
	u64 x = l[*(const u32 *)a].offset, y = l[*(const u32 *)b].offset;

	return x < y ? -1 : x > y;
}

/* Do layers overlap? Gives the index of the later one of the first pair in the slot. */
static int layers_overlap(const struct kvs_layout *layout, u64 *index)
{
	const struct kvstash_layer *l = layout->layers;
	u32 *order, i, nr = layout->nr_layers;
	int ret = 0;

	order = kvmalloc_array(nr, sizeof(*order), GFP_KERNEL);
	if (!order)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		order[i] = i;
	sort_r(order, nr, sizeof(*order), layer_cmp, NULL, l);
	for (i = 1; i < nr && !ret; i++) {
		u32 a = order[i - 1], b = order[i];

		if (l[b].offset - l[a].offset < l[a].len) {
			*index = max(a, b);
			ret = -EINVAL;
		}
	}
	kvfree(order);
	return ret;
}

/**
 * kvs_layout_check() - is a description one?
 * @layout: described by user space, nobody else knows it
 * @r:      out: why not
 * @field:  out: offset of the refused member in struct kvstash_layout
 *
 * Return: 0 or a negative errno.
 */
int kvs_layout_check(const struct kvs_layout *layout, struct kvstash_result *r, u32 *field)
{
	u64 index;
	u32 i;
	int ret;

	*field = LAYOUT_FIELD(slot_bytes);
	if (!layout->slot_bytes || layout->slot_bytes > KVSTASH_PART_BYTES_MAX)
		return kvs_result(r, -EINVAL, KVSTASH_R_SLOT_BYTES, KVSTASH_PART_BYTES_MAX);
	*field = LAYOUT_FIELD(alignment);
	if (!layout->alignment || layout->alignment > KVSTASH_ALIGNMENT_MAX)
		return kvs_result(r, -EINVAL, KVSTASH_R_MISALIGNED, KVSTASH_ALIGNMENT_MAX);
	*field = LAYOUT_FIELD(layers);
	for (i = 0; i < layout->nr_layers; i++) {
		const struct kvstash_layer *layer = &layout->layers[i];

		if (!layer->len || layer->offset >= layout->slot_bytes ||
		    layer->len > layout->slot_bytes - layer->offset)
			return kvs_result(r, -EINVAL, KVSTASH_R_LAYER, i);
	}
	ret = layers_overlap(layout, &index);
	if (ret == -ENOMEM)
		return kvs_result(r, ret, KVSTASH_R_NO_MEMORY, 0);
	return ret ? kvs_result(r, ret, KVSTASH_R_LAYER, index) : 0;
}

/* Is @there registered with the same description? */
static int layout_compare(const struct kvs_layout *there, const struct kvs_layout *new,
			  struct kvstash_result *r, u32 *field)
{
	u64 detail = 0;

	*field = 0;
	if (there->flags != new->flags) {
		*field = LAYOUT_FIELD(flags);
		detail = there->flags;
	} else if (there->alignment != new->alignment) {
		*field = LAYOUT_FIELD(alignment);
		detail = there->alignment;
	} else if (there->slot_bytes != new->slot_bytes) {
		*field = LAYOUT_FIELD(slot_bytes);
		detail = there->slot_bytes;
	} else if (there->nr_layers != new->nr_layers) {
		*field = LAYOUT_FIELD(nr_layers);
		detail = there->nr_layers;
	} else if (memcmp(there->layers, new->layers,
			  array_size(new->nr_layers, sizeof(new->layers[0])))) {
		*field = LAYOUT_FIELD(layers);
	}
	return *field ? kvs_result(r, -EXDEV, KVSTASH_R_MISMATCH_LAYOUT, detail) : 0;
}

/* How many slots are meant. */
static u64 slots_wanted(const struct kvs_layout *layout, u64 slots, u32 permille)
{
	if (!permille)
		return slots;
	return div64_u64(div_u64(layout->ns->pool->pages * permille, 1000), layout->slot_pages);
}

static int layout_lock(struct kvs_ns *ns, struct kvstash_result *r)
{
	if (mutex_lock_killable(&ns->layout_mutex))
		return kvs_result(r, -EINTR, KVSTASH_R_INTERRUPTED, 0);
	return 0;
}

/* Into the list, with its slots. */
static int layout_insert(struct kvs_layout *new, u64 slots, struct kvstash_result *r)
{
	struct kvs_ns *ns = new->ns;
	int ret;

	lockdep_assert_held(&ns->layout_mutex);
	if (ns->nr_layouts >= KVSTASH_LAYOUTS_MAX)
		return kvs_result(r, -EDQUOT, KVSTASH_R_LAYOUT_COUNT, KVSTASH_LAYOUTS_MAX);
	ret = slots ? kvs_slots_carve(new, slots, r) : 0;
	if (ret)
		return ret;
	refcount_inc(&new->refs);
	spin_lock(&ns->layout_lock);
	new->id = ++ns->layout_id;
	ns->nr_layouts++;
	list_add_tail_rcu(&new->list, &ns->layouts);
	spin_unlock(&ns->layout_lock);
	return 0;
}

/**
 * kvs_layout_add() - register a layout
 * @new:      described and checked, with a reference of the caller's
 * @slots:    how many, if @permille is 0
 * @permille: share of the pool
 * @out:      out: the one that is registered, with a reference: @new, or an older
 *            one of the same description
 * @r:        out: why not
 * @field:    out: offset of the member of struct kvstash_layout that is to blame
 *
 * Return: 0 or a negative errno, and then nothing is registered.
 */
int kvs_layout_add(struct kvs_layout *new, u64 slots, u32 permille, struct kvs_layout **out,
		   struct kvstash_result *r, u32 *field)
{
	struct kvs_ns *ns = new->ns;
	struct kvs_layout *there;
	int ret;

	*field = 0;
	new->slot_pages = kvs_pages(new->slot_bytes);
	ret = layout_lock(ns, r);
	if (ret)
		return ret;
	there = kvs_layout_get(ns, new->fingerprint, new->scheme);
	if (there) {
		ret = layout_compare(there, new, r, field);
	} else {
		*field = permille ? LAYOUT_FIELD(pool_permille) : LAYOUT_FIELD(slots);
		ret = layout_insert(new, slots_wanted(new, slots, permille), r);
		there = new;
		refcount_inc(&new->refs);
	}
	mutex_unlock(&ns->layout_mutex);
	if (ret)
		kvs_layout_put(there);
	else
		*out = there;
	return ret;
}

/**
 * kvs_layout_set() - change how many slots a layout has
 * @layout:   with a reference
 * @slots:    how many, if @permille is 0
 * @permille: share of the pool
 * @r:        out: why not
 *
 * Return: 0 or a negative errno, and then they are as many as before (but see
 * kvs_slots_give_up()).
 */
int kvs_layout_set(struct kvs_layout *layout, u64 slots, u32 permille,
		   struct kvstash_result *r)
{
	struct kvs_ns *ns = layout->ns;
	u64 want = slots_wanted(layout, slots, permille), have;
	bool dropped;
	int ret;

	ret = layout_lock(ns, r);
	if (ret)
		return ret;
	spin_lock(&layout->lock);
	have = layout->nr_carved - layout->surplus;
	dropped = layout->dropped;
	spin_unlock(&layout->lock);
	if (dropped)
		ret = kvs_result(r, -ENOENT, KVSTASH_R_LAYOUT_UNKNOWN, 0);
	else if (want > have)
		ret = kvs_slots_grow(layout, want - have, r);
	else if (want < have)
		ret = kvs_slots_give_up(layout, have - want, r);
	mutex_unlock(&ns->layout_mutex);
	return ret;
}

/* Out of the list, whose reference is dropped; its slots go back. */
static void layout_remove(struct kvs_layout *layout)
{
	struct kvs_ns *ns = layout->ns;

	spin_lock(&ns->layout_lock);
	list_del_rcu(&layout->list);
	ns->nr_layouts--;
	spin_unlock(&ns->layout_lock);
	spin_lock(&layout->lock);
	layout->surplus = layout->nr_carved;
	spin_unlock(&layout->lock);
	kvs_slots_drain(layout);
	kvs_layout_put(layout);
}

/**
 * kvs_layout_del() - drop a layout that has no states
 * @layout: with a reference of the caller's
 * @r:      out: why not
 *
 * Return: 0 or a negative errno.
 */
int kvs_layout_del(struct kvs_layout *layout, struct kvstash_result *r)
{
	struct kvs_ns *ns = layout->ns;
	int ret;

	ret = layout_lock(ns, r);
	if (ret)
		return ret;
	spin_lock(&layout->lock);
	if (layout->dropped)
		ret = kvs_result(r, -ENOENT, KVSTASH_R_LAYOUT_UNKNOWN, 0);
	else if (layout->states)
		ret = kvs_result(r, -EBUSY, KVSTASH_R_LAYOUT_BUSY, layout->states);
	else
		layout->dropped = true;
	spin_unlock(&layout->lock);
	if (!ret)
		layout_remove(layout);
	mutex_unlock(&ns->layout_mutex);
	return ret;
}

static u64 stat_sum(const struct kvs_layout *layout, enum kvs_layout_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(layout->stats, cpu)->v[stat]);
	return sum;
}

/**
 * kvs_layout_describe() - what LAYOUT_GET says, but for the layers
 * @layout: with a reference of the caller's
 * @out:    out
 */
void kvs_layout_describe(struct kvs_layout *layout, struct kvstash_layout *out)
{
	u64 *stat = &out->hits;
	unsigned int i;

	BUILD_BUG_ON(offsetof(struct kvstash_layout, refused_other) -
		     offsetof(struct kvstash_layout, hits) !=
		     (KVS_NR_LAYOUT_STATS - 1) * sizeof(u64));
	memset(out, 0, sizeof(*out));
	out->size = sizeof(*out);
	out->flags = layout->flags;
	memcpy(out->fingerprint, layout->fingerprint, sizeof(out->fingerprint));
	out->scheme = layout->scheme;
	out->alignment = layout->alignment;
	out->slot_bytes = layout->slot_bytes;
	out->nr_layers = layout->nr_layers;
	out->id = layout->id;
	out->slot_pages_bytes = layout->slot_pages << KVS_PAGE_SHIFT;
	spin_lock(&layout->lock);
	out->slots = layout->nr_carved - layout->surplus;
	out->used = layout->nr_carved - layout->nr_free;
	out->states = layout->states;
	spin_unlock(&layout->lock);
	for (i = 0; i < KVS_NR_LAYOUT_STATS; i++)
		stat[i] = stat_sum(layout, i);
}

/**
 * kvs_layouts_evict() - evict a state of any layout
 * @ns:   which has too many objects
 * @busy: out: set if one could go in a moment
 *
 * Return: false if none could go.
 */
bool kvs_layouts_evict(struct kvs_ns *ns, bool *busy)
{
	struct kvs_layout *layout;
	bool done = false;
	u32 id = 0;

	while (!done && (layout = kvs_layout_next(ns, id))) {
		done = kvs_slot_evict(layout, busy);
		id = layout->id;
		kvs_layout_put(layout);
	}
	return done;
}

/** kvs_layouts_exit() - drop all layouts; there are no objects and no clients */
void kvs_layouts_exit(struct kvs_ns *ns)
{
	struct kvs_layout *layout, *next;

	mutex_lock(&ns->layout_mutex);
	list_for_each_entry_safe(layout, next, &ns->layouts, list)
		layout_remove(layout);
	mutex_unlock(&ns->layout_mutex);
}
