#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Virtual SGIs of a GICv4.1: with the Kconfig symbol off, the ITS is found by the
# base's code, and what sends is that plus the repairs that come before the symbol;
# what the boot says with the switch off, and with a bad value.
# The rest is in the KUnit suite gic-v4-1-vsgi, which each boot of the lab runs.
set -eu
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../arch.sh"
. "$(dirname "$0")/tap.sh"

"$TOP/scripts/tree.sh" >&2
need ccache aarch64-linux-gnu-gcc
S=$TOP/scripts
PLACE=$WORK/vsgi
mkdir -p "$PLACE"
use_ccache
FILE=drivers/irqchip/irq-gic-v3-its

kmake() { # ARGS...
	KCONFIG_ALLCONFIG=$PLACE/config make -s -C "$TREE" O="$PLACE/arm64" ARCH=arm64 \
		CROSS_COMPILE=aarch64-linux-gnu- CC="$CACHED_CC aarch64-linux-gnu-gcc" -j"$JOBS" "$@"
}

# the commit before the symbol came: the base with the repairs
before=$(before_symbol ARM_GIC_V4_1_LOCAL_VSGI)

# NAME SYMBOL [COMMIT]: the object of the tree's source, or of the one in COMMIT;
# kbuild takes a source in the output folder before the one in the tree
object() {
	printf 'CONFIG_%s=y\n' EXPERT SMP PREEMPT NUMA >"$PLACE/config"
	printf 'CONFIG_ARM_GIC_V4_1_LOCAL_VSGI=%s\n' "$2" >>"$PLACE/config"
	kmake allnoconfig || return 1
	rm -f "$PLACE/arm64/$FILE.c"
	if [ $# -gt 2 ]; then
		mkdir -p "$PLACE/arm64/${FILE%/*}"
		git -C "$TREE" show "$3:$FILE.c" >"$PLACE/arm64/$FILE.c" || return 1
	fi
	rc=0
	kmake "$FILE.o" || rc=1
	rm -f "$PLACE/arm64/$FILE.c"
	[ $rc -eq 0 ] && aarch64-linux-gnu-objdump -dr --no-show-raw-insn "$PLACE/arm64/$FILE.o" >"$PLACE/$1.dis"
}

# code FILE FUNCTION, without addresses; the compiler may add to a name, as in .isra.0
code() {
	awk -v name="<$2>:" '
		/^[0-9a-f]+ </ { symbol = $2; sub(/\.[a-z]+\.[0-9]+>:$/, ">:", symbol) }
		/^[0-9a-f]+ </ && symbol == name { on = 1; next }
		/^$/ { on = 0 }
		on && $2 ~ /^R_AARCH64_/ { print "\t" $2, $3; next }
		on { sub(/^ *[0-9a-f]+:/, ""); gsub(/[0-9a-f]+ </, "<"); print }
	' "$1"
}

same_code() { # NAME FUNCTION: of object NAME and of "off"
	code "$PLACE/$1.dis" "$2" >"$PLACE/$1.code"
	code "$PLACE/off.dis" "$2" >"$PLACE/off.code"
	[ "$(wc -l <"$PLACE/$1.code")" -gt 5 ] || { echo "no $2 in the object"; return 1; }
	diff "$PLACE/$1.code" "$PLACE/off.code"
}

differs() { # NAME FUNCTION
	! same_code "$1" "$2" >"$PLACE/diff" && ! grep "^no " "$PLACE/diff"
}

barriers() { # FILE: in the functions that a set goes through
	{
		code "$1" find_4_1_its
		code "$1" its_sgi_set_irqchip_state
	} | grep -cE '^\s*(dsb|dmb|isb|ldar|stlr|ldax|stlx|swp|cas|ldadd)' || :
}

check "the base's object builds" object base n refs/ipi/base
check "the object of the commit before ARM_GIC_V4_1_LOCAL_VSGI builds" object before n "$before"
check "the object with ARM_GIC_V4_1_LOCAL_VSGI=n builds" object off n
check "the object with ARM_GIC_V4_1_LOCAL_VSGI=y builds" object on y
check "with the symbol off, find_4_1_its() is the base's" same_code base find_4_1_its
check "... and with the symbol on it is another" differs on find_4_1_its
for function in its_sgi_set_irqchip_state its_configure_sgi; do
	check "with the symbol off, $function() is what the repairs made of it" same_code before $function
	check "... which is not the base's" differs base $function
done
same "setting a virtual SGI takes no barrier or atomic, base, off and on" "0 0 0" \
	"$(barriers "$PLACE/base.dis") $(barriers "$PLACE/off.dis") $(barriers "$PLACE/on.dis")"

# guest APPEND: 4 CPUs, the KUnit suites alone
guest() {
	if dir=$(env SMP=4 TESTS=none NAME=t-vsgi APPEND="$1" "$S/boot.sh" 2>"$PLACE/boot.log") &&
		"$S/verdict.sh" "$dir" >"$PLACE/verdict" 2>&1; then
		ok "boot with $1"
	else
		not_ok "boot with $1"
		grep FAIL "$PLACE/verdict" "$PLACE/boot.log" | sed 's/^/#   /'
	fi
	tr -d '\r' <"$dir/console.log" >"$PLACE/console"
}

said() { # TEXT: once
	[ "$(grep -cF -- "$1" "$PLACE/console")" -eq 1 ] || { grep -F "Virtual SGIs" "$PLACE/console"; return 1; }
}

if [ "$ARCH" = arm64 ] && [ -f "$KOUT/initramfs.cpio" ]; then
	guest irqchip.gicv4_1_local_vsgi=0
	check "... the log says so, and why" \
		said "ITS: Virtual SGIs through the nearest ITS: off (irqchip.gicv4_1_local_vsgi=0)"
	check "... KUnit ran with four sockets" grep -qE '^ *ok [0-9]+ 4 sockets, 2 ITSs each$' "$dir/results.ktap"
	if [ -n "${LONG:-}" ]; then
		guest irqchip.gicv4_1_local_vsgi=maybe
		check "... a bad value is named" said "\`maybe' invalid for parameter \`irqchip.gicv4_1_local_vsgi'"
		check "... and the default stands" said "ITS: Virtual SGIs through the nearest ITS: off (no GICv4.1 ITS)"
	fi
else
	skip "boots with the switch" "no arm64 lab kernel: run \"make run\""
fi

tap_done
