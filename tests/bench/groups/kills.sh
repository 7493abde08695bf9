# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# the worker killed 200 times while output flows

group_kills() {
    local size=400000000
    start_server
    run 90 "$bin/soak" 200 $size "$dir/lines $size 20000000" >soak
    row 'kills of the worker' "$(median soak kills)" - ours = 200
    row '  flow meanwhile, MB/s' "$(median soak rate)" - ours '>=' 10
    row '  bytes lost' "$(median soak lost)" - ours = 0
    row '  exit status of the command' "$(median soak exit)" - ours = 0
    stop_server
}
