/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvstashctl: what its files share
 *
 * One file a concern: -arg reads the command line, -out says things in text or
 * JSON, -file moves bytes from and to files, -netlink talks to the control
 * family, -dump to its list of objects, -client to the device, -state knows the
 * keys of states; the rest are the commands.
 */
#ifndef KVSTASHCTL_H
#define KVSTASHCTL_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>
#include <kvstash.h>
#include <linux/kvstash_netlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <stdnoreturn.h>	/* last: others spell an attribute so */

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define __printf(a, b) JANSSON_ATTRS((format(printf, a, b)))

/* Exit codes, part of the interface; see kvstashctl(8) */
#define CODE_OK		0
#define CODE_NO		1	/* a fact is "no" */
#define CODE_USAGE	2
#define CODE_FAILED	3	/* refused or failed */

/**
 * struct ctl - one run of the program
 * @name:   the command, as messages say it, such as "pool create"
 * @help:   its operands and options
 * @ns:     namespace asked for, or NULL
 * @json:   one JSON document on standard output
 * @hex:    keys are given and said in hex
 * @argc:   words of the command
 * @argv:   the same; @argv[0] is not used. After arg_option() said -1, those
 *          from optind on are its operands
 * @list:   a list is open: its name
 * @title:  what stands above it in text, or NULL
 * @items:  items said of it
 * @failed: an error was said: the document is closed
 * @client: the device, once it was opened
 */
struct ctl {
	const char *name;
	const char *help;
	const char *ns;
	bool json;
	bool hex;
	int argc;
	char **argv;
	const char *list;
	const char *title;
	size_t items;
	bool failed;
	struct kvstash *client;
};

/* Commands; each returns the exit code. */
int cmd_pool_create(struct ctl *ctl);
int cmd_pool_destroy(struct ctl *ctl);
int cmd_pool_list(struct ctl *ctl);
int cmd_ns_create(struct ctl *ctl);
int cmd_ns_set(struct ctl *ctl);
int cmd_ns_destroy(struct ctl *ctl);
int cmd_ns_list(struct ctl *ctl);
int cmd_put(struct ctl *ctl);
int cmd_get(struct ctl *ctl);
int cmd_stat(struct ctl *ctl);
int cmd_exists(struct ctl *ctl);
int cmd_rm(struct ctl *ctl);
int cmd_pin(struct ctl *ctl);
int cmd_lease(struct ctl *ctl);
int cmd_group(struct ctl *ctl);
int cmd_lookup(struct ctl *ctl);
int cmd_state_put(struct ctl *ctl);
int cmd_state_get(struct ctl *ctl);
int cmd_state_exists(struct ctl *ctl);
int cmd_state_rm(struct ctl *ctl);
int cmd_state_ls(struct ctl *ctl);
int cmd_layout_add(struct ctl *ctl);
int cmd_layout_show(struct ctl *ctl);
int cmd_layout_ls(struct ctl *ctl);
int cmd_layout_set(struct ctl *ctl);
int cmd_layout_drop(struct ctl *ctl);
int cmd_ls(struct ctl *ctl);
int cmd_stats(struct ctl *ctl);

/*
 * -arg: the command line. All but arg_option() return 0, or say what is wrong
 * and return CODE_USAGE.
 */

/**
 * struct keys - key operands, one after the other
 * @bytes: all of them
 * @lens:  their lengths
 * @n:     how many
 */
struct keys {
	unsigned char *bytes;
	__u16 *lens;
	size_t n;
};

/*
 * The next option of @shorts and @longs (NULL: none), those that every command
 * has taken care of; -1 after the last; '?' if it was wrong, which has been
 * said then.
 */
int arg_option(struct ctl *ctl, const char *shorts, const struct option *longs);
/* That there are @least to @most operands. */
int arg_operands(struct ctl *ctl, int least, int most);
/* All options of a command that has none of its own, then its operands. */
int arg_only_operands(struct ctl *ctl, int least, int most);
/* Decimal with K, M, G or T */
int arg_size(struct ctl *ctl, const char *what, const char *s, __u64 *out);
/* Decimal, at most @max */
int arg_number(struct ctl *ctl, const char *what, const char *s, __u64 max,
	       __u64 *out);
/* Decimal, 1 to @max */
int arg_count(struct ctl *ctl, const char *what, const char *s, __u64 max,
	      __u64 *out);
/* A share in thousandths, or in percent: 125 or 12.5% */
int arg_share(struct ctl *ctl, const char *what, const char *s, __u64 *permille);
/* That an option was given */
int arg_needed(struct ctl *ctl, const char *what, const char *s);
/* A NUMA node: -1 or a number */
int arg_node(struct ctl *ctl, const char *s, __s32 *out);
/* Octal permission bits */
int arg_mode(struct ctl *ctl, const char *s, __u32 *out);
/* Hex digits, exactly @len bytes of them */
int arg_digest(struct ctl *ctl, const char *s, unsigned char *out, size_t len);
/* Up to KVSTASH_DIGEST_LEN bytes as hex digits; zeros follow those given. */
int arg_fingerprint(struct ctl *ctl, const char *s, unsigned char *out);
/* Version of the scheme of a fingerprint; @s may be NULL, which is said then. */
int arg_scheme(struct ctl *ctl, const char *what, const char *s, __u32 *out);
/*
 * That @s may be the name of a @what, "pool" or "namespace". In the kernel's words
 * and with its code, CODE_FAILED: of longer ones it says nothing that helps.
 */
int arg_name(struct ctl *ctl, const char *what, const char *s);
/* The same of a name that may be NULL */
int arg_maybe_name(struct ctl *ctl, const char *what, const char *s);
/* I/N */
int arg_part(struct ctl *ctl, const char *s, unsigned int *part,
	     unsigned int *parts);
/* PART:OFFSET:LENGTH; the address is left 0 */
int arg_range(struct ctl *ctl, const char *s, struct kvstash_range *out);
/* OFFSET:LENGTH */
int arg_layer(struct ctl *ctl, const char *s, struct kvstash_layer *out);
/**
 * struct layer_list - layers that were chosen
 * @index: which, none twice
 * @nr:    how many
 */
struct layer_list {
	__u32 index[KVSTASH_SEGS_MAX];
	size_t nr;
};

/* I,I,... */
int arg_layer_list(struct ctl *ctl, const char *s, struct layer_list *out);
/* All of @s as decimal digits */
bool arg_decimal(const char *s, __u64 *out);
/* All of @s as hex digits into @out, which has room for half of them. */
bool arg_unhex(const char *s, unsigned char *out);
/* A key, in hex if the user said so; 1 to @most bytes. Free *@out. */
int arg_key(struct ctl *ctl, const char *what, const char *s, size_t most,
	    unsigned char **out, size_t *len);
/* All operands as keys, of states in one word; free with keys_free(). */
int arg_keys(struct ctl *ctl, bool state, struct keys *out);
void keys_free(struct keys *k);

/* -out: what the user sees */

/* Say an item of a list, or a whole document, in text. */
typedef void (*out_text)(const struct ctl *ctl, const json_t *item);

/* A list of the document; a title is for text only and may be NULL. */
void out_list(struct ctl *ctl, const char *name, const char *title);
/* An item, which is used up. */
void out_item(struct ctl *ctl, json_t *item, out_text text);
/* Ends the list; returns as out_end(). */
int out_list_end(struct ctl *ctl, int code);
/* A document that is no list, used up; returns as out_end(). */
int out_doc(struct ctl *ctl, json_t *doc, out_text text, int code);

/*
 * Says an error: @err is an errno or 0, @reason a reason's name or NULL.
 * Returns CODE_FAILED.
 */
__printf(4, 5)
int out_fail(struct ctl *ctl, int err, const char *reason, const char *fmt,
	     ...);
/* Says on standard error what the result alone does not tell. */
__printf(2, 3)
void out_note(struct ctl *ctl, const char *fmt, ...);
/* Says what is wrong with the command line; returns CODE_USAGE. */
__printf(2, 3)
int out_usage(struct ctl *ctl, const char *fmt, ...);
/* @code, or CODE_FAILED if output failed, whatever the command did; says so. */
int out_end(int code);
noreturn void out_no_memory(void);

json_t *out_object(void);
void out_set(json_t *o, const char *name, json_t *value);
void out_set_u64(json_t *o, const char *name, __u64 v);
/* @name as a string or null, @name_hex in hex; both null without bytes */
void out_set_bytes(json_t *o, const char *name, const void *p, size_t len);
/* "reason"; if it is no success also "errno", "detail" and "error" */
void out_set_result(json_t *o, const struct kvstash_result *r);

/* A member as text; "-" if null or absent. Bytes: as the user wants keys. */
const char *out_str(const json_t *o, const char *name);
unsigned long long out_u64(const json_t *o, const char *name);
void out_print_bytes(const struct ctl *ctl, const json_t *o, const char *name);

/* -client: the device. They return NULL or a code after having said why. */

struct kvstash *client_open(struct ctl *ctl);
/* A call as a whole failed with @ret < 0: says so. Returns CODE_FAILED. */
int client_failed(struct ctl *ctl, int ret);
/* An entry about @what failed: says so and returns its code. */
int client_refused(struct ctl *ctl, const char *what,
		   const struct kvstash_result *r);
/* The exit code that a result, or a reason alone, stands for; that of two */
int client_code(const struct kvstash_result *r);
int client_reason_code(unsigned int reason);
int client_worse(int a, int b);
const char *client_state_name(unsigned int state);
/* Names of KVSTASH_PIN_* */
#define CLIENT_PINS 3
extern const char *const client_pin_names[CLIENT_PINS];
const char *client_pin_name(unsigned int pin);

/* -keys: what other commands about keys need of it */

/**
 * struct keys_job - a command about keys that has a result for each
 * @call:   the library's call
 * @list:   the list's name in the document
 * @tags:   tags are asked for
 * @leases: one for each key, if leases are asked for
 * @pin:    pin that is asked for
 * @set:    adds what there is to say of a key
 * @text:   says it
 * @quiet:  nothing is said unless a key fails
 */
struct keys_job {
	int (*call)(struct kvstash *c, struct kvstash_keys *k,
		    struct kvstash_exists *res, size_t *done);
	const char *list;
	bool tags;
	struct kvstash_handle *leases;
	unsigned int pin;
	void (*set)(json_t *o, const struct kvstash_exists *x,
		    const unsigned char *tag);
	out_text text;
	bool quiet;
};

/**
 * struct keys_words - options of such commands
 * @group:  the keys name groups
 * @state:  they name states
 * @member: only these members
 */
struct keys_words {
	bool group;
	bool state;
	bool member;
};

#define KEYS_OPTION_GROUP { "group-kind", no_argument, NULL, 'g' }
#define KEYS_OPTION_STATE { "state-kind", no_argument, NULL, 'k' }

/* Takes option @c of these and "member"; false if it is another. */
bool keys_word(struct keys_words *w, int c);
/* That they go together */
int keys_words_check(struct ctl *ctl, const struct keys_words *w);
void keys_words_prep(struct kvstash_keys *k, const struct keys_words *w);

/* All facts, of which the text says whether it is visible; removal */
extern const struct keys_job keys_job_facts;
extern const struct keys_job keys_job_rm;

/* Carries it out for @keys; the code, all having been said. */
int keys_send(struct ctl *ctl, const struct keys_job *job,
	      const struct keys_words *words, const struct keys *keys);
/* The state only */
void keys_set_state(json_t *o, const struct kvstash_exists *x,
		    const unsigned char *tag);
/* State, members and what else is said of a group, or of an object's */
void keys_set_group(json_t *o, const struct kvstash_exists *x);
/* The key, and in words how it went. */
void keys_say(const struct ctl *ctl, const json_t *o, const char *ok);

/* -state: keys of states */

/**
 * struct statekey - a state's key
 * @key:  the key
 * @len:  its length
 * @text: FINGERPRINT:SCHEME:TOKENS:PREFIX, cut if need be, for messages
 */
struct statekey {
	unsigned char key[KVSTASH_KEY_MAX];
	size_t len;
	char text[2 * KVSTASH_KEY_MAX + 64];
};

/* What the user said of it; NULL: nothing */
struct statekey_words {
	const char *fingerprint;
	const char *scheme;
	const char *tokens;
	const char *prefix;
};

#define STATEKEY_SCHEME	3000
#define STATEKEY_TOKENS	3001
#define STATEKEY_OPTION_SCHEME \
	{ "scheme", required_argument, NULL, STATEKEY_SCHEME }
#define STATEKEY_OPTION_TOKENS \
	{ "tokens", required_argument, NULL, STATEKEY_TOKENS }

/* Where the argument of option @c goes; NULL if it is another. */
const char **statekey_word(struct statekey_words *w, int c);
/* FINGERPRINT and PREFIX are the operands, @more may follow. */
int statekey_operands(struct ctl *ctl, struct statekey_words *w, int more);
/* The key of these words; 0, or CODE_USAGE after having said why. */
int statekey_read(struct ctl *ctl, const struct statekey_words *w,
		  struct statekey *out);
/* The same of one word, FINGERPRINT:SCHEME:TOKENS:PREFIX */
int statekey_parse(struct ctl *ctl, const char *what, const char *s,
		   struct statekey *out);
/* Names the layout of a state with that key, which is a whole one. */
void statekey_layout(const void *key, struct kvstash_layout *l);
/* "state_key" of an item: what its key says */
void statekey_set(json_t *o, const void *key, size_t len);
/* "key" of an item in text; with "state_key" in one word */
void statekey_print(const struct ctl *ctl, const json_t *o);

/* -layout: what other commands need of it */

/*
 * Figures of the layout that @l names, and its layers, which are for free().
 * Returns 0, or a code after having said why.
 */
int layout_load(struct ctl *ctl, struct kvstash *c, struct kvstash_layout *l,
		struct kvstash_layer **layers);

/* -file: bytes from and to files; 0, or a code after having said why */

/**
 * struct bytes - memory that is mapped
 * @p:   where, or NULL
 * @len: bytes that are of use
 * @map: bytes to unmap
 */
struct bytes {
	void *p;
	__u64 len;
	size_t map;
};

/* Memory that costs nothing before it is written. */
int bytes_alloc(struct ctl *ctl, struct bytes *b, __u64 len);
void bytes_free(struct bytes *b);
/* All of a file; "-" is standard input. */
int file_load(struct ctl *ctl, const char *path, struct bytes *b);
int file_store(struct ctl *ctl, const char *path, const struct bytes *b);

/* -netlink: the control family */

/**
 * struct netlink_request - a request and what is done with its answers
 * @cmd:    KVSTASH_CMD_*
 * @dump:   ask for all
 * @max:    highest attribute of an answer
 * @policy: their types
 * @reply:  called for each answer; attributes that are absent are NULL
 * @fine:   errno of a refusal that is none here, or 0
 */
struct netlink_request {
	int cmd;
	bool dump;
	int max;
	const struct nla_policy *policy;
	void (*reply)(struct ctl *ctl, struct nlattr **tb);
	int fine;
};

/* A message with the header of @req; no reply but NULL means no memory. */
struct nl_msg *netlink_message(const struct netlink_request *req);
/* Each adds an attribute; a message that overflows is refused when sent. */
void netlink_put_str(struct nl_msg *msg, int attr, const char *s);
void netlink_put_bytes(struct nl_msg *msg, int attr, const void *p, size_t len);
void netlink_put_u64(struct nl_msg *msg, int attr, __u64 v);
void netlink_put_u32(struct nl_msg *msg, int attr, __u32 v);
void netlink_put_u8(struct nl_msg *msg, int attr, __u8 v);
/* Sends it and takes the answers. 0, or a code after having said why. */
int netlink_do(struct ctl *ctl, const struct netlink_request *req,
	       struct nl_msg *msg);
/*
 * For a list that was carried out, with @code: if nothing is in it, that there are
 * the namespace and the pool (NULL: any) that it is of. Who may not ask is told
 * nothing. Returns @code, or one after having said which there is not.
 */
int netlink_list_of(struct ctl *ctl, const char *ns, const char *pool, int code);

/* -dump: objects as the control family lists them */

/* An answer as JSON */
json_t *dump_object(struct nlattr **tb);
/* Names of KVSTASH_KIND_*; that of one, or NULL */
#define DUMP_KINDS 3
extern const char *const dump_kind_names[DUMP_KINDS];
const char *dump_kind_name(unsigned int kind);
/* A request for a dump; filters are attributes of its message. */
struct netlink_request dump_request(void (*reply)(struct ctl *ctl,
						  struct nlattr **tb));

/* Members out of attributes; nothing if it is absent. */
void netlink_set_u64(json_t *o, const char *name, struct nlattr *a);
void netlink_set_u32(json_t *o, const char *name, struct nlattr *a);
void netlink_set_s32(json_t *o, const char *name, struct nlattr *a);
void netlink_set_u16(json_t *o, const char *name, struct nlattr *a);
void netlink_set_str(json_t *o, const char *name, struct nlattr *a);
void netlink_set_bytes(json_t *o, const char *name, struct nlattr *a);

#endif /* KVSTASHCTL_H */
