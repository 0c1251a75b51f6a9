#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Make DIR a tree of links to the module's sources, for a build in DIR:
#   link-sources.sh DIR
set -euo pipefail
dir=$1
top=$(dirname "$(dirname "$(realpath "$0")")")

cd "$top"
find Kbuild kmod uapi selftests/kmod -type f \( -name '*.[chS]' -o -name Kbuild \) |
	while IFS= read -r f; do
		[ ! -L "$dir/$f" ] || continue
		mkdir -p "$(dirname "$dir/$f")"
		ln -s "$top/$f" "$dir/$f"
	done
# what is gone from the sources
find "$dir" -xtype l -delete
