/* SPDX-License-Identifier: GPL-2.0 */
/* Generic netlink: control of pools and namespaces, dumps of objects. */
#ifndef KVS_NETLINK_H
#define KVS_NETLINK_H

int kvs_netlink_init(void);
void kvs_netlink_exit(void);

#endif /* KVS_NETLINK_H */
