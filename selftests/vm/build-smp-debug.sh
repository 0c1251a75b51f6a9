#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the x86-64 SMP debug kernel from Debian's kernel source, or find it in
# the cache, and print the path of its image, DIR/arch/x86/boot/bzImage.
# DIR/modroot and modules built against it: as in ../uml/build.sh (ARCH=x86).
set -euo pipefail
here=$(dirname "$(realpath "$0")")
# shellcheck source=selftests/beds/lib.sh
. "$here/../beds/lib.sh"

dir=$(cached_kernel smp-debug x86 "$here/smp.config" "$beds/debug.config" "$here/smp-debug.config")
echo "$dir/arch/x86/boot/bzImage"
