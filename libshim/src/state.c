// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * libkvstash: keys of states
 */
#include <endian.h>
#include <errno.h>

#include "lib.h"

int kvstash_state_key(void *to, size_t room, const void *fingerprint,
		      __u32 scheme, __u64 tokens, const void *prefix,
		      size_t prefix_len)
{
	struct kvstash_state_key head = {
		.scheme = htole32(scheme),
		.tokens = htole64(tokens),
	};
	size_t len = sizeof(head) + prefix_len;

	if (!tokens || !prefix_len || prefix_len > KVSTASH_PREFIX_MAX)
		return -EINVAL;
	if (room < len)
		return -ENOSPC;
	memcpy(head.fingerprint, fingerprint, sizeof(head.fingerprint));
	memcpy(to, &head, sizeof(head));
	memcpy((char *)to + sizeof(head), prefix, prefix_len);
	return (int)len;
}
