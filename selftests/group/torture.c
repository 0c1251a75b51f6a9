// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=20 wm_high=60 */
/* kvstash-timeout: 1200 */
/*
 * Eight writers put atomic groups of eight in random order, put them again under
 * the same keys after they have been removed, and are killed at random; eight
 * readers ask for members, several of a group in one call, all the time. The pool
 * has room for a fifth of the groups, so that eviction never rests.
 *
 * An observation is what one call says of several members of one group. Half of
 * the calls have the members of a group far apart, among the keys of many others:
 * that takes several windows, between which others run even on one CPU. Each is:
 *  - all of them are there or none is;
 *  - of a member that is asked for twice the group has the same state, and as many
 *    members. (Of another member it need not: a group that is not visible may go,
 *    and the next one of its key come.)
 *  - a key that is asked for twice has the same tag, or bytes of the same put: each
 *    put has a number of its own. So a group that is removed and put again between
 *    two answers is not taken for one that was there all the while;
 *  - each byte is that of the put that its number says.
 *
 * TORTURE_OBSERVATIONS says how many there shall be; "make torture" asks for ten
 * million, "make check" for a number that suits the bed. A writer is killed after so
 * many observations, and not after a time, and readers wait for writers that are
 * behind: the fewest kills, removals and evictions there are follow from the number
 * of observations, on each machine.
 */
#include "g_store.h"

#define POOL	KVR_MB(8)
#define MEMBERS	8U
#define HOT	6U	/* groups that half of all calls are about */
#define GROUPS	900U	/* of about 50 KiB each: five times the pool */
#define LATEST	192U	/* put last: some are about to be evicted, some have just been */

#define WRITERS	8U
#define READERS	8U
#define ASKED	16U	/* groups of a call, of GET a quarter */
#define KEYS	(ASKED * (MEMBERS + 2))	/* of a call: two keys of a group come twice */

#define KILL	3000U	/* observations between two kills, at most; readers may be */
			/* so many ahead */
#define STEP	100U	/* observations that a step of a writer is good for */

/**
 * struct torture - in shared memory
 * @observations: that were made
 * @mark:         when there are so many, @reached is opened
 * @steps:        of all writers
 * @next:         place in @latest, which has the groups put last, but for hot ones
 * @put:          number of the last put
 * @gets:         observations by GET, with bytes
 */
struct torture {
	struct kvr_store *s;
	struct kvt_gate reached;
	__u32 stop;
	__u32 observations;
	__u32 mark;
	__u32 steps;
	__u32 next;
	__u32 latest[LATEST];
	__u64 seed;
	__u64 put;
	__u64 puts;
	__u64 there;
	__u64 refused;
	__u64 removes;
	__u64 whole;
	__u64 none;
	__u64 gets;
	__u64 lookups;
	__u64 samples;
	__u64 kills;
};

static unsigned int my_number;	/* set before the fork */
static char buf[KEYS][16384];

static void count(__u64 *word, __u64 n)
{
	__atomic_add_fetch(word, n, __ATOMIC_RELAXED);
}

/* Whoever reaches the mark says so. */
static void observed(struct torture *t, __u32 n)
{
	__u32 now = __atomic_add_fetch(&t->observations, n, __ATOMIC_SEQ_CST);
	__u32 mark = kvr_load(&t->mark);

	if (now >= mark && now - n < mark)
		kvt_gate_open(&t->reached, 1);
}

/* In chains of three: the parent is the group before. @parent has room for it. */
static struct grp torture_group(unsigned int id, struct kvr_key *parent)
{
	struct grp g = {
		.key = { 1, id }, .len = 1 + kvt_word(id, 0) % 8000, .members = MEMBERS,
		.flags = KVSTASH_PUT_ATOMIC | (id & 1 ? KVSTASH_PUT_NO_LINGER : 0),
		.parent_kind = KVSTASH_KIND_GROUP,
	};

	*parent = (struct kvr_key){ 1, id - 1 };
	if (id % 3)
		g.parent = parent;
	return g;
}

/* Member 7 has two parts. */
static struct kvr_obj torture_member(const struct grp *g, unsigned int i)
{
	struct kvr_obj o = grp_member(g, i);

	o.parts = i == MEMBERS - 1 ? 2 : 1;
	return o;
}

static unsigned int pick_group(__u64 *rnd)
{
	return kvr_below(rnd, kvr_below(rnd, 2) ? HOT : GROUPS);
}

/* Part @part of put @nr of an object: the number, as far as it fits, and a pattern. */
static __u64 bytes_seed(const struct kvr_obj *o, unsigned int part, __u64 nr)
{
	return kvt_word(kvr_seed(&o->key, part), nr);
}

static void bytes_fill(const struct kvr_obj *o, unsigned int part, __u64 nr, char *to)
{
	size_t len = kvr_part_len(o, part);

	kvt_fill(to, len, bytes_seed(o, part, nr));
	memcpy(to, &nr, len < sizeof(nr) ? len : sizeof(nr));
}

/*
 * Are all bytes those of one put? Gives its number, which of an object of fewer
 * than eight bytes is all that there is.
 */
static bool bytes_right(const struct kvr_obj *o, const char *from, __u64 *nr)
{
	size_t head = o->len < sizeof(*nr) ? o->len : sizeof(*nr), len;

	*nr = 0;
	memcpy(nr, from, head);
	for (unsigned int part = 0; part < o->parts && o->len >= sizeof(*nr); part++) {
		len = kvr_part_len(o, part);
		if (memcmp(nr, from, head) ||
		    kvt_verify_at(from + head, len - head, bytes_seed(o, part, *nr), head) >= 0)
			return false;
		from += len;
	}
	return true;
}

/*
 * Writers
 */

/* Another's put of this member has another tag: a mismatch. */
static int writer_result(struct torture *t, struct kvstash_result r)
{
	switch (r.reason) {
	case KVSTASH_R_OK:
		count(&t->puts, 1);
		return 0;
	case KVSTASH_R_EXISTS:
	case KVSTASH_R_MISMATCH_TAG:
		count(&t->there, 1);
		return 0;
	case KVSTASH_R_IN_FLIGHT:
	case KVSTASH_R_PARENT_MISS:
	case KVSTASH_R_REMOVED:
	case KVSTASH_R_NO_SPACE:
		count(&t->refused, 1);
		return 0;
	}
	return kvr_say("put: %d reason %u detail %llu", r.res, r.reason, r.detail);
}

struct torture_put {
	struct kvstash_put e;
	struct kvr_obj o;
	__u64 nr;
};

static unsigned int prep_member(struct torture *t, const struct grp *g, unsigned int i,
				struct kvstash_put *e, struct torture_put *p, char (*data)[16384])
{
	p->o = torture_member(g, i);
	p->nr = __atomic_add_fetch(&t->put, 1, __ATOMIC_RELAXED);
	for (unsigned int part = 0; part < p->o.parts; part++) {
		bytes_fill(&p->o, part, p->nr, data[part]);
		grp_prep(&e[part], g, i, &p->o, part, data[part]);
		kvstash_prep_put_tag(&e[part], &p->nr, sizeof(p->nr));
	}
	return p->o.parts;
}

/* In two phases, one part after the other; killed in between is likely. */
static int put_in_phases(struct torture *t, int fd, struct kvstash_put *e, unsigned int n)
{
	struct kvstash_result r;
	const void *data;

	for (unsigned int i = 0; i < n; i++) {
		data = (void *)(uintptr_t)e[i].buf;
		e[i].buf = 0;
		r = kvt_reserve_one(fd, &e[i]);
		if (!r.res)
			r = kvt_write1(fd, &e[i].handle, 0, data, e[i].part_len);
		if (!r.res)
			r = kvt_commit1(fd, &e[i].handle);
		if (writer_result(t, r))
			return 1;
	}
	return 0;
}

static void shuffle(unsigned int *order, unsigned int n, __u64 *rnd)
{
	for (unsigned int i = 0; i < n; i++)
		order[i] = i;
	for (unsigned int i = n; i > 1; i--) {
		unsigned int k = kvr_below(rnd, i), o = order[k];

		order[k] = order[i - 1];
		order[i - 1] = o;
	}
}

static void note_latest(struct torture *t, unsigned int id)
{
	__u32 at;

	if (id < HOT)
		return;
	at = __atomic_fetch_add(&t->next, 1, __ATOMIC_RELAXED) % LATEST;
	__atomic_store_n(&t->latest[at], id, __ATOMIC_RELAXED);
}

/* All members in random order: in batches of random length, or in phases. */
static int put_group(struct torture *t, int fd, unsigned int id, __u64 *rnd)
{
	struct torture_put p[MEMBERS];
	struct kvstash_put e[MEMBERS + 1];
	unsigned int order[MEMBERS], n = 0;
	struct kvr_key parent;
	struct grp g = torture_group(id, &parent);

	shuffle(order, MEMBERS, rnd);
	for (unsigned int i = 0; i < MEMBERS; i++) {
		n += prep_member(t, &g, order[i], &e[n], &p[i], &buf[n]);
		if (i < MEMBERS - 1 && kvr_below(rnd, 2))
			continue;
		if (kvr_below(rnd, 4) == 0) {
			if (put_in_phases(t, fd, e, n))
				return 1;
			n = 0;
			continue;
		}
		if (kvt_put(fd, e, n) != (int)n)
			return kvr_say("PUT as a whole failed");
		while (n)
			if (writer_result(t, e[--n].r))
				return 1;
	}
	note_latest(t, id);
	return 0;
}

/* By a member or by the group's key; what living clients fill stays. */
static int remove_group(struct torture *t, int fd, unsigned int id, __u64 *rnd)
{
	struct kvr_key parent;
	struct grp g = torture_group(id, &parent);
	struct kvstash_result r;

	if (kvr_below(rnd, 2))
		r = grp_remove(fd, &g);
	else
		r = grp_remove_member(fd, &g, kvr_below(rnd, MEMBERS), 0);
	if (r.res && r.reason != KVSTASH_R_MISS && r.reason != KVSTASH_R_IN_FLIGHT)
		return kvr_say("remove: %d reason %u", r.res, r.reason);
	count(&t->removes, !r.res);
	return 0;
}

/* Of the hot ones every second step removes one: they come and go all the time. */
static int writer_step(struct torture *t, int fd, __u64 *rnd)
{
	unsigned int id = pick_group(rnd);
	int bad = 0;

	if (kvr_below(rnd, id < HOT ? 2 : 6) == 0)
		return remove_group(t, fd, id, rnd);
	for (unsigned int k = id - id % 3; k <= id && !bad; k++)
		bad = put_group(t, fd, k, rnd);
	return bad;
}

/*
 * A member of which one part is lost can be completed by nobody, as its tag is
 * never used again. So the client ends now and then, and what it left is idle.
 */
static int writer(void *arg)
{
	struct torture *t = arg;
	__u64 rnd = t->seed + 100 * my_number;
	int fd, bad = 0;

	while (!bad && !kvr_load(&t->stop)) {
		fd = kvt_open_ns(t->s->name);
		if (fd < 0)
			return kvr_say("open: %d", fd);
		for (unsigned int i = 0; i < 16 && !bad && !kvr_load(&t->stop); i++) {
			bad = writer_step(t, fd, &rnd);
			kvr_add(&t->steps, 1);
		}
		close(fd);
	}
	return bad;
}

/*
 * Readers
 */

/** struct question - one call about @groups groups with @n keys, mixed */
struct question {
	unsigned int groups;
	unsigned int n;
	struct grp g[ASKED];
	unsigned int which[KEYS];	/* of the groups */
	unsigned int member[KEYS];
	struct kvr_key key[KEYS];
};

/** struct answer - what it said of one key: the number of the put, if known */
struct answer {
	bool there;
	__u64 nr;
};

/* What comes and goes by removal, or what eviction is about. */
static unsigned int ask_group(const struct torture *t, __u64 *rnd)
{
	if (kvr_below(rnd, 2))
		return kvr_below(rnd, HOT);
	return __atomic_load_n(&t->latest[kvr_below(rnd, LATEST)], __ATOMIC_RELAXED);
}

/* Of each group all members but some, and two of them again. */
static void ask(const struct torture *t, struct question *q, unsigned int groups, __u64 *rnd)
{
	unsigned int order[KEYS], which[KEYS], member[KEYS], n = 0;
	bool in_order = kvr_below(rnd, 2);
	struct kvr_key parent;

	for (unsigned int i = 0; i < groups; i++) {
		unsigned int first = kvr_below(rnd, MEMBERS), some = 2 + kvr_below(rnd, 7);

		q->g[i] = torture_group(ask_group(t, rnd), &parent);
		for (unsigned int k = 0; k < some + 2; k++) {
			which[n] = i;
			member[n++] = (first + k % some) % MEMBERS;
		}
	}
	shuffle(order, n, rnd);
	q->groups = groups;
	q->n = n;
	for (unsigned int i = 0; i < n; i++) {
		/* half of the calls ask group by group: then the span is short */
		unsigned int from = in_order ? i : order[i];

		q->which[i] = which[from];
		q->member[i] = member[from];
		q->key[i] = grp_member(&q->g[which[from]], member[from]).key;
	}
}

/* Are two keys of one group? It may have been picked twice. */
static bool same_group(const struct question *q, unsigned int i, unsigned int k)
{
	return q->g[q->which[i]].key.id == q->g[q->which[k]].key.id;
}

/* Always -1. */
static int split(const struct question *q, const char *how, unsigned int i, unsigned int k,
		 const struct answer *a)
{
	kvr_say("%s, group %llu: member %u %s (put %llu), member %u %s (put %llu)", how,
		q->g[q->which[i]].key.id, q->member[i], a[i].there ? "there" : "not", a[i].nr,
		q->member[k], a[k].there ? "there" : "not", a[k].nr);
	return -1;
}

/* The number of observations, or -1. */
static int judge(struct torture *t, const struct question *q, const char *how,
		 const struct answer *a)
{
	int seen = 0;

	for (unsigned int i = 0; i < q->n; i++) {
		bool first = true;

		for (unsigned int k = 0; k < i; k++) {
			if (!same_group(q, i, k))
				continue;
			first = false;
			if (a[i].there != a[k].there)
				return split(q, how, k, i, a);
			if (q->member[i] == q->member[k] && a[i].there && a[i].nr != a[k].nr)
				return split(q, how, k, i, a);
		}
		if (!first)
			continue;
		seen++;
		count(a[i].there ? &t->whole : &t->none, 1);
	}
	observed(t, seen);
	return seen;
}

/* Is what EXISTS says of the group what it says of the member? */
static bool facts_agree(const struct kvstash_exists *x)
{
	bool visible = x->group_state == KVSTASH_STATE_VISIBLE;

	return x->members == MEMBERS && x->group_flags == KVSTASH_GROUP_ATOMIC &&
	       visible == !x->r.res && (!visible || x->members_present == MEMBERS);
}

/* The same complete member twice, and so the same group? No other put has its number. */
static bool same_member(const struct question *q, const struct answer *a,
			const struct kvstash_exists *x, unsigned int i, unsigned int k)
{
	return same_group(q, i, k) && q->member[i] == q->member[k] && a[i].nr == a[k].nr &&
	       x[i].parts_present == x[i].parts && x[k].parts_present == x[k].parts;
}

/* And what it says of the group by the same member again? */
static int judge_facts(const struct question *q, const struct answer *a,
		       const struct kvstash_exists *x)
{
	for (unsigned int i = 0; i < q->n; i++) {
		unsigned int k;

		if (x[i].r.res && x[i].r.res != -ENOENT)
			return kvr_say("EXISTS: %d reason %u", x[i].r.res, x[i].r.reason);
		if (x[i].state == KVSTASH_STATE_ABSENT)
			continue;
		for (k = 0; k < i; k++)
			if (x[k].state != KVSTASH_STATE_ABSENT && same_member(q, a, x, i, k))
				break;
		if (facts_agree(&x[i]) && x[i].group_state == x[k].group_state &&
		    x[i].members_present == x[k].members_present)
			continue;
		return kvr_say("group %llu: reason %u, of %u members %u, state %u; before %u, %u",
			       q->g[q->which[i]].key.id, x[i].r.reason, x[i].members,
			       x[i].members_present, x[i].group_state, x[k].members_present,
			       x[k].group_state);
	}
	return 0;
}

static int look(struct torture *t, int fd, const struct question *q)
{
	static char tags[KEYS][KVSTASH_TAG_MAX];
	struct kvstash_exists x[KEYS];
	struct answer a[KEYS] = { 0 };
	struct kvstash_keys k;

	kvstash_prep_keys(&k, q->key, sizeof(q->key[0]), q->n);
	kvstash_prep_keys_tags(&k, tags);
	if (kvt_exists(fd, &k, x) != (int)q->n)
		return kvr_say("EXISTS as a whole failed");
	for (unsigned int i = 0; i < q->n; i++) {
		a[i].there = !x[i].r.res;
		memcpy(&a[i].nr, tags[i], sizeof(a[i].nr));
	}
	return judge(t, q, "EXISTS", a) < 0 || judge_facts(q, a, x);
}

static int fetch(struct torture *t, int fd, const struct question *q)
{
	struct kvstash_get e[KEYS];
	struct answer a[KEYS] = { 0 };
	int seen;

	for (unsigned int i = 0; i < q->n; i++)
		kvstash_prep_get(&e[i], &q->key[i], sizeof(q->key[i]), buf[i], sizeof(buf[i]));
	if (kvt_get(fd, e, q->n) != (int)q->n)
		return kvr_say("GET as a whole failed");
	for (unsigned int i = 0; i < q->n; i++) {
		struct kvr_obj o = torture_member(&q->g[q->which[i]], q->member[i]);

		a[i].there = !e[i].r.res;
		if (e[i].r.res && e[i].r.res != -ENOENT)
			return kvr_say("GET: %d reason %u", e[i].r.res, e[i].r.reason);
		if (!a[i].there)
			continue;
		if (e[i].bytes != kvr_size(&o) || !bytes_right(&o, buf[i], &a[i].nr))
			return kvr_say("group %llu member %u: wrong bytes of put %llu",
				       q->g[q->which[i]].key.id, q->member[i], a[i].nr);
	}
	seen = judge(t, q, "GET", a);
	count(&t->gets, seen > 0 ? seen : 0);
	return seen < 0;
}

/*
 * The run over the members of one group is all of them or nothing, which says only
 * that the first one is not there.
 */
static int lookup(struct torture *t, int fd, const struct grp *g)
{
	__u32 reason;
	int run = grp_lookup(fd, g, &reason);

	if (run && run != (int)MEMBERS)
		return kvr_say("group %llu: run %d reason %u", g->key.id, run, reason);
	observed(t, !!run);
	count(&t->lookups, !!run);
	return 0;
}

/* Readers wait for kills and for writers that are far behind. False at the end. */
static bool reader_goes_on(const struct torture *t)
{
	__u32 seen = kvr_load(&t->observations);

	if (seen > KILL && (kvr_await(&t->mark, seen - KILL, &t->stop) ||
			    kvr_await(&t->steps, (seen - KILL) / STEP, &t->stop)))
		return false;
	return !kvr_load(&t->stop);
}

static int reader(void *arg)
{
	struct torture *t = arg;
	int fd = kvt_open_ns(t->s->name);
	__u64 rnd = t->seed + 1000 * (1 + my_number);
	struct question q;

	kvr_pin(my_number % 2);
	while (fd >= 0 && reader_goes_on(t)) {
		ask(t, &q, ASKED, &rnd);
		if (look(t, fd, &q) || lookup(t, fd, &q.g[0]))
			return 1;
		if (kvr_below(&rnd, 4))
			continue;
		ask(t, &q, ASKED / 4, &rnd);
		if (fetch(t, fd, &q))
			return 1;
	}
	return fd < 0;
}

/* I6 in each of many samples. */
static int sampler(void *arg)
{
	struct torture *t = arg;
	struct kvt_counts c;

	while (!kvr_load(&t->stop)) {
		if (kvt_counts_of(t->s->pool, &c) || !kvt_i6(&c))
			return kvr_say("I6: free %llu committed %llu in flight %llu held %llu",
				       c.free, c.committed, c.in_flight, c.held);
		count(&t->samples, 1);
		usleep(1000);
	}
	return 0;
}

/*
 * The run
 */

static __u32 wanted(void)
{
	const char *s = getenv("TORTURE_OBSERVATIONS");
	__u32 n = s ? strtoul(s, NULL, 0) : 0;

	return n ? n : kvt_rounds(400000);
}

/* So that from the first step on each put has to evict. */
static bool fill_pool(struct torture *t)
{
	__u64 rnd = t->seed + 3;

	for (unsigned int id = 0; id < GROUPS && !kvr_ns(t->s, "groups_evicted"); id++)
		if (put_group(t, t->s->fd, id, &rnd))
			return false;
	return true;
}

/** struct cast - who takes part, and what it takes to see that one ends */
struct cast {
	struct torture *t;
	pid_t writer[WRITERS];
	pid_t other[READERS + 1];
	struct pollfd p[1 + WRITERS + READERS + 1];
	unsigned int number;	/* of the next to start */
};

static void start(struct cast *c, int (*fn)(void *arg), unsigned int number, pid_t *pid,
		  struct pollfd *p)
{
	my_number = number;
	*pid = kvr_spawn(fn, c->t);
	*p = (struct pollfd){ syscall(SYS_pidfd_open, *pid, 0), POLLIN, 0 };
}

static void start_writer(struct cast *c, unsigned int i)
{
	start(c, writer, c->number++, &c->writer[i], &c->p[1 + i]);
}

static void start_all(struct cast *c)
{
	struct pollfd *p = &c->p[1 + WRITERS];

	c->p[0] = (struct pollfd){ c->t->reached.fd[0], POLLIN, 0 };
	for (unsigned int i = 0; i < WRITERS; i++)
		start_writer(c, i);
	for (unsigned int i = 0; i < READERS; i++)
		start(c, reader, i, &c->other[i], &p[i]);
	start(c, sampler, 0, &c->other[READERS], &p[READERS]);
}

/* Until there are @mark observations; false if one ends: it has found something. */
static bool await_observations(struct cast *c, __u32 mark)
{
	struct torture *t = c->t;

	kvr_add(&t->mark, mark - t->mark);
	while (kvr_load(&t->observations) < mark) {
		if (poll(c->p, KVT_LEN(c->p), -1) < 0)
			return false;
		for (unsigned int i = 1; i < KVT_LEN(c->p); i++)
			if (c->p[i].revents)
				return false;
		kvt_gate_wait(&t->reached);
	}
	return true;
}

static bool kill_writer(struct cast *c, unsigned int i)
{
	close(c->p[1 + i].fd);
	if (kvr_kill(c->writer[i]) != -SIGKILL)
		return false;
	start_writer(c, i);
	c->t->kills++;
	return true;
}

/* Each time that some observations were made a writer is killed, and another comes. */
static bool kill_writers(struct cast *c)
{
	__u32 n = wanted(), mark = 0;
	__u64 rnd = c->t->seed + 7;

	do {
		mark += 1 + kvr_below(&rnd, KILL);
		mark = mark < n ? mark : n;
		if (!await_observations(c, mark) || !kill_writer(c, kvr_below(&rnd, WRITERS)))
			return false;
	} while (mark < n);
	return true;
}

static void end_all(struct __test_metadata *_metadata, struct cast *c)
{
	kvr_add(&c->t->stop, 1);
	for (unsigned int i = 0; i < WRITERS; i++)
		EXPECT_EQ(0, kvt_wait(c->writer[i]));
	for (unsigned int i = 0; i < READERS + 1; i++)
		EXPECT_EQ(0, kvt_wait(c->other[i]));
	for (unsigned int i = 1; i < KVT_LEN(c->p); i++)
		close(c->p[i].fd);
}

static void report(struct __test_metadata *_metadata, const struct torture *t)
{
	TH_LOG("%u observations: %llu whole, %llu none; %llu by GET, %llu by LOOKUP",
	       t->observations, t->whole, t->none, t->gets, t->lookups);
	TH_LOG("parts put %llu, there %llu, refused %llu; removed %llu; killed %llu; samples %llu",
	       t->puts, t->there, t->refused, t->removes, t->kills, t->samples);
	TH_LOG("groups published %llu, evicted %llu, removed %llu, collected %llu",
	       kvr_ns(t->s, "groups_published"), kvr_ns(t->s, "groups_evicted"),
	       kvr_ns(t->s, "groups_removed"), kvr_ns(t->s, "groups_collected"));
	TH_LOG("now filling %llu, complete %llu", kvr_ns(t->s, "groups_filling"),
	       kvr_ns(t->s, "groups_complete"));
}

/*
 * The counters tell one story: what was published is there, or has gone in one of
 * these ways, and only whole groups are visible or were evicted. Groups that went
 * with their parent are counted by their members, as those that were not complete.
 */
static void expect_counters(struct __test_metadata *_metadata, const struct kvr_store *s)
{
	__u64 published = kvr_ns(s, "groups_published"), evicted = kvr_ns(s, "groups_evicted");
	__u64 visible = kvr_ns(s, "visible");

	EXPECT_EQ(0, visible % MEMBERS);
	EXPECT_EQ(MEMBERS * evicted, kvr_ns(s, "evictions"));
	EXPECT_LE(visible / MEMBERS + evicted, published);
	EXPECT_LE(visible / MEMBERS, kvr_ns(s, "groups_complete"));
	EXPECT_LE(published, visible / MEMBERS + evicted + kvr_ns(s, "groups_removed") +
		  kvr_ns(s, "killed_with_parent") / MEMBERS);
	EXPECT_EQ(MEMBERS * published, kvr_ns(s, "published"));
	EXPECT_EQ(0, kvr_ns(s, "leases"));
}

/* All that a run is about did happen. */
static void expect_figures(struct __test_metadata *_metadata, const struct torture *t)
{
	const struct kvr_store *s = t->s;

	EXPECT_LE(wanted(), t->observations);
	EXPECT_LT(0, t->whole);
	EXPECT_LT(0, t->none);
	EXPECT_LT(0, t->gets);
	EXPECT_LT(0, t->kills);
	EXPECT_LT(0, t->removes);
	EXPECT_LT(0, t->samples);
	EXPECT_LT(0, kvr_ns(s, "groups_evicted"));
	expect_counters(_metadata, s);
	EXPECT_EQ(0, kvr_pool(s, "in_flight_bytes"));
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
	kvr_sane(_metadata, s);
}

/* The bound is for hangs: ten million observations in a slow bed take hours. */
TEST_F_TIMEOUT(store, I1_I4_I6_churn, 14400)
{
	struct torture *t = kvr_shared(sizeof(*t));
	struct kvr_store *s = &self->s;
	struct cast c = { .t = t };

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, POOL, NULL);
	t->s = s;
	t->seed = kvr_run_seed();
	ASSERT_EQ(0, kvt_gate_init(&t->reached));
	ASSERT_TRUE(fill_pool(t));
	start_all(&c);
	EXPECT_TRUE(kill_writers(&c));
	end_all(_metadata, &c);
	kvt_gate_end(&t->reached);
	report(_metadata, t);
	expect_figures(_metadata, t);
}

TEST_HARNESS_MAIN
