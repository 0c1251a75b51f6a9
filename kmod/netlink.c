// SPDX-License-Identifier: GPL-2.0
/*
 * Generic netlink.
 *
 * Locking: kvs_admin_mutex for all but getting the memory of a pool. Dumps of
 * objects walk the index under RCU, a bucket at a time, and go on from
 * (namespace of a pool, bucket, place in the chain).
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/net.h>
#include <net/genetlink.h>
#include <net/sock.h>
#include <linux/kvstash_netlink.h>

#include "client.h"
#include "compat.h"
#include "evict.h"
#include "group.h"
#include "netlink.h"
#include "ns.h"
#include "object.h"
#include "pool.h"
#include "proc.h"

static const struct nla_policy layout_policy[KVSTASH_A_LAYOUT_MAX + 1] = {
	[KVSTASH_A_LAYOUT_NS] = { .type = NLA_NUL_STRING, .len = KVSTASH_NAME_MAX - 1 },
};

static const struct nla_policy pool_policy[KVSTASH_A_POOL_MAX + 1] = {
	[KVSTASH_A_POOL_NAME] = { .type = NLA_NUL_STRING, .len = KVSTASH_NAME_MAX - 1 },
	[KVSTASH_A_POOL_BYTES] = { .type = NLA_U64 },
	[KVSTASH_A_POOL_NODE] = { .type = NLA_S32 },
	[KVSTASH_A_POOL_OBJECTS] = { .type = NLA_U64 },
};

static const struct nla_policy ns_policy[KVSTASH_A_NS_MAX + 1] = {
	[KVSTASH_A_NS_NAME] = { .type = NLA_NUL_STRING, .len = KVSTASH_NAME_MAX - 1 },
	[KVSTASH_A_NS_POOL] = { .type = NLA_NUL_STRING, .len = KVSTASH_NAME_MAX - 1 },
	[KVSTASH_A_NS_UID] = { .type = NLA_U32 },
	[KVSTASH_A_NS_GID] = { .type = NLA_U32 },
	[KVSTASH_A_NS_MODE] = NLA_POLICY_MAX(NLA_U32, 0666),
	[KVSTASH_A_NS_QUOTA_BYTES] = { .type = NLA_U64 },
	[KVSTASH_A_NS_QUOTA_OBJECTS] = { .type = NLA_U64 },
	[KVSTASH_A_NS_LEASE_BYTES] = { .type = NLA_U64 },
	[KVSTASH_A_NS_INCOMPLETE_MS] = { .type = NLA_U32 },
	[KVSTASH_A_NS_PIN_BYTES] = { .type = NLA_U64 },
	[KVSTASH_A_NS_SLOT_BYTES] = { .type = NLA_U64 },
};

static const struct nla_policy obj_policy[KVSTASH_A_OBJ_MAX + 1] = {
	[KVSTASH_A_OBJ_NS] = { .type = NLA_NUL_STRING, .len = KVSTASH_NAME_MAX - 1 },
	[KVSTASH_A_OBJ_POOL] = { .type = NLA_NUL_STRING, .len = KVSTASH_NAME_MAX - 1 },
	[KVSTASH_A_OBJ_KIND] = { .type = NLA_U8 },
	[KVSTASH_A_OBJ_STATE] = { .type = NLA_U8 },
	[KVSTASH_A_OBJ_KEY] = { .type = NLA_BINARY, .len = KVSTASH_KEY_MAX },
	[KVSTASH_A_OBJ_GROUP] = { .type = NLA_BINARY, .len = KVSTASH_KEY_MAX },
	[KVSTASH_A_OBJ_PIN] = { .type = NLA_U8 },
};

static int admin_lock(struct sk_buff *skb)
{
	if (!netlink_capable(skb, CAP_SYS_ADMIN))
		return -EPERM;
	return mutex_lock_killable(&kvs_admin_mutex);
}

static int pool_fill(struct sk_buff *msg, struct kvs_pool *pool, u64 evictions)
{
	struct kvs_pool_counts n;

	kvs_pool_sample(pool, &n);
	return nla_put_string(msg, KVSTASH_A_POOL_NAME, pool->name) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_POOL_BYTES, pool->pages << KVS_PAGE_SHIFT,
				 KVSTASH_A_POOL_PAD) ||
	       nla_put_s32(msg, KVSTASH_A_POOL_NODE, pool->node) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_POOL_OBJECTS, pool->objects_hint,
				 KVSTASH_A_POOL_PAD) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_POOL_FREE, n.free << KVS_PAGE_SHIFT,
				 KVSTASH_A_POOL_PAD) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_POOL_COMMITTED,
				 n.count[KVS_POOL_COMMITTED] << KVS_PAGE_SHIFT,
				 KVSTASH_A_POOL_PAD) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_POOL_IN_FLIGHT,
				 n.count[KVS_POOL_IN_FLIGHT] << KVS_PAGE_SHIFT,
				 KVSTASH_A_POOL_PAD) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_POOL_HELD,
				 n.count[KVS_POOL_HELD] << KVS_PAGE_SHIFT,
				 KVSTASH_A_POOL_PAD) ||
	       nla_put_u32(msg, KVSTASH_A_POOL_CHUNKS, pool->space.nr) ||
	       nla_put_u32(msg, KVSTASH_A_POOL_CHUNKS_SMALL, pool->chunks_small) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_POOL_INDEX_BYTES, kvs_index_bytes(pool->index),
				 KVSTASH_A_POOL_PAD) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_POOL_EVICTIONS, evictions,
				 KVSTASH_A_POOL_PAD) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_POOL_SLOT_FREE,
				 n.count[KVS_POOL_SLOTS] << KVS_PAGE_SHIFT,
				 KVSTASH_A_POOL_PAD);
}

static int pool_message(struct sk_buff *msg, struct kvs_pool *pool, u32 portid, u32 seq, int flags)
{
	struct kvs_stats sum;
	struct kvs_ns *ns;
	u64 evictions = 0;
	void *hdr;

	list_for_each_entry(ns, &pool->namespaces, list) {
		kvs_ns_sum(ns, &sum);
		evictions += sum.v[KVS_STAT_EVICTIONS];
	}
	hdr = genlmsg_put(msg, portid, seq, &kvs_family, flags, KVSTASH_CMD_POOL_GET);
	if (!hdr)
		return -EMSGSIZE;
	if (pool_fill(msg, pool, evictions)) {
		genlmsg_cancel(msg, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(msg, hdr);
	return 0;
}

/* Answer with one pool; takes @msg. kvs_admin_mutex held. */
static int pool_reply(struct genl_info *info, const char *name, struct sk_buff *msg)
{
	struct kvs_pool *pool = kvs_pool_by_name(name);

	if (!pool) {
		NL_SET_ERR_MSG(info->extack, "no such pool");
		nlmsg_free(msg);
		return -ENOENT;
	}
	if (pool_message(msg, pool, info->snd_portid, info->snd_seq, 0)) {
		nlmsg_free(msg);
		return -EMSGSIZE;
	}
	return genlmsg_reply(msg, info);
}

static int cmd_pool_new(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **a = info->attrs;
	int node = NUMA_NO_NODE, ret;
	struct sk_buff *msg;
	u64 objects = 0;
	char *name;

	if (!netlink_capable(skb, CAP_SYS_ADMIN))
		return -EPERM;
	if (GENL_REQ_ATTR_CHECK(info, KVSTASH_A_POOL_NAME) ||
	    GENL_REQ_ATTR_CHECK(info, KVSTASH_A_POOL_BYTES))
		return -EINVAL;
	if (a[KVSTASH_A_POOL_NODE])
		node = nla_get_s32(a[KVSTASH_A_POOL_NODE]);
	if (a[KVSTASH_A_POOL_OBJECTS])
		objects = nla_get_u64(a[KVSTASH_A_POOL_OBJECTS]);
	/* First what may fail: once the pool is there, the answer is yes. */
	msg = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	name = nla_data(a[KVSTASH_A_POOL_NAME]);
	ret = kvs_pool_new(name, nla_get_u64(a[KVSTASH_A_POOL_BYTES]), node, objects,
			   info->extack);
	if (ret) {
		nlmsg_free(msg);
		return ret;
	}
	mutex_lock(&kvs_admin_mutex);
	pool_reply(info, name, msg);
	mutex_unlock(&kvs_admin_mutex);
	return 0;
}

static int cmd_pool_del(struct sk_buff *skb, struct genl_info *info)
{
	struct kvs_pool *pool;
	int ret;

	if (GENL_REQ_ATTR_CHECK(info, KVSTASH_A_POOL_NAME))
		return -EINVAL;
	ret = admin_lock(skb);
	if (ret)
		return ret;
	pool = kvs_pool_by_name(nla_data(info->attrs[KVSTASH_A_POOL_NAME]));
	if (pool) {
		ret = kvs_pool_del(pool, info->extack);
	} else {
		NL_SET_ERR_MSG(info->extack, "no such pool");
		ret = -ENOENT;
	}
	mutex_unlock(&kvs_admin_mutex);
	return ret;
}

static int cmd_pool_get(struct sk_buff *skb, struct genl_info *info)
{
	struct sk_buff *msg;
	int ret;

	if (GENL_REQ_ATTR_CHECK(info, KVSTASH_A_POOL_NAME))
		return -EINVAL;
	msg = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	ret = admin_lock(skb);
	if (ret) {
		nlmsg_free(msg);
		return ret;
	}
	ret = pool_reply(info, nla_data(info->attrs[KVSTASH_A_POOL_NAME]), msg);
	mutex_unlock(&kvs_admin_mutex);
	return ret;
}

static int dump_pools(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct kvs_pool *pool;
	long at = 0;
	int ret;

	ret = admin_lock(cb->skb);
	if (ret)
		return ret;
	list_for_each_entry(pool, &kvs_pools, list) {
		if (at++ < cb->args[0])
			continue;
		if (pool_message(skb, pool, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				 NLM_F_MULTI))
			break;
		cb->args[0] = at;
	}
	mutex_unlock(&kvs_admin_mutex);
	return skb->len;
}

static int ns_put_stats(struct sk_buff *msg, struct kvs_ns *ns)
{
	struct nlattr *nest, *entry;
	struct kvs_stats sum;
	unsigned int i;

	nest = nla_nest_start(msg, KVSTASH_A_NS_STATS);
	if (!nest)
		return -EMSGSIZE;
	kvs_ns_sum(ns, &sum);
	for (i = 0; i < KVS_NR_STATS; i++) {
		entry = nla_nest_start(msg, KVSTASH_A_STAT_ENTRY);
		if (!entry || nla_put_string(msg, KVSTASH_A_STAT_NAME, kvs_stat_names[i]) ||
		    nla_put_u64_64bit(msg, KVSTASH_A_STAT_VALUE, sum.v[i], KVSTASH_A_STAT_PAD))
			return -EMSGSIZE;
		nla_nest_end(msg, entry);
	}
	nla_nest_end(msg, nest);
	return 0;
}

static int ns_put_config(struct sk_buff *msg, const struct kvs_ns *ns)
{
	const struct kvs_ns_config *c = &ns->config;

	return nla_put_string(msg, KVSTASH_A_NS_NAME, ns->name) ||
	       nla_put_string(msg, KVSTASH_A_NS_POOL, ns->pool->name) ||
	       nla_put_u32(msg, KVSTASH_A_NS_UID, from_kuid_munged(current_user_ns(), c->uid)) ||
	       nla_put_u32(msg, KVSTASH_A_NS_GID, from_kgid_munged(current_user_ns(), c->gid)) ||
	       nla_put_u32(msg, KVSTASH_A_NS_MODE, c->mode) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_NS_QUOTA_BYTES, c->quota_bytes,
				 KVSTASH_A_NS_PAD) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_NS_QUOTA_OBJECTS, c->quota_objects,
				 KVSTASH_A_NS_PAD) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_NS_LEASE_BYTES, c->lease_bytes,
				 KVSTASH_A_NS_PAD) ||
	       nla_put_u32(msg, KVSTASH_A_NS_INCOMPLETE_MS, c->incomplete_ms) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_NS_PIN_BYTES, c->pin_bytes,
				 KVSTASH_A_NS_PAD) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_NS_LEASED,
				 atomic64_read(&ns->leased) << KVS_PAGE_SHIFT,
				 KVSTASH_A_NS_PAD) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_NS_PINNED,
				 atomic64_read(&ns->pinned) << KVS_PAGE_SHIFT,
				 KVSTASH_A_NS_PAD) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_NS_SLOT_BYTES, c->slot_bytes,
				 KVSTASH_A_NS_PAD) ||
	       nla_put_u64_64bit(msg, KVSTASH_A_NS_CARVED,
				 atomic64_read(&ns->carved) << KVS_PAGE_SHIFT,
				 KVSTASH_A_NS_PAD);
}

static int ns_message(struct sk_buff *msg, struct kvs_ns *ns, u32 portid, u32 seq, int flags)
{
	void *hdr = genlmsg_put(msg, portid, seq, &kvs_family, flags, KVSTASH_CMD_NS_GET);

	if (!hdr)
		return -EMSGSIZE;
	if (ns_put_config(msg, ns) ||
	    nla_put_u64_64bit(msg, KVSTASH_A_NS_OBJECTS, atomic64_read(&ns->objects),
			      KVSTASH_A_NS_PAD) ||
	    nla_put_u64_64bit(msg, KVSTASH_A_NS_VISIBLE, atomic64_read(&ns->visible),
			      KVSTASH_A_NS_PAD) ||
	    nla_put_u64_64bit(msg, KVSTASH_A_NS_BYTES, atomic64_read(&ns->pages) << KVS_PAGE_SHIFT,
			      KVSTASH_A_NS_PAD) ||
	    nla_put_u32(msg, KVSTASH_A_NS_CLIENTS, atomic_read(&ns->clients)) ||
	    ns_put_stats(msg, ns)) {
		genlmsg_cancel(msg, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(msg, hdr);
	return 0;
}

/* Take what the request says into @c; owner and group of the sender's view. */
static int ns_read_config(struct genl_info *info, struct kvs_ns_config *c)
{
	struct nlattr **a = info->attrs;

	if (a[KVSTASH_A_NS_UID])
		c->uid = make_kuid(current_user_ns(), nla_get_u32(a[KVSTASH_A_NS_UID]));
	if (a[KVSTASH_A_NS_GID])
		c->gid = make_kgid(current_user_ns(), nla_get_u32(a[KVSTASH_A_NS_GID]));
	if (!uid_valid(c->uid) || !gid_valid(c->gid)) {
		NL_SET_ERR_MSG(info->extack, "no such user or group id");
		return -EINVAL;
	}
	if (a[KVSTASH_A_NS_MODE])
		c->mode = nla_get_u32(a[KVSTASH_A_NS_MODE]);
	if (c->mode & ~0666) {
		NL_SET_ERR_MSG(info->extack, "mode has bits other than rw-rw-rw-");
		return -EINVAL;
	}
	if (a[KVSTASH_A_NS_QUOTA_BYTES])
		c->quota_bytes = nla_get_u64(a[KVSTASH_A_NS_QUOTA_BYTES]);
	if (a[KVSTASH_A_NS_QUOTA_OBJECTS])
		c->quota_objects = nla_get_u64(a[KVSTASH_A_NS_QUOTA_OBJECTS]);
	if (a[KVSTASH_A_NS_LEASE_BYTES])
		c->lease_bytes = nla_get_u64(a[KVSTASH_A_NS_LEASE_BYTES]);
	if (a[KVSTASH_A_NS_PIN_BYTES])
		c->pin_bytes = nla_get_u64(a[KVSTASH_A_NS_PIN_BYTES]);
	if (a[KVSTASH_A_NS_SLOT_BYTES])
		c->slot_bytes = nla_get_u64(a[KVSTASH_A_NS_SLOT_BYTES]);
	if (a[KVSTASH_A_NS_INCOMPLETE_MS])
		c->incomplete_ms = nla_get_u32(a[KVSTASH_A_NS_INCOMPLETE_MS]);
	return 0;
}

/* The pool a request names, or the only one there is. */
static struct kvs_pool *ns_read_pool(struct genl_info *info)
{
	struct nlattr *a = info->attrs[KVSTASH_A_NS_POOL];
	struct kvs_pool *pool;

	if (a) {
		pool = kvs_pool_by_name(nla_data(a));
		if (!pool)
			NL_SET_ERR_MSG(info->extack, "no such pool");
		return pool;
	}
	if (list_empty(&kvs_pools) || !list_is_singular(&kvs_pools)) {
		NL_SET_ERR_MSG(info->extack, "there is not exactly one pool: name one");
		return NULL;
	}
	return list_first_entry(&kvs_pools, struct kvs_pool, list);
}

static int ns_new_locked(struct genl_info *info)
{
	struct kvs_ns_config config;
	struct kvs_pool *pool = ns_read_pool(info);
	int ret;

	if (!pool)
		return -ENOENT;
	kvs_ns_config_default(&config);
	ret = ns_read_config(info, &config);
	if (ret)
		return ret;
	return kvs_ns_new(nla_data(info->attrs[KVSTASH_A_NS_NAME]), pool, &config, info->extack);
}

static int ns_set_locked(struct genl_info *info)
{
	struct kvs_ns *ns = kvs_ns_by_name(nla_data(info->attrs[KVSTASH_A_NS_NAME]));
	struct kvs_ns_config config;
	int ret;

	if (!ns) {
		NL_SET_ERR_MSG(info->extack, "no such namespace");
		return -ENOENT;
	}
	if (info->attrs[KVSTASH_A_NS_POOL]) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[KVSTASH_A_NS_POOL],
				    "a namespace can't change its pool");
		return -EINVAL;
	}
	config = ns->config;
	ret = ns_read_config(info, &config);
	if (ret)
		return ret;
	ns->config = config;
	kvs_proc_chown_ns(ns);
	kvs_collect_kick(ns->pool);
	return 0;
}

static int ns_del_locked(struct genl_info *info)
{
	struct kvs_ns *ns = kvs_ns_by_name(nla_data(info->attrs[KVSTASH_A_NS_NAME]));

	if (!ns) {
		NL_SET_ERR_MSG(info->extack, "no such namespace");
		return -ENOENT;
	}
	return kvs_ns_del(ns, info->extack);
}

static int ns_get_locked(struct genl_info *info)
{
	struct kvs_ns *ns = kvs_ns_by_name(nla_data(info->attrs[KVSTASH_A_NS_NAME]));
	struct sk_buff *msg;

	if (!ns) {
		NL_SET_ERR_MSG(info->extack, "no such namespace");
		return -ENOENT;
	}
	msg = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	if (ns_message(msg, ns, info->snd_portid, info->snd_seq, 0)) {
		nlmsg_free(msg);
		return -EMSGSIZE;
	}
	return genlmsg_reply(msg, info);
}

static int cmd_ns(struct sk_buff *skb, struct genl_info *info)
{
	int ret;

	if (GENL_REQ_ATTR_CHECK(info, KVSTASH_A_NS_NAME))
		return -EINVAL;
	ret = admin_lock(skb);
	if (ret)
		return ret;
	switch (info->genlhdr->cmd) {
	case KVSTASH_CMD_NS_NEW:
		ret = ns_new_locked(info);
		break;
	case KVSTASH_CMD_NS_SET:
		ret = ns_set_locked(info);
		break;
	case KVSTASH_CMD_NS_DEL:
		ret = ns_del_locked(info);
		break;
	default:
		ret = ns_get_locked(info);
	}
	mutex_unlock(&kvs_admin_mutex);
	return ret;
}

static int dump_namespaces(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct kvs_pool *pool;
	struct kvs_ns *ns;
	long at = 0;
	int ret;

	ret = admin_lock(cb->skb);
	if (ret)
		return ret;
	list_for_each_entry(pool, &kvs_pools, list) {
		list_for_each_entry(ns, &pool->namespaces, list) {
			if (at++ < cb->args[0])
				continue;
			if (ns_message(skb, ns, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				       NLM_F_MULTI))
				goto out;
			cb->args[0] = at;
		}
	}
out:
	mutex_unlock(&kvs_admin_mutex);
	return skb->len;
}

/**
 * struct obj_dump - a dump of objects under way
 * @pool:   name of the pool that is walked, or ""
 * @only_pool: filter, or ""
 * @ns:     filter, or ""
 * @kind:   filter, -1: any
 * @state:  filter, -1: any
 * @pin:    filter, -1: any
 * @group:  filter: members of the group of this key
 * @group_len: its length, 0: any object
 * @prefix: the key begins with it
 * @prefix_len: its length
 * @bucket: where to go on
 * @skip:   objects of that bucket that are done
 * @started: @pool is meant
 */
struct obj_dump {
	char pool[KVSTASH_NAME_MAX];
	char only_pool[KVSTASH_NAME_MAX];
	char ns[KVSTASH_NAME_MAX];
	int kind;
	int state;
	int pin;
	u8 group[KVSTASH_KEY_MAX];
	u16 group_len;
	u8 prefix[KVSTASH_KEY_MAX];
	u16 prefix_len;
	u64 bucket;
	u32 skip;
	bool started;
};

/*
 * Rights are the caller's, so the caller must be who opened the socket: a set-uid
 * program that was handed it as an output must not lend it its own.
 */
static bool sent_by_opener(const struct sk_buff *skb)
{
	const struct socket *sock = NETLINK_CB(skb).sk->sk_socket;
	const struct cred *opener;

	if (!sock || !sock->file)
		return false;
	opener = sock->file->f_cred;
	return uid_eq(opener->fsuid, current_fsuid()) && gid_eq(opener->fsgid, current_fsgid());
}

/**
 * kvs_netlink_may_dump() - may the caller see what is in a namespace?
 * @cb:   dump under way
 * @name: the namespace, or "": all of them
 *
 * Without CAP_SYS_ADMIN: only one that the caller may read.
 *
 * Return: 0 or a negative errno.
 */
int kvs_netlink_may_dump(struct netlink_callback *cb, const char *name)
{
	struct kvs_ns *ns;
	int ret = -EPERM;

	if (netlink_capable(cb->skb, CAP_SYS_ADMIN))
		return 0;
	if (!sent_by_opener(cb->skb))
		return -EPERM;
	if (mutex_lock_killable(&kvs_admin_mutex))
		return -EINTR;
	ns = name[0] ? kvs_ns_by_name(name) : NULL;
	if (ns && (kvs_ns_rights(ns) & KVS_MAY_READ))
		ret = 0;
	mutex_unlock(&kvs_admin_mutex);
	return ret;
}

static int obj_dump_start(struct netlink_callback *cb)
{
	struct nlattr **a = kvs_dump_attrs(cb);
	struct obj_dump *d = kzalloc(sizeof(*d), GFP_KERNEL);
	int ret;

	if (!d)
		return -ENOMEM;
	d->kind = a[KVSTASH_A_OBJ_KIND] ? nla_get_u8(a[KVSTASH_A_OBJ_KIND]) : -1;
	d->pin = a[KVSTASH_A_OBJ_PIN] ? nla_get_u8(a[KVSTASH_A_OBJ_PIN]) : -1;
	if (a[KVSTASH_A_OBJ_GROUP]) {
		d->group_len = nla_len(a[KVSTASH_A_OBJ_GROUP]);
		memcpy(d->group, nla_data(a[KVSTASH_A_OBJ_GROUP]), d->group_len);
	}
	d->state = a[KVSTASH_A_OBJ_STATE] ? nla_get_u8(a[KVSTASH_A_OBJ_STATE]) : -1;
	if (a[KVSTASH_A_OBJ_NS])
		nla_strscpy(d->ns, a[KVSTASH_A_OBJ_NS], sizeof(d->ns));
	if (a[KVSTASH_A_OBJ_POOL])
		nla_strscpy(d->only_pool, a[KVSTASH_A_OBJ_POOL], sizeof(d->only_pool));
	if (a[KVSTASH_A_OBJ_KEY]) {
		d->prefix_len = nla_len(a[KVSTASH_A_OBJ_KEY]);
		memcpy(d->prefix, nla_data(a[KVSTASH_A_OBJ_KEY]), d->prefix_len);
	}
	ret = kvs_netlink_may_dump(cb, d->ns);
	if (ret) {
		kfree(d);
		return ret;
	}
	cb->args[0] = (long)d;
	return 0;
}

static int obj_dump_done(struct netlink_callback *cb)
{
	kfree((void *)cb->args[0]);
	return 0;
}

static u8 obj_state(const struct kvs_object *obj)
{
	u8 state = READ_ONCE(obj->state);

	if (kvs_object_visible(obj))
		return KVSTASH_STATE_VISIBLE;
	switch (state) {
	case KVS_WAITING:
		return KVSTASH_STATE_WAITING;
	case KVS_FILLING:
	case KVS_OPEN:
	case KVS_WHOLE:
		return KVSTASH_STATE_FILLING;
	case KVS_TIMED:
		return KVSTASH_STATE_EXPIRED;
	case KVS_JOINED:
		state = READ_ONCE(obj->parent->state);
		return state == KVS_DYING ? KVSTASH_STATE_ABSENT :
		       state == KVS_WAITING ? KVSTASH_STATE_WAITING :
		       state == KVS_FILLING ? KVSTASH_STATE_FILLING : KVSTASH_STATE_EXPIRED;
	}
	return KVSTASH_STATE_ABSENT;
}

static bool obj_matches_group(const struct obj_dump *d, const struct kvs_object *obj)
{
	return !d->group_len ||
	       (kvs_object_is_member(obj) && obj->parent->key_len == d->group_len &&
		!memcmp(obj->parent->key, d->group, d->group_len));
}

static bool obj_matches(const struct obj_dump *d, struct kvs_object *obj)
{
	u8 state = obj_state(obj);

	return state != KVSTASH_STATE_ABSENT && (!d->ns[0] || !strcmp(obj->ns->name, d->ns)) &&
	       (d->kind < 0 || obj->kind == d->kind) && (d->state < 0 || state == d->state) &&
	       (d->pin < 0 || READ_ONCE(kvs_object_unit(obj)->pin) == d->pin) &&
	       obj->key_len >= d->prefix_len && !memcmp(obj->key, d->prefix, d->prefix_len) &&
	       obj_matches_group(d, obj);
}

static u32 obj_children(struct kvs_object *obj)
{
	struct hlist_node *node;
	u32 nr = 0;

	/* A rough figure is enough, and a long list is not walked to its end. */
	spin_lock(&obj->lock);
	for (node = obj->children.first; node && nr < 4096; node = node->next)
		nr++;
	for (node = obj->waiting.first; node && nr < 4096; node = node->next)
		nr++;
	spin_unlock(&obj->lock);
	return nr;
}

/* What a group is, or what a member's group is; and whose group it is in. */
static int obj_put_group(struct sk_buff *msg, struct kvs_object *obj)
{
	struct kvs_object *group = kvs_object_unit(obj);

	if (obj != group &&
	    (nla_put(msg, KVSTASH_A_OBJ_GROUP, group->key_len, group->key) ||
	     nla_put_u16(msg, KVSTASH_A_OBJ_MEMBER, obj->index)))
		return -EMSGSIZE;
	if (kvs_object_is_group(group) &&
	    (nla_put_u16(msg, KVSTASH_A_OBJ_MEMBERS, group->group->expected) ||
	     nla_put_u16(msg, KVSTASH_A_OBJ_MEMBERS_PRESENT, READ_ONCE(group->group->present)) ||
	     nla_put_u8(msg, KVSTASH_A_OBJ_GROUP_FLAGS,
			kvs_group_atomic(group) ? KVSTASH_GROUP_ATOMIC : 0)))
		return -EMSGSIZE;
	if (nla_put_u32(msg, KVSTASH_A_OBJ_LEASES, READ_ONCE(group->leases)) ||
	    nla_put_u8(msg, KVSTASH_A_OBJ_PIN, READ_ONCE(group->pin)))
		return -EMSGSIZE;
	return 0;
}

static int obj_put_ttl(struct sk_buff *msg, struct kvs_object *obj)
{
	u64 expires = min_not_zero(READ_ONCE(obj->expires),
				   READ_ONCE(kvs_object_unit(obj)->expires));
	u64 now = ktime_get_ns();

	if (!expires)
		return 0;
	return nla_put_u64_64bit(msg, KVSTASH_A_OBJ_TTL_MS,
				 expires > now ? div_u64(expires - now, NSEC_PER_MSEC) : 0,
				 KVSTASH_A_OBJ_PAD);
}

static int obj_put_extra(struct sk_buff *msg, struct kvs_object *obj)
{
	const struct kvs_object *parent = kvs_object_unit(obj)->parent;
	const struct kvs_extra *extra = obj->extra;

	if (parent && (nla_put(msg, KVSTASH_A_OBJ_PARENT, parent->key_len, parent->key) ||
		       nla_put_u8(msg, KVSTASH_A_OBJ_PARENT_KIND, parent->kind)))
		return -EMSGSIZE;
	if (obj_put_group(msg, obj) || obj_put_ttl(msg, obj))
		return -EMSGSIZE;
	if (extra && extra->has_manifest &&
	    nla_put(msg, KVSTASH_A_OBJ_MANIFEST, KVSTASH_DIGEST_LEN, extra->manifest))
		return -EMSGSIZE;
	if (extra && extra->tag_len &&
	    nla_put(msg, KVSTASH_A_OBJ_TAG, extra->tag_len, extra->tag))
		return -EMSGSIZE;
	return 0;
}

static int obj_message(struct sk_buff *msg, struct kvs_object *obj, struct netlink_callback *cb)
{
	u64 now = ktime_get_ns(), used = READ_ONCE(obj->used);
	void *hdr = genlmsg_put(msg, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &kvs_family,
				NLM_F_MULTI, KVSTASH_CMD_OBJ_GET);

	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_string(msg, KVSTASH_A_OBJ_NS, obj->ns->name) ||
	    nla_put_string(msg, KVSTASH_A_OBJ_POOL, obj->ns->pool->name) ||
	    nla_put_u8(msg, KVSTASH_A_OBJ_KIND, obj->kind) ||
	    nla_put_u8(msg, KVSTASH_A_OBJ_STATE, obj_state(obj)) ||
	    nla_put(msg, KVSTASH_A_OBJ_KEY, obj->key_len, obj->key) ||
	    nla_put_u64_64bit(msg, KVSTASH_A_OBJ_BYTES, READ_ONCE(obj->bytes),
			      KVSTASH_A_OBJ_PAD) ||
	    nla_put_u16(msg, KVSTASH_A_OBJ_PARTS, obj->nr_parts) ||
	    nla_put_u16(msg, KVSTASH_A_OBJ_PARTS_PRESENT, READ_ONCE(obj->nr_present)) ||
	    nla_put_u32(msg, KVSTASH_A_OBJ_CHILDREN, obj_children(obj)) ||
	    nla_put_u32(msg, KVSTASH_A_OBJ_REFS, refcount_read(&obj->refs)) ||
	    nla_put_u64_64bit(msg, KVSTASH_A_OBJ_IDLE_MS,
			      used && now > used ? div_u64(now - used, NSEC_PER_MSEC) : 0,
			      KVSTASH_A_OBJ_PAD) ||
	    obj_put_extra(msg, obj)) {
		genlmsg_cancel(msg, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(msg, hdr);
	return 0;
}

/* The rest of a bucket. Returns -EMSGSIZE when the message is full. */
static int dump_bucket(struct sk_buff *skb, struct netlink_callback *cb, struct obj_dump *d,
		       struct kvs_index *index)
{
	struct kvs_object *obj;
	u32 at = 0;
	int ret = 0;

	rcu_read_lock();
	hlist_for_each_entry_rcu(obj, kvs_index_bucket(index, d->bucket), hash_node) {
		if (at++ < d->skip)
			continue;
		if (obj_matches(d, obj))
			ret = obj_message(skb, obj, cb);
		if (ret)
			break;
		d->skip = at;
	}
	rcu_read_unlock();
	return ret;
}

static int dump_pool_objects(struct sk_buff *skb, struct netlink_callback *cb,
			     struct obj_dump *d, struct kvs_pool *pool)
{
	if (d->only_pool[0] && strcmp(d->only_pool, pool->name))
		d->bucket = pool->index->mask + 1;
	for (; d->bucket <= pool->index->mask; d->bucket++, d->skip = 0) {
		if (dump_bucket(skb, cb, d, pool->index))
			return -EMSGSIZE;
		cond_resched();
	}
	return 0;
}

static int dump_objects(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct obj_dump *d = (void *)cb->args[0];
	struct kvs_pool *pool;
	int ret;

	/* Each time: the namespace may have changed hands since. */
	ret = kvs_netlink_may_dump(cb, d->ns);
	if (ret)
		return ret;
	if (mutex_lock_killable(&kvs_admin_mutex))
		return -EINTR;
	pool = d->started ? kvs_pool_by_name(d->pool) :
	       list_first_entry_or_null(&kvs_pools, struct kvs_pool, list);
	while (pool) {
		d->started = true;
		strscpy(d->pool, pool->name, sizeof(d->pool));
		if (dump_pool_objects(skb, cb, d, pool))
			break;
		if (list_is_last(&pool->list, &kvs_pools)) {
			/* Nothing is left: an index beyond any mask says so. */
			d->bucket = U64_MAX;
			break;
		}
		pool = list_next_entry(pool, list);
		d->bucket = 0;
		d->skip = 0;
	}
	mutex_unlock(&kvs_admin_mutex);
	return skb->len;
}

static const struct genl_ops kvs_ops[] = {
	{
		.cmd = KVSTASH_CMD_POOL_NEW,
		.doit = cmd_pool_new,
		.policy = pool_policy,
		.maxattr = KVSTASH_A_POOL_MAX,
	}, {
		.cmd = KVSTASH_CMD_POOL_DEL,
		.doit = cmd_pool_del,
		.policy = pool_policy,
		.maxattr = KVSTASH_A_POOL_MAX,
	}, {
		.cmd = KVSTASH_CMD_POOL_GET,
		.doit = cmd_pool_get,
		.dumpit = dump_pools,
		.policy = pool_policy,
		.maxattr = KVSTASH_A_POOL_MAX,
	}, {
		.cmd = KVSTASH_CMD_NS_NEW,
		.doit = cmd_ns,
		.policy = ns_policy,
		.maxattr = KVSTASH_A_NS_MAX,
	}, {
		.cmd = KVSTASH_CMD_NS_SET,
		.doit = cmd_ns,
		.policy = ns_policy,
		.maxattr = KVSTASH_A_NS_MAX,
	}, {
		.cmd = KVSTASH_CMD_NS_DEL,
		.doit = cmd_ns,
		.policy = ns_policy,
		.maxattr = KVSTASH_A_NS_MAX,
	}, {
		.cmd = KVSTASH_CMD_NS_GET,
		.doit = cmd_ns,
		.dumpit = dump_namespaces,
		.policy = ns_policy,
		.maxattr = KVSTASH_A_NS_MAX,
	}, {
		.cmd = KVSTASH_CMD_OBJ_GET,
		.start = obj_dump_start,
		.dumpit = dump_objects,
		.done = obj_dump_done,
		.policy = obj_policy,
		.maxattr = KVSTASH_A_OBJ_MAX,
	}, {
		.cmd = KVSTASH_CMD_LAYOUT_GET,
		.start = kvs_netlink_layouts_start,
		.dumpit = kvs_netlink_layouts,
		.done = kvs_netlink_layouts_done,
		.policy = layout_policy,
		.maxattr = KVSTASH_A_LAYOUT_MAX,
	},
};

struct genl_family kvs_family = {
	.name = KVSTASH_GENL_NAME,
	.version = KVSTASH_GENL_VERSION,
	.module = THIS_MODULE,
	.ops = kvs_ops,
	.n_ops = ARRAY_SIZE(kvs_ops),
	.resv_start_op = __KVSTASH_CMD_MAX,
	.parallel_ops = true,
};

int kvs_netlink_init(void)
{
	return genl_register_family(&kvs_family);
}

void kvs_netlink_exit(void)
{
	genl_unregister_family(&kvs_family);
}
