# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# the live page in a Chromium, beside ttyd or the terminals of Jupyter: paints, keys, clicks, memory

# PAGE_ROUNDS rounds (5), and PAGE_MINUTES minutes (10) of a busy and of an idle agent.
group_page() {
    local i peer peer_name='' peer_port
    CHROMIUM=$(command -v chromium-headless-shell || command -v chromium)
    NODE_PATH=$(npm root -g 2>/dev/null)
    if [ -z "$CHROMIUM" ] || ! NODE_PATH=$NODE_PATH node -e 'require("playwright-core"), require("axe-core")' 2>/dev/null; then
        echo "page: a Chromium, node, playwright-core and axe-core are needed" >&2
        return
    fi
    export OD CHROMIUM NODE_PATH T=$dir LIMIT_MS=120000
    page_files || return 1
    if command -v ttyd >/dev/null; then
        peer_name=ttyd
    elif /usr/bin/python3 -c 'import terminado' 2>/dev/null; then
        peer_name=terminado
    else
        echo "page: neither ttyd nor python3-terminado, so without a peer" >&2
    fi
    for ((i = 0; i < ${PAGE_ROUNDS:-5}; i++)); do
        run 600 node "$here/page.cjs" ours >>ours.page || return 1
        run 600 node "$here/page.cjs" events >>ours.page || return 1
        [ -n "$peer_name" ] || continue
        page_peer
        run 600 node "$here/page.cjs" peer "http://127.0.0.1:$peer_port/" "$peer" >>peer.page
        kill "$peer"
        wait "$peer" 2>/dev/null
    done
    run $((${PAGE_MINUTES:-10} * 150 + 300)) node "$here/page.cjs" long "${PAGE_MINUTES:-10}" >long.page
    touch peer.page
    page_row 'first contentful paint, empty cache, ms' paint 150
    page_row 'the terminal shows the screen, ms' shown 300
    page_row 'a key to its glyph, p50, ms' key 25
    page_row '  p99, ms' key99 60
    page_row '20 MB of output, the end is seen, MB/s' output
    page_row 'memory of the server with a page open, KiB' memory
    page_row 'bytes of the page' bytes 143360
    row 'the timeline with 2,000 events: a frame while it scrolls, p50, ms' \
        "$(median ours.page frame)" - ours '<=' 17
    row '  p99, ms' "$(median ours.page frame99)" - ours '<=' 50
    row '  a search in it, ms' "$(median ours.page search)" - ours '<=' 200
    row 'browser: a click to the picture of it, p50, ms' "$(median ours.page click)" - ours '<=' 60
    row '  p99, ms' "$(median ours.page click99)" - ours '<=' 200
    row '  pictures of a page that is still, in 5 s' "$(median ours.page still)" - ours = 0
    row 'true, p50, with five viewers, without, ms' "$(median ours.page watched)" \
        "$(median ours.page true)" ratio '<=' 1.1
    row 'memory for a page that is open, KiB' "$(median ours.page open)" - ours '<=' 64
    row '  for five with a busy terminal and browser, KiB' "$(median ours.page five)" - ours '<=' 2048
    row "after ${PAGE_MINUTES:-10} minutes of five pages: KiB" "$(median long.page five)" - ours '<=' 2048
    row '  true, p50, before them, ms' "$(median long.page watched)" "$(median long.page true)" \
        ratio '<=' 1.1
    row '  memory of scripts, at half of the time, KiB' "$(median long.page heap)" \
        "$(median long.page half)" ours '<=' 81920
    row '  bytes a minute of an idle agent' "$(median long.page idle)" - ours '<=' 1024
    rm -rf page-* page.files
}

# page_row FIGURE KEY [GOAL]: beside the peer.
page_row() {
    row "$1" "$(median ours.page "$2")" "$(median peer.page "$2")" ${3:+ours '<=' "$3"}
}

# The files of xterm.js that the program has, for the peer's page.
page_files() {
    mkdir page.files
    start_web --ui --api-key page-key-of-the-bench-0123456789
    curl -s -c jar -o /dev/null -d key=page-key-of-the-bench-0123456789 "http://127.0.0.1:$port/ui/session"
    curl -s -b jar "http://127.0.0.1:$port/ui/" >page.html
    local name
    for name in xterm.mjs xterm.css; do
        curl -s --compressed -o "page.files/$name" \
            "http://127.0.0.1:$port/ui/$(grep -o "file/xterm\.[^\"]*\.${name#*.}" page.html | head -n 1)"
    done
    run 20 "$OD" exec --stop >/dev/null 2>&1
    stop_server
    grep -q Terminal page.files/xterm.mjs
}

# Starts the peer: sets peer and peer_port.
page_peer() {
    mkfifo peer.ready
    if [ "$peer_name" = ttyd ]; then
        ttyd -p 0 -i 127.0.0.1 -W -t rendererType=dom bash --norc >/dev/null 2>peer.ready </dev/null &
        peer=$!
        peer_port=$(sed -n 's/.*Listening on port: \([0-9]*\).*/\1/p;T;q' <peer.ready)
    else
        /usr/bin/python3 "$here/peer_terminal.py" "$dir/page.files" >peer.ready 2>/dev/null </dev/null &
        peer=$!
        read -r peer_port <peer.ready
    fi
    rm peer.ready
}
