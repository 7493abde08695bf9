#!/bin/bash
# SPDX-License-Identifier: MIT
#
# machines.sh MACHINE,...|all GROUP|PROGRAM...: runs test programs as on other machines,
# and prints a table: a row for each machine, a column for each group or program, with how
# many rows passed and failed. Not part of `make test`. Needs root, and namespaces.
#
#   plain    as it is                       hosts   an empty /etc/hosts, an unknown host name
#   python   another python3 first on PATH, without modules
#   bashrc   a HOME whose .bashrc takes a second
#   tmpdir   TMPDIR is another file system, with a long path
#   umask    077                            c, de   LC_ALL=C, LC_ALL=de_DE.UTF-8
#   user     a user who may use sudo        noipv6  a network of its own, without IPv6
#   shm      a /dev/shm of 64 KiB           busy    next to four busy loops
#   quota    a quarter of the processors (a cgroup of version 2)
#
# Logs are in out/machines/MACHINE/NAME.log. What is not possible here has a "-" and the
# reason.
set -u
cd "$(dirname "$0")/.." || exit 1

if [ -z "${MACHINE_DIR-}" ]; then
    [ "$(id -u)" = 0 ] || { echo "machines.sh: needs root" >&2; exit 1; }
    [ $# -ge 2 ] || { sed -n '4,20s/^# \{0,1\}//p' "$0" >&2; exit 2; }
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
    export HOME=$MACHINE_DIR/home
    mkdir "$HOME"
    echo 'sleep 1' >"$HOME/.bashrc"
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
    export LC_ALL=de_DE.UTF-8
}
be_user() {
    # The tree is root's: what upgrade.test would build is there before.
    make -s "out/$(uname -m)-release/lib/fake_worker" || return 1
    cp -a /etc "$MACHINE_DIR/etc" && mount --bind "$MACHINE_DIR/etc" /etc || return 1
    echo "od-tester:x:54321:54321::$MACHINE_DIR/home:/bin/bash" >>/etc/passwd
    echo "od-tester:x:54321:" >>/etc/group
    echo "od-tester ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/od-tester
    chmod 440 /etc/sudoers.d/od-tester
    mkdir "$MACHINE_DIR/home"
    chown 54321:54321 "$MACHINE_DIR/home"
    export HOME=$MACHINE_DIR/home USER=od-tester LOGNAME=od-tester
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
    for _ in 1 2 3 4; do
        (while :; do :; done) &
        busy+=($!)
    done
}
be_quota() {
    mkdir "$MACHINE_CGROUP" &&
        echo "$(($(nproc) * 25000)) 100000" >"$MACHINE_CGROUP/cpu.max" &&
        echo $$ >"$MACHINE_CGROUP/cgroup.procs"
}

# run_one PROGRAM: its log has its lines, and its status last
run_one() {
    local log=$MACHINE_LOGS/${1##*/}.log
    timeout -k 10 "$((240 * ${OD_TEST_SLOW:-2}))" "${as[@]}" "$1" </dev/null >"$log" 2>&1
    echo "status $?" >>"$log"
}

programs() {
    case $1 in
    */*) echo "$1" ;;
    unit) ls out/"$(uname -m)"-dev/unit/t_* ;;
    unit-musl) ls out/"$(uname -m)"-release/unit/t_* ;;
    *) find "tests/$1" -name '*.test' ! -name build.test | sort ;;
    esac
}

# inside MACHINE WHAT...: one row of the table
inside() {
    local machine=$1 running what program
    as=() busy=()
    shift
    be_"$machine" >"$MACHINE_DIR.why" 2>&1 || {
        echo "- $(cat "$MACHINE_DIR.why")"
        return
    }
    for what; do
        running=0
        : >"$MACHINE_DIR.list"
        while read -r program; do
            [ "$running" -lt "$(nproc)" ] || { wait -n; running=$((running - 1)); }
            echo "$MACHINE_LOGS/${program##*/}.log" >>"$MACHINE_DIR.list"
            run_one "$program" &
            running=$((running + 1))
        done < <(programs "$what")
        while [ "$running" -gt 0 ]; do wait -n; running=$((running - 1)); done
        printf '%s: ' "$what"
        # shellcheck disable=SC2046 # names without blanks
        awk '/^ok /{ p++ } /^not ok /{ f++ } /^status [^0]/ { bad[FILENAME] = 1 }
            /^not ok / { named[FILENAME] = 1 }
            END { for (b in bad) if (!(b in named)) f++
                printf "%d passed, %d failed  ", p, f }' $(cat "$MACHINE_DIR.list")
    done
    echo
    [ ${#busy[@]} = 0 ] || kill "${busy[@]}"
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
    [ ! -d "$MACHINE_CGROUP" ] || rmdir "$MACHINE_CGROUP"
done
