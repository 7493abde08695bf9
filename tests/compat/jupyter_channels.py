# SPDX-License-Identifier: MIT
"""The WebSocket of a kernel of Jupyter's server, as hand-written clients have it."""
import json
import struct
import time
import uuid

import websocket
from websocket import ABNF

from tap import LIMIT, same

TOKEN = "the-token-of-these-rows"
V1 = "v1.kernel.websocket.jupyter.org"


class Channels:
    """A WebSocket of a kernel, as hand-written clients have it."""

    def __init__(self, case, kernel, query="", v1=False, prefix=""):
        url = f"{case.address().replace('http', 'ws')}{prefix}/api/kernels/{kernel}/channels{query}"
        self.v1, self.session = v1, query.partition("session_id=")[2] or uuid.uuid4().hex
        if "token=" not in query:
            url += ("&" if query else "?") + "token=" + TOKEN
        self.socket = websocket.create_connection(url, timeout=LIMIT, subprotocols=[V1] if v1 else None,
                                                  skip_utf8_validation=True)
        if v1:
            same(self.socket.getsubprotocol(), V1)

    def send(self, channel, kind, content, buffers=(), msg_id=None, parent=None):
        header = {"msg_id": msg_id or uuid.uuid4().hex, "msg_type": kind, "session": self.session,
                  "username": "", "version": "5.0"}
        parts = [channel, *map(json.dumps, (header, parent or {}, {}, content))]
        if self.v1:
            parts = [one.encode() for one in parts] + list(buffers)
            at = [8 * (len(parts) + 2)]
            for part in parts:
                at.append(at[-1] + len(part))
            self.socket.send_binary(struct.pack(f"<{len(at) + 1}Q", len(at), *at) + b"".join(parts))
        else:
            message = {"channel": channel, "header": header, "parent_header": parent or {}, "metadata": {},
                       "content": content, "buffers": {}}
            self.socket.send(json.dumps(message))
        return header["msg_id"]

    def next(self):
        """The next message. Pings of the server do not count."""
        end, opcode, frame = time.monotonic() + LIMIT, ABNF.OPCODE_PING, b""
        while opcode in (ABNF.OPCODE_PING, ABNF.OPCODE_PONG):
            if time.monotonic() > end:
                raise AssertionError("no message came in time")
            opcode, frame = self.socket.recv_data(control_frame=True)
        if opcode == ABNF.OPCODE_CLOSE:
            raise AssertionError(f"the WebSocket was closed: {frame!r}")
        if opcode == ABNF.OPCODE_TEXT:
            return json.loads(frame)
        if self.v1:
            n, = struct.unpack_from("<Q", frame)
            at = struct.unpack_from(f"<{n}Q", frame, 8)
            parts = [frame[a:b] for a, b in zip(at, at[1:])]
            names = ("header", "parent_header", "metadata", "content")
            message = dict(zip(names, map(json.loads, parts[1:5])), channel=parts[0].decode(), buffers=parts[5:])
            return {**message, "msg_type": message["header"]["msg_type"]}
        n, = struct.unpack_from(">I", frame)
        at = [*struct.unpack_from(f">{n}I", frame, 4), len(frame)]
        parts = [frame[a:b] for a, b in zip(at, at[1:])]
        return {**json.loads(parts[0]), "buffers": parts[1:]}

    def until(self, found):
        """The messages up to the first that found."""
        seen = []
        while True:
            seen.append(self.next())
            if found(seen[-1]):
                return seen

    def run(self, code, **more):
        """The messages that answer a cell, up to its reply and idle."""
        asked = self.send("shell", "execute_request",
                          {"code": code, "silent": False, "store_history": True, "user_expressions": {},
                           "allow_stdin": False, **more})
        return self.answers(asked)

    def answers(self, asked):
        left, mine = {"execute_reply", "idle"}, []
        while left:
            message = self.next()
            if message["parent_header"].get("msg_id") == asked:
                mine.append(message)
                left -= {message["msg_type"], message["content"].get("execution_state")}
        return mine

    def close(self):
        self.socket.close()


def text(messages):
    return "".join(m["content"]["text"] for m in messages if m["msg_type"] == "stream")
