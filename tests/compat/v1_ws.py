# SPDX-License-Identifier: MIT
"""OpenHands' agent-server: the WebSocket of commands' events."""
import asyncio
import contextlib
import json
import time

import websockets

from tap import Rows, has, holds, lacks, same, wait_for
from v1_server import KEY, receive, talk, until_end

row = Rows()

AUTH = json.dumps({"type": "auth", "session_api_key": KEY})


async def refused(s, status, query="", key=False):
    try:
        async with s.socket(query, key):
            raise AssertionError("it was accepted")
    except websockets.InvalidStatusCode as error:
        same(error.status_code, status, query)


async def closed(ws):
    """The close code and reason; events before it do not count."""
    with contextlib.suppress(websockets.ConnectionClosed):
        while True:
            await ws.recv()
    return ws.close_code, ws.close_reason


@row("a command comes back as its events, as REST has them")
def _(s):
    async def run():
        async with s.socket() as ws:
            await ws.send(json.dumps({"command": "echo one; echo two >&2; exit 3"}))
            command, output = await until_end(ws)
            same((command["kind"], command["timeout"], command["cwd"]), ("BashCommand", 300, None))
            same((output["command_id"], output["stdout"], output["stderr"], output["exit_code"]),
                 (command["id"], "one\n", "two\n", 3))
            same(s.search()["items"], [command, output])

    talk(run)


@row("events of every origin go to every socket")
def _(s):
    async def run():
        async with s.socket() as one, s.socket() as two:
            await one.send(json.dumps({"command": "echo from one"}))
            seen = [await until_end(ws) for ws in (one, two)]
            same(seen[0], seen[1])
            s.start_command("echo from REST")
            seen = [await until_end(ws) for ws in (one, two)]
            same(seen[0], seen[1])
            same(seen[0][-1]["stdout"], "from REST\n")

    talk(run)


@row("keys: the query or the field; if both are wrong it is 403 before the handshake")
def _(s):
    right, wrong = {"X-Session-API-Key": KEY}, {"X-Session-API-Key": "wrong"}

    async def run():
        async with s.socket(f"?session_api_key={KEY}", None) as ws:
            await ws.send('{"command":"true"}')
            await until_end(ws)
        async with s.socket(f"?session_api_key={KEY}", wrong) as ws:
            await ws.send('{"command":"true"}')
            await until_end(ws)
        for query in ("?session_api_key=wrong", "?session_api_key="):
            async with s.socket(query, right) as ws:
                await ws.send('{"command":"true"}')
                await until_end(ws)
            await refused(s, 403, query, wrong)
        await refused(s, 400, f"?session_api_key={KEY}&session_api_key={KEY}", None)
        await refused(s, 403, "", wrong)
        await refused(s, 403, "", {"Cookie": f"oh_workspace_session_key={KEY}",
                                   "X-Session-API-Key": "x"})

    talk(run)


@row("keys: the first message may have it")
def _(s):
    async def run():
        async with s.socket("", None) as ws:
            await ws.send(AUTH)
            await ws.send('{"command":"echo in"}')
            same((await until_end(ws))[-1]["stdout"], "in\n")

    talk(run)


@row("keys: any other first message closes with 4001, and the log has nothing of it")
def _(s):
    bad = ('{"type":"auth","session_api_key":"planted-secret"}', '{"type":"auth"}', "planted-secret",
           "[]", '{"type":"auth","session_api_key":7}', "{", '{"command":"touch planted-secret"}',
           json.dumps({"type": "other", "session_api_key": KEY}), b"planted-secret")

    async def run():
        for message in bad:
            async with s.socket("", None) as ws:
                await ws.send(message)
                same(await closed(ws), (4001, "Authentication failed"), message)
        lacks(s.logged(1 << 20), "planted-secret", KEY)

    talk(run)


@row("keys: without a message it is closed after a while, and gets no event", slow=True)
def _(s):
    async def run():
        async with s.socket("", None) as ws:
            s.execute("echo not for you")
            with contextlib.suppress(websockets.ConnectionClosed):
                raise AssertionError(await ws.recv())
            same((ws.close_code, ws.close_reason), (4001, "Authentication failed"))

    talk(run)


@row("keys: none is needed where there is none", key=None)
def _(s):
    async def run():
        async with s.socket("", None) as ws:
            await ws.send('{"command":"echo open"}')
            same((await until_end(ws))[-1]["stdout"], "open\n")

    talk(run)


@row("auth messages are ignored at any time, but for those with more in them")
def _(s):
    async def run():
        async with s.socket() as ws:
            await ws.send('{"type":"auth"}')
            await ws.send(AUTH)
            await ws.send('{"type":"auth","command":"echo ran"}')
            same((await until_end(ws))[-1]["stdout"], "ran\n")

    talk(run)


@row("a bad message is a BashError on this socket only, which stays open")
def _(s):
    async def run():
        async with s.socket() as ws, s.socket() as other:
            for message, code in (("{", "JSONDecodeError"), ("[]", "ValidationError"),
                                  ("{}", "ValidationError"), ('{"command":1}', "ValidationError"),
                                  ('{"command":"true","timeout":2.5}', "ValidationError"),
                                  (b"{}", "KeyError")):
                await ws.send(message)
                error = await receive(ws)
                same(set(error), {"id", "timestamp", "code", "detail", "kind"})
                same((error["code"], error["kind"]), (code, "BashError"))
                holds(error["detail"], message)
            await ws.send("{}")
            has((await receive(ws))["detail"], "1 validation error for ExecuteBashRequest",
                "command", "Field required")
            await ws.send('{"command":"echo still"}')
            same((await until_end(ws))[-1]["stdout"], "still\n")
            same([each["kind"] for each in await until_end(other)], ["BashCommand", "BashOutput"])
            same(len(s.search()["items"]), 2)

    talk(run)


@row("resend: all events come again in order, before what follows")
def _(s):
    commands = [s.start_command(f"echo {i}") for i in range(3)]
    for command in commands:
        s.ended(command)
    stored = s.search()["items"]

    async def run():
        for query in ("?resend_mode=all", "?resend_all=true"):
            async with s.socket(query) as ws:
                same([await receive(ws) for _ in stored], stored)
        async with s.socket("?resend_mode=all", None) as ws:
            await ws.send(AUTH)
            same([await receive(ws) for _ in stored], stored)
            await ws.send('{"command":"echo new"}')
            seen = await until_end(ws)
            same((len(seen), seen[-1]["stdout"]), (2, "new\n"))
        async with s.socket("?resend_all=false") as ws:
            await ws.send('{"command":"echo newer"}')
            same(len(await until_end(ws)), 2)
        await refused(s, 403, "?resend_mode=some", True)

    talk(run)


@row("output is seen while a command runs, if a socket looks", slow=True)
def _(s):
    mark = s.root + "/go"

    async def run():
        async with s.socket() as ws:
            await ws.send(json.dumps({
                "command": f"echo first; while [ ! -e {mark} ]; do sleep 0.05; done; echo last"}))
            command, early = await receive(ws), await receive(ws)
            same((early["stdout"], early["exit_code"], early["order"]), ("first\n", None, 0))
            open(mark, "w").close()
            seen = await until_end(ws)
            same("".join(each["stdout"] or "" for each in seen), "last\n")
            same(seen[-1]["exit_code"], 0)
            whole = s.outputs(command)
            same([each["order"] for each in whole], list(range(len(whole))))

    talk(run)


@row("fifty sockets are served, the next one is told to come later", slow=True)
def _(s):
    async def run():
        async with contextlib.AsyncExitStack() as stack:
            sockets = [await stack.enter_async_context(s.socket()) for _ in range(50)]
            async with s.socket() as ws:
                same(await closed(ws), (1013, "Too many bash event connections"))
            await sockets[0].send('{"command":"echo all"}')
            for ws in sockets:
                same((await until_end(ws))[-1]["stdout"], "all\n")
            await sockets[7].close()
        end = time.monotonic() + 30
        while True:  # there is room again
            async with s.socket() as ws:
                await ws.send('{"command":"true"}')
                try:
                    await until_end(ws)
                    return
                except websockets.ConnectionClosed:
                    holds(time.monotonic() < end)

    talk(run)


@row("a socket that reads nothing holds up nobody", slow=True)
def _(s):
    async def run():
        async with s.socket() as slow:
            slow.transport.pause_reading()
            async with s.socket() as ws:
                for _ in range(3):
                    await ws.send(json.dumps({"command": "head -c 4000000 /dev/zero | tr '\\0' x"}))
                    seen = await until_end(ws)
                    same(sum(len(each.get("stdout") or "") for each in seen), 4000000)
            slow.transport.resume_reading()
            total = 0
            for _ in range(3):
                total += sum(len(e.get("stdout") or "") for e in await until_end(slow))
            same(total, 12000000)

    talk(run)


@row("a socket that goes stops no command")
def _(s):
    async def run():
        async with s.socket() as ws:
            await ws.send('{"command":"sleep 0.4; echo on"}')
            return await receive(ws)

    command = talk(run)
    same(s.ended(command)[-1]["stdout"], "on\n")


@row("a message that is too long closes; a ping is answered")
def _(s):
    async def run():
        async with s.socket() as ws:
            await asyncio.wait_for(await ws.ping(), 30)
            await ws.send("x" * (5 << 20))
            same((await closed(ws))[0], 1009)

    talk(run)


@row("a request that is no handshake is 404; another method is refused")
def _(s):
    same(s.http.get("/sockets/bash-events").status_code, 404)
    same(s.http.post("/sockets/bash-events").status_code, 405)


@row("a killed worker: events of before come again, and those after it once", slow=True)
def _(s):
    command = s.start_command("sleep 1; echo over")
    s.kill_worker()

    async def run():
        async with s.socket("?resend_mode=all") as ws:
            seen = await until_end(ws)
            same([each["kind"] for each in seen], ["BashCommand", "BashOutput"])
            same((seen[0]["id"], seen[1]["stdout"]), (command["id"], "over\n"))

    talk(run)
