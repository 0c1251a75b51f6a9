// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 */
/*
 * Pools: filled to the last page, sizes that no machine has (R113), removal while
 * in use.
 */
#include "r_store.h"

static char buf[KVR_MB(2)];

/* Objects of one page, in batches; the number that was put. */
static unsigned int put_pages(int fd, __u64 space, unsigned int n)
{
	static struct kvstash_put e[256];
	static struct kvr_key keys[256];
	static char data[256][KVT_PAGE];
	struct kvr_obj o = { .len = KVT_PAGE, .parts = 1 };
	unsigned int i, nr = 0, good = 0;

	for (unsigned int id = 0; id < n; id += nr) {
		nr = n - id < KVT_LEN(e) ? n - id : KVT_LEN(e);
		for (i = 0; i < nr; i++) {
			keys[i] = (struct kvr_key){ space, id + i };
			o.key = keys[i];
			kvr_fill(&o, 0, data[i]);
			kvr_prep(&e[i], &o, 0, data[i]);
			e[i].key = kvstash_addr(&keys[i]);
		}
		if (kvt_put(fd, e, nr) != (int)nr)
			break;
		for (i = 0; i < nr; i++)
			good += !e[i].r.res;
	}
	return good;
}

TEST_F(store, filled_to_the_last_page)
{
	struct kvr_obj o = { .key = { 1, 0 }, .len = KVT_PAGE, .parts = 1 };
	const unsigned int pages = KVR_MB(4) / KVT_PAGE;
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	EXPECT_EQ(pages, put_pages(s->fd, 1, pages));
	EXPECT_EQ(0, kvr_pool(s, "free_bytes"));
	EXPECT_EQ(0, kvr_ns(s, "evictions"));
	EXPECT_EQ(pages, kvr_ns(s, "visible"));
	for (; o.key.id < pages; o.key.id++)
		ASSERT_EQ(0, kvr_get(s->fd, &o, buf).res);
	KVT_OK(kvr_put(s->fd, &o, buf));
	EXPECT_EQ(1, kvr_ns(s, "evictions"));
	EXPECT_EQ(0, kvr_pool(s, "free_bytes"));
	kvr_sane(_metadata, s);
}

/*
 * Every second page is free: a part takes them as so many extents and evicts
 * nothing, and bytes are found in it wherever a range begins and ends.
 */
TEST_F(store, part_in_single_pages)
{
	const unsigned int pages = KVR_MB(2) / KVT_PAGE;
	struct kvr_obj o = { .key = { 2, 0 }, .len = KVR_MB(1) - 5, .parts = 1 };
	struct kvr_obj page = { .key = { 1, 0 }, .len = KVT_PAGE, .parts = 1 };
	struct kvr_store *s = &self->s;
	struct kvstash_range range;
	__u64 rnd = kvr_run_seed();
	struct kvstash_handle h;
	struct kvstash_get e;

	kvr_store_make(_metadata, s, KVR_MB(2), NULL);
	EXPECT_EQ(pages, put_pages(s->fd, 1, pages));
	for (; page.key.id < pages; page.key.id += 2)
		KVT_OK(kvr_remove(s->fd, &page));
	KVT_OK(kvr_reserve(s->fd, &o, 0, &h));
	KVT_OK(kvr_write(s->fd, &o, 0, &h, buf, 300001, o.len));
	KVT_OK(kvr_write(s->fd, &o, 0, &h, buf, 0, 300001));
	KVT_OK(kvt_commit1(s->fd, &h));
	KVT_OK(kvr_get(s->fd, &o, buf));
	EXPECT_EQ(0, kvr_pool(s, "free_bytes"));
	for (unsigned int i = 0; i < 200; i++) {
		__u32 from = kvr_below(&rnd, o.len), len = 1 + kvr_below(&rnd, o.len - from);

		kvstash_prep_range(&range, 0, from, buf, len);
		kvstash_prep_get_ranges(&e, &o.key, sizeof(o.key), &range, 1);
		KVT_OK(kvt_get_one(s->fd, &e));
		ASSERT_EQ(-1, kvt_verify_at(buf, len, kvr_seed(&o.key, 0), from));
	}
	EXPECT_EQ(0, kvr_ns(s, "evictions"));
	EXPECT_EQ(pages / 2, kvr_count_visible(s->fd, 1, 0, pages));
	kvr_sane(_metadata, s);
}

TEST_F(store, in_use_is_not_removed)
{
	struct kvr_obj o = { .key = { 1, 1 }, .len = 5000, .parts = 1 };
	struct kvr_store *s = &self->s;

	kvr_store_make(_metadata, s, KVR_MB(2), NULL);
	KVT_OK(kvr_put(s->fd, &o, buf));
	EXPECT_EQ(-EBUSY, kvt_pool_del(s->name));
	EXPECT_EQ(-EBUSY, kvt_ns_del(s->name));
	KVT_OK(kvr_get(s->fd, &o, buf));
	close(s->fd);
	s->fd = -1;
	EXPECT_EQ(-EBUSY, kvt_pool_del(s->name));
	/* the objects are still there for the next client */
	s->fd = kvt_open_ns(s->name);
	KVT_OK(kvr_get(s->fd, &o, buf));
	close(s->fd);
	s->fd = -1;
	EXPECT_EQ(0, kvt_ns_del(s->name));
	EXPECT_EQ(-ENODEV, kvt_open_ns(s->name));
	EXPECT_EQ(0, kvt_pool_del(s->name));
	EXPECT_EQ(-ENOENT, access(s->pool, F_OK) ? -errno : 0);
	EXPECT_NE(0, kvt_pool_del(s->name));
	s->name[0] = '\0';
}

TEST(R113_sizes_that_no_machine_has_are_refused_by_name)
{
	static const __u64 sizes[] = { 1ULL << 41, 1ULL << 44, 1ULL << 62 };
	static struct kvt_nl_reply r;

	for (unsigned int i = 0; i < KVT_LEN(sizes); i++) {
		EXPECT_EQ(-EFBIG, kvt_pool_new("huge", sizes[i], &r));
		EXPECT_NE(NULL, strstr(r.text, "memory")) {
			TH_LOG("text: \"%s\"", r.text);
		}
		EXPECT_NE(0, access("/proc/kvstash/pool/huge", F_OK));
	}
}

TEST_HARNESS_MAIN
