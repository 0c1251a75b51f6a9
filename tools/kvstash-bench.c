// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench: replay request traces, simulate caches, measure speed */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvstash-bench.h"
#include "tool-output.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} commands[] = {
	{ "replay", cmd_replay, "play a request trace against the store, verifying all bytes" },
	{ "hybrid", cmd_hybrid, "the same by engines that need pages and a state to resume" },
	{ "simulate", cmd_simulate, "the same trace against a cache in user space" },
	{ "micro", cmd_micro, "the speed table: calls beside what they are measured against" },
	{ "hold", cmd_hold, "reserve parts, write half of them and wait to be killed" },
};

static void print_commands(FILE *f)
{
	fprintf(f, "usage: kvstash-bench COMMAND [OPTION]...\n");
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		fprintf(f, "  %-9s %s\n", commands[i].name, commands[i].what);
	fprintf(f, "Each COMMAND tells its options with --help.\n");
}

int main(int argc, char **argv)
{
	if (!output_begin("kvstash-bench"))
		return EXIT_USAGE;
	if (argc < 2) {
		print_commands(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
		print_commands(stdout);
		return finish(EXIT_OK);
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return finish(commands[i].run(argc - 1, argv + 1));
	warn("no command '%s'", argv[1]);
	print_commands(stderr);
	return EXIT_USAGE;
}
