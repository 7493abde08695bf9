# SPDX-License-Identifier: MIT
"""full_disk_rows.py [PATTERN]: what a server does while the disk of its state is full.

The state is on a small tmpfs. Each row fills it to the last byte first; a file `fill` is all
of it.
"""
import contextlib
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

from tap import LIMIT, Rows, Tap, has, holds, lacks, run_rows, same, wait_for
from ways import WAYS, Many

row = Rows()
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
FALLOCATE = "285" if os.uname().machine == "x86_64" else "47"


def fill(server):
    """Takes every free byte of the state's disk."""
    with open(server.inside("fill"), "ab", 0) as file:
        for size in (65536, 4096, 512, 64, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"x" * size)


def noticed(server, way):
    """Fills the disk until the log knows."""
    fill(server)
    wait_for(lambda: "disk_full" in way.run("true", "a"), what="the disk is full")


def reserved(server):
    return glob.glob(server.inside("default", "reserve", "7", "i"))


def full_server(mount="size=8m", **options):
    """One whose reserve was made, then its disk filled."""
    server = Many(mount=mount, **options)
    wait_for(lambda: reserved(server), what="the reserve")
    return server


@contextlib.contextmanager
def fixture(row):
    server = full_server(**row.options.get("server", {}))
    with server.alive():
        yield server


def events(server):
    text = ""
    for path in sorted(glob.glob(server.inside("default", "events", "*.jsonl"))):
        with open(path, encoding="utf-8") as file:
            text += file.read()
    return [json.loads(line) for line in text.splitlines()]


def logged(server, word):
    return [e for e in events(server) if word in json.dumps(e)]


for name in WAYS:
    @row(f"{name}: new sessions, df, rm; all of it is logged")
    def _(server, name=name):
        way = WAYS[name](server)
        has(way.run("echo before", "first"), "before")
        noticed(server, WAYS["POST /events"](server))
        for i in range(3):
            has(way.run(f"echo $((6*7)) of-{i}", f"session-{i}"), f"42 of-{i}")
        has(way.run(f"df {server.state}", "df"), "100%")
        has(way.run(f"df {server.state}", "first"), "100%")
        for i in range(3):
            seen = logged(server, f"of-{i}")
            holds(any("action" in e for e in seen), name, seen)
        holds(all("disk_full" in e for e in logged(server, "of-2") if "observation" in e))
        lacks(server.logged(1 << 20), "without being in the log")
        has(way.run(f"rm {server.state}/fill; echo removed", "first"), "removed")
        holds(not os.path.exists(server.inside("fill")), name)
        has(way.run("seq 50000 | tail -n 1", "first"), "50000")


@row("200 small actions are logged; then all is as before", slow=True)
def _(server):
    way = WAYS["POST /events"](server)
    way.run("true", "a")
    noticed(server, way)
    left = []
    for i in range(200):
        got = way.run(f"echo number-{i}", "a")
        has(got, f'"content": "number-{i}"')
        left.append(int(re.search(r'"disk_full":{"left":(\d+)', got)[1]))
    same(left, sorted(left, reverse=True))
    holds(left[-1] > 0, left[-5:])
    all_of_it = events(server)
    same([e["id"] for e in all_of_it], list(range(1, len(all_of_it) + 1)))
    same(len([e for e in all_of_it if e.get("content", "").startswith("number-")]), 200)
    has(way.run(f"rm {server.state}/fill", "a"), "exit_code")

    def normal():
        return "disk_full" not in way.run("true", "a")

    wait_for(normal, what="the reserve is made again")
    noticed(server, way)
    left = re.search(r'"left":(\d+)', way.run("echo again", "a"))[1]
    holds(int(left) > 400000, left)


@row("large observations and actions leave room for 200 small ones", slow=True)
def _(server):
    way = WAYS["POST /events"](server)
    way.run("true", "a")
    noticed(server, way)
    for i in range(100):
        has(way.run("seq 20000", "a"), '"cut":')
    refused = way.run("true " + "x" * 60000, "a")
    has(refused, "507", "is full", "are for small ones")
    has("%d %s" % server.exec("-s", "a", "echo long " + "x" * 60000), "125 ",
        "No space left")
    has("%d %s" % server.exec("-s", "a", "echo long " + "x" * 10000), "0 long")
    for i in range(100):
        has(way.run(f"echo number-{i}", "a"), f'"content": "number-{i}"')


@row("the caller is told: od exec on stderr, V0 in the answer's text")
def _(server):
    noticed(server, WAYS["POST /events"](server))
    got = server.exec("-s", "a", "echo x")[1]
    has(got, "x\n", "od exec: the disk of the state directory", "KiB are left")
    has(WAYS["V0"](server).run("echo x", ""), "the disk of the state directory", "KiB are left")


@row("a session's output is whole for who reads it, and the command is fast", slow=True)
def _(server):
    want = "".join(f"{i}\n" for i in range(1, 200001))
    for how in (["-s", "a"], ["--new"]):
        server.exec(*how, "true")
        if not os.path.exists(server.inside("fill")):
            fill(server)
        status, got = server.exec(*how, "seq 200000")
        got = re.sub(r"od exec: .*\n", "", got)
        same((status, got == want), (0, True), str(how) + got[:300])


@row("output without room is a gap with its range, and nobody waits for it", slow=True)
def _(server):
    server.exec("-s", "a", "true")
    fill(server)
    way = WAYS["POST /events"](server)
    got = json.loads(way.run("seq 300000", "a").partition(" ")[2])
    at = got["output"]
    status, text = server.exec("-s", "a", "--logs", "--offset", str(at["from"]))
    same(status, 0)
    gap = re.search(r"(\d+) bytes of output \((\d+) to (\d+)\) are gone", text)
    lost, lost_from, lost_to = map(int, gap.groups())
    same(lost, lost_to - lost_from)
    holds(at["from"] <= lost_from < lost_to <= at["to"], gap[0], at)
    has(text, "300000")


@row("where space cannot be reserved in a file, one of zeros is given up", server={
    "before": [sys.executable, os.path.join(ROOT, "tests/lib/refuse.py"), FALLOCATE, "EOPNOTSUPP"]})
def _(server):
    way = WAYS["POST /events"](server)
    way.run("true", "a")
    noticed(server, way)
    left = [int(re.search(r'"disk_full":{"left":(\d+)', way.run(f"echo number-{i}", "a"))[1])
            for i in range(100)]
    same(left, sorted(left, reverse=True))
    holds(0 < left[-1] < left[0], left[0], left[-1])
    fill(server)
    has(way.run("echo in-a-new-one", "b"), '"content": "in-a-new-one"')
    ids = [e["id"] for e in events(server)]
    same(ids, list(range(1, len(ids) + 1)))
    has(way.run(f"rm {server.state}/fill", "a"), "exit_code")
    wait_for(lambda: "disk_full" not in way.run("true", "a"), what="the reserve is made again")


@row("the worker is killed while the disk is full")
def _(server):
    way = WAYS["POST /events"](server)
    way.run("v=kept", "a")
    noticed(server, way)
    has(way.run("echo one", "a"), "one")
    had = events(server)[-1]["id"]
    before = server.worker()
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: server.worker() not in (None, before), what="another worker")
    has(way.run("echo $v two", "a"), "kept two", '"disk_full":{"left":')
    has(way.run("echo three", "b"), "three")
    ids = [e["id"] for e in events(server)]
    same(ids, list(range(1, len(ids) + 1)))
    holds(ids[-1] > had, ids[-1], had)
    subprocess.run(["rm", server.inside("fill")], check=True)
    wait_for(lambda: "disk_full" not in way.run("true", "a"), what="the reserve is made again")
    has(way.run("seq 50000 | tail -n 1", "a"), "50000")


@row("no inode is left", server={"mount": "size=8m,nr_inodes=200"})
def _(server):
    for name in ("V0", "POST /events"):
        WAYS[name](server).run("true", "a")
    n = 0
    with contextlib.suppress(OSError):
        while True:
            with open(server.inside(f"empty-{n}"), "w", encoding="ascii"):
                n += 1
    for name in WAYS:
        has(WAYS[name](server).run("echo $((6*7))", f"no-{name[0]}-{len(name)}"), "42")
    subprocess.run(["sh", "-c", f"rm {server.inside('empty-')}*"], check=True)
    has("%d %s" % server.exec("-s", "new", "echo x"), "0 x")


if __name__ == "__main__":
    tap = Tap()
    chosen = [r for r in row if re.search(sys.argv[1] if len(sys.argv) > 1 else "", r.name)]
    run_rows(tap, [("full disk", r, fixture) for r in chosen], at_once=4)
    sys.exit(tap.done())
