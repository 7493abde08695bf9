# SPDX-License-Identifier: MIT
"""A server of OpenHands' agent-server protocol for each row, with folders of its own.

    @row("what holds", env={"OH_…": "…"}, words=("--v1-…",), key="…")

self.http asks it by httpx with the key of the row; self.bare asks it without one.
"""
import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile

import httpx
import websockets

from served import Served
from tap import LIMIT, holds, wait_for

T = os.environ["T"]
OD = os.environ["OD"]
KEPT_OUT = re.compile("^(OD_|OH_|SESSION_API_KEY|SUDO_|OPENHANDS_|AI_AGENT|DOCKER_HOST)")
KEY = "session-key-0123456789"
BASH = "/api/bash/"
EVENTS = "/api/bash/bash_events"

class Server(Served):
    def __init__(self, env=None, words=(), key=KEY, program=None):
        self.root = tempfile.mkdtemp(dir=T, prefix="v1.")
        self.dir = self.folder("workspace")
        self.log = open(os.path.join(self.root, "log"), "a+b")
        self.key, self.words, self.program = key, words, program
        keys = {"OH_SESSION_API_KEYS_0": key} if key else {}
        kept = {name: value for name, value in os.environ.items() if not KEPT_OUT.match(name)}
        self.env = {
            **kept,
            "HOME": self.folder("home"),
            "TMPDIR": self.folder("tmp"),
            "XDG_RUNTIME_DIR": self.folder("run"),
            "OD_SOCKET": os.path.join(self.root, "run", "sock"),
            "OD_STATE_DIR": os.path.join(self.root, "run", "state"),
            **keys,
            **{name: value.replace("ROOT", self.root) for name, value in (env or {}).items()},
        }
        self.process = None
        self.start()

    def folder(self, name):
        path = os.path.join(self.root, name)
        os.makedirs(path, exist_ok=True)
        return path

    def start(self):
        self.launch([OD, "serve", "--working-dir", self.dir, "--listen", "v1@127.0.0.1:0",
                     *[word.replace("ROOT", self.root) for word in self.words]], self.dir)

    def ready(self, said):
        self.port = int(re.search(r"127\.0\.0\.1:(\d+)", said)[1])
        self.url = f"http://127.0.0.1:{self.port}"
        headers = {"X-Session-API-Key": self.key} if self.key else {}
        self.http = httpx.Client(base_url=self.url, headers=headers, timeout=LIMIT)
        self.bare = httpx.Client(base_url=self.url, timeout=LIMIT)

    def worker(self):
        said = subprocess.run([OD, "serve", "--status", "--json"], env=self.env,
                              capture_output=True, timeout=LIMIT).stdout
        servers = json.loads(said or "{}").get("servers")
        return servers and servers[0].get("worker")

    def kill_worker(self):
        """The next worker serves when this returns."""
        old = wait_for(self.worker, "there is a worker")
        os.kill(old, signal.SIGKILL)

        def another():
            with contextlib.suppress(httpx.HTTPError):
                new = self.worker()
                return new and new != old and self.bare.get("/alive").status_code == 200

        wait_for(another, "another worker serves")

    # --- commands

    def start_command(self, command, **more):
        answer = self.http.post(BASH + "start_bash_command", json={"command": command, **more})
        holds(answer.status_code == 200, answer.status_code, answer.text)
        return answer.json()

    def execute(self, command, **more):
        answer = self.http.post(BASH + "execute_bash_command", json={"command": command, **more})
        holds(answer.status_code == 200, answer.status_code, answer.text)
        return answer.json()

    def search(self, **query):
        answer = self.http.get(EVENTS + "/search", params=query)
        holds(answer.status_code == 200, answer.status_code, answer.text)
        return answer.json()

    def outputs(self, command):
        return self.search(command_id__eq=command["id"], kind__eq="BashOutput")["items"]

    def ended(self, command):
        """The outputs of a command, when there is the last one."""

        def last():
            found = self.outputs(command)
            return found if found and found[-1]["exit_code"] is not None else None

        return wait_for(last, f"{command['id']} ends")

    # --- the log

    def actions(self, *kinds):
        """The actions of this front-end of these kinds, each with its observations."""
        said = subprocess.run([OD, "events", "--json"], env=self.env, capture_output=True,
                              timeout=LIMIT).stdout
        events = [json.loads(line) for line in said.splitlines() if line.startswith(b"{")]
        return [(e, [o for o in events if o.get("cause") == e["id"] and "observation" in o])
                for e in events if e.get("source") == "v1" and e.get("action") in kinds]

    def cancel(self, action):
        """By the native set, of a server with --listen unix:ROOT/native."""
        native = httpx.HTTPTransport(uds=os.path.join(self.root, "native"))
        with httpx.Client(transport=native, base_url="http://localhost", timeout=LIMIT) as http:
            answer = http.post("/events", json={"action": "cancel", "args": {"id": action}})
            holds(answer.status_code == 200, answer.text)

    # --- WebSocket

    def socket(self, query="", key=True):
        url = f"ws://127.0.0.1:{self.port}/sockets/bash-events{query}"
        headers = {"X-Session-API-Key": self.key} if key is True and self.key else key or {}
        return websockets.connect(url, extra_headers=headers, max_size=None,
                                  open_timeout=LIMIT)


def talk(function):
    """Runs a coroutine of a row, which must end."""

    async def run():
        return await asyncio.wait_for(function(), LIMIT)

    return asyncio.run(run())


async def receive(ws):
    return json.loads(await ws.recv())


async def until_end(ws, seen=None):
    """Events up to an output with an exit code."""
    seen = [] if seen is None else seen
    while True:
        event = await receive(ws)
        seen.append(event)
        if event["kind"] == "BashOutput" and event["exit_code"] is not None:
            return seen


@contextlib.contextmanager
def fixture(row):
    o = row.options
    server = Server(o.get("env"), o.get("words", ()), o.get("key", KEY))
    with server.alive():
        yield server
