/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of leases, pins and times to live share: leases, and pressure.
 * Functions begin with kvl_ and follow the rules of kvstash_test.h; objects are
 * those of r_store.h, groups those of g_store.h.
 */
#ifndef KVSTASH_LEASE_H
#define KVSTASH_LEASE_H

#include "g_store.h"

#define KVL_POOL	KVR_MB(2)
#define KVL_PIECE	(KVL_POOL / 8)	/* of this size are most objects here */

/* An object of an eighth of the pool. */
static inline struct kvr_obj kvl_piece(__u64 space, __u64 id)
{
	return (struct kvr_obj){ .key = { space, id }, .len = KVL_PIECE, .parts = 1 };
}

/* Pieces @first to @first + @n - 1, to the first that fails. */
static inline struct kvstash_result kvl_put_pieces(int fd, __u64 space, __u64 first,
						   unsigned int n, void *buf)
{
	struct kvstash_result r = { 0 };
	struct kvr_obj o = kvl_piece(space, first);

	for (; o.key.id < first + n && !r.res; o.key.id++)
		r = kvr_put(fd, &o, buf);
	return r;
}

/*
 * The heaviest pressure: ten times the pool. Each object is got as soon as it is
 * put, so that no object that was got before is any better. To the first put that
 * fails; @buf has 64 KiB.
 */
static inline struct kvstash_result kvl_flood(const struct kvr_store *s, int fd,
					      void *buf)
{
	static __u64 space = 1ULL << 40;
	struct kvr_obj o = { .key = { ++space ^ (__u64)getpid() << 48 }, .parts = 1,
			     .len = 65536 };
	__u64 n = 10 * kvr_pool(s, "total_bytes") / o.len;
	struct kvstash_result r = { 0 };

	kvr_fill(&o, 0, buf);
	for (; o.key.id < n && !r.res; o.key.id++) {
		r = kvt_put1(fd, &o.key, sizeof(o.key), buf, o.len);
		kvt_get1(fd, &o.key, sizeof(o.key), buf, o.len, NULL);
	}
	return r;
}

/*
 * Floods until none of objects @first to @first + @n - 1 of a chain is visible. Once
 * is not always enough: while the worker takes the last of the chain, a put can take
 * what is younger.
 */
static inline bool kvl_flood_out(const struct kvr_store *s, int fd, __u64 space,
				 __u64 first, unsigned int n, void *buf)
{
	for (unsigned int i = 0; i < 10; i++) {
		if (kvl_flood(s, fd, buf).res)
			return false;
		if (!kvr_count_visible(fd, space, first, n))
			return true;
	}
	return false;
}

/*
 * Groups
 */

/* Bytes of the pool that all members take. */
static inline __u64 kvl_room(const struct grp *g)
{
	return g->members * kvt_pages(g->len);
}

/* The first of the members that can't be had with all its bytes, or success. */
static inline struct kvstash_result kvl_get_all(int fd, const struct grp *g, void *buf)
{
	struct kvstash_result r = { 0 };

	for (unsigned int i = 0; i < g->members && !r.res; i++)
		r = grp_get(fd, g, i, buf);
	return r;
}

/*
 * Leases
 */

static inline struct kvstash_result kvl_lease(int fd, const struct kvr_obj *o,
					      struct kvstash_handle *h)
{
	return kvt_exists_lease1(fd, &o->key, sizeof(o->key), NULL, h);
}

/* By the group's own key; @out may be NULL. */
static inline struct kvstash_result kvl_lease_group(int fd, const struct grp *g,
						    struct kvstash_exists *out,
						    struct kvstash_handle *h)
{
	struct kvstash_exists x = { 0 };
	struct kvstash_keys k;
	int err;

	grp_prep_keys(&k, &g->key, 1);
	err = kvt_exists_lease(fd, &k, &x, h);
	if (err < 0)
		x.r = (struct kvstash_result){ err, k.reason, k.field };
	if (out)
		*out = x;
	return x.r;
}

/* LOOKUP of @n keys with leases: the run or a negative errno. */
static inline int kvl_lookup(int fd, const struct kvr_key *keys, unsigned int n,
			     struct kvstash_handle *h, __u32 *reason)
{
	struct kvstash_keys k;
	int run;

	kvstash_prep_keys(&k, keys, sizeof(*keys), n);
	run = kvt_lookup_lease(fd, &k, h);
	if (reason)
		*reason = k.reason;
	return run;
}

/* RELEASE of @n in one call; @e, of @n, gets the results. */
static inline int kvl_release(int fd, const struct kvstash_handle *h, unsigned int n,
			      struct kvstash_end *e)
{
	for (unsigned int i = 0; i < n; i++)
		kvstash_prep_end(&e[i], &h[i]);
	return kvt_release(fd, e, n);
}

/* The same: true if each was released. */
static inline bool kvl_release_all(int fd, const struct kvstash_handle *h,
				   unsigned int n)
{
	struct kvstash_end *e = calloc(n, sizeof(*e));
	bool good = e && kvl_release(fd, h, n, e) == (int)n;

	for (unsigned int i = 0; good && i < n; i++)
		good = !e[i].r.res;
	free(e);
	return good;
}

static inline bool kvl_no_handle(const struct kvstash_handle *h)
{
	return !h->client && !h->seq;
}

/* The object that a lease is on, each byte verified. */
static inline struct kvstash_result kvl_get(int fd, const struct kvstash_handle *h,
					    const struct kvr_obj *o, void *buf)
{
	struct kvstash_result r;
	__u64 bytes;

	memset(buf, KVT_CANARY_BYTE, kvr_size(o));
	r = kvt_get_by_lease1(fd, h, buf, kvr_size(o), &bytes);
	if (r.res)
		return r;
	if (bytes != kvr_size(o))
		return (struct kvstash_result){ -EMSGSIZE, 0, bytes };
	return kvr_verify(o, buf);
}

/*
 * Moves the wall clock: what counts time by it is then off. The beds are there to
 * be thrown away. 0 or a negative errno.
 */
static inline int kvl_clock_jump(long seconds)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_REALTIME, &ts))
		return -errno;
	ts.tv_sec += seconds;
	return clock_settime(CLOCK_REALTIME, &ts) ? -errno : 0;
}

#define KVL_DAY	86400L

/* Asserts how many leases there are, and on how many bytes. */
#define KVL_LEASED(want_leases, want_bytes, store) do { \
	const struct kvr_store *_s = (store); \
	EXPECT_EQ((__u64)(want_leases), kvr_ns(_s, "leases")); \
	EXPECT_EQ((__u64)(want_bytes), kvr_ns(_s, "leased_bytes")); \
} while (0)

#endif /* KVSTASH_LEASE_H */
