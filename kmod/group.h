/* SPDX-License-Identifier: GPL-2.0 */
/* Groups: objects that share visibility and lifetime. */
#ifndef KVS_GROUP_H
#define KVS_GROUP_H

#include <linux/atomic.h>
#include <linux/list.h>

#include "object.h"

/**
 * struct kvs_group - what an object of kind group has beside
 * @fresh:    members whose writes are still wanted; with @settled under the
 *            group's lock, as all else here that says nothing
 * @settled:  the others
 * @timed:    when the time of an atomic group ends
 * @viewers:  batches that have seen an atomic group visible, and one until it is
 *            hidden; who drops the last buries the members
 * @kids:     members that hold a reference, dead ones too
 * @born:     ns->moment in which an atomic group became visible; set before that
 * @pages:    of its complete members
 * @leased:   pages charged to the lease budget
 * @pinned:   pages charged to the quota of hard pins
 * @writers:  writes of its members that are in flight or whose client may die
 * @ttl_ms:   least time to live of the members of an atomic group, 0: no end
 * @expected: members that it is to have; fixed
 * @present:  complete members, as long as it is not dying
 * @changes:  of either list, and of which members are complete
 * @why:      enum kvs_kill_why, once it is dying
 * @has_state: a state was ever a member
 * @taken:    a bit for each index that a member has
 */
struct kvs_group {
	struct hlist_head fresh;
	struct hlist_head settled;
	struct kvs_timed timed;
	atomic_t viewers;
	atomic_t kids;
	u64 born;
	u64 pages;
	u64 leased;
	u64 pinned;
	u32 writers;
	u32 ttl_ms;
	u16 expected;
	u16 present;
	u32 changes;
	u8 why;
	bool has_state;
	unsigned long taken[];
};

static inline bool kvs_group_atomic(const struct kvs_object *group)
{
	return group->flags & KVS_OBJ_ATOMIC;
}

struct kvs_group *kvs_group_alloc(const struct kvs_identity *id);
size_t kvs_group_meta(const struct kvs_object *group);
int kvs_group_get(const struct kvs_identity *id, struct kvs_object **out,
		  struct kvstash_result *r);
u32 kvs_group_mismatch(const struct kvs_object *group, const struct kvs_identity *id,
		       u64 *detail);
int kvs_group_join(struct kvs_object *obj);
bool kvs_group_index_taken(struct kvs_object *group, unsigned int index, u32 *changes);
void kvs_group_open(struct kvs_object *group);
void kvs_group_attached(struct kvs_object *group);
bool kvs_group_member_done(struct kvs_object *obj, struct hlist_head *done);
void kvs_group_complete(struct kvs_object *group);
void kvs_group_show(struct kvs_object *group);
void kvs_group_hide(struct kvs_object *group, enum kvs_kill_why why);
void kvs_group_hide_member(struct kvs_object *obj);
void kvs_group_unview(struct kvs_object *group);
void kvs_group_settle(struct kvs_object *group);
int kvs_group_remove_member(struct kvs_object *obj);

#endif /* KVS_GROUP_H */
