# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # sourced by ../run.sh
#
# the code interpreter: print(1) by /execute beside the action `cell`

group_interpreter() {
    local url native language spec PATH=/usr/sbin:/usr/bin:/sbin:/bin
    if [ ! -x /usr/bin/python3 ]; then
        echo '  the code interpreter: left out, python3 is not there'
        return
    fi
    "$OD" serve --log error --listen interpreter@127.0.0.1:0 --listen 127.0.0.1:0 \
        --ready-fd 7 >/dev/null 2>"$dir/log" </dev/null 7>ready &
    server=$!
    for _ in {1..200}; do
        grep -q '^ready' ready && break
        sleep 0.02
    done
    url=http://$(sed -n 's/^listening interpreter@//p' ready)
    native=http://$(sed -n 's/^listening \(1.*\)/\1/p' ready)
    for language in od-python3 python; do
        spec=$language
        if [ "$language" = python ]; then
            spec=python3
            /usr/bin/python3 -c 'import ipykernel' 2>/dev/null || continue
        fi
        run 120 /usr/bin/python3 "$here/interpreter.py" "$url" "$native" "$language" "$spec" >cells
        row "print(1) by /execute, $language, p50, ms; the action" \
            "$(median cells "$language-execute")" "$(median cells "$language-cell")" \
            ratio '<=' 1.2
    done
    stop_server
}
