#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
A proxy that breaks connections: cut_proxy.py TARGET [PREFIX=/x] [up=N] [down=N] [times=K] [then=stall]

It prints the port that it listens on at 127.0.0.1, and joins each connection with one to
TARGET, a port. PREFIX is taken away from the path of each connection's first request; a
request without it gets 404. Of the first K connections (1) each is cut, by a reset, after
N bytes towards the target (up) or from it (down); with then=stall nothing more goes that
way instead. SIGUSR1 cuts all that there are. A line
of standard error tells of each connection that was cut.
"""
import os, signal, socket, struct, sys, threading

options = dict(word.split("=", 1) for word in sys.argv[2:])
TARGET = int(sys.argv[1])
PREFIX = options.get("prefix", "").encode()
LIMITS = {way: int(options[way]) for way in ("up", "down") if way in options}
times = int(options.get("times", 1))
live, lock = set(), threading.Lock()


def cut(*ends):
    for s in ends:
        try:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        s.close()


def strip(client):
    """The first bytes of the request, without the prefix; None: it has none."""
    data = b""
    while b"\r\n" not in data:
        more = client.recv(65536)
        if not more:
            return None
        data += more
    method, path, rest = data.split(b" ", 2)
    if not path.startswith(PREFIX + b"/"):
        client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        return None
    return b" ".join((method, path[len(PREFIX):], rest))


def copy(source, to, pair, left):
    try:
        while data := source.recv(65536 if left is None else min(65536, left) or 1):
            if left is not None:
                left -= len(data)
            to.sendall(data)
            if left == 0:
                print("cut", file=sys.stderr, flush=True)
                if options.get("then") == "stall":
                    return
                break
        else:
            to.shutdown(socket.SHUT_WR)
            return
    except OSError:
        pass
    with lock:
        live.discard(pair)
    cut(*pair)


def serve(client):
    global times
    first = strip(client) if PREFIX else b""
    if first is None:
        client.close()
        return
    target = socket.create_connection(("127.0.0.1", TARGET))
    pair = (client, target)
    with lock:
        live.add(pair)
        limits = LIMITS if times > 0 else {}
        times -= 1
    target.sendall(first)
    for source, to, way in ((client, target, "up"), (target, client, "down")):
        threading.Thread(target=copy, args=(source, to, pair, limits.get(way)),
                         daemon=True).start()


def cut_all(*_):
    with lock:
        pairs = list(live)
        live.clear()
    for pair in pairs:
        cut(*pair)
    print("cut", len(pairs), file=sys.stderr, flush=True)


signal.signal(signal.SIGUSR1, lambda *_: threading.Thread(target=cut_all).start())
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    client, _ = listener.accept()
    threading.Thread(target=serve, args=(client,), daemon=True).start()
