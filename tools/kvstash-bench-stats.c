// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench: the module's figures, lines "name value" below /proc/kvstash */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvstash-bench.h"

#define PROC_ROOT	"/proc/kvstash"

/* -1 if there is no such file */
int stat_open(const char *dir, const char *file)
{
	char path[256];
	int n = snprintf(path, sizeof(path), PROC_ROOT "/%s/%s", dir, file);

	if (n < 0 || (size_t)n >= sizeof(path))
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC);
}

static bool find_value(char *text, const char *name, __u64 *val)
{
	size_t len = strlen(name);
	char *save = NULL;

	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *end;

		if (strncmp(l, name, len) || !strchr(" \t:", l[len]) || !l[len])
			continue;
		errno = 0;
		*val = strtoull(l + len + strspn(l + len, " \t:"), &end, 10);
		return !errno && end != l + len;
	}
	return false;
}

/* The file as it is now, through a descriptor that stays open: one call. */
bool stat_reread(int fd, const char *name, __u64 *val)
{
	char text[8192];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = 0;
	return find_value(text, name, val);
}

bool stat_read(const char *dir, const char *file, const char *name, __u64 *val)
{
	int fd = stat_open(dir, file);
	bool ok;

	if (fd < 0)
		return false;
	ok = stat_reread(fd, name, val);
	close(fd);
	return ok;
}

bool stat_pool_there(const char *name)
{
	DIR *d = opendir(PROC_ROOT "/pool");
	struct dirent *e;
	bool found = false;

	if (!d)
		return false;
	while (!found && (e = readdir(d)))
		found = e->d_name[0] != '.' && !strcmp(e->d_name, name);
	closedir(d);
	return found;
}

/* The name of the only pool */
bool stat_pool_name(char *buf, size_t len)
{
	DIR *d = opendir(PROC_ROOT "/pool");
	unsigned int found = 0;
	struct dirent *e;

	if (!d)
		return false;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && !found++)
			snprintf(buf, len, "%s", e->d_name);
	closedir(d);
	return found == 1;
}
