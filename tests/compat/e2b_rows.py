# SPDX-License-Identifier: MIT
"""e2b_rows.py FOLDER [PATTERN]: what --listen e2b@… answers to requests that E2B's client
does not send: other content types, frames that are cut or too long, members of other
types, paths and users that are not there, and the state of POST /init over a killed worker.
Prints a line "ok NAME" or "no NAME" a row."""
import base64
import contextlib
import hashlib
import http.client
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.parse

from tap import has, holds, same, wait_for

FOLDER, PATTERN = sys.argv[1], (sys.argv[2:] or [""])[0]
OD, ROOT = os.environ["OD"], os.getuid() == 0
TOKEN = os.environ["E2B_TOKEN"]
ADDRESS = urllib.parse.urlsplit(os.environ["URL"]).netloc
rows = []


def row(name):
    def add(function):
        if PATTERN in name:
            rows.append((name, function))
    return add


def ask(method, path, body=b"", address=ADDRESS, token=TOKEN, **fields):
    """Status, fields and body of an answer."""
    c = http.client.HTTPConnection(address, timeout=60)
    head = {k.replace("_", "-"): v for k, v in fields.items()}
    if token:
        head["X-Access-Token"] = token
    c.request(method, path, body, head)
    answer = c.getresponse()
    got = answer.status, dict((k.lower(), v) for k, v in answer.getheaders()), answer.read()
    c.close()
    return got


def unary(method, message, **fields):
    """Status and object."""
    fields = {"Content_Type": "application/json", **fields}
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    status, _, body = ask("POST", "/" + method, body, **fields)
    return status, json.loads(body)


def refused(method, message, status, code, **fields):
    got = unary(method, message, **fields)
    same((got[0], got[1].get("code")), (status, code), str(got))
    holds(got[1]["message"], got)


def frame(message, flags=0):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">BI", flags, len(body)) + body


def frames(body):
    out = []
    while body:
        flags, n = struct.unpack(">BI", body[:5])
        out.append((flags, json.loads(body[5:5 + n])))
        body = body[5 + n:]
    return out


def stream(method, body, **fields):
    """The messages of an answer, the last one of which is the end."""
    fields = {"Content_Type": "application/connect+json", "Connect_Protocol_Version": "1", **fields}
    status, head, got = ask("POST", "/" + method, body, **fields)
    same((status, head["content-type"]), (200, "application/connect+json"))
    got = frames(got)
    same([f for f, _ in got], [0] * (len(got) - 1) + [2])
    return [m for _, m in got]


def ended_with(method, body, code, **fields):
    got = stream(method, body, **fields)
    same(got[-1].get("error", {}).get("code"), code, str(got))


def start(cmd, *args, **more):
    return frame({"process": {"cmd": cmd, "args": list(args)}, **more})


class Live:
    """A stream that stays open."""

    def __init__(self, method, body, address=ADDRESS, **fields):
        self.c = http.client.HTTPConnection(address, timeout=60)
        self.c.request("POST", "/" + method, body, {
            "Content-Type": "application/connect+json", "X-Access-Token": TOKEN,
            **{k.replace("_", "-"): v for k, v in fields.items()}})
        self.answer = self.c.getresponse()
        same(self.answer.status, 200)

    def next(self):
        flags, n = struct.unpack(">BI", self.answer.read(5))
        return flags, json.loads(self.answer.read(n))

    def pid(self):
        return self.next()[1]["event"]["start"]["pid"]

    def rest(self):
        out = []
        while not out or out[-1][0] == 0:
            out.append(self.next())
        return [m for _, m in out]

    def close(self):
        self.c.sock.close() if self.c.sock else self.answer.close()


def text_of(messages, stream="stdout"):
    return b"".join(base64.b64decode(m["event"].get("data", {}).get(stream, ""))
                    for m in messages if "event" in m)


def end_of(messages):
    return [m["event"]["end"] for m in messages if "end" in m.get("event", {})][0]


def touch(path):
    with open(path, "w", encoding="ascii"):
        return True


def kill_worker(keeper):
    subprocess.run(["pkill", "-9", "-P", str(keeper), "-f", "^od-worker"], check=True)


# --- Connect


@row("binary protobuf and other types are 415, with what is accepted")
def _():
    for method, types, accepted in (
            ("process.Process/List", ("application/proto", "application/grpc", "text/json", "", "application/connect+json"),
             "application/json"),
            ("process.Process/Start", ("application/connect+proto", "application/json", "application/x"),
             "application/connect+json"),
            ("process.Process/StreamInput", ("application/json",), "application/connect+json")):
        for kind in types:
            status, head, body = ask("POST", "/" + method, b"{}", Content_Type=kind)
            same((status, head.get("accept-post")), (415, accepted), kind)
            same(json.loads(body)["code"], "unimplemented")
    same(unary("process.Process/List", {}, Content_Type="application/json; charset=utf-8")[0], 200)


@row("unknown methods are 404 and other verbs 405, in this protocol's words")
def _():
    for verb, path, wanted in (("POST", "/process.Process/Nothing", 404), ("POST", "/x.Y/Z", 404),
                               ("GET", "/process.Process/List", 405), ("PUT", "/files", 405),
                               ("GET", "/nothing", 404), ("POST", "/freeze", 404)):
        status, _, body = ask(verb, path)
        same((status, json.loads(body)["code"]), (wanted, wanted), path)


@row("versions, timeouts and compressions that are not ours")
def _():
    refused("process.Process/List", {}, 400, "invalid_argument", Connect_Protocol_Version="2")
    refused("process.Process/List", {}, 400, "invalid_argument", Connect_Timeout_Ms="12345678901")
    refused("process.Process/List", {}, 400, "invalid_argument", Connect_Timeout_Ms="-1")
    refused("process.Process/List", {}, 501, "unimplemented", Content_Encoding="gzip")
    ended_with("process.Process/Start", start("true"), "invalid_argument", Connect_Timeout_Ms="soon")
    ended_with("process.Process/Start", start("true"), "unimplemented", Connect_Content_Encoding="gzip")


@row("messages that are no objects, or have members of other types")
def _():
    for text in (b"{", b"[]", b"1", b'{"a":1}}', b'"\xff"', b'{"a":"\\u0000"}'):
        refused("process.Process/List", text, 400, "invalid_argument")
    same(unary("process.Process/List", b"")[0], 200)
    same(unary("process.Process/List", {"unknown": 1})[0], 200)
    refused("filesystem.Filesystem/Stat", {"path": 1}, 400, "invalid_argument")
    refused("filesystem.Filesystem/ListDir", {"path": "/", "depth": -1}, 400, "invalid_argument")
    refused("filesystem.Filesystem/ListDir", {"path": "/", "depth": 1.5}, 400, "invalid_argument")
    for selector, code, status in (({}, "unimplemented", 501), ({"pid": 0}, "unimplemented", 501),
                                   ({"pid": "x"}, "invalid_argument", 400), ({"pid": -1}, "invalid_argument", 400),
                                   ({"pid": 4194305}, "not_found", 404), ({"pid": "4194305"}, "not_found", 404),
                                   ({"tag": "none"}, "not_found", 404), ([], "invalid_argument", 400)):
        refused("process.Process/SendSignal", {"process": selector, "signal": 9}, status, code)


@row("envelopes that are cut, too long, compressed, of unknown flags, too many or none")
def _():
    whole = start("true")
    for body, code in ((b"", "unimplemented"), (whole[:3], "invalid_argument"), (whole[:-1], "invalid_argument"),
                       (whole + whole, "unimplemented"), (frame(b"{}", 1), "invalid_argument"),
                       (frame(b"{}", 2), "invalid_argument"), (frame(b"{}", 0x80), "invalid_argument"),
                       (b"\0\xff\xff\xff\xff", "resource_exhausted"), (frame(b"no json"), "invalid_argument"),
                       (frame(b"[]"), "invalid_argument"), (frame(b""), "invalid_argument")):
        ended_with("process.Process/Start", body, code)
        if body not in (whole + whole,):
            ended_with("process.Process/StreamInput", body, "unimplemented" if not body else code)


@row("a body that is larger than any message is 413")
def _():
    status, _, _ = ask("POST", "/process.Process/List", b" " * (9 << 20), Content_Type="application/json")
    same(status, 413)


# --- processes


@row("a stream byte by byte, and one after the other on a connection")
def _():
    body = start("printf", "a\\nb")
    with socket.create_connection(ADDRESS.split(":"), timeout=60) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(2):
            head = (f"POST /process.Process/Start HTTP/1.1\r\nHost: localhost\r\nX-Access-Token: {TOKEN}\r\n"
                    f"Content-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n").encode()
            s.sendall(head)
            for byte in body:
                s.sendall(b"1\r\n" + bytes([byte]) + b"\r\n")
            s.sendall(b"0\r\n\r\n")
            got = b""
            while not got.endswith(b"\r\n0\r\n\r\n"):
                got += s.recv(65536)
            has(got.decode("latin1"), "200 OK", base64.b64encode(b"a\nb").decode(), '"status":"exit status 0"')


@row("the end: exit, signal, a program that is not there or may not be run")
def _():
    got = stream("process.Process/Start", start("sh", "-c", "exit 7"))
    holds(got[0]["event"]["start"]["pid"] > 0, got)
    same(end_of(got), {"exitCode": 7, "exited": True, "status": "exit status 7", "error": "exit status 7"})
    same(end_of(stream("process.Process/Start", start("true"))), {"exited": True, "status": "exit status 0"})
    same(end_of(stream("process.Process/Start", start("sh", "-c", "kill -TERM $$"))),
         {"exitCode": -1, "status": "signal: terminated", "error": "signal: terminated"})
    got = stream("process.Process/Start", start("od-no-such-program"))
    same(end_of(got)["exitCode"], 127)
    has(text_of(got, "stderr").decode(), "od-no-such-program")
    same(end_of(stream("process.Process/Start", start("/etc/passwd")))["exitCode"], 126)


@row("what a start may get wrong")
def _():
    for message in ({}, {"process": []}, {"process": {}}, {"process": {"cmd": ""}}, {"process": {"cmd": 1}},
                    {"process": {"cmd": "true", "args": "x"}}, {"process": {"cmd": "true", "args": [1]}},
                    {"process": {"cmd": "true", "envs": []}}, {"process": {"cmd": "true", "envs": {"A=B": "c"}}},
                    {"process": {"cmd": "true", "cwd": "/no/such"}}, {"process": {"cmd": "true", "cwd": "~x"}},
                    {"process": {"cmd": "true"}, "stdin": "no"}, {"process": {"cmd": "true"}, "tag": "x" * 300},
                    {"process": {"cmd": "true"}, "pty": 1}, {"process": {"cmd": "true"}, "pty": {"size": {"cols": 70000}}}):
        ended_with("process.Process/Start", frame(message), "invalid_argument")
    basic = "Basic " + base64.b64encode(b"od-nobody-at-all:").decode()
    ended_with("process.Process/Start", start("true"), "unauthenticated", Authorization=basic)
    ended_with("process.Process/Start", start("true"), "invalid_argument", Authorization="Basic !")
    refused("filesystem.Filesystem/Stat", {"path": "/"}, 401, "unauthenticated", Authorization=basic)


@row("a tag selects; List has it; SendInput and StreamInput write in order")
def _():
    live = Live("process.Process/Start", start("cat", tag="the cat"))
    pid = live.pid()
    listed = [p for p in unary("process.Process/List", {})[1]["processes"] if p["pid"] == pid]
    same((listed[0]["tag"], listed[0]["config"]["cmd"]), ("the cat", "cat"))
    by = {"process": {"tag": "the cat"}}
    b64 = base64.b64encode(b"one\n").decode()
    same(unary("process.Process/SendInput", {**by, "input": {"stdin": b64}}), (200, {}))
    same(unary("process.Process/SendInput", {**by, "input": {"stdin": b64.rstrip("=")}}), (200, {}))
    many = frame({"start": by}) + b"".join(
        frame({"data": {"input": {"stdin": base64.b64encode(b"%d\n" % i).decode()}}}) for i in range(1000)) + frame({"keepalive": {}})
    same(stream("process.Process/StreamInput", many), [{}, {}])
    refused("process.Process/SendInput", {**by, "input": {"pty": b64}}, 400, "failed_precondition")
    refused("process.Process/SendInput", {**by, "input": {}}, 501, "unimplemented")
    refused("process.Process/SendInput", {**by, "input": {"stdin": "!"}}, 400, "invalid_argument")
    refused("process.Process/Update", {**by, "pty": {"size": {"cols": 1, "rows": 1}}}, 400, "failed_precondition")
    refused("process.Process/SendSignal", {**by, "signal": "SIGNAL_SIGHUP"}, 400, "invalid_argument")
    refused("process.Process/SendSignal", {**by, "signal": 1}, 501, "unimplemented")
    same(unary("process.Process/CloseStdin", by), (200, {}))
    got = live.rest()
    same(text_of(got), b"one\n" * 2 + b"".join(b"%d\n" % i for i in range(1000)))
    same(end_of(got)["status"], "exit status 0")


def pid_runs(pid):
    return any(p["pid"] == pid for p in unary("process.Process/List", {})[1].get("processes", []))


@row("the first message of StreamInput names the process, and only that")
def _():
    live = Live("process.Process/Start", start("cat"))
    by = {"process": {"pid": live.pid()}}
    data = frame({"data": {"input": {"stdin": "eA=="}}})
    ended_with("process.Process/StreamInput", data, "invalid_argument")
    ended_with("process.Process/StreamInput", frame({"start": by}) * 2, "invalid_argument")
    ended_with("process.Process/StreamInput", frame({"start": {"process": {"pid": 4194305}}}), "not_found")
    ended_with("process.Process/StreamInput", frame({"start": by}) + data[:-1], "invalid_argument")
    same(unary("process.Process/SendSignal", {**by, "signal": "SIGNAL_SIGTERM"}), (200, {}))
    same(end_of(live.rest())["status"], "signal: terminated")


@row("input that the program does not take waits, and nothing of it is lost")
def _():
    live = Live("process.Process/Start", start("sh", "-c", "read go; wc -c", tag="slow"))
    live.pid()
    with socket.create_connection(ADDRESS.split(":"), timeout=60) as s:
        body = json.dumps({"process": {"tag": "slow"}, "input": {"stdin": base64.b64encode(b"\n" + b"x" * 3000000).decode()}}).encode()
        s.sendall(b"POST /process.Process/SendInput HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                  b"X-Access-Token: %s\r\nContent-Length: %d\r\n\r\n" % (TOKEN.encode(), len(body)) + body)
        has(s.recv(4096).decode(), "200 OK")
    same(unary("process.Process/CloseStdin", {"process": {"tag": "slow"}}), (200, {}))
    same(text_of(live.rest()).strip(), b"3000000")


@row("Connect from an offset, of a process that has ended, too")
def _():
    live = Live("process.Process/Start", start("sh", "-c", "printf 0123456789; printf abc >&2", tag="kept"))
    pid = live.pid()
    live.rest()
    by = frame({"process": {"pid": pid}})
    got = stream("process.Process/Connect", by)
    same((got[0]["event"]["start"]["pid"], text_of(got), text_of(got, "stderr")), (pid, b"", b""))
    got = stream("process.Process/Connect", by, Od_Offset="4,1")
    same((text_of(got), text_of(got, "stderr"), end_of(got)["status"]), (b"456789", b"bc", "exit status 0"))
    got = stream("process.Process/Connect", by, Od_Offset="0")
    same(text_of(got), b"0123456789")
    ended_with("process.Process/Connect", frame({"process": {"tag": "never"}}), "not_found")


@row("a client that leaves ends its stream, not its process; keepalives come")
def _():
    live = Live("process.Process/Start", start("sh", "-c", "read x; echo $x", tag="left"), Keepalive_Ping_Interval="1")
    pid = live.pid()
    same(live.next()[1], {"event": {"keepalive": {}}})
    live.close()
    holds(pid_runs(pid), "it runs")
    again = Live("process.Process/Connect", frame({"process": {"tag": "left"}}))
    again.pid()
    unary("process.Process/SendInput", {"process": {"tag": "left"}, "input": {"stdin": "eQo="}})
    same(text_of(again.rest()), b"y\n")


@row("a time limit ends the stream with deadline_exceeded; 0 is none")
def _():
    ended_with("process.Process/Start", start("sleep", "600"), "deadline_exceeded", Connect_Timeout_Ms="300")
    same(end_of(stream("process.Process/Start", start("true"), Connect_Timeout_Ms="0"))["status"], "exit status 0")


# --- files


class Native(http.client.HTTPConnection):
    """The native routes, at their unix socket."""

    def __init__(self):
        super().__init__("localhost", timeout=60)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(os.environ["NATIVE"])


def native(method, path, message=None):
    with contextlib.closing(Native()) as c:
        c.request(method, path, message and json.dumps(message))
        answer = c.getresponse()
        same(answer.status, 200)
        return json.loads(answer.read())


def logged(under):
    """[action, the observations that it is the cause of] of files in a folder."""
    lines, last = [], 0
    while True:
        page = native("GET", f"/events?since={last}")["events"]
        if not page:
            break
        lines, last = lines + page, page[-1]["id"]
    return [(e, [o for o in lines if o.get("cause") == e["id"]]) for e in lines
            if e.get("source") == "e2b" and under in json.dumps(e.get("args"))]


def ended(under, n):
    """n actions, each with its end."""
    found = []

    def all_ended():
        found[:] = logged(under)
        return len(found) == n and all(len(ends) == 1 for _, ends in found)

    wait_for(all_ended, f"{n} actions have their ends")
    return [(e, ends[0]) for e, ends in found]


OCTETS, FORM = "application/octet-stream", "multipart/form-data; boundary=b0"


@row("uploads and changes of files are actions in the log, without their bytes")
def _():
    at = FOLDER + "/logged"
    same(unary("filesystem.Filesystem/MakeDir", {"path": at})[0], 200)
    where = "/files?path=" + urllib.parse.quote(at)
    same(ask("POST", where + "/one", b"secret words", Content_Type=OCTETS)[0], 200)
    same(ask("POST", "/files", form(("file", at + "/a", b"secret a"), ("file", at + "/b", b"secret")), Content_Type=FORM)[0], 200)
    same(ask("POST", where, b"secret", Content_Type=OCTETS)[0], 400)  # it is a folder
    same(ask("POST", "/files", form(("file", at + "/c", b""), ("file", at + "/c", b"")), Content_Type=FORM)[0], 400)
    same(unary("filesystem.Filesystem/Move", {"source": at + "/a", "destination": at + "/d/a"})[0], 200)
    same(unary("filesystem.Filesystem/Remove", {"path": at + "/d"})[0], 200)
    seen = ended(at, 8)
    same([(e["action"], e["args"].get("path", e["args"].get("to")), o["observation"]) for e, o in seen],
         [("mkdir", at, "mkdir"), ("receive", at + "/one", "receive"), ("receive", at + "/a", "receive"),
          ("receive", at, "error"), ("receive", at + "/c", "error"), ("mkdir", at + "/d/", "mkdir"),
          ("move", at + "/d/a", "move"), ("remove", at + "/d", "remove")])
    same([[(f["path"], f["size"]) for f in o["extras"]["files"]] for _, o in seen[1:3]],
         [[(at + "/one", 12)], [(at + "/a", 8), (at + "/b", 6)]])
    holds("secret" not in json.dumps(seen), seen)


@row("an upload whose action is cancelled, or whose client leaves, ends, and leaves nothing")
def _():
    at = FOLDER + "/halfway"
    os.mkdir(at)
    for n, kind in enumerate((OCTETS, FORM) * 2):
        body = form(("file", f"{at}/{n}", b"x" * 100000))
        with contextlib.closing(http.client.HTTPConnection(ADDRESS, timeout=60)) as c:
            c.putrequest("POST", f"/files?path={at}/{n}" if kind == OCTETS else "/files")
            for name, value in (("X-Access-Token", TOKEN), ("Content-Type", kind), ("Content-Length", str(len(body)))):
                c.putheader(name, value)
            c.endheaders(body[:50000])
            wait_for(lambda wanted=n + 1: len(logged(at)) == wanted, "it began")
            if n < 2:
                native("POST", "/events", {"action": "cancel", "args": {"id": logged(at)[n][0]["id"]}})
                answer = c.getresponse()
                same(answer.status, 503)
                has(answer.read().decode(), "cancelled")
    same([(e["action"], o["extras"]["code"]) for e, o in ended(at, 4)], [("receive", "CANCELLED")] * 4)
    wait_for(lambda: os.listdir(at) == [], "nothing is left")


@row("errors of files: 400, 401, 404, and odd paths")
def _():
    for path, wanted in (("/files", 400), ("/files?path=/no/such", 404), ("/files?path=/tmp", 400),
                         ("/files?path=/dev/null", 400), ("/files?path=%zz", 400), ("/files?path=~nobody/x", 400),
                         ("/files?path=/etc/passwd&username=od-nobody-at-all", 401),
                         ("/files?path=/etc/passwd/x", 404), ("/files?path=" + "a" * 5000, 400)):
        status, head, body = ask("GET", path)
        same((status, json.loads(body)["code"]), (wanted, wanted), path + str(body))
        has(head["content-type"], "application/json")
    for message, code, status in (({"path": "/no/such"}, "not_found", 404), ({"path": "a" * 5000}, "invalid_argument", 400)):
        refused("filesystem.Filesystem/Stat", message, status, code)


@row("ranges, and the whole file to what is no range")
def _():
    path = FOLDER + "/range"
    with open(path, "wb") as f:
        f.write(bytes(range(256)) * 1000)
    at = "/files?path=" + urllib.parse.quote(path)
    for users in [""] + (["&username=nobody"] if ROOT else []):
        for asked, wanted, body in (("bytes=0-0", 206, b"\0"), ("bytes=255990-", 206, bytes(range(246, 256))),
                                    ("bytes=-3", 206, b"\xfd\xfe\xff"), ("bytes=256000-", 416, None),
                                    ("lines=1-2", 200, bytes(range(256)) * 1000)):
            status, head, got = ask("GET", at + users, Range=asked)
            same(status, wanted, asked + users)
            holds(body is None or got == body, asked, len(got))
            holds(status != 206 or head["content-range"].endswith("/256000"), head)
        status, head, got = ask("HEAD", at + users)
        same((status, head["content-length"], got), (200, "256000", b""))


@row("conditional requests: 304, 412, and the file if it has changed")
def _():
    path = FOLDER + "/conditional"
    with open(path, "w", encoding="ascii") as f:
        f.write("0123456789")
    os.utime(path, (1700000000, 1700000000))
    at = "/files?path=" + urllib.parse.quote(path)
    early, then, late = ("Tue, 14 Nov 2023 22:13:19 GMT", "Tue, 14 Nov 2023 22:13:20 GMT", "Tuesday, 14-Nov-23 22:13:21 GMT")
    for users in [""] + (["&username=nobody"] if ROOT else []):
        status, head, body = ask("GET", at + users)
        tag = head["etag"]
        same((status, body, head["last-modified"], head["accept-ranges"]), (200, b"0123456789", then, "bytes"))
        for fields, wanted in (({"If_None_Match": tag}, 304), ({"If_None_Match": "*"}, 304), ({"If_None_Match": f'"a,b", W/{tag}'}, 304),
                               ({"If_None_Match": '"a"'}, 200), ({"If_Modified_Since": then}, 304), ({"If_Modified_Since": late}, 304),
                               ({"If_Modified_Since": early}, 200), ({"If_Modified_Since": "soon"}, 200),
                               ({"If_None_Match": '"a"', "If_Modified_Since": late}, 200),
                               ({"If_Match": tag}, 200), ({"If_Match": "*"}, 200), ({"If_Match": '"a"'}, 412), ({"If_Match": "W/" + tag}, 412),
                               ({"If_Unmodified_Since": early}, 412), ({"If_Unmodified_Since": then}, 200),
                               ({"If_None_Match": tag, "Range": "bytes=1-2"}, 304), ({"If_None_Match": tag, "Range": "bytes=99-"}, 304),
                               ({"If_Range": tag, "Range": "bytes=1-2"}, 206), ({"If_Range": '"a"', "Range": "bytes=1-2"}, 200),
                               ({"If_Range": '"a"', "Range": "bytes=99-"}, 200), ({"If_Range": early, "Range": "bytes=1-2"}, 200)):
            status, head, body = ask("GET", at + users, **fields)
            same(status, wanted, str(fields) + users)
            same(head["etag"], tag, str(fields))
            same(body, b"" if status == 304 else b"12" if status == 206 else body, str(fields))
            holds(status != 200 or body == b"0123456789", fields, body)
        same(ask("HEAD", at + users, If_None_Match=tag)[0], 304)
    with open(path, "a", encoding="ascii") as f:
        f.write("!")
    for users in [""] + (["&username=nobody"] if ROOT else []):
        same(ask("GET", at + users, If_None_Match=tag)[0::2], (200, b"0123456789!"))


@row("CORS: pages may read answers where a token is needed, and nothing where none is")
def _():
    asked = {"Origin": "https://a.test", "Access_Control_Request_Method": "POST",
             "Access_Control_Request_Headers": "authorization,connect-protocol-version,x-access-token"}
    for path in ("/process.Process/Start", "/files", "/nothing"):
        status, head, body = ask("OPTIONS", path, token=None, **asked)
        same((status, body, head["access-control-allow-origin"]), (204, b"", "*"), path)
        has(head["access-control-allow-methods"], "POST")
        same(head["access-control-allow-headers"], asked["Access_Control_Request_Headers"])
        holds("access-control-allow-credentials" not in head, head)
    for path, token, wanted in (("/envs", TOKEN, 200), ("/envs", None, 401), ("/health", None, 204)):
        status, head, _ = ask("GET", path, token=token, Origin="https://a.test")
        same((status, head["access-control-allow-origin"]), (wanted, "*"), path)
    same(ask("OPTIONS", "/files", token=None)[0], 401, "an OPTIONS that is no preflight needs the token")
    with server() as (_, address):
        for verb, path in (("OPTIONS", "/files"), ("GET", "/envs"), ("GET", "/health")):
            status, head, _ = ask(verb, path, address=address, token=None, **asked)
            same((status, "access-control-allow-origin" in head), (403, False), verb + path)


@row("names in Content-Disposition")
def _():
    for name, wanted in (("plain.txt", "inline; filename=plain.txt"), ("a b", 'inline; filename="a b"'),
                         ("ä", "inline; filename*=utf-8''%C3%A4")):
        path = FOLDER + "/" + name
        with open(path, "w", encoding="utf-8") as f:
            f.write("x")
        same(ask("GET", "/files?path=" + urllib.parse.quote(path))[1]["content-disposition"], wanted)


def form(*parts, boundary="b0"):
    out = b""
    for name, filename, data in parts:
        out += (f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"'
                + (f'; filename="{filename}"' if filename is not None else "") + "\r\n\r\n").encode() + data + b"\r\n"
    return out + f"--{boundary}--\r\n".encode()


@row("forms: other parts are ignored, one target twice is 400, a cut one leaves nothing")
def _():
    kind = "multipart/form-data; boundary=b0"
    one = FOLDER + "/form/one"
    status, _, body = ask("POST", "/files", form(("x", None, b"no"), ("file", one, b"yes"), ("other", one + "2", b"no")), Content_Type=kind)
    same((status, [f["path"] for f in json.loads(body)]), (200, [one]))
    same((open(one, "rb").read(), os.listdir(FOLDER + "/form")), (b"yes", ["one"]))
    for body, query in ((form(("file", one, b"1"), ("file", one, b"2")), ""), (form(("file", one, b"1"), ("file", one + "3", b"2")), "?path=" + one),
                        (form(("file", one + "4", b"cut"))[:-20], ""), (form(("file", None, b"unnamed")), "")):
        status, _, said = ask("POST", "/files" + query, body, Content_Type=kind)
        same((status, json.loads(said)["code"]), (400, 400), str(said))
    wait_for(lambda: os.listdir(FOLDER + "/form") == ["one"], "nothing is left of a cut form")
    for kind, wanted in (("application/octet-stream", 400), ("text/plain", 400), ("multipart/form-data", 400)):
        same(ask("POST", "/files", b"x", Content_Type=kind)[0], wanted)
    same(ask("POST", "/files?path=" + one, b"not packed", Content_Type="application/octet-stream", Content_Encoding="gzip")[0], 400)
    same(ask("POST", "/files?path=" + one, b"x", Content_Type="application/octet-stream", Content_Encoding="br")[0], 400)
    same(open(one, "rb").read(), b"yes")


@row("a form that is wrong at its end leaves the files before it")
def _():
    kept = FOLDER + "/form/one"
    body = form(("file", kept, b"1"), ("file", kept, b"2"))
    half = body.index(b'--b0', 4) + 6
    c = http.client.HTTPConnection(ADDRESS, timeout=60)
    c.putrequest("POST", "/files")
    for name, value in (("X-Access-Token", TOKEN), ("Content-Length", str(len(body))),
                        ("Content-Type", "multipart/form-data; boundary=b0")):
        c.putheader(name, value)
    c.endheaders(body[:half])
    for _ in range(5):  # the first file has the time to come to its place
        ask("POST", "/files?path=" + FOLDER + "/form/beside", form(("file", None, b"x")),
            Content_Type="multipart/form-data; boundary=b0")
    c.send(body[half:])
    same(c.getresponse().status, 400)
    c.close()
    same(open(kept, "rb").read(), b"yes")


def compose(**body):
    status, _, got = ask("POST", "/files/compose", json.dumps(body), Content_Type="application/json")
    return status, json.loads(got)


@row("compose: parts become one file and are gone; an old file is replaced")
def _():
    at = FOLDER + "/compose"
    os.makedirs(at)
    parts = [os.urandom(200000 + i) for i in range(3)]
    paths = [at + f"/part {i}" for i in range(3)]
    for old in (None, b"old"):
        for path, data in zip(paths, parts):
            with open(path, "wb") as f:
                f.write(data)
        to = at + "/new/ä"
        same(compose(source_paths=paths, destination=to), (200, {"path": to, "name": "ä", "type": "file"}), str(old))
        with open(to, "r+b") as f:
            same(f.read() == b"".join(parts), True)
            f.truncate(3)
        same((os.listdir(at), os.listdir(at + "/new")), (["new"], ["ä"]))


@row("compose: what it refuses changes nothing")
def _():
    at = FOLDER + "/uncomposed"
    os.makedirs(at + "/folder")
    for name in "ab":
        with open(at + "/" + name, "w", encoding="ascii") as f:
            f.write(name)
    a, b = at + "/a", at + "/b"
    for body, wanted in (({}, 400), ({"source_paths": [], "destination": b}, 400), ({"source_paths": [a]}, 400),
                         ({"source_paths": [a], "destination": ""}, 400), ({"source_paths": a, "destination": b}, 400),
                         ({"source_paths": [1], "destination": b}, 400), ({"source_paths": [""], "destination": b}, 400),
                         ({"source_paths": [a, b], "destination": b}, 400), ({"source_paths": [a, at + "/folder"], "destination": at + "/c"}, 400),
                         ({"source_paths": [a, at + "/none"], "destination": at + "/c"}, 404),
                         ({"source_paths": [a], "destination": b, "username": "od-nobody-at-all"}, 401),
                         ({"source_paths": ["~x"], "destination": b}, 400), ({"source_paths": [a], "destination": at + "/folder"}, 400)):
        status, got = compose(**body)
        same((status, got["code"]), (wanted, wanted), str(body) + str(got))
        holds(got["message"], body)
    if ROOT:
        status, got = compose(source_paths=[a], destination="/etc/od-test", username="nobody")
        same((status, os.path.exists("/etc/od-test")), (400, False), str(got))
    same(ask("POST", "/files/compose", b"[")[0], 400)
    same(ask("POST", "/files/compose", b"{}", token=None)[0], 401)
    same((sorted(os.listdir(at)), open(a, encoding="ascii").read(), open(b, encoding="ascii").read()), (["a", "b", "folder"], "a", "b"))


@row("an upload that is cut leaves the old file and nothing else")
def _():
    path = FOLDER + "/cut/f"
    os.makedirs(FOLDER + "/cut")
    with open(path, "w", encoding="ascii") as f:
        f.write("old")
    with socket.create_connection(ADDRESS.split(":"), timeout=60) as s:
        s.sendall((f"POST /files?path={path} HTTP/1.1\r\nHost: localhost\r\nX-Access-Token: {TOKEN}\r\n"
                   "Content-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\n").encode() + b"x" * 500000)
    wait_for(lambda: os.listdir(FOLDER + "/cut") == ["f"], "the rest is removed")
    same(open(path, encoding="ascii").read(), "old")


def sign(path, operation, user="", expiry=""):
    text = ":".join([path, operation, user, TOKEN] + ([str(expiry)] if expiry else []))
    return "v1_" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


@row("signatures: exactly this path, operation, user and time")
def _():
    path = FOLDER + "/signed"
    with open(path, "w", encoding="ascii") as f:
        f.write("it")
    late, soon = int(time.time()) - 10, int(time.time()) + 100

    def get(signature, more=""):
        query = urllib.parse.urlencode({"path": path, "signature": signature})
        while True:
            got = ask("GET", f"/files?{query}{more}", token=None)
            if got[0] != 429: # many wrong ones are slowed down
                return got[0], got[2]
            time.sleep(0.1)
    same(get(sign(path, "read")), (200, b"it"))
    same(get(sign(path, "read", expiry=soon), f"&signature_expiration={soon}"), (200, b"it"))
    for signature, more, why in ((sign(path, "write"), "", "invalid signature"), (sign(path, "read"), "&username=root", "invalid signature"),
                                 (sign(path, "read", expiry=soon), "", "invalid signature"), (sign(path, "read")[:-1], "", "invalid signature"),
                                 (sign(path, "read", expiry=late), f"&signature_expiration={late}", "signature is already expired")):
        status, body = get(signature, more)
        same((status, json.loads(body)["message"]), (401, why))
    status, _, body = ask("GET", "/files?path=" + path, token=None)
    same((status, json.loads(body)["message"]), (401, "missing signature query parameter"))
    query = urllib.parse.urlencode({"path": path, "signature": sign(path, "read")})
    same(ask("GET", "/files?" + query, token="wrong")[0], 200, "what counts is enough")
    same(ask("HEAD", "/files?" + query, token=None)[0], 200, "HEAD is a read")
    holds(ask("GET", "/envs?" + query, token=None)[0] in (401, 429), "only /files can be signed")


# --- watchers


@row("a watcher that is polled: the events since the last poll, once")
def _():
    at = FOLDER + "/watched"
    os.mkdir(at)
    refused("filesystem.Filesystem/CreateWatcher", {"path": at + "/nope"}, 404, "not_found")
    refused("filesystem.Filesystem/CreateWatcher", {"path": "/etc/passwd"}, 400, "invalid_argument")
    ident = unary("filesystem.Filesystem/CreateWatcher", {"path": at, "recursive": True, "include_entry": True})[1]["watcherId"]
    with open(at + "/f", "w", encoding="ascii") as f:
        f.write("x")
    seen = []

    def come():
        seen.extend(unary("filesystem.Filesystem/GetWatcherEvents", {"watcherId": ident})[1].get("events", []))
        return any(e["type"] == "EVENT_TYPE_WRITE" for e in seen)
    wait_for(come, "the events")
    same((seen[0]["name"], seen[0]["type"], seen[0]["entry"]["path"]), ("f", "EVENT_TYPE_CREATE", at + "/f"))
    same(unary("filesystem.Filesystem/RemoveWatcher", {"watcher_id": ident}), (200, {}))
    for method in ("GetWatcherEvents", "RemoveWatcher"):
        refused("filesystem.Filesystem/" + method, {"watcherId": ident}, 404, "not_found")


@row("a watcher that is polled outlives a killed worker, with its events, and reports the gap")
def _():
    at = FOLDER + "/outlives"
    os.mkdir(at)
    with server() as (keeper, address):
        def call(method, ident):
            try:
                return unary("filesystem.Filesystem/" + method, {"watcherId": ident}, address=address, token=None)
            except (OSError, http.client.HTTPException):
                return None

        def poll(ident, seen):
            got = call("GetWatcherEvents", ident)
            if got:
                same(got[0], 200, str(got))
                seen.append(got[1])
            return [e["name"] for g in seen for e in g.get("events", [])]
        asked = {"path": at, "recursive": True, "includeEntry": True}
        idents = [unary("filesystem.Filesystem/CreateWatcher", asked, address=address, token=None)[1]["watcherId"] for _ in "abc"]
        log = []
        wait_for(lambda: touch(at + "/mark") and "mark" in poll(idents[2], log), "the third one watches")
        same(call("RemoveWatcher", idents[2]), (200, {}))
        touch(at + "/before")
        seen = []
        wait_for(lambda: "before" in poll(idents[0], seen), "the change before the kill")
        kill_worker(keeper)
        wait_for(lambda: call("GetWatcherEvents", "none") is not None, "the next worker answers")
        seen, other = [], []
        wait_for(lambda: touch(at + "/after") and "after" in poll(idents[0], seen), "a change after the kill")
        wait_for(lambda: touch(at + "/after") and "after" in poll(idents[1], other), "the same of the other watcher")
        names = [e["name"] for g in other for e in g.get("events", [])]
        holds("before" in names, "what was not polled before the kill is not lost", names)
        holds(names.index("before") < names.index("after"), names)
        for polls in (seen, other):
            same(["gap" in g for g in polls].count(True), 1, str(polls))
            has([g for g in polls if "gap" in g][0]["gap"]["message"], "worker was replaced")
        holds([e["entry"]["path"] for g in seen for e in g.get("events", []) if e["name"] == "after"][0] == at + "/after", seen)
        same(call("GetWatcherEvents", idents[2])[0], 404, "a removed watcher stays removed")
        same(call("RemoveWatcher", idents[0]), (200, {}))
        same(call("GetWatcherEvents", idents[0])[0], 404)


@row("a watcher whose directory is removed says so, with the events before that")
def _():
    at = FOLDER + "/goes"
    os.mkdir(at)
    ident = unary("filesystem.Filesystem/CreateWatcher", {"path": at})[1]["watcherId"]
    touch(at + "/f")
    os.remove(at + "/f")
    os.rmdir(at)
    seen = []

    def poll():
        seen.append(unary("filesystem.Filesystem/GetWatcherEvents", {"watcherId": ident})[1])
        return any("gap" in g for g in seen)
    wait_for(poll, "the end of the watch")
    has([g for g in seen if "gap" in g][0]["gap"]["message"], "no longer watched")
    same([(e["type"], e["name"]) for g in seen for e in g.get("events", [])][::2][:1], [("EVENT_TYPE_CREATE", "f")])
    same(unary("filesystem.Filesystem/GetWatcherEvents", {"watcherId": ident}), (200, {}))


@row("more changes than a watcher keeps are reported as missing")
def _():
    at = FOLDER + "/crowded"
    os.mkdir(at)
    ident = unary("filesystem.Filesystem/CreateWatcher", {"path": at})[1]["watcherId"]
    for i in range(4000):
        os.rename(at + "/a", at + "/b") if i % 2 else os.close(os.open(at + "/a", os.O_CREAT))
    seen = []

    def poll():
        seen.append(unary("filesystem.Filesystem/GetWatcherEvents", {"watcherId": ident})[1])
        return any("gap" in g for g in seen)
    wait_for(poll, "the gap")
    has([g for g in seen if "gap" in g][0]["gap"]["message"], "too many changes")
    same(unary("filesystem.Filesystem/RemoveWatcher", {"watcherId": ident}), (200, {}))


# --- /init


@contextlib.contextmanager
def server(*options):
    with tempfile.TemporaryDirectory() as at:
        log = open(at + "/log", "wb")
        r, w = os.pipe()
        keeper = subprocess.Popen([OD, "serve", "--name", "init", "--state-dir", at, "--listen", "e2b@127.0.0.1:0",
                                   "--ready-fd", str(w), *options], pass_fds=[w], stdout=log, stderr=log)
        os.close(w)
        with os.fdopen(r) as ready:
            address = [line for line in iter(ready.readline, "ready\n") if line.startswith("listening")][0].split("@")[1].strip()
        try:
            yield keeper.pid, address
        finally:
            keeper.terminate()
            keeper.wait()
            log.close()


def init(address, token=None, **body):
    return ask("POST", "/init", json.dumps(body), address=address, token=token)[0]


def envs(address, token):
    try:
        status, _, body = ask("GET", "/envs", address=address, token=token)
    except OSError:
        return None
    return json.loads(body) if status == 200 else status


@row("/init: the first token counts, later ones must be the same, and all survives a killed worker")
def _():
    with server() as (keeper, address):
        same(ask("GET", "/health", address=address, token=None)[0], 204)
        same(envs(address, None), {"E2B_SANDBOX": "true"})
        same(init(address, envVars={"A": "1"}, defaultWorkdir=FOLDER, timestamp="2026-11-01T00:00:00Z"), 204)
        same(init(address, accessToken="t0ken"), 204)
        same((init(address), init(address, accessToken="other")), (401, 401))
        same(envs(address, None), 401)
        same(init(address, accessToken="t0ken", envVars={"A": "old"}, timestamp="2026-10-31T23:00:00-00:30"), 204)
        same(init(address, accessToken="t0ken", envVars={"B": "2"}, timestamp="2026-11-01T00:00:00.5+00:00"), 204)
        wanted = {"E2B_SANDBOX": "true", "A": "1", "B": "2"}
        same(envs(address, "t0ken"), wanted)
        kill_worker(keeper)
        wait_for(lambda: envs(address, "t0ken") == wanted, "the next worker has it")
        holds(envs(address, "other") in (401, 429), "and wants the token")
        status, _, body = ask("POST", "/process.Process/Start", start("sh", "-c", "echo $A $B; pwd"), address=address, token="t0ken",
                              Content_Type="application/connect+json")
        same((status, text_of([m for _, m in frames(body)])), (200, f"1 2\n{FOLDER}\n".encode()))


@row("/init refuses what it does not understand, and changes nothing")
def _():
    with server() as (_, address):
        for body in (b"[]", b"{", b'{"envVars":[]}', b'{"envVars":{"A":1}}', b'{"envVars":{"A=":"1"}}', b'{"accessToken":1}',
                     b'{"timestamp":"yesterday"}', json.dumps({"accessToken": "x" * 2000}).encode()):
            same(ask("POST", "/init", body, address=address, token=None)[0], 400, str(body[:40]))
        same(ask("POST", "/init", json.dumps({"envVars": {"A": "x" * 200000}}), address=address, token=None)[0], 507)
        same(envs(address, None), {"E2B_SANDBOX": "true"})
        same(ask("POST", "/init", b"{}", address=address, token=None, Origin="https://a.test")[0], 403)


@row("/metrics")
def _():
    got = json.loads(ask("GET", "/metrics")[2])
    same(sorted(got), ["cpu_count", "cpu_used_pct", "disk_total", "disk_used", "mem_cache", "mem_total", "mem_total_mib",
                       "mem_used", "mem_used_mib", "ts"])
    holds(got["cpu_count"] >= 1 and got["mem_total"] > got["mem_used"] > 0 and 0 <= got["cpu_used_pct"] <= 100, got)


for name, function in rows:
    try:
        function()
        print("ok", name, flush=True)
    except Exception:
        print("# " + "\n# ".join(traceback.format_exc().strip().split("\n")[-12:]))
        print("no", name, flush=True)
