#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# 32-bit arm, 32 CPUs in two clusters: the same selftests, KUnit suite and
# witness as on arm64.
set -eu
unset SMP MACHINE CPU APPEND TESTS TIMEOUT NAME TRACE IMAGE INITRD THREADS ICOUNT
export ARCH=arm
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/check/tap.sh"

"$TOP/scripts/tree.sh" >&2
"$TOP/scripts/build.sh" >&2
dir=$(NAME=t-arm "$TOP/scripts/boot.sh") || :
[ -n "$dir" ] || die "no boot"
check "the four verdicts of a boot with 32 CPUs" "$TOP/scripts/verdict.sh" "$dir"

# The register writes of each bracket of that name in QEMU's trace: IRM broadcasts
# in each round that raised the whole mask, LISTS target lists in each. Fewer
# are in a partial round, and what others sent from the same CPU makes less
# than one a round.
writes() { # NAME IRM LISTS
	same "$1: IRM and list writes a round" "as wanted" "$(awk -v name="$1" -v irm="$2" -v lists="$3" '
		index($1, name) != 1 { next }
		{ seen = 1; whole = $2 - $3 }
		$3 * 10 > $2 || $6 < irm * whole || $6 > irm * $2 ||
			$7 < lists * whole || $7 >= (lists + 1) * $2 + 2 * $3 {
			wrong = wrong $1 ": " $6 " and " $7 " in " $2 " rounds, " $3 " partial; "
		}
		END { print !seen ? "no bracket" : wrong ? wrong : "as wanted" }
	' "$dir/witness.txt")"
}
writes all_but_self.nowait.on.from_cpu0 1 0
writes all_but_self.nowait.off.from_cpu0 0 2
writes everyone.bare.on.from_cpu0 1 1
writes cluster 0 1

# SGI 3 is the call function on arm: bits 24-27 as QEMU decodes them
check "the interrupt number of a broadcast is that of the call function" \
	grep -qE '^# writes 3 1 [0-9]+$' "$dir/witness.txt"
check "the KUnit suite ran" grep -qE '^ok [0-9]+ kunit: gic-v3-sgi' "$dir/results.ktap"
tap_done
