/* SPDX-License-Identifier: GPL-2.0 */
/* A client: one open file of the device. */
#ifndef KVS_CLIENT_H
#define KVS_CLIENT_H

#include <linux/bitmap.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/xarray.h>

struct kvs_ns;

/* How many ended handles a client can still tell the fate of. */
#define KVS_FATES	4096

#define KVS_MAY_READ	1
#define KVS_MAY_WRITE	2

/**
 * struct kvs_client - a client
 * @ref:     of the file, and of each of its writes
 * @id:      high half: the epoch, low half: counts opens
 * @bind:    guards the choice of @ns
 * @ns:      NULL until bound; then fixed
 * @rights:  KVS_MAY_*, of the file and the namespace; set before @ns
 * @file_rights: KVS_MAY_* by how the file was opened
 * @handles: writes by kvstash_handle.seq
 * @writes:  all its parts in flight, also those without a handle (a PUT under
 *           way); under the lock of @handles
 * @leases:  leased objects by kvstash_handle.seq
 * @lease_seq: counts them as they are taken; under the lock of @leases
 * @nr_leases: how many there are; under the same lock
 * @closing: its file is closed: who takes a write off @writes wakes release()
 * @seq:     last seq given out; under the lock of @handles
 * @committed: by seq % KVS_FATES: it ended so; under the same lock
 * @removed: by seq % KVS_FATES: its object was removed; neither: aborted
 * @list:    in the list of clients, under kvs_clients_mutex
 * @pid:     who opened it
 * @comm:    who opened it
 */
struct kvs_client {
	struct kref ref;
	u64 id;
	struct mutex bind;	/* see above */
	struct kvs_ns *ns;
	unsigned int rights;
	unsigned int file_rights;
	struct xarray handles;
	struct list_head writes;
	struct xarray leases;
	u64 lease_seq;
	u32 nr_leases;
	bool closing;
	u64 seq;
	DECLARE_BITMAP(committed, KVS_FATES);
	DECLARE_BITMAP(removed, KVS_FATES);
	struct list_head list;
	pid_t pid;
	char comm[TASK_COMM_LEN];
};

extern struct mutex kvs_clients_mutex;
extern struct list_head kvs_clients;
extern u64 kvs_epoch;

int kvs_device_init(void);
void kvs_device_exit(void);
void kvs_client_free(struct kref *ref);

static inline void kvs_client_put(struct kvs_client *client)
{
	kref_put(&client->ref, kvs_client_free);
}

#endif /* KVS_CLIENT_H */
