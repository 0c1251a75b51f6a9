/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * kvstash_bare: the ioctl interface of /dev/kvstash_bare, for benchmarks only
 *
 * Moves bytes between user buffers and a pool of 2 MiB chunks and does nothing
 * else: the lower bound of what a put or a get can cost.
 */
#ifndef KVSTASH_BARE_H
#define KVSTASH_BARE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define KVSTASH_BARE_DEVICE	"/dev/kvstash_bare"

#define KVSTASH_BARE_BATCH_MAX	65536

/**
 * struct kvstash_bare_span - one run of bytes
 * @addr:   user address
 * @len:    bytes
 * @offset: where in the pool; @offset + @len must lie inside it
 */
struct kvstash_bare_span {
	__aligned_u64 addr;
	__aligned_u64 len;
	__aligned_u64 offset;
};

/**
 * struct kvstash_bare_batch - argument of COPY_IN and COPY_OUT
 * @spans:    address of an array of kvstash_bare_span
 * @count:    its length, 1 to KVSTASH_BARE_BATCH_MAX
 * @reserved: 0
 */
struct kvstash_bare_batch {
	__aligned_u64 spans;
	__u32 count;
	__u32 reserved;
};

#define KVSTASH_BARE_IOC	0xBB

/* From 0x80 on: small numbers belong to the VFS, those below to kvstash. */
#define KVSTASH_BARE_NOP	_IO(KVSTASH_BARE_IOC, 0x80)
#define KVSTASH_BARE_BYTES	_IOR(KVSTASH_BARE_IOC, 0x81, __u64)
#define KVSTASH_BARE_COPY_IN	_IOW(KVSTASH_BARE_IOC, 0x82, struct kvstash_bare_batch)
#define KVSTASH_BARE_COPY_OUT	_IOW(KVSTASH_BARE_IOC, 0x83, struct kvstash_bare_batch)
#define KVSTASH_BARE_ONE_IN	_IOW(KVSTASH_BARE_IOC, 0x84, struct kvstash_bare_span)
#define KVSTASH_BARE_ONE_OUT	_IOW(KVSTASH_BARE_IOC, 0x85, struct kvstash_bare_span)

#endif /* KVSTASH_BARE_H */
