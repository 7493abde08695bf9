# SPDX-License-Identifier: MIT
"""The rows of bus.test. A Backend reads a sandbox's events as a dispatcher would: each
once, in order, acknowledged when it has them; and everything between the two breaks.
A row with `both` gets the class of a server, Redis or Valkey, and runs with each.
"""
import contextlib
import glob
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time

import redis

from dialled import OD, T, WAIT, Od, certificate
from redis_server import USUAL, Fake, Redis, Valkey
from tap import Rows, Tap, at_end, has, holds, lacks, run_rows, same, wait_for

try:
    from prometheus_client import parser
except ImportError:  # then the text is looked at by expressions alone
    parser = None

row = Rows()
SOON = ("--bus-wait", "0.2")
PROGRAM = os.path.join(os.environ["ROOT"], "build/deploy/dispatcher/dispatcher.py")
dispatchers = set()
at_end(lambda: [process.kill() for process in list(dispatchers)])


def bus(server, *options, **more):
    return Od("--bus", server.url(), *SOON, *options, **more)


def metric(od, name):
    found = re.search(rf"^od_bus_{name} (\d+)$", od.get("/metrics"), re.M)
    return int(found[1]) if found else None


def metric_of(od, outcome):
    return int(re.search(rf'^od_bus_ends_total{{outcome="{outcome}"}} (\d+)$', od.get("/metrics"),
                         re.M)[1])


def log_of(od):
    """The lines of the log; a file has a sum at the end of each, which peers do not get."""
    text = ""
    for path in sorted(glob.glob(od.state + "/*/events/*.jsonl")):
        with open(path, encoding="utf-8") as f:
            text += re.sub(r',"sum":"[0-9a-f]{8}"}$', "}", f.read(), flags=re.M)
    return text.splitlines()


class Backend:
    """Reads, unless `reads` is false, and acknowledges; sends actions."""

    def __init__(self, server, od, reads=True):
        self.server, self.lines, self.acked, self.over = server, [], 0, False
        self.last = 0
        client = server.client()
        hello = wait_for(lambda: self.hello(client), "no hello", WAIT)
        self.sandbox = hello["sandbox"]
        key = f"od:{{{self.sandbox[:2]}}}:{self.sandbox}"
        self.events_key, self.actions_key = key + ":events", key + ":actions"
        od.linked()
        self.thread = threading.Thread(target=self.read, daemon=True)
        if reads:
            self.thread.start()

    @staticmethod
    def hello(client):
        for key in client.keys("od:{*}:hello"):
            return json.loads(list(client.hgetall(key).values())[0])["hello"]

    def read(self):
        client = self.server.client()
        while not self.over:
            try:
                found = client.xread({self.events_key: f"{self.last}-0"}, count=100, block=200)
            except redis.exceptions.RedisError:
                threading.Event().wait(0.05)  # it is killed, and will be back
                continue
            for entry, fields in found[0][1] if found else ():
                self.last = int(entry.split("-")[0])
                self.lines.append(fields["e"])
            self.ack(client)

    def ack(self, client):
        if self.last > self.acked:
            with contextlib.suppress(redis.exceptions.RedisError):
                client.xadd(self.actions_key, {"a": json.dumps({"ack": self.last})})
                self.acked = self.last

    def send(self, **message):
        return self.server.client().xadd(self.actions_key, {"a": json.dumps(message)})

    def run(self, command, **more):
        return self.send(action="run", args={"command": command}, **more)

    def run_all(self, commands, **more):
        """Many at once."""
        pipe = self.server.client().pipeline(transaction=False)
        for command in commands:
            message = {"action": "run", "args": {"command": command}, **more}
            pipe.xadd(self.actions_key, {"a": json.dumps(message)})
        return pipe.execute()

    def events(self):
        return [json.loads(line) for line in self.lines]

    def ends(self):
        return [e for e in self.events() if "cause" in e and e["observation"] == "run"]

    def stored(self):
        """Ids that are in the stream."""
        return [int(i.split("-")[0]) for i, _ in self.server.client().xrange(self.events_key)]

    def close(self):
        self.over = True
        self.thread.join()


def is_log(od, backend):
    """Each event once, in order, as the log has it."""
    wait_for(lambda: len(backend.lines) >= len(log_of(od)), "events are missing", WAIT)
    same(backend.lines, log_of(od), "what came is the log:")


# --- events and actions


@row("events come once and in order while worker and Redis are killed", slow=True, both=True)
def _(server_of):
    # With everysec, Redis may lose an action that it took: nobody would have it then.
    with server_of("appendfsync always") as server, bus(server) as od:
        backend = Backend(server, od)
        ran = os.path.join(od.dir, "ran")
        dice, count = random.Random(7), 0
        for breakage in (od.kill_worker, None, od.kill_worker, None, None):
            names = [f"n{count + i}" for i in range(8)]
            ids = backend.run_all(f"sleep 0.0{dice.randrange(5)}; echo {n} >>{ran}" for n in names)
            count += len(names)
            wait_for(lambda: len(backend.ends()) > dice.randrange(count), "no ends", WAIT)
            if breakage:
                breakage()
            else:
                server.kill()
                server.start()
            wait_for(lambda: len(backend.ends()) >= count, "actions have no end", WAIT)
        with open(ran, encoding="ascii") as f:
            same(f.read().split(), [f"n{i}" for i in range(count)], "what ran:")
        same(backend.ends()[-1]["client_id"], "bus:" + ids[-1])
        is_log(od, backend)
        wait_for(lambda: server.client().xpending(backend.actions_key, "od")["pending"] == 0,
                 "no XACK", WAIT)
        wait_for(lambda: metric(od, "backlog") == 0 and not backend.stored(), "no trim", WAIT)
        backend.close()


@row("a server that loses its data gets every event of the log again", both=True)
def _(server_of):
    with server_of() as server, bus(server) as od:
        backend = Backend(server, od, reads=False)
        backend.run_all(["true"] * 5)
        wait_for(lambda: len(backend.stored()) == 10, "no events", WAIT)
        before = server.client().xrange(backend.events_key)
        server.client().flushall()
        wait_for(lambda: len(backend.stored()) == 10, "not healed", WAIT)
        same(server.client().xrange(backend.events_key), before)
        od.ends("lost")
        # What is written at once finds no stream, and makes none with a hole in it.
        server.client().delete(backend.events_key)
        same(od.exec("true").returncode, 0)
        wait_for(lambda: len(backend.stored()) == 12, "not healed", WAIT)
        same(backend.stored(), list(range(1, 13)))
        # A backend whose store has them says so again, and is not sent them.
        backend.send(ack=12)
        wait_for(lambda: not backend.stored() and metric(od, "acked") == 12, "no trim", WAIT)
        od.kill_worker()
        od.linked(times=3)
        wait_for(lambda: metric(od, "acked") == 12, "what was acknowledged is forgotten", WAIT)
        same(backend.stored(), [])


@row("an event that is there already is counted, and no error")
def _(_case):
    refusal = b"-ERR The ID specified in XADD is equal or smaller than the target\r\n"
    with Fake(XADD=refusal) as server, bus(server) as od:
        od.linked()
        same(od.exec("true").returncode, 0)
        wait_for(lambda: metric(od, "duplicates_total") == 2, "not counted", WAIT)
        same((metric(od, "published"), metric(od, "up")), (2, 1))


@row("1,024 events that nobody acknowledges stop the bus, not the sandbox", slow=True)
def _(_case):
    with Redis() as server, bus(server) as od:
        backend, gate = Backend(server, od, reads=False), os.path.join(od.dir, "gate")
        # The first one keeps the session, so that more wait than the server takes.
        backend.run_all([f"until [ -e {gate} ]; do sleep 0.02; done", *["true"] * 1099])
        wait_for(lambda: metric(od, "published") == 1024, "1,024 are not published", WAIT)
        group = server.client().xinfo_groups(backend.actions_key)[0]
        holds(group["pending"] + group["lag"] > 0, group)  # not all are taken
        open(gate, "w", encoding="ascii").close()
        wait_for(lambda: len(log_of(od)) >= 2200, "they do not run", WAIT)
        same((metric(od, "backlog"), len(backend.stored())), (1024, 1024))
        same((metric(od, "actions_total"), metric(od, "refused_total")), (1100, 0))
        holds(metric(od, "waiting") >= 1176)
        backend.thread.start()
        is_log(od, backend)
        wait_for(lambda: metric(od, "backlog") == 0, "a backlog stays", WAIT)
        backend.close()


@row("what is said: keys, hello, signs of life, source, no secret", both=True)
def _(server_of):
    with server_of() as server, bus(server) as od:
        backend = Backend(server, od)
        tag = "od:{%s}:" % backend.sandbox[:2]
        client = server.client()
        wait_for(lambda: client.exists(tag + "sandboxes"), "no sign of life", WAIT)
        same(sorted(client.keys()), sorted([tag + "hello", tag + "sandboxes", backend.actions_key]))
        holds(client.zscore(tag + "sandboxes", backend.sandbox) > 1.6e12)
        same(backend.hello(client)["protocol"], "od.events.v1")
        has([c["name"] for c in client.client_list()], "od-" + backend.sandbox)
        backend.run("echo hush-hush", secrets={"S": "hush-hush"}, client_id="mine")
        od.exec("true")
        wait_for(lambda: len(backend.lines) >= 4, "no events", WAIT)
        lacks("".join(backend.lines), "hush-hush")
        has("".join(backend.lines), "<secret_hidden>", '"client_id":"mine"', '"source":"exec"')
        for bad in ({"action": "run", "args": {"command": "true"}, "source": "exec"},
                    {"action": "nothing"}, {"ack": 999}, {"ack": "1"}, {"since": 1}, {"ack": -1}):
            backend.send(**bad)
        client.xadd(backend.actions_key, {"b": "1"})
        client.xadd(backend.actions_key, {"a": "{"})
        client.xadd(backend.actions_key, {"x": "y" * (5 << 20), "a": "1"})
        client.xadd(backend.actions_key, {f"x{i}": "y" for i in range(20000)})
        for _ in range(64):
            client.xadd(backend.actions_key, {"a": json.dumps({"z": "z" * 100000})})
        backend.run("true")
        wait_for(lambda: metric(od, "actions_total") == 2, "a bad message stops the others", WAIT)
        same((metric(od, "refused_total"), metric(od, "links_total")), (74, 1))
        wait_for(lambda: client.xpending(backend.actions_key, "od")["pending"] == 0, "no XACK", WAIT)
        backend.close()


@row("an action without room waits in its stream, and is not lost", both=True)
def _(server_of):
    with server_of("maxmemory-policy noeviction") as server, bus(server) as od:
        backend = Backend(server, od, reads=False)
        server.client().config_set("maxmemory", 1)
        same(od.exec("seq 3").returncode, 0)
        od.ends("oom")
        same(od.exec("seq 4").returncode, 0)
        server.client().config_set("maxmemory", 0)
        wait_for(lambda: backend.stored() == [1, 2, 3, 4], "not healed", WAIT)


@row("the end of the server: all events are on the bus by then", both=True)
def _(server_of):
    with server_of() as server:
        with bus(server) as od:
            backend = Backend(server, od, reads=False)
            server.client().client_pause(1500, all=False)
            same(od.exec("seq 3").returncode, 0)
            holds(metric(od, "waiting") > 0)
        same(backend.stored(), [1, 2])
        with bus(server, state=od.state) as again:
            again.linked()
            same(metric(again, "published"), 2)
            same(Backend(server, again, reads=False).sandbox, backend.sandbox)


# --- a dispatcher, that of build/deploy


@contextlib.contextmanager
def dispatcher(server, store, *options):
    process = subprocess.Popen(
        [sys.executable, PROGRAM, "work", "--redis", server.url(), "--store", store,
         "--lease", "2", "--forget", "600", *options], stdin=subprocess.DEVNULL)
    dispatchers.add(process)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        dispatchers.discard(process)


@row("a dispatcher takes over a lease that ran out, and forgets a silent sandbox", both=True)
def _(server_of):
    with server_of() as server, bus(server) as od:
        backend = Backend(server, od, reads=False)
        client, store = server.client(), os.path.join(od.dir, "store.db")
        key = backend.events_key.removesuffix(":events")
        silent = "f" * 32
        client.zadd("od:{ff}:sandboxes", {silent: (time.time() - 3600) * 1000})
        client.hset("od:{ff}:hello", silent, "{}")
        for end, name in ((":events", "e"), (":actions", "a")):
            client.xadd(f"od:{{ff}}:{silent}{end}", {name: "{}"})

        def ran(count):
            words = [sys.executable, PROGRAM, "run", backend.sandbox, "true", "--store", store]
            same(subprocess.run(words, timeout=WAIT, check=False).returncode, 0)
            with contextlib.closing(sqlite3.connect(store, timeout=WAIT)) as db:
                wait_for(lambda: db.execute("SELECT count(*) FROM actions WHERE done")
                         .fetchone() == (count,), "no observation in the store", WAIT)

        with dispatcher(server, store):
            ran(1)
            wait_for(lambda: not (client.keys(f"*{silent}*") or client.hexists("od:{ff}:hello", silent)
                                  or client.zscore("od:{ff}:sandboxes", silent)),
                     "it is not forgotten", WAIT)
            fence = int(client.get(key + ":fence"))
        with dispatcher(server, store):
            ran(2)
        holds(int(client.get(key + ":fence")) > fence)
        same(backend.hello(client)["sandbox"], backend.sandbox)
        wait_for(lambda: metric(od, "backlog") == 0, "the store's events stay", WAIT)


def named(digit, server, silence):
    """A sandbox of that digit alone, which has been silent for so many seconds."""
    sandbox, shard = digit * 32, "od:{%s}" % (digit * 2)
    server.client().zadd(shard + ":sandboxes", {sandbox: (time.time() - silence) * 1000})
    return f"{shard}:{sandbox}"


@row("a dispatcher that is full gives up a silent sandbox for a living one")
def _(_case):
    with Redis() as server:
        client, store = server.client(), os.path.join(T, "full.db")
        first = named("a", server, 0)
        with dispatcher(server, store, "--most", "1"):
            wait_for(lambda: client.exists(first + ":lease"), "no lease", WAIT)
            second = named("b", server, 0)
            named("a", server, 120)
            wait_for(lambda: client.exists(second + ":lease"), "no room", WAIT)
            wait_for(lambda: not client.exists(first + ":lease"), "the lease stays", WAIT)


@row("a dispatcher forgets a silent sandbox that it has, when its store has all events")
def _(_case):
    with Redis() as server:
        client, store = server.client(), os.path.join(T, "forget.db")
        key = named("a", server, 0)
        with dispatcher(server, store, "--most", "1"):
            wait_for(lambda: client.exists(key + ":lease"), "no lease", WAIT)
            named("a", server, 3600)
            wait_for(lambda: not client.keys("od:*"), "it is not forgotten", WAIT)
        key = named("a", server, 3600)
        for at in range(1, 1001):
            client.xadd(key + ":events", {"e": json.dumps({"id": at})}, id=f"{at}-0")
        with dispatcher(server, store):
            wait_for(lambda: not client.keys("od:*"), "it is not forgotten", WAIT)
        with contextlib.closing(sqlite3.connect(store)) as db:
            same(db.execute("SELECT count(*) FROM events").fetchone(), (1000,))


# --- who may


def sandbox_user(server, sandbox):
    """The user of README.md."""
    key = "od:{%s}:%s" % (sandbox[:2], sandbox)
    server.client().execute_command(
        "ACL", "SETUSER", "sb", "on", ">pass", "resetkeys", f"~{key}:events", f"~{key}:actions",
        "resetchannels", "-@all", *"+hello +auth +ping +role +xadd +xtrim +xreadgroup +xack "
        "+xgroup|create +xinfo|stream".split())


@row("a user of one sandbox: its own keys do, others are refused", both=True)
def _(server_of):
    with server_of() as server:
        with bus(server) as od:
            sandbox = Backend(server, od, reads=False).sandbox
        sandbox_user(server, sandbox)
        password = os.path.join(od.dir, "password")
        with open(password, "w", encoding="ascii") as f:
            f.write("wrong\n")
        options = ("--bus", server.url("sb@"), "--bus-password-file", password, *SOON)
        with Od(*options, "--bus-no-index", state=od.state) as own:
            own.ends("refused", "WRONGPASS")
            with open(password, "w", encoding="ascii") as f:
                f.write("pass\n")
            own.linked()
            same(own.exec("echo pass").stdout, "pass\n")
            wait_for(lambda: metric(own, "published") == 2, "nothing published", WAIT)
            lacks(server.client().xrange(f"od:{{{sandbox[:2]}}}:{sandbox}:events")[1][1]["e"],
                  '"content":"pass')
        with Od(*options, state=od.state) as index:
            index.ends("denied", "NOPERM")
            server.client().execute_command("ACL", "SETUSER", "sb", "+@all", "allkeys")
            index.linked()
            server.client().execute_command("ACL", "SETUSER", "sb", "resetkeys")
        with Od(*options, "--bus-no-index") as other:
            other.ends("denied", "NOPERM")


@row("without TLS to another machine: refused at the start and on the way")
def _(_case):
    def start(*words):
        done = subprocess.run([OD, "serve", "--socket", os.path.join(T, "none"), *words],
                              capture_output=True, text=True, timeout=WAIT, check=False)
        holds(done.returncode != 0, words)
        return done.stderr

    has(start("--bus", "redis://192.0.2.1"), "--bus-insecure")
    has(start("--bus", "redis://u@127.0.0.1"), "--bus-password-file")
    for bad in ("http://127.0.0.1", "redis://", "redis://127.0.0.1/x", "redis://127.0.0.1?a=b",
                "redis+sentinel://127.0.0.1", "redis://127.0.0.1?prefix={a}", "redis://h:0"):
        has(start("--bus", bad), "cannot use the URL of --bus")
    has(start("--bus-no-index"), "--bus")
    for words in (("--bus-sentinel-user", "u"), ("--bus-sentinel-password-file", "/dev/null")):
        has(start("--bus", "redis://127.0.0.1", *words), "redis+sentinel://")
    has(start("--bus", "redis+sentinel://127.0.0.1/m", "--bus-sentinel-user", "u"),
        "--bus-sentinel-password-file")
    with Fake(XINFO=b"-MOVED 1 192.0.2.1:6379\r\n") as server, bus(server) as od:
        od.ends("clear", "192.0.2.1:6379 is another machine")


@row("TLS, with an authority that is named", needs=("openssl",))
def _(_case):
    with Redis(tls=certificate("good")) as server:
        with bus(server) as stranger:
            stranger.ends("tls")
        with bus(server, "--bus-ca", certificate("root.pem")) as od:
            backend = Backend(server, od, reads=False)
            same(od.exec("true").returncode, 0)
            wait_for(lambda: backend.stored() == [1, 2], "no events", WAIT)


# --- where


@row("-MOVED is followed, and not forever")
def _(_case):
    with Redis() as server:
        moved = f"-MOVED 7 127.0.0.1:{server.port}\r\n".encode()
        with Fake(XINFO=moved) as seed, bus(seed) as od:
            backend = Backend(server, od, reads=False)
            same(od.exec("true").returncode, 0)
            wait_for(lambda: backend.stored() == [1, 2], "no events", WAIT)
            same(len(seed.asked("XINFO")), 1)
    with Fake() as circle:
        circle.answers["XINFO"] = f"-MOVED 7 :{circle.port}\r\n".encode()
        with bus(circle, "--bus-wait", "60") as od:
            od.ends("moved")
            # The next try may have begun; each follows five.
            same(od.log().partition("[moved]")[0].count("the keys are at"), 5)
            holds(len(circle.asked("XINFO")) >= 6)


@contextlib.contextmanager
def sentinels(master, *lines):
    """Three that watch `master` as "one", and know each other and its replica."""
    with contextlib.ExitStack() as stack:
        three = [stack.enter_context(Redis(
            f"sentinel monitor one 127.0.0.1 {master.port} 2",
            "sentinel down-after-milliseconds one 500", "sentinel failover-timeout one 3000",
            *lines, sentinel=True)) for _ in range(3)]
        password = {"password": "hush"} if lines else {}
        for one in three:
            client = one.client(**password)
            wait_for(lambda client=client: (len(client.sentinel_slaves("one")),
                                            len(client.sentinel_sentinels("one"))) == (1, 2),
                     "the sentinels do not know each other", WAIT)
        yield three


@row("three sentinels lead to the master, and to the next one", slow=True)
def _(_case):
    with Redis() as first, Redis() as second:
        second.client().replicaof("127.0.0.1", first.port)
        with sentinels(first) as three:
            url = "redis+sentinel://" + ",".join(f"127.0.0.1:{s.port}" for s in three) + "/"
            with Od("--bus", url + "none", *SOON) as od:
                od.ends("no-master")
            wait_for(lambda: second.client().info("replication")["master_link_status"] == "up",
                     "no replica", WAIT)
            three[0].kill()  # two of three are enough, for them and for us
            with Od("--bus", url + "one", *SOON) as od:
                backend = Backend(first, od, reads=False)
                same(od.exec("true").returncode, 0)
                wait_for(lambda: backend.stored() == [1, 2], "no events", WAIT)
                first.kill()
                same(od.exec("true").returncode, 0)
                od.linked(times=2)
                backend.server = second
                wait_for(lambda: backend.stored() == [1, 2, 3, 4], "no events", WAIT)
                first.start()  # __exit__ ends it


@row("sentinels with a password and a user", slow=True)
def _(_case):
    with Redis() as master, Redis() as replica:
        replica.client().replicaof("127.0.0.1", master.port)
        with sentinels(master, "requirepass hush") as three:
            url = f"redis+sentinel://127.0.0.1:{three[0].port}/one"
            password = os.path.join(master.dir, "password")
            with open(password, "w", encoding="ascii") as f:
                f.write("hush\n")
            file = ("--bus-sentinel-password-file", password)
            with Od("--bus", url, *SOON) as od:
                od.ends("refused", "NOAUTH")
            with Od("--bus", url, *file, *SOON) as od:
                od.linked()
                lacks(od.exec("echo hush").stdout, "<secret")
                backend = Backend(master, od, reads=False)
                wait_for(lambda: backend.stored() == [1, 2], "no events", WAIT)
                has(master.client().xrange(backend.events_key)[1][1]["e"], "<secret_hidden>")
            with Od("--bus", url, *file, "--bus-sentinel-user", "nobody", *SOON) as od:
                od.ends("refused", "WRONGPASS")
                three[0].client(password="hush").execute_command(
                    "ACL", "SETUSER", "nobody", "on", ">hush", "-@all",
                    "+sentinel|get-master-addr-by-name")
                od.linked()


# --- live output


def listen(server, sandbox):
    """A connection that gets what comes on the channel of deltas; redis-py 4 knows none."""
    connection = server.client(socket_timeout=WAIT).connection_pool.get_connection("SSUBSCRIBE")
    connection.send_command("SSUBSCRIBE", f"od:{{{sandbox[:2]}}}:{sandbox}:delta")
    same(connection.read_response()[0], "ssubscribe")
    return connection


def delta_of(connection):
    kind, _, text = connection.read_response()
    same(kind, "smessage")
    return json.loads(text)


@row("--bus-deltas: the output of a command while it runs, for whoever listens", both=True)
def _(server_of):
    with server_of() as server, bus(server, "--bus-deltas") as od:
        backend = Backend(server, od, reads=False)
        has(backend.hello(server.client())["capabilities"], "delta")
        with contextlib.closing(od_input(od)) as typed:
            # Nobody listens: it is dropped, and a gap in what comes first.
            backend.run(f"while ! test -e heard; do echo tick; sleep 0.05; done; printf 'hush-%s' hush; echo a; printf 'caf'; "
                        f"printf '\\303'; read x <{typed.path}; printf '\\251\\n'; "
                        f"yes | head -c 300000; read x <{typed.path}", secrets={"S": "hush-hush"})
            wait_for(lambda: metric(od, "deltas_total") > 0, "none is tried", WAIT)
            ear = listen(server, backend.sandbox)
            got, at = [], None

            def take(end):
                nonlocal at
                while not "".join(d["content"] for d in got).endswith(end):
                    d = delta_of(ear)
                    same((d["observation"], d["cause"], d["session"]), ("delta", 1, "main"))
                    extras = d["extras"]
                    same(extras["from"], at if at is not None else extras["from"])
                    same(extras.get("gap", False), d["content"] == "")
                    at = extras["to"]
                    got.append(d)

            take("tick\n")
            holds(got[0]["extras"]["from"] > 0 or got[0]["content"] == "", got)
            open(os.path.join(od.dir, "heard"), "w", encoding="ascii").close()
            take("a\ncaf")
            lacks(json.dumps(got), "hush-hush")
            typed.write()
            take("\u00e9\n" + "y\n" * 150000)
            typed.write()
        wait_for(lambda: backend.stored() == [1, 2], "no events", WAIT)
        # Of a worker that follows: from then on.
        backend.run("echo early; while ! test -e go; do sleep 0.05; done; echo late")
        has(delta_of(ear)["content"], "early")
        od.kill_worker()
        od.linked(times=2)
        open(os.path.join(od.dir, "go"), "w", encoding="ascii").close()
        same(delta_of(ear)["content"], "late\n")
        same(server.client().execute_command("DBSIZE"), 4)


class od_input:
    """A FIFO in the folder of a server: each write() lets one `read x <FIFO` go on."""

    def __init__(self, od):
        self.path = os.path.join(od.dir, "fifo")
        os.mkfifo(self.path)

    def write(self):
        with open(self.path, "w", encoding="ascii") as f:
            f.write("\n")

    def close(self):
        os.unlink(self.path)


@contextlib.contextmanager
def prints(od):
    """A command that prints until the end of the block, then ends with 0."""
    command = "while ! test -e end; do echo tick; sleep 0.05; done"
    process = subprocess.Popen([OD, "exec", "--socket", od.socket, command],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        open(os.path.join(od.dir, "end"), "w", encoding="ascii").close()
        status = process.wait(WAIT)
    same(status, 0)


@row("--bus-deltas and a server that takes none: events go on, said once a link")
def _(_case):
    no = b"-ERR unknown command `SPUBLISH`\r\n"
    with Fake(SPUBLISH=no) as server, bus(server, "--bus-deltas") as od:
        od.linked()
        with prints(od):
            wait_for(lambda: server.asked("SPUBLISH"), "none is tried", WAIT)
        same(od.exec("seq 3").returncode, 0)
        wait_for(lambda: metric(od, "published") == 4, "events stop", WAIT)
        same((len(server.asked("SPUBLISH")), od.log().count("does not accept output"),
              metric(od, "links_total")), (1, 1, 1))
    with Fake(SPUBLISH=b"+OK\r\n") as server, bus(server, "--bus-deltas") as od:
        od.linked()
        with prints(od):
            od.ends("garbage", "SPUBLISH")
    with Fake() as server, bus(server) as od:
        od.linked()
        same(od.exec("seq 3; sleep 0.01").returncode, 0)
        wait_for(lambda: metric(od, "published") == 2, "no events", WAIT)
        same((server.asked("SPUBLISH"), metric(od, "deltas_total")), ([], 0))
        lacks(server.asked("HSET")[0][3], '"delta"')


@row("a replica, another log's stream, a wrong type: each has its name")
def _(_case):
    replica = b"*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:1\r\n$9\r\nconnected\r\n:0\r\n"
    future = b"*4\r\n$6\r\nlength\r\n:0\r\n$17\r\nlast-generated-id\r\n$3\r\n9-0\r\n"
    for outcome, answers in (("replica", {"ROLE": replica}), ("future-id", {"XINFO": future}),
                             ("loading", {"HSET": b"-LOADING Redis is loading\r\n"}),
                             ("busy", {"HELLO": b"-ERR max number of clients reached\r\n"}),
                             ("refused", {"HELLO": b"-NOAUTH HELLO must be called\r\n"}),
                             ("cluster-down", {"XGROUP": b"-CLUSTERDOWN Hash slot\r\n"}),
                             ("misconf", {"XADD": b"-MISCONF Errors writing\r\n"}),
                             ("wrong-type", {"XREADGROUP": b"-WRONGTYPE Operation\r\n"}),
                             ("lost", {"XADD": b"$-1\r\n"}),
                             ("too-old", {"XGROUP": b"-ERR unknown command `XGROUP`\r\n"}),
                             ("error", {"ZADD": b"-ERR no \x1b[31m\r\n"})):
        with Fake(**answers) as server, bus(server) as od:
            wait_for(lambda od=od: od.exec("true").returncode == 0, "no server", WAIT)
            od.ends(outcome)
            lacks(od.log(), "\x1b")
            holds(metric_of(od, outcome) > 0)
            same(json.loads(subprocess.run(
                [OD, "serve", "--status", "--json", "--server", od.socket], check=True,
                capture_output=True, timeout=WAIT,
            ).stdout)["servers"][0]["bus"]["last"]["outcome"], outcome)
            server.answers.update(USUAL)  # it is mended, and has all before od ends
            wait_for(lambda od=od: metric(od, "waiting") == 0, "not healed", WAIT)


@row("a server before Redis 6 is asked by AUTH")
def _(_case):
    with Fake(HELLO=b"-ERR unknown command `HELLO`\r\n", AUTH=b"+OK\r\n", SELECT=b"+OK\r\n") as old:
        url = f"redis://:p%40ss@127.0.0.1:{old.port}/3?prefix=fleet.1"
        with Od("--bus", url, *SOON) as od:
            od.linked()
            same((old.asked("AUTH")[0], old.asked("SELECT")[0]), (["AUTH", "p@ss"], ["SELECT", "3"]))
            has(old.asked("XGROUP")[0][2], "fleet.1:{")
            lacks(od.log(), "p@ss", "p%40ss")


LIES = (
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b"\0\0\0\0\r\n",
    b":\r\n",
    b"$-2\r\n",
    b"$9223372036854775807\r\nx",
    b"*1048577\r\n",
    b"*-5\r\n",
    b"*1\r\n" * 100,
    b"*2\r\n$1\r\nx\r\n$1\r\nyy\r\n",
    b"%1\r\n+a\r\n,1.5\r\n",
    b"*3\r\n*0\r\n:1\r\n*-1\r\n",
    b"*1\r\n*2\r\n$1\r\nk\r\n*1\r\n*2\r\n:1\r\n:2\r\n",
    b"*1\r\n*2\r\n$1\r\nk\r\n*1\r\n*3\r\n$3\r\n1-0\r\n*0\r\n*0\r\n",
    b"+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n",
    b"$600000000\r\n",
    b"$2100000\r\n" + b"x" * 2100002,
    b"+" + b"x" * (3 << 20),
)


@row("a server that lies costs a link, never the worker", slow=True)
def _(_case):
    commands = ("ROLE", "HSET", "XINFO", "EXEC", "XADD", "XREADGROUP", "ZADD")
    lies = [(command, lie) for command in commands for lie in LIES]
    at = {"i": 0}
    server = Fake()

    def liar(command):
        def answer(_words):
            name, lie = lies[at["i"] % len(lies)]
            if name != command:
                return usual[command]
            at["i"] += 1
            return lie

        return answer

    usual = dict(server.answers)
    server.answers.update({command: liar(command) for command in commands})
    with server, bus(server, "--bus-wait", "0.02", "--bus-timeout", "0.3") as od:
        worker = wait_for(od.worker, "no worker", WAIT)

        def all_told():
            if od.process.poll() is None:
                od.exec("true")
            return at["i"] >= len(lies)

        wait_for(all_told, f"not all lies are told: {at}", 2 * WAIT)
        same(od.worker(), worker, "the worker:")
        has(od.log(), "[garbage]")
        server.answers.update(usual)
        before = od.log().count(": linked, ")
        od.linked(times=before + 1)


@row("the metrics are what Prometheus reads, each with its help and type")
def _(_case):
    with Redis() as server, bus(server) as od:
        od.linked()
        same(od.exec("true").returncode, 0)
        text = od.get("/metrics").split("\r\n\r\n", 1)[1]
    ours = [line for line in text.splitlines() if line.startswith("od_bus_")]
    names = {re.match(r"\w+", line)[0] for line in ours}
    for name in names:
        kind = "counter" if name.endswith("_total") else "gauge"
        same([len(re.findall(f"^# HELP {name} [A-Z].*[.?]$", text, re.M)),
              re.findall(f"^# TYPE {name} (.*)$", text, re.M)], [1, [kind]], name)
    if parser:
        found = {sample.name: family.type for family in parser.text_string_to_metric_families(text)
                 for sample in family.samples}
        same({name for name in found if name.startswith("od_bus_")}, names)
        lacks(found.values(), "unknown", "untyped")
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, timeout=WAIT,
                              capture_output=True, text=True, check=False)
        same((done.returncode, done.stderr), (0, ""))


@row("front/bus/README.md names each end, key and metric")
def _(_case):
    with open(os.path.join(os.environ["ROOT"], "core/front/bus/README.md"), encoding="utf-8") as f:
        page = f.read()
    with Fake() as server, bus(server) as od:
        od.linked()
        metrics = od.get("/metrics")
    same(sorted(re.findall(r"^\| `([a-z-]+)` \|", page, re.M)),
         sorted(re.findall(r'bus_ends_total{outcome="([a-z-]+)"', metrics)))
    has(page, *set(re.findall(r"^(od_bus_\w+)", metrics, re.M)))


def main():
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    tap = Tap()
    work = [("bus", one, lambda _row: contextlib.nullcontext(Redis)) for one in row]
    if Valkey.program:
        work += [("valkey", one, lambda _row: contextlib.nullcontext(Valkey))
                 for one in row if one.options.get("both")]
    else:
        tap.line(True, "valkey", skip="tests/images/roots.sh valkey found none")
    run_rows(tap, [item for item in work if pattern in f"{item[0]}: {item[1].name}"], at_once=4)
    return tap.done()


sys.exit(main())
