// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: the command line
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvstashctl.h"

#define OPT_JSON	1000
#define OPT_HEX		1001

static const struct option globals[] = {
	{ "namespace", required_argument, NULL, 'n' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "hex", no_argument, NULL, OPT_HEX },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

/* How the user wrote the option that getopt_long() stopped at. */
static int wrong_option(struct ctl *ctl, int why)
{
	const char *word = ctl->argv[optind - 1];

	if (why == ':')
		return out_usage(ctl, "option %s needs an argument", word);
	if (optopt && optopt < 256)
		return out_usage(ctl, "unknown option -%c", optopt);
	return out_usage(ctl, "unknown or ambiguous option %s", word);
}

static int command_help(const struct ctl *ctl)
{
	printf("kvstashctl %s %s\n", ctl->name, ctl->help);
	exit(out_end(CODE_OK));
}

/* Ours, then the command's, then the end. */
static void merge(struct option *all, size_t room, const struct option *longs)
{
	size_t n = 0;

	for (const struct option *o = globals; o->name; o++)
		all[n++] = *o;
	for (; longs && longs->name && n < room - 1; longs++)
		all[n++] = *longs;
	memset(&all[n], 0, sizeof(all[n]));
}

int arg_option(struct ctl *ctl, const char *shorts, const struct option *longs)
{
	struct option all[24];
	char optstring[32];

	merge(all, ARRAY_SIZE(all), longs);
	/* '+' has to be first, ':' next: what is missing is no '?' */
	snprintf(optstring, sizeof(optstring), "%s:n:h%s",
		 *shorts == '+' ? "+" : "", shorts + (*shorts == '+'));
	for (;;) {
		int c = getopt_long(ctl->argc, ctl->argv, optstring, all, NULL);

		switch (c) {
		case 'n':
			ctl->ns = optarg;
			break;
		case OPT_JSON:
			ctl->json = true;
			break;
		case OPT_HEX:
			ctl->hex = true;
			break;
		case 'h':
			return ctl->name ? command_help(ctl) : 'h';
		case '?':
		case ':':
			wrong_option(ctl, c);
			return '?';
		default:
			return c;
		}
	}
}

int arg_operands(struct ctl *ctl, int least, int most)
{
	int n = ctl->argc - optind;

	if (n < least)
		return out_usage(ctl, "operand missing");
	if (n > most)
		return out_usage(ctl, "too many operands: %s",
				 ctl->argv[optind + most]);
	return 0;
}

int arg_only_operands(struct ctl *ctl, int least, int most)
{
	if (arg_option(ctl, "", NULL) != -1)
		return CODE_USAGE;
	return arg_operands(ctl, least, most);
}

/* Decimal digits at @s up to @end; false if none, others, or too large. */
static bool decimal(const char *s, const char *end, __u64 *out)
{
	__u64 v = 0;

	if (s == end)
		return false;
	for (; s < end; s++) {
		if (*s < '0' || *s > '9')
			return false;
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (__u64)(*s - '0'), &v))
			return false;
	}
	*out = v;
	return true;
}

bool arg_decimal(const char *s, __u64 *out)
{
	return decimal(s, s + strlen(s), out);
}

static bool size(const char *s, const char *end, __u64 *out)
{
	static const char units[] = "KMGT";
	const char *unit;
	int shift = 0;
	__u64 v;

	if (s < end) {
		unit = strchr(units, toupper((unsigned char)end[-1]));
		if (unit && *unit) {
			shift = 10 * (int)(unit - units + 1);
			end--;
		}
	}
	if (!decimal(s, end, &v) || v > UINT64_MAX >> shift)
		return false;
	*out = v << shift;
	return true;
}

int arg_size(struct ctl *ctl, const char *what, const char *s, __u64 *out)
{
	if (!size(s, s + strlen(s), out))
		return out_usage(ctl, "%s: not a size: %s", what, s);
	return 0;
}

int arg_number(struct ctl *ctl, const char *what, const char *s, __u64 max,
	       __u64 *out)
{
	if (!arg_decimal(s, out) || *out > max)
		return out_usage(ctl, "%s: not a number from 0 to %llu: %s",
				 what, (unsigned long long)max, s);
	return 0;
}

int arg_count(struct ctl *ctl, const char *what, const char *s, __u64 max,
	      __u64 *out)
{
	if (!arg_decimal(s, out) || !*out || *out > max)
		return out_usage(ctl, "%s: not a number from 1 to %llu: %s",
				 what, (unsigned long long)max, s);
	return 0;
}

int arg_share(struct ctl *ctl, const char *what, const char *s, __u64 *permille)
{
	const char *end = s + strlen(s), *dot = memchr(s, '.', (size_t)(end - s));
	__u64 v = 0, tenths = 0;
	bool ok;

	if (end == s || end[-1] != '%') {
		ok = decimal(s, end, &v);
	} else {
		end--;
		ok = decimal(s, dot ? dot : end, &v) && v <= 100 &&
		     (!dot || (end - dot == 2 &&
			       decimal(dot + 1, end, &tenths)));
		v = 10 * v + tenths;
	}
	if (!ok || !v || v > 1000)
		return out_usage(ctl,
				 "%s: neither 1 to 1000 thousandths nor a percentage such as 12.5%%: %s",
				 what, s);
	*permille = v;
	return 0;
}

int arg_node(struct ctl *ctl, const char *s, __s32 *out)
{
	__u64 v;
	int code;

	if (!strcmp(s, "-1")) {
		*out = -1;
		return 0;
	}
	code = arg_number(ctl, "--node", s, INT32_MAX, &v);
	if (!code)
		*out = (__s32)v;
	return code;
}

int arg_mode(struct ctl *ctl, const char *s, __u32 *out)
{
	const char *p = s;
	__u32 v = 0;

	for (; *p >= '0' && *p <= '7' && v <= 0777; p++)
		v = v * 8 + (__u32)(*p - '0');
	if (p == s || *p || v > 0777)
		return out_usage(ctl, "--mode: not an octal mode up to 777: %s",
				 s);
	*out = v;
	return 0;
}

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool arg_unhex(const char *s, unsigned char *out)
{
	size_t len = strlen(s);

	if (len % 2)
		return false;
	for (size_t i = 0; i < len; i += 2) {
		int hi = nibble(s[i]), lo = nibble(s[i + 1]);

		if (hi < 0 || lo < 0)
			return false;
		out[i / 2] = (unsigned char)(hi << 4 | lo);
	}
	return true;
}

int arg_digest(struct ctl *ctl, const char *s, unsigned char *out, size_t len)
{
	if (strlen(s) != 2 * len || !arg_unhex(s, out))
		return out_usage(ctl, "--manifest: not %zu hex digits: %s",
				 2 * len, s);
	return 0;
}

int arg_fingerprint(struct ctl *ctl, const char *s, unsigned char *out)
{
	size_t len = strlen(s);

	memset(out, 0, KVSTASH_DIGEST_LEN);
	if (!len || len > 2 * KVSTASH_DIGEST_LEN || !arg_unhex(s, out))
		return out_usage(ctl,
				 "fingerprint: not 1 to %d bytes as hex digits: %s",
				 KVSTASH_DIGEST_LEN, s);
	return 0;
}

int arg_needed(struct ctl *ctl, const char *what, const char *s)
{
	return s ? 0 : out_usage(ctl, "%s is needed", what);
}

int arg_scheme(struct ctl *ctl, const char *what, const char *s, __u32 *out)
{
	int code = arg_needed(ctl, what, s);
	__u64 v;

	if (!code)
		code = arg_number(ctl, what, s, UINT32_MAX, &v);
	if (!code)
		*out = (__u32)v;
	return code;
}

int arg_name(struct ctl *ctl, const char *what, const char *s)
{
	size_t len = strlen(s);

	for (const char *p = s; *p; p++)
		if (!isascii(*p) || (!isalnum((unsigned char)*p) && !strchr("_.-", *p)))
			len = 0;
	if (len && len < KVSTASH_NAME_MAX && *s != '.')
		return 0;
	return out_fail(ctl, EINVAL, NULL, "%s name is not 1 to %d of [A-Za-z0-9_.-] (EINVAL)",
			what, KVSTASH_NAME_MAX - 1);
}

int arg_maybe_name(struct ctl *ctl, const char *what, const char *s)
{
	return s ? arg_name(ctl, what, s) : 0;
}

int arg_part(struct ctl *ctl, const char *s, unsigned int *part,
	     unsigned int *parts)
{
	const char *slash = strchr(s, '/');
	__u64 i, n;

	if (!slash || !decimal(s, slash, &i) ||
	    !decimal(slash + 1, s + strlen(s), &n) ||
	    i > UINT16_MAX || n > UINT16_MAX)
		return out_usage(ctl, "--part: not INDEX/COUNT: %s", s);
	*part = (unsigned int)i;
	*parts = (unsigned int)n;
	return 0;
}

int arg_range(struct ctl *ctl, const char *s, struct kvstash_range *out)
{
	const char *first = strchr(s, ':');
	const char *second = first ? strchr(first + 1, ':') : NULL;
	__u64 part, offset, len;

	if (!second || !decimal(s, first, &part) || part > UINT32_MAX ||
	    !size(first + 1, second, &offset) ||
	    !size(second + 1, s + strlen(s), &len) || len > SIZE_MAX)
		return out_usage(ctl, "--range: not PART:OFFSET:LENGTH: %s", s);
	kvstash_prep_range(out, part, offset, NULL, len);
	return 0;
}

int arg_layer(struct ctl *ctl, const char *s, struct kvstash_layer *out)
{
	const char *colon = strchr(s, ':');

	if (!colon || !size(s, colon, &out->offset) ||
	    !size(colon + 1, s + strlen(s), &out->len))
		return out_usage(ctl, "--layer: not OFFSET:LENGTH: %s", s);
	return 0;
}

static bool is_chosen(const struct layer_list *list, __u64 layer)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->index[i] == layer)
			return true;
	return false;
}

static int layer_list_add(struct ctl *ctl, const char *s,
			  struct layer_list *list)
{
	__u64 layer = 0;
	int code = arg_number(ctl, "--layers", s, KVSTASH_LAYERS_MAX - 1,
			      &layer);

	if (code)
		return code;
	if (is_chosen(list, layer))
		return out_usage(ctl, "--layers: %s twice", s);
	if (list->nr == ARRAY_SIZE(list->index))
		return out_usage(ctl, "--layers: more than %zu",
				 ARRAY_SIZE(list->index));
	list->index[list->nr++] = (__u32)layer;
	return 0;
}

int arg_layer_list(struct ctl *ctl, const char *s, struct layer_list *out)
{
	char *copy = strdup(s), *rest = copy;
	int code = 0;

	if (!copy)
		out_no_memory();
	out->nr = 0;
	while (rest && !code)
		code = layer_list_add(ctl, strsep(&rest, ","), out);
	free(copy);
	return code;
}

int arg_key(struct ctl *ctl, const char *what, const char *s, size_t most,
	    unsigned char **out, size_t *len)
{
	size_t n = strlen(s);
	unsigned char *key;

	if (ctl->hex && n % 2)
		return out_usage(ctl, "%s: not hex: %s", what, s);
	if (ctl->hex)
		n /= 2;
	if (!n || n > most)
		return out_usage(ctl, "%s: %zu bytes, 1 to %zu allowed", what,
				 n, most);
	key = malloc(n + 1);
	if (!key)
		out_no_memory();
	if (!ctl->hex) {
		memcpy(key, s, n);
	} else if (!arg_unhex(s, key)) {
		free(key);
		return out_usage(ctl, "%s: not hex: %s", what, s);
	}
	*out = key;
	*len = n;
	return 0;
}

/* One of them, to where there is room for the longest; its length in @len. */
static int copy_key(struct ctl *ctl, const char *s, bool state,
		    unsigned char *to, __u16 *len)
{
	struct statekey of_state;
	unsigned char *key;
	size_t n;
	int code;

	if (state) {
		code = statekey_parse(ctl, "key", s, &of_state);
		if (code)
			return code;
		n = of_state.len;
		memcpy(to, of_state.key, n);
	} else {
		code = arg_key(ctl, "key", s, KVSTASH_KEY_MAX, &key, &n);
		if (code)
			return code;
		memcpy(to, key, n);
		free(key);
	}
	*len = (__u16)n;
	return 0;
}

int arg_keys(struct ctl *ctl, bool state, struct keys *out)
{
	size_t n = (size_t)(ctl->argc - optind), at = 0;

	out->n = n;
	out->bytes = malloc(n * KVSTASH_KEY_MAX + 1);
	out->lens = calloc(n + 1, sizeof(*out->lens));
	if (!out->bytes || !out->lens)
		out_no_memory();
	for (size_t i = 0; i < n; i++) {
		int code = copy_key(ctl, ctl->argv[optind + (int)i], state,
				    out->bytes + at, &out->lens[i]);

		if (code) {
			keys_free(out);
			return code;
		}
		at += out->lens[i];
	}
	return 0;
}

void keys_free(struct keys *k)
{
	free(k->bytes);
	free(k->lens);
}
