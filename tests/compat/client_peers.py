# SPDX-License-Identifier: MIT
"""Peers for tests of clients: a network that breaks, and servers that lie."""
import base64
import hashlib
import socket
import struct
import threading

from cut_proxy import cut, was_read


def listening():
    s = socket.create_server(("127.0.0.1", 0))
    s.listen(64)
    return s


class Proxy:
    """Passes connections on to a port, and breaks those for which there is a plan.

    plan has an item for each of the next connections: (side, n) lets n bytes pass, of
    the request ("up"), which the port's process reads, or of the answer ("down"), and
    breaks it then; ("asked", 0) breaks it when the port's process has read the first bytes of
    the request, and passes nothing of the answer; ("stall", n) passes nothing on after n bytes
    of the answer, and lives. context: TLS towards the client."""

    def __init__(self, port, context=None):
        self.port, self.context = port, context
        self.plan, self.open, self.count = [], set(), 0
        self.socket = listening()
        self.url = ("https" if context else "http") + f"://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            self.count += 1
            plan = self.plan.pop(0) if self.plan else ("", 0)
            threading.Thread(target=self.serve, args=(client, plan), daemon=True).start()

    def serve(self, client, plan):
        try:
            if self.context:
                client = self.context.wrap_socket(client, server_side=True)
            server = socket.create_connection(("127.0.0.1", self.port))
        except OSError:
            client.close()
            return
        self.open |= {client, server}
        up = threading.Thread(target=self.pump, args=(client, server, plan, "up"), daemon=True)
        up.start()
        self.pump(server, client, plan, "down")
        up.join()
        self.open -= {client, server}

    def pump(self, source, target, plan, side):
        done = 0
        try:
            while True:
                data = source.recv(65536)
                if plan[0] == side and done + len(data) > plan[1]:
                    target.sendall(data[:plan[1] - done])
                    if side == "up":
                        was_read(target)
                    break
                if plan[0] == "asked" and data:
                    if side == "down":
                        continue
                    target.sendall(data)
                    was_read(target)
                    break
                if plan[0] == "stall" and side == "down" and done + len(data) > plan[1]:
                    continue
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)
                done += len(data)
        except OSError:
            pass
        cut(source, target)

    def cut(self):
        """Breaks all connections that there are."""
        for s in list(self.open):
            cut(s)

    def close(self):
        self.socket.close()
        self.cut()


class Liar:
    """A server that answers each request with what `say` gives for its first line, and
    ends the connection. bytes, or an iterable of them; None: it says nothing."""

    def __init__(self, say):
        self.say, self.asked = say, []
        self.socket = listening()
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            head = b""
            while b"\r\n\r\n" not in head:
                data = client.recv(65536)
                if not data:
                    return
                head += data
            self.asked.append(head)
            answer = self.say(head)
            for part in [answer] if isinstance(answer, bytes) else answer or ():
                client.sendall(part)
            client.shutdown(socket.SHUT_WR)
            while client.recv(65536):
                pass
        except OSError:
            pass
        finally:
            client.close()

    def close(self):
        self.socket.close()


def http(body, status="200 OK", kind="application/json", *more):
    """An answer of HTTP."""
    body = body if isinstance(body, bytes) else body.encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *more]
    return "\r\n".join([*lines, "", ""]).encode() + body


def handshake(head, protocol="od.events.v1", accept=None):
    """The answer to a WebSocket's request."""
    key = [line.split(b": ")[1] for line in head.split(b"\r\n")
           if line.lower().startswith(b"sec-websocket-key")][0]
    sum = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
    accept = accept or base64.b64encode(sum).decode()
    return (f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: {protocol}\r\n\r\n").encode()


def frame(data, opcode=1, first=0x80, mask=0, length=None):
    """A frame; length: "16" or "64" bits for it, needed or not."""
    data = data if isinstance(data, bytes) else data.encode()
    n = len(data)
    head = bytes([first | opcode])
    if length == "64" or n > 65535:
        head += bytes([mask | 127]) + struct.pack("!Q", n)
    elif length == "16" or n > 125:
        head += bytes([mask | 126]) + struct.pack("!H", n)
    else:
        head += bytes([mask | n])
    return head + data
