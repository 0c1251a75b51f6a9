#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Install what building and testing need, on Debian 12, as root:
#   install-deps.sh [build|vm|uml|lint]...      (default: all)
# Does nothing, and needs no network, where all of it is there.
set -euo pipefail

packages_of() {
	case $1 in
	build)	# the module for the installed kernels, library, tools, tests
		echo build-essential gcc-multilib bc bison flex kmod libelf-dev libssl-dev pkg-config \
			libjansson-dev libnl-3-dev libnl-genl-3-dev liburing-dev \
			linux-headers-6.12-amd64 linux-headers-amd64;;
	vm)	# the full images: the cloud ones have neither 9p nor soft-RoCE
		echo linux-image-6.12-amd64 linux-image-amd64 linux-headers-6.12-amd64 linux-headers-amd64 \
			qemu-system-x86 busybox-static cpio iproute2 kmod rdma-core xz-utils zstd;;
	uml)	# the debug kernels, too
		echo linux-source-6.12 bc bison build-essential busybox-static flex iproute2 kmod libelf-dev libssl-dev \
			lz4 procps rdma-core xz-utils;;
	lint)	# checkpatch.pl is in the kernel's source
		echo clang libclang-rt-14-dev linux-source-6.12 python3 shellcheck sparse xz-utils;;
	*)	echo "no such set: $1" >&2
		return 2;;
	esac
}

missing_of() {
	printf '%s\n' "$@" | sort -u |
		comm -23 - <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
			sed -n 's/ installed$//p' | sort -u)
}

# An image without the headers of its release (or the reverse) comes from an
# older installation: both have to be brought to the same release.
unpaired() {
	local v r
	for v; do
		for r in /lib/modules/"$v".*; do
			[ -e "$r/build" ] && [ -e "/boot/vmlinuz-${r##*/}" ] && continue 2
		done
		echo "$v"
	done
}

[ $# -gt 0 ] || set -- build vm uml lint
wanted=()
for s; do
	list=$(packages_of "$s")
	read -ra more <<< "$list"
	wanted+=("${more[@]}")
done
mapfile -t missing < <(missing_of "${wanted[@]}")
case " $* " in
*" vm "*) mapfile -t -O "${#missing[@]}" missing < <(unpaired 6.1 6.12);;
esac
[ ${#missing[@]} -gt 0 ] || exit 0

echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
# All that is wanted, not only the missing: images and headers must match.
apt-get -qq -y --no-install-recommends install "${wanted[@]}" > /dev/null
