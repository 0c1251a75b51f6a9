/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fault injection: the n-th allocation, or copy to or from user space, of a
 * system call fails. Needs a kernel with /proc/self/fail-nth.
 */
#ifndef KVSTASH_FAILSLAB_H
#define KVSTASH_FAILSLAB_H

#define KVT_STORE
#include <kvstash_test.h>

/* More chances to fail than any call here has. */
#define FAIL_LIMIT	100000U

/* A descriptor for the calling task, or a negative errno. */
static inline int fail_open(void)
{
	int fd = open("/proc/self/fail-nth", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * From now on: the @n-th chance is a failure; 0: none is. Writing is a chance of
 * the failure that is armed, and then not of another.
 */
static inline void fail_arm(int fd, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(fd, text, len, 0) != len && pwrite(fd, text, len, 0) != len)
		abort();
}

/*
 * The chances left before the failure, and no failure from now on; 0 if it has
 * happened. Reading is a chance itself: if that one failed, it was not the call.
 */
static inline unsigned int fail_disarm(int fd)
{
	char text[16] = "";
	ssize_t r = pread(fd, text, sizeof(text) - 1, 0);
	unsigned int left = r <= 0 ? 1 : strtoul(text, NULL, 10);

	fail_arm(fd, 0);
	return left;
}

#endif
