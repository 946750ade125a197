#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The benchmark in the lab, and its report: build/<base>/bench/report.html.
#
#   bench.sh			boots, counts, draws
#   bench.sh report [FILE...]	draws again, from what is there and these files, for
#				instance what "make -C selftests/ipi bench" prints
#
# What is measured goes through JSON lines, files *.json in that folder; the page
# has no figure from elsewhere. Whoever measures something else adds a file there.
# Each line has "schema": "ipi-bench-1" and a "record":
#
#   facts	where the lines after it come from, in the same file: release, arch, cpus,
#		machine, cluster (CPUs a cluster), time (what the clock counts), base,
#		version, qemu, compiler, config_sha256, date and others
#   cost	case, target (CPU, of case one and storm_one), switch, position (off, on, base),
#		cpus, rounds, samples, unit (instructions or ns), label (what the figures
#		are), sent and done: {min, median, p99, max} until the sender went on, and
#		until the function had run everywhere. ipi_bench.c has the cases.
#   writes	case, target, switch, position, cpus, cluster, rounds, irm, list: the writes to
#		ICC_SGI1R_EL1 with and without IRM, by QEMU's trace, per (round; run, for
#		storms); all: with those of other tasks meanwhile, in all rounds; label
#   missing	what: which boot did not come to its end
#   notify	arch, path (how the CPU idles), position (off, on, base or the name of another
#		design), value: what a notification costs the target; unit, label, and tick
#		(running, stopped) where that is known
#
# Lines that scripts/bench/notify.sh prints ("bench": "notify"), which is run too, are
# taken from <arch>/report there; lines with # in front are skipped.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

S=$TOP/scripts
limit=${TIMEOUT:-1800}
# BENCH_OUT: for tests
BENCH=${BENCH_OUT:-$WORK/bench}

# one boot a row: machine, CPUs, ICOUNT (- is none), rounds, blocks. virt-2.6 has 8
# CPUs a cluster, and at most 255.
PLAN='
virt		16	0	200	10
virt		32	0	200	10
virt		64	0	100	10
virt		128	0	50	5
virt		256	0	20	4
virt-2.6	16	0	200	10
virt-2.6	32	0	200	10
virt-2.6	64	0	100	10
virt-2.6	128	0	50	5
virt-2.6	255	0	20	4
'

# boot_row MACHINE SMP ICOUNT ROUNDS BLOCKS: to $BENCH/<name>.json
boot_row() {
	name=bench-$1-$2
	time=tcg
	# a clock whose tick is one instruction
	cpu=cortex-a57,cntfrq=1000000000
	icount=
	if [ "$3" != - ]; then
		time=icount
		icount=$3
	fi
	dir=$(MACHINE=$1 SMP=$2 ICOUNT=$icount CPU=$cpu NAME=$name TESTS=ipi_bench TIMEOUT="$limit" \
		APPEND="IPI_BENCH_TIME=$time IPI_BENCH=-r+$4+-b+$5+-s+gicv3_sgi_broadcast${6:-}" "$S/boot.sh") || {
		printf '{"schema":"ipi-bench-1","record":"missing","what":"%s CPUs on %s: the boot failed"}\n' \
			"$2" "$1" >"$BENCH/$name.json"
		return 0
	}
	"$S/verdict.sh" "$dir" >"$dir/verdict.txt" || die "the boot of $2 CPUs ($1) is not good: $dir/verdict.txt"
	python3 "$S/bench.py" collect "$dir" >"$BENCH/$name.json.new" ||
		die "the figures of $2 CPUs ($1) are not good: see $dir"
	mv "$BENCH/$name.json.new" "$BENCH/$name.json"
}

report() { # FILE...: more of them
	need python3 gnuplot
	for file in "$BENCH"/*.json "$BENCH"/*/report; do
		[ ! -f "$file" ] || set -- "$file" "$@"
	done
	[ $# -gt 0 ] || die "nothing is measured in $BENCH: run \"make bench\" first"
	python3 "$S/bench.py" report "$BENCH/report.html" "$@"
	printf 'report: %s\n' "$BENCH/report.html"
}

case ${1:-run} in
run)
	[ $# -le 1 ] || die "usage: bench.sh [run | report FILE... | boot MACHINE SMP ICOUNT ROUNDS BLOCKS]"
	need python3 gnuplot
	take_lock run
	start=$(date +%s)
	unset SMP MACHINE CPU APPEND TESTS NAME TRACE IMAGE INITRD THREADS ICOUNT
	export ARCH=arm64 IPI_PLAIN=1
	"$S/tree.sh"
	"$S/build.sh"
	mkdir -p "$BENCH"
	rm -f "$BENCH"/*.json "$BENCH"/*.json.new
	printf '%s\n' "$PLAN" | while read -r machine smp icount rounds blocks; do
		[ -z "$machine" ] || boot_row "$machine" "$smp" "$icount" "$rounds" "$blocks" </dev/null
	done
	# kernels of its own
	env -u IPI_PLAIN ARCH=x86_64 "$S/bench/notify.sh" >"$BENCH/notify.tap" ||
		die "the notifications on x86 are not as they should be: $BENCH/notify.tap"
	report
	say "bench: $(($(date +%s) - start)) s in all"
	! grep -q '"missing"' "$BENCH"/*.json || die "not all was measured: the page says what"
	;;
boot)
	# one row, for tests
	[ $# -ge 6 ] || die "usage: bench.sh boot MACHINE SMP ICOUNT ROUNDS BLOCKS"
	shift
	mkdir -p "$BENCH"
	boot_row "$@"
	! grep -q '"missing"' "$BENCH/$name.json" || die "the boot failed: see $dir"
	;;
report)
	shift
	for file in "$@"; do
		[ -f "$file" ] || die "$file: there is no such file"
	done
	report "$@"
	;;
*) die "usage: bench.sh [run | report FILE...]" ;;
esac
