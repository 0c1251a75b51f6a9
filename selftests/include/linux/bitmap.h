/* SPDX-License-Identifier: GPL-2.0 */
/* See list.h beside this. Bitmaps are walked bit by bit, for plainness. */
#ifndef KVSTASH_SHIM_BITMAP_H
#define KVSTASH_SHIM_BITMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#define U32_MAX		UINT32_MAX
#define BIT(n)		(1UL << (n))
#define BITS_PER_LONG	(8 * sizeof(long))
#define BITS_TO_LONGS(n) (((n) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define DECLARE_BITMAP(name, bits) unsigned long name[BITS_TO_LONGS(bits)]

static inline bool shim_test(const unsigned long *map, unsigned long i)
{
	return map[i / BITS_PER_LONG] >> (i % BITS_PER_LONG) & 1;
}

static inline void __set_bit(unsigned long i, unsigned long *map)
{
	map[i / BITS_PER_LONG] |= 1UL << (i % BITS_PER_LONG);
}

static inline void __clear_bit(unsigned long i, unsigned long *map)
{
	map[i / BITS_PER_LONG] &= ~(1UL << (i % BITS_PER_LONG));
}

static inline void bitmap_zero(unsigned long *map, unsigned int bits)
{
	memset(map, 0, BITS_TO_LONGS(bits) * sizeof(long));
}

static inline void bitmap_set(unsigned long *map, unsigned int start, unsigned int nr)
{
	while (nr--)
		__set_bit(start++, map);
}

static inline void bitmap_clear(unsigned long *map, unsigned int start, unsigned int nr)
{
	while (nr--)
		__clear_bit(start++, map);
}

static inline unsigned long shim_find(const unsigned long *map, unsigned long size,
				      unsigned long from, bool set)
{
	const unsigned long same = set ? 0 : ~0UL;

	while (from < size && shim_test(map, from) != set) {
		if (from % BITS_PER_LONG == 0 && map[from / BITS_PER_LONG] == same)
			from += BITS_PER_LONG;
		else
			from++;
	}
	return from < size ? from : size;
}

static inline unsigned long find_next_bit(const unsigned long *map, unsigned long size,
					  unsigned long from)
{
	return shim_find(map, size, from, true);
}

static inline unsigned long find_next_zero_bit(const unsigned long *map,
					       unsigned long size, unsigned long from)
{
	return shim_find(map, size, from, false);
}

static inline unsigned long find_first_zero_bit(const unsigned long *map,
						unsigned long size)
{
	return shim_find(map, size, 0, false);
}

/* @size if there is none, as in the kernel. */
static inline unsigned long find_last_bit(const unsigned long *map, unsigned long size)
{
	for (unsigned long i = size; i > 0; i--)
		if (shim_test(map, i - 1))
			return i - 1;
	return size;
}

#endif /* KVSTASH_SHIM_BITMAP_H */
