// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: pools
 */
#include "kvstashctl.h"

static const struct nla_policy policy[KVSTASH_A_POOL_MAX + 1] = {
	[KVSTASH_A_POOL_NAME] = { .type = NLA_STRING },
	[KVSTASH_A_POOL_BYTES] = { .type = NLA_U64 },
	[KVSTASH_A_POOL_NODE] = { .type = NLA_U32 },
	[KVSTASH_A_POOL_OBJECTS] = { .type = NLA_U64 },
	[KVSTASH_A_POOL_FREE] = { .type = NLA_U64 },
	[KVSTASH_A_POOL_COMMITTED] = { .type = NLA_U64 },
	[KVSTASH_A_POOL_IN_FLIGHT] = { .type = NLA_U64 },
	[KVSTASH_A_POOL_HELD] = { .type = NLA_U64 },
	[KVSTASH_A_POOL_CHUNKS] = { .type = NLA_U32 },
	[KVSTASH_A_POOL_CHUNKS_SMALL] = { .type = NLA_U32 },
	[KVSTASH_A_POOL_INDEX_BYTES] = { .type = NLA_U64 },
	[KVSTASH_A_POOL_EVICTIONS] = { .type = NLA_U64 },
	[KVSTASH_A_POOL_SLOT_FREE] = { .type = NLA_U64 },
};

static json_t *pool_json(struct nlattr **tb)
{
	json_t *o = out_object();

	netlink_set_str(o, "name", tb[KVSTASH_A_POOL_NAME]);
	netlink_set_u64(o, "bytes", tb[KVSTASH_A_POOL_BYTES]);
	netlink_set_s32(o, "node", tb[KVSTASH_A_POOL_NODE]);
	netlink_set_u64(o, "objects", tb[KVSTASH_A_POOL_OBJECTS]);
	netlink_set_u64(o, "free", tb[KVSTASH_A_POOL_FREE]);
	netlink_set_u64(o, "slot_free", tb[KVSTASH_A_POOL_SLOT_FREE]);
	netlink_set_u64(o, "committed", tb[KVSTASH_A_POOL_COMMITTED]);
	netlink_set_u64(o, "in_flight", tb[KVSTASH_A_POOL_IN_FLIGHT]);
	netlink_set_u64(o, "held", tb[KVSTASH_A_POOL_HELD]);
	netlink_set_u32(o, "chunks", tb[KVSTASH_A_POOL_CHUNKS]);
	netlink_set_u32(o, "chunks_small", tb[KVSTASH_A_POOL_CHUNKS_SMALL]);
	netlink_set_u64(o, "index_bytes", tb[KVSTASH_A_POOL_INDEX_BYTES]);
	netlink_set_u64(o, "evictions", tb[KVSTASH_A_POOL_EVICTIONS]);
	return o;
}

#define POOL_TITLE \
	"NAME                    BYTES           FREE      SLOT FREE" \
	"      COMMITTED" \
	"      IN FLIGHT           HELD NODE   CHUNKS    SMALL  EVICTIONS"

static void pool_row(const struct ctl *ctl, const json_t *o)
{
	(void)ctl;
	printf("%-14s %14llu %14llu %14llu %14llu %14llu %14llu ",
	       out_str(o, "name"), out_u64(o, "bytes"), out_u64(o, "free"),
	       out_u64(o, "slot_free"), out_u64(o, "committed"),
	       out_u64(o, "in_flight"), out_u64(o, "held"));
	printf("%4lld %8llu %8llu %10llu\n", (long long)out_u64(o, "node"),
	       out_u64(o, "chunks"), out_u64(o, "chunks_small"),
	       out_u64(o, "evictions"));
}

static void pool_made(const struct ctl *ctl, const json_t *o)
{
	(void)ctl;
	printf("pool %s: %llu bytes on node %lld, index for %llu objects\n",
	       out_str(o, "name"), out_u64(o, "bytes"),
	       (long long)out_u64(o, "node"), out_u64(o, "objects"));
}

static void pool_gone(const struct ctl *ctl, const json_t *o)
{
	(void)ctl;
	printf("pool %s destroyed\n", out_str(o, "name"));
}

/* The answer to POOL_NEW; there is one at most. */
static json_t *made;

static void keep_made(struct ctl *ctl, struct nlattr **tb)
{
	(void)ctl;
	json_decref(made);
	made = pool_json(tb);
}

int cmd_pool_create(struct ctl *ctl)
{
	static const struct option longs[] = {
		{ "node", required_argument, NULL, 'N' },
		{ "objects", required_argument, NULL, 'O' },
		{ 0 },
	};
	static const struct netlink_request req = {
		.cmd = KVSTASH_CMD_POOL_NEW, .max = KVSTASH_A_POOL_MAX,
		.policy = policy, .reply = keep_made,
	};
	struct nl_msg *msg = netlink_message(&req);
	__u64 bytes, objects;
	int code = 0, c;
	__s32 node;

	while (!code && (c = arg_option(ctl, "", longs)) != -1) {
		if (c == 'N') {
			code = arg_node(ctl, optarg, &node);
			netlink_put_u32(msg, KVSTASH_A_POOL_NODE,
					code ? 0 : (__u32)node);
		} else if (c == 'O') {
			code = arg_size(ctl, "--objects", optarg, &objects);
			netlink_put_u64(msg, KVSTASH_A_POOL_OBJECTS,
					code ? 0 : objects);
		} else {
			code = CODE_USAGE;
		}
	}
	if (!code)
		code = arg_operands(ctl, 2, 2);
	if (!code)
		code = arg_name(ctl, "pool", ctl->argv[optind]);
	if (!code)
		code = arg_size(ctl, "size", ctl->argv[optind + 1], &bytes);
	if (code) {
		nlmsg_free(msg);
		return code;
	}
	netlink_put_str(msg, KVSTASH_A_POOL_NAME, ctl->argv[optind]);
	netlink_put_u64(msg, KVSTASH_A_POOL_BYTES, bytes);
	code = netlink_do(ctl, &req, msg);
	if (code)
		return code;
	return out_doc(ctl, made ? made : out_object(), pool_made, CODE_OK);
}

int cmd_pool_destroy(struct ctl *ctl)
{
	static const struct netlink_request req = {
		.cmd = KVSTASH_CMD_POOL_DEL, .max = KVSTASH_A_POOL_MAX,
		.policy = policy,
	};
	struct nl_msg *msg;
	json_t *doc;
	int code;

	code = arg_only_operands(ctl, 1, 1);
	if (!code)
		code = arg_name(ctl, "pool", ctl->argv[optind]);
	if (code)
		return code;
	msg = netlink_message(&req);
	netlink_put_str(msg, KVSTASH_A_POOL_NAME, ctl->argv[optind]);
	code = netlink_do(ctl, &req, msg);
	if (code)
		return code;
	doc = out_object();
	out_set(doc, "name", json_string(ctl->argv[optind]));
	out_set(doc, "destroyed", json_true());
	return out_doc(ctl, doc, pool_gone, CODE_OK);
}

static void say_pool(struct ctl *ctl, struct nlattr **tb)
{
	out_item(ctl, pool_json(tb), pool_row);
}

int cmd_pool_list(struct ctl *ctl)
{
	struct netlink_request req = {
		.cmd = KVSTASH_CMD_POOL_GET, .max = KVSTASH_A_POOL_MAX,
		.policy = policy, .reply = say_pool,
	};
	struct nl_msg *msg;
	int code;

	code = arg_only_operands(ctl, 0, 1);
	if (!code)
		code = arg_maybe_name(ctl, "pool", ctl->argv[optind]);
	if (code)
		return code;
	req.dump = optind == ctl->argc;
	msg = netlink_message(&req);
	if (!req.dump)
		netlink_put_str(msg, KVSTASH_A_POOL_NAME, ctl->argv[optind]);
	out_list(ctl, "pools", POOL_TITLE);
	return out_list_end(ctl, netlink_do(ctl, &req, msg));
}
