#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# TIF_NOTIFY_IPI on x86: ipi_notify in a boot with idle=poll, what the boot says of the
# switch, the re-check between MONITOR and MWAIT as it was built. With LONG, HLT,
# poll_idle() and MWAIT in one boot, i386, and other kernels.
set -eu
unset SMP MACHINE CPU APPEND TESTS TIMEOUT NAME TRACE IMAGE INITRD THREADS ICOUNT
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/tap.sh"

S=$TOP/scripts
"$S/tree.sh" >&2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

# boot ARCH TEXT VAR=VALUE...: to dir; the four verdicts are one test
boot() {
	arch=$1
	text=$2
	shift 2
	dir=$(env ARCH="$arch" NAME=t-notify "$@" "$S/boot.sh") || :
	[ -n "$dir" ] || die "no boot"
	check "$arch, $text" env ARCH="$arch" "$S/verdict.sh" "$dir"
}

# passed TEST: the line of a test that ran, so that one which skips is no pass
passed() {
	grep -qE "^ *ok [0-9]+ $1\$" "$dir/results.ktap" && return 0
	grep -E " $1( |:|\$)" "$dir/results.ktap" || echo "no test $1"
	return 1
}

said() { # TEXT: once in the guest's log
	[ "$(tr -d '\r' <"$dir/console.log" | grep -cF -- "$1")" -eq 1 ] || { grep -F notify_ipi "$dir/console.log"; return 1; }
}

has_flag() {
	[ -n "$(tif TIF_NOTIFY_IPI)" ]
}

both_bits() { # FILE
	"$objdump" -d --no-show-raw-insn "$1" | awk -v mask=$((1 << need | 1 << notify)) -f "$TOP/scripts/monitor.awk"
}

tif() { # NAME: its bit
	sed -nE "s/^#[[:space:]]*define[[:space:]]+$1[[:space:]]+([0-9]+).*/\1/p" "$TREE/include/asm-generic/thread_info_tif.h"
}

for arch in x86_64 ${LONG:+i386}; do
	ARCH=$arch "$S/build.sh" >&2
	case $arch in
	x86_64) objdump=x86_64-linux-gnu-objdump ;;
	i386) objdump=i686-linux-gnu-objdump ;;
	esac
	position=base
	! has_flag || position=on

	if [ -n "${LONG:-}" ]; then
		boot $arch "HLT, poll_idle(), MWAIT, cpu_idle_poll()" TIMEOUT=600
		for path in hlt poll_idle.tick poll_idle.no_tick mwait.tick mwait.no_tick cpu_idle_poll; do
			check "... $path: the table" passed "$path.$position.table"
		done
		if [ $position = on ]; then
			for path in poll_idle.tick poll_idle.no_tick cpu_idle_poll; do
				check "... $path: the table with the switch off" passed "$path.off.table"
			done
		fi
		grep -h '# notify ' "$dir/results.ktap" | sed 's/^ *# notify/#/' || :
	fi

	if ! has_flag; then
		skip "$arch, the switch, and the re-check after MONITOR" "no TIF_NOTIFY_IPI in this tree"
		continue
	fi
	need=$(tif TIF_NEED_RESCHED)
	notify=$(tif TIF_NOTIFY_IPI)
	check "$arch, mwait_idle(): the re-check after MONITOR is one test of both bits" \
		both_bits "$WORK/$arch/arch/x86/kernel/process.o"
	check "$arch, mwait_idle_with_hints(): the same" \
		both_bits "$WORK/$arch/kselftest_install/ipi/test_modules/notify_test.ko"

	boot $arch "idle=poll" SMP=2 TESTS=ipi_notify APPEND=idle=poll
	check "... cpu_idle_poll(): the table" passed "cpu_idle_poll.$position.table"
	check "... and with the switch off" passed "cpu_idle_poll.off.table"
	check "... the boot line says that it is on, and why" said "TIF_NOTIFY_IPI: on (default)"
	boot $arch "smp.notify_ipi=0" SMP=2 TESTS=ipi_param APPEND=smp.notify_ipi=0
	check "... the boot line says that it is off, and why" said "TIF_NOTIFY_IPI: off (smp.notify_ipi=0)"
	check "... and so does the parameter" grep -qx "# fact switch.notify_ipi=N" "$dir/results.ktap"
	boot $arch "smp.notify_ipi=maybe" SMP=2 TESTS=ipi_param APPEND=smp.notify_ipi=maybe
	check "... one line names the bad value" said "\`maybe' invalid for parameter \`smp.notify_ipi'"
	check "... and the default stands" said "TIF_NOTIFY_IPI: on (default)"
done

if [ -n "${LONG:-}" ]; then
	# a million calls from three CPUs
	for arch in x86_64 i386; do
		boot $arch "storms of a million calls" TESTS=ipi_notify TIMEOUT=3600 APPEND=IPI_NOTIFY_STORM=333334
	done
	boot x86_64 threadirqs TESTS=ipi_notify TIMEOUT=900 APPEND=threadirqs

	# variant NAME TEXT: ipi_notify on another kernel
	variant() {
		VARIANT=$1 ARCH=x86_64 "$S/build.sh" >&2
		boot x86_64 "$2" VARIANT="$1" TESTS=ipi_notify TIMEOUT=1800
	}
	variant livepatch "live patching"
	for path in hlt poll_idle.no_tick mwait.tick cpu_idle_poll; do
		check "... $path: a transition ends" passed "$path.$position.livepatch"
	done
	variant rt PREEMPT_RT
	variant kcsan KCSAN
	check "... and it looks for data races" grep -q "kcsan: enabled early" "$dir/console.log"
	check "... as its selftest says" grep -qE "kcsan: selftest: ([0-9]+)/\1 tests passed" "$dir/console.log"
	variant lazy "PREEMPT_LAZY, scftorture"
	check "... scftorture came to its end" passed "cpu_idle_poll.$position.scftorture"
else
	skip "i386; HLT, poll_idle(), MWAIT; storms of a million calls, threadirqs, live patching, PREEMPT_RT, KCSAN, PREEMPT_LAZY, scftorture" \
		"make check-long runs them"
fi
tap_done
