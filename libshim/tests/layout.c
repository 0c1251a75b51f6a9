// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The ABI's layout, compiled for 64 and for 32 bits: it may not differ
 */
#include <assert.h>
#include <stdalign.h>
#include <stddef.h>

#include <linux/kvstash.h>
#include <linux/kvstash_netlink.h>

#define SIZE(type, size) \
	static_assert(sizeof(struct type) == (size) && \
		      alignof(struct type) == 8, #type)

#define AT(type, member, offset) \
	static_assert(offsetof(struct type, member) == (offset), \
		      #type "." #member)

SIZE(kvstash_result, 16);
SIZE(kvstash_handle, 16);
SIZE(kvstash_seg, 16);
SIZE(kvstash_range, 32);
SIZE(kvstash_query, 96);
SIZE(kvstash_batch, 40);
SIZE(kvstash_put, 120);
SIZE(kvstash_write, 64);
SIZE(kvstash_end, 40);
SIZE(kvstash_get, 88);
SIZE(kvstash_exists, 72);
SIZE(kvstash_keys, 104);
SIZE(kvstash_candidate, 56);
SIZE(kvstash_layer, 16);
SIZE(kvstash_layout, 232);
static_assert(sizeof(struct kvstash_bind) == 48, "kvstash_bind");
static_assert(sizeof(struct kvstash_state_key) == 48, "kvstash_state_key");

AT(kvstash_put, handle, 64);
AT(kvstash_put, nr_segs, 80);
AT(kvstash_put, part, 88);
AT(kvstash_put, kind, 98);
AT(kvstash_put, parent_kind, 99);
AT(kvstash_put, ttl_ms, 100);
AT(kvstash_put, group, 104);
AT(kvstash_put, group_len, 112);
AT(kvstash_put, member, 114);
AT(kvstash_put, members, 116);
AT(kvstash_put, reserved, 118);
AT(kvstash_write, nr_segs, 56);
AT(kvstash_get, nr, 56);
AT(kvstash_get, reserved2, 68);
AT(kvstash_get, lease, 72);
AT(kvstash_exists, state, 62);
AT(kvstash_exists, pin, 63);
AT(kvstash_exists, members, 64);
AT(kvstash_exists, members_present, 66);
AT(kvstash_exists, group_state, 68);
AT(kvstash_exists, group_flags, 69);
AT(kvstash_exists, reserved, 70);
AT(kvstash_keys, count, 48);
AT(kvstash_keys, done, 60);
AT(kvstash_keys, kind, 58);
AT(kvstash_keys, pin, 59);
AT(kvstash_keys, reserved, 76);
AT(kvstash_keys, leases, 80);
AT(kvstash_keys, candidates, 88);
AT(kvstash_keys, candidate_stride, 100);
AT(kvstash_candidate, key, 16);
AT(kvstash_candidate, lease, 32);
AT(kvstash_candidate, key_len, 48);
AT(kvstash_candidate, reserved2, 52);
AT(kvstash_state_key, scheme, 32);
AT(kvstash_state_key, tokens, 40);
AT(kvstash_layer, len, 8);
AT(kvstash_layout, fingerprint, 8);
AT(kvstash_layout, slot_bytes, 48);
AT(kvstash_layout, nr_layers, 72);
AT(kvstash_layout, id, 80);
AT(kvstash_layout, field, 88);
AT(kvstash_layout, detail, 96);
AT(kvstash_layout, hits, 128);
AT(kvstash_layout, refused_other, 224);
AT(kvstash_query, ns, 64);
AT(kvstash_batch, reserved, 36);

/* A command's number has the size of its argument, as of the present version. */
static_assert(KVSTASH_IOC_QUERY == 0xc060bb40, "QUERY");
static_assert(KVSTASH_IOC_BIND == 0xc030bb41, "BIND");
static_assert(KVSTASH_IOC_PUT == 0xc028bb42, "PUT");
static_assert(KVSTASH_IOC_RESERVE == 0xc028bb43, "RESERVE");
static_assert(KVSTASH_IOC_WRITE == 0xc028bb44, "WRITE");
static_assert(KVSTASH_IOC_COMMIT == 0xc028bb45, "COMMIT");
static_assert(KVSTASH_IOC_ABORT == 0xc028bb46, "ABORT");
static_assert(KVSTASH_IOC_GET == 0xc028bb47, "GET");
static_assert(KVSTASH_IOC_EXISTS == 0xc068bb48, "EXISTS");
static_assert(KVSTASH_IOC_REMOVE == 0xc068bb49, "REMOVE");
static_assert(KVSTASH_IOC_LOOKUP == 0xc068bb4a, "LOOKUP");
static_assert(KVSTASH_IOC_RELEASE == 0xc028bb4b, "RELEASE");
static_assert(KVSTASH_IOC_PIN == 0xc068bb4c, "PIN");
static_assert(KVSTASH_IOC_LAYOUT_ADD == 0xc0e8bb4d, "LAYOUT_ADD");
static_assert(KVSTASH_IOC_LAYOUT_GET == 0xc0e8bb4e, "LAYOUT_GET");
static_assert(KVSTASH_IOC_LAYOUT_SET == 0xc0e8bb4f, "LAYOUT_SET");
static_assert(KVSTASH_IOC_LAYOUT_DEL == 0xc0e8bb50, "LAYOUT_DEL");
