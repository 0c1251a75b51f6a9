// SPDX-License-Identifier: GPL-2.0
/*
 * The walk that finds any inconsistency: /sys/kernel/debug/kvstash/check prints
 * "ok", or a line for each thing that is wrong.
 *
 * Locking: kvs_admin_mutex keeps pools and namespaces, kvs_clients_mutex the
 * clients. Objects are held by reference and locked one at a time, chunks are
 * read under pool->lock one at a time. Sums over a pool are only compared if its
 * generation did not change meanwhile; after KVS_CHECK_TRIES the first line is
 * "ok" and a second one says that the store was changing.
 */
#include <linux/bitmap.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include "client.h"
#include "debugfs.h"
#include "group.h"
#include "index.h"
#include "layout.h"
#include "object.h"
#include "slot.h"
#include "write.h"

#define KVS_CHECK_TRIES	3
#define KVS_CHECK_LINES	32
#define KVS_CHECK_MEMBERS	256	/* members counted under one hold of the lock */

/**
 * struct check - a walk over one pool
 * @pool:   the pool
 * @pages:  a bit per page that a part or a write has
 * @committed: pages found in committed parts
 * @in_flight: pages found in writes
 * @slots:  pages found in slots without a state
 * @m:      where findings go
 * @errors: findings
 */
struct check {
	struct kvs_pool *pool;
	unsigned long *pages;
	u64 committed;
	u64 in_flight;
	u64 slots;
	struct seq_file *m;
	unsigned int errors;
};

static __printf(2, 3) void wrong(struct check *c, const char *fmt, ...)
{
	va_list args;

	if (c->errors++ >= KVS_CHECK_LINES)
		return;
	seq_printf(c->m, "pool %s: ", c->pool->name);
	va_start(args, fmt);
	seq_vprintf(c->m, fmt, args);
	va_end(args);
	seq_putc(c->m, '\n');
}

/* Each page of @ext belongs to nobody else and is in use. */
static u64 check_extents(struct check *c, const struct kvs_extents *ext, u64 len,
			 bool may_sleep)
{
	const struct kvs_extent *e = kvs_extents_array(ext);
	struct kvs_space *space = &c->pool->space;
	u64 pages = 0;
	u32 i, p;

	for (i = 0; i < ext->nr; i++) {
		u32 first = e[i].page, chunk = first >> KVS_CHUNK_ORDER;
		u32 in_chunk = first & (KVS_CHUNK_PAGES - 1);

		if (chunk >= space->nr || !e[i].nr || in_chunk + e[i].nr > KVS_CHUNK_PAGES) {
			wrong(c, "extent of %u pages at %u is not in the pool", e[i].nr, first);
			continue;
		}
		for (p = 0; p < e[i].nr; p++) {
			if (__test_and_set_bit(first + p, c->pages))
				wrong(c, "page %u has two owners", first + p);
			if (!test_bit(in_chunk + p, space->chunks[chunk]->used))
				wrong(c, "page %u is owned, but free", first + p);
		}
		pages += e[i].nr;
		if (may_sleep)
			cond_resched();
	}
	if (pages != kvs_pages(len))
		wrong(c, "%llu pages for %llu bytes", pages, len);
	return pages;
}

/*
 * The pages of the committed parts. They are the object's until it is freed, so
 * each part is copied under the lock and walked without: it may be large.
 */
static u64 check_pages(struct check *c, struct kvs_object *obj)
{
	struct kvs_part part;
	unsigned int i;
	u64 pages = 0;

	for (i = 0; i < obj->nr_parts; i++) {
		spin_lock(&obj->lock);
		part = *kvs_object_part(obj, i);
		spin_unlock(&obj->lock);
		if (part.state == KVS_PART_COMMITTED)
			pages += check_extents(c, &part.ext, part.len, true);
	}
	return pages;
}

static void check_parts(struct check *c, struct kvs_object *obj)
{
	unsigned int i, present = 0, in_flight = 0;
	u64 bytes = 0;

	for (i = 0; i < obj->nr_parts; i++) {
		struct kvs_part *part = kvs_object_part(obj, i);

		in_flight += part->state == KVS_PART_IN_FLIGHT;
		if (part->state != KVS_PART_COMMITTED)
			continue;
		present++;
		bytes += part->len;
	}
	if (present != obj->nr_present || in_flight != obj->nr_in_flight)
		wrong(c, "object has %u parts and %u in flight, counts %u and %u", present,
		      in_flight, obj->nr_present, obj->nr_in_flight);
	if (bytes != obj->bytes && !kvs_object_is_group(obj))
		wrong(c, "object has %llu bytes, counts %llu", bytes, obj->bytes);
	if (!kvs_object_fills(obj) && present != obj->nr_parts)
		wrong(c, "object is complete with %u of %u parts", present, obj->nr_parts);
}

static void check_shown(struct check *c, struct kvs_object *obj)
{
	struct kvs_object *parent = obj->parent;

	if (parent && !kvs_state_shown(parent->state))
		wrong(c, "orphan: object is visible, its parent is in state %u", parent->state);
	if (!kvs_object_has_children(obj) && obj->pin != KVSTASH_PIN_HARD &&
	    !kvs_object_free_state(obj) && (!obj->listed || obj->listed == KVS_LISTED_IDLE))
		wrong(c, "leaf is not listed");
}

static void check_state(struct check *c, struct kvs_object *obj)
{
	struct kvs_object *parent = obj->parent;
	bool idle = kvs_object_is_group(obj) ? !obj->group->writers : hlist_empty(&obj->writes);

	switch (obj->state) {
	case KVS_WHOLE:
	case KVS_VISIBLE:
	case KVS_TIMED:
		check_shown(c, obj);
		break;
	case KVS_WAITING:
		if (!parent || kvs_state_shown(parent->state))
			wrong(c, "object waits for a parent that is there");
		break;
	case KVS_FILLING:
	case KVS_OPEN:
		if (idle && obj->listed != KVS_LISTED_IDLE)
			wrong(c, "nobody fills the object and it is not idle");
		break;
	default:
		wrong(c, "object in the index is in state %u", obj->state);
	}
	if (parent && hlist_unhashed(&obj->sibling))
		wrong(c, "object is no child of its parent");
}

static void check_member(struct check *c, struct kvs_object *obj)
{
	struct kvs_object *group = obj->parent;

	if (obj->state != KVS_FILLING && obj->state != KVS_JOINED)
		wrong(c, "member is in state %u", obj->state);
	if (obj->listed)
		wrong(c, "member is listed for eviction");
	if (group->state != KVS_DYING &&
	    (hlist_unhashed(&obj->sibling) || !test_bit(obj->index, group->group->taken)))
		wrong(c, "member %u is not in its group", obj->index);
	if (group->state != KVS_DYING && !kvs_object_fills(group) && obj->state == KVS_FILLING &&
	    hlist_empty(&obj->writes))
		wrong(c, "nobody fills the member of a complete group");
}

/**
 * struct members - what is counted of a group's members
 * @joined: complete ones
 * @writes: of all of them
 * @pages:  of those that are complete
 */
struct members {
	u32 joined;
	u32 writes;
	u64 pages;
};

/*
 * Count those of a list; they may be many, so the group's lock is let go of now and
 * then. Returns false if they changed meanwhile: then they are not to be looked at.
 */
static bool count_members(struct kvs_object *group, const struct hlist_head *list,
			  struct members *n)
{
	struct kvs_group *g = group->group;
	u32 changes = g->changes, i = 0;
	const struct hlist_node *node;
	struct kvs_object *obj;

	lockdep_assert_held(&group->lock);
	hlist_for_each_entry(obj, list, sibling) {
		n->joined += obj->state == KVS_JOINED;
		if (obj->state == KVS_JOINED)
			n->pages += kvs_object_pages(obj);
		for (node = obj->writes.first; node; node = node->next)
			n->writes++;
		if (++i % KVS_CHECK_MEMBERS)
			continue;
		spin_unlock(&group->lock);
		cond_resched();
		spin_lock(&group->lock);
		if (g->changes != changes || group->state == KVS_DYING)
			return false;
	}
	return true;
}

/* The group's lock keeps the members and their states; others may have changed it. */
static void check_group(struct check *c, struct kvs_object *group)
{
	struct kvs_group *g = group->group;
	struct members n = {};
	u32 changes;

	spin_lock(&group->lock);
	changes = g->changes;
	if (group->state == KVS_DYING || !count_members(group, &g->fresh, &n) ||
	    !count_members(group, &g->settled, &n) || g->changes != changes)
		goto out;
	if (n.joined != g->present || n.pages != g->pages)
		wrong(c, "group has %u members of %llu pages, counts %u of %llu", n.joined,
		      n.pages, g->present, g->pages);
	if (n.writes > g->writers)
		wrong(c, "group has %u writes, counts %u", n.writes, g->writers);
	if (kvs_group_atomic(group) && group->state == KVS_WHOLE && n.joined != g->expected)
		wrong(c, "atomic group is visible with %u of %u members", n.joined,
		      g->expected);
out:
	spin_unlock(&group->lock);
}

/* A complete state has a slot of its layout, which knows it. */
static void check_slot(struct check *c, struct kvs_object *obj)
{
	struct kvs_slot *slot = obj->extra->slot;

	if (!slot != !obj->nr_present)
		wrong(c, "state has %u parts and %s slot", obj->nr_present, slot ? "a" : "no");
	else if (slot && (slot->obj != obj || slot->layout != obj->extra->layout))
		wrong(c, "slot is another state's");
	else if (slot && !slot->listed)
		wrong(c, "slot of a state is not listed");
}

/* Up to a slice of free slots, each of which goes to the end of the list. */
static void check_free_slots(struct check *c, struct kvs_layout *layout, u64 *todo)
{
	struct kvs_slot *slot;
	unsigned int i;

	for (i = 0; i < KVS_EXTENT_SLICE && *todo; i++, --*todo) {
		slot = list_first_entry_or_null(&layout->free, struct kvs_slot, entry);
		if (!slot)
			break;
		c->slots += check_extents(c, &slot->ext, layout->slot_bytes, false);
		if (slot->listed || slot->obj)
			wrong(c, "free slot of layout %u has a state", layout->id);
		list_move_tail(&slot->entry, &layout->free);
	}
}

/* If they change meanwhile, so does the pool, and its sums are not compared. */
static void check_layout(struct check *c, struct kvs_layout *layout)
{
	u64 todo, before;

	spin_lock(&layout->lock);
	todo = layout->nr_free;
	if (todo > layout->nr_carved || layout->surplus > layout->nr_carved)
		wrong(c, "layout %u counts %llu slots, %llu of them free, %llu too many",
		      layout->id, layout->nr_carved, todo, layout->surplus);
	do {
		before = todo;
		check_free_slots(c, layout, &todo);
		spin_unlock(&layout->lock);
		cond_resched();
		spin_lock(&layout->lock);
	} while (todo && todo < before);
	spin_unlock(&layout->lock);
}

static void check_layouts(struct check *c)
{
	struct kvs_layout *layout;
	struct kvs_ns *ns;
	u32 id;

	list_for_each_entry(ns, &c->pool->namespaces, list) {
		c->in_flight += atomic64_read(&ns->carving);
		for (id = 0; (layout = kvs_layout_next(ns, id)); kvs_layout_put(layout)) {
			check_layout(c, layout);
			id = layout->id;
			cond_resched();
		}
	}
}

static void check_object(struct check *c, struct kvs_object *obj, u64 bucket)
{
	bool ours = false, held = false;
	u64 pages;

	kvs_object_lock(obj);
	/* It may be on its way out, or not yet be attached to its parent. */
	if (obj->state != KVS_DYING && !(obj->flags & KVS_OBJ_REMOVING)) {
		ours = true;
		/* Those of a complete member are held from when its group is hidden. */
		held = obj->state == KVS_JOINED && obj->parent->state == KVS_DYING;
		check_parts(c, obj);
		if (kvs_object_is_member(obj))
			check_member(c, obj);
		else
			check_state(c, obj);
		if (kvs_object_is_state(obj))
			check_slot(c, obj);
		if ((obj->hash & c->pool->index->mask) != bucket)
			wrong(c, "object is in a foreign chain");
	}
	kvs_object_unlock(obj);
	if (!ours)
		return;
	if (kvs_object_is_group(obj))
		check_group(c, obj);
	pages = check_pages(c, obj);
	if (!held)
		c->committed += pages;
}

/* The @skip-th object of a bucket, with a reference. */
static struct kvs_object *bucket_object(struct kvs_index *index, u64 bucket, u32 skip)
{
	struct kvs_object *obj;

	rcu_read_lock();
	hlist_for_each_entry_rcu(obj, kvs_index_bucket(index, bucket), hash_node) {
		if (skip)
			skip--;
		else if (refcount_inc_not_zero(&obj->refs))
			break;
	}
	rcu_read_unlock();
	return obj;
}

static void check_index(struct check *c)
{
	struct kvs_index *index = c->pool->index;
	struct kvs_object *obj;
	u64 bucket;
	u32 skip;

	for (bucket = 0; bucket <= index->mask; bucket++) {
		for (skip = 0; (obj = bucket_object(index, bucket, skip)); skip++) {
			check_object(c, obj, bucket);
			kvs_object_put(obj);
			cond_resched();
		}
		cond_resched();
	}
}

/* The write after @write in its client's list, or the first; with a reference. */
static struct kvs_write *next_write(struct kvs_client *client, struct kvs_write *write)
{
	struct list_head *pos = write ? &write->client_node : &client->writes;
	struct kvs_write *next = NULL;

	xa_lock(&client->handles);
	for (pos = pos->next; pos != &client->writes && !next; pos = pos->next) {
		next = list_entry(pos, struct kvs_write, client_node);
		if (!refcount_inc_not_zero(&next->refs))
			next = NULL;
	}
	xa_unlock(&client->handles);
	if (write)
		kvs_write_put(write);
	return next;
}

/*
 * The pages of a write are its own, or have become its object's, as long as there is
 * a reference on it; so they are walked without the lock. Without a part it has no
 * pages, and its object may go.
 */
static void check_write(struct check *c, const struct kvs_write *write)
{
	struct kvs_extents ext = { .nr = 0 };
	struct kvs_object *obj;

	rcu_read_lock();
	obj = READ_ONCE(write->obj);
	if (obj && obj->ns->pool == c->pool) {
		spin_lock(&obj->lock);
		ext = write->ext;
		spin_unlock(&obj->lock);
	}
	rcu_read_unlock();
	if (ext.nr)
		c->in_flight += check_extents(c, &ext, write->len, true);
}

static void check_writes(struct check *c)
{
	struct kvs_client *client;
	struct kvs_write *write;

	mutex_lock(&kvs_clients_mutex);
	list_for_each_entry(client, &kvs_clients, list) {
		write = NULL;
		while ((write = next_write(client, write))) {
			check_write(c, write);
			cond_resched();
		}
	}
	mutex_unlock(&kvs_clients_mutex);
}

/* What a chunk says of itself; returns its free pages. */
static u32 check_chunk(struct check *c, u32 i)
{
	struct kvs_chunk *chunk = c->pool->space.chunks[i];
	u32 used, longest, free;

	spin_lock(&c->pool->lock);
	used = bitmap_weight(chunk->used, KVS_CHUNK_PAGES);
	longest = kvs_chunk_longest(chunk);
	free = chunk->free;
	if (KVS_CHUNK_PAGES - used != free)
		wrong(c, "chunk %u has %u free pages, counts %u", i, KVS_CHUNK_PAGES - used,
		      free);
	if (longest != chunk->longest || list_empty(&chunk->run))
		wrong(c, "chunk %u has a run of %u, is listed with %u", i, longest,
		      chunk->longest);
	spin_unlock(&c->pool->lock);
	return free;
}

static void check_sums(struct check *c, const struct kvs_pool_counts *n, u64 free)
{
	u64 sum = n->free + n->count[KVS_POOL_COMMITTED] + n->count[KVS_POOL_IN_FLIGHT] +
		  n->count[KVS_POOL_HELD];

	free += n->count[KVS_POOL_SLOTS];
	if (c->slots != n->count[KVS_POOL_SLOTS])
		wrong(c, "%llu pages are in free slots, counted %llu", c->slots,
		      n->count[KVS_POOL_SLOTS]);
	if (sum != c->pool->pages)
		wrong(c, "counts add up to %llu of %llu pages", sum, c->pool->pages);
	if (free != n->free)
		wrong(c, "%llu pages are free, counted %llu", free, n->free);
	if (c->committed != n->count[KVS_POOL_COMMITTED])
		wrong(c, "%llu pages are committed, counted %llu", c->committed,
		      n->count[KVS_POOL_COMMITTED]);
	if (c->in_flight != n->count[KVS_POOL_IN_FLIGHT])
		wrong(c, "%llu pages are in flight, counted %llu", c->in_flight,
		      n->count[KVS_POOL_IN_FLIGHT]);
}

static void check_namespaces(struct check *c)
{
	struct kvs_ns *ns;
	struct rb_node *node;
	unsigned int i;
	u64 leaves;

	list_for_each_entry(ns, &c->pool->namespaces, list) {
		leaves = 0;
		spin_lock(&ns->evict_lock);
		for (i = 0; i < ARRAY_SIZE(ns->leaves); i++) {
			node = rb_first_cached(&ns->leaves[i].root);
			/* The last of the tree, or none: what an insert starts from. */
			if (ns->leaves[i].newest != rb_last(&ns->leaves[i].root.rb_root))
				wrong(c, "namespace %s: newest leaf is not the last", ns->name);
			leaves += !!node;
		}
		if (!leaves != !ns->nr_leaves)
			wrong(c, "namespace %s: counts %llu leaves", ns->name, ns->nr_leaves);
		spin_unlock(&ns->evict_lock);
		if (atomic64_read(&ns->pages) < 0 || atomic64_read(&ns->objects) < 0 ||
		    atomic64_read(&ns->visible) < 0 || atomic64_read(&ns->proven) < 0 ||
		    atomic64_read(&ns->leased) < 0 || atomic64_read(&ns->leases) < 0 ||
		    atomic64_read(&ns->pinned) < 0 || atomic64_read(&ns->carved) < 0 ||
		    atomic64_read(&ns->filling) < 0 || atomic64_read(&ns->whole) < 0)
			wrong(c, "namespace %s: a count is negative", ns->name);
	}
}

/* Returns 0, or -EAGAIN if the pool changed and the findings mean nothing. */
static int check_pool_once(struct check *c)
{
	struct kvs_pool_counts before, after;
	u64 free = 0;
	u32 i;

	c->committed = 0;
	c->in_flight = 0;
	c->slots = 0;
	c->errors = 0;
	bitmap_zero(c->pages, c->pool->space.nr * KVS_CHUNK_PAGES);
	kvs_pool_sample(c->pool, &before);
	for (i = 0; i < c->pool->space.nr; i++) {
		free += check_chunk(c, i);
		cond_resched();
	}
	check_index(c);
	check_writes(c);
	check_layouts(c);
	check_namespaces(c);
	kvs_pool_sample(c->pool, &after);
	if (after.generation != before.generation)
		return -EAGAIN;
	check_sums(c, &after, free);
	return 0;
}

static int check_pool(struct kvs_pool *pool, struct seq_file *m, bool *changing)
{
	struct check c = { .pool = pool, .m = m };
	size_t count = m->count;
	unsigned int tries;
	int ret = -EAGAIN;

	c.pages = vzalloc(BITS_TO_LONGS((u64)pool->space.nr * KVS_CHUNK_PAGES) * sizeof(long));
	if (!c.pages)
		return -ENOMEM;
	/* A finding counts only if it lasts: an object may be between two steps. */
	for (tries = 0; tries < KVS_CHECK_TRIES && (ret || c.errors); tries++) {
		m->count = count;
		ret = check_pool_once(&c);
	}
	if (ret) {
		m->count = count;
		*changing = true;
	}
	vfree(c.pages);
	return ret ? 0 : c.errors;
}

int kvs_check_show(struct seq_file *m, void *v)
{
	bool changing = false;
	struct kvs_pool *pool;
	int errors = 0, ret;

	if (mutex_lock_killable(&kvs_admin_mutex))
		return -EINTR;
	list_for_each_entry(pool, &kvs_pools, list) {
		ret = check_pool(pool, m, &changing);
		if (ret < 0) {
			mutex_unlock(&kvs_admin_mutex);
			return ret;
		}
		errors += ret;
	}
	mutex_unlock(&kvs_admin_mutex);
	if (!errors)
		seq_puts(m, "ok\n");
	if (changing)
		seq_puts(m, "a pool was changing: its sums were not compared\n");
	return 0;
}
