# SPDX-License-Identifier: MIT
"""A server with MCP, and clients of it: HTTP of both eras, and od mcp's standard input
and output. They are as plain as they can be, so that a test may send what is wrong."""
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import tempfile

from served import until_ready
from tap import LIMIT, at_end, holds, same, show_log, wait_for

OD = os.environ["OD"]
MODERN, LEGACY = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol/"
BOTH = "application/json, text/event-stream"


class Server:
    """One with a folder of its own, where od mcp finds it by its name."""

    def __init__(self, *options, key=None, od=None):
        self.root = tempfile.mkdtemp(dir=os.environ["T"])
        self.od, self.key = od or OD, key
        for folder in ("run", "state", "home", "work"):
            os.mkdir(os.path.join(self.root, folder), 0o700)
        self.work = self.root + "/work"
        self.env = {**os.environ, "HOME": self.root + "/home", "XDG_RUNTIME_DIR": self.root + "/run",
                    "OD_SOCKET": self.root + "/run/sock", "OD_STATE_DIR": self.root + "/state"}
        self.env.pop("SESSION_API_KEY", None)
        self.env.pop("OD_SERVER", None)
        self.log = self.root + "/log"
        show_log(self.log)
        at_end(self.kill)
        self.port = 0
        self.begin(*options)

    def begin(self, *options):
        """Starts it; once more, at the address that it had."""
        get, put = os.pipe()
        with open(self.log, "ab") as log:
            more = {"SESSION_API_KEY": self.key} if self.key else {}
            self.process = subprocess.Popen(
                [self.od, "serve", "--listen", f"127.0.0.1:{self.port}", "--ready-fd", str(put),
                 *options],
                env={**self.env, **more}, cwd=self.work, pass_fds=[put], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True)
        os.close(put)
        said = until_ready(get, self.logged)
        os.close(get)
        self.port = int(re.search(r"127\.0\.0\.1:(\d+)", said).group(1))
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def logged(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait(LIMIT)
        said = self.logged()
        for word in ("Sanitizer", "runtime error", "bug at"):
            holds(word not in said, said[-3000:])

    def worker(self):
        """The process that serves now; None: between two."""
        said = subprocess.run([self.od, "serve", "--status", "--json"], env=self.env,
                              capture_output=True, check=False, timeout=LIMIT).stdout
        found = [s for s in json.loads(said or "{}").get("servers", []) if s.get("ok")]
        return found[0]["worker"] if found else None

    def crash(self):
        """SIGKILL, and another one serves."""
        before = wait_for(self.worker, "a worker serves")
        os.kill(before, signal.SIGKILL)
        wait_for(lambda: self.worker() not in (None, before), "another worker serves")


@contextlib.contextmanager
def server(*options, **more):
    s = Server(*options, **more)
    try:
        yield s
    finally:
        s.stop()


def request(id, method, **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, **({"params": params} if params else {})}


def call(id, tool, /, token=None, **arguments):
    more = {"_meta": {"progressToken": token}} if token is not None else {}
    return request(id, "tools/call", name=tool, arguments=arguments, **more)


def text_of(message):
    """The text of the answer of a tool."""
    return "".join(b["text"] for b in message["result"]["content"] if b["type"] == "text")


class Stream:
    """An answer: events, or the one of JSON."""

    def __init__(self, connection, response):
        self.connection, self.response, self.last, self.retry = connection, response, None, None
        self.status = response.status
        self.fields = {name.lower(): value for name, value in response.getheaders()}
        self.sse = self.fields.get("content-type", "").startswith("text/event-stream")
        self.comments = self.primed = 0

    def json(self):
        body = self.response.read()
        return json.loads(body) if body else None

    def next(self):
        """The next message; None at the end."""
        if not self.sse:
            return self.json()
        data = None
        while line := self.response.readline():
            line = line.rstrip(b"\n").decode()
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if line == "" and data:
                return json.loads(data)
            if line == "" and data is not None:
                data, self.primed = None, self.primed + 1
            elif line.startswith(":"):
                self.comments += 1
            elif name == "id":
                self.last = value
            elif name == "retry":
                self.retry = int(value)
            elif name == "data":
                data = value
        return None

    def all(self):
        """Every message to the end of the answer."""
        found = []
        while (message := self.next()) is not None:
            found.append(message)
            if not self.sse:
                break
        return found

    def answer(self, id):
        """Reads to the answer of that request."""
        while (message := self.next()) is not None:
            if "method" not in message and message.get("id") == id:
                return message
        raise AssertionError(f"the stream ended without the answer of {id}")

    def close(self):
        self.response.close()
        self.connection.close()


class Http:
    """A session of the legacy era, or with session False requests of the modern one."""

    def __init__(self, server, key=None, query="", client="test"):
        self.server, self.key, self.query, self.client = server, key, query, client
        self.session = self.revision = None

    def send(self, method, body=None, fields=None, accept=BOTH):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=LIMIT)
        all_fields = {"Accept": accept} if accept else {}
        if body is not None:
            all_fields["Content-Type"] = "application/json"
        if self.key:
            all_fields["Authorization"] = "Bearer " + self.key
        if self.session:
            all_fields["Mcp-Session-Id"] = self.session
        if self.revision:
            all_fields["MCP-Protocol-Version"] = self.revision
        all_fields.update(fields or {})
        all_fields = {name: value for name, value in all_fields.items() if value is not None}
        text = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, "/mcp" + self.query, text, all_fields)
        return Stream(connection, connection.getresponse())

    def post(self, body, fields=None, **more):
        return self.send("POST", body, fields, **more)

    def begin(self, revision=LEGACY):
        answer = self.post(request(0, "initialize", protocolVersion=revision, capabilities={},
                                   clientInfo={"name": self.client, "version": "1"}))
        same(answer.status, 200)
        self.session = answer.fields.get("mcp-session-id")
        result = answer.json()["result"]
        self.revision = result["protocolVersion"]
        same(self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status, 202)
        return result

    def ask(self, message):
        """The answer of a request."""
        stream = self.post(message)
        try:
            return stream.answer(message["id"])
        finally:
            stream.close()

    def modern(self, message, fields=None, **meta):
        params = message.setdefault("params", {})
        params["_meta"] = {META + "protocolVersion": MODERN, META + "clientCapabilities": {},
                           META + "clientInfo": {"name": self.client, "version": "1"},
                           **params.get("_meta", {}), **meta}
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]}
        if "name" in params:
            headers["Mcp-Name"] = params["name"]
        return self.post(message, {**headers, **(fields or {})})


class Stdio:
    """od mcp."""

    def __init__(self, server, *options):
        self.server = server
        self.process = subprocess.Popen([server.od, "mcp", *options], env=server.env,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=server.work)

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def next(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def answer(self, id):
        while (message := self.next()) is not None:
            if "method" not in message and message.get("id") == id:
                return message
        raise AssertionError(f"od mcp ended without the answer of {id}: "
                             f"{self.process.stderr.read().decode()}")

    def ask(self, message):
        self.send(message)
        return self.answer(message["id"])

    def begin(self, revision=LEGACY, client="test"):
        result = self.ask(request("i", "initialize", protocolVersion=revision, capabilities={},
                                  clientInfo={"name": client, "version": "1"}))["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def end(self):
        """Closes its input; what it still said, and its status."""
        self.process.stdin.close()
        said = self.process.stdout.read()
        status = self.process.wait(LIMIT)
        return said, status, self.process.stderr.read()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT)
