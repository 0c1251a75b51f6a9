// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: the list of objects, or of states alone
 */
#define _GNU_SOURCE
#include <endian.h>
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
	statekey_print(ctl, o);
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

/* Filters that are read last: of keys, as --hex may come after them, and the pool */
struct ls_words {
	const char *pool;
	const char *prefix;
	const char *group;
	struct statekey_words state;
};

/* States alone, and if their layout is named, its own */
static int put_states(struct ctl *ctl, struct nl_msg *msg,
		      const struct statekey_words *w)
{
	struct kvstash_state_key key;
	size_t len = offsetof(struct kvstash_state_key, scheme);
	__u32 scheme;
	int code;

	netlink_put_u8(msg, KVSTASH_A_OBJ_KIND, KVSTASH_KIND_STATE);
	if (!w->fingerprint)
		return w->scheme ?
			out_usage(ctl, "--scheme needs a fingerprint") : 0;
	code = arg_fingerprint(ctl, w->fingerprint, key.fingerprint);
	if (!code && w->scheme) {
		code = arg_scheme(ctl, "--scheme", w->scheme, &scheme);
		key.scheme = htole32(scheme);
		len += sizeof(key.scheme);
	}
	if (!code)
		netlink_put_bytes(msg, KVSTASH_A_OBJ_KEY, &key, len);
	return code;
}

static int put_filter(struct ctl *ctl, struct nl_msg *msg, int c,
		      struct ls_words *w)
{
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
		return put_name(ctl, msg, KVSTASH_A_OBJ_KIND, "--kind",
				dump_kind_names, DUMP_KINDS);
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
		w->pool = optarg;
		return 0;
	case STATEKEY_SCHEME:
		w->state.scheme = optarg;
		return 0;
	default:
		return CODE_USAGE;
	}
}

static int put_filters(struct ctl *ctl, struct nl_msg *msg,
		       const struct option *longs, bool states,
		       struct ls_words *words)
{
	int code = 0, c;

	while (!code && (c = arg_option(ctl, "l", longs)) != -1)
		code = put_filter(ctl, msg, c, words);
	if (!code)
		code = arg_operands(ctl, 0, states);
	if (!code && optind < ctl->argc)
		words->state.fingerprint = ctl->argv[optind];
	if (!code)
		code = put_key(ctl, msg, KVSTASH_A_OBJ_KEY, "--prefix",
			       words->prefix);
	if (!code)
		code = put_key(ctl, msg, KVSTASH_A_OBJ_GROUP, "--group",
			       words->group);
	if (!code && states)
		code = put_states(ctl, msg, &words->state);
	return code;
}

static int put_names(struct ctl *ctl, struct nl_msg *msg, const char *pool)
{
	int code = arg_maybe_name(ctl, "namespace", ctl->ns);

	if (!code)
		code = arg_maybe_name(ctl, "pool", pool);
	if (ctl->ns)
		netlink_put_str(msg, KVSTASH_A_OBJ_NS, ctl->ns);
	if (pool)
		netlink_put_str(msg, KVSTASH_A_OBJ_POOL, pool);
	return code;
}

static int ls_run(struct ctl *ctl, const struct option *longs, bool states)
{
	struct netlink_request req = dump_request(say_object);
	struct nl_msg *msg = netlink_message(&req);
	struct ls_words words = { 0 };
	int code;

	code = put_filters(ctl, msg, longs, states, &words);
	if (!code)
		code = put_names(ctl, msg, words.pool);
	if (code) {
		nlmsg_free(msg);
		return code;
	}
	out_list(ctl, "objects", with_facts ? LS_TITLE : NULL);
	code = netlink_do(ctl, &req, msg);
	return out_list_end(ctl, netlink_list_of(ctl, ctl->ns, words.pool, code));
}

#define OPTION_NS	{ "ns", required_argument, NULL, 'N' }
#define OPTION_STATE	{ "state", required_argument, NULL, 'S' }
#define OPTION_POOL	{ "pool", required_argument, NULL, 'O' }
#define OPTION_GROUP	{ "group", required_argument, NULL, 'G' }
#define OPTION_PIN	{ "pin", required_argument, NULL, 'I' }

int cmd_ls(struct ctl *ctl)
{
	static const struct option longs[] = {
		OPTION_NS, OPTION_STATE, OPTION_POOL, OPTION_GROUP, OPTION_PIN,
		{ "kind", required_argument, NULL, 'K' },
		{ "prefix", required_argument, NULL, 'P' },
		{ 0 },
	};

	return ls_run(ctl, longs, false);
}

int cmd_state_ls(struct ctl *ctl)
{
	static const struct option longs[] = {
		OPTION_NS, OPTION_STATE, OPTION_POOL, OPTION_GROUP, OPTION_PIN,
		STATEKEY_OPTION_SCHEME,
		{ 0 },
	};

	return ls_run(ctl, longs, true);
}
