// SPDX-License-Identifier: GPL-2.0
/*
 * Between user memory and extents.
 *
 * Locking: none. The caller's reference keeps the extents; the chunk table of a
 * pool does not change while it lives. A span never leaves its extent, so it
 * never crosses the end of a chunk's compound page (hardened usercopy).
 */
#include <linux/sched/signal.h>

#include "copy.h"

/* The extent that holds byte *@offset of the part; *@offset is then in it. */
static u32 extent_at(const struct kvs_extent *ext, u64 *offset)
{
	u32 i = 0;

	while (*offset >= (u64)ext[i].nr << KVS_PAGE_SHIFT)
		*offset -= (u64)ext[i++].nr << KVS_PAGE_SHIFT;
	return i;
}

static int copy_spans(const struct kvs_space *space, const struct kvs_extents *extents,
		      u64 offset, u64 len, struct iov_iter *iter, bool in, u64 *copied)
{
	const struct kvs_extent *ext = kvs_extents_array(extents);
	u32 i = extent_at(ext, &offset);

	*copied = 0;
	while (*copied < len) {
		u64 span = min(((u64)ext[i].nr << KVS_PAGE_SHIFT) - offset, len - *copied);
		void *addr = kvs_space_addr(space, ext[i].page) + offset;
		size_t n;

		n = in ? copy_from_iter(addr, span, iter) : copy_to_iter(addr, span, iter);
		*copied += n;
		if (n != span)
			return -EFAULT;
		offset = 0;
		i++;
		if (*copied < len) {
			if (fatal_signal_pending(current))
				return -EINTR;
			cond_resched();
		}
	}
	return 0;
}

/**
 * kvs_copy_in() - copy user bytes into a part
 * @space:  the pool's space
 * @ext:    the part's extents
 * @offset: first byte in the part
 * @len:    bytes, not 0; @offset + @len is within @ext
 * @from:   at least @len bytes
 * @copied: out: bytes that were copied
 *
 * Return: 0, -EFAULT, or -EINTR if killed.
 */
int kvs_copy_in(const struct kvs_space *space, const struct kvs_extents *ext, u64 offset,
		u64 len, struct iov_iter *from, u64 *copied)
{
	return copy_spans(space, ext, offset, len, from, true, copied);
}

/** kvs_copy_out() - copy bytes of a part to user memory; see kvs_copy_in() */
int kvs_copy_out(const struct kvs_space *space, const struct kvs_extents *ext, u64 offset,
		 u64 len, struct iov_iter *to, u64 *copied)
{
	return copy_spans(space, ext, offset, len, to, false, copied);
}
