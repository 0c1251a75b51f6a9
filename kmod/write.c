// SPDX-License-Identifier: GPL-2.0
/*
 * Parts in flight.
 *
 * Locking: the object's lock guards the state of its writes and their list; the
 * handle table of a client has its own lock, taken inside. A copy holds a
 * reference and counts in @users, no lock.
 *
 * Lifetime: the table (or the PUT), the object's list and each command hold a
 * reference. Whoever takes a write off a table or a list drops that one. Pages
 * that were not committed go back with the last.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "client.h"
#include "copy.h"
#include "evict.h"
#include "group.h"
#include "layout.h"
#include "result.h"
#include "slot.h"
#include "ttl.h"
#include "write.h"

static struct kmem_cache *write_cache;

int kvs_write_init(void)
{
	write_cache = KMEM_CACHE(kvs_write, 0);
	return write_cache ? 0 : -ENOMEM;
}

void kvs_write_exit(void)
{
	kmem_cache_destroy(write_cache);
}

static struct kvs_write *write_alloc(struct kvs_client *client, unsigned int part, u64 len)
{
	struct kvs_write *write = kmem_cache_alloc(write_cache, GFP_KERNEL);

	if (!write)
		return NULL;
	kref_get(&client->ref);
	/* Member by member: no need to clear the runs. */
	write->obj = NULL;
	write->client = client;
	write->seq = 0;
	refcount_set(&write->refs, 1);
	write->part = part;
	write->state = KVS_WRITE_OPEN;
	write->whole = false;
	write->users = 0;
	write->len = len;
	write->ext.nr = 0;
	write->slot = NULL;
	INIT_HLIST_NODE(&write->obj_node);
	kvs_runs_init(&write->runs);
	xa_lock(&client->handles);
	list_add(&write->client_node, &client->writes);
	xa_unlock(&client->handles);
	return write;
}

/**
 * kvs_write_put() - drop a reference
 * @write: pages that were not committed go back with the last
 *
 * Context: process, no lock held.
 */
void kvs_write_put(struct kvs_write *write)
{
	struct kvs_client *client = write->client;

	if (!refcount_dec_and_test(&write->refs))
		return;
	if (unlikely(write->slot)) {
		kvs_slot_give(write->slot, KVS_POOL_IN_FLIGHT);
	} else if (write->ext.nr) {
		struct kvs_ns *ns = write->obj->ns;

		atomic64_sub(kvs_pages(write->len), &ns->pages);
		kvs_pool_free(ns->pool, &write->ext, KVS_POOL_IN_FLIGHT);
	}
	if (write->obj)
		kvs_object_put(write->obj);
	kvs_runs_destroy(&write->runs);
	/* Once it is off the list its pages are back: release() may wait for that. */
	xa_lock(&client->handles);
	list_del(&write->client_node);
	xa_unlock(&client->handles);
	kmem_cache_free(write_cache, write);
	if (READ_ONCE(client->closing))
		wake_up_var(&client->writes);
	kvs_client_put(client);
}

/* The part is @write's now. The object's lock is held, or nobody knows it yet. */
static void write_join(struct kvs_write *write, struct kvs_object *obj)
{
	struct kvs_part *part = kvs_object_part(obj, write->part);

	part->state = KVS_PART_IN_FLIGHT;
	part->len = write->len;
	WRITE_ONCE(obj->nr_in_flight, obj->nr_in_flight + 1);
	refcount_inc(&obj->refs);
	WRITE_ONCE(write->obj, obj);
	refcount_inc(&write->refs);
	hlist_add_head(&write->obj_node, &obj->writes);
	if (obj->flags & KVS_OBJ_IN_GROUP)
		obj->parent->group->writers++;
}

/* Take @write off a list of its object's; kvs_object_lock() held. */
static void write_leave_object(struct kvs_write *write)
{
	struct kvs_object *obj = write->obj;

	hlist_del_init(&write->obj_node);
	if (obj->flags & KVS_OBJ_IN_GROUP)
		obj->parent->group->writers--;
}

/* It takes part in what its group does: the group must be there, too. */
static bool object_going(const struct kvs_object *obj)
{
	return obj->state == KVS_DYING ||
	       (kvs_object_is_member(obj) && obj->parent->state == KVS_DYING);
}

/* Join an object that is there. Return -EAGAIN if it died meanwhile. */
static int write_join_existing(struct kvs_write *write, struct kvs_object *obj,
			       struct kvstash_result *r)
{
	struct kvs_part *part = kvs_object_part(obj, write->part);
	int ret = 0;

	kvs_object_lock(obj);
	if (object_going(obj)) {
		ret = -EAGAIN;
	} else if (part->state == KVS_PART_COMMITTED && part->len != write->len) {
		ret = kvs_result(r, -EXDEV, KVSTASH_R_MISMATCH_LENGTH, part->len);
	} else if (part->state == KVS_PART_COMMITTED) {
		ret = kvs_result(r, -EEXIST, KVSTASH_R_EXISTS, 0);
	} else if (obj->flags & KVS_OBJ_REMOVING) {
		/* Nobody fills it: it is about to be dying. */
		ret = -EAGAIN;
	} else if (part->state == KVS_PART_IN_FLIGHT) {
		ret = kvs_result(r, -EBUSY, KVSTASH_R_IN_FLIGHT, 0);
	} else {
		kvs_evict_unlist(obj);
		if (kvs_object_is_member(obj) && kvs_object_fills(obj->parent))
			kvs_evict_unlist(obj->parent);
		write_join(write, obj);
	}
	kvs_object_unlock(obj);
	return ret;
}

/* Undo write_join() of an object that nobody has seen, and forget it. */
static void write_discard(struct kvs_write *write, struct kvs_object *obj)
{
	hlist_del_init(&write->obj_node);
	WRITE_ONCE(write->obj, NULL);
	refcount_dec(&write->refs);
	refcount_dec(&obj->refs);
	kvs_object_discard(obj);
}

/*
 * A parent for a new object: that of the chain, or its group, if the index there
 * is free. -EEXIST with *@there: the object has just been made by another.
 */
static int write_parent(const struct kvs_identity *id, struct kvs_object **parent,
			struct kvs_object **there, struct kvstash_result *r)
{
	u32 before, after;
	int ret;

	if (!id->group.len) {
		*parent = kvs_parent_get(id, r);
		return PTR_ERR_OR_ZERO(*parent);
	}
	ret = kvs_group_get(id, parent, r);
	if (ret || !kvs_group_index_taken(*parent, id->member, &before))
		return ret;
	/* Who has it was in the index before he took it, and may have gone since. */
	*there = kvs_index_get(&id->key);
	if (*there)
		ret = -EEXIST;
	else if (kvs_group_index_taken(*parent, id->member, &after) && after == before)
		ret = kvs_result(r, -EXDEV, KVSTASH_R_MISMATCH_INDEX, id->member);
	else
		ret = -EAGAIN;
	kvs_object_put(*parent);
	return ret;
}

/* Make the object a child of its parent, or a member of its group. */
static int write_attach(struct kvs_object *obj, struct kvstash_result *r)
{
	struct kvs_object *group = obj->parent;
	int ret;

	if (!kvs_object_is_member(obj)) {
		if (!kvs_object_attach(obj))
			return 0;
		/* Others may have joined it: their writes die with it, and this one. */
		kvs_object_kill_tree(obj, KVS_KILL_EMPTY);
		return -EAGAIN;
	}
	ret = kvs_group_join(obj);
	if (!ret)
		return 0;
	if (ret == -EXDEV)
		kvs_result(r, ret, KVSTASH_R_MISMATCH_INDEX, obj->index);
	kvs_object_kill(obj, KVS_KILL_EMPTY);
	kvs_group_settle(group);
	return ret == -EXDEV ? ret : -EAGAIN;
}

/*
 * Make the object with @write in it and put it into the index. Returns 0;
 * -EEXIST with *@there if another was first; -EAGAIN if the parent has just
 * gone; or an error with its result.
 */
static int write_create(struct kvs_write *write, const struct kvs_identity *id,
			struct kvs_object **there, struct kvstash_result *r)
{
	struct kvs_object *parent, *obj;
	int ret;

	/* Before an object goes for this one. A state's pages are its slot's. */
	ret = id->layout ? 0 : kvs_reclaim_check(id->key.ns, kvs_pages(write->len), r);
	if (!ret)
		ret = write_parent(id, &parent, there, r);
	if (ret)
		return ret;
	/* A group that was made for this one is to go with it. */
	if (id->group.len)
		refcount_inc(&parent->refs);
	ret = kvs_object_make(id, parent, &obj, r);
	if (!ret) {
		write_join(write, obj);
		*there = kvs_index_insert(obj);
		if (*there) {
			write_discard(write, obj);
			ret = -EEXIST;
		} else {
			ret = write_attach(obj, r);
		}
	}
	if (id->group.len) {
		if (ret)
			kvs_group_settle(parent);
		kvs_object_put(parent);
	}
	return ret;
}

/* Nobody can see @obj any more: make way for another of its key. */
static bool write_expires(struct kvs_object *obj)
{
	struct kvs_object *unit = kvs_object_unit(obj);

	if (likely(!READ_ONCE(obj->expires) && !READ_ONCE(unit->expires)))
		return false;
	if (kvs_object_expired(obj))
		kvs_object_expire(obj);
	else if (kvs_object_expired(unit))
		kvs_object_expire(unit);
	else
		return false;
	return true;
}

/* Give @write its part of the object that @id names. */
static int write_place(struct kvs_write *write, const struct kvs_identity *id,
		       struct kvs_object *obj, struct kvstash_result *r)
{
	int ret;

	if (!obj) {
		ret = write_create(write, id, &obj, r);
		if (ret != -EEXIST)
			return ret;
	}
	if (write_expires(obj)) {
		kvs_object_put(obj);
		return -EAGAIN;
	}
	r->reason = kvs_object_mismatch(obj, id, &r->detail);
	if (r->reason)
		ret = kvs_result(r, -EXDEV, r->reason, r->detail);
	else
		ret = write_join_existing(write, obj, r);
	if (r->reason == KVSTASH_R_EXISTS && kvs_object_visible(obj)) {
		WRITE_ONCE(obj->used, ktime_get_ns());
		WRITE_ONCE(kvs_object_unit(obj)->used, ktime_get_ns());
	}
	kvs_object_put(obj);
	return ret;
}

/* Why a write that is not open can't be used. */
static int write_refuse(u8 state, struct kvstash_result *r)
{
	if (state == KVS_WRITE_COMMITTED)
		return kvs_result(r, -EALREADY, KVSTASH_R_COMMITTED, 0);
	if (state == KVS_WRITE_ABORTED)
		return kvs_result(r, -ECANCELED, KVSTASH_R_ABORTED, 0);
	return kvs_result(r, -EIDRM, KVSTASH_R_REMOVED, 0);
}

/* A handle for @write; its reference by the table is taken here. */
static int write_register(struct kvs_write *write)
{
	struct kvs_client *client = write->client;
	void *old;
	u64 seq;

	xa_lock(&client->handles);
	seq = ++client->seq;
	__clear_bit(seq % KVS_FATES, client->committed);
	__clear_bit(seq % KVS_FATES, client->removed);
	xa_unlock(&client->handles);

	write->seq = seq;
	refcount_inc(&write->refs);
	old = xa_store(&client->handles, seq, write, GFP_KERNEL);
	if (!xa_is_err(old))
		return 0;
	write->seq = 0;
	refcount_dec(&write->refs);
	return xa_err(old);
}

/* Take @write off its client's table, noting as what it ended. */
static void write_unregister(struct kvs_write *write, enum kvs_write_state fate)
{
	struct kvs_client *client = write->client;
	struct kvs_write *there;

	if (!write->seq)
		return;
	xa_lock(&client->handles);
	there = __xa_erase(&client->handles, write->seq);
	/* The bits of an old one are a younger one's by now. */
	if (there && client->seq - write->seq < KVS_FATES) {
		__assign_bit(write->seq % KVS_FATES, client->committed,
			     fate == KVS_WRITE_COMMITTED);
		__assign_bit(write->seq % KVS_FATES, client->removed, fate == KVS_WRITE_DEAD);
	}
	xa_unlock(&client->handles);
	if (there)
		kvs_write_put(there);
}

/* Its object may have been killed before @write had a handle to be taken off. */
static int write_check_alive(struct kvs_write *write, struct kvstash_result *r)
{
	u8 state;

	spin_lock(&write->obj->lock);
	state = write->state;
	spin_unlock(&write->obj->lock);
	return state == KVS_WRITE_OPEN ? 0 : write_refuse(state, r);
}

/* Pages for @write. Its object may be walked meanwhile (check.c): see @ext. */
static int write_alloc_pages(struct kvs_write *write, struct kvstash_result *r)
{
	struct kvs_object *obj = write->obj;
	struct kvs_slot *slot = NULL;
	struct kvs_extents ext;
	int ret;

	if (unlikely(kvs_object_is_state(obj)))
		ret = kvs_slot_take(obj->extra->layout, &slot, r);
	else
		ret = kvs_reclaim_alloc(obj->ns, kvs_pages(write->len), &ext, r);
	if (ret)
		return ret;
	if (slot)
		ext = slot->ext;
	spin_lock(&obj->lock);
	write->ext = ext;
	write->slot = slot;
	spin_unlock(&obj->lock);
	return 0;
}

/**
 * kvs_write_begin() - take a part of an object, with pages for it
 * @client: who
 * @id:     the object
 * @part:   index, below @id->parts
 * @len:    bytes, not 0
 * @handle: the write outlives this command; else only until the object is
 *          complete, as a sign that a living client contributed
 * @out:    out: the write, with a reference
 * @r:      out: why not
 *
 * Return: 0 or a negative errno.
 */
int kvs_write_begin(struct kvs_client *client, const struct kvs_identity *id,
		    unsigned int part, u64 len, bool handle, struct kvs_write **out,
		    struct kvstash_result *r)
{
	struct kvs_ns *ns = id->key.ns;
	struct kvs_write *write;
	int ret;

	if (kvs_pages(len) > ns->pool->pages)
		return kvs_result(r, -EFBIG, KVSTASH_R_TOO_LARGE,
				  ns->pool->pages << KVS_PAGE_SHIFT);
	do {
		if (fatal_signal_pending(current))
			return kvs_result(r, -EINTR, KVSTASH_R_INTERRUPTED, 0);
		write = write_alloc(client, part, len);
		if (!write)
			return kvs_result(r, -ENOMEM, KVSTASH_R_NO_MEMORY, 0);
		ret = write_place(write, id, kvs_index_get(&id->key), r);
		if (!ret)
			break;
		kvs_write_drop(write);
		cond_resched();
	} while (ret == -EAGAIN);
	if (ret)
		return ret;

	ret = write_alloc_pages(write, r);
	if (!ret && (handle || id->parts > 1 || id->group.len))
		ret = write_register(write) ? kvs_result(r, -ENOMEM, KVSTASH_R_NO_MEMORY, 0) :
					      write_check_alive(write, r);
	if (ret) {
		kvs_write_drop(write);
		return ret;
	}
	*out = write;
	return 0;
}

/*
 * End an open write, or a contribution: the part is absent again, or stays.
 * Takes @write off list and table; the caller keeps its reference. A contribution
 * is only ended with its client (@contribution). Returns the state it had.
 */
static u8 write_end(struct kvs_write *write, bool contribution)
{
	struct kvs_object *obj = write->obj;
	bool listed;
	u8 was;

	kvs_object_lock(obj);
	was = write->state;
	if (was == KVS_WRITE_COMMITTED && !contribution) {
		kvs_object_unlock(obj);
		return was;
	}
	if (was == KVS_WRITE_OPEN) {
		write->state = KVS_WRITE_ABORTED;
		kvs_object_part(obj, write->part)->state = KVS_PART_ABSENT;
		WRITE_ONCE(obj->nr_in_flight, obj->nr_in_flight - 1);
	}
	listed = !hlist_unhashed(&write->obj_node);
	if (listed)
		write_leave_object(write);
	kvs_object_unlock(obj);

	write_unregister(write, was == KVS_WRITE_OPEN ? KVS_WRITE_ABORTED : was);
	if (listed) {
		kvs_object_settle(obj);
		kvs_write_put(write);
	}
	return was;
}

/**
 * kvs_write_drop() - end a write that is not wanted any more
 * @write: with the caller's reference, which is dropped
 */
void kvs_write_drop(struct kvs_write *write)
{
	if (write->obj)
		write_end(write, true);
	kvs_write_put(write);
}

static int write_enter(struct kvs_write *write, struct kvstash_result *r)
{
	u8 state;

	spin_lock(&write->obj->lock);
	state = write->state;
	if (state == KVS_WRITE_OPEN)
		write->users++;
	spin_unlock(&write->obj->lock);
	return state == KVS_WRITE_OPEN ? 0 : write_refuse(state, r);
}

/* Note what was copied; an aborted write's bytes are nobody's concern. */
static int write_leave(struct kvs_write *write, u64 offset, u64 copied,
		       struct kvstash_result *r)
{
	int ret = 0;
	u8 state;

	spin_lock(&write->obj->lock);
	state = write->state;
	write->users--;
	if (copied == write->len)
		write->whole = true;
	else if (copied)
		ret = kvs_runs_add(&write->runs, offset, offset + copied);
	spin_unlock(&write->obj->lock);

	if (state != KVS_WRITE_OPEN)
		return write_refuse(state, r);
	if (ret == -ENOBUFS)
		return kvs_result(r, ret, KVSTASH_R_GAPS, KVSTASH_WRITE_GAPS_MAX);
	if (ret)
		return kvs_result(r, ret, KVSTASH_R_NO_MEMORY, 0);
	return 0;
}

/**
 * kvs_write_fill() - copy bytes into a part in flight
 * @write:  with a reference
 * @offset: where; @offset and the bytes of @iter fit the part
 * @iter:   the bytes
 * @r:      out: why not
 *
 * Return: 0 or a negative errno; what was copied before a fault counts.
 */
int kvs_write_fill(struct kvs_write *write, u64 offset, struct iov_iter *iter,
		   struct kvstash_result *r)
{
	u64 len = iov_iter_count(iter), copied;
	int ret, err;

	ret = write_enter(write, r);
	if (ret)
		return ret;
	err = kvs_copy_in(&write->obj->ns->pool->space, &write->ext, offset, len, iter,
			  &copied);
	ret = write_leave(write, offset, copied, r);
	if (ret || !err)
		return ret;
	if (err == -EINTR)
		return kvs_result(r, err, KVSTASH_R_INTERRUPTED, copied);
	kvs_stat_inc(write->obj->ns, FAULTS);
	return kvs_result(r, err, KVSTASH_R_DATA_FAULT, copied);
}

static int commit_check(const struct kvs_write *write, struct kvstash_result *r)
{
	u64 written;

	if (write->state != KVS_WRITE_OPEN)
		return write_refuse(write->state, r);
	/* Killed a moment ago; kvs_write_orphan() is about to say so. */
	if (write->obj->state != KVS_FILLING || object_going(write->obj))
		return write_refuse(KVS_WRITE_DEAD, r);
	if (write->users)
		return kvs_result(r, -EBUSY, KVSTASH_R_WRITING, 0);
	written = write->whole ? write->len : kvs_runs_bytes(&write->runs);
	if (written != write->len)
		return kvs_result(r, -EINVAL, KVSTASH_R_UNWRITTEN, write->len - written);
	return 0;
}

/* Move the pages of @write into its part; the object's locks are held. */
static void commit_part(struct kvs_write *write, struct kvs_object *obj)
{
	struct kvs_part *part = kvs_object_part(obj, write->part);

	part->ext = write->ext;
	part->state = KVS_PART_COMMITTED;
	write->ext.nr = 0;
	write->state = KVS_WRITE_COMMITTED;
	WRITE_ONCE(obj->bytes, obj->bytes + write->len);
	WRITE_ONCE(obj->nr_present, obj->nr_present + 1);
	WRITE_ONCE(obj->nr_in_flight, obj->nr_in_flight - 1);
	kvs_pool_move(obj->ns->pool, kvs_pages(write->len), KVS_POOL_IN_FLIGHT,
		      KVS_POOL_COMMITTED);
	if (likely(!write->slot)) {
		percpu_counter_add(&obj->ns->pool->meta_bytes, kvs_extents_meta(&part->ext));
		return;
	}
	write->slot->obj = obj;
	obj->extra->slot = write->slot;
	write->slot = NULL;
}

/* What follows the commit of a state, without the locks. */
static void commit_state(struct kvs_object *obj)
{
	kvs_layout_stat_inc(obj->extra->layout, PUTS);
	kvs_slot_list(obj);
}

/**
 * kvs_write_commit() - commit a part; with the last one the object is complete
 * @write: with a reference of the caller's
 * @now:   ktime_get_ns() of the command
 * @r:     out: why not
 *
 * Return: 0 or a negative errno.
 */
int kvs_write_commit(struct kvs_write *write, u64 now, struct kvstash_result *r)
{
	struct kvs_object *obj = write->obj;
	bool visible = false, whole = false;
	HLIST_HEAD(done);
	int ret;

	kvs_object_lock(obj);
	ret = commit_check(write, r);
	if (!ret) {
		commit_part(write, obj);
		if (obj->nr_present != obj->nr_parts) {
			/* others are to come */
		} else if (unlikely(kvs_object_is_member(obj))) {
			whole = kvs_group_member_done(obj, &done);
		} else {
			hlist_move_list(&obj->writes, &done);
			visible = kvs_object_publish(obj, now);
		}
	}
	kvs_object_unlock(obj);
	if (ret)
		return ret;

	kvs_stat_inc(obj->ns, PUTS);
	kvs_stat_add(obj->ns, PUT_BYTES, write->len);
	kvs_write_orphan(obj, &done);
	if (unlikely(kvs_object_is_state(obj)))
		commit_state(obj);
	if (visible)
		kvs_object_published(obj);
	if (whole)
		kvs_group_complete(obj->parent);
	return 0;
}

/**
 * kvs_write_orphan() - let go of the writes of an object that needs them no more
 * @obj:    the object: complete, or killed
 * @writes: moved off @obj->writes, still under the object's lock
 *
 * Those still open are dead: their owners are told when they come again, and
 * their pages go back when the last command on them ends.
 */
void kvs_write_orphan(struct kvs_object *obj, struct hlist_head *writes)
{
	struct kvs_write *write;
	u8 fate = KVS_WRITE_DEAD;

	for (;;) {
		kvs_object_lock(obj);
		write = hlist_entry_safe(writes->first, struct kvs_write, obj_node);
		if (write) {
			write_leave_object(write);
			if (write->state == KVS_WRITE_OPEN)
				write->state = KVS_WRITE_DEAD;
			fate = write->state;
		}
		kvs_object_unlock(obj);
		if (!write)
			return;
		write_unregister(write, fate);
		kvs_write_put(write);
	}
}

/**
 * kvs_write_abort() - give up a part
 * @write: with a reference of the caller's
 * @now:   not used; as for kvs_write_commit()
 * @r:     out: why not
 *
 * A write that died with its object is ended too, and says so.
 *
 * Return: 0 or a negative errno.
 */
int kvs_write_abort(struct kvs_write *write, u64 now, struct kvstash_result *r)
{
	u8 state = write_end(write, false);

	if (state != KVS_WRITE_OPEN)
		return write_refuse(state, r);
	kvs_stat_inc(write->obj->ns, ABORTS);
	return 0;
}

/* What became of a handle that is in the table no more; its lock is held. */
static int handle_fate(const struct kvs_client *client, u64 seq, struct kvstash_result *r)
{
	if (!seq || seq > client->seq)
		return kvs_result(r, -EBADF, KVSTASH_R_HANDLE_UNKNOWN, 0);
	if (client->seq - seq >= KVS_FATES)
		return kvs_result(r, -EBADF, KVSTASH_R_FINISHED, 0);
	if (test_bit(seq % KVS_FATES, client->committed))
		return write_refuse(KVS_WRITE_COMMITTED, r);
	if (test_bit(seq % KVS_FATES, client->removed))
		return write_refuse(KVS_WRITE_DEAD, r);
	return write_refuse(KVS_WRITE_ABORTED, r);
}

/**
 * kvs_write_get() - find a write by its handle
 * @client: who asks
 * @handle: as user space gave it
 * @r:      out: why not
 *
 * Return: the write, with a reference, or NULL.
 */
struct kvs_write *kvs_write_get(struct kvs_client *client,
				const struct kvstash_handle *handle,
				struct kvstash_result *r)
{
	struct kvs_write *write;

	if (handle->client != client->id) {
		if (handle->client >> 32 != client->id >> 32)
			kvs_result(r, -ESTALE, KVSTASH_R_HANDLE_STALE, 0);
		else
			kvs_result(r, -EPERM, KVSTASH_R_HANDLE_OWNER, 0);
		return NULL;
	}
	xa_lock(&client->handles);
	write = xa_load(&client->handles, handle->seq);
	if (write)
		refcount_inc(&write->refs);
	else
		handle_fate(client, handle->seq, r);
	xa_unlock(&client->handles);
	return write;
}

/*
 * Under the lock, as kvs_write_put() takes a write off under it and looks at
 * @closing after: either we see the list empty, or it sees that we wait.
 */
static bool client_has_no_writes(struct kvs_client *client)
{
	bool none;

	xa_lock(&client->handles);
	none = list_empty(&client->writes);
	xa_unlock(&client->handles);
	return none;
}

/**
 * kvs_client_end_writes() - end all that a client has in flight (I5)
 * @client: closed: no command of it runs or will run
 */
void kvs_client_end_writes(struct kvs_client *client)
{
	struct kvs_write *write;
	unsigned long seq;

	WRITE_ONCE(client->closing, true);
	xa_for_each(&client->handles, seq, write) {
		/* An object that is just completed takes its writes off, too. */
		xa_lock(&client->handles);
		write = xa_load(&client->handles, seq);
		if (write)
			refcount_inc(&write->refs);
		xa_unlock(&client->handles);
		if (!write)
			continue;
		if (write->state == KVS_WRITE_OPEN)
			kvs_stat_inc(write->obj->ns, ABORTS_BY_DEATH);
		kvs_write_drop(write);
		cond_resched();
	}
	xa_destroy(&client->handles);
	/* Another process that removes an object may just hold one of them. */
	wait_var_event(&client->writes, client_has_no_writes(client));
}
