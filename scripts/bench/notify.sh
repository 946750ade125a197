#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# notify.sh [x86_64|i386]...: what it costs an idle CPU to run a function for
# another CPU, in instructions, from one waiting instruction to the next: QEMU
# traces each that is executed, so the counts are exact. Three kernels are built:
# base (without the series), A (design-a.patch on it) and B (the series).
# ROUNDS= calls are counted a case. TAP, a table and a JSON line a case; how many
# instructions each function has its share of is in OUT/<base>/bench/<arch>/.
set -eu
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/check/tap.sh"

BENCH=$TOP/scripts/bench
ROUNDS=${ROUNDS:-50}
case $ROUNDS in
'' | *[!0-9]* | 0* | ?????*) die "ROUNDS=$ROUNDS: give a number of calls, 1 to 9999" ;;
esac
[ $# -gt 0 ] || set -- x86_64 i386
for arch in "$@"; do
	case $arch in
	x86_64 | i386) ;;
	*) die "unknown architecture $arch: x86_64 and i386 are there" ;;
	esac
done

"$TOP/scripts/tree.sh"
take_lock bench
PLACE=$WORK/bench
BASE_TREE=$PLACE/base
mkdir -p "$PLACE"
use_ccache

kmake() { # SOURCE KERNEL TARGETS...
	source=$1
	out=$PLACE/$arch/$2
	shift 2
	# shellcheck disable=SC2086
	make -s -C "$source" O="$out" ARCH="$arch" CROSS_COMPILE="$cross" CC="$CACHED_CC ${cross}gcc" $NO_RUST -j"$JOBS" "$@"
}

base_tree() {
	want=$(git -C "$TREE" rev-parse refs/ipi/base)
	[ "$(git -C "$BASE_TREE" rev-parse -q --verify HEAD 2>/dev/null)" != "$want" ] || return 0
	git -C "$TREE" worktree remove -f -f "$BASE_TREE" 2>/dev/null || rm -rf "$BASE_TREE"
	git -C "$TREE" worktree prune
	git -C "$TREE" worktree add -q -f --detach "$BASE_TREE" refs/ipi/base
}

fragment() { # KERNEL
	[ "$arch" = i386 ] || echo CONFIG_64BIT=y
	case $1 in
	base) sed '/^# series/,$d' "$BENCH/notify.config" ;;
	*) cat "$BENCH/notify.config" ;;
	esac
}

# Sources in the output folder come before those in the tree; build_policy.c
# includes idle.c, so it takes both.
design_a() {
	rsync -a --delete "$PLACE/$arch/B/" "$PLACE/$arch/A/"
	mkdir -p "$PLACE/$arch/A/kernel/sched"
	cp "$TREE/kernel/sched/idle.c" "$TREE/kernel/sched/build_policy.c" "$PLACE/$arch/A/kernel/sched/"
	patch -s -F 0 -d "$PLACE/$arch/A" -p1 <"$BENCH/design-a.patch" ||
		die "design-a.patch does not fit kernel/sched/idle.c any more"
}

build() { # KERNEL SOURCE
	out=$PLACE/$arch/$1
	mkdir -p "$out/poll"
	fragment "$1" >"$out.config"
	KCONFIG_ALLCONFIG=$out.config kmake "$2" "$1" allnoconfig
	grep '=y$' "$out.config" | while read -r want; do
		grep -qx "$want" "$out/.config" || die "configuration not as wanted: $want, see $out.config"
	done
	kmake "$2" "$1" bzImage modules
	cp "$BENCH/poll/Makefile" "$BENCH/poll/poll.c" "$out/poll/"
	kmake "$2" "$1" M="$out/poll" modules
	awk '$3 ~ /^(cpu_idle_poll|poll_idle|default_idle|pv_native_safe_halt)(\.|$)/ { print $3 }' "$out/System.map" |
		while read -r name; do
			"${cross}objdump" -d --no-show-raw-insn --disassemble="$name" "$out/vmlinux"
		done >"$out/waits"
	"${cross}gcc" -static -O2 -Wall -o "$out/bench-init" "$BENCH/notify-init.c"
	printf 'dir /dev 755 0 0\nnod /dev/console 600 0 0 c 5 1\nfile /init %s 755 0 0\nfile /poll.ko %s 644 0 0\n' \
		"$out/bench-init" "$out/poll/poll.ko" >"$out/initramfs.list"
	"$out/usr/gen_init_cpio" "$out/initramfs.list" >"$out/initramfs.cpio"
}

CPUS=2
MACHINE=pc
SHIFT=6

# facts KERNEL: where its figures come from, as a JSON line
facts() {
	{
		kernel_facts "$PLACE/$arch/$1"
		cat <<-EOF
			qemu=$("qemu-system-$arch" --version | head -n 1)
			qemu_machine=$MACHINE
			cpu=$cpu
			cpus=$CPUS
			accel=tcg,thread=single,icount=$SHIFT
		EOF
	} | awk -v arch="$arch" -v kernel="$1" '
		BEGIN { printf "{\"bench\":\"notify\",\"facts\":true,\"arch\":\"%s\",\"kernel\":\"%s\"", arch, kernel }
		{ gsub(/["\\]/, "\\\\&"); n = index($0, "="); printf ",\"%s\":\"%s\"", substr($0, 1, n - 1), substr($0, n + 1) }
		END { print "}" }
	'
}

qemu=
reader=
trap 'kill $qemu $reader 2>/dev/null || :' EXIT
trap 'exit 130' INT TERM HUP

# One thread for both CPUs, so that a CPU that polls gives way to the other one. An
# instruction takes 64 ns of the guest's time: with the host's time, a guest that is
# traced would have no time for anything but its ticks. The BIOS's MP table has one
# CPU a socket.
boot() { # KERNEL PATH MORE-ON-THE-COMMAND-LINE
	out=$PLACE/$arch/$1
	dir=$out/run-$2
	rm -rf "$dir"
	mkdir "$dir"
	mkfifo "$dir/trace" "$dir/monitor.in" "$dir/monitor.out" "$dir/console.in" "$dir/console.out"
	awk -f "$BENCH/notify.awk" "$out/System.map" "$out/waits" "$dir/trace" >"$dir/counts" 2>"$dir/awk.log" &
	reader=$!
	"qemu-system-$arch" -M "$MACHINE" -cpu "$cpu" -smp "$CPUS,sockets=$CPUS" -m 256 -accel tcg,thread=single \
		-icount "shift=$SHIFT,sleep=off" -nodefaults -display none \
		-no-reboot -D "$dir/trace" -chardev "pipe,id=monitor,path=$dir/monitor" -mon chardev=monitor \
		-chardev "pipe,id=console,path=$dir/console" -serial chardev:console \
		-kernel "$out/arch/x86/boot/bzImage" -initrd "$out/initramfs.cpio" \
		-append "console=ttyS0 panic=-1 tsc=reliable rounds=$ROUNDS path=$2 $3" </dev/null >"$dir/qemu.log" 2>&1 9>&- &
	qemu=$!
	cat "$dir/monitor.out" >"$dir/monitor.log" &
	cat "$dir/console.out" >"$dir/console.log" &
	seconds=0
	asked=
	while kill -0 "$qemu" 2>/dev/null; do
		sleep 1
		seconds=$((seconds + 1))
		if [ -z "$asked" ] && grep -q '^bench: ready' "$dir/console.log" 2>/dev/null; then
			asked=1
			# the older name and the newer one
			printf '%s\n' 'singlestep on' 'one-insn-per-tb on' 'log exec,nochain' 'info status' 1<>"$dir/monitor.in"
		fi
		if [ "$asked" = 1 ] && grep -q '^VM status' "$dir/monitor.log"; then
			asked=2
			echo 1<>"$dir/console.in"
		fi
		! grep -q '^bench: done\|^bench: FAIL\|Kernel panic' "$dir/console.log" || echo quit 1<>"$dir/monitor.in"
		[ "$seconds" -lt 900 ] || kill "$qemu"
	done
	wait "$qemu" || :
	[ "$asked" = 2 ] || kill "$reader" 2>/dev/null || :
	wait "$reader" || :
	qemu=
	reader=
	grep -q '^bench: done' "$dir/console.log" || {
		tail -n 5 "$dir/console.log" "$dir/qemu.log" | tr -d '\r' >&2
		die "$arch, $1, $2: the guest did not come to its end; see $dir"
	}
	# phase lines of the console give the counts their names
	tr -d '\r' <"$dir/console.log" | awk -v kernel="$1" '
		FNR == NR && $2 == "phase" { path[$3] = $4; position[$3] = $5 }
		FNR != NR && $1 in path { print path[$1], kernel, position[$1], $2, $3, $4, $5, $6, $7 }
	' - "$dir/counts" >>"$PLACE/$arch/counts"
}

get() { # PATH KERNEL SWITCH FIELD
	awk -v p="$1" -v k="$2" -v s="$3" -v f="$4" '$1 == p && $2 == k && $3 == s { print $f }' "$PLACE/$arch/counts"
}

report() {
	awk -v arch="$arch" '
		BEGIN { printf "# %-7s %-14s %-5s %-4s %7s %7s %6s %6s %5s %6s %s\n", "arch", "path", "what", "", "median", "least", "most", "ratio", "dry", "ratio", "rounds" }
		$2 == "base" { base[$1] = $5; dry[$1] = $8 }
		{
			printf "# %-7s %-14s %-5s %-4s %7d %7d %6d %6.2f %5d %6.2f %d\n", arch, $1, $2, $2 == "base" ? "-" : $3,
				$5, $6, $7, $5 / base[$1], $8, $8 / dry[$1], $4
			json[++n] = sprintf("{\"bench\":\"notify\",\"arch\":\"%s\",\"path\":\"%s\",\"kernel\":\"%s\",\"switch\":\"%s\",\"rounds\":%d,\"instructions\":%d,\"least\":%d,\"most\":%d,\"dry\":%d,\"scheduler_rounds\":%d}", arch, $1, $2, $2 == "base" ? "none" : $3, $4, $5, $6, $7, $8, $9)
		}
		END { for (i = 1; i <= n; i++) print json[i] }
	' "$PLACE/$arch/counts" >"$PLACE/$arch/report.new"
	for kernel in base A B; do
		facts "$kernel"
	done >>"$PLACE/$arch/report.new"
	mv "$PLACE/$arch/report.new" "$PLACE/$arch/report"
	cat "$PLACE/$arch/report"
}

judge() {
	for path in cpu_idle_poll poll_idle hlt; do
		for row in "base off" "A on" "B off" "B on"; do
			kernel=${row% *}
			position=${row#* }
			seen=$(get $path "$kernel" "$position" 4)
			enough=$((ROUNDS / 2))
			check "$arch, $path, $row: at least $enough of $ROUNDS rounds without another interrupt" test "${seen:-0}" -ge "$enough"
			through=$(get $path "$kernel" "$position" 9)
			case $position-$path in
			off-cpu_idle_poll | off-poll_idle)
				same "$arch, $path, $row: all of them called the scheduler" "${seen:-none}" "$through" ;;
			*)	# for something else that came in between
				check "$arch, $path, $row: next to none of them called the scheduler" \
					test "${through:-$ROUNDS}" -le $((ROUNDS / 20 + 1)) ;;
			esac
		done
		# what is new is looks at the flag; the least, as timers are looked at in some rounds only
		least=$(get $path base off 6)
		check "$arch, $path: with the switch off, as many instructions as without the series, to 2 %" \
			test "$(get $path B off 6)" -le $((${least:-0} + ${least:-0} / 50))
	done
	for path in cpu_idle_poll poll_idle; do
		check "$arch, $path: B costs less than A" test "$(get $path B on 5)" -lt "$(get $path A on 5)"
		check "$arch, $path: and A less than the base" test "$(get $path A on 5)" -lt "$(get $path base off 5)"
	done
}

need git make ccache rsync patch awk
step bench-base base_tree
for arch in "$@"; do
	case $arch in
	x86_64) cross='' cpu=max ;;
	i386) cross=i686-linux-gnu- cpu=max ;;
	esac
	need "${cross}gcc" "${cross}objdump" "qemu-system-$arch"
	mkdir -p "$PLACE/$arch"
	step "bench-$arch-B" build B "$TREE"
	step "bench-$arch-design-a" design_a
	step "bench-$arch-A" build A "$TREE"
	step "bench-$arch-base" build base "$BASE_TREE"
	: >"$PLACE/$arch/counts"
	for kernel in base A B; do
		say "bench: $arch, $kernel ..."
		boot "$kernel" cpu_idle_poll idle=poll
		# stopped or not, as it happens to be, the tick would make a difference of
		# several hundred instructions
		boot "$kernel" hlt nohz=off
		boot "$kernel" poll_idle ""
	done
	judge
	report
done
tap_done
