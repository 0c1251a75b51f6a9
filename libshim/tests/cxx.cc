// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * All headers and builders as C++ sees them
 */
#include <kvstash.h>
#include <linux/kvstash_netlink.h>

int main()
{
	static const char key[] = "key";
	static const char print[KVSTASH_DIGEST_LEN] = "";
	char data[8] = {};
	struct kvstash_handle handle = {};
	struct kvstash_write write;
	struct kvstash_range range;
	struct kvstash_member member;
	struct kvstash_candidate candidate;
	struct kvstash_engine engine = {};
	struct kvstash_facts facts = {};
	struct kvstash_resume resume;
	struct kvstash_layout layout;
	struct kvstash_layer layer = { 0, 8 };
	struct kvstash_ring ring = {};
	__u64 stops[] = { 1, 3 };
	struct kvstash_keys keys;
	struct kvstash_seg seg;
	struct kvstash_put put;
	struct kvstash_end end;
	struct kvstash_get get;
	struct kvstash *client;

	kvstash_prep_seg(&seg, data, sizeof(data));
	kvstash_prep_range(&range, 0, 0, data, sizeof(data));
	kvstash_prep_put(&put, key, 3, data, sizeof(data));
	kvstash_prep_put_parent(&put, key, 2);
	kvstash_prep_put_parent_group(&put, key, 2);
	kvstash_prep_put_group(&put, key, 1, 0, 2, KVSTASH_PUT_ATOMIC);
	kvstash_prep_put_state(&put);
	kvstash_prep_put_ttl(&put, 1000);
	kvstash_prep_put_part(&put, 0, 2);
	kvstash_prep_put_manifest(&put, nullptr);
	kvstash_prep_put_tag(&put, key, 1);
	kvstash_prep_put_segs(&put, &seg, 1);
	kvstash_prep_reserve(&put, key, 3, sizeof(data));
	kvstash_prep_write(&write, &handle, 0, data, sizeof(data));
	kvstash_prep_write_segs(&write, &seg, 1);
	kvstash_prep_end(&end, &handle);
	kvstash_prep_get_segs(&get, key, 3, &seg, 1);
	kvstash_prep_get_ranges(&get, key, 3, &range, 1);
	kvstash_prep_get(&get, key, 3, data, sizeof(data));
	kvstash_prep_get_state(&get);
	kvstash_prep_get_lease(&get);
	kvstash_prep_get_by_lease(&get, &handle);
	kvstash_prep_keys(&keys, key, 1, 3);
	kvstash_prep_keys_group(&keys);
	kvstash_prep_keys_state(&keys);
	kvstash_prep_candidate(&candidate, key, 3);
	kvstash_prep_keys_candidates(&keys, &candidate, 1);
	kvstash_prep_keys_lease(&keys, &handle);
	kvstash_prep_keys_member(&keys);
	kvstash_prep_keys_pin(&keys, KVSTASH_PIN_SOFT);
	kvstash_prep_keys_var(&keys, key, nullptr, 0);
	kvstash_prep_keys_tags(&keys, nullptr);
	kvstash_prep_layout(&layout, print, 1);
	kvstash_prep_layout_desc(&layout, 1, 8, &layer, 1);
	kvstash_prep_layout_tied(&layout);
	kvstash_prep_layout_slots(&layout, 1);
	kvstash_prep_layout_share(&layout, 1);
	if (kvstash_state_key(data, sizeof(data), print, 1, 1, key, 1) >= 0 ||
	    kvstash_layer_ranges(&layer, 1, nullptr, 0, nullptr, &range) ||
	    kvstash_ring_segs(&ring, 1, 1, &seg, 1) >= 0 ||
	    kvstash_resume(&engine, &facts, &resume) ||
	    kvstash_stops_common(stops, 2, stops + 1, 1) != 1)
		return 1;
	if (kvstash_member_of(key, 3, &member) == 0)
		return 1;
	if (kvstash_open(&client, "/dev/null", 0) == 0) {
		kvstash_put(client, &put, 1);
		kvstash_layout_next(client, &layout, &layer, 1);
		kvstash_close(client);
		return 1;
	}
	return 0;
}
