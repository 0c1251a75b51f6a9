/* SPDX-License-Identifier: GPL-2.0 */
/* Making room: the leaf tree, idle objects, reclaim. */
#ifndef KVS_EVICT_H
#define KVS_EVICT_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct kvs_extents;
struct kvs_ns;
struct kvs_object;
struct kvs_pool;
struct kvstash_result;

/* How long a put waits for readers of all that could go, at most. */
#define KVS_EVICT_WAIT		HZ

int kvs_evict_init(void);
void kvs_evict_exit(void);
void kvs_evict_list_leaf(struct kvs_object *obj);
void kvs_evict_list_idle(struct kvs_object *obj);
void kvs_evict_demote(struct kvs_object *obj);
void kvs_evict_unlist(struct kvs_object *obj);
void kvs_evict_relist(struct kvs_object *obj);
int kvs_reclaim_check(const struct kvs_ns *ns, u64 pages, struct kvstash_result *r);
int kvs_reclaim_alloc(struct kvs_ns *ns, u64 pages, struct kvs_extents *ext,
		      struct kvstash_result *r);
int kvs_reclaim_object(struct kvs_ns *ns, const struct kvs_object *keep,
		       struct kvstash_result *r);
int kvs_reclaim_wait(struct kvs_pool *pool, unsigned long *left);
void kvs_reclaim_kick(struct kvs_pool *pool);
void kvs_collect_kick(struct kvs_pool *pool);
void kvs_reclaim_work(struct work_struct *work);
void kvs_collect_work(struct work_struct *work);

#endif /* KVS_EVICT_H */
