#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# The shared library exports what the header declares, and nothing else; what a
# version has once had it has still.
# Usage: exports.sh LIBRARY HEADER
set -eu

lib=$1
header=$2

symbols=$(nm -D --defined-only "$lib" | awk '$2 == "T" { print $3 }' | sort)

# A call has one default version, that which new programs are linked to.
got=$(echo "$symbols" | grep @@ | sed 's/@@.*//')
want=$(grep -oE '^(int|void|const char \*) ?\*?kvstash_[a-z_]+\(' "$header" |
       grep -oE 'kvstash_[a-z_]+' | sort)
if [ "$got" != "$want" ]; then
	echo "exported:" "$got"
	echo "declared:" "$want"
	exit 1
fi

# Version 0.1, which is complete: never change this list.
old="abort abort_all bind close commit commit_all exists exists_all fd from_fd
get get_all last_refusal lookup lookup_all open put put_all query reason_name
reason_text remove remove_all reserve reserve_all result_format write write_all"
got=$(echo "$symbols" | grep '@KVSTASH_0\.1$' | sed 's/@.*//')
want=$(for f in $old; do echo "kvstash_$f"; done | sort)
if [ "$got" != "$want" ]; then
	echo "in KVSTASH_0.1:" "$got"
	echo "once there:" "$want"
	exit 1
fi
if ! readelf -d "$lib" | grep -q 'soname: \[libkvstash.so.0\]'; then
	echo "soname is not libkvstash.so.0"
	exit 1
fi
echo "exports: $(echo "$symbols" | wc -l) symbols, as declared"
