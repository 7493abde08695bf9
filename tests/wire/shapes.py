# SPDX-License-Identifier: MIT
"""Every request ends. Each route of `od serve --routes`, which are the tables of the
server, gets bodies of each wrong shape on connections that are kept alive; whatever the
status is, there is an answer or the connection is closed. Each WebSocket gets wrong
messages, first and later: an answer, an error or a close follows. No worker dies of it.

BODIES has a right body for a route: each of its members is replaced by each wrong value.
"""
import base64
import concurrent.futures
import contextlib
import json
import os
import re
import secrets
import socket
import struct
import subprocess
import sys
import tempfile

from served import Served
from tap import LIMIT, Tap, holds

T, OD = os.environ["T"], os.environ["OD"]
KEY = secrets.token_hex(16)
STREAMS = ("text/event-stream", "application/connect+json", "application/x-ndjson")

# Bodies that are wrong for every route.
SHAPES = [b"", b" ", b"{}", b"[]", b"[[]]", b"null", b"true", b"0", b"-1", b"1e999", b'"x"',
          b'{"', b'{"a":', b'{"action":{"action":"run","args":', b"[1,", b"nul", b"\xff\xfe",
          b'{"\xff":"\xc0\x80"}', b"{}{}", b'{"id":1,"id":2,"method":"x","method":[]}',
          b"[" * 3000, b'{"a":' * 3000, b"[" * 900 + b"]" * 900,
          b'{"action":' * 900 + b"1" + b"}" * 900,
          b'{"id":' + b"9" * 400 + b"}", b'{"timeout":1e400,"id":-1e400}',
          b'{"path":"a\\u0000b","name":"\\ud800"}', b"a=b&c=%zz", b"\0" * 64,
          b"--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx",
          b"\0\0\0\0\2{}", b"\0\xff\xff\xff\xff{}", b"\2\0\0\0\0", b"x" * 70000]
TYPES = ("application/json", None, "text/plain", "multipart/form-data",
         "multipart/form-data; boundary=b", "application/connect+json", "application/json; charset=x",
         "application/x-www-form-urlencoded", "\x7f/")
# What follows "Transfer-Encoding: chunked".
CHUNKS = [b"zz\r\n", b"-1\r\n", b"ffffffffffffffffff\r\n", b"5\r\nab\r\n0\r\n\r\n", b"\r\n",
          b"2\r\n{}XX0\r\n\r\n", b"2;a=b\r\n{}\r\n0\r\nA\r\n\r\n", b"0\r\n\r\n",
          b"2\r\n{}\r\n0\r\n\r\n", b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", b"2 \r\n{}\r\n0\r\n\r\n"]
WRONG = (None, 5, -1, 1e300, 9007199254740993, True, "", "x", "\ud800", "\0", [], [None], {},
         {"x": 1}, ["x", 5])

RPC = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
       "params": {"name": "session_list", "arguments": {}}}
BEGIN = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {},
    "clientInfo": {"name": "x", "version": "1"}}}
MODERN = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {
    "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}
START = {"process": {"cmd": "true", "args": ["x"], "envs": {"A": "b"}, "cwd": "/"},
         "pty": {"size": {"cols": 80, "rows": 24}}, "tag": "t", "stdin": False}
INPUT = {"process": {"pid": 1, "tag": "x"}, "input": {"stdin": "eA==", "pty": "eA=="}}
RUN = {"command": "true", "session": "default", "timeout": 1, "check": "silent",
       "is_interactive_command": False, "is_interactive_quit": False, "expect": ["x"]}
BODIES = {
    ("http", "/execute_action"): [{"action": {"action": "run", "args": {
        "command": "true", "is_input": False, "blocking": False, "hidden": False,
        "cwd": "/", "is_static": True, "thought": "", "timeout": 1}, "timeout": 1}},
        {"action": {"action": "read", "args": {"path": "/x", "start": 0, "end": -1}}},
        {"action": {"action": "write", "args": {"path": "x", "content": "x", "start": 0}}},
        {"action": {"action": "edit", "args": {"path": "/x", "command": "view",
                                               "view_range": [1, 2], "file_text": "x"}}}],
    ("http", "/list_files"): [{"path": "/tmp"}],
    ("http", "/update_mcp_server"): [[{"name": "x"}]],
    ("http", "/events"): [{"action": "run", "args": {"command": "true", "timeout": 1},
                           "id": 1, "session": "a"}, {"ack": 1}, {"since": 0}],
    ("http", "/mcp"): [RPC, BEGIN, MODERN, {"jsonrpc": "2.0", "id": 2, "method": "ping"},
                       {"jsonrpc": "2.0", "id": 3, "result": {}},
                       {"jsonrpc": "2.0", "method": "notifications/cancelled",
                        "params": {"requestId": 1}},
                       {"jsonrpc": "2.0", "id": 4, "method": "logging/setLevel",
                        "params": {"level": "info"}},
                       {"jsonrpc": "2.0", "id": 5, "method": "completion/complete",
                        "params": {"ref": {"type": "ref/prompt", "name": "x"},
                                   "argument": {"name": "x", "value": "y"}}}],
    ("http", "/files/mkdir"): [{"path": "/tmp/x", "mode": "755", "parents": True}],
    ("http", "/skills/open_file"): [{"path": "x", "line_number": 1, "context_lines": 5}],
    ("http", "/ui/session"): [{"key": "x"}],
    ("e2b", "/init"): [{"envVars": {"A": "b"}, "accessToken": None, "timestamp": "x",
                        "defaultUser": "root", "defaultWorkdir": "/"}],
    ("e2b", "/files/compose"): [{"paths": ["a"], "destination": "b"}],
    ("e2b", "/process.Process/Connect"): [{"process": {"pid": 999999}}],
    ("e2b", "/process.Process/Start"): [START],
    ("e2b", "/process.Process/Update"): [{**INPUT, "pty": {"size": {"cols": 1, "rows": 1}}}],
    ("e2b", "/process.Process/SendInput"): [INPUT],
    ("e2b", "/process.Process/StreamInput"): [{"start": {"process": {"pid": 1}}},
                                              {"data": INPUT}, {"keepalive": {}}],
    ("e2b", "/process.Process/SendSignal"): [{**INPUT, "signal": "SIGNAL_SIGTERM"}],
    ("e2b", "/process.Process/CloseStdin"): [INPUT],
    ("v1", "/api/init"): [{"secret": "x", "session_api_keys": ["x"]}],
    ("v1", "/api/bash/start_bash_command"): [{"command": "true", "cwd": "/", "timeout": 1}],
    ("v1", "/api/bash/execute_bash_command"): [{"command": "true", "cwd": "/", "timeout": 1}],
    ("sandbox", "/execute"): [{"command": "true", "timeout": 1, "cwd": "/", "env": {"A": "b"}}],
    ("execd", "/command"): [{"command": "true", "cwd": "/", "background": False, "timeout": 1000,
                             "envs": {"A": "b"}, "uid": 0, "gid": 0}],
    ("execd", "/session"): [{"cwd": "/"}],
    ("execd", "/session/x/run"): [{"command": "true", "cwd": "/", "timeout": 1}],
    ("execd", "/code/context"): [{"language": "none"}],
    ("execd", "/code"): [{"code": "1", "context": {"id": "x", "language": "none"}}],
    ("execd", "/files/mv"): [[{"src": "a", "dest": "b"}]],
    ("execd", "/files/permissions"): [{T + "/x": {"mode": 644, "owner": "root", "group": "x"}}],
    ("execd", "/files/replace"): [{T + "/x": {"old": "a", "new": "b"}}],
    ("execd", "/directories"): [{T + "/x": {"mode": 755}}],
    ("execd", "/pty"): [{"cwd": "/", "cols": 80, "rows": 24}],
    ("execd", "/v1/isolated/session"): [{"cwd": "/"}],
    ("interpreter", "/execute"): [{"code": "1", "language": "none", "context_id": "x",
                                   "env_vars": {"A": "b"}}],
    ("interpreter", "/contexts"): [{"language": "none", "cwd": "/"}],
    ("swerex", "/create_session"): [{"session_type": "bash", "session": "default",
                                     "startup_source": ["/dev/null"], "startup_timeout": 5}],
    ("swerex", "/run_in_session"): [{**RUN, "action_type": "bash"},
                                    {"action_type": "bash_interrupt", "session": "default",
                                     "timeout": 0.2, "n_retry": 1}],
    ("swerex", "/close_session"): [{"session_type": "bash", "session": "x"}],
    ("swerex", "/execute"): [{"command": ["true"], "shell": False, "timeout": 1, "env": {"A": "b"},
                              "cwd": "/", "check": False, "merge_output_streams": True}],
    ("swerex", "/read_file"): [{"path": "/x", "encoding": "utf-8", "errors": "strict"}],
    ("swerex", "/write_file"): [{"content": "x", "path": "x"}],
}
for verb in ("Stat", "ListDir", "MakeDir", "Remove", "WatchDir", "CreateWatcher",
             "GetWatcherEvents", "RemoveWatcher"):
    BODIES["e2b", "/filesystem.Filesystem/" + verb] = [
        {"path": T + "/none", "depth": 1, "recursive": True, "watcherId": "x"}]
BODIES["e2b", "/filesystem.Filesystem/Move"] = [{"source": T + "/none", "destination": T + "/no"}]

# An empty object there starts a kernel, which takes seconds: one has to do.
COSTLY = {("interpreter", "/contexts")}

SOCKETS = {("http", "/events"): "od.events.v1", ("http", "/terminal/{session}"): "od.terminal.v1",
           ("http", "/screen/{session}"): "od.screen.v1", ("v1", "/sockets/bash-events"): None,
           ("execd", "/pty/{id}/ws"): None}
# First messages, and later ones.
MESSAGES = [(1, shape) for shape in SHAPES if b"\xff" not in shape] + [
    (1, b"\xff"), (2, b"{}"), (2, b""), (2, b"\xff" * 64), (3, b"x"), (0, b"x"), (11, b"x"),
    (8, b"\x03"), (8, b"\x00\x01x"), (1, json.dumps({"api_key": 5}).encode()),
    (1, b'{"type":"resize","cols":-1,"rows":1e9}'), (1, b'{"resize":[0,"x"]}'),
    (1, b'{"action":"none"}'), (1, b'{"action":5,"args":[]}'), (1, b'{"command":5}')]


def right_paths(route):
    """Paths for a route as --routes has it."""
    path = re.sub(r"\{verb\}", "mkdir", route)
    path = path.replace("/skills/{name}", "/skills/open_file")
    path = path.replace("{port}", "1").replace("/proxy/*", "/proxy/1/x")
    return re.sub(r"\{[a-z_]+\}|\*", "x", path)


def replaced(value):
    """Each of value's members replaced by each wrong value, and left out."""
    if isinstance(value, (dict, list)):
        for at in value if isinstance(value, dict) else range(len(value)):
            copy = value.copy()
            del copy[at]
            yield copy
            copies = list(WRONG) + list(replaced(value[at]))
            for other in copies:
                copy = value.copy()
                copy[at] = other
                yield copy


class Server(Served):
    def __init__(self, fronts, key=None):
        self.root = tempfile.mkdtemp(dir=T)
        self.at = {"http": "http", **{name: name for name in fronts}}
        for folder in ("run", "tmp", "work"):
            os.mkdir(os.path.join(self.root, folder), 0o700)
        self.env = {**os.environ, "TMPDIR": self.root + "/tmp", "OD_SOCKET": self.root + "/run/s",
                    "OD_STATE_DIR": self.root + "/run/state", "HOME": self.root + "/work",
                    "PATH": self.root}  # so that no kernel is found, which takes seconds to start
        self.env.pop("SESSION_API_KEY", None)
        if key:
            self.env["OD_API_KEY"] = key
        self.log = open(self.root + "/log", "a+b")
        words = [OD, "serve", "--ui", "--listen", f"unix:{self.root}/http"]
        for name in fronts:
            words += ["--listen", f"{name}@unix:{self.root}/{name}"]
        self.launch(words, self.root + "/work")
        self.workers = self.children()

    def ready(self, said):
        del said

    def children(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="ascii") as file:
            return {pid for pid in file.read().split() if self.is_worker(pid)}

    def is_worker(self, pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read().strip() == "od-worker"
        return False


class Connection:
    """Kept alive, and opened again when the server has closed it."""

    def __init__(self, server, listener):
        self.path, self.socket, self.input = f"{server.root}/{listener}", None, b""

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket, self.input = None, b""

    def more(self):
        """Returns False at the end."""
        try:
            new = self.socket.recv(1 << 16)
        except ConnectionError:
            new = b""
        self.input += new
        return bool(new)

    def until(self, enough):
        while not enough(self.input):
            if not self.more():
                return False
        return True

    def ask(self, method, path, kind, body, fields=(), ends=False):
        """Returns a status; 0: it was closed without one. TimeoutError: it hangs."""
        if not self.socket:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(LIMIT)
            self.socket.connect(self.path)
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *fields]
        if kind is not None:
            lines.append(f"Content-Type: {kind}")
        text = "\r\n".join(lines).encode() + b"\r\n\r\n" + body
        try:
            self.socket.sendall(text)
            if ends:
                self.socket.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass  # there may be an answer all the same
        status = self.answer(method)
        if ends or not status:
            self.close()
        return status

    def answer(self, method):
        if not self.until(lambda got: b"\r\n\r\n" in got):
            return 0
        head, self.input = self.input.split(b"\r\n\r\n", 1)
        head = head.decode("latin-1").lower()
        status = int(head.split(" ", 2)[1])
        length = re.search(r"\r\ncontent-length: *(\d+)", head)
        if status == 101 or any(kind in head for kind in STREAMS):
            self.close()  # its end may be far; the answer has begun
            return status
        if method == "HEAD" or status in (204, 304):
            pass
        elif length:
            size = int(length[1])
            self.until(lambda got: len(got) >= size)
            self.input = self.input[size:]
        elif "chunked" in head:
            self.until(lambda got: got.startswith(b"0\r\n\r\n") or b"\r\n0\r\n\r\n" in got)
            self.close()
        else:
            self.until(lambda got: False)
        if "connection: close" in head:
            self.close()
        return status


def with_length(body):
    return [f"Content-Length: {len(body)}"]


def ask_all(server, route, fields):
    """Yields what hangs: the request, for each wrong request to one route. Its first
    method that has a body gets all of them, others some."""
    listener, path = route["listener"], right_paths(route["path"])
    line = Connection(server, server.at[listener])
    wrote = False
    for method in route["methods"]:
        writes = method in ("POST", "PUT", "PATCH") and not wrote
        wrote = wrote or writes
        shapes = SHAPES if writes else SHAPES[:1] if method == "HEAD" else SHAPES[:6] + SHAPES[-2:]
        requests = [("application/json", body, with_length(body), False) for body in shapes]
        if writes:
            for right in BODIES.get((listener, path), []):
                bodies = [json.dumps(body).encode() for body in replaced(right)]
                kind = "application/connect+json" if path.endswith(
                    ("/Start", "/Connect", "/WatchDir", "/StreamInput")) else "application/json"
                for body in bodies:
                    if kind != "application/json":
                        body = b"\0" + struct.pack(">I", len(body)) + body
                    requests.append((kind, body, with_length(body), False))
            costly = (listener, path) in COSTLY
            for kind in TYPES:
                for body in (b"x",) if costly else (b"{}", b"x"):
                    requests.append((kind, body, with_length(body), False))
            for chunks in CHUNKS:
                if costly and b"{" in chunks:
                    continue
                requests.append(("application/json", chunks, ["Transfer-Encoding: chunked"], True))
        requests.append(("application/json", b'{"a"', ["Content-Length: 100"], True))
        for size in ("-1", "x", "99999999999999999999", "1, 2"):
            requests.append(("application/json", b"{}", ["Content-Length: " + size], True))
        for kind, body, more, ends in requests:
            try:
                line.ask(method, path, kind, body, [*fields, *more], ends)
            except TimeoutError:
                line.close()
                yield f"{method} {path} {kind} {more} {body[:200]!r}"


# --- WebSockets


def frame(opcode, payload):
    mask = b"\1\2\3\4"
    size = len(payload)
    head = bytes([0x80 | opcode])
    head += bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size) \
        if size < 65536 else b"\xff" + struct.pack(">Q", size)
    return head + mask + bytes(c ^ mask[i % 4] for i, c in enumerate(payload))


class WebSocket(Connection):
    def open(self, path, protocol, fields):
        self.close()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LIMIT)
        self.socket.connect(self.path)
        lines = [f"GET {path} HTTP/1.1", "Host: localhost", "Upgrade: websocket",
                 "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                 "Sec-WebSocket-Key: " + base64.b64encode(b"0" * 16).decode(), *fields]
        if protocol:
            lines.append("Sec-WebSocket-Protocol: " + protocol)
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        if not self.until(lambda got: b"\r\n\r\n" in got):
            return 0
        head, self.input = self.input.split(b"\r\n\r\n", 1)
        return int(head.split(b" ")[1])

    def next(self):
        """The opcode of the next frame; None at the end."""
        if not self.until(lambda got: len(got) >= 2):
            return None
        size, head = self.input[1] & 127, 2
        if size > 125:
            head = 4 if size == 126 else 10
            if not self.until(lambda got: len(got) >= head):
                return None
            size = int.from_bytes(self.input[2:head], "big")
        if not self.until(lambda got: len(got) >= head + size):
            return None
        opcode = self.input[0] & 15
        self.input = self.input[head + size:]
        return opcode

    def ends(self, opcode, payload):
        """Sends a message and a ping. Everything up to the pong or the end is an answer: the
        server has read the message and still serves, or it has ended the connection."""
        try:
            self.socket.sendall(frame(opcode, payload) + frame(9, b"after"))
        except (BrokenPipeError, ConnectionResetError):
            return
        while self.next() not in (10, 8, None):
            pass


def talk_all(server, listener, path, fields, first):
    """Yields what hangs: wrong messages, each the first one of a connection, or later."""
    line = WebSocket(server, server.at[listener])
    where = path.replace("{session}", "main").replace("{id}", "x")
    status, sent = 0, 0
    for opcode, payload in MESSAGES:
        try:
            if first or not line.socket:
                status = line.open(where, SOCKETS[listener, path], fields)
                if status != 101:
                    line.close()
                    return
            if not first:
                line.ends(9, b"before")
            line.ends(opcode, payload)
            sent += 1
            if opcode in (0, 3, 8, 11) or payload == b"\xff":
                line.close()
        except TimeoutError:
            line.close()
            yield f"{where} opcode {opcode} {payload[:200]!r}"
        except (ConnectionError, OSError):
            line.close()
    holds(sent == len(MESSAGES) or status != 101, "not all were sent:", sent)
    line.close()


# --- rows


def check(tap, server, name, hangs):
    try:
        found = list(hangs)
        notes = [f"hangs: {one}" for one in found[:5]]
        alive = server.children()
        if alive != server.workers:
            notes.append("the worker died: " + server.logged())
            server.workers = alive
        tap.line(not notes, name, notes)
    except Exception as error:  # the row does not hold
        tap.line(False, name, [repr(error), server.logged()])


def rows(server, routes, key, what):
    """Name and requests of each row."""
    fields = [f"X-Session-API-Key: {key}"] if key else []
    for route in routes:
        name = f"{route['listener']} {','.join(route['methods'])} {route['path']}"
        if not key and route["listener"] in server.at:
            yield f"{name} ends each request", ask_all(server, route, fields)
    for listener, path in SOCKETS:
        name = f"{listener} WebSocket {path}, {what}"
        yield name + ", later messages", talk_all(server, listener, path, fields, False)
        yield name + ", first messages", talk_all(server, listener, path, [], True)


def main():
    tap = Tap()
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    routes = json.loads(subprocess.check_output([OD, "serve", "--routes"]))
    fronts = sorted({one["listener"] for one in routes} - {"http", "viewer"})
    for key, what in ((None, "without a key"), (KEY, "with its key")):
        with Server(["v1", "execd"] if key else fronts, key).alive() as server:
            with concurrent.futures.ThreadPoolExecutor(8) as threads:
                for name, hangs in rows(server, routes, key, what):
                    if pattern in name:
                        threads.submit(check, tap, server, name, hangs)
            said = server.logged(1 << 22)
            tap.line("gave no answer" not in said, f"each handler has answered, {what}",
                     re.findall(r".*gave no answer.*", said)[:5])
    sys.exit(tap.done())


main()
