# SPDX-License-Identifier: MIT
"""Live terminals: viewers of one session, who drives, pictures for late and slow ones,
secrets, bad input, and a killed worker. And sessions as recordings."""
import asyncio
import contextlib
import glob
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import websockets
from tap import LIMIT, Rows, Tap, at_end, has, holds, lacks, run_rows, same, show_log, wait_for

OD, T = os.environ["OD"], os.environ["T"]
KEY = "terminal-key-0123456789abcdef"
row = Rows()
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()


class Server:
    def __init__(self, name, *options):
        self.dir = os.path.join(T, name)
        os.mkdir(self.dir)
        self.log = os.path.join(self.dir, "log")
        env = dict(os.environ, OD_SOCKET=self.dir + "/s", HOME=self.dir, SESSION_API_KEY=KEY)
        env.pop("OD_SERVER", None)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [OD, "serve", "--listen", "127.0.0.1:0", "--state-dir", self.dir + "/state",
                 "--socket", self.dir + "/s", *options],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env, cwd=self.dir)
        self.env = env
        show_log(self.log)
        at_end(self.end)
        wait_for(self.find_port, "the server listens")

    def find_port(self):
        with open(self.log, encoding="utf-8") as f:
            found = re.search(r"http 127\.0\.0\.1:(\d+)", f.read())
        if found:
            self.port = int(found[1])
        return found

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(LIMIT)

    def act(self, session, action, wait=True, **args):
        """An action of the agent, and its observation."""
        body = {"action": action, "session": session, "args": args}
        if "secrets" in args:
            body["secrets"] = args.pop("secrets")
        ask = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/events{'' if wait else '?wait=0'}",
            json.dumps(body).encode(), {"X-Session-API-Key": KEY})
        with urllib.request.urlopen(ask, timeout=LIMIT) as answer:
            return json.loads(answer.read())

    def run(self, session, command, **args):
        return self.act(session, "run", command=command, until="end", **args)

    def events(self, since=0):
        ask = urllib.request.Request(f"http://127.0.0.1:{self.port}/events?since={since}",
                                     headers={"X-Session-API-Key": KEY})
        with urllib.request.urlopen(ask, timeout=LIMIT) as answer:
            return answer.read().decode()

    def sessions(self):
        ask = urllib.request.Request(f"http://127.0.0.1:{self.port}/terminal",
                                     headers={"X-Session-API-Key": KEY})
        with urllib.request.urlopen(ask, timeout=LIMIT) as answer:
            return {x["session"]: x for x in json.load(answer)["sessions"]}

    def view(self, session, key=KEY, **first):
        return Viewer(self, session, key, first)

    def worker(self):
        out = subprocess.run(["pgrep", "-P", str(self.process.pid), "-f", "^od-worker$"],
                             capture_output=True, text=True, check=True)
        return int(out.stdout)


class Viewer:
    """A client; a thread's loop reads what comes."""

    def __init__(self, server, session, key, first):
        self.messages, self.frames, self.code, self.silent = [], [], None, False
        self.came = None  # the time of the newest frame
        self.offset = first.get("since")
        self.ws = self.do(self.connect(server, session, key))
        asyncio.run_coroutine_threadsafe(self.read(), loop)
        if first.get("first", True) is not None:
            self.send(first)

    @staticmethod
    def do(what):
        return asyncio.run_coroutine_threadsafe(what, loop).result(LIMIT)

    @staticmethod
    async def connect(server, session, key):
        return await websockets.connect(
            f"ws://127.0.0.1:{server.port}/terminal/{session}", subprotocols=["od.terminal.v1"], open_timeout=LIMIT,
            extra_headers={"X-Session-API-Key": key} if key else {}, max_size=None, max_queue=None)

    async def read(self):
        with contextlib.suppress(websockets.ConnectionClosed):
            async for message in self.ws:
                if isinstance(message, str):
                    self.messages.append(json.loads(message))
                else:
                    offset = int.from_bytes(message[1:9], "big")
                    self.came = time.monotonic()
                    self.frames.append((message[0], offset, message[9:]))
                    if message[0] < 3:
                        self.offset = offset
                        if not self.silent:
                            await self.ws.send(json.dumps({"ack": offset}))
        await self.ws.wait_closed()
        self.code = self.ws.close_code

    def send(self, message):
        if not isinstance(message, (str, bytes)):
            message = json.dumps(message)
        self.do(self.ws.send(message))

    def type(self, text):
        self.send(b"\0" + text.encode())

    def text(self, kinds=(1, 2)):
        return b"".join(data for kind, _, data in self.frames if kind in kinds).decode()

    def shows(self, text):
        wait_for(lambda: text in self.text(), lambda: f"{text!r} comes to a viewer, who has "
                 f"{self.text()[-300:]!r} and {self.messages}")

    def said(self, name):
        """The last message that has this member."""
        wait_for(lambda: any(name in m for m in self.messages),
                 lambda: f"{name} in {self.messages}")
        return [m for m in self.messages if name in m][-1]

    def says(self, check, what):
        wait_for(lambda: any(check(m) for m in self.messages),
                 lambda: f"{what}: {self.messages}")

    def ends(self, code):
        wait_for(lambda: self.code is not None, "the link ends")
        same(self.code, code)

    def close(self):
        self.do(self.ws.close())

    def hello(self):
        return self.said("hello")["hello"]


@contextlib.contextmanager
def fixture(_row):
    yield server


def drives(viewer, name):
    """They drive, and have the picture: what they type is not a part of it."""
    viewer.says(lambda m: "driver" in m and (m["driver"] or {}).get("name") == name,
                f"{name} drives")
    wait_for(lambda: viewer.frames, "a picture")


@row("what an agent runs comes to all viewers, and the first and a late one see the same")
def _(s):
    s.run("one", "echo first")
    early = s.view("one", name="ann")
    hello = early.hello()
    same((hello["session"], hello["rows"], hello["cols"]), ("one", 50, 200))
    holds(hello["state"] in ("idle", "busy"), hello)
    same(hello["driver"], None)
    early.shows("first")
    wait_for(lambda: early.frames, "a picture")
    s.run("one", "printf '\\033[31mred\\033[m\\n'; seq 3")
    early.shows("\x1b[31mred")
    early.shows("1\r\n2\r\n3\r\n")
    others = [s.view("one") for _ in range(4)]
    pictures = []
    for v in others:
        wait_for(lambda v=v: v.frames, "a picture")
        same(v.frames[0][0], 2)
        pictures.append(v.frames[0])
    same(pictures, pictures[:1] * 4)
    for part in ("first", "red", "\x1b[2;1H", "\x1b[6;1H2"):
        has(pictures[0][2].decode(), part)
    same(others[3].hello()["viewers"], 5)
    s.run("one", "echo for all")
    for v in [early, *others]:
        v.shows("for all\r\n")
        v.close()


@row("only who drives types; steal, give back, and all of it is in the log without the text")
def _(s):
    ann = s.view("two", name="ann", drive=True)
    bob = s.view("two", name="bob")
    drives(ann, "ann")
    same(bob.hello()["driver"]["name"], "ann")
    ann.type("echo $((6*7))secretly\r")
    ann.shows("42secretly")
    bob.shows("42secretly")
    bob.type("echo no\r")
    same(bob.said("error")["error"]["code"], "DENIED")
    bob.send({"resize": {"rows": 30, "cols": 90}})
    bob.says(lambda m: "size" in m.get("error", {}).get("message", ""), "no size")
    bob.send({"drive": True})
    bob.says(lambda m: m.get("error", {}).get("code") == "BUSY", "it is taken")
    bob.send({"drive": "steal"})
    drives(ann, "bob")
    ann.type("echo never\r")
    same(ann.said("error")["error"]["code"], "DENIED")
    bob.type("echo $((7*8))\r")
    ann.shows("56")
    bob.send({"drive": False})
    ann.says(lambda m: m.get("driver", 1) is None, "nobody drives")
    lacks(ann.text(), "never")
    bytes_typed = len("echo $((6*7))secretly\r")
    log = s.events()
    has(log, '"observation":"human_input"')
    has(log, f'"bytes":{bytes_typed}')
    lacks(log, "echo $((6*7))")
    for how in ("take", "steal", "give"):
        has(log, f'"how":"{how}"')
    ann.close()
    bob.close()


@row("the list of sessions, and how many watch")
def _(s):
    s.run("listed", "true")
    ann, bob = s.view("listed", name="ann", drive=True), s.view("listed")
    drives(ann, "ann")
    ann.says(lambda m: m.get("viewers") == 2, "two watch")
    ann.send({"since": 0})
    wait_for(lambda: any(k == 3 and not d for k, _, d in ann.frames), "an end behind marks")
    # The shell gets a prompt for the driver.
    wait_for(lambda: s.sessions()["listed"]["state"] == "idle", "it is idle")
    found = s.sessions()["listed"]
    same((found["viewers"], found["driver"]["name"]), (2, "ann"))
    bob.close()
    wait_for(lambda: [m for m in ann.messages if "viewers" in m][-1]["viewers"] == 1, "one watches")
    ann.send({"drive": False})
    ann.says(lambda m: m.get("driver", 1) is None, "nobody drives")
    cause = s.act("listed", "run", command="read -r a", until="input")["cause"]
    found = s.sessions()["listed"]
    same((found["state"], found["program"]), ("waiting", "bash"))
    same(found.get("cause", cause), cause)
    s.act("listed", "input", text="x\n")
    wait_for(lambda: s.sessions()["listed"]["state"] == "idle", "it is idle")
    ann.close()


@row("what is typed before the first prompt reaches the shell")
def _(s):
    people = [s.view(f"early{i}", name="ann", drive=True) for i in range(12)]
    for i, ann in enumerate(people):
        ann.type(f"echo early-$(({i}+1000))\r")
    for i, ann in enumerate(people):
        ann.shows(f"early-{i + 1000}")  # perhaps in the picture
        ann.close()


@row("a shell slow to show its prompt is idle at last, when asked for it again just then, too")
def _(s):
    for pause in ("0.02", "0.03"):
        name = f"slow{pause}"
        s.run(name, f"set -T; trap 'sleep {pause}' DEBUG")  # each command of our own, too
        ann = s.view(name, name="ann", drive=True)
        drives(ann, "ann")

        def again():
            time.sleep(0.03)  # the shell has the first request
            os.kill(s.process.pid, signal.SIGSTOP)
            time.sleep(0.5)  # its answer comes, and the worker asks again
            os.kill(s.process.pid, signal.SIGCONT)
        again()
        ann.type(f"trap - DEBUG; echo $((6*7)); trap 'sleep {pause}' DEBUG\r")
        ann.shows("42\r\n")
        wait_for(lambda name=name: s.sessions()[name]["state"] == "idle", "it is idle")
        ann.send({"drive": False})
        ann.says(lambda m: m.get("driver", 1) is None, "nobody drives")
        again()
        same(s.run(name, "trap - DEBUG; echo $((7*7))")["content"], "49\n")
        ann.close()


@row("the size belongs to the session, and a driver's reaches everybody before its bytes")
def _(s):
    ann = s.view("size", name="ann", drive=True, view={"rows": 20, "cols": 70})
    bob = s.view("size")
    drives(ann, "ann")
    bob.hello()
    ann.type("stty size\r")
    bob.shows("50 200")
    ann.send({"resize": {"rows": 22, "cols": 77}})
    same(bob.said("size")["size"], {"rows": 22, "cols": 77, "by": ann.hello()["id"]})
    ann.type("stty size\r")
    bob.shows("22 77")
    for bad in ({"rows": 0, "cols": 80}, {"rows": 10**9, "cols": 80}, {}, 5):
        ann.send({"resize": bad})
    wait_for(lambda: sum("error" in m for m in ann.messages) == 4, "bad sizes")
    ann.close()
    bob.close()


@row("a driver whose link is lost keeps the keyboard, and has it again by its token")
def _(s):
    ann = s.view("lost", name="ann", drive=True)
    bob = s.view("lost", name="bob")
    drives(bob if bob.hello()["driver"] is None else ann, "ann")
    token = ann.hello()["resume"]
    ann.close()
    bob.says(lambda m: (m.get("driver") or {}).get("away"), "ann's link is lost")
    bob.send({"drive": True})
    bob.says(lambda m: m.get("error", {}).get("code") == "BUSY", "ann is only away")
    again = s.view("lost", name="ann", drive=True, resume=token)
    drives(again, "ann")
    again.type("echo $((3*3))back\r")
    bob.shows("9back")
    again.close()
    bob.close()


@row("the state: waiting with the program's name, then idle")
def _(s):
    s.run("ask", "true")
    v = s.view("ask")
    v.hello()
    s.act("ask", "run", command="read -r answer; echo got $answer", until="input")
    v.says(lambda m: m.get("state") == "waiting" and m.get("program"), "it waits")
    s.act("ask", "input", text="it\n")
    v.shows("got it")
    v.says(lambda m: m.get("state") == "idle", "it is idle")
    v.close()


@row("a secret is in no frame, nor in a picture of what came before it was one")
def _(s):
    s.run("hush", "echo pass; echo word77")
    v = s.view("hush")
    v.hello()
    s.run("hush", "printf hun; sleep 0.2; printf 'ter77 af''ter\\n'", secrets={"P": "hunter77"})
    v.shows("after")
    has(v.text(), "<secret_hidden> after")
    s.run("hush", "true", secrets={"Q": "word77"})
    late = s.view("hush")
    wait_for(lambda: late.frames, "a picture")
    for text in (v.text((1, 2, 3)), late.text()):
        lacks(text, "hunter77")
    lacks(late.text(), "word77")
    has(late.text(), "******")
    v.close()
    late.close()


@row("a key that a secret begins with comes back at once, and the secret does not come")
def _(s):
    s.run("echo", "true", secrets={"P": "zebra77x"})
    ann, bob = s.view("echo", name="ann", drive=True), s.view("echo")
    drives(ann, "ann")
    ann.type("cat\r")
    ann.shows("cat\r\n")

    def is_prompt():
        """One more key, in less time than output waits that may be a secret's beginning."""
        count, begin = ann.text().count("z"), time.monotonic()
        ann.type("z")
        wait_for(lambda: ann.text().count("z") > count, "its echo")
        return ann.came - begin < 0.045
    wait_for(is_prompt, "a key that comes back before 50 ms")
    ann.type("\x15zebra77x end\r")
    bob.shows("<secret_hidden> end")
    for v in (ann, bob):
        lacks(v.text(), "ebra77x")
        v.close()


@row("who does not acknowledge gets 256 KiB, then a picture, and stops nobody", slow=True)
def _(s):
    s.run("flood", "true")
    v, other = s.view("flood"), s.view("flood")
    wait_for(lambda: v.frames and other.frames, "both have a picture")
    v.silent = True
    first = v.offset
    s.run("flood", "seq 400000; echo the-$((1+1))-end")
    other.shows("the-2-end")
    s.run("flood", "echo later")
    other.shows("later")
    # A window, and if it fell behind before that was full, a picture and one more.
    holds([k for k, _, _ in v.frames].count(2) <= 2, "pictures without an ack")
    holds(sum(len(d) for k, _, d in v.frames if k == 1) < 1 << 20, "bytes without an ack")
    v.silent = False
    v.send({"ack": v.offset})
    v.shows("later")
    holds([k for k, _, _ in v.frames].count(2) <= 3, "pictures")
    v.send({"since": first})
    wait_for(lambda: any(k == 3 and not d for k, _, d in v.frames), "the end of older output")
    has(v.text((3,)), "1\r\n2\r\n3\r\n")
    before = len(v.frames)
    v.send({"since": v.offset - 20, "picture": True})
    wait_for(lambda: v.frames[before:] and v.frames[-1][0] == 2, "a picture after older output")
    same([k for k, _, _ in v.frames[before:]], [3] * (len(v.frames) - before - 1) + [2])
    v.close()
    other.close()


@row("who comes back between two commands gets all of the next one's output")
def _(s):
    s.run("between", "echo one-$((1+1))")
    v = s.view("between")
    v.shows("one-2")
    for n in range(3, 6):
        offset = v.offset
        v.close()
        wait_for(lambda: s.sessions()["between"]["viewers"] == 0, "nobody watches")
        s.run("between", f"echo next-$(({n}))")
        v = s.view("between", since=offset)
        v.shows(f"next-{n}\r\n")
        same([k for k, _, _ in v.frames if k == 2], [])
    v.close()


def prompts(v, kind):
    """The commands in frames of this kind; an x stands for many."""
    found = re.findall(r"\x1b\[0;90m(\$ .*?)\x1b\[m\r\n", v.text((kind,)))
    return [re.sub("x{100,}", "x", p) for p in found]


@row("commands are above their output, as a prompt has them, and in nothing but what is shown")
def _(s):
    before = s.run("prompts", "echo o''ne")
    s.run("prompts", "cd /; true")
    s.run("prompts", "printf 'no newline'", secrets={"S": "hidden77"})
    v = s.view("prompts")
    wait_for(lambda: v.frames, "a picture")
    text = re.sub(r"\x1b\[[0-9;]*[mH]", "|", v.text())
    for part in ("$ echo o''ne|one|", "|$ cd /; true|", "$ printf 'no newline'|no newline|"):
        has(re.sub(r"\|+", "|", text), part)
    s.run("prompts", "for i in 1 2\ndo echo t$i; done")
    s.run("prompts", "echo hidden77; : " + "x" * 400)
    s.run("prompts", "printf '\\033[?1049h\\033[Hfull '; echo $((1+1))-screen")
    s.run("prompts", "printf '\\033[?1049l'; echo b''ack")
    v.shows("back\r\n")
    wanted = ["$ for i in 1 2 …", "$ echo <secret_hidden>; : x …",
              "$ printf '\\033[?1049h\\033[Hfull '; echo $((1+1))-screen"]
    same(prompts(v, 1), wanted, "none while a full-screen program has the screen")
    has(v.text((1,)), "\r\n\x1b[0;90m$ for i in 1 2 …\x1b[m\r\nt1\r\nt2\r\n")
    v.send({"since": 0, "picture": True})
    wait_for(lambda: any(k == 3 and not d for k, _, d in v.frames), "the end of older output")
    same(prompts(v, 3),
         ["$ echo o''ne", "$ cd /; true", "$ printf 'no newline'", *wanted], "older output")
    same(before["content"], "one\n")
    _, events = cast(s, "prompts")
    lacks(of(events, "o"), "$ ")
    for path in glob.glob(s.dir + "/state/*/spool/*"):
        # The shell's own small files come and go beside the output.
        try:
            with open(path, "rb") as f:
                lacks(f.read().decode(errors="replace"), "$ echo o''ne")
        except FileNotFoundError:
            pass
    v.close()


@row("commands that are not in the log are not above their output", slow=True)
def _(_):
    s = Server("unlogged", "--log-commands", "none")
    s.run("main", "echo o''ne")
    v = s.view("main")
    v.shows("one")
    s.run("main", "echo t''wo")
    v.shows("two\r\n")
    lacks(v.text(), "$")
    v.close()
    s.end()


@row("more output than can be drawn: what is shown is of now", slow=True)
def _(s):
    s.run("now", "true")
    v = s.view("now")
    wait_for(lambda: v.frames, "a picture")
    s.act("now", "run", wait=False, until="end", command="yes a line of output that has no end")
    v.says(lambda m: "gap" in m, "a part is skipped")
    id_ = s.sessions()["now"]["cause"]
    s.act("now", "cancel", id=id_)
    s.run("now", "echo the-$((1+1))-end")
    v.shows("the-2-end")
    v.close()


@row("a killed worker: who comes back with an offset gets every byte once", slow=True)
def _(_):
    s = Server("killed")
    s.run("k", "true")
    v = s.view("k")
    wait_for(lambda: v.frames, "a picture")
    s.act("k", "run", wait=False, command="for i in $(seq 300); do echo n$i; sleep 0.01; done; echo e''nd")
    v.shows("n20\r\n")
    os.kill(s.worker(), signal.SIGKILL)
    wait_for(lambda: v.code is not None, "the link breaks")
    text, links = v.text((1,)), 0
    while "end" not in text:
        links += 1
        holds(links < 50, "too many links")
        try:
            after = s.view("k", since=v.offset)
        except (OSError, websockets.WebSocketException, asyncio.TimeoutError):
            continue
        wait_for(lambda: "end" in after.text() or after.code is not None, "the rest")
        same([k for k, _, _ in after.frames if k == 2], [])
        text += after.text()
        v = after
    lines = [x for x in text.split("\r\n") if re.fullmatch(r"n\d+", x)]
    same(lines, [f"n{i}" for i in range(1, 301)])
    s.end()


@row("a killed worker: who had everything and comes back before more does gets only that", slow=True)
def _(_):
    s = Server("killed-still")
    s.run("k", "true")
    v = s.view("k")
    wait_for(lambda: v.frames, "a picture")
    go = f"{T}/go"
    s.act("k", "run", wait=False,
          command=f"echo be''fore; until [ -e {go} ]; do sleep 0.05; done; echo af''ter")
    v.shows("before\r\n")
    os.kill(s.worker(), signal.SIGKILL)
    wait_for(lambda: v.code is not None, "the link breaks")
    for _ in range(50):
        with contextlib.suppress(OSError, websockets.WebSocketException, asyncio.TimeoutError):
            after = s.view("k", since=v.offset)
            break
    after.says(lambda m: "hello" in m, "it is back")
    wait_for(lambda: s.sessions()["k"]["viewers"] == 1, "it watches")
    with open(go, "w", encoding="ascii"):
        pass
    after.shows("after\r\n")
    same([k for k, _, _ in after.frames if k == 2], [])
    s.end()


@row("UTF-8 in pieces, wide characters, colours, the alternate screen and a title")
def _(s):
    s.run("uni", "true")
    v = s.view("uni")
    wait_for(lambda: v.frames, "a picture")
    s.run("uni", "printf '\\344'; sleep 0.1; printf '\\270'; sleep 0.1; printf '\\226ok\\n'; "
          "printf '\\033[?1049h\\033[2;3H\\033[38;5;200m\\360\\237\\230\\200\\033]0;my ti''tle\\007'")
    v.shows("my title")
    has(v.text(), "世ok")
    late = s.view("uni")
    wait_for(lambda: late.frames, "a picture")
    for part in ("世ok", "\x1b[?1047h", "\x1b[38;5;200m😀", "\x1b]2;my title\x07"):
        has(late.text(), part)
    for _, _, data in v.frames:
        data.decode()
    v.close()
    late.close()


@row("bad input: no session, wrong first messages, wrong kinds, and too much")
def _(s):
    none = s.view("nowhere")
    same(none.said("error")["error"]["code"], "NOTFOUND")
    none.said("bye")
    none.ends(1000)
    for bad in ("nothing", b"\0x", "[]", "{"):
        v = s.view("bad", first=None)
        v.do(v.ws.send(bad))
        v.ends(1008)
    s.run("bad", "true")
    v = s.view("bad", since=-5)
    same(v.said("error")["error"]["code"], "INVALID")
    v.ends(1000)
    v = s.view("bad", since=10**15)
    wait_for(lambda: v.frames, "a picture, for an offset that is not there yet")
    for bad in ("nothing", "[]", "{}", '{"ack":-1}', '{"ack":9999999999}', '{"drive":7}',
                '{"since":"x"}', b"\1x", b""):
        v.send(bad)
    wait_for(lambda: sum("error" in m for m in v.messages) == 9, lambda: v.messages)
    v.send(b"\0" + bytes(70000))
    v.ends(1009)


@row("keys: none and a wrong one are refused; the first message may have it")
def _(s):
    for key in (None, "wrong"):
        if key:
            try:
                s.view("keyed", key=key)
                holds(False, "a wrong key opens a link")
            except websockets.InvalidStatusCode as e:
                holds(e.status_code in (401, 403), e)
        else:
            v = s.view("keyed", key=None, first=None)
            v.do(v.ws.send("{}"))
            v.ends(1008)
    v = s.view("keyed", key=None, api_key=KEY, drive=True)
    v.hello()
    v.close()


def asks(s, session, **args):
    """An action request_control, which goes on: its id."""
    return s.act(session, "request_control", wait=False, what="terminal", reason="captcha",
                 **args)["id"]


def observation(s, cause):
    """That of an action; None: not yet."""
    return next((e for e in json.loads(s.events(cause))["events"]
                 if e.get("cause") == cause and "observation" in e), None)


@row("request_control: who took it and gave it back, and how long; of another session nothing")
def _(s):
    ann = s.view("please", name="ann", drive=True)
    drives(ann, "ann")
    ann.send({"drive": False})
    ann.says(lambda m: m.get("driver", 1) is None, "nobody drives")
    other, mine = asks(s, "other"), asks(s, "please")
    bob = s.view("please", name="bob")
    bob.send({"drive": True})
    drives(ann, "bob")
    ann.send({"drive": "steal"})
    drives(bob, "ann")
    same(observation(s, mine), None)
    ann.send({"drive": False})
    wait_for(lambda: observation(s, mine), "it was given back")
    end = observation(s, mine)
    same([end["observation"], end["extras"]["by"], end["extras"]["end"], end["extras"]["what"]],
         ["request_control", "ann", "given", "terminal"])
    holds(end["extras"]["seconds"] > 0, end)
    has(end["content"], "ann had the terminal for ")
    same(observation(s, other), None)
    s.act("other", "cancel", id=other)
    wait_for(lambda: observation(s, other), "it was cancelled")
    same(observation(s, other)["extras"]["code"], "CANCELLED")
    ann.close()
    bob.close()


@row("request_control: nobody comes within its time, one who has it already, and too many")
def _(_):
    s = Server("several")
    end = s.act("nobody", "request_control", what="browser", reason="captcha", timeout=0.05)
    same(end["extras"], {"what": "browser", "end": "timeout"})
    ann = s.view("nobody", name="ann", drive=True)
    drives(ann, "ann")
    end = s.act("nobody", "request_control", what="terminal", reason="captcha", timeout=0.05)
    same([end["extras"]["end"], end["extras"]["by"]], ["timeout", "ann"])
    has(end["content"], "ann has had the terminal for ", "and has not given it back")
    mine = asks(s, "nobody")
    ann.send({"drive": False})
    wait_for(lambda: observation(s, mine), "it was given back")
    same(observation(s, mine)["extras"]["by"], "ann")
    ann.close()
    several = [asks(s, "several") for _ in range(16)]
    same(s.act("several", "request_control", what="browser", reason="more")["extras"]["code"],
         "LIMIT")
    for each in several:
        s.act("several", "cancel", id=each)
    s.end()


@row("request_control outlives a killed worker, before somebody takes it and after", slow=True)
def _(_):
    s = Server("asked")
    before = asks(s, "before")
    ann = s.view("after", name="ann", drive=True)
    drives(ann, "ann")
    after = asks(s, "after", timeout=3600)
    ann.send({"drive": False})
    wait_for(lambda: observation(s, after), "it was given back")
    after = asks(s, "after", timeout=3600)
    ann.send({"drive": True})
    wait_for(lambda: s.events().count('"how":"take"') == 2, "ann has it again")
    taken = time.monotonic()
    worker = s.worker()
    os.kill(worker, signal.SIGKILL)
    wait_for(lambda: ann.code is not None, "the link breaks")

    def again(session, name):
        """A link to the next worker, as the page opens one."""
        opened = []

        def connect():
            with contextlib.suppress(OSError, websockets.WebSocketException,
                                     asyncio.TimeoutError):
                opened.append(s.view(session, name=name, drive=True))
            return opened
        wait_for(connect, "a link to the next worker")
        drives(opened[0], name)
        return opened[0]

    for session, name, cause in (("after", "ann", after), ("before", "bob", before)):
        viewer = again(session, name)
        same(observation(s, cause), None)
        held = time.monotonic() - taken
        viewer.send({"drive": False})
        wait_for(lambda: observation(s, cause), "it was given back")  # noqa: B023
        same([observation(s, cause)["extras"][x] for x in ("by", "end")], [name, "given"])
        if cause == after:
            seconds = observation(s, after)["extras"]["seconds"]
            holds(seconds > held - 0.1, "the time before the kill counts", seconds, held)
    same(s.events().count('"observation":"request_control"'), 3)
    s.end()


# ---- recordings

def cast(s, session, query="", key=KEY, status=200):
    """The recording of a session: its header and its events."""
    ask = urllib.request.Request(f"http://127.0.0.1:{s.port}/sessions/{session}/cast{query}",
                                 headers={"X-Session-API-Key": key})
    try:
        with urllib.request.urlopen(ask, timeout=LIMIT) as answer:
            same(answer.headers["Content-Type"], "application/x-asciicast")
            text = answer.read().decode()
    except urllib.error.HTTPError as e:
        same((e.code, status), (status, status))
        return json.loads(e.read())["error"]
    same(status, 200)
    head, *events = map(json.loads, text.splitlines())
    return head, events


def of(events, code):
    return "".join(text for _, kind, text in events if kind == code)


def when(events, text):
    """The time of the first output with this text."""
    return next(at for at, kind, data in events if kind == "o" and text in data)


@row("a session as a recording: its commands, their output when it came, its sizes")
def _(s):
    gate = f"{T}/cast-gate"
    s.run("rec", "printf 'one\\ntwo'; echo\n true")
    seen = s.view("rec")
    slow = s.act("rec", "run", wait=False,
                 command=f"echo be''fore; until [ -e {gate} ]; do sleep 0.02; done; echo af''ter")
    seen.shows("before")
    began = time.monotonic()
    s.act("rec", "resize", rows=20, cols=61)
    wait_for(lambda: cast(s, "rec")[1][-1][1] == "r", "the new size")
    head, events = cast(s, "rec")
    same([e[1:] for e in events],
         [["m", "printf 'one\\ntwo'; echo"], ["o", "one\r\ntwo\r\n"],
          ["m", f"echo be''fore; until [ -e {gate} ]; do sleep 0.02; done; echo af''ter"],
          ["o", "before\r\n"], ["r", "61x20"]], "while the command runs")
    same((head["version"], head["width"], head["height"], head["title"]), (2, 200, 50, "rec"))
    took = time.monotonic() - began
    with open(gate, "w", encoding="ascii"):
        pass
    seen.shows("after\r\n")
    wait_for(lambda: s.sessions()["rec"]["state"] == "idle", "it is idle")
    _, events = cast(s, "rec")
    holds(when(events, "after") - when(events, "before") >= took - 0.05, took, events)
    same(sorted(events, key=lambda e: e[0]), events)
    third, parts = cast(s, "rec", "?v=3")
    same((third["version"], third["term"]["cols"]), (3, 200))
    holds(abs(sum(e[0] for e in parts) - events[-1][0]) < 0.001, parts, events)
    _, last = cast(s, "rec", f"?from={slow['id']}")
    same((last[0][0], [e[1:] for e in last]), (0, [e[1:] for e in events[2:]]))
    seen.close()


@row("a recording of a long log: each command is before its output")
def _(s):
    for n in range(4):
        s.run("long", f"echo o{n}")
        s.run("beside", ": " + "x" * 70000)
    wanted = [[["m", f"echo o{n}"], ["o", f"o{n}\r\n"]] for n in range(4)]
    same([e[1:] for e in cast(s, "long")[1]], sum(wanted, []))


@row("a recording that a slow reader takes: a command that ends meanwhile has its marker")
def _(s):
    gate = f"{T}/cast-gate3"
    command = f"echo be''fore; until [ -e {gate} ]; do sleep 0.02; done"
    s.run("late", "yes 0123456789abcde | head -c 16000000")
    s.run("beside", ": " + "x" * 70000)  # the next action is read later
    running = s.act("late", "run", wait=False, command=command, until="end")["id"]
    wait_for(lambda: cast(s, "late")[1][-1][2] == "before\r\n", "its output")
    with socket.create_connection(("127.0.0.1", s.port), LIMIT) as slow:
        slow.sendall(b"GET /sessions/late/cast HTTP/1.0\r\nX-Session-API-Key: " + KEY.encode()
                     + b"\r\n\r\n")
        parts = [slow.recv(1000)]
        with open(gate, "w", encoding="ascii"):
            pass
        wait_for(lambda: f'"cause":{running},' in s.events(running), "the end of the command")
        while part := slow.recv(1 << 20):
            parts.append(part)
    events = b"".join(parts).decode().split("\r\n\r\n", 1)[1].splitlines()
    same([json.loads(x)[1:] for x in events[-2:]], [["m", command], ["o", "before\r\n"]])


@row("a recording that cannot be: no such session, action or version; a bad number")
def _(s):
    s.run("rec2", "echo x")
    for session, query, status, code in (
            ("none", "", 404, "NOTFOUND"), ("rec2", "?from=99999", 404, "NOTFOUND"),
            ("rec2", "?v=4", 400, "INVALID"), ("rec2", "?v=99999999999", 400, "INVALID"),
            ("rec2", "?from=x", 400, "INVALID"), ("rec2", "?from=-1", 400, "INVALID"),
            ("a" * 90, "", 404, "NOTFOUND")):
        same(cast(s, session, query, status=status)["code"], code, query)
    with contextlib.suppress(urllib.error.HTTPError):
        urllib.request.urlopen(f"http://127.0.0.1:{s.port}/sessions/rec2/cast", timeout=LIMIT)
        holds(False, "without a key")


@row("od events --cast writes the same, and says what is wrong")
def _(s):
    s.run("rec3", "echo a")
    second = s.run("rec3", "echo b")["cause"]
    same(cast(s, "rec3")[1][-1][2], "b\r\n")

    def od(*words):
        got = subprocess.run([OD, "events", *words], env=s.env, capture_output=True, text=True,
                             timeout=LIMIT, check=False)
        return got.returncode, got.stdout, got.stderr
    status, out, said = od("--cast", "rec3")
    head, *events = map(json.loads, out.splitlines())
    same((status, said), (0, ""))
    same((head, events), cast(s, "rec3"))
    status, out, _ = od("--cast", "rec3", "--from", str(second))
    same([json.loads(x)[1:] for x in out.splitlines()[1:]], [["m", "echo b"], ["o", "b\r\n"]])
    for words, text in ((("--cast", "nine"), "there is no session nine"),
                        (("--cast", "rec3", "--from", "1000000"), "has no output in session rec3"),
                        (("--cast", "rec3", "--since", "1"), "--cast goes with --from"),
                        (("--from", "1"), "--from goes with --cast"),
                        (("--cast",), "a value is missing for --cast")):
        status, out, said = od(*words)
        same((status, out), (125, ""))
        has(said, text)
    played = subprocess.run([OD, "asciinema", "convert", "-f", "txt", "-", "-"], text=True,
                            input=od("--cast", "rec3")[1], capture_output=True, timeout=LIMIT,
                            check=True)
    same(played.stdout, "a\nb\n")


@row("a recording: secrets, also in pieces; bytes that are no text; the alternate screen")
def _(s):
    s.run("rec4", "printf pass; sleep 0.1; printf 'word99 x\\n'", secrets={"P": "password99"})
    s.run("rec4", "printf 'a\\377b\\303'; sleep 0.1; printf '\\251\\n'")
    s.run("rec4", "printf '\\033[?1049hin\\nside\\033[?1;1049lout\\nend\\r\\n'; echo password99")
    s.run("rec4", "printf passw")
    same(of(cast(s, "rec4")[1], "o"), "<secret_hidden> x\r\na\ufffdbé\r\n"
         "\x1b[?1049hin\nside\x1b[?1;1049lout\r\nend\r\n<secret_hidden>\r\npassw")
    lacks(of(cast(s, "rec4")[1], "m"), "password99")


@row("a recording of more than is kept: the gap says its bytes; a slow reader stops nothing")
def _(_):
    s = Server("kept")
    s.run("rec5", "echo first")
    s.run("rec5", "yes 0123456789abcde | head -c 70000000")
    with socket.create_connection(("127.0.0.1", s.port), LIMIT) as slow:
        slow.sendall(b"GET /sessions/rec5/cast HTTP/1.0\r\nX-Session-API-Key: " + KEY.encode()
                     + b"\r\n\r\n")
        got = slow.recv(1000)
        has(got.decode(), "200")
        same(s.run("rec5", "echo meanwhile")["content"], "meanwhile\n")
        with open(f"/proc/{s.worker()}/status", encoding="ascii") as f:
            peak = int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])
        holds(peak < 60000, peak)
        parts = [got]
        while part := slow.recv(1 << 20):
            parts.append(part)
    events = [json.loads(x) for x in b"".join(parts).decode().split("\r\n\r\n", 1)[1].splitlines()[1:]]
    gap = [text for _, kind, text in events if kind == "m" and "gone" in text]
    same(len(gap), 1)
    last = int(re.fullmatch(r"output is gone: bytes 0 to (\d+)", gap[0])[1])
    text = of(events, "o")
    holds(last > 2000000, gap)
    holds(len(text) > 60000000, len(text))
    holds(text.endswith("0123456789abcde\r\n"), text[-40:])
    s.end()


@row("a recording after the worker was killed: times stay; without their file, those of actions")
def _(_):
    s = Server("recorded")
    gate = f"{T}/cast-gate2"
    s.run("r", "echo zero")
    first = s.view("r")
    s.act("r", "run", wait=False,
          command=f"echo o''ne; until [ -e {gate} ]; do sleep 0.02; done; echo t''wo")
    first.shows("one")
    began = time.monotonic()
    os.kill(s.worker(), signal.SIGKILL)
    wait_for(lambda: first.code is not None, "the link breaks")

    def there():
        with contextlib.suppress(OSError, urllib.error.URLError):
            return s.sessions()["r"]["state"]
    wait_for(there, "the next worker")
    took = time.monotonic() - began
    with open(gate, "w", encoding="ascii"):
        pass
    wait_for(lambda: there() == "idle", "it is idle")
    _, events = cast(s, "r")
    same(of(events, "o"), "zero\r\none\r\ntwo\r\n")
    same([e[2][:8] for e in events if e[1] == "m"], ["echo zer", "echo o''"])
    holds(when(events, "two") - when(events, "one") >= took - 0.05, took, events)
    os.unlink(glob.glob(s.dir + "/state/*/spool/times-session-r")[0])
    os.kill(s.worker(), signal.SIGKILL)
    wait_for(lambda: there() == "idle", "the next worker")
    s.run("r", "echo three")
    _, old = cast(s, "r")
    same([e[1:] for e in old if e[1] == "m"][:2], [e[1:] for e in events if e[1] == "m"])
    same(of(old, "o"), "zero\r\none\r\ntwo\r\nthree\r\n")
    holds(when(old, "two") >= when(old, "one") > when(old, "zero") or old[0][0] == 0, old)
    s.end()


@row("a recording of an earlier session of that name has none of its commands")
def _(s):
    s.run("again", "echo old; echo older")
    subprocess.run([OD, "exec", "-s", "again", "--kill", "--end"], env=s.env, check=True,
                   timeout=LIMIT, capture_output=True)
    wait_for(lambda: "again" not in s.sessions(), "it is gone")
    same(cast(s, "again", status=404)["code"], "NOTFOUND")
    s.run("again", "echo new")
    same([e[1:] for e in cast(s, "again")[1]], [["m", "echo new"], ["o", "new\r\n"]])


@row("a pane of tmux is recorded, with the size that it had")
def _(s):
    tmux = [OD, "tmux", "-S", s.dir + "/s"]
    subprocess.run([*tmux, "new-session", "-d", "-x", "70", "-y", "12",
                    "printf 'from \\033[1ma pane\\033[m\\n'; exec cat"],
                   env=s.env, check=True, timeout=LIMIT)
    pane = subprocess.run([*tmux, "list-panes", "-F", "#{pane_id}"], env=s.env, check=True,
                          timeout=LIMIT, capture_output=True, text=True).stdout.strip()
    name = urllib.parse.quote(pane)
    wait_for(lambda: "pane" in of(cast(s, name)[1], "o"), "its output")
    head, events = cast(s, name)
    same((head["width"], head["height"], head["title"]), (70, 12, pane))
    same(of(events, "o"), "from \x1b[1ma pane\x1b[m\r\n")
    subprocess.run([*tmux, "resize-window", "-x", "60", "-y", "10"], env=s.env, check=True,
                   timeout=LIMIT)
    wait_for(lambda: of(cast(s, name)[1], "r") == "60x10", "the new size")
    lacks([e[1] for e in cast(s, name)[1]], "m")
    for keys, seen, times in ((("one line", "Enter", "second", "Enter"), "second", 2), (("C-l",), "^L", 1),
                              (("-l", "last"), "last", 1)):
        subprocess.run([*tmux, "send-keys", *keys], env=s.env, check=True, timeout=LIMIT)
        wait_for(lambda: of(cast(s, name)[1], "o").count(seen) == times, seen)
    _, events = cast(s, name)
    same([e[2] for e in events if e[1] == "m"], ["one line", "last"])
    order = [e[2] for e in events if e[1] in "mo"]
    holds(order.index("one line") < next(i for i, t in enumerate(order) if "second" in t), events)
    same(of(events[[e[2] for e in events].index("last"):], "o")[-4:], "last")
    same([e[0] for e in events], sorted(e[0] for e in events))
    subprocess.run([*tmux, "kill-server"], env=s.env, check=False, timeout=LIMIT)


server = Server("server")
tap = Tap()
wanted = [r for r in row if len(sys.argv) < 2 or re.search(sys.argv[1], r.name)]
run_rows(tap, [("terminal", r, fixture) for r in wanted])
server.end()
sys.exit(tap.done())
