# SPDX-License-Identifier: GPL-2.0
# Walks through the output of objdump -d of x86 code: between each MONITOR and the
# MWAIT that follows, one test of the thread's flags, for exactly the bits of -v mask=.
# Prints what is wrong; status 1 if anything is, or if there is no MONITOR.

function number(text,   i, n) {
	sub(/^\$0x/, "", text)
	for (i = 1; i <= length(text); i++)
		n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
	return n
}

/^[0-9a-f]+ <.*>:$/ {
	fn = $2
	gsub(/[<>:]/, "", fn)
}

$2 == "monitor" {
	checks++
	open = 1
	tests = 0
	good = 0
	where = fn
}

open && $2 ~ /^(test|and|bt|cmp)[bwlq]?$/ {
	tests++
	split($3, operand, ",")
	if ($2 ~ /^(test|and)/ && operand[1] ~ /^\$/ && number(operand[1]) == mask)
		good++
}

open && $2 == "mwait" {
	open = 0
	if (tests != 1 || good != 1) {
		printf "%s: %d tests between MONITOR and MWAIT, %d of them for %#x\n", where, tests, good, mask
		bad = 1
	}
}

END {
	if (!checks || open) {
		print "no MONITOR with an MWAIT after it"
		bad = 1
	}
	exit bad
}
