// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench hybrid: options and summary of what it has beside replay */
#include <getopt.h>
#include <stdio.h>

#include "kvstash-bench-play.h"
#include "kvstash-bench-report.h"

struct model model = {
	.rows = STATE_ROWS, .row_bytes = STATE_ROW_BYTES, .slots = 64,
	.layout.tied = true,
};

static __u64 evictions;	/* of states, before */

enum { OPT_ROWS = ENGINE_OPTION, OPT_ROW_BYTES, OPT_EVERY, OPT_SLOTS, OPT_UNTIED };

static const struct option options[] = {
	{ "rows", required_argument, NULL, OPT_ROWS },
	{ "row-bytes", required_argument, NULL, OPT_ROW_BYTES },
	{ "state-every", required_argument, NULL, OPT_EVERY },
	{ "slots", required_argument, NULL, OPT_SLOTS },
	{ "untied", no_argument, NULL, OPT_UNTIED },
	{}
};

static const char help[] =
"usage: kvstash-bench hybrid [OPTION]... TRACE\n"
"A model with 20 window layers, whose last rows are a state, and pages for the rest:\n"
"to resume a prompt it needs the pages before a boundary and the state at it.\n"
"  --rows N          of a layer in a state: the window in tokens (default 134)\n"
"  --row-bytes N     of a row, a multiple of 8 (default 528)\n"
"  --state-every N   a state behind each N blocks, too, not only behind the last whole\n"
"                    block of a prompt\n"
"  --slots N         slots of the layout (default 64), unless it is registered\n"
"  --untied          states do not go with the page before them\n";

static void option(int o, const char *arg)
{
	switch (o) {
	case OPT_ROWS:
		model.rows = (__u32)parse_u64("--rows", arg, 1, RING_ROWS);
		break;
	case OPT_ROW_BYTES:
		model.row_bytes = (__u32)parse_u64("--row-bytes", arg, 8, 1U << 20);
		if (model.row_bytes % 8)
			die("--row-bytes: %u is no multiple of 8", model.row_bytes);
		break;
	case OPT_EVERY:
		model.every = parse_u64("--state-every", arg, 1, UINT32_MAX);
		break;
	case OPT_SLOTS:
		model.slots = parse_u64("--slots", arg, 1, UINT32_MAX);
		break;
	case OPT_UNTIED:
		model.layout.tied = false;
	}
}

static void start(struct replay *r, struct kvstash *c)
{
	struct kvstash_layout now;

	state_layout_init(&model.layout, STATE_LAYERS, (__u64)model.rows * model.row_bytes,
			  model.layout.tied);
	state_layout_add(c, &model.layout, model.slots);
	state_layout_get(c, &model.layout, &now);
	evictions = now.evictions;
	r->layout = &model.layout;
}

static void report_states(const struct hybrid_tally *t, const struct kvstash_layout *now,
			  json_t *obj)
{
	report_int(obj, "slot_bytes", now->slot_bytes);
	report_int(obj, "slots", now->slots);
	report_int(obj, "states", now->states);
	report_int(obj, "states_asked", t->asked);
	report_int(obj, "states_found", t->found);
	report_int(obj, "states_got", t->got);
	report_int(obj, "states_put", t->put);
	report_int(obj, "state_exists", t->exists);
	report_int(obj, "state_busy", t->busy);
	report_int(obj, "state_no_slot", t->no_slot);
	report_int(obj, "state_no_parent", t->no_parent);
	report_int(obj, "state_evictions", now->evictions - evictions);
	report_int(obj, "state_bytes_put", t->put * now->slot_bytes);
	report_int(obj, "state_bytes_got", t->got * now->slot_bytes);
}

static void report(const struct replay *r, struct kvstash *c, const struct tally *sum,
		   json_t *obj)
{
	const struct hybrid_tally *t = &sum->hybrid;
	struct kvstash_layout now;

	(void)r;
	state_layout_get(c, &model.layout, &now);
	report_int(obj, "prompt_tokens", t->prompt);
	report_int(obj, "saved_tokens", t->saved);
	report_real(obj, "saved_ratio", t->prompt ? (double)t->saved / (double)t->prompt : 0);
	report_int(obj, "pages_claim_tokens", t->claimed);
	report_int(obj, "pages_honest_tokens", t->honest);
	report_int(obj, "false_tokens_avoided", t->claimed - t->saved);
	report_int(obj, "false_long_hits_avoided", t->missed + t->shortened);
	report_int(obj, "false_long_hits", t->false_long);
	report_int(obj, "state_hits", t->resumed);
	report_int(obj, "state_misses", t->missed);
	report_int(obj, "state_short", t->shortened);
	report_int(obj, "lease_refused", t->no_lease);
	report_states(t, &now, obj);
}

int cmd_hybrid(int argc, char **argv)
{
	static const struct engine engine = {
		.options = options, .help = help, .option = option, .start = start,
		.equip = hybrid_equip, .request = hybrid_request, .report = report,
	};

	return replay_main(argc, argv, &engine);
}
