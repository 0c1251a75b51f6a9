#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What callers that give no group pay, in instructions, beside another version.
#   cost.sh OLD_TREE
# OLD_TREE is another checkout, e.g. of the version before groups:
#   git worktree add /tmp/old 4c251b2 && tools/cost.sh /tmp/old
# Both modules run cost.c, each with a program of its own headers, in one boot of
# the 6.12 bed whose clock counts instructions (selftests/vm/run.sh -I): one CPU,
# one nanosecond an instruction, no noise of the host. Prints instructions an
# object, net of the empty call, and new / old. Rows of 4,096 bytes are the rule:
# it fails if PUT, EXISTS or GET is above LIMIT (default 1.03). Rows of 64 bytes
# have hardly any copy in them, and show more clearly what has changed.
set -euo pipefail
tools=$(dirname "$(realpath "$0")")

# In the bed: cost.sh --measure DIR, with the modules and programs there. Each
# twice and in turn, so that none has the first touch of everything.
if [ "${1:-}" = --measure ]; then
	for i in 1 2; do
		for which in old new; do
			insmod "$2/$which.ko" pool_mb=64 pool_objects=65536 wm_low=0 wm_high=0
			"$2/$which" | sed "s/^/$i $which /"
			rmmod kvstash
		done
	done
	exit
fi

if [ $# -ne 1 ] || [ ! -d "$1/uapi" ]; then
	sed -n '3,13s/^# \?//p' "$0" >&2
	exit 2
fi
# shellcheck source=selftests/beds/lib.sh
. "$tools/../selftests/beds/lib.sh"
kdir=/lib/modules/$(find_release 6.12)/build
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

build() {	# NAME TREE
	local tree
	tree=$(realpath "$2")
	mkdir -p "$tree/build"
	# the lock of run-in.sh, as it builds in the same place
	flock "$tree/build/.lock-build" make -s -C "$tree" modules BED=6.12 KDIR="$kdir" KVSTASH_BARE=1 >&2
	cp "$tree/build/kmod-6.12/kvstash.ko" "$work/$1.ko"
	"${CC:-gcc}" -std=gnu11 -O2 -Wall -Wextra -I"$tree/uapi" -I"$tree/libshim/include" \
		-o "$work/$1" "$tools/cost.c"
}

build old "$1"
build new "$tools/.."
"$tools/../selftests/vm/run.sh" -k 6.12 -I -m 1G -t 1800 -o "$work/logs" \
	"$tools/cost.sh" --measure "$work" > "$work/out"
grep -E '^2 ' "$work/out" | awk -v limit="${LIMIT:-1.03}" '
	$2 == "old" { old[$3] = $4; row[++n] = $3 }
	$2 == "new" { new[$3] = $4 }
	END {
		printf "%-14s %10s %10s %8s\n", "", "old", "new", "new/old"
		for (i = 1; i <= n; i++) {
			r = row[i]
			over = r ~ /^(put|exists|get)\.4096$/ && new[r] > old[r] * limit
			bad += over
			printf "%-14s %10.1f %10.1f %8.4f%s\n", r, old[r], new[r],
				new[r] / old[r], over ? "  above " limit : ""
		}
		exit !n || bad > 0
	}'
