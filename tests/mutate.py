#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutate.py [ROOM...]: whether the tests notice small mistakes.

In a copy of the tree (out/mutate/tree) one line of a room is changed: a comparison, a
constant by one, a condition negated, a statement left out. The program and the room's unit
tests are built, and the tests of ROOMS run, the cheapest first, until one fails: the
mutant is killed. One that compiles to the same object is not counted (equivalent), nor
is one that does not compile. Not part of `make test`.

MUTANTS (60) of each room, chosen by SEED (1); JOBS is for make. The survivors are in
out/mutate/ROOM.survivors as FILE:LINE, the change, and the line. Ends with the counts.
"""
import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TREE = os.path.join(ROOT, "out/mutate/tree")
ARCH = os.uname().machine
O = f"out/{ARCH}-release"
MUTANTS, SEED = int(os.environ.get("MUTANTS", "60")), int(os.environ.get("SEED", "1"))

# Unit tests by name, then programs of tests/.
ROOMS = {
    "http": (["http", "httpd", "httpc", "ws", "ws_hello", "sse", "url", "multipart",
              "cookies", "dial", "socks", "v0_text"], ["scenario/tls.test"]),
    "keeper": (["keepmsg", "keeper"], ["scenario/session.test", "scenario/upgrade.test",
                                       "scenario/survive.test", "fault/restart.test"]),
    "shell": (["shell", "spool", "session", "v0_scan"],
              ["scenario/session.test", "scenario/input.test", "scenario/ends.test",
               "scenario/flow.test"]),
    "action": (["skill"], ["compat/events-doc.test", "compat/files.test",
                           "compat/events.test", "kernels/events.test"]),
}
LIMIT = 150  # seconds of one test; a mutant that hangs is killed, too

SWAPS = [(r" == ", " != "), (r" != ", " == "), (r" <= ", " < "), (r" >= ", " > "),
         (r" < ", " <= "), (r" > ", " >= "), (r" && ", " || "), (r" \|\| ", " && "),
         (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r" \+ ", " - "), (r" - ", " + ")]
STATEMENT = re.compile(r"^( +)(?!return|break|continue|goto|case|default|static|const|struct"
                       r"|else|do|typedef)[a-z_][^{}]*;$")
DECLARES = re.compile(r"^ +(?:unsigned |const |enum \w+ )*(?:int|char|bool|size_t|ssize_t|"
                      r"u?int\d+_t|long|void|pid_t|off_t|enum|unsigned|NOT_ZEROED)\b")


def mutants_of(path):
    """(line number, what, new line) of each change that there is in a file."""
    with open(path) as file:
        lines = file.read().split("\n")
    comment = False
    depth = 0
    for at, line in enumerate(lines):
        code = re.sub(r"/\*.*?\*/", "", line)
        was, comment = comment, "/*" in code or comment and "*/" not in code
        inside, depth = depth > 0, depth + code.count("{") - code.count("}")
        if was or comment or not inside or code.startswith("#") or "log_" in code:
            continue
        strings = [m.span() for m in re.finditer(r'"(?:[^"\\]|\\.)*"', line)]

        def free(m):
            return not any(a <= m.start() < b for a, b in strings) and "/*" not in line[: m.start()]

        for pattern, text in SWAPS:
            for m in filter(free, re.finditer(pattern, line)):
                yield at, f"{m[0].strip()} -> {text.strip()}", line[: m.start()] + text + line[m.end():]
        for m in filter(free, re.finditer(r"(?<![\w.])\d+(?![\w.])", line)):
            for more in (1, -1):
                if int(m[0]) + more >= 0:
                    text = str(int(m[0]) + more)
                    yield at, f"{m[0]} -> {text}", line[: m.start()] + text + line[m.end():]
        m = re.match(r"^( *(?:\} else )?if )\((.*)\)( \{)?$", line)
        if m and m[2].count("(") == m[2].count(")"):
            yield at, "negated", f"{m[1]}(!({m[2]})){m[3] or ''}"
        m = STATEMENT.match(line)
        if m and not DECLARES.match(line) and line.count("(") == line.count(")") and (
                re.search(r"[;{}:]$|\)$", lines[at - 1]) or not lines[at - 1].strip()):
            yield at, "left out", m[1] + ";"


def run(command, limit=600):
    """Its status; a group of its own, of which nothing stays."""
    process = subprocess.Popen(command, cwd=TREE, stdin=subprocess.DEVNULL, stdout=-3, stderr=-3,
                               start_new_session=True)
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            pass
        return 124
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def make(*goals):
    return run(["make", "--no-print-directory", f"-j{os.environ.get('JOBS', '2')}", *goals])


def sum_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def killer(room):
    """Which test fails, or None."""
    units, programs = ROOMS[room]
    for name in units:
        goal = f"{O}/unit/t_{name}"
        if make(goal) or run([goal], LIMIT):
            return f"t_{name}"
    if make("all", f"{O}/lib/od-fault", f"{O}/lib/fault"):
        return "make"
    for name in programs:
        path = f"tests/{name}"
        with open(os.path.join(TREE, path)) as file:
            shell = file.readline()[2:].strip().split()
        if run([*shell, path], LIMIT):
            return name
    return None


def mutate(room):
    files = []
    for where, _, names in os.walk(os.path.join(TREE, "core", room)):
        files += [os.path.join(where, name) for name in sorted(names) if name.endswith(".c")]
    every = [(path, *m) for path in sorted(files) for m in mutants_of(path)]
    random.Random(SEED).shuffle(every)
    counts = {"killed": 0, "survived": 0, "equivalent": 0, "does not compile": 0}
    found = killer(room)
    if found:
        print(f"{room}: {found} fails without a mutant", file=sys.stderr)
        return 1
    with open(os.path.join(ROOT, f"out/mutate/{room}.survivors"), "w") as out:
        for path, at, what, new in every:
            if counts["killed"] + counts["survived"] == MUTANTS:
                break
            begin = time.monotonic()
            with open(path) as file:
                text = file.read()
            lines = text.split("\n")
            old, lines[at] = lines[at], new
            name = os.path.relpath(path, TREE)
            goal = f"{O}/obj/{name[:-2]}.o"
            before = sum_of(os.path.join(TREE, goal))
            with open(path, "w") as file:
                file.write("\n".join(lines))
            by = ""
            if make(goal):
                how = "does not compile"
            elif sum_of(os.path.join(TREE, goal)) == before:
                how = "equivalent"
            else:
                by = killer(room)
                how = "killed" if by else "survived"
            with open(path, "w") as file:
                file.write(text)
            make(goal)
            counts[how] += 1
            line = f"{name}:{at + 1}: {what}: {old.strip()}"
            if how == "survived":
                print(line, file=out, flush=True)
            print(f"{how} {by or ''} {time.monotonic() - begin:.1f} s {line}", flush=True)
    tried = counts["killed"] + counts["survived"]
    print(f"{room}: {counts['killed']} of {tried} killed "
          f"({100 * counts['killed'] // max(tried, 1)} %), {counts['equivalent']} equivalent, "
          f"{counts['does not compile']} do not compile; of {len(every)}", flush=True)
    return 0


def main():
    os.makedirs(os.path.join(ROOT, "out/mutate"), exist_ok=True)
    os.makedirs(TREE, exist_ok=True)
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "-c", "--null", "-T", "-", "-f", os.path.join(TREE, ".tar")],
                   cwd=ROOT, input=names.stdout, check=True)
    subprocess.run(["tar", "-xf", ".tar"], cwd=TREE, check=True)
    os.unlink(os.path.join(TREE, ".tar"))
    if make("all"):
        sys.exit("the tree does not build")
    return sum(mutate(room) for room in sys.argv[1:] or ROOMS)


sys.exit(main())
