// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: put of one object, or state
 */
#include <stdlib.h>
#include <string.h>

#include "kvstashctl.h"

/**
 * struct put_words - what the user said of a put, before it is read
 *
 * --hex, which says how keys are to be read, may come last.
 *
 * @is_state: it is a state
 * @state:    and that is its key
 */
struct put_words {
	bool is_state;
	struct statekey_words state;
	const char *parent;
	const char *part;
	const char *manifest;
	const char *tag;
	const char *parent_group;
	const char *group;
	const char *member;
	const char *members;
	const char *ttl_ms;
	__u32 flags;
};

/**
 * struct put_memory - what an entry points to
 */
struct put_memory {
	unsigned char *key;
	struct statekey state;
	unsigned char *parent;
	unsigned char *group;
	unsigned char manifest[KVSTASH_DIGEST_LEN];
	struct bytes data;
};

/* Options with a word each */
static const char **put_word(struct put_words *w, int c)
{
	switch (c) {
	case 'p':
		return &w->parent;
	case 'P':
		return &w->parent_group;
	case 'i':
		return &w->part;
	case 'm':
		return &w->manifest;
	case 't':
		return &w->tag;
	case 'g':
		return &w->group;
	case 'I':
		return &w->member;
	case 'N':
		return &w->members;
	case 'T':
		return &w->ttl_ms;
	default:
		return statekey_word(&w->state, c);
	}
}

/* Options that are flags of the entry */
static __u32 put_flag(int c)
{
	switch (c) {
	case 'r':
		return KVSTASH_PUT_ROOT_IF_NO_PARENT;
	case 'A':
		return KVSTASH_PUT_ATOMIC;
	case 'L':
		return KVSTASH_PUT_NO_LINGER;
	default:
		return 0;
	}
}

/* What only makes sense together; the rest is the kernel's to judge. */
static int put_consistent(struct ctl *ctl, const struct put_words *w)
{
	if (w->parent && w->parent_group)
		return out_usage(ctl, "--parent and --parent-group");
	if (w->group && !(w->member && w->members))
		return out_usage(ctl, "--group needs --member and --members");
	if (!w->group &&
	    (w->member || w->members || w->flags & KVSTASH_PUT_ATOMIC))
		return out_usage(ctl,
				 "--member, --members and --atomic need --group");
	return 0;
}

static int put_options(struct ctl *ctl, struct put_words *w)
{
	/* those of a state first */
	static const struct option longs[] = {
		STATEKEY_OPTION_SCHEME,
		STATEKEY_OPTION_TOKENS,
		{ "parent", required_argument, NULL, 'p' },
		{ "parent-group", required_argument, NULL, 'P' },
		{ "part", required_argument, NULL, 'i' },
		{ "manifest", required_argument, NULL, 'm' },
		{ "tag", required_argument, NULL, 't' },
		{ "group", required_argument, NULL, 'g' },
		{ "member", required_argument, NULL, 'I' },
		{ "members", required_argument, NULL, 'N' },
		{ "ttl-ms", required_argument, NULL, 'T' },
		{ "root-if-no-parent", no_argument, NULL, 'r' },
		{ "atomic", no_argument, NULL, 'A' },
		{ "no-linger", no_argument, NULL, 'L' },
		{ 0 },
	};
	int code, c;

	while ((c = arg_option(ctl, "", longs + (w->is_state ? 0 : 2))) != -1) {
		const char **word = put_word(w, c);

		if (word)
			*word = optarg;
		else if (put_flag(c))
			w->flags |= put_flag(c);
		else
			return CODE_USAGE;
	}
	code = put_consistent(ctl, w);
	if (code)
		return code;
	return w->is_state ? statekey_operands(ctl, &w->state, 1) :
			     arg_operands(ctl, 1, 2);
}

static int put_parent(struct ctl *ctl, const struct put_words *w,
		      struct put_memory *m, struct kvstash_put *e)
{
	size_t len;
	int code;

	if (w->parent) {
		code = arg_key(ctl, "--parent", w->parent, KVSTASH_KEY_MAX,
			       &m->parent, &len);
		if (code)
			return code;
		kvstash_prep_put_parent(e, m->parent, len);
	} else if (w->parent_group) {
		code = arg_key(ctl, "--parent-group", w->parent_group,
			       KVSTASH_KEY_MAX, &m->parent, &len);
		if (code)
			return code;
		kvstash_prep_put_parent_group(e, m->parent, len);
	}
	return 0;
}

static int put_group(struct ctl *ctl, const struct put_words *w,
		     struct put_memory *m, struct kvstash_put *e)
{
	__u64 member, members;
	size_t len;
	int code;

	if (!w->group)
		return 0;
	code = arg_key(ctl, "--group", w->group, KVSTASH_KEY_MAX, &m->group,
		       &len);
	if (!code)
		code = arg_number(ctl, "--member", w->member, UINT16_MAX,
				  &member);
	if (!code)
		code = arg_number(ctl, "--members", w->members,
				  KVSTASH_MEMBERS_MAX, &members);
	if (!code)
		kvstash_prep_put_group(e, m->group, len, member, members, 0);
	return code;
}

static int put_ttl(struct ctl *ctl, const struct put_words *w,
		   struct kvstash_put *e)
{
	__u64 ms;
	int code;

	if (!w->ttl_ms)
		return 0;
	code = arg_number(ctl, "--ttl-ms", w->ttl_ms, UINT32_MAX, &ms);
	if (!code)
		kvstash_prep_put_ttl(e, ms);
	return code;
}

/* The identity beside the key. */
static int put_identity(struct ctl *ctl, const struct put_words *w,
			struct put_memory *m, struct kvstash_put *e)
{
	unsigned int part, parts;
	int code;

	code = put_parent(ctl, w, m, e);
	if (!code)
		code = put_group(ctl, w, m, e);
	if (!code)
		code = put_ttl(ctl, w, e);
	if (!code && w->part) {
		code = arg_part(ctl, w->part, &part, &parts);
		if (!code)
			kvstash_prep_put_part(e, part, parts);
	}
	if (!code && w->manifest) {
		code = arg_digest(ctl, w->manifest, m->manifest,
				  sizeof(m->manifest));
		kvstash_prep_put_manifest(e, m->manifest);
	}
	if (w->tag)
		kvstash_prep_put_tag(e, w->tag, strlen(w->tag));
	e->flags |= w->flags;
	return code;
}

static int put_key(struct ctl *ctl, const struct put_words *w,
		   struct put_memory *m, struct kvstash_put *e)
{
	size_t len;
	int code;

	if (w->is_state) {
		code = statekey_read(ctl, &w->state, &m->state);
		if (code)
			return code;
		kvstash_prep_put(e, m->state.key, m->state.len, NULL, 0);
		kvstash_prep_put_state(e);
		return 0;
	}
	code = arg_key(ctl, "key", ctl->argv[optind], KVSTASH_KEY_MAX, &m->key,
		       &len);
	if (!code)
		kvstash_prep_put(e, m->key, len, NULL, 0);
	return code;
}

static int put_build(struct ctl *ctl, const struct put_words *w,
		     struct put_memory *m, struct kvstash_put *e)
{
	int at = optind + (w->is_state ? 2 : 1);
	const char *path = "-";
	int code;

	code = put_key(ctl, w, m, e);
	if (!code)
		code = put_identity(ctl, w, m, e);
	if (code)
		return code;
	if (at < ctl->argc)
		path = ctl->argv[at];
	code = file_load(ctl, path, &m->data);
	if (code)
		return code;
	e->buf = kvstash_addr(m->data.p);
	e->part_len = m->data.len;
	return 0;
}

static void put_text(const struct ctl *ctl, const json_t *o)
{
	statekey_print(ctl, o);
	printf(": part %llu of %llu put, %llu bytes\n", out_u64(o, "part"),
	       out_u64(o, "parts"), out_u64(o, "bytes"));
}

/* Bytes that a state was expected to have; 0 if that can't be told. */
static __u64 put_expected(struct ctl *ctl, const struct kvstash_put *e)
{
	struct kvstash_layout l;

	if (e->r.reason == KVSTASH_R_SLOT_BYTES)
		return e->r.detail;
	/* none at all are no length of any object */
	if (e->r.reason != KVSTASH_R_LENGTH || e->kind != KVSTASH_KIND_STATE)
		return 0;
	statekey_layout((void *)(uintptr_t)e->key, &l);
	return kvstash_layout_get(ctl->client, &l, NULL, 0) ? 0 : l.slot_bytes;
}

static int put_refused(struct ctl *ctl, const char *what,
		       const struct kvstash_put *e)
{
	char lengths[sizeof(((struct statekey *)NULL)->text) + 80];
	__u64 expected = put_expected(ctl, e);

	if (!expected)
		return client_refused(ctl, what, &e->r);
	snprintf(lengths, sizeof(lengths), "%s: %llu bytes given, a slot has %llu",
		 what, (unsigned long long)e->part_len,
		 (unsigned long long)expected);
	return client_refused(ctl, lengths, &e->r);
}

static int put_send(struct ctl *ctl, const char *what, struct kvstash_put *e)
{
	struct kvstash *c = client_open(ctl);
	json_t *doc;
	int ret;

	if (!c)
		return CODE_FAILED;
	ret = kvstash_put_all(c, e, 1, NULL);
	if (ret)
		return client_failed(ctl, ret);
	if (e->r.res)
		return put_refused(ctl, what, e);
	doc = out_object();
	out_set_bytes(doc, "key", (void *)(uintptr_t)e->key, e->key_len);
	if (e->kind == KVSTASH_KIND_STATE)
		statekey_set(doc, (void *)(uintptr_t)e->key, e->key_len);
	out_set_u64(doc, "bytes", e->part_len);
	out_set_u64(doc, "part", e->part);
	out_set_u64(doc, "parts", e->parts);
	if (e->group) {
		out_set_bytes(doc, "group", (void *)(uintptr_t)e->group,
			      e->group_len);
		out_set_u64(doc, "member", e->member);
		out_set_u64(doc, "members", e->members);
	}
	out_set_result(doc, &e->r);
	return out_doc(ctl, doc, put_text, CODE_OK);
}

static int put_run(struct ctl *ctl, struct put_words *words)
{
	struct put_memory m = { 0 };
	struct kvstash_put e;
	int code;

	code = put_options(ctl, words);
	if (code)
		return code;
	code = put_build(ctl, words, &m, &e);
	if (!code)
		code = put_send(ctl, words->is_state ? m.state.text :
						       ctl->argv[optind], &e);
	free(m.key);
	free(m.parent);
	free(m.group);
	bytes_free(&m.data);
	return code;
}

int cmd_put(struct ctl *ctl)
{
	struct put_words words = { 0 };

	return put_run(ctl, &words);
}

int cmd_state_put(struct ctl *ctl)
{
	struct put_words words = { .is_state = true };

	return put_run(ctl, &words);
}
