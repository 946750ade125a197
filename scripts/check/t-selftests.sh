#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The ways in which people build selftests/ipi: in the tree, with O= absolute
# and relative, install, and alone against the headers of a kernel.
set -eu
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/arch.sh"
. "$TOP/scripts/check/tap.sh"

"$TOP/scripts/tree.sh" >&2
"$TOP/scripts/build.sh" >&2
tmp=$OUT/selftests
rm -rf "$tmp"
mkdir -p "$tmp"
programs=$(sed -n 's/^TEST_GEN_PROGS\(_EXTENDED\)\{0,1\} := //p' "$TOP/selftests/ipi/Makefile")
modules=$(sed -n 's/^obj-m += //p' "$TOP/selftests/ipi/test_modules/Makefile")

ksft() { # FOLDER ARGS...
	folder=$1
	shift
	make -C "$folder" ARCH="$KARCH" CROSS_COMPILE="$CROSS" KDIR="$KOUT" TARGETS=ipi FORCE_TARGETS=1 "$@"
}

# built FOLDER: all programs and modules are there, for this architecture
built() {
	for program in $programs; do
		[ -x "$1/$program" ] || { echo "$1/$program is missing"; return 1; }
		"${CROSS}objdump" -f "$1/$program" >/dev/null || return 1
	done
	for module in $modules; do
		[ -f "$1/test_modules/${module%.o}.ko" ] || { echo "$1/test_modules/${module%.o}.ko is missing"; return 1; }
	done
}

no_warning() {
	! grep -iE 'warning|error' "$tmp/log"
}

in_tree() {
	ksft "$TREE/tools/testing/selftests" >"$tmp/log" 2>&1 || { tail -n 5 "$tmp/log"; return 1; }
	built "$TREE/tools/testing/selftests/ipi"
}
check "make -C tools/testing/selftests TARGETS=ipi" in_tree
check "... without a warning" no_warning
same "... .gitignore covers what is built" "" "$(git -C "$TREE" status --porcelain -- tools/testing/selftests)"
in_tree_clean() {
	ksft "$TREE/tools/testing/selftests" clean >"$tmp/log" 2>&1 || { tail -n 5 "$tmp/log"; return 1; }
	[ ! -e "$TREE/tools/testing/selftests/ipi/ipi_call" ]
}
check "... and clean removes it" in_tree_clean

absolute() {
	mkdir -p "$tmp/abs"
	ksft "$TREE/tools/testing/selftests" O="$tmp/abs" >"$tmp/log" 2>&1 || { tail -n 5 "$tmp/log"; return 1; }
	for program in $programs; do
		find "$tmp/abs" -name "$program" -type f | grep -q . || { echo "$program is missing"; return 1; }
	done
}
check "with O=<absolute folder>" absolute

relative() {
	mkdir -p "$TREE/../../selftests/rel"
	(cd "$TREE" && ksft tools/testing/selftests O=../../selftests/rel) >"$tmp/log" 2>&1 || { tail -n 5 "$tmp/log"; return 1; }
	for program in $programs; do
		find "$tmp/rel" -name "$program" -type f | grep -q . || { echo "$program is missing"; return 1; }
	done
}
check "with O=<relative folder>" relative

installed() {
	ksft "$TREE/tools/testing/selftests" O="$tmp/abs" INSTALL_PATH="$tmp/install" install >"$tmp/log" 2>&1 ||
		{ tail -n 5 "$tmp/log"; return 1; }
	built "$tmp/install/ipi" && grep -qx "ipi:ipi_call" "$tmp/install/kselftest-list.txt"
}
check "install" installed

alone() {
	cp -R "$TOP/selftests/ipi" "$tmp/alone"
	make -C "$tmp/alone" ARCH="$KARCH" CROSS_COMPILE="$CROSS" KDIR="$KOUT" >"$tmp/log" 2>&1 ||
		{ tail -n 5 "$tmp/log"; return 1; }
	built "$tmp/alone"
}
check "alone, against the headers of a kernel" alone
check "... without a warning" no_warning

native() {
	cp -R "$TOP/selftests/ipi" "$tmp/native"
	make -C "$tmp/native" >"$tmp/log" 2>&1 || { tail -n 5 "$tmp/log"; return 1; }
	for program in $programs; do
		[ -x "$tmp/native/$program" ] || { echo "$program is missing"; return 1; }
	done
}
check "for this machine, without headers: the programs" native
skips() {
	rc=0
	"$tmp/native/ipi_call" >"$tmp/skip" 2>&1 || rc=$?
	[ "$rc" -eq 4 ] && grep -q '# SKIP .' "$tmp/skip"
}
check "... which skip, and say why, where there is no module" skips

tap_done
