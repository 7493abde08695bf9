#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A worker of a backend, on the bus of od serve --bus (core/front/bus/README.md):

    dispatcher.py work --redis URL --store FILE     reads events, sends actions, until TERM
    dispatcher.py run SANDBOX COMMAND --store FILE  has a command run, once

Any number of workers share the sandboxes. One at a time has the lease of a sandbox, and a
number, its fence, which only rises: the store refuses a worker whose fence is behind. A
worker may be killed at any instant. It needs redis-py (Debian: python3-redis). The store is
a file of SQLite that all workers see; class Store is what to write again for a database.
"""
import argparse
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
TABLES = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS sandboxes (sandbox PRIMARY KEY, fence INT, last INT);
CREATE TABLE IF NOT EXISTS events (sandbox, id INT, line, PRIMARY KEY (sandbox, id));
CREATE TABLE IF NOT EXISTS actions (n INTEGER PRIMARY KEY, sandbox, client_id UNIQUE, message,
                                    done INT DEFAULT 0);"""


class Fenced(Exception):
    """Another worker has the sandbox by now; args[0] is how far our fence is behind."""


class Store:
    """Events, each once, in order; actions, and which of them are done; fences."""

    def __init__(self, path):
        self.db = sqlite3.connect(path, timeout=60, isolation_level=None)
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

    def ask(self, sandbox, message):
        """An action for a worker to send. It runs once, however often that is."""
        message = {**message, "client_id": f"c-{uuid.uuid4()}"}
        self.db.execute("INSERT INTO actions (sandbox, client_id, message) VALUES (?, ?, ?)",
                        (sandbox, message["client_id"], json.dumps(message)))

    def wanted(self, sandbox, after):
        """Actions without an observation, those after that number: [(number, message)]."""
        return self.db.execute("SELECT n, message FROM actions WHERE sandbox = ? AND NOT done"
                               " AND n > ? ORDER BY n", (sandbox, after)).fetchall()


class Worker:
    def __init__(self, given):
        self.given, self.store, self.over = given, Store(given.store), False
        self.name = f"{socket.gethostname()}.{os.getpid()}"
        self.redis = redis.Redis.from_url(given.redis, decode_responses=True, socket_timeout=30)
        self.lease_ms = int(given.lease * 1000)
        self.leases = {}  # by the key of the events
        self.next_walk = self.next_renewal = 0

    def key(self, sandbox):
        return f"{self.given.prefix}:{{{sandbox[:2]}}}:{sandbox}"

    def walk(self):
        """Takes sandboxes that nobody has, those first that were alive last. A worker that
        is full gives up silent ones for living ones."""
        self.next_walk = time.monotonic() + self.given.lease / 5
        pipe = self.redis.pipeline(transaction=False)
        for shard in range(256):
            pipe.zrange(f"{self.given.prefix}:{{{shard:02x}}}:sandboxes", 0, -1, withscores=True)
        quiet = {s: time.time() - at / 1000 for some in pipe.execute() for s, at in some}
        ours = {lease.sandbox: lease for lease in self.leases.values()}
        silent = []
        for sandbox, lease in ours.items():
            if quiet.get(sandbox, 0) > self.given.forget and self.forget(lease):
                continue
            if quiet.get(sandbox, 0) > SILENT:
                silent.append(lease)
        free = sorted(quiet.keys() - ours.keys(), key=quiet.get)
        taken = self.redis.mget([self.key(s) + ":lease" for s in free]) if free else []
        for sandbox, holder in zip(free, taken):
            if holder:
                continue
            if len(self.leases) >= self.given.most and silent and quiet[sandbox] <= SILENT:
                self.release(silent.pop())
            if len(self.leases) < self.given.most:
                self.take(sandbox)

    def take(self, sandbox):
        key = self.key(sandbox)
        fence = self.redis.incr(key + ":fence")
        value = f"{self.name}:{fence}"
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
        for at, lease in list(self.leases.items()):
            if not self.redis.eval(RENEW, 1, lease.key + ":lease", lease.value, self.lease_ms):
                del self.leases[at]

    def release(self, lease):
        del self.leases[lease.key + ":events"]
        self.redis.eval(RELEASE, 1, lease.key + ":lease", lease.value)

    def forget(self, lease):
        """Removes the keys of a sandbox; false if the store does not have all of its events."""
        newest = self.redis.xrevrange(lease.key + ":events", count=1)
        if newest and int(newest[0][0].split("-")[0]) > lease.last:
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
            time.sleep(0.2)
            return
        streams = {at: f"{lease.last}-0" for at, lease in self.leases.items()}
        for at, entries in self.redis.xread(streams, count=100, block=500) or ():
            lease = self.leases[at]
            try:
                lease.last = self.store.put(
                    lease.sandbox, lease.fence,
                    [(int(id.split("-")[0]), fields["e"]) for id, fields in entries])
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
    parser.add_argument("--forget", type=float, default=86400, help="seconds until the keys of "
                        "a silent sandbox are removed")
    given = parser.parse_args()
    if given.what == "run":
        sandbox, command = given.words
        Store(given.store).ask(sandbox, {"action": "run", "args": {"command": command}})
        return
    worker = Worker(given)
    signal.signal(signal.SIGTERM, lambda *_: setattr(worker, "over", True))
    worker.work()


if __name__ == "__main__":
    main()
