/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * kvstash: generic netlink control of pools and namespaces, dumps of objects
 *
 * All commands need CAP_SYS_ADMIN in the initial user namespace, but OBJ_GET:
 * without the capability it takes KVSTASH_A_OBJ_NS of a namespace that the
 * caller may read. A refusal carries a text (extended ack) that says which
 * attribute, what was asked and what was had.
 */
#ifndef _UAPI_LINUX_KVSTASH_NETLINK_H
#define _UAPI_LINUX_KVSTASH_NETLINK_H

#define KVSTASH_GENL_NAME	"kvstash"
#define KVSTASH_GENL_VERSION	1

enum kvstash_cmd {
	KVSTASH_CMD_UNSPEC,
	KVSTASH_CMD_POOL_NEW,	/* NAME, BYTES, [NODE], [OBJECTS] -> the pool made */
	KVSTASH_CMD_POOL_DEL,	/* NAME; EBUSY while a namespace lives in it, except
				 * an unused "default"
				 */
	KVSTASH_CMD_POOL_GET,	/* dump of all, or NAME: one */
	KVSTASH_CMD_NS_NEW,	/* NAME, [POOL], [UID], [GID], [MODE], [QUOTA_*], ... */
	KVSTASH_CMD_NS_SET,	/* NAME and what is to change (not POOL) */
	KVSTASH_CMD_NS_DEL,	/* NAME; removes its objects; EBUSY while bound */
	KVSTASH_CMD_NS_GET,	/* dump of all, or NAME: one */
	KVSTASH_CMD_OBJ_GET,	/* dump only, with filters */
	KVSTASH_CMD_LAYOUT_GET,	/* dump only; [NS] as a filter, needed without the
				 * capability
				 */
	__KVSTASH_CMD_MAX,
};

#define KVSTASH_CMD_MAX	(__KVSTASH_CMD_MAX - 1)

enum kvstash_attr_pool {
	KVSTASH_A_POOL_UNSPEC,
	KVSTASH_A_POOL_PAD,
	KVSTASH_A_POOL_NAME,		/* string, 1 to 31 of [A-Za-z0-9_.-], no
					 * leading dot
					 */
	KVSTASH_A_POOL_BYTES,		/* u64: size; rounded up to 2 MiB */
	KVSTASH_A_POOL_NODE,		/* s32: NUMA node, -1: any */
	KVSTASH_A_POOL_OBJECTS,		/* u64: objects that the index is laid out
					 * for; no limit. Default: bytes / 16 KiB
					 */
	KVSTASH_A_POOL_FREE,		/* u64, bytes; out only from here on */
	KVSTASH_A_POOL_COMMITTED,	/* u64, bytes */
	KVSTASH_A_POOL_IN_FLIGHT,	/* u64, bytes */
	KVSTASH_A_POOL_HELD,		/* u64, bytes hidden but held */
	KVSTASH_A_POOL_CHUNKS,		/* u32: chunks */
	KVSTASH_A_POOL_CHUNKS_SMALL,	/* u32: chunks below 2 MiB */
	KVSTASH_A_POOL_INDEX_BYTES,	/* u64: memory of the index */
	KVSTASH_A_POOL_EVICTIONS,	/* u64 */
	KVSTASH_A_POOL_SLOT_FREE,	/* u64, bytes: of FREE those of slots that hold no
					 * state
					 */
	__KVSTASH_A_POOL_MAX,
};

#define KVSTASH_A_POOL_MAX	(__KVSTASH_A_POOL_MAX - 1)

enum kvstash_attr_ns {
	KVSTASH_A_NS_UNSPEC,
	KVSTASH_A_NS_PAD,
	KVSTASH_A_NS_NAME,		/* string, as a pool's */
	KVSTASH_A_NS_POOL,		/* string; default: the only pool */
	KVSTASH_A_NS_UID,		/* u32; default 0 */
	KVSTASH_A_NS_GID,		/* u32; default 0 */
	KVSTASH_A_NS_MODE,		/* u32: rw bits as a file's; default 0660 */
	KVSTASH_A_NS_QUOTA_BYTES,	/* u64; 0: the pool is the limit */
	KVSTASH_A_NS_QUOTA_OBJECTS,	/* u64; 0: no limit */
	KVSTASH_A_NS_LEASE_BYTES,	/* u64: lease budget; 0: half of the quota or pool */
	KVSTASH_A_NS_INCOMPLETE_MS,	/* u32: incomplete_timeout; default 30000 */
	KVSTASH_A_NS_OBJECTS,		/* u64: objects in the index; out only from here */
	KVSTASH_A_NS_VISIBLE,		/* u64: of these visible */
	KVSTASH_A_NS_BYTES,		/* u64: pool bytes charged */
	KVSTASH_A_NS_CLIENTS,		/* u32: clients bound */
	KVSTASH_A_NS_STATS,		/* nest of KVSTASH_A_STAT */
	KVSTASH_A_NS_PIN_BYTES,		/* u64: quota of hard pins; in, too. 0: a quarter
					 * of the quota or pool
					 */
	KVSTASH_A_NS_LEASED,		/* u64: bytes leased; out only */
	KVSTASH_A_NS_PINNED,		/* u64: bytes pinned hard; out only */
	KVSTASH_A_NS_SLOT_BYTES,	/* u64: quota of slots; in, too. 0: half of the quota
					 * or pool
					 */
	KVSTASH_A_NS_CARVED,		/* u64: bytes of slots; out only */
	__KVSTASH_A_NS_MAX,
};

#define KVSTASH_A_NS_MAX	(__KVSTASH_A_NS_MAX - 1)

enum kvstash_attr_stat {
	KVSTASH_A_STAT_UNSPEC,
	KVSTASH_A_STAT_PAD,
	KVSTASH_A_STAT_NAME,		/* string, as in /proc/kvstash/ns/NAME */
	KVSTASH_A_STAT_VALUE,		/* u64 */
	KVSTASH_A_STAT_ENTRY,		/* nest of NAME and VALUE, repeated */
	__KVSTASH_A_STAT_MAX,
};

#define KVSTASH_A_STAT_MAX	(__KVSTASH_A_STAT_MAX - 1)

enum kvstash_attr_obj {
	KVSTASH_A_OBJ_UNSPEC,
	KVSTASH_A_OBJ_PAD,
	KVSTASH_A_OBJ_NS,		/* string; filter in requests */
	KVSTASH_A_OBJ_KIND,		/* u8; filter */
	KVSTASH_A_OBJ_STATE,		/* u8, KVSTASH_STATE_*; filter */
	KVSTASH_A_OBJ_KEY,		/* binary; in requests: the key begins with it */
	KVSTASH_A_OBJ_POOL,		/* string; filter */
	KVSTASH_A_OBJ_BYTES,		/* u64: length of all parts */
	KVSTASH_A_OBJ_PARTS,		/* u16 */
	KVSTASH_A_OBJ_PARTS_PRESENT,	/* u16 */
	KVSTASH_A_OBJ_PARENT,		/* binary: the parent's key, absent without */
	KVSTASH_A_OBJ_MANIFEST,		/* binary, 32 bytes, absent without */
	KVSTASH_A_OBJ_TAG,		/* binary, absent without */
	KVSTASH_A_OBJ_CHILDREN,		/* u32: children in the chain */
	KVSTASH_A_OBJ_REFS,		/* u32: references now */
	KVSTASH_A_OBJ_IDLE_MS,		/* u64: since put or the last get */
	KVSTASH_A_OBJ_PARENT_KIND,	/* u8, absent without a parent */
	KVSTASH_A_OBJ_GROUP,		/* binary: its group's key, absent without; filter */
	KVSTASH_A_OBJ_MEMBER,		/* u16: index in its group, absent without */
	KVSTASH_A_OBJ_MEMBERS,		/* u16: of the group that it is, or is in */
	KVSTASH_A_OBJ_MEMBERS_PRESENT,	/* u16: of these complete */
	KVSTASH_A_OBJ_GROUP_FLAGS,	/* u8: KVSTASH_GROUP_*, absent without */
	KVSTASH_A_OBJ_LEASES,		/* u32: leases of the object, or of its group */
	KVSTASH_A_OBJ_PIN,		/* u8: KVSTASH_PIN_*; filter */
	KVSTASH_A_OBJ_TTL_MS,		/* u64: left to live, absent without an end */
	__KVSTASH_A_OBJ_MAX,
};

#define KVSTASH_A_OBJ_MAX	(__KVSTASH_A_OBJ_MAX - 1)

enum kvstash_attr_layout {
	KVSTASH_A_LAYOUT_UNSPEC,
	KVSTASH_A_LAYOUT_PAD,
	KVSTASH_A_LAYOUT_NS,		/* string; filter in requests */
	KVSTASH_A_LAYOUT_DESC,		/* binary: struct kvstash_layout, as LAYOUT_GET
					 * gives it, without layers
					 */
	__KVSTASH_A_LAYOUT_MAX,
};

#define KVSTASH_A_LAYOUT_MAX	(__KVSTASH_A_LAYOUT_MAX - 1)

#endif /* _UAPI_LINUX_KVSTASH_NETLINK_H */
