# SPDX-License-Identifier: MIT
"""What the fence costs a program: fence.py connect|spawn|bytes|https [ADDRESS]. Prints a
key and a value, of one round."""
import os
import socket
import ssl
import sys
import threading
import time

CONNECTS, SPAWNS, BYTES, REQUESTS = 3000, 400, 3 << 30, 150


def connect(address="127.0.0.1"):
    """One after the other, to a listener of this program."""
    with socket.socket() as listener:
        listener.bind((address, 0))
        listener.listen(128)
        at = listener.getsockname()
        begun = time.perf_counter()
        for _ in range(CONNECTS):
            with socket.socket() as s:
                s.connect(at)
                listener.accept()[0].close()
        print("connect", round((time.perf_counter() - begun) / CONNECTS * 1e6, 2))


def spawn():
    begun = time.perf_counter()
    for _ in range(SPAWNS):
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    print("spawn", round((time.perf_counter() - begun) / SPAWNS * 1e6, 1))


def count_bytes():
    """MB/s of a connection within the machine."""
    listener = socket.create_server(("127.0.0.1", 0))
    block = bytes(1 << 20)

    def send():
        with socket.create_connection(listener.getsockname()) as s:
            for _ in range(BYTES >> 20):
                s.sendall(block)

    sender = threading.Thread(target=send)
    begun = time.perf_counter()
    sender.start()
    with listener.accept()[0] as s:
        room = bytearray(1 << 20)
        while s.recv_into(room):
            pass
    sender.join()
    print("rate", round(BYTES / 1e6 / (time.perf_counter() - begun)))


def https(address):
    """Requests, each by a connection of its own; then all by one."""
    name, port = address.split(":")
    context = ssl.create_default_context()
    text = f"GET /x HTTP/1.1\r\nHost: {address}\r\nAuthorization: token {os.environ['TOKEN']}\r\n\r\n".encode()

    def ask(s):
        s.sendall(text)
        data = b""
        while not data.endswith(b"}"):
            data += s.recv(65536)

    def opened():
        return context.wrap_socket(socket.create_connection((name, int(port))), server_hostname=name)

    for kept in (False, True):
        s = opened()
        begun = time.perf_counter()
        for _ in range(REQUESTS * (10 if kept else 1)):
            if not kept:
                s.close()
                s = opened()
            ask(s)
        each = (time.perf_counter() - begun) / (REQUESTS * (10 if kept else 1))
        print("kept" if kept else "opened", round(each * 1e6, 1))


if __name__ == "__main__":
    {"connect": connect, "spawn": spawn, "bytes": count_bytes, "https": https}[sys.argv[1]](*sys.argv[2:])
