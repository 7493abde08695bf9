# SPDX-License-Identifier: MIT
"""Every route, method, header and key, on every listener: who is answered, and that
nothing happens for anybody else.

The routes are those that `od serve --routes` lists, which are the tables of the server,
so a new one is in here by itself. What is expected follows from a route's `key` and
`right`, and from what the request has. access_matrix.py has the other front-ends.
A request that is let in by mistake would leave a file in a folder;
with the right key it leaves one, which is checked too.
"""
import atexit
import base64
import collections
import io
import json
import os
import secrets
import select
import shutil
import socket
import ssl
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import traceback
import urllib.parse

from tap import LIMIT, Tap, at_end, holds, last_words, same, show_log, wait_for

T, OD = os.environ["T"], os.environ["OD"]
GOOD = secrets.token_hex(16)
OTHER_UID = 4711

# Those that name the scheme of their key to who has none or a wrong one (RFC 6750 3).
CHALLENGE = ("/mcp", "/devtools/")

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT",
           "FOO", "get")
# A request's chance to be let in by its key; a query goes behind the path.
KEYS = {
    "none": ("missing", [], ""),
    "empty": ("wrong", ["X-Session-API-Key:"], ""),
    "bad": ("wrong", ["X-Session-API-Key: bad"], ""),
    "cut": ("wrong", ["X-Session-API-Key: " + GOOD[:-1]], ""),
    "longer": ("wrong", ["X-Session-API-Key: " + GOOD + "x"], ""),
    "upper": ("wrong", ["X-Session-API-Key: " + GOOD.upper() + "X"], ""),
    "list": ("wrong", [f"X-Session-API-Key: {GOOD}, {GOOD}"], ""),
    "bearer bad": ("wrong", ["Authorization: Bearer bad"], ""),
    "bad, bearer good": ("right", ["X-Session-API-Key: bad", f"Authorization: Bearer {GOOD}"], ""),
    "basic": ("missing", [f"Authorization: Basic {GOOD}"], ""),
    "bare": ("missing", [f"Authorization: {GOOD}"], ""),
    "other names": ("missing", [f"X-API-Key: {GOOD}", f"X_Session_API_Key: {GOOD}",
                                f"Proxy-Authorization: Bearer {GOOD}"], ""),
    "cookie": ("missing", [f"Cookie: api_key={GOOD}; X-Session-API-Key={GOOD}"], ""),
    "query": ("missing", [], f"api_key={GOOD}&X-Session-API-Key={GOOD}&key={GOOD}"),
    "doubled": ("doubled", [f"X-Session-API-Key: {GOOD}"] * 2, ""),
    "good and bad": ("doubled", [f"X-Session-API-Key: {GOOD}", "X-Session-API-Key: bad"], ""),
    "bad and good": ("doubled", ["x-session-api-key: bad", f"X-Session-API-Key: {GOOD}"], ""),
    "bearer doubled": ("doubled", [f"Authorization: Bearer {GOOD}"] * 2, ""),
    "good": ("right", [f"X-Session-API-Key: {GOOD}"], ""),
    "other case": ("right", [f"x-SESSION-api-key:{GOOD}"], ""),
    "bearer": ("right", [f"Authorization: bearer  {GOOD}"], ""),
    "good, bearer bad": ("right", [f"X-Session-API-Key: {GOOD}", "Authorization: Bearer bad"], ""),
}
HANDSHAKE = ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
             "Sec-WebSocket-Protocol: od.events.v1, od.terminal.v1, od.screen.v1"]
UPGRADE = ["Upgrade: websocket", "Connection: Upgrade"]
# Fields beside the key; whether they open a WebSocket, by halves, or not.
HEADERS = {
    "none": ("no", []),
    "upgrade alone": ("half", ["Upgrade: websocket"]),
    "connection alone": ("no", ["Connection: Upgrade"]),
    "upgrade": ("asks", UPGRADE),
    "handshake": ("whole", UPGRADE + HANDSHAKE),
    "other case": ("whole", ["upgrade: WebSocket", "connection: keep-alive, upgrade"] + HANDSHAKE),
    "of several": ("whole", ["Upgrade: h2c, websocket", "Connection: Upgrade"] + HANDSHAKE),
    "the second": ("no", ["Upgrade: h2c", "Upgrade: websocket", "Connection: Upgrade"] + HANDSHAKE),
    "origin": ("no", ["Origin: http://evil.example", "Sec-Fetch-Site: cross-site"]),
    "origin, handshake": ("whole", ["Origin: http://evil.example"] + UPGRADE + HANDSHAKE),
    "host": ("no", ["Host: evil.example"]),
    "proxies": ("no", ["X-HTTP-Method-Override: POST", "X-Original-URL: /alive",
                       "X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1"]),
}
# On listeners but the first, and with more than a few keys: what may make a difference.
FEWER_METHODS = ("GET", "HEAD", "POST", "PUT", "OPTIONS", "FOO")
FEWER_HEADERS = ("none", "upgrade alone", "handshake", "origin")
FEWER_KEYS = ("none", "bad", "query", "doubled", "good")
# The same paths as others write them.
SPELLINGS = (lambda p: "http://127.0.0.1" + p, lambda p: "/" + p, lambda p: p + "/",
             lambda p: "/." + p, lambda p: "/alive/.." + p, lambda p: p + "?open=1",
             lambda p: p + "%00", lambda p: "".join(f"%{ord(c):02x}" if c != "/" else c for c in p),
             lambda p: p.upper(), lambda p: p + ";x", lambda p: "/%2e%2e" + p)
# Messages before the one with the key.
MESSAGES = ('{"api_key":"bad"}', '{"api_key":""}', '{"api_key":["%s"]}' % GOOD, '{"api_key":null}',
            '{"action":"run","args":{"command":"touch %s"}}', '{"since":0}', '{"ack":1}', "x", "[]",
            '["api_key"]', '{"API_KEY":"%s"}' % GOOD, GOOD, '{"token":"%s"}' % GOOD)


def tar_of(name):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    return data.getvalue()


def path_and_body(route, folder, name):
    """What would make folder/name, as far as the route can; else any action."""
    at = os.path.join(folder, name)
    run = {"action": "run", "args": {"command": f"touch {at}"}}
    form = (f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
            "x\r\n--b--\r\n")
    known = {
        "/execute_action": ("", json.dumps({"action": run})),
        "/upload_file": (f"?destination={folder}", form),
        "/files/{verb}": ("", json.dumps({"path": at})),
        "/files/extract": (f"?to={folder}&format=tar", tar_of(name)),
        "/skills/{name}": ("", json.dumps({"filename": at})),
        "/files/archive": (f"?path={T}/c&format=tar", b""),
        "/files/stat": (f"?path={T}/c", b""),
        "/files/list": (f"?path={T}/c", b""),
        "/download_files": (f"?path={T}/c", b""),
        "/view": (f"?path={T}/picture.png", b""),
    }
    query, body = known.get(route, ("", json.dumps(run)))
    path = route.replace("{verb}", "mkdir").replace("{name}", "create_file")
    path = path.replace("{", "").replace("}", "").replace("*", "x")
    return path, query, body if isinstance(body, bytes) else body.encode()


# What can leave a file.
MAKES = {"/events": "POST", "/execute_action": "POST", "/upload_file": "POST",
         "/files/{verb}": "POST", "/files/extract": "PUT", "/skills/{name}": "POST"}


# --- a server and its listeners


class Server:
    def __init__(self, *options, key=None):
        self.root = tempfile.mkdtemp(dir=T)
        self.marks, self.did = os.path.join(self.root, "no"), os.path.join(self.root, "yes")
        for folder in (self.marks, self.did, "run", "tmp", "work"):
            os.mkdir(os.path.join(self.root, folder), 0o700 if folder == "run" else 0o755)
        env = {**os.environ, "TMPDIR": self.root + "/tmp", "OD_SOCKET": self.root + "/run/sock",
               "OD_STATE_DIR": self.root + "/run/state", "XDG_RUNTIME_DIR": self.root + "/run"}
        env.pop("SESSION_API_KEY", None)
        if key:
            env["SESSION_API_KEY"] = key
        os.chmod(self.root, 0o755)
        # Appended to: the server shares the position that logged() moves.
        self.log = open(self.root + "/log", "a+b")
        show_log(self.root + "/log")
        get, put = os.pipe()
        self.path, self.name = self.root + "/run/http", f"od-test-{os.getpid()}-{id(self)}"
        words = [OD, "serve", "0", "--ui", *options, "--listen", "http://127.0.0.1:0", "--listen",
                 "unix:" + self.path, "--listen", "@" + self.name, "--ready-fd", str(put),
                 "--tls-cert", T + "/c/good.pem", "--tls-key", T + "/c/good.key"]
        self.process = subprocess.Popen(words, env=env, cwd=self.root + "/work", pass_fds=[put],
                                        stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log, start_new_session=True)
        at_end(self.kill)
        atexit.register(self.kill)
        os.close(put)
        self.ports = {}
        self.ready(get)
        os.close(get)
        url = self.root + "/tmp/oh-server-url"
        wait_for(lambda: os.path.exists(url), "there is a file viewer")
        with open(url, encoding="ascii") as file:
            self.ports["viewer"] = int(file.read().rpartition(":")[2])

    def ready(self, pipe):
        said = b""
        while b"ready" not in said.split(b"\n"):
            holds(select.select([pipe], [], [], LIMIT)[0], said, self.logged())
            more = os.read(pipe, 4096)
            holds(more, said, self.logged())
            said += more
        for line in said.decode().split("\n"):
            kind, _, address = line.partition(" ")
            if kind == "listening" and ":" in address and address[:4] != "unix":
                secure = address.startswith("https://")
                self.ports["https" if secure else "tcp"] = int(address.rpartition(":")[2])
        same(sorted(self.ports), ["https", "tcp"])

    def connect(self, kind):
        if kind == "unix":
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(LIMIT)
            s.connect(self.path)
        elif kind == "abstract":
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(LIMIT)
            s.connect("\0" + self.name)
        else:
            s = socket.create_connection(("127.0.0.1", self.ports[kind]), LIMIT)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if kind == "https":
            s = TLS.wrap_socket(s, server_hostname="a.test")
        return s

    def logged(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def kill(self):
        if self.process.poll() is None:
            last_words(self.root, self.logged())
            self.process.kill()

    def stop(self):
        """Ends it, and looks at what it had to say."""
        self.process.terminate()
        self.process.wait(LIMIT)
        said = self.logged().partition("ERROR: LeakSanitizer")[0]
        for word in ("Sanitizer", "runtime error", "BUG"):
            holds(word not in said, said)
        shutil.rmtree(self.root, ignore_errors=True)


TLS = ssl.create_default_context(cafile=T + "/c/root.pem")
Answer = collections.namedtuple("Answer", "status fields body")


class Client:
    """One kept connection, and another when that has ended."""

    def __init__(self, server, kind):
        self.server, self.kind, self.socket, self.file = server, kind, None, None

    def close(self):
        if self.socket:
            self.file.close()
            self.socket.close()
        self.socket = None

    def ask(self, method, target, lines=(), body=b""):
        for last in (False, True):
            fresh = not self.socket
            if fresh:
                self.socket = self.server.connect(self.kind)
                self.file = self.socket.makefile("rb")
            fields = list(lines)
            if not any(line.lower().startswith("host:") for line in fields):
                fields.insert(0, "Host: localhost")
            if body:
                fields.append(f"Content-Length: {len(body)}")
            if target.startswith("/upload_file"):
                fields.append("Content-Type: multipart/form-data; boundary=b")
            head = f"{method} {target} HTTP/1.1\r\n" + "".join(f + "\r\n" for f in fields) + "\r\n"
            try:
                self.socket.sendall(head.encode() + body)
                answer = self.answer(method)
                if answer:
                    return answer
            except (ConnectionError, ssl.SSLError):
                pass
            self.close()
            holds(not fresh and not last, "no answer", method, target, lines)
        return None

    def answer(self, method):
        line = self.file.readline()
        if not line:
            return None
        status, fields, body = int(line.split()[1]), {}, b""
        while (line := self.file.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            fields[name.lower()] = value.strip()
        if status == 101:
            return Answer(status, fields, body)
        if "chunked" in fields.get("transfer-encoding", "") and method != "HEAD":
            while n := int(self.file.readline(), 16):
                body += self.file.read(n)
                self.file.readline()
            self.file.readline()
        elif method != "HEAD":
            body = self.file.read(int(fields.get("content-length", "0")))
        if "close" in fields.get("connection", "").lower():
            self.close()
        return Answer(status, fields, body)

    def say(self, text):
        """One message of a WebSocket that was opened."""
        data, mask = text.encode(), b"\x01\x02\x03\x04"
        masked = bytes(b ^ mask[i % 4] for i, b in enumerate(data))
        size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
        self.socket.sendall(b"\x81" + size + mask + masked)

    def frame(self):
        """(opcode, payload); (8, b"") if the connection ended."""
        head = self.file.read(2)
        if len(head) < 2:
            return 8, b""
        n = head[1] & 127
        if n > 125:
            n = int.from_bytes(self.file.read(2 if n == 126 else 8), "big")
        return head[0] & 15, self.file.read(n)


# --- what is expected


def expected(method, key, upgrade, known, rights, kind, foreign=False):
    """The statuses that may be, and whether it is let in. key: as in KEYS. known, rights: the
    methods of the path's routes with their needs. kind: of the listener."""
    need = known.get(method)
    if key == "at unix":
        key = "right" if kind == "unix" else "wrong"
    if upgrade != "no" and method != "GET":
        return (400, 501), False  # 501: a method that no parser takes
    if key == "doubled":
        return (400,), False
    if key == "right" or need == "none" or (key == "view" and rights.get(method) == "view"):
        return None, True
    if key == "wrong":
        return (403, 429), False
    if need == "body" and key == "missing":
        return (400, 401), False  # its handler looks for the key in the body
    if need == "message" and method == "GET" and upgrade in ("asks", "whole") and not foreign:
        return ((101,) if upgrade == "whole" else (400, 426)), False
    return (403,), False


class Cells:
    """Asks, counts, and keeps what was not as expected."""

    def __init__(self, server):
        self.server, self.lock = server, threading.Lock()
        self.count, self.wrong = collections.Counter(), []
        self.limited = collections.Counter()
        self.begun = time.monotonic()

    def note(self, kind, fine, *about):
        with self.lock:
            self.count[kind] += 1
            if not fine:
                self.wrong.append((kind, *about))

    def limit(self, status):
        with self.lock:
            self.limited[status] += 1


def needs(routes, listener, path, what="key"):
    """method -> key, or right, of the routes of that path."""
    return {m: r[what] for r in routes if (r["listener"], r["path"]) == (listener, path)
            for m in r["methods"]}


def closes_unheard(client):
    """An action in place of the key: the one answer is a Close, without an event."""
    client.say('{"action":"run","args":{"command":"touch %s/said"}}' % client.server.marks)
    opcode, payload = client.frame()
    return opcode == 8 and payload[:2] in (b"\x03\xf0", b"")


def judge(cells, client, about, answer, statuses, let_in):
    status = answer.status
    path = urllib.parse.unquote(about[1].removeprefix("http://127.0.0.1").split("?")[0])
    challenged = (path + "/").startswith(tuple(c.rstrip("/") + "/" for c in CHALLENGE)) and 403 in (statuses or ())
    if path.startswith("/ui") and 403 in (statuses or ()):
        statuses += (401,)
    if challenged and status == 401:
        fine = answer.fields.get("www-authenticate") == "Bearer"
        cells.note(client.kind, fine, *about, status, answer.body[:200])
        return
    if let_in:
        fine = status not in (403, 429)
    else:
        fine = status in statuses
    if status == 429:
        fine = fine and answer.fields.get("retry-after") == "1" and \
            "close" in answer.fields.get("connection", "")
    if status == 101:
        if not let_in:
            fine = fine and closes_unheard(client)
        client.close()
    cells.note(client.kind, fine, *about, status, answer.body[:200])


def with_key(cells, kind, routes):
    """A server with a key, on one listener."""
    client, n = Client(cells.server, kind), 0
    headers = HEADERS if kind == "tcp" else {name: HEADERS[name] for name in FEWER_HEADERS}
    methods = METHODS if kind == "tcp" else FEWER_METHODS
    for path in sorted({r["path"] for r in routes if r["listener"] == "http"}):
        known, rights = needs(routes, "http", path), needs(routes, "http", path, "right")
        for method in methods:
            for header, (upgrade, fields) in headers.items():
                for key, (chance, lines, query) in KEYS.items():
                    if key == "query" and path.startswith("/devtools/") and method in known:
                        chance = "right"  # clients that take only an address
                    if header not in FEWER_HEADERS and key not in FEWER_KEYS:
                        continue
                    if chance == "right" and header not in ("none", "handshake", "origin"):
                        continue
                    n += 1
                    does = chance == "right" or chance == "at unix" and kind == "unix"
                    folder = cells.server.did if does else cells.server.marks
                    target, asked, body = path_and_body(path, folder, f"{kind}-{n}")
                    if method in ("GET", "HEAD"):
                        body = b""
                    asked += ("&" if asked else "?") + query if query else ""
                    answer = client.ask(method, target + asked, fields + lines, body)
                    statuses, let_in = expected(method, chance, upgrade, known, rights, kind,
                                                header.startswith("origin"))
                    if method in ("CONNECT", "get", "FOO", "TRACE") and statuses:
                        statuses += (400, 501)
                    judge(cells, client, (method, target + asked, header, key), answer, statuses,
                          let_in)
                    if statuses and 429 in statuses and not let_in:
                        cells.limit(answer.status)
    client.close()


def spelled(cells, kind, routes):
    """Paths in other spellings, without a key."""
    client = Client(cells.server, kind)
    for path in sorted({r["path"] for r in routes if r["listener"] == "http"}):
        if "none" in needs(routes, "http", path).values():
            continue
        for spelling in SPELLINGS:
            for method in ("GET", "POST"):
                for header in FEWER_HEADERS:
                    upgrade, fields = HEADERS[header]
                    target, asked, body = path_and_body(path, cells.server.marks, "spelled")
                    target = spelling(target + asked)
                    answer = client.ask(method, target, fields, b"" if method == "GET" else body)
                    socket = method == "GET" and upgrade == "whole" and header != "origin" and \
                        needs(routes, "http", path).get("GET") == "message"
                    judge(cells, client, (method, target, header), answer,
                          (400, 403) + ((101,) if socket else ()), False)
    client.close()


def messages(cells, kind, routes):
    """WebSockets whose first message is not the key."""
    for route in routes:
        if route["key"] != "message" or route["listener"] != "http":
            continue
        for message in MESSAGES:
            client = Client(cells.server, kind)
            answer = client.ask("GET", route["path"] + "?since=0", UPGRADE + HANDSHAKE)
            client.say(message.replace("%s", cells.server.marks + "/message"))
            opcode, payload = client.frame()
            fine = opcode == 8 and payload[:2] in (b"\x03\xf0", b"\x03\xf5")  # 1008, 1013
            cells.note(kind, answer.status == 101 and fine, message, answer.status, payload)
            client.close()
        client = Client(cells.server, kind)
        client.ask("GET", route["path"] + "?since=0", UPGRADE + HANDSHAKE)
        client.say(json.dumps({"api_key": GOOD}))
        opcode, payload = client.frame()
        cells.note(kind, opcode == 1, "the key", payload)  # an event
        client.close()


def watchers(cells, kind, routes):
    """WebSockets whose key may view: events come, and what they send has no effect."""
    said = f"{cells.server.marks}/watcher-{kind}"
    for in_head in (True, False):
        client = Client(cells.server, kind)
        lines = KEYS["view"][1] if in_head else []
        answer = client.ask("GET", "/events?since=0", UPGRADE + HANDSHAKE + lines)
        if not in_head:
            client.say(json.dumps({"api_key": GIVEN["view"]}))
        for message in ({"action": "run", "args": {"command": f"touch {said}"}}, {"ack": 1}):
            client.say(json.dumps(message))
        refused, events = 0, 0
        while refused < 2 or not events:
            opcode, payload = client.frame()
            if opcode != 1:
                break
            told = json.loads(payload)
            refused += told.get("error", {}).get("code") == "DENIED"
            events += "id" in told
        cells.note(kind, answer.status == 101 and refused == 2 and events > 0, in_head,
                   answer.status, refused, events)
        client.close()


def flood(cells, kind, routes):
    """Many WebSockets that never send a key: they do not keep others out."""
    clients, seen = [], collections.Counter()
    for _ in range(80):
        clients.append(Client(cells.server, kind))
        seen[clients[-1].ask("GET", "/events", UPGRADE + HANDSHAKE).status] += 1
    cells.note(kind, 0 < seen[101] <= 64 and seen[101] + seen[503] == 80, seen)
    with_it = Client(cells.server, kind)
    answer = with_it.ask("GET", "/events?since=0", UPGRADE + HANDSHAKE + KEYS["good"][1])
    cells.note(kind, answer.status == 101, answer)
    for client in clients + [with_it]:
        client.close()

    def again():
        client = Client(cells.server, kind)
        status = client.ask("GET", "/events", UPGRADE + HANDSHAKE).status
        client.close()
        return status == 101

    wait_for(again, "there is room for another one")
    cells.note(kind, True)


def from_pages(cells, kind, routes):
    """A server without a key: what a page in a browser sends."""
    client = Client(cells.server, kind)
    cases = {
        "origin": ["Origin: http://evil.example"], "null": ["Origin: null"],
        "own": ["Origin: http://localhost"],
        "cross-site": ["Sec-Fetch-Site: cross-site"], "same-site": ["Sec-Fetch-Site: same-site"],
        "same-origin": ["Sec-Fetch-Site: same-origin"], "user": ["Sec-Fetch-Site: none"],
        "host": ["Host: evil.example"], "port": ["Host: evil.example:80"],
        "near": ["Host: 127.0.0.1.evil.example"], "no host": ["Host:"],
        "handshake": ["Origin: http://evil.example"] + UPGRADE + HANDSHAKE,
        "rebound": ["Host: evil.example"] + UPGRADE + HANDSHAKE,
    }
    by_name = {"host", "port", "near", "no host", "rebound"}
    for path in sorted({r["path"] for r in routes if r["listener"] == "http"}):
        known = needs(routes, "http", path)
        for method in METHODS:
            for case, fields in cases.items():
                upgrade = "whole" if case in ("handshake", "rebound") else "no"
                if case in by_name and kind != "tcp":
                    continue  # the name is of no use where a browser does not come, or TLS
                if case in ("same-origin", "user") and (known.get(method) == "none" or path.startswith("/ui")):
                    continue
                target, asked, body = path_and_body(path, cells.server.marks, f"{kind}-{case}")
                if method in ("GET", "HEAD"):
                    body = b""
                answer = client.ask(method, target + asked, fields, body)
                statuses = (400,) if upgrade == "whole" and method != "GET" else (403,)
                if method in ("CONNECT", "get", "FOO", "TRACE"):
                    statuses += (400, 501)
                judge(cells, client, (method, target, case), answer, statuses, False)
    client.close()


def view(cells, routes, allowed):
    """The file viewer, as this process' user."""
    client = Client(cells.server, "viewer")
    for path in sorted({r["path"] for r in routes if r["listener"] == "viewer"}):
        known = needs(routes, "viewer", path)
        for method in METHODS:
            for header, (upgrade, fields) in HEADERS.items():
                for key in FEWER_KEYS:
                    _, lines, query = KEYS[key]
                    target, asked, body = path_and_body(path, cells.server.marks, "view")
                    asked += ("&" if asked else "?") + query if query else ""
                    if method in ("GET", "HEAD"):
                        body = b""
                    answer = client.ask(method, target + asked, fields + lines, body)
                    page = header.startswith("origin") or header == "host"
                    if upgrade != "no" and method != "GET":
                        statuses = (400,)
                    elif page:
                        statuses = (403,)
                    elif method == "OPTIONS":
                        statuses = (204,)
                    elif method not in known:
                        statuses = (405, 501)
                    else:
                        statuses = (200,) if known[method] == "none" or allowed else (403,)
                    if method in ("CONNECT", "get", "FOO", "TRACE"):
                        statuses += (400, 501)
                    fine = answer.status in statuses and \
                        (allowed or known.get(method) == "none" or b"base64" not in answer.body)
                    cells.note("viewer", fine, method, target, header, key, answer.status)
    client.close()


def as_another_user(cells, routes):
    """view() as another uid. None: it cannot be had."""
    if os.getuid() != 0:
        return None
    get, put = os.pipe()
    pid = os.fork()
    if pid == 0:
        result = {"count": 0, "wrong": ["it did not end"]}
        try:
            os.setgroups([])
            os.setgid(OTHER_UID)
            os.setuid(OTHER_UID)
            view(cells, routes, False)
            result = {"count": cells.count["viewer"], "wrong": cells.wrong[:5]}
        except BaseException:
            result["wrong"] = [traceback.format_exc()]
        os.write(put, json.dumps(result, default=repr).encode()[:60000])
        os._exit(0)
    os.close(put)
    with os.fdopen(get, "rb") as file:
        result = json.loads(file.read())
    os.waitpid(pid, 0)
    return result


# --- the rows


def picture():
    one = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    with open(T + "/picture.png", "wb") as file:
        file.write(base64.b64decode(one))
    os.chmod(T + "/picture.png", 0o644)


def on_each(listeners, function, cells, routes):
    """The function on each listener, at once."""
    failed = []

    def call(kind):
        try:
            function(cells, kind, routes)
        except BaseException:
            failed.append(traceback.format_exc())

    threads = [threading.Thread(target=call, args=(kind,)) for kind in listeners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    holds(not failed, *failed)


def events_of(server):
    client = Client(server, "unix")
    found = []
    while True:
        last = found[-1]["id"] if found else 0
        answer = client.ask("GET", f"/events?since={last}", [f"X-Session-API-Key: {GOOD}"])
        more = json.loads(answer.body)["events"]
        if not more:
            client.close()
            return found
        found += more


LISTENERS = ("tcp", "unix", "abstract", "https")
# Keys that are added while the server runs: their place among KEYS, and --key-add's words.
ADDED = {"view": ["--view"], "at unix": ["--listener", "unix:PATH"]}
GIVEN = {}


def add_keys(server):
    for name, words in ADDED.items():
        words = [word.replace("PATH", server.path) for word in words]
        GIVEN[name] = subprocess.run(
            [OD, "serve", "--key-add", name.replace(" ", "-"), "--socket", server.root + "/run/sock",
             *words], check=True, capture_output=True, timeout=LIMIT, text=True).stdout.strip()
        holds(len(GIVEN[name]) >= 32, GIVEN[name])
        KEYS[name] = (name, [f"X-Session-API-Key: {GIVEN[name]}"], "")
        KEYS[name + ", bearer"] = (name, [f"Authorization: Bearer {GIVEN[name]}"], "")


PARTS = ("requests", "links", "open")


def main(parts):
    tap, total = Tap(), 0

    def row(name, function):
        nonlocal total
        try:
            cells = function()
        except Exception:
            tap.line(False, name, traceback.format_exc().split("\n")[-40:])
            return
        n = sum(cells.count.values())
        total += n
        notes = [str(each)[:400] for each in cells.wrong[:20]]
        tap.line(not cells.wrong, f"{name}: {n} cells", notes)

    routes = json.loads(subprocess.run([OD, "serve", "--routes"], check=True,
                                       capture_output=True).stdout)

    picture()

    def another():
        cells = Cells(server)
        result = as_another_user(Cells(server), routes)
        if result:
            cells.count["viewer"] = result["count"]
            cells.wrong = [(each,) for each in result["wrong"]]
        return cells

    def matrix(function):
        def call():
            cells = Cells(server)
            on_each(LISTENERS, function, cells, routes)
            spent = time.monotonic() - cells.begun
            answered, most = cells.limited[403], 5 * (spent + 1)
            cells.note("limit", answered <= most, f"{answered} wrong keys in {spent} s")
            if function is with_key:
                cells.note("limit", cells.limited[429] > 0, "no wrong key was limited")
            return cells
        return call

    def flooded():
        cells = Cells(server)
        for kind in LISTENERS:  # one after the other: the limit is one for all
            flood(cells, kind, routes)
        return cells

    def viewed():
        cells = Cells(server)
        view(cells, routes, True)
        return cells

    def nothing_happened():
        cells = Cells(server)
        cells.note("files", os.listdir(server.marks) == [], os.listdir(server.marks)[:5])
        text = json.dumps(events_of(server))
        cells.note("events", server.marks not in text and len(text) > 1000, text[:400])
        return cells

    def something_did():
        cells = Cells(server)
        for i, (route, method) in enumerate(sorted(MAKES.items())):
            for kind in LISTENERS:
                client = Client(server, kind)
                target, asked, body = path_and_body(route, server.did, f"last-{kind}-{i}")
                answer = client.ask(method, target + asked, KEYS["good"][1], body)
                cells.note(kind, f"last-{kind}-{i}" in os.listdir(server.did), route, answer)
                client.close()
        return cells

    if {"requests", "links"} & set(parts):
        server = Server(key=GOOD)
        wait_for(lambda: Client(server, "tcp").ask("GET", "/ready").status == 200, "it is ready")
        add_keys(server)
        if "requests" in parts:
            row("with a key: routes, methods, headers and keys", matrix(with_key))
        row("with the key the same requests do what they ask for", something_did)
        if "links" in parts:
            if os.getuid() == 0:
                row("the viewer: another user of this machine", another)
            else:
                tap.line(True, "the viewer: another user of this machine",
                         skip="only root can be one")
            row("the viewer: its own user", viewed)
            row("with a key: paths in other spellings", matrix(spelled))
            row("with a key: the first message of a WebSocket", matrix(messages))
            row("with a key that may view: WebSockets that send more than it may",
                matrix(watchers))
            row("with a key: WebSockets that send none", flooded)
        row("without it nothing was done", nothing_happened)
        server.stop()
    if "open" not in parts:
        return tap.done()
    for name, options in (("without a key", ()), ("with --insecure-open", ("--insecure-open",))):
        server = Server(*options)

        def pages(server=server):
            cells = Cells(server)
            on_each(LISTENERS, from_pages, cells, routes)
            cells.note("files", os.listdir(server.marks) == [], os.listdir(server.marks)[:5])
            return cells

        row(f"{name}: pages of the web, by routes and methods", pages)
        server.stop()
    print(f"# {total} cells in all, of {len(routes)} routes")
    return tap.done()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:] or PARTS))
