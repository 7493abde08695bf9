# SPDX-License-Identifier: MIT
"""A client of /mcp as an agent is one: a session, tools that are called, calls that its
user stops, or that it gives up."""
import http.client
import itertools
import json
import threading
import urllib.request

from tap import LIMIT, holds, wait_for

numbers = itertools.count(1)


class Said:
    """The result of a call: its text, the state line without brackets, isError."""

    def __init__(self, result):
        self.result = result
        self.error = result.get("isError", False)
        self.blocks = result["content"]
        self.text = "\n".join(x["text"] for x in self.blocks if x["type"] == "text")
        if self.error:  # so also for a client that drops isError
            holds(self.text.endswith("\n[failed]"), self.text)
            self.text = self.text.removesuffix("\n[failed]")
        self.lines = self.text.split("\n")
        last = self.lines[-1]
        self.state = last[1:-1] if last.startswith("[") and last.endswith("]") else ""
        self.body = "\n".join(self.lines[:-1]) if self.state else self.text
        self.object = result["_meta"]["od/result"]

    def __repr__(self):
        return f"{'ERROR ' if self.error else ''}{self.text!r}"


MODERN, META = "2026-07-28", "io.modelcontextprotocol/"


class Client:
    """modern: each request is one of the era without sessions, and notifications have no
    effect."""

    def __init__(self, url, name="eval", modern=False):
        self.url = url + "/mcp"
        self.session = None
        self.bytes = 0
        self.modern = modern
        self.name = name
        if modern:
            return
        hello = {"protocolVersion": "2025-11-25", "capabilities": {},
                 "clientInfo": {"name": name, "version": "1"}}
        self.ask("initialize", hello)
        self.notify("notifications/initialized")

    def post(self, message, limit=3 * LIMIT):
        headers = {"Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream"}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        if self.modern:
            params = message["params"]
            params["_meta"] = {META + "protocolVersion": MODERN, META + "clientCapabilities": {},
                               META + "clientInfo": {"name": self.name, "version": "1"},
                               **params.get("_meta", {})}
            headers.update({"MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]})
            if "name" in params:
                headers["Mcp-Name"] = params["name"]
        request = urllib.request.Request(self.url, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request, timeout=limit) as reply:
            self.session = reply.headers.get("Mcp-Session-Id") or self.session
            kind = reply.headers.get("Content-Type", "")
            try:
                return reply.read().decode(), kind
            except http.client.IncompleteRead as error:
                return self.resume(error.partial.decode(), limit), kind

    def resume(self, text, limit):
        """The rest of a stream whose connection broke."""
        last = [x[3:].strip() for x in text.splitlines() if x.startswith("id:")][-1]
        headers = {"Accept": "text/event-stream", "Mcp-Session-Id": self.session,
                   "Last-Event-ID": last}

        def rest():
            try:
                request = urllib.request.Request(self.url, headers=headers)
                with urllib.request.urlopen(request, timeout=limit) as reply:
                    return reply.read().decode()
            except OSError:
                return None  # no worker yet

        return wait_for(rest, "the stream again")

    def notify(self, method, **params):
        self.post({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method, params, limit=3 * LIMIT, id=None, seen=None):
        """The result; what else comes on its stream goes to seen."""
        id = id or next(numbers)
        text, kind = self.post(
            {"jsonrpc": "2.0", "id": id, "method": method, "params": params}, limit)
        if "event-stream" in kind:
            data = [x[5:].strip() for x in text.splitlines() if x.startswith("data:")]
            answers = [json.loads(x) for x in data if x]
        else:
            answers = [json.loads(text)] if text else []
        for answer in answers:
            if answer.get("id") == id:
                holds("result" in answer, answer)
                return answer["result"]
            if seen is not None:
                seen.append(answer)
        return None

    def tool(self, name, id=None, seen=None, **args):
        params = {"name": name, "arguments": args}
        if seen is not None:
            params["_meta"] = {"progressToken": f"p{next(numbers)}"}
        result = self.ask("tools/call", params, id=id, seen=seen)
        if result is None:
            return None
        said = Said(result)
        self.bytes += len(said.text.encode())
        return said

    def begin(self, name, **args):
        """A call in the background; .end() waits for what it says."""
        return Begun(self, name, args)

    def stop(self, begun, reason):
        self.notify("notifications/cancelled", requestId=begun.id, reason=reason)


class Begun:
    def __init__(self, client, name, args):
        self.id, self.said, self.failed = next(numbers), None, None
        self.thread = threading.Thread(target=self.run, args=(client, name, args))
        self.thread.start()

    def run(self, client, name, args):
        try:
            self.said = client.tool(name, id=self.id, **args)
        except (OSError, http.client.HTTPException) as error:
            self.failed = error

    def end(self):
        self.thread.join(3 * LIMIT)
        holds(not self.thread.is_alive(), "the call ended")
        return self.said
