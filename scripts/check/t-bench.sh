#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The benchmark: one boot of 20 CPUs with all its cases and the tests of itself,
# the register writes of each, the page, and bad input.
set -eu
unset SMP MACHINE CPU APPEND TESTS TIMEOUT NAME TRACE IMAGE INITRD THREADS ICOUNT IPI_PLAIN
export ARCH=arm64
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/check/tap.sh"

S=$TOP/scripts
export BENCH_OUT="$WORK/t-bench"
rm -rf "$BENCH_OUT"
mkdir -p "$BENCH_OUT/bad"
tmp=$BENCH_OUT/bad
json=$BENCH_OUT/bench-virt-20.json
page=$BENCH_OUT/report.html

# refused TEXT WANTED CMD...: CMD fails and says one line, which WANTED (an ERE) matches
refused() {
	text=$1
	wanted=$2
	shift 2
	if "$@" >"$tmp/out" 2>&1; then
		not_ok "$text: taken for good"
	elif [ "$(wc -l <"$tmp/out")" -eq 1 ] && grep -qE -- "$wanted" "$tmp/out"; then
		ok "$text"
	else
		not_ok "$text: wanted one line, /$wanted/, got: $(head -n 3 "$tmp/out" | tr '\n' '|')"
	fi
}

# the program's options need no machine of any kind
cp -R "$TOP/selftests/ipi" "$tmp/native"
make -C "$tmp/native" CC=gcc CROSS_COMPILE= ipi_bench >"$tmp/log" 2>&1 || cat "$tmp/log"
program=$tmp/native/ipi_bench
refused "ipi_bench -r 0" '^ipi_bench: -r 0: give a number from 1 to 1000000$' "$program" -r 0
refused "ipi_bench -r 9x" '^ipi_bench: -r 9x: give a number' "$program" -r 9x
refused "ipi_bench -b 101" '^ipi_bench: -b 101: give a number from 1 to 100$' "$program" -b 101
refused "ipi_bench -b 20 -r 10" '^ipi_bench: -b: .*no more blocks than rounds' "$program" -b 20 -r 10
refused "ipi_bench -c nothing" '^ipi_bench: -c nothing: known: dry self one' "$program" -c dry,nothing
refused "ipi_bench -s lights" '^ipi_bench: -s lights: known: gicv3_sgi_broadcast' "$program" -s lights
refused "ipi_bench -r" '^ipi_bench: -r: needs a value$' "$program" -r
refused "ipi_bench more" '^ipi_bench: more: known: -r' "$program" more
refused "IPI_BENCH=-x" '^ipi_bench: -x: known: -r' env IPI_BENCH=-x "$program"

"$S/tree.sh" >&2
"$S/build.sh" >&2
check "20 CPUs: the boot, its verdicts, and the writes of each case as expected" \
	"$S/bench.sh" boot virt 20 - 20 4 +-t
dir=
for dir in "$WORK"/results/*-bench-virt-20*; do :; done

check "each line is JSON" python3 -m json.tool --json-lines "$json" /dev/null
same "the first one has the facts" facts "$(head -n 1 "$json" | sed 's/.*"record": "\([a-z]*\)".*/\1/')"

# rows EXPRESSION...: prints them, of the lists cost and writes
rows() {
	python3 -c "
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
cost = [r for r in rows if r['record'] == 'cost']
writes = [r for r in rows if r['record'] == 'writes']
print($1)" "$json"
}
cases=$(sed -n '/case_names\[\]/,/};/s/^\t//p' "$TOP/selftests/ipi/ipi_bench.c" | tr -d '",')
for position in off on; do
	same "all cases, switch $position" "$(printf '%s\n' "$cases" | tr ' ' '\n' | sed '/^$/d' | LC_ALL=C sort)" \
		"$(rows "*sorted({r['case'] for r in cost if r['position'] == '$position'}), sep='\\n'")"
done
same "one target: the edges of a cluster, and the last CPU" "1 15 16 19" \
	"$(rows "*sorted({r['target'] for r in cost if r['case'] == 'one'})")"
same "rows that are not in order, minimum to maximum" 0 "$(rows "sum(
		not s['min'] <= s['median'] <= s['p99'] <= s['max']
		for r in cost for s in (r.get('sent'), r['done']) if s)")"
same "rounds: as many as were asked for, a tenth of those with many IPIs each" "4 20" \
	"$(rows "*sorted({r['rounds'] for r in cost})")"
same "samples of the storm of all: 20 senders" "80" \
	"$(rows "*{r['samples'] for r in cost if r['case'] == 'storm_all'}")"
same "what time is there" "TCG time, no performance evidence" "$(rows "*{r['label'] for r in cost}")"

for row in "all_but_self on 1 0" "all_but_self off 0 2" "everyone on 1 0" "everyone off 0 2" \
	"lock on 1 0" "lock off 0 2" "one on 0 1" "one off 0 1" "self on 0 1" "dry on 0 0" "loop off 0 19"; do
	# shellcheck disable=SC2086
	set -- $row
	same "writes a round: $1, switch $2: $3 with IRM, $4 without" "$3 $4" "$(rows "
		*{f\"{r['irm']} {r['list']}\" for r in writes
		if r['case'] == '$1' and r['position'] == '$2'}")"
done

tested() { # TEXT NUMBER
	same "$1: passed in the guest" "$2" "$(grep -cE "^ *ok [0-9]+ .*$1" "$dir/results.ktap" || :)"
}
tested 'command ".*" refused' 12
tested 'with hotplug$' 7
tested 'unloading during a run refused' 1
tested 'unloading when .* was killed' 2

# what a boot says that is not so
mkdir "$tmp/boot"
cp "$dir/facts" "$dir/results.ktap" "$tmp/boot"
gzip -dcf "$dir"/trace.log* | sed 's/ IRM 1 / IRM 0 /' >"$tmp/boot/trace.log"
refused "a boot in which nothing was broadcast" 'ipi: all_but_self, switch on: 0 writes with IRM and 1 without it a round, wanted 1 and 0' \
	python3 "$S/bench.py" collect "$tmp/boot"
: >"$tmp/boot/trace.log"
refused "a boot without a trace" 'ipi: .*markers in the trace' python3 "$S/bench.py" collect "$tmp/boot"
: >"$tmp/boot/results.ktap"
refused "a boot without results" 'ipi: .*: no figures in results.ktap' python3 "$S/bench.py" collect "$tmp/boot"

# the page
check "the page" "$S/bench.sh" report
check "... has a plot" grep -q '<svg' "$page"
check "... says what was not measured" grep -q 'Not measured in this run: instructions' "$page"
check "... takes nothing from elsewhere" \
	sh -c "! sed 's,http:/[/]www[.]w3[.]org/[^\"]*,,g' '$page' | grep -E '(src|href)=.?[a-z]+:|https?:/[/]|@import|url\\([^#]'"
cat >"$tmp/notify.json" <<-LINE
	{"schema":"ipi-bench-1","record":"notify","arch":"x86_64","path":"poll_idle","tick":"stopped","position":"base","value":1000,"unit":"instructions"}
	{"schema":"ipi-bench-1","record":"notify","arch":"x86_64","path":"poll_idle","tick":"stopped","position":"off","value":1010,"unit":"instructions"}
	{"schema":"ipi-bench-1","record":"notify","arch":"x86_64","path":"poll_idle","tick":"stopped","position":"on","value":345,"unit":"instructions"}
LINE
check "... takes lines of others" "$S/bench.sh" report "$tmp/notify.json"
check "... and has their figures: base, switch off, switch on" \
	grep -qE '>1,000</td>.*>1,010 \(1[.]01\)</td>.*>345 \(0[.]34\)</td>' "$page"
mkdir "$BENCH_OUT/i386"
cat >"$BENCH_OUT/i386/report" <<-LINE
	# i386 hlt base
	{"bench":"notify","arch":"i386","path":"poll_idle","kernel":"B","switch":"off","rounds":50,"instructions":900}
	{"bench":"notify","arch":"i386","path":"poll_idle","kernel":"B","switch":"on","rounds":50,"instructions":180}
	{"bench":"notify","arch":"i386","path":"hlt","kernel":"B","switch":"off","rounds":50,"instructions":683}
	{"bench":"notify","arch":"i386","path":"hlt","kernel":"B","switch":"on","rounds":50,"instructions":687}
	{"bench":"notify","facts":true,"arch":"i386","kernel":"B","compiler":"gcc of i386","qemu_machine":"pc","cpus":"2","accel":"tcg"}
LINE
check "... and those of the other benchmark" "$S/bench.sh" report
check "... which it has as well" grep -qF '180 (0.20)' "$page"
check "... and where they come from" grep -qF '<td>gcc of i386</td>' "$page"
sed 's,</tr>,&\n,g' "$page" >"$tmp/rows"
same "what was reported for a CPU that polls is said of those, and not of one in HLT" "1 1" \
	"$(grep -c 'polling target: 0.46' "$tmp/rows") $(grep -c 'hlt<.*an IPI as before' "$tmp/rows")"
echo '{"schema":"other"}' >"$tmp/other.json"
cp "$page" "$tmp/before.html"
refused "a file of something else" 'ipi: .*other.json:1: not a line of the benchmark' "$S/bench.sh" report "$tmp/other.json"
check "... leaves the page as it was" cmp "$page" "$tmp/before.html"
refused "a file that is not there" 'ipi: .*none.json: there is no such file' "$S/bench.sh" report "$tmp/none.json"
refused "a report of nothing" 'ipi: nothing is measured in .*: run "make bench" first' \
	env BENCH_OUT="$tmp/none" "$S/bench.sh" report
refused "a bad word" 'ipi: usage: bench.sh' "$S/bench.sh" draw

tap_done
