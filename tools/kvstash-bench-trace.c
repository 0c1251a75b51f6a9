// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench: read a request trace, one JSON object a line */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstash-bench.h"
#include "kvstash-bench-trace.h"

/* Hash id to block number: open addressing, at most half full */
struct idmap {
	__u32 *slot;		/* block number + 1, or 0 */
	__u32 mask;
};

struct loader {
	struct trace *t;
	struct idmap map;
	const char *path;
	size_t line;
	size_t room_requests;
	size_t room_blocks;
	__u32 room_ids;
};

static __u32 *idmap_find(const struct loader *ld, __u64 id)
{
	__u32 i = (__u32)mix64(id) & ld->map.mask;

	while (ld->map.slot[i] && ld->t->id[ld->map.slot[i] - 1] != id)
		i = (i + 1) & ld->map.mask;
	return &ld->map.slot[i];
}

static void idmap_resize(struct loader *ld, __u32 slots)
{
	free(ld->map.slot);
	ld->map.slot = xalloc(slots, sizeof(*ld->map.slot));
	ld->map.mask = slots - 1;
	for (__u32 n = 0; n < ld->t->unique; n++)
		*idmap_find(ld, ld->t->id[n]) = n + 1;
}

/* Number of the block, a new one if it was never seen; checks its place. */
static __u32 block_number(struct loader *ld, __u64 id, __u32 pred)
{
	struct trace *t = ld->t;
	__u32 *slot = idmap_find(ld, id);

	if (*slot) {
		if (t->pred[*slot - 1] != pred)
			t->conflicts++;
		return *slot - 1;
	}
	if (t->unique == ld->room_ids) {
		if (ld->room_ids > UINT32_MAX / 4)
			die("%s: too many different blocks", ld->path);
		ld->room_ids *= 2;
		t->id = xgrow(t->id, ld->room_ids, sizeof(*t->id));
		t->pred = xgrow(t->pred, ld->room_ids, sizeof(*t->pred));
		idmap_resize(ld, 2 * ld->room_ids);
		slot = idmap_find(ld, id);
	}
	t->id[t->unique] = id;
	t->pred[t->unique] = pred;
	*slot = ++t->unique;
	return t->unique - 1;
}

static const char *number_wrong(const json_t *obj, const char *name)
{
	static char why[80];
	const json_t *v = json_object_get(obj, name);

	if (v && json_is_number(v) && json_number_value(v) >= 0 && json_number_value(v) < 0x1p63)
		return NULL;
	snprintf(why, sizeof(why), "%s is %s", name,
		 v ? "no number from 0 on" : "missing");
	return why;
}

static int compare_ids(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool has_double(const json_t *ids)
{
	size_t n = json_array_size(ids), i;
	__u64 *sorted = xalloc(n, sizeof(*sorted));
	bool found = false;

	for (i = 0; i < n; i++)
		sorted[i] = (__u64)json_integer_value(json_array_get(ids, i));
	qsort(sorted, n, sizeof(*sorted), compare_ids);
	for (i = 1; i < n && !found; i++)
		found = sorted[i] == sorted[i - 1];
	free(sorted);
	return found;
}

/* Why the object is no request, or NULL. Nothing is kept of one that is none. */
static const char *request_wrong(const json_t *obj)
{
	static const char * const numbers[] = {
		"timestamp", "input_length", "output_length"
	};
	const json_t *ids = json_object_get(obj, "hash_ids");
	const char *why = NULL;

	if (!json_is_object(obj))
		return "no JSON object";
	for (size_t i = 0; i < 3 && !why; i++)
		why = number_wrong(obj, numbers[i]);
	if (why)
		return why;
	if (!ids)
		return "hash_ids is missing";
	if (!json_is_array(ids))
		return "hash_ids is no array";
	if (!json_array_size(ids))
		return "hash_ids is empty";
	for (size_t i = 0; i < json_array_size(ids); i++)
		if (!json_is_integer(json_array_get(ids, i)))
			return "hash_ids holds something that is no integer";
	if (has_double(ids))
		return "hash_ids names a block twice";
	return NULL;
}

static void add_request(struct loader *ld, const json_t *obj)
{
	const json_t *ids = json_object_get(obj, "hash_ids");
	struct trace *t = ld->t;
	size_t n = json_array_size(ids), at = t->first[t->requests];
	__u32 pred = TRACE_NO_BLOCK;

	if (t->requests + 2 > ld->room_requests) {
		ld->room_requests *= 2;
		t->first = xgrow(t->first, ld->room_requests, sizeof(*t->first));
		t->tokens = xgrow(t->tokens, ld->room_requests, sizeof(*t->tokens));
		t->seen = xgrow(t->seen, ld->room_requests, sizeof(*t->seen));
	}
	if (at + n > ld->room_blocks) {
		ld->room_blocks = 2 * (at + n);
		t->blocks = xgrow(t->blocks, ld->room_blocks, sizeof(*t->blocks));
	}
	for (size_t i = 0; i < n; i++) {
		__u64 id = (__u64)json_integer_value(json_array_get(ids, i));

		pred = block_number(ld, id, pred);
		t->blocks[at + i] = pred;
	}
	t->tokens[t->requests] = (__u64)json_number_value(json_object_get(obj, "input_length"));
	t->requests++;
	t->first[t->requests] = at + n;
	t->seen[t->requests] = t->unique;
}

static void load_line(struct loader *ld, const char *line, size_t len, bool skip)
{
	json_error_t err;
	json_t *obj = json_loadb(line, len, JSON_REJECT_DUPLICATES, &err);
	const char *why;
	char text[JSON_ERROR_TEXT_LENGTH + 40];

	if (obj) {
		why = request_wrong(obj);
	} else {
		snprintf(text, sizeof(text), "column %d: %s", err.column, err.text);
		why = text;
	}
	if (!why) {
		add_request(ld, obj);
	} else {
		ld->t->broken++;
		warn("%s:%zu: %s%s", ld->path, ld->line, why, skip ? " (skipped)" : "");
		if (!skip)
			exit(EXIT_USAGE);
	}
	json_decref(obj);
}

static void loader_init(struct loader *ld, const char *path)
{
	struct trace *t = xalloc(1, sizeof(*t));

	*ld = (struct loader){
		.t = t, .path = path,
		.room_requests = 1024, .room_blocks = 16384, .room_ids = 16384,
	};
	t->first = xalloc(ld->room_requests, sizeof(*t->first));
	t->tokens = xalloc(ld->room_requests, sizeof(*t->tokens));
	t->seen = xalloc(ld->room_requests, sizeof(*t->seen));
	t->blocks = xalloc(ld->room_blocks, sizeof(*t->blocks));
	t->id = xalloc(ld->room_ids, sizeof(*t->id));
	t->pred = xalloc(ld->room_ids, sizeof(*t->pred));
	idmap_resize(ld, 2 * ld->room_ids);
}

/**
 * trace_load() - read a trace; ends the program if that cannot be done
 * @path:         the file
 * @max_requests: stop after as many, 0: read all
 * @skip_broken:  report a broken line and go on; else it is the end
 */
struct trace *trace_load(const char *path, size_t max_requests, bool skip_broken)
{
	struct loader ld;
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	if (!f)
		die("%s: %s", path, strerror(errno));
	loader_init(&ld, path);
	while (!max_requests || ld.t->requests < max_requests) {
		errno = 0;
		len = getline(&line, &room, f);
		if (len < 0)
			break;
		ld.line++;
		load_line(&ld, line, (size_t)len, skip_broken);
	}
	if (ferror(f))
		die("%s: %s", path, strerror(errno));
	fclose(f);
	free(line);
	free(ld.map.slot);
	if (!ld.t->requests)
		die("%s: no requests", path);
	if (ld.t->conflicts)
		warn("%s: %zu times a block stands behind another block than before",
		     path, ld.t->conflicts);
	return ld.t;
}

void trace_free(struct trace *t)
{
	free(t->first);
	free(t->tokens);
	free(t->seen);
	free(t->blocks);
	free(t->id);
	free(t->pred);
	free(t);
}

/* Whether broken lines are skipped */
bool parse_on_broken(const char *text)
{
	if (!strcmp(text, "skip"))
		return true;
	if (strcmp(text, "fail"))
		die("--on-broken: skip or fail, not '%s'", text);
	return false;
}
