# SPDX-License-Identifier: MIT
"""bus.py OD FOLDER: figures of the bus, with a Redis of its own, a line each.

One od: events of about 300 bytes to a stream (the log has them already, and a reader
acknowledges), from the first that comes on, and raw XADD of the same number for comparison;
how long it takes until all are there after Redis has lost them, which has the random wait
before the next try in it; actions through the bus.
Then BENCH_BUS_SERVERS (1000) od on that Redis: an action to its observation by the bus,
the same by the server's own socket, memory.
"""
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time

import redis

OD, HOME = sys.argv[1:]
ACTIONS, SERVERS = 5000, int(os.environ.get("BENCH_BUS_SERVERS", "1000"))
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


started = []


def said(name, value):
    print(name, f"{value:.3f}", flush=True)


def until(fact):
    end = time.monotonic() + 300
    while not (value := fact()):
        if time.monotonic() > end:
            raise TimeoutError(fact)
        time.sleep(0.01)
    return value


class Redis:
    def __init__(self):
        with socket.create_server(("127.0.0.1", 0)) as s:
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
             "--appendonly", "yes", "--dir", HOME, "--maxclients", str(2 * SERVERS + 200)],
            stdout=subprocess.DEVNULL)
        self.client = redis.Redis(port=self.port, decode_responses=True)
        until(self.answers)

    def answers(self):
        try:
            return self.client.ping()
        except redis.exceptions.RedisError:
            return False


class Od:
    def __init__(self, server, name):
        self.dir = os.path.join(HOME, name)
        os.makedirs(self.dir, exist_ok=True)
        self.http = self.dir + "/http"
        self.process = subprocess.Popen(
            [OD, "serve", "--socket", self.dir + "/sock", "--state-dir", self.dir + "/state",
             "--listen", "unix:" + self.http, "--log", "error", "--bus-wait", "1",
             "--bus", f"redis://127.0.0.1:{server.port}"],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.dir)
        started.append(self)

    def end(self):
        self.process.terminate()
        self.process.wait()

    def read(self):
        """The same action by HTTP, on the server's own socket."""
        body = json.dumps(READ).encode()
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.http)
            s.sendall(b"POST /events?wait=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                      b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
                      + body)
            return b"".join(iter(lambda: s.recv(65536), b""))

    def memory(self):
        """Of its processes, in KiB."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            pids = [self.process.pid, *map(int, file.read().split())]
        total = 0
        for pid in pids:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        return total


def sandboxes(server):
    """By the folder of each: its keys."""
    found = {}
    for key in server.client.scan_iter("od:{*}:hello", count=1000):
        for sandbox, hello in server.client.hgetall(key).items():
            found[json.loads(hello)["hello"]["image"]["cwd"]] = f"od:{{{sandbox[:2]}}}:{sandbox}"
    return found


def drain(server, key, last):
    """Reads and acknowledges until there is event `last`. Returns the bytes of the events,
    and how many a second came after the first read that had some."""
    at, size, first = 0, 0, None
    while at < last:
        for _, entries in server.client.xread({key + ":events": f"{at}-0"}, 1000, 1000) or ():
            at = int(entries[-1][0].split("-")[0])
            first = first or (at, time.perf_counter())
            size += sum(len(fields["e"]) for _, fields in entries)
            server.client.xadd(key + ":actions", {"a": json.dumps({"ack": at})})
    return size, (last - first[0]) / (time.perf_counter() - first[1])


def throughput(server):
    od = Od(server, "one")
    key, = until(lambda: list(sandboxes(server).values()))
    pipe = server.client.pipeline(transaction=False)
    for _ in range(ACTIONS):
        pipe.xadd(key + ":actions", {"a": json.dumps(READ)})
    begin = time.perf_counter()
    pipe.execute()
    size, _ = drain(server, key, 2 * ACTIONS)
    said("actions", ACTIONS / (time.perf_counter() - begin))
    said("bytes", size / (2 * ACTIONS))
    # Redis loses all: the log publishes it again.
    for _ in range(3):
        server.client.flushall()
        begin = time.perf_counter()
        _, rate = drain(server, key, 2 * ACTIONS)
        said("healed", (time.perf_counter() - begin) * 1000)
        said("events", rate)
        pipe = server.client.pipeline(transaction=False)
        for n in range(2 * ACTIONS):
            pipe.xadd("raw", {"e": "x" * int(size / (2 * ACTIONS))}, id=f"{n + 1}-0")
        words = pipe.connection_pool.get_connection("XADD")
        packed = words.pack_commands([args for args, _ in pipe.command_stack])
        begin = time.perf_counter()
        words.send_packed_command(packed)
        for _ in range(2 * ACTIONS):
            words.read_response()
        said("raw", 2 * ACTIONS / (time.perf_counter() - begin))
        pipe.connection_pool.release(words)
    od.end()
    server.client.flushall()


def spread(name, values):
    values.sort()
    said(name + "_p50", values[len(values) // 2] * 1000)
    said(name + "_p99", values[len(values) * 99 // 100] * 1000)


def many(server):
    empty = server.client.info("memory")["used_memory"]
    begin = time.perf_counter()
    ods = []
    while len(ods) < SERVERS:  # a few at a time: all at once would be a measure of the machine
        ods += [Od(server, f"od{n}") for n in range(len(ods), min(SERVERS, len(ods) + 20))]
        until(lambda: server.client.info("clients")["connected_clients"] > 2 * len(ods))
    keys = until(lambda: (found := sandboxes(server)) and len(found) == SERVERS and found)
    said("linked", time.perf_counter() - begin)
    time.sleep(2)
    said("redis_each", (server.client.info("memory")["used_memory"] - empty) / SERVERS / 1024)
    bus, direct = [], []
    for od in random.sample(ods, min(SERVERS, 1000)):
        key = keys[os.path.realpath(od.dir)]
        begin = time.perf_counter()
        server.client.xadd(key + ":actions", {"a": json.dumps(READ)})
        at = 0
        while at < 2:
            found = server.client.xread({key + ":events": f"{at}-0"}, 10, 10000)
            at = int(found[0][1][-1][0].split("-")[0])
        bus.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        assert b'"observation"' in od.read()
        direct.append(time.perf_counter() - begin)
    spread("bus", bus)
    spread("direct", direct)
    said("beyond_p99", bus[len(bus) * 99 // 100] * 1000 - direct[len(direct) * 99 // 100] * 1000)
    said("memory", sum(od.memory() for od in ods) / SERVERS)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
READ = {"action": "read", "args": {"path": os.path.join(HOME, "text")}}
with open(READ["args"]["path"], "w", encoding="ascii") as text:
    text.write("a line of some fifty bytes, to make an event of it\n" * 4)
redis_server = Redis()
try:
    throughput(redis_server)
    many(redis_server)
finally:
    while started:
        for one in started[:20]:
            one.process.terminate()
        for one in started[:20]:
            one.process.wait()
        del started[:20]
    redis_server.process.kill()
