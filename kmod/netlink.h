/* SPDX-License-Identifier: GPL-2.0 */
/* Generic netlink: control of pools and namespaces, dumps. */
#ifndef KVS_NETLINK_H
#define KVS_NETLINK_H

#include <linux/netlink.h>

struct genl_family;

extern struct genl_family kvs_family;

int kvs_netlink_init(void);
void kvs_netlink_exit(void);
int kvs_netlink_may_dump(struct netlink_callback *cb, const char *name);
int kvs_netlink_layouts_start(struct netlink_callback *cb);
int kvs_netlink_layouts(struct sk_buff *skb, struct netlink_callback *cb);
int kvs_netlink_layouts_done(struct netlink_callback *cb);

#endif /* KVS_NETLINK_H */
