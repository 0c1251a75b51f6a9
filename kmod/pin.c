// SPDX-License-Identifier: GPL-2.0
/*
 * Pins: an attribute of an object, or of a group, that says when it is evicted.
 *
 * Locking: the object's lock guards kvs_object.pin and what was charged; which
 * leaf tree it is in is under ns->evict_lock, inside, and which tree of slots under
 * layout->lock.
 */
#include "evict.h"
#include "group.h"
#include "lease.h"
#include "pin.h"
#include "result.h"
#include "slot.h"

static u64 pin_quota(const struct kvs_ns *ns)
{
	return kvs_ns_share(ns, READ_ONCE(ns->config.pin_bytes),
			    READ_ONCE(ns->config.quota_bytes), 4);
}

static int pin_charge(struct kvs_object *unit, u64 *missing)
{
	u64 pages = kvs_unit_pages(unit);
	int ret = kvs_ns_charge(&unit->ns->pinned, pages, pin_quota(unit->ns), missing);

	if (!ret && kvs_object_is_group(unit))
		unit->group->pinned = pages;
	return ret;
}

static void pin_uncharge(struct kvs_object *unit)
{
	atomic64_sub(kvs_object_is_group(unit) ? unit->group->pinned : kvs_object_pages(unit),
		     &unit->ns->pinned);
}

/*
 * A state is in the trees of its layout, beside. Who looks for a slot moves it to SOFT,
 * and those of a group back: they may be many.
 */
static void pin_relist(struct kvs_object *unit, u8 was)
{
	kvs_evict_relist(unit);
	if (was != KVSTASH_PIN_SOFT)
		return;
	if (kvs_object_is_group(unit) && unit->group->has_state)
		kvs_slots_unpinned(unit->ns);
	else if (unlikely(kvs_object_is_state(unit)))
		kvs_slot_relist(unit);
}

/**
 * kvs_pin() - set the pin of an object, or of the group that it is in
 * @obj: with a reference
 * @pin: KVSTASH_PIN_*
 * @r:   out: why not
 *
 * Return: 0; -ENOENT with no result if it is not visible; -EDQUOT.
 */
int kvs_pin(struct kvs_object *obj, u8 pin, struct kvstash_result *r)
{
	struct kvs_object *unit = kvs_object_unit(obj);
	u64 missing = 0;
	int ret = 0;

	spin_lock(&unit->lock);
	if (!kvs_state_shown(unit->state) && unit->state != KVS_OPEN)
		ret = -ENOENT;
	else if (pin == KVSTASH_PIN_HARD && unit->pin != KVSTASH_PIN_HARD)
		ret = pin_charge(unit, &missing);
	else if (pin != KVSTASH_PIN_HARD && unit->pin == KVSTASH_PIN_HARD)
		pin_uncharge(unit);
	if (!ret && unit->pin != pin) {
		u8 was = unit->pin;

		WRITE_ONCE(unit->pin, pin);
		pin_relist(unit, was);
	}
	spin_unlock(&unit->lock);
	if (ret != -EDQUOT)
		return ret;
	kvs_stat_inc(unit->ns, PIN_REFUSED);
	return kvs_result(r, ret, KVSTASH_R_PIN_QUOTA, missing << KVS_PAGE_SHIFT);
}

/** kvs_pin_end() - @obj, whose lock is held, is going */
void kvs_pin_end(struct kvs_object *obj)
{
	lockdep_assert_held(&obj->lock);
	if (obj->pin == KVSTASH_PIN_HARD)
		pin_uncharge(obj);
	WRITE_ONCE(obj->pin, KVSTASH_PIN_NONE);
}
