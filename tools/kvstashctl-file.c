// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: bytes from and to files
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kvstashctl.h"

#define GROW ((size_t)1048576)

static int file_failed(struct ctl *ctl, const char *what, const char *path)
{
	int err = errno;

	return out_fail(ctl, err, NULL, "cannot %s %s: %s", what, path,
			strerror(err));
}

int bytes_alloc(struct ctl *ctl, struct bytes *b, __u64 len)
{
	memset(b, 0, sizeof(*b));
	if (!len)
		return 0;
	if (len > SIZE_MAX / 2)
		return out_fail(ctl, ENOMEM, NULL,
				"cannot map %llu bytes: too many",
				(unsigned long long)len);
	b->p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b->p == MAP_FAILED) {
		b->p = NULL;
		return out_fail(ctl, errno, NULL, "cannot map %llu bytes: %s",
				(unsigned long long)len, strerror(errno));
	}
	b->len = len;
	b->map = len;
	return 0;
}

void bytes_free(struct bytes *b)
{
	if (b->p)
		munmap(b->p, b->map);
	memset(b, 0, sizeof(*b));
}

/* Twice the room, or the first of it. */
static int grow(struct bytes *b)
{
	size_t map = b->map ? 2 * b->map : GROW;
	void *p;

	if (b->map)
		p = mremap(b->p, b->map, map, MREMAP_MAYMOVE);
	else
		p = mmap(NULL, map, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -1;
	b->p = p;
	b->map = map;
	return 0;
}

/* All that a pipe or terminal gives; -1 with errno. */
static int read_all(int fd, struct bytes *b)
{
	for (;;) {
		ssize_t n;

		if (b->len > KVSTASH_PART_BYTES_MAX) {
			errno = EFBIG;
			return -1;
		}
		if (b->len == b->map && grow(b))
			return -1;
		n = read(fd, (char *)b->p + b->len, b->map - b->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		b->len += (size_t)n;
	}
}

static int load(int fd, struct bytes *b)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st))
		return -1;
	if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return -1;
	}
	/* Standard input may be a file that was read from already. */
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 || fd == STDIN_FILENO)
		return read_all(fd, b);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return -1;
	b->p = p;
	b->len = (__u64)st.st_size;
	b->map = (size_t)st.st_size;
	return 0;
}

int file_load(struct ctl *ctl, const char *path, struct bytes *b)
{
	int fd = STDIN_FILENO, code = 0;

	memset(b, 0, sizeof(*b));
	if (strcmp(path, "-"))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return file_failed(ctl, "open", path);
	if (load(fd, b)) {
		code = file_failed(ctl, "read", path);
		bytes_free(b);
	}
	if (fd != STDIN_FILENO)
		close(fd);
	return code;
}

static int write_all(int fd, const char *p, __u64 len)
{
	while (len) {
		ssize_t n = write(fd, p, len < GROW ? len : GROW);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= (__u64)n;
	}
	return 0;
}

int file_store(struct ctl *ctl, const char *path, const struct bytes *b)
{
	int fd = STDOUT_FILENO, code = 0;

	if (strcmp(path, "-"))
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return file_failed(ctl, "open", path);
	if (write_all(fd, b->p, b->len))
		code = file_failed(ctl, "write", path);
	if (fd != STDOUT_FILENO && close(fd) && !code)
		code = file_failed(ctl, "write", path);
	return code;
}
