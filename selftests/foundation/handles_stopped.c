// SPDX-License-Identifier: GPL-2.0
/*
 * Commands that are stopped in the middle of a copy, by a page that is not
 * there until userfaultfd brings it: what others may do meanwhile, and how the
 * stopped command ends. No timing is involved.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>

#include "abi_call.h"

#define PAGES	4
#define LEN	(PAGES * KVT_PAGE)
#define KEY	"stopped", 7

/** struct stop - memory whose third page is missing */
struct stop {
	int uffd;
	char *mem;
};

/* 0, or a negative errno if this kernel has no userfaultfd. */
static int stop_init(struct stop *s)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { 0 };

	s->mem = kvt_map(LEN);
	if (!s->mem)
		return -ENOMEM;
	s->uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (s->uffd < 0)
		return -errno;
	kvt_fill(s->mem, 2 * KVT_PAGE, 1);
	kvt_fill_at(s->mem + 3 * KVT_PAGE, KVT_PAGE, 1, 3 * KVT_PAGE);
	reg.range.start = kvstash_addr(s->mem + 2 * KVT_PAGE);
	reg.range.len = KVT_PAGE;
	reg.mode = UFFDIO_REGISTER_MODE_MISSING;
	if (ioctl(s->uffd, UFFDIO_API, &api) ||
	    ioctl(s->uffd, UFFDIO_REGISTER, &reg))
		return -errno;
	return 0;
}

/* Waits until somebody stands at the missing page. */
static int stop_wait(const struct stop *s)
{
	struct uffd_msg msg;

	if (read(s->uffd, &msg, sizeof(msg)) != sizeof(msg))
		return -errno;
	return msg.event == UFFD_EVENT_PAGEFAULT ? 0 : -EBADMSG;
}

/* Brings the page: whoever stands there goes on. */
static int stop_end(const struct stop *s)
{
	char page[KVT_PAGE];
	struct uffdio_copy copy = {
		.dst = kvstash_addr(s->mem + 2 * KVT_PAGE),
		.src = kvstash_addr(page),
		.len = KVT_PAGE,
	};

	kvt_fill_at(page, KVT_PAGE, 1, 2 * KVT_PAGE);
	return ioctl(s->uffd, UFFDIO_COPY, &copy) ? -errno : 0;
}

static void stop_free(struct stop *s)
{
	close(s->uffd);
	munmap(s->mem, LEN);
}

enum command {
	WRITE,
	PUT,
	PUT_CHILD,	/* of "parent" */
	GET,
	RESERVE,	/* PARTS of them; the last one's key is in the way */
};

#define PARTS	(KVT_PAGE / sizeof(struct kvstash_put))

/** struct job - one command, carried out by a thread */
struct job {
	pthread_t thread;
	struct stop stop;
	int fd;
	enum command command;
	struct kvstash_handle h;
	struct kvstash_result r;
	struct kvstash_put *e;		/* a page, for RESERVE */
	char keys[PARTS][16];
};

static void *job_main(void *arg)
{
	struct job *j = arg;
	struct kvstash_put e;

	switch (j->command) {
	case WRITE:
		j->r = kvt_write1(j->fd, &j->h, 0, j->stop.mem, LEN);
		break;
	case PUT:
		j->r = kvt_put1(j->fd, KEY, j->stop.mem, LEN);
		break;
	case PUT_CHILD:
		kvt_prep_named(&e, "stopped", "parent");
		e.buf = kvstash_addr(j->stop.mem);
		e.part_len = LEN;
		j->r = kvt_put_one(j->fd, &e);
		break;
	case GET:
		j->r = kvt_get1(j->fd, KEY, j->stop.mem, LEN, NULL);
		break;
	case RESERVE:
		j->r.res = kvt_reserve(j->fd, j->e, PARTS);
		break;
	}
	return NULL;
}

/* Starts @command and waits until it stands in the middle of its copy. */
static bool job_start(struct __test_metadata *_metadata, struct job *j, int fd,
		      enum command command)
{
	int r;

	j->fd = fd;
	j->command = command;
	r = stop_init(&j->stop);
	if (r)
		SKIP(return false, "no userfaultfd: %s", strerror(-r));
	if (command == WRITE)
		KVT_OK(kvt_reserve1(fd, KEY, LEN, &j->h));
	for (unsigned int i = 0; command == RESERVE && i < PARTS; i++) {
		snprintf(j->keys[i], sizeof(j->keys[i]), "reserve/%u", i);
		kvstash_prep_reserve(&j->e[i], i == PARTS - 1 ?
				     j->stop.mem + 2 * KVT_PAGE : j->keys[i],
				     strlen(j->keys[i]), LEN);
	}
	r = pthread_create(&j->thread, NULL, job_main, j);
	EXPECT_EQ(0, r);
	if (r)
		return false;
	EXPECT_EQ(0, stop_wait(&j->stop));
	return true;
}

static void job_end(struct __test_metadata *_metadata, struct job *j)
{
	EXPECT_EQ(0, stop_end(&j->stop));
	EXPECT_EQ(0, pthread_join(j->thread, NULL));
}

TEST_F(store, commit_during_a_write_is_WRITING)
{
	struct kvt_counts c;
	char back[LEN];
	struct job j;

	if (!job_start(_metadata, &j, self->s.fd, WRITE))
		return;
	KVT_EXPECT(EBUSY, KVSTASH_R_WRITING, kvt_commit1(self->s.fd, &j.h));
	ASSERT_EQ(0, kvt_counts(&c));
	EXPECT_EQ(self->s.snap.c.in_flight + LEN, c.in_flight);
	kvt_sane(_metadata);
	job_end(_metadata, &j);
	KVT_OK(j.r);
	KVT_OK(kvt_commit1(self->s.fd, &j.h));
	KVT_OK(kvt_get1(self->s.fd, KEY, back, LEN, NULL));
	EXPECT_EQ(-1, kvt_verify(back, LEN, 1));
	KVT_OK(kvt_remove1(self->s.fd, KEY));
	stop_free(&j.stop);
}

/* Two writes at once, one of them stopped, make one part. */
TEST_F(store, write_beside_a_stopped_write)
{
	char buf[LEN], back[LEN];
	struct job j;

	if (!job_start(_metadata, &j, self->s.fd, WRITE))
		return;
	kvt_fill(buf, LEN, 1);
	KVT_OK(kvt_write1(self->s.fd, &j.h, 0, buf, LEN));
	KVT_EXPECT(EBUSY, KVSTASH_R_WRITING, kvt_commit1(self->s.fd, &j.h));
	job_end(_metadata, &j);
	KVT_OK(j.r);
	KVT_OK(kvt_commit1(self->s.fd, &j.h));
	KVT_OK(kvt_get1(self->s.fd, KEY, back, LEN, NULL));
	EXPECT_EQ(-1, kvt_verify(back, LEN, 1));
	KVT_OK(kvt_remove1(self->s.fd, KEY));
	stop_free(&j.stop);
}

TEST_F(store, I6_abort_during_a_write)
{
	struct job j;

	if (!job_start(_metadata, &j, self->s.fd, WRITE))
		return;
	KVT_OK(kvt_abort1(self->s.fd, &j.h));
	EXPECT_EQ(KVSTASH_STATE_ABSENT, kvt_state(self->s.fd, KEY));
	kvt_sane(_metadata);
	job_end(_metadata, &j);
	KVT_EXPECT(ECANCELED, KVSTASH_R_ABORTED, j.r);
	KVT_EXPECT(ECANCELED, KVSTASH_R_ABORTED,
		   kvt_commit1(self->s.fd, &j.h));
	kvt_store_same(_metadata, &self->s);
	stop_free(&j.stop);
}

/*
 * I1: the pages that the stopped write goes on to fill are not given to anybody
 * else before it has ended.
 */
TEST_F(store, I1_pages_of_an_aborted_write_are_not_reused_while_it_runs)
{
	const unsigned int nr = 64;
	char buf[LEN], back[LEN], key[16];
	struct job j;

	if (!job_start(_metadata, &j, self->s.fd, WRITE))
		return;
	KVT_OK(kvt_abort1(self->s.fd, &j.h));
	for (unsigned int i = 0; i < nr; i++) {
		snprintf(key, sizeof(key), "reuse/%u", i);
		kvt_fill(buf, LEN, 100 + i);
		KVT_OK(kvt_put1(self->s.fd, key, strlen(key), buf, LEN));
	}
	job_end(_metadata, &j);
	KVT_EXPECT(ECANCELED, KVSTASH_R_ABORTED, j.r);
	for (unsigned int i = 0; i < nr; i++) {
		snprintf(key, sizeof(key), "reuse/%u", i);
		KVT_OK(kvt_get1(self->s.fd, key, strlen(key), back, LEN, NULL));
		EXPECT_EQ(-1, kvt_verify(back, LEN, 100 + i));
		KVT_OK(kvt_remove1(self->s.fd, key, strlen(key)));
	}
	stop_free(&j.stop);
}

/*
 * The handles have no place any more when they are ready: nobody will ever know
 * them, so their parts must not stay in flight.
 */
TEST_F(store, I6_entries_lose_their_memory_during_a_reserve)
{
	struct job j = { 0 };

	for (int gone = 0; gone < 2; gone++) {
		j.e = kvt_map(KVT_PAGE);
		ASSERT_NE(NULL, j.e);
		if (!job_start(_metadata, &j, self->s.fd, RESERVE))
			return;
		EXPECT_EQ(KVSTASH_STATE_FILLING,
			  kvt_state(self->s.fd, j.keys[0], 9));
		mprotect(j.e, KVT_PAGE, gone ? PROT_NONE : PROT_READ);
		job_end(_metadata, &j);
		EXPECT_EQ(-EFAULT, j.r.res);
		for (unsigned int i = 0; i < PARTS; i++)
			EXPECT_EQ(KVSTASH_STATE_ABSENT,
				  kvt_state(self->s.fd, j.keys[i],
					    strlen(j.keys[i])));
		kvt_store_same(_metadata, &self->s);
		munmap(j.e, KVT_PAGE);
		stop_free(&j.stop);
	}
}

/* While a PUT copies, its part is in flight, for everybody. */
TEST_F(store, I1_put_in_the_middle_is_in_flight)
{
	struct kvstash_exists x;
	char back[LEN];
	struct job j;
	int other = kvt_open();

	ASSERT_LE(0, other);
	if (!job_start(_metadata, &j, self->s.fd, PUT))
		return;
	KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT, kvt_exists1(other, KEY, &x));
	EXPECT_EQ(KVSTASH_STATE_FILLING, x.state);
	EXPECT_EQ(0, x.parts_present);
	KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT,
		   kvt_get1(other, KEY, back, LEN, NULL));
	KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT,
		   kvt_put1(other, KEY, back, LEN));
	KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, kvt_remove1(other, KEY));
	kvt_sane(_metadata);
	job_end(_metadata, &j);
	KVT_OK(j.r);
	KVT_OK(kvt_get1(other, KEY, back, LEN, NULL));
	EXPECT_EQ(-1, kvt_verify(back, LEN, 1));
	KVT_OK(kvt_remove1(other, KEY));
	close(other);
	stop_free(&j.stop);
}

/* The parent goes while its child's only PUT is copying. */
TEST_F(store, I9_parent_removed_while_a_child_is_put)
{
	struct job j;

	KVT_OK(kvt_put1(self->s.fd, "parent", 6, "x", 1));
	if (!job_start(_metadata, &j, self->s.fd, PUT_CHILD)) {
		kvt_remove1(self->s.fd, "parent", 6);
		return;
	}
	KVT_OK(kvt_remove1(self->s.fd, "parent", 6));
	EXPECT_EQ(KVSTASH_STATE_ABSENT, kvt_state(self->s.fd, KEY));
	kvt_sane(_metadata);
	job_end(_metadata, &j);
	KVT_EXPECT(EIDRM, KVSTASH_R_REMOVED, j.r);
	kvt_store_same(_metadata, &self->s);
	stop_free(&j.stop);
}

/* I3: removed while a reader copies: hidden at once, the bytes stay for it. */
TEST_F(store, I3_object_removed_while_it_is_read)
{
	struct kvt_counts c;
	char buf[LEN];
	struct job j;

	kvt_fill(buf, LEN, 1);
	KVT_OK(kvt_put1(self->s.fd, KEY, buf, LEN));
	if (!job_start(_metadata, &j, self->s.fd, GET)) {
		kvt_remove1(self->s.fd, KEY);
		return;
	}
	KVT_OK(kvt_remove1(self->s.fd, KEY));
	EXPECT_EQ(KVSTASH_STATE_ABSENT, kvt_state(self->s.fd, KEY));
	ASSERT_EQ(0, kvt_counts(&c));
	EXPECT_EQ(LEN, c.held);
	kvt_sane(_metadata);
	/* another object of the key may stand beside it */
	kvt_fill(buf, LEN, 2);
	KVT_OK(kvt_put1(self->s.fd, KEY, buf, LEN));
	job_end(_metadata, &j);
	KVT_OK(j.r);
	EXPECT_EQ(-1, kvt_verify(j.stop.mem, LEN, 1));
	KVT_OK(kvt_get1(self->s.fd, KEY, buf, LEN, NULL));
	EXPECT_EQ(-1, kvt_verify(buf, LEN, 2));
	KVT_OK(kvt_remove1(self->s.fd, KEY));
	kvt_store_same(_metadata, &self->s);
	stop_free(&j.stop);
}

/* In a child: stand in the middle of @command for ever. */
static void stand_still(int sock, enum command command)
{
	struct job j = { .fd = kvt_open(), .command = command };
	int r;

	if (j.fd < 0)
		_exit(1);
	r = stop_init(&j.stop);
	if (r)
		_exit(KSFT_SKIP);
	if (command == WRITE &&
	    kvt_reserve1(j.fd, KEY, LEN, &j.h).res)
		_exit(1);
	if (kvt_fd_send(sock, j.stop.uffd))
		_exit(1);
	job_main(&j);
	_exit(1);
}

/* I5: killed in the middle of a copy; nothing is left when it is reaped. */
static void kill_in_copy(struct __test_metadata *_metadata,
			 const struct kvt_store *s, enum command command)
{
	struct stop stop = { 0 };
	int sock[2], status;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(sock[0]);
		stand_still(sock[1], command);
	}
	close(sock[1]);
	stop.uffd = kvt_fd_recv(sock[0]);
	close(sock[0]);
	if (stop.uffd < 0) {
		status = kvt_wait(pid);
		if (status == KSFT_SKIP)
			SKIP(return, "no userfaultfd");
		ASSERT_EQ(0, status);
	}
	EXPECT_EQ(0, stop_wait(&stop));
	EXPECT_EQ(KVSTASH_STATE_FILLING, kvt_state(s->fd, KEY));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(-SIGKILL, kvt_wait(pid));
	EXPECT_EQ(KVSTASH_STATE_ABSENT, kvt_state(s->fd, KEY));
	kvt_store_same(_metadata, s);
	close(stop.uffd);
}

TEST_F(store, I5_killed_in_the_middle_of_a_write)
{
	kill_in_copy(_metadata, &self->s, WRITE);
}

TEST_F(store, I5_killed_in_the_middle_of_a_put)
{
	kill_in_copy(_metadata, &self->s, PUT);
}

TEST_HARNESS_MAIN
