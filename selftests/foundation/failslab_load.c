// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: none */
/* kvstash-timeout: 900 */
/*
 * The module is loaded with its first, second, ... allocation failing: it is
 * not loaded then, nothing of it is left, and the next load is a good one.
 */
#include "failslab.h"

/*
 * Many chances are those of the kernel's own loader, which come first; those of
 * the module's init are among the last ones.
 */
#define LAST	600U
#define STRIDE	23U

static bool set(const char *attr, const char *name, const char *fmt,
		unsigned long v)
{
	char path[80], text[24];
	int fd, len = snprintf(text, sizeof(text), fmt, v);
	bool ok;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", attr, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, text, len) == len;
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Where a function of the kernel begins and ends. */
static bool find_function(const char *want, unsigned long *start,
			  unsigned long *end)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long at;
	char line[512], name[256];
	bool found = false;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %*c %255s", &at, name) != 2)
			continue;
		if (!strcmp(name, want)) {
			*start = at;
			*end = -1UL;
			found = true;
			rewind(f);
			want = "";
		} else if (found && at > *start && at < *end) {
			*end = at;
		}
	}
	if (f)
		fclose(f);
	return found;
}

/*
 * The slab allocator's sysfs_slab_add() leaks a name if it fails (6.12): let
 * nothing fail in there.
 */
static bool spare(const char *function)
{
	static const char * const attrs[] = { "failslab", "fail_page_alloc" };
	unsigned long start, end;

	if (!find_function(function, &start, &end))
		return true;
	for (size_t i = 0; i < KVT_LEN(attrs); i++)
		if (!set(attrs[i], "stacktrace-depth", "%lu", 32) ||
		    !set(attrs[i], "reject-start", "0x%lx", start) ||
		    !set(attrs[i], "reject-end", "0x%lx", end))
			return false;
	return true;
}

/* All may fail again. */
static void spare_nothing(void)
{
	set("failslab", "reject-end", "0x%lx", 0);
	set("fail_page_alloc", "reject-end", "0x%lx", 0);
}

/*
 * The module's file in memory: were it read while something fails, that might
 * be the file system under it, which need not survive it.
 */
static char *image;
static size_t image_len;

static bool read_image(void)
{
	int fd = open(kvt_module_path(), O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t r = 1;

	if (fd < 0 || fstat(fd, &st))
		return false;
	image = malloc(st.st_size);
	while (image && r > 0 && image_len < (size_t)st.st_size) {
		r = read(fd, image + image_len, st.st_size - image_len);
		image_len += r > 0 ? r : 0;
	}
	close(fd);
	return image && image_len == (size_t)st.st_size;
}

static bool loaded(void)
{
	return !access("/sys/module/kvstash", F_OK);
}

/* One load with chance @n failing; returns the chances left. */
static unsigned int load(struct __test_metadata *_metadata, int fail,
			 unsigned int n)
{
	unsigned int left;
	int r;

	fail_arm(fail, n);
	r = syscall(SYS_init_module, image, image_len, "pool_mb=5") ? -errno : 0;
	left = fail_disarm(fail);
	EXPECT_EQ(!r, loaded()) {
		TH_LOG("chance %u: errno %d", n, -r);
	}
	if (r) {
		EXPECT_EQ(0, left);
		EXPECT_TRUE(access("/dev/kvstash", F_OK));
		EXPECT_TRUE(access("/proc/kvstash", F_OK));
		EXPECT_TRUE(access("/sys/kernel/debug/kvstash", F_OK));
		return left;
	}
	/* debugfs is not needed to work, so it may be absent */
	if (left || !access(KVT_CHECK, F_OK))
		kvt_sane(_metadata);
	EXPECT_EQ(6 << 20, kvt_pool("total_bytes"));
	ASSERT_EQ(0, kvt_module_unload());
	return left;
}

TEST(load_with_every_allocation_failing)
{
	int fail = fail_open();
	unsigned int left, chances, n, step;

	if (fail < 0 || !kvt_module_path())
		SKIP(return, "no fault injection in this kernel");
	ASSERT_TRUE(read_image());
	ASSERT_TRUE(spare("sysfs_slab_add"));
	left = load(_metadata, fail, FAIL_LIMIT);
	ASSERT_LT(0, left);
	chances = FAIL_LIMIT - left;
	TH_LOG("%u chances", chances);
	for (n = chances + 1; n; n -= step) {
		load(_metadata, fail, n);
		step = n + LAST > chances ? 1 : STRIDE;
		if (step > n)
			break;
	}
	load(_metadata, fail, 0);
	spare_nothing();
}

TEST_HARNESS_MAIN
