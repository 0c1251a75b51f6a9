// SPDX-License-Identifier: GPL-2.0
/* kvstash-load: pool_mb=2 wm_low=0 wm_high=0 chunk_order=3 */
/*
 * R111: clients at work on one pool while another is made. It is made of the
 * smallest chunks, so that its creation takes longer than a turn of each client
 * wherever this runs: a fast machine makes large ones of 1 GiB in a millisecond.
 */
#include "r_store.h"

static char buf[20480];

#define WORKERS	4

struct r111 {
	struct kvr_store *s;
	__u32 rounds[WORKERS];
	__u32 stop;
	__u32 broken;
	__u64 size;	/* of the pool that is made */
};

static unsigned int my_number;	/* set before the fork */

/*
 * Each round opens the device, too: a new client must not wait either. What is
 * put is removed again, so that nothing is evicted.
 */
static int r111_worker(void *arg)
{
	struct r111 *t = arg;
	struct kvr_obj o = { .key = { 1110 + my_number, 0 }, .len = 20000, .parts = 1 };
	struct kvstash_result put = { 0 }, get = { 0 };
	int fd = 0;

	while (fd >= 0 && !put.res && !get.res) {
		if (kvr_load(&t->stop))
			return 0;
		fd = kvt_open_ns(t->s->name);
		o.key.id++;
		put = kvr_put(fd, &o, buf);
		get = kvr_get(fd, &o, buf);
		kvr_remove(fd, &o);
		close(fd);
		kvr_add(&t->rounds[my_number], 1);
	}
	kvr_add(&t->broken, 1);
	return kvr_say("client %u: open %d, put %d reason %u detail %llu, get %d reason %u",
		       my_number, fd, put.res, put.reason, put.detail, get.res, get.reason);
}

static int r111_create(void *arg)
{
	struct r111 *t = arg;

	return kvt_pool_new("large", t->size, NULL) ? 1 : 0;
}

static __u64 creating(void)
{
	__u64 v;

	return kvt_figure("/proc/kvstash/stats", "creating_bytes", &v) ? ~0ULL : v;
}

static bool ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

/* Three quarters of what the machine can give; a slow bed clears less memory. */
static __u64 largest(void)
{
	__u64 kib = 0, most = KVR_MB(kvt_rounds(8192));

	kvt_figure("/proc/meminfo", "MemAvailable", &kib);
	kib = kib / 4 * 3;
	return (kib << 10 < most ? kib << 10 : most) & ~(KVR_MB(2) - 1);
}

/*
 * Kills the creation once @least bytes are there, and looks what is left. Before
 * that each client comes forward, however long it takes: a creation that stops
 * them would end first. True if it was killed.
 */
static bool r111_kill(struct __test_metadata *_metadata, struct r111 *t, __u64 least)
{
	pid_t pid = kvr_spawn(r111_create, t);
	__u32 from[WORKERS];
	int status;

	ASSERT_LT(0, pid);
	for (unsigned int i = 0; i < WORKERS; i++)
		from[i] = kvr_load(&t->rounds[i]);
	while (!ended(pid) && creating() < least)
		;
	for (unsigned int i = 0; i < WORKERS; i++)
		EXPECT_EQ(0, kvr_await(&t->rounds[i], from[i] + 1, &t->broken));
	status = kvr_kill(pid);
	if (!status)
		EXPECT_EQ(0, kvt_pool_del("large"));
	EXPECT_EQ(0, creating());
	EXPECT_NE(0, access("/proc/kvstash/pool/large", F_OK));
	return status == -SIGKILL;
}

/* That the clients' latency does not suffer is for the benchmark to show. */
TEST_F(store, R111_creation_stops_nobody_and_can_be_killed)
{
	struct r111 *t = kvr_shared(sizeof(*t));
	pid_t pid[WORKERS], maker;
	unsigned int killed = 0;

	ASSERT_NE(NULL, t);
	kvr_store_make(_metadata, &self->s, KVR_MB(8), NULL);
	t->s = &self->s;
	t->size = largest();
	for (my_number = 0; my_number < WORKERS; my_number++)
		pid[my_number] = kvr_spawn(r111_worker, t);
	for (unsigned int i = 0; i < 4; i++)
		killed += r111_kill(_metadata, t, t->size / 8 * i);
	EXPECT_LT(0, killed);
	/* what the killed ones had taken has come back: the whole fits */
	maker = kvr_spawn(r111_create, t);
	EXPECT_EQ(0, kvt_wait(maker));
	EXPECT_EQ(0, access("/proc/kvstash/pool/large", F_OK));
	EXPECT_EQ(0, kvt_pool_del("large"));
	kvr_add(&t->stop, 1);
	for (unsigned int i = 0; i < WORKERS; i++)
		EXPECT_EQ(0, kvt_wait(pid[i]));
	TH_LOG("%llu MiB, killed %u times", t->size >> 20, killed);
}

TEST_HARNESS_MAIN
