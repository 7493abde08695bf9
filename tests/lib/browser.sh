# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# For tests of the browser, after tap.sh: pages are served until the test ends.
#
#   $P                               the port, of 127.0.0.1
#   sees NAME PATTERN PAGE [ACTIONS]     the tree and what was said on standard error
#   refuses NAME PATTERN PAGE ACTIONS    the same, and the status is 1

mkfifo stay
/usr/bin/env python3 "$ROOT/tests/browser/pages.py" <stay >port &
exec 9>stay
wait_for 30 test -s port
P=$(cat port)
sees() {
    "$OD" browse --tree=full ${4:+--actions "$4"} "http://127.0.0.1:$P$3" >out 2>err </dev/null
    sees_rc=$?
    like "$1" "$(cat out err)" "$2"
}
refuses() {
    sees "$@"
    is "$1: status" "$sees_rc" 1
}
