// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Reasons: each of the header has its name and a text of its own
 */
#include <errno.h>
#include <limits.h>

#include "check.h"

static const struct {
	unsigned int reason;
	const char *name;
} header[] = {
#include "reasons.inc"
};

#define NR ARRAY_SIZE(header)

static void test_table(void)
{
	/* a parse that finds nothing must not pass */
	CHECK(NR >= 82);
	CHECK_EQ(header[0].reason, KVSTASH_R_OK);
	for (size_t i = 0; i < NR; i++) {
		const char *text = kvstash_reason_text(header[i].reason);

		CHECK_STR(kvstash_reason_name(header[i].reason),
			  header[i].name);
		CHECK(text[0] && strcmp(text, "unknown reason"));
		for (size_t j = 0; j < i; j++) {
			CHECK(header[i].reason != header[j].reason);
			CHECK(strcmp(text,
				     kvstash_reason_text(header[j].reason)));
		}
	}
}

/* Numbers that the header does not have are unknown, not another's. */
static void test_unknown(void)
{
	for (unsigned int r = 0; r < 300; r++) {
		size_t i;

		for (i = 0; i < NR && header[i].reason != r; i++)
			;
		if (i == NR)
			CHECK_STR(kvstash_reason_name(r), "unknown");
	}
	CHECK_STR(kvstash_reason_name(UINT_MAX), "unknown");
	CHECK_STR(kvstash_reason_text(UINT_MAX), "unknown reason");
}

static void says(int res, unsigned int reason, unsigned long long detail,
		 const char *want)
{
	struct kvstash_result r = {
		.res = res, .reason = reason, .detail = detail
	};
	size_t len = strlen(want);
	char buf[256], cut[8];

	CHECK_EQ(kvstash_result_format(&r, buf, sizeof(buf)), len);
	CHECK_STR(buf, want);
	CHECK_EQ(kvstash_result_format(&r, NULL, 0), len);
	CHECK_EQ(kvstash_result_format(&r, cut, sizeof(cut)), len);
	CHECK(strlen(cut) == (len < 7 ? len : 7) && !strncmp(cut, want, 7));
	/* exactly enough, and one byte too few */
	CHECK_EQ(kvstash_result_format(&r, buf, len + 1), len);
	CHECK_STR(buf, want);
	CHECK_EQ(kvstash_result_format(&r, buf, len), len);
	CHECK_EQ(strlen(buf), len - 1);
}

static void test_format(void)
{
	says(0, KVSTASH_R_OK, 0, "done");
	says(-ENOSPC, KVSTASH_R_NO_SPACE, 4096,
	     "no space: nothing to evict; 4096 bytes missing (ENOSPC, no_space)");
	says(-ENOENT, KVSTASH_R_MISS, 0, "no such key (ENOENT, miss)");
	says(-EINVAL, KVSTASH_R_FLAGS, 0x80000000,
	     "unknown flag; bits 0x80000000 (EINVAL, flags)");
	says(-EFAULT, KVSTASH_R_DATA_FAULT, 0,
	     "data buffer not accessible; 0 bytes moved before (EFAULT, data_fault)");
	says(-ERANGE, KVSTASH_R_RANGE, UINT64_MAX,
	     "range past the end of its part; the part has 18446744073709551615 bytes (ERANGE, range)");
	says(-ENOENT, KVSTASH_R_GROUP_INCOMPLETE, 7,
	     "group incomplete: members missing; 7 members present (ENOENT, group_incomplete)");
	says(-EDQUOT, KVSTASH_R_LEASE_BUDGET, 4096,
	     "lease budget used up; 4096 bytes missing (EDQUOT, lease_budget)");
	says(-EINVAL, KVSTASH_R_SLOT_BYTES, 1415040,
	     "length of a state is not that of a slot, or a slot of no such length; the slot has, or at most may have, 1415040 bytes (EINVAL, slot_bytes)");
	says(-EINVAL, KVSTASH_R_MISALIGNED, 128,
	     "length of a state is not aligned, or an alignment is out of range; the layout has, or at most may have, 128 tokens (EINVAL, misaligned)");
	says(-ENOSPC, KVSTASH_R_NO_SLOT, 8,
	     "no slot: all are in flight, leased, pinned or read; the layout has 8 slots (ENOSPC, no_slot)");
	says(-EXDEV, KVSTASH_R_MISMATCH_LAYOUT, 0,
	     "mismatch: layout registered with another description (EXDEV, mismatch_layout)");
	/* one reason of two errnos, of which one has a detail */
	says(-EINVAL, KVSTASH_R_LAYERS, 4096,
	     "layer count, or layers not accessible; 1 to 4096 allowed (EINVAL, layers)");
	says(-EFAULT, KVSTASH_R_LAYERS, 0,
	     "layer count, or layers not accessible (EFAULT, layers)");
	says(-EINVAL, 4000000000U, 7,
	     "unknown reason 4000000000; detail 7 (EINVAL, unknown)");
	says(-EFAULT, KVSTASH_R_OK, 0, "no reason given (EFAULT, ok)");
	says(-4000, KVSTASH_R_MISS, 0, "no such key (result -4000, miss)");
	says(INT_MIN, KVSTASH_R_MISS, 0,
	     "no such key (result -2147483648, miss)");
	says(5, KVSTASH_R_MISS, 0, "no such key (result 5, miss)");
}

/* Each reason makes a sentence that names it. */
static void test_all_formats(void)
{
	for (size_t i = 1; i < NR; i++) {
		struct kvstash_result r = {
			.res = -EIO, .reason = header[i].reason, .detail = 12345
		};
		char buf[256], end[80];
		int n = kvstash_result_format(&r, buf, sizeof(buf));
		int m = snprintf(end, sizeof(end), " (EIO, %s)",
				 header[i].name);

		CHECK(n > m && n < (int)sizeof(buf));
		CHECK_STR(buf + n - m, end);
		CHECK(!strncmp(buf, kvstash_reason_text(r.reason),
			       strlen(kvstash_reason_text(r.reason))));
	}
}

void test_reason(void)
{
	test_table();
	test_unknown();
	test_format();
	test_all_formats();
}
