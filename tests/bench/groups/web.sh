# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# a command over HTTP, idle connections, 1 GB up and down

group_web() {
    local size=1000000000 before idle hard
    start_web
    run 30 "$bin/web" "$port" 100 >/dev/null
    for _ in 1 2 3 4 5 6 7 8 9; do
        run 30 "$bin/web" "$port" 300 >>ours.web
        run 30 "$bin/limit/roundtrip" 300 "$dir/spool" --noediting tcp >>limit.web
    done
    row 'true over kept HTTP, p50, us' "$(median ours.web p50)" "$(median limit.web p50)" \
        ratio '<=' 3
    row '  p99, us' "$(median ours.web p99)" "$(median limit.web p99)"
    if find_pexpect; then
        "$python" "$here/peer_v0.py" 0 "$dir" >peer 2>/dev/null &
        loops+=($!)
        for _ in {1..200}; do
            grep -q ready peer && break
            sleep 0.05
        done
        run 60 "$python" "$here/v0_latency.py" "$(sed -n 's/^ready //p' peer)" 10 >latency.peer
        stop_loops
        row '  a Python server of the same API, p50, us' "$(median latency.peer p50)" \
            "$(median ours.web p50)" ratio '>=' 100
    fi
    hard=$(ulimit -Hn)
    [ "$hard" != unlimited ] || hard=1000000
    idle=$((hard > 10400 ? 10000 : hard - 400))
    for _ in 1 2 3; do
        (ulimit -n "$hard" && run 60 "$bin/web" "$port" 1000 "$idle") >>idle.web
        run 60 "$bin/web" "$port" 1000 >>alone.web
    done
    row "  p99 beside $idle idle connections, us" "$(median idle.web p99)" \
        "$(median alone.web p99)" ratio '<=' 2
    head -c $size /dev/urandom >big
    mkdir up
    split
    before=$(memory VmHWM "$worker")
    for _ in 1 2 3; do
        # What the one wrote must not be on its way to the disk while the other does.
        rm -f big.copy up/uploaded
        sync
        run 60 "$bin/limit/cat" "$dir/big" $size >>limit.transfer
        rm -f big.copy
        sync
        run 60 "$bin/transfer" "$port" up "$dir/big" $size "$dir/up" >>up.transfer
        run 60 "$bin/transfer" "$port" down "$dir/big" $size >>down.transfer
        run 60 "$bin/transfer" "$port" down "$dir/big" $size raw >>raw.transfer
    done
    cmp -s big up/uploaded || row '  the upload is whole' 0 - ours = 1
    for what in up down raw; do
        row "1 GB, $what, MB/s (down is a zip)" "$(median $what.transfer MB/s)" \
            "$(median limit.transfer MB/s)" ratio '>=' 0.8
    done
    row '  growth of the peak of memory, KiB' $(($(memory VmHWM "$worker") - before)) - \
        ours '<=' 4096
    rm -rf big big.copy up
    stop_server
}
