/* SPDX-License-Identifier: GPL-2.0 */
/* What one batch sees of groups: all of it at one moment. */
#ifndef KVS_VIEW_H
#define KVS_VIEW_H

#include "object.h"

/**
 * struct kvs_sight - a group as a batch sees it
 * @group:   the group, with a reference and a viewer if @seen
 * @present: complete members
 * @state:   KVSTASH_STATE_*
 * @seen:    its members are visible
 */
struct kvs_sight {
	struct kvs_object *group;
	u16 present;
	u8 state;
	bool seen;
};

/**
 * struct kvs_view - what one batch has seen
 * @moment: ns->moment when it began
 * @nr:     atomic groups in @sights
 * @nr_seen: of these visible
 * @size:   of @sights, a power of two
 * @sights: open hash table by group; not set up before the first one
 * @fast:   where it begins: memory of the caller's
 */
struct kvs_view {
	u64 moment;
	u32 nr;
	u32 nr_seen;
	u32 size;
	struct kvs_sight *sights;
	struct kvs_sight *fast;
};

/**
 * kvs_view_begin() - begin a batch
 * @view: out
 * @ns:   of all its keys
 * @fast: memory that lasts as long as the view
 * @size: of @fast, a power of two; half of it can be used
 */
static inline void kvs_view_begin(struct kvs_view *view, struct kvs_ns *ns,
				  struct kvs_sight *fast, u32 size)
{
	view->nr = 0;
	view->nr_seen = 0;
	view->size = size;
	view->sights = fast;
	view->fast = fast;
	/* Pairs with the full barrier of the increment in kvs_object_publish(). */
	view->moment = atomic64_read_acquire(&ns->moment);
}

bool kvs_view_grow(struct kvs_view *view, unsigned int nr);
void kvs_view_finish(struct kvs_view *view);
void kvs_view_group(struct kvs_view *view, struct kvs_object *group, struct kvs_sight *out);
bool kvs_view_knows(const struct kvs_view *view, const struct kvs_object *group);
bool kvs_view_sees_slow(struct kvs_view *view, struct kvs_object *obj, u8 state);
void kvs_view_absence(struct kvs_view *view, struct kvs_object *obj, struct kvstash_result *r);

/**
 * kvs_view_ready() - make sure that so many more groups fit
 * @view: the view
 * @nr:   how many
 *
 * Return: false without memory.
 */
static inline bool kvs_view_ready(struct kvs_view *view, unsigned int nr)
{
	return likely(view->nr + nr <= view->size / 2) || kvs_view_grow(view, nr);
}

static inline void kvs_view_end(struct kvs_view *view)
{
	if (unlikely(view->nr))
		kvs_view_finish(view);
}

/**
 * kvs_index_find_in_view() - find an object as a batch sees it
 * @key:  what to find
 * @view: what the batch has seen of groups
 *
 * As kvs_index_find_rcu(); what the view holds is found even if it is hidden.
 */
static inline struct kvs_object *kvs_index_find_in_view(const struct kvs_key *key,
							const struct kvs_view *view)
{
	return unlikely(view->nr_seen) ? kvs_index_find_viewed(key, view) :
					 kvs_index_find_rcu(key);
}

/**
 * kvs_view_sees() - is an object visible to this batch?
 * @view: what it has seen
 * @obj:  under RCU or with a reference
 */
static inline bool kvs_view_sees(struct kvs_view *view, struct kvs_object *obj)
{
	/* Pairs with the release when it is published: parts and bytes are there. */
	u8 state = smp_load_acquire(&obj->state);

	return likely(state == KVS_VISIBLE) || kvs_view_sees_slow(view, obj, state);
}

#endif /* KVS_VIEW_H */
