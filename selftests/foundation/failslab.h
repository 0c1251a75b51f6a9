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

struct ctx;	/* what the steps of a program work on: its own */

/**
 * struct step - a system call to fail in
 * @prep: make it possible; may be NULL
 * @call: make it, and nothing else
 * @undo: bring the store back to where it was, however it went; true if it is
 */
struct step {
	const char *name;
	bool (*prep)(struct ctx *c);
	struct kvstash_result (*call)(struct ctx *c);
	bool (*undo)(struct ctx *c, const struct kvstash_result *r);
};

/* What a call may say that had a failure in it. */
static inline bool fail_allowed(const struct kvstash_result *r)
{
	switch (r->res) {
	case 0:
		return r->reason == KVSTASH_R_OK;
	case -ENOMEM:
		return !r->reason || r->reason == KVSTASH_R_NO_MEMORY;
	case -EFAULT:
		return !r->reason || r->reason == KVSTASH_R_BUFFER ||
		       r->reason == KVSTASH_R_KEY_FAULT ||
		       r->reason == KVSTASH_R_SEGS_FAULT ||
		       r->reason == KVSTASH_R_DATA_FAULT ||
		       r->reason == KVSTASH_R_TAG_FAULT ||
		       r->reason == KVSTASH_R_LAYERS;
	}
	return false;
}

/* The step with each chance in turn being the failure. @fail is fail_open()'s. */
static inline void fail_each(struct __test_metadata *_metadata, const struct kvt_store *s,
			     int fail, struct ctx *c, const struct step *step)
{
	struct kvstash_result r;
	unsigned int n, left = 0;

	for (n = 1; !left && n < FAIL_LIMIT; n++) {
		ASSERT_TRUE(!step->prep || step->prep(c)) {
			TH_LOG("%s: can't be prepared", step->name);
		}
		fail_arm(fail, n);
		r = step->call(c);
		left = fail_disarm(fail);
		EXPECT_TRUE(left ? !r.res : fail_allowed(&r)) {
			TH_LOG("%s, chance %u: errno %d reason %u", step->name,
			       n, -r.res, r.reason);
		}
		ASSERT_TRUE(step->undo(c, &r)) {
			TH_LOG("%s, chance %u: errno %d reason %u, then wrong",
			       step->name, n, -r.res, r.reason);
		}
		kvt_store_same(_metadata, s);
	}
	TH_LOG("%s: %u chances", step->name, n - 2);
	EXPECT_LT(n, FAIL_LIMIT);
}

#endif
