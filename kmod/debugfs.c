// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/kvstash: pool map, sizes, load of the index, latencies,
 * clients. All files are read-only. Documentation/debugfs.rst says what they show.
 *
 * Locking: kvs_admin_mutex keeps pools and namespaces; the index is walked under
 * RCU, a bucket at a time; a chunk's bitmap is read under pool->lock.
 */
#include <linux/debugfs.h>
#include <linux/log2.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/mm.h>

#include "client.h"
#include "debugfs.h"
#include "object.h"

#define LATENCY_FIRST	_IOC_NR(KVSTASH_IOC_QUERY)
#define LATENCY_CMDS	17
#define LATENCY_STEPS	40	/* powers of two of nanoseconds, to 9 minutes */

static const char * const latency_names[LATENCY_CMDS] = {
	"query", "bind", "put", "reserve", "write", "commit", "abort", "get", "exists",
	"remove", "lookup", "release", "pin", "layout_add", "layout_get", "layout_set",
	"layout_del",
};

static DEFINE_PER_CPU(u64 [LATENCY_CMDS][LATENCY_STEPS], latency);

static struct dentry *debugfs_root;

/** kvs_latency_add() - count a call by its number and how long it took */
void kvs_latency_add(unsigned int nr, u64 ns)
{
	unsigned int cmd = nr - LATENCY_FIRST;
	unsigned int step = ns ? min(ilog2(ns), LATENCY_STEPS - 1) : 0;

	if (cmd < LATENCY_CMDS)
		this_cpu_inc(latency[cmd][step]);
}

static int latency_show(struct seq_file *m, void *v)
{
	unsigned int cmd, step;
	int cpu;

	for (cmd = 0; cmd < LATENCY_CMDS; cmd++) {
		for (step = 0; step < LATENCY_STEPS; step++) {
			u64 sum = 0;

			for_each_possible_cpu(cpu)
				sum += per_cpu(latency, cpu)[cmd][step];
			if (sum)
				seq_printf(m, "%s %llu %llu\n", latency_names[cmd],
					   1ULL << step, sum);
		}
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(latency);

/* One line a chunk: pool, chunk, node, pages, free pages, longest free run. */
static int pool_map_show(struct seq_file *m, void *v)
{
	struct kvs_pool *pool;
	u32 i;

	mutex_lock(&kvs_admin_mutex);
	list_for_each_entry(pool, &kvs_pools, list) {
		for (i = 0; i < pool->space.nr; i++) {
			struct kvs_chunk *chunk = pool->space.chunks[i];
			u32 free, longest;

			spin_lock(&pool->lock);
			free = chunk->free;
			longest = chunk->longest;
			spin_unlock(&pool->lock);
			seq_printf(m, "%s %u %d %u %u %u\n", pool->name, i,
				   page_to_nid(virt_to_page(chunk->addr)), 1U << chunk->order,
				   free, longest);
			cond_resched();
		}
	}
	mutex_unlock(&kvs_admin_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(pool_map);

#define SIZE_STEPS	48

/* Objects by the power of two of their bytes. */
static int size_histogram_show(struct seq_file *m, void *v)
{
	u64 sizes[SIZE_STEPS];
	struct kvs_object *obj;
	struct kvs_pool *pool;
	unsigned int step;
	u64 i;

	mutex_lock(&kvs_admin_mutex);
	list_for_each_entry(pool, &kvs_pools, list) {
		memset(sizes, 0, sizeof(sizes));
		for (i = 0; i <= pool->index->mask; i++) {
			rcu_read_lock();
			hlist_for_each_entry_rcu(obj, kvs_index_bucket(pool->index, i), hash_node)
				if (READ_ONCE(obj->bytes))
					sizes[min(ilog2(READ_ONCE(obj->bytes)), SIZE_STEPS - 1)]++;
			rcu_read_unlock();
			cond_resched();
		}
		for (step = 0; step < SIZE_STEPS; step++)
			if (sizes[step])
				seq_printf(m, "%s %llu %llu\n", pool->name, 1ULL << step,
					   sizes[step]);
	}
	mutex_unlock(&kvs_admin_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(size_histogram);

#define CHAIN_STEPS	17

/* Chains by their length; the last line counts those of 16 and more. */
static int index_load_show(struct seq_file *m, void *v)
{
	u64 chains[CHAIN_STEPS];
	struct kvs_object *obj;
	struct kvs_pool *pool;
	unsigned int len;
	u64 i;

	mutex_lock(&kvs_admin_mutex);
	list_for_each_entry(pool, &kvs_pools, list) {
		memset(chains, 0, sizeof(chains));
		for (i = 0; i <= pool->index->mask; i++) {
			len = 0;
			rcu_read_lock();
			hlist_for_each_entry_rcu(obj, kvs_index_bucket(pool->index, i), hash_node)
				len++;
			rcu_read_unlock();
			chains[min_t(unsigned int, len, CHAIN_STEPS - 1)]++;
			cond_resched();
		}
		for (len = 0; len < CHAIN_STEPS; len++)
			if (chains[len])
				seq_printf(m, "%s %u %llu\n", pool->name, len, chains[len]);
	}
	mutex_unlock(&kvs_admin_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(index_load);

/* A process gives itself its name: it must not make up columns or lines. */
static void show_comm(struct seq_file *m, const struct kvs_client *client)
{
	seq_escape_mem(m, client->comm, strnlen(client->comm, sizeof(client->comm)),
		       ESCAPE_OCTAL | ESCAPE_NAP | ESCAPE_APPEND, " \\");
}

/* One line a client: id, pid, command, namespace, parts reserved by handle. */
static int clients_show(struct seq_file *m, void *v)
{
	struct kvs_client *client;
	struct kvs_ns *ns;
	unsigned long seq;
	unsigned int open;
	void *write;

	mutex_lock(&kvs_clients_mutex);
	list_for_each_entry(client, &kvs_clients, list) {
		open = 0;
		xa_for_each(&client->handles, seq, write)
			open++;
		/* Pairs with the release when it is bound. */
		ns = smp_load_acquire(&client->ns);
		seq_printf(m, "%llu %d ", client->id, client->pid);
		show_comm(m, client);
		seq_printf(m, " %s %u\n", ns ? ns->name : "-", open);
	}
	mutex_unlock(&kvs_clients_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(clients);

/* The lease of @client from number *@seq on, with a reference, and its number. */
static struct kvs_object *next_lease(struct kvs_client *client, unsigned long *seq)
{
	struct kvs_object *obj;

	xa_lock(&client->leases);
	obj = xa_find(&client->leases, seq, ULONG_MAX, XA_PRESENT);
	if (obj)
		refcount_inc(&obj->refs);
	xa_unlock(&client->leases);
	return obj;
}

/* One line a lease: pid, command, namespace, kind, key, number, bytes. */
static int leases_show(struct seq_file *m, void *v)
{
	struct kvs_client *client;
	struct kvs_object *obj;
	unsigned long seq;

	mutex_lock(&kvs_clients_mutex);
	list_for_each_entry(client, &kvs_clients, list) {
		for (seq = 0; (obj = next_lease(client, &seq)); seq++) {
			seq_printf(m, "%d ", client->pid);
			show_comm(m, client);
			seq_printf(m, " %s %u %*phN %llu %llu\n", obj->ns->name, obj->kind,
				   min_t(int, obj->key_len, 64), obj->key, (u64)seq, obj->bytes);
			kvs_object_put(obj);
			cond_resched();
		}
	}
	mutex_unlock(&kvs_clients_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(leases);

DEFINE_SHOW_ATTRIBUTE(kvs_check);

int kvs_debugfs_init(void)
{
	BUILD_BUG_ON(_IOC_NR(KVSTASH_IOC_LAYOUT_DEL) - LATENCY_FIRST != LATENCY_CMDS - 1);
	debugfs_root = debugfs_create_dir("kvstash", NULL);
	debugfs_create_file("latency", 0400, debugfs_root, NULL, &latency_fops);
	debugfs_create_file("pool_map", 0400, debugfs_root, NULL, &pool_map_fops);
	debugfs_create_file("size_histogram", 0400, debugfs_root, NULL, &size_histogram_fops);
	debugfs_create_file("index_load", 0400, debugfs_root, NULL, &index_load_fops);
	debugfs_create_file("clients", 0400, debugfs_root, NULL, &clients_fops);
	debugfs_create_file("leases", 0400, debugfs_root, NULL, &leases_fops);
	debugfs_create_file("check", 0400, debugfs_root, NULL, &kvs_check_fops);
	return 0;
}

void kvs_debugfs_exit(void)
{
	debugfs_remove_recursive(debugfs_root);
}
