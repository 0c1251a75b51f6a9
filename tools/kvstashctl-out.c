// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: what the user sees, in text or as one JSON document
 *
 * Commands make JSON values only; the text is said from them, so that both
 * know the same. A list is written item by item: an error on the way becomes a
 * member beside it, and the document stays one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "kvstashctl.h"
#include "tool-output.h"

void out_no_memory(void)
{
	fprintf(stderr, "kvstashctl: out of memory\n");
	exit(CODE_FAILED);
}

json_t *out_object(void)
{
	json_t *o = json_object();

	if (!o)
		out_no_memory();
	return o;
}

void out_set(json_t *o, const char *name, json_t *value)
{
	if (json_object_set_new(o, name, value))
		out_no_memory();
}

/* JSON's integers end at 63 bits here; what is larger stays exact as text. */
void out_set_u64(json_t *o, const char *name, __u64 v)
{
	char s[24];

	if (v <= INT64_MAX) {
		out_set(o, name, json_integer((json_int_t)v));
		return;
	}
	snprintf(s, sizeof(s), "%llu", (unsigned long long)v);
	out_set(o, name, json_string(s));
}

static char *to_hex(const unsigned char *p, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	char *hex = malloc(2 * len + 1);

	if (!hex)
		out_no_memory();
	for (size_t i = 0; i < len; i++) {
		hex[2 * i] = digits[p[i] >> 4];
		hex[2 * i + 1] = digits[p[i] & 15];
	}
	hex[2 * len] = '\0';
	return hex;
}

void out_set_bytes(json_t *o, const char *name, const void *p, size_t len)
{
	json_t *text = p ? json_stringn(p, len) : NULL;
	char name_hex[32];
	char *hex;

	snprintf(name_hex, sizeof(name_hex), "%s_hex", name);
	out_set(o, name, text ? text : json_null());
	if (!p) {
		out_set(o, name_hex, json_null());
		return;
	}
	hex = to_hex(p, len);
	out_set(o, name_hex, json_string(hex));
	free(hex);
}

static json_t *errno_json(int err)
{
	const char *name = err ? strerrorname_np(err) : NULL;

	if (!err)
		return json_null();
	return name ? json_string(name) : json_integer(err);
}

void out_set_result(json_t *o, const struct kvstash_result *r)
{
	char text[256];

	out_set(o, "reason", json_string(kvstash_reason_name(r->reason)));
	if (!r->res)
		return;
	out_set(o, "errno", errno_json(-r->res));
	out_set_u64(o, "detail", r->detail);
	kvstash_result_format(r, text, sizeof(text));
	out_set(o, "error", json_string(text));
}

const char *out_str(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));

	return s ? s : "-";
}

unsigned long long out_u64(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	if (json_is_string(v))
		return strtoull(json_string_value(v), NULL, 10);
	return (unsigned long long)json_integer_value(v);
}

static unsigned int hex_byte(const char *s)
{
	char pair[3] = { s[0], s[1], '\0' };

	return (unsigned int)strtoul(pair, NULL, 16);
}

/*
 * Letters as they are, all else as \xNN, so that two keys never look the same
 * and none breaks a line or a column.
 */
void out_print_bytes(const struct ctl *ctl, const json_t *o, const char *name)
{
	char name_hex[32];
	const char *hex;

	snprintf(name_hex, sizeof(name_hex), "%s_hex", name);
	hex = out_str(o, name_hex);
	if (ctl->hex || !strcmp(hex, "-")) {
		printf("%s", hex);
		return;
	}
	for (; hex[0]; hex += 2) {
		unsigned int c = hex_byte(hex);

		if (c > ' ' && c < 0x7f && c != '\\')
			putchar((int)c);
		else
			printf("\\x%02x", c);
	}
}

void out_list(struct ctl *ctl, const char *name, const char *title)
{
	ctl->list = name;
	ctl->title = title;
	ctl->items = 0;
	if (ctl->json)
		printf("{\"%s\": [", name);
}

/* Not before it is known that there is a list at all. */
static void say_title(struct ctl *ctl)
{
	if (ctl->title)
		printf("%s\n", ctl->title);
	ctl->title = NULL;
}

static void dump(const json_t *v)
{
	/* of output that failed out_end() tells */
	if (json_dumpf(v, stdout, JSON_COMPACT | JSON_ENCODE_ANY) && !ferror(stdout))
		out_no_memory();
}

void out_item(struct ctl *ctl, json_t *item, out_text text)
{
	if (ctl->json) {
		printf(ctl->items ? ",\n" : "\n");
		dump(item);
	} else {
		say_title(ctl);
		text(ctl, item);
	}
	ctl->items++;
	json_decref(item);
}

int out_end(int code)
{
	return output_end("kvstashctl") ? code : CODE_FAILED;
}

int out_list_end(struct ctl *ctl, int code)
{
	if (!ctl->json && !ctl->failed)
		say_title(ctl);
	else if (!ctl->failed)
		printf("\n]}\n");
	ctl->list = NULL;
	return out_end(code);
}

int out_doc(struct ctl *ctl, json_t *doc, out_text text, int code)
{
	if (ctl->json) {
		dump(doc);
		putchar('\n');
	} else {
		text(ctl, doc);
	}
	json_decref(doc);
	return out_end(code);
}

/* Operands that a message repeats may be in any encoding: \xNN then. */
static json_t *text_json(const char *text)
{
	json_t *v = json_string(text);
	char *escaped, *p;

	if (v)
		return v;
	escaped = malloc(4 * strlen(text) + 1);
	if (!escaped)
		out_no_memory();
	for (p = escaped; *text; text++) {
		if (*text & 0x80)
			p += sprintf(p, "\\x%02x", (unsigned char)*text);
		else
			*p++ = *text;
	}
	*p = '\0';
	v = json_string(escaped);
	free(escaped);
	return v;
}

/* The members of an error, without the braces. */
static void json_error(int err, const char *reason, const char *text)
{
	json_t *members[] = {
		text_json(text), errno_json(err),
		reason ? json_string(reason) : json_null(),
	};
	static const char *const names[] = { "error", "errno", "reason" };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		printf("%s\"%s\": ", i ? ", " : "", names[i]);
		dump(members[i]);
		json_decref(members[i]);
	}
}

static void say_error(struct ctl *ctl, int err, const char *reason,
		      const char *text)
{
	if (!ctl->json) {
		fflush(stdout);
		fprintf(stderr, "kvstashctl: %s%s%s\n",
			ctl->name ? ctl->name : "", ctl->name ? ": " : "",
			text);
		return;
	}
	if (ctl->failed)
		return;
	printf(ctl->list ? "\n], " : "{");
	json_error(err, reason, text);
	printf("}\n");
}

int out_fail(struct ctl *ctl, int err, const char *reason, const char *fmt,
	     ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say_error(ctl, err, reason, text);
	ctl->failed = true;
	out_end(0);
	return CODE_FAILED;
}

void out_note(struct ctl *ctl, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "kvstashctl: %s: note: ", ctl->name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* The option may stand behind the one that is wrong. */
static bool wants_json(const struct ctl *ctl)
{
	for (int i = 0; i < ctl->argc && strcmp(ctl->argv[i], "--"); i++)
		if (!strcmp(ctl->argv[i], "--json"))
			return true;
	return ctl->json;
}

int out_usage(struct ctl *ctl, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ctl->json = wants_json(ctl);
	say_error(ctl, 0, "usage", text);
	if (!ctl->json)
		fprintf(stderr, "Try: kvstashctl %s%s--help\n",
			ctl->name ? ctl->name : "", ctl->name ? " " : "");
	ctl->failed = true;
	out_end(0);
	return CODE_USAGE;
}
