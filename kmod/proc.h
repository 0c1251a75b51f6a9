/* SPDX-License-Identifier: GPL-2.0 */
/* /proc/kvstash: figures for an operator. */
#ifndef KVS_PROC_H
#define KVS_PROC_H

struct kvs_ns;
struct kvs_pool;
struct proc_dir_entry;

int kvs_proc_init(void);
void kvs_proc_exit(void);
struct proc_dir_entry *kvs_proc_add_pool(struct kvs_pool *pool);
struct proc_dir_entry *kvs_proc_add_ns(struct kvs_ns *ns);
void kvs_proc_chown_ns(struct kvs_ns *ns);
void kvs_proc_remove(struct proc_dir_entry *entry);

#endif /* KVS_PROC_H */
