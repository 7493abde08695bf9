# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# 100 MB of output, and the memory it takes

group_flow() {
    local size=100000000 before after
    start_server
    split
    run 60 "$bin/flow" stream 10000000 "$dir/lines 10000000" >/dev/null
    run 60 "$bin/flow" text 10000000 "$dir/lines 10000000" >/dev/null
    before=$(memory VmHWM "$keeper" "$worker")
    for _ in 1 2 3; do
        run 60 "$bin/flow" stream $size "$dir/lines $size" >>stream.out
        run 60 "$bin/limit/spool" "$dir/spool" "$dir/lines" $size >>limit_flow
        run 60 "$bin/flow" text $size "$dir/lines $size" >>text.out
    done
    after=$(memory VmHWM "$keeper" "$worker")
    row '100 MB, spooled and streamed, MB/s' "$(median stream.out rate)" "$(median limit_flow rate)" \
        ratio '>=' 0.8
    row '100 MB, spooled and answered as text, MB/s' "$(median text.out rate)" \
        "$(median limit_flow rate)" ratio '>=' 0.8
    row '  growth of the peak, 10 MB to 700 MB, KiB' "$(difference "$after" "$before")" - ours '<=' 256
    stop_server
}
