// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/kvstash: one value a line, "name value". Documentation/proc.rst says
 * what each means.
 *
 * Locking: proc_remove() waits for readers of a file, so pool and namespace live
 * while it is read. The byte counts of a pool are one sample under its lock and
 * always add up.
 *
 * Rights: a tenant may not count others' objects (I10). The pool's figures are
 * root's, a namespace's are its owner's and group's.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "client.h"
#include "index.h"
#include "object.h"
#include "pool.h"
#include "proc.h"

static struct proc_dir_entry *proc_root, *proc_pools, *proc_namespaces;

static void show(struct seq_file *m, const char *name, u64 value)
{
	seq_printf(m, "%s %llu\n", name, value);
}

static int pool_show(struct seq_file *m, void *v)
{
	struct kvs_pool *pool = m->private;
	struct kvs_pool_counts counts;
	u64 evictions = 0, evicted_bytes = 0, objects = 0;
	struct kvs_stats sum;
	struct kvs_ns *ns;

	rcu_read_lock();
	list_for_each_entry_rcu(ns, &pool->namespaces, list) {
		kvs_ns_sum(ns, &sum);
		evictions += sum.v[KVS_STAT_EVICTIONS];
		evicted_bytes += sum.v[KVS_STAT_EVICTED_BYTES];
		objects += atomic64_read(&ns->objects);
	}
	rcu_read_unlock();
	kvs_pool_sample(pool, &counts);
	show(m, "total_bytes", pool->pages << KVS_PAGE_SHIFT);
	show(m, "free_bytes", counts.free << KVS_PAGE_SHIFT);
	show(m, "slot_free_bytes", counts.count[KVS_POOL_SLOTS] << KVS_PAGE_SHIFT);
	show(m, "committed_bytes", counts.count[KVS_POOL_COMMITTED] << KVS_PAGE_SHIFT);
	show(m, "in_flight_bytes", counts.count[KVS_POOL_IN_FLIGHT] << KVS_PAGE_SHIFT);
	show(m, "held_bytes", counts.count[KVS_POOL_HELD] << KVS_PAGE_SHIFT);
	seq_printf(m, "node %d\n", pool->node);
	show(m, "chunks", pool->space.nr);
	show(m, "chunks_small", pool->chunks_small);
	show(m, "objects", objects);
	show(m, "index_buckets", pool->index->mask + 1);
	show(m, "index_bytes", kvs_index_bytes(pool->index));
	show(m, "meta_bytes", percpu_counter_sum_positive(&pool->meta_bytes));
	show(m, "wm_low_bytes", pool->wm_low << KVS_PAGE_SHIFT);
	show(m, "wm_high_bytes", pool->wm_high << KVS_PAGE_SHIFT);
	show(m, "evictions", evictions);
	show(m, "evicted_bytes", evicted_bytes);
	show(m, "direct_reclaims", atomic64_read(&pool->direct));
	show(m, "no_space", atomic64_read(&pool->no_space));
	return 0;
}

static int ns_show(struct seq_file *m, void *v)
{
	struct kvs_ns *ns = m->private;
	struct kvs_stats sum;
	unsigned int i;

	seq_printf(m, "pool %s\n", ns->pool->name);
	show(m, "quota_bytes", ns->config.quota_bytes);
	show(m, "quota_objects", ns->config.quota_objects);
	show(m, "lease_budget_bytes", ns->config.lease_bytes);
	show(m, "pin_quota_bytes", ns->config.pin_bytes);
	show(m, "slot_quota_bytes", ns->config.slot_bytes);
	show(m, "incomplete_timeout_ms", ns->config.incomplete_ms);
	show(m, "bytes", atomic64_read(&ns->pages) << KVS_PAGE_SHIFT);
	show(m, "objects", atomic64_read(&ns->objects));
	show(m, "visible", atomic64_read(&ns->visible));
	show(m, "proven_bytes", atomic64_read(&ns->proven) << KVS_PAGE_SHIFT);
	show(m, "leased_bytes", atomic64_read(&ns->leased) << KVS_PAGE_SHIFT);
	show(m, "leases", atomic64_read(&ns->leases));
	show(m, "pinned_bytes", atomic64_read(&ns->pinned) << KVS_PAGE_SHIFT);
	show(m, "slot_bytes", atomic64_read(&ns->carved) << KVS_PAGE_SHIFT);
	show(m, "layouts", READ_ONCE(ns->nr_layouts));
	show(m, "groups_filling", atomic64_read(&ns->filling));
	show(m, "groups_complete", atomic64_read(&ns->whole));
	show(m, "clients", atomic_read(&ns->clients));
	kvs_ns_sum(ns, &sum);
	for (i = 0; i < KVS_NR_STATS; i++)
		show(m, kvs_stat_names[i], sum.v[i]);
	return 0;
}

static int stats_show(struct seq_file *m, void *v)
{
	unsigned int pools = 0, namespaces = 0, clients = 0;
	struct kvs_client *client;
	struct kvs_pool *pool;
	struct kvs_ns *ns;

	if (mutex_lock_killable(&kvs_admin_mutex))
		return -EINTR;
	list_for_each_entry(pool, &kvs_pools, list) {
		pools++;
		list_for_each_entry(ns, &pool->namespaces, list)
			namespaces++;
	}
	mutex_unlock(&kvs_admin_mutex);
	mutex_lock(&kvs_clients_mutex);
	list_for_each_entry(client, &kvs_clients, list)
		clients++;
	mutex_unlock(&kvs_clients_mutex);

	show(m, "abi_version", KVSTASH_ABI_VERSION);
	show(m, "epoch", kvs_epoch);
	show(m, "pools", pools);
	show(m, "namespaces", namespaces);
	show(m, "clients", clients);
	show(m, "creating_bytes", atomic64_read(&kvs_creating_pages) << KVS_PAGE_SHIFT);
	return 0;
}

int kvs_proc_init(void)
{
	proc_root = proc_mkdir("kvstash", NULL);
	if (!proc_root)
		return -ENOMEM;
	proc_pools = proc_mkdir("pool", proc_root);
	proc_namespaces = proc_mkdir("ns", proc_root);
	if (proc_pools && proc_namespaces &&
	    proc_create_single("stats", 0440, proc_root, stats_show))
		return 0;
	kvs_proc_exit();
	return -ENOMEM;
}

void kvs_proc_exit(void)
{
	proc_remove(proc_root);
}

struct proc_dir_entry *kvs_proc_add_pool(struct kvs_pool *pool)
{
	return proc_create_single_data(pool->name, 0440, proc_pools, pool_show, pool);
}

struct proc_dir_entry *kvs_proc_add_ns(struct kvs_ns *ns)
{
	struct proc_dir_entry *entry;

	entry = proc_create_single_data(ns->name, 0440, proc_namespaces, ns_show, ns);
	if (entry)
		proc_set_user(entry, ns->config.uid, ns->config.gid);
	return entry;
}

/** kvs_proc_chown_ns() - a namespace's owner or group has changed */
void kvs_proc_chown_ns(struct kvs_ns *ns)
{
	proc_set_user(ns->proc, ns->config.uid, ns->config.gid);
}

void kvs_proc_remove(struct proc_dir_entry *entry)
{
	proc_remove(entry);
}
