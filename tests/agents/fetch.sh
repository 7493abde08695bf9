#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fetch.sh: prints the folder that has the agents of package.json, with the sums of
# package-lock.json. npm fetches them once, into the cache (build/cache-dir.sh), where the
# next clone finds them: 1.4 GB. Folders of other versions that nobody used for 30 days
# are removed. Fails with npm's last line.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=$("$root/build/cache-dir.sh")
case $cache in /*) ;; *) cache=$root/$cache ;; esac
dir=$cache/agents/$(sha256sum <"$here/package-lock.json" | cut -c 1-12)
mkdir -p "$dir"
(
    ! command -v flock >/dev/null || flock 9 # several tests may come at once
    [ ! -e "$dir/fetched" ] || exit 0
    cp "$here/package.json" "$here/package-lock.json" "$dir"
    cd "$dir"
    rc=0
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --cache "$dir/cache" \
        >npm.log 2>&1 || rc=$?
    rm -rf cache
    [ "$rc" = 0 ] || {
        tail -n 1 npm.log >&2
        exit "$rc"
    }
    : >fetched
) 9>"$dir/lock"
touch "$dir"
find "$cache/agents" -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {} +
echo "$dir"
