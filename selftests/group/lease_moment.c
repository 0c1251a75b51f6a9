// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 */
/*
 * EXISTS with leases while groups come and go: within one call, in a later window,
 * or when it looks for a key again to lease it. The call is stopped between two
 * windows by a page of its array of leases that is not there until userfaultfd
 * brings it, so that no timing is involved.
 */
#include "lease.h"

#define WINDOW	64U	/* keys that the kernel looks at in one go */
#define WINDOWS	2U
#define KEYS	(WINDOW * WINDOWS)
#define LEN	3000U

static char buf[8192];

/*
 * Generation @gen of group @id: another group each time, with members of the same
 * keys. Key @i of a call is member @i / WINDOW of group @i % WINDOW.
 */
static struct kvr_obj moment_obj(unsigned int i)
{
	return (struct kvr_obj){ .key = { 1, i }, .len = LEN, .parts = 1 };
}

static struct grp moment_group(unsigned int id, __u64 gen)
{
	return (struct grp){
		.key = { 0x1000 + gen, id }, .len = LEN, .members = WINDOWS,
		.flags = KVSTASH_PUT_ATOMIC,
	};
}

static __u64 moment_seed(unsigned int i, __u64 gen)
{
	struct kvr_obj o = moment_obj(i);

	return kvt_word(kvr_seed(&o.key, 0), gen);
}

/* All groups of a generation; 0 or a negative errno. */
static int moment_put(int fd, __u64 gen)
{
	struct kvstash_put e;

	for (unsigned int i = 0; i < KEYS; i++) {
		struct grp g = moment_group(i % WINDOW, gen);
		struct kvr_obj o = moment_obj(i);
		struct kvstash_result r;

		kvt_fill(buf, LEN, moment_seed(i, gen));
		grp_prep(&e, &g, i / WINDOW, &o, 0, buf);
		kvstash_prep_put_tag(&e, &gen, sizeof(gen));
		r = kvt_put_one(fd, &e);
		if (r.res)
			return r.res;
	}
	return 0;
}

static int moment_remove(int fd, __u64 gen)
{
	for (unsigned int id = 0; id < WINDOW; id++) {
		struct grp g = moment_group(id, gen);
		struct kvstash_result r = grp_remove(fd, &g);

		if (r.res)
			return r.res;
	}
	return 0;
}

/** struct moment - a call that stops after its first window, by a thread */
struct moment {
	pthread_t thread;
	int fd;
	int uffd;
	int done;
	struct kvstash_keys k;
	struct kvstash_handle *h;	/* a page, of which the first write stops */
	struct kvr_key keys[KEYS];
	struct kvstash_exists x[KEYS];
	char tags[KEYS][KVSTASH_TAG_MAX];
};

static void *moment_main(void *arg)
{
	struct moment *m = arg;

	m->done = kvt_exists_lease(m->fd, &m->k, m->x, m->h);
	return NULL;
}

static int moment_arm(struct moment *m)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	m->h = kvt_map(KVT_PAGE);
	m->uffd = kvr_uffd_open();
	if (!m->h || m->uffd < 0)
		return -ENOMEM;
	reg.range.start = kvstash_addr(m->h);
	reg.range.len = KVT_PAGE;
	return ioctl(m->uffd, UFFDIO_REGISTER, &reg) ? -errno : 0;
}

/* Starts the call, and waits until it stands after its first window. */
static void moment_start(struct __test_metadata *_metadata, struct moment *m,
			 const struct kvr_store *s)
{
	struct pollfd p;
	struct uffd_msg msg;

	memset(m, 0xff, sizeof(*m));
	for (unsigned int i = 0; i < KEYS; i++)
		m->keys[i] = moment_obj(i).key;
	kvstash_prep_keys(&m->k, m->keys, sizeof(m->keys[0]), KEYS);
	kvstash_prep_keys_tags(&m->k, m->tags);
	m->fd = kvt_open_ns(s->name);
	ASSERT_LE(0, m->fd);
	ASSERT_EQ(0, moment_arm(m));
	ASSERT_EQ(0, pthread_create(&m->thread, NULL, moment_main, m));
	p = (struct pollfd){ m->uffd, POLLIN, 0 };
	ASSERT_EQ(1, poll(&p, 1, -1));
	ASSERT_EQ(sizeof(msg), read(m->uffd, &msg, sizeof(msg)));
	ASSERT_EQ(UFFD_EVENT_PAGEFAULT, msg.event);
}

/* Lets it go on; all that it does not write of the leases is 0xff. */
static void moment_finish(struct __test_metadata *_metadata, struct moment *m)
{
	static char page[KVT_PAGE];
	struct uffdio_copy copy = {
		.dst = kvstash_addr(m->h), .src = kvstash_addr(page), .len = KVT_PAGE,
	};

	memset(page, 0xff, sizeof(page));
	EXPECT_EQ(0, ioctl(m->uffd, UFFDIO_COPY, &copy));
	EXPECT_EQ(0, pthread_join(m->thread, NULL));
}

static void moment_end(struct moment *m)
{
	close(m->fd);
	close(m->uffd);
	munmap(m->h, KVT_PAGE);
}

/* Key @i was seen, and is leased, as generation @gen put it. */
static void expect_leased(struct __test_metadata *_metadata, const struct moment *m,
			  unsigned int i, __u64 gen)
{
	__u64 bytes, tag;

	KVT_OK(m->x[i].r);
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, m->x[i].state);
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, m->x[i].group_state);
	memcpy(&tag, m->tags[i], sizeof(tag));
	EXPECT_EQ(gen, tag);
	KVT_OK(kvt_get_by_lease1(m->fd, &m->h[i], buf, LEN, &bytes));
	EXPECT_EQ(LEN, bytes);
	EXPECT_EQ(-1, kvt_verify(buf, LEN, moment_seed(i, gen)));
}

/* To a call that begins now it is generation @gen that is there. */
static void expect_now(struct __test_metadata *_metadata, int fd, __u64 gen)
{
	for (unsigned int i = 0; i < KEYS; i++) {
		struct kvr_obj o = moment_obj(i);

		KVT_OK(kvt_get1(fd, &o.key, sizeof(o.key), buf, LEN, NULL));
		EXPECT_EQ(-1, kvt_verify(buf, LEN, moment_seed(i, gen)));
	}
}

/*
 * 64 groups are seen by their first members, and are removed and put anew before the
 * call meets them again: it leases the other members of those that it has seen.
 */
TEST_F(store, I3_I4_leases_of_groups_that_went_since_they_were_seen)
{
	static struct moment m;
	struct kvr_store *s = &self->s;

	if (kvr_uffd_works())
		SKIP(return, "userfaultfd: %s", strerror(-kvr_uffd_works()));
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	ASSERT_EQ(0, moment_put(s->fd, 1));
	moment_start(_metadata, &m, s);
	EXPECT_EQ(0, moment_remove(s->fd, 1));
	EXPECT_EQ(0, moment_put(s->fd, 2));
	expect_now(_metadata, s->fd, 2);
	moment_finish(_metadata, &m);

	EXPECT_EQ(KEYS, m.done);
	for (unsigned int i = 0; i < KEYS; i++)
		expect_leased(_metadata, &m, i, 1);
	KVL_LEASED(KEYS, KEYS * kvt_pages(LEN), s);
	EXPECT_EQ(KEYS * kvt_pages(LEN), kvr_pool(s, "held_bytes"));
	EXPECT_TRUE(kvl_release_all(m.fd, m.h, KEYS));
	KVL_LEASED(0, 0, s);
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
	expect_now(_metadata, s->fd, 2);
	moment_end(&m);
}

/* Groups that are published after some of their members were missed: no lease. */
TEST_F(store, I4_no_leases_of_groups_that_came_since_the_call_began)
{
	static struct moment m;
	struct kvr_store *s = &self->s;

	if (kvr_uffd_works())
		SKIP(return, "userfaultfd: %s", strerror(-kvr_uffd_works()));
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	moment_start(_metadata, &m, s);
	EXPECT_EQ(0, moment_put(s->fd, 1));
	expect_now(_metadata, s->fd, 1);
	moment_finish(_metadata, &m);

	EXPECT_EQ(KEYS, m.done);
	for (unsigned int i = 0; i < KEYS; i++) {
		__u32 why = i < WINDOW ? KVSTASH_R_MISS : KVSTASH_R_GROUP_INCOMPLETE;

		KVT_EXPECT(ENOENT, why, m.x[i].r);
		EXPECT_TRUE(kvl_no_handle(&m.h[i]));
	}
	KVL_LEASED(0, 0, s);
	expect_now(_metadata, s->fd, 1);
	moment_end(&m);
}

static void on_signal(int sig)
{
	(void)sig;
}

/* A signal ends the call after its first window: the rest is not leased, and says so. */
TEST_F(store, no_leases_after_a_signal)
{
	const struct sigaction act = { .sa_handler = on_signal };
	static struct moment m;
	struct kvr_store *s = &self->s;

	if (kvr_uffd_works())
		SKIP(return, "userfaultfd: %s", strerror(-kvr_uffd_works()));
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	ASSERT_EQ(0, moment_put(s->fd, 1));
	ASSERT_EQ(0, sigaction(SIGUSR1, &act, NULL));
	moment_start(_metadata, &m, s);
	EXPECT_EQ(0, pthread_kill(m.thread, SIGUSR1));
	moment_finish(_metadata, &m);

	EXPECT_EQ(WINDOW, m.done);
	for (unsigned int i = 0; i < WINDOW; i++)
		expect_leased(_metadata, &m, i, 1);
	for (unsigned int i = WINDOW; i < KEYS; i++) {
		KVT_EXPECT(EINTR, KVSTASH_R_INTERRUPTED, m.x[i].r);
		EXPECT_TRUE(kvl_no_handle(&m.h[i]));
	}
	/* a lease of a member is charged with its group */
	KVL_LEASED(WINDOW, KEYS * kvt_pages(LEN), s);
	EXPECT_TRUE(kvl_release_all(m.fd, m.h, WINDOW));
	KVL_LEASED(0, 0, s);
	moment_end(&m);
}

/*
 * Each key is looked for twice, and may be another object's the second time: now a
 * page, now the member of a group of its own. Another process sees to that, all the
 * time, with the last keys of a window: between their two looks is the most time.
 */
#define TURNED	8U

struct turn {
	struct kvr_store *s;
	struct kvr_barrier b;
	unsigned long rounds;
	__u32 stop;
	__u64 leases;
	__u64 missed;
	__u64 other;	/* leases on another object than EXISTS told of */
	__u64 turns;
};

/* Every second generation is in groups of one. The bytes begin with the generation. */
static struct kvstash_result turn_put(int fd, unsigned int i, __u64 gen)
{
	struct grp g = moment_group(i, gen);
	struct kvr_obj o = moment_obj(i);
	struct kvstash_put e;

	g.members = 1;
	kvt_fill(buf, LEN, moment_seed(i, gen));
	memcpy(buf, &gen, sizeof(gen));
	if (gen & 1)
		grp_prep(&e, &g, 0, &o, 0, buf);
	else
		kvr_prep(&e, &o, 0, buf);
	kvstash_prep_put_tag(&e, &gen, sizeof(gen));
	return kvt_put_one(fd, &e);
}

static int turner(void *arg)
{
	struct turn *t = arg;
	int fd = kvt_open_ns(t->s->name);

	kvr_pin(1);
	if (fd < 0 || kvr_barrier_wait(&t->b))
		return kvr_barrier_break(&t->b);
	for (__u64 gen = 2; !kvr_load(&t->stop); gen++, t->turns++) {
		for (unsigned int i = WINDOW - TURNED; i < WINDOW; i++) {
			struct kvr_obj o = moment_obj(i);
			struct kvstash_result r = kvr_remove(fd, &o);

			if (!r.res)
				r = turn_put(fd, i, gen);
			if (r.res)
				return kvr_say("key %u: %d reason %u", i, r.res, r.reason);
		}
	}
	return 0;
}

/* The bytes of a lease are those of one generation; that of EXISTS or a later one. */
static int turn_leased(struct turn *t, const struct moment *m, unsigned int i)
{
	struct kvstash_result r = kvt_get_by_lease1(m->fd, &m->h[i], buf, LEN, NULL);
	__u64 gen, tag;

	if (r.res)
		return kvr_say("get: %d reason %u", r.res, r.reason);
	memcpy(&gen, buf, sizeof(gen));
	memcpy(&tag, m->tags[i], sizeof(tag));
	if (kvt_verify_at(buf + 8, LEN - 8, moment_seed(i, gen), 8) >= 0)
		return kvr_say("wrong bytes of generation %llu", gen);
	if (tag > gen)
		return kvr_say("leased generation %llu after %llu was seen", gen, tag);
	t->leases++;
	t->other += tag != gen;
	return 0;
}

static __u64 turn_leases(const struct turn *t, const char *name)
{
	__u64 v = 0;

	return kvt_figure(t->s->ns, name, &v) ? ~0ULL : v;
}

static int turn_judge(struct turn *t, const struct moment *m)
{
	struct kvstash_handle h[WINDOW];
	unsigned int n = 0;

	for (unsigned int i = 0; i < WINDOW; i++) {
		struct kvstash_result r = m->x[i].r;
		bool turned = i >= WINDOW - TURNED;

		if ((r.res && r.res != -ENOENT) || kvl_no_handle(&m->h[i]) == !r.res)
			return kvr_say("key %u: %d reason %u, lease %llu", i, r.res, r.reason,
				       m->h[i].seq);
		if (r.res && !turned)
			return kvr_say("key %u: %d reason %u", i, r.res, r.reason);
		if (!r.res && turned && turn_leased(t, m, i))
			return 1;
		t->missed += !!r.res;
		if (!r.res)
			h[n++] = m->h[i];
	}
	if (turn_leases(t, "leases") != n)
		return kvr_say("not as many leases as handles");
	if (n && !kvl_release_all(m->fd, h, n))
		return kvr_say("not released");
	return turn_leases(t, "leased_bytes") ? kvr_say("leased bytes without leases") : 0;
}

static int turn_lessee(void *arg)
{
	static struct kvstash_handle h[WINDOW];
	static struct moment m;
	struct turn *t = arg;

	m.fd = kvt_open_ns(t->s->name);
	m.h = h;
	kvr_pin(0);
	for (unsigned int i = 0; i < WINDOW; i++)
		m.keys[i] = moment_obj(i).key;
	if (m.fd < 0 || kvr_barrier_wait(&t->b))
		return kvr_barrier_break(&t->b);
	for (unsigned long round = 0; round < t->rounds; round++) {
		kvstash_prep_keys(&m.k, m.keys, sizeof(m.keys[0]), WINDOW);
		kvstash_prep_keys_tags(&m.k, m.tags);
		memset(h, 0xff, sizeof(h));
		if (kvt_exists_lease(m.fd, &m.k, m.x, m.h) != WINDOW)
			return kvr_say("EXISTS as a whole failed");
		if (turn_judge(t, &m))
			return 1;
	}
	return 0;
}

TEST_F_TIMEOUT(store, I3_leases_while_keys_change_hands, 300)
{
	struct turn *t = kvr_shared(sizeof(*t));
	struct kvr_store *s = &self->s;
	pid_t lessee, other;

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, s, KVR_MB(4), NULL);
	*t = (struct turn){ .s = s, .b.n = 2, .rounds = 2000 };
	for (unsigned int i = 0; i < WINDOW; i++)
		KVT_OK(turn_put(s->fd, i, 1));
	lessee = kvr_spawn(turn_lessee, t);
	other = kvr_spawn(turner, t);
	EXPECT_EQ(0, kvt_wait(lessee));
	kvr_add(&t->stop, 1);
	EXPECT_EQ(0, kvt_wait(other));
	TH_LOG("leases %llu, of them %llu on what came later; missed %llu; turns %llu",
	       t->leases, t->other, t->missed, t->turns);
	EXPECT_EQ(0, t->other);
	EXPECT_LT(0, t->leases);
	KVL_LEASED(0, 0, s);
	EXPECT_EQ(0, kvr_pool(s, "held_bytes"));
}

TEST_HARNESS_MAIN
