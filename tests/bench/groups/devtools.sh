# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # sourced by ../run.sh
#
# DevTools calls through /devtools, beside a Chromium's own port

group_devtools() {
    local chromium pid port hosts url i
    chromium=$(command -v chromium-headless-shell chromium | head -n 1)
    if [ -z "$chromium" ] || ! command -v node >/dev/null; then
        echo "devtools: chromium-headless-shell and node are needed" >&2
        return
    fi
    mkdir profile
    "$chromium" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
        --user-data-dir="$dir/profile" --remote-debugging-port=0 --window-size=1280,720 \
        --disable-background-networking --disable-extensions --disable-renderer-backgrounding \
        --disable-backgrounding-occluded-windows --mute-audio about:blank >direct.log 2>&1 &
    pid=$!
    OD_BROWSER=$chromium "$OD" serve --log error --listen 127.0.0.1:0 --ready-fd 7 7>ready \
        >/dev/null 2>"$dir/log" </dev/null &
    server=$!
    for _ in {1..200}; do
        [ -s profile/DevToolsActivePort ] && grep -q '^ready' ready && break
        sleep 0.05
    done
    port=$(head -n 1 profile/DevToolsActivePort)
    url=http://$(sed -n 's/^listening //p' ready | grep '^127' | head -n 1)
    run 30 curl -s -o version "$url/devtools/json/version"
    split
    hosts=$(ps -eo pid=,args= | awk -v d="$dir" '$2 == "od-browser" && index($0, d) { print $1 }')
    for _ in 1 2 3 4 5; do
        run 120 node "$here/devtools.mjs" "http://127.0.0.1:$port/json/version" >>direct.devtools
        # shellcheck disable=SC2086 # process numbers
        run 120 node "$here/devtools.mjs" "$url/devtools/json/version" "$worker" $hosts >>ours.devtools
    done
    pkill -f "user-data-dir=$dir/profile" # Debian's command is a script around it
    wait "$pid" 2>/dev/null
    row 'Runtime.evaluate, us; a port of Chromium' "$(median ours.devtools evaluate)" \
        "$(median direct.devtools evaluate)" ratio '<=' 1.15
    row '100 MB of answers, ms' "$(median ours.devtools bulk)" \
        "$(median direct.devtools bulk)" ratio '<=' 1.1
    row '100 pictures of a screencast, ms' "$(median ours.devtools frames)" \
        "$(median direct.devtools frames)" ratio '<=' 1.1
    row 'memory of worker and host for a client, KiB' "$(median ours.devtools client)" - ours '<=' 64
    stop_server
    rm -rf profile
}
