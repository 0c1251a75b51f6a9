// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: leases, held until a signal or the end of a command; their list
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kvstashctl.h"

#define LEASES "/sys/kernel/debug/kvstash/leases"

/* As shells say it of a command that can't be run, or that a signal ended */
#define CODE_NO_COMMAND	127
#define CODE_SIGNAL	128

/* Cut the words behind the first "--" off: the command, or NULL. */
static char **take_command(struct ctl *ctl)
{
	for (int i = 1; i < ctl->argc; i++) {
		if (strcmp(ctl->argv[i], "--"))
			continue;
		ctl->argc = i;
		return ctl->argv + i + 1;
	}
	return NULL;
}

static void signals_block(sigset_t *set, sigset_t *before)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGCHLD);
	/* else the end of the command would not be told */
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, set, before);
}

static int hold_until_signal(void)
{
	sigset_t set, before;
	int sig;

	signals_block(&set, &before);
	do {
		if (sigwait(&set, &sig))
			return CODE_FAILED;
	} while (sig == SIGCHLD);
	return CODE_OK;
}

static noreturn void run_command(char **command, const sigset_t *mask)
{
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(command[0], command);
	fprintf(stderr, "kvstashctl: lease: cannot run %s: %s\n", command[0],
		strerror(errno));
	_exit(CODE_NO_COMMAND);
}

/* A terminal's SIGINT comes to the command itself, SIGTERM is passed on. */
static int hold_until_end(struct ctl *ctl, char **command)
{
	sigset_t set, before;
	int sig, status;
	pid_t pid;

	signals_block(&set, &before);
	pid = fork();
	if (pid < 0)
		return out_fail(ctl, errno, NULL, "cannot fork: %s",
				strerror(errno));
	if (!pid)
		run_command(command, &before);
	while (waitpid(pid, &status, WNOHANG) != pid)
		if (!sigwait(&set, &sig) && sig == SIGTERM)
			kill(pid, SIGTERM);
	return WIFEXITED(status) ? WEXITSTATUS(status) :
				   CODE_SIGNAL + WTERMSIG(status);
}

static void lease_text(const struct ctl *ctl, const json_t *o)
{
	keys_say(ctl, o, "leased");
}

/* The leases themselves end with the client. */
static int lease_keys(struct ctl *ctl, const struct keys_words *words,
		      char **command)
{
	struct keys_job job = {
		.call = kvstash_exists_all, .list = "keys",
		.set = keys_set_state, .text = lease_text, .quiet = command,
	};
	struct keys keys;
	int code;

	code = keys_words_check(ctl, words);
	if (!code)
		code = arg_operands(ctl, 1, INT32_MAX);
	if (!code)
		code = arg_keys(ctl, words->state, &keys);
	if (code)
		return code;
	job.leases = calloc(keys.n, sizeof(*job.leases));
	if (!job.leases)
		out_no_memory();
	code = keys_send(ctl, &job, words, &keys);
	if (!code)
		code = command ? hold_until_end(ctl, command) :
				 hold_until_signal();
	free(job.leases);
	keys_free(&keys);
	return code;
}

/* The last word of @line, cut off; NULL if there is none. */
static char *last_word(char *line)
{
	size_t len = strlen(line);
	char *p;

	while (len && isspace((unsigned char)line[len - 1]))
		line[--len] = '\0';
	p = strrchr(line, ' ');
	if (!p)
		return NULL;
	*p = '\0';
	return p + 1;
}

/* Each of these is false if the word is none of these. */

static bool set_word_u64(json_t *o, const char *name, const char *word)
{
	__u64 v;

	if (!arg_decimal(word, &v))
		return false;
	out_set_u64(o, name, v);
	return true;
}

static bool set_word_kind(json_t *o, const char *word)
{
	const char *name;
	__u64 kind;

	if (!arg_decimal(word, &kind) || kind > UINT8_MAX)
		return false;
	name = dump_kind_name((unsigned int)kind);
	out_set(o, "kind", json_string(name ? name : word));
	return true;
}

static bool set_word_key(json_t *o, const char *hex)
{
	size_t len = strlen(hex) / 2;
	unsigned char *key = malloc(len + 1);
	bool ok;

	if (!key)
		out_no_memory();
	ok = arg_unhex(hex, key);
	if (ok)
		out_set_bytes(o, "key", key, len);
	if (ok && !strcmp(out_str(o, "kind"), dump_kind_name(KVSTASH_KIND_STATE)))
		statekey_set(o, key, len);
	free(key);
	return ok;
}

/*
 * A line of the list: pid, command, namespace, kind, begin of the key in hex,
 * number, bytes. The command of an older module may have spaces, the others have
 * none. NULL for another line.
 */
static json_t *lease_json(char *line)
{
	enum { BYTES, SEQ, KEY, KIND, NS, WORDS };
	char *words[WORDS], *command;
	json_t *o, *comm;

	for (int i = 0; i < WORDS; i++) {
		words[i] = last_word(line);
		if (!words[i])
			return NULL;
	}
	command = strchr(line, ' ');
	if (!command)
		return NULL;
	*command++ = '\0';
	comm = json_string(command);
	o = out_object();
	out_set(o, "comm", comm ? comm : json_null());
	out_set(o, "ns", json_string(words[NS]));
	if (set_word_u64(o, "pid", line) && set_word_kind(o, words[KIND]) &&
	    set_word_key(o, words[KEY]) && set_word_u64(o, "seq", words[SEQ]) &&
	    set_word_u64(o, "bytes", words[BYTES]))
		return o;
	json_decref(o);
	return NULL;
}

#define LIST_TITLE "    PID COMMAND          NS           KIND         BYTES" \
	"        SEQ KEY"

static void list_row(const struct ctl *ctl, const json_t *o)
{
	printf("%7llu %-16s %-12s %-5s %12llu %10llu ", out_u64(o, "pid"),
	       out_str(o, "comm"), out_str(o, "ns"), out_str(o, "kind"),
	       out_u64(o, "bytes"), out_u64(o, "seq"));
	statekey_print(ctl, o);
	putchar('\n');
}

/* False if it is none. */
static bool list_line(struct ctl *ctl, char *line)
{
	json_t *o = lease_json(line);
	bool ok = o;

	if (o && (!ctl->ns || !strcmp(ctl->ns, out_str(o, "ns"))))
		out_item(ctl, o, list_row);
	else
		json_decref(o);
	return ok;
}

/* All lines, though one is wrong; the first that is. */
static int list_lines(struct ctl *ctl, FILE *f)
{
	size_t room = 0, nr = 0, wrong = 0;
	char *line = NULL;

	while (getline(&line, &room, f) > 0) {
		nr++;
		if (!list_line(ctl, line) && !wrong)
			wrong = nr;
	}
	free(line);
	if (ferror(f))
		return out_fail(ctl, EIO, NULL, "cannot read %s", LEASES);
	if (wrong)
		return out_fail(ctl, EPROTO, NULL, "%s: line %zu is no lease", LEASES, wrong);
	return CODE_OK;
}

static int list_leases(struct ctl *ctl)
{
	FILE *f;
	int code;

	code = arg_operands(ctl, 0, 0);
	if (!code)
		code = arg_maybe_name(ctl, "namespace", ctl->ns);
	if (code)
		return code;
	f = fopen(LEASES, "re");
	if (!f)
		return out_fail(ctl, errno, NULL, "cannot open %s: %s", LEASES,
				strerror(errno));
	out_list(ctl, "leases", LIST_TITLE);
	code = list_lines(ctl, f);
	fclose(f);
	return out_list_end(ctl, netlink_list_of(ctl, ctl->ns, NULL, code));
}

int cmd_lease(struct ctl *ctl)
{
	static const struct option longs[] = {
		KEYS_OPTION_GROUP,
		KEYS_OPTION_STATE,
		{ "list", no_argument, NULL, 'l' },
		{ 0 },
	};
	char **command = take_command(ctl);
	struct keys_words words = { 0 };
	bool list = false;
	int c;

	if (command && !command[0])
		return out_usage(ctl, "no command after --");
	while ((c = arg_option(ctl, "", longs)) != -1) {
		if (c == 'l')
			list = true;
		else if (!keys_word(&words, c))
			return CODE_USAGE;
	}
	if (list && command)
		return out_usage(ctl, "--list takes no command");
	return list ? list_leases(ctl) : lease_keys(ctl, &words, command);
}
