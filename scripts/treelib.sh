# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034,SC2154
# What tree.sh, refresh.sh and dropin.sh share; needs lib.sh.

PATCHES=$TOP/patches/$BASE
STAMP=$WORK/stamp
SELFTESTS=tools/testing/selftests/ipi
PUT_ASIDE="put the change in patches/ aside (git stash push -u -- patches; what a commit brought: git checkout OLDER -- patches), make refresh, then apply it again"
TAB=$(printf '\t')

tgit() {
	git -C "$TREE" "$@"
}

# Nobody's own settings or hooks may change what is laid out or written, and
# the fixed committer makes the commits the same on every machine.
plain_git() {
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 LC_ALL=C
	export GIT_COMMITTER_NAME="ipi lab" GIT_COMMITTER_EMAIL=ipi@localhost
	# a tree without its .git must not stand for the repository around build/
	export GIT_CEILING_DIRECTORIES="$WORK"
	GIT_CONFIG_COUNT=0
	for setting in core.hooksPath=/dev/null safe.directory=* gc.auto=0 \
		core.quotePath=false core.autocrlf=false commit.gpgSign=false \
		am.threeWay=false am.keepcr=false apply.ignoreWhitespace=no \
		rerere.enabled=false core.looseCompression=1; do
		export "GIT_CONFIG_KEY_$GIT_CONFIG_COUNT=${setting%%=*}"
		export "GIT_CONFIG_VALUE_$GIT_CONFIG_COUNT=${setting#*=}"
		GIT_CONFIG_COUNT=$((GIT_CONFIG_COUNT + 1))
	done
	export GIT_CONFIG_COUNT
}

# What KSRC is: base (not set), tarball or git. Before plain_git: the user's
# git decides whether it trusts the folder.
source_kind() {
	KIND=base
	REFS=refs/ipi
	[ -n "$KSRC" ] || {
		[ -z "$REF" ] || die "REF= goes with KSRC=<git tree>"
		return 0
	}
	if [ -f "$KSRC" ]; then
		KIND=tarball
		[ -z "$REF" ] || die "REF= goes with a git tree, KSRC=$KSRC is a file"
		return 0
	fi
	KIND=git
	# these refs belong to our worktree, the user's repository shows none
	REFS=refs/worktree/ipi
	if ! prefix=$(git -C "$KSRC" rev-parse --show-prefix 2>/dev/null) || [ -n "$prefix" ]; then
		case $(git -C "$KSRC" rev-parse 2>&1) in
		*"dubious ownership"*) die "git does not trust KSRC=$KSRC, another user's: git config --global --add safe.directory '$KSRC'" ;;
		esac
		die "KSRC=$KSRC is neither a git tree nor a tarball of the kernel"
	fi
	[ -n "$REF" ] || git -C "$KSRC" rev-parse --verify --quiet HEAD >/dev/null ||
		die "KSRC=$KSRC has no commit on its branch: check out the kernel there, or name a commit with REF="
	REF_COMMIT=$(git -C "$KSRC" rev-parse --verify --quiet "${REF:-HEAD}^{commit}") ||
		die "REF=${REF:-HEAD} is no commit of KSRC=$KSRC"
}

# kernel_version <Makefile: 7.3.4, or nothing when it is no kernel's
kernel_version() {
	awk '
		$1 ~ /^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)$/ && $2 == "=" && !($1 in v) { v[$1] = $3 }
		END {
			if (v["VERSION"] == "" || v["PATCHLEVEL"] == "")
				exit
			s = v["SUBLEVEL"]
			print v["VERSION"] "." v["PATCHLEVEL"] (s == "" || s == "0" ? "" : "." s) v["EXTRAVERSION"]
		}'
}

# A refresh that was interrupted between its two renames
recover_patches() {
	old=$TOP/patches/.$BASE.old
	if [ -d "$old" ] && [ ! -d "$PATCHES" ]; then
		mv "$old" "$PATCHES"
	fi
	rm -rf "$old" "$TOP/patches/.$BASE.new"
}

# The patches of a folder in the order of its series
series_list() {
	[ -f "$1/series" ] || return 0
	sed '/^[[:space:]]*#/d; /^[[:space:]]*$/d' "$1/series"
}

series_lint() {
	[ -f "$PATCHES/series" ] ||
		die "patches/$BASE/series is missing: restore it from git (for a new base, begin with an empty one)"
	series_list "$PATCHES" | while IFS= read -r p; do
		[ -f "$PATCHES/$p" ] || die "patches/$BASE/series names $p, which is not there: restore it or take the line out"
	done || exit 1
	for p in "$PATCHES"/*.patch; do
		[ -e "$p" ] || continue
		series_list "$PATCHES" | grep -qxF -- "${p##*/}" ||
			die "patches/$BASE/${p##*/} is not in series: add a line or remove the file"
	done
}

topic_list() {
	sed -n 's/^# topic: \([A-Za-z0-9._-]*\).*/\1/p' "$1/series"
}

# topic_patches FOLDER [TOPIC]: the patches of a topic, or all, in order
topic_patches() {
	awk -v topic="${2:-}" '
		/^# topic: / { on = $3 == topic; next }
		/^[[:space:]]*(#|$)/ { next }
		on || topic == ""
	' "$1/series"
}

# change_id_field NAME NUMBER: of the line of patches/$BASE/change-ids
change_id_field() {
	[ ! -f "$PATCHES/change-ids" ] ||
		awk -v name="$1" -v n="$2" '$1 == name { print $n; exit }' "$PATCHES/change-ids"
}

series_hash() {
	series_list "$PATCHES" | while IFS= read -r p; do
		printf '%s\n' "$p"
		cat "$PATCHES/$p"
	done | sha256sum | cut -c 1-64
}

# Lines "place in the kernel tree <tab> file here"
dropin_list() {
	(
		cd "$TOP" || exit
		if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$TOP" ]; then
			git -c core.quotePath=false ls-files -co --exclude-standard -- selftests/ipi Documentation
		else
			find selftests/ipi Documentation -type f 2>/dev/null || :
		fi
	) | LC_ALL=C sort -u | while IFS= read -r f; do
		[ -f "$TOP/$f" ] || continue
		case $f in
		selftests/*) printf 'tools/testing/%s\t%s\n' "$f" "$TOP/$f" ;;
		*) printf '%s\t%s\n' "$f" "$TOP/$f" ;;
		esac
	done
}

dropin_hash() {
	{
		dropin_list | while IFS=$TAB read -r dest src; do
			[ -x "$src" ] && printf 'x '
			printf '%s\n' "$dest"
			cat "$src"
		done
		cat "$TOP/MAINTAINERS.fragment" 2>/dev/null || :
	} | sha256sum | cut -c 1-64
}

stamp_field() {
	[ ! -f "$STAMP" ] || sed -n "s/^$1 //p" "$STAMP"
}

write_stamp() {
	printf 'base %s\nseries %s\ndropins %s\n' "$1" "$(series_hash)" "$(dropin_hash)" >"$STAMP.tmp"
	mv "$STAMP.tmp" "$STAMP"
}

tree_ref() {
	tgit rev-parse --verify --quiet "$REFS/$1" || :
}

# move_tree COMMIT LAID: moves the (clean) tree and records BASE_COMMIT and the
# new laid state. The next refs tell a later run what an interrupted one did.
move_tree() {
	printf 'update %s/next %s\nupdate %s/next-laid %s\n' "$REFS" "$1" "$REFS" "$2" | tgit update-ref --stdin
	if [ "$KIND" = git ]; then
		set -- "$1" "$2" --detach
	else
		set -- "$1" "$2" -B ipi
	fi
	if [ "$(tgit rev-parse HEAD)" != "$1" ]; then
		tgit checkout -q --no-overwrite-ignore "$3" ${4:+"$4"} "$1" || {
			printf 'delete %s/next\ndelete %s/next-laid\n' "$REFS" "$REFS" | tgit update-ref --stdin
			die "the tree was left as it is: move the files named above out of $TREE"
		}
	fi
	printf 'update %s/base %s\n' "$REFS" "$BASE_COMMIT" | tgit update-ref --stdin
	finish_move "$2"
}

finish_move() {
	printf 'update %s/laid %s\ndelete %s/next\ndelete %s/next-laid\n' \
		"$REFS" "$1" "$REFS" "$REFS" | tgit update-ref --stdin
}

recover_tree() {
	[ -n "$(tree_ref laid 2>/dev/null)" ] ||
		die "git cannot read $TREE (half removed, or forgotten by KSRC=): save what you need of that folder and remove it"
	next=$(tree_ref next)
	[ -n "$next" ] || return 0
	say "the last run was interrupted while it moved the tree: finishing that"
	rm -f "$(tgit rev-parse --absolute-git-dir)/index.lock"
	if [ -n "$(tgit status --porcelain -uno)" ]; then
		tgit diff HEAD --binary >"$WORK/interrupted-$(date +%Y%m%d-%H%M%S).diff"
	fi
	[ "$KIND" = git ] || tgit symbolic-ref HEAD refs/heads/ipi
	tgit reset -q --hard "$next"
	finish_move "$(tree_ref next-laid)"
}

# What the tree holds that is not in patches/: one line, or nothing
unrefreshed() {
	head=$(tgit rev-parse HEAD)
	laid=$(tree_ref laid)
	if [ "$head" != "$laid" ]; then
		count=$(tgit rev-list --count "$laid..HEAD")
		printf 'commits that are not in patches/%s (%s new)\n' "$BASE" "$count"
	elif [ -n "$(tgit status --porcelain -uno)" ]; then
		printf 'uncommitted changes (%s)\n' "$(tgit status --porcelain -uno | head -n 1 | cut -c 4-)"
	fi
}

# What is lost with the folder TREE: one line, or nothing. Fails when git cannot
# tell; named by its .git, so that git neither climbs nor asks whose it is.
work_at_stake() {
	own="-C $TREE --git-dir=.git --work-tree=."
	# shellcheck disable=SC2086
	{
		laid=$(git $own rev-parse -q --verify 'refs/worktree/ipi/laid^{commit}' ||
			git $own rev-parse -q --verify 'refs/ipi/laid^{commit}') &&
			head=$(git $own rev-parse -q --verify HEAD) &&
			changed=$(git $own status --porcelain -unormal) || return 1
		more=
		# a worktree's branches and stash are the user's repository's, and stay
		if [ -d "$TREE/.git" ]; then
			stash=$(git $own rev-parse -q --verify refs/stash || :)
			more=$(git $own rev-list -n 1 --branches $stash --not "$laid") || return 1
		fi
		if [ "$head" != "$laid" ]; then
			more=$head
		fi
		if [ -n "$changed" ]; then
			printf 'uncommitted changes (%s)\n' "$(printf '%s\n' "$changed" | head -n 1 | cut -c 4-)"
		elif [ -n "$more" ]; then
			git $own log -1 --format='commits that are not in patches/ (%h %s)' "$more"
		fi
	} 2>/dev/null
}

# What to do with the work in TREE before it goes
rescue() {
	if [ "${TREE#"$OUT/ksrc-"}" != "$TREE" ]; then
		refs=refs/ipi
		[ -d "$TREE/.git" ] || refs=refs/worktree/ipi
		printf 'commit it and save it with git -C %s format-patch -o FOLDER %s/laid' "$TREE" "$refs"
	else
		printf 'commit it on the branch ipi and "make refresh"'
	fi
}

# The drop-ins changed: carry them into BASE_COMMIT..HEAD, unrefreshed commits
# included
renew_dropins() {
	head=$(tgit rev-parse HEAD)
	laid=$(tree_ref laid)
	new=$("$TOP/scripts/dropin.sh" "$BASE_COMMIT" "$head" "$laid") || exit 1
	[ "$new" != "$head" ] || return 0
	[ -z "$(tgit status --porcelain -uno)" ] ||
		die "the drop-ins changed and $TREE has uncommitted changes: commit them first"
	if tgit merge-base --is-ancestor "$laid" "$head"; then
		laid=$(tgit rev-parse "$new~$(tgit rev-list --count "$laid..$head")")
	fi
	move_tree "$new" "$laid"
}
