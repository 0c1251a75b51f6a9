#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kvstash-load: none
# kvstash-timeout: 600
#
# Engines that need pages and a state to resume play a trace, two at a time, in a
# pool that takes a tenth of its pages and far fewer states than there are prompts:
# where they resume it is all there, and no byte of it is wrong. Once at small sizes
# with states that go with their pages, once with states on their own at more
# places, and a few requests at the reference size.
set -uo pipefail
here=$(dirname "$(realpath "$0")")
trace=$here/../../tools/traces/excerpt.jsonl
bench=${KVSTASH_BUILD:-$here/../../build}/tools/kvstash-bench
work=$(mktemp -d)
trap 'rmmod kvstash 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck source=selftests/include/replay.sh
. "$here/../include/replay.sh"

# load MB: the module anew
load() {
	rmmod kvstash 2>/dev/null
	insmod "${KVSTASH_KO:?}" pool_mb="$1" || { echo "Bail out! insmod"; exit 1; }
}

right() {	# PREFIX: what holds of each run
	holds "$1_I7_no_false_long_hit" is false_long_hits 0
	holds "$1_no_byte_is_wrong" is corrupt 0
	holds "$1_I9_no_orphans" is orphans 0
	holds "$1_no_errors" is errors 0
	holds "$1_nothing_leased_is_gone" is gone 0
	holds "$1_it_saved_tokens" above saved_tokens 0
	holds "$1_nothing_is_in_flight_or_held" free_again
}

echo "TAP version 13"
echo "1..32"
small=(--trace "$trace" --block-bytes 4096 --row-bytes 8 --workers 2)

# some 13,800 different blocks of a page, slots of 6 pages
load 8
holds tied_two_workers play hybrid "${small[@]}" --slots 86 --check-every 100
right tied
holds tied_all_requests_played is requests "$(wc -l < "$trace")"
holds tied_it_evicted_pages above evictions 0
holds tied_it_evicted_states above state_evictions 0
holds tied_pages_alone_would_have_been_wrong above false_long_hits_avoided 0
holds tied_pages_alone_save_nothing is pages_honest_tokens 0

load 12
holds untied_two_workers play hybrid "${small[@]}" --slots 200 --state-every 4 --untied
right untied
holds untied_all_requests_played is requests "$(wc -l < "$trace")"
holds untied_it_evicted_states above state_evictions 0

load 32
holds reference_size play hybrid --trace "$trace" --block-bytes 114688 --requests 40 --slots 8
right reference
holds reference_slot is slot_bytes 1415040
