// SPDX-License-Identifier: GPL-2.0
/*
 * The client is the open file: whoever has a descriptor of it is the client,
 * by fork, dup or a UNIX socket, and it ends with the last one.
 */
#include "abi_call.h"

#define KEY	"passed", 6
#define LEN	9000UL

/* In another process: end @h on @fd as told; the exit status says how it went. */
static int end_in_child(int fd, const struct kvstash_handle *h, bool commit)
{
	pid_t pid = fork();
	struct kvstash_result r;

	if (pid < 0)
		return -errno;
	if (!pid) {
		r = commit ? kvt_commit1(fd, h) : kvt_abort1(fd, h);
		_exit(-r.res);
	}
	return kvt_wait(pid);
}

static void reserve_full(struct __test_metadata *_metadata, int fd,
			 struct kvstash_handle *h)
{
	char buf[LEN];

	kvt_fill(buf, LEN, 5);
	KVT_OK(kvt_reserve1(fd, KEY, LEN, h));
	KVT_OK(kvt_write1(fd, h, 0, buf, LEN));
}

static void expect_bytes(struct __test_metadata *_metadata, int fd)
{
	char back[LEN];

	KVT_OK(kvt_get1(fd, KEY, back, LEN, NULL));
	EXPECT_EQ(-1, kvt_verify(back, LEN, 5));
	KVT_OK(kvt_remove1(fd, KEY));
}

TEST_F(store, child_ends_its_parents_handle)
{
	struct kvstash_handle h;

	reserve_full(_metadata, self->s.fd, &h);
	EXPECT_EQ(0, end_in_child(self->s.fd, &h, true));
	KVT_EXPECT(EALREADY, KVSTASH_R_COMMITTED, kvt_commit1(self->s.fd, &h));
	expect_bytes(_metadata, self->s.fd);
	reserve_full(_metadata, self->s.fd, &h);
	EXPECT_EQ(0, end_in_child(self->s.fd, &h, false));
	KVT_EXPECT(ECANCELED, KVSTASH_R_ABORTED, kvt_commit1(self->s.fd, &h));
}

/* What a child reserved and left behind is its parent's as well. */
TEST_F(store, parent_ends_its_childs_handle)
{
	struct kvstash_handle *h = mmap(NULL, KVT_PAGE, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char buf[LEN];
	pid_t pid;

	ASSERT_NE(MAP_FAILED, h);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		kvt_fill(buf, LEN, 5);
		if (kvt_reserve1(self->s.fd, KEY, LEN, h).res)
			_exit(1);
		_exit(-kvt_write1(self->s.fd, h, 0, buf, LEN).res);
	}
	ASSERT_EQ(0, kvt_wait(pid));
	/* the child has gone, the open file has not */
	KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT,
		   kvt_exists1(self->s.fd, KEY, NULL));
	KVT_OK(kvt_commit1(self->s.fd, h));
	expect_bytes(_metadata, self->s.fd);
	munmap(h, KVT_PAGE);
}

/* Another open file of the same process is another client. */
TEST_F(store, dup_is_the_same_client_and_open_is_not)
{
	int twin = dup(self->s.fd), other = kvt_open();
	struct kvstash_query q[3];
	struct kvstash_handle h;

	ASSERT_LE(0, twin);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, kvt_query(self->s.fd, &q[0]));
	ASSERT_EQ(0, kvt_query(twin, &q[1]));
	ASSERT_EQ(0, kvt_query(other, &q[2]));
	EXPECT_EQ(q[0].client, q[1].client);
	EXPECT_NE(q[0].client, q[2].client);
	reserve_full(_metadata, self->s.fd, &h);
	KVT_EXPECT(EPERM, KVSTASH_R_HANDLE_OWNER, kvt_commit1(other, &h));
	KVT_OK(kvt_commit1(twin, &h));
	close(twin);
	close(other);
	expect_bytes(_metadata, self->s.fd);
}

/*
 * A client is opened and bound in one process, passed on to another over a
 * socket, and closed in the first: it lives until the second closes it.
 */
TEST_F(store, I5_release_only_at_the_last_close)
{
	struct kvt_gate go;
	struct kvstash_handle h;
	int sock[2], fd;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	ASSERT_EQ(0, kvt_gate_init(&go));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(self->s.fd);
		fd = kvt_fd_recv(sock[1]);
		_exit(fd < 0 || kvt_gate_wait(&go) || close(fd) ? 1 : 0);
	}
	fd = kvt_open();
	ASSERT_LE(0, fd);
	reserve_full(_metadata, fd, &h);
	ASSERT_EQ(0, kvt_fd_send(sock[0], fd));
	close(fd);
	KVT_EXPECT(ENOENT, KVSTASH_R_IN_FLIGHT,
		   kvt_exists1(self->s.fd, KEY, NULL));
	EXPECT_EQ(self->s.snap.c.in_flight + kvt_pages(LEN),
		  kvt_pool("in_flight_bytes"));
	ASSERT_EQ(0, kvt_gate_open(&go, 1));
	EXPECT_EQ(0, kvt_wait(pid));
	EXPECT_EQ(KVSTASH_STATE_ABSENT, kvt_state(self->s.fd, KEY));
	kvt_store_same(_metadata, &self->s);
	kvt_gate_end(&go);
	close(sock[0]);
	close(sock[1]);
}

/* A descriptor that is only in a socket's queue still holds its client. */
TEST_F(store, I5_client_in_a_socket_queue_lives)
{
	struct kvstash_handle h;
	int sock[2], fd;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	fd = kvt_open();
	ASSERT_LE(0, fd);
	reserve_full(_metadata, fd, &h);
	ASSERT_EQ(0, kvt_fd_send(sock[0], fd));
	close(fd);
	EXPECT_EQ(KVSTASH_STATE_FILLING, kvt_state(self->s.fd, KEY));
	fd = kvt_fd_recv(sock[1]);
	ASSERT_LE(0, fd);
	KVT_OK(kvt_commit1(fd, &h));
	close(fd);
	expect_bytes(_metadata, self->s.fd);
	/* and once more, never taken out */
	fd = kvt_open();
	ASSERT_LE(0, fd);
	reserve_full(_metadata, fd, &h);
	ASSERT_EQ(0, kvt_fd_send(sock[0], fd));
	close(fd);
	EXPECT_EQ(KVSTASH_STATE_FILLING, kvt_state(self->s.fd, KEY));
	close(sock[0]);
	close(sock[1]);
	EXPECT_EQ(KVSTASH_STATE_ABSENT, kvt_state(self->s.fd, KEY));
	kvt_store_same(_metadata, &self->s);
}

/* Many processes end many handles of one client; each handle ends once. */
TEST_F(store, handles_of_one_client_in_many_processes)
{
	enum { PROCS = 4, NR = 200 };
	struct kvstash_end *e = mmap(NULL, PROCS * KVT_PAGE * 4,
				     PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct kvstash_handle h[NR];
	unsigned int ended, other;
	struct kvt_gate go;
	pid_t pid[PROCS];
	char key[16];

	ASSERT_NE(MAP_FAILED, e);
	ASSERT_EQ(0, kvt_gate_init(&go));
	for (int i = 0; i < NR; i++) {
		snprintf(key, sizeof(key), "many/%d", i);
		KVT_OK(kvt_reserve1(self->s.fd, key, strlen(key), 1, &h[i]));
		for (int p = 0; p < PROCS; p++)
			kvstash_prep_end(&e[p * NR + i], &h[i]);
	}
	for (int p = 0; p < PROCS; p++) {
		pid[p] = fork();
		ASSERT_LE(0, pid[p]);
		if (!pid[p]) {
			if (kvt_gate_wait(&go))
				_exit(1);
			_exit(kvt_abort(self->s.fd, e + p * NR, NR) != NR);
		}
	}
	ASSERT_EQ(0, kvt_gate_open(&go, PROCS));
	for (int p = 0; p < PROCS; p++)
		EXPECT_EQ(0, kvt_wait(pid[p]));
	for (int i = 0; i < NR; i++) {
		ended = 0;
		other = 0;
		for (int p = 0; p < PROCS; p++) {
			ended += !e[p * NR + i].r.res;
			other += e[p * NR + i].r.reason != KVSTASH_R_OK &&
				 e[p * NR + i].r.reason != KVSTASH_R_ABORTED;
		}
		EXPECT_EQ(1, ended);
		EXPECT_EQ(0, other);
	}
	kvt_store_same(_metadata, &self->s);
	kvt_gate_end(&go);
	munmap(e, PROCS * KVT_PAGE * 4);
}

TEST_HARNESS_MAIN
