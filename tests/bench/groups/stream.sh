# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# the event stream: events a second, output, a million replayed, idle WebSockets

# limit_server: limit/stream, on $tport.
limit_server() {
    rm -f "$dir/limit.lines"
    "$bin/limit/stream" "$dir/limit.lines" >limit.port &
    loops+=($!)
    for _ in {1..200}; do
        tport=$(cat limit.port)
        [ -n "$tport" ] && return
        sleep 0.02
    done
    return 1
}

# Nanoseconds that the worker has run; none on a kernel that does not count them.
worker_time() {
    awk '{ print $1 }' "/proc/$worker/schedstat" 2>/dev/null
}

# rates LINKS COUNT NAME: rounds of ours and the limit in turn, to ours.NAME and limit.NAME,
# and the worker's time for an event.
rates() {
    local from to
    for _ in 1 2 3 4 5; do
        from=$(worker_time)
        run 60 "$bin/stream" "$port" rate "$1" "$2" >>"ours.$3"
        to=$(worker_time)
        [ -z "$to" ] || echo "time $(((to - from) / (2 * $2)))" >>"ours.$3"
        run 60 "$bin/stream" "$tport" rate "$1" "$2" >>"limit.$3"
    done
}

# MB/s of the log's files through a pipe.
cat_rate() {
    local from=${EPOCHREALTIME/[.,]/} to bytes
    bytes=$(cat "$OD_STATE_DIR"/*/events/*.jsonl | wc -c)
    to=${EPOCHREALTIME/[.,]/}
    echo "rate $((bytes / (to - from)))"
}

group_stream() {
    local before
    start_web --events-size 1000
    "$OD" exec true
    split
    limit_server || return
    run 60 "$bin/stream" "$port" rate 1 20000 >/dev/null
    before=$(memory VmHWM "$worker")
    rates 1 40000 one
    row 'events a second, one subscriber' "$(median ours.one rate)" \
        "$(median limit.one rate)" ratio '>=' 0.3
    for _ in 1 2 3; do
        run 60 "$bin/stream" "$port" latency 400 >>ours.latency
        run 60 "$bin/limit/delta" 400 "$dir/spool" >>limit.latency
    done
    row 'output to a client, p50, us' "$(median ours.latency p50)" "$(median limit.latency p50)" \
        ratio '<=' 3
    row '  p99, us' "$(median ours.latency p99)" "$(median limit.latency p99)"
    run 120 "$bin/stream" "$port" rate 1 480000 >/dev/null
    run 60 "$bin/stream" "$tport" rate 1 480000 >/dev/null
    rates 1 40000 late
    row 'events a second, behind a million' "$(median ours.late rate)" \
        "$(median limit.late rate)"
    # Not the rates: half a minute lies between, in which the machine changes.
    row '  processor time of one, beside the first ones, ns' "$(median ours.late time)" \
        "$(median ours.one time)" ratio '<=' 1.25
    for _ in 1 2 3; do
        run 60 "$bin/stream" "$port" replay >>ours.replay
        run 60 "$bin/stream" "$tport" replay >>limit.replay
        cat_rate >>cat.replay
    done
    row "$(median ours.replay events) events replayed, MB/s" "$(median ours.replay rate)" \
        "$(median limit.replay rate)"
    row '  against cat of the files into a pipe' "$(median ours.replay rate)" \
        "$(median cat.replay rate)"
    row '  growth of the peak of memory so far, KiB' \
        "$(difference "$(memory VmHWM "$worker")" "$before")" - ours '<=' 1024
    rates 100 2000 hundred
    row 'events a second, 100 subscribers' "$(median ours.hundred rate)" \
        "$(median limit.hundred rate)" ratio '>=' 0.3
    stop_loops
    idle_links
    stop_server
    rm -f limit.lines
}

# As many as the server's descriptors allow, less what it keeps for other things.
idle_links() {
    local hard links
    hard=$(ulimit -Hn)
    [ "$hard" != unlimited ] || hard=1000000
    links=$((hard > 100400 ? 100000 : hard - 400))
    for _ in 1 2 3; do
        run 60 "$bin/web" "$port" 1000 >>alone.true
    done
    (ulimit -n "$hard" && exec "$bin/stream" "$port" idle $links "$worker") >idle.out &
    loops+=($!)
    for _ in {1..600}; do
        grep -q each idle.out && break
        sleep 0.1
    done
    for _ in 1 2 3; do
        run 60 "$bin/web" "$port" 1000 >>idle.true
    done
    stop_loops
    row "$(median idle.out links) idle WebSockets, KiB each" "$(median idle.out each)" -
    row '  p99 of true beside them, us' "$(median idle.true p99)" \
        "$(median alone.true p99)" ratio '<=' 2
}
