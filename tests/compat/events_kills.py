# SPDX-License-Identifier: MIT
"""events_kills.py KILLS UPGRADES [SECONDS]: nothing is lost, doubled or reordered.

The worker is killed again and again, and replaced by an upgrade, while a command writes
as fast as three followers can read (10 MB/s where the machine can), files are uploaded,
and counted actions are asked, each until it is answered. In the end each follower must
have every event once and in order and each byte of the output, the files must be whole,
and each action must have run once. A machine that is too slow to make all of the kills in
SECONDS makes fewer of them, but AT_LEAST."""
import asyncio
import contextlib
import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time
import urllib.request

import websockets
from events_client import PROTOCOL, Peer, own_user, request
from tap import Tap, holds, lacks, same, wait_for
from v0_server import OD, Server

KILLS, UPGRADES = int(sys.argv[1]), int(sys.argv[2])
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else float("inf")
AT_LEAST = 20
CHUNK, AHEAD, RATE = 64 << 10, 24 << 20, 10 << 20
MINUTE = 60


PERIOD = 1000003  # no multiple of what pieces of output are
LINES = "".join(f"{i:06x} {i * i:015d}\n" for i in range(PERIOD // 23 + 2)).encode()[:PERIOD] * 2


def pattern(offset, n):
    """Bytes that tell where they are."""
    holds(n <= PERIOD, n)
    return LINES[offset % PERIOD :][:n]


class Follower:
    """A client that comes back: what it noted in one connection holds for the next."""

    def __init__(self, server, name):
        self.server, self.name, self.connections = server, name, 0
        self.notes = Peer(server, since=0)
        self.notes.note_delta = self.note_delta
        self.at, self.cause, self.first = 0, None, None

    def over(self):
        """It has the observation of the last action there is."""
        last = self.notes.events.get(self.notes.last, {})
        return last.get("client_id") == "over" and "cause" in last

    def note_delta(self, delta):
        """Of the command that writes all the time; it is checked as it comes."""
        cause, extras = delta["cause"], delta["extras"]
        if cause != self.cause:
            return
        holds("gap" not in extras, self.name, delta["extras"])
        if self.first is None:
            self.first = self.at = extras["from"]
        same(extras["from"], self.at,
             f"{self.name}: the next byte, message {self.got} of {self.asked}")
        data = delta["content"].encode()
        same(data, pattern(self.at - self.first, len(data)), f"{self.name}: output")
        self.at = extras["to"]

    def url(self):
        url = f"{self.server.url.replace('http', 'ws')}/events?since={self.notes.last}"
        url += f"&output={self.cause}:{self.at}" if self.notes.last >= self.cause else ""
        self.asked, self.got = url, 0
        return url

    async def follow(self):
        while not self.over():
            try:
                async with websockets.connect(
                    self.url(), subprotocols=[PROTOCOL], max_size=None, ping_interval=None,
                    open_timeout=MINUTE, close_timeout=1,
                ) as ws:
                    self.connections += 1
                    while not self.over():
                        await self.take(ws)
            except (OSError, websockets.WebSocketException):
                await asyncio.sleep(0.001)

    async def take(self, ws):
        try:
            message = json.loads(await asyncio.wait_for(ws.recv(), MINUTE))
        except asyncio.TimeoutError:  # which may be an OSError
            holds(False, f"{self.name}: nothing comes after {self.notes.last}")
        holds("error" not in message, message)
        self.got += 1
        self.notes.note(message)


class Load(threading.Thread):
    """Something that is done until stop(); its exception comes out of it."""

    def __init__(self, function):
        super().__init__(daemon=True)
        self.function, self.error, self.over, self.count = function, None, False, 0
        self.start()

    def run(self):
        try:
            self.function(self)
        except BaseException as error:
            self.error = error

    def stop(self):
        self.over = True
        self.join(2 * MINUTE)
        if self.error:
            raise self.error
        holds(not self.is_alive(), "it ended", self.function)


def insist(function):
    """Until a worker answers."""
    end = time.monotonic() + MINUTE
    while True:
        try:
            return function()
        except (OSError, http.client.HTTPException) as error:
            holds(time.monotonic() < end, "nobody answers", error)
            time.sleep(0.002)


def count(server):
    """Numbers, each written by an action of its own."""

    def work(load):
        while not load.over:
            command = f"echo {load.count} >> counted; echo {load.count}"
            body = {"action": "run", "args": {"command": command}, "session": "count",
                    "client_id": f"count {load.count}"}
            status, event = insist(lambda: request(server, "/events", body, limit=MINUTE))
            same([status, event.get("content")], [200, str(load.count)], event)
            load.count += 1

    return work


def upload(server):
    def work(load):
        while not load.over:
            data = pattern(load.count * 1000, 300000 + load.count)
            body = (b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"up%d\"\r\n\r\n"
                    % load.count) + data + b"\r\n--x--\r\n"
            asked = urllib.request.Request(
                f"{server.url}/upload_file?destination={server.dir}/up&recursive=false", body,
                {"Content-Type": "multipart/form-data; boundary=x"})
            insist(lambda: urllib.request.urlopen(asked, timeout=MINUTE).read())
            load.count += 1

    return work


def feed(server, followers):
    """The output: bytes into a FIFO that the command reads, not too far ahead."""

    def work(load):
        with open(os.path.join(server.dir, "feed"), "wb", buffering=0) as fifo:
            began = time.monotonic()
            while not load.over:
                seen = min(f.at - (f.first or 0) for f in followers)
                due = (time.monotonic() - began) * RATE
                if load.count - seen > AHEAD or load.count > due:
                    time.sleep(0.002)
                    continue
                fifo.write(pattern(load.count, CHUNK))
                load.count += CHUNK

    return work


def replace(server, worker, upgrade):
    """The worker goes, in one of two ways; how long nobody served, in milliseconds."""
    began = time.monotonic()
    if upgrade:
        done = subprocess.run([*server.user.before, OD, "serve", "--upgrade", "--socket", server.env["OD_SOCKET"]],
                              capture_output=True, text=True, timeout=MINUTE)
        same(done.returncode, 0, done.stderr)
    else:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, 9)
    insist(lambda: request(server, "/alive"))
    return (time.monotonic() - began) * 1000


async def everything(server):
    os.mkfifo(os.path.join(server.dir, "feed"))
    os.chmod(os.path.join(server.dir, "feed"), 0o666)
    os.mkdir(os.path.join(server.dir, "up"))
    os.chmod(os.path.join(server.dir, "up"), 0o777)
    followers = [Follower(server, f"follower {i}") for i in range(3)]
    status, begun = request(server, "/events?wait=0", {
        "action": "run", "session": "flow", "client_id": "flow",
        "args": {"command": "cat feed", "blocking": True}})
    same(status, 202, begun)
    for f in followers:
        f.cause = begun["id"]
    tasks = [asyncio.create_task(f.follow()) for f in followers]
    loads = [Load(feed(server, followers)), Load(count(server)), Load(upload(server))]

    def work():
        chance, times = random.Random(os.environ.get("OD_SEED")), []
        for i in range(KILLS + UPGRADES):
            if i >= AT_LEAST and time.monotonic() - began > SECONDS:
                break
            worker = wait_for(server.worker, "there is a worker", MINUTE)
            time.sleep(chance.random() * 0.06)
            upgrade = UPGRADES and i % ((KILLS + UPGRADES) // UPGRADES) == 1
            times.append((bool(upgrade), replace(server, worker, upgrade)))
        for load in loads:
            load.stop()
        status, end = insist(lambda: request(
            server, "/events", {"action": "run", "session": "flow", "client_id": "flow",
                                "args": {"command": "cat feed", "blocking": True}}, limit=MINUTE))
        same(status, 200)
        insist(lambda: request(server, "/events", {
            "action": "run", "client_id": "over", "args": {"command": "true"}}, limit=MINUTE))
        return end, times

    began = time.monotonic()
    worker = asyncio.create_task(asyncio.to_thread(work))
    await asyncio.wait([worker, *tasks], return_when=asyncio.FIRST_EXCEPTION)
    for task in [worker, *tasks]:
        if task.done() and task.exception():
            raise task.exception()
    end, times = await worker
    await asyncio.wait_for(asyncio.gather(*tasks), 2 * MINUTE)
    return followers, loads, end, times, time.monotonic() - began


def check(server, followers, loads, end):
    wrote, counted, uploaded = [load.count for load in loads]
    for f in followers:
        same(sorted(f.notes.events), list(range(1, f.notes.last + 1)), f.name)
        same(f.at - f.first, wrote, f"{f.name}: bytes")
        ends = [event["cause"] for event in f.notes.events.values() if "cause" in event]
        same(len(ends), len(set(ends)), f"{f.name}: observations, each once")
        asked = [event["id"] for event in f.notes.events.values() if "action" in event]
        same(sorted(ends), sorted(asked), f"{f.name}: an observation of each action")
        same(f.notes.events, followers[0].notes.events, "the same events")
    same(end["extras"]["metadata"]["exit_code"], 0)
    with open(os.path.join(server.dir, "counted")) as file:
        same(file.read(), "".join(f"{i}\n" for i in range(counted)), "each action ran once")
    for i in range(uploaded):
        with open(os.path.join(server.dir, "up", f"up{i}"), "rb") as file:
            holds(file.read() == pattern(i * 1000, 300000 + i), f"the file up{i} is whole")


def main():
    tap, server = Tap(), Server(own_user())
    name = f"at most {KILLS} kills and {UPGRADES} upgrades: nothing lost, doubled or reordered"
    try:
        followers, loads, end, times, seconds = asyncio.run(everything(server))
        check(server, followers, loads, end)
        server.stop()
        lacks(server.logged(1 << 20), "signal 11", "signal 6")
    except Exception as error:
        tap.line(False, name, [repr(error)[:2000], *server.logged().split("\n")[-15:]])
        raise
    else:
        tap.line(True, name)
        dead = sorted(ms for upgrade, ms in times if not upgrade)
        wrote, counted, uploaded = [load.count for load in loads]
        print(f"# {wrote / seconds / 1e6:.1f} MB/s, {counted} actions, {uploaded} uploads, "
              f"{followers[0].notes.last} events, "
              f"{[f.connections for f in followers]} connections, {len(dead)} kills and "
              f"{len(times) - len(dead)} upgrades in {seconds:.1f} s")
        if dead:
            print(f"# from a kill to an answer: median {dead[len(dead) // 2]:.1f} ms, "
                  f"the slowest {dead[-1]:.1f} ms")
    finally:
        server.kill()
        server.remove()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
