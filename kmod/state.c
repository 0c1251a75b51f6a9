// SPDX-License-Identifier: GPL-2.0
/*
 * States: what their keys say, and what is counted of them.
 *
 * A state is an object like any other, whose key begins with its layout and its
 * aligned length and whose only part is a slot (slot.c). So it is found by exactly
 * those, and by nothing else (I7). Only a put, or a miss, looks at the layout.
 *
 * Locking: none here; layouts are found under RCU.
 */
#include <linux/math64.h>

#include "layout.h"
#include "result.h"
#include "state.h"

/* The key is read where it lies, which need not be aligned. */
static struct kvstash_state_key state_key(const struct kvs_key *key)
{
	struct kvstash_state_key k;

	memcpy(&k, key->data, sizeof(k));
	return k;
}

static bool misaligned(const struct kvs_layout *layout, u64 tokens)
{
	u32 rest;

	div_u64_rem(tokens, layout->alignment, &rest);
	return rest;
}

/* Can there be a state of that length? @layout may be NULL, not registered. */
static int check_tokens(struct kvs_layout *layout, const struct kvstash_state_key *k,
			struct kvstash_result *r)
{
	u64 tokens = le64_to_cpu(k->tokens);

	if (k->reserved)
		return kvs_result(r, -EINVAL, KVSTASH_R_RESERVED, 0);
	if (!tokens)
		return kvs_result(r, -EINVAL, KVSTASH_R_TOKENS, 0);
	if (layout && misaligned(layout, tokens))
		return kvs_result(r, -EINVAL, KVSTASH_R_MISALIGNED, layout->alignment);
	return 0;
}

/**
 * kvs_state_identify() - check a put of a state against its layout
 * @ns: namespace
 * @e:  the entry
 * @id: in: @id->key; out: @id->layout, entered, for the caller to leave, also if it
 *      is refused
 * @r:  out: why not
 *
 * Return: 0 or a negative errno.
 */
int kvs_state_identify(struct kvs_ns *ns, const struct kvstash_put *e, struct kvs_identity *id,
		       struct kvstash_result *r)
{
	struct kvstash_state_key k = state_key(&id->key);
	struct kvs_layout *layout;
	bool tied;
	int ret;

	layout = kvs_layout_get(ns, k.fingerprint, le32_to_cpu(k.scheme));
	if (layout && !kvs_layout_enter(layout)) {
		kvs_layout_put(layout);
		layout = NULL;
	}
	id->layout = layout;
	ret = check_tokens(layout, &k, r);
	if (ret)
		return ret;
	if (!layout)
		return kvs_result(r, -ENOENT, KVSTASH_R_LAYOUT_UNKNOWN, 0);
	if (e->parts != 1)
		return kvs_result(r, -EINVAL, KVSTASH_R_PARTS, 1);
	if (e->part_len != layout->slot_bytes)
		return kvs_result(r, -EINVAL, KVSTASH_R_SLOT_BYTES, layout->slot_bytes);
	tied = layout->flags & KVSTASH_LAYOUT_TIED;
	if (!e->group && tied != !!e->parent)
		return kvs_result(r, -EINVAL, KVSTASH_R_TIED, tied);
	return 0;
}

/** kvs_state_refused() - count a put that came to nothing, by reason */
void kvs_state_refused(struct kvs_layout *layout, const struct kvstash_result *r)
{
	switch (r->reason) {
	case KVSTASH_R_NO_SLOT:
		kvs_layout_stat_inc(layout, REFUSED_NO_SLOT);
		break;
	case KVSTASH_R_SLOT_BYTES:
	case KVSTASH_R_LENGTH:
		kvs_layout_stat_inc(layout, REFUSED_BYTES);
		break;
	case KVSTASH_R_TOKENS:
	case KVSTASH_R_MISALIGNED:
		kvs_layout_stat_inc(layout, REFUSED_MISALIGNED);
		break;
	case KVSTASH_R_EXISTS:
	case KVSTASH_R_IN_FLIGHT:
	case KVSTASH_R_MISMATCH_PARTS ... KVSTASH_R_MISMATCH_LAYOUT:
		kvs_layout_stat_inc(layout, REFUSED_THERE);
		break;
	default:
		kvs_layout_stat_inc(layout, REFUSED_OTHER);
	}
}

/** kvs_state_got() - count a hit of a state */
void kvs_state_got(struct kvs_object *obj)
{
	kvs_layout_stat_inc(obj->extra->layout, HITS);
}

/*
 * Why a state that is not there can't be, if so; else @r, which says that it is
 * missing, stays. A length that its layout does not know is no miss but an error of
 * the caller's; a layout that is not registered has no states.
 */
static struct kvs_layout *explain_miss(const struct kvs_key *key, struct kvstash_result *r)
{
	struct kvstash_state_key k = state_key(key);
	struct kvs_layout *layout;

	layout = kvs_layout_find_rcu(key->ns, k.fingerprint, le32_to_cpu(k.scheme));
	if (r->reason == KVSTASH_R_MISS)
		check_tokens(layout, &k, r);
	return layout;
}

/**
 * kvs_state_missed() - a state that was to be got is not visible
 * @key: of a state
 * @r:   in and out: why
 */
void kvs_state_missed(const struct kvs_key *key, struct kvstash_result *r)
{
	struct kvs_layout *layout;

	rcu_read_lock();
	layout = explain_miss(key, r);
	if (layout)
		kvs_layout_stat_inc(layout, MISSES);
	rcu_read_unlock();
}

/**
 * kvs_state_probed() - EXISTS or LOOKUP has looked for a state
 * @key: of a state
 * @r:   in and out: what came of it
 */
void kvs_state_probed(const struct kvs_key *key, struct kvstash_result *r)
{
	struct kvs_layout *layout;

	rcu_read_lock();
	layout = explain_miss(key, r);
	/* It may be there and yet not be leased. */
	if (layout && r->res != -ENOENT && r->res != -EINVAL)
		kvs_layout_stat_inc(layout, FOUND);
	else if (layout)
		kvs_layout_stat_inc(layout, NOT_FOUND);
	rcu_read_unlock();
}

/** kvs_state_count_kill() - count a state that went */
void kvs_state_count_kill(struct kvs_object *obj, enum kvs_kill_why why)
{
	struct kvs_layout *layout = obj->extra->layout;

	if (why == KVS_KILL_EVICT)
		kvs_layout_stat_inc(layout, EVICTIONS);
	else if (why == KVS_KILL_EXPIRE)
		kvs_layout_stat_inc(layout, EXPIRED);
	else if (why == KVS_KILL_REMOVE || why == KVS_KILL_WITH_PARENT)
		kvs_layout_stat_inc(layout, REMOVED);
}
