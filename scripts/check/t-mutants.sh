#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The mutation check: the most telling mutants, or all of them (make check-long).
set -eu
. "$(dirname "$0")/../lib.sh"
if [ -n "${LONG:-}" ]; then
	exec "$TOP/scripts/mutants.sh" --tap
fi
exec "$TOP/scripts/mutants.sh" --tap --check
