# SPDX-License-Identifier: MIT
"""Rows of MCP's resources: reading, subscriptions, completion; lists in pages; and log
messages. Those with plain=True are of the program as it is, the others of the fixture."""
import contextlib
import json
import os
import shutil
import sys
import urllib.request

import wire_client as mcp
from wire_client import LEGACY, META, MODERN, Http, Stdio, call, request, text_of
from tap import Rows, Tap, has, holds, run_rows, same, wait_for

row = Rows()
PLAIN = os.environ["OD_PLAIN"]
META_OF = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}


@contextlib.contextmanager
def fixture(r):
    plain = r.options.get("plain")
    with mcp.server(*(() if plain else ("--mcp-tools", "all")), od=PLAIN if plain else None) as s:
        yield s


def begun(server, revision=LEGACY):
    c = Http(server)
    c.begin(revision)
    return c


def error_of(message):
    return message["error"]["code"]


def write(path, text="x"):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def replace(path, text="y"):
    """As editors do it."""
    write(path + ".new", text)
    os.rename(path + ".new", path)


def subscribe(c, path, method="subscribe"):
    return c.ask(request("s", "resources/" + method, uri=f"file://{path}"))


def updates(stream, path, count=1):
    """Reads so many updates of a file, and nothing else."""
    for _ in range(count):
        message = stream.next()
        same((message["method"], message["params"]["uri"]),
             ("notifications/resources/updated", f"file://{path}"))


def read(c, uri):
    return c.ask(request("r", "resources/read", uri=uri))


def metric(server, name):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as reply:
        lines = reply.read().decode().splitlines()
    return [int(x.split()[1]) for x in lines if x.split()[0].endswith(name)][0]


# --- lists


@row("a list comes in pages, and a cursor is only for its own list")
def _(server):
    c = begun(server)
    found, cursor, cursors = [], None, []
    while True:
        more = {"cursor": cursor} if cursor is not None else {}
        result = c.ask(request(1, "resources/list", **more))["result"]
        same(c.ask(request(2, "resources/list", **more))["result"], result)
        found += [x["uri"] for x in result["resources"]]
        if "nextCursor" not in result:
            break
        cursor = result["nextCursor"]
        cursors.append(cursor)
        holds(len(result["resources"]) == 50, len(result["resources"]))
    same(len(cursors), 2)
    same(found, sorted(set(found)))
    same(len([x for x in found if x.startswith("test://item/")]), 120)
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        for fine in ("", None):
            holds("result" in c.ask(request(3, method, cursor=fine)), method, fine)
        bad = ["x", "====", "bm9uc2Vuc2U=", "cmVzb3VyY2Vz", 7, {}, ["a"], True]
        for cursor in bad + ([] if method == "resources/list" else cursors):
            same(error_of(c.ask(request(4, method, cursor=cursor))), -32602, (method, cursor))
    # A session that comes between two pages moves nothing.
    c.ask(call(5, "act", command="true", session="aaa"))
    after = c.ask(request(6, "resources/list", cursor=cursors[0]))["result"]["resources"]
    same(after[0]["uri"], found[50])


@row("resources that are listed: the log and the screens of sessions; the others are templates",
     plain=True)
def _(server):
    c = begun(server)
    same(c.ask(request(1, "initialize", protocolVersion=LEGACY))["result"]["capabilities"],
         {"tools": {}, "resources": {"subscribe": True}, "completions": {}, "logging": {}})
    same(Http(server).modern(request(1, "server/discover")).json()["result"]["capabilities"],
         {"tools": {}, "resources": {"subscribe": True}, "completions": {}, "logging": {}})
    same([x["uri"] for x in c.ask(request(2, "resources/list"))["result"]["resources"]],
         ["od://events"])
    c.ask(call(3, "shell", command="true", session="web"))
    c.ask(call(4, "shell", command="true"))
    listed = c.ask(request(5, "resources/list"))["result"]["resources"]
    same([x["uri"] for x in listed],
         ["od://events", "od://session/main/screen", "od://session/web/screen"])
    holds(all(x["name"] and x["mimeType"] and x["description"] for x in listed), listed)
    templates = c.ask(request(6, "resources/templates/list"))["result"]["resourceTemplates"]
    same([t["uriTemplate"] for t in templates],
         ["file:///{+path}", "od://output/{number}{?from_line,to_line}",
          "od://session/{name}/screen", "od://events{?from}"])
    result = Http(server).modern(request(7, "resources/list")).json()["result"]
    same((result["ttlMs"], result["cacheScope"]), (0, "private"))
    for method in ("prompts/list", "prompts/get"):
        same(error_of(c.ask(request(8, method))), -32601)


# --- contents


@row("the screen of a session: its last lines, and a program that draws on all of it")
def _(server):
    c = begun(server)

    def screen(session="main"):
        return read(c, f"od://session/{session}/screen")["result"]["contents"][0]["text"]
    c.ask(call(1, "act", command="seq 300; printf 'bar 1\\rbar 2\\n'"))
    lines = screen().split("\n")
    holds(lines[-2:] == ["bar 2", ""] and lines[-3] == "300" and len(lines) <= 51, lines)
    stream = c.post(call(2, "act", command="printf '\\033[?1049h\\033[2J\\033[3;4Hdrawn'; read x; "
                         "printf '\\033[?1049l'"))
    wait_for(lambda: "drawn" in screen(), "it is drawn")
    same(screen().rstrip("\n").split("\n"), ["", "", "   drawn"])
    stream.close()
    c.ask(call(3, "act", command="echo here", session="a-b"))
    has(screen("a%2Db"), "here")
    for bad in ("od://session/none/screen", "od://session/main", "od://session//screen",
                "od://session/%zz/screen", "od://session/" + "x" * 500 + "/screen",
                "od://session/main/screen/screen"):
        same(error_of(read(c, bad)), -32002, bad)
    same(error_of(c.ask(request(4, "resources/subscribe", uri="od://session/main/screen"))), -32602)


@row("the log of events: pages, and how to read on")
def _(server):
    c = begun(server)
    for _ in range(6):
        c.ask(call(1, "act", command="true # " + "x" * 60000))

    def page(uri):
        one = read(c, uri)["result"]["contents"][0]
        same((one["uri"], one["mimeType"]), (uri, "application/x-ndjson"))
        return [json.loads(line) for line in one["text"].splitlines()], one["_meta"]
    uri, ids, pages = "od://events?from=1", [], 0
    while True:
        lines, meta = page(uri)
        ids += [x["id"] for x in lines]
        uri, pages = meta["od/next"], pages + 1
        if not meta["od/more"]:
            break
    same(ids, list(range(1, len(ids) + 1)))
    holds(pages > 1 and len(ids) >= 12, pages, ids)
    same([x["id"] for x in page("od://events?from=-2")[0]], ids[-2:])
    same([x["id"] for x in page("od://events?from=-2000")[0]][0], 1)
    same([x["id"] for x in page("od://events")[0]][0], 1)
    same(page(f"od://events?from={ids[-1] + 1}"),
         ([], {"od/next": f"od://events?from={ids[-1] + 1}", "od/more": False}))
    for bad, code in (("od://events?from=0", -32602), ("od://events?from=x", -32602),
                      ("od://events?from=%zz", -32602), ("od://events?from=", -32602),
                      ("od://events?from=99999999999999999999", -32602),
                      ("od://eventsful", -32002), ("od://events/1", -32002)):
        same(error_of(read(c, bad)), code, bad)


@row("an answer that is too long is refused, and a part of it is not")
def _(server):
    c = begun(server)
    c.ask(call(1, "act", command="yes '" + '"' * 99 + "' | head -n 60000"))
    answer = read(c, "od://output/1")
    same(error_of(answer), -32603)
    has(answer["error"]["message"], "ask for less")
    same(read(c, "od://output/1?from_line=2&to_line=3")["result"]["contents"][0]["text"],
         ('"' * 99 + "\n") * 2)
    same(error_of(read(c, "od://output/1?from_line=%zz")), -32602)


# --- completion


@row("completion: paths below the working directory, names of sessions")
def _(server):
    c = begun(server)

    def complete(uri, name, value, **more):
        return c.ask(request(1, "completion/complete", ref={"type": "ref/resource", "uri": uri},
                             argument={"name": name, "value": value}, **more))

    def values(*words):
        return complete(*words)["result"]["completion"]
    file = "file:///{+path}"
    work = server.work[1:] + "/"
    for name in ("apple", "apricot", "banana", "é b"):
        write(server.work + "/" + name)
    os.mkdir(server.work + "/apps")
    for value in ("", work[:3], work[:-1]):
        same(values(file, "path", value), {"values": [work], "total": 1, "hasMore": False})
    same(values(file, "path", work + "ap")["values"],
         [work + "apple", work + "apps/", work + "apricot"])
    same(len(values(file, "path", work)["values"]), 5)
    same(values(file, "path", work + "é")["values"], [work + "é b"])
    for other in ("etc/pa", work + "none/x", work + "../", work + "apple/", "\u0001", "x" * 9000):
        same(values(file, "path", other), {"values": [], "total": 0, "hasMore": False}, other)
    for i in range(130):
        write(f"{server.work}/apps/{i:03}")
    many = values(file, "path", work + "apps/")
    same((len(many["values"]), many["total"], many["hasMore"]), (100, 130, True))
    for name in ("web", "main", "web2"):
        c.ask(call(2, "act", command="true", session=name))
    screen = "od://session/{name}/screen"
    same(values(screen, "name", "w")["values"], ["web", "web2"])
    same(values(screen, "name", "")["values"], ["main", "web", "web2"])
    same(values("od://events{?from}", "from", "")["values"], [])
    same(complete(file, "path", "", context={"arguments": {"a": "b"}})["result"]["completion"]
         ["values"], [work])
    for bad in (complete("file:///x", "path", ""), complete(file, "name", ""),
                complete(file, "path", 7), complete(file, 7, ""), complete(7, "path", ""),
                c.ask(request(3, "completion/complete")),
                c.ask(request(3, "completion/complete", ref={"type": "ref/resource", "uri": file})),
                c.ask(request(3, "completion/complete", ref=[], argument=[])),
                c.ask(request(3, "completion/complete", ref={"type": "ref/other", "uri": file},
                              argument={"name": "path", "value": ""}))):
        same(error_of(bad), -32602, bad)
    modern = Http(server).modern(request(4, "completion/complete", argument={"name": "name",
                                 "value": "m"}, ref={"type": "ref/resource", "uri": screen}))
    same(modern.json()["result"]["completion"]["values"], ["main"])


# --- subscriptions


@row("a subscription: each way that a file changes is told, until it is unsubscribed")
def _(server):
    c = begun(server)
    path = server.work + "/a b"
    uri = f"file://{server.work}/a%20b"
    same(c.ask(request(1, "resources/subscribe", uri=uri))["result"], {})
    same(c.ask(request(1, "resources/subscribe", uri=uri))["result"], {})
    other = server.work + "/other"
    same(subscribe(c, other)["result"], {})
    own = c.send("GET")

    def told():
        same(own.next()["params"], {"uri": uri})
    for change in (lambda: write(path), lambda: write(path, "longer"), lambda: replace(path),
                   lambda: os.chmod(path, 0o600), lambda: os.remove(path)):
        change()
        told()
    same(c.ask(request(1, "resources/unsubscribe", uri=uri))["result"], {})
    same(c.ask(request(1, "resources/unsubscribe", uri=uri))["result"], {})
    write(path)
    replace(other)
    while (message := own.next())["params"]["uri"] == uri:
        pass  # of an earlier change
    same(message["params"]["uri"], f"file://{other}")
    same(metric(server, "mcp_subscriptions"), 1)
    same(c.send("DELETE").status, 204)
    same(metric(server, "mcp_subscriptions"), 0)


@row("many changes are few updates, and those that nobody could read are one")
def _(server):
    c = begun(server)
    path, last = server.work + "/busy", server.work + "/last"
    for each in (path, last):
        same(subscribe(c, each)["result"], {})
    for _ in range(500):
        write(path)
    own = c.send("GET")
    for _ in range(500):
        write(path)
    write(last)
    count = 0
    while own.next()["params"]["uri"] == f"file://{path}":
        count += 1
    holds(0 < count < 100, count)


@row("a file that stays open: the end of what is written to it is told")
def _(server):
    c = begun(server)
    path = server.work + "/log"
    same(subscribe(c, path)["result"], {})
    own = c.send("GET")
    with open(path, "w", encoding="utf-8") as file:
        file.write("first")
        file.flush()
        updates(own, path)
        file.write("second")
        file.flush()
        updates(own, path)


@row("what cannot be subscribed to has its error")
def _(server):
    c = begun(server)
    os.mkdir(server.work + "/folder")
    os.symlink("/etc", server.work + "/out")
    write(server.work + "/f")
    work = f"file://{server.work}"
    for bad, code, name in (
            ("file:///etc/passwd", -32602, "DENIED"), (work + "/../x", -32602, "DENIED"),
            (work + "/out/passwd", -32602, "DENIED"), (work + "/none/x", -32002, "NOTFOUND"),
            (work + "/f/x", -32002, "NOTFOUND"), (work + "/folder/", -32602, "INVALID"),
            (work + "/..", -32602, "INVALID"), ("file://x", -32602, "INVALID"),
            (work + "/%ff", -32602, "INVALID"), (work + "/%00", -32602, "INVALID"),
            (work + "/%z", -32602, "INVALID"), ("od://output/1", -32602, "UNSUPPORTED"),
            ("od://events?from=1", -32602, "UNSUPPORTED"), ("http://x", -32002, "NOTFOUND"),
            ("x" * 4096, -32002, "NOTFOUND")):
        answer = c.ask(request(1, "resources/subscribe", uri=bad))["error"]
        same((answer["code"], answer["data"]), (code, {"uri": bad, "code": name}))
    for method in ("resources/subscribe", "resources/unsubscribe"):
        for bad in ("", None, 7, [], {}, "x" * 4097):
            same(error_of(c.ask(request(2, method, uri=bad))), -32602, (method, bad))
        same(error_of(c.ask(request(3, method))), -32602)
        modern = Http(server).modern(request(4, method, uri=work + "/f"))
        same((modern.status, error_of(modern.json())), (404, -32601))
    same(metric(server, "mcp_subscriptions"), 0)


@row("there is a limit of subscriptions and of folders, and what ends makes room")
def _(server):
    c = begun(server)
    for i in range(64):
        same(subscribe(c, f"{server.work}/{i}")["result"], {})
    answer = subscribe(c, server.work + "/more")["error"]
    same((answer["code"], answer["data"]["code"]), (-32602, "LIMIT"))
    has(answer["message"], "64 resources")
    same(subscribe(c, server.work + "/0", "unsubscribe")["result"], {})
    same(subscribe(c, server.work + "/more")["result"], {})
    other = begun(server)
    for i in range(32):
        os.mkdir(f"{server.work}/d{i}")
    for i in range(31):
        same(subscribe(other, f"{server.work}/d{i}/f")["result"], {})
    answer = subscribe(other, server.work + "/d31/f")["error"]
    same((answer["code"], answer["data"]["code"]), (-32602, "LIMIT"))
    has(answer["message"], "32 folders")
    same(subscribe(other, server.work + "/d0/f", "unsubscribe")["result"], {})
    same(subscribe(other, server.work + "/d31/f")["result"], {})


@row("a folder that is removed: an update, and then the end of the subscription is told")
def _(server):
    c = begun(server)
    same(c.ask(request(1, "logging/setLevel", level="warning"))["result"], {})
    folder = server.work + "/d"
    os.mkdir(folder)
    write(folder + "/f")
    same(subscribe(c, folder + "/f")["result"], {})
    own = c.send("GET")
    shutil.rmtree(folder)
    message = own.next()
    while message["method"] == "notifications/resources/updated":
        same(message["params"]["uri"], f"file://{folder}/f")
        message = own.next()
    same((message["method"], message["params"]["level"], message["params"]["logger"]),
         ("notifications/message", "warning", "resources"))
    has(message["params"]["data"], f"file://{folder}/f ended")
    same(metric(server, "mcp_subscriptions"), 0)
    os.mkdir(folder)
    same(subscribe(c, folder + "/f")["result"], {})
    write(folder + "/f")
    updates(own, folder + "/f")


@row("over a crash of the worker subscriptions and the level go on", slow=True)
def _(server):
    c = begun(server)
    path = server.work + "/f"
    same(subscribe(c, path)["result"], {})
    same(c.ask(request(1, "logging/setLevel", level="warning"))["result"], {})
    server.crash()
    own = c.send("GET")
    found = [own.next(), own.next()]
    same(sorted(m["method"] for m in found),
         ["notifications/message", "notifications/resources/updated"])
    said = [m["params"] for m in found if "data" in m["params"]][0]
    same((said["level"], said["logger"]), ("warning", "server"))
    has(said["data"], "worker was started again")
    same(metric(server, "mcp_subscriptions"), 1)
    replace(path)
    updates(own, path)


@row("the log of events can be subscribed to")
def _(server):
    c = begun(server)
    same(c.ask(request(1, "resources/subscribe", uri="od://events"))["result"], {})
    own = c.send("GET")
    c.ask(call(2, "act", command="true"))
    same(own.next()["params"], {"uri": "od://events"})


# --- the modern era


@row("modern: a listening request is told what is granted, then of changes")
def _(server):
    c = Http(server)
    path = server.work + "/f"
    uri = f"file://{path}"
    stream = c.modern(request("l", "subscriptions/listen", notifications={
        "toolsListChanged": True, "resourceSubscriptions": [
            "test://watched", uri, uri, "file:///etc/passwd", "file:///none/none", "", 7]}))
    told = stream.next()
    same((told["method"], told["params"]["notifications"], told["params"]["_meta"]),
         ("notifications/subscriptions/acknowledged",
          {"resourceSubscriptions": ["test://watched", uri]}, {META + "subscriptionId": "l"}))
    for _ in range(2):
        replace(path)
        same(stream.next()["params"], {"uri": uri, "_meta": {META + "subscriptionId": "l"}})
    same(metric(server, "mcp_subscriptions"), 2)
    stream.close()
    wait_for(lambda: metric(server, "mcp_subscriptions") == 0, "it ended with its connection")


@row("modern: listening requests that are wrong")
def _(server):
    c = Http(server)
    for bad in ({"notifications": 7}, {"notifications": []},
                {"notifications": {"resourceSubscriptions": "x"}},
                {"notifications": {"resourceSubscriptions": {}}}):
        answer = c.modern(request(1, "subscriptions/listen", **bad))
        same((answer.status, error_of(answer.json())), (400, -32602), bad)
    answer = c.modern(request("x" * 257, "subscriptions/listen"))
    same((answer.status, error_of(answer.json())), (400, -32602))
    answer = c.modern(request(1, "subscriptions/listen"), {"Accept": "application/json"})
    same((answer.status, error_of(answer.json())), (400, -32600))
    stream = c.modern(request(2, "subscriptions/listen"))
    same(stream.next()["params"]["notifications"], {})
    stream.close()


@contextlib.contextmanager
def stdio(server, *options):
    s = Stdio(server, *options)
    try:
        yield s
    finally:
        s.kill()


@row("od mcp: listening requests beside each other, that end when they are cancelled", slow=True)
def _(server):
    def listen(s, id, *uris):
        s.send(request(id, "subscriptions/listen", _meta=META_OF,
                       notifications={"resourceSubscriptions": list(uris)}))
        return s.next()
    path = [f"{server.work}/{i}" for i in range(2)]
    uri = ["file://" + each for each in path]
    with stdio(server) as s:
        for i in (0, 1):
            told = listen(s, i, uri[i], "file:///etc/passwd")["params"]
            same(told, {"notifications": {"resourceSubscriptions": [uri[i]]},
                        "_meta": {META + "subscriptionId": i}})
        same(error_of(listen(s, 1, uri[0])), -32600)
        for i in (1, 0):
            replace(path[i])
            same(s.next()["params"], {"uri": uri[i], "_meta": {META + "subscriptionId": i}})
        server.crash()
        found = [s.next()["params"] for _ in range(2)]
        same(sorted(m["_meta"][META + "subscriptionId"] for m in found), [0, 1])
        s.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}})
        wait_for(lambda: metric(server, "mcp_subscriptions") == 1, "that ended")
        replace(path[0])
        replace(path[1])
        message = s.next()["params"]
        while message["_meta"][META + "subscriptionId"] == 0:
            message = s.next()["params"]  # of an earlier change
        same(message["uri"], uri[1])
        for i in range(2, 20):
            answer = listen(s, i)
            if "error" in answer:
                break
        same((i, error_of(answer)), (17, -32600))


@row("od mcp: a session subscribes, over a crash too, and its end ends all", slow=True)
def _(server):
    path = server.work + "/f"
    with stdio(server) as s:
        s.begin()
        same(s.ask(request(1, "logging/setLevel", level="info"))["result"], {})
        same(s.ask(request(2, "resources/subscribe", uri=f"file://{path}"))["result"], {})
        replace(path)
        updates(s, path)
        server.crash()
        found = [s.next(), s.next()]
        same(sorted(m["method"] for m in found),
             ["notifications/message", "notifications/resources/updated"])
        replace(path)
        updates(s, path)
        same(metric(server, "mcp_subscriptions"), 1)
        same(s.end()[1:], (0, b""))
    wait_for(lambda: metric(server, "mcp_subscriptions") == 0, "it ended with its client")


@row("od mcp: a request that waits is cancelled and gets no answer")
def _(server):
    with stdio(server, "--tools", "all") as s:
        s.begin()
        s.ask(call(1, "act", command="seq 1000000"))
        folder = {"ref": {"type": "ref/resource", "uri": "file:///{+path}"},
                  "argument": {"name": "path", "value": server.work[1:] + "/"}}
        for id, method, params in (
                ("r", "resources/read", {"uri": "od://output/1"}),
                ("s", "resources/subscribe", {"uri": f"file://{server.work}/f"}),
                ("c", "completion/complete", folder)):
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled",
                      "params": {"requestId": id}}
            s.write(b"".join(json.dumps(m).encode() + b"\n" for m in (
                request(id, method, **params), cancel, request("p", "ping"))))
            same(s.next(), {"jsonrpc": "2.0", "id": "p", "result": {}})
        same(metric(server, "mcp_subscriptions"), 0)
        replace(server.work + "/f")
        same(s.ask(request("q", "ping"))["result"], {})
        same(s.end(), (b"", 0, b""))


# --- log messages


@row("log messages: what happened to a shell, from the level on that a session wants", plain=True)
def _(server):
    c, deaf = begun(server), begun(server)
    own, silent = c.send("GET"), deaf.send("GET")
    c.ask(call(1, "shell", command="exit 3", session="a"))
    for level in ("emergency", "alert", "critical", "error"):
        same(c.ask(request(2, "logging/setLevel", level=level))["result"], {})
        c.ask(call(3, "shell", command="exit 3", session="a"))
    for level in ("warning", "notice", "info", "debug"):
        same(c.ask(request(2, "logging/setLevel", level=level))["result"], {})
        c.ask(call(4, "shell", command="exit 3", session=level))
        message = own.next()
        same((message["method"], message["params"]["level"], message["params"]["logger"]),
             ("notifications/message", "warning", "session"))
        has(message["params"]["data"], f"the shell of session {level} ended", "fresh one")
    for bad in ("", "loud", "WARNING", 4, None):
        same(error_of(c.ask(request(5, "logging/setLevel", level=bad))), -32602, bad)
    same(deaf.ask(request(6, "resources/subscribe", uri="od://events"))["result"], {})
    c.ask(call(7, "shell", command="exit 3"))
    same(silent.next()["method"], "notifications/resources/updated")


@row("log messages: output that was not kept", plain=True)
def _(server):
    c = begun(server)
    same(c.ask(request(1, "logging/setLevel", level="warning"))["result"], {})
    own = c.send("GET")
    c.ask(call(2, "shell", command="head -c 80000000 /dev/zero | tr '\\0' x", wait_s=50))
    has(own.next()["params"]["data"], "some output of command 1 in session main was not kept")


@row("log messages: those of a modern request, if it asks for them", plain=True)
def _(server):
    c = Http(server)

    def messages(**meta):
        found = c.modern(call(1, "shell", command="exit 3"), **meta).all()
        same("result" in found[-1], True)
        return [m["params"]["level"] for m in found[:-1]]
    same(messages(), [])
    same(messages(**{META + "logLevel": "error"}), [])
    same(messages(**{META + "logLevel": "warning"}), ["warning"])
    for bad in ("loud", "", 7):
        answer = c.modern(request(2, "tools/list"), **{META + "logLevel": bad})
        same((answer.status, error_of(answer.json())), (400, -32602), bad)


@row("log messages of a call are on its own stream, at its level")
def _(server):
    c = begun(server)

    def lines(level):
        same(c.ask(request(1, "logging/setLevel", level=level))["result"], {})
        return [m["params"]["data"] for m in c.post(call(2, "test_logging_tool")).all()
                if "method" in m]
    same(lines("info"), ["Tool execution started", "Tool processing data",
                         "Tool execution completed"])
    same(lines("notice"), [])


if __name__ == "__main__":
    tap = Tap()
    run_rows(tap, [("mcp", r, fixture) for r in row
                   if all(word in r.name for word in sys.argv[1:])], at_once=6)
    sys.exit(tap.done())
