#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The bases table, and fetching a base from a mirror that apt-get and apt-cache
# only pretend to reach.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/check/tap.sh
. "$TOP/scripts/check/tap.sh"
# shellcheck source=scripts/check/fake.sh
. "$TOP/scripts/check/fake.sh"

rows() {
	awk '
		/^#/ || !NF { next }
		NF != 7 { print "not 7 columns: " $0; bad = 1 }
		seen[$1]++ { print "twice: " $1; bad = 1 }
		$1 !~ /^[A-Za-z0-9._-]+$/ || $2 !~ /^[0-9]+\.[0-9]+$/ || length($7) != 64 || $7 !~ /^[0-9a-f]+$/ {
			print "bad name, version or sha256: " $0; bad = 1
		}
		{ n++ }
		END { exit bad || !n }' "$TOP/patches/BASES"
}

folders() {
	for folder in "$TOP"/patches/*/; do
		name=$(basename "$folder")
		[ -n "$(base_field "$name" name)" ] || { echo "patches/$name has no row in patches/BASES"; return 1; }
	done
}

check "patches/BASES: each row is complete" rows
check "patches/BASES: each folder has its row" folders

fake_repo
base=$R/scripts/base.sh
A=$fake/apt
mkdir -p "$A/bin" "$A/deb/usr/src" "$A/deb/DEBIAN"
cp "$fake/linux-source-7.3.tar.xz" "$A/deb/usr/src/"
printf 'Package: linux-source-7.3\nVersion: 7.3.4-1\nArchitecture: all\nMaintainer: A <a@example.org>\nDescription: x\n' \
	>"$A/deb/DEBIAN/control"
dpkg-deb -Znone -b "$A/deb" "$A/linux-source-7.3.deb" >/dev/null
printf '7.3.4-1\n' >"$A/versions"
codename=$(. /etc/os-release && printf %s "$VERSION_CODENAME")
printf 'Types: deb\nURIs: http://mirror.invalid/debian\nSuites: %s\nComponents: main\nSigned-By: /key.gpg\n' \
	"$codename" >"$A/debian.sources"
cat >"$A/bin/apt-get" <<END
#!/bin/sh
case " \$* " in
*" indextargets "*)
	if [ -f "$A/malformed" ]; then
		echo "E: Malformed entry 1 in list file /etc/apt/sources.list" >&2
		echo "E: The list of sources could not be read." >&2
		exit 100
	fi
	echo "$codename main http://mirror.invalid/debian/ $A/debian.sources:1"
	echo "noble main http://other.invalid/ $A/debian.sources:1" ;;
*" update "*)
	echo "\$*" >>"$A/calls"
	if [ -f "$A/down" ]; then
		echo "E: Failed to fetch http://mirror.invalid/ Could not connect" >&2
		exit 100
	fi
	if [ -f "$A/unsigned" ]; then
		echo "E: The repository 'http://mirror.invalid/ x' is not signed." >&2
		exit 100
	fi ;;
*" install "*)
	echo "E: Unable to locate package b4" >&2
	exit 100 ;;
*" download "*)
	sleep 0.3
	[ ! -f "$A/refused" ] || { echo "E: Unable to find a source" >&2; exit 100; }
	[ ! -f "$A/cut" ] || { echo half >half.deb; kill -9 \$PPID; exit 1; }
	cp "$A/linux-source-7.3.deb" . ;;
esac
END
cat >"$A/bin/apt-cache" <<END
#!/bin/sh
sed 's/.*/linux-source-7.3 | & | x/' "$A/versions"
END
# as root, where nothing is installed
mkdir "$A/deps"
printf '#!/bin/sh\necho 0\n' >"$A/deps/id"
printf '#!/bin/sh\nexit 1\n' >"$A/deps/dpkg-query"
chmod +x "$A/bin"/* "$A/deps"/*
PATH=$A/bin:$PATH

# the last line of stdout alone is the answer
answer() {
	"$base" 2>/dev/null
}

same "a cached tarball is used" "$cached" "$(answer)"
check "without asking the mirror" test ! -f "$A/calls"
rm "$cached"
expect "an empty cache is filled" 0 'fetch-mainline: ' "$base"
same "and the path printed" "$cached" "$(answer)"
check "it is the tarball" cmp "$cached" "$fake/linux-source-7.3.tar.xz"
check "from the mirror of the system, nobody else's" grep -q 'http://mirror.invalid/debian/ trixie-backports main' \
	"$fake/cache/ipi-series/apt/sources.list"
check "with its key" grep -q 'signed-by=/key.gpg' "$fake/cache/ipi-series/apt/sources.list"
check "in an apt configuration of its own" grep -q 'Dir::Etc::SourceParts=/dev/null.*Dir::State::Lists=' "$A/calls"

printf 'x' >>"$cached"
expect "a corrupt one is said and fetched again" 0 'is corrupt .*: fetching it again' "$base"
check "and is whole then" cmp "$cached" "$fake/linux-source-7.3.tar.xz"

rm -rf "${cached%/*}"
: >"$A/cut"
expect "a download that is cut" 1 'fetch-mainline failed' "$base"
check "leaves nothing that looks whole" test ! -e "$cached"
rm "$A/cut"
expect "the next run starts it again" 0 'fetch-mainline: ' "$base"

rm -rf "${cached%/*}"
: >"$A/down"
expect "no network" 1 'cannot reach the package mirror.*Could not connect' "$base"
expect "deps: the cause comes first, then what follows from it" 1 \
	'^ipi: apt-get install: E: Unable to locate package b4, after apt-get update: E: Failed to fetch .* Could not connect$' \
	env PATH="$A/deps:$PATH" "$R/scripts/deps.sh" send
same "deps: in one line" 1 "$(printf '%s\n' "$out" | grep -vc '^== ')"
rm "$A/down"
expect "deps: an update that went well is not blamed" 1 '^ipi: apt-get install: E: Unable to locate package b4$' \
	env PATH="$A/deps:$PATH" "$R/scripts/deps.sh" send
: >"$A/malformed"
expect "apt-get cannot read its sources" 1 "^ipi: apt-get cannot read the system's package sources: E: Malformed entry 1" "$base"
rm "$A/malformed"
: >"$A/unsigned"
expect "a mirror that apt does not trust" 1 '^ipi: apt-get update cannot use the package mirror: E: The repository .* is not signed' "$base"
rm "$A/unsigned"
: >"$A/refused"
expect "a download that fails" 1 '^ipi: apt-get download linux-source-7.3=7.3.4-1: E: Unable to find a source' "$base"
rm "$A/refused"

(answer >"$fake/one") &
(answer >"$fake/two") &
wait
same "two at once both get it" "$cached $cached" "$(cat "$fake/one") $(cat "$fake/two")"

rm -rf "${cached%/*}"
printf '7.3.2-1\n7.3.9-1~bpo13+1\n7.3.10-1\n' >"$A/versions"
expect "the pinned version is gone: the newest later one is used, and said" 0 \
	'pinned 7.3.4-1 is gone, using 7.3.10-1, checksum not pinned: [0-9a-f]\{64\}' "$base"
newer=$fake/cache/ipi-series/base/mainline/7.3.10-1/linux-source-7.3.tar.xz
same "from a folder of its own" "$newer" "$(answer)"
printf '7.3.2-1\n' >"$A/versions"
expect "only older ones" 1 'no longer in trixie-backports, nor a later version: use KSRC=' "$base"
: >"$A/versions"
expect "the package is not there" 1 'linux-source-7.3 is no longer in trixie-backports' "$base"

printf '7.3.4-1\n' >"$A/versions"
cp "$R/patches/BASES" "$fake/BASES"
sed -i 's/[0-9a-f]\{64\}/0000000000000000000000000000000000000000000000000000000000000000/' "$R/patches/BASES"
expect "the fetched one has another checksum" 1 'patches/BASES says 0000.*: not used' "$base"
check "and does not stay as the base" test ! -e "$cached"
printf 'short 7.3 linux-source-7.3\n' >>"$R/patches/BASES"
expect "a row without all its columns" 1 'the row short has no suite' env BASE=short "$base"
cp "$fake/BASES" "$R/patches/BASES"
expect "an unknown base" 1 'unknown BASE=nosuch; known: mainline' env BASE=nosuch "$base"
printf 'second 7.3 linux-source-7.3 bookworm 7.3.4-1 linux-source-7.3.tar.xz %s\n' \
	"$(sha256sum <"$fake/linux-source-7.3.tar.xz" | cut -c 1-64)" >>"$R/patches/BASES"
expect "a base is added by a row" 0 'base/second/7.3.4-1/linux-source-7.3.tar.xz' env BASE=second "$base"

rm -rf "${cached%/*}"
mkdir "$fake/noapt" "$fake/nodisk"
ln -s /usr/bin/* "$fake/noapt/"
rm -f "$fake/noapt/apt-get"
expect "no Debian" 1 'no apt here.*use KSRC=' env PATH="$fake/noapt" "$base"
printf '#!/bin/sh\necho head\necho fs 9 9 9 9%% /\n' >"$fake/nodisk/df"
chmod +x "$fake/nodisk/df"
expect "no disk space" 1 'no room: .* set XDG_CACHE_HOME= elsewhere' env PATH="$fake/nodisk:$PATH" "$base"
expect "deps: an unknown set" 1 'unknown set nonsense; known: base' "$R/scripts/deps.sh" nonsense

tap_done
