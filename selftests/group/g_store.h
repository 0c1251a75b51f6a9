/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvstash: what the tests of groups share: groups whose members, keys and bytes
 * follow from their number. Functions begin with grp_ and follow the rules of
 * kvstash_test.h.
 */
#ifndef G_STORE_H
#define G_STORE_H

#include "../foundation/r_store.h"

/**
 * struct grp - a group
 * @key:     its key; those of its members follow from it
 * @parent:  key of its parent, or NULL
 * @len:     bytes of the first part of each member
 * @flags:   KVSTASH_PUT_*
 * @ttl_ms:  of each put
 * @members: how many it expects, at most GRP_MAX but for grp_prep()
 * @parts:   parts of each member, or 0 for one
 * @parent_kind: KVSTASH_KIND_*
 */
struct grp {
	struct kvr_key key;
	const struct kvr_key *parent;
	__u32 len;
	__u32 flags;
	__u32 ttl_ms;
	__u16 members;
	__u16 parts;
	__u8 parent_kind;
};

#define GRP_MAX		32U

/* The kinds have key spaces of their own: the group's is that of its members. */
static inline struct kvr_obj grp_member(const struct grp *g, unsigned int i)
{
	return (struct kvr_obj){
		.key = { g->key.space, g->key.id << 16 | i }, .len = g->len,
		.parts = g->parts ? g->parts : 1,
	};
}

static inline void grp_prep(struct kvstash_put *e, const struct grp *g, unsigned int i,
			    const struct kvr_obj *o, unsigned int part, const void *buf)
{
	kvr_prep(e, o, part, buf);
	kvstash_prep_put_group(e, &g->key, sizeof(g->key), i, g->members, g->flags);
	kvstash_prep_put_ttl(e, g->ttl_ms);
	if (!g->parent)
		return;
	kvstash_prep_put_parent(e, g->parent, sizeof(*g->parent));
	e->parent_kind = g->parent_kind;
}

static inline struct kvstash_result grp_put_part(int fd, const struct grp *g, unsigned int i,
						 unsigned int part, void *buf)
{
	struct kvr_obj o = grp_member(g, i);
	struct kvstash_put e;

	kvr_fill(&o, part, buf);
	grp_prep(&e, g, i, &o, part, buf);
	return kvt_put_one(fd, &e);
}

/* Member @i, all of its parts, to the first that fails. */
static inline struct kvstash_result grp_put(int fd, const struct grp *g, unsigned int i,
					    void *buf)
{
	struct kvr_obj o = grp_member(g, i);
	struct kvstash_result r = { 0 };

	for (unsigned int part = 0; part < o.parts && !r.res; part++)
		r = grp_put_part(fd, g, i, part, buf);
	return r;
}

/* Members @from to @to - 1, to the first that fails. */
static inline struct kvstash_result grp_put_some(int fd, const struct grp *g, unsigned int from,
						 unsigned int to, void *buf)
{
	struct kvstash_result r = { 0 };

	for (unsigned int i = from; i < to && !r.res; i++)
		r = grp_put(fd, g, i, buf);
	return r;
}

static inline struct kvstash_result grp_put_all(int fd, const struct grp *g, void *buf)
{
	return grp_put_some(fd, g, 0, g->members, buf);
}

static inline struct kvstash_result grp_reserve(int fd, const struct grp *g, unsigned int i,
						unsigned int part, struct kvstash_handle *h)
{
	struct kvr_obj o = grp_member(g, i);
	struct kvstash_result r;
	struct kvstash_put e;

	grp_prep(&e, g, i, &o, part, NULL);
	r = kvt_reserve_one(fd, &e);
	*h = e.handle;
	return r;
}

/* Writes all of a reserved part. */
static inline struct kvstash_result grp_write(int fd, const struct grp *g, unsigned int i,
					      unsigned int part, const struct kvstash_handle *h,
					      void *buf)
{
	struct kvr_obj o = grp_member(g, i);

	return kvr_write_all(fd, &o, part, h, buf);
}

static inline struct kvstash_result grp_get(int fd, const struct grp *g, unsigned int i,
					    void *buf)
{
	struct kvr_obj o = grp_member(g, i);

	return kvr_get(fd, &o, buf);
}

/* What EXISTS says of member @i. */
static inline struct kvstash_result grp_member_exists(int fd, const struct grp *g,
						      unsigned int i, struct kvstash_exists *x)
{
	struct kvr_obj o = grp_member(g, i);

	return kvr_exists(fd, &o, x);
}

/* REMOVE of member @i, with KVSTASH_KEYS_* in @flags. */
static inline struct kvstash_result grp_remove_member(int fd, const struct grp *g,
						      unsigned int i, __u32 flags)
{
	struct kvr_obj o = grp_member(g, i);
	struct kvstash_exists x = { 0 };
	struct kvstash_keys k;
	int err;

	kvstash_prep_keys(&k, &o.key, sizeof(o.key), 1);
	k.flags = flags;
	err = kvt_remove(fd, &k, &x);
	if (err < 0)
		x.r = (struct kvstash_result){ err, k.reason, k.field };
	return x.r;
}

/*
 * The group by its own key
 */

static inline void grp_prep_keys(struct kvstash_keys *k, const struct kvr_key *keys,
				 unsigned int n)
{
	kvstash_prep_keys(k, keys, sizeof(*keys), n);
	k->kind = KVSTASH_KIND_GROUP;
}

/* @out, if not NULL, gets all of the answer. */
static inline struct kvstash_result grp_exists(int fd, const struct grp *g,
					       struct kvstash_exists *out)
{
	struct kvstash_exists x = { 0 };
	struct kvstash_keys k;
	int err;

	grp_prep_keys(&k, &g->key, 1);
	err = kvt_exists(fd, &k, &x);
	if (err < 0)
		x.r = (struct kvstash_result){ err, k.reason, k.field };
	if (out)
		*out = x;
	return x.r;
}

static inline struct kvstash_result grp_remove(int fd, const struct grp *g)
{
	struct kvstash_exists x = { 0 };
	struct kvstash_keys k;
	int err;

	grp_prep_keys(&k, &g->key, 1);
	err = kvt_remove(fd, &k, &x);
	if (err < 0)
		x.r = (struct kvstash_result){ err, k.reason, k.field };
	return x.r;
}

static inline struct kvstash_result grp_pin(int fd, const struct grp *g, __u8 pin)
{
	struct kvstash_exists x = { 0 };
	struct kvstash_keys k;
	int err;

	grp_prep_keys(&k, &g->key, 1);
	k.pin = pin;
	err = kvt_pin(fd, &k, &x);
	if (err < 0)
		x.r = (struct kvstash_result){ err, k.reason, k.field };
	return x.r;
}

/*
 * All members in one call
 */

static inline int grp_exists_all(int fd, const struct grp *g, struct kvstash_exists *x)
{
	struct kvr_key keys[GRP_MAX];

	for (unsigned int i = 0; i < g->members; i++)
		keys[i] = grp_member(g, i).key;
	return kvr_exists_many(fd, keys, g->members, x);
}

/* How many members one call sees; a negative errno if it failed. */
static inline int grp_visible(int fd, const struct grp *g)
{
	struct kvstash_exists x[GRP_MAX];
	int n = 0, r = grp_exists_all(fd, g, x);

	for (int i = 0; i < r; i++)
		n += !x[i].r.res;
	return r < 0 ? r : n;
}

/* The run of a LOOKUP over the members' keys; @reason why it ends there. */
static inline int grp_lookup(int fd, const struct grp *g, __u32 *reason)
{
	struct kvr_key keys[GRP_MAX];
	struct kvstash_keys k;
	int run;

	for (unsigned int i = 0; i < g->members; i++)
		keys[i] = grp_member(g, i).key;
	kvstash_prep_keys(&k, keys, sizeof(*keys), g->members);
	run = kvt_lookup(fd, &k);
	*reason = k.reason;
	return run;
}

/* Asserts what one answer about a member or a group tells of the group. */
static inline void grp_expect_facts(struct __test_metadata *_metadata, const struct grp *g,
				    const struct kvstash_exists *x, unsigned int present,
				    __u8 state)
{
	EXPECT_EQ(g->members, x->members);
	EXPECT_EQ(present, x->members_present);
	EXPECT_EQ(state, x->group_state);
	EXPECT_EQ(g->flags & KVSTASH_PUT_ATOMIC ? KVSTASH_GROUP_ATOMIC : 0, x->group_flags);
	EXPECT_EQ(0, x->reserved);
}

/*
 * Asserts that of an atomic group exactly the members in @in (a bit each) are
 * complete, and are seen by nobody: EXISTS, GET, LOOKUP, and the group's own key.
 * Those that are not are absent.
 */
static inline void grp_expect_hidden(struct __test_metadata *_metadata, int fd,
				     const struct grp *g, __u32 in, void *buf)
{
	unsigned int present = __builtin_popcount(in);
	struct kvstash_exists x[GRP_MAX];
	struct kvstash_result r;
	__u32 reason;

	ASSERT_EQ(g->members, grp_exists_all(fd, g, x));
	for (unsigned int i = 0; i < g->members; i++) {
		__u32 why = in >> i & 1 ? KVSTASH_R_GROUP_INCOMPLETE : KVSTASH_R_MISS;

		KVT_EXPECT(ENOENT, why, x[i].r);
		r = grp_get(fd, g, i, buf);
		KVT_EXPECT(ENOENT, why, r);
		EXPECT_TRUE(kvt_untouched(buf, g->len));
		if (why == KVSTASH_R_MISS) {
			EXPECT_EQ(KVSTASH_STATE_ABSENT, x[i].state);
			continue;
		}
		EXPECT_EQ(present, r.detail);
		EXPECT_EQ(present, x[i].r.detail);
		EXPECT_EQ(KVSTASH_STATE_FILLING, x[i].state);
		EXPECT_EQ(x[i].parts, x[i].parts_present);
		grp_expect_facts(_metadata, g, &x[i], present, KVSTASH_STATE_FILLING);
	}
	EXPECT_EQ(0, grp_lookup(fd, g, &reason));
	EXPECT_EQ(in & 1 ? KVSTASH_R_GROUP_INCOMPLETE : KVSTASH_R_MISS, reason);
	r = grp_exists(fd, g, x);
	KVT_EXPECT(ENOENT, in ? KVSTASH_R_GROUP_INCOMPLETE : KVSTASH_R_MISS, r);
	EXPECT_EQ(present, r.detail);
	EXPECT_EQ(in ? KVSTASH_STATE_FILLING : KVSTASH_STATE_ABSENT, x[0].state);
	if (in)
		grp_expect_facts(_metadata, g, x, present, KVSTASH_STATE_FILLING);
}

/* Asserts that all members are visible in one call, and each of their bytes. */
static inline void grp_expect_visible(struct __test_metadata *_metadata, int fd,
				      const struct grp *g, void *buf)
{
	struct kvstash_exists x[GRP_MAX];
	struct kvstash_result r;
	__u32 reason;

	ASSERT_EQ(g->members, grp_exists_all(fd, g, x));
	for (unsigned int i = 0; i < g->members; i++) {
		struct kvr_obj o = grp_member(g, i);

		KVT_OK(x[i].r);
		EXPECT_EQ(KVSTASH_STATE_VISIBLE, x[i].state);
		EXPECT_EQ(kvr_size(&o), x[i].object_size);
		grp_expect_facts(_metadata, g, &x[i], g->members, KVSTASH_STATE_VISIBLE);
		KVT_OK(grp_get(fd, g, i, buf));
	}
	EXPECT_EQ(g->members, grp_lookup(fd, g, &reason));
	EXPECT_EQ(KVSTASH_R_OK, reason);
	r = grp_exists(fd, g, x);
	KVT_OK(r);
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, x[0].state);
	grp_expect_facts(_metadata, g, x, g->members, KVSTASH_STATE_VISIBLE);
}

/* Asserts that neither the group nor a member of it is there. */
static inline void grp_expect_gone(struct __test_metadata *_metadata, int fd,
				   const struct grp *g, void *buf)
{
	grp_expect_hidden(_metadata, fd, g, 0, buf);
}

/* Asserts that all members wait for the group's parent. */
static inline void grp_expect_waiting(struct __test_metadata *_metadata, int fd,
				      const struct grp *g, void *buf)
{
	struct kvstash_exists x[GRP_MAX];

	ASSERT_EQ(g->members, grp_exists_all(fd, g, x));
	for (unsigned int i = 0; i < g->members; i++) {
		KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_PENDING, x[i].r);
		EXPECT_EQ(KVSTASH_STATE_WAITING, x[i].state);
		grp_expect_facts(_metadata, g, &x[i], g->members, KVSTASH_STATE_WAITING);
		KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_PENDING, grp_get(fd, g, i, buf));
	}
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_PENDING, grp_exists(fd, g, x));
	EXPECT_EQ(KVSTASH_STATE_WAITING, x[0].state);
}

/*
 * That a refused put left nothing: what the store counts
 */

struct grp_figures {
	struct kvt_counts c;
	__u64 objects;
	__u64 visible;
	__u64 filling;
	__u64 complete;
	__u64 published;
};

static inline struct grp_figures grp_figures(const struct kvr_store *s)
{
	struct grp_figures f = {
		.objects = kvr_ns(s, "objects"),
		.visible = kvr_ns(s, "visible"),
		.filling = kvr_ns(s, "groups_filling"),
		.complete = kvr_ns(s, "groups_complete"),
		.published = kvr_ns(s, "groups_published"),
	};

	kvt_counts_of(s->pool, &f.c);
	return f;
}

static inline void grp_expect_figures(struct __test_metadata *_metadata,
				      const struct kvr_store *s, const struct grp_figures *was)
{
	struct grp_figures now = grp_figures(s);

	EXPECT_EQ(was->objects, now.objects);
	EXPECT_EQ(was->visible, now.visible);
	EXPECT_EQ(was->filling, now.filling);
	EXPECT_EQ(was->complete, now.complete);
	EXPECT_EQ(was->published, now.published);
	EXPECT_EQ(was->c.free, now.c.free);
	EXPECT_EQ(was->c.committed, now.c.committed);
	EXPECT_EQ(was->c.in_flight, now.c.in_flight);
	EXPECT_EQ(was->c.held, now.c.held);
	EXPECT_EQ(was->c.objects, now.c.objects);
	EXPECT_EQ(was->c.evictions, now.c.evictions);
	kvr_sane(_metadata, s);
}

/* Puts pages of no group until @bytes have been put; their ids go on from @first. */
static inline void grp_pressure(struct __test_metadata *_metadata, int fd, __u64 first,
				__u64 bytes, void *buf)
{
	struct kvr_obj o = { .key = { 0xf111, first }, .len = 65536, .parts = 1 };

	for (; o.key.id < first + bytes / o.len; o.key.id++)
		ASSERT_EQ(0, kvr_put(fd, &o, buf).res);
}

#endif /* G_STORE_H */
