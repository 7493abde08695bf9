# SPDX-License-Identifier: MIT
"""The front-end preview, and apps at hosts of their own (--preview-host): requests, answers,
streams and WebSockets of apps, and who may see them. The app is a server of this file that tells what it got."""
import asyncio
import contextlib
import functools
import hashlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.parse

import websockets
from tap import LIMIT, Rows, Tap, at_end, has, holds, lacks, run_rows, same, show_log, wait_for

OD, T = os.environ["OD"], os.environ["T"]
KEY = "preview-key-0123456789abcdef"
HTML = {"Accept": "text/html"}


# --- the app ---------------------------------------------------------------


class App:
    """An HTTP server on 127.0.0.1 or ::1, and a WebSocket server, in one thread."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.more = asyncio.Event()
        self.up = threading.Event()
        self.closed = threading.Event()
        threading.Thread(target=self.run, daemon=True).start()
        holds(self.up.wait(LIMIT), "the app listens")

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.listen())
        self.up.set()
        self.loop.run_forever()

    async def listen(self):
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        server = await asyncio.start_server(self.serve, "::1", 0)
        self.port6 = server.sockets[0].getsockname()[1]
        server = await websockets.serve(self.talk, "127.0.0.1", 0, subprotocols=["chat"],
                                        max_size=None, origins=None)
        self.port_ws = server.sockets[0].getsockname()[1]

    def release(self):
        self.loop.call_soon_threadsafe(self.more.set)

    async def talk(self, ws, path=None):
        await ws.send(json.dumps({"path": path or ws.path, "headers": list(ws.request_headers.raw_items())}))
        with contextlib.suppress(websockets.ConnectionClosed):
            async for message in ws:
                if message == "close":
                    await ws.close(4321, "as asked")
                else:
                    await ws.send(message)

    async def serve(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ")
            fields = [line.split(": ", 1) for line in head[1:] if line]
            body = await self.body(reader, {k.lower(): v for k, v in fields})
            await self.answer(writer, method, target, fields, body)
            writer.close()

    async def body(self, reader, fields):
        if fields.get("transfer-encoding") == "chunked":
            body = b""
            while True:
                n = int(await reader.readline(), 16)
                body += await reader.readexactly(n)
                await reader.readline()
                if n == 0:
                    return body
        return await reader.readexactly(int(fields.get("content-length", 0)))

    async def answer(self, writer, method, target, fields, body):
        def head(status, *more):
            writer.write("\r\n".join([f"HTTP/1.1 {status} X", *more, "", ""]).encode("latin-1"))

        path, _, query = target.partition("?")
        args = urllib.parse.parse_qs(query)
        if path == "/head":
            head(200, "Content-Type: text/plain", *args.get("field", []), "Content-Length: 0")
        elif path == "/status":
            head(int(query), "X-App: yes")
        elif path == "/stream":
            head(200, "Content-Type: text/event-stream", "Transfer-Encoding: chunked")
            writer.write(b"9\r\ndata: 1\n\n\r\n")
            await writer.drain()
            await self.more.wait()
            self.more.clear()
            writer.write(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n")
        elif path == "/endless":
            head(200, "Content-Type: text/plain")
            with contextlib.suppress(ConnectionError):
                while True:
                    writer.write(b"x" * 65536)
                    await writer.drain()
            self.closed.set()
        elif path == "/big":
            head(200, f"Content-Length: {1 << 24}")
            for i in range(1 << 8):
                writer.write(bytes([i]) * (1 << 16))
                await writer.drain()
        elif path == "/cut":
            head(200, "Content-Length: 100")
            writer.write(b"half")
        elif path == "/nonsense":
            writer.write(b"hello, I am no HTTP\r\n\r\n")
        else:
            told = json.dumps({"method": method, "target": target, "fields": fields,
                               "n": len(body), "sum": hashlib.sha256(body).hexdigest()}).encode()
            head(200, "Content-Type: application/json", f"Content-Length: {len(told)}")
            writer.write(told if method != "HEAD" else b"")
        await writer.drain()


# --- the server --------------------------------------------------------------


servers = []  # their processes, to be stopped in the end


class Server:
    """`od serve` with a preview listener; key "": without a key."""

    def __init__(self, name, key=KEY, options=()):
        self.log, self.state = f"{T}/{name}.log", f"{T}/{name}.state"
        env = dict(os.environ, SESSION_API_KEY=key, OD_SOCKET=f"{T}/{name}.sock")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [OD, "serve", "--state-dir", self.state, "--socket", f"{T}/{name}.sock",
                 "--listen", "127.0.0.1:0", "--listen", "preview@127.0.0.1:0",
                 *options],
                env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        at_end(self.process.terminate)
        servers.append(self.process)
        wait_for(lambda: "preview@" in self.text(), "it listens")
        self.port = int(re.search(r"preview@127\.0\.0\.1:(\d+)", self.text())[1])
        self.native = int(re.search(r"http 127\.0\.0\.1:(\d+)", self.text())[1])

    def text(self):
        with open(self.log, encoding="utf-8") as f:
            return f.read()

    def ask(self, path, method="GET", body=None, headers=None, key=KEY, at=None, **more):
        c = http.client.HTTPConnection("127.0.0.1", at or self.port, timeout=LIMIT)
        given = {"X-Session-API-Key": key} if key else {}
        c.request(method, path, body, {**given, **(headers or {})}, **more)
        return c.getresponse()

    def worker(self):
        out = subprocess.run(["pgrep", "-P", str(self.process.pid), "-f", "^od-worker$"],
                             capture_output=True, text=True, check=True)
        return int(out.stdout)


def echo(answer):
    same(answer.status, 200, "status")
    got = json.loads(answer.read())
    got["names"] = {k.lower(): v for k, v in got["fields"]}
    return got


app = App()
server = Server("keyed")
show_log(server.log)
test = Rows()


# --- requests and answers ------------------------------------------------------


@test("path and query come as they were written")
def _(_case):
    for rest in ("/", "/a//b/%2e%2E/c%20d?x=%41&y=a+b?", "/?", "/%C3%A9;v=1", "/login", "/%ff%00"):
        same(echo(server.ask(f"/{app.port}{rest}"))["target"], rest) if "%00" not in rest else \
            same(server.ask(f"/{app.port}{rest}").status, 400, "a NUL")


@test("each method, and a body with a length")
def _(_case):
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        body = b"b" * 300000 if method in ("POST", "PUT", "PATCH") else None
        got = echo(server.ask(f"/{app.port}/m", method, body))
        same((got["method"], got["n"]), (method, len(body or b"")), method)
        same(got["sum"], hashlib.sha256(body or b"").hexdigest())
    same(server.ask(f"/{app.port}/m", "HEAD").status, 200, "HEAD")


@test("a body without a length")
def _(_case):
    pieces = [b"a" * 70000, b"b", b"c" * 200000]
    got = echo(server.ask(f"/{app.port}/m", "POST", iter(pieces), encode_chunked=True,
                          headers={"Transfer-Encoding": "chunked"}))
    same((got["n"], got["sum"]), (270001, hashlib.sha256(b"".join(pieces)).hexdigest()))
    has(got["names"], "transfer-encoding")


@test("an app on ::1, and none")
def _(_case):
    same(echo(server.ask(f"/{app.port6}/x"))["target"], "/x")
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as s:
        free = s.getsockname()[1]
    answer = server.ask(f"/{free}/")
    same(answer.status, 502)
    has(answer.read().decode(), f"Nothing listens at port {free}")
    page = server.ask(f"/{free}/", headers=HTML)
    same(page.status, 502)
    has(page.read().decode(), "http-equiv=refresh")


@test("fields that are the hop's, ours or a secret stay here")
def _(_case):
    got = echo(server.ask(f"/{app.port}/", headers={
        "Connection": "close, X-Hop", "X-Hop": "1", "TE": "trailers", "Keep-Alive": "5",
        "Cookie": "a=1; od_preview=x; b=2; od_ui=y", "Referer": "http://x/", "X-Mine": "kept",
        "X-Forwarded-For": "6.6.6.6", "X-Forwarded-Prefix": "/evil", "Authorization": f"Bearer {KEY}"}))
    names = got["names"]
    lacks(names, "x-hop", "te", "keep-alive", "referer", "authorization", "x-session-api-key", "origin")
    lacks(json.dumps(got), KEY)
    same(names["cookie"], "a=1; b=2")
    same(names["host"], f"localhost:{app.port}")
    same((names["x-forwarded-for"], names["x-forwarded-host"], names["x-forwarded-proto"],
          names["x-forwarded-prefix"], names["x-mine"]),
         ("127.0.0.1", f"127.0.0.1:{server.port}", "http", f"/{app.port}", "kept"))


@test("Authorization of the app's own reaches it")
def _(_case):
    same(echo(server.ask(f"/{app.port}/", headers={"Authorization": "Bearer the-apps"}))
         ["names"]["authorization"], "Bearer the-apps")


def head(*fields):
    query = urllib.parse.urlencode([("field", f) for f in fields])
    answer = server.ask(f"/{app.port}/head?{query}")
    answer.read()
    return answer


@test("Location is relative to the port")
def _(_case):
    def location(at, value):
        answer = server.ask(f"/{app.port}{at}?" + urllib.parse.urlencode({"field": f"Location: {value}"}))
        answer.read()
        return urllib.parse.urljoin(f"http://h/box/{app.port}{at}", answer.getheader("Location"))

    root = f"http://h/box/{app.port}"
    same(location("/head", "/a/b?c=1#d"), root + "/a/b?c=1#d")
    same(location("/head", f"http://localhost:{app.port}/x"), root + "/x")
    same(location("/head", f"http://127.0.0.1:{app.port}"), root + "/")
    same(location("/head", "sub/x"), root + "/sub/x")
    same(location("/head", "https://example.org/y"), "https://example.org/y")
    same(location("/head", "//example.org/y"), "http://example.org/y")


@test("Set-Cookie is below the port, and none of ours can be set")
def _(_case):
    answer = head("Set-Cookie: a=1; Path=/; Domain=example.org; HttpOnly", "Set-Cookie: b=2",
                  "Set-Cookie: c=3; Path=/x; SameSite=Lax", "Set-Cookie: od_preview=evil; Path=/")
    same(answer.headers.get_all("Set-Cookie"),
         [f"a=1; Path=/{app.port}/; HttpOnly", f"b=2; Path=/{app.port}/",
          f"c=3; Path=/{app.port}/x; SameSite=Lax"])


@test("fields of the answer come through, one for one")
def _(_case):
    answer = head("X-A: 1", "X-A: 2", "Service-Worker-Allowed: /", "Keep-Alive: timeout=1", "ETag: \"x\"",
                  "X-Long: " + "v" * 7000)
    same(answer.headers.get_all("X-A"), ["1", "2"])
    same(answer.getheader("ETag"), '"x"')
    same(len(answer.getheader("X-Long")), 7000)
    same([answer.getheader(n) for n in ("Service-Worker-Allowed", "Keep-Alive")], [None, None])
    same(len(answer.headers.get_all("Date")), 1)


@test("answers without a body")
def _(_case):
    for status in (204, 304, 404):
        answer = server.ask(f"/{app.port}/status?{status}")
        same((answer.status, answer.getheader("X-App"), answer.read()), (status, "yes", b""))


@test("an event comes when it is sent")
def _(_case):
    answer = server.ask(f"/{app.port}/stream")
    same(answer.readline() + answer.readline(), b"data: 1\n\n")
    app.release()
    same(answer.read(), b"data: 2\n\n")


@test("16 MB, whole")
def _(_case):
    wanted = hashlib.sha256(b"".join(bytes([i]) * (1 << 16) for i in range(1 << 8))).hexdigest()
    same(hashlib.sha256(server.ask(f"/{app.port}/big").read()).hexdigest(), wanted)


@test("a client that goes takes its request with it")
def _(_case):
    answer = server.ask(f"/{app.port}/endless")
    answer.read(1 << 20)
    answer.close()
    holds(app.closed.wait(LIMIT), "the app is told")


@test("an app that breaks off, or speaks something else")
def _(_case):
    answer = server.ask(f"/{app.port}/cut")
    try:
        answer.read()
        holds(False, "the answer is not whole")
    except http.client.IncompleteRead as e:
        same(e.partial, b"half")
    answer = server.ask(f"/{app.port}/nonsense")
    same(answer.status, 502)


@test("paths that are no port's, and our own ports")
def _(_case):
    for path in ("/x/", "/0/", "/65536/", "/1e3/", "/%33000/", "/-1/", "/99999999999999999999/"):
        same(server.ask(path).status, 404, path)
    for port in (server.port, server.native):
        same(server.ask(f"/{port}/").status, 403, port)
    answer = server.ask(f"/{app.port}?q=1")
    same((answer.status, answer.getheader("Location")), (308, f"./{app.port}/?q=1"))


@test("the list of ports")
def _(_case):
    ports = [p["port"] for p in json.loads(server.ask("/").read())["ports"]]
    same(ports, sorted(ports))
    holds(app.port in ports, ports)
    lacks(ports, server.port, server.native)
    shown = re.findall(r'href="(\d+)/"', server.ask("/", headers=HTML).read().decode())
    holds(str(app.port) in shown, shown)


# --- WebSockets ------------------------------------------------------------------


def talk(function, path="/ws?a=%20", **options):
    async def run():
        async with websockets.connect(
            f"ws://127.0.0.1:{server.port}/{app.port_ws}{path}", max_size=None, open_timeout=LIMIT,
            extra_headers={"X-Session-API-Key": KEY, **options.pop("headers", {})}, **options,
        ) as ws:
            return await asyncio.wait_for(function(ws), LIMIT)

    return asyncio.run(run())


@test("a WebSocket: subprotocol, fields, the Origin of a page only, big messages, close code")
def _(_case):
    async def both(ws):
        first = json.loads(await ws.recv())
        same(ws.subprotocol, "chat")
        same(first["path"], "/ws?a=%20")
        fields = {k.lower(): v for k, v in first["headers"]}
        lacks(fields, "x-session-api-key", "origin")
        same(fields["host"], f"localhost:{app.port_ws}")
        for n in (0, 1, 1 << 20, 4 << 20):
            await ws.send(os.urandom(n) if n else b"")
            same(len(await ws.recv()), n)
        await ws.send("close")
        await ws.wait_closed()
        same((ws.close_code, ws.close_reason), (4321, "as asked"))

    async def of_page(ws):
        fields = {k.lower(): v for k, v in json.loads(await ws.recv())["headers"]}
        same(fields["origin"], f"http://localhost:{app.port_ws}")

    talk(both, subprotocols=["other", "chat"])
    talk(of_page, origin=f"http://127.0.0.1:{server.port}")


@test("a WebSocket without a subprotocol, and a refused one")
def _(_case):
    async def none(ws):
        same(ws.subprotocol, None)
        await ws.recv()

    talk(none)
    answer = server.ask(f"/{app.port}/x", headers={
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="})
    same(echo(answer)["names"]["upgrade"], "websocket")


# --- who may -------------------------------------------------------------------------


def login(key=KEY, to="/", headers=None):
    body = urllib.parse.urlencode({"key": key, "next": to})
    return server.ask("/login", "POST", body, key=None, headers={
        "Content-Type": "application/x-www-form-urlencoded", **(headers or {})})


def cookie_of(answer):
    return answer.getheader("Set-Cookie").split(";")[0]


@test("without the key: 401, and nothing of the app")
def _(_case):
    for path in ("/", f"/{app.port}", f"/{app.port}/x", "/nope"):
        for method in ("GET", "POST", "OPTIONS", "DELETE"):
            answer = server.ask(path, method, key=None)
            same(answer.status, 401, (method, path))
    same(server.ask(f"/{app.port}/", key="wrong").status in (401, 429), True)
    page = server.ask(f"/{app.port}/a?b=1", key=None, headers=HTML)
    same(page.status, 401)
    has(page.read().decode(), "<form", f'value="/{app.port}/a?b=1"')


@test("a login gives a cookie that is no key, and leads where one was going")
def _(_case):
    answer = login(to=f"/{app.port}/a?b=1")
    same((answer.status, answer.getheader("Location")), (303, f"./{app.port}/a?b=1"))
    has(answer.getheader("Set-Cookie"), "HttpOnly", "SameSite=Strict", "Path=/;")
    lacks(answer.getheader("Set-Cookie"), KEY)
    got = echo(server.ask(f"/{app.port}/", key=None, headers={"Cookie": cookie_of(answer)}))
    lacks(got["names"], "cookie")


@test("where a login leads is here")
def _(_case):
    for to in ("//evil.example/", "http://evil.example/", "/\\evil", '/"><script>', "javascript:x"):
        same(login(to=to).getheader("Location"), "./", to)


@test("a wrong key, and too many of them")
def _(_case):
    got = [login("wrong").status for _ in range(8)]
    holds(set(got) == {401, 429}, got)
    wait_for(lambda: login().status == 303, "a right one always gets in")


@test("pages of other origins cannot use the cookie")
def _(_case):
    cookie = cookie_of(login())
    own = f"http://127.0.0.1:{server.port}"
    def status(**headers):
        return server.ask(f"/{app.port}/", headers.pop("method", "GET"), key=None, headers={
            "Cookie": cookie, **{k.replace("_", "-"): v for k, v in headers.items()}}).status
    same(status(Origin="http://evil.example"), 401)
    same(status(Origin="null"), 401)
    same(status(Origin=f"http://127.0.0.1:{app.port}"), 401)
    same(status(Sec_Fetch_Site="same-site"), 401)
    same(status(Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="iframe"), 401)
    same(status(Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="document"), 200)
    same(status(Origin=own, Sec_Fetch_Site="same-origin", method="POST"), 200)
    same(login(headers={"Origin": "http://evil.example"}).status, 403)
    same(login(headers={"Origin": own}).status, 303)


@test("a login outlives the worker, and its token is in no file")
def _(_case):
    cookie = cookie_of(login())
    os.kill(server.worker(), signal.SIGKILL)
    def again():
        with contextlib.suppress(OSError, http.client.HTTPException):
            return server.ask(f"/{app.port}/", key=None, headers={"Cookie": cookie}).status == 200
    wait_for(again, "the cookie counts")
    token = cookie.split("=")[1]
    for folder, _, files in os.walk(server.state):
        for name in files:
            path = os.path.join(folder, name)
            if not os.path.isfile(path):  # a pipe, whose reader would wait
                continue
            with contextlib.suppress(OSError), open(path, "rb") as f:
                lacks(f.read().decode("latin-1"), token)


@test("a server without a key serves programs, and no browser")
def _(_case):
    open_server = Server("open", key="")
    same(echo(open_server.ask(f"/{app.port}/x", key=None))["target"], "/x")
    answer = open_server.ask(f"/{app.port}/x", key=None, headers={"Sec-Fetch-Site": "none"})
    same(answer.status, 403)
    has(answer.read().decode(), "--api-key-file")
    same(open_server.ask(f"/{app.port}/x", key=None, headers={"Host": "evil.example"}).status, 403)


# --- hosts of apps ---------------------------------------------------------------------


def host_of(port):
    return f"{port}-box.example.org:{hosted().native}"


@functools.cache
def hosted():
    return Server("hosted", options=["--ui", "--preview-host", "PORT-box.example.org"])


def at_host(port, path="/", method="GET", headers=None, key=KEY, host=None, **more):
    s = hosted()
    return s.ask(path, method, key=key, at=s.native,
                 headers={"Host": host or host_of(port), **(headers or {})}, **more)


def page_login(s, key=KEY, once=None):
    """The fields of a page that is logged in."""
    body = {"body": f"once={once}", "headers": {"Content-Type": "application/x-www-form-urlencoded"}}
    answer = s.ask("/ui/session", "POST", key=key, at=s.native, **(body if once else {}))
    same(answer.status, 204)
    cookie = {"Cookie": cookie_of(answer)}
    page = json.loads(s.ask("/ui/session", key=None, at=s.native, headers=cookie).read())["page"]
    return {**cookie, "X-OD-Page": page}


def link_of(s, page, port):
    """The host and the path that the page has for an app."""
    rows = json.loads(s.ask("/ui/ports", key=None, at=s.native, headers=page).read())["ports"]
    host, path = next(r["host"] for r in rows if r["port"] == port).split("/", 1)
    return host, "/" + path


def enter(port, page):
    """The cookie that the page's link to an app makes."""
    s = hosted()
    host, path = link_of(s, page, port)
    same(host, f"{port}-box.example.org")
    answer = at_host(port, path, key=None, headers={
        "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"})
    same((answer.status, answer.getheader("Location")), (303, "/"))
    has(answer.getheader("Set-Cookie"), "od_app=", "HttpOnly", "SameSite=Lax", "Path=/;")
    lacks(answer.getheader("Set-Cookie"), "Domain")
    return cookie_of(answer)


@test("a host of its own: the app has the whole path, and no key")
def _(_case):
    for rest in ("/", "/a//b/%2e%2E/c%20d?x=%41&y=a+b?", "/?", "/ui/", "/alive", "/~user/x"):
        got = echo(at_host(app.port, rest))
        same(got["target"], rest)
        lacks(json.dumps(got), KEY)
        lacks(got["names"], "x-session-api-key", "x-forwarded-prefix", "origin")
        same((got["names"]["host"], got["names"]["x-forwarded-host"]),
             (f"localhost:{app.port}", host_of(app.port)))
    for host in (f"{app.port}-BOX.example.ORG", f"{app.port}-box.example.org."):
        same(echo(at_host(app.port, "/x", host=host))["target"], "/x", host)
    got = echo(at_host(app.port, "/m", "POST", body=b"b" * 300000))
    same((got["method"], got["n"]), ("POST", 300000))
    same(echo(at_host(app.port, "/execute_action", "POST", body=b"b" * 70000))["n"], 70000)
    same(at_host(app.port, "/stream", "OPTIONS").status, 200)


@test("a host of its own: answers keep their paths, not their domain")
def _(_case):
    query = urllib.parse.urlencode([("field", f) for f in (
        "Set-Cookie: a=1; Path=/x; Domain=example.org", "Set-Cookie: b=2", "Set-Cookie: od_app=evil",
        "Set-Cookie: __Secure-od_app=evil", "Clear-Site-Data: x", f"Location: http://localhost:{app.port}/y")])
    answer = at_host(app.port, "/head?" + query)
    same(answer.headers.get_all("Set-Cookie"), ["a=1; Path=/x", "b=2"])
    same(urllib.parse.urljoin("http://h/head", answer.getheader("Location")), "http://h/y")
    lacks({k.lower() for k in answer.headers}, "clear-site-data", "content-security-policy")


@test("a host of its own without a login: 401 that says how, whatever the path")
def _(_case):
    token = "0" * 32
    for path in ("/", "/alive", "/ready", "/ui/", "/ui/session", "/events", f"/proxy/{app.port}/", f"/~{token}/"):
        for method in ("GET", "POST", "OPTIONS", "HEAD"):
            same(at_host(app.port, path, method, key=None).status, 401, (method, path))
    has(at_host(app.port, key=None).read().decode(), "under Ports", "X-Session-API-Key")
    page = at_host(app.port, key=None, headers=HTML)
    same(page.status, 401)
    text = page.read().decode()
    has(text, "under Ports")
    lacks(text, "<form", "<input")
    holds(at_host(app.port, key="wrong").status in (401, 429), "a wrong key")
    same(at_host(app.port, headers={"Authorization": f"Bearer {KEY}"}, key=None).status, 200)
    doubled = http.client.HTTPConnection("127.0.0.1", hosted().native, timeout=LIMIT)
    doubled.putrequest("GET", "/", skip_host=True)
    for name, value in (("Host", host_of(app.port)), ("X-Session-API-Key", KEY), ("X-Session-API-Key", KEY)):
        doubled.putheader(name, value)
    doubled.endheaders()
    same(doubled.getresponse().status, 400)
    view = subprocess.run([OD, "serve", "--key-add", "watcher", "--view", "--socket", f"{T}/hosted.sock"],
                          capture_output=True, text=True, check=True).stdout.strip()
    same(at_host(app.port, key=view).status, 403)


@test("the page's link makes a cookie of one host, which the app does not get")
def _(_case):
    s = hosted()
    page = page_login(s)
    cookie = enter(app.port, page)
    got = echo(at_host(app.port, "/x", key=None, headers={"Cookie": f"a=1; od_app=x; {cookie}; b=2"}))
    same((got["target"], got["names"]["cookie"]), ("/x", "a=1; b=2"))
    # Nothing else is a login there: another app's cookie or token, the page's cookie.
    other = enter(app.port_ws, page)
    holds(other != cookie, "each host has its own")
    for field in (other, page["Cookie"], cookie.replace("od_app", "od_ui"), cookie[:-1]):
        same(at_host(app.port, key=None, headers={"Cookie": field}).status, 401, field)
    _, path = link_of(s, page, app.port)
    same(at_host(app.port_ws, path, key=None).status, 401)
    same(at_host(app.port, path, "POST", key=None).status, 401)
    same(s.ask("/ui/ports", key=None, at=s.native, headers={"Cookie": cookie}).status, 401)
    # A token that does not count never reaches the app.
    same(at_host(app.port, "/~" + "0" * 32 + "/", key=None, headers={"Cookie": cookie}).status, 401)
    # It ends with the login of the page.
    same(s.ask("/ui/session", "DELETE", key=None, at=s.native, headers=page).status, 204)
    same(at_host(app.port, key=None, headers={"Cookie": cookie}).status, 401)
    same(at_host(app.port, path, key=None).status, 401)


@test("a proxy in front ends TLS: the cookie of a host is Secure if the page's login is")
def _(_case):
    s = Server("ends-tls", options=["--ui", "--preview-host", "PORT-box.example.org",
                                    "--ui-origin", "https://box.example.org"])

    def log_in(origin):
        fields = {"Origin": origin, "Content-Type": "application/x-www-form-urlencoded"}
        answer = s.ask("/ui/session", "POST", f"key={KEY}", fields, key=None, at=s.native)
        same(answer.status, 303, origin)
        page = {"Cookie": cookie_of(answer)}
        token = json.loads(s.ask("/ui/session", key=None, at=s.native, headers=page).read())["page"]
        return answer.getheader("Set-Cookie"), {**page, "X-OD-Page": token}

    def entered(page, **more):
        _, path = link_of(s, page, app.port)
        answer = s.ask(path, key=None, at=s.native, headers={"Host": f"{app.port}-box.example.org", **more})
        same(answer.status, 303)
        return answer.getheader("Set-Cookie")

    page_cookie, page = log_in("https://box.example.org")
    has(page_cookie, "od_ui=", "; Secure")
    has(entered(page), "od_app=", "; Secure")
    before = s.worker()
    os.kill(before, signal.SIGKILL)

    def again():
        with contextlib.suppress(OSError, http.client.HTTPException):
            return s.ask("/ui/session", key=None, at=s.native, headers=page).status == 200
    wait_for(again, "the login counts")
    has(entered(page), "od_app=", "; Secure")
    # Who comes past the proxy has no TLS, whatever a field claims.
    page_cookie, page = log_in(f"http://127.0.0.1:{s.native}")
    lacks(page_cookie, "Secure")
    lacks(entered(page), "Secure")
    lacks(entered(page, **{"X-Forwarded-Proto": "https"}), "Secure")


@test("a view-only login has no link to a host")
def _(_case):
    s = Server("viewed", options=["--ui", "--preview-host", "PORT.localhost"])
    view = subprocess.run([OD, "serve", "--key-add", "watcher", "--view", "--socket", f"{T}/viewed.sock"],
                          capture_output=True, text=True, check=True).stdout.strip()
    rows = json.loads(s.ask("/ui/ports", key=None, at=s.native, headers=page_login(s, view)).read())["ports"]
    holds(any(r["port"] == app.port for r in rows), rows)
    holds(not any("host" in r for r in rows), rows)


@test("pages of other hosts and ports cannot use the cookie of a host")
def _(_case):
    cookie = enter(app.port, page_login(hosted()))

    def status(**headers):
        return at_host(app.port, "/", headers.pop("method", "GET"), key=None, headers={
            "Cookie": cookie, **{k.replace("_", "-"): v for k, v in headers.items()}}).status
    own = f"http://{host_of(app.port)}"
    same(status(Origin=f"http://{host_of(app.port6)}"), 401)
    same(status(Origin="null"), 401)
    same(status(Origin=f"http://127.0.0.1:{hosted().native}"), 401)
    same(status(Origin=own + "0"), 401)
    same(status(Sec_Fetch_Site="same-site"), 401)
    same(status(Sec_Fetch_Site="same-site", Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="iframe"), 401)
    same(status(Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="document"), 200)
    same(status(Origin=own, Sec_Fetch_Site="same-origin", method="POST"), 200)
    same(status(Origin=own.replace("http:", "https:"), method="POST"), 200)


@test("a host of its own: an event when it is sent, and a WebSocket")
def _(_case):
    cookie = enter(app.port, page_login(hosted()))
    answer = at_host(app.port, "/stream", key=None, headers={"Cookie": cookie})
    same(answer.readline() + answer.readline(), b"data: 1\n\n")
    app.release()
    same(answer.read(), b"data: 2\n\n")

    async def both(ws):
        first = json.loads(await ws.recv())
        same((ws.subprotocol, first["path"]), ("chat", "/ws?a=%20"))
        fields = {k.lower(): v for k, v in first["headers"]}
        same(fields["origin"], f"http://localhost:{app.port_ws}")
        lacks(fields, "cookie", "x-session-api-key")
        for n in (0, 1, 1 << 20):
            await ws.send(os.urandom(n) if n else b"")
            same(len(await ws.recv()), n)
        await ws.send("close")
        await ws.wait_closed()
        same((ws.close_code, ws.close_reason), (4321, "as asked"))

    async def run(headers, origin):
        async with websockets.connect(
            f"ws://{host_of(app.port_ws)}/ws?a=%20", host="127.0.0.1", port=hosted().native,
            max_size=None, open_timeout=LIMIT, extra_headers=headers, origin=origin, subprotocols=["chat"],
        ) as ws:
            await asyncio.wait_for(both(ws), LIMIT)

    own = {"Cookie": enter(app.port_ws, page_login(hosted()))}
    asyncio.run(run(own, f"http://{host_of(app.port_ws)}"))
    try:
        asyncio.run(run(own, f"http://{host_of(app.port)}"))
        holds(False, "another app's page opened a WebSocket")
    except websockets.InvalidStatusCode as e:
        same(e.status_code, 401)


def is_full(answer):
    same(answer.status, 429)
    error = json.loads(answer.read())["error"]
    has(json.dumps(error), "This login has 64 requests and WebSockets to apps")
    return error


@test("a login's 65th request to apps at the same time: 429, whatever the address, until one ends")
def _(_case):
    s = hosted()
    page = page_login(s)
    host = {"Host": host_of(app.port), "Cookie": enter(app.port, page)}
    rows = json.loads(s.ask("/ui/ports", key=None, at=s.native, headers=page).read())["ports"]
    below = "/" + next(r["app"] for r in rows if r["port"] == app.port)
    ways = [(below, {}), (below.replace("/proxy/", "/absproxy/"), {}), ("/", host)]
    another = {"Host": host["Host"], "Cookie": enter(app.port, page_login(s))}

    def ask(path, fields, to="stream", key=None):
        return s.ask(path + to, key=key, at=s.native, headers=fields)

    # Below /absproxy/ the app gets another path, so it does not stream there.
    held = [ask(*ways[0 if i < 32 else 2]) for i in range(64)]
    for answer in held:
        same((answer.status, answer.readline()), (200, b"data: 1\n"))
    for way in ways:
        same(is_full(ask(*way))["code"], "LIMIT")
    # Others go on: another login, and programs by the key, at any of the addresses.
    for path, fields, key in ("/", another, None), (f"/proxy/{app.port}/", {}, KEY), \
            ("/", {"Host": host["Host"]}, KEY), (f"/proxy/{app.port}/", {}, KEY):
        same(echo(ask(path, fields, "x", key))["target"], "/x")
    same(s.ask("/alive", key=None, at=s.native).status, 200)
    held.pop().close()
    wait_for(lambda: ask(*ways[0], "x").status == 200, "there is room again")
    for answer in held:
        answer.close()
    app.release()


@test("preview's listener: a login's 65th request at the same time is refused, not the key's")
def _(_case):
    answer = server.ask("/login", "POST", f"key={KEY}", {"Content-Type": "application/x-www-form-urlencoded"},
                        key=None)
    same(answer.status, 303)
    cookie = {"Cookie": cookie_of(answer)}
    held = [server.ask(f"/{app.port}/stream", headers=cookie, key=None) for _ in range(64)]
    for answer in held:
        same((answer.status, answer.readline()), (200, b"data: 1\n"))
    is_full(server.ask(f"/{app.port}/x", headers=cookie, key=None))
    same(echo(server.ask(f"/{app.port}/x"))["target"], "/x")
    for answer in held:
        answer.close()
    wait_for(lambda: server.ask(f"/{app.port}/x", headers=cookie, key=None).status == 200, "there is room again")
    app.release()


@test("names that are no app's, our own ports, and nothing at a port")
def _(_case):
    s = hosted()
    for host in ("box.example.org", "x-box.example.org", "-box.example.org", "3000x-box.example.org",
                 "3000.box.example.org", "3000-box.example.org.evil.example", "1.3000-box.example.org"):
        same(s.ask("/alive", key=None, at=s.native, headers={"Host": host}).status, 200, host)
    for number in ("0", "65536", "03000", "99999999999999999999"):
        same(at_host(0, host=f"{number}-box.example.org").status, 404, number)
    for port in (s.port, s.native):
        same(at_host(port).status, 403, port)
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    same(at_host(port).status, 502)
    has(at_host(port, headers=HTML).read().decode(), "http-equiv=refresh")
    # Listeners of one front-end know no such names.
    same(s.ask(f"/{app.port}/x", headers={"Host": host_of(app.port6)}).status, 200)


@test("a host of its own, at a server without a key: by the page's login alone")
def _(_case):
    s = Server("hosted-open", key="", options=["--ui", "--preview-host", "PORT.box.localhost"])
    host = {"Host": f"{app.port}.box.localhost:{s.native}"}
    same(s.ask("/", key=None, at=s.native, headers=host).status, 401)
    status = json.loads(subprocess.run([OD, "serve", "--status", "--json", "--socket", f"{T}/hosted-open.sock"],
                                       capture_output=True, text=True, check=True).stdout)
    once = status["servers"][0]["page"]["links"][0].split("once=")[1]
    name, path = link_of(s, page_login(s, None, once), app.port)
    same(name, f"{app.port}.box.localhost")
    answer = s.ask(path, key=None, at=s.native, headers=host)
    got = s.ask("/x", key=None, at=s.native, headers={**host, "Cookie": cookie_of(answer)})
    same(echo(got)["target"], "/x")


@test("a host's cookie outlives the worker")
def _(_case):
    cookie = enter(app.port, page_login(hosted()))
    os.kill(hosted().worker(), signal.SIGKILL)
    def again():
        with contextlib.suppress(OSError, http.client.HTTPException):
            return at_host(app.port, key=None, headers={"Cookie": cookie}).status == 200
    wait_for(again, "the cookie counts")


@test("--preview-host takes PORT-NAME or PORT.NAME")
def _(_case):
    for value in ("box.example.org", "PORT", "PORT-", "PORTbox", "3000-box", "port-box", "PORT.0.0.1",
                  "PORT-a..b", "PORT-a/b", "http://PORT-box", "PORT-box:80"):
        out = subprocess.run([OD, "serve", "--preview-host", value, "--socket", f"{T}/never.sock"],
                             capture_output=True, text=True, timeout=LIMIT, check=False)
        holds(out.returncode == 125, value, out)
        has(out.stderr, "--preview-host", "PORT-NAME")


@contextlib.contextmanager
def nothing(_row):
    yield None


tap = Tap()
wanted = sys.argv[1] if len(sys.argv) > 1 else ""
run_rows(tap, [("preview", row, nothing) for row in test if wanted in row.name], at_once=1)
for process in servers:
    process.terminate()
for process in servers:
    process.wait(LIMIT)
sys.exit(tap.done())
