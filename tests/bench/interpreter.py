# SPDX-License-Identifier: MIT
"""interpreter.py URL NATIVE LANGUAGE SPEC: what groups/interpreter.sh measures: print(1) by
/execute of the code interpreter, and as the action `cell`, in turn, each in a kernel of its
own of the kernelspec SPEC. Prints "LANGUAGE-execute MS" and "LANGUAGE-cell MS" lines."""
import http.client
import json
import socket
import sys
import time

URL, NATIVE, LANGUAGE, SPEC = sys.argv[1:]


def connect(url):
    c = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    c.connect()
    c.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return c


def post(c, path, body):
    c.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    return c.getresponse().read()


OURS, OTHER = connect(URL), connect(NATIVE)
ID = json.loads(post(OURS, "/contexts", {"language": LANGUAGE}))["id"]


def execute():
    """A kernel may send what was printed in two pieces."""
    lines = post(OURS, "/execute", {"code": "print(1)", "context_id": ID}).splitlines()
    said = [json.loads(line) for line in lines if line.startswith(b"{")]
    return "".join(m["text"] for m in said if m["type"] == "stdout") == "1\n"


def cell():
    ended = json.loads(post(OTHER, "/events", {"action": "cell", "args": {
        "code": "print(1)", "kernel": "bench " + LANGUAGE, "spec": SPEC}}))
    return ended["extras"]["end"] == "ok"


WAYS = {"execute": execute, "cell": cell}
for i in range(220):
    for name, way in WAYS.items():
        begin = time.perf_counter()
        good = way()
        took = time.perf_counter() - begin
        if not good:
            sys.exit(name + " failed")
        if i >= 20:
            print(f"{LANGUAGE}-{name}", took * 1000)
