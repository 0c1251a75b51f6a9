#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Boot throw-away VMs and run one command in each.
#   run.sh [-k 6.1|6.12 | -K BZIMAGE] [-n NODES] [-c CPUS] [-m MEM] [-N] [-I] [-t SECONDS] [-o LOGDIR] COMMAND...
#   -k  an installed Debian kernel (default 6.12)   -K  an own kernel, see build-smp-debug.sh
#   -N  two NUMA nodes in each VM                   APPEND=...  more of the kernel's command line
#   -I  the guest's clock counts instructions, one a nanosecond; for one CPU
# The host's root is the guests' root: read-only over 9p, below a tmpfs. What a
# guest puts into $KVSTASH_OUT is in LOGDIR/files<node>. In the guest NODE is
# 1..NODES, and nodes see each other on eth0 as 10.77.0.<node> (MTU 4200, so
# that RoCE runs at a 4096-byte path MTU). LOGDIR gets out<node>.log and
# kernel<node>.log. Returns the worst exit status; 99 if a command succeeded but
# the kernel complained, 124 if a node crashed or ran out of time.
#
# Emulation only: no /dev/kvm.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
# shellcheck source=selftests/beds/lib.sh
. "$here/../beds/lib.sh"

usage() { sed -n '3,15s/^# \?//p' "$0" >&2; exit 2; }

version=6.12 image='' nodes=1 cpus=1 mem=2G limit=300 logs='' numa='' threads=multi clock=()
while getopts k:K:n:c:m:t:o:NI o; do
	case $o in
	k) version=$OPTARG;;
	K) image=$OPTARG;;
	n) nodes=$OPTARG;;
	c) cpus=$OPTARG;;
	m) mem=$OPTARG;;
	t) limit=$OPTARG;;
	o) logs=$OPTARG;;
	N) numa=1;;
	I) threads=single clock=(-icount shift=0);;
	*) usage;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || usage

work=$(mktemp -d)
pids=()
cleanup() {
	[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || :
	rm -rf "$work"
}
trap cleanup EXIT
mkdir -p "${logs:=$work/logs}"
logs=$(realpath "$logs")

# The kernel's dependencies of a module, in the order to load them.
module_files() {
	local m
	for m in virtio_pci 9pnet_virtio 9p overlay virtio_net; do
		modprobe -S "$release" --show-depends "$m" 2>/dev/null
	done | awk '/^insmod/ && !seen[$2]++ {print $2}'
}

unpack() {
	case $1 in
	*.xz) xz -dc "$1";;
	*.zst) zstd -qdc "$1";;
	*) cat "$1";;
	esac
}

make_initrd() {
	local d=$work/initrd f b
	mkdir -p "$d"/{bin,proc,sys,dev,mods,ro,rw,newroot}
	cp /bin/busybox "$d/bin/"
	: > "$d/mods/order"
	if [ -n "$release" ]; then
		module_files | while read -r f; do
			b=$(basename "$f")
			b=${b%.xz}
			b=${b%.zst}
			unpack "$f" > "$d/mods/$b"
			echo "$b" >> "$d/mods/order"
		done
	fi
	cp "$here/init" "$d/init"
	(cd "$d" && find . | cpio -o -H newc --quiet) > "$work/initrd.cpio"
}

# What the guest's first process runs once the root is in place.
make_guest() {
	cat > "$work/guest" <<-GUEST
	#!/bin/bash
	export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb
	exec < /dev/null > /dev/ttyS1 2>&1
	stty -F /dev/ttyS1 -opost
	dmesg -n debug
	export NODE=\$(sed -n 's/.*node=\([0-9]*\).*/\1/p' /proc/cmdline) NODES=$nodes
	export KVSTASH_OUT=/run/out
	ip link set lo up
	if [ -e /sys/class/net/eth0 ]; then
		ip addr add 10.77.0.\$NODE/24 dev eth0
		ip link set eth0 up mtu 4200
	fi
	modroot=$modroot
	[ -z "\$modroot" ] || mount --bind "\$modroot/lib/modules" /lib/modules
	(cd $(printf '%q' "$PWD"); $(printf '%q ' "$@"))
	printf '\n$status_mark %s\n' \$?
	stty -F /dev/ttyS1 -opost	# waits until all is written
	echo b > /proc/sysrq-trigger
	sleep 60
	GUEST
}

# The kernel unpacked: the emulated machine takes seconds for what the host
# does in one, once. It then boots by its PVH entry.
unpacked_kernel() {
	local f=$cache/vmlinux-$release
	[ "$f" -nt "/boot/vmlinuz-$release" ] || with_lock unpack unpack_kernel "$f" >&2
	echo "$f"
}

unpack_kernel() {
	local script
	script=$(kernel_source)/scripts/extract-vmlinux
	"$script" "/boot/vmlinuz-$release" > "$1.new"
	mv "$1.new" "$1"
}

# Half the memory and half the CPUs, a socket of their own, for each node. One
# CPU: the second node has memory only.
numa_options() {
	local half=$(($(numfmt --from=iec "$mem") / 2)) first=$((cpus > 1 ? cpus / 2 : 1))
	local second=''
	if [ "$cpus" -gt 1 ]; then
		second=,cpus=$first-$((cpus - 1))
		printf '%s\n' -smp "$cpus,sockets=2"
	fi
	printf '%s\n' -object "memory-backend-ram,id=m0,size=$half" -object "memory-backend-ram,id=m1,size=$half" \
		-numa "node,nodeid=0,memdev=m0,cpus=0-$((first - 1))" -numa "node,nodeid=1,memdev=m1$second"
}

start_node() {
	local n=$1 opts=()
	mkdir -p "$logs/files$n"
	: > "$logs/out$n.log"
	if [ "$nodes" -gt 1 ]; then	# a multicast segment on loopback: every node hears every other
		opts+=(-netdev "socket,id=n0,mcast=230.77.0.1:$((20000 + $$ % 20000)),localaddr=127.0.0.1"
		       -device "virtio-net-pci,romfile=,netdev=n0,host_mtu=4200,mac=52:54:00:77:00:0$n")
	fi
	[ -z "$numa" ] || mapfile -t -O "${#opts[@]}" opts < <(numa_options)
	timeout -k 10 "$limit" qemu-system-x86_64 -accel "tcg,thread=$threads" "${clock[@]}" -cpu max -smp "$cpus" -m "$mem" \
		-nodefaults -no-user-config -display none -no-reboot -kernel "$kernel" -initrd "$work/initrd.cpio" \
		-append "console=ttyS0 loglevel=5 panic=-1 oops=panic net.ifnames=0 guest=$work/guest node=$n $append" \
		-virtfs local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap \
		-virtfs "local,path=$logs/files$n,mount_tag=out,security_model=none" \
		-serial "file:$logs/kernel$n.log" -serial "file:$logs/out$n.log" "${opts[@]}" < /dev/null &
	pids+=($!)
}

append=${APPEND:-}
release='' modroot=''
if [ -n "$image" ]; then
	kernel=$(realpath "$image")
	modroot=${kernel%/arch/*}/modroot
	# Under emulation the debug kernel times out in ACPI's interrupt
	# routing, and without ACPI it finds one CPU only. kmemleak and page
	# allocation checks cost too much there; the UML bed has them.
	append="acpi=noirq kmemleak=off debug_pagealloc=off $append"
else
	release=$(find_release "$version")
	kernel=$(unpacked_kernel)
fi
make_initrd
make_guest "$@"
for n in $(seq "$nodes"); do start_node "$n"; done
# stderr would have only the shell's report of a node that died by a signal
finish "$logs" "${pids[@]}" 2>/dev/null
