# SPDX-License-Identifier: MIT
"""client_rows.py [PATTERN]: the client of `od help client --python`."""
import ast
import asyncio
import contextlib
import functools
import glob
import http.server
import io
import json
import os
import shutil
import ssl
import subprocess
import sys
import threading

import client as od
from client_peers import Liar, Proxy, frame, handshake, http as answer
from events_client import own_user, request
from tap import LIMIT, Rows, Tap, has, holds, run_rows, same, wait_for
from v0_server import OD, T, Server

CLIENT = od.__file__
ROOT = os.path.join(os.path.dirname(__file__), "../..")
KEY = "the-key-of-this-test"
row = Rows()


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<title>A page</title><p>the words of the page"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def web():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{pages.server_port}/"
        pages.shutdown()


@contextlib.contextmanager
def server_for(one):
    if one.options.get("alone"):
        yield None
        return
    env = {"SESSION_API_KEY": KEY}
    server = Server(own_user(), env, KEY, more=("--enable-browser",))
    server.proxy = Proxy(server.port)
    server.client = functools.partial(od.Client, server.proxy.url, KEY)
    try:
        yield server
        server.stop()
    except BaseException as error:
        error.log = server.logged()
        raise
    finally:
        server.proxy.close()
        server.kill()
        server.remove()


def fails(code, function, *part):
    """The call raises an Error of this code, whose sentence has the parts."""
    try:
        got = function()
    except od.Error as error:
        same(error.code, code, error.message)
        has(str(error), *part)
        return error
    raise AssertionError(f"no error {code} but {got!r}")


def events_of(server):
    status, page = request(server, "/events?since=0", headers={"X-Session-API-Key": KEY})
    same(status, 200)
    return page["events"]


# ---- a working session, over a killed worker ----


def work(server, box, page):
    """Set-up, a long command, questions, files, a cell and a page."""
    folder = server.dir
    shell = box.session("work")
    same(shell.run(f"cd {folder} && export NAME=world && mkdir src").exit_code, 0)
    server.kill_worker()
    same(shell.run("pwd; echo hello $NAME").text, f"{folder}\nhello world\n")

    run, text = shell.start("i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo line $i; done; "
                            "read -p 'go on? ' x; echo \"got $x\"; (exit 3)"), ""
    for piece in run:
        if not text:
            server.kill_worker()
        text += piece
    holds(run.waiting and run.waiting.prompt == "go on? ", run.waiting)
    server.kill_worker()
    run.answer("yes")
    for piece in run:
        text += piece
    lines = "".join(f"line {i}\n" for i in range(1, 2001))
    same(text, lines + "go on? got yes\n")
    same([run.result.exit_code, run.result.ok], [3, False])

    asked = []

    def give(waiting):
        asked.append((waiting.prompt, waiting.hidden))
        if len(asked) == 1:
            server.kill_worker()
        return ["ann", "secret"][len(asked) - 1]

    result = shell.run("read -p 'name: ' n; read -sp 'password: ' p; echo; echo $n ${#p}",
                       answer=give)
    has(result.text, "ann 6")
    same(asked, [("name: ", False), ("password: ", True)])

    data = os.urandom(3 << 20)
    seen = []

    def progress(done, size):
        if not seen:
            server.kill_worker()
        seen.append((done, size))

    same(shell.upload(data, "src/a file", mode=0o755, progress=progress), len(data))
    same(seen[-1], (len(data), len(data)))
    info = shell.stat("src/a file")
    same([info.type, info.size, info.mode], ["file", len(data), "0755"])
    same(seen.clear(), None)
    back = io.BytesIO()
    same(shell.download("src/a file", back, progress=progress), len(data))
    holds(back.getvalue() == data, "the same bytes come back")
    local = os.path.join(server.root, "local")
    shell.write("src/b", "text")
    same([shell.download("src/b", local), shell.read("src/b")], [4, b"text"])
    same(sorted(os.listdir(os.path.dirname(local))).count("local"), 1)
    # A killed worker may leave the part that it had made (FILES.md, "Half of something").
    same([f.path for f in shell.list("src") if not f.path.startswith(".od-")], ["a file", "b"])

    printed = []
    cell = shell.cell("print('out'); x = input('who? '); print(x * 2); x + '!'",
                      answer=lambda w: w.prompt.strip("? ") + "m", output=printed.append)
    same([cell.end, cell.text.count("whomwhom")], ["ok", 1])
    has("".join(printed), "out")
    server.kill_worker()
    same(shell.cell("x").text, "'whom'")
    has(shell.browse(page).text, "the words of the page")


@row("a working session over killed workers", slow=True)
def _(server):
    with web() as page, server.client() as box:
        box.wait_ready()
        work(server, box, page)
        same([e["id"] for e in box.events(0, follow=False)],
             list(range(1, events_of(server)[-1]["id"] + 1)))


class Await:
    """An AsyncClient, each of whose calls is run to its end: for the same test."""

    def __init__(self, loop, thing):
        self._loop, self._thing = loop, thing

    def _give(self, value):
        return Await(self._loop, value) if type(value).__name__.startswith("Async") else value

    def __getattr__(self, name):
        value = getattr(self._thing, name)
        if not callable(value):
            return self._give(value)

        def call(*args, **more):
            got = value(*args, **more)
            if asyncio.iscoroutine(got):
                got = self._loop.run_until_complete(got)
            return self._give(got)

        return call

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self._loop.run_until_complete(self._thing.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None


@row("the same with asyncio", slow=True)
def _(server):
    loop = asyncio.new_event_loop()
    box = Await(loop, od.AsyncClient(server.proxy.url, KEY))
    try:
        with web() as page:
            box.wait_ready()
            work(server, box, page)
    finally:
        box.close()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


@row("several calls at once with asyncio")
def _(server):
    async def all():
        async with od.AsyncClient(server.proxy.url, KEY) as box:
            a, b = box.session("a"), box.session("b")
            one = asyncio.ensure_future(a.run("read x; echo got $x", timeout=LIMIT))
            two = await b.run("echo b")
            result = await one
            same([two.text, result.waiting is not None], ["b\n", True])
            run = await a.start("true")
            await run.close()
            same((await a.answer("now", result)).text, "got now\n")
            words = [w async for w in await b.start(
                "read y; echo $y", answer=lambda w: asyncio.sleep(0, "later"))]
            same("".join(words), "later\n")
            task = asyncio.ensure_future(a.run("sleep 1000"))
            async for event in box.events(0):
                if event.get("args", {}).get("command") == "sleep 1000":
                    break
            task.cancel()
            holds((await asyncio.gather(task, return_exceptions=True))[0] is not None, "cancelled")
            same((await box.session("c").run("echo fine")).text, "fine\n")
            await box.action("cancel", {"id": event["id"]})

    asyncio.run(all())


# ---- lost connections ----

CUTS = [("up", 0), ("up", 60), ("down", 0), ("down", 14), ("down", 150), ("down", 260)]


def calls(box, folder):
    """Each call of a session, what it gives, by its name."""
    shell = box.session("cut")
    kept = {}

    def start():
        kept["run"] = shell.start("echo one; read x; echo two $x")
        return "".join(kept["run"])

    def goes_on():
        kept["run"].answer("more")
        return "".join(kept["run"]), kept["run"].result.exit_code

    def run():
        return shell.run("echo x >>once; wc -l <once").text.strip()

    def ask():
        kept["asks"] = shell.run("read y; echo y=$y")
        return kept["asks"].waiting is not None

    def answers():
        return shell.answer("1", kept["asks"]).text

    def types():
        asks = shell.run("read z; read z; cat")
        shell.input("z\n")
        shell.key("z")
        shell.key("Enter")
        asks = shell.wait(asks)
        same(asks.waiting.program, "cat")
        shell.signal("TERM")
        return shell.wait(asks).exit_code

    def download():
        out = io.BytesIO()
        shell.download("up", out)
        return len(out.getvalue())

    def read_events():
        events = box.events(0)
        found = [next(events)["id"] for _ in range(20)]
        events.close()
        return found

    def live_cell():
        out = []
        end = shell.cell("n = int(input('n'))\nprint(n + 1)", answer=lambda w: "41",
                         output=out.append)
        return end.ok, "42" in "".join(out)

    return [
        ("run", run, "1"), ("start", start, "one\n"), ("answer of a run", goes_on,
                                                      ("two more\n", 0)),
        ("run that asks", ask, True), ("answer", answers, "y=1\n"),
        ("cell", lambda: shell.cell("print(6 * 7)").text.strip(), "42"),
        ("cell that asks", live_cell, (True, True)),
        ("mkdir", lambda: shell.mkdir("d/e"), None),
        ("upload", lambda: shell.upload(b"u" * 500000, "up"), 500000),
        ("download", download, 500000),
        ("stat", lambda: shell.stat("up").size, 500000),
        ("copy", lambda: shell.copy("up", "up2"), None),
        ("move", lambda: shell.move("up2", "up3"), None),
        ("list", lambda: [f.path for f in shell.list()], ["d", "once", "up", "up3"]),
        ("remove", lambda: shell.remove("up3"), None),
        ("checkpoint", lambda: shell.checkpoint("here"), 1),
        ("write", lambda: shell.write("w", "w"), None),
        ("changes", lambda: [(c["change"], os.path.basename(c["path"]))
                             for c in shell.changes(1)["changes"]
                             if c["kind"] == "file"], [("added", "w")]),
        ("rollback", lambda: [c["change"] for c in shell.rollback(1)["changes"]
                              if c["kind"] == "file"], ["removed"]),
        ("write after that", lambda: shell.write("w", "w"), None),
        ("read", lambda: shell.read("w"), b"w"),
        ("browse", lambda: shell.browse(f"file://{folder}/w").text.count("Current URL"), 1),
        ("events", read_events, list(range(1, 21))),
        ("events to the end", lambda: len(list(box.events(0, follow=False))) > 20, True),
        ("alive", box.alive, True),
        ("action", lambda: box.action("run", {"command": "true"})["observation"], "run"),
        ("wait_ready", lambda: box.wait_ready(0), None),
        ("input, key, signal", types, 143),
    ]


def hasty(client):
    """Waits a twentieth between its tries: how long that is proves nothing."""
    sleep = client._a._net.sleep
    client._a._net.sleep = lambda seconds: sleep(seconds / 20)
    return client


@row("a lost connection in every call", slow=True)
def _(server):
    with hasty(server.client()) as box:
        box.wait_ready()
        box.session("cut").run(f"cd {server.dir}")
        for name, call, wanted in calls(box, server.dir):
            server.proxy.cut()
            server.proxy.plan[:] = CUTS
            same(call(), wanted, name)
            server.proxy.plan.clear()
        server.proxy.cut()
    with open(os.path.join(server.dir, "once")) as file:
        same(file.read(), "x\n", "it ran once")
    asked = [e for e in events_of(server) if "action" in e and e["action"] == "run"]
    same(len([e for e in asked if "once" in e["args"]["command"]]), 1)


@row("and when it does not come back, each call is a named error")
def _(server):
    with server.client(patience=0.05) as box:
        box.wait_ready()
        made = [(name, call) for name, call, _ in calls(box, server.dir)
                if name not in ("answer", "answer of a run", "alive")]
        server.proxy.cut()
        for name, call in made:
            # A command that waits for input has no answer for a minute.
            waits = name in ("run that asks", "input, key, signal")
            server.proxy.plan[:] = [("asked" if waits else "down", 0)] * 100
            fails("LOST", call, "lost")
            server.proxy.plan.clear()
        server.proxy.plan[:] = [("down", 0)] * 100
        same(box.alive(), False)
        server.proxy.plan.clear()


@row("actions run once while workers die and connections break", slow=True)
def _(server):
    over = threading.Event()

    def breaks():
        while not over.wait(0.05):
            server.proxy.cut()
            server.kill_worker()

    with server.client() as box:
        box.wait_ready()
        shell = box.session("count")
        shell.run(f"cd {server.dir}")
        follower = server.client()
        follower.wait_ready()  # until it has met the server, a lost connection is an error
        events, ids = follower.events(0), []

        def follow():
            for event in events:
                ids.append(event["id"])
                if event.get("client_id") == "the last" and "cause" in event:
                    break

        reader = threading.Thread(target=follow, daemon=True)
        reader.start()
        breaker = threading.Thread(target=breaks, daemon=True)
        breaker.start()
        for i in range(40):
            same(shell.run(f"echo {i} >>counted; echo {i}").text, f"{i}\n")
        over.set()
        breaker.join()
        box.action("run", {"command": "true"}, client_id="the last")
        reader.join(LIMIT)
    with open(os.path.join(server.dir, "counted")) as file:
        same(file.read(), "".join(f"{i}\n" for i in range(40)))
    same(ids, list(range(1, len(ids) + 1)), "events come once and in order")
    same(ids[-1], [e["id"] for e in events_of(server)][-1])


@row("a live stream has each byte once, however it breaks", slow=True)
def _(server):
    with server.client() as box:
        box.wait_ready()
        server.proxy.plan[:] = [("down", n) for n in range(700, 9000, 700)] * 4
        run = box.session().start("i=0; while [ $i -lt 4000 ]; do i=$((i+1)); echo number $i; done")
        text = "".join(run)
        same(text, "".join(f"number {i}\n" for i in range(1, 4001)))
        holds(server.proxy.count > 10, "it broke", server.proxy.count)


@row("a command that is silent for longer than the client waits for a byte runs once")
def _(server):
    with server.client(timeout=0.3) as box:
        shell = box.session()
        fifo = os.path.join(server.dir, "fifo")
        shell.run(f"cd {server.dir} && mkfifo fifo")
        done = []
        waiter = threading.Thread(
            target=lambda: done.append(shell.run("echo x >>quiet; cat <fifo; wc -l <quiet").text))
        before = server.proxy.count
        waiter.start()
        wait_for(lambda: server.proxy.count > before + 4, "the request is sent again")
        with open(fifo, "w") as file:
            file.write("fed\n")
        waiter.join(LIMIT)
        same([each.split() for each in done], [["fed", "1"]])


@row("a network that swallows everything is a named error")
def _(server):
    with server.client(timeout=0.2, patience=0.2) as box:
        box.wait_ready()
        server.proxy.cut()
        server.proxy.plan[:] = [("stall", 0)] * 1000
        fails("LOST", lambda: box.session().run("true"), "silent")
        fails("LOST", lambda: box.session().upload(b"x", "y"))
        fails("LOST", lambda: next(box.events(0)), "in time")
        server.proxy.plan.clear()


@row("a download goes on where it was, and begins again for another file")
def _(server):
    with server.client() as box:
        shell = box.session()
        shell.run(f"cd {server.dir}")
        data = os.urandom(2 << 20)
        shell.upload(data, "big")
        server.proxy.cut()
        box.alive()
        server.proxy.plan[:] = [("down", 900000), ("down", 900000)]
        steps = []
        out = io.BytesIO()
        shell.download("big", out, progress=lambda n, of: steps.append(n))
        holds(out.getvalue() == data, "the same bytes")
        holds(steps == sorted(steps) and len(set(steps)) == len(steps), "never back", steps)
        other = os.urandom(1 << 20)
        changed = []

        def change(n, of):
            if not changed and n > 500000:
                changed.append(shell.write("big", other))

        server.proxy.plan[:] = [("down", 900000)]
        out = io.BytesIO()
        shell.download("big", out, progress=change)
        holds(out.getvalue() in (data, other), "one of both, whole")

        class NoSeek(io.RawIOBase):
            def __init__(self, bytes):
                self.rest = io.BytesIO(bytes)

            def readable(self):
                return True

            def read(self, n=-1):
                return self.rest.read(n)

        same(shell.upload(NoSeek(data), "stream"), len(data))
        holds(shell.read("stream") == data, "what came as a stream is whole")


@contextlib.contextmanager
def cutting(server, *options):
    """The address of tests/lib/cut_proxy.py before the server."""
    program = os.path.join(ROOT, "tests/lib/cut_proxy.py")
    with subprocess.Popen([sys.executable, program, str(server.port), *options],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as proxy:
        try:
            yield f"http://127.0.0.1:{int(proxy.stdout.readline())}"
        finally:
            proxy.kill()


class Places(io.BytesIO):
    """Notes where it is read from."""

    def __init__(self, data):
        super().__init__(data)
        self.places = []

    def seek(self, place, how=0):
        if how == 0:
            self.places.append(place)
        return super().seek(place, how)


@row("an upload goes on where it was, and so does the next call", slow=True)
def _(server):
    data, cut_at = os.urandom(12 << 20), f"up={3 << 20}"
    local = os.path.join(server.root, "large")
    with open(local, "wb") as file:
        file.write(data)
    with server.client() as box:
        box.session().run(f"cd {server.dir}")
    with cutting(server, cut_at, "times=5") as url, od.Client(url, KEY) as box:
        holds(box.alive(), "a server")
        source = Places(data)
        same(box.session().upload(source, "cut"), len(data))
        # What a cut connection had sent may be lost on its way, but not twice.
        holds(source.places[0] == 0 and source.places[-1] > 1 << 20 and
              source.places == sorted(source.places), source.places)
        holds(box.session().read("cut") == data, "the same bytes")
    with cutting(server, cut_at, "times=1000") as url, \
            od.Client(url, KEY, patience=0) as box:
        for _ in range(3):
            fails("LOST", lambda: box.session().upload(local, "later", mode=0o600))
    with server.client() as box:
        shell, steps = box.session(), []
        holds("later" not in [f.path for f in shell.list()], "no half of it")
        same(shell.upload(local, "later", mode=0o600, progress=lambda n, _: steps.append(n)),
             len(data))
        holds(steps[0] > 1 << 20, "the next call goes on", steps[:3])
        holds(shell.read("later") == data, "the same bytes")
        same(shell.stat("later").mode, "0600")
        same(sorted(f.path for f in shell.list()), ["cut", "later"], "nothing is left")


@row("names of any bytes")
def _(server):
    name = b"n\xff\xc3\xa9".decode("utf-8", "surrogateescape")
    with server.client() as box:
        shell = box.session()
        shell.run(f"cd {server.dir}")
        shell.upload(b"bytes", f"{name}/{name}")
        same(shell.read(f"{name}/{name}"), b"bytes")
        same([f.path for f in shell.list(recursive=True)], [name, f"{name}/{name}"])
        shell.copy(f"{name}/{name}", "plain")
        shell.move("plain", f"{name}/b")
        same(shell.stat(f"{name}/b").path, f"{server.dir}/{name}/b")
        shell.remove(name, recursive=True)
        same(shell.list(), [])


# ---- what is refused ----


@row("wrong keys, no server, and addresses that are none")
def _(server):
    for key in ("", "wrong"):
        with od.Client(server.url, key) as box:
            error = fails("DENIED", lambda: box.session().run("true"))
            same([error.status, type(error).__name__], [403, "Denied"])
            fails("DENIED", lambda: next(box.events(0)))
            fails("DENIED", lambda: box.session().upload(b"x", "/tmp/x"))
    fails("UNREACHABLE", lambda: od.Client("http://127.0.0.1:1", KEY).session().run("true"))
    fails("UNREACHABLE", lambda: od.Client("http://nowhere.invalid", "").session().run("true"))
    same(od.Client("http://127.0.0.1:1", KEY).alive(), False)
    for url in ("", "box", "ftp://box", "http://", "http://a:b", "http://a/?x=1"):
        fails("INVALID", lambda: od.Client(url, KEY), "https://HOST")
    fails("INVALID", lambda: od.Client(server.url, "a\nb"))
    fails("TLS", lambda: od.Client("http://box.example", KEY), "https://")
    with server.client() as box:
        shell = box.session()
        fails("NOTFOUND", lambda: shell.stat("/nowhere"))
        fails("NOTFOUND", lambda: shell.download("/nowhere", io.BytesIO()))
        fails("INVALID", lambda: shell.upload(b"x", "folder/.."))
        fails("INVALID", lambda: box.action("nothing"), "nothing")
        fails("NOTFOUND", lambda: next(box.events(10**9)))
        fails("IO", lambda: shell.upload("/nowhere/here", "x"))
        fails("EXISTS", lambda: (shell.mkdir("there/x"), shell.remove("there")))


@row("a certificate that is not trusted says how to trust it", needs=("openssl",))
def _(server):
    certs = os.path.join(server.root, "certs")
    subprocess.run(["sh", os.path.join(ROOT, "tests/lib/certs.sh"), certs], check=True)
    for name, want in (("good", None), ("expired", "expired"), ("direct", "IP address"),
                       ("self", "trust")):
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(f"{certs}/{name}.pem", f"{certs}/{name}.key")
        proxy = Proxy(server.port, context)
        try:
            fails("TLS", lambda: od.Client(proxy.url, KEY).session().run("true"),
                  "not trusted", "cafile")
            box = od.Client(proxy.url, KEY, cafile=f"{certs}/root.pem")
            if want:
                fails("TLS", lambda: box.session().run("true"), "not trusted")
                continue
            same(box.session().run("echo by TLS").text, "by TLS\n")
            same("".join(box.session().start("echo live")), "live\n")
            shell, data = box.session(), os.urandom(300000)
            shell.run(f"cd {server.dir}")
            shell.write("tls", data)
            holds(shell.read("tls") == data, "the same bytes")

            async def by_tls():
                async with od.AsyncClient(proxy.url, KEY, cafile=f"{certs}/root.pem") as a:
                    same((await a.session().run("echo too")).text, "too\n")

            asyncio.run(by_tls())
        finally:
            proxy.close()
    fails("TLS", lambda: od.Client("https://a", KEY, cafile="/nowhere"), "/nowhere")
    error = fails("TLS", lambda: od.Client(server.url.replace("http", "https"), KEY)
                  .session().run("true"))
    has(error.message, "https")


# ---- servers that lie ----

EVENT = {"id": 2, "cause": 1, "session": "main", "observation": "run", "exit_code": 0,
         "content": "x", "output": {"from": 0, "to": 1}, "extras": {}}


def changed(**more):
    return json.dumps({**EVENT, **more})


def without(*names):
    return json.dumps({k: v for k, v in EVENT.items() if k not in names})


def endless():
    yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
    while True:
        yield b" " * 65536


def endless_chunks():
    yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"10000\r\n" + b" " * 65536 + b"\r\n"


def endless_head():
    yield b"HTTP/1.1 200 OK\r\n"
    while True:
        yield b"X-More: " + b"x" * 60000 + b"\r\n"


LIES = [
    ("another type", answer("<html>", "200 OK", "text/html"), "PROTOCOL"),
    ("no JSON", answer("{"), "PROTOCOL"),
    ("deep JSON", answer("[" * 200000), "PROTOCOL"),
    ("not an object", answer("[]"), "PROTOCOL"),
    ("an empty object", answer("{}"), "PROTOCOL"),
    ("an id of another type", answer(changed(id="2")), "PROTOCOL"),
    ("an id that is true", answer(changed(id=True)), "PROTOCOL"),
    ("a cause of another type", answer(changed(cause=None)), "PROTOCOL"),
    ("content of another type", answer(changed(content=5)), "PROTOCOL"),
    ("an exit code of another type", answer(changed(exit_code="0")), "PROTOCOL"),
    ("extras of another type", answer(changed(extras=[])), "PROTOCOL"),
    ("output of another type", answer(changed(output=[1])), "PROTOCOL"),
    ("waiting of another type", answer(changed(waiting="yes")), "PROTOCOL"),
    ("a server without until", answer(without("exit_code")), "VERSION"),
    ("an error of another type", answer('{"error":{"code":5,"message":""}}', "400 Bad"), "PROTOCOL"),
    ("an error", answer('{"error":{"code":"LIMIT","message":"m"}}', "507 X"), "LIMIT"),
    ("no such path", answer("not here", "404 Not Found", "text/plain"), "VERSION"),
    ("a redirect", answer("", "302 Found", "text/html", "Location: http://b/"), "PROTOCOL"),
    ("refused by a proxy", answer("no", "401 No", "text/html"), "DENIED"),
    ("not HTTP", b"SSH-2.0-OpenSSH_9\r\n", "PROTOCOL"),
    ("a wrong status", b"HTTP/1.1 2x0 OK\r\n\r\n", "PROTOCOL"),
    ("a wrong length", b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "PROTOCOL"),
    ("a wrong coding", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "PROTOCOL"),
    ("a wrong chunk", b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n-5\r\nxxxxx\r\n", "PROTOCOL"),
    ("a chunk that is longer", b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}xx\r\n0\r\n\r\n", "PROTOCOL"),
    ("a head without colons", b"HTTP/1.1 200 OK\r\nnothing\r\n\r\n", "PROTOCOL"),
    ("a body that does not end", endless, "PROTOCOL"),
    ("chunks that do not end", endless_chunks, "PROTOCOL"),
    ("a head that does not end", endless_head, "PROTOCOL"),
    ("a body that is cut", b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
     b"Content-Length: 500\r\n\r\n{}", "LOST"),
    ("overload", answer("", "503 Busy", "text/plain"), "LOST"),
    ("nothing", b"", "UNREACHABLE"),
]


@row("a server that lies over HTTP gives named errors", alone=True)
def _(_server):
    for name, lie, code in LIES:
        liar = Liar(lambda head, lie=lie: lie() if callable(lie) else lie)
        try:
            with od.Client(liar.url, "", patience=0.05, timeout=LIMIT) as box:
                fails(code, lambda: box.session().run("true"))

            async def same_with_asyncio():
                async with od.AsyncClient(liar.url, "", patience=0.05, timeout=LIMIT) as box:
                    await box.session().run("true")

            fails(code, lambda: asyncio.run(same_with_asyncio()))
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        finally:
            liar.close()


HELLO = frame('{"hello":{"protocol":"od.events.v1","first":1,"next":1,"features":["until"]}}')
FRAMES = [
    ("a wrong handshake", lambda head: handshake(head, accept="x"), "PROTOCOL"),
    ("another protocol", lambda head: handshake(head, "od.events.v2"), "VERSION"),
    ("no WebSocket", lambda head: answer("{}"), "PROTOCOL"),
    ("another hello", frame('{"hello":{"protocol":"od.events.v9","next":1,"features":[]}}'),
     "VERSION"),
    ("a hello without until", frame('{"hello":{"protocol":"od.events.v1","next":1}}'), "VERSION"),
    ("no hello", frame('{"id":1}'), "PROTOCOL"),
    ("a hello of another type", frame('{"hello":5}'), "PROTOCOL"),
    ("no JSON", HELLO + frame("x"), "PROTOCOL"),
    ("an id of another type", HELLO + frame('{"id":"1","observation":"x"}'), "PROTOCOL"),
    ("missing events", HELLO + frame('{"id":7,"observation":"x"}'), "PROTOCOL"),
    ("an error", HELLO + frame('{"error":{"code":"NOTFOUND","message":"m"}}'), "NOTFOUND"),
    ("a mask", HELLO + frame("{}", mask=0x80), "PROTOCOL"),
    ("reserved bits", HELLO + frame("{}", first=0xc0), "PROTOCOL"),
    ("an unknown opcode", HELLO + frame("{}", opcode=3), "PROTOCOL"),
    ("bytes", HELLO + frame("{}", opcode=2), "PROTOCOL"),
    ("not UTF-8", HELLO + frame(b"\xff\xfe"), "PROTOCOL"),
    ("a part without a beginning", HELLO + frame("{}", opcode=0), "PROTOCOL"),
    ("a beginning in the middle", HELLO + frame("{", first=0) + frame("}"), "PROTOCOL"),
    ("a long ping", HELLO + frame("x" * 126, opcode=9), "PROTOCOL"),
    ("a ping in parts", HELLO + frame("x", opcode=9, first=0), "PROTOCOL"),
    ("a length that is not the shortest", HELLO + frame("{}", length="16"), "PROTOCOL"),
    ("one of 64 bits", HELLO + frame("{}", length="64"), "PROTOCOL"),
    ("a message that is too long", HELLO + bytes([0x81, 127]) + (1 << 40).to_bytes(8, "big"),
     "PROTOCOL"),
    ("a negative length", HELLO + bytes([0x81, 127]) + (1 << 63).to_bytes(8, "big"), "PROTOCOL"),
    ("a refusal", HELLO + frame((1008).to_bytes(2, "big") + b"no", opcode=8), "DENIED"),
    ("a close for a fault", HELLO + frame((1002).to_bytes(2, "big"), opcode=8), "PROTOCOL"),
]


def parts_without_end(head):
    yield handshake(head) + HELLO + frame("x" * 60000, first=0)
    while True:
        yield frame("x" * 60000, opcode=0, first=0)


@row("a server that lies over a WebSocket gives named errors", alone=True)
def _(_server):
    for name, lie, code in [*FRAMES, ("parts without an end", parts_without_end, "PROTOCOL")]:
        liar = Liar(lambda head, lie=lie: lie(head) if callable(lie) else handshake(head) + lie)
        try:
            with od.Client(liar.url, "", patience=0.05, timeout=LIMIT) as box:
                fails(code, lambda: next(box.events(0)))
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        finally:
            liar.close()


@row("pings are answered, parts are joined, repeated events are dropped", alone=True)
def _(_server):
    def say(head):
        yield handshake(head) + HELLO + frame(b"p", opcode=9) + frame(b"", opcode=10)
        yield frame('{"id":1,"obs', first=0) + frame(b"q", opcode=9)
        yield frame('ervation":"x"}', opcode=0) + frame('{"id":1,"observation":"x"}')
        yield frame('{"id":2,"observation":"gap","extras":{"from":2,"to":2}}')
        yield frame(json.dumps({"id": 3, "observation": "y", "content": "é" * 70000}))

    liar = Liar(say)
    with od.Client(liar.url, "", patience=0.05) as box:
        events = box.events(0)
        same([(e["id"], e["observation"]) for e in (next(events) for _ in range(3))],
             [(1, "x"), (2, "gap"), (3, "y")])
        same(events.last, 3)
    liar.close()


# ---- the page about it ----


@row("the agent of the page works")
def _(server):
    with open(os.path.join(ROOT, "core/front/client/README.md"), encoding="utf-8") as page:
        code = page.read().split("```python agent\n")[1].split("```")[0]
    holds(code.count("\n") <= 28, "a short loop")
    replies = [f"cd {server.dir}", "read -p 'name? ' n; echo hello $n", "ann", "DONE all well"]
    got = []

    class Model(Page):
        def do_POST(self):
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps({"choices": [{"message": {"content": replies[len(got) - 1]}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model) as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        done = subprocess.run(
            [sys.executable, "-c", code + "\nprint(agent('a task'))"], capture_output=True, text=True,
            env={**os.environ, "OD_SERVER": server.proxy.url, "OD_SERVER_KEY": KEY, "MODEL": "m",
                 "MODEL_URL": f"http://127.0.0.1:{model.server_port}/", "MODEL_KEY": "k"})
        model.shutdown()
    same([done.returncode, done.stdout], [0, "all well\n"], done.stderr)
    said = [m["content"] for m in got[-1]["messages"] if m["role"] == "user"]
    same(said, ["a task", "\n[exit code 0]", "name? \n[it waits for input]",
                "hello ann\n\n[exit code 0]"])


# ---- the command line ----


def command(server, *words, env=None, data=None, python=sys.executable):
    done = subprocess.run(
        [python, CLIENT, *words], input=data, capture_output=True, timeout=2 * LIMIT, cwd=server.root,
        env={**os.environ, "OD_SERVER": server.proxy.url, "OD_SERVER_KEY": KEY, **(env or {})})
    return [done.returncode, done.stdout.decode(), done.stderr.decode()]


@row("the command line", slow=True)
def _(server):
    client = functools.partial(command, server)
    same(client("exec", f"cd {server.dir}; echo out; (exit 5)"), [5, "out\n", ""])
    same(client("exec", "--", "echo", "two", "words"), [0, "two words\n", ""])
    status, out, err = client("exec", "-s", "ask", "read -p name: x; echo hi $x", data=b"")
    same([status, out], [124, "name:"])
    has(err, "--input TEXT -s ask")
    status, out, _ = client("exec", "-s", "ask", "--input", "bob")
    same([status, out.endswith("hi bob\n")], [0, True])
    same(client("exec", "-t", "0.2", "-s", "slow", "echo a; read x <&-; sleep 100000")[0], 124)
    data = os.urandom(100000)
    with open(os.path.join(server.root, "up"), "wb") as file:
        file.write(data)
    same(client("cp", "up", ":there"), [0, "", ""])
    same(client("cp", ":there", "back")[0], 0)
    with open(os.path.join(server.root, "back"), "rb") as file:
        holds(file.read() == data, "the same bytes")
    same(client("cp", "-", ":piped", data=b"from a pipe"), [0, "", ""])
    same(client("cp", ":piped", "-"), [0, "from a pipe", ""])
    same(client("cp", "a", "b")[0], 125)
    lines = client("events", "--json")[1].splitlines()
    same([json.loads(line)["id"] for line in lines], list(range(1, len(lines) + 1)))
    has(client("events", "--since", "0")[1], "1 main run:")
    keyfile = os.path.join(server.root, "key")
    with open(keyfile, "w") as file:
        file.write(KEY + "\n")
    env = {"OD_SERVER_KEY": "wrong", "OD_SERVER_KEY_FILE": keyfile}
    same(client("exec", "true", env=env), [0, "", ""])
    status, _, err = client("exec", "true", env={"OD_SERVER_KEY": "wrong"})
    same(status, 125)
    has(err, "DENIED")
    same(client("exec")[0], 125)
    same(client("--help")[0], 0)
    url, env = server.proxy.url, {"OD_SERVER": "http://127.0.0.1:1"}
    for words in (["--server", url, "exec"], ["exec", "--server", url],
                  ["exec", "-s", "main", "--server", url, "--patience", "30", "--"],
                  ["--server", "http://127.0.0.1:1", "exec", "--server", url]):
        same(client(*words, "echo here", env=env), [0, "here\n", ""], words)
    same(client("exec", "--patience", "0", "true", env=env)[0], 125)
    same(client("exec", "echo", "--server", "x", env=None), [0, "--server x\n", ""])
    same(client("events", "--server", url, "--json", env=env)[0], 0)


# ---- the file itself ----

UNIX_ONLY = {"crypt", "curses", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline",
             "resource", "select", "signal", "spwd", "syslog", "termios", "tty"}


@row("it needs Python 3.8 and its standard library, on any system", alone=True)
def _(_server):
    with open(CLIENT, encoding="utf-8") as file:
        tree = ast.parse(file.read(), feature_version=(3, 8))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {each.name.split(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module.split(".")[0])
    same(names - set(sys.stdlib_module_names), set(), "only the standard library")
    same(names & UNIX_ONLY, set(), "nothing of one system alone")
    plain = {"__init__"}
    for node in ast.walk(tree):
        public = isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        holds(not public or ast.get_docstring(node) or node.name in ("Image", "FileInfo"),
              getattr(node, "name", ""), "has a docstring")
        if isinstance(node, ast.ClassDef) and node.name in ("Client", "Session", "AsyncClient"):
            for each in node.body:
                if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
                    bare = each.decorator_list or each.name in plain or ast.get_docstring(each)
                    holds(bare, node.name, each.name, "has a docstring")


@row("mypy finds nothing", alone=True, needs=("mypy",))
def _(_server):
    done = subprocess.run(["mypy", "--strict", "--python-version", "3.8", "--cache-dir",
                           os.path.join(T, "mypy"), CLIENT], capture_output=True, text=True)
    same([done.returncode, done.stdout.count("\n")], [0, 1], done.stdout)


@row("Client and Session have what AsyncClient and AsyncSession have", alone=True)
def _(_server):
    for one, other in ((od.Client, od.AsyncClient), (od.Session, od.AsyncSession),
                       (od.Run, od.AsyncRun), (od.Events, od.AsyncEvents)):
        public = [{n for n in vars(c) if not n.startswith("_")} for c in (one, other)]
        same(public[1] - public[0], set(), one.__name__)


@row("each Python of this machine runs it", slow=True)
def _(server):
    pythons = {os.path.realpath(p) for pattern in ("/usr/bin/python3", "/usr/bin/python3.[0-9]*",
                                                   "/usr/local/bin/python3*", "/opt/*/bin/python3*")
               for p in glob.glob(pattern) if not p.endswith("-config")}
    tried = 0
    for python in sorted(p for p in pythons if os.access(p, os.X_OK)):
        version = subprocess.run([python, "-c", "import sys; print(sys.version_info[:2] >= (3, 8))"],
                                 capture_output=True, text=True)
        if version.stdout.strip() != "True":
            continue
        tried += 1
        same(command(server, "exec", "echo from a client", python=python),
             [0, "from a client\n", ""], python)
        same(command(server, "cp", "-", ":x", data=b"x", python=python)[0], 0, python)
    holds(tried > 0, "a Python was found", pythons)


# ---- where it comes from ----


@row("GET /client.py is the same file, behind the key")
def _(server):
    same(request(server, "/client.py")[0], 403)
    for path, language in (("/client.py", "--python"), ("/client.ts", "--typescript")):
        status, text = request(server, path, headers={"X-Session-API-Key": KEY})
        printed = subprocess.run([OD, "help", "client", language], capture_output=True, text=True)
        same([status, printed.returncode], [200, 0])
        holds(text == printed.stdout and len(text) > 10000, path, len(text))
    for words in (["help", "client"], ["help", "client", "--perl"], ["help", "client", "x"]):
        done = subprocess.run([OD, *words], capture_output=True, text=True)
        same([done.returncode, done.stdout], [1, ""])
        has(done.stderr, "--python", "--typescript")


def main():
    tap = Tap()
    pattern = (sys.argv[1:] or [""])[0]
    wanted = [each for each in row if pattern in each.name]
    run_rows(tap, [("client", each, server_for) for each in wanted], 4)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
