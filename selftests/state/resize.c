// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * All slots of a layout are given up and asked for again while others read what is
 * in them. A slot that a reader has hold of at that moment goes back when he lets
 * go; asked for before, it is kept. So no more is ever carved than the quota allows,
 * and there always are as many as were asked for.
 */
#include "s_store.h"

#define SLOTS	4U
#define READERS	2

static const struct sst_layout *const l = &sst_small;
static char buf[8192];
static unsigned int my_rank;	/* set before the fork */

/**
 * struct resize - in shared memory
 * @stop:  of the readers
 * @got:   states that they got
 */
struct resize {
	struct kvr_store *s;
	__u32 stop;
	__u32 got[READERS];
};

/* A state is got whole, or is not there, or not yet. */
static int resize_reader(void *arg)
{
	struct resize *t = arg;
	int fd = kvt_open_ns(t->s->name);
	struct kvstash_result r;
	__u64 seed = my_rank + 1;

	kvr_pin(my_rank);
	while (fd >= 0 && !kvr_load(&t->stop)) {
		struct sst_key k = sst_nth(l, kvr_below(&seed, SLOTS));

		r = sst_get(fd, l, &k, buf);
		if (r.res && r.res != -ENOENT)
			return kvr_say("get: %d reason %u", r.res, r.reason);
		t->got[my_rank] += !r.res;
		/* nobody has hold of a state for a while, so that all can go */
		for (unsigned int i = kvr_below(&seed, 64); i; i--)
			sched_yield();
	}
	return fd < 0;
}

/* Returns 1 if the slots were given up, 0 if readers had one, -1 if it is wrong. */
static int resize_round(struct kvr_store *s, unsigned long *held)
{
	struct kvstash_result r;
	struct kvstash_layout now;

	r = sst_resize(s->fd, l, 0);
	/* or some of them: those that nobody came to after it was decided */
	if (r.res == -EBUSY && r.reason == KVSTASH_R_SLOTS_HELD)
		return 0;
	if (r.res)
		return -!!kvr_say("none: %d reason %u", r.res, r.reason);
	/* what is being read is hidden, and has its slot a moment longer */
	if (sst_those(s->fd, l, 0, SLOTS))
		return -!!kvr_say("there is a state without a slot");
	*held += !!sst_figures(s->fd, l).used;
	r = sst_resize(s->fd, l, SLOTS);
	if (r.res)
		return -!!kvr_say("all: %d reason %u detail %llu", r.res, r.reason, r.detail);
	now = sst_figures(s->fd, l);
	if (now.slots != SLOTS)
		return -!!kvr_say("%llu slots", now.slots);
	r = sst_put_some(s->fd, l, 0, SLOTS, buf);
	if (r.res)
		return -!!kvr_say("put: %d reason %u", r.res, r.reason);
	return 1;
}

TEST_F_TIMEOUT(store, I3_slots_are_resized_while_they_are_read, 300)
{
	/* half of it is for slots */
	struct kvt_ns_args ns = { .quota_bytes = 2 * SLOTS * SST_SMALL_SLOT };
	struct resize *t = kvr_shared(sizeof(*t));
	unsigned long rounds = kvt_rounds(20000), held = 0, done = 0;
	struct kvr_store *s = &self->s;
	pid_t pid[READERS];
	int ret = 0;

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVR_MB(2), &ns);
	ASSERT_EQ(0, sst_add(s->fd, l, SLOTS).res);
	KVT_OK(sst_put_some(s->fd, l, 0, SLOTS, buf));
	*t = (struct resize){ .s = s };
	for (my_rank = 0; my_rank < READERS; my_rank++)
		pid[my_rank] = kvr_spawn(resize_reader, t);
	for (unsigned long i = 0; i < rounds && ret >= 0; i++) {
		ret = resize_round(s, &held);
		done += ret > 0;
	}
	EXPECT_LE(0, ret);
	kvr_add(&t->stop, 1);
	for (unsigned int i = 0; i < READERS; i++)
		EXPECT_EQ(0, kvt_wait(pid[i]));
	TH_LOG("%lu of %lu given up, %lu with a reader in one; got %u and %u", done, rounds, held,
	       t->got[0], t->got[1]);
	EXPECT_LT(0, done);
	KVT_OK(sst_resize(s->fd, l, 0));
	EXPECT_EQ(0, sst_figures(s->fd, l).used);
	EXPECT_EQ(KVR_MB(2), kvr_pool(s, "free_bytes"));
}

TEST_HARNESS_MAIN
