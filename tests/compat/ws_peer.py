# SPDX-License-Identifier: MIT
"""ws_peer.py ECHO [PATTERN]: the library `websockets` talks to ECHO, which is
tests/lib/ws_echo.c, as its client and as its server."""
import asyncio
import contextlib
import http
import socket
import subprocess
import sys

import websockets
from tap import LIMIT, Rows, Tap, has, holds, run_rows, same

ECHO = sys.argv[1]
row = Rows()

SIZES = (0, 1, 125, 126, 127, 65535, 65536, 65537, 1 << 20)


class Server:
    """ECHO as a server."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [ECHO, "serve", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])
        self.url = f"ws://127.0.0.1:{self.port}/"

    def connect(self, **options):
        options = {"max_size": None, "open_timeout": LIMIT, **options}
        return websockets.connect(self.url, **options)

    def raw(self, request):
        with socket.create_connection(("127.0.0.1", self.port), LIMIT) as s:
            s.sendall(request)
            return b"".join(iter(lambda: s.recv(65536), b""))

    def close(self):
        self.process.stdin.close()
        same(self.process.wait(LIMIT), 0, "the server's status")
        self.process.stdout.close()


@contextlib.contextmanager
def server_for(one):
    server = Server(*one.options.get("options", ()))
    try:
        yield server
    finally:
        server.close()


def asynchronous(function):
    """The row's coroutine, with a limit of time."""

    def run(case):
        asyncio.run(asyncio.wait_for(function(case), LIMIT))

    return run


async def echoes(ws, message):
    await ws.send(message)
    same(await ws.recv(), message)


async def answered_pings(ws, count):
    """Returns when the library has answered that many pings."""
    answer, enough, seen = ws.pong, asyncio.Event(), []

    async def pong(data=b""):
        seen.append(data)
        await answer(data)
        if len(seen) == count:
            enough.set()

    ws.pong = pong
    await enough.wait()


# --- its client, our server


@row("messages of all lengths come back")
@asynchronous
async def _(server):
    async with server.connect() as ws:
        same(ws.extensions, [], "compression was offered, and not taken")
        for size in SIZES:
            await echoes(ws, "x" * size)
            await echoes(ws, bytes(i % 256 for i in range(min(size, 70000))))
        await echoes(ws, "κόσμε \U0001f600 \0 ÿ")


@row("messages in fragments come back whole")
@asynchronous
async def _(server):
    async with server.connect() as ws:
        for parts in (["a", "", "b"], ["x" * 70000] * 5, [""], ["é"] * 200):
            await ws.send(parts)
            same(await ws.recv(), "".join(parts))
        await ws.send([b"\xc3", b"\x28"])
        same(await ws.recv(), b"\xc3\x28")


@row("pings are answered")
@asynchronous
async def _(server):
    async with server.connect() as ws:
        for data in (b"", b"x", b"y" * 125):
            await (await ws.ping(data))
        await echoes(ws, "still here")


@row("a client's close is answered with its code", options=("close_ms=60000",))
@asynchronous
async def _(server):
    for code in (1000, 1001, 3000, 4999):
        ws = await server.connect()
        await ws.close(code, "so long")
        same(ws.close_code, code)


@row("the server's close has its code and reason")
@asynchronous
async def _(server):
    for code in (1000, 1008, 1011, 1013, 4000):
        ws = await server.connect()
        await ws.send(f"close {code} because é")
        try:
            await ws.recv()
        except websockets.ConnectionClosed as closed:
            same((closed.rcvd.code, closed.rcvd.reason), (code, "because é"))
            same(closed.sent.code, code)
        else:
            raise AssertionError("it was not closed")


@row("a message too long is refused with 1009", options=("message_max=1000",))
@asynchronous
async def _(server):
    async with server.connect() as ws:
        await echoes(ws, "x" * 1000)
        await ws.send("x" * 1001)
        try:
            await ws.recv()
        except websockets.ConnectionClosed as closed:
            same(closed.rcvd.code, 1009)
        else:
            raise AssertionError("it was taken")


@row("the protocol that both know is chosen")
@asynchronous
async def _(server):
    async with server.connect(subprotocols=["other", "echo"]) as ws:
        same(ws.subprotocol, "echo")
        await echoes(ws, "x")
    async with server.connect(subprotocols=["other"]) as ws:
        same(ws.subprotocol, None)


@row("a client that does not read stops the server, and misses nothing")
@asynchronous
async def _(server):
    async with server.connect(max_queue=1, read_limit=4096) as ws:
        for _ in range(20):
            await ws.send("fill 4000000")
        for _ in range(20):
            same(len(await ws.recv()), 4000000)


@row("a hundred clients at once")
@asynchronous
async def _(server):
    async def one(n):
        async with server.connect() as ws:
            for i in range(20):
                await echoes(ws, f"{n} {i}" * n)

    await asyncio.gather(*(one(n) for n in range(100)))


@row("a client that only listens is pinged and stays", options=("ping_ms=20", "dead_ms=20000"))
@asynchronous
async def _(server):
    async with server.connect(ping_interval=None) as ws:
        await answered_pings(ws, 10)
        await echoes(ws, "here")


@row("a client that is gone is found out", options=("ping_ms=20", "dead_ms=1000"))
def _(server):
    upgrade = (
        b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    heard = server.raw(upgrade)
    holds(heard.startswith(b"HTTP/1.1 101 "), heard)
    has(heard, b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n")
    _, _, frames = heard.partition(b"\r\n\r\n")
    holds(len(frames) >= 4 and frames == b"\x89\x00" * (len(frames) // 2), frames)


@row("what is no handshake is refused")
def _(server):
    heard = server.raw(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    holds(heard.startswith(b"HTTP/1.1 426 "), heard)
    has(heard, b"Sec-WebSocket-Version: 13")
    heard = server.raw(
        b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n"
    )
    holds(heard.startswith(b"HTTP/1.1 400 "), heard)


# --- its server, our client


async def our_client(handler, *options, **server_options):
    """Serves one connection of ECHO; gives what ECHO printed at its end."""
    failed = []

    async def handle(ws, path="/"):
        try:
            await handler(ws)
        except Exception as error:
            failed.append(error)
        await ws.close()

    async with websockets.serve(handle, "127.0.0.1", 0, max_size=None, **server_options) as server:
        port = server.sockets[0].getsockname()[1]
        process = await asyncio.create_subprocess_exec(
            ECHO, "connect", f"127.0.0.1:{port}", "/a?b", *options, stdout=subprocess.PIPE
        )
        out, _ = await process.communicate()
        same(process.returncode, 0, "our client's status")
    if failed:
        raise failed[0]
    return out.decode()


@row("our client: messages of all lengths come back")
@asynchronous
async def _(_server):
    async def talk(ws):
        same(ws.path, "/a?b")
        same(ws.subprotocol, "echo")
        for size in SIZES:
            await echoes(ws, "x" * size)
            await echoes(ws, b"\xff" * size)
        for parts in (["a", "", "b"], ["x" * 70000] * 5):
            await ws.send(parts)
            same(await ws.recv(), "".join(parts))

    same(await our_client(talk, subprotocols=["echo"]), "closed 1000 \n")


@row("our client: a close of the server is told, and answered")
@asynchronous
async def _(_server):
    async def talk(ws):
        await ws.close(4001, "enough é")
        same(ws.close_code, 4001)

    same(await our_client(talk), "closed 4001 enough é\n")


@row("our client: its own close reaches the server")
@asynchronous
async def _(_server):
    async def talk(ws):
        await ws.send("close 4002 mine")
        await ws.wait_closed()
        same((ws.close_code, ws.close_reason), (4002, "mine"))

    has(await our_client(talk), "closed 4002 ")


@row("our client: pings in both directions")
@asynchronous
async def _(_server):
    async def talk(ws):
        await (await ws.ping(b"y" * 125))
        await answered_pings(ws, 5)
        await echoes(ws, "still here")

    same(
        await our_client(talk, "ping_ms=20", "dead_ms=20000", ping_interval=0.05),
        "closed 1000 \n",
    )


@row("our client: a server that refuses is understood")
@asynchronous
async def _(_server):
    async def never(ws):
        raise AssertionError("it was let in")

    async def refuse(path, headers):
        return http.HTTPStatus.FORBIDDEN, [], b"no"

    out = await our_client(never, process_request=refuse)
    has(out, "failed ", "403")


def main():
    pattern = sys.argv[2] if len(sys.argv) > 2 else ""
    tap = Tap()
    run_rows(tap, [("websockets", one, server_for) for one in row if pattern in one.name])
    return tap.done()


sys.exit(main())
