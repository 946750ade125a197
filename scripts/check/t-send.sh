#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# make send-preview with the system's b4: on a small kernel what it refuses,
# keeps and carries over, then once on the real series. A sendmail that takes
# notes stands in for the way out, and a b4 that notes which network it has.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/check/tap.sh
. "$TOP/scripts/check/tap.sh"
real=$TREE
real_out=$OUT
base=$BASE
wait=${LOCK_WAIT:-0}
# shellcheck source=scripts/check/fake.sh
. "$TOP/scripts/check/fake.sh"

need b4 perl
[ -f "$real/scripts/checkpatch.pl" ] || env OUT="$real_out" BASE="$base" LOCK_WAIT="$wait" XDG_CACHE_HOME="${CACHE%/*}" "$TOP/scripts/tree.sh" >&2

# --- the texts that are sent
P=$TOP/patches/$base
topics=$(sed -n 's/^# topic: \([^ ]*\).*/\1/p' "$P/series")
texts() {
	for topic in '' $topics; do
		text=$P/cover-letter${topic:+.$topic}.txt
		[ -f "$text" ] || { echo "no ${text##*/}"; return 1; }
		awk 'length > 75 && !/https:/ { print FILENAME ": " $0; bad = 1 } END { exit bad }' "$text" || return 1
		! grep EDITME "$text" || return 1
		awk -v n="${topic:-all}" '$1 == n && $2 ~ /^[0-9]+-[a-z0-9-]+-[0-9a-f]+$/ && $3 > 0 { found++ } END { exit found != 1 }' \
			"$P/change-ids" || { echo "change-ids: ${topic:-all}"; return 1; }
	done
}
check "the series and each topic have a cover letter and a change-id" texts
same "change-ids differ and each belongs to a topic" "" "$(awk -v topics="all $topics" '
	BEGIN { n = split(topics, t, /[ \n]+/); for (i = 1; i <= n; i++) known[t[i]] = 1 }
	!/^#/ && NF && (seen[$2]++ || !($1 in known)) { print $1 }' "$P/change-ids")"

# --- a small kernel with the real checkpatch and get_maintainer
fake_tarball() {
	k=$fake/linux-source-7.3
	fake_kernel "$k" 7.3
	mkdir -p "$k/scripts"
	for file in checkpatch.pl get_maintainer.pl spelling.txt const_structs.checkpatch; do
		cp "$real/scripts/$file" "$k/scripts/"
	done
	(cd "$k" && mkdir -p arch include fs init ipc lib && touch arch/a include/a fs/a init/a ipc/a lib/a \
		COPYING CREDITS Kbuild README Kconfig)
	tar -C "$fake" -cJf "$fake/linux-source-7.3.tar.xz" linux-source-7.3
}
fake_repo
cp "$TOP/b4.cfg" "$R/"
P=$R/patches/mainline
send=$R/scripts/send.sh
tree=$R/scripts/tree.sh
refresh=$R/scripts/refresh.sh

# the way out, and what b4 is given
mkdir "$fake/home" "$fake/bin"
export HOME="$fake/home" B4_NOTES="$fake/b4.notes" SENT="$fake/sent"
cat >"$fake/bin/sendmail" <<-'END'
	#!/bin/sh
	cat >/dev/null
	echo "$@" >>"$SENT"
END
cat >"$fake/bin/b4" <<-END
	#!/bin/sh
	{
		printf '%s ' "\$(readlink /proc/self/ns/net)"
		for key in sendemail.smtpserver b4.send-endpoint-web b4.sendemail-identity; do
			printf '%s=%s ' "\$key" "\$(git config "\$key")"
		done
		printf '%s\n' "\$*"
	} >>"\$B4_NOTES"
	exec $(command -v b4) "\$@"
END
chmod +x "$fake/bin/sendmail" "$fake/bin/b4"
export PATH="$fake/bin:$PATH"
git config --global sendemail.smtpserver "$fake/bin/sendmail"
git config --global b4.sendemail-identity work
git config --global sendemail.work.smtpserver "$fake/bin/sendmail"
git config --global b4.send-endpoint-web https://endpoint.invalid/
git config --global b4.prep-cover-strategy commit

sign() { # COMMAND-LINE: what a sender does, on the branch that is checked out
	git -C "$S" rebase -q base --exec "$1" >/dev/null 2>&1
}

said() {
	printf '%s\n' "$out" | grep -q -e "$1"
}

not_there() {
	[ ! -e "$1" ]
}

# --- refused before anything is done
"$tree" >/dev/null 2>&1 && "$refresh" >/dev/null 2>&1 || :
rm -rf "$fake/cache/ipi-series"/out-*
expect "a cover letter that is none" 1 'patches/mainline/cover-letter.txt is no cover letter: line 1 is the subject' "$send"
printf 'a: Better lines\n\n# EDITME in a comment is fine\nEDITME: say why\n' >"$P/cover-letter.txt"
expect "EDITME in the cover letter" 1 'cover-letter.txt still has EDITME in it: write' "$send"
printf 'a: Better lines\n\nThe lines are better than they were, for a reason\nthat is given here.\n' >"$P/cover-letter.txt"
expect "no change-id" 1 'change-ids has no change-id for all: add a line' "$send"
printf '# comment\nall\t20260101-better-lines-0123456789ab\tone\n' >"$P/change-ids"
expect "a revision that is no number" 1 'the revision of all is "one", a number is wanted' "$send"
printf '# comment\nall\t20260101-better-lines-0123456789ab\t1\nfirst\t20260101-first-abcdef012345\t3\n' >"$P/change-ids"
expect "an unknown topic" 1 'unknown TOPIC=last; known: first tests' env TOPIC=last "$send"
expect "a topic without a cover letter" 1 'no cover letter patches/mainline/cover-letter.first.txt: write one' env TOPIC=first "$send"
expect "no git identity" 1 'git does not know who you are: git config --global user.name' "$send"
git config --global user.name A
git config --global user.email nowhere
expect "an address that is none" 1 'git does not know who you are' "$send"
git config --global user.email a@example.org
mkdir "$fake/without" "$fake/old"
ln -s /usr/bin/* "$fake/without/"
rm -f "$fake/without/b4"
expect "b4 is missing" 1 'b4 is missing: make deps installs it' env PATH="$fake/without" "$send"
for version in 0.9.0 0.11.2 nonsense; do
	printf '#!/bin/sh\necho %s\n' $version >"$fake/old/b4"
	chmod +x "$fake/old/b4"
	expect "b4 $version is too old" 1 'is too old: 0.12 or later' env PATH="$fake/old:$PATH" "$send"
done
check "by then nothing was laid out" not_there "$fake/cache/ipi-series/out-$(printf %s "$R" | cksum | cut -d ' ' -f 1)/mainline/tree"

# --- the first preview
expect "without a sign-off" 1 '2 of 2 patches lack "Signed-off-by: A <a@example.org>", the first is "a: Change line 30": review them, then git -C .* rebase --signoff base b4/all$' "$send"
S=$(printf '%s\n' "$out" | sed -n 's/.*then git -C \(.*\) rebase .*/\1/p')
W=${S%/send/tree}
T=$W/tree
cp -R "$P" "$fake/p0"
git -C "$T" for-each-ref >"$fake/refs0"
cp "$T/.git/config" "$fake/config0"
# shellcheck disable=SC2046
git $(printf '%s\n' "$out" | sed -n 's/.*then git \(-C .*\)/\1/p') >/dev/null 2>&1 || :
expect "the command that was named, then again: a preview" 0 'preview: .*/send/all, 3 messages, v1, 20260101-better-lines-0123456789ab; nothing was sent' "$send"
check "taken back by b4 am and git am" said 'taken back by b4 am and git am on linux 7.3.4: the same 2 commits'
check "a note on the base that only we have" said 'base-commit .* exists only here'
check "a note on Assisted-by" said 'no patch has an Assisted-by: line'
check "findings of checkpatch are shown" said '^[0-9a-f]*: .*WARNING:'
same "three messages" "a_better_lines a_change_line_30 selftests_add_ipi" \
	"$(cd "$W/send/all" && echo ./* | sed 's,\./[0-9]*[-_],,g; s,\.eml,,g; s,-,_,g')"
first=$(find "$W/send/all" -name '0000*')
same "subject and change-id are the repository's" "[PATCH 0/2] a: Better lines|20260101-better-lines-0123456789ab" \
	"$(sed -n 's/^Subject: //p' "$first")|$(sed -n 's/^change-id: //p' "$first")"
same "the base-commit is that of the tree" "$(git -C "$T" rev-parse refs/ipi/base)" "$(sed -n 's/^base-commit: //p' "$first")"
same "the recipients are those of get_maintainer and b4.cfg" "b@example.org linux-arm-kernel@lists.infradead.org linux-kernel@vger.kernel.org" \
	"$(awk '/^$/ { exit } /^(To|Cc):/ { on = 1 } /^[^ \t]/ && !/^(To|Cc):/ { on = 0 } on' "$first" |
		grep -o '[a-z-]*@[a-z.]*' | grep -v -e '^a@' -e '^l@' | sort -u | tr '\n' ' ' | sed 's/ $//')"
same "the tree of make tree is untouched" "" "$(git -C "$T" for-each-ref | diff "$fake/refs0" - ; diff "$fake/config0" "$T/.git/config")"
expect "a refresh has no change" 0 'no change' "$refresh"
check "and leaves no diff" diff -r "$fake/p0" "$P"
expect "again: the same" 0 'preview: ' "$send"
kept=$(git -C "$S" rev-parse b4/all)

# --- a fresh clone
cp -R "$R" "$fake/clone two"
expect "a fresh clone wants its own sign-off" 1 'patches lack' "$fake/clone two/scripts/send.sh"
S2=$(printf '%s\n' "$out" | sed -n 's/.*then git -C \(.*\) rebase .*/\1/p')
git -C "$S2" rebase -q --signoff base b4/all 2>/dev/null
expect "and has the same change-id" 0 'v1, 20260101-better-lines-0123456789ab; nothing' "$fake/clone two/scripts/send.sh"
same "and the same messages but for time and message-id" "" "$(for f in "$W/send/all"/*; do
	for g in "$f" "${S2%/tree}/all/${f##*/}"; do
		grep -v -e '^Date:' -e '^Message-Id:' -e '^References:' -e '^In-Reply-To:' -e '^X-B4-Tracking' -e '^ [A-Za-z0-9+/=]*$' "$g" >"$fake/m.${g##*/}"
		sha256sum <"$fake/m.${g##*/}"
	done | uniq -u
done)"
rm -rf "$fake/clone two" "${S2%/mainline/send/tree}"

# --- what may not be sent
git config --global user.name B
git config --global user.email b@example.org
expect "another sender must sign off" 1 '2 of 2 patches lack "Signed-off-by: B <b@example.org>"' "$send"
git -C "$S" rebase -q --signoff base b4/all 2>/dev/null
expect "and does, above a signed author" 0 'preview: ' "$send"
git -C "$S" reset -q --hard "$kept"
git config --global user.name A
git config --global user.email a@example.org
sign "git commit -q --amend --no-edit --author='C <c@example.org>'"
expect "an author who did not sign off" 1 '2 of 2 patches are not signed off by their author C <c@example.org>: have that done or' "$send"
sign "git commit -q --amend --no-edit --reset-author --trailer 'Assisted-by: NAME:1.0 coccinelle sparse'"
expect "taken as one's own, with an attribution" 0 'preview: ' "$send"
check "that is in the message" grep -q '^Assisted-by: NAME:1.0 coccinelle sparse$' "$W/send/all"/*change*30*
check "and no note is left" sh -c '! printf "%s\n" "$1" | grep -q "no patch has"' - "$out"
kept=$(git -C "$S" rev-parse b4/all)
sign "git commit -q --amend --no-edit --trailer 'Reviewed-by: D <d@example.org>' --trailer 'Cc: E <e@example.org>'"
expect "tags of others are welcome" 0 'preview: ' "$send"
check "and sent, and who is named in them is addressed" sh -c 'grep -q "^Reviewed-by: D" "$1" && grep -q "e@example.org" "$1"' - "$W/send/all/"*change*30*
git -C "$S" reset -q --hard "$kept"
GIT_SEQUENCE_EDITOR=: git -C "$S" commit -q --amend -m 'Other: Text' -m 'Signed-off-by: A <a@example.org>'
expect "a message changed on the branch" 1 'b4/all in .* has changes other than tags: make them in .* and refresh' "$send"
git -C "$S" reset -q --hard "$kept"
for key in diff.noprefix=true color.ui=always; do
	git config --global "${key%=*}" "${key#*=}"
	expect "a setting of git that spoils what b4 writes: $key" 1 'settings of git make b4 write no usable patches: unset' "$send"
	git config --global --unset "${key%=*}"
done
git config --global log.showSignature true
git config --global format.signOff true
expect "settings that do no harm" 0 'preview: ' "$send"
git config --global --remove-section log
git config --global --remove-section format
printf 'int more;\n' >>"$S/kernel/a.c"
expect "uncommitted changes there" 1 'has uncommitted changes (kernel/a.c): changes belong into' "$send"
git -C "$S" commit -q -a -s -m 'a: More'
expect "a commit there" 1 'has changes other than tags' "$send"
same "is not lost" "a: More" "$(git -C "$S" log -1 --format=%s b4/all)"
expect "unless that is wanted" 0 'preview: ' env DISCARD=1 "$send"
same "and even then" "a: More" "$(git -C "$S" log -1 --format=%s refs/ipi/all/old)"
GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git -C "$S" rebase -q -i base >/dev/null 2>&1
expect "in the middle of a rebase" 1 'a rebase is in progress in .*: finish it' "$send"
git -C "$S" rebase --abort
printf 'int more;\n' >>"$T/drivers/irqchip/b.c"
expect "a dirty tree" 1 'is not clean (drivers/irqchip/b.c): commit it and make refresh' "$send"
fgit -C "$T" commit -q -a -m 'b: More' -m 'Whitespace at the end. '
expect "an unrefreshed tree" 1 'has commits that are not in patches/mainline (1 new): make refresh' "$send"
git -C "$T" reset -q --hard HEAD~1
: >"$T/new.c"
expect "a file that was not added" 1 'is not clean (new.c)' "$send"
rm "$T/new.c"
printf 'test 2\n' >"$R/selftests/ipi/one.sh"
expect "a selftest that was not refreshed" 1 'is not what patches/mainline has (a selftest or a page changed?): make refresh' "$send"
"$refresh" >/dev/null 2>&1

# --- a changed series
expect "a patch that changed wants a new sign-off, the other keeps its own" 1 '1 of 2 patches lack .*, the first is "selftests: Add ipi"' "$send"
check "which is said" said 'the series changed: b4/all follows it'
same "the tags stay on the patch that did not change" 1 "$(git -C "$S" log -1 --format='%(trailers:key=Assisted-by)' b4/all~1 | grep -c coccinelle)"
git -C "$S" rebase -q --signoff base b4/all 2>/dev/null
expect "and then it is sent" 0 'preview: ' "$send"
sed -i 's/changed30/CHANGED30 /' "$P/0001-a-Change-line-30.patch"
sed -i 's/^+int CHANGED30 ;/+int changed30; /' "$P/0001-a-Change-line-30.patch"
"$tree" >/dev/null 2>&1 && "$refresh" >/dev/null 2>&1
expect "(a patch with an error)" 1 '1 of 2 patches lack .*"a: Change line 30"' "$send"
git -C "$S" rebase -q --signoff --whitespace=nowarn base b4/all 2>/dev/null
rm -rf "$W/send/all"
expect "an error of checkpatch stops it" 1 '1 errors in the patches, named above: repair them in .*, make refresh' "$send"
check "and is shown with its commit and place" said 'kernel/a.c:30: ERROR:TRAILING_WHITESPACE'
check "with no messages written" not_there "$W/send/all"
cp "$fake/p0"/*.patch "$P/"
printf 'test 1\n' >"$R/selftests/ipi/one.sh"
"$tree" >/dev/null 2>&1 && "$refresh" >/dev/null 2>&1
"$send" >/dev/null 2>&1 || :
git -C "$S" rebase -q --signoff base b4/all 2>/dev/null

# --- a newer b4 checks the patches itself
cat >"$fake/old/b4" <<-END
	#!/bin/sh
	case "\$*" in
	--version) echo 0.13-dev ;;
	*"prep --help") echo "  --check  Run checks on the series" ;;
	*"prep --check") cat "$fake/verdict" ;;
	*) exec "$fake/bin/b4" "\$@" ;;
	esac
END
printf 'Checking patches using:\n  x\n---\n+ one\n---\nSuccess: 2, Warning: 0, Error: 0\n' >"$fake/verdict"
expect "b4 prep --check is used where there is one" 0 'preview: ' env PATH="$fake/old:$PATH" "$send"
printf 'Checking patches using:\n  x\n---\n! one\n  ! bad\n---\nSuccess: 1, Warning: 0, Error: 1\n' >"$fake/verdict"
expect "and obeyed" 1 '1 errors in the patches' env PATH="$fake/old:$PATH" "$send"
check "and shown" said '! bad'
: >"$fake/verdict"
expect "and must come to its end" 1 'prep --check did not say how it ended' env PATH="$fake/old:$PATH" "$send"
rm "$fake/old/b4"

# --- b4 that goes wrong
broken() { # WHEN SHELL-CODE
	printf '#!/bin/sh\ncase "$*" in *" %s "*) %s ;; esac\nexec "%s" "$@"\n' "$1" "$2" "$fake/bin/b4" >"$fake/old/b4"
	chmod +x "$fake/old/b4"
}
broken send 'echo no can do >&2; exit 3'
expect "b4 send fails" 1 'b4 could not write the messages; the whole log' env PATH="$fake/old:$PATH" "$send"
check "its reason is shown" said 'no can do'
broken send 'exit 0'
expect "b4 send writes nothing" 1 'b4 wrote 0 messages for 2 patches' env PATH="$fake/old:$PATH" "$send"
broken am "sed -i 's/changed30/chanced30/'  \"\${fake:-$fake}\"/nothing 2>/dev/null; sed 's/^+int changed30/+int chanced30/' >\"$fake/mbox\"; exec <\"$fake/mbox\""
expect "what comes back is another series" 1 'do not give back what was sent' env PATH="$fake/old:$PATH" "$send"
rm "$fake/old/b4"

# --- a topic
printf 'a: One line\n\nIt is better.\n' >"$P/cover-letter.first.txt"
expect "a topic has a branch of its own" 1 '1 of 1 patches lack .* base b4/first$' env TOPIC=first "$send"
git -C "$S" rebase -q --signoff base b4/first 2>/dev/null
expect "one patch, one message, the third posting" 0 'preview: .*/send/first, 1 messages, v3, 20260101-first-abcdef012345' env TOPIC=first "$send"
check "has the cover letter below the cut" sh -c 'sed -n "/^---\$/,\$p" "$1"/*.eml | grep -q "^It is better"' - "$W/send/first"
check "and its revision in the subject" grep -q '^Subject: \[PATCH v3\] a: Change line 30' "$W/send/first"/*.eml
expect "the whole series is as it was" 0 'preview: .*/send/all, 3 messages' "$send"
same "both branches are there" "b4/all b4/first base " "$(git -C "$S" for-each-ref --format='%(refname:lstrip=2)' refs/heads | tr '\n' ' ')"

# --- a sign-off in the wrong place
fgit -C "$T" rebase -q --signoff refs/ipi/base ipi 2>/dev/null
expect "sign-offs in the tree of make tree" 1 'commits that are not in patches/mainline' "$send"
expect "are not stored by a refresh" 0 'not stored: the sign-off of 0001-a-Change-line-30.patch' "$refresh"
check "which leaves no diff" diff -r -x 'cover*' -x change-ids "$fake/p0" "$P"
expect "and is no obstacle then" 0 'preview: ' "$send"
fgit -C "$T" commit -q --allow-empty -m 'x' && git -C "$T" reset -q --hard HEAD~1
printf 'int two;\n' >>"$T/kernel/a.c"
fgit -C "$T" commit -q -a -m 'a: Two' -m 'Signed-off-by: in the middle is text.

Signed-off-by: A <a@example.org>
stays here, as it is not at the end.

Link: https://lore.kernel.org/r/x
Signed-off-by: A <a@example.org>
Fixes: 123456789012 ("a: One")'
"$refresh" >/dev/null 2>&1
same "only those at the end of a message" 'Signed-off-by: in the middle is text.||Signed-off-by: A <a@example.org>|stays here, as it is not at the end.||Link: https://lore.kernel.org/r/x|Fixes: 123456789012 ("a: One")|' \
	"$(sed '1,/^$/d; /^---$/,$d' "$P/0003-a-Two.patch" | tr '\n' '|')"
expect "once" 0 'no change' "$refresh"
git -C "$T" reset -q --hard HEAD~1
"$refresh" >/dev/null 2>&1
rm -f "$P/0003-a-Two.patch"

# --- the user's own source
U="$fake/a user's tree"
cp -R "$fake/linux-source-7.3" "$U"
git -C "$U" init -q -b mine
fgit -C "$U" add -f -A
fgit -C "$U" commit -q -m 'their base'
expect "KSRC= a git tree, unsigned" 1 '2 of 2 patches lack' env KSRC="$U" "$send"
K=$(printf '%s\n' "$out" | sed -n 's/.*then git -C \(.*\) rebase .*/\1/p')
git -C "$K" rebase -q --signoff base b4/all 2>/dev/null
expect "KSRC= a git tree" 0 'preview: ' env KSRC="$U" "$send"
same "the base-commit is theirs" "$(git -C "$U" rev-parse mine)" "$(sed -n 's/^base-commit: //p' "${K%/tree}/all"/0000*)"
check "with no note on it" sh -c '! printf "%s\n" "$1" | grep -q "exists only here"' - "$out"
same "their branches and configuration are untouched" "refs/heads/mine" "$(git -C "$U" for-each-ref --format='%(refname)')"
git -C "$U" worktree remove --force "${K%/send/tree}/tree"
git -C "$U" gc -q --prune=now
expect "a gc there takes nothing that is needed here" 0 'preview: ' env KSRC="$U" "$send"

# --- interrupted; the group is killed, as with a power cut
git -C "$S" rev-parse b4/all >"$fake/head"
interrupt() { # DELAY
	setsid "$send" >/dev/null 2>&1 &
	pid=$!
	sleep "$1"
	kill -9 -- "-$pid" 2>/dev/null || :
	wait "$pid" 2>/dev/null || :
}
for delay in 0.3 0.6 1 1.5 2 3; do
	interrupt $delay
done
expect "killed at any time, then again" 0 'preview: ' "$send"
same "has the same commits" "$(cat "$fake/head")" "$(git -C "$S" rev-parse b4/all)"
mv "$S" "$fake/saved"
for delay in 0.3 0.6 1 1.5; do
	rm -rf "$S"
	interrupt $delay
done
expect "killed while the clone is made, then again" 1 'patches lack' "$send"
rm -rf "$S"
mv "$fake/saved" "$S"
git -C "$S" update-ref --no-deref HEAD base
git -C "$S" rev-parse b4/first >"$W/send/moving"
: >"$S/.git/index.lock"
printf 'half\n' >"$S/kernel/a.c"
expect "killed in the middle of a checkout" 0 'preview: ' "$send"
same "is made whole" "$(cat "$fake/head") " "$(git -C "$S" rev-parse b4/all) $(git -C "$S" status --porcelain)"

# --- what is not thrown away
expect "make clean keeps sign-offs" 1 'has sign-offs or other tags of yours on b4/.*: "make clean DISCARD=1" drops them' "$R/scripts/clean.sh"

# --- the way out
rows() {
	awk -v ns="$(readlink /proc/self/ns/net)" '/--offline-mode/ { n++; if ($1 == ns) same++ } END { print (n > 0) " " same + 0 }' "$B4_NOTES"
}
if unshare -n true 2>/dev/null || unshare -r -n true 2>/dev/null; then
	same "b4 never had the system's network" "1 0" "$(rows)"
else
	skip "b4 never had the system's network" "no network namespaces here"
fi
no_way() {
	awk '/--offline-mode/ && !/ sendemail.smtpserver=\/bin\/false b4.send-endpoint-web= b4.sendemail-identity= / { print; bad = 1 } END { exit bad || !NR }' "$B4_NOTES"
}
check "nor a server, an endpoint or an identity for mail" no_way
printf '#!/bin/sh\nexit 1\n' >"$fake/old/unshare"
chmod +x "$fake/old/unshare"
expect "where the system has no network namespace" 0 'b4 runs offline by its settings alone' env PATH="$fake/old:$PATH" "$send"
check "the same" no_way
check "nobody called sendmail" not_there "$SENT"
real_send() {
	cd "$S"
	printf '\n' | b4 send --no-sign
}
git config --global --unset b4.sendemail-identity
check "b4 send itself, as the README says, does" real_send
same "for each message" 3 "$(wc -l <"$SENT")"
expect "and then the next posting is asked for" 1 'b4/all was sent as v1: write what changed into patches/mainline/cover-letter.txt, and 2 into patches/mainline/change-ids' "$send"
sed -i 's/^\(all.*\)1$/\12/' "$P/change-ids"
printf '\nChanges in v2:\n- better still\n' >>"$P/cover-letter.txt"
expect "which is v2" 0 '3 messages, v2, 20260101-better-lines-0123456789ab' "$send"
git -C "$S" config branch.b4/all.description 'mine'
expect "a cover letter edited with b4" 1 'was edited with b4: put the change into patches/mainline/cover-letter.txt' "$send"

# --- the real series
rm -f "$SENT" "$B4_NOTES"
git config --global user.name "Test Sénder"
git config --global user.email sender@example.org
git -C "$real" for-each-ref >"$fake/refs0"
real_send_preview() {
	env OUT="$real_out" BASE="$base" LOCK_WAIT="$wait" XDG_CACHE_HOME="${CACHE%/*}" SEND_PLACE="$real_out/check-send" "$@" "$TOP/scripts/send.sh"
}
S=$real_out/check-send/tree
rm -rf "$real_out/check-send"
n=$(grep -c '^[0-9].*\.patch$' "$TOP/patches/$base/series")
expect "the real series is not signed off" 1 "$n of $n patches lack \"Signed-off-by: Test Sénder" real_send_preview
check "(signed by hand)" sign 'git commit -q --amend --no-edit --reset-author --signoff'
expect "the real series goes out and comes back" 0 "preview: .*, $((n + 1)) messages" real_send_preview
check "to the maintainers that MAINTAINERS names" said 'maz@kernel.org'
expect "a real topic of one patch" 1 '1 of 1 patches lack' real_send_preview TOPIC=barrier
check "(signed by hand)" sign 'git commit -q --amend --no-edit --reset-author --signoff'
expect "goes out and comes back" 0 'preview: .*/barrier, 1 messages' real_send_preview TOPIC=barrier
same "the tree has the refs that it had" "" "$(git -C "$real" for-each-ref | diff "$fake/refs0" -)"
check "nobody called sendmail" not_there "$SENT"
rm -rf "$real_out/check-send"

tap_done
