#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A tour of the store for somebody who watches. Runs as root in a machine that
# may load modules: KVSTASH_KO is kvstash.ko, KVSTASH_BUILD the build directory,
# TRACE a request trace. Fails if anything is not as it should be.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
trace=${TRACE:-$here/traces/excerpt.jsonl}
bench=${KVSTASH_BUILD:?}/tools/kvstash-bench
ctl=$KVSTASH_BUILD/tools/kvstashctl
pool=/proc/kvstash/pool/pool0
work=$(mktemp -d)
writer=

cleanup() {
	[ -z "$writer" ] || kill -KILL "$writer" 2>/dev/null || :
	rm -rf "$work"
}
trap cleanup EXIT

heading() { printf '\n== %s\n' "$*"; }
fail() { echo "WRONG: $*"; exit 1; }
figure() { awk -v name="$1" '$1 == name { print $2 }' "$pool"; }

heading "The memory: 16 MiB that belong to the kernel and to no process"
[ -e /sys/module/kvstash ] || insmod "${KVSTASH_KO:?}" pool_mb=16
echo "kernel $(uname -r), pool of $(figure total_bytes) bytes, $(figure free_bytes) free"

heading "300 requests of a chat service: look up, get and check every byte, put the rest"
"$bench" replay --trace "$trace" --requests 300 --block-bytes 4096 > "$work/replay" ||
	{ cat "$work/replay"; fail "the replay"; }
grep -E '^(requests|blocks|block_hit_ratio|bytes_put|bytes_got|evictions|corrupt|orphans|errors|seconds) ' \
	"$work/replay"
grep -qE '^corrupt +0$' "$work/replay" || fail "bytes were wrong"

heading "A writer is killed in the middle of a put of two parts"
coproc hold { exec "$bench" hold demo/victim; }
# the shell forgets both when the process has gone
# shellcheck disable=SC2154 # coproc sets it
writer=$hold_PID out=${hold[0]}
read -r line <&"$out"
echo "$line"
echo "in flight now: $(figure in_flight_bytes) bytes; others see:"
"$ctl" stat demo/victim || :
[ "$(figure in_flight_bytes)" -gt 0 ] || fail "nothing is in flight"
kill -KILL "$writer"
wait "$writer" 2>/dev/null || :
writer=
echo "killed. In flight: $(figure in_flight_bytes) bytes; others see:"
"$ctl" stat demo/victim | tee "$work/stat" || :
grep -q absent "$work/stat" || fail "something of the object is left"
[ "$(figure in_flight_bytes)" = 0 ] || fail "bytes are still in flight"

heading "An object outlives its writer"
head -c 1415040 /dev/urandom > "$work/in"
bash -c 'echo "put by process $$"; exec "$0" put demo/state "$1"' "$ctl" "$work/in"
bash -c 'echo "got by process $$"; exec "$0" get demo/state -o "$1"' "$ctl" "$work/out"
cmp "$work/in" "$work/out" || fail "other bytes came back"
echo "the same 1415040 bytes"

heading "The figures"
"$ctl" stats pool pool0
[ "$(($(figure free_bytes) + $(figure committed_bytes) + $(figure in_flight_bytes) + \
	$(figure held_bytes)))" = "$(figure total_bytes)" ] || fail "the bytes do not add up"
rmmod kvstash || fail "the module cannot be unloaded"
printf '\nAll as it should be.\n'
