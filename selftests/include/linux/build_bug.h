/* SPDX-License-Identifier: GPL-2.0 */
/* See list.h beside this. */
#ifndef KVSTASH_SHIM_BUILD_BUG_H
#define KVSTASH_SHIM_BUILD_BUG_H

#define BUILD_BUG_ON(cond) ((void)sizeof(char[1 - 2 * !!(cond)]))

#endif /* KVSTASH_SHIM_BUILD_BUG_H */
