// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * A reader that stands still in the middle of a GET of a state, while others want
 * its slot (I3): it gets the bytes that it began with, whatever becomes of the state.
 */
#include "s_store.h"

#define SLOTS	4U

static const struct sst_layout *const l = &sst_small;
static char buf[KVR_BLOCK];

/* SLOTS states, and a reader that stands in the one used longest ago. */
static void begin(struct __test_metadata *_metadata, struct kvr_store *s,
		  struct kvr_reader *rd, const struct sst_key *k)
{
	struct kvstash_get e;

	if (kvr_uffd_works())
		SKIP(return, "no userfaultfd");
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	ASSERT_EQ(0, sst_add(s->fd, l, SLOTS).res);
	ASSERT_EQ(0, sst_put_some(s->fd, l, 0, SLOTS, buf).res);
	sst_prep_get(&e, k, NULL, l->bytes);
	ASSERT_EQ(0, kvr_reader_start_get(rd, s->fd, &e));
	/* reading is using: the others are used after it */
	for (__u64 id = 1; id < SLOTS; id++) {
		struct sst_key other = sst_nth(l, id);

		ASSERT_EQ(0, sst_get(s->fd, l, &other, buf).res);
	}
}

static void end(struct __test_metadata *_metadata, struct kvr_reader *rd,
		const struct sst_key *k)
{
	KVT_OK(kvr_reader_resume(rd));
	EXPECT_EQ(-1, kvt_verify(rd->buf, l->bytes, sst_seed(k)));
	kvr_reader_free(rd);
}

TEST_F(store, I3_state_that_is_being_read_gives_no_slot)
{
	struct sst_key k = sst_nth(l, 0);
	struct kvr_store *s = &self->s;
	struct kvr_reader rd;

	begin(_metadata, s, &rd, &k);
	KVT_OK(sst_put_some(s->fd, l, 10, 3 * SLOTS, buf));
	EXPECT_TRUE(sst_there(s->fd, &k));
	EXPECT_EQ(SLOTS, sst_figures(s->fd, l).used);
	end(_metadata, &rd, &k);
	KVT_OK(sst_put_some(s->fd, l, 40, SLOTS, buf));
	EXPECT_FALSE(sst_there(s->fd, &k));
}

TEST_F(store, put_that_wants_the_slot_of_a_reader_is_refused)
{
	struct sst_key k = sst_nth(l, 0), new = sst_nth(l, 10);
	struct kvr_store *s = &self->s;
	struct kvstash_result r;
	struct kvr_reader rd;

	begin(_metadata, s, &rd, &k);
	KVT_OK(sst_resize(s->fd, l, 1));
	EXPECT_EQ(1, sst_those(s->fd, l, 0, SLOTS));
	r = sst_put(s->fd, l, &new, buf);
	KVT_EXPECT(ENOSPC, KVSTASH_R_NO_SLOT, r);
	EXPECT_EQ(1, r.detail);
	EXPECT_EQ(1, sst_those(s->fd, l, 0, SLOTS));
	end(_metadata, &rd, &k);
	KVT_OK(sst_put(s->fd, l, &new, buf));
	EXPECT_EQ(0, sst_those(s->fd, l, 0, SLOTS));
}

TEST_F(store, I3_slot_that_is_being_read_can_not_be_given_up)
{
	struct sst_key k = sst_nth(l, 0);
	struct kvr_store *s = &self->s;
	struct kvstash_result r;
	struct kvr_reader rd;

	begin(_metadata, s, &rd, &k);
	r = sst_resize(s->fd, l, 0);
	KVT_EXPECT(EBUSY, KVSTASH_R_SLOTS_HELD, r);
	EXPECT_EQ(1, r.detail);
	EXPECT_EQ(0xf, sst_those(s->fd, l, 0, SLOTS));
	EXPECT_EQ(SLOTS, sst_figures(s->fd, l).slots);
	end(_metadata, &rd, &k);
	KVT_OK(sst_resize(s->fd, l, 0));
	EXPECT_EQ(KVR_MB(4), kvr_pool(s, "free_bytes"));
}

TEST_F(store, I3_removed_state_is_read_to_its_end)
{
	struct sst_key k = sst_nth(l, 0), new = sst_nth(l, 10);
	struct kvr_store *s = &self->s;
	struct kvr_reader rd;

	begin(_metadata, s, &rd, &k);
	KVT_OK(sst_remove(s->fd, &k));
	EXPECT_EQ(0xe, sst_those(s->fd, l, 0, SLOTS));
	/* another of the same key, beside it, in another's slot */
	KVT_OK(sst_put(s->fd, l, &k, buf));
	EXPECT_EQ(0xd, sst_those(s->fd, l, 0, SLOTS));
	KVT_EXPECT(EBUSY, KVSTASH_R_LAYOUT_BUSY, sst_drop(s->fd, l));
	end(_metadata, &rd, &k);
	/* its slot has come free */
	KVT_OK(sst_put(s->fd, l, &new, buf));
	EXPECT_EQ(0xd, sst_those(s->fd, l, 0, SLOTS));
}

TEST_HARNESS_MAIN
