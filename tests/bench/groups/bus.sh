# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# the bus: events to a Redis, and 1,000 servers on one (BENCH_BUS_SERVERS)

group_bus() {
    local with
    for with in python3 /usr/bin/python3 ''; do
        [ -z "$with" ] || ! "$with" -c 'import redis' 2>/dev/null || break
    done
    if [ -z "$with" ] || ! command -v redis-server >/dev/null; then
        echo '  the bus: left out, there is no redis-server, or no Python with redis'
        return
    fi
    mkdir "$dir/bus"
    run 600 "$with" "$here/bus.py" "$OD" "$dir/bus" >bus.out
    row 'events to the bus, a second' "$(median bus.out events)" "$(median bus.out raw)"
    row '  10,000 again after Redis lost them, ms' "$(median bus.out healed)" -
    row '  bytes of an event' "$(median bus.out bytes)" -
    row '  actions through the bus, a second' "$(median bus.out actions)" -
    row 'many servers on a Redis: read, p50, ms' "$(median bus.out bus_p50)" \
        "$(median bus.out direct_p50)"
    row '  p99, ms' "$(median bus.out bus_p99)" "$(median bus.out direct_p99)"
    row '  p99 beyond that by the socket, ms' "$(median bus.out beyond_p99)" - ours '<=' 10
    row '  all of them linked, s' "$(median bus.out linked)" -
    row '  memory of one, KiB' "$(median bus.out memory)" - ours '<=' 10240
    row '  memory of one in Redis, KiB' "$(median bus.out redis_each)" -
    rm -rf "$dir/bus"
}
