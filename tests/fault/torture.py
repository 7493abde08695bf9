# SPDX-License-Identifier: MIT
"""torture.py SCENARIO...: the Nth system call of a kind, or the Nth allocation, fails.

Each scenario is run untouched, and the calls of each kind are counted that the keeper,
the worker and the reaper make meanwhile. Then it is run with the first of them failing,
the second, and so on: all of them with FULL=1, else the first FIRST ones and a sample of
the rest (SEED). tests/lib/fault.c makes them fail. A fault is survived if

  - each call of the scenario ends in bounded time, with its result, or with an error in
    words; a result that is given is true, and nothing is done twice;
  - the server then does the whole scenario without an error, in a session that was there
    before, with its variables;
  - keeper, worker and reaper have no more descriptors than before, and no file is left;
  - the worker is the same process, unless memory was refused: small allocations abort by
    policy (base/xalloc.h), and the worker after it finishes what was begun. For that
    reason the keeper's and the reaper's memory is not refused: their end is the server's.
"""
import collections
import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import tap  # noqa: E402

T, OD = os.environ["T"], os.environ["OD"]
LIB = os.path.join(os.path.dirname(OD), "lib")
FULL = os.environ.get("FULL") == "1"
ONLY = os.environ.get("ONLY", "").split()  # ROLE KIND [N...]: these faults
SEED, LIMIT = 1, 60 * int(os.environ.get("OD_TEST_SLOW") or 2)
LEAK_LIMIT = LIMIT // 3  # seconds in which what is not needed any more has to go
FIRST, MORE = 8, 4  # of each role and kind: tried in turn, and of the rest
ERRORS = {"alloc": 12, "open": 24, "write": 28, "fsync": 5, "rename": 28, "fork": 11,
          "mmap": 12, "sendmsg": 105, "accept": 24}
MEMORY = ("alloc", "mmap")
CRASHES = 3  # of a worker, before its keeper makes the pauses long


class Fault(Exception):
    """What a fault did that it must not do."""


def check(fact, *about):
    if not fact:
        raise Fault(", ".join(tap.shown(each) for each in about))


def until(fact, *about, limit=LIMIT):
    end = time.monotonic() + limit
    while not fact():
        if time.monotonic() > end:
            check(False, *[one() if callable(one) else one for one in about])
        time.sleep(0.01)


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=LIMIT)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LIMIT)
        self.sock.connect(self.path)


class Server:
    """`od serve` under tests/lib/fault, in a folder of its own."""

    made = 0

    def __init__(self):
        Server.made += 1
        self.dir = os.path.join(T, f"s{Server.made}")
        self.work = os.path.join(self.dir, "work")
        os.makedirs(self.work)
        os.makedirs(os.path.join(self.dir, "run"), 0o700)
        self.log = os.path.join(self.dir, "log")
        self.crashes = 0
        self.logged = 0  # bytes of its log before the last fault was armed
        self.file = os.path.join(LIB, "od-fault")
        self.env = {**os.environ, "OD_SOCKET": f"{self.dir}/run/sock", "HOME": self.work,
                    "OD_STATE_DIR": f"{self.dir}/state", "OD_BROWSER": "text",
                    "XDG_RUNTIME_DIR": f"{self.dir}/run", "TMPDIR": f"{self.dir}/run"}
        self.process = subprocess.Popen(
            [f"{LIB}/fault", f"{self.dir}/ctl", self.file, "serve", "--fsync", "always",
             "--listen", f"unix:{self.dir}/http", "--working-dir", self.work],
            env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
            stdout=open(self.log, "wb"), stderr=subprocess.STDOUT, start_new_session=True)
        tap.show_log(self.log)
        tap.at_end(self.kill)
        self.ctl = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.ctl.bind(f"{self.dir}/me")
        self.ctl.settimeout(LIMIT)
        until(lambda: os.path.exists(f"{self.dir}/http") or self.process.poll() is not None,
              "the server does not start", self.said, self.waits)
        check(self.process.returncode is None,
              f"the server ends at its start, with {self.process.returncode}", self.said())
        self.ctl.connect(f"{self.dir}/ctl")
        self.keeper = self.child(self.process.pid, "od-keeper")
        same(self, self.run("main", "v=kept"), "")
        self.before = None

    def said(self):
        """What it has logged since the last fault was armed."""
        with open(self.log, errors="replace") as file:
            file.seek(self.logged)
            return file.read()[-1500:]

    def waits(self):
        """What each of its processes is waiting in: name, system call, place in the kernel."""
        found = subprocess.run(["pgrep", "-g", str(self.process.pid)], capture_output=True,
                               text=True, check=False).stdout.split()
        return [[self.about(pid, part) for part in ("comm", "syscall", "wchan")] for pid in found]

    @staticmethod
    def about(pid, part):
        try:
            with open(f"/proc/{pid}/{part}") as file:
                return file.read().strip()
        except OSError as error:
            return error.strerror

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def stop(self):
        subprocess.run([OD, "exec", "--stop"], env=self.env, stdin=subprocess.DEVNULL,
                       stdout=-3, stderr=-3, timeout=LIMIT, check=False)
        try:
            self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            raise Fault(f"the server does not end: {self.said()}") from None
        self.ctl.close()
        tap.logs.pop(self.log, None)
        subprocess.run(["rm", "-rf", self.dir], check=False)

    # what it is made of

    def child(self, parent, name):
        found = []

        def look():
            found[:] = [pid for pid in children(parent) if argv0(pid) == name]
            return found

        until(look, f"no {name}", self.said)
        return found[0]

    def worker(self):
        return self.child(self.keeper, "od-worker")

    def held(self):
        """The descriptors of each of its processes, and the files, by kind."""
        count = collections.Counter()
        for pid in [self.keeper, *children(self.keeper)]:
            name = argv0(pid)
            if name not in ("od-keeper", "od-worker", "od-reaper"):
                continue
            for fd in listing(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    count[name, kind_of(os.readlink(f"/proc/{pid}/fd/{fd}"))] += 1
        for top in ("state", "work", "run"):
            for where, _, files in os.walk(os.path.join(self.dir, top)):
                for file in files:
                    path = os.path.relpath(os.path.join(where, file), self.dir)
                    if not re.search("/(events|edit|reserve)/", path):  # which stay
                        count["file", kind_of(path)] += 1
        return collections.Counter({key: n for key, n in count.items() if key[1]})

    def ask_fault(self, text):
        self.ctl.send(text.encode())
        fired, count, who = self.ctl.recv(300).decode().split(" ", 2)
        return fired == "1", int(count), who

    # what it is asked for

    def od(self, *words, wanted=None):
        """The output of an od command, or an Error."""
        try:
            done = subprocess.run([OD, *words], env=self.env, cwd=self.work,
                                  stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired as late:
            raise Fault(f"od {words} hangs: {late.stdout} {late.stderr}") from None
        said = done.stderr.decode(errors="replace")
        if done.returncode != 0:
            return Error(f"{done.returncode} {said}", "od " in said)
        return Text(done.stdout.decode(), said)

    def run(self, session, command):
        return self.od("exec", "-s", session, command)

    def http(self, method, path, body=None, kind="application/json"):
        """The answer to a request, sent again if the worker died over it; or an Error."""
        worker = self.worker()
        for again in range(3):
            try:
                line = Unix(f"{self.dir}/http")
                line.request(method, path, body, {"Content-Type": kind} if body else {})
                answer = line.getresponse()
                text = answer.read().decode(errors="replace")
                line.close()
            except TimeoutError:
                raise Fault(f"{method} {path} hangs") from None
            except (OSError, http.client.HTTPException) as broken:
                error = Error(f"{method} {path}: {broken!r}",
                              self.worker() != worker or again == 0 and self.broke)
                continue
            if answer.status >= 300:
                named = "message" in text or "detail" in text or "no memory" in text
                busy = answer.status == 503 and answer.getheader("Retry-After")
                return Error(f"{answer.status} {text}", named or busy)
            try:
                return json.loads(text)
            except ValueError:
                raise Fault("not JSON", answer.status, answer.getheaders(), text) from None
        return error

    broke = True  # a connection may be cut (an accept that failed): then it is made again


class Text(str):
    """What a command wrote, its notes, and whether one says that some of it is lost."""

    def __new__(cls, text, notes):
        self = super().__new__(cls, text)
        self.notes = notes
        self.lost = "of output" in notes and "are gone" in notes
        return self


class Error(str):
    """An error, and whether it was named."""

    def __new__(cls, text, named):
        self = super().__new__(cls, text)
        self.named, self.notes = named, ""
        return self


def same(server, got, wanted):
    """True if it is so, false if it is a named error, else a Fault."""
    if isinstance(got, Error):
        check(got.named, "an error without words", str(got))
        return False
    if getattr(got, "lost", False):
        return False
    check(got == wanted, "got", got, "wanted", wanted, getattr(got, "notes", ""), server.said())
    return True


def listing(path):
    try:
        return os.listdir(path)
    except OSError:
        return []


def children(pid):
    found = []
    for task in listing(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children") as file:
            found += [int(word) for word in file.read().split()]
    return found


def argv0(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().split(b"\0")[0].decode()
    return ""


def kind_of(link):
    """A path without what is the process's or the session's own; None: kept on purpose."""
    if re.search("process-(kernel-|own)", link):  # what ended processes have written
        return None
    return re.sub("[0-9]+", "N", re.sub("[0-9a-f]{12,}", "N", link))


def read(path):
    with contextlib.suppress(FileNotFoundError), open(path) as file:
        return file.read()
    return None


# --- scenarios: each leaves nothing, whatever fails in it


def session(s, name):
    """A session's life: its first command, another one, its end."""
    path = f"{s.work}/{name}.txt"
    first = same(s, s.run(name, f"x=kept; echo once >>{path}; echo first"), "first\n")
    wanted = "kept\n" if first else None
    seen = s.run(name, "echo $x")
    if isinstance(seen, Error) or wanted:
        same(s, seen, wanted)
    else:
        check(seen in ("kept\n", "\n") or seen.lost, seen)
    s.od("exec", "-s", name, "--kill", "--end")
    done = read(path)
    check(done == "once\n" or (not first and done is None), "done", done, first)


def ended_session(s, name):
    until(lambda: not re.search(f"^{name} ", str(s.od("exec", "--list")), re.M),
          f"session {name} stays", lambda: s.od("exec", "-s", name, "--kill", "--end"))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{s.work}/{name}.txt")


def write(s, name):
    """A file that is made, edited, and the edit undone."""
    path = f"{s.work}/{name}.txt"
    text = [None]

    def edit(after, **args):
        words = {"name": "file_editor", "args": {"path": path, **args}}
        body = {"action": "skill", "args": words, "client_id": f"{name}-{args['command']}"}
        answer = s.http("POST", "/events", json.dumps(body))
        if isinstance(answer, Error):
            check(answer.named, "an error without words", str(answer))
            check(read(path) in (*text, after), "half of a write", read(path), *text, after)
            text[:] = [read(path)]
            return
        if answer["observation"] == "error" or answer["extras"]["failed"]:
            check(len(answer["content"]) > 10, "an error without words", answer)
            check(read(path) in text, "failed, and changed", answer, read(path), *text)
            return
        check(read(path) == after, "not so", answer, read(path), after)
        text[:] = [after]

    edit("one\nx\n", command="create", file_text="one\nx\n")
    edit("two\nx\n", command="str_replace", old_str="one", new_str="two")
    if text == ["two\nx\n"]:
        edit("one\nx\n", command="undo_edit")


def no_file(s, name):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{s.work}/{name}.txt")


BYTES = "".join(f"line {i}\n" for i in range(30000))


def upload(s, name):
    """A file that is uploaded, and taken down again."""
    path = f"{s.work}/{name}.txt"
    body = (f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}.txt"\r\n'
            f"Content-Type: application/octet-stream\r\n\r\n{BYTES}\r\n--b--\r\n")
    answer = s.http("POST", f"/upload_file?destination={s.work}&recursive=false", body,
                    "multipart/form-data; boundary=b")
    if isinstance(answer, Error):
        check(answer.named, "an error without words", str(answer))
        check(read(path) in (None, BYTES), "half of an upload", (read(path) or "")[-100:])
    else:
        check(read(path) == BYTES, "not what was sent", answer)


TRUNCATED = "outputs are truncated"  # as an observation has it, and of a gap


def events(s, name):
    """An action by the event stream, the same one again, and the replay of both."""
    path = f"{s.work}/{name}.txt"
    body = json.dumps({"action": "run", "args": {"command": f"echo once >>{path}; echo done"},
                       "client_id": f"{os.getpid()}-{name}"})
    for _ in range(2):
        answer = s.http("POST", "/events", body)
        if isinstance(answer, Error):
            check(answer.named, "an error without words", str(answer))
        else:
            break
    if isinstance(answer, Error):  # it is over, and the log has no observation
        check("no room in the log" in answer, "the same action again", str(answer))
        check(read(path) == "once\n", "done", read(path))
        return
    if answer.get("observation") == "error":
        check(len(answer["content"]) > 10, "an error without words", answer)
        check(read(path) in (None, "once\n"), "done", read(path))
    else:
        check(answer["content"] == "done" or TRUNCATED in str(answer), answer)
        check(read(path) == "once\n", "done", read(path))
    for _ in range(2):
        again = s.http("POST", "/events", body)
        check(isinstance(again, dict) and again["id"] == answer["id"] or
              isinstance(again, Error) and again.named, "another observation", again, answer)
    since = answer["cause"] - 1
    for _ in range(3):
        page = s.http("GET", f"/events?since={since}")
        if isinstance(page, Error):
            check(page.named, "an error without words", str(page))
        elif page["events"]:
            break
        else:
            check(page["last"] == since, "skipped", page, since)
    ids = [event["id"] for event in page["events"]]
    check(ids == list(range(answer["cause"], answer["cause"] + len(ids))), "ids", ids)
    mine = [one for one in page["events"] if one.get("cause") == answer["cause"]]
    check([one["id"] for one in mine] == [answer["id"]], "the replay", page)


def process(s, name):
    """A process of its own. It has the same name each time, since ended ones are kept."""
    path = f"{s.work}/{name}.txt"
    said = s.od("exec", "--new", "-p", "own", f"echo once >>{path}; echo done")
    fine = same(s, said, "done\n")
    done = read(path)
    check(done == "once\n" or (not fine and done is None), "done", done, fine)


def ended_process(s, name):
    until(lambda: not re.search("^own +process +running", str(s.od("exec", "--list")), re.M),
          "the process does not end", s.said)
    no_file(s, name)


def restart(s, name):
    """A worker that is killed while a command runs, and its caller waits."""
    fifo = f"{s.work}/{name}.txt"
    os.mkfifo(fifo)
    got = []
    thread = threading.Thread(
        target=lambda: got.append(s.run("main", f"echo a; read x <{fifo}; echo $x $v")))
    thread.start()
    until(lambda: "running" in str(s.od("exec", "--list")) or got, "not begun", s.said)
    if not got:
        worker = s.worker()
        os.kill(worker, signal.SIGKILL)
        until(lambda: not os.path.exists(f"/proc/{worker}"), "not killed")

    def feed():  # never waits for a reader: the command may have ended
        with contextlib.suppress(OSError):
            line = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
            os.write(line, b"b\n")
            os.close(line)
            return True
        return bool(got)

    until(feed, "nobody reads", s.said)
    thread.join(LIMIT)
    check(got, "the caller hangs", s.said())
    same(s, got[0], "a\nb kept\n")


def upgrade(s, name):
    """Another file takes over."""
    got = s.od("serve", "--upgrade", s.file)
    if isinstance(got, Error):
        check(got.named, "an error without words", str(got))
    same(s, s.run("main", "echo $v"), "kept\n")


def kernel(s, name):
    """A kernel of our own: two cells, and its end."""
    first = same(s, s.od("jupyter-bridge", "--embedded", "-n", name, "-c", "x = 42; print(x)"),
                 "42\n")
    if first:
        same(s, s.od("jupyter-bridge", "--embedded", "-n", name, "-c", "print(x)"), "42\n")


def ended_kernel(s, name):
    s.od("jupyter-bridge", "-n", name, "--close")
    until(lambda: name not in str(s.od("jupyter-bridge", "--list")), "the kernel stays",
          lambda: s.od("jupyter-bridge", "-n", name, "--close"))


def page(s, name):
    """A page of the web, in text."""
    at = f"http://127.0.0.1:{web()}/{name}"
    body = json.dumps({"action": "browse", "args": {"url": at}})
    answer = s.http("POST", "/events", body)
    if isinstance(answer, Error):
        check(answer.named, "an error without words", str(answer))
    elif "Good page" not in answer["content"]:
        extras = answer["extras"]
        check(answer["observation"] == "error" or extras.get("error") and
              len(answer["content"] + str(extras.get("last_browser_action_error"))) > 10, answer)


served = []


def web():
    """The port of a server of one page."""
    if not served:
        s = socket.create_server(("127.0.0.1", 0), backlog=64)
        text = b"<title>Good</title><h1>Good page</h1><p>some words</p>"
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"
        head += b"Content-Length: %d\r\n\r\n" % len(text)

        def loop():
            while True:
                line, _ = s.accept()
                with contextlib.suppress(OSError), line:
                    line.settimeout(LIMIT)
                    if line.recv(65536):
                        line.sendall(head + text)

        threading.Thread(target=loop, daemon=True).start()
        served.append(s)
    return served[0].getsockname()[1]


SCENARIOS = {
    "session": (session, ended_session), "write": (write, no_file),
    "upload": (upload, no_file), "process": (process, ended_process),
    "events": (events, no_file), "restart": (restart, no_file),
    "upgrade": (upgrade, no_file), "kernel": (kernel, ended_kernel), "page": (page, no_file),
}


# --- faults


class Torture:
    def __init__(self, what):
        self.what = what
        self.scenario, self.clean = SCENARIOS[what]
        self.server = None
        self.random = random.Random(SEED)
        self.tried = 0
        self.ids = 0

    def name(self):
        self.ids += 1
        return f"name{self.ids}x"

    def ready(self):
        """A server whose descriptors and files were counted after a few scenarios."""
        if self.server and self.server.crashes < CRASHES:
            return self.server
        before, self.server = self.server, None
        if before:
            before.stop()
        self.server = s = Server()
        for _ in range(3):
            name = self.name()
            self.scenario(s, name)
            self.clean(s, name)
        time.sleep(0.1)
        s.before = s.held()
        return s

    def whole(self, s):
        """No more descriptors and files than before, for that a little later."""
        more = {}

        def less():
            now = s.held()
            for who in ("od-keeper", "od-worker"):  # the log says so: a log in memory
                now.pop((who, "/memfd:od-events (deleted)"), None)
            more.clear()
            more.update({key: (s.before[key], n) for key, n in now.items() if n > s.before[key]})
            return not more

        until(less, "left behind", lambda: dict(more), s.said, limit=LEAK_LIMIT)

    def fault(self, role, kind, n):
        s = self.ready()
        worker, s.logged = s.worker(), os.path.getsize(s.log)
        name = self.name()
        s.ask_fault(f"arm {role} {kind} {n} {ERRORS[kind]}")
        failed = None
        try:
            self.scenario(s, name)
        except Fault as fault:
            failed = fault
        fired, _, who = s.ask_fault("stop")
        try:
            if failed:
                raise failed
            check(s.process.poll() is None, "the server has ended", s.said())
            self.clean(s, name)
            if s.worker() != worker:
                s.crashes += 1
            same_worker = s.worker() == worker or kind in MEMORY
            check(same_worker or self.what in ("restart", "upgrade"), "the worker died", s.said())
            got = s.run("main", "echo $v")
            check(got == "kept\n", "a session is lost", got, got.notes, s.said())
            with open(s.log, errors="replace") as log:
                log.seek(s.logged)
                check(not re.search(r"bug at|Sanitizer|signal 11|signal 7\b", log.read()), s.said())
            self.whole(s)
        except Fault:
            s.crashes = CRASHES  # another server for the next one
            raise Fault(f"{failed or sys.exc_info()[1]} [{who}]") from None
        self.tried += fired
        return fired

    def count(self, role, kind):
        s = self.ready()
        name = self.name()
        s.ask_fault(f"arm {role} {kind} 0 0")
        self.scenario(s, name)
        count = s.ask_fault("stop")[1]
        self.clean(s, name)
        return count

    def sample(self, count):
        if FULL or count <= FIRST + MORE:
            return range(1, count + 1)
        more = self.random.sample(range(FIRST + 1, count + 1), MORE)
        return [*range(1, FIRST + 1), *sorted(more)]

    def torture(self, tap_):
        for kind in ERRORS:
            for role in ("od-keeper", "od-worker", "od-reaper"):
                if kind in MEMORY and role != "od-worker":
                    continue
                if ONLY and ONLY[:2] != [role, kind]:
                    continue
                before, notes, count = self.tried, [], 0
                try:
                    count = self.count(role, kind)
                except Fault as fault:
                    notes.append(f"without a fault: {fault}"[:3000])
                if not count and not notes:
                    continue
                tries = self.sample(count)
                if ONLY[2:]:
                    tries = [int(n) for n in ONLY[2:]]
                for n in tries:
                    try:
                        self.fault(role, kind, n)
                    except Fault as fault:
                        notes.append(f"N={n}: {fault}"[:3000])
                        print("#", notes[-1][:1500], file=sys.stderr, flush=True)
                name = f"{self.what}: {kind} of {role}: {self.tried - before} of {count} failed"
                tap_.line(not notes, name, notes[:5])


def main():
    lines = tap.Tap()
    for what in sys.argv[1:]:
        start = time.monotonic()
        torture = Torture(what)
        torture.torture(lines)
        try:
            if torture.server:
                torture.server.stop()
        except Fault as fault:
            lines.line(False, f"{what}: the server ends", [str(fault)])
        print(f"# {what}: {torture.tried} faults in {time.monotonic() - start:.1f} s", flush=True)
    return lines.done()


sys.exit(main())
