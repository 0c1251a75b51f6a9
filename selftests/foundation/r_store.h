/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvstash: what the scenario tests share: a store of a test's own, objects
 * whose bytes follow from their key, processes, and readers that stand still
 * inside the kernel. Functions begin with kvr_ and follow the rules of
 * kvstash_test.h.
 */
#ifndef R_STORE_H
#define R_STORE_H

#include <kvstash_test.h>

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>

#define KVR_MB(n)	((__u64)(n) << 20)

#define KVR_BLOCK	114688U		/* a page of KV */
#define KVR_STATE	1415040U	/* the state of a sequence */

/* Says what is wrong, in a process that can't assert. Always 1. */
static inline __printf(1, 2) int kvr_say(const char *fmt, ...)
{
	va_list ap;

	dprintf(STDERR_FILENO, "# ");
	va_start(ap, fmt);
	vdprintf(STDERR_FILENO, fmt, ap);
	va_end(ap);
	dprintf(STDERR_FILENO, "\n");
	return 1;
}

/*
 * Random numbers; KVSTASH_SEED repeats a run
 */

static inline __u64 kvr_run_seed(void)
{
	const char *s = getenv("KVSTASH_SEED");
	__u64 seed = s ? strtoull(s, NULL, 0) : (__u64)time(NULL);

	kvr_say("KVSTASH_SEED=%llu", seed);
	return seed;
}

static inline __u64 kvr_rnd(__u64 *state)
{
	return kvt_word(0x5eed, ++*state);
}

/* 0 to @n - 1 */
static inline unsigned int kvr_below(__u64 *state, unsigned int n)
{
	return kvr_rnd(state) % n;
}

/*
 * A pool and a namespace of a test's own
 */

/** struct kvr_store - the names are the same: that of the process */
struct kvr_store {
	char name[KVSTASH_NAME_MAX];
	char pool[64];
	char ns[64];
	int fd;
};

static inline __u64 kvr_pool(const struct kvr_store *s, const char *name)
{
	__u64 v;

	return kvt_figure(s->pool, name, &v) ? ~0ULL : v;
}

static inline __u64 kvr_ns(const struct kvr_store *s, const char *name)
{
	__u64 v;

	return kvt_figure(s->ns, name, &v) ? ~0ULL : v;
}

/* @limits, or NULL, has the quotas and the time-out of the namespace. */
static inline void kvr_store_make(struct __test_metadata *_metadata,
				  struct kvr_store *s, __u64 bytes,
				  const struct kvt_ns_args *limits)
{
	struct kvt_ns_args ns = { 0 };

	if (limits)
		ns = *limits;
	snprintf(s->name, sizeof(s->name), "t%d", getpid());
	snprintf(s->pool, sizeof(s->pool), "/proc/kvstash/pool/%s", s->name);
	snprintf(s->ns, sizeof(s->ns), "/proc/kvstash/ns/%s", s->name);
	ns.name = s->name;
	ns.pool = s->name;
	s->fd = -1;
	ASSERT_EQ(0, kvt_pool_new(s->name, bytes, NULL));
	ASSERT_EQ(0, kvt_ns_new(&ns));
	s->fd = kvt_open_ns(s->name);
	ASSERT_LE(0, s->fd);
}

/* I6 and the consistency of the store; all clients but @s->fd are idle. */
static inline void kvr_sane(struct __test_metadata *_metadata,
			    const struct kvr_store *s)
{
	char why[4096];
	struct kvt_counts c;

	EXPECT_EQ(0, kvt_counts_of(s->pool, &c));
	EXPECT_TRUE(kvt_i6(&c)) {
		TH_LOG("I6: free %llu + committed %llu + in flight %llu + held %llu, total %llu",
		       c.free, c.committed, c.in_flight, c.held, c.total);
	}
	EXPECT_EQ(0, kvt_check(why, sizeof(why))) {
		TH_LOG("check: %s", why);
	}
}

/* After all clients have gone the last two counts are 0 (I6). */
static inline void kvr_store_end(struct __test_metadata *_metadata,
				 struct kvr_store *s)
{
	struct kvt_counts c;

	if (!s->name[0])
		return;
	if (s->fd >= 0)
		close(s->fd);
	kvr_sane(_metadata, s);
	EXPECT_EQ(0, kvt_counts_of(s->pool, &c));
	EXPECT_EQ(0, c.in_flight);
	EXPECT_EQ(0, c.held);
	EXPECT_EQ(0, kvt_ns_del(s->name));
	EXPECT_EQ(c.total, kvr_pool(s, "free_bytes"));
	EXPECT_EQ(0, kvt_pool_del(s->name));
	s->name[0] = '\0';
}

/* A program with the store of kvstash_test.h has that one. */
#ifndef KVT_STORE
FIXTURE(store)
{
	struct kvr_store s;
};

/* Each test makes the store in the size it needs. */
FIXTURE_SETUP(store)
{
}

FIXTURE_TEARDOWN(store)
{
	kvr_store_end(_metadata, &self->s);
}
#endif

/*
 * Objects
 */

struct kvr_key {
	__u64 space;
	__u64 id;
};

/**
 * struct kvr_obj - an object, its identity and its bytes
 * @key:    the key
 * @parent: key of the parent, or NULL
 * @len:    bytes of part 0; part i has kvr_part_len()
 * @parts:  parts
 */
struct kvr_obj {
	struct kvr_key key;
	const struct kvr_key *parent;
	__u32 len;
	__u16 parts;
};

static inline __u64 kvr_seed(const struct kvr_key *key, unsigned int part)
{
	return kvt_word(kvt_word(key->space, key->id), part);
}

/* Parts differ in length, so that one taken for another is seen. */
static inline __u32 kvr_part_len(const struct kvr_obj *o, unsigned int part)
{
	return o->len + 24 * part;
}

static inline __u64 kvr_size(const struct kvr_obj *o)
{
	return (__u64)o->len * o->parts + 12ULL * o->parts * (o->parts - 1);
}

/* Bytes of the pool that the object takes. */
static inline __u64 kvr_room(const struct kvr_obj *o)
{
	__u64 sum = 0;

	for (unsigned int i = 0; i < o->parts; i++)
		sum += kvt_pages(kvr_part_len(o, i));
	return sum;
}

static inline void kvr_prep(struct kvstash_put *e, const struct kvr_obj *o,
			    unsigned int part, const void *buf)
{
	kvstash_prep_put(e, &o->key, sizeof(o->key), buf, kvr_part_len(o, part));
	kvstash_prep_put_part(e, part, o->parts);
	if (o->parent)
		kvstash_prep_put_parent(e, o->parent, sizeof(*o->parent));
}

static inline void kvr_fill(const struct kvr_obj *o, unsigned int part, void *buf)
{
	kvt_fill(buf, kvr_part_len(o, part), kvr_seed(&o->key, part));
}

/* @buf has room for the part. */
static inline struct kvstash_result kvr_put_part(int fd, const struct kvr_obj *o,
						 unsigned int part, void *buf)
{
	struct kvstash_put e;

	kvr_fill(o, part, buf);
	kvr_prep(&e, o, part, buf);
	return kvt_put_one(fd, &e);
}

/* All parts, to the first that fails. */
static inline struct kvstash_result kvr_put(int fd, const struct kvr_obj *o,
					    void *buf)
{
	struct kvstash_result r = { 0 };

	for (unsigned int i = 0; i < o->parts && !r.res; i++)
		r = kvr_put_part(fd, o, i, buf);
	return r;
}

static inline struct kvstash_result kvr_reserve(int fd, const struct kvr_obj *o,
						unsigned int part,
						struct kvstash_handle *h)
{
	struct kvstash_result r;
	struct kvstash_put e;

	kvr_prep(&e, o, part, NULL);
	r = kvt_reserve_one(fd, &e);
	*h = e.handle;
	return r;
}

/* Writes bytes [@from, @to) of the part; @buf has room for all of it. */
static inline struct kvstash_result kvr_write(int fd, const struct kvr_obj *o,
					      unsigned int part,
					      const struct kvstash_handle *h,
					      void *buf, size_t from, size_t to)
{
	kvr_fill(o, part, buf);
	return kvt_write1(fd, h, from, (char *)buf + from, to - from);
}

static inline struct kvstash_result kvr_write_all(int fd, const struct kvr_obj *o,
						  unsigned int part,
						  const struct kvstash_handle *h,
						  void *buf)
{
	return kvr_write(fd, o, part, h, buf, 0, kvr_part_len(o, part));
}

/* -EILSEQ, with the offset in @detail, if a byte of @buf is not the object's. */
static inline struct kvstash_result kvr_verify(const struct kvr_obj *o,
					       const void *buf)
{
	struct kvstash_result r = { 0 };
	const char *p = buf;
	ssize_t at;

	for (unsigned int i = 0; i < o->parts && !r.res; i++) {
		at = kvt_verify(p, kvr_part_len(o, i), kvr_seed(&o->key, i));
		if (at >= 0) {
			r.res = -EILSEQ;
			r.detail = p + at - (const char *)buf;
		}
		p += kvr_part_len(o, i);
	}
	return r;
}

/* The whole object into @buf, and each byte verified if it is there. */
static inline struct kvstash_result kvr_get(int fd, const struct kvr_obj *o,
					    void *buf)
{
	__u64 size = kvr_size(o), bytes;
	struct kvstash_result r;

	memset(buf, KVT_CANARY_BYTE, size);
	r = kvt_get1(fd, &o->key, sizeof(o->key), buf, size, &bytes);
	if (r.res)
		return r;
	if (bytes != size)
		return (struct kvstash_result){ -EMSGSIZE, 0, bytes };
	return kvr_verify(o, buf);
}

static inline struct kvstash_result kvr_exists(int fd, const struct kvr_obj *o,
					       struct kvstash_exists *x)
{
	return kvt_exists1(fd, &o->key, sizeof(o->key), x);
}

static inline int kvr_state(int fd, const struct kvr_obj *o)
{
	return kvt_state(fd, &o->key, sizeof(o->key));
}

static inline struct kvstash_result kvr_remove(int fd, const struct kvr_obj *o)
{
	return kvt_remove1(fd, &o->key, sizeof(o->key));
}

/* What EXISTS says of @n keys in one call. Keys done or a negative errno. */
static inline int kvr_exists_many(int fd, const struct kvr_key *keys,
				  unsigned int n, struct kvstash_exists *x)
{
	struct kvstash_keys k;

	kvstash_prep_keys(&k, keys, sizeof(*keys), n);
	return kvt_exists(fd, &k, x);
}

/* REMOVE of @n keys in one call; @x gets the results. */
static inline int kvr_remove_many(int fd, const struct kvr_key *keys,
				  unsigned int n, struct kvstash_exists *x)
{
	struct kvstash_keys k;

	kvstash_prep_keys(&k, keys, sizeof(*keys), n);
	return kvt_remove(fd, &k, x);
}

/* How many of @n keys in a row from @first on are visible. */
static inline unsigned int kvr_count_visible(int fd, __u64 space, __u64 first,
					     unsigned int n)
{
	unsigned int visible = 0;
	struct kvr_obj o = { .key = { .space = space } };

	for (o.key.id = first; o.key.id < first + n; o.key.id++)
		visible += kvr_state(fd, &o) == KVSTASH_STATE_VISIBLE;
	return visible;
}

/*
 * Processes
 */

static inline void *kvr_shared(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* @fn's return value is the exit status. The child dies with its parent. */
static inline pid_t kvr_spawn(int (*fn)(void *arg), void *arg)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	_exit(fn(arg));
}

/* SIGKILL and reap: the files of the child are then released. */
static inline int kvr_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	return kvt_wait(pid);
}

/* Waits for a gate that child @pid opens: 0, or -1 if it ended instead. */
static inline int kvr_ready(const struct kvt_gate *g, pid_t pid)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p[2] = {
		{ .fd = g->fd[0], .events = POLLIN },
		{ .fd = pidfd, .events = POLLIN },
	};

	if (pidfd < 0 || poll(p, 2, -1) < 0)
		return -1;
	close(pidfd);
	return p[0].revents & POLLIN ? kvt_gate_wait(g) : -1;
}

static inline void kvr_pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	/* with fewer CPUs it fails, and then there is nothing to choose */
	sched_setaffinity(0, sizeof(set), &set);
}

static inline __u32 kvr_load(const __u32 *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

/* Adds to a word in shared memory and wakes who waits for it. */
static inline void kvr_add(__u32 *word, __u32 n)
{
	__atomic_add_fetch(word, n, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/*
 * Waits until a word is at least @least: 0. The second is no pass condition: it
 * bounds how long a failure elsewhere, told by @broken, goes unseen: -1.
 */
static inline int kvr_await(const __u32 *word, __u32 least, const __u32 *broken)
{
	const struct timespec second = { .tv_sec = 1 };
	__u32 v;

	while ((v = kvr_load(word)) < least) {
		if (kvr_load(broken))
			return -1;
		syscall(SYS_futex, word, FUTEX_WAIT, v, &second, NULL, 0);
	}
	return 0;
}

/** struct kvr_barrier - in shared memory; @n set by who makes it, the rest 0 */
struct kvr_barrier {
	__u32 n;
	__u32 arrived;
	__u32 phase;
	__u32 broken;
};

/* A process that gives up lets the others fail rather than wait. Always 1. */
static inline int kvr_barrier_break(struct kvr_barrier *b)
{
	__atomic_store_n(&b->broken, 1, __ATOMIC_SEQ_CST);
	kvr_add(&b->phase, 1);
	return 1;
}

/* 0 once all have arrived, -1 if the barrier is broken. */
static inline int kvr_barrier_wait(struct kvr_barrier *b)
{
	__u32 phase = kvr_load(&b->phase);

	if (__atomic_add_fetch(&b->arrived, 1, __ATOMIC_SEQ_CST) == b->n) {
		__atomic_store_n(&b->arrived, 0, __ATOMIC_SEQ_CST);
		kvr_add(&b->phase, 1);
	}
	return kvr_await(&b->phase, phase + 1, &b->broken) ||
	       kvr_load(&b->broken) ? -1 : 0;
}

/*
 * A reader that stands still
 *
 * The last page of its buffer is missing and registered with userfaultfd: a GET
 * has copied all before and then waits inside the kernel, with its reference on
 * the object, until the fault is resolved.
 */

struct kvr_reader {
	int fd;
	int uffd;
	int ended;
	char *buf;
	size_t room;
	struct kvstash_get e;
	struct kvr_obj o;
	struct kvstash_result r;
	pthread_t thread;
};

/* Without O_NONBLOCK it can't be polled. */
static inline int kvr_uffd_open(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, UFFDIO_API, &api)) {
		close(fd);
		return -ENOTTY;
	}
	return fd;
}

/* 0, or the negative errno that a test gives as the reason of its SKIP. */
static inline int kvr_uffd_works(void)
{
	int fd = kvr_uffd_open();

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static inline void *kvr_reader_thread(void *arg)
{
	struct kvr_reader *rd = arg;
	__u64 one = 1;

	rd->r = kvt_get_one(rd->fd, &rd->e);
	if (write(rd->ended, &one, sizeof(one)) != sizeof(one))
		rd->r.res = -EIO;
	return NULL;
}

static inline int kvr_reader_arm(struct kvr_reader *rd)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	rd->room = kvt_pages(rd->e.len);
	rd->buf = kvt_map(rd->room);
	rd->e.buf = kvstash_addr(rd->buf);
	rd->uffd = kvr_uffd_open();
	rd->ended = eventfd(0, EFD_CLOEXEC);
	if (!rd->buf || rd->uffd < 0 || rd->ended < 0)
		return -ENOMEM;
	reg.range.start = kvstash_addr(rd->buf) + rd->room - KVT_PAGE;
	reg.range.len = KVT_PAGE;
	return ioctl(rd->uffd, UFFDIO_REGISTER, &reg) ? -errno : 0;
}

/* 0 once the GET @e, but for its buffer, stands inside the kernel; of 2 pages up. */
static inline int kvr_reader_start_get(struct kvr_reader *rd, int fd,
				       const struct kvstash_get *e)
{
	struct pollfd p[2];
	struct uffd_msg msg;
	int r;

	*rd = (struct kvr_reader){ .fd = fd, .e = *e };
	r = kvr_reader_arm(rd);
	if (r)
		return r;
	r = pthread_create(&rd->thread, NULL, kvr_reader_thread, rd);
	if (r)
		return -r;
	p[0] = (struct pollfd){ .fd = rd->uffd, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = rd->ended, .events = POLLIN };
	if (poll(p, 2, -1) < 0 || !(p[0].revents & POLLIN))
		return -ENOENT;
	r = read(rd->uffd, &msg, sizeof(msg));
	return r == sizeof(msg) && msg.event == UFFD_EVENT_PAGEFAULT ? 0 : -EIO;
}

/* The same of @o; its key lasts as long as the reader. */
static inline int kvr_reader_start(struct kvr_reader *rd, int fd,
				   const struct kvr_obj *o)
{
	struct kvstash_get e;
	int r;

	kvstash_prep_get(&e, &o->key, sizeof(o->key), NULL, kvr_size(o));
	r = kvr_reader_start_get(rd, fd, &e);
	rd->o = *o;
	return r;
}

/* Lets the reader go on until its GET has ended; what came of it. */
static inline struct kvstash_result kvr_reader_resume(struct kvr_reader *rd)
{
	struct uffdio_zeropage zero = {
		.range = { kvstash_addr(rd->buf) + rd->room - KVT_PAGE, KVT_PAGE },
	};

	if (ioctl(rd->uffd, UFFDIO_ZEROPAGE, &zero) && errno != EEXIST)
		return (struct kvstash_result){ -errno, 0, 0 };
	pthread_join(rd->thread, NULL);
	return rd->r;
}

static inline void kvr_reader_free(struct kvr_reader *rd)
{
	close(rd->uffd);
	close(rd->ended);
	munmap(rd->buf, rd->room);
}

/* Lets the reader go on; its result, each byte verified. */
static inline struct kvstash_result kvr_reader_finish(struct kvr_reader *rd)
{
	struct kvstash_result r = kvr_reader_resume(rd);

	if (!r.res)
		r = kvr_verify(&rd->o, rd->buf);
	kvr_reader_free(rd);
	return r;
}

#endif /* R_STORE_H */
