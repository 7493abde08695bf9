# SPDX-License-Identifier: MIT
"""A Jupyter kernel that speaks ZMTP by hand and misbehaves as it is told.

    fake_kernel.py HOW CONNECTION_FILE

HOW: well; key (signs with another); curve (another mechanism); http (no ZMTP);
early (ends at once, with words); tcp (the same, unless it gets TCP); still (does nothing,
unless it gets TCP); colon (puts a colon before the number of a socket's file); mute (never answers kernel_info); print (to its
descriptor 1); crossed (a question's reply comes before its busy); twice (answers
kernel_info when it was asked twice, with both replies last); parted (reports the end of
kernel_info when the first cell has come); deaf (refuses SIGINT and SIGTERM); heartless (no heartbeat); slow (its stdin channel is there when a cell has said
something). The rest depends on the cell's code, a word: see Kernel.cell.
"""
import fcntl
import hashlib
import hmac
import json
import os
import signal
import socket
import struct
import sys
import termios
import threading
import time

CHANNELS = ("shell", "iopub", "stdin", "control", "hb")
how = sys.argv[1]
with open(sys.argv[2], encoding="utf-8") as f:
    about = json.load(f)
key = b"another" if how == "key" else about["key"].encode()


def frame(data, more, flags=0):
    if len(data) < 256:
        return struct.pack(">BB", flags | more, len(data)) + data
    return struct.pack(">BQ", flags | more | 2, len(data)) + data


class Peer:
    """One connection: greeted, READY both ways, then parts of messages."""

    def __init__(self, kernel, channel, sock):
        self.kernel, self.channel, self.sock = kernel, channel, sock
        self.file = sock.makefile("rb")

    def greet(self):
        if how == "http":
            self.sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" + b" " * 64)
        name = b"CURVE" if how == "curve" else b"NULL"
        self.sock.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x01" + name.ljust(20, b"\0") + bytes(32))
        assert len(self.file.read(64)) == 64
        kind = {"iopub": b"PUB", "hb": b"REP"}.get(self.channel, b"ROUTER")
        ready = b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
        self.sock.sendall(frame(ready, 0, 4))

    def messages(self):
        parts = []
        while True:
            head = self.file.read(1)
            if not head:
                return
            size = self.file.read(8 if head[0] & 2 else 1)
            body = self.file.read(int.from_bytes(size, "big"))
            if head[0] & 4:
                continue
            parts.append(body)
            if not head[0] & 1:
                yield parts
                parts = []

    def run(self):
        try:
            self.greet()
            if self.channel == "stdin":
                self.kernel.asks = self
            for parts in self.messages():
                if self.channel == "iopub":
                    self.kernel.subscribers.append(self)
                else:
                    self.kernel.take(self, parts)
        except (OSError, AssertionError):
            pass


class Kernel:
    def __init__(self):
        self.subscribers, self.lock, self.count = [], threading.Lock(), 0
        self.id = "fake_1_%d" if how in ("crossed", "twice") else "fake-%d"
        self.late, self.questions, self.pressed = [], [], None
        self.beats, self.beat = how != "heartless", threading.Event()
        self.asks = self.parted = None
        for channel in CHANNELS:
            if how != "slow" or channel != "stdin":
                self.listen(channel)

    def listen(self, channel):
        port = about[channel + "_port"]
        if about["transport"] == "ipc":
            s = socket.socket(socket.AF_UNIX)
            s.bind("%s%s%d" % (about["ip"], ":" if how == "colon" else "-", port))
        else:
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind((about["ip"], port))
        s.listen()

        def accept():
            while True:
                peer = Peer(self, channel, s.accept()[0])
                threading.Thread(target=peer.run, daemon=True).start()
        threading.Thread(target=accept, daemon=True).start()

    def pack(self, kind, content, parent, topic=b""):
        self.count += 1
        header = {"msg_id": self.id % self.count, "msg_type": kind, "session": "fake",
                  "username": "fake", "date": "2024-01-01T00:00:00Z", "version": "5.3"}
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        four = [json.dumps(header).encode(), json.dumps(parent).encode(), b"{}", body]
        mac = hmac.new(key, b"".join(four), hashlib.sha256).hexdigest().encode()
        return ([topic] if topic else []) + [b"<IDS|MSG>", mac] + four

    def send(self, peers, parts):
        data = b"".join(frame(p, i + 1 < len(parts)) for i, p in enumerate(parts))
        self.raw(peers, data)

    def raw(self, peers, data):
        with self.lock:
            for peer in list(peers):
                try:
                    peer.sock.sendall(data)
                except OSError:
                    if peer in self.subscribers:
                        self.subscribers.remove(peer)

    def wait_until_read(self, peers):
        for peer in list(peers):
            while any(fcntl.ioctl(peer.sock, termios.TIOCOUTQ, bytes(4))):
                time.sleep(0.001)

    def publish(self, kind, content, parent):
        self.send(self.subscribers, self.pack(kind, content, parent, kind.encode()))

    def status(self, state, parent):
        self.publish("status", {"execution_state": state}, parent)

    def say(self, text, parent):
        self.publish("stream", {"name": "stdout", "text": text}, parent)

    def reply(self, peer, parent, status="ok", **more):
        content = dict(status=status, execution_count=1, payload=[], **more)
        self.send([peer], self.pack("execute_reply", content, parent))

    def take(self, peer, parts):
        if peer.channel == "hb":
            if self.beats:
                self.send([peer], parts)
            self.beat.set()
            return
        parts = parts[parts.index(b"<IDS|MSG>"):]
        header, content = json.loads(parts[2]), json.loads(parts[5])
        kind = header["msg_type"]
        if kind == "kernel_info_request" and self.late:
            busy = self.pack("status", {"execution_state": "busy"}, header, b"status")
            self.send([peer], self.pack("kernel_info_reply", {"status": "ok"}, header))
            self.wait_until_read([peer])
            for message in self.late + [busy]:
                self.send(self.subscribers, message)
            self.late = []
            self.status("idle", header)
        elif kind == "kernel_info_request" and self.pressed:
            self.end_pressed(peer, header)
        elif kind == "kernel_info_request" and how == "twice" and len(self.questions) < 2:
            self.questions.append(header)
            if len(self.questions) == 2:
                self.answer_both(peer)
        elif kind == "kernel_info_request" and how != "mute":
            self.status("busy", header)
            self.send([peer], self.pack("kernel_info_reply", {"status": "ok"}, header))
            if how == "parted" and not self.parted:
                self.parted = header
            else:
                self.status("idle", header)
        elif kind == "complete_request" and how == "crossed":
            busy = self.pack("status", {"execution_state": "busy"}, header, b"status")
            found = {"status": "ok", "matches": ["found"], "cursor_start": 0, "cursor_end": 1}
            self.send([peer], self.pack("complete_reply", found, header))
            self.wait_until_read([peer])
            time.sleep(0.1)
            self.send(self.subscribers, busy)
            self.status("idle", header)
        elif kind == "shutdown_request" and how != "deaf":
            self.send([peer], self.pack("shutdown_reply", content, header))
            os._exit(0)
        elif kind == "interrupt_request":
            answer = self.pack("interrupt_reply", {"status": "ok"}, header)
            if self.pressed:
                self.end_told()
            self.send([peer], answer)
        elif kind == "execute_request":
            if self.parted and self.parted != "told":
                self.status("idle", self.parted)
                self.parted = "told"
            if content["code"] == "drop_busy":
                self.count += 1
            else:
                self.status("busy", header)
            getattr(self, "do_" + content["code"], self.do_echo)(peer, header, content["code"])

    def answer_both(self, peer):
        replies = []
        for header in self.questions:
            self.status("busy", header)
            replies.append(self.pack("kernel_info_reply", {"status": "ok"}, header))
            self.status("idle", header)
        self.wait_until_read(self.subscribers)
        for reply in replies:
            self.send([peer], reply)

    def end_pressed(self, peer, question):
        """The cell ends when it is interrupted and somebody asks. What is sent, in the order
        of the numbers: the cell's reply and idle; the busy, answer and end of the question."""
        _, parent, order = self.pressed
        self.pressed = None
        steps = {
            "r": ([peer], "execute_reply", {"status": "error", "execution_count": 1}, parent),
            "i": (self.subscribers, "status", {"execution_state": "idle"}, parent),
            "b": (self.subscribers, "status", {"execution_state": "busy"}, question),
            "a": ([peer], "kernel_info_reply", {"status": "ok"}, question),
            "e": (self.subscribers, "status", {"execution_state": "idle"}, question),
        }
        packed = {k: (peers, self.pack(*more)) for k, (peers, *more) in steps.items()}
        for together in order.split():
            for step in together:
                self.send(*packed[step])
            for step in together:
                self.wait_until_read(packed[step][0])

    def end_told(self):
        """The cell ends when it is interrupted by a message."""
        peer, parent, _ = self.pressed
        self.pressed = None
        self.reply(peer, parent, "error")
        self.status("idle", parent)
        self.wait_until_read([peer] + self.subscribers)

    # What a cell does, by its word.

    def do_echo(self, peer, parent, code):
        self.say(code + "\n", parent)
        self.reply(peer, parent)
        self.status("idle", parent)

    def do_out_of_order(self, peer, parent, code):
        self.status("idle", parent)
        self.reply(peer, parent)
        self.reply(peer, parent)  # and once more

    def do_dropped_after(self, peer, parent, code):
        self.do_echo(peer, parent, code)
        self.count += 3

    def do_strangers(self, peer, parent, code):
        other = dict(parent, msg_id="somebody-else")
        self.say("not ours\n", other)
        self.status("idle", other)
        self.reply(peer, other)
        self.say("not ours\n", {})
        self.do_echo(peer, parent, "ours")

    def do_never(self, peer, parent, code):
        self.say("begun\n", parent)

    def do_no_idle(self, peer, parent, code):
        self.say("all there is\n", parent)
        self.reply(peer, parent)

    def do_no_reply(self, peer, parent, code):
        self.status("idle", parent)

    def do_reply_only(self, peer, parent, code):
        self.reply(peer, parent, "error", ename="Error", evalue="says the reply",
                   traceback=[])
        self.status("idle", parent)

    def do_aborted(self, peer, parent, code):
        self.reply(peer, parent, "aborted")
        self.status("idle", parent)

    def do_bad_reply(self, peer, parent, code):
        self.send([peer], self.pack("execute_reply", b"{not json", parent))
        self.status("idle", parent)

    def do_bad_output(self, peer, parent, code):
        self.send(self.subscribers, self.pack("stream", b"\xff\xfe[", parent, b"stream"))
        self.send(self.subscribers, self.pack("stream", b"[" * 5000 + b"]" * 5000, parent))
        self.do_echo(peer, parent, "and after it")

    def do_bad_long(self, peer, parent, code):
        """Content that is too long to be looked at before it is passed on."""
        for kind, start in ("stream", b'{"name":"stdout","text":"'), ("display_data", b'{"data":['):
            self.send(self.subscribers, self.pack(kind, start + b"x" * 200000, parent, b"x"))
        self.do_echo(peer, parent, "and after it")

    def do_bytes(self, peer, parent, code):
        """Text that is not Unicode, with a zero, and control characters."""
        text = b'{"name":"stdout","text":"a\xffb\\u0000c\\ud800d\n\\n"}'
        self.send(self.subscribers, self.pack("stream", text, parent, b"stream"))
        self.reply(peer, parent)
        self.status("idle", parent)

    def do_few_parts(self, peer, parent, code):
        self.send(self.subscribers, [b"stream", b"<IDS|MSG>", b"", b"{}"])
        self.send(self.subscribers, [b"no delimiter"])
        self.do_echo(peer, parent, "and after it")

    def do_forged(self, peer, parent, code):
        parts = self.pack("stream", {"name": "stdout", "text": "forged\n"}, parent)
        parts[1] = b"0" * 64
        self.send(self.subscribers, parts)
        self.do_echo(peer, parent, "signed")

    def do_many_parts(self, peer, parent, code):
        self.raw(self.subscribers, b"\x01\x00" * 100)

        def later():
            while not self.subscribers or self.subscribers[-1].sock.fileno() < 0:
                time.sleep(0.01)
            self.do_echo(peer, parent, "and after it")
        self.subscribers.clear()
        threading.Thread(target=later, daemon=True).start()

    def do_huge(self, peer, parent, code):
        self.raw(self.subscribers, struct.pack(">BQ", 2, 1 << 62))
        self.reply(peer, parent)

    def do_flags(self, peer, parent, code):
        self.raw(self.subscribers, b"\xf8\x01x")
        self.reply(peer, parent)

    def do_stop_heart(self, peer, parent, code):
        """Never ends; the heart beats once."""
        def later():
            self.beat.wait()
            self.beats = False
            self.say("stopped\n", parent)
        threading.Thread(target=later, daemon=True).start()

    def do_beats(self, peer, parent, code):
        """Ends when it was asked for a heartbeat and what waits for it is bored."""
        def later():
            self.beat.wait()
            time.sleep(14)
            self.do_echo(peer, parent, "beaten")
        threading.Thread(target=later, daemon=True).start()

    def say_first(self, parent):
        """With a number, which is known before those of other channels come."""
        self.id = "fake_1_%d"
        self.say("first\n", parent)
        self.wait_until_read(self.subscribers)
        if how == "slow" and not self.asks:
            self.listen("stdin")
            while not self.asks:
                time.sleep(0.001)
            self.wait_until_read([self.asks])

    def do_drop(self, peer, parent, code):
        """Messages with numbers, some of which never come."""
        self.say_first(parent)
        self.count += 3
        self.do_echo(peer, parent, "last")

    def do_drop_busy(self, peer, parent, code):
        self.say_first(parent)
        self.reply(peer, parent)
        self.status("idle", parent)

    def do_drop_idle(self, peer, parent, code):
        self.say_first(parent)
        self.count += 3
        self.reply(peer, parent)
        self.count += 1

    def do_numbers(self, peer, parent, code):
        """The same, and none is missing: the reply comes last."""
        self.say_first(parent)
        answer = self.pack("execute_reply", {"status": "ok", "execution_count": 1}, parent)
        self.status("idle", parent)
        self.send([peer], answer)

    def do_late(self, peer, parent, code):
        """All but the reply come when somebody asks for them, behind that answer."""
        self.say_first(parent)
        self.late = [self.pack("stream", {"name": "stdout", "text": "last\n"}, parent,
                               b"stream")]
        self.reply(peer, parent)
        self.late.append(self.pack("status", {"execution_state": "idle"}, parent,
                                   b"status"))

    def do_pressed(self, peer, parent, code):
        self.say_first(parent)
        self.pressed = (peer, parent, "ibe ra")

    def do_pressed_first(self, peer, parent, code):
        self.say_first(parent)
        self.pressed = (peer, parent, "ra ibe")

    def do_pressed_strangers(self, peer, parent, code):
        """Another client's request ends while the cell runs."""
        other = dict(parent, msg_id="somebody-else")
        self.status("busy", other)
        self.status("idle", other)
        self.say_first(parent)
        self.pressed = (peer, parent, "ibe ra")

    def do_pressed_drop(self, peer, parent, code):
        """The end of the question comes after that of the cell."""
        self.say_first(parent)
        self.count += 3
        self.say("last\n", parent)
        self.pressed = (peer, parent, "ib r ae")

    def do_exit(self, peer, parent, code):
        self.say("half of it\n", parent)
        sys.stderr.write("the fake kernel gives up\n")
        sys.stderr.flush()
        os._exit(3)


if how == "early":
    sys.exit("the fake kernel does not want to")
if about["transport"] == "ipc" and how == "tcp":
    sys.exit("the fake kernel knows no ipc")
while about["transport"] == "ipc" and how == "still":
    signal.pause()
if how == "print":
    print("chatter on standard output\n" * 5000, flush=True)
if how == "deaf":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    signal.signal(signal.SIGINT, lambda *_: None)
kernel = Kernel()
while True:
    signal.pause()
