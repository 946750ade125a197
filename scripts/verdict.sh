#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# verdict.sh DIR: judge the folder of one boot. Four verdicts, all must hold:
# the TAP result, the clean end, the kernel log, and QEMU's trace as the witness.
set -eu
. "$(dirname "$0")/lib.sh"

# what must not be in a kernel log (case does not matter)
BAD_LOG='oops|\bBUG: |kernel BUG|WARNING:|possible circular|inconsistent lock|possible recursive|suspicious RCU'
BAD_LOG="$BAD_LOG|INFO: rcu.*(stall|self-detected)|soft lockup|hard lockup|unable to|scheduling while atomic"
BAD_LOG="$BAD_LOG|non-responsive CSD lock|csd: |Call trace|Internal error|blocked for more than|Kernel panic|refcount|sleeping function|SError|tick-stop error"
# and what may be: virt-2.6 describes its timer so
GOOD_LOG='arch_timer: WARNING: (Invalid trigger for IRQ[0-9]+, assuming level low|Please fix your firmware)'

# KCSAN also reports data races of the base: those count that name a function which the
# series has or changes
OUR_RACES='call_function_single_prep_ipi|set_flag_if_polling|idle_(run_|poll_)?notified|notify_ipi|smp_call_function_queue|do_idle|poll_idle|idle_poll|cpuidle_idle_call|mwait'

# programs that send nothing, or nothing that they know the writes of
NO_WITNESS='ipi_param|ipi_bench'
# and those whose witness takes a GICv3
NO_GIC='ipi_call|ipi_hotplug|ipi_membarrier|ipi_message'

[ $# -eq 1 ] || die "usage: verdict.sh DIR, the folder of a boot"
[ -f "$1/facts" ] || die "$1 is not the folder of a boot: it has no file named facts"
KUNIT=$TREE/tools/testing/kunit/kunit.py
[ -f "$KUNIT" ] || die "no kernel tree in $TREE: run \"make tree\""
need python3 awk gzip
cd -P "$1"
[ -f results.ktap ] || : >results.ktap
[ -f console.log ] || : >console.log
rm -f run.json witness.txt

# what kunit.py lets pass: an unnumbered or short top level, programs that assert nothing
check_plan() {
	awk '
		NR == 1 && $0 != "KTAP version 1" { print "no KTAP header"; exit }
		/^ *Bail out!/ { print; exit }
		/^1\.\.[0-9]+$/ { plan = substr($0, 4) }
		/^ +(not )?ok / { inner++ }
		/^(not )?ok / {
			nr++
			if ($($1 == "ok" ? 2 : 3) != nr) { print "result " nr " out of order: " $0; exit }
			if ($1 == "ok" && !inner && !/# SKIP/) { print "asserts nothing: " $0; exit }
			inner = 0
		}
		END {
			if (!NR) print "no results"
			else if (!plan) print "no tests planned"
			else if (nr < plan) print nr + 0 " of " plan " results"
			else if (nr > plan) print nr " results, " plan " planned"
		}
	' results.ktap | head -n 1
}

judge_tap() {
	tap=$(check_plan)
	PYTHONDONTWRITEBYTECODE=1 python3 "$KUNIT" parse "$PWD/results.ktap" >ktap.txt 2>&1 || {
		[ -n "$tap" ] || tap=$(grep -m 1 '^ *not ok' results.ktap | sed 's/^ *//')
		[ -n "$tap" ] || tap="kunit.py parse fails, see ktap.txt"
	}
	# it passes what it calls an error, a lost result for one
	[ -n "$tap" ] || tap=$(sed -n 's/^\[[0-9:]*\] *\(.*ERROR\)/\1/p' ktap.txt | head -n 1)
	counts=$(sed -n 's/.*Testing complete\. Ran/ran/p' ktap.txt)
	case $counts in
	'' | "ran 0 "*) [ -n "$tap" ] || tap="no tests ran" ;;
	esac
}

judge_end() {
	clean_end=
	[ "$(tail -n 1 results.ktap)" = "# ipi-lab: clean end" ] || clean_end="not at the end of the results"
	grep -q 'ipi-lab: clean end' console.log || clean_end="not in the console log"
}

judge_log() {
	log=$(awk -v ours="$OUR_RACES" '
		/BUG: KCSAN: / && $0 !~ ours { next }
		# where ksoftirqd cannot run, see ipi_notify.c
		/ipi_notify: idle injection/ { injecting = /begins/ }
		injecting && /NOHZ tick-stop error/ { next }
		{ print }
	' console.log | grep -avE "$GOOD_LOG" | grep -iE -m 1 "$BAD_LOG" | tr -d '\r' | cut -c 1-120)
	built=$(fact build_id)
	ran=$(sed -n 's/^# fact build_id=//p' results.ktap)
	if [ -z "$log" ] && [ -s results.ktap ] && [ "${ran:-none}" != "$built" ]; then
		log="the guest ran the kernel with build id ${ran:-none}, built was ${built:-none}"
	fi
	[ -s console.log ] || log="the console log is empty"
	races=$(grep -ac 'BUG: KCSAN: ' console.log) || :
}

read_trace() {
	if [ -f trace.log.gz ]; then
		gzip -dc trace.log.gz 2>/dev/null || printf '\nDAMAGED\n'
	elif [ -f trace.log ]; then
		cat trace.log
	fi
}

# In one pass: the guest's "# witness" lines, then the trace. Each register
# write between the two markers of an id is counted for it, if it is that
# sender's and that SGI. On x86 (target= in the line) the writes to the interrupt
# command register are counted that call a function on that CPU. To witness.txt: one row a bracket; "# writes" rows for
# the boot; "# error" rows.
match_witness() {
	read_trace | awk '
		function norm(hex) {
			hex = tolower(hex)
			sub(/^0x0*/, "", hex)
			return hex == "" ? "0" : hex
		}
		function number(hex,   i, n) {
			hex = norm(hex)
			for (i = 1; i <= length(hex); i++)
				n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
			return n + 0
		}
		function bit(n, which) {
			return int(n / 2 ^ which) % 2
		}
		# one IPI of an APIC: of all but self, or to what the upper half of the register says
		function x86_ipi(icr, dest,   id, shorthand) {
			shorthand = int(icr / 2 ^ 18) % 4
			writes[icr % 256 " " (shorthand > 1)]++
			if (icr % 256 != 251 && icr % 256 != 252) return
			for (id in open) {
				if (!(id in target)) continue
				if (shorthand > 1) count[id, 1]++
				else if (!shorthand && (bit(icr, 11) ? bit(dest, target[id]) : dest == target[id]))
					count[id, 0]++
			}
		}
		FILENAME != "-" && /# witness / {
			sub(/.*# witness /, "")
			sub(/\r$/, "")
			split("", f)
			n = split($0, part, " ")
			for (i = 1; i <= n; i++) {
				eq = index(part[i], "=")
				f[substr(part[i], 1, eq - 1)] = substr(part[i], eq + 1)
			}
			n = split("id name sgi sender irm list rounds partial", want, " ")
			for (i = 1; i <= n; i++)
				if (f[want[i]] == "") errors[++bad] = "witness line without " want[i] ": " $0
			id = norm(f["id"])
			if (id in row) errors[++bad] = "two witness lines with id " f["id"]
			order[++rows] = id
			row[id] = f["name"] " " f["rounds"] " " f["partial"] " " f["irm"] " " f["list"]
			if ("target" in f) target[id] = f["target"]
			irm[id] = f["irm"]
			list[id] = f["list"]
			source[id] = norm(f["sender"]) " " f["sgi"]
		}
		FILENAME != "-" { next }
		$1 == "DAMAGED" { errors[++bad] = "trace.log.gz is damaged"; next }
		NF { traced++ }
		# memory_region_ops_write cpu N mr P addr A value V ...
		$7 == "0x5a0" {
			id = sprintf("%x", number($9) % 2 ^ 24)
			kind = int(number($9) / 2 ^ 24)
			if (kind == 27) { begun[id]++; open[id] = 1 }
			if (kind == 30) { ended[id]++; delete open[id] }
		}
		$7 == "0xfee00310" { dest[$3] = int(number($9) / 2 ^ 24) }
		$7 == "0xfee00300" { x86_ipi(number($9), dest[$3]) }
		$1 == "pl031_write" && $3 == "0x00000004" {
			id = norm("0x" substr($5, 5))
			kind = substr($5, 3, 2)
			if (kind == "1b") { begun[id]++; open[id] = 1 }
			if (kind == "1e") { ended[id]++; delete open[id] }
		}
		$1 == "gicv3_icc_generate_sgi" {
			writes[$8 " " $10]++
			for (id in open)
				if (source[id] == norm($5) " " $8) count[id, $10]++
		}
		END {
			print "# name rounds partial guest_irm guest_list trace_irm trace_list verdict"
			for (i = 1; i <= rows; i++) {
				id = order[i]
				verdict = "ok"
				if (begun[id] != 1 || ended[id] != 1) verdict = "markers"
				else if (count[id, 1] + 0 != irm[id] || count[id, 0] + 0 != list[id]) verdict = "DIFFERS"
				print row[id], count[id, 1] + 0, count[id, 0] + 0, verdict
			}
			for (key in writes) print "# writes", key, writes[key]
			for (i = 1; i <= bad; i++) print "# error", errors[i]
			if (!traced) print "# error the trace is empty"
		}
	' results.ktap - >witness.txt
}

judge_witness() {
	match_witness
	broadcasts=$(awk '$1 == "#" && $2 == "writes" && $4 == 1 { n += $5 } END { print n + 0 }' witness.txt)
	brackets=$(grep -vc '^#' witness.txt || :)
	witness=$(sed -n 's/^# error //p' witness.txt | head -n 1)
	[ -n "$witness" ] || witness=$(awk '
		$1 == "#" || $8 == "ok" { next }
		$8 == "markers" { print $1 ": its markers are not in the trace, one of each"; exit }
		{ print $1 ": guest " $4 " IRM + " $5 " list, trace " $6 " IRM + " $7 " list"; exit }
	' witness.txt)
	case $(fact arch) in
	arm*) without=$NO_WITNESS ;;
	*) without="$NO_WITNESS|$NO_GIC" ;;
	esac
	[ -n "$witness" ] || [ "$brackets" -gt 0 ] ||
		! grep -E '^(not )?ok .*selftests: ' results.ktap | grep -vE '# SKIP$' |
		grep -qvE "selftests: ipi: ($without)( |\$)" ||
		witness="no witness line in the results"
	# CPUs 0-7 are one cluster on every machine of the lab
	online=$(sed -n 's/^# fact cpus_online=//p' results.ktap)
	case $(fact arch)-$online in
	arm*-0 | arm*-0-[1-7])
		[ -n "$witness" ] || [ "$broadcasts" -eq 0 ] ||
			witness="$broadcasts broadcasts though only CPUs $online are online"
		;;
	esac
}

show() {
	if [ -z "$2" ]; then
		printf '%-11s ok    %s\n' "$1" "$3"
	else
		printf '%-11s FAIL  %s\n' "$1" "$2"
	fi
}

# what the first failed test printed
said_of_it() {
	awk '
		$1 == "ok" { n = 0 }
		$1 " " $2 == "not ok" { for (i = 1; i <= n; i++) if (i > n - 5) print "  " said[i]; exit }
		$1 == "#" { sub(/^ */, ""); said[++n] = $0 }
	' results.ktap | cut -c 1-160
}

skips() {
	grep -a '# SKIP' results.ktap | sed 's/.*# SKIP *//; /^$/d' | sort | uniq -c | sort -rn | awk '
		NR <= 4 { n = $1; sub(/^ *[0-9]+ /, ""); print "  skipped: " n " x " $0; next }
		{ more += $1 }
		END { if (more) print "  skipped: " more " more, see results.ktap" }
	'
}

# a case is named kind(target).more.words, on and off among them tell the switch
table() {
	awk '
		function each(n) { return rounds[key] ? sprintf("%.3g", n / rounds[key]) : "-" }
		$1 == "#" { next }
		{
			n = split($1, word, ".")
			key = word[1]
			sub(/\(.*/, "", key)
			for (i = 2; i <= n; i++)
				if (word[i] == "on" || word[i] == "off") key = key ", switch " word[i]
			if (!(key in rounds)) order[++keys] = key
			rounds[key] += $2
			partial[key] += $3
			irm[key] += $6
			list[key] += $7
		}
		END {
			if (keys) printf "  %-28s %8s %8s %8s %8s\n", "writes a round, by the trace", "IRM=1", "IRM=0", "rounds", "partial"
			for (i = 1; i <= keys && i <= 14; i++) {
				key = order[i]
				printf "  %-28s %8s %8s %8d %8d\n", key, each(irm[key]), each(list[key]), rounds[key], partial[key]
			}
			if (keys > 14) print "  ... " keys - 14 " more kinds in witness.txt"
		}
	' witness.txt
}

write_json() {
	{
		sed 's/^/fact /' facts
		sed -n 's/^# fact /guest /p' results.ktap
		sed -n 's/^\[ *\([0-9]*\)\.\([0-9]\).*ipi-lab: init runs.*/fact guest_seconds_to_init=\1.\2/p' console.log
		printf 'fact time_kind=TCG, not performance\n'
		printf 'verdict %s=%s\n' tap "$tap" clean_end "$clean_end" kernel_log "$log" witness "$witness"
		printf 'fact tests=%s\n' "$counts"
		printf 'fact pass=%s\n' "$pass"
	} | awk '
		function str(s) {
			gsub(/\\/, "\\\\", s)
			gsub(/"/, "\\\"", s)
			gsub(/[\001-\037]/, " ", s)
			return "\"" s "\""
		}
		function value(s) { return s ~ /^(0|[1-9][0-9]?[0-9]?[0-9]?[0-9]?[0-9]?)(\.[0-9])?$|^(true|false)$/ ? s : str(s) }
		FILENAME == "-" {
			kind = $1
			eq = index($0, "=")
			name = substr($0, length(kind) + 2, eq - length(kind) - 2)
			text = substr($0, eq + 1)
			if (kind == "verdict") text = text == "" ? str("ok") : str("FAIL: " text)
			else text = value(text)
			line = str(name) ": " text
			if (kind == "fact") facts = facts "\n\t" line ","
			else part[kind] = part[kind] (part[kind] == "" ? "" : ",") "\n\t\t" line
			next
		}
		$2 == "writes" {
			writes = writes (writes == "" ? "" : ",") "\n\t\t{\"sgi\": " $3 ", \"irm\": " $4 ", \"count\": " $5 "}"
		}
		$1 == "#" { next }
		{
			rows = rows (rows == "" ? "" : ",") "\n\t\t{\"name\": " str($1) ", \"rounds\": " value($2) \
				", \"partial\": " value($3) ", \"guest_irm\": " value($4) ", \"guest_list\": " value($5) \
				", \"trace_irm\": " value($6) ", \"trace_list\": " value($7) ", \"verdict\": " str($8) "}"
		}
		END {
			printf "{%s\n", facts
			printf "\t\"guest\": {%s\n\t},\n\t\"verdicts\": {%s\n\t},\n", part["guest"], part["verdict"]
			printf "\t\"writes\": [%s\n\t],\n\t\"witness\": [%s\n\t]\n}\n", writes, rows
		}
	' - witness.txt >run.json
}

fact() {
	sed -n "s/^$1=//p" facts
}

judge_tap
judge_end
judge_log
judge_witness
pass=false
[ -n "$tap$clean_end$log$witness" ] || pass=true
write_json

printf '%s: %s %s, %s CPUs, %s, %s\n' "$(basename "$PWD")" "$(fact base)" "$(fact version)" \
	"$(fact smp)" "$(fact machine)" "$(sed -n 's/^# fact switch\.//p' results.ktap | tr '\n' ' ')"
show TAP "$tap" "$counts"
[ -z "$tap" ] || said_of_it
show "clean end" "$clean_end" "boot of $(fact boot_seconds) s (TCG, not performance)"
show "kernel log" "$log" "$(wc -l <console.log) lines$([ "$races" -eq 0 ] || echo ", $races data races of the base")"
show witness "$witness" "$brackets brackets agree; the whole boot: $broadcasts broadcasts"
skips
table
[ "$pass" = true ] || die "FAIL: $1"
