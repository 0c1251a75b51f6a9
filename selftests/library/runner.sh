#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kvstash-load: none
#
# What runs the tests: how it sums up, and how it is asked for its usage
set -u
tests=$(dirname "$(realpath "$0")")/..
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=selftests/include/ok.sh
. "$tests/include/ok.sh"

# tap CODE: beds/tap.sh, of what is on standard input, ends with CODE
tap()
{
	"$tests/beds/tap.sh" >"$tmp/out" 2>"$tmp/err"
	[ $? -eq "$1" ]
}

# ends LINE...: these are the last lines
ends()
{
	[ "$(tail -n $# "$tmp/out")" = "$(printf '%s\n' "$@")" ]
}

# program NAME STATUS LINE...: a program's part of the stream
program()
{
	printf '%s\n' "@kvstash@ begin $1" "${@:3}" "@kvstash@ end $2"
}

echo "TAP version 13"

{ program a 0 "ok 1 x" "ok 2 y # SKIP why"; program b 4 none; program c 0
	printf '%s\n' "@kvstash@ done" "@kvstash@ bed 0"; } | tap 0 &&
	ends "1..4" "# 2 skipped" "2 passed, 0 failed"
ok "the last line is what passed and failed"
{ program a 1 "ok 1 x" "not ok 2 y"
	printf '%s\n' "@kvstash@ done" "@kvstash@ bed 1"; } | tap 1 &&
	ends "1..2" "# 0 skipped" "1 passed, 1 failed"
ok "and so it is if one failed"
printf '@kvstash@ bed 1\n' | tap 1 && ends "1..1" "# 0 skipped" "0 passed, 1 failed"
ok "a bed that ended early is a failure"

# usage CODE STREAM SCRIPT WORD...: it says its usage there and nothing elsewhere
usage()
{
	local code=$1 stream=$2 other=out

	shift 2
	[ "$stream" = err ] || other=err
	"$tests/$1" "${@:2}" >"$tmp/out" 2>"$tmp/err"
	[ $? -eq "$code" ] && grep -qF " $1 [-h] [-K " "$tmp/$stream" &&
		{ [ "$code" -ne 0 ] || [ ! -s "$tmp/$other" ]; }
}

usage 0 out run.sh -h && usage 0 out run-in.sh -h
ok "-h is the usage"
usage 2 err run.sh -x && usage 2 err run-in.sh -x
ok "and so it is, as an error, of another option"

echo "1..$nr"
[ $failed -eq 0 ]
