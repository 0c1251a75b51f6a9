// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench: memory and numbers */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kvstash-bench.h"
#include "tool-output.h"

static void say(const char *fmt, va_list ap)
{
	fflush(stdout);
	fputs("kvstash-bench: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	exit(EXIT_USAGE);
}

/* The exit status: @status, unless it says that all is well and output failed. */
int finish(int status)
{
	if (!output_end("kvstash-bench") && !status)
		return EXIT_USAGE;
	return status;
}

/* Zeroed, never NULL. */
void *xalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		die("no memory for %zu times %zu bytes", n, size);
	return p;
}

void *xgrow(void *p, size_t n, size_t size)
{
	p = reallocarray(p, n, size);
	if (!p)
		die("no memory for %zu times %zu bytes", n, size);
	return p;
}

static void *map_anon(size_t bytes, int flags)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("cannot map %zu bytes: %s", bytes, strerror(errno));
	return p;
}

/* Page-aligned and with all pages there, so that no fault falls into a measurement. */
void *map_pages(size_t bytes)
{
	return map_anon(bytes, MAP_PRIVATE | MAP_POPULATE);
}

void unmap_pages(void *p, size_t bytes)
{
	munmap(p, bytes);
}

/* Zeroed, and the same memory in the children. */
void *map_shared(size_t bytes)
{
	return map_anon(bytes, MAP_SHARED);
}

static unsigned int suffix_shift(const char *s)
{
	switch (*s) {
	case 'K':
	case 'k':
		return 10;
	case 'M':
	case 'm':
		return 20;
	case 'G':
	case 'g':
		return 30;
	case 'T':
	case 't':
		return 40;
	}
	return 0;
}

/* A decimal number with K, M, G or T after it, or the end. */
__u64 parse_u64(const char *opt, const char *text, __u64 min, __u64 max)
{
	unsigned long long v;
	unsigned int shift;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	shift = suffix_shift(end);
	/* it takes blanks and signs, too */
	if (!isdigit((unsigned char)*text) || end[shift ? 1 : 0])
		die("%s: '%s' is no number", opt, text);
	if (errno || v > UINT64_MAX >> shift || v << shift < min || v << shift > max)
		die("%s: %s is not between %llu and %llu", opt, text,
		    min, max);
	return v << shift;
}

/* A decimal number above 0, up to 100 */
double parse_percent(const char *opt, const char *text)
{
	char *end;
	double v = strtod(text, &end);

	/* it takes hexadecimal ones, and such as "inf", too */
	if (end == text || *end || text[strspn(text, "0123456789.")])
		die("%s: '%s' is no number", opt, text);
	if (!(v > 0 && v <= 100))
		die("%s: %s is not above 0 and up to 100", opt, text);
	return v;
}

__u64 round_up(__u64 v, __u64 unit)
{
	return (v + unit - 1) / unit * unit;
}
