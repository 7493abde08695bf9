# SPDX-License-Identifier: MIT
"""v1_files.py [PATTERN]: files, archives and git of OpenHands' agent-server, of line 1.43,
row by row as its protocol is documented; and where od does better, as its README says."""
import base64
import contextlib
import io
import json
import os
import re
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
import urllib.parse

import httpx

from tap import LIMIT, Rows, Tap, has, holds, run_rows, same, show_log, wait_for
from v1_server import Server

T = os.path.abspath(os.environ["T"])
GIT_CONFIG = "[user]\nname = Ada\nemail = a@b.c\n[init]\ndefaultBranch = main\n"
ROOT = os.getuid() == 0
row = Rows()


@contextlib.contextmanager
def served(env=None, words=()):
    """Another server, whose working directory and home are at hand."""
    server = Server(env, words)
    try:
        yield server
        server.stop()
    finally:
        server.kill()


class Case:
    """A folder of its own, at the server that all share."""

    def __init__(self, server):
        self.server, self.http = server, server.http
        self.dir = tempfile.mkdtemp(dir=T)
        os.chmod(self.dir, 0o755)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def sh(self, script):
        done = subprocess.run(["sh", "-ec", script], cwd=self.dir, env=self.server.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT, check=False)
        same(done.returncode, 0, f"{script}: {done.stderr}")
        return done.stdout

    def write(self, name, data=""):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def get(self, url, /, **query):
        return self.http.get(url, params=query)

    def gives(self, wanted, url, /, **query):
        answer = self.get(url, **query)
        same([answer.status_code, answer.json()], [200, wanted], url)

    def refuses(self, status, detail, url, /, **query):
        answer = self.get(url, **query)
        same([answer.status_code, answer.json().get("detail")], [status, detail], url)

    def repository(self, script=""):
        self.sh("git init -q r; cd r; " + (script or "true"))
        return self.path("r")

    def upload(self, path, data, name="x"):
        return self.http.post("/api/file/upload", params={"path": path},
                              files={"file": (name, data)})


def errors(answer):
    same(answer.status_code, 422, answer.text)
    return [(x["type"], x["loc"]) for x in answer.json()["detail"]]


MISSING = [("missing", ["query", "path"])]


# --- upload


@row("an upload makes parents, and its answer has success")
def _(case):
    answer = case.upload(case.path("a/b/c.bin"), b"\0\xff" * 1000, "other.txt")
    same(answer.status_code, 200)
    same(answer.json(), {"success": True, "file_size": 2000})
    same(case.read("a/b/c.bin"), b"\0\xff" * 1000)


@row("an upload over a file keeps its mode and goes through a link")
def _(case):
    case.write("f", "old and longer")
    os.chmod(case.path("f"), 0o640)
    os.symlink("f", case.path("link"))
    same(case.upload(case.path("link"), b"new").status_code, 200)
    same([case.read("f"), os.path.islink(case.path("link"))], [b"new", True])
    same(stat.S_IMODE(os.stat(case.path("f")).st_mode), 0o640)


@row("an empty upload, and one by the route of before 2026")
def _(case):
    same(case.upload(case.path("empty"), b"").json()["success"], True)
    same(case.read("empty"), b"")
    answer = case.http.post(f"/api/file/upload/{case.path('old')}", files={"file": b"1"})
    same([answer.status_code, case.read("old")], [200, b"1"])


@row("an upload of many bytes is streamed, and another request is answered meanwhile")
def _(case):
    begun, go = threading.Event(), threading.Event()

    def body():
        yield (b"--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n")
        for i in range(64):
            yield bytes([i]) * (1 << 20)
            if i == 8:
                begun.set()
                go.wait(LIMIT)
        yield b"\r\n--B--\r\n"

    answers = []
    def send():
        answers.append(httpx.post(
            case.server.url + "/api/file/upload", params={"path": case.path("big")},
            headers={"X-Session-API-Key": case.server.key,
                     "Content-Type": "multipart/form-data; boundary=B"},
            content=body(), timeout=LIMIT, trust_env=False))
    thread = threading.Thread(target=send)
    thread.start()
    holds(begun.wait(LIMIT))
    same(case.get("/health").status_code, 200)
    holds(not os.path.exists(case.path("big")), "the file is there before its end")
    go.set()
    thread.join(LIMIT)
    same(answers[0].json(), {"success": True, "file_size": 64 << 20})
    data = case.read("big")
    same(len(data), 64 << 20)
    holds(all(data[i << 20] == i and data[(i + 1 << 20) - 1] == i for i in range(64)))


@row("an upload that is cut off leaves nothing")
def _(case):
    def body():
        yield (b"--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n")
        yield b"x" * (1 << 20)
        wait_for(lambda: os.listdir(case.dir), "a part of the upload", LIMIT)
        raise OSError("cut")

    with contextlib.suppress(OSError, httpx.HTTPError):
        httpx.post(case.server.url + "/api/file/upload", params={"path": case.path("f")},
                   headers={"X-Session-API-Key": case.server.key,
                            "Content-Type": "multipart/form-data; boundary=B"},
                   content=body(), timeout=LIMIT, trust_env=False)
    wait_for(lambda: not os.listdir(case.dir), "the part is removed", LIMIT)


@row("uploads that are refused")
def _(case):
    http = case.http
    answer = case.upload("relative/x", b"1")
    same([answer.status_code, answer.json()["detail"]], [400, "Path must be absolute"])
    same(errors(http.post("/api/file/upload", files={"file": b"1"})), MISSING)
    at = {"path": case.path("x")}
    missing = [("missing", ["body", "file"])]
    same(errors(http.post("/api/file/upload", params=at, files={"other": b"1"})), missing)
    same(errors(http.post("/api/file/upload", params=at, json={"file": "x"})), missing)
    same(errors(http.post("/api/file/upload", params=at)), missing)
    plain = {"file": (None, "text")}
    answer = http.post("/api/file/upload", params=at, files=plain)
    same(errors(answer), [("value_error", ["body", "file"])])
    same(answer.json()["detail"][0]["msg"],
         "Value error, Expected UploadFile, received: <class 'str'>")
    answer = http.post("/api/file/upload", params=at, content=b"x",
                       headers={"Content-Type": "multipart/form-data"})
    same([answer.status_code, answer.json()["detail"]],
         [400, "Missing boundary in multipart."])
    answer = http.post("/api/file/upload", params=at, content=b"--B\r\nno end",
                       headers={"Content-Type": "multipart/form-data; boundary=B"})
    same(answer.status_code, 400)
    same(os.listdir(case.dir), [])
    answer = http.post("/api/file/upload", params=at, content=b"--B\r\nContent-Disposition: form-"
                       b"data; name=\"file\"; filename=\"f\"\r\n\r\nhi\r\n--B--\r\n",
                       headers={"Content-Type": "Multipart/Form-Data; boundary=B"})
    same([answer.status_code, case.read("x")], [200, b"hi"])


@row("uploads that fail say why in exception")
def _(case):
    case.write("file", "x")
    answer = case.upload(case.dir, b"1" * 3_000_000)
    same([answer.status_code, answer.json()],
         [500, {"detail": "Internal Server Error", "exception":
                f"500: Failed to upload file: [Errno 21] Is a directory: '{case.dir}'"}])
    answer = case.upload(case.path("file/sub"), b"1")
    same([answer.status_code, answer.json()["exception"]],
         [500, f"500: Failed to upload file: [Errno 17] File exists: '{case.path('file')}'"])
    answer = case.upload("/proc/od-no-such", b"1")
    same(answer.status_code, 500)
    has(answer.json()["exception"], "500: Failed to upload file: ")
    same(sorted(os.listdir(case.dir)), ["file"])


# --- download


@row("a download has the fields that clients read")
def _(case):
    data = bytes(range(256)) * 20
    case.write("some file.bin", data)
    case.write("plain.txt", "text")
    answer = case.get("/api/file/download", path=case.path("plain.txt"))
    same([answer.status_code, answer.content], [200, b"text"])
    same(answer.headers["content-type"], "application/octet-stream")
    same(answer.headers["content-length"], "4")
    same(answer.headers["content-disposition"], 'attachment; filename="plain.txt"')
    same(answer.headers["accept-ranges"], "bytes")
    holds(answer.headers["last-modified"] and answer.headers["etag"])
    answer = case.get("/api/file/download", path=case.path("some file.bin"))
    same(answer.content, data)
    same(answer.headers["content-disposition"],
         "attachment; filename*=utf-8''some%20file.bin")
    answer = case.http.get(f"/api/file/download/{case.path('plain.txt')}")
    same(answer.content, b"text")


@row("ranges of a download")
def _(case):
    case.write("f", "0123456789")
    at = {"path": case.path("f")}
    answer = case.http.get("/api/file/download", params=at, headers={"Range": "bytes=2-4"})
    same([answer.status_code, answer.content, answer.headers["content-range"]],
         [206, b"234", "bytes 2-4/10"])
    answer = case.http.get("/api/file/download", params=at, headers={"Range": "bytes=-3"})
    same([answer.status_code, answer.content], [206, b"789"])
    answer = case.http.get("/api/file/download", params=at, headers={"Range": "bytes=10-"})
    same([answer.status_code, answer.headers["content-range"]], [416, "bytes */10"])
    answer = case.http.get("/api/file/download", params=at, headers={"Range": "lines=1"})
    same([answer.status_code, answer.content], [200, b"0123456789"])
    answer = case.http.head("/api/file/download", params=at)
    same([answer.status_code, answer.headers["content-length"], answer.content],
         [200, "10", b""])


@row("a download as large as many buffers, to a client that is slow, delays no other")
def _(case):
    data = os.urandom(1 << 20) * 24
    case.write("big", data)
    with case.http.stream("GET", "/api/file/download",
                          params={"path": case.path("big")}) as answer:
        same(answer.headers["content-length"], str(len(data)))
        pieces = answer.iter_bytes(1 << 20)
        got = [next(pieces)]
        same(httpx.get(case.server.url + "/alive", trust_env=False).status_code, 200)
        got += pieces
    holds(b"".join(got) == data, "the bytes are others")


@row("downloads that are refused")
def _(case):
    os.mkfifo(case.path("pipe"))
    case.refuses(400, "Path must be absolute", "/api/file/download", path="x")
    case.refuses(404, "File not found", "/api/file/download", path=case.path("none"))
    case.refuses(400, "Path is not a file", "/api/file/download", path=case.dir)
    case.refuses(400, "Path is not a file", "/api/file/download", path=case.path("pipe"))
    case.refuses(400, "Path is not a file", "/api/file/download", path="/dev/null")
    os.symlink("pipe", case.path("link"))
    case.refuses(400, "Path is not a file", "/api/file/download", path=case.path("link"))
    case.write("f", "x")
    case.refuses(404, "File not found", "/api/file/download", path=case.path("f/g"))
    same(errors(case.get("/api/file/download")), MISSING)
    answer = httpx.get(case.server.url + "/api/file/download", params={"path": "/test.txt"},
                       trust_env=False)
    same([answer.status_code, answer.json()], [401, {"detail": "Unauthorized"}])


@row("uploads, downloads and folders are actions in the log, without their bytes")
def _(case):
    with served() as server:
        path = os.path.join(server.dir, "f")
        at = {"path": path}

        def put(where, name="file"):
            return server.http.post("/api/file/upload", params={"path": where},
                                    files={name: b"secret words"}).status_code

        same([put(path), put(server.dir), put(path, "other")], [200, 500, 422])
        same(server.http.get("/api/file/download", params=at).content, b"secret words")
        same(server.http.get("/api/file/download", params={"path": path + "x"}).status_code, 404)
        same(server.http.head("/api/file/download", params=at).status_code, 200)
        made = server.http.post("/api/file/create_directory", params={"path": path + "d"})
        same(made.status_code, 200)

        def seen():
            found = server.actions("receive", "send", "mkdir")
            return len(found) == 5 and all(ends for _, ends in found) and found

        found = wait_for(seen, "five actions have their ends")
        same([(e["action"], e["args"]["path"], [o["observation"] for o in ends])
              for e, ends in found],
             [("receive", path, ["receive"]), ("receive", server.dir, ["error"]),
              ("send", path, ["send"]), ("send", path + "x", ["error"]),
              ("mkdir", path + "d", ["mkdir"])])
        (sent,) = found[0][1][0]["extras"]["files"]
        same((sent["path"], sent["size"]), (path, 12))
        same(found[3][1][0]["extras"]["code"], "NOTFOUND")
        holds("secret" not in json.dumps(server.actions("receive", "send")))


@row("an upload whose action is cancelled ends, and nothing is left; so does a download")
def _(case):
    with served(words=("--listen", "unix:ROOT/native")) as server:
        cancelled = threading.Event()

        def cancel(kind):
            (found,) = wait_for(lambda: server.actions(kind), f"a {kind} began")
            server.cancel(found[0]["id"])
            wait_for(lambda: server.actions(kind)[0][1], "it has its end")
            same(server.actions(kind)[0][1][0]["extras"]["code"], "CANCELLED")

        def body():
            yield b"--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n"
            yield b"x" * (1 << 20)
            cancel("receive")
            cancelled.set()
            yield b"x\r\n--B--\r\n"

        answer = httpx.post(
            server.url + "/api/file/upload", content=body(), timeout=LIMIT, trust_env=False,
            params={"path": os.path.join(server.dir, "f")},
            headers={"X-Session-API-Key": server.key,
                     "Content-Type": "multipart/form-data; boundary=B"})
        holds(cancelled.is_set() and answer.status_code == 500, answer.text)
        has(answer.json()["exception"], "cancelled")
        same(os.listdir(server.dir), [])
        with open(os.path.join(server.dir, "big"), "wb") as file:
            file.truncate(1 << 30)
        with server.http.stream("GET", "/api/file/download",
                                params={"path": os.path.join(server.dir, "big")}) as answer:
            cancel("send")
            with contextlib.suppress(httpx.HTTPError):
                same(sum(map(len, answer.iter_bytes(1 << 20))), 0)
                raise AssertionError("it came whole")


# --- folders


def make(case, path):
    return case.http.post("/api/file/create_directory",
                          params={} if path is None else {"path": path})


@row("create_directory")
def _(case):
    for _ in range(2):
        answer = make(case, case.path("a/b/c"))
        same([answer.status_code, answer.json()], [200, {"success": True}])
        case.write("a/b/c/kept")
    same(os.listdir(case.path("a/b/c")), ["kept"])
    for path in "a/b/c/kept", "a/b/c/kept/sub", "a/b/c/kept/sub/sub":
        answer = make(case, case.path(path))
        same([answer.status_code, answer.json()["detail"]],
             [400, "Path exists and is not a directory"])
    answer = make(case, "relative")
    same([answer.status_code, answer.json()["detail"]], [400, "Path must be absolute"])
    same(errors(make(case, None)), MISSING)


@row("home has favorites")
def _(case):
    with served() as server:
        home = server.env["HOME"]
        for name in "projects", "Documents", ".cache", "é":
            os.makedirs(os.path.join(home, name), exist_ok=True)
        os.symlink("projects", os.path.join(home, "link"))
        open(os.path.join(home, "file"), "w").close()
        answer = server.http.get("/api/file/home").json()
        same(answer, {"home": home, "favorites": [
            {"label": n, "path": os.path.join(home, n)} for n in ("Documents", "projects", "é")],
            "locations": [{"label": "/", "path": "/"}]})
        answer = server.http.get("/api/file/home", params={"include_hidden": "true"}).json()
        has([x["label"] for x in answer["favorites"]], ".cache")
        for i in range(60):
            os.mkdir(os.path.join(home, f"a{i}"))
        same(len(server.http.get("/api/file/home").json()["favorites"]), 50)


@row("search_subdirs sorts, and goes on by pages")
def _(case):
    for name in "b", "A", "c", ".hidden":
        os.mkdir(case.path(name))
    case.write("file")
    os.symlink("b", case.path("link"))
    url = "/api/file/search_subdirs"
    items = [{"name": n, "path": case.path(n)} for n in ("A", "b", "c")]
    case.gives({"items": items, "next_page_id": None}, url, path=case.dir)
    case.gives({"items": items[:2], "next_page_id": "c"}, url, path=case.dir, limit=2)
    case.gives({"items": items[2:], "next_page_id": None}, url, path=case.dir, limit=2,
               page_id="c")
    case.gives({"items": items[:1], "next_page_id": "b"}, url, path=case.dir, limit=1,
               page_id="unknown")
    shown = case.get(url, path=case.dir, include_hidden="true").json()["items"]
    same([x["name"] for x in shown], [".hidden", "A", "b", "c"])
    case.refuses(400, "Path must be absolute", url, path="x")
    case.refuses(404, "Directory not found", url, path=case.path("none"))
    case.refuses(400, "Path is not a directory", url, path=case.path("file"))
    same(errors(case.get(url)), MISSING)
    same(errors(case.get(url, path=case.dir, limit=0)), [("greater_than", ["query", "limit"])])
    same(errors(case.get(url, path=case.dir, limit=101)),
         [("less_than_equal", ["query", "limit"])])


if not ROOT:
    @row("what may not be entered")
    def _(case):
        os.mkdir(case.path("shut"), 0)
        url = "/api/file/search_subdirs"
        answer = case.get(url, path=case.path("shut"))
        same(answer.status_code, 403)
        has(answer.json()["detail"], "Permission denied: [Errno 13]")
        answer = make(case, case.path("shut/x"))
        same(answer.status_code, 403)


# --- archive


def archive(case, path, **query):
    return case.get("/api/file/archive", path=path, **query)


def members(answer):
    same([answer.status_code, answer.headers["content-type"]], [200, "application/gzip"])
    tar = tarfile.open(fileobj=io.BytesIO(answer.content))
    return tar, tar.getnames()


@row("tar.gz of a folder")
def _(case):
    for name in ("a/x.c", ".git/config", "node_modules/m/i.js", "dist/d", "build", "t.pyc",
                 "sub/build/o", "keep/dist.txt"):
        case.write(f"ws/{name}", name)
    os.mkdir(case.path("ws/empty"))
    os.symlink("a", case.path("ws/link"))
    answer = archive(case, case.path("ws"), format="tar.gz")
    tar, names = members(answer)
    same(sorted(names), ["ws", "ws/a", "ws/a/x.c", "ws/archive_manifest.json", "ws/build",
                         "ws/empty", "ws/keep", "ws/keep/dist.txt", "ws/sub"])
    same(names[-1], "ws/archive_manifest.json")
    text = tar.extractfile("ws/archive_manifest.json").read()
    manifest = json.loads(text)
    same(list(manifest), sorted(manifest))
    same([manifest["file_count"], manifest["format"], manifest["source"],
          manifest["total_bytes"]], [3, "tar.gz", "ws", len("a/x.cbuildkeep/dist.txt")])
    has(manifest["excludes"], ".git/", "*.pyc")
    same(answer.headers["content-disposition"], 'attachment; filename="ws.tar.gz"')
    same([x for x in answer.headers if x.startswith("x-archive")], [])


@row("tar.gz with patterns of the request, and without the usual ones")
def _(case):
    for name in ".git/config", ".git/HEAD", ".git/logs/HEAD", "a/gen/x", "b/a/gen/x", "t.log":
        case.write(f"ws/{name}", "1")
    tar, names = members(archive(case, case.path("ws"), format="tar.gz",
                                 use_default_excludes="false", exclude=["a/gen", "*.log"]))
    holds("ws/.git/HEAD" in names and "ws/b/a/gen/x" in names, names)
    for name in ".git/config", ".git/logs", "a/gen", "t.log":
        holds(f"ws/{name}" not in names, name)
    same(json.load(tar.extractfile(names[-1]))["excludes"], ["a/gen", "*.log"])


@row("the patch of a repository applies")
def _(case):
    case.repository("echo 1 > a; echo 1 > gone; head -c 200 /dev/urandom > bin; git add .;"
                    "git commit -qm one; cp -r . ../copy; echo 2 >> a; rm gone; echo n > new;"
                    "head -c 99 /dev/urandom > bin; mkdir node_modules; echo x > node_modules/x;"
                    "echo '*.o' > .gitignore; echo x > x.o")
    before = case.sh("cd r; sha256sum .git/index; find .git -type f | sort")
    answer = archive(case, case.path("r"), base_ref="HEAD")
    same(answer.status_code, 200, answer.text[:300])
    has(answer.headers["content-type"], "text/x-patch")
    same(answer.headers["content-disposition"], 'attachment; filename="r.patch"')
    head = case.sh("cd r; git rev-parse HEAD").strip()
    same({k: v for k, v in answer.headers.items() if k.startswith("x-archive")},
         {"x-archive-branch": "main", "x-archive-head-commit": head,
          "x-archive-repo-root": urllib.parse.quote(case.path("r"), safe=""),
          "x-archive-base-commit": head, "x-archive-base-ref": "HEAD"})
    case.write("patch", answer.content)
    case.sh("cd copy; git apply ../patch; test ! -e gone; cmp a ../r/a; cmp bin ../r/bin;"
            "cmp new ../r/new; test ! -e node_modules; test ! -e x.o")
    same(case.sh("cd r; sha256sum .git/index; find .git -type f | sort"), before)


@row("the only repository below is meant; its URL shows no secret")
def _(case):
    case.sh("mkdir -p ws/x ws/node_modules; git init -q ws/node_modules/m")
    case.repository("echo 1 > a; git add .; git commit -qm one; git checkout -q --detach;"
                    "git remote add origin 'https://me:secret@example.com/r.git?token=abc&v=1'")
    case.sh("mv r ws/x/r")
    answer = archive(case, case.path("ws"))
    same(answer.status_code, 200, answer.text[:300])
    same(urllib.parse.unquote(answer.headers["x-archive-repo-remote"]),
         "https://****@example.com/r.git?token=<redacted>&v=1")
    same(answer.headers["x-archive-branch"], "DETACHED")
    same(answer.headers["content-disposition"], 'attachment; filename="r.patch"')
    same(answer.headers["x-archive-base-ref"], "auto")
    same(answer.content, b"")
    tar, names = members(archive(case, case.path("ws"), format="tar.gz"))
    same(names[:2], ["r", "r/a"])


@row("a repository without commits is wholly new, a nested empty one is left out")
def _(case):
    case.repository("echo 1 > a; git init -q nested; echo 1 > nested/f")
    answer = archive(case, case.path("r"))
    same(answer.status_code, 200, answer.text[:300])
    same(re.findall(r"^diff.*", answer.text, re.M), ["diff --git a/a b/a"])
    holds("x-archive-base-commit" not in answer.headers)


@row("archives that are refused")
def _(case):
    case.repository("echo 1 > a; git add .; git commit -qm one")
    case.write("plain/f")
    url = "/api/file/archive"
    case.refuses(400, "Path must be absolute", url, path="x")
    case.refuses(404, "Directory not found", url, path=case.path("none"))
    case.refuses(400, "Path is not a directory", url, path=case.path("plain/f"))
    case.refuses(400, "base_ref must not start with '-'", url, path=case.path("r"),
                 base_ref="--output=/tmp/x")
    case.refuses(400, "base_ref 'nope' could not be resolved", url, path=case.path("r"),
                 base_ref="nope")
    case.refuses(400, f"Not a git repository: {case.path('plain')}", url,
                 path=case.path("plain"))
    same(errors(case.get(url, path=case.dir, format="rar")),
         [("literal_error", ["query", "format"])])
    same(errors(case.get(url)), MISSING)
    same(errors(case.get(url, path=case.dir, use_default_excludes="perhaps"))[0][1],
         ["query", "use_default_excludes"])


# --- git


CHANGES, DIFF, COMMITS = "/api/git/changes", "/api/git/diff", "/api/git/commits"


def change(status, path):
    return {"status": status, "path": path}


@row("changes are sorted, with names as they are")
def _(case):
    r = case.repository("for f in 'a b' é gone old @x; do echo 1 > \"$f\"; done; echo 1 > link;"
                        "git add .; git commit -qm one; echo 2 > 'a b'; echo 2 > é; rm gone;"
                        "git mv old new; rm link; ln -s é link; mkdir src; echo 1 > src/new.c;"
                        "echo '*.o' > .gitignore; touch x.o")
    case.gives([change("ADDED", ".gitignore"), change("UPDATED", "a b"),
                change("DELETED", "gone"), change("UPDATED", "link"), change("ADDED", "new"),
                change("DELETED", "old"), change("ADDED", "src/new.c"),
                change("UPDATED", "é")], CHANGES, path=r)
    case.gives([change("ADDED", "new.c")], CHANGES, path=r + "/src")
    answer = case.http.get(CHANGES + "/" + r)
    same(len(answer.json()), 8)


@row("changes without a repository or a commit")
def _(case):
    case.gives([], CHANGES, path=case.dir)
    case.gives([], CHANGES, path=case.path("none"))
    r = case.repository("touch untracked.txt")
    for ref in {}, {"ref": "HEAD"}:
        case.gives([change("ADDED", "untracked.txt")], CHANGES, path=r, **ref)
    case.sh("cd r; git add .; git commit -qm one; git checkout -q --orphan other;"
            "git rm -q --cached untracked.txt")
    case.gives([change("ADDED", "untracked.txt")], CHANGES, path=r, ref="HEAD")
    same(errors(case.get(CHANGES)), MISSING)
    case.refuses(400, "Git command failed: git --no-pager rev-parse --verify 'nope^{commit}'",
                 CHANGES, path=r, ref="nope")


@row("a relative path counts from the server's directory")
def _(case):
    with served() as server:
        subprocess.run(["git", "init", "-q", os.path.join(server.dir, "rel")], check=True)
        open(os.path.join(server.dir, "rel", "f"), "w").close()
        answer = server.http.get(CHANGES, params={"path": "rel"})
        same(answer.json(), [change("ADDED", "f")])


@row("repositories in the folder are compared on their own")
def _(case):
    r = case.repository("git init -q foo; touch foo/a; mkdir foobar; touch foobar/b")
    case.gives([change("ADDED", "foo/a"), change("ADDED", "foobar/b")], CHANGES, path=r)


@row("the base is origin's branch, or what HEAD grew from")
def _(case):
    case.repository("echo 1 > a; git add .; git commit -qm one")
    case.sh("git clone -q r c; cd c; git checkout -qb work; echo 2 > b; git add .;"
            "git commit -qm two")
    c = case.path("c")
    case.gives([change("ADDED", "b")], CHANGES, path=c)
    case.gives([], CHANGES, path=c, ref="HEAD")
    case.sh("cd c; git push -q origin work; echo 3 > a")
    case.gives([change("UPDATED", "a")], CHANGES, path=c)


@row("two versions of a file")
def _(case):
    r = case.repository("printf 'int main(void) { return 0; }\\n' > m.c; printf x > gone;"
                        "git add .; git commit -qm one;"
                        "printf 'int main(void) { return 1; }\\n' > m.c; rm gone;"
                        "printf 'a\\n\\n' > new; printf '\\377' > bin; printf ' a\\r\\nb' > crlf")
    def diff(modified, original, name, **query):
        case.gives({"modified": modified, "original": original}, DIFF,
                   path=os.path.join(r, name), **query)
    diff("int main(void) { return 1; }", "int main(void) { return 0; }", "m.c")
    diff("a\n", "", "new")
    diff("", "", "bin")
    diff(" a\nb", "", "crlf")
    diff("", "x", "gone")
    sha = case.sh("cd r; git rev-parse HEAD").strip()
    diff("int main(void) { return 0; }", "", "m.c", commit=sha)
    case.sh("cd r; git add .; git commit -qm two")
    diff("", "x", "gone", commit=case.sh("cd r; git rev-parse --short HEAD").strip())
    diff("int main(void) { return 1; }", "int main(void) { return 0; }", "m.c", ref="HEAD~1")
    case.gives({"modified": None, "original": None}, DIFF, path=case.path("plain"))
    answer = case.http.get(f"{DIFF}/{r}/m.c")
    same(answer.json()["modified"], "int main(void) { return 1; }")


@row("versions that are refused")
def _(case):
    r = case.repository("head -c 1048577 /dev/zero > big; git add .; git commit -qm one")
    case.refuses(400, f"File does not exist: {r}/none", DIFF, path=r + "/none")
    case.refuses(400, "File too large for git diff: 1048577 bytes (max: 1048576 bytes)", DIFF,
                 path=r + "/big")
    case.refuses(400, "'ref' and 'commit' are mutually exclusive", DIFF, path=r + "/big",
                 ref="HEAD", commit="abcd")
    case.refuses(400, "Git command failed: git --no-pager rev-parse --verify 'no^{commit}'",
                 DIFF, path=r + "/big", ref="no")
    same(errors(case.get(DIFF, path=r, commit="xyz!")),
         [("string_pattern_mismatch", ["query", "commit"])])
    same(errors(case.get(DIFF)), MISSING)


@row("commits, the newest first")
def _(case):
    r = case.repository("touch doomed.txt; git add .; git commit -qm one; git rm -q doomed.txt;"
                        "git commit -qm 'fix \"it\" | é' --date 2026-05-02T11:30:00+02:00")
    shas = case.sh("cd r; git log --format=%H").split()
    answer = case.get(COMMITS, path=r).json()
    same([c["sha"] for c in answer["commits"]], shas)
    same(answer["has_more"], False)
    first = answer["commits"][0]
    same(first, {"sha": shas[0], "short_sha": case.sh("cd r; git log -1 --format=%h").strip(),
                 "subject": 'fix "it" | é', "author": "Ada",
                 "timestamp": "2026-05-02T11:30:00+02:00"})
    answer = case.get(COMMITS, path=r, limit=1).json()
    same([len(answer["commits"]), answer["has_more"]], [1, True])
    case.gives([change("DELETED", "doomed.txt")], f"{COMMITS}/{shas[0]}/changes", path=r)
    case.gives([change("ADDED", "doomed.txt")], f"{COMMITS}/{shas[1][:8]}/changes", path=r)
    case.gives([], f"{COMMITS}/{shas[0]}/changes", path=case.dir)
    same(case.get(f"{COMMITS}/abcdef12/changes", path=r).status_code, 400)
    same(errors(case.get(f"{COMMITS}/not-a-sha/changes", path=r)),
         [("string_pattern_mismatch", ["path", "sha"])])
    case.gives({"commits": [], "has_more": False}, COMMITS, path=case.dir)
    same(errors(case.get(COMMITS, path=r, limit=0)), [("greater_than_equal", ["query", "limit"])])
    same(errors(case.get(COMMITS, path=r, limit=201)), [("less_than_equal", ["query", "limit"])])
    same(errors(case.get(COMMITS, path=r, limit="x")), [("int_parsing", ["query", "limit"])])


@row("no git in the image")
def _(case):
    with served(env={"PATH": "/no/such/folder"}) as server:
        os.makedirs(os.path.join(server.dir, "r/.git"))
        os.mkdir(os.path.join(server.dir, "plain"))
        get = server.http.get
        answer = get(CHANGES, params={"path": "r"})
        same([answer.status_code, answer.json()["detail"]],
             [400, "Git command not found. Is git installed?"])
        same(get(CHANGES, params={"path": "plain"}).json(), [])
        answer = get("/api/file/archive", params={"path": os.path.join(server.dir, "r"),
                                                  "format": "tar.gz"})
        same(answer.status_code, 200)
        answer = get("/api/file/archive", params={"path": os.path.join(server.dir, "r")})
        same(answer.status_code, 400)


# --- all of them


@row("what the description lists")
def _(case):
    paths = case.get("/openapi.json").json()["paths"]
    for path in ("/api/file/upload", "/api/file/download", "/api/file/archive", CHANGES, DIFF,
                 COMMITS, COMMITS + "/{sha}/changes"):
        holds(path in paths, path)
    holds(not any("{path}" in path or "*" in path for path in paths), paths.keys())
    for path in CHANGES, DIFF:
        query = {p["name"]: p for p in paths[path]["get"]["parameters"]}
        same(query["ref"]["required"], False)
    holds("commit" in query)


@row("wrong methods and slashes")
def _(case):
    answer = case.http.post("/api/file/download", params={"path": "/x"})
    same([answer.status_code, answer.json()], [405, {"detail": "Method Not Allowed"}])
    has(answer.headers["allow"], "GET")
    answer = case.http.get(CHANGES + "/", params={"path": case.dir}, follow_redirects=True)
    same([answer.status_code, answer.json()], [200, []])


@row("what was made stays, and an upload that a killed worker had is not there")
def _(case):
    with served() as server:
        path = os.path.join(server.dir, "made")
        answer = server.http.post("/api/file/create_directory", params={"path": path})
        same(answer.status_code, 200)

        left = os.path.join(server.env["OD_STATE_DIR"], "default/git/.od-git-left")
        os.makedirs(left)

        def body():
            yield b"--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n"
            yield b"x" * (1 << 20)
            wait_for(lambda: len(os.listdir(server.dir)) > 1, "a part of the upload", LIMIT)
            server.kill_worker()
            yield b"\r\n--B--\r\n"

        with contextlib.suppress(httpx.HTTPError):
            answer = httpx.post(
                server.url + "/api/file/upload",
                params={"path": os.path.join(server.dir, "f")}, content=body(),
                headers={"X-Session-API-Key": server.key,
                         "Content-Type": "multipart/form-data; boundary=B"}, timeout=LIMIT)
            holds(answer.status_code != 200, answer.text)
        holds(not os.path.exists(os.path.join(server.dir, "f")))
        holds(not os.path.exists(left), "what a patch left")
        found = server.http.get("/api/file/search_subdirs", params={"path": server.dir})
        same([x["name"] for x in found.json()["items"]], ["made"])


def main():
    tap = Tap()
    pattern = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    server = Server()
    show_log(os.path.join(server.root, "log"))
    with open(os.path.join(server.env["HOME"], ".gitconfig"), "w", encoding="utf-8") as file:
        file.write(GIT_CONFIG)

    @contextlib.contextmanager
    def fixture(_):
        yield Case(server)

    run_rows(tap, [("v1", x, fixture) for x in row if pattern.search(x.name)], at_once=6)
    server.stop()
    sys.exit(tap.done())


main()
