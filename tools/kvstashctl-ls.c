// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: the list of objects
 */
#include <stdlib.h>
#include <string.h>

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
};

static const char *const kinds[] = {
	[KVSTASH_KIND_PAGE] = "page",
};

static void set_kind(json_t *o, struct nlattr *a)
{
	unsigned int kind;

	if (!a)
		return;
	kind = nla_get_u8(a);
	out_set(o, "kind", kind < ARRAY_SIZE(kinds) ?
			   json_string(kinds[kind]) : json_integer(kind));
}

static void set_state(json_t *o, struct nlattr *a)
{
	if (a)
		out_set(o, "state",
			json_string(client_state_name(nla_get_u8(a))));
}

static json_t *object_json(struct nlattr **tb)
{
	json_t *o = out_object();

	netlink_set_bytes(o, "key", tb[KVSTASH_A_OBJ_KEY]);
	netlink_set_str(o, "ns", tb[KVSTASH_A_OBJ_NS]);
	netlink_set_str(o, "pool", tb[KVSTASH_A_OBJ_POOL]);
	set_kind(o, tb[KVSTASH_A_OBJ_KIND]);
	set_state(o, tb[KVSTASH_A_OBJ_STATE]);
	netlink_set_u64(o, "bytes", tb[KVSTASH_A_OBJ_BYTES]);
	netlink_set_u16(o, "parts", tb[KVSTASH_A_OBJ_PARTS]);
	netlink_set_u16(o, "parts_present", tb[KVSTASH_A_OBJ_PARTS_PRESENT]);
	netlink_set_bytes(o, "parent", tb[KVSTASH_A_OBJ_PARENT]);
	netlink_set_bytes(o, "manifest", tb[KVSTASH_A_OBJ_MANIFEST]);
	netlink_set_bytes(o, "tag", tb[KVSTASH_A_OBJ_TAG]);
	netlink_set_u32(o, "children", tb[KVSTASH_A_OBJ_CHILDREN]);
	netlink_set_u32(o, "refs", tb[KVSTASH_A_OBJ_REFS]);
	netlink_set_u64(o, "idle_ms", tb[KVSTASH_A_OBJ_IDLE_MS]);
	return o;
}

#define LS_TITLE \
	"STATE   PARTS              BYTES CHILDREN  REFS    IDLE MS" \
	" NS           KEY"

static bool with_facts;

static void object_row(const struct ctl *ctl, const json_t *o)
{
	if (with_facts)
		printf("%-7s %5llu/%-5llu %12llu %8llu %5llu %10llu %-12s ",
		       out_str(o, "state"), out_u64(o, "parts_present"),
		       out_u64(o, "parts"), out_u64(o, "bytes"),
		       out_u64(o, "children"), out_u64(o, "refs"),
		       out_u64(o, "idle_ms"), out_str(o, "ns"));
	out_print_bytes(ctl, o, "key");
	putchar('\n');
}

static void say_object(struct ctl *ctl, struct nlattr **tb)
{
	out_item(ctl, object_json(tb), object_row);
}

/* One of @names or a number; the index. */
static int put_name(struct ctl *ctl, struct nl_msg *msg, int attr,
		    const char *what, const char *const *names, size_t n)
{
	char *end;
	unsigned long v;

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(optarg, names[i])) {
			netlink_put_u8(msg, attr, (__u8)i);
			return 0;
		}
	}
	v = strtoul(optarg, &end, 10);
	if (*optarg < '0' || *optarg > '9' || *end || v > UINT8_MAX)
		return out_usage(ctl, "%s: no known name, nor a number up to %d: %s",
				 what, UINT8_MAX, optarg);
	netlink_put_u8(msg, attr, (__u8)v);
	return 0;
}

static int put_prefix(struct ctl *ctl, struct nl_msg *msg, const char *prefix)
{
	unsigned char *key;
	size_t len;
	int code = arg_key(ctl, "--prefix", prefix, 1, &key, &len);

	if (code)
		return code;
	netlink_put_bytes(msg, KVSTASH_A_OBJ_KEY, key, len);
	free(key);
	return 0;
}

static int put_filter(struct ctl *ctl, struct nl_msg *msg, int c,
		      const char **prefix)
{
	static const char *const states[] = {
		"absent", "filling", "waiting", "visible",
	};

	switch (c) {
	case 'l':
		with_facts = true;
		return 0;
	case 'N':
		ctl->ns = optarg;
		return 0;
	case 'K':
		return put_name(ctl, msg, KVSTASH_A_OBJ_KIND, "--kind", kinds,
				ARRAY_SIZE(kinds));
	case 'S':
		return put_name(ctl, msg, KVSTASH_A_OBJ_STATE, "--state",
				states, ARRAY_SIZE(states));
	case 'P':
		/* --hex may come later */
		*prefix = optarg;
		return 0;
	case 'O':
		netlink_put_str(msg, KVSTASH_A_OBJ_POOL, optarg);
		return 0;
	default:
		return CODE_USAGE;
	}
}

int cmd_ls(struct ctl *ctl)
{
	static const struct option longs[] = {
		{ "ns", required_argument, NULL, 'N' },
		{ "kind", required_argument, NULL, 'K' },
		{ "state", required_argument, NULL, 'S' },
		{ "prefix", required_argument, NULL, 'P' },
		{ "pool", required_argument, NULL, 'O' },
		{ 0 },
	};
	static const struct netlink_request req = {
		.cmd = KVSTASH_CMD_OBJ_GET, .dump = true,
		.max = KVSTASH_A_OBJ_MAX, .policy = policy,
		.reply = say_object,
	};
	struct nl_msg *msg = netlink_message(&req);
	const char *prefix = NULL;
	int code = 0, c;

	while (!code && (c = arg_option(ctl, "l", longs)) != -1)
		code = put_filter(ctl, msg, c, &prefix);
	if (!code)
		code = arg_operands(ctl, 0, 0);
	if (!code && prefix)
		code = put_prefix(ctl, msg, prefix);
	if (code) {
		nlmsg_free(msg);
		return code;
	}
	if (ctl->ns)
		netlink_put_str(msg, KVSTASH_A_OBJ_NS, ctl->ns);
	out_list(ctl, "objects", with_facts ? LS_TITLE : NULL);
	return out_list_end(ctl, netlink_do(ctl, &req, msg));
}
