// SPDX-License-Identifier: GPL-2.0
/*
 * The device: open, release, dispatch.
 *
 * Locking: client->bind serialises the choice of a namespace; client->ns is
 * stored with release after the rights and never changes then. kvs_clients_mutex
 * guards the list of clients. release() runs when no command of the client runs:
 * each holds the file.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "batch.h"
#include "client.h"
#include "debugfs.h"
#include "lease.h"
#include "ns.h"
#include "write.h"

/* Guards the list of clients, and client_count. */
DEFINE_MUTEX(kvs_clients_mutex);
LIST_HEAD(kvs_clients);
u64 kvs_epoch;

static u32 client_count;	/* under kvs_clients_mutex */

void kvs_client_free(struct kref *ref)
{
	kfree(container_of(ref, struct kvs_client, ref));
}

static int device_open(struct inode *inode, struct file *file)
{
	struct kvs_client *client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);

	if (!client)
		return -ENOMEM;
	kref_init(&client->ref);
	mutex_init(&client->bind);
	/* What a client makes the kernel remember is its own memory. */
	xa_init_flags(&client->handles, XA_FLAGS_ACCOUNT);
	xa_init_flags(&client->leases, XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&client->writes);
	client->file_rights = (file->f_mode & FMODE_READ ? KVS_MAY_READ : 0) |
			      (file->f_mode & FMODE_WRITE ? KVS_MAY_WRITE : 0);
	client->pid = task_tgid_nr(current);
	get_task_comm(client->comm, current);

	mutex_lock(&kvs_clients_mutex);
	client->id = kvs_epoch | ++client_count;
	list_add_tail(&client->list, &kvs_clients);
	mutex_unlock(&kvs_clients_mutex);
	file->private_data = client;
	return 0;
}

static int device_release(struct inode *inode, struct file *file)
{
	struct kvs_client *client = file->private_data;

	kvs_client_end_writes(client);
	kvs_client_end_leases(client);
	mutex_lock(&kvs_clients_mutex);
	list_del(&client->list);
	mutex_unlock(&kvs_clients_mutex);
	if (client->ns)
		kvs_ns_unbind(client->ns);
	kvs_client_put(client);
	return 0;
}

/* Bind @client to @name, or see that it is. */
static int client_bind(struct kvs_client *client, const char *name, u32 *reason)
{
	struct kvs_ns *ns;
	int ret = 0;

	if (mutex_lock_killable(&client->bind)) {
		*reason = KVSTASH_R_INTERRUPTED;
		return -EINTR;
	}
	if (client->ns) {
		if (strcmp(client->ns->name, name)) {
			*reason = KVSTASH_R_BOUND;
			ret = -EISCONN;
		}
		goto out;
	}
	ns = kvs_ns_bind(name);
	if (IS_ERR(ns)) {
		ret = PTR_ERR(ns);
		*reason = ret == -EACCES ? KVSTASH_R_PERMISSION :
			  ret == -ENODEV ? KVSTASH_R_NO_NAMESPACE : KVSTASH_R_INTERRUPTED;
		goto out;
	}
	client->rights = client->file_rights & kvs_ns_rights(ns);
	/* Pairs with the acquire in kvs_client_ready(): the rights come first. */
	smp_store_release(&client->ns, ns);
out:
	mutex_unlock(&client->bind);
	return ret;
}

/**
 * kvs_client_ready() - bind a client that is not yet, and check its rights
 * @client: who
 * @rights: KVS_MAY_* that the command needs
 * @reason: out: why not
 *
 * Return: 0 or a negative errno.
 */
int kvs_client_ready(struct kvs_client *client, unsigned int rights, u32 *reason)
{
	int ret;

	/* Pairs with the release in client_bind(). */
	if (!smp_load_acquire(&client->ns)) {
		ret = client_bind(client, KVS_NS_DEFAULT, reason);
		/* Another thread has just bound it elsewhere: that is fine, too. */
		if (ret && ret != -EISCONN)
			return ret;
	}
	if ((client->rights & rights) == rights)
		return 0;
	*reason = KVSTASH_R_PERMISSION;
	return -EACCES;
}

static long cmd_bind(struct kvs_client *client, void __user *arg)
{
	struct kvstash_bind bind;
	u32 usize, reason = 0;
	int ret;

	ret = kvs_copy_struct(&bind, sizeof(bind), sizeof(bind), arg, &usize);
	if (ret == -EINVAL || ret == -EFAULT)
		return ret;
	if (ret)
		reason = KVSTASH_R_SIZE;
	else if (bind.flags)
		reason = KVSTASH_R_FLAGS;
	else if (bind.reserved)
		reason = KVSTASH_R_RESERVED;
	else if (strnlen(bind.ns, sizeof(bind.ns)) == sizeof(bind.ns) ||
		 !kvs_name_valid(bind.ns))
		reason = KVSTASH_R_NAME;
	if (reason)
		return kvs_refuse(arg, offsetof(struct kvstash_bind, reason), reason, 0, 0,
				  ret ?: -EINVAL);
	ret = client_bind(client, bind.ns, &reason);
	return kvs_refuse(arg, offsetof(struct kvstash_bind, reason), reason, 0, 0, ret);
}

static long cmd_query(struct kvs_client *client, void __user *arg)
{
	struct kvstash_query query;
	struct kvs_ns *ns;
	u32 usize;
	int ret;

	ret = kvs_copy_struct(&query, sizeof(query), sizeof(query), arg, &usize);
	if (ret)
		return ret;
	memset(&query, 0, sizeof(query));
	query.size = sizeof(query);
	query.abi = KVSTASH_ABI_VERSION;
	query.epoch = kvs_epoch;
	query.client = client->id;
	query.key_max = KVSTASH_KEY_MAX;
	query.tag_max = KVSTASH_TAG_MAX;
	query.batch_max = KVSTASH_BATCH_MAX;
	query.segs_max = KVSTASH_SEGS_MAX;
	query.parts_max = KVSTASH_PARTS_MAX;
	query.part_bytes_max = KVSTASH_PART_BYTES_MAX;
	/* Pairs with the release in client_bind(). */
	ns = smp_load_acquire(&client->ns);
	if (ns) {
		query.bound = 1;
		strscpy(query.ns, ns->name, sizeof(query.ns));
	}
	return copy_to_user(arg, &query, sizeof(query)) ? -EFAULT : 0;
}

static long device_command(struct kvs_client *client, unsigned int nr, void __user *arg)
{
	switch (nr) {
	case _IOC_NR(KVSTASH_IOC_QUERY):
		return cmd_query(client, arg);
	case _IOC_NR(KVSTASH_IOC_BIND):
		return cmd_bind(client, arg);
	case _IOC_NR(KVSTASH_IOC_PUT):
		return kvs_batch(client, arg, &kvs_put_op);
	case _IOC_NR(KVSTASH_IOC_RESERVE):
		return kvs_batch(client, arg, &kvs_reserve_op);
	case _IOC_NR(KVSTASH_IOC_WRITE):
		return kvs_batch(client, arg, &kvs_write_op);
	case _IOC_NR(KVSTASH_IOC_COMMIT):
		return kvs_batch(client, arg, &kvs_commit_op);
	case _IOC_NR(KVSTASH_IOC_ABORT):
		return kvs_batch(client, arg, &kvs_abort_op);
	case _IOC_NR(KVSTASH_IOC_GET):
		return kvs_batch(client, arg, &kvs_get_op);
	case _IOC_NR(KVSTASH_IOC_EXISTS):
		return kvs_exists(client, arg);
	case _IOC_NR(KVSTASH_IOC_REMOVE):
		return kvs_remove(client, arg);
	case _IOC_NR(KVSTASH_IOC_LOOKUP):
		return kvs_lookup(client, arg);
	case _IOC_NR(KVSTASH_IOC_RELEASE):
		return kvs_batch(client, arg, &kvs_release_op);
	case _IOC_NR(KVSTASH_IOC_PIN):
		return kvs_pin_keys(client, arg);
	case _IOC_NR(KVSTASH_IOC_LAYOUT_ADD):
		return kvs_layout_cmd_add(client, arg);
	case _IOC_NR(KVSTASH_IOC_LAYOUT_GET):
		return kvs_layout_cmd_get(client, arg);
	case _IOC_NR(KVSTASH_IOC_LAYOUT_SET):
		return kvs_layout_cmd_set(client, arg);
	case _IOC_NR(KVSTASH_IOC_LAYOUT_DEL):
		return kvs_layout_cmd_del(client, arg);
	}
	return -ENOTTY;
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	unsigned int nr = _IOC_NR(cmd);
	u64 start;
	long ret;

	/* The size in @cmd is not looked at: each argument carries its own. */
	if (_IOC_TYPE(cmd) != KVSTASH_IOC || _IOC_DIR(cmd) != (_IOC_READ | _IOC_WRITE))
		return -ENOTTY;
	start = ktime_get_ns();
	ret = device_command(file->private_data, nr, (void __user *)arg);
	kvs_latency_add(nr, ktime_get_ns() - start);
	return ret;
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kvstash",
	.mode = 0660,
	.fops = &device_fops,
};

int kvs_device_init(void)
{
	return misc_register(&device);
}

void kvs_device_exit(void)
{
	misc_deregister(&device);
}
