#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Remove build/, and with --cache the cache as well. A tree with work that is
# not in patches/ is kept.
set -eu
. "$(dirname "$0")/lib.sh"

take_lock build
for tree in "$OUT"/*/tree; do
	[ -d "$tree" ] || continue
	laid=$(git -C "$tree" rev-parse -q --verify refs/worktree/ipi/laid ||
		git -C "$tree" rev-parse -q --verify refs/ipi/laid) || continue
	if [ "$(git -C "$tree" rev-parse HEAD)" != "$laid" ] || [ -n "$(git -C "$tree" status --porcelain -uno)" ]; then
		[ -n "${DISCARD:-}" ] ||
			die "$tree has work that is not in patches/: \"make refresh\" first, or \"make clean DISCARD=1\""
	fi
done
rm -rf "$OUT"
[ "${1:-}" != --cache ] || rm -rf "$CACHE"
