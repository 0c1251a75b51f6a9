#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The speed table. Runs as root in the native-speed bed: KVSTASH_KO is kvstash.ko
# and kvstash_bare.ko lies beside it (or is KVSTASH_BARE_KO), KVSTASH_BUILD is the
# build directory.   bench.sh [ID,...]
# The result is $KVSTASH_OUT/bench.json, if that is set, and stands between the
# lines BENCH-JSON-BEGIN and BENCH-JSON-END.
#
# The module is loaded anew for rows that want another pool. A million objects of
# a page each want 4.3 GiB of memory; with less, it is as many as there is room
# for, and the table says so.
set -euo pipefail
bench=${KVSTASH_BUILD:?}/tools/kvstash-bench
ctl=$KVSTASH_BUILD/tools/kvstashctl
ko=${KVSTASH_KO:?}
bare_ko=${KVSTASH_BARE_KO:-${ko%/*}/kvstash_bare.ko}
only=${1:-}
work=$(mktemp -d)
json=$work/bench.json

unload() {
	local m
	for m in kvstash kvstash_bare; do
		[ ! -e "/sys/module/$m" ] || rmmod "$m"
	done
}
trap 'unload || :; rm -rf "$work"' EXIT

available_mb() { awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo; }

# Those of the ids that were asked for, all if none were.
wanted() {
	local ids
	[ -n "$only" ] || { echo "$1"; return; }
	ids=$(comm -12 <(tr ',' '\n' <<< "$1" | sort) <(tr ',' '\n' <<< "$only" | sort))
	paste -sd, <<< "$ids"
}

# measure IDS POOL_MB BARE_MB [MODULE_PARAMETER...] -- [OPTION...]
measure() {
	local ids params=() pool_mb=$2 bare_mb=$3
	ids=$(wanted "$1")
	[ -n "$ids" ] || return 0
	shift 3
	while [ "$1" != -- ]; do params+=("$1"); shift; done
	shift
	insmod "$ko" pool_mb="$pool_mb" "${params[@]}"
	[ "$bare_mb" = 0 ] || insmod "$bare_ko" pool_mb="$bare_mb"
	if [ "${small:-}" ]; then
		"$ctl" pool create small 64M --objects 10000 > "$work/small"
		"$ctl" ns create small --pool small >> "$work/small"
	fi
	"$bench" micro --only "$ids" --json "$json" "$@"
	unload
}

echo "== copies, in a pool of 512 MiB, beside the bare copy in as much"
measure empty.query,empty.nop,put.114688,get.114688,put1.114688,get1.114688,put.memcpy,get.memcpy,put.1415040,get.1415040,put1.1415040,get1.1415040,state.put.1415040,state.get.1415040,state.put1.1415040,state.get1.1415040,put.4096,get.4096,put1.4096,get1.4096,one_vs_four,one_vs_four.put,one_vs_four.get,reserve_commit,reserve_write_commit,reserve_commit.114688,reserve_commit.3145728,reserve_abort.3145728,slot_waste \
	512 512 --

echo "== bytes of a pool in use, and a writer's death, in a pool of 1.125 GiB"
measure pool_usable,death_to_free 1152 0 --

objects=1000000
mb=$((objects / 256 + 128))
room=$(($(available_mb) - objects / 2048 - 256))
if [ "$mb" -gt "$room" ]; then
	objects=$(((room - 128) * 230))	# of 256 pages in a MiB
	mb=$((objects / 256 + 128))
	echo "== memory for $objects objects only, not for a million"
fi
echo "== $objects objects, in a pool of $mb MiB"
small=1 measure bytes_per_object,bytes_per_object.available,exists.128,lookup.1024,lookup.1024.chain,scale.exists,scale.get,exists.evict,exists.evict.p50 \
	"$mb" 2 pool_objects="$objects" -- --objects "$objects" --small small --pool pool0

[ -z "${KVSTASH_OUT:-}" ] || cp "$json" "$KVSTASH_OUT/bench.json"
echo BENCH-JSON-BEGIN
cat "$json"
echo BENCH-JSON-END
