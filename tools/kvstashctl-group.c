// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: a group and its members
 */
#include <stdlib.h>
#include <string.h>

#include "kvstashctl.h"

/**
 * struct group_job - what is asked, and what was found
 * @key:  the group's key
 * @len:  its length
 * @ns:   its namespace
 * @doc:  all that is said
 * @list: the members there, of those in @doc
 */
struct group_job {
	unsigned char *key;
	size_t len;
	char ns[KVSTASH_NAME_MAX];
	json_t *doc;
	json_t *list;
};

/* The answers of a dump have no other way to it. */
static struct group_job *group;

/* The facts of EXISTS, which are of one moment. */
static int group_facts(struct ctl *ctl, struct group_job *job,
		       struct kvstash_exists *x)
{
	struct kvstash *c = client_open(ctl);
	struct kvstash_query q;
	struct kvstash_keys k;
	int ret;

	if (!c)
		return CODE_FAILED;
	kvstash_prep_keys(&k, job->key, job->len, 1);
	kvstash_prep_keys_group(&k);
	ret = kvstash_exists_all(c, &k, x, NULL);
	if (!ret)
		ret = kvstash_query(c, &q);
	if (ret)
		return client_failed(ctl, ret);
	memcpy(job->ns, q.ns, sizeof(job->ns));
	keys_set_state(job->doc, x, NULL);
	keys_set_group(job->doc, x);
	out_set_u64(job->doc, "bytes", x->object_size);
	out_set_result(job->doc, &x->r);
	return CODE_OK;
}

static bool is_key(struct nlattr *a)
{
	return a && (size_t)nla_len(a) == group->len &&
	       !memcmp(nla_data(a), group->key, group->len);
}

static void add_member(struct ctl *ctl, struct nlattr **tb)
{
	(void)ctl;
	/* an answer of a module that knows no filter for it */
	if (!is_key(tb[KVSTASH_A_OBJ_GROUP]))
		return;
	if (json_array_append_new(group->list, dump_object(tb)))
		out_no_memory();
}

/* Of the group itself what EXISTS does not tell. */
static void add_group(struct ctl *ctl, struct nlattr **tb)
{
	static const char *const names[] = {
		"ns", "pool", "parent", "parent_hex", "parent_kind", "children",
		"refs", "idle_ms", "leases", "ttl_ms",
	};
	json_t *o;

	(void)ctl;
	/* the filter is a prefix */
	if (!is_key(tb[KVSTASH_A_OBJ_KEY]))
		return;
	o = dump_object(tb);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_object_get(o, names[i]))
			out_set(group->doc, names[i],
				json_incref(json_object_get(o, names[i])));
	json_decref(o);
}

/* What has the group's key as @attr: itself, or its members of any kind */
static int group_dump(struct ctl *ctl, const struct group_job *job, int attr,
		      void (*reply)(struct ctl *ctl, struct nlattr **tb))
{
	struct netlink_request req = dump_request(reply);
	struct nl_msg *msg = netlink_message(&req);

	netlink_put_str(msg, KVSTASH_A_OBJ_NS, job->ns);
	if (attr == KVSTASH_A_OBJ_KEY)
		netlink_put_u8(msg, KVSTASH_A_OBJ_KIND, KVSTASH_KIND_GROUP);
	netlink_put_bytes(msg, attr, job->key, job->len);
	return netlink_do(ctl, &req, msg);
}

static unsigned long long index_at(size_t i)
{
	return out_u64(json_array_get(group->list, i), "member");
}

static int by_index(const void *a, const void *b)
{
	unsigned long long x = index_at(*(const size_t *)a);
	unsigned long long y = index_at(*(const size_t *)b);

	return x < y ? -1 : x > y;
}

/* The dump has no order. */
static void sort_members(struct group_job *job)
{
	size_t n = json_array_size(job->list);
	size_t *order = calloc(n + 1, sizeof(*order));
	json_t *sorted = json_array();

	if (!order || !sorted)
		out_no_memory();
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	qsort(order, n, sizeof(*order), by_index);
	for (size_t i = 0; i < n; i++)
		if (json_array_append(sorted,
				      json_array_get(job->list, order[i])))
			out_no_memory();
	free(order);
	json_decref(job->list);
	job->list = sorted;
}

static void member_text(const struct ctl *ctl, const json_t *o)
{
	printf("  %6llu %-8s %5llu/%-5llu %12llu  ", out_u64(o, "member"),
	       out_str(o, "state"), out_u64(o, "parts_present"),
	       out_u64(o, "parts"), out_u64(o, "bytes"));
	statekey_print(ctl, o);
	putchar('\n');
}

static void group_text(const struct ctl *ctl, const json_t *o)
{
	json_t *list = json_object_get(o, "objects"), *member;
	size_t i;

	keys_say(ctl, o, "visible");
	printf("  state     %s\n", out_str(o, "state"));
	if (!out_u64(o, "members"))
		return;
	printf("  members   %llu of %llu present\n",
	       out_u64(o, "members_present"), out_u64(o, "members"));
	printf("  flags     %s\n",
	       json_is_true(json_object_get(o, "atomic")) ? "atomic" : "plain");
	printf("  pin       %s\n", out_str(o, "pin"));
	printf("  leases    %llu\n", out_u64(o, "leases"));
	if (json_object_get(o, "ttl_ms"))
		printf("  ttl       %llu ms left\n", out_u64(o, "ttl_ms"));
	printf("  parent    ");
	out_print_bytes(ctl, o, "parent");
	if (json_object_get(o, "parent_kind"))
		printf(" (%s)", out_str(o, "parent_kind"));
	putchar('\n');
	if (json_array_size(list))
		printf("  MEMBER STATE    PARTS              BYTES  KEY\n");
	json_array_foreach(list, i, member)
		member_text(ctl, member);
}

static int group_run(struct ctl *ctl, struct group_job *job)
{
	struct kvstash_exists x = { 0 };
	int code;

	out_set_bytes(job->doc, "key", job->key, job->len);
	code = group_facts(ctl, job, &x);
	if (!code && x.state != KVSTASH_STATE_ABSENT) {
		code = group_dump(ctl, job, KVSTASH_A_OBJ_KEY, add_group);
		if (!code)
			code = group_dump(ctl, job, KVSTASH_A_OBJ_GROUP,
					  add_member);
	}
	if (code) {
		json_decref(job->doc);
		json_decref(job->list);
		return code;
	}
	sort_members(job);
	out_set(job->doc, "objects", job->list);
	return out_doc(ctl, job->doc, group_text, client_code(&x.r));
}

int cmd_group(struct ctl *ctl)
{
	struct group_job job = { 0 };
	int code;

	code = arg_only_operands(ctl, 1, 1);
	if (!code)
		code = arg_key(ctl, "key", ctl->argv[optind], KVSTASH_KEY_MAX,
			       &job.key, &job.len);
	if (code)
		return code;
	job.doc = out_object();
	job.list = json_array();
	if (!job.list)
		out_no_memory();
	group = &job;
	code = group_run(ctl, &job);
	group = NULL;
	free(job.key);
	return code;
}
