#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# kvstashctl against the module: what it prints, its JSON, its exit codes; and what
# kvstash-bench says of its command line and output
#
# Needs root, the module with a pool of 64 MiB, and KVSTASH_BUILD.
# kvstash-timeout: 600
set -u

here=$(dirname "$(realpath "$0")")
ctl=${KVSTASH_BUILD:?}/tools/kvstashctl
bench=$KVSTASH_BUILD/tools/kvstash-bench
trace=$here/../../tools/traces/excerpt.jsonl
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# shellcheck source=selftests/include/ok.sh
. "$here/../include/ok.sh"

# call CODE PROGRAM WORD...: it ends with CODE; out and err are kept
call()
{
	local want=$1 got

	shift
	"$@" >"$tmp/out" 2>"$tmp/err"
	got=$?
	[ $got -eq "$want" ] && return
	echo "# ${1##*/} ${*:2} ended with $got, not $want"
	return 1
}

run()
{
	call "$1" "$ctl" "${@:2}"
}

bench()
{
	call "$1" "$bench" "${@:2}"
}

# lost CODE PROGRAM WORD...: what it says does not arrive, and it says so; the
# output is full, or closed
lost()
{
	local code=$1 full closed

	shift
	"$@" >/dev/full 2>"$tmp/err"
	full=$?
	"$@" >&- 2>"$tmp/out"
	closed=$?
	[ $full -eq "$code" ] && err_has "cannot write to standard output" &&
		! err_has "memory" && [ $closed -eq "$code" ] &&
		grep -qF "cannot write to standard output" "$tmp/out" && return
	echo "# ${1##*/} ${*:2} ended with $full and $closed, not $code"
	return 1
}

# json CODE EXPRESSION WORD...: the same with --json; the document is d in the
# Python expression, and has to make it true
json()
{
	local code=$1 expression=$2

	shift 2
	run "$code" --json "$@" || return
	python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(0 if eval("(" + sys.argv[2] + ")") else 1)
' "$tmp/out" "$expression" && return
	echo "# not so: $expression"
	return 1
}

out_is()
{
	[ "$(cat "$tmp/out")" = "$1" ]
}

err_has()
{
	grep -qF -- "$1" "$tmp/err"
}

# refused ERRNO WORDS: with a text of the kernel's, not the C library's words
refused()
{
	err_has " ($1)" && ! err_has ": $2 ($1)"
}

if ! [ -x "$ctl" ]; then
	echo "1..0 # SKIP $ctl is not built"
	exit 4
fi

echo "TAP version 13"

# put and get

head -c 100000 /dev/urandom >"$tmp/a"
head -c 5000 /dev/urandom >"$tmp/b"

run 0 put ctl/a "$tmp/a" && out_is "ctl/a: part 0 of 1 put, 100000 bytes"
ok "put of a file"
run 1 put ctl/a "$tmp/a" && err_has "(EEXIST, exists)"
ok "a second put says that it exists"
json 1 'd["errno"] == "EEXIST" and d["reason"] == "exists" and d["error"]' \
	put ctl/a "$tmp/a"
ok "and so it does in JSON"
run 0 get ctl/a && cmp -s "$tmp/out" "$tmp/a"
ok "get to standard output"
run 0 get ctl/a -o "$tmp/got" && cmp -s "$tmp/got" "$tmp/a" &&
	out_is "ctl/a: 100000 of 100000 bytes to $tmp/got"
ok "get to a file"
rm -f "$tmp/got"
json 0 'd["bytes"] == 100000 and d["object_size"] == 100000 and
	d["key"] == "ctl/a" and d["key_hex"] == b"ctl/a".hex()' \
	get ctl/a -o "$tmp/got" && cmp -s "$tmp/got" "$tmp/a"
ok "get with JSON"
"$ctl" put ctl/b - <"$tmp/b" >"$tmp/out" 2>"$tmp/err" &&
	run 0 get ctl/b && cmp -s "$tmp/out" "$tmp/b"
ok "put of standard input"
"$ctl" put --tag 'a "tag"' ctl/c < <(cat "$tmp/b") >"$tmp/out" 2>"$tmp/err" &&
	run 0 get ctl/c && cmp -s "$tmp/out" "$tmp/b"
ok "put of a pipe"
run 0 get ctl/a --range 0:99999:1 --range 0:1K:2K &&
	{ tail -c 1 "$tmp/a"; head -c 3072 "$tmp/a" | tail -c 2048; } |
		cmp -s - "$tmp/out"
ok "get of ranges"
run 3 get ctl/a --range 0:99999:2 &&
	err_has "the part has 100000 bytes (ERANGE, range)" && out_is ""
ok "a range past the end is refused"
run 3 get ctl/a --range 0:0:1T &&
	err_has "get: ctl/a: range past the end of its part; the part has 100000 bytes (ERANGE, range)" &&
	run 3 get ctl/a --range 0:0:1 --range 0:50000:1T &&
	err_has "the part has 100000 bytes (ERANGE, range)" && out_is "" &&
	run 3 get ctl/a --range 0:0:0 && err_has "(EINVAL, length)" &&
	run 1 get ctl/none --range 0:0:1T && err_has "no such key (ENOENT, miss)" &&
	run 0 get ctl/a --range 0:0:100000 --range 0:0:100000 &&
	cat "$tmp/a" "$tmp/a" | cmp -s - "$tmp/out"
ok "nor does it have to fit into memory"
rm -f "$tmp/got"
run 1 get ctl/none -o "$tmp/got" && err_has "no such key (ENOENT, miss)" &&
	[ ! -e "$tmp/got" ]
ok "get of nothing is a miss, and makes no file"
json 1 'd == {"error": d["error"], "errno": "ENOENT", "reason": "miss"}' \
	get ctl/none -o "$tmp/got"
ok "the same in JSON"
run 3 put ctl/empty /dev/null && err_has "(EINVAL, length)"
ok "nothing is no object"
run 3 put ctl/x "$tmp/nonexistent" && err_has "No such file"
ok "a file that is not there"

# facts

digest=$(printf %064d 7)
run 0 put ctl/p --part 0/2 --manifest "$digest" "$tmp/b" &&
	run 1 stat ctl/p && grep -q "1 of 2 present" "$tmp/out" &&
	grep -q "state     filling" "$tmp/out"
ok "a part of two is there"
run 3 put ctl/p --part 1/3 --manifest "$digest" "$tmp/b" &&
	err_has "2 parts there (EXDEV, mismatch_parts)"
ok "another part count is a mismatch"
run 0 put ctl/p --part 1/2 --manifest "$digest" "$tmp/b" && run 0 exists ctl/p
ok "both parts are the object"
json 0 'd["keys"][0]["state"] == "visible" and
	d["keys"][0]["object_size"] == 10000 and d["keys"][0]["parts"] == 2 and
	d["keys"][0]["manifest_hex"] == "'"$digest"'" and
	d["keys"][0]["tag"] is None and d["keys"][1]["tag"] == "a \"tag\"" and
	d["keys"][1]["reason"] == "ok"' stat ctl/p ctl/c
ok "stat has all facts"
run 1 exists ctl/a ctl/none &&
	out_is "$(printf 'ctl/a: visible\nctl/none: no such key (ENOENT, miss)')"
ok "exists says each key"
run 0 exists ctl/a ctl/b
ok "exists of what is there"
json 1 '[k["state"] for k in d["keys"]] == ["visible", "absent"] and
	d["keys"][1]["errno"] == "ENOENT"' exists ctl/a ctl/none
ok "exists in JSON"
run 0 --hex put 00ff0a "$tmp/b" && run 0 --hex exists 00FF0A &&
	out_is "00ff0a: visible"
ok "a key in hex"
json 0 'd["keys"][0]["key"] is None and d["keys"][0]["key_hex"] == "00ff0a"' \
	exists --hex 00ff0a
ok "a key that is no text"
run 0 ls --ns default && grep -qxF '\x00\xff\x0a' "$tmp/out"
ok "and as text it is escaped"

# chains

run 3 put ctl/2 --parent ctl/1 "$tmp/b" && err_has "(ENOENT, parent_miss)"
ok "a parent that is not there"
run 0 put ctl/1 "$tmp/b" && run 0 put ctl/2 --parent ctl/1 "$tmp/b" &&
	run 0 put ctl/3 --parent ctl/none --root-if-no-parent "$tmp/b"
ok "a chain, and a root for want of a parent"
run 0 lookup ctl/1 ctl/2 && out_is "run of 2 keys of 2, 10000 bytes"
ok "lookup of a chain"
run 1 lookup ctl/1 ctl/none ctl/2 &&
	out_is "run of 1 keys of 3, 5000 bytes; ends: no such key (miss)"
ok "lookup stops at the gap"
json 1 'd["run"] == 1 and d["count"] == 3 and d["bytes"] == 5000 and
	d["reason"] == "miss"' lookup ctl/1 ctl/none ctl/2
ok "lookup in JSON"

# the list of objects

run 0 ls --ns default --prefix ctl/ &&
	[ "$(sort "$tmp/out" | tr '\n' ' ')" = \
	  "ctl/1 ctl/2 ctl/3 ctl/a ctl/b ctl/c ctl/p " ]
ok "ls with a prefix"
json 0 'len(d["objects"]) == 1 and d["objects"][0]["parent"] == "ctl/1" and
	d["objects"][0]["ns"] == "default" and
	d["objects"][0]["state"] == "visible" and
	d["objects"][0]["bytes"] == 5000 and d["objects"][0]["kind"] == "page"' \
	ls -n default --prefix ctl/2 --state visible --kind page
ok "ls in JSON"
json 0 'd["objects"] == []' ls --ns default --state filling
ok "ls of a state that none is in"
long=$(printf %0500d 0)
for i in $(seq 10 69); do
	"$ctl" put "$i/$long" "$tmp/b" >"$tmp/out" 2>"$tmp/err" || break
done
run 0 ls -l --ns default && [ "$(grep -c "/$long\$" "$tmp/out")" -eq 60 ]
ok "ls over many messages"
json 0 'sorted(o["key"][:2] for o in d["objects"] if len(o["key"] or "") == 503) ==
	[str(i) for i in range(10, 70)]' ls --ns default
ok "the same in JSON"
lost 3 "$ctl" ls && lost 3 "$ctl" --json ls && lost 3 "$ctl" ls -l
ok "a list that does not arrive is a failure"
a=(); for i in $(seq 10 69); do a+=("$i/$long"); done
run 0 exists "${a[@]}" && run 0 rm "${a[@]}" && run 1 exists "${a[@]}"
ok "many keys at once"
run 3 ls --ns no-such && out_is "" && err_has "ls: no such namespace (ENOENT)" &&
	run 3 -n no-such ls -l && out_is "" && run 3 state ls --ns no-such &&
	json 3 'd["objects"] == [] and d["errno"] == "ENOENT"' ls --ns no-such
ok "ls of a namespace that there is not"
run 3 ls --pool no-such && out_is "" && err_has "ls: no such pool (ENOENT)" &&
	run 3 ls --ns default --pool no-such && run 0 ls --pool pool0
ok "ls of a pool that there is not"

# groups

run 0 put ctl/g0 "$tmp/b" --group ctl/g --member 0 --members 3 --atomic &&
	run 0 put ctl/g2 "$tmp/b" --group ctl/g --member 2 --members 3 --atomic
ok "put of members"
run 1 exists ctl/g0 &&
	out_is "ctl/g0: group incomplete: members missing; 2 members present (ENOENT, group_incomplete)"
ok "members of an atomic group are hidden while one is missing"
json 1 'd["state"] == "filling" and d["members"] == 3 and d["key"] == "ctl/g" and
	d["members_present"] == 2 and d["atomic"] and
	d["reason"] == "group_incomplete" and d["parent"] is None and
	[(o["member"], o["key"]) for o in d["objects"]] ==
		[(0, "ctl/g0"), (2, "ctl/g2")]' group ctl/g
ok "group in JSON"
run 3 put ctl/g1 "$tmp/b" --group ctl/g --member 1 --members 4 --atomic &&
	err_has "3 members there (EXDEV, mismatch_members)"
ok "another member count is a mismatch"
run 3 put ctl/g1 "$tmp/b" --group ctl/g --member 3 --members 3 --atomic &&
	err_has "the member count is 3 (EINVAL, member_index)"
ok "an index past the last member"
json 0 'd["group"] == "ctl/g" and d["member"] == 1 and d["members"] == 3' \
	put ctl/g1 "$tmp/b" --group ctl/g --member 1 --members 3 --atomic
ok "the last member"
run 0 exists ctl/g0 ctl/g1 ctl/g2 && run 0 exists --group-kind ctl/g &&
	run 1 exists ctl/g
ok "all are there"
run 0 group ctl/g && grep -qx "  members   3 of 3 present" "$tmp/out" &&
	grep -qx "  flags     atomic" "$tmp/out" &&
	[ "$(grep -c "5000  ctl/g[012]\$" "$tmp/out")" -eq 3 ]
ok "group in text"
run 1 group ctl/none && grep -q "(ENOENT, miss)" "$tmp/out" &&
	json 1 'd["state"] == "absent" and d["objects"] == []' group ctl/none
ok "a group that is not there"
json 0 'd["keys"][0]["members"] == 3 and d["keys"][0]["members_present"] == 3 and
	d["keys"][0]["group_state"] == "visible" and d["keys"][0]["atomic"] and
	d["keys"][0]["pin"] == "none"' stat ctl/g1
ok "stat of a member"
run 0 stat ctl/g1 && grep -qx "  group     visible, atomic" "$tmp/out"
ok "the same in text"
json 0 'd["keys"][0]["members"] == 3' stat --group-kind ctl/g
ok "stat of a group"
json 0 'd["objects"][0]["member"] == 1 and d["objects"][0]["group"] == "ctl/g" and
	d["objects"][0]["members"] == 3 and d["objects"][0]["leases"] == 0' \
	ls -n default --prefix ctl/g1
ok "ls of a member"
run 0 ls -n default --group ctl/g && [ "$(sort "$tmp/out" | tr '\n' ' ')" = \
	"ctl/g0 ctl/g1 ctl/g2 " ]
ok "ls of a group's members"
run 0 ls -l -n default --kind group && grep -q " 3/3 .*ctl/g\$" "$tmp/out"
ok "ls of groups"
run 3 put ctl/h0 "$tmp/b" --parent ctl/g0 &&
	err_has "(EINVAL, parent_member)"
ok "a member is no parent"
run 0 put ctl/h0 "$tmp/b" --parent-group ctl/g --group ctl/h --member 0 \
	--members 2 && run 0 exists ctl/h0 && run 1 exists --group-kind ctl/h
ok "a plain group below a group"
json 1 'd["parent"] == "ctl/g" and d["parent_kind"] == "group" and
	not d["atomic"]' group ctl/h
ok "group says its parent"
run 0 put ctl/h1 "$tmp/b" --parent-group ctl/g --group ctl/h --member 1 \
	--members 2 && run 0 lookup --group-kind ctl/g ctl/h
ok "lookup of groups"
run 3 rm --member ctl/g0 && grep -q "(EINVAL, group_atomic)" "$tmp/out"
ok "rm of one member of an atomic group"
run 0 rm --member ctl/h1 && run 0 exists ctl/h0 &&
	run 1 exists --group-kind ctl/h
ok "rm of one member of a plain group"
run 0 rm --group-kind ctl/g && run 1 exists ctl/g0 && run 1 exists ctl/h0
ok "rm of a group takes its members and what descends from it"

# time to live

run 0 put ctl/t "$tmp/b" --ttl-ms 50 && sleep 0.1 && run 1 exists ctl/t &&
	grep -qE "(ENOENT, (expired|miss))" "$tmp/out"
ok "a time to live ends"
run 0 put ctl/t "$tmp/b" --ttl-ms 3600000 &&
	json 0 '3000000 < d["objects"][0]["ttl_ms"] <= 3600000' \
		ls -n default --prefix ctl/t
ok "ls says what is left"
"$ctl" put ctl/l "$tmp/b" --part 0/2 --no-linger >"$tmp/out" 2>"$tmp/err" &&
	run 1 exists ctl/l && grep -q "(ENOENT, miss)" "$tmp/out"
ok "what does not linger goes with its writer"

# leases

# figure NAME: of the default namespace
figure()
{
	sed -n "s/^$1 //p" /proc/kvstash/ns/default
}

run 0 lease ctl/a ctl/b -- cat /proc/kvstash/ns/default &&
	grep -qx "leases 2" "$tmp/out" && [ "$(figure leases)" -eq 0 ]
ok "leases are held while a command runs"
run 7 lease ctl/a -- sh -c 'exit 7' && run 143 lease ctl/a -- sh -c 'kill $$'
ok "and its status is handed on"
run 127 lease ctl/a -- /nonexistent/command && err_has "cannot run"
ok "a command that is none"
run 1 lease ctl/a ctl/none -- echo ran && ! grep -q ran "$tmp/out" &&
	grep -q "ctl/none: no such key (ENOENT, miss)" "$tmp/out"
ok "a key that is not there, and the command is not run"
run 0 lease ctl/a -- "$ctl" lease --list --json -n default &&
	python3 -c '
import json, sys
l = json.load(open(sys.argv[1]))["leases"]
sys.exit(not (len(l) == 1 and l[0]["key"] == "ctl/a" and l[0]["kind"] == "page" and
	      l[0]["comm"] == "kvstashctl" and l[0]["bytes"] == 100000))' "$tmp/out"
ok "lease --list in JSON"
run 0 lease ctl/a -- "$ctl" lease --list && grep -q " ctl/a\$" "$tmp/out"
ok "and in text"
json 0 'd["leases"] == []' lease --list
ok "no leases"
cp "$ctl" "$tmp/a b" && call 0 "$tmp/a b" lease ctl/a -- "$ctl" lease --list &&
	grep -q '^ *[0-9]* a\\040b .* ctl/a$' "$tmp/out"
ok "a command with a space is one word"
run 3 -n no-such lease --list && err_has "lease: no such namespace (ENOENT)" && out_is ""
ok "leases in a namespace that there is not"
leases=/sys/kernel/debug/kvstash/leases
printf '%s\n' '7 my\040cmd default 0 6b 0 4096' '8 cmd' '9 cmd default 0 6c 1 4096' >"$tmp/leases"
mount --bind "$tmp/leases" "$leases"
run 3 lease --list && err_has "lease: $leases: line 2 is no lease" &&
	grep -q '^ *7 my\\040cmd .* k$' "$tmp/out" && grep -q '^ *9 cmd .* l$' "$tmp/out" &&
	json 3 'd["errno"] == "EPROTO" and [l["comm"] for l in d["leases"]] ==
		["my\\040cmd", "cmd"]' lease --list
ok "a line that is no lease is told"
# no_lease LINE...: each is none
no_lease()
{
	local line

	for line; do
		echo "$line" >"$tmp/leases"
		run 3 lease --list || return
		err_has "line 1 is no lease" || return
	done
}

no_lease "" "7x cmd default 0 6b 0 1" "7 cmd default x 6b 0 1" "7 cmd default 0 6 0 1" \
	"7 cmd default 0 zz 0 1" "7 cmd default 0 6b -1 1" "7 cmd default 0 6b 0 1x" \
	"cmd default 0 6b 0 1"
ok "nor are these any"
umount "$leases"
run 0 lease ctl/a -- "$ctl" --json ls -n default --prefix ctl/a &&
	grep -q '"leases":1' "$tmp/out"
ok "ls counts leases"

# hold SIGNAL: a lease without a command ends by it
hold()
{
	local pid

	: >"$tmp/out"
	"$ctl" --json lease ctl/a ctl/c >"$tmp/out" 2>"$tmp/err" &
	pid=$!
	until grep -q '^]}' "$tmp/out" || ! kill -0 $pid; do
		sleep 0.05
	done
	[ "$(figure leases)" -eq 2 ] && kill "-$1" $pid && wait $pid &&
		[ "$(figure leases)" -eq 0 ]
}

hold TERM && hold INT && python3 -m json.tool "$tmp/out" >/dev/null
ok "without a command until a signal"
run 0 ns set default --lease-budget 4K &&
	run 3 lease ctl/a -- echo ran && ! grep -q ran "$tmp/out" &&
	grep -q "(EDQUOT, lease_budget)" "$tmp/out" &&
	run 0 ns set default --lease-budget 0
ok "the lease budget holds"

# pins

run 0 pin hard ctl/a ctl/b && grep -qx "ctl/a: pinned hard" "$tmp/out" &&
	json 0 '{o["key"] for o in d["objects"]} == {"ctl/a", "ctl/b"}' \
		ls -n default --pin hard
ok "pin hard"
json 0 'd["namespaces"][0]["pinned"] == 110592 and
	d["namespaces"][0]["leased"] == 0' ns list default
ok "ns list says what is pinned"
json 0 'd["keys"][0]["pin"] == "soft" and d["keys"][0]["reason"] == "ok"' \
	pin soft ctl/a && json 0 'd["keys"][0]["pin"] == "soft"' stat ctl/a
ok "pin soft, in JSON"
run 1 pin hard ctl/none && grep -q "(ENOENT, miss)" "$tmp/out"
ok "pin of nothing"
run 0 ns set default --pin-bytes 8K &&
	run 3 pin hard ctl/a && grep -q "(EDQUOT, pin_quota)" "$tmp/out" &&
	json 0 'd["namespaces"][0]["pin_bytes"] == 8192' ns list default &&
	run 0 ns set default --pin-bytes 0
ok "the pin quota holds"
run 0 pin none ctl/a ctl/b && json 0 'd["objects"] == []' ls -n default --pin hard
ok "pin none"

# layouts

fp=$(printf 'abcd%060d' 0)	# as it is said when "abcd" was given
name=(abcd --scheme 7)
desc=(--slot-bytes 12K --alignment 64)
head -c 12288 /dev/urandom >"$tmp/s"

run 0 layout add "${name[@]}" "${desc[@]}" --layers 3 --slots 2 &&
	out_is "$fp:7: 2 slots of 12288 bytes, 12288 of the pool each"
ok "layout add"
json 0 'd["fingerprint_hex"] == "'"$fp"'" and d["scheme"] == 7 and d["slots"] == 2 and
	not d["tied"] and d["nr_layers"] == 3 and d["slot_bytes"] == 12288' \
	layout add "${name[@]}" "${desc[@]}" --layer-bytes 4K --slots 5
ok "the same again, in JSON, changes nothing"
run 3 layout add "${name[@]}" --slot-bytes 12K --alignment 32 --layers 3 &&
	err_has "--alignment (64 there): mismatch" && err_has "(EXDEV, mismatch_layout)"
ok "another description names the argument and what is there"
json 3 'd["errno"] == "EXDEV" and d["reason"] == "mismatch_layout" and
	d["error"].startswith("--tied: ")' \
	layout add "${name[@]}" "${desc[@]}" --layers 3 --tied
ok "the same in JSON"
run 3 layout add abce --scheme 7 "${desc[@]}" --layer 0:8K --layer 4K:1 &&
	err_has "layers: layer empty, not in the slot, or over one before it; layer index 1 (EINVAL, layer)"
ok "layers that overlap"
run 3 layout add abce --scheme 7 "${desc[@]}" --layers 3 --slots 10000 &&
	err_has "--slots: larger than the pool; the pool has 67108864 bytes (EFBIG, too_large)"
ok "more slots than the pool has"
json 0 'd["slots"] == 682 and d["tied"]' layout add abce --scheme 7 "${desc[@]}" \
	--layer 0:8K --layer 11K:1K --share 12.5% --tied
ok "a share of the pool, a gap between layers, tied"
run 0 layout add abcf --scheme 7 --slot-bytes 8M --alignment 64 --layers 1 --share 10% &&
	err_has "layout add: note: no slots were carved" &&
	json 0 'd["slots"] == 0' layout set abcf --scheme 7 --share 10% &&
	err_has "layout set: note: no slots were carved" &&
	run 0 layout set abcf --scheme 7 --slots 0 && ! err_has "note" &&
	run 0 layout drop abcf --scheme 7
ok "a share that is less than a slot"
json 0 'd["layers"] == [{"offset": 0, "length": 8192}, {"offset": 11264, "length": 1024}] and
	d["id"] > 0 and d["used"] == 0 and d["counters"]["puts"] == 0' \
	layout show abce --scheme 7
ok "layout show in JSON"
run 0 layout show "${name[@]}" && grep -qx "  slots      2, 0 used" "$tmp/out" &&
	grep -qx "  refused_bytes      0" "$tmp/out" &&
	grep -qx "      2           8192           4096" "$tmp/out"
ok "layout show"
run 3 layout show abcd --scheme 8 &&
	err_has "abcd: no such layout is registered (ENOENT, layout_unknown)"
ok "layout show of none"
json 0 '[(l["ns"], l["fingerprint_hex"][:4], l["slots"], l["nr_layers"], l["tied"])
	for l in d["layouts"]] ==
	[("default", "abcd", 2, 3, False), ("default", "abce", 682, 2, True)]' \
	layout ls --ns default
ok "layout ls in JSON"
run 0 layout ls && grep -qE "^default +64 +12288 +3 +2 +0 no +$fp:7\$" "$tmp/out"
ok "layout ls"
run 3 layout ls -n no-such && out_is "" &&
	err_has "layout ls: no such namespace (ENOENT)" &&
	json 3 'd["layouts"] == [] and d["errno"] == "ENOENT"' layout ls --ns no-such
ok "layout ls of a namespace that there is not"
json 0 'd["slots"] == 10' layout set abce --scheme 7 --slots 10
ok "layout set"
json 0 'd["namespaces"][0]["carved"] == 12 * 12288 and
	d["namespaces"][0]["slot_bytes"] == 0' ns list default &&
	json 0 'd["pools"][0]["slot_free"] == 12 * 12288 and
		d["pools"][0]["free"] >= 12 * 12288' pool list
ok "ns list says what is carved, pool list what of it is free"
run 0 ns set default --slot-bytes 1M &&
	json 0 'd["namespaces"][0]["slot_bytes"] == 1 << 20' ns list default &&
	run 3 layout set abce --scheme 7 --share 500 &&
	err_has "--share: quota of slots used up; " &&
	err_has " bytes missing (EDQUOT, slot_quota)" && run 0 ns set default --slot-bytes 0
ok "the quota of slots holds"

# states

key=(abcd --scheme 7 --tokens)
run 0 state put "${key[@]}" 64 p "$tmp/s" &&
	out_is "$fp:7:64:p: part 0 of 1 put, 12288 bytes"
ok "put of a state"
run 1 state put "${key[@]}" 64 p "$tmp/s" && err_has "abcd:7:64:p: exists" &&
	err_has "(EEXIST, exists)"
ok "a second put of it says that it exists"
run 3 state put "${key[@]}" 64 q "$tmp/b" &&
	err_has "abcd:7:64:q: 5000 bytes given, a slot has 12288: " &&
	err_has "(EINVAL, slot_bytes)"
ok "a put of another length says both"
run 3 state put "${key[@]}" 64 q /dev/null &&
	err_has "0 bytes given, a slot has 12288: "
ok "and so it does of none"
run 3 state put "${key[@]}" 65 q "$tmp/s" && err_has "64 tokens (EINVAL, misaligned)"
ok "a length that is not aligned"
run 3 state put abcd --scheme 8 --tokens 64 q "$tmp/s" &&
	err_has "abcd:8:64:q: no such layout is registered (ENOENT, layout_unknown)"
ok "a put without a layout"
run 3 state put abce --scheme 7 --tokens 64 q "$tmp/s" && err_has "(EINVAL, tied)" &&
	run 0 state put abce --scheme 7 --tokens 64 q "$tmp/s" --parent ctl/a
ok "a state of a tied layout needs a parent"
json 0 'd["bytes"] == 12288 and d["state_key"]["prefix_hex"] == "00ff" and
	d["state_key"]["prefix"] is None and d["state_key"]["tokens"] == 128 and
	d["state_key"]["scheme"] == 7 and d["state_key"]["fingerprint_hex"] == "'"$fp"'" and
	d["key_hex"] == "'"$fp"'" + "07000000" + "00000000" + "8000000000000000" + "00ff"' \
	--hex state put "${key[@]}" 128 00ff "$tmp/s" --tag t
ok "a prefix in hex, and the key in JSON"
run 0 state get "${key[@]}" 64 p && cmp -s "$tmp/out" "$tmp/s"
ok "get of a state"
run 0 state get "${key[@]}" 64 p --layers 2,0 -o "$tmp/got" &&
	{ tail -c 4096 "$tmp/s"; head -c 4096 "$tmp/s"; } | cmp -s - "$tmp/got" &&
	out_is "$fp:7:64:p: 8192 of 12288 bytes to $tmp/got"
ok "get of chosen layers"
json 0 'd["bytes"] == 4096 and d["object_size"] == 12288 and
	d["state_key"]["prefix"] == "p"' state get "${key[@]}" 64 p --layers 1 -o "$tmp/got"
ok "the same in JSON"
run 3 state get "${key[@]}" 64 p --layers 2,3 -o "$tmp/none" &&
	err_has "--layers: no layer 3, the layout has 3 (ERANGE)" && [ ! -e "$tmp/none" ]
ok "a layer that there is not"
run 1 state get "${key[@]}" 128 p && err_has "abcd:7:128:p: no such key (ENOENT, miss)"
ok "a state answers for its length only"
run 0 state exists "${key[@]}" 64 p && out_is "$fp:7:64:p: visible"
ok "state exists"
json 0 'd["keys"][0]["state"] == "visible" and d["keys"][0]["object_size"] == 12288 and
	d["keys"][0]["tag"] == "t" and d["keys"][0]["state_key"]["tokens"] == 128' \
	--hex state exists "${key[@]}" 128 00ff
ok "the facts about a state in JSON"
json 1 'd["keys"][0]["reason"] == "miss" and d["keys"][0]["state"] == "absent"' \
	state exists "${key[@]}" 192 p
ok "a state that is not there"
run 3 state exists "${key[@]}" 65 p && grep -q "(EINVAL, misaligned)" "$tmp/out"
ok "nor can be"
run 0 state ls abcd --scheme 7 && [ "$(sort "$tmp/out")" = \
	"$(printf '%s\n' "$fp:7:128:\\x00\\xff" "$fp:7:64:p")" ]
ok "state ls of a layout"
json 0 'sorted((o["state_key"]["fingerprint_hex"][:4], o["state_key"]["tokens"])
	for o in d["objects"]) == [("abcd", 64), ("abcd", 128), ("abce", 64)] and
	all(o["kind"] == "state" for o in d["objects"])' state ls --ns default
ok "state ls in JSON"
run 0 --hex ls -l --ns default --kind state && grep -q "^visible state .*	$fp:7:128:00ff\$" "$tmp/out" &&
	run 0 --hex ls -l --ns default && grep -q "	$fp:7:64:70\$" "$tmp/out" &&
	json 0 'any(o["kind"] == "page" and "state_key" not in o for o in d["objects"])' ls
ok "ls says the keys of states"
run 1 lookup ctl/a --state abcd:7:64:p --state abcd:7:192:p && out_is "$(printf '%s\n' \
	"run of 1 keys of 1, 100000 bytes" "$fp:7:64:p: visible, 12288 bytes" \
	"$fp:7:192:p: no such key (ENOENT, miss)")"
ok "lookup of keys and states"
json 0 'd["count"] == 0 and d["reason"] == "ok" and
	[(s["bytes"], s["reason"], s["state_key"]["prefix"]) for s in d["states"]] ==
	[(12288, "ok", "p")]' lookup --state abcd:7:64:p
ok "lookup of states alone, in JSON"
json 3 'd["states"][0]["reason"] == "misaligned" and d["states"][0]["detail"] == 64' \
	lookup --state abcd:7:65:p
ok "lookup of a state that can't be"
run 0 stat --state-kind abcd:7:64:p && grep -qx "  size      12288 bytes" "$tmp/out" &&
	run 0 exists --state-kind abcd:7:64:p && run 0 lookup --state-kind abcd:7:64:p
ok "commands about keys take those of states"
run 0 lease --state-kind abcd:7:64:p -- "$ctl" lease --list &&
	grep -q " state .* $fp:7:64:p\$" "$tmp/out"
ok "lease of a state"
run 0 pin hard --state-kind abcd:7:64:p && run 3 layout set "${name[@]}" --slots 0 &&
	err_has "--slots: more slots are held than were asked for; 1 can't be taken away (EBUSY, slots_held)" &&
	run 0 pin none --state-kind abcd:7:64:p
ok "a state that is pinned keeps its slot"
run 0 put ctl/m0 "$tmp/b" --group ctl/m --member 0 --members 2 &&
	run 0 state put abce --scheme 7 --tokens 64 m "$tmp/s" --group ctl/m --member 1 --members 2 &&
	json 0 '[(o["member"], o["kind"]) for o in d["objects"]] == [(0, "page"), (1, "state")]' \
		group ctl/m && run 0 group ctl/m && grep -q "12288  abce0*:7:64:m\$" "$tmp/out"
ok "a state as the member of a group"
run 0 rm --group-kind ctl/m && run 1 state exists abce --scheme 7 --tokens 64 m
ok "and it goes with it"
run 0 state put "${key[@]}" 192 r "$tmp/s" && run 0 state exists "${key[@]}" 192 r &&
	json 0 'd["used"] == 2 and d["states"] == 2 and d["counters"]["puts"] == 3 and
		d["counters"]["evictions"] == 1 and d["counters"]["refused_bytes"] >= 1 and
		d["counters"]["refused_misaligned"] == 1' layout show "${name[@]}"
ok "one more than there are slots evicts one, and all is counted"
run 3 layout drop "${name[@]}" && err_has "abcd: the layout has states; 2 states there (EBUSY, layout_busy)"
ok "a layout with states stays"
run 0 state rm "${key[@]}" 192 r && out_is "$fp:7:192:r: removed" &&
	run 1 state rm "${key[@]}" 192 r
ok "state rm"
run 0 layout set "${name[@]}" --slots 0 && json 0 'd["objects"] == []' state ls abcd &&
	run 0 layout drop "${name[@]}" && out_is "$fp:7: dropped"
ok "without slots it has no states and can be dropped"
run 0 state rm abce --scheme 7 --tokens 64 q &&
	json 0 'd["dropped"] and d["scheme"] == 7' layout drop abce --scheme 7 &&
	json 0 'd["layouts"] == []' layout ls
ok "layout drop in JSON, and none is left"

# removal

run 0 rm ctl/1 && out_is "ctl/1: removed" && run 1 exists ctl/2
ok "rm takes the children along"
run 1 rm ctl/1 ctl/3 && grep -qx "ctl/3: removed" "$tmp/out"
ok "rm of what is gone is a miss"
run 0 rm ctl/a ctl/b ctl/c ctl/p ctl/t && run 0 --hex rm 00ff0a
ok "rm of the rest"

# namespaces

run 0 ns create ctl-ns --uid 1000 --gid 1000 --mode 600 --quota 1M \
	--objects 10 --slot-bytes 256K --incomplete-timeout 5000
ok "ns create"
json 0 '[n for n in d["namespaces"] if n["name"] == "ctl-ns" and
	n["uid"] == 1000 and n["gid"] == 1000 and n["mode"] == "0600" and
	n["quota_bytes"] == 1 << 20 and n["quota_objects"] == 10 and
	n["incomplete_ms"] == 5000 and n["slot_bytes"] == 256 << 10 and n["clients"] == 0]' ns list
ok "ns list"
run 3 ns create ctl-ns && refused EEXIST "File exists"
ok "ns create of one that is there"
run 3 ns create 'a/b' && refused EINVAL "Invalid argument"
ok "ns create of a name that is none"
json 3 'd["error"].endswith("(EINVAL)") and d["errno"] == "EINVAL" and
	d["reason"] is None' ns create 'a/b'
ok "the same in JSON"
run 0 ls -n ctl-ns && out_is "" && run 0 layout ls -n ctl-ns
ok "lists of one that has nothing are empty"
run 0 ns set ctl-ns --quota 64K &&
	json 0 'd["namespaces"][0]["quota_bytes"] == 65536 and
		d["namespaces"][0]["quota_objects"] == 10' ns list ctl-ns
ok "ns set changes what it was asked to"
run 3 -n ctl-ns put big "$tmp/a" && err_has "(EDQUOT, quota_bytes)"
ok "the quota holds"
run 0 -n ctl-ns put k "$tmp/b" && run 1 exists k && run 0 exists k -n ctl-ns
ok "its keys are its own"
json 0 'd["stats"]' stats ns ctl-ns
ok "stats of a namespace"
run 3 -n no-such exists k && err_has "(ENODEV, no_namespace)"
ok "no such namespace"

# another user, of a device that all may open: the namespace decides

mode=$(stat -c %a /dev/kvstash)
chmod 666 /dev/kvstash
chmod 755 "$tmp"
cp "$ctl" "$tmp/kvstashctl"
cat >"$tmp/as" <<-'END'
	import os, sys
	os.setgroups([])
	os.setgid(int(sys.argv[1]))
	os.setuid(int(sys.argv[1]))
	os.execv(sys.argv[2], sys.argv[2:])
END

# as UID CODE WORD...: run, by another user
as()
{
	local uid=$1 want=$2 got

	shift 2
	python3 "$tmp/as" "$uid" "$tmp/kvstashctl" "$@" >"$tmp/out" 2>"$tmp/err"
	got=$?
	[ $got -eq "$want" ] && return
	echo "# kvstashctl $* by $uid ended with $got, not $want"
	return 1
}

as 1000 0 -n ctl-ns exists k && as 1000 0 -n ctl-ns get k &&
	cmp -s "$tmp/out" "$tmp/b"
ok "the owner may read"
as 1000 0 -n ctl-ns rm k && as 1000 0 -n ctl-ns put k "$tmp/as"
ok "and write"
as 1001 3 -n ctl-ns exists k && err_has "(EACCES, permission)"
ok "another may not"
as 1001 3 --json -n ctl-ns exists k &&
	grep -q '"errno": "EACCES", "reason": "permission"' "$tmp/out"
ok "the same in JSON"
as 1000 0 ls -n ctl-ns && out_is k
ok "the owner may list"
as 1000 0 ls -n ctl-ns --prefix other && out_is "" && as 1000 0 layout ls -n ctl-ns
ok "and what he lists may be nothing"
as 1001 3 ls -n ctl-ns && out_is "" && err_has "(EPERM)"
ok "another may not list"
as 1000 3 ls && out_is "" && err_has "(EPERM)"
ok "nor may anybody list all"
as 1000 0 -n ctl-ns layout add abcd --scheme 7 --slot-bytes 4K --alignment 1 \
	--layers 1 --slots 1 && as 1000 0 layout ls -n ctl-ns && grep -q ":7\$" "$tmp/out" &&
	as 1000 0 -n ctl-ns layout drop abcd --scheme 7
ok "the owner may register a layout, and list them"
as 1001 3 layout ls -n ctl-ns && out_is "" && err_has "(EPERM)" && as 1000 3 layout ls &&
	as 1001 3 -n ctl-ns layout show abcd --scheme 7 && err_has "(EACCES, permission)"
ok "another may not"
as 1000 3 pool create mine 2M && err_has "(EPERM)"
ok "a user may not create a pool"
as 1000 3 pool list && out_is "" && err_has "(EPERM)"
ok "nor list them"
as 1000 3 ns destroy ctl-ns && err_has "(EPERM)"
ok "nor destroy a namespace"
run 0 ns set ctl-ns --mode 644 && as 1001 0 -n ctl-ns exists k &&
	as 1001 3 -n ctl-ns rm k && err_has "(EACCES, permission)"
ok "all may read what all may read"
chmod "$mode" /dev/kvstash

run 0 ns destroy ctl-ns && out_is "namespace ctl-ns destroyed"
ok "ns destroy"
run 3 ns destroy ctl-ns && refused ENOENT "No such file or directory"
ok "ns destroy of one that is gone"

# pools

json 0 'd["name"] == "ctl-pool" and d["bytes"] == 4 << 20' \
	pool create ctl-pool 3M --objects 100
ok "pool create rounds up to 2 MiB"
json 0 '[p for p in d["pools"] if p["name"] == "ctl-pool" and
	p["free"] == p["bytes"] and p["committed"] == 0]' pool list
ok "pool list"
json 0 'len(d["pools"]) == 1 and d["pools"][0]["name"] == "ctl-pool"' \
	pool list ctl-pool
ok "pool list of one"
json 0 'd["stats"]["total_bytes"] == 4 << 20' stats pool ctl-pool
ok "stats of a pool"
run 3 pool create ctl-pool 2M && refused EEXIST "File exists"
ok "pool create of one that is there"
run 0 ns create ctl-in --pool ctl-pool && run 3 pool destroy ctl-pool &&
	refused EBUSY "Device or resource busy"
ok "a pool with a namespace stays"
run 0 ns destroy ctl-in && run 0 pool destroy ctl-pool
ok "pool destroy"
run 3 pool list ctl-pool && refused ENOENT "No such file or directory" &&
	out_is ""
ok "it is gone"
json 3 'd["pools"] == [] and d["errno"] == "ENOENT"' pool list ctl-pool
ok "a list that fails is still one document"
run 0 stats && [ -s "$tmp/out" ]
ok "stats of the module"

# names

# no_name WHAT WORD...: refused by the kernel's words, whoever says them
no_name()
{
	local what=$1

	shift
	run 3 "$@" && err_has ": $what name is not 1 to 31 of [A-Za-z0-9_.-] (EINVAL)" && out_is ""
}

# no_names WORD...: nowhere
no_names()
{
	local word

	for word; do
		no_name pool pool create "$word" 2M || return
		no_name pool pool destroy "$word" || return
		no_name pool pool list "$word" || return
		no_name pool ns create x --pool "$word" || return
		no_name pool ls --pool "$word" || return
		no_name pool stats pool "$word" || return
		no_name namespace ns create "$word" || return
		no_name namespace ns set "$word" --quota 1 || return
		no_name namespace ns destroy "$word" || return
		no_name namespace ns list "$word" || return
		no_name namespace ls --ns "$word" || return
		no_name namespace -n "$word" layout ls || return
		no_name namespace stats ns "$word" || return
	done
}

name31=$(printf %031d 0)
no_names "${name31}0" a/b .a "" é
ok "names that are none"
run 0 ns create "$name31" && run 0 ls --ns "$name31" && run 0 ns destroy "$name31"
ok "the longest name"

# usage

run 2 && run 2 frobnicate && run 2 pool && run 2 exists && run 2 get a b
ok "usage: commands and operands"
run 2 pool create x 1Q && run 2 pool create x 99999999999999999999 &&
	run 2 pool create x 16777216T && run 2 pool create x -- -1 &&
	run 2 pool create x 1M --node -2
ok "usage: sizes"
run 2 put k --part 1 && run 2 put k --manifest 00 && run 2 --hex exists 0 &&
	err_has "key: not hex: 0" && run 2 --hex exists 000 && err_has "key: not hex: 000" &&
	run 2 --hex exists '' && err_has "key: 0 bytes, 1 to 512 allowed" &&
	run 2 get k --range 1:2 && run 2 ns create x --mode 888
ok "usage: parts, digests, keys, ranges, modes"
run 2 put k --group g && run 2 put k --member 1 && run 2 put k --atomic &&
	run 2 put k --parent a --parent-group b &&
	run 2 put k --group g --member 0 --members 65536 &&
	run 2 put k --ttl-ms 4294967296 && run 2 rm --member --group-kind k
ok "usage: groups and times"
run 2 pin k && run 2 pin weak k && run 2 lease && run 2 lease -- true &&
	run 2 lease k -- && run 2 lease --list k && run 2 group a b
ok "usage: pins and leases"
desc=(--slot-bytes 12K --alignment 64 --layers 3)
run 2 layout add abcd "${desc[@]}" && err_has "--scheme is needed" &&
	run 2 layout add abcd --scheme 4294967296 "${desc[@]}" && err_has "0 to 4294967295" &&
	run 2 layout add abc --scheme 1 "${desc[@]}" && err_has "fingerprint: not 1 to 32 bytes" &&
	run 2 layout add "${fp}00" --scheme 1 "${desc[@]}" && run 2 layout add '' --scheme 1
ok "usage: names of layouts"
add=(layout add abcd --scheme 1)
run 2 "${add[@]}" --alignment 64 --layers 3 && err_has "--slot-bytes is needed" &&
	run 2 "${add[@]}" --slot-bytes 65G --alignment 64 --layers 3 &&
	err_has "--slot-bytes: not 1 to 68719476736: 65G" &&
	run 2 "${add[@]}" --slot-bytes 12K --layers 3 && err_has "--alignment is needed" &&
	run 2 "${add[@]}" --slot-bytes 12K --alignment 0 --layers 3 &&
	err_has "--alignment: not a number from 1 to 1073741824: 0"
ok "usage: slots and alignment"
run 2 "${add[@]}" --slot-bytes 12K --alignment 64 && err_has "one of --layers," &&
	run 2 "${add[@]}" "${desc[@]}" --layer 0:1 &&
	err_has "only one of --layers, --layer-bytes and --layer may be given" &&
	run 2 "${add[@]}" "${desc[@]}" --layers 5 &&
	err_has "--layers: 12288 bytes of a slot are not 5 layers of the same length" &&
	run 2 "${add[@]}" --slot-bytes 12K --alignment 64 --layer-bytes 5K &&
	run 2 "${add[@]}" --slot-bytes 12K --alignment 64 --layer-bytes 1 &&
	err_has "are not 1 to 4096 layers of 1" &&
	run 2 "${add[@]}" --slot-bytes 12K --alignment 64 --layer 5 &&
	err_has "--layer: not OFFSET:LENGTH: 5"
ok "usage: layers"
# no_shares WORD...: none of them is a share
no_shares()
{
	local word

	for word; do
		run 2 layout set abcd --scheme 1 --share "$word" || return
		err_has "--share: neither" || return
	done
}

run 2 "${add[@]}" "${desc[@]}" --slots 1 --share 1 && run 2 layout set abcd --scheme 1 &&
	no_shares 0 1001 100.1% 101% 12.55% .5% 1.% % '' 1.5
ok "usage: numbers of slots and shares"
run 2 state put abcd --scheme 1 p && err_has "--tokens is needed" &&
	run 2 state exists abcd --scheme 1 --tokens 0 p &&
	err_has "--tokens: not a number from 1 to 18446744073709551615: 0" &&
	run 2 state get abcd --scheme 1 --tokens 1 && run 2 state rm abcd --tokens 1 p &&
	run 2 state exists abcd --scheme 1 --tokens 1 "$(printf %0465d 0)" &&
	err_has "prefix: 465 bytes, 1 to 464 allowed"
ok "usage: keys of states"
run 2 state get abcd --scheme 1 --tokens 1 p --layers 0,1,0 && err_has "--layers: 0 twice" &&
	run 2 state get abcd --scheme 1 --tokens 1 p --layers 0,4096 &&
	run 2 state get abcd --scheme 1 --tokens 1 p --layers 0, &&
	run 2 state get abcd --scheme 1 --tokens 1 p --layers "$(seq -s, 0 1024)" &&
	err_has "--layers: more than 1024" && run 2 state ls --scheme 1
ok "usage: chosen layers"
run 2 lookup --state abcd:1:p && err_has "--state: not FINGERPRINT:SCHEME:TOKENS:PREFIX: abcd:1:p" &&
	run 2 lookup --state abcd:x:1:p && err_has "scheme: not a number" &&
	run 2 exists --state-kind p && run 2 exists --state-kind --group-kind p &&
	run 2 put k --tokens 1 && run 2 exists --state-kind abcd:1:1:
ok "usage: keys of states in one word"
json 2 'd["reason"] == "usage" and d["errno"] is None' exists &&
	run 2 exists --bogus --json && python3 -m json.tool "$tmp/out" >/dev/null
ok "usage in JSON"

# output, and input that is closed

lost 3 "$ctl" stats && lost 3 "$ctl" --json stats && lost 3 "$ctl" pool list &&
	lost 3 "$ctl" --help && lost 3 "$ctl" put --help
ok "output that does not arrive is a failure"
run 0 put ctl/b "$tmp/b" && { "$ctl" get ctl/b >&- 2>"$tmp/err"; [ $? -eq 3 ]; } &&
	err_has "cannot write -: Bad file descriptor" && run 0 rm ctl/b
ok "and so it is if it is the bytes of an object"
"$ctl" put ctl/b - <&- >"$tmp/out" 2>"$tmp/err"
[ $? -eq 3 ] && err_has "cannot read -: Bad file descriptor" && run 1 exists ctl/b
ok "input that is closed is nothing to put"
lost 2 "$bench" --help && lost 2 "$bench" replay --help && lost 2 "$bench" micro --list &&
	lost 2 "$bench" simulate --json --trace "$trace"
ok "kvstash-bench: output that does not arrive is a failure"
lost 2 "$bench" replay --json --no-progress --block-bytes 4096 --requests 5 "$trace" &&
	lost 2 "$bench" hold bench/h && run 1 exists bench/h
ok "kvstash-bench: of a run, too"

# numbers and names given to kvstash-bench

# wrong TEXT WORD...: kvstash-bench says so and does nothing
wrong()
{
	local text=$1

	shift
	bench 2 "$@" && out_is "" && err_has "kvstash-bench: $text"
}

sim=(simulate --trace "$trace")
wrong "--percent: 100.5 is not above 0 and up to 100" "${sim[@]}" --percent 100.5 &&
	wrong "--percent: 0 is not above 0 and up to 100" "${sim[@]}" --percent 0 &&
	wrong "--percent: '0x10' is no number" "${sim[@]}" --percent 0x10 &&
	wrong "--percent: 'nan' is no number" "${sim[@]}" --percent nan &&
	wrong "simulate: only one of --percent and --capacity" \
		"${sim[@]}" --percent 5 --capacity 3 &&
	bench 0 "${sim[@]}" --capacity 3 && grep -qx "capacity_blocks *3" "$tmp/out" &&
	bench 0 "${sim[@]}" --percent 0.5
ok "kvstash-bench: percentages"
play=(replay --no-progress "$trace")
range="is not between 1 and 1073741824"
wrong "--block-bytes: 1T $range" "${play[@]}" --block-bytes 1T &&
	wrong "--block-bytes: 99999999999999999999 $range" \
		"${play[@]}" --block-bytes 99999999999999999999 &&
	wrong "--block-bytes: 99999999T $range" "${play[@]}" --block-bytes 99999999T &&
	wrong "--block-bytes: '0x10' is no number" "${play[@]}" --block-bytes 0x10 &&
	wrong "--block-bytes: ' 1' is no number" "${play[@]}" --block-bytes " 1" &&
	wrong "--block-bytes: '1KK' is no number" "${play[@]}" --block-bytes 1KK &&
	wrong "--block-bytes: '-1' is no number" "${play[@]}" --block-bytes -1 &&
	bench 0 "${play[@]}" --requests 010 --block-bytes 4k && grep -qx "requests *10" "$tmp/out"
ok "kvstash-bench: numbers"
wrong "namespace no-such: no such namespace" "${play[@]}" --namespace no-such &&
	wrong "namespace no-such: no such namespace" hold --namespace no-such k &&
	wrong "namespace ${name31}0: name empty, too long" hold --namespace "${name31}0" k &&
	wrong "--pool: no such pool: no-such" micro --pool no-such &&
	wrong "--pool: no such pool: ../ns/default" micro --pool ../ns/default
ok "kvstash-bench: namespaces and pools that there are not"

echo "1..$nr"
[ $failed -eq 0 ]
