#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# base.sh: prints the path of the tarball of BASE, fetched when it is not there.
# The package comes from the mirror the system already uses, through an apt
# configuration of our own: the system's stays as it is.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

for field in kernel package suite version tarball sha256; do
	value=$(base_field "$BASE" "$field")
	[ -n "$value" ] || die "patches/BASES: the row $BASE has no $field"
	eval "$field=\$value"
done
# shellcheck disable=SC2154
: "$kernel" "$package" "$suite" "$version" "$tarball" "$sha256"

dir=$CACHE/base/$BASE
apt_dir=$CACHE/apt
mkdir -p "$dir" "$apt_dir" || die "cannot write to $CACHE: set XDG_CACHE_HOME"

exec 8>"$dir/lock"
flock -n 8 || {
	say "another run fetches $BASE: waiting for it"
	flock 8
}

sha_of() {
	sha256sum <"$1" | cut -c 1-64
}

cached=$dir/$version/$tarball
if [ -f "$cached" ]; then
	if [ "$(sha_of "$cached")" = "$sha256" ]; then
		printf '%s\n' "$cached"
		exit 0
	fi
	say "$cached is corrupt (its checksum is not the one in patches/BASES): fetching it again"
	rm -f "$cached"
fi

if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-deb >/dev/null 2>&1; then
	die "no apt here, the base comes from Debian: use KSRC=<git tree or tarball of Linux $kernel>"
fi
need_space "$dir" 500 "the tarball of $BASE" XDG_CACHE_HOME

# apt's first error is the cause, the others follow from it
first_error() {
	grep -m 1 '^E:' "$1" || tail -n 1 "$1"
}

# The entries of the system's own sources: URI and Signed-By, best first
mirrors() {
	apt-get indextargets >/dev/null 2>"$apt_dir/mirrors.err" || return 1
	codename=$(. /etc/os-release && printf %s "${VERSION_CODENAME:-}")
	case $suite in
	*-security) own="$codename-security" ;;
	*) own="$codename $codename-updates stable oldstable testing unstable sid" ;;
	esac
	for release in $own; do
		# shellcheck disable=SC2016
		apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI) $(SOURCESENTRY)' \
			'Created-By: Packages' | sed -n "s/^$release main //p"
	done | while read -r uri entry; do
		file=${entry%:*}
		key=$(awk -v n="${entry##*:}" -v list="${file##*.}" '
			list == "list" && NR == n && match($0, /signed-by=[^] ]*/) {
				print substr($0, RSTART + 10, RLENGTH - 10)
			}
			list == "sources" && NR >= n {
				if (!NF) exit
				if (tolower($1) == "signed-by:" && $2 ~ /^\//) print $2
			}' "$file")
		printf '%s %s\n' "$uri" "$key"
	done | awk '!seen[$0]++'
}

# private_apt TOOL ARG...
private_apt() {
	tool=$1
	shift
	"$tool" -o Dir::Etc::SourceList="$apt_dir/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$apt_dir/lists" -o Dir::Cache="$apt_dir/cache" \
		-o Dir::State::status="$apt_dir/status" -o Acquire::Languages=none \
		-o Acquire::Retries=2 -o APT::Sandbox::User=root "$@" 7>&- 8>&-
}

# The pinned version when it is there, else the newest later one, else nothing
newest_version() {
	private_apt apt-cache madison "$package" | awk '{ print $3 }' >"$apt_dir/versions"
	if grep -qxF -- "$version" "$apt_dir/versions"; then
		printf '%s\n' "$version"
		return 0
	fi
	best=$version
	while read -r v; do
		if dpkg --compare-versions "$v" gt "$best"; then
			best=$v
		fi
	done <"$apt_dir/versions"
	[ "$best" = "$version" ] || printf '%s\n' "$best"
}

update_lists() {
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
	: >"$apt_dir/status"
	printf 'deb [%s] %s %s main\n' "${2:+signed-by=$2}" "$1" "$suite" |
		sed 's/ \[\]//' >"$apt_dir/sources.list"
	private_apt apt-get -q --error-on=any update >"$apt_dir/update.log" 2>&1
}

fetch() {
	rm -rf "$dir/part"
	mkdir -p "$dir/part"
	cd "$dir/part"
	private_apt apt-get -q download "$package=$get" 2>"$apt_dir/download.err" ||
		die "apt-get download $package=$get: $(first_error "$apt_dir/download.err")"
	dpkg-deb --fsys-tarfile ./*.deb | tar -x --no-same-owner -f - "./usr/src/$tarball"
	mv "usr/src/$tarball" .
	rm -rf usr ./*.deb
}

# apt's own lock does not cover two bases fetched at once
exec 7>"$apt_dir/lock"
flock 7
say "looking for $package $version in $suite"
get=
reached=
mirrors >"$apt_dir/mirrors" ||
	die "apt-get cannot read the system's package sources: $(first_error "$apt_dir/mirrors.err")"
[ -s "$apt_dir/mirrors" ] ||
	die "the system's package sources name no Debian mirror: use KSRC=<git tree or tarball of Linux $kernel>"
while read -r uri key && [ -z "$get" ]; do
	if update_lists "$uri" "$key"; then
		reached=1
		get=$(newest_version)
	fi
done <"$apt_dir/mirrors"
if [ -z "$reached" ]; then
	why=$(first_error "$apt_dir/update.log")
	case $why in
	*"Failed to fetch"* | *connect* | *resolv*)
		die "cannot reach the package mirror, is the network there? apt says: $why"
		;;
	esac
	die "apt-get update cannot use the package mirror: $why"
fi
[ -n "$get" ] || die "$package is no longer in $suite, nor a later version: use KSRC=<git tree or tarball of Linux $kernel>"

cached=$dir/$get/$tarball
if [ "$get" != "$version" ] && [ -f "$cached" ] && [ "$(sha_of "$cached")" = "$(cat "$cached.sha256")" ]; then
	say "pinned $version is gone, using $get, checksum not pinned: $(cat "$cached.sha256")"
	printf '%s\n' "$cached"
	exit 0
fi
step "fetch-$BASE" fetch
sha=$(sha_of "$dir/part/$tarball")
if [ "$get" = "$version" ]; then
	[ "$sha" = "$sha256" ] ||
		die "the tarball of $package $get has the checksum $sha, patches/BASES says $sha256: not used"
else
	say "pinned $version is gone, using $get, checksum not pinned: $sha"
	printf '%s\n' "$sha" >"$dir/part/$tarball.sha256"
fi
rm -rf "${dir:?}/$get"
mv "$dir/part" "$dir/$get"
printf '%s\n' "$cached"
