// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench replay: options and summary; those of hybrid, too */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kvstash.h>

#include "kvstash-bench.h"
#include "kvstash-bench-replay.h"
#include "kvstash-bench-report.h"

#define BLOCK_BYTES	(4 * 114688)	/* 512 tokens */
#define BLOCK_MAX	0x40000000

static __u64 orphans;	/* counted at all rests */
static struct kvstash *checker;

static void at_rest(struct replay *r, size_t requests)
{
	orphans += orphans_count(r, checker, requests);
}

/* The namespace's counter; the module may be one that does not show it. */
static bool evictions_now(const struct replay *r, __u64 *n)
{
	char pool[KVSTASH_NAME_MAX];

	if (stat_read("ns", r->ns ? r->ns : "default", "evictions", n))
		return true;
	return stat_pool_name(pool, sizeof(pool)) &&
	       stat_read("pool", pool, "evictions", n);
}

static void latency(json_t *to, const char *name, const struct hist *h)
{
	json_t *obj = json_object();

	report_int(obj, "calls", h->count);
	report_real(obj, "p50", (double)hist_percentile(h, 50) / 1e3);
	report_real(obj, "p90", (double)hist_percentile(h, 90) / 1e3);
	report_real(obj, "p99", (double)hist_percentile(h, 99) / 1e3);
	report_real(obj, "p99.9", (double)hist_percentile(h, 99.9) / 1e3);
	report_real(obj, "max", (double)h->max / 1e3);
	json_object_set_new(to, name, obj);
}

static double share(__u64 part, __u64 all)
{
	return all ? (double)part / (double)all : 0;
}

static json_t *summary(const struct replay *r, const struct tally *s, double seconds)
{
	json_t *obj = json_object();

	report_int(obj, "requests", s->requests);
	report_int(obj, "blocks", s->blocks);
	report_int(obj, "unique_blocks", r->t->unique);
	report_int(obj, "block_bytes", r->block_bytes);
	report_int(obj, "workers", r->workers);
	report_real(obj, "block_hit_ratio", share(s->hits, s->blocks));
	report_real(obj, "request_hit_ratio", share(s->requests_hit, s->requests));
	report_real(obj, "request_full_ratio", share(s->requests_full, s->requests));
	report_int(obj, "bytes_put", s->put * r->block_bytes);
	report_int(obj, "bytes_got", s->got * r->block_bytes);
	report_int(obj, "put_exists", s->exists);
	report_int(obj, "put_busy", s->busy);
	report_int(obj, "put_no_parent", s->no_parent);
	report_int(obj, "no_space", s->no_space);
	report_int(obj, "gone", s->gone);
	report_int(obj, "corrupt", s->corrupt);
	report_int(obj, "orphans", orphans);
	report_int(obj, "errors", s->errors);
	report_int(obj, "broken_lines", r->t->broken);
	report_int(obj, "chain_conflicts", r->t->conflicts);
	latency(obj, "lookup_us", &s->lookup_ns);
	latency(obj, "get_us", &s->get_ns);
	latency(obj, "put_us", &s->put_ns);
	report_real(obj, "seconds", seconds);
	return obj;
}

static int run(struct replay *r, bool json)
{
	const struct engine *e = r->engine;
	struct tally *sum = xalloc(1, sizeof(*sum));
	__u64 after = 0;
	bool known;
	double seconds;
	json_t *obj;
	int rc;

	r->shared = map_shared(sizeof(*r->shared) + r->workers * sizeof(*sum));
	seconds = workers_run(r, at_rest);
	tally_sum(r, sum);

	obj = summary(r, sum, seconds);
	known = evictions_now(r, &after);
	if (known)
		report_int(obj, "evictions", after - r->evictions);
	else
		json_object_set_new(obj, "evictions", json_null());
	if (e->report)
		e->report(r, checker, sum, obj);
	report_put(obj, json);
	rc = sum->corrupt || sum->errors || sum->hybrid.false_long || orphans ?
	     EXIT_WRONG : EXIT_OK;
	free(sum);
	return rc;
}

static const char help[] =
"  --block-bytes N   bytes of a block (default 458752)\n"
"  --workers N       processes (default 1: the trace's order exactly)\n"
"  --requests N      only the first N requests\n"
"  --verify HOW      full: all bytes (default), sample: three pages a block, none\n"
"  --check-every N   look for orphans after each N requests, too, not only at the end\n"
"  --on-broken HOW   a line that is no request: skip it, or fail (default)\n"
"  --namespace NS    play in this namespace\n"
"  --json            print the summary as a JSON object, too, on the last line\n"
"  --no-progress     do not tell how far it is\n"
"Exits with 1 if bytes were wrong, a call failed or a block was an orphan.\n";

static const struct option common[] = {
	{ "trace", required_argument, NULL, 't' },
	{ "block-bytes", required_argument, NULL, 'B' },
	{ "workers", required_argument, NULL, 'w' },
	{ "requests", required_argument, NULL, 'n' },
	{ "verify", required_argument, NULL, 'v' },
	{ "check-every", required_argument, NULL, 'c' },
	{ "on-broken", required_argument, NULL, 'b' },
	{ "namespace", required_argument, NULL, 'N' },
	{ "json", no_argument, NULL, 'j' },
	{ "no-progress", no_argument, NULL, 'p' },
	{ "help", no_argument, NULL, 'h' },
};

#define NR_COMMON	(sizeof(common) / sizeof(*common))

struct replay_options {
	const char *path;
	size_t requests;
	bool skip_broken;
	bool json;
};

static enum verify parse_verify(const char *text)
{
	static const char * const names[] = { "full", "sample", "none" };

	for (int i = 0; i < 3; i++)
		if (!strcmp(text, names[i]))
			return i;
	die("--verify: full, sample or none, not '%s'", text);
}

static void set_option(struct replay *r, struct replay_options *opt, int o)
{
	switch (o) {
	case 't':
		opt->path = optarg;
		break;
	case 'B':
		r->block_bytes = parse_u64("--block-bytes", optarg, 1, BLOCK_MAX);
		break;
	case 'w':
		r->workers = parse_u64("--workers", optarg, 1, REPLAY_WORKERS_MAX);
		break;
	case 'n':
		opt->requests = parse_u64("--requests", optarg, 1, UINT32_MAX);
		break;
	case 'v':
		r->verify = parse_verify(optarg);
		break;
	case 'c':
		r->check_every = parse_u64("--check-every", optarg, 1, UINT32_MAX);
		break;
	case 'b':
		opt->skip_broken = parse_on_broken(optarg);
		break;
	case 'N':
		r->ns = optarg;
		break;
	case 'j':
		opt->json = true;
		break;
	case 'p':
		r->progress = false;
		break;
	case 'h':
		printf("%s%s", r->engine->help, help);
		exit(finish(EXIT_OK));
	default:
		if (o < ENGINE_OPTION)
			exit(EXIT_USAGE);
		r->engine->option(o, optarg);
	}
}

static void parse(struct replay *r, struct replay_options *opt, int argc, char **argv)
{
	const struct option *own = r->engine->options;
	struct option *options;
	size_t n = 0;
	int o;

	while (own && own[n].name)
		n++;
	options = xalloc(NR_COMMON + n + 1, sizeof(*options));
	memcpy(options, common, sizeof(common));
	if (n)
		memcpy(options + NR_COMMON, own, n * sizeof(*own));
	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1)
		set_option(r, opt, o);
	free(options);
	if (!opt->path && optind < argc)
		opt->path = argv[optind++];
	if (!opt->path || optind < argc)
		die("%s: one trace and options only; see --help", argv[0]);
}

/* A subcommand that plays a trace by engines of a kind */
int replay_main(int argc, char **argv, const struct engine *engine)
{
	struct replay r = {
		.engine = engine, .block_bytes = BLOCK_BYTES, .workers = 1, .progress = true,
	};
	struct replay_options opt = {};
	struct trace *t;
	int rc;

	parse(&r, &opt, argc, argv);
	t = trace_load(opt.path, opt.requests, opt.skip_broken);
	r.t = t;
	checker = client_open(r.ns);
	if (engine->start)
		engine->start(&r, checker);
	evictions_now(&r, &r.evictions);
	rc = run(&r, opt.json);
	kvstash_close(checker);
	trace_free(t);
	return rc;
}

int cmd_replay(int argc, char **argv)
{
	static const struct engine engine = {
		.help = "usage: kvstash-bench replay [OPTION]... TRACE\n",
		.request = player_request,
	};

	return replay_main(argc, argv, &engine);
}
