# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by the scripts that build and run the test beds: the cache, the kernel
# source, and the cached kernel builds. Sourced, never run.

cache=${KVSTASH_CACHE:-$HOME/.cache/kvstash}
# The package's tarball; its version is part of every cached directory's name.
source_pkg=linux-source-6.12
beds=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

die() { echo "${0##*/}: $*" >&2; exit 2; }

source_version() {
	dpkg-query -W -f '${Version}' "$source_pkg" 2>/dev/null ||
		die "$source_pkg is not installed (scripts/install-deps.sh installs it)"
}

# hash_of FILE...: names a build by what goes into it
hash_of() { { source_version; cat "$@"; } | sha256sum | cut -c1-12; }

# with_lock NAME COMMAND...: one at a time for each NAME, other callers wait.
# The kernel drops the lock when its holder dies, whatever it dies of; close
# the descriptor for the command, or a daemon of it would keep the lock.
with_lock() {
	local name=$1; shift
	mkdir -p "$cache"
	(
		flock 9
		"$@" 9>&-
	) 9> "$cache/$name.lock"
}

# The patches that the beds need, applied to the extracted source.
patch_source() {
	# Processors with AMX have an xstate of 11,008 bytes; 6.12's UML sets
	# aside 2,696 and dies with "ptrace set fp regs failed, errno = 14".
	# The larger area needs the larger KERNEL_STACK_ORDER of uml.config.
	local f=$1/arch/x86/um/user-offsets.c
	sed -i 's/DEFINE_LONGS(HOST_FP_SIZE, 2696)/DEFINE_LONGS(HOST_FP_SIZE, 12288)/' "$f"
	grep -q 'HOST_FP_SIZE, 12288' "$f" || die "the UML xstate patch no longer fits $f"
}

extract_source() {
	local dir=$1
	[ ! -e "$dir/.done" ] || return 0
	echo "extracting $source_pkg into $dir" >&2
	rm -rf "$dir"
	mkdir -p "$dir"
	tar xf "/usr/src/$source_pkg.tar.xz" -C "$dir" --strip-components=1
	patch_source "$dir"
	touch "$dir/.done"
}

# kernel_source: prints the directory of the patched source, one for all beds:
# kernels are built outside it
kernel_source() {
	local dir
	dir=$cache/source-$(hash_of <(declare -f patch_source))
	with_lock "${dir##*/}" extract_source "$dir" >&2
	echo "$dir"
}

# configure DIR ARCH FRAGMENT...: DIR/.config from tinyconfig and fragments.
# An option that a fragment asks for and the kernel does not know or cannot
# have is reported: a check that is silently absent finds nothing.
configure() {
	local dir=$1 arch=$2 want missed; shift 2
	make -s -C "$dir/src" ARCH="$arch" O="$dir" tinyconfig
	"$dir/src/scripts/kconfig/merge_config.sh" -m -O "$dir" "$dir/.config" "$@" > /dev/null
	make -s -C "$dir/src" ARCH="$arch" O="$dir" olddefconfig
	# later fragments win, so each option's last line counts
	missed=$(cat "$@" | grep '^CONFIG_' | tac | awk -F= '!seen[$1]++' |
		while read -r want; do
			case $want in
			*=n) ! grep -q "^${want%=n}=" "$dir/.config" || echo "$want";;
			*) grep -qxF "$want" "$dir/.config" || echo "$want";;
			esac
		done)
	[ -z "$missed" ] || echo "not in this kernel: ${missed//$'\n'/ }" >&2
}

compile_kernel() {	# DIR ARCH FRAGMENT...
	local dir=$1 arch=$2
	[ ! -e "$dir/.done" ] || return 0
	echo "building $dir (log: $dir.log)" >&2
	rm -rf "$dir"
	mkdir -p "$dir"
	{
		ln -s "$(kernel_source)" "$dir/src"
		configure "$@"
		make -s -C "$dir/src" ARCH="$arch" O="$dir" -j"$(nproc)"
		make -s -C "$dir/src" ARCH="$arch" O="$dir" INSTALL_MOD_PATH="$dir/modroot" \
			INSTALL_MOD_STRIP=1 modules_install
		drop_objects "$dir"
	} > "$dir.log" 2>&1 || { tail -30 "$dir.log" >&2; die "building $dir failed"; }
	touch "$dir/.done"
}

# Modules need the headers, scripts and Module.symvers, running needs the
# image; the objects are most of the space.
drop_objects() {
	find "$1" \( -path "$1/scripts" -o -path "$1/tools" -o -path "$1/modroot" \) -prune \
		-o -type f \( -name '*.o' -o -name '*.a' -o -name '.*.cmd' -o -name '*.ko' \) -exec rm -f {} +
}

# cached_kernel NAME ARCH FRAGMENT...: builds unless the cache has it, prints
# the directory. It is built where it stays, as the paths in it are absolute.
cached_kernel() {
	local name=$1 dir; shift
	dir=$cache/$name-$(hash_of "${@:2}" <(declare -f patch_source))
	with_lock "${dir##*/}" compile_kernel "$dir" "$@" >&2
	echo "$dir"
}

# find_release VERSION: the newest installed release of a Debian kernel that has
# what the bed needs: an image, headers, and 9p, which the cloud images lack
find_release() {
	local r
	for r in $(find /lib/modules -maxdepth 1 -name "$1.*" -printf '%f\n' | sort -rV); do
		if [ -e "/boot/vmlinuz-$r" ] && [ -e "/lib/modules/$r/build" ] &&
		   modprobe -S "$r" --show-depends 9p > /dev/null 2>&1; then
			echo "$r"
			return
		fi
	done
	die "no full image of kernel $1 with its headers (scripts/install-deps.sh installs them)"
}

# A run's exit status when its command succeeded but the kernel complained, and
# when no exit status came out (a crash, or out of time).
SPLAT_STATUS=99
NO_STATUS=124

# The last line of a node's output says how its command ended.
status_mark=@bed-status@

# splats LOG: prints the kernel's complaints in a log; status 1 if there are any
splats() { tr -d '\r\0' < "$1" | awk -f "$beds/splats.awk"; }

# the mark has an empty line before it, lest the output lacks a line's end
output() { sed -u -e 's/\r$//' -e "/^$status_mark/d" -e '/^$/{N;/\n'"$status_mark"'/d;P;D}'; }

# verdict NODE LOGS: prints what went wrong at a node; its status is that of
# the node's command, or one of the two above
verdict() {
	local n=$1 logs=$2 s
	s=$(tr -d '\r' < "$logs/out$n.log" | sed -n "s/^$status_mark \([0-9]*\)$/\1/p" | tail -1)
	[ -n "$s" ] || echo "node $n: no exit status: a crash, or out of time"
	if ! splats "$logs/kernel$n.log" > "$logs/splats$n.log"; then
		echo "node $n: the kernel complains:"
		cat "$logs/splats$n.log"
		[ "${s:-1}" -ne 0 ] || s=$SPLAT_STATUS
	elif [ -z "$s" ]; then
		echo "the kernel log ends:"
		tail -30 "$logs/kernel$n.log" | tr -d '\r'
	fi
	return "${s:-$NO_STATUS}"
}

# finish LOGS PID...: waits for the nodes (processes PID...) and prints their
# outputs, that of a single one as it comes; returns the worst status
finish() {
	local logs=$1 n rc=0 s; shift
	[ $# -gt 1 ] || tail -s 0.1 -n +1 -f --pid="$1" "$logs/out1.log" 2>/dev/null | output
	wait "$@" || :
	for n in $(seq $#); do
		[ $# -eq 1 ] || { echo "--- node $n"; output < "$logs/out$n.log"; }
		s=0
		verdict "$n" "$logs" || s=$?
		[ "$s" -le "$rc" ] || rc=$s
	done
	return "$rc"
}
