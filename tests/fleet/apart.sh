#!/bin/bash
# SPDX-License-Identifier: MIT
#
# apart.sh PROGRAM: that program of this folder in namespaces of its own (network, mounts,
# processes), so that the engine that it starts leaves no interface, no mount and no
# process behind; /run and /var/log are empty there. What is in no namespace is put back
# here: control groups, all of them below $FLEET_GROUP, and the settings of the kernel
# that a kubelet changes. The program prints its figures as notes, "# figure: …": what
# engines and od take on this machine, which no test asserts.

# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "engines are started by root"
for program in unshare ip iptables; do
    command -v "$program" >/dev/null || skip_all "no $program: build/tools.sh test fleet"
done

# One at a time: another one's kubelet may have changed the settings that are put back.
exec 9>/run/od-fleet.lock
flock 9

export FLEET_GROUP=/od-fleet-$$
settings="vm/overcommit_memory kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys
    kernel/keys/root_maxbytes"
values() { for name in $settings; do cat "/proc/sys/$name"; done; }
mapfile -t before < <(values)
groups_left() { find /sys/fs/cgroup -depth -type d -path "*$FLEET_GROUP*" -print; }
put_back() {
    local name i=0
    for name in $settings; do
        echo "${before[i]}" >"/proc/sys/$name"
        i=$((i + 1))
    done
    groups_left | while read -r group; do rmdir "$group"; done
    [ -z "$(groups_left)" ]
}
at_end wait_for 10 put_back

unshare -nmpf --kill-child=TERM --mount-proc sh -c 'mount -t tmpfs tmpfs /run &&
    mount -t tmpfs tmpfs /var/log && exec bash "$1"' - "$ROOT/tests/fleet/$1" 9>&- &
child=$!
# unshare blocks TERM while it waits, so the program gets it.
trap 'pkill -P "$child"; wait "$child"; exit 143' TERM
wait "$child"
rc=$?
# shellcheck disable=SC2034 # tap.sh looks at it
tap_done=yes
wait_for 10 put_back || {
    note "left: $(groups_left)"
    rc=1
}
[ "$(values)" = "$(printf '%s\n' "${before[@]}")" ] || rc=1
exit $rc
