#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# mutants.sh [--tap] [--check] [NAME...]: make each change of mutants.txt (those
# marked for make check, or those named) to the lab kernel and see whether its
# test catches it. The tree stays as it is: kbuild takes a source file in its
# output folder before the one in the tree, so the wrong one is put there, in
# a copy of the lab kernel's.
set -eu
. "$(dirname "$0")/lib.sh"
. "$TOP/scripts/arch.sh"
. "$TOP/scripts/check/tap.sh"

TABLE=$TOP/scripts/mutants.txt
MUT=$KOUT.mutant
level=l
tap=
while :; do
	case ${1:-} in
	--check) level=c ;;
	--tap) tap=1 ;;
	*) break ;;
	esac
	shift
done
for name in "$@"; do
	grep -q "^$name *|" "$TABLE" || die "no mutant named $name: see scripts/mutants.txt"
done

"$TOP/scripts/tree.sh"
take_lock mutants
use_ccache

# The lab kernel of that architecture, built, and its copy for mutants
ready=
lab_of() { # ARCH
	export ARCH="$1"
	. "$TOP/scripts/arch.sh"
	KOUT=$WORK/$ARCH
	MUT=$KOUT.mutant
	case " $ready " in *" $ARCH "*) return 0 ;; esac
	"$TOP/scripts/build.sh"
	rsync -a --delete --exclude=kselftest_install "$KOUT/" "$MUT/"
	# its folder is part of how objtool is built, and a newer one has all objects made anew
	if [ -x "$MUT/tools/objtool/objtool" ]; then
		kmake "$KARCH" "$CROSS" "$MUT" tools/objtool >"$OUT/log/mutant-objtool.log" 2>&1 ||
			die "objtool for the mutants does not build, see $OUT/log/mutant-objtool.log"
		touch -r "$KOUT/tools/objtool/objtool" "$MUT/tools/objtool/objtool"
	fi
	ready="$ready $ARCH"
}

# The architecture whose lab kills it: that of this run, or x86
arch_of() { # KILLER
	case $1 in
	notify | monitor | kunit-x86 | log-x86:*) echo x86_64 ;;
	*) echo "$run_arch" ;;
	esac
}
run_arch=$ARCH

kmake() { # KARCH CROSS OUT TARGET
	# shellcheck disable=SC2086
	make -s -C "$TREE" O="$3" ARCH="$1" CROSS_COMPILE="$2" CC="$CACHED_CC $2gcc" $NO_RUST -j"$JOBS" "$4"
}

# the object alone, in the configuration that the patch checks use
objects() { # CONFIG KARCH CROSS
	conf=$WORK/mutant-$1
	ishst=y
	[ "$1" != wmb ] || ishst=n
	mkdir -p "$conf/$(dirname "$file")"
	cp "$MUT/$file" "$conf/$file"
	if [ ! -f "$conf/.config" ]; then
		{
			printf 'CONFIG_%s=y\n' MMU ARCH_VIRT SMP PREEMPT EXPERT ARM_GIC_V3_SGI_BROADCAST
			echo "CONFIG_ARM_GIC_V3_IPI_ISHST=$ishst"
			[ "$2" != arm ] || echo CONFIG_ARCH_MULTI_V7=y
		} >"$conf.config"
		KCONFIG_ALLCONFIG=$conf.config kmake "$2" "$3" "$conf" allnoconfig
	fi
	rc=0
	kmake "$2" "$3" "$conf" "${file%.c}.o" || rc=2
	rm -f "$conf/$file"
	return $rc
}

# Each killer returns 0 if it saw nothing wrong, 1 if it did, 2 if it could not look.
guest() { # TESTS SMP MACHINE APPEND
	kmake "$KARCH" "$CROSS" "$MUT" "$(basename "$IMAGE_FILE")" >"$log" 2>&1 || return 2
	TESTS=$1 SMP=$2 MACHINE=$3 APPEND=$4 NAME=mutant-$name IMAGE=$MUT/$IMAGE_FILE TIMEOUT=240 \
		"$TOP/scripts/boot.sh" >"$log.dir" 2>>"$log" || :
	dir=$(cat "$log.dir")
	[ -n "$dir" ] || return 2
	# another kernel than the mutant's shows nothing
	ran=$(sed -n 's/^# fact build_id=//p' "$dir/results.ktap")
	[ -z "$ran" ] || grep -qx "build_id=$ran" "$dir/facts" || return 2
	if [ -n "$want" ]; then
		grep -qF "$want" "$dir/console.log"
		return
	fi
	"$TOP/scripts/verdict.sh" "$dir" >>"$log" 2>&1 || return 1
}

order() { # CONFIG BARRIER
	objects "$1" arm64 aarch64-linux-gnu- >"$log" 2>&1 || return 2
	aarch64-linux-gnu-objdump -d --no-show-raw-insn "$WORK/mutant-$1/${file%.c}.o" |
		awk -v barrier="$2" -f "$TOP/scripts/sgi-order.awk" >>"$log" || return 1
}

killed() {
	want=
	case $killer in
	kunit) guest none 64 virt maxcpus=1 ;;
	kunit:*) guest none "${killer#kunit:}" virt "" ;;
	boot:*) guest "${killer#boot:}" 16 virt-2.6 "" ;;
	log:*)
		want=${killer#log:}
		guest none 2 virt ""
		;;
	kunit-x86) guest none 2 microvm "" ;;
	notify) guest ipi_notify 4 microvm "IPI_NOTIFY_FAIL=1" ;;
	log-x86:*)
		want=${killer#log-x86:}
		guest none 2 microvm ""
		;;
	monitor)
		kmake "$KARCH" "$CROSS" "$MUT" arch/x86/kernel/process.o >"$log" 2>&1 || return 2
		# TIF_NEED_RESCHED and TIF_NOTIFY_IPI
		"${CROSS}objdump" -d --no-show-raw-insn "$MUT/arch/x86/kernel/process.o" |
			awk -v mask=$((0x2010)) -f "$TOP/scripts/monitor.awk" >>"$log" || return 1
		;;
	order) order arm64 "dsb ishst" ;;
	wmb) order wmb "dsb st" ;;
	pmr)
		kmake "$KARCH" "$CROSS" "$MUT" "$(basename "$IMAGE_FILE")" >"$log" 2>&1 || return 2
		PMR_KERNEL=$MUT "$TOP/scripts/check/t-pmr.sh" >>"$log" 2>&1 || return 1
		;;
	arm)
		objects arm arm arm-linux-gnueabihf- >"$log" 2>&1 || return 2
		! grep -q "warning:" "$log"
		;;
	*) die "mutants.txt: $name: unknown killer $killer" ;;
	esac
}

mutant() {
	if [ ! -f "$TREE/$file" ]; then
		not_ok "mutant $name: $file is not in the tree"
		return
	fi
	mkdir -p "$MUT/$(dirname "$file")"
	sed "$change" "$TREE/$file" >"$MUT/$file"
	# a source that includes it by its name would find the one beside it
	includer=$(grep -ls "^#include \"${file##*/}\"" "$TREE/${file%/*}/"*.c | head -n 1)
	[ -z "$includer" ] || cp "$includer" "$MUT/${file%/*}/"
	if cmp -s "$TREE/$file" "$MUT/$file"; then
		not_ok "mutant $name: its change does not apply any more"
		return
	fi
	log=$OUT/log/mutant-$name.log
	say "mutant $name ($killer)"
	rc=0
	killed || rc=$?
	rm -f "$MUT/$file" ${includer:+"$MUT/${file%/*}/${includer##*/}"}
	case $rc in
	0) not_ok "mutant $name: not caught by $killer" ;;
	1) ok "mutant $name: caught by $killer: $(reason)" ;;
	*) not_ok "mutant $name: could not be built or run, see $log" ;;
	esac
}

# the first word of what went wrong
reason() {
	case $killer in
	log:* | log-x86:*) echo "not in the log" ;;
	monitor) tail -n 1 "$log" ;;
	order | wmb) tail -n 1 "$log" ;;
	pmr) grep -m 1 '^not ok' "$log" ;;
	arm) grep -m 1 -o 'warning: .*' "$log" ;;
	*) grep -h -m 1 -E '^ *not ok|^[A-Za-z ]+ FAIL ' "$dir/results.ktap" "$log" | sed 's/^ *//' | head -n 1 ;;
	esac
}

# What finds fault with the right code catches nothing. (The killers that boot
# are tried on it by the boots of make run and make check.)
control() {
	file=drivers/irqchip/irq-gic-v3.c
	log=$OUT/log/mutant-none.log
	for killer in order wmb arm; do
		mkdir -p "$MUT/${file%/*}"
		cp "$TREE/$file" "$MUT/$file"
		rc=0
		killed || rc=$?
		rm -f "$MUT/$file"
		same "no mutant: nothing to catch for $killer" 0 "$rc"
	done
}

mkdir -p "$OUT/log"
lab_of "$run_arch"
control
exec 3<"$TABLE"
while IFS= read -r row <&3; do
	case $row in '' | '#'*) continue ;; esac
	field() { printf '%s' "$row" | cut -d '|' -f "$1" | sed 's/^ *//; s/ *$//'; }
	name=$(field 1)
	killer=$(field 4)
	file=$(field 5)
	change=$(field 6-)
	if [ $# -gt 0 ]; then
		case " $* " in *" $name "*) ;; *) continue ;; esac
	elif [ "$level" = c ] && [ "$(field 3)" != c ]; then
		continue
	fi
	lab_of "$(arch_of "$killer")"
	mutant
done
for arch in $ready; do
	rm -f "$WORK/$arch.mutant/vmlinux"
done

if [ -n "$tap" ]; then
	tap_done
else
	printf '%d as they should be, %d not\n' $((tap_n - tap_bad)) "$tap_bad"
	[ "$tap_bad" -eq 0 ] && [ "$tap_n" -gt 0 ]
fi
