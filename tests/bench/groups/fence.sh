# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by ../run.sh
#
# commands, starts, connections and requests within a fence, beside the same without one

group_fence() {
    local python=/usr/bin/python3 figure way
    printf 'write /\nreach a.test:8443 192.0.2.0/24 127.0.0.2:8443\nlisten 1-65535\nsecret TOKEN a.test:8443\n' >rules
    if ! [ -x "$python" ] || ! "$OD" fence explain rules >/dev/null 2>&1 || [ "$(id -u)" != 0 ] ||
        ! command -v openssl >/dev/null; then
        echo "fence: root, a kernel that enforces it, python3 and openssl are needed" >&2
        return
    fi
    sh "$root/tests/lib/certs.sh" "$dir/c" || return 1
    cat >world.py <<END
import sys, time
sys.path.insert(0, "$root/tests/lib")
from secret_host import Host
Host(("127.0.0.2", 8443), "$dir/c/good.pem", "$dir/c/good.key")
time.sleep(3600)
END
    printf '127.0.0.1 localhost\n127.0.0.2 a.test\n' >hosts
    cat >inside.sh <<'END'
ip link set lo up
mount --bind hosts /etc/hosts
python3 world.py &
export TOKEN=secret-0123456789abcdef SSL_CERT_FILE=$dir/c/root.pem
set +e
for way in with without; do
    fence=(--fence rules)
    [ $way = with ] || fence=()
    "$OD" serve --socket "$dir/$way.sock" --state-dir "$dir/$way" "${fence[@]}" --log error >"$way.log" 2>&1 &
done
for way in with without; do
    for _ in {1..200}; do
        timeout 10 "$OD" exec --socket "$dir/$way.sock" true 2>/dev/null </dev/null && break
        sleep 0.05
    done
done
x() { timeout 60 "$OD" exec --socket "$dir/$way.sock" "${@:2}" >>"$1.$way" 2>/dev/null </dev/null; }
for round in 1 2 3 4 5; do
    for way in with without; do
        begun=$(date +%s%N)
        for _ in {1..100}; do "$OD" exec --socket "$dir/$way.sock" true </dev/null; done
        echo "true $((($(date +%s%N) - begun) / 100000))" >>"true.$way"
        x spawn "$python $bench/fence.py spawn"
        x connect "$python $bench/fence.py connect"
        x bytes "$python $bench/fence.py bytes"
        x https "$python $bench/fence.py https a.test:8443"
    done
done
kill $(jobs -p)
END
    export OD dir python bench=$here
    timeout 400 unshare -n -m --propagation private bash inside.sh 2>inside.err || sed 's/^/# /' inside.err >&2
    row 'od exec true in a fence, us; without' "$(median true.with true)" \
        "$(median true.without true)" ratio '<=' 1.02
    row '  fork and exec of a program there, us' "$(median spawn.with spawn)" \
        "$(median spawn.without spawn)" ratio '<=' 1.05
    row '  connect to loopback and accept, us' "$(median connect.with connect)" \
        "$(median connect.without connect)" ratio '<=' 1.3
    row '  a connection on loopback, MB/s' "$(median bytes.with rate)" \
        "$(median bytes.without rate)" ratio '>=' 0.95
    row '  HTTPS with a secret put in, new, us' "$(median https.with opened)" \
        "$(median https.without opened)" ratio '<=' 2
    row '  the same by one connection, us' "$(median https.with kept)" \
        "$(median https.without kept)" ratio '<=' 2
    for figure in true spawn connect bytes https; do
        for way in with without; do rm -f "$figure.$way"; done
    done
}
