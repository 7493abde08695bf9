# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2002,SC2034,SC2094,SC2154 # sourced by ../run.sh
#
# E2B: the client's commands.run beside POST /events, 1 GB by signed URLs, 1,000 listeners

# seconds COMMAND...: as "s N" with the digits after the point.
seconds() {
    local from=${EPOCHREALTIME/[.,]/} to
    "$@" || return
    to=${EPOCHREALTIME/[.,]/}
    awk -v us=$((to - from)) 'BEGIN { print "s", us / 1000000 }'
}

piped() { # FROM TO
    cat "$1" | cat >"$2"
}

group_e2b() {
    local modules=$root/out/test/e2b up down path=$dir/big
    if [ ! -e "$modules/fetched" ]; then
        echo '  E2B: left out, tests/compat/e2b.test fetches its client'
        return
    fi
    "$OD" serve --log error --listen e2b@127.0.0.1:0 --listen 127.0.0.1:0 --e2b-token sekret \
        --ready-fd 7 >/dev/null 2>"$dir/log" </dev/null 7>ready &
    server=$!
    for _ in {1..200}; do
        grep -q '^ready' ready && break
        sleep 0.02
    done
    split
    e2b=http://$(sed -n 's/^listening e2b@//p' ready)
    native=http://$(sed -n 's/^listening \(1.*\)/\1/p' ready)
    run 200 node "$here/e2b.mjs" "$modules" "$e2b" "$native" sekret "$path" times >e2b
    row "commands.run('true') by the client, POST /events, ms" "$(median e2b sdk)" \
        "$(median e2b events)"
    row '  the same Start without the client, ms' "$(median e2b raw)" "$(median e2b events)" \
        ratio '<=' 1.5

    head -c 1000000000 /dev/zero | tr '\0' x >big
    up=$(sed -n 's/^up //p' e2b) down=$(sed -n 's/^down //p' e2b)
    for _ in 1 2 3; do
        seconds piped big copy >>cat.up
        rm -f copy
        seconds curl -sS -o /dev/null -X POST -H 'Content-Type: application/octet-stream' \
            -H 'Expect:' -T big "$up" >>e2b.up
        cmp -s big big.up || row '  what came is what was sent' 0 - ours = 1
        rm -f big.up
        seconds piped big /dev/null >>cat.down
        seconds curl -sS -o /dev/null "$down" >>e2b.down
    done
    row '1 GB up by a signed URL, cat | cat >FILE, s' "$(median cat.up s)" "$(median e2b.up s)" \
        ratio '>=' 0.8
    row '1 GB down, cat | cat >/dev/null, s' "$(median cat.down s)" "$(median e2b.down s)" \
        ratio '>=' 0.8
    rm -f big

    row 'Pss of the worker, KiB; of the keeper' "$(memory Pss "$worker")" "$(memory Pss "$keeper")"
    run 300 node "$here/e2b.mjs" "$modules" "$e2b" "$native" sekret "$path" listeners 1000 \
        "$worker" "$keeper" >listeners
    row '  with 1,000 processes and a listener each' "$(median listeners worker)" \
        "$(median listeners keeper)"
    row '  streams that got their end' "$(median listeners ended)" - ours = 1000
    stop_server
}
