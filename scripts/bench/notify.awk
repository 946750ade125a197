# SPDX-License-Identifier: GPL-2.0
# notify.awk: QEMU's trace of each instruction to a few lines a phase.
#
# Input: System.map, then the disassembly of the functions that idle, for their
# instructions that wait, then the trace ("Trace CPU: host [cs_base/pc/flags/cflags]"). A round is
# what CPU 1 executes from one waiting instruction (pause, hlt) to the next; it
# counts if the called function is in it and no interrupt but that of the call.
# Output, with tabs between:
#	PHASE  rounds  median  least  most  median without the called function  rounds with schedule_idle()
#	in  PHASE  function  instructions	of a round that is the median
#	not  PHASE  function  rounds	that do not count, for what ran in them

# the low 32 bits tell all addresses of the kernel apart
function low(address) {
	return substr(address, length(address) - 7)
}

function number(hex,    i, n) {
	for (i = 1; i <= 8; i++)
		n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
	return n
}

function function_at(pc,    v, from, to, middle) {
	if (pc in known)
		return known[pc]
	v = number(pc)
	from = 1
	to = symbols
	while (from < to) {
		middle = int((from + to + 1) / 2)
		if (start[middle] <= v)
			from = middle
		else
			to = middle - 1
	}
	return known[pc] = v < start[1] || v > text_end ? "module" : symbol[from]
}

function end_round(    f, n) {
	if (called && !disturbed && phase) {
		n = ++rounds[phase]
		total[phase, n] = count
		dry[phase, n] = count - inside
		scheduler[phase] += scheduled
		if (!((phase, count) in shown)) {
			shown[phase, count] = 1
			for (f in executed)
				of[phase, count, f] = executed[f]
		}
	}
	if (called && disturbed && phase)
		dropped[phase, disturbed]++
	count = inside = called = scheduled = 0
	caller = disturbed = ""
	split("", executed)
}

function sort(from, phase, n, to,    i, j) {
	for (i = 1; i <= n; i++) {
		for (j = i - 1; j >= 1 && to[j] > from[phase, i]; j--)
			to[j + 1] = to[j]
		to[j + 1] = from[phase, i]
	}
}

FNR == 1 { file++ }

file == 1 {
	if ($3 == "_etext")
		text_end = number(low($1))
	if ($2 !~ /^[tTwW]$/ || text_end)
		next
	start[++symbols] = number(low($1))
	symbol[symbols] = $3
	if ($3 ~ /^__(x64|ia32)_sys_personality$/)
		mark[low($1)] = 1
	next
}

file == 2 {
	if ($2 ~ /^(pause|hlt)$/) {
		sub(/:/, "", $1)
		waits[low($1)] = 1
		found++
	}
	next
}

$1 != "Trace" { next }

{
	split($4, field, "/")
	pc = low(field[2])
}

$2 == "0:" {
	if (pc in mark)
		phase++
	next
}

pc in waits {
	end_round()
	next
}

{
	f = function_at(pc)
	count++
	executed[f]++
	if (caller != "") {
		if (f == caller)
			caller = ""
		else
			inside++
	} else if (f == "__perf_event_read") {
		called = 1
		caller = last
		inside++
	} else if (f == "schedule_idle")
		scheduled = 1
	else if (f ~ /sysvec_apic_timer|sysvec_reschedule|common_interrupt|sysvec_irq_work/)
		disturbed = f
	last = f
}

END {
	if (!found) {
		print "notify.awk: no instruction that waits" > "/dev/stderr"
		exit 1
	}
	for (p = 1; p <= phase; p++) {
		n = rounds[p]
		for (key in dropped) {
			split(key, part, SUBSEP)
			if (part[1] == p)
				printf "not\t%d\t%s\t%d\n", p, part[2], dropped[key]
		}
		if (!n)
			continue
		split("", t)
		split("", d)
		sort(total, p, n, t)
		sort(dry, p, n, d)
		m = int((n + 1) / 2)
		printf "%d\t%d\t%d\t%d\t%d\t%d\t%d\n", p, n, t[m], t[1], t[n], d[m], scheduler[p]
		for (key in of) {
			split(key, part, SUBSEP)
			if (part[1] == p && part[2] == t[m])
				printf "in\t%d\t%s\t%d\n", p, part[3], of[key]
		}
	}
}
