# SPDX-License-Identifier: MIT
"""TAP for tests in Python, many rows at a time.

    @row("what holds", slow=True, needs=("git",))
    def _(case):
        same(case.box.run("true").exit_code, 0)

A row is a function; it holds unless it raises. run_rows() runs each of the rows
with what `fixture` gives (a context manager) and prints one line for it. A row
with `slow` is begun early; one whose programs are not there is skipped.
"""
import concurrent.futures
import shutil
import sys
import threading
import time
import traceback

LIMIT = 20  # seconds for anything that is waited for


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
            for note in notes:
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
    for program in row.options.get("needs", ()):
        if not shutil.which(program, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin"):
            return program


def run_row(tap, prefix, row, fixture):
    name = f"{prefix}: {row.name}"
    lacking = missing(row)
    if lacking:
        tap.line(True, name, skip=f"there is no {lacking}")
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
    """Polls until fact() is true, and gives that."""
    end = time.monotonic() + seconds
    while not (value := fact()):
        if time.monotonic() > end:
            raise AssertionError(f"after {seconds} seconds: {what}")
        time.sleep(0.02)
    return value
