# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# a server elsewhere: 1 GB by --put and --get beside cat over loopback, a command by HTTPS beside ssh

# cat_over_loopback FROM TO: one cat at each end of a TCP connection; MB/s.
cat_over_loopback() {
    python3 - "$1" "$2" <<'END'
import os, socket, subprocess, sys, time

listener = socket.create_server(("127.0.0.1", 0))
near = socket.create_connection(listener.getsockname())
far, _ = listener.accept()
with open(sys.argv[2], "wb") as to:
    begun = time.monotonic()
    reader = subprocess.Popen(["cat"], stdin=far, stdout=to)
    writer = subprocess.Popen(["cat", sys.argv[1]], stdout=near)
    near.close()
    far.close()
    writer.wait()
    reader.wait()
print("rate", int(os.path.getsize(sys.argv[1]) / (time.monotonic() - begun) / 1e6))
END
}

# rate COMMAND...: MB/s of what moves the large file.
rate() {
    local begun
    begun=$(date +%s%N)
    run 120 "$@" </dev/null && echo "rate $((1073741824000 / ($(date +%s%N) - begun)))"
}

group_remote() {
    local url
    command -v openssl python3 >/dev/null || {
        echo "remote: openssl and python3 are needed" >&2
        return
    }
    sh "$root/tests/lib/certs.sh" "$dir/c" || return 1
    head -c 1073741824 /dev/urandom >large
    export OD_SERVER_KEY=key
    OD_API_KEY=key start_web
    url=http://127.0.0.1:$port
    for _ in 1 2 3 4 5; do
        cat_over_loopback large copy >>limit.copy
        rm copy
        rate "$OD" exec --server "$url" --put large "$dir/copy" >>ours.put
        rm copy
        rate "$OD" exec --server "$url" --get "$dir/large" copy >>ours.get
        rm copy
    done
    row '1 GB by --put, MB/s; cat over loopback' "$(median ours.put rate)" \
        "$(median limit.copy rate)" ratio '>=' 0.8
    row '1 GB by --get, MB/s; cat over loopback' "$(median ours.get rate)" \
        "$(median limit.copy rate)" ratio '>=' 0.8
    stop_server
    rm large

    OD_API_KEY=key start_web --tls-cert "$dir/c/good.pem" --tls-key "$dir/c/good.key"
    export OD_CA=$dir/c/root.pem
    url=https://127.0.0.1:$port
    "$OD" exec --server "$url" true
    run 60 "$bin/pair" 50 "$OD" exec --server "$url" true -- true >true.https
    run 60 "$bin/kept" 500 "$OD" exec --server "$url" --new bash >kept.https
    # shellcheck source=tests/bench/groups/latency.sh
    . "$here/groups/latency.sh"
    : >true.ssh
    : >kept.ssh
    if start_sshd; then
        ssh -F "$dir/ssh_config" -M -S "$dir/control" -fN box
        run 60 "$bin/pair" 50 ssh -F "$dir/ssh_config" -S "$dir/control" box true -- true >true.ssh
        run 60 "$bin/kept" 500 ssh -F "$dir/ssh_config" -S "$dir/control" box bash >kept.ssh
        ssh -F "$dir/ssh_config" -S "$dir/control" -O exit box 2>/dev/null
        kill "$sshd"
        sshd=''
    fi
    row 'od exec true by HTTPS, us; ssh, ControlMaster' "$(median true.https ours)" \
        "$(median true.ssh ours)"
    row 'a line to a kept bash, us; ssh, ControlMaster' "$(median kept.https p50)" \
        "$(median kept.ssh p50)"
    stop_server
    unset OD_CA OD_SERVER_KEY
    rm -rf c
}
