#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each patch of the series, one after the other on the base, as the bots of
# maintainers look at it: the touched objects and their direct users built with
# W=1 by gcc and clang and looked at by sparse, for each architecture, with the
# switches on and off; checkpatch, kernel-doc, inlines, and each topic alone. New
# warnings are found by comparing sets with line numbers removed. A table of
# patch and check ends it. With each patch, what it can reach is built: one architecture
# and the switches on; with the whole series all of them, by clang too. make check-patches
# builds each patch for 32-bit arm too, and has i386, kernels without SMP, builds of each
# topic alone, coccicheck and get_maintainer; with LONG, each patch is built in all ways.
set -eu
unset SMP MACHINE CPU APPEND TESTS TIMEOUT NAME TRACE IMAGE INITRD THREADS ICOUNT
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/check/tap.sh"

"$TOP/scripts/tree.sh" >&2
CLANG=clang-19
# of make check-patches
ALL=${IPI_ALL_CONFIGS:-}${LONG:-}
need sparse ccache "$CLANG" perl aarch64-linux-gnu-gcc arm-linux-gnueabihf-gcc i686-linux-gnu-gcc \
	${LONG:+s390x-linux-gnu-gcc hppa-linux-gnu-gcc}

PLACE=$WORK/patches
SRC=$PLACE/tree
LOGS=$PLACE/logs
rm -rf "$LOGS"
mkdir -p "$LOGS"
cp "$TOP/scripts/sparse.sh" "$PLACE/sparse.sh"
use_ccache

base=$(git -C "$TREE" rev-parse refs/ipi/base)
commits=$(git -C "$TREE" rev-list --reverse "$base..ipi")
touched=$(git -C "$TREE" diff --name-only "$base..ipi" -- '*.c' '*.h' | grep -v '^tools/') || :

ARCHES="arm64 arm x86_64 i386 ${LONG:+s390 parisc}"
CONFIGS="arm64-on arm64-off arm-on arm-off x86_64-on x86_64-off"
CONFIGS="$CONFIGS ${ALL:+arm-up i386-on i386-off i386-up} ${LONG:+s390-on parisc-on}"

# what each configuration asks for; the switches need SMP
fragment() { # CONFIG
	printf 'CONFIG_%s=y\n' EXPERT PREEMPT PROC_FS SYSFS
	case $1 in
	arm64-*) printf 'CONFIG_%s=y\n' ARM64_PSEUDO_NMI ARM_GIC_V3_IPI_ISHST NUMA ;;
	arm-up) printf 'CONFIG_%s=y\n' MMU ARCH_MULTI_V7 ARCH_VIRT KUNIT ;;
	arm-*) printf 'CONFIG_%s=y\n' MMU ARCH_MULTI_V7 ARCH_VIRT ARM_GIC_V3_IPI_ISHST ;;
	x86_64-*) printf 'CONFIG_%s=y\n' 64BIT CPU_IDLE NO_HZ_IDLE HIGH_RES_TIMERS ;;
	i386-*) printf 'CONFIG_%s=y\n' CPU_IDLE NO_HZ_IDLE HIGH_RES_TIMERS && echo '# CONFIG_64BIT is not set' ;;
	s390-*) printf 'CONFIG_%s=y\n' NO_HZ_IDLE HIGH_RES_TIMERS ;;
	parisc-*) printf 'CONFIG_%s=y\n' PA8X00 NO_HZ_IDLE HIGH_RES_TIMERS ;;
	esac
	case $1 in
	*-up) echo '# CONFIG_SMP is not set' ;;
	*) echo CONFIG_SMP=y ;;
	esac
	case $1 in
	x86_64-on | i386-on | s390-on | parisc-on) printf 'CONFIG_%s=y\n' KUNIT SCHED_NOTIFY_IPI \
		SCHED_NOTIFY_IPI_DEFAULT_ON SCHED_NOTIFY_IPI_KUNIT_TEST ;;
	arm64-on) printf 'CONFIG_%s=y\n' KUNIT ARM_GIC_V3_SGI_BROADCAST ARM_GIC_V3_KUNIT_TEST \
		ARM_GIC_V3_PMR_SYNC_KUNIT_TEST ARM_GIC_V4_1_LOCAL_VSGI ARM_GIC_V4_1_VSGI_KUNIT_TEST ;;
	arm-on) printf 'CONFIG_%s=y\n' KUNIT ARM_GIC_V3_SGI_BROADCAST ARM_GIC_V3_KUNIT_TEST ;;
	# without BUG, WARN_ON() does not put line numbers into the code
	*-off) printf '# CONFIG_%s is not set\n' KUNIT BUG ARM_GIC_V3_SGI_BROADCAST ARM_GIC_V4_1_LOCAL_VSGI \
		SCHED_NOTIFY_IPI ;;
	esac
}

# The objects of the touched sources, and the sources that include a touched header
# by themselves, unless half the kernel does; a .c file that another one includes
# is built with that one
objects() {
	for file in $touched; do
		case $file in
		*.c) printf '%s\n' "$file" ;;
		*/include/asm/*.h)
			users "$(printf '%s' "$file" | sed 's,.*/include/,,')" "${file%/include/*}" drivers
			;;
		include/*.h) users "${file#include/}" arch drivers kernel ;;
		*.h) users "\(.*/\)\?${file##*/}" "${file%/*}" ;;
		esac
	done | sort -u | while read -r file; do
		[ -f "$TREE/$file" ] || continue
		includer=$(grep -ls "^#include \"${file##*/}\"" "$TREE/${file%/*}"/*.c | head -n 1) || :
		[ -z "$includer" ] || file=${file%/*}/${includer##*/}
		printf '%s\n' "${file%.c}.o"
	done | sort -u
}
users() { # HEADER FOLDER...
	header=$1
	shift
	(cd "$TREE" && grep -rlE --include='*.c' "^#include [<\"]${header}[>\"]" "$@") >"$PLACE/users" || :
	[ "$(wc -l <"$PLACE/users")" -gt 8 ] || cat "$PLACE/users"
}
OBJECTS=$(objects)

# What is not of a configuration, as a pattern of paths. For what all have, one of
# Arm's is enough.
not_of() { # CONFIG
	common='^(kernel|init|include/linux/sched|include/asm-generic|drivers/cpuidle)/|linux/(sched|tick|thread_info|cpuidle)[.]h'
	case $1 in
	arm64-on) echo '^arch/(x86|arm|s390|parisc)/|^drivers/(idle|acpi|cpuidle)/' ;;
	arm64-*) echo "^arch/(x86|arm|s390|parisc)/|^drivers/(idle|acpi)/|$common" ;;
	arm-*) echo "^arch/(x86|arm64|s390|parisc)/|^drivers/(idle|acpi)/|$common" ;;
	x86_64-*) echo '^arch/(arm|arm64|s390|parisc)/|irq-gic|irqchip/Kconfig' ;;
	i386-*) echo '^arch/(arm|arm64|s390|parisc)/|irq-gic|irqchip/Kconfig|^drivers/idle/' ;;
	s390-*) echo '^arch/(arm|arm64|x86|parisc)/|irq-gic|irqchip/Kconfig|^drivers/(idle|acpi|cpuidle)/' ;;
	parisc-*) echo '^arch/(arm|arm64|x86|s390)/|irq-gic|irqchip/Kconfig|^drivers/(idle|acpi|cpuidle)/' ;;
	esac
}

# those of OBJECTS that a configuration has
objects_of() { # CONFIG
	no=$(not_of "$1")
	for object in $OBJECTS; do
		[ -f "$SRC/${object%.o}.c" ] && ! printf '%s\n' "$object" | grep -qE "$no" || continue
		grep -qxF "$object" "$PLACE/$1.without" || printf '%s\n' "$object"
	done
}

# does a change of these files reach a configuration
concerns() { # CONFIG FILES
	printf '%s\n' "$2" | grep -qvE "$(not_of "$1")"
}

# Is a configuration built with each patch that changes these files, or with the whole
# series only: those with switches off are when they are compared below; i386 has no
# source of its own, and x86 is enough for what all architectures have.
per_patch() { # CONFIG FILES
	[ -z "${LONG:-}" ] || return 0
	case $1 in
	i386-* | *-up) return 1 ;;
	x86_64-off) return 1 ;;
	*-off) [ "$commit" = "$before" ] ;;
	arm-on) [ -n "$ALL" ] ;;
	arm64-on) printf '%s\n' "$2" | grep -qE '^arch/arm64|irq-gic|irqchip' ;;
	esac
}

# an architecture that no patch touches is left out
for config in $CONFIGS; do
	concerns "$config" "$touched" && printf '%s\n' "$config"
done >"$PLACE/configs"
CONFIGS=$(cat "$PLACE/configs")

if [ -d "$SRC/.git" ] || [ -f "$SRC/.git" ]; then
	git -C "$SRC" am --abort 2>/dev/null || :
	git -C "$SRC" checkout -q -f --detach "$base"
else
	rm -rf "$SRC"
	git -C "$TREE" worktree prune
	git -C "$TREE" worktree add -q --detach "$SRC" "$base"
fi

kmake() { # CONFIG COMPILER ARGS...
	config=$1
	out=$PLACE/$1
	compiler=$2
	shift 2
	case $config in
	arm64-*) set -- ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- "$@" && cc=aarch64-linux-gnu-gcc ;;
	arm-*) set -- ARCH=arm CROSS_COMPILE=arm-linux-gnueabihf- "$@" && cc=arm-linux-gnueabihf-gcc ;;
	x86_64-*) set -- ARCH=x86_64 "$@" && cc=gcc ;;
	i386-*) set -- ARCH=i386 CROSS_COMPILE=i686-linux-gnu- "$@" && cc=i686-linux-gnu-gcc ;;
	s390-*) set -- ARCH=s390 CROSS_COMPILE=s390x-linux-gnu- "$@" && cc=s390x-linux-gnu-gcc ;;
	parisc-*) set -- ARCH=parisc CROSS_COMPILE=hppa-linux-gnu- "$@" && cc=hppa-linux-gnu-gcc ;;
	esac
	[ "$compiler" = gcc ] || { cc=$CLANG && out=$out-clang; }
	# shellcheck disable=SC2086
	KCONFIG_ALLCONFIG=$PLACE/$config.config make -s -k -C "$SRC" O="$out" CC="$CACHED_CC $cc" $NO_RUST -j"$JOBS" "$@"
}

# build CONFIG COMPILER LOG [configure]: what the compiler and sparse say of what
# had to be built again in the folders of the series, on stdout, sorted for comm
build() {
	build_and_say "$@" | sort -u
}
build_and_say() {
	log=$3
	# without one, make would build all of the kernel
	[ -n "$(objects_of "$1")" ] || return 0
	if [ -n "${4:-}" ] && ! kmake "$1" "$2" allnoconfig >"$log" 2>&1; then
		echo "error: allnoconfig failed, see $log"
		return
	fi
	wanted=$(objects_of "$1")
	set -- "$1" "$2" W=1
	[ "$2" != gcc ] || set -- "$@" C=1 CHECK="$PLACE/sparse.sh"
	# shellcheck disable=SC2086
	kmake "$@" $wanted >"$log" 2>&1 || echo "error: does not build, see $log"
	! grep -q 'is not available or not up to date' "$log" || echo "error: sparse did not run"
	# the compiler cache says again what was said of another clone's tree
	sed "s,$SRC/,,g; s,^/[^ :]*/patches/tree/,,; s,^[.][.]/tree/,,; s/:[0-9]*:[0-9]*:/:/" "$log" | awk -v dirs="$(dirname $OBJECTS $touched | sort -u)" '
		BEGIN { n = split(dirs, dir, "\n"); for (i = 1; i <= n; i++) ours[dir[i]] = 1 }
		/(warning|error):/ { file = $1; sub(/\/[^\/]*$/, "", file); if (file in ours) print }
	'
}

# afresh FOLDER: what an earlier run built there would not be built, and nothing be
# said of it
afresh() {
	for object in $OBJECTS; do
		rm -f "$PLACE/$1/$object"
	done
}

# cell NUMBER COLUMN TEXT OUTPUT: a test and a cell of the table, passed if the file
# OUTPUT is empty
cell() {
	if [ ! -s "$4" ]; then
		ok "$3"
		state=ok
	else
		not_ok "$3"
		head -n 20 "$4" | sed 's/^/#   /'
		state=FAIL
	fi
	printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$state" "$4" >>"$PLACE/cells"
}

disassemble() { # CONFIG OBJECT
	case $1 in
	arm64-*) dump=aarch64-linux-gnu-objdump ;;
	arm-*) dump=arm-linux-gnueabihf-objdump ;;
	*) dump=objdump ;;
	esac
	"$dump" -d -r --no-show-raw-insn "$PLACE/$1/$2"
}

# code CONFIG OBJECT FUNCTIONS: those of an object whose name fits, without addresses
code() {
	disassemble "$1" "$2" | awk -v name="^<($3)[.>]" '
		/^[0-9a-f]+ <.*>:$/ { on = $2 ~ name }
		on { sub(/^[0-9a-f]+ </, "<"); sub(/^[ \t]*[0-9a-f]+:/, ""); gsub(/[0-9a-f]+ </, "<"); print }
	'
}
SENDS='gic_(ipi_send_mask|send_sgi|compute_target_list|sgi_targets|broadcast_sgi|more_target_lists|sgi_sender).*'
send_path() { # CONFIG
	code "$1" drivers/irqchip/irq-gic-v3.o "$SENDS"
}
idle_loop() { # CONFIG
	code "$1" kernel/sched/build_policy.o 'do_idle|cpu_idle_poll|cpu_startup_entry|default_idle_call|cpuidle_idle_call'
}

: >"$PLACE/cells"
for config in $CONFIGS; do
	fragment "$config" >"$PLACE/$config.config"
	: >"$PLACE/$config.without"
	afresh "$config"
	build "$config" gcc "$LOGS/0000-$config" configure >"$PLACE/$config.warnings" &
done
say "patches: base,$(printf ' %s' $CONFIGS)"
wait
for config in $CONFIGS; do
	# users of a header that the base cannot build so are not of this configuration
	for object in $(objects_of "$config"); do
		[ -f "$PLACE/$config/$object" ] || printf '%s\n' "$object"
	done >"$PLACE/$config.missing"
	mv "$PLACE/$config.missing" "$PLACE/$config.without"
	grep '^error: \(allnoconfig\|sparse\)' "$PLACE/$config.warnings" >"$LOGS/0000-$config.error" || :
	[ -n "$(objects_of "$config")" ] || echo "no object of it builds" >>"$LOGS/0000-$config.error"
	cell 0000 "${config%-*}" "base: $config builds" "$LOGS/0000-$config.error"
	case $config in x86_64-* | i386-*) idle_loop "$config" >"$PLACE/$config.idle" ;; esac
done

# the patch before the one with the symbol has what it must compile to when off
before=$(before_symbol ARM_GIC_V3_SGI_BROADCAST)
[ -n "$before" ] || die "no patch adds ARM_GIC_V3_SGI_BROADCAST"
number=0
for commit in $commits; do
	number=$((number + 1))
	nr=$(printf '%04d' "$number")
	title="$nr $(git -C "$TREE" log -1 --format=%s "$commit")"
	say "patches: $title"
	patch=$LOGS/$nr.patch
	git -C "$TREE" format-patch -q --stdout -1 "$commit" >"$patch"

	# as it is stored, with its whole context, where the one before has left the tree
	stored=$(sed -n "/^[0-9].*\.patch\$/p" "$TOP/patches/$BASE/series" | sed -n "${number}p")
	patch --dry-run -s -f -p1 -F0 -d "$SRC" <"$TOP/patches/$BASE/$stored" >"$LOGS/$nr-apply" 2>&1 &&
		: >"$LOGS/$nr-apply"
	cell "$nr" apply "$title: applies with fuzz 0" "$LOGS/$nr-apply"

	KTREE=$TREE "$TOP/scripts/checkpatch-wrapper.sh" --strict --codespell --stored <"$patch" \
		>"$LOGS/$nr-checkpatch" 2>&1 || echo "checkpatch has findings" >>"$LOGS/$nr-checkpatch"
	cell "$nr" checkpatch "$title: checkpatch --strict --codespell" "$LOGS/$nr-checkpatch"

	# an inline in a .c file is for the compiler to decide, but for a stub
	awk '/^\+\+\+ / { c = /\.c$/ } c && /^\+.*[^_a-z]inline[^_a-z]/ && !/\{ *\}$/' "$patch" >"$LOGS/$nr-inline"
	cell "$nr" inline "$title: no inline in a source" "$LOGS/$nr-inline"

	files=$(git -C "$TREE" diff-tree -r --name-only --no-commit-id "$commit")
	sources=$(printf '%s\n' "$files" | grep '\.[ch]$') || :
	if [ -n "$sources" ]; then
		kernel_doc() { # COMMIT
			rm -rf "$PLACE/doc"
			mkdir -p "$PLACE/doc"
			# shellcheck disable=SC2086
			there=$(git -C "$TREE" ls-tree -r --name-only "$1" -- $sources)
			[ -n "$there" ] || return 0
			# shellcheck disable=SC2086
			git -C "$TREE" archive "$1" -- $there | tar -x -C "$PLACE/doc"
			(cd "$PLACE/doc" && find . -type f -exec "$TREE/scripts/kernel-doc" -none -Wall {} + 2>&1) |
				grep -E 'warning|error|Warning|Error' | sed 's/:[0-9][0-9]*\(:\| \|$\)/:\1/' | sort -u
		}
		kernel_doc "$commit^" >"$PLACE/doc.before" 2>/dev/null
		kernel_doc "$commit" >"$PLACE/doc.after"
		comm -13 "$PLACE/doc.before" "$PLACE/doc.after" >"$LOGS/$nr-kernel-doc"
		cell "$nr" kernel-doc "$title: kernel-doc has nothing new to say" "$LOGS/$nr-kernel-doc"
	fi

	git -C "$SRC" checkout -q -f --detach "$commit"
	# patches that leave the kernel's own code alone need no build
	changed=$(printf '%s\n' "$files" | grep -E '\.[chS]$|Kconfig|Makefile' | grep -vE '^(tools|Documentation)/') || :
	[ -n "$changed" ] || continue
	configure=$(printf '%s\n' "$changed" | grep -m 1 Kconfig) || :
	for compiler in gcc ${LONG:+clang}; do
		reached=
		for config in $CONFIGS; do
			concerns "$config" "$changed" || continue
			per_patch "$config" "$changed" || continue
			reached="$reached $config"
			build "$config" "$compiler" "$LOGS/$nr-$config-$compiler" "$configure" >"$PLACE/$config.now" &
		done
		wait
		for arch in $ARCHES; do
			found=$LOGS/$nr-$arch-$compiler
			: >"$found"
			of_arch=
			for config in $reached; do
				[ "${config%-*}" = "$arch" ] || continue
				of_arch=1
				comm -13 "$PLACE/$config.warnings" "$PLACE/$config.now" | sed "s/^/$config: /" >>"$found"
			done
			[ -z "$of_arch" ] ||
				cell "$nr" "$arch" "$title: $arch builds by $compiler, W=1 and sparse say nothing new" "$found"
		done
	done

	[ "$commit" != "$before" ] || for config in arm64-off arm-off; do
		send_path "$config" >"$PLACE/$config.before"
	done
done

# What was not built with each patch, with the whole series
say "patches: the whole series"
whole=$(printf '%s\n' $CONFIGS | grep -vxE "x86_64-on${ALL:+|arm-on}")
for config in $whole; do
	build "$config" gcc "$LOGS/last-$config" configure >"$PLACE/$config.now" &
done
wait
for config in $whole; do
	comm -13 "$PLACE/$config.warnings" "$PLACE/$config.now" >"$LOGS/last-$config.new"
	cell last "${config%-*}" "the whole series: $config builds, W=1 and sparse say nothing new" "$LOGS/last-$config.new"
done

symbols() { # CONFIG
	while read -r line; do
		# what is off may be out of reach as well
		case $line in '#'*) ! grep -q "^$(printf %s "$line" | cut -d ' ' -f 2)=" "$PLACE/$1/.config" && continue ;; esac
		grep -qxF "$line" "$PLACE/$1/.config" || { echo "$1: $line did not come out"; return 1; }
	done <"$PLACE/$1.config"
}
for config in $CONFIGS; do
	check "$config: every symbol is in the end as it was asked for" symbols "$config"
done

# what was left out of one configuration is in another
unbuilt() {
	for file in $touched; do
		case $file in *.c) ;; *) continue ;; esac
		includer=$(grep -ls "^#include \"${file##*/}\"" "$TREE/${file%/*}"/*.c | head -n 1) || :
		[ -z "$includer" ] || file=${file%/*}/${includer##*/}
		set -- "$PLACE"/*-on/"${file%.c}.o"
		[ -f "$1" ] || echo "$file"
	done
}
same "every touched source is built by a configuration" "" "$(unbuilt)"

for config in arm64 arm; do
	send_path "$config-off" >"$PLACE/$config.after"
	lines=$(wc -l <"$PLACE/$config.after")
	if [ "$lines" -gt 40 ]; then
		check "$config: ARM_GIC_V3_SGI_BROADCAST=n gives the send path of patch $(git -C "$TREE" rev-list --count "$base..$before"), $lines lines of disassembly" \
			diff "$PLACE/$config-off.before" "$PLACE/$config.after"
	else
		not_ok "$config: the send path was not found in the object"
	fi
	send_path "$config-on" >"$PLACE/$config.on"
	if cmp -s "$PLACE/$config-off.before" "$PLACE/$config.on"; then
		not_ok "$config: ... and so does =y: the comparison sees nothing"
	else
		ok "$config: ... and =y does not"
	fi
done

# SCHED_NOTIFY_IPI=n is the idle loop of the base
for config in $CONFIGS; do
	case $config in x86_64-off | i386-off | i386-up) ;; *) continue ;; esac
	idle_loop "$config" >"$PLACE/$config.after"
	lines=$(wc -l <"$PLACE/$config.after")
	if [ "$lines" -gt 100 ]; then
		check "$config: the idle loop of the base, $lines lines of disassembly" \
			diff "$PLACE/$config.idle" "$PLACE/$config.after"
	else
		not_ok "$config: the idle loop was not found in the object"
	fi
	on=${config%-*}-on
	idle_loop "$on" >"$PLACE/$on.after"
	if cmp -s "$PLACE/$on.idle" "$PLACE/$on.after"; then
		not_ok "$config: ... and with SCHED_NOTIFY_IPI=y, too: the comparison sees nothing"
	else
		ok "$config: ... and with SCHED_NOTIFY_IPI=y it is another"
	fi
done

[ -n "$ALL" ] || skip "i386, kernels without SMP, 32-bit arm with each patch" "make check-patches builds them"

# What clang says of the whole series, and of the base if it says anything
for config in $CONFIGS; do
	case $config-${LONG:-} in *-on-* | *-1) ;; *) continue ;; esac
	say "patches: clang, $config"
	afresh "$config-clang"
	build "$config" clang "$LOGS/clang-$config" configure >"$PLACE/$config.clang"
	if [ -s "$PLACE/$config.clang" ] && ! grep -q '^error:' "$PLACE/$config.clang"; then
		git -C "$SRC" checkout -q -f --detach "$base"
		afresh "$config-clang"
		build "$config" clang "$LOGS/clang-$config-base" configure >"$PLACE/$config.clang.base"
		git -C "$SRC" checkout -q -f --detach "$commit"
	else
		: >"$PLACE/$config.clang.base"
	fi
	comm -13 "$PLACE/$config.clang.base" "$PLACE/$config.clang" >"$LOGS/clang-$config.new"
	cell last clang "the whole series: $config builds by $CLANG, W=1 says nothing new" "$LOGS/clang-$config.new"
done

# Symbols and files of the whole series
: >"$LOGS/symbols"
git -C "$TREE" diff "$base..ipi" -- '*.c' '*.h' '*.S' '*Kconfig*' '*Makefile' ':!tools' |
	awk '/^\+/ { while (match($0, /CONFIG_[A-Z0-9_]+/)) { print substr($0, RSTART + 7, RLENGTH - 7); $0 = substr($0, RSTART + RLENGTH) } }
	' |
	sort -u | while read -r symbol; do
		grep -rqE --include='Kconfig*' "^[[:space:]]*(menu)?config $symbol\$" "$TREE/arch" "$TREE/drivers" \
			"$TREE/init" "$TREE/kernel" "$TREE/lib" "$TREE/mm" "$TREE/fs" "$TREE/net" "$TREE/security" "$TREE/block" "$TREE/certs" "$TREE/crypto" "$TREE/virt" "$TREE/sound" "$TREE/ipc" "$TREE/usr" ||
			echo "CONFIG_$symbol is used and not defined"
	done >"$LOGS/symbols"
cell last symbols "the whole series: every Kconfig symbol that is used is defined" "$LOGS/symbols"

if [ -n "$ALL" ]; then
	git -C "$SRC" checkout -q -f --detach ipi
	(cd "$SRC" && perl scripts/get_maintainer.pl --self-test=sections,patterns) 2>&1 | grep -i 'ipi\|irq-gic' >"$LOGS/maintainers" || :
	git -C "$TREE" diff --diff-filter=A --name-only "$base..ipi" | while read -r file; do
		(cd "$SRC" && perl scripts/get_maintainer.pl --no-git --no-git-fallback --norolestats -f "$file") >"$PLACE/who" 2>&1
		grep -v 'linux-kernel@vger' "$PLACE/who" | grep -q @ || echo "$file has no maintainer"
	done >>"$LOGS/maintainers"
	cell last maintainers "the whole series: MAINTAINERS is sound and every new file has a maintainer" "$LOGS/maintainers"
else
	skip "MAINTAINERS, by get_maintainer" "make check-patches runs it"
fi

# The kernel's own Coccinelle rules, on what the first configuration of an
# architecture builds
coccicheck() { # CONFIG LOG
	wanted=$(objects_of "$1")
	# shellcheck disable=SC2086
	kmake "$1" gcc C=2 CHECK=scripts/coccicheck MODE=report $wanted >"$2" 2>&1 || echo "error: see $2"
	sed "s,$SRC/,,g" "$2" | grep -E '^[a-zA-Z].*\.[ch]:[0-9]+' | sed 's/:[0-9]*:[0-9-]*:/:/; s/line [0-9]*/line/g' | sort -u
}
if [ -n "$ALL" ]; then
	for config in arm64-on x86_64-on; do
		say "patches: coccicheck, $config"
		coccicheck "$config" "$LOGS/cocci-$config" >"$PLACE/$config.cocci"
		if [ -s "$PLACE/$config.cocci" ]; then
			git -C "$SRC" checkout -q -f --detach "$base"
			coccicheck "$config" "$LOGS/cocci-$config-base" >"$PLACE/$config.cocci.base"
			git -C "$SRC" checkout -q -f --detach ipi
		else
			: >"$PLACE/$config.cocci.base"
		fi
		grep -q 'coccicheck\|^[^ ]*SPATCH' "$LOGS/cocci-$config" || echo "coccicheck did not run" >>"$PLACE/$config.cocci"
		comm -13 "$PLACE/$config.cocci.base" "$PLACE/$config.cocci" >"$LOGS/cocci-$config.new"
		cell last cocci "the whole series: $config: coccicheck finds nothing new" "$LOGS/cocci-$config.new"
	done
else
	skip "coccicheck on the touched files" "make check-patches runs it"
fi

# Each topic alone on the base. The first one was there alone above.
alone() { # TOPIC
	awk -v topic="$1" -v dir="$TOP/patches/$BASE/" '
		/^# topic: / { on = $3 == topic; next }
		on && !/^#/ && NF { print dir $0 }
	' "$TOP/patches/$BASE/series" | tr '\n' '\0' |
		xargs -0 git -C "$SRC" -c user.name=ipi -c user.email=ipi@localhost am -q --no-3way || {
		git -C "$SRC" am --abort
		return 1
	}
}
first=1
for topic in $(sed -n 's/^# topic: \([^ ]*\).*/\1/p' "$TOP/patches/$BASE/series"); do
	git -C "$SRC" checkout -q -f --detach "$base"
	alone "$topic" >"$LOGS/topic-$topic" 2>&1 && : >"$LOGS/topic-$topic"
	cell "$topic" apply "topic $topic applies alone" "$LOGS/topic-$topic"
	changed=$(git -C "$SRC" diff --name-only "$base..HEAD" | grep -E '\.[chS]$|Kconfig|Makefile' | grep -vE '^(tools|Documentation)/') || :
	if [ -z "$ALL" ] || [ -n "$first" ] || [ -z "$changed" ] || [ -s "$LOGS/topic-$topic" ]; then
		first=
		continue
	fi
	say "patches: topic $topic alone"
	for config in $CONFIGS; do
		case $config in arm64-on | arm-on | x86_64-on | i386-on) ;; *) continue ;; esac
		concerns "$config" "$changed" || continue
		build "$config" gcc "$LOGS/topic-$topic-$config" configure >"$PLACE/now"
		comm -13 "$PLACE/$config.warnings" "$PLACE/now" >"$LOGS/topic-$topic-$config.new"
		cell "$topic" "${config%-*}" "topic $topic alone: $config builds, nothing new is said" "$LOGS/topic-$topic-$config.new"
	done
done

[ -n "$ALL" ] || skip "each topic alone, built" "make check-patches builds them"

# Patch and check: "-" is what the patch does not reach
awk -F '\t' '
	function field(text, like) {
		printf " %-*s", (length(like) > 4 ? length(like) : 4), text
	}
	BEGIN { n = split("apply checkpatch inline kernel-doc arm64 arm x86_64 i386 s390 parisc clang symbols maintainers cocci", column, " ") }
	!($1 in seen) { seen[$1] = 1; row[++rows] = $1 }
	{
		if (state[$1, $2] != "FAIL") state[$1, $2] = $3
		if ($3 == "FAIL") failed[++bad] = $1 " " $2 ": " $4
	}
	END {
		printf "# %-10s", "patch"
		for (i = 1; i <= n; i++) field(column[i], column[i])
		print ""
		for (r = 1; r <= rows; r++) {
			printf "# %-10s", row[r]
			for (i = 1; i <= n; i++) {
				s = state[row[r], column[i]]
				field(s == "" ? "-" : s, column[i])
			}
			print ""
		}
		for (i = 1; i <= bad; i++) print "# FAIL " failed[i]
	}
' "$PLACE/cells" >"$PLACE/table"
cat "$PLACE/table"
same "the table has a line for each patch" "$number" "$(grep -c '^# 0*[1-9]' "$PLACE/table")"

tap_done
