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

/* Its states go with the page or group that they name. */
static const struct sst_layout sst_tied = {
	.nr = 3, .scheme = 1, .bytes = 5000, .align = 16, .layers = 4,
	.flags = KVSTASH_LAYOUT_TIED,
};

#define SST_SMALL_SLOT	8192ULL		/* pool bytes of a slot of these two */

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

/* The @id-th of the shortest states. */
static inline struct sst_key sst_nth(const struct sst_layout *l, __u64 id)
{
	return sst_key(l, l->align, id);
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

/* All of the description; @layers gets those of @l. */
static inline void sst_prep_add(struct kvstash_layout *k, const struct sst_layout *l,
				struct kvstash_layer *layers, __u64 slots)
{
	sst_layers(l, layers);
	sst_prep_layout(k, l);
	k->flags = l->flags;
	k->alignment = l->align;
	k->slot_bytes = l->bytes;
	k->layers = kvstash_addr(layers);
	k->nr_layers = l->layers;
	k->slots = slots;
}

static inline struct kvstash_result sst_add(int fd, const struct sst_layout *l, __u64 slots)
{
	struct kvstash_layer layers[64];
	struct kvstash_layout k;

	sst_prep_add(&k, l, layers, slots);
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

/* The same below a page. */
static inline struct kvstash_result sst_put_below(int fd, const struct sst_layout *l,
						  const struct sst_key *k,
						  const struct kvr_key *page, void *buf)
{
	struct kvstash_put e;

	sst_prep(&e, l, k, buf);
	kvstash_prep_put_parent(&e, page, sizeof(*page));
	return kvt_put_one(fd, &e);
}

/* States @first to @first + @n - 1, to the first that fails. */
static inline struct kvstash_result sst_put_some(int fd, const struct sst_layout *l,
						 __u64 first, unsigned int n, void *buf)
{
	struct kvstash_result r = { 0 };

	for (__u64 id = first; id < first + n && !r.res; id++) {
		struct sst_key k = sst_nth(l, id);

		r = sst_put(fd, l, &k, buf);
	}
	return r;
}

static inline struct kvstash_result sst_reserve(int fd, const struct sst_layout *l,
						const struct sst_key *k,
						struct kvstash_handle *h)
{
	struct kvstash_result r;
	struct kvstash_put e;

	kvstash_prep_reserve(&e, k, sizeof(*k), l->bytes);
	e.kind = KVSTASH_KIND_STATE;
	r = kvt_reserve_one(fd, &e);
	*h = e.handle;
	return r;
}

/* Writes bytes [@from, @to); @buf has room for the state. */
static inline struct kvstash_result sst_write(int fd, const struct sst_layout *l,
					      const struct sst_key *k,
					      const struct kvstash_handle *h, void *buf,
					      __u64 from, __u64 to)
{
	kvt_fill(buf, l->bytes, sst_seed(k));
	return kvt_write1(fd, h, from, (char *)buf + from, to - from);
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

	memset(buf, KVT_CANARY_BYTE, l->bytes);
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

/* EXISTS, REMOVE or PIN of one, as @keys says beside. */
static inline struct kvstash_result sst_keys_one(int fd, unsigned long cmd,
						 struct kvstash_keys *keys,
						 const struct sst_key *k)
{
	struct kvstash_exists x = { 0 };
	int err;

	keys->size = sizeof(*keys);
	keys->keys = kvstash_addr(k);
	keys->key_len = sizeof(*k);
	keys->count = 1;
	keys->kind = KVSTASH_KIND_STATE;
	keys->results = kvstash_addr(&x);
	keys->stride = sizeof(x);
	err = kvt_ioctl(fd, cmd, keys);
	return err ? (struct kvstash_result){ .res = err, .reason = keys->reason } : x.r;
}

static inline struct kvstash_result sst_remove(int fd, const struct sst_key *k)
{
	struct kvstash_keys keys = { 0 };

	return sst_keys_one(fd, KVSTASH_IOC_REMOVE, &keys, k);
}

static inline struct kvstash_result sst_pin(int fd, const struct sst_key *k, __u8 pin)
{
	struct kvstash_keys keys = { .pin = pin };

	return sst_keys_one(fd, KVSTASH_IOC_PIN, &keys, k);
}

static inline struct kvstash_result sst_lease(int fd, const struct sst_key *k,
					      struct kvstash_handle *h)
{
	struct kvstash_keys keys = {
		.flags = KVSTASH_KEYS_LEASE, .leases = kvstash_addr(h),
	};

	return sst_keys_one(fd, KVSTASH_IOC_EXISTS, &keys, k);
}

static inline bool sst_there(int fd, const struct sst_key *k)
{
	struct kvstash_keys keys = { 0 };

	return !sst_keys_one(fd, KVSTASH_IOC_EXISTS, &keys, k).res;
}

/* Which of states @first on are there, a bit each. */
static inline __u64 sst_those(int fd, const struct sst_layout *l, __u64 first, unsigned int n)
{
	__u64 bits = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct sst_key k = sst_nth(l, first + i);

		bits |= (__u64)sst_there(fd, &k) << i;
	}
	return bits;
}

/* The state that a lease is on, each byte verified. */
static inline struct kvstash_result sst_get_leased(int fd, const struct sst_layout *l,
						   const struct sst_key *k,
						   const struct kvstash_handle *h, void *buf)
{
	struct kvstash_result r;

	memset(buf, KVT_CANARY_BYTE, l->bytes);
	r = kvt_get_by_lease1(fd, h, buf, l->bytes, NULL);
	if (!r.res && kvt_verify(buf, l->bytes, sst_seed(k)) >= 0)
		r.res = -EILSEQ;
	return r;
}

/* A layout's figures; a fingerprint that is all zero if there is no such. */
static inline struct kvstash_layout sst_figures(int fd, const struct sst_layout *l)
{
	struct kvstash_layout d;

	if (sst_describe(fd, l, &d).res)
		memset(&d, 0, sizeof(d));
	return d;
}

static inline void sst_prep_candidate(struct kvstash_candidate *c, const struct sst_key *k)
{
	memset(c, 0, sizeof(*c));
	c->key = kvstash_addr(k);
	c->key_len = sizeof(*k);
}

/* The candidates of a LOOKUP; without keys it is of states alone. */
static inline void sst_prep_candidates(struct kvstash_keys *keys, struct kvstash_candidate *c,
				       unsigned int n)
{
	keys->candidates = kvstash_addr(c);
	keys->nr_candidates = n;
	keys->candidate_stride = sizeof(*c);
}

/* A page of @len bytes without a parent. */
static inline struct kvr_obj sst_page(__u64 id, __u32 len)
{
	return (struct kvr_obj){ .key = { 7, id }, .len = len, .parts = 1 };
}

#endif /* S_STORE_H */
