# SPDX-License-Identifier: MIT
"""skills_ways.py [PATTERN]: the rows of skills_rows.py, each in every way: from the
shell, from Python, over HTTP, as an event; with a server and without one."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

from skills_rows import ROWS, Bad
from tap import Tap, same, show_log, wait_for

OD, T = os.environ["OD"], os.environ["T"]
W = os.path.join(T, "w")
PATIENCE = 60  # seconds
ELSEWHERE = {"browse"}  # it has a browser: tests/browser
# No links: programs of other packages have these names.
OTHERS = {"glob", "grep", "view", "replace", "insert", "create", "undo", "search"}


class Elsewhere(Exception):
    """A row does not go this way."""


def word(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def words(call):
    """The command line behind its name."""
    out = [word(arg) for arg in call.args]
    for name, value in call.named.items():
        shown = ",".join(map(str, value)) if isinstance(value, list) else word(value)
        out.append(f"--{name.replace('_', '-')}={shown}")
    return out


def code(call):
    args = [repr(arg) for arg in call.args]
    args += [f"{name}={value!r}" for name, value in call.named.items()]
    called = f"{call.name}({', '.join(args)})"
    return f"print({called})" if call.wire else called


def wanted(call, way):
    if call.wire:
        return call.text if way.name == Edit.name else call.wire
    return call.text.rstrip() if way.trims else call.text


def told(call, text):
    """What the function printed, as wanted() has it; times are TIME."""
    text = re.sub(r"\d\d:\d\d:\d\d(?=[;\]])", "TIME", text)
    answer = re.fullmatch(r"<(oh_aci_output_[0-9a-f]{32})>\n(.*)\n</\1>\n?", text, re.DOTALL)
    return json.loads(answer[2]) if call.wire and answer else text


# ---- ways: what was printed, and whether that is a failure (None: this way hides it)


class Way:
    trims = False  # blanks at the end of what is printed are lost
    fresh = True  # each row has a session of its own
    seen = None  # of a way that is dear: functions; a row without a new one is not run


class Shell(Way):
    def __init__(self, name, env, before=(), linked=False):
        self.name, self.env, self.before, self.linked = name, env, before, linked
        self.n = 0

    def session(self, n):
        self.env = {**self.env, "OD_SESSION": f"row{n}"}

    def run(self, argv, text=None):
        return subprocess.run(argv, input=text, capture_output=True, text=True, cwd=W,
                              env=self.env, timeout=PATIENCE)

    def call(self, call):
        argv = [OD, "skills", *self.before, call.name, *words(call)]
        if self.linked:
            if call.name in OTHERS:
                raise Elsewhere
            argv = [os.path.join(T, "links", call.name), *self.before, *words(call)]
        done = self.run(argv)
        if done.returncode not in (0, 1):
            raise AssertionError(f"{argv}: {done.returncode} {done.stderr}")
        return done.stdout, done.returncode == 1

    def bad(self, bad):
        argv = [OD, "skills", *self.before, "--args", "-", bad.name]
        done = self.run(argv, json.dumps(bad.args))
        same((done.returncode, done.stdout), (2, ""), argv)
        return done.stderr.removeprefix("od skills: ").rstrip("\n")


PYTHON = """
import contextlib, io, json, os, sys
import agentskills
from agentskills import *
for line in sys.stdin:
    said, why = io.StringIO(), ''
    with contextlib.redirect_stdout(said):
        try:
            exec(json.loads(line))
        except Exception as e:
            why = '%s: %s' % (type(e).__name__, e)
    print(json.dumps([said.getvalue(), why]), flush=True)
"""


class Python(Way):
    def __init__(self, name, env):
        self.name = name
        path = os.pathsep.join([os.path.join(T, "py"), env.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, "-c", PYTHON], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, cwd=W, env={**env, "PYTHONPATH": path})

    def run(self, text):
        self.process.stdin.write(json.dumps(text) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def session(self, n):
        self.run(f"os.environ['OD_SESSION'] = 'row{n}'")

    def call(self, call):
        said, why = self.run(code(call))
        same(why, "", code(call))
        return said, None

    def bad(self, bad):
        if None in bad.args.values():
            raise Elsewhere  # Python says that itself
        said, why = self.run(code(call_of(bad)))
        same(said, "")
        return why.removeprefix("RuntimeError: ").removeprefix("od skills: ")


class call_of:
    """Arguments that are none, as Python would have them."""

    def __init__(self, bad):
        self.name, self.args, self.named, self.wire = bad.name, (), bad.args, None


class Http(Way):
    fresh = False

    def __init__(self, url):
        self.url = url

    def session(self, n):
        pass

    def post(self, path, body):
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            return {"refused": refused.code, **json.load(refused)}

    def act(self, action, **args):
        body = {"action": {"action": action, "args": args, "timeout": PATIENCE}}
        return self.post("/execute_action", body)

    def bad(self, _):
        raise Elsewhere


class Cell(Http):
    """V0's run_ipython, whose content has no blanks at its end."""

    name = "a cell over HTTP"
    trims = True

    def call(self, call):
        seen = self.act("run_ipython", code=code(call), include_extra=False)
        return seen["content"], None


class Run(Http):
    """V0's run of the command; the same of its content."""

    name = "a command over HTTP"
    trims = True

    def call(self, call):
        command = shlex.join([OD, "skills", call.name, *words(call)])
        seen = self.act("run", command=command)
        status = seen["extras"]["metadata"]["exit_code"]
        return seen["content"], status == 1


class Edit(Http):
    """V0's edit; a view is a read, too."""

    name = "V0's edit and read"

    def call(self, call):
        if not call.wire:
            raise Elsewhere
        command, path = call.args
        seen = self.act("edit", command=command, path=path, impl_source="oh_aci", **call.named)
        same(seen["observation"], "edit", seen)
        if command == "view":
            read = self.act("read", path=path, impl_source="oh_aci", **call.named)
            if "binary" not in seen["content"]:
                same(read["content"], seen["content"])
            else:
                same(read, {**read, "observation": "error", "content": "ERROR_BINARY_FILE"})
        return seen["content"], None


class Event(Http):
    name = "an event"
    fresh = True

    def session(self, n):
        self.own = f"row{n}"

    def skill(self, name, args):
        action = {"action": "skill", "args": {"name": name, "args": args}}
        return self.post("/events", {**action, "session": self.own})

    def call(self, call):
        names = PARAMETERS[call.name]
        seen = self.skill(call.name, {**dict(zip(names, call.args)), **call.named})
        same(seen.get("observation"), "skill", seen)
        return seen["content"], seen["extras"]["failed"]

    def bad(self, bad):
        seen = self.skill(bad.name, bad.args)
        return seen["error"]["message"] if "error" in seen else seen["content"]


# ---- rows


def here(value):
    """With the folder's name in it."""
    if isinstance(value, str):
        return value.replace("$W", W)
    if isinstance(value, dict):
        return {name: here(each) for name, each in value.items()}
    return value


def lay_out(files):
    for entry in os.scandir(W):
        shutil.rmtree(entry) if entry.is_dir() else os.unlink(entry)
    for name, content in files.items():
        path = pathlib.Path(W, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def check(way, call):
    if isinstance(call, Bad):
        same(way.bad(call), call.why, call.args)
        return
    call.args = tuple(here(arg) for arg in call.args)
    call.text, call.wire = here(call.text), here(call.wire)
    if call.fresh and not way.fresh:
        raise Elsewhere
    text, failed = way.call(call)
    about = f"{code(call)}:"
    same(told(call, text), wanted(call, way), about)
    if failed is not None:
        same(failed, call.failed, about)


def is_wanted(way, row):
    names = {call.name for call in row[2]}
    if way.seen is None or not names <= way.seen:
        if way.seen is not None:
            way.seen |= names
        return True
    return False


def run_row(tap, way, n, row):
    name, files, calls = row
    lay_out(files)
    way.session(n)
    done, wrong = 0, []
    for call in calls:
        try:
            check(way, call)
            done += 1
        except Elsewhere:
            pass
        except Exception as why:  # whatever it is, the row does not hold
            wrong += str(why).split("\n")
    if done or wrong:
        tap.line(not wrong, f"{way.name}: {name}", wrong)
    return done


def start_server(env):
    ready = tempfile.TemporaryFile(dir=T)
    show_log(os.path.join(T, "log"))
    log = open(os.path.join(T, "log"), "wb")
    process = subprocess.Popen(
        [OD, "serve", "--listen", "127.0.0.1:0", "--ready-fd", str(ready.fileno()),
         "--working-dir", W, "--plugins", "agent_skills", "jupyter"],
        stdout=log, stderr=log, env=env, pass_fds=[ready.fileno()])

    def address():
        ready.seek(0)
        text = ready.read().decode()
        return "ready" in text and re.search("^listening (.*)$", text, re.MULTILINE)

    url = "http://" + wait_for(address, "the server is there", PATIENCE)[1].split("//")[-1]

    def prepared():
        try:
            with urllib.request.urlopen(url + "/ready", timeout=PATIENCE):
                return True
        except urllib.error.HTTPError:
            return False

    wait_for(prepared, "the sandbox is ready", PATIENCE)
    return process, url


def main(pattern=""):
    global PARAMETERS
    os.makedirs(W)
    schema = json.loads(subprocess.check_output([OD, "skills", "--schema"]))
    PARAMETERS = {f["function"]["name"]: list(f["function"]["parameters"]["properties"])
                  for f in schema}
    os.makedirs(os.path.join(T, "links"))
    for name in PARAMETERS:
        os.symlink(OD, os.path.join(T, "links", name))
    subprocess.check_output([OD, "skills", "--install-python", os.path.join(T, "py")])
    alone = {**os.environ, "OD_SOCKET": os.path.join(T, "none")}
    tap = Tap()
    server, url = start_server(os.environ)
    try:
        ways = [
            Shell("the shell", os.environ),
            Shell("a link", os.environ, linked=True),
            Python("Python", os.environ),
            Cell(url),
            Run(url),
            Edit(url),
            Event(url),
            Shell("the shell, without a server", alone, ["--local"]),
            Python("Python, without a server", alone),
        ]
        for way in (ways[1], ways[4], ways[-1]):
            way.seen = set()
        for i, row in enumerate(ROWS):
            for k, way in enumerate(ways):
                if pattern in f"{way.name}: {row[0]}" and is_wanted(way, row):
                    run_row(tap, way, 1 + i * len(ways) + k, row)
        if not pattern:
            missing = set(PARAMETERS) - {c.name for row in ROWS for c in row[2]} - ELSEWHERE
            tap.line(not missing, "each function is in a row", sorted(missing))
    finally:
        server.terminate()
        server.wait()
    return tap.done()


sys.exit(main(*sys.argv[1:]))
