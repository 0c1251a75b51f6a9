#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# From the stream of guest.sh to TAP and a summary.   tap.sh [-v]
# Output of test programs passes between lines of the guest's own:
#   @kvstash@ begin PROGRAM        @kvstash@ end EXIT_STATUS|load|stuck
#   @kvstash@ not ok NAME          a check that failed; text comes before it
#   @kvstash@ done                 all that was asked for has run
#   @kvstash@ bed EXIT_STATUS      the bed's end, from run.sh
# What a program prints between two results belongs to the second one. It is
# shown if the test failed, or with -v.
set -euo pipefail

verbose=${1:-}
passed=0 failed=0 skipped=0
program='' planned='' seen=0 bad=0 finished=''
notes=()

# result ok|"not ok" NAME [DIRECTIVE]
result() {
	local n
	if [ "$1" != ok ] || [ -n "$verbose" ]; then
		for n in "${notes[@]}"; do printf '# %s\n' "$n"; done
	fi
	notes=()
	case $1,${3:-} in
	ok,*SKIP*) skipped=$((skipped + 1));;
	ok,*) passed=$((passed + 1));;
	*) failed=$((failed + 1)) bad=$((bad + 1));;
	esac
	echo "$1 $((passed + failed + skipped)) - $2${3:+ # $3}"
}

begin() {
	program=$1 planned='' seen=0 bad=0
	notes=()
}

# A program's end is a result of its own if its tests do not tell it.
end() {
	local status=$1 skip=''
	if [ "$status" = load ]; then
		:	# told already
	elif [ "$status" = stuck ] || [ "$status" -eq 124 ]; then
		result "not ok" "$program.timeout"
	elif [ "$seen" -gt 0 ] || [ "${planned:-0}" -gt 0 ]; then
		if [ "$seen" -lt "${planned:-0}" ]; then
			notes+=("$seen of $planned tests ran; exit status $status")
			result "not ok" "$program.plan"
		elif [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
			notes+=("exit status $status")
			result "not ok" "$program.exit"
		fi
	elif [ "$status" -eq 4 ]; then
		[ ${#notes[@]} -eq 0 ] || skip=${notes[-1]}
		result ok "$program" "SKIP $skip"
	elif [ "$status" -eq 0 ]; then
		result ok "$program"
	else
		notes+=("exit status $status")
		result "not ok" "$program"
	fi
	program=''
	notes=()
}

# The bed's exit status counts when nothing else explains it.
bed() {
	if [ -n "$program" ]; then
		result "not ok" "$program.crash"
	fi
	if [ -z "$finished" ] || { [ "$1" -ne 0 ] && [ "$failed" -eq 0 ]; }; then
		notes+=("exit status $1")
		result "not ok" "bed"
	fi
}

tap='^(ok|not ok)( +[0-9]+)?( +-)? *([^ #][^#]*[^ #]|[^ #])?( *# *(.*))?$'

line() {
	if [[ $1 =~ $tap ]] && [ -n "$program" ]; then
		seen=$((seen + 1))
		result "${BASH_REMATCH[1]}" "$program${BASH_REMATCH[4]:+.${BASH_REMATCH[4]}}" "${BASH_REMATCH[6]}"
	elif [[ $1 =~ ^1\.\.([0-9]+)( *# *(.*))?$ ]]; then
		planned=${BASH_REMATCH[1]}
		[ -z "${BASH_REMATCH[3]}" ] || notes+=("${BASH_REMATCH[3]#SKIP }")
	elif [[ $1 =~ ^TAP\ version ]] || [ -z "$1" ]; then
		:
	else
		notes+=("${1#\# }")
	fi
}

echo "TAP version 13"
while IFS= read -r l; do
	case $l in
	"@kvstash@ begin "*) begin "${l#@kvstash@ begin }";;
	"@kvstash@ end "*) end "${l#@kvstash@ end }";;
	"@kvstash@ not ok "*) result "not ok" "${l#@kvstash@ not ok }";;
	"@kvstash@ done") finished=1;;
	"@kvstash@ bed "*) bed "${l#@kvstash@ bed }";;
	*) line "$l";;
	esac
done
echo "1..$((passed + failed + skipped))"
echo "# $skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
