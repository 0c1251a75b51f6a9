// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: the list of objects
 */
#include <stdlib.h>
#include <string.h>

#include "kvstashctl.h"

#define LS_TITLE \
	"STATE   KIND  PARTS              BYTES CHILDREN  REFS    IDLE MS" \
	"     TTL MS LEASES PIN  MEMBER      NS           GROUP    KEY"

static bool with_facts;

/* A number, or a dash if it is absent */
static const char *number(const json_t *o, const char *name, char *buf,
			  size_t len)
{
	if (!json_object_get(o, name))
		return "-";
	snprintf(buf, len, "%llu", out_u64(o, name));
	return buf;
}

/* Of a member its index, of a group the members present; of how many. */
static void say_member(const json_t *o)
{
	const char *of = json_object_get(o, "member") ? "member" :
							"members_present";
	char buf[32];

	if (json_object_get(o, "members"))
		snprintf(buf, sizeof(buf), "%llu/%llu", out_u64(o, of),
			 out_u64(o, "members"));
	else
		snprintf(buf, sizeof(buf), "-");
	printf("%-11s ", buf);
}

static void object_row(const struct ctl *ctl, const json_t *o)
{
	char ttl[24];

	if (with_facts) {
		printf("%-7s %-5s %5llu/%-5llu %12llu %8llu %5llu %10llu ",
		       out_str(o, "state"), out_str(o, "kind"),
		       out_u64(o, "parts_present"), out_u64(o, "parts"),
		       out_u64(o, "bytes"), out_u64(o, "children"),
		       out_u64(o, "refs"), out_u64(o, "idle_ms"));
		printf("%10s %6llu %-4s ",
		       number(o, "ttl_ms", ttl, sizeof(ttl)),
		       out_u64(o, "leases"), out_str(o, "pin"));
		say_member(o);
		printf("%-12s ", out_str(o, "ns"));
		out_print_bytes(ctl, o, "group");
		putchar('\t');
	}
	out_print_bytes(ctl, o, "key");
	putchar('\n');
}

static void say_object(struct ctl *ctl, struct nlattr **tb)
{
	out_item(ctl, dump_object(tb), object_row);
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

/* What is left out was not asked for. */
static int put_key(struct ctl *ctl, struct nl_msg *msg, int attr,
		   const char *what, const char *word)
{
	unsigned char *key;
	size_t len;
	int code;

	if (!word)
		return 0;
	code = arg_key(ctl, what, word, KVSTASH_KEY_MAX, &key, &len);
	if (code)
		return code;
	netlink_put_bytes(msg, attr, key, len);
	free(key);
	return 0;
}

/* Keys among the filters, which are read last: --hex may come after them. */
struct ls_words {
	const char *prefix;
	const char *group;
};

static int put_filter(struct ctl *ctl, struct nl_msg *msg, int c,
		      struct ls_words *w)
{
	static const char *const kinds[] = { "page", "group" };
	static const char *const states[] = {
		"absent", "filling", "waiting", "visible", "expired",
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
		w->prefix = optarg;
		return 0;
	case 'G':
		w->group = optarg;
		return 0;
	case 'I':
		return put_name(ctl, msg, KVSTASH_A_OBJ_PIN, "--pin",
				client_pin_names, CLIENT_PINS);
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
		{ "group", required_argument, NULL, 'G' },
		{ "pin", required_argument, NULL, 'I' },
		{ 0 },
	};
	struct netlink_request req = dump_request(say_object);
	struct nl_msg *msg = netlink_message(&req);
	struct ls_words words = { 0 };
	int code = 0, c;

	while (!code && (c = arg_option(ctl, "l", longs)) != -1)
		code = put_filter(ctl, msg, c, &words);
	if (!code)
		code = arg_operands(ctl, 0, 0);
	if (!code)
		code = put_key(ctl, msg, KVSTASH_A_OBJ_KEY, "--prefix",
			       words.prefix);
	if (!code)
		code = put_key(ctl, msg, KVSTASH_A_OBJ_GROUP, "--group",
			       words.group);
	if (code) {
		nlmsg_free(msg);
		return code;
	}
	if (ctl->ns)
		netlink_put_str(msg, KVSTASH_A_OBJ_NS, ctl->ns);
	out_list(ctl, "objects", with_facts ? LS_TITLE : NULL);
	return out_list_end(ctl, netlink_do(ctl, &req, msg));
}
