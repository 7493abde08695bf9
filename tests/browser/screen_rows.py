# SPDX-License-Identifier: MIT
"""GET /screen/SESSION: pictures of a browser, what a person does there, and that an
agent's actions wait meanwhile. The pages are of this file. What Chromium is told is read
from a copy of its debugging pipe, which a script around it makes."""
import asyncio
import contextlib
import http.server
import itertools
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import websockets
from tap import LIMIT, Rows, Tap, at_end, has, holds, lacks, same, show_log, wait_for

OD, T = os.environ["OD"], os.environ["T"]
KEY = "screen-key-0123456789abcdef"
NEW = int(websockets.__version__.split(".")[0]) >= 14
row = Rows()
visits = itertools.count()

STYLE = "<style>body{margin:0}button{position:absolute;width:200px;height:100px}</style>"
PAGES = {
    "/form": "<title>form</title>" + STYLE + """
<button style="left:200px;top:100px" onclick="document.title='clicked '+(++n)">Press</button>
<button style="left:600px;top:100px" onclick="document.title='said '+confirm('Sure?')">Ask</button>
<button style="left:200px;top:300px" onclick="window.open('/second')">Open</button>
<input id=i style="position:absolute;left:20px;top:20px;caret-color:transparent"
 oninput="document.title='typed '+this.value"
 onkeydown="if(event.key=='Enter')document.title='entered '+this.value"><script>n=0</script>""",
    "/second": "<title>second</title><body style='background:#080'>another tab",
    "/still": "<title>still</title><body><h1>nothing moves</h1>" + STYLE + """
<button style="left:200px;top:100px" onclick="document.body.style.background='#00f';
document.title='blue'">Blue</button>""",
    "/noise": "<title>noise</title>" + STYLE + """<canvas id=c width=1280 height=720>
</canvas><script>const x=c.getContext('2d'),p=x.createImageData(c.width,c.height);setInterval(()=>{
for(let i=0;i<p.data.length;i++)p.data[i]=i%4==3?255:Math.random()*256;
x.putImageData(p,0,0)},200)</script>""",
    "/moving": "<title>moving</title>" + STYLE + """<div id=d style="position:absolute;
width:200px;height:200px;background:red"></div><script>let i=0;(function f(){
d.style.left=(i++%900)+'px';requestAnimationFrame(f)})()</script>""",
}


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = ("<!doctype html>" + PAGES.get(self.path.partition("?")[0], "<title>none</title>")).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server:
    """od serve, and a Chromium whose commands are copied to a file."""

    def __init__(self, name, *options, **env):
        self.dir = os.path.join(T, name)
        os.makedirs(self.dir)
        self.told = os.path.join(self.dir, "told")
        self.log = os.path.join(self.dir, "log")
        self.process = subprocess.Popen(
            [OD, "serve", "--listen", "127.0.0.1:0", "--name", f"{name}-{os.getpid()}", *options],
            cwd=self.dir, stderr=open(self.log, "w"), start_new_session=True,
            env={**os.environ, "SESSION_API_KEY": KEY, "TMPDIR": self.dir, **env})
        at_end(self.end)
        show_log(self.log)
        self.at = wait_for(lambda: re.search(r"http (127[0-9.:]+)", open(self.log).read()),
                           "the server listens").group(1)

    def end(self):
        self.process.terminate()
        self.process.wait()

    def ask(self, path, body=None):
        request = urllib.request.Request(
            f"http://{self.at}{path}", headers={"X-Session-API-Key": KEY},
            data=json.dumps(body).encode() if body is not None else None)
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return json.load(answer)

    def act(self, name, wait=LIMIT, **args):
        return self.ask(f"/events?wait={wait}", {"action": name, "args": args})

    def events(self):
        return self.ask("/events?since=0")["events"]

    def find(self, **wanted):
        """The events that have all of these members."""
        return [e for e in self.events()
                if all(e.get(k) == v or e.get("extras", {}).get(k) == v for k, v in wanted.items())]

    def count(self, text):
        with contextlib.suppress(FileNotFoundError):
            return open(self.told, "rb").read().count(text.encode())
        return 0

    def worker(self):
        """The pid, or None: the child of the keeper that is called so."""
        for path in os.listdir("/proc"):
            with contextlib.suppress(OSError, ValueError):
                stat = open(f"/proc/{int(path)}/stat").read()
                name = open(f"/proc/{path}/cmdline", "rb").read().split(b"\0")[0]
                if name == b"od-worker" and int(stat.rpartition(")")[2].split()[1]) == self.process.pid:
                    return int(path)
        return None


def chromium():
    for name in ("chromium-headless-shell", "chromium"):
        if shutil.which(name):
            return shutil.which(name)
    return None


def wrapper(folder):
    """Chromium with a copy of what it is told: descriptor 3 is what it reads."""
    path = os.path.join(folder, "wrapped")
    with open(path, "w") as file:
        file.write("#!/bin/bash\nexec 3< <(exec tee -a \"$TOLD\" <&3 4>&-)\n"
                   f"exec {chromium()} \"$@\"\n")
    os.chmod(path, 0o755)
    return path


# --- a viewer -------------------------------------------------------------


class Viewer:
    """What a viewer was told last, and a picture at a time."""

    def __init__(self, ws, reads):
        self.ws, self.reads = ws, reads
        self.last, self.all, self.errors = {}, [], []
        self.frames, self.frame, self.jpeg = 0, None, b""
        self.closed = None
        self.changed = asyncio.Event()
        self.task = asyncio.ensure_future(self.read())

    async def read(self):
        try:
            async for message in self.ws:
                await self.take(message)
                self.changed.set()
        except websockets.ConnectionClosed:
            pass
        self.closed = self.ws.close_code
        self.changed.set()

    async def take(self, message):
        if isinstance(message, bytes):
            same(message[0], 1, "the kind of a picture")
            self.frame = struct.unpack(">IHHHH", message[1:13])
            self.jpeg = message[13:]
            self.frames += 1
            if self.reads:
                with contextlib.suppress(websockets.ConnectionClosed):
                    await self.say(seen=self.frame[0])
            return
        message = json.loads(message)
        self.all.append(message)
        if "error" in message:
            self.errors.append(message["error"])
        self.last.update(message.get("hello", message))

    async def until(self, fact, what):
        async def wait():
            while not (value := fact()):
                self.changed.clear()
                if self.closed is not None:
                    raise AssertionError(f"closed by {self.closed}: {what}; {self.all[-3:]}")
                await self.changed.wait()
            return value

        try:
            return await asyncio.wait_for(wait(), LIMIT)
        except asyncio.TimeoutError:
            raise AssertionError(f"{what}; last: {self.all[-4:]}") from None

    async def say(self, **message):
        await self.ws.send(json.dumps(message))

    def title(self):
        return next((t["title"] for t in self.last.get("tabs", []) if t["active"]), None)

    async def titled(self, title):
        await self.until(lambda: self.title() == title, f"the title is {title}")

    async def error(self, code):
        """The error that is told next; they are told in order."""
        await self.until(lambda: self.errors, f"an error {code}")
        got = self.errors.pop(0)
        same(got["code"], code, got["message"])
        return got["message"]

    async def painted(self):
        await self.until(lambda: self.frame, "a picture")

    async def click(self, x, y):
        """At a place of a window of 1280 by 720, as a part of what was painted last."""
        at = {"at": self.frame[0], "x": x / 1280, "y": y / 720, "button": "left", "clicks": 1}
        for kind in ("move", "down", "up"):
            await self.say(mouse={**at, "kind": kind})

    async def key(self, key, code, mods=0):
        for kind in ("down", "up"):
            await self.say(key={"kind": kind, "key": key, "code": code, "mods": mods})

    async def open(self, path):
        """Visits it, and waits for a picture of it: input before that may be lost."""
        seen, url = self.frames, f"{self.base}{path}?{next(visits)}"
        await self.say(go=url)
        await self.until(lambda: any(t["url"] == url for t in self.last["tabs"]), "it is visited")
        await self.titled(path[1:])
        await self.until(lambda: self.frames > seen, "a picture of the page")


@contextlib.asynccontextmanager
async def viewer(server, session="main", first=None, key=KEY, reads=True):
    headers = {"X-Session-API-Key": key} if key else {}
    named = {"additional_headers" if NEW else "extra_headers": headers}
    async with websockets.connect(f"ws://{server.at}/screen/{session}", max_size=None,
                                  subprotocols=["od.screen.v1"], **named) as ws:
        v = Viewer(ws, reads)
        v.base = server.base
        await v.say(**(first or {"name": "ann"}))
        try:
            yield v
        finally:
            v.task.cancel()


def size_of(jpeg):
    at = 2
    while jpeg[at + 1] not in (0xC0, 0xC1, 0xC2):
        at += 2 + struct.unpack(">H", jpeg[at + 2:at + 4])[0]
    height, width = struct.unpack(">HH", jpeg[at + 5:at + 9])
    return width, height


async def in_thread(function, *args, **named):
    return await asyncio.get_running_loop().run_in_executor(None, lambda: function(*args, **named))


# --- rows -------------------------------------------------------------------


@row("before there is a browser, the viewer is told how one is opened")
async def _(box):
    async with viewer(box, "empty", {"name": "ann", "drive": True}) as v:
        await v.until(lambda: "browser" in v.last, "hello")
        same((v.last["browser"]["state"], v.last["tabs"], v.last["may"]), ("none", [], "drive"))
        has(v.last["browser"]["why"], "an action browse or page opens it")
        await v.say(go="http://127.0.0.1/")
        await v.error("NOTFOUND")


@row("a wrong key, or none, closes with 1008; a right one in the first message counts")
async def _(box):
    for first in ({"api_key": "wrong"}, {"name": "ann"}, {"page": "0" * 64}):
        async with viewer(box, first=first, key=None) as v:
            await v.task
            same((v.closed, v.all), (1008, []), str(first))
    async with viewer(box, first={"api_key": KEY, "name": "ann"}, key=None) as v:
        await v.until(lambda: v.last.get("may") == "drive", "hello")


@row("a key that may view watches, and cannot drive")
async def _(box):
    made = subprocess.run([OD, "serve", "--key-add", "viewer", "--view", "--server", box.name],
                          capture_output=True, text=True)
    key = (made.stdout.split() or [""])[-1]
    holds(made.returncode == 0 and key, made)
    async with viewer(box, "empty", key=key) as v:
        await v.until(lambda: v.last.get("may") == "view", "hello")
        await v.say(drive=True)
        has(await v.error("DENIED"), "may only watch")
        await v.say(text="x")
        await v.error("DENIED")


@row("clicks land by fractions of a picture, at three sizes")
async def _(box):
    await in_thread(box.act, "page", url=box.base + "/form")
    for n, width in enumerate((1280, 640, 320)):
        async with viewer(box, first={"name": "ann", "width": width, "drive": True}) as v:
            await v.painted()
            await v.until(lambda: size_of(v.jpeg)[0] == width, f"a picture of {width} pixels")
            same(v.frame[1:3], (1280, 720), "the viewport")
            await v.click(300, 150)
            await v.titled(f"clicked {n + 1}")


@row("text of an input method, keys, a shortcut and a paste arrive")
async def _(box):
    async with viewer(box, first={"name": "ann", "drive": True}) as v:
        await v.painted()
        await v.open("/form")
        await v.click(40, 30)
        await v.say(text="käse 日本")
        await v.titled("typed käse 日本")
        await v.key("Backspace", "Backspace")
        await v.titled("typed käse 日")
        await v.key("ß", "Minus")
        await v.titled("typed käse 日ß")
        await v.key("a", "KeyA", 2)
        await v.key("B", "KeyB", 8)
        await v.titled("typed B")
        await v.say(paste="pasted")
        await v.titled("typed Bpasted")
        await v.key("Enter", "Enter")
        await v.titled("entered Bpasted")


@row("a dialog is the driver's to answer")
async def _(box):
    async with viewer(box, first={"name": "ann", "drive": True}) as v:
        await v.painted()
        for accept in (True, False):
            await v.open("/form")
            await v.click(700, 150)
            await v.until(lambda: v.last.get("dialog"), "a dialog")
            same((v.last["dialog"]["kind"], v.last["dialog"]["text"]), ("confirm", "Sure?"))
            await v.say(dialog=accept)
            await v.titled(f"said {'true' if accept else 'false'}")
            same(v.last["dialog"], None)


@row("a tab that a page opens is shown, and a click on another one shows that")
async def _(box):
    async with viewer(box, first={"name": "ann", "drive": True}) as v:
        await v.painted()
        await v.open("/form")
        first = v.last["tabs"][0]["id"]
        seen = v.frames
        await v.click(300, 350)
        await v.titled("second")
        same(len(v.last["tabs"]), 2)
        await v.until(lambda: v.frames > seen, "a picture of it")
        seen = v.frames
        await v.say(tab=first)
        await v.titled("form")
        await v.until(lambda: v.frames > seen, "a picture of the first one")
        await v.click(300, 150)
        await v.titled("clicked 1")


@row("visits, back, and a visit that fails says why")
async def _(box):
    async with viewer(box, first={"name": "ann", "drive": True}) as v:
        await v.painted()
        await v.open("/second")
        await v.open("/still")
        await v.say(back=1)
        await v.titled("second")
        await v.say(back=-1)
        await v.titled("still")
        await v.say(reload=1)
        await v.say(go="http://127.0.0.1:1/")
        has(await v.error("IO"), "net::ERR_")


@row("each visit of many has its picture, also if the page then stays as it is")
async def _(box):
    async with viewer(box, first={"name": "ann", "drive": True}) as v:
        await v.painted()
        for _ in range(10):
            await v.open("/second")
            await v.open("/still")


@row("pictures of 500 KB come, also to a worker that has stopped reading for a time")
async def _(box):
    async with viewer(box, first={"name": "ann", "drive": True, "quality": 80}) as v:
        await v.painted()
        await v.open("/noise")
        await v.until(lambda: len(v.jpeg) > 500000, "a big picture")
        seen, worker = box.count("Page.screencastFrameAck"), box.worker()
        os.kill(worker, signal.SIGSTOP)
        try:
            await in_thread(wait_for, lambda: box.count("Page.screencastFrameAck") > seen + 2,
                            "pictures come to the host")
        finally:
            os.kill(worker, signal.SIGCONT)
        seen = v.frames
        await v.until(lambda: v.frames > seen + 2, "pictures come again")
        await v.open("/still")
        await v.until(lambda: len(v.jpeg) < 50000, "the last state")


@row("a still page sends nothing for 5 seconds, and what then changes is sent")
async def _(box):
    async with viewer(box, first={"name": "ann", "drive": True}) as v:
        await v.painted()
        await v.open("/still")
        seen = -1
        while seen != v.frames:  # those of the visit
            seen = v.frames
            await asyncio.sleep(1)
        await asyncio.sleep(5)
        same(v.frames, seen, "pictures of a still page")
        await v.click(300, 150)
        await v.titled("blue")
        await v.until(lambda: v.frames > seen, "the last state is sent")


@row("one screencast for all; closing the last viewer stops it")
async def _(box):
    await in_thread(box.act, "page", url=box.base + "/moving")
    stops = box.count("Page.stopScreencast")
    starts = box.count("Page.startScreencast")
    async with viewer(box) as v, viewer(box, first={"name": "bob"}) as w:
        await v.until(lambda: v.frames > 3, "pictures")
        await w.until(lambda: w.frames > 3, "pictures")
        same((box.count("Page.startScreencast") - starts, box.count("Page.stopScreencast")),
             (1, stops))
        holds(box.count("Page.screencastFrameAck") > 0, "acknowledged")
    await in_thread(wait_for, lambda: box.count("Page.stopScreencast") == stops + 1, "it stops")


@row("a viewer that paints nothing gets one picture, and the other ones theirs")
async def _(box):
    def memory():
        status = open(f"/proc/{box.worker()}/status").read()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))

    await in_thread(box.act, "page", url=box.base + "/moving")
    async with contextlib.AsyncExitStack() as all_of_them:
        idle = [await all_of_them.enter_async_context(viewer(box, reads=False)) for _ in range(5)]
        v = await all_of_them.enter_async_context(viewer(box))
        await v.until(lambda: v.frames > 5, "pictures")
        before = memory()
        await v.until(lambda: v.frames > 40, "more of them")
        same([each.frames for each in idle], [1] * 5)
        holds(memory() - before < 2048, "KiB before and now", before, memory())


@row("one person drives: another one is refused, and may take it over")
async def _(box):
    async with viewer(box) as v, viewer(box, first={"name": "bob"}) as w:
        await v.painted()
        await w.painted()
        await v.say(text="x")
        has(await v.error("DENIED"), "only the driver")
        await v.say(drive=True)
        await w.until(lambda: (w.last["driver"] or {}).get("name") == "ann", "ann drives")
        same(w.last["driver"]["id"], v.last["id"])
        await w.say(drive=True)
        has(await w.error("DENIED"), "ann drives")
        await w.say(drive="steal")
        await v.until(lambda: (v.last["driver"] or {}).get("name") == "bob", "bob drives")
        await v.say(text="x")
        await v.error("DENIED")
        await w.say(drive=False)
        await v.until(lambda: v.last["driver"] is None, "nobody drives")
    holds(box.find(observation="control", viewer="bob", drives=False), box.events()[-5:])


@row("od browse -t ends while a person drives, and says who does")
async def _(box):
    await in_thread(box.act, "page", url=box.base + "/form")
    async with viewer(box, first={"name": "ann", "drive": True}) as v:
        await v.painted()
        await v.until(lambda: v.last["driver"], "ann drives")
        done = await in_thread(
            subprocess.run, [OD, "browse", "--session", "main", "-t", "0.5", "--server", box.name],
            env={**os.environ, "SESSION_API_KEY": KEY}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=LIMIT)
        same((done.returncode, done.stdout), (125, ""), done.stderr)
        has(done.stderr, "the call was not begun within 0.5 s: ann drives the browser main")
        await v.say(drive=False)
    await in_thread(box.act, "page", act="click", ref="Press")


@row("an agent's click waits while a person drives, says so, and goes on")
async def _(box):
    await in_thread(box.act, "page", url=box.base + "/form")
    async with viewer(box, first={"name": "ann", "drive": True}) as v:
        await v.painted()
        await v.until(lambda: v.last["driver"], "ann drives")
        click = await in_thread(box.act, "page", 0, act="click", ref="Press")
        other = await in_thread(box.act, "page", 0, act="click", ref="Press")
        waits = lambda: box.find(observation="waits", action=click["id"], viewer="ann")
        await in_thread(wait_for, waits, "the action says that it waits")
        await v.click(700, 150)
        await v.until(lambda: v.last.get("dialog"), "the person does something")
        await v.say(dialog=True)
        await v.titled("said true")
        same(box.find(cause=click["id"]), [], "it waits")
        await in_thread(box.act, "cancel", id=other["id"])
        ended = await in_thread(wait_for, lambda: box.find(cause=other["id"]), "it is cancelled")
        same(ended[0]["extras"]["code"], "CANCELLED")
        same(v.title(), "said true")
        await v.say(drive=False)
        await v.titled("clicked 1")
        done = await in_thread(wait_for, lambda: box.find(cause=click["id"]), "it is done")
        same(done[0]["observation"], "page")
        await v.until(lambda: v.last.get("cursor"), "where the agent has clicked")
        holds(0.2 < v.last["cursor"]["x"] < 0.3, v.last["cursor"])
    typed = await in_thread(wait_for, lambda: box.find(observation="human_input", viewer="ann"),
                            "what the person does is in the log")
    lacks(json.dumps(typed), "said")


@row("what a person types is not in the log")
async def _(box):
    async with viewer(box, first={"name": "eve", "drive": True}) as v:
        await v.painted()
        await v.open("/form")
        await v.click(40, 30)
        await v.say(text="geheim-4711")
        await v.titled("typed geheim-4711")
    await in_thread(wait_for, lambda: box.find(observation="human_input", viewer="eve"), "typed")
    lacks(json.dumps(box.events()), "geheim-4711")


BAD = [
    ("x", "INVALID"), ("[]", "INVALID"), ("{}", "INVALID"), ("1", "INVALID"),
    ('{"drive":"now"}', "INVALID"), ('{"drive":1}', "INVALID"), ('{"seen":"1"}', "INVALID"),
    ('{"mouse":{"kind":"down","x":0,"y":0}}', "INVALID"),
    ('{"mouse":{"kind":"down","at":1000000,"x":0,"y":0}}', "INVALID"),
    ('{"mouse":{"kind":"down","at":-1,"x":0,"y":0}}', "INVALID"),
    ('{"mouse":{"kind":"jump","at":1,"x":0,"y":0}}', "INVALID"),
    ('{"mouse":{"kind":"down","at":1,"x":1.5,"y":0}}', "INVALID"),
    ('{"mouse":{"kind":"down","at":1,"x":0}}', "INVALID"),
    ('{"mouse":{"kind":"down","at":1,"x":0,"y":0,"clicks":99}}', "INVALID"),
    ('{"mouse":{"kind":"down","at":1,"x":0,"y":0,"button":"fourth"}}', "INVALID"),
    ('{"mouse":[]}', "INVALID"), ('{"key":{"kind":"down"}}', "INVALID"),
    ('{"key":{"kind":"down","key":"%s"}}' % ("x" * 40), "INVALID"),
    ('{"text":""}', "INVALID"), ('{"text":1}', "INVALID"), ('{"back":0}', "INVALID"),
    ('{"text":"%s"}' % ("x" * 70000), "INVALID"), ('{"tab":[]}', "INVALID"),
    ('{"dialog":"yes"}', "INVALID"), (b"\x01", "UNSUPPORTED"),
]


@row("messages that are none are answered each, and the link stays")
async def _(box):
    async with viewer(box, first={"name": "ann", "drive": True}) as v:
        await v.painted()
        for message, code in BAD:
            await v.ws.send(message)
            try:
                await v.error(code)
            except AssertionError as error:
                raise AssertionError(f"{message[:80]}: {error}") from None
        await v.open("/second")
        await v.ws.send('{"text":"%s"}' % ("x" * 300000))
        with contextlib.suppress(AssertionError):
            await v.until(lambda: False, "closed")
        same(v.closed, 1009)


@row("a killed worker: the page, the lease and its name are there again")
async def _(box):
    async with viewer(box, first={"name": "ann", "drive": True}) as v:
        await v.painted()
        await v.open("/form")
        await v.click(300, 150)
        await v.titled("clicked 1")
        old = box.worker()
        os.kill(old, signal.SIGKILL)
        await asyncio.wait_for(v.task, LIMIT)
    await in_thread(wait_for, lambda: box.worker() not in (None, old), "another worker")
    async with viewer(box, first={"name": "bob"}) as w:
        await w.until(lambda: "driver" in w.last, "hello")
        same(w.last["driver"], {"name": "ann", "id": None})
        click = await in_thread(box.act, "page", 0, act="click", ref="Press")
        await in_thread(wait_for, lambda: box.find(observation="waits", action=click["id"]), "waits")
        await w.painted()
        await w.say(drive=True)
        await w.until(lambda: (w.last["driver"] or {}).get("name") == "bob", "bob has it")
        await w.click(300, 150)
        await w.titled("clicked 2")
        await w.say(drive=False)
        await w.titled("clicked 3")


@row("a Chromium that dies is told, and the next one is shown")
async def _(box):
    async with viewer(box) as v:
        await v.painted()
        host = next(e for e in [subprocess.run(["pgrep", "-f", "remote-debugging-pipe"],
                                               capture_output=True, text=True).stdout.split()])
        ours = [int(pid) for pid in host if os.path.exists(f"/proc/{pid}") and
                box.dir.encode() in open(f"/proc/{pid}/environ", "rb").read()]
        holds(ours, "our Chromium")
        os.kill(min(ours), signal.SIGKILL)
        seen = v.frames
        await in_thread(box.act, "page", url=box.base + "/second")
        await v.until(lambda: v.frames > seen, "a picture of it")
        same(v.last["browser"], {"state": "open"})
        await v.titled("second")


@row("--browse-deny holds for a person, too", deny=True)
async def _(box):
    async with viewer(box, first={"name": "ann", "drive": True}) as v:
        await v.painted()
        await v.say(go=box.base + "/form")
        has(await v.error("IO"), "denied")


@row("without a Chromium: the named error, and the text of the last page", text=True)
async def _(box):
    async with viewer(box, first={"name": "ann"}) as v:
        await in_thread(box.act, "page", url=box.base + "/still")
        await v.until(lambda: "nothing moves" in v.last["browser"].get("text", ""), "the text")
        same((v.last["browser"]["state"], v.last["browser"]["code"]), ("text", "UNSUPPORTED"))
        await v.say(drive=True)
        await v.say(go=box.base + "/form")
        has(await v.error("UNSUPPORTED"), "no Chromium")
        same(v.frames, 0)


def main():
    tap = Tap()
    if not chromium():
        print("1..0 # SKIP no Chromium")
        return 0
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    wrapped = wrapper(T)
    boxes = {}

    def box_of(options):
        kind = "deny" if options.get("deny") else "text" if options.get("text") else "main"
        if kind not in boxes:
            browser = {"main": wrapped, "deny": chromium(), "text": "text"}[kind]
            more = ["--browse-deny", "local"] if kind == "deny" else []
            box = Server(kind, *more, OD_BROWSER=browser, TOLD=os.path.join(T, kind, "told"))
            box.name = f"{kind}-{os.getpid()}"
            box.base = f"http://127.0.0.1:{pages.server_address[1]}"
            boxes[kind] = box
            if kind != "text":
                box.act("page", url="about:blank" if kind == "deny" else box.base + "/form")
        return boxes[kind]

    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for each in row:
        if wanted not in each.name:
            continue
        try:
            asyncio.run(each.function(box_of(each.options)))
        except BaseException as error:  # whatever it is, the row does not hold
            tap.line(False, each.name, [f"{type(error).__name__}: {str(error)[:700]}"])
        else:
            tap.line(True, each.name)
    for box in boxes.values():
        box.end()
    return tap.done()


sys.exit(main())
