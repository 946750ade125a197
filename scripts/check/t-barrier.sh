#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The barrier before an SGI, in the objects for arm64 and 32-bit arm: with each
# position of ARM_GIC_V3_IPI_ISHST and of ARM_GIC_V3_SGI_BROADCAST, every path
# has exactly that one before the first write, and an isb after the last.
set -eu
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/check/tap.sh"

"$TOP/scripts/tree.sh" >&2
need ccache aarch64-linux-gnu-gcc arm-linux-gnueabihf-gcc
PLACE=$WORK/barrier
mkdir -p "$PLACE"
use_ccache
OBJECT=drivers/irqchip/irq-gic-v3.o

kmake() { # ARGS...
	KCONFIG_ALLCONFIG=$PLACE/$arch.config make -s -C "$TREE" O="$PLACE/$arch" ARCH="$arch" \
		CROSS_COMPILE="$cross" CC="$CACHED_CC ${cross}gcc" -j"$JOBS" "$@"
}

object() { # ISHST BROADCAST
	{
		printf 'CONFIG_%s=y\n' EXPERT MMU ARCH_VIRT SMP PREEMPT
		[ "$arch" != arm ] || echo CONFIG_ARCH_MULTI_V7=y
		printf 'CONFIG_ARM_GIC_V3_IPI_ISHST=%s\n' "$1"
		printf 'CONFIG_ARM_GIC_V3_SGI_BROADCAST=%s\n' "$2"
	} >"$PLACE/$arch.config"
	kmake allnoconfig && kmake "$OBJECT" &&
		"${cross}objdump" -d --no-show-raw-insn "$PLACE/$arch/$OBJECT" >"$PLACE/$arch-$1-$2.dis" &&
		[ "$(grep -c '^CONFIG_ARM_GIC_V3_IPI_ISHST=y' "$PLACE/$arch/.config")" = "$([ "$1" = n ] && echo 0 || echo 1)" ]
}

order() { # BARRIER FILE
	awk -v barrier="$1" -f "$TOP/scripts/sgi-order.awk" "$2"
}

# the functions that send, without addresses: from the first of them to the isb of the last
send_path() {
	awk '
		/^[0-9a-f]+ <.*>:$/ { on = $2 ~ /^<(gic_ipi_send_mask|gic_send_sgi|gic_compute_target_list|gic_broadcast_sgi)/ }
		on { sub(/^[0-9a-f]+ </, "<"); sub(/^ *[0-9a-f]+:/, ""); gsub(/[0-9a-f]+ </, "<"); print }
	' "$1"
}

one_instruction() {
	for position in y n; do
		send_path "$PLACE/$arch-$position-y.dis" >"$PLACE/$arch-$position.path"
	done
	[ "$(wc -l <"$PLACE/$arch-y.path")" -gt 40 ] || { echo "the send path is not in the object"; return 1; }
	changes=$(diff "$PLACE/$arch-y.path" "$PLACE/$arch-n.path" | sed -n 's/^\([<>]\)[[:space:]]*\(.*\)/\1 \2/p' | tr -s ' \t' ' ')
	[ "$changes" = "< dsb ishst
> dsb st" ] || { printf '%s\n' "$changes"; return 1; }
}

# most of it is one thread
all_objects() {
	case $arch in
	arm64) cross=aarch64-linux-gnu- ;;
	arm) cross=arm-linux-gnueabihf- ;;
	esac
	for broadcast in y n; do
		for ishst in y n; do
			rm -f "$PLACE/$arch-$ishst-$broadcast".*
			object $ishst $broadcast >"$PLACE/$arch-$ishst-$broadcast.log" 2>&1 || continue
			touch "$PLACE/$arch-$ishst-$broadcast.built"
		done
	done
}
for arch in arm64 arm; do
	all_objects &
done
wait

built() { # ISHST BROADCAST
	[ -f "$PLACE/$arch-$1-$2.built" ] || { tail -n 5 "$PLACE/$arch-$1-$2.log"; return 1; }
}

for arch in arm64 arm; do
	for broadcast in y n; do
		check "$arch: builds with ISHST=y, SGI_BROADCAST=$broadcast" built y $broadcast
		check "$arch, SGI_BROADCAST=$broadcast: one dsb ishst on every path, no other barrier, isb at the end" \
			order "dsb ishst" "$PLACE/$arch-y-$broadcast.dis"
		check "$arch: builds with ISHST=n, SGI_BROADCAST=$broadcast" built n $broadcast
		check "$arch, SGI_BROADCAST=$broadcast, ISHST=n: one dsb st (wmb()) instead" \
			order "dsb st" "$PLACE/$arch-n-$broadcast.dis"
	done
	check "$arch: the two send paths differ in that one instruction" one_instruction
done

# a test that cannot fail is none
broken() {
	sed "$1" "$PLACE/arm64-y-y.dis" >"$PLACE/broken.dis"
	! cmp -s "$PLACE/broken.dis" "$PLACE/arm64-y-y.dis" && ! order "dsb ishst" "$PLACE/broken.dis"
}
check "... and the check sees a dmb in its place" broken 's/dsb\tishst/dmb\tishst/'
check "... and a barrier that is gone" broken 's/dsb\tishst/nop/'
check "... and an isb that is gone" broken 's/\tisb.*/\tnop/'

tap_done
