# SPDX-License-Identifier: MIT
"""rows.py AGENT [PATTERN]: three processes of an agent, one after the other, and what the
model got of each.

    once    asked once, as a script does; SIGINT while a command runs
    talk    a conversation, as an editor has: the new client finds the command of the one
            before; all kinds of answers; the worker dies; the turn is cancelled; SIGKILL
    late    asked once, with a patience of PATIENCE seconds; at last od itself is killed, between
            two calls and during one

A row looks at what a process left; the processes before that one run in any case.
"""
import fcntl
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
import zlib

import eval_lib
from agents import AGENTS
from model import Call, Model
from tap import Rows, Tap, has, holds, lacks, same, short, wait_for

PATIENCE = 10
STATE = re.compile(r"\[(exit \d+|killed by SIG\w+|still running)[^\n]*\]")
row = Rows()


def loopback():
    """Brings up the only interface there is."""
    with socket.socket() as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sh", b"lo", 1 | 8 | 64))  # SIOCSIFFLAGS: UP


def png():
    """A picture of 40 by 30."""
    def chunk(kind, data):
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    lines = b"".join(b"\0" + bytes([8 * y, 99, 200]) * 40 for y in range(30))
    head = struct.pack(">IIBBBBB", 40, 30, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) +
            chunk(b"IEND", b""))


class Case:
    """An agent, its model, and od, which its first process starts."""

    def __init__(self, name):
        self.kind, self.model = AGENTS[name], Model()
        self.dir = os.environ["T"] + "/work"
        os.mkdir(self.dir)
        with open(self.dir + "/a.png", "wb") as file:
            file.write(png())

    # --- what runs in od

    def held(self, name):
        """A command that runs until it is stopped; its pid is in a file."""
        return f"sh -c 'echo $$ >{name}.pid; exec sleep 1000'"

    def pid(self, name):
        try:
            with open(f"{self.dir}/{name}.pid", encoding="ascii") as file:
                return int(file.read() or 0)
        except FileNotFoundError:
            return 0

    def alive(self, name):
        pid = self.pid(name)
        return bool(pid) and not gone(pid)

    def runs(self, name):
        wait_for(lambda: self.alive(name), f"{name} runs in od")

    def servers(self):
        said = subprocess.run([os.environ["OD"], "serve", "--status", "--json"], check=False,
                              capture_output=True).stdout
        return [each for each in json.loads(said or "{}").get("servers", []) if each.get("ok")]

    def crash(self):
        """The worker is killed; the next one takes over whenever it does."""
        os.kill(wait_for(self.servers, "od serves")[0]["worker"], signal.SIGKILL)

    def die(self):
        """All of od is killed."""
        server = wait_for(self.servers, "od serves")[0]
        os.kill(server["pid"], signal.SIGKILL)
        wait_for(lambda: gone(server["pid"]) and gone(server["worker"]), "od is gone")

    def die_within(self):
        def watch():
            self.runs("dying")
            self.die()

        threading.Thread(target=watch, daemon=True).start()

    def there(self, name):
        return os.path.exists(f"{self.dir}/{name}")

    def make(self, name):
        with open(f"{self.dir}/{name}", "w", encoding="ascii"):
            pass

    # --- the processes

    def once(self):
        self.model.plays["once"] = [
            Call("shell", command="echo hello $((6*7))", **self.kind.also),
            Call("shell", command=self.held("first"))]
        run = self.kind(self.model).run("play once")
        self.runs("first")
        run.interrupt()
        run.end()
        if self.kind.interrupt:
            wait_for(lambda: not self.alive("first"), "the command is stopped")
        self.left = self.alive("first")

    def talk(self):
        self.model.plays.update({
            "found": [Call("shell_input", wait_s=0), Call("shell_input", signal="INT"),
                      Call("shell", command="echo free")],
            "tour": [
                Call("shell", command="seq 1 3000"),
                Call("shell", command="seq -f '%0200.f' 1 3000"),
                Call("shell", command="echo oops >&2; sh -c 'exit 3'", wait_s=500),
                Call("read", path=self.dir + "/a.png"),
                Call("read", path="/none/here"),
                Call("shell", before=self.crash, command="echo after the crash"),
                Call("shell", before=self.crash_within, command="echo x >>count; "
                     "until [ -e over ]; do sleep 0.1; done; echo through")],
            "held": [Call("shell", command=self.held("second"))],
            "after": [Call("shell_input", wait_s=0), Call("shell_input", signal="INT"),
                      Call("shell", command="echo free")],
            "left": [Call("shell", command=self.held("third"))]})
        talk = self.kind(self.model).talk()
        talk.ready()
        for name in ("found", "tour"):
            talk.say("play " + name)
            talk.turn_ends()
        talk.say("play held")
        self.runs("second")
        talk.cancel()
        self.stopped = talk.turn_ends()
        if self.kind.cancel:
            wait_for(lambda: not self.alive("second"), "the command is stopped")
        self.went_on = self.alive("second")
        talk.say("play after")
        talk.turn_ends()
        talk.say("play left")
        self.runs("third")
        talk.kill()

    def crash_within(self):
        def watch():
            wait_for(lambda: self.there("count"), "it runs")
            self.crash()
            wait_for(self.servers, "the next worker serves")
            self.make("over")

        threading.Thread(target=watch, daemon=True).start()

    def late(self):
        self.model.plays["late"] = [
            Call("shell_input", wait_s=0), Call("shell_input", signal="INT"),
            Call("shell", wait_s=PATIENCE + 3, command="sh -c 'echo $$ >late.pid; "
                 "until [ -e go ]; do sleep 0.1; done; echo through'"),
            Call("shell_input", before=self.go),
            Call("shell", before=self.die, command="echo one"),
            Call("shell", command="echo two"),
            Call("shell", before=self.die_within, command=self.held("dying")),
            Call("shell", command="echo three")]
        run = self.kind(self.model, patience=PATIENCE).run("play late")
        self.status = run.end()

    def go(self):
        if self.kind.gives_up == "stops":
            wait_for(lambda: not self.alive("late"), "the command is stopped")
        self.late_lives = self.alive("late")
        self.make("go")

    def result(self, play, step):
        results = self.model.results(play)
        holds(len(results) > step, f"{len(results)} results of {play}", results, self.model.faults)
        return results[step]


def gone(pid):
    """It has ended, though its parent may not know yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def state_of(result):
    """The line in brackets that says what happened, which is the last one of od's answer."""
    found = STATE.findall(result.text)
    holds(found, "no state line", result)
    return found[-1]


def failed(result):
    """A model can see that it failed: by its mark, or by what od or the agent wrote."""
    words = r"\[failed\]|error|failed|not connected|timed out"
    holds(result.error or re.search(words, result.text, re.I), result)
    return True


# --- once


@row("the model gets od's tools by their names, with their schemas", process="once")
def _(case):
    asked = case.model.played("once")[0]
    client = eval_lib.Stdio(dict(os.environ))
    tools = client.tools()
    client.close()
    for name, tool in tools.items():
        got = asked.tools.get(case.kind.prefix + name)
        same(got is None, name in case.kind.deferred, name)
        if got:
            wanted, takes = tool["inputSchema"], got.schema.get("properties", {})
            same(takes, {**wanted["properties"], **takes}, name)
            same(set(takes) - set(wanted["properties"]), set(case.kind.also), name)
            same(got.schema.get("required", []), wanted.get("required", []), name)
            same(got.schema.get("additionalProperties", False), False, name)
            has(got.about, tool["description"])


@row("the output of a command reaches the model", process="once")
def _(case):
    result = case.result("once", 0)
    has(result.text, "hello 42\n[exit 0 in ")
    holds(not result.error, result)


@row("SIGINT: the command {interrupt}", process="once")
def _(case):
    holds(case.kind.interrupt in (not case.left, None), case.left)


# --- talk


@row("a new client finds what the last one left", process="talk")
def _(case):
    runs = "still running" in case.result("found", 0).text
    if case.kind.interrupt is not None:
        same(runs, case.left)
    if runs:
        same(state_of(case.result("found", 1)), "killed by SIGINT")
    else:
        has(case.result("found", 0).text, "killed by SIGINT")
    has(case.result("found", 2).text, "free\n[exit 0 in ")


@row("3,000 lines: the first, the last, and the state line", process="talk")
def _(case):
    result = case.result("tour", 0)
    has(result.text, "1\n2\n3\n", "\n2999\n3000\n[exit 0 in ", 'rest: read path="@')
    holds(result.text.count("\n") < 1600, result.text.count("\n"))


@row("600 KB: the same", process="talk")
def _(case):
    result = case.result("tour", 1)
    has(result.text, f"{1:0200}\n", f"\n{3000:0200}\n[exit 0 in ", 'rest: read path="@')
    holds(len(result.text) < 20000, len(result.text))


@row("a status other than 0 is in the state line, and no error", process="talk")
def _(case):
    result = case.result("tour", 2)
    has(result.text, "oops\n", "\n[exit 3 in ")
    holds(not result.error, result)


@row("od knows the agent: a call waits at most {longest} s", process="talk")
def _(case):
    has(case.result("tour", 2).text, f"wait_s is at most {case.kind.longest} for this client")


@row("a picture reaches the model as a picture", process="talk")
def _(case):
    result = case.result("tour", 3)
    has(result.text, "[picture 40x30 px")
    same(result.pictures, [png()])


@row("an error is one for the model", process="talk")
def _(case):
    result = case.result("tour", 4)
    has(result.text, "no file /none/here")
    failed(result)


@row("a worker that was killed: the next call works", process="talk")
def _(case):
    has(case.result("tour", 5).text, "after the crash\n[exit 0 in ")


@row("a worker that is killed during a call: the answer comes, and the command ran once",
     process="talk")
def _(case):
    has(case.result("tour", 6).text, "through\n[exit 0 in ")
    with open(case.dir + "/count", encoding="ascii") as file:
        same(file.read(), "x\n")


@row("a turn that is cancelled: the command {cancel}, and the next turn works", process="talk")
def _(case):
    same(case.went_on, not case.kind.cancel, case.stopped)
    state = state_of(case.result("after", 0))
    same(state, "still running" if case.went_on else "killed by SIGINT")
    has(case.result("after", 2).text, "free\n[exit 0 in ")


# --- late


@row("SIGKILL of the client: the command goes on, and a new client finds it", process="late")
def _(case):
    same(state_of(case.result("late", 0)), "still running")
    same(state_of(case.result("late", 1)), "killed by SIGINT")


@row("a call beyond the client's patience: {gives_up}", process="late")
def _(case):
    result, then = case.result("late", 2), case.result("late", 3)
    same(case.late_lives, case.kind.gives_up != "stops")
    if case.kind.gives_up == "waits":
        same(state_of(result), "still running")
    else:
        has(result.text.lower(), "timed out")
        failed(result)
    if case.kind.gives_up == "stops":
        has(then.text, "killed by SIGINT")
    else:
        has(then.text, "through\n[exit 0 in ")


@row("od is killed: the next call works, and tells what is lost", process="late")
def _(case):
    has(case.result("late", 4).text, "shells, kernels and the browser are fresh", "\none\n[exit 0 in ")
    text = case.result("late", 5).text
    has(text, "two\n[exit 0 in ")
    lacks(text, "are fresh")


@row("od is killed during a call: the model is told, and the next call works", process="late")
def _(case):
    result = case.result("late", 6)
    has(result.text, "was lost while this ran")
    failed(result)
    has(case.result("late", 7).text, "are fresh", "\nthree\n[exit 0 in ")


@row("the agent ends by itself, and the test has no fault", process="late")
def _(case):
    same(case.status, 0)
    same((case.model.strangers, case.model.faults, case.model.missing), ([], [], []))


def words(kind):
    """What differs, for the names of rows."""
    late = {"goes on": "the command goes on, and its output comes",
            "stops": "the command is stopped", "waits": "it waits on, for there is progress"}
    stops = {True: "is stopped", False: "goes on", None: "goes on, or is stopped"}
    return {"longest": kind.longest, "interrupt": stops[kind.interrupt],
            "cancel": stops[kind.cancel], "gives_up": late[kind.gives_up]}


def main():
    tap, pattern = Tap(), " ".join(sys.argv[2:])
    loopback()
    case = Case(sys.argv[1])
    names = {each: f"{sys.argv[1]}: {each.name.format(**words(case.kind))}" for each in row}
    chosen = [each for each in row if pattern in names[each]]
    processes = ["once", "talk", "late"]
    last = max((processes.index(each.options["process"]) for each in chosen), default=-1)
    for process in processes[:last + 1]:
        begun = time.monotonic()
        try:
            getattr(case, process)()
            print(f"# {process}: {time.monotonic() - begun:.1f} s", flush=True)
        except Exception:  # its rows, and those of the next processes, do not hold
            notes = short(traceback.format_exc()) + case.model.faults[:1]
            tap.line(False, f"{sys.argv[1]}: the process {process}", notes)
            break
        for each in chosen:
            if each.options["process"] == process:
                check(tap, names[each], each, case)
    return tap.done()


def check(tap, name, each, case):
    try:
        each.function(case)
    except Exception:
        tap.line(False, name, short(traceback.format_exc()))
    else:
        tap.line(True, name)


if __name__ == "__main__":
    sys.exit(main())
