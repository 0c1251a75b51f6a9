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
want=$(grep -oE '^(int|size_t|void|const char \*) ?\*?kvstash_[a-z_]+\(' "$header" |
       grep -oE 'kvstash_[a-z_]+' | sort)
if [ "$got" != "$want" ]; then
	echo "exported:" "$got"
	echo "declared:" "$want"
	exit 1
fi

# once VERSION NAME...: what a version had as it came out is there still
once()
{
	node=KVSTASH_$1
	shift
	got=$(echo "$symbols" | grep "@$node\$" | sed 's/@.*//')
	want=$(for f; do echo "kvstash_$f"; done | sort)
	[ "$got" = "$want" ] && return
	echo "in $node:" "$got"
	echo "once there:" "$want"
	exit 1
}

# Complete: never change these two.
once 0.1 abort abort_all bind close commit commit_all exists exists_all fd \
	from_fd get get_all last_refusal lookup lookup_all open put put_all \
	query reason_name reason_text remove remove_all reserve reserve_all \
	result_format write write_all
once 0.2 exists exists_all get get_all lookup lookup_all member_of pin pin_all \
	put put_all release release_all remove remove_all reserve reserve_all

# A name of an earlier version is the function of compat.c that is named so.
nm "$lib" | awk '
	$3 ~ /^kvstash_.*_[0-9]+_[0-9]+$/ { at[$3] = $1; n++ }
	$3 ~ /[^@]@KVSTASH_/ { old[$3] = $1; m++ }
	END {
		for (f in old) {
			name = f
			sub(/@KVSTASH_/, "_", name)
			gsub(/\./, "_", name)
			if (at[name] != old[f]) {
				print f " is not " name
				exit 1
			}
		}
		if (n != m || !n) {
			print n " functions of compat.c have " m " names"
			exit 1
		}
	}'

if ! readelf -d "$lib" | grep -q 'soname: \[libkvstash.so.0\]'; then
	echo "soname is not libkvstash.so.0"
	exit 1
fi
echo "exports: $(echo "$symbols" | wc -l) symbols, as declared"
