/* SPDX-License-Identifier: GPL-2.0 */
/* A request trace in memory. */
#ifndef KVSTASH_BENCH_TRACE_H
#define KVSTASH_BENCH_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#define TRACE_NO_BLOCK	UINT32_MAX

/**
 * struct trace - requests, each a chain of blocks
 * @requests:  number of requests
 * @first:     request i has the blocks first[i] to first[i + 1] - 1 of @blocks
 * @tokens:    length of each request's prompt
 * @blocks:    blocks as small numbers, counted in the order of their first sight
 * @unique:    different blocks
 * @id:        block number to the hash id of the file
 * @pred:      block number to its predecessor, TRACE_NO_BLOCK at a chain's start
 * @seen:      blocks that occur in the requests before request i: those below
 *             seen[i]
 * @broken:    lines that were skipped
 * @conflicts: blocks met behind another predecessor than the first time
 */
struct trace {
	size_t requests;
	size_t *first;
	__u64 *tokens;
	__u32 *blocks;
	__u32 unique;
	__u64 *id;
	__u32 *pred;
	__u32 *seen;
	size_t broken;
	size_t conflicts;
};

static inline size_t trace_blocks(const struct trace *t)
{
	return t->first[t->requests];
}

static inline size_t trace_len(const struct trace *t, size_t request)
{
	return t->first[request + 1] - t->first[request];
}

struct trace *trace_load(const char *path, size_t max_requests, bool skip_broken);
void trace_free(struct trace *t);
bool parse_on_broken(const char *text);

#endif /* KVSTASH_BENCH_TRACE_H */
