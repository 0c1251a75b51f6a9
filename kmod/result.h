/* SPDX-License-Identifier: GPL-2.0 */
/* Results of entries. */
#ifndef KVS_RESULT_H
#define KVS_RESULT_H

#include <linux/kvstash.h>

/* Fill @r and return @res, so that a refusal is one statement. */
static inline int kvs_result(struct kvstash_result *r, int res, u32 reason, u64 detail)
{
	r->res = res;
	r->reason = reason;
	r->detail = detail;
	return res;
}

#endif /* KVS_RESULT_H */
