# SPDX-License-Identifier: MIT
"""od serve --connect and what it meets, for tests in Python:

    Od(options)      a server of our own, with its log, worker and metrics
    Socket(script)   a TCP server: each connection is given to script, in a thread
    Proxy()          a proxy that knows CONNECT
    shake(), frame() a WebSocket's bytes by hand, for what no library would send
"""
import base64
import contextlib
import hashlib
import os
import re
import select
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading

from tap import LIMIT, at_end, holds, last_words, wait_for

T = os.environ["T"]
OD = os.environ["OD"]
WAIT = 60 * int(os.environ.get("OD_TEST_SLOW") or 2)
KEPT_OUT = re.compile("^(OD_.*|SESSION_API_KEY|.*_proxy|SSL_CERT_.*)$", re.IGNORECASE)
running = set()


def end_all():
    for od in list(running):
        last_words(od.dir, od.log())
        od.process.kill()


at_end(end_all)


def certificate(name):
    return os.path.join(T, "certs", name)


class Od:
    """Ended with its with-block. `before` is put before its command line."""

    def __init__(self, *options, env=None, state=None, before=(), command=()):
        self.dir = tempfile.mkdtemp(dir=T)
        self.state = state or os.path.join(self.dir, "state")
        self.log_path = os.path.join(self.dir, "log")
        self.socket = os.path.join(self.dir, "sock")
        self.http = os.path.join(self.dir, "http")
        self.status = 128 + signal.SIGTERM if command else 0
        clean = {k: v for k, v in os.environ.items() if not KEPT_OUT.match(k)}
        words = [OD, "serve", "--socket", self.socket, "--state-dir", self.state]
        words += ["--listen", "unix:" + self.http, "--log", "debug", *options]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*before, *words, *command],
                env={**clean, **(env or {})},
                cwd=self.dir,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

        running.add(self)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _trace):
        running.discard(self)
        self.process.terminate()
        try:
            status = self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        if error:
            error.log = self.log()
        elif status != self.status:
            raise AssertionError(f"od serve ended with {status}: {self.log()[-2000:]}")

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def waits_for(self, *parts):
        """Until all of them are in the log."""
        missing = list(parts)
        wait_for(lambda: not [p for p in missing if p not in self.log()], missing, WAIT)

    def linked(self, times=1):
        wait_for(lambda: self.log().count(": linked, ") >= times, "no link", WAIT)

    def ends(self, outcome, *words):
        """A try or a link ends with this name, and the words are said."""
        self.waits_for(f"[{outcome}]", *words)

    def worker(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as f:
            for pid in f.read().split():
                with contextlib.suppress(OSError):
                    with open(f"/proc/{pid}/cmdline", "rb") as line:
                        if line.read().startswith(b"od-worker\0"):
                            return int(pid)
        return None

    def kill_worker(self):
        old = wait_for(self.worker, "no worker", WAIT)
        os.kill(old, signal.SIGKILL)
        wait_for(lambda: self.worker() not in (None, old), "no other worker", WAIT)

    def exec(self, *words):
        return subprocess.run(
            [OD, "exec", "--socket", self.socket, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WAIT,
            check=False,
        )

    def get(self, target, fields=""):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(WAIT)
            s.connect(self.http)
            s.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{fields}"
                      "Connection: close\r\n\r\n".encode())
            return b"".join(iter(lambda: s.recv(65536), b"")).decode()


# --- servers by hand


def read_head(conn):
    head = b""
    while b"\r\n\r\n" not in head:
        piece = conn.recv(4096)
        if not piece:
            return None
        head += piece
    return head.decode("latin-1")


class Socket:
    """script(conn, number) has the connection to itself; it is closed after."""

    def __init__(self, script, context=None, address="127.0.0.1"):
        self.script, self.context = script, context
        self.listener = socket.create_server((address, 0))
        self.port = self.listener.getsockname()[1]
        self.taken = 0
        self.open = []
        threading.Thread(target=self.run, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for conn in self.open:
            with contextlib.suppress(OSError):
                conn.shutdown(socket.SHUT_RDWR)

    def run(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            self.taken += 1
            self.open.append(conn)
            threading.Thread(target=self.talk, args=(conn, self.taken), daemon=True).start()

    def talk(self, conn, number):
        with contextlib.suppress(OSError, ssl.SSLError), conn:
            conn.settimeout(WAIT)
            if self.context:
                conn = self.context.wrap_socket(conn, server_side=True)
            self.script(conn, number)
            with contextlib.suppress(OSError):
                conn.close()


def answers(text):
    """A script that reads the head and says this."""

    def script(conn, _number):
        if read_head(conn):
            conn.sendall(text.replace("\n", "\r\n").encode())
            stay(conn)

    return script


def stay(conn):
    """Until the peer goes."""
    with contextlib.suppress(OSError):
        while conn.recv(65536):
            pass


def shake(conn, more=""):
    """The server's side of a handshake; the request's head, or None."""
    head = read_head(conn)
    if not head:
        return None
    key = re.search(r"(?i)sec-websocket-key: *(\S+)", head).group(1)
    sum1 = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    conn.sendall(
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Accept: {base64.b64encode(sum1).decode()}\r\n"
            f"{more}\r\n"
        ).encode()
    )
    return head


def frame(payload, opcode=1, first=0x80, mask=False):
    """A frame with a length of at most 65535; masked ones are a client's."""
    data = payload.encode() if isinstance(payload, str) else payload
    n, bit = len(data), 0x80 if mask else 0
    head = bytes([first | opcode, bit | (n if n < 126 else 126)])
    if n > 125:
        head += struct.pack(">H", n)
    return head + (b"\0\0\0\0" if mask else b"") + data


def server_context(name="good", client_ca=None, version=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(name + ".pem"), certificate(name + ".key"))
    if client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificate(client_ca + ".pem"))
    if version:
        context.minimum_version = context.maximum_version = version
        # Else it signs with what our side knows for 1.3 only.
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    return context


class Proxy(Socket):
    """Connects whom it is asked to; `routes` says where names lead."""

    def __init__(self, routes=None, answer=None, address="127.0.0.1"):
        self.routes, self.answer, self.heads = routes or {}, answer, []
        super().__init__(self.serve, address=address)

    def serve(self, conn, _number):
        head = read_head(conn)
        if not head:
            return
        self.heads.append(head)
        if self.answer:
            conn.sendall(self.answer)
            stay(conn)
            return
        method, target, _ = head.split("\r\n")[0].split(" ")
        holds(method == "CONNECT", head)
        host, _, port = target.rpartition(":")
        to = self.routes.get(target, (host.strip("[]"), int(port)))
        with socket.create_connection(to, WAIT) as other:
            conn.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            pump(conn, other)


def pump(a, b):
    both = [a, b]
    while True:
        for s in select.select(both, [], [])[0]:
            data = s.recv(65536)
            if not data:
                return
            (b if s is a else a).sendall(data)
