#!/bin/sh
# SPDX-License-Identifier: MIT
#
# serve.sh EMULATOR OD: a server of another processor's, its worker, its shells and its
# clients, in the folder $T; prints what they answer. To be run in namespaces of users,
# mounts and processes of its own: the kernel is told there, and only there, to run such
# files with the emulator. P and O of the flags: their own argv[0], and as descriptors.
# shellcheck disable=SC2016 # text for the inner shell
set -u
emulator=$1 od=$2
cd "$T" || exit 1
binfmt=/proc/sys/fs/binfmt_misc
mount -t binfmt_misc none $binfmt || exit 1
# Programs (2) and position-independent ones (3), in the order of the processor's bytes.
bytes() { od -An -v -tx1 "-j$1" "-N$2" "$od" | tr -d '\n' | sed 's/ /\\x/g'; }
ones='\xff\xff\xff\xff\xff\xff\xff'
case $(bytes 5 1) in
*01) type='\x02\x00' mask='\xfe\xff' ;;
*) type='\x00\x02' mask='\xff\xfe' ;;
esac
zeros='\x00\x00\x00\x00\x00\x00\x00\x00\x00'
printf '%s' ":od-test:M::$(bytes 0 7)$zeros$type$(bytes 18 2):$ones\\x00$ones\\xff$mask\\xff\\xff:$emulator:POF" \
    >$binfmt/register || exit 1

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
