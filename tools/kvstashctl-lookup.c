// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: how far a chain goes, and which states there are
 */
#include <stdlib.h>

#include "kvstashctl.h"

/**
 * struct lookup_job - what is asked
 * @words:  of the keys
 * @keys:   the keys
 * @asked:  states, as the user wrote them
 * @nr:     how many
 * @states: their keys
 * @cands:  the same for the call
 */
struct lookup_job {
	struct keys_words words;
	struct keys keys;
	const char **asked;
	size_t nr;
	struct statekey *states;
	struct kvstash_candidate *cands;
};

static void lookup_add_state(struct lookup_job *job)
{
	job->asked = reallocarray(job->asked, job->nr + 1,
				  sizeof(*job->asked));
	if (!job->asked)
		out_no_memory();
	job->asked[job->nr++] = optarg;
}

static int lookup_options(struct ctl *ctl, struct lookup_job *job)
{
	static const struct option longs[] = {
		KEYS_OPTION_GROUP,
		KEYS_OPTION_STATE,
		{ "state", required_argument, NULL, 'c' },
		{ 0 },
	};
	int c;

	while ((c = arg_option(ctl, "", longs)) != -1) {
		if (c == 'c')
			lookup_add_state(job);
		else if (!keys_word(&job->words, c))
			return CODE_USAGE;
	}
	return keys_words_check(ctl, &job->words);
}

static int lookup_states(struct ctl *ctl, struct lookup_job *job)
{
	int code = 0;

	job->states = calloc(job->nr + 1, sizeof(*job->states));
	job->cands = calloc(job->nr + 1, sizeof(*job->cands));
	if (!job->states || !job->cands)
		out_no_memory();
	for (size_t i = 0; i < job->nr && !code; i++) {
		struct statekey *key = &job->states[i];

		code = statekey_parse(ctl, "--state", job->asked[i], key);
		if (!code)
			kvstash_prep_candidate(&job->cands[i], key->key,
					       key->len);
	}
	return code;
}

static void state_text(const struct ctl *ctl, const json_t *o)
{
	const json_t *error = json_object_get(o, "error");

	statekey_print(ctl, o);
	if (error)
		printf(": %s\n", json_string_value(error));
	else
		printf(": visible, %llu bytes\n", out_u64(o, "bytes"));
}

static void run_text(const json_t *o)
{
	printf("run of %llu keys of %llu, %llu bytes", out_u64(o, "run"),
	       out_u64(o, "count"), out_u64(o, "bytes"));
	if (out_u64(o, "run") < out_u64(o, "count"))
		printf("; ends: %s (%s)", out_str(o, "text"),
		       out_str(o, "reason"));
	putchar('\n');
}

static void lookup_text(const struct ctl *ctl, const json_t *o)
{
	json_t *state;
	size_t i;

	if (out_u64(o, "count"))
		run_text(o);
	json_array_foreach(json_object_get(o, "states"), i, state)
		state_text(ctl, state);
}

/* Adds the states and their answers; the worst code of all. */
static int lookup_set_states(json_t *doc, const struct lookup_job *job)
{
	json_t *list = json_array();
	int code = CODE_OK;

	if (!list)
		out_no_memory();
	for (size_t i = 0; i < job->nr; i++) {
		const struct kvstash_candidate *s = &job->cands[i];
		json_t *o = out_object();

		out_set_bytes(o, "key", job->states[i].key, job->states[i].len);
		statekey_set(o, job->states[i].key, job->states[i].len);
		out_set_u64(o, "bytes", s->bytes);
		out_set_result(o, &s->r);
		if (json_array_append_new(list, o))
			out_no_memory();
		code = client_worse(code, client_code(&s->r));
	}
	out_set(doc, "states", list);
	return code;
}

static int lookup_send(struct ctl *ctl, struct lookup_job *job)
{
	struct kvstash *c = client_open(ctl);
	struct kvstash_keys k;
	json_t *doc;
	int ret, code;

	if (!c)
		return CODE_FAILED;
	kvstash_prep_keys_var(&k, job->keys.bytes, job->keys.lens,
			      job->keys.n);
	keys_words_prep(&k, &job->words);
	if (job->nr)
		kvstash_prep_keys_candidates(&k, job->cands, job->nr);
	ret = kvstash_lookup_all(c, &k, NULL);
	if (ret)
		return client_failed(ctl, ret);
	doc = out_object();
	out_set_u64(doc, "count", k.count);
	out_set_u64(doc, "run", k.run);
	out_set_u64(doc, "bytes", k.bytes);
	out_set(doc, "reason", json_string(kvstash_reason_name(k.reason)));
	out_set(doc, "text", json_string(kvstash_reason_text(k.reason)));
	code = lookup_set_states(doc, job);
	code = client_worse(code, client_reason_code(k.reason));
	return out_doc(ctl, doc, lookup_text, code);
}

int cmd_lookup(struct ctl *ctl)
{
	struct lookup_job job = { 0 };
	int code;

	code = lookup_options(ctl, &job);
	if (!code)
		code = arg_operands(ctl, job.nr ? 0 : 1, INT32_MAX);
	if (!code)
		code = lookup_states(ctl, &job);
	if (!code)
		code = arg_keys(ctl, job.words.state, &job.keys);
	if (!code) {
		code = lookup_send(ctl, &job);
		keys_free(&job.keys);
	}
	free(job.asked);
	free(job.states);
	free(job.cands);
	return code;
}
