# SPDX-License-Identifier: MIT
"""On a keyed server a stranger changes nothing and learns nothing, by any row.

The rows are those of `od serve --routes`: each listener, route and method, with each proof
that counts there and some that do not: none, wrong, a key that may only view, another
listener's, a removed one, the right one doubled, a signature and a login that have expired; in the
field, bearer, query, cookie, path and body; with and without a foreign Origin and Host;
for each way in which a key can be configured. There is no list of routes here. What is
judged is what happened: the keys, the log of actions, files, variables, and whether an
answer has a word that only files and variables have. With the right key the same requests
do leave something, which is checked, too.
"""
import base64
import collections
import hashlib
import json
import os
import secrets
import socket
import subprocess
import sys
import traceback

import httpx

from access_rows import HEADER, OD, SOON, WS, Box, log_in, may
from tap import LIMIT, Tap, holds, same, wait_for

T = os.environ["T"]
KEY = "the-right-key-" + secrets.token_hex(8)
WORD = "only-" + secrets.token_hex(8)  # in a file and a variable of the sandbox
FRONTS = ("", "v1@", "e2b@", "interpreter@", "swerex@", "execd@", "sandbox@", "preview@", "jupyter@")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
# How a server gets its key: options of Box; at: the listeners that it closes.
WAYS = {
    "SESSION_API_KEY": ({"env": {"SESSION_API_KEY": KEY}}, FRONTS),
    "OD_API_KEY": ({"env": {"OD_API_KEY": KEY}}, FRONTS),
    "--api-key": ({"words": ("--api-key", KEY)}, FRONTS),
    "--api-key-file": ({"words": ("--api-key-file", T + "/the-key")}, FRONTS),
    "--key-add": ({}, FRONTS),
    "OH_SESSION_API_KEYS_0": ({"env": {"OH_SESSION_API_KEYS_0": KEY}}, ("v1@",)),
    "--e2b-token": ({"words": ("--e2b-token", KEY)}, ("e2b@", "interpreter@")),
    "POST /init": ({}, ("e2b@", "interpreter@")),
    "POST /api/init": ({"env": {"OH_DEFERRED_INIT": "1"}}, ("v1@",)),
    "deferred, with a key": ({"env": {"OH_DEFERRED_INIT": "1", "SESSION_API_KEY": KEY}}, FRONTS),
    "deferred, with a secret": ({"env": {"OH_DEFERRED_INIT": "1", "OH_SECRET_KEY": "s" * 20,
                                         "SESSION_API_KEY": KEY}}, FRONTS),
    "--swerex-auth-token": ({"words": ("--swerex-auth-token", KEY)}, ("swerex@",)),
    "--jupyter-token": ({"words": ("--jupyter-token", KEY)}, ("jupyter@",)),
    "--execd-token": ({"words": ("--execd-token", KEY)}, ("execd@",)),
}
FULL = ("SESSION_API_KEY", "--key-add")  # the others are asked without a key and with a wrong one


class Client:
    """A kept connection; another one when that has ended."""

    def __init__(self, url):
        host, _, port = url.removeprefix("http://").rpartition(":")
        self.at, self.socket = (host, int(port)), None

    def ask(self, method, target, fields, body=b""):
        """The status and the body; (101, b"") leaves the connection for frames."""
        lines = [f"{name}: {value}" for name, value in fields]
        if not any(name == "Host" for name, _ in fields):
            lines.append("Host: localhost")
        if body:
            lines += [f"Content-Length: {len(body)}", "Content-Type: application/json"]
        head = "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", ""]).encode("latin-1")
        for fresh in (False, True):
            if not self.socket:
                fresh = True
                self.socket = socket.create_connection(self.at, LIMIT)
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.file = self.socket.makefile("rb")
            try:
                self.socket.sendall(head + body)
                line = self.file.readline()
                if line:
                    return self.answer(int(line.split()[1]))
            except ConnectionError:
                pass
            self.close()
            holds(not fresh, "no answer", method, target, fields)
        return None

    def answer(self, status):
        fields, body = {}, b""
        while (line := self.file.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            fields[name.lower()] = value.strip()
        if status == 101:
            return status, body
        if "chunked" in fields.get("transfer-encoding", ""):
            while n := int(self.file.readline() or b"0", 16):
                body += self.file.read(n)
                self.file.readline()
            self.file.readline()
        elif status not in (204, 304):
            body = self.file.read(int(fields.get("content-length", "0")))
        if "close" in fields.get("connection", "").lower():
            self.close()
        return status, body

    def close(self):
        if self.socket:
            self.file.close()
            self.socket.close()
        self.socket = None


def target_and_body(path, mark, secret):
    """What would leave the file mark, or show the file secret, as far as the route can."""
    query = "?path=" + secret + "&destination=" + os.path.dirname(mark) + "&to=" + os.path.dirname(mark)
    path = path.replace("{verb}", "mkdir").replace("{name}", "create_file").replace("{port}", "1")
    path = path.replace("{", "").replace("}", "").replace("*", "x")
    run = {"command": f"touch {mark}", "path": mark, "content": "x", "file_text": "x", "filename": mark,
           "session_api_keys": ["stranger"], "accessToken": "stranger", "envVars": {"STRANGER": "1"},
           "env": {"STRANGER": "1"}}
    body = {**run, "action": {"action": "run", "args": run}} if path == "/execute_action" else run
    if path == "/events":
        body = {"action": "run", "args": run}
    if path == "/process.Process/Start":
        body = {"process": {"cmd": "/bin/sh", "args": ["-c", f"touch {mark}"]}}
    if path.startswith("/api/init"):
        del body["command"], body["path"], body["content"], body["file_text"], body["filename"]
        del body["accessToken"], body["envVars"]
    return path, query, json.dumps(body).encode()


def carried(proof, value):
    """(fields, query) that carry the value where this proof may be."""
    place, name = proof["place"], proof["name"]
    if place == "field":
        return [(name, value)], ""
    if place == "bearer":
        return [(name, proof.get("scheme", "Bearer ") + value)], ""
    if place == "query":
        return [], f"&{name}={value}"
    if place == "cookie":
        return [("Cookie", f"{name}={value}; {name}=x; other={value}")], ""
    return [], ""


def attempts(box, at, route, full):
    """(name, fields, query): requests of somebody who may not use the route."""
    yield "none", [], ""
    values = {"wrong": "wrong-" + WORD}
    if full:
        values.update({"cut": KEY[:-1], "other listener's": box.other, "removed": box.removed, "list": f"{KEY},{KEY}"})
        if route["right"] == "use":
            values["view"] = box.view
    for proof in route["proofs"]:
        if proof["place"] in ("message", "body", "path", "peer"):
            continue
        for name, value in values.items():
            yield f"{name} in {proof['place']} {proof['name']}", *carried(proof, value)
        if full and proof["place"] in ("field", "bearer"):
            good, bad = carried(proof, KEY)[0], carried(proof, "bad")[0]
            yield "doubled, good first", good + bad, ""
            yield "doubled, bad first", bad + good, ""
            yield "doubled, both good", good + good, ""
        if full and proof["place"] == "query" and proof["kind"] == "key":
            yield "query, doubled", [], f"&{proof['name']}={KEY}&{proof['name']}=x"
        if full and proof["kind"] == "signature":
            text = f"{box.secret}:read::{box.key}:1"
            late = "v1_" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
            yield "a signature that has expired", [], f"&signature={late}&signature_expiration=1"
    if full:
        yield "login that has ended", list(box.ended.items()), ""
        cookie = box.ended["Cookie"].partition("=")[2]
        yield "the same at apps", [("Cookie", f"od_preview={cookie}; od_app={cookie}")], ""
        yield "the same at Jupyter", [("Cookie", f"od_jupyter={cookie}; _xsrf={page_of(cookie)}"),
                                      ("X-XSRFToken", page_of(cookie))], f"&_xsrf={page_of(cookie)}"
    if full:  # a right key where none is looked for
        looked = [p["name"] for p in route["proofs"] if p["place"] == "query"]
        yield "key in other places", [("Proxy-Authorization", "Bearer " + KEY), ("X-Key", KEY),
                                      ("Cookie", f"{HEADER}={KEY}; od_ui={KEY}; od_preview={KEY}")], \
            "".join(f"&{name}={KEY}" for name in ("api_key", "key", "token") if name not in looked)


def page_of(cookie):
    """The page token of a cookie's token (access/pages.c)."""
    return hashlib.sha256(b"od page " + cookie.encode()).hexdigest()


AROUND = {"plain": [], "page": [("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site")],
          "rebound": [("Host", "evil.example")], "opaque": [("Origin", "null")]}


class Walk:
    def __init__(self, way, routes):
        options, self.closed = WAYS[way]
        self.way, self.routes, self.full = way, routes, way in FULL
        self.cells, self.wrong, self.statuses = 0, [], collections.Counter()
        self.box = box = Box(FRONTS, words=("--ui", "--login-time", SOON, *options.get("words", ())), env=options.get("env"))
        self.box.key = KEY
        box.marks, box.secret = box.path("marks"), box.path("work", "secret")
        os.mkdir(box.marks)
        with open(box.secret, "w", encoding="ascii") as file:
            file.write(WORD)
        self.configure()

    def configure(self):
        box = self.box
        box.other = box.view = box.removed = ""
        if self.way == "--key-add":
            global KEY
            box.key = KEY = box.add("the-key")
        if self.way == "POST /init":
            answer = box.http.post(box.at["e2b@"] + "/init", json={"accessToken": KEY, "envVars": {"W": WORD}})
            same(answer.status_code, 204)
        if self.way == "POST /api/init":
            answer = box.http.post(box.at["v1@"] + "/api/init", json={"session_api_keys": [KEY], "env": {"W": WORD}})
            same(answer.status_code, 200)
        if self.full:
            box.view, box.removed = box.add("view", "--view"), box.add("removed")
            box.other = box.add("other", "--listener", "viewer@")
            box.manage("--key-remove", "removed")
            box.ended = log_in(box, KEY)
            wait_for(lambda: may(box, box.ended) == 401, "the login ends")

    def state(self):
        """All that a stranger could have changed."""
        box = self.box
        key = {HEADER: KEY, "X-Access-Token": KEY}
        v1 = box.http.get(box.at["v1@"] + "/api/init").text
        env = box.http.get(box.at["e2b@"] + "/envs", headers=key).text
        log = box.http.get(box.at[""] + "/events?since=0", headers=key).text if self.closed == FRONTS else ""
        return {"keys": box.keys(), "v1": v1, "env": env, "log": log,
                "files": sorted(os.listdir(box.marks)), "work": sorted(os.listdir(box.path("work"))),
                "sessions": json.loads(box.manage("--status", "--json"))["servers"][0].get("sessions")}

    def note(self, fine, *about):
        self.cells += 1
        if not fine:
            self.wrong.append(about)

    def walk(self):
        for at in self.closed:
            client = Client(self.box.at[at])
            of = ("http",) if not at else (at[:-1], "e2b") if at == "interpreter@" else (at[:-1],)
            for route in self.routes:
                if route["listener"] in of and (at != "interpreter@" or route["path"] != "/health"):
                    self.one(client, at, route)
            client.close()

    def one(self, client, at, route):
        path, query, body = target_and_body(route["path"], self.box.marks + "/stranger", self.box.secret)
        methods = METHODS if self.full else [m for m in route["methods"] if m != "HEAD"]
        everybody = [method for each in self.routes for method in each["methods"]
                     if each["open"] == "always" and (each["listener"], each["path"]) == (route["listener"], route["path"])]
        for around, more in AROUND.items():
            for name, fields, extra in attempts(self.box, at, route, self.full):
                if around != "plain" and not (name.startswith(("none", "wrong", "view", "doubled, good"))):
                    continue
                if not (more and name == "none") and any(n == "Host" for n, _ in more):
                    continue
                for method in methods if name == "none" else route["methods"]:
                    if method == "HEAD" or at == "interpreter@" and "contexts" in path and around == "plain":
                        continue  # a program of the sandbox's own user may
                    asked = client.ask(method, path + query + extra, fields + more,
                                       b"" if method == "GET" else body)
                    self.judge((at, method, path, around, name), asked, method in everybody)
            if any(p["place"] == "message" for p in route["proofs"]):
                self.message(client, path, around, more)

    def judge(self, about, asked, everybody):
        status, body = asked
        self.statuses[status] += 1
        fine = WORD.encode() not in body.replace(("wrong-" + WORD).encode(), b"") and KEY.encode() not in body
        self.note(fine and (everybody or status >= 400), about, status, body[:200])

    def message(self, client, path, around, more):
        """A WebSocket whose first message is no key: it is closed without an event."""
        fields = [*WS.items(), ("Sec-WebSocket-Protocol", "od.events.v1, od.terminal.v1, od.screen.v1"), *more]
        status, _ = client.ask("GET", path + "?since=0", fields)
        if status == 101:
            text = json.dumps({"action": "run", "args": {"command": f"touch {self.box.marks}/said"}}).encode()
            client.socket.sendall(bytes([0x81, 0xFE]) + len(text).to_bytes(2, "big") + b"\0\0\0\0" + text)
            opcode = (client.file.read(1) or b"\x88")[0] & 15
            self.note(opcode == 8 and around in ("plain", "rebound"), path, around, opcode)
        else:
            self.note(status in (400, 403, 426, 429, 503), path, around, status)
        client.close()

    def with_the_key(self):
        """The same requests, from who has the key: they do leave something."""
        box, marks = self.box, self.box.marks
        key = {HEADER: KEY, "X-Access-Token": KEY, "X-API-Key": KEY, "X-EXECD-ACCESS-TOKEN": KEY}
        asks = {"": ("/files/mkdir", {"path": marks + "/native"}),
                "v1@": ("/api/bash/execute_bash_command", {"command": f"touch {marks}/v1"}),
                "e2b@": ("/filesystem.Filesystem/MakeDir", {"path": marks + "/e2b"}),
                "interpreter@": ("/filesystem.Filesystem/MakeDir", {"path": marks + "/interpreter"}),
                "swerex@": ("/write_file", {"path": marks + "/swerex", "content": "x"}),
                "execd@": ("/command", {"command": f"touch {marks}/execd"})}
        for at in self.closed:
            if at in asks and not (at == "v1@" and self.way.startswith("deferred")):
                box.http.post(box.at[at] + asks[at][0], json=asks[at][1], headers=key)
                wanted = marks + "/" + (at[:-1] or "native")
                wait_for(lambda wanted=wanted: os.path.exists(wanted), f"{at} leaves {wanted}")
                self.note(True)


def ways(wanted):
    return [way for way in WAYS if (way in FULL) == (wanted == "full")]


def main():
    tap, total = Tap(), 0
    with open(T + "/the-key", "w", encoding="ascii") as file:
        file.write(KEY)
    routes = json.loads(subprocess.run([OD, "serve", "--routes"], check=True,
                                       capture_output=True).stdout)
    for way in ways(sys.argv[1]):
        try:
            walk = Walk(way, routes)
            with walk.box.alive():
                before = walk.state()
                walk.walk()
                after = walk.state()
                for name, value in before.items():
                    walk.note(after[name] == value, "changed:", name, value[-300:] if value else value, after[name][-300:])
                walk.with_the_key()
            total += walk.cells
            tap.line(not walk.wrong, f"{way}: {walk.cells} cells; a stranger changes nothing",
                     [str(each)[:500] for each in walk.wrong[:20]])
        except Exception:
            tap.line(False, way, traceback.format_exc().split("\n")[-30:])
    print(f"# {total} cells of {len(routes)} routes")
    return tap.done()


if __name__ == "__main__":
    raise SystemExit(main())
