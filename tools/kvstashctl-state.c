// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: keys of states, facts about one and its removal
 */
#define _GNU_SOURCE
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "kvstashctl.h"

const char **statekey_word(struct statekey_words *w, int c)
{
	switch (c) {
	case STATEKEY_SCHEME:
		return &w->scheme;
	case STATEKEY_TOKENS:
		return &w->tokens;
	default:
		return NULL;
	}
}

/* Scheme and tokens have the names that the user gave, or did not give, them. */
static int statekey_build(struct ctl *ctl, const struct statekey_words *w,
			  const char *scheme_name, const char *tokens_name,
			  struct statekey *out)
{
	unsigned char fingerprint[KVSTASH_DIGEST_LEN], *prefix;
	__u64 tokens;
	__u32 scheme;
	size_t len;
	int code;

	code = arg_fingerprint(ctl, w->fingerprint, fingerprint);
	if (!code)
		code = arg_scheme(ctl, scheme_name, w->scheme, &scheme);
	if (!code)
		code = arg_needed(ctl, tokens_name, w->tokens);
	if (!code)
		code = arg_count(ctl, tokens_name, w->tokens, UINT64_MAX,
				 &tokens);
	if (!code)
		code = arg_key(ctl, "prefix", w->prefix, KVSTASH_PREFIX_MAX,
			       &prefix, &len);
	if (code)
		return code;
	/* all was checked: it can't fail */
	out->len = (size_t)kvstash_state_key(out->key, sizeof(out->key),
					     fingerprint, scheme, tokens,
					     prefix, len);
	snprintf(out->text, sizeof(out->text), "%s:%u:%llu:%s", w->fingerprint,
		 scheme, (unsigned long long)tokens, w->prefix);
	free(prefix);
	return 0;
}

int statekey_read(struct ctl *ctl, const struct statekey_words *w,
		  struct statekey *out)
{
	return statekey_build(ctl, w, "--scheme", "--tokens", out);
}

int statekey_parse(struct ctl *ctl, const char *what, const char *s,
		   struct statekey *out)
{
	char *copy = strdup(s), *rest = copy;
	struct statekey_words w;
	int code;

	if (!copy)
		out_no_memory();
	w.fingerprint = strsep(&rest, ":");
	w.scheme = strsep(&rest, ":");
	w.tokens = strsep(&rest, ":");
	w.prefix = rest;
	if (w.prefix)
		code = statekey_build(ctl, &w, "scheme", "tokens", out);
	else
		code = out_usage(ctl,
				 "%s: not FINGERPRINT:SCHEME:TOKENS:PREFIX: %s",
				 what, s);
	free(copy);
	return code;
}

void statekey_layout(const void *key, struct kvstash_layout *l)
{
	struct kvstash_state_key head;

	memcpy(&head, key, sizeof(head));
	kvstash_prep_layout(l, head.fingerprint, le32toh(head.scheme));
}

void statekey_set(json_t *o, const void *key, size_t len)
{
	struct kvstash_state_key head;
	json_t *k;

	if (!key || len < sizeof(head))
		return;
	memcpy(&head, key, sizeof(head));
	k = out_object();
	out_set_bytes(k, "fingerprint", head.fingerprint,
		      sizeof(head.fingerprint));
	out_set_u64(k, "scheme", le32toh(head.scheme));
	out_set_u64(k, "tokens", le64toh(head.tokens));
	out_set_bytes(k, "prefix", (const char *)key + sizeof(head),
		      len - sizeof(head));
	out_set(o, "state_key", k);
}

void statekey_print(const struct ctl *ctl, const json_t *o)
{
	const json_t *k = json_object_get(o, "state_key");

	if (!k) {
		out_print_bytes(ctl, o, "key");
		return;
	}
	printf("%s:%llu:%llu:", out_str(k, "fingerprint_hex"),
	       out_u64(k, "scheme"), out_u64(k, "tokens"));
	out_print_bytes(ctl, k, "prefix");
}

int statekey_operands(struct ctl *ctl, struct statekey_words *w, int more)
{
	int code = arg_operands(ctl, 2, 2 + more);

	if (code)
		return code;
	w->fingerprint = ctl->argv[optind];
	w->prefix = ctl->argv[optind + 1];
	return 0;
}

/* A command about keys, for the one that the operands and options name. */
static int state_keys(struct ctl *ctl, const struct keys_job *job)
{
	static const struct option longs[] = {
		STATEKEY_OPTION_SCHEME,
		STATEKEY_OPTION_TOKENS,
		{ 0 },
	};
	static const struct keys_words words = { .state = true };
	struct statekey_words w = { 0 };
	struct statekey key;
	struct keys keys;
	__u16 len;
	int code, c;

	while ((c = arg_option(ctl, "", longs)) != -1) {
		if (!statekey_word(&w, c))
			return CODE_USAGE;
		*statekey_word(&w, c) = optarg;
	}
	code = statekey_operands(ctl, &w, 0);
	if (!code)
		code = statekey_read(ctl, &w, &key);
	if (code)
		return code;
	len = (__u16)key.len;
	keys = (struct keys){ .bytes = key.key, .lens = &len, .n = 1 };
	return keys_send(ctl, job, &words, &keys);
}

int cmd_state_exists(struct ctl *ctl)
{
	return state_keys(ctl, &keys_job_facts);
}

int cmd_state_rm(struct ctl *ctl)
{
	return state_keys(ctl, &keys_job_rm);
}
