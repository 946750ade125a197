#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# make mbox and make dist: mailboxes that git am takes, checksums, and a
# tarball whose bytes do not depend on who makes it, where, when and how.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/check/tap.sh
. "$TOP/scripts/check/tap.sh"
real_base=$BASE
real_tree=$TREE
# shellcheck source=scripts/check/fake.sh
. "$TOP/scripts/check/fake.sh"

# dist_of TEXT: the folder that it says it wrote
dist_of() {
	printf '%s\n' "$out" | sed -n 's/^== \(mbox\|release\): //p'
}

sums_hold() {
	(cd "$1" && sha256sum --quiet -c SHA256SUMS && [ "$(wc -l <SHA256SUMS)" -eq $(($(find . -type f | wc -l) - 1)) ])
}

# --- on a small kernel
fake_repo
cp "$TOP/Makefile" "$TOP/b4.cfg" "$TOP/README" "$TOP/.gitignore" "$R/"
"$R/scripts/tree.sh" >/dev/null 2>&1
"$R/scripts/refresh.sh" >/dev/null 2>&1
dist=$R/scripts/dist.sh
P=$R/patches/mainline

expect "make mbox, not in a git checkout" 0 'mbox: .*/mainline/dist' "$dist" mbox
D=$(dist_of)
same "the series and each topic" "SHA256SUMS mainline-first.mbox mainline-tests.mbox mainline.mbox" "$(cd "$D" && echo *)"
check "the checksums are of all files there" sums_hold "$D"
cp -R "$fake/linux-source-7.3" "$fake/am"
git -C "$fake/am" init -q
fgit -C "$fake/am" add -f -A
fgit -C "$fake/am" commit -q -m base
check "git am takes the series" fgit -C "$fake/am" am -q "$D/mainline.mbox"
same "and it is the tree of make tree" "$(git -C "${D%/dist}/tree" rev-parse 'HEAD^{tree}:kernel')" "$(git -C "$fake/am" rev-parse 'HEAD^{tree}:kernel')"
git -C "$fake/am" reset -q --hard HEAD~2
check "and a topic" fgit -C "$fake/am" am -q "$D/mainline-first.mbox"
same "which is one commit" "a: Change line 30|base" "$(git -C "$fake/am" log --format=%s | tr '\n' '|' | sed 's/|$//')"
cp -R "$D" "$fake/first"
expect "again" 0 'mbox: ' "$dist" mbox
check "the same bytes" diff -r "$fake/first" "$D"

printf 'test 2\n' >"$R/selftests/ipi/one.sh"
expect "a selftest that was not refreshed" 1 'patches/mainline does not have selftests/ipi/one.sh as it is here: make refresh' "$dist" mbox
check "nothing is half done" diff -r "$fake/first" "$D"
printf 'test 1\n' >"$R/selftests/ipi/one.sh"
printf 'new\n' >"$R/Documentation/new.rst"
expect "a page that no patch carries" 1 'does not have Documentation/new.rst as it is here' "$dist" mbox
rm "$R/Documentation/new.rst"
sed -i 's/^Why\.$/Why.\n\nFrom me Mon Sep 17 00:00:00 2001/' "$P/0001-a-Change-line-30.patch"
expect "a text with a line that begins a message" 1 'mainline.mbox would split into 3 messages, not 2' "$dist" mbox
check "nothing is half done" diff -r "$fake/first" "$D"
sed -i '/^From me/,+0d' "$P/0001-a-Change-line-30.patch"
sed -i '1d' "$P/0002-selftests-Add-ipi.patch"
expect "a patch without its first line" 1 '0002-selftests-Add-ipi.patch does not begin as git format-patch writes it: make refresh' "$dist" mbox
sed -i '1i From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001' "$P/0002-selftests-Add-ipi.patch"
mv "$P/0002-selftests-Add-ipi.patch" "$fake/"
expect "a series that names a missing patch" 1 'series names 0002-selftests-Add-ipi.patch, which is not there' "$dist" mbox
mv "$fake/0002-selftests-Add-ipi.patch" "$P/"
cp -R "$P" "$fake/p"
rm "$P"/*.patch
printf '# topic: none - nothing\n' >"$P/series"
expect "a series without patches" 1 'has no patch' "$dist" mbox
rm -rf "$P"
mv "$fake/p" "$P"
"$R/scripts/tree.sh" >/dev/null 2>&1
"$R/scripts/refresh.sh" >/dev/null 2>&1
expect "KSRC= has no part in it" 1 'is made of patches/mainline alone: leave KSRC= and REF= out' env KSRC="$fake/am" "$dist" mbox
expect "an unknown thing to make" 1 'unknown: nothing; known: mbox release' "$dist" nothing
expect "make dist, not in a git checkout" 1 'a release is made from a git checkout' "$dist" release
(
	exec 9>"${D%/*/*}/dist.lock"
	flock -n 9
	sleep 2
) &
sleep 0.3
expect "two at once" 1 'another run uses' "$dist" mbox
wait

# --- a release
git -C "$R" init -q
expect "no commit yet" 1 'the repository has no commit yet' "$dist" release
fgit -C "$R" add -A
GIT_AUTHOR_DATE='@1700000000 +0500' GIT_COMMITTER_DATE='@1700000000 +0500' fgit -C "$R" commit -q -m 'All'
printf 'x\n' >"$R/left"
expect "a file that is not committed" 1 'left is not committed: commit or remove it' "$dist" release
rm "$R/left"
expect "make dist" 0 'release: ' "$dist" release
D=$(dist_of)
name=ipi-series-20231114-$(git -C "$R" rev-parse HEAD | cut -c 1-12)
same "the tarball bears the day and the commit" "$name.tar.gz" "$(cd "$D" && echo *.gz)"
check "the checksums are of all files there" sums_hold "$D"
same "git tells its commit" "$(git -C "$R" rev-parse HEAD)" "$(gzip -dc "$D/$name.tar.gz" | git get-tar-commit-id)"

# another clone: other place, time, umask, zone, settings, attributes, branch
git clone -q --no-local "$R" "$fake/another clone" 2>/dev/null
C="$fake/another clone"
git -C "$C" checkout -q --detach
printf '* text eol=crlf export-subst\nREADME export-ignore\n' >"$C/.git/info/attributes"
git -C "$C" config tar.umask 0077
git -C "$C" config core.abbrev 40
git -C "$C" config core.autocrlf true
git -C "$C" config tar.tar.gz.command false
git -C "$C" replace -f HEAD "$(fgit -C "$C" commit-tree -m other 'HEAD^{tree}')"
sleep 1
expect "make dist in another clone" 0 'release: ' \
	env -u LC_ALL HOME="$fake/nohome" TZ=Asia/Tokyo GZIP=-1 XZ_OPT=-0 LANG=de_DE.UTF-8 sh -c 'umask 077; exec "$1" release' - "$C/scripts/dist.sh"
check "has the same bytes, in all files" diff -r "$D" "$(dist_of)"
mkdir "$fake/unpacked"
check "it unpacks" tar -C "$fake/unpacked" -xzf "$D/$name.tar.gz"
check "to what is committed" diff -r -x .git -x build "$R" "$fake/unpacked/$name"
same "with ordinary modes, owners and times" "-rw-r--r-- root/root 2023-11-14" \
	"$(TZ=UTC tar -tvzf "$D/$name.tar.gz" --full-time "$name/README" | awk '{ print $1, $2, $4 }')"
expect "make mbox works in there" 0 'mbox: ' "$fake/unpacked/$name/scripts/dist.sh" mbox
check "and gives the same mailboxes" sh -c 'for f in "$1"/*.mbox; do cmp "$f" "$2/${f##*/}" || exit 1; done' - "$D" "$(dist_of)"
expect "make tree works in there" 0 'with 2 patches' "$fake/unpacked/$name/scripts/tree.sh"
fgit -C "$R" commit -q --allow-empty -m 'Next'
expect "the next commit" 0 'release: ' "$dist" release
check "is another release, and the old one is gone from the folder" sh -c '[ ! -e "$1" ] && ls "${1%/*}"/*.tar.gz' - "$D/$name.tar.gz"

# --- the real series
expect "make mbox of the real series" 0 'mbox: ' env BASE="$real_base" OUT="$fake/real" XDG_CACHE_HOME="${CACHE%/*}" "$TOP/scripts/dist.sh" mbox
D=$(dist_of)
check "the checksums are of all files there" sums_hold "$D"
am() { # MBOX: on the real base, in a worktree with an index and no files
	git -C "$real_tree" worktree add -q -f --no-checkout --detach "$fake/wt" refs/ipi/base &&
		git -C "$fake/wt" read-tree HEAD && fgit -C "$fake/wt" am -q "$1"
	rc=$?
	tree=$(git -C "$fake/wt" rev-parse 'HEAD^{tree}')
	git -C "$real_tree" worktree remove --force "$fake/wt"
	return $rc
}
if [ -d "$real_tree/.git" ]; then
	am "$D/$real_base.mbox" >/dev/null 2>&1 && ok "git am takes the series on the real base" || not_ok "git am takes the series on the real base"
	same "and it is the tree of make tree" "$(git -C "$real_tree" rev-parse 'refs/ipi/laid^{tree}')" "$tree"
	for mbox in "$D/$real_base"-*.mbox; do
		check "git am takes ${mbox##*/} alone" am "$mbox"
	done
else
	skip "git am takes the series on the real base" "make tree was not run"
fi

tap_done
