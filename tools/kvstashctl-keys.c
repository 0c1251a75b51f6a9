// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: facts about keys, and their removal
 */
#include <stdlib.h>
#include <string.h>

#include "kvstashctl.h"

typedef int (*keys_call)(struct kvstash *c, struct kvstash_keys *k,
			 struct kvstash_exists *res, size_t *done);

/**
 * struct keys_job - a command about keys that has a result for each
 * @call:   the library's call
 * @list:   the list's name in the document
 * @tags:   tags are asked for
 * @set:    adds what there is to say of a key
 * @text:   says it
 */
struct keys_job {
	keys_call call;
	const char *list;
	bool tags;
	void (*set)(json_t *o, const struct kvstash_exists *x,
		    const unsigned char *tag);
	out_text text;
};

static int worse(int a, int b)
{
	return a > b ? a : b;
}

static int keys_say(struct ctl *ctl, const struct keys_job *job,
		    const struct keys *keys, const struct kvstash_exists *res,
		    const unsigned char *tags)
{
	const unsigned char *key = keys->bytes;
	int code = CODE_OK;

	out_list(ctl, job->list, NULL);
	for (size_t i = 0; i < keys->n; i++) {
		json_t *o = out_object();

		out_set_bytes(o, "key", key, keys->lens[i]);
		job->set(o, &res[i], tags ? tags + i * KVSTASH_TAG_MAX : NULL);
		out_set_result(o, &res[i].r);
		out_item(ctl, o, job->text);
		code = worse(code, client_code(&res[i].r));
		key += keys->lens[i];
	}
	return out_list_end(ctl, code);
}

static int keys_send(struct ctl *ctl, const struct keys_job *job,
		     const struct keys *keys)
{
	struct kvstash *c = client_open(ctl);
	struct kvstash_exists *res;
	unsigned char *tags = NULL;
	struct kvstash_keys k;
	int ret, code;

	if (!c)
		return CODE_FAILED;
	res = calloc(keys->n, sizeof(*res));
	if (job->tags)
		tags = calloc(keys->n, KVSTASH_TAG_MAX);
	if (!res || (job->tags && !tags))
		out_no_memory();
	kvstash_prep_keys_var(&k, keys->bytes, keys->lens, keys->n);
	kvstash_prep_keys_tags(&k, tags);
	ret = job->call(c, &k, res, NULL);
	code = ret ? client_failed(ctl, ret) :
		     keys_say(ctl, job, keys, res, tags);
	free(res);
	free(tags);
	return code;
}

static int keys_run(struct ctl *ctl, const struct keys_job *job)
{
	struct keys keys;
	int code;

	code = arg_only_operands(ctl, 1, INT32_MAX);
	if (code)
		return code;
	code = arg_keys(ctl, &keys);
	if (code)
		return code;
	code = keys_send(ctl, job, &keys);
	keys_free(&keys);
	return code;
}

static void set_state(json_t *o, const struct kvstash_exists *x,
		      const unsigned char *tag)
{
	(void)tag;
	out_set(o, "state", json_string(client_state_name(x->state)));
}

static void set_facts(json_t *o, const struct kvstash_exists *x,
		      const unsigned char *tag)
{
	static const unsigned char none[KVSTASH_DIGEST_LEN];
	bool manifest = memcmp(x->manifest, none, sizeof(none));
	size_t tag_len = x->tag_len;

	if (tag_len > KVSTASH_TAG_MAX)
		tag_len = KVSTASH_TAG_MAX;
	set_state(o, x, tag);
	out_set_u64(o, "object_size", x->object_size);
	out_set_u64(o, "parts", x->parts);
	out_set_u64(o, "parts_present", x->parts_present);
	out_set_bytes(o, "manifest", manifest ? x->manifest : NULL,
		      sizeof(x->manifest));
	out_set_bytes(o, "tag", tag_len ? tag : NULL, tag_len);
}

static void set_nothing(json_t *o, const struct kvstash_exists *x,
			const unsigned char *tag)
{
	(void)o;
	(void)x;
	(void)tag;
}

/* The key, and in words how it went. */
static void say_key(const struct ctl *ctl, const json_t *o, const char *ok)
{
	const json_t *error = json_object_get(o, "error");

	out_print_bytes(ctl, o, "key");
	printf(": %s\n", error ? json_string_value(error) : ok);
}

static void exists_text(const struct ctl *ctl, const json_t *o)
{
	say_key(ctl, o, "visible");
}

static void rm_text(const struct ctl *ctl, const json_t *o)
{
	say_key(ctl, o, "removed");
}

static void stat_text(const struct ctl *ctl, const json_t *o)
{
	say_key(ctl, o, "visible");
	printf("  state     %s\n", out_str(o, "state"));
	printf("  size      %llu bytes\n", out_u64(o, "object_size"));
	printf("  parts     %llu of %llu present\n",
	       out_u64(o, "parts_present"), out_u64(o, "parts"));
	printf("  manifest  %s\n", out_str(o, "manifest_hex"));
	printf("  tag       ");
	out_print_bytes(ctl, o, "tag");
	putchar('\n');
}

int cmd_stat(struct ctl *ctl)
{
	static const struct keys_job job = {
		.call = kvstash_exists_all, .list = "keys", .tags = true,
		.set = set_facts, .text = stat_text,
	};

	return keys_run(ctl, &job);
}

int cmd_exists(struct ctl *ctl)
{
	static const struct keys_job job = {
		.call = kvstash_exists_all, .list = "keys",
		.set = set_state, .text = exists_text,
	};

	return keys_run(ctl, &job);
}

int cmd_rm(struct ctl *ctl)
{
	static const struct keys_job job = {
		.call = kvstash_remove_all, .list = "keys",
		.set = set_nothing, .text = rm_text,
	};

	return keys_run(ctl, &job);
}

static void lookup_text(const struct ctl *ctl, const json_t *o)
{
	(void)ctl;
	printf("run of %llu keys of %llu, %llu bytes", out_u64(o, "run"),
	       out_u64(o, "count"), out_u64(o, "bytes"));
	if (out_u64(o, "run") < out_u64(o, "count"))
		printf("; ends: %s (%s)", out_str(o, "text"),
		       out_str(o, "reason"));
	putchar('\n');
}

static int lookup_send(struct ctl *ctl, const struct keys *keys)
{
	struct kvstash *c = client_open(ctl);
	struct kvstash_keys k;
	json_t *doc;
	int ret;

	if (!c)
		return CODE_FAILED;
	kvstash_prep_keys_var(&k, keys->bytes, keys->lens, keys->n);
	ret = kvstash_lookup_all(c, &k, NULL);
	if (ret)
		return client_failed(ctl, ret);
	doc = out_object();
	out_set_u64(doc, "count", k.count);
	out_set_u64(doc, "run", k.run);
	out_set_u64(doc, "bytes", k.bytes);
	out_set(doc, "reason", json_string(kvstash_reason_name(k.reason)));
	out_set(doc, "text", json_string(kvstash_reason_text(k.reason)));
	return out_doc(ctl, doc, lookup_text, client_reason_code(k.reason));
}

int cmd_lookup(struct ctl *ctl)
{
	struct keys keys;
	int code;

	code = arg_only_operands(ctl, 1, INT32_MAX);
	if (code)
		return code;
	code = arg_keys(ctl, &keys);
	if (code)
		return code;
	code = lookup_send(ctl, &keys);
	keys_free(&keys);
	return code;
}
