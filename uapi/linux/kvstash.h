/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * kvstash: the ioctl interface of /dev/kvstash
 *
 * Rules of every structure here:
 *  - the layout is the same for 32-bit and 64-bit callers;
 *  - the first member of an argument is its size as the caller knows it. A
 *    larger one is taken if all bytes that this kernel does not know are zero
 *    (else E2BIG); one smaller than the first version is refused (EINVAL);
 *  - reserved members and unknown flags must be zero (EINVAL);
 *  - user addresses travel as 64-bit integers.
 *
 * A command takes a batch. The call as a whole fails only if its header is
 * malformed, its entry or result array cannot be read or written, or the client
 * may not do it (PERMISSION, NO_NAMESPACE); @reason and @field of the header then
 * say why, and which member was refused. Otherwise it returns 0 and each entry
 * has its own result, in the order given.
 */
#ifndef _UAPI_LINUX_KVSTASH_H
#define _UAPI_LINUX_KVSTASH_H

#include <linux/const.h>
#include <linux/ioctl.h>
#include <linux/types.h>

#define KVSTASH_ABI_VERSION	1

#define KVSTASH_DEVICE		"/dev/kvstash"

/* Limits; QUERY reports those of the running module. */
#define KVSTASH_KEY_MAX		512		/* bytes of a key */
#define KVSTASH_TAG_MAX		256		/* bytes of a tag */
#define KVSTASH_DIGEST_LEN	32		/* bytes of a manifest digest */
#define KVSTASH_NAME_MAX	32		/* bytes of a name with its NUL */
#define KVSTASH_BATCH_MAX	65536		/* entries or keys of a call */
#define KVSTASH_SEGS_MAX	1024		/* segments or ranges of an entry */
#define KVSTASH_PARTS_MAX	1024		/* parts of an object */
#define KVSTASH_PART_BYTES_MAX	_BITULL(36)	/* bytes of a part */
#define KVSTASH_WRITE_GAPS_MAX	1024		/* separate runs of a reserved part */
#define KVSTASH_MEMBERS_MAX	65535		/* members of a group */
#define KVSTASH_LEASES_MAX	1048576		/* leases of a client */
#define KVSTASH_LAYOUTS_MAX	64		/* layouts of a namespace */
#define KVSTASH_LAYERS_MAX	4096		/* layers of a layout */
#define KVSTASH_ALIGNMENT_MAX	_BITUL(30)	/* tokens, alignment of a layout */
#define KVSTASH_CANDIDATES_MAX	4096		/* states that a LOOKUP asks for */

/* Kinds of object; a key is unique per (namespace, kind). */
#define KVSTASH_KIND_PAGE	0	/* paged KV, keyed by a prefix's content */
#define KVSTASH_KIND_GROUP	1	/* what shares visibility and lifetime; made by
					 * the puts of its members, has no bytes
					 */
#define KVSTASH_KIND_STATE	2	/* a slot of a layout, of one part; its key
					 * begins with struct kvstash_state_key
					 */

/**
 * enum kvstash_reason - what an errno alone cannot tell
 *
 * Values are ABI: new ones are added at the end. The errno that goes with a
 * reason is given beside it; @detail of the result is named in brackets.
 */
enum kvstash_reason {
	KVSTASH_R_OK = 0,
	/* about the request; nothing was looked at */
	KVSTASH_R_FLAGS = 1,		/* EINVAL: unknown flag [the unknown bits] */
	KVSTASH_R_RESERVED = 2,		/* EINVAL: reserved member not zero */
	KVSTASH_R_SIZE = 3,		/* EINVAL, E2BIG: structure size [least size] */
	KVSTASH_R_COUNT = 4,		/* EINVAL: entry or key count [the limit] */
	KVSTASH_R_KIND = 5,		/* EINVAL: unknown kind of object */
	KVSTASH_R_KEY_LEN = 6,		/* EINVAL: key length [the limit] */
	KVSTASH_R_KEY_FAULT = 7,	/* EFAULT: key or parent key unreadable */
	KVSTASH_R_PARTS = 8,		/* EINVAL: part count [the limit] */
	KVSTASH_R_PART_INDEX = 9,	/* EINVAL: part index [the part count] */
	KVSTASH_R_LENGTH = 10,		/* EINVAL: part or range length zero, too
					 * large or not that of the buffers
					 * [length expected, or the limit]
					 */
	KVSTASH_R_SEGS = 11,		/* EINVAL: segment or range count [limit] */
	KVSTASH_R_SEGS_FAULT = 12,	/* EFAULT: segment list unreadable */
	KVSTASH_R_BUFFER = 13,		/* EINVAL: address and length of a buffer
					 * wrap or are no user addresses [index];
					 * EFAULT: an array of entries, results or
					 * tags can't be read or written
					 */
	KVSTASH_R_DATA_FAULT = 14,	/* EFAULT: data buffer [bytes moved before] */
	KVSTASH_R_TAG = 15,		/* EINVAL: tag length [the limit] */
	KVSTASH_R_TAG_FAULT = 16,	/* EFAULT: tag or manifest unreadable */
	KVSTASH_R_BUFFER_SMALL = 17,	/* ENOSPC: buffer shorter than the object
					 * [bytes needed]
					 */
	KVSTASH_R_RANGE = 18,		/* ERANGE: range past the end of its part
					 * [the part's length]
					 */
	KVSTASH_R_OVERLAP = 19,		/* EINVAL: target ranges overlap [index] */
	KVSTASH_R_PARENT_SELF = 20,	/* ELOOP: an object as its own parent */
	KVSTASH_R_ALIGN = 21,		/* EINVAL: array address not aligned to 8 */
	KVSTASH_R_NAME = 22,		/* EINVAL: name empty, too long, characters */
	KVSTASH_R_MEMBERS = 23,		/* EINVAL: member count [the limit] */
	KVSTASH_R_MEMBER_INDEX = 24,	/* EINVAL: member index [the member count] */
	KVSTASH_R_PIN = 25,		/* EINVAL: unknown kind of pin */
	KVSTASH_R_TOKENS = 26,		/* EINVAL: aligned length of a state is 0 */
	KVSTASH_R_MISALIGNED = 27,	/* EINVAL: aligned length of a state is no
					 * multiple of its layout's [alignment]; or
					 * alignment of a layout out of range [limit]
					 */
	KVSTASH_R_SLOT_BYTES = 28,	/* EINVAL: length of a state's part or buffer
					 * is not that of a slot [slot bytes]; or slot
					 * bytes of a layout out of range [limit]
					 */
	KVSTASH_R_TIED = 29,		/* EINVAL: a state of a tied layout must name
					 * a parent or group [1], one of another may
					 * name no parent [0]
					 */
	KVSTASH_R_LAYERS = 30,		/* EINVAL: layer count [limit]; EFAULT: layers
					 * can't be read or written
					 */
	KVSTASH_R_LAYER = 31,		/* EINVAL: a layer is empty, not in the slot,
					 * or overlaps one before it [index]
					 */
	/* what is there */
	KVSTASH_R_MISS = 32,		/* ENOENT: no such key */
	KVSTASH_R_IN_FLIGHT = 33,	/* ENOENT (get, exists), EBUSY (put of a
					 * part, remove): a living client writes it
					 */
	KVSTASH_R_INCOMPLETE = 34,	/* ENOENT: parts missing [parts present] */
	KVSTASH_R_PARENT_PENDING = 35,	/* ENOENT: complete, waits for its parent */
	KVSTASH_R_EXISTS = 36,		/* EEXIST: object visible, or part there */
	KVSTASH_R_PARENT_MISS = 37,	/* ENOENT: parent not there */
	KVSTASH_R_EXPIRED = 38,		/* ENOENT: its time to live has ended */
	KVSTASH_R_GROUP_INCOMPLETE = 39,
					/* ENOENT: the object is complete, its group
					 * is not [members present]; or a group that
					 * lacks members
					 */
	KVSTASH_R_PARENT_MEMBER = 40,	/* EINVAL: the parent is a member: name its
					 * group
					 */
	KVSTASH_R_GROUP_ATOMIC = 41,	/* EINVAL: removal of one member of an atomic
					 * group
					 */
	KVSTASH_R_NO_MEMBER = 42,	/* EINVAL: removal as a member of what is none */
	KVSTASH_R_LAYOUT_UNKNOWN = 43,	/* ENOENT: layout not registered (put of a
					 * state, commands on layouts)
					 */
	/* another identity for the same key: EXDEV, nothing changed */
	KVSTASH_R_MISMATCH_PARTS = 48,	/* [part count there] */
	KVSTASH_R_MISMATCH_MANIFEST = 49,
	KVSTASH_R_MISMATCH_PARENT = 50,
	KVSTASH_R_MISMATCH_TAG = 51,
	KVSTASH_R_MISMATCH_LENGTH = 52,	/* part there with another length [length] */
	KVSTASH_R_MISMATCH_GROUP = 53,	/* in another group, in one, or in none */
	KVSTASH_R_MISMATCH_MEMBERS = 54, /* the group expects [member count there] */
	KVSTASH_R_MISMATCH_INDEX = 55,	/* object there under [index], or the index
					 * [index] is another object's
					 */
	KVSTASH_R_MISMATCH_FLAGS = 56,	/* atomic there and plain here, or the reverse */
	KVSTASH_R_MISMATCH_TTL = 57,	/* [milliseconds there] */
	KVSTASH_R_MISMATCH_LAYOUT = 58,	/* fingerprint and scheme are registered with
					 * another description; @field says what [the
					 * value there, 0 for layers]
					 */
	/* room */
	KVSTASH_R_NO_SPACE = 64,	/* ENOSPC: nothing to evict [bytes missing] */
	KVSTASH_R_TOO_LARGE = 65,	/* EFBIG: larger than the pool [pool bytes] */
	KVSTASH_R_QUOTA_BYTES = 66,	/* EDQUOT: [bytes missing] */
	KVSTASH_R_QUOTA_OBJECTS = 67,	/* EDQUOT: [the quota] */
	KVSTASH_R_NO_MEMORY = 68,	/* ENOMEM: kernel memory beside the pool */
	KVSTASH_R_LEASE_BUDGET = 69,	/* EDQUOT: lease not taken [bytes missing] */
	KVSTASH_R_PIN_QUOTA = 70,	/* EDQUOT: hard pin not set [bytes missing] */
	KVSTASH_R_LEASE_COUNT = 71,	/* EDQUOT: lease not taken [the limit] */
	KVSTASH_R_NO_SLOT = 72,		/* ENOSPC: all slots of the layout are in flight,
					 * leased, pinned or being read [its slots]
					 */
	KVSTASH_R_SLOT_QUOTA = 73,	/* EDQUOT: [bytes missing] */
	KVSTASH_R_SLOTS_HELD = 74,	/* EBUSY: fewer slots were asked for than can't
					 * be taken away now [how many]
					 */
	KVSTASH_R_LAYOUT_BUSY = 75,	/* EBUSY: the layout has states [how many] */
	KVSTASH_R_LAYOUT_COUNT = 76,	/* EDQUOT: layouts of the namespace [limit] */
	/* handles */
	KVSTASH_R_HANDLE_UNKNOWN = 80,	/* EBADF: never given out */
	KVSTASH_R_HANDLE_STALE = 81,	/* ESTALE: of another load of the module */
	KVSTASH_R_HANDLE_OWNER = 82,	/* EPERM: of another client */
	KVSTASH_R_COMMITTED = 83,	/* EALREADY: committed before */
	KVSTASH_R_ABORTED = 84,		/* ECANCELED: aborted before */
	KVSTASH_R_FINISHED = 85,	/* EBADF: ended so long ago that how is forgotten */
	KVSTASH_R_WRITING = 86,		/* EBUSY: a write of it is going on */
	KVSTASH_R_UNWRITTEN = 87,	/* EINVAL: not all bytes written [missing] */
	KVSTASH_R_GAPS = 88,		/* ENOBUFS: too many separate runs [limit] */
	KVSTASH_R_REMOVED = 89,		/* EIDRM: object removed with its parent */
	KVSTASH_R_RELEASED = 90,	/* EALREADY: lease released before */
	/* the rest */
	KVSTASH_R_INTERRUPTED = 96,	/* EINTR: a signal came before this entry */
	KVSTASH_R_PERMISSION = 97,	/* EACCES: namespace does not allow it */
	KVSTASH_R_NO_NAMESPACE = 98,	/* ENODEV: no such namespace */
	KVSTASH_R_BOUND = 99,		/* EISCONN: bound to another namespace */
};

/**
 * struct kvstash_result - first member of each entry, written by the kernel
 * @res:    0, or a negative errno
 * @reason: enum kvstash_reason
 * @detail: a number that goes with the reason, else 0
 */
struct kvstash_result {
	__s32 res;
	__u32 reason;
	__aligned_u64 detail;
};

/**
 * struct kvstash_handle - a reserved part, or a lease
 * @client: the client that has it; unique over all loads of the module
 * @seq:    counts the client's reservations; those of leases are others
 *
 * Valid for its client until COMMIT, ABORT, RELEASE or the close of the file. All
 * zero: none.
 */
struct kvstash_handle {
	__aligned_u64 client;
	__aligned_u64 seq;
};

/** struct kvstash_seg - a run of user memory; @len may not be 0 */
struct kvstash_seg {
	__aligned_u64 addr;
	__aligned_u64 len;
};

/**
 * struct kvstash_range - bytes of a part, and where they go
 * @addr:     target address
 * @offset:   first byte in the part
 * @len:      bytes, not 0
 * @part:     part index
 * @reserved: 0
 */
struct kvstash_range {
	__aligned_u64 addr;
	__aligned_u64 offset;
	__aligned_u64 len;
	__u32 part;
	__u32 reserved;
};

/**
 * struct kvstash_state_key - how the key of a state begins
 * @fingerprint: of the layout
 * @scheme:  version of the scheme that the fingerprint was made by
 * @reserved: 0
 * @tokens:  aligned length: how many tokens the state comes after; not 0, a
 *           multiple of the layout's alignment
 *
 * The prefix hash follows, 1 to KVSTASH_PREFIX_MAX bytes. It is compared whole, with
 * all that is before it: a state answers for nothing else.
 */
struct kvstash_state_key {
	__u8 fingerprint[KVSTASH_DIGEST_LEN];
	__le32 scheme;
	__le32 reserved;
	__le64 tokens;
};

#define KVSTASH_PREFIX_MAX	(KVSTASH_KEY_MAX - 48)

/**
 * struct kvstash_query - what the module is and can
 * @size:        sizeof(struct kvstash_query)
 * @abi:         out: KVSTASH_ABI_VERSION of the module
 * @features:    out: bits, none defined yet
 * @epoch:       out: this load of the module, never 0
 * @client:      out: this client, see struct kvstash_handle
 * @key_max:     out: limits, as the constants above
 * @tag_max:     out
 * @batch_max:   out
 * @segs_max:    out
 * @parts_max:   out
 * @bound:       out: 1 once the client is bound to a namespace
 * @part_bytes_max: out
 * @ns:          out: the namespace's name, empty before it is bound
 */
struct kvstash_query {
	__u32 size;
	__u32 abi;
	__aligned_u64 features;
	__aligned_u64 epoch;
	__aligned_u64 client;
	__u32 key_max;
	__u32 tag_max;
	__u32 batch_max;
	__u32 segs_max;
	__u32 parts_max;
	__u32 bound;
	__aligned_u64 part_bytes_max;
	char ns[KVSTASH_NAME_MAX];
};

/**
 * struct kvstash_bind - choose the namespace of this client
 * @size:   sizeof(struct kvstash_bind)
 * @flags:  0
 * @reason: out: enum kvstash_reason if the call fails
 * @reserved: 0
 * @ns:     name, NUL-terminated
 *
 * Owner, group and mode are checked as those of a file, against the caller's
 * file system identity; the right to read is needed for GET, EXISTS and
 * LOOKUP, that to write for the others, and the device must have been opened for
 * it, too. The binding stays with the open file,
 * wherever it is passed. A client that never calls this is bound to "default"
 * by its first other command. Binding again to the same one is no error.
 */
struct kvstash_bind {
	__u32 size;
	__u32 flags;
	__u32 reason;
	__u32 reserved;
	char ns[KVSTASH_NAME_MAX];
};

/**
 * struct kvstash_batch - header of PUT, RESERVE, WRITE, COMMIT, ABORT, GET, RELEASE
 * @size:     sizeof(struct kvstash_batch)
 * @flags:    0
 * @entries:  address of the entry array, aligned to 8
 * @count:    entries, 1 to KVSTASH_BATCH_MAX
 * @stride:   size of an entry as the caller knows it, a multiple of 8
 * @done:     out: entries that were carried out, with or without success. A
 *            signal ends the batch early: the rest say KVSTASH_R_INTERRUPTED
 * @reason:   out: if the call fails, enum kvstash_reason
 * @field:    out: if the call fails, offset of the refused member
 * @reserved: 0
 */
struct kvstash_batch {
	__u32 size;
	__u32 flags;
	__aligned_u64 entries;
	__u32 count;
	__u32 stride;
	__u32 done;
	__u32 reason;
	__u32 field;
	__u32 reserved;
};

/* kvstash_put.flags */
#define KVSTASH_PUT_ROOT_IF_NO_PARENT	_BITUL(0) /* a missing parent is no error:
						   * the object starts a chain;
						   * who adds to it names that
						   * parent, too
						   */
#define KVSTASH_PUT_ATOMIC		_BITUL(1) /* the group is atomic */
#define KVSTASH_PUT_NO_LINGER		_BITUL(2) /* incomplete, the object and its
						   * group go with their last writer,
						   * not after the namespace's
						   * incomplete_timeout
						   */

/**
 * struct kvstash_put - entry of PUT and RESERVE: one part of an object
 * @r:          out
 * @key:        address of the key
 * @parent:     address of the parent's key, or 0: starts a chain
 * @manifest:   address of a digest of KVSTASH_DIGEST_LEN bytes, or 0
 * @tag:        address of the tag, or 0
 * @buf:        PUT: the bytes, or (@nr_segs > 0) an array of kvstash_seg.
 *              RESERVE: 0
 * @part_len:   length of the part in bytes, 1 to KVSTASH_PART_BYTES_MAX; the
 *              segments must add up to it exactly
 * @handle:     RESERVE: out
 * @nr_segs:    0 to KVSTASH_SEGS_MAX
 * @flags:      KVSTASH_PUT_*
 * @part:       index of this part
 * @parts:      parts of the object, 1 to KVSTASH_PARTS_MAX
 * @key_len:    1 to KVSTASH_KEY_MAX
 * @parent_len: likewise, or 0 without a parent
 * @tag_len:    0 to KVSTASH_TAG_MAX; 0: no tag, whatever @tag is
 * @kind:       KVSTASH_KIND_PAGE or KVSTASH_KIND_STATE
 * @parent_kind: KVSTASH_KIND_PAGE or KVSTASH_KIND_GROUP
 * @ttl_ms:     time to live in milliseconds from when it is visible; 0: no end.
 *              No object outlives its parent
 * @group:      address of the key of the group, or 0: in none
 * @group_len:  1 to KVSTASH_KEY_MAX, or 0 without a group
 * @member:     index of this object in its group
 * @members:    members of the group, 1 to KVSTASH_MEMBERS_MAX; 0 without a group
 * @reserved:   0
 *
 * Parts, parent, manifest, tag, time to live and place in a group are the key's
 * identity: fixed by the first part, and another answer is KVSTASH_R_MISMATCH_*.
 * The object is visible when all parts are committed and its parent is visible.
 *
 * In a group, @parent is that of the group: a page in no group, or a group. The
 * members of an atomic group are visible from the moment on in which the last of
 * them is complete and the parent is visible, and not before; those of a plain
 * one each by itself. Groups are evicted and removed as a whole.
 *
 * A state has one part, of the layout's slot bytes. In no group, it has a parent
 * if its layout is tied, and none else.
 */
struct kvstash_put {
	struct kvstash_result r;
	__aligned_u64 key;
	__aligned_u64 parent;
	__aligned_u64 manifest;
	__aligned_u64 tag;
	__aligned_u64 buf;
	__aligned_u64 part_len;
	struct kvstash_handle handle;
	__u32 nr_segs;
	__u32 flags;
	__u16 part;
	__u16 parts;
	__u16 key_len;
	__u16 parent_len;
	__u16 tag_len;
	__u8 kind;
	__u8 parent_kind;
	__u32 ttl_ms;
	__aligned_u64 group;
	__u16 group_len;
	__u16 member;
	__u16 members;
	__u16 reserved;
};

/**
 * struct kvstash_write - entry of WRITE: fill a reserved part
 * @r:       out
 * @handle:  the part
 * @offset:  where in the part the bytes go
 * @len:     bytes, not 0; the segments must add up to it exactly
 * @buf:     the bytes, or (@nr_segs > 0) an array of kvstash_seg
 * @nr_segs: 0 to KVSTASH_SEGS_MAX
 * @flags:   0
 *
 * Bytes may be written in any order and more than once before COMMIT.
 */
struct kvstash_write {
	struct kvstash_result r;
	struct kvstash_handle handle;
	__aligned_u64 offset;
	__aligned_u64 len;
	__aligned_u64 buf;
	__u32 nr_segs;
	__u32 flags;
};

/**
 * struct kvstash_end - entry of COMMIT, ABORT and RELEASE
 * @r:        out
 * @handle:   the part, for COMMIT with all its bytes written; RELEASE: the lease
 * @flags:    0
 * @reserved: 0
 */
struct kvstash_end {
	struct kvstash_result r;
	struct kvstash_handle handle;
	__u32 flags;
	__u32 reserved;
};

/* kvstash_get.flags */
#define KVSTASH_GET_RANGES	_BITUL(0)	/* @buf is an array of kvstash_range */
#define KVSTASH_GET_LEASE	_BITUL(1)	/* take a lease, too; without a buffer it
						 * is all that is asked for
						 */
#define KVSTASH_GET_BY_LEASE	_BITUL(2)	/* the object of @lease, visible or not;
						 * @key, @key_len, @kind are 0
						 */

/**
 * struct kvstash_get - entry of GET
 * @r:        out
 * @key:      address of the key
 * @buf:      buffer of @len bytes (@nr == 0), or an array of @nr kvstash_seg, or
 *            (KVSTASH_GET_RANGES) of @nr kvstash_range
 * @len:      bytes at @buf if @nr is 0, else 0. A whole object, all parts in
 *            order, needs room for at least its size; a state for exactly that
 * @bytes:    out: bytes written to the caller's memory
 * @object_size: out: length of all parts of the object
 * @nr:       0 to KVSTASH_SEGS_MAX
 * @flags:    KVSTASH_GET_*
 * @key_len:  1 to KVSTASH_KEY_MAX
 * @kind:     KVSTASH_KIND_*
 * @reserved: 0
 * @reserved2: 0
 * @lease:    KVSTASH_GET_LEASE: out, if @r.res is 0. KVSTASH_GET_BY_LEASE: in.
 *            Else not looked at
 *
 * Ranges are all checked before a byte moves. If the caller's memory faults,
 * @r.detail bytes had been written before.
 */
struct kvstash_get {
	struct kvstash_result r;
	__aligned_u64 key;
	__aligned_u64 buf;
	__aligned_u64 len;
	__aligned_u64 bytes;
	__aligned_u64 object_size;
	__u32 nr;
	__u32 flags;
	__u16 key_len;
	__u8 kind;
	__u8 reserved;
	__u32 reserved2;
	struct kvstash_handle lease;
};

/* kvstash_exists.state, and of a group */
#define KVSTASH_STATE_ABSENT	0	/* no such key */
#define KVSTASH_STATE_FILLING	1	/* parts missing or in flight */
#define KVSTASH_STATE_WAITING	2	/* complete, its parent is not visible yet */
#define KVSTASH_STATE_VISIBLE	3
#define KVSTASH_STATE_EXPIRED	4	/* hidden; its memory is about to be free */

/* kvstash_exists.group_flags */
#define KVSTASH_GROUP_ATOMIC	1

/* kvstash_keys.pin, kvstash_exists.pin */
#define KVSTASH_PIN_NONE	0
#define KVSTASH_PIN_SOFT	1	/* evicted after all that is not pinned */
#define KVSTASH_PIN_HARD	2	/* never evicted; within the namespace's quota */

/**
 * struct kvstash_exists - result of EXISTS (and of REMOVE and PIN: @r only)
 * @r:        0 if visible, else ENOENT with the reason
 * @object_size: length of all parts; what is known so far if not visible
 * @manifest: digest, zeros if none was named
 * @parts:    parts of the object
 * @parts_present: parts committed
 * @tag_len:  bytes of the tag
 * @state:    KVSTASH_STATE_*; of a member of an atomic group that is complete
 *            itself: that of its group
 * @pin:      KVSTASH_PIN_*, of the group if it is in one
 * @members:  members of its group, or of the group if @kind is
 *            KVSTASH_KIND_GROUP; 0: in none
 * @members_present: of these complete
 * @group_state: KVSTASH_STATE_* of the group; FILLING while members are missing
 * @group_flags: KVSTASH_GROUP_*
 * @reserved: 0
 *
 * Answers of one call about the members of an atomic group are of one moment.
 */
struct kvstash_exists {
	struct kvstash_result r;
	__aligned_u64 object_size;
	__u8 manifest[KVSTASH_DIGEST_LEN];
	__u16 parts;
	__u16 parts_present;
	__u16 tag_len;
	__u8 state;
	__u8 pin;
	__u16 members;
	__u16 members_present;
	__u8 group_state;
	__u8 group_flags;
	__u16 reserved;
};

/* kvstash_keys.flags */
#define KVSTASH_KEYS_LEASE	_BITUL(0)	/* EXISTS, LOOKUP: lease what is visible */
#define KVSTASH_KEYS_MEMBER	_BITUL(1)	/* REMOVE: only this member of a plain
						 * group, not the group
						 */

/**
 * struct kvstash_candidate - a state that a LOOKUP asks for
 * @r:        out: 0 if it is visible, else ENOENT with the reason, or why the key
 *            can't be a state's
 * @key:      address of the state's key
 * @bytes:    out: its bytes
 * @lease:    out: KVSTASH_KEYS_LEASE: of it, if it is visible; else all zero
 * @key_len:  bytes of the key
 * @reserved: 0
 * @reserved2: 0
 */
struct kvstash_candidate {
	struct kvstash_result r;
	__aligned_u64 key;
	__aligned_u64 bytes;
	struct kvstash_handle lease;
	__u16 key_len;
	__u16 reserved;
	__u32 reserved2;
};

/**
 * struct kvstash_keys - argument of EXISTS, REMOVE, LOOKUP and PIN
 * @size:     sizeof(struct kvstash_keys)
 * @flags:    KVSTASH_KEYS_*
 * @keys:     address of the key bytes, one key after the other
 * @lens:     address of @count 16-bit lengths, or 0: each key has @key_len bytes
 * @results:  EXISTS, REMOVE, PIN: address of @count results. LOOKUP: 0
 * @tags:     EXISTS: address of @count areas of KVSTASH_TAG_MAX bytes for the
 *            tags, or 0. Else 0
 * @bytes:    out, LOOKUP: bytes of the objects in the run; bytes missing if the
 *            call fails with KVSTASH_R_LEASE_BUDGET
 * @count:    keys, 1 to KVSTASH_BATCH_MAX; 0 for a LOOKUP of states alone: then
 *            nothing that is said of keys is looked at
 * @stride:   EXISTS, REMOVE, PIN: size of a result as the caller knows it, a
 *            multiple of 8. LOOKUP: 0
 * @key_len:  1 to KVSTASH_KEY_MAX, or 0 with @lens
 * @kind:     KVSTASH_KIND_*
 * @pin:      PIN: KVSTASH_PIN_*. Else 0
 * @done:     out: keys that were carried out
 * @reason:   out: if the call fails, enum kvstash_reason. LOOKUP: else why the
 *            run ends before @count, KVSTASH_R_OK if it does not
 * @field:    out: if the call fails, offset of the refused member
 * @run:      out, LOOKUP: visible keys from the first on without a gap
 * @reserved: 0
 * @leases:   KVSTASH_KEYS_LEASE: address of @count struct kvstash_handle, aligned
 *            to 8; all zero for a key that is not leased. Else 0
 * @candidates: LOOKUP: address of @nr_candidates candidates, aligned to 8. Else 0
 * @nr_candidates: 0 to KVSTASH_CANDIDATES_MAX
 * @candidate_stride: size of a candidate as the caller knows it, a multiple of 8;
 *            0 without any
 *
 * The keys and their lengths are part of the header: one that is malformed or
 * can't be read fails the call, after @done keys before its window.
 *
 * EXISTS and LOOKUP hold nothing back, unless a lease is asked for, and are no
 * use of an object for eviction. A lease keeps its object, and the group of that,
 * from eviction, and its bytes even from REMOVE, until RELEASE or the close of
 * the file. It is on exactly what was reported visible: EXISTS gives
 * KVSTASH_R_LEASE_BUDGET for a key that does not fit the budget any more (or
 * KVSTASH_R_LEASE_COUNT if the client has KVSTASH_LEASES_MAX), LOOKUP
 * leases the whole run or fails and leases nothing. A group is leased as a whole;
 * to get bytes, lease its members.
 *
 * LOOKUP reports the run of keys and each of the candidates as facts of their own:
 * neither cuts the other short. Leased are all of the run and all the candidates
 * that are visible, or nothing.
 *
 * REMOVE hides each object, its group, and all that descend from that, before it
 * returns. A pin is an attribute of the object, or of its group, and no client's:
 * it stays until another PIN or REMOVE.
 */
struct kvstash_keys {
	__u32 size;
	__u32 flags;
	__aligned_u64 keys;
	__aligned_u64 lens;
	__aligned_u64 results;
	__aligned_u64 tags;
	__aligned_u64 bytes;
	__u32 count;
	__u32 stride;
	__u16 key_len;
	__u8 kind;
	__u8 pin;
	__u32 done;
	__u32 reason;
	__u32 field;
	__u32 run;
	__u32 reserved;
	__aligned_u64 leases;
	__aligned_u64 candidates;
	__u32 nr_candidates;
	__u32 candidate_stride;
};

/** struct kvstash_layer - where a layer's bytes are in a slot; @len is not 0 */
struct kvstash_layer {
	__aligned_u64 offset;
	__aligned_u64 len;
};

/* kvstash_layout.flags */
#define KVSTASH_LAYOUT_TIED	_BITUL(0)	/* a state goes with the page or group
						 * that it names as its parent
						 */
#define KVSTASH_LAYOUT_NEXT	_BITUL(1)	/* GET: the first one after @id, in the
						 * order of registration
						 */

/**
 * struct kvstash_layout - argument of LAYOUT_ADD, _GET, _SET and _DEL
 * @size:        sizeof(struct kvstash_layout)
 * @flags:       ADD: KVSTASH_LAYOUT_TIED. GET: KVSTASH_LAYOUT_NEXT; out: those that
 *               it was registered with. Else 0
 * @fingerprint: names the layout, with @scheme; GET with NEXT: out, not looked at
 * @scheme:      version of the scheme that the fingerprint was made by
 * @alignment:   tokens, 1 to KVSTASH_ALIGNMENT_MAX: the length of a state is a
 *               multiple. ADD: in; GET: out; else 0
 * @slot_bytes:  of a state, 1 to KVSTASH_PART_BYTES_MAX. ADD: in; GET: out; else 0
 * @layers:      address of @nr_layers struct kvstash_layer, aligned to 8. ADD: in.
 *               GET: out, as many as there is room for; may be 0. Else 0
 * @slots:       ADD, SET: how many to carve, if @pool_permille is 0; out: how many
 *               there are
 * @nr_layers:   ADD: 1 to KVSTASH_LAYERS_MAX. GET: room in @layers; out: how many
 *               the layout has. Else 0
 * @pool_permille: ADD, SET: as many slots as fit this share of the pool, 1 to 1000;
 *               0: @slots counts. Else 0
 * @id:          out: number of the layout, in the order of registration, not 0.
 *               GET with NEXT: in, too; 0: from the first. After the last it is
 *               KVSTASH_R_LAYOUT_UNKNOWN
 * @reason:      out: if the call fails, enum kvstash_reason
 * @field:       out: if the call fails, offset of the refused member
 * @reserved:    0
 * @detail:      out: if the call fails, a number that goes with the reason
 * @used:        out: slots that are not free
 * @states:      out: states, visible or not, in flight ones too
 * @slot_pages_bytes: out: pool bytes of a slot
 * @hits:        out: states got; this and the rest since it was registered
 * @misses:      out: gets of states that were not there, or not visible
 * @found:       out: states that EXISTS or LOOKUP found visible
 * @not_found:   out: and did not
 * @puts:        out: states completed
 * @evictions:   out: states evicted, for slots or with their page or group
 * @expired:     out: states whose time to live ended
 * @removed:     out: states removed on request, or with what they descend from
 * @refused_no_slot: out: puts refused: no slot could be had
 * @refused_bytes: out: length not that of a slot
 * @refused_misaligned: out: aligned length 0, or no multiple of the alignment
 * @refused_there: out: there already, in flight, or with another identity
 * @refused_other: out: for any other reason
 *
 * A layout belongs to the namespace. The same fingerprint and scheme with the same
 * description is registered already, which is no error, and its slots stay as they
 * are; with another one it is refused. Layers may leave gaps, and do not overlap.
 *
 * Slots are carved at once, within the namespace's quotas, or none is: more than the
 * pool has is KVSTASH_R_TOO_LARGE, more than can be had KVSTASH_R_NO_SPACE. Fewer slots
 * evict the states used longest ago; if more than are asked for can't be taken away
 * now, the call is refused and evicts nothing. A layout is dropped (DEL) when it has
 * no state; SET to 0 slots evicts them.
 */
struct kvstash_layout {
	__u32 size;
	__u32 flags;
	__u8 fingerprint[KVSTASH_DIGEST_LEN];
	__u32 scheme;
	__u32 alignment;
	__aligned_u64 slot_bytes;
	__aligned_u64 layers;
	__aligned_u64 slots;
	__u32 nr_layers;
	__u32 pool_permille;
	__u32 id;
	__u32 reason;
	__u32 field;
	__u32 reserved;
	__aligned_u64 detail;
	__aligned_u64 used;
	__aligned_u64 states;
	__aligned_u64 slot_pages_bytes;
	__aligned_u64 hits;
	__aligned_u64 misses;
	__aligned_u64 found;
	__aligned_u64 not_found;
	__aligned_u64 puts;
	__aligned_u64 evictions;
	__aligned_u64 expired;
	__aligned_u64 removed;
	__aligned_u64 refused_no_slot;
	__aligned_u64 refused_bytes;
	__aligned_u64 refused_misaligned;
	__aligned_u64 refused_there;
	__aligned_u64 refused_other;
};

/* Sizes of the first version, where they are others: the least that is taken. */
#define KVSTASH_PUT_SIZE_VER0		104
#define KVSTASH_GET_SIZE_VER0		72
#define KVSTASH_EXISTS_SIZE_VER0	64
#define KVSTASH_KEYS_SIZE_VER0		80

#define KVSTASH_IOC		0xBB

#define KVSTASH_IOC_QUERY	_IOWR(KVSTASH_IOC, 0x40, struct kvstash_query)
#define KVSTASH_IOC_BIND	_IOWR(KVSTASH_IOC, 0x41, struct kvstash_bind)
#define KVSTASH_IOC_PUT		_IOWR(KVSTASH_IOC, 0x42, struct kvstash_batch)
#define KVSTASH_IOC_RESERVE	_IOWR(KVSTASH_IOC, 0x43, struct kvstash_batch)
#define KVSTASH_IOC_WRITE	_IOWR(KVSTASH_IOC, 0x44, struct kvstash_batch)
#define KVSTASH_IOC_COMMIT	_IOWR(KVSTASH_IOC, 0x45, struct kvstash_batch)
#define KVSTASH_IOC_ABORT	_IOWR(KVSTASH_IOC, 0x46, struct kvstash_batch)
#define KVSTASH_IOC_GET		_IOWR(KVSTASH_IOC, 0x47, struct kvstash_batch)
#define KVSTASH_IOC_EXISTS	_IOWR(KVSTASH_IOC, 0x48, struct kvstash_keys)
#define KVSTASH_IOC_REMOVE	_IOWR(KVSTASH_IOC, 0x49, struct kvstash_keys)
#define KVSTASH_IOC_LOOKUP	_IOWR(KVSTASH_IOC, 0x4a, struct kvstash_keys)
#define KVSTASH_IOC_RELEASE	_IOWR(KVSTASH_IOC, 0x4b, struct kvstash_batch)
#define KVSTASH_IOC_PIN		_IOWR(KVSTASH_IOC, 0x4c, struct kvstash_keys)
#define KVSTASH_IOC_LAYOUT_ADD	_IOWR(KVSTASH_IOC, 0x4d, struct kvstash_layout)
#define KVSTASH_IOC_LAYOUT_GET	_IOWR(KVSTASH_IOC, 0x4e, struct kvstash_layout)
#define KVSTASH_IOC_LAYOUT_SET	_IOWR(KVSTASH_IOC, 0x4f, struct kvstash_layout)
#define KVSTASH_IOC_LAYOUT_DEL	_IOWR(KVSTASH_IOC, 0x50, struct kvstash_layout)

#endif /* _UAPI_LINUX_KVSTASH_H */
