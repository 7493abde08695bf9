# SPDX-License-Identifier: MIT
"""A server with a listener of one front-end, for the rows of that front-end's test.

Options of a row: listen, more (words of od serve), env, key (the box sends it)."""
import contextlib
import os
import sys

import httpx

import tap
from tap import Tap, run_rows
from v0_server import Server, users

LIMIT = 30 * int(os.environ.get("OD_TEST_SLOW") or 2)


class Case:
    def __init__(self, front, user, options, more=()):
        listen = ["--listen", options.get("listen", front + "@127.0.0.1:0")]
        self.front = front
        self.server = Server(user, dict(options.get("env", {})), options.get("key"), None,
                             [*listen, *options.get("more", []), *more])
        self.dir = self.server.dir
        self.http = httpx.Client(base_url=self.address(), timeout=LIMIT)

    def address(self):
        for at in self.server.addresses:
            if at.startswith(self.front + "@"):
                return "http://" + at.split("@")[1].replace("0.0.0.0", "127.0.0.1")
        raise AssertionError(self.server.addresses)

    def native(self):
        """The address of the native set."""
        return "http://" + next(at for at in self.server.addresses if "@" not in at and "127" in at)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)


def wait_for(fact, what):
    return tap.wait_for(fact, what, LIMIT)


def answers(fact):
    """For wait_for, while the next worker takes over: False until a request is answered."""
    def asked():
        try:
            return fact()
        except httpx.HTTPError:
            return False
    return asked


def run_all(name, row, make, at_once=12):
    """Runs the rows whose name has argv[1], each with make(user, options), and exits."""
    possible, _ = users()
    user = next(one for one in possible if one.name == "own")

    @contextlib.contextmanager
    def fixture(one):
        case = make(user, one.options)
        try:
            yield case
            case.server.stop()
        except BaseException as error:
            error.log = case.server.logged()
            raise
        finally:
            case.http.close()
            case.server.kill()
            case.server.remove()

    tests = Tap()
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    run_rows(tests, [(name, one, fixture) for one in row if pattern in one.name], at_once)
    sys.exit(tests.done())
