# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # sourced by ../run.sh
#
# MCP: `od mcp` to its first answer, a call beside POST /events, memory of sessions

group_mcp() {
    "$OD" serve --log error --listen 127.0.0.1:0 --ready-fd 7 >/dev/null 2>"$dir/log" </dev/null 7>ready &
    server=$!
    for _ in {1..200}; do
        grep -q '^ready' ready && break
        sleep 0.02
    done
    split
    run 120 "$here/mcp.py" "$OD" "$(sed -n 's/^listening //p' ready)" "$worker" >mcp
    row 'od mcp: exec to initialize answered, ms' "$(median mcp joined)" -
    row '  when it starts the server, ms' "$(median mcp start)" - ours '<=' 20
    row 'shell true by /mcp, POST /events beside it, ms' "$(median mcp shell)" \
        "$(median mcp events)" ratio '<=' 1.2
    row 'Pss of the worker with 100 sessions, KiB; without' "$(median mcp after)" \
        "$(median mcp before)"
    stop_server
}
