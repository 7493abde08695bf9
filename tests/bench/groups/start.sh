# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# start of the server, and its memory with one session

group_start() {
    run 60 "$bin/start" 15 "$OD" >start
    run 60 "$bin/limit/start" 15 >limit_start
    row 'start to the first answer, ms' "$(median start answer)" - ours '<=' 5
    row '  to the first 200 over HTTP, ms' "$(median start web)" - ours '<=' 5
    row 'start to the first command, ms' "$(median start command)" "$(median limit_start first)"
    row '  beyond what bash takes, ms' \
        "$(difference "$(median start command)" "$(median limit_start first)")" - ours '<=' 30
    start_server
    "$OD" exec true
    sleep 1
    split
    row 'idle with one session, keeper and worker, KiB' "$(memory Pss "$keeper" "$worker")" - \
        ours '<=' 2048
    row '  of that private, KiB' \
        "$(memory Private_Dirty "$keeper" "$worker")" -
    row '  the reaper beside them, KiB' "$(memory Pss "${reapers[@]}")" -
    stop_server
}
