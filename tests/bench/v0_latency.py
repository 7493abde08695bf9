# SPDX-License-Identifier: MIT
"""v0_latency.py PORT N [KEY]: runs `true` N times by POST /execute_action over one
kept connection and prints the quantiles of a round trip in microseconds. Plain
sockets, so that next to nothing of it is the client's."""
import json
import socket
import sys
import time

port, n = int(sys.argv[1]), int(sys.argv[2])
key = f"X-Session-API-Key: {sys.argv[3]}\r\n" if len(sys.argv) > 3 else ""
args = {"command": "true", "is_input": False, "blocking": False, "is_static": False}


def request(i):
    event = {"id": i, "timestamp": time.time_ns(), "action": "run", "args": args, "timeout": 30.0}
    body = json.dumps({"action": event})
    return (
        "POST /execute_action HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"{key}Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


def ask(s, data):
    """The body of the answer, which has a Content-Length."""
    s.sendall(data)
    got = b""
    while b"\r\n\r\n" not in got:
        got += s.recv(65536)
    head, _, body = got.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next(int(x.split(b":")[1]) for x in lines if x.startswith(b"content-length:"))
    while len(body) < length:
        body += s.recv(65536)
    return body


times = []
with socket.create_connection(("127.0.0.1", port), 60) as s:
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for i in range(n + 3):
        data = request(i)
        begin = time.perf_counter()
        body = ask(s, data)
        times.append((time.perf_counter() - begin) * 1e6)
        status = json.loads(body)["extras"]["metadata"]["exit_code"]
        if status != 0:
            sys.exit(f"exit code {status}: {body.decode()}")
times = sorted(times[3:])
print(f"p50 {times[n // 2]:.1f}\np99 {times[n * 99 // 100]:.1f}")
