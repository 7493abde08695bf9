#!/bin/sh
# SPDX-License-Identifier: MIT
#
# previous.sh: the path of the `od` that this one upgrades from, built of its commit if
# the cache does not have it. Fails if this checkout has no such commit.
set -eu
cd "$(dirname "$0")/.."

# Upgrades are tested from the last commit of the release before.
commit=5945076703d6165a9ca7094906d49124c7f2f590

cache=$(build/cache-dir.sh)
dir=$cache/previous/$commit
arch=$(uname -m)
if [ ! -x "$dir/od" ]; then
    work=$dir.$$
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work"
    git archive "$commit" | tar -x -C "$work"
    env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u MODE -u TARGET -u O \
        make -C "$work" --no-print-directory >&2
    mkdir -p "$dir"
    cp "$work/out/$arch-release/od" "$dir/od.$$"
    mv "$dir/od.$$" "$dir/od"
fi
echo "$dir/od"
