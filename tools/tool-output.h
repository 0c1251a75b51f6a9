/* SPDX-License-Identifier: GPL-2.0 */
/* Standard input and output of kvstashctl and kvstash-bench */
#ifndef TOOL_OUTPUT_H
#define TOOL_OUTPUT_H

#include <stdbool.h>

/*
 * To be called before anything is opened: a standard stream that is closed would
 * be the next file that is, and what is said would go into that. False if it
 * can't be prevented, which has been said then.
 */
bool output_begin(const char *program);
/* Whether all that went to standard output has arrived; says so if it has not. */
bool output_end(const char *program);

#endif /* TOOL_OUTPUT_H */
