# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# `od exec true` as a whole process

group_exec() {
    start_server
    "$OD" exec true
    run 60 "$bin/pair" 60 "$OD" exec true -- bash -c true >pair </dev/null
    row 'od exec true, whole process, p50, us' "$(median pair ours)" "$(median pair limit)" \
        ratio '<=' 1.5
    stop_server
}
