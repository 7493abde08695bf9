#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A worker of a backend, on the bus of od serve --bus (core/front/bus/README.md):

    dispatcher.py work --redis URL --store FILE     reads events, sends actions, until TERM
    dispatcher.py run SANDBOX COMMAND --store FILE  has a command run, once

Workers share the sandboxes, and may be killed at any time. One at a time has the lease of a
sandbox, and a fence, a number that only rises: the store refuses a worker whose fence is behind.
The store is an SQLite file; for a database, write class Store again. Needs python3-redis.
"""
import argparse
import contextlib
import json
import os
import signal
import socket
import sqlite3
import sys
import time
import types
import uuid

import redis

SILENT = 60  # seconds; a sandbox gives a sign of life each 10 s
MINE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call(%s) end"
RENEW, RELEASE = MINE % "'pexpire',KEYS[1],ARGV[2]", MINE % "'del',KEYS[1]"
TABLES = """CREATE TABLE IF NOT EXISTS sandboxes (sandbox PRIMARY KEY, fence INT, last INT);
CREATE TABLE IF NOT EXISTS events (sandbox, id INT, line, PRIMARY KEY (sandbox, id));
CREATE TABLE IF NOT EXISTS actions (n INTEGER PRIMARY KEY, sandbox, client_id UNIQUE, message,
                                    done INT DEFAULT 0);"""


class Fenced(Exception):
    """Another worker has the sandbox by now; args[0] is how far our fence is behind."""


class Store:
    """Events, each once, in order; actions, and which of them are done; fences."""
    def __init__(self, path):
        self.db = sqlite3.connect(path, timeout=60, isolation_level=None)
        # Who changes it waits for nobody: another worker does it just now.
        with contextlib.suppress(sqlite3.OperationalError):
            self.db.execute("PRAGMA journal_mode = WAL")
        self.db.executescript(TABLES)

    def put(self, sandbox, fence, lines=()):
        """Stores [(id, line)], all or none; returns the last id that is stored."""
        with self.db:  # commits it, or takes it all back
            self.db.execute("BEGIN IMMEDIATE")
            before, last = self.db.execute("SELECT fence, last FROM sandboxes WHERE sandbox = ?",
                                           [sandbox]).fetchone() or (0, 0)
            if before > fence:
                raise Fenced(before - fence)
            for at, line in lines:
                if at <= last:
                    continue
                last, event = at, json.loads(line)
                self.db.execute("INSERT INTO events VALUES (?, ?, ?)", (sandbox, at, line))
                if "cause" in event:  # an observation: its action is done
                    self.db.execute("UPDATE actions SET done = 1 WHERE client_id = ?",
                                    [event.get("client_id")])
            self.db.execute("INSERT OR REPLACE INTO sandboxes VALUES (?, ?, ?)",
                            (sandbox, fence, last))
        return last

    def ask(self, sandbox, command):
        """Stores an action for a worker to send. It runs once, however often it is sent."""
        message = {"action": "run", "args": {"command": command}, "client_id": f"c-{uuid.uuid4()}"}
        self.db.execute("INSERT INTO actions (sandbox, client_id, message) VALUES (?, ?, ?)",
                        (sandbox, message["client_id"], json.dumps(message)))

    def wanted(self, sandbox, after):
        """Actions without an observation, those after that number: [(number, message)]."""
        return self.db.execute("SELECT n, message FROM actions WHERE sandbox = ? AND NOT done"
                               " AND n > ? ORDER BY n", (sandbox, after)).fetchall()


class Worker:
    def __init__(self, given):
        self.given, self.store, self.over = given, Store(given.store), False
        self.redis = redis.Redis.from_url(given.redis, decode_responses=True, socket_timeout=30)
        self.lease_ms = int(given.lease * 1000)
        self.key = lambda sandbox: f"{given.prefix}:{{{sandbox[:2]}}}:{sandbox}"
        self.leases, self.next_walk, self.next_renewal = {}, 0, 0  # leases: by the events' key

    def walk(self):
        """Takes free sandboxes, the liveliest first; a full worker gives up silent ones."""
        self.next_walk = time.monotonic() + self.given.lease / 5
        pipe = self.redis.pipeline(transaction=False)
        for shard in range(256):
            pipe.zrange(f"{self.given.prefix}:{{{shard:02x}}}:sandboxes", 0, -1, withscores=True)
        quiet = {s: time.time() - at / 1000 for some in pipe.execute() for s, at in some}
        ours = {lease.sandbox: lease for lease in self.leases.values()}
        silent = [lease for s, lease in ours.items() if quiet.get(s, 0) > SILENT
                  and not (quiet[s] > self.given.forget and self.forget(lease))]
        free = sorted(quiet.keys() - ours.keys(), key=quiet.get)
        taken = self.redis.mget([self.key(s) + ":lease" for s in free]) if free else []
        for sandbox in (s for s, holder in zip(free, taken) if not holder):
            if len(self.leases) >= self.given.most and silent and quiet[sandbox] <= SILENT:
                self.release(silent.pop())
            if len(self.leases) < self.given.most:
                self.take(sandbox)

    def take(self, sandbox):
        key = self.key(sandbox)
        fence = self.redis.incr(key + ":fence")
        value = f"{socket.gethostname()}.{os.getpid()}:{fence}"
        if not self.redis.set(key + ":lease", value, nx=True, px=self.lease_ms):
            return
        lease = types.SimpleNamespace(key=key, sandbox=sandbox, value=value, fence=fence,
                                      last=0, acked=None, sent=0)
        try:
            lease.last = self.store.put(sandbox, fence)
            self.leases[key + ":events"] = lease
        except Fenced as behind:  # Redis has lost the counter, or somebody was quicker
            self.redis.incrby(key + ":fence", behind.args[0])
            self.redis.eval(RELEASE, 1, key + ":lease", value)

    def renew(self):
        self.next_renewal = time.monotonic() + self.given.lease / 3
        self.leases = {at: lease for at, lease in self.leases.items() if self.redis.eval(
            RENEW, 1, lease.key + ":lease", lease.value, self.lease_ms)}

    def release(self, lease):
        del self.leases[lease.key + ":events"]
        self.redis.eval(RELEASE, 1, lease.key + ":lease", lease.value)

    def forget(self, lease):
        """Removes the keys of a sandbox; false if the store does not have all of its events."""
        newest = self.redis.xrevrange(lease.key + ":events", count=1)
        if newest and int(newest[0][0][:-2]) > lease.last:
            return False
        del self.leases[lease.key + ":events"]
        shard = lease.key.rpartition(":")[0]
        self.redis.delete(*(lease.key + end for end in (":events", ":actions", ":lease", ":fence")))
        self.redis.hdel(shard + ":hello", lease.sandbox)
        self.redis.zrem(shard + ":sandboxes", lease.sandbox)
        return True

    def send(self):
        """Actions that were asked for, and how far the store has the events."""
        pipe = self.redis.pipeline(transaction=False)
        for lease in self.leases.values():
            for lease.sent, message in self.store.wanted(lease.sandbox, lease.sent):
                pipe.xadd(lease.key + ":actions", {"a": message})
            if lease.acked != lease.last:
                pipe.xadd(lease.key + ":actions", {"a": json.dumps({"ack": lease.last})})
                lease.acked = lease.last
        pipe.execute()

    def read(self):
        if not self.leases:
            return time.sleep(0.2)
        streams = {at: f"{lease.last}-0" for at, lease in self.leases.items()}
        for at, entries in self.redis.xread(streams, count=100, block=500) or ():
            lease = self.leases[at]
            try:
                lines = [(int(id[:-2]), fields["e"]) for id, fields in entries]
                lease.last = self.store.put(lease.sandbox, lease.fence, lines)
            except Fenced:
                del self.leases[at]

    def work(self):
        while not self.over:
            try:
                if time.monotonic() >= self.next_renewal:
                    self.renew()
                if time.monotonic() >= self.next_walk:
                    self.walk()
                self.send()
                self.read()
            except redis.exceptions.RedisError as error:
                # What was sent may be lost: all of it is sent again under another lease.
                print("dispatcher:", error, file=sys.stderr, flush=True)
                self.leases.clear()
                time.sleep(0.5)
        for lease in list(self.leases.values()):
            self.release(lease)


def main():
    env = os.environ.get
    parser = argparse.ArgumentParser(description="A worker on the bus of od serve --bus.")
    parser.add_argument("what", choices=("work", "run"))
    parser.add_argument("words", nargs="*", help="of run: SANDBOX COMMAND")
    parser.add_argument("--redis", default=env("BUS_REDIS", "redis://127.0.0.1"), help="its URL")
    parser.add_argument("--prefix", default=env("BUS_PREFIX", "od"), help="as in od's --bus")
    parser.add_argument("--store", default=env("BUS_STORE", "events.db"), help="an SQLite file")
    parser.add_argument("--lease", type=float, default=15, help="seconds until others take over")
    parser.add_argument("--most", type=int, default=200, help="sandboxes at once")
    parser.add_argument("--forget", type=float, default=86400, help="of silence, then keys go")
    given = parser.parse_args()
    if given.what == "run":
        return Store(given.store).ask(*given.words)
    worker = Worker(given)
    signal.signal(signal.SIGTERM, lambda *_: setattr(worker, "over", True))
    worker.work()


if __name__ == "__main__":
    main()
