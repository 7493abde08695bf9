#!/bin/sh
# SPDX-License-Identifier: MIT
#
# image.sh [--run PROGRAM] IMAGE [ARGUMENT...]: that program of this folder with the
# archive of the image's root file system, in namespaces of its own, so that no mount
# and no process is left behind. matrix.py, if none is named: the cells of that image
# (cells.py), those that have ARGUMENT in their names.

# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

program=matrix.py
if [ "$1" = --run ]; then
    program=$2
    shift 2
fi
[ "$(id -u)" = 0 ] || skip_all "containers are made by root"
export OD_CACHE PYTHONPATH="$ROOT/tests/lib:$ROOT/tests/images" PYTHONDONTWRITEBYTECODE=1
roots=$("$ROOT/tests/images/roots.sh" "$1") || exit 1
if [ ! -s "$roots/$1.tar" ]; then
    skip "all cells of $1" "no root file system: $(tail -n 1 "$roots/$1.why")"
    done_testing
fi
for python in python3 /usr/bin/python3; do
    "$python" -c 'import httpx, websockets' 2>/dev/null && break
done
chmod 755 "$T"
at_end "awk -v t='$T/' 'index(\$2, t) == 1 { print \$2 }' /proc/mounts | sort -r | xargs -r umount -l"

unshare -mpf --kill-child --mount-proc sh -c '"$@"; exit $?' - "$python" \
    "$ROOT/tests/images/$program" "$roots/$1.tar" "$@"
rc=$?
# shellcheck disable=SC2034 # tap.sh looks at it
tap_done=yes
exit $rc
