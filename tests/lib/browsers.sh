# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Helpers for tests of browsers that stay, after tap.sh, session.sh and browser.sh:
#
#   see ARGUMENT...         od browse, at most 60 seconds; then $rc, and the bytes in out
#                           and err
#   shows NAME STATUS PATTERN ARGUMENT...
#                           a check: see, what it prints and its errors behind it
#   bg_see NAME ARGUMENT...  at the same time; ended NAME, said NAME as in session.sh,
#                           with the patience that a browser needs
#   list NAME MEMBER        of the browser of that name, as od browse --list has it
#   chromium NAME           the pid of its Chromium
#   $AT                     where the pages of browser.sh are
#   $SLOW                   where others are: /waitX comes when the file goX is there
#   asked PATH N            was it asked for so often?

# shellcheck disable=SC2034,SC2154 # for the test; of browser.sh
AT=http://127.0.0.1:$P

see() {
    timeout -k 5 60 "$OD" browse "$@" >out 2>err </dev/null
    rc=$?
}
shows() {
    shows_name=$1 shows_rc=$2 shows_like=$3
    shift 3
    see "$@"
    like "$shows_name" "$rc $(cat out err)" "$shows_rc $shows_like"
}
bg_see() {
    bg_name=$1
    shift
    rm -f "$bg_name.rc"
    {
        timeout -k 5 60 "$OD" browse "$@" >"$bg_name.out" 2>"$bg_name.err" </dev/null
        echo $? >"$bg_name.new"
        mv "$bg_name.new" "$bg_name.rc"
    } &
}
said() {
    wait_for 60 ended "$1" || echo "not ended"
    printf '%s %s\n' "$(cat "$1.rc")" "$(cat "$1.out")"
}
list() {
    "$OD" browse --list --json 2>/dev/null | python3 -c '
import json, sys
for b in json.load(sys.stdin):
    if b["name"] == sys.argv[1]:
        print(b[sys.argv[2]])' "$1" "$2"
}
# A distribution may start it by a script.
chromium() {
    chromium_pid=$(pgrep -n -P "$(list "$1" pid)")
    case $(tr '\0' ' ' <"/proc/$chromium_pid/cmdline") in
    */sh\ * | sh\ *) chromium_pid=$(pgrep -o -P "$chromium_pid") ;;
    esac
    echo "$chromium_pid"
}
asked() { [ "$(grep -c "$1" requests)" -ge "$2" ]; }

cat >slow.py <<'END'
import http.server, os, sys, time

class Slow(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        with open("requests", "a") as f:
            f.write(self.path + "\n")
        end = time.time() + 60
        while self.path.startswith("/wait") and not os.path.exists("go" + self.path[5:]):
            if time.time() > end:
                return
            time.sleep(0.01)
        body = b"<title>slow</title><p>It came " + self.path.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
print(server.server_address[1], flush=True)
server.serve_forever()
END
: >requests
python3 slow.py >slow.port &
at_end "kill $!"
wait_for 30 test -s slow.port
SLOW=http://127.0.0.1:$(cat slow.port)
