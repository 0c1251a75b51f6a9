#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build a User-Mode Linux kernel from Debian's kernel source, or find it in the
# cache, and print its directory:   build.sh [plain|debug]
#   DIR/linux         the kernel
#   DIR/modroot       its modules
#   make -C DIR/src ARCH=um O=DIR M=...   builds modules against it
set -euo pipefail
here=$(dirname "$(realpath "$0")")
# shellcheck source=selftests/beds/lib.sh
. "$here/../beds/lib.sh"

case ${1:-plain} in
plain) cached_kernel uml-plain um "$here/uml.config";;
debug) cached_kernel uml-debug um "$here/uml.config" "$beds/debug.config" "$here/debug.config";;
*) sed -n '3,7p' "$0" >&2; exit 2;;
esac
