# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# TAP for the scripts of this folder. Source it after lib.sh; end with tap_done.

tap_n=0
tap_bad=0

# ok TEXT: the status of the command before, by "cmd && ok t || not_ok t"
ok() {
	tap_n=$((tap_n + 1))
	printf 'ok %d - %s\n' "$tap_n" "$*"
}

not_ok() {
	tap_n=$((tap_n + 1))
	tap_bad=$((tap_bad + 1))
	printf 'not ok %d - %s\n' "$tap_n" "$*"
}

skip() {
	tap_n=$((tap_n + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_n" "$1" "$2"
}

# check TEXT CMD...: one test, passed if CMD is; what it says is shown if not
check() {
	tap_text=$1
	shift
	if tap_out=$("$@" 2>&1); then
		ok "$tap_text"
	else
		not_ok "$tap_text"
		[ -z "$tap_out" ] || printf '%s\n' "$tap_out" | awk '
			{ line[NR] = $0 }
			END { for (i = 1; i <= NR; i++) if (i <= 8 || i > NR - 16) print "#   " line[i] }
		'
	fi
}

# same TEXT WANTED GOT: two strings
same() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1"
		printf '%s\n' "wanted: $2" "got:    $3" | sed 's/^/#   /'
	fi
}

tap_done() {
	printf '1..%d\n' "$tap_n"
	[ "$tap_bad" -eq 0 ]
}
