// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench: print a result for people, and for programs */
#include <stdio.h>
#include <string.h>

#include "kvstash-bench.h"
#include "kvstash-bench-report.h"

void report_int(json_t *obj, const char *name, unsigned long long v)
{
	json_object_set_new(obj, name, json_integer((json_int_t)v));
}

void report_real(json_t *obj, const char *name, double v)
{
	json_object_set_new(obj, name, json_real(v));
}

static void print_value(const json_t *v)
{
	const char *name;
	json_t *inner;

	switch (json_typeof(v)) {
	case JSON_REAL:
		printf(" %.4f", json_real_value(v));
		break;
	case JSON_INTEGER:
		printf(" %lld", (long long)json_integer_value(v));
		break;
	case JSON_STRING:
		printf(" %s", json_string_value(v));
		break;
	case JSON_OBJECT:
		json_object_foreach((json_t *)v, name, inner) {
			printf(" %s", name);
			print_value(inner);
		}
		break;
	default:
		printf(" unknown");
	}
}

/* One line a member; with @json the object itself on the last line. Frees it. */
void report_put(json_t *obj, bool json)
{
	const char *name;
	json_t *v;

	if (!obj)
		die("no memory for the result");
	json_object_foreach(obj, name, v) {
		printf("%-20s", name);
		print_value(v);
		putchar('\n');
	}
	if (json) {
		if (json_dumpf(obj, stdout, JSON_REAL_PRECISION(6)) && !ferror(stdout))
			die("no memory for the result");
		putchar('\n');
	}
	json_decref(obj);
}
