#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# refresh.sh: writes the commits of the tree back to patches/$BASE. What is
# unchanged is written byte for byte as it was.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/treelib.sh
. "$TOP/scripts/treelib.sh"

need git flock
[ -z "$KSRC" ] || die "refresh works on the pinned base: commit in the tree of \"make tree\" without KSRC="
take_lock tree
recover_patches
source_kind
plain_git
[ -f "$STAMP" ] || die "there is no tree in $TREE: run make tree first"
recover_tree
series_lint

BASE_COMMIT=$(tree_ref base)
[ "$(tgit symbolic-ref -q --short HEAD || :)" = ipi ] ||
	die "$TREE is not on its branch ipi (a rebase in progress?): finish that, or git checkout ipi"
dirty=$(tgit status --porcelain | head -n 1)
[ -z "$dirty" ] || die "$TREE is not clean (${dirty#???}): commit or remove it, then refresh"
tgit merge-base --is-ancestor "$BASE_COMMIT" HEAD ||
	die "the branch ipi in $TREE does not start at the base commit: git rebase --onto refs/ipi/base it"
renew_dropins

tgit rev-list --reverse "$BASE_COMMIT..HEAD" >"$WORK/commits"
while IFS= read -r c; do
	[ "$(tgit rev-parse "$c^{tree}")" != "$(tgit rev-parse "$c^^{tree}")" ] ||
		die "the commit \"$(tgit log -1 --format=%s "$c")\" is empty: give it content or drop it in the tree"
done <"$WORK/commits"

new=$TOP/patches/.$BASE.new
cp -R "$PATCHES" "$new"
rm -f "$new"/*.patch
tgit format-patch -q -o "$new" --no-numbered --full-index --zero-commit --no-signature \
	--stat=80 --summary -p --no-renames -U3 --inter-hunk-context=0 --diff-algorithm=myers \
	--src-prefix=a/ --dst-prefix=b/ --no-ext-diff --no-textconv --no-color --indent-heuristic \
	--no-attach --no-thread --no-to --no-cc --no-add-header --no-signoff --no-notes --no-base \
	--no-from --no-cover-letter --subject-prefix=PATCH --suffix=.patch --start-number=1 \
	--filename-max-length=64 --encode-email-headers --submodule=short -O/dev/null \
	"$BASE_COMMIT..HEAD"

# A sign-off is given when a patch is sent, by who sends it; it is not stored
for p in "$new"/*.patch; do
	[ -e "$p" ] || continue
	grep -q '^Signed-off-by: ' "$p" || continue
	awk '
		text { print; next }
		!body { print; body = !NF; next }
		/^---$/ {
			for (last = n; last && line[last] == ""; last--) ;
			for (first = last; first && line[first] != ""; first--) ;
			for (i = first + 1; i <= last; i++)
				if (line[i] ~ /^Signed-off-by: /) { line[i] = "\001"; gone = 1 }
			while (gone && n && (line[n] == "" || line[n] == "\001")) n--
			for (i = 1; i <= n; i++) if (line[i] != "\001") print line[i]
			text = 1
			print
			next
		}
		{ line[++n] = $0 }' "$p" >"$WORK/unsigned"
	cmp -s "$WORK/unsigned" "$p" || say "not stored: the sign-off of ${p##*/}"
	cat "$WORK/unsigned" >"$p"
done
rm -f "$WORK/unsigned"

cp "$new/series" "$WORK/series"
(cd "$new" && find . -name '*.patch' | sed 's|^\./||' | LC_ALL=C sort) >"$WORK/list"

# Each patch keeps its topic heading; its name without the number is its key
awk '
	function key(s) { sub(/^[0-9]+-/, "", s); return s }
	file == 1 { name[++n] = $0; next }
	{ line[++lines] = $0 }
	/^# topic:/ { topic = $0; if (first == "") first = $0; next }
	/^[[:space:]]*(#|$)/ { if (topic == "" && !old) preamble = preamble $0 "\n"; next }
	{ was[++old] = key($0); of[key($0)] = topic; at[old] = topic }
	END {
		same = n == old
		for (i = 1; i <= n; i++) {
			kept[key(name[i])] = 1
			if (key(name[i]) != was[i]) same = 0
		}
		if (same && first != "") {
			for (i = 1; i <= lines; i++)
				print line[i] ~ /^[[:space:]]*(#|$)/ ? line[i] : name[++p]
			exit
		}
		if (first == "") first = "# topic: unsorted"
		sub(/\n+$/, "\n", preamble)
		printf "%s", preamble
		for (i = 1; i <= n; i++) {
			k = key(name[i])
			if (k in of && of[k] != "") t = of[k]
			else if (n == old && !(was[i] in kept) && at[i] != "") t = at[i]
			else t = now != "" ? now : first
			if (!(k in of)) print "== new: " name[i] ", under \"" substr(t, 3) "\"" > "/dev/stderr"
			if (t != now) { if (i > 1 || preamble != "") print ""; print t }
			now = t
			print name[i]
		}
	}' file=1 "$WORK/list" file=2 "$WORK/series" >"$new/series"

if diff -r "$PATCHES" "$new" >/dev/null; then
	rm -rf "$new"
	say "patches/$BASE: no change"
else
	# The disk must still hold what the tree was laid from
	if [ "$(series_hash)" != "$(stamp_field series)" ]; then
		rm -rf "$new"
		[ "$(tgit rev-parse HEAD)" != "$(tree_ref laid)" ] || PUT_ASIDE="make tree first"
		die "patches/$BASE changed since the tree was laid: $PUT_ASIDE"
	fi
	trap '' INT TERM HUP
	mv "$PATCHES" "$TOP/patches/.$BASE.old"
	mv "$new" "$PATCHES"
	rm -rf "$TOP/patches/.$BASE.old"
	trap - INT TERM HUP
	say "patches/$BASE: $(wc -l <"$WORK/list") patches written"
fi
tgit update-ref refs/ipi/laid HEAD
write_stamp "$(stamp_field base)"
