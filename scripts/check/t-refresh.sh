#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The gate: a refresh of the real series leaves no diff. Also that the patches
# carry the drop-ins as they are, and apply to the base one by one.
set -eu
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/check/tap.sh"

patches=$TOP/patches/$BASE
before=$OUT/refresh.before
rm -rf "$before"
make_out
cp -R "$patches" "$before"

check "make tree: the series applies with fuzz 0" "$TOP/scripts/tree.sh"
check "make refresh" "$TOP/scripts/refresh.sh"
check "... leaves no diff" diff -r "$before" "$patches"
check "... and nothing to do for the next make tree" "$TOP/scripts/tree.sh"
same "... as many commits as patches" "$(grep -c '^[0-9].*\.patch$' "$patches/series")" \
	"$(git -C "$TREE" rev-list --count refs/ipi/base..ipi)"

same_files() {
	git -C "$TREE" archive ipi tools/testing/selftests/ipi | tar -x -C "$OUT/refresh.files" &&
		(cd "$TOP" && git ls-files -co --exclude-standard selftests/ipi) | while read -r file; do
			cmp "$TOP/$file" "$OUT/refresh.files/tools/testing/$file" || exit 1
		done
}
rm -rf "$OUT/refresh.files"
mkdir "$OUT/refresh.files"
check "selftests/ipi is what the tree has" same_files
check "MAINTAINERS has the fragment" sh -c '
	git -C "$1" show ipi:MAINTAINERS | grep -qxF "$(head -n 1 "$2")"' - "$TREE" "$TOP/MAINTAINERS.fragment"
rm -rf "$before" "$OUT/refresh.files"

tap_done
