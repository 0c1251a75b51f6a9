// SPDX-License-Identifier: GPL-2.0
/*
 * R133, R109: bytes come from and go to any memory that a process has, without
 * registration, limits or capabilities.
 */
#include "abi_call.h"

#include <dirent.h>
#include <grp.h>
#include <sys/resource.h>

#define LEN	(3 * KVT_PAGE + 5)
#define HUGE_LEN	(2UL << 20)
#define KEY	"memory", 6

/* PUT @len bytes at @buf, GET them to @to, or just PUT if @to is NULL. */
static void round_trip(struct __test_metadata *_metadata, int fd,
		       const void *buf, void *to, size_t len)
{
	void *back = to ? to : malloc(len);

	ASSERT_NE(NULL, back);
	KVT_OK(kvt_put1(fd, KEY, buf, len));
	KVT_OK(kvt_get1(fd, KEY, back, len, NULL));
	EXPECT_EQ(-1, kvt_verify(back, len, 1));
	KVT_OK(kvt_remove1(fd, KEY));
	if (!to)
		free(back);
}

TEST_F(store, R133_heap_and_stack)
{
	char stack[LEN], back[LEN];
	char *heap = malloc(LEN);

	ASSERT_NE(NULL, heap);
	kvt_fill(heap, LEN, 1);
	round_trip(_metadata, self->s.fd, heap, back, LEN);
	kvt_fill(stack, LEN, 1);
	round_trip(_metadata, self->s.fd, stack, heap, LEN);
	free(heap);
}

/* A target that was never touched, and a source that was: zeros. */
TEST_F(store, R133_untouched_memory)
{
	char *zeros = kvt_map(LEN), *back = kvt_map(LEN);

	ASSERT_TRUE(zeros && back);
	KVT_OK(kvt_put1(self->s.fd, KEY, zeros, LEN));
	KVT_OK(kvt_get1(self->s.fd, KEY, back, LEN, NULL));
	EXPECT_EQ(0, memcmp(zeros, back, LEN));
	KVT_OK(kvt_remove1(self->s.fd, KEY));
}

static bool write_figure(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

TEST_F(store, R133_hugetlb)
{
	char *p;

	write_figure("/proc/sys/vm/nr_hugepages", "4");
	p = mmap(NULL, HUGE_LEN, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (p == MAP_FAILED)
		SKIP(return, "no hugetlb page");
	kvt_fill(p, HUGE_LEN, 1);
	round_trip(_metadata, self->s.fd, p, NULL, HUGE_LEN);
	round_trip(_metadata, self->s.fd, p, p, HUGE_LEN);
	munmap(p, HUGE_LEN);
	write_figure("/proc/sys/vm/nr_hugepages", "0");
}

TEST_F(store, R133_transparent_huge_pages)
{
	char *map = kvt_map(2 * HUGE_LEN), *p;

	ASSERT_NE(NULL, map);
	p = (char *)(((unsigned long)map + HUGE_LEN - 1) & ~(HUGE_LEN - 1));
	if (madvise(p, HUGE_LEN, MADV_HUGEPAGE))
		SKIP(return, "no transparent huge pages");
	kvt_fill(p, HUGE_LEN, 1);
	round_trip(_metadata, self->s.fd, p, NULL, HUGE_LEN);
	round_trip(_metadata, self->s.fd, p, p, HUGE_LEN);
	munmap(map, 2 * HUGE_LEN);
}

/* A file: its private mapping, read-only, and its shared one. */
TEST_F(store, R133_file_mappings)
{
	int file = syscall(SYS_memfd_create, "bytes", 0);
	char buf[LEN], *p;

	ASSERT_LE(0, file);
	kvt_fill(buf, LEN, 1);
	ASSERT_EQ((ssize_t)LEN, write(file, buf, LEN));
	p = mmap(NULL, LEN, PROT_READ, MAP_PRIVATE, file, 0);
	ASSERT_NE(MAP_FAILED, p);
	round_trip(_metadata, self->s.fd, p, NULL, LEN);
	munmap(p, LEN);
	p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	ASSERT_NE(MAP_FAILED, p);
	round_trip(_metadata, self->s.fd, p, p, LEN);
	munmap(p, LEN);
	close(file);
}

/* A program's own text: a file mapping that is read-only and executable. */
TEST_F(store, R133_text)
{
	const char *text = (const char *)&round_trip;
	char back[64];

	KVT_OK(kvt_put1(self->s.fd, KEY, text, sizeof(back)));
	KVT_OK(kvt_get1(self->s.fd, KEY, back, sizeof(back), NULL));
	EXPECT_EQ(0, memcmp(text, back, sizeof(back)));
	KVT_EXPECT(EFAULT, KVSTASH_R_DATA_FAULT,
		   kvt_get1(self->s.fd, KEY, (void *)text, sizeof(back), NULL));
	KVT_OK(kvt_remove1(self->s.fd, KEY));
}

TEST_F(store, R133_shared_memory)
{
	char *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	ASSERT_NE(MAP_FAILED, p);
	pid = fork();	/* another process fills it */
	ASSERT_LE(0, pid);
	if (!pid) {
		kvt_fill(p, LEN, 1);
		_exit(0);
	}
	ASSERT_EQ(0, kvt_wait(pid));
	round_trip(_metadata, self->s.fd, p, p, LEN);
	munmap(p, LEN);
}

/* Behind the end of a file there is nothing: that entry's fault, no signal. */
TEST_F(store, R133_behind_the_end_of_a_file)
{
	int file = syscall(SYS_memfd_create, "short", 0);
	char *p;

	ASSERT_LE(0, file);
	ASSERT_EQ(0, ftruncate(file, KVT_PAGE));
	p = mmap(NULL, 2 * KVT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file,
		 0);
	ASSERT_NE(MAP_FAILED, p);
	KVT_EXPECT(EFAULT, KVSTASH_R_DATA_FAULT,
		   kvt_put1(self->s.fd, KEY, p, 2 * KVT_PAGE));
	KVT_EXPECT(EFAULT, KVSTASH_R_DATA_FAULT,
		   kvt_get1(self->s.fd, "seed/three", 10, p + 100,
			    KVT_THREE_LEN, NULL));
	kvt_store_same(_metadata, &self->s);
	munmap(p, 2 * KVT_PAGE);
	close(file);
}

/* A memory resource of a PCI device, or NULL. */
static void *map_resource(const char *device, int i, size_t *len)
{
	void *p = MAP_FAILED;
	struct stat st;
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource%d",
		 device, i);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	*len = fstat(fd, &st) ? 0 : st.st_size;
	if (*len >= KVT_PAGE)
		p = mmap(NULL, *len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

/* That of any device: the bed is thrown away, and only one page is read. */
static void *map_device(size_t *len)
{
	DIR *dir = opendir("/sys/bus/pci/devices");
	struct dirent *d;
	void *p = NULL;

	while (dir && !p && (d = readdir(dir)))
		for (int i = 0; i < 6 && !p; i++)
			p = map_resource(d->d_name, i, len);
	if (dir)
		closedir(dir);
	return p;
}

/* By segments, and as a target: tried only if a PUT of it is refused. */
static void device_elsewhere(struct __test_metadata *_metadata,
			     const struct kvt_store *s, void *p)
{
	char buf[KVT_ONE_LEN];
	struct kvstash_seg segs[2];
	struct kvstash_range range;
	struct kvstash_put e;
	struct kvstash_get g;

	kvstash_prep_seg(&segs[0], buf, 1000);
	kvstash_prep_seg(&segs[1], p, 8);
	kvstash_prep_put(&e, KEY, NULL, 0);
	kvstash_prep_put_segs(&e, segs, 2);
	KVT_EXPECT(EFAULT, KVSTASH_R_DATA_FAULT, kvt_put_one(s->fd, &e));
	KVT_EXPECT(EFAULT, KVSTASH_R_DATA_FAULT,
		   kvt_write1(s->fd, &s->open, 0, p, 8));
	kvstash_prep_range(&range, 0, 0, p, 8);
	kvstash_prep_get_ranges(&g, "seed/one", 8, &range, 1);
	KVT_EXPECT(EFAULT, KVSTASH_R_DATA_FAULT, kvt_get_one(s->fd, &g));
	kvt_store_same(_metadata, s);
}

/* Device memory is no memory: its entry says so, the others are carried out. */
TEST_F(store, R133_device_memory_is_EFAULT)
{
	struct kvstash_put e[3];
	size_t len = 0;
	char *p = map_device(&len);
	bool refused;

	if (!p)
		SKIP(return, "no device memory to map");
	kvstash_prep_put(&e[0], "first", 5, "x", 1);
	kvstash_prep_put(&e[1], KEY, p, KVT_PAGE);
	kvstash_prep_put(&e[2], "other", 5, "x", 1);
	ASSERT_EQ(3, kvt_put(self->s.fd, e, 3));
	KVT_OK(e[0].r);
	KVT_EXPECT(EFAULT, KVSTASH_R_DATA_FAULT, e[1].r);
	KVT_OK(e[2].r);
	refused = e[1].r.res;
	kvt_remove1(self->s.fd, KEY);
	KVT_OK(kvt_remove1(self->s.fd, "first", 5));
	KVT_OK(kvt_remove1(self->s.fd, "other", 5));
	kvt_store_same(_metadata, &self->s);
	if (refused)
		device_elsewhere(_metadata, &self->s, p);
	munmap(p, len);
}

/* Source and target of one process's GET and PUT may be the same memory. */
TEST_F(store, R133_object_copied_within_a_batch)
{
	char buf[KVT_ONE_LEN];

	KVT_OK(kvt_get1(self->s.fd, "seed/one", 8, buf, sizeof(buf), NULL));
	KVT_OK(kvt_put1(self->s.fd, KEY, buf, sizeof(buf)));
	memset(buf, 0, sizeof(buf));
	KVT_OK(kvt_get1(self->s.fd, KEY, buf, sizeof(buf), NULL));
	EXPECT_EQ(-1, kvt_verify(buf, sizeof(buf), kvt_seed_of("seed/one", 0)));
	KVT_OK(kvt_remove1(self->s.fd, KEY));
}

/* In a child without rights: no locked memory, nobody's identity. */
static int unprivileged(void)
{
	const struct rlimit none = { 0, 0 };
	const size_t len = 1 << 20;
	char *buf = kvt_map(len), *back = kvt_map(len);
	struct kvstash_handle h;
	int fd;

	if (!buf || !back || setrlimit(RLIMIT_MEMLOCK, &none) ||
	    setgroups(0, NULL) || setresgid(34567, 34567, 34567) ||
	    setresuid(34567, 34567, 34567))
		return 1;
	fd = kvt_open();
	if (fd < 0)
		return 2;
	kvt_fill(buf, len, 1);
	if (kvt_put1(fd, KEY, buf, len).res)
		return 3;
	if (kvt_exists1(fd, KEY, NULL).res)
		return 4;
	if (kvt_get1(fd, KEY, back, len, NULL).res ||
	    kvt_verify(back, len, 1) >= 0)
		return 5;
	if (kvt_reserve1(fd, "two", 3, len, &h).res ||
	    kvt_write1(fd, &h, 0, buf, len).res || kvt_commit1(fd, &h).res)
		return 6;
	if (kvt_remove1(fd, KEY).res || kvt_remove1(fd, "two", 3).res)
		return 7;
	return 0;
}

TEST_F(store, R109_no_locked_memory_and_no_capability)
{
	pid_t pid;

	ASSERT_EQ(0, chmod(KVSTASH_DEVICE, 0666));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(unprivileged());
	EXPECT_EQ(0, kvt_wait(pid));
}

TEST_HARNESS_MAIN
