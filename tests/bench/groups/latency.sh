# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# a command in a live session; ssh and pexpect beside it

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

# round_trips NAME: into ours.NAME, limit.NAME and editing.NAME, in turn.
round_trips() {
    for _ in 1 2 3 4 5 6 7 8 9; do
        run 30 "$bin/latency" 300 >>"ours.$1"
        run 30 "$bin/limit/roundtrip" 300 "$dir/spool" --noediting >>"limit.$1"
        INPUTRC=$dir/inputrc run 30 "$bin/limit/roundtrip" 300 "$dir/spool" --norc >>"editing.$1"
    done
}

# cpu_of PID...: the processor time that each has used, ns.
cpu_of() {
    local pid used rest
    for pid; do
        read -r used rest <"/proc/$pid/schedstat" && echo "$used"
    done
}

# The processor time of a command in keeper, worker, shell and all of them, us.
processor_time() {
    local pids count=2000 # and a tenth more, to warm up
    split
    pids=("$keeper" "$worker" "$("$OD" exec 'echo $$')")
    cpu_of "${pids[@]}" >cpu.before
    run 30 "$bin/latency" $count >/dev/null
    cpu_of "${pids[@]}" >cpu.after
    paste cpu.before cpu.after | awk -v count=$((count * 11 / 10)) '
        BEGIN { split("keeper worker shell", name) }
        { us = ($2 - $1) / count / 1000; all += us; print name[NR], us }
        END { print "all", all }'
}

group_latency() {
    start_server
    "$OD" exec true
    for _ in 1 2 3; do
        processor_time >>cpu
    done
    row 'processor time of a command, us' "$(median cpu all)" - ours '<=' 280
    row '  of that the keeper' "$(median cpu keeper)" -
    row '  the worker' "$(median cpu worker)" -
    row '  the shell' "$(median cpu shell)" -
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
