# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# Shared by the tests of programs. Sourced, with the directory $tmp set, in which
# "out" and "err" are what the last one said.
nr=0
failed=0

# ok NAME: the last command's status is the result; why not comes before it
ok()
{
	local status=$?

	nr=$((nr + 1))
	if [ $status -eq 0 ]; then
		echo "ok $nr $1"
		return
	fi
	failed=$((failed + 1))
	sed 's/^/# out: /' "$tmp/out" | head -20 | cut -c1-300
	sed 's/^/# err: /' "$tmp/err" | head -20 | cut -c1-300
	echo "not ok $nr $1"
}
