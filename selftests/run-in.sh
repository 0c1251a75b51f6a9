#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build all for a bed, boot the bed, and run a command there.
#   run-in.sh [-h] [-K 6.1|6.12|debug|native|smp] [-n NODES] [-m MEM] [-t SECONDS] [-o LOGDIR] COMMAND...
#   6.1, 6.12  Debian's kernels in an emulated machine of two CPUs (default 6.12)
#   native     User-Mode Linux, at the host's speed, one CPU
#   debug      the same with KASAN, lockdep, kmemleak and fault injection
#   smp        an x86 kernel with KASAN and lockdep, emulated, two CPUs
# The command finds in its environment:
#   KVSTASH_BED    the bed's name            KVSTASH_KO   path of kvstash.ko
#   KVSTASH_BUILD  the build directory       KVSTASH_OUT  for results: files put
#                  here are in LOGDIR/files<node> when the bed has gone
#   SLOW           how many times slower than native the bed is, about
# and TORTURE_SECONDS and TORTURE_OBSERVATIONS if they are set here.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
# shellcheck source=selftests/beds/lib.sh
. "$here/beds/lib.sh"
cd "$here/.."

usage() { sed -n '3,15s/^# \?//p' "$0"; }

bed=6.12 opts=() logs='' limit=3600
while getopts hK:n:m:t:o: o; do
	case $o in
	K) bed=$OPTARG;;
	n | m | t) opts+=("-$o" "$OPTARG");;
	o) logs=$OPTARG;;
	h) usage; exit;;
	*) usage >&2; exit 2;;
	esac
done
shift $((OPTIND - 1))
build=$PWD/build
: "${logs:=$build/logs/$bed}"

case $bed in
6.1 | 6.12)
	kdir=/lib/modules/$(find_release "$bed")/build arch='' slow=10
	run=(selftests/vm/run.sh -k "$bed" -c 2 -m 4G)
	# once in two nodes, once in one
	[ "$bed" = 6.1 ] || run+=(-N);;
smp)
	image=$(selftests/vm/build-smp-debug.sh)
	kdir=${image%/arch/*} arch=x86 slow=40 limit=14400
	run=(selftests/vm/run.sh -K "$image" -c 2 -m 4G);;
debug)
	kdir=$(selftests/uml/build.sh debug) arch=um slow=5
	run=(selftests/uml/run.sh -f debug);;
native)
	kdir=$(selftests/uml/build.sh plain) arch=um slow=1
	run=(selftests/uml/run.sh -f plain);;
*)
	die "no such bed: $bed";;
esac

# Runs in one bed come one after the other, as its build and logs are the same;
# builds do so in all beds. The kernel drops a lock when its holder ends.
wait_for() {
	mkdir -p "$build"
	exec {fd}> "$build/.lock-$1"
	flock -n "$fd" || {
		echo "waiting for another run ($1)" >&2
		flock "$fd"
	}
}

wait_for "$bed"
wait_for build
# what is made goes to stderr, so that stdout has the command's output only
make -s -j"$(nproc)" lib tools selftests >&2
make -s -j"$(nproc)" modules BED="$bed" KDIR="$kdir" ARCH="$arch" KVSTASH_BARE=1 >&2
exec {fd}>&-

rm -rf "$logs"
mkdir -p "$logs"
exec "${run[@]}" -t $((limit + ${TORTURE_SECONDS:-0})) "${opts[@]}" -o "$logs" env \
	KVSTASH_BED="$bed" KVSTASH_KO="$build/kmod-$bed/kvstash.ko" KVSTASH_BUILD="$build" SLOW="$slow" \
	${TORTURE_SECONDS:+TORTURE_SECONDS="$TORTURE_SECONDS"} \
	${TORTURE_OBSERVATIONS:+TORTURE_OBSERVATIONS="$TORTURE_OBSERVATIONS"} "$@"
