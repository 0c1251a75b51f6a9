/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of kvstash-bench share. */
#ifndef KVSTASH_BENCH_H
#define KVSTASH_BENCH_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <linux/types.h>

#define KEY_BYTES	32	/* length of all keys that the tool makes */
#define PAGE_UNIT	4096	/* granularity of a pool */

/* Exit statuses, the same for all subcommands. */
#define EXIT_OK		0
#define EXIT_WRONG	1	/* the store, or what it gave, was wrong */
#define EXIT_USAGE	2	/* options, files, device: nothing was measured */

/* Subcommands; argv[0] is the subcommand's name. */
int cmd_replay(int argc, char **argv);
int cmd_hybrid(int argc, char **argv);
int cmd_simulate(int argc, char **argv);
int cmd_micro(int argc, char **argv);
int cmd_hold(int argc, char **argv);

/* util */
#define LIKE_PRINTF	format(printf, 1, 2)
#define LIKE_PRINTF_3	format(printf, 3, 4)

noreturn void die(const char *fmt, ...) __attribute__((LIKE_PRINTF));
void warn(const char *fmt, ...) __attribute__((LIKE_PRINTF));
void *xalloc(size_t n, size_t size);
void *xgrow(void *p, size_t n, size_t size);
void *map_pages(size_t bytes);
void unmap_pages(void *p, size_t bytes);
void *map_shared(size_t bytes);
__u64 parse_u64(const char *opt, const char *text, __u64 min, __u64 max);
double parse_percent(const char *opt, const char *text);
int finish(int status);

/* client */
struct kvstash;
struct kvstash *client_open(const char *ns);

__u64 round_up(__u64 v, __u64 unit);

/* clock: ns since some moment */
__u64 now_ns(void);

/* A 64-bit mixer: each bit of the result depends on all bits of @x. */
static inline __u64 mix64(__u64 x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* verify: bytes that can be told from their seed alone */
void pattern_key(__u8 *key, __u64 domain, __u64 id);
__u64 pattern_seed(__u64 domain, __u64 id);
void pattern_fill(void *buf, size_t len, __u64 seed, __u64 offset);
size_t pattern_check(const void *buf, size_t len, __u64 seed, __u64 offset);
void pattern_spoil(void *buf, size_t len);

/* stats: files of lines "name value" below /proc/kvstash */
bool stat_read(const char *dir, const char *file, const char *name, __u64 *val);
bool stat_pool_name(char *buf, size_t len);
bool stat_pool_there(const char *name);
int stat_open(const char *dir, const char *file);
bool stat_reread(int fd, const char *name, __u64 *val);

#endif /* KVSTASH_BENCH_H */
