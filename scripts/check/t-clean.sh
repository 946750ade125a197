#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# make clean and make distclean on a small kernel: what they remove, and all
# that they must not.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/check/tap.sh
. "$TOP/scripts/check/tap.sh"
# shellcheck source=scripts/check/fake.sh
. "$TOP/scripts/check/fake.sh"

fake_repo
O=$fake/out
T=$O/mainline/tree
clean() {
	env OUT="$O" "$R/scripts/clean.sh" "$@"
}

lay() { # VAR=VALUE...
	env OUT="$O" "$@" "$R/scripts/tree.sh" >"$fake/log" 2>&1 || die "no tree: $(cat "$fake/log")"
}

tcommit() { # TREE
	fgit -C "$1" add -A
	fgit -C "$1" commit -q -m 'a: Mine'
}

# kept TEXT PATTERN CMD...: refused, and everything is still there
kept() {
	had=$(find "$O" ! -name '*.lock' ! -path '*/.git/index' | LC_ALL=C sort | cksum)
	expect "$@"
	same "... and all is still there" "$had" "$(find "$O" ! -name '*.lock' ! -path '*/.git/index' | LC_ALL=C sort | cksum)"
}

# --- whose folder
expect "nothing to remove" 0 '' clean
check "makes no folder" test ! -e "$O"
lay
check "what the scripts made is stamped" test -f "$O/.ipi-out"
expect "make clean removes it" 0 "removed: $O" clean
check "all of it" test ! -e "$O"
mkdir -p "$O"
lay
check "an empty folder is stamped as well" test -f "$O/.ipi-out"
expect "and removed" 0 "removed: $O" clean
mkdir -p "$O/mainline/tree" "$O/papers"
: >"$O/papers/thesis"
kept "somebody's folder is refused" 1 'was not made by these scripts (it holds papers and' clean
check "before a lock is written to it" test -z "$(find "$O" -name '*.lock')"
kept "DISCARD=1 does not change that" 1 'was not made by these scripts' env DISCARD=1 OUT="$O" "$R/scripts/clean.sh"
mkdir "$fake/empty"
expect "an empty folder that is not stamped is refused" 1 'has no .ipi-out' env OUT="$fake/empty" "$R/scripts/clean.sh"
check "and is there" test -d "$fake/empty"
rm -rf "$O"
lay
rm "$O/.ipi-out"
mkdir "$O/log" "$O/ksrc-123" 2>/dev/null || :
expect "one from before there was a stamp is known by what is in it" 0 "removed: $O" clean
lay
rm "$O/.ipi-out"
: >"$O/letter"
kept "but not with other things in it" 1 'it holds letter and' clean
rm "$O/letter"
lay
check "the next run stamps it" test -f "$O/.ipi-out"
mv "$O" "$fake/disk"
ln -s "$fake/disk" "$O"
expect "a link to a folder elsewhere" 0 "removed: " clean
check "has nothing left in it" test -z "$(ls -A "$fake/disk")"
rm -rf "$O" "$fake/disk"
rm -rf "$R/build"
(cd "$R" && mkdir plain && mv patches scripts selftests Documentation MAINTAINERS.fragment plain/)
mv "$R/plain" "$fake/plain"
R=$fake/plain
expect "build/ is made, and stamped" 0 'with 2 patches' "$R/scripts/tree.sh"
check "by its name" test -f "$R/build/.ipi-out"
expect "and removed" 0 "removed: $R/build" "$R/scripts/clean.sh"

# --- work in the tree
lay
printf 'int mine;\n' >>"$T/kernel/a.c"
kept "an uncommitted change" 1 'has uncommitted changes (kernel/a.c): commit it on the branch ipi and "make refresh"' clean
tcommit "$T"
kept "a commit that is not refreshed" 1 'commits that are not in patches/ (.* a: Mine)' clean
git -C "$T" branch -q wip
git -C "$T" reset -q --hard HEAD~1
kept "a commit on another branch" 1 'commits that are not in patches/ (.* a: Mine)' clean
git -C "$T" branch -q -D wip
printf 'int new;\n' >"$T/kernel/new.c"
kept "a new file that git does not know yet" 1 'uncommitted changes (kernel/new.c)' clean
git -C "$T" config status.showUntrackedFiles no
kept "... whatever git is set to show" 1 'uncommitted changes (kernel/new.c)' clean
rm "$T/kernel/new.c"
printf 'int mine;\n' >>"$T/kernel/a.c"
fgit -C "$T" stash -q
kept "a stash" 1 'commits that are not in patches/' clean
git -C "$T" stash drop -q
printf 'int mine;\n' >>"$T/kernel/a.c"
if [ "$(id -u)" -eq 0 ]; then
	chown -R 12345 "$T"
	kept "a change in a tree of another user" 1 'has uncommitted changes (kernel/a.c)' clean
	chown -R 0 "$T"
else
	skip "a change in a tree of another user" "not root"
	skip "... and all is still there" "not root"
fi
mkdir "$fake/nogit"
ln -s /usr/bin/* "$fake/nogit/"
rm "$fake/nogit/git"
kept "git is missing" 1 'missing: git' env PATH="$fake/nogit" OUT="$O" "$R/scripts/clean.sh"
mv "$T/.git" "$fake/dotgit"
git init -q "$O/.."
kept "git cannot tell what is in the tree" 1 "git cannot tell whether $T holds work: save" clean
rm -rf "$O/../.git"
mv "$fake/dotgit" "$T/.git"
git -C "$T" update-ref -d refs/ipi/laid
kept "nobody knows what was laid out" 1 "git cannot tell whether $T holds work" clean
expect "make clean DISCARD=1" 0 "removed: $O" env DISCARD=1 OUT="$O" "$R/scripts/clean.sh"
check "throws it away" test ! -e "$O"

# --- the user's own source
U=$fake/user
cp -R "$fake/linux-source-7.3" "$U"
git -C "$U" init -q -b mine
fgit -C "$U" add -f -A
fgit -C "$U" commit -q -m 'their base'
git -C "$U" branch other
lay KSRC="$U"
K=$(echo "$O"/ksrc-*/tree)
fgit -C "$U" commit -q --allow-empty -m 'their next'
printf 'int mine;\n' >>"$K/kernel/a.c"
tcommit "$K"
kept "a commit in the tree for KSRC=" 1 'format-patch -o FOLDER refs/worktree/ipi/laid, then make clean' clean
same "what is advised saves it" "$fake/saved/0001-a-Mine.patch" \
	"$(git -C "$K" format-patch -o "$fake/saved" refs/worktree/ipi/laid)"
mv "$U" "$U.moved"
kept "the repository of KSRC= moved" 1 "git cannot tell whether $K holds work" clean
mv "$U.moved" "$U"
git -C "$K" reset -q --hard HEAD~1
git -C "$U" worktree add -q --detach "$fake/usb"
mv "$fake/usb" "$fake/unplugged"
expect "commits of theirs on their branches are not the tree's" 0 "removed: $O" clean
same "their repository names the tree no more, but the worktree that is away" "$U $fake/usb " \
	"$(git -C "$U" worktree list | cut -d ' ' -f 1 | tr '\n' ' ')"

# --- runs, and an end in the middle
lay
for lock in check run tree build mutants send dist; do
	exec 9>"$O/$lock.lock"
	flock -n 9
	kept "while a run holds the $lock lock" 1 'another run uses' clean
	exec 9>&-
done
mkdir "$fake/bin"
cat >"$fake/bin/rm" <<'END'
#!/bin/sh
case "$*" in
*"/out/.rm."* | *" $O")
	/bin/rm -f "$O/mainline/tree/kernel/a.c"
	kill -9 $PPID
	exit 1
	;;
esac
exec /bin/rm "$@"
END
chmod +x "$fake/bin/rm"
expect "killed when it begins to remove" 137 '' env O="$O" PATH="$fake/bin:$PATH" OUT="$O" "$R/scripts/clean.sh"
check "leaves no tree that looks whole" test ! -e "$T"
lay
same "the next make tree makes it anew" "" "$(git -C "$T" status --porcelain)"
expect "the next make clean takes the rest as well" 0 "removed: $O" clean
check "all of it" test ! -e "$O"

# --- the cache
C=$fake/cache/ipi-series
mkdir -p "$C/out-111/mainline/tree" "$C/apt" "$C/ccache"
lay
printf 'int mine;\n' >>"$T/kernel/a.c"
kept "make distclean keeps a tree with work" 1 'has uncommitted changes' clean --cache
check "and the cache with it" test -d "$C/ccache"
git -C "$T" checkout -q .
expect "make distclean says what it keeps" 0 "kept: $C/out-111, the build folder of another clone" clean --cache
check "the tree of another clone" test -d "$C/out-111/mainline/tree"
same "of the cache that is all" "out-111" "$(ls "$C")"
rm -rf "$C/out-111"
mkdir "$C/base"
expect "without build/" 0 '' clean --cache
check "it removes the cache" test ! -e "$C"

tap_done
