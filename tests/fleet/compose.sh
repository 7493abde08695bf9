# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# docker-compose starts build/deploy/compose.yaml: od is mounted into an image that does
# not have it, and its port is published. apart.sh starts this.

# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=tests/fleet/engine.sh
. "$ROOT/tests/fleet/engine.sh"

start_engine
root_fs
export SESSION_API_KEY=a-key-of-the-fleet IMAGE=localhost/plain
docker import rootfs.tar "$IMAGE" >/dev/null
cp "$ROOT/build/deploy/compose.yaml" .
up() { docker-compose -p fleet "$@"; }
box_id() { docker ps -aq -f name=sandbox; }
look() { docker inspect -f "$1" "$(box_id)"; }
inside() { docker exec "$(box_id)" /usr/local/bin/od exec "$@" 2>&1; }
asked() { # KEY
    curl -s -o answer -w '%{http_code}' -H "X-Session-API-Key: $1" \
        'http://127.0.0.1:3000/events?since=0'
}
state_is() { [ "$(look '{{.State.Status}} {{.State.Health.Status}}')" = "$1" ]; }

start=$(now)
ok "the file is started" up up -d
ok "and is healthy" wait_for 60 state_is "running healthy"
figure "asked for → healthy, which is checked each 10 s" "$start"
is "as nobody's user, in the workspace" "$(inside 'id -u; pwd')" "1000
/workspace"
is "the published port takes the key" "$(asked "$SESSION_API_KEY")" 200
is "and no other" "$(asked another-key-entirely)" 403
for place in /workspace /tmp /cache; do
    is "programs in $place can be started" \
        "$(inside "cd $place && echo 'echo it runs' >x && chmod +x x && ./x")" "it runs"
done
like "its root is read-only" "$(inside 'echo x >/file')" "*ead-only file system*"

inside 'KEPT=yes' >/dev/null
started=$(look '{{.State.StartedAt}}')
pkill -9 -P "$(look '{{.State.Pid}}')" -f '^od-worker'
is "a killed worker takes nothing along" "$(inside 'echo $KEPT')" yes
is "and is no reason to start the container again" "$(look '{{.State.StartedAt}}')" "$started"
worker_starts() { curl -s -H "X-Session-API-Key: $SESSION_API_KEY" http://127.0.0.1:3000/metrics |
    sed -n 's/^od_worker_starts_total //p'; }
is "it was killed" "$(worker_starts)" 2

kill -9 "$(look '{{.State.Pid}}')"
again() { [ "$(look '{{.RestartCount}} {{.State.Running}}')" = "1 true" ]; }
ok "a killed PID 1 is started again" wait_for 60 again
ok "and is healthy again" wait_for 60 state_is "running healthy"
start=$(now)
up stop >/dev/null 2>&1
is "TERM ends it, with 0" "$(look '{{.State.Status}} {{.State.ExitCode}}')" "exited 0"
# shellcheck disable=SC2046 # two times
figure "TERM → ended" $(docker events --since "${start%?????????}" --until "$(date +%s)" \
    -f event=kill -f event=die --format '{{.TimeNano}}' | head -n 2)
up down >/dev/null 2>&1
is "and it is removed" "$(box_id)" ""

done_testing
