#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fetch-deps.sh CACHE NAME...: the archives of build/deps.lock.
# fetch-deps.sh CACHE --newest NAME...: what their registries have.
#
# Prints one line for each, "NAME VERSION PATH", once CACHE/archives holds it
# with the right sha256. Only that sum counts, not where the bytes came from or
# the exit status of the tool that fetched them. An older version of the lock is only
# taken where a newer one cannot be had, and that is reported. Looks in
#
#   1. the cache,
#   2. $OD_DEPS_DIR, any directory of archives under any names: the way in
#      for machines without a network and for other distributions,
#   3. the distribution's source packages (deb:) through a private apt, which
#      leaves the machine's lists, sources and locks as they are, or npm,
#   4. the project's own release address.
#
# With --newest prints "NAME VERSION" of the newest upstream version that 3. has, without
# what a distribution adds; "NAME -" if it has none or cannot be reached. Fetches nothing.
#
# Several may run at once: files are written under other names and renamed.
set -eu

here=$(dirname "$0")
cache=$1
shift
mkdir -p "$cache/archives"
cache=$(cd "$cache" && pwd)
tmp=$(mktemp -d "$cache/fetch.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

say() { echo "fetch: $*" >&2; }

sum() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1" | cut -d' ' -f1
    else
        openssl dgst -sha256 -r "$1" | cut -d' ' -f1
    fi
}

archive() { echo "$cache/archives/$name-$1.tar"; }

# The versions of $pairs, each once.
versions() {
    for pair in $pairs; do echo "${pair%%:*}"; done | awk '!seen[$0]++'
}

# Version $want from the cache. A file with another sum is damaged, and is removed.
cached() {
    file=$(archive "$want")
    [ -f "$file" ] || return 1
    case " $pairs " in
    *" $want:$(sum "$file") "*)
        echo "$name $want $file"
        return 0
        ;;
    esac
    say "$file is damaged, fetching it again"
    rm -f "$file"
    return 1
}

# keep FILE: copies FILE into the cache if it is an archive of version $want.
keep() {
    [ -f "$1" ] || return 1
    case " $pairs " in
    *" $want:$(sum "$1") "*) ;;
    *) return 1 ;;
    esac
    cp "$1" "$tmp/keep"
    mv "$tmp/keep" "$(archive "$want")"
}

keep_any() {
    for file in "$1"/*; do
        keep "$file" && return 0
    done
    return 1
}

# The machine's own mirror and keys, and newer suites of the same archive. An
# index past its date (a late mirror, a wrong clock) is accepted: sums decide.
apt_ready() {
    [ -z "${APT_CONFIG:-}" ] || return 0
    command -v apt-get >/dev/null 2>&1 || return 1
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    uri=$(sed -n 's/^URIs: *//p; s/^deb[^h]*\(http[^ ]*\) .*/\1/p' \
        /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null |
        grep '/debian/*$' | head -n 1)
    [ -n "$uri" ] && [ -f "$keys" ] || return 1
    a=$tmp/apt
    mkdir -p "$a/lists/partial" "$a/archives/partial" "$a/etc"
    for suite in ${OD_DEB_SUITES:-trixie sid}; do
        printf 'Types: deb-src\nURIs: %s\nSuites: %s\n' "$uri" "$suite"
        printf 'Components: main\nSigned-By: %s\n\n' "$keys"
    done >"$a/etc/od.sources"
    cat >"$a/conf" <<CONF
Dir::Etc::SourceList "/dev/null"; Dir::Etc::SourceParts "$a/etc";
Dir::State::Lists "$a/lists"; Dir::State::status "/dev/null";
Dir::Cache "$a"; Dir::Cache::Archives "$a/archives";
Acquire::Languages "none"; Acquire::Retries "3"; Debug::NoLocking "1";
Acquire::Check-Valid-Until "false";
CONF
    [ "$(id -u)" != 0 ] || echo 'APT::Sandbox::User "root";' >>"$a/conf"
    export APT_CONFIG="$a/conf"
    say "reading the index of source packages"
    apt-get -qq update >"$a/log" 2>&1 || say "$(tail -n 1 "$a/log")"
}

# deb_versions PACKAGE: those that the index lists.
deb_versions() {
    apt-cache showsrc "$1" 2>/dev/null | awk -v p="$1" \
        '/^Package:/ { n = $2 } /^Version:/ { if (n == p) print $2 }' | sort -u
}

# Every package version listed whose upstream part is the wanted one; Debian writes
# "+really" for a version that went back. The exit status of apt is ignored: it may
# fail for the package's description after it has fetched the archive.
from_deb() {
    apt_ready || return 1
    mkdir -p "$tmp/deb"
    for v in $(deb_versions "$1"); do
        case ${v#*:} in
        "$want" | "$want"[-+~]* | *+really"$want"[-+~]*) ;;
        *) continue ;;
        esac
        (cd "$tmp/deb" && apt-get -qq source --download-only \
            --only-source "$1=$v") >/dev/null 2>&1 || :
        keep_any "$tmp/deb" && return 0
    done
    return 1
}

from_npm() {
    command -v npm >/dev/null 2>&1 || return 1
    mkdir -p "$tmp/npm"
    (cd "$tmp/npm" && npm pack --silent "$1@$want") >/dev/null 2>&1 || :
    keep_any "$tmp/npm"
}

from_url() {
    [ -n "$1" ] || return 1
    url=$(echo "$1" | sed "s/@V@/$want/g")
    if command -v curl >/dev/null 2>&1; then
        curl -fsSL --max-time 120 -o "$tmp/url" "$url" 2>/dev/null || return 1
    elif command -v wget >/dev/null 2>&1; then
        wget -q -T 120 -O "$tmp/url" "$url" 2>/dev/null || return 1
    else
        return 1
    fi
    keep "$tmp/url"
}

from_source() {
    case $1 in
    deb:*) from_deb "${1#deb:}" ;;
    npm:*) from_npm "${1#npm:}" ;;
    *) return 1 ;;
    esac
}

# Version $want, from anywhere.
fetch() {
    keep_any "$cache/archives" && return 0 # of another dependency, which is made of it too
    say "$name $want"
    from_source "$source" || from_url "$address"
}

# One line of the lock: the newest version that can be had. A folder that the user named
# is enough: whoever names one may have no network.
get() {
    want=$(versions | head -n 1)
    cached && return 0
    if [ -n "${OD_DEPS_DIR:-}" ]; then
        for want in $(versions); do
            keep_any "$OD_DEPS_DIR" && cached && return 0
        done
    fi
    for want in $(versions); do
        if cached || { fetch && cached; }; then
            [ "$want" = "$(versions | head -n 1)" ] ||
                say "$name: $want is used, because $(versions | head -n 1) cannot be had"
            return 0
        fi
    done
    return 1
}

# The upstream part of a distribution's version: "1:1.3.dfsg+really1.3.1-3" is 1.3.1.
upstream() {
    sed 's/^[0-9]*://; s/.*+really//; s/-[^-]*$//; s/[+~].*//; s/\.dfsg.*//'
}

newest() {
    case $source in
    deb:*) ! apt_ready || deb_versions "${source#deb:}" | upstream | sort -V | tail -n 1 ;;
    npm:*) npm view "${source#npm:}" version 2>/dev/null || : ;;
    esac
}

only_newest=
if [ "${1-}" = --newest ]; then
    only_newest=1
    shift
    apt_ready || : # here, so that each newest(), which is a process, finds it done
fi
rc=0
for name; do
    line=$(awk -v n="$name" '$1 == n' "${DEPS_LOCK:-$here/deps.lock}")
    if [ -z "$line" ]; then
        say "$name is not in build/deps.lock"
        exit 1
    fi
    # shellcheck disable=SC2086 # the words of the line
    set -- $line
    pairs=$(echo "$2" | tr , ' ') source=$3 address=${4:-}
    if [ -n "$only_newest" ]; then
        found=$(newest)
        echo "$name ${found:--}"
        continue
    fi
    get && continue
    say "cannot get $name: put an archive with one of the sums in" \
        "build/deps.lock into a directory and name it by OD_DEPS_DIR"
    rc=1
done
exit $rc
