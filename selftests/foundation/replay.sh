#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kvstash-load: none
# kvstash-timeout: 600
#
# A trace is replayed by two workers into a pool that takes a tenth of it: no
# byte is wrong and no block is an orphan at any rest. Lines that are no requests
# are reported by number.
set -uo pipefail
here=$(dirname "$(realpath "$0")")
trace=$here/../../tools/traces/excerpt.jsonl
bench=${KVSTASH_BUILD:-$here/../../build}/tools/kvstash-bench
work=$(mktemp -d)
trap 'rmmod kvstash 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck source=selftests/include/replay.sh
. "$here/../include/replay.sh"

echo "TAP version 13"
echo "1..13"

# some 10,900 different blocks, of a page each
blocks=$("$bench" simulate --trace "$trace" | awk '$1 == "unique_blocks" { print $2 }')
insmod "${KVSTASH_KO:?}" pool_mb=$((blocks / 10 / 256)) || { echo "Bail out! insmod"; exit 1; }

holds two_workers_replay play replay --trace "$trace" --block-bytes 4096 --workers 2 --check-every 100
holds no_byte_is_wrong is corrupt 0
holds I9_no_orphans is orphans 0
holds no_errors is errors 0
holds it_evicted above evictions 0
holds all_requests_played is requests "$(wc -l < "$trace")"

head -20 "$trace" > "$work/broken"
sed -n 21p "$trace" | head -c 60 >> "$work/broken"	# cut off, without a line's end
{ echo; sed -n 22,30p "$trace"; } >> "$work/broken"

told() {
	grep -q "broken:21: " "$work/errors" || { cat "$work/errors"; return 1; }
}

fails() {
	"$bench" replay --trace "$work/broken" --no-progress --block-bytes 4096 --on-broken fail \
		> "$work/summary" 2> "$work/errors"
	[ $? -eq 2 ] || { echo "another status than 2"; return 1; }
}

holds broken_line_is_skipped play replay --trace "$work/broken" --block-bytes 4096 --on-broken skip
holds broken_line_is_told_by_number told
holds broken_line_is_counted is broken_lines 1
holds the_others_are_played is requests 29
holds broken_line_is_fatal fails
holds fatal_line_is_told_by_number told

holds nothing_is_in_flight_or_held free_again
