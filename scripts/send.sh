#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# send.sh: writes what b4 would send, of the series or of TOPIC=, to a folder,
# and takes it back in from there. Nothing leaves the machine. The branch that
# b4 works on, and the sender's sign-offs, live in a clone of the tree's own.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/treelib.sh
. "$TOP/scripts/treelib.sh"

TOPIC=${TOPIC:-}
name=${TOPIC:-all}
branch=b4/$name
# the test has a place of its own, beside the sender's
place=${SEND_PLACE:-$WORK/send}
SEND=$place/tree
cover=$PATCHES/cover-letter${TOPIC:+.$TOPIC}.txt
shown=${cover#"$TOP/"}

sgit() {
	git -C "$SEND" "$@"
}

# --- what can be said before anything is done
need git flock perl xz tar
command -v b4 >/dev/null 2>&1 || die "b4 is missing: make deps installs it"
b4_version=$(b4 --version 2>/dev/null | sed -n 's/^\([0-9]*\.[0-9]*\).*/\1/p;q')
case ${b4_version:-0.0} in
0.[0-9] | 0.1[01]) die "b4 ${b4_version:-of no version} is too old: 0.12 or later is wanted, as Debian 12 has it" ;;
esac
if [ -n "$TOPIC" ] && ! topic_list "$PATCHES" | grep -qxF -- "$TOPIC"; then
	die "unknown TOPIC=$TOPIC; known: $(topic_list "$PATCHES" | tr '\n' ' ')"
fi
[ -f "$cover" ] || die "there is no cover letter $shown: write one, its first line is the subject"
awk 'NR == 1 && !NF || NR == 2 && NF { exit 1 } END { if (NR < 3) exit 1 }' "$cover" ||
	die "$shown is no cover letter: line 1 is the subject, line 2 is empty, then the text"
if grep -v '^#' "$cover" | grep -q EDITME; then
	die "$shown still has EDITME in it: write what is missing there"
fi
change_id=$(change_id_field "$name" 2)
revision=$(change_id_field "$name" 3)
case $change_id in
*[!A-Za-z0-9._-]* | [!0-9]* | '') die "patches/$BASE/change-ids has no change-id for $name: add a line \"$name <change-id> <revision>\"" ;;
esac
case $revision in
*[!0-9]* | 0* | '') die "patches/$BASE/change-ids: the revision of $name is \"$revision\", a number is wanted" ;;
esac

identity() {
	if [ -d "$SEND" ]; then
		sgit config "$1" || :
	else
		(cd / && git config "$1") || :
	fi
}
me_name=$(identity user.name)
me_mail=$(identity user.email)
case $me_mail in
?*@?*) ;;
*) me_mail= ;;
esac
[ -n "$me_name" ] && [ -n "$me_mail" ] ||
	die "git does not know who you are: git config --global user.name \"Your Name\", and user.email with your address"
me="$me_name <$me_mail>"

# --- the tree: laid out, clean, and what patches/ has
take_lock send
"$TOP/scripts/tree.sh"
source_kind
mkdir -p "$place"
repair="make refresh"
[ "$KIND" != git ] || repair="bring that into the tree of make tree without KSRC= and make refresh there"
dirty=$( (plain_git && tgit status --porcelain) | head -n 1)
[ -z "$dirty" ] || die "$TREE is not clean (${dirty#???}): commit it and $repair, or remove it"
what=$( (plain_git && unrefreshed))
[ -z "$what" ] || die "$TREE has $what: $repair"
BASE_COMMIT=$( (plain_git && tree_ref base))
VERSION=$( (plain_git && tgit show "$BASE_COMMIT:Makefile") | kernel_version)

# --- the clone
clone() {
	plain_git
	rm -rf "$SEND.tmp"
	if [ "$KIND" = git ]; then
		git clone -q --shared --no-checkout --no-tags --template= -- "$KSRC" "$SEND.tmp"
	else
		git clone -q --no-checkout --no-tags --template= -- "$TREE" "$SEND.tmp"
	fi
	cd "$SEND.tmp"
	git remote remove origin
	git config gc.auto 0
	git config feature.manyFiles true
	git cat-file -e "$BASE_COMMIT" || git fetch -q --no-tags "$TREE" "$BASE_COMMIT"
	git checkout -q -f --detach "$BASE_COMMIT"
	git for-each-ref --format='delete %(refname)' refs/heads | git update-ref --stdin
	git update-ref refs/heads/base "$BASE_COMMIT"
	mv "$SEND.tmp" "$SEND"
}
if [ ! -d "$SEND" ]; then
	need_space "$place" 3072 "a second kernel tree, to send from"
	step send-clone clone
fi
git_dir=$(plain_git && sgit rev-parse --absolute-git-dir)

# move_to COMMIT BRANCH: in an order that an interrupted run can end
move_to() (
	plain_git
	printf '%s\n' "$1" >"$place/moving"
	sgit checkout -q --detach "$1" -- || {
		rm -f "$place/moving"
		die "$SEND was left as it is: move the files named above out of it"
	}
	[ "$(sgit rev-parse -q --verify "refs/heads/$2" || :)" = "$1" ] || sgit update-ref "refs/heads/$2" "$1"
	sgit symbolic-ref HEAD "refs/heads/$2"
	rm -f "$place/moving"
)

if [ -f "$place/moving" ]; then
	say "an earlier run was interrupted: starting its step again"
	(
		plain_git
		rm -f "$git_dir/index.lock"
		to=$(cat "$place/moving")
		sgit cat-file -e "$to^{commit}" 2>/dev/null || to=$(sgit rev-parse HEAD)
		sgit update-ref --no-deref HEAD "$to"
		sgit reset -q --hard "$to"
	)
	rm -f "$place/moving"
fi
if [ -d "$git_dir/rebase-merge" ] || [ -d "$git_dir/rebase-apply" ] || [ -f "$git_dir/CHERRY_PICK_HEAD" ]; then
	die "a rebase is in progress in $SEND: finish it (git rebase --continue or --abort), then again"
fi
dirty=$( (plain_git && sgit status --porcelain -uno) | head -n 1)
[ -z "$dirty" ] || die "$SEND has uncommitted changes (${dirty#???}): changes belong into the tree of make tree; git checkout -f there drops them"

# apply COMMIT MBOX...: prints what git am makes of them on COMMIT, in a
# worktree with an index and no files
apply() (
	plain_git
	on=$1
	shift
	rm -rf "$place/am"
	sgit worktree prune
	sgit worktree add -q -f --no-checkout --detach "$place/am" "$on" >&2 || exit 1
	git -C "$place/am" read-tree HEAD || exit 1
	git -C "$place/am" am -q --keep-non-patch --committer-date-is-author-date \
		--whitespace=nowarn -- "$@" >&2 || exit 1
	git -C "$place/am" rev-parse HEAD
	rm -rf "$place/am"
	sgit worktree prune
)

# apply_stored [TOPIC]
apply_stored() {
	topic_patches "$PATCHES" "${1:-}" >"$place/list"
	set --
	while IFS= read -r p; do
		set -- "$@" "$PATCHES/$p"
	done <"$place/list"
	apply "$BASE_COMMIT" "$@"
}

# commits REPOSITORY RANGE: their trees and messages, without the tags that
# people add to a patch
commits() (
	plain_git
	git -C "$1" log --reverse --format='%x01%T%n%B' "$2" -- | awk '
		function flush(  i, first) {
			while (n && line[n] == "") n--
			for (first = n; first > 2 && line[first] != ""; first--) ;
			for (i = 1; i <= n; i++)
				if (!(first > 2 && i > first && line[i] ~ /^([A-Z][A-Za-z-]*-by|Cc): /) &&
				    !(i == first && all_tags(first)))
					print line[i]
			n = 0
		}
		function all_tags(first,  i) {
			if (first <= 2) return 0
			for (i = first + 1; i <= n; i++)
				if (line[i] !~ /^([A-Z][A-Za-z-]*-by|Cc): /) return 0
			return 1
		}
		/^\001/ { flush() }
		{ line[++n] = $0 }
		END { flush() }'
)

# key COMMIT: the patch to the last blob name, and its message
key() (
	plain_git
	{
		sgit diff-tree -r --no-commit-id "$1"
		commits "$SEND" "$1^..$1" | sed 1d
	} | sha256sum | cut -c 1-64
)

(
	plain_git
	sgit cat-file -e "$BASE_COMMIT^{commit}" 2>/dev/null || sgit fetch -q --no-tags "$TREE" "$BASE_COMMIT"
)
all=$(apply_stored) || die "patches/$BASE does not apply any more: make tree says where"
commits "$SEND" "$BASE_COMMIT..$all" >"$place/stored"
commits "$TREE" "$BASE_COMMIT..HEAD" >"$place/here"
cmp -s "$place/stored" "$place/here" ||
	die "$TREE is not what patches/$BASE has (a selftest or a page changed?): make refresh"
want=$all
if [ -n "$TOPIC" ]; then
	want=$(apply_stored "$TOPIC") ||
		die "the topic $TOPIC does not apply without the others: send the series, or make the topic independent"
fi
count=$(plain_git && sgit rev-list --count "$BASE_COMMIT..$want")
[ "$count" -gt 0 ] || die "patches/$BASE has no patch to send"

# carry_over OLD-BASE OLD: WANT with the sender's version of each patch that is
# the same byte for byte; the others are to be read and signed again
carry_over() (
	plain_git
	sgit rev-list "$1..$2" | while read -r c; do
		printf '%s %s\n' "$(key "$c")" "$c"
	done >"$place/old"
	parent=$BASE_COMMIT
	for c in $(sgit rev-list --reverse "$BASE_COMMIT..$want"); do
		from=$(awk -v key="$(key "$c")" '$1 == key { print $2; exit }' "$place/old")
		tree=$(sgit rev-parse "$c^{tree}")
		parent=$(sgit cat-file commit "${from:-$c}" |
			sed "1,/^\$/ { /^gpgsig/,/^ -----END/d; s/^tree .*/tree $tree/; s/^parent .*/parent $parent/; }" |
			sgit hash-object -t commit -w --stdin)
	done
	printf '%s\n' "$parent"
)

ref() {
	(plain_git && sgit rev-parse -q --verify "$1^{commit}") || :
}

have=$(ref "refs/heads/$branch")
new=$have
if [ -z "$have" ]; then
	new=$want
else
	old_base=$(ref "refs/ipi/$name/base")
	commits "$SEND" "$BASE_COMMIT..$want" >"$place/stored"
	commits "$SEND" "${old_base:-$BASE_COMMIT}..$have" >"$place/here"
	if [ "$old_base" != "$BASE_COMMIT" ] || ! cmp -s "$place/stored" "$place/here"; then
		laid=$(ref "refs/ipi/$name/laid")
		commits "$SEND" "${old_base:-$BASE_COMMIT}..$laid" >"$place/laid"
		# a changed branch on an unchanged series is work that would be lost
		if ! cmp -s "$place/laid" "$place/here" && [ "${DISCARD:-}" != 1 ]; then
			die "$branch in $SEND has changes other than tags: make them in $TREE and refresh; DISCARD=1 drops them here"
		fi
		new=$(carry_over "${old_base:-$BASE_COMMIT}" "$have")
		say "the series changed: $branch follows it, tags stay on the patches that did not change; before: refs/ipi/$name/old"
	fi
fi
(
	plain_git
	if [ "$new" != "$have" ]; then
		{
			[ -z "$have" ] || printf 'update refs/ipi/%s/old %s\n' "$name" "$have"
			printf 'update refs/ipi/%s/base %s\n' "$name" "$BASE_COMMIT"
			printf 'update refs/ipi/%s/laid %s\n' "$name" "$want"
			printf 'update refs/heads/base %s\n' "$BASE_COMMIT"
			printf 'update refs/heads/%s %s\n' "$branch" "$new"
		} >"$place/refs"
		# a branch that is checked out must not move under its files
		sgit checkout -q --detach
		if [ "$KIND" = git ]; then
			# a gc in the user's repository must not take what we borrow
			sgit rev-list --objects "$BASE_COMMIT..$new" |
				sgit pack-objects -q "$git_dir/objects/pack/pack" >/dev/null
		fi
		sgit update-ref --create-reflog --stdin <"$place/refs"
	elif [ "$(ref refs/heads/base)" != "$BASE_COMMIT" ]; then
		sgit update-ref refs/heads/base "$BASE_COMMIT"
	fi
)
move_to "$new" "$branch"

# --- sign-offs: the sender's, by the sender's hand
show() { # COMMIT FORMAT
	(plain_git && sgit log -1 --format="$2" "$1" --)
}
unsigned=
unsigned_n=0
orphan=
orphan_n=0
assisted=
for c in $(sgit rev-list --reverse "base..$branch"); do
	show "$c" '%(trailers:key=Signed-off-by,valueonly,unfold)' >"$place/signed"
	author=$(show "$c" '%an <%ae>')
	if ! grep -qxF -- "$me" "$place/signed"; then
		unsigned_n=$((unsigned_n + 1))
		[ -n "$unsigned" ] || unsigned=$(show "$c" %s)
	elif ! grep -qxF -- "$author" "$place/signed"; then
		orphan_n=$((orphan_n + 1))
		orphan=$author
	fi
	[ -z "$(show "$c" '%(trailers:key=Assisted-by,valueonly)')" ] || assisted=1
done
[ -z "$unsigned" ] ||
	die "$unsigned_n of $count patches lack \"Signed-off-by: $me\", the first is \"$unsigned\": review them, then git -C $SEND rebase --signoff base $branch"
[ -z "$orphan" ] ||
	die "$orphan_n of $count patches are not signed off by their author $orphan: have that done or, if you answer for them as yours, git -C $SEND rebase --exec 'git commit -q --amend --no-edit --reset-author' base $branch"
[ -n "$assisted" ] ||
	say "note: no patch has an Assisted-by: line; Documentation/process/coding-assistants.rst says when one is due"

# --- b4, with no way out: without a network where the system can do that, and
# without a server, a command or an endpoint for mail in any case
if unshare -n true 2>/dev/null; then
	no_network="unshare -n"
elif unshare -r -n true 2>/dev/null; then
	no_network="unshare -r -n"
else
	no_network=
	say "note: this system gives no network namespace; b4 runs offline by its settings alone"
fi
b4_home=$place/b4
b4_in=/dev/null
rm -rf "$b4_home"
mkdir -p "$b4_home"

run_b4() (
	cd "$SEND"
	n=${GIT_CONFIG_COUNT:-0}
	for setting in sendemail.smtpserver=/bin/false b4.sendemail-identity= b4.send-endpoint-web= \
		sendemail.sendmailcmd=/bin/false; do
		export "GIT_CONFIG_KEY_$n=${setting%%=*}" "GIT_CONFIG_VALUE_$n=${setting#*=}"
		n=$((n + 1))
	done
	export GIT_CONFIG_COUNT="$n" GIT_TERMINAL_PROMPT=0 EDITOR=/bin/false VISUAL=/bin/false
	export XDG_CACHE_HOME="$b4_home" XDG_DATA_HOME="$b4_home"
	# shellcheck disable=SC2086
	exec $no_network b4 --offline-mode "$@" <"$b4_in" 9>&-
)

# b4_step WHAT ARG...: its output in $place/b4.log, shown if it fails
b4_step() {
	doing=$1
	shift
	if ! run_b4 "$@" >"$place/b4.log" 2>&1; then
		tail -n 15 "$place/b4.log" >&2
		die "b4 could not $doing; the whole log: $place/b4.log"
	fi
}

setting() {
	sgit config --get "branch.$branch.$1" || :
}

tracked_revision() {
	setting b4-tracking | sed -n 's/.*"revision": \([0-9]*\).*/\1/p'
}

cover_hash() {
	{
		tracked_revision
		setting description
	} | sha256sum | cut -c 1-64
}

sgit config include.path "$TOP/b4.cfg"
case $b4_version in
0.12 | 0.13)
	# these name the commit before the base, unless the cover letter is a commit
	cat >"$place/cover-template" <<-END
		\${cover}

		---
		\${shortlog}

		\${diffstat}
		---
		base-commit: $BASE_COMMIT
		change-id: \${change_id}

		Best regards,
		-- 
		\${signature}
	END
	sgit config b4.prep-cover-template "$place/cover-template"
	;;
*) sgit config --unset-all b4.prep-cover-template || : ;;
esac
sgit config "branch.$branch.b4-prep-cover-strategy" branch-description
if [ -n "$(setting b4-tracking)" ]; then
	was=$(tracked_revision)
	[ "${was:-1}" -le "$revision" ] ||
		die "$branch was sent as v$((was - 1)): write what changed into $shown, and $was into patches/$BASE/change-ids"
	if [ -z "$(setting ipi-busy)" ] && [ "$was" = "$(setting ipi-revision)" ] &&
		[ "$(cover_hash)" != "$(setting ipi-cover)" ] && [ "${DISCARD:-}" != 1 ]; then
		die "the cover letter of $branch was edited with b4: put the change into $shown; DISCARD=1 drops it here"
	fi
fi
sgit config "branch.$branch.ipi-busy" 1
sgit config "branch.$branch.description" "$(cat "$cover")"
[ -n "$(setting b4-tracking)" ] || b4_step "enrol $branch" prep --enroll base
tracking=$(setting b4-tracking |
	sed "s/\"change-id\": \"[^\"]*\"/\"change-id\": \"$change_id\"/; s/\"revision\": [0-9]*/\"revision\": $revision/")
case $tracking in
*"\"change-id\": \"$change_id\""*) ;;
*) die "b4 $b4_version keeps no change-id where it is looked for: use b4 0.12 to 0.14" ;;
esac
sgit config "branch.$branch.b4-tracking" "$tracking"
b4_step "collect the recipients" prep --auto-to-cc
sgit config "branch.$branch.ipi-revision" "$revision"
sgit config "branch.$branch.ipi-cover" "$(cover_hash)"
sgit config --unset-all "branch.$branch.ipi-busy"

# --- each patch, as b4's own check does it where b4 has one
say "checking $count patches"
if run_b4 prep --help 2>/dev/null | grep -q -e '--check'; then
	b4_step "check the patches" prep --check
	sed '/^Checking patches/,/^---/d' "$place/b4.log" >"$place/findings"
	errors=$(sed -n 's/^Success: .*Error: \([0-9]*\)$/\1/p' "$place/b4.log")
	[ -n "$errors" ] || die "b4 prep --check did not say how it ended; its log: $place/b4.log"
	grep -q '^Success: [0-9]*, Warning: 0, Error: 0$' "$place/findings" || cat "$place/findings" >&2
else
	rc=0
	(cd "$SEND" && "$TOP/scripts/checkpatch-wrapper.sh" --strict --codespell "base..$branch") \
		>"$place/findings" 2>"$place/b4.log" || rc=$?
	cat "$place/findings" >&2
	[ $rc -le 1 ] || die "the patches could not be checked: $(tail -n 1 "$place/b4.log")"
	errors=$(grep -c 'ERROR:' "$place/findings" || :)
fi
[ "$errors" -eq 0 ] || die "$errors errors in the patches, named above: repair them in $TREE, make refresh, then again"

# --- the messages
part=$place/$name.part
trip=$place/trip
rm -rf "$part" "$trip"
b4_step "write the messages" send --no-sign -o "$part"
messages=$(find "$part" -name '*.eml' | wc -l)
[ "$messages" -eq $((count + (count > 1))) ] || die "b4 wrote $messages messages for $count patches; its log: $place/b4.log"
named=$(sed -n 's/^base-commit: //p' "$part"/*.eml)
[ "$named" = "$BASE_COMMIT" ] || die "the messages name the base-commit \"$named\", it is $BASE_COMMIT; b4's log: $place/b4.log"
[ "$(grep -l '^diff --git a/' "$part"/*.eml | wc -l)" -eq "$count" ] ||
	die "settings of git make b4 write no usable patches: unset color.ui=always, diff.noprefix and the like"
for message in "$part"/*.eml; do
	grep -q '^To: .*@' "$message" || die "${message##*/} would go to nobody; b4's log: $place/b4.log"
done

# --- the way back
mkdir -p "$trip/out"
# as a mailbox on stdin: from a folder, b4 0.12 falls over folded headers
for message in "$part"/*.eml; do
	printf 'From mboxrd@z Thu Jan  1 00:00:00 1970\n'
	sed 's/^>*From />&/' "$message"
	printf '\n'
done >"$trip/mbox"
b4_in=$trip/mbox
b4_step "take the messages back" am -T -m - -o "$trip/out"
set -- "$trip/out"/*.mbx
[ -f "$1" ] || die "b4 am made no mailbox of the messages; its log: $place/b4.log"
back=$(apply "$BASE_COMMIT" "$1") || die "git am refuses what b4 am made of the messages: $1"
said() {
	plain_git
	sgit log --reverse --format='%T %an <%ae>%n%B' "$1" --
}
(said "$BASE_COMMIT..$branch") >"$place/here"
(said "$BASE_COMMIT..$back") >"$place/back"
if ! cmp -s "$place/here" "$place/back"; then
	diff "$place/here" "$place/back" | head -n 10 >&2 || :
	die "b4 am and git am do not give back what was sent"
fi
rm -rf "${place:?}/$name" "$trip"
mv "$part" "$place/$name"

first=$(find "$place/$name" -name '*.eml' | LC_ALL=C sort | head -n 1)
awk '!NF { exit } /^(To|Cc):/ { on = 1 } /^[^ \t]/ && !/^(To|Cc):/ { on = 0 } on' "$first"
[ "$KIND" = git ] ||
	say "note: the base-commit named in it exists only here; to send for real use KSRC=<mainline git tree> REF=<tag>"
say "taken back by b4 am and git am on linux $VERSION: the same $count commits, tree $(sgit rev-parse --short=12 "$branch^{tree}")"
say "preview: $place/$name, $messages messages, v$revision, $change_id; nothing was sent"
say "to send: cd $SEND && git checkout $branch && b4 send --reflect (to yourself alone), then b4 send"
