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

void *zeros(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p) {
		printf("out of memory\n");
		exit(1);
	}
	return p;
}

char *number_keys(size_t n, __u16 *lens)
{
	char *keys = zeros(n, 10), *p = keys;

	for (__u32 i = 0; i < n; i++) {
		memcpy(p, &i, sizeof(i));
		if (lens)
			lens[i] = (__u16)(4 + i % 7);
		p += lens ? lens[i] : 8;
	}
	return keys;
}

static unsigned int stride(size_t now, size_t old)
{
	return (unsigned int)(fake.old ? old : now);
}

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

/* The first @ran of them; the rest did not run. */
static void carry_out(struct kvstash_batch *b, unsigned int size, unsigned int ran)
{
	char *p = (char *)(uintptr_t)b->entries;

	for (unsigned int i = 0; i < b->count; i++) {
		struct kvstash_result *r = (void *)(p + (size_t)i * size);

		r->res = i < ran ? 0 : -EINTR;
		r->reason = r->res ? KVSTASH_R_INTERRUPTED : KVSTASH_R_OK;
		r->detail = r->res ? 0 : ++fake.carried;
	}
	b->done = ran;
}

static int do_batch(unsigned int size, struct kvstash_batch *b)
{
	int n;

	if (b->size != sizeof(*b) || b->flags || b->stride != size)
		return fail(EPROTO);
	if (!b->count || b->count > KVSTASH_BATCH_MAX) {
		b->reason = KVSTASH_R_COUNT;
		b->field = offsetof(struct kvstash_batch, count);
		return fail(EINVAL);
	}
	n = begin_call(b->count, &b->reason, &b->field);
	carry_out(b, size, n < 0 ? fake.partly : (unsigned int)n);
	return n < 0 ? n : 0;
}

static int do_release(struct kvstash_batch *b)
{
	const struct kvstash_end *e = (void *)(uintptr_t)b->entries;
	int ret = do_batch(sizeof(*e), b);

	for (unsigned int i = 0; !ret && i < b->done; i++)
		fake.released += e[i].handle.client == FAKE_CLIENT;
	return ret;
}

/* Keys with a length each are read in their order, so it goes on from the last. */
static const char *key_at(const struct kvstash_keys *k, unsigned int i)
{
	const __u16 *lens = (const __u16 *)(uintptr_t)k->lens;
	const char *p = (const char *)(uintptr_t)k->keys;
	static unsigned int at;
	static size_t offset;

	if (!lens)
		return p + (size_t)i * k->key_len;
	if (!i || i < at) {
		at = 0;
		offset = 0;
	}
	while (at < i)
		offset += lens[at++];
	return p + offset;
}

static unsigned int key_number(const struct kvstash_keys *k, unsigned int i)
{
	__u32 number;

	memcpy(&number, key_at(k, i), sizeof(number));
	return number;
}

static void lease(const struct kvstash_keys *k, unsigned int i, int visible)
{
	struct kvstash_handle *h = (void *)(uintptr_t)k->leases;

	if (!h)
		return;
	h[i].client = visible ? FAKE_CLIENT : 0;
	h[i].seq = visible ? ++fake.leased : 0;
}

/* A signal comes before candidate @fake.stop, if that is not 0. */
static void do_candidates(struct kvstash_keys *k)
{
	struct kvstash_candidate *s = (void *)(uintptr_t)k->candidates;

	for (__u32 i = 0; i < k->nr_candidates; i++) {
		__u32 number;
		int stopped = fake.stop && i >= fake.stop;
		int visible;

		memcpy(&number, (void *)(uintptr_t)s[i].key, sizeof(number));
		visible = !stopped && number < fake.states;
		s[i].r.res = stopped ? -EINTR : visible ? 0 : -ENOENT;
		s[i].r.reason = stopped ? KVSTASH_R_INTERRUPTED :
				visible ? KVSTASH_R_OK : KVSTASH_R_MISS;
		s[i].r.detail = stopped ? 0 : ++fake.asked;
		s[i].bytes = visible ? FAKE_STATE : 0;
		s[i].lease.client = 0;
		s[i].lease.seq = 0;
		if (visible && k->flags & KVSTASH_KEYS_LEASE) {
			s[i].lease.client = FAKE_CLIENT;
			s[i].lease.seq = ++fake.leased;
		}
	}
}

/* What the header says of candidates fits together, and fits the command. */
static int candidates_ok(unsigned long cmd, const struct kvstash_keys *k)
{
	if (!k->nr_candidates)
		return !k->candidates && !k->candidate_stride;
	return cmd == KVSTASH_IOC_LOOKUP && k->candidates &&
	       k->candidate_stride == 56;
}

static int do_lookup(struct kvstash_keys *k, unsigned int n)
{
	if (k->results || k->tags || k->stride)
		return fail(EPROTO);
	do_candidates(k);
	k->done = n;
	while (k->run < n && key_number(k, k->run) < fake.visible) {
		lease(k, k->run++, 1);
		k->bytes += FAKE_OBJECT;
	}
	for (unsigned int i = k->run; i < k->count; i++)
		lease(k, i, 0);
	if (k->run < n)
		k->reason = KVSTASH_R_MISS;
	else
		k->reason = n < k->count ? KVSTASH_R_INTERRUPTED : KVSTASH_R_OK;
	return 0;
}

static int do_results(struct kvstash_keys *k, unsigned int n)
{
	char *results = (char *)(uintptr_t)k->results;
	char *tags = (char *)(uintptr_t)k->tags;

	if (!results || k->stride != stride(sizeof(struct kvstash_exists), 64))
		return fail(EPROTO);
	for (unsigned int i = 0; i < n; i++) {
		struct kvstash_exists *res = (void *)(results + i * k->stride);
		unsigned int number = key_number(k, i);

		res->r.res = number < fake.visible ? 0 : -ENOENT;
		res->r.reason = res->r.res ? KVSTASH_R_MISS : KVSTASH_R_OK;
		res->object_size = number;
		lease(k, i, !res->r.res);
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

	if (k->size != sizeof(*k) || k->done || k->run || k->bytes ||
	    (k->pin && cmd != KVSTASH_IOC_PIN) ||
	    (k->count && !(k->flags & KVSTASH_KEYS_LEASE) != !k->leases) ||
	    !candidates_ok(cmd, k))
		return fail(EPROTO);
	if (k->nr_candidates > KVSTASH_CANDIDATES_MAX) {
		k->reason = KVSTASH_R_COUNT;
		k->field = offsetof(struct kvstash_keys, nr_candidates);
		return fail(EINVAL);
	}
	if ((!k->count && !k->nr_candidates) || k->count > KVSTASH_BATCH_MAX) {
		k->reason = KVSTASH_R_COUNT;
		k->field = offsetof(struct kvstash_keys, count);
		return fail(EINVAL);
	}
	n = begin_call(k->count, &k->reason, &k->field);
	if (n < 0) {
		k->done = fake.partly;
		return n;
	}
	if (cmd == KVSTASH_IOC_PIN)
		fake.pin = k->pin;
	if (cmd == KVSTASH_IOC_LOOKUP)
		return do_lookup(k, (unsigned int)n);
	if (cmd != KVSTASH_IOC_EXISTS && k->tags)
		return fail(EPROTO);
	return do_results(k, (unsigned int)n);
}

/* Keeps what was asked for; there are FAKE_LAYOUTS of 3 layers each. */
static int do_layout(unsigned long cmd, struct kvstash_layout *l)
{
	int next = l->flags & KVSTASH_LAYOUT_NEXT;

	fake.cmd = cmd;
	fake.layout = *l;
	l->detail = FAKE_DETAIL;
	if (begin_call(1, &l->reason, &l->field) < 0)
		return -1;
	if (next && l->id >= FAKE_LAYOUTS) {
		l->reason = KVSTASH_R_LAYOUT_UNKNOWN;
		return fail(ENOENT);
	}
	l->detail = 0;
	l->id = next ? l->id + 1 : 1;
	if (next)
		l->fingerprint[0] = (unsigned char)l->id;
	if (cmd == KVSTASH_IOC_LAYOUT_GET)
		l->nr_layers = 3;
	l->slots = FAKE_SLOTS;
	l->hits = 9;
	return 0;
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
		return do_batch(stride(sizeof(struct kvstash_put), 104), arg);
	case KVSTASH_IOC_WRITE:
		return do_batch(sizeof(struct kvstash_write), arg);
	case KVSTASH_IOC_COMMIT:
	case KVSTASH_IOC_ABORT:
		return do_batch(sizeof(struct kvstash_end), arg);
	case KVSTASH_IOC_GET:
		return do_batch(stride(sizeof(struct kvstash_get), 72), arg);
	case KVSTASH_IOC_RELEASE:
		return do_release(arg);
	case KVSTASH_IOC_LAYOUT_ADD:
	case KVSTASH_IOC_LAYOUT_GET:
	case KVSTASH_IOC_LAYOUT_SET:
	case KVSTASH_IOC_LAYOUT_DEL:
		return do_layout(cmd, arg);
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
