#!/bin/sh
# SPDX-License-Identifier: MIT
#
# roots.sh IMAGE...: makes the root file systems of the matrix' images, at the same
# time, each once: NAME.tar in the cache (build/cache-dir.sh), where the next clone
# finds it. Prints that folder. A Debian release comes from the mirror that this
# machine's apt uses; one that it does not have leaves NAME.why, the reason, and is
# asked for again by the next run. Remove a file for a newer one.
#
# valkey is not an image: it has the valkey-server of Debian 13 and the libraries and the
# loader that it needs, so that it runs on an older release, without a chroot. dispatcher
# is what build/deploy/dispatcher/README.md makes an image of, without its program.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
cache=$("$root/build/cache-dir.sh")
case $cache in /*) ;; *) cache=$root/$cache ;; esac
dir=$cache/roots
mkdir -p "$dir" || exit 1

mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        grep -v '^#' | grep -o 'https\{0,1\}://[^ ]*/debian/* *$\|https\{0,1\}://[^ ]*/debian/* ' |
        head -n 1 | tr -d ' '
}

debian() { # SUITE FOLDER [OPTION]
    uri=$(mirror)
    [ -n "$uri" ] || {
        echo "no Debian mirror in this machine's apt sources"
        return 1
    }
    debootstrap --variant=minbase ${3:+"$3"} "$1" "$2" "$uri" || return
    rm -rf "$2/var/cache/apt" "$2/var/lib/apt/lists" "$2"/var/log/*.log "${2:?}"/dev/*
    mkdir -p "$2/var/cache/apt/archives/partial" "$2/var/lib/apt/lists/partial"
}

# One program, which is no shell's name anywhere, and what a runtime mounts on.
scratch() {
    mkdir -p "$1/srv" "$1/dev" "$1/proc" "$1/sys" && cp "$(command -v busybox)" "$1/busybox"
}

busybox_only() {
    mkdir -p "$1/bin" "$1/sbin" "$1/usr" "$1/etc" "$1/root" "$1/tmp" "$1/srv" "$1/dev" \
        "$1/proc" "$1/sys" "$1/var" || return
    chmod 1777 "$1/tmp"
    echo 'root:x:0:0:root:/root:/bin/sh' >"$1/etc/passwd"
    echo 'root:x:0:' >"$1/etc/group"
    cp "$(command -v busybox)" "$1/bin/busybox" || return
    for applet in $("$1/bin/busybox" --list); do
        [ -e "$1/bin/$applet" ] || ln -s busybox "$1/bin/$applet"
    done
}

valkey() { # FOLDER
    apt=$1.apt uri=$(mirror) keys=/usr/share/keyrings/debian-archive-keyring.gpg
    if [ -z "$uri" ] || [ ! -f "$keys" ] || ! command -v dpkg >/dev/null; then
        echo "no Debian mirror in this machine's apt sources"
        return 1
    fi
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/etc"
    printf 'Types: deb\nURIs: %s\nSuites: trixie\nComponents: main\nSigned-By: %s\n' \
        "$uri" "$keys" >"$apt/etc/trixie.sources"
    cat >"$apt/conf" <<END
Dir::Etc::SourceList "/dev/null"; Dir::Etc::SourceParts "$apt/etc";
Dir::State::Lists "$apt/lists"; Dir::State::status "/dev/null";
Dir::Cache "$apt"; Dir::Cache::Archives "$apt/archives";
Acquire::Languages "none"; Acquire::Retries "3"; Debug::NoLocking "1";
END
    [ "$(id -u)" != 0 ] || echo 'APT::Sandbox::User "root";' >>"$apt/conf"
    export APT_CONFIG="$apt/conf"
    apt-get -qq update && apt-get -qq -y --no-install-recommends --download-only install \
        valkey-server || return
    for deb in "$apt"/archives/lib*.deb "$apt"/archives/valkey-*.deb; do
        dpkg -x "$deb" "$1" || return
    done
    rm -rf "${1:?}/etc" "${1:?}/usr/share" "${1:?}/var"
    [ -x "$1/usr/bin/valkey-server" ]
}

fill() { # NAME FOLDER
    case $1 in
    valkey) valkey "$2" ;;
    scratch) scratch "$2" ;;
    busybox) busybox_only "$2" ;;
    dispatcher) debian stable "$2" --include=python3-redis ;;
    *) debian "$1" "$2" ;;
    esac
}

make_root() { # NAME
    [ ! -s "$dir/$1.tar" ] || return 0
    made=$(mktemp -d "$dir/.$1.XXXXXX") || return
    chmod 755 "$made"
    if fill "$1" "$made" >"$made.log" 2>&1 &&
        tar -C "$made" --sort=name --numeric-owner -cf "$made.tar" . >>"$made.log" 2>&1; then
        mv "$made.tar" "$dir/$1.tar"
        rm -f "$dir/$1.why"
    else
        tail -n 5 "$made.log" >"$dir/$1.why"
    fi
    rm -rf "$made" "$made.apt" "$made.tar" "$made.log"
}

for name; do
    (
        flock 9
        make_root "$name"
    ) 9>"$dir/.$name.lock" &
done
wait
echo "$dir"
