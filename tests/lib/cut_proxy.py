#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
A proxy that breaks connections: cut_proxy.py TARGET [PREFIX=/x] [up=N] [down=N] [times=K] [then=stall]

It prints the port that it listens on at 127.0.0.1, and joins each connection with one to
TARGET, a port. PREFIX is taken away from the path of each connection's first request; a
request without it gets 404. Of the first K connections (1) each is cut, by a reset, after
the target has read N bytes (up) or sent them (down); with then=stall nothing more goes
that way instead. SIGUSR1 cuts all that there are. A line of standard error tells of each
connection that was cut.
"""
import fcntl, os, signal, socket, struct, sys, threading, time

words = sys.argv[2:] if __name__ == "__main__" else []
options = dict(word.split("=", 1) for word in words)
PREFIX = options.get("prefix", "").encode()
LIMITS = {way: int(options[way]) for way in ("up", "down") if way in options}
times = int(options.get("times", 1))
live, lock = set(), threading.Lock()


def was_read(end, seconds=20):
    """Waits until the process at the other end, on this machine, has read all that was
    sent, since a reset drops what it has not. False: the time is over."""
    pair = f":{end.getpeername()[1]:04X}", f":{end.getsockname()[1]:04X}"
    over = time.monotonic() + seconds
    while time.monotonic() < over:
        if unsent(end):
            time.sleep(0.002)
            continue
        rows = []
        for path in ("/proc/net/tcp", "/proc/net/tcp6"):
            if os.path.exists(path):
                with open(path) as table:
                    rows += [line.split() for line in table]
        ends = [row for row in rows[1:] if row[1].endswith(pair[0]) and row[2].endswith(pair[1])]
        if not any(int(row[4].split(":")[1], 16) for row in ends):
            return True
        time.sleep(0.002)
    return False


def unsent(end):
    """How many bytes the other end's kernel has not got (SIOCOUTQ)."""
    return struct.unpack("i", fcntl.ioctl(end, 0x5411, b"\0" * 4))[0]


def cut(*ends):
    """Ends connections as a network does that forgets them: by a reset."""
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


def copy(source, to, pair, left, way):
    try:
        while data := source.recv(65536 if left is None else min(65536, left) or 1):
            if left is not None:
                left -= len(data)
            to.sendall(data)
            if left == 0:
                if way == "up":
                    was_read(to)
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
    target = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    pair = (client, target)
    with lock:
        live.add(pair)
        limits = LIMITS if times > 0 else {}
        times -= 1
    target.sendall(first)
    for source, to, way in ((client, target, "up"), (target, client, "down")):
        threading.Thread(target=copy, args=(source, to, pair, limits.get(way), way),
                         daemon=True).start()


def cut_all(*_):
    with lock:
        pairs = list(live)
        live.clear()
    for pair in pairs:
        cut(*pair)
    print("cut", len(pairs), file=sys.stderr, flush=True)


def main():
    signal.signal(signal.SIGUSR1, lambda *_: threading.Thread(target=cut_all).start())
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()


if __name__ == "__main__":
    main()
