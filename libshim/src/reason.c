// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * libkvstash: names and texts of reasons, results in words
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>

#include "lib.h"

/**
 * struct reason - what is said of a reason
 * @name:   its enumerator in small letters, without the prefix
 * @text:   what it means
 * @before: words before the detail; NULL if the reason has no detail
 * @after:  words after it
 * @hex:    the detail is a set of bits
 * @err:    errno that the detail goes with; 0: any
 */
struct reason {
	const char *name;
	const char *text;
	const char *before;
	const char *after;
	int hex;
	int err;
};

static const struct reason reasons[] = {
	[KVSTASH_R_OK] = {
		"ok", "done" },
	[KVSTASH_R_FLAGS] = {
		"flags", "unknown flag", "bits ", "", 1 },
	[KVSTASH_R_RESERVED] = {
		"reserved", "reserved member not zero" },
	[KVSTASH_R_SIZE] = {
		"size", "structure size", "at least ", " bytes expected" },
	[KVSTASH_R_COUNT] = {
		"count", "entry or key count", "1 to ", " allowed" },
	[KVSTASH_R_KIND] = {
		"kind", "unknown kind of object" },
	[KVSTASH_R_KEY_LEN] = {
		"key_len", "key length", "1 to ", " bytes allowed" },
	[KVSTASH_R_KEY_FAULT] = {
		"key_fault", "key, parent or group key unreadable" },
	[KVSTASH_R_PARTS] = {
		"parts", "part count", "1 to ", " allowed" },
	[KVSTASH_R_PART_INDEX] = {
		"part_index", "part index past the last part",
		"the part count is ", "" },
	[KVSTASH_R_LENGTH] = {
		"length",
		"part or range length zero, too large or not that of the buffers",
		"length expected, or the limit: ", " bytes" },
	[KVSTASH_R_SEGS] = {
		"segs", "segment or range count", "the limit is ", "" },
	[KVSTASH_R_SEGS_FAULT] = {
		"segs_fault", "segment or range list unreadable" },
	[KVSTASH_R_BUFFER] = {
		"buffer", "buffer wraps or is no user address" },
	[KVSTASH_R_DATA_FAULT] = {
		"data_fault", "data buffer not accessible",
		"", " bytes moved before" },
	[KVSTASH_R_TAG] = {
		"tag", "tag length", "the limit is ", " bytes" },
	[KVSTASH_R_TAG_FAULT] = {
		"tag_fault", "tag or manifest unreadable" },
	[KVSTASH_R_BUFFER_SMALL] = {
		"buffer_small", "buffer shorter than the object",
		"", " bytes needed" },
	[KVSTASH_R_RANGE] = {
		"range", "range past the end of its part",
		"the part has ", " bytes" },
	[KVSTASH_R_OVERLAP] = {
		"overlap", "target ranges overlap", "range index ", "" },
	[KVSTASH_R_PARENT_SELF] = {
		"parent_self", "an object as its own parent" },
	[KVSTASH_R_ALIGN] = {
		"align", "array address not aligned to 8" },
	[KVSTASH_R_NAME] = {
		"name", "name empty, too long or of other characters" },
	[KVSTASH_R_MEMBERS] = {
		"members", "member count of the group",
		"0 without a group, else 1 to ", " allowed" },
	[KVSTASH_R_MEMBER_INDEX] = {
		"member_index", "member index past the last member",
		"the member count is ", "" },
	[KVSTASH_R_PIN] = {
		"pin", "unknown kind of pin" },
	[KVSTASH_R_TOKENS] = {
		"tokens", "aligned length of a state is zero" },
	[KVSTASH_R_MISALIGNED] = {
		"misaligned",
		"length of a state is not aligned, or an alignment is out of range",
		"the layout has, or at most may have, ", " tokens" },
	[KVSTASH_R_SLOT_BYTES] = {
		"slot_bytes",
		"length of a state is not that of a slot, or a slot of no such length",
		"the slot has, or at most may have, ", " bytes" },
	[KVSTASH_R_TIED] = {
		"tied",
		"a state has a parent if its layout is tied, and else none",
		"parents expected: ", "" },
	[KVSTASH_R_LAYERS] = {
		"layers", "layer count, or layers not accessible",
		"1 to ", " allowed", 0, EINVAL },
	[KVSTASH_R_LAYER] = {
		"layer", "layer empty, not in the slot, or over one before it",
		"layer index ", "" },
	[KVSTASH_R_MISS] = {
		"miss", "no such key" },
	[KVSTASH_R_IN_FLIGHT] = {
		"in_flight", "in flight: a living client writes it" },
	[KVSTASH_R_INCOMPLETE] = {
		"incomplete", "incomplete: parts missing",
		"", " parts present" },
	[KVSTASH_R_PARENT_PENDING] = {
		"parent_pending", "complete, waits for its parent" },
	[KVSTASH_R_EXISTS] = {
		"exists", "exists: object visible, or part there" },
	[KVSTASH_R_PARENT_MISS] = {
		"parent_miss", "parent not there" },
	[KVSTASH_R_EXPIRED] = {
		"expired", "expired: its time to live has ended" },
	[KVSTASH_R_GROUP_INCOMPLETE] = {
		"group_incomplete", "group incomplete: members missing",
		"", " members present" },
	[KVSTASH_R_PARENT_MEMBER] = {
		"parent_member", "the parent is a member: name its group" },
	[KVSTASH_R_GROUP_ATOMIC] = {
		"group_atomic", "the group is atomic: no removal of one member" },
	[KVSTASH_R_NO_MEMBER] = {
		"no_member", "not a member of a group" },
	[KVSTASH_R_LAYOUT_UNKNOWN] = {
		"layout_unknown", "no such layout is registered" },
	[KVSTASH_R_MISMATCH_PARTS] = {
		"mismatch_parts", "mismatch: key there with another part count",
		"", " parts there" },
	[KVSTASH_R_MISMATCH_MANIFEST] = {
		"mismatch_manifest", "mismatch: key there with another manifest" },
	[KVSTASH_R_MISMATCH_PARENT] = {
		"mismatch_parent", "mismatch: key there with another parent" },
	[KVSTASH_R_MISMATCH_TAG] = {
		"mismatch_tag", "mismatch: key there with another tag" },
	[KVSTASH_R_MISMATCH_LENGTH] = {
		"mismatch_length", "mismatch: part there with another length",
		"", " bytes there" },
	[KVSTASH_R_MISMATCH_GROUP] = {
		"mismatch_group",
		"mismatch: key there in another group, in one, or in none" },
	[KVSTASH_R_MISMATCH_MEMBERS] = {
		"mismatch_members",
		"mismatch: group there with another member count",
		"", " members there" },
	[KVSTASH_R_MISMATCH_INDEX] = {
		"mismatch_index",
		"mismatch: key there under another index, or index taken by another key",
		"index ", "" },
	[KVSTASH_R_MISMATCH_FLAGS] = {
		"mismatch_flags",
		"mismatch: group there atomic and not plain, or the reverse" },
	[KVSTASH_R_MISMATCH_TTL] = {
		"mismatch_ttl", "mismatch: key there with another time to live",
		"", " ms there" },
	[KVSTASH_R_MISMATCH_LAYOUT] = {
		"mismatch_layout",
		"mismatch: layout registered with another description" },
	[KVSTASH_R_NO_SPACE] = {
		"no_space", "no space: nothing to evict", "", " bytes missing" },
	[KVSTASH_R_TOO_LARGE] = {
		"too_large", "larger than the pool", "the pool has ", " bytes" },
	[KVSTASH_R_QUOTA_BYTES] = {
		"quota_bytes", "quota of bytes used up", "", " bytes missing" },
	[KVSTASH_R_QUOTA_OBJECTS] = {
		"quota_objects", "quota of objects used up",
		"the quota is ", " objects" },
	[KVSTASH_R_NO_MEMORY] = {
		"no_memory", "no kernel memory beside the pool" },
	[KVSTASH_R_LEASE_BUDGET] = {
		"lease_budget", "lease budget used up", "", " bytes missing" },
	[KVSTASH_R_PIN_QUOTA] = {
		"pin_quota", "quota of hard pins used up", "", " bytes missing" },
	[KVSTASH_R_LEASE_COUNT] = {
		"lease_count", "the client has as many leases as it may",
		"the limit is ", "" },
	[KVSTASH_R_NO_SLOT] = {
		"no_slot", "no slot: all are in flight, leased, pinned or read",
		"the layout has ", " slots" },
	[KVSTASH_R_SLOT_QUOTA] = {
		"slot_quota", "quota of slots used up", "", " bytes missing" },
	[KVSTASH_R_SLOTS_HELD] = {
		"slots_held", "more slots are held than were asked for",
		"", " can't be taken away" },
	[KVSTASH_R_LAYOUT_BUSY] = {
		"layout_busy", "the layout has states", "", " states there" },
	[KVSTASH_R_LAYOUT_COUNT] = {
		"layout_count", "the namespace has as many layouts as it may",
		"the limit is ", "" },
	[KVSTASH_R_HANDLE_UNKNOWN] = {
		"handle_unknown", "handle never given out" },
	[KVSTASH_R_HANDLE_STALE] = {
		"handle_stale", "handle of another load of the module" },
	[KVSTASH_R_HANDLE_OWNER] = {
		"handle_owner", "handle of another client" },
	[KVSTASH_R_COMMITTED] = {
		"committed", "committed before" },
	[KVSTASH_R_ABORTED] = {
		"aborted", "aborted before" },
	[KVSTASH_R_FINISHED] = {
		"finished", "ended so long ago that how is forgotten" },
	[KVSTASH_R_WRITING] = {
		"writing", "a write of it is going on" },
	[KVSTASH_R_UNWRITTEN] = {
		"unwritten", "not all bytes written", "", " bytes missing" },
	[KVSTASH_R_GAPS] = {
		"gaps", "too many separate runs written", "the limit is ", "" },
	[KVSTASH_R_REMOVED] = {
		"removed", "object removed with its parent" },
	[KVSTASH_R_RELEASED] = {
		"released", "lease released before" },
	[KVSTASH_R_INTERRUPTED] = {
		"interrupted", "a signal came before this entry" },
	[KVSTASH_R_PERMISSION] = {
		"permission", "the namespace does not allow it" },
	[KVSTASH_R_NO_NAMESPACE] = {
		"no_namespace", "no such namespace" },
	[KVSTASH_R_BOUND] = {
		"bound", "bound to another namespace" },
};

static const struct reason unknown = {
	.name = "unknown", .text = "unknown reason",
	.before = "detail ", .after = ""
};

static const struct reason *find(unsigned int reason)
{
	if (reason >= ARRAY_SIZE(reasons) ||
	    !reasons[reason].name)
		return &unknown;
	return &reasons[reason];
}

const char *kvstash_reason_name(unsigned int reason)
{
	return find(reason)->name;
}

const char *kvstash_reason_text(unsigned int reason)
{
	return find(reason)->text;
}

/* The detail in words, "" if there is none. */
static void say_detail(const struct kvstash_result *r, char *buf, size_t len)
{
	const struct reason *t = find(r->reason);
	unsigned long long detail = r->detail;

	if (!t->before || (t->err && r->res != -t->err))
		buf[0] = '\0';
	else if (t->hex)
		snprintf(buf, len, "; %s0x%llx%s", t->before, detail, t->after);
	else
		snprintf(buf, len, "; %s%llu%s", t->before, detail, t->after);
}

/* The errno in letters; a number if the C library has no name for it. */
static void say_errno(__s32 res, char *buf, size_t len)
{
	const char *name = NULL;

	if (res < 0 && res > -4096)
		name = strerrorname_np(-res);
	if (name)
		snprintf(buf, len, "%s", name);
	else
		snprintf(buf, len, "result %d", res);
}

int kvstash_result_format(const struct kvstash_result *r, char *buf,
			  size_t len)
{
	const struct reason *t = find(r->reason);
	char detail[96], err[32], number[16] = "";
	const char *text = t->text;

	if (r->reason == KVSTASH_R_OK) {
		if (!r->res)
			return snprintf(buf, len, "%s", text);
		text = "no reason given";
	}
	if (t == &unknown)
		snprintf(number, sizeof(number), " %u", r->reason);
	say_detail(r, detail, sizeof(detail));
	say_errno(r->res, err, sizeof(err));
	return snprintf(buf, len, "%s%s%s (%s, %s)", text, number, detail, err,
			t->name);
}
