# SPDX-License-Identifier: MIT
"""client_ts.py FOLDER: client.ts in FOLDER, compiled, and used by client_ts.mjs."""
import http.server
import json
import os
import shutil
import ssl
import subprocess
import sys
import threading
import urllib.parse

from client_peers import Liar, Proxy, http as answer
from client_rows import KEY, LIES, ROOT, web
from events_client import own_user
from tap import Tap
from v0_server import Server

FOLDER = sys.argv[1]
STRICT = ["--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes",
          "--erasableSyntaxOnly", "--noUnusedLocals", "--noUnusedParameters", "--noImplicitReturns",
          "--isolatedModules", "--target", "es2022", "--module", "nodenext",
          "--moduleResolution", "nodenext", "--lib", "es2022,dom,dom.iterable"]

SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def long_event():
    yield SSE + b"data: "
    while True:
        yield b"x" * 65536


STREAMS = [
    ("another type of stream", answer("{}"), "PROTOCOL"),
    ("an event that is not JSON", SSE + b"data: x\n\n", "PROTOCOL"),
    ("an id of another type", SSE + b'data: {"id":"1"}\n\n', "PROTOCOL"),
    ("missing events", SSE + b'data: {"id":7}\n\n', "PROTOCOL"),
    ("a delta without offsets", SSE + b'data: {"observation":"delta","cause":1}\n\n', "PROTOCOL"),
    ("an event that does not end", long_event, "PROTOCOL"),
    ("a stream that ends", SSE, "LOST"),
]
# fetch has its own words for what is not HTTP at all: it is a lost connection.
LOW = {"not HTTP", "a wrong status", "a wrong length", "a wrong coding", "a wrong chunk",
       "a chunk that is longer", "a head without colons", "a head that does not end", "nothing",
       "a body that is cut"}
TOLD = [(name, lie, code, False) for name, lie, code in LIES if name not in LOW]
TOLD += [(name, lie, code, True) for name, lie, code in STREAMS if code != "LOST"]


class Control(http.server.BaseHTTPRequestHandler):
    """What the program in the other language has done to the server and the network."""

    def do_GET(self):
        path, _, query = self.path.partition("?")
        words = urllib.parse.unquote(query)
        body = str(getattr(self, "do" + path.replace("/", "_"))(self.server.box, words) or "").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_kill(self, box, _):
        box.kill_worker()

    def do_plan(self, box, words):
        box.proxy.plan.clear()
        box.proxy.cut()
        box.proxy.count = 0
        box.proxy.plan[:] = [tuple(each) for each in json.loads(words)]

    def do_count(self, box, _):
        return box.proxy.count

    def do_lies(self, _box, _words):
        return json.dumps([(f"{int(stream)} {name}", code, stream)
                           for name, _, code, stream in TOLD])

    def do_liar(self, _box, words):
        lie, = [lie for name, lie, _, stream in TOLD if f"{int(stream)} {name}" == words]
        return Liar(lambda head: lie() if callable(lie) else lie).url

    def do_tls(self, box, _):
        return box.tls.url if box.tls else ""

    def log_message(self, *_):
        pass


def tls_proxy(server):
    if not shutil.which("openssl"):
        return None
    certs = os.path.join(server.root, "certs")
    subprocess.run(["sh", os.path.join(ROOT, "tests/lib/certs.sh"), certs], check=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(f"{certs}/good.pem", f"{certs}/good.key")
    return Proxy(server.port, context)


def drive(tap, name, words):
    """One program with a server of its own; its rows become ours."""
    server = Server(own_user(), {"SESSION_API_KEY": KEY}, KEY, more=("--enable-browser",))
    server.proxy, server.tls = Proxy(server.port), tls_proxy(server)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Control) as control, web() as page:
        control.box = server
        threading.Thread(target=control.serve_forever, daemon=True).start()
        done = None
        try:
            done = subprocess.Popen(
                [*words, server.proxy.url, KEY, f"http://127.0.0.1:{control.server_port}",
                 server.dir, page], stdout=subprocess.PIPE, text=True)
            rows = 0
            for line in done.stdout:
                verdict, row = line.rstrip().split(" ", 1)
                fine = verdict == "ok"
                tap.line(fine, f"{name}: {row if fine else row.partition(':')[0]}",
                         [] if fine else [row, *server.logged().splitlines()[-10:]])
                rows += 1
            tap.line(done.wait() == 0 and rows >= 7, f"{name}: to its end")
            server.stop()
        finally:
            if done:
                done.kill()
            control.shutdown()
            server.proxy.close()
            server.kill()
            server.remove()


def main():
    tap = Tap()
    done = subprocess.run(["tsc", *STRICT, "client.ts"], cwd=FOLDER, capture_output=True, text=True)
    tap.line(done.returncode == 0, "tsc --strict accepts it", done.stdout.splitlines()[:20])
    script = os.path.join(ROOT, "tests/compat/client_ts.mjs")
    drive(tap, "node", ["node", script, f"{FOLDER}/client.js"])
    for program, words in (("deno", ["deno", "run", "-A"]), ("bun", ["bun"])):
        if shutil.which(program):
            drive(tap, program, [*words, script, f"{FOLDER}/client.ts"])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
