#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# make tree and make refresh on a small kernel: what they do, what they refuse,
# and that nothing is lost.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/check/tap.sh
. "$TOP/scripts/check/tap.sh"
# shellcheck source=scripts/check/fake.sh
. "$TOP/scripts/check/fake.sh"

fake_repo
P=$R/patches/mainline
tree=$R/scripts/tree.sh
refresh=$R/scripts/refresh.sh

head_of() {
	git -C "$T" rev-parse HEAD
}

tcommit() {
	fgit -C "$T" add -A
	fgit -C "$T" commit -q -m "$1"
}

said() {
	printf '%s\n' "$out" | grep -q -e "$1"
}

cmp_files() { # FOLDER FILE...
	was=$1
	shift
	for file in "$@"; do
		cmp "$was/$file" "$P/$file" || return 1
	done
}

no_two_sh() {
	! grep -q two.sh "$P"/*.patch && grep -q 'test 2' "$P"/*.patch && grep -q 100755 "$P"/*selftests*.patch
}

# --- laid out
expect "a tree is laid out, in a repository whose path has a space" 0 'linux 7.3.4 with 2 patches' "$tree"
T=$(printf '%s\n' "$out" | sed -n 's/^== tree: \(.*\), linux.*/\1/p')
first=$(head_of)
same "it has the base and the series" "selftests: Add ipi|a: Change line 30|linux 7.3.4|" \
	"$(git -C "$T" log --format=%s | tr '\n' '|')"
same "one base commit, named by its ref" "linux 7.3.4" "$(git -C "$T" log -1 --format=%s refs/ipi/base)"
same "it is clean and on the branch ipi" "## ipi" "$(git -C "$T" status -b --porcelain)"
stat -c %Y "$T/kernel/a.c" "$T/.git/logs/HEAD" >"$fake/before"
expect "a second run has nothing to do" 0 '^== tree: ' "$tree"
stat -c %Y "$T/kernel/a.c" "$T/.git/logs/HEAD" >"$fake/after"
check "and touches nothing" cmp "$fake/before" "$fake/after"
expect "the same tree elsewhere" 0 'with 2 patches' env OUT="$fake/other" "$tree"
same "has the same commits, whoever makes it" "$first" "$(git -C "$fake/other/mainline/tree" rev-parse HEAD)"
expect "no git identity is needed, and the user's settings do not matter" 0 'with 2 patches' \
	env HOME="$fake/nohome" OUT="$fake/third" GIT_CONFIG_COUNT=3 \
	GIT_CONFIG_KEY_0=user.useConfigOnly GIT_CONFIG_VALUE_0=true \
	GIT_CONFIG_KEY_1=commit.gpgSign GIT_CONFIG_VALUE_1=true \
	GIT_CONFIG_KEY_2=apply.whitespace GIT_CONFIG_VALUE_2=error "$tree"

# --- refresh
cp -R "$P" "$fake/p0"
expect "a refresh of what git format-patch made" 0 'patches' "$refresh"
cp -R "$P" "$fake/p1"
expect "the next refresh has no change" 0 'no change' "$refresh"
check "and leaves no diff" diff -r "$fake/p1" "$P"
check "the series and the cover letter are as they were" \
	cmp_files "$fake/p0" series cover-letter.txt
printf '\n' >>"$P/0001-a-Change-line-30.patch"
expect "a refresh of a tree that has nothing new, when the patches changed" 1 'changed since the tree was laid: make tree first' "$refresh"
cp "$fake/p1"/*.patch "$P/"
rm -rf "$fake/other"
git -C "$T" config format.signOff true
git -C "$T" config diff.noprefix true
git -C "$T" config format.subjectPrefix RFC
expect "the tree's git settings do not matter" 0 'no change' "$refresh"
expect "a fresh tree from the refreshed series" 0 'with 2 patches' env OUT="$fake/other" "$tree"
expect "refreshes to the same" 0 'no change' env OUT="$fake/other" "$refresh"

printf 'int more;\n' >>"$T/drivers/irqchip/b.c"
expect "refresh: uncommitted changes are said" 1 'not clean (drivers/irqchip/b.c)' "$refresh"
expect "tree: they are used as they are" 0 'uncommitted changes (drivers/irqchip/b.c): used' "$tree"
tcommit 'b: Add more'
printf '\n' >>"$P/0001-a-Change-line-30.patch"
kept=$(head_of)
expect "tree: a commit that is not refreshed stops a new layout" 1 'commits that are not in patches/mainline (1 new): put the change in patches/ aside (git stash' "$tree"
check "which does not send one to refresh with that change in place" said 'aside.*, make refresh, then apply it again'
expect "refresh: does not overwrite patches that changed meanwhile" 1 'changed since the tree was laid: put the change in patches/ aside' "$refresh"
same "and the commit is there" "$kept" "$(head_of)"
cp "$fake/p1"/*.patch "$P/"
expect "tree: it is used as it is when the patches did not change" 0 '1 new): used as they are' "$tree"
expect "refresh: writes the new commit, under its predecessor's topic" 0 'new: 0003-b-Add-more.patch, under "topic: tests' "$refresh"
same "at its place in the series" "0003-b-Add-more.patch" "$(tail -n 1 "$P/series")"
check "the other patches did not change" cmp_files "$fake/p1" 0001-a-Change-line-30.patch 0002-selftests-Add-ipi.patch
fgit -C "$T" commit -q --amend -m 'b: Add other things'
expect "refresh: a new subject keeps its topic" 0 'new: 0003-b-Add-other-things.patch, under "topic: tests' "$refresh"
fgit -C "$T" rebase -q --onto HEAD~2 HEAD~1 ipi
fgit -C "$T" cherry-pick "$(git -C "$T" rev-parse ORIG_HEAD)~1" >/dev/null 2>&1
expect "refresh: commits in another order keep their topics" 0 '3 patches' "$refresh"
same "as the series says" "# topic: first - the first|0001-a-Change-line-30.patch|# topic: tests - the tests|0002-b-Add-other-things.patch|0003-selftests-Add-ipi.patch|" \
	"$(sed '1d;/^$/d' "$P/series" | tr '\n' '|')"
fgit -C "$T" commit -q --allow-empty -m 'empty'
expect "refresh: an empty commit is not dropped in silence" 1 '"empty" is empty' "$refresh"
git -C "$T" reset -q --hard HEAD~1
git -C "$T" checkout -q --detach
expect "refresh: a tree that is not on its branch" 1 'not on its branch ipi' "$refresh"
git -C "$T" checkout -q ipi

printf 'lost?\n' >>"$T/kernel/a.c"
tcommit 'a: Try'
mv "$P/0002-b-Add-other-things.patch" "$fake/"
sed -i '/0002-b/d' "$P/series"
gone=$(head_of)
expect "tree: DISCARD=1 lays out anew" 0 'discarded commits' env DISCARD=1 "$tree"
same "and even then the commit can be found" "$gone" "$(git -C "$T" rev-parse refs/ipi/discarded)"
same "a patch taken out is out" "selftests: Add ipi|a: Change line 30|linux 7.3.4|" "$(git -C "$T" log --format=%s | tr '\n' '|')"
touch -d '2020-01-01' "$T/kernel/a.c"
mv "$fake/0002-b-Add-other-things.patch" "$P/"
printf '0002-b-Add-other-things.patch\n' >>"$P/series"
printf 'mine\n' >"$T/notes.txt"
expect "tree: a patch put in is in" 0 'with 3 patches' "$tree"
same "files that are the same keep their times" 2020 "$(date -r "$T/kernel/a.c" +%Y)"
same "an untracked file stays" mine "$(cat "$T/notes.txt")"
rm "$T/notes.txt"
expect "refresh: renumbers" 0 '3 patches' "$refresh"

# --- a tree without its .git, in a repository
cp -R "$R" "$fake/plain"
git init -q "$fake/plain"
printf 'build/\n' >"$fake/plain/.gitignore"
fgit -C "$fake/plain" add -A
fgit -C "$fake/plain" commit -q -m theirs
expect "(a tree in build/ of a repository)" 0 'with 3 patches' "$fake/plain/scripts/tree.sh"
rm -rf "$fake/plain/build/mainline/tree/.git"
printf 'edited\n' >"$fake/plain/patches/mainline/cover-letter.txt"
printf '\n' >>"$fake/plain/patches/mainline/0001-a-Change-line-30.patch"
expect "a tree that lost its .git" 1 '^ipi: git cannot read .*/build/mainline/tree' env DISCARD=1 "$fake/plain/scripts/tree.sh"
same "is not taken for the repository around it" edited "$(cat "$fake/plain/patches/mainline/cover-letter.txt")"
expect "refresh does not either" 1 '^ipi: git cannot read .*/build/mainline/tree' "$fake/plain/scripts/refresh.sh"
rm -rf "$fake/plain"

# --- drop-ins
printf 'test 2\n' >"$R/selftests/ipi/one.sh"
printf 'two\n' >"$R/selftests/ipi/two.sh"
printf 'text 2\n' >"$R/Documentation/ipi.rst"
printf 'MIDDLE\nM:\tD <d@example.org>\n' >"$R/MAINTAINERS.fragment"
expect "a changed selftest reaches the tree" 0 'tree:' "$tree"
same "with the new file, the text and the maintainers" "test 2|two|text 2|M:	D <d@example.org>" \
	"$(cat "$T/tools/testing/selftests/ipi/one.sh")|$(cat "$T/tools/testing/selftests/ipi/two.sh")|$(cat "$T/Documentation/ipi.rst")|$(sed -n '/^MIDDLE/{n;p}' "$T/MAINTAINERS")"
same "in the commit that adds them, none more" "linux 7.3.4" "$(git -C "$T" log -1 --format=%s HEAD~3)"
same "the order of MAINTAINERS holds" "ALPHA MIDDLE ZETA " "$(grep -E '^(ALPHA|MIDDLE|ZETA)$' "$T/MAINTAINERS" | tr '\n' ' ')"
rm "$R/selftests/ipi/two.sh"
expect "refresh writes them into the patch" 0 '3 patches' "$refresh"
check "a selftest taken away is gone" no_two_sh
expect "and the next has no change" 0 'no change' "$refresh"
git init -q "$R"
printf '*.o\n' >"$R/selftests/ipi/.gitignore"
printf 'built\n' >"$R/selftests/ipi/one.o"
printf 'other\n' >"$R/selftests/ipi/three.sh"
expect "in a git checkout, what is not yet committed goes in as well" 0 '3 patches written' "$refresh"
same "what is built does not" ".gitignore one.sh three.sh " \
	"$(git -C "$T" ls-tree --name-only HEAD:tools/testing/selftests/ipi | tr '\n' ' ')"
rm -rf "$R/.git" "$R/selftests/ipi/one.o" "$R/selftests/ipi/.gitignore" "$R/selftests/ipi/three.sh"
expect "(back to one selftest)" 0 '3 patches written' "$refresh"
printf 'by hand\n' >"$T/tools/testing/selftests/ipi/one.sh"
tcommit 'selftests: Edit the copy'
expect "an edited copy is refused" 1 'edit selftests/ipi/one.sh in the repository' "$refresh"
git -C "$T" reset -q --hard HEAD~1

# --- what does not apply
cp "$P/0001-a-Change-line-30.patch" "$fake/b.patch"
sed -i 's/^-int line30/-int other30/' "$P/0001-a-Change-line-30.patch"
kept=$(head_of)
expect "a patch that does not apply is named" 1 '0001-a-Change-line-30.patch does not apply to linux 7.3.4' "$tree"
check "with its file and hunk" said 'kernel/a.c: hunk 1'
same "and the tree is as before, with no am in progress" "$kept ipi " \
	"$(head_of) $(git -C "$T" symbolic-ref --short HEAD) $(find "$(git -C "$T" rev-parse --absolute-git-dir)" -name 'rebase-*')"
cp "$fake/b.patch" "$P/0001-a-Change-line-30.patch"
expect "once repaired there is nothing left to do" 0 '^== tree: ' "$tree"
cp "$P/0001-a-Change-line-30.patch" "$P/0009-again.patch"
printf '0009-again.patch\n' >>"$P/series"
expect "a patch the base has already" 1 'already upstream, drop it' "$tree"
rm "$P/0009-again.patch"
expect "a series that names a missing patch" 1 'series names 0009-again.patch, which is not there' "$tree"
sed -i '/0009/d' "$P/series"
cp "$P/0001-a-Change-line-30.patch" "$P/0009-again.patch"
expect "a patch the series does not name" 1 '0009-again.patch is not in series' "$tree"
rm "$P/0009-again.patch"

# --- the base changed: the tree goes, and all that is in it
expect "(the tree as the patches have it)" 0 'tree:' "$tree"
cp "$R/patches/BASES" "$fake/BASES"
sed -i 's/ 7.3.4-1 / 7.3.4-2 /' "$R/patches/BASES"
mkdir -p "${cached%/*/*}/7.3.4-2"
cp "$cached" "${cached%/*/*}/7.3.4-2/"
printf 'mine\n' >"$T/notes.txt"
expect "another base, and a new file in the tree" 1 'the base changed, but .* has uncommitted changes (notes.txt): save' "$tree"
rm "$T/notes.txt"
git -C "$T" branch -q wip
git -C "$T" update-ref refs/heads/wip "$(fgit -C "$T" commit-tree -p HEAD -m 'a: Later' "HEAD^{tree}")"
expect "another base, and a branch in the tree" 1 'the base changed, but .* has commits that are not in patches/ (.* a: Later)' "$tree"
git -C "$T" branch -q -D wip
expect "another base, and nothing to lose" 0 'with 3 patches' "$tree"
cp "$fake/BASES" "$R/patches/BASES"
expect "(and back)" 0 'with 3 patches' "$tree"

# --- interrupted; the group is killed, as with a power cut
expect "(the tree to compare with)" 0 'tree:' "$tree"
want=$(head_of)
interrupt() { # DELAY CMD
	setsid "$2" >/dev/null 2>&1 &
	pid=$!
	sleep "$1"
	kill -9 -- "-$pid" 2>/dev/null || :
	wait "$pid" 2>/dev/null || :
}
for delay in 0.05 0.1 0.15 0.2 0.25 0.3 0.4 0.5; do
	rm -rf "$T" "${T%/tree}/stamp"
	interrupt $delay "$tree"
	expect "killed after $delay s, then again" 0 'tree:' "$tree"
	same "has the same commits" "$want " "$(head_of) $(git -C "$T" status --porcelain)"
done
sed 's/changed30/CHANGED30/' "$P/0001-a-Change-line-30.patch" >"$fake/a.patch"
for delay in 0.1 0.15 0.2 0.25 0.3 0.35 0.4; do
	cp "$fake/a.patch" "$P/0001-a-Change-line-30.patch"
	interrupt $delay "$tree"
	cp "$fake/b.patch" "$P/0001-a-Change-line-30.patch"
	expect "killed after $delay s of a new layout, then again" 0 'tree:' "$tree"
	same "has the same commits" "$want " "$(head_of) $(git -C "$T" status --porcelain)"
done
git -C "$T" update-ref refs/ipi/next "$want"
git -C "$T" update-ref refs/ipi/next-laid "$want"
printf 'half\n' >"$T/kernel/a.c"
: >"$T/.git/index.lock"
expect "killed in the middle of the checkout" 0 'finishing that' "$tree"
same "is made whole" "$want " "$(head_of) $(git -C "$T" status --porcelain)"
cp -R "$P" "$fake/p2"
mv "$P" "$R/patches/.mainline.old"
expect "refresh killed between its renames" 0 'no change' "$refresh"
check "has the patches" diff -r "$fake/p2" "$P"

# --- the user's own source
U=$fake/user
cp -R "$fake/linux-source-7.3" "$U"
git -C "$U" init -q -b mine
fgit -C "$U" add -f -A
fgit -C "$U" commit -q -m 'their base'
sed -i 's/line2;/theirs2;/' "$U/drivers/irqchip/b.c"
cp "$U/.git/index" "$fake/index"
expect "KSRC= a git tree" 0 'with 3 patches' env KSRC="$U" "$tree"
K=$(printf '%s\n' "$out" | sed -n 's/^== tree: \(.*\), linux.*/\1/p')
check "uncommitted changes there are said" said 'KSRC has uncommitted changes'
same "the series is on their commit" "their base" "$(git -C "$K" log -1 --format=%s HEAD~3)"
same "their branches, HEAD, files and refs are untouched" "refs/heads/mine|refs/heads/mine| M drivers/irqchip/b.c" \
	"$(git -C "$U" symbolic-ref HEAD)|$(git -C "$U" for-each-ref --format='%(refname)')|$(git -C "$U" status --porcelain)"
expect "again: nothing to do" 0 '^== tree: ' env KSRC="$U" "$tree"
fgit -C "$U" commit -q -a -m 'their next'
expect "again on their next commit" 0 'with 3 patches' env KSRC="$U" "$tree"
same "is laid on that" "their next" "$(git -C "$K" log -1 --format=%s HEAD~3)"
git -C "$U" worktree remove --force "$K"
expect "again when the worktree was removed" 0 'with 3 patches' env KSRC="$U" "$tree"
expect "REF=" 0 'with 3 patches' env KSRC="$U" REF=mine~1 "$tree"
expect "REF= unknown" 1 'REF=nothing is no commit of KSRC=' env KSRC="$U" REF=nothing "$tree"
expect "REF= without KSRC=" 1 'REF= goes with KSRC=' env REF=mine "$tree"
git clone -q --depth 1 "file://$U" "$fake/shallow"
expect "a shallow clone" 0 'with 3 patches' env KSRC="$fake/shallow" "$tree"
expect "refresh refuses it" 1 'refresh works on the pinned base' env KSRC="$U" "$refresh"
expect "KSRC= a tarball" 0 'with 3 patches' env KSRC="$fake/linux-source-7.3.tar.xz" "$tree"
same "the pinned tree is another one, untouched" "$want" "$(head_of)"
expect "KSRC= a folder that is neither" 1 'neither a git tree nor a tarball' env KSRC="$fake/linux-source-7.3" "$tree"
expect "KSRC= a file that is neither" 1 'neither a git tree nor a tarball' env KSRC="$R/patches/BASES" "$tree"
expect "KSRC= nothing there" 1 'does not exist' env KSRC="$fake/nowhere" "$tree"
tar -C "$fake" -cJf "$fake/no.tar.xz" p0
expect "KSRC= a tarball without a kernel" 1 'is no kernel source' env KSRC="$fake/no.tar.xz" "$tree"
git init -q "$fake/nokernel"
fgit -C "$fake/nokernel" commit -q --allow-empty -m x
expect "KSRC= a git tree without a kernel" 1 'is no kernel tree' env KSRC="$fake/nokernel" "$tree"
fake_kernel "$fake/k6" 6.1
sed -i 's/line2/other2/' "$fake/k6/kernel/a.c"
git -C "$fake/k6" init -q
fgit -C "$fake/k6" add -f -A
fgit -C "$fake/k6" commit -q -m 6.1
expect "KSRC= another version" 1 '0001-a-Change-line-30.patch does not apply to linux 6.1.4' env KSRC="$fake/k6" "$tree"
check "with file and hunk" said 'kernel/a.c: hunk 1'
check "and what the series is made for" said 'patches/mainline is made for Linux 7.3$'
same "no worktree but the tree stays behind" 2 "$(git -C "$fake/k6" worktree list | wc -l)"
sed -e 's/other2/line2/' -e 's/line30/changed30/' -i "$fake/k6/kernel/a.c"
fgit -C "$fake/k6" commit -q -a -m 6.1.next
printf 'older 6.1 linux-source-6.1 bookworm 6.1.4-1 linux-source-6.1.tar.xz 0\n' >>"$R/patches/BASES"
expect "another version that has a patch already" 1 'already upstream, drop it' env KSRC="$fake/k6" "$tree"
check "and the base that is for it" said 'made for Linux 7.3; BASE=older is for 6.1.4'
sed -i '/^older/d' "$R/patches/BASES"

# --- their other worktrees, and what a run that was killed leaves in theirs
V=$fake/their
git clone -q "$U" "$V"
git -C "$V" worktree add -q --detach "$fake/usb"
mv "$fake/usb" "$fake/unplugged"
expect "KSRC= with a worktree on a disk that is not there" 0 'with 3 patches' env KSRC="$V" "$tree"
K=$(printf '%s\n' "$out" | sed -n 's/^== tree: \(.*\), linux.*/\1/p')
mv "$fake/unplugged" "$fake/usb"
check "which git still knows when it is back" git -C "$fake/usb" status
for place in "$K.tmp" "${K%/tree}/am"; do
	git -C "$V" worktree add -q --no-checkout --detach "$place"
	git -C "$V" worktree lock --reason initializing "$place"
done
rm -rf "$K.tmp" "$K"
rm -f "${K%/tree}/stamp"
expect "after worktrees that were never finished" 0 'with 3 patches' env KSRC="$V" "$tree"
same "there are theirs and ours" "$(printf '%s\n' "$V" "$fake/usb" "$K" | sort)" \
	"$(git -C "$V" worktree list | cut -d ' ' -f 1 | sort)"
for delay in 0.05 0.1 0.15 0.2 0.25 0.3; do
	rm -rf "$K" "${K%/tree}/stamp"
	KSRC=$V interrupt $delay "$tree"
	expect "KSRC=, killed after $delay s, then again" 0 'tree:' env KSRC="$V" "$tree"
	same "is whole" "3 " "$(git -C "$K" rev-list --count refs/worktree/ipi/base..HEAD) $(git -C "$K" status --porcelain)"
done
printf 'int mine;\n' >>"$K/kernel/a.c"
fgit -C "$K" commit -q -a -m 'a: Mine'
printf 'more\n' >"$V/more"
fgit -C "$V" add -f more
fgit -C "$V" commit -q -m more
expect "a commit in the tree for KSRC= is not thrown away" 1 'format-patch -o FOLDER refs/worktree/ipi/laid' env KSRC="$V" "$tree"
check "nor is refresh advised, which refuses it" eval '! said "make refresh"'
same "what is advised saves it" 1 \
	"$(git -C "$K" format-patch -o "$fake/saved" refs/worktree/ipi/laid | wc -l)"
expect "and it can be thrown away" 0 'discarded commits' env KSRC="$V" DISCARD=1 "$tree"
rm -rf "$V/.git/worktrees"/tree*
expect "their repository has forgotten the tree" 1 'git cannot read .*/tree (.*): save what you need' env KSRC="$V" "$tree"

# --- one line, and nothing left behind, for what cannot be used
B=${K%/*/tree}
ksrc_folders() {
	find "$B" -maxdepth 1 -name 'ksrc-*' | sort
}
one_line() { # TEXT PATTERN VAR=VALUE...
	text=$1 pattern=$2
	shift 2
	had=$(ksrc_folders)
	expect "$text" 1 "^ipi: $pattern" env "$@" "$tree"
	out=$(printf '%s\n' "$out" | grep -v '^== ')
	same "... in one line, and leaves no folder" "1 $had" "$(printf '%s\n' "$out" | wc -l) $(ksrc_folders)"
}
one_line "KSRC= some folder" 'KSRC=/usr is neither' KSRC=/usr
one_line "REF= is not there" 'REF=none is no commit' KSRC="$V" REF=none
git init -q "$fake/unborn"
one_line "KSRC= without a commit" "KSRC=$fake/unborn has no commit on its branch" KSRC="$fake/unborn"
one_line "KSRC= without a kernel" ".* is no kernel tree at HEAD" KSRC="$fake/nokernel"
tar -C "$fake" -cf "$fake/cut.tar" linux-source-7.3
truncate -s 3000 "$fake/cut.tar"
one_line "KSRC= a tarball that is cut" "$fake/cut.tar cannot be unpacked (cut or damaged?): tar: " KSRC="$fake/cut.tar"
one_line "OUT= where nothing can be" 'cannot write to /proc/x/y: set OUT=' OUT=/proc/x/y
one_line "OUT= with other things in it" "OUT=$fake/user holds other things (.*): give a new or an empty folder" OUT="$fake/user"
one_line "JOBS= is no number" 'JOBS=many: give a number' JOBS=many
one_line "JOBS= is none" 'JOBS=0: give a number' JOBS=0

# --- the surroundings
expect "an unknown base" 1 'unknown BASE=nosuch; known: mainline' env BASE=nosuch "$tree"
expect "an unknown architecture" 1 'unknown ARCH=vax; known: arm64' env ARCH=vax "$tree"
can_run=
for arch in arm64 arm x86_64 i386 riscv64; do
	# shellcheck disable=SC2016
	! env ARCH="$arch" sh -euc '. "${0%/*}/lib.sh"; . "${0%/*}/arch.sh"; : "$QEMU"' "$R/scripts/x" >/dev/null 2>&1 ||
		can_run="$can_run $arch"
done
same "those named are those that can be run" "known:$can_run" "$(printf '%s\n' "$out" | sed 's/.*; //')"
expect "two names are none" 1 'unknown ARCH=arm64 arm' env ARCH="arm64 arm" "$tree"
expect "OUT= with a space" 1 'neither space nor colon' env OUT="$fake/o u t" "$tree"
(
	exec 9>"${T%/*/*}/tree.lock"
	flock -n 9
	sleep 3
) &
sleep 0.3
expect "two at once" 1 'another run uses .*: wait for it or set OUT=' "$tree"
wait
mkdir "$fake/nogit" "$fake/nodisk"
ln -s /usr/bin/* "$fake/nogit/"
rm "$fake/nogit/git"
expect "git is missing" 1 'missing: git; "make deps" installs' env PATH="$fake/nogit" "$tree"
rm "$fake/nogit/dpkg-query"
expect "and there is no dpkg" 1 'missing: git; install that' env PATH="$fake/nogit" "$tree"
printf '#!/bin/sh\necho head\necho fs 9 9 9 9%% /\n' >"$fake/nodisk/df"
chmod +x "$fake/nodisk/df"
expect "no disk space" 1 'no room: .* make room or set OUT=' env PATH="$fake/nodisk:$PATH" OUT="$fake/full" "$tree"
rm -rf "$T" "$P"
rm -f "${T%/tree}/stamp"
expect "a base whose patches are gone" 1 'patches/mainline/series is missing: restore it' "$tree"
mkdir "$P"
expect "nor is an empty folder a series" 1 'patches/mainline/series is missing: restore it' "$tree"
printf '# SPDX-License-Identifier: GPL-2.0\n' >"$P/series"
expect "a base without patches" 0 'with 0 patches' "$tree"
printf 'int new;\n' >>"$T/kernel/a.c"
tcommit 'a: Begin'
expect "its first commit" 0 'new: 0001-a-Begin.patch, under "topic: unsorted"' "$refresh"
expect "and its next refresh" 0 'no change' "$refresh"

tap_done
