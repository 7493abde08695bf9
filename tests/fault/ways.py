# SPDX-License-Identifier: MIT
"""Each way into a server: one small client for each, which runs a command.

    server = Many(mount="size=4m")      all listeners, the state on a small disk
    for way in WAYS: WAYS[way](server).run("echo x", "a-session")

run() returns all that came as an answer, as a text; a refusal is in it as well.
"""
import base64
import http.client
import json
import os
import struct
import subprocess
import tempfile
import threading

from served import Served
from tap import LIMIT, holds

T = os.environ["T"]
OD = os.environ["OD"]
FRONTS = ["", "v1", "e2b", "swerex", "execd", "interpreter", "sandbox"]
STATE = """
mkdir -p "$OD_STATE_DIR" && mount -t tmpfs -o "mode=755,$0" none "$OD_STATE_DIR" && exec "$@"
"""


class Many(Served):
    """A server with every listener. mount: options of the tmpfs that its state is on."""

    def __init__(self, mount=None, before=(), more=()):
        self.root = tempfile.mkdtemp(dir=T, prefix="many.")
        self.dir = os.path.join(self.root, "work")
        os.mkdir(self.dir)
        self.log = open(os.path.join(self.root, "log"), "a+b")
        self.state = os.path.join(self.root, "state")
        self.env = {**os.environ, "HOME": self.dir, "OD_STATE_DIR": self.state,
                    "OD_SOCKET": os.path.join(self.root, "sock")}
        words = [OD, "serve", "--sandbox-open", "--execd-open", "--working-dir", self.dir]
        for front in FRONTS:
            words += ["--listen", (front and front + "@") + "127.0.0.1:0"]
        if mount:
            before = ["unshare", "-m", "--propagation", "private", "sh", "-c", STATE, mount,
                      *before]
        self.launch([*before, *words, *more], self.dir)

    def ready(self, said):
        addresses = [line.split()[-1] for line in said.split("\n")
                     if line.startswith("listening ") and "127.0.0.1" in line]
        holds(len(addresses) == len(FRONTS), said)
        self.at = {front: address.split("@")[-1] for front, address in zip(FRONTS, addresses)}

    def inside(self, *path):
        """A path in the state, as the server sees it."""
        return os.path.join(f"/proc/{self.process.pid}/root{self.state}", *path)

    def exec(self, *words, limit=LIMIT):
        """The status and the output of od exec."""
        got = subprocess.run([OD, "exec", *words], env=self.env, cwd=self.dir, timeout=limit,
                             stdin=subprocess.DEVNULL, stdout=-1, stderr=-2)
        return got.returncode, got.stdout.decode(errors="replace")

    def ask(self, front, method, path, body=None, fields=(), limit=LIMIT):
        """The status, the fields and the text of an answer."""
        c = http.client.HTTPConnection(self.at[front], timeout=limit)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        c.request(method, path, body, {"Content-Type": "application/json", **dict(fields)})
        answer = c.getresponse()
        text = answer.read().decode(errors="replace")
        c.close()
        return answer.status, answer.headers, text

    def worker(self):
        for pid in subprocess.run(["pgrep", "-P", str(self.process.pid), "-f", "^od-worker"],
                                  stdout=-1, check=False).stdout.split():
            return int(pid)
        return None


class Exec:
    def __init__(self, server):
        self.server = server

    def run(self, command, session):
        return "%d %s" % self.server.exec("-s", session, command)


class ExecNew(Exec):
    def run(self, command, session):
        return "%d %s" % self.server.exec("--new", command)


class Http(Exec):
    """POST of one body to one route."""
    front, path, fields = "", "", {}

    def body(self, command, session):
        raise NotImplementedError

    def run(self, command, session):
        status, _, text = self.server.ask(self.front, "POST", self.path,
                                          self.body(command, session), self.fields)
        return f"{status} {text}"


class V0(Http):
    path = "/execute_action"

    def body(self, command, session):
        return {"action": {"action": "run", "args": {"command": command}}}


class Events(Http):
    path = "/events"

    def body(self, command, session):
        return {"action": "run", "args": {"command": command}, "session": session}


class Socket(Exec):
    """The WebSocket of /events; it is opened once."""

    def __init__(self, server):
        super().__init__(server)
        self.lock = threading.Lock()
        host, port = server.at[""].split(":")
        self.c = http.client.HTTPConnection(host, int(port), timeout=LIMIT)
        self.c.request("GET", "/events", None, {
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
            "Sec-WebSocket-Protocol": "od.events.v1"})
        self.sock = self.c.sock
        self.file = self.sock.makefile("rb")
        holds(b" 101 " in self.file.readline())
        while self.file.readline() != b"\r\n":
            pass
        self.seen, self.number = [], 0

    def message(self):
        """The next text; a close is {"close": its bytes}."""
        while True:
            head = self.file.read(2)
            holds(len(head) == 2, "the connection ended", self.seen[-3:])
            n = head[1] & 127
            if n > 125:
                n = struct.unpack(">H" if n == 126 else ">Q",
                                  self.file.read(2 if n == 126 else 8))[0]
            body = self.file.read(n)
            if head[0] & 15 == 8:
                return {"close": struct.unpack(">H", body[:2])[0] if n > 1 else 0,
                        "why": body[2:].decode()}
            if head[0] & 15 == 1:
                self.seen.append(body.decode()[:200])
                return json.loads(body)

    def send(self, message):
        body = json.dumps(message).encode()
        size = bytes([0x80 | len(body)]) if len(body) < 126 else (
            b"\xfe" + struct.pack(">H", len(body)))
        self.sock.sendall(b"\x81" + size + bytes(4) + body)

    def begin(self, command, session):
        self.number += 1
        name = f"c-{id(self)}-{self.number}"
        self.send({"action": "run", "args": {"command": command}, "session": session,
                   "client_id": name})
        return name

    def run(self, command, session):
        name = self.begin(command, session)
        while True:
            got = self.message()
            if "close" in got or "error" in got or (
                    got.get("client_id") == name and "cause" in got and "id" in got):
                return json.dumps(got)


class Mcp(Http):
    path = "/mcp"

    def __init__(self, server):
        super().__init__(server)
        self.fields = {"Accept": "application/json, text/event-stream"}
        status, fields, text = server.ask("", "POST", "/mcp", {
            "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "x", "version": "1"}}}, self.fields)
        holds(status == 200, text)
        self.fields["Mcp-Session-Id"] = fields["Mcp-Session-Id"]
        server.ask("", "POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"},
                   self.fields)

    def body(self, command, session):
        return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "shell", "arguments": {"command": command, "name": session}}}


class V1(Http):
    front, path = "v1", "/api/bash/execute_bash_command"

    def body(self, command, session):
        return {"command": command, "timeout": LIMIT}


class E2b(Exec):
    def run(self, command, session):
        body = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-c", command]}}).encode()
        c = http.client.HTTPConnection(self.server.at["e2b"], timeout=LIMIT)
        c.request("POST", "/process.Process/Start", struct.pack(">BI", 0, len(body)) + body,
                  {"Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"})
        answer = c.getresponse()
        rest, out = answer.read(), [str(answer.status)]
        if answer.headers["Content-Type"] != "application/connect+json":
            return out[0] + rest.decode()
        while rest:
            n = struct.unpack(">BI", rest[:5])[1]
            text, rest = rest[5:5 + n].decode(), rest[5 + n:]
            data = json.loads(text).get("event", {}).get("data", {})
            out.append(text if not data else base64.b64decode(
                data.get("stdout", data.get("stderr", ""))).decode())
        return " ".join(out)


class Swerex(Http):
    front, path = "swerex", "/run_in_session"

    def run(self, command, session):
        if session not in self.server.__dict__.setdefault("swerex", set()):
            status, _, text = self.server.ask("swerex", "POST", "/create_session", {
                "session": session, "session_type": "bash"})
            if status != 200:
                return f"{status} {text}"
            self.server.swerex.add(session)
        return super().run(command, session)

    def body(self, command, session):
        return {"session": session, "command": command, "action_type": "bash"}


class SwerexExecute(Http):
    front, path = "swerex", "/execute"

    def body(self, command, session):
        return {"command": command, "shell": True}


class Execd(Http):
    front, path = "execd", "/command"

    def body(self, command, session):
        return {"command": command}


class ExecdSession(Exec):
    def run(self, command, session):
        known = self.server.__dict__.setdefault("execd", {})
        if session not in known:
            status, _, text = self.server.ask("execd", "POST", "/session", {})
            if status != 200:
                return f"{status} {text}"
            known[session] = json.loads(text)["session_id"]
        status, _, text = self.server.ask("execd", "POST", f"/session/{known[session]}/run",
                                          {"command": command})
        return f"{status} {text}"


class Interpreter(Http):
    front, path = "interpreter", "/execute"

    def body(self, command, session):
        return {"code": command, "language": "bash"}


class Sandbox(Http):
    front, path = "sandbox", "/execute"

    def body(self, command, session):
        return {"command": "sh -c " + "'" + command.replace("'", "'\\''") + "'"}


WAYS = {"exec": Exec, "exec --new": ExecNew, "V0": V0, "POST /events": Events,
        "WebSocket": Socket, "MCP": Mcp, "V1": V1, "E2B": E2b, "SWE-ReX": Swerex,
        "SWE-ReX execute": SwerexExecute, "execd": Execd, "execd session": ExecdSession,
        "interpreter": Interpreter, "agent-sandbox": Sandbox}
