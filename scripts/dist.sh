#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# dist.sh mbox: mailboxes that git am takes, of the series and of each topic.
# dist.sh release: these and a tarball of this repository as it is committed,
# the same bytes wherever and whenever it is made.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/treelib.sh
. "$TOP/scripts/treelib.sh"

what=${1:-mbox}
case $what in
mbox | release) ;;
*) die "unknown: $what; known: mbox release" ;;
esac
[ -z "$KSRC$REF" ] || die "$what is made of patches/$BASE alone: leave KSRC= and REF= out"
need git flock gzip sha256sum awk
take_lock dist

# What must be so before anything is written; plain_git hides whose the
# repository is, so git's own word comes first
if [ "$what" = release ]; then
	[ "$(git -C "$TOP" rev-parse --show-prefix 2>&1)" = "" ] ||
		die "a release is made from a git checkout, and $TOP is none that git trusts: use a clone"
	head=$(git -C "$TOP" rev-parse -q --verify 'HEAD^{commit}') || die "the repository has no commit yet"
fi
plain_git
export TZ=UTC GIT_NO_REPLACE_OBJECTS=1
unset GZIP
umask 022
if [ "$what" = release ]; then
	dirty=$(git -C "$TOP" status --porcelain | head -n 1)
	[ -z "$dirty" ] || die "${dirty#???} is not committed: commit or remove it, a release is what is committed"
fi
[ -f "$PATCHES/series" ] || die "patches/$BASE/series is missing: restore it from git"
series_lint

name=$BASE
dir=$WORK/dist
rm -rf "$dir.part"
mkdir -p "$dir.part/check"

# mbox FILE [TOPIC]
mbox() {
	topic_patches "$PATCHES" "${2:-}" >"$dir.part/check/list"
	while IFS= read -r p; do
		head -n 1 "$PATCHES/$p" | grep -q '^From [0-9a-f]\{40\} Mon Sep 17 00:00:00 2001$' ||
			die "patches/$BASE/$p does not begin as git format-patch writes it: make refresh"
		cat "$PATCHES/$p"
	done <"$dir.part/check/list" >"$dir.part/$1" || exit 1
	wanted=$(wc -l <"$dir.part/check/list")
	[ "$wanted" -gt 0 ] || die "patches/$BASE has no patch${2:+ of topic $2}"
	# a line in a text may look like the beginning of the next message
	rm -rf "$dir.part/check/split"
	mkdir "$dir.part/check/split"
	got=$(git mailsplit -o"$dir.part/check/split" "$dir.part/$1")
	[ "$got" -eq "$wanted" ] ||
		die "$1 would split into $got messages, not $wanted: a line of a commit message begins like a mailbox's \"From ...\""
}

# A selftest or a page that was edited and not refreshed: the files that the
# patches add are the whole of it
stale() {
	mkdir "$dir.part/check/files"
	(
		cd "$dir.part/check/files"
		git init -q --template= .
		dropin_list | cut -f 1 | sed 's/[][*?\\]/\\&/g; s/^/--include=/' >../includes
		set --
		while IFS= read -r include; do
			set -- "$@" "$include"
		done <../includes
		[ $# -eq 0 ] || git apply "$@" "../../$name.mbox" || exit 1
	) 2>/dev/null || { echo "Documentation or selftests"; return 0; }
	dropin_list | while IFS=$TAB read -r dest src; do
		cmp -s "$src" "$dir.part/check/files/$dest" || { printf '%s\n' "${src#"$TOP/"}"; break; }
	done
}

# mbox dies in a subshell if it is in a pipe, so the topics come from a file
mbox "$name.mbox"
topic_list "$PATCHES" | sort -u >"$dir.part/check/topics"
while IFS= read -r topic; do
	mbox "$name-$topic.mbox" "$topic"
done <"$dir.part/check/topics"
old=$(stale)
[ -z "$old" ] || die "patches/$BASE does not have $old as it is here: make refresh"

if [ "$what" = release ]; then
	# the date is the commit's, so the name and the bytes are the commit's too
	day=$(git -C "$TOP" log -1 --format=%cd --date=format-local:%Y%m%d "$head")
	release=ipi-series-$day-$(printf %.12s "$head")
	# no attributes, filters or settings of this clone: a repository of its own
	# that borrows the objects
	git init -q --bare --template= "$dir.part/check/bare"
	objects=$(cd "$TOP" && cd "$(git rev-parse --git-path objects)" && pwd -P)
	GIT_ALTERNATE_OBJECT_DIRECTORIES=\"$(printf %s "$objects" | sed 's/["\\]/\\&/g')\" \
		git -C "$dir.part/check/bare" -c tar.umask=0022 -c core.attributesFile=/dev/null \
		archive --format=tar --prefix="$release/" "$head" >"$dir.part/check/tar" ||
		die "git archive failed, nothing was written"
	gzip -9 -n <"$dir.part/check/tar" >"$dir.part/$release.tar.gz"
fi

rm -rf "$dir.part/check"
(cd "$dir.part" && sha256sum -- *) >"$dir.sums"
mv "$dir.sums" "$dir.part/SHA256SUMS"
rm -rf "$dir"
mv "$dir.part" "$dir"
cat "$dir/SHA256SUMS"
say "$what: $dir"
