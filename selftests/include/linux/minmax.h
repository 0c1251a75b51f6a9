/* SPDX-License-Identifier: GPL-2.0 */
/* See list.h beside this. */
#ifndef KVSTASH_SHIM_MINMAX_H
#define KVSTASH_SHIM_MINMAX_H

#define min_t(type, a, b) ({			\
	type _a = (a), _b = (b);		\
	_a < _b ? _a : _b;			\
})
#define max_t(type, a, b) ({			\
	type _a = (a), _b = (b);		\
	_a > _b ? _a : _b;			\
})
#define min(a, b)	min_t(typeof(a), a, b)
#define max(a, b)	max_t(typeof(a), a, b)

#endif /* KVSTASH_SHIM_MINMAX_H */
