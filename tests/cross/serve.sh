#!/bin/sh
# SPDX-License-Identifier: MIT
#
# serve.sh OD: a server of another processor's, its worker, its shells and its clients, in the
# folder $T; prints what they answer. To be run by binfmt.sh.
# shellcheck disable=SC2016 # text for the inner shell
set -u
od=$1
cd "$T" || exit 1

ex() { timeout -k 5 60 "$od" exec "$@" </dev/null; }
"$od" serve --listen "unix:$T/http" >log 2>&1 &
server=$!
left=1200
until [ -S "$OD_SOCKET" ] && [ -S http ]; do
    left=$((left - 1))
    [ $left -gt 0 ] && kill -0 $server || exit 1
    sleep 0.05
done
ex 'cd /; v=kept; echo $((6 * 7)); (exit 3)'
echo "status $?"
ex 'echo $v $PWD; tty >/dev/null && echo terminal'
ex --new sh -c 'echo out; echo err >&2; exit 4' 2>/dev/null
echo "status $?"
curl -s --unix-socket http http://localhost/alive
echo
curl -s --unix-socket http -H 'Content-Type: application/json' http://localhost/execute_action \
    -d '{"action":{"action":"run","args":{"command":"echo by HTTP"}}}' |
    grep -o '"content": "by HTTP"'
ex --stop
wait $server
echo "ended $?"
