/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * libkvstash: thin calls for the ioctl interface of /dev/kvstash
 *
 * The entries of a batch are the structures of <linux/kvstash.h>: the caller
 * owns them, fills them (best with the kvstash_prep_*() below), and reads each
 * entry's own result out of its first member, @r. The library keeps no copy,
 * allocates nothing but the client itself, and starts no threads.
 *
 * Errors: a function that returns int returns a negative errno if it fails.
 * errno itself is no part of the interface and may be overwritten. That a call
 * as a whole did not fail says nothing about its entries: look at each @r.
 *
 * Threads: any number of threads may make calls on one client at once, and so
 * may processes that share the open file. Only kvstash_close() must be the
 * last call on a client. An entry, and the memory that it points to, must be
 * left alone by others during the call. kvstash_last_refusal() is a thread's
 * own.
 *
 * Units: lengths and offsets are bytes; counts are entries, keys, segments,
 * ranges or parts, as named.
 *
 * In C++ some functions have the name of a structure, as stat() does: write
 * "struct kvstash_put e;" there, too.
 */
#ifndef KVSTASH_H
#define KVSTASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/kvstash.h>

#ifdef __cplusplus
extern "C" {
/* a function beside a structure of its name is intended here */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

/**
 * struct kvstash - a client: one open file of the device
 *
 * Owns the parts that it has in flight and is bound to at most one namespace.
 */
struct kvstash;

/**
 * kvstash_open() - open the device
 * @out:   the client; untouched if the call fails
 * @path:  path of the device, or NULL for KVSTASH_DEVICE
 * @flags: flags of open(2), or 0 for O_RDWR | O_CLOEXEC
 *
 * The file is asked whether it is a kvstash device. A client that was opened for
 * reading only, or for writing only, can do no more in any namespace. Ends with
 * kvstash_close().
 *
 * Return: 0, -ENOTTY if it is another kind of file, or an errno of open(2):
 * -ENOENT without the module, -EACCES without the right to open the device.
 */
int kvstash_open(struct kvstash **out, const char *path, int flags);

/**
 * kvstash_from_fd() - make a client of a file descriptor
 * @fd:  the device, opened elsewhere, such as one that came over a UNIX socket
 * @out: the client; untouched if the call fails
 *
 * The binding and the parts in flight are those of the open file: whoever else
 * holds a descriptor of it shares them, and they last until its last close.
 * After success the client owns @fd, else the caller still does.
 *
 * Return: 0, -EBADF if @fd is not open, -ENOTTY if it is no kvstash device,
 * -ENOMEM.
 */
int kvstash_from_fd(int fd, struct kvstash **out);

/**
 * kvstash_close() - end a client and close its file
 * @c: the client, or NULL
 *
 * With the last descriptor of the open file, its parts in flight are aborted
 * before this returns.
 */
void kvstash_close(struct kvstash *c);

/**
 * kvstash_fd() - the file descriptor of a client, which goes on to own it
 * @c: the client
 */
int kvstash_fd(const struct kvstash *c);

/**
 * kvstash_query() - what the module is and can
 * @c:   the client
 * @out: filled; its @size need not be set
 *
 * Return: 0 or a negative errno.
 */
int kvstash_query(struct kvstash *c, struct kvstash_query *out);

/**
 * kvstash_bind() - choose the client's namespace
 * @c:  the client
 * @ns: its name
 *
 * A client that never calls this is bound to "default" by its first command.
 *
 * Return: 0, also if it was bound to @ns before; else a negative errno, with
 * the reason in kvstash_last_refusal(). A name too long for the structure is
 * refused here in the way of the kernel (-EINVAL, KVSTASH_R_NAME).
 */
int kvstash_bind(struct kvstash *c, const char *ns);

/**
 * kvstash_last_refusal() - why a call as a whole failed
 * @c:      the client
 * @reason: enum kvstash_reason, or NULL
 * @field:  offset of the refused member in struct kvstash_batch, kvstash_keys
 *          or kvstash_bind, or NULL
 *
 * Tells of this thread's last call if that was on @c: KVSTASH_R_OK and 0 if it
 * did not fail, or failed without a reason (such as -ENOTTY).
 */
void kvstash_last_refusal(const struct kvstash *c, unsigned int *reason,
			  unsigned int *field);

/*
 * Batches
 *
 * @n is 1 to KVSTASH_BATCH_MAX. Return: the entries that were carried out, with
 * or without success; fewer than @n only after a signal, and then the rest say
 * KVSTASH_R_INTERRUPTED. A negative errno if the call as a whole failed, with
 * the reason in kvstash_last_refusal().
 */

/** kvstash_put() - copy parts in and commit them */
int kvstash_put(struct kvstash *c, struct kvstash_put *e, unsigned int n);

/** kvstash_reserve() - begin parts; each entry gets its @handle */
int kvstash_reserve(struct kvstash *c, struct kvstash_put *e, unsigned int n);

/** kvstash_write() - fill reserved parts */
int kvstash_write(struct kvstash *c, struct kvstash_write *e, unsigned int n);

/** kvstash_commit() - end reserved parts: their bytes are there for good */
int kvstash_commit(struct kvstash *c, struct kvstash_end *e, unsigned int n);

/** kvstash_abort() - give reserved parts up */
int kvstash_abort(struct kvstash *c, struct kvstash_end *e, unsigned int n);

/** kvstash_get() - copy objects, or ranges of their parts, out */
int kvstash_get(struct kvstash *c, struct kvstash_get *e, unsigned int n);

/**
 * kvstash_exists() - the facts about keys
 * @c:   the client
 * @k:   the keys, see kvstash_prep_keys(); the library sets @size, @results and
 *       @stride
 * @res: one result a key
 *
 * Return: the keys that were carried out, as for a batch.
 */
int kvstash_exists(struct kvstash *c, struct kvstash_keys *k,
		   struct kvstash_exists *res);

/**
 * kvstash_remove() - hide objects and all that descend from them
 * @c:   the client
 * @k:   the keys; the library sets @size, @results, @tags and @stride
 * @res: one result a key, of which only @r is used
 *
 * Return: the keys that were carried out, as for a batch.
 */
int kvstash_remove(struct kvstash *c, struct kvstash_keys *k,
		   struct kvstash_exists *res);

/**
 * kvstash_lookup() - how many keys from the first on are visible
 * @c: the client
 * @k: the keys; the library sets @size, @results, @tags and @stride. Comes back
 *     with @run, @bytes, and in @reason why the run ends before @count
 *
 * Return: @run, or a negative errno if the call as a whole failed.
 */
int kvstash_lookup(struct kvstash *c, struct kvstash_keys *k);

/*
 * Batches of any length
 *
 * As the above, for any @n, 0 too: split above KVSTASH_BATCH_MAX, and taken up
 * again after a signal until all is done. @done, or NULL, gets the entries that
 * were carried out. Return: 0 if all were, else the negative errno of the call
 * that failed; the entries from @done on were then not reached, and what
 * their @r says has no meaning.
 *
 * A @count of keys above KVSTASH_BATCH_MAX is several calls, hence not one
 * moment. @k comes back as the caller filled it, but for @done, @reason and
 * @field and, of a lookup, @run and @bytes over all of its calls. A lookup
 * stops at the first gap: *@done is then its run.
 */
int kvstash_put_all(struct kvstash *c, struct kvstash_put *e, size_t n,
		    size_t *done);
int kvstash_reserve_all(struct kvstash *c, struct kvstash_put *e, size_t n,
			size_t *done);
int kvstash_write_all(struct kvstash *c, struct kvstash_write *e, size_t n,
		      size_t *done);
int kvstash_commit_all(struct kvstash *c, struct kvstash_end *e, size_t n,
		       size_t *done);
int kvstash_abort_all(struct kvstash *c, struct kvstash_end *e, size_t n,
		      size_t *done);
int kvstash_get_all(struct kvstash *c, struct kvstash_get *e, size_t n,
		    size_t *done);
int kvstash_exists_all(struct kvstash *c, struct kvstash_keys *k,
		       struct kvstash_exists *res, size_t *done);
int kvstash_remove_all(struct kvstash *c, struct kvstash_keys *k,
		       struct kvstash_exists *res, size_t *done);
int kvstash_lookup_all(struct kvstash *c, struct kvstash_keys *k, size_t *done);

/**
 * kvstash_reason_name() - short name of a reason, such as "no_space"
 * @reason: enum kvstash_reason
 *
 * Return: a static string; "unknown" if the library does not know the reason.
 */
const char *kvstash_reason_name(unsigned int reason);

/**
 * kvstash_reason_text() - what a reason means, such as
 * "no space: nothing to evict"
 * @reason: enum kvstash_reason
 *
 * Return: a static string; "unknown reason" if the library does not know it.
 */
const char *kvstash_reason_text(unsigned int reason);

/**
 * kvstash_result_format() - a result in one sentence
 * @r:   the result
 * @buf: gets the sentence, cut to @len, always NUL-terminated if @len is not 0
 * @len: bytes at @buf
 *
 * Such as "no space: nothing to evict; 4096 bytes missing (ENOSPC, no_space)":
 * the reason, its detail with its unit, the errno and the reason's name.
 *
 * Return: the length of the whole sentence, as snprintf() does.
 */
int kvstash_result_format(const struct kvstash_result *r, char *buf,
			  size_t len);

/*
 * Builders
 *
 * Each sets all members of an entry: nothing of an earlier use remains. A
 * number too large for its member is stored as the largest that the member
 * takes, which the kernel refuses, so that nothing is cut to a valid one. The
 * kind is KVSTASH_KIND_PAGE.
 */

static inline __u64 kvstash_addr(const void *p)
{
	return (__u64)(uintptr_t)p;
}

static inline __u16 kvstash_cap16(size_t v)
{
	return v > UINT16_MAX ? UINT16_MAX : (__u16)v;
}

static inline __u32 kvstash_cap32(size_t v)
{
	return v > UINT32_MAX ? UINT32_MAX : (__u32)v;
}

/** kvstash_prep_seg() - a run of memory */
static inline void kvstash_prep_seg(struct kvstash_seg *s, const void *addr,
				    size_t len)
{
	s->addr = kvstash_addr(addr);
	s->len = len;
}

/** kvstash_segs_len() - bytes of all segments, UINT64_MAX if they overflow */
static inline __u64 kvstash_segs_len(const struct kvstash_seg *segs, size_t nr)
{
	__u64 sum = 0;

	for (size_t i = 0; i < nr; i++)
		if (__builtin_add_overflow(sum, segs[i].len, &sum))
			return UINT64_MAX;
	return sum;
}

/** kvstash_prep_range() - @len bytes from @offset of part @part to @addr */
static inline void kvstash_prep_range(struct kvstash_range *r, size_t part,
				      __u64 offset, void *addr, size_t len)
{
	r->addr = kvstash_addr(addr);
	r->offset = offset;
	r->len = len;
	r->part = kvstash_cap32(part);
	r->reserved = 0;
}

/** kvstash_prep_put() - one part, the only one of its object */
static inline void kvstash_prep_put(struct kvstash_put *e, const void *key,
				    size_t key_len, const void *buf, __u64 len)
{
	memset(e, 0, sizeof(*e));
	e->key = kvstash_addr(key);
	e->key_len = kvstash_cap16(key_len);
	e->buf = kvstash_addr(buf);
	e->part_len = len;
	e->parts = 1;
	e->kind = KVSTASH_KIND_PAGE;
}

/** kvstash_prep_reserve() - the same for kvstash_reserve() */
static inline void kvstash_prep_reserve(struct kvstash_put *e, const void *key,
					size_t key_len, __u64 len)
{
	kvstash_prep_put(e, key, key_len, NULL, len);
}

/** kvstash_prep_put_parent() - the object that precedes this one */
static inline void kvstash_prep_put_parent(struct kvstash_put *e,
					   const void *parent, size_t len)
{
	e->parent = kvstash_addr(parent);
	e->parent_len = kvstash_cap16(len);
}

/** kvstash_prep_put_part() - this is part @part of @parts */
static inline void kvstash_prep_put_part(struct kvstash_put *e, size_t part,
					 size_t parts)
{
	e->part = kvstash_cap16(part);
	e->parts = kvstash_cap16(parts);
}

/** kvstash_prep_put_manifest() - digest of KVSTASH_DIGEST_LEN bytes, or NULL */
static inline void kvstash_prep_put_manifest(struct kvstash_put *e,
					     const void *digest)
{
	e->manifest = kvstash_addr(digest);
}

/** kvstash_prep_put_tag() - up to KVSTASH_TAG_MAX bytes that EXISTS returns */
static inline void kvstash_prep_put_tag(struct kvstash_put *e, const void *tag,
					size_t len)
{
	e->tag = kvstash_addr(tag);
	e->tag_len = kvstash_cap16(len);
}

/** kvstash_prep_put_segs() - the bytes lie in segments; sets @part_len too */
static inline void kvstash_prep_put_segs(struct kvstash_put *e,
					 const struct kvstash_seg *segs,
					 size_t nr)
{
	e->buf = kvstash_addr(segs);
	e->nr_segs = kvstash_cap32(nr);
	e->part_len = kvstash_segs_len(segs, nr);
}

/** kvstash_prep_write() - bytes for a reserved part, from @offset on */
static inline void kvstash_prep_write(struct kvstash_write *e,
				      const struct kvstash_handle *handle,
				      __u64 offset, const void *buf, __u64 len)
{
	memset(e, 0, sizeof(*e));
	e->handle = *handle;
	e->offset = offset;
	e->buf = kvstash_addr(buf);
	e->len = len;
}

/** kvstash_prep_write_segs() - the bytes lie in segments; sets @len too */
static inline void kvstash_prep_write_segs(struct kvstash_write *e,
					   const struct kvstash_seg *segs,
					   size_t nr)
{
	e->buf = kvstash_addr(segs);
	e->nr_segs = kvstash_cap32(nr);
	e->len = kvstash_segs_len(segs, nr);
}

/** kvstash_prep_end() - a reserved part for kvstash_commit() or _abort() */
static inline void kvstash_prep_end(struct kvstash_end *e,
				    const struct kvstash_handle *handle)
{
	memset(e, 0, sizeof(*e));
	e->handle = *handle;
}

/** kvstash_prep_get() - a whole object into one buffer */
static inline void kvstash_prep_get(struct kvstash_get *e, const void *key,
				    size_t key_len, void *buf, __u64 len)
{
	memset(e, 0, sizeof(*e));
	e->key = kvstash_addr(key);
	e->key_len = kvstash_cap16(key_len);
	e->buf = kvstash_addr(buf);
	e->len = len;
	e->kind = KVSTASH_KIND_PAGE;
}

/** kvstash_prep_get_segs() - a whole object into segments, one after another */
static inline void kvstash_prep_get_segs(struct kvstash_get *e, const void *key,
					 size_t key_len,
					 const struct kvstash_seg *segs,
					 size_t nr)
{
	kvstash_prep_get(e, key, key_len, NULL, 0);
	e->buf = kvstash_addr(segs);
	e->nr = kvstash_cap32(nr);
}

/** kvstash_prep_get_ranges() - ranges of an object's parts */
static inline void kvstash_prep_get_ranges(struct kvstash_get *e,
					   const void *key, size_t key_len,
					   const struct kvstash_range *ranges,
					   size_t nr)
{
	kvstash_prep_get(e, key, key_len, NULL, 0);
	e->buf = kvstash_addr(ranges);
	e->nr = kvstash_cap32(nr);
	e->flags = KVSTASH_GET_RANGES;
}

/** kvstash_prep_keys() - @count keys of @key_len bytes, one after another */
static inline void kvstash_prep_keys(struct kvstash_keys *k, const void *keys,
				     size_t key_len, size_t count)
{
	memset(k, 0, sizeof(*k));
	k->size = sizeof(*k);
	k->keys = kvstash_addr(keys);
	k->key_len = kvstash_cap16(key_len);
	k->count = kvstash_cap32(count);
	k->kind = KVSTASH_KIND_PAGE;
}

/** kvstash_prep_keys_var() - the same for keys with a length each */
static inline void kvstash_prep_keys_var(struct kvstash_keys *k,
					 const void *keys, const __u16 *lens,
					 size_t count)
{
	kvstash_prep_keys(k, keys, 0, count);
	k->lens = kvstash_addr(lens);
}

/** kvstash_prep_keys_tags() - EXISTS: @count areas of KVSTASH_TAG_MAX bytes */
static inline void kvstash_prep_keys_tags(struct kvstash_keys *k, void *tags)
{
	k->tags = kvstash_addr(tags);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* KVSTASH_H */
