# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Runs a plugin's setup.sh as a program. $1: KiB of memory, 0 for no limit.
exec 2>&1
# shellcheck disable=SC3045 # bash, dash and busybox have -v; another shell fails here
if [ "$1" != 0 ]; then ulimit -v "$1" || exit; fi
exec ./setup.sh
