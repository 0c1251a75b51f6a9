#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Replay a trace with a pool that takes POOL_PERCENT of its different blocks.
# The last line of the output is the summary as a JSON object.
#   TRACE          the trace             POOL_PERCENT  default 10
#   BLOCK_BYTES    default 4096          WORKERS       default 1: the trace's order
#   ENGINE         replay (default), or hybrid: engines with states, for which the
#                  pool has SLOTS slots besides (default one for 16 blocks), of 20
#                  layers, each of ROWS (default 134) rows of ROW_BYTES (default 8)
#   REPLAY_ARGS    further options of kvstash-bench ENGINE
# KVSTASH_KO is kvstash.ko, KVSTASH_BUILD the build directory.
#
# A pool's size is a multiple of 2 MiB, so it takes up to 511 blocks of 4,096
# bytes more than asked for: under 3 % at a capacity of 18,000. So that the hit
# ratio can be compared with a simulator's, what is left over is taken up first,
# by an object in flight, which cannot be evicted. Nothing is evicted ahead of
# need for the same reason.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
trace=${TRACE:-$here/traces/excerpt.jsonl}
bench=${KVSTASH_BUILD:?}/tools/kvstash-bench
percent=${POOL_PERCENT:-10} block=${BLOCK_BYTES:-4096} workers=${WORKERS:-1}
engine=${ENGINE:-replay} rows=${ROWS:-134} row_bytes=${ROW_BYTES:-8}
page=4096 chunk=$((2 << 20))

figure() { awk -v name="$1" '$1 == name { print $2 }' /proc/kvstash/pool/pool0; }
holder=
cleanup() {
	[ -z "$holder" ] || kill -KILL "$holder" 2>/dev/null || :
	[ -z "$holder" ] || wait "$holder" 2>/dev/null || :
	rmmod kvstash 2>/dev/null || :
}
trap cleanup EXIT

simulated=$("$bench" simulate --trace "$trace" --percent "$percent" --policy quarter)
capacity=$(awk '$1 == "capacity_blocks" { print $2 }' <<< "$simulated")
exact=$((capacity * ((block + page - 1) / page * page)))
slots=0 args=()
if [ "$engine" = hybrid ]; then
	slots=${SLOTS:-$(((capacity + 15) / 16))}
	exact=$((exact + slots * ((20 * rows * row_bytes + page - 1) / page * page)))
	args=(--slots "$slots" --rows "$rows" --row-bytes "$row_bytes")
fi
pool=$(((exact + chunk - 1) / chunk * chunk))
insmod "${KVSTASH_KO:?}" pool_mb=$((pool >> 20)) pool_objects=$((capacity + slots)) wm_low=0 wm_high=0

rest=$((pool - exact))
if [ "$rest" -gt 0 ]; then
	coproc hold { exec "$bench" hold --parts 1 --bytes "$rest" replay/rest; }
	# shellcheck disable=SC2154 # coproc sets it
	holder=$hold_PID
	read -r _ <&"${hold[0]}"
fi
echo "pool: $pool bytes, $rest of them held back: room for $capacity blocks of $block bytes," \
	"$percent % of the trace's$([ "$slots" = 0 ] || echo ", and for $slots states")"
echo "simulated: $(awk '$1 == "block_hit_ratio" { print $2 }' <<< "$simulated")" \
	"(leaf-first with a quarter for blocks that were hit)"

# shellcheck disable=SC2086 # a list of options
"$bench" "$engine" "$trace" --block-bytes "$block" --workers "$workers" --json \
	"${args[@]}" ${REPLAY_ARGS:-}
