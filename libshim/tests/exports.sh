#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# The shared library exports what the header declares, and nothing else.
# Usage: exports.sh LIBRARY HEADER
set -eu

lib=$1
header=$2

got=$(nm -D --defined-only "$lib" | awk '$2 == "T" { print $3 }' | sort)
want=$(grep -oE '^(int|void|const char \*) ?\*?kvstash_[a-z_]+\(' "$header" |
       grep -oE 'kvstash_[a-z_]+' | sed 's/$/@@KVSTASH_0.1/' | sort)
if [ "$got" != "$want" ]; then
	echo "exported:" "$got"
	echo "declared:" "$want"
	exit 1
fi
if ! readelf -d "$lib" | grep -q 'soname: \[libkvstash.so.0\]'; then
	echo "soname is not libkvstash.so.0"
	exit 1
fi
echo "exports: $(echo "$got" | wc -l) functions, as declared"
