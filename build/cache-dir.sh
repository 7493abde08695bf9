#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cache-dir.sh: prints the folder for archives and built third-party code. It
# is outside the clone, so that the next clone builds at once. If that folder
# cannot be written, or make cannot handle its name, it is build/cache.
dir=${OD_CACHE:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/od}
case $dir in
/*[!A-Za-z0-9/._+@%=-]*) ;;
/*)
    # shellcheck disable=SC2174 # the mode is for the last folder
    if mkdir -p "$dir" 2>/dev/null && [ -w "$dir" ]; then
        echo "$dir"
        exit 0
    fi
    ;;
esac
echo build/cache
