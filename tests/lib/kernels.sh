# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Helpers for tests of kernels, after tap.sh and session.sh. Interpreters are the
# system's own: what a developer has put before them on PATH is left out.
#
#   cell ARGUMENT...        od jupyter-bridge with nothing to read (or $INPUT), at most
#                           60 seconds; then $rc, and the bytes in $T/out and $T/err
#   says NAME STATUS WANTED ARGUMENT...
#                           a check: cell, its status, its output to the byte (WANTED
#                           is read as by printf %b)
#   cries NAME STATUS PATTERN ARGUMENT...
#                           the same, with its error output as a pattern of case
#   bg_cell NAME ARGUMENT...  cell at the same time; ended NAME, said NAME as there
#   kernel_json NAME KEY    of the running kernel of that name
#   kernel_is NAME STATE    busy, ready, dead, failed, starting
#   runs_code NAME          a cell of it has begun: it is busy

PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
export PATH
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV CONDA_PREFIX JUPYTER_PATH JUPYTER_DATA_DIR
unset PYENV_ROOT PYENV_VERSION R_LIBS R_LIBS_USER INPUT

cell() {
    # shellcheck disable=SC2034 # tap.sh says it when a test runs out of time
    tap_doing="od jupyter-bridge $*"
    timeout -k 5 60 "$OD" jupyter-bridge "$@" >"$T/out" 2>"$T/err" <"${INPUT:-/dev/null}"
    rc=$?
}

says() {
    says_name=$1 says_rc=$2
    printf '%b' "$3" >"$T/wanted"
    shift 3
    cell "$@"
    same_bytes "$says_name" "$says_rc" "$@"
}

cries() {
    cries_name=$1 cries_rc=$2 cries_like=$3
    shift 3
    cell "$@"
    # shellcheck disable=SC2254 # a pattern is what is wanted here
    case "$rc $(cat "$T/err")" in
    $cries_rc\ $cries_like) tap_line ok "$cries_name" ;;
    *)
        tap_line no "$cries_name"
        note "got:    $rc $(head -c 2000 "$T/err")"
        note "wanted: $cries_rc $cries_like"
        head -c 500 "$T/out" | sed 's/^/# stdout: /'
        ;;
    esac
}

bg_cell() {
    bg_name=$1
    shift
    rm -f "$T/$bg_name.rc" "$T/$bg_name.out" "$T/$bg_name.err"
    {
        timeout -k 5 60 "$OD" jupyter-bridge "$@" >"$T/$bg_name.out" \
            2>"$T/$bg_name.err" <"${INPUT:-/dev/null}"
        echo $? >"$T/$bg_name.rc.new"
        mv "$T/$bg_name.rc.new" "$T/$bg_name.rc"
    } &
}

kernel_json() {
    timeout -k 5 60 "$OD" jupyter-bridge --list --json 2>/dev/null | python3 -c '
import json, sys
for k in json.load(sys.stdin)["kernels"]:
    if k["name"] == sys.argv[1]:
        print(k[sys.argv[2]])' "$1" "$2"
}
kernel_is() {
    kernel_now=$(kernel_json "$1" busy)
    [ "$kernel_now" = True ] && kernel_now=busy || kernel_now=$(kernel_json "$1" state)
    [ "$kernel_now" = "$2" ]
}
runs_code() { kernel_is "$1" busy; }
hears() { grep -qsa "$1" "$T/$2.out"; }
