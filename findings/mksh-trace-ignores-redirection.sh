#!/bin/sh
# SPDX-License-Identifier: MIT
#
# mksh writes the trace of set -x to the standard error of the moment when the trace was
# turned on: `{ set +x; } 2>/dev/null`, by which scripts turn it off unseen, shows all of it.
#
# Guess:  the trace goes to descriptor 2 as it is when a command runs, so a group with
#         2>/dev/null around it is not traced, as in dash, busybox, ksh93 and bash.
# Seen:   mksh R59: `+ 2>/dev/null` for the redirection itself, then each command within.
#         dash 0.5.12, busybox 1.35 and bash 5.2 print nothing of the group; ksh93u+m
#         prints the redirection only.
# Why:    mksh keeps a copy of descriptor 2 for the trace (shl_xtrace).
# Why it matters: code that is to run unseen in a shell with set -x cannot rely on 2>/dev/null;
#         in mksh its output has to be cut from what the terminal shows.
# Needs:  apt-get, dpkg. Fails if the behaviour changes.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir" # apt-get downloads as another user
cd "$dir"
apt-get -qq download mksh=59c-28+deb12u1 dash=0.5.12-2
for package in *.deb; do
    dpkg -x "$package" root
done
traced() {
    "root/bin/$1" -c 'set -x; { :; set +x; } 2>/dev/null' 2>&1 | wc -l
}
echo "RESULT lines of the trace: dash $(traced dash), mksh $(traced mksh)"
[ "$(traced dash)" -eq 0 ]
[ "$(traced mksh)" -eq 3 ]
