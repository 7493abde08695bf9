#!/bin/bash
# SPDX-License-Identifier: MIT
#
# machines.sh MACHINE,...|all GROUP|PROGRAM...: runs test programs as on other machines,
# and prints a table: a row for each machine, a column for each group or program, with how
# many rows passed, failed and were skipped, its seconds, and the programs that failed. Not
# part of `make test`. Needs root, and namespaces.
#
#   plain    as it is                       hosts   an empty /etc/hosts, an unknown host name
#   python   another python3 first on PATH, without modules
#   bashrc   an /etc/bash.bashrc that takes a second (Debian's bash reads that)
#   tmpdir   TMPDIR is another file system, with a long path
#   umask    077                            c, de   LC_ALL=C, LANG=de_DE.UTF-8
#   user     a user who may use sudo        noipv6  a network of its own, without IPv6
#   shm      a /dev/shm of 64 KiB           busy    two busy loops for each processor
#   quota    a quarter of the processors (a cgroup)
#
# Limits are multiplied by OD_TEST_SLOW, as in run.sh (2; on busy and quota 8). Logs are in
# out/machines/MACHINE/GROUP/NAME.log. What is not possible here has a "-" and the reason.
set -u
cd "$(dirname "$0")/.." || exit 1

if [ -z "${MACHINE_DIR-}" ]; then
    [ "$(id -u)" = 0 ] || { echo "machines.sh: needs root" >&2; exit 1; }
    [ $# -ge 2 ] || { sed -n '4,21s/^# \{0,1\}//p' "$0" >&2; exit 2; }
fi

# Each prepares the machine, in namespaces of its own, and returns 1 with a reason if it
# cannot. `as` are the words before a program.
be_plain() { :; }
be_hosts() {
    : >"$MACHINE_DIR/hosts"
    mount --bind "$MACHINE_DIR/hosts" /etc/hosts && hostname nowhere-at-all
}
be_python() {
    mkdir "$MACHINE_DIR/bin"
    # shellcheck disable=SC2016 # of the script
    printf '#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n' >"$MACHINE_DIR/bin/python3"
    chmod 755 "$MACHINE_DIR/bin/python3"
    PATH=$MACHINE_DIR/bin:$PATH
}
be_bashrc() {
    # Without a process of its own, which a row may not have left.
    mkfifo -m 666 "$MACHINE_DIR/silent" && cp -L /etc/bash.bashrc "$MACHINE_DIR/bashrc" &&
        echo "read -t 1 <>'$MACHINE_DIR/silent'" >>"$MACHINE_DIR/bashrc" &&
        mount --bind "$MACHINE_DIR/bashrc" /etc/bash.bashrc
}
be_tmpdir() {
    TMPDIR=$MACHINE_DIR/a-folder-of-a-long-name/for-files
    export TMPDIR
    mkdir -p "$TMPDIR"
    mount -t tmpfs -o size=4g,mode=1777 tmpfs "$TMPDIR"
}
be_umask() { umask 077; }
be_c() { export LC_ALL=C; }
be_de() {
    locale -a 2>/dev/null | grep -qi '^de_DE.utf-*8$' || { echo "no such locale"; return 1; }
    unset LC_ALL
    export LANG=de_DE.UTF-8 OD_TEST_LANG=de_DE.UTF-8
}
# users FROM AT: the folder at another place, as if the user had made it
users() {
    local over=$MACHINE_DIR/${2//\//-}
    mkdir -p "$over" "$2" && mount -t tmpfs tmpfs "$over" && mkdir "$over/upper" "$over/work" &&
        mount -t overlay -o "lowerdir=$1,upperdir=$over/upper,workdir=$over/work,metacopy=on" \
            overlay "$2" && chown -R 54321:54321 "$2"
}
be_user() {
    cp -a /etc "$MACHINE_DIR/etc" && mount --bind "$MACHINE_DIR/etc" /etc || return 1
    echo "od-tester:x:54321:54321::$MACHINE_DIR/home:/bin/bash" >>/etc/passwd
    echo "od-tester:x:54321:" >>/etc/group
    echo "od-tester ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/od-tester
    chmod 440 /etc/sudoers.d/od-tester
    export HOME=$MACHINE_DIR/home USER=od-tester LOGNAME=od-tester
    mkdir "$HOME" "$HOME/.cache" "$MACHINE_DIR/logs" || return 1
    chown 54321:54321 "$HOME" "$HOME/.cache"
    mount --bind "$MACHINE_LOGS" "$MACHINE_DIR/logs" || return 1
    MACHINE_LOGS=$MACHINE_DIR/logs
    users "$OD_CACHE" "$HOME/.cache/od" && users "$PWD" "$PWD" && cd "$PWD" || return 1
    OD_CACHE=$HOME/.cache/od
    as=(setpriv --reuid 54321 --regid 54321 --clear-groups)
    # A user's PATH has no folders that only root may search: execvp(3) reports those.
    local folder searched=''
    while read -r folder; do
        ! "${as[@]}" test -x "$folder" || searched+=:$folder
    done < <(tr : '\n' <<<"$PATH")
    PATH=${searched#:}
}
be_noipv6() {
    [ "$MACHINE_NET" = own ] || return 1
    ip link set lo up && echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 || return 1
    # An address that is not the machine's own loopback.
    ip link add od0 type veth peer name od1 && ip addr add 10.65.66.67/24 dev od0 &&
        ip link set od0 up && ip link set od1 up
}
be_shm() { mount -t tmpfs -o size=64k,mode=1777 tmpfs /dev/shm; }
be_busy() {
    local i
    for ((i = 0; i < 2 * $(nproc); i++)); do
        (while :; do :; done) &
        busy+=($!)
    done
    trap 'kill "${busy[@]}" 2>/dev/null' EXIT
    export OD_TEST_SLOW=${OD_TEST_SLOW:-8}
}
be_quota() {
    local us=$(($(nproc) * 25000))
    mkdir "$MACHINE_CGROUP" || return
    if [ -e "$MACHINE_CGROUP/cpu.cfs_quota_us" ]; then # of version 1
        echo 100000 >"$MACHINE_CGROUP/cpu.cfs_period_us" &&
            echo "$us" >"$MACHINE_CGROUP/cpu.cfs_quota_us" || return
    else
        echo "$us 100000" >"$MACHINE_CGROUP/cpu.max" || return
    fi
    echo $$ >"$MACHINE_CGROUP/cgroup.procs" || return
    export OD_TEST_SLOW=${OD_TEST_SLOW:-8}
}

# run_one PROGRAM LOG: the log has its lines, its status and its seconds
run_one() {
    local limit=$((240 * ${OD_TEST_SLOW:-2})) start=$SECONDS
    case $1 in tests/browser/* | tests/compat/* | tests/agents/*) limit=$((2 * limit)) ;; esac
    timeout -k 10 "$limit" "${as[@]}" "$1" </dev/null >"$2" 2>&1
    printf 'status %d\nseconds %d\n' $? $((SECONDS - start)) >>"$2"
}

programs() {
    case $1 in
    */*) echo "$1" ;;
    unit) ls out/"$(uname -m)"-dev/unit/t_* ;;
    unit-musl) ls out/"$(uname -m)"-release/unit/t_* ;;
    *) find "tests/$1" -name '*.test' ! -name build.test | sort ;;
    esac
}

# add_up LOG...: how many rows passed, failed and were skipped, and the failed programs
add_up() {
    local log p f s rc passed=0 failed=0 skipped=0 names=''
    for log; do
        read -r p f s rc < <(awk -f tests/lib/results.awk "$log")
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
        [ "$f" = 0 ] || names+=" ${log##*/}"
        [ "$rc" != 124 ] && [ "$rc" != 137 ] || names+="(out of time)"
    done
    echo "$passed passed, $failed failed, $skipped skipped${names:+:${names//.log/}}"
}

# inside MACHINE WHAT...: one row of the table
inside() {
    local machine=$1 running what program group log start logs
    as=() busy=()
    shift
    be_"$machine" >"$MACHINE_DIR.why" 2>&1 || {
        echo "- $(cat "$MACHINE_DIR.why")"
        return
    }
    for what; do
        running=0 start=$SECONDS logs=()
        while read -r program; do
            [ "$running" -lt "$(nproc)" ] || { wait -n; running=$((running - 1)); }
            group=${program%/*}
            log=$MACHINE_LOGS/${group##*/}/${program##*/}.log
            mkdir -p "${log%/*}"
            logs+=("$log")
            run_one "$program" "$log" &
            running=$((running + 1))
        done < <(programs "$what")
        while [ "$running" -gt 0 ]; do wait -n; running=$((running - 1)); done
        printf '%s: %s, %d s  ' "$what" "$(add_up "${logs[@]}")" $((SECONDS - start))
    done
    echo
}

if [ -n "${MACHINE_DIR-}" ]; then
    inside "$@"
    exit
fi

all=plain,hosts,python,bashrc,tmpdir,umask,c,de,user,noipv6,shm,busy,quota
[ "$1" != all ] || set -- "$all" "${@:2}"
for machine in ${1//,/ }; do
    case ,$all, in
    *,"$machine",*) ;;
    *)
        echo "machines.sh: no machine $machine; there are $all" >&2
        exit 2
        ;;
    esac
    MACHINE_DIR=$(mktemp -d /tmp/od-machine.XXXXXX)
    MACHINE_LOGS=$PWD/out/machines/$machine
    MACHINE_CGROUP=/sys/fs/cgroup/${MACHINE_DIR##*/}
    [ ! -e /sys/fs/cgroup/cpu/cpu.cfs_quota_us ] ||
        MACHINE_CGROUP=/sys/fs/cgroup/cpu/${MACHINE_DIR##*/}
    MACHINE_NET=shared
    : "${OD_CACHE:=${XDG_CACHE_HOME:-$HOME/.cache}/od}"
    export MACHINE_DIR MACHINE_LOGS MACHINE_CGROUP MACHINE_NET OD_CACHE
    chmod 755 "$MACHINE_DIR"
    rm -rf "$MACHINE_LOGS"
    mkdir -p "$MACHINE_LOGS"
    namespaces=(-m -u)
    if [ "$machine" = noipv6 ]; then
        namespaces+=(-n)
        MACHINE_NET=own
    fi
    printf '%-8s ' "$machine"
    unshare "${namespaces[@]}" --propagation private "$0" "$machine" "${@:2}"
    rm -rf "$MACHINE_DIR" "$MACHINE_DIR".*
    if [ -d "$MACHINE_CGROUP" ]; then
        xargs -r kill -KILL <"$MACHINE_CGROUP/cgroup.procs"
        while read -r _ <"$MACHINE_CGROUP/cgroup.procs"; do sleep 0.1; done
        rmdir "$MACHINE_CGROUP"
    fi
done
