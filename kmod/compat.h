/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between the kernels that kvstash is built for. */
#ifndef KVS_COMPAT_H
#define KVS_COMPAT_H

#include <linux/mmzone.h>
#include <net/genetlink.h>

/* Largest order that the page allocator serves: 6.1 counts one further. */
#ifdef MAX_PAGE_ORDER
#define KVS_MAX_PAGE_ORDER	MAX_PAGE_ORDER
#else
#define KVS_MAX_PAGE_ORDER	(MAX_ORDER - 1)
#endif

/* The attributes of a dump request, when it starts. */
static inline struct nlattr **kvs_dump_attrs(struct netlink_callback *cb)
{
#ifdef KVS_HAVE_GENL_INFO_DUMP
	return genl_info_dump(cb)->attrs;
#else
	return genl_dumpit_info(cb)->attrs;
#endif
}

#endif /* KVS_COMPAT_H */
