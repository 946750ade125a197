#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# deps.sh SET...: installs the Debian packages of the sets that are missing; the
# set lab is that of ARCH
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

lab="make gcc libc6-dev flex bison bc libelf-dev libssl-dev perl python3 rsync cpio kmod ccache"
x86="gcc-i686-linux-gnu libc6-dev-i386-cross qemu-system-x86"
# on others than amd64, gcc is no compiler for it
[ "$(uname -m)" = x86_64 ] || x86="$x86 gcc-x86-64-linux-gnu libc6-dev-amd64-cross"
wanted=
for set in "$@"; do
	case $set-$ARCH in
	lab-x86_64 | lab-i386) set="lab-x86" ;;
	lab-arm | lab-arm64) set="lab-$ARCH" ;;
	esac
	case $set in
	base) wanted="$wanted git xz-utils ca-certificates util-linux" ;;
	lab-arm64) wanted="$wanted $lab gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-system-arm" ;;
	lab-arm) wanted="$wanted $lab gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-system-arm" ;;
	lab-x86) wanted="$wanted $lab $x86" ;;
	check) wanted="$wanted $x86 patch shellcheck sparse codespell coccinelle clang-19 python3-ply python3-git python3-sphinx python3-sphinx-rtd-theme gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf libc6-dev-armhf-cross" ;;
	long) wanted="$wanted gcc-s390x-linux-gnu gcc-hppa-linux-gnu" ;;
	bench) wanted="$wanted $x86 patch gnuplot-nox python3" ;;
	send) wanted="$wanted b4 git-filter-repo perl codespell python3-ply python3-git" ;;
	*) die "unknown set $set; known: base lab check long send bench" ;;
	esac
done
[ -n "$wanted" ] || die "name a set: base lab check long send bench"

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
	say "not a Debian system, nothing installed; Debian's names for what is needed:$wanted"
	exit 0
fi

missing=
for package in $wanted; do
	# shellcheck disable=SC2016
	status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || :)
	[ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
	root=
elif command -v sudo >/dev/null 2>&1; then
	root=sudo
else
	die "run this as root: apt-get install$missing"
fi

# The first error of apt is the cause, the last ones are only what follows from it
why() {
	grep -m 1 '^E:' "$OUT/log/deps.err" || tail -n 1 "$OUT/log/deps.err"
}

install() {
	# a foreign source that is down must not stop us; the install tells
	before=
	$root apt-get -q update 2>"$OUT/log/deps.err" || before=", after apt-get update: $(why)"
	# shellcheck disable=SC2086
	$root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
		-o DPkg::Lock::Timeout=300 install $missing 2>"$OUT/log/deps.err" && return 0
	die "apt-get install: $(why)$before"
}
[ -z "$root" ] || sudo -v || die "sudo does not let you: run as root: apt-get install$missing"
say "installing:$missing"
step deps install
