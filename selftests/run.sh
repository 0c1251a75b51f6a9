#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run tests in a bed.   run.sh [-h] [-K 6.1|6.12|debug|native|smp] [-T REGEX] [-v]
#   -T  those whose topic/program or topic/program.test matches (grep -E)
#   -v  with the output of tests that passed, too
# Prints TAP, then "# N skipped" and a last line "N passed, N failed"; fails if a
# test failed or none ran. Logs: build/logs/BED/; see README.md.
set -euo pipefail
here=$(dirname "$(realpath "$0")")

usage() { sed -n '3,7s/^# \?//p' "$0"; }

bed=6.12 regex='' verbose=
while getopts hK:T:v o; do
	case $o in
	K) bed=$OPTARG;;
	T) regex=$OPTARG;;
	v) verbose=-v;;
	h) usage; exit;;
	*) usage >&2; exit 2;;
	esac
done
logs=$here/../build/logs/$bed

# The guest's stream, then the bed's own end, as beds/tap.sh expects them.
stream() {
	local rc=0
	"$here/run-in.sh" -K "$bed" "$here/guest.sh" "$regex" || rc=$?
	printf '\n@kvstash@ bed %s\n' "$rc"
}

mkdir -p "$logs"
rc=0
stream | "$here/beds/tap.sh" $verbose || rc=$?
# one file to look at or to keep
for f in "$logs"/out*.log "$logs"/kernel*.log; do
	[ ! -e "$f" ] || { echo "=== ${f##*/}"; tr -d '\r' < "$f"; }
done > "$logs/log"
exit "$rc"
