#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Run the scripts of scripts/check (all, or those named; --long for what takes
# longer as well) and count their tests. A script that dies or does not keep
# its plan is a failed test of its own.
set -eu
. "$(dirname "$0")/lib.sh"

LONG=
if [ "${1:-}" = --long ]; then
	LONG=1
	shift
fi
export LONG

# what needs no kernel comes first
[ $# -gt 0 ] || set -- lint base tree clean checkpatch refresh docs dist send patches barrier doorbell run selftests pmr vsgi lab arm notify message bench mutants

take_lock check
logs=$OUT/check
rm -rf "$logs"
mkdir -p "$logs"
start=$(date +%s)

for name in "$@"; do
	script=$TOP/scripts/check/t-$name.sh
	tap=$logs/$name.tap
	[ -f "$script" ] || die "no test named $name: $(cd "$TOP/scripts/check" && echo t-*.sh)"
	begin=$(date +%s)
	say "check: $name"
	{
		"$script" 9>&- </dev/null || echo "# status $?"
	} | tee "$tap"
	awk '
		/^1\.\.[0-9]+$/ { plan = substr($0, 4) + 0; planned = 1 }
		/^(not )?ok / { n++; if (/^not/) failed = 1 }
		/^# status / { died = 1 }
		END { exit !(planned && n == plan && n > 0 && (failed || !died)) }
	' "$tap" || echo "not ok - $name did not come to its end" | tee -a "$tap"
	say "check: $name: $(($(date +%s) - begin)) s"
done

say "check: $(($(date +%s) - start)) s in all"
cd "$logs"
awk '
	{ test = FILENAME ": " $0 }
	/^ok .*# SKIP/ { skipped++; print test; next }
	/^ok / { passed++ }
	/^not ok / { failed++; print test }
	END {
		printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
		exit failed > 0 || passed == 0
	}
' ./*.tap
