#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# checkpatch-wrapper.sh [--strict] [--codespell] [--stored] [FILE | A..B]...
# The kernel's checkpatch on the patch on stdin, on files or on the commits of
# a range: one line a finding, silence when there is none. Status 1: findings,
# 2: bad use. Made for b4's prep-perpatch-check-cmd, see b4.cfg.
# --stored: for patches/, which carry no sign-off until somebody sends them.
set -eu

bad_use() {
	printf 'checkpatch-wrapper: %s\n' "$*" >&2
	exit 2
}

here=$(cd "$(dirname "$0")/.." && pwd -P)
series=$here/patches/${BASE:-mainline}
stored=
checks=
while [ $# -gt 0 ]; do
	case $1 in
	--stored) stored=1 ;;
	--strict) checks="$checks --strict" ;;
	--codespell)
		if command -v codespell >/dev/null 2>&1; then
			checks="$checks --codespell"
		fi
		;;
	--) shift; break ;;
	-*) bad_use "unknown option $1; known: --strict --codespell --stored" ;;
	*) break ;;
	esac
	shift
done

top=$(git rev-parse --show-toplevel 2>/dev/null || :)
if [ -n "${KTREE:-}" ]; then
	k=$KTREE
elif [ -n "$top" ] && [ -f "$top/scripts/checkpatch.pl" ]; then
	k=$top
else
	# shellcheck source=scripts/lib.sh
	k=$(. "$here/scripts/lib.sh" && printf %s "$TREE") || exit 2
fi
[ -f "$k/scripts/checkpatch.pl" ] ||
	bad_use "no kernel tree in ${k:-.}: run make tree, or set KTREE= to one"
k=$(cd "$k" && pwd -P)
command -v perl >/dev/null 2>&1 || bad_use "perl is missing: make deps installs it"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
found=0

# check NAME FOLDER: the patch in $tmp/patch; NAME is "" for stdin, FOLDER has
# the rest of its series
check() {
	[ -s "$tmp/patch" ] || bad_use "${1:-stdin} is empty: a patch is wanted"
	grep -q '^diff \|^--- \|^+++ ' "$tmp/patch" || bad_use "${1:-stdin} is no patch"
	ignore=
	if [ -n "$stored" ]; then
		ignore=--ignore=MISSING_SIGN_OFF
		if grep -qs '^+++ b/MAINTAINERS' "$2"/*.patch; then
			ignore=$ignore,FILE_PATH_CHANGES
		fi
		# "make tree" lays out one commit, without the history to look others up in
		! git -C "$k" rev-parse -q --verify refs/ipi/base >/dev/null 2>&1 ||
			ignore=$ignore,UNKNOWN_COMMIT_ID
	fi
	rc=0
	# shellcheck disable=SC2086
	(cd "$k" && perl scripts/checkpatch.pl -q --terse --no-summary --showfile --show-types \
		--color=never --root="$k" $checks $ignore -) <"$tmp/patch" >"$tmp/out" 2>"$tmp/err" || rc=$?
	if [ $rc -ne 0 ] && [ ! -s "$tmp/out" ]; then
		bad_use "checkpatch did not run: $(head -n 1 "$tmp/err")"
	fi
	if [ -s "$tmp/out" ]; then
		found=1
		sed "${1:+s|^|${1##*/}: |;}s|: -:|:|;s|^-:||" "$tmp/out"
	fi
}

if [ $# -eq 0 ]; then
	[ ! -t 0 ] || bad_use "no patch: give one on stdin, or files, or a range A..B"
	cat >"$tmp/patch"
	check "" "$series"
	exit $found
fi

for arg in "$@"; do
	if [ -f "$arg" ]; then
		cat "$arg" >"$tmp/patch"
		check "$arg" "$(dirname "$arg")"
		continue
	fi
	case $arg in
	*..*) ;;
	*) bad_use "no such file: $arg" ;;
	esac
	# the range is of the tree we stand in, if that is a kernel
	git -C "$k" rev-list --reverse "$arg" -- >"$tmp/commits" 2>/dev/null ||
		bad_use "no such file, and no range of commits in $k: $arg"
	[ -s "$tmp/commits" ] || bad_use "the range $arg has no commits"
	mkdir -p "$tmp/series"
	git -C "$k" format-patch -q -o "$tmp/series" "$arg"
	while read -r c; do
		git -C "$k" format-patch -1 --stdout "$c" >"$tmp/patch"
		check "$(git -C "$k" rev-parse --short "$c")" "$tmp/series"
	done <"$tmp/commits"
done
exit $found
