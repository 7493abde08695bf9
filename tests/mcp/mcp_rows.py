# SPDX-License-Identifier: MIT
"""Rows of MCP over HTTP and over standard input and output."""
import contextlib
import json
import os
import socket
import sys
import time

import wire_client as mcp
from wire_client import LEGACY, META, MODERN, Http, Stdio, call, request, text_of
from tap import LIMIT, Rows, Tap, has, holds, lacks, run_rows, same, wait_for

row = Rows()
ALL = ("--mcp-tools", "all")


@contextlib.contextmanager
def fixture(r):
    with mcp.server(*ALL, *r.options.get("options", ()), key=r.options.get("key")) as s:
        yield s


@contextlib.contextmanager
def stdio(server, *options):
    s = Stdio(server, "--tools", "all", *options)
    try:
        yield s
    finally:
        s.kill()


def error_of(message):
    return message["error"]["code"]


def session(server, revision=LEGACY, **more):
    c = Http(server, **more)
    c.begin(revision)
    return c


# --- legacy, over HTTP


@row("every revision is agreed on, and an unknown one gets the newest with sessions")
def _(server):
    for name in ("2024-11-05", "2025-03-26", "2025-06-18", LEGACY):
        result = Http(server).begin(name)
        same(result["protocolVersion"], name)
        same(result["serverInfo"]["name"], "od-computer")
        same(sorted(result["capabilities"]),
             ["completions", "logging", "prompts", "resources", "tools"])
        has(result["instructions"], "A whole computer", "wait_s 0")
    same(Http(server).begin("1999-01-01")["protocolVersion"], LEGACY)
    same(Http(server).begin(MODERN)["protocolVersion"], LEGACY)


@row("what belongs to a session needs one, of this client, that has not ended")
def _(server):
    c = session(server)
    holds(len(c.session) >= 32, c.session)
    same(c.ask(request(1, "ping"))["result"], {})
    same(Http(server).post(request(1, "ping")).status, 400)
    other = Http(server)
    other.session = "0" * 32
    for method, body in (("POST", request(1, "ping")), ("GET", None), ("DELETE", None)):
        same(other.send(method, body).status, 404, method)
    same(c.send("DELETE").status, 204)
    same(c.post(request(2, "ping")).status, 404)
    same(c.send("DELETE").status, 404)


@row("a session is only for the key that began it", key="first-key-of-the-server")
def _(server):
    c = session(server, key=server.key)
    made = mcp.subprocess.run([server.od, "serve", "--key-add", "other"], env=server.env,
                              capture_output=True, check=True, text=True).stdout.split()
    other = Http(server, key=max(made, key=len))
    other.session = c.session
    same(other.post(request(1, "ping")).status, 404)
    same(c.ask(request(1, "ping"))["result"], {})


@row("without the right key: 401 that names the scheme, and JSON where OAuth would be",
     key="first-key-of-the-server")
def _(server):
    for key in (None, "wrong"):
        answer = Http(server, key=key).post(request(1, "ping"))
        same((answer.status, answer.fields["www-authenticate"]), (401, "Bearer"))
        holds("error" in answer.json())
    for path in ("oauth-protected-resource", "oauth-protected-resource/mcp",
                 "oauth-authorization-server", "openid-configuration"):
        c = mcp.http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT)
        c.request("GET", "/.well-known/" + path)
        answer = c.getresponse()
        same((answer.status, answer.getheader("content-type")), (404, "application/json"), path)
        json.loads(answer.read())
        c.close()


@row("without a key nothing from a page, and no other name")
def _(server):
    c = Http(server)
    for fields in ({"Origin": "http://evil.example"}, {"Host": "evil.example"},
                   {"Sec-Fetch-Site": "cross-site"}):
        same(c.post(request(1, "initialize", protocolVersion=LEGACY), fields).status, 403, fields)


@row("an answer is as the request wants it: ids of all kinds come back as they were")
def _(server):
    c = session(server)
    for id in (0, -1, 2**53 - 1, "", "a\"b\\é\n", "1"):
        same(c.ask(request(id, "ping")), {"jsonrpc": "2.0", "id": id, "result": {}})


@row("messages that are none, and methods that are none")
def _(server):
    c = session(server)
    for body, status, code in (
            (b"{", 400, -32700), (b"", 400, -32700), (b'"a"', 400, -32600), (b"{}", 400, -32600),
            (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 400, -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":7}', 400, -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 400, -32600),
            (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, -32600),
            (b"[]", 400, -32600), (b'{"jsonrpc":"2.0","id":1,"method":"a\\u0000"}', 400, -32700),
            (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', 400, -32700),
            (b'{"a":' * 3000 + b"1" + b"}" * 3000, 400, -32700)):
        answer = c.post(body)
        same((answer.status, error_of(answer.json())), (status, code), body[:80])
    for method in ("nope", "prompts/other", "roots/list", "tasks/list"):
        same(error_of(c.ask(request(1, method))), -32601, method)
    same(error_of(c.ask(request(1, "logging/setLevel", level="loud"))), -32602)
    same(c.ask(request(1, "logging/setLevel", level="error"))["result"], {})
    same(error_of(c.ask(request(1, "tools/list", cursor="x"))), -32602)
    same(len(c.ask(request(1, "tools/list", cursor=""))["result"]["tools"]), 10)
    same(c.post({"jsonrpc": "2.0", "id": 9, "result": {}}).status, 202)
    same(c.post({"jsonrpc": "2.0", "method": "notifications/anything"}).status, 202)
    same(c.post(request(1, "ping"), {"MCP-Protocol-Version": "1999-01-01"}).status, 400)
    same(c.send("GET", accept="application/json").status, 405)
    same(c.send("PUT", b"x").status, 405)
    same(c.post(b'{"jsonrpc":"2.0","id":1,"x":"' + b"y" * (5 << 20) + b'"}').status, 413)


@row("a batch is taken at 2025-03-26 only")
def _(server):
    c = session(server, "2025-03-26")
    answer = c.post([request(1, "ping"), {"jsonrpc": "2.0", "method": "notifications/x"},
                     request("b", "nope"), request(3, "ping")])
    same(answer.status, 200)
    same([(m["id"], "result" in m) for m in answer.json()], [(1, True), ("b", False), (3, True)])
    answer = c.post([request(4, "ping"), call(5, "act", command="echo five")])
    found = {m["id"]: m for m in answer.all()}
    same(sorted(found), [4, 5])
    has(text_of(found[5]), "five")
    same(c.post([{"jsonrpc": "2.0", "method": "notifications/x"}]).status, 202)


@row("a tool's answer: text, notes and state, and arguments as models write them")
def _(server):
    c = session(server)
    same(text_of(c.ask(call(1, "test_simple_text"))), "This is a simple text response for testing.")
    same(c.ask(request(2, "tools/call", name="test_simple_text"))["result"]["content"][0]["type"],
         "text")
    answer = c.ask(call(3, "test_error_handling"))["result"]
    holds(answer["isError"])
    same([b["type"] for b in c.ask(call(4, "test_image_content"))["result"]["content"]],
         ["text", "image"])
    answer = c.ask(call(5, "act", cmd="echo hello", times="2", colour="red"))["result"]
    same(answer["content"][0]["text"],
         "0: hello\n1: hello\n(colour is not an argument of act and was ignored; it takes "
         "command, times?, session?)\n[done]")
    same((answer["_meta"]["od/result"], "structuredContent" in answer), ({"steps": 2}, False))
    answer = c.ask(call(6, "act"))["result"]
    same((answer["isError"], answer["content"][0]["text"]),
         (True, "command is missing; act needs {command, times?, session?}\n[failed]"))
    same(error_of(c.ask(call(7, "nothing"))), -32602)
    same(error_of(c.ask(request(8, "tools/call"))), -32602)
    same(error_of(c.ask(request(9, "tools/call", name="echo", arguments=[1]))), -32602)
    has(text_of(c.ask(call(10, "echo", text="a", wait_s=500))),
        '{"text":"a","wait_s":50} wait 50 bytes 16000\n(wait_s is at most 50 for this client: '
        "50 was used)\n[echoed]")


@row("limits of clients: by their names, and as the address says")
def _(server):
    def said(**more):
        return text_of(session(server, **more).ask(call(1, "echo", text="a")))
    has(said(client="claude-code"), "wait 240 bytes 16000")
    has(said(client="qwen-cli-mcp-client-computer"), "wait 240 bytes 16000")
    has(said(client="codex-mcp-client"), "wait 50 bytes 9500")
    has(said(query="?max_wait=7&answer_bytes=2000"), "wait 7 bytes 2000")
    for query in ("?max_wait=0", "?answer_bytes=1", "?tools=shall", "?max_wait=x"):
        same(Http(server, query=query).post(request(1, "initialize", protocolVersion=LEGACY)).status,
             400, query)
    c = session(server, query="?tools=echo&structured=1")
    same([t["name"] for t in c.ask(request(1, "tools/list"))["result"]["tools"]], ["echo"])
    same(error_of(c.ask(call(2, "act", command="true"))), -32602)


@row("structured content only where it is asked for, with its schema")
def _(server):
    c = session(server, query="?structured=1")
    tools = {t["name"]: t for t in c.ask(request(1, "tools/list"))["result"]["tools"]}
    same(tools["act"]["outputSchema"]["properties"]["steps"], {"type": "integer"})
    holds("outputSchema" not in tools["test_image_content"])
    answer = c.ask(call(2, "act", command="echo x"))["result"]
    same(answer["structuredContent"], {"steps": 1, "text": "0: x\n[done]"})
    plain = session(server).ask(request(1, "tools/list"))["result"]["tools"]
    holds(not any("outputSchema" in t for t in plain))


@row("progress: it rises, says what happens, and ends with the answer", slow=True)
def _(server):
    c = session(server)
    for token in (7, "a"):
        stream = c.post(call(1, "act", token, command="sleep 0.6", times=3))
        found = stream.all()
        same([m.get("id") for m in found], [None] * (len(found) - 1) + [1])
        told = [m["params"] for m in found[:-1]]
        holds(told and all(p["progressToken"] == token for p in told), told)
        holds(all(a["progress"] < b["progress"] for a, b in zip(told, told[1:])), told)
        has(told[-1]["message"], "step ")
    same(len(c.post(call(2, "act", command="sleep 0.6", times=3)).all()), 1)


@row("a stream is primed, has ids, and is gone on with where it was cut", slow=True)
def _(server):
    c = session(server)
    stream = c.post(call(1, "act", command="sleep 1; echo late"))
    same(stream.fields["cache-control"], "no-cache")
    same(stream.fields["x-accel-buffering"], "no")
    line = stream.response.readline().decode()
    has(line, "id: ")
    last = line[4:].strip()
    stream.close()
    again = c.send("GET", fields={"Last-Event-ID": last})
    same(again.status, 200)
    has(text_of(again.answer(1)), "late")
    same((again.primed, again.next()), (0, None), "the acknowledged priming event")
    after = c.send("GET", fields={"Last-Event-ID": again.last})
    same((after.all(), after.last), ([], None), "the acknowledged answer")
    # It was delivered, and is kept for who asks once more.
    once_more = c.send("GET", fields={"Last-Event-ID": last})
    has(text_of(once_more.answer(1)), "late")
    for bad in ("none-1", "x", last + "x", ""):
        same(c.send("GET", fields={"Last-Event-ID": bad}).status, 400, bad)
    older = session(server, "2025-06-18")
    stream = older.post(call(1, "act", command="true"))
    stream.all()
    same(stream.primed, 0)


@row("a connection that is lost stops nothing", slow=True)
def _(server):
    c = session(server)
    stream = c.post(call(1, "act", command=f"sleep 0.5; echo on >{server.work}/on"))
    stream.close()
    wait_for(lambda: os.path.exists(server.work + "/on"), "the command went on")


# What clients send as the reason, by who gave up: the client's clock, or a person.
REASONS = {
    "McpError: MCP error -32001: Request timed out": "late",  # TypeScript SDK 1
    "SdkError: Request timed out": "late",  # TypeScript SDK 2
    "TimeoutError: The operation was aborted due to timeout": "late",  # AbortSignal, Node
    "TimeoutError: The operation timed out.": "late",  # the same in Bun
    "TimeoutError: signal timed out": "late",  # the same in Chromium
    "timed out after 30s": "late",  # Python SDK 2
    "request timeout": "late",  # Rust SDK
    "context deadline exceeded": "late",  # Go SDK
    "MCP request cancelled by caller": "person",  # Codex, which says it of a time-out, too
    "AbortError: This operation was aborted": "person",  # TypeScript SDK
    "caller cancelled": "person",  # Python SDK 2
    "context canceled": "person",  # Go SDK
    "the user pressed Esc": "person",
    None: "person",
}


def runs(word):
    """Whether a process has this argument."""
    def words(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", encoding="latin-1") as file:
            return file.read().split("\0")
        return []
    return any(word in words(pid) for pid in os.listdir("/proc") if pid.isdigit())


@row("cancelled: the command ends and there is no answer; timed out: it goes on", slow=True)
def _(server):
    c = session(server)
    streams = []
    word = f"1{os.getpid()}."
    for n, (reason, who) in enumerate(REASONS.items()):
        mark = f"{server.work}/{n}"
        os.mkfifo(mark + "g")
        waits = f"read x <{mark}g" if who == "late" else f"exec sleep {word}{n}"
        streams.append(c.post(call(n, "act", session=f"s{n}",
                                   command=f"sh -c 'touch {mark}a; {waits}'; touch {mark}b")))
        wait_for(lambda m=mark: os.path.exists(m + "a"), "it runs")
        params = {"requestId": n, "reason": reason} if reason else {"requestId": n}
        same(c.post({"jsonrpc": "2.0", "method": "notifications/cancelled",
                     "params": params}).status, 202)
    for n, (reason, who) in enumerate(REASONS.items()):
        mark = f"{server.work}/{n}"
        same(streams[n].all(), [], reason)
        if who == "late":
            with open(mark + "g", "w") as gate:
                gate.write("go\n")
            wait_for(lambda m=mark: os.path.exists(m + "b"), f"{reason}: it goes on")
        else:
            wait_for(lambda w=f"{word}{n}": not runs(w), f"{reason}: it is stopped")
            holds(not os.path.exists(mark + "b"), f"{reason}: it went on")
    same(c.post({"jsonrpc": "2.0", "method": "notifications/cancelled",
                 "params": {"requestId": 99}}).status, 202)
    has(text_of(c.ask(call(100, "act", command="echo fine", session=f"s{n}"))), "fine")


@row("two requests with one id: the second one is refused while the first is at work", slow=True)
def _(server):
    c = session(server)
    first = c.post(call(1, "act", command="sleep 1; echo first"))
    second = c.ask(call(1, "echo", text="x"))
    same(error_of(second), -32600)
    has(text_of(first.answer(1)), "first")


@row("the session's own stream opens, is one, and ends with the session")
def _(server):
    c = session(server)
    first = c.send("GET")
    same((first.status, first.sse), (200, True))
    second = c.send("GET")
    same(first.next(), None)
    same(c.send("DELETE").status, 204)
    same(second.next(), None)


@row("three calls at once, each on its own stream")
def _(server):
    c = session(server)
    streams = [c.post(call(n, "act", command=f"sleep 0.3; echo n{n}", session=f"s{n}"))
               for n in range(3)]
    for n, stream in enumerate(streams):
        has(text_of(stream.answer(n)), f"n{n}")


@row("a client that never reads holds nobody else up")
def _(server):
    c = session(server)
    body = json.dumps(call(1, "echo", text="z" * 30000)).encode()
    s = socket.create_connection(("127.0.0.1", server.port), LIMIT)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    head = (f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {c.session}\r\n"
            f"Accept: text/event-stream, application/json\r\nContent-Length: {len(body)}\r\n\r\n")
    s.settimeout(0.5)
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < 2000:
            s.sendall(head.encode() + body)
            sent += 1
    holds(sent < 2000, "the server read all of it without an answer being taken")
    same(c.ask(request(2, "ping"))["result"], {})
    s.close()
    same(c.ask(request(3, "ping"))["result"], {})


@row("over a crash: session, stream and call go on, and the command runs once", slow=True)
def _(server):
    c = session(server)
    done = c.post(call(1, "act", command="echo before"))
    has(text_of(done.answer(1)), "before")
    first = done.last
    stream = c.post(call(2, "act", 5, command=f"echo x >>{server.work}/count; sleep 2; echo after",
                         times=2))
    stream.next()
    last = stream.last
    wait_for(lambda: os.path.exists(server.work + "/count"), "it runs")
    server.crash()
    again = c.send("GET", fields={"Last-Event-ID": last})
    same(again.status, 200)
    same(text_of(again.answer(2)), "0: after\n1: after\n[done, again, wait 50 bytes 16000]")
    with open(server.work + "/count", encoding="ascii") as file:
        same(file.read(), "x\nx\n")
    # What was answered before the crash is there, too.
    has(text_of(c.send("GET", fields={"Last-Event-ID": first.split("-")[0] + "-0"}).answer(1)),
        "before")
    same(c.ask(request(9, "ping"))["result"], {})


@row("resources: files and the output of commands, by templates")
def _(server):
    c = session(server)
    def read(uri):
        return c.ask(request(3, "resources/read", uri=uri))
    with open(server.work + "/a b", "w", encoding="utf-8") as file:
        file.write("é\n")
    uri = f"file://{server.work}/a%20b"
    same(read(uri)["result"]["contents"], [{"uri": uri, "mimeType": "text/plain", "text": "é\n"}])
    with open(server.work + "/bytes", "wb") as file:
        file.write(b"\xff\0")
    same(read(f"file://{server.work}/bytes")["result"]["contents"][0]["blob"], "/wA=")
    with open(server.work + "/large", "wb") as file:
        file.truncate(5 << 20)
    for bad, code in ((f"file://{server.work}/none", -32002), ("file://x", -32602),
                      (f"file://{server.work}/large", -32602), (f"file://{server.work}", -32602),
                      ("od://output/999999", -32002), ("od://output/x", -32002),
                      ("od://output/1?from_line=0", -32602), ("http://x", -32002), ("", -32002)):
        answer = read(bad)["error"]
        same((answer["code"], answer["data"]["uri"]), (code, bad))
    c.ask(call(4, "act", command="seq 1000"))
    same(read("od://output/1?from_line=500&to_line=502")["result"]["contents"][0]["text"],
         "500\n501\n502\n")
    same(read("od://output/1")["result"]["contents"][0]["text"].count("\n"), 1000)
    gone = Http(server).modern(request(5, "resources/read", uri="od://output/999999"),
                               {"Mcp-Name": "od://output/999999"})
    same((gone.status, error_of(gone.json())), (400, -32602))


# --- modern


@row("modern: a request stands for itself")
def _(server):
    c = Http(server)
    answer = c.modern(request(1, "server/discover"))
    result = answer.json()["result"]
    same((answer.status, result["supportedVersions"][0], result["resultType"]),
         (200, MODERN, "complete"))
    same(result["_meta"][META + "serverInfo"]["name"], "od-computer")
    holds("mcp-session-id" not in answer.fields)
    result = c.modern(request(2, "tools/list")).json()["result"]
    holds(result["ttlMs"] >= 0 and result["cacheScope"] == "private", result)
    same(len(result["tools"]), 10)
    result = c.modern(call(3, "act", command="echo modern")).answer(3)["result"]
    same((result["content"][0]["text"], result["resultType"]), ("0: modern\n[done]", "complete"))


@row("modern: what is wrong has its code and status")
def _(server):
    c = Http(server)

    def wrong(message, fields=None, **meta):
        answer = c.modern(message, fields, **meta)
        return answer.status, error_of(answer.json())
    for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "nope"):
        same(wrong(request(1, method)), (404, -32601), method)
    same(wrong(request(1, "tools/list"), {"Mcp-Method": "tools/call"}), (400, -32020))
    same(wrong(request(1, "tools/list"), {"Mcp-Method": None}), (400, -32020))
    same(wrong(request(1, "tools/list"), {"Mcp-Method": "TOOLS/LIST"}), (400, -32020))
    same(wrong(call(1, "echo", text="a"), {"Mcp-Name": "act"}), (400, -32020))
    same(wrong(request(1, "tools/list"), {"MCP-Protocol-Version": LEGACY}), (400, -32020))
    same(wrong(request(1, "tools/list"), {"MCP-Protocol-Version": "2030-01-01"},
               **{META + "protocolVersion": "2030-01-01"}), (400, -32022))
    same(wrong(request(1, "tools/list"), **{META + "clientCapabilities": None}), (400, -32602))
    same(wrong(call(1, "nothing")), (400, -32602))
    answer = c.post(request(1, "tools/list"), {"MCP-Protocol-Version": MODERN})
    same((answer.status, error_of(answer.json())), (400, -32602))
    encoded = c.modern(call(1, "echo", text="a"), {"Mcp-Name": "=?base64?ZWNobw==?="})
    same(encoded.status, 200)


@row("modern: closing the connection cancels", slow=True)
def _(server):
    c = Http(server)
    mark = server.work + "/m"
    message = call(1, "act", 1, command=f"touch {mark}a; sleep 2; touch {mark}b; sleep 60")
    body = json.dumps({**message, "params": {
        **message["params"], "_meta": {META + "protocolVersion": MODERN,
                                       META + "clientCapabilities": {}}}}).encode()
    s = socket.create_connection(("127.0.0.1", server.port), LIMIT)
    s.sendall((f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nMCP-Protocol-Version: {MODERN}\r\n"
               "Mcp-Method: tools/call\r\nMcp-Name: act\r\nAccept: text/event-stream\r\n"
               f"Content-Length: {len(body)}\r\n\r\n").encode() + body)
    wait_for(lambda: os.path.exists(mark + "a"), "it runs")
    s.close()
    has(text_of(c.modern(call(2, "act", command="echo free")).answer(2)), "free")
    holds(not os.path.exists(mark + "b"), "it was stopped")


@row("modern: subscriptions are acknowledged and end with the server", slow=True)
def _(server):
    c = Http(server)
    stream = c.modern(request("s", "subscriptions/listen", notifications={"toolsListChanged": True}))
    told = stream.next()
    same((told["method"], told["params"]["notifications"]),
         ("notifications/subscriptions/acknowledged", {}))
    same(told["params"]["_meta"][META + "subscriptionId"], "s")
    server.process.terminate()
    same(stream.answer("s")["result"]["resultType"], "complete")


# --- standard input and output


@row("od mcp: messages and nothing else, until its input ends")
def _(server):
    with stdio(server) as s:
        same(s.begin()["protocolVersion"], LEGACY)
        same(len(s.ask(request(1, "tools/list"))["result"]["tools"]), 10)
        same(text_of(s.ask(call(2, "act", command="echo $0; pwd"))).splitlines()[-1], "[done]")
        s.write(b"{nonsense\n\n   \n[]\n")
        same(error_of(s.next()), -32700)
        same(error_of(s.next()), -32600)
        same(error_of(s.ask(request(3, "nope"))), -32601)
        same(s.ask(request(4, "ping"))["result"], {})
        same(s.end(), (b"", 0, b""))


@row("od mcp: both eras on one connection")
def _(server):
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
    with stdio(server) as s:
        result = s.ask(request(1, "server/discover", _meta=meta))["result"]
        same((result["supportedVersions"][0], result["resultType"]), (MODERN, "complete"))
        same(error_of(s.ask(request(2, "ping", _meta=meta))), -32601)
        same(error_of(s.ask(request(3, "ping", _meta={**meta, META + "protocolVersion": "x"}))),
             -32022)
        s.begin()
        same(s.ask(request(4, "ping"))["result"], {})
        holds("resultType" in s.ask(request(5, "tools/list", _meta=meta))["result"])


@row("od mcp: its options, and what is wrong with them")
def _(server):
    with stdio(server, "--max-wait", "9", "--answer-bytes", "3000", "--here", "--structured") as s:
        has(s.begin()["instructions"], "Tools on this machine")
        has(text_of(s.ask(call(1, "echo", text="a"))), "wait 9 bytes 3000")
        same(s.ask(call(2, "act", command="true"))["result"]["structuredContent"]["steps"], 1)
    for words, why in ((["--tools", "spoons"], b"there is no tool or set spoons"),
                       (["--max-wait", "x"], b"takes a number"), (["--nope"], b"no option"),
                       (["--max-wait", "9999"], b"max_wait is a number from 1 to 600")):
        done = mcp.subprocess.run([server.od, "mcp", *words], env=server.env, capture_output=True,
                                  stdin=mcp.subprocess.DEVNULL, check=False, timeout=LIMIT)
        same((done.returncode, done.stdout), (125, b""), words)
        has(done.stderr, why)


@row("od mcp: large messages come whole, and what is too large is refused")
def _(server):
    with stdio(server) as s:
        s.begin()
        text = "é" * 40000
        has(text_of(s.ask(call(1, "echo", text=text)))[:200], "éé")
        s.send(request(2, "ping", pad="x" * (3 << 20)))
        same(s.answer(2)["result"], {})
        s.send(request(3, "ping", pad="x" * (5 << 20)))
        same(error_of(s.next()), -32600)
        same(s.ask(request(4, "ping"))["result"], {})


@row("od mcp: over a crash of the worker the call goes on and is answered once", slow=True)
def _(server):
    with stdio(server, "--max-wait", "9", "--answer-bytes", "3000", "--structured") as s:
        s.begin()
        has(text_of(s.ask(call(1, "act", command="echo before"))), "before")
        s.send(call(2, "act", "token", command=f"echo x >>{server.work}/count; sleep 3; echo after",
                    times=2, unknown=1))
        wait_for(lambda: os.path.exists(server.work + "/count"), "it runs")
        s.write(b'{"jsonrpc":"2.0","id":3,')
        server.crash()
        s.write(b'"method":"ping"}\n')
        found = [s.next()]
        while found[-1].get("id") != 2:
            found.append(s.next())
        same(sorted(m["id"] for m in found if "id" in m), [2, 3])
        # What was asked for with the call is known: its limits, its shape, its progress.
        answer = found[-1]
        has(text_of(answer), "0: after\n1: after\n(unknown is not an argument of act",
            ")\n[done, again, wait 9 bytes 3000]")
        same(answer["result"]["structuredContent"]["steps"], 2)
        told = [m["params"] for m in found if m.get("method") == "notifications/progress"]
        holds(told and all(p["progressToken"] == "token" for p in told), told)
        same(s.end(), (b"", 0, b""))
    with open(server.work + "/count", encoding="ascii") as file:
        same(file.read(), "x\nx\n")


@row("od mcp: the end of its input and a signal leave what runs alone", slow=True)
def _(server):
    for n, leave in enumerate(("end", "signal")):
        with stdio(server) as s:
            s.begin()
            s.send(call(1, "act", command=f"touch {server.work}/{n}a; sleep 1; touch {server.work}/{n}b",
                        session=f"s{n}"))
            wait_for(lambda n=n: os.path.exists(f"{server.work}/{n}a"), "it runs")
            if leave == "end":
                same(s.end()[:2], (b"", 0))
            else:
                s.process.terminate()
                same(s.process.wait(LIMIT), 0)
        wait_for(lambda n=n: os.path.exists(f"{server.work}/{n}b"), "it went on")


@row("od mcp: cancelled and timed out, as over HTTP", slow=True)
def _(server):
    with stdio(server) as s:
        s.begin()
        s.send(call("c", "act", command=f"touch {server.work}/a; sleep 60"))
        wait_for(lambda: os.path.exists(server.work + "/a"), "it runs")
        s.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": "c", "reason": "AbortError"}})
        has(text_of(s.ask(call(2, "act", command="echo free"))), "free")


if __name__ == "__main__":
    tap = Tap()
    run_rows(tap, [("mcp", r, fixture) for r in row
                   if all(word in r.name for word in sys.argv[1:])], at_once=6)
    sys.exit(tap.done())
