# SPDX-License-Identifier: MIT
"""Two sandboxes, two dispatchers (build/deploy/dispatcher) with one store, and a Redis
with AOF between them. Each of them is killed at random (-9) and started again, while
actions come in. Then the store has each event of each log once and in order, each action
ran once and in order, and the streams are empty.
"""
import contextlib
import glob
import importlib.util
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time

from dialled import T, WAIT, Od
from redis_server import Redis
from tap import Tap, at_end, holds, same, show_log, wait_for

PROGRAM = os.path.join(os.environ["ROOT"], "build/deploy/dispatcher/dispatcher.py")
SECONDS = float(os.environ.get("BUS_KILLS_SECONDS", "20"))
SEED = int(os.environ.get("BUS_KILLS_SEED", random.randrange(1 << 32)))
STORE = os.path.join(T, "store.db")
spec = importlib.util.spec_from_file_location("dispatcher", PROGRAM)
dispatcher = importlib.util.module_from_spec(spec)
spec.loader.exec_module(dispatcher)


class Dispatcher:
    log = os.path.join(T, "dispatchers")

    def __init__(self, server):
        self.words = [sys.executable, PROGRAM, "work", "--redis", server.url(), "--store", STORE,
                      "--lease", "2"]
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stderr=log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        """By TERM, which is its clean end."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(WAIT)
        finally:
            self.process.kill()


def stored(words, *values):
    with contextlib.closing(sqlite3.connect(STORE, timeout=WAIT)) as db:
        return db.execute(words, values).fetchall()


def log_of(od):
    """Its lines without the sums that the file has, and peers do not get."""
    text = ""
    for path in sorted(glob.glob(od.state + "/*/events/*.jsonl")):
        with open(path, encoding="utf-8") as file:
            text += re.sub(r',"sum":"[0-9a-f]{8}"}$', "}", file.read(), flags=re.M)
    return text.splitlines()


class Fleet:
    def __init__(self, server, ods, dispatchers):
        self.dice = random.Random(SEED)
        self.server, self.ods, self.dispatchers = server, ods, dispatchers
        self.store = dispatcher.Store(STORE)
        self.asked = {od: [] for od in ods}
        self.kills = {"redis": 0, "worker": 0, "dispatcher": 0}

    def sandbox(self, od):
        with open(glob.glob(od.state + "/*/events/.sandbox")[0], encoding="ascii") as file:
            return file.read()

    def ask(self):
        od = self.dice.choice(self.ods)
        name = f"n{len(self.asked[od])}"
        self.asked[od].append(name)
        command = (f"sleep 0.{self.dice.randrange(3)}; seq {self.dice.randrange(99)}; "
                   f"echo {name} >>{od.dir}/ran")
        self.store.ask(self.sandbox(od), command)

    def kill(self):
        what = self.dice.choice(sorted(self.kills))
        self.kills[what] += 1
        if what == "redis":
            self.server.kill()
            threading.Event().wait(self.dice.random())
            self.server.start()
        elif what == "worker":
            self.dice.choice(self.ods).kill_worker()
        else:
            one = self.dice.choice(self.dispatchers)
            one.kill()
            one.start()

    def run(self):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            for _ in range(self.dice.randrange(1, 6)):
                self.ask()
            threading.Event().wait(self.dice.random() / 2)
            self.kill()

    def check(self):
        def all_done():
            return stored("SELECT count(*) FROM actions WHERE NOT done") == [(0,)]

        wait_for(all_done, "actions have no observation", WAIT)
        events = 0
        for od in self.ods:
            with open(od.dir + "/ran", encoding="ascii") as file:
                same(file.read().split(), self.asked[od], "what ran:")
            rows = "SELECT line FROM events WHERE sandbox = ? ORDER BY id"
            lines = wait_for(lambda od=od, rows=rows: [
                line for line, in stored(rows, self.sandbox(od))] == log_of(od) and log_of(od),
                             "the store is not the log", WAIT)
            events += len(lines)
            wait_for(lambda od=od: re.search("^od_bus_backlog 0$", od.get("/metrics"), re.M),
                     "not all is acknowledged", WAIT)
        client = self.server.client()
        wait_for(lambda: not [key for key in client.keys("od:*:events") if client.xlen(key)],
                 "events are not trimmed", WAIT)
        same(len(client.keys("od:*:lease")), len(self.ods), "leases:")
        return events


def main():
    tap, fleet = Tap(), None
    print(f"# seed {SEED}, {SECONDS:g} s", flush=True)
    show_log(Dispatcher.log)
    try:
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(Redis("appendfsync everysec"))
            words = ("--bus", server.url(), "--bus-wait", "0.5")
            ods = [stack.enter_context(Od(*words)) for _ in range(2)]
            dispatchers = [Dispatcher(server) for _ in range(2)]
            at_end(lambda: [one.kill() for one in dispatchers])
            stack.callback(lambda: [one.kill() for one in dispatchers])
            for od in ods:
                od.linked()
            fleet = Fleet(server, ods, dispatchers)
            fleet.run()
            events = fleet.check()
            holds(not any(one.end() for one in dispatchers), "a dispatcher ends with an error")
            same(server.client().keys("od:*:lease"), [], "leases at the end:")
            asked = sum(map(len, fleet.asked.values()))
            kills = ", ".join(f"{count} of {what}" for what, count in fleet.kills.items())
            print(f"# killed: {kills}; {asked} actions, {events} events", flush=True)
    except (AssertionError, OSError, sqlite3.Error, subprocess.SubprocessError) as error:
        notes = [f"seed {SEED}", *str(error).split("\n")]
        tap.line(False, "each event once and in order, each action once", notes)
    else:
        tap.line(True, "each event once and in order, each action once")
    return tap.done()


sys.exit(main())
