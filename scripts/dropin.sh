#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# dropin.sh BASE COMMIT [LAID]: carries this repository's selftests/ipi,
# Documentation and MAINTAINERS.fragment into the commits BASE..COMMIT and
# prints the new COMMIT. A file goes into the last commit that touches it, a
# new one into the last commit that touches its neighbours. No branch moves.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/treelib.sh
. "$TOP/scripts/treelib.sh"
source_kind
plain_git

base=$1
tip=$2
laid=${3:-}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

last_touch() {
	tgit log -1 --format=%H "$base..$tip" -- "$@"
}

copies() {
	tgit ls-tree -r --format='%(objectmode) %(objectname)%x09%(path)' "$1" -- "$SELFTESTS" Documentation
}

# copy_of LIST PATH: its "mode object"
copy_of() {
	awk -F "$TAB" -v path="$2" '$2 == path { print $1 }' "$1"
}

# splice COMMIT: the object of its MAINTAINERS with our sections in place, each
# behind the greatest title before its own: the list is not quite in order
splice() {
	tgit cat-file blob "$1:MAINTAINERS" | awk '
	NR == FNR {
		if (/^#/) next
		if (!NF) { fresh = 1; next }
		if (fresh || !n) { title[++n] = $0; ours[$0] = 1; fresh = 0 }
		text[n] = text[n] $0 "\n"
		next
	}
	!NF && skip { skip = 0; next }
	blank && ($0 in ours) { skip = 1 }
	skip { next }
	{ line[++lines] = $0 }
	list && blank && /^[A-Z0-9]/ && !/^[A-Z]:\t/ {
		head[lines] = 1
		for (i = 1; i <= n; i++)
			if ($0 "" < title[i] "" && $0 "" > after[i] "") after[i] = $0
	}
	/^Maintainers List/ { list = 1 }
	{ blank = !NF }
	END {
		for (l = 1; l <= lines; l++) {
			if (head[l]) {
				for (i = 1; i <= n; i++)
					if (!done[i] && after[i] == seen) { printf "%s\n", text[i]; done[i] = 1 }
				seen = line[l]
			}
			print line[l]
		}
		for (i = 1; i <= n; i++)
			if (!done[i]) printf "\n%s", text[i]
	}' "$TOP/MAINTAINERS.fragment" - | tgit hash-object -w --stdin
}

[ -z "$(tgit rev-list --merges "$base..$tip")" ] ||
	die "the tree has a merge commit: rebase it, the series is a straight line"

dropin_list | while IFS=$TAB read -r dest src; do
	mode=100644
	[ ! -x "$src" ] || mode=100755
	printf '%s %s\t%s\n' "$mode" "$(tgit hash-object -w --no-filters "$src")" "$dest"
done >"$tmp/want"
copies "$tip" >"$tmp/have"
: >"$tmp/laid"
[ -z "$laid" ] || copies "$laid" >"$tmp/laid"

# plan: commit <tab> mode object <tab> path; from that commit on
: >"$tmp/plan"
grep -vxFf "$tmp/have" "$tmp/want" >"$tmp/changed" || :
while IFS=$TAB read -r what path; do
	was=$(copy_of "$tmp/laid" "$path")
	is=$(copy_of "$tmp/have" "$path")
	[ -z "$was" ] || [ -z "$is" ] || [ "$was" = "$is" ] ||
		die "edit ${path#tools/testing/} in the repository, not the copy in the tree"
	carrier=$(last_touch "$path")
	if [ -z "$carrier" ] && [ -z "$is" ]; then
		case $path in
		"$SELFTESTS"/*) carrier=$(last_touch "$SELFTESTS") ;;
		*)
			cut -f 2 "$tmp/want" | grep '^Documentation/' | tr '\n' '\0' >"$tmp/docs"
			carrier=$(cd "$TREE" && xargs -0 git log -1 --format=%H "$base..$tip" -- <"$tmp/docs")
			;;
		esac
	fi
	if [ -n "$carrier" ]; then
		printf '%s\t%s\t%s\n' "$carrier" "$what" "$path" >>"$tmp/plan"
	else
		say "no patch carries $path yet"
	fi
done <"$tmp/changed"

: >"$tmp/active"
cut -f 2 "$tmp/have" | grep "^$SELFTESTS/" >"$tmp/paths" || :
while IFS= read -r path; do
	[ -z "$(copy_of "$tmp/want" "$path")" ] || continue
	[ -z "$laid" ] || [ -n "$(copy_of "$tmp/laid" "$path")" ] ||
		die "put ${path#tools/testing/} into the repository: the tree only has copies"
	say "dropped from the tree, as it is not in the repository: ${path#tools/testing/}"
	printf '0 %s\t%s\n' "$(printf '%040d' 0)" "$path" >>"$tmp/active"
done <"$tmp/paths"

carrier=$(last_touch MAINTAINERS)
if [ -n "$carrier" ] && [ -f "$TOP/MAINTAINERS.fragment" ]; then
	want=$(splice "$carrier")
	is=$(tgit rev-parse "$carrier:MAINTAINERS")
	if [ "$want" != "$is" ]; then
		if [ -n "$laid" ] && was=$(tgit rev-parse --verify --quiet "$laid:MAINTAINERS") &&
			[ "$was" != "$is" ] && [ "$was" = "$(splice "$laid")" ]; then
			die "edit MAINTAINERS.fragment in the repository, not the copy in the tree"
		fi
		printf '%s\t%s %s\t%s\n' "$carrier" 100644 "$want" MAINTAINERS >>"$tmp/plan"
	fi
fi

if [ ! -s "$tmp/plan" ] && [ ! -s "$tmp/active" ]; then
	printf '%s\n' "$tip"
	exit 0
fi

GIT_INDEX_FILE=$tmp/index
export GIT_INDEX_FILE
parent=$base
tgit rev-list --reverse "$base..$tip" >"$tmp/commits"
while IFS= read -r c; do
	awk -F "$TAB" -v c="$c" '$1 == c { print $2 "\t" $3 }' "$tmp/plan" >>"$tmp/active"
	tree=$(tgit rev-parse "$c^{tree}")
	if [ -s "$tmp/active" ]; then
		tgit read-tree "$c"
		tgit update-index --index-info <"$tmp/active"
		tree=$(tgit write-tree)
	fi
	tgit cat-file commit "$c" >"$tmp/commit"
	parent=$(sed "1,/^\$/ { s/^tree .*/tree $tree/; s/^parent .*/parent $parent/; }" "$tmp/commit" |
		tgit hash-object -t commit -w --stdin)
done <"$tmp/commits"
printf '%s\n' "$parent"
