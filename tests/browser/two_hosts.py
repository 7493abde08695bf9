# SPDX-License-Identifier: MIT
"""Pages at 127.0.0.3, and at 127.0.0.1 what nobody is to come to: each connection and
each datagram there is a line of the file `came`. The two ports, of TCP, are printed; it
serves until its input ends."""

import http.server
import socket
import sys
import threading

HELD = threading.Event()
STRANGER = b"""<!doctype html><title>Stranger</title><h1>Stranger</h1><pre id=o></pre>
<link rel=preconnect href="http://localhost:SHUT"><img src="http://127.0.0.1:SHUT/img">
<img src="http://localhost:SHUT/img"><iframe src="http://a.localhost:SHUT/frame"></iframe>
<link rel=stylesheet href="http://2130706433:SHUT/css"><script>
const tries = [];
const tell = (what, promise) => tries.push(promise.then(() => 'got', () => 'failed')
    .then(how => o.textContent += what + ' ' + how + '\\n'));
const opened = s => new Promise((yes, no) => { s.onopen = yes; s.onerror = no });
tell('fetch', fetch('http://127.0.0.1:SHUT/fetch', {mode: 'no-cors'}));
tell('another-form', fetch('http://2130706433:SHUT/fetch', {mode: 'no-cors'}));
tell('v6', fetch('http://[::ffff:127.0.0.1]:SHUT/fetch', {mode: 'no-cors'}));
tell('any', fetch('http://0.0.0.0:SHUT/fetch', {mode: 'no-cors'}));
tell('redirect', fetch('/to-shut', {mode: 'no-cors'}));
tell('socket', opened(new WebSocket('ws://127.0.0.1:SHUT/socket')));
tell('named-socket', opened(new WebSocket('ws://localhost:SHUT/socket')));
tell('events', opened(new EventSource('http://localhost:SHUT/events')));
tell('own', fetch('/two'));
navigator.sendBeacon('http://127.0.0.1:SHUT/beacon', 'x');
const peer = new RTCPeerConnection({iceServers: [{urls: ['stun:127.0.0.1:SHUT',
    'turn:127.0.0.1:SHUT?transport=udp', 'turn:127.0.0.1:SHUT?transport=tcp'],
    username: 'a', credential: 'b'}]});
peer.createDataChannel('x');
peer.createOffer().then(d => peer.setLocalDescription(d));
Promise.all(tries).then(() => fetch('/let-go'));
</script><img src="/held">"""


class Pages(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        body, status = b"<!doctype html><title>Here</title><p>Page " + self.path.encode(), 200
        if self.path == "/stranger":
            body = STRANGER.replace(b"SHUT", str(shut).encode())
        elif self.path == "/held":  # until all that the page tries has an end
            HELD.wait(60)
        elif self.path == "/let-go":
            HELD.set()
        elif self.path.startswith("/never"):
            came("asked for " + self.path)
            threading.Event().wait(90)
        elif self.path == "/to-shut":
            status = 302
        self.send_response(status)
        if status == 302:
            self.send_header("Location", f"http://localhost:{shut}/there")
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def came(what):
    with open("came", "a", encoding="ascii") as f:
        f.write(what + "\n")


def take_connections():
    while True:
        peer, _ = tcp.accept()
        came("a connection")
        peer.close()


def take_datagrams():
    while True:
        udp.recvfrom(2000)
        came("a datagram")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


pages = Server(("127.0.0.3", 0), Pages)
while True:
    tcp = socket.create_server(("127.0.0.1", 0))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    shut = tcp.getsockname()[1]
    try:
        udp.bind(("127.0.0.1", shut))
        break
    except OSError:
        tcp.close()
for work in pages.serve_forever, take_connections, take_datagrams:
    threading.Thread(target=work, daemon=True).start()
sys.stdout.write(f"{pages.server_address[1]} {shut}\n")
sys.stdout.flush()
sys.stdin.read()
