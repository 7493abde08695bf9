#!/bin/sh
# SPDX-License-Identifier: MIT
#
# suites.sh FOLDER: the public suites of tests/compat/suites.lock.
#
# Prints the folder that has them, each with the right sum: $OD_SUITES, which is one
# that has them unpacked or as suites.tar.xz; else FOLDER, into which they are fetched.
# Exits 1, with the reason, if they are not available here.
set -u

lock=$(cd "$(dirname "$0")/../compat" && pwd)/suites.lock
mkdir -p "$1" 2>&1 || exit 1
into=$(cd "$1" && pwd)

# The sum of a file, or of a folder's files in the order of their names.
sum() {
    if [ -f "$1" ]; then
        sha256sum "$1" | cut -d' ' -f1
        return
    fi
    (cd "$1" 2>/dev/null && find . -type f | LC_ALL=C sort | tr '\n' '\0' |
        xargs -0 cat | sha256sum | cut -d' ' -f1)
}

# has FOLDER: whether it has every pinned suite; prints the name of one that is missing.
has() {
    while read -r name _ want _; do
        case $name in '' | '#'*) continue ;; esac
        if [ "$(sum "$1/$name")" != "$want" ]; then
            echo "$name is missing in $1, or is not the one in suites.lock"
            return 1
        fi
    done <"$lock"
}

fetch() {
    curl -fsSL --connect-timeout 5 --max-time 120 -o "$into/fetched" "$1" 2>/dev/null
}

# fetch_all: false at the first one that cannot be fetched.
fetch_all() {
    command -v curl >/dev/null 2>&1 || return 1
    while read -r name revision want inside address; do
        case $name in '' | '#'*) continue ;; esac
        [ "$(sum "$into/$name")" != "$want" ] || continue
        fetch "$(echo "$address" | sed "s|@R@|$revision|")" || return 1
        rm -rf "$into/unpacked" "${into:?}/$name"
        mkdir -p "$into/unpacked" "$(dirname "$into/$name")"
        if [ "$inside" = - ]; then
            mv "$into/fetched" "$into/$name"
        else
            tar -xzf "$into/fetched" -C "$into/unpacked" || return 1
            mv "$into/unpacked"/*/"$inside" "$into/$name" || return 1
        fi
    done <"$lock"
    rm -rf "$into/fetched" "$into/unpacked"
}

if [ -n "${OD_SUITES:-}" ]; then
    from=$OD_SUITES
    if [ -f "$from/suites.tar.xz" ]; then
        tar -xJf "$from/suites.tar.xz" -C "$into" || exit 1
        from=$into
    fi
    has "$from" || exit 1
    echo "$from"
    exit 0
fi
has "$into" >/dev/null || fetch_all || {
    echo "the suites cannot be fetched here: name a folder that has them by OD_SUITES"
    exit 1
}
has "$into" || exit 1
echo "$into"
