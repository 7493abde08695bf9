# SPDX-License-Identifier: MIT
"""swerex.py OD SWEREX EVENTS PEER: figures of SWE-ReX's routes, as lines of a name and a
number. SWEREX, EVENTS and PEER are addresses: of swerex@, of the same server's event
stream, and of peer_swerex.py.

  true events  ms of the command true by run_in_session and by POST /events, in turn, each
               on a connection that is kept
  peer         the same by the peer
  many         commands a second of 8 sessions at once
  cat          ms of a command that prints 10 MB
  start        ms from exec to the first is_alive"""
import http.client
import json
import os
import subprocess
import sys
import time

OD, SWEREX, EVENTS, PEER = sys.argv[1:5]
ROUNDS, PEER_ROUNDS, SESSIONS, EACH, CATS, STARTS = 400, 15, 8, 250, 5, 15


def said(name, value):
    print(name, f"{value:.3f}", flush=True)


class Peer:
    def __init__(self, address):
        self.http = http.client.HTTPConnection(address)

    def post(self, path, body):
        self.http.request("POST", path, json.dumps(body), {"X-API-Key": "bench"})
        answer = self.http.getresponse()
        text = answer.read()
        assert answer.status == 200, (path, answer.status, text[:500])
        return text

    def create(self, session="default"):
        self.post("/create_session", {"session": session, "session_type": "bash",
                                      "startup_source": [], "startup_timeout": 10})

    def run(self, command, session="default"):
        return self.post("/run_in_session", {
            "action_type": "bash", "command": command, "session": session, "timeout": 60,
            "is_interactive_command": False, "is_interactive_quit": False, "check": "raise",
            "error_msg": "", "expect": []})


def took(function, *words):
    begin = time.perf_counter()
    function(*words)
    return (time.perf_counter() - begin) * 1000


def by_events(peer):
    peer.post("/events", {"action": "run", "session": "events",
                          "args": {"command": "true", "until": "end"}})


def in_turn():
    ours, theirs = Peer(SWEREX), Peer(EVENTS)
    ours.create()
    for turn in range(ROUNDS + 20):
        pair = took(ours.run, "true"), took(by_events, theirs)
        if turn >= 20:
            said("true", pair[0])
            said("events", pair[1])
    return ours


def peer():
    other = Peer(PEER)
    other.create()
    for _ in range(PEER_ROUNDS):
        said("peer", took(other.run, "true"))


def many():
    """Clients in processes of their own: one interpreter is slower than the server."""
    peers = [Peer(SWEREX) for _ in range(SESSIONS)]
    for number, one in enumerate(peers):
        one.create(f"many{number}")
        one.run("true", f"many{number}")
    children = []
    begin = time.perf_counter()
    for number, one in enumerate(peers):
        child = os.fork()
        if child == 0:
            for _ in range(EACH):
                one.run("true", f"many{number}")
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    said("many", SESSIONS * EACH / (time.perf_counter() - begin))


def cat(ours):
    ours.run("head -c 10000000 /dev/zero | tr '\\0' x >big")
    for _ in range(CATS):
        said("cat", took(ours.run, "cat big"))


def start(turn):
    home = os.path.join(os.environ["HOME"], f"start{turn}")
    os.makedirs(home)
    program = os.path.join(home, "swerex-remote")
    os.symlink(OD, program)
    env = {**os.environ, "HOME": home, "OD_STATE_DIR": home + "/state",
           "OD_SOCKET": home + "/sock", "OD_LOG": "error"}
    port = str(22000 + os.getpid() % 20000 + turn)
    begin = time.perf_counter()
    with subprocess.Popen([program, "--host", "127.0.0.1", "--port", port,
                           "--auth-token", "bench"], env=env, stderr=subprocess.DEVNULL) as child:
        while True:
            one = http.client.HTTPConnection("127.0.0.1:" + port)
            try:
                one.request("GET", "/is_alive", headers={"X-API-Key": "bench"})
                assert one.getresponse().status == 200
                break
            except ConnectionError:
                one.close()
        said("start", (time.perf_counter() - begin) * 1000)
        child.terminate()


shell = in_turn()
peer()
many()
cat(shell)
for number in range(STARTS):
    start(number)
