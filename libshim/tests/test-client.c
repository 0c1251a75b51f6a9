// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Clients: opening, wrong files, the refusal of a thread's last call
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"

static void refusal_is(struct kvstash *c, unsigned int reason,
		       unsigned int field)
{
	unsigned int r = 1234, f = 1234;

	kvstash_last_refusal(c, &r, &f);
	CHECK_EQ(r, reason);
	CHECK_EQ(f, field);
	kvstash_last_refusal(c, NULL, NULL);
}

static void test_wrong_files(void)
{
	struct kvstash *const none = (void *)&fake;
	struct kvstash *c = none;
	int fd;

	fake.fd = -2;
	CHECK_EQ(kvstash_open(&c, "/dev/null", 0), -ENOTTY);
	CHECK_EQ(kvstash_open(&c, "/nonexistent/kvstash", 0), -ENOENT);
	CHECK_EQ(kvstash_open(&c, "/", O_RDWR), -EISDIR);
	CHECK_EQ(kvstash_from_fd(-1, &c), -EBADF);
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	CHECK_EQ(kvstash_from_fd(fd, &c), -ENOTTY);
	/* still the caller's */
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(kvstash_from_fd(fd, &c), -EBADF);
	CHECK(c == none);
	kvstash_close(NULL);
}

static void test_query_bind(void)
{
	char name[KVSTASH_NAME_MAX + 1];
	struct kvstash *c = fake_open();
	struct kvstash_query q;
	int fd = kvstash_fd(c);

	CHECK_EQ(fd, fake.fd);
	memset(&q, 0xa5, sizeof(q));
	CHECK_EQ(kvstash_query(c, &q), 0);
	CHECK_EQ(q.size, sizeof(q));
	CHECK_EQ(q.abi, KVSTASH_ABI_VERSION);
	CHECK_EQ(q.features, 0);

	CHECK_EQ(kvstash_bind(c, "default"), 0);
	refusal_is(c, KVSTASH_R_OK, 0);
	CHECK_EQ(kvstash_bind(c, "other"), -ENODEV);
	refusal_is(c, KVSTASH_R_NO_NAMESPACE,
		   offsetof(struct kvstash_bind, ns));
	/* 31 bytes are for the kernel to judge, 32 do not fit with their NUL */
	memset(name, 'n', sizeof(name));
	name[KVSTASH_NAME_MAX - 1] = '\0';
	CHECK_EQ(kvstash_bind(c, name), -ENODEV);
	memset(name, 'n', sizeof(name));
	name[KVSTASH_NAME_MAX] = '\0';
	CHECK_EQ(kvstash_bind(c, name), -EINVAL);
	refusal_is(c, KVSTASH_R_NAME, offsetof(struct kvstash_bind, ns));

	kvstash_close(c);
	CHECK_EQ(fcntl(fd, F_GETFD), -1);
}

static void *other_thread(void *arg)
{
	struct kvstash_put e[2];

	memset(e, 0, sizeof(e));
	refusal_is(arg, KVSTASH_R_OK, 0);
	CHECK_EQ(kvstash_put(arg, e, 2), 2);
	refusal_is(arg, KVSTASH_R_OK, 0);
	return NULL;
}

static void test_refusals(void)
{
	struct kvstash *c = fake_open();
	struct kvstash_exists res[1];
	struct kvstash_put e[1];
	struct kvstash_keys k;
	pthread_t thread;

	CHECK_EQ(kvstash_put(c, e, 0), -EINVAL);
	refusal_is(c, KVSTASH_R_COUNT, offsetof(struct kvstash_batch, count));
	CHECK_EQ(kvstash_put(c, e, KVSTASH_BATCH_MAX + 1), -EINVAL);
	refusal_is(c, KVSTASH_R_COUNT, offsetof(struct kvstash_batch, count));
	/* another thread's calls are not this one's */
	CHECK_EQ(pthread_create(&thread, NULL, other_thread, c), 0);
	pthread_join(thread, NULL);
	refusal_is(c, KVSTASH_R_COUNT, offsetof(struct kvstash_batch, count));
	refusal_is((struct kvstash *)&fake, KVSTASH_R_OK, 0);
	/* a call that does not fail clears it */
	memset(e, 0, sizeof(e));
	CHECK_EQ(kvstash_put(c, e, 1), 1);
	refusal_is(c, KVSTASH_R_OK, 0);

	kvstash_prep_keys(&k, "key", 3, 0);
	CHECK_EQ(kvstash_exists(c, &k, res), -EINVAL);
	refusal_is(c, KVSTASH_R_COUNT, offsetof(struct kvstash_keys, count));
	CHECK_EQ(kvstash_remove(c, &k, res), -EINVAL);
	CHECK_EQ(kvstash_lookup(c, &k), -EINVAL);
	refusal_is(c, KVSTASH_R_COUNT, offsetof(struct kvstash_keys, count));
	kvstash_close(c);
}

/* What a closed file underneath does to each call. */
static void test_dead_file(void)
{
	struct kvstash *c = fake_open();
	struct kvstash_exists res[1];
	struct kvstash_write w[1];
	struct kvstash_end n[1];
	struct kvstash_get g[1];
	struct kvstash_put p[1];
	struct kvstash_keys k;
	struct kvstash_query q;
	size_t done = 99;

	fake.fd = -2;	/* from here on the real /dev/null answers */
	memset(p, 0, sizeof(p));
	memset(w, 0, sizeof(w));
	memset(n, 0, sizeof(n));
	memset(g, 0, sizeof(g));
	kvstash_prep_keys(&k, "key", 3, 1);
	CHECK_EQ(kvstash_query(c, &q), -ENOTTY);
	CHECK_EQ(kvstash_bind(c, "default"), -ENOTTY);
	CHECK_EQ(kvstash_put(c, p, 1), -ENOTTY);
	CHECK_EQ(kvstash_reserve(c, p, 1), -ENOTTY);
	CHECK_EQ(kvstash_write(c, w, 1), -ENOTTY);
	CHECK_EQ(kvstash_commit(c, n, 1), -ENOTTY);
	CHECK_EQ(kvstash_abort(c, n, 1), -ENOTTY);
	CHECK_EQ(kvstash_get(c, g, 1), -ENOTTY);
	CHECK_EQ(kvstash_exists(c, &k, res), -ENOTTY);
	CHECK_EQ(kvstash_remove(c, &k, res), -ENOTTY);
	CHECK_EQ(kvstash_lookup(c, &k), -ENOTTY);
	CHECK_EQ(kvstash_pin(c, &k, res), -ENOTTY);
	CHECK_EQ(kvstash_release(c, n, 1), -ENOTTY);
	refusal_is(c, KVSTASH_R_OK, 0);
	CHECK_EQ(kvstash_put_all(c, p, 1, &done), -ENOTTY);
	CHECK_EQ(done, 0);
	CHECK_EQ(kvstash_lookup_all(c, &k, NULL), -ENOTTY);
	kvstash_close(c);
}

void test_client(void)
{
	test_wrong_files();
	test_query_bind();
	test_refusals();
	test_dead_file();
}
