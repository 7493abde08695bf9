# SPDX-License-Identifier: MIT
"""files_rows.py [--archives] [PATTERN]: the actions of core/front/events/FILES.md, as events and
by HTTP; those about archives, and what is cut off, are a program of their own."""
import asyncio
import base64
import contextlib
import io
import json
import os
import pwd
import re
import socket
import stat
import subprocess
import sys
import tarfile
import threading
import urllib.error
import urllib.parse
import urllib.request
import zipfile

import events_client
import tap
from tap import Rows, Tap, has, holds, run_rows, same
from v0_server import OTHER_UID, Server, users

ROOT = os.path.join(os.path.dirname(__file__), "../..")
row = Rows()
LIMIT = 30 * int(os.environ.get("OD_TEST_SLOW") or 2)  # seconds for anything that is waited for


class Peer(events_client.Peer):
    async def until(self, fact, limit=LIMIT):
        return await super().until(fact, limit)

    async def end(self, id, limit=LIMIT):
        return await super().end(id, limit)


def request(case, path, body=None):
    return events_client.request(case, path, body, limit=LIMIT)


def act(case, action, wait=True, **more):
    return events_client.act(case, action, wait, limit=LIMIT, **more)


def wait_for(fact, what):
    return tap.wait_for(fact, what, LIMIT)


def asynchronous(function):
    def inside(case):
        asyncio.run(asyncio.wait_for(function(case), 2 * LIMIT))

    return inside


def do(case, verb, session=None, **args):
    """The observation's extras."""
    more = {"session": session} if session else {}
    end = act(case, verb, args=args, **more)
    same(end["observation"], verb, end)
    return end["extras"]


def refused(case, code, verb, **args):
    """What the observation says, or who took the action says."""
    status, end = request(case, "/events", {"action": verb, "args": args})
    if status == 200:
        same([end["observation"], end["extras"]["code"]], ["error", code], end)
        return end["content"]
    same(end["error"]["code"], code, end)
    return end["error"]["message"]


def path(case, *parts):
    return os.path.join(case.dir, *parts)


def put(case, name, data="x"):
    """A file of the server's user."""
    full = path(case, name)
    if not os.path.isdir(os.path.dirname(full)):
        do(case, "mkdir", path=os.path.dirname(full))
    with open(full, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    if os.getuid() == 0:
        os.chown(full, OTHER_UID, OTHER_UID)
    return full


def text(case, *parts):
    with open(path(case, *parts), encoding="utf-8") as file:
        return file.read()


def bytes_of(case, name):
    with open(path(case, name), "rb") as file:
        return file.read()


def names(case, *parts):
    return sorted(os.listdir(path(case, *parts)))


def tree(case):
    put(case, "d/a", "one")
    put(case, "d/e/b", "two")
    put(case, "d/e/f/c", "three")
    os.symlink("e/b", path(case, "d/link"))
    os.chmod(path(case, "d/e/b"), 0o755)


def same_tree(one, two):
    """The same names, kinds, bytes, targets and modes; times to the second."""
    facts = []
    for top in (one, two):
        found = {}
        for folder, folders, files in os.walk(top):
            for name in folders + files:
                full = os.path.join(folder, name)
                st = os.lstat(full)
                content = (os.readlink(full) if stat.S_ISLNK(st.st_mode)
                           else open(full, "rb").read() if stat.S_ISREG(st.st_mode) else None)
                mtime = None if stat.S_ISLNK(st.st_mode) else int(st.st_mtime)
                found[os.path.relpath(full, top)] = (st.st_mode, content, mtime)
        facts.append(found)
    same(facts[1], facts[0])
    holds(facts[0])


# ---- looking


@row("stat: a file, a folder, a link, what a link leads to")
def _(case):
    tree(case)
    got = do(case, "stat", path="d/e/b")
    st = os.stat(path(case, "d/e/b"))
    same([got["type"], got["size"], got["mode"], got["uid"], got["links"]],
         ["file", 3, "0755", st.st_uid, 1])
    same(int(got["mtime"]), int(st.st_mtime))
    same(got["path"], path(case, "d/e/b"))
    with contextlib.suppress(KeyError):
        same(got["owner"], pwd.getpwuid(st.st_uid).pw_name)
    same(do(case, "stat", path="d")["type"], "folder")
    link = do(case, "stat", path="d/link/")
    same([link["type"], link["target"]], ["link", "e/b"])
    same(do(case, "stat", path="d/link", follow=True)["type"], "file")
    same(request(case, "/files/stat?path=d/link")[1]["target"], "e/b")
    same(request(case, "/files/stat?path=d/link&follow=true")[1]["size"], 3)


@row("paths are relative to the directory of the action's session")
def _(case):
    tree(case)
    act(case, "run", args={"command": "cd d/e"}, session="there")
    same(do(case, "stat", session="there", path="b")["size"], 3)
    has(refused(case, "NOTFOUND", "stat", path="b"), "cannot look at", "No such file")
    same(request(case, "/files/stat?path=b&session=there")[0], 200)
    same(request(case, "/files/stat?path=b")[0], 404)


@row("list: sorted, in pages, recursive; nothing twice and nothing left out")
def _(case):
    tree(case)
    for i in range(25):
        put(case, f"d/e/f/{i:03}")
    flat = do(case, "list", path="d")
    same([(e["path"], e["type"]) for e in flat["entries"]],
         [("a", "file"), ("e", "folder"), ("link", "link")])
    holds("cursor" not in flat, flat)
    whole = [e["path"] for e in do(case, "list", path="d", recursive=True)["entries"]]
    same(whole, sorted(whole, key=lambda name: name.encode().split(b"/")))
    same(len(whole), 31)
    for limit in (1, 4, 30, 31):
        found, cursor = [], {}
        while cursor is not None:
            page = do(case, "list", path="d", recursive=True, limit=limit, **cursor)
            found += [e["path"] for e in page["entries"]]
            holds(len(page["entries"]) <= limit, page)
            cursor = {"cursor": page["cursor"]} if "cursor" in page else None
        same(found, whole, limit)
    status, page = request(case, "/files/list?path=d&recursive=true&limit=2")
    same([status, len(page["entries"])], [200, 2])
    query = urllib.parse.urlencode({"path": "d", "recursive": "true", "cursor": page["cursor"]})
    same([e["path"] for e in request(case, "/files/list?" + query)[1]["entries"]], whole[2:])


@row("list: levels, owners, and what links lead to")
def _(case):
    tree(case)
    os.symlink("nowhere", path(case, "d/broken"))
    got = do(case, "list", path=path(case, "d"), depth=2, full=True)
    same([e["path"] for e in got["entries"]], ["a", "broken", "e", "e/b", "e/f", "link"])
    st = os.lstat(path(case, "d/e/b"))
    of = {e["path"]: e for e in got["entries"]}
    same([of["e/b"]["uid"], of["e/b"]["gid"], of["e/b"]["type"]], [st.st_uid, st.st_gid, "file"])
    same(abs(of["e/b"]["ctime"] - st.st_ctime) < 1, True)
    got = do(case, "list", path=path(case, "d"), follow=True)
    same([[e["path"], e["type"]] for e in got["entries"]],
         [["a", "file"], ["e", "folder"], ["link", "file"]])


@row("chmod gives away, move makes folders, mkdir takes an owner")
def _(case):
    file = put(case, "f", "x")
    me = os.stat(file)
    same(do(case, "chmod", path=file, owner=str(me.st_uid), group=str(me.st_gid))["changed"], 1)
    has(refused(case, "INVALID", "chmod", path=file, owner="nobody-of-this-name"), "no user")
    has(refused(case, "INVALID", "chmod", path=file), "mode, owner or group")
    has(refused(case, "NOTFOUND", "move", **{"from": file, "to": path(case, "n/m/f")}), "n/m/f")
    do(case, "move", **{"from": file, "to": path(case, "n/m/f"), "parents": True})
    same(text(case, "n/m/f"), "x")
    do(case, "mkdir", path=path(case, "o"), mode="0700", group=str(me.st_gid))
    same(os.stat(path(case, "o")).st_mode & 0o7777, 0o700)


@row("move with keep: the content of a file that stays what it is; extract with parents")
def _(case):
    old, new = put(case, "old", "old"), put(case, "new", "new")
    os.chmod(old, 0o751)
    os.symlink("old", path(case, "link"))
    has(refused(case, "EXISTS", "move", **{"from": new, "to": path(case, "link"),
                                           "keep": True}), "overwrite")
    do(case, "move", **{"from": new, "to": path(case, "link"), "keep": True,
                        "overwrite": True})
    same([text(case, "old"), os.path.islink(path(case, "link")), os.path.exists(new)],
         ["new", True, False])
    same(os.stat(old).st_mode & 0o7777, 0o751)
    do(case, "mkdir", path="d")
    do(case, "move", **{"from": old, "to": path(case, "d"), "name": "in", "keep": True})
    same(text(case, "d/in"), "new")
    refused(case, "INVALID", "move", **{"from": path(case, "d/in"), "to": path(case, "d"),
                                        "name": "../x"})
    do(case, "archive", path=path(case, "d"), to=path(case, "a.zip"))
    do(case, "extract", path=path(case, "a.zip"), to=path(case, "x/y/z"), parents=True)
    same(text(case, "x/y/z/in"), "new")


@row("a folder of 9,000 names in pages that fit an event")
def _(case):
    os.mkdir(path(case, "many"))
    for i in range(9000):
        os.mknod(path(case, f"many/{i:05}"))
    found, args = 0, {}
    while args is not None:
        page = do(case, "list", path="%s/many" % case.dir, limit=10000, **args)
        found += len(page["entries"])
        args = {"cursor": page["cursor"]} if "cursor" in page else None
    same(found, 9000)


@row("names that are no text come and go as base64, without loss")
def _(case):
    odd = b"b\xffd\nname\t\"\\"
    full = os.fsencode(case.dir) + b"/" + odd
    with open(full, "wb"):
        pass
    (entry,) = do(case, "list")["entries"]
    same(base64.b64decode(entry["path_base64"]), odd)
    has(entry["path"], "b\ufffdd\nname")
    whole = base64.b64encode(full).decode()
    same(do(case, "stat", path_base64=whole)["path_base64"], whole)
    to = base64.b64encode(b"c\xfe").decode()
    if os.getuid() == 0:
        os.chown(full, OTHER_UID, OTHER_UID)
    do(case, "move", from_base64=entry["path_base64"], to_base64=to)
    same(os.listdir(os.fsencode(case.dir)), [b"c\xfe"])
    query = urllib.parse.urlencode({"path_base64": to})
    same(request(case, "/files/stat?" + query)[0], 200)


# ---- changing


@row("mkdir: with parents, twice; modes; a file in the way")
def _(case):
    same(do(case, "mkdir", path="a/b/c", mode="700"), {"path": path(case, "a/b/c"),
                                                       "created": True})
    same(do(case, "mkdir", path="a/b/c")["created"], False)
    same(stat.S_IMODE(os.stat(path(case, "a/b/c")).st_mode), 0o700)
    put(case, "f")
    refused(case, "EXISTS", "mkdir", path="f")
    refused(case, "NOTFOUND", "mkdir", path="f/g")


@row("move: in one step, not over what is there unless asked")
def _(case):
    tree(case)
    put(case, "other", "other")
    same(do(case, "move", **{"from": "d", "to": "moved"})["to"], path(case, "moved"))
    same(names(case), ["moved", "other"])
    has(refused(case, "EXISTS", "move", **{"from": "other", "to": "moved/a"}), "overwrite")
    same([text(case, "other"), text(case, "moved/a")], ["other", "one"])
    do(case, "move", **{"from": "other", "to": "moved/a", "overwrite": True})
    same(text(case, "moved/a"), "other")
    refused(case, "EXISTS", "move", **{"from": "moved/e", "to": "moved"})
    refused(case, "INVALID", "move", **{"from": "moved", "to": "moved/e/x"})
    refused(case, "NOTFOUND", "move", **{"from": "nowhere", "to": "x"})
    refused(case, "NOTFOUND", "move", **{"from": "moved", "to": "nowhere/x"})
    refused(case, "INVALID", "move", **{"from": "moved", "to": "moved"})


@row("move to another file system: a copy, and the first is gone")
def _(case):
    tree(case)
    there = f"/dev/shm/od-files-{os.getpid()}-{os.path.basename(case.root)}"
    if os.stat("/dev/shm").st_dev == os.stat(case.dir).st_dev:
        raise AssertionError("/dev/shm is no other file system")
    try:
        do(case, "copy", **{"from": "d", "to": "again"})
        do(case, "move", **{"from": "d", "to": there})
        same_tree(path(case, "again"), there)
        same(names(case), ["again"])
        put(case, "f", "new")
        refused(case, "EXISTS", "move", **{"from": "f", "to": there + "/a"})
        do(case, "move", **{"from": "f", "to": there + "/a", "overwrite": True})
        with open(there + "/a", encoding="utf-8") as file:
            same(file.read(), "new")
        do(case, "move", **{"from": there, "to": "back"})
        same([names(case, "back"), os.path.exists(there)], [["a", "e", "link"], False])
    finally:
        subprocess.run(["rm", "-rf", there], check=False)


@row("copy: a tree, with modes, times, links and holes; whole or not at all")
def _(case):
    tree(case)
    with open(path(case, "d/holes"), "wb") as file:
        file.seek(8 << 20)
        file.write(b"end")
    if os.getuid() == 0:
        os.chown(path(case, "d/holes"), OTHER_UID, OTHER_UID)
    same(do(case, "copy", **{"from": "d", "to": "e"})["copied"], 8)
    same_tree(path(case, "d"), path(case, "e"))
    holds(os.stat(path(case, "e/holes")).st_blocks * 512 < 1 << 20, "a hole")
    refused(case, "EXISTS", "copy", **{"from": "d", "to": "e"})
    refused(case, "EXISTS", "copy", **{"from": "d", "to": "e", "overwrite": True})
    do(case, "copy", **{"from": "d/a", "to": "e/e/b", "overwrite": True})
    same(text(case, "e/e/b"), "one")
    refused(case, "INVALID", "copy", **{"from": "d", "to": "d/e/in"})
    os.mkfifo(path(case, "d/e/pipe"))
    refused(case, "UNSUPPORTED", "copy", **{"from": "d", "to": "f"})
    same(names(case), ["d", "e"])


@row("remove: a file, an empty folder, a tree only when asked; never the way up")
def _(case):
    tree(case)
    same(do(case, "remove", path="d/a")["removed"], 1)
    same(do(case, "remove", path="d/link")["removed"], 1)
    has(refused(case, "EXISTS", "remove", path="d"), "recursive")
    same(do(case, "remove", path="d", recursive=True)["removed"], 5)
    refused(case, "NOTFOUND", "remove", path="d", recursive=True)
    for bad in ("/", "//", ".", "..", case.dir, os.path.dirname(case.dir), "./../workspace"):
        refused(case, "DENIED", "remove", path=bad, recursive=True)
    os.symlink(case.dir, path(case, "self"))
    do(case, "remove", path="self", recursive=True)
    same(os.listdir(case.dir), [])


@row("remove: 3,000 folders below each other, which no path reaches")
def _(case):
    make = "import os\nfor i in range(3000): os.mkdir('d'); os.chdir('d')\nopen('f', 'w')"
    subprocess.run([*case.user.before, sys.executable, "-c", make], cwd=case.dir, check=True)
    same(do(case, "remove", path="d", recursive=True)["removed"], 3001)
    same(os.listdir(case.dir), [])


@row("chmod: octal, by letters, recursive; not through the links in a tree")
def _(case):
    tree(case)
    outside = put(case, "outside")
    os.symlink(outside, path(case, "d/out"))

    def mode(name):
        return stat.S_IMODE(os.stat(path(case, name)).st_mode)

    same(do(case, "chmod", path="d/a", mode="0600")["mode"], "0600")
    for words, wanted in (("u+x", 0o700), ("go=r,u-w", 0o544), ("+x", 0o555), ("a-rwx,u=rw", 0o600),
                          ("a=", 0), ("ug+rwX", 0o660), ("u=rwx,g=rx", 0o750), ("644", 0o644)):
        do(case, "chmod", path="d/a", mode=words)
        same(mode("d/a"), wanted, words)
    before = mode("outside")
    do(case, "chmod", path="d", mode="u=rwX,go=", recursive=True)
    same([mode("d"), mode("d/a"), mode("d/e/b"), mode("d/e/f"), mode("outside")],
         [0o700, 0o600, 0o700, 0o700, before])
    for bad in ("", "8", "77777", "u", "u+q", "rw", "u+x,", "64x"):
        has(refused(case, "INVALID", "chmod", path="d/a", mode=bad), "octal")
    refused(case, "INVALID", "chmod", path="d/a")


# ---- archives


@row("archive and extract: zip, tar, tar.gz are what other programs read and write", archives=True)
def _(case):
    tree(case)
    put(case, "d/naïve ü\u20ac", "text" * 50000)
    for form in ("zip", "tar", "tar.gz"):
        name = f"x.{form}"
        got = do(case, "archive", path="d", to=name)
        same(got["size"], os.stat(path(case, name)).st_size)
        if form == "zip":
            with zipfile.ZipFile(path(case, name)) as z:
                same(z.testzip(), None)
                has(z.namelist(), "a", "e/f/c", "e/", "naïve ü\u20ac", "link")
        else:
            with tarfile.open(path(case, name)) as t:
                has([m.name for m in t.getmembers()], "a", "e/f/c", "e", "naïve ü\u20ac", "link")
        do(case, "extract", path=name, to=f"out.{form}")
        if form == "zip":  # a zip has a link's file in its place
            same(text(case, f"out.{form}/link"), "two")
            os.unlink(path(case, f"out.{form}/link"))
            os.symlink("e/b", path(case, f"out.{form}/link"))
            subprocess.run(["touch", "-r", path(case, "d"), path(case, f"out.{form}")], check=True)
            same(text(case, f"out.{form}/e/f/c"), "three")
        else:
            same_tree(path(case, "d"), path(case, f"out.{form}"))
        refused(case, "EXISTS", "archive", path="d", to=name)
        do(case, "archive", path="d", to=name, overwrite=True)
    refused(case, "INVALID", "archive", path="d", to="x.rar")
    do(case, "archive", path="d/a", to="one", format="tgz")
    with tarfile.open(path(case, "one")) as t:
        same(t.getnames(), ["a"])
    do(case, "archive", path=".", to="self.tar")
    with tarfile.open(path(case, "self.tar")) as t:
        holds(not [n for n in t.getnames() if "self" in n or ".od-" in n], t.getnames())


@row("extract into a folder that is there: all of it, or nothing", archives=True)
def _(case):
    tree(case)
    do(case, "archive", path="d", to="x.tar")
    put(case, "to/e/b", "mine")
    put(case, "to/more", "more")
    has(refused(case, "EXISTS", "extract", path="x.tar", to="to"), "cannot extract b", "overwrite")
    same([names(case, "to"), names(case, "to/e"), text(case, "to/e/b")],
         [["e", "more"], ["b"], "mine"])
    same(do(case, "extract", path="x.tar", to="to", overwrite=True)["files"], 6)
    same([names(case, "to"), text(case, "to/e/b"), text(case, "to/e/f/c")],
         [["a", "e", "link", "more"], "two", "three"])
    put(case, "file")
    refused(case, "EXISTS", "extract", path="x.tar", to="file")


def tar_of(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, kind, link in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, link
            data = b"bytes" if kind == tarfile.REGTYPE else b""
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_of(*names):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name in names:
            z.writestr(name, b"bytes")
    return out.getvalue()


@row("extract refuses what leads out, devices and links that do, and leaves nothing", archives=True)
def _(case):
    file, link = tarfile.REGTYPE, tarfile.SYMTYPE
    bad = {
        "up": tar_of(("ok", file, ""), ("../evil", file, "")),
        "deep": tar_of(("a/b/../../../evil", file, "")),
        "root": tar_of(("/tmp/evil", file, "")),
        "link out": tar_of(("out", link, "../..")),
        "link far": tar_of(("d/out", link, "../../x")),
        "link root": tar_of(("out", link, "/etc")),
        "link by a link": tar_of(("a/b/in", link, "../.."), ("a/b/out", link, "in/../x")),
        "through a link": tar_of(("in", link, "."), ("in/evil", file, "")),
        "hard out": tar_of(("x", tarfile.LNKTYPE, "../../evil")),
        "device": tar_of(("x", tarfile.CHRTYPE, "")),
        "pipe": tar_of(("x", tarfile.FIFOTYPE, "")),
        "zip up": zip_of("ok", "../evil"),
        "zip root": zip_of("/tmp/evil"),
    }
    for name, data in bad.items():
        put(case, "bad", data)
        refused(case, "DENIED", "extract", path="bad", to="to")
        same([names(case), name], [["bad"], name])
    good = tar_of(("a/b/c", file, ""), ("a/x", link, "b/c"), ("a/b/up", link, "../../a"),
                  ("h", tarfile.LNKTYPE, "a/b/c"))
    put(case, "good", good)
    do(case, "extract", path="good", to="to")
    same([text(case, "to/a/x"), text(case, "to/h"), os.readlink(path(case, "to/a/b/up"))],
         ["bytes", "bytes", "../../a"])


@row("extract refuses bombs, cut and invalid archives, and leaves nothing", archives=True)
def _(case):
    zeros = bytes(66 << 20)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("zeros", zeros)
    put(case, "bomb.zip", out.getvalue())
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as t:
        info = tarfile.TarInfo("zeros")
        info.size = len(zeros)
        t.addfile(info, io.BytesIO(zeros))
    put(case, "bomb.gz", out.getvalue())
    put(case, "cut.gz", out.getvalue()[:-300])
    for bomb in ("bomb.zip", "bomb.gz"):
        has(refused(case, "LIMIT", "extract", path=bomb, to="to"), "200 times", "max_bytes")
        same(do(case, "extract", path=bomb, to="big", max_bytes=67 << 20)["bytes"], 66 << 20)
        do(case, "remove", path="big", recursive=True)
    put(case, "small.zip", zip_of("a", "b", "c"))
    has(refused(case, "LIMIT", "extract", path="small.zip", to="to", max_bytes=12), "12 bytes")
    refused(case, "LIMIT", "extract", path="small.zip", to="to", max_files=2)
    put(case, "small.tar", tar_of(*[(n, tarfile.REGTYPE, "") for n in "abc"]))
    has(refused(case, "LIMIT", "extract", path="small.tar", to="to", max_bytes=12), "12 bytes")
    refused(case, "LIMIT", "extract", path="small.tar", to="to", max_files=2)
    refused(case, "INVALID", "extract", path="cut.gz", to="to", max_bytes=67 << 20)
    put(case, "none", "just a text\n" * 200)
    has(refused(case, "INVALID", "extract", path="none", to="to"), "not a zip, tar or tar.gz")
    put(case, "cut.zip", zip_of("a", "b")[:-30])
    refused(case, "INVALID", "extract", path="cut.zip", to="to", format="zip")
    put(case, "cut.tar", tar_of(("a", tarfile.REGTYPE, ""))[:514])
    refused(case, "INVALID", "extract", path="cut.tar", to="to", format="tar")
    same([n for n in names(case) if n == "to" or n.startswith(".od")], [])


@row("an archive by HTTP as it is made, and one unpacked as it comes", archives=True)
def _(case):
    tree(case)
    put(case, "d/big", os.urandom(3 << 20))
    for form in ("zip", "tar", "tar.gz"):
        asked = f"{case.url}/files/archive?path=d&format={form}"
        with urllib.request.urlopen(asked, timeout=LIMIT) as answer:
            data = answer.read()
        for query in (f"to=put.{form}", f"to=named.{form}&format={form}"):
            req = urllib.request.Request(f"{case.url}/files/extract?{query}", data, method="PUT")
            with urllib.request.urlopen(req, timeout=LIMIT) as answer:
                got = json.loads(answer.read())
            same(got["files"] > 3, True, got)
        for top in (f"put.{form}", f"named.{form}"):
            with open(path(case, top, "big"), "rb") as one, open(path(case, "d/big"), "rb") as two:
                same(one.read() == two.read(), True)
    same(request(case, "/files/archive?path=nowhere")[0], 404)
    same(request(case, "/files/archive?path=d&format=rar")[0], 400)
    req = urllib.request.Request(f"{case.url}/files/extract?to=none", b"no archive" * 100000,
                                 method="PUT")
    try:
        urllib.request.urlopen(req, timeout=LIMIT)
        raise AssertionError("taken")
    except urllib.error.HTTPError as error:
        same(error.code, 400)
        has(json.loads(error.read())["error"]["message"], "not a zip, tar or tar.gz")
    same(sorted(n for n in names(case) if n.startswith(".od") or n == "none"), [])


@row("who goes in the middle of a body leaves nothing", archives=True)
def _(case):
    data = tar_of(("a", tarfile.REGTYPE, ""))
    with socket.create_connection(("127.0.0.1", case.port), LIMIT) as s:
        s.sendall(b"PUT /files/extract?to=half&format=tar HTTP/1.1\r\nHost: localhost\r\n"
                  b"Content-Length: 100000\r\n\r\n" + data[:700])
        wait_for(lambda: any(n.startswith(".od-") for n in names(case)), "it has begun")
    wait_for(lambda: names(case) == [], "all is gone")


def put_content(case, name, body, more=""):
    """The answer to an upload: its status."""
    asked = urllib.request.Request(f"{case.url}/files/content?path={name}{more}", body, method="PUT")
    try:
        with urllib.request.urlopen(asked, timeout=LIMIT) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def uploads(case, n):
    """n actions of uploads, each with its end."""
    found = []

    def all_ended():
        events = request(case, "/events?since=0")[1]["events"]
        found[:] = [(e, [o for o in events if o.get("cause") == e["id"]]) for e in events
                    if e.get("source") == "files"]
        return len(found) == n and all(len(ends) == 1 for _, ends in found)

    wait_for(all_ended, f"{n} uploads have their ends")
    return [(e, ends[0]) for e, ends in found]


@row("PUT /files/content is an action in the log, without its bytes")
def _(case):
    put(case, "d/x")
    act(case, "run", session="other", args={"command": "cd d"})
    same(put_content(case, "f", b"secret words", "&mode=0600&viewer=ann"), 200)
    same(put_content(case, "g", b"secret", "&session=other"), 200)
    same(put_content(case, "f/g", b"secret"), 404)
    same(put_content(case, "f", b"secret", "&mode=9"), 400)  # it is not an action
    found = uploads(case, 3)
    same([[e["action"], e["session"], e["args"]["path"], o["observation"]] for e, o in found],
         [["receive", "main", "f", "receive"], ["receive", "other", "g", "receive"],
          ["receive", "main", "f/g", "error"]])
    same([[o["extras"]["path"], o["extras"]["size"]] for _, o in found[:2]],
         [[path(case, "f"), 12], [path(case, "d/g"), 6]])
    events = request(case, "/events?since=0")[1]["events"]
    same([e["extras"]["viewer"] for e in events if e.get("observation") == "human_input"], ["ann"])
    holds("secret" not in json.dumps(events))


@row("an upload whose action is cancelled, or whose client leaves, ends, and leaves nothing")
def _(case):
    for n in range(2):
        with socket.create_connection(("127.0.0.1", case.port), LIMIT) as s:
            s.sendall(b"PUT /files/content?path=%d HTTP/1.1\r\nHost: localhost\r\n"
                      b"Content-Length: 100000\r\n\r\n" % n + b"x" * 50000)
            wait_for(lambda: any(x.startswith(".od-") for x in names(case)), "it has begun")
            if n == 0:
                (begun,) = [e for e in request(case, "/events?since=0")[1]["events"]
                            if e.get("source") == "files"]
                act(case, "cancel", args={"id": begun["id"]})
                has(s.recv(100).decode(), " 503 ")
        wait_for(lambda: names(case) == [], "all is gone")
    same([o["extras"]["code"] for _, o in uploads(case, 2)], ["CANCELLED"] * 2)


@row("what was planted at the name of an upload is neither written to nor waited for")
def _(case):
    part, victim = path(case, ".od-ab"), put(case, "victim", b"kept")
    plants = {"a pipe": lambda: os.mkfifo(part), "a link": lambda: os.symlink(victim, part),
              "a second name": lambda: os.link(victim, part),
              "another user's": lambda: open(part, "wb").close(),
              "a folder": lambda: os.mkdir(part)}
    if os.getuid() != 0:
        del plants["another user's"]
    for what, plant in plants.items():
        plant()
        same((what, request(case, "/files/upload?path=f&token=ab")[1]["size"]), (what, 0))
        same((what, put_content(case, "f", b"new", "&token=ab&size=3")), (what, 409))
        (os.rmdir if what == "a folder" else os.unlink)(part)
    same(open(victim, "rb").read(), b"kept")
    same(put_content(case, "f", b"new", "&token=ab&size=3"), 200)


# ---- watch


async def watching(peer, name=".", **args):
    """The id, when it has begun."""
    await peer.act("watch", path=name, **args)
    event = await peer.action(lambda e: e["action"] == "watch")
    await peer.until(lambda e: change(e, event["id"], "watching") is not None)
    return event["id"]


def change(event, id, kind=None, name=None):
    """The change, if the event is one of this watch and kind."""
    extras = event.get("extras", {})
    if event.get("observation") != "file_change" or extras.get("watch") != id:
        return None
    if (kind and extras["kind"] != kind) or (name and extras["path"] != name):
        return None
    return extras


@row("watch: what changes is told, moves by a cookie, new folders are watched too")
@asynchronous
async def _(case):
    tree(case)
    async with Peer(case, since=0) as peer:
        id = await watching(peer, "d", recursive=True)

        async def told(kind, name):
            return await peer.until(lambda e: change(e, id, kind, name))

        put(case, "d/e/f/new", "text")
        await told("created", "e/f/new")
        await told("written", "e/f/new")
        os.rename(path(case, "d/a"), path(case, "d/e/a"))
        gone = await told("moved_from", "a")
        come = await told("moved_to", "e/a")
        same(gone["extras"]["cookie"], come["extras"]["cookie"])
        os.mkdir(path(case, "d/x"))
        same((await told("created", "x"))["extras"]["folder"], True)
        os.chmod(path(case, "d/x"), 0o755)
        await told("attributes", "x")
        os.makedirs(path(case, "d/x/y/z"))
        put(case, "d/x/y/z/deep")
        await told("created", "x/y/z/deep")
        os.rename(path(case, "d/x"), path(case, "d/renamed"))
        await told("moved_to", "renamed")
        put(case, "d/renamed/y/z/deep", "more")
        await told("written", "renamed/y/z/deep")
        os.unlink(path(case, "d/e/a"))
        await told("removed", "e/a")
        await peer.act("cancel", id=id)
        same((await peer.end(id))["extras"]["code"], "CANCELLED")
        holds("cause" not in come, come)


@row("watch: ends with its folder; a file; what is not there; too many")
@asynchronous
async def _(case):
    tree(case)
    async with Peer(case, since=0) as peer:
        id = await watching(peer, "d/e")
        do_later = asyncio.to_thread(do, case, "remove", path="d/e", recursive=True)
        await do_later
        same((await peer.end(id))["extras"]["ended"], "removed")
        one = await watching(peer, "d/a")
        put(case, "d/a", "again")
        await peer.until(lambda e: change(e, one, "written", "."))
        await peer.act("watch", path="nowhere")
        event = await peer.action(lambda e: e["args"].get("path") == "nowhere")
        same((await peer.end(event["id"]))["extras"]["code"], "NOTFOUND")
        for _ in range(31):
            await watching(peer)
        await peer.act("watch", path=".", client_id="33")
        event = await peer.action(lambda e: e.get("client_id") == "33")
        same((await peer.end(event["id"]))["extras"]["code"], "LIMIT")


@row("watch: too many changes are an overflow, and it goes on")
@asynchronous
async def _(case):
    async with Peer(case, since=0) as peer:
        id = await watching(peer)
        put(case, "here")
        stop = threading.Event()

        def back_and_forth():
            while not stop.is_set():
                os.rename(path(case, "here"), path(case, "there"))
                os.rename(path(case, "there"), path(case, "here"))

        mover = threading.Thread(target=back_and_forth)
        mover.start()
        try:
            await peer.until(lambda e: change(e, id, "overflow"))
        finally:
            stop.set()
            mover.join()

        async def seen():
            number = 0
            while True:
                number += 1
                put(case, f"later-{number}")
                with contextlib.suppress(asyncio.TimeoutError):
                    return await peer.until(
                        lambda e: (change(e, id) or {}).get("path", "").startswith("later-"), 1)

        await seen()


@row("watch: taken up by the next worker, which says so; ended by the next server")
def _(case):
    tree(case)
    status, begun = request(case, "/files/watch", {"path": "d"})
    same(status, 202)
    id = begun["id"]

    def changes():
        try:
            events = request(case, "/events?since=0")[1]["events"]
        except OSError:
            return []
        return [(e["extras"]["kind"], e["extras"]["path"]) for e in events
                if e.get("observation") == "file_change"]

    wait_for(lambda: ("watching", ".") in changes(), "it has begun")
    case.kill_worker()
    wait_for(lambda: ("restarted", ".") in changes(), "it has begun again")
    put(case, "d/after", "text")
    wait_for(lambda: ("written", "after") in changes(), "it goes on")
    case.stop()
    case.start()
    ends = [e for e in request(case, "/events?since=0")[1]["events"] if e.get("cause") == id]
    same([e["observation"] for e in ends], ["error"])


# ---- skills


@row("skills: the same text as the command line, and the same window")
def _(case):
    put(case, "f.txt", "".join(f"line {i}\n" for i in range(1, 400)))

    def command(*words):
        words = [*case.user.before, os.environ["OD"], "skills", "--socket", case.env["OD_SOCKET"],
                 *words]
        env = {**case.env, "OD_SESSION": "main"}
        return subprocess.run(words, capture_output=True, text=True, env=env, cwd=case.dir,
                              timeout=LIMIT, check=False)

    def skill(name, session="main", **args):
        end = act(case, "skill", session=session, args={"name": name, "args": args})
        same(end["observation"], "skill", end)
        return end["content"], end["extras"]["failed"]

    shown, failed = skill("open_file", path="f.txt", line_number=150)
    same(failed, False)
    has(shown, "f.txt (399 lines total)", "150|line 150")
    down = command("scroll_down")
    has(down.stdout, "250|line 250")
    up, _ = skill("scroll_up")
    has(up, "149 more lines above", "150|line 150")
    has(skill("goto_line", session="another", line_number=3)[0], "No file open")
    text_of, failed = skill("open_file", path="nowhere")
    same([text_of, failed], [command("open_file", "nowhere").stdout, True])
    skill("create_file", filename="new.py")
    done, _ = skill("insert_content_at_line", file_name="new.py", line_number=1, content="x = 1")
    has(done, "[File: ", "1|x = 1")
    same(text(case, "new.py").strip(), "x = 1")
    status, got = request(case, "/skills/search_file", {"search_term": "line 39", "file_path":
                                                        path(case, "f.txt")})
    same([status, got["failed"]], [200, False])
    has(got["content"], "Line 39: line 39")
    same(request(case, "/skills/nothing", {})[0], 404)
    same(request(case, "/skills/open_file", {})[0], 400)
    schema = request(case, "/skills")[1]
    holds({"open_file", "edit_file_by_replace"} <= {each["function"]["name"] for each in schema})
    refused(case, "NOTFOUND", "skill", name="nothing")
    refused(case, "INVALID", "skill", name="open_file", args={"nothing": 1})


# ---- what is wrong


@row("bad input: each an error with a name")
def _(case):
    os.symlink("loop", path(case, "loop"))
    put(case, "file")
    long = "x" * 256
    deep = "/".join(["d" * 200] * 25)
    for verb in ("stat", "remove", "watch", "mkdir"):
        has(refused(case, "INVALID", verb, path=deep), "longer than a path can be")
        has(refused(case, "INVALID", verb, path=""), "path is empty")
        has(refused(case, "INVALID", verb), 'takes a "path"')
        refused(case, "INVALID", verb, path=5)
        refused(case, "INVALID", verb, path_base64="%%%")
        refused(case, "INVALID", verb, path_base64=base64.b64encode(b"a\0b").decode())
        if verb != "mkdir":
            refused(case, "INVALID", verb, path=long)
    refused(case, "INVALID", "stat", path="x" * 70000)
    has(refused(case, "INVALID", "stat", path="file", colour="red"), "colour")
    refused(case, "INVALID", "list", path="file")
    refused(case, "INVALID", "list", cursor="%%%")
    refused(case, "INVALID", "list", limit=0)
    refused(case, "INVALID", "list", recursive="yes")
    refused(case, "INVALID", "stat", path="loop", follow=True)
    refused(case, "NOTFOUND", "stat", path="file/x")
    refused(case, "NOTFOUND", "stat", path="a\nb")
    refused(case, "NOTFOUND", "move", **{"from": "../nowhere/x", "to": "y"})
    os.mkfifo(path(case, "pipe"))
    refused(case, "UNSUPPORTED", "extract", path="pipe", to="x")
    refused(case, "UNSUPPORTED", "archive", path="/dev/zero", to="x.zip")
    same(request(case, "/files/nothing", {})[0], 404)
    same(request(case, "/files/stat", b"[1]")[0], 400)
    same(request(case, "/files/list?limit=no")[0], 400)
    same(request(case, "/files/stat?path=" + "x" * 5000)[0], 400)
    same(do(case, "stat", path="./../workspace/file")["type"], "file")


@row("an action on files with a client_id is done once")
def _(case):
    put(case, "a")
    more = {"client_id": "one", "args": {"from": "a", "to": "b"}}
    first = act(case, "move", **more)
    same(first["observation"], "move")
    put(case, "a")
    same(act(case, "move", **more), first)
    same(names(case), ["a", "b"])


@row("cancel in the middle: what was being made is gone", archives=True)
@asynchronous
async def _(case):
    with open(path(case, "big"), "wb") as file:
        file.write(os.urandom(1 << 20) * 64)
    async with Peer(case, since=0) as peer:
        await peer.act("archive", path=".", to="x.tar.gz", client_id="pack")
        event = await peer.action()
        await wait_until(lambda: [n for n in names(case) if n.startswith(".od-")])
        await peer.act("cancel", id=event["id"])
        end = await peer.end(event["id"])
        same([end["observation"], end["extras"]["code"]], ["error", "CANCELLED"])
        await wait_until(lambda: names(case) == ["big"])
        await peer.act("cancel", id=event["id"], client_id="again")
        again = await peer.action(lambda e: e.get("client_id") == "again")
        same((await peer.end(again["id"]))["extras"]["code"], "NOTFOUND")


async def wait_until(fact):
    await asyncio.to_thread(wait_for, fact, "it comes true")


def survives_kill(case, verb, cd=None, **args):
    """Asks, kills the worker when something is staged; the next one does it. cd: the
    session goes there in between."""
    id = act(case, verb, wait=False, args=args)["id"]
    if cd:
        act(case, "run", args={"command": f"cd {cd}"})
    end = []

    def ended():
        try:
            events = request(case, f"/events?since={id}")[1]["events"]
        except OSError:
            return False
        end[:] = [e for e in events if e.get("cause") == id]
        return bool(end)

    def staged():
        return [n for n in names(case) + names(case, "to") if n.startswith(".od-")] or ended()

    wait_for(staged, "it has begun")
    case.kill_worker()
    wait_for(ended, "the next worker is through")
    same([end[0]["observation"], end[0]["extras"].get("code")], [verb, None], end[0]["content"])


@row("join: the files in their order become one, which replaces another one only if asked")
def _(case):
    for name in "abc":
        put(case, name, name.encode() * 3)
    refused(case, "EXISTS", "join", **{"from": ["a", "b"], "to": "c"})
    refused(case, "NOTFOUND", "join", **{"from": ["a", "none"], "to": "d"})
    refused(case, "NOTFOUND", "join", **{"from": ["a"], "to": "no/d"})
    refused(case, "INVALID", "join", **{"from": [], "to": "d"})
    refused(case, "INVALID", "join", **{"from": ["a", "b"], "to": "b", "overwrite": True})
    refused(case, "INVALID", "join", **{"from": ["a", ""], "to": "d"})
    same(names(case), ["a", "b", "c"])
    got = do(case, "join", **{"from": ["b", "a", "b"], "to": "new/d", "parents": True})
    same((got["size"], got["joined"], bytes_of(case, "new/d")), (9, 3, b"bbbaaabbb"))
    same(do(case, "join", **{"from": ["new/d"], "to": "c", "overwrite": True})["size"], 9)
    same((names(case), names(case, "new"), bytes_of(case, "c")), (["c", "new"], [], b"bbbaaabbb"))


@row("the worker is killed in the middle: copy, archive, extract, join are done once, whole", slow=True,
     archives=True)
def _(case):
    do(case, "mkdir", path="to")
    do(case, "mkdir", path="d")
    data = os.urandom(1 << 20)
    for i in range(20):
        put(case, f"d/{i:02}", data)
    survives_kill(case, "copy", **{"from": "d", "to": "copy"})
    same_tree(path(case, "d"), path(case, "copy"))
    survives_kill(case, "archive", "/", path="d", to="x.tar")
    act(case, "run", args={"command": f"cd {case.dir}"})
    survives_kill(case, "extract", path="x.tar", to="to/new")
    same_tree(path(case, "d"), path(case, "to/new"))
    survives_kill(case, "extract", path="x.tar", to="to")
    same(len(names(case, "to")), 21)
    wait_for(lambda: names(case) == ["copy", "d", "to", "x.tar"], "nothing else is left")
    wait_for(lambda: len(names(case, "to")) == 21, "nor there")
    parts = [f"to/{i:02}" for i in range(20)]
    survives_kill(case, "join", **{"from": parts, "to": "joined"})
    same((bytes_of(case, "joined") == data * 20, names(case, "to")), (True, ["new"]))


# ---- the document


def blocks(kind):
    with open(os.path.join(ROOT, "core/front/events/FILES.md"), encoding="utf-8") as file:
        found = re.findall(rf"^```{kind}\n(.*?)^```", file.read(), re.M | re.S)
    holds(found, "there are examples of", kind)
    return [line for block in found for line in block.splitlines()]


@row("FILES.md: commands print what is said")
def _(case):
    command = None
    for line in blocks("sh"):
        if not line.startswith("#> "):
            command = line
            done = subprocess.run(["sh", "-c", line], env={**os.environ, "OD": case.url},
                                  capture_output=True, text=True, timeout=LIMIT, check=True)
        else:
            same(done.stdout.strip(), line[3:].replace("WORKSPACE", case.dir), command)


@row("FILES.md: messages are taken, and changes look like that")
def _(case):
    for line in blocks("json client"):
        said = json.loads(line)
        same(act(case, **said)["observation"], said["action"])
    os.makedirs(path(case, "src"))
    status, begun = request(case, "/files/watch", {"path": ".", "recursive": True})
    same(status, 202)

    def changes():
        events = request(case, f"/events?since={begun['id']}")[1]["events"]
        return [e for e in events if e.get("observation") == "file_change"]

    wait_for(changes, "it has begun")
    put(case, "src/new.c")
    (said,) = [json.loads(line) for line in blocks("json change")]
    real = wait_for(lambda: [e for e in changes() if e["extras"]["kind"] == "created"], "created")
    same([list(real[0]), list(real[0]["extras"]), real[0]["extras"]["path"]],
         [list(said), list(said["extras"]), said["extras"]["path"]])


# ---- another user


@row("all of it is the session's user's, also where the server is root's", user="openhands")
def _(case):
    uid = pwd_uid(case)
    do(case, "mkdir", path="made")
    same(os.stat(path(case, "made")).st_uid, uid)
    subprocess.run(["sh", "-c", "echo secret > secret; chmod 600 secret; mkdir own; touch own/x"],
                   cwd=case.dir, check=True)
    refused(case, "DENIED", "copy", **{"from": "secret", "to": "made/secret"})
    refused(case, "DENIED", "archive", path="secret", to="made/x.zip")
    refused(case, "DENIED", "chmod", path="secret", mode="644")
    refused(case, "DENIED", "remove", path="own", recursive=True)
    refused(case, "DENIED", "mkdir", path="/etc/made")
    same(request(case, "/files/archive?path=secret")[0], 403)
    end = act(case, "skill", args={"name": "open_file", "args": {"path": "secret"}})
    same(end["extras"], {"failed": True}, end)
    has(end["content"], "ermission denied")
    act(case, "skill", args={"name": "create_file", "args": {"filename": "mine.txt"}})
    same(os.stat(path(case, "mine.txt")).st_uid, uid)
    same(names(case, "made"), [])


def pwd_uid(case):
    end = act(case, "run", args={"command": "id -u"})
    return int(end["content"])


@contextlib.contextmanager
def server_for(one):
    name = one.options.get("user", "own")
    (user,) = [each for each in users()[0] if each.name == name]
    server = Server(user)
    with server.alive():
        yield server


def main():
    tap = Tap()
    words = sys.argv[1:]
    archives = words[:1] == ["--archives"]
    pattern = (words[archives:] or [""])[0]
    wanted = [each for each in row
              if pattern in each.name and bool(each.options.get("archives")) == archives]
    possible = [user.name for user in users()[0]]
    for each in [each for each in wanted if each.options.get("user", "own") not in possible]:
        wanted.remove(each)
        tap.line(True, f"files: {each.name}", skip="only root can have an /etc of its own")
    run_rows(tap, [("files", each, server_for) for each in wanted], 4)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
