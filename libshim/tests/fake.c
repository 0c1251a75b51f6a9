// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A fake of the device: enough of its rules to see what the library asks
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

struct fake fake;

static int fail(int err)
{
	errno = err;
	return -1;
}

/* How many of @count entries this call carries out; -1 if it fails. */
static int begin_call(unsigned int count, __u32 *reason, __u32 *field)
{
	unsigned int call = ++fake.calls;

	if (call <= FAKE_CALLS)
		fake.count[call] = count;
	if (call == fake.eintr)
		return fail(EINTR);
	if (call == fake.bad) {
		*reason = fake.reason;
		*field = fake.field;
		return fail(fake.err);
	}
	if (fake.signal && fake.signal < count)
		return (int)fake.signal;
	return (int)count;
}

static int do_batch(unsigned int stride, struct kvstash_batch *b)
{
	char *p = (char *)(uintptr_t)b->entries;
	int n;

	if (b->size != sizeof(*b) || b->flags || b->stride != stride)
		return fail(EPROTO);
	if (!b->count || b->count > KVSTASH_BATCH_MAX) {
		b->reason = KVSTASH_R_COUNT;
		b->field = offsetof(struct kvstash_batch, count);
		return fail(EINVAL);
	}
	n = begin_call(b->count, &b->reason, &b->field);
	if (n < 0)
		return n;
	for (unsigned int i = 0; i < b->count; i++) {
		struct kvstash_result *r = (void *)(p + (size_t)i * stride);

		r->res = i < (unsigned int)n ? 0 : -EINTR;
		r->reason = r->res ? KVSTASH_R_INTERRUPTED : KVSTASH_R_OK;
		r->detail = r->res ? 0 : ++fake.carried;
	}
	b->done = (__u32)n;
	return 0;
}

static const char *key_at(const struct kvstash_keys *k, unsigned int i)
{
	const __u16 *lens = (const __u16 *)(uintptr_t)k->lens;
	const char *p = (const char *)(uintptr_t)k->keys;

	if (!lens)
		return p + (size_t)i * k->key_len;
	while (i--)
		p += *lens++;
	return p;
}

static unsigned int key_number(const struct kvstash_keys *k, unsigned int i)
{
	__u32 number;

	memcpy(&number, key_at(k, i), sizeof(number));
	return number;
}

static int do_lookup(struct kvstash_keys *k, unsigned int n)
{
	if (k->results || k->tags || k->stride)
		return fail(EPROTO);
	k->done = n;
	for (k->run = 0; k->run < n; k->run++) {
		if (key_number(k, k->run) >= fake.visible) {
			k->reason = KVSTASH_R_MISS;
			return 0;
		}
		k->bytes += FAKE_OBJECT;
	}
	k->reason = n < k->count ? KVSTASH_R_INTERRUPTED : KVSTASH_R_OK;
	return 0;
}

static int do_results(struct kvstash_keys *k, unsigned int n)
{
	struct kvstash_exists *res = (void *)(uintptr_t)k->results;
	char *tags = (char *)(uintptr_t)k->tags;

	if (!res || k->stride != sizeof(*res))
		return fail(EPROTO);
	for (unsigned int i = 0; i < n; i++) {
		unsigned int number = key_number(k, i);

		res[i].r.res = number < fake.visible ? 0 : -ENOENT;
		res[i].r.reason = res[i].r.res ? KVSTASH_R_MISS : KVSTASH_R_OK;
		res[i].object_size = number;
		if (tags)
			memcpy(tags + (size_t)i * KVSTASH_TAG_MAX, &number,
			       sizeof(number));
	}
	k->done = n;
	return 0;
}

static int do_keys(unsigned long cmd, struct kvstash_keys *k)
{
	int n;

	if (k->size != sizeof(*k) || k->done || k->run || k->bytes)
		return fail(EPROTO);
	if (!k->count || k->count > KVSTASH_BATCH_MAX) {
		k->reason = KVSTASH_R_COUNT;
		k->field = offsetof(struct kvstash_keys, count);
		return fail(EINVAL);
	}
	n = begin_call(k->count, &k->reason, &k->field);
	if (n < 0)
		return n;
	if (cmd == KVSTASH_IOC_LOOKUP)
		return do_lookup(k, (unsigned int)n);
	if (cmd == KVSTASH_IOC_REMOVE && k->tags)
		return fail(EPROTO);
	return do_results(k, (unsigned int)n);
}

static int do_bind(struct kvstash_bind *b)
{
	if (b->size != sizeof(*b) || b->flags || b->reserved)
		return fail(EPROTO);
	if (strcmp(b->ns, "default")) {
		b->reason = KVSTASH_R_NO_NAMESPACE;
		return fail(ENODEV);
	}
	return 0;
}

int __wrap_ioctl(int fd, unsigned long cmd, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fd != fake.fd)
		return __real_ioctl(fd, cmd, arg);
	switch (cmd) {
	case KVSTASH_IOC_QUERY:
		((struct kvstash_query *)arg)->abi = KVSTASH_ABI_VERSION;
		return 0;
	case KVSTASH_IOC_BIND:
		return do_bind(arg);
	case KVSTASH_IOC_PUT:
	case KVSTASH_IOC_RESERVE:
		return do_batch(sizeof(struct kvstash_put), arg);
	case KVSTASH_IOC_WRITE:
		return do_batch(sizeof(struct kvstash_write), arg);
	case KVSTASH_IOC_COMMIT:
	case KVSTASH_IOC_ABORT:
		return do_batch(sizeof(struct kvstash_end), arg);
	case KVSTASH_IOC_GET:
		return do_batch(sizeof(struct kvstash_get), arg);
	default:
		return do_keys(cmd, arg);
	}
}

struct kvstash *fake_open(void)
{
	struct kvstash *c = NULL;

	memset(&fake, 0, sizeof(fake));
	fake.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fake.fd < 0 || kvstash_from_fd(fake.fd, &c)) {
		printf("cannot open the fake\n");
		exit(1);
	}
	return c;
}
