// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * libkvstash: clients, and why a call of theirs failed
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib.h"

/* A client is used by many threads at once, so its refusals are a thread's. */
static __thread struct {
	const struct kvstash *client;
	__u32 reason;
	__u32 field;
} refusal;

void kvstash_refused(const struct kvstash *c, __u32 reason, __u32 field)
{
	refusal.client = c;
	refusal.reason = reason;
	refusal.field = field;
}

void kvstash_last_refusal(const struct kvstash *c, unsigned int *reason,
			  unsigned int *field)
{
	int mine = refusal.client == c;

	if (reason)
		*reason = mine ? refusal.reason : KVSTASH_R_OK;
	if (field)
		*field = mine ? refusal.field : 0;
}

int kvstash_call(struct kvstash *c, unsigned long cmd, void *arg)
{
	kvstash_refused(c, KVSTASH_R_OK, 0);
	return ioctl(c->fd, cmd, arg) < 0 ? -errno : 0;
}

int kvstash_query(struct kvstash *c, struct kvstash_query *out)
{
	memset(out, 0, sizeof(*out));
	out->size = sizeof(*out);
	return kvstash_call(c, KVSTASH_IOC_QUERY, out);
}

int kvstash_from_fd(int fd, struct kvstash **out)
{
	struct kvstash_query q;
	struct kvstash *c;
	int ret;

	c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->fd = fd;
	/* Other files may know the number of a command: look at the answer. */
	ret = kvstash_query(c, &q);
	if (!ret && !q.abi)
		ret = -ENOTTY;
	if (ret) {
		free(c);
		return ret;
	}
	*out = c;
	return 0;
}

int kvstash_open(struct kvstash **out, const char *path, int flags)
{
	int fd, ret;

	fd = open(path ? path : KVSTASH_DEVICE,
		  flags ? flags : O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = kvstash_from_fd(fd, out);
	if (ret)
		close(fd);
	return ret;
}

void kvstash_close(struct kvstash *c)
{
	if (!c)
		return;
	/* The next client may get the same address. */
	kvstash_refused(NULL, KVSTASH_R_OK, 0);
	close(c->fd);
	free(c);
}

int kvstash_fd(const struct kvstash *c)
{
	return c->fd;
}

int kvstash_bind(struct kvstash *c, const char *ns)
{
	struct kvstash_bind b = { .size = sizeof(b) };
	size_t len = strlen(ns);
	int ret;

	if (len >= sizeof(b.ns)) {
		kvstash_refused(c, KVSTASH_R_NAME,
				offsetof(struct kvstash_bind, ns));
		return -EINVAL;
	}
	memcpy(b.ns, ns, len);
	ret = kvstash_call(c, KVSTASH_IOC_BIND, &b);
	if (ret)
		kvstash_refused(c, b.reason, b.reason ?
				offsetof(struct kvstash_bind, ns) : 0);
	return ret;
}
