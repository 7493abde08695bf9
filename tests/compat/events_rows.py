# SPDX-License-Identifier: MIT
"""events_rows.py [PATTERN]: the event stream of core/front/events/README.md, asked by a real
WebSocket library and by plain HTTP."""
import asyncio
import base64
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import urllib.parse

import websockets
from events_client import (
    NO_STATE,
    SMALL_STATE,
    Peer,
    act,
    log_text,
    request,
    run,
    server_for,
)
from tap import LIMIT, Rows, Tap, at_end, has, holds, lacks, run_rows, same, wait_for
from v0_server import OTHER_UID, parent_and_name

row = Rows()


def asynchronous(function):
    def inside(case):
        asyncio.run(asyncio.wait_for(function(case), 3 * LIMIT))

    return inside


# ---- replay and follow


@row("an action, its output, its observation")
@asynchronous
async def _(case):
    async with Peer(case, since=0) as peer:
        hello = await peer.next()
        same(hello["hello"]["next"], 1)
        end = await peer.run("echo one; echo two")
        same([end["id"], end["cause"], end["session"]], [2, 1, "main"])
        same(end["observation"], "run")
        same(end["extras"]["metadata"]["exit_code"], 0)
        same(peer.output[1], "one\ntwo\n")
        same(end["content"], "one\ntwo")


@row("those who come at different times see the same events, each once")
@asynchronous
async def _(case):
    for i in range(20):
        run(case, f"echo before {i}")
    async with Peer(case, since=0) as first, Peer(case, since=17) as second, Peer(case) as third:
        for i in range(20):
            run(case, f"echo after {i}")
        for peer in (first, second, third):
            await peer.until(lambda e: e.get("id") == 80)
        same(sorted(first.events), list(range(1, 81)))
        same(sorted(second.events), list(range(18, 81)))
        same(sorted(third.events), list(range(41, 81)))
        for id, event in second.events.items():
            same(event, first.events[id])


@row("HTTP: an action waits for its observation, or does not; a page; a wait for more")
def _(case):
    same(request(case, "/events?since=0"), (200, {"events": [], "last": 0}))
    end = run(case, "echo $((6*7))")
    same([end["content"], end["cause"]], ["42", 1])
    same(run(case, "echo later", wait=False), {"id": 3})
    status, page = request(case, "/events?since=3&wait=20")
    same([status, [e["cause"] for e in page["events"]], page["last"]], [200, [3], 4])
    same(request(case, "/events?since=4&wait=0.05"), (200, {"events": [], "last": 4}))
    status, page = request(case, "/events?since=0")
    same([e["id"] for e in page["events"]], [1, 2, 3, 4])


@row("HTTP: when the time of wait has passed, the id, and what the session does")
def _(case):
    asks = {"action": "run", "args": {"command": "read x; echo got $x", "until": "input"}}
    first = request(case, "/events", asks)[1]
    same([first["waiting"]["program"], first["cause"]], ["bash", 1])
    status, told = request(case, "/events?wait=0.2",
                           {"action": "run", "args": {"command": "echo next", "until": "end",
                                                      "busy": "wait"}})
    same([status, told["id"]], [202, 3])
    for part in ("action 3 has not ended", "session main runs: read x; echo got $x",
                 "waits for input"):
        same(part in told["message"], True, told)
    request(case, "/events?wait=0", {"action": "input", "args": {"text": "it\n"}})
    end = wait_for(lambda: [e for e in request(case, "/events?since=0")[1]["events"]
                            if e.get("cause") == 3], "it ends")
    same(end[0]["content"], "next\n")


@row("a command behind one that waits for input is refused at once, in every form")
def _(case):
    def run(**args):
        return request(case, "/events", {"action": "run",
                                         "args": {"command": "echo next", **args}})[1]

    def refused(event):
        same(event["observation"], "error")
        has(event["content"], "bash waits for input; the command was not run: type")

    asks = {"action": "run", "args": {"command": "read x; echo got $x", "until": "input"}}
    request(case, "/events", asks)
    for args in ({"until": "end"}, {"until": "input"}, {}, {"blocking": True}):
        refused(run(**args))
    refused(request(case, "/execute_action", {
        "action": {"action": "run", "args": {"command": "echo next"}, "timeout": 60}})[1])
    request(case, "/events", {"action": "input", "args": {"text": "it\n"}})
    same(run(until="end")["content"], "next\n")
    # One that is there before the question, behind an action that does not end with it.
    os.mkfifo(os.path.join(case.dir, "gate"))
    for args in ({"until": "end"}, {"blocking": True}):
        first = request(case, "/events?wait=0", {"action": "run", "args": {
            "command": "read x <gate; read y; echo got $y", **args}})[1]["id"]
        late = request(case, "/events?wait=0", {"action": "run", "args": {
            "command": "echo late", "until": "end"}})[1]["id"]
        with open(os.path.join(case.dir, "gate"), "w") as file:
            file.write("on\n")

        def end(id, since=first):
            events = request(case, f"/events?since={since}")[1]["events"]
            return [e for e in events if e.get("cause") == id]

        refused(wait_for(lambda: end(late), "the refusal")[0])
        same(end(first), [])
        request(case, "/events", {"action": "input", "args": {"text": "it\n"}})
        has(wait_for(lambda: end(first), "the end")[0]["content"], "got it")


@row("an argument that is not known is an error that names it and those that exist")
def _(case):
    for args, told in (
            ({"zz": 1}, "run has no argument zz; it takes command, until, quiet, busy, silent"),
            ({"until": "end", "zz": 1}, "run has no argument zz; it takes command, until"),
            ({"until": "end", "blocking": "yes"}, 'blocking must be true or false, not "yes"'),
            ({"until": "end", "is_input": True}, "run has no argument is_input with until")):
        status, answer = request(case, "/events", {"action": "run",
                                                   "args": {"command": "echo no", **args}})
        same([status, answer["error"]["code"]], [400, "INVALID"])
        has(answer["error"]["message"], told)
    status, answer = request(case, "/events", {"action": "key", "args": {"key": "a", "kay": 1}})
    same(answer["error"]["message"], "key has no argument kay; it takes key")
    sent = {"thought": "", "security_risk": -1, "confirmation_state": "confirmed",
            "is_input": False, "hidden": False, "cwd": None}
    for more in ({}, {"until": "end"}):
        same(request(case, "/events", {"action": "run", "args": {
            "command": "echo yes", **sent, **more}})[1]["observation"], "run")
    # V0's own route ignores what it does not know, `until` among it.
    for until in ("end", "bogus", 5):
        got = request(case, "/execute_action", {"action": {
            "action": "run", "timeout": 60,
            "args": {"command": "echo yes", "until": until, "zz": 1}}})[1]
        same([got["observation"], got["content"]], ["run", "yes"])


@row("an event stream goes on behind Last-Event-ID")
def _(case):
    for i in range(3):
        run(case, f"echo {i}")
    with socket.create_connection(("127.0.0.1", case.port), LIMIT) as s:
        s.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                  b"Last-Event-ID: 4\r\n\r\n")
        run(case, "echo more", wait=False)
        got = b""
        while b"\nid: 8\n" not in got and b"id: 8\n" not in got:
            more = s.recv(65536)
            holds(more, got)
            got += more
    text = got.decode()
    has(text, "text/event-stream", "id: 5\n", "id: 6\n", "id: 7\n", '"observation":"delta"')
    lacks(text, "id: 4\n")


@row("V0's own actions are in the log too")
@asynchronous
async def _(case):
    async with Peer(case, since=0) as peer:
        body = {"action": {"action": "run", "args": {"command": "echo by V0"}, "timestamp": "1"}}
        for _ in range(2):
            status, answer = await asyncio.to_thread(request, case, "/execute_action", body)
            same([status, answer["content"]], [200, "by V0"])
        await peer.end(1)
        same([peer.events[1]["source"], peer.events[2]["content"]], ["v0", "by V0"])
        same(run(case, "true")["id"], 4)


@row("an action of V0's that its client and the worker left is followed to its end")
@asynchronous
async def _(case):
    gate = os.path.join(case.dir, "gate")
    os.mkfifo(gate)
    body = {"action": {"action": "run", "timestamp": "1", "args": {
        "command": f"read x <{gate}; echo got $x", "blocking": True}}}
    async with Peer(case, since=0) as peer:
        with contextlib.suppress(Exception):
            asking = asyncio.create_task(
                asyncio.to_thread(request, case, "/execute_action", body, None, 1))
            await peer.action()
            case.kill_worker()
            await asking
    with await asyncio.to_thread(open, gate, "w") as file:
        file.write("it\n")
    async with Peer(case, since=1) as peer:
        end = await peer.end(1)
        same([end["observation"], end["content"]], ["run", "got it"])
    status, answer = await asyncio.to_thread(request, case, "/execute_action", body)
    same([status, answer["content"]], [200, "got it"])


@row("the end of a command that goes on comes after a killed worker, too")
@asynchronous
async def _(case):
    async with Peer(case, since=0) as peer:
        await peer.say(action="run", client_id="two\nlines", args={
            "command": "read x; echo got $x; (exit 3)", "until": "input"})
        first = await peer.end((await peer.action())["id"])
        same([first["waiting"]["state"], first["waiting"]["program"], "exit_code" in first],
             ["yes", "bash", False])
        case.kill_worker()
    await asyncio.to_thread(wait_for, lambda: tried(case, "true", "x", session="b"),
                            "the next worker")
    await asyncio.to_thread(act, case, "input", args={"text": "bob\n"})
    async with Peer(case, since=1) as peer:
        ended = await peer.until(lambda e: e.get("observation") == "ended")
        same([ended["cause"], ended["client_id"], ended["exit_code"]],
             [first["cause"], "two\nlines", 3])
        has(ended["content"], "got bob")


@row("a wait is observed at the end, at input and at its timeout, and leaves the command be")
def _(case):
    def wait(limit=None, **args):
        more = {"timeout": limit} if limit else {}
        return act(case, "wait", args=args, **more)

    same([wait()["extras"]["code"], act(case, "wait", session="none")["extras"]["code"]],
         ["NOTFOUND", "NOTFOUND"])
    first = act(case, "run", args={
        "command": "echo one; read x; echo two $x; read -s y; echo three; (exit 4)",
        "until": "input"})
    same(first["content"], "one\n")
    again = wait(until="input")
    same([again["observation"], again["waiting"]["state"], again["waiting"].get("hidden"),
          again["extras"]["command"], again["extras"]["why"], again["content"]],
         ["wait", "yes", None, first["cause"], "input", "one\n"])
    late = wait(0.2, id=first["cause"], **{"from": first["output"]["from"] - 9})
    same([late["extras"]["why"], late["content"], late["output"]["from"]],
         ["timeout", "one\n", first["output"]["from"]])
    act(case, "input", args={"text": "x\n"})
    more = wait(until="input", **{"from": first["output"]["to"]})
    same([more["content"], more["waiting"]["hidden"]], ["two x\n", True])
    act(case, "input", args={"text": "y\n"})
    ended = wait(id=first["cause"], **{"from": more["output"]["to"]})
    same([ended["exit_code"], ended["content"], ended["extras"]["command"]],
         [4, "three\n", first["cause"]])
    same(run(case, "true")["observation"], "run")
    known = wait(id=first["cause"])
    same([known["exit_code"], known["content"]], [4, "one\ntwo x\nthree\n"])
    same([wait(id=n)["extras"]["code"] for n in (known["cause"], 1 << 40)],
         ["NOTFOUND", "NOTFOUND"])


@row("an answer to a question that shows none is not in the log, however short it is",
     needs=("python3",))
def _(case):
    def asks(command, hidden):
        first = act(case, "run", args={"command": command, "until": "input"})
        same(first.get("waiting", first).get("hidden"), hidden, command)
    asks("read -s y; echo got $y | tr a-z A-Z", True)
    act(case, "input", args={"text": "qx7\n"})
    same(act(case, "wait", args={})["content"], "got QX7\n".replace("got", "GOT"))
    getpass = "python3 -c 'import getpass; print(len(getpass.getpass(\"Password: \")))'"
    asks(getpass, True)
    act(case, "input", args={"base64": base64.b64encode(b"qx7\n").decode()})
    has(act(case, "wait", args={})["content"], "3")
    asks("read -p 'Name: ' x; echo", None)
    act(case, "input", args={"text": "shown7\n"})
    act(case, "wait", args={})
    text = log_text(case)
    same([text.count("qx7"), text.count("shown7"), "cXg3" in text], [0, 1, False])
    has(text, '"args":{"text":"<secret_hidden>"},"cut":4', '"base64":"<secret_hidden>"')


@row("a wait is cancelled without harm, and goes on in the next worker")
@asynchronous
async def _(case):
    async with Peer(case, since=0) as peer:
        await peer.say(action="run", args={"command": "read x; echo got $x", "until": "input"})
        first = await peer.end((await peer.action())["id"])
        await peer.act("wait")
        id = (await peer.action(lambda e: e["action"] == "wait"))["id"]
        await peer.act("cancel", id=id)
        same((await peer.end(id))["extras"]["code"], "CANCELLED")
        await peer.act("wait", **{"from": first["output"]["to"]})
        id = (await peer.action(lambda e: e["action"] == "wait" and e["id"] > id))["id"]
        case.kill_worker()
    await asyncio.to_thread(wait_for, lambda: tried(case, "true", "x", session="b"),
                            "the next worker")
    await asyncio.to_thread(act, case, "input", args={"text": "bob\n"})
    async with Peer(case, since=0) as peer:
        end = await peer.end(id)
        same([end["exit_code"], end["content"]], [0, "got bob\n"])


@row("a run that must not wait is withdrawn from a session that is busy")
@asynchronous
async def _(case):
    def attempt(limit):
        return act(case, "run", timeout=limit, args={
            "command": "echo x >> ran", "until": "end", "busy": "fail"})

    async with Peer(case, since=0) as peer:
        os.mkfifo(os.path.join(case.dir, "gate"))
        await peer.act("run", command="read x < gate", until="end")
        await peer.action()
        late = await asyncio.to_thread(attempt, 0.3)
        same(late["extras"]["code"], "TIMEOUT")
        has(late["content"], "the command was not run")
        waits = asyncio.create_task(asyncio.to_thread(attempt, 60))
        id = (await peer.action(lambda e: e.get("timeout") == 60))["id"]
        with await asyncio.to_thread(open, os.path.join(case.dir, "gate"), "w") as file:
            file.write("it\n")
        same([(await peer.end(id))["exit_code"], (await waits)["exit_code"]], [0, 0])
        await peer.say(action="run", args={"command": "read x", "until": "input"})
        await peer.until(lambda e: "waiting" in e)
        taken = await asyncio.to_thread(attempt, 60)
        same(taken["extras"]["code"], "BUSY")
        has(taken["content"], "bash waits for input; the command was not run")
    with open(os.path.join(case.dir, "ran")) as file:
        same(file.read(), "x\n")


@row("with --log-commands none the log has no command and no code",
     more=("--log-commands", "none"))
def _(case):
    body = {"action": {"action": "run", "args": {"command": "echo to-hide; echo $((6*7))"}}}
    for end in (run(case, "true to-hide"), act(case, "run", args={
            "command": "true to-hide", "until": "end"})):
        same([end["observation"], "error_id" in end["extras"]], ["run", False])
    status, answer = request(case, "/execute_action", body)
    same([status, answer["content"], answer["extras"]["command"]],
         [200, "to-hide\n42", "echo to-hide; echo $((6*7))"])
    events = request(case, "/events?since=0")[1]["events"]
    first = events[0]
    same([first["args"]["command"], first["args"]["bytes"], first["cut"],
          len(first["args"]["sha256"])], ["", 12, 12, 64])
    same([e["extras"].get("command") for e in events if "extras" in e][0], "")
    same([line for line in log_text(case).splitlines()
          if "to-hide" in line and '"content":"to-hide' not in line], [])


@row("sessions of their own, at the same time")
@asynchronous
async def _(case):
    async with Peer(case, since=0) as peer:
        await peer.act("run", command="read x; echo got $x", session="a", blocking=True)
        first = await peer.action()
        same((await peer.run("x=5; cd /; echo $x", session="b"))["content"], "5")
        same((await peer.run("pwd; echo $x", session="b"))["content"], "/\n5")
        await peer.act("input", text="fine\n", session="a")
        end = await peer.end(first["id"])
        same([end["content"], end["session"]], ["got fine", "a"])


# ---- again


@row("a client_id twice runs once, and both get the result")
@asynchronous
async def _(case):
    async with Peer(case, since=0) as one, Peer(case, since=0) as two:
        await one.act("run", command="echo x >> once; wc -l < once", client_id="same")
        first = await one.action()  # before anything of the other link is read
        for peer in (two, one):
            await peer.act("run", command="echo x >> once; wc -l < once", client_id="same")
        for event, peer in ((first, one), (await two.action(), two)):
            same((await peer.end(event["id"]))["content"], "1")
        known = await two.until(lambda e: "known" in e) if not two.other[1:] else two.other[1]
        same(known["known"]["id"], 1)
        await two.act("run", command="echo x >> once; wc -l < once", client_id="same")
        known = (await two.until(lambda e: "event" in e.get("known", {})))["known"]
        same([known["id"], known["end"], known["client_id"]], [1, 2, "same"])
        same(known["event"], two.events[2])
        end = await asyncio.to_thread(run, case, "echo x >> once; wc -l < once", client_id="same")
        same([end["id"], end["content"]], [2, "1"])


@row("a client_id is known to the next worker, and to the next server")
def _(case):
    same(run(case, "echo x >> once", client_id="a b\"ü")["id"], 2)
    case.kill_worker()
    again = wait_for(lambda: tried(case, "echo x >> once", "a b\"ü"), "the next worker")
    same(again["id"], 2)
    case.stop()
    case.start()
    same(run(case, "echo x >> once", client_id="a b\"ü")["id"], 2)
    with open(os.path.join(case.dir, "once")) as file:
        same(file.read(), "x\n")


def tried(case, command, client_id, **more):
    try:
        return run(case, command, client_id=client_id, **more)
    except OSError:
        return None


# ---- output


@row("output goes on where a link left it, to the byte")
@asynchronous
async def _(case):
    async with Peer(case, since=0) as peer:
        await peer.act("run", command="echo first; read x; echo second", blocking=True)
        await peer.until(lambda e: "first\n" in peer.output.get(1, ""))
        at = peer.at[1]
    async with Peer(case, since=1, query=f"output=1:{at - 3}") as peer:
        await peer.until(lambda e: peer.output.get(1, "").endswith("st\n"))
        await peer.act("input", text="\n")
        await peer.end(1)
        same(peer.output[1], "st\nsecond\n")
    async with Peer(case, since=1, query=f"output=1:{at}") as peer:
        await peer.end(1)
        same(peer.output[1], "second\n")


@row("characters are whole, invalid bytes are replaced, and base64 has the bytes")
@asynchronous
async def _(case):
    command = r"printf 'a\303'; sleep 0.2; printf '\244b\377c\342\202'"
    async with Peer(case, since=0) as text, Peer(case, since=0, query="encoding=base64") as raw:
        await text.run(command)
        await raw.end(1)
        same(text.output[1], "a\u00e4b\ufffdc\ufffd")
        same(raw.output[1], b"a\xc3\xa4b\xffc\xe2\x82")


def seq(case, lines):
    return run(case, f"seq {lines}", limit=3 * LIMIT, timeout=3 * LIMIT)


async def beside(slow, *work):
    """What is done while `slow` takes a message a second: who takes none is given up."""
    task = asyncio.create_task(asyncio.to_thread(*work))
    while not (await asyncio.wait([task], timeout=1))[0]:
        await slow.next()
    return task.result()


@row("a slow client costs no memory, holds nobody up, and gets every byte", slow=True)
@asynchronous
async def _(case):
    lines = 1500000
    async with Peer(case, since=0) as slow:
        await slow.next()
        end = await beside(slow, seq, case, lines)
        same(end["extras"]["metadata"]["exit_code"], 0)
        with open(f"/proc/{case.worker()}/status") as status:
            held = int([line for line in status if line.startswith("VmRSS")][0].split()[1])
        holds(held < 120 << 10, "memory of the worker in kB", held)
        await slow.end(1, 3 * LIMIT)
        same(slow.gaps, [])
        same(slow.output[1], "".join(f"{i}\n" for i in range(1, lines + 1)))


@row("a reader that is slow all the time gets output once, whatever has to wait", slow=True)
@asynchronous
async def _(case):
    sizes = [400000 + 9000 * i for i in range(12)] + [14000 + 50 * i for i in range(100)]
    narrow = socket.socket()
    narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    narrow.connect(("127.0.0.1", case.port))
    async with Peer(case, since=0, sock=narrow) as slow:
        await slow.next()
        for n in sizes:
            await asyncio.to_thread(run, case, f"head -c {n} /dev/zero | tr '\\0' x")
            await slow.next()
        await slow.end(2 * len(sizes) - 1, 3 * LIMIT)
        same([len(slow.output[2 * i + 1]) for i in range(len(sizes))], sizes)


# ---- what is said to a command


@row("input, key, end of file, signal, resize, cancel")
@asynchronous
async def _(case):
    async with Peer(case, since=0) as peer:

        async def begin(command):
            await peer.act("run", command=command, blocking=True)
            event = await peer.action(lambda e: e["args"].get("command") == command)
            await peer.until(lambda e: "ready" in peer.output.get(event["id"], ""))
            return event["id"]

        # The program says it itself: before it is there, its shell would be signalled.
        waits = "sh -c 'echo ready; exec sleep 100'"

        async def say(of, action, **args):
            await peer.act(action, **args)
            told = (await peer.action(lambda e: e["action"] == action))["id"]
            same((await peer.end(told))["observation"], action)
            return await peer.end(of)

        end = await say(await begin("echo ready; read x; echo got $x"), "input", text="it\n")
        has(end["content"], "got it")
        end = await say(await begin(waits), "key", key="C-c")
        same(end["extras"]["metadata"]["exit_code"], 130)
        end = await say(await begin("echo ready; cat; echo over"), "eof")
        has(end["content"], "over")
        end = await say(await begin(waits), "signal", signal="TERM")
        same(end["extras"]["metadata"]["exit_code"], 143)
        # bash that is interrupted in its first command keeps a previous status that is
        # one of a signal: so the second one says it.
        id = await begin("while :; do ${said-echo ready}; said=:; done")
        await peer.act("signal", signal="TERM")
        refused = await peer.until(lambda e: e.get("observation") == "error")
        has(refused["content"], "signal 15", "ignores it")
        end = await say(id, "signal", signal="INT")
        same(end["extras"]["metadata"]["exit_code"], 130)
        await peer.act("resize", rows=33, cols=77)
        same((await peer.run("stty size"))["content"], "33 77")
        id = await begin("trap '' INT; sh -c 'echo ready; exec sleep 102'")
        end = await say(id, "cancel", id=id)
        holds(end["extras"]["metadata"]["exit_code"] != 0, end)
        await peer.act("cancel", id=id)
        error = await peer.until(lambda e: e.get("observation") == "error")
        has(error["content"], "no unfinished action")


@row("a signal to all of a command reaches what is not in the foreground")
@asynchronous
async def _(case):
    seconds = f"1{os.getpid()}.5"
    async with Peer(case, since=0) as peer:
        await peer.act("signal", signal="TERM", tree=True)
        refused = await peer.until(lambda e: e.get("observation") == "error")
        has(refused["content"], "no session main")
        await peer.act("run", until="end", command=(
            f"setsid -w sh -c 'echo ready; exec sleep {seconds}' & wait"))
        id = (await peer.action(lambda e: e["action"] == "run"))["id"]
        await peer.until(lambda e: "ready" in peer.output.get(id, ""))
        await peer.act("signal", signal="TERM", tree=True)
        holds("exit_code" in await peer.end(id), "it has ended")
    wait_for(lambda: not runs_with(seconds), "it is gone")


def runs_with(word):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            if word.encode() in file.read():
                return True
    return False


@row("an action that its session's shell has not begun is taken out of the queue")
@asynchronous
async def _(case):
    od = [*case.user.before, os.environ["OD"], "exec", "--socket", case.env["OD_SOCKET"], "-s",
          "shared"]
    async with Peer(case, since=0) as peer:

        async def cancelled(command, session):
            await peer.act("run", command=command, session=session)
            id = (await peer.action(lambda e: e["args"].get("command") == command))["id"]
            await peer.act("cancel", id=id)
            return await peer.end(id)

        # Its shell has only just been started.
        await cancelled("sleep 1000", "young")
        same((await peer.run("echo next", session="young"))["content"], "next")
        # What somebody else runs there is not his to end.
        await asyncio.to_thread(subprocess.run, [*od, "-d", "sleep 1000"], check=True,
                                env=case.env, stdout=subprocess.DEVNULL)
        has((await cancelled("echo queued", "shared"))["content"], "before it began")
        listed = await asyncio.to_thread(subprocess.run, [*od, "--no-wait", "true"],
                                         env=case.env, capture_output=True, text=True)
        has(listed.stderr, "busy with: sleep 1000")


@row("the commands after a cancelled one run untouched")
@asynchronous
async def _(case):
    marks = [os.path.join(case.dir, f"mark-{n}") for n in range(20)]
    idle = [subprocess.Popen(["sleep", "100"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL) for _ in range(200)]  # /proc takes its time
    at_end(lambda: [each.kill() for each in idle])
    async with Peer(case, since=0) as peer:
        await peer.run("true", session="after")
        for n, mark in enumerate(marks):
            long = f"touch {mark}; sleep 1000"
            await peer.act("run", command=long, session="after")
            id = (await peer.action(lambda e: e["args"].get("command") == long))["id"]
            await asyncio.to_thread(wait_for, lambda: os.path.exists(mark), "it runs")
            await peer.act("cancel", id=id)
            same((await peer.run(f"echo free {n}", session="after"))["content"], f"free {n}")
            end = await peer.run(f"sleep 0.05; echo {n} on", session="after")
            same(end["content"], f"{n} on")


# ---- bad input


BAD = (
    ("nonsense", "INVALID", "JSON"),
    ("[]", "INVALID", "object"),
    ("{}", "INVALID", "action"),
    ('{"action":"no_such"}', "INVALID", "not defined. Available actions: run, run_ipython"),
    ('{"action":"no_such"}', "INVALID", "browse_interactive, input, key"),
    ('{"action":"recall"}', "INVALID", "not defined"),
    ('{"action":5}', "INVALID", "not defined"),
    ('{"action":"run"}', "INVALID", "command"),
    ('{"action":"run","args":7}', "INVALID", "args"),
    ('{"action":"run","args":{"command":5}}', "INVALID", "command"),
    ('{"action":"run","args":{"command":"true"},"session":"a/b"}', "INVALID", "session"),
    ('{"action":"run","args":{"command":"true"},"session":""}', "INVALID", "session"),
    ('{"action":"run","args":{"command":"true"},"client_id":7}', "INVALID", "client_id"),
    ('{"action":"run","args":{"command":"true"},"timeout":-1}', "INVALID", "timeout"),
    ('{"action":"run","args":{"command":"true"},"secrets":"x"}', "INVALID", "secrets"),
    ('{"action":"run","args":{"command":"true"},"secrets":["x"]}', "INVALID", "hidden"),
    ('{"action":"input","args":{}}', "INVALID", "base64"),
    ('{"action":"input","args":{"base64":"?"}}', "INVALID", "base64"),
    ('{"action":"key"}', "INVALID", "key"),
    ('{"action":"signal","args":{"signal":"NO"}}', "INVALID", "signal"),
    ('{"action":"resize","args":{"rows":0,"cols":1}}', "INVALID", "rows"),
    ('{"action":"wait","args":{"until":"never"}}', "INVALID", "until"),
    ('{"action":"run","args":{"command":"x","until":"end","busy":"no"}}', "INVALID", "busy"),
    ('{"action":"cancel"}', "INVALID", "id"),
    ('{"ack":-1}', "INVALID", "ack"),
    ('{"ack":"1"}', "INVALID", "ack"),
    ('{"ack":1000}', "NOTFOUND", "no event 1000"),
    ('{"since":0}', "INVALID", "since"),
    ('{"action":"run","args":{"command":"' + "\\u0000" + '"}}', "INVALID", "JSON"),
    (b"bytes", "UNSUPPORTED", "text"),
)


@row("each broken message is answered by name, and the link goes on")
@asynchronous
async def _(case):
    async with Peer(case, since=0) as peer:
        await peer.next()
        for message, code, word in BAD:
            await peer.ws.send(message)
            answer = (await peer.next()).get("error")
            holds(answer, message)
            same(answer["code"], code, message)
            has(answer["message"], word)
        await peer.say(action="run", client_id="mine")
        same((await peer.next())["client_id"], "mine")
        same(peer.events, {})
        same((await peer.run("echo still"))["content"], "still")


@row("a message that is too long, and frames against the protocol, end the link by name")
@asynchronous
async def _(case):
    async with Peer(case, since=0) as peer:
        try:
            await peer.say(action="run", args={"command": "x" * (1 << 20)})
            while True:
                await peer.next()
        except websockets.ConnectionClosed as closed:
            same(closed.code, 1009)
    for bytes, code in ((b"\xc1\x80\0\0\0\0", 1002), (b"\x83\x80\0\0\0\0", 1002),
                        (b"\x81\x81\0\0\0\0\xff", 1007)):
        async with Peer(case) as peer:
            await peer.next()
            peer.ws.transport.write(bytes)
            try:
                while True:
                    await peer.next()
            except websockets.ConnectionClosed as closed:
                same(closed.code, code)
    same((await asyncio.to_thread(run, case, "echo alive"))["content"], "alive")


@row("an action that is too long for an event is refused, or kept short if V0's client sent it")
def _(case):
    long = {"path": "f", "content": "y" * ((1 << 20) - 60)}
    status, answer = request(case, "/events", {"action": "write", "args": long})
    same([status, answer["error"]["code"]], [507, "LIMIT"])
    long["content"] = "z" * (3 << 20)
    status, answer = request(case, "/execute_action", {"action": {"action": "write", "args": long}})
    same([status, answer["observation"]], [200, "write"])
    same(os.path.getsize(os.path.join(case.dir, "f")), (3 << 20) + 1)
    event = act(case, "read", args={"path": "f"})
    has(event["content"][-60:], f"{(3 << 20) + 1} bytes in all")
    holds(event["cut"] > 3 << 20, event["cut"])
    holds(len(log_text(case)) < 3 << 20)


@row("ids of the future are named")
@asynchronous
async def _(case):
    run(case, "true")
    for path in ("/events?since=3", "/events?since=900&wait=1"):
        status, answer = request(case, path)
        same([status, answer["error"]["code"]], [404, "NOTFOUND"])
        has(answer["error"]["message"], "last one is 2")
    try:
        async with Peer(case, since=3):
            holds(False, "it was let in")
    except websockets.InvalidStatusCode as refused:
        same(refused.status_code, 404)
    for query in ("since=x", "since=-", "since=--1", "since=0&wait=x", "since=0&output=1"):
        same(request(case, f"/events?{query}")[0], 400, query)
    same(request(case, "/events?since=2"), (200, {"events": [], "last": 2}))
    for last, ids in ((1, [2]), (2, [1, 2]), (900, [1, 2])):
        same([event["id"] for event in request(case, f"/events?since=-{last}")[1]["events"]], ids)


@row("handshakes that are none", key=None)
def _(case):
    start = "Upgrade: websocket\r\nConnection: Upgrade\r\n"
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    version = "Sec-WebSocket-Version: 13\r\n"
    for fields, status in (
        (start, 426),
        (start + version, 400),
        (start + key, 426),
        (start + key + version.replace("13", "12"), 426),
        (start + key + version + "Origin: http://evil\r\n", 403),
        (start + key + version, 101),
    ):
        with socket.create_connection(("127.0.0.1", case.port), LIMIT) as s:
            s.sendall(f"GET /events HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
            same(s.recv(12), f"HTTP/1.1 {status}".encode(), fields)
    for body in (b"", b"[", b"[]", b'{"a":1}'):
        same(request(case, "/events", body)[0], 400, body)


# ---- names of the server


def with_host(server, host, path="/events?since=0"):
    return request(server, path, headers={"Host": host})


def host_rows(server, accepted, refused):
    for host in ("127.0.0.1", "localhost:7", "LOCALHOST.", "a.localhost", "[::1]:80", *accepted):
        for path in ("/events?since=0", "/alive"):
            same(with_host(server, host, path)[0], 200, host)
    for host in ("evil.example", "evil.example:3000", "127.0.0.1.evil.example", "a..local", "",
                 *refused):
        for path in ("/events?since=0", "/alive", "/nothing"):
            status, answer = with_host(server, host, path)
            same(status, 403, (host, path))
            has(answer["detail"], "--allow-host NAME")


OF_PODS = ("sandbox", "my_app_1:3000", "x.local", "host.docker.internal", "pod.ns.svc",
           "pod.ns.svc.cluster.local", "box.home.arpa")


@row("without a key, names of others are refused", key=None)
def _(case):
    host_rows(case, (), OF_PODS)


@row("with --insecure-open names of the public DNS are refused", more=("--insecure-open",))
def _(case):
    host_rows(case, OF_PODS, ("box.example", "svc.example"))


@row("--allow-host", env={"OD_ALLOW_HOST": "box.example, .dev.example"})
def _(case):
    host_rows(case, ("box.example:1", "Box.Example.", "a.dev.example"),
              ("x.box.example", "dev.example", "sandbox"))


@row("--allow-host '*'", more=("--allow-host", "*"))
def _(case):
    same(with_host(case, "evil.example")[0], 200)
    same(request(case, "/alive", headers={"Origin": "http://evil.example"})[0], 403)


@row("with a key, any name may be used", key="sesame sesame")
def _(case):
    same(request(case, "/events?since=0", headers={
        "Host": "evil.example", "X-Session-API-Key": "sesame sesame"})[0], 200)
    same(with_host(case, "evil.example")[0], 403)


# ---- keys and secrets


@row("a key comes in a header, as a bearer or first of all", key="sesame sesame")
@asynchronous
async def _(case):
    key = "sesame sesame"
    same(request(case, "/events?since=0")[0], 403)
    for headers in ({"X-Session-API-Key": key}, {"Authorization": f"Bearer {key}"}):
        same(request(case, "/events?since=0", headers=headers)[0], 200)
    for headers in ({"X-Session-API-Key": "x"}, {"Authorization": "Bearer x"}):
        same(request(case, "/events?since=0", headers=headers)[0], 403)
    for options in ({"key": key}, {"say_key": key}):
        async with Peer(case, since=0, **options) as peer:
            holds("hello" in await peer.next() or "say_key" in options)
            await peer.act("run", command=f"echo {key}")
            await peer.end((await peer.action())["id"])
    async with Peer(case, since=0) as peer:
        await peer.say(action="run", args={"command": "touch " + case.dir + "/no"})
        try:
            await peer.next()
            holds(False, "it was let in")
        except websockets.ConnectionClosed as closed:
            same(closed.code, 1008)
    async with Peer(case, since=0, say_key="wrong") as peer:
        try:
            await peer.next()
            holds(False, "it was let in")
        except websockets.ConnectionClosed as closed:
            same([closed.code, closed.reason], [1008, "Invalid API Key"])
    holds(not os.path.exists(os.path.join(case.dir, "no")))
    text = log_text(case)
    has(text, "<secret_hidden>")
    lacks(text, key)


@row("without the key an upgrade is a WebSocket's GET and nothing else", key="sesame sesame")
def _(case):
    marker = os.path.join(case.dir, "no")
    body = {"action": "run", "args": {"command": "touch " + marker}}
    upgrades = ({"Upgrade": "websocket"}, {"Upgrade": "websocket", "Connection": "Upgrade"})
    for headers in upgrades:
        same(request(case, "/events", body, headers)[0], 400, headers)
        same(request(case, "/execute_action", body, headers)[0], 400, headers)
    same(request(case, "/events?since=0", headers=upgrades[0])[0], 403)
    same(request(case, "/events", body)[0], 403)
    same(request(case, "/metrics", headers=upgrades[1])[0], 403)
    key = {"X-Session-API-Key": "sesame sesame"}
    same([e for e in request(case, "/events?since=0", headers=key)[1]["events"]], [])
    holds(not os.path.exists(marker))


@row("wrong keys are answered five times a second, and a right one always", key="sesame sesame")
@asynchronous
async def _(case):
    def ask(key):
        return request(case, "/metrics", headers={"X-Session-API-Key": key})[0]

    def wrong_until(limited):
        wait_for(lambda: ask("wrong") == limited, f"no {limited}")

    wrong_until(429)
    same(ask("sesame sesame"), 200)
    codes = set()
    while len(codes) < 2:
        wrong_until(429)
        async with Peer(case, since=0, say_key="wrong") as peer:
            try:
                await peer.next()
                holds(False, "it was let in")
            except websockets.ConnectionClosed as closed:
                codes.add(closed.code)
                holds(closed.code in (1008, 1013), closed)
    wrong_until(403)


@row("secrets never reach the log", env={"MY_TOKEN": "tok-12345"}, more=("--secret", "MY_TOKEN"))
@asynchronous
async def _(case):
    async with Peer(case, since=0) as peer:
        await peer.act("run", command="echo $MY_TOKEN; echo tok-12345")
        end = await peer.end((await peer.action())["id"])
        same(end["content"], "<secret_hidden>\n<secret_hidden>")
        same(peer.output[1].count("tok-12345"), 0)
        quoted = 'pa"ss\\wörd'
        await peer.say(action="run", args={"command": f"printf '%s' '{quoted}'"},
                       secrets={"PASS": quoted})
        end = await peer.end((await peer.action())["id"])
        same(end["content"], "<secret_hidden>")
        case.kill_worker()
    again = wait_for(lambda: tried(case, f"printf '%s' '{quoted}'", "x"), "the next worker")
    same(again["content"], "<secret_hidden>")
    text = log_text(case)
    lacks(text, "tok-12345", "ss\\\\\\\\w", "secrets")
    for line in text.splitlines():
        json.loads(line)


@row("a secret that is printed in pieces is not seen in pieces", env={"KEY": "abcabcabd-12345"},
     more=("--secret", "KEY"))
@asynchronous
async def _(case):
    gates = [os.path.join(case.dir, name) for name in "abc"]
    for gate in gates:
        os.mkfifo(gate)
    async with Peer(case, since=0) as peer:
        await peer.act("run", command=f"printf 'one abcabc'; read x < {gates[0]}; printf x; "
                       f"printf abcabc; read x < {gates[1]}; printf abd-12; "
                       f"read x < {gates[2]}; printf '345 abcab'")
        id = (await peer.action())["id"]
        for gate, seen in zip(gates, ("one ", "one abcabcx", "one abcabcx")):
            while peer.output.get(id, "") != seen:
                holds(seen.startswith(peer.output.get(id, "")), peer.output)
                await peer.next()
            with open(gate, "w", encoding="ascii") as out:
                out.write("\n")
        await peer.end(id)
        same(peer.output[id], "one abcabcx<secret_hidden> abcab")


@row("secrets that the next worker could not remember are refused by name")
@asynchronous
async def _(case):
    values = [f"{i:02d}" * 4096 for i in range(10, 25)]
    async with Peer(case, since=0) as peer:
        await peer.next()
        for i, value in enumerate(values):
            await peer.say(action="run", args={"command": "true"}, secrets=[value],
                           client_id=f"s{i}")
            message = await peer.until(lambda e: "error" in e or "cause" in e)
            if "error" in message:
                break
        same([message["error"]["code"], message["client_id"]], ["LIMIT", f"s{i}"])
        has(message["error"]["message"], "8192 bytes", "at most 98048 bytes", f"{8193 * i} are")
        same(i, 98048 // 8193)
        await peer.say(action="run", args={"command": "true"}, secrets=[values[0]])
        same((await peer.until(lambda e: "cause" in e or "error" in e)).get("observation"), "run")
        case.kill_worker()
    for value, shown in ((values[0], "<secret_hidden>"), (values[i - 1], "<secret_hidden>"),
                         (values[i], values[i])):
        end = wait_for(lambda: tried(case, f"printf '%s' {value}", None), "the next worker")
        same(end["content"], shown)
    for words, code in (([f"number {n}" for n in range(65)], "LIMIT"),
                        (["x" * 8193], "INVALID")):
        body = {"action": "run", "args": {"command": "true"}, "secrets": words}
        _, answer = request(case, "/events", body)
        same(answer.get("error", {}).get("code"), code, answer)


# ---- the log's fate


@row("a worker that dies: what runs is followed, what waits is run, each once", slow=True)
@asynchronous
async def _(case):
    go = os.path.join(case.dir, "go")
    os.mkfifo(go)
    os.chmod(go, 0o666)
    async with Peer(case, since=0) as peer:
        await peer.act("run", command="echo a; read x < go; echo b", blocking=True)
        await peer.act("run", command="echo x >> waited; cat waited")
        await peer.act("write", path="w", content="written")
        await peer.until(lambda e: 1 in peer.output and peer.last >= 3)
        at, last = peer.at[1], peer.last
        case.kill_worker()
        try:
            while True:
                last = max(last, (await peer.next()).get("id", 0))
                at = peer.at[1]
        except websockets.ConnectionClosed:
            pass
    peer = await again(case, last, f"output=1:{at}")
    with open(go, "w", encoding="ascii") as file:
        file.write("\n")
    async with peer:
        ends = [await peer.end(id) for id in (1, 2)]
        same([end["content"] for end in ends], ["a\nb", "x"])
        same(peer.output[1], "b\n")
        with open(os.path.join(case.dir, "waited")) as file:
            same(file.read(), "x\n")


async def again(case, since, query=""):
    """Connects to the next worker."""
    for _ in range(1000):
        peer = Peer(case, since=since, query=query)
        try:
            await peer.__aenter__()
            await peer.ws.ping()
            return Joined(peer)
        except (OSError, websockets.WebSocketException):
            await asyncio.sleep(0.02)
    raise AssertionError("nobody serves any more")


class Joined:
    """A peer that is connected already."""

    def __init__(self, peer):
        self.peer = peer

    def __getattr__(self, name):
        return getattr(self.peer, name)

    async def __aenter__(self):
        return self.peer

    async def __aexit__(self, *_):
        await self.peer.ws.close()


@row("the log goes on under the next server, and what was unfinished says so")
def _(case):
    run(case, "echo one")
    run(case, "sleep 100", wait=False)
    worker = case.worker()
    os.kill(case.process.pid, signal.SIGSTOP)  # it starts no other worker
    os.kill(worker, signal.SIGKILL)  # which would see its command killed, and say so
    case.kill()
    wait_for(lambda: not parent_and_name(worker), "the worker is gone")
    case.start()
    status, page = request(case, "/events?since=0&wait=5")
    same([e["id"] for e in page["events"]], [1, 2, 3, 4])
    same([page["events"][3]["cause"], page["events"][3]["observation"]], [3, "error"])
    has(page["events"][3]["content"], "interrupted", "not applied")
    same(run(case, "echo two")["id"], 6)


@row("a torn end is cut off, and ids go on")
def _(case):
    for i in range(5):
        run(case, f"echo {i}")
    case.stop()
    [log] = [os.path.join(folder, name) for folder, _, names in os.walk(case.root)
             for name in names if name.endswith(".jsonl")]
    os.truncate(log, os.path.getsize(log) - 7)
    case.start()
    status, page = request(case, "/events?since=0&wait=5")
    same([e["id"] for e in page["events"]], list(range(1, 11)))
    same([page["events"][9]["cause"], page["events"][9]["observation"]], [9, "error"])


@row("what a new worker reads whole is small, however much is kept",
     more=("--events-size", "1000"))
def _(case):
    for _ in range(6):
        act(case, "write", args={"path": "/dev/null", "content": "x" * 900000})
    [folder] = [folder for folder, _, names in os.walk(case.root) if folder.endswith("/events")]
    sizes = [os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)
             if name.endswith(".jsonl")]
    holds(sum(sizes) > 5 << 20 and max(sizes) < 6 << 20 and len(sizes) > 1, sizes)
    case.kill_worker()
    end = wait_for(lambda: tried(case, "echo on", None), "the next worker")
    same([end["content"], end["id"]], ["on", 14])


@row("a log of another version is left alone, and memory has the events")
def _(case):
    run(case, "echo one")
    case.stop()
    [folder] = [folder for folder, _, names in os.walk(case.root) if folder.endswith("/events")]
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "r+b") as file:
            head = file.read()
            file.seek(0)
            file.write(head.replace(b"od event log 1", b"od event log 9"))
    before = sorted((name, os.path.getsize(os.path.join(folder, name)))
                    for name in os.listdir(folder))
    case.start()
    same(run(case, "echo two")["id"], 2)
    has(case.logged(), "memory")
    case.kill_worker()
    end = wait_for(lambda: tried(case, "echo three", None), "the next worker")
    same(end["id"], 4)
    same(sorted((name, os.path.getsize(os.path.join(folder, name)))
                for name in os.listdir(folder)), before)


@row("a late comer is told what is not there any more", more=("--events-size", "1"), slow=True)
@asynchronous
async def _(case):
    for i in range(60):
        run(case, f"echo {i}; head -c 28000 /dev/zero | tr '\\0' x")
    async with Peer(case, since=0) as peer:
        await peer.next()
        gap = await peer.next()
        same([gap["observation"], gap["extras"]["from"]], ["gap", 1])
        same(gap["extras"]["reason"], "retention")
        await peer.until(lambda e: e.get("id") == 120)


@row("acknowledged events may go")
@asynchronous
async def _(case):
    run(case, "true")
    async with Peer(case, since=0) as peer:
        await peer.until(lambda e: e.get("id") == 2)
        await peer.say(ack=2)
        await peer.run("echo on")
        same(peer.other[1:], [])


# ---- many at once


@contextlib.contextmanager
def stopped(case):
    """What is sent meanwhile is read at once by the worker."""
    worker = wait_for(case.worker, "there is a worker")
    os.kill(worker, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(worker, signal.SIGCONT)


async def send_many(case, peer, names, more=None):
    """With each third name an action that takes effect once, else one that ends at once."""
    path = os.path.join(case.dir, "once")
    with stopped(case):
        for name in names:
            if int(name[1:]) % 3:
                message = {"action": "resize", "args": {"rows": 40, "cols": 100}, **(more or {})}
            else:
                message = {"action": "run", "args": {
                    "command": f"echo {name} >>{path}", "until": "end"}}
            await peer.say(client_id=name, **message)


@row("actions that are sent at once are in the order in which they were sent")
@asynchronous
async def _(case):
    names = [f"c{i}" for i in range(150)]
    run(case, "true")
    async with Peer(case, since=2) as peer:
        await send_many(case, peer, names)
        await peer.say(action="fly")
        ended = set()
        while len(ended) < len(names):
            ended.add((await peer.until(lambda e: "cause" in e))["client_id"])
        if not any("error" in e for e in peer.other):  # of the last, which may be read later
            await peer.until(lambda e: "error" in e)
    actions = [e["client_id"] for e in peer.events.values() if "action" in e]
    ends = [e["client_id"] for e in peer.events.values()
            if e.get("observation") == "resize"]
    same(actions, names)
    same(ends, [name for name in names if int(name[1:]) % 3])
    with open(os.path.join(case.dir, "once"), encoding="ascii") as file:
        same(file.read().split(), names[::3])
    same([e["error"]["code"] for e in peer.other if "error" in e], ["INVALID"])


@row("each of many actions is done once, however often the worker is killed meanwhile")
@asynchronous
async def _(case):
    names, ended = [f"c{i}" for i in range(90)], set()
    run(case, "true")
    for attempt in range(4):
        with contextlib.suppress(websockets.ConnectionClosed, OSError):
            async with Peer(case, since=2) as peer:
                await send_many(case, peer, [name for name in names if name not in ended])
                if attempt < 3:
                    await asyncio.sleep(random.random() * 0.01)
                    case.kill_worker()
                while len(ended) < len(names):
                    ended.add((await peer.until(lambda e: "cause" in e))["client_id"])
    same(sorted(ended), sorted(names))
    with open(os.path.join(case.dir, "once"), encoding="ascii") as file:
        same(sorted(file.read().split()), sorted(names[::3]))
    async with Peer(case, since=2) as peer:
        last = (await peer.next())["hello"]["next"] - 1
        await peer.until(lambda e: e.get("id") == last)
    for kind in ("action", "cause"):
        found = [e["client_id"] for e in peer.events.values() if kind in e]
        same(sorted(found), sorted(names), kind)


@row("a disk that fills refuses each of many actions that has no room", state=SMALL_STATE)
@asynchronous
async def _(case):
    filler, names = case.env["OD_STATE_DIR"] + "/filler", [f"c{i}" for i in range(1, 300, 3)]
    async with Peer(case, since=0) as peer:
        await peer.run(f"head -c 100m /dev/zero >{filler} 2>/dev/null; true")
        await peer.run(f"truncate -s -40k {filler}")
        await send_many(case, peer, names, {"note": "x" * 8000})
        ends, refused = [], []
        while len(ends) + len(refused) < len(names):
            message = await peer.until(lambda e: "error" in e or "cause" in e)
            (refused if "error" in message else ends).append(message)
        holds(10 < len(refused) < len(names), len(refused), "of", len(names), "were refused")
        unseen = [e["cause"] for e in refused if "cause" in e]  # observations without room
        while unseen and max(unseen) > peer.last:
            await peer.next()
        seen = [e.get("client_id") or peer.events[e["cause"]]["client_id"] for e in ends + refused]
        same(sorted(seen), sorted(names))
        same({e["error"]["code"] for e in refused}, {"LIMIT"})
        has(refused[0]["error"]["message"], "free some space")
        body = {"action": {"action": "run", "args": {"command": f"rm {filler}"}}}
        status, answer = await asyncio.to_thread(request, case, "/execute_action", body)
        same(status, 200, answer)
        await peer.act("run", client_id="last", command="echo room")
        same((await peer.until(lambda e: e.get("client_id") == "last" and "cause" in e))["content"],
             "room")
        gaps = [e for e in peer.events.values() if e.get("observation") == "gap"]
        holds(gaps and gaps[-1]["extras"]["reason"] == "refused", gaps)
        holds(sum(e["extras"]["count"] for e in gaps) >= len(refused), gaps)


# ---- what is short


@row("a full disk is named, and the server goes on when there is room", state=SMALL_STATE)
@asynchronous
async def _(case):
    filler = case.env["OD_STATE_DIR"] + "/filler"
    async with Peer(case, since=0) as peer:
        await peer.next()
        await peer.run(f"head -c 100m /dev/zero >{filler} 2>/dev/null; true")
        refused = None
        for i in range(100):
            await peer.act("write", client_id=f"c{i}", path="/dev/null", content="x" * 20000)
            message = await peer.until(
                lambda e: "error" in e or (e.get("client_id") == f"c{i}" and "cause" in e))
            if "error" in message:
                refused = message
                break
        holds(refused, "something was refused")
        same(refused["error"]["code"], "LIMIT")
        has(refused["error"]["message"], "free some space")
        od = ["setpriv", f"--reuid={OTHER_UID}", f"--regid={OTHER_UID}", "--clear-groups",
              os.environ["OD"], "exec", "--socket", case.env["OD_SOCKET"], "echo by od exec"]
        done = await asyncio.to_thread(subprocess.run, od, capture_output=True, text=True,
                                       timeout=LIMIT)
        same([done.returncode, done.stdout], [0, "by od exec\n"], done.stderr)
        body = {"action": {"action": "run", "args": {"command": f"rm {filler}"}}}
        status, answer = await asyncio.to_thread(request, case, "/execute_action", body)
        same(status, 200, answer)
        await peer.act("run", command="echo room")
        event = await peer.until(lambda e: e.get("args", {}).get("command") == "echo room")
        same((await peer.end(event["id"]))["content"], "room")
        gaps = [e for e in peer.events.values() if e.get("observation") == "gap"]
        holds(gaps and gaps[-1]["extras"]["reason"] == "refused", gaps)


@row("without any place for a state, memory has the events, over the ends of workers",
     state=NO_STATE)
@asynchronous
async def _(case):
    wait_for(lambda: "events are kept in memory only: there is no state" in case.logged(),
             "it is said")
    path = os.path.join(case.dir, "file")
    async with Peer(case, since=0) as peer:
        await peer.next()
        await peer.act("write", client_id="w", path=path, content="written once\n")
        same((await peer.end(1))["observation"], "write")
        await peer.act("run", command="true")  # a shell needs a folder for its files
        has((await peer.end(3))["content"], "--state-dir")
        first = dict(peer.events)
        killed = case.kill_worker()
        wait_for(lambda: case.worker() not in (None, killed), "another worker")
    end = wait_for(lambda: asked(case, "read", path), "the next worker")
    same([end["id"], end["content"]], [6, "written once\n\n"])
    os.unlink(path)
    async with Peer(case, since=0) as peer:
        await peer.until(lambda e: e.get("id") == 6)
        same({id: peer.events[id] for id in first}, first)
        await peer.act("write", client_id="w", path=path, content="a second time")
        known = (await peer.until(lambda e: "known" in e))["known"]
        same([known["id"], known["end"], known["event"]], [1, 2, first[2]])
        holds(not os.path.exists(path), "it was not done twice")
        killed = case.kill_worker()
        wait_for(lambda: case.worker() not in (None, killed), "another worker")
    end = wait_for(lambda: asked(case, "read", path), "the next worker")
    same([end["id"], end["observation"]], [8, "error"])
    case.stop()
    case.start()
    same(request(case, "/events?since=0"), (200, {"events": [], "last": 0}))


def asked(case, action, path):
    try:
        return act(case, action, args={"path": path}, client_id=f"{action} of {case.worker()}")
    except OSError:
        return None


@row("no descriptors left: who comes is refused, who is there goes on", files=64)
@asynchronous
async def _(case):
    async with Peer(case, since=0) as peer:
        await peer.next()
        await peer.run("echo before")
        more = []
        try:
            for _ in range(80):
                more.append(await asyncio.wait_for(
                    websockets.connect(peer.url, open_timeout=1), 2))
        except (OSError, websockets.WebSocketException, asyncio.TimeoutError):
            pass
        holds(len(more) < 80, "all were let in")
        same((await peer.run("echo meanwhile"))["content"], "meanwhile")
        for each in more:
            await each.close()
        same((await peer.run("echo after"))["content"], "after")
    end = wait_for(lambda: tried(case, "echo again", None), "it serves again")
    same(end["content"], "again")


# ---- the end


@row("while requests get their answers at the end, new connections are refused")
@asynchronous
async def _(case):
    where = urllib.parse.urlsplit(case.url)
    async with Peer(case, since=0) as peer:
        waiting = asyncio.create_task(asyncio.to_thread(
            request, case, "/events?wait=60", {"action": "run", "args": {"command": "sleep 99"}}))
        await peer.action()
        case.process.terminate()

        def refused():
            try:
                socket.create_connection((where.hostname, where.port), LIMIT).close()
            except ConnectionRefusedError:
                return True
        await asyncio.to_thread(wait_for, refused, "that it refuses")
        same(case.process.poll(), None)
        await asyncio.gather(waiting, return_exceptions=True)


# ---- beside


@row("od events prints the log, and follows it over a worker's end")
def _(case):
    run(case, "echo one; echo two")
    words = [*case.user.before, os.environ["OD"], "events", "--socket", case.env["OD_SOCKET"]]
    text = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT).stdout
    has(text, "1 20", " main run echo one; echo two\n", " 1: run exit 0 one")
    follower = subprocess.Popen([*words, "--follow", "--json", "--since", "1"],
                                stdout=subprocess.PIPE, text=True)
    try:
        same(json.loads(follower.stdout.readline())["id"], 2)
        case.kill_worker()
        wait_for(lambda: tried(case, "echo three", "three"), "the next worker")
        same([json.loads(follower.stdout.readline())["id"] for _ in range(2)], [3, 4])
    finally:
        follower.kill()
        follower.communicate()
    bad = subprocess.run([*words, "--since", "900"], capture_output=True, text=True, timeout=LIMIT)
    same(bad.returncode, 125)
    has(bad.stderr, "no event 900")


@row("metrics")
@asynchronous
async def _(case):
    async with Peer(case, since=0) as peer:
        await peer.run("echo one")
        status, text = await asyncio.to_thread(request, case, "/metrics")
        same(status, 200)
        for line in text.splitlines():
            holds(line.startswith("# ") or len(line.split()) == 2, line)
        has(text, "od_subscribers 1\n", "od_actions_total 1\n", "od_events_next_id 3\n",
            "od_command_duration_seconds_count 1\n", "od_sessions 1\n")
    case.kill_worker()
    wait_for(lambda: "od_worker_starts_total 2\n" in metrics(case), "the next worker")


def metrics(case):
    try:
        return request(case, "/metrics")[1]
    except OSError:
        return ""


def main():
    tap = Tap()
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    wanted = [each for each in row if pattern in each.name]
    if os.getuid() != 0:
        for each in [each for each in wanted if "state" in each.options]:
            wanted.remove(each)
            tap.line(True, f"events: {each.name}", skip="only root can mount what it needs")
    run_rows(tap, [("events", each, server_for) for each in wanted], 6)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
