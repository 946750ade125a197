#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The lab's error paths: bad values, a broken build, guests that hang or die,
# and copies of a good run's folder with one thing wrong in each.
set -eu
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/tap.sh"

S=$TOP/scripts
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
unset SMP MACHINE CPU APPEND TESTS TIMEOUT NAME TRACE IMAGE INITRD THREADS ICOUNT

# refused TEXT WANTED CMD...: CMD must fail and say WANTED (an ERE) in its last line
refused() {
	text=$1
	wanted=$2
	shift 2
	if "$@" >"$tmp/out" 2>&1; then
		not_ok "$text: taken for good"
	elif tail -n 1 "$tmp/out" | grep -qE -- "$wanted"; then
		ok "$text"
	else
		not_ok "$text: wanted /$wanted/, got: $(tail -n 1 "$tmp/out")"
	fi
}

for smp in 0 -1 x 1.5 513 99999; do
	refused "SMP=$smp" "^ipi: SMP=$smp: " env SMP="$smp" "$S/boot.sh"
done
refused "ARCH=mips" "unknown ARCH=mips; known:" env ARCH=mips "$S/boot.sh"
refused "MACHINE=pc" "unknown MACHINE=pc; known: virt .*virt-2.6" env MACHINE=pc "$S/boot.sh"
refused "CPU=z80" "unknown CPU=z80" env CPU=z80 "$S/boot.sh"
refused "TIMEOUT=soon" "TIMEOUT=soon: give a number" env TIMEOUT=soon "$S/boot.sh"
refused "NAME=a/b" "NAME=a/b: " env NAME=a/b "$S/boot.sh"
refused "THREADS=2" "THREADS=2: give multi or single" env THREADS=2 "$S/boot.sh"
refused "ICOUNT=11" "ICOUNT=11: give a number n" env ICOUNT=11 "$S/boot.sh"
refused "ICOUNT=x" "ICOUNT=x: give a number n" env ICOUNT=x "$S/boot.sh"
refused "boot without a kernel" "is missing: run" env OUT="$tmp/empty" "$S/boot.sh"
: >"$tmp/image"
refused "boot of a kernel from elsewhere, with nothing built" "$tmp/none/.*/[.]config is missing: run" \
	env OUT="$tmp/none" IMAGE="$tmp/image" INITRD="$tmp/image" "$S/boot.sh"
same "... in one line, and no folder of results" "1 " "$(wc -l <"$tmp/out") $(find "$tmp/none" -name results 2>/dev/null)"
refused "build without a tree" "no kernel tree in .*: run" env OUT="$tmp/empty" "$S/build.sh"
refused "verdict without a folder" "usage" "$S/verdict.sh"
refused "verdict on some folder" "is not the folder of a boot" "$S/verdict.sh" "$tmp"

mkdir "$tmp/bin"
ln -s /usr/bin/* "$tmp/bin/"
rm -f "$tmp/bin"/qemu-system-*
refused "no QEMU" "missing: qemu-system-aarch64; \"make deps\"" env ARCH=arm64 PATH="$tmp/bin" "$S/boot.sh"

# a copy of the repository, to break things in
mkdir "$tmp/copy" "$tmp/copy/patches"
cp -R "$S" "$tmp/copy/scripts"
cp "$TOP/patches/BASES" "$tmp/copy/patches/"
mkdir -p "$tmp/copy/selftests" "$tmp/out.d/$BASE"
cp -R "$TOP/selftests/ipi" "$tmp/copy/selftests/ipi"
printf '#!/bin/sh\nexit 3\n' >"$tmp/copy/scripts/tree.sh"
mkdir "$tmp/out.d/$BASE/results"
ln -s gone "$tmp/out.d/$BASE/results/latest"
refused "a step of the run fails" "^FAIL after [0-9]+ s" env KSRC= OUT="$tmp/out.d" "$tmp/copy/scripts/run.sh"
check "a failed run leaves no latest" test ! -L "$tmp/out.d/$BASE/results/latest"

if [ -f "$TREE/Makefile" ]; then
	ln -s "$TREE" "$tmp/out.d/$BASE/tree"
	printf 'CONFIG_NO_SUCH_THING=y\nCONFIG_COMPAT_VDSO=y\n' >>"$tmp/copy/selftests/ipi/qemu/kernel.config"
	refused "symbols that do not end up set are named" \
		'CONFIG_NO_SUCH_THING \(wanted y, got no such symbol in this tree\); CONFIG_COMPAT_VDSO \(wanted y, got n\); ' \
		env KSRC= ARCH=arm64 OUT="$tmp/out.d" "$tmp/copy/scripts/build.sh"
else
	skip "symbols that do not end up set are named" "no tree: run \"make tree\""
fi

# boots
if [ -f "$KOUT/initramfs.cpio" ]; then
	dead() {
		dir=$(env SMP=2 NAME=t-lab "$@" "$S/boot.sh" 2>"$tmp/out") && not_ok "$1: taken for good"
		verdict=$("$S/verdict.sh" "$dir" 2>&1) && not_ok "$1: verdict passes"
		rm -rf "$dir"
	}
	dead TIMEOUT=15 APPEND=ipi.hang=1
	check "a guest that hangs: stopped at the limit" grep -q "FAIL: the guest did not end within 15 s" "$tmp/out"
	check "a guest that hangs: the end of its console" grep -q "ipi-lab: init runs" "$tmp/out"
	check "a guest that hangs: the verdict" test "$(printf '%s\n' "$verdict" | grep -c "FAIL ")" -ge 2
	dead APPEND=rdinit=/none TIMEOUT=60
	check "a guest that panics: said" grep -q "FAIL: the guest ended without its clean end" "$tmp/out"
	check "a guest that panics: the end of its console" grep -q "Kernel panic - not syncing" "$tmp/out"
	check "a guest that panics: the kernel log's verdict" \
		sh -c 'printf "%s\n" "$1" | grep -q "kernel log  FAIL .*Kernel panic"' - "$verdict"
else
	skip "guests that hang or panic" "no lab kernel: run \"make run\""
fi

# doctored copies of a good run
good=
for dir in "$WORK"/results/*-"$ARCH"*; do
	! grep -qs '"pass": true' "$dir/run.json" || ! grep -q '^[^#].* ok$' "$dir/witness.txt" || good=$dir
done
if [ -z "$good" ]; then
	skip "doctored runs" "no good run in $WORK/results: run \"make run\""
	tap_done
	exit
fi

cp -R "$good" "$tmp/good"
[ ! -f "$tmp/good/trace.log.gz" ] || gzip -d "$tmp/good/trace.log.gz"

fresh() {
	rm -rf "$tmp/run"
	cp -R "$tmp/good" "$tmp/run"
}

# doctored TEXT WANTED FILE CMD...: FILE goes through CMD; a line of the verdict must match WANTED
doctored() {
	text=$1
	wanted=$2
	file=$3
	shift 3
	fresh
	"$@" <"$tmp/good/$file" >"$tmp/run/$file"
	if "$S/verdict.sh" "$tmp/run" >"$tmp/out" 2>&1; then
		not_ok "$text: passes"
	elif grep -qE -- "$wanted" "$tmp/out" && grep -q '"pass": false' "$tmp/run/run.json"; then
		ok "$text"
	else
		not_ok "$text: wanted /$wanted/, got: $(grep FAIL "$tmp/out")"
	fi
}

fresh
check "a good run passes again" "$S/verdict.sh" "$tmp/run"
check "run.json is JSON" python3 -m json.tool "$tmp/run/run.json"

nested=$(grep -nE '^ +ok ' "$tmp/good/results.ktap" | head -n 1 | cut -d : -f 1)
top=$(grep -nE '^ok ' "$tmp/good/results.ktap" | tail -n 1 | cut -d : -f 1)
bracket=$(grep '# witness ' "$tmp/good/results.ktap" | grep -vE ' list=0 ' | head -n 1)
id=$(printf '%s\n' "$bracket" | sed 's/.* id=\(0x[0-9a-fA-F]*\) .*/\1/')
marks=$(printf '%06x' "$((id))")
sender=$(printf '0x%x' "$(($(printf '%s\n' "$bracket" | sed 's/.* sender=\([^ ]*\).*/\1/')))")
sgi=$(printf '%s\n' "$bracket" | sed 's/.* sgi=\([0-9]*\).*/\1/')

doctored "another kernel than the one built" 'kernel log +FAIL .*build id xx' results.ktap sed 's/^# fact build_id=../# fact build_id=xx/'
doctored "a kernel that does not say which it is" 'kernel log +FAIL .*build id none' results.ktap sed '/^# fact build_id=/d'
doctored "results cut in half" '^TAP +FAIL .* of [0-9]+ results' results.ktap head -n "$((top / 2))"
doctored "no results" '^TAP +FAIL  no results' results.ktap true
doctored "a lost result of a program" '^TAP +FAIL' results.ktap sed "${nested}d"
doctored "a lost result of the top level" '^TAP +FAIL .* of ' results.ktap sed "${top}d"
doctored "a failed test in a program that passes" '^TAP +FAIL  not ok' results.ktap sed "${nested}s/ok/not ok/"
doctored "a failed program" '^TAP +FAIL  not ok' results.ktap sed "${top}s/ok/not ok/"
doctored "a program that asserts nothing" '^TAP +FAIL  asserts nothing' results.ktap \
	sed '/^ .*ok /d; /^ *1\.\./{/^1/!d}'
doctored "no tests at all" '^TAP +FAIL' results.ktap \
	printf 'KTAP version 1\n1..0\n# ipi-lab: clean end\n'
doctored "a guest that bails out" '^TAP +FAIL  Bail out! x' results.ktap sed "${top}iBail out! x"
doctored "no clean end in the results" '^clean end +FAIL' results.ktap sed '$d'
doctored "no clean end in the console" '^clean end +FAIL' console.log sed '/clean end/d'
doctored "no console log" '^kernel log +FAIL  the console log is empty' console.log true

while read -r line; do
	doctored "kernel log: $line" '^kernel log +FAIL' console.log sed "\$a[    9.000000] $line"
done <<EOF
Internal error: Oops: 0000000096000004 [#1] PREEMPT SMP
BUG: sleeping function called from invalid context at mm/page_alloc.c:1
kernel BUG at lib/list_debug.c:32!
WARNING: CPU: 3 PID: 1 at kernel/smp.c:807 smp_call_function_many_cond+0x1/0x2
WARNING: possible circular locking dependency detected
WARNING: inconsistent lock state
WARNING: suspicious RCU usage
rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
rcu: INFO: rcu_preempt self-detected stall on CPU
watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [swapper/1:0]
Unable to handle kernel NULL pointer dereference at virtual address 0
BUG: scheduling while atomic: swapper/0/0/0x00000002
Call trace:
INFO: task init:1 blocked for more than 120 seconds.
refcount_t: underflow; use-after-free.
Kernel panic - not syncing: Attempted to kill init!
NOHZ tick-stop error: local softirq work is pending, handler #80!!!
BUG: KCSAN: data-race in idle_run_notified / llist_add_batch
EOF
fresh
cat >>"$tmp/run/console.log" <<-EOF
	[    9.000000] BUG: KCSAN: data-race in somebody / else
	[    9.000001] ipi_notify: idle injection begins
	[    9.000002] NOHZ tick-stop error: local softirq work is pending, handler #80!!!
	[    9.000003] ipi_notify: idle injection ends
EOF
check "kernel log: a race of the base, and what idle injection brings about" "$S/verdict.sh" "$tmp/run"

doctored "witness: one list write too few in the trace" '^witness +FAIL .*guest [0-9]+ IRM' trace.log awk -v id="$marks" -v sender="$sender" -v sgi="$sgi" '
	$5 == "0x1b" id { on = 1 }
	on && /generate_sgi/ && $5 == sender && $8 == sgi && $10 == 0 { on = 0; next }
	{ print }'
doctored "witness: the guest says one IRM write more" '^witness +FAIL .*guest [0-9]+ IRM' results.ktap awk -v id="id=$id" '
	index($0, "# witness ") && index($0, id " ") { match($0, / irm=[0-9]+/)
		n = substr($0, RSTART + 5, RLENGTH - 5); $0 = substr($0, 1, RSTART + 4) n + 1 substr($0, RSTART + RLENGTH) }
	{ print }'
doctored "witness: no begin marker" '^witness +FAIL .*markers' trace.log sed "/0x1b$marks/d"
doctored "witness: no end marker" '^witness +FAIL .*markers' trace.log sed "/0x1e$marks/d"
doctored "witness: an empty trace" '^witness +FAIL' trace.log true
gzip -k "$tmp/good/trace.log"
doctored "witness: a trace that is cut" '^witness +FAIL  trace.log.gz is damaged' trace.log.gz head -c 300
check "... which gzip does not say as well" sh -c '! grep gzip: "$1"' - "$tmp/out"
rm "$tmp/good/trace.log.gz"
doctored "witness: no brackets" '^witness +FAIL  no witness line' results.ktap sed '/# witness /d'
doctored "witness: a line without its sender" '^witness +FAIL .*without sender' results.ktap sed 's/ sender=[^ ]*//'
fresh
awk -v id="$marks" '{ print }
	$5 == "0x1b" id { print "gicv3_icc_generate_sgi GICv3 CPU i/f 0xfffff generating SGI 1 IRM 0 target affinity 0x0xx targetlist 0x1" }
' "$tmp/good/trace.log" >"$tmp/run/trace.log"
check "witness: writes of another CPU do not count" "$S/verdict.sh" "$tmp/run"
echo "gicv3_icc_generate_sgi GICv3 CPU i/f 0x0 generating SGI 1 IRM 1 target affinity 0x0xx targetlist 0x0" >>"$tmp/good/trace.log"
doctored "witness: a broadcast with two CPUs online" '^witness +FAIL .*broadcasts though' results.ktap \
	sed 's/# fact cpus_online=.*/# fact cpus_online=0-1/'

tap_done
