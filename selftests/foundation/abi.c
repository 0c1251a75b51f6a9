// SPDX-License-Identifier: GPL-2.0
/*
 * The rules that all structures share: sizes, reserved members, flags, command
 * numbers; and who may call what through which kind of open file.
 */
#include <assert.h>

#include "abi_call.h"

/* The layout, the same for all machines. */
static_assert(sizeof(struct kvstash_result) == 16, "kvstash_result");
static_assert(sizeof(struct kvstash_seg) == 16, "kvstash_seg");
static_assert(sizeof(struct kvstash_range) == 32, "kvstash_range");
static_assert(sizeof(struct kvstash_query) == 96, "kvstash_query");
static_assert(sizeof(struct kvstash_bind) == 48, "kvstash_bind");
static_assert(sizeof(struct kvstash_batch) == 40, "kvstash_batch");
static_assert(sizeof(struct kvstash_put) == 120, "kvstash_put");
static_assert(sizeof(struct kvstash_write) == 64, "kvstash_write");
static_assert(sizeof(struct kvstash_end) == 40, "kvstash_end");
static_assert(sizeof(struct kvstash_get) == 88, "kvstash_get");
static_assert(sizeof(struct kvstash_exists) == 72, "kvstash_exists");
static_assert(sizeof(struct kvstash_keys) == 104, "kvstash_keys");
static_assert(sizeof(struct kvstash_candidate) == 56, "kvstash_candidate");
static_assert(sizeof(struct kvstash_layout) == 232, "kvstash_layout");

/* A member of the header, the value that spoils it, the refusal. */
struct spoil {
	unsigned int kinds;
	size_t off;
	size_t width;
	__u64 v;
	int err;
	__u32 reason;
};

#define BATCH(m)	offsetof(struct kvstash_batch, m)
#define KEYS(m)		offsetof(struct kvstash_keys, m)
#define BIND(m)		offsetof(struct kvstash_bind, m)

#define REMOVE		CALL_BIT(CALL_REMOVE)
#define PIN		CALL_BIT(CALL_PIN)

static const struct spoil header[] = {
	{ CALL_BATCHES, BATCH(count), 4, 0, EINVAL, KVSTASH_R_COUNT },
	{ CALL_BATCHES, BATCH(count), 4, KVSTASH_BATCH_MAX + 1, EINVAL, KVSTASH_R_COUNT },
	{ CALL_BATCHES, BATCH(count), 4, 0x80000000, EINVAL, KVSTASH_R_COUNT },
	{ CALL_BATCHES, BATCH(count), 4, 0xffffffff, EINVAL, KVSTASH_R_COUNT },
	{ CALL_BATCHES, BATCH(stride), 4, 0, EINVAL, KVSTASH_R_SIZE },
	{ CALL_BATCHES, BATCH(stride), 4, 8, EINVAL, KVSTASH_R_SIZE },
	{ CALL_BATCHES, BATCH(size), 4, 0, EINVAL, KVSTASH_R_SIZE },
	{ CALL_BATCHES, BATCH(size), 4, 4, EINVAL, KVSTASH_R_SIZE },
	{ CALL_BATCHES, BATCH(size), 4, sizeof(struct kvstash_batch) - 1, EINVAL,
	  KVSTASH_R_SIZE },
	{ CALL_BATCHES, BATCH(entries), 8, 1, EINVAL, KVSTASH_R_ALIGN },
	{ CALL_BATCHES, BATCH(entries), 8, 4, EINVAL, KVSTASH_R_ALIGN },
	{ CALL_KEYS, KEYS(count), 4, 0, EINVAL, KVSTASH_R_COUNT },
	{ CALL_KEYS, KEYS(count), 4, KVSTASH_BATCH_MAX + 1, EINVAL, KVSTASH_R_COUNT },
	{ CALL_KEYS, KEYS(count), 4, 0xffffffff, EINVAL, KVSTASH_R_COUNT },
	{ CALL_KEYS, KEYS(key_len), 2, 1, EINVAL, KVSTASH_R_KEY_LEN },	/* and @lens */
	{ CALL_KEYS, KEYS(kind), 1, 3, EINVAL, KVSTASH_R_KIND },
	{ CALL_KEYS, KEYS(kind), 1, 255, EINVAL, KVSTASH_R_KIND },
	{ CALL_KEYS, KEYS(size), 4, 0, EINVAL, KVSTASH_R_SIZE },
	{ CALL_KEYS, KEYS(size), 4, CALL_FIRST_KEYS - 1, EINVAL,
	  KVSTASH_R_SIZE },
	{ CALL_RESULTS, KEYS(stride), 4, 0, EINVAL, KVSTASH_R_SIZE },
	{ CALL_RESULTS, KEYS(stride), 4, CALL_FIRST_EXISTS - 8, EINVAL,
	  KVSTASH_R_SIZE },
	{ CALL_RESULTS, KEYS(stride), 4, sizeof(struct kvstash_exists) + 4, EINVAL,
	  KVSTASH_R_SIZE },
	{ CALL_RESULTS, KEYS(results), 8, 1, EINVAL, KVSTASH_R_ALIGN },
	{ CALL_RESULTS, KEYS(results), 8, 4, EINVAL, KVSTASH_R_ALIGN },
	{ CALL_LOOKUPS, KEYS(results), 8, 8, EINVAL, KVSTASH_R_RESERVED },
	{ CALL_LOOKUPS, KEYS(tags), 8, 8, EINVAL, KVSTASH_R_RESERVED },
	{ CALL_LOOKUPS, KEYS(stride), 4, sizeof(struct kvstash_exists), EINVAL,
	  KVSTASH_R_RESERVED },
	{ CALL_KEYS, KEYS(candidates), 8, 8, EINVAL, KVSTASH_R_RESERVED },
	{ CALL_KEYS, KEYS(candidate_stride), 4, sizeof(struct kvstash_candidate), EINVAL,
	  KVSTASH_R_RESERVED },
	{ CALL_RESULTS, KEYS(nr_candidates), 4, 1, EINVAL, KVSTASH_R_RESERVED },
	{ CALL_LOOKUPS, KEYS(nr_candidates), 4, KVSTASH_CANDIDATES_MAX + 1, EINVAL,
	  KVSTASH_R_COUNT },
	{ CALL_LOOKUPS, KEYS(nr_candidates), 4, 0xffffffff, EINVAL, KVSTASH_R_COUNT },
	{ REMOVE | PIN, KEYS(tags), 8, 8, EINVAL, KVSTASH_R_RESERVED },
	{ CALL_KEYS & ~CALL_KEY_LEASES, KEYS(leases), 8, 8, EINVAL, KVSTASH_R_RESERVED },
	{ CALL_KEY_LEASES, KEYS(leases), 8, 1, EINVAL, KVSTASH_R_ALIGN },
	{ CALL_KEY_LEASES, KEYS(leases), 8, 4, EINVAL, KVSTASH_R_ALIGN },
	{ PIN, KEYS(pin), 1, KVSTASH_PIN_HARD + 1, EINVAL, KVSTASH_R_PIN },
	{ PIN, KEYS(pin), 1, 255, EINVAL, KVSTASH_R_PIN },
	{ REMOVE, KEYS(flags), 4, KVSTASH_KEYS_MEMBER | KVSTASH_KEYS_LEASE, EINVAL,
	  KVSTASH_R_FLAGS },
};

/* Members of which each single bit is refused, but those of @v. */
static const struct spoil header_bits[] = {
	{ CALL_BATCHES, BATCH(flags), 4, 0, EINVAL, KVSTASH_R_FLAGS },
	{ CALL_BATCHES, BATCH(reserved), 4, 0, EINVAL, KVSTASH_R_RESERVED },
	{ CALL_EXISTSES | CALL_LOOKUPS, KEYS(flags), 4, KVSTASH_KEYS_LEASE, EINVAL,
	  KVSTASH_R_FLAGS },
	{ REMOVE, KEYS(flags), 4, KVSTASH_KEYS_MEMBER, EINVAL, KVSTASH_R_FLAGS },
	{ PIN, KEYS(flags), 4, 0, EINVAL, KVSTASH_R_FLAGS },
	{ CALL_KEYS & ~PIN, KEYS(pin), 1, 0, EINVAL, KVSTASH_R_RESERVED },
	{ CALL_KEYS, KEYS(reserved), 4, 0, EINVAL, KVSTASH_R_RESERVED },
};

static void refuse_header(struct __test_metadata *_metadata,
			  const struct kvt_store *s, enum call_kind kind,
			  const struct spoil *p, __u64 v)
{
	struct call c;
	struct outcome o;

	call_prep(&c, kind, s);
	kvt_poke(&c.arg, p->off, p->width, v);
	o = call_run(&c);
	if (p->off == BATCH(size))	/* too small to say more */
		o.reason = p->reason;
	EXPECT_EQ(p->err, o.err);
	EXPECT_EQ(p->reason, o.reason);
	EXPECT_EQ(p->off, o.field);
	EXPECT_EQ(0, o.leased);
	if (p->err != o.err || p->reason != o.reason || p->off != o.field)
		TH_LOG("%s, member at %zu = %#llx: errno %d reason %u field %u",
		       call_kinds[kind].name, p->off, v, o.err, o.reason,
		       o.field);
	kvt_store_same(_metadata, s);
}

TEST_F(store, refused_header_names_its_member)
{
	for (int k = 0; k < CALL_KINDS; k++)
		for (size_t i = 0; i < KVT_LEN(header); i++)
			if (call_is(k, header[i].kinds))
				refuse_header(_metadata, &self->s, k,
					      &header[i], header[i].v);
}

TEST_F(store, each_bit_of_flags_and_reserved_members_is_refused)
{
	const struct spoil *p;

	for (int k = 0; k < CALL_KINDS; k++) {
		for (size_t i = 0; i < KVT_LEN(header_bits); i++) {
			p = &header_bits[i];
			if (!call_is(k, p->kinds))
				continue;
			for (size_t bit = 0; bit < 8 * p->width; bit++)
				if (!(p->v & 1ULL << bit))
					refuse_header(_metadata, &self->s, k, p,
						      1ULL << bit);
		}
	}
}

TEST_F(store, key_len_without_lens_has_limits)
{
	static const __u16 bad[] = { 0, KVSTASH_KEY_MAX + 1, 0x8000, 0xffff };
	struct outcome o;
	struct call c;

	for (int k = CALL_EXISTS; k < CALL_KINDS; k++) {
		for (size_t i = 0; i < KVT_LEN(bad); i++) {
			call_prep(&c, k, &self->s);
			c.arg.k.lens = 0;
			c.arg.k.key_len = bad[i];
			o = call_run(&c);
			EXPECT_EQ(EINVAL, o.err);
			EXPECT_EQ(KVSTASH_R_KEY_LEN, o.reason);
			EXPECT_EQ(KEYS(key_len), o.field);
			kvt_store_same(_metadata, &self->s);
		}
	}
}

TEST_F(store, strides_around_the_entry_size_are_refused)
{
	static const int delta[] = { -8, -4, -1, 1, 2, 4, 12 };
	struct spoil p = { CALL_BATCHES, BATCH(stride), 4, 0, EINVAL, KVSTASH_R_SIZE };

	for (int k = 0; k < CALL_KINDS; k++)
		for (size_t i = 0; i < KVT_LEN(delta) &&
		     call_is(k, CALL_BATCHES); i++)
			refuse_header(_metadata, &self->s, k, &p, delta[i] +
				      (delta[i] < 0 ? call_kinds[k].least :
				       call_kinds[k].stride));
}

TEST_F(store, unspoilt_requests_are_accepted)
{
	struct call c;

	for (int k = 0; k < CALL_KINDS; k++) {
		call_prep(&c, k, &self->s);
		call_control(_metadata, &c, &self->s);
	}
}

TEST_F(store, garbage_in_out_members_is_ignored)
{
	struct call c;

	for (int k = 0; k < CALL_KINDS; k++) {
		call_prep(&c, k, &self->s);
		if (call_is(k, CALL_KEYS)) {
			memset(c.out.room, 0xff, sizeof(c.out.room));
			c.arg.k.bytes = ~0ULL;
			c.arg.k.done = ~0U;
			c.arg.k.reason = ~0U;
			c.arg.k.field = ~0U;
			c.arg.k.run = ~0U;
		} else {
			memset(&c.e.put.r, 0xff, sizeof(c.e.put.r));
			c.arg.b.done = ~0U;
			c.arg.b.reason = ~0U;
			c.arg.b.field = ~0U;
		}
		if (call_is(k, CALL_NEWS))
			memset(&c.e.put.handle, 0xff, sizeof(c.e.put.handle));
		if (call_is(k, CALL_GETS)) {
			c.e.get.bytes = ~0ULL;
			c.e.get.object_size = ~0ULL;
		}
		if (call_is(k, CALL_KEY_GETS))
			memset(&c.e.get.lease, 0xff, sizeof(c.e.get.lease));
		if (call_is(k, CALL_KEY_LEASES))
			memset(c.leases, 0xff, sizeof(c.leases));
		call_control(_metadata, &c, &self->s);
	}
}

/* Sizes of the header that a newer program may have. */
static const __u32 larger[] = { 1, 4, 8, 16, 100, 1024 };

TEST_F(store, larger_header_with_zero_tail_is_accepted)
{
	struct call c;

	for (int k = 0; k < CALL_KINDS; k++) {
		for (size_t i = 0; i < KVT_LEN(larger); i++) {
			call_prep(&c, k, &self->s);
			c.arg.b.size += larger[i];
			call_control(_metadata, &c, &self->s);
		}
		call_prep(&c, k, &self->s);
		c.arg.b.size = sizeof(c.arg.room);
		call_control(_metadata, &c, &self->s);
	}
}

static void refuse_tail(struct __test_metadata *_metadata,
			const struct kvt_store *s, enum call_kind kind,
			__u32 more, bool last)
{
	struct outcome o;
	struct call c;
	__u32 size;

	call_prep(&c, kind, s);
	size = c.arg.b.size;
	c.arg.b.size = size + more;
	c.arg.room[last ? size + more - 1 : size] = 1;
	o = call_run(&c);
	EXPECT_EQ(E2BIG, o.err) {
		TH_LOG("%s, %u bytes more", call_kinds[kind].name, more);
	}
	EXPECT_EQ(KVSTASH_R_SIZE, o.reason);
	EXPECT_EQ(0, o.field);
	kvt_store_same(_metadata, s);
}

TEST_F(store, larger_header_with_nonzero_tail_is_E2BIG)
{
	for (int k = 0; k < CALL_KINDS; k++) {
		for (size_t i = 0; i < KVT_LEN(larger); i++) {
			refuse_tail(_metadata, &self->s, k, larger[i], false);
			refuse_tail(_metadata, &self->s, k, larger[i], true);
		}
	}
}

/* A header so small that it ends where memory does is refused, no fault. */
TEST_F(store, header_too_small_is_not_read_beyond)
{
	static const __u32 sizes[] = { 4, 8, 16, 32 };
	struct outcome o;
	struct call c;
	char *edge;

	for (int k = 0; k < CALL_KINDS; k++) {
		for (size_t i = 0; i < KVT_LEN(sizes); i++) {
			call_prep(&c, k, &self->s);
			edge = kvt_map_edge(sizes[i]);
			ASSERT_NE(NULL, edge);
			c.arg.b.size = sizes[i];
			memcpy(edge, &c.arg, sizes[i]);
			o = call_run_at(&c, edge);
			EXPECT_EQ(EINVAL, o.err) {
				TH_LOG("%s of %u", call_kinds[k].name, sizes[i]);
			}
			munmap((void *)((unsigned long)edge & ~(KVT_PAGE - 1)),
			       KVT_PAGE);
		}
	}
	kvt_store_same(_metadata, &self->s);
}

/* A huge size, with nothing behind it, is refused and reads nothing far. */
TEST_F(store, header_size_near_2_to_the_32_is_refused)
{
	static const __u32 sizes[] = { 0x7fffffff, 0x80000000, 0xfffffff8,
				       0xffffffff };
	struct outcome o;
	struct call c;

	for (int k = 0; k < CALL_KINDS; k++) {
		for (size_t i = 0; i < KVT_LEN(sizes); i++) {
			call_prep(&c, k, &self->s);
			c.arg.b.size = sizes[i];
			o = call_run(&c);
			EXPECT_TRUE(o.err == E2BIG || o.err == EFAULT) {
				TH_LOG("%s: errno %d", call_kinds[k].name,
				       o.err);
			}
			kvt_store_same(_metadata, &self->s);
		}
	}
}

/* A program built with a longer structure has another command number, too. */
TEST_F(store, command_number_of_a_longer_structure_is_the_same_command)
{
	struct call c;
	__u32 more = 16;

	for (int k = 0; k < CALL_KINDS; k++) {
		call_prep(&c, k, &self->s);
		c.arg.b.size += more;
		c.cmd = _IOC(_IOC_READ | _IOC_WRITE, KVSTASH_IOC,
			     _IOC_NR(c.cmd), c.arg.b.size);
		call_control(_metadata, &c, &self->s);
	}
}

/* Entries of a newer program: bytes behind what this kernel knows. */
TEST_F(store, larger_entries_with_zero_tail_are_accepted)
{
	struct call c;

	for (int k = 0; k < CALL_KINDS; k++) {
		for (__u32 more = 8; more <= 1024; more *= 4) {
			call_prep(&c, k, &self->s);
			if (call_is(k, CALL_LOOKUPS))
				continue;
			if (call_is(k, CALL_KEYS))
				c.arg.k.stride += more;
			else
				c.arg.b.stride += more;
			call_control(_metadata, &c, &self->s);
		}
	}
}

/* What stands behind an entry, a result, a header of the first version. */
static bool behind_untouched(const struct call *c)
{
	__u32 least = call_kinds[c->kind].least;

	if (call_is(c->kind, CALL_BATCHES))
		return kvt_untouched((unsigned char *)c->e.room + least, 256);
	return kvt_untouched((unsigned char *)c->arg.room + CALL_FIRST_KEYS, 256) &&
	       kvt_untouched((unsigned char *)c->out.room + 2 * least, 256);
}

/* Programs of the first version: nothing is read or written behind what they know. */
TEST_F(store, structures_of_the_first_version_are_taken)
{
	const unsigned int later = CALL_BIT(CALL_PUT_GROUP) | CALL_BIT(CALL_GET_LEASE) |
				   CALL_BIT(CALL_GET_BY_LEASE) | CALL_KEY_LEASES | PIN;
	struct call c;
	__u32 least;

	for (int k = 0; k < CALL_KINDS; k++) {
		if (call_is(k, later))
			continue;
		call_prep(&c, k, &self->s);
		least = call_kinds[k].least;
		if (call_is(k, CALL_BATCHES)) {
			c.arg.b.stride = least;
			memset(c.e.room + least, KVT_CANARY_BYTE, 256);
		} else {
			c.arg.k.size = CALL_FIRST_KEYS;
			c.arg.k.stride = least;
			memset(c.arg.room + CALL_FIRST_KEYS, KVT_CANARY_BYTE, 256);
			memset(c.out.room + 2 * least, KVT_CANARY_BYTE, 256);
		}
		call_control(_metadata, &c, &self->s);
		EXPECT_TRUE(behind_untouched(&c)) {
			TH_LOG("%s", call_kinds[k].name);
		}
	}
}

TEST_F(store, larger_entry_with_nonzero_tail_is_its_own_E2BIG)
{
	struct outcome o;
	struct call c;

	for (int k = 0; k < CALL_KINDS; k++) {
		for (__u32 more = 8; more <= 1024 && call_is(k, CALL_BATCHES);
		     more *= 2) {
			call_prep(&c, k, &self->s);
			c.arg.b.stride += more;
			c.e.room[c.stride + more - 1] = 1;
			o = call_run(&c);
			EXPECT_EQ(0, o.err);
			EXPECT_EQ(1, o.done);
			KVT_EXPECT(E2BIG, KVSTASH_R_SIZE, o.r);
			EXPECT_EQ(c.stride, o.r.detail);
			kvt_store_same(_metadata, &self->s);
		}
	}
}

/* Good, E2BIG, good: the stride leads to each entry, and to no other place. */
TEST_F(store, entries_of_a_longer_stride_each_have_their_own_result)
{
	const size_t stride = sizeof(struct kvstash_get) + 24;
	char room[3 * (sizeof(struct kvstash_get) + 24)] = { 0 };
	struct kvstash_get *e[3];
	char buf[3][KVT_ONE_LEN];
	struct kvstash_batch b;

	for (int i = 0; i < 3; i++) {
		e[i] = (void *)(room + i * stride);
		kvstash_prep_get(e[i], "seed/one", 8, buf[i], KVT_ONE_LEN);
	}
	room[2 * stride - 1] = 1;
	ASSERT_EQ(0, kvt_batch_hdr(self->s.fd, KVSTASH_IOC_GET, room, 3, stride,
				   &b));
	EXPECT_EQ(3, b.done);
	KVT_OK(e[0]->r);
	KVT_EXPECT(E2BIG, KVSTASH_R_SIZE, e[1]->r);
	KVT_OK(e[2]->r);
	EXPECT_EQ(KVT_ONE_LEN, e[2]->bytes);
	EXPECT_EQ(-1, kvt_verify(buf[2], KVT_ONE_LEN,
				 kvt_seed_of("seed/one", 0)));
	EXPECT_EQ(1, room[2 * stride - 1]);
}

/* A header is an argument, not an array: it may lie anywhere. */
TEST_F(store, header_may_lie_unaligned)
{
	char room[sizeof(struct kvstash_keys) + 8];
	struct call c;

	for (int k = 0; k < CALL_KINDS; k++) {
		if (call_is(k, CALL_ENDS) || k == CALL_REMOVE)
			continue;
		for (int off = 1; off < 8; off++) {
			call_prep(&c, k, &self->s);
			memcpy(room + off, &c.arg, sizeof(struct kvstash_keys));
			EXPECT_EQ(0, call_run_at(&c, room + off).err);
			KVT_OK(call_is(k, CALL_KEYS) ? c.out.res[0].r :
			       c.e.put.r);
			if (call_is(k, CALL_PUTS))
				kvt_remove1(self->s.fd, c.key, strlen(c.key));
			if (k == CALL_RESERVE)
				kvt_abort1(self->s.fd, &c.e.put.handle);
			call_release(&c);
		}
	}
}

static bool known_command(unsigned int type, unsigned int nr)
{
	return type == KVSTASH_IOC && nr >= 0x40 && nr <= 0x50;
}

TEST_F(store, unknown_commands_are_ENOTTY)
{
	struct call c;
	int r;

	call_prep(&c, CALL_PUT, &self->s);
	for (unsigned int nr = 0x10; nr < 256; nr++) {	/* below: the VFS */
		if (known_command(KVSTASH_IOC, nr))
			continue;
		r = kvt_ioctl(self->s.fd, _IOWR(KVSTASH_IOC, nr,
						struct kvstash_batch), &c.arg);
		EXPECT_EQ(-ENOTTY, r) {
			TH_LOG("command %#x", nr);
		}
	}
	for (unsigned int type = 0; type < 256; type++) {
		/* 'X' and 'T' have commands that the VFS answers */
		if (type == KVSTASH_IOC || type == 'X' || type == 'T')
			continue;
		r = kvt_ioctl(self->s.fd, _IOWR(type, 0x42,
						struct kvstash_batch), &c.arg);
		EXPECT_EQ(-ENOTTY, r) {
			TH_LOG("type %#x", type);
		}
	}
	kvt_store_same(_metadata, &self->s);
}

TEST_F(store, another_direction_is_another_command)
{
	struct call c;

	call_prep(&c, CALL_PUT, &self->s);
	for (unsigned int dir = 0; dir < 3; dir++)	/* 3 is the right one */
		EXPECT_EQ(-ENOTTY,
			  kvt_ioctl(self->s.fd,
				    _IOC(dir, KVSTASH_IOC, 0x42, sizeof(c.arg.b)),
				    &c.arg));
	kvt_store_same(_metadata, &self->s);
}

TEST(query_tells_limits_epoch_and_client)
{
	struct kvstash_query q, q2;
	int a = kvt_open(), b = kvt_open();

	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	ASSERT_EQ(0, kvt_query(a, &q));
	ASSERT_EQ(0, kvt_query(b, &q2));
	EXPECT_EQ(sizeof(q), q.size);
	EXPECT_EQ(KVSTASH_ABI_VERSION, q.abi);
	EXPECT_EQ(0, q.features);
	EXPECT_NE(0, q.epoch);
	EXPECT_EQ(q.epoch, q2.epoch);
	EXPECT_NE(q.client, q2.client);
	EXPECT_EQ(KVSTASH_KEY_MAX, q.key_max);
	EXPECT_EQ(KVSTASH_TAG_MAX, q.tag_max);
	EXPECT_EQ(KVSTASH_BATCH_MAX, q.batch_max);
	EXPECT_EQ(KVSTASH_SEGS_MAX, q.segs_max);
	EXPECT_EQ(KVSTASH_PARTS_MAX, q.parts_max);
	EXPECT_EQ(KVSTASH_PART_BYTES_MAX, q.part_bytes_max);
	EXPECT_EQ(0, q.bound);
	EXPECT_EQ('\0', q.ns[0]);
	close(a);
	close(b);
}

TEST(query_sizes)
{
	union {
		struct kvstash_query q;
		char room[4096];
	} u = { 0 };
	int fd = kvt_open();

	ASSERT_LE(0, fd);
	u.q.size = sizeof(u.q) - 1;
	EXPECT_EQ(-EINVAL, kvt_ioctl(fd, KVSTASH_IOC_QUERY, &u));
	u.q.size = sizeof(u.q) + 64;
	EXPECT_EQ(0, kvt_ioctl(fd, KVSTASH_IOC_QUERY, &u));
	EXPECT_EQ(KVSTASH_ABI_VERSION, u.q.abi);
	u.q.size = sizeof(u.q) + 64;
	u.room[sizeof(u.q) + 63] = 1;
	EXPECT_EQ(-E2BIG, kvt_ioctl(fd, KVSTASH_IOC_QUERY, &u));
	close(fd);
}

/* A client that never binds is bound to "default" by its first command. */
TEST(first_command_binds_to_default)
{
	struct kvstash_query q;
	int fd = kvt_open();

	ASSERT_LE(0, fd);
	KVT_EXPECT(ENOENT, KVSTASH_R_MISS, kvt_exists1(fd, "k", 1, NULL));
	ASSERT_EQ(0, kvt_query(fd, &q));
	EXPECT_EQ(1, q.bound);
	EXPECT_STREQ("default", q.ns);
	KVT_OK(kvt_bind(fd, "default"));
	close(fd);
}

static const struct {
	const char *ns;
	int err;
	__u32 reason;
} names[] = {
	{ "", EINVAL, KVSTASH_R_NAME },
	{ "with/slash", EINVAL, KVSTASH_R_NAME },
	{ "with space", EINVAL, KVSTASH_R_NAME },
	{ "0123456789012345678901234567890123456789", EINVAL, KVSTASH_R_NAME },
	{ "\xff\xfe", EINVAL, KVSTASH_R_NAME },
	{ "no-such-namespace", ENODEV, KVSTASH_R_NO_NAMESPACE },
	{ "defaul", ENODEV, KVSTASH_R_NO_NAMESPACE },
	{ "default2", ENODEV, KVSTASH_R_NO_NAMESPACE },
	{ "0123456789012345678901234567890", ENODEV, KVSTASH_R_NO_NAMESPACE },
};

/* A refused BIND leaves the client unbound. */
TEST(bind_refuses_names)
{
	struct kvstash_query q;
	int fd = kvt_open();

	ASSERT_LE(0, fd);
	for (size_t i = 0; i < KVT_LEN(names); i++) {
		KVT_EXPECT(names[i].err, names[i].reason,
			   kvt_bind(fd, names[i].ns));
		ASSERT_EQ(0, kvt_query(fd, &q));
		EXPECT_EQ(0, q.bound);
	}
	KVT_OK(kvt_bind(fd, "default"));
	KVT_OK(kvt_bind(fd, "default"));
	ASSERT_EQ(0, kvt_query(fd, &q));
	EXPECT_EQ(1, q.bound);
	EXPECT_STREQ("default", q.ns);
	close(fd);
}

static const struct spoil bind_members[] = {
	{ 0, BIND(size), 4, 0, EINVAL, KVSTASH_R_SIZE },
	{ 0, BIND(size), 4, sizeof(struct kvstash_bind) - 1,
	  EINVAL, KVSTASH_R_SIZE },
	{ 0, BIND(flags), 4, 1, EINVAL, KVSTASH_R_FLAGS },
	{ 0, BIND(flags), 4, 1U << 31, EINVAL, KVSTASH_R_FLAGS },
	{ 0, BIND(reserved), 4, 1, EINVAL, KVSTASH_R_RESERVED },
	{ 0, BIND(reserved), 4, 1U << 31, EINVAL,
	  KVSTASH_R_RESERVED },
};

TEST(bind_refuses_members)
{
	int fd = kvt_open();
	struct kvstash_bind b;

	ASSERT_LE(0, fd);
	for (size_t i = 0; i < KVT_LEN(bind_members); i++) {
		memset(&b, 0, sizeof(b));
		b.size = sizeof(b);
		snprintf(b.ns, sizeof(b.ns), "default");
		kvt_poke(&b, bind_members[i].off, bind_members[i].width,
			 bind_members[i].v);
		EXPECT_EQ(-bind_members[i].err,
			  kvt_ioctl(fd, KVSTASH_IOC_BIND, &b));
		if (bind_members[i].reason != KVSTASH_R_SIZE)
			EXPECT_EQ(bind_members[i].reason, b.reason);
	}
	close(fd);
}

/* What an open file of each kind may do; 0 is refused. */
static const struct {
	int flags;
	unsigned int may;
} files[] = {
	{ O_RDONLY, CALL_KEY_GETS | CALL_EXISTSES | CALL_LOOKUPS },
	{ O_WRONLY, CALL_NEWS | CALL_WRITES | CALL_ENDS | REMOVE | PIN },
};

/* How the first entry, or else the call, says that it is not allowed. */
static bool not_allowed(const struct outcome *o)
{
	if (o->err)
		return o->err == EACCES && o->reason == KVSTASH_R_PERMISSION;
	return o->r.res == -EACCES && o->r.reason == KVSTASH_R_PERMISSION;
}

TEST_F(store, open_mode_of_the_file_limits_its_commands)
{
	struct outcome o;
	struct call c;
	int fd;

	for (size_t i = 0; i < KVT_LEN(files); i++) {
		fd = kvt_open_flags(files[i].flags);
		ASSERT_LE(0, fd);
		for (int k = 0; k < CALL_KINDS; k++) {
			/* what has another client's lease: see below */
			if (call_is(k, files[i].may | CALL_BIT(CALL_RELEASE) |
				    CALL_BIT(CALL_GET_BY_LEASE)))
				continue;
			call_prep(&c, k, &self->s);
			c.fd = fd;
			o = call_run(&c);
			EXPECT_TRUE(not_allowed(&o)) {
				TH_LOG("%s, mode %d: errno %d reason %u, entry %d %u",
				       call_kinds[k].name, files[i].flags,
				       o.err, o.reason, -o.r.res, o.r.reason);
			}
			kvt_store_same(_metadata, &self->s);
		}
		close(fd);
	}
}

TEST_F(store, read_only_file_reads)
{
	int fd = kvt_open_flags(O_RDONLY);
	struct call c;

	ASSERT_LE(0, fd);
	for (int k = 0; k < CALL_KINDS; k++) {
		if (!call_is(k, files[0].may))
			continue;
		call_prep(&c, k, &self->s);
		c.fd = fd;
		call_control(_metadata, &c, &self->s);
	}
	close(fd);
}

/* Who may read may lease, hence release. */
TEST_F(store, read_only_file_leases_and_releases)
{
	int fd = kvt_open_flags(O_RDONLY), wo = kvt_open_flags(O_WRONLY);
	char back[KVT_ONE_LEN];
	struct kvstash_handle h;

	ASSERT_LE(0, fd);
	ASSERT_LE(0, wo);
	KVT_OK(kvt_exists_lease1(fd, "seed/one", 8, NULL, &h));
	KVT_OK(kvt_get_by_lease1(fd, &h, back, sizeof(back), NULL));
	EXPECT_EQ(-1, kvt_verify(back, sizeof(back), kvt_seed_of("seed/one", 0)));
	KVT_EXPECT(EACCES, KVSTASH_R_PERMISSION,
		   kvt_get_by_lease1(wo, &h, back, sizeof(back), NULL));
	KVT_EXPECT(EACCES, KVSTASH_R_PERMISSION, kvt_pin1(fd, "seed/one", 8, KVSTASH_PIN_SOFT));
	KVT_OK(kvt_release1(fd, &h));
	KVT_EXPECT(EALREADY, KVSTASH_R_RELEASED, kvt_release1(fd, &h));
	close(fd);
	close(wo);
}

TEST_F(store, write_only_file_writes)
{
	int fd = kvt_open_flags(O_WRONLY);
	struct kvstash_handle h;

	ASSERT_LE(0, fd);
	KVT_OK(kvt_put1(fd, "wo", 2, "bytes", 5));
	KVT_OK(kvt_pin1(fd, "wo", 2, KVSTASH_PIN_SOFT));
	KVT_OK(kvt_remove1(fd, "wo", 2));
	KVT_OK(kvt_reserve1(fd, "wo", 2, 5, &h));
	KVT_OK(kvt_write1(fd, &h, 0, "bytes", 5));
	KVT_OK(kvt_commit1(fd, &h));
	KVT_OK(kvt_remove1(fd, "wo", 2));
	KVT_OK(kvt_reserve1(fd, "wo", 2, 5, &h));
	KVT_OK(kvt_abort1(fd, &h));
	close(fd);
}

/* What a character device does not have. */
TEST_F(store, other_file_operations_are_refused)
{
	char c = 0;

	EXPECT_GT(0, read(self->s.fd, &c, 1));
	EXPECT_GT(0, write(self->s.fd, &c, 1));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, KVT_PAGE, PROT_READ, MAP_SHARED,
				   self->s.fd, 0));
	EXPECT_EQ(-1, ioctl(self->s.fd, 0, 0));
	kvt_store_same(_metadata, &self->s);
}

TEST_HARNESS_MAIN
