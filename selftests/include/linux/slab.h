/* SPDX-License-Identifier: GPL-2.0 */
/* See list.h beside this. */
#ifndef KVSTASH_SHIM_SLAB_H
#define KVSTASH_SHIM_SLAB_H

#include <stdlib.h>
#include <linux/bitmap.h>
#include <linux/minmax.h>

#define GFP_ATOMIC	0
#define __GFP_NOWARN	0

static inline void *kmalloc_array(size_t n, size_t size, unsigned int gfp)
{
	(void)gfp;
	return calloc(n, size);
}

static inline void kfree(void *p)
{
	free(p);
}

#endif /* KVSTASH_SHIM_SLAB_H */
