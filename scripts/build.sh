#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Configure and build the lab kernel, the selftests and the initramfs in KOUT.
# VARIANT=livepatch, ...: another kernel, with selftests/ipi/qemu/variant-....config.
# IPI_UNPATCHED=1: for a tree without the series. Its symbols are not asked for,
# and the selftests are those of this repository. IPI_PLAIN=1: no KUnit, lockdep
# and the like.
set -eu
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/arch.sh"

SELFTESTS=$TOP/selftests/ipi
FRAGMENT=$KOUT/lab.config

[ -f "$TREE/Makefile" ] || die "no kernel tree in $TREE: run \"make tree\""
[ -n "${IPI_UNPATCHED:-}" ] || [ -f "$TREE/tools/testing/selftests/ipi/Makefile" ] ||
	die "the series is not in $TREE: run \"make tree\", or set IPI_UNPATCHED=1 to do without"
need make "${CROSS}gcc" gcc ccache flex bison bc rsync
take_lock build
mkdir -p "$KOUT"

use_ccache

kmake() {
	# shellcheck disable=SC2086
	make O="$KOUT" ARCH="$KARCH" CROSS_COMPILE="$CROSS" CC="$CACHED_CC ${CROSS}gcc" $NO_RUST -j"$JOBS" "$@"
}

# a copy, since the path of the repository may have spaces
lab_header() {
	unset KCFLAGS
	[ -n "$LAB_HEADER" ] || return 0
	cmp -s "$SELFTESTS/qemu/$LAB_HEADER" "$KOUT/$LAB_HEADER" ||
		cp "$SELFTESTS/qemu/$LAB_HEADER" "$KOUT/$LAB_HEADER"
	export KCFLAGS="-include $KOUT/$LAB_HEADER"
}

# a variant's lines take the place of others
fragment() {
	whole_fragment | awk '
		{ name = "" }
		/^CONFIG_[A-Za-z0-9_]+=/ { name = $0; sub(/=.*/, "", name) }
		/^# CONFIG_[A-Za-z0-9_]+ is not set/ { name = $2 }
		{ line[NR] = $0; of[NR] = name; last[name] = NR }
		END { for (i = 1; i <= NR; i++) if (of[i] == "" || last[of[i]] == i) print line[i] }'
}

whole_fragment() {
	if [ -n "${IPI_UNPATCHED:-}" ]; then
		sed '/^# series/,$d' "$SELFTESTS/qemu/$ARCH.config"
	else
		cat "$SELFTESTS/qemu/$ARCH.config"
	fi
	cat "$SELFTESTS/qemu/kernel.config" "$SELFTESTS/config"
	[ -z "$VARIANT" ] || cat "$SELFTESTS/qemu/variant-$VARIANT.config"
}

# without what would be measured along
plain_fragment() {
	fragment | sed '/^# Tests/,/^$/d; /^# Detectors/,/STALL_TIMEOUT/d; /_KUNIT_TEST=/d; /^CONFIG_KVM=/d; /^CONFIG_VIRTUALIZATION=/d'
}

# names what the fragment wants and .config has otherwise
check_config() {
	wrong=$(awk '
		{ set = 0 }
		/^CONFIG_[A-Za-z0-9_]+=/ { i = index($0, "="); name = substr($0, 1, i - 1); value = substr($0, i + 1); set = 1 }
		/^# CONFIG_[A-Za-z0-9_]+ is not set/ { name = $2; value = "n"; set = 1 }
		!set { next }
		FILENAME == ARGV[1] { got[name] = value; next }
		{ have = name in got ? got[name] : "n" }
		have != value { print name, value, have }
	' "$KOUT/.config" "$FRAGMENT" | while read -r name want have; do
		grep -rqE --include='Kconfig*' "^[[:space:]]*(menu)?config ${name#CONFIG_}\$" "$TREE" ||
			have="no such symbol in this tree"
		printf '%s (wanted %s, got %s); ' "$name" "$want" "$have"
	done)
	[ -z "$wrong" ] || die "configuration not as wanted: ${wrong}see $FRAGMENT"
}

selftests() {
	install=$KOUT/kselftest_install
	in_tree=$TREE/tools/testing/selftests/ipi
	rm -rf "$install"
	[ -z "${IPI_UNPATCHED:-}" ] || rsync -a --delete --exclude=/qemu "$SELFTESTS/" "$in_tree/"
	kmake -C "$TREE/tools/testing/selftests" TARGETS=ipi FORCE_TARGETS=1 KDIR="$KOUT" \
		LDFLAGS=-static INSTALL_PATH="$install" install
	[ -z "${IPI_UNPATCHED:-}" ] || rm -rf "$in_tree"
	# the kernel's own, where the variant has it
	[ ! -f "$KOUT/kernel/scftorture.ko" ] ||
		cp "$KOUT/kernel/scftorture.ko" "$KOUT/kernel/torture.ko" "$install/ipi/test_modules/"
	"${CROSS}gcc" -static -O2 -Wall -o "$KOUT/lab-init" "$SELFTESTS/qemu/init.c"
	case $ARCH in
	x86_64 | i386) gcc -O2 -Wall -o "$KOUT/lab-tsc" "$SELFTESTS/qemu/tsc.c" ;;
	esac
}

initramfs() {
	{
		cat <<-EOF
			dir /dev 755 0 0
			nod /dev/console 600 0 0 c 5 1
			file /init $KOUT/lab-init 755 0 0
			dir /kselftest 755 0 0
		EOF
		cd "$KOUT/kselftest_install"
		find ipi -type d -exec printf 'dir /kselftest/%s 755 0 0\n' {} \;
		find ipi -type f \
			-exec printf "file /kselftest/%s $PWD/%s 755 0 0\\n" {} {} \;
	} >"$KOUT/initramfs.list"
	"$KOUT/usr/gen_init_cpio" "$KOUT/initramfs.list" >"$KOUT/initramfs.cpio.new"
	mv "$KOUT/initramfs.cpio.new" "$KOUT/initramfs.cpio"
}

lab_header
"${IPI_PLAIN:+plain_}fragment" >"$FRAGMENT"
KCONFIG_ALLCONFIG=$FRAGMENT
export KCONFIG_ALLCONFIG
step config kmake -C "$TREE" allnoconfig
check_config
step kernel kmake -C "$TREE" "$(basename "$IMAGE_FILE")" modules
step selftests selftests
step initramfs initramfs
