#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs in a bed, called by run.sh: the test programs that match, each with the
# module freshly loaded, and what has to hold after each. Prints the stream that
# beds/tap.sh reads.   guest.sh [REGEX]
#
# In a comment of a test's source:
#   kvstash-load: PARAMETERS    the module's (default: pool_mb=64)
#   kvstash-load: none          the test loads it itself
#   kvstash-timeout: SECONDS    instead of 300 (times SLOW)
set -uo pipefail
here=$(dirname "$(realpath "$0")")
cd "$here/.." || exit
regex=${1:-}
kmemleak=/sys/kernel/debug/kmemleak
check=/sys/kernel/debug/kvstash/check
export SLOW=${SLOW:-1}

# An empty line before it, lest a program ended in the middle of one.
say() { printf '\n@kvstash@ %s\n' "$*"; }

# ---- what to run ----

directive() {	# NAME SOURCE
	sed -n "s,^.*kvstash-$1: *\([^*]*[^* ]\).*,\1,p;T;q" "$2"
}

# list_tests PROGRAM: fixture[.variant].test of each test of a C program, from
# the harness's -l: three columns, of which the first two have a width unless
# their text is longer. It pairs neither variants nor tests: all have all.
list_tests() {
	"$1" -l 2>&1 | awk '
	function column(width,  n, word) {
		n = substr($0, 1, 1) == " " ? 0 : index($0 " ", " ") - 1
		word = substr($0, 1, n)
		$0 = substr($0, (n > width ? n : width) + 2)
		return word
	}
	function flush(  v, t) {
		for (v = 0; v < (nv ? nv : 1); v++)
			for (t = 0; t < nt; t++)
				print fixture "." (nv ? variants[v] "." : "") tests[t]
		nv = nt = 0
	}
	/^# FIXTURE/ { next }
	/^---/ { flush(); next }
	{
		word = column(20)
		if (word != "")
			fixture = word
		word = column(25)
		if (word != "")
			variants[nv++] = word
		if ($0 != "")
			tests[nt++] = $0
	}
	END { flush() }'
}

matches() { grep -qE -e "$regex" <<< "$1"; }

# A program as a whole, or the tests of it that match: sets args; fails if none
args=()
select_tests() {
	local program=$1 name=$2 t
	args=()
	! matches "$name" || return 0
	case $program in *.sh) return 1;; esac
	for t in $(list_tests "$program"); do
		! matches "$name.$t" || args+=(-r "$t")
	done
	[ ${#args[@]} -gt 0 ]
}

# ---- before and after a program ----

loaded() { [ -e /sys/module/kvstash ]; }

# The module's dependencies; insmod looks for none.
load_depends() {
	local m
	for m in $(modinfo -F depends "$KVSTASH_KO" | tr , ' '); do modprobe "$m"; done
}

# Where the module was: leaks have the addresses of who allocated, which nobody
# can name once the module has gone.
ranges=()
note_range() {
	local size base
	read -r size base < <(awk '$1 == "kvstash" {print $2, $6}' /proc/modules) || return
	case " ${ranges[*]} " in *" $base:$size "*) ;; *) ranges+=("$base:$size");; esac
}

load() {	# NAME PARAMETERS
	[ "$2" != none ] || return 0
	# shellcheck disable=SC2086
	if ! insmod "$KVSTASH_KO" $2; then
		say "not ok $1.load"
		return 1
	fi
	note_range
	return 0
}

# unload NAME: the store must be consistent, and nothing may hold the module
unload() {
	local first=''
	loaded || return 0
	read -r first < "$check"
	if [ "$first" != ok ]; then
		cat "$check"
		say "not ok $1.check"
	fi
	note_range
	if ! rmmod kvstash; then
		grep '^kvstash ' /proc/modules
		say "not ok $1.unload"
	fi
}

# kernel_log MARK NAME: what the kernel complained of since the mark
kernel_log() {
	dmesg | awk -v mark="$1" 'index($0, mark) { n = 0; next } { l[++n] = $0 }
		END { for (i = 1; i <= n; i++) print l[i] }' | awk -f "$here/beds/splats.awk" ||
		say "not ok $2.kernel-log"
}

# ---- a program ----

# stuck PROGRAM: what the kernel does for the tasks of a program
stuck() {
	local d comm name=${1##*/}
	for d in /proc/[0-9]*/task/[0-9]*; do
		{ read -r comm < "$d/comm"; } 2>/dev/null || continue
		[ "$comm" = "${name:0:15}" ] || continue
		echo "task ${d##*/}, $(sed -n 's/^State:\t//p' "$d/status"):"
		cat "$d/stack"
	done
	echo w > /proc/sysrq-trigger
	dmesg | awk '/Show Blocked State/ {n = 0} {l[++n] = $0} END {for (i = 1; i <= n; i++) print l[i]}'
}

# watch SECONDS PROGRAM: shows where a program is when its time is over, unless
# the bell (descriptor 7) rings first. timeout ends the program then; if even
# that takes too long, it sits in the kernel, and the bed is of no more use.
watch() {
	! read -r -t "$1" -u 7 || return
	stuck "$2" 2>/dev/null
	! read -r -t 60 -u 7 || return
	say "end stuck"
	kill -KILL $$
}

run_program() {	# SOURCE COMMAND...
	local limit rc dog
	limit=$(directive timeout "$1"); shift
	limit=$((${limit:-300} * SLOW + ${TORTURE_SECONDS:-0}))
	watch "$limit" "$1" &
	dog=$!
	timeout -k 10 $((limit + 5)) "$@" < /dev/null 2>&1 7>&-
	rc=$?
	echo over >&7
	wait "$dog"
	return "$rc"
}

run_test() {	# NAME PROGRAM SOURCE
	local name=$1 program=$2 source=$3 mark params rc=0
	select_tests "$program" "$name" || return 0
	say "begin $name"
	mark="kvstash-test: $name begins"
	echo "$mark" > /dev/kmsg
	params=$(directive load "$source")
	if load "$name" "${params:-pool_mb=64}"; then
		if [[ $name == *_32 && $KVSTASH_BED =~ ^(native|debug)$ ]]; then
			echo "User-Mode Linux runs no 32-bit programs"
			rc=4
		else
			run_program "$source" "$program" "${args[@]}" || rc=$?
		fi
		say "end $rc"
	else
		say "end load"
	fi
	unload "$name"
	kernel_log "$mark" "$name"
}

# ---- the debug beds ----

# fail-nth in /proc counts the sites that may fail: all of them, and one line
# in the log for each failure.
prepare_faults() {
	local d=/sys/kernel/debug f
	for f in failslab/ignore-gfp-wait fail_page_alloc/ignore-gfp-wait; do
		[ ! -e "$d/$f" ] || echo N > "$d/$f"
	done
	[ ! -e "$d/fail_page_alloc/min-order" ] || echo 0 > "$d/fail_page_alloc/min-order"
	for f in failslab fail_page_alloc fail_usercopy; do
		[ ! -e "$d/$f/verbose" ] || echo 1 > "$d/$f/verbose"
	done
}

scan_leaks() { echo scan 2>/dev/null > "$kmemleak"; }

# symbol OFFSET: the function there
symbol() {
	local text
	text=$(objdump -h -j .text "$KVSTASH_KO" | awk '$2 == ".text" {print $3}')
	(($1 < 16#$text)) || return
	# as text: some of these look like powers of ten
	objdump -t "$KVSTASH_KO" | awk -v want="x$(printf '%016x' "$1")" '
		$3 == "F" && $4 == ".text" && "x" $1 <= want && "x" $1 >= best { best = "x" $1; name = $NF }
		END { print name }'
}

# Reports in which the module appears: by its name, or by an address without a
# name, which is a module's that has gone (or that did not load). Not ours: when
# the kernel fails to make a cache's sysfs entry it loses the entry's name.
our_leaks() {
	local line text='' ours='' r a
	while IFS= read -r line; do
		case $line in
		"unreferenced object"*)
			[ "$ours" != yes ] || printf '%s' "$text"
			text='' ours='';;
		*sysfs_slab_add*)
			ours=no;;
		*\[kvstash*)
			: "${ours:=yes}";;
		"    0x"*)
			: "${ours:=yes}"
			a=$((${line// /}))
			for r in "${ranges[@]}"; do
				if ((a >= ${r%:*} && a < ${r%:*} + ${r#*:})); then
					line+=" kvstash: $(symbol $((a - ${r%:*})))"
					break
				fi
			done;;
		esac
		text+=$line$'\n'
	done < "$kmemleak"
	[ "$ours" != yes ] || printf '%s' "$text"
}

# kmemleak does not report what is younger than 5 s, and takes two scans.
report_leaks() {
	local leaks
	sleep 5.5
	scan_leaks
	scan_leaks
	leaks=$(our_leaks)
	[ -n "$leaks" ] || return 0
	printf '%s\n' "$leaks"
	say "not ok kmemleak"
}

main() {
	local source topic name has_kmemleak='' bell=/run/kvstash-bell
	mkfifo "$bell" && exec 7<> "$bell" || exit
	load_depends
	prepare_faults
	if [ -e "$kmemleak" ] && scan_leaks; then
		has_kmemleak=1
		echo clear > "$kmemleak"
	fi
	for source in selftests/*/*.c selftests/*/*.sh; do
		topic=${source#selftests/}
		topic=${topic%%/*}
		case $topic in beds | include | kmod | uml | vm) continue;; esac
		name=$topic/$(basename "${source%.*}")
		case $source in
		*.c) run_test "$name" "$KVSTASH_BUILD/selftests/$name" "$source";;
		*) [ ! -x "$source" ] || run_test "$name" "$source" "$source";;
		esac
	done
	[ -z "$has_kmemleak" ] || report_leaks
	say "done"
}

main
