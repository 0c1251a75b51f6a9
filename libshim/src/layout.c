// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * libkvstash: layouts of states
 */
#include <assert.h>

#include "lib.h"

static_assert(sizeof(struct kvstash_layout) == 232, "KVSTASH_0.3");
static_assert(sizeof(struct kvstash_layer) == 16, "KVSTASH_0.3");

/*
 * Only what a command asks for is taken over from the caller's structure: the rest
 * would be refused, were it left of another command, or be taken for an answer if
 * the call fails.
 */
static struct kvstash_layout named(const struct kvstash_layout *l)
{
	struct kvstash_layout in;

	memset(&in, 0, sizeof(in));
	in.size = sizeof(in);
	memcpy(in.fingerprint, l->fingerprint, sizeof(in.fingerprint));
	in.scheme = l->scheme;
	return in;
}

static int layout_call(struct kvstash *c, unsigned long cmd,
		       struct kvstash_layout *l,
		       const struct kvstash_layout *in)
{
	int ret;

	*l = *in;
	ret = kvstash_call(c, cmd, l);
	if (ret)
		kvstash_refused(c, l->reason, l->field);
	return ret;
}

static void room_for(struct kvstash_layout *in, struct kvstash_layer *layers,
		     __u32 room)
{
	if (!layers || !room)
		return;
	in->layers = kvstash_addr(layers);
	in->nr_layers = room;
}

int kvstash_layout_add(struct kvstash *c, struct kvstash_layout *l)
{
	struct kvstash_layout in = named(l);

	in.flags = l->flags;
	in.alignment = l->alignment;
	in.slot_bytes = l->slot_bytes;
	in.layers = l->layers;
	in.nr_layers = l->nr_layers;
	in.slots = l->slots;
	in.pool_permille = l->pool_permille;
	return layout_call(c, KVSTASH_IOC_LAYOUT_ADD, l, &in);
}

int kvstash_layout_get(struct kvstash *c, struct kvstash_layout *l,
		       struct kvstash_layer *layers, __u32 room)
{
	struct kvstash_layout in = named(l);

	room_for(&in, layers, room);
	return layout_call(c, KVSTASH_IOC_LAYOUT_GET, l, &in);
}

int kvstash_layout_next(struct kvstash *c, struct kvstash_layout *l,
			struct kvstash_layer *layers, __u32 room)
{
	struct kvstash_layout in = {
		.size = sizeof(in),
		.flags = KVSTASH_LAYOUT_NEXT,
		.id = l->id,
	};

	room_for(&in, layers, room);
	return layout_call(c, KVSTASH_IOC_LAYOUT_GET, l, &in);
}

int kvstash_layout_set(struct kvstash *c, struct kvstash_layout *l)
{
	struct kvstash_layout in = named(l);

	in.slots = l->slots;
	in.pool_permille = l->pool_permille;
	return layout_call(c, KVSTASH_IOC_LAYOUT_SET, l, &in);
}

int kvstash_layout_del(struct kvstash *c, struct kvstash_layout *l)
{
	struct kvstash_layout in = named(l);

	return layout_call(c, KVSTASH_IOC_LAYOUT_DEL, l, &in);
}
