# SPDX-License-Identifier: MIT
"""v1.py V1 EVENTS PEER: figures of the agent-server's commands, as lines of a name and a
number. V1, EVENTS and PEER are addresses: of v1@, of the same server's event stream, and
of peer_v1.py.

  true events   ms of the command true by POST /api/bash/execute_bash_command, and of an
                action process of the same by POST /events, in turn, each on a connection
                that is kept
  peer          the same by the peer
  spawn         ms of posix_spawn of /bin/sh -c true and its end, by this program
  many peermany commands a second of 8 clients at once"""
import http.client
import json
import os
import sys
import time

V1, EVENTS, PEER = sys.argv[1:4]
ROUNDS, CLIENTS, EACH = 300, 8, 60
ARGV = ["/bin/sh", "-c", "true"]


def said(name, value):
    print(name, f"{value:.3f}", flush=True)


class Client:
    def __init__(self, address):
        self.http = http.client.HTTPConnection(address)

    def post(self, path, body):
        self.http.request("POST", path, json.dumps(body),
                          {"Content-Type": "application/json"})
        answer = self.http.getresponse()
        text = answer.read()
        assert answer.status == 200, (path, answer.status, text[:500])
        return json.loads(text)

    def execute(self):
        answer = self.post("/api/bash/execute_bash_command", {"command": "true"})
        assert answer["exit_code"] == 0, answer

    def process(self):
        answer = self.post("/events", {"action": "process",
                                       "args": {"argv": ARGV, "until": "eof"}})
        assert answer["exit_code"] == 0, answer


def took(function):
    begin = time.perf_counter()
    function()
    return (time.perf_counter() - begin) * 1000


def spawn():
    os.waitpid(os.posix_spawn(ARGV[0], ARGV, os.environ), 0)


def in_turn():
    ours, theirs, peer = Client(V1), Client(EVENTS), Client(PEER)
    for turn in range(ROUNDS + 20):
        figures = (("true", took(ours.execute)), ("events", took(theirs.process)),
                   ("peer", took(peer.execute)), ("spawn", took(spawn)))
        for name, value in figures if turn >= 20 else ():
            said(name, value)


def many(address):
    """Clients in processes of their own: one interpreter is slower than the server."""
    children = []
    begin = time.perf_counter()
    for _ in range(CLIENTS):
        child = os.fork()
        if child == 0:
            one = Client(address)
            for _ in range(EACH):
                one.execute()
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    return CLIENTS * EACH / (time.perf_counter() - begin)


in_turn()
for _ in range(3):
    said("many", many(V1))
    said("peermany", many(PEER))
