#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [GROUP...]: the figures, as a table: ours, the limit, their ratio, the
# goal, and whether it is met. Groups are the files of groups/, all of them by
# default; each says in its first lines what it measures. `run.sh -l` lists them.
#
# A group NAME is a function group_NAME in groups/NAME.sh, which is sourced: it
# has what is defined here, and begins and ends without a server, in a folder of
# its own ($dir) that is not empty. It removes what is large.
#
# A limit is a program of about 100 lines (limit/) that has the same lasting
# effects with the system calls that cannot be avoided, run in turn with ours,
# so that whatever else the machine does hits both. Servers are private ones in
# a new folder on the file system of TMPDIR (/var/tmp). $OD is the program.
# What is not installed (sshd, pexpect, openssl) is left out and said. Ends with status 1
# if a goal is missed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
names=$(cd "$here/groups" && printf '%s\n' *.sh | sed 's/\.sh$//')
if [ "${1-}" = -l ]; then
    for name in $names; do
        printf '%-10s %s\n' "$name" "$(sed -n '4s/^# //p' "$here/groups/$name.sh")"
    done
    exit 0
fi
: "${OD:=$root/out/$(uname -m)-release/od}"
unset MAKEFLAGS MAKELEVEL MFLAGS MODE TARGET O
(cd "$root" && "${MAKE:-make}" --no-print-directory -f Makefile -f tests/bench/bench.mk \
    all bench-programs) >&2 || exit 1
bin=$root/out/$(uname -m)-release/bench

dir=$(mktemp -d "${TMPDIR:-/var/tmp}/od-bench.XXXXXX") || exit 1
mkdir "$dir/home"
for name in $(env | sed -n 's/^\(OD_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
unset ENV BASH_ENV PROMPT_COMMAND name
export HOME=$dir/home OD_SOCKET=$dir/sock OD_STATE_DIR=$dir/state LC_ALL=C
cd "$dir" || exit 1
cp "$bin/lines" "$dir/lines" # no other name in the commands than in the limit's
server='' sshd='' over=0 loops=()

# run SECONDS COMMAND...: one measurement; its words go to standard error.
run() { timeout -k 5 "$@"; }

start_server() {
    "$OD" serve --log error >/dev/null 2>"$dir/log" </dev/null &
    server=$!
    for _ in {1..200}; do
        "$OD" exec --list >/dev/null 2>&1 && return
        sleep 0.02
    done
    echo "the server did not start" >&2
    exit 1
}

stop_server() {
    [ -n "$server" ] || return
    run 20 "$OD" exec --stop >/dev/null 2>&1
    for _ in {1..250}; do
        kill -0 "$server" 2>/dev/null || break
        sleep 0.02
    done
    kill -9 "$server" 2>/dev/null && echo "the server had to be killed" >&2
    wait "$server" 2>/dev/null
    server=''
}

finish() {
    rc=$?
    trap - EXIT
    stop_loops
    stop_server
    [ ! -S "$dir/control" ] || ssh -F "$dir/ssh_config" -S "$dir/control" -O exit box 2>/dev/null
    [ -z "$sshd" ] || kill "$sshd" 2>/dev/null
    grep -sv '^od serve: listening\|^Try: \|^then: \|^HTTP: \|^   ' "$dir/log" >&2
    cd / && rm -rf "$dir"
    exit "$rc"
}
trap finish EXIT
trap 'exit 130' INT TERM

# median FILE KEY: of the values that a key has in the output of several rounds.
median() {
    awk -v key="$2" '$1 == key { print $2 }' "$1" | sort -n |
        awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)]; else print "-" }'
}

# difference A B: "-" when one of them is not known.
difference() {
    awk -v a="$1" -v b="$2" 'BEGIN { print a == "-" || b == "-" ? "-" : a - b }'
}

# row FIGURE OURS LIMIT [GOAL]: one line of the table. GOAL: "ratio <= 3",
# "ratio >= 0.8", "ours <= 5", "ours = 0", or none: the figure is there to compare. A figure that
# cannot be had (another user's memory) is unknown.
row() {
    awk -v figure="$1" -v ours="$2" -v limit="$3" -v what="${4-}" -v op="${5-}" -v goal="${6-}" '
        function show(v) { return v ~ /^-?[0-9.]+$/ ? sprintf(v < 100 && v != int(v) ? "%.2f" : "%.0f", v) : v }
        BEGIN {
            ratio = ours ~ /^[0-9.]+$/ && limit ~ /^[0-9.]+$/ && limit > 0 ? ours / limit : "-"
            value = what == "ratio" ? ratio : ours
            ok = "-"
            if (what != "")
                ok = value == "-" ? "unknown" : op == "<=" ? (value <= goal ? "ok" : "over") \
                    : op == ">=" ? (value >= goal ? "ok" : "over") : value == goal ? "ok" : "over"
            printf "%-46s %9s %9s %7s  %-12s %s\n", figure, show(ours), show(limit),
                ratio == "-" ? "-" : sprintf("%.2f", ratio),
                what == "" ? "-" : (what == "ratio" ? "ratio " : "") op " " goal, ok
            exit ok == "over"
        }' || over=1
}

# memory FIELD PID...: the sum, in KiB.
memory() {
    local field=$1 pid file
    shift
    for pid; do
        file=/proc/$pid/smaps_rollup
        grep -q "^$field:" "$file" || file=/proc/$pid/status
        awk -v f="$field:" '$1 == f { print $2 }' "$file"
    done 2>/dev/null | awk '{ n += $1 } END { print NR ? n : "-" }'
}

# split: sets keeper, worker and reapers, process numbers.
# shellcheck disable=SC2034 # for groups
split() {
    keeper=$server worker='' reapers=()
    local pid
    # shellcheck disable=SC2013 # numbers, on one line
    for pid in $(cat "/proc/$server/task/$server/children"); do
        case $(tr '\0' ' ' <"/proc/$pid/cmdline") in
        od-worker*) worker=$pid ;;
        *) reapers+=("$pid") ;;
        esac
    done
}

find_pexpect() {
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import pexpect' 2>/dev/null && return
    done
    return 1
}

# Where a process wakes up decides a round trip: on a quiet machine each step of
# it wakes another processor, which on a virtual one is dear; on a busy machine
# all steps are on one, and only the work counts. So there are two rounds; in the
# second, all processors but one are kept busy.
keep_busy() {
    local others=$(($(nproc) - 1))
    [ "$others" -gt 0 ] || return
    for _ in $(seq "$others"); do
        sh -c 'while :; do :; done' &
        loops+=($!)
    done
    sleep 0.2
}

stop_loops() {
    [ ${#loops[@]} = 0 ] || kill "${loops[@]}" 2>/dev/null
    loops=()
}

# The server of the V0 API on a port of its own: $port.
start_web() { # OPTION...
    mkfifo ready
    "$OD" serve "$@" --listen 127.0.0.1:0 --working-dir "$dir" --log error --ready-fd 3 \
        3>ready >/dev/null 2>"$dir/log" </dev/null &
    server=$!
    port=$(sed -n 's/^listening .*:\([0-9]*\)$/\1/p' <ready)
    rm ready
    [ -n "$port" ] && return
    cat "$dir/log" >&2
    exit 1
}

echo "state on $(stat -f -c %T "$dir"), $(nproc) processors, Linux $(uname -r)"
printf '%-46s %9s %9s %7s  %-12s %s\n' figure ours limit ratio goal ''
# shellcheck disable=SC2086 # names are words
[ $# -gt 0 ] || set -- $names
for group; do
    # shellcheck source=/dev/null
    . "$here/groups/$group.sh" && "group_$group" || exit 1
done
[ "$over" = 0 ]
