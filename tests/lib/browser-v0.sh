# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Helpers for tests of V0's browser, after tap.sh, session.sh, browser.sh, browsers.sh:
#
#   begin OPTION...         a server, $V0 is its address; its folder is $T/ws
#   act ACTION ARGS-AS-JSON [MEMBERS]   then $T/answer, and its status in $http
#   member NAME...          of the answer, as Python prints it
#   content, of_tree        its content, and the tree in there
#   bid TEXT                of the first line of the tree that has it

# shellcheck disable=SC2034 # for the test
begin() { # OPTION...
    rm -f ready
    "$OD" serve --listen 127.0.0.1:0 --ready-fd 7 --working-dir "$T/ws" "$@" >log 2>&1 7>ready &
    KEEPER=$!
    at_end "kill $KEEPER"
    wait_for 30 grep -qs '^ready' ready || note "$(cat log)"
    V0=http://$(sed -n 's/^listening //p' ready)
}
mkdir ws
act() {
    http=$(curl -s -m 150 --retry 20 --retry-all-errors --retry-delay 1 -o answer \
        -w '%{http_code}' -H 'Content-Type: application/json' \
        -d "{\"action\": {\"action\": \"$1\", \"args\": $2${3-}}}" "$V0/execute_action")
}
member() {
    python3 -c 'import json, sys
j = json.load(open("answer"))
for name in sys.argv[1:]:
    j = j[name]
print(j)' "$@"
}
content() { member content; }
of_tree() { content | sed -n '/BEGIN accessibility/,/END accessibility/p'; }
bid() { of_tree | grep -m1 -- "$1" | sed 's/^[[:space:]]*\[\([0-9a-z]*\)\].*/\1/'; }
