/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Unit tests of libkvstash: a check, and the fake device
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>

#include "lib.h"

/* One fact. A failure is counted and said, the test goes on. */
#define CHECK(cond) check(!!(cond), #cond, __FILE__, __LINE__)
#define CHECK_EQ(a, b) \
	check_eq((long long)(a), (long long)(b), #a, __FILE__, __LINE__)
#define CHECK_STR(a, b) check_str(a, b, #a, __FILE__, __LINE__)

void check(int ok, const char *what, const char *file, int line);
void check_eq(long long a, long long b, const char *what, const char *file,
	      int line);
void check_str(const char *a, const char *b, const char *what,
	       const char *file, int line);

#define FAKE_CALLS	64
#define FAKE_OBJECT	10	/* bytes of each object that the fake has */
#define FAKE_STATE	100	/* and of each state */
#define FAKE_LAYOUTS	4	/* that it has */
#define FAKE_SLOTS	11	/* of each */
#define FAKE_DETAIL	77	/* that goes with a refusal of a layout */
#define FAKE_CLIENT	42	/* whose leases it gives out */

/**
 * struct fake - what stands in for the module behind one file descriptor
 * @fd:      calls on it come here; those on others go to the kernel
 * @calls:   calls so far
 * @count:   entries of each call
 * @signal:  entries after which a signal ends each call; 0: none
 * @eintr:   this call is interrupted before its first entry
 * @bad:     this call fails with @err, @reason and @field
 * @err:     errno
 * @reason:  enum kvstash_reason
 * @field:   offset
 * @carried: entries carried out so far
 * @visible: keys below this number are there
 * @old:     entries and results are those of version 0.1
 * @partly:  keys or entries that the call which fails carries out before
 * @leased:  leases given out
 * @released: of these released
 * @pin:     what the last PIN asked for
 * @states:  candidates whose key is below this number are there
 * @stop:    candidates after which a signal ends each call; 0: none
 * @asked:   candidates answered
 * @cmd:     last command on a layout
 * @layout:  its argument as it came
 *
 * A key starts with its number as 32 bits. Calls count from 1, so that 0 is
 * never.
 */
struct fake {
	int fd;
	unsigned int calls;
	unsigned int count[FAKE_CALLS + 1];
	unsigned int signal;
	unsigned int eintr;
	unsigned int bad;
	int err;
	unsigned int reason;
	unsigned int field;
	unsigned long long carried;
	unsigned int visible;
	int old;
	unsigned int partly;
	unsigned long long leased;
	unsigned long long released;
	unsigned int pin;
	unsigned int states;
	unsigned int stop;
	unsigned long long asked;
	unsigned long cmd;
	struct kvstash_layout layout;
};

extern struct fake fake;

/* The linker's --wrap puts the fake between the library and ioctl(). */
int __real_ioctl(int fd, unsigned long cmd, void *arg);
int __wrap_ioctl(int fd, unsigned long cmd, ...);

/* A client of the fake, whose state starts anew. */
struct kvstash *fake_open(void);

/* Zeroed memory, or the end of the program */
void *zeros(size_t n, size_t size);

/* @n keys, numbered; of 4 to 10 bytes if @lens, else of 8. */
char *number_keys(size_t n, __u16 *lens);

void test_batch(void);
void test_build(void);
void test_candidate(void);
void test_client(void);
void test_compat(void);
void test_layer(void);
void test_layout(void);
void test_lease(void);
void test_member(void);
void test_reason(void);
void test_resume(void);
void test_ring(void);
void test_state(void);

#endif /* CHECK_H */
