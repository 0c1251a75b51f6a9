// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench: layouts and keys of states; a call that fails ends the program */
#include <stdlib.h>
#include <string.h>

#include "kvstash-bench.h"
#include "kvstash-bench-state.h"

#define SCHEME		1
#define PRINT_DOMAIN	0x6c61796f7574ULL

#if KVSTASH_DIGEST_LEN != KEY_BYTES
#error a fingerprint is made as a key is
#endif

void state_layout_init(struct state_layout *l, __u32 layers, __u64 layer_bytes, bool tied)
{
	*l = (struct state_layout){
		.layers = layers, .layer_bytes = layer_bytes,
		.slot_bytes = layers * layer_bytes, .tied = tied,
	};
	pattern_key(l->fingerprint, PRINT_DOMAIN,
		    mix64(layer_bytes) ^ ((__u64)layers << 1 | tied));
}

static void must(const char *call, int err, const struct kvstash_layout *k)
{
	struct kvstash_result res = { .res = err, .reason = k->reason, .detail = k->detail };
	char text[256];

	if (!err)
		return;
	kvstash_result_format(&res, text, sizeof(text));
	die("%s: %s", call, text);
}

/* One that is registered already keeps the slots it has. */
void state_layout_add(struct kvstash *c, const struct state_layout *l, __u64 slots)
{
	struct kvstash_layer *layers = xalloc(l->layers, sizeof(*layers));
	struct kvstash_layout k;

	for (__u32 i = 0; i < l->layers; i++)
		layers[i] = (struct kvstash_layer){ i * l->layer_bytes, l->layer_bytes };
	kvstash_prep_layout(&k, l->fingerprint, SCHEME);
	kvstash_prep_layout_desc(&k, STATE_ALIGN, l->slot_bytes, layers, l->layers);
	kvstash_prep_layout_slots(&k, slots);
	if (l->tied)
		kvstash_prep_layout_tied(&k);
	must("register a layout", kvstash_layout_add(c, &k), &k);
	free(layers);
}

void state_layout_set(struct kvstash *c, const struct state_layout *l, __u64 slots)
{
	struct kvstash_layout k;

	kvstash_prep_layout(&k, l->fingerprint, SCHEME);
	kvstash_prep_layout_slots(&k, slots);
	must("slots of a layout", kvstash_layout_set(c, &k), &k);
}

void state_layout_get(struct kvstash *c, const struct state_layout *l,
		      struct kvstash_layout *out)
{
	kvstash_prep_layout(out, l->fingerprint, SCHEME);
	must("figures of a layout", kvstash_layout_get(c, out, NULL, 0), out);
}

/* With all its states */
void state_layout_drop(struct kvstash *c, const struct state_layout *l)
{
	struct kvstash_layout k;

	state_layout_set(c, l, 0);
	kvstash_prep_layout(&k, l->fingerprint, SCHEME);
	must("drop a layout", kvstash_layout_del(c, &k), &k);
}

/* @key: gets STATE_KEY_BYTES, @prefix: KEY_BYTES */
void state_key(const struct state_layout *l, __u8 *key, __u64 tokens, const __u8 *prefix)
{
	int n = kvstash_state_key(key, STATE_KEY_BYTES, l->fingerprint, SCHEME, tokens,
				  prefix, KEY_BYTES);

	if (n != (int)STATE_KEY_BYTES)
		die("key of a state at %llu tokens: %s", tokens, strerror(-n));
}
