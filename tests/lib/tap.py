# SPDX-License-Identifier: MIT
"""TAP for tests in Python, many rows at a time.

    @row("what holds", slow=True, needs=("git",))
    def _(case):
        same(case.box.run("true").exit_code, 0)

A row is a function; it holds unless it raises. run_rows() runs each of the rows
with what `fixture` gives (a context manager) and prints one line for it. A row
with `slow` is begun early. One whose programs are not there is skipped, and so is one
with root="reads /proc/PID/io", what only root does, for another user.

A row that fails shows what its server had said: error.log, which fixtures set, or the
files that show_log() was given, of which each line is shown once.

A program that is ended by SIGTERM, which is what those get that have no time left, says
where each of its threads and tasks stood, does what at_end() was told, and ends.
"""
import asyncio
import concurrent.futures
import gc
import os
import shutil
import signal
import sys
import threading
import time
import traceback

SLOW = int(os.environ.get("OD_TEST_SLOW") or 2)  # tests/run.sh measures it
LIMIT = 30 * SLOW  # seconds for anything that is waited for
OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
ends = []
logs = {}  # path: bytes that were shown


def show_log(path):
    """To be shown behind each line that is not ok."""
    logs[path] = 0


def unseen():
    """The last lines of the logs, from where they were shown last."""
    notes = []
    for path, seen in logs.items():
        try:
            with open(path, "rb") as file:
                file.seek(seen)
                new = file.read()
        except OSError:
            continue
        logs[path] = seen + len(new)
        lines = new.decode(errors="replace").rstrip().split("\n")[-20:]
        notes += [f"{os.path.basename(path)}: {line[:300]}" for line in lines if line]
    return notes


def at_end(function):
    """To be called when the program is ended from outside, the last one first."""
    ends.insert(0, function)


def last_words(server, log):
    """For at_end: what a server had said."""
    print("#", server, "said:", file=sys.stderr)
    for line in log.rstrip().split("\n")[-15:]:
        print("#", line[:300], file=sys.stderr)


def places(frame):
    """Where a thread is, the outermost first: lines of the tests, and the last one."""
    found = []
    while frame:
        code = frame.f_code
        if not found or code.co_filename.startswith(OURS):
            name = os.path.basename(code.co_filename)
            found.insert(0, f"{code.co_name} {name}:{frame.f_lineno}")
        frame = frame.f_back
    return " > ".join(found[-8:])


def end_early(*_):
    print("# ended from outside; where everything stood:", file=sys.stderr)
    for frame in sys._current_frames().values():
        print("# thread:", places(frame), file=sys.stderr)
    for task in gc.get_objects():  # each thread may have a loop of its own
        frames = isinstance(task, asyncio.Task) and not task.done() and task.get_stack(limit=1)
        if frames and frames[0].f_code.co_filename.startswith(OURS):
            print("# task:", places(frames[0]), file=sys.stderr)
    for function in ends:
        try:
            function()
        except Exception:  # the others are called all the same
            traceback.print_exc()
    sys.stdout.flush()
    os._exit(1)


signal.signal(signal.SIGTERM, end_early)
signal.signal(signal.SIGINT, end_early)


class Tap:
    """Lines from any thread; done() prints the plan and gives an exit status."""

    def __init__(self):
        self.lock = threading.Lock()
        self.count = self.failed = 0

    def line(self, fine, name, notes=(), skip=None):
        with self.lock:
            self.count += 1
            self.failed += not fine
            end = f" # SKIP {skip}" if skip else ""
            print(f"{'ok' if fine else 'not ok'} {self.count} - {name}{end}")
            for note in [*notes, *([] if fine else unseen())]:
                print("#", note)
            sys.stdout.flush()

    def done(self):
        print(f"1..{self.count}", flush=True)
        return 1 if self.failed else 0


class Row:
    def __init__(self, name, function, options):
        self.name, self.function, self.options = name, function, options


class Rows(list):
    """Called with a name and options, it decorates a function and keeps it."""

    def __call__(self, name, **options):
        def keep(function):
            self.append(Row(name, function, options))
            return function

        return keep


def missing(row):
    """The reason to skip it, or None."""
    if "root" in row.options and os.getuid() != 0:
        return "only root " + row.options["root"]
    for program in row.options.get("needs", ()):
        if not shutil.which(program, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin"):
            return f"there is no {program}"
    return None


def run_row(tap, prefix, row, fixture):
    name = f"{prefix}: {row.name}"
    lacking = missing(row)
    if lacking:
        tap.line(True, name, skip=lacking)
        return
    try:
        with fixture(row) as case:
            row.function(case)
    except Exception as error:  # whatever it is, the row does not hold
        log = getattr(error, "log", "")
        tap.line(False, name, short(traceback.format_exc()) + short("log: " + log)[-20:])
    else:
        tap.line(True, name)


def short(trace):
    lines = [line[:700] for line in trace.rstrip().split("\n")]
    return lines if len(lines) <= 60 else lines[:10] + ["..."] + lines[-50:]


def run_rows(tap, work, at_once=12):
    """work: tuples of prefix, row and fixture."""
    work = sorted(work, key=lambda item: not item[1].options.get("slow"))
    with concurrent.futures.ThreadPoolExecutor(at_once) as threads:
        for item in work:
            threads.submit(run_row, tap, *item)


# --- checks; what they say shows both sides


def shown(value):
    text = repr(value)
    return text if len(text) <= 1200 else f"{text[:600]} ... {text[-500:]}"


def same(got, wanted, what=""):
    if got != wanted:
        raise AssertionError(f"{what} got {shown(got)}, wanted {shown(wanted)}".strip())


def has(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"{shown(part)} is not in {shown(text)}")


def lacks(text, *parts):
    for part in parts:
        if part in text:
            raise AssertionError(f"{shown(part)} is in {shown(text)}")


def holds(fact, *about):
    if not fact:
        raise AssertionError("not so: " + ", ".join(shown(each) for each in about))


def wait_for(fact, what, seconds=LIMIT):
    """Polls until fact() is true, and gives that. What is waited for is a text, or a
    function that makes one when the time is over."""
    end = time.monotonic() + seconds
    while not (value := fact()):
        if time.monotonic() > end:
            raise AssertionError(f"after {seconds} seconds: {what() if callable(what) else what}")
        time.sleep(0.02)
    return value
