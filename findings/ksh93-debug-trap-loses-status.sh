#!/bin/sh
# SPDX-License-Identifier: MIT
#
# With a trap on DEBUG, ksh93 forgets $? where a function, an eval or a group with a
# redirection begins, even if the trap does nothing.
#
# Guess:  a trap leaves $? as it is, as the one on DEBUG does in bash, and as it does in
#         ksh93 in front of a simple command, a case and an assignment.
# Seen:   ksh93u+m 1.0.4: after `false`, $? is 0 as the first thing in a function, in an eval
#         and in `{ …; } 2>/dev/null`; without the trap, and in bash 5.2 with it, it is 1.
# Why it matters: a program that adds code to a person's shell (a prompt, a recorder, a server
#         of sessions) reads the status of the last command in a function. It has to store it
#         by an assignment first: `status=$?; hook`.
# Needs:  apt-get, dpkg, bash. Fails if the behaviour changes.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir" # apt-get downloads as another user
cd "$dir"
apt-get -qq download ksh93u+m=1.0.4-3
dpkg -x ./*.deb root
cat >probe <<'END'
function hook { printf '%s ' "$?"; }
false
hook
false
eval 'printf "%s " "$?"'
false
{ printf '%s ' "$?"; } 2>/dev/null
false
case $? in 1) printf 'kept ';; *) printf 'lost ';; esac
false
printf '%s\n' "$?"
END
(echo "trap : DEBUG" && cat probe) >trapped
ksh=root/bin/ksh93
[ -x "$ksh" ] || ksh=root/usr/bin/ksh93
echo "RESULT function, eval, group, case, command: ksh93 $("$ksh" probe)," \
    "with a trap $("$ksh" trapped), bash with a trap $(bash trapped)"
[ "$("$ksh" probe)" = '1 1 1 kept 1' ]
[ "$("$ksh" trapped)" = '0 0 0 kept 1' ]
[ "$(bash trapped)" = '1 1 1 kept 1' ]
