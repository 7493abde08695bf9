# SPDX-License-Identifier: MIT
"""jupyter_server_rows.py [PATTERN]: requests about contents, sent to Debian's jupyter_server and to
ours, each with a root of its own. Answers and the files that they leave are compared; REASON has
what is not the same, and why. Rows about kernels, sessions and terminals are functions that hold at
both."""
import base64
import concurrent.futures
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

import httpx
import websocket

import tap
from jupyter_channels import TOKEN, Channels, text
from tap import Rows, Tap, same
from v0_server import Server, users

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
    "HEAD /files/ ..%2f..%2f..%2fx": (403, 404, "the same as for /api/contents"),
    "a notebook without nbformat": (200, 400, "od does not guess"),
}
row = Rows()


OLD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jupyter_old_kernel.py")


def add_kernel(home, owner):
    """The kernelspec of a kernel that speaks version 5.0."""
    folder = os.path.join(home, ".local", "share", "jupyter", "kernels", "old")
    os.makedirs(folder)
    program = shutil.copy(OLD, folder)
    with open(folder + "/kernel.json", "w", encoding="ascii") as file:
        json.dump({"argv": [sys.executable, program, "{connection_file}"], "display_name": "Old", "language": "old"}, file)
    while owner is not None and folder != home:
        for one in (folder, *map(folder.__add__, ("/kernel.json", "/jupyter_old_kernel.py"))):
            if os.path.exists(one):
                os.chown(one, owner, owner)
        folder = os.path.dirname(folder)


class Theirs:
    """One jupyter_server for all rows."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="jupyter-")
        self.root = os.path.join(self.dir, "root")
        os.mkdir(self.root)
        self.home = self.dir
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
        add_kernel(self.home, None)

        def answers():
            try:
                return self.http.get("/api").status_code == 200
            except httpx.HTTPError:
                if self.process.poll() is not None:
                    raise AssertionError(open(self.dir + "/log", encoding="utf-8").read()) from None
                return False
        tap.wait_for(answers, "jupyter_server answers", LIMIT)

    def address(self):
        return self.url.replace("ws:", "http:")

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
        add_kernel(self.server.home, os.stat(self.root).st_uid)

    def address(self):
        return self.url.replace("ws:", "http:")

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


# Of nbformat 3, with each kind of cell and output.
THREE = {"metadata": {"name": "old", "signature": "x", "k": 1}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [
    {"metadata": {}, "cells": [
        {"cell_type": "heading", "level": 2, "metadata": {}, "source": ["Title\n", "two"]},
        {"cell_type": "markdown", "metadata": {}, "source": ["a\n", "b"]},
        {"cell_type": "raw", "metadata": {}, "source": "r"},
        {"cell_type": "html", "metadata": {}, "source": "<b>x</b>"},
        {"cell_type": "code", "collapsed": False, "input": ["1+1\n", "2"], "language": "python", "metadata": {"m": 1},
         "prompt_number": 3, "outputs": [
             {"output_type": "pyout", "prompt_number": 3, "metadata": {}, "text": ["2\n", "x"], "png": "aGk=",
              "html": "<i>", "json": ["{\"a\": 1}"], "latex": "l", "svg": "s", "jpeg": "aGk=", "javascript": "j"},
             {"output_type": "display_data", "metadata": {"png": {"width": 3}}, "text": "t"},
             {"output_type": "stream", "stream": "stderr", "text": ["e\n"]},
             {"output_type": "stream", "text": ["o\n"]},
             {"output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": ["a", "b"]}]},
        {"cell_type": "code", "language": "python", "input": "x", "metadata": {}, "outputs": []}]},
    {"metadata": {}, "cells": [{"cell_type": "markdown", "metadata": {}, "source": "second"}]}]}


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
                       ("old.ipynb", json.dumps(THREE).encode()),
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
        all_of = [plain(one, at) for one in value]
        # The entries of a folder are in any order.
        return sorted(all_of, key=str) if all(isinstance(one, dict) and "path" in one for one in all_of) else all_of
    if not isinstance(value, dict):
        return value
    out = {}
    for name, one in value.items():
        if name in ("last_modified", "created"):
            out[name] = isinstance(one, str) and one.endswith("Z")
        elif name in ("hash", "hash_algorithm", "trusted"):
            continue  # newer than Debian's; nobody signs notebooks here
        elif name == "id" and "cell_type" in value and re.fullmatch(r"[0-9a-f]{8}|cell-\d+", str(one)):
            out[name] = "of a cell that was converted"
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
        head = method == "HEAD"
        if head and isinstance(server, Theirs):
            method = "GET"  # Debian's answers HEAD with 500: a HEAD is what GET has, without its content
        answer = server.http.request(method, f"/api/contents/{path}" if path[:1] != "/" else path,
                                     content=json.dumps(json.loads(content), ensure_ascii=False).replace("@", at).encode()
                                     if content and not isinstance(body, bytes) else content)
        statuses.append(answer.status_code)
        place = answer.headers.get("location")
        if head:
            got = [answer.headers.get(name) for name in ("content-type", "content-length")] if answer.status_code == 200 else None
            same(isinstance(server, Theirs) or answer.content == b"", True, "a HEAD has no content")
        elif answer.headers.get("content-type", "").startswith("application/json"):
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
    rows_of("HEAD /files/ " + one, ("HEAD", "/files/@/" + one, None), tree=False)
for one in ("dir", "empty.txt", "broken", "pipe", "a.txt?download=1"):
    rows_of("HEAD /files/ " + one, ("HEAD", "/files/@/" + one, None), tree=False)


KERNELS = Rows()
UNKNOWN = "00000000-0000-4000-8000-000000000000"


def kernel_of(server, name="python3"):
    answer = server.http.post("/api/kernels", json={"name": name})
    same((answer.status_code, answer.headers.get("location")), (201, "/api/kernels/" + answer.json()["id"]), answer.text)
    return answer.json()["id"]


@contextlib.contextmanager
def channels_of(server, kernel=None, name="python3", **more):
    """A client of a kernel, by default of a new one, which ends with it."""
    own = kernel or kernel_of(server, name)
    one = Channels(server, own, **more)
    try:
        yield one
    finally:
        one.close()
        if not kernel:
            server.http.delete("/api/kernels/" + own)


def kind(messages, name):
    return [m["content"] for m in messages if m["msg_type"] == name]


def reply_to(channels, asked, *others):
    """The reply to a request; none to the others precedes it."""
    while True:
        message = channels.next()
        parent = message["parent_header"].get("msg_id")
        same(parent in others, False, message)
        if parent == asked and message["msg_type"].endswith("_reply"):
            return message


for v1 in (False, True):
    form = "v1 frames" if v1 else "JSON frames"

    @KERNELS(f"kernels: a message to a channel that no kernel has is not answered, and the next one is ({form})")
    def _(server, v1=v1):
        with channels_of(server, v1=v1) as channels:
            wrong = [channels.send(name, "kernel_info_request", {})
                     for name in ("none", "hb", "Shell", "shell ", "", "shell\\", "\u00e9", "x" * 5000)]
            same(reply_to(channels, channels.send("shell", "kernel_info_request", {}), *wrong)["channel"], "shell")
            same(reply_to(channels, channels.send("control", "kernel_info_request", {}), *wrong)["channel"], "control")
            same(text(channels.run("print(5)")), "5\n")

    @KERNELS(f"kernels: version 5.0 of the messages ({form})")
    def _(server, v1=v1):
        with channels_of(server, name="old", v1=v1) as channels:
            info = reply_to(channels, channels.send("shell", "kernel_info_request", {}))["content"]
            same((info["protocol_version"], info["language_info"]["name"]), ("5.0", "old"))
            asked = channels.send("shell", "comm_info_request", {})
            seen = channels.run("say é")
            same((text(seen), kind(seen, "execute_reply")[0]["status"]), ("é", "ok"))
            same([m for m in seen if m["parent_header"].get("msg_id") == asked and m["channel"] == "shell"], [])
            same(kind(channels.run("fail"), "execute_reply")[0]["ename"], "Failed")
            same([m["channel"] for m in seen if m["msg_type"] == "execute_input"], ["iopub"])


@KERNELS("kernels: one of version 5.0 is interrupted, restarted and removed")
def _(server):
    kernel = kernel_of(server, "old")
    with channels_of(server, kernel) as channels:
        asked = channels.send("shell", "execute_request", {"code": "wait", "silent": False})
        channels.until(lambda m: m["msg_type"] == "execute_input" and m["parent_header"].get("msg_id") == asked)
        same(server.http.post(f"/api/kernels/{kernel}/interrupt").status_code, 204)
        same(kind(channels.answers(asked), "execute_reply")[0]["ename"], "Interrupted")
        same(kind(channels.run("say 1"), "execute_reply")[0]["execution_count"], 2)
        same(server.http.post(f"/api/kernels/{kernel}/restart").status_code, 200)
    if isinstance(server, Ours):  # Debian's answers before the kernel does, and may lose what is sent then
        with channels_of(server, kernel) as channels:
            same(kind(channels.run("say 1"), "execute_reply")[0]["execution_count"], 1)
    same(server.http.delete("/api/kernels/" + kernel).status_code, 204)
    same(server.http.get("/api/kernels/" + kernel).status_code, 404)


@KERNELS("kernels: one of version 5.0 that ends is started again, and its clients are told")
def _(server):
    with channels_of(server, name="old") as channels:
        channels.run("say 1")
        channels.send("shell", "execute_request", {"code": "die", "silent": False})
        channels.until(lambda m: m["content"].get("execution_state") == "restarting" and m["channel"] == "iopub")


@KERNELS("kernels: a message without a channel, or with null, is one of shell")
def _(server):
    with channels_of(server) as channels:
        for channel in ({}, {"channel": None}):
            header = {"msg_id": f"n{len(channel)}", "msg_type": "kernel_info_request", "session": channels.session,
                      "username": "", "version": "5.3"}
            channels.socket.send(json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": {}, **channel}))
            same(reply_to(channels, header["msg_id"])["channel"], "shell")


@KERNELS("kernels: a channel that is a number is none")
def _(server):
    with channels_of(server) as channels:
        header = {"msg_id": "number", "msg_type": "kernel_info_request", "session": channels.session, "username": "", "version": "5.3"}
        channels.socket.send(json.dumps({"channel": 5, "header": header, "parent_header": {}, "metadata": {}, "content": {}}))
        reply_to(channels, channels.send("shell", "kernel_info_request", {}), "number")


@KERNELS("kernels: a client's message of 100 MB ends its connection as too big, and the kernel goes on")
def _(server):
    kernel = kernel_of(server)
    try:
        big = Channels(server, kernel, v1=True)
        try:
            big.send("shell", "comm_msg", {"comm_id": "none", "data": {}}, [b"\0" * (100 << 20)])
        except OSError:
            pass  # the server has closed it already
        code = None
        try:
            while code is None:
                opcode, data = big.socket.recv_data()
                if opcode == websocket.ABNF.OPCODE_CLOSE:
                    code = int.from_bytes(data[:2], "big")
        except (OSError, websocket.WebSocketConnectionClosedException):
            code = "ended"  # what the client still sent has reset the connection
        same(code in (1009, "ended"), True, code)
        big.close()
        with channels_of(server, kernel) as channels:
            same(text(channels.run("print('well')")), "well\n")
    finally:
        server.http.delete("/api/kernels/" + kernel)


@KERNELS("kernels: a buffer of 9 MB to a kernel and back is whole")
def _(server):
    with channels_of(server, v1=True) as channels:
        channels.run("def opened(comm, message):\n"
                     "    comm.on_msg(lambda m: comm.send({'n': len(m['buffers'][0])}, buffers=[bytes(m['buffers'][0])[::-1]]))\n"
                     "get_ipython().kernel.comm_manager.register_target('mirror', opened)")
        whole = os.urandom(9 << 20)
        channels.send("shell", "comm_open", {"comm_id": "one", "target_name": "mirror", "data": {}})
        channels.send("shell", "comm_msg", {"comm_id": "one", "data": {}}, [whole])
        got = channels.until(lambda m: m["msg_type"] == "comm_msg")[-1]
        same((got["content"]["data"], bytes(got["buffers"][0]) == whole[::-1]), ({"n": len(whole)}, True))


@KERNELS("kernels: what is asked about one that is not there")
def _(server):
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/interrupt")):
        answer = server.http.request(method, f"/api/kernels/{UNKNOWN}{path}")
        same((answer.status_code, answer.json()["message"]), (404, "Kernel does not exist: " + UNKNOWN), path)
    try:
        Channels(server, UNKNOWN)
    except websocket.WebSocketBadStatusException as error:
        same(error.status_code, 404)
    else:
        raise AssertionError("a WebSocket was opened")


@KERNELS("kernels: one that was removed closes its channels, and is not there")
def _(server):
    kernel = kernel_of(server)
    with channels_of(server, kernel) as channels:
        channels.run("1")
        same(kernel in [one["id"] for one in server.http.get("/api/kernels").json()], True)
        same(server.http.delete("/api/kernels/" + kernel).status_code, 204)
        same(kernel in [one["id"] for one in server.http.get("/api/kernels").json()], False)
        same(server.http.delete("/api/kernels/" + kernel).status_code, 404)


@KERNELS("kernels: models of one")
def _(server):
    kernel = kernel_of(server)
    model = server.http.get("/api/kernels/" + kernel).json()
    same({*model}, {"id", "name", "last_activity", "execution_state", "connections"})
    same((model["id"], model["name"], model["connections"], model["last_activity"][-1]), (kernel, "python3", 0, "Z"))
    with channels_of(server, kernel) as channels:
        channels.run("1")
        same(server.http.get("/api/kernels/" + kernel).json()["connections"], 1)
    server.http.delete("/api/kernels/" + kernel)


@KERNELS("kernels: one that ends is started again, and its clients are told")
def _(server):
    with channels_of(server) as channels:
        channels.run("a = 1")
        channels.send("shell", "execute_request", {"code": "import os; os._exit(1)", "silent": False})
        channels.until(lambda m: m["content"].get("execution_state") == "restarting" and m["channel"] == "iopub")


@KERNELS("kernels: kernelspecs: the default, one, and one that is not there")
def _(server):
    specs = server.http.get("/api/kernelspecs").json()
    same({"default", "kernelspecs"} <= {*specs}, True)
    one = server.http.get("/api/kernelspecs/python3").json()
    same(({"name", "spec", "resources"} <= {*one}, one["name"], one["spec"]["language"]), (True, "python3", "python"))
    same(server.http.get("/api/kernelspecs/old").json()["spec"]["display_name"], "Old")
    same(server.http.get("/api/kernelspecs/none").status_code, 404)
    same(server.http.get("/kernelspecs/python3/none.png").status_code, 404)
    same(server.http.get("/kernelspecs/none/logo-64x64.png").status_code, 404)


@KERNELS("kernels: a cell that fails has those after it aborted, unless it says otherwise")
def _(server):
    with channels_of(server) as channels:
        channels.run("import time")
        asked = [channels.send("shell", "execute_request", {"code": code, "silent": False, "stop_on_error": True})
                 for code in ("time.sleep(.5); 1/0", "2")]
        seen = channels.until(lambda m: m["msg_type"] == "execute_reply" and m["parent_header"]["msg_id"] == asked[1])
        same([one["status"] for one in kind(seen, "execute_reply")], ["error", "aborted"])
        same(kind(channels.run("1/0", stop_on_error=False), "execute_reply")[0]["status"], "error")
        same(kind(channels.run("2"), "execute_reply")[0]["status"], "ok")


@KERNELS("kernels: input that a cell asks for")
def _(server):
    with channels_of(server) as channels:
        asked = channels.send("shell", "execute_request", {"code": "print('got', input('what? '))", "silent": False, "allow_stdin": True})
        question = channels.until(lambda m: m["msg_type"] == "input_request")[-1]
        same((question["channel"], question["content"]["prompt"]), ("stdin", "what? "))
        channels.send("stdin", "input_reply", {"value": "this"}, parent=question["header"])
        seen = channels.until(lambda m: m["msg_type"] == "execute_reply" and m["parent_header"]["msg_id"] == asked)
        same("got this" in text(seen), True, seen)


@KERNELS("kernels: two clients of one see each other's cells, and only their own replies")
def _(server):
    kernel = kernel_of(server)
    with channels_of(server, kernel) as one, channels_of(server, kernel) as two:
        one.run("1")
        two.run("1")
        asked = one.send("shell", "execute_request", {"code": "print('seen')", "silent": False})
        seen = two.until(lambda m: m["content"].get("execution_state") == "idle" and m["parent_header"].get("msg_id") == asked)
        same(("seen" in text(seen), kind(seen, "execute_reply")), (True, []))
        same(kind(one.answers(asked), "execute_reply")[0]["status"], "ok")
    server.http.delete("/api/kernels/" + kernel)


@KERNELS("sessions: made, made again, described, listed, renamed, removed with the kernel")
def _(server):
    body = {"path": "s/one.ipynb", "name": "one", "type": "notebook", "kernel": {"name": "python3"}}
    made = server.http.post("/api/sessions", json=body)
    model = made.json()
    same((made.status_code, made.headers["location"]), (201, "/api/sessions/" + model["id"]))
    same((model["path"], model["type"], model["kernel"]["name"]), ("s/one.ipynb", "notebook", "python3"))
    again = server.http.post("/api/sessions", json=body)
    same((again.status_code, again.json()["id"]), (201, model["id"]))
    where = "/api/sessions/" + model["id"]
    same(server.http.get(where).json()["kernel"]["id"], model["kernel"]["id"])
    same([one["id"] for one in server.http.get("/api/sessions").json()].count(model["id"]), 1)
    changed = server.http.patch(where, json={"path": "s/two.ipynb", "name": "two"})
    same((changed.status_code, changed.json()["path"], changed.json()["kernel"]["id"]), (200, "s/two.ipynb", model["kernel"]["id"]))
    same(server.http.delete(where).status_code, 204)
    same([server.http.request(method, where).status_code for method in ("GET", "DELETE")], [404, 404])
    same(server.http.get("/api/kernels/" + model["kernel"]["id"]).status_code, 404)


@KERNELS("sessions: another kernel by its id")
def _(server):
    body = {"path": "s/kernel.ipynb", "name": "", "type": "notebook", "kernel": {"name": "python3"}}
    model = server.http.post("/api/sessions", json=body).json()
    kernel = kernel_of(server)
    changed = server.http.patch("/api/sessions/" + model["id"], json={"kernel": {"id": kernel}})
    same((changed.status_code, changed.json()["kernel"]["id"]), (200, kernel))
    same(server.http.get("/api/sessions/" + model["id"]).json()["kernel"]["id"], kernel)
    same(server.http.delete("/api/sessions/" + model["id"]).status_code, 204)
    server.http.delete("/api/kernels/" + model["kernel"]["id"])


@KERNELS("sessions: bodies that are refused")
def _(server):
    for body in (b"{no", json.dumps({"name": "", "type": "notebook", "kernel": {"name": "python3"}}).encode(),
                 json.dumps({"path": "s/x", "kernel": {"name": "python3"}}).encode()):
        same(server.http.post("/api/sessions", content=body).status_code, 400, body)
    same(server.http.get("/api/sessions/" + UNKNOWN).status_code, 404)
    same(server.http.patch("/api/sessions/" + UNKNOWN, json={"path": "x"}).status_code, 404)


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
    # Jupyter's own server may still describe it for a moment.
    tap.wait_for(lambda: server.http.get("/api/terminals/" + name).status_code == 404,
                 "it is gone", LIMIT)
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
            try:
                one.function(server)
            except Exception as error:
                raise AssertionError(f"{type(server).__name__}: {type(error).__name__}: {error}") from error
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
            list(pool.map(run, *zip(*[(n, one) for n, one in enumerate([*KERNELS, *TERMINALS, *row]) if pattern in one.name])))
    unused = set(REASON) - {one.name for one in row}
    tests.line(not unused, "each difference has its row", sorted(unused))
    sys.exit(tests.done())


main()
