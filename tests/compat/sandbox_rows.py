# SPDX-License-Identifier: MIT
"""sandbox_rows.py [PATTERN]: what agent-sandbox's clients send to a sandbox, request by
request, and what they rely on in the answers: core/front/sandbox/README.md."""
import concurrent.futures
import datetime
import json
import os
import socket
import stat
import threading
from urllib.parse import quote

import httpx

import front_case
from front_case import LIMIT, answers, wait_for
from tap import Rows, has, holds, same

row = Rows()


class Case(front_case.Case):
    def __init__(self, user, options):
        super().__init__("sandbox", user, options)

    def get(self, path, **more):
        return self.http.get(path, **more)

    def execute(self, command, **more):
        answer = self.http.post("/execute", json={"command": command}, **more)
        same(answer.status_code, 200, answer.text)
        return answer.json()

    def upload(self, name, content, **more):
        """As SandboxClient.files.write: requests' multipart with the path as file name."""
        return self.http.post("/upload", files={"file": (name, content)}, **more)


# --- the runtime API


@row("GET / answers as the runtime does")
def _(case):
    answer = case.get("/")
    same(answer.status_code, 200)
    same(answer.json(), {"status": "ok", "message": "Sandbox Runtime is active."})
    same(case.get("/nothing").json(), {"detail": "Not Found"})
    same(case.get("/nothing").status_code, 404)
    same(case.get("/execute").status_code, 405)


@row("execute: words without a shell, outputs apart, in the folder that is served")
def _(case):
    same(case.execute("echo 'a  b' \"c\""), {"stdout": "a  b c\n", "stderr": "", "exit_code": 0})
    same(case.execute("pwd")["stdout"], case.dir + "\n")
    same(case.execute("echo $HOME; echo *")["stdout"], "$HOME; echo *\n")
    same(case.execute("sh -c 'echo out; echo err >&2; exit 3'"),
         {"stdout": "out\n", "stderr": "err\n", "exit_code": 3})
    same(case.execute("sh -c 'kill -9 $$'")["exit_code"], -9)
    same(case.execute("cat"), {"stdout": "", "stderr": "", "exit_code": 0})


@row("execute: what goes wrong with a command is no error of HTTP")
def _(case):
    for command, word in (("no-such-program-x", "no-such-program-x"), ("", "no word"),
                          ("echo 'open", "quote"), ("./missing", "missing")):
        got = case.execute(command)
        same([got["stdout"], got["exit_code"]], ["", 1], command)
        has(got["stderr"], "Failed to execute command: ", word)


@row("execute: bodies that do not fit are 422, as FastAPI has it")
def _(case):
    for body, kind in ((b"{}", "missing"), (b'{"command":1}', "string_type"),
                       (b"{", "json_invalid")):
        answer = case.http.post("/execute", content=body,
                                headers={"Content-Type": "application/json"})
        same(answer.status_code, 422, answer.text)
        same(answer.json()["detail"][0]["type"], kind)


@row("execute: bytes that are not UTF-8, escapes, and a large output, to the last byte")
def _(case):
    same(case.execute("printf '\\377a\\303\\251\"\\\\\\n\\t\\001'")["stdout"],
         "\ufffdaé\"\\\n\t\x01")
    got = case.execute("sh -c 'seq 1 400000; seq 1 200000 >&2'")
    same(got["stdout"], "".join(f"{i}\n" for i in range(1, 400001)))
    same(got["stderr"], "".join(f"{i}\n" for i in range(1, 200001)))
    one = case.execute("python3 -c 'print(\"é\" * 100001, end=\"\")'")
    same(one["stdout"], "é" * 100001)


@row("execute: many at once, and files meanwhile")
def _(case):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda i: case.execute(f"sh -c 'sleep 0.1; echo {i}'"), range(24)))
    same([one["stdout"] for one in got], [f"{i}\n" for i in range(24)])


@row("execute: a time limit", env={"SANDBOX_EXEC_TIMEOUT_SECONDS": "1"})
def _(case):
    got = case.execute("sh -c 'echo first; sleep 600 & sleep 600'")
    same([got["stdout"], got["exit_code"]], ["first\n", 1])
    has(got["stderr"], "Failed to execute command: it timed out after 1 seconds")


@row("execute: a client that goes leaves the command to its end")
def _(case):
    with socket.create_connection(("127.0.0.1", case.http.base_url.port)) as s:
        body = json.dumps({"command": "sh -c 'sleep 0.3; echo done >done'"}).encode()
        s.sendall(b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
                  b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        wait_for(lambda: "sleep 0.3" in case.execute("ps -ef")["stdout"] or
                 os.path.exists(case.path("done")), "it runs")
    wait_for(lambda: os.path.exists(case.path("done")), "it was done")


@row("execute: each command is an action in the log")
def _(case):
    case.execute("echo logged-word")
    page = httpx.get(case.native() + "/events?since=0", timeout=LIMIT)
    has(page.text, '"action":"process"', "logged-word", '"source":"sandbox"')


@row("upload: a relative path, parents made, replaced by a second one, byte for byte")
def _(case):
    content = os.urandom(3 << 20) + b"\r\n--x--\r\n"
    answer = case.upload("a/b c/ü.bin", content)
    same([answer.status_code, answer.json()],
         [200, {"message": "File 'a/b c/ü.bin' uploaded successfully."}])
    with open(case.path("a/b c/ü.bin"), "rb") as file:
        same(file.read() == content, True)
    os.chmod(case.path("a/b c/ü.bin"), 0o755)
    same(case.upload("/a/b c/ü.bin", b"2").status_code, 200)
    with open(case.path("a/b c/ü.bin"), "rb") as file:
        same(file.read(), b"2")
    same(stat.S_IMODE(os.stat(case.path("a/b c/ü.bin")).st_mode), 0o755)
    same(case.upload("empty", b"").status_code, 200)
    same(os.path.getsize(case.path("empty")), 0)


@row("upload: what leads out is 403, and nothing is written")
def _(case):
    os.symlink("/", case.path("root"))
    os.symlink("..", case.path("up"))
    for name in ("../x", "a/../../x", "root/tmp/x", "up/x"):
        answer = case.upload(name, b"x")
        same([answer.status_code, answer.json()], [403, {"message": "Access denied"}], name)
    holds(not os.path.exists(os.path.join(os.path.dirname(case.dir), "x")))
    same(case.upload("root", b"x").status_code, 403)
    holds(os.path.islink(case.path("root")))


@row("upload: no form, no part, no room for it: 4xx, which clients do not repeat")
def _(case):
    answer = case.http.post("/upload", content=b"x", headers={"Content-Type": "text/plain"})
    same(answer.status_code, 422, answer.text)
    answer = case.http.post("/upload", files={"other": ("n", b"x")})
    same(answer.json()["detail"][0]["loc"], ["body", "file"])
    case.execute("mkdir folder")
    same(case.upload("folder", b"x").status_code, 400)
    case.execute("sh -c 'mkdir closed; chmod 500 closed; echo >file'")
    same(case.upload("closed/x", b"x").status_code, 403)
    same(case.upload("file/x", b"x").status_code // 100, 4)
    for name in ("new/", "."):
        same(case.upload(name, b"x").status_code, 400)
    holds(not os.path.exists(case.path("new")))


@row("upload: one that is cut leaves nothing")
def _(case):
    with socket.create_connection(("127.0.0.1", case.http.base_url.port)) as s:
        head = (b'--b\r\nContent-Disposition: form-data; name="file"; filename="cut"\r\n\r\n')
        s.sendall(b"POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data;"
                  b" boundary=b\r\nContent-Length: 1000000\r\n\r\n" + head + b"x" * 100000)
        wait_for(lambda: any(n.startswith(".od-") for n in os.listdir(case.dir)), "it came")
    wait_for(lambda: os.listdir(case.dir) == [], "nothing is left")


@row("download: bytes, names that are encoded as one segment, 404, 403")
def _(case):
    content = bytes(range(256)) * 1000
    case.upload("a/b%20ü 1.bin", content)
    answer = case.get("/download/" + quote("a/b%20ü 1.bin", safe=""))
    same([answer.status_code, answer.content == content], [200, True])
    same(answer.headers["content-type"], "application/octet-stream")
    same(case.get("/download/a/" + quote("b%20ü 1.bin")).content == content, True)
    for path in ("missing", "a"):
        answer = case.get("/download/" + path)
        same([answer.status_code, answer.json()], [404, {"message": "File not found"}])
    os.symlink("/etc", case.path("etc"))
    for path in ("../x", "etc/passwd", "a/../../x"):
        answer = case.get("/download/" + quote(path, safe=""))
        same([answer.status_code, answer.json()], [403, {"message": "Access denied"}], path)
    os.symlink(case.path("a"), case.path("inner"))
    same(case.get("/download/" + quote("inner/b%20ü 1.bin", safe="")).status_code, 200)
    part = case.get("/download/" + quote("a/b%20ü 1.bin", safe=""), headers={"Range": "bytes=2-4"})
    same([part.status_code, part.content], [206, b"\x02\x03\x04"])


@row("names that are not UTF-8: by their bytes in a path, as U+FFFD in an answer")
def _(case):
    folder = os.fsencode(case.dir) + b"/d\xff"
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    with open(folder + b"/n\xfe", "wb") as file:
        file.write(b"there")
    for prefix in ("/download/", "/v1/files/"):
        same(case.get(prefix + "d%FF%2Fn%FE").content, b"there")
        same(case.get(prefix + "d%FE").status_code, 404)
    same(case.get("/exists/d%FF").json(), {"path": "d\ufffd", "exists": True})
    same([e["name"] for e in case.get("/list/d%FF").json()], ["n\ufffd"])
    same([e["name"] for e in case.get("/v1/files/d%FF").json()["entries"]], ["n\ufffd"])
    same(case.http.put("/v1/files/d%FF%2Fp%FD", content=b"put").status_code, 204)
    form = (b'--b\r\nContent-Disposition: form-data; name="file"; filename="d\xff/u\xfc"'
            b"\r\n\r\nup\r\n--b--\r\n")
    answer = case.http.post("/upload", content=form,
                            headers={"Content-Type": "multipart/form-data; boundary=b"})
    same(answer.status_code, 200, answer.text)
    same(sorted(os.listdir(folder)), [b"n\xfe", b"p\xfd", b"u\xfc"])
    same(case.http.delete("/v1/files/d%FF?recursive=true").status_code, 204)
    same(os.listdir(case.dir), [])
    same(case.get("/download/a%00b").status_code, 400)


@row("list: names, sizes, types and times; links are what they lead to")
def _(case):
    case.upload("d/one", b"12345")
    case.execute("mkdir d/sub")
    os.symlink("one", case.path("d/link"))
    os.symlink("nowhere", case.path("d/broken"))
    answer = case.get("/list/d")
    same(answer.status_code, 200)
    got = {entry["name"]: entry for entry in answer.json()}
    same(sorted(got), ["link", "one", "sub"])
    same([got["one"]["size"], got["one"]["type"], got["sub"]["type"], got["link"]["size"]],
         [5, "file", "directory", 5])
    same(abs(got["one"]["mod_time"] - os.stat(case.path("d/one")).st_mtime) < 0.001, True)
    for path in ("", "/", ".", quote(".", safe=""), "%2F"):
        same([e["name"] for e in case.get("/list/" + path).json()], ["d"], path)
    for path in ("missing", quote("d/one", safe="")):
        answer = case.get("/list/" + path)
        same([answer.status_code, answer.json()],
             [404, {"message": "Path is not a directory"}], path)
    same(case.get("/list/" + quote("d/../..", safe="")).status_code, 403)
    case.execute("mkdir many")
    case.execute("sh -c 'cd many; seq 1 25000 | xargs touch'")
    same(len(case.get("/list/many").json()), 25000)


@row("exists: true, false, and what leads out")
def _(case):
    case.upload("d/one", b"1")
    same(case.get("/exists/" + quote("d/one", safe="")).json(), {"path": "d/one", "exists": True})
    same(case.get("/exists/d").json(), {"path": "d", "exists": True})
    same(case.get("/exists/d/two").json(), {"path": "d/two", "exists": False})
    answer = case.get("/exists/" + quote("../x", safe=""))
    same([answer.status_code, answer.json()], [403, {"message": "Access denied"}])


# --- sandboxd


@row("v1: a file comes and goes: PUT, GET, HEAD, DELETE")
def _(case):
    where = "/v1/files/" + quote("new/deep/ü.txt", safe="")
    answer = case.http.put(where, content=b"one")
    same([answer.status_code, answer.content], [204, b""])
    same(stat.S_IMODE(os.stat(case.path("new/deep/ü.txt")).st_mode), 0o644)
    same(case.http.put(where, content=b"two", params={"mode": "0600"}).status_code, 204)
    same(stat.S_IMODE(os.stat(case.path("new/deep/ü.txt")).st_mode), 0o600)
    answer = case.get(where)
    same([answer.status_code, answer.content, answer.headers["content-type"]],
         [200, b"two", "application/octet-stream"])
    has(answer.headers, "last-modified")
    answer = case.http.head(where)
    same([answer.status_code, answer.headers["content-length"], answer.content], [200, "3", b""])
    same(case.http.delete(where).status_code, 204)
    same(case.http.delete(where).json()["code"], "NOT_FOUND")
    same(case.http.head(where).status_code, 404)
    answer = case.http.put("/v1/files/form", files={"file": ("ignored", b"of a form")})
    same(answer.status_code, 204)
    same(case.get("/v1/files/form").content, b"of a form")


@row("v1: what comes, goes and is removed is an action in the log, without its bytes")
def _(case):
    same(case.http.put("/v1/files/logged", content=b"kept-out").status_code, 204)
    same(case.get("/v1/files/logged").content, b"kept-out")
    same(case.http.delete("/v1/files/logged").status_code, 204)

    def logged():
        lines = httpx.get(case.native() + "/events?since=0", timeout=LIMIT).json()["events"]
        seen = [(e["action"], [o["observation"] for o in lines if o.get("cause") == e["id"]])
                for e in lines if e.get("source") == "sandbox" and "action" in e]
        holds("kept-out" not in str(lines), lines)
        return seen == [(verb, [verb]) for verb in ("receive", "send", "remove")]

    wait_for(logged, "three actions with their ends")


@row("v1: listings as the client decodes them")
def _(case):
    case.http.put("/v1/files/d/one", content=b"12345", params={"mode": "0640"})
    case.execute("mkdir d/sub")
    os.symlink("sub", case.path("d/link"))
    os.symlink("nowhere", case.path("d/broken"))
    got = case.get("/v1/files/d").json()
    same(got["path"], "/d")
    same([[e["name"], e["type"]] for e in got["entries"]],
         [["link", "directory"], ["one", "file"], ["sub", "directory"]])
    one = got["entries"][1]
    same([one["size"], one["mode"]], [5, "0640"])
    when = datetime.datetime.fromisoformat(one["modified_at"].replace("Z", "+00:00"))
    same(abs(when.timestamp() - os.stat(case.path("d/one")).st_mtime) <= 1, True)
    same([e["name"] for e in case.get("/v1/files/").json()["entries"]], ["d"])
    same([e["name"] for e in case.get("/v1/files").json()["entries"]], ["d"])
    same(case.http.head("/v1/files/d").status_code, 200)


@row("v1: ranges")
def _(case):
    case.http.put("/v1/files/r", content=b"0123456789")
    for field, status, content in (("bytes=0-3", 206, b"0123"), ("bytes=-2", 206, b"89"),
                                   ("bytes=8-", 206, b"89"), ("bytes=2-99", 206, b"23456789"),
                                   ("bytes=1-2,4-5", 206, b"12"), ("bytes=99-", 416, None),
                                   ("bytes=x", 416, None), ("bytes=3-1", 416, None)):
        answer = case.get("/v1/files/r", headers={"Range": field})
        same(answer.status_code, status, field)
        if content is not None:
            same(answer.content, content, field)
    got = case.get("/v1/files/r", headers={"Range": "bytes=0-3"})
    same(got.headers["content-range"], "bytes 0-3/10")
    for field in ({"If-None-Match": got.headers["etag"]},
                  {"If-Modified-Since": got.headers["last-modified"]}):
        answer = case.get("/v1/files/r", headers=field)
        same([answer.status_code, answer.content], [304, b""], field)
    same(case.get("/v1/files/r", headers={"If-None-Match": '"x"'}).content, b"0123456789")


@row("v1: errors have sandboxd's codes")
def _(case):
    case.http.put("/v1/files/full/f", content=b"x")
    os.symlink("/etc", case.path("etc"))

    def code(method, path, **more):
        answer = case.http.request(method, path, **more)
        return [answer.status_code, answer.json()["code"]]

    same(code("GET", "/v1/files/missing"), [404, "NOT_FOUND"])
    same(code("GET", "/v1/files/" + quote("../x", safe="")), [403, "PERMISSION_DENIED"])
    same(code("GET", "/v1/files/etc/passwd"), [403, "PERMISSION_DENIED"])
    same(code("PUT", "/v1/files/etc/x", content=b""), [403, "PERMISSION_DENIED"])
    same(code("PUT", "/v1/files/full", content=b""), [400, "INVALID_ARGUMENT"])
    for mode in ("644", "0888", "x", "00644"):
        same(code("PUT", "/v1/files/m", content=b"", params={"mode": mode}),
             [400, "INVALID_ARGUMENT"], mode)
    same(code("PUT", "/v1/files/m", files={"other": ("n", b"x")}), [400, "INVALID_ARGUMENT"])
    same(code("PUT", "/v1/files/full/f/x", content=b""), [400, "INVALID_ARGUMENT"])
    same(code("DELETE", "/v1/files/full"), [409, "CONFLICT"])
    same(code("DELETE", "/v1/files/full", params={"recursive": "maybe"}),
         [400, "INVALID_ARGUMENT"])
    same(code("DELETE", "/v1/files/" + quote("full/../..", safe="")), [403, "PERMISSION_DENIED"])
    same(code("DELETE", "/v1/files/"), [409, "CONFLICT"])
    same(code("GET", "/v1/nothing"), [404, "NOT_FOUND"])
    holds(not os.path.exists(case.path("m")))
    same(case.http.delete("/v1/files/full", params={"recursive": "true"}).status_code, 204)
    same(case.http.delete("/v1/files/etc").status_code, 403)
    case.execute("mkdir -p x/y")
    same(case.http.delete("/v1/files/", params={"recursive": "1"}).status_code, 204)
    same(os.listdir(case.dir), [])


@row("v1: health, and metadata without credentials",
     env={"SANDBOX_ID": "s-1", "SANDBOX_API_TOKEN": "t", "SANDBOX_Secret": "s",
          "SANDBOX_ENCRYPTION_KEY": "k", "OTHER": "o"})
def _(case):
    answer = case.get("/v1/health")
    same(answer.status_code, 200)
    same(answer.json()["status"], "ok")
    same(isinstance(answer.json()["uptime_seconds"], int), True)
    env = case.get("/v1/metadata").json()["env"]
    same(env["SANDBOX_ID"], "s-1")
    same([name for name in env if name in ("SANDBOX_API_TOKEN", "SANDBOX_Secret",
                                           "SANDBOX_ENCRYPTION_KEY", "OTHER")], [])


# --- who may ask


ROUTER = {"X-Sandbox-ID": "s-1", "X-Sandbox-Namespace": "default", "X-Sandbox-Port": "8888"}


@row("with a key it is wanted, except of health checks",
     env={"SESSION_API_KEY": "right-key"}, key="right-key")
def _(case):
    same([case.get("/").status_code, case.get("/v1/health").status_code], [200, 200])
    same(case.http.post("/execute", json={"command": "true"}).status_code, 403)
    same(case.get("/v1/files/").status_code, 403)
    key = {"X-Session-API-Key": "right-key"}
    same(case.execute("true", headers=key)["exit_code"], 0)
    same(case.get("/v1/metadata", headers=key).status_code, 200)


@row("--sandbox-open: its clients have no key, the native set wants it; no page may ask",
     env={"SESSION_API_KEY": "right-key"}, key="right-key",
     listen="sandbox@0.0.0.0:0", more=["--sandbox-open"])
def _(case):
    same(case.execute("true", headers=ROUTER)["exit_code"], 0)
    pod = {**ROUTER, "Host": "od-1.default.svc.cluster.local:8888"}
    same(case.execute("true", headers=pod)["exit_code"], 0)
    same(case.get("/v1/metadata", headers={"X-Session-API-Key": "wrong"}).status_code, 200)
    same(httpx.get(case.native() + "/events?since=0").status_code, 403)
    for bad in ({"Origin": "http://a.test"}, {"Host": "evil.example.com"},
                {"Sec-Fetch-Site": "cross-site"}):
        answer = case.http.post("/execute", json={"command": "touch page"}, headers=bad)
        same(answer.status_code, 403, bad)
    holds(not os.path.exists(case.path("page")))


# --- faults


@row("a killed worker: commands that run end once, and the next requests are served")
def _(case):
    def gone():
        try:
            case.execute("sh -c 'echo run >>runs; sleep 1'")
        except httpx.HTTPError:
            return True
        return False

    thread = threading.Thread(target=gone)
    thread.start()
    wait_for(lambda: os.path.exists(case.path("runs")), "it runs")
    case.server.kill_worker()
    thread.join(LIMIT)

    wait_for(answers(lambda: case.execute("cat runs")["stdout"] == "run\n"),
             "the next worker answers")
    same(case.upload("after", b"x").status_code, 200)


@row("the server ends: health is 503, and a command's answer is 200 all the same")
def _(case):
    where = ("127.0.0.1", case.http.base_url.port)
    body = b'{"command":"sh -c \'touch runs; exec sleep 600\'"}'
    with socket.create_connection(where) as health, socket.create_connection(where) as command, \
            socket.create_connection(where) as idle:
        health.sendall(b"GET /v1/health HTTP/1.1\r\n")
        command.sendall(b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/"
                        b"json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        wait_for(lambda: os.path.exists(case.path("runs")), "it runs")
        case.server.process.terminate()
        idle.settimeout(LIMIT)
        same(idle.recv(1), b"")
        health.sendall(b"Host: localhost\r\n\r\n")
        with health.makefile("rb") as file:
            has(file.read(), b"HTTP/1.1 503", b'"code":"UNAVAILABLE"')
        with command.makefile("rb") as file:
            has(file.read(), b"HTTP/1.1 200", b'"exit_code":1', b"the server was stopped")


@row("the folder that is served is missing", more=["--sandbox-dir", "/nowhere/at/all"])
def _(case):
    same(case.get("/exists/x").json()["exists"], False)
    same(case.upload("x", b"x").status_code, 404)
    same(case.get("/v1/files/x").json()["code"], "NOT_FOUND")
    same(case.http.put("/v1/files/x", content=b"x").json()["code"], "INVALID_ARGUMENT")
    same([case.get(path).status_code for path in ("/list/", "/download/x", "/v1/files/")], [404] * 3)
    same(case.http.delete("/v1/files/?recursive=true").status_code, 404)
    has(case.execute("true")["stderr"], "Failed to execute command", "/nowhere/at/all")


front_case.run_all("sandbox", row, Case)
