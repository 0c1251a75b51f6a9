// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench micro: what fills and empties the store; none of it is timed */
#include <stdlib.h>
#include <string.h>

#include "kvstash-bench.h"
#include "kvstash-bench-micro.h"

#define FILL_ENTRIES	256
#define REMOVE_KEYS	4096
#define KEY_DOMAIN	0x6d6963726fULL

void store_key(__u8 *key, __u64 serial)
{
	pattern_key(key, KEY_DOMAIN, serial);
}

size_t store_key_bytes(const struct state_layout *l)
{
	return l ? STATE_KEY_BYTES : KEY_BYTES;
}

/* Of a state of @l, or (NULL) of a page */
void store_key_of(const struct state_layout *l, __u8 *key, __u64 serial)
{
	__u8 prefix[KEY_BYTES];

	store_key(prefix, serial);
	if (l)
		state_key(l, key, STATE_ALIGN, prefix);
	else
		memcpy(key, prefix, KEY_BYTES);
}

void store_must(const char *call, int err)
{
	if (err < 0)
		die("%s: %s", call, strerror(-err));
}

void store_must_entry(const char *call, const struct kvstash_result *res)
{
	char text[256];

	if (!res->res)
		return;
	kvstash_result_format(res, text, sizeof(text));
	die("%s: %s", call, text);
}

/*
 * Objects @first to @first + @n - 1 of @bytes each. With @chain, each stands
 * behind the one before it, but each @chain-th starts a chain.
 */
void store_fill(struct kvstash *c, __u64 first, __u64 n, size_t bytes, unsigned int chain)
{
	struct kvstash_put *e = xalloc(FILL_ENTRIES, sizeof(*e));
	__u8 *keys = xalloc(FILL_ENTRIES + 1, KEY_BYTES);
	__u8 *buf = map_pages(bytes);
	__u64 done, some, i;

	for (done = 0; done < n; done += some) {
		some = n - done < FILL_ENTRIES ? n - done : FILL_ENTRIES;
		if (done)	/* the parent of the first */
			store_key(keys, first + done - 1);
		for (i = 0; i < some; i++) {
			__u8 *key = keys + (i + 1) * KEY_BYTES;

			store_key(key, first + done + i);
			kvstash_prep_put(&e[i], key, KEY_BYTES, buf, bytes);
			if (chain && (done + i) % chain)
				kvstash_prep_put_parent(&e[i], key - KEY_BYTES, KEY_BYTES);
		}
		store_must("put", kvstash_put_all(c, e, some, NULL));
		for (i = 0; i < some; i++)
			store_must_entry("put", &e[i].r);
	}
	unmap_pages(buf, bytes);
	free(keys);
	free(e);
}

/* States of @l, or (NULL) pages. Those that were evicted or never put are no error. */
void store_remove(struct kvstash *c, const struct state_layout *l, __u64 first, __u64 n)
{
	struct kvstash_exists *res = xalloc(REMOVE_KEYS, sizeof(*res));
	size_t len = store_key_bytes(l);
	__u8 *keys = xalloc(REMOVE_KEYS, len);
	struct kvstash_keys k;
	__u64 done, some, i;

	for (done = 0; done < n; done += some) {
		some = n - done < REMOVE_KEYS ? n - done : REMOVE_KEYS;
		for (i = 0; i < some; i++)
			store_key_of(l, keys + i * len, first + done + i);
		kvstash_prep_keys(&k, keys, len, some);
		if (l)
			kvstash_prep_keys_state(&k);
		store_must("remove", kvstash_remove_all(c, &k, res, NULL));
	}
	free(keys);
	free(res);
}

/*
 * Write to all pages of the pool once: the first write to a page of a virtual
 * machine's memory is the host's page fault.
 */
void store_warm_up(struct micro *m)
{
	const size_t bytes = 2U << 20;
	__u64 n = m->pool_bytes / bytes;

	if (m->warm)
		return;
	store_fill(m->c, m->serial, n, bytes, 0);
	store_remove(m->c, NULL, m->serial, n);
	m->serial += n;
	m->warm = true;
}

__u64 store_pool_stat(const struct micro *m, const char *name)
{
	__u64 v;

	if (!stat_read("pool", m->pool, name, &v))
		die("/proc/kvstash/pool/%s: no figure '%s'", m->pool, name);
	return v;
}
