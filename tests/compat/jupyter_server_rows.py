# SPDX-License-Identifier: MIT
"""jupyter_server_rows.py [PATTERN]: requests about contents, sent to Debian's jupyter_server and to
ours, each with a root of its own. Answers and the files that they leave are compared; DIFFERENT has
what is not the same, and why."""
import base64
import concurrent.futures
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile

import httpx
import websocket

import tap
from tap import Rows, Tap, same
from v0_server import Server, users

TOKEN = "the-token-of-these-rows"
LIMIT = tap.LIMIT
AUTH = {"Authorization": "token " + TOKEN}
MISSING_FOLDER = "a missing folder is no fault of the server"
REASON = {
    # name of the row: (what the statuses are, theirs and ours, why)
    "save below a missing folder": (500, 404, MISSING_FOLDER),
    "save a notebook below a missing folder": (500, 404, MISSING_FOLDER),
    "make a folder below a missing folder": (500, 404, MISSING_FOLDER),
    "rename into a missing folder": (500, 404, MISSING_FOLDER),
    "rename what is not there": (500, 404, "what is not there is no fault of the server"),
    "checkpoint of what is not there": (500, 404, "what is not there is no fault of the server"),
    "checkpoint of a folder": (500, 400, "a folder has none"),
    "restore an unknown checkpoint": (500, 404, "as DELETE has it"),
    "save a file over a folder": (500, 400, "a folder is no fault of the server"),
    "save a notebook that is a text": (500, 400, "a wrong body is no fault of the server"),
    "save a notebook that is a list": (500, 400, "a wrong body is no fault of the server"),
    "save a notebook that is null": (500, 400, "a wrong body is no fault of the server"),
    "POST without a body": (500, 201, "the same as {}"),
    "POST with a type that is a number": (400, 201, "what is no text counts as not given"),
    "a body that is a list": (500, 400, "a wrong body is no fault of the server"),
    "a body that is a text": (500, 400, "a wrong body is no fault of the server"),
    "hash that is not the file's": (200, 409, "Jupyter compares none"),
    "a name that is too long": (500, 400, "a wrong name is no fault of the server"),
    "GET dir/": (302, 200, "a slash at the end needs no other address"),
    "GET dir/..": (302, 200, "a slash at the end needs no other address"),
    "GET a.txt/x": (500, 404, "what is not there is no fault of the server"),
    "GET dir/%2e/c.py": (200, 200, "path is without dots"),
    "GET n.ipynb?type=file": (200, 200, "a notebook has its own media type"),
    "GET n.ipynb?type=file&format=base64": (200, 200, "a notebook has its own media type"),
    "/files/ ..%2f..%2f..%2fx": (403, 404, "the same as for /api/contents"),
    "a notebook of nbformat 3": (200, 400, "od converts no notebook"),
    "a notebook without nbformat": (200, 400, "od converts no notebook"),
}
row = Rows()


class Theirs:
    """One jupyter_server for all rows."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="jupyter-")
        self.root = os.path.join(self.dir, "root")
        os.mkdir(self.root)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = open(self.dir + "/log", "w", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jupyter_server", "--no-browser", f"--ServerApp.port={self.port}",
             "--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1", f"--ServerApp.token={TOKEN}", "--allow-root",
             f"--ServerApp.root_dir={self.root}", "--FileContentsManager.delete_to_trash=False",
             "--ServerApp.jpserver_extensions={}"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env={**os.environ, "HOME": self.dir, "JUPYTER_RUNTIME_DIR": self.dir + "/run"})
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=LIMIT, headers=AUTH)
        self.url = f"ws://127.0.0.1:{self.port}"

        def answers():
            try:
                return self.http.get("/api").status_code == 200
            except httpx.HTTPError:
                if self.process.poll() is not None:
                    raise AssertionError(open(self.dir + "/log", encoding="utf-8").read()) from None
                return False
        tap.wait_for(answers, "jupyter_server answers", LIMIT)

    def end(self):
        self.http.close()
        self.process.terminate()
        self.process.wait(LIMIT)
        self.log.close()
        shutil.rmtree(self.dir)


class Ours:
    def __init__(self):
        user = next(one for one in users()[0] if one.name == "own")
        self.server = Server(user, {"JUPYTER_TOKEN": TOKEN}, None, None, ["--listen", "jupyter@127.0.0.1:0"])
        self.root = self.server.dir
        at = next(at for at in self.server.addresses if at.startswith("jupyter@")).split("@")[1]
        self.http = httpx.Client(base_url="http://" + at, timeout=LIMIT, headers=AUTH)
        self.url = "ws://" + at

    def end(self):
        self.http.close()
        self.server.stop()
        self.server.kill()
        self.server.remove()


NOTEBOOK = {"cells": [{"cell_type": "code", "execution_count": 3, "id": "c1", "metadata": {"trusted": True},
                       "outputs": [{"output_type": "stream", "name": "stdout", "text": "a\nb\r\nc"},
                                   {"output_type": "display_data", "metadata": {},
                                    "data": {"text/plain": "x\ny", "image/png": "aGk=\n", "application/json": {"b": [1], "a": 1.0},
                                             "image/svg+xml": "<svg>\n</svg>"}}],
                       "source": "print(1)\n# é\u2028\nß"},
                      {"cell_type": "markdown", "id": "c2", "metadata": {}, "source": "",
                       "attachments": {"a.txt": {"text/plain": "1\n2"}}}],
            "metadata": {"z": 1e3, "a": [], "b": {}, "kernelspec": {"name": "python3", "display_name": "P", "language": "python"}},
            "nbformat": 4, "nbformat_minor": 5}


def give(root):
    """Ours runs as the owner of its root."""
    owner = os.stat(os.path.dirname(root)).st_uid
    for folder, folders, names in os.walk(root):
        for name in (".", *folders, *names):
            os.lchown(os.path.join(folder, name), owner, owner)


def differs(got, wanted, at=""):
    """Where two answers are not the same."""
    if isinstance(got, dict) and isinstance(wanted, dict):
        for name in sorted({*got, *wanted}):
            yield from differs(got.get(name, "-"), wanted.get(name, "-"), f"{at}.{name}")
    elif isinstance(got, (list, tuple)) and isinstance(wanted, (list, tuple)) and len(got) == len(wanted):
        for n, pair in enumerate(zip(got, wanted)):
            yield from differs(*pair, f"{at}[{n}]")
    elif got != wanted:
        yield f"{at}: ours {got!r:.600}, theirs {wanted!r:.600}"


def alike(ours, theirs):
    for place in differs(ours, theirs):
        raise AssertionError(place)


def seed(root):
    """Files below the folder of a row."""
    os.makedirs(root + "/dir/inner")
    os.mkdir(root + "/empty")
    os.mkdir(root + "/.hidden")
    for name, data in (("a.txt", b"text\n"), ("b.bin", b"\xff\x00" * 40), ("noext", b"x"), ("dir/c.py", b"1\n"),
                       (".dot", b"hidden"), (".hidden/in.txt", b"hidden"), ("x.a.txt", b"x"), ("sp ace é.txt", b"y"),
                       ("bad.ipynb", b"{no json"), ("list.ipynb", b"[]"), ("n.ipynb", json.dumps(NOTEBOOK).encode()),
                       ("old.ipynb", b'{"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": []}'),
                       ("none.ipynb", b'{"cells": []}'), ("empty.txt", b""),
                       ("a-Copy1.txt", b"copy")):
        with open(f"{root}/{name}", "wb") as file:
            file.write(data)
    os.symlink("a.txt", root + "/link.txt")
    os.symlink("nowhere", root + "/broken")
    os.symlink("dir", root + "/linked")
    os.symlink("/tmp", root + "/out")
    os.mkfifo(root + "/pipe")
    give(root)


def tree(root):
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            where = os.path.relpath(path, root)
            if os.path.islink(path):
                found[where] = "link " + os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    found[where] = file.read()
        if not names and folder != root and not folder.endswith(".ipynb_checkpoints"):
            found[os.path.relpath(folder, root)] = "folder"
    return found


def plain(value, at):
    """An answer without what is another at each server."""
    if isinstance(value, list):
        return sorted((plain(one, at) for one in value), key=str)
    if not isinstance(value, dict):
        return value
    out = {}
    for name, one in value.items():
        if name in ("last_modified", "created"):
            out[name] = isinstance(one, str) and one.endswith("Z")
        elif name in ("hash", "hash_algorithm", "trusted"):
            continue  # newer than Debian's; nobody signs notebooks here
        elif name == "size" and value.get("type") == "notebook":
            continue
        elif name in ("message", "reason") and "type" not in value:
            continue
        else:
            out[name] = plain(one, at)
    return out


def ask(server, at, steps):
    """What the requests of a row get: statuses, and the rest of their answers."""
    statuses, rest = [], []
    for method, path, body in steps:
        content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        path = path.replace("@", at)
        answer = server.http.request(method, f"/api/contents/{path}" if path[:1] != "/" else path,
                                     content=json.dumps(json.loads(content), ensure_ascii=False).replace("@", at).encode()
                                     if content and not isinstance(body, bytes) else content)
        statuses.append(answer.status_code)
        place = answer.headers.get("location")
        if answer.headers.get("content-type", "").startswith("application/json"):
            got = answer.json()
            if answer.status_code >= 400:
                same(set(got) >= {"message", "reason"}, True, got)
                got = got["reason"] if path[:1] != "/" else None
            else:
                got = plain(got, at)
        else:
            got = (answer.content, answer.headers.get("content-type")) if answer.status_code == 200 else None
        rest.append((got, place))
    return statuses, rest


def rows_of(name, *steps, tree=True):
    row.append(tap.Row(name, steps, {"tree": tree}))


def get(name, path, more=""):
    rows_of(name, ("GET", ("@/" + path if path else "@") + more, None), tree=False)


def put(name, path, body):
    rows_of(name, ("PUT", "@/" + path, body), ("GET", "@/" + path, None))


for one in ("", "a.txt", "b.bin", "noext", "dir", "dir/c.py", "dir/inner", "empty", "x.a.txt", "sp%20ace%20%C3%A9.txt", "bad.ipynb",
            "list.ipynb", "n.ipynb", "empty.txt", "link.txt", "linked", "linked/c.py", "broken", "pipe", ".dot", ".hidden", ".hidden/in.txt",
            "none", "none/x", "a.txt/x", "dir/", "dir/../a.txt", "dir/..", "..%2f..%2f..%2fx", "dir%2fc.py", "%2e%2e/%2e%2e/x", "dir/%2e/c.py", "out"):
    get("GET " + (one or "the root"), one, "?content=0" if one == "out" else "")
get("a notebook of nbformat 3", "old.ipynb")
get("a notebook without nbformat", "none.ipynb")
get("GET n.ipynb?content=0", "n.ipynb", "?content=0")
get("GET n.ipynb?type=file", "n.ipynb", "?type=file")
get("GET n.ipynb?type=file&format=base64", "n.ipynb", "?type=file&format=base64")
for one in ("type=file", "type=notebook", "type=directory", "type=wrong", "format=text", "format=base64", "format=json", "content=0",
            "content=2"):
    for path in ("a.txt", "dir"):
        get(f"GET {path}?{one}", path, "?" + one)
get("text that is not UTF-8", "b.bin", "?format=text")
get("bytes, asked as a notebook", "b.bin", "?type=notebook")

put("save a text", "new.txt", {"type": "file", "format": "text", "content": "é\nline\r\n"})
put("save over a text", "a.txt", {"type": "file", "format": "text", "content": "new"})
put("save base64", "new.bin", {"type": "file", "format": "base64", "content": base64.encodebytes(b"\xff" * 90).decode()})
put("save an empty text", "a.txt", {"type": "file", "format": "text", "content": ""})
put("save over a link", "link.txt", {"type": "file", "format": "text", "content": "through"})
put("save as a link's folder has it", "linked/new.txt", {"type": "file", "format": "text", "content": "x"})
put("save a notebook", "new.ipynb", {"type": "notebook", "format": "json", "content": NOTEBOOK})
put("save over a notebook", "n.ipynb", {"type": "notebook", "format": "json", "content": {**NOTEBOOK, "cells": []}})
put("save over a notebook that is no JSON", "bad.ipynb", {"type": "notebook", "format": "json", "content": NOTEBOOK})
put("save a notebook as a file", "n.ipynb", {"type": "file", "format": "text", "content": "{}"})
put("save without format", "new.txt", {"type": "file", "content": "x"})
put("save with a wrong format", "new.txt", {"type": "file", "format": "json", "content": "x"})
put("save without type", "a.txt", {"format": "text", "content": "x"})
put("save a new file without type", "new.txt", {"format": "text", "content": "x"})
put("save a new notebook without type", "new.ipynb", {"content": NOTEBOOK})
put("save a new file without content", "new.txt", {"type": "file"})
put("save a new notebook without content", "new.ipynb", {"type": "notebook"})
put("save without content", "a.txt", {"type": "file", "format": "text"})
put("save a wrong type", "new.txt", {"type": "wrong", "format": "text", "content": "x"})
put("save a number as text", "new.txt", {"type": "file", "format": "text", "content": 5})
put("save a list as text", "new.txt", {"type": "file", "format": "text", "content": ["a"]})
put("save base64 that is a number", "new.txt", {"type": "file", "format": "base64", "content": 5})
put("save base64 that is none", "new.txt", {"type": "file", "format": "base64", "content": "a"})
put("save a notebook that is a text", "new.ipynb", {"type": "notebook", "content": "x"})
put("save a notebook that is a list", "new.ipynb", {"type": "notebook", "content": [1]})
put("save a notebook that is null", "new.ipynb", {"type": "notebook", "content": None})
put("make a folder", "made", {"type": "directory"})
put("make a folder that is there", "dir", {"type": "directory"})
put("make a folder over a file", "a.txt", {"type": "directory"})
put("make a folder below a missing folder", "none/made", {"type": "directory"})
put("save below a missing folder", "none/new.txt", {"type": "file", "format": "text", "content": "x"})
put("save a notebook below a missing folder", "none/new.ipynb", {"type": "notebook", "content": NOTEBOOK})
put("save a file over a folder", "dir", {"type": "file", "format": "text", "content": "x"})
put("save a hidden file", ".new", {"type": "file", "format": "text", "content": "x"})
put("save in a hidden folder", ".hidden/new", {"type": "file", "format": "text", "content": "x"})
put("save outside of the root", "..%2f..%2f..%2fx", {"type": "file", "format": "text", "content": "x"})
put("PUT with copy_from", "new.txt", {"copy_from": "@/a.txt"})
put("a body that is no JSON", "new.txt", b"{no")
put("a body that is a list", "new.txt", b"[1]")
put("a body that is a text", "new.txt", b'"x"')
put("a name that is too long", "n" * 300, {"type": "file", "format": "text", "content": "x"})
put("hash that is not the file's", "a.txt", {"type": "file", "format": "text", "content": "x", "hash": "0" * 64})
for one, name in ((1, "the first chunk"), (2, "a chunk after it"), (-1, "the last chunk"), (None, "a chunk that is null")):
    put("save " + name, "a.txt", {"type": "file", "format": "text", "content": "chunk", "chunk": one})
rows_of("a file in chunks", *[("PUT", "@/big.bin", {"type": "file", "format": "base64", "chunk": n, "content": base64.b64encode(b"%d" % n * 50).decode()})
                             for n in (1, 2, 3, -1)], ("GET", "@/big.bin", None))
put("a notebook in chunks", "n.ipynb", {"type": "notebook", "content": NOTEBOOK, "chunk": 1})
put("a chunk without content", "a.txt", {"type": "file", "format": "text", "chunk": 1})
put("a chunk without format", "a.txt", {"type": "file", "content": "x", "chunk": 2})

for one, name in (({}, "nothing"), ({"type": "file"}, "a file"), ({"type": "notebook"}, "a notebook"), ({"type": "directory"}, "a folder"),
                  ({"ext": ".py"}, "an ending"), ({"ext": ".ipynb"}, "a notebook's ending"), ({"type": "wrong"}, "a wrong type"),
                  ({"type": "file", "ext": ".a.txt"}, "two endings")):
    rows_of("POST with " + name, ("POST", "@/dir", one), ("POST", "@/dir", one))
rows_of("POST without a body", ("POST", "@/dir", None))
rows_of("POST with a type that is a number", ("POST", "@/dir", {"type": 5}))
rows_of("POST to a file", ("POST", "@/a.txt", {}))
rows_of("POST to a missing folder", ("POST", "@/none", {}))
rows_of("POST to a hidden folder", ("POST", "@/.hidden", {"copy_from": "@/a.txt"}))
for one in ("a.txt", "dir/c.py", "x.a.txt", "a-Copy1.txt", "n.ipynb", "noext", "link.txt", "none", "dir", ".dot", "b.bin", "bad.ipynb",
            "../../../../x", "sp ace é.txt"):
    rows_of("copy " + one, ("POST", "@/dir", {"copy_from": "@/" + one}), ("POST", "@/dir", {"copy_from": "@/" + one}))
rows_of("copy in its folder", ("POST", "@", {"copy_from": "@/a.txt"}))
rows_of("copy to a missing folder", ("POST", "@/none/x", {"copy_from": "@/a.txt"}))

for one in ("a.txt", "dir", "link.txt", "n.ipynb", "sp%20ace%20%C3%A9.txt", "empty"):
    rows_of("rename " + one, ("PATCH", "@/" + one, {"path": "@/renamed"}), ("GET", "@/renamed?content=0", None))
rows_of("rename into a folder", ("PATCH", "@/a.txt", {"path": "@/dir/a.txt"}))
rows_of("rename to itself", ("PATCH", "@/a.txt", {"path": "@/a.txt"}))
rows_of("rename over a file", ("PATCH", "@/a.txt", {"path": "@/noext"}))
rows_of("rename over a folder", ("PATCH", "@/a.txt", {"path": "@/dir"}))
rows_of("rename to a hidden name", ("PATCH", "@/a.txt", {"path": "@/.a"}))
rows_of("rename a hidden file", ("PATCH", "@/.dot", {"path": "@/dot"}))
rows_of("rename out of the root", ("PATCH", "@/a.txt", {"path": "../x"}))
rows_of("rename into a missing folder", ("PATCH", "@/a.txt", {"path": "@/none/a"}))
rows_of("rename what is not there", ("PATCH", "@/none", {"path": "@/b"}))
rows_of("rename without a path", ("PATCH", "@/a.txt", {}))
rows_of("rename without a body", ("PATCH", "@/a.txt", None))
rows_of("rename with its checkpoint", ("POST", "@/a.txt/checkpoints", None), ("PATCH", "@/a.txt", {"path": "@/b.md"}),
        ("GET", "@/b.md/checkpoints", None), ("GET", "@/a.txt/checkpoints", None))

for one in ("a.txt", "dir", "empty", "none", ".dot", ".hidden", "link.txt", "..%2f..%2fx", "n.ipynb"):
    rows_of("DELETE " + one, ("DELETE", "@/" + one, None), ("GET", "@/" + one + "?content=0", None))
rows_of("DELETE the root", ("DELETE", "/api/contents/", None))
rows_of("DELETE a folder that has checkpoints only", ("DELETE", "@/dir/c.py", None), ("DELETE", "@/dir/inner", None),
        ("PUT", "@/dir/z.ipynb", {"type": "notebook"}), ("DELETE", "@/dir/z.ipynb", None), ("DELETE", "@/dir", None))
rows_of("DELETE with its checkpoint", ("POST", "@/a.txt/checkpoints", None), ("DELETE", "@/a.txt", None), ("GET", "@/a.txt/checkpoints", None))

PART = {"type": "file", "format": "text", "content": "second"}
rows_of("checkpoint, save, restore", ("POST", "@/a.txt/checkpoints", None), ("PUT", "@/a.txt", PART), ("GET", "@/a.txt/checkpoints", None),
        ("POST", "@/a.txt/checkpoints/checkpoint", None), ("GET", "@/a.txt", None), ("DELETE", "@/a.txt/checkpoints/checkpoint", None),
        ("GET", "@/a.txt/checkpoints", None), ("DELETE", "@/a.txt/checkpoints/checkpoint", None))
rows_of("checkpoint twice", ("POST", "@/a.txt/checkpoints", None), ("PUT", "@/a.txt", PART), ("POST", "@/a.txt/checkpoints", None))
rows_of("checkpoint of a name without ending", ("POST", "@/noext/checkpoints", None))
rows_of("checkpoint of two endings", ("POST", "@/x.a.txt/checkpoints", None))
rows_of("no checkpoint", ("GET", "@/a.txt/checkpoints", None))
rows_of("checkpoint of what is not there", ("POST", "@/none/checkpoints", None))
rows_of("checkpoint of a folder", ("POST", "@/dir/checkpoints", None))
rows_of("restore an unknown checkpoint", ("POST", "@/a.txt/checkpoints/other", None))
rows_of("remove an unknown checkpoint", ("DELETE", "@/a.txt/checkpoints/other", None))
rows_of("a new notebook has a checkpoint", ("POST", "@/dir", {"type": "notebook"}), ("GET", "@/dir/Untitled.ipynb/checkpoints", None))

for one in ("a.txt", "b.bin", "n.ipynb", "dir/c.py", ".dot", ".hidden/in.txt", "none", "x.a.txt", "sp%20ace%20%C3%A9.txt", "..%2f..%2f..%2fx", "link.txt"):
    rows_of("/files/ " + one, ("GET", "/files/@/" + one, None), tree=False)


class Terminal:
    """A client of terminado."""

    def __init__(self, server, name):
        self.socket = websocket.create_connection(f"{server.url}/terminals/websocket/{name}", timeout=LIMIT,
                                                  header=["Authorization: token " + TOKEN])
        same(json.loads(self.socket.recv()), ["setup", {}])

    def say(self, *message):
        self.socket.send(json.dumps(message))

    def until(self, word):
        text = ""
        while word not in text:
            kind, one = json.loads(self.socket.recv())[:2]
            same(kind, "stdout")
            text += one
        return text


def terminal_of(server):
    answer = server.http.post("/api/terminals", json={})
    same((answer.status_code, set(answer.json()) >= {"name", "last_activity"}), (200, True), answer.text)
    return answer.json()["name"]


def names(server):
    return {one["name"] for one in server.http.get("/api/terminals").json()}


TERMINALS = Rows()


@TERMINALS("terminals: made, listed, described, removed")
def _(server):
    name = terminal_of(server)
    same(name in names(server), True)
    same(server.http.get("/api/terminals/" + name).json()["name"], name)
    same(server.http.delete("/api/terminals/" + name).status_code, 204)
    tap.wait_for(lambda: name not in names(server), "it leaves the list", LIMIT)
    same(server.http.get("/api/terminals/" + name).status_code, 404)
    same(server.http.delete("/api/terminals/none").status_code, 404)


@TERMINALS("terminals: input, output, size")
def _(server):
    name = terminal_of(server)
    one = Terminal(server, name)
    one.say("set_size", 31, 97, 500, 900)
    one.say("stdin", "echo a$((20+3))b; stty size; printf '\\303'; printf '\\251\\n'; echo do''ne\r")
    text = one.until("done")
    same([word in text for word in ("a23b", "31 97", "é")], [True] * 3, text)
    one.socket.close()
    server.http.delete("/api/terminals/" + name)


@TERMINALS("terminals: two clients, and one that comes late")
def _(server):
    name = terminal_of(server)
    both = [Terminal(server, name), Terminal(server, name)]
    both[0].say("stdin", "echo fi''rst\r")
    for one in both:
        one.until("first")
    late = Terminal(server, name)
    late.until("first")
    late.say("stdin", "echo sec''ond\r")
    both[1].until("second")
    for one in (*both, late):
        one.socket.close()
    server.http.delete("/api/terminals/" + name)


@TERMINALS("terminals: the shell ends")
def _(server):
    name = terminal_of(server)
    one = Terminal(server, name)
    one.say("stdin", "exit\r")
    while (message := json.loads(one.socket.recv()))[0] == "stdout":
        pass
    same(message, ["disconnect", 1])
    one.socket.close()
    tap.wait_for(lambda: name not in names(server), "it leaves the list", LIMIT)


@TERMINALS("terminals: none of this name, and none without a token")
def _(server):
    name = terminal_of(server)
    for where, header in (("none", ["Authorization: token " + TOKEN]), (name, [])):
        try:
            websocket.create_connection(f"{server.url}/terminals/websocket/{where}", timeout=LIMIT, header=header)
        except websocket.WebSocketBadStatusException as error:
            same(error.status_code in (403, 404), True, error)
        else:
            raise AssertionError("a WebSocket was opened")
    server.http.delete("/api/terminals/" + name)


def compare(one, servers, number):
    if callable(one.function):
        for server in servers:
            one.function(server)
        return
    at = f"row{number}"
    for server in servers:
        seed(f"{server.root}/{at}")
    theirs, ours = (ask(server, at, one.function) for server in servers)
    if one.name in REASON:
        wanted, got, _ = REASON[one.name]
        same((theirs[0][0], ours[0][0]), (wanted, got), "the first statuses of a difference, theirs and ours")
        return
    same(ours[0], theirs[0], "statuses of ours and theirs")
    alike(ours[1], theirs[1])
    if one.options["tree"]:
        alike(tree(f"{servers[1].root}/{at}"), tree(f"{servers[0].root}/{at}"))


def main():
    tests = Tap()
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    with contextlib.ExitStack() as stack:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            starts = [pool.submit(Theirs), pool.submit(Ours)]
            servers = [one.result() for one in starts]
        for server in servers:
            stack.callback(server.end)

        def run(number, one):
            try:
                compare(one, servers, number)
                tests.line(True, one.name)
            except Exception as error:  # each row has its line
                tests.line(False, one.name, [f"{type(error).__name__}: {error}"])
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(run, *zip(*[(n, one) for n, one in enumerate([*TERMINALS, *row]) if pattern in one.name])))
    unused = set(REASON) - {one.name for one in row}
    tests.line(not unused, "each difference has its row", sorted(unused))
    sys.exit(tests.done())


main()
