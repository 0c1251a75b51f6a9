// SPDX-License-Identifier: GPL-2.0
/* Standard input and output of kvstashctl and kvstash-bench */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool-output.h"

/*
 * Open the wrong way round, so that what uses a stream that was closed fails as
 * if it still were.
 */
bool output_begin(const char *program)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* those below are open: it gets this number */
		if (open("/dev/null", flags) != fd) {
			fprintf(stderr, "%s: cannot open /dev/null: %s\n", program,
				strerror(errno));
			return false;
		}
	}
	return true;
}

bool output_end(const char *program)
{
	if (!fflush(stdout) && !ferror(stdout))
		return true;
	fprintf(stderr, "%s: cannot write to standard output\n", program);
	return false;
}
