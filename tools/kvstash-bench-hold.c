// SPDX-License-Identifier: GPL-2.0
/*
 * kvstash-bench hold: a writer in the middle of a put
 *
 * Reserves all parts of an object, writes them but for the last half of the
 * last one, says so on its standard output and waits for its death.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kvstash.h>

#include "kvstash-bench.h"

static const char help[] =
"usage: kvstash-bench hold [OPTION]... KEY\n"
"  --parts N         parts of the object (default 2)\n"
"  --bytes N         bytes of a part (default 114688)\n"
"  --namespace NS    put it there\n"
"Prints one line when all is reserved and half is written, then waits to be killed.\n";

static const struct option options[] = {
	{ "parts", required_argument, NULL, 'p' },
	{ "bytes", required_argument, NULL, 'b' },
	{ "namespace", required_argument, NULL, 'N' },
	{ "help", no_argument, NULL, 'h' },
	{}
};

static void must(const char *call, int n, const struct kvstash_result *res)
{
	char text[256];

	if (n < 0)
		die("%s: %s", call, strerror(-n));
	if (!res->res)
		return;
	kvstash_result_format(res, text, sizeof(text));
	die("%s: %s", call, text);
}

static void hold_part(struct kvstash *c, const char *key, size_t part, size_t parts,
		      size_t bytes)
{
	size_t half = part + 1 < parts ? bytes : (bytes + 1) / 2;
	__u8 *buf = map_pages(half);
	struct kvstash_put e;
	struct kvstash_write w;

	kvstash_prep_reserve(&e, key, strlen(key), bytes);
	kvstash_prep_put_part(&e, part, parts);
	must("reserve", kvstash_reserve(c, &e, 1), &e.r);
	pattern_fill(buf, half, part, 0);
	kvstash_prep_write(&w, &e.handle, 0, buf, half);
	must("write", kvstash_write(c, &w, 1), &w.r);
}

int cmd_hold(int argc, char **argv)
{
	size_t parts = 2, bytes = 114688;
	const char *ns = NULL;
	struct kvstash *c;
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 'p':
			parts = parse_u64("--parts", optarg, 1, KVSTASH_PARTS_MAX);
			break;
		case 'b':
			bytes = parse_u64("--bytes", optarg, 1, 1U << 30);
			break;
		case 'N':
			ns = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return EXIT_USAGE;
		}
	}
	if (optind + 1 != argc)
		die("hold: one KEY; see --help");

	c = client_open(ns);
	for (size_t i = 0; i < parts; i++)
		hold_part(c, argv[optind], i, parts, bytes);
	printf("holding %s: %zu parts of %zu bytes reserved, the last half written, pid %d\n",
	       argv[optind], parts, bytes, (int)getpid());
	if (finish(EXIT_OK))
		exit(EXIT_USAGE);
	for (;;)
		pause();
}
