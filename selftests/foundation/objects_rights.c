// SPDX-License-Identifier: GPL-2.0
/*
 * Rights: a namespace's owner, group and mode are checked as those of a file,
 * when the client is bound, against the identity of the caller.
 */
#include <kvstash_test.h>

#include <grp.h>

#define OWNER	12345
#define GROUP	23456
#define OTHER	34567

#define NAME	"rights"

enum who {
	AS_OWNER,
	AS_GROUP,
	AS_MEMBER,	/* by a supplementary group */
	AS_OTHER,
	WHOS
};

static const char * const who_name[WHOS] = { "owner", "group", "member",
					     "other" };

/* Becomes @who, with no capability left. */
static bool become(enum who who)
{
	uid_t uid = who == AS_OWNER ? OWNER : OTHER;
	gid_t gid = who == AS_GROUP ? GROUP : OTHER, member = GROUP;

	if (setgroups(who == AS_MEMBER ? 1 : 0, &member))
		return false;
	return !setresgid(gid, gid, gid) && !setresuid(uid, uid, uid);
}

/* What @who is found to be able to do in the namespace: bits of the mode. */
enum found {
	MAY_WRITE = 2,
	MAY_READ = 4,
	BIND_REFUSED = 8,	/* beside no rights at all */
	WRONG = 16,
};

static int as(const char *ns, int flags)
{
	int fd = kvt_open_flags(flags), found = 0;
	struct kvstash_result r;

	if (fd < 0)
		return WRONG;
	r = kvt_bind(fd, ns);
	if (r.res)
		return r.res == -EACCES && r.reason == KVSTASH_R_PERMISSION ?
		       BIND_REFUSED : WRONG;
	r = kvt_exists1(fd, "key", 3, NULL);
	if (r.reason != KVSTASH_R_PERMISSION)
		found |= r.res && r.res != -ENOENT ? WRONG : MAY_READ;
	else if (r.res != -EACCES)
		found |= WRONG;
	r = kvt_put1(fd, "key", 3, "x", 1);
	if (r.reason != KVSTASH_R_PERMISSION)
		found |= r.res && r.res != -EEXIST ? WRONG : MAY_WRITE;
	else if (r.res != -EACCES)
		found |= WRONG;
	close(fd);
	return found;
}

static int as_child(enum who who, const char *ns, int flags)
{
	pid_t pid = fork();

	if (pid < 0)
		return WRONG;
	if (!pid)
		_exit(become(who) ? as(ns, flags) : WRONG);
	return kvt_wait(pid);
}

/* The bits of a mode that count for @who. */
static int rights(unsigned int mode, enum who who)
{
	if (who == AS_OWNER)
		return mode >> 6 & 6;
	return (who == AS_OTHER ? mode : mode >> 3) & 6;
}

FIXTURE(tenant) {
	struct kvt_counts bare;
};

FIXTURE_SETUP(tenant)
{
	struct kvt_ns_args args = { .name = NAME, .uid = OWNER, .gid = GROUP,
				    .mode = 0600 };

	ASSERT_EQ(0, chmod(KVSTASH_DEVICE, 0666));
	ASSERT_EQ(0, kvt_counts(&self->bare));
	ASSERT_EQ(0, kvt_ns_new(&args));
}

FIXTURE_TEARDOWN(tenant)
{
	EXPECT_EQ(0, kvt_ns_del(NAME));
	kvt_no_leak(_metadata, &self->bare);
}

static const unsigned int modes[] = {
	0600, 0640, 0660, 0664, 0666, 0400, 0200, 0440, 0220, 0604, 0602, 0060,
	0006, 0040, 0020, 0004, 0002, 0420, 0246, 0462,
};

TEST_F(tenant, I10_mode_decides_as_that_of_a_file)
{
	struct kvt_ns_args args = { .name = NAME };
	int want, got;

	for (size_t i = 0; i < KVT_LEN(modes); i++) {
		args.mode = modes[i];
		ASSERT_EQ(0, kvt_ns_set(&args));
		for (int who = 0; who < WHOS; who++) {
			want = rights(modes[i], who);
			got = as_child(who, NAME, O_RDWR);
			EXPECT_EQ(want ? want : BIND_REFUSED, got) {
				TH_LOG("mode %04o, %s", modes[i],
				       who_name[who]);
			}
		}
	}
}

/* The file's own mode can only take away. */
TEST_F(tenant, I10_mode_of_the_file_takes_away)
{
	struct kvt_ns_args args = { .name = NAME, .mode = 0640 };

	ASSERT_EQ(0, kvt_ns_set(&args));
	EXPECT_EQ(MAY_READ, as_child(AS_OWNER, NAME, O_RDONLY));
	EXPECT_EQ(MAY_WRITE, as_child(AS_OWNER, NAME, O_WRONLY));
	EXPECT_EQ(MAY_READ, as_child(AS_GROUP, NAME, O_RDONLY));
	/* may read by mode, may write by file: nothing is left */
	EXPECT_EQ(0, as_child(AS_GROUP, NAME, O_WRONLY) &
		     (MAY_READ | MAY_WRITE | WRONG));
}

/* Root, and who may override, can do all. */
TEST_F(tenant, root_may_do_all)
{
	struct kvt_ns_args args = { .name = NAME, .mode = 0400 };

	ASSERT_EQ(0, kvt_ns_set(&args));
	EXPECT_EQ(MAY_READ | MAY_WRITE, as(NAME, O_RDWR));
}

/*
 * The binding stays with the open file: a process that could not have bound it
 * may use a client that was passed on to it.
 */
TEST_F(tenant, bound_client_may_be_passed_on)
{
	int fd = kvt_open_ns(NAME);
	pid_t pid;

	ASSERT_LE(0, fd);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(!become(AS_OTHER) ||
		      kvt_put1(fd, "passed", 6, "x", 1).res);
	EXPECT_EQ(0, kvt_wait(pid));
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, kvt_state(fd, "passed", 6));
	close(fd);
}

/* A client that was opened by root and is bound by another is that other's. */
TEST_F(tenant, binding_checks_who_binds)
{
	int fd = kvt_open();
	struct kvstash_result r;
	pid_t pid;

	ASSERT_LE(0, fd);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (!become(AS_OTHER))
			_exit(1);
		r = kvt_bind(fd, NAME);
		_exit(r.res != -EACCES || r.reason != KVSTASH_R_PERMISSION);
	}
	EXPECT_EQ(0, kvt_wait(pid));
	KVT_OK(kvt_bind(fd, NAME));
	close(fd);
}

/* A change of mode is for those who come. */
TEST_F(tenant, mode_changed_after_binding)
{
	struct kvt_ns_args args = { .name = NAME, .mode = 0400 };
	int fd = kvt_open_ns(NAME);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, kvt_ns_set(&args));
	KVT_OK(kvt_put1(fd, "still", 5, "x", 1));
	EXPECT_EQ(BIND_REFUSED, as_child(AS_OTHER, NAME, O_RDWR));
	close(fd);
}

/* Anybody may use "default", whose mode is 0666. */
TEST_F(tenant, default_is_for_all)
{
	int fd = kvt_open();

	for (int who = 0; who < WHOS; who++)
		EXPECT_EQ(MAY_READ | MAY_WRITE,
			  as_child(who, "default", O_RDWR));
	KVT_OK(kvt_remove1(fd, "key", 3));
	close(fd);
}

/* I10: who has no right to a namespace learns nothing from /proc either. */
TEST_F(tenant, I10_figures_are_not_for_all)
{
	static const char * const files[] = { "/proc/kvstash/ns/" NAME,
					      KVT_POOL };
	pid_t pid;

	for (size_t i = 0; i < KVT_LEN(files); i++) {
		ASSERT_EQ(0, access(files[i], R_OK));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(!become(AS_OTHER) || !access(files[i], R_OK));
		EXPECT_EQ(0, kvt_wait(pid)) {
			TH_LOG("%s", files[i]);
		}
	}
}

/* Control needs CAP_SYS_ADMIN. */
TEST_F(tenant, control_needs_the_capability)
{
	struct kvt_ns_args args = { .name = "theirs" };
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(!become(AS_OWNER) || kvt_ns_new(&args) != -EPERM ||
		      kvt_ns_del(NAME) != -EPERM ||
		      kvt_pool_new("theirs", 2 << 20, NULL) != -EPERM);
	EXPECT_EQ(0, kvt_wait(pid));
}

TEST_HARNESS_MAIN
