/* SPDX-License-Identifier: GPL-2.0 */
/* /sys/kernel/debug/kvstash: figures for a developer. */
#ifndef KVS_DEBUGFS_H
#define KVS_DEBUGFS_H

#include <linux/types.h>

struct seq_file;

int kvs_debugfs_init(void);
void kvs_debugfs_exit(void);
void kvs_latency_add(unsigned int nr, u64 ns);
int kvs_check_show(struct seq_file *m, void *v);

#endif /* KVS_DEBUGFS_H */
