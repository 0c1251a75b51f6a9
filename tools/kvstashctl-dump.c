// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: objects as the control family lists them
 */
#include "kvstashctl.h"

static const struct nla_policy policy[KVSTASH_A_OBJ_MAX + 1] = {
	[KVSTASH_A_OBJ_NS] = { .type = NLA_STRING },
	[KVSTASH_A_OBJ_KIND] = { .type = NLA_U8 },
	[KVSTASH_A_OBJ_STATE] = { .type = NLA_U8 },
	[KVSTASH_A_OBJ_POOL] = { .type = NLA_STRING },
	[KVSTASH_A_OBJ_BYTES] = { .type = NLA_U64 },
	[KVSTASH_A_OBJ_PARTS] = { .type = NLA_U16 },
	[KVSTASH_A_OBJ_PARTS_PRESENT] = { .type = NLA_U16 },
	[KVSTASH_A_OBJ_CHILDREN] = { .type = NLA_U32 },
	[KVSTASH_A_OBJ_REFS] = { .type = NLA_U32 },
	[KVSTASH_A_OBJ_IDLE_MS] = { .type = NLA_U64 },
	[KVSTASH_A_OBJ_PARENT_KIND] = { .type = NLA_U8 },
	[KVSTASH_A_OBJ_MEMBER] = { .type = NLA_U16 },
	[KVSTASH_A_OBJ_MEMBERS] = { .type = NLA_U16 },
	[KVSTASH_A_OBJ_MEMBERS_PRESENT] = { .type = NLA_U16 },
	[KVSTASH_A_OBJ_GROUP_FLAGS] = { .type = NLA_U8 },
	[KVSTASH_A_OBJ_LEASES] = { .type = NLA_U32 },
	[KVSTASH_A_OBJ_PIN] = { .type = NLA_U8 },
	[KVSTASH_A_OBJ_TTL_MS] = { .type = NLA_U64 },
};

const char *const dump_kind_names[DUMP_KINDS] = {
	[KVSTASH_KIND_PAGE] = "page",
	[KVSTASH_KIND_GROUP] = "group",
	[KVSTASH_KIND_STATE] = "state",
};

const char *dump_kind_name(unsigned int kind)
{
	return kind < DUMP_KINDS ? dump_kind_names[kind] : NULL;
}

static void set_kind(json_t *o, const char *name, struct nlattr *a)
{
	const char *kind;

	if (!a)
		return;
	kind = dump_kind_name(nla_get_u8(a));
	out_set(o, name, kind ? json_string(kind) :
				json_integer(nla_get_u8(a)));
}

static void set_name(json_t *o, const char *name, struct nlattr *a,
		     const char *(*name_of)(unsigned int v))
{
	if (a)
		out_set(o, name, json_string(name_of(nla_get_u8(a))));
}

static void set_atomic(json_t *o, struct nlattr *a)
{
	if (a)
		out_set(o, "atomic",
			json_boolean(nla_get_u8(a) & KVSTASH_GROUP_ATOMIC));
}

static void set_group(json_t *o, struct nlattr **tb)
{
	netlink_set_bytes(o, "group", tb[KVSTASH_A_OBJ_GROUP]);
	netlink_set_u16(o, "member", tb[KVSTASH_A_OBJ_MEMBER]);
	netlink_set_u16(o, "members", tb[KVSTASH_A_OBJ_MEMBERS]);
	netlink_set_u16(o, "members_present",
			tb[KVSTASH_A_OBJ_MEMBERS_PRESENT]);
	set_atomic(o, tb[KVSTASH_A_OBJ_GROUP_FLAGS]);
}

static void set_key(json_t *o, struct nlattr *key, struct nlattr *kind)
{
	netlink_set_bytes(o, "key", key);
	if (key && kind && nla_get_u8(kind) == KVSTASH_KIND_STATE)
		statekey_set(o, nla_data(key), (size_t)nla_len(key));
}

json_t *dump_object(struct nlattr **tb)
{
	json_t *o = out_object();

	set_key(o, tb[KVSTASH_A_OBJ_KEY], tb[KVSTASH_A_OBJ_KIND]);
	netlink_set_str(o, "ns", tb[KVSTASH_A_OBJ_NS]);
	netlink_set_str(o, "pool", tb[KVSTASH_A_OBJ_POOL]);
	set_kind(o, "kind", tb[KVSTASH_A_OBJ_KIND]);
	set_name(o, "state", tb[KVSTASH_A_OBJ_STATE], client_state_name);
	netlink_set_u64(o, "bytes", tb[KVSTASH_A_OBJ_BYTES]);
	netlink_set_u16(o, "parts", tb[KVSTASH_A_OBJ_PARTS]);
	netlink_set_u16(o, "parts_present", tb[KVSTASH_A_OBJ_PARTS_PRESENT]);
	netlink_set_bytes(o, "parent", tb[KVSTASH_A_OBJ_PARENT]);
	set_kind(o, "parent_kind", tb[KVSTASH_A_OBJ_PARENT_KIND]);
	netlink_set_bytes(o, "manifest", tb[KVSTASH_A_OBJ_MANIFEST]);
	netlink_set_bytes(o, "tag", tb[KVSTASH_A_OBJ_TAG]);
	netlink_set_u32(o, "children", tb[KVSTASH_A_OBJ_CHILDREN]);
	netlink_set_u32(o, "refs", tb[KVSTASH_A_OBJ_REFS]);
	netlink_set_u64(o, "idle_ms", tb[KVSTASH_A_OBJ_IDLE_MS]);
	set_group(o, tb);
	netlink_set_u32(o, "leases", tb[KVSTASH_A_OBJ_LEASES]);
	set_name(o, "pin", tb[KVSTASH_A_OBJ_PIN], client_pin_name);
	netlink_set_u64(o, "ttl_ms", tb[KVSTASH_A_OBJ_TTL_MS]);
	return o;
}

struct netlink_request dump_request(void (*reply)(struct ctl *ctl,
						  struct nlattr **tb))
{
	return (struct netlink_request){
		.cmd = KVSTASH_CMD_OBJ_GET, .dump = true,
		.max = KVSTASH_A_OBJ_MAX, .policy = policy, .reply = reply,
	};
}
