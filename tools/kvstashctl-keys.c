// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: facts about keys, their removal and pins
 */
#include <stdlib.h>
#include <string.h>

#include "kvstashctl.h"

static int keys_results(struct ctl *ctl, const struct keys_job *job,
			const struct keys *keys, bool state,
			const struct kvstash_exists *res,
			const unsigned char *tags)
{
	const unsigned char *key = keys->bytes;
	int code = CODE_OK;

	for (size_t i = 0; i < keys->n; i++)
		code = client_worse(code, client_code(&res[i].r));
	if (job->quiet && code == CODE_OK)
		return code;
	out_list(ctl, job->list, NULL);
	for (size_t i = 0; i < keys->n; i++) {
		json_t *o = out_object();

		out_set_bytes(o, "key", key, keys->lens[i]);
		if (state)
			statekey_set(o, key, keys->lens[i]);
		job->set(o, &res[i], tags ? tags + i * KVSTASH_TAG_MAX : NULL);
		out_set_result(o, &res[i].r);
		out_item(ctl, o, job->text);
		key += keys->lens[i];
	}
	return out_list_end(ctl, code);
}

bool keys_word(struct keys_words *w, int c)
{
	switch (c) {
	case 'g':
		w->group = true;
		return true;
	case 'k':
		w->state = true;
		return true;
	case 'm':
		w->member = true;
		return true;
	default:
		return false;
	}
}

int keys_words_check(struct ctl *ctl, const struct keys_words *w)
{
	if (w->group && w->state)
		return out_usage(ctl, "--group-kind and --state-kind");
	if (w->group && w->member)
		return out_usage(ctl, "--member is for keys of members");
	return 0;
}

void keys_words_prep(struct kvstash_keys *k, const struct keys_words *w)
{
	if (w->group)
		kvstash_prep_keys_group(k);
	if (w->state)
		kvstash_prep_keys_state(k);
	if (w->member)
		kvstash_prep_keys_member(k);
}

int keys_send(struct ctl *ctl, const struct keys_job *job,
	      const struct keys_words *words, const struct keys *keys)
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
	kvstash_prep_keys_pin(&k, job->pin);
	keys_words_prep(&k, words);
	if (job->leases)
		kvstash_prep_keys_lease(&k, job->leases);
	ret = job->call(c, &k, res, NULL);
	code = ret ? client_failed(ctl, ret) :
		     keys_results(ctl, job, keys, words->state, res, tags);
	free(res);
	free(tags);
	return code;
}

static const struct option kind_options[] = {
	KEYS_OPTION_GROUP,
	KEYS_OPTION_STATE,
	{ 0 },
};

static int keys_options(struct ctl *ctl, const struct option *longs,
			struct keys_words *words)
{
	int c;

	while ((c = arg_option(ctl, "", longs)) != -1)
		if (!keys_word(words, c))
			return CODE_USAGE;
	return keys_words_check(ctl, words);
}

/* All operands from the current one on are keys. */
static int keys_operands(struct ctl *ctl, const struct keys_job *job,
			 const struct keys_words *words)
{
	struct keys keys;
	int code;

	code = arg_operands(ctl, 1, INT32_MAX);
	if (code)
		return code;
	code = arg_keys(ctl, words->state, &keys);
	if (code)
		return code;
	code = keys_send(ctl, job, words, &keys);
	keys_free(&keys);
	return code;
}

static int keys_run(struct ctl *ctl, const struct keys_job *job,
		    const struct option *longs)
{
	struct keys_words words = { 0 };
	int code = keys_options(ctl, longs, &words);

	return code ? code : keys_operands(ctl, job, &words);
}

void keys_set_state(json_t *o, const struct kvstash_exists *x,
		    const unsigned char *tag)
{
	(void)tag;
	out_set(o, "state", json_string(client_state_name(x->state)));
}

void keys_set_group(json_t *o, const struct kvstash_exists *x)
{
	bool atomic = x->group_flags & KVSTASH_GROUP_ATOMIC;

	out_set(o, "pin", json_string(client_pin_name(x->pin)));
	out_set_u64(o, "members", x->members);
	out_set_u64(o, "members_present", x->members_present);
	out_set(o, "group_state", x->members ?
		json_string(client_state_name(x->group_state)) : json_null());
	out_set(o, "atomic", x->members ? json_boolean(atomic) : json_null());
}

static void set_facts(json_t *o, const struct kvstash_exists *x,
		      const unsigned char *tag)
{
	static const unsigned char none[KVSTASH_DIGEST_LEN];
	bool manifest = memcmp(x->manifest, none, sizeof(none));
	size_t tag_len = x->tag_len;

	if (tag_len > KVSTASH_TAG_MAX)
		tag_len = KVSTASH_TAG_MAX;
	keys_set_state(o, x, tag);
	out_set_u64(o, "object_size", x->object_size);
	out_set_u64(o, "parts", x->parts);
	out_set_u64(o, "parts_present", x->parts_present);
	out_set_bytes(o, "manifest", manifest ? x->manifest : NULL,
		      sizeof(x->manifest));
	out_set_bytes(o, "tag", tag_len ? tag : NULL, tag_len);
	keys_set_group(o, x);
}

static void set_nothing(json_t *o, const struct kvstash_exists *x,
			const unsigned char *tag)
{
	(void)o;
	(void)x;
	(void)tag;
}

void keys_say(const struct ctl *ctl, const json_t *o, const char *ok)
{
	const json_t *error = json_object_get(o, "error");

	statekey_print(ctl, o);
	printf(": %s\n", error ? json_string_value(error) : ok);
}

static void exists_text(const struct ctl *ctl, const json_t *o)
{
	keys_say(ctl, o, "visible");
}

static void rm_text(const struct ctl *ctl, const json_t *o)
{
	keys_say(ctl, o, "removed");
}

static void stat_text(const struct ctl *ctl, const json_t *o)
{
	keys_say(ctl, o, "visible");
	printf("  state     %s\n", out_str(o, "state"));
	printf("  size      %llu bytes\n", out_u64(o, "object_size"));
	printf("  parts     %llu of %llu present\n",
	       out_u64(o, "parts_present"), out_u64(o, "parts"));
	printf("  manifest  %s\n", out_str(o, "manifest_hex"));
	printf("  tag       ");
	out_print_bytes(ctl, o, "tag");
	printf("\n  pin       %s\n", out_str(o, "pin"));
	if (!out_u64(o, "members"))
		return;
	printf("  group     %s, %s\n", out_str(o, "group_state"),
	       json_is_true(json_object_get(o, "atomic")) ? "atomic" : "plain");
	printf("  members   %llu of %llu present\n",
	       out_u64(o, "members_present"), out_u64(o, "members"));
}

int cmd_stat(struct ctl *ctl)
{
	static const struct keys_job job = {
		.call = kvstash_exists_all, .list = "keys", .tags = true,
		.set = set_facts, .text = stat_text,
	};

	return keys_run(ctl, &job, kind_options);
}

const struct keys_job keys_job_facts = {
	.call = kvstash_exists_all, .list = "keys", .tags = true,
	.set = set_facts, .text = exists_text,
};

int cmd_exists(struct ctl *ctl)
{
	static const struct keys_job job = {
		.call = kvstash_exists_all, .list = "keys",
		.set = keys_set_state, .text = exists_text,
	};

	return keys_run(ctl, &job, kind_options);
}

const struct keys_job keys_job_rm = {
	.call = kvstash_remove_all, .list = "keys", .set = set_nothing,
	.text = rm_text,
};

int cmd_rm(struct ctl *ctl)
{
	static const struct option longs[] = {
		KEYS_OPTION_GROUP,
		KEYS_OPTION_STATE,
		{ "member", no_argument, NULL, 'm' },
		{ 0 },
	};

	return keys_run(ctl, &keys_job_rm, longs);
}

static unsigned int pin_asked;

static void set_pin(json_t *o, const struct kvstash_exists *x,
		    const unsigned char *tag)
{
	(void)tag;
	if (!x->r.res)
		out_set(o, "pin", json_string(client_pin_name(pin_asked)));
}

static void pin_text(const struct ctl *ctl, const json_t *o)
{
	static const char *const said[CLIENT_PINS] = {
		[KVSTASH_PIN_NONE] = "not pinned",
		[KVSTASH_PIN_SOFT] = "pinned soft",
		[KVSTASH_PIN_HARD] = "pinned hard",
	};

	keys_say(ctl, o, said[pin_asked]);
}

int cmd_pin(struct ctl *ctl)
{
	struct keys_job job = {
		.call = kvstash_pin_all, .list = "keys",
		.set = set_pin, .text = pin_text,
	};
	struct keys_words words = { 0 };
	const char *kind;
	int code;

	code = keys_options(ctl, kind_options, &words);
	if (!code)
		code = arg_operands(ctl, 2, INT32_MAX);
	if (code)
		return code;
	kind = ctl->argv[optind++];
	while (pin_asked < CLIENT_PINS &&
	       strcmp(kind, client_pin_names[pin_asked]))
		pin_asked++;
	if (pin_asked == CLIENT_PINS)
		return out_usage(ctl, "neither soft, hard nor none: %s", kind);
	job.pin = pin_asked;
	return keys_operands(ctl, &job, &words);
}
