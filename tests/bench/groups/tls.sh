# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# handshakes, and 500 MB down and up by HTTPS; openssl s_server beside it

# spent PID: its processor time in microseconds.
spent() { echo $(($(cut -d ' ' -f 1 "/proc/$1/schedstat") / 1000)); }

# handshakes PID PORT VERSION new|reuse: what three seconds of them cost the process.
handshakes() {
    local before count
    before=$(spent "$1")
    count=$(run 30 openssl s_time -connect "127.0.0.1:$2" "-$3" "-$4" -time 3 2>/dev/null |
        sed -n 's/^\([0-9]*\) connections in .* real seconds.*/\1/p')
    echo "cost $((($(spent "$1") - before) / ${count:-1}))"
    echo "rate $((${count:-0} / 3))"
}

# transfer PID OPTION... ADDRESS: of a file, in MB/s, and what it costs the process in ms.
transfer() {
    local before
    before=$(spent "$1")
    curl -sk --max-time 60 -o /dev/null -H Expect: -w '%{speed_download} %{speed_upload}\n' \
        "${@:2}" | awk '{ print "rate", int(($1 > $2 ? $1 : $2) / 1000000) }'
    echo "cost $((($(spent "$1") - before) / 1000))"
}

# listen NAME KIND OPTION...: a server of openssl's that reads from the fifo NAME.in and writes
# to NAME.out; sets theirs, its process, and tport.
listen() {
    local name=$1 kind=$2
    shift 2
    rm -f "$name.in"
    mkfifo "$name.in"
    : >"$name.out" # no port of the previous one
    # shellcheck disable=SC2094 # held open by itself
    openssl s_server -accept 127.0.0.1:0 -cert "c/$kind.one" -key "c/$kind.key" \
        -cert_chain c/middle.pem "$@" <>"$name.in" >"$name.out" 2>"$name.log" &
    theirs=$!
    loops+=("$theirs")
    for _ in {1..200}; do
        tport=$(sed -n 's/^ACCEPT .*://p' "$name.out" | head -n 1)
        [ -n "$tport" ] && return
        sleep 0.05
    done
    echo "openssl s_server did not start" >&2
    exit 1
}

# take: answers the upload when all of it is in sink.out.
take() {
    for _ in {1..3000}; do
        [ "$(stat -c %s sink.out)" -ge 500000000 ] && break
        sleep 0.02
    done
    printf 'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n' >sink.in
}

group_tls() {
    local theirs tport kind version way
    command -v openssl curl >/dev/null || {
        echo "tls: openssl and curl are needed" >&2
        return
    }
    sh "$root/tests/lib/certs.sh" "$dir/c" || return 1
    head -c 500000000 /dev/zero >large
    for kind in good rsa; do
        start_web --tls-cert "$dir/c/$kind.pem" --tls-key "$dir/c/$kind.key"
        split
        listen files $kind -WWW
        for version in tls1_2 tls1_3; do
            for _ in 1 2 3; do
                handshakes "$worker" "$port" $version new >>ours.$kind$version
                handshakes "$theirs" "$tport" $version new >>limit.$kind$version
            done
            row "a handshake, $version, ${kind/good/EC}, us of the server" \
                "$(median ours.$kind$version cost)" "$(median limit.$kind$version cost)"
            row '  a second, one after the other' \
                "$(median ours.$kind$version rate)" "$(median limit.$kind$version rate)"
        done
        # With 1.3 s_time ends a connection before it has read the ticket.
        for _ in 1 2 3; do
            handshakes "$worker" "$port" tls1_2 reuse >>ours.reuse
            handshakes "$theirs" "$tport" tls1_2 reuse >>limit.reuse
            transfer "$worker" \
                "https://127.0.0.1:$port/download_files?raw=true&path=$dir/large" >>ours.down
            transfer "$theirs" "https://127.0.0.1:$tport/large" >>limit.down
        done
        for _ in 1 2 3; do
            transfer "$worker" -F file=@large \
                "https://127.0.0.1:$port/upload_file?destination=$dir/up" >>ours.up
            rm -rf up
            listen sink $kind
            take &
            transfer "$theirs" -T large "https://127.0.0.1:$tport/" >>limit.up
            wait $!
        done
        stop_loops
        stop_server
    done
    row 'a session resumed, tls1_2, us of the server' "$(median ours.reuse cost)" \
        "$(median limit.reuse cost)"
    for way in down up; do
        row "500 MB $way, MB/s" "$(median ours.$way rate)" "$(median limit.$way rate)" \
            ratio '>=' 0.8
        row '  ms of the server' "$(median ours.$way cost)" "$(median limit.$way cost)"
    done
    rm -rf large sink.out c
}
