# SPDX-License-Identifier: MIT
"""Redis servers for tests, and one by hand:

    Redis(options)   a real one of our own, which may be killed and started again
    Valkey(options)  the same, of the folder $VALKEY (tests/images/roots.sh)
    Fake(answers)    one that answers each command by a function, or by what is usual
"""
import glob
import os
import socket
import subprocess
import sys
import tempfile

import redis

from dialled import T, WAIT, Socket
from tap import at_end, wait_for

running = set()


def end_all():
    for server in list(running):
        server.process.kill()


at_end(end_all)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Redis:
    """Ended with its with-block. What it has is on disk, and outlives kill()."""

    program = ("redis-server",)

    def __init__(self, *options, tls=None, sentinel=False):
        self.dir = tempfile.mkdtemp(dir=T)
        self.port = free_port()
        self.config = os.path.join(self.dir, "conf")
        lines = ["bind 127.0.0.1", "dir " + self.dir, "logfile log", "enable-debug-command yes"]
        if tls:
            lines += ["port 0", f"tls-port {self.port}", f"tls-cert-file {tls}.pem",
                      f"tls-key-file {tls}.key", "tls-auth-clients no"]
        else:
            lines.append(f"port {self.port}")
        if not sentinel:
            lines += ["save \"\"", "appendonly yes", "repl-diskless-sync-delay 0"]
        self.sentinel = sentinel
        with open(self.config, "w", encoding="utf-8") as f:
            f.write("\n".join([*lines, *options]) + "\n")
        self.tls = {"ssl": True, "ssl_cert_reqs": "none"} if tls else {}
        self.start()

    def start(self):
        words = [*self.program, self.config] + (["--sentinel"] if self.sentinel else [])
        try:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL)
        except OSError as error:
            raise AssertionError(f"cannot start {self.program[-1]}: {error}") from None
        running.add(self)
        self.reason = None
        try:
            wait_for(self.answers, "no answer", WAIT)
        except AssertionError as error:
            raise AssertionError(f"{error} of {' '.join(words)}\n{self.why()}") from None

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"it ended with status {self.process.returncode}:"
                                 " no answer")
        try:
            with socket.create_connection(("127.0.0.1", self.port), WAIT):
                pass
            return self.tls or self.client().ping()
        except redis.exceptions.AuthenticationError:
            return True
        except (OSError, redis.exceptions.RedisError) as error:
            self.reason = error
            return False

    def why(self):
        """What the client and the server's log say, for a server that does not answer."""
        lines = [f"the client (module redis {redis.__version__}, {sys.executable}):"
                 f" {self.reason!r}"]
        try:
            with open(os.path.join(self.dir, "log"), encoding="utf-8", errors="replace") as f:
                lines += ["its log: " + line.rstrip() for line in f.readlines()[-8:]]
        except OSError as error:
            lines.append(f"it has no log: {error}")
        return "\n".join(lines)

    def kill(self):
        self.process.kill()
        self.process.wait()
        running.discard(self)

    def client(self, **options):
        return redis.Redis("127.0.0.1", self.port, decode_responses=True, **self.tls, **options)

    def url(self, user=""):
        return f"redis{'s' if self.tls else ''}://{user}127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def valkey():
    """The words that start it: by the loader and the libraries of its own folder."""
    folder = os.environ.get("VALKEY", "")
    loaders = glob.glob(folder + "/usr/lib/*/ld-linux*.so.*")
    server = folder + "/usr/bin/valkey-server"
    if not (folder and loaders and os.access(server, os.X_OK)):
        return ()
    return loaders[0], "--library-path", os.path.dirname(loaders[0]), server


class Valkey(Redis):
    program = valkey()


USUAL = {
    "HELLO": b"*2\r\n$6\r\nserver\r\n$5\r\nredis\r\n",
    "ROLE": b"*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n",
    "HSET": b":1\r\n",
    "XINFO": b"-ERR no such key\r\n",
    "XGROUP": b"+OK\r\n",
    "ZADD": b":1\r\n",
    "XTRIM": b":1\r\n",
    "XACK": b":1\r\n",
    "XADD": b"$3\r\n1-0\r\n",
    "EXEC": b"*0\r\n",
    "MULTI": b"+OK\r\n",
    "PING": b"+PONG\r\n",
    "XREADGROUP": b"",  # nothing new, for as long as the link lasts
}


def read_command(file):
    head = file.readline()
    if not head:
        return None
    words = []
    for _ in range(int(head[1:])):
        size = int(file.readline()[1:])
        words.append(file.read(size + 2)[:-2].decode())
    return words


class Fake(Socket):
    """answers: by a command's name, bytes, or a function of its words and connection."""

    def __init__(self, **answers):
        self.answers, self.commands = {**USUAL, **answers}, []
        super().__init__(self.serve)

    def serve(self, conn, _number):
        with conn.makefile("rb") as file:
            while words := read_command(file):
                self.commands.append(words)
                answer = self.answers[words[0]]
                conn.sendall(answer(words) if callable(answer) else answer)

    def asked(self, name):
        return [words for words in self.commands if words[0] == name]

    def url(self):
        return f"redis://127.0.0.1:{self.port}"
