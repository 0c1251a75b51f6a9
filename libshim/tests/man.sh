#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Each call has its page, each builder and each reason is in one.
# Usage: man.sh PAGES LIBRARY-HEADER UAPI-HEADER
set -eu

pages=$1
missing=0

# miss WHAT: say it, and go on
miss()
{
	echo "no page: $1"
	missing=$((missing + 1))
}

calls=$(grep -oE '^(int|size_t|void|const char \*) ?\*?kvstash_[a-z_]+\(' "$2" |
	grep -oE 'kvstash_[a-z_]+')
for f in $calls; do
	[ -e "$pages/$f.3" ] || miss "$f"
done
builders=$(grep -oE '^static inline void kvstash_prep_[a-z_]+' "$2" |
	grep -oE 'kvstash_prep_[a-z_]+')
for f in $builders; do
	grep -q "void $f(" "$pages/kvstash_prep.3" || miss "$f"
done
for r in $(grep -oE 'KVSTASH_R_[A-Z_0-9]+ =' "$3" | tr -d ' ='); do
	grep -q "^\.BR $r " "$pages/kvstash.7" || miss "$r"
done
[ $missing -eq 0 ]
echo "pages: complete"
