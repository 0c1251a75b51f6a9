// SPDX-License-Identifier: GPL-2.0
/*
 * What an object is beside its bytes: its identity, fixed by the first part,
 * and its place in a chain.
 */
#include "abi_call.h"

#define LEN	500UL

/* The identity of an object of two parts; all that follow differ in one thing. */
struct identity {
	const char *what;
	__u16 parts;
	const char *parent;
	int manifest;		/* seed of the digest, 0: none */
	int tag;		/* seed of the tag, 0: none */
	__u16 tag_len;
	__u64 len;
	int err;
	__u32 reason;
};

static const struct identity good = { "good", 2, "seed/one", 1, 1, 16, LEN, 0,
				      0 };

static const struct identity bad[] = {
	{ "fewer parts", 1, "seed/one", 1, 1, 16, LEN, EXDEV,
	  KVSTASH_R_MISMATCH_PARTS },
	{ "more parts", 3, "seed/one", 1, 1, 16, LEN, EXDEV,
	  KVSTASH_R_MISMATCH_PARTS },
	{ "another manifest", 2, "seed/one", 2, 1, 16, LEN, EXDEV,
	  KVSTASH_R_MISMATCH_MANIFEST },
	{ "no manifest", 2, "seed/one", 0, 1, 16, LEN, EXDEV,
	  KVSTASH_R_MISMATCH_MANIFEST },
	{ "another parent", 2, "seed/three", 1, 1, 16, LEN, EXDEV,
	  KVSTASH_R_MISMATCH_PARENT },
	{ "a parent that is not there", 2, "seed/none", 1, 1, 16, LEN, EXDEV,
	  KVSTASH_R_MISMATCH_PARENT },
	{ "no parent", 2, NULL, 1, 1, 16, LEN, EXDEV,
	  KVSTASH_R_MISMATCH_PARENT },
	{ "another tag", 2, "seed/one", 1, 2, 16, LEN, EXDEV,
	  KVSTASH_R_MISMATCH_TAG },
	{ "a shorter tag", 2, "seed/one", 1, 1, 15, LEN, EXDEV,
	  KVSTASH_R_MISMATCH_TAG },
	{ "a longer tag", 2, "seed/one", 1, 1, 17, LEN, EXDEV,
	  KVSTASH_R_MISMATCH_TAG },
	{ "no tag", 2, "seed/one", 1, 0, 0, LEN, EXDEV,
	  KVSTASH_R_MISMATCH_TAG },
};

/* Memory that an entry of an identity names. */
struct memory {
	char manifest[KVSTASH_DIGEST_LEN];
	char tag[KVSTASH_TAG_MAX];
};

static void prep_identity(struct kvstash_put *e, struct memory *m,
			  const struct identity *id, __u16 part)
{
	kvt_prep_named(e, "identity", id->parent);
	kvstash_prep_put_part(e, part, id->parts);
	e->part_len = id->len;
	if (id->manifest) {
		kvt_fill(m->manifest, sizeof(m->manifest), id->manifest);
		kvstash_prep_put_manifest(e, m->manifest);
	}
	if (id->tag) {
		kvt_fill(m->tag, sizeof(m->tag), id->tag);
		kvstash_prep_put_tag(e, m->tag, id->tag_len);
	}
}

/* PUT, or RESERVE: both must agree. */
static struct kvstash_result try_identity(int fd, const struct identity *id,
					  __u16 part, bool reserve)
{
	struct kvstash_result r;
	struct kvstash_put e;
	struct memory m;

	prep_identity(&e, &m, id, part);
	if (!reserve)
		return kvt_put_pattern(fd, &e, 60 + part, id->len);
	r = kvt_reserve_one(fd, &e);
	if (!r.res)
		kvt_abort1(fd, &e.handle);
	return r;
}

static void refuse_all(struct __test_metadata *_metadata, struct kvt_store *s)
{
	struct kvt_snap snap = { .nr = 0 };
	struct kvstash_result r;
	int other = kvt_open();
	__u16 part;

	ASSERT_LE(0, other);
	kvt_snap_key(&snap, "identity");
	ASSERT_EQ(0, kvt_snap_take(&snap, s->fd));
	for (size_t i = 0; i < 4 * KVT_LEN(bad); i++) {
		const struct identity *id = &bad[i / 4];

		part = id->parts > 1 ? i % 2 : 0;
		r = try_identity(i & 1 ? other : s->fd, id, part, i & 2);
		KVT_EXPECT(id->err, id->reason, r);
		if (r.reason != id->reason)
			TH_LOG("%s", id->what);
		if (id->reason == KVSTASH_R_MISMATCH_PARTS)
			EXPECT_EQ(2, r.detail);
		kvt_snap_same(_metadata, &snap, s->fd);
	}
	close(other);
}

TEST_F(store, I8_another_identity_is_a_mismatch_and_changes_nothing)
{
	struct identity longer = good;
	struct kvstash_handle h;
	struct kvstash_result r;
	struct kvstash_put e;
	struct memory m;

	/* only reserved; half there; visible */
	prep_identity(&e, &m, &good, 0);
	KVT_OK(kvt_reserve_one(self->s.fd, &e));
	h = e.handle;
	refuse_all(_metadata, &self->s);
	KVT_OK(kvt_abort1(self->s.fd, &h));
	KVT_OK(try_identity(self->s.fd, &good, 0, false));
	refuse_all(_metadata, &self->s);
	longer.len++;
	r = try_identity(self->s.fd, &longer, 0, false);
	KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_LENGTH, r);
	EXPECT_EQ(LEN, r.detail);
	KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS,
		   try_identity(self->s.fd, &good, 0, false));
	KVT_OK(try_identity(self->s.fd, &good, 1, false));
	refuse_all(_metadata, &self->s);
	for (int i = 0; i < 4; i++) {
		KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS,
			   try_identity(self->s.fd, &good, i & 1, i & 2));
		KVT_EXPECT(EXDEV, KVSTASH_R_MISMATCH_LENGTH,
			   try_identity(self->s.fd, &longer, i & 1, i & 2));
	}
	KVT_OK(kvt_remove1(self->s.fd, "identity", 8));
}

/* R05: of eight keys three are there: those are skipped, and stay as they are. */
TEST_F(store, I2_put_of_visible_key_changes_nothing)
{
	char old[LEN], new[LEN], back[LEN], keys[8][8];
	struct kvstash_put e[8];

	kvt_fill(old, LEN, 1);
	kvt_fill(new, LEN, 2);
	for (int i = 0; i < 8; i++) {
		snprintf(keys[i], sizeof(keys[i]), "r05/%d", i);
		if (i % 3 == 1)
			KVT_OK(kvt_put1(self->s.fd, keys[i], 5, old, LEN));
		kvstash_prep_put(&e[i], keys[i], 5, new, LEN);
	}
	ASSERT_EQ(8, kvt_put(self->s.fd, e, 8));
	for (int i = 0; i < 8; i++) {
		KVT_EXPECT(i % 3 == 1 ? EEXIST : 0,
			   i % 3 == 1 ? KVSTASH_R_EXISTS : KVSTASH_R_OK,
			   e[i].r);
		KVT_OK(kvt_get1(self->s.fd, keys[i], 5, back, LEN, NULL));
		EXPECT_EQ(0, memcmp(back, i % 3 == 1 ? old : new, LEN));
		KVT_OK(kvt_remove1(self->s.fd, keys[i], 5));
	}
}

/* A key twice in one batch: the first is put, the second exists. */
TEST_F(store, key_named_twice_in_a_batch)
{
	char buf[2][LEN], back[LEN];
	struct kvstash_put e[2];

	kvt_fill(buf[0], LEN, 1);
	kvt_fill(buf[1], LEN, 2);
	for (int i = 0; i < 2; i++)
		kvstash_prep_put(&e[i], "twice", 5, buf[i], LEN);
	ASSERT_EQ(2, kvt_put(self->s.fd, e, 2));
	KVT_OK(e[0].r);
	KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS, e[1].r);
	KVT_OK(kvt_get1(self->s.fd, "twice", 5, back, LEN, NULL));
	EXPECT_EQ(0, memcmp(back, buf[0], LEN));
	KVT_OK(kvt_remove1(self->s.fd, "twice", 5));
}

static struct kvstash_result put_child(int fd, const char *key,
				       const char *parent, __u32 flags)
{
	struct kvstash_put e;

	kvt_prep_named(&e, key, parent);
	e.flags = flags;
	return kvt_put_pattern(fd, &e, kvt_seed_of(key, 0), LEN);
}

TEST_F(store, parent_itself_is_ELOOP)
{
	struct kvstash_put e;

	for (__u32 flags = 0; flags < 2; flags++) {
		KVT_EXPECT(ELOOP, KVSTASH_R_PARENT_SELF,
			   put_child(self->s.fd, "loop", "loop", flags));
		KVT_EXPECT(ELOOP, KVSTASH_R_PARENT_SELF,
			   put_child(self->s.fd, "seed/one", "seed/one",
				     flags));
		kvt_prep_named(&e, "loop", "loop");
		e.part_len = LEN;
		e.flags = flags;
		KVT_EXPECT(ELOOP, KVSTASH_R_PARENT_SELF,
			   kvt_reserve_one(self->s.fd, &e));
		kvt_store_same(_metadata, &self->s);
	}
}

TEST_F(store, I9_parent_that_is_not_there)
{
	const __u32 root = KVSTASH_PUT_ROOT_IF_NO_PARENT;

	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS,
		   put_child(self->s.fd, "orphan", "seed/none", 0));
	kvt_store_same(_metadata, &self->s);
	/* asked for, it starts a chain, and stands by itself */
	KVT_OK(put_child(self->s.fd, "orphan", "seed/none", root));
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, kvt_state(self->s.fd, "orphan", 6));
	KVT_OK(put_child(self->s.fd, "seed/none", NULL, 0));
	KVT_OK(kvt_remove1(self->s.fd, "seed/none", 9));
	EXPECT_EQ(KVSTASH_STATE_VISIBLE, kvt_state(self->s.fd, "orphan", 6));
	KVT_OK(kvt_remove1(self->s.fd, "orphan", 6));
	/* the flag is no harm if the parent is there */
	KVT_OK(put_child(self->s.fd, "orphan", "seed/one", root));
	KVT_OK(kvt_remove1(self->s.fd, "orphan", 6));
	kvt_store_same(_metadata, &self->s);
}

/* A prefix of the parent's key, or the parent with a byte more, is another. */
TEST_F(store, parent_is_compared_whole)
{
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS,
		   put_child(self->s.fd, "child", "seed/on", 0));
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS,
		   put_child(self->s.fd, "child", "seed/ones", 0));
	kvt_store_same(_metadata, &self->s);
}

#define CHAIN	64

static void chain_key(char key[16], int i)
{
	snprintf(key, 16, "chain/%02d", i);
}

static void chain_expect(struct __test_metadata *_metadata, int fd, int i,
			 int state, __u32 reason)
{
	struct kvstash_exists x;
	struct kvstash_result r;
	char key[16];

	chain_key(key, i);
	r = kvt_exists1(fd, key, strlen(key), &x);
	EXPECT_EQ(state, x.state) {
		TH_LOG("link %d: reason %u", i, r.reason);
	}
	EXPECT_EQ(reason, r.reason);
	EXPECT_EQ(reason ? -ENOENT : 0, r.res);
}

/* The run that LOOKUP sees, and the reason why it ends. */
static void chain_lookup(struct __test_metadata *_metadata, int fd, int run,
			 __u32 reason)
{
	char keys[CHAIN * 16], *at = keys;
	struct kvstash_keys k;
	__u16 lens[CHAIN];

	for (int i = 0; i < CHAIN; i++) {
		chain_key(at, i);
		lens[i] = strlen(at);
		at += lens[i];
	}
	kvstash_prep_keys_var(&k, keys, lens, CHAIN);
	EXPECT_EQ(run, kvt_lookup(fd, &k));
	EXPECT_EQ(reason, k.reason);
	EXPECT_EQ(run * LEN, k.bytes);
}

static void chain_reserve(struct __test_metadata *_metadata, int fd,
			  struct kvstash_handle h[CHAIN])
{
	char key[16], parent[16], buf[LEN];
	struct kvstash_put e;

	for (int i = 0; i < CHAIN; i++) {
		chain_key(key, i);
		chain_key(parent, i - 1);
		kvt_prep_named(&e, key, i ? parent : NULL);
		e.part_len = LEN;
		KVT_OK(kvt_reserve_one(fd, &e));
		h[i] = e.handle;
		kvt_fill(buf, LEN, kvt_seed_of(key, 0));
		KVT_OK(kvt_write1(fd, &h[i], 0, buf, LEN));
	}
}

/*
 * The links of a chain are completed in some order; link i is visible if and
 * only if all up to it are complete, and else waits.
 */
static void chain_complete(struct __test_metadata *_metadata, int fd,
			   const int order[CHAIN])
{
	struct kvstash_handle h[CHAIN];
	bool complete[CHAIN] = { false };
	int run;

	chain_reserve(_metadata, fd, h);
	for (int n = 0; n < CHAIN; n++) {
		KVT_OK(kvt_commit1(fd, &h[order[n]]));
		complete[order[n]] = true;
		for (run = 0; run < CHAIN && complete[run]; run++)
			chain_expect(_metadata, fd, run, KVSTASH_STATE_VISIBLE,
				     0);
		if (run < CHAIN)
			chain_lookup(_metadata, fd, run,
				     KVSTASH_R_IN_FLIGHT);
		for (int i = run; i < CHAIN; i++)
			chain_expect(_metadata, fd, i,
				     complete[i] ? KVSTASH_STATE_WAITING :
						   KVSTASH_STATE_FILLING,
				     complete[i] ? KVSTASH_R_PARENT_PENDING :
						   KVSTASH_R_IN_FLIGHT);
	}
	chain_lookup(_metadata, fd, CHAIN, 0);
	KVT_OK(kvt_remove1(fd, "chain/00", 8));
	for (int i = 0; i < CHAIN; i++)
		chain_expect(_metadata, fd, i, KVSTASH_STATE_ABSENT,
			     KVSTASH_R_MISS);
}

TEST_F(store, I9_chain_completed_forwards_and_backwards)
{
	int order[CHAIN];

	for (int i = 0; i < CHAIN; i++)
		order[i] = i;
	chain_complete(_metadata, self->s.fd, order);
	kvt_store_same(_metadata, &self->s);
	for (int i = 0; i < CHAIN; i++)
		order[i] = CHAIN - 1 - i;
	chain_complete(_metadata, self->s.fd, order);
	kvt_store_same(_metadata, &self->s);
}

TEST_F(store, I9_chain_completed_in_any_order)
{
	unsigned int rounds = kvt_rounds(8);
	int order[CHAIN], other, tmp;

	srandom(1);
	for (unsigned int round = 0; round < rounds; round++) {
		for (int i = 0; i < CHAIN; i++)
			order[i] = i;
		for (int i = CHAIN - 1; i; i--) {
			other = random() % (i + 1);
			tmp = order[i];
			order[i] = order[other];
			order[other] = tmp;
		}
		chain_complete(_metadata, self->s.fd, order);
		kvt_store_same(_metadata, &self->s);
	}
}

/* A child that waits is not readable, and a put of it finds it there. */
TEST_F(store, I9_waiting_child)
{
	struct kvstash_exists x;
	struct kvstash_put e;
	char back[5000];

	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_PENDING,
		   kvt_exists1(self->s.fd, "seed/wait", 9, &x));
	EXPECT_EQ(KVSTASH_STATE_WAITING, x.state);
	EXPECT_EQ(4097, x.object_size);
	EXPECT_EQ(1, x.parts_present);
	KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_PENDING,
		   kvt_get1(self->s.fd, "seed/wait", 9, back, sizeof(back),
			    NULL));
	kvt_prep_named(&e, "seed/wait", "seed/part");
	KVT_EXPECT(EEXIST, KVSTASH_R_EXISTS,
		   kvt_put_pattern(self->s.fd, &e, 1, 4097));
	kvt_store_same(_metadata, &self->s);
}

/* What EXISTS says of an object whose parts come one by one. */
TEST_F(store, parts_are_counted_as_they_come)
{
	const int order[5] = { 3, 0, 4, 2, 1 };
	struct kvstash_exists x;
	struct kvstash_put e;
	__u64 size = 0;

	for (int n = 0; n < 5; n++) {
		kvt_prep_named(&e, "parts", NULL);
		kvstash_prep_put_part(&e, order[n], 5);
		KVT_OK(kvt_put_pattern(self->s.fd, &e, order[n],
				       1000 * (order[n] + 1)));
		size += 1000 * (order[n] + 1);
		kvt_exists1(self->s.fd, "parts", 5, &x);
		EXPECT_EQ(5, x.parts);
		EXPECT_EQ(n + 1, x.parts_present);
		EXPECT_EQ(size, x.object_size);
		if (n == 4) {
			KVT_OK(x.r);
			EXPECT_EQ(KVSTASH_STATE_VISIBLE, x.state);
			break;
		}
		KVT_EXPECT(ENOENT, KVSTASH_R_INCOMPLETE, x.r);
		EXPECT_EQ(n + 1, x.r.detail);
		EXPECT_EQ(KVSTASH_STATE_FILLING, x.state);
		KVT_EXPECT(EBUSY, KVSTASH_R_IN_FLIGHT,
			   kvt_remove1(self->s.fd, "parts", 5));
	}
	KVT_OK(kvt_remove1(self->s.fd, "parts", 5));
}

/* All commands miss a key that was removed, and one may put it anew. */
TEST_F(store, I3_use_after_remove)
{
	struct kvstash_keys k;
	char back[LEN];

	for (int seed = 1; seed < 4; seed++) {
		char buf[LEN];

		kvt_fill(buf, LEN, seed);
		KVT_OK(kvt_put1(self->s.fd, "gone", 4, buf, LEN));
		KVT_OK(kvt_get1(self->s.fd, "gone", 4, back, LEN, NULL));
		EXPECT_EQ(-1, kvt_verify(back, LEN, seed));
		KVT_OK(kvt_remove1(self->s.fd, "gone", 4));
		KVT_EXPECT(ENOENT, KVSTASH_R_MISS,
			   kvt_get1(self->s.fd, "gone", 4, back, LEN, NULL));
		KVT_EXPECT(ENOENT, KVSTASH_R_MISS,
			   kvt_exists1(self->s.fd, "gone", 4, NULL));
		KVT_EXPECT(ENOENT, KVSTASH_R_MISS,
			   kvt_remove1(self->s.fd, "gone", 4));
		kvstash_prep_keys(&k, "gone", 4, 1);
		EXPECT_EQ(0, kvt_lookup(self->s.fd, &k));
		EXPECT_EQ(KVSTASH_R_MISS, k.reason);
		KVT_EXPECT(ENOENT, KVSTASH_R_PARENT_MISS,
			   put_child(self->s.fd, "orphan", "gone", 0));
		kvt_store_same(_metadata, &self->s);
	}
}

/* The manifest and the tag come back as they were given, or as none. */
TEST_F(store, manifest_and_tag_come_back)
{
	char tag[KVSTASH_TAG_MAX];
	struct kvstash_exists x;
	struct kvstash_keys k;

	kvstash_prep_keys(&k, "seed/three", 10, 1);
	kvstash_prep_keys_tags(&k, tag);
	ASSERT_EQ(1, kvt_exists(self->s.fd, &k, &x));
	EXPECT_EQ(0, memcmp(x.manifest, self->s.manifest, sizeof(x.manifest)));
	EXPECT_EQ(KVSTASH_TAG_MAX, x.tag_len);
	EXPECT_EQ(0, memcmp(tag, self->s.tag, sizeof(tag)));
	EXPECT_EQ(KVT_THREE_PARTS, x.parts);
	EXPECT_EQ(KVT_THREE_LEN, x.object_size);
	memset(tag, 0xff, sizeof(tag));
	kvstash_prep_keys(&k, "seed/one", 8, 1);
	kvstash_prep_keys_tags(&k, tag);
	ASSERT_EQ(1, kvt_exists(self->s.fd, &k, &x));
	EXPECT_EQ(0, x.tag_len);
	for (size_t i = 0; i < sizeof(x.manifest); i++)
		EXPECT_EQ(0, x.manifest[i]);
}

TEST_HARNESS_MAIN
