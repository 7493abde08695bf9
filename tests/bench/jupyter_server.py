# SPDX-License-Identifier: MIT
"""jupyter_server.py OD: od and Debian's jupyter_server with ipykernel, as lines of a name and a
number: first the cells, in turn, each on a WebSocket that is kept; then starts.

  ours theirs              ms of 1+1 by the channels, to its reply and idle, the median
  ours_start theirs_start  ms from exec to the result of the first cell
  ours_save theirs_save    ms of PUT of a notebook
  ours_out theirs_out      ms of a cell with 100 MB of output, to its reply and idle
  ours_kib theirs_kib      memory of the server, without its kernels"""
import contextlib
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

import websocket

OD = sys.argv[1]
ROUNDS, STARTS, OUTPUTS = 200, 3, 3
OUTPUT = 100_000_000
TOKEN = "the-token-of-the-bench"


class Server:
    def __init__(self, ours):
        self.dir = tempfile.mkdtemp()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        words = [OD, "serve", "--log", "error", "--listen", f"jupyter@127.0.0.1:{self.port}", "--jupyter-token", TOKEN,
                 "--working-dir", self.dir] if ours else [
                     sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
                     f"--ServerApp.port={self.port}", f"--ServerApp.token={TOKEN}", f"--ServerApp.root_dir={self.dir}",
                     # It drops what is above its limits.
                     "--ServerApp.iopub_data_rate_limit=1e15", "--ServerApp.iopub_msg_rate_limit=1e15"]
        env = {**os.environ, "HOME": self.dir, "XDG_RUNTIME_DIR": self.dir, "OD_STATE_DIR": self.dir + "/.state",
               "OD_SOCKET": self.dir + "/.sock", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        self.process = subprocess.Popen(words, env=env, stdin=-3, stdout=-3, stderr=-3)

    def ask(self, method, path, body=None):
        q = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method,
                                   data=None if body is None else json.dumps(body).encode(),
                                   headers={"Authorization": "token " + TOKEN, "Content-Type": "application/json"})
        with urllib.request.urlopen(q, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def connect(self):
        while True:
            try:
                self.ask("GET", "/api")
                break
            except OSError:
                time.sleep(0.002)
        kernel = self.ask("POST", "/api/kernels", {"name": "python3"})["id"]
        self.socket = websocket.create_connection(
            f"ws://127.0.0.1:{self.port}/api/kernels/{kernel}/channels?token={TOKEN}", timeout=60, skip_utf8_validation=True)

    def cell(self, code="1+1"):
        asked = uuid.uuid4().hex
        self.socket.send(json.dumps({
            "channel": "shell", "parent_header": {}, "metadata": {},
            "header": {"msg_id": asked, "msg_type": "execute_request", "session": "bench", "username": "", "version": "5.3"},
            "content": {"code": code, "silent": False, "store_history": True, "user_expressions": {},
                        "allow_stdin": False}}))
        left, got = {"execute_reply", "idle"}, 0
        while left:
            m = json.loads(self.socket.recv())
            if m["parent_header"].get("msg_id") == asked:
                left -= {m["msg_type"], m["content"].get("execution_state")}
                got += len(m["content"].get("text", ""))
        return got

    def output(self):
        got = self.cell(f"for _ in range(100): print('x' * {OUTPUT // 100 - 1}, flush=True)")
        if got != OUTPUT:
            raise SystemExit(f"{got} of {OUTPUT} bytes arrived")

    def kib(self):
        """Of the server's own processes: of ours the keeper and the worker."""
        pids = [self.process.pid]
        with contextlib.suppress(OSError):
            for name in os.listdir("/proc"):
                if name.isdigit():
                    text = open(f"/proc/{name}/status", encoding="ascii", errors="replace").read()
                    if f"PPid:\t{self.process.pid}\n" in text and "Name:\tod-worker" in text:
                        pids.append(int(name))
        return sum(int(re.search(r"Pss:\s+(\d+)", open(f"/proc/{pid}/smaps_rollup", encoding="ascii").read())[1])
                   for pid in pids)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def took(function, *words):
    begin = time.perf_counter()
    function(*words)
    return (time.perf_counter() - begin) * 1000


def main():
    both = {"ours": Server(True), "theirs": Server(False)}
    for one in both.values():
        one.connect()
        one.cell()
    for verb in ("", "_save"):
        times = {name: [] for name in both}
        cells = [{"cell_type": "code", "source": "x = 1\n" * 20, "metadata": {}, "outputs": [], "execution_count": None}]
        model = {"type": "notebook", "content": {"cells": cells * 50, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}}
        for _ in range(ROUNDS if not verb else 20):
            for name, one in both.items():
                times[name].append(took(one.ask, "PUT", "/api/contents/n.ipynb", model) if verb else took(one.cell))
        for name in both:
            print(name + verb, f"{statistics.median(times[name]):.3f}", flush=True)
    for name, one in both.items():
        print(name + "_kib", one.kib(), flush=True)
    for _ in range(OUTPUTS):
        for name, one in both.items():
            print(name + "_out", f"{took(one.output):.1f}", flush=True)
    for one in both.values():
        one.end()

    def start(ours):
        one = Server(ours)
        one.connect()
        one.cell()
        return one
    for name, ours in (("ours", True), ("theirs", False)):
        for _ in range(STARTS):
            begin = time.perf_counter()
            one = start(ours)
            print(name + "_start", f"{(time.perf_counter() - begin) * 1000:.1f}", flush=True)
            one.end()


main()
