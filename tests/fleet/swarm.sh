# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# A Swarm of one node runs build/deploy/stack.yaml: replicas that are called by their
# addresses, replaced when PID 1 is killed, rolled over, scaled; health checks in images
# that have no shell. apart.sh starts this.

# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=tests/fleet/engine.sh
. "$ROOT/tests/fleet/engine.sh"
export KEY=a-key-of-the-fleet IMAGE=localhost/box:1

start_engine --bridge=none
ok "a Swarm of one node" docker swarm init --advertise-addr 192.0.2.1
root_fs
box localhost/box:1
docker tag localhost/box:1 localhost/box:2
"$OD" image make alone.tar --tag localhost/alone:1 >/dev/null && docker load -q -i alone.tar >/dev/null
printf %s "$KEY" | docker secret create od-key - >/dev/null
docker network create -d overlay --attachable od >/dev/null

# --- the stack, as the file has it --------------------------------------------------------

# Checked each second here, so that three checks are soon over.
sed 's/interval: 10s/interval: 1s/' "$ROOT/build/deploy/stack.yaml" >stack.yaml
deploy() { docker stack deploy --resolve-image never -c stack.yaml od; }
# tasks STATE-WANTED: ID IMAGE STATE of each
tasks() {
    docker service ps od_sandbox --no-trunc -f "desired-state=$1" \
        --format '{{.ID}} {{.Image}} {{.CurrentState}}' | cut -d' ' -f1-3 | sort
}
running() { tasks running | grep -c ' Running$'; }
run_as_many() { [ "$(running)" = "$1" ]; }
# in_slot N COMMAND...: in the container of the slot's running task
in_slot() {
    local id
    id=$(docker ps -q -f "name=od_sandbox.$1.")
    shift
    docker exec "$id" /usr/local/bin/od exec "$@" 2>&1
}
container() { docker ps -q -f "name=od_sandbox.$1."; }
healthy() { [ "$(docker ps -q -f health=healthy | wc -l)" = "$1" ]; }

start=$(now)
ok "the stack is taken" deploy
replicas() { run_as_many 3; }
ok "three replicas run" wait_for 60 replicas
figure "asked for → three run" "$start"
all_healthy() { healthy 3; }
ok "and are healthy" wait_for 60 all_healthy
is "as nobody's user, each by its name" "$(in_slot 2 'id -u; hostname; pwd')" "1000
sandbox-2
/workspace"
is "programs in the workspace can be started" "$(in_slot 1 'echo "echo it runs" >x &&
    chmod +x x && ./x')" "it runs"
like "those of a tmpfs cannot" "$(in_slot 1 'echo "echo it runs" >/tmp/x &&
    chmod +x /tmp/x && echo made && /tmp/x')" "made*ermission denied*"
is "its state is in a folder of its own" "$(in_slot 1 'cd /state && echo *')" od-1000
like "its root is read-only" "$(in_slot 1 'echo x >/file')" "*ead-only file system*"

# From one sandbox to another: over the overlay network, with the secret as the key.
address() {
    docker inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' \
        "$(container "$1")"
}
between() { # KEY
    docker exec -e OD_SERVER_KEY="$1" -e OD_SERVER_INSECURE=1 "$(container 1)" \
        /usr/local/bin/od exec --server "http://$(address 3):3000" hostname 2>&1
}
is "a sandbox is reached by its address, with the key" "$(between "$KEY")" sandbox-3
fails "and not with another" between another-key-entirely
docker exec "$(container 1)" /bin/busybox nslookup tasks.sandbox 127.0.0.11 >names 2>&1
for slot in 1 2 3; do
    ok "tasks.sandbox has the address of slot $slot" grep -qF "$(address "$slot")" names
done

# --- a killed PID 1 -------------------------------------------------------------------------

in_slot 2 'echo kept >file' >/dev/null
before=$(tasks running)
old=$(container 2)
start=$(now)
kill -9 "$(docker inspect -f '{{.State.Pid}}' "$old")"
replaced() {
    local new
    new=$(container 2)
    [ -n "$new" ] && [ "$new" != "$old" ] && replicas
}
ok "a killed PID 1 is replaced" wait_for 60 replaced
figure "killed → replaced" "$start"
is "by one task" "$(comm -13 <(echo "$before") <(tasks running) | wc -l)" 1
ok "that is healthy" wait_for 60 all_healthy
is "its name stays, its workspace is empty" "$(in_slot 2 'hostname; echo *')" "sandbox-2
*"

# --- a rolling update -----------------------------------------------------------------------

before=$(tasks running | cut -d' ' -f1)
IMAGE=localhost/box:2
start=$(now)
ok "a new image" deploy
rolled() {
    [ "$(docker service inspect -f '{{.UpdateStatus.State}}' od_sandbox)" = completed ]
}
ok "is rolled out" wait_for 120 rolled
figure "rolled out to three, one by one" "$start"
is "to each replica" "$(tasks running | cut -d' ' -f2-)" "localhost/box:2 Running
localhost/box:2 Running
localhost/box:2 Running"
# shellcheck disable=SC2086 # ids
is "TERM ended each of the old ones, with 0" "$(docker inspect \
    -f '{{.Status.ContainerStatus.ExitCode}}' $before | sort -u)" 0

start=$(now)
docker service scale -d od_sandbox=5 >/dev/null
more() { run_as_many 5; }
ok "scaled to five" wait_for 60 more
figure "scaled to five" "$start"

# --- in an image without a shell ---------------------------------------------------------------

docker stack rm od >/dev/null
nothing_runs() { [ -z "$(docker ps -aq)" ]; }
ok "the stack is removed" wait_for 60 nothing_runs
# shellcheck disable=SC2034 # compose's variable
IMAGE=localhost/alone:1
ok "the same with od alone in the image" deploy
ok "three replicas run, without a shell" wait_for 60 replicas
before=$(tasks running)
checked() { # by the health check, more than three times
    local n
    for id in $(docker ps -q); do
        n=$(docker inspect -f '{{range .State.Health.Log}}{{.ExitCode}} {{end}}' "$id" |
            grep -o '0 ' | wc -l)
        [ "$n" -ge 5 ] || return 1
    done
    healthy 3
}
ok "and are healthy, check by check" wait_for 60 checked
is "and the same as before" "$(tasks running)" "$before"
docker stack rm od >/dev/null
ok "removed" wait_for 60 nothing_runs

# What the comment in stack.yaml warns of: a check by a shell that is not there.
docker service create -d --name od_sandbox --no-resolve-image --network od \
    --health-cmd '/usr/local/bin/od serve --status' --health-interval 1s \
    --restart-delay 1s --env OD_LISTEN=@http localhost/alone:1 serve >/dev/null
killed() { [ "$(tasks shutdown | wc -l)" -ge 2 ]; }
ok "a check by a shell that is not there kills a sandbox that is well" wait_for 90 killed
docker service rm od_sandbox >/dev/null
ok "removed, too" wait_for 60 nothing_runs
ok "the node leaves" docker swarm leave --force

done_testing
