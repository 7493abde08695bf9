# SPDX-License-Identifier: MIT
"""Uploads and downloads of every shape: whole or absent, large ones without
much memory, and archives that would write elsewhere."""
import concurrent.futures
import contextlib
import io
import os
import pathlib
import socket
import zipfile

from tap import Rows, has, holds, lacks, same, wait_for
from v0_client import Refused
from v0_text import ended

row = Rows()

LARGE = 96 * 1024 * 1024
MOST_MEMORY = 48 * 1024  # KiB that a worker may ever have had


def archive(entries, **how):
    """Bytes of a zip of (name, bytes), in order, names as they are."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **how) as z:
        for name, body in entries:
            info = zipfile.ZipInfo(name)
            info.compress_type = how.get("compression", zipfile.ZIP_STORED)
            info.external_attr = 0o100777 << 16
            with z.open(info, "w", force_zip64=how.get("allowZip64", False)) as out:
                out.write(body)
    return file.getvalue()


def send(c, name, body, recursive=False):
    return c.box.upload(name, io.BytesIO(body), c.dir, recursive)


def text_of(c, name):
    return pathlib.Path(c.dir, name).read_bytes()


def make(folder, **files):
    os.makedirs(folder, exist_ok=True)
    for name, text in files.items():
        pathlib.Path(folder, name).with_suffix(".txt").write_text(text)
    return str(folder)


# --- files in


def source(c):
    """A folder that stands for the client's machine."""
    path = os.path.join(c.root, "client")
    os.makedirs(path, exist_ok=True)
    return path


@row("upload: one file")
def _(c):
    here = make(source(c), test_file="Hello, World!")
    said = c.box.copy_to(f"{here}/test_file.txt", c.dir)
    same(said, {"filename": "test_file.txt", "destination": c.dir, "recursive": False})
    has(ended(c.box.run(f"ls -alh {c.dir}")).content, "test_file.txt")
    ended(c.box.run(f"cat {c.dir}/test_file.txt"), 0, "Hello, World!")


@row("upload: a folder")
def _(c):
    here = make(source(c) + "/test_dir", file1="File 1 content", file2="File 2 content")
    make(here + "/below", deep="Deep content")
    said = c.box.copy_to(here, c.dir, recursive=True)
    same((said["destination"], said["recursive"]), (c.dir, True))
    listing = ended(c.box.run(f"ls -alh {c.dir}")).content
    has(listing, "test_dir")
    lacks(listing, "file1.txt", ".zip")
    has(ended(c.box.run(f"ls -alh {c.dir}/test_dir")).content, "file1.txt", "file2.txt")
    ended(c.box.run(f"cat {c.dir}/test_dir/file1.txt"), 0, "File 1 content")
    ended(c.box.run(f"cat {c.dir}/test_dir/below/deep.txt"), 0, "Deep content")


@row("upload: into a folder that is made for it")
def _(c):
    here = make(source(c), test_file="Hello, World!")
    c.box.copy_to(f"{here}/test_file.txt", f"{c.dir}/new_dir/of it")
    ended(c.box.run(f"cat '{c.dir}/new_dir/of it/test_file.txt'"), 0, "Hello, World!")


@row("upload: over a file")
def _(c):
    here = make(source(c), test_file="Hello, World!")
    lacks(ended(c.box.run(f"ls -alh {c.dir}")).content, "test_file.txt")
    ended(c.box.run(f"touch {c.dir}/test_file.txt"))
    ended(c.box.run(f"cat {c.dir}/test_file.txt"), 0, "")
    c.box.copy_to(f"{here}/test_file.txt", c.dir)
    ended(c.box.run(f"cat {c.dir}/test_file.txt"), 0, "Hello, World!")
    same(c.box.list_files(), ["test_file.txt"])


@row("upload: what is not there is the client's own error")
def _(c):
    try:
        c.box.copy_to(f"{source(c)}/none.txt", f"{c.dir}/should_not_exist.txt")
        raise AssertionError("no error")
    except FileNotFoundError:
        pass
    holds(c.box.run(f"ls {c.dir}/should_not_exist.txt").exit_code != 0)


@row("upload: names and sizes of all kinds")
def _(c):
    here = source(c)
    for name, size in (("empty", 0), ("naïve ☃.bin", 70000), ("-rf", 1), ("a'b;c", 3)):
        body = os.urandom(size)
        pathlib.Path(here, name).write_bytes(body)
        c.box.copy_to(f"{here}/{name}", c.dir)
        same(pathlib.Path(c.dir, name).read_bytes(), body, name)
    same(len(c.box.list_files()), 4)


# --- files out


@row("download: a folder comes back as it was sent")
def _(c):
    here = make(source(c) + "/test_dir", file1="File 1 content", file2="File 2 content")
    make(here + "/below/further", deep="Deep content")
    c.box.copy_to(here, c.dir, recursive=True)
    ended(c.box.run("cd test_dir && mkdir empty && touch .hidden 'naïve ☃' && ln -s file1.txt l"))
    got = c.box.copy_from(f"{c.dir}/test_dir")
    holds(isinstance(got, pathlib.Path))
    with zipfile.ZipFile(got) as archive:
        same(archive.testzip(), None)
        same(
            sorted(archive.namelist()),
            sorted(
                [".hidden", "below/further/deep.txt", "file1.txt", "file2.txt", "l", "naïve ☃"]
            ),
        )
        same(archive.read("l"), b"File 1 content")
        same(archive.read("below/further/deep.txt"), b"Deep content")
    got.unlink()


@row("download: what the answer says of itself")
def _(c):
    ended(c.box.run("mkdir 'my dir' && echo a > 'my dir/a'"))
    answer = c.box.ask("GET", "/download_files", 30, params={"path": f"{c.dir}/my dir"})
    same(answer.headers["content-type"], "application/zip")
    has(answer.headers["content-disposition"], "attachment", "my dir.zip")
    if "content-length" in answer.headers:
        same(int(answer.headers["content-length"]), len(answer.content))


@row("download: one file; a folder with nothing in it")
def _(c):
    ended(c.box.run("mkdir e && echo alone > f"))
    got = c.box.copy_from(f"{c.dir}/f")
    with zipfile.ZipFile(got) as archive:
        holds(archive.namelist() in ([], ["f"]), archive.namelist())
    got.unlink()
    got = c.box.copy_from(f"{c.dir}/e")
    with zipfile.ZipFile(got) as archive:
        same(archive.namelist(), [])
    got.unlink()


# --- archives


@row("archives: stored, deflated, with 64-bit sizes, and without entries", set_up=False)
def _(c):
    body = b"line\n" * 50000
    for name, how in (
        ("stored", {}),
        ("deflated", {"compression": zipfile.ZIP_DEFLATED}),
        ("wide", {"allowZip64": True}),
    ):
        send(c, f"{name}.zip", archive([(f"{name}/a", body), (f"{name}/d/b", b"")], **how), True)
        same(text_of(c, f"{name}/a"), body)
        same(text_of(c, f"{name}/d/b"), b"")
    send(c, "empty.zip", archive([]), True)
    send(c, "plain.zip", archive([("by-name", b"x")]))
    send(c, "PLAIN2.zip", b"at the front" + archive([("after", b"y")]))
    same(c.box.list_files(), ["deflated/", "stored/", "wide/", "after", "by-name"])


@row("archives: modes are not taken over, folders and comments are", set_up=False)
def _(c):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.comment = b"a comment PK\x05\x06 that looks like an end"
        z.writestr(zipfile.ZipInfo("folder/"), b"")
        info = zipfile.ZipInfo("folder/run")
        info.external_attr = 0o104777 << 16
        z.writestr(info, b"#!/bin/sh\n")
    send(c, "a.zip", file.getvalue(), True)
    mode = os.stat(f"{c.dir}/folder/run").st_mode & 0o7777
    same(mode & 0o7133, 0, oct(mode))


@row("archives: nothing is written outside of the folder", set_up=False)
def _(c):
    out = os.path.basename(c.root)
    entries = [
        ("../escaped", b"x"),
        ("a/../../escaped", b"x"),
        (f"/{out}-escaped", b"x"),
        (f"{c.root}/escaped", b"x"),
        ("..\\escaped", b"x"),
        ("good", b"x"),
    ]
    try:
        send(c, "a.zip", archive(entries), True)
    except Refused as refused:
        holds(refused.status in (400, 500), refused)
    holds(not os.path.exists(f"{c.root}/escaped"))
    holds(not os.path.exists(f"/{out}-escaped"))
    ended(c.box.run("ln -s / root; ln -s .. up"))
    for name in ("root", "up"):
        try:
            send(c, "b.zip", archive([(f"{name}/{out}-escaped", b"x")]), True)
        except Refused as refused:
            holds(refused.status in (400, 500), refused)
        holds(not os.path.exists(f"/{out}-escaped"))
        holds(not os.path.exists(f"{c.root}/{out}-escaped"))


@row("archives: broken ones are refused, and leave nothing", set_up=False)
def _(c):
    whole = archive([("a", b"x" * 5000), ("b", b"y" * 5000)])
    wrong = bytearray(whole)
    wrong[100] ^= 1
    for body in (b"", b"PK", b"PK\x05\x06", whole[:6000], whole[:-10], bytes(wrong)):
        try:
            send(c, "a.zip", body, True)
            raise AssertionError(f"no error for {len(body)} bytes")
        except Refused as refused:
            holds(refused.status in (400, 500) and refused.detail, refused)
        lacks(c.box.list_files(), "a.zip")
    ended(c.box.run("echo alive"), 0, "alive")


@row("files: a name is never a way out", set_up=False)
def _(c):
    for name in ("../up", "/etc/abs", "a/b", "..", ".", "", "x" * 300):
        try:
            c.box.upload(name, io.BytesIO(b"x"), f"{c.dir}/d")
        except Refused as refused:
            holds(refused.status in (400, 422, 500), refused)
    holds(not os.path.exists(f"{c.dir}/up"))
    holds(not os.path.exists("/etc/abs"))
    same(c.box.list_files(), ["d/"])


@row("files: two at once, of one name and of two", set_up=False)
def _(c):
    bodies = [bytes([65 + i]) * 3000000 for i in range(4)]
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        one = [threads.submit(send, c, "one", body) for body in bodies]
        each = [threads.submit(send, c, f"n{i}", body) for i, body in enumerate(bodies)]
        for done in one + each:
            done.result()
    holds(text_of(c, "one") in bodies, text_of(c, "one")[:10])
    for i, body in enumerate(bodies):
        holds(text_of(c, f"n{i}") == body, i)
    same(c.box.list_files(), ["n0", "n1", "n2", "n3", "one"])


def form(name, size, destination):
    """The head of an upload, and what ends it."""
    line = b"----of-ours"
    head = (
        b"--" + line + b'\r\nContent-Disposition: form-data; name="file"; filename="'
        + name.encode() + b'"\r\nContent-Type: application/octet-stream\r\n\r\n'
    )
    tail = b"\r\n--" + line + b"--\r\n"
    request = (
        f"POST /upload_file?destination={destination} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Content-Type: multipart/form-data; boundary={line.decode()}\r\n"
        f"Content-Length: {len(head) + size + len(tail)}\r\n\r\n"
    ).encode()
    return request + head, tail


@row("files: whole or absent, wherever the client dies", set_up=False)
def _(c):
    pathlib.Path(c.dir, "old").write_text("as before")
    zipped = archive([("z/a", b"x" * 200000)])
    for name, body in (("new", b"n" * 500000), ("old", b"o" * 500000), ("z.zip", zipped)):
        head, tail = form(name, len(body), c.dir)
        whole = head + body + tail
        for sent in (100, len(head), len(head) + 1, -len(tail) - 1, -len(tail), -3):
            with socket.create_connection(("127.0.0.1", c.port), 20) as s:
                s.sendall(whole[:sent])
    same(c.box.ask("GET", "/alive", 5).json(), {"status": "ok"})
    wait_for(lambda: c.box.list_files() == ["old"], "only the old file")
    same(text_of(c, "old"), b"as before")
    with socket.create_connection(("127.0.0.1", c.port), 20) as s:
        head, tail = form("old", 3, c.dir)
        s.sendall(head + b"now" + tail)
        has(s.recv(65536).decode(), "200", '"filename"')
    same(text_of(c, "old"), b"now")


@row("files: the worker dies in the middle of an upload", set_up=False)
def _(c):
    pathlib.Path(c.dir, "old").write_text("as before")
    head, tail = form("old", 1000000, c.dir)
    with socket.create_connection(("127.0.0.1", c.port), 20) as s:
        s.sendall(head + b"o" * 500000)
        wait_for(lambda: os.listdir(c.dir) != ["old"], "some of it is on the disk")
        c.kill_worker()
        with contextlib.suppress(ConnectionResetError):
            same(s.recv(100), b"")
    wait_for(c.box.is_alive, "alive again")
    same(text_of(c, "old"), b"as before")
    send(c, "old", b"now")
    same(text_of(c, "old"), b"now")
    wait_for(lambda: c.box.list_files() == ["old"], "only the old file")


def parts(size):
    block = bytes(range(256)) * 256
    for _i in range(size // len(block)):
        yield block


@row("files: large ones go through little memory", set_up=False, slow=True)
def _(c):
    head, tail = form("large", LARGE, c.dir)
    with socket.create_connection(("127.0.0.1", c.port), 60) as s:
        s.sendall(head)
        for block in parts(LARGE):
            s.sendall(block)
        s.sendall(tail)
        has(s.recv(65536).decode(), "200")
    same(os.stat(f"{c.dir}/large").st_size, LARGE)
    holds(all(got == want for got, want in zip(blocks(f"{c.dir}/large"), parts(LARGE))))
    got = c.box.copy_from(c.dir, chunk=1024 * 1024)
    with zipfile.ZipFile(got) as z:
        same(z.namelist(), ["large"])
        same(z.getinfo("large").file_size, LARGE)
        same(z.testzip(), None)
        with open(got, "rb") as whole:
            c.box.upload("back.zip", whole, f"{c.dir}/back", True)
    same(os.stat(f"{c.dir}/back/large").st_size, LARGE)
    got.unlink()
    status = pathlib.Path(f"/proc/{c.worker()}/status").read_text()
    most = int(status.split("VmHWM:")[1].split()[0])
    holds(most < MOST_MEMORY, most, "KiB")


def blocks(path):
    with open(path, "rb") as file:
        while block := file.read(65536):
            yield block


@row("files: a client that does not read its download keeps nobody waiting", set_up=False)
def _(c):
    ended(c.box.run("head -c 30000000 /dev/urandom > random"))
    with socket.create_connection(("127.0.0.1", c.port), 20) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(f"GET /download_files?path={c.dir} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        has(s.recv(1000).decode("latin-1"), "200")
        ended(c.box.run("echo meanwhile"), 0, "meanwhile")
        send(c, "small", b"x")
    ended(c.box.run("echo after"), 0, "after")


@row("files: a large upload does not stop commands", set_up=False)
def _(c):
    head, tail = form("slow", 2000000, c.dir)
    with socket.create_connection(("127.0.0.1", c.port), 20) as s:
        s.sendall(head + b"s" * 1000000)
        ended(c.box.run("echo between; ls"), 0, "between")
        s.sendall(b"s" * 1000000 + tail)
        has(s.recv(65536).decode(), "200")
    ended(c.box.run("wc -c < slow"), 0, "2000000")
