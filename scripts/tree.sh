#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# tree.sh: lays out a git tree in $TREE: one commit with the base (or the
# user's commit), the series on it. Does nothing when nothing changed.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/treelib.sh
. "$TOP/scripts/treelib.sh"

need git tar xz flock
source_kind
take_lock tree
recover_patches
plain_git
series_lint

# Where the objects live: our tree, or the user's repository
repo() {
	case $KIND in
	git) git -C "$KSRC" "$@" ;;
	*) git -C "$TREE" "$@" ;;
	esac
}

# Never by "worktree prune": a worktree of the user's may be on a disk that is
# not there now
drop_worktree() {
	[ -e "$1" ] || return 0
	repo worktree remove -f -f "$1" 2>/dev/null || rm -rf "$1"
}

# However this ends, what is half made goes, and a folder made for nothing
finish() {
	drop_worktree "$WORK/am"
	rm -rf "$WORK/unpack" "$WORK/unpack.err"
	rmdir "$WORK" 2>/dev/null || :
}
trap finish EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$WORK"

unpack() {
	rm -rf "$WORK/unpack" "$TREE.tmp"
	mkdir "$WORK/unpack"
	tar -C "$WORK/unpack" --no-same-owner -xf "$1" 2>"$WORK/unpack.err" ||
		die "$1 cannot be unpacked (cut or damaged?): $(head -n 1 "$WORK/unpack.err")"
}

commit_base() {
	cd "$TREE.tmp"
	# Debian's rule to ignore the whole tree would hide a contributor's new files
	[ ! -f .gitignore ] || sed -i -e '\|^/\*$|d' -e '\|^!/debian/$|d' .gitignore
	git init -q --template= -b ipi
	git config feature.manyFiles true
	git config gc.auto 0
	git add -f -A
	GIT_AUTHOR_NAME=$GIT_COMMITTER_NAME GIT_AUTHOR_EMAIL=$GIT_COMMITTER_EMAIL \
		GIT_AUTHOR_DATE='@1577836800 +0000' GIT_COMMITTER_DATE='@1577836800 +0000' \
		git commit -q -m "linux $1"
	git update-ref refs/ipi/base HEAD
	git update-ref refs/ipi/laid HEAD
}

# A new tree from a tarball; the old one goes when the new one is complete
make_base() {
	need_space "$WORK" 3072 "the kernel tree"
	if [ "$KIND" = tarball ]; then
		tarball=$KSRC
		tar -tf "$tarball" 2>/dev/null | head -n 1 | grep -q / ||
			die "KSRC=$KSRC is neither a git tree nor a tarball of the kernel"
	else
		tarball=$("$TOP/scripts/base.sh") || exit 1
	fi
	step unpack unpack "$tarball"
	set -- "$WORK/unpack"/*
	version=
	[ $# -ne 1 ] || [ ! -f "$1/Makefile" ] || version=$(kernel_version <"$1/Makefile")
	if [ -z "$version" ]; then
		die "$tarball is no kernel source: no folder with the kernel's Makefile in it"
	fi
	mv "$1" "$TREE.tmp"
	rmdir "$WORK/unpack"
	step commit-base commit_base "$version"
	rm -rf "$TREE.old"
	[ ! -d "$TREE" ] || mv "$TREE" "$TREE.old"
	mv "$TREE.tmp" "$TREE"
	rm -rf "$TREE.old"
}

make_worktree() {
	version=$(repo show "$REF_COMMIT:Makefile" 2>/dev/null | kernel_version)
	[ -n "$version" ] || die "KSRC=$KSRC is no kernel tree at ${REF:-HEAD}: it has no kernel Makefile"
	[ "$(repo rev-parse --is-bare-repository)" = true ] || [ -z "$(repo status --porcelain -uno)" ] ||
		say "KSRC has uncommitted changes: they are not used, only the commit ${REF:-HEAD} is"
	if [ -d "$TREE" ]; then
		tgit rev-parse -q --verify HEAD >/dev/null 2>&1 || repo worktree repair "$TREE" >/dev/null 2>&1 || :
	else
		need_space "$WORK" 2048 "the kernel tree"
		rm -rf "$TREE.tmp" "$STAMP"
		# twice -f: a run that was killed leaves the name taken, and locked
		step worktree repo worktree add -q -f -f --detach "$TREE.tmp" "$REF_COMMIT"
		for ref in base laid; do
			git -C "$TREE.tmp" update-ref "$REFS/$ref" "$REF_COMMIT"
		done
		repo worktree move -f -f "$TREE.tmp" "$TREE"
	fi
}

# The series is applied in a worktree with an index and no files, so that the
# tree sees one checkout of what changed: kbuild rebuilds no more than that.
apply_series() {
	drop_worktree "$WORK/am"
	repo worktree add -q -f -f --no-checkout --detach "$WORK/am" "$BASE_COMMIT" || return 1
	git -C "$WORK/am" read-tree HEAD || return 1
	series_list "$PATCHES" >"$WORK/list"
	while IFS= read -r p; do
		git -C "$WORK/am" am -q --keep-non-patch --committer-date-is-author-date \
			--whitespace=nowarn -- "$PATCHES/$p" || {
			printf '%s\n' "$p" >"$WORK/failed"
			return 1
		}
	done <"$WORK/list"
}

# Names patch, file and hunks, and says whether the base has the change already
explain_failure() {
	p=$(cat "$WORK/failed")
	rm -f "$WORK/failed"
	printf 'ipi: patches/%s/%s does not apply to linux %s\n' "$BASE" "$p" "$VERSION" >&2
	# a reject shows each hunk; this worktree is thrown away
	git -C "$WORK/am" am --abort >/dev/null 2>&1 || :
	git -C "$WORK/am" apply --index --reject -v "$PATCHES/$p" 2>&1 | awk '
		/^Checking patch / { file = $3; sub(/\.\.\.$/, "", file) }
		/^error: patch failed: / { sub(/^error: patch failed: /, ""); at = at " " $0 }
		/^error: .*(No such file|does not exist|already exists|corrupt|No valid patches)/ {
			sub(/^error: /, ""); print "ipi:   " $0; next
		}
		/^Applying patch / { file = $3 }
		/^Rejected hunk / { sub(/\.$/, ""); print "ipi:   " file ": hunk " substr($3, 2) }
		END { if (at != "") print "ipi:   at" at }' >&2
	git -C "$WORK/am" reset -q HEAD
	if git -C "$WORK/am" apply --cached --check -R "$PATCHES/$p" 2>/dev/null; then
		printf 'ipi: its reverse applies: already upstream, drop it\n' >&2
	fi
	case $VERSION in
	"$LINE" | "$LINE"[.-]*) ;;
	*)
		other=$(awk -v v="$VERSION." '!/^#/ && NF && index(v, $2 ".") == 1 { print $1; exit }' "$TOP/patches/BASES")
		printf 'ipi: patches/%s is made for Linux %s%s\n' "$BASE" "$LINE" \
			"${other:+; BASE=$other is for $VERSION}" >&2
		;;
	esac
	printf 'ipi: to go on: repair it in patches/%s, or see what is there with "git am -3" in a tree of yours\n' "$BASE" >&2
	die "nothing was changed in $TREE${KSRC:+ or in $KSRC}"
}

stop_if_unrefreshed() {
	what=$(unrefreshed)
	branch=$(tgit symbolic-ref -q --short HEAD || :)
	if [ "$KIND" != git ] && [ "$branch" != ipi ]; then
		what="${what:-a branch or a rebase in progress} (not on its branch ipi)"
	fi
	[ -n "$what" ] || return 0
	if [ "${DISCARD:-}" != 1 ]; then
		keep=$(rescue)
		# refresh would overwrite it
		[ -n "$KSRC" ] || [ "$(stamp_field series)" = "$(series_hash)" ] ||
			keep="$PUT_ASIDE"
		die "$1, but $TREE has $what: $keep; make tree DISCARD=1 throws them away"
	fi
	kept=$(tgit stash create)
	tgit update-ref "$REFS/discarded" "${kept:-$(tgit rev-parse HEAD)}"
	for op in rebase am; do
		tgit "$op" --quit >/dev/null 2>&1 || :
	done
	tgit reset -q --hard
	say "discarded $what; the last of it stays as $REFS/discarded"
	if [ "$KIND" = git ]; then
		tgit checkout -q --detach "$(tree_ref laid)"
	else
		tgit checkout -q -B ipi "$(tree_ref laid)"
	fi
}

case $KIND in
base) id=$(awk -v b="$BASE" '$1 == b { $1 = $1; print }' "$TOP/patches/BASES") ;;
tarball) id="$KSRC $(stat -c '%s %Y' "$KSRC")" ;;
git) id=$REF_COMMIT ;;
esac

rm -f "$WORK/failed"
if [ "$KIND" = git ]; then
	make_worktree
	recover_tree
else
	for left in "$TREE.tmp" "$TREE.old" "$WORK/unpack"; do
		[ ! -d "$left" ] || say "an earlier run was interrupted: starting its step again"
		rm -rf "$left"
	done
	if [ -d "$TREE" ]; then
		recover_tree
		laid_id=$(stamp_field base)
		if [ -n "$laid_id" ] && [ "$laid_id" != "$id" ]; then
			stop_if_unrefreshed "the base changed"
			what=
			[ "${DISCARD:-}" = 1 ] || what=$(work_at_stake) || die "the base changed, but git cannot read $TREE"
			[ -z "$what" ] ||
				die "the base changed, but $TREE has $what: save that elsewhere; make tree DISCARD=1 throws it away"
			make_base
			rm -f "$STAMP"
		fi
	else
		rm -f "$STAMP"
		make_base
	fi
fi

BASE_COMMIT=$(tree_ref base)
if [ "$(stamp_field base)" = "$id" ] && [ "$(stamp_field series)" = "$(series_hash)" ]; then
	if [ "$(stamp_field dropins)" != "$(dropin_hash)" ]; then
		renew_dropins
		write_stamp "$id"
	fi
	what=$(unrefreshed)
	[ -z "$what" ] || say "$TREE has $what: used as they are"
	say "tree: $TREE"
	exit 0
fi

stop_if_unrefreshed "patches/$BASE or its base changed"
[ "$KIND" != git ] || BASE_COMMIT=$REF_COMMIT
VERSION=$(repo show "$BASE_COMMIT:Makefile" | kernel_version)
LINE=$(base_field "$BASE" kernel)
nr_patches=$(series_list "$PATCHES" | wc -l)
say "apply: $nr_patches patches ..."
if ! apply_series >"$WORK/apply.log" 2>&1; then
	[ ! -f "$WORK/failed" ] || explain_failure
	die "the series could not be applied: $(tail -n 1 "$WORK/apply.log")"
fi
applied=$(git -C "$WORK/am" rev-parse HEAD)
new=$("$TOP/scripts/dropin.sh" "$BASE_COMMIT" "$applied") || exit 1
move_tree "$new" "$new"
write_stamp "$id"
say "tree: $TREE, linux $VERSION with $nr_patches patches"
