# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# the event log: a million events, written, replayed, found

group_events() {
    local count=1000000
    for _ in 1 2 3; do
        rm -rf events lines-only
        mkdir lines-only
        run 60 "$bin/events" write events $count >>events.write 2>/dev/null
        run 60 "$bin/limit/events" write lines-only $count >>limit_events.write
    done
    for _ in 1 2 3 4 5; do
        run 60 "$bin/events" read events 2>>events.read >/dev/null
        run 60 "$bin/limit/events" read events 2>>limit_events.read >/dev/null
    done
    run 60 "$bin/events" seek events >events.seek 2>/dev/null
    row 'events of 200 bytes, a second' "$(median events.write rate)" \
        "$(median limit_events.write rate)" ratio '>=' 0.7
    row '  growth of the memory, 1,000 to 1,000,000, KiB' "$(median events.write grown)" - \
        ours '<=' 64
    row 'a million of them replayed, MB/s' "$(median events.read rate)" \
        "$(median limit_events.read rate)" ratio '>=' 0.4
    row '  to open the log, us' "$(median events.read open)" -
    row '  to find an event, us' "$(median events.seek seek)" -
    rm -rf events lines-only
}
