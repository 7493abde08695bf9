# SPDX-License-Identifier: MIT
"""DevTools peers that lie, on a port of 127.0.0.1 that is printed. The path
of the address says how; it serves until its input ends."""

import base64
import hashlib
import json
import socket
import sys
import threading


def read_frame(f):
    head = f.read(2)
    if len(head) < 2:
        return None
    n = head[1] & 127
    if n > 125:
        n = int.from_bytes(f.read(2 if n == 126 else 8), "big")
    mask = f.read(4)
    return bytes(b ^ mask[i % 4] for i, b in enumerate(f.read(n)))


def frame(kind, payload):
    n = len(payload)
    size = bytes([n]) if n < 126 else b"\x7e" + n.to_bytes(2, "big")
    return bytes([0x80 | kind]) + size + payload


def answer(way, call):
    n = call["id"]
    if way == "wrongids":
        n += 1000
    if way == "error":
        return {"id": n, "error": {"message": "I do not like you\n", "data": 5}}
    if way == "shapes":
        return {"id": n, "result": [1, {"targetId": ["x"]}], "sessionId": {}, "method": 7}
    return {"id": n, "result": {}}


def serve(peer):
    f = peer.makefile("rwb")
    line = f.readline().decode("latin1").split()
    key = ""
    while (field := f.readline().strip()):
        if field.lower().startswith(b"sec-websocket-key:"):
            key = field.split(b":")[1].strip().decode()
    path = line[1]
    way = path.strip("/")
    if path == "/json/version" or way == "none":
        body = b'{"Browser":"none"}' if path == "/json/version" else b"no such thing"
        status = b"200 OK" if path == "/json/version" else b"404 Not Found"
        f.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
        f.flush()
        return
    if way == "deaf":
        f.read()
        return
    known = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    accept = "wrong" if way == "accept" else base64.b64encode(known).decode()
    f.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accept.encode() + b"\r\n\r\n"
    )
    f.flush()
    while (text := read_frame(f)) is not None:
        if way == "mute":
            continue
        if way == "close":
            f.write(frame(8, (1008).to_bytes(2, "big") + b"go away"))
        elif way == "cut":
            f.write(b"\x81\x7e\x01\x00half of it")
            f.flush()
            return
        elif way == "huge":
            f.write(b"\x81\x7f" + (1 << 40).to_bytes(8, "big") + b"x" * 1000)
        elif way == "text":
            f.write(frame(1, b'{"id":1,"result":"\xff"}'))
        elif way == "frames":
            f.write(b"\xf9\x00")
        else:
            try:
                call = json.loads(text)
            except ValueError:
                continue
            f.write(frame(1, json.dumps(answer(way, call)).encode()))
        f.flush()


def careful(peer):
    try:
        serve(peer)
    except OSError:
        pass
    finally:
        try:
            peer.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        peer.close()


def accept_all(server):
    while True:
        threading.Thread(target=careful, args=(server.accept()[0],), daemon=True).start()


listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=accept_all, args=(listener,), daemon=True).start()
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
