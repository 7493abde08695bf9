#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-repro.sh [deep]: two builds of this tree in two folders are identical,
# byte by byte. The first may take objects from a cache, the second compiles all of
# them; with "deep" it also builds the dependencies again.
set -eu
cd "$(dirname "$0")/.."

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
unset MAKEFLAGS MAKELEVEL MFLAGS MODE O
cache=$(build/cache-dir.sh)
arch=$(uname -m)

for folder in one another/and-longer; do
    mkdir -p "$tmp/$folder"
    cp -R Makefile LICENSE build core applets "$tmp/$folder/"
    rm -rf "$tmp/$folder/build/cache"
    OD_CACHE=$(cd "$cache" && pwd)
    if [ "${1:-}" = deep ] && [ "$folder" != one ]; then
        mkdir -p "$tmp/cache"
        cp -R "$OD_CACHE/archives" "$tmp/cache/"
        OD_CACHE=$tmp/cache
    fi
    export OD_CACHE
    [ "$folder" = one ] || export CCACHE_DISABLE=1
    ${MAKE:-make} -C "$tmp/$folder" -j"$(nproc 2>/dev/null || echo 2)" all >"$tmp/log" 2>&1 || {
        cat "$tmp/log"
        exit 1
    }
done
cmp "$tmp/one/out/$arch-release/od" "$tmp/another/and-longer/out/$arch-release/od"
