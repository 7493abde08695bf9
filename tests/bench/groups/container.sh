# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# from podman start to a first command

# From `podman start` to a first word or command, with od as the first process and
# without, in turn.
group_container() {
    run 300 sh "$root/tests/images/image.sh" --run start.py bookworm >container 2>said
    if ! grep -q '^asked' container; then
        echo "  containers: left out: $(cat container said | tail -n 1)"
        return
    fi
    row 'podman start to the first word, with od beside, ms' \
        "$(start_of beside)" "$(start_of plain)"
    row '  to a first command: od serve, podman exec' "$(start_of asked)" "$(start_of exec)"
}
start_of() { awk -v k="$1" '$1 == k { print $2 }' container; }
