// SPDX-License-Identifier: GPL-2.0
/*
 * Generic netlink: a dump of layouts.
 *
 * Locking: kvs_admin_mutex keeps the namespaces; layouts are held by reference. A
 * dump goes on from (namespace by its place in the list, number of the layout).
 */
#include <linux/slab.h>
#include <net/genetlink.h>
#include <linux/kvstash_netlink.h>

#include "compat.h"
#include "layout.h"
#include "netlink.h"
#include "pool.h"

/**
 * struct layout_dump - a dump under way
 * @only: namespace, or "": all
 * @ns:   namespaces that are done
 * @id:   number of the last layout of the next one that is
 */
struct layout_dump {
	char only[KVSTASH_NAME_MAX];
	u64 ns;
	u32 id;
};

int kvs_netlink_layouts_start(struct netlink_callback *cb)
{
	struct nlattr *name = kvs_dump_attrs(cb)[KVSTASH_A_LAYOUT_NS];
	struct layout_dump *d = kzalloc(sizeof(*d), GFP_KERNEL);
	int ret;

	if (!d)
		return -ENOMEM;
	if (name)
		nla_strscpy(d->only, name, sizeof(d->only));
	ret = kvs_netlink_may_dump(cb, d->only);
	if (ret) {
		kfree(d);
		return ret;
	}
	cb->args[0] = (long)d;
	return 0;
}

int kvs_netlink_layouts_done(struct netlink_callback *cb)
{
	kfree((void *)cb->args[0]);
	return 0;
}

static int layout_message(struct sk_buff *msg, struct kvs_layout *layout,
			  struct netlink_callback *cb)
{
	struct kvstash_layout desc;
	void *hdr = genlmsg_put(msg, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &kvs_family,
				NLM_F_MULTI, KVSTASH_CMD_LAYOUT_GET);

	if (!hdr)
		return -EMSGSIZE;
	kvs_layout_describe(layout, &desc);
	if (nla_put_string(msg, KVSTASH_A_LAYOUT_NS, layout->ns->name) ||
	    nla_put(msg, KVSTASH_A_LAYOUT_DESC, sizeof(desc), &desc)) {
		genlmsg_cancel(msg, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(msg, hdr);
	return 0;
}

/* The rest of a namespace's. Returns -EMSGSIZE when the message is full. */
static int dump_ns(struct sk_buff *skb, struct netlink_callback *cb, struct layout_dump *d,
		   struct kvs_ns *ns)
{
	struct kvs_layout *layout;
	int ret = 0;

	if (d->only[0] && strcmp(d->only, ns->name))
		return 0;
	while (!ret && (layout = kvs_layout_next(ns, d->id))) {
		ret = layout_message(skb, layout, cb);
		if (!ret)
			d->id = layout->id;
		kvs_layout_put(layout);
	}
	return ret;
}

int kvs_netlink_layouts(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct layout_dump *d = (void *)cb->args[0];
	struct kvs_pool *pool;
	struct kvs_ns *ns;
	u64 at = 0;
	int ret;

	/* Each time: the namespace may have changed hands since. */
	ret = kvs_netlink_may_dump(cb, d->only);
	if (ret)
		return ret;
	if (mutex_lock_killable(&kvs_admin_mutex))
		return -EINTR;
	list_for_each_entry(pool, &kvs_pools, list) {
		list_for_each_entry(ns, &pool->namespaces, list) {
			if (at++ < d->ns)
				continue;
			if (dump_ns(skb, cb, d, ns))
				goto out;
			d->ns = at;
			d->id = 0;
		}
	}
out:
	mutex_unlock(&kvs_admin_mutex);
	return skb->len;
}
