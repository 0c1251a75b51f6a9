// SPDX-License-Identifier: GPL-2.0
/*
 * kvstash_bare: the copy of a put or a get without the store around it
 *
 * The benchmark measures kvstash beside this: the same bytes between the same
 * user buffers and the same kind of chunks. There is no index, no allocation,
 * no locking: concurrent callers overwrite each other, which is fine for bytes
 * that nobody looks at.
 */
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "kvstash_bare.h"

#define BARE_ORDER	9
#define BARE_CHUNK	(PAGE_SIZE << BARE_ORDER)
#define BARE_WINDOW	32	/* spans copied in at a time */

static unsigned int pool_mb = 64;
module_param(pool_mb, uint, 0444);
MODULE_PARM_DESC(pool_mb, "Size of the pool in MiB, rounded up to 2 MiB");

static struct page **bare_chunks;
static unsigned long bare_nr;

static u64 bare_bytes(void)
{
	return (u64)bare_nr * BARE_CHUNK;
}

/* A copy must stay inside its compound page, so each piece ends with a chunk. */
static int bare_copy(const struct kvstash_bare_span *span, bool in)
{
	u64 addr = span->addr, pos = span->offset, left = span->len;

	if (span->offset > bare_bytes() || span->len > bare_bytes() - span->offset)
		return -ERANGE;

	while (left) {
		u64 at = pos & (BARE_CHUNK - 1);
		size_t n = min_t(u64, left, BARE_CHUNK - at);
		void *p = (char *)page_address(bare_chunks[pos / BARE_CHUNK]) + at;
		void __user *u = u64_to_user_ptr(addr);

		if (in ? copy_from_user(p, u, n) : copy_to_user(u, p, n))
			return -EFAULT;
		addr += n;
		pos += n;
		left -= n;
		cond_resched();
	}
	return 0;
}

static int bare_batch(const struct kvstash_bare_batch *batch, bool in)
{
	const struct kvstash_bare_span __user *from = u64_to_user_ptr(batch->spans);
	struct kvstash_bare_span spans[BARE_WINDOW];
	u32 done, n, i;
	int err;

	if (!batch->count || batch->count > KVSTASH_BARE_BATCH_MAX || batch->reserved)
		return -EINVAL;

	for (done = 0; done < batch->count; done += n) {
		n = min_t(u32, batch->count - done, BARE_WINDOW);
		if (copy_from_user(spans, from + done, n * sizeof(*spans)))
			return -EFAULT;
		for (i = 0; i < n; i++) {
			err = bare_copy(&spans[i], in);
			if (err)
				return err;
		}
	}
	return 0;
}

static long bare_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *argp = (void __user *)arg;
	struct kvstash_bare_batch batch;
	struct kvstash_bare_span span;
	u64 bytes;

	switch (cmd) {
	case KVSTASH_BARE_NOP:
		return 0;
	case KVSTASH_BARE_BYTES:
		bytes = bare_bytes();
		return copy_to_user(argp, &bytes, sizeof(bytes)) ? -EFAULT : 0;
	case KVSTASH_BARE_COPY_IN:
	case KVSTASH_BARE_COPY_OUT:
		if (copy_from_user(&batch, argp, sizeof(batch)))
			return -EFAULT;
		return bare_batch(&batch, cmd == KVSTASH_BARE_COPY_IN);
	case KVSTASH_BARE_ONE_IN:
	case KVSTASH_BARE_ONE_OUT:
		if (copy_from_user(&span, argp, sizeof(span)))
			return -EFAULT;
		return bare_copy(&span, cmd == KVSTASH_BARE_ONE_IN);
	}
	return -ENOTTY;
}

static const struct file_operations bare_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = bare_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice bare_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kvstash_bare",
	.fops = &bare_fops,
	.mode = 0600,
};

static void bare_free(void)
{
	while (bare_nr)
		__free_pages(bare_chunks[--bare_nr], BARE_ORDER);
	kvfree(bare_chunks);
}

static int bare_alloc(unsigned long nr)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_COMP | __GFP_NOWARN | __GFP_RETRY_MAYFAIL;

	bare_chunks = kvcalloc(nr, sizeof(*bare_chunks), GFP_KERNEL);
	if (!bare_chunks)
		return -ENOMEM;
	for (; bare_nr < nr; bare_nr++) {
		bare_chunks[bare_nr] = alloc_pages(gfp, BARE_ORDER);
		if (!bare_chunks[bare_nr]) {
			bare_free();
			return -ENOMEM;
		}
		/* As a pool in use: no page is the first time touched in a copy. */
		memset(page_address(bare_chunks[bare_nr]), 0, BARE_CHUNK);
		cond_resched();
	}
	return 0;
}

static int __init bare_init(void)
{
	int err;

	if (!pool_mb)
		return -EINVAL;
	err = bare_alloc(DIV_ROUND_UP((u64)pool_mb << 20, BARE_CHUNK));
	if (err)
		return err;
	err = misc_register(&bare_misc);
	if (err)
		bare_free();
	return err;
}
module_init(bare_init);

static void __exit bare_exit(void)
{
	misc_deregister(&bare_misc);
	bare_free();
}
module_exit(bare_exit);

MODULE_DESCRIPTION("The bare copy that kvstash is measured beside");
MODULE_LICENSE("GPL");
