// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * libkvstash: a lookup of any length, of keys and of states
 */
#include <errno.h>

#include "lib.h"

/* Leases to give back: kept until there are enough for a call. */
struct undo {
	struct kvstash *c;
	size_t n;
	struct kvstash_end e[64];
};

static void undo_flush(struct undo *u)
{
	kvstash_release_all(u->c, u->e, u->n, NULL);
	u->n = 0;
}

static void undo_add(struct undo *u, struct kvstash_handle *h)
{
	if (!h->client)
		return;
	kvstash_prep_end(&u->e[u->n++], h);
	memset(h, 0, sizeof(*h));
	if (u->n == ARRAY_SIZE(u->e))
		undo_flush(u);
}

/*
 * Give back what the calls before one that failed have leased, of @n keys and @m
 * candidates: all is leased or nothing. The refusal stays that of the call that
 * failed.
 */
static void leases_undo(struct kvstash *c, const struct kvstash_keys *k,
			size_t n, size_t m)
{
	struct kvstash_candidate *s = kvstash_candidates(k);
	struct kvstash_handle *h = kvstash_leases(k);
	struct undo u = { .c = c };
	unsigned int reason, field;

	kvstash_last_refusal(c, &reason, &field);
	for (size_t i = 0; i < n; i++)
		undo_add(&u, &h[i]);
	for (size_t i = 0; i < m; i++)
		undo_add(&u, &s[i].lease);
	undo_flush(&u);
	kvstash_refused(c, reason, field);
}

/* Candidates of a call from the first on that a signal did not come before */
static __u32 candidates_done(const struct kvstash_keys *k)
{
	const struct kvstash_candidate *s = kvstash_candidates(k);
	__u32 i;

	for (i = 0; i < k->nr_candidates; i++)
		if (s[i].r.reason == KVSTASH_R_INTERRUPTED)
			break;
	return i;
}

/**
 * struct lookup - what a lookup has come to
 * @n:      keys to ask for; fewer, once there is a gap
 * @run:    keys found
 * @states: candidates that were answered
 * @bytes:  of the keys found
 * @reason: why the run ends
 */
struct lookup {
	size_t n;
	size_t run;
	size_t states;
	__u64 bytes;
	__u32 reason;
};

/* Take in what a call has found, and move @part on to the rest. */
static void lookup_on(struct lookup *l, struct kvstash_keys *part)
{
	__u32 answered = candidates_done(part);

	l->run += part->run;
	l->bytes += part->bytes;
	if (part->count)
		l->reason = part->reason;
	if (part->run < part->count && part->reason != KVSTASH_R_INTERRUPTED)
		l->n = l->run;
	if (l->run < l->n)
		kvstash_keys_skip(part, part->run);
	l->states += answered;
	part->candidates += answered * sizeof(struct kvstash_candidate);
}

int kvstash_lookup_all(struct kvstash *c, struct kvstash_keys *k, size_t *done)
{
	struct lookup l = { .n = k->count };
	struct kvstash_keys part = *k;
	size_t left;
	int ret = 0;

	part.reason = KVSTASH_R_OK;
	part.field = 0;
	kvstash_refused(c, KVSTASH_R_OK, 0);
	while (l.run < l.n || l.states < k->nr_candidates) {
		left = k->nr_candidates - l.states;
		part.count = kvstash_chunk(l.n - l.run);
		part.nr_candidates = left < KVSTASH_CANDIDATES_MAX ?
				     (__u32)left : KVSTASH_CANDIDATES_MAX;
		ret = kvstash_lookup(c, &part);
		if (ret >= 0)
			lookup_on(&l, &part);
		else if (ret != -EINTR)
			break;
	}
	if (ret < 0 && k->flags & KVSTASH_KEYS_LEASE)
		leases_undo(c, k, l.run, l.states);
	if (ret >= 0)
		part.reason = l.reason;
	kvstash_keys_end(k, &part, l.run, done);
	k->run = (__u32)l.run;
	k->bytes = l.bytes;
	return ret < 0 ? ret : 0;
}
