# SPDX-License-Identifier: MIT
"""One server, one backend (tests/lib/backend.py), and everything between them breaks.

As root both are hosts of their own: two network namespaces and a cable. Else they meet
on the loopback, and the cable stays whole. In the end the backend's transcript has to
be the server's log, line by line: each event once, in order, and each action run once.
"""
import contextlib
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

from dialled import T, WAIT, Od, certificate
from tap import Tap, holds, run_row, same, wait_for, Row

ROOT = os.environ["ROOT"]
ACTIONS = 12  # of a round
OD_ADDRESS, BACKEND_ADDRESS = "10.213.7.1", "10.213.7.2"


def run(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, capture_output=True)


# --- two hosts


class Loopback:
    """Where we may not make hosts: no cable, no commands before."""

    cable = False
    address = "127.0.0.1"
    od = backend = ()

    def close(self):
        pass


class Hosts:
    """Namespaces live as long as a process in them: a cat of ours each."""

    cable = True
    address = BACKEND_ADDRESS

    def __init__(self):
        self.holders = [
            subprocess.Popen(["unshare", "-n", "cat"], stdin=subprocess.PIPE) for _ in range(2)
        ]
        own = os.readlink("/proc/self/ns/net")
        for holder in self.holders:
            at = f"/proc/{holder.pid}/ns/net"
            wait_for(lambda at=at: os.readlink(at) != own, "no namespace", WAIT)
        self.od, self.backend = (
            ("nsenter", f"--net=/proc/{holder.pid}/ns/net", "--") for holder in self.holders
        )
        far = str(self.holders[1].pid)
        run(*self.od, "ip", "link", "add", "od0", "type", "veth", "peer", "name", "od1",
            "netns", far)
        for before, name, address in (
            (self.od, "od0", OD_ADDRESS),
            (self.backend, "od1", BACKEND_ADDRESS),
        ):
            run(*before, "ip", "address", "add", address + "/24", "dev", name)
            run(*before, "ip", "link", "set", name, "up")
            run(*before, "ip", "link", "set", "lo", "up")

    def plug(self, how):
        run(*self.backend, "ip", "link", "set", "od1", how)

    def close(self):
        for holder in self.holders:
            holder.stdin.close()
            holder.wait()


def hosts():
    may = subprocess.run(["unshare", "-n", "true"], stderr=-3, check=False).returncode == 0
    return Hosts() if may and os.getuid() == 0 else Loopback()


def certificate_for(address):
    """Signed by the tests' root."""
    path = os.path.join(tempfile.mkdtemp(dir=T), "backend")
    with open(path + ".ext", "w", encoding="ascii") as f:
        f.write(f"subjectAltName=IP:{address}\n")
    run("openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-keyout", path + ".key", "-subj", "/CN=backend", "-out", path + ".req")
    run("openssl", "x509", "-req", "-in", path + ".req", "-CA", certificate("root.pem"), "-CAkey",
        certificate("root.key"), "-CAcreateserial", "-days", "30", "-extfile", path + ".ext",
        "-out", path + ".pem")
    return path


# --- the backend, which may be killed


class Backend:
    def __init__(self, net):
        self.net = net
        self.folder = tempfile.mkdtemp(dir=T)
        self.certificate = certificate_for(net.address)
        self.port = "0"
        self.process = None
        self.expected = {}
        self.start()

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with contextlib.suppress(FileNotFoundError):
            with open(self.path(name), encoding="utf-8") as f:
                return f.read()
        return ""

    def start(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path("port"))
        with open(self.path("log"), "ab") as log:
            self.process = subprocess.Popen(
                [*self.net.backend, sys.executable, os.path.join(ROOT, "tests/lib/backend.py"),
                 self.net.address, self.port, self.folder, self.certificate],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )
        self.port = wait_for(lambda: self.read("port"), "the backend does not listen", WAIT)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def events(self):
        """Whole lines; the last one may be in the making."""
        text = self.read("transcript")
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def finals(self):
        """The final observations, by client_id."""
        names, found = {}, {}
        for event in self.events():
            if "action" in event:
                names[event["id"]] = event["client_id"]
            elif "cause" in event:
                found.setdefault(names[event["cause"]], []).append(event)
        return found

    def order(self):
        """The events of the last hours, in short: whose action, and >whose end."""
        names, said = {}, []
        for event in self.events():
            if "action" in event:
                names[event["id"]] = event["client_id"]
            said.append(event.get("client_id") or ">" + names.get(event.get("cause"), "?"))
        return " ".join(said[-60:])

    def ask(self, name, command, output, session=None):
        action = {"action": "run", "args": {"command": command}, "client_id": name}
        if session:
            action["session"] = session
        self.expected[name] = output
        with open(self.path("actions"), "a", encoding="utf-8") as f:
            f.write(json.dumps(action) + "\n")

    def has(self, count):
        wait_for(lambda: len(self.finals()) >= count, f"{count} ends of actions", WAIT)


# --- the day


def ask_round(backend, number, ran):
    """Commands that print, wait a little, and count themselves in the shell and in a file."""
    for i in range(ACTIONS):
        name = f"r{number}.{i}"
        lines = 40 * i
        backend.ask(
            name,
            f"n=$((n+1)); seq {lines}; sleep 0.0{i % 4}; echo {name} >>{ran}; echo {name} $n",
            "".join(f"{k}\n" for k in range(1, lines + 1)) + f"{name} {number * ACTIONS + i + 1}",
        )
    backend.ask(f"r{number}.other", f"echo other {number}", f"other {number}", session="other")


def kill_backend(_od, backend, _net):
    backend.kill()
    backend.start()


def kill_worker(od, _backend, _net):
    od.kill_worker()


def kill_both(od, backend, _net):
    backend.kill()
    od.kill_worker()
    backend.start()


def upgrade(od, _backend, _net):
    old = od.worker()
    os.kill(od.process.pid, signal.SIGHUP)
    wait_for(lambda: od.worker() not in (None, old), "no other worker", WAIT)


def pull_the_cable(od, _backend, net):
    if not net.cable:
        return
    before = od.log().count("[dead]")
    net.plug("down")
    wait_for(lambda: od.log().count("[dead]") > before, "the link is not found dead", WAIT)
    net.plug("up")


DAY = (kill_backend, kill_worker, kill_both, upgrade, pull_the_cable, kill_backend)


def check_transcript(od, backend, ran):
    finals = backend.finals()
    main = [name for name in backend.expected if not name.endswith("other")]
    with open(ran, encoding="ascii") as f:
        same(f.read().split(), main, f"what ran, of {backend.order()}:")
    for name, output in backend.expected.items():
        same(len(finals.get(name, [])), 1, f"ends of {name}")
        same(finals[name][0]["content"].rstrip("\n"), output, name)
    ids = [event["id"] for event in backend.events()]
    same(ids, list(range(1, len(ids) + 1)), "ids")
    log = ""
    for path in sorted(glob.glob(od.state + "/*/events/*.jsonl")):
        with open(path, encoding="utf-8") as f:
            # The file has a sum at the end of each line, which links do not get.
            log += re.sub(r',"sum":"[0-9a-f]{8}"}$', "}", f.read(), flags=re.M)
    same(backend.read("transcript"), log, "the transcript is the log:")


def day(net):
    backend = Backend(net)
    ran = os.path.join(backend.folder, "ran")
    url = f"wss://{net.address}:{backend.port}/backend"
    options = ("--ca", certificate("root.pem"), "--connect-wait", "0.2", "--connect-ping", "0.7")
    try:
        with Od("--connect", url, *options, before=net.od) as od:
            done = 0
            for number, breakage in enumerate(DAY):
                ask_round(backend, number, ran)
                backend.has(done + 1 + ACTIONS // 3)
                breakage(od, backend, net)
                done += ACTIONS + 1
                backend.has(done)
            check_transcript(od, backend, ran)
            sandboxes = {json.loads(h)["sandbox"] for h in backend.read("hellos").splitlines()}
            same(len(sandboxes), 1, "sandboxes")
            holds(od.log().count(": linked, ") >= len(DAY), od.log())
    finally:
        backend.kill()


def main():
    tap = Tap()

    @contextlib.contextmanager
    def net(_row):
        them = hosts()
        try:
            yield them
        finally:
            them.close()

    run_row(tap, "connect", Row("nothing is lost or done twice on a bad day", day, {}), net)
    return tap.done()


sys.exit(main())
