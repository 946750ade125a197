# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034,SC2154
# A small kernel and a copy of this repository that carries two patches for
# it, in a folder with a space: what takes minutes on the real one takes a
# second. Source it after lib.sh and tap.sh.

fake=$(mktemp -d)
trap 'rm -rf "$fake"' EXIT
unset BASE ARCH KSRC REF OUT DISCARD LOCK_WAIT
export XDG_CACHE_HOME="$fake/cache"
R="$fake/my repo"
cached=$fake/cache/ipi-series/base/mainline/7.3.4-1/linux-source-7.3.tar.xz

# expect TEXT STATUS PATTERN CMD...: both the status and a line of the output
expect() {
	text=$1 status=$2 pattern=$3
	shift 3
	got=0
	out=$("$@" 2>&1) || got=$?
	if [ "$got" -eq "$status" ] && printf '%s\n' "$out" | grep -q -e "$pattern"; then
		ok "$text"
	else
		not_ok "$text"
		printf '%s\n' "wanted: status $status and \"$pattern\"" "got:    status $got and" "$out" | sed 's/^/#   /'
	fi
}

fgit() {
	git -c user.name=A -c user.email=a@example.org -c commit.gpgSign=false "$@"
}

# fake_kernel FOLDER VERSION
fake_kernel() {
	mkdir -p "$1/kernel" "$1/drivers/irqchip" "$1/Documentation" "$1/tools/testing/selftests"
	printf '# SPDX\nVERSION = %s\nPATCHLEVEL = %s\nSUBLEVEL = 4\nEXTRAVERSION =\n' "${2%.*}" "${2#*.}" >"$1/Makefile"
	printf '*.o\n#\n# Debian packaging\n#\n/*\n!/debian/\n' >"$1/.gitignore"
	printf 'TARGETS += futex\nTARGETS += kcmp\n' >"$1/tools/testing/selftests/Makefile"
	printf 'index\n' >"$1/Documentation/index.rst"
	awk 'BEGIN { for (i = 1; i <= 60; i++) print "int line" i ";" }' | tee "$1/kernel/a.c" >"$1/drivers/irqchip/b.c"
	printf 'Descriptions\n\nMaintainers List\n----------------\n\n' >"$1/MAINTAINERS"
	printf '%s\nM:\tB <b@example.org>\nF:\tkernel/\n\n' 'ALPHA' 'ZETA' >>"$1/MAINTAINERS"
	printf 'THE REST\nM:\tL <l@example.org>\n' >>"$1/MAINTAINERS"
}

fake_tarball() {
	fake_kernel "$fake/linux-source-7.3" 7.3
	tar -C "$fake" -cJf "$fake/linux-source-7.3.tar.xz" linux-source-7.3
}

# the repository, with one patch to kernel/a.c and one that carries drop-ins
fake_repo() {
	fake_tarball
	mkdir -p "$R/patches/mainline" "$R/selftests/ipi" "$R/Documentation"
	cp -R "$TOP/scripts" "$R/"
	printf 'mainline 7.3 linux-source-7.3 trixie-backports 7.3.4-1 linux-source-7.3.tar.xz %s\n' \
		"$(sha256sum <"$fake/linux-source-7.3.tar.xz" | cut -c 1-64)" >"$R/patches/BASES"
	mkdir -p "${cached%/*}"
	cp "$fake/linux-source-7.3.tar.xz" "$cached"
	printf 'MIDDLE\nM:\tC <c@example.org>\n' >"$R/MAINTAINERS.fragment"
	printf 'test 1\n' >"$R/selftests/ipi/one.sh"
	chmod +x "$R/selftests/ipi/one.sh"
	printf 'text 1\n' >"$R/Documentation/ipi.rst"
	k=$fake/work
	cp -R "$fake/linux-source-7.3" "$k"
	git -C "$k" init -q
	fgit -C "$k" add -f -A
	fgit -C "$k" commit -q -m base
	sed -i 's/line30/changed30/' "$k/kernel/a.c"
	fgit -C "$k" commit -q -a -m 'a: Change line 30' -m 'Why.'
	mkdir "$k/tools/testing/selftests/ipi"
	cp "$R/selftests/ipi/one.sh" "$k/tools/testing/selftests/ipi/"
	cp "$R/Documentation/ipi.rst" "$k/Documentation/"
	sed -i 's/^TARGETS += kcmp/TARGETS += ipi\n&/' "$k/tools/testing/selftests/Makefile"
	sed -i 's/^ZETA/MIDDLE\nM:\tC <c@example.org>\n\n&/' "$k/MAINTAINERS"
	fgit -C "$k" add -f -A
	fgit -C "$k" commit -q -m 'selftests: Add ipi'
	fgit -C "$k" format-patch -q -o "$R/patches/mainline" HEAD~2
	{
		printf '# SPDX-License-Identifier: GPL-2.0\n\n# topic: first - the first\n0001-a-Change-line-30.patch\n'
		printf '\n# topic: tests - the tests\n0002-selftests-Add-ipi.patch\n'
	} >"$R/patches/mainline/series"
	printf 'cover\n' >"$R/patches/mainline/cover-letter.txt"
}
