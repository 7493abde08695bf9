# SPDX-License-Identifier: MIT
"""ws_cases.py ECHO: RFC 6455 case by case, against tests/lib/ws_echo.c in both roles.

The cases have the numbers of Autobahn's groups: 1 frames, 2 pings, 3 reserved bits,
4 opcodes, 5 fragments, 6 UTF-8, 7 closing, 9 sizes, 10 the rest (there is no 8, and 12
and 13 are of extensions, which are not spoken). A case is the bytes that a peer sends and
what must come back: messages, pongs, and how it ends.
"""
import base64
import hashlib
import os
import socket
import struct
import subprocess
import sys
import threading
import time

ECHO = sys.argv[1]
LIMIT = 30 * int(os.environ.get("OD_TEST_SLOW") or 2)  # seconds that a case may wait
CONT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
ROLES = ("server", "client")  # of ours


class Frame:
    """A frame to send; chop: it goes out in pieces of so many bytes."""

    def __init__(self, op, data=b"", fin=True, rsv=0, chop=0):
        self.op, self.fin, self.rsv, self.chop = op, fin, rsv, chop
        self.data = data.encode() if isinstance(data, str) else data

    def encode(self, mask):
        n, bit = len(self.data), 0x80 if mask else 0
        head = bytes([self.fin << 7 | self.rsv << 4 | self.op])
        if n < 126:
            head += bytes([bit | n])
        elif n < 65536:
            head += struct.pack(">BH", bit | 126, n)
        else:
            head += struct.pack(">BQ", bit | 127, n)
        if not mask:
            return head + self.data
        key = os.urandom(4)
        long = (key * (n // 4 + 1))[:n]
        both = int.from_bytes(self.data, "big") ^ int.from_bytes(long, "big")
        return head + key + both.to_bytes(n, "big")


def code(number, reason=b""):
    return Frame(CLOSE, struct.pack(">H", number) + reason)


class Case:
    """want: (opcode, bytes) of messages and pongs; end: the code of our Close."""

    def __init__(self, name, frames, want=(), end=1000):
        self.name, self.frames, self.want, self.end = name, list(frames), list(want), end
        self.group = int(name.split(".")[0])


CASES = []


def good(name, frames, want):
    """Which a Close of ours ends."""
    CASES.append(Case(name, list(frames) + [code(1000)], want, 1000))


def bad(name, frames, want=(), end=1002):
    CASES.append(Case(name, frames, want, end))


def pieces(text, sizes):
    """A message's fragments: sizes of all but the last."""
    at, frames = 0, []
    for size in sizes:
        frames.append(Frame(CONT if frames else TEXT, text[at:at + size], fin=False))
        at += size
    return frames + [Frame(CONT, text[at:])]


def chopped(frames, size):
    for frame in frames:
        frame.chop = size
    return frames


def group_1():
    for kind, op, byte in ((1, TEXT, b"*"), (2, BINARY, b"\xfe")):
        for number, size in enumerate((0, 125, 126, 127, 128, 65535, 65536, 65536), 1):
            data = byte * size
            good(f"1.{kind}.{number}", [Frame(op, data, chop=997 if number == 8 else 0)],
                 [(op, data)])


def group_2():
    for number, data in ((1, b""), (2, b"Hello, world!"), (3, b"\0\xff\xfe\xfd"),
                         (4, b"\xfe" * 125)):
        good(f"2.{number}", [Frame(PING, data)], [(PONG, data)])
    bad("2.5", [Frame(PING, b"\xfe" * 126)])
    good("2.6", [Frame(PING, b"\xfe" * 125, chop=1)], [(PONG, b"\xfe" * 125)])
    good("2.7", [Frame(PONG)], [])
    good("2.8", [Frame(PONG, b"unsolicited")], [])
    good("2.9", [Frame(PONG, b"unsolicited"), Frame(PING, b"ping")], [(PONG, b"ping")])
    for number, chop in ((10, 0), (11, 1)):
        good(f"2.{number}", chopped([Frame(PING, b"%d" % i) for i in range(10)], chop),
             [(PONG, b"%d" % i) for i in range(10)])


def group_3():
    hello, echo = "Hello, world!", [(TEXT, b"Hello, world!")]
    bad("3.1", [Frame(TEXT, hello, rsv=1)])
    bad("3.2", [Frame(TEXT, hello), Frame(TEXT, hello, rsv=2), Frame(PING)], echo)
    bad("3.3", [Frame(TEXT, hello), Frame(TEXT, hello, rsv=3), Frame(PING)], echo)
    bad("3.4", chopped([Frame(TEXT, hello), Frame(TEXT, hello, rsv=4), Frame(PING)], 1),
        echo)
    bad("3.5", [Frame(BINARY, b"\0\xff", rsv=5)])
    bad("3.6", [Frame(PING, hello, rsv=6)])
    bad("3.7", [Frame(CLOSE, struct.pack(">H", 1000), rsv=7)])


def group_4():
    for kind, first in ((1, 3), (2, 11)):
        for number in range(5):
            op, name = first + number, f"4.{kind}.{number + 1}"
            before = [Frame(TEXT, "before")] if number > 1 else []
            odd = Frame(op, b"payload" if number % 2 else b"")
            bad(name, chopped(before + [odd, Frame(PING)], 1 if number > 3 else 0),
                [(TEXT, b"before")] if before else [])


def group_5():
    text = b"fragment1fragment2"
    bad("5.1", [Frame(PING, "fragment1", fin=False), Frame(CONT, "fragment2")])
    bad("5.2", [Frame(PONG, "fragment1", fin=False), Frame(CONT, "fragment2")])
    for number, chop in ((3, 0), (4, 9), (5, 1)):
        good(f"5.{number}", chopped(pieces(text, [9]), chop), [(TEXT, text)])
    for number, chop in ((6, 0), (7, 9), (8, 1)):
        first, last = pieces(text, [9])
        good(f"5.{number}", chopped([first, Frame(PING, "ping"), last], chop),
             [(PONG, b"ping"), (TEXT, text)])
    for number in range(9, 15):
        bad(f"5.{number}", chopped([Frame(CONT, "non-continuation", fin=number < 12),
                                    Frame(TEXT, "Hello, world!")], (0, 9, 1)[number % 3]))
    bad("5.15", pieces(text, [9]) + [Frame(CONT, "fragment3", fin=False),
                                     Frame(TEXT, "fragment4")], [(TEXT, text)])
    for number in (16, 17):
        bad(f"5.{number}", [Frame(CONT, "fragment1", fin=number == 17),
                            Frame(TEXT, "fragment2", fin=False), Frame(CONT, "fragment3")])
    bad("5.18", [Frame(TEXT, "fragment1", fin=False), Frame(TEXT, "fragment2")])
    for number, chop in ((19, 0), (20, 1)):
        a, b, c, d, e = pieces(b"12345", [1, 1, 1, 1])
        good(f"5.{number}", chopped([a, b, Frame(PING, "p1"), c, d, Frame(PING, "p2"), e],
                                    chop), [(PONG, b"p1"), (PONG, b"p2"), (TEXT, b"12345")])


def utf_8(name, data):
    """Whole, in fragments of a byte, and in pieces of a byte: as Python judges it."""
    ways = [[Frame(TEXT, data)], chopped([Frame(TEXT, data)], 1)]
    if len(data) > 1:
        ways.append(pieces(data, [1] * (len(data) - 1)))
    try:
        data.decode()
    except UnicodeDecodeError:
        for number, frames in enumerate(ways, 1):
            bad(f"{name}.{number}", frames, end=1007)
        return
    for number, frames in enumerate(ways, 1):
        good(f"{name}.{number}", frames, [(TEXT, data)])


def group_6():
    kosme = "\u03ba\u03cc\u03c3\u03bc\u03b5".encode()
    good("6.1.1", [Frame(TEXT)], [(TEXT, b"")])
    good("6.1.2", pieces(b"", [0, 0]), [(TEXT, b"")])
    good("6.1.3", pieces(b"middle", [0, 6]), [(TEXT, b"middle")])
    utf_8("6.2", "Hello-\u00b5@\u00df\u00f6\u00e4\u00fc\u00e0\u00e1-UTF-8!!".encode())
    utf_8("6.3", kosme + b"\xed\xa0\x80edited")
    # at once, before the message is whole
    for number, data in enumerate((b"\xf4\x90", b"\xed\xa0", b"\xc0", b"\x80", b"\xf8"), 1):
        bad(f"6.4.{number}", [Frame(TEXT, kosme, fin=False), Frame(CONT, data, fin=False)],
            end=1007)
    for number in range(1, len(kosme) + 1):
        utf_8(f"6.6.{number}", kosme[:number])
    firsts = (0, 0x80, 0x800, 0x10000, 0x7F, 0x7FF, 0xFFFF, 0x10FFFF, 0xD7FF, 0xE000,
              0xFFFD, 0xFFFE, 0x1FFFE, 0x10FFFE)
    for number, point in enumerate(firsts, 1):
        utf_8(f"6.9.{number}", chr(point).encode())
    odd = (b"\xf8\x88\x80\x80\x80", b"\xfc\x84\x80\x80\x80\x80", b"\xf7\xbf\xbf\xbf",
           b"\xf4\x90\x80\x80", b"\x80", b"\xbf", b"\x80\xbf", b"\x80\xbf\x80\xbf",
           bytes(range(0x80, 0xC0)), b"\xc0 \xc1 ", b"\xe0 \xe1 ", b"\xf0 \xf1 ", b"\xf8 ",
           b"\xfc ", b"\xc0", b"\xe0\x80", b"\xf0\x80\x80", b"\xdf", b"\xef\xbf",
           b"\xf7\xbf\xbf", b"\xfe", b"\xff", b"\xfe\xfe\xff\xff", b"\xc0\xaf",
           b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xc1\xbf", b"\xe0\x9f\xbf",
           b"\xf0\x8f\xbf\xbf", b"\xc0\x80", b"\xed\xa0\x80", b"\xed\xad\xbf",
           b"\xed\xbe\x80", b"\xed\xbf\xbf", b"\xed\xa0\x80\xed\xb0\x80")
    for number, data in enumerate(odd, 1):
        utf_8(f"6.12.{number}", data)


def group_7():
    hello = Frame(TEXT, "Hello World!")
    echo = [(TEXT, b"Hello World!")]
    good("7.1.1", [hello], echo)
    good("7.1.2", [code(1000)], [])
    CASES.append(Case("7.1.3", [code(1000), Frame(PING)]))
    CASES.append(Case("7.1.4", [code(1000), hello]))
    CASES.append(Case("7.1.5", [Frame(TEXT, "fragment1", fin=False), code(1000),
                                Frame(CONT, "fragment2")]))
    big = b"BAsd7&jh23" * 26214
    good("7.1.6", [Frame(TEXT, big), hello], [(TEXT, big)] + echo)
    CASES.append(Case("7.3.1", [Frame(CLOSE)], end=None))
    bad("7.3.2", [Frame(CLOSE, "a")])
    CASES.append(Case("7.3.3", [code(1000)]))
    CASES.append(Case("7.3.4", [code(1000, b"Hello World!")]))
    CASES.append(Case("7.3.5", [code(1000, b"*" * 123)]))
    bad("7.3.6", [code(1000, b"*" * 124)])
    bad("7.5.1", [code(1000, b"\xce\xba\xe1\xbd\xb9\xed\xa0\x80")], end=1007)
    fine = (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999)
    for number, value in enumerate(fine, 1):
        CASES.append(Case(f"7.7.{number}", [code(value)], end=value))
    for number, value in enumerate((0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999), 1):
        bad(f"7.9.{number}", [code(value)])
    bad("7.13.1", [code(5000)])
    bad("7.13.2", [code(65535)])


def group_9():
    for kind, op in ((1, TEXT), (2, BINARY)):
        for number, size in enumerate((64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20), 1):
            good(f"9.{kind}.{number}", [Frame(op, b"*" * size)], [(op, b"*" * size)])
    whole = b"*" * (1 << 20)
    for number, size in enumerate((64, 256, 1 << 10, 4 << 10, 64 << 10, 1 << 20), 1):
        good(f"9.3.{number}", pieces(whole, [size] * (len(whole) // size)),
             [(TEXT, whole)])
    for number, size in enumerate((64, 128, 256, 512, 1024, 2048), 1):
        good(f"9.5.{number}", [Frame(TEXT, whole, chop=size)], [(TEXT, whole)])
    for kind, op in ((7, TEXT), (8, BINARY)):
        for number, size in enumerate((0, 16, 64, 256, 1024, 4096), 1):
            good(f"9.{kind}.{number}", [Frame(op, b"*" * size)] * 500,
                 [(op, b"*" * size)] * 500)


def group_10():
    whole = b"*" * 65536
    good("10.1.1", pieces(whole, [1300] * (len(whole) // 1300)), [(TEXT, whole)])


# ---- a peer ----

class Peer:
    """The other end of a connection, after its handshake; ours is `role`."""

    def __init__(self, s, role):
        self.s, self.role, self.buf, self.ended = s, role, b"", False

    def more(self):
        try:
            data = self.s.recv(1 << 20)
        except ConnectionResetError:
            data = b""
        self.ended = not data
        self.buf += data
        return bool(data)

    def take(self, n):
        while len(self.buf) < n:
            if not self.more():
                raise AssertionError(f"it ended within a frame: {self.buf[:40]!r}")
        data, self.buf = self.buf[:n], self.buf[n:]
        return data

    def frame(self):
        """(fin, opcode, bytes), checked as the RFC wants frames; None: the end."""
        if not self.buf and not self.more():
            return None
        first, second = self.take(2)
        n, wide = second & 127, {126: 2, 127: 8}.get(second & 127, 0)
        assert not first & 0x70, "a reserved bit is set"
        assert bool(second & 0x80) == (self.role == "client"), "masked as the other role"
        if wide:
            n = int.from_bytes(self.take(wide), "big")
            assert n > (125 if wide == 2 else 65535), "the length is not the shortest"
        key = self.take(4) if second & 0x80 else b""
        while len(self.buf) < n:
            parts, have = [self.buf], len(self.buf)
            while have < n:
                parts.append(self.s.recv(1 << 20))
                assert parts[-1], "it ended within a frame"
                have += len(parts[-1])
            self.buf = b"".join(parts)
        data = self.take(n)
        if key:
            long = (key * (n // 4 + 1))[:n]
            data = (int.from_bytes(data, "big") ^ int.from_bytes(long, "big")).to_bytes(
                n, "big")
        return bool(first & 0x80), first & 15, data

    def send(self, frames):
        """All of them; what breaks off, since the other end has enough, is fine."""
        whole = bytearray()
        try:
            for frame in frames:
                data = frame.encode(self.role == "server")
                if not frame.chop:
                    whole += data
                    continue
                self.s.sendall(whole)
                whole.clear()
                for at in range(0, len(data), frame.chop):
                    self.s.sendall(data[at:at + frame.chop])
            self.s.sendall(whole)
        except OSError:
            pass

    def answers(self):
        """(messages and pongs, the Close's payload or None)"""
        out, parts, op, close = [], [], 0, None
        while True:
            frame = self.frame()
            if not frame:
                return out, close
            assert close is None, "a frame after the Close"
            fin, kind, data = frame
            if kind == CLOSE:
                close = data
                self.s.shutdown(socket.SHUT_WR)
            elif kind == PONG:
                out.append((PONG, data))
            elif kind == PING:
                pass  # it may ask whether a slow peer is still there
            else:
                assert kind in (CONT, TEXT, BINARY) and (kind == CONT) == bool(op), kind
                op = op or kind
                parts.append(data)
                if fin:
                    out.append((op, b"".join(parts)))
                    parts, op = [], 0


def same_answers(got, want):
    """A ping that another follows may stay without its pong (RFC 6455, 5.5.3)."""
    if got == want:
        return True
    at = 0
    for i, item in enumerate(want):
        if at < len(got) and got[at] == item:
            at += 1
        elif item[0] != PONG or not any(kind == PONG for kind, _ in want[i + 1:]):
            return False
    return at == len(got)


def accept_of(key):
    text = key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    return base64.b64encode(hashlib.sha1(text).digest())


def head_of(s):
    head = b""
    while b"\r\n\r\n" not in head:
        data = s.recv(1)
        assert data, f"no handshake: {head!r}"
        head += data
    return head


class Server:
    """Ours is the server."""

    def __init__(self):
        self.process = subprocess.Popen([ECHO, "serve", "message_max=16777216"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline().rsplit(b":", 1)[1])

    def run(self, use):
        key = base64.b64encode(os.urandom(16))
        with socket.create_connection(("127.0.0.1", self.port), LIMIT) as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n"
                      b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                      b"Sec-WebSocket-Key: " + key + b"\r\n\r\n")
            head = head_of(s)
            assert head.startswith(b"HTTP/1.1 101 ") and accept_of(key) in head, head
            use(Peer(s, "server"))

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(LIMIT) == 0, "the server's status"
        self.process.stdout.close()


class Client:
    """Ours is the client: one process a case."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(LIMIT)
        self.port = self.listener.getsockname()[1]

    def run(self, use):
        process = subprocess.Popen([ECHO, "connect", str(self.port), "/",
                                    "message_max=16777216"], stdout=subprocess.PIPE)
        try:
            s, _ = self.listener.accept()
            with s:
                s.settimeout(LIMIT)
                head = head_of(s)
                key = [line.split(b":", 1)[1].strip() for line in head.split(b"\r\n")
                       if line.lower().startswith(b"sec-websocket-key:")][0]
                s.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                          b"Connection: Upgrade\r\nSec-WebSocket-Accept: " +
                          accept_of(key) + b"\r\n\r\n")
                use(Peer(s, "client"))
            assert process.wait(LIMIT) >= 0, "the client was killed"
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def close(self):
        self.listener.close()


def play(case, peer):
    peer.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sender = threading.Thread(target=peer.send, args=(case.frames,))
    sender.start()  # apart, since the other end may not read before it is read
    try:
        got, close = peer.answers()
    finally:
        sender.join()
    assert same_answers(got, case.want), (
        f"answers {str(got)[:200]}, not {str(case.want)[:200]}")
    assert close is not None, "no Close came"
    number = struct.unpack(">H", close[:2])[0] if close else None
    assert number == case.end, f"closed with {number}, not {case.end}"


def main():
    for build in (group_1, group_2, group_3, group_4, group_5, group_6, group_7, group_9,
                  group_10):
        build()
    groups, number, failed = sorted({case.group for case in CASES}), 0, 0
    for role in ROLES:
        ours = Server() if role == "server" else Client()
        for group in groups:
            number += 1
            start, good_ones = time.monotonic(), 0
            cases = [case for case in CASES if case.group == group]
            for case in cases:
                try:
                    ours.run(lambda peer, case=case: play(case, peer))
                    good_ones += 1
                except (AssertionError, OSError) as error:
                    print(f"# {role} {case.name}: {error}")
            fine = good_ones == len(cases)
            failed += not fine
            print(f"# {role} group {group}: {good_ones} of {len(cases)}, "
                  f"{time.monotonic() - start:.1f} s")
            print(f"{'ok' if fine else 'not ok'} {number} - our {role}: group {group}",
                  flush=True)
        ours.close()
    print(f"1..{number}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
