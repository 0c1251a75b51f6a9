// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * libkvstash: ranges of a state that hold chosen layers
 */
#include <errno.h>

#include "lib.h"

/* Each choice is a layer there is, and none is made twice. */
static int check_chosen(size_t nr_layers, const __u32 *chosen, size_t n)
{
	__u64 seen[KVSTASH_LAYERS_MAX / 64] = { 0 };

	for (size_t i = 0; i < n; i++) {
		__u32 layer = chosen[i];
		__u64 bit = 1ULL << layer % 64;

		if (layer >= nr_layers || seen[layer / 64] & bit)
			return -EINVAL;
		seen[layer / 64] |= bit;
	}
	return 0;
}

int kvstash_layer_ranges(const struct kvstash_layer *layers, size_t nr_layers,
			 const __u32 *chosen, size_t n, void *const *addrs,
			 struct kvstash_range *out)
{
	if (nr_layers > KVSTASH_LAYERS_MAX ||
	    check_chosen(nr_layers, chosen, n))
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		const struct kvstash_layer *layer = &layers[chosen[i]];

		out[i].addr = kvstash_addr(addrs[i]);
		out[i].offset = layer->offset;
		out[i].len = layer->len;
		out[i].part = 0;
		out[i].reserved = 0;
	}
	return (int)n;
}
