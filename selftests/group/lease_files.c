// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/*
 * Whose a lease is: the open file's, wherever that goes. What REMOVE makes of a
 * leased object, and where leases are shown.
 */
#include "lease.h"

#include <sys/prctl.h>

#define LEN	200000U

static char buf[KVL_POOL];

static struct kvr_obj object(__u64 id)
{
	return (struct kvr_obj){ .key = { 1, id }, .len = LEN, .parts = 1 };
}

FIXTURE(leased) {
	struct kvr_store s;
	struct kvr_obj o;
	struct kvstash_handle h;
};

FIXTURE_SETUP(leased)
{
	self->o = object(0);
	kvr_store_make(_metadata, &self->s, KVL_POOL, NULL);
	KVT_OK(kvr_put(self->s.fd, &self->o, buf));
	KVT_OK(kvl_lease(self->s.fd, &self->o, &self->h));
}

FIXTURE_TEARDOWN(leased)
{
	kvr_store_end(_metadata, &self->s);
}

/* R25, I3: hidden at once; the bytes are free at the last release, by itself. */
TEST_F(leased, R25_I3_I6_remove_of_a_leased_object)
{
	struct kvr_store *s = &self->s;
	struct kvstash_handle other;
	int fd = kvt_open_ns(s->name);
	__u64 room = kvr_room(&self->o), total = kvr_pool(s, "total_bytes");

	ASSERT_LE(0, fd);
	KVT_OK(kvl_lease(fd, &self->o, &other));
	KVT_OK(kvr_remove(s->fd, &self->o));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(s->fd, &self->o, NULL));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(fd, &self->o, NULL));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_get(fd, &self->o, buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_remove(s->fd, &self->o));
	EXPECT_EQ(room, kvr_pool(s, "held_bytes"));
	EXPECT_EQ(0, kvr_pool(s, "committed_bytes"));
	EXPECT_EQ(total - room, kvr_pool(s, "free_bytes"));
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(kvl_get(s->fd, &self->h, &self->o, buf));
	KVT_OK(kvl_get(fd, &other, &self->o, buf));
	KVT_OK(kvt_release1(s->fd, &self->h));
	EXPECT_EQ(room, kvr_pool(s, "held_bytes"));
	KVT_OK(kvl_get(fd, &other, &self->o, buf));
	KVT_OK(kvt_release1(fd, &other));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
	KVL_LEASED(0, 0, s);
	close(fd);
}

/* The key is free at once: the new object beside the old one. */
TEST_F(leased, I2_put_again_beside_a_leased_object)
{
	struct kvr_store *s = &self->s;
	struct kvstash_handle new;

	KVT_OK(kvr_remove(s->fd, &self->o));
	memset(buf, 0x5a, 9000);
	KVT_OK(kvt_put1(s->fd, &self->o.key, sizeof(self->o.key), buf, 9000));
	KVT_OK(kvl_get(s->fd, &self->h, &self->o, buf));
	KVT_OK(kvl_lease(s->fd, &self->o, &new));
	memset(buf, 0, 9000);
	KVT_OK(kvt_get_by_lease1(s->fd, &new, buf, 9000, NULL));
	for (unsigned int i = 0; i < 9000; i++)
		ASSERT_EQ(0x5a, buf[i]);
	KVT_OK(kvt_release1(s->fd, &self->h));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
	KVL_LEASED(1, kvt_pages(9000), s);
	KVT_OK(kvt_release1(s->fd, &new));
}

/* A reader inside GET by a lease outlives the lease's release. */
TEST_F(leased, I3_release_while_a_get_by_it_runs)
{
	struct kvr_store *s = &self->s;
	struct kvr_reader rd;

	if (kvr_uffd_works())
		SKIP(return, "userfaultfd: %s", strerror(-kvr_uffd_works()));
	ASSERT_EQ(0, kvr_reader_start(&rd, s->fd, &self->o));
	KVT_OK(kvr_remove(s->fd, &self->o));
	KVT_OK(kvt_release1(s->fd, &self->h));
	EXPECT_EQ(kvr_room(&self->o), kvr_pool(s, "held_bytes"));
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(kvr_reader_finish(&rd));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
}

TEST_F(leased, a_childs_release_is_its_parents)
{
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		if (kvl_get(self->s.fd, &self->h, &self->o, buf).res)
			_exit(1);
		_exit(kvt_release1(self->s.fd, &self->h).res ? 2 : 0);
	}
	EXPECT_EQ(0, kvt_wait(pid));
	KVT_EXPECT(EALREADY, KVSTASH_R_RELEASED, kvt_release1(self->s.fd, &self->h));
	KVL_LEASED(0, 0, &self->s);
}

/* What a child takes stays when it ends: the open file has not. */
TEST_F(leased, a_childs_lease_outlives_it)
{
	struct kvstash_handle *h = kvr_shared(sizeof(*h));
	pid_t pid;

	ASSERT_NE(NULL, h);
	KVT_OK(kvt_release1(self->s.fd, &self->h));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(kvl_lease(self->s.fd, &self->o, h).res ? 1 : 0);
	EXPECT_EQ(0, kvt_wait(pid));
	KVL_LEASED(1, kvr_room(&self->o), &self->s);
	KVT_OK(kvl_flood(&self->s, self->s.fd, buf));
	KVT_OK(kvl_get(self->s.fd, h, &self->o, buf));
	KVT_OK(kvt_release1(self->s.fd, h));
}

TEST_F(leased, dup_is_the_same_client_and_open_is_not)
{
	int twin = dup(self->s.fd), other = kvt_open_ns(self->s.name);

	ASSERT_LE(0, twin);
	ASSERT_LE(0, other);
	KVT_EXPECT(EPERM, KVSTASH_R_HANDLE_OWNER, kvt_release1(other, &self->h));
	KVT_EXPECT(EPERM, KVSTASH_R_HANDLE_OWNER,
		   kvl_get(other, &self->h, &self->o, buf));
	close(other);
	close(self->s.fd);
	self->s.fd = twin;
	KVL_LEASED(1, kvr_room(&self->o), &self->s);
	KVT_OK(kvt_release1(twin, &self->h));
}

/* In a socket's queue, then in another process, the lease lives; then it ends. */
TEST_F(leased, I5_the_last_close_wherever_it_is)
{
	struct kvr_store *s = &self->s;
	struct kvt_gate go, got;
	int sock[2], fd;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	ASSERT_EQ(0, kvt_gate_init(&go));
	ASSERT_EQ(0, kvt_gate_init(&got));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(s->fd);
		if (kvt_gate_wait(&go))
			_exit(1);
		fd = kvt_fd_recv(sock[1]);
		if (fd < 0 || kvl_get(fd, &self->h, &self->o, buf).res)
			_exit(2);
		kvt_gate_open(&got, 1);
		_exit(kvt_gate_wait(&go) ? 3 : 0);
	}
	ASSERT_EQ(0, kvt_fd_send(sock[0], s->fd));
	close(s->fd);
	s->fd = kvt_open_ns(s->name);
	ASSERT_LE(0, s->fd);
	KVL_LEASED(1, kvr_room(&self->o), s);
	KVT_OK(kvl_flood(s, s->fd, buf));
	ASSERT_EQ(0, kvt_gate_open(&go, 1));
	ASSERT_EQ(0, kvr_ready(&got, pid));
	KVL_LEASED(1, kvr_room(&self->o), s);
	KVT_OK(kvl_flood(s, s->fd, buf));
	KVT_OK(kvr_get(s->fd, &self->o, buf));
	ASSERT_EQ(0, kvt_gate_open(&go, 1));
	EXPECT_EQ(0, kvt_wait(pid));
	KVL_LEASED(0, 0, s);
	EXPECT_EQ(1, kvr_ns(s, "leases_by_death"));
	close(sock[0]);
	close(sock[1]);
	kvt_gate_end(&go);
	kvt_gate_end(&got);
}

/* Who may read may lease, and must be able to let go of what it has leased. */
TEST_F(leased, a_client_that_only_reads)
{
	int fd = kvt_open_flags(O_RDONLY);
	struct kvstash_handle h;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, kvt_bind(fd, self->s.name).res);
	KVT_OK(kvl_lease(fd, &self->o, &h));
	KVT_OK(kvl_get(fd, &h, &self->o, buf));
	KVT_OK(kvt_release1(fd, &h));
	KVL_LEASED(1, kvr_room(&self->o), &self->s);
	close(fd);
	fd = kvt_open_flags(O_WRONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, kvt_bind(fd, self->s.name).res);
	KVT_EXPECT(EACCES, KVSTASH_R_PERMISSION, kvl_lease(fd, &self->o, &h));
	close(fd);
}

/* How often @text is in a file of debugfs. */
static unsigned int lines_with(const char *file, const char *text)
{
	static char all[1 << 16];
	unsigned int n = 0;
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/debug/kvstash/%s", file);
	if (kvt_slurp(path, all, sizeof(all)) < 0)
		return ~0U;
	for (const char *p = all; (p = strstr(p, text)); p++)
		n++;
	return n;
}

static void hex_of(const struct kvr_key *key, char *out)
{
	const unsigned char *p = (const void *)key;

	for (size_t i = 0; i < sizeof(*key); i++)
		sprintf(out + 2 * i, "%02x", p[i]);
}

TEST_F(leased, debugfs_lists_leases)
{
	char hex[2 * sizeof(struct kvr_key) + 1], pid[32], end[64];
	struct kvstash_handle h;

	hex_of(&self->o.key, hex);
	snprintf(pid, sizeof(pid), "%d ", getpid());
	snprintf(end, sizeof(end), " %llu\n", kvr_size(&self->o));
	EXPECT_EQ(1, lines_with("leases", hex));
	EXPECT_EQ(1, lines_with("leases", end));
	EXPECT_LE(1, lines_with("leases", pid));
	EXPECT_EQ(1, lines_with("leases", self->s.name));
	KVT_OK(kvl_lease(self->s.fd, &self->o, &h));
	EXPECT_EQ(2, lines_with("leases", hex));
	KVT_OK(kvr_remove(self->s.fd, &self->o));
	EXPECT_EQ(2, lines_with("leases", hex));
	KVT_OK(kvt_release1(self->s.fd, &h));
	EXPECT_EQ(1, lines_with("leases", hex));
	KVT_OK(kvt_release1(self->s.fd, &self->h));
	EXPECT_EQ(0, lines_with("leases", hex));
}

/* Who names himself so makes up no line and no column: it is all in one, escaped. */
TEST_F(leased, name_of_a_process_is_escaped)
{
	struct kvstash_handle h;
	char was[16];
	int fd;

	ASSERT_EQ(0, prctl(PR_GET_NAME, was));
	ASSERT_EQ(0, prctl(PR_SET_NAME, "a\n9 8\\\033\377z"));
	fd = kvt_open_ns(self->s.name);
	ASSERT_EQ(0, prctl(PR_SET_NAME, was));
	ASSERT_LE(0, fd);
	KVT_OK(kvl_lease(fd, &self->o, &h));
	EXPECT_EQ(2, lines_with("leases", "\n"));
	EXPECT_EQ(1, lines_with("leases", " a\\0129\\0408\\134\\033\\377z "));
	EXPECT_EQ(1, lines_with("clients", " a\\0129\\0408\\134\\033\\377z "));
	close(fd);
}

/* A namespace with a leased object, and its pool, can't go: its client is there. */
TEST_F(leased, namespace_of_a_lease_is_busy)
{
	EXPECT_GT(0, kvt_ns_del(self->s.name));
	EXPECT_GT(0, kvt_pool_del(self->s.name));
	KVT_OK(kvl_get(self->s.fd, &self->h, &self->o, buf));
}

TEST_HARNESS_MAIN
