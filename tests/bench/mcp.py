#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mcp.py OD HTTP-ADDRESS WORKER: figures of MCP, as lines of a name and milliseconds or
KiB: `start` and `joined`, from exec of `od mcp` to the answer of initialize, without and
with a server; `shell` and `events`, the command true by /mcp and by POST /events, call by
call in turn; `before` and `after`, memory of the worker without and with 100 sessions,
each with the list of tools, a subscription to a file and an open event stream."""
import http.client
import json
import os
import statistics
import subprocess
import sys
import time

OD, AT, WORKER = sys.argv[1:4]
ROUNDS, SESSIONS, STARTS = 200, 100, 15
BEGIN = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                    "clientInfo": {"name": "bench", "version": "1"}}}


def said(name, value):
    print(name, f"{value:.3f}")


def stdio(env):
    """Milliseconds to the answer of initialize."""
    begin = time.perf_counter()
    with subprocess.Popen([OD, "mcp"], env=env, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as child:
        child.stdin.write(json.dumps(BEGIN).encode() + b"\n")
        child.stdin.flush()
        answer = json.loads(child.stdout.readline())
        took = (time.perf_counter() - begin) * 1000
        child.stdin.close()
        assert answer["result"]["serverInfo"], answer
    return took


class Peer:
    def __init__(self):
        self.http = http.client.HTTPConnection(AT)
        self.session = None

    def listen(self):
        self.http.request("GET", "/mcp", headers={"Accept": "text/event-stream",
                                                  "Mcp-Session-Id": self.session})
        assert self.http.getresponse().status == 200

    def post(self, path, body):
        head = {"Content-Type": "application/json",
                "Accept": "application/json, text/event-stream"}
        if self.session:
            head |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": "2025-11-25"}
        self.http.request("POST", path, json.dumps(body), head)
        answer = self.http.getresponse()
        self.session = answer.getheader("Mcp-Session-Id") or self.session
        return answer.read()


def memory():
    """Pss of the worker in KiB: pages that it shares with the keeper count in part."""
    with open(f"/proc/{WORKER}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))


def alone(turn):
    """A user without a server."""
    home = os.path.join(os.environ["HOME"], f"alone{turn}")
    os.makedirs(home)
    return os.environ | {"HOME": home, "OD_STATE_DIR": home + "/state",
                         "OD_SOCKET": home + "/sock"}


for turn in range(STARTS):
    env = alone(turn)
    said("start", stdio(env))
    subprocess.run([OD, "exec", "--stop"], env=env, stdout=subprocess.DEVNULL, check=True)
    said("joined", stdio(os.environ))

plain, peer = Peer(), Peer()
peer.post("/mcp", BEGIN)
peer.post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"})
times = {"shell": [], "events": []}
for turn in range(ROUNDS):
    begin = time.perf_counter()
    plain.post("/events", {"action": "run", "args": {"command": "true", "until": "end"}})
    middle = time.perf_counter()
    text = peer.post("/mcp", {"jsonrpc": "2.0", "id": turn + 2, "method": "tools/call",
                              "params": {"name": "shell", "arguments": {"command": "true"}}})
    end = time.perf_counter()
    assert b"[exit 0" in text, text
    times["events"].append((middle - begin) * 1000)
    times["shell"].append((end - middle) * 1000)
for name, values in times.items():
    said(name, statistics.median(values))

said("before", memory())
peers = [Peer() for _ in range(SESSIONS)]
for peer in peers:
    peer.post("/mcp", BEGIN)
    peer.post("/mcp", {"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    text = peer.post("/mcp", {"jsonrpc": "2.0", "id": 3, "method": "resources/subscribe",
                              "params": {"uri": "file://" + os.path.abspath("watched")}})
    assert b'"result":{}' in text, text
    peer.listen()
said("after", memory())
