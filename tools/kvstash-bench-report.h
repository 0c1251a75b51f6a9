/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KVSTASH_BENCH_REPORT_H
#define KVSTASH_BENCH_REPORT_H

#include <jansson.h>
#include <stdbool.h>

void report_int(json_t *obj, const char *name, unsigned long long v);
void report_real(json_t *obj, const char *name, double v);
void report_put(json_t *obj, bool json);

#endif /* KVSTASH_BENCH_REPORT_H */
