# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# 1,000 sessions

group_many() {
    start_server
    run 20 "$bin/sessions" 1 2000 >one
    run 90 "$bin/sessions" 1000 2000 >many
    split
    row 'sessions that live' "$(median many live)" - ours = 1000
    row '  to start one, ms' "$(median many start)" -
    row '  true in any of them, p50, us' "$(median many p50)" "$(median one p50)"
    row '  true in any of them, p99, us' "$(median many p99)" "$(median one p99)"
    row '  keeper, KiB in all' "$(memory Pss "$keeper")" -
    row '  worker, KiB in all' "$(memory Pss "$worker")" -
    row '  reaper, KiB in all' "$(memory Pss "${reapers[@]}")" -
    stop_server
}
