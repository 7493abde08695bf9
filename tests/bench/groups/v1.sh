# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2094,SC2154 # sourced by ../run.sh
#
# the agent-server's routes: true beside POST /events and a Python server, 8 at once

group_v1() {
    local peer events v1
    SESSION_API_KEY='' OH_SESSION_API_KEYS_0='' "$OD" serve --log error --listen v1@127.0.0.1:0 \
        --listen 127.0.0.1:0 --insecure-open --ready-fd 7 >/dev/null 2>"$dir/log" </dev/null 7>ready &
    server=$!
    PYTHONDONTWRITEBYTECODE=1 python3 "$here/peer_v1.py" >peer 2>&1 &
    peer=$!
    for _ in {1..200}; do
        grep -q '^ready' ready && grep -q '^ready' peer && break
        sleep 0.02
    done
    v1=$(sed -n 's/^listening v1@//p' ready)
    events=$(sed -n 's/^listening \([0-9]\)/\1/p' ready)
    run 120 python3 "$here/v1.py" "$v1" "$events" "127.0.0.1:$(sed -n 's/^ready //p' peer)" >v1
    kill "$peer"
    row 'true by execute_bash_command, POST /events, ms' "$(median v1 true)" \
        "$(median v1 events)" ratio '<=' 1.2
    row '  a Python server of the same routes' "$(median v1 true)" "$(median v1 peer)" ratio '<=' 1
    row '  posix_spawn of sh -c true, and its end' "$(median v1 true)" "$(median v1 spawn)"
    row '8 at once, commands a second; the peer' "$(median v1 many)" "$(median v1 peermany)" \
        ratio '>=' 1
    stop_server
}
