# SPDX-License-Identifier: MIT
"""What a key, a login, a signature lets its holder do, when that ends, and what somebody who
has none of them cannot do. Each row judges by an effect: a file that is there or not, the
list of keys, a stream that ends.

    @row("what holds", listen=("v1@",), key=KEY, env={...}, words=(...))
"""
import base64
import contextlib
import hashlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile

import httpx

from served import Served
from tap import LIMIT, Rows, Tap, has, holds, run_rows, same, wait_for

T, OD = os.environ["T"], os.environ["OD"]
SOON = os.environ.get("OD_TEST_SLOW", "2")  # seconds that a login lasts, for what is to see its end
KEPT_OUT = re.compile("^(OD_|OH_|SESSION_API_KEY|EXECD_|SWEREX_)")
KEY = "the-key-of-the-start-0123456789"
HEADER = "X-Session-API-Key"
row = Rows()


class Box(Served):
    """A server with one listener of each name in listen ("" is the native set)."""

    def __init__(self, listen=("",), key=None, env=None, words=()):
        self.root = tempfile.mkdtemp(dir=T, prefix="box.")
        for name in ("run", "tmp", "work", "home"):
            os.mkdir(self.path(name), 0o700)
        self.log = open(self.path("log"), "a+b")
        kept = {name: value for name, value in os.environ.items() if not KEPT_OUT.match(name)}
        self.env = {**kept, "HOME": self.path("home"), "TMPDIR": self.path("tmp"),
                    "XDG_RUNTIME_DIR": self.path("run"), "OD_SOCKET": self.path("run/sock"),
                    "OD_STATE_DIR": self.path("run/state"), **(env or {})}
        if key:
            self.env["SESSION_API_KEY"] = key
        self.words, self.at = words, {}
        listeners = [word for name in listen for word in ("--listen", name + "127.0.0.1:0")]
        self.launch([OD, "serve", *listeners, *words], self.path("work"))
        self.http = httpx.Client(timeout=LIMIT)

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def ready(self, said):
        for name, port in re.findall(r"^listening (?:https?://)?(\w*@?)127\.0\.0\.1:(\d+)$", said,
                                     re.MULTILINE):
            self.at[name] = "http://127.0.0.1:" + port

    def manage(self, *words, check=True):
        return subprocess.run([OD, "serve", *words, "--socket", self.env["OD_SOCKET"]],
                              env=self.env, check=check, capture_output=True, timeout=LIMIT,
                              text=True).stdout.strip()

    def add(self, name, *words):
        return self.manage("--key-add", name, *words)

    def keys(self):
        return [each["name"] for each in json.loads(self.manage("--keys", "--json"))["keys"]]

    def there(self, name):
        return os.path.exists(self.path("work", name))

    def touch(self, listener, name, **fields):
        """Asks for a file by what this listener can do, and says whether it is there."""
        at = self.path("work", name)
        url = self.at[listener]
        if listener == "v1@":
            answer = self.http.post(url + "/api/bash/execute_bash_command", headers=fields,
                                    json={"command": f"touch {at}"})
        else:
            answer = self.http.post(url + "/files/mkdir", headers=fields, json={"path": at})
        return answer.status_code, self.there(name)


@contextlib.contextmanager
def box(each):
    wanted = {name: each.options[name] for name in ("listen", "key", "env", "words")
              if name in each.options}
    with Box(**wanted).alive() as one:
        yield one


def log_in(s, key):
    """The fields of a person's page."""
    answer = httpx.post(s.at[""] + "/ui/session", data={"key": key})
    same(answer.status_code, 303)
    cookie = "od_ui=" + answer.cookies["od_ui"]
    page = httpx.get(s.at[""] + "/ui/session", headers={"Cookie": cookie}).json()["page"]
    return {"Cookie": cookie, "X-OD-Page": page}


def may(s, login):
    return httpx.get(s.at[""] + "/ui/ports", headers=login).status_code


def app_of(s, login):
    """The address of the app at port 1, where there is none."""
    link = httpx.get(s.at[""] + "/proxy/1/", headers={"Cookie": login["Cookie"]}).headers["location"]
    app = f"{s.at['']}/proxy/{link.rpartition('../')[2].removeprefix('./')}"
    same(httpx.get(app).status_code, 502)
    return app


def watch(s, login):
    """A WebSocket of the page that got its first message."""
    wire = Wire(s.at[""], "/events?since=0", {**WS, "Cookie": login["Cookie"], "Origin": "http://localhost"})
    wire.say(json.dumps({"page": login["X-OD-Page"]}))
    same(wire.file.read(1), b"\x81")
    return wire


def logged_in(s, then):
    """A login, and then(login), which was done before the login's time was over."""
    for _ in range(20):
        with contextlib.suppress(AssertionError, KeyError, ValueError):
            login = log_in(s, KEY)
            return login, then(login)
    raise AssertionError("each login is over before it is used")


# --- the deferred init of V1

DEFERRED = {"OH_DEFERRED_INIT": "1"}
MINE = {"session_api_keys": ["the-key-of-a-stranger"], "env": {"MINE": "1"},
        "allow_cors_origins": ["http://evil.example"]}


def refused(answer):
    """A wrong key, or too many of them within a second."""
    holds(answer.status_code in (401, 403, 429), answer, answer.text)


def is_closed_to_strangers(s):
    """Nobody sets a key by POST /api/init, nor runs anything with it."""
    before = s.keys()
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "http://localhost:1"},
                    {"X-Init-API-Key": ""}, {"X-Init-API-Key": "x"}, {HEADER: "x"},
                    {"X-Init-API-Key": "the-key-of-a-stranger", HEADER: "the-key-of-a-stranger"}):
        answer = s.http.post(s.at["v1@"] + "/api/init", json=MINE, headers=headers)
        refused(answer)
        same(s.http.get(s.at["v1@"] + "/api/init").json()["state"], "dormant")
        same(s.keys(), before)
    same(s.touch("v1@", "stranger", **{HEADER: "the-key-of-a-stranger"})[1], False)


@row("deferred init: SESSION_API_KEY closes it to strangers", listen=("v1@",), key=KEY, env=DEFERRED)
def _(s):
    is_closed_to_strangers(s)
    answer = s.http.post(s.at["v1@"] + "/api/init", json={}, headers={HEADER: KEY})
    same((answer.status_code, answer.json()["state"]), (200, "ready"))
    same(s.touch("v1@", "mine", **{HEADER: KEY}), (200, True))


@row("deferred init: so does --api-key-file", listen=("v1@",), env=DEFERRED,
     words=("--api-key-file", T + "/key-file"))
def _(s):
    is_closed_to_strangers(s)
    same(s.http.post(s.at["v1@"] + "/api/init", json=MINE, headers={HEADER: KEY}).status_code, 200)
    holds("v1" in s.keys(), s.keys())


@row("deferred init: so does a key that was added", listen=("v1@",), env=DEFERRED)
def _(s):
    added, seen = s.add("later"), s.add("watcher", "--view")
    is_closed_to_strangers(s)
    answer = s.http.post(s.at["v1@"] + "/api/init", json=MINE, headers={HEADER: seen})
    refused(answer)
    same(s.keys(), ["later", "watcher"])
    same(s.http.post(s.at["v1@"] + "/api/init", json=MINE, headers={HEADER: added}).status_code, 200)


@row("deferred init: so does a key of another listener", listen=("", "v1@"), env=DEFERRED)
def _(s):
    other = s.add("other", "--listener", s.at[""].removeprefix("http://"))
    is_closed_to_strangers(s)
    answer = s.http.post(s.at["v1@"] + "/api/init", json=MINE, headers={HEADER: other})
    refused(answer)
    same(s.keys(), ["other"])


@row("deferred init: a secret closes it, and the secret opens it", listen=("v1@",), key=KEY,
     env={**DEFERRED, "OH_SECRET_KEY": "the-secret"})
def _(s):
    is_closed_to_strangers(s)
    secret = {"X-Init-API-Key": "the-secret"}
    answer = s.http.post(s.at["v1@"] + "/api/init", json=MINE,
                         headers={**secret, "Origin": "http://evil.example"})
    same((answer.status_code, s.keys()), (403, ["start"]))
    same(s.http.post(s.at["v1@"] + "/api/init", json=MINE, headers=secret).status_code, 200)
    same(s.touch("v1@", "theirs", **{HEADER: "the-key-of-a-stranger"}), (200, True))


@row("deferred init: without a key, it is for programs of this machine, not for pages",
     listen=("v1@",), env=DEFERRED)
def _(s):
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "http://localhost:1"},
                    {"Host": "evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = s.http.post(s.at["v1@"] + "/api/init", json=MINE, headers=headers)
        same((answer.status_code, s.keys()), (403, []), headers)
    same(s.http.post(s.at["v1@"] + "/api/init", json=MINE).status_code, 200)
    same(s.keys(), ["v1"])


@row("deferred init: nor for other machines", listen=("v1@",), env=DEFERRED,
     words=("--listen", "v1@0.0.0.0:0", "--insecure-open"))
def _(s):
    port = next(each for each in json.loads(s.manage("--status", "--json"))["servers"][0]["addresses"]
                if "0.0.0.0" in each).rpartition(":")[2]
    found = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout
    outside = [one for one in found.split() if "." in one and not one.startswith("127.")]
    holds(outside, found)
    answer = s.http.post(f"http://{outside[0]}:{port}/api/init", json=MINE)
    refused(answer)
    same(s.keys(), [])


# --- the end of a key

WS = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}


class Wire:
    """One connection, by hand: a request, and whether it has ended."""

    def __init__(self, url, path, headers=(), body=b"", method="GET"):
        host, _, port = url.removeprefix("http://").rpartition(":")
        self.socket = socket.create_connection((host, int(port)), LIMIT)
        self.file = self.socket.makefile("rb")
        fields = {"Host": "localhost", **dict(headers)}
        if body:
            fields["Content-Length"] = str(len(body))
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items())
        self.socket.sendall(head.encode() + b"\r\n" + body)
        self.status = int((self.file.readline().split() or [0, 0])[1])
        while self.file.readline() not in (b"\r\n", b""):
            pass

    def say(self, text):
        data, mask = text.encode(), b"\0\0\0\0"
        self.socket.sendall(bytes([0x81, 0x80 | len(data)]) + mask + data)

    def ends(self):
        """Reads until the end, which has to come."""
        with contextlib.suppress(ConnectionError):
            while self.file.read1(65536):
                pass
        self.socket.close()
        return True

    def lives(self):
        return not select.select([self.socket], [], [], 0)[0] or bool(self.socket.recv(1, socket.MSG_PEEK))


def opened(s, head):
    """Three WebSockets and a stream."""
    wires = [Wire(s.at[""], "/events?since=0", {**WS, **head}),
             Wire(s.at[""], "/terminal/one", {**WS, **head, "Sec-WebSocket-Protocol": "od.terminal.v1"}),
             Wire(s.at[""], "/screen/one", {**WS, **head, "Sec-WebSocket-Protocol": "od.screen.v1"}),
             Wire(s.at[""], "/events?since=0", {**head, "Accept": "text/event-stream"})]
    same([w.status for w in wires], [101, 101, 101, 200])
    return wires


@row("a removed key: its WebSockets and streams end, others' do not", key=KEY)
def _(s):
    mine, other = s.add("mine"), s.add("other")

    def by(key):
        first = Wire(s.at[""], "/events?since=0", WS)
        first.say(json.dumps({"api_key": key}))
        same(first.status, 101)
        return [*opened(s, {HEADER: key}), first]

    ended, living = by(mine), by(other)
    first = living[-1]
    for wire in (first, ended[-1]):  # the key in the message counted: no close
        holds(wire.file.read(1) in (b"\x81", b"\x89"))
    s.manage("--key-remove", "mine")
    for wire in ended:
        holds(wire.ends())
    same(s.touch("", "mine", **{HEADER: mine})[1], False)
    for wire in living:
        holds(wire.lives())
    same(s.touch("", "other", **{HEADER: other}), (200, True))


@row("a removed key: a request that it began ends, and one that waits", key=KEY)
def _(s):
    mine = s.add("mine")
    body = json.dumps({"action": "run", "args": {"command": "cat"}}).encode()
    waits = socket.create_connection(("127.0.0.1", int(s.at[""].rpartition(":")[2])), LIMIT)
    waits.sendall(b"POST /events?wait=600 HTTP/1.1\r\nHost: localhost\r\nX-Session-API-Key: %s\r\n"
                  b"Content-Length: %d\r\n\r\n%s" % (mine.encode(), len(body), body))
    wait_for(lambda: '"command":"cat"' in s.http.get(
        s.at[""] + "/events?since=0", headers={HEADER: KEY}).text, "it runs")
    s.manage("--key-remove", "mine")
    same(waits.recv(1000), b"")


@row("a removed key: a signed address of E2B", listen=("e2b@",), words=("--e2b-token", "the-token"))
def _(s):
    path = s.path("work", "signed")
    with open(path, "w", encoding="ascii") as file:
        file.write("what it has")
    plain = hashlib.sha256(f"{path}:read::the-token".encode()).digest()
    signature = "v1_" + base64.b64encode(plain).decode().rstrip("=")
    url, query = s.at["e2b@"] + "/files", {"path": path, "signature": signature}
    same(s.http.get(url, params=query).text, "what it has")
    s.add("another", "--listener", "e2b@")
    s.manage("--key-remove", "e2b")
    answer = s.http.get(url, params=query)
    same((answer.status_code, "what it has" in answer.text), (401, False))
    answer = s.http.post(s.at["e2b@"] + "/init", json={"accessToken": "the-token", "envVars": {"A": "1"}})
    refused(answer)


@row("a removed key: logins of it, the tokens of apps, and the sockets of its page", key=KEY,
     words=("--ui",))
def _(s):
    people = s.add("people")
    theirs, mine = log_in(s, people), log_in(s, KEY)
    app = app_of(s, theirs)
    wire = watch(s, theirs)
    same((may(s, theirs), may(s, mine)), (200, 200))
    s.manage("--key-remove", "people")
    holds(wire.ends())
    same((may(s, theirs), may(s, mine)), (401, 200))
    same(httpx.get(app).status_code, 403)
    both = {"Cookie": "od_ui=" + 64 * "0" + "; " + mine["Cookie"] + "; od_ui=x", "X-OD-Page": mine["X-OD-Page"]}
    same(may(s, both), 200, "each of several cookies is tried")
    out = watch(s, mine)
    same(httpx.delete(s.at[""] + "/ui/session", headers=mine).status_code, 204)
    holds(out.ends(), "a login's sockets end with it")
    same(may(s, mine), 401)


@row("the file viewer is no app: it judges by the user at the other end", listen=("preview@", "viewer@"),
     key=KEY)
def _(s):
    port = s.at["viewer@"].rpartition(":")[2]
    answer = s.http.get(f"{s.at['preview@']}/{port}/view?path=/etc/passwd", headers={HEADER: KEY})
    same((answer.status_code, "itself listens" in answer.text), (403, True))


@row("the first key, also one that may only view: what was opened without one ends")
def _(s):
    wires = opened(s, {})
    wires[0].say(json.dumps({"action": "run", "args": {"command": "mkdir before"}}))
    wait_for(lambda: s.there("before"), "it may do everything")
    for wire in wires:
        wire.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):  # all that came so far
            while wire.socket.recv(65536):
                pass
        wire.socket.settimeout(LIMIT)
        holds(wire.lives())
    s.add("first", "--view")
    for wire in wires:
        holds(wire.ends())
    same(s.touch("", "after")[1], False)


@row("the first key of /init of E2B: it is answered, and a stream that was open ends", listen=("e2b@",))
def _(s):
    start = json.dumps({"process": {"cmd": "cat"}}).encode()
    stream = Wire(s.at["e2b@"], "/process.Process/Start", {"Content-Type": "application/connect+json"},
                  b"\0" + len(start).to_bytes(4, "big") + start, "POST")
    same(stream.status, 200)
    answer = s.http.post(s.at["e2b@"] + "/init", json={"accessToken": "the-token"})
    same(answer.status_code, 204)
    holds(stream.ends())


@row("listeners that ask for no key keep what they opened", listen=("", "sandbox@"), words=("--sandbox-open",))
def _(s):
    fifo = s.path("work", "fifo")
    body = json.dumps({"command": f"sh -c 'cat {fifo}; echo it-ended'"}).encode()
    os.mkfifo(fifo)
    waits = socket.create_connection(("127.0.0.1", int(s.at["sandbox@"].rpartition(":")[2])), LIMIT)
    waits.sendall(b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    with open(fifo, "w", encoding="ascii"):  # when cat reads
        s.add("first")
    with waits.makefile("rb") as answer:
        text = ""
        while "it-ended" not in text:  # the head may come before it
            part = answer.read1(65536).decode()
            holds(part, text)
            text += part
        has(text, "200")


@row("guesses beside a view key or a login that may view are limited; the right key never is", key=KEY,
     words=("--ui",))
def _(s):
    view = s.add("view", "--view")
    target, word = s.at[""] + "/files/content?path=secret", "only-in-the-file"
    with open(s.path("work", "secret"), "w", encoding="ascii") as file:
        file.write(word)
    for fields in ({HEADER: view, "Authorization": "Bearer %s"}, {HEADER: "%s", "Authorization": "Bearer " + view},
                   {**log_in(s, view), "Authorization": "Bearer %s"}):
        def ask(key, fields=fields):
            return s.http.get(target, headers={n: v.replace("%s", key) for n, v in fields.items()})
        statuses = [ask(f"guess-{i}").status_code for i in range(40)]
        holds(statuses.count(429) > 20 and 200 not in statuses, statuses)
        same(ask(KEY).text, word)


@row("a view key takes at most half of the places of /screen and of watches", key=KEY)
def _(s):
    view, wires = s.add("view", "--view"), []
    for path, fields, most in (("/screen/one", {**WS, "Sec-WebSocket-Protocol": "od.screen.v1"}, 64),
                               ("/files/watch?path=.", {}, 32)):
        wires = [Wire(s.at[""], path, {**fields, HEADER: view}) for _ in range(most)]
        taken = [w.status in (101, 200) for w in wires].count(True)
        same(taken, most // 2, path)
        holds(Wire(s.at[""], path, {**fields, HEADER: KEY}).status in (101, 200), path)
        for wire in wires:
            wire.socket.close()


@row("a key does not end another one's login", key=KEY, words=("--ui",))
def _(s):
    mine, view = log_in(s, KEY), s.add("view", "--view")
    for key in (view, KEY):
        httpx.delete(s.at[""] + "/ui/session", headers={HEADER: key, "Cookie": mine["Cookie"]})
        same(may(s, mine), 200)
    httpx.delete(s.at[""] + "/ui/session", headers=mine)
    same(may(s, mine), 401)


@row("a login's time is over: its cookie, page, app and WebSockets, also after the worker was killed",
     key=KEY, words=("--ui", "--login-time", SOON))
def _(s):
    def killed(login):
        worker = json.loads(s.manage("--status", "--json"))["servers"][0]["worker"]
        os.kill(worker, signal.SIGKILL)
        return login

    mine, (wire, app) = logged_in(s, lambda login: (watch(s, login), app_of(s, login)))
    holds(wire.ends())
    same((may(s, mine), httpx.get(app).status_code), (401, 403))
    mine, wire = logged_in(s, lambda login: killed(login) and watch(s, login))
    holds(wire.ends())
    same(may(s, mine), 401)


@row("a login that makes room for others ends with its WebSockets", key=KEY, words=("--ui",))
def _(s):
    first = log_in(s, KEY)
    wire = watch(s, first)
    for _ in range(64):  # LOGINS_MAX
        last = log_in(s, KEY)
    holds(wire.ends())
    same((may(s, first), may(s, last)), (401, 200))


@row("a removed key: sessions of MCP", key=KEY)
def _(s):
    mine = s.add("mine")
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}
    accept = {"Accept": "application/json, text/event-stream"}

    def begin(key):
        answer = s.http.post(s.at[""] + "/mcp", json=hello, headers={HEADER: key, **accept})
        return {HEADER: key, "Mcp-Session-Id": answer.headers["mcp-session-id"], **accept}

    def asks(session):
        return s.http.post(s.at[""] + "/mcp", headers=session, json={"jsonrpc": "2.0", "id": 2, "method": "ping"}).status_code

    first, second = begin(mine), begin(KEY)
    same((asks(first), asks(second)), (200, 200))
    same(asks({**first, HEADER: KEY}), 404, "the session of another key")
    stream = Wire(s.at[""], "/mcp", {**first, "Accept": "text/event-stream"})
    s.manage("--key-remove", "mine")
    holds(stream.ends())
    same(asks({**first, HEADER: s.add("mine")}), 404, "nor with a new key of that name")
    same(asks(second), 200)


# --- what is refused everywhere


@row("a key field that is there twice is refused at every listener",
     listen=("", "v1@", "e2b@", "interpreter@", "swerex@", "execd@", "sandbox@", "preview@"), key=KEY)
def _(s):
    fields = {"": ("/metrics", HEADER), "v1@": ("/api/tools/", HEADER), "e2b@": ("/envs", "X-Access-Token"),
              "interpreter@": ("/contexts", "E2B-Traffic-Access-Token"), "swerex@": ("/is_alive", "X-API-Key"),
              "execd@": ("/metrics", "X-EXECD-ACCESS-TOKEN"), "sandbox@": ("/v1/sandbox", HEADER),
              "preview@": ("/", HEADER)}
    for at, (path, field) in fields.items():
        same(s.http.get(s.at[at] + path, headers={field: KEY}).status_code in (200, 404), True, at)
        for values in ((KEY, KEY), (KEY, "bad"), ("bad", KEY)):
            answer = s.http.get(s.at[at] + path, headers=[(field, v) for v in values])
            same(answer.status_code, 400, at)


@row("64 keys: /init of E2B says that there can be no more, and sets nothing", listen=("e2b@", "v1@"))
def _(s):
    def init(token):
        return s.http.post(s.at["e2b@"] + "/init", json={"accessToken": token})

    s.add("first", "--listener", "v1@")
    refused(init("of-a-stranger"))  # a server that has a key has no open door
    same(s.keys(), ["first"])
    use = s.add("use", "--listener", "e2b@")
    for i in range(62):
        s.add(f"more-{i}", "--listener", "v1@")
    answer = s.http.post(s.at["e2b@"] + "/init", json={"accessToken": "late"}, headers={"X-Access-Token": use})
    holds(answer.status_code in (400, 409, 429, 503, 507), answer, answer.text)
    has(answer.text, "64 keys")
    same(s.http.get(s.at["e2b@"] + "/envs", headers={"X-Access-Token": "late"}).status_code in (401, 429), True)


@row("contexts of the interpreter without a key: the sandbox's user, and no page",
     listen=("interpreter@",), key=KEY)
def _(s):
    url = s.at["interpreter@"] + "/contexts"
    same(s.http.get(url).status_code, 200)
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        refused(s.http.get(url, headers=headers))
    if os.getuid() == 0:
        code = f"import urllib.request as u; print(u.urlopen({url!r}).status)"
        found = subprocess.run(["/usr/bin/python3", "-c", code], user=4711, group=4711, extra_groups=[],
                               capture_output=True, text=True, timeout=LIMIT, check=False)
        has(found.stderr, "401")


# --- strangers


@row("a WebSocket whose subprotocol the listener does not have", listen=("", "v1@", "execd@"), key=KEY)
def _(s):
    worker = json.loads(s.manage("--status", "--json"))["servers"][0]["worker"]
    for at, path in (("v1@", "/sockets/bash-events"), ("execd@", "/pty/x/ws"), ("", "/events")):
        for head in ({}, {HEADER: KEY, "X-EXECD-ACCESS-TOKEN": KEY}):
            wire = Wire(s.at[at], path, {**WS, **head, "Sec-WebSocket-Protocol": "of.nobody, x"})
            holds(wire.status in (101, 401, 404), at, wire.status)
    same(json.loads(s.manage("--status", "--json"))["servers"][0]["worker"], worker, "it did not die")


@row("strangers have places of their own, for each address; pages of others have none", key=KEY)
def _(s):
    protocols = {"/events": "od.events.v1", "/terminal/one": "od.terminal.v1", "/screen/one": "od.screen.v1"}
    held = []
    for path, protocol in protocols.items():
        head = {**WS, "Sec-WebSocket-Protocol": protocol}
        same(Wire(s.at[""], path, {**head, "Origin": "http://evil.example"}).status, 403)
        while (wire := Wire(s.at[""], path, head)).status == 101:
            held.append(wire)
        same(wire.status, 503)
        same(Wire(s.at[""], path, {**head, HEADER: KEY}).status, 101)
    same(len(held), 16)


@row("a server without a key: a person's link logs in, and the page has its sockets", words=("--ui",))
def _(s):
    link = json.loads(s.manage("--status", "--json"))["servers"][0]["page"]["links"][0]
    once = link.rpartition("once=")[2]
    mine = {"Origin": s.at[""]}
    host = {"Host": s.at[""].removeprefix("http://")}
    same(httpx.post(s.at[""] + "/ui/session", data={"once": "x" * 64}).status_code, 401)
    answer = httpx.post(s.at[""] + "/ui/session", data={"once": once}, headers=mine)
    same(answer.status_code, 204)
    same(httpx.post(s.at[""] + "/ui/session", data={"once": once}, headers=mine).status_code, 401)
    cookie = {"Cookie": "od_ui=" + answer.cookies["od_ui"]}
    page = httpx.get(s.at[""] + "/ui/session", headers=cookie).json()["page"]
    file = re.search(r"file/app\.\w+\.js", httpx.get(s.at[""] + "/ui/", headers=cookie).text)[0]
    for more, status in ((mine, 200), ({"Origin": "http://evil.example"}, 403)):  # as modules are asked for
        same(httpx.get(f"{s.at['']}/ui/{file}", headers={**cookie, **more}).status_code, status)
    for path, protocol in (("/events?since=0", "od.events.v1"), ("/terminal/x", "od.terminal.v1"), ("/screen/x", "od.screen.v1")):
        head = {**WS, **host, "Sec-WebSocket-Protocol": protocol}
        same(Wire(s.at[""], path, {**head, **mine}).status, 403, "a page without a login")
        same(Wire(s.at[""], path, {**head, **cookie, "Origin": "http://evil.example"}).status, 403)
        wire = Wire(s.at[""], path, {**head, **cookie, **mine})
        same(wire.status, 101)
        wire.say(json.dumps({"page": page, "drive": True}))
        holds(wire.file.read(1) in (b"\x81", b"\x89"))


@row("SECURITY.md lists what a key with the right to view may ask for, as --routes does")
def _(s):
    with open(os.path.join(os.environ["ROOT"], "SECURITY.md"), encoding="utf-8") as file:
        text = file.read().partition("A key that may view is enough for:")[2].partition("\n\n")[0]
    routes = json.loads(subprocess.run([OD, "serve", "--routes"], check=True, capture_output=True).stdout)
    wanted = {(r["listener"], r["path"]) for r in routes if r["right"] == "view"}
    found, at = set(), ""
    for word in re.findall(r"`([^`]+)`", text):
        if word.endswith("@") or word == "http":
            at = word.rstrip("@")
        elif word[0] == "/":
            found.add((at, word))
    same(sorted(found), sorted(wanted))


@row("a key that may view neither logs others out nor takes their places", key=KEY, words=("--ui",))
def _(s):
    view = s.add("view", "--view")
    mine = httpx.post(s.at[""] + "/ui/session", data={"key": KEY}).cookies["od_ui"]
    for _ in range(80):
        same(httpx.post(s.at[""] + "/ui/session", headers={HEADER: view}).status_code, 204)
    same(httpx.get(s.at[""] + "/ui/session", headers={"Cookie": "od_ui=" + mine}).json()["may"], "drive")
    head = {**WS, "Sec-WebSocket-Protocol": "od.terminal.v1"}
    held = []
    while (wire := Wire(s.at[""], "/terminal/one", {**head, HEADER: view})).status == 101:
        held.append(wire)
    same(Wire(s.at[""], "/terminal/one", {**head, HEADER: KEY}).status, 101)


# --- browsers at Jupyter's listeners


TOKEN = "the-token-of-jupyter-0123456789"


class Browser:
    """Cookies as a browser has them, at one jupyter@ listener."""

    def __init__(self, s, at="jupyter@", base=""):
        self.url, self.base, self.http = s.at[at], base, httpx.Client(timeout=LIMIT, follow_redirects=False)

    def ask(self, method, path, **more):
        return self.http.request(method, self.url + self.base + path, **more)

    def log_in(self, token=TOKEN, **more):
        self.ask("GET", "/login")
        return self.ask("POST", "/login", data={"_xsrf": self.http.cookies["_xsrf"], "password": token, **more})

    def hold(self, cookies):
        self.http.cookies = httpx.Cookies(cookies)

    def xsrf(self):
        return {"X-XSRFToken": self.http.cookies["_xsrf"]}

    def makes(self, headers=None, query=""):
        """Tries to make a folder: the status, and how many are there."""
        status = self.ask("POST", "/api/contents" + query, json={"type": "directory"}, headers=headers or {}).status_code
        return status, len(httpx.get(self.url + self.base + "/api/contents", headers={"Authorization": "token " + TOKEN},
                                     timeout=LIMIT).json()["content"])

    def socket(self, kernel, **more):
        cookie = "; ".join(f"{name}={value}" for name, value in self.http.cookies.items())
        head = {**WS, "Host": self.url.removeprefix("http://"), "Cookie": cookie, **more}
        return Wire(self.url, f"{self.base}/api/kernels/{kernel}/channels", head)


JUPYTER = {"listen": ("jupyter@", ""), "words": ("--jupyter-token", TOKEN, "--ui")}


@row("jupyter: nothing without a token; people are sent to the form", **JUPYTER)
def _(s):
    b = Browser(s)
    for path in ("/", "/lab", "/lab/tree/x", "/api/kernels", "/api/contents", "/files/x", "/lab/api/settings", "/lab/static/main.js",
                 "/logout", "/api/terminals"):
        same(b.ask("GET", path).status_code, 403, path)
        answer = b.ask("GET", path, headers={"Accept": "text/html"})
        same((answer.status_code, answer.headers["location"]), (302, "/login?next=" + path), path)
    same(b.makes(), (403, 0))
    same(b.http.cookies.get("od_jupyter"), None)
    same(b.ask("GET", "/login").status_code, 200)
    same(set(b.http.cookies), {"_xsrf"})
    same(b.makes(b.xsrf()), (403, 0), "the cookie of the form is no proof")
    for name in ("od_jupyter", "od_ui", "username-127-0-0-1"):
        b.http.cookies.set(name, "x" * 64)
        same(b.ask("GET", "/api/kernels").status_code, 403)
    for token in ("", "wrong", TOKEN[:-1], KEY):
        answer = b.log_in(token)
        holds(answer.status_code in (401, 429), answer)
        same("od_jupyter" in (answer.headers.get("set-cookie") or ""), False)


@row("jupyter: the form, the cookie, and _xsrf for what changes something", **JUPYTER)
def _(s):
    b = Browser(s)
    answer = b.log_in()
    same((answer.status_code, answer.headers["location"]), (302, "/"))
    cookies = answer.headers.get_list("set-cookie")
    has(next(c for c in cookies if c.startswith("od_jupyter=")), "HttpOnly", "SameSite=Strict")
    same("HttpOnly" in next(c for c in cookies if c.startswith("_xsrf=")), False, "scripts read it")
    same(b.ask("GET", "/api/kernels").json(), [])
    token = b.http.cookies["_xsrf"]
    same(b.makes(), (403, 0))
    for wrong in ("", "x", "0" * 64, b.http.cookies["od_jupyter"]):
        same(b.makes({"X-XSRFToken": wrong}), (403, 0), wrong)
        same(b.makes(None, "?_xsrf=" + wrong), (403, 0), wrong)
    same(b.makes(b.xsrf()), (201, 1))
    same(b.makes(None, "?_xsrf=" + token), (201, 2))
    for more in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"}, {"Origin": b.url, "Sec-Fetch-Site": "cross-site"},
                 {"Sec-Fetch-Site": "same-site"}):
        same(b.makes({**b.xsrf(), **more}), (403, 2), more)
        same(b.ask("GET", "/api/kernels", headers=more).status_code, 403, more)
    same(b.makes({**b.xsrf(), "Origin": b.url, "Sec-Fetch-Site": "same-origin"}), (201, 3))
    same(b.ask("POST", "/api/contents", json={}, headers=[("X-XSRFToken", token), ("X-XSRFToken", token)]).status_code, 400)
    other = Browser(s)
    other.log_in()
    same(b.makes(other.xsrf()), (403, 3), "that of another login")


@row("jupyter: a login form of another page, and where a login leads", **JUPYTER)
def _(s):
    b = Browser(s)
    for more in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        b.ask("GET", "/login")
        answer = b.ask("POST", "/login", data={"_xsrf": b.http.cookies["_xsrf"], "password": TOKEN}, headers=more)
        same((answer.status_code, "od_jupyter" in b.http.cookies), (403, False))
    for data in ({"password": TOKEN}, {"password": TOKEN, "_xsrf": "0" * 64}, {"password": TOKEN, "_xsrf": ""}):
        same((b.ask("POST", "/login", data=data).status_code, "od_jupyter" in b.http.cookies), (403, False), data)
    for wanted, led in (("/lab/tree/a%2520b", "/lab/tree/a%20b"), ("//evil.example/", "/"), ("https://evil.example/", "/"), ("%2F%2Fevil.example", "/"),
                        ("/%5Cevil.example", "/"), ("/a%0d%0aX: y", "/"), ("", "/")):
        b.ask("GET", "/login")
        answer = b.ask("POST", "/login?next=" + wanted, data={"_xsrf": b.http.cookies["_xsrf"], "password": TOKEN})
        same((answer.status_code, answer.headers["location"]), (302, led), wanted)


@row("jupyter: the token in a page's address sets the cookie; in that of the API it does not", **JUPYTER)
def _(s):
    b = Browser(s)
    same((b.ask("GET", "/?token=wrong").status_code, dict(b.http.cookies)), (403, {}))
    same((b.ask("GET", "/api/kernels?token=" + TOKEN).status_code, dict(b.http.cookies)), (200, {}))
    same(b.ask("GET", "/login?token=" + TOKEN).headers["location"], "/?token=" + TOKEN)
    same(dict(b.http.cookies), {})
    b.ask("GET", "/?token=" + TOKEN)
    same(set(b.http.cookies), {"od_jupyter", "_xsrf"})
    same(b.makes(b.xsrf()), (201, 1))
    held = b.http.cookies["_xsrf"]
    b.http.cookies.set("_xsrf", "of-another-server", domain="127.0.0.1")
    b.ask("GET", "/")
    same(held in [c.value for c in b.http.cookies.jar], True, "a page sets it again")


@row("jupyter: a base URL", listen=("jupyter@",), words=("--jupyter-token", TOKEN, "--jupyter-base-url", "/user/me/"))
def _(s):
    b = Browser(s, base="/user/me")
    same(b.ask("GET", "/lab", headers={"Accept": "text/html"}).headers["location"], "/user/me/login?next=/user/me/lab")
    b.ask("GET", "/login")
    answer = b.ask("POST", "/login?next=/user/me/lab", data={"_xsrf": b.http.cookies["_xsrf"], "password": TOKEN})
    same((answer.status_code, answer.headers["location"]), (302, "/user/me/lab"))
    same(b.makes(b.xsrf()), (201, 1))


@row("jupyter: WebSockets by the cookie, from our own page only; they end with the login", **JUPYTER)
def _(s):
    b, away = Browser(s), Browser(s)
    b.log_in()
    kernel = b.ask("POST", "/api/kernels", json={"name": "od-python3"}, headers=b.xsrf()).json()["id"]
    same(away.socket(kernel, Origin=b.url).status, 403)
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
        same(b.socket(kernel, Origin=origin).status, 403, origin)
    wire = b.socket(kernel, Origin=b.url)
    same(wire.status, 101)
    same(b.ask("GET", "/logout").headers["location"], "/login")
    holds(wire.ends())
    same(b.socket(kernel, Origin=b.url).status, 403)


@row("jupyter: an ended login: by logout, by its key, by its time", listen=("jupyter@", ""), key=KEY,
     words=("--jupyter-token", TOKEN, "--login-time", SOON))
def _(s):
    b = Browser(s)
    b.log_in()
    held = dict(b.http.cookies)
    b.ask("GET", "/logout")
    b.hold(held)
    same((b.ask("GET", "/api/kernels").status_code, b.makes(b.xsrf())), (403, (403, 0)), "logged out")
    for key in (s.add("mine"), TOKEN):
        late = Browser(s)
        same(late.log_in(key).status_code, 302)
        held = dict(late.http.cookies)
        late.hold(held)  # a browser would drop them in time
        if key == TOKEN:
            wait_for(lambda late=late: late.ask("GET", "/api/kernels").status_code == 403, "its time is over")
        else:
            s.manage("--key-remove", "mine")
        same((late.ask("GET", "/api/kernels").status_code, late.makes({"X-XSRFToken": held["_xsrf"]})), (403, (403, 0)))


@row("jupyter: another listener's cookie does not count, nor does ours there",
     listen=("jupyter@", "", "preview@"), key=KEY, words=("--ui", "--jupyter-token", TOKEN, "--listen", "jupyter@localhost:0"))
def _(s):
    b = Browser(s)
    b.log_in()
    ours, page = b.http.cookies["od_jupyter"], b.http.cookies["_xsrf"]
    ui = log_in(s, KEY)
    preview = httpx.post(s.at["preview@"] + "/login", data={"key": KEY}).cookies["od_preview"]
    addresses = json.loads(s.manage("--status", "--json"))["servers"][0]["addresses"]
    second = next(a for a in addresses if "jupyter@" in a and b.url.removeprefix("http://") not in a)
    second = "http://127.0.0.1:" + second.rpartition(":")[2]
    for url, cookie in ((b.url, ui["Cookie"].partition("=")[2]), (b.url, preview), (second, ours)):
        token = hashlib.sha256(b"od page " + cookie.encode()).hexdigest()
        fields = {"Cookie": f"od_jupyter={cookie}; od_ui={cookie}; od_preview={cookie}; _xsrf={token}", "X-XSRFToken": token, "X-OD-Page": token}
        same(httpx.get(url + "/api/kernels", headers=fields).status_code, 403, (url, cookie))
        same(httpx.post(url + "/api/contents", headers=fields, json={}).status_code, 403)
    fields = {"Cookie": f"od_ui={ours}; od_preview={ours}; od_jupyter={ours}", "X-OD-Page": page, "X-XSRFToken": page}
    same((may(s, fields), httpx.get(s.at["preview@"] + "/", headers=fields).status_code), (401, 401))
    same(b.makes(b.xsrf())[0], 201)


def main():
    tap, like = Tap(), sys.argv[1] if len(sys.argv) > 1 else ""
    with open(T + "/key-file", "w", encoding="ascii") as file:
        file.write(KEY)
    run_rows(tap, [("access", each, box) for each in row if like in each.name], 6)
    return tap.done()


if __name__ == "__main__":
    raise SystemExit(main())
