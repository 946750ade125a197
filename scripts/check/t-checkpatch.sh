#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The contract of checkpatch-wrapper.sh with b4, its bad uses, and b4.cfg
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/check/tap.sh
. "$TOP/scripts/check/tap.sh"
# shellcheck source=scripts/check/fake.sh
. "$TOP/scripts/check/fake.sh"

wrapper=$TOP/scripts/checkpatch-wrapper.sh
real=$TREE
[ -f "$real/scripts/checkpatch.pl" ] || "$TOP/scripts/tree.sh" >&2
need perl

# a kernel tree with the real checkpatch and small files
K="$fake/a kernel"
fake_kernel "$K" 7.3
cp -R "$real/scripts" "$K/scripts"
for name in COPYING CREDITS Kbuild README arch include fs init ipc lib; do
	[ -e "$K/$name" ] || cp "$real/$name" "$K/$name" 2>/dev/null || mkdir "$K/$name"
done
cp "$real/MAINTAINERS" "$K/MAINTAINERS"
git -C "$K" init -q
fgit -C "$K" add -f -A
fgit -C "$K" commit -q -m base

# make_patch FILE SUBJECT [SIGN-OFF]: of what was changed in the tree
make_patch() {
	fgit -C "$K" commit -q -a -m "$2" -m "Because the line is better this way, which the test wants to see." ${3:+-s}
	git -C "$K" format-patch -1 --stdout >"$1"
}
sed -i 's/^int line10;/int better10;/' "$K/kernel/a.c"
make_patch "$fake/good.patch" 'kernel: Better line' sign
sed -i 's/^int line20;/int better20;/' "$K/kernel/a.c"
make_patch "$fake/nosign.patch" 'kernel: Another better line'
sed -i 's/^int line40;/int  bad40 ; /' "$K/kernel/a.c"
make_patch "$fake/bad.patch" 'kernel: Worse line' sign

wrap() { # FILE ARGS: as b4 calls it, in the tree
	in=$1
	shift
	cd "$K"
	"$wrapper" "$@" <"$in"
}

quiet() {
	out=$(wrap "$@" 2>&1) && [ -z "$out" ]
}

check "a good patch: silence and status 0" quiet "$fake/good.patch" --strict
expect "a missing sign-off is an ERROR: when it is sent" 1 'ERROR:.*MISSING_SIGN_OFF' wrap "$fake/nosign.patch"
check "and is tolerated in what is stored" quiet "$fake/nosign.patch" --stored
expect "trailing white space is an ERROR:" 1 'ERROR:.*TRAILING_WHITESPACE' wrap "$fake/bad.patch"
expect "in what is stored as well" 1 'ERROR:.*TRAILING_WHITESPACE' wrap "$fake/bad.patch" --stored
expect "with the place in the source" 1 '^kernel/a.c:[0-9]*: ERROR' wrap "$fake/bad.patch"
same "one line a finding, nothing on stderr" 0 "$(wrap "$fake/bad.patch" 2>&1 >/dev/null | wc -l)"

printf '// SPDX-License-Identifier: GPL-2.0\nint c;\n' >"$K/kernel/c.c"
fgit -C "$K" add -f kernel/c.c
mkdir "$fake/stored"
make_patch "$fake/stored/new.patch" 'kernel: Add a file' sign
expect "a new file without an entry in MAINTAINERS, to be sent or stored" 1 'FILE_PATH_CHANGES' \
	env KTREE="$K" "$wrapper" --stored "$fake/stored/new.patch"
printf -- '--- a/MAINTAINERS\n+++ b/MAINTAINERS\n' >"$fake/stored/other.patch"
expect "is tolerated in a stored series that patches MAINTAINERS" 0 '^$' env KTREE="$K" "$wrapper" --stored "$fake/stored/new.patch"
expect "but not when it is sent" 1 'FILE_PATH_CHANGES' env KTREE="$K" "$wrapper" "$fake/stored/new.patch"
git -C "$K" reset -q --hard HEAD~1

cd "$fake"
expect "files, from any folder, with KTREE=" 1 '^bad.patch: .*ERROR' env KTREE="$K" "$wrapper" good.patch bad.patch
expect "a good file" 0 '^$' env KTREE="$K" "$wrapper" --strict --codespell good.patch
range() {
	cd "$K"
	"$wrapper" "$@"
}
expect "a range of commits" 1 'ERROR:.*MISSING_SIGN_OFF' range HEAD~3..HEAD
expect "a good range" 0 '^$' range HEAD~3..HEAD~2

: >"$fake/empty"
printf 'hello\n' >"$fake/text"
expect "nothing on stdin" 2 'stdin is empty: a patch is wanted' wrap "$fake/empty"
expect "no patch on stdin" 2 'stdin is no patch' wrap "$fake/text"
expect "no such file" 2 'no such file: nowhere.patch' range nowhere.patch
expect "no such range" 2 'no range of commits.*: nowhere..HEAD' range nowhere..HEAD
expect "an unknown option" 2 'unknown option --nonsense; known: --strict' wrap "$fake/good.patch" --nonsense
expect "no kernel tree" 2 'no kernel tree in .*: run make tree, or set KTREE=' env KTREE="$fake" "$wrapper" good.patch

git -C "$K" config include.path "$TOP/b4.cfg"
b4_check() { # FILE: as b4 splits and runs the configured command
	cd "$K"
	python3 -c '
import shlex, subprocess, sys
lex = shlex.shlex(subprocess.check_output(["git", "config", "b4.prep-perpatch-check-cmd"], text=True).strip(), posix=True)
lex.whitespace_split = True
sys.exit(subprocess.run(list(lex), stdin=open(sys.argv[1])).returncode)' "$1"
}
expect "b4.cfg: its command finds the wrapper" 1 'ERROR:.*MISSING_SIGN_OFF' b4_check "$fake/nosign.patch"
expect "b4.cfg: and passes a good patch" 0 '^$' b4_check "$fake/good.patch"

tap_done
