#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run a command in one or two User-Mode Linux machines.
#   run.sh [-f plain|debug] [-n NODES] [-m MEM] [-t SECONDS] [-o LOGDIR] COMMAND...
# The kernel is build.sh's. The host's root is the guests' root: read-only, below
# a tmpfs. What a guest puts into $KVSTASH_OUT is in LOGDIR/files<node>. In the
# guest NODE is 1..NODES; two nodes see each other on vec0 as 10.77.0.<node>.
# LOGDIR gets out<node>.log and kernel<node>.log. Returns the worst exit status;
# 99 if a command succeeded but the kernel complained, 124 if a node crashed or
# ran out of time.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
# shellcheck source=selftests/beds/lib.sh
. "$here/../beds/lib.sh"

usage() { sed -n '3,10s/^# \?//p' "$0" >&2; exit 2; }

flavour=plain nodes=1 mem=2G limit=300 logs='' memory=''
while getopts f:n:m:t:o: o; do
	case $o in
	f) flavour=$OPTARG;;
	n) nodes=$OPTARG;;
	m) mem=$OPTARG;;
	t) limit=$OPTARG;;
	o) logs=$OPTARG;;
	*) usage;;
	esac
done
shift $((OPTIND - 1))
if [ $# -eq 0 ] || [ "$nodes" -gt 2 ]; then usage; fi

work=$(mktemp -d)
pids=()
cleanup() {
	[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || :
	! mountpoint -q "$work/mem" || umount -l "$work/mem"
	rm -rf "$work"
}
trap cleanup EXIT
mkdir -p "${logs:=$work/logs}"
logs=$(realpath "$logs")
# not in a pipe: a build that fails ends the script
dir=$("$here/build.sh" "$flavour")

# A page of user memory is a host mapping of its own: with the host's usual
# limit a process dies at about 256 MiB ("ran out of memory on the host side").
raise_map_limit() {
	local want=4000000
	[ "$(sysctl -n vm.max_map_count)" -ge "$want" ] && return
	sysctl -qw "vm.max_map_count=$want" ||
		echo "cannot raise vm.max_map_count: commands with much memory will fail" >&2
}

# A real kernel maps its memory by huge pages; here that is up to the file that
# the memory is, and without them each object touched costs a TLB miss.
mount_memory() {
	mkdir "$work/mem"
	if mount -t tmpfs -o size=100%,huge=always tmpfs "$work/mem"; then
		memory=$work/mem
	else
		echo "no huge pages for the guest's memory: figures will be worse" >&2
	fi
}

# Two scripts: the first process makes the root, the other runs in it.
make_guest() {
	cat > "$work/init" <<-INIT
	#!/bin/bash
	export PATH=/usr/sbin:/usr/bin:/sbin:/bin
	mount -t tmpfs -o size=50% tmpfs /mnt
	mkdir /mnt/up /mnt/work /mnt/root
	mount -t overlay -o lowerdir=/,upperdir=/mnt/up,workdir=/mnt/work overlay /mnt/root
	cd /mnt/root
	mount -t proc proc proc
	mount -t sysfs sys sys
	mount -t debugfs debugfs sys/kernel/debug
	mount -t devtmpfs dev dev
	mkdir -p dev/shm
	ln -s /proc/self/fd dev/fd
	mount -t tmpfs shm dev/shm
	mount -t tmpfs tmpfs run
	mkdir run/out
	[ ! -d sys/fs/cgroup ] || mount -t cgroup2 cgroup2 sys/fs/cgroup
	mkdir -p lib/modules
	mount --bind "$dir/modroot/lib/modules" lib/modules
	exec chroot . /bin/bash "$work/guest"
	INIT
	cat > "$work/guest" <<-GUEST
	exec < /dev/null > /dev/tty0 2>&1
	stty -F /dev/tty0 -opost
	export HOME=/root TERM=dumb NODES=$nodes KVSTASH_OUT=/run/out
	dmesg -n debug
	export NODE=\$(sed -n 's/.*node=\([0-9]*\).*/\1/p' /proc/cmdline)
	mount -t hostfs -o "$logs/files\$NODE" none /run/out
	# perftest does not report without a clock rate, which is not in UML's file
	printf 'processor\t: 0\ncpu MHz\t\t: 2100.000\n\n' > /run/cpuinfo
	mount --bind /run/cpuinfo /proc/cpuinfo
	ip link set lo up
	if [ -e /sys/class/net/vec0 ]; then
		ip addr add 10.77.0.\$NODE/24 dev vec0
		ip link set vec0 up
	fi
	(cd $(printf '%q' "$PWD"); $(printf '%q ' "$@"))
	printf '\n$status_mark %s\n' \$?
	umount /run/out
	busybox poweroff -f
	GUEST
	chmod +x "$work/init"
}

start_node() {
	local n=$1 peer=$((3 - $1)) port=$((20000 + $$ % 10000 * 2)) net=()
	mkdir -p "$logs/files$n"
	: > "$logs/out$n.log"
	if [ "$nodes" -gt 1 ]; then
		net=("vec0:transport=l2tpv3,udp=1,src=127.0.0.1,dst=127.0.0.1,srcport=$((port + n)),dstport=$((port + peer)),tx_session=0x7700000$n,rx_session=0x7700000$peer,depth=64,gro=0,mtu=9000")
	fi
	# The command's output goes to stdout, the kernel's messages to stderr:
	# by the early console, then by console 1.
	# by default the memory is in /dev/shm
	TMPDIR=${memory:-/dev/shm} timeout -k 10 "$limit" "$dir/linux" mem="$mem" rootfstype=hostfs root=/dev/root hostfs=/ init="$work/init" \
		stderr=1 console=tty1 con0=null,fd:1 con1=null,fd:2 loglevel=5 panic_on_oops=1 node="$n" kmemleak=on "${net[@]}" \
		< /dev/null >> "$logs/out$n.log" 2> "$logs/kernel$n.log" &
	pids+=($!)
}

ulimit -c 0
raise_map_limit
mount_memory
make_guest "$@"
for n in $(seq "$nodes"); do start_node "$n"; done
# stderr would have only the shell's report of a node that died by a signal
finish "$logs" "${pids[@]}" 2>/dev/null
