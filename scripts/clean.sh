#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Remove build/, and with --cache what all clones share in the cache as well. A
# tree with work that is not in patches/ is kept, and so is a folder that these
# scripts did not make.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/treelib.sh
. "$TOP/scripts/treelib.sh"

need git flock
plain_git

# All that is not a lock goes under another name first: what is left when this
# is interrupted is a whole tree or none. Inside OUT, which may be a link or a
# mount point.
remove_out() {
	trash=$OUT/.rm.$$
	mkdir "$trash"
	for tree in "$OUT"/*/tree "$OUT"/*/tree.tmp "$OUT"/*/am; do
		[ -f "$tree/.git" ] || continue
		common=$(git -C "$tree" rev-parse --git-common-dir 2>/dev/null) || continue
		printf '%s\t%s\n' "$tree" "$(cd "$tree" && cd "$common" && pwd -P)"
	done >"$trash/worktrees"
	find "$OUT/" -mindepth 1 -maxdepth 1 ! -name '*.lock' ! -name .ipi-out ! -name "${trash##*/}" \
		-exec mv -t "$trash" -- {} +
	# the user's repository must not go on naming what is gone
	while IFS=$TAB read -r tree common; do
		git --git-dir="$common" worktree remove -f -f "$tree" 2>/dev/null || :
	done <"$trash/worktrees"
	rm -rf "$trash"
	rm -f "$OUT"/*.lock "$OUT/.ipi-out"
	rmdir "$OUT" 2>/dev/null || :
}

# the first branch of the sending tree that is not as it was laid out
tagged_branch() { # TREE
	git -C "$1" for-each-ref --format='%(refname:lstrip=2) %(objectname)' refs/heads/b4 |
		while read -r branch commit; do
			[ "$commit" = "$(git -C "$1" rev-parse -q --verify "refs/ipi/${branch#b4/}/laid")" ] || echo "$branch"
		done | head -n 1
}

if [ -d "$OUT" ]; then
	# before a lock: taking one writes to the folder
	if ! out_is_ours; then
		alien=$(out_alien)
		die "$OUT was not made by these scripts (${alien:+it holds $alien and }it has no .ipi-out): remove by hand what you do not need of it"
	fi
	# one digit is all that sh takes
	fd=2
	for lock in check run tree build mutants send dist; do
		fd=$((fd + 1))
		take_lock $lock $fd
	done
	for TREE in "$OUT"/*/tree; do
		[ "${DISCARD:-}" != 1 ] && [ -d "$TREE" ] && [ ! -L "$TREE" ] || continue
		what=$(work_at_stake) ||
			die "git cannot tell whether $TREE holds work: save what you need of it, then \"make clean DISCARD=1\""
		[ -z "$what" ] || die "$TREE has $what: $(rescue), then make clean; DISCARD=1 throws it away"
	done
	for tree in "$OUT"/*/send/tree; do
		[ "${DISCARD:-}" != 1 ] && [ -d "$tree" ] || continue
		name=$(tagged_branch "$tree")
		[ -z "$name" ] ||
			die "$tree has sign-offs or other tags of yours on $name: \"make clean DISCARD=1\" drops them"
	done
	remove_out
	say "removed: $OUT"
fi

[ "${1:-}" = --cache ] || exit 0
rm -rf "$CACHE/base" "$CACHE/apt" "$CACHE/ccache"
for other in "$CACHE"/out-*; do
	[ ! -d "$other" ] || say "kept: $other, the build folder of another clone"
done
rmdir "$CACHE" 2>/dev/null || :
