# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2094,SC2154 # sourced by ../run.sh
#
# SWE-ReX's routes: true beside POST /events and a Python server, 8 sessions, 10 MB, start

group_swerex() {
    local peer events swerex
    "$OD" serve --log error --listen swerex@127.0.0.1:0 --listen 127.0.0.1:0 \
        --swerex-auth-token bench --insecure-open --ready-fd 7 >/dev/null 2>"$dir/log" </dev/null 7>ready &
    server=$!
    PYTHONDONTWRITEBYTECODE=1 python3 "$here/peer_swerex.py" >peer 2>&1 &
    peer=$!
    for _ in {1..200}; do
        grep -q '^ready' ready && grep -q '^ready' peer && break
        sleep 0.02
    done
    swerex=$(sed -n 's/^listening swerex@//p' ready)
    events=$(sed -n 's/^listening \([0-9]\)/\1/p' ready)
    run 120 python3 "$here/swerex.py" "$OD" "$swerex" "$events" \
        "127.0.0.1:$(sed -n 's/^ready //p' peer)" >swerex
    kill "$peer"
    row 'true by run_in_session, POST /events, ms' "$(median swerex true)" \
        "$(median swerex events)" ratio '<=' 1.2
    row '  a Python server of the same routes' "$(median swerex true)" "$(median swerex peer)" \
        ratio '<=' 0.01
    row '8 sessions at once, commands a second' "$(median swerex many)" - ours '>=' 1000
    row 'cat of 10 MB, ms' "$(median swerex cat)" - ours '<=' 300
    row 'start to the first is_alive, ms' "$(median swerex start)" - ours '<=' 5
    stop_server
}
