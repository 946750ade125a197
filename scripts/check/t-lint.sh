#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The repository itself: tables that must agree, shell scripts, patch headers.
set -eu
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/check/tap.sh"
cd "$TOP"

bases_rows() {
	awk '
		/^#/ || !NF { next }
		NF != 7 { print "row " NR ": " NF " fields, not 7"; bad = 1; next }
		seen[$1]++ { print "base " $1 " twice"; bad = 1 }
		$2 !~ /^[0-9]+\.[0-9]+$/ { print "kernel " $2; bad = 1 }
		index($5, $2 ".") != 1 { print $1 ": version " $5 " is not of " $2; bad = 1 }
		$7 !~ /^[0-9a-f]+$/ || length($7) != 64 { print $1 ": " $7 " is no SHA-256"; bad = 1 }
		{ rows++ }
		END { exit bad || !rows }
	' patches/BASES
}
check "patches/BASES: seven fields, one row a base, versions and checksums" bases_rows

bases() {
	awk '!/^#/ && NF { print $1 }' patches/BASES
}

series_files() {
	for base in $(bases); do
		dir=patches/$base
		listed=$(sed '/^#/d; /^$/d' "$dir/series")
		there=$(cd "$dir" && ls ./*.patch | sed 's,^\./,,')
		[ "$listed" = "$there" ] || { echo "$dir/series and the patches beside it differ"; return 1; }
		[ -n "$listed" ] || { echo "$dir/series is empty"; return 1; }
		awk '/^# topic: / { topic = 1 } !/^#/ && NF && !topic { print FILENAME ": a patch before the first topic"; exit 1 }' "$dir/series"
	done
}
check "patches/*/series lists each patch there, in order, under a topic" series_files

patch_headers() {
	for patch in patches/*/*.patch; do
		awk '
			FNR == 1 && !/^From 0+ / { print FILENAME ": no zero commit"; bad = 1 }
			/^---$/ { exit }
			/^Subject: / && !/^Subject: \[PATCH\] ([^ ]+: )+[A-Z]/ { print FILENAME ": " $0; bad = 1 }
			/^(Signed-off|Reviewed|Acked|Tested|Suggested)-by:/ { print FILENAME ": " $0; bad = 1 }
			END { exit bad }
		' "$patch" || return 1
		grep -q '^index [0-9a-f]\{40\}\.\.[0-9a-f]\{40\}' "$patch" || { echo "$patch: no full blob names"; return 1; }
	done
}
check "each patch: zero commit, full blob names, a subject of the kernel's form, no tags in anybody's name" patch_headers

one_author() {
	[ "$(cat patches/*/*.patch | grep -c '^From: ')" -ge 1 ] &&
		[ "$(cat patches/*/*.patch | grep '^From: ' | sort -u | wc -l)" -eq 1 ]
}
check "all patches have one author" one_author

scripts() {
	find scripts .ci selftests -type f \( -name '*.sh' -o -path '.ci/run' \) | sort
}
shell_scripts() {
	scripts | tr '\n' '\0' | xargs -0 shellcheck -S warning -x -s sh -e SC1090,SC1091
}
check "shellcheck has nothing to say" shell_scripts

executable() {
	for script in $(scripts); do
		case $(head -n 1 "$script") in
		'#!'*) [ -x "$script" ] || { echo "$script is not executable"; return 1; } ;;
		esac
	done
}
check "scripts with an interpreter line are executable" executable

help_lists() {
	make -s help >"$OUT/help.txt"
	for target in $(sed -n 's/^\.PHONY: //p' Makefile); do
		grep -q "^$target " "$OUT/help.txt" || { echo "make help does not list $target"; return 1; }
	done
}
make_out
check "make help lists every target" help_lists

help_variables() {
	for name in $(sed -n 's/^export //p' Makefile; sed -n 's/.*\$(\([A-Z]*\))$/\1/p' Makefile); do
		grep -q "\<$name=" "$OUT/help.txt" || { echo "make help does not name $name="; return 1; }
		grep -qE "\\$\{?$name\>" scripts/*.sh || grep -q "\.sh \$($name)" Makefile ||
			{ echo "no script reads $name"; return 1; }
	done
}
check "make help names every variable, and each is read" help_variables

readme() {
	for words in '.cache/ipi-series/out-<cksum>' 'check that in patches/mainline/series'; do
		grep -qF -- "$words" README || { echo "README does not say $words"; return 1; }
	done
}
check "README says where build/ is below a path with a space, whose topic a new commit gets" readme

switches() {
	for name in $(cat patches/*/*.patch | sed -n 's/^+[[:space:]]*\(irqchip\.[a-z0-9_]*\|smp\.[a-z0-9_]*\)=$/\1/p' | sort -u); do
		for page in README Documentation/admin-guide/ipi.rst; do
			grep -q "$name=" "$page" || { echo "$page does not have $name="; return 1; }
		done
		found=1
	done
	[ -n "${found:-}" ]
}
check "every switch of kernel-parameters.txt is in README and in the admin guide" switches

kconfig() {
	for name in $(cat patches/*/*.patch | sed -n 's/^+config \([A-Z0-9_]*\)$/\1/p' | sort -u); do
		grep -q "$name" README Documentation/admin-guide/ipi.rst || { echo "$name is not documented"; return 1; }
		found=1
	done
	[ -n "${found:-}" ]
}
check "every Kconfig symbol of the series is documented" kconfig

no_hosts() {
	! git grep -nIE '(https?|ftp)://' -- . ':!COPYING' |
		grep -vE 'https?://(lore\.kernel\.org|www\.kernel\.org|docs\.kernel\.org|git\.kernel\.org|[a-z]*\.invalid)/'
}
if git rev-parse -q --git-dir >/dev/null 2>&1; then
	check "no link but to kernel.org" no_hosts
else
	skip "no link but to kernel.org" "not a git checkout"
fi

tap_done
