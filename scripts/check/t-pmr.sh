#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The synchronisation of ICC_PMR_EL1: every site of pmr_sync(), as it was built
# and as a booted guest has it, in the modes of irqchip.gicv3_pmr_sync=; CPU
# hotplug and an NMI backtrace in each; what local_irq_restore() takes.
# PMR_KERNEL=<O= folder>: that kernel, a mutant, in place of the lab's; one boot.
set -eu
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../arch.sh"
. "$(dirname "$0")/tap.sh"

here=$TOP/scripts/check/pmr
kernel=${PMR_KERNEL:-$KOUT}
if [ "$ARCH" != arm64 ] || [ ! -f "$kernel/vmlinux" ]; then
	skip "ICC_PMR_EL1 synchronisation" "no arm64 lab kernel: run \"make run\""
	tap_done
	exit
fi
need make gcc "${CROSS}gcc" ccache "$QEMU"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

use_ccache

kmake() { # OUT ARGS...
	kmake_out=$1
	shift
	# shellcheck disable=SC2086
	make -s -C "$TREE" O="$kmake_out" ARCH="$KARCH" CROSS_COMPILE="$CROSS" CC="$CACHED_CC ${CROSS}gcc" $NO_RUST -j"$JOBS" "$@"
}

config() { grep -q "^CONFIG_$1=y" "$kernel/.config"; }

cap=$(awk '$2 == "ARM64_HAS_GIC_PRIO_RELAXED_SYNC" { print $3 }' \
	"$kernel/arch/arm64/include/generated/asm/cpucap-defs.h")
gcc -O2 -Wall -o "$tmp/sites" "$here/sites.c"

# --- as built, the lab kernel
"$tmp/sites" "$cap" "$kernel/vmlinux" >"$tmp/built"
all=$(grep -cE ' (text|init) ' "$tmp/built" || :)
in_text=$(grep -c ' text ' "$tmp/built" || :)
init=$((all - in_text))
echo "# $all sites of pmr_sync(), $init of them in code that is freed after the boot"
check "there are sites, and each is built as dsb sy" \
	awk '/ (text|init) / { n++; if ($4 != "dsb") bad = 1 } END { exit bad || n < 100 }' "$tmp/built"
same "no dsb sy after a write to ICC_PMR_EL1 escapes the patching" "bare 0" \
	"$(tail -n 1 "$tmp/built" | grep -o 'bare [0-9]*')"
for name in ret_to_user ret_to_kernel; do
	check "entry.S: $name is among them" grep -q " $name+" "$tmp/built"
done
if config KVM; then
	check "KVM, VHE: __kvm_vcpu_run is among them" grep -q ' __kvm_vcpu_run+' "$tmp/built"
	check "KVM, nVHE: __kvm_vcpu_run is among them" grep -q ' __kvm_nvhe___kvm_vcpu_run+' "$tmp/built"
else
	not_ok "KVM: the lab kernel has to have CONFIG_KVM"
fi

# clearing PMHE: the write, its isb, the dsb sy, in this order; the write may be inline
clears() {
	"${CROSS}objdump" -d --no-show-raw-insn "$kernel/arch/arm64/kernel/cpufeature.o" | awk '
		/^[0-9a-f]+ </ { inside = /<(pmhe_try_to_clear|pmr_sync_write_ctlr|pmr_sync_relaxed|has_gic_prio_relaxed_sync)[.>]/; step = 0 }
		!inside { next }
		$2 == "msr" && /icc_ctlr_el1|s3_0_c12_c12_4/ { step = 1 }
		step == 1 && $2 == "isb" { step = 2; written = 1 }
		$2 == "bl" && /<pmr_sync_write_ctlr/ { step = 2 }
		step == 2 && $2 == "dsb" && $3 == "sy" { ordered = 1 }
		END { exit !(written && ordered) }'
}
check "clearing PMHE is a write, an isb and a dsb sy" clears

# --- as built, the objects with a source line that has a site, in each choice
build_choices() {
	objects="arch/arm64/kernel/entry.o arch/arm64/kernel/entry-common.o kernel/softirq.o
		kernel/context_tracking.o kernel/locking/spinlock.o"
	! config KVM || objects="$objects arch/arm64/kvm/hyp/vhe/switch.o arch/arm64/kvm/hyp/nvhe/switch.nvhe.o"
	for choice in AUTO STRICT RELAXED; do
		out=$WORK/pmr-objects/$choice
		mkdir -p "$out"
		{
			grep -v '^CONFIG_ARM64_PMR_SYNC_' "$kernel/lab.config"
			echo "CONFIG_ARM64_PMR_SYNC_$choice=y"
		} >"$out/lab.config"
		# shellcheck disable=SC2086 # a list of names
		if KCONFIG_ALLCONFIG=$out/lab.config kmake "$out" allnoconfig >"$tmp/log" 2>&1 &&
			grep -q "^CONFIG_ARM64_PMR_SYNC_$choice=y" "$out/.config" &&
			kmake "$out" $objects >>"$tmp/log" 2>&1; then
			ok "choice $choice: the objects are built"
		else
			not_ok "choice $choice: the objects are built"
			tail -n 20 "$tmp/log" | sed 's/^/#   /'
		fi
		for object in $objects; do
			printf '%s %s\n' "$object" "$("$tmp/sites" "$cap" "$out/$object" || :)"
		done >"$tmp/$choice"
	done
	check "choice RELAXED: no site is left, and no barrier after a write to ICC_PMR_EL1" \
		awk '$5 != 0 || $7 != 0 { print; bad = 1 } END { exit bad || NR < 5 }' "$tmp/RELAXED"
	paste -d ' ' "$tmp/AUTO" "$tmp/RELAXED" >"$tmp/both"
	check "choice RELAXED: it has fewer dsb sy by exactly the sites of choice AUTO" \
		awk '$5 == 0 || $3 - $5 != $10 { print; bad = 1 } END { exit bad || NR < 5 }' "$tmp/both"
	for object in $objects; do
		check "choice STRICT: the code of $object is that of AUTO" sh -c '
			"$1" -d --no-show-raw-insn "$2/AUTO/$3" | tail -n +3 >"$4/a"
			"$1" -d --no-show-raw-insn "$2/STRICT/$3" | tail -n +3 >"$4/b"
			cmp "$4/a" "$4/b"' - "${CROSS}objdump" "$WORK/pmr-objects" "$object" "$tmp"
	done
}
[ -n "${PMR_KERNEL:-}" ] || build_choices

# --- the guest
mkdir "$tmp/module"
cp "$here/Makefile" "$here/pmr_probe.c" "$tmp/module/"
check "the probe module is built" kmake "$kernel" M="$tmp/module" modules
"${CROSS}gcc" -static -O2 -Wall -o "$tmp/init" "$here/init.c"
cat >"$tmp/list" <<EOT
dir /dev 755 0 0
nod /dev/console 600 0 0 c 5 1
dir /proc 755 0 0
dir /sys 755 0 0
file /init $tmp/init 755 0 0
file /pmr_probe.ko $tmp/module/pmr_probe.ko 644 0 0
EOT
"$kernel/usr/gen_init_cpio" "$tmp/list" >"$tmp/initramfs.cpio"
mkfifo "$tmp/monitor"

# guest MACHINE APPEND [OPTION...]: to console.log, and its kernel to memory
guest() {
	guest_machine=$1
	guest_append=$2
	shift 2
	rm -f "$tmp/memory" "$tmp/console.log"
	size=$(stat -c %s "$kernel/$IMAGE_FILE")
	(
		cd "$tmp"
		exec timeout -k 5 300 "$QEMU" -M "$guest_machine,gic-version=3" -cpu "$QEMU_CPU" -m 512 \
			-accel tcg,thread=single -nodefaults -display none -serial file:console.log \
			-monitor stdio -kernel "$kernel/$IMAGE_FILE" -initrd initramfs.cpio "$@" \
			-append "earlycon console=ttyAMA0 panic=-1 nokaslr watchdog_thresh=60 $guest_append" -no-reboot
	) <"$tmp/monitor" >"$tmp/qemu.log" 2>&1 &
	qemu=$!
	exec 8>"$tmp/monitor"
	while kill -0 $qemu 2>/dev/null; do
		if grep -q 'pmr-init: end' "$tmp/console.log" 2>/dev/null; then
			# the Image is loaded at 2 MiB of the RAM
			printf 'pmemsave 0x40200000 %s memory\nquit\n' "$size" >&8
			break
		fi
		sleep 0.3
	done
	wait $qemu || :
	exec 8>&-
	tr -d '\r' <"$tmp/console.log" >"$tmp/console"
}

ended() {
	has 'pmr-init: end' || {
		tail -n 12 "$tmp/console"
		tail -n 3 "$tmp/qemu.log"
		return 1
	}
}

has() { grep -qE -- "$1" "$tmp/console"; }

# Sites of the text in memory: all WANT. A site that was not read is a failure.
patched() { # WANT
	"$tmp/sites" "$cap" "$kernel/vmlinux" "$tmp/memory" >"$tmp/read" &&
		awk -v want="$1" -v n="$in_text" '
			$3 == "text" { seen++; if ($5 != want) { print; bad = 1 } }
			END { if (seen != n) print seen " of " n " sites"; exit bad || seen != n }' "$tmp/read"
}

# The NMI of the backtrace reaches CPU 1 before it is released, or only then
backtrace() { # before or after
	awk -v want="$1" '
		/Sending NMI from CPU/ { sent = 1 }
		/NMI backtrace for cpu 1/ { got = released ? "after" : "before" }
		/pmr-probe: CPU1 released/ { released = 1 }
		END { if (got != want) print "the backtrace came: " got; exit !(sent && got == want) }' "$tmp/console"
}

# what the log must not have; the backtrace that was asked for is no fault
clean() {
	! grep -iE 'BUG|WARNING|Oops|Internal error|unable to|possible circular|inconsistent lock|suspicious|stall|lockup|panic -' \
		"$tmp/console" || return 1
}

cost() { sed -n 's/.*pmr-probe: local_irq_restore //p' "$tmp/console"; }

# one MODE NMI SECURE: a boot in this mode and all that holds then
one() {
	mode=$1
	name="$1, pseudo-NMI $2, secure=$3"
	want=dsb
	line="ICC_PMR_EL1 synchronisation: off \\(no pseudo-NMIs\\)"
	order=after
	if [ "$2" = 1 ]; then
		# QEMU has PMHE as RAZ/WI
		[ "$mode" = strict ] || want=nop
		answer=strict
		[ "$mode" = strict ] || answer=relaxed
		line="ICC_PMR_EL1 synchronisation: $answer \\(irqchip.gicv3_pmr_sync=$mode\\), PMHE was 0, is 0"
		order=before
	fi
	dsb=1
	[ $want = dsb ] || dsb=0
	say "boot: $name"
	guest "virt,secure=$3" "irqchip.gicv3_pseudo_nmi=$2 irqchip.gicv3_pmr_sync=$mode" -smp 4
	check "$name: comes to its end" ended
	check "$name: the log says the mode" has "$line"
	check "$name: all $in_text sites in memory are $want" patched $want
	check "$name: the sites of a module, too" \
		has "module barriers enable=$dsb restore=$dsb daif=$dsb sync=$dsb"
	check "$name: KUnit" has 'kunit: ok [0-9]+ gic-v3-pmr-sync'
	check "$name: CPUs go offline and come back" has 'pmr-init: hotplug 9 done 0 failed'
	check "$name: all are online" has 'pmr-init: online: 0-3$'
	check "$name: the backtrace IPI comes $order the interrupts are unmasked" backtrace $order
	check "$name: the log is clean" clean
}

if [ -n "${PMR_KERNEL:-}" ]; then
	one strict 1 off
elif [ -n "${LONG:-}" ]; then
	for secure in off on; do
		for nmi in 1 0; do
			for mode in auto strict relaxed; do
				one $mode $nmi $secure
			done
		done
	done
	for value in bogus "" Auto; do
		guest virt "irqchip.gicv3_pseudo_nmi=1 irqchip.gicv3_pmr_sync=$value" -smp 1
		check "the value \"$value\" is named once, and the default stands" test \
			"$(grep -c "irqchip.gicv3_pmr_sync=$value: not one of auto, strict, relaxed; auto stands" "$tmp/console")" -eq 1
		check "the value \"$value\": the log says so" has 'synchronisation: relaxed \(default auto\)'
	done
	for mode in auto strict relaxed; do
		guest virt "irqchip.gicv3_pseudo_nmi=1 irqchip.gicv3_pmr_sync=$mode" -smp 1 -icount shift=0
		want="barriers=0"
		[ $mode != strict ] || want="barriers=1"
		check "cost, $mode: $want in local_irq_restore()" has "local_irq_restore instructions=[0-9.]+ $want\$"
		echo "# cost, $mode, pseudo-NMI 1, -icount shift=0: $(cost)"
	done
	guest virt "irqchip.gicv3_pseudo_nmi=0" -smp 1 -icount shift=0
	check "cost, pseudo-NMI 0: no barrier in local_irq_restore()" has 'local_irq_restore instructions=[0-9.]+ barriers=0$'
	echo "# cost, pseudo-NMI 0, -icount shift=0: $(cost)"
else
	one strict 1 off
	one relaxed 1 on
fi

tap_done
