# SPDX-License-Identifier: GPL-2.0
# From a kernel log: the reports of something that went wrong, each from its
# first line on, at most 70 lines of it. Exit status 1 if there was any.
#
# Not looked for: "Call Trace:" (fault injection prints one for each failure
# that it forces) and kmemleak's own line (who leaks is judged elsewhere).

function starts(line) {
	return line ~ /WARNING:|BUG:|kernel BUG at|KASAN:|KCSAN:|KFENCE:|UBSAN:|ODEBUG:/ ||
	       line ~ /Oops|Kernel panic|general protection fault|unable to handle|stack segment/ ||
	       line ~ /INFO: task .* blocked|INFO: trying to register|detected stall|self-detected|lockup/ ||
	       line ~ /possible recursive locking|possible circular locking|inconsistent lock state/ ||
	       line ~ /lock order|nested lock was not taken|bad unlock balance|held lock freed|DEBUG_LOCKS_WARN_ON/ ||
	       line ~ /lock held when returning to user|Invalid wait context|suspicious RCU usage/ ||
	       line ~ /sleeping function called|scheduling while atomic|refcount_t:/ ||
	       line ~ /list_(add|del).* corruption|usercopy: Kernel memory|Bad page|page allocation failure/ ||
	       line ~ /Slab corruption|Object already free|Redzone overwritten|Poison overwritten|Objects remaining/ ||
	       line ~ /kvstash: unknown parameter/
}

# One line for a fault injected on purpose, whatever it stumbled over
/FAULT_INJECTION: forcing a failure/ { left = 0; next }

{
	if (starts($0)) {
		found = 1
		left = 70
	}
	if (left > 0) {
		print
		left--
	}
	if (/---\[ end trace|=\[ end of|^ *<\/TASK>/)
		left = 0
}

END { exit found }
