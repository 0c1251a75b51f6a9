// SPDX-License-Identifier: GPL-2.0
/* Module parameters, load and unload. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/numa.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/sizes.h>

#include "client.h"
#include "debugfs.h"
#include "evict.h"
#include "netlink.h"
#include "ns.h"
#include "object.h"
#include "pool.h"
#include "proc.h"
#include "write.h"

static unsigned long pool_mb;
module_param(pool_mb, ulong, 0444);
MODULE_PARM_DESC(pool_mb, "MiB of a pool \"pool0\" to create at load, 0: none");

static int pool_node = NUMA_NO_NODE;
module_param(pool_node, int, 0444);
MODULE_PARM_DESC(pool_node, "NUMA node of that pool, -1: any");

static unsigned long pool_objects;
module_param(pool_objects, ulong, 0444);
MODULE_PARM_DESC(pool_objects, "objects its index is laid out for, 0: one per 16 KiB");

unsigned int kvs_chunk_order = KVS_CHUNK_ORDER;
module_param_named(chunk_order, kvs_chunk_order, uint, 0444);
MODULE_PARM_DESC(chunk_order, "largest order of a chunk, 3 to 9 (2 MiB)");

unsigned int kvs_wm_low = 1;
module_param_named(wm_low, kvs_wm_low, uint, 0444);
MODULE_PARM_DESC(wm_low, "thousandths of a pool free at which eviction starts");

unsigned int kvs_wm_high = 2;
module_param_named(wm_high, kvs_wm_high, uint, 0444);
MODULE_PARM_DESC(wm_high, "thousandths of a pool free at which it ends");

unsigned int kvs_hash_bits = 64;
module_param_named(hash_bits, kvs_hash_bits, uint, 0444);
MODULE_PARM_DESC(hash_bits, "bits of a key's hash that are used; fewer to test collisions");

/* What is set up, in order; what is taken down, backwards. */
static const struct {
	int (*init)(void);
	void (*exit)(void);
} steps[] = {
	{ kvs_object_init, kvs_object_exit },
	{ kvs_write_init, kvs_write_exit },
	{ kvs_evict_init, kvs_evict_exit },
	{ kvs_proc_init, kvs_proc_exit },
	{ kvs_debugfs_init, kvs_debugfs_exit },
};

static void steps_exit(unsigned int nr)
{
	while (nr)
		steps[--nr].exit();
}

static int make_pool(void)
{
	u64 bytes = pool_mb;

	if (!pool_mb)
		return 0;
	if (check_mul_overflow(bytes, (u64)SZ_1M, &bytes)) {
		pr_err("kvstash: pool_mb=%lu is out of range\n", pool_mb);
		return -ERANGE;
	}
	return kvs_pool_new("pool0", bytes, pool_node, pool_objects, NULL);
}

static int __init kvs_init(void)
{
	unsigned int i;
	int ret;

	/* Never 0, so that a zeroed handle is of no epoch. */
	kvs_epoch = ((u64)get_random_u32() | 1) << 32;
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		ret = steps[i].init();
		if (ret) {
			steps_exit(i);
			return ret;
		}
	}
	ret = make_pool();
	if (ret)
		goto err_steps;
	ret = kvs_netlink_init();
	if (ret)
		goto err_pools;
	/* Last: from here on there are clients. */
	ret = kvs_device_init();
	if (ret)
		goto err_netlink;
	return 0;

err_netlink:
	kvs_netlink_exit();
err_pools:
	kvs_pools_exit();
err_steps:
	steps_exit(ARRAY_SIZE(steps));
	return ret;
}

static void __exit kvs_exit(void)
{
	kvs_device_exit();
	kvs_netlink_exit();
	/* Readers of these hold pools and namespaces, not the module. */
	kvs_pools_exit();
	steps_exit(ARRAY_SIZE(steps));
}

module_init(kvs_init);
module_exit(kvs_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KV-cache node for LLM inference");
MODULE_VERSION("0.3");
