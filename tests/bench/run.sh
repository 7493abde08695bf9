#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [GROUP...]: the figures, as a table: ours, the limit, their ratio, the
# goal, and whether it is met. Groups, all of them by default:
#
#   latency   a command in a live session; ssh and pexpect beside it
#   exec      `od exec true` as a whole process
#   flow      100 MB of output, and the memory it takes
#   start     start of the server, and its memory with one session
#   many      1,000 sessions
#   kills     the worker killed 200 times while output flows
#   events    the event log: a million events, written, replayed, found
#   web       a command over HTTP, idle connections, 1 GB up and down
#   tls       handshakes, and 500 MB down by HTTPS; openssl s_server beside it
#   image     od image add, of 200 MB, against cp of the archive
#   search    20,000 files and more, by text, pattern and name; rg, grep, find beside it
#
# A limit is a program of at most 100 lines (limit/) that has the same lasting
# effects with the system calls that cannot be avoided, run in turn with ours,
# so that whatever else the machine does hits both. Servers are private ones in
# a new folder on the file system of TMPDIR (/var/tmp). $OD is the program.
# What is not installed (sshd, pexpect, openssl) is left out and said. Ends with status 1
# if a goal is missed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
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
        [ "$field" = Pss ] || file=/proc/$pid/status
        awk -v f="$field:" '$1 == f { print $2 }' "$file"
    done 2>/dev/null | awk '{ n += $1 } END { print NR ? n : "-" }'
}

# split: sets keeper, worker and minders, process numbers.
split() {
    keeper=$server worker='' minders=()
    local pid
    # shellcheck disable=SC2013 # numbers, on one line
    for pid in $(cat "/proc/$server/task/$server/children"); do
        case $(tr '\0' ' ' <"/proc/$pid/cmdline") in
        od-worker*) worker=$pid ;;
        *) minders+=("$pid") ;;
        esac
    done
}

start_sshd() {
    local program
    program=$(command -v sshd || ls /usr/sbin/sshd 2>/dev/null) && command -v ssh >/dev/null ||
        return 1
    ssh-keygen -q -t ed25519 -N '' -f "$dir/host_key" && ssh-keygen -q -t ed25519 -N '' -f "$dir/key" &&
        cp "$dir/key.pub" "$dir/authorized" || return 1
    mkdir -p /run/sshd 2>/dev/null
    for port in 22822 23822 24822; do
        cat >"$dir/sshd_config" <<END
Port $port
ListenAddress 127.0.0.1
HostKey $dir/host_key
AuthorizedKeysFile $dir/authorized
PasswordAuthentication no
StrictModes no
PidFile none
UsePAM no
SetEnv HOME=$dir/home
END
        cat >"$dir/ssh_config" <<END
Host box
HostName 127.0.0.1
Port $port
IdentityFile $dir/key
IdentitiesOnly yes
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
BatchMode yes
END
        "$program" -D -f "$dir/sshd_config" 2>/dev/null &
        sshd=$!
        for _ in {1..50}; do
            kill -0 "$sshd" 2>/dev/null || break
            run 5 ssh -F "$dir/ssh_config" box true 2>/dev/null && return
            sleep 0.05
        done
        kill "$sshd" 2>/dev/null
        sshd=''
    done
    return 1
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

# round_trips NAME: into ours.NAME, limit.NAME and editing.NAME, in turn.
round_trips() {
    for _ in 1 2 3 4 5 6 7 8 9; do
        run 30 "$bin/latency" 300 >>"ours.$1"
        run 30 "$bin/limit/roundtrip" 300 "$dir/spool" --noediting >>"limit.$1"
        INPUTRC=$dir/inputrc run 30 "$bin/limit/roundtrip" 300 "$dir/spool" --norc >>"editing.$1"
    done
}

group_latency() {
    start_server
    "$OD" exec true
    echo 'set enable-bracketed-paste off' >inputrc
    round_trips quiet
    row 'true in a session, p50, us' "$(median ours.quiet p50)" "$(median limit.quiet p50)" \
        ratio '<=' 3
    row '  against a bash that edits lines, as ours does' "$(median ours.quiet p50)" \
        "$(median editing.quiet p50)"
    row '  p99, us' "$(median ours.quiet p99)" "$(median limit.quiet p99)"
    if keep_busy; then
        round_trips busy
        stop_loops
        row 'the same on a busy machine, p50, us' "$(median ours.busy p50)" \
            "$(median limit.busy p50)" ratio '<=' 3
        row '  against a bash that edits lines, as ours does' "$(median ours.busy p50)" \
            "$(median editing.busy p50)"
        row '  p99, us' "$(median ours.busy p99)" "$(median limit.busy p99)"
    fi
    if start_sshd; then
        run 30 "$bin/kept" 500 ssh -F "$dir/ssh_config" box bash >ssh.out
        row '  a kept ssh channel, p50, us' "$(median ssh.out p50)" "$(median limit.quiet p50)"
        ssh -F "$dir/ssh_config" -M -S "$dir/control" -fN box
        run 30 "$bin/pair" 20 ssh -F "$dir/ssh_config" -S "$dir/control" box true -- true >master
        row '  ssh with a ControlMaster, p50, us' "$(median master ours)" "$(median limit.quiet p50)"
        ssh -F "$dir/ssh_config" -S "$dir/control" -O exit box 2>/dev/null
    else
        echo '  ssh: left out, there is no openssh-server, or it does not start here'
    fi
    if find_pexpect; then
        run 30 "$python" "$here/with_pexpect.py" 500 0 >pexpect
        row '  pexpect without its delay, p50, us' "$(median pexpect p50)" "$(median limit.quiet p50)"
        run 30 "$python" "$here/with_pexpect.py" 20 0.05 >pexpect
        row '  pexpect as it comes, p50, us' "$(median pexpect p50)" "$(median limit.quiet p50)"
    else
        echo '  pexpect: left out, no python3 has it (python3-pexpect)'
    fi
    stop_server
}

group_exec() {
    start_server
    "$OD" exec true
    run 60 "$bin/pair" 60 "$OD" exec true -- bash -c true >pair </dev/null
    row 'od exec true, whole process, p50, us' "$(median pair ours)" "$(median pair limit)" \
        ratio '<=' 1.5
    stop_server
}

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

group_start() {
    run 60 "$bin/start" 15 "$OD" >start
    run 60 "$bin/limit/start" 15 >limit_start
    row 'start to the first answer, ms' "$(median start answer)" - ours '<=' 5
    row '  to the first 200 over HTTP, ms' "$(median start web)" - ours '<=' 5
    row 'start to the first command, ms' "$(median start command)" "$(median limit_start first)"
    row '  beyond what bash takes, ms' \
        "$(difference "$(median start command)" "$(median limit_start first)")" - ours '<=' 30
    start_server
    "$OD" exec true
    sleep 1
    split
    row 'idle with one session, keeper and worker, KiB' "$(memory Pss "$keeper" "$worker")" - \
        ours '<=' 2048
    row '  the minder beside them, KiB' "$(memory Pss "${minders[@]}")" -
    stop_server
}

group_many() {
    start_server
    run 20 "$bin/sessions" 1 2000 >one
    run 90 "$bin/sessions" 1000 2000 >many
    split
    row 'sessions that live' "$(median many live)" - ours = 1000
    row '  to start one, ms' "$(median many start)" -
    row '  true in any of them, p50, us' "$(median many p50)" "$(median one p50)"
    row '  true in any of them, p99, us' "$(median many p99)" "$(median one p99)"
    row '  keeper, KiB in all' "$(memory Pss "$keeper")" -
    row '  worker, KiB in all' "$(memory Pss "$worker")" -
    row '  minder, KiB in all' "$(memory Pss "${minders[@]}")" -
    stop_server
}

group_kills() {
    local size=400000000
    start_server
    run 90 "$bin/soak" 200 $size "$dir/lines $size 20000000" >soak
    row 'kills of the worker' "$(median soak kills)" - ours = 200
    row '  flow meanwhile, MB/s' "$(median soak rate)" - ours '>=' 10
    row '  bytes lost' "$(median soak lost)" - ours = 0
    row '  exit status of the command' "$(median soak exit)" - ours = 0
    stop_server
}

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

group_web() {
    local size=1000000000 before idle hard
    start_web
    run 30 "$bin/web" "$port" 100 >/dev/null
    for _ in 1 2 3 4 5 6 7 8 9; do
        run 30 "$bin/web" "$port" 300 >>ours.web
        run 30 "$bin/limit/roundtrip" 300 "$dir/spool" --noediting tcp >>limit.web
    done
    row 'true over kept HTTP, p50, us' "$(median ours.web p50)" "$(median limit.web p50)" \
        ratio '<=' 3
    row '  p99, us' "$(median ours.web p99)" "$(median limit.web p99)"
    if find_pexpect; then
        "$python" "$here/peer_v0.py" 0 "$dir" >peer 2>/dev/null &
        loops+=($!)
        for _ in {1..200}; do
            grep -q ready peer && break
            sleep 0.05
        done
        run 60 "$python" "$here/v0_latency.py" "$(sed -n 's/^ready //p' peer)" 10 >latency.peer
        stop_loops
        row '  a Python server of the same API, p50, us' "$(median latency.peer p50)" \
            "$(median ours.web p50)" ratio '>=' 100
    fi
    hard=$(ulimit -Hn)
    [ "$hard" != unlimited ] || hard=1000000
    idle=$((hard > 10400 ? 10000 : hard - 400))
    for _ in 1 2 3; do
        (ulimit -n "$hard" && run 60 "$bin/web" "$port" 1000 "$idle") >>idle.web
        run 60 "$bin/web" "$port" 1000 >>alone.web
    done
    row "  p99 beside $idle idle connections, us" "$(median idle.web p99)" \
        "$(median alone.web p99)" ratio '<=' 2
    head -c $size /dev/urandom >big
    mkdir up
    split
    before=$(memory VmHWM "$worker")
    for _ in 1 2 3; do
        # What the one wrote must not be on its way to the disk while the other does.
        rm -f big.copy up/uploaded
        sync
        run 60 "$bin/limit/cat" "$dir/big" $size >>limit.transfer
        rm -f big.copy
        sync
        run 60 "$bin/transfer" "$port" up "$dir/big" $size "$dir/up" >>up.transfer
        run 60 "$bin/transfer" "$port" down "$dir/big" $size >>down.transfer
        run 60 "$bin/transfer" "$port" down "$dir/big" $size raw >>raw.transfer
    done
    cmp -s big up/uploaded || row '  the upload is whole' 0 - ours = 1
    for what in up down raw; do
        row "1 GB, $what, MB/s (down is a zip)" "$(median $what.transfer MB/s)" \
            "$(median limit.transfer MB/s)" ratio '>=' 0.8
    done
    row '  growth of the peak of memory, KiB' $(($(memory VmHWM "$worker") - before)) - \
        ours '<=' 4096
    rm -rf big big.copy up
    stop_server
}

# handshakes PID PORT VERSION: what three seconds of them cost the process.
handshakes() {
    local before count
    before=$(cut -d ' ' -f 1 "/proc/$1/schedstat")
    count=$(run 30 openssl s_time -connect "127.0.0.1:$2" "-$3" -new -time 3 2>/dev/null |
        sed -n 's/^\([0-9]*\) connections in .* real seconds.*/\1/p')
    echo "cost $((($(cut -d ' ' -f 1 "/proc/$1/schedstat") - before) / 1000 / ${count:-1}))"
    echo "rate $((${count:-0} / 3))"
}

# pull ADDRESS: MB/s of a file.
pull() {
    curl -sk --max-time 60 -o /dev/null -w '%{speed_download}\n' "$1" |
        awk '{ print "rate", int($1 / 1000000) }'
}

group_tls() {
    local theirs tport kind version
    command -v openssl curl >/dev/null || {
        echo "tls: openssl and curl are needed" >&2
        return
    }
    sh "$root/tests/lib/certs.sh" "$dir/c" || return 1
    head -c 500000000 /dev/zero >large
    for kind in good rsa; do
        start_web --tls-cert "$dir/c/$kind.pem" --tls-key "$dir/c/$kind.key"
        split
        mkfifo hold
        # shellcheck disable=SC2094 # held open by itself
        openssl s_server -accept 127.0.0.1:0 -cert "c/$kind.one" -key "c/$kind.key" \
            -cert_chain c/middle.pem -WWW <>hold >their.log 2>&1 &
        theirs=$!
        loops+=("$theirs")
        for _ in {1..200}; do
            tport=$(sed -n 's/^ACCEPT .*://p' their.log | head -n 1)
            [ -n "$tport" ] && break
            sleep 0.05
        done
        for version in tls1_2 tls1_3; do
            for _ in 1 2 3; do
                handshakes "$worker" "$port" $version >>ours.$kind$version
                handshakes "$theirs" "$tport" $version >>limit.$kind$version
            done
            row "a handshake, $version, ${kind/good/EC}, us of the server" \
                "$(median ours.$kind$version cost)" "$(median limit.$kind$version cost)"
            row '  a second, one after the other' \
                "$(median ours.$kind$version rate)" "$(median limit.$kind$version rate)"
        done
        for _ in 1 2 3; do
            pull "https://127.0.0.1:$port/download_files?raw=true&path=$dir/large" >>ours.pull
            pull "https://127.0.0.1:$tport/large" >>limit.pull
        done
        stop_loops
        stop_server
        rm -f hold
    done
    row '500 MB down, MB/s' "$(median ours.pull rate)" "$(median limit.pull rate)"
    rm -rf large c
}

# ms COMMAND...: prints "ms N", the milliseconds that it took.
ms() {
    local from=${EPOCHREALTIME/[.,]/} to
    run 60 "$@" >/dev/null || return
    to=${EPOCHREALTIME/[.,]/}
    echo "ms $(((to - from) / 1000))"
}

# One of plain layers and one of gzip, which have an od already; it gets another place.
group_image() {
    local form
    mkdir usr
    find /usr/bin /usr/lib /usr/share -xdev -type f -size -4000k -print0 2>/dev/null | sort -z |
        tar -C / -cf - --null -T - 2>/dev/null | head -c 206000000 | tar -C usr -xf - 2>/dev/null
    tar -C usr -cf root.tar .
    gzip -1 -k root.tar
    "$OD" image make plain.tar --from root.tar >/dev/null || return
    "$OD" image make gzip.tar --from root.tar.gz >/dev/null || return
    rm -rf usr root.tar root.tar.gz
    for _ in 1 2 3 4 5; do
        for form in plain gzip; do
            for what in cp add quick; do
                set -- "$OD" image add $form.tar copy.tar --dest /opt/od
                case $what in cp) set -- cp $form.tar copy.tar ;; quick) set -- "$@" --no-look ;; esac
                rm -f copy.tar
                sync
                ms "$@" >>$what.$form
            done
        done
    done
    row "od image add, $(($(stat -c %s plain.tar) / 1000000)) MB, ms, against cp" \
        "$(median add.plain ms)" "$(median cp.plain ms)" ratio '<=' 1.5
    row "  layers of gzip, $(($(stat -c %s gzip.tar) / 1000000)) MB, --no-look" \
        "$(median quick.gzip ms)" "$(median cp.gzip ms)"
    row '  looked into, for links and other programs' "$(median add.gzip ms)" \
        "$(median cp.gzip ms)"
    rm -f copy.tar
    "$OD" image add plain.tar copy.tar --dest /opt/od >/dev/null
    row '  bytes added, against those of od' \
        $(($(stat -c %s copy.tar) - $(stat -c %s plain.tar))) "$(stat -c %s "$OD")"
    rm -f plain.tar gzip.tar copy.tar
}

# versus GOAL NAME OURS... -- THEIRS...: whole processes, their output to files.
versus() {
    local goal=$1 name=$2 ours=()
    shift 2
    while [ "$1" != -- ]; do
        ours+=("$1")
        shift
    done
    shift
    printf '#!/bin/sh\nexec %s >ours.found\n' "$(printf "'%s' " "${ours[@]}")" >ours.sh
    printf '#!/bin/sh\nexec %s >theirs.found\n' "$(printf "'%s' " "$@")" >theirs.sh
    chmod +x ours.sh theirs.sh
    run 120 "$bin/pair" 9 ./ours.sh -- ./theirs.sh >pair
    if [ "$goal" = - ]; then
        row "$name, ms" "$(ms ours)" "$(ms limit)"
    else
        row "$name, ms" "$(ms ours)" "$(ms limit)" ratio '<=' "$goal"
    fi
    [ "$(wc -l <ours.found)" = "$(wc -l <theirs.found)" ] ||
        row '  the same number of lines' 0 - ours = 1
}

ms() { awk -v k="$1" '$1 == k { print $2 / 1000 }' pair; }

group_search() {
    local i=0 count=0
    while [ "$count" -lt 20000 ] && [ $i -lt 100 ]; do
        i=$((i + 1))
        mkdir -p "tree/$i"
        cp -R /usr/include "$root/core" "$root/tests" "tree/$i" 2>/dev/null
        count=$(find tree -type f | wc -l)
    done
    row 'files to be searched' "$count" - ours '>=' 20000
    if command -v rg >/dev/null; then
        versus 1.5 'a text' "$bin/search" fixed EINVAL tree -p -- rg -n -F EINVAL tree
        versus 1.5 'a pattern with a text in it' "$bin/search" regex 'struct \w+ \*\w+_new\(' \
            tree -p -- rg -n 'struct \w+ \*\w+_new\(' tree
        versus 1.5 'a pattern without' "$bin/search" regex '[A-Z]{5,}_[0-9]+x' tree -p -- \
            rg -n '[A-Z]{5,}_[0-9]+x' tree
    else
        echo '  rg: left out, there is no ripgrep'
    fi
    versus - '  the text, and grep -rn' "$bin/search" fixed EINVAL tree -p -- \
        grep -rnI -F EINVAL tree
    versus 1.5 'files by a part of their name' "$bin/search" find std tree -p -- \
        find tree -type f,l -name '*std*'
    "$bin/search" fixed EINVAL tree >search.out
    row '  memory of a helper at its peak, KiB' "$(median search.out peak)" - ours '<=' 16384
    rm -rf tree
}

echo "state on $(stat -f -c %T "$dir"), $(nproc) processors, Linux $(uname -r)"
printf '%-46s %9s %9s %7s  %-12s %s\n' figure ours limit ratio goal ''
[ $# -gt 0 ] || set -- latency exec flow start many kills events web tls image search
for group; do
    "group_$group" || exit 1
done
[ "$over" = 0 ]
