// SPDX-License-Identifier: GPL-2.0
/*
 * LAYOUT_ADD, LAYOUT_GET, LAYOUT_SET, LAYOUT_DEL: decode and check, then call
 * layout.c.
 *
 * Locking: none here.
 */
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "batch.h"
#include "client.h"
#include "layout.h"
#include "result.h"

#define FIELD(name)	offsetof(struct kvstash_layout, name)

/**
 * struct layout_call - a call under way
 * @arg:   user address of the argument
 * @hdr:   the argument
 * @usize: its size as the caller knows it
 * @ns:    namespace
 * @r:     why it fails
 * @field: offset of the refused member
 */
struct layout_call {
	void __user *arg;
	struct kvstash_layout hdr;
	u32 usize;
	struct kvs_ns *ns;
	struct kvstash_result r;
	u32 field;
};

static int refuse(struct layout_call *call, u32 field, int ret, u32 reason, u64 detail)
{
	call->field = field;
	return kvs_result(&call->r, ret, reason, detail);
}

/* What all of them take. */
static int call_check(struct layout_call *call, u32 flags)
{
	const struct kvstash_layout *hdr = &call->hdr;

	if (hdr->flags & ~flags)
		return refuse(call, FIELD(flags), -EINVAL, KVSTASH_R_FLAGS, hdr->flags & ~flags);
	if (hdr->reserved)
		return refuse(call, FIELD(reserved), -EINVAL, KVSTASH_R_RESERVED, 0);
	if (hdr->layers % 8)
		return refuse(call, FIELD(layers), -EINVAL, KVSTASH_R_ALIGN, 8);
	return 0;
}

/* Members that describe a layout are LAYOUT_ADD's. */
static int check_no_description(struct layout_call *call)
{
	const struct kvstash_layout *hdr = &call->hdr;

	if (hdr->alignment)
		return refuse(call, FIELD(alignment), -EINVAL, KVSTASH_R_RESERVED, 0);
	if (hdr->slot_bytes)
		return refuse(call, FIELD(slot_bytes), -EINVAL, KVSTASH_R_RESERVED, 0);
	return 0;
}

static int check_no_layers(struct layout_call *call)
{
	if (call->hdr.layers)
		return refuse(call, FIELD(layers), -EINVAL, KVSTASH_R_RESERVED, 0);
	if (call->hdr.nr_layers)
		return refuse(call, FIELD(nr_layers), -EINVAL, KVSTASH_R_RESERVED, 0);
	return 0;
}

/* How many slots: a number or a share. */
static int check_slots(struct layout_call *call, bool wanted)
{
	const struct kvstash_layout *hdr = &call->hdr;

	if (!wanted && hdr->slots)
		return refuse(call, FIELD(slots), -EINVAL, KVSTASH_R_RESERVED, 0);
	if (!wanted && hdr->pool_permille)
		return refuse(call, FIELD(pool_permille), -EINVAL, KVSTASH_R_RESERVED, 0);
	if (hdr->pool_permille > 1000)
		return refuse(call, FIELD(pool_permille), -EINVAL, KVSTASH_R_COUNT, 1000);
	if (hdr->pool_permille && hdr->slots)
		return refuse(call, FIELD(slots), -EINVAL, KVSTASH_R_RESERVED, 0);
	return 0;
}

static struct kvs_layout *find(struct layout_call *call)
{
	struct kvs_layout *layout;

	layout = kvs_layout_get(call->ns, call->hdr.fingerprint, call->hdr.scheme);
	if (!layout)
		refuse(call, FIELD(fingerprint), -ENOENT, KVSTASH_R_LAYOUT_UNKNOWN, 0);
	return layout;
}

/* A layout of what the caller describes. */
static struct kvs_layout *describe(struct layout_call *call)
{
	const struct kvstash_layout *hdr = &call->hdr;
	struct kvs_layout *layout;

	if (!hdr->nr_layers || hdr->nr_layers > KVSTASH_LAYERS_MAX) {
		refuse(call, FIELD(nr_layers), -EINVAL, KVSTASH_R_LAYERS, KVSTASH_LAYERS_MAX);
		return NULL;
	}
	layout = kvs_layout_alloc(call->ns, hdr->nr_layers);
	if (!layout) {
		refuse(call, 0, -ENOMEM, KVSTASH_R_NO_MEMORY, 0);
		return NULL;
	}
	layout->flags = hdr->flags;
	layout->alignment = hdr->alignment;
	layout->slot_bytes = hdr->slot_bytes;
	layout->scheme = hdr->scheme;
	memcpy(layout->fingerprint, hdr->fingerprint, sizeof(layout->fingerprint));
	if (copy_from_user(layout->layers, u64_to_user_ptr(hdr->layers),
			   hdr->nr_layers * sizeof(layout->layers[0])))
		refuse(call, FIELD(layers), -EFAULT, KVSTASH_R_LAYERS, 0);
	else if (!kvs_layout_check(layout, &call->r, &call->field))
		return layout;
	kvs_layout_put(layout);
	return NULL;
}

/* What there is of @layout goes back to the caller, who has a reference. */
static int answer(struct layout_call *call, struct kvs_layout *layout)
{
	struct kvstash_layout out;
	u32 size = min_t(u32, call->usize, sizeof(out));

	kvs_layout_describe(layout, &out);
	out.size = call->hdr.size;
	out.layers = call->hdr.layers;
	return copy_to_user(call->arg, &out, size) ? -EFAULT : 0;
}

static int layout_add(struct layout_call *call)
{
	struct kvs_layout *new, *layout;
	int ret;

	if (check_slots(call, true))
		return call->r.res;
	new = describe(call);
	if (!new)
		return call->r.res;
	ret = kvs_layout_add(new, call->hdr.slots, call->hdr.pool_permille, &layout, &call->r,
			     &call->field);
	kvs_layout_put(new);
	if (ret)
		return ret;
	/* It is registered, whether or not the caller hears of it. */
	ret = answer(call, layout);
	kvs_layout_put(layout);
	return ret;
}

static int layout_get(struct layout_call *call)
{
	bool next = call->hdr.flags & KVSTASH_LAYOUT_NEXT;
	struct kvs_layout *layout;
	u32 nr = call->hdr.nr_layers;
	int ret;

	if (check_no_description(call) || check_slots(call, false))
		return call->r.res;
	layout = next ? kvs_layout_next(call->ns, call->hdr.id) : find(call);
	if (!layout)
		return call->r.res ?: refuse(call, FIELD(id), -ENOENT,
					     KVSTASH_R_LAYOUT_UNKNOWN, 0);
	nr = call->hdr.layers ? min(nr, layout->nr_layers) : 0;
	if (copy_to_user(u64_to_user_ptr(call->hdr.layers), layout->layers,
			 nr * sizeof(layout->layers[0])))
		ret = refuse(call, FIELD(layers), -EFAULT, KVSTASH_R_LAYERS, 0);
	else
		ret = answer(call, layout);
	kvs_layout_put(layout);
	return ret;
}

static int layout_set(struct layout_call *call)
{
	struct kvs_layout *layout;
	int ret;

	if (check_no_description(call) || check_no_layers(call) || check_slots(call, true))
		return call->r.res;
	layout = find(call);
	if (!layout)
		return call->r.res;
	call->field = call->hdr.pool_permille ? FIELD(pool_permille) : FIELD(slots);
	ret = kvs_layout_set(layout, call->hdr.slots, call->hdr.pool_permille, &call->r);
	if (!ret)
		ret = answer(call, layout);
	kvs_layout_put(layout);
	return ret;
}

static int layout_del(struct layout_call *call)
{
	struct kvs_layout *layout;
	int ret;

	if (check_no_description(call) || check_no_layers(call) || check_slots(call, false))
		return call->r.res;
	layout = find(call);
	if (!layout)
		return call->r.res;
	ret = kvs_layout_del(layout, &call->r);
	kvs_layout_put(layout);
	return ret;
}

/* Tell why the call fails. */
static int call_end(struct layout_call *call, int ret)
{
	struct kvstash_layout __user *out = call->arg;

	if (!ret || !call->r.reason)
		return ret;
	if (copy_to_user(&out->detail, &call->r.detail, sizeof(call->r.detail)))
		return ret;
	return kvs_refuse(call->arg, FIELD(reason), call->r.reason, FIELD(field), call->field,
			  ret);
}

static long layout_command(struct kvs_client *client, void __user *arg, unsigned int rights,
			   u32 flags, int (*run)(struct layout_call *call))
{
	struct layout_call call = { .arg = arg };
	u32 reason;
	int ret;

	ret = kvs_copy_struct(&call.hdr, sizeof(call.hdr), sizeof(call.hdr), arg, &call.usize);
	if (ret == -E2BIG)
		return kvs_refuse(arg, FIELD(reason), KVSTASH_R_SIZE, 0, 0, ret);
	if (ret)
		return ret;
	ret = call_check(&call, flags);
	if (!ret) {
		ret = kvs_client_ready(client, rights, &reason);
		if (ret)
			refuse(&call, 0, ret, reason, 0);
	}
	if (!ret)
		ret = kvs_probe(arg, FIELD(reason));
	if (!ret) {
		call.ns = client->ns;
		ret = run(&call);
	}
	return call_end(&call, ret);
}

long kvs_layout_cmd_add(struct kvs_client *client, void __user *arg)
{
	return layout_command(client, arg, KVS_MAY_WRITE, KVSTASH_LAYOUT_TIED, layout_add);
}

long kvs_layout_cmd_get(struct kvs_client *client, void __user *arg)
{
	return layout_command(client, arg, KVS_MAY_READ, KVSTASH_LAYOUT_NEXT, layout_get);
}

long kvs_layout_cmd_set(struct kvs_client *client, void __user *arg)
{
	return layout_command(client, arg, KVS_MAY_WRITE, 0, layout_set);
}

long kvs_layout_cmd_del(struct kvs_client *client, void __user *arg)
{
	return layout_command(client, arg, KVS_MAY_WRITE, 0, layout_del);
}
