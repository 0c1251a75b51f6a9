// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Unit tests of libkvstash, without a device
 */
#include <string.h>

#include "check.h"

static int passed, failed;

static void count(int ok)
{
	if (ok)
		passed++;
	else
		failed++;
}

void check(int ok, const char *what, const char *file, int line)
{
	count(ok);
	if (!ok)
		printf("%s:%d: not so: %s\n", file, line, what);
}

void check_eq(long long a, long long b, const char *what, const char *file,
	      int line)
{
	count(a == b);
	if (a != b)
		printf("%s:%d: %s is %lld, not %lld\n", file, line, what, a, b);
}

void check_str(const char *a, const char *b, const char *what,
	       const char *file, int line)
{
	count(!strcmp(a, b));
	if (strcmp(a, b))
		printf("%s:%d: %s is \"%s\", not \"%s\"\n", file, line, what,
		       a, b);
}

int main(void)
{
	test_reason();
	test_build();
	test_client();
	test_batch();
	test_lease();
	test_candidate();
	test_compat();
	test_member();
	test_state();
	test_layout();
	test_layer();
	test_ring();
	test_resume();
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
