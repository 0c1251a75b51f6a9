/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * libkvstash: what its own files share
 */
#ifndef KVSTASH_LIB_H
#define KVSTASH_LIB_H

#include <kvstash.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct kvstash {
	int fd;
};

/* One ioctl; 0 or a negative errno. Forgets this thread's last refusal. */
int kvstash_call(struct kvstash *c, unsigned long cmd, void *arg);

/* Keep why a call of this thread failed. */
void kvstash_refused(const struct kvstash *c, __u32 reason, __u32 field);

/* One call of a batch whose entries have @stride bytes, as kvstash_put(). */
int kvstash_batch_call(struct kvstash *c, unsigned long cmd, void *entries,
		       unsigned int n, unsigned int stride);

#endif /* KVSTASH_LIB_H */
