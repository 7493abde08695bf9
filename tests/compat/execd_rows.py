# SPDX-License-Identifier: MIT
"""execd_rows.py [PATTERN]: what OpenSandbox's server and clients send to execd, and what
they rely on in the answers: core/front/execd/README.md."""
import asyncio
import contextlib
import http.client
import http.server
import json
import os
import re
import socket
import stat
import subprocess
import threading
import time

import httpx
import websockets

import front_case
from front_case import LIMIT, answers, wait_for
from tap import Rows, has, holds, same

row = Rows()
ENVS = os.path.join(os.environ["T"], "envs")


class Case(front_case.Case):
    def __init__(self, user, options):
        super().__init__("execd", user, options)

    def events(self, where, body):
        """The events of a stream; each is one JSON object and two LF."""
        answer = self.http.post(where, json=body)
        same(answer.status_code, 200, answer.text)
        has(answer.headers["content-type"], "text/event-stream")
        parts = answer.text.split("\n\n")
        same(parts[-1], "")
        return [json.loads(part) for part in parts[:-1]]

    def run(self, command, **more):
        return self.events("/command", {"command": command, **more})


def plain(events):
    """Without ids and times."""
    return [(e["type"], e.get("text")) if "error" not in e
            else (e["type"], e["error"]["evalue"], e["error"]["traceback"][0]) for e in events]


@row("ping, unknown paths, wrong methods")
def _(case):
    answer = case.http.get("/ping")
    same([answer.status_code, answer.content, answer.headers["content-length"]], [200, b"", "0"])
    for method, path in (("GET", "/nothing"), ("PUT", "/command")):
        answer = case.http.request(method, path)
        same([answer.status_code, answer.text], [404, "404 page not found"])


@row("the token: on every path", env={"EXECD_ACCESS_TOKEN": "t0ken"})
def _(case):
    for headers in ({}, {"X-EXECD-ACCESS-TOKEN": "wrong"}, {"Authorization": "Bearer t0ken"}):
        for path in ("/ping", "/nothing"):
            answer = case.http.get(path, headers=headers)
            same(answer.status_code, 401)
            same(answer.json()["error"],
                 "Unauthorized: invalid or missing header X-EXECD-ACCESS-TOKEN")
    same(case.http.get("/ping", headers={"X-EXECD-ACCESS-TOKEN": "t0ken"}).status_code, 200)


@row("--execd-open: another machine may ask without a key; a token counts all the same",
     listen="execd@0.0.0.0:0", more=["--execd-open"], env={"SESSION_API_KEY": "k"})
def _(case):
    same(case.http.get("/ping").status_code, 200)


@row("command: init, ping, lines, the end; blank lines are LF")
def _(case):
    got = case.run("echo hi; exit 3")
    same(len(got[0]["text"]), 32)
    same(all("timestamp" in e for e in got), True)
    same(plain(got[1:]), [("ping", "pong"), ("stdout", "hi"), ("error", "3", "exit status 3")])
    same(got[-1]["error"]["ename"], "CommandExecError")
    got = case.run("printf 'a\\n\\nb\\n\\n\\nc\\n'")
    same([e["text"] for e in got if e["type"] == "stdout"], ["a", "\n", "b", "\n", "\n", "c"])
    same(got[-1]["type"], "execution_complete")
    got = case.run("printf 'prog 10%%\\rprog 20%%\\r\\nx\\r\\n\\r\\nrest'; echo err >&2")
    same([e["text"] for e in got if e["type"] == "stdout"],
         ["prog 10%", "prog 20%", "x", "\n", "rest"])
    same([e["text"] for e in got if e["type"] == "stderr"], ["err"])


@row("command: text that line splitters cut is escaped; a long line comes in pieces")
def _(case):
    answer = case.http.post("/command", json={
        "command": "printf '\\302\\205\\342\\200\\250\\377<&>\\033\\n'"})
    line = next(part for part in answer.content.split(b"\n\n") if b"stdout" in part)
    same(len(line.decode().splitlines()), 1)
    same(json.loads(line)["text"], "\x85\u2028\ufffd<&>\x1b")
    got = case.run("head -c 1000000 /dev/zero | tr '\\0' x")
    lines = [e["text"] for e in got if e["type"] == "stdout"]
    same(["".join(lines) == "x" * 1000000, len(lines) > 1], [True, True])
    got = case.run("seq 1 100000")
    same([e["text"] for e in got if e["type"] == "stdout"], [str(i) for i in range(1, 100001)])


@row("command: directory, variables, what cannot be")
def _(case):
    same(case.run("pwd", cwd="/")[2]["text"], "/")
    same(case.run("echo $A", envs={"A": "of it"})[2]["text"], "of it")
    for body, word in (({"command": ""}, "required"), ({"command": "x", "timeout": -1}, "negative"),
                       ({"command": "x", "cwd": "/nowhere"}, "does not exist: /nowhere"),
                       ({"command": "x", "cwd": "$NOT_THERE/x"}, "NOT_THERE"),
                       ({"command": "x", "gid": 1}, "uid is required")):
        answer = case.http.post("/command", json=body)
        same([answer.status_code, answer.json()["code"]], [400, "INVALID_REQUEST_BODY"], body)
        has(answer.json()["message"], word)
    same(case.http.post("/command", content=b"{").status_code, 400)
    same(case.run("pwd", cwd="$D/${E}", envs={"D": "/", "E": "usr"})[2]["text"], "/usr")
    for body in ({"command": 1}, {"command": "x", "timeout": "5"}, {"command": "x", "uid": -1},
                 {"command": "x", "timeout": 1.5}, {"command": "x", "cwd": []},
                 {"command": "x", "envs": {"A": 1}}, {"command": "x", "background": "yes"}):
        answer = case.http.post("/command", json=body)
        same(answer.status_code, 400, body)
        has(answer.json()["message"], "is of another type")
    got = case.run("echo done", cwd=None, envs=None, timeout=None, uid=None, gid=None,
                   background=None)
    same(got[2]["text"], "done")


@row("command: EXECD_ENVS is read for each command, and envs come first",
     env={"EXECD_ENVS": ENVS, "FROM_SERVER": "s"})
def _(case):
    def lines(command, **more):
        return [e["text"] for e in case.run(command, **more) if e["type"] == "stdout"]

    def write(text):
        with open(ENVS, "w", encoding="utf-8") as file:
            file.write(text)

    show = 'echo "$A|$B|$C"; env | grep -c "^[#1-9]"'
    same(lines(show), ["||", "0"])
    write("# of the file\n\n  A = one two = three  \nB=$FROM_SERVER-${NOT_THERE}-'q'\nno sign\n=x\nC=1\nC=2\n")
    same(lines(show), [" one two = three|s--'q'|2", "0"])
    same(lines(show, envs={"A": "mine", "C": ""}), ["mine|s--'q'|", "0"])
    write("A=again\n")
    same(lines(show), ["again||", "0"])
    id = case.http.post("/session").json()["session_id"]
    same(case.events(f"/session/{id}/run", {"command": "echo A=$A"})[2]["text"], "A=")
    os.unlink(ENVS)
    same(lines(show), ["||", "0"])


@row("command: a ping at once, and again while nothing is said; who goes leaves it to its end")
def _(case):
    with case.http.stream("POST", "/command", json={
            "command": "sleep 4; touch end", "cwd": case.dir}) as got:
        parts = got.iter_text()
        seen = read(parts, '"text":"pong"')
        while seen.count('"text":"pong"') < 2:
            seen += next(parts)
    same([e["type"] for e in map(json.loads, seen.split("\n\n")[:-1])], ["init", "ping", "ping"])
    wait_for(lambda: os.path.exists(case.path("end")), "it was done")


def late(case, where, body):
    """The events of a stream that is read only after others were served."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(LIMIT)
        s.connect(("127.0.0.1", case.http.base_url.port))
        link = http.client.HTTPConnection("127.0.0.1")
        link.sock = s
        link.request("POST", where, json.dumps(body))
        answer = link.getresponse()
        first = answer.readline()
        for i in range(20):
            same(case.run(f"echo {i}")[2]["text"], str(i))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)  # a small one is slow
        return [json.loads(part) for part in (first + answer.read()).decode().split("\n\n")[:-1]]


@row("a client that does not read: of /command, /code and a session; others are served")
def _(case):
    numbers = [str(i) * 10 for i in range(60000)]
    shell = "i=0; while [ $i -lt 60000 ]; do echo $i$i$i$i$i$i$i$i$i$i; i=$((i+1)); done"
    python = "for i in range(60000): print(str(i) * 10)"
    id = case.http.post("/session").json()["session_id"]
    for where, body in (("/command", {"command": shell}),
                        (f"/session/{id}/run", {"command": shell}),
                        ("/code", {"code": python, "context": {"language": "python"}}),
                        ("/code", {"code": shell, "context": {"language": "bash"}})):
        got = late(case, where, body)
        text = [e["text"] for e in got if e["type"] == "stdout"]
        lines = "".join(text).splitlines() if where == "/code" else text
        same([len(lines), lines == numbers, got[-1]["type"]], [60000, True, "execution_complete"], where)


@row("command: a time limit is in milliseconds, and is told")
def _(case):
    got = case.run("sleep 600 & sleep 600", timeout=200)
    same(got[-1]["error"]["evalue"], "-1")
    same(got[-1]["error"]["traceback"], ["signal: killed", "timeout after 200 ms"])
    status = case.http.get("/command/status/" + got[0]["text"]).json()
    has(status["error"], "timeout after 200 ms")


@row("command: background, status, logs with a cursor, interrupt")
def _(case):
    got = case.run("echo one; echo two >&2; sleep 0.2; echo three", background=True)
    same([e["type"] for e in got], ["init", "ping", "execution_complete"])
    id = got[0]["text"]
    same(case.http.get("/command/status/" + id).json()["content"][:8], "echo one")
    wait_for(lambda: not case.http.get("/command/status/" + id).json()["running"], "its end")
    status = case.http.get("/command/status/" + id).json()
    same([status["exit_code"], "finished_at" in status], [0, True])
    logs = case.http.get(f"/command/{id}/logs")
    same([logs.text, logs.headers["execd-commands-tail-cursor"]], ["one\ntwo\nthree\n", "14"])
    same(case.http.get(f"/command/{id}/logs?cursor=4").text, "two\nthree\n")
    same(case.http.get(f"/command/{id}/logs?cursor=14").text, "")
    same(case.http.delete("/command?id=" + id).status_code, 500)
    id = case.run("sleep 600", background=True)[0]["text"]
    answer = case.http.delete("/command?id=" + id)
    same([answer.status_code, answer.headers["content-length"]], [200, "0"])
    has(case.http.get("/command/status/" + id).json()["error"], "signal: terminated")
    id = case.run("trap '' TERM; while :; do sleep 0.1; done", background=True)[0]["text"]
    same(case.http.delete("/command?id=" + id).status_code, 200)
    same(case.http.get("/command/status/" + id).json()["running"], False)
    same(case.http.delete("/command").json()["code"], "MISSING_QUERY")
    same(case.http.delete("/command?id=x").json()["code"], "RUNTIME_ERROR")
    same(case.http.get("/command/status/x").status_code, 404)
    foreground = case.run("true")[0]["text"]
    same(case.http.get(f"/command/{foreground}/logs").status_code, 400)


@row("command: a killed worker: it goes on, and its status is known")
def _(case):
    id = case.run("sleep 1; echo end; exit 4", background=True)[0]["text"]
    case.server.kill_worker()

    wait_for(answers(lambda: not case.http.get("/command/status/" + id).json()["running"]),
             "its end")
    same(case.http.get("/command/status/" + id).json()["exit_code"], 4)
    same(case.http.get(f"/command/{id}/logs").text, "end\n")


@row("session: exports and directory survive, nothing of the report is seen")
def _(case):
    id = case.http.post("/session").json()["session_id"]

    def run(command, **more):
        got = case.events(f"/session/{id}/run", {"command": command, **more})
        same(got[0]["text"], id)
        return got[2:]

    same(plain(run("export A='x\ny'; B=2; cd /; echo out; echo err >&2")),
         [("stdout", "out"), ("stdout", "err"), ("execution_complete", None)])
    same([e["text"] for e in run('echo "$A:$B"; pwd')[:-1]], ["x", "y:", "/"])
    same([e["text"] for e in run("pwd", cwd=case.dir)[:-1]], [case.dir])
    same(run("pwd")[0]["text"], case.dir)
    same(plain(run("export C=3; exit 5")), [("error", "5", "exit status 5")])
    same(run("printf no-newline")[0]["text"], "no-newline")
    same(run("cat <<E\nhere $A\nE")[0]["text"], "here x")
    same(run("exec echo replaced")[0]["text"], "replaced")
    same(run("sleep 600", timeout=200)[-1]["error"]["evalue"], "-1")
    same(run("false")[-1]["error"]["evalue"], "1")
    answer = case.http.post("/session/x/run", json={"command": "true"})
    same([answer.status_code, answer.json()["code"]], [500, "RUNTIME_ERROR"])
    same(case.http.delete("/session/" + id).status_code, 200)
    same(case.http.delete("/session/" + id).json()["code"], "CONTEXT_NOT_FOUND")
    made = case.http.post("/session", json={"cwd": case.path("new/dir")}).json()["session_id"]
    same(case.events(f"/session/{made}/run", {"command": "pwd"})[2]["text"], case.path("new/dir"))


@row("code: without a language it is a command; other languages, contexts that are not there")
def _(case):
    same(case.events("/code", {"code": "echo c", "context": {}})[2]["text"], "c")
    same([e["type"] for e in case.events(
        "/code", {"code": "sleep 600", "context": {"language": "background-command"}})],
         ["init", "ping", "execution_complete"])
    for language, word in (("java", "language runtime server not configured"),
                           ("sql", "unknown language: sql"), ("x", "unknown language: x")):
        answer = case.http.post("/code", json={"code": "1", "context": {"language": language}})
        same([answer.status_code, answer.json()["code"]], [500, "RUNTIME_ERROR"])
        has(answer.json()["message"], "error running codes " + word)
        answer = case.http.post("/code/context", json={"language": language})
        has([answer.status_code, answer.json()["message"]], 500, "error creating code context. "
            + word + (", please check your image runtime" if language == "java" else ""))
    answer = case.http.post("/code", json={"code": "1", "context": {"id": "x"}})
    same([answer.status_code, answer.json()["message"]],
         [500, "error running codes context not found"])
    for body in ({"code": ""}, {"context": {}}):
        same(case.http.post("/code", json=body).status_code, 400)
    same(case.http.get("/code/contexts").json(), [])
    for language in ("command", "background-command", "sql"):
        same(case.http.get("/code/contexts?language=" + language).status_code, 500)
    for method in ("GET", "DELETE"):
        answer = case.http.request(method, "/code/contexts/x")
        same([answer.status_code, answer.json()["code"]], [404, "CONTEXT_NOT_FOUND"])
    same(case.http.delete("/code/contexts").json()["code"], "MISSING_QUERY")
    same(case.http.post("/code/context", json={}).status_code, 400)
    same(case.http.get("/v1/isolated/capabilities").json()["available"], False)
    same(case.http.post("/v1/isolated/session", json={}).status_code, 503)


def cell(case, code, **context):
    """The events behind init and ping, without times."""
    got = case.events("/code", {"code": code, "context": context})
    same([got[0]["type"], got[1]["type"]], ["init", "ping"])
    if "id" in context:
        same(got[0]["text"], context["id"])
    holds(all(isinstance(e["timestamp"], int) for e in got), got)
    return [{k: v for k, v in e.items() if k not in ("timestamp", "execution_time")}
            for e in got[2:] if e["type"] != "ping"]


DONE = {"type": "execution_complete"}


def read(parts, until=None):
    """What comes until it has a word, or to the end. Pings come all the time."""
    seen, end = "", time.monotonic() + LIMIT
    for part in parts:
        seen += part
        if until and until in seen:
            return seen
        if time.monotonic() > end:
            raise AssertionError(f"{until or 'the end'} does not come: {seen[-500:]}")
    return seen


@row("code: python: output, result, exception; names stay in their context")
def _(case):
    made = case.http.post("/code/context", json={"language": "python", "cwd": "/"}).json()
    same([made["language"], made["cwd"]], ["python", "/"])
    mine = {"id": made["id"]}
    same(cell(case, "import sys\nprint('out'); print('err', file=sys.stderr)\nx = 6", **mine),
         [{"type": "stdout", "text": "out\n"}, {"type": "stderr", "text": "err\n"}, DONE])
    same(cell(case, "import os\nprint(os.getcwd())", **mine)[0]["text"], "/\n")
    got = cell(case, "x * 7", **mine)
    same([e["type"] for e in got], ["execution_count", "result", "execution_complete"])
    same([got[0]["execution_count"], got[1]["results"]["text"]], [3, "42"])
    got = cell(case, "1/0", **mine)
    same([e["type"] for e in got], ["status", "error", "execution_complete"])
    same([got[0]["text"], got[1]["error"]["ename"], got[1]["error"]["evalue"]],
         ["error", "ZeroDivisionError", "division by zero"])
    holds(len(got[1]["error"]["traceback"]) > 0)
    other = cell(case, "x", language="python")
    same(other[1]["error"]["ename"], "NameError")
    for code, wanted in (("y = 2; print(y)", "2\n"), ("print(y + 1)", "3\n")):
        got = cell(case, code, language="python")  # a kernel may send a line in two pieces
        same("".join(e["text"] for e in got if e["type"] == "stdout"), wanted)
    text = "\x85\u2028<&>é"
    line = next(part for part in case.http.post("/code", json={
        "code": f"print({text!r})", "context": mine}).content.split(b"\n\n") if b"stdout" in part)
    same([len(line.decode().splitlines()), json.loads(line)["text"]], [1, text + "\n"])
    got = cell(case, "print('é' * 300000)", **mine)
    same("".join(e["text"] for e in got[:-1]) == "é" * 300000 + "\n", True)
    holds(all(len(e["text"].encode()) <= 65536 for e in got[:-1]))
    contexts = case.http.get("/code/contexts?language=python").json()
    same([len(contexts), mine["id"] in [c["id"] for c in contexts]], [2, True])
    same(case.http.get("/code/contexts/" + mine["id"]).json(),
         {"id": mine["id"], "language": "python"})
    answer = case.http.delete("/code/contexts/" + mine["id"])
    same([answer.status_code, answer.headers["content-length"]], [200, "0"])
    same(case.http.get("/code/contexts/" + mine["id"]).status_code, 404)
    same(case.http.delete("/code/contexts?language=python").status_code, 200)
    same(case.http.get("/code/contexts").json(), [])


@row("code: interrupted, and what waits for it runs then; each is an action in the log")
def _(case):
    id = case.http.post("/code/context", json={"language": "python"}).json()["id"]
    cell(case, "import time", id=id)
    with case.http.stream("POST", "/code", json={
            "code": "print('begun', flush=True); time.sleep(600)", "context": {"id": id}}) as first:
        parts = first.iter_text()
        read(parts, "begun")
        with case.http.stream("POST", "/code",
                              json={"code": "print('next')", "context": {"id": id}}) as second:
            same(case.http.delete("/code?id=" + id).status_code, 200)
            has(read(parts), "KeyboardInterrupt", "execution_complete")
            has(read(second.iter_text()), '"text":"next\\n"')
    page = httpx.get(case.native() + "/events?since=0", timeout=LIMIT).text
    has(page, '"action":"cell"', "interrupt_kernel", '"source":"execd"')


@row("code: bash: a shell that remembers, its exit code, an interrupt")
def _(case):
    id = case.http.post("/code/context", json={"language": "bash", "cwd": "/"}).json()["id"]
    same(cell(case, "pwd; x=1; f() { echo f$1; }", id=id), [{"type": "stdout", "text": "/\n"}, DONE])
    same(cell(case, "f $x; cd /tmp; echo err >&2", id=id)[0]["text"][:3], "f1\n")
    same(cell(case, "pwd; (exit 4)", id=id),
         [{"type": "stdout", "text": "/tmp\n"},
          {"type": "error", "error": {"ename": "CommandExecError", "evalue": "4",
                                      "traceback": ["exit status 4"]}}])
    got = cell(case, "seq 1 100000", id=id)
    same("".join(e["text"] for e in got[:-1]) == "".join(f"{i}\n" for i in range(1, 100001)), True)
    same(cell(case, "true", language="bash"), [DONE])
    for _ in range(10):  # it may come between the two commands, or before the second is a program
        with case.http.stream("POST", "/code", json={"code": "echo begun; sleep 600",
                                                     "context": {"id": id}}) as answer:
            parts = answer.iter_text()
            read(parts, "begun")
            same(case.http.delete("/code?id=" + id).status_code, 200)
            has(read(parts), '"evalue":"130"')
    same(case.http.delete("/code/contexts?language=bash").status_code, 200)


@row("code: contexts and their names outlive a killed worker")
def _(case):
    made = {language: case.http.post("/code/context", json={"language": language}).json()["id"]
            for language in ("python", "bash")}
    cell(case, "kept = 7", id=made["python"])
    cell(case, "kept=8", id=made["bash"])
    case.server.kill_worker()
    wait_for(answers(lambda: len(case.http.get("/code/contexts").json()) == 2), "both are listed")
    same(cell(case, "print(kept)", id=made["python"])[0]["text"], "7\n")
    same(cell(case, "echo $kept", id=made["bash"])[0]["text"], "8\n")


def upload(case, *files):
    form = []
    for path, content, more in files:
        form.append(("metadata", ("m", json.dumps({"path": path, **more}), "application/json")))
        form.append(("file", (os.path.basename(path), content)))
    return case.http.post("/files/upload", files=form)


@row("files: upload in pairs, download, ranges")
def _(case):
    answer = upload(case, (case.path("a/b ü"), b"one" * 100000, {"mode": 640}),
                    (case.path("c"), b"", {"mode": 755, "owner": None}))
    same([answer.status_code, answer.headers["content-length"]], [200, "0"], answer.text)
    same(stat.S_IMODE(os.stat(case.path("a/b ü")).st_mode), 0o640)
    same(stat.S_IMODE(os.stat(case.path("c")).st_mode), 0o755)
    many = [(case.path(f"m/{i}"), b"%d" % i, {}) for i in range(40)]
    same(upload(case, *many).status_code, 200)
    same(sorted(os.listdir(case.path("m")), key=int), [str(i) for i in range(40)])
    log = httpx.get(case.native() + "/events?since=0", timeout=LIMIT).json()["events"]
    forms = [e for e in log if e.get("source") == "execd" and e.get("action") == "receive"]
    (end,) = [e for e in log if e.get("cause") == forms[1]["id"]]
    same([len(forms), end["observation"], len(end["extras"]["files"])], [2, "receive", 40])
    got = case.http.get("/files/download", params={"path": case.path("a/b ü")})
    same(got.content, b"one" * 100000)
    has(got.headers["content-disposition"], "filename*=UTF-8''b%20%C3%BC")
    for field, status, content in (("bytes=0-2", 206, b"one"), ("bytes=-2", 206, b"ne")):
        got = case.http.get("/files/download", params={"path": case.path("a/b ü")},
                            headers={"Range": field})
        same([got.status_code, got.content], [status, content])
    for field in ("bytes=x", "bytes=9999999-"):
        same(case.http.get("/files/download", params={"path": case.path("c")},
                           headers={"Range": field}).status_code, 416)
    got = case.http.get("/files/download", params={"path": case.path("a/b ü")})
    for field in ({"If-None-Match": got.headers["etag"]},
                  {"If-Modified-Since": got.headers["last-modified"]}):
        same(case.http.get("/files/download", params={"path": case.path("a/b ü")},
                           headers=field).status_code, 304, field)
    with open(os.path.join(os.fsencode(case.dir), b"n\xff"), "wb") as file:
        file.write(b"by its bytes")
    same(case.http.get("/files/download?path=n%FF").content, b"by its bytes")
    same(case.http.get("/files/info?path=n%FF").json()["n\ufffd"]["size"], 12)
    same(case.http.delete("/files?path=n%FF").status_code, 200)
    holds(b"n\xff" not in os.listdir(os.fsencode(case.dir)))
    same(case.http.get("/files/download").json()["code"], "MISSING_QUERY")
    same(case.http.get("/files/download?path=/no").json()["code"], "FILE_NOT_FOUND")
    for files, code in (([("metadata", ("m", b"{", "application/json"))], "INVALID_FILE_METADATA"),
                        ([("metadata", ("m", b"{}", "application/json"))], "INVALID_FILE_METADATA"),
                        ([("metadata", ("m", b'{"path":"/x"}'))], "INVALID_FILE_CONTENT"),
                        ([("file", ("f", b"x"))], "INVALID_FILE_METADATA"),
                        ([("other", ("f", b"x"))], "INVALID_FILE")):
        answer = case.http.post("/files/upload", files=files)
        same([answer.status_code, answer.json()["code"]], [400, code], answer.text)


@row("files: lines of a file")
def _(case):
    text = "".join(f"{i}\n" for i in range(1, 100001))  # blocks end within and between lines
    for name, content in (("n", text), ("b", "a\n\n\nb"), ("none", ""), ("l", "x" * 131070 + "\ny\n")):
        same(upload(case, (case.path(name), content.encode(), {})).status_code, 200)

    def lines(name, **params):
        got = case.http.get("/files/download", params={"path": case.path(name), **params})
        same([got.status_code, got.headers["content-type"]], [200, "text/plain; charset=utf-8"])
        return got.text

    same(lines("n", offset=99999), "99999\n100000")
    same(lines("n", offset=1) == text[:-1], True)
    same(lines("n", offset=50000, limit=2), "50000\n50001")
    same(lines("n", limit=1), "1")
    same(lines("n", limit=30000) == "\n".join(str(i) for i in range(1, 30001)), True)
    same([lines("b", limit=n) for n in (1, 2, 3, 4, 5)], ["a", "a\n", "a\n\n", "a\n\n\nb", "a\n\n\nb"])
    same([lines("b", offset=n) for n in (2, 3, 4, 5)], ["\n\nb", "\nb", "b", ""])
    same(lines("none", offset=1), "")
    same([lines("l", offset=1) == "x" * 131070 + "\ny", lines("l", offset=2)], [True, "y"])
    for params in ({"offset": 0}, {"limit": 0}, {"offset": "x"}, {"limit": -1}):
        got = case.http.get("/files/download", params={"path": case.path("n"), **params})
        same([got.status_code, got.json()["code"]], [400, "INVALID_REQUEST_BODY"], params)
    same(case.http.get("/files/download", params={"path": case.path("n"), "offset": 1},
                       headers={"Range": "bytes=0-1"}).status_code, 400)
    same(case.http.get("/files/download", params={"path": "/no", "offset": 1}).status_code, 404)


@row("files: info, permissions, mv, replace, delete")
def _(case):
    upload(case, (case.path("f"), b"a-a-b", {"mode": 644}))
    os.symlink("f", case.path("l"))
    f, l = case.path("f"), case.path("l")
    got = case.http.get("/files/info", params={"path": [f, l]}).json()
    same([got[f]["type"], got[f]["size"], got[f]["mode"], got[l]["type"]],
         ["file", 5, 644, "symlink"])
    has(got[f], "owner", "group", "modified_at", "created_at")
    same(case.http.get("/files/info").json(), {})
    same(case.http.get("/files/info?path=/no").json()["code"], "FILE_NOT_FOUND")
    same(case.http.post("/files/permissions", json={f: {"mode": 600}}).status_code, 200)
    same(stat.S_IMODE(os.stat(f).st_mode), 0o600)
    answer = case.http.post("/files/replace?verbose=true", json={f: {"old": "a", "new": "xx"}})
    same(answer.json(), {f: {"replacedCount": 2}}, answer.text)
    with open(f, "rb") as file:
        same(file.read(), b"xx-xx-b")
    same(stat.S_IMODE(os.stat(f).st_mode), 0o600)
    same(case.http.post("/files/replace", json={f: {"old": "q", "new": ""}}).status_code, 200)
    same(case.http.post("/files/replace", json={f: {"old": "", "new": ""}}).status_code, 400)
    same(case.http.post("/files/replace", json={"/no": {"old": "a"}}).status_code, 404)
    to = case.path("x/y")
    same(case.http.post("/files/mv", json=[{"src": f, "dest": to}]).status_code, 200)
    same(case.http.post("/files/mv", json=[{"src": f, "dest": to}]).status_code, 404)
    upload(case, (f, b"2", {}))
    same(case.http.post("/files/mv", json=[{"src": f, "dest": to}]).status_code, 500)
    same(case.http.request("DELETE", "/files", params={"path": [f, "/no"]}).status_code, 200)
    same(case.http.request("DELETE", "/files", params={"path": case.path("x")}).status_code, 500)
    holds(os.path.isdir(case.path("x")))


@row("directories and search")
def _(case):
    same(case.http.post("/directories", json={case.path("d/e"): {"mode": 750},
                                              case.path("z"): {"mode": 0}}).status_code, 200)
    same(stat.S_IMODE(os.stat(case.path("d/e")).st_mode), 0o750)
    upload(case, (case.path("d/a.txt"), b"1", {}), (case.path("d/e/b.txt"), b"2", {}),
           (case.path("d/e/c.md"), b"3", {}))

    def names(depth=None):
        params = {"path": case.path("d"), **({"depth": depth} if depth is not None else {})}
        return [os.path.relpath(e["path"], case.dir)
                for e in case.http.get("/directories/list", params=params).json()]

    same(names(), ["d/a.txt", "d/e"])
    same(names(2), ["d/a.txt", "d/e", "d/e/b.txt", "d/e/c.md"])
    same(names(0), [])
    for depth in ("-1", "x"):
        same(case.http.get("/directories/list",
                           params={"path": case.dir, "depth": depth}).status_code, 400)
    os.symlink("d", case.path("link"))
    for path in (case.path("link"), case.path("link/")):
        answer = case.http.get("/directories/list", params={"path": path})
        same([answer.status_code, answer.json()["message"]], [
            400, "path is a symbolic link, refusing to traverse: " + case.path("link")])
    same([[e["type"], e["path"]] for e in case.http.get("/directories/list", params={
        "path": case.dir, "depth": 9}).json() if "link" in e["path"]],
         [["symlink", case.path("link")]])
    os.unlink(case.path("link"))
    same(case.http.get("/directories/list?path=/no").status_code, 404)

    def found(pattern):
        got = case.http.get("/files/search", params={"path": case.dir, "pattern": pattern})
        return [os.path.basename(e["path"]) for e in got.json()]

    same(found("*.txt"), ["a.txt", "b.txt"])
    same(found("{a,c}.*"), ["a.txt", "c.md"])
    same(found("[b-c].?d"), ["c.md"])
    for all in ("**", "", "*", "**/*"):
        same(found(all), ["a.txt", "b.txt", "c.md"], all)
    same(found("**/[!a].{md,t{x,y}t}"), ["b.txt", "c.md"])
    same(found("*a" * 300), [])
    same(case.http.get("/files/search", params={"path": case.dir, "pattern": "{a,b}" * 9}).status_code,
         400)
    same(case.http.get("/files/search").status_code, 400)
    same(case.http.get("/files/search?path=/no").status_code, 404)
    same(case.http.request("DELETE", "/directories",
                           params={"path": [case.path("d"), "/no"]}).status_code, 200)
    holds(not os.path.exists(case.path("d")))


@row("metrics")
def _(case):
    got = case.http.get("/metrics").json()
    has(got, "cpu_count", "cpu_used_pct", "mem_total_mib", "mem_used_mib", "timestamp")
    with case.http.stream("GET", "/metrics/watch") as answer:
        first = next(answer.iter_text())
    has(json.loads(first.strip()), "timestamp")


# --- /pty


async def frames(ws, until):
    """What comes, until a frame or the output so far fits; binary ones by channel."""
    got, output = [], b""
    while True:
        frame = await asyncio.wait_for(ws.recv(), LIMIT)
        if isinstance(frame, bytes):
            got.append((frame[0], frame[1:]))
            output += frame[9:] if frame[0] == 3 else frame[1:]
        else:
            got.append(json.loads(frame))
        if until(got[-1], output):
            return got, output


def asynchronous(function):
    def inside(case):
        asyncio.run(asyncio.wait_for(function(case), 2 * LIMIT))
    return inside


def pty(case, **body):
    answer = case.http.post("/pty", json=body)
    same(answer.status_code, 201, answer.text)
    id = answer.json()["session_id"]
    return id, case.address().replace("http", "ws") + f"/pty/{id}/ws"


@row("pty: connected, input, resize, ping, exit after all output")
@asynchronous
async def _(case):
    id, url = pty(case)
    same(case.http.get("/pty/" + id).json(),
         {"session_id": id, "running": False, "output_offset": 0})
    async with websockets.connect(url) as ws:
        got, _ = await frames(ws, lambda f, o: isinstance(f, dict))
        same(got[-1], {"type": "connected", "session_id": id, "mode": "pty"})
        await ws.send(json.dumps({"type": "resize", "cols": 100, "rows": 40}))
        await ws.send(b"\x00stty size\n")
        await frames(ws, lambda f, o: b"40 100" in o)
        await ws.send('{"type":"ping"}')
        await frames(ws, lambda f, o: f == {"type": "pong"})
        await ws.send('{"type":"nonsense"}')
        await frames(ws, lambda f, o: isinstance(f, dict) and f.get("code") == "INVALID_FRAME")
        await ws.send(json.dumps({"type": "stdin", "data": "echo la''st; exit 7\n"}))
        got, output = await frames(ws, lambda f, o: isinstance(f, dict) and f["type"] == "exit")
        same(got[-1]["exit_code"], 7)
        has(output, b"last\r\n")
        await asyncio.wait_for(ws.wait_closed(), LIMIT)
        same(ws.close_code, 1000)
    same(case.http.get("/pty/" + id).json()["running"], False)


@row("pty: pipes have two channels; what is missed is replayed by its offset")
@asynchronous
async def _(case):
    id, url = pty(case, command="echo out; echo err >&2; read x; echo got $x; sleep 600")
    async with websockets.connect(url + "?pty=0") as ws:
        got, _ = await frames(ws, lambda f, o: b"out\n" in o and b"err\n" in o)
        same(sorted(f[0] for f in got if isinstance(f, tuple)), [1, 2])
        same([f for f in got if isinstance(f, dict)][0]["mode"], "pipe")
    wait_for(lambda: case.http.get("/pty/" + id).json()["output_offset"] == 8, "all of it")
    async with websockets.connect(url + "?since=4") as ws:
        got, _ = await frames(ws, lambda f, o: isinstance(f, dict))
        same([got[0][0], got[0][1][:8], len(got[0][1])], [3, (4).to_bytes(8, "big"), 12])
        same(got[1]["type"], "connected")
        await ws.send(b"\x00it\n")
        await frames(ws, lambda f, o: b"got it\n" in o)
    async with websockets.connect(url + "?since=15") as ws:
        got, _ = await frames(ws, lambda f, o: isinstance(f, dict))
        same(got[0]["type"], "connected")
        await ws.send('{"type":"signal","signal":"SIGTERM"}')
        got, _ = await frames(ws, lambda f, o: isinstance(f, dict) and f["type"] == "exit")
        same(got[-1]["exit_code"], -1)


@row("pty: one client; takeover closes it with 4001; delete; 404")
@asynchronous
async def _(case):
    id, url = pty(case)
    async with websockets.connect(url) as one:
        await frames(one, lambda f, o: isinstance(f, dict))
        for more in ("", "?takeover=1"):
            answer = case.http.get(f"/pty/{id}/ws{more}")
            same([answer.status_code, answer.json()["code"]], [409, "ALREADY_CONNECTED"])
        async with websockets.connect(url + "?takeover=1") as two:
            await frames(two, lambda f, o: isinstance(f, dict))
            await asyncio.wait_for(one.wait_closed(), LIMIT)
            same([one.close_code, one.close_reason], [4001, "TAKEN_OVER"])
            await two.send(b"\x00echo sti''ll\n")
            await frames(two, lambda f, o: b"still" in o)
            same(case.http.delete("/pty/" + id).status_code, 200)
            await asyncio.wait_for(two.wait_closed(), LIMIT)
    same(case.http.delete("/pty/" + id).status_code, 404)
    same(case.http.get("/pty/x").json()["code"], "CONTEXT_NOT_FOUND")
    same(case.http.get("/pty/x/ws").status_code, 404)


async def reconnect(url):
    """While the next worker takes over."""
    end = time.monotonic() + LIMIT
    while True:
        try:
            return await websockets.connect(url, max_size=None)
        except (OSError, EOFError, websockets.WebSocketException):
            if time.monotonic() > end:
                raise
            await asyncio.sleep(0.05)


@row("pty: a killed worker: the program goes on, and what is missed is replayed")
@asynchronous
async def _(case):
    id, url = pty(case, cwd=case.dir)
    pipe, pipe_url = pty(case, command="head -c 1500000 /dev/zero | tr '\\0' x; echo err >&2; "
                                       "read x; echo got $x")
    async with websockets.connect(url) as ws:
        await ws.send(b"\x00stty -echo; PS1=; x=kept; echo rea''dy\n")
        await frames(ws, lambda f, o: b"ready" in o)
        async with websockets.connect(pipe_url + "?pty=0", max_size=None) as other:
            await frames(other, lambda f, o: b"err" in o and o.count(b"x") >= 1500000)
        at = case.http.get("/pty/" + id).json()["output_offset"]
        case.server.kill_worker()
    ws = await reconnect(f"{url}?since={at}")
    await frames(ws, lambda f, o: isinstance(f, dict) and f["type"] == "connected")
    await ws.send(b"\x00echo $x; sleep 0.2; echo la''st; pwd\n")
    await frames(ws, lambda f, o: b"kept" in o)
    case.server.kill_worker()
    ws = await reconnect(f"{url}?since={at}")
    got, output = await frames(ws, lambda f, o: case.dir.encode() in o)
    same([got[0][0], int.from_bytes(got[0][1][:8], "big")], [3, at])
    same(re.sub(rb"\x1b\[[?0-9]*[hl]|\r", b"", output).strip() + b"\n", f"kept\nlast\n{case.dir}\n".encode())
    two = await reconnect(url + "?takeover=1")
    await frames(two, lambda f, o: isinstance(f, dict) and f["type"] == "connected")
    await asyncio.wait_for(ws.wait_closed(), LIMIT)
    same(ws.close_code, 4001)
    await two.close()
    async with websockets.connect(pipe_url + "?pty=0&since=1500000") as ws:
        got, _ = await frames(ws, lambda f, o: isinstance(f, dict) and f["type"] == "connected")
        same([got[0][0], int.from_bytes(got[0][1][:8], "big"), len(got[0][1])],
             [3, 1500000, 8 + 4])
        await ws.send(b"\x00it\n")
        got, output = await frames(ws, lambda f, o: isinstance(f, dict) and f["type"] == "exit")
        same([output, got[-1]["exit_code"]], [b"got it\n", 0])
    same(case.http.get("/pty/" + pipe).json(),
         {"session_id": pipe, "running": False, "output_offset": 1500011})
    same(case.http.delete("/pty/" + id).status_code, 200)
    case.server.kill_worker()
    wait_for(answers(lambda: case.http.get("/pty/" + id).status_code == 404), "it is forgotten")
    same(case.http.get("/pty/" + pipe).json()["output_offset"], 1500011)


@row("pty: the program is started again, and the ring has the newest MiB")
@asynchronous
async def _(case):
    id, url = pty(case, command="head -c 1500000 /dev/zero | tr '\\0' x; echo end")
    async with websockets.connect(url + "?pty=0", max_size=None) as ws:
        await frames(ws, lambda f, o: isinstance(f, dict) and f["type"] == "exit")
    async with websockets.connect(url + "?pty=0", max_size=None) as ws:
        got, _ = await frames(ws, lambda f, o: isinstance(f, dict) and f["type"] == "connected")
        same([got[0][0], int.from_bytes(got[0][1][:8], "big"), len(got[0][1])],
             [3, 1500004 - (1 << 20), 8 + (1 << 20)])
        await frames(ws, lambda f, o: isinstance(f, dict) and f["type"] == "exit")
    same(case.http.get("/pty/" + id).json()["output_offset"], 2 * 1500004)


# --- /proxy


class App(http.server.BaseHTTPRequestHandler):
    """Tells what it got; at /field it answers with the fields of the query."""
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        told = json.dumps({"method": self.command, "target": self.path, "body": body,
                           "fields": {k.lower(): v for k, v in self.headers.items()}}).encode()
        self.send_response(200)
        for line in httpx.URL(self.path).params.get_list("field"):
            self.send_header(*line.split(": ", 1))
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(told)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_HEAD = answer

    def log_message(self, format, *args):
        pass


@contextlib.contextmanager
def app():
    """Its port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), App)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@row("proxy: method, path, query and body as they were sent; the token stays here",
     env={"EXECD_ACCESS_TOKEN": "t0ken"})
def _(case):
    case.http.headers["X-EXECD-ACCESS-TOKEN"] = "t0ken"
    with app() as port:
        for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            got = case.http.request(method, f"/proxy/{port}/a//b/c%20d?x=%41&y",
                                    content="body" if method == "POST" else None, headers={
                                        "Authorization": "Bearer of-the-app",
                                        "X-Forwarded-Host": "x", "X-Mine": "kept"})
            same(got.status_code, 200, got.text)
            got = got.json()
            same([got["method"], got["target"]], [method, "/a//b/c%20d?x=%41&y"])
            same(got["body"], "body" if method == "POST" else "")
            same([got["fields"].get(name) for name in (
                "x-execd-access-token", "authorization", "x-mine", "x-forwarded-for",
                "x-forwarded-proto", "x-forwarded-host", "host")],
                 [None, "Bearer of-the-app", "kept", "127.0.0.1", "http", None,
                  f"localhost:{port}"])
        same(case.http.head(f"/proxy/{port}/").status_code, 200)
        for path in (f"/proxy/{port}", f"/proxy/{port}?q"):
            same(case.http.get(path).json()["target"], path.replace(f"/proxy/{port}", "/"))
        for path in (f"/proxy/{port}", f"/proxy/{port}/x/y"):
            moved = case.http.get(path, params={"field": "Location: /to"})
            to = httpx.URL(case.address() + path).join(moved.headers["location"])
            same(to.path, f"/proxy/{port}/to")
        kept = case.http.get(f"/proxy/{port}/", params={"field": "Set-Cookie: a=1; Path=/x"})
        same(kept.headers["set-cookie"], f"a=1; Path=/proxy/{port}/x")
        same(case.http.get(f"/proxy/{port}/", headers={"X-EXECD-ACCESS-TOKEN": "no"}).status_code,
             401)


@row("proxy: no port, nothing there, this server itself")
def _(case):
    for path in ("/proxy", "/proxy/", "/proxy//x", "/proxy/x/y", "/proxy/0/", "/proxy/65536/"):
        answer = case.http.get(path)
        same([answer.status_code, answer.text], [400, "port is required"], path)
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        free = taken.getsockname()[1]
    answer = case.http.get(f"/proxy/{free}/")
    same([answer.status_code, answer.text], [502, "Bad Gateway"])
    own = httpx.URL(case.address()).port
    same(case.http.get(f"/proxy/{own}/ping").status_code, 403)


@row("proxy: WebSockets, and a stream as it comes")
@asynchronous
async def _(case):
    async def talk(ws, path=None):
        await ws.send(ws.request.path if hasattr(ws, "request") else path or ws.path)
        async for message in ws:
            await ws.send(message)

    more = asyncio.Event()

    async def stream(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
        await writer.drain()
        await more.wait()
        writer.write(b"data: 2\n\n")
        await writer.drain()
        writer.close()

    async with websockets.serve(talk, "127.0.0.1", 0, max_size=None) as apps:
        port = list(apps.sockets)[0].getsockname()[1]
        url = case.address().replace("http", "ws") + f"/proxy/{port}/ws?a=b"
        async with websockets.connect(url, max_size=None) as ws:
            same(await ws.recv(), "/ws?a=b")
            for message in ("text", b"bytes", "x" * 3000000):
                await ws.send(message)
                same(await ws.recv() == message, True)
    async with await asyncio.start_server(stream, "127.0.0.1", 0) as streams:
        port = streams.sockets[0].getsockname()[1]
        async with httpx.AsyncClient(timeout=LIMIT) as client:
            async with client.stream("GET", case.address() + f"/proxy/{port}/") as answer:
                parts = answer.aiter_text()
                same(await anext(parts), "data: 1\n\n")
                more.set()
                same(await anext(parts), "data: 2\n\n")


# --- the program


@row("the program execd: flags as Go reads them, and the environment")
def _(case):
    program = os.path.join(case.server.root, "execd")
    os.symlink(os.environ["OD"], program)
    env = {**case.server.env, "OD_STATE_DIR": os.path.join(case.server.root, "of-execd"),
           "OD_SOCKET": os.path.join(case.server.root, "of-execd.sock")}

    def call(*words):
        done = subprocess.run([program, *words], env=env, capture_output=True, text=True,
                              timeout=LIMIT)
        return [done.returncode, done.stderr.split("\n")[0]]

    same(call("-nope"), [2, "flag provided but not defined: -nope"])
    same(call("--port"), [2, "flag needs an argument: -port"])
    same(call("-port=x"), [2, "invalid value for flag -port: x"])
    same(call("--help"), [0, "Usage of execd:"])
    same(call("serve", "--nope")[0], 125)

    def serve(*words, **more):
        log = os.path.join(case.server.root, "execd.log")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(log)
        process = subprocess.Popen([program, *words], env={**env, "EXECD_LOG_FILE": log, **more},
                                   stdout=-3, stderr=-3, start_new_session=True)
        try:
            def port():
                try:
                    with open(log, encoding="utf-8") as file:
                        found = re.search(r"execd@[a-z:/]*0\.0\.0\.0:(\d+)", file.read())
                except FileNotFoundError:
                    return None
                return found and found[1]
            url = "http://127.0.0.1:" + wait_for(port, "it listens")
            return [httpx.get(url + "/ping", headers=headers, timeout=LIMIT).status_code
                    for headers in ({}, {"X-EXECD-ACCESS-TOKEN": "t0ken"})]
        finally:
            process.terminate()
            process.wait(LIMIT)

    same(serve("-port", "0", "--log-level=6", "-jupyter-host", "http://127.0.0.1:1",
               "-graceful-shutdown-timeout=50ms"), [200, 200])
    same(serve("--port=0", "--access-token", "t0ken"), [401, 200])
    same(serve("--port=0", EXECD_ACCESS_TOKEN="t0ken"), [401, 200])


@row("od install --execd: both files; the command's status is the sandbox's")
def _(case):
    folder = os.path.join(case.server.root, "opensandbox")
    od = os.environ["OD"]
    subprocess.run([od, "install", "--execd", folder], check=True, stdout=-3)
    same(sorted(os.listdir(folder)), ["bootstrap.sh", "execd"])
    same([stat.S_IMODE(os.stat(os.path.join(folder, n)).st_mode) for n in os.listdir(folder)],
         [0o755, 0o755])
    script = os.path.join(folder, "bootstrap.sh")
    subprocess.run(["sh", "-n", script], check=True)
    stub = os.path.join(folder, "stub")
    with open(stub, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\necho "$1 $3 $4 $5"; shift 5; exec "$@"\n')
    os.chmod(stub, 0o755)

    def boot(*words, **env):
        done = subprocess.run(["sh", script, *words], capture_output=True, text=True,
                              env={**os.environ, "EXECD_ENVS": os.path.join(folder, "env"),
                                   "EXECD": stub, **env}, timeout=LIMIT)
        return [done.returncode, done.stdout.split("\n")[0], done.stdout.split("\n")[1:]]

    words = "serve execd@0.0.0.0:44772 --execd-open --"
    same(boot("sh", "-c", "echo up; exit 3"), [3, words, ["up", ""]])
    same(boot("-c", "exit 4"), [4, words, [""]])
    same(boot(BOOTSTRAP_CMD="exit 5"), [5, words, [""]])
    same(boot("sh", "-c", "exit 6", EXECD="/missing")[0], 6)
    holds(os.path.exists(os.path.join(folder, "env")))
    done = subprocess.run([os.path.join(folder, "execd"), "serve", "--listen",
                           "execd@127.0.0.1:0", "--", "sh", "-c", "exit 7"],
                          env=case.server.env | {"OD_SOCKET": os.path.join(folder, "s"),
                                                 "OD_STATE_DIR": os.path.join(folder, "st")},
                          capture_output=True, timeout=LIMIT)
    same(done.returncode, 7, done.stderr)


front_case.run_all("execd", row, Case, 6)
