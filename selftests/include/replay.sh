# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# Shared by the tests that play a trace with kvstash-bench. Sourced, with $trace,
# $bench and the directory $work set; the tests' results are TAP.
nr=0

note() { sed 's/^/# /'; }

# result NAME STATUS: what was written to $work/log explains a failure
result() {
	nr=$((nr + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $nr - $1"
	else
		note < "$work/log"
		echo "not ok $nr - $1"
	fi
}

# holds NAME COMMAND...: a result of the command's status
holds() {
	local name=$1 rc=0; shift
	"$@" > "$work/log" 2>&1 || rc=$?
	result "$name" "$rc"
}

value() { awk -v name="$1" '$1 == name { print $2 }' "$work/summary"; }

is() {	# NAME NUMBER: of the summary
	local have
	have=$(value "$1")
	[ "$have" = "$2" ] || { echo "$1 is '$have', not $2"; return 1; }
}

above() { [ "$(value "$1")" -gt "$2" ] || { echo "$1 is $(value "$1")"; return 1; }; }

play() {	# SUBCOMMAND OPTION...
	"$bench" "$@" --no-progress > "$work/summary" 2> "$work/errors" && return
	cat "$work/errors" "$work/summary"
	return 1
}

free_again() {
	local p=/proc/kvstash/pool/pool0
	[ "$(grep -cxE '(in_flight|held)_bytes 0' "$p")" -eq 2 ] || { cat "$p"; return 1; }
}
