// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * LAYOUT_* and candidates with what no sane caller gives: each member refused by
 * name and reason, memory that is not there, numbers that wrap. Nothing changes.
 */
#include "s_store.h"

#define FIELD(m)	offsetof(struct kvstash_layout, m)
#define KEYS(m)		offsetof(struct kvstash_keys, m)

enum { ADD = 1, GET = 2, SET = 4, DEL = 8, ALL = 15 };

static const struct {
	unsigned int bit;
	unsigned long cmd;
} calls[] = {
	{ ADD, KVSTASH_IOC_LAYOUT_ADD },
	{ GET, KVSTASH_IOC_LAYOUT_GET },
	{ SET, KVSTASH_IOC_LAYOUT_SET },
	{ DEL, KVSTASH_IOC_LAYOUT_DEL },
};

static const struct sst_layout other = {
	.nr = 50, .scheme = 1, .bytes = 5000, .align = 16, .layers = 4,
};

static struct kvstash_layer layers[KVSTASH_LAYERS_MAX + 1];
static char buf[KVR_BLOCK];

/* A layout that is there, with a state; ADD is of another. */
static void begin(struct __test_metadata *_metadata, struct kvr_store *s)
{
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	ASSERT_EQ(0, sst_add(s->fd, &sst_small, 4).res);
	ASSERT_EQ(0, sst_put_some(s->fd, &sst_small, 0, 2, buf).res);
}

/* A good request of each kind. */
static struct kvstash_layout request(unsigned int bit)
{
	struct kvstash_layout k;

	sst_prep_layout(&k, &sst_small);
	if (bit == ADD)
		sst_prep_add(&k, &other, layers, 2);
	if (bit == SET)
		k.slots = 4;
	if (bit == GET) {
		k.layers = kvstash_addr(layers);
		k.nr_layers = 64;
	}
	return k;
}

static void expect_same(struct __test_metadata *_metadata, struct kvr_store *s)
{
	struct kvstash_layout d = sst_figures(s->fd, &sst_small);

	EXPECT_EQ(1, kvr_ns(s, "layouts"));
	EXPECT_EQ(4, d.slots);
	EXPECT_EQ(2, d.used);
	EXPECT_EQ(3, sst_those(s->fd, &sst_small, 0, 2));
	EXPECT_EQ(4 * SST_SMALL_SLOT, kvr_ns(s, "slot_bytes"));
	EXPECT_EQ(0, kvr_ns(s, "leases"));
}

struct spoil {
	unsigned int calls;
	size_t off;
	size_t width;
	__u64 v;
	int err;
	__u32 reason;
};

static const struct spoil spoils[] = {
	{ ALL, FIELD(reserved), 4, 1, EINVAL, KVSTASH_R_RESERVED },
	{ ALL, FIELD(reserved), 4, 1U << 31, EINVAL, KVSTASH_R_RESERVED },
	{ ALL, FIELD(layers), 8, 1, EINVAL, KVSTASH_R_ALIGN },
	{ ALL, FIELD(layers), 8, 4, EINVAL, KVSTASH_R_ALIGN },
	{ ALL, FIELD(layers), 8, ~0ULL, EINVAL, KVSTASH_R_ALIGN },
	{ ADD, FIELD(layers), 8, 0, EFAULT, KVSTASH_R_LAYERS },
	{ ADD | GET, FIELD(layers), 8, 4096, EFAULT, KVSTASH_R_LAYERS },
	{ ADD | GET, FIELD(layers), 8, 1ULL << 63, EFAULT, KVSTASH_R_LAYERS },
	{ ADD | GET, FIELD(layers), 8, ~7ULL, EFAULT, KVSTASH_R_LAYERS },
	{ SET | DEL, FIELD(layers), 8, 8, EINVAL, KVSTASH_R_RESERVED },
	{ SET | DEL, FIELD(nr_layers), 4, 1, EINVAL, KVSTASH_R_RESERVED },
	{ ADD, FIELD(nr_layers), 4, 0, EINVAL, KVSTASH_R_LAYERS },
	{ ADD, FIELD(nr_layers), 4, KVSTASH_LAYERS_MAX + 1, EINVAL, KVSTASH_R_LAYERS },
	{ ADD, FIELD(nr_layers), 4, 1U << 31, EINVAL, KVSTASH_R_LAYERS },
	{ ADD, FIELD(nr_layers), 4, ~0U, EINVAL, KVSTASH_R_LAYERS },
	{ ADD, FIELD(alignment), 4, 0, EINVAL, KVSTASH_R_MISALIGNED },
	{ ADD, FIELD(alignment), 4, KVSTASH_ALIGNMENT_MAX + 1, EINVAL, KVSTASH_R_MISALIGNED },
	{ ADD, FIELD(alignment), 4, ~0U, EINVAL, KVSTASH_R_MISALIGNED },
	{ GET | SET | DEL, FIELD(alignment), 4, 16, EINVAL, KVSTASH_R_RESERVED },
	{ ADD, FIELD(slot_bytes), 8, 0, EINVAL, KVSTASH_R_SLOT_BYTES },
	{ ADD, FIELD(slot_bytes), 8, KVSTASH_PART_BYTES_MAX + 1, EINVAL, KVSTASH_R_SLOT_BYTES },
	{ ADD, FIELD(slot_bytes), 8, 1ULL << 63, EINVAL, KVSTASH_R_SLOT_BYTES },
	{ ADD, FIELD(slot_bytes), 8, ~0ULL, EINVAL, KVSTASH_R_SLOT_BYTES },
	{ GET | SET | DEL, FIELD(slot_bytes), 8, 5000, EINVAL, KVSTASH_R_RESERVED },
	{ ADD | SET, FIELD(slots), 8, 1ULL << 51, EFBIG, KVSTASH_R_TOO_LARGE },
	{ ADD | SET, FIELD(slots), 8, 1ULL << 63, EFBIG, KVSTASH_R_TOO_LARGE },
	{ ADD | SET, FIELD(slots), 8, ~0ULL, EFBIG, KVSTASH_R_TOO_LARGE },
	{ GET | DEL, FIELD(slots), 8, 1, EINVAL, KVSTASH_R_RESERVED },
	{ GET | DEL, FIELD(pool_permille), 4, 1, EINVAL, KVSTASH_R_RESERVED },
	{ ADD | SET, FIELD(pool_permille), 4, 1001, EINVAL, KVSTASH_R_COUNT },
	{ ADD | SET, FIELD(pool_permille), 4, ~0U, EINVAL, KVSTASH_R_COUNT },
	{ GET | SET | DEL, FIELD(scheme), 4, 2, ENOENT, KVSTASH_R_LAYOUT_UNKNOWN },
	{ GET | SET | DEL, FIELD(fingerprint), 1, 0, ENOENT, KVSTASH_R_LAYOUT_UNKNOWN },
};

static void refuse(struct __test_metadata *_metadata, struct kvr_store *s, unsigned int i,
		   const struct spoil *p, __u64 v)
{
	struct kvstash_layout k = request(calls[i].bit);
	struct kvstash_result r;

	kvt_poke(&k, p->off, p->width, v);
	r = sst_layout_call(s->fd, calls[i].cmd, &k);
	EXPECT_EQ(-p->err, r.res) {
		TH_LOG("call %u, member at %zu = %#llx: errno %d reason %u", i, p->off, v, -r.res,
		       r.reason);
	}
	EXPECT_EQ(p->reason, r.reason) {
		TH_LOG("call %u, member at %zu = %#llx", i, p->off, v);
	}
	/* a name that is not registered is the fingerprint and the scheme */
	EXPECT_EQ(p->reason == KVSTASH_R_LAYOUT_UNKNOWN ? FIELD(fingerprint) : p->off, k.field);
}

TEST_F(store, refused_member_of_a_layout_is_named)
{
	struct kvr_store *s = &self->s;
	struct spoil flags = { ALL, FIELD(flags), 4, 0, EINVAL, KVSTASH_R_FLAGS };

	begin(_metadata, s);
	for (unsigned int i = 0; i < KVT_LEN(calls); i++) {
		for (size_t j = 0; j < KVT_LEN(spoils); j++)
			if (calls[i].bit & spoils[j].calls)
				refuse(_metadata, s, i, &spoils[j], spoils[j].v);
		for (unsigned int bit = 0; bit < 32; bit++)
			if (!(calls[i].bit == ADD && bit == 0) &&
			    !(calls[i].bit == GET && bit == 1))
				refuse(_metadata, s, i, &flags, 1ULL << bit);
	}
	expect_same(_metadata, s);
}

TEST_F(store, unspoilt_layout_calls_are_accepted)
{
	struct kvr_store *s = &self->s;
	struct kvstash_layout k;

	begin(_metadata, s);
	for (unsigned int i = 0; i < KVT_LEN(calls) - 1; i++) {
		k = request(calls[i].bit);
		/* what is out is not looked at */
		k.id = ~0U;
		k.reason = ~0U;
		k.field = ~0U;
		memset(&k.detail, 0xff, sizeof(k) - FIELD(detail));
		KVT_OK(sst_layout_call(s->fd, calls[i].cmd, &k));
		EXPECT_EQ(0, k.reason);
		EXPECT_EQ(0, k.detail);
		EXPECT_EQ(0, k.refused_other);
	}
	KVT_OK(sst_drop(s->fd, &other));
	expect_same(_metadata, s);
}

TEST_F(store, sizes_of_a_layout_call)
{
	static const __u32 small[] = { 0, 4, 8, 48, sizeof(struct kvstash_layout) - 8,
				       sizeof(struct kvstash_layout) - 1 };
	static const __u32 more[] = { 1, 8, 100, 4096 - sizeof(struct kvstash_layout) };
	struct kvr_store *s = &self->s;
	union {
		struct kvstash_layout k;
		char room[4096];
	} arg;

	begin(_metadata, s);
	for (unsigned int i = 0; i < KVT_LEN(calls); i++) {
		for (size_t j = 0; j < KVT_LEN(small); j++) {
			arg.k = request(calls[i].bit);
			arg.k.size = small[j];
			EXPECT_EQ(-EINVAL, kvt_ioctl(s->fd, calls[i].cmd, &arg));
		}
		for (size_t j = 0; j < KVT_LEN(more); j++) {
			memset(&arg, 0, sizeof(arg));
			arg.k = request(calls[i].bit);
			arg.k.size += more[j];
			if (calls[i].bit != DEL)
				KVT_OK(sst_layout_call(s->fd, calls[i].cmd, &arg.k));
			arg.k = request(calls[i].bit);
			arg.k.size += more[j];
			arg.room[arg.k.size - 1] = 1;
			KVT_EXPECT(E2BIG, KVSTASH_R_SIZE,
				   sst_layout_call(s->fd, calls[i].cmd, &arg.k));
		}
		arg.k = request(calls[i].bit);
		arg.k.size = ~0U;
		EXPECT_EQ(-E2BIG, kvt_ioctl(s->fd, calls[i].cmd, &arg));
	}
	KVT_OK(sst_drop(s->fd, &other));
	expect_same(_metadata, s);
}

TEST_F(store, argument_that_is_not_there)
{
	char *edge = kvt_map_edge(sizeof(struct kvstash_layout));
	struct kvr_store *s = &self->s;
	struct kvstash_layout *k;

	begin(_metadata, s);
	for (unsigned int i = 0; i < KVT_LEN(calls); i++) {
		EXPECT_EQ(-EFAULT, kvt_ioctl(s->fd, calls[i].cmd, NULL));
		EXPECT_EQ(-EFAULT, kvt_ioctl(s->fd, calls[i].cmd, (void *)4096));
		EXPECT_EQ(-EFAULT, kvt_ioctl(s->fd, calls[i].cmd, (void *)~7UL));
		/* the last bytes are behind the end of the memory */
		k = (void *)(edge + 8);
		memcpy(k, &(struct kvstash_layout){ .size = sizeof(*k) },
		       sizeof(*k) - 8);
		EXPECT_EQ(-EFAULT, kvt_ioctl(s->fd, calls[i].cmd, k));
	}
	/* it need not be aligned, and fits to the last byte */
	for (unsigned int off = 0; off < 8; off++) {
		k = (void *)(edge - off);
		*k = request(GET);
		EXPECT_EQ(0, kvt_ioctl(s->fd, KVSTASH_IOC_LAYOUT_GET, k));
		EXPECT_EQ(4, k->slots);
	}
	expect_same(_metadata, s);
}

/*
 * Layers
 */

static struct kvstash_result add_layers(int fd, const struct kvstash_layer *l, __u32 n)
{
	struct kvstash_layout k;

	sst_prep_layout(&k, &other);
	k.alignment = 1;
	k.slot_bytes = 5000;
	k.layers = kvstash_addr(l);
	k.nr_layers = n;
	return sst_layout_call(fd, KVSTASH_IOC_LAYOUT_ADD, &k);
}

TEST_F(store, layer_that_is_empty_or_outside_or_overlaps)
{
	static const struct {
		struct kvstash_layer l[3];
		__u64 index;
	} bad[] = {
		{ { { 0, 0 }, { 100, 1 }, { 200, 1 } }, 0 },
		{ { { 0, 1 }, { 100, 0 }, { 200, 1 } }, 1 },
		{ { { 0, 1 }, { 100, 1 }, { 5000, 1 } }, 2 },
		{ { { 0, 1 }, { 100, 1 }, { 4999, 2 } }, 2 },
		{ { { 0, 5001 }, { 100, 1 }, { 200, 1 } }, 0 },
		{ { { 0, 1 }, { 100, ~0ULL }, { 200, 1 } }, 1 },
		{ { { ~0ULL, 1 }, { 100, 1 }, { 200, 1 } }, 0 },
		{ { { 0, 1 }, { ~0ULL, 2 }, { 200, 1 } }, 1 },
		{ { { 0, 1 }, { 100, 1 }, { ~0ULL - 4000, 4101 } }, 2 },
		{ { { 0, 1 }, { 1ULL << 63, 1ULL << 63 }, { 200, 1 } }, 1 },
		{ { { 0, 101 }, { 100, 100 }, { 200, 1 } }, 1 },
		{ { { 0, 1 }, { 100, 1 }, { 100, 1 } }, 2 },
		{ { { 0, 5000 }, { 600, 1 }, { 200, 1 } }, 2 },
		{ { { 300, 1 }, { 200, 101 }, { 100, 100 } }, 1 },
	};
	struct kvr_store *s = &self->s;
	struct kvstash_result r;

	begin(_metadata, s);
	for (size_t i = 0; i < KVT_LEN(bad); i++) {
		r = add_layers(s->fd, bad[i].l, 3);
		KVT_EXPECT(EINVAL, KVSTASH_R_LAYER, r);
		EXPECT_EQ(bad[i].index, r.detail) {
			TH_LOG("layers %zu", i);
		}
	}
	expect_same(_metadata, s);
}

TEST_F(store, layers_in_any_order_with_gaps)
{
	static const struct kvstash_layer good[][3] = {
		{ { 0, 1 }, { 1, 1 }, { 2, 4998 } },
		{ { 4999, 1 }, { 0, 1 }, { 2000, 1 } },
		{ { 200, 100 }, { 100, 100 }, { 0, 100 } },
	};
	struct kvr_store *s = &self->s;

	begin(_metadata, s);
	for (size_t i = 0; i < KVT_LEN(good); i++) {
		KVT_OK(add_layers(s->fd, good[i], 3));
		KVT_OK(sst_drop(s->fd, &other));
	}
	/* as many as there may be, to the last byte of the memory */
	for (__u32 i = 0; i < KVSTASH_LAYERS_MAX; i++)
		layers[i] = (struct kvstash_layer){ 4999 - i, 1 };
	KVT_OK(add_layers(s->fd, layers, KVSTASH_LAYERS_MAX));
	KVT_OK(sst_drop(s->fd, &other));
	layers[KVSTASH_LAYERS_MAX - 1].offset = 4999;
	KVT_EXPECT(EINVAL, KVSTASH_R_LAYER, add_layers(s->fd, layers, KVSTASH_LAYERS_MAX));
	expect_same(_metadata, s);
}

TEST_F(store, layers_that_can_not_be_read_or_written)
{
	struct kvstash_layer *edge = kvt_map_edge(4 * sizeof(*edge));
	struct kvr_store *s = &self->s;
	struct kvstash_layout k;

	begin(_metadata, s);
	sst_layers(&other, edge);
	KVT_EXPECT(EFAULT, KVSTASH_R_LAYERS, add_layers(s->fd, edge, 5));
	KVT_EXPECT(EFAULT, KVSTASH_R_LAYERS, add_layers(s->fd, edge + 1, 4));
	KVT_OK(add_layers(s->fd, edge, 4));
	sst_prep_layout(&k, &sst_small);
	k.layers = kvstash_addr(edge + 1);
	k.nr_layers = 4;
	KVT_EXPECT(EFAULT, KVSTASH_R_LAYERS, sst_layout_call(s->fd, KVSTASH_IOC_LAYOUT_GET, &k));
	EXPECT_EQ(FIELD(layers), k.field);
	/* no more is written than there are, whatever room is said to be there */
	sst_prep_layout(&k, &sst_small);
	k.layers = kvstash_addr(edge);
	k.nr_layers = ~0U;
	KVT_OK(sst_layout_call(s->fd, KVSTASH_IOC_LAYOUT_GET, &k));
	EXPECT_EQ(4, k.nr_layers);
	KVT_OK(sst_drop(s->fd, &other));
	expect_same(_metadata, s);
}

/* 64 GiB a slot is a layout; none of it fits, and a share of the pool is none. */
TEST_F(store, largest_numbers_that_are_good)
{
	struct kvr_store *s = &self->s;
	struct kvstash_layout k = request(ADD);

	begin(_metadata, s);
	k.slot_bytes = KVSTASH_PART_BYTES_MAX;
	k.alignment = KVSTASH_ALIGNMENT_MAX;
	KVT_EXPECT(EFBIG, KVSTASH_R_TOO_LARGE,
		   sst_layout_call(s->fd, KVSTASH_IOC_LAYOUT_ADD, &k));
	k.slots = 0;
	k.pool_permille = 1000;
	KVT_OK(sst_layout_call(s->fd, KVSTASH_IOC_LAYOUT_ADD, &k));
	EXPECT_EQ(0, k.slots);
	EXPECT_EQ(KVSTASH_PART_BYTES_MAX, k.slot_pages_bytes);
	KVT_EXPECT(EFBIG, KVSTASH_R_TOO_LARGE, sst_resize(s->fd, &other, 1ULL << 28));
	KVT_EXPECT(EFBIG, KVSTASH_R_TOO_LARGE, sst_resize(s->fd, &other, (1ULL << 40) + 1));
	KVT_OK(sst_drop(s->fd, &other));
	expect_same(_metadata, s);
}

/*
 * Rights
 */

TEST_F(store, I10_rights_of_layout_calls)
{
	struct kvr_store *s = &self->s;
	struct kvstash_layout k;
	int ro = kvt_open_flags(O_RDONLY), wo = kvt_open_flags(O_WRONLY);

	begin(_metadata, s);
	ASSERT_EQ(0, kvt_bind(ro, s->name).res);
	ASSERT_EQ(0, kvt_bind(wo, s->name).res);
	for (unsigned int i = 0; i < KVT_LEN(calls); i++) {
		int fd = calls[i].bit == GET ? wo : ro;

		k = request(calls[i].bit);
		KVT_EXPECT(EACCES, KVSTASH_R_PERMISSION, sst_layout_call(fd, calls[i].cmd, &k));
	}
	k = request(GET);
	KVT_OK(sst_layout_call(ro, KVSTASH_IOC_LAYOUT_GET, &k));
	k = request(ADD);
	KVT_OK(sst_layout_call(wo, KVSTASH_IOC_LAYOUT_ADD, &k));
	KVT_OK(sst_drop(wo, &other));
	close(ro);
	close(wo);
	expect_same(_metadata, s);
}

/*
 * Candidates
 */

static const struct spoil candidate_spoils[] = {
	{ 0, KEYS(nr_candidates), 4, KVSTASH_CANDIDATES_MAX + 1, EINVAL, KVSTASH_R_COUNT },
	{ 0, KEYS(nr_candidates), 4, 1U << 31, EINVAL, KVSTASH_R_COUNT },
	{ 0, KEYS(nr_candidates), 4, ~0U, EINVAL, KVSTASH_R_COUNT },
	{ 0, KEYS(candidate_stride), 4, 0, EINVAL, KVSTASH_R_SIZE },
	{ 0, KEYS(candidate_stride), 4, 8, EINVAL, KVSTASH_R_SIZE },
	{ 0, KEYS(candidate_stride), 4, 48, EINVAL, KVSTASH_R_SIZE },
	{ 0, KEYS(candidate_stride), 4, 57, EINVAL, KVSTASH_R_SIZE },
	{ 0, KEYS(candidate_stride), 4, 60, EINVAL, KVSTASH_R_SIZE },
	{ 0, KEYS(candidate_stride), 4, 4104, E2BIG, KVSTASH_R_SIZE },
	{ 0, KEYS(candidate_stride), 4, ~7U, E2BIG, KVSTASH_R_SIZE },
	{ 0, KEYS(candidates), 8, 1, EINVAL, KVSTASH_R_ALIGN },
	{ 0, KEYS(candidates), 8, 4, EINVAL, KVSTASH_R_ALIGN },
	{ 0, KEYS(candidates), 8, 0, EFAULT, KVSTASH_R_BUFFER },
	{ 0, KEYS(candidates), 8, 4096, EFAULT, KVSTASH_R_BUFFER },
	{ 0, KEYS(candidates), 8, 1ULL << 63, EFAULT, KVSTASH_R_BUFFER },
	{ 0, KEYS(candidates), 8, ~7ULL, EFAULT, KVSTASH_R_BUFFER },
	{ 0, KEYS(candidates), 8, 0ULL - 56, EFAULT, KVSTASH_R_BUFFER },
	{ 0, KEYS(candidates), 8, 0ULL - 112, EFAULT, KVSTASH_R_BUFFER },
};

static struct kvstash_keys lookup_of(struct kvstash_candidate *c, const struct sst_key *k,
				     unsigned int n)
{
	struct kvstash_keys keys = { .size = sizeof(keys), .flags = KVSTASH_KEYS_LEASE };

	for (unsigned int i = 0; i < n; i++)
		sst_prep_candidate(&c[i], &k[i]);
	sst_prep_candidates(&keys, c, n);
	return keys;
}

TEST_F(store, refused_candidates_lease_nothing)
{
	struct sst_key k[2] = { sst_nth(&sst_small, 0), sst_nth(&sst_small, 1) };
	struct kvr_store *s = &self->s;
	struct kvstash_candidate c[2];
	struct kvstash_keys keys;

	begin(_metadata, s);
	for (size_t i = 0; i < KVT_LEN(candidate_spoils); i++) {
		const struct spoil *p = &candidate_spoils[i];

		keys = lookup_of(c, k, 2);
		kvt_poke(&keys, p->off, p->width, p->v);
		EXPECT_EQ(-p->err, kvt_lookup(s->fd, &keys)) {
			TH_LOG("spoil %zu: reason %u", i, keys.reason);
		}
		EXPECT_EQ(p->reason, keys.reason);
		EXPECT_EQ(p->off, keys.field);
	}
	/* without any, nothing may be said of them */
	keys = lookup_of(c, k, 2);
	kvstash_prep_keys(&keys, "k", 1, 1);
	keys.candidates = kvstash_addr(c);
	EXPECT_EQ(-EINVAL, kvt_lookup(s->fd, &keys));
	EXPECT_EQ(KVSTASH_R_RESERVED, keys.reason);
	keys.candidates = 0;
	keys.candidate_stride = sizeof(c[0]);
	EXPECT_EQ(-EINVAL, kvt_lookup(s->fd, &keys));
	EXPECT_EQ(KVSTASH_R_RESERVED, keys.reason);
	expect_same(_metadata, s);
}

/* What is wrong with one candidate is its own result; the others are answered. */
TEST_F(store, bad_candidate_has_its_own_result)
{
	static const struct {
		size_t off;
		size_t width;
		__u64 v;
		int err;
		__u32 reason;
	} bad[] = {
		{ offsetof(struct kvstash_candidate, key), 8, 0, EFAULT, KVSTASH_R_KEY_FAULT },
		{ offsetof(struct kvstash_candidate, key), 8, 4096, EFAULT, KVSTASH_R_KEY_FAULT },
		{ offsetof(struct kvstash_candidate, key), 8, ~0ULL, EFAULT, KVSTASH_R_KEY_FAULT },
		{ offsetof(struct kvstash_candidate, key_len), 2, 0, EINVAL, KVSTASH_R_KEY_LEN },
		{ offsetof(struct kvstash_candidate, key_len), 2, 48, EINVAL, KVSTASH_R_KEY_LEN },
		{ offsetof(struct kvstash_candidate, key_len), 2, 513, EINVAL, KVSTASH_R_KEY_LEN },
		{ offsetof(struct kvstash_candidate, key_len), 2, 65535, EINVAL,
		  KVSTASH_R_KEY_LEN },
		{ offsetof(struct kvstash_candidate, reserved), 2, 1, EINVAL, KVSTASH_R_RESERVED },
		{ offsetof(struct kvstash_candidate, reserved2), 4, 1U << 31, EINVAL,
		  KVSTASH_R_RESERVED },
	};
	struct sst_key k[3] = { sst_nth(&sst_small, 0), sst_nth(&sst_small, 1),
				sst_nth(&sst_small, 0) };
	struct kvr_store *s = &self->s;
	struct kvstash_candidate c[3];
	struct kvstash_keys keys;

	begin(_metadata, s);
	for (size_t i = 0; i < KVT_LEN(bad); i++) {
		keys = lookup_of(c, k, 3);
		for (unsigned int j = 0; j < 3; j++) {	/* what is out is not looked at */
			memset(&c[j].r, 0xff, sizeof(c[j].r));
			memset(&c[j].lease, 0xff, sizeof(c[j].lease));
			c[j].bytes = ~0ULL;
		}
		kvt_poke(&c[1], bad[i].off, bad[i].width, bad[i].v);
		ASSERT_EQ(0, kvt_lookup(s->fd, &keys));
		KVT_EXPECT(bad[i].err, bad[i].reason, c[1].r);
		EXPECT_EQ(0, c[1].bytes);
		EXPECT_EQ(0, c[1].lease.client | c[1].lease.seq);
		for (unsigned int j = 0; j < 3; j += 2) {
			KVT_OK(c[j].r);
			EXPECT_EQ(sst_small.bytes, c[j].bytes);
			KVT_OK(kvt_release1(s->fd, &c[j].lease));
		}
	}
	expect_same(_metadata, s);
}

TEST_F(store, candidates_of_a_longer_stride)
{
	static __u64 room[2 * 128 / 8];
	struct sst_key k[2] = { sst_nth(&sst_small, 0), sst_nth(&sst_small, 1) };
	struct kvr_store *s = &self->s;
	struct kvstash_candidate c[2], *at[2];
	struct kvstash_keys keys;

	begin(_metadata, s);
	for (unsigned int i = 0; i < 2; i++)
		at[i] = (void *)((char *)room + 128 * i);
	for (unsigned int tail = 0; tail < 2; tail++) {
		keys = lookup_of(c, k, 2);
		memset(room, 0, sizeof(room));
		*at[0] = c[0];
		*at[1] = c[1];
		((char *)room)[255] = tail;
		keys.candidates = kvstash_addr(room);
		keys.candidate_stride = 128;
		EXPECT_EQ(tail ? -E2BIG : 0, kvt_lookup(s->fd, &keys));
		if (tail)
			EXPECT_EQ(KVSTASH_R_SIZE, keys.reason);
		for (unsigned int i = 0; i < 2 && !tail; i++) {
			KVT_OK(at[i]->r);
			KVT_OK(kvt_release1(s->fd, &at[i]->lease));
		}
	}
	expect_same(_metadata, s);
}

/* Answers that can't be delivered leave no lease behind. */
TEST_F(store, I5_candidates_that_can_not_be_written)
{
	struct kvstash_candidate *c = kvt_map(2 * KVT_PAGE);
	struct sst_key k[2] = { sst_nth(&sst_small, 0), sst_nth(&sst_small, 1) };
	struct kvr_store *s = &self->s;
	struct kvstash_keys keys;

	begin(_metadata, s);
	/* the second is in memory that can only be read */
	c = (void *)((char *)c + KVT_PAGE - sizeof(*c));
	keys = lookup_of(c, k, 2);
	ASSERT_EQ(0, mprotect(c + 1, KVT_PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, kvt_lookup(s->fd, &keys));
	EXPECT_EQ(KVSTASH_R_BUFFER, keys.reason);
	EXPECT_EQ(KEYS(candidates), keys.field);
	expect_same(_metadata, s);
	/* and in none */
	ASSERT_EQ(0, mprotect(c + 1, KVT_PAGE, PROT_NONE));
	EXPECT_EQ(-EFAULT, kvt_lookup(s->fd, &keys));
	EXPECT_EQ(KVSTASH_R_BUFFER, keys.reason);
	expect_same(_metadata, s);
}

/* Nor do calls about layouts whose argument can only be read do anything. */
TEST_F(store, layout_that_can_not_be_written)
{
	static const unsigned long cmds[] = { KVSTASH_IOC_LAYOUT_ADD, KVSTASH_IOC_LAYOUT_GET,
					      KVSTASH_IOC_LAYOUT_SET, KVSTASH_IOC_LAYOUT_DEL };
	struct kvstash_layer layers[64];
	struct kvr_store *s = &self->s;
	struct kvstash_layout *ro = kvt_map(KVT_PAGE);

	begin(_metadata, s);
	ASSERT_NE(NULL, ro);
	for (unsigned int i = 0; i < KVT_LEN(cmds); i++) {
		ASSERT_EQ(0, mprotect(ro, KVT_PAGE, PROT_READ | PROT_WRITE));
		sst_prep_layout(ro, i ? &sst_small : &sst_tied);
		if (!i)
			sst_prep_add(ro, &sst_tied, layers, 1);
		ASSERT_EQ(0, mprotect(ro, KVT_PAGE, PROT_READ));
		EXPECT_EQ(-EFAULT, kvt_ioctl(s->fd, cmds[i], ro));
		expect_same(_metadata, s);
		KVT_EXPECT(ENOENT, KVSTASH_R_LAYOUT_UNKNOWN, sst_drop(s->fd, &sst_tied));
	}
}

TEST_HARNESS_MAIN
