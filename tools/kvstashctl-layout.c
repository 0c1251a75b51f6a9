// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: layouts of states
 */
#include <stdlib.h>
#include <string.h>

#include "kvstashctl.h"

#define FIELD(name) offsetof(struct kvstash_layout, name)

/* Members of the document that are counters, as in struct kvstash_layout */
static const struct counter {
	const char *name;
	size_t at;
} counters[] = {
	{ "hits", FIELD(hits) },
	{ "misses", FIELD(misses) },
	{ "found", FIELD(found) },
	{ "not_found", FIELD(not_found) },
	{ "puts", FIELD(puts) },
	{ "evictions", FIELD(evictions) },
	{ "expired", FIELD(expired) },
	{ "removed", FIELD(removed) },
	{ "refused_no_slot", FIELD(refused_no_slot) },
	{ "refused_bytes", FIELD(refused_bytes) },
	{ "refused_misaligned", FIELD(refused_misaligned) },
	{ "refused_there", FIELD(refused_there) },
	{ "refused_other", FIELD(refused_other) },
};

static json_t *counters_json(const struct kvstash_layout *l)
{
	json_t *o = out_object();
	__u64 v;

	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		memcpy(&v, (const char *)l + counters[i].at, sizeof(v));
		out_set_u64(o, counters[i].name, v);
	}
	return o;
}

/* All but the layers */
static json_t *layout_json(const struct kvstash_layout *l)
{
	json_t *o = out_object();

	out_set_bytes(o, "fingerprint", l->fingerprint, sizeof(l->fingerprint));
	out_set_u64(o, "scheme", l->scheme);
	out_set_u64(o, "id", l->id);
	out_set(o, "tied", json_boolean(l->flags & KVSTASH_LAYOUT_TIED));
	out_set_u64(o, "alignment", l->alignment);
	out_set_u64(o, "slot_bytes", l->slot_bytes);
	out_set_u64(o, "slot_pages_bytes", l->slot_pages_bytes);
	out_set_u64(o, "slots", l->slots);
	out_set_u64(o, "used", l->used);
	out_set_u64(o, "states", l->states);
	out_set_u64(o, "nr_layers", l->nr_layers);
	out_set(o, "counters", counters_json(l));
	return o;
}

static json_t *layers_json(const struct kvstash_layer *layers, size_t n)
{
	json_t *list = json_array();

	if (!list)
		out_no_memory();
	for (size_t i = 0; i < n; i++) {
		json_t *o = out_object();

		out_set_u64(o, "offset", layers[i].offset);
		out_set_u64(o, "length", layers[i].len);
		if (json_array_append_new(list, o))
			out_no_memory();
	}
	return list;
}

/* The argument that a member of struct kvstash_layout comes from, or NULL */
static const char *argument_of(unsigned int field)
{
	switch (field) {
	case FIELD(flags):
		return "--tied";
	case FIELD(alignment):
		return "--alignment";
	case FIELD(slot_bytes):
		return "--slot-bytes";
	case FIELD(nr_layers):
	case FIELD(layers):
		return "layers";
	case FIELD(slots):
		return "--slots";
	case FIELD(pool_permille):
		return "--share";
	default:
		return NULL;
	}
}

/* Says why a call on @l failed, which argument it was, and what is there. */
static int layout_failed(struct ctl *ctl, int ret,
			 const struct kvstash_layout *l)
{
	struct kvstash_result r = {
		.res = ret, .reason = l->reason, .detail = l->detail,
	};
	char text[256], there[64] = "";
	const char *what;

	if (r.reason == KVSTASH_R_OK)
		return client_failed(ctl, ret);
	what = argument_of(l->field);
	if (!what)
		what = ctl->argv[optind];
	if (r.reason == KVSTASH_R_MISMATCH_LAYOUT && r.detail)
		snprintf(there, sizeof(there), " (%llu there)",
			 (unsigned long long)r.detail);
	kvstash_result_format(&r, text, sizeof(text));
	return out_fail(ctl, -ret, kvstash_reason_name(r.reason), "%s%s: %s",
			what, there, text);
}

/**
 * struct layout_words - what the user said of a layout
 * @layer: those given by --layer
 * @nr:    how many
 */
struct layout_words {
	const char *scheme;
	const char *slot_bytes;
	const char *alignment;
	const char *layers;
	const char *layer_bytes;
	const char *slots;
	const char *share;
	bool tied;
	struct kvstash_layer *layer;
	size_t nr;
};

#define OPTION_SCHEME	{ "scheme", required_argument, NULL, 'S' }
#define OPTION_SLOTS	{ "slots", required_argument, NULL, 's' }
#define OPTION_SHARE	{ "share", required_argument, NULL, 'p' }

/* Commands that only name a layout */
static const struct option name_longs[] = {
	OPTION_SCHEME,
	{ 0 },
};

/* Options with a word each */
static const char **layout_word(struct layout_words *w, int c)
{
	switch (c) {
	case 'S':
		return &w->scheme;
	case 'b':
		return &w->slot_bytes;
	case 'a':
		return &w->alignment;
	case 'N':
		return &w->layers;
	case 'B':
		return &w->layer_bytes;
	case 's':
		return &w->slots;
	case 'p':
		return &w->share;
	default:
		return NULL;
	}
}

static struct kvstash_layer *layers_grow(struct layout_words *w, size_t n)
{
	w->layer = reallocarray(w->layer, n, sizeof(*w->layer));
	if (!w->layer)
		out_no_memory();
	w->nr = n;
	return w->layer;
}

static int layout_add_layer(struct ctl *ctl, struct layout_words *w)
{
	if (w->nr == KVSTASH_LAYERS_MAX)
		return out_usage(ctl, "--layer: more than %d layers",
				 KVSTASH_LAYERS_MAX);
	layers_grow(w, w->nr + 1);
	return arg_layer(ctl, optarg, &w->layer[w->nr - 1]);
}

/* Options, then the one operand, and with --scheme the layout's name. */
static int layout_options(struct ctl *ctl, const struct option *table,
			  struct layout_words *w, struct kvstash_layout *l)
{
	unsigned char fingerprint[KVSTASH_DIGEST_LEN];
	int code = 0, c;
	__u32 scheme;

	while (!code && (c = arg_option(ctl, "", table)) != -1) {
		const char **word = layout_word(w, c);

		if (word)
			*word = optarg;
		else if (c == 't')
			w->tied = true;
		else if (c == 'l')
			code = layout_add_layer(ctl, w);
		else
			code = CODE_USAGE;
	}
	if (!code)
		code = arg_operands(ctl, 1, 1);
	if (!code)
		code = arg_fingerprint(ctl, ctl->argv[optind], fingerprint);
	if (!code)
		code = arg_scheme(ctl, "--scheme", w->scheme, &scheme);
	if (!code)
		kvstash_prep_layout(l, fingerprint, scheme);
	return code;
}

/* How many slots; none if nothing was said. */
static int layout_slots(struct ctl *ctl, const struct layout_words *w,
			struct kvstash_layout *l)
{
	int code = 0;
	__u64 v;

	if (w->slots && w->share)
		return out_usage(ctl, "--slots and --share");
	if (w->slots) {
		code = arg_number(ctl, "--slots", w->slots, UINT64_MAX, &v);
		if (!code)
			kvstash_prep_layout_slots(l, v);
	} else if (w->share) {
		code = arg_share(ctl, "--share", w->share, &v);
		if (!code)
			kvstash_prep_layout_share(l, v);
	}
	return code;
}

/* @n layers of the same length fill the slot. */
static void layers_even(struct layout_words *w, __u64 n, __u64 len)
{
	layers_grow(w, n);
	for (size_t i = 0; i < n; i++) {
		w->layer[i].offset = i * len;
		w->layer[i].len = len;
	}
}

static int layers_by_number(struct ctl *ctl, struct layout_words *w,
			    __u64 slot_bytes)
{
	__u64 n;
	int code = arg_count(ctl, "--layers", w->layers, KVSTASH_LAYERS_MAX,
			     &n);

	if (code)
		return code;
	if (slot_bytes % n)
		return out_usage(ctl,
				 "--layers: %llu bytes of a slot are not %llu layers of the same length",
				 (unsigned long long)slot_bytes,
				 (unsigned long long)n);
	layers_even(w, n, slot_bytes / n);
	return 0;
}

static int layers_by_length(struct ctl *ctl, struct layout_words *w,
			    __u64 slot_bytes)
{
	__u64 len;
	int code = arg_size(ctl, "--layer-bytes", w->layer_bytes, &len);

	if (code)
		return code;
	if (!len || slot_bytes % len || slot_bytes / len > KVSTASH_LAYERS_MAX)
		return out_usage(ctl,
				 "--layer-bytes: %llu bytes of a slot are not 1 to %d layers of %llu",
				 (unsigned long long)slot_bytes,
				 KVSTASH_LAYERS_MAX, (unsigned long long)len);
	layers_even(w, slot_bytes / len, len);
	return 0;
}

static int layout_layers(struct ctl *ctl, struct layout_words *w,
			 __u64 slot_bytes)
{
	int given = !!w->layers + !!w->layer_bytes + !!w->nr;

	if (!given)
		return out_usage(ctl,
				 "one of --layers, --layer-bytes and --layer is needed");
	if (given > 1)
		return out_usage(ctl,
				 "only one of --layers, --layer-bytes and --layer may be given");
	if (w->layers)
		return layers_by_number(ctl, w, slot_bytes);
	if (w->layer_bytes)
		return layers_by_length(ctl, w, slot_bytes);
	return 0;
}

static int layout_slot_bytes(struct ctl *ctl, const char *s, __u64 *out)
{
	int code = arg_needed(ctl, "--slot-bytes", s);

	if (!code)
		code = arg_size(ctl, "--slot-bytes", s, out);
	if (!code && (!*out || *out > KVSTASH_PART_BYTES_MAX))
		code = out_usage(ctl, "--slot-bytes: not 1 to %llu: %s",
				 (unsigned long long)KVSTASH_PART_BYTES_MAX, s);
	return code;
}

static int layout_describe(struct ctl *ctl, struct layout_words *w,
			   struct kvstash_layout *l)
{
	__u64 slot_bytes, alignment;
	int code;

	code = layout_slot_bytes(ctl, w->slot_bytes, &slot_bytes);
	if (!code)
		code = arg_needed(ctl, "--alignment", w->alignment);
	if (!code)
		code = arg_count(ctl, "--alignment", w->alignment,
				 KVSTASH_ALIGNMENT_MAX, &alignment);
	if (!code)
		code = layout_layers(ctl, w, slot_bytes);
	if (code)
		return code;
	kvstash_prep_layout_desc(l, alignment, slot_bytes, w->layer, w->nr);
	if (w->tied)
		kvstash_prep_layout_tied(l);
	return layout_slots(ctl, w, l);
}

static void say_name(const json_t *o)
{
	printf("%s:%llu", out_str(o, "fingerprint_hex"), out_u64(o, "scheme"));
}

static void slots_text(const struct ctl *ctl, const json_t *o)
{
	(void)ctl;
	say_name(o);
	printf(": %llu slots of %llu bytes, %llu of the pool each\n",
	       out_u64(o, "slots"), out_u64(o, "slot_bytes"),
	       out_u64(o, "slot_pages_bytes"));
}

/* Sends it and says what there is then; a share may come to nothing. */
static int layout_send(struct ctl *ctl, struct kvstash_layout *l, bool share,
		       int (*call)(struct kvstash *c, struct kvstash_layout *l))
{
	struct kvstash *c = client_open(ctl);
	int ret;

	if (!c)
		return CODE_FAILED;
	ret = call(c, l);
	if (ret)
		return layout_failed(ctl, ret, l);
	if (share && !l->slots)
		out_note(ctl, "no slots were carved");
	return out_doc(ctl, layout_json(l), slots_text, CODE_OK);
}

int cmd_layout_add(struct ctl *ctl)
{
	static const struct option longs[] = {
		OPTION_SCHEME,
		OPTION_SLOTS,
		OPTION_SHARE,
		{ "slot-bytes", required_argument, NULL, 'b' },
		{ "alignment", required_argument, NULL, 'a' },
		{ "layers", required_argument, NULL, 'N' },
		{ "layer-bytes", required_argument, NULL, 'B' },
		{ "layer", required_argument, NULL, 'l' },
		{ "tied", no_argument, NULL, 't' },
		{ 0 },
	};
	struct layout_words words = { 0 };
	struct kvstash_layout l;
	int code;

	code = layout_options(ctl, longs, &words, &l);
	if (!code)
		code = layout_describe(ctl, &words, &l);
	if (!code)
		code = layout_send(ctl, &l, words.share, kvstash_layout_add);
	free(words.layer);
	return code;
}

int cmd_layout_set(struct ctl *ctl)
{
	static const struct option longs[] = {
		OPTION_SCHEME,
		OPTION_SLOTS,
		OPTION_SHARE,
		{ 0 },
	};
	struct layout_words words = { 0 };
	struct kvstash_layout l;
	int code;

	code = layout_options(ctl, longs, &words, &l);
	if (!code && !words.slots && !words.share)
		code = out_usage(ctl, "one of --slots and --share is needed");
	if (!code)
		code = layout_slots(ctl, &words, &l);
	if (code)
		return code;
	return layout_send(ctl, &l, words.share, kvstash_layout_set);
}

static void show_text(const struct ctl *ctl, const json_t *o)
{
	json_t *sums = json_object_get(o, "counters"), *layer;
	size_t i;

	(void)ctl;
	say_name(o);
	printf("\n  slots      %llu, %llu used\n", out_u64(o, "slots"),
	       out_u64(o, "used"));
	printf("  slot       %llu bytes, %llu of the pool\n",
	       out_u64(o, "slot_bytes"), out_u64(o, "slot_pages_bytes"));
	printf("  alignment  %llu tokens\n", out_u64(o, "alignment"));
	printf("  tied       %s\n",
	       json_is_true(json_object_get(o, "tied")) ? "yes" : "no");
	printf("  states     %llu\n", out_u64(o, "states"));
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		printf("  %-18s %llu\n", counters[i].name,
		       out_u64(sums, counters[i].name));
	printf("  LAYER         OFFSET         LENGTH\n");
	json_array_foreach(json_object_get(o, "layers"), i, layer)
		printf("  %5zu %14llu %14llu\n", i, out_u64(layer, "offset"),
		       out_u64(layer, "length"));
}

int layout_load(struct ctl *ctl, struct kvstash *c, struct kvstash_layout *l,
		struct kvstash_layer **layers)
{
	int ret;

	*layers = calloc(KVSTASH_LAYERS_MAX, sizeof(**layers));
	if (!*layers)
		out_no_memory();
	ret = kvstash_layout_get(c, l, *layers, KVSTASH_LAYERS_MAX);
	return ret ? layout_failed(ctl, ret, l) : 0;
}

int cmd_layout_show(struct ctl *ctl)
{
	struct kvstash_layer *layers = NULL;
	struct layout_words words = { 0 };
	struct kvstash_layout l;
	struct kvstash *c;
	json_t *doc;
	int code;

	code = layout_options(ctl, name_longs, &words, &l);
	if (code)
		return code;
	c = client_open(ctl);
	if (!c)
		return CODE_FAILED;
	code = layout_load(ctl, c, &l, &layers);
	if (!code) {
		doc = layout_json(&l);
		out_set(doc, "layers", layers_json(layers, l.nr_layers));
		code = out_doc(ctl, doc, show_text, CODE_OK);
	}
	free(layers);
	return code;
}

static void drop_text(const struct ctl *ctl, const json_t *o)
{
	(void)ctl;
	say_name(o);
	printf(": dropped\n");
}

int cmd_layout_drop(struct ctl *ctl)
{
	struct layout_words words = { 0 };
	struct kvstash_layout l;
	struct kvstash *c;
	json_t *doc;
	int code, ret;

	code = layout_options(ctl, name_longs, &words, &l);
	if (code)
		return code;
	c = client_open(ctl);
	if (!c)
		return CODE_FAILED;
	ret = kvstash_layout_del(c, &l);
	if (ret)
		return layout_failed(ctl, ret, &l);
	doc = out_object();
	out_set_bytes(doc, "fingerprint", l.fingerprint, sizeof(l.fingerprint));
	out_set_u64(doc, "scheme", l.scheme);
	out_set(doc, "dropped", json_true());
	return out_doc(ctl, doc, drop_text, CODE_OK);
}

#define LS_TITLE \
	"NS              ALIGNMENT     SLOT BYTES LAYERS      SLOTS" \
	"       USED TIED FINGERPRINT:SCHEME"

static void ls_row(const struct ctl *ctl, const json_t *o)
{
	(void)ctl;
	printf("%-14s %10llu %14llu %6llu %10llu %10llu %-4s ",
	       out_str(o, "ns"), out_u64(o, "alignment"),
	       out_u64(o, "slot_bytes"), out_u64(o, "nr_layers"),
	       out_u64(o, "slots"), out_u64(o, "used"),
	       json_is_true(json_object_get(o, "tied")) ? "yes" : "no");
	say_name(o);
	putchar('\n');
}

/* Another version of the module may say more, or less, of a layout. */
static void say_layout(struct ctl *ctl, struct nlattr **tb)
{
	struct nlattr *a = tb[KVSTASH_A_LAYOUT_DESC];
	struct kvstash_layout l = { 0 };
	json_t *o;

	if (a)
		nla_memcpy(&l, a, sizeof(l));
	o = layout_json(&l);
	netlink_set_str(o, "ns", tb[KVSTASH_A_LAYOUT_NS]);
	out_item(ctl, o, ls_row);
}

int cmd_layout_ls(struct ctl *ctl)
{
	static const struct option longs[] = {
		{ "ns", required_argument, NULL, 'n' },
		{ 0 },
	};
	static const struct nla_policy policy[KVSTASH_A_LAYOUT_MAX + 1] = {
		[KVSTASH_A_LAYOUT_NS] = { .type = NLA_STRING },
	};
	static const struct netlink_request req = {
		.cmd = KVSTASH_CMD_LAYOUT_GET, .dump = true,
		.max = KVSTASH_A_LAYOUT_MAX, .policy = policy,
		.reply = say_layout,
	};
	struct nl_msg *msg;
	int code;

	if (arg_option(ctl, "", longs) != -1)
		return CODE_USAGE;
	code = arg_operands(ctl, 0, 0);
	if (!code)
		code = arg_maybe_name(ctl, "namespace", ctl->ns);
	if (code)
		return code;
	msg = netlink_message(&req);
	if (ctl->ns)
		netlink_put_str(msg, KVSTASH_A_LAYOUT_NS, ctl->ns);
	out_list(ctl, "layouts", LS_TITLE);
	code = netlink_do(ctl, &req, msg);
	return out_list_end(ctl, netlink_list_of(ctl, ctl->ns, NULL, code));
}
