// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: control of kvstash's pools and namespaces, and its objects by
 * hand
 */
#include <string.h>

#include "kvstashctl.h"
#include "tool-output.h"

static const struct command {
	const char *name;
	int (*run)(struct ctl *ctl);
	const char *help;
} commands[] = {
	{ "pool create", cmd_pool_create,
	  "NAME SIZE [--node N] [--objects N]" },
	{ "pool destroy", cmd_pool_destroy, "NAME" },
	{ "pool list", cmd_pool_list, "[NAME]" },
	{ "ns create", cmd_ns_create,
	  "NAME [--pool POOL] [--uid UID] [--gid GID] [--mode MODE]\n"
	  "          [--quota BYTES] [--objects N] [--lease-budget BYTES]\n"
	  "          [--pin-bytes BYTES] [--slot-bytes BYTES]\n"
	  "          [--incomplete-timeout MS]" },
	{ "ns set", cmd_ns_set,
	  "NAME (options of create but --pool)" },
	{ "ns destroy", cmd_ns_destroy, "NAME" },
	{ "ns list", cmd_ns_list, "[NAME]" },
	{ "put", cmd_put,
	  "KEY [FILE|-] [--parent KEY] [--part I/N] [--manifest HEX]\n"
	  "          [--tag STRING] [--root-if-no-parent] [--ttl-ms MS] [--no-linger]\n"
	  "          [--group KEY --member I --members N [--atomic]]\n"
	  "          [--parent-group KEY]" },
	{ "get", cmd_get, "KEY [-o FILE] [--range PART:OFFSET:LENGTH]..." },
	{ "stat", cmd_stat, "[--group-kind | --state-kind] KEY..." },
	{ "exists", cmd_exists, "[--group-kind | --state-kind] KEY..." },
	{ "rm", cmd_rm, "[--group-kind | --state-kind] [--member] KEY..." },
	{ "lookup", cmd_lookup,
	  "[--group-kind | --state-kind] [KEY...]\n"
	  "          [--state FINGERPRINT:SCHEME:TOKENS:PREFIX]..." },
	{ "group", cmd_group, "KEY" },
	{ "pin", cmd_pin,
	  "soft|hard|none [--group-kind | --state-kind] KEY..." },
	{ "lease", cmd_lease,
	  "[--group-kind | --state-kind] KEY... [-- COMMAND...] | --list" },
	{ "state put", cmd_state_put,
	  "FINGERPRINT --scheme N --tokens N PREFIX [FILE|-]\n"
	  "          (options of put)" },
	{ "state get", cmd_state_get,
	  "FINGERPRINT --scheme N --tokens N PREFIX [-o FILE]\n"
	  "          [--layers I,I...]" },
	{ "state exists", cmd_state_exists,
	  "FINGERPRINT --scheme N --tokens N PREFIX" },
	{ "state rm", cmd_state_rm,
	  "FINGERPRINT --scheme N --tokens N PREFIX" },
	{ "state ls", cmd_state_ls,
	  "[FINGERPRINT [--scheme N]] (options of ls but --kind, --prefix)" },
	{ "layout add", cmd_layout_add,
	  "FINGERPRINT --scheme N --slot-bytes BYTES --alignment TOKENS\n"
	  "          (--layers N | --layer-bytes BYTES | --layer OFFSET:LENGTH...)\n"
	  "          [--tied] [--slots N | --share SHARE]" },
	{ "layout show", cmd_layout_show, "FINGERPRINT --scheme N" },
	{ "layout ls", cmd_layout_ls, "[--ns NS]" },
	{ "layout set", cmd_layout_set,
	  "FINGERPRINT --scheme N (--slots N | --share SHARE)" },
	{ "layout drop", cmd_layout_drop, "FINGERPRINT --scheme N" },
	{ "ls", cmd_ls,
	  "[-l] [--ns NS] [--kind KIND] [--state STATE] [--prefix KEY]\n"
	  "          [--pool POOL] [--group KEY] [--pin PIN]" },
	{ "stats", cmd_stats, "[pool NAME | ns NAME]" },
};

static int say_help(void)
{
	printf("kvstashctl [-n NS] [--json] [--hex] COMMAND ...\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		printf("  %s %s\n", commands[i].name, commands[i].help);
	printf("\n"
	       "  -n, --namespace NS  namespace of the objects\n"
	       "      --json          one JSON document on standard output\n"
	       "      --hex           keys are given and said in hex\n"
	       "  -h, --help          this text, or that of a command\n\n"
	       "A KEY of a state is FINGERPRINT:SCHEME:TOKENS:PREFIX.\n"
	       "Sizes take K, M, G or T (powers of 1024). A fingerprint is up to 64 hex\n"
	       "digits, zeros follow. A share of the pool is in thousandths, or N%%.\n"
	       "Exit codes: 0 done, 1 a fact is \"no\", 2 usage, 3 refused or failed.\n");
	return out_end(CODE_OK);
}

/* How many words of @ctl the name of @cmd takes; 0 if it is another. */
static int match(const struct command *cmd, const struct ctl *ctl)
{
	const char *space = strchr(cmd->name, ' ');
	size_t len = space ? (size_t)(space - cmd->name) : strlen(cmd->name);

	if (strlen(ctl->argv[0]) != len ||
	    strncmp(ctl->argv[0], cmd->name, len))
		return 0;
	if (!space)
		return 1;
	if (ctl->argc < 2 || strcmp(ctl->argv[1], space + 1))
		return 0;
	return 2;
}

static int dispatch(struct ctl *ctl)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		int words = match(&commands[i], ctl);

		if (!words)
			continue;
		ctl->name = commands[i].name;
		ctl->help = commands[i].help;
		ctl->argc -= words - 1;
		ctl->argv += words - 1;
		optind = 0;	/* begin anew with another vector */
		return commands[i].run(ctl);
	}
	if (!strcmp(ctl->argv[0], "help"))
		return say_help();
	return out_usage(ctl, "no such command: %s%s%s", ctl->argv[0],
			 ctl->argc > 1 ? " " : "",
			 ctl->argc > 1 ? ctl->argv[1] : "");
}

int main(int argc, char **argv)
{
	struct ctl ctl = { .argc = argc, .argv = argv };
	int code;

	if (!output_begin("kvstashctl"))
		return CODE_FAILED;
	/* "+": an option after the command is the command's */
	switch (arg_option(&ctl, "+", NULL)) {
	case -1:
		break;
	case 'h':
		return say_help();
	default:
		return CODE_USAGE;
	}
	if (optind >= argc)
		return out_usage(&ctl, "no command given");
	ctl.argc -= optind;
	ctl.argv += optind;
	code = dispatch(&ctl);
	kvstash_close(ctl.client);
	return code;
}
