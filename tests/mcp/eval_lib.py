# SPDX-License-Identifier: MIT
"""A scripted client of MCP, over standard input and over HTTP, and a server for it.

    with Server(folder) as server:
        for client in server.clients():
            answer = client.call("read", path="x")

An answer has text (what the model sees), state (its last line, without brackets; "" if the
tool failed with a sentence), failed, result (for programs) and pictures.
"""
import json
import os
import re
import signal
import subprocess
import tempfile
import urllib.request

from tap import holds, show_log, wait_for

OD, T = os.environ["OD"], os.environ["T"]
PATIENCE = 60  # seconds
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "eval", "version": "1"},
}


class Answer:
    def __init__(self, result):
        self.content = result["content"]
        self.text = self.content[0]["text"]
        self.failed = result.get("isError", False)
        if self.failed:  # so also for a client that drops isError
            holds(self.text.endswith("\n[failed]"), self.text)
            self.text = self.text.removesuffix("\n[failed]")
        self.result = result["_meta"]["od/result"]
        self.structured = result.get("structuredContent")
        self.pictures = [c for c in self.content[1:] if c["type"] == "image"]
        last = self.text.rsplit("\n", 1)[-1]
        self.state = last[1:-1] if last.startswith("[") and last.endswith("]") else ""
        self.body = self.text[: -len(last)] if self.state else self.text


class Client:
    """What both ways have; a way has send(message), which returns the answer to it."""

    def __init__(self):
        self.last = 0
        self.bytes = 0  # of text that a model has seen
        self.ask("initialize", **HELLO)
        self.tell("notifications/initialized")

    def tell(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method, **params):
        self.last += 1
        message = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        answer = self.send(message)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def call(self, name, **arguments):
        answer = Answer(self.ask("tools/call", name=name, arguments=arguments))
        self.bytes += len(answer.text.encode())
        return answer

    def tools(self):
        return {tool["name"]: tool for tool in self.ask("tools/list")["tools"]}


class Stdio(Client):
    name = "stdio"

    def __init__(self, env):
        self.process = subprocess.Popen([OD, "mcp"], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, env=env)
        super().__init__()

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        while "id" in message:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(f"od mcp ended: {message}")
            answer = json.loads(line)
            if answer.get("id") == message["id"]:
                return answer
        return None

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)


class Http(Client):
    name = "HTTP"

    def __init__(self, url):
        self.url, self.session = url + "/mcp", None
        super().__init__()

    def send(self, message):
        headers = {"Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream"}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        request = urllib.request.Request(self.url, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            text = answer.read().decode()
            self.session = answer.headers.get("Mcp-Session-Id") or self.session
            if "event-stream" in answer.headers.get("Content-Type", ""):
                data = [line[5:] for line in text.split("\n") if line.startswith("data:")]
                found = [json.loads(line) for line in data if line.strip()]
                return next(m for m in found if m.get("id") == message["id"])
            return json.loads(text) if text.strip() else None

    def close(self):
        pass


class Modern(Http):
    """The era without sessions: each request says all that is needed."""

    name = "HTTP, 2026-07-28"

    def __init__(self, url):
        self.url, self.last, self.bytes = url + "/mcp", 0, 0

    def send(self, message):
        meta = "io.modelcontextprotocol/"
        params = message["params"]
        params["_meta"] = {meta + "protocolVersion": "2026-07-28",
                           meta + "clientCapabilities": {},
                           meta + "clientInfo": HELLO["clientInfo"]}
        headers = {"Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream",
                   "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": message["method"]}
        if "name" in params:
            headers["Mcp-Name"] = params["name"]
        request = urllib.request.Request(self.url, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            text = answer.read().decode()
            if "event-stream" in answer.headers.get("Content-Type", ""):
                data = [line[5:] for line in text.split("\n") if line.startswith("data:")]
                found = [json.loads(line) for line in data if line.strip()]
                return next(m for m in found if m.get("id") == message["id"])
            return json.loads(text)


class Server:
    """One of our own, whose session main begins in the folder."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        log = os.path.join(T, "log")
        show_log(log)
        ready = tempfile.TemporaryFile(dir=T)
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                [OD, "serve", "--listen", "127.0.0.1:0", "--ready-fd", str(ready.fileno()),
                 "--working-dir", self.folder],
                stdout=out, stderr=out, pass_fds=[ready.fileno()])

        def address():
            ready.seek(0)
            text = ready.read().decode()
            return "ready" in text and re.search("^listening (.*)$", text, re.MULTILINE)

        where = wait_for(address, "the server is there", PATIENCE)[1]
        self.url = "http://" + where.split("//")[-1]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)

    def clients(self):
        return [Stdio(os.environ), Http(self.url), Modern(self.url)]

    def event(self, body):
        """An action of the event stream, with its observation."""
        request = urllib.request.Request(self.url + "/events", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def worker(self):
        """The pid of the worker: the keeper's child of that name."""
        found = subprocess.run(["pgrep", "-P", str(self.process.pid), "-f", "^od-worker$"],
                               stdout=subprocess.PIPE, text=True)
        return int(found.stdout) if found.stdout.strip() else None

    def kill_worker(self):
        old = self.worker()
        os.kill(old, signal.SIGKILL)
        wait_for(lambda: self.worker() not in (None, old), "another worker", PATIENCE)
