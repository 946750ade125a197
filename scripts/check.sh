#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Run the scripts of scripts/check (all, or those named; --long for what takes
# longer as well) and count their tests. A script that dies or does not keep
# its plan is a failed test of its own. With no names, those that need no kernel
# of the lab run beside the boots, from t-run.sh on to the one whose counts other
# work would disturb: both are one thread for most of the time.
set -eu
. "$(dirname "$0")/lib.sh"

LONG=
if [ "${1:-}" = --long ]; then
	LONG=1
	shift
fi
export LONG

beside=
if [ $# -eq 0 ]; then
	set -- lint refresh docs checkpatch patches barrier doorbell run selftests pmr vsgi lab arm notify message ${LONG:+bench} mutants
	beside="base tree clean dist send"
fi

logs=$OUT/check
start=$(date +%s)

# run_one NAME: its tests, to its file and to stdout
run_one() {
	name=$1
	script=$TOP/scripts/check/t-$name.sh
	tap=$logs/$name.tap
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
}

# by this script itself, which has the lock
if [ "${1:-}" = --beside ]; then
	shift
	for name in "$@"; do
		run_one "$name"
	done
	exit
fi

take_lock check
rm -rf "$logs"
mkdir -p "$logs"
for name in "$@" $beside; do
	[ -f "$TOP/scripts/check/t-$name.sh" ] ||
		die "no test named $name: $(cd "$TOP/scripts/check" && echo t-*.sh)"
done

# in a session of its own, so that all of it can be ended
start_beside() {
	[ -n "$beside" ] || return 0
	export LOCK_WAIT=600
	# shellcheck disable=SC2086
	setsid "$TOP/scripts/check.sh" ${LONG:+--long} --beside $beside >"$logs/beside" 2>&1 9>&- </dev/null &
	pid=$!
}

# waits for it
show_beside() {
	[ -n "$pid" ] || return 0
	wait "$pid" || :
	pid=
	cat "$logs/beside"
}

pid=
trap '[ -z "$pid" ] || kill -- "-$pid" 2>/dev/null || :' EXIT
trap 'exit 130' INT TERM HUP
for name in "$@"; do
	case $name in
	run) start_beside ;;
	notify) show_beside ;;
	esac
	run_one "$name"
done
show_beside
# nothing of it is missing
for name in "$@" $beside; do
	[ -s "$logs/$name.tap" ] || echo "not ok - $name did not run" >"$logs/$name.tap"
done

say "check: $(($(date +%s) - start)) s in all"
cd "$logs"
awk '
	{ test = FILENAME ": " $0 }
	/^ok / { failing = 0 }
	/^ok .*# SKIP/ { skipped++; print test; next }
	/^ok / { passed++ }
	/^not ok / { failed++; print test; failing = 1; next }
	# what was said of it
	failing && /^#/
	END {
		printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
		exit failed > 0 || passed == 0
	}
' ./*.tap
