/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvstash: what all test programs share
 *
 * Include this in place of kselftest_harness.h. The calls here are bare ioctls,
 * not the library's, so that a test sees what the kernel says. Functions begin
 * with kvt_ and come in two sorts:
 *  - those that take @_metadata assert, and may be used in the process of the
 *    test only (not in a child that it forked);
 *  - the others return a negative errno or a struct kvstash_result.
 *
 * Environment, set by the runner:
 *  KVSTASH_KO  path of kvstash.ko, for tests that load it again
 *  SLOW        how many times slower than native the bed is: kvt_rounds()
 */
#ifndef KVSTASH_TEST_H
#define KVSTASH_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <linux/genetlink.h>
#include <linux/kvstash.h>
#include <linux/kvstash_netlink.h>
#include <linux/netlink.h>

#include <kselftest_harness.h>
#include <kvstash.h>

/* Detects a hang, and only that: the beds are slow. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	1200

#define KVT_POOL	"/proc/kvstash/pool/pool0"
#define KVT_NS		"/proc/kvstash/ns/default"
#define KVT_CHECK	"/sys/kernel/debug/kvstash/check"
#define KVT_PAGE	4096UL

#define KVT_LEN(a)	(sizeof(a) / sizeof((a)[0]))

/* Bytes of the pool that a part of @len bytes takes. */
static inline __u64 kvt_pages(__u64 len)
{
	return (len + KVT_PAGE - 1) & ~(KVT_PAGE - 1);
}

/* Rounds where the text demands no number: fewer in a slow bed, at least 1. */
static inline unsigned long kvt_rounds(unsigned long n)
{
	const char *s = getenv("SLOW");
	unsigned long slow = s ? strtoul(s, NULL, 0) : 1;

	if (slow < 1)
		slow = 1;
	return n / slow ? n / slow : 1;
}

/*
 * Bytes: a deterministic pattern
 *
 * Byte @off of pattern @seed does not depend on where a buffer begins, so that
 * any range of a part can be filled or verified by itself.
 */

static inline __u64 kvt_word(__u64 seed, __u64 i)
{
	__u64 z = seed * 0x9e3779b97f4a7c15ULL + i * 0xbf58476d1ce4e5b9ULL + 1;

	z = (z ^ (z >> 29)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 32);
}

static inline unsigned char kvt_byte(__u64 seed, __u64 off)
{
	return kvt_word(seed, off / 8) >> (off % 8 * 8);
}

static inline void kvt_fill_at(void *buf, size_t len, __u64 seed, __u64 off)
{
	unsigned char *p = buf;
	__u64 w;

	for (; len && off % 8; len--)
		*p++ = kvt_byte(seed, off++);
	for (; len >= 8; len -= 8, p += 8, off += 8) {
		w = kvt_word(seed, off / 8);
		memcpy(p, &w, 8);
	}
	for (; len; len--)
		*p++ = kvt_byte(seed, off++);
}

static inline void kvt_fill(void *buf, size_t len, __u64 seed)
{
	kvt_fill_at(buf, len, seed, 0);
}

/* Index of the first byte that is not that of the pattern, or -1. */
static inline ssize_t kvt_verify_at(const void *buf, size_t len, __u64 seed,
				    __u64 off)
{
	const unsigned char *p = buf;
	size_t i = 0;
	__u64 w;

	while (i < len) {
		if (off % 8 == 0 && len - i >= 8) {
			w = kvt_word(seed, off / 8);
			if (!memcmp(p + i, &w, 8)) {
				i += 8;
				off += 8;
				continue;
			}
		}
		if (p[i] != kvt_byte(seed, off))
			return i;
		i++;
		off++;
	}
	return -1;
}

static inline ssize_t kvt_verify(const void *buf, size_t len, __u64 seed)
{
	return kvt_verify_at(buf, len, seed, 0);
}

/*
 * Memory
 */

/* Zeroed pages, or NULL. */
static inline void *kvt_map(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* @len bytes that end exactly where memory that faults begins. */
static inline void *kvt_map_edge(size_t len)
{
	size_t room = kvt_pages(len);
	char *p = kvt_map(room + KVT_PAGE);

	if (!p)
		return NULL;
	if (mprotect(p + room, KVT_PAGE, PROT_NONE))
		return NULL;
	return p + room - len;
}

/* Sets a member, of 1, 2, 4 or 8 bytes, to the low bytes of @v. */
static inline void kvt_poke(void *base, size_t off, size_t width, __u64 v)
{
	memcpy((char *)base + off, &v, width);
}

#define KVT_CANARY	256UL
#define KVT_CANARY_BYTE	0xc5

/* A target: @len bytes of KVT_CANARY_BYTE, with as many as KVT_CANARY beside. */
static inline unsigned char *kvt_target(size_t len)
{
	unsigned char *p = malloc(len + 2 * KVT_CANARY);

	if (!p)
		return NULL;
	memset(p, KVT_CANARY_BYTE, len + 2 * KVT_CANARY);
	return p + KVT_CANARY;
}

static inline bool kvt_untouched(const unsigned char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != KVT_CANARY_BYTE)
			return false;
	return true;
}

/* Are the bytes on both sides of a target as they were? */
static inline bool kvt_target_guarded(const unsigned char *p, size_t len)
{
	return kvt_untouched(p - KVT_CANARY, KVT_CANARY) &&
	       kvt_untouched(p + len, KVT_CANARY);
}

static inline void kvt_target_free(unsigned char *p)
{
	if (p)
		free(p - KVT_CANARY);
}

/*
 * Calls
 */

/* The result of the system call, or a negative errno. */
static inline int kvt_ioctl(int fd, unsigned long cmd, const void *arg)
{
	int r = ioctl(fd, cmd, arg);

	return r < 0 ? -errno : r;
}

static inline int kvt_open_flags(int flags)
{
	int fd = open(KVSTASH_DEVICE, flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static inline int kvt_open(void)
{
	return kvt_open_flags(O_RDWR);
}

static inline struct kvstash_result kvt_bind(int fd, const char *ns)
{
	struct kvstash_bind b = { .size = sizeof(b) };
	struct kvstash_result r = { 0 };

	memcpy(b.ns, ns, strnlen(ns, sizeof(b.ns)));
	r.res = kvt_ioctl(fd, KVSTASH_IOC_BIND, &b);
	r.reason = b.reason;
	return r;
}

/* A client of namespace @ns: a descriptor or a negative errno. */
static inline int kvt_open_ns(const char *ns)
{
	int fd = kvt_open(), r;

	if (fd < 0)
		return fd;
	r = kvt_bind(fd, ns).res;
	if (r) {
		close(fd);
		return r;
	}
	return fd;
}

static inline int kvt_query(int fd, struct kvstash_query *q)
{
	memset(q, 0, sizeof(*q));
	q->size = sizeof(*q);
	return kvt_ioctl(fd, KVSTASH_IOC_QUERY, q);
}

/* @b gets the header as the kernel left it; 0 or a negative errno. */
static inline int kvt_batch_hdr(int fd, unsigned long cmd, const void *entries,
				__u32 count, __u32 stride,
				struct kvstash_batch *b)
{
	memset(b, 0, sizeof(*b));
	b->size = sizeof(*b);
	b->entries = kvstash_addr(entries);
	b->count = count;
	b->stride = stride;
	return kvt_ioctl(fd, cmd, b);
}

/* Entries carried out, or the negative errno of the call as a whole. */
static inline int kvt_batch(int fd, unsigned long cmd, const void *entries,
			    __u32 count, __u32 stride)
{
	struct kvstash_batch b;
	int r = kvt_batch_hdr(fd, cmd, entries, count, stride, &b);

	return r < 0 ? r : (int)b.done;
}

static inline int kvt_put(int fd, struct kvstash_put *e, __u32 n)
{
	return kvt_batch(fd, KVSTASH_IOC_PUT, e, n, sizeof(*e));
}

static inline int kvt_reserve(int fd, struct kvstash_put *e, __u32 n)
{
	return kvt_batch(fd, KVSTASH_IOC_RESERVE, e, n, sizeof(*e));
}

static inline int kvt_write(int fd, struct kvstash_write *e, __u32 n)
{
	return kvt_batch(fd, KVSTASH_IOC_WRITE, e, n, sizeof(*e));
}

static inline int kvt_commit(int fd, struct kvstash_end *e, __u32 n)
{
	return kvt_batch(fd, KVSTASH_IOC_COMMIT, e, n, sizeof(*e));
}

static inline int kvt_abort(int fd, struct kvstash_end *e, __u32 n)
{
	return kvt_batch(fd, KVSTASH_IOC_ABORT, e, n, sizeof(*e));
}

static inline int kvt_release(int fd, struct kvstash_end *e, __u32 n)
{
	return kvt_batch(fd, KVSTASH_IOC_RELEASE, e, n, sizeof(*e));
}

static inline int kvt_get(int fd, struct kvstash_get *e, __u32 n)
{
	return kvt_batch(fd, KVSTASH_IOC_GET, e, n, sizeof(*e));
}

/* As kvt_batch(); @k is built by kvstash_prep_keys(). */
static inline int kvt_exists(int fd, struct kvstash_keys *k,
			     struct kvstash_exists *res)
{
	int r;

	k->results = kvstash_addr(res);
	k->stride = sizeof(*res);
	r = kvt_ioctl(fd, KVSTASH_IOC_EXISTS, k);
	return r < 0 ? r : (int)k->done;
}

static inline int kvt_remove(int fd, struct kvstash_keys *k,
			     struct kvstash_exists *res)
{
	int r;

	k->results = kvstash_addr(res);
	k->stride = sizeof(*res);
	r = kvt_ioctl(fd, KVSTASH_IOC_REMOVE, k);
	return r < 0 ? r : (int)k->done;
}

/* The run, or a negative errno. */
static inline int kvt_lookup(int fd, struct kvstash_keys *k)
{
	int r = kvt_ioctl(fd, KVSTASH_IOC_LOOKUP, k);

	return r < 0 ? r : (int)k->run;
}

/* @k->pin is what is asked for. */
static inline int kvt_pin(int fd, struct kvstash_keys *k,
			  struct kvstash_exists *res)
{
	int r;

	k->results = kvstash_addr(res);
	k->stride = sizeof(*res);
	r = kvt_ioctl(fd, KVSTASH_IOC_PIN, k);
	return r < 0 ? r : (int)k->done;
}

/* EXISTS and LOOKUP that lease what is visible: @leases has one a key. */
static inline int kvt_exists_lease(int fd, struct kvstash_keys *k,
				   struct kvstash_exists *res,
				   struct kvstash_handle *leases)
{
	k->flags |= KVSTASH_KEYS_LEASE;
	k->leases = kvstash_addr(leases);
	return kvt_exists(fd, k, res);
}

static inline int kvt_lookup_lease(int fd, struct kvstash_keys *k,
				   struct kvstash_handle *leases)
{
	k->flags |= KVSTASH_KEYS_LEASE;
	k->leases = kvstash_addr(leases);
	return kvt_lookup(fd, k);
}

/*
 * One entry a call. If the call as a whole failed, the result is made of its
 * errno and of the header: @detail is then the field.
 */

static inline struct kvstash_result kvt_one(int fd, unsigned long cmd, void *e,
					    __u32 stride)
{
	struct kvstash_result *r = e;
	struct kvstash_batch b;
	int err = kvt_batch_hdr(fd, cmd, e, 1, stride, &b);

	if (err < 0)
		return (struct kvstash_result){ err, b.reason, b.field };
	return *r;
}

static inline struct kvstash_result kvt_put_one(int fd, struct kvstash_put *e)
{
	return kvt_one(fd, KVSTASH_IOC_PUT, e, sizeof(*e));
}

static inline struct kvstash_result kvt_reserve_one(int fd,
						    struct kvstash_put *e)
{
	return kvt_one(fd, KVSTASH_IOC_RESERVE, e, sizeof(*e));
}

static inline struct kvstash_result kvt_get_one(int fd, struct kvstash_get *e)
{
	return kvt_one(fd, KVSTASH_IOC_GET, e, sizeof(*e));
}

/* An object of one part. */
static inline struct kvstash_result kvt_put1(int fd, const void *key,
					     size_t key_len, const void *buf,
					     __u64 len)
{
	struct kvstash_put e;

	kvstash_prep_put(&e, key, key_len, buf, len);
	return kvt_put_one(fd, &e);
}

static inline struct kvstash_result kvt_reserve1(int fd, const void *key,
						 size_t key_len, __u64 len,
						 struct kvstash_handle *h)
{
	struct kvstash_result r;
	struct kvstash_put e;

	kvstash_prep_reserve(&e, key, key_len, len);
	r = kvt_reserve_one(fd, &e);
	if (h)
		*h = e.handle;
	return r;
}

static inline struct kvstash_result kvt_write1(int fd,
					       const struct kvstash_handle *h,
					       __u64 off, const void *buf,
					       __u64 len)
{
	struct kvstash_write e;

	kvstash_prep_write(&e, h, off, buf, len);
	return kvt_one(fd, KVSTASH_IOC_WRITE, &e, sizeof(e));
}

static inline struct kvstash_result kvt_commit1(int fd,
						const struct kvstash_handle *h)
{
	struct kvstash_end e;

	kvstash_prep_end(&e, h);
	return kvt_one(fd, KVSTASH_IOC_COMMIT, &e, sizeof(e));
}

static inline struct kvstash_result kvt_abort1(int fd,
					       const struct kvstash_handle *h)
{
	struct kvstash_end e;

	kvstash_prep_end(&e, h);
	return kvt_one(fd, KVSTASH_IOC_ABORT, &e, sizeof(e));
}

static inline struct kvstash_result kvt_release1(int fd,
						 const struct kvstash_handle *h)
{
	struct kvstash_end e;

	kvstash_prep_end(&e, h);
	return kvt_one(fd, KVSTASH_IOC_RELEASE, &e, sizeof(e));
}

/* @bytes gets what was written to @buf; may be NULL. */
static inline struct kvstash_result kvt_get1(int fd, const void *key,
					     size_t key_len, void *buf,
					     __u64 len, __u64 *bytes)
{
	struct kvstash_result r;
	struct kvstash_get e;

	kvstash_prep_get(&e, key, key_len, buf, len);
	r = kvt_get_one(fd, &e);
	if (bytes)
		*bytes = e.bytes;
	return r;
}

/* The same, and a lease in @h. @buf may be NULL, then only that is asked for. */
static inline struct kvstash_result kvt_get_lease1(int fd, const void *key,
						   size_t key_len, void *buf,
						   __u64 len, __u64 *bytes,
						   struct kvstash_handle *h)
{
	struct kvstash_result r;
	struct kvstash_get e;

	kvstash_prep_get(&e, key, key_len, buf, len);
	e.flags = KVSTASH_GET_LEASE;
	r = kvt_get_one(fd, &e);
	if (bytes)
		*bytes = e.bytes;
	*h = e.lease;
	return r;
}

/* What lease @h is on, visible or not. */
static inline struct kvstash_result kvt_get_by_lease1(int fd,
						      const struct kvstash_handle *h,
						      void *buf, __u64 len,
						      __u64 *bytes)
{
	struct kvstash_result r;
	struct kvstash_get e;

	kvstash_prep_get(&e, NULL, 0, buf, len);
	e.flags = KVSTASH_GET_BY_LEASE;
	e.lease = *h;
	r = kvt_get_one(fd, &e);
	if (bytes)
		*bytes = e.bytes;
	return r;
}

static inline struct kvstash_result kvt_exists1(int fd, const void *key,
						size_t key_len,
						struct kvstash_exists *out)
{
	struct kvstash_exists x = { 0 };
	struct kvstash_keys k;
	int err;

	kvstash_prep_keys(&k, key, key_len, 1);
	err = kvt_exists(fd, &k, &x);
	if (err < 0)
		x.r = (struct kvstash_result){ err, k.reason, k.field };
	if (out)
		*out = x;
	return x.r;
}

/* The same, and a lease in @h. */
static inline struct kvstash_result kvt_exists_lease1(int fd, const void *key,
						      size_t key_len,
						      struct kvstash_exists *out,
						      struct kvstash_handle *h)
{
	struct kvstash_exists x = { 0 };
	struct kvstash_keys k;
	int err;

	kvstash_prep_keys(&k, key, key_len, 1);
	err = kvt_exists_lease(fd, &k, &x, h);
	if (err < 0)
		x.r = (struct kvstash_result){ err, k.reason, k.field };
	if (out)
		*out = x;
	return x.r;
}

/* KVSTASH_STATE_* of a key, or a negative errno. */
static inline int kvt_state(int fd, const void *key, size_t key_len)
{
	struct kvstash_exists x;
	struct kvstash_result r = kvt_exists1(fd, key, key_len, &x);

	return !r.res || r.res == -ENOENT ? (int)x.state : r.res;
}

static inline struct kvstash_result kvt_remove1(int fd, const void *key,
						size_t key_len)
{
	struct kvstash_exists x = { 0 };
	struct kvstash_keys k;
	int err;

	kvstash_prep_keys(&k, key, key_len, 1);
	err = kvt_remove(fd, &k, &x);
	if (err < 0)
		x.r = (struct kvstash_result){ err, k.reason, k.field };
	return x.r;
}

/* @pin is KVSTASH_PIN_*. */
static inline struct kvstash_result kvt_pin1(int fd, const void *key,
					     size_t key_len, __u8 pin)
{
	struct kvstash_exists x = { 0 };
	struct kvstash_keys k;
	int err;

	kvstash_prep_keys(&k, key, key_len, 1);
	k.pin = pin;
	err = kvt_pin(fd, &k, &x);
	if (err < 0)
		x.r = (struct kvstash_result){ err, k.reason, k.field };
	return x.r;
}

/*
 * Figures of the module
 */

/* A whole file, NUL-terminated, in one read. Bytes or a negative errno. */
static inline ssize_t kvt_slurp(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t r = 0;

	if (fd < 0)
		return -errno;
	while (have < len - 1) {
		r = read(fd, buf + have, len - 1 - have);
		if (r <= 0)
			break;
		have += r;
	}
	if (r < 0)
		r = -errno;
	close(fd);
	buf[have] = '\0';
	return r < 0 ? r : (ssize_t)have;
}

/* The value of line `name value` in the text of a file. */
static inline int kvt_line(const char *text, const char *name, __u64 *v)
{
	size_t n = strlen(name);

	while (*text) {
		if (!strncmp(text, name, n) &&
		    (text[n] == ' ' || text[n] == '\t' || text[n] == ':')) {
			*v = strtoull(text + n + 1, NULL, 0);
			return 0;
		}
		text = strchr(text, '\n');
		if (!text)
			break;
		text++;
	}
	return -ENOENT;
}

static inline int kvt_figure(const char *path, const char *name, __u64 *v)
{
	char text[8192];
	ssize_t r = kvt_slurp(path, text, sizeof(text));

	return r < 0 ? (int)r : kvt_line(text, name, v);
}

/* A figure of pool0, or ~0 if there is no such. */
static inline __u64 kvt_pool(const char *name)
{
	__u64 v;

	return kvt_figure(KVT_POOL, name, &v) ? ~0ULL : v;
}

/* A figure of namespace "default", or ~0 if there is no such. */
static inline __u64 kvt_ns(const char *name)
{
	__u64 v;

	return kvt_figure(KVT_NS, name, &v) ? ~0ULL : v;
}

/** struct kvt_counts - one sample of a pool */
struct kvt_counts {
	__u64 total;
	__u64 free;
	__u64 committed;
	__u64 in_flight;
	__u64 held;
	__u64 objects;
	__u64 evictions;
};

static inline int kvt_counts_of(const char *path, struct kvt_counts *c)
{
	const struct {
		const char *name;
		__u64 *v;
	} lines[] = {
		{ "total_bytes", &c->total },
		{ "free_bytes", &c->free },
		{ "committed_bytes", &c->committed },
		{ "in_flight_bytes", &c->in_flight },
		{ "held_bytes", &c->held },
		{ "objects", &c->objects },
		{ "evictions", &c->evictions },
	};
	char text[8192];
	ssize_t r = kvt_slurp(path, text, sizeof(text));

	if (r < 0)
		return r;
	for (size_t i = 0; i < KVT_LEN(lines); i++) {
		r = kvt_line(text, lines[i].name, lines[i].v);
		if (r)
			return r;
	}
	return 0;
}

static inline int kvt_counts(struct kvt_counts *c)
{
	return kvt_counts_of(KVT_POOL, c);
}

/* I6: does one sample add up? */
static inline bool kvt_i6(const struct kvt_counts *c)
{
	return c->free + c->committed + c->in_flight + c->held == c->total &&
	       c->free <= c->total && c->committed <= c->total &&
	       c->in_flight <= c->total && c->held <= c->total;
}

/* 0 if the store is consistent; else @why says what is not. */
static inline int kvt_check(char *why, size_t len)
{
	ssize_t r = kvt_slurp(KVT_CHECK, why, len);

	if (r < 0) {
		snprintf(why, len, "%s: %s", KVT_CHECK, strerror(-r));
		return r;
	}
	return strncmp(why, "ok", 2) || (why[2] && why[2] != '\n') ? -EUCLEAN : 0;
}

/* Asserts I6 and the consistency of the store. */
static inline void kvt_sane(struct __test_metadata *_metadata)
{
	struct kvt_counts c;
	char why[4096];

	ASSERT_EQ(0, kvt_counts(&c));
	EXPECT_TRUE(kvt_i6(&c)) {
		TH_LOG("I6: free %llu + committed %llu + in flight %llu + held %llu, total %llu",
		       c.free, c.committed, c.in_flight, c.held, c.total);
	}
	EXPECT_EQ(0, kvt_check(why, sizeof(why))) {
		TH_LOG("check: %s", why);
	}
}

/* Asserts a result: errno (positive) and reason. */
#define KVT_EXPECT(err, why, result) do { \
	struct kvstash_result _r = (result); \
	EXPECT_EQ(-(err), _r.res) { \
		TH_LOG("%s: errno %d reason %u detail %llu", #result, \
		       -_r.res, _r.reason, _r.detail); \
	} \
	EXPECT_EQ((__u32)(why), _r.reason) { \
		TH_LOG("%s: errno %d reason %u detail %llu", #result, \
		       -_r.res, _r.reason, _r.detail); \
	} \
} while (0)

#define KVT_OK(result)	KVT_EXPECT(0, KVSTASH_R_OK, result)

/*
 * A snapshot of the store: that a refused call changed nothing
 *
 * It holds the counts and, for the keys given, what EXISTS says, the tag and
 * (if visible) a sum over the bytes.
 */

#define KVT_SNAP_KEYS	16
#define KVT_SNAP_KEY	64

struct kvt_snap {
	struct kvt_counts c;
	unsigned int nr;
	char key[KVT_SNAP_KEYS][KVT_SNAP_KEY];
	struct kvstash_exists x[KVT_SNAP_KEYS];
	char tag[KVT_SNAP_KEYS][KVSTASH_TAG_MAX];
	__u64 sum[KVT_SNAP_KEYS];
};

static inline __u64 kvt_sum(const unsigned char *p, size_t len)
{
	__u64 sum = 1469598103934665603ULL, w;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&w, p, 8);
		sum = (sum ^ w) * 1099511628211ULL;
	}
	for (; len; len--)
		sum = (sum ^ *p++) * 1099511628211ULL;
	return sum;
}

/* Name a key, a string, whose object the snapshot shall hold. */
static inline void kvt_snap_key(struct kvt_snap *s, const char *key)
{
	snprintf(s->key[s->nr++ % KVT_SNAP_KEYS], KVT_SNAP_KEY, "%s", key);
}

static inline int kvt_snap_object(struct kvt_snap *s, int fd, unsigned int i)
{
	struct kvstash_keys k;
	struct kvstash_result r;
	unsigned char *buf;
	int err;

	memset(&s->x[i], 0, sizeof(s->x[i]));
	memset(s->tag[i], 0, sizeof(s->tag[i]));
	s->sum[i] = 0;
	kvstash_prep_keys(&k, s->key[i], strlen(s->key[i]), 1);
	kvstash_prep_keys_tags(&k, s->tag[i]);
	err = kvt_exists(fd, &k, &s->x[i]);
	if (err != 1 || s->x[i].state != KVSTASH_STATE_VISIBLE)
		return err < 0 ? err : 0;
	buf = malloc(s->x[i].object_size);
	if (!buf)
		return -ENOMEM;
	r = kvt_get1(fd, s->key[i], strlen(s->key[i]), buf,
		     s->x[i].object_size, NULL);
	if (!r.res)
		s->sum[i] = kvt_sum(buf, s->x[i].object_size);
	free(buf);
	return r.res;
}

/* Takes the snapshot, through client @fd. 0 or a negative errno. */
static inline int kvt_snap_take(struct kvt_snap *s, int fd)
{
	int r = 0;

	for (unsigned int i = 0; i < s->nr && !r; i++)
		r = kvt_snap_object(s, fd, i);
	return r ? r : kvt_counts(&s->c);
}

/* Is object @i in @now as it was in @s? */
static inline bool kvt_snap_equal(const struct kvt_snap *s,
				  const struct kvt_snap *now, unsigned int i)
{
	return !memcmp(&s->x[i], &now->x[i], sizeof(s->x[i])) &&
	       !memcmp(s->tag[i], now->tag[i], sizeof(s->tag[i])) &&
	       s->sum[i] == now->sum[i];
}

/*
 * Asserts that all is as it was when @s was taken. If it is not the test ends:
 * what follows would only say so again.
 */
static inline void kvt_snap_same(struct __test_metadata *_metadata,
				 const struct kvt_snap *s, int fd)
{
	struct kvt_snap now = *s;
	bool same;

	ASSERT_EQ(0, kvt_snap_take(&now, fd));
	same = !memcmp(&s->c, &now.c, sizeof(now.c));
	if (!same) {
		EXPECT_EQ(s->c.total, now.c.total);
		EXPECT_EQ(s->c.free, now.c.free);
		EXPECT_EQ(s->c.committed, now.c.committed);
		EXPECT_EQ(s->c.in_flight, now.c.in_flight);
		EXPECT_EQ(s->c.held, now.c.held);
		EXPECT_EQ(s->c.objects, now.c.objects);
		EXPECT_EQ(s->c.evictions, now.c.evictions);
	}
	for (unsigned int i = 0; i < s->nr; i++) {
		if (kvt_snap_equal(s, &now, i))
			continue;
		TH_LOG("%s changed: state %u was %u", s->key[i],
		       now.x[i].state, s->x[i].state);
		same = false;
	}
	kvt_sane(_metadata);
	ASSERT_TRUE(same);
}

/*
 * Fixture "store", of programs that define KVT_STORE before they include this:
 * a store with an object in each state
 *
 *  seed/one     visible, one part
 *  seed/three   visible, three parts, child of seed/one, with manifest and tag
 *  seed/part    filling: the first of two parts is there
 *  seed/wait    waiting: complete, child of seed/part
 *  seed/flight  filling: its only part is reserved (@open) and half written
 *
 * A test must leave them as they were: the end of the fixture compares, then
 * takes them away and asserts that nothing has leaked. Byte i of part n of any
 * of them is that of the pattern kvt_seed_of(key, n).
 */

#define KVT_ONE_LEN	5000UL
#define KVT_FLIGHT_LEN	20000UL
#define KVT_THREE_PARTS	3
static const __u64 kvt_three_len[KVT_THREE_PARTS] = { 1000, 4096, 8193 };

#define KVT_THREE_LEN	13289UL

static inline __u64 kvt_seed_of(const char *key, unsigned int part)
{
	return kvt_sum((const unsigned char *)key, strlen(key)) + part;
}

/* Puts part @part of @e's object with the bytes of its pattern. */
static inline struct kvstash_result kvt_put_pattern(int fd,
						    struct kvstash_put *e,
						    __u64 seed, __u64 len)
{
	struct kvstash_result r = { -ENOMEM, 0, 0 };
	void *buf = malloc(len);

	if (!buf)
		return r;
	kvt_fill(buf, len, seed);
	e->buf = kvstash_addr(buf);
	e->part_len = len;
	r = kvt_put_one(fd, e);
	free(buf);
	return r;
}

/** struct kvt_store - what the fixture has */
struct kvt_store {
	int fd;				/* a client of "default" */
	struct kvstash_handle open;	/* seed/flight */
	char manifest[KVSTASH_DIGEST_LEN];
	char tag[KVSTASH_TAG_MAX];
	struct kvt_counts bare;		/* before the seeds */
	struct kvt_snap snap;
};

static inline void kvt_prep_named(struct kvstash_put *e, const char *key,
				  const char *parent)
{
	kvstash_prep_put(e, key, strlen(key), NULL, 0);
	if (parent)
		kvstash_prep_put_parent(e, parent, strlen(parent));
}

static inline void kvt_seed_three(struct __test_metadata *_metadata,
				  struct kvt_store *s)
{
	struct kvstash_put e;

	kvt_fill(s->manifest, sizeof(s->manifest), 1);
	kvt_fill(s->tag, sizeof(s->tag), 2);
	for (unsigned int i = 0; i < KVT_THREE_PARTS; i++) {
		kvt_prep_named(&e, "seed/three", "seed/one");
		kvstash_prep_put_part(&e, i, KVT_THREE_PARTS);
		kvstash_prep_put_manifest(&e, s->manifest);
		kvstash_prep_put_tag(&e, s->tag, sizeof(s->tag));
		KVT_OK(kvt_put_pattern(s->fd, &e, kvt_seed_of("seed/three", i),
				       kvt_three_len[i]));
	}
}

static inline void kvt_seed_flight(struct __test_metadata *_metadata,
				   struct kvt_store *s)
{
	char half[KVT_FLIGHT_LEN / 2];

	kvt_fill(half, sizeof(half), kvt_seed_of("seed/flight", 0));
	KVT_OK(kvt_reserve1(s->fd, "seed/flight", strlen("seed/flight"),
			    KVT_FLIGHT_LEN, &s->open));
	KVT_OK(kvt_write1(s->fd, &s->open, 0, half, sizeof(half)));
}

static inline void kvt_store_setup(struct __test_metadata *_metadata,
				   struct kvt_store *s)
{
	static const char * const keys[] = {
		"seed/one", "seed/three", "seed/part", "seed/wait",
		"seed/flight", "seed/none",
	};
	struct kvstash_put e;

	ASSERT_EQ(0, kvt_counts(&s->bare));
	s->fd = kvt_open();
	ASSERT_LE(0, s->fd);
	kvt_prep_named(&e, "seed/one", NULL);
	KVT_OK(kvt_put_pattern(s->fd, &e, kvt_seed_of("seed/one", 0),
			       KVT_ONE_LEN));
	kvt_seed_three(_metadata, s);
	kvt_prep_named(&e, "seed/part", NULL);
	kvstash_prep_put_part(&e, 0, 2);
	KVT_OK(kvt_put_pattern(s->fd, &e, kvt_seed_of("seed/part", 0), 700));
	kvt_prep_named(&e, "seed/wait", "seed/part");
	KVT_OK(kvt_put_pattern(s->fd, &e, kvt_seed_of("seed/wait", 0), 4097));
	kvt_seed_flight(_metadata, s);
	for (size_t i = 0; i < KVT_LEN(keys); i++)
		kvt_snap_key(&s->snap, keys[i]);
	ASSERT_EQ(0, kvt_snap_take(&s->snap, s->fd));
}

/* Asserts that a refused call changed nothing. */
static inline void kvt_store_same(struct __test_metadata *_metadata,
				  const struct kvt_store *s)
{
	kvt_snap_same(_metadata, &s->snap, s->fd);
}

/* Asserts that the pool is as in @c once all clients have gone. */
static inline void kvt_no_leak(struct __test_metadata *_metadata,
			       const struct kvt_counts *c)
{
	struct kvt_counts now;

	ASSERT_EQ(0, kvt_counts(&now));
	EXPECT_EQ(0, now.in_flight);
	EXPECT_EQ(0, now.held);
	EXPECT_EQ(c->objects, now.objects);
	EXPECT_EQ(c->committed, now.committed);
	EXPECT_EQ(c->free, now.free);
	kvt_sane(_metadata);
}

static inline void kvt_store_teardown(struct __test_metadata *_metadata,
				      struct kvt_store *s)
{
	int fd = kvt_open();

	kvt_store_same(_metadata, s);
	close(s->fd);
	KVT_OK(kvt_remove1(fd, "seed/one", strlen("seed/one")));
	KVT_OK(kvt_remove1(fd, "seed/part", strlen("seed/part")));
	close(fd);
	kvt_no_leak(_metadata, &s->bare);
}

#ifdef KVT_STORE
FIXTURE(store) {
	struct kvt_store s;
};

FIXTURE_SETUP(store)
{
	kvt_store_setup(_metadata, &self->s);
}

FIXTURE_TEARDOWN(store)
{
	kvt_store_teardown(_metadata, &self->s);
}
#endif

/*
 * Processes
 */

/** struct kvt_gate - opened once by one process, waited for by another */
struct kvt_gate {
	int fd[2];
};

static inline int kvt_gate_init(struct kvt_gate *g)
{
	return pipe2(g->fd, O_CLOEXEC) ? -errno : 0;
}

/* Lets @n waiters through. */
static inline int kvt_gate_open(const struct kvt_gate *g, unsigned int n)
{
	while (n--)
		if (write(g->fd[1], "", 1) != 1)
			return -errno;
	return 0;
}

static inline int kvt_gate_wait(const struct kvt_gate *g)
{
	ssize_t r;
	char c;

	do
		r = read(g->fd[0], &c, 1);
	while (r < 0 && errno == EINTR);
	return r == 1 ? 0 : -EPIPE;
}

static inline void kvt_gate_end(const struct kvt_gate *g)
{
	close(g->fd[0]);
	close(g->fd[1]);
}

/* The exit status of a child, or -signal. */
static inline int kvt_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Send or receive a descriptor over a UNIX socket. */
static inline int kvt_fd_send(int sock, int fd)
{
	char byte = 0, room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = room, .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	return sendmsg(sock, &m, 0) == 1 ? 0 : -errno;
}

static inline int kvt_fd_recv(int sock)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = room, .msg_controllen = sizeof(room) };
	struct cmsghdr *c;
	int fd;

	if (recvmsg(sock, &m, MSG_CMSG_CLOEXEC) != 1)
		return -errno;
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return -EBADMSG;
	memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

/*
 * The module
 */

static inline const char *kvt_module_path(void)
{
	return getenv("KVSTASH_KO");
}

/* Loads the module of the runner. 0 or a negative errno. */
static inline int kvt_module_load(const char *params)
{
	const char *path = kvt_module_path();
	int fd, r;

	if (!path)
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = syscall(SYS_finit_module, fd, params, 0) ? -errno : 0;
	close(fd);
	return r;
}

static inline int kvt_module_unload(void)
{
	return syscall(SYS_delete_module, "kvstash", O_NONBLOCK) ? -errno : 0;
}

static inline int kvt_module_reload(const char *params)
{
	int r = kvt_module_unload();

	return r && r != -ENOENT ? r : kvt_module_load(params);
}

/*
 * Generic netlink: enough of it to make and delete pools and namespaces
 */

struct kvt_nl {
	struct nlmsghdr h;
	struct genlmsghdr g;
	char attrs[1024];
};

static inline void kvt_nl_start(struct kvt_nl *m, __u16 type, __u8 cmd)
{
	memset(m, 0, sizeof(*m));
	m->h.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	m->h.nlmsg_type = type;
	m->h.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	m->g.cmd = cmd;
	m->g.version = KVSTASH_GENL_VERSION;
}

static inline void kvt_nl_put(struct kvt_nl *m, __u16 type, const void *data,
			      size_t len)
{
	struct nlattr *a = (void *)((char *)m + NLMSG_ALIGN(m->h.nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memcpy((char *)a + NLA_HDRLEN, data, len);
	m->h.nlmsg_len = NLMSG_ALIGN(m->h.nlmsg_len) + NLA_ALIGN(a->nla_len);
}

static inline void kvt_nl_str(struct kvt_nl *m, __u16 type, const char *s)
{
	kvt_nl_put(m, type, s, strlen(s) + 1);
}

static inline void kvt_nl_u32(struct kvt_nl *m, __u16 type, __u32 v)
{
	kvt_nl_put(m, type, &v, sizeof(v));
}

static inline void kvt_nl_u64(struct kvt_nl *m, __u16 type, __u64 v)
{
	kvt_nl_put(m, type, &v, sizeof(v));
}

/* Copies an attribute of the first level of a reply: its length or -ENOENT. */
static inline int kvt_nl_find(const struct nlmsghdr *h, size_t hdr, __u16 type,
			      void *out, size_t len)
{
	const char *p = (const char *)h + NLMSG_HDRLEN + NLMSG_ALIGN(hdr);
	const char *end = (const char *)h + h->nlmsg_len;
	const struct nlattr *a;
	size_t n;

	while (p + NLA_HDRLEN <= end) {
		a = (const void *)p;
		if (a->nla_len < NLA_HDRLEN)
			break;
		n = a->nla_len - NLA_HDRLEN;
		if ((a->nla_type & NLA_TYPE_MASK) == type) {
			memcpy(out, p + NLA_HDRLEN, n < len ? n : len);
			return n;
		}
		p += NLA_ALIGN(a->nla_len);
	}
	return -ENOENT;
}

static inline int kvt_nl_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	int on = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	return fd;
}

/** struct kvt_nl_reply - the last message before the ack, and the ack's text */
struct kvt_nl_reply {
	char msg[8192];
	size_t len;
	char text[256];
};

/* The text of a refusal, from the attributes behind the request's copy. */
static inline void kvt_nl_text(const struct nlmsghdr *h,
			       struct kvt_nl_reply *out)
{
	const struct nlmsgerr *e = NLMSG_DATA(h);
	size_t hdr = sizeof(*e);

	out->text[0] = '\0';
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		hdr += e->msg.nlmsg_len - NLMSG_HDRLEN;
	kvt_nl_find(h, hdr, NLMSGERR_ATTR_MSG, out->text,
		    sizeof(out->text) - 1);
}

/* Sends @m and waits for the ack: 0 or a negative errno. */
static inline int kvt_nl_talk(int fd, struct kvt_nl *m,
			      struct kvt_nl_reply *out)
{
	static __u64 buf[4096];		/* for its alignment */
	const struct nlmsghdr *h;
	ssize_t n;

	memset(out, 0, sizeof(*out));
	if (send(fd, m, m->h.nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		n = recv(fd, buf, sizeof(buf), 0);
		if (n < 0)
			return -errno;
		for (h = (void *)buf; NLMSG_OK(h, (__u32)n);
		     h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_type == NLMSG_ERROR) {
				kvt_nl_text(h, out);
				return ((struct nlmsgerr *)NLMSG_DATA(h))->error;
			}
			out->len = h->nlmsg_len;
			memcpy(out->msg, h, h->nlmsg_len < sizeof(out->msg) ?
			       h->nlmsg_len : sizeof(out->msg));
		}
	}
}

/* The number of the family, or a negative errno. */
static inline int kvt_nl_family(int fd)
{
	struct kvt_nl_reply r;
	struct kvt_nl m;
	__u16 id = 0;
	int err;

	kvt_nl_start(&m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	m.g.version = 1;
	kvt_nl_str(&m, CTRL_ATTR_FAMILY_NAME, KVSTASH_GENL_NAME);
	err = kvt_nl_talk(fd, &m, &r);
	if (err)
		return err;
	if (kvt_nl_find((void *)r.msg, GENL_HDRLEN, CTRL_ATTR_FAMILY_ID, &id,
			sizeof(id)) < 0)
		return -ENOENT;
	return id;
}

/* A request of one go: @fill adds the attributes. */
static inline int kvt_nl_do(__u8 cmd, void (*fill)(struct kvt_nl *m, void *arg),
			    void *arg, struct kvt_nl_reply *out)
{
	int fd = kvt_nl_open(), r;
	struct kvt_nl m;

	if (fd < 0)
		return fd;
	r = kvt_nl_family(fd);
	if (r > 0) {
		kvt_nl_start(&m, r, cmd);
		fill(&m, arg);
		r = kvt_nl_talk(fd, &m, out);
	}
	close(fd);
	return r;
}

/** struct kvt_pool_args - members that are 0 are left to the kernel */
struct kvt_pool_args {
	const char *name;
	bool give_bytes;	/* also if @bytes is 0 */
	__u64 bytes;
	__u64 objects;
};

static inline void kvt_pool_fill(struct kvt_nl *m, void *arg)
{
	const struct kvt_pool_args *a = arg;

	kvt_nl_str(m, KVSTASH_A_POOL_NAME, a->name);
	if (a->give_bytes)
		kvt_nl_u64(m, KVSTASH_A_POOL_BYTES, a->bytes);
	if (a->objects)
		kvt_nl_u64(m, KVSTASH_A_POOL_OBJECTS, a->objects);
}

/* @out may be NULL; its message is that of the pool made. */
static inline int kvt_pool_new(const char *name, __u64 bytes,
			       struct kvt_nl_reply *out)
{
	struct kvt_pool_args a = { .name = name, .give_bytes = true,
				   .bytes = bytes };
	static struct kvt_nl_reply r;

	return kvt_nl_do(KVSTASH_CMD_POOL_NEW, kvt_pool_fill, &a,
			 out ? out : &r);
}

static inline int kvt_pool_del(const char *name)
{
	struct kvt_pool_args a = { .name = name };
	static struct kvt_nl_reply r;

	return kvt_nl_do(KVSTASH_CMD_POOL_DEL, kvt_pool_fill, &a, &r);
}

/** struct kvt_ns_args - members that are 0 are left to the kernel */
struct kvt_ns_args {
	const char *name;
	const char *pool;
	__u32 uid;
	__u32 gid;
	__u32 mode;
	__u64 quota_bytes;
	__u64 quota_objects;
	__u32 incomplete_ms;
	__u64 pin_bytes;
	__u64 lease_bytes;
	__u64 slot_bytes;
};

static inline void kvt_ns_fill(struct kvt_nl *m, void *arg)
{
	const struct kvt_ns_args *a = arg;

	kvt_nl_str(m, KVSTASH_A_NS_NAME, a->name);
	if (a->pool)
		kvt_nl_str(m, KVSTASH_A_NS_POOL, a->pool);
	if (a->uid)
		kvt_nl_u32(m, KVSTASH_A_NS_UID, a->uid);
	if (a->gid)
		kvt_nl_u32(m, KVSTASH_A_NS_GID, a->gid);
	if (a->mode)
		kvt_nl_u32(m, KVSTASH_A_NS_MODE, a->mode);
	if (a->quota_bytes)
		kvt_nl_u64(m, KVSTASH_A_NS_QUOTA_BYTES, a->quota_bytes);
	if (a->quota_objects)
		kvt_nl_u64(m, KVSTASH_A_NS_QUOTA_OBJECTS, a->quota_objects);
	if (a->incomplete_ms)
		kvt_nl_u32(m, KVSTASH_A_NS_INCOMPLETE_MS, a->incomplete_ms);
	if (a->pin_bytes)
		kvt_nl_u64(m, KVSTASH_A_NS_PIN_BYTES, a->pin_bytes);
	if (a->lease_bytes)
		kvt_nl_u64(m, KVSTASH_A_NS_LEASE_BYTES, a->lease_bytes);
	if (a->slot_bytes)
		kvt_nl_u64(m, KVSTASH_A_NS_SLOT_BYTES, a->slot_bytes);
}

static inline int kvt_ns_new(const struct kvt_ns_args *a)
{
	static struct kvt_nl_reply r;

	return kvt_nl_do(KVSTASH_CMD_NS_NEW, kvt_ns_fill, (void *)a, &r);
}

static inline int kvt_ns_set(const struct kvt_ns_args *a)
{
	static struct kvt_nl_reply r;

	return kvt_nl_do(KVSTASH_CMD_NS_SET, kvt_ns_fill, (void *)a, &r);
}

static inline int kvt_ns_del(const char *name)
{
	struct kvt_ns_args a = { .name = name };
	static struct kvt_nl_reply r;

	return kvt_nl_do(KVSTASH_CMD_NS_DEL, kvt_ns_fill, &a, &r);
}

#endif /* KVSTASH_TEST_H */
