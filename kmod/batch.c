// SPDX-License-Identifier: GPL-2.0
/*
 * Arguments of commands.
 *
 * Locking: none. Everything here is hostile: a structure is copied once, then
 * checked, then used; nothing is read from user space twice.
 */
#include <linux/compat.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

#include "batch.h"
#include "client.h"
#include "index.h"
#include "result.h"
#include "state.h"

/* Arrays of structures are aligned; keys and data need not be. */
#define KVS_ARRAY_ALIGN	8

/**
 * kvs_copy_struct() - copy an argument whose first member is its size
 * @dst:   out
 * @ksize: its size
 * @least: size of the first version; what a caller's lacks is zero
 * @arg:   user address
 * @usize: out: the caller's size
 *
 * Return: 0, -EINVAL: too small, -E2BIG: unknown members in use, -EFAULT.
 */
int kvs_copy_struct(void *dst, size_t ksize, size_t least, void __user *arg, u32 *usize)
{
	int ret;

	if (get_user(*usize, (u32 __user *)arg))
		return -EFAULT;
	if (*usize < least)
		return -EINVAL;
	if (*usize > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(dst, ksize, arg, *usize);
	/* The size was read again with the rest: what was checked is what counts. */
	*(u32 *)dst = *usize;
	return ret;
}

/**
 * kvs_refuse() - say why a call as a whole fails
 * @arg:       user address of the argument
 * @reason_at: offset of its member for the reason
 * @reason:    KVSTASH_R_*
 * @field_at:  offset of its member for the refused field, 0 if it has none
 * @field:     offset of the refused member
 * @ret:       negative errno
 *
 * Return: @ret, also if the reason can't be written.
 */
int kvs_refuse(void __user *arg, size_t reason_at, u32 reason, size_t field_at, u32 field,
	       int ret)
{
	if (put_user(reason, (u32 __user *)(arg + reason_at)))
		return ret;
	if (field_at && put_user(field, (u32 __user *)(arg + field_at)))
		return ret;
	return ret;
}

/**
 * kvs_probe() - see that an answer can be written, before anything is done
 * @arg:     user address of the argument
 * @done_at: offset of a member of it that is output alone
 *
 * Return: 0 or -EFAULT.
 */
int kvs_probe(void __user *arg, size_t done_at)
{
	return put_user(0, (u32 __user *)(arg + done_at));
}

static int batch_refuse(void __user *arg, u32 reason, u32 field, int ret)
{
	return kvs_refuse(arg, offsetof(struct kvstash_batch, reason), reason,
			  offsetof(struct kvstash_batch, field), field, ret);
}

#define BATCH_REFUSE(arg, reason, member, ret) \
	batch_refuse(arg, reason, offsetof(struct kvstash_batch, member), ret)

static int batch_check(const struct kvstash_batch *hdr, void __user *arg, size_t least)
{
	u64 bytes;

	if (hdr->flags)
		return BATCH_REFUSE(arg, KVSTASH_R_FLAGS, flags, -EINVAL);
	if (hdr->reserved)
		return BATCH_REFUSE(arg, KVSTASH_R_RESERVED, reserved, -EINVAL);
	if (!hdr->count || hdr->count > KVSTASH_BATCH_MAX)
		return BATCH_REFUSE(arg, KVSTASH_R_COUNT, count, -EINVAL);
	if (hdr->stride < least || hdr->stride % KVS_ARRAY_ALIGN)
		return BATCH_REFUSE(arg, KVSTASH_R_SIZE, stride, -EINVAL);
	if (hdr->stride > PAGE_SIZE)
		return BATCH_REFUSE(arg, KVSTASH_R_SIZE, stride, -E2BIG);
	if (hdr->entries % KVS_ARRAY_ALIGN)
		return BATCH_REFUSE(arg, KVSTASH_R_ALIGN, entries, -EINVAL);
	bytes = (u64)hdr->count * hdr->stride;
	if (hdr->entries + bytes < hdr->entries ||
	    !access_ok(u64_to_user_ptr(hdr->entries), bytes))
		return BATCH_REFUSE(arg, KVSTASH_R_BUFFER, entries, -EFAULT);
	return 0;
}

/*
 * The first @nr entries of a window; those with an unknown tail say so, and what a
 * shorter one lacks is zero.
 */
static int window_in(const struct kvstash_batch *hdr, u32 first, u32 nr, size_t size,
		     u8 *window)
{
	void __user *from = u64_to_user_ptr(hdr->entries + (u64)first * hdr->stride);
	struct kvstash_result *r;
	u32 i;
	int ret;

	if (hdr->stride == size)
		return copy_from_user(window, from, nr * size) ? -EFAULT : 0;
	for (i = 0; i < nr; i++, from += hdr->stride) {
		ret = copy_struct_from_user(window + i * size, size, from, hdr->stride);
		r = (void *)(window + i * size);
		if (ret == -EFAULT)
			return ret;
		/* Nothing was copied then: no byte of ours may go back. */
		if (ret && copy_from_user(r, from, size))
			return -EFAULT;
		/* -E2BIG is the entry's: it is passed on through its result */
		r->res = ret;
	}
	return 0;
}

static int window_out(const struct kvstash_batch *hdr, u32 first, u32 nr, size_t size,
		      const u8 *window)
{
	void __user *to = u64_to_user_ptr(hdr->entries + (u64)first * hdr->stride);
	size_t known = min_t(size_t, size, hdr->stride);
	u32 i;

	if (hdr->stride == size)
		return copy_to_user(to, window, nr * size) ? -EFAULT : 0;
	for (i = 0; i < nr; i++, to += hdr->stride)
		if (copy_to_user(to, window + i * size, known))
			return -EFAULT;
	return 0;
}

/*
 * See that results can be written before anything is carried out, so that a
 * request with unwritable memory leaves the store as it was. Writes back what
 * was read; a window without gaps is two pages at most.
 */
static int window_probe(const struct kvstash_batch *hdr, u32 first, u32 nr, size_t size,
			const u8 *window)
{
	u64 to = hdr->entries + (u64)first * hdr->stride;
	u32 i, step = hdr->stride == size && nr > 1 ? nr - 1 : 1;
	const struct kvstash_result *r;

	for (i = 0; i < nr; i += step) {
		struct kvstash_result __user *out = u64_to_user_ptr(to + (u64)i * hdr->stride);

		r = (const void *)(window + i * size);
		if (put_user(r->res, &out->res))
			return -EFAULT;
	}
	return 0;
}

/* Entries that a signal came before. */
static int mark_interrupted(const struct kvstash_batch *hdr, u32 first)
{
	struct kvstash_result r = { .res = -EINTR, .reason = KVSTASH_R_INTERRUPTED };

	for (; first < hdr->count; first++) {
		if (copy_to_user(u64_to_user_ptr(hdr->entries + (u64)first * hdr->stride), &r,
				 sizeof(r)))
			return -EFAULT;
		if (!(first % 1024))
			cond_resched();
	}
	return 0;
}

/*
 * Entry @i is about to be carried out. Its data will take microseconds to copy,
 * in which what the next ones need can come from memory: fetch the key of the
 * one after the next and its bucket, and the next one's object.
 */
static void window_ahead(struct kvs_client *client, const struct kvs_batch_op *op, u32 i, u32 nr,
			 struct kvs_scratch *s)
{
	u32 to = min(i + KVS_AHEAD, nr - 1), j;
	struct kvs_ahead *ahead;

	/* All up to there for the first one, then one at a time. */
	for (j = i ? i + KVS_AHEAD : 0; j <= to; j++) {
		ahead = &s->ahead[j % ARRAY_SIZE(s->ahead)];
		memset(&ahead->r, 0, sizeof(ahead->r));
		op->ahead(client, s->window + j * op->size, ahead);
		if (!ahead->r.res)
			kvs_index_prefetch_bucket(&ahead->key);
	}
	if (i + 1 < nr) {
		ahead = &s->ahead[(i + 1) % ARRAY_SIZE(s->ahead)];
		if (!ahead->r.res)
			kvs_index_prefetch_object(&ahead->key);
	}
	s->cur = &s->ahead[i % ARRAY_SIZE(s->ahead)];
}

/* Carry out a window. Returns how many; fewer than @nr after a signal. */
static u32 window_run(struct kvs_client *client, const struct kvs_batch_op *op,
		      const struct kvstash_batch *hdr, u32 first, u32 nr,
		      struct kvs_scratch *scratch)
{
	bool long_entry = hdr->stride != op->size;
	u32 i;

	for (i = 0; i < nr; i++) {
		struct kvstash_result *r = (void *)(scratch->window + i * op->size);
		bool too_big = long_entry && r->res == -E2BIG;

		/* The first one always runs, so that a call always gets on. */
		if (first + i && signal_pending(current))
			break;
		memset(r, 0, sizeof(*r));
		if (op->ahead)
			window_ahead(client, op, i, nr, scratch);
		if (too_big)
			kvs_result(r, -E2BIG, KVSTASH_R_SIZE, op->size);
		else
			op->run(client, r, scratch);
		cond_resched();
	}
	return i;
}

static int batch_windows(struct kvs_client *client, const struct kvs_batch_op *op,
			 const struct kvstash_batch *hdr, struct kvs_scratch *scratch,
			 u32 *done)
{
	u32 per = KVS_WINDOW_BYTES / op->size, nr, ran, i;

	for (*done = 0; *done < hdr->count; *done += ran) {
		nr = min(hdr->count - *done, per);
		if (window_in(hdr, *done, nr, op->size, scratch->window) ||
		    window_probe(hdr, *done, nr, op->size, scratch->window))
			return -EFAULT;
		ran = window_run(client, op, hdr, *done, nr, scratch);
		if (window_out(hdr, *done, ran, op->size, scratch->window)) {
			for (i = 0; op->undo && i < ran; i++)
				op->undo(client, scratch->window + i * op->size);
			return -EFAULT;
		}
		if (ran < nr) {
			*done += ran;
			return mark_interrupted(hdr, *done);
		}
	}
	return 0;
}

/**
 * kvs_batch() - carry out a command that takes entries
 * @client: who
 * @arg:    user address of a struct kvstash_batch
 * @op:     the command
 *
 * Return: 0, or a negative errno if the call as a whole failed.
 */
long kvs_batch(struct kvs_client *client, void __user *arg, const struct kvs_batch_op *op)
{
	struct kvs_scratch *scratch;
	struct kvstash_batch hdr;
	u32 usize, reason, done = 0;
	int ret;

	ret = kvs_copy_struct(&hdr, sizeof(hdr), sizeof(hdr), arg, &usize);
	if (ret == -E2BIG)
		return BATCH_REFUSE(arg, KVSTASH_R_SIZE, size, ret);
	if (ret)
		return ret;
	ret = batch_check(&hdr, arg, op->least ?: op->size);
	if (ret)
		return ret;
	ret = kvs_client_ready(client, op->rights, &reason);
	if (ret)
		return BATCH_REFUSE(arg, reason, size, ret);
	if (kvs_probe(arg, offsetof(struct kvstash_batch, done)))
		return -EFAULT;

	/* The largest that slab has: more would cost a call much. */
	BUILD_BUG_ON(sizeof(*scratch) > 8192);
	scratch = kmalloc(sizeof(*scratch), GFP_KERNEL);
	if (!scratch)
		return BATCH_REFUSE(arg, KVSTASH_R_NO_MEMORY, size, -ENOMEM);
	scratch->now = ktime_get_ns();
	scratch->stride = hdr.stride;
	scratch->vec.plain_start = 0;
	scratch->vec.plain_end = 0;
	kvs_view_begin(&scratch->view, client->ns, scratch->sights, KVS_SIGHTS);
	ret = batch_windows(client, op, &hdr, scratch, &done);
	kvs_view_end(&scratch->view);
	kfree(scratch);

	if (put_user(done, (u32 __user *)(arg + offsetof(struct kvstash_batch, done))))
		return -EFAULT;
	if (ret)
		return BATCH_REFUSE(arg, KVSTASH_R_BUFFER, entries, ret);
	return 0;
}

/**
 * kvs_key_copy() - copy and check a key
 * @key:  out
 * @ns:   namespace
 * @data: out: KVSTASH_KEY_MAX bytes of room
 * @addr: user address
 * @len:  its length
 * @kind: kind of object
 * @r:    out: why not
 *
 * Return: 0 or a negative errno.
 */
int kvs_key_copy(struct kvs_key *key, struct kvs_ns *ns, u8 *data, u64 addr, u16 len, u8 kind,
		 struct kvstash_result *r)
{
	if (!len || len > KVSTASH_KEY_MAX || kvs_state_key_short(kind, len))
		return kvs_result(r, -EINVAL, KVSTASH_R_KEY_LEN, KVSTASH_KEY_MAX);
	if (copy_from_user(data, u64_to_user_ptr(addr), len))
		return kvs_result(r, -EFAULT, KVSTASH_R_KEY_FAULT, 0);
	kvs_index_key(key, ns, kind, data, len);
	return 0;
}

static int vec_add(struct kvs_vec *vec, u64 addr, u64 len, struct kvstash_result *r)
{
	if (!len || len > KVSTASH_PART_BYTES_MAX)
		return kvs_result(r, -EINVAL, KVSTASH_R_LENGTH, KVSTASH_PART_BYTES_MAX);
	if (addr + len < addr || !access_ok(u64_to_user_ptr(addr), len))
		return kvs_result(r, -EINVAL, KVSTASH_R_BUFFER, vec->nr);
	vec->iov[vec->nr].iov_base = u64_to_user_ptr(addr);
	vec->iov[vec->nr].iov_len = len;
	vec->nr++;
	/* At most KVSTASH_SEGS_MAX times KVSTASH_PART_BYTES_MAX: no overflow. */
	vec->len += len;
	return 0;
}

static int vec_import_segs(struct kvs_vec *vec, u64 addr, u32 nr, struct kvstash_result *r)
{
	struct kvstash_seg seg;
	u32 i;
	int ret;

	if (addr % KVS_ARRAY_ALIGN)
		return kvs_result(r, -EINVAL, KVSTASH_R_ALIGN, KVS_ARRAY_ALIGN);
	if (nr > KVS_VEC_FAST) {
		vec->iov = kmalloc_array(nr, sizeof(*vec->iov), GFP_KERNEL | __GFP_NOWARN);
		if (!vec->iov)
			return kvs_result(r, -ENOMEM, KVSTASH_R_NO_MEMORY, 0);
	}
	for (i = 0; i < nr; i++) {
		if (copy_from_user(&seg, u64_to_user_ptr(addr + i * sizeof(seg)), sizeof(seg)))
			return kvs_result(r, -EFAULT, KVSTASH_R_SEGS_FAULT, i);
		ret = vec_add(vec, seg.addr, seg.len, r);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * kvs_vec_import() - check an entry's user buffers
 * @vec:  out; released by kvs_vec_release() whatever is returned
 * @addr: the buffer, or (@nr > 0) an array of kvstash_seg
 * @len:  bytes of the buffer if @nr is 0
 * @nr:   segments
 * @r:    out: why not
 *
 * Return: 0 or a negative errno.
 */
int kvs_vec_import(struct kvs_vec *vec, u64 addr, u64 len, u32 nr, struct kvstash_result *r)
{
	vec->iov = vec->fast;
	vec->nr = 0;
	vec->len = 0;
	if (nr > KVSTASH_SEGS_MAX)
		return kvs_result(r, -EINVAL, KVSTASH_R_SEGS, KVSTASH_SEGS_MAX);
	return nr ? vec_import_segs(vec, addr, nr, r) : vec_add(vec, addr, len, r);
}

void kvs_vec_release(struct kvs_vec *vec)
{
	if (vec->iov != vec->fast)
		kfree(vec->iov);
}

/* No mapping of a device in one run of user memory. */
static int vec_run_plain(struct kvs_vec *vec, unsigned long addr, unsigned long len)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	unsigned long end = addr + len;
	int ret = 0;

	if (addr >= vec->plain_start && end <= vec->plain_end)
		return 0;
	if (mmap_read_lock_killable(mm))
		return -EINTR;
	for (vma = find_vma(mm, addr); vma && vma->vm_start < end && !ret;
	     vma = find_vma(mm, vma->vm_end)) {
		if (vma->vm_flags & (VM_IO | VM_PFNMAP))
			ret = -EFAULT;
		vec->plain_start = ret ? 0 : vma->vm_start;
		vec->plain_end = ret ? 0 : vma->vm_end;
	}
	mmap_read_unlock(mm);
	return ret;
}

/**
 * kvs_vec_plain() - refuse memory of a device
 * @vec: all else about it is checked; remembers the last mapping that was none
 * @r:   out: why not
 *
 * A copy would read registers, with whatever that does. Where nothing is mapped
 * the copy faults by itself. A mapping that changes meanwhile is its owner's
 * concern, who could read the device without us.
 *
 * Return: 0 or a negative errno.
 */
int kvs_vec_plain(struct kvs_vec *vec, struct kvstash_result *r)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < vec->nr && !ret; i++)
		ret = vec_run_plain(vec, (unsigned long)vec->iov[i].iov_base,
				    vec->iov[i].iov_len);
	if (ret == -EINTR)
		return kvs_result(r, ret, KVSTASH_R_INTERRUPTED, 0);
	return ret ? kvs_result(r, ret, KVSTASH_R_DATA_FAULT, 0) : 0;
}

struct target {
	unsigned long start;
	unsigned long end;
	u32 index;
};

static int target_cmp(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/**
 * kvs_check_overlap() - refuse targets that would overwrite each other
 * @iov: @nr runs of user memory
 * @nr:  how many
 * @r:   out: why not
 *
 * Return: 0 or a negative errno.
 */
int kvs_check_overlap(const struct iovec *iov, unsigned int nr, struct kvstash_result *r)
{
	struct target *t;
	unsigned int i;
	int ret = 0;

	/* Nearly always they ascend: nothing to sort. */
	for (i = 1; i < nr; i++)
		if (iov[i].iov_base < iov[i - 1].iov_base + iov[i - 1].iov_len)
			break;
	if (i >= nr)
		return 0;
	t = kmalloc_array(nr, sizeof(*t), GFP_KERNEL | __GFP_NOWARN);
	if (!t)
		return kvs_result(r, -ENOMEM, KVSTASH_R_NO_MEMORY, 0);
	for (i = 0; i < nr; i++) {
		t[i].start = (unsigned long)iov[i].iov_base;
		t[i].end = t[i].start + iov[i].iov_len;
		t[i].index = i;
	}
	sort(t, nr, sizeof(*t), target_cmp, NULL);
	for (i = 1; i < nr && !ret; i++)
		if (t[i].start < t[i - 1].end)
			ret = kvs_result(r, -EINVAL, KVSTASH_R_OVERLAP,
					 max(t[i].index, t[i - 1].index));
	kfree(t);
	return ret;
}
