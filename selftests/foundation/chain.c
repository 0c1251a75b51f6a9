// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/*
 * The prefix chain: what publishes a child, what takes it along, and in which
 * order leaves go. Without watermarks only a put that needs room evicts, so
 * each eviction can be foretold.
 */
#include "r_store.h"

#define POOL	KVR_MB(2)

static char buf[POOL];

/* Object @id of a chain; its parent is the one before. */
static struct kvr_obj link_of(struct kvr_key *keys, unsigned int id, __u32 len)
{
	keys[id] = (struct kvr_key){ 52, id };
	return (struct kvr_obj){
		.key = keys[id], .len = len, .parts = 1,
		.parent = id ? &keys[id - 1] : NULL,
	};
}

/* Asserts which of objects 0.. are visible: one character each, '+' or '-'. */
static void expect_visible(struct __test_metadata *_metadata, int fd,
			   const struct kvr_obj *o, const char *want)
{
	char have[64] = "";
	unsigned int n = strlen(want);

	for (unsigned int i = 0; i < n; i++)
		have[i] = kvr_state(fd, &o[i]) == KVSTASH_STATE_VISIBLE ? '+' : '-';
	EXPECT_STREQ(want, have);
}

/* Puts an object of a quarter of the pool that is in no chain. */
static struct kvr_obj put_filler(struct __test_metadata *_metadata, int fd, __u64 id)
{
	struct kvr_obj o = { .key = { 53, id }, .len = POOL / 4, .parts = 1 };

	KVT_OK(kvr_put(fd, &o, buf));
	return o;
}

TEST_F(store, R52_I9_tail_goes_before_the_head)
{
	struct kvr_store *s = &self->s;
	struct kvr_key keys[4];
	struct kvr_obj o[4], filler;

	kvr_store_make(_metadata, s, POOL, NULL);
	for (unsigned int i = 0; i < 4; i++) {
		o[i] = link_of(keys, i, POOL / 4);
		KVT_OK(kvr_put(s->fd, &o[i], buf));
	}
	KVT_OK(kvr_get(s->fd, &o[0], buf));
	KVT_OK(kvr_get(s->fd, &o[1], buf));
	for (unsigned int i = 0; i < 2; i++) {
		filler = put_filler(_metadata, s->fd, i);
		expect_visible(_metadata, s->fd, o, i ? "++--" : "+++-");
	}
	for (unsigned int i = 0; i < 2; i++) {
		filler.key.id = i;
		KVT_OK(kvr_remove(s->fd, &filler));
	}
	KVT_OK(kvr_put(s->fd, &o[2], buf));
	KVT_OK(kvr_put(s->fd, &o[3], buf));
	EXPECT_EQ(2, kvr_ns(s, "evictions"));
	put_filler(_metadata, s->fd, 2);
	expect_visible(_metadata, s->fd, o, "+++-");
	put_filler(_metadata, s->fd, 3);
	expect_visible(_metadata, s->fd, o, "++--");
	put_filler(_metadata, s->fd, 4);
	expect_visible(_metadata, s->fd, o, "+---");
	EXPECT_EQ(5, kvr_ns(s, "evictions"));
	KVT_OK(kvr_get(s->fd, &o[0], buf));
}

/*
 * A model of the store: a tree of NODES objects, of which any may be put, got
 * and removed, and what must then be visible. Documentation/design.rst,
 * "Eviction", says which leaf goes.
 */
#define NODES		64
#define PAGES		(POOL / KVT_PAGE)
#define PROVEN_SHARE	4

struct node {
	struct kvr_obj o;
	struct kvr_key parent_key;
	int parent;	/* -1: none */
	__u32 pages;
	bool visible;
	bool got;
	__u64 used;
};

struct model {
	struct node n[NODES];
	__u64 clock;
	__u64 demoted;
	__u32 used;	/* pages */
};

static void model_init(struct model *m)
{
	memset(m, 0, sizeof(*m));
	m->clock = 1ULL << 32;
	for (int i = 0; i < NODES; i++) {
		struct node *n = &m->n[i];

		n->parent = i < 4 ? -1 : (i - 4) / 2;
		n->pages = 8 * (1 + i % 5);
		n->parent_key = (struct kvr_key){ 54, n->parent };
		n->o = (struct kvr_obj){
			.key = { 54, i }, .len = n->pages * KVT_PAGE - i, .parts = 1,
			.parent = n->parent < 0 ? NULL : &n->parent_key,
		};
	}
}

static bool model_leaf(const struct model *m, int i)
{
	for (int c = 0; c < NODES; c++)
		if (m->n[c].visible && m->n[c].parent == i)
			return false;
	return m->n[i].visible;
}

static void model_hide(struct model *m, int i)
{
	for (int c = i + 1; c < NODES; c++)
		if (m->n[c].visible && m->n[c].parent == i)
			model_hide(m, c);
	m->n[i].visible = false;
	m->n[i].got = false;
	m->used -= m->n[i].pages;
}

/* The oldest leaf, among those got or those not; -1 if there is none. */
static int model_oldest(const struct model *m, bool got, int keep)
{
	int best = -1;

	for (int i = 0; i < NODES; i++)
		if (i != keep && m->n[i].got == got && model_leaf(m, i) &&
		    (best < 0 || m->n[i].used < m->n[best].used))
			best = i;
	return best;
}

static int model_victim(const struct model *m, int keep, __u32 more)
{
	int fresh = model_oldest(m, false, keep), got = model_oldest(m, true, keep);
	__u32 proven = 0;

	for (int i = 0; i < NODES; i++)
		proven += m->n[i].got ? m->n[i].pages : 0;
	if (fresh < 0 || got < 0)
		return fresh < 0 ? got : fresh;
	if (proven < (m->used + more) / PROVEN_SHARE)
		return fresh;
	return m->n[fresh].used <= m->n[got].used ? fresh : got;
}

/* @i goes on from a proven parent: the only other child, if never got, goes first. */
static void model_demote(struct model *m, int i)
{
	int parent = m->n[i].parent, other = -1;

	if (parent < 0 || !m->n[parent].got)
		return;
	for (int c = 0; c < NODES; c++) {
		if (!m->n[c].visible || m->n[c].parent != parent)
			continue;
		if (other >= 0)
			return;
		other = c;
	}
	if (other >= 0 && !m->n[other].got && model_leaf(m, other))
		m->n[other].used = ++m->demoted;
}

/* What a put of @i says, and what it does; its parent is no leaf meanwhile. */
static __u32 model_put(struct model *m, int i)
{
	struct node *n = &m->n[i];

	n->used = n->visible ? ++m->clock : n->used;
	if (n->visible)
		return KVSTASH_R_EXISTS;
	if (n->parent >= 0 && !m->n[n->parent].visible)
		return KVSTASH_R_PARENT_MISS;
	model_demote(m, i);
	while (m->used + n->pages > PAGES)
		model_hide(m, model_victim(m, n->parent, n->pages));
	m->used += n->pages;
	n->visible = true;
	n->used = ++m->clock;
	return KVSTASH_R_OK;
}

static __u32 model_get(struct model *m, int i)
{
	if (!m->n[i].visible)
		return KVSTASH_R_MISS;
	m->n[i].used = ++m->clock;
	m->n[i].got = true;
	return KVSTASH_R_OK;
}

static __u32 model_remove(struct model *m, int i)
{
	if (!m->n[i].visible)
		return KVSTASH_R_MISS;
	model_hide(m, i);
	return KVSTASH_R_OK;
}

/* One random call, on the store and on the model; true if they agree. */
static bool model_step(struct model *m, int fd, __u64 *rnd)
{
	int i = kvr_below(rnd, NODES);
	unsigned int what = kvr_below(rnd, 100);
	struct kvstash_result r;
	const char *name;
	bool same;
	__u32 want;

	if (what < 65) {
		name = "put";
		r = kvr_put(fd, &m->n[i].o, buf);
		want = model_put(m, i);
	} else if (what < 99) {
		name = "get";
		r = kvr_get(fd, &m->n[i].o, buf);
		want = model_get(m, i);
	} else {
		name = "remove";
		r = kvr_remove(fd, &m->n[i].o);
		want = model_remove(m, i);
	}
	same = r.reason == want && !r.res == !want;
	if (!same)
		kvr_say("%s of %d: %d reason %u, model %u", name, i, r.res,
			r.reason, want);
	return same;
}

static bool model_agrees(const struct model *m, int fd)
{
	struct kvstash_exists x[NODES];
	struct kvr_key keys[NODES];
	bool same = true;

	for (int i = 0; i < NODES; i++)
		keys[i] = m->n[i].o.key;
	if (kvr_exists_many(fd, keys, NODES, x) != NODES)
		return false;
	for (int i = 0; i < NODES; i++) {
		if (!x[i].r.res == m->n[i].visible)
			continue;
		same = false;
		kvr_say("object %d: state %u, model %s", i, x[i].state,
			m->n[i].visible ? "visible" : "absent");
	}
	return same;
}

TEST_F(store, I9_eviction_order_is_that_of_the_model)
{
	__u64 rnd = kvr_run_seed();
	struct kvr_store *s = &self->s;
	static struct model m;

	kvr_store_make(_metadata, s, POOL, NULL);
	model_init(&m);
	for (unsigned int i = 0; i < 4000; i++) {
		ASSERT_TRUE(model_step(&m, s->fd, &rnd) && model_agrees(&m, s->fd)) {
			TH_LOG("step %u", i);
		}
	}
	EXPECT_EQ(m.used * KVT_PAGE, kvr_pool(s, "committed_bytes"));
	EXPECT_LT(300, kvr_ns(s, "evictions"));
}

/* A use of the oldest of four objects, and which goes for the next put. */
enum use { USE_NONE, USE_GET, USE_PUT, USE_RESERVE, USE_EXISTS, USE_LOOKUP };

static void use_object(int fd, const struct kvr_obj *o, enum use use)
{
	struct kvstash_handle h;
	struct kvstash_keys k;

	kvstash_prep_keys(&k, &o->key, sizeof(o->key), 1);
	switch (use) {
	case USE_NONE:
		break;
	case USE_GET:
		kvr_get(fd, o, buf);
		break;
	case USE_PUT:
		kvr_put(fd, o, buf);
		break;
	case USE_RESERVE:
		kvr_reserve(fd, o, 0, &h);
		break;
	case USE_EXISTS:
		kvr_exists(fd, o, NULL);
		break;
	case USE_LOOKUP:
		kvt_lookup(fd, &k);
		break;
	}
}

TEST_F(store, I10_use_moves_recency_probes_do_not)
{
	static const struct {
		enum use use;
		const char *left;
	} cases[] = {
		{ USE_NONE, "-+++" }, { USE_GET, "+-++" }, { USE_PUT, "+-++" },
		{ USE_RESERVE, "+-++" }, { USE_EXISTS, "-+++" }, { USE_LOOKUP, "-+++" },
	};
	struct kvr_store *s = &self->s;
	struct kvr_obj o[5];

	kvr_store_make(_metadata, s, POOL, NULL);
	for (unsigned int c = 0; c < KVT_LEN(cases); c++) {
		for (unsigned int i = 0; i < 5; i++) {
			o[i] = put_filler(_metadata, s->fd, 10 * c + i);
			if (i == 3)
				use_object(s->fd, &o[0], cases[c].use);
		}
		expect_visible(_metadata, s->fd, o, cases[c].left);
		for (unsigned int i = 0; i < 5; i++)
			kvr_remove(s->fd, &o[i]);
	}
}

/* A child that is being filled keeps its parent, though that is the oldest. */
TEST_F(store, I9_child_in_flight_keeps_its_parent)
{
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	struct kvr_key keys[2];
	struct kvr_obj o[2];

	kvr_store_make(_metadata, s, POOL, NULL);
	o[0] = link_of(keys, 0, POOL / 4);
	o[1] = link_of(keys, 1, POOL / 4);
	KVT_OK(kvr_put(s->fd, &o[0], buf));
	KVT_OK(kvr_reserve(s->fd, &o[1], 0, &h));
	for (unsigned int i = 0; i < 10; i++)
		put_filler(_metadata, s->fd, i);
	expect_visible(_metadata, s->fd, o, "+-");
	KVT_OK(kvr_write_all(s->fd, &o[1], 0, &h, buf));
	KVT_OK(kvt_commit1(s->fd, &h));
	expect_visible(_metadata, s->fd, o, "++");
	KVT_OK(kvr_get(s->fd, &o[1], buf));
}

#define DEPTH	5

/* Steps to the next permutation in lexical order; false after the last. */
static bool next_permutation(unsigned int *p, int n)
{
	int i = n - 2, j = n - 1;
	unsigned int t;

	while (i >= 0 && p[i] > p[i + 1])
		i--;
	if (i < 0)
		return false;
	while (p[j] < p[i])
		j--;
	t = p[i];
	p[i] = p[j];
	p[j] = t;
	for (i++, j = n - 1; i < j; i++, j--) {
		t = p[i];
		p[i] = p[j];
		p[j] = t;
	}
	return true;
}

/* Visible: the run of committed ones from the root; waiting: those beyond it. */
static void expect_prefix(struct __test_metadata *_metadata, int fd,
			  const struct kvr_obj *o, const bool *committed)
{
	bool all = true;

	for (unsigned int i = 0; i < DEPTH; i++) {
		unsigned int want = KVSTASH_R_IN_FLIGHT;
		struct kvstash_exists x;

		all = all && committed[i];
		if (committed[i])
			want = all ? KVSTASH_R_OK : KVSTASH_R_PARENT_PENDING;
		kvr_exists(fd, &o[i], &x);
		EXPECT_EQ(want, x.r.reason);
		EXPECT_EQ(!committed[i] ? KVSTASH_STATE_FILLING : all ?
			  KVSTASH_STATE_VISIBLE : KVSTASH_STATE_WAITING, x.state);
		EXPECT_EQ(committed[i], x.parts_present);
		EXPECT_EQ(want, kvr_get(fd, &o[i], buf).reason);
	}
}

static void commit_in_order(struct __test_metadata *_metadata, int fd,
			    const unsigned int *order)
{
	bool committed[DEPTH] = { false };
	struct kvstash_handle h[DEPTH];
	struct kvr_key keys[DEPTH];
	struct kvr_obj o[DEPTH];

	for (unsigned int i = 0; i < DEPTH; i++) {
		o[i] = link_of(keys, i, 3000);
		KVT_OK(kvr_reserve(fd, &o[i], 0, &h[i]));
		KVT_OK(kvr_write_all(fd, &o[i], 0, &h[i], buf));
	}
	for (unsigned int i = 0; i < DEPTH; i++) {
		KVT_OK(kvt_commit1(fd, &h[order[i]]));
		committed[order[i]] = true;
		expect_prefix(_metadata, fd, o, committed);
	}
	KVT_OK(kvr_remove(fd, &o[0]));
	expect_visible(_metadata, fd, o, "-----");
}

TEST_F(store, I9_commits_in_any_order_publish_from_the_root)
{
	unsigned int order[DEPTH] = { 0, 1, 2, 3, 4 }, n = 0;
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, POOL, NULL);
	do {
		commit_in_order(_metadata, s->fd, order);
		n++;
	} while (next_permutation(order, DEPTH));
	EXPECT_EQ(120, n);
	EXPECT_EQ(0, kvr_ns(s, "objects"));
}

/*
 * Root 0 in flight of one client; of another, its child 1 complete, 1's child 2
 * in flight, and 0's child 3 in flight.
 */
struct family {
	struct kvr_key keys[4];
	struct kvr_obj o[4];
	struct kvstash_handle h[4];
};

static void family_root(struct __test_metadata *_metadata, struct family *f, int fd)
{
	static const int parent[] = { -1, 0, 1, 0 };

	for (unsigned int i = 0; i < 4; i++) {
		f->o[i] = link_of(f->keys, i, 5000);
		f->o[i].parent = parent[i] < 0 ? NULL : &f->keys[parent[i]];
	}
	KVT_OK(kvr_reserve(fd, &f->o[0], 0, &f->h[0]));
}

static void family_children(struct __test_metadata *_metadata, struct family *f, int fd)
{
	KVT_OK(kvr_put(fd, &f->o[1], buf));
	EXPECT_EQ(KVSTASH_STATE_WAITING, kvr_state(fd, &f->o[1]));
	for (unsigned int i = 2; i < 4; i++) {
		KVT_OK(kvr_reserve(fd, &f->o[i], 0, &f->h[i]));
		KVT_OK(kvr_write(fd, &f->o[i], 0, &f->h[i], buf, 0, 100));
	}
}

/* All of it has gone, its writers are told, its bytes are back, it can return. */
static void family_gone(struct __test_metadata *_metadata, struct family *f,
			struct kvr_store *s, int fd)
{
	expect_visible(_metadata, fd, f->o, "----");
	for (unsigned int i = 0; i < 4; i++)
		KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_exists(fd, &f->o[i], NULL));
	EXPECT_EQ(0, kvr_pool(s, "committed_bytes"));
	EXPECT_EQ(0, kvr_pool(s, "in_flight_bytes"));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
	for (unsigned int i = 2; i < 4; i++) {
		KVT_EXPECT(EIDRM, KVSTASH_R_REMOVED,
			   kvr_write(fd, &f->o[i], 0, &f->h[i], buf, 100, 200));
		KVT_EXPECT(EIDRM, KVSTASH_R_REMOVED, kvt_commit1(fd, &f->h[i]));
	}
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS, kvr_put(fd, &f->o[1], buf));
	for (unsigned int i = 0; i < 4; i++)
		KVT_OK(kvr_put(fd, &f->o[i], buf));
	expect_visible(_metadata, fd, f->o, "++++");
	for (unsigned int i = 0; i < 4; i++)
		KVT_OK(kvr_get(fd, &f->o[i], buf));
}

TEST_F(store, I9_aborted_parent_takes_its_descendants)
{
	struct kvr_store *s = &self->s;
	struct family f;
	int fd2;

	kvr_store_make(_metadata, s, POOL, NULL);
	fd2 = kvt_open_ns(s->name);
	ASSERT_LE(0, fd2);
	family_root(_metadata, &f, s->fd);
	family_children(_metadata, &f, fd2);
	KVT_OK(kvt_abort1(s->fd, &f.h[0]));
	family_gone(_metadata, &f, s, fd2);
	close(fd2);
}

TEST_F(store, I5_I9_dead_parent_takes_its_descendants)
{
	struct kvr_store *s = &self->s;
	struct family f;
	int fd2;

	kvr_store_make(_metadata, s, POOL, NULL);
	fd2 = kvt_open_ns(s->name);
	ASSERT_LE(0, fd2);
	family_root(_metadata, &f, fd2);
	family_children(_metadata, &f, s->fd);
	close(fd2);	/* the last of its file: the client has died */
	family_gone(_metadata, &f, s, s->fd);
}

/* A parent with a part that is there waits for whoever brings the rest. */
TEST_F(store, I9_idle_parent_keeps_waiting_children)
{
	struct kvt_ns_args ns = { .incomplete_ms = 0x7fffffff };
	struct kvr_store *s = &self->s;
	struct kvr_key keys[3];
	struct kvr_obj o[3];
	int fd2;

	kvr_store_make(_metadata, s, POOL, &ns);
	fd2 = kvt_open_ns(s->name);
	ASSERT_LE(0, fd2);
	for (unsigned int i = 0; i < 3; i++)
		o[i] = link_of(keys, i, 5000);
	o[0].parts = 2;
	KVT_OK(kvr_put_part(fd2, &o[0], 1, buf));
	KVT_OK(kvr_put(s->fd, &o[1], buf));
	KVT_OK(kvr_put(s->fd, &o[2], buf));
	close(fd2);
	KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE, kvr_exists(s->fd, &o[0], NULL));
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_PENDING, kvr_exists(s->fd, &o[1], NULL));
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_PENDING, kvr_get(s->fd, &o[2], buf));
	KVT_OK(kvr_put_part(s->fd, &o[0], 0, buf));
	expect_visible(_metadata, s->fd, o, "+++");
	for (unsigned int i = 0; i < 3; i++)
		KVT_OK(kvr_get(s->fd, &o[i], buf));
}

/*
 *	0 - 1 - 2 - 3
 *	     \    \ 4 (in flight)
 *	      5
 */
TEST_F(store, I9_remove_inner_removes_descendants)
{
	static const int parent[] = { -1, 0, 1, 2, 2, 1 };
	struct kvr_store *s = &self->s;
	struct kvstash_handle h;
	struct kvr_key keys[6];
	struct kvr_obj o[6];

	kvr_store_make(_metadata, s, POOL, NULL);
	for (unsigned int i = 0; i < 6; i++) {
		o[i] = link_of(keys, i, 5000);
		o[i].parent = parent[i] < 0 ? NULL : &keys[parent[i]];
		if (i == 4)
			KVT_OK(kvr_reserve(s->fd, &o[i], 0, &h));
		else
			KVT_OK(kvr_put(s->fd, &o[i], buf));
	}
	KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT, kvr_remove(s->fd, &o[4]));
	expect_visible(_metadata, s->fd, o, "++++-+");
	KVT_OK(kvr_remove(s->fd, &o[2]));
	expect_visible(_metadata, s->fd, o, "++---+");
	EXPECT_EQ(0, kvr_pool(s, "in_flight_bytes"));
	EXPECT_EQ(3, kvr_ns(s, "visible"));
	KVT_EXPECT(EIDRM, KVSTASH_R_REMOVED, kvr_write_all(s->fd, &o[4], 0, &h, buf));
	KVT_EXPECT(EIDRM, KVSTASH_R_REMOVED, kvt_commit1(s->fd, &h));
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS, kvr_put(s->fd, &o[3], buf));
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvr_remove(s->fd, &o[2]));
	KVT_OK(kvr_put(s->fd, &o[2], buf));
	KVT_OK(kvr_put(s->fd, &o[3], buf));
	KVT_OK(kvr_put(s->fd, &o[4], buf));
	expect_visible(_metadata, s->fd, o, "++++++");
	KVT_OK(kvr_remove(s->fd, &o[0]));
	expect_visible(_metadata, s->fd, o, "------");
	EXPECT_EQ(0, kvr_pool(s, "committed_bytes"));
}

TEST_F(store, I9_missing_parent_is_refused_or_starts_a_chain)
{
	struct kvr_store *s = &self->s;
	struct kvr_key keys[3];
	struct kvr_obj o[3];
	struct kvstash_put e;

	kvr_store_make(_metadata, s, POOL, NULL);
	for (unsigned int i = 0; i < 3; i++)
		o[i] = link_of(keys, i, 5000);
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS, kvr_put(s->fd, &o[1], buf));
	EXPECT_EQ(0, kvr_ns(s, "objects"));
	kvr_fill(&o[1], 0, buf);
	kvr_prep(&e, &o[1], 0, buf);
	e.flags = KVSTASH_PUT_ROOT_IF_NO_PARENT;
	KVT_OK(kvt_put_one(s->fd, &e));
	KVT_OK(kvr_get(s->fd, &o[1], buf));
	KVT_OK(kvr_put(s->fd, &o[2], buf));
	expect_visible(_metadata, s->fd, o, "-++");
	/* with its parent there the flag changes nothing */
	KVT_OK(kvr_put(s->fd, &o[0], buf));
	KVT_OK(kvr_remove(s->fd, &o[1]));
	kvr_fill(&o[1], 0, buf);
	kvr_prep(&e, &o[1], 0, buf);
	e.flags = KVSTASH_PUT_ROOT_IF_NO_PARENT;
	KVT_OK(kvt_put_one(s->fd, &e));
	KVT_OK(kvr_remove(s->fd, &o[0]));
	expect_visible(_metadata, s->fd, o, "---");
}

/*
 * The parent that was missing is part of the identity all the same: who adds a part
 * names it, too, whether it has come meanwhile or not.
 */
TEST_F(store, I9_root_keeps_the_name_of_its_parent)
{
	struct kvr_key keys[3] = { { 7, 0 }, { 7, 1 }, { 7, 2 } };
	struct kvr_obj o = { .key = { 7, 3 }, .len = 5000, .parts = 2, .parent = &keys[0] };
	struct kvr_obj there = { .key = keys[1], .len = 5000, .parts = 1 };
	struct kvr_obj late = { .key = keys[0], .len = 5000, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct kvstash_put e;

	kvr_store_make(_metadata, s, POOL, NULL);
	KVT_OK(kvr_put(s->fd, &there, buf));
	for (unsigned int i = 0; i < 2; i++) {
		kvr_fill(&o, 0, buf);
		kvr_prep(&e, &o, 0, buf);
		e.flags = KVSTASH_PUT_ROOT_IF_NO_PARENT;
		KVT_OK(kvt_put_one(s->fd, &e));
		if (i)
			KVT_OK(kvr_put(s->fd, &late, buf));
		kvr_fill(&o, 1, buf);
		for (unsigned int other = 1; other < 4; other++) {
			o.parent = other < 3 ? &keys[other] : NULL;
			kvr_prep(&e, &o, 1, buf);
			for (unsigned int flag = 0; flag < 2; flag++) {
				e.flags = flag ? KVSTASH_PUT_ROOT_IF_NO_PARENT : 0;
				KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_PARENT,
					   kvt_put_one(s->fd, &e));
			}
		}
		o.parent = &keys[0];
		KVT_OK(kvr_put_part(s->fd, &o, 1, buf));
		KVT_OK(kvr_get(s->fd, &o, buf));
		KVT_OK(kvr_remove(s->fd, &o));
	}
}

/*
 * Two ranks put the parts of children while their parent is put and removed
 * all the time: a part may join an object whose parent has just gone.
 */
#define CHILDREN	4

struct race {
	struct kvr_store *s;
	unsigned long rounds;
	__u32 stop;
	__u32 puts;
	struct kvr_key parent;
};

static unsigned int my_rank;	/* set before the fork */

static struct kvr_obj race_child(const struct race *t, unsigned int i)
{
	return (struct kvr_obj){
		.key = { 55, i }, .len = 3000, .parts = 2, .parent = &t->parent,
	};
}

static bool race_answer(struct kvstash_result r)
{
	switch (r.reason) {
	case KVSTASH_R_OK:
	case KVSTASH_R_EXISTS:
	case KVSTASH_R_IN_FLIGHT:
	case KVSTASH_R_PARENT_MISS:
	case KVSTASH_R_REMOVED:
		return true;
	}
	kvr_say("%d reason %u detail %llu", r.res, r.reason, r.detail);
	return false;
}

static int race_rank(void *arg)
{
	struct race *t = arg;
	int fd = kvt_open_ns(t->s->name), bad = fd < 0;

	kvr_pin(my_rank);
	for (unsigned int i = 0; !bad && !kvr_load(&t->stop); i++) {
		struct kvr_obj o = race_child(t, i % CHILDREN);
		struct kvstash_result r = kvr_put_part(fd, &o, my_rank, buf);

		bad = !race_answer(r);
		if (!r.res)
			kvr_add(&t->puts, 1);
	}
	return bad;
}

static void race_parent(struct __test_metadata *_metadata, struct race *t)
{
	struct kvr_obj parent = { .key = t->parent, .len = 100, .parts = 1 };
	int fd = t->s->fd;

	for (unsigned long i = 0; i < t->rounds; i++) {
		ASSERT_EQ(0, kvr_put(fd, &parent, buf).res);
		if (i % 2)
			sched_yield();
		ASSERT_EQ(0, kvr_remove(fd, &parent).res);
	}
}

TEST_F(store, I9_parts_race_with_the_end_of_their_parent)
{
	struct race *t = kvr_shared(sizeof(*t));
	struct kvr_store *s = &self->s;
	struct kvr_obj parent, o;
	pid_t pid[2];

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, POOL, NULL);
	*t = (struct race){ .s = s, .rounds = 4000, .parent = { 55, 1000 } };
	for (my_rank = 0; my_rank < 2; my_rank++)
		pid[my_rank] = kvr_spawn(race_rank, t);
	race_parent(_metadata, t);
	kvr_add(&t->stop, 1);
	for (unsigned int i = 0; i < 2; i++)
		EXPECT_EQ(0, kvt_wait(pid[i]));
	TH_LOG("%u parts put", t->puts);
	EXPECT_EQ(0, kvr_ns(s, "objects"));
	parent = (struct kvr_obj){ .key = t->parent, .len = 100, .parts = 1 };
	KVT_OK(kvr_put(s->fd, &parent, buf));
	for (unsigned int i = 0; i < CHILDREN; i++) {
		o = race_child(t, i);
		KVT_OK(kvr_put(s->fd, &o, buf));
		KVT_OK(kvr_get(s->fd, &o, buf));
	}
}

TEST_HARNESS_MAIN
