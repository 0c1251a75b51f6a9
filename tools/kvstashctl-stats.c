// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: counters out of /proc/kvstash
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvstashctl.h"

#define PROC "/proc/kvstash"

/* A number as such, anything else as text. */
static void set_value(json_t *o, const char *name, const char *value)
{
	unsigned long long v;
	json_t *text;
	char *end;

	errno = 0;
	v = strtoull(value, &end, 10);
	if (isdigit((unsigned char)*value) && !*end && !errno) {
		out_set_u64(o, name, v);
		return;
	}
	text = json_string(value);
	out_set(o, name, text ? text : json_null());
}

static void read_line(json_t *o, char *line)
{
	char *value = line + strcspn(line, " \t\n");

	if (value == line)
		return;
	if (*value)
		*value++ = '\0';
	value += strspn(value, " \t");
	value[strcspn(value, "\n")] = '\0';
	set_value(o, line, value);
}

static void stats_text(const struct ctl *ctl, const json_t *doc)
{
	json_t *stats = json_object_get(doc, "stats");
	const char *name;
	json_t *v;

	(void)ctl;
	json_object_foreach(stats, name, v) {
		if (json_is_integer(v))
			printf("%s %llu\n", name, out_u64(stats, name));
		else
			printf("%s %s\n", name, out_str(stats, name));
	}
}

static int stats_file(struct ctl *ctl, const char *path)
{
	json_t *stats, *doc;
	char *line = NULL;
	size_t room = 0;
	FILE *f;

	f = fopen(path, "re");
	if (!f)
		return out_fail(ctl, errno, NULL, "cannot open %s: %s", path,
				strerror(errno));
	stats = out_object();
	while (getline(&line, &room, f) > 0)
		read_line(stats, line);
	free(line);
	if (ferror(f)) {
		int err = errno;

		fclose(f);
		json_decref(stats);
		return out_fail(ctl, err, NULL, "cannot read %s: %s", path,
				strerror(err));
	}
	fclose(f);
	doc = out_object();
	out_set(doc, "file", json_string(path));
	out_set(doc, "stats", stats);
	return out_doc(ctl, doc, stats_text, CODE_OK);
}

int cmd_stats(struct ctl *ctl)
{
	const char *of, *name;
	char path[128];
	int code;

	code = arg_only_operands(ctl, 0, 2);
	if (code)
		return code;
	if (optind == ctl->argc)
		return stats_file(ctl, PROC "/stats");
	of = ctl->argv[optind];
	if (optind + 2 != ctl->argc || (strcmp(of, "pool") && strcmp(of, "ns")))
		return out_usage(ctl, "neither \"pool NAME\" nor \"ns NAME\": %s",
				 of);
	name = ctl->argv[optind + 1];
	/* it is one part of the path then, which can't lead elsewhere */
	code = arg_name(ctl, strcmp(of, "ns") ? "pool" : "namespace", name);
	if (code)
		return code;
	snprintf(path, sizeof(path), PROC "/%s/%s", of, name);
	return stats_file(ctl, path);
}
