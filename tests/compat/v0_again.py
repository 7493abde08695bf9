# SPDX-License-Identifier: MIT
"""Connections that are cut and workers that die: the client sends the same bytes
again, the command has run once, and the answer is whole."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import socket
import struct
import threading

import httpx
from tap import Rows, has, holds, same, wait_for
from v0_client import Box, Written, pool
from v0_text import BELOW, completed, ended, goes_on, timed_out

row = Rows()


class Proxy:
    """Passes bytes between a client and the server, and cuts.

    cuts: for each connection in turn what becomes of it: None (passed on), how
    many bytes of the answer reach the client before the connection ends, or
    "half": of the request only a half gets to the server.
    `at_request` is called when a request that will be cut has been passed on
    whole; the cut waits for it. keep: the connection to the server stays open."""

    def __init__(self, port, cuts, at_request=None, keep=False):
        self.port, self.cuts, self.at_request, self.keep = port, list(cuts), at_request, keep
        self.made = 0
        self.kept = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.made += 1
            cut = self.cuts.pop(0) if self.cuts else None
            threading.Thread(target=self.serve, args=(client, cut), daemon=True).start()

    def serve(self, client, cut):
        server = socket.create_connection(("127.0.0.1", self.port))
        with contextlib.suppress(OSError):
            if cut is None:
                threading.Thread(target=copy, args=(client, server), daemon=True).start()
                copy(server, client)
            else:
                self.cut(client, server, cut)
        client.close()
        if self.keep:
            self.kept.append(server)
        else:
            server.close()

    def cut(self, client, server, cut):
        request = whole_request(client)
        if cut == "half":
            return server.sendall(request[: len(request) // 2])
        server.sendall(request)
        if self.at_request:
            self.at_request()
        if cut:
            answer = b""
            while len(answer) < cut and (more := server.recv(cut - len(answer))):
                answer += more
            client.sendall(answer)

    def close(self):
        self.listener.close()
        for each in self.kept:
            each.close()


def copy(source, sink):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def whole_request(client):
    data = b""
    while b"\r\n\r\n" not in data:
        data += client.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode().lower().split("\r\n")
    length = next(int(l.split(":")[1]) for l in lines if l.startswith("content-length:"))
    while len(body) < length:
        body += client.recv(65536)
    return head + b"\r\n\r\n" + body


@contextlib.contextmanager
def cutting(c, cuts, **how):
    """A box that reaches the server through a proxy."""
    proxy = Proxy(c.port, cuts, **how)
    try:
        yield Box(proxy.url)
    finally:
        proxy.close()


def counted(c, name="count"):
    path = pathlib.Path(c.dir, name)
    return path.read_text().count("\n") if path.exists() else 0


COUNT = "echo x >> count; "


@row("cut: before the answer, and the command has run once", set_up=False)
def _(c):
    with cutting(c, [0]) as box:
        ended(box.run(COUNT + "echo done"), 0, "done")
        same((box.cuts, counted(c)), (1, 1))
        ended(box.run(COUNT + "echo done"), 0, "done")
        same((box.cuts, counted(c)), (1, 2))


@row("cut: four times in a row", set_up=False)
def _(c):
    with cutting(c, [0, 0, 5, 100]) as box:
        ended(box.run(COUNT + "echo done"), 0, "done")
        same((box.cuts, counted(c)), (4, 1))


@row("cut: in the middle of the request", set_up=False)
def _(c):
    with cutting(c, ["half", "half"]) as box:
        ended(box.run(COUNT + "echo done; : " + "long " * 1000), 0, "done")
        same((box.cuts, counted(c)), (2, 1))


@row("cut: in the middle of a long answer", set_up=False)
def _(c):
    wanted = "\n".join(f"Line {i}" for i in range(1, 2501))
    for cut in (17, 200, 1000, 15000):
        with cutting(c, [cut]) as box:
            before = counted(c)
            ended(box.run(COUNT + 'for i in $(seq 2500); do echo "Line $i"; done'), 0, wanted)
            same((box.cuts, counted(c)), (1, before + 1), cut)


@row("cut: while the command runs, and again when it is over", set_up=False)
def _(c):
    ended(c.box.run("mkfifo go"))
    command = COUNT + "echo one; read x < go; echo two $x; (exit 6)"
    with cutting(c, [0, 50], at_request=lambda: wait_for(lambda: counted(c), "begun")) as box:
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            answer = thread.submit(box.run, command)
            wait_for(lambda: box.cuts, "the first cut")
            open(f"{c.dir}/go", "w").write("go\n")
            ended(answer.result(), 6, "one\ntwo go")
        same((box.cuts, counted(c)), (2, 1))


@row("cut: the server does not see that its client is gone", set_up=False)
def _(c):
    with cutting(c, [0, 30], keep=True) as box:
        ended(box.run(COUNT + "sleep 0.5; echo done"), 0, "done")
        same((box.cuts, counted(c)), (2, 1))


@row("cut: a poll's output is not lost with its answer", set_up=False)
def _(c):
    seen = c.box.run("echo 1; read a; echo 2; read b; echo 3", timeout=1)
    goes_on(seen, timed_out(1), "1")
    with cutting(c, [150]) as box:
        goes_on(box.input("x", timeout=1), timed_out(1), "2", BELOW)
        same(box.cuts, 1)
    with cutting(c, [150]) as box:
        ended(box.input("y"), 0, "3")
        same(box.cuts, 1)


@row("cut: input is typed once", set_up=False)
def _(c):
    goes_on(c.box.run("read a; read b; echo $a/$b", timeout=1), timed_out(1))
    with cutting(c, [0]) as box:
        goes_on(box.input("first", timeout=1), timed_out(1), prefix=BELOW)
        same(box.cuts, 1)
    ended(c.box.input("second"), 0, "first/second")


@row("cut: an interrupt is sent once", set_up=False)
def _(c):
    trap = "trap 'echo x >> count' INT; while [ ! -e stop ]; do sleep 0.1; done; echo over"
    goes_on(c.box.run(f'bash -c "{trap}"', timeout=1), timed_out(1), "")
    with cutting(c, [0]) as box:
        box.input("C-c", timeout=1)
        same(box.cuts, 1)
    same(counted(c), 1)
    pathlib.Path(c.dir, "stop").write_text("")
    has(c.box.poll().content, "over")


@row("cut: a refusal stays one", set_up=False)
def _(c):
    goes_on(c.box.run("sleep 100", timeout=1), timed_out(1), "")
    with cutting(c, [0]) as box:
        seen = box.run(COUNT)
        same((seen.exit_code, box.cuts, counted(c)), (-1, 1, 0))
    ended(c.box.input("C-c"), 130, key="C")


@row("cut: a command that changes the shell, and one that ends it", set_up=False)
def _(c):
    with cutting(c, [0]) as box:
        ended(box.run("n=$((n + 1)); cd /"), 0, "")
    ended(c.box.run('echo "$n $PWD"'), 0, "1 /")
    with cutting(c, [0]) as box:
        box.run("echo x >> " + c.dir + "/count; exit 3")
        same((box.cuts, counted(c)), (1, 1))
    ended(c.box.run("echo alive"), 0, "alive")


@row("cut: what is read and written", set_up=False)
def _(c):
    with cutting(c, [0]) as box:
        holds(isinstance(box.write("f", "1\n2\n3"), Written))
        same(box.cuts, 1)
    with cutting(c, [0]) as box:
        holds(isinstance(box.write("f", "x", 1, 2), Written))
        same(box.cuts, 1)
    with cutting(c, [120]) as box:
        same(box.read("f").content, "1\nx\n3\n")
        same(box.cuts, 1)
    with cutting(c, [10]) as box:
        same((box.list_files(), box.cuts), (["f"], 1))


@row("cut: a write of many lines for one is made once", set_up=False)
def _(c):
    ended(c.box.run("printf '1\\n2\\n3\\n' > f"))
    with cutting(c, [0]) as box:
        holds(isinstance(box.write("f", "a\nb\nc", 1, 2), Written))
        same(box.cuts, 1)
    same(c.box.read("f").content, "1\na\nb\nc\n3\n")


@row("cut: an upload", set_up=False)
def _(c):
    path = pathlib.Path(c.root, "client")
    path.mkdir()
    (path / "f").write_bytes(os.urandom(300000))
    with cutting(c, [0]) as box:
        same(box.copy_to(path / "f", c.dir)["filename"], "f")
        same(box.cuts, 1)
    holds(pathlib.Path(c.dir, "f").read_bytes() == (path / "f").read_bytes())
    with cutting(c, [0, 20]) as box:
        box.copy_to(path, c.dir, recursive=True)
        same(box.cuts, 2)
    same(c.box.list_files(), ["client/", "f"])


@row("cut: a static run", set_up=False)
def _(c):
    with cutting(c, [0, 100]) as box:
        ended(box.run(COUNT + "echo done", is_static=True), 0, "done")
        same((box.cuts, counted(c)), (2, 1))


def post(c, event):
    """One request with exactly these bytes, its answer read whole."""
    answer = pool.post(c.url + "/execute_action", content=json.dumps({"action": event}).encode())
    same(answer.status_code, 200, answer.text)
    return answer.json()


@row("again: equal bodies whose answers arrived are two commands", set_up=False)
def _(c):
    event = {"action": "run", "args": {"command": COUNT + "echo ran"}}
    for times in (1, 2, 3):
        same(post(c, event)["content"], "ran")
        same(counted(c), times)
    with pool.stream("POST", c.url + "/execute_action", json={"action": event}) as answer:
        answer.read()
    same(counted(c), 4)


@row("again: equal commands of other ids are two commands", set_up=False)
def _(c):
    for times in (1, 2):
        ended(c.box.run(COUNT), 0, "")
        same(counted(c), times)


@row("again: an equal body that comes while the first runs, on another connection", set_up=False)
def _(c):
    """A client that has an id in its body, and gave up on the first connection."""
    waits = "while [ ! -e go ]; do sleep 0.05; done; sleep 0.5; "
    event = c.box.run_event(COUNT + waits + "echo ran", timeout=20)
    body = json.dumps({"action": event}).encode()
    head = b"POST /execute_action HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n"
    with socket.create_connection(("127.0.0.1", c.port), 20) as first:
        first.sendall(head % len(body) + body)
        wait_for(lambda: counted(c), "begun")
        first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    pathlib.Path(c.dir, "go").write_text("")
    same(post(c, event)["content"], "ran")
    same(counted(c), 1)


@row("again: who gave up and closed keeps no input from the session", set_up=False)
def _(c):
    """A close looks like the half-close of one who waits: until input comes."""
    waits = "sh -c 'echo x >> count; exec sleep 1000'"
    event = c.box.run_event(waits, timeout=1000, blocking=True)
    body = json.dumps({"action": event}).encode()
    head = b"POST /execute_action HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n"
    with socket.create_connection(("127.0.0.1", c.port), 20) as client:
        client.sendall(head % len(body) + body)
        client.shutdown(socket.SHUT_WR)
        wait_for(lambda: counted(c), "begun")
        ended(c.box.input("C-c"), 130, key="C")
        has(client.recv(4096).decode(), "409")
    same(counted(c), 1)


# --- the worker is killed


@row("killed: between two commands, and the session is as it was", set_up=False)
def _(c):
    ended(c.box.run("x=1; cd /; f() { echo f$x; }; set -o noglob"))
    for _i in range(3):
        old = c.kill_worker()
        wait_for(lambda: c.worker() not in (None, old), "another worker")
        ended(c.box.run('f; pwd; echo *'), 0, "f1\n/\n*")


def taken(c):
    """Whether the worker has read all that was sent. The end of a worker cuts no
    connection that it has not accepted: the next one serves it."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in list(table)[1:]:
            _, here, _, state, queues, *_, inode = line.split()[:10]
            ours = state == "01" and int(here.split(":")[1], 16) == c.port
            if ours and (inode == "0" or int(queues.split(":")[1], 16) > 0):
                return False
    return True


@row("killed: while a command runs, which goes on and is answered whole", set_up=False)
def _(c):
    ended(c.box.run("mkfifo go"))
    command = COUNT + "echo one; read x < go; echo two $x; (exit 6)"
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        answer = thread.submit(c.box.run, command)
        wait_for(lambda: counted(c), "begun")
        for _i in range(2):
            cuts, sent = c.box.cuts, c.box.sent
            old = c.kill_worker()
            wait_for(lambda: c.worker() not in (None, old), "another worker")
            wait_for(lambda: c.box.cuts > cuts, "the connection is gone")
            wait_for(lambda: c.box.sent > sent and taken(c), "it is asked for again")
        open(f"{c.dir}/go", "w").write("go\n")
        ended(answer.result(), 6, "one\ntwo go")
    same(counted(c), 1)


@row("killed: at any time of fifty commands", set_up=False, slow=True)
def _(c):
    """One kill for each, some time after it was sent; the sequence is the same in all runs."""
    times = random.Random(17)
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        for i in range(50):
            answer = thread.submit(asked, c.box, f"echo {i} >> count; echo {i}")
            with contextlib.suppress(concurrent.futures.TimeoutError):
                answer.result(timeout=times.choice((0, 0.001, 0.002, 0.004, 0.02)))
            c.kill_worker()
            ended(answer.result(), 0, str(i))
    same(pathlib.Path(c.dir, "count").read_text().split(), [str(i) for i in range(50)])


def asked(box, command):
    """More patient than a client: a kept connection may end while it is written to."""
    event = box.run_event(command)
    while True:
        try:
            return box.act(event)
        except httpx.TransportError:
            continue


@row("killed: what timed out is polled for, and nothing is missing", set_up=False)
def _(c):
    goes_on(c.box.run("echo 1; read a; echo 2 $a; (exit 4)", timeout=1), timed_out(1), "1")
    old = c.kill_worker()
    wait_for(lambda: c.worker() not in (None, old), "another worker")
    goes_on(c.box.poll(timeout=1), timed_out(1), "", BELOW)
    seen = c.box.run("ls")
    same((seen.exit_code, seen.prefix), (-1, BELOW))
    seen = ended(c.box.input("x"), 4, "2 x")
    same(seen.suffix, completed(4))
    seen = c.box.poll()
    has(seen.content, "ERROR: No previous running command to retrieve logs from.")


@row("killed: the end came while nobody was there to see it", set_up=False)
def _(c):
    ended(c.box.run("mkfifo go"))
    goes_on(c.box.run("read a < go; echo end; > over", timeout=1), timed_out(1))
    c.kill_worker()
    pathlib.Path(c.dir, "go").write_text("\n")
    wait_for(lambda: os.path.exists(f"{c.dir}/over"), "it is over")
    ended(c.box.poll(), 0, "end")


@row("killed: uptime goes on", set_up=False)
def _(c):
    def uptime():
        return c.box.server_info()["uptime"]

    before = wait_for(lambda: (seen := uptime()) > 1 and seen, "a second of it")
    old = c.kill_worker()
    wait_for(lambda: c.worker() not in (None, old), "another worker")
    wait_for(c.box.is_alive, "alive")
    after = uptime()
    holds(after >= before, after, before)
