# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034
# What every script shares: folders, messages, steps, the lock, the bases table.
# Source it first, in a POSIX sh script under "set -eu".

say() {
	printf '== %s\n' "$*" >&2
}

die() {
	printf 'ipi: %s\n' "$*" >&2
	exit 1
}

# need TOOL...: dies when one is not there
need() {
	missing=
	for tool in "$@"; do
		command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
	done
	[ -n "$missing" ] || return 0
	command -v apt-get >/dev/null 2>&1 && command -v dpkg-query >/dev/null 2>&1 ||
		die "missing:$missing; install that (\"make deps\" says how Debian names what is needed)"
	die "missing:$missing; \"make deps\" installs what is missing"
}

# What OUT holds that these scripts never put there: one name, or nothing. The
# names are those of the time before there was a stamp.
out_alien() {
	names='\.ipi-out|[a-z]+\.lock|log|check|boot\.dir|help\.txt|doorbell|selftests|refresh\.[a-z]+|ksrc-[0-9]+'
	names=$names$(awk '!/^#/ && NF { printf "|%s", $1 }' "$TOP/patches/BASES")
	find "$OUT/" -mindepth 1 -maxdepth 1 -printf '%f\n' | grep -m 1 -vxE "$names" || :
}

# OUT is ours alone, and clean may remove it: the stamp says so, or its content
out_is_ours() {
	[ ! -f "$OUT/.ipi-out" ] || return 0
	set -- "$OUT"/*.lock
	[ -e "$1" ] && [ -z "$(out_alien)" ]
}

# Makes OUT, and stamps it while it is empty
make_out() {
	if ! mkdir -p "$OUT" 2>/dev/null || [ ! -w "$OUT" ]; then
		die "cannot write to $OUT: set OUT= to a folder of yours"
	fi
	[ ! -f "$OUT/.ipi-out" ] || return 0
	if [ -z "$(ls -A "$OUT")" ] || out_is_ours; then
		{
			echo 'Made by the scripts of ipi-series, "make clean" removes this folder.' >"$OUT/.ipi-out"
		} 2>/dev/null || die "cannot write to $OUT: set OUT= to a folder of yours"
	elif [ -n "$OUT_GIVEN" ] && alien=$(out_alien) && [ -n "$alien" ]; then
		die "OUT=$OUT holds other things ($alien): give a new or an empty folder"
	fi
}

# take_lock NAME [FD]: held on that fd, or 9, until the script and its children end. The
# tests, some of which run beside each other, set LOCK_WAIT to the seconds that they wait.
take_lock() {
	make_out
	eval "exec ${2:-9}>\"\$OUT/\$1.lock\""
	flock -w "${LOCK_WAIT:-0}" "${2:-9}" || die "another run uses $OUT, or one that was interrupted has not ended: wait for it or set OUT= to another folder"
}

# need_space FOLDER MIB WHAT [VARIABLE that moves the folder]
need_space() {
	mkdir -p "$1" 2>/dev/null || die "cannot write to $1: set ${4:-OUT}= elsewhere"
	free=$(df -Pk "$1" | awk 'NR == 2 { print int($4 / 1024) }')
	[ "$free" -ge "$2" ] || die "no room: $1 has $free MiB free, $3 needs $2: make room or set ${4:-OUT}= elsewhere"
}

# base_field BASE FIELD: a column of patches/BASES by its name
base_field() {
	awk -v base="$1" -v field="$2" '
		BEGIN { split("name kernel package suite version tarball sha256", name) }
		$1 == base { for (i in name) if (name[i] == field) print $i }
	' "$TOP/patches/BASES"
}

# the reporter of step: every 20 s one line, as long as the script lives
step_progress() {
	tick=0
	while sleep 1 && kill -0 $$; do
		tick=$((tick + 1))
		[ $((tick % 20)) -eq 0 ] || continue
		line=$(tail -n 1 "$2" | tr '\r\t' '  ' | cut -c 1-100)
		printf '== %s: %s s%s\n' "$1" "$tick" "${line:+: $line}" >&3
	done
}

# step NAME CMD...: CMD (in a subshell: variables it sets are lost) with its
# output in a log; a failure ends the script
step() {
	step_name=$1
	shift
	make_out
	mkdir -p "$OUT/log"
	step_log=$OUT/log/$step_name.log
	say "$step_name ..."
	step_start=$(date +%s)
	: >"$step_log"
	step_progress "$step_name" "$step_log" 3>&2 >/dev/null 2>&1 </dev/null 9>&- &
	step_pid=$!
	# not "if CMD": that would switch off -e inside CMD
	set +e
	(
		set -e
		"$@"
	) >"$step_log" 2>&1
	step_rc=$?
	set -e
	kill "$step_pid" 2>/dev/null || :
	wait "$step_pid" 2>/dev/null || :
	if [ "$step_rc" -ne 0 ]; then
		# a CMD that died has said why
		cause=$(sed -n '$s/^ipi: //p' "$step_log")
		[ -z "$cause" ] || die "$cause"
		tail -n 15 "$step_log" >&2
		die "$step_name failed; the whole log: $step_log"
	fi
	say "$step_name: $(($(date +%s) - step_start)) s"
}

# git run from a hook or "rebase --exec" would otherwise look at that repository
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_PREFIX

TOP=$(cd "$(dirname "$0")" && pwd -P)
while [ ! -f "$TOP/scripts/lib.sh" ]; do
	[ "$TOP" != / ] || die "scripts/lib.sh not found above $0"
	TOP=$(dirname "$TOP")
done

BASE=${BASE:-mainline}
ARCH=${ARCH:-arm64}
KSRC=${KSRC:-}
REF=${REF:-}
JOBS=${JOBS:-$(nproc)}

[ -f "$TOP/patches/BASES" ] || die "patches/BASES is missing: restore it from git"
case $BASE in
*[!A-Za-z0-9._-]*) known= ;;
*) known=$(base_field "$BASE" name) ;;
esac
[ -n "$known" ] ||
	die "unknown BASE=$BASE; known: $(awk '!/^#/ && NF { printf "%s%s", s, $1; s = " " }' "$TOP/patches/BASES")"
case $JOBS in
'' | *[!0-9]* | 0*) die "JOBS=$JOBS: give a number of jobs" ;;
esac
# the cases of arch.sh
ARCHES=$(awk '/^esac/ { exit } /^[a-z0-9_| ]+\)$/ { gsub(/[)|]/, " "); $1 = $1; print }' "$TOP/scripts/arch.sh" | tr '\n' ' ')
case $ARCH:" $ARCHES" in
*[!a-z0-9_]*:*) known= ;;
*:*" $ARCH "*) known=1 ;;
*) known= ;;
esac
[ -n "$known" ] || die "unknown ARCH=$ARCH; known: ${ARCHES% }"

# another kernel of that architecture, with what is in its file as well
VARIANT=${VARIANT:-}
case $VARIANT in
*[!a-z0-9_]*) known= ;;
*) known=1 ;;
esac
[ -n "$known" ] && { [ -z "$VARIANT" ] || [ -f "$TOP/selftests/ipi/qemu/variant-$VARIANT.config" ]; } ||
	die "unknown VARIANT=$VARIANT; known: $(cd "$TOP/selftests/ipi/qemu" && echo variant-*.config | sed 's/variant-//g; s/[.]config//g')"

[ -n "${XDG_CACHE_HOME:-}${HOME:-}" ] || die "no home folder: set XDG_CACHE_HOME"
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/ipi-series

# kbuild takes neither a space nor a colon in its folders
OUT_GIVEN=${OUT:-}
if [ -z "${OUT:-}" ]; then
	OUT=$TOP/build
	case $OUT in
	*[[:space:]:]*) OUT=$CACHE/out-$(printf %s "$TOP" | cksum | cut -d ' ' -f 1) ;;
	esac
fi
case $OUT in
/*) ;;
*) OUT=$PWD/$OUT ;;
esac
case $OUT in
*[[:space:]:]*) die "$OUT: set OUT= to a folder with neither space nor colon" ;;
esac

WORK=$OUT/$BASE
if [ -n "$KSRC" ]; then
	[ -e "$KSRC" ] || die "KSRC=$KSRC does not exist: give a git tree or a tarball of the kernel"
	file=
	folder=$KSRC
	[ -d "$KSRC" ] || {
		file=/$(basename "$KSRC")
		folder=$(dirname "$KSRC")
	}
	folder=$(cd "$folder" 2>/dev/null && pwd -P) || die "KSRC=$KSRC cannot be read"
	KSRC=${folder%/}$file
	KSRC=${KSRC:-/}
	WORK=$OUT/ksrc-$(printf '%s %s %s' "$BASE" "$KSRC" "$REF" | cksum | cut -d ' ' -f 1)
fi
TREE=$WORK/tree
# IPI_PLAIN=1: a kernel without tests and detectors, for figures
KOUT=$WORK/$ARCH${VARIANT:+.$VARIANT}${IPI_PLAIN:+-plain}

# One configuration with and without a Rust compiler on the machine, which kbuild would
# ask at each step
NO_RUST='RUSTC=false BINDGEN=false'

# before_symbol SYMBOL: the commit before the one that adds it to drivers/irqchip/Kconfig
before_symbol() {
	git -C "$TREE" log -1 --format=%P -S"config $1" -- drivers/irqchip/Kconfig
}

# kernel_facts FOLDER: what the kernel built there is and is made of, name=value
kernel_facts() {
	cat <<-EOF
		base=$BASE
		version=$(cat "$1/include/config/kernel.release")
		repository=$(git -C "$TOP" describe --always --dirty 2>/dev/null || echo unknown)
		config_sha256=$(sha256sum <"$1/.config" | cut -d ' ' -f 1)
		compiler=$(sed -n 's/^CONFIG_CC_VERSION_TEXT="\(.*\)"$/\1/p' "$1/.config")
	EOF
}

# For what builds kernels, with CC="$CACHED_CC gcc"; a copy, since the path of the
# repository may have spaces. Caches that were filled otherwise are told apart by the
# namespace.
use_ccache() {
	CACHED_CC=$OUT/cc
	cmp -s "$TOP/scripts/cc.sh" "$CACHED_CC" || {
		make_out
		cp "$TOP/scripts/cc.sh" "$CACHED_CC.$$"
		mv "$CACHED_CC.$$" "$CACHED_CC"
	}
	export CCACHE_DIR="$CACHE/ccache" CCACHE_BASEDIR="$WORK" CCACHE_NOHASHDIR=1
	export CCACHE_DEPEND=1 CCACHE_NAMESPACE=cc
	export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 2026' KBUILD_BUILD_USER=ipi KBUILD_BUILD_HOST=lab
}
