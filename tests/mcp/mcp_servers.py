# SPDX-License-Identifier: MIT
"""Rows of od mcp as it loses its server and finds another one."""
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios

import wire_client as mcp
from wire_client import META, MODERN, Stdio, call, request, text_of
from tap import LIMIT, Rows, Tap, has, holds, lacks, run_rows, same, wait_for

row = Rows()
FRESH = "(the od server has ended since the last answer, and another one answers: shells, " \
        "kernels and the browser are fresh; their variables and directories are lost)\n"
META_OF = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}


@contextlib.contextmanager
def fixture(r):
    """A server, and od mcp, which may start the next one unless it was told where it is."""
    with mcp.server(key=r.options.get("key")) as server:
        server.env["OD_SERVER_KEY"] = server.key or ""
        words = [each.format(server=server) for each in r.options.get("words", ())]
        client = Stdio(server, *words)
        try:
            yield server, client
        finally:
            client.kill()
            subprocess.run([server.od, "exec", "--stop"], env=server.env, check=False,
                           capture_output=True, timeout=LIMIT)


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def lose(server, signo=signal.SIGKILL, last=lambda: None):
    """Ends all of the server, which need not be the one that the row began with. last: what
    happens before it, when the worker does nothing any more."""
    said = subprocess.run([server.od, "serve", "--status", "--json"], env=server.env, check=True,
                          capture_output=True, timeout=LIMIT).stdout
    found = json.loads(said)["servers"][0]
    if signo == signal.SIGKILL:
        for name in ("pid", "worker"):  # the keeper would let the worker go on
            os.kill(found[name], signal.SIGSTOP)
    last()
    os.kill(found["pid"], signo)
    wait_for(lambda: gone(found["pid"]) and gone(found["worker"]), "the server is gone")


def held(server, name):
    """A command that runs until its shell ends, and leaves a line each time it is run."""
    return f"echo x >>{server.work}/{name}; exec sleep 1000"


def runs(server, name):
    wait_for(lambda: os.path.exists(f"{server.work}/{name}"), "it runs")


def lines(server, name):
    with open(f"{server.work}/{name}", encoding="ascii") as file:
        return file.read()


def failure(message, *parts):
    same(message["result"]["isError"], True)
    has(text_of(message), *parts)
    holds(text_of(message).endswith("\n[failed]"), message)


# --- another server is started


@row("what ran gets an error, and the next call starts a server: each of them once")
def _(case):
    server, c = case
    c.begin()
    for n, signo in enumerate((signal.SIGKILL, signal.SIGTERM)):
        has(text_of(c.ask(call("a", "shell", command="cd /usr && left=7"))), "now in /usr")
        c.send(call("b", "shell", command=held(server, f"b{n}"), session="b"))
        c.send(call("c", "shell", command=held(server, f"c{n}"), session="c"))
        runs(server, f"b{n}")
        runs(server, f"c{n}")
        lose(server, signo)
        found = [c.next(), c.next()]
        same(sorted(m["id"] for m in found), ["b", "c"])
        for message in found:
            failure(message, f"the od server at {server.root}/run/sock was lost while this ran: "
                    "the server has ended, and with it what it ran. This call is not repeated",
                    "The next call connects again")
        same(text_of(c.ask(call("d", "shell", command="echo $left; pwd")))[:-len("0.01 s]")],
             f"{FRESH}\n{server.work}\n[exit 0 in ")
        lacks(text_of(c.ask(call("e", "shell", command="echo again"))), "fresh")
        same((lines(server, f"b{n}"), lines(server, f"c{n}")), ("x\n", "x\n"))
    same(c.end(), (b"", 0, b""))


@row("other requests get an error of JSON-RPC, and a withdrawn one gets nothing")
def _(case):
    server, c = case
    c.begin()
    c.send(request("late", "tools/call", name="shell",
                   arguments={"command": held(server, "late")}))
    runs(server, "late")
    c.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": "late", "reason": "Request timed out"}})
    same(c.ask(request(1, "ping"))["result"], {})
    def asks():
        c.send(request(2, "tools/list"))
        waits = bytearray(4)
        wait_for(lambda: fcntl.ioctl(c.process.stdin, termios.FIONREAD, waits) == 0 and
                 not any(waits), "od mcp has read it")
    lose(server, last=asks)
    error = c.next()
    same((error["id"], error["error"]["code"]), (2, -32007))
    has(error["error"]["message"], "was lost while this ran")


@row("what the client set up holds: revision, limits by its name, log level, subscriptions")
def _(case):
    server, c = case
    def update(path):
        return {"jsonrpc": "2.0", "method": "notifications/resources/updated",
                "params": {"uri": f"file://{path}"}}
    kept, dropped = server.work + "/kept", server.work + "/dropped"
    c.begin("2025-03-26", client="claude-code")
    same(c.ask(request(1, "logging/setLevel", level="warning"))["result"], {})
    for id, path in ((2, kept), (3, dropped)):
        same(c.ask(request(id, "resources/subscribe", uri=f"file://{path}"))["result"], {})
    same(c.ask(request(4, "resources/unsubscribe", uri=f"file://{dropped}"))["result"], {})
    for id in (5, 6):
        lose(server)
        c.send([request(id, "tools/call", name="shell",
                        arguments={"command": "exit 3", "wait_s": 500})])
        found = [c.next(), c.next(), c.next()]
        holds(update(kept) in found, found)  # as changes may have been missed
        told = [m for m in found if m.get("method") == "notifications/message"]
        same([m["params"]["level"] for m in told], ["warning"])
        answer = [m for m in found if m.get("id") == id][0]
        has(text_of(answer), FRESH, "wait_s is at most 240 for this client")
        for path in (dropped, kept):
            with open(path, "a", encoding="ascii") as file:
                file.write("x")
        same(c.next(), update(kept))
    same(c.end()[1:], (0, b""))


@row("of 2026-07-28: a subscription goes on, and an error is a whole result")
def _(case):
    server, c = case
    path = server.work + "/file"
    def granted():
        message = c.next()
        same((message["method"], message["params"]["_meta"]),
             ("notifications/subscriptions/acknowledged", {META + "subscriptionId": "s"}))
        same(message["params"]["notifications"], {"resourceSubscriptions": [f"file://{path}"]})
    c.send(request("s", "subscriptions/listen", _meta=META_OF,
                   notifications={"resourceSubscriptions": [f"file://{path}"]}))
    granted()
    for signo in (signal.SIGKILL, signal.SIGTERM):
        c.send(request(1, "tools/call", name="shell", _meta=META_OF,
                       arguments={"command": held(server, signo.name)}))
        runs(server, signo.name)
        lose(server, signo)
        message = c.answer(1)
        failure(message, "was lost while this ran")
        same(message["result"]["resultType"], "complete")
        c.send(request(2, "tools/list", _meta=META_OF))
        found = []
        while not any(m.get("id") == 2 for m in found) or len(found) < 2:
            found.append(c.next())
        same(sorted(m.get("method", "") for m in found),
             ["", "notifications/subscriptions/acknowledged"])
        with open(path, "a", encoding="ascii") as file:
            file.write("x")
        same(c.next()["params"]["_meta"], {META + "subscriptionId": "s"})


@row("half a message that the lost server has not seen is one for the next")
def _(case):
    server, c = case
    c.begin()
    text = json.dumps(call(1, "shell", command=f"echo x >>{server.work}/count")).encode() + b"\n"
    c.write(text[:40])
    same(c.process.poll(), None)
    lose(server)
    c.write(text[40:])
    has(text_of(c.answer(1)), FRESH)
    same(lines(server, "count"), "x\n")


# --- another server is found


@row("none can be reached: each call says why and what to do; then its owner starts one",
     words=["--socket", "{server.env[OD_SOCKET]}"])
def _(case):
    server, c = case
    c.begin()
    has(text_of(c.ask(call(1, "shell", command="echo one"))), "one\n[exit 0 in ")
    lose(server)
    for id in (2, 3):
        failure(c.ask(call(id, "shell", command=f"echo x >>{server.work}/never")),
                f"this call did nothing: no server is running at {server.env['OD_SOCKET']}; ",
                f"od serve --daemon --socket {server.env['OD_SOCKET']} starts it. Call again when")
    same(c.ask(request(4, "tools/list"))["error"]["code"], -32002)
    server.begin()
    same(text_of(c.ask(call(5, "shell", command="echo five")))[:-len("0.01 s]")],
         FRESH + "five\n[exit 0 in ")
    holds(not os.path.exists(server.work + "/never"))


@row("the same at an URL", words=["--server", "http://127.0.0.1:{server.port}"], key="the-key")
def _(case):
    server, c = case
    c.begin()
    has(text_of(c.ask(call(1, "shell", command="echo one"))), "one\n[exit 0 in ")
    c.send(call(2, "shell", command=held(server, "count")))
    runs(server, "count")
    lose(server)
    server.process.wait(LIMIT)
    server.begin()
    failure(c.answer(2), f"the od server at http://127.0.0.1:{server.port} was lost while this ran: ",
            "has ended, and with it what it ran; another one runs there now (410 Gone)")
    same(text_of(c.ask(call(3, "shell", command="echo three")))[:-len("0.01 s]")],
         FRESH + "three\n[exit 0 in ")
    same(lines(server, "count"), "x\n")


@row("an URL where nothing listens any more: what ran gets the reason before 60 s; later calls try again",
     words=["--server", "http://127.0.0.1:{server.port}"], key="the-key")
def _(case):
    server, c = case
    reason = f"nothing listens at 127.0.0.1:{server.port}"
    c.begin()
    c.send(call(1, "shell", command=held(server, "count")))
    runs(server, "count")
    lose(server)
    server.process.wait(LIMIT)
    message = c.answer(1)
    failure(message, "was lost while this ran: ", "s of trying did not bring it back", reason, "look, then do")
    lacks(text_of(message), "and 60 s of trying")
    for id in (2, 3):
        failure(c.ask(call(id, "shell", command=f"echo x >>{server.work}/never")), "this call did nothing: ",
                reason, "Call again when")
    server.begin()
    same(text_of(c.ask(call(4, "shell", command="echo four")))[:-len("0.01 s]")],
         FRESH + "four\n[exit 0 in ")
    same(lines(server, "count"), "x\n")
    holds(not os.path.exists(server.work + "/never"))


@row("alone it waits without a timer, also for what is no call; its input ends, or a signal comes",
     words=["--socket", "{server.env[OD_SOCKET]}"])
def _(case):
    server, c = case
    def sleeps():
        with open(f"/proc/{c.process.pid}/syscall", encoding="ascii") as file:
            words = file.read().split()
        # poll with -1, or ppoll without a time
        return len(words) > 3 and words[2] == "0x2" and int(words[3], 16) in (0, 2**32 - 1, 2**64 - 1)
    other = Stdio(server, "--socket", server.env["OD_SOCKET"])
    try:
        for each in (c, other):
            each.begin()
        lose(server)
        c.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}})
        c.send({"jsonrpc": "2.0", "id": 7, "result": {}})
        wait_for(sleeps, "it waits for its input or a signal, as long as that takes")
        other.process.terminate()
        same(other.process.wait(LIMIT), 0)
        same(c.end(), (b"", 0, b""))
    finally:
        other.kill()


if __name__ == "__main__":
    tap = Tap()
    run_rows(tap, [("od mcp", r, fixture) for r in row
                   if all(word in r.name for word in sys.argv[1:])], at_once=6)
    sys.exit(tap.done())
