# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Sources a plugin's setup.sh in this shell, and writes what it exports to the file
# OD_PLUGIN_EXPORTS. $1: KiB of memory, 0 for no limit.
exec 2>&1
trap 'set -- "$?"; export -p >"$OD_PLUGIN_EXPORTS"; exit "$1"' EXIT
# shellcheck disable=SC3045 # bash, dash and busybox have -v; another shell fails here
if [ "$1" != 0 ]; then ulimit -v "$1" || exit; fi
# shellcheck source=/dev/null # the plugin's own
. ./setup.sh
