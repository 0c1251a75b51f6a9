// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Lookups with candidates: each is asked once, and held with the run or not at all
 */
#include <errno.h>
#include <stdlib.h>

#include "check.h"

#define MAX KVSTASH_BATCH_MAX
#define SOME KVSTASH_CANDIDATES_MAX

/* Keys, and @m candidates with keys of the same form */
struct ask {
	struct kvstash *c;
	struct kvstash_keys k;
	struct kvstash_candidate *s;
	struct kvstash_handle *h;
	char *keys;
	char *names;
	size_t m;
};

static struct ask *ask(size_t n, size_t m)
{
	struct ask *a = zeros(1, sizeof(*a));

	a->c = fake_open();
	a->m = m;
	a->keys = number_keys(n ? n : 1, NULL);
	a->names = number_keys(m, NULL);
	a->s = zeros(m, sizeof(*a->s));
	a->h = zeros(n ? n : 1, sizeof(*a->h));
	for (size_t i = 0; i < m; i++)
		kvstash_prep_candidate(&a->s[i], a->names + i * 8, 8);
	kvstash_prep_keys(&a->k, a->keys, 8, n);
	kvstash_prep_keys_candidates(&a->k, a->s, m);
	return a;
}

static void ask_end(struct ask *a)
{
	kvstash_close(a->c);
	free(a->keys);
	free(a->names);
	free(a->s);
	free(a->h);
	free(a);
}

/* Answered once each and in order; leased are those that are there, if any is. */
static void answers_are(const struct ask *a, int leased)
{
	size_t i;

	for (i = 0; i < a->m; i++) {
		const struct kvstash_candidate *s = &a->s[i];
		int there = i < fake.states;

		if (s->r.res != (there ? 0 : -ENOENT) ||
		    s->r.detail != i + 1 ||
		    s->bytes != (there ? FAKE_STATE : 0) ||
		    !s->lease.client != !(there && leased))
			break;
	}
	CHECK_EQ(i, a->m);
	CHECK_EQ(fake.asked, a->m);
}

static void gives(struct ask *a, size_t run, unsigned int reason,
		  unsigned int calls)
{
	struct kvstash_keys before = a->k;
	size_t done;

	fake.calls = 0;
	fake.asked = 0;
	fake.leased = 0;
	CHECK_EQ(kvstash_lookup_all(a->c, &a->k, &done), 0);
	CHECK_EQ(done, run);
	CHECK_EQ(a->k.run, run);
	CHECK_EQ(a->k.bytes, run * FAKE_OBJECT);
	CHECK_EQ(a->k.reason, reason);
	CHECK_EQ(fake.calls, calls);
	answers_are(a, a->k.flags & KVSTASH_KEYS_LEASE);
	/* else as the caller filled it */
	before.done = a->k.done;
	before.run = a->k.run;
	before.bytes = a->k.bytes;
	before.reason = a->k.reason;
	CHECK(!memcmp(&a->k, &before, sizeof(before)));
}

static void test_one_call(void)
{
	struct ask *a = ask(9, 5);
	struct kvstash_exists res[9];
	unsigned int reason, field;

	fake.visible = 4;
	fake.states = 3;
	CHECK_EQ(kvstash_lookup(a->c, &a->k), 4);
	CHECK_EQ(a->k.reason, KVSTASH_R_MISS);
	CHECK_EQ(a->k.bytes, 4 * FAKE_OBJECT);
	answers_are(a, 0);
	/* the stride is the library's to say */
	a->k.candidate_stride = 0;
	kvstash_prep_keys_lease(&a->k, a->h);
	fake.asked = 0;
	CHECK_EQ(kvstash_lookup(a->c, &a->k), 4);
	CHECK_EQ(fake.leased, 4 + 3);
	answers_are(a, 1);
	kvstash_prep_keys_candidates(&a->k, a->s, SOME + 1);
	CHECK_EQ(kvstash_lookup(a->c, &a->k), -EINVAL);
	kvstash_last_refusal(a->c, &reason, &field);
	CHECK_EQ(reason, KVSTASH_R_COUNT);
	CHECK_EQ(field, offsetof(struct kvstash_keys, nr_candidates));

	/* no other command has candidates */
	kvstash_prep_keys_candidates(&a->k, a->s, 5);
	CHECK_EQ(kvstash_exists(a->c, &a->k, res), 9);
	kvstash_prep_keys_candidates(&a->k, a->s, 5);
	CHECK_EQ(kvstash_remove(a->c, &a->k, res), 9);
	kvstash_prep_keys_candidates(&a->k, a->s, 5);
	CHECK_EQ(kvstash_pin_all(a->c, &a->k, res, NULL), 0);
	CHECK_EQ(a->k.nr_candidates, 5);
	CHECK_EQ(fake.asked, 5);
	ask_end(a);
}

static void test_alone(void)
{
	struct ask *a = ask(0, 5);

	kvstash_prep_keys(&a->k, NULL, 0, 0);
	kvstash_prep_keys_candidates(&a->k, a->s, 5);
	kvstash_prep_keys_lease(&a->k, NULL);
	fake.states = 2;
	CHECK_EQ(kvstash_lookup(a->c, &a->k), 0);
	answers_are(a, 1);
	gives(a, 0, KVSTASH_R_OK, 1);
	/* nothing to ask is no call */
	kvstash_prep_keys_candidates(&a->k, NULL, 0);
	CHECK_EQ(kvstash_lookup_all(a->c, &a->k, NULL), 0);
	CHECK_EQ(fake.calls, 1);
	ask_end(a);
}

static void test_all(size_t m, unsigned int calls_least)
{
	struct ask *a = ask(2 * MAX + 5, m);
	unsigned int calls = calls_least > 3 ? calls_least : 3;

	fake.states = (unsigned int)m - 1;
	fake.visible = 2 * MAX + 5;
	gives(a, 2 * MAX + 5, KVSTASH_R_OK, calls);
	kvstash_prep_keys_lease(&a->k, a->h);
	gives(a, 2 * MAX + 5, KVSTASH_R_OK, calls);
	CHECK_EQ(fake.leased, 2 * MAX + 5 + m - 1);
	/* a gap ends the keys, and no candidate behind it is lost */
	fake.visible = MAX + 9;
	gives(a, MAX + 9, KVSTASH_R_MISS, calls_least > 2 ? calls_least : 2);
	CHECK_EQ(a->h[MAX + 8].client, FAKE_CLIENT);
	fake.visible = 0;
	gives(a, 0, KVSTASH_R_MISS, calls_least);
	ask_end(a);
}

static void test_signals(void)
{
	struct ask *a = ask(MAX + 5, SOME);

	fake.states = 3000;
	fake.visible = MAX + 5;
	fake.eintr = 1;
	gives(a, MAX + 5, KVSTASH_R_OK, 3);
	fake.eintr = 0;
	fake.signal = 30000;
	gives(a, MAX + 5, KVSTASH_R_OK, 3);
	/* candidates that a signal came before are asked again, those alone */
	fake.stop = 1000;
	kvstash_prep_keys_lease(&a->k, a->h);
	gives(a, MAX + 5, KVSTASH_R_OK, 5);
	CHECK_EQ(fake.leased, MAX + 5 + 3000);
	CHECK_EQ(fake.count[4], 0);
	ask_end(a);
}

/* All or none, of what was leased by calls before the one that failed */
static void test_undo(void)
{
	struct ask *a = ask(2 * MAX, SOME + 100);
	unsigned int reason, field;
	size_t done;

	kvstash_prep_keys_lease(&a->k, a->h);
	fake.visible = 2 * MAX;
	fake.states = SOME - 7;
	fake.bad = 2;
	fake.err = EDQUOT;
	fake.reason = KVSTASH_R_LEASE_BUDGET;
	fake.field = 88;
	CHECK_EQ(kvstash_lookup_all(a->c, &a->k, &done), -EDQUOT);
	CHECK_EQ(done, MAX);
	CHECK_EQ(fake.leased, MAX + SOME - 7);
	CHECK_EQ(fake.released, MAX + SOME - 7);
	for (done = 0; done < a->m && !a->s[done].lease.client; done++)
		;
	CHECK_EQ(done, a->m);
	for (done = 0; done < 2 * MAX && !a->h[done].client; done++)
		;
	CHECK_EQ(done, 2 * MAX);
	CHECK_EQ(a->k.reason, KVSTASH_R_LEASE_BUDGET);
	kvstash_last_refusal(a->c, &reason, &field);
	CHECK_EQ(reason, KVSTASH_R_LEASE_BUDGET);
	CHECK_EQ(field, 88);

	/* of candidates alone */
	kvstash_prep_keys(&a->k, NULL, 0, 0);
	kvstash_prep_keys_candidates(&a->k, a->s, a->m);
	kvstash_prep_keys_lease(&a->k, NULL);
	fake.leased = 0;
	fake.released = 0;
	fake.bad = fake.calls + 2;
	CHECK_EQ(kvstash_lookup_all(a->c, &a->k, NULL), -EDQUOT);
	CHECK_EQ(fake.released, SOME - 7);

	/* without leases there is nothing to give back */
	a->k.flags = 0;
	fake.released = 0;
	fake.bad = fake.calls + 2;
	CHECK_EQ(kvstash_lookup_all(a->c, &a->k, NULL), -EDQUOT);
	CHECK_EQ(fake.released, 0);
	ask_end(a);
}

void test_candidate(void)
{
	test_one_call();
	test_alone();
	test_all(7, 1);
	test_all(SOME, 1);
	test_all(3 * SOME + 1, 4);
	test_signals();
	test_undo();
}
