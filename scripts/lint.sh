#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Static checks: the module with W=1 and sparse for both Debian kernels,
# checkpatch on all C, shellcheck on all scripts, user space with warnings as
# errors.   lint.sh
# Ends with "N passed, N failed".
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/.."
# shellcheck source=selftests/beds/lib.sh
. selftests/beds/lib.sh
out=$PWD/build/lint
passed=0 failed=0

# step NAME COMMAND...: a check fails by its status; what it printed is shown then
step() {
	local log=$out/log name=$1; shift
	if "$@" > "$log" 2>&1; then
		passed=$((passed + 1))
		echo "lint: $name: ok"
	else
		failed=$((failed + 1))
		cat "$log"
		echo "lint: $name: FAILED"
	fi
}

# From scratch, as only a compiler that runs can warn. What the kernel's own
# headers are warned of is not ours: our files show up by the build's path.
module_warnings() {
	local bed=lint-$1 log=$out/module-$1 rc=0
	rm -rf "build/kmod-$bed"
	make -s -j"$(nproc)" modules BED="$bed" KDIR="/lib/modules/$(find_release "$1")/build" KVSTASH_BARE=1 \
		W=1 C=2 > "$log" 2>&1 || rc=$?
	if [ "$rc" -ne 0 ]; then
		cat "$log"
		return "$rc"
	fi
	! grep -E "kmod-$bed/.*(warning|error):|^WARNING: modpost" "$log"
}

c_files() {
	find kmod uapi libshim tools selftests \( -name '*.c' -o -name '*.h' \) \
		! -path selftests/include/kselftest.h ! -path selftests/include/kselftest_harness.h | sort
}

# LINUX_VERSION_CODE and FILE_PATH_CHANGES: this is a module outside the kernel's
# tree.
ignored=LINUX_VERSION_CODE,FILE_PATH_CHANGES

# checkpatch SOURCE FILE...
checkpatch() {
	local perl=$1/scripts/checkpatch.pl top=$PWD; shift
	# it writes a cache file into the directory where it runs
	(cd "$out" && perl "$perl" --no-tree --no-summary --strict --show-types --terse \
		--ignore "$ignored" -f "${@/#/$top/}") | sed "s,^$top/,,"
}

scripts() {
	find . \( -name .git -o -name build \) -prune -o -type f -print |
		while IFS= read -r f; do
			case $f in
			*.sh) echo "$f";;
			*.*[ch] | *.jsonl) ;;
			*) ! head -c 40 "$f" | grep -qE '^#!.*(ba)?sh' || echo "$f";;
			esac
		done
}

parse_scripts() {
	local f rc=0
	for f; do
		case $(head -n 1 "$f") in
		*/sh | *\ sh) sh -n "$f" || rc=1;;
		*) bash -n "$f" || rc=1;;
		esac
	done
	return "$rc"
}

user_space() {
	rm -rf "$out/user"
	make -s -j"$(nproc)" lib tools selftests O="$out/user" CFLAGS="-O2 -g -Wall -Wextra -Werror" WERROR=-Werror
}

mkdir -p "$out"
source=$(kernel_source)
mapfile -t sources < <(c_files)
mapfile -t scripts < <(scripts)
for v in 6.1 6.12; do step "module for $v, W=1 and sparse" module_warnings "$v"; done
step "checkpatch, ${#sources[@]} files" checkpatch "$source" "${sources[@]}"
step "syntax, ${#scripts[@]} scripts" parse_scripts "${scripts[@]}"
step "shellcheck" shellcheck -x "${scripts[@]}"
step "user space, -Wall -Wextra -Werror" user_space
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
