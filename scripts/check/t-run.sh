#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The lab end to end: the one command, then boots that differ in one thing.
# A boot is a test; its four verdicts must hold.
set -eu
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/check/tap.sh"

# DIR of the last boot
boot() { # TEXT VAR=VALUE...
	text=$1
	shift
	say "run: $text"
	rm -f "$OUT/boot.dir"
	env "$@" "$TOP/scripts/boot.sh" >"$OUT/boot.dir" || :
	DIR=$(cat "$OUT/boot.dir")
	check "$text" "$TOP/scripts/verdict.sh" "$DIR"
}

# Each bracket of the table whose name fits has so many writes a round. Single
# IPIs that other tasks send from the same CPU between rounds are in the trace
# too: less than one a round. The guest tells them apart and is exact.
writes() { # TEXT NAME IRM LIST
	check "$1" awk -v name="$2" -v irm="$3" -v list="$4" '
		/^#/ || $1 !~ name { next }
		{
			rows++
			full = $2 - $3
			if ($6 < irm * full || $6 > irm * $2 || $7 < list * full ||
			    $7 >= (list + 1) * $2 + 3 * $3) { print; bad = 1 }
		}
		END { if (!rows) print "no bracket named " name; exit bad || !rows }
	' "$DIR/witness.txt"
}

no_broadcast() {
	awk '
		!/^#/ { rows++; if ($6 != 0) { print; bad = 1 } }
		$2 == "writes" && $4 == 1 { print; bad = 1 }
		END { exit bad || !rows }' "$DIR/witness.txt"
}

run_text="make run: 64 CPUs, 16 a cluster"
rm -f "$WORK/results/latest"
# not by check(): it builds a kernel, and says how far it is
if "$TOP/scripts/run.sh" >&2; then
	ok "$run_text"
else
	not_ok "$run_text"
fi
DIR=$(cd "$WORK/results/latest" && pwd -P) || DIR=$WORK/none
writes "... all but self, switch on: 1 IRM write" '^all_but_self[.].*[.]on[.]' 1 0
writes "... everyone, switch on: 1 IRM write and 1 to the sender" '^everyone[.]bare[.]on[.]' 1 1
writes "... all but self, switch off: 4 target lists" '^all_but_self[.].*[.]off[.]' 0 4
writes "... everyone, switch off: 4 target lists" '^everyone[.]bare[.]off[.]' 0 4
writes "... one CPU: 1 target list, on or off" '^one.cpu63' 0 1
writes "... all but one: 4 target lists, on or off" '^all_but_one.*[.]bare[.]' 0 4
check "... the boot line says that it is on, and why" \
	grep -q "GICv3: SGI broadcast: on (default)" "$DIR/console.log"

boot "64 CPUs, 8 a cluster (virt-2.6)" MACHINE=virt-2.6 TESTS=ipi_call
writes "... all but self, switch on: 1 IRM write" '^all_but_self[.].*[.]on[.]' 1 0
writes "... all but self, switch off: 8 target lists" '^all_but_self[.].*[.]off[.]' 0 8

boot "64 CPUs, maxcpus=1" APPEND=maxcpus=1 TESTS=ipi_call
check "... no broadcast in the whole boot" no_broadcast
boot "64 CPUs, maxcpus=2" APPEND=maxcpus=2 TESTS=ipi_call
check "... no broadcast in the whole boot" no_broadcast

boot "KUnit with 512 CPU numbers" SMP=512 MACHINE=virt-6.1 APPEND=maxcpus=1 TESTS=none
check "... with topologies of up to 512 CPUs, and none skipped" \
	sh -c "grep -q 'up to 512 CPUs' '$DIR/console.log' && ! grep 'SKIP.*CPU numbers' '$DIR/results.ktap'"

boot "irqchip.gicv3_sgi_broadcast=maybe" SMP=2 APPEND=irqchip.gicv3_sgi_broadcast=maybe TESTS=none
check "... one line names the bad value" \
	test "$(grep -c "\`maybe' invalid for parameter \`irqchip.gicv3_sgi_broadcast'" "$DIR/console.log" || :)" -eq 1
check "... and the default stands" grep -q "GICv3: SGI broadcast: on (default)" "$DIR/console.log"

boot "irqchip.gicv3_sgi_broadcast=0" SMP=20 APPEND=irqchip.gicv3_sgi_broadcast=0 TESTS=ipi_call
check "... the boot line says that it is off, and why" \
	grep -q "GICv3: SGI broadcast: off (irqchip.gicv3_sgi_broadcast=0)" "$DIR/console.log"
check "... and so does the parameter" grep -qx "# fact switch.gicv3_sgi_broadcast=N" "$DIR/results.ktap"

if [ -n "${LONG:-}" ]; then
	boot "pseudo-NMI" SMP=32 APPEND=irqchip.gicv3_pseudo_nmi=1
	boot "two security states (secure=on)" SMP=32 MACHINE=virt,secure=on
	boot "128 CPUs" SMP=128 TESTS=ipi_call
	writes "... all but self, switch on: 1 IRM write" '^all_but_self[.].*[.]on[.]' 1 0
	writes "... all but self, switch off: 8 target lists" '^all_but_self[.].*[.]off[.]' 0 8
	boot "256 CPUs" SMP=256 TESTS=ipi_call TIMEOUT=1800
	writes "... all but self, switch off: 16 target lists" '^all_but_self[.].*[.]off[.]' 0 16
fi

tap_done
