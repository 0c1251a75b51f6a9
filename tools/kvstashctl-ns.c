// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: namespaces
 */
#include "kvstashctl.h"

static const struct nla_policy policy[KVSTASH_A_NS_MAX + 1] = {
	[KVSTASH_A_NS_NAME] = { .type = NLA_STRING },
	[KVSTASH_A_NS_POOL] = { .type = NLA_STRING },
	[KVSTASH_A_NS_UID] = { .type = NLA_U32 },
	[KVSTASH_A_NS_GID] = { .type = NLA_U32 },
	[KVSTASH_A_NS_MODE] = { .type = NLA_U32 },
	[KVSTASH_A_NS_QUOTA_BYTES] = { .type = NLA_U64 },
	[KVSTASH_A_NS_QUOTA_OBJECTS] = { .type = NLA_U64 },
	[KVSTASH_A_NS_LEASE_BYTES] = { .type = NLA_U64 },
	[KVSTASH_A_NS_INCOMPLETE_MS] = { .type = NLA_U32 },
	[KVSTASH_A_NS_OBJECTS] = { .type = NLA_U64 },
	[KVSTASH_A_NS_VISIBLE] = { .type = NLA_U64 },
	[KVSTASH_A_NS_BYTES] = { .type = NLA_U64 },
	[KVSTASH_A_NS_CLIENTS] = { .type = NLA_U32 },
	[KVSTASH_A_NS_STATS] = { .type = NLA_NESTED },
	[KVSTASH_A_NS_PIN_BYTES] = { .type = NLA_U64 },
	[KVSTASH_A_NS_LEASED] = { .type = NLA_U64 },
	[KVSTASH_A_NS_PINNED] = { .type = NLA_U64 },
	[KVSTASH_A_NS_SLOT_BYTES] = { .type = NLA_U64 },
	[KVSTASH_A_NS_CARVED] = { .type = NLA_U64 },
};

static const struct nla_policy stat_policy[KVSTASH_A_STAT_MAX + 1] = {
	[KVSTASH_A_STAT_NAME] = { .type = NLA_STRING },
	[KVSTASH_A_STAT_VALUE] = { .type = NLA_U64 },
};

/* NAME and VALUE of each ENTRY in the nest become members. */
static json_t *stats_json(struct nlattr *nest)
{
	struct nlattr *tb[KVSTASH_A_STAT_MAX + 1];
	json_t *o = out_object();
	struct nlattr *a;
	int left;

	nla_for_each_nested(a, nest, left) {
		if (nla_type(a) != KVSTASH_A_STAT_ENTRY ||
		    nla_parse_nested(tb, KVSTASH_A_STAT_MAX, a,
				     stat_policy) < 0 ||
		    !tb[KVSTASH_A_STAT_NAME] || !tb[KVSTASH_A_STAT_VALUE])
			continue;
		out_set_u64(o, nla_get_string(tb[KVSTASH_A_STAT_NAME]),
			    nla_get_u64(tb[KVSTASH_A_STAT_VALUE]));
	}
	return o;
}

static json_t *ns_json(struct nlattr **tb)
{
	json_t *o = out_object();
	char mode[8];

	netlink_set_str(o, "name", tb[KVSTASH_A_NS_NAME]);
	netlink_set_str(o, "pool", tb[KVSTASH_A_NS_POOL]);
	netlink_set_u32(o, "uid", tb[KVSTASH_A_NS_UID]);
	netlink_set_u32(o, "gid", tb[KVSTASH_A_NS_GID]);
	if (tb[KVSTASH_A_NS_MODE]) {
		snprintf(mode, sizeof(mode), "%04o",
			 nla_get_u32(tb[KVSTASH_A_NS_MODE]) & 07777);
		out_set(o, "mode", json_string(mode));
	}
	netlink_set_u64(o, "quota_bytes", tb[KVSTASH_A_NS_QUOTA_BYTES]);
	netlink_set_u64(o, "quota_objects", tb[KVSTASH_A_NS_QUOTA_OBJECTS]);
	netlink_set_u64(o, "lease_bytes", tb[KVSTASH_A_NS_LEASE_BYTES]);
	netlink_set_u64(o, "pin_bytes", tb[KVSTASH_A_NS_PIN_BYTES]);
	netlink_set_u64(o, "slot_bytes", tb[KVSTASH_A_NS_SLOT_BYTES]);
	netlink_set_u32(o, "incomplete_ms", tb[KVSTASH_A_NS_INCOMPLETE_MS]);
	netlink_set_u64(o, "objects", tb[KVSTASH_A_NS_OBJECTS]);
	netlink_set_u64(o, "visible", tb[KVSTASH_A_NS_VISIBLE]);
	netlink_set_u64(o, "bytes", tb[KVSTASH_A_NS_BYTES]);
	netlink_set_u64(o, "leased", tb[KVSTASH_A_NS_LEASED]);
	netlink_set_u64(o, "pinned", tb[KVSTASH_A_NS_PINNED]);
	netlink_set_u64(o, "carved", tb[KVSTASH_A_NS_CARVED]);
	netlink_set_u32(o, "clients", tb[KVSTASH_A_NS_CLIENTS]);
	if (tb[KVSTASH_A_NS_STATS])
		out_set(o, "stats", stats_json(tb[KVSTASH_A_NS_STATS]));
	return o;
}

#define NS_TITLE \
	"NAME           POOL              UID    GID MODE    QUOTA BYTES" \
	"  Q OBJECTS    LEASE BYTES      PIN BYTES     SLOT BYTES" \
	" INCOMPLETE MS    OBJECTS    VISIBLE          BYTES         LEASED" \
	"         PINNED         CARVED CLIENTS"

static void ns_row(const struct ctl *ctl, const json_t *o)
{
	(void)ctl;
	printf("%-14s %-14s %6llu %6llu %4s ",
	       out_str(o, "name"), out_str(o, "pool"), out_u64(o, "uid"),
	       out_u64(o, "gid"), out_str(o, "mode"));
	printf("%14llu %10llu %14llu %14llu %14llu %13llu ",
	       out_u64(o, "quota_bytes"), out_u64(o, "quota_objects"),
	       out_u64(o, "lease_bytes"), out_u64(o, "pin_bytes"),
	       out_u64(o, "slot_bytes"), out_u64(o, "incomplete_ms"));
	printf("%10llu %10llu %14llu %14llu %14llu %14llu %7llu\n",
	       out_u64(o, "objects"), out_u64(o, "visible"),
	       out_u64(o, "bytes"), out_u64(o, "leased"),
	       out_u64(o, "pinned"), out_u64(o, "carved"),
	       out_u64(o, "clients"));
}

enum { OPT_POOL = 2000, OPT_UID, OPT_GID, OPT_MODE, OPT_QUOTA, OPT_OBJECTS,
	OPT_LEASE, OPT_PIN, OPT_SLOTS, OPT_INCOMPLETE };

static const struct option longs[] = {
	{ "pool", required_argument, NULL, OPT_POOL },
	{ "uid", required_argument, NULL, OPT_UID },
	{ "gid", required_argument, NULL, OPT_GID },
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "quota", required_argument, NULL, OPT_QUOTA },
	{ "objects", required_argument, NULL, OPT_OBJECTS },
	{ "lease-budget", required_argument, NULL, OPT_LEASE },
	{ "pin-bytes", required_argument, NULL, OPT_PIN },
	{ "slot-bytes", required_argument, NULL, OPT_SLOTS },
	{ "incomplete-timeout", required_argument, NULL, OPT_INCOMPLETE },
	{ 0 },
};

static int put_size(struct ctl *ctl, struct nl_msg *msg, int attr,
		    const char *what)
{
	__u64 v;
	int code = arg_size(ctl, what, optarg, &v);

	if (!code)
		netlink_put_u64(msg, attr, v);
	return code;
}

static int put_number(struct ctl *ctl, struct nl_msg *msg, int attr,
		      const char *what)
{
	__u64 v;
	int code = arg_number(ctl, what, optarg, UINT32_MAX, &v);

	if (!code)
		netlink_put_u32(msg, attr, (__u32)v);
	return code;
}

static int put_mode(struct ctl *ctl, struct nl_msg *msg)
{
	__u32 mode;
	int code = arg_mode(ctl, optarg, &mode);

	if (!code)
		netlink_put_u32(msg, KVSTASH_A_NS_MODE, mode);
	return code;
}

static int put_option(struct ctl *ctl, struct nl_msg *msg, int c)
{
	int code;

	switch (c) {
	case OPT_POOL:
		code = arg_name(ctl, "pool", optarg);
		netlink_put_str(msg, KVSTASH_A_NS_POOL, optarg);
		return code;
	case OPT_UID:
		return put_number(ctl, msg, KVSTASH_A_NS_UID, "--uid");
	case OPT_GID:
		return put_number(ctl, msg, KVSTASH_A_NS_GID, "--gid");
	case OPT_MODE:
		return put_mode(ctl, msg);
	case OPT_QUOTA:
		return put_size(ctl, msg, KVSTASH_A_NS_QUOTA_BYTES, "--quota");
	case OPT_OBJECTS:
		return put_size(ctl, msg, KVSTASH_A_NS_QUOTA_OBJECTS,
				"--objects");
	case OPT_LEASE:
		return put_size(ctl, msg, KVSTASH_A_NS_LEASE_BYTES,
				"--lease-budget");
	case OPT_PIN:
		return put_size(ctl, msg, KVSTASH_A_NS_PIN_BYTES,
				"--pin-bytes");
	case OPT_SLOTS:
		return put_size(ctl, msg, KVSTASH_A_NS_SLOT_BYTES,
				"--slot-bytes");
	case OPT_INCOMPLETE:
		return put_number(ctl, msg, KVSTASH_A_NS_INCOMPLETE_MS,
				  "--incomplete-timeout");
	default:
		return CODE_USAGE;
	}
}

static json_t *answer;

static void keep_answer(struct ctl *ctl, struct nlattr **tb)
{
	(void)ctl;
	json_decref(answer);
	answer = ns_json(tb);
}

static void ns_said(const struct ctl *ctl, const json_t *o)
{
	(void)ctl;
	printf("namespace %s %s\n", out_str(o, "name"), out_str(o, "did"));
}

/* What was done, beside what the kernel answered. */
static int said(struct ctl *ctl, const char *did)
{
	json_t *doc = answer ? answer : out_object();

	out_set(doc, "name", json_string(ctl->argv[optind]));
	out_set(doc, "did", json_string(did));
	return out_doc(ctl, doc, ns_said, CODE_OK);
}

/* NEW and SET: a name, and options that are attributes. */
static int create_or_set(struct ctl *ctl, int cmd, const char *did)
{
	struct netlink_request req = {
		.cmd = cmd, .max = KVSTASH_A_NS_MAX, .policy = policy,
		.reply = keep_answer,
	};
	struct nl_msg *msg = netlink_message(&req);
	int code = 0, options = 0, c;

	for (; !code && (c = arg_option(ctl, "", longs)) != -1; options++) {
		if (c == OPT_POOL && cmd == KVSTASH_CMD_NS_SET)
			code = out_usage(ctl, "a namespace stays in its pool");
		else
			code = put_option(ctl, msg, c);
	}
	if (!code)
		code = arg_operands(ctl, 1, 1);
	if (!code && !options && cmd == KVSTASH_CMD_NS_SET)
		code = out_usage(ctl, "nothing to set");
	if (!code)
		code = arg_name(ctl, "namespace", ctl->argv[optind]);
	if (code) {
		nlmsg_free(msg);
		return code;
	}
	netlink_put_str(msg, KVSTASH_A_NS_NAME, ctl->argv[optind]);
	code = netlink_do(ctl, &req, msg);
	return code ? code : said(ctl, did);
}

int cmd_ns_create(struct ctl *ctl)
{
	return create_or_set(ctl, KVSTASH_CMD_NS_NEW, "created");
}

int cmd_ns_set(struct ctl *ctl)
{
	return create_or_set(ctl, KVSTASH_CMD_NS_SET, "set");
}

int cmd_ns_destroy(struct ctl *ctl)
{
	static const struct netlink_request req = {
		.cmd = KVSTASH_CMD_NS_DEL, .max = KVSTASH_A_NS_MAX,
		.policy = policy,
	};
	struct nl_msg *msg;
	int code;

	code = arg_only_operands(ctl, 1, 1);
	if (!code)
		code = arg_name(ctl, "namespace", ctl->argv[optind]);
	if (code)
		return code;
	msg = netlink_message(&req);
	netlink_put_str(msg, KVSTASH_A_NS_NAME, ctl->argv[optind]);
	code = netlink_do(ctl, &req, msg);
	return code ? code : said(ctl, "destroyed");
}

static void say_ns(struct ctl *ctl, struct nlattr **tb)
{
	out_item(ctl, ns_json(tb), ns_row);
}

int cmd_ns_list(struct ctl *ctl)
{
	struct netlink_request req = {
		.cmd = KVSTASH_CMD_NS_GET, .max = KVSTASH_A_NS_MAX,
		.policy = policy, .reply = say_ns,
	};
	struct nl_msg *msg;
	int code;

	code = arg_only_operands(ctl, 0, 1);
	if (!code)
		code = arg_maybe_name(ctl, "namespace", ctl->argv[optind]);
	if (code)
		return code;
	req.dump = optind == ctl->argc;
	msg = netlink_message(&req);
	if (!req.dump)
		netlink_put_str(msg, KVSTASH_A_NS_NAME, ctl->argv[optind]);
	out_list(ctl, "namespaces", NS_TITLE);
	return out_list_end(ctl, netlink_do(ctl, &req, msg));
}
