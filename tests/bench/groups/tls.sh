# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# handshakes, and 500 MB down by HTTPS; openssl s_server beside it

# handshakes PID PORT VERSION new|reuse: what three seconds of them cost the process.
handshakes() {
    local before count
    before=$(cut -d ' ' -f 1 "/proc/$1/schedstat")
    count=$(run 30 openssl s_time -connect "127.0.0.1:$2" "-$3" "-$4" -time 3 2>/dev/null |
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
            pull "https://127.0.0.1:$port/download_files?raw=true&path=$dir/large" >>ours.pull
            pull "https://127.0.0.1:$tport/large" >>limit.pull
        done
        stop_loops
        stop_server
        rm -f hold
    done
    row 'a session resumed, tls1_2, us of the server' "$(median ours.reuse cost)" \
        "$(median limit.reuse cost)"
    row '500 MB down, MB/s' "$(median ours.pull rate)" "$(median limit.pull rate)"
    rm -rf large c
}
