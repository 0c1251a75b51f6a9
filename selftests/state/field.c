// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * States in the field: R17 R29 R67 R75 R76 R77 R79 R81. R48 is in contract.c, R51
 * and R59 in layout.c.
 */
#include "../group/lease.h"
#include "s_store.h"

#define STOPS	10U		/* boundaries of a prompt, of 128 tokens */

static const struct sst_layout *const ref = &sst_reference;

/* Small states with the alignment of the reference, where bytes don't matter. */
static const struct sst_layout quick = {
	.nr = 4, .scheme = 1, .bytes = 5000, .align = SST_ALIGN, .layers = 4,
};

/**
 * struct prompt - a chain of pages, and a state at the end of each
 * @page: keys of the pages
 * @k:    keys of the states
 * @c:    what the last LOOKUP said of these
 * @h:    and its leases of pages
 * @keys: and the rest of it
 */
struct prompt {
	struct kvr_key page[STOPS];
	struct sst_key k[STOPS];
	struct kvstash_candidate c[STOPS];
	struct kvstash_handle h[STOPS];
	struct kvstash_keys keys;
};

static char *buf;

static void begin(struct __test_metadata *_metadata, struct kvr_store *s, struct prompt *p,
		  __u64 slots)
{
	buf = kvt_map(SST_BYTES);
	ASSERT_NE(NULL, buf);
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	ASSERT_EQ(0, sst_add(s->fd, &quick, slots).res);
	for (unsigned int i = 0; i < STOPS; i++) {
		p->page[i] = (struct kvr_key){ 7, i };
		p->k[i] = sst_key(&quick, (i + 1) * SST_ALIGN, i);
	}
}

/* Those of the pages, and of the states, whose bit is set. */
static void put_prompt(struct __test_metadata *_metadata, int fd, struct prompt *p,
		       unsigned int pages, unsigned int states)
{
	for (unsigned int i = 0; i < STOPS; i++) {
		struct kvr_obj o = sst_page(i, 4096);

		if (pages >> i & 1)
			ASSERT_EQ(0, kvr_put(fd, &o, buf).res);
		if (states >> i & 1)
			ASSERT_EQ(0, sst_put(fd, &quick, &p->k[i], buf).res);
	}
}

/* LOOKUP of all of it, with leases if asked for: the run, or a negative errno. */
static int ask(int fd, struct prompt *p, bool lease)
{
	memset(p->h, 0xff, sizeof(p->h));
	kvstash_prep_keys(&p->keys, p->page, sizeof(p->page[0]), STOPS);
	for (unsigned int i = 0; i < STOPS; i++)
		sst_prep_candidate(&p->c[i], &p->k[i]);
	sst_prep_candidates(&p->keys, p->c, STOPS);
	return lease ? kvt_lookup_lease(fd, &p->keys, p->h) : kvt_lookup(fd, &p->keys);
}

/* Asserts which states the LOOKUP found; of a lease each has a handle, else none. */
static void expect_states(struct __test_metadata *_metadata, const struct prompt *p,
			  unsigned int states, bool lease)
{
	for (unsigned int i = 0; i < STOPS; i++) {
		bool there = states >> i & 1;

		KVT_EXPECT(there ? 0 : ENOENT, there ? 0 : KVSTASH_R_MISS, p->c[i].r);
		EXPECT_EQ(there ? quick.bytes : 0, p->c[i].bytes);
		EXPECT_EQ(there && lease, !kvl_no_handle(&p->c[i].lease));
	}
}

static void release(struct __test_metadata *_metadata, int fd, const struct prompt *p)
{
	for (unsigned int i = 0; i < STOPS; i++) {
		if (p->h[i].seq)
			KVT_OK(kvt_release1(fd, &p->h[i]));
		if (p->c[i].lease.seq)
			KVT_OK(kvt_release1(fd, &p->c[i].lease));
	}
}

/* What libkvstash makes of the facts, for a model with pages of 128 tokens. */
static struct kvstash_resume resume(const struct prompt *p, __u64 tokens, int run)
{
	struct kvstash_engine_layout l = { .replay = KVSTASH_REPLAY_EXACT };
	struct kvstash_engine e = {
		.prompt_tokens = tokens, .block_tokens = SST_ALIGN, .least_recompute = 1,
		.layouts = &l, .nr_layouts = 1,
	};
	struct kvstash_state_fact fact[STOPS];
	struct kvstash_facts f = { .page_run = run, .states = fact, .nr_states = STOPS };
	struct kvstash_resume out = { .boundary = ~0ULL };

	for (unsigned int i = 0; i < STOPS; i++)
		fact[i] = (struct kvstash_state_fact){
			.tokens = (i + 1) * SST_ALIGN, .available = !p->c[i].r.res,
		};
	kvstash_resume(&e, &f, &out);
	return out;
}

TEST_F(store, R75_I11_missing_state_does_not_cut_the_run_short)
{
	static struct prompt p;
	struct kvr_store *s = &self->s;

	begin(_metadata, s, &p, STOPS);
	put_prompt(_metadata, s->fd, &p, 0x3ff, 0);
	ASSERT_EQ(STOPS, ask(s->fd, &p, true));
	EXPECT_EQ(KVSTASH_R_OK, p.keys.reason);
	EXPECT_EQ(STOPS * 4096, p.keys.bytes);
	expect_states(_metadata, &p, 0, true);
	KVL_LEASED(STOPS, STOPS * 4096, s);
	release(_metadata, s->fd, &p);
	/* some states: the run is the same */
	put_prompt(_metadata, s->fd, &p, 0, 0x151);
	ASSERT_EQ(STOPS, ask(s->fd, &p, true));
	EXPECT_EQ(STOPS * 4096, p.keys.bytes);
	expect_states(_metadata, &p, 0x151, true);
	KVL_LEASED(STOPS + 4, STOPS * 4096 + 4 * SST_SMALL_SLOT, s);
	release(_metadata, s->fd, &p);
	KVL_LEASED(0, 0, s);
}

/* And the reverse: the hash chain broken at its first page, the states are there. */
TEST_F(store, R75_I11_missing_page_does_not_hide_a_state)
{
	static struct prompt p;
	struct kvr_store *s = &self->s;

	begin(_metadata, s, &p, STOPS);
	put_prompt(_metadata, s->fd, &p, 0x3fe, 0x3ff);
	ASSERT_EQ(0, ask(s->fd, &p, true));
	EXPECT_EQ(KVSTASH_R_MISS, p.keys.reason);
	EXPECT_EQ(0, p.keys.bytes);
	expect_states(_metadata, &p, 0x3ff, true);
	KVL_LEASED(STOPS, STOPS * SST_SMALL_SLOT, s);
	release(_metadata, s->fd, &p);
}

TEST_F(store, R76_I7_one_evicted_state_leaves_the_others)
{
	static struct prompt p;
	struct kvr_store *s = &self->s;
	struct sst_key other = sst_key(&quick, SST_ALIGN, 99);
	struct kvstash_resume at;

	begin(_metadata, s, &p, STOPS);
	put_prompt(_metadata, s->fd, &p, 0x3ff, 1 << 4);
	put_prompt(_metadata, s->fd, &p, 0, 0x3ff & ~(1 << 4));
	KVT_OK(sst_put(s->fd, &quick, &other, buf));
	ASSERT_EQ(STOPS, ask(s->fd, &p, false));
	expect_states(_metadata, &p, 0x3ff & ~(1 << 4), false);
	at = resume(&p, STOPS * SST_ALIGN + 1, STOPS);
	EXPECT_EQ(10 * SST_ALIGN, at.boundary);
	EXPECT_EQ(9, at.state[0]);
	/* without the last page, state 10 is not for use, and 9 is */
	at = resume(&p, STOPS * SST_ALIGN + 1, STOPS - 1);
	EXPECT_EQ(9 * SST_ALIGN, at.boundary);
}

TEST_F(store, R79_I11_facts_and_the_deepest_boundary)
{
	static struct prompt p;
	struct kvr_store *s = &self->s;
	__u64 rnd = kvr_run_seed();
	unsigned int seen = 0;

	begin(_metadata, s, &p, STOPS);
	for (unsigned int round = 0; round < 100; round++) {
		unsigned int pages = kvr_below(&rnd, 4) ? 0x3ff : kvr_below(&rnd, 1024);
		unsigned int states = kvr_below(&rnd, 1024), run = 0, best = 0;
		struct kvstash_exists x[STOPS];
		__u64 tokens = 1 + kvr_below(&rnd, 12 * SST_ALIGN);

		put_prompt(_metadata, s->fd, &p, pages, states);
		while (pages >> run & 1)
			run++;
		ASSERT_EQ(run, ask(s->fd, &p, false));
		expect_states(_metadata, &p, states, false);
		for (unsigned int b = 1; b <= STOPS; b++)
			if (b <= run && (states >> (b - 1) & 1) && b * SST_ALIGN < tokens)
				best = b;
		EXPECT_EQ(best * SST_ALIGN, resume(&p, tokens, run).boundary);
		seen |= 1U << best;
		kvr_remove_many(s->fd, p.page, STOPS, x);
		for (unsigned int i = 0; i < STOPS; i++)
			sst_remove(s->fd, &p.k[i]);
		EXPECT_EQ(0, sst_figures(s->fd, &quick).states);
	}
	EXPECT_LT(3, __builtin_popcount(seen));
}

/* As many answers as questions, whatever is there. */
TEST_F(store, R29_I11_each_key_has_its_answer)
{
	static struct prompt p;
	static struct kvstash_exists x[STOPS];
	__u64 stops[] = { 1, 3 }, other[] = { 1, 2 };
	struct kvr_store *s = &self->s;
	struct kvstash_keys keys;

	begin(_metadata, s, &p, STOPS);
	ASSERT_EQ(0, ask(s->fd, &p, true));
	EXPECT_EQ(STOPS, p.keys.done);
	expect_states(_metadata, &p, 0, true);
	for (unsigned int i = 0; i < STOPS; i++)
		EXPECT_TRUE(kvl_no_handle(&p.h[i]));
	put_prompt(_metadata, s->fd, &p, 0x3fe, 0x201);
	ASSERT_EQ(0, ask(s->fd, &p, true));
	EXPECT_EQ(STOPS, p.keys.done);
	for (unsigned int i = 0; i < STOPS; i++)
		EXPECT_TRUE(kvl_no_handle(&p.h[i]));
	expect_states(_metadata, &p, 0x201, true);
	memset(x, 0xff, sizeof(x));
	kvstash_prep_keys(&keys, p.k, sizeof(p.k[0]), STOPS);
	keys.kind = KVSTASH_KIND_STATE;
	ASSERT_EQ(STOPS, kvt_exists(s->fd, &keys, x));
	for (unsigned int i = 0; i < STOPS; i++)
		EXPECT_EQ(0x201 >> i & 1 ? 0 : -ENOENT, x[i].r.res);
	EXPECT_EQ(1, kvstash_stops_common(stops, 2, other, 2));
	EXPECT_EQ(1, stops[0]);
}

#define R17_KEYS	1024U
#define R17_RUN		40U

TEST_F(store, R17_I10_lookup_leases_the_run_and_the_states_it_reports)
{
	static struct kvstash_handle h[R17_KEYS];
	static struct kvr_key keys[R17_KEYS];
	struct kvr_store *s = &self->s;
	static struct prompt p;
	struct kvstash_keys k;

	begin(_metadata, s, &p, STOPS);
	put_prompt(_metadata, s->fd, &p, 0, 0x124);
	for (unsigned int i = 0; i < R17_KEYS; i++) {
		struct kvr_obj o = { .key = { 17, i }, .len = 700, .parts = 1 };

		keys[i] = o.key;
		/* pages of its own, and one that is missing */
		if (i != R17_RUN && i < 2 * R17_RUN)
			ASSERT_EQ(0, kvr_put(s->fd, &o, buf).res);
	}
	for (unsigned int i = 0; i < STOPS; i++)
		sst_prep_candidate(&p.c[i], &p.k[i]);
	kvstash_prep_keys(&k, keys, sizeof(keys[0]), R17_KEYS);
	sst_prep_candidates(&k, p.c, STOPS);
	ASSERT_EQ(R17_RUN, kvt_lookup_lease(s->fd, &k, h));
	KVL_LEASED(R17_RUN + 3, R17_RUN * 4096 + 3 * SST_SMALL_SLOT, s);
	EXPECT_EQ(R17_RUN + 3, kvr_ns(s, "leases_taken"));
	for (unsigned int i = 0; i < R17_KEYS; i++)
		EXPECT_EQ(i >= R17_RUN, kvl_no_handle(&h[i]));
	expect_states(_metadata, &p, 0x124, true);
	KVT_OK(kvl_flood(s, s->fd, buf));
	EXPECT_EQ(R17_RUN, kvr_count_visible(s->fd, 17, 0, R17_KEYS));
	EXPECT_TRUE(kvl_release_all(s->fd, h, R17_RUN));
	for (unsigned int i = 0; i < STOPS; i++)
		if (p.c[i].lease.seq)
			KVT_OK(kvt_release1(s->fd, &p.c[i].lease));
	KVL_LEASED(0, 0, s);
}

/*
 * Rows and components
 */

#define R67_RING	396U	/* rows of the ring that the state is gathered from */

TEST_F(store, R67_I7_rows_of_528_bytes_come_whole_and_rows_of_512_do_not_come)
{
	struct kvstash_ring ring = {
		.layer_stride = R67_RING * SST_ROW_BYTES, .layers = SST_LAYERS, .rows = R67_RING,
		.row_bytes = SST_ROW_BYTES,
	};
	struct kvstash_seg segs[2 * SST_LAYERS];
	struct sst_key k = sst_key(ref, 1280, 67);
	struct kvr_store *s = &self->s;
	struct kvstash_put e;
	struct kvstash_result r;
	int nr;

	kvr_store_make(_metadata, s, KVR_MB(8), NULL);
	buf = kvt_map(SST_BYTES);
	ring.base = kvt_map(SST_LAYERS * ring.layer_stride);
	ASSERT_TRUE(buf && ring.base);
	ASSERT_EQ(0, sst_add(s->fd, ref, 1).res);
	kvstash_prep_put(&e, &k, sizeof(k), buf, SST_LAYERS * SST_ROWS * 512);
	kvstash_prep_put_state(&e);
	r = kvt_put_one(s->fd, &e);
	KVT_EXPECT(EINVAL, KVSTASH_R_SLOT_BYTES, r);
	EXPECT_EQ(1415040, r.detail);
	EXPECT_EQ(1372160, e.part_len);
	EXPECT_FALSE(sst_there(s->fd, &k));
	/* 134 rows that wrap round the end of the ring, of each layer */
	nr = kvstash_ring_segs(&ring, R67_RING + 34, SST_ROWS, segs, KVT_LEN(segs));
	ASSERT_EQ(2 * SST_LAYERS, nr);
	for (__u64 i = 0, off = 0; i < (__u64)nr; off += segs[i++].len)
		kvt_fill_at((void *)(unsigned long)segs[i].addr, segs[i].len, sst_seed(&k), off);
	kvstash_prep_put(&e, &k, sizeof(k), NULL, SST_BYTES);
	kvstash_prep_put_segs(&e, segs, nr);
	kvstash_prep_put_state(&e);
	KVT_OK(kvt_put_one(s->fd, &e));
	KVT_OK(sst_get(s->fd, ref, &k, buf));
}

/* A recurrent state, a window and heads of a draft: components of three sizes. */
static const struct kvstash_layer r77_layers[] = {
	{ 0, 4096 }, { 4096, 36 }, { 5000, 1000 }, { 4200, 7 }, { 6000, 3000 },
};

#define R77_BYTES	9000U

static struct kvstash_result r77_add(int fd)
{
	struct kvstash_layout k;

	sst_prep_layout(&k, &sst_small);
	k.alignment = 16;
	k.slot_bytes = R77_BYTES;
	k.layers = kvstash_addr(r77_layers);
	k.nr_layers = KVT_LEN(r77_layers);
	k.slots = 2;
	return sst_layout_call(fd, KVSTASH_IOC_LAYOUT_ADD, &k);
}

/* Segments that add up to @to bytes of the slot: without the draft heads, or more. */
static struct kvstash_result r77_put(int fd, const struct sst_key *k, __u64 to)
{
	struct kvstash_seg segs[2];
	struct kvstash_put e;

	kvstash_prep_seg(&segs[0], buf, 5000);
	kvstash_prep_seg(&segs[1], buf + 5000, to - 5000);
	kvstash_prep_put(&e, k, sizeof(*k), NULL, R77_BYTES);
	kvstash_prep_put_segs(&e, segs, 2);
	e.part_len = R77_BYTES;
	kvstash_prep_put_state(&e);
	return kvt_put_one(fd, &e);
}

TEST_F(store, R77_put_covers_every_component_and_get_returns_the_chosen)
{
	static const __u64 wrong[] = { 6000, R77_BYTES - 1, R77_BYTES + 1 };
	static const __u32 chosen[] = { 3, 0, 4 };
	struct kvstash_range ranges[KVT_LEN(chosen)];
	struct sst_key k = sst_nth(&sst_small, 77);
	void *to[KVT_LEN(chosen)];
	struct kvr_store *s = &self->s;
	struct kvstash_result r;
	struct kvstash_get e;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	buf = kvt_map(2 * R77_BYTES);
	KVT_OK(r77_add(s->fd));
	kvt_fill(buf, 2 * R77_BYTES, 77);
	for (size_t i = 0; i < KVT_LEN(wrong); i++) {
		r = r77_put(s->fd, &k, wrong[i]);
		KVT_EXPECT(EINVAL, KVSTASH_R_LENGTH, r);
		EXPECT_EQ(R77_BYTES, r.detail);
		EXPECT_FALSE(sst_there(s->fd, &k));
	}
	EXPECT_EQ(KVT_LEN(wrong), sst_figures(s->fd, &sst_small).refused_bytes);
	KVT_OK(r77_put(s->fd, &k, R77_BYTES));
	for (size_t i = 0; i < KVT_LEN(chosen); i++)
		to[i] = kvt_target(r77_layers[chosen[i]].len);
	ASSERT_EQ(KVT_LEN(chosen), (size_t)kvstash_layer_ranges(r77_layers, KVT_LEN(r77_layers),
								chosen, KVT_LEN(chosen), to,
								ranges));
	kvstash_prep_get_ranges(&e, &k, sizeof(k), ranges, KVT_LEN(chosen));
	kvstash_prep_get_state(&e);
	KVT_OK(kvt_get_one(s->fd, &e));
	EXPECT_EQ(7 + 4096 + 3000, e.bytes);
	for (size_t i = 0; i < KVT_LEN(chosen); i++) {
		const struct kvstash_layer *l = &r77_layers[chosen[i]];

		EXPECT_EQ(-1, kvt_verify_at(to[i], l->len, 77, l->offset));
		EXPECT_TRUE(kvt_target_guarded(to[i], l->len));
		kvt_target_free(to[i]);
	}
	/* one byte behind the slot is refused, though the pool has it */
	ranges[0].offset = R77_BYTES - 6;
	r = kvt_get_one(s->fd, &e);
	KVT_EXPECT(ERANGE, KVSTASH_R_RANGE, r);
	EXPECT_EQ(R77_BYTES, r.detail);
}

/* Neither a state nor a group needs a page beside it, and no page is empty. */
TEST_F(store, R81_state_needs_no_page)
{
	struct sst_key k = sst_nth(&quick, 81);
	struct kvr_store *s = &self->s;
	static struct prompt p;
	struct kvstash_put e;

	begin(_metadata, s, &p, 2);
	KVT_OK(sst_put(s->fd, &quick, &k, buf));
	EXPECT_EQ(1, kvr_ns(s, "objects"));
	KVT_OK(sst_get(s->fd, &quick, &k, buf));
	KVT_OK(sst_remove(s->fd, &k));
	/* a group of nothing but a state: two objects, and no page */
	sst_prep(&e, &quick, &k, buf);
	kvstash_prep_put_group(&e, "team", 4, 0, 1, KVSTASH_PUT_ATOMIC);
	KVT_OK(kvt_put_one(s->fd, &e));
	EXPECT_EQ(2, kvr_ns(s, "objects"));
	EXPECT_EQ(1, kvr_ns(s, "visible"));
	EXPECT_EQ(SST_SMALL_SLOT, kvr_pool(s, "committed_bytes"));
	KVT_OK(sst_get(s->fd, &quick, &k, buf));
	KVT_OK(sst_remove(s->fd, &k));
	EXPECT_EQ(0, kvr_ns(s, "objects"));
	kvstash_prep_put(&e, "anchor", 6, buf, 4096);
	e.parts = 0;
	KVT_EXPECT(EINVAL, KVSTASH_R_PARTS, kvt_put_one(s->fd, &e));
	kvstash_prep_put(&e, "anchor", 6, buf, 0);
	KVT_EXPECT(EINVAL, KVSTASH_R_LENGTH, kvt_put_one(s->fd, &e));
	EXPECT_EQ(0, kvr_ns(s, "objects"));
}

TEST_HARNESS_MAIN
