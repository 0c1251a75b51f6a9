/* SPDX-License-Identifier: GPL-2.0 */
/* Between user memory and extents. */
#ifndef KVS_COPY_H
#define KVS_COPY_H

#include <linux/uio.h>

#include "pool.h"

int kvs_copy_in(const struct kvs_space *space, const struct kvs_extents *ext, u64 offset,
		u64 len, struct iov_iter *from, u64 *copied);
int kvs_copy_out(const struct kvs_space *space, const struct kvs_extents *ext, u64 offset,
		 u64 len, struct iov_iter *to, u64 *copied);

#endif /* KVS_COPY_H */
