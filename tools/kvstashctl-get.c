// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: get of one object, or state
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvstashctl.h"

/**
 * struct get_job - a get
 * @words:  the key of a state, as the user said it
 * @layers: layers of it; none: all
 * @state:  the key of a state
 * @memory: that of another object, for free()
 * @kind:   KVSTASH_KIND_*
 * @what:   the key in messages
 * @key:    the key
 * @len:    its length
 * @ranges: what of it, in the order asked for
 * @nr:     how many ranges; 0: all
 * @file:   where the bytes go
 * @data:   the bytes
 * @size:   length of the whole object
 */
struct get_job {
	struct statekey_words words;
	struct layer_list layers;
	struct statekey state;
	unsigned char *memory;
	__u8 kind;
	const char *what;
	const unsigned char *key;
	size_t len;
	struct kvstash_range *ranges;
	size_t nr;
	const char *file;
	struct bytes data;
	__u64 size;
};

static int get_add_range(struct ctl *ctl, struct get_job *job)
{
	struct kvstash_range *more;

	if (job->nr == KVSTASH_SEGS_MAX)
		return out_usage(ctl, "more than %d ranges", KVSTASH_SEGS_MAX);
	more = reallocarray(job->ranges, job->nr + 1, sizeof(*more));
	if (!more)
		out_no_memory();
	job->ranges = more;
	return arg_range(ctl, optarg, &job->ranges[job->nr++]);
}

static int get_option(struct ctl *ctl, struct get_job *job, int c)
{
	const char **word = statekey_word(&job->words, c);

	if (word)
		*word = optarg;
	else if (c == 'o')
		job->file = optarg;
	else if (c == 'l')
		return arg_layer_list(ctl, optarg, &job->layers);
	else if (c == 'r')
		return get_add_range(ctl, job);
	else
		return CODE_USAGE;
	return 0;
}

static int get_options(struct ctl *ctl, const struct option *longs,
		       struct get_job *job)
{
	int code = 0, c;

	job->file = "-";
	while (!code && (c = arg_option(ctl, "o:", longs)) != -1)
		code = get_option(ctl, job, c);
	if (!code)
		code = job->kind == KVSTASH_KIND_STATE ?
			statekey_operands(ctl, &job->words, 0) :
			arg_operands(ctl, 1, 1);
	if (!code && ctl->json && !strcmp(job->file, "-"))
		code = out_usage(ctl,
				 "with --json the bytes need a file: -o FILE");
	return code;
}

static int get_key(struct ctl *ctl, struct get_job *job)
{
	int code;

	if (job->kind == KVSTASH_KIND_STATE) {
		code = statekey_read(ctl, &job->words, &job->state);
		job->key = job->state.key;
		job->len = job->state.len;
		job->what = job->state.text;
		return code;
	}
	code = arg_key(ctl, "key", ctl->argv[optind], KVSTASH_KEY_MAX,
		       &job->memory, &job->len);
	job->key = job->memory;
	job->what = ctl->argv[optind];
	return code;
}

static int get_failed(struct ctl *ctl, const struct get_job *job, int ret,
		      const struct kvstash_result *r)
{
	if (ret)
		return client_failed(ctl, ret);
	return client_refused(ctl, job->what, r);
}

/* What there is, and how large it is */
static int get_facts(struct ctl *ctl, struct kvstash *c, const struct get_job *job,
		     struct kvstash_exists *facts)
{
	struct kvstash_keys k;
	int ret;

	kvstash_prep_keys(&k, job->key, job->len, 1);
	k.kind = job->kind;
	ret = kvstash_exists_all(c, &k, facts, NULL);
	return ret || facts->r.res ? get_failed(ctl, job, ret, &facts->r) : 0;
}

/* The size is asked first; if it is another one then, it is asked again. */
static int get_whole(struct ctl *ctl, struct kvstash *c, struct get_job *job)
{
	struct kvstash_exists facts;
	struct kvstash_get e;
	int code, ret;

	for (int tries = 0; ; tries++) {
		code = get_facts(ctl, c, job, &facts);
		if (!code)
			code = bytes_alloc(ctl, &job->data, facts.object_size);
		if (code)
			return code;
		kvstash_prep_get(&e, job->key, job->len, job->data.p,
				 job->data.len);
		e.kind = job->kind;
		ret = kvstash_get_all(c, &e, 1, NULL);
		if (!ret && !e.r.res)
			break;
		if (ret || e.r.reason != KVSTASH_R_BUFFER_SMALL || tries > 8)
			return get_failed(ctl, job, ret, &e.r);
		bytes_free(&job->data);
	}
	job->data.len = e.bytes;
	job->size = e.object_size;
	return 0;
}

/*
 * What is longer than the object is past the end of the part. One byte more than the
 * object has is, too, is refused as exactly, and needs memory that there is.
 */
static void ranges_clip(struct kvstash_range *to, const struct get_job *job, __u64 size)
{
	for (size_t i = 0; i < job->nr; i++) {
		to[i] = job->ranges[i];
		if (to[i].len > size)
			to[i].len = size + 1;
	}
}

/* Memory for all ranges, one after the other */
static int ranges_alloc(struct ctl *ctl, struct get_job *job, struct kvstash_range *ranges)
{
	__u64 sum = 0;
	int code;

	for (size_t i = 0; i < job->nr; i++)
		if (__builtin_add_overflow(sum, ranges[i].len, &sum))
			return out_usage(ctl, "ranges are too long together");
	code = bytes_alloc(ctl, &job->data, sum);
	if (code)
		return code;
	sum = 0;
	for (size_t i = 0; i < job->nr; i++) {
		ranges[i].addr = kvstash_addr((char *)job->data.p + sum);
		sum += ranges[i].len;
	}
	return 0;
}

/* If it is an object of another size then, its size is asked again. */
static int get_ranges(struct ctl *ctl, struct kvstash *c, struct get_job *job)
{
	struct kvstash_range *ranges = calloc(job->nr, sizeof(*ranges));
	struct kvstash_exists facts;
	struct kvstash_get e;
	int code, ret;

	if (!ranges)
		out_no_memory();
	do {
		bytes_free(&job->data);
		code = get_facts(ctl, c, job, &facts);
		if (code)
			break;
		ranges_clip(ranges, job, facts.object_size);
		code = ranges_alloc(ctl, job, ranges);
		if (code)
			break;
		kvstash_prep_get_ranges(&e, job->key, job->len, ranges, job->nr);
		e.kind = job->kind;
		ret = kvstash_get_all(c, &e, 1, NULL);
		if (ret || e.r.res)
			code = get_failed(ctl, job, ret, &e.r);
		job->data.len = e.bytes;
		job->size = e.object_size;
	} while (!code && job->size != facts.object_size);
	free(ranges);
	return code;
}

/* The ranges that the chosen layers are in, of the layout's @layers. */
static int layers_to_ranges(struct ctl *ctl, struct get_job *job,
			    const struct kvstash_layer *layers, __u32 nr_layers)
{
	const struct layer_list *chosen = &job->layers;
	void **nowhere = calloc(chosen->nr, sizeof(*nowhere));

	job->ranges = calloc(chosen->nr, sizeof(*job->ranges));
	if (!nowhere || !job->ranges)
		out_no_memory();
	for (size_t i = 0; i < chosen->nr; i++) {
		if (chosen->index[i] < nr_layers)
			continue;
		free(nowhere);
		return out_fail(ctl, ERANGE, NULL,
				"--layers: no layer %u, the layout has %u (ERANGE)",
				chosen->index[i], nr_layers);
	}
	job->nr = chosen->nr;
	kvstash_layer_ranges(layers, nr_layers, chosen->index, chosen->nr,
			     nowhere, job->ranges);
	free(nowhere);
	return 0;
}

static int get_layers(struct ctl *ctl, struct kvstash *c, struct get_job *job)
{
	struct kvstash_layer *layers = NULL;
	struct kvstash_layout l;
	int code;

	statekey_layout(job->key, &l);
	code = layout_load(ctl, c, &l, &layers);
	if (!code)
		code = layers_to_ranges(ctl, job, layers, l.nr_layers);
	free(layers);
	return code ? code : get_ranges(ctl, c, job);
}

static void get_text(const struct ctl *ctl, const json_t *o)
{
	statekey_print(ctl, o);
	printf(": %llu of %llu bytes to %s\n", out_u64(o, "bytes"),
	       out_u64(o, "object_size"), out_str(o, "file"));
}

static int get_said(struct ctl *ctl, const struct get_job *job)
{
	json_t *doc, *file;

	if (!strcmp(job->file, "-"))
		return CODE_OK;	/* the bytes are all that is said */
	doc = out_object();
	file = json_string(job->file);
	out_set_bytes(doc, "key", job->key, job->len);
	if (job->kind == KVSTASH_KIND_STATE)
		statekey_set(doc, job->key, job->len);
	out_set_u64(doc, "bytes", job->data.len);
	out_set_u64(doc, "object_size", job->size);
	out_set(doc, "file", file ? file : json_null());
	return out_doc(ctl, doc, get_text, CODE_OK);
}

static int get_send(struct ctl *ctl, struct get_job *job)
{
	struct kvstash *c = client_open(ctl);
	int code;

	if (!c)
		return CODE_FAILED;
	if (job->layers.nr)
		code = get_layers(ctl, c, job);
	else if (job->nr)
		code = get_ranges(ctl, c, job);
	else
		code = get_whole(ctl, c, job);
	if (!code)
		code = file_store(ctl, job->file, &job->data);
	return code ? code : get_said(ctl, job);
}

static int get_run(struct ctl *ctl, const struct option *longs, __u8 kind)
{
	struct get_job job = { .kind = kind };
	int code;

	code = get_options(ctl, longs, &job);
	if (!code)
		code = get_key(ctl, &job);
	if (!code)
		code = get_send(ctl, &job);
	free(job.memory);
	free(job.ranges);
	bytes_free(&job.data);
	return code;
}

int cmd_get(struct ctl *ctl)
{
	static const struct option longs[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "range", required_argument, NULL, 'r' },
		{ 0 },
	};

	return get_run(ctl, longs, KVSTASH_KIND_PAGE);
}

int cmd_state_get(struct ctl *ctl)
{
	static const struct option longs[] = {
		STATEKEY_OPTION_SCHEME,
		STATEKEY_OPTION_TOKENS,
		{ "output", required_argument, NULL, 'o' },
		{ "layers", required_argument, NULL, 'l' },
		{ 0 },
	};

	return get_run(ctl, longs, KVSTASH_KIND_STATE);
}
