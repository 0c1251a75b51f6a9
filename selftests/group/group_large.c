// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/* kvstash-timeout: 600 */
/* The largest group: 65,535 members. */
#include "g_store.h"

#define MEMBERS	KVSTASH_MEMBERS_MAX
#define STEP	40009U	/* prime, so that steps of it come to each index */
#define BATCH	1024U

static const struct grp large = {
	.key = { 1, 1 }, .len = 16, .members = MEMBERS, .flags = KVSTASH_PUT_ATOMIC,
};

/* Puts the members of steps @from to @to - 1, as a batch. */
static void put_steps(struct __test_metadata *_metadata, int fd, unsigned int from,
		      unsigned int to)
{
	static struct kvstash_put e[BATCH];
	static struct kvr_obj o[BATCH];
	static char data[BATCH][16];

	for (unsigned int n = 0; n < to - from; n++) {
		unsigned int i = (__u64)(from + n) * STEP % MEMBERS;

		o[n] = grp_member(&large, i);
		kvr_fill(&o[n], 0, data[n]);
		grp_prep(&e[n], &large, i, &o[n], 0, data[n]);
	}
	ASSERT_EQ(to - from, kvt_put(fd, e, to - from));
	for (unsigned int n = 0; n < to - from; n++)
		ASSERT_EQ(0, e[n].r.res);
}

/* Asserts that one call of all members has @reason for each, @absent for one. */
static void expect_all(struct __test_metadata *_metadata, int fd, __u32 reason,
		       unsigned int absent, unsigned int present)
{
	struct kvstash_exists *x = calloc(MEMBERS, sizeof(*x));
	struct kvr_key *keys = calloc(MEMBERS, sizeof(*keys));
	unsigned int wrong = 0;

	ASSERT_TRUE(x && keys);
	for (unsigned int i = 0; i < MEMBERS; i++)
		keys[i] = grp_member(&large, i).key;
	ASSERT_EQ(MEMBERS, kvr_exists_many(fd, keys, MEMBERS, x));
	for (unsigned int i = 0; i < MEMBERS; i++) {
		wrong += x[i].r.reason != (i == absent ? KVSTASH_R_MISS : reason);
		if (i != absent && reason != KVSTASH_R_MISS)
			wrong += x[i].members != MEMBERS || x[i].members_present != present;
	}
	EXPECT_EQ(0, wrong);
	free(x);
	free(keys);
}

/* Bytes of one in some hundred. */
static void get_some(struct __test_metadata *_metadata, int fd)
{
	char back[16];

	for (unsigned int i = 0; i < MEMBERS; i += 101)
		ASSERT_EQ(0, grp_get(fd, &large, i, back).res);
}

TEST_F(store, I4_group_of_65535)
{
	struct kvr_store *s = &self->s;
	unsigned int last = (__u64)(MEMBERS - 1) * STEP % MEMBERS;
	struct kvstash_exists x;

	kvr_store_make(_metadata, s, (__u64)(MEMBERS + 512) * KVT_PAGE, NULL);
	for (unsigned int n = 0; n < MEMBERS - 1; n += BATCH)
		put_steps(_metadata, s->fd, n,
			  n + BATCH < MEMBERS - 1 ? n + BATCH : MEMBERS - 1);
	expect_all(_metadata, s->fd, KVSTASH_R_GROUP_INCOMPLETE, last, MEMBERS - 1);
	EXPECT_EQ(0, kvr_ns(s, "visible"));
	put_steps(_metadata, s->fd, MEMBERS - 1, MEMBERS);
	expect_all(_metadata, s->fd, KVSTASH_R_OK, ~0U, MEMBERS);
	KVT_OK(grp_exists(s->fd, &large, &x));
	EXPECT_EQ(MEMBERS, x.members);
	EXPECT_EQ(MEMBERS, x.members_present);
	get_some(_metadata, s->fd);
	EXPECT_EQ((__u64)MEMBERS * KVT_PAGE, kvr_pool(s, "committed_bytes"));
	kvr_sane(_metadata, s);
	KVT_OK(grp_remove_member(s->fd, &large, 12345, 0));
	expect_all(_metadata, s->fd, KVSTASH_R_MISS, ~0U, 0);
	EXPECT_EQ(0, kvr_pool(s, "committed_bytes"));
	EXPECT_EQ(0, kvr_ns(s, "objects"));
}

/* It is evicted as a whole by a put of one page, too. */
TEST_F(store, I4_group_of_65535_is_evicted_wholly)
{
	struct kvr_obj o = { .key = { 3, 3 }, .len = KVR_MB(4), .parts = 1 };
	struct kvr_store *s = &self->s;
	char *buf = kvt_map(o.len);

	ASSERT_NE(NULL, buf);
	kvr_store_make(_metadata, s, (__u64)(MEMBERS + 512) * KVT_PAGE, NULL);
	for (unsigned int n = 0; n < MEMBERS; n += BATCH)
		put_steps(_metadata, s->fd, n, n + BATCH < MEMBERS ? n + BATCH : MEMBERS);
	expect_all(_metadata, s->fd, KVSTASH_R_OK, ~0U, MEMBERS);
	KVT_OK(kvr_put(s->fd, &o, buf));
	expect_all(_metadata, s->fd, KVSTASH_R_MISS, ~0U, 0);
	EXPECT_EQ(1, kvr_ns(s, "groups_evicted"));
	KVT_OK(kvr_get(s->fd, &o, buf));
	EXPECT_EQ(o.len, kvr_pool(s, "committed_bytes"));
}

TEST_HARNESS_MAIN
