// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * COMMIT races with the end of its object: one process commits each part, and one
 * removes the object, or its parent. Each COMMIT says what is true: that the part
 * was committed, and with the last one the object was there before it was removed;
 * or that the object had been removed.
 */
#include "r_store.h"

#define LEN	3000U
#define RANKS	2U	/* who commit */

static char buf[8192];
static unsigned int my_rank;	/* set before the fork */

/**
 * struct race - in shared memory
 * @parent: what is removed is the parent, and takes along what is being filled
 * @parts:  of the object; the first ranks commit one each
 * @rounds: of which each has objects of its own
 * @got:    what each COMMIT was told in this round
 * @whole:  rounds in which all were committed
 * @cut:    rounds in which not all were
 * @early:  REMOVE was told that a part is in flight
 */
struct race {
	struct kvr_store *s;
	struct kvr_barrier b;
	bool parent;
	unsigned int parts;
	unsigned long rounds;
	struct kvstash_result got[RANKS];
	__u64 whole;
	__u64 cut;
	__u64 early;
};

static struct kvr_obj race_parent(unsigned long round)
{
	return (struct kvr_obj){ .key = { 2, round }, .len = 100, .parts = 1 };
}

/* @parent has room for the parent's key. */
static struct kvr_obj race_obj(const struct race *t, unsigned long round, struct kvr_key *parent)
{
	*parent = race_parent(round).key;
	return (struct kvr_obj){
		.key = { 1, round }, .len = LEN, .parts = t->parts,
		.parent = t->parent ? parent : NULL,
	};
}

static bool race_answer(struct kvstash_result r)
{
	return !r.res || (r.res == -EIDRM && r.reason == KVSTASH_R_REMOVED);
}

/* The same handle again says how it ended. */
static bool race_again(struct kvstash_result first, struct kvstash_result again)
{
	if (first.res)
		return again.res == first.res && again.reason == first.reason;
	return again.res == -EALREADY && again.reason == KVSTASH_R_COMMITTED;
}

/* Reserved and written before the race. */
static int race_commit(struct race *t, int fd, const struct kvr_obj *o)
{
	struct kvstash_result *r = &t->got[my_rank], again;
	struct kvstash_handle h;

	if (kvr_reserve(fd, o, my_rank, &h).res || kvr_write_all(fd, o, my_rank, &h, buf).res)
		return kvr_say("object %llu: not written", o->key.id);
	if (kvr_barrier_wait(&t->b))
		return 1;
	*r = kvt_commit1(fd, &h);
	if (kvr_barrier_wait(&t->b))
		return 1;
	again = kvt_commit1(fd, &h);
	if (race_answer(*r) && race_again(*r, again))
		return 0;
	return kvr_say("object %llu part %u: COMMIT %d reason %u, again %d reason %u", o->key.id,
		       my_rank, r->res, r->reason, again.res, again.reason);
}

static int race_rank(void *arg)
{
	struct race *t = arg;
	int fd = kvt_open_ns(t->s->name), bad = fd < 0;
	struct kvr_key parent;
	struct kvr_obj o;

	kvr_pin(my_rank % 2);
	for (unsigned long round = 0; !bad && round < t->rounds; round++) {
		o = race_obj(t, round, &parent);
		bad = kvr_barrier_wait(&t->b) || race_commit(t, fd, &o) ||
		      kvr_barrier_wait(&t->b);
	}
	return bad ? kvr_barrier_break(&t->b) : 0;
}

/*
 * Until it is gone: what a living client fills is not removed by its own key, but
 * with its parent.
 */
static int race_remove(struct race *t, int fd, const struct kvr_obj *o)
{
	struct kvr_obj parent = race_parent(o->key.id);
	struct kvstash_result r;

	do {
		r = kvr_remove(fd, t->parent ? &parent : o);
		t->early += !!r.res;
		sched_yield();
	} while (!t->parent && r.reason == KVSTASH_R_IN_FLIGHT);
	return r.res ? kvr_say("object %llu: REMOVE %d reason %u", o->key.id, r.res, r.reason) : 0;
}

/*
 * What was committed wholly was published, once, and nothing else; nothing is there
 * any more, in any state. @before: objects that had been published.
 */
static int race_judge(struct race *t, int fd, const struct kvr_obj *o, __u64 before)
{
	__u64 published = kvr_ns(t->s, "published") - before - t->parent, in_flight, objects;
	bool whole = true;

	for (unsigned int i = 0; i < t->parts; i++)
		whole = whole && !t->got[i].res;
	if (published != (whole ? 1 : 0))
		return kvr_say("object %llu: %s, but %llu published", o->key.id,
			       whole ? "committed" : "cut", published);
	if (!whole && !t->parent)
		return kvr_say("object %llu: removed while it was filled", o->key.id);
	in_flight = kvr_pool(t->s, "in_flight_bytes");
	objects = kvr_ns(t->s, "objects");
	if (in_flight || objects || kvr_state(fd, o) != KVSTASH_STATE_ABSENT)
		return kvr_say("object %llu: %llu objects, %llu bytes in flight", o->key.id,
			       objects, in_flight);
	t->whole += whole;
	t->cut += !whole;
	return 0;
}

static int race_round(struct race *t, int fd, unsigned long round)
{
	struct kvr_obj parent = race_parent(round), o;
	__u64 before = kvr_ns(t->s, "published");
	struct kvr_key key;

	o = race_obj(t, round, &key);
	if (t->parent && kvr_put(fd, &parent, buf).res)
		return kvr_say("object %llu: no parent", o.key.id);
	/* now the parts are reserved and written; now they are committed */
	if (kvr_barrier_wait(&t->b) || kvr_barrier_wait(&t->b))
		return 1;
	if (race_remove(t, fd, &o) || kvr_barrier_wait(&t->b))
		return 1;
	if (kvr_barrier_wait(&t->b))
		return 1;
	return race_judge(t, fd, &o, before);
}

static int race_remover(void *arg)
{
	struct race *t = arg;
	int fd = kvt_open_ns(t->s->name), bad = fd < 0;

	kvr_pin(1);
	for (unsigned long round = 0; !bad && round < t->rounds; round++)
		bad = race_round(t, fd, round);
	return bad ? kvr_barrier_break(&t->b) : 0;
}

static void race(struct __test_metadata *_metadata, struct kvr_store *s, bool parent,
		 unsigned int parts)
{
	struct race *t = kvr_shared(sizeof(*t));
	pid_t pid[RANKS + 1];

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVR_MB(2), NULL);
	*t = (struct race){ .s = s, .b.n = parts + 1, .parent = parent, .parts = parts,
			    .rounds = kvt_rounds(10000) };
	for (my_rank = 0; my_rank < parts; my_rank++)
		pid[my_rank] = kvr_spawn(race_rank, t);
	pid[parts] = kvr_spawn(race_remover, t);
	for (unsigned int i = 0; i <= parts; i++)
		EXPECT_EQ(0, kvt_wait(pid[i]));
	TH_LOG("committed %llu, cut %llu; REMOVE too early %llu", t->whole, t->cut, t->early);
	EXPECT_EQ(t->rounds, t->whole + t->cut);
	EXPECT_LT(0, t->whole);
	EXPECT_EQ(0, kvr_pool(s, "in_flight_bytes"));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
}

TEST_F_TIMEOUT(store, I3_COMMIT_races_with_REMOVE, 300)
{
	race(_metadata, &self->s, false, 1);
}

TEST_F_TIMEOUT(store, I3_COMMIT_of_two_parts_races_with_REMOVE, 300)
{
	race(_metadata, &self->s, false, 2);
}

TEST_F_TIMEOUT(store, I9_COMMIT_races_with_REMOVE_of_the_parent, 300)
{
	race(_metadata, &self->s, true, 1);
}

TEST_F_TIMEOUT(store, I9_COMMIT_of_two_parts_races_with_REMOVE_of_the_parent, 300)
{
	race(_metadata, &self->s, true, 2);
}

TEST_HARNESS_MAIN
