// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * LOOKUP with candidates of several layouts, leases of all or of nothing, EXISTS of
 * many states; what a layout counts, and that the dump says the same.
 */
#include "../group/lease.h"
#include "s_store.h"

#define MANY	256U

static char buf[KVR_BLOCK];

static void begin(struct __test_metadata *_metadata, struct kvr_store *s,
		  const struct kvt_ns_args *limits, __u64 slots)
{
	kvr_store_make(_metadata, s, KVL_POOL, limits);
	ASSERT_EQ(0, sst_add(s->fd, &sst_small, slots).res);
}

static struct kvstash_keys alone(struct kvstash_candidate *c, unsigned int n)
{
	struct kvstash_keys keys = { .size = sizeof(keys) };

	sst_prep_candidates(&keys, c, n);
	return keys;
}

TEST_F(store, I11_chain_and_states_of_several_layouts_in_one_call)
{
	const struct sst_layout *const l[3] = { &sst_small, &sst_tied, &sst_reference };
	struct kvr_obj page = sst_page(0, 4096);
	struct kvr_store *s = &self->s;
	struct kvstash_candidate c[9];
	struct kvstash_keys keys;
	struct sst_key k[9];
	char *big = kvt_map(SST_BYTES);

	kvr_store_make(_metadata, s, KVR_MB(8), NULL);
	for (unsigned int i = 0; i < 3; i++)
		ASSERT_EQ(0, sst_add(s->fd, l[i], 2).res);
	KVT_OK(kvr_put(s->fd, &page, buf));
	for (unsigned int i = 0; i < 9; i++) {
		k[i] = sst_nth(l[i % 3], i);
		sst_prep_candidate(&c[i], &k[i]);
	}
	KVT_OK(sst_put(s->fd, l[0], &k[3], buf));
	KVT_OK(sst_put_below(s->fd, l[1], &k[1], &page.key, buf));
	KVT_OK(sst_put(s->fd, l[2], &k[8], big));
	k[6].head.tokens = htole64(17);		/* misaligned */
	k[7].head.scheme = htole32(2);		/* another layout, not registered */
	k[5].head.reserved = 1;
	kvstash_prep_keys(&keys, &page.key, sizeof(page.key), 1);
	sst_prep_candidates(&keys, c, 9);
	ASSERT_EQ(1, kvt_lookup(s->fd, &keys));
	for (unsigned int i = 0; i < 9; i++) {
		bool there = i == 1 || i == 3 || i == 8;
		__u32 why = i == 6 ? KVSTASH_R_MISALIGNED :
			    i == 5 ? KVSTASH_R_RESERVED : KVSTASH_R_MISS;

		KVT_EXPECT(there ? 0 : i == 5 || i == 6 ? EINVAL : ENOENT, there ? 0 : why,
			   c[i].r);
		EXPECT_EQ(there ? l[i % 3]->bytes : 0, c[i].bytes);
		EXPECT_TRUE(kvl_no_handle(&c[i].lease));
	}
	/* a lookup is no use of a state: its place among the others is as it was */
	EXPECT_EQ(0, sst_figures(s->fd, l[2]).hits);
}

TEST_F(store, I11_lookup_of_states_alone)
{
	struct sst_key k[2] = { sst_nth(&sst_small, 0), sst_nth(&sst_small, 1) };
	struct kvr_store *s = &self->s;
	struct kvstash_candidate c[2];
	struct kvstash_keys keys;

	begin(_metadata, s, NULL, 2);
	KVT_OK(sst_put(s->fd, &sst_small, &k[1], buf));
	for (unsigned int lease = 0; lease < 2; lease++) {
		for (unsigned int i = 0; i < 2; i++)
			sst_prep_candidate(&c[i], &k[i]);
		keys = alone(c, 2);
		/* nothing that is said of keys is looked at */
		keys.keys = 8;
		keys.lens = 1;
		keys.key_len = KVSTASH_KEY_MAX + 1;
		keys.kind = 77;
		keys.flags = lease ? KVSTASH_KEYS_LEASE : 0;
		ASSERT_EQ(0, kvt_lookup(s->fd, &keys));
		EXPECT_EQ(KVSTASH_R_OK, keys.reason);
		EXPECT_EQ(0, keys.bytes);
		EXPECT_EQ(0, keys.done);
		KVT_EXPECT(ENOENT, KVSTASH_R_MISS, c[0].r);
		KVT_OK(c[1].r);
		EXPECT_EQ(lease, !kvl_no_handle(&c[1].lease));
		KVL_LEASED(lease, lease * SST_SMALL_SLOT, s);
	}
	KVT_OK(sst_get_leased(s->fd, &sst_small, &k[1], &c[1].lease, buf));
	KVT_OK(kvt_release1(s->fd, &c[1].lease));
	keys = alone(c, 0);
	keys.candidates = 0;
	keys.candidate_stride = 0;
	EXPECT_EQ(-EINVAL, kvt_lookup(s->fd, &keys));
	EXPECT_EQ(KVSTASH_R_COUNT, keys.reason);
}

/* The same one asked for several times is leased each time, and charged once. */
TEST_F(store, candidate_named_twice)
{
	struct sst_key k = sst_nth(&sst_small, 0);
	struct kvr_store *s = &self->s;
	struct kvstash_candidate c[3];
	struct kvstash_keys keys;

	begin(_metadata, s, NULL, 1);
	KVT_OK(sst_put(s->fd, &sst_small, &k, buf));
	for (unsigned int i = 0; i < 3; i++)
		sst_prep_candidate(&c[i], &k);
	keys = alone(c, 3);
	keys.flags = KVSTASH_KEYS_LEASE;
	ASSERT_EQ(0, kvt_lookup(s->fd, &keys));
	KVL_LEASED(3, SST_SMALL_SLOT, s);
	for (unsigned int i = 0; i < 3; i++) {
		KVT_EXPECT(ENOSPC, KVSTASH_R_NO_SLOT,
			   sst_put_some(s->fd, &sst_small, 5, 1, buf));
		KVT_OK(kvt_release1(s->fd, &c[i].lease));
	}
	KVT_OK(sst_put_some(s->fd, &sst_small, 5, 1, buf));
}

/* Run and states are leased together: what does not fit the budget leases nothing. */
TEST_F(store, I10_lookup_leases_all_or_nothing)
{
	struct kvt_ns_args ns = { .lease_bytes = 3 * 4096 + 2 * SST_SMALL_SLOT };
	struct kvr_store *s = &self->s;
	struct kvstash_candidate c[4];
	struct kvstash_handle h[4];
	struct kvr_key pages[4];
	struct kvstash_keys keys;
	struct sst_key k[4];

	begin(_metadata, s, &ns, 4);
	for (unsigned int i = 0; i < 4; i++) {
		struct kvr_obj o = sst_page(i, 4096);

		pages[i] = o.key;
		k[i] = sst_nth(&sst_small, i);
		KVT_OK(kvr_put(s->fd, &o, buf));
		KVT_OK(sst_put(s->fd, &sst_small, &k[i], buf));
	}
	for (unsigned int n = 1; n <= 4; n++) {
		bool fits = 4 * 4096 + n * SST_SMALL_SLOT <= ns.lease_bytes;

		for (unsigned int i = 0; i < 4; i++)
			sst_prep_candidate(&c[i], &k[i]);
		kvstash_prep_keys(&keys, pages, sizeof(pages[0]), 4);
		sst_prep_candidates(&keys, c, n);
		memset(h, 0xff, sizeof(h));
		EXPECT_EQ(fits ? 4 : -EDQUOT, kvt_lookup_lease(s->fd, &keys, h));
		if (!fits) {
			EXPECT_EQ(KVSTASH_R_LEASE_BUDGET, keys.reason);
			EXPECT_EQ(offsetof(struct kvstash_keys, leases), keys.field);
			EXPECT_EQ(4096, keys.bytes);
			KVL_LEASED(0, 0, s);
			continue;
		}
		KVL_LEASED(4 + n, 4 * 4096 + n * SST_SMALL_SLOT, s);
		EXPECT_TRUE(kvl_release_all(s->fd, h, 4));
		for (unsigned int i = 0; i < n; i++)
			KVT_OK(kvt_release1(s->fd, &c[i].lease));
	}
	EXPECT_EQ(3, kvr_ns(s, "lease_refused"));
	KVL_LEASED(0, 0, s);
}

TEST_F(store, as_many_candidates_as_there_may_be)
{
	static struct kvstash_candidate c[KVSTASH_CANDIDATES_MAX + 1];
	static struct sst_key k[KVSTASH_CANDIDATES_MAX + 1];
	struct kvr_store *s = &self->s;
	struct kvstash_keys keys;

	begin(_metadata, s, NULL, 64);
	KVT_OK(sst_put_some(s->fd, &sst_small, 0, 64, buf));
	for (unsigned int i = 0; i <= KVSTASH_CANDIDATES_MAX; i++) {
		k[i] = sst_nth(&sst_small, i * 3);
		sst_prep_candidate(&c[i], &k[i]);
	}
	keys = alone(c, KVSTASH_CANDIDATES_MAX);
	ASSERT_EQ(0, kvt_lookup(s->fd, &keys));
	for (unsigned int i = 0; i < KVSTASH_CANDIDATES_MAX; i++)
		ASSERT_EQ(i * 3 < 64 ? 0 : -ENOENT, c[i].r.res);
	keys = alone(c, KVSTASH_CANDIDATES_MAX + 1);
	EXPECT_EQ(-EINVAL, kvt_lookup(s->fd, &keys));
	EXPECT_EQ(KVSTASH_R_COUNT, keys.reason);
	EXPECT_EQ(offsetof(struct kvstash_keys, nr_candidates), keys.field);
	EXPECT_EQ(22, sst_figures(s->fd, &sst_small).found);
	EXPECT_EQ(KVSTASH_CANDIDATES_MAX - 22, sst_figures(s->fd, &sst_small).not_found);
}

/* Only LOOKUP takes candidates. */
TEST_F(store, candidates_are_refused_elsewhere)
{
	static const unsigned long cmd[] = {
		KVSTASH_IOC_EXISTS, KVSTASH_IOC_REMOVE, KVSTASH_IOC_PIN,
	};
	struct sst_key k = sst_nth(&sst_small, 0);
	struct kvr_store *s = &self->s;
	struct kvstash_candidate c;
	struct kvstash_keys keys;
	struct kvstash_exists x;

	begin(_metadata, s, NULL, 1);
	KVT_OK(sst_put(s->fd, &sst_small, &k, buf));
	sst_prep_candidate(&c, &k);
	for (size_t i = 0; i < KVT_LEN(cmd); i++) {
		for (__u32 count = 0; count < 2; count++) {
			kvstash_prep_keys(&keys, &k, sizeof(k), count);
			keys.kind = KVSTASH_KIND_STATE;
			keys.results = kvstash_addr(&x);
			keys.stride = sizeof(x);
			sst_prep_candidates(&keys, &c, 1);
			EXPECT_EQ(-EINVAL, kvt_ioctl(s->fd, cmd[i], &keys)) {
				TH_LOG("command %zu, %u keys", i, count);
			}
			EXPECT_TRUE(keys.reason == KVSTASH_R_RESERVED ||
				    (!count && keys.reason == KVSTASH_R_COUNT));
		}
	}
	EXPECT_TRUE(sst_there(s->fd, &k));
}

TEST_F(store, exists_remove_and_pin_of_many_states)
{
	static struct kvstash_exists x[MANY];
	static struct sst_key k[MANY];
	struct kvr_store *s = &self->s;
	struct kvstash_keys keys;

	begin(_metadata, s, NULL, MANY / 2);
	for (unsigned int i = 0; i < MANY; i++)
		k[i] = sst_nth(&sst_small, i);
	for (unsigned int i = 0; i < MANY; i += 2)
		ASSERT_EQ(0, sst_put(s->fd, &sst_small, &k[i], buf).res);
	kvstash_prep_keys(&keys, k, sizeof(k[0]), MANY);
	keys.kind = KVSTASH_KIND_STATE;
	ASSERT_EQ(MANY, kvt_exists(s->fd, &keys, x));
	for (unsigned int i = 0; i < MANY; i++) {
		ASSERT_EQ(i % 2 ? -ENOENT : 0, x[i].r.res);
		ASSERT_EQ(i % 2 ? 0 : sst_small.bytes, x[i].object_size);
		ASSERT_EQ(i % 2 ? 0 : 1, x[i].parts_present);
	}
	/* a LOOKUP's keys may be states, too: a run of them */
	keys.results = 0;
	keys.stride = 0;
	EXPECT_EQ(1, kvt_lookup(s->fd, &keys));
	EXPECT_EQ(sst_small.bytes, keys.bytes);
	keys.pin = KVSTASH_PIN_SOFT;
	ASSERT_EQ(MANY, kvt_pin(s->fd, &keys, x));
	for (unsigned int i = 0; i < MANY; i++)
		ASSERT_EQ(i % 2 ? -ENOENT : 0, x[i].r.res);
	keys.pin = 0;
	ASSERT_EQ(MANY, kvt_remove(s->fd, &keys, x));
	for (unsigned int i = 0; i < MANY; i++)
		ASSERT_EQ(i % 2 ? -ENOENT : 0, x[i].r.res);
	EXPECT_EQ(MANY / 2 * SST_SMALL_SLOT, kvr_pool(s, "slot_free_bytes"));
	EXPECT_EQ(MANY / 2, sst_figures(s->fd, &sst_small).removed);
}

/*
 * Counters
 */

static struct kvstash_result put_as(int fd, __u64 tokens, __u64 id, __u64 len)
{
	struct sst_key k = sst_key(&sst_small, tokens, id);
	struct kvstash_put e;

	sst_prep(&e, &sst_small, &k, buf);
	e.part_len = len;
	return kvt_put_one(fd, &e);
}

/* One of each, and some of each twice, so that none stands for another. */
static void make_figures(struct __test_metadata *_metadata, struct kvr_store *s)
{
	struct kvstash_candidate c[3];
	struct kvstash_keys keys;
	struct kvstash_handle h;
	struct kvstash_put e;
	struct sst_key k[3];

	KVT_OK(sst_put_some(s->fd, &sst_small, 0, 5, buf));	/* puts 5, evictions 2 */
	for (unsigned int i = 0; i < 3; i++) {
		k[i] = sst_nth(&sst_small, 2 + 2 * i);		/* 2, 4 are there, 6 is not */
		sst_prep_candidate(&c[i], &k[i]);
		sst_get(s->fd, &sst_small, &k[i], buf);		/* hits 2, misses 1 */
		sst_there(s->fd, &k[i]);			/* found 2, not_found 1 */
	}
	keys = alone(c, 3);
	EXPECT_EQ(0, kvt_lookup(s->fd, &keys));			/* found 4, not_found 2 */
	for (unsigned int i = 0; i < 4; i++)
		put_as(s->fd, 16, 50, sst_small.bytes + 1);	/* refused_bytes 4 */
	for (unsigned int i = 0; i < 5; i++)
		put_as(s->fd, 17 * (i % 2), 50, sst_small.bytes); /* refused_misaligned 5 */
	for (unsigned int i = 0; i < 6; i++)
		put_as(s->fd, 16, 2, sst_small.bytes);		/* refused_there 6 */
	for (unsigned int i = 0; i < 7; i++) {			/* refused_other 7 */
		k[2] = sst_nth(&sst_small, 50);
		sst_prep(&e, &sst_small, &k[2], buf);
		e.parts = 2;
		kvt_put_one(s->fd, &e);
	}
	KVT_OK(sst_remove(s->fd, &k[0]));			/* removed 1 */
	k[0] = sst_nth(&sst_small, 60);
	sst_prep(&e, &sst_small, &k[0], buf);
	kvstash_prep_put_ttl(&e, 1);
	KVT_OK(kvt_put_one(s->fd, &e));				/* puts 6 */
	while (sst_figures(s->fd, &sst_small).expired < 1)	/* expired 1 */
		usleep(10000);
	KVT_OK(sst_resize(s->fd, &sst_small, 1));		/* evictions 3 */
	k[1] = sst_nth(&sst_small, 4);
	KVT_OK(sst_lease(s->fd, &k[1], &h));			/* found 5 */
	for (unsigned int i = 0; i < 8; i++)
		put_as(s->fd, 16, 51, sst_small.bytes);		/* refused_no_slot 8 */
	KVT_OK(kvt_release1(s->fd, &h));
}

static void expect_figures(struct __test_metadata *_metadata, const struct kvstash_layout *d)
{
	EXPECT_EQ(1, d->slots);
	EXPECT_EQ(1, d->used);
	EXPECT_EQ(1, d->states);
	EXPECT_EQ(SST_SMALL_SLOT, d->slot_pages_bytes);
	EXPECT_EQ(2, d->hits);
	EXPECT_EQ(1, d->misses);
	EXPECT_EQ(5, d->found);
	EXPECT_EQ(2, d->not_found);
	EXPECT_EQ(6, d->puts);
	EXPECT_EQ(3, d->evictions);
	EXPECT_EQ(1, d->expired);
	EXPECT_EQ(1, d->removed);
	EXPECT_EQ(8, d->refused_no_slot);
	EXPECT_EQ(4, d->refused_bytes);
	EXPECT_EQ(5, d->refused_misaligned);
	EXPECT_EQ(6, d->refused_there);
	EXPECT_EQ(7, d->refused_other);
}

/**
 * struct dump - what a dump of layouts said
 * @want: fingerprint byte of the one to keep
 * @ns:   namespace of that
 * @d:    what is said of it
 * @n:    how many there were
 */
struct dump {
	__u8 want;
	char ns[KVSTASH_NAME_MAX];
	struct kvstash_layout d;
	unsigned int n;
};

static int dump_message(const struct nlmsghdr *h, struct dump *out)
{
	struct kvstash_layout d;

	if (h->nlmsg_type == NLMSG_DONE)
		return 1;
	if (h->nlmsg_type == NLMSG_ERROR)
		return ((struct nlmsgerr *)NLMSG_DATA(h))->error ?: 1;
	if (kvt_nl_find(h, GENL_HDRLEN, KVSTASH_A_LAYOUT_DESC, &d, sizeof(d)) != sizeof(d))
		return -EBADMSG;
	out->n++;
	if (d.fingerprint[0] != out->want)
		return 0;
	out->d = d;
	return kvt_nl_find(h, GENL_HDRLEN, KVSTASH_A_LAYOUT_NS, out->ns, sizeof(out->ns)) > 0 ?
	       0 : -EBADMSG;
}

/* A dump of @ns, or of all if that is NULL: 0 or a negative errno. */
static int dump(const char *ns, struct dump *out)
{
	static __u64 room[4096];
	int fd = kvt_nl_open(), r = kvt_nl_family(fd);
	const struct nlmsghdr *h;
	struct kvt_nl m;
	ssize_t n;

	if (r < 0)
		return r;
	kvt_nl_start(&m, r, KVSTASH_CMD_LAYOUT_GET);
	m.h.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	if (ns)
		kvt_nl_str(&m, KVSTASH_A_LAYOUT_NS, ns);
	r = send(fd, &m, m.h.nlmsg_len, 0) < 0 ? -errno : 0;
	while (!r) {
		n = recv(fd, room, sizeof(room), 0);
		if (n < 0)
			r = -errno;
		for (h = (void *)room; !r && NLMSG_OK(h, (__u32)n); h = NLMSG_NEXT(h, n))
			r = dump_message(h, out);
	}
	close(fd);
	return r < 0 ? r : 0;
}

TEST_F(store, I11_counters_of_a_layout_and_their_dump)
{
	struct dump d = { .want = sst_small.nr };
	struct kvr_store *s = &self->s;
	struct kvstash_layout now;

	begin(_metadata, s, NULL, 3);
	make_figures(_metadata, s);
	now = sst_figures(s->fd, &sst_small);
	expect_figures(_metadata, &now);
	ASSERT_EQ(0, dump(s->name, &d));
	EXPECT_EQ(1, d.n);
	EXPECT_STREQ(s->name, d.ns);
	expect_figures(_metadata, &d.d);
	EXPECT_EQ(now.id, d.d.id);
	EXPECT_EQ(now.alignment, d.d.alignment);
	EXPECT_EQ(now.slot_bytes, d.d.slot_bytes);
	EXPECT_EQ(now.nr_layers, d.d.nr_layers);
	EXPECT_EQ(0, d.d.layers);
}

/* More than fit a message, of several namespaces; a filter; a name that there is not. */
TEST_F(store, dump_of_many_layouts)
{
	struct kvt_ns_args other = { .name = "state-dumped" };
	struct dump d = { .want = 40 };
	struct sst_layout l = sst_small;
	struct kvr_store *s = &self->s;
	int fd;

	begin(_metadata, s, NULL, 0);
	other.pool = s->name;
	ASSERT_EQ(0, kvt_ns_new(&other));
	fd = kvt_open_ns(other.name);
	ASSERT_LE(0, fd);
	for (l.nr = 10; l.nr < 10 + KVSTASH_LAYOUTS_MAX; l.nr++)
		ASSERT_EQ(0, sst_add(fd, &l, 0).res);
	ASSERT_EQ(0, dump(NULL, &d));
	EXPECT_EQ(KVSTASH_LAYOUTS_MAX + 1, d.n);
	EXPECT_STREQ(other.name, d.ns);
	d.n = 0;
	ASSERT_EQ(0, dump(other.name, &d));
	EXPECT_EQ(KVSTASH_LAYOUTS_MAX, d.n);
	d.n = 0;
	ASSERT_EQ(0, dump(s->name, &d));
	EXPECT_EQ(1, d.n);
	d.n = 0;
	EXPECT_EQ(0, dump("state-none", &d));
	EXPECT_EQ(0, d.n);
	close(fd);
	EXPECT_EQ(0, kvt_ns_del(other.name));
}

TEST_HARNESS_MAIN
