// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * libkvstash: stop points that several ranks have in common
 */
#include "lib.h"

size_t kvstash_stops_common(__u64 *stops, size_t n, const __u64 *other,
			    size_t m)
{
	size_t common = 0, i = 0, j = 0;

	while (i < n && j < m) {
		if (stops[i] < other[j]) {
			i++;
		} else if (stops[i] > other[j]) {
			j++;
		} else {
			stops[common++] = stops[i++];
			j++;
		}
	}
	return common;
}
