#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The one command: series, kernel and selftests, boot, verdict.
set -eu
. "$(dirname "$0")/lib.sh"

scripts=$(cd "$(dirname "$0")" && pwd)
start=$(date +%s)
take_lock run
rm -f "$WORK/results/latest"

finish() {
	rc=$?
	[ "$rc" -eq 0 ] || printf 'FAIL after %s s\n' "$(($(date +%s) - start))"
	exit "$rc"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

lap=$start
timed() {
	"$@"
	now=$(date +%s)
	seconds=$((now - lap))
	lap=$now
}

# before what takes long
"$scripts/boot.sh" --check
timed "$scripts/tree.sh"
export SECONDS_TREE="$seconds"
timed "$scripts/build.sh"
export SECONDS_BUILD="$seconds"
booted=0
dir=$("$scripts/boot.sh") || booted=$?
[ -n "$dir" ] || exit "$booted"
"$scripts/verdict.sh" "$dir"
[ "$booted" -eq 0 ] || exit "$booted"
printf 'PASS in %s s: %s\n' "$(($(date +%s) - start))" "$dir"
