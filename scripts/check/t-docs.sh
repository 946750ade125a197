#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The pages as Sphinx reads them with the kernel's own configuration, but without
# the rest of the kernel's documentation, which takes half an hour.
set -eu
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/check/tap.sh"

"$TOP/scripts/tree.sh" >&2
need sphinx-build
D=$WORK/docs
rm -rf "$D"
mkdir -p "$D/Documentation/sphinx-static" "$D/Documentation/images"
cp -R "$TREE/Documentation/conf.py" "$TREE/Documentation/sphinx" "$D/Documentation/"
cp "$TREE/Documentation/images/logo.svg" "$D/Documentation/images/"
ln -s "$TREE/tools" "$TREE/scripts" "$TREE/MAINTAINERS" "$D/"

pages=$(cd "$TOP/Documentation" && find . -name '*.rst' | sed 's,^\./,,')
{
	printf 'Pages\n=====\n\n.. toctree::\n\n'
	for page in $pages; do
		printf '   %s\n' "${page%.rst}"
	done
} >"$D/Documentation/index.rst"

# what Sphinx says of the pages; no graphviz is no fault of theirs
said() {
	for page in $pages; do
		mkdir -p "$D/Documentation/${page%/*}"
		cp "$TREE/Documentation/$page" "$D/Documentation/$page"
		[ $# -eq 0 ] || printf '%s\n' "$@" >>"$D/Documentation/$page"
	done
	(cd "$D" && srctree=$D SPHINXDIRS=. sphinx-build -q -E -b html Documentation out 2>&1) |
		grep -vE '^Using|dot\(1\) not found' || :
}
same "Sphinx has nothing to say" "" "$(said)"
for page in $pages; do
	check "$page: came out" test -s "$D/out/${page%.rst}.html"
	check "$page: is in the index beside it" \
		grep -qx " *$(basename "${page%.rst}")" "$TREE/Documentation/${page%/*}/index.rst"
done
control() {
	said '' 'Title' '===' '' ":ref:\`no-such-label\`" '' '``open' | grep -q WARNING
}
check "a page with faults is found out" control
tap_done
