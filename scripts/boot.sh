#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Boot what build.sh made in QEMU; prints the folder of the results.
# SMP MACHINE CPU APPEND steer the guest, TIMEOUT= (seconds) and TESTS= the run
# (names with commas, or none), THREADS=multi or single how TCG does it, ICOUNT=n
# lets an instruction take 2^n ns of the guest's time, TRACE= adds trace events of
# QEMU. NAME= is a suffix to the folder's name; a run with a name is not the "latest".
# boot.sh --check looks whether these are good, and does no more.
set -eu
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/arch.sh"

SMP=${SMP:-$SMP_DEFAULT}
MACHINE=${MACHINE:-${MACHINES%% *}}
CPU=${CPU:-$QEMU_CPU}
APPEND=${APPEND:-}
NAME=${NAME:-}
IMAGE=${IMAGE:-$KOUT/$IMAGE_FILE}
INITRD=${INITRD:-$KOUT/initramfs.cpio}

case $SMP in
'' | *[!0-9]* | 0* | ?????*) die "SMP=$SMP: give a number of CPUs, 1 to $SMP_MAX" ;;
esac
[ "$SMP" -le "$SMP_MAX" ] || die "SMP=$SMP: ARCH=$ARCH takes 1 to $SMP_MAX CPUs here"
TIMEOUT=${TIMEOUT:-$((TIMEOUT_BASE + SMP * 4))}
case $TIMEOUT in
'' | *[!0-9]* | 0* | ??????*) die "TIMEOUT=$TIMEOUT: give a number of seconds" ;;
esac
case " $MACHINES " in
*" ${MACHINE%%,*} "*) ;; # options may follow it
*) die "unknown MACHINE=$MACHINE; known: $MACHINES" ;;
esac
case $NAME in
*[!A-Za-z0-9._-]*) die "NAME=$NAME: letters, digits, dot, dash and underscore only" ;;
esac
# TCG with a thread for each CPU takes ten times as long when many of them run
running=$SMP
case " $APPEND" in
*" maxcpus="[0-9]*)
	running=${APPEND##*maxcpus=}
	running=${running%%[!0-9]*}
	;;
esac
threads=${THREADS:-multi}
[ "$running" -le 8 ] || threads=${THREADS:-single}
case $threads in
multi | single) ;;
*) die "THREADS=$THREADS: give multi or single" ;;
esac
# with a clock that counts instructions, there is one thread
icount=${ICOUNT:-}
case $icount in
'' | [0-9] | 10) ;;
*) die "ICOUNT=$icount: give a number n from 0 to 10" ;;
esac
[ -z "$icount" ] || threads=single
[ "${1:-}" != --check ] || exit 0
need "$QEMU"
"$QEMU" -cpu help | awk -v cpu="${CPU%%,*}" '$1 == cpu || ($1 == "x86" && $2 == cpu) { found = 1 } END { exit !found }' ||
	die "unknown CPU=$CPU; \"$QEMU -cpu help\" lists them"
# the last: which tests there are
vmlinux=${IMAGE%"/$IMAGE_FILE"}/vmlinux
set -- "$IMAGE" "$INITRD" "$KOUT/.config" "$KOUT/include/config/kernel.release" "$vmlinux"
[ -n "${TESTS:-}" ] || set -- "$@" "$KOUT/kselftest_install/kselftest-list.txt"
for file in "$@"; do
	[ -f "$file" ] || die "$file is missing: run \"make run\" first"
done

results=$WORK/results
DIR=$results/$(date +%Y%m%d-%H%M%S)-$ARCH${NAME:+-$NAME}
mkdir -p "$results"
while ! mkdir "$DIR" 2>/dev/null; do
	[ -d "$DIR" ] || die "cannot write to $results: set OUT= to a folder of yours"
	DIR=$DIR-2
done
[ -n "$NAME" ] || ln -sfn "$(basename "$DIR")" "$results/latest"

# suites that the kernel was built with must be there
suites=
if grep -q '^CONFIG_[A-Z0-9_]*_KUNIT_TEST=y' "$KOUT/.config"; then
	suites=$(sed -n 's/^# kunit: //p' "$TOP/selftests/ipi/qemu/$ARCH.config" | tr '\n' ',')
fi
# with one host thread for all CPUs, an idle one may wait for its turn for long
patience="watchdog_thresh=60"
[ "$SMP" -le 64 ] || patience="nosoftlockup rcupdate.rcu_cpu_stall_timeout=300"
cmdline="earlycon console=$CONSOLE panic=-1 $patience ipi.mark=$MARK ipi.kunit=${suites%,}"
case ${TESTS:-} in
'') tests=$(sed 's/^ipi://' "$KOUT/kselftest_install/kselftest-list.txt" | tr '\n' ',') ;;
none) tests= ;;
*) tests=$TESTS ;;
esac
cmdline="$cmdline ipi.timeout=$((TIMEOUT / 2 + 1)) ipi.tests=${tests%,}${LAB_CMDLINE:+ $LAB_CMDLINE}${APPEND:+ $APPEND}"

if [ -x "$KOUT/lab-tsc" ]; then
	khz=1000000
	[ -n "$icount" ] || khz=$("$KOUT/lab-tsc")
	# CONFIG_HZ is 100
	cmdline="$cmdline tsc_early_khz=$khz lpj=$((khz * 10))"
fi

# by which the guest shows that it runs this kernel, see verdict.sh
build_id=$("${CROSS}readelf" -n "$vmlinux" 2>/dev/null | sed -n 's/^ *Build ID: *//p')

kernel_facts "$KOUT" >"$DIR/facts"
cat >>"$DIR/facts" <<EOF
build_id=$build_id
config=$KOUT/.config
qemu=$("$QEMU" --version | head -n 1)
arch=$ARCH
smp=$SMP
cpu=$CPU
machine=$MACHINE
append=$APPEND
cmdline=$cmdline
accel=tcg,thread=$threads${icount:+,icount=$icount}
seconds_tree=${SECONDS_TREE:-}
seconds_build=${SECONDS_BUILD:-}
EOF

cd "$DIR"
set -- -M "$MACHINE,$MACHINE_OPTS" -cpu "$CPU" -smp "$SMP" -m "$MEMORY" -accel "tcg,thread=$threads" \
	-nodefaults -display none -monitor none -serial file:console.log -no-reboot \
	-kernel "$IMAGE" -initrd "$INITRD" -append "$cmdline" \
	-device "$VIRTIO" -chardev file,id=results,path=results.ktap \
	-device virtserialport,chardev=results,name=ipi.results -D trace.log
[ -z "$icount" ] || set -- "$@" -icount "shift=$icount,sleep=off"
for event in $TRACE_EVENTS ${TRACE:-}; do
	set -- "$@" -trace "$event"
done

last_line() {
	tail -n 1 console.log 2>/dev/null | tr -d '\r' | cut -c 1-100
}

say "boot of $SMP CPUs, $MACHINE, $CPU ..."
start=$(date +%s)
"$QEMU" "$@" >qemu.log 2>&1 </dev/null 9>&- &
qemu=$!
trap 'kill $qemu 2>/dev/null || :' EXIT
trap 'exit 130' INT TERM HUP

end="the guest ended"
shown=0
while kill -0 "$qemu" 2>/dev/null; do
	sleep 0.5
	elapsed=$(($(date +%s) - start))
	if [ "$elapsed" -ge "$TIMEOUT" ]; then
		end="the guest did not end within $TIMEOUT s"
		kill -KILL "$qemu" 2>/dev/null || :
		break
	fi
	if [ $((elapsed / 20)) -gt "$shown" ]; then
		shown=$((elapsed / 20))
		say "boot: $elapsed s: $(last_line)"
	fi
done
status=0
wait "$qemu" || status=$?
trap - EXIT

[ ! -s trace.log ] || [ "$(wc -c <trace.log)" -le 20971520 ] || gzip trace.log
echo "boot_seconds=$(($(date +%s) - start))" >>facts
say "boot: $(($(date +%s) - start)) s"
printf '%s\n' "$DIR"

[ "$status" -eq 0 ] && grep -q 'ipi-lab: clean end' console.log && exit 0
say "FAIL: $end without its clean end (QEMU status $status); the last lines of its console:"
{ tail -n 20 console.log; tail -n 3 qemu.log; } | tr -d '\r' >&2
exit 1
