#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Message passing in numbers, with a host thread for each CPU. The lab's own
# boot runs the same program for a moment.
set -eu
unset SMP MACHINE CPU APPEND TESTS TIMEOUT NAME TRACE IMAGE INITRD THREADS ICOUNT
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/check/tap.sh"

ROUNDS=${IPI_MESSAGE_ROUNDS:-100000}
if [ -z "${LONG:-}" ]; then
	skip "22 cases of $ROUNDS messages each" "make check-long runs it"
	tap_done
	exit
fi
"$TOP/scripts/tree.sh" >&2
"$TOP/scripts/build.sh" >&2
dir=$(NAME=t-message TESTS=ipi_message SMP=10 MACHINE=virt-2.6 THREADS=multi TIMEOUT=7200 \
	APPEND="IPI_MESSAGE_ROUNDS=$ROUNDS" "$TOP/scripts/boot.sh") || :
check "22 cases of $ROUNDS messages each: the four verdicts" "$TOP/scripts/verdict.sh" "$dir"
check "... and none was skipped" sh -c '[ "$(grep -c "^  ok [0-9]* seen[.]" "$1")" -eq 22 ]' - "$dir/results.ktap"
tap_done
