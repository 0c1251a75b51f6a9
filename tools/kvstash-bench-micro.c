// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench micro: options, the groups of rows, the results */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstash-bench.h"
#include "kvstash-bench-micro.h"

#define GROUP_ROWS	10

static const struct group {
	void (*run)(struct micro *m, size_t arg);
	size_t arg;
	const char *ids[GROUP_ROWS];	/* and a NULL */
} groups[] = {
	{ micro_empty, 0, { "empty.query", "empty.nop" } },
	{ micro_copy, 114688, { "put.114688", "get.114688", "put1.114688", "get1.114688",
				"put.memcpy", "get.memcpy" } },
	{ micro_copy, 1415040, { "put.1415040", "get.1415040", "put1.1415040",
				 "get1.1415040" } },
	{ micro_copy_states, 1415040, { "state.put.1415040", "state.get.1415040",
					"state.put1.1415040", "state.get1.1415040" } },
	{ micro_copy, 4096, { "put.4096", "get.4096", "put1.4096", "get1.4096" } },
	{ micro_one_vs_four, 0, { "one_vs_four", "one_vs_four.put", "one_vs_four.get" } },
	{ micro_reserve, 4096, { "reserve_commit", "reserve_write_commit" } },
	{ micro_reserve, 114688, { "reserve_commit.114688" } },
	{ micro_reserve, 3145728, { "reserve_commit.3145728", "reserve_abort.3145728" } },
	{ micro_million, 0, { "bytes_per_object", "bytes_per_object.available", "exists.128",
			      "lookup.1024", "lookup.1024.chain", "scale.exists", "scale.get",
			      "exists.evict", "exists.evict.p50" } },
	{ micro_slot_waste, 1415040, { "slot_waste" } },
	{ micro_pool_usable, 0, { "pool_usable" } },
	{ micro_death, 0, { "death_to_free" } },
};

#define NR_GROUPS	(sizeof(groups) / sizeof(*groups))

/* Whether @id is an item of @list */
static bool in_list(const char *list, const char *id)
{
	size_t len = strlen(id);

	while (list) {
		size_t n = strcspn(list, ",");

		if (n == len && !strncmp(list, id, len))
			return true;
		list = list[n] ? list + n + 1 : NULL;
	}
	return false;
}

bool row_wanted(const struct micro *m, const char *id)
{
	return !m->only || in_list(m->only, id);
}

static bool group_wanted(const struct micro *m, const struct group *g)
{
	for (const char * const *id = g->ids; *id; id++)
		if (row_wanted(m, *id))
			return true;
	return false;
}

static bool id_known(const char *id)
{
	for (size_t i = 0; i < NR_GROUPS; i++)
		for (const char * const *have = groups[i].ids; *have; have++)
			if (!strcmp(id, *have))
				return true;
	return false;
}

static void check_only(const char *only)
{
	char *copy = strdup(only), *save = NULL;

	for (char *id = strtok_r(copy, ",", &save); id; id = strtok_r(NULL, ",", &save))
		if (!id_known(id))
			die("--only: there is no '%s'; --list tells what there is", id);
	free(copy);
}

static void list_ids(void)
{
	for (size_t i = 0; i < NR_GROUPS; i++)
		for (const char * const *id = groups[i].ids; *id; id++)
			puts(*id);
}

static void set_real(json_t *obj, const char *name, double v)
{
	json_object_set_new(obj, name, json_real(v));
}

static json_t *row_json(const struct row *row)
{
	json_t *obj = json_object();

	json_object_set_new(obj, "id", json_string(row->id));
	set_real(obj, "value", series_median(&row->value));
	json_object_set_new(obj, "unit", json_string(row->unit));
	json_object_set_new(obj, "against", json_string(row->against));
	json_object_set_new(obj, "ratio", row->ratio.n ?
			    json_real(series_median(&row->ratio)) : json_null());
	json_object_set_new(obj, "n", json_integer((json_int_t)row->value.n));
	set_real(obj, "min", series_quantile(&row->value, 0));
	set_real(obj, "max", series_quantile(&row->value, 1));
	if (row->ratio.n) {
		set_real(obj, "ratio_min", series_quantile(&row->ratio, 0));
		set_real(obj, "ratio_max", series_quantile(&row->ratio, 1));
	}
	if (row->other.n)
		set_real(obj, row->is_net ? "value_gross" : "value_net",
			 series_median(&row->other));
	if (row->other_ratio.n)
		set_real(obj, row->is_net ? "ratio_gross" : "ratio_net",
			 series_median(&row->other_ratio));
	return obj;
}

/* Five digits that count, without an exponent where people read */
static const char *figure(char *buf, size_t len, double v)
{
	snprintf(buf, len, v >= 1e7 ? "%.4g" : v >= 100 ? "%.1f" : "%.4f", v);
	return buf;
}

static void row_print(const struct row *row)
{
	char v[32], lo[32], hi[32], other[32] = "-";
	char ratio[32] = "-", other_ratio[32] = "-";

	if (row->other.n)
		figure(other, sizeof(other), series_median(&row->other));
	if (row->ratio.n)
		snprintf(ratio, sizeof(ratio), "%.3f", series_median(&row->ratio));
	if (row->other_ratio.n)
		snprintf(other_ratio, sizeof(other_ratio), "%.3f",
			 series_median(&row->other_ratio));
	printf("%-27s %10s %-7s %6s %5s %10s %6s %4zu %10s %10s  %s\n", row->id,
	       figure(v, sizeof(v), series_median(&row->value)), row->unit, ratio,
	       row->other.n ? row->is_net ? "gross" : "net" : "", other, other_ratio,
	       row->value.n,
	       figure(lo, sizeof(lo), series_quantile(&row->value, 0)),
	       figure(hi, sizeof(hi), series_quantile(&row->value, 1)), row->against);
	fflush(stdout);
}

/* Print and keep a row if it is wanted; frees its samples. */
void row_put(struct micro *m, struct row *row)
{
	if (row_wanted(m, row->id)) {
		row_print(row);
		json_array_append_new(m->results, row_json(row));
	}
	series_free(&row->value);
	series_free(&row->ratio);
	series_free(&row->other);
	series_free(&row->other_ratio);
}

void row_skip(struct micro *m, const char *id, const char *fmt, ...)
{
	va_list ap;

	if (!row_wanted(m, id))
		return;
	m->skipped++;
	printf("%-27s not measured: ", id);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static void print_heading(void)
{
	printf("%-27s %10s %-7s %6s %5s %10s %6s %4s %10s %10s  %s\n", "id", "value",
	       "unit", "ratio", "", "other", "ratio", "n", "min", "max", "against");
}

static void drop_id(json_t *array, const char *id)
{
	for (size_t i = json_array_size(array); i--;) {
		const json_t *have = json_object_get(json_array_get(array, i), "id");

		if (have && !strcmp(json_string_value(have), id))
			json_array_remove(array, i);
	}
}

/* The file's other rows stay, so that several runs can make up one table. */
static void save(const struct micro *m, const char *path)
{
	json_error_t err;
	json_t *all = json_load_file(path, 0, &err), *row;
	size_t i;
	FILE *f;

	if (!json_is_array(all))
		all = json_array();
	json_array_foreach(m->results, i, row) {
		drop_id(all, json_string_value(json_object_get(row, "id")));
		json_array_append(all, row);
	}
	f = fopen(path, "we");
	if (!f || json_dumpf(all, f, JSON_INDENT(1) | JSON_REAL_PRECISION(7)) ||
	    fputc('\n', f) == EOF || fclose(f))
		die("%s: %s", path, strerror(errno));
	json_decref(all);
}

static const char help[] =
"usage: kvstash-bench micro [OPTION]...\n"
"  --json FILE       write the results there; rows of other ids in it stay\n"
"  --only ID,...     only these rows\n"
"  --objects N       how many \"a million objects\" are (default 1000000)\n"
"  --small NS        namespace in a pool laid out for 10000 objects, for scale.*\n"
"  --pool NAME       the pool of namespace default (default: the only one)\n"
"  --list            print the ids\n"
"Wants the namespaces for itself. Rows beside the bare copy need kvstash_bare.ko.\n"
"net: without the empty call, which is timed in the same run; gross: with it.\n";

static const struct option options[] = {
	{ "json", required_argument, NULL, 'j' },
	{ "only", required_argument, NULL, 'o' },
	{ "objects", required_argument, NULL, 'n' },
	{ "small", required_argument, NULL, 's' },
	{ "pool", required_argument, NULL, 'p' },
	{ "list", no_argument, NULL, 'l' },
	{ "help", no_argument, NULL, 'h' },
	{}
};

/* @pool: that was asked for, or NULL */
static void open_all(struct micro *m, const char *pool)
{
	m->c = client_open(NULL);
	if (!pool && !stat_pool_name(m->pool, sizeof(m->pool)))
		die("/proc/kvstash/pool: none, or several: say --pool NAME");
	if (pool && !stat_pool_there(pool))
		die("--pool: no such pool: %s", pool);
	if (pool)
		snprintf(m->pool, sizeof(m->pool), "%s", pool);
	m->pool_bytes = store_pool_stat(m, "total_bytes");
	m->results = json_array();
	bare_open(m);
}

int cmd_micro(int argc, char **argv)
{
	struct micro m = { .bare = -1, .objects = 1000000 };
	const char *path = NULL, *pool = NULL;
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 'j':
			path = optarg;
			break;
		case 'o':
			m.only = optarg;
			check_only(optarg);
			break;
		case 'n':
			m.objects = parse_u64("--objects", optarg, CHAINS * CHAIN_KEYS,
					      UINT32_MAX);
			break;
		case 's':
			m.small = optarg;
			break;
		case 'p':
			pool = optarg;
			break;
		case 'l':
			list_ids();
			return EXIT_OK;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return EXIT_USAGE;
		}
	}
	if (optind < argc)
		die("micro: options only; see --help");

	open_all(&m, pool);
	print_heading();
	for (size_t i = 0; i < NR_GROUPS; i++)
		if (group_wanted(&m, &groups[i]))
			groups[i].run(&m, groups[i].arg);
	if (path)
		save(&m, path);
	json_decref(m.results);
	kvstash_close(m.c);
	return m.only && m.skipped ? EXIT_WRONG : EXIT_OK;
}
