# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# A dockerd of our own, within apart.sh and after tap.sh:
#
#   start_engine OPTION...  starts it, with one more network interface, up0
#   root_fs                 rootfs.tar: a root file system of busybox
#   box IMAGE               an image of od and that root file system
#   figure WHAT FROM [TO]   notes the milliseconds between two times, those of now
#
# The folder is $T; DOCKER_HOST is set.

# shellcheck source=tests/fleet/figure.sh
. "$ROOT/tests/fleet/figure.sh"
PATH=$PATH:/usr/sbin
for program in dockerd docker docker-compose containerd curl busybox; do
    command -v "$program" >/dev/null || skip_all "no $program: build/tools.sh test fleet"
done
cd "$T" || exit 1
export DOCKER_HOST=unix://$T/docker

engine_answers() { docker info >/dev/null 2>&1; }
stop_engine() {
    kill "$engine"
    wait "$engine"
    umount "$T"/exec/netns/*
}
start_engine() {
    ip link set lo up
    ip link add up0 type bridge
    ip addr add 192.0.2.1/24 dev up0
    ip link set up0 up
    ip route add default via 192.0.2.1
    dockerd --data-root "$T/root" --exec-root "$T/exec" -p "$T/pid" -H "$DOCKER_HOST" \
        --storage-driver=overlay2 --cgroup-parent="$FLEET_GROUP" "$@" >"$T/engine.log" 2>&1 &
    engine=$!
    at_end stop_engine
    ok "the engine starts" wait_for 60 engine_answers
}

root_fs() {
    mkdir -p rootfs/bin rootfs/tmp rootfs/workspace
    chmod 1777 rootfs/tmp # which an engine gives to what it mounts there
    cp "$(command -v busybox)" rootfs/bin/busybox
    for name in sh cat hostname id chmod sleep; do ln -s busybox "rootfs/bin/$name"; done
    tar -C rootfs -cf rootfs.tar .
}

box() {
    "$OD" image make box.tar --force --from rootfs.tar --tag "$1" >/dev/null
    docker load -q -i box.tar >/dev/null
}
