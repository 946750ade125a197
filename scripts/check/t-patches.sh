#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each patch of the series, one after the other on the base: checkpatch, and
# the touched objects built with W=1 and sparse for arm64 and 32-bit arm, with
# the switches on and off. New warnings are found by comparing sets with line
# numbers removed.
set -eu
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/check/tap.sh"

"$TOP/scripts/tree.sh" >&2
need sparse ccache aarch64-linux-gnu-gcc arm-linux-gnueabihf-gcc

PLACE=$WORK/patches
SRC=$PLACE/tree
mkdir -p "$PLACE"
cp "$TOP/scripts/sparse.sh" "$PLACE/sparse.sh"
export CCACHE_DIR="$CACHE/ccache" CCACHE_BASEDIR="$WORK" CCACHE_NOHASHDIR=1
export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 2026' KBUILD_BUILD_USER=ipi KBUILD_BUILD_HOST=lab

base=$(git -C "$TREE" rev-parse refs/ipi/base)
commits=$(git -C "$TREE" rev-list --reverse "$base..ipi")
touched=$(git -C "$TREE" diff --name-only "$base..ipi" -- '*.c' '*.h' | grep -v '^tools/') || :

# a .c file that another one includes is checked with that one
objects() {
	for file in $touched; do
		case $file in *.c) ;; *) continue ;; esac
		includer=$(grep -ls "^#include \"${file##*/}\"" "$TREE/${file%/*}"/*.c | head -n 1) || :
		[ -z "$includer" ] || file=${file%/*}/${includer##*/}
		printf '%s\n' "${file%.c}.o"
	done | sort -u
}
OBJECTS=$(objects)

if [ -d "$SRC/.git" ] || [ -f "$SRC/.git" ]; then
	git -C "$SRC" checkout -q -f --detach "$base"
else
	rm -rf "$SRC"
	git -C "$TREE" worktree prune
	git -C "$TREE" worktree add -q --detach "$SRC" "$base"
fi

kmake() { # CONFIG ARGS...
	config=$1
	shift
	case $config in
	arm64*) set -- ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- CC="ccache aarch64-linux-gnu-gcc" "$@" ;;
	arm*) set -- ARCH=arm CROSS_COMPILE=arm-linux-gnueabihf- CC="ccache arm-linux-gnueabihf-gcc" "$@" ;;
	esac
	KCONFIG_ALLCONFIG=$PLACE/$config.config make -s -C "$SRC" O="$PLACE/$config" -j"$JOBS" "$@"
}

fragment() { # CONFIG
	case $1 in
	arm64*) printf 'CONFIG_%s=y\n' EXPERT PREEMPT ARM64_PSEUDO_NMI ARM_GIC_V3_IPI_ISHST ;;
	arm*) printf 'CONFIG_%s=y\n' EXPERT MMU ARCH_MULTI_V7 ARCH_VIRT SMP PREEMPT ARM_GIC_V3_IPI_ISHST ;;
	esac
	[ "$1" != arm64-on ] || printf 'CONFIG_%s=y\n' ARM_GIC_V3_PMR_SYNC_KUNIT_TEST NUMA \
		ARM_GIC_V4_1_LOCAL_VSGI ARM_GIC_V4_1_VSGI_KUNIT_TEST
	[ "$1" != arm64-off ] || printf '# CONFIG_%s is not set\n' ARM_GIC_V4_1_LOCAL_VSGI
	case $1 in
	*-on) printf 'CONFIG_%s=y\n' ARM_GIC_V3_SGI_BROADCAST KUNIT ARM_GIC_V3_KUNIT_TEST ;;
	# without BUG, WARN_ON() does not put line numbers into the code
	*-off) printf '# CONFIG_%s is not set\n' ARM_GIC_V3_SGI_BROADCAST KUNIT BUG ;;
	esac
}

# build CONFIG: the warnings of the touched objects on stdout
build() {
	[ -z "$configure" ] || kmake "$1" allnoconfig >"$PLACE/$1.log" 2>&1 || { echo "error: allnoconfig failed, see $PLACE/$1.log"; return; }
	for object in $OBJECTS; do
		[ -f "$SRC/${object%.o}.c" ] || continue
		case $1-$object in
		arm-*-arch/arm64/*) continue ;;
		esac
		rm -f "$PLACE/$1/$object"
		kmake "$1" W=1 C=1 CHECK="$PLACE/sparse.sh" "$object" >"$PLACE/$1.log" 2>&1 ||
			echo "error: $object does not build, see $PLACE/$1.log"
		grep -E '(warning|error):' "$PLACE/$1.log" | grep -F "$(dirname "$object")/" || :
		if grep -q 'is not available or not up to date' "$PLACE/$1.log"; then
			echo "error: sparse did not run"
		fi
	done | sed "s,$SRC/,,; s/:[0-9]*:[0-9]*:/:/" | sort -u
}

disassemble() { # CONFIG
	case $1 in arm64*) dump=aarch64-linux-gnu-objdump ;; *) dump=arm-linux-gnueabihf-objdump ;; esac
	"$dump" -d -r --no-show-raw-insn "$PLACE/$1/drivers/irqchip/irq-gic-v3.o"
}

# the send path of an object, without addresses
send_path() {
	disassemble "$1" | awk '
		/^[0-9a-f]+ <.*>:$/ { fn = $2; on = fn ~ /^<gic_(ipi_send_mask|send_sgi|compute_target_list|sgi_targets|broadcast_sgi|more_target_lists|sgi_sender)/ }
		on { sub(/^[0-9a-f]+ </, "<"); sub(/^[ \t]*[0-9a-f]+:/, ""); gsub(/[0-9a-f]+ </, "<"); print }
	'
}

CONFIGS="arm64-on arm64-off arm-on arm-off"
configure=1
for config in $CONFIGS; do
	fragment "$config" >"$PLACE/$config.config"
	say "patches: base, $config"
	build "$config" >"$PLACE/$config.warnings"
	if grep -q '^error:' "$PLACE/$config.warnings"; then
		not_ok "base builds for $config: $(grep -m 1 '^error:' "$PLACE/$config.warnings")"
	fi
done
before=
number=0
for commit in $commits; do
	number=$((number + 1))
	subject=$(git -C "$TREE" log -1 --format=%s "$commit")
	title=$(printf '%04d %s' "$number" "$subject")
	say "patches: $title"

	git -C "$TREE" format-patch -q --stdout -1 "$commit" >"$PLACE/patch"
	checkpatch() {
		KTREE=$TREE "$TOP/scripts/checkpatch-wrapper.sh" --strict --stored <"$PLACE/patch" >"$PLACE/checkpatch" 2>&1 &&
			! grep . "$PLACE/checkpatch"
	}
	check "$title: checkpatch --strict" checkpatch

	# patches that leave the kernel's own code alone need no build
	changed=$(git -C "$TREE" diff-tree -r --name-only --no-commit-id "$commit" |
		grep -E '\.[chS]$|Kconfig|Makefile' | grep -vE '^(tools|Documentation)/') || :
	[ -n "$changed" ] || continue

	git -C "$SRC" checkout -q -f --detach "$commit"
	configure=$(printf '%s\n' "$changed" | grep -m 1 Kconfig) || :
	for config in $CONFIGS; do
		build "$config" >"$PLACE/$config.now"
		new=$(comm -13 "$PLACE/$config.warnings" "$PLACE/$config.now")
		if [ -z "$new" ]; then
			ok "$title: $config builds, W=1 and sparse say nothing new"
		else
			not_ok "$title: $config: W=1 and sparse"
			printf '%s\n' "$new" | sed 's/^/#   /'
		fi
	done

	# the state before the symbol came is what it must compile to when off
	if [ -z "$before" ] && grep -q '^config ARM_GIC_V3_SGI_BROADCAST' "$SRC/drivers/irqchip/Kconfig"; then
		before=$last
	fi
	if [ -z "$before" ]; then
		last=$number
		for config in arm64-off arm-off; do
			send_path "$config" >"$PLACE/$config.before"
		done
	fi
done

symbols() { # CONFIG
	while read -r line; do
		grep -qxF "$line" "$PLACE/$1/.config" || { echo "$1: $line did not come out"; return 1; }
	done <"$PLACE/$1.config"
}
for config in arm64-on arm-on; do
	check "$config: every symbol asked for is set in the end" symbols "$config"
done

for config in arm64 arm; do
	send_path "$config-off" >"$PLACE/$config.after"
	lines=$(wc -l <"$PLACE/$config.after")
	if [ "$lines" -gt 40 ]; then
		check "$config: ARM_GIC_V3_SGI_BROADCAST=n gives the send path of patch $last, $lines lines of disassembly" \
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

# Each topic alone on the base. The first one was there alone above.
topics=$(sed -n 's/^# topic: \([^ ]*\).*/\1/p' "$TOP/patches/$BASE/series")
of_topic() { # TOPIC
	awk -v topic="$1" -v dir="$TOP/patches/$BASE/" '
		/^# topic: / { on = $3 == topic; next }
		on && !/^#/ && NF { print dir $0 }
	' "$TOP/patches/$BASE/series"
}
alone() { # TOPIC
	of_topic "$1" | tr '\n' '\0' |
		xargs -0 git -C "$SRC" -c user.name=ipi -c user.email=ipi@localhost am -q --no-3way || {
		git -C "$SRC" am --abort
		return 1
	}
}
configure=1
for topic in $topics; do
	git -C "$SRC" checkout -q -f --detach "$base"
	check "topic $topic applies alone" alone "$topic"
	case $topic in broadcast | tests) continue ;; esac
	say "patches: topic $topic alone"
	for config in arm64-on arm-on; do
		build "$config" >"$PLACE/$config.now"
		new=$(comm -13 "$PLACE/$config.warnings" "$PLACE/$config.now")
		same "topic $topic alone: $config builds, nothing new is said" "" "$new"
	done
done

tap_done
