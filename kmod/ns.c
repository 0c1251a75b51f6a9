// SPDX-License-Identifier: GPL-2.0
/*
 * Namespaces, and the lists of them and of pools.
 *
 * Locking: kvs_admin_mutex guards both lists and all that is created or ends.
 * Evictors walk pool->namespaces under RCU and hold a namespace by reference.
 * An operator's settings are single words, read without a lock.
 */
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "client.h"
#include "layout.h"
#include "ns.h"
#include "object.h"
#include "pool.h"
#include "proc.h"

/* Guards both lists and all that is created or ends. */
DEFINE_MUTEX(kvs_admin_mutex);
LIST_HEAD(kvs_pools);

const char * const kvs_stat_names[KVS_NR_STATS] = {
	[KVS_STAT_LOOKUPS] = "lookups",
	[KVS_STAT_LOOKUP_KEYS] = "lookup_keys",
	[KVS_STAT_LOOKUP_HITS] = "lookup_hits",
	[KVS_STAT_EXISTS_KEYS] = "exists_keys",
	[KVS_STAT_EXISTS_HITS] = "exists_hits",
	[KVS_STAT_GETS] = "gets",
	[KVS_STAT_GET_HITS] = "get_hits",
	[KVS_STAT_GET_BYTES] = "get_bytes",
	[KVS_STAT_PUTS] = "puts",
	[KVS_STAT_PUT_BYTES] = "put_bytes",
	[KVS_STAT_PUT_EXISTS] = "put_exists",
	[KVS_STAT_PUT_BUSY] = "put_busy",
	[KVS_STAT_PUT_MISMATCH] = "put_mismatch",
	[KVS_STAT_PUT_NO_PARENT] = "put_no_parent",
	[KVS_STAT_PUT_NO_SPACE] = "put_no_space",
	[KVS_STAT_PUT_QUOTA] = "put_quota",
	[KVS_STAT_PUT_REFUSED] = "put_refused",
	[KVS_STAT_RESERVES] = "reserves",
	[KVS_STAT_COMMITS] = "commits",
	[KVS_STAT_ABORTS] = "aborts",
	[KVS_STAT_ABORTS_BY_DEATH] = "aborts_by_death",
	[KVS_STAT_PUBLISHED] = "published",
	[KVS_STAT_REMOVED] = "removed",
	[KVS_STAT_EVICTIONS] = "evictions",
	[KVS_STAT_EVICTED_BYTES] = "evicted_bytes",
	[KVS_STAT_EVICTED_UNFETCHED] = "evicted_unfetched",
	[KVS_STAT_COLLECTED_INCOMPLETE] = "collected_incomplete",
	[KVS_STAT_KILLED_WITH_PARENT] = "killed_with_parent",
	[KVS_STAT_FAULTS] = "faults",
	[KVS_STAT_PUT_MISMATCH_GROUP] = "put_mismatch_group",
	[KVS_STAT_GROUPS_PUBLISHED] = "groups_published",
	[KVS_STAT_GROUPS_EVICTED] = "groups_evicted",
	[KVS_STAT_GROUPS_REMOVED] = "groups_removed",
	[KVS_STAT_GROUPS_COLLECTED] = "groups_collected",
	[KVS_STAT_LEASES_TAKEN] = "leases_taken",
	[KVS_STAT_LEASES_RELEASED] = "leases_released",
	[KVS_STAT_LEASES_BY_DEATH] = "leases_by_death",
	[KVS_STAT_LEASE_REFUSED] = "lease_refused",
	[KVS_STAT_PIN_REFUSED] = "pin_refused",
	[KVS_STAT_EXPIRED] = "expired",
};

/** kvs_name_valid() - a name is 1 to 31 of [A-Za-z0-9_.-], no leading dot */
bool kvs_name_valid(const char *name)
{
	size_t i, len = strnlen(name, KVSTASH_NAME_MAX);

	if (!len || len >= KVSTASH_NAME_MAX || name[0] == '.')
		return false;
	for (i = 0; i < len; i++)
		if (!isascii(name[i]) || (!isalnum(name[i]) && !strchr("_.-", name[i])))
			return false;
	return true;
}

struct kvs_pool *kvs_pool_by_name(const char *name)
{
	struct kvs_pool *pool;

	lockdep_assert_held(&kvs_admin_mutex);
	list_for_each_entry(pool, &kvs_pools, list)
		if (!strcmp(pool->name, name))
			return pool;
	return NULL;
}

struct kvs_ns *kvs_ns_by_name(const char *name)
{
	struct kvs_pool *pool;
	struct kvs_ns *ns;

	lockdep_assert_held(&kvs_admin_mutex);
	list_for_each_entry(pool, &kvs_pools, list)
		list_for_each_entry(ns, &pool->namespaces, list)
			if (!strcmp(ns->name, name))
				return ns;
	return NULL;
}

void kvs_ns_config_default(struct kvs_ns_config *config)
{
	*config = (struct kvs_ns_config) {
		.uid = GLOBAL_ROOT_UID,
		.gid = GLOBAL_ROOT_GID,
		.mode = 0660,
		.incomplete_ms = KVS_INCOMPLETE_MS,
	};
}

static void ns_free(struct kvs_ns *ns)
{
	kvs_proc_remove(ns->proc);
	free_percpu(ns->stats);
	kfree(ns);
}

/**
 * kvs_ns_new() - create a namespace
 * @name:   its name
 * @pool:   where it lives
 * @config: its settings
 * @extack: for the reason of a refusal, or NULL
 *
 * Return: 0 or a negative errno.
 */
int kvs_ns_new(const char *name, struct kvs_pool *pool, const struct kvs_ns_config *config,
	       struct netlink_ext_ack *extack)
{
	struct kvs_ns *ns;
	unsigned int i;

	lockdep_assert_held(&kvs_admin_mutex);
	if (!kvs_name_valid(name)) {
		NL_SET_ERR_MSG(extack, "namespace name is not 1 to 31 of [A-Za-z0-9_.-]");
		return -EINVAL;
	}
	if (kvs_ns_by_name(name)) {
		NL_SET_ERR_MSG(extack, "a namespace of this name exists");
		return -EEXIST;
	}
	ns = kzalloc(sizeof(*ns), GFP_KERNEL);
	if (!ns)
		return -ENOMEM;
	strscpy(ns->name, name, sizeof(ns->name));
	ns->pool = pool;
	ns->config = *config;
	refcount_set(&ns->refs, 1);
	spin_lock_init(&ns->evict_lock);
	INIT_LIST_HEAD(&ns->idle);
	mutex_init(&ns->layout_mutex);
	spin_lock_init(&ns->layout_lock);
	INIT_LIST_HEAD(&ns->layouts);
	for (i = 0; i < KVS_NR_LEAVES; i++)
		ns->leaves[i].root = RB_ROOT_CACHED;
	ns->timed = RB_ROOT_CACHED;
	ns->oldest = U64_MAX;
	ns->oldest_soft = U64_MAX;
	get_random_bytes(&ns->hash_key, sizeof(ns->hash_key));
	ns->stats = alloc_percpu(struct kvs_stats);
	ns->proc = ns->stats ? kvs_proc_add_ns(ns) : NULL;
	if (!ns->proc) {
		ns_free(ns);
		return -ENOMEM;
	}
	list_add_tail_rcu(&ns->list, &pool->namespaces);
	return 0;
}

/* Kill every object of @ns; nobody can make new ones. */
static void ns_empty(struct kvs_ns *ns)
{
	struct kvs_index *index = ns->pool->index;
	struct kvs_object *obj;
	u64 i = 0;

	while (i <= index->mask && atomic64_read(&ns->objects)) {
		rcu_read_lock();
		hlist_for_each_entry_rcu(obj, kvs_index_bucket(index, i), hash_node)
			if (obj->ns == ns && READ_ONCE(obj->state) != KVS_DYING &&
			    refcount_inc_not_zero(&obj->refs))
				break;
		rcu_read_unlock();
		if (obj) {
			kvs_object_kill_tree(kvs_object_unit(obj), KVS_KILL_REMOVE);
			kvs_object_put(obj);
		} else {
			i++;
		}
		cond_resched();
	}
}

/**
 * kvs_ns_del() - remove a namespace and its objects
 * @ns:     the namespace
 * @extack: for the reason of a refusal, or NULL
 *
 * Return: 0; -EBUSY while a client is bound; -EINTR if killed: it is empty then.
 */
int kvs_ns_del(struct kvs_ns *ns, struct netlink_ext_ack *extack)
{
	struct kvs_pool *pool = ns->pool;

	lockdep_assert_held(&kvs_admin_mutex);
	if (atomic_read(&ns->clients)) {
		NL_SET_ERR_MSG(extack, "clients are bound to the namespace");
		return -EBUSY;
	}
	ns->dying = true;
	ns_empty(ns);
	/* Without clients only an evictor can still hold objects, for a moment. */
	if (wait_event_killable(pool->freed, !atomic64_read(&ns->objects))) {
		ns->dying = false;
		return -EINTR;
	}
	kvs_layouts_exit(ns);
	list_del_rcu(&ns->list);
	synchronize_rcu();
	/* Evictors found it before; they run and don't wait. */
	wait_event(pool->freed, refcount_read(&ns->refs) == 1);
	ns_free(ns);
	return 0;
}

/* Make a pool that has its memory known, with "default" if there is none. */
static int pool_announce(struct kvs_pool *pool, struct netlink_ext_ack *extack)
{
	struct kvs_ns_config config;
	int ret = 0;

	lockdep_assert_held(&kvs_admin_mutex);
	if (kvs_pool_by_name(pool->name)) {
		NL_SET_ERR_MSG(extack, "a pool of this name was created meanwhile");
		return -EEXIST;
	}
	pool->proc = kvs_proc_add_pool(pool);
	if (!pool->proc)
		return -ENOMEM;
	if (!kvs_ns_by_name(KVS_NS_DEFAULT)) {
		kvs_ns_config_default(&config);
		config.mode = 0666;
		ret = kvs_ns_new(KVS_NS_DEFAULT, pool, &config, extack);
	}
	if (ret)
		kvs_proc_remove(pool->proc);
	else
		list_add_tail(&pool->list, &kvs_pools);
	return ret;
}

/**
 * kvs_pool_new() - create a pool, and "default" in the first one
 * @name:    its name
 * @bytes:   see kvs_pool_create()
 * @node:    see kvs_pool_create()
 * @objects: see kvs_pool_create()
 * @extack:  for the reason of a refusal, or NULL
 *
 * Getting the memory may take long; nothing else waits for it.
 *
 * Return: 0 or a negative errno.
 */
int kvs_pool_new(const char *name, u64 bytes, int node, u64 objects,
		 struct netlink_ext_ack *extack)
{
	struct kvs_pool *pool, *there;
	int ret;

	if (!kvs_name_valid(name)) {
		NL_SET_ERR_MSG(extack, "pool name is not 1 to 31 of [A-Za-z0-9_.-]");
		return -EINVAL;
	}
	mutex_lock(&kvs_admin_mutex);
	there = kvs_pool_by_name(name);
	mutex_unlock(&kvs_admin_mutex);
	if (there) {
		NL_SET_ERR_MSG(extack, "a pool of this name exists");
		return -EEXIST;
	}
	pool = kvs_pool_create(name, bytes, node, objects, extack);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	mutex_lock(&kvs_admin_mutex);
	ret = pool_announce(pool, extack);
	mutex_unlock(&kvs_admin_mutex);
	if (ret)
		kvs_pool_destroy(pool);
	return ret;
}

/**
 * kvs_pool_del() - remove a pool
 * @pool:   the pool
 * @extack: for the reason of a refusal, or NULL
 *
 * Return: 0; -EBUSY while a namespace lives in it, but an unused "default".
 */
int kvs_pool_del(struct kvs_pool *pool, struct netlink_ext_ack *extack)
{
	struct kvs_ns *ns, *tmp;
	int ret;

	lockdep_assert_held(&kvs_admin_mutex);
	list_for_each_entry(ns, &pool->namespaces, list) {
		if (strcmp(ns->name, KVS_NS_DEFAULT)) {
			NL_SET_ERR_MSG(extack, "a namespace other than \"default\" lives in it");
			return -EBUSY;
		}
	}
	list_for_each_entry_safe(ns, tmp, &pool->namespaces, list) {
		ret = kvs_ns_del(ns, extack);
		if (ret)
			return ret;
	}
	list_del(&pool->list);
	kvs_proc_remove(pool->proc);
	kvs_pool_destroy(pool);
	return 0;
}

/** kvs_pools_exit() - remove all at unload: there are no clients any more */
void kvs_pools_exit(void)
{
	struct kvs_pool *pool, *next;
	struct kvs_ns *ns, *tmp;

	mutex_lock(&kvs_admin_mutex);
	list_for_each_entry_safe(pool, next, &kvs_pools, list) {
		list_for_each_entry_safe(ns, tmp, &pool->namespaces, list)
			while (kvs_ns_del(ns, NULL) == -EINTR)
				cond_resched();
		kvs_pool_del(pool, NULL);
	}
	mutex_unlock(&kvs_admin_mutex);
}

/**
 * kvs_ns_rights() - what the caller may do in a namespace
 * @ns: the namespace
 *
 * As for a file: the class is owner, else group, else others; CAP_DAC_OVERRIDE
 * may do all.
 *
 * Return: KVS_MAY_*.
 */
int kvs_ns_rights(const struct kvs_ns *ns)
{
	umode_t mode = READ_ONCE(ns->config.mode);

	if (capable(CAP_DAC_OVERRIDE))
		return KVS_MAY_READ | KVS_MAY_WRITE;
	if (uid_eq(current_fsuid(), ns->config.uid))
		mode >>= 6;
	else if (in_group_p(ns->config.gid))
		mode >>= 3;
	return (mode & 4 ? KVS_MAY_READ : 0) | (mode & 2 ? KVS_MAY_WRITE : 0);
}

/**
 * kvs_ns_bind() - bind a client to a namespace
 * @name: which
 *
 * Return: the namespace, counted and held, or an ERR_PTR.
 */
struct kvs_ns *kvs_ns_bind(const char *name)
{
	struct kvs_ns *ns;

	if (mutex_lock_killable(&kvs_admin_mutex))
		return ERR_PTR(-EINTR);
	ns = kvs_ns_by_name(name);
	if (!ns || ns->dying) {
		ns = ERR_PTR(-ENODEV);
	} else if (!kvs_ns_rights(ns)) {
		ns = ERR_PTR(-EACCES);
	} else {
		atomic_inc(&ns->clients);
		refcount_inc(&ns->refs);
	}
	mutex_unlock(&kvs_admin_mutex);
	return ns;
}

void kvs_ns_unbind(struct kvs_ns *ns)
{
	atomic_dec(&ns->clients);
	kvs_ns_put(ns);
}

/** kvs_ns_put() - drop a reference; whoever removes the namespace has the last */
void kvs_ns_put(struct kvs_ns *ns)
{
	struct kvs_pool *pool = ns->pool;

	/* The remover may free @ns after this, under RCU; the pool outlives it. */
	rcu_read_lock();
	refcount_dec(&ns->refs);
	if (wq_has_sleeper(&pool->freed))
		wake_up_all(&pool->freed);
	rcu_read_unlock();
}

/**
 * kvs_ns_share() - a limit in pages
 * @ns:    whose
 * @bytes: as the operator set it, or 0
 * @quota: its quota of bytes, or 0: the pool is the limit
 * @part:  without @bytes, one in so many pages of that
 */
u64 kvs_ns_share(const struct kvs_ns *ns, u64 bytes, u64 quota, unsigned int part)
{
	if (bytes)
		return bytes >> KVS_PAGE_SHIFT;
	return div_u64(quota ? quota >> KVS_PAGE_SHIFT : ns->pool->pages, part);
}

/**
 * kvs_ns_charge() - count pages up to a limit
 * @count:   where
 * @pages:   how many
 * @limit:   pages
 * @missing: out: by how many they do not fit
 *
 * Return: 0 or -EDQUOT, and then nothing is counted.
 */
int kvs_ns_charge(atomic64_t *count, u64 pages, u64 limit, u64 *missing)
{
	s64 now = atomic64_read(count);

	do {
		if (now + pages > limit) {
			*missing = now + pages - limit;
			return -EDQUOT;
		}
	} while (!atomic64_try_cmpxchg(count, &now, now + pages));
	return 0;
}

void kvs_ns_sum(const struct kvs_ns *ns, struct kvs_stats *sum)
{
	unsigned int i;
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct kvs_stats *stats = per_cpu_ptr(ns->stats, cpu);

		for (i = 0; i < KVS_NR_STATS; i++)
			sum->v[i] += READ_ONCE(stats->v[i]);
	}
}
