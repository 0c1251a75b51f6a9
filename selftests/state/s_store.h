/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvstash: what the tests of states share. The reference layout is that of every
 * figure: 20 layers of 134 rows of 528 bytes, aligned to 128 tokens. Functions begin
 * with sst_ and follow the rules of kvstash_test.h.
 */
#ifndef S_STORE_H
#define S_STORE_H

#include "../foundation/r_store.h"

#include <endian.h>

#define SST_LAYERS	20U
#define SST_ROWS	134U
#define SST_ROW_BYTES	528U
#define SST_LAYER_BYTES	((__u64)SST_ROWS * SST_ROW_BYTES)
#define SST_BYTES	(SST_LAYERS * SST_LAYER_BYTES)
#define SST_ALIGN	128U
#define SST_SLOT	kvt_pages(SST_BYTES)	/* pool bytes of a slot */

/**
 * struct sst_layout - a layout: its name follows from @nr, its layers are even
 * @nr:     fills the fingerprint
 * @scheme: version of the scheme
 * @bytes:  of a slot
 * @align:  tokens
 * @layers: how many
 * @flags:  KVSTASH_LAYOUT_TIED
 */
struct sst_layout {
	__u8 nr;
	__u32 scheme;
	__u64 bytes;
	__u32 align;
	__u32 layers;
	__u32 flags;
};

static const struct sst_layout sst_reference = {
	.nr = 1, .scheme = 1, .bytes = SST_BYTES, .align = SST_ALIGN, .layers = SST_LAYERS,
};

/* A small one, where the size does not matter. */
static const struct sst_layout sst_small = {
	.nr = 2, .scheme = 1, .bytes = 5000, .align = 16, .layers = 4,
};

/** struct sst_key - the key of a state: the prefix hash is a kvr_key */
struct sst_key {
	struct kvstash_state_key head;
	struct kvr_key prefix;
};

static inline struct sst_key sst_key(const struct sst_layout *l, __u64 tokens, __u64 id)
{
	struct sst_key k = { .prefix = { 3, id } };

	memset(k.head.fingerprint, l->nr, sizeof(k.head.fingerprint));
	k.head.scheme = htole32(l->scheme);
	k.head.tokens = htole64(tokens);
	return k;
}

static inline void sst_layers(const struct sst_layout *l, struct kvstash_layer *layers)
{
	__u64 each = l->bytes / l->layers;

	for (__u32 i = 0; i < l->layers; i++)
		layers[i] = (struct kvstash_layer){ .offset = i * each, .len = each };
}

/* Names @l; what is to be said of it beside is the caller's. */
static inline void sst_prep_layout(struct kvstash_layout *k, const struct sst_layout *l)
{
	memset(k, 0, sizeof(*k));
	k->size = sizeof(*k);
	memset(k->fingerprint, l->nr, sizeof(k->fingerprint));
	k->scheme = l->scheme;
}

/* What came of a call with @k: 0 or why not. */
static inline struct kvstash_result sst_layout_call(int fd, unsigned long cmd,
						    struct kvstash_layout *k)
{
	struct kvstash_result r = { .res = kvt_ioctl(fd, cmd, k) };

	if (r.res) {
		r.reason = k->reason;
		r.detail = k->detail;
	}
	return r;
}

static inline struct kvstash_result sst_add(int fd, const struct sst_layout *l, __u64 slots)
{
	struct kvstash_layer layers[64];
	struct kvstash_layout k;

	sst_layers(l, layers);
	sst_prep_layout(&k, l);
	k.flags = l->flags;
	k.alignment = l->align;
	k.slot_bytes = l->bytes;
	k.layers = kvstash_addr(layers);
	k.nr_layers = l->layers;
	k.slots = slots;
	return sst_layout_call(fd, KVSTASH_IOC_LAYOUT_ADD, &k);
}

static inline struct kvstash_result sst_describe(int fd, const struct sst_layout *l,
						 struct kvstash_layout *out)
{
	sst_prep_layout(out, l);
	return sst_layout_call(fd, KVSTASH_IOC_LAYOUT_GET, out);
}

static inline struct kvstash_result sst_resize(int fd, const struct sst_layout *l, __u64 slots)
{
	struct kvstash_layout k;

	sst_prep_layout(&k, l);
	k.slots = slots;
	return sst_layout_call(fd, KVSTASH_IOC_LAYOUT_SET, &k);
}

static inline struct kvstash_result sst_drop(int fd, const struct sst_layout *l)
{
	struct kvstash_layout k;

	sst_prep_layout(&k, l);
	return sst_layout_call(fd, KVSTASH_IOC_LAYOUT_DEL, &k);
}

static inline __u64 sst_seed(const struct sst_key *k)
{
	return kvt_word(kvt_word(k->head.fingerprint[0], k->head.tokens),
			kvt_word(k->head.scheme, k->prefix.id));
}

/* A put of a state with its pattern; @buf has room for it. */
static inline void sst_prep(struct kvstash_put *e, const struct sst_layout *l,
			    const struct sst_key *k, void *buf)
{
	kvt_fill(buf, l->bytes, sst_seed(k));
	kvstash_prep_put(e, k, sizeof(*k), buf, l->bytes);
	e->kind = KVSTASH_KIND_STATE;
}

static inline struct kvstash_result sst_put(int fd, const struct sst_layout *l,
					    const struct sst_key *k, void *buf)
{
	struct kvstash_put e;

	sst_prep(&e, l, k, buf);
	return kvt_put_one(fd, &e);
}

static inline void sst_prep_get(struct kvstash_get *e, const struct sst_key *k, void *buf,
				__u64 len)
{
	kvstash_prep_get(e, k, sizeof(*k), buf, len);
	e->kind = KVSTASH_KIND_STATE;
}

/* Gets a state; -EILSEQ if a byte is wrong. */
static inline struct kvstash_result sst_get(int fd, const struct sst_layout *l,
					    const struct sst_key *k, void *buf)
{
	struct kvstash_get e;
	struct kvstash_result r;

	sst_prep_get(&e, k, buf, l->bytes);
	r = kvt_get_one(fd, &e);
	if (!r.res && kvt_verify(buf, l->bytes, sst_seed(k)) >= 0)
		r.res = -EILSEQ;
	return r;
}

static inline struct kvstash_result sst_exists(int fd, const struct sst_key *k,
					       struct kvstash_exists *out)
{
	struct kvstash_keys keys;
	int ret;

	kvstash_prep_keys(&keys, k, sizeof(*k), 1);
	keys.kind = KVSTASH_KIND_STATE;
	memset(out, 0, sizeof(*out));
	ret = kvt_exists(fd, &keys, out);
	return ret < 0 ? (struct kvstash_result){ .res = ret, .reason = keys.reason } : out->r;
}

static inline void sst_prep_candidate(struct kvstash_candidate *c, const struct sst_key *k)
{
	memset(c, 0, sizeof(*c));
	c->key = kvstash_addr(k);
	c->key_len = sizeof(*k);
}

#endif /* S_STORE_H */
