#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A client of `od serve`, in one file: Python 3.8 or newer, the standard library only.

    import client as od

    with od.Client("https://box.example/prefix", key="...") as box:
        shell = box.session()
        print(shell.run("cd /src && make").text)

AsyncClient has the same methods as Client, as coroutines of asyncio.

The server's address and key come from the arguments, else from the environment:
OD_SERVER (https://HOST[:PORT]/PREFIX), OD_SERVER_KEY_FILE or OD_SERVER_KEY.

What a caller can rely on:

 - Every call ends with a result or with an Error, whose `code` names the kind of error.
 - An action runs once. Each has a name of its own, and after a lost connection the same
   action is sent again under the same name: the server answers with what it knows.
 - A stream (the output of a command, the event stream) continues after a lost connection
   where it stopped: nothing is missing and nothing comes twice.
 - Every message of the server is checked and has a maximum size.

As a program it is a remote command line: python3 client.py --help
"""
from __future__ import annotations

import argparse
import asyncio
import base64
import binascii
import getpass
import hashlib
import io
import ipaddress
import json
import os
import posixpath
import random
import socket
import ssl
import struct
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import (IO, Any, AsyncIterator, Awaitable, Callable, Coroutine, Dict, Generic,
                    Iterator, List, Mapping, Optional, Tuple, Type, TypeVar, Union)
from urllib.parse import urlencode, urlsplit

VERSION = 1
PROTOCOL = "od.events.v1"

HEAD_MAX = 64 << 10  # bytes of the head of an HTTP answer
BODY_MAX = 16 << 20  # bytes of an answer that is kept in memory
MESSAGE_MAX = 8 << 20  # bytes of a message of a WebSocket
CHUNK = 256 << 10  # bytes of one step of a transfer
OUTPUTS_MAX = 16  # commands whose output a stream can continue
QUIET = 25.0  # seconds without a byte, after which the peer is asked whether it lives

T = TypeVar("T")
Json = Dict[str, Any]
Progress = Callable[[int, Optional[int]], None]  # bytes so far, bytes in all if known
Source = Union[str, "os.PathLike[str]", bytes, IO[bytes]]
Target = Union[str, "os.PathLike[str]", IO[bytes]]


# ---- errors ----


class Error(Exception):
    """Why a call has no result. `code` names the kind of error.

    The server's own codes are INVALID, NOTFOUND, EXISTS, DENIED, BUSY, TIMEOUT, LIMIT,
    GONE, UNSUPPORTED, CANCELLED, IO and INTERNAL; the codes of the subclasses are those
    of the connection. `status` is the HTTP status, 0 if there was none; `event` is the
    observation with the error, if there is one."""

    code = "INTERNAL"

    def __init__(self, message: str, code: str = "", status: int = 0,
                 event: Optional[Json] = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.status = status
        self.event = event

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]"


class ServerError(Error):
    """The server refused the request, or the action failed."""


class Denied(Error):
    """The key is missing or wrong, or does not allow this."""

    code = "DENIED"


class Unreachable(Error):
    """No server has answered at this address yet."""

    code = "UNREACHABLE"


class ConnectionLost(Error):
    """The connection was lost and did not come back within `patience` seconds."""

    code = "LOST"


class Untrusted(Error):
    """The server's certificate is not trusted, or TLS could not begin."""

    code = "TLS"


class ProtocolError(Error):
    """The peer's answer is not that of an od server."""

    code = "PROTOCOL"


class VersionError(ProtocolError):
    """The server has another version of the protocol than this file."""

    code = "VERSION"


class _Lost(Exception):
    """A connection broke; the caller may try again."""

    def __init__(self, why: str, after: float = 0.0) -> None:
        super().__init__(why)
        self.after = after  # seconds that the peer asks for


class _Quiet(Exception):
    """Nothing came in time. Earlier bytes are kept."""


# ---- results ----


@dataclass(frozen=True)
class Waiting:
    """The question of a program or a cell that waits for input."""

    prompt: str  # the end of the output: the last line
    hidden: bool = False  # the input must not be shown, as for a password
    state: str = "yes"  # yes, probably, unknown, no
    program: str = ""
    pid: int = 0


@dataclass(frozen=True)
class Result:
    """The state of a command: it has an exit code, or it goes on.

    `text` is its output since the last result (of a long one, its ends: `left_out`)."""

    id: int  # of the action that began the command
    session: str
    text: str
    exit_code: Optional[int]  # None: it runs, or the code is unknown
    waiting: Optional[Waiting]  # it asks for input
    why: str  # "" if it has ended; else input, quiet or timeout
    end: int  # the offset in the session's output up to which this result goes
    left_out: Any = None
    event: Json = field(default_factory=dict, repr=False)

    @property
    def ended(self) -> bool:
        return self.why == ""

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


@dataclass(frozen=True)
class Image:
    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class CellResult:
    """The output of a cell: printed text, pictures, and its result."""

    id: int
    text: str
    end: str  # ok, error, timeout, died, failed
    images: List[Image]
    kernel: str
    count: Optional[int]
    why: str
    event: Json = field(default_factory=dict, repr=False)

    @property
    def ok(self) -> bool:
        return self.end == "ok"


@dataclass(frozen=True)
class Page:
    """A page of the web, as text, and as a picture if there is a browser."""

    id: int
    url: str
    text: str
    error: str  # what went wrong in the browser; "" if nothing did
    screenshot: Optional[Image]
    event: Json = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class FileInfo:
    path: str
    type: str  # file, folder, link, pipe, socket, device
    size: int
    mode: str
    mtime: float
    target: str = ""  # of a link
    raw: Json = field(default_factory=dict, repr=False)


SyncAnswer = Callable[[Waiting], Optional[str]]
AsyncAnswer = Callable[[Waiting], Union[Optional[str], Awaitable[Optional[str]]]]


# ---- checks of the server's messages ----


def _parse(data: Union[str, bytes], what: str) -> Json:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"{what} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ProtocolError(f"{what} is not a JSON object")
    return value


def _want(m: Mapping[str, Any], name: str, kind: Type[T], default: Optional[T] = None) -> T:
    """The member of that name and type; without a default it must exist."""
    value = m.get(name)
    if value is None and default is not None:
        return default
    good = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)  # type: ignore[return-value]
    if not good:
        raise ProtocolError(f"{name} in an answer must be {kind.__name__}, "
                            f"not {type(value).__name__}")
    return value  # type: ignore[return-value]


def _error_of(m: Json, status: int = 0) -> Error:
    """The error in {"error": {"code", "message"}}, or in V0's {"detail": …}."""
    about = m.get("error")
    if isinstance(about, dict):
        code, message = _want(about, "code", str), _want(about, "message", str)
        kind = Denied if status in (401, 403) else ServerError
        return kind(message, code, status)
    detail = m.get("detail")
    text = detail if isinstance(detail, str) else json.dumps(detail)[:500]
    if status in (401, 403):
        return Denied(text, "DENIED", status)
    code = {404: "NOTFOUND", 400: "INVALID", 422: "INVALID", 409: "BUSY"}.get(status, "IO")
    return ServerError(text, code, status)


def _checked(event: Json) -> Json:
    """An observation; an error is raised."""
    extras = _want(event, "extras", dict, {})
    _want(event, "id", int)
    _want(event, "cause", int)
    if _want(event, "observation", str) == "error":
        code = extras.get("code")
        raise ServerError(_want(event, "content", str, ""),
                          code if isinstance(code, str) else "INTERNAL", 0, event)
    return event


def _image(url: Any) -> Optional[Image]:
    """A picture from its data URL; None if there is none."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    head, _, data = url[5:].partition(",")
    try:
        return Image(head.split(";")[0], base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        raise ProtocolError("a picture in an answer is not base64") from None


def _waiting(event: Json, content: str) -> Optional[Waiting]:
    w = event.get("waiting")
    if w is None:
        return None
    if not isinstance(w, dict):
        raise ProtocolError("waiting in an answer must be an object")
    return Waiting(content.rsplit("\n", 1)[-1], _want(w, "hidden", bool, False),
                   _want(w, "state", str, "unknown"), _want(w, "program", str, ""),
                   _want(w, "pid", int, 0))


def _result(event: Json) -> Result:
    extras = _want(event, "extras", dict, {})
    content = _want(event, "content", str, "")
    if "exit_code" not in event and "waiting" not in event:
        raise VersionError("the server does not say how the command ended: it is older than "
                           "this client and does not know \"until\"")
    ended = "exit_code" in event
    code = event["exit_code"] if ended else None
    if code is not None and (not isinstance(code, int) or isinstance(code, bool)):
        raise ProtocolError("exit_code in an answer must be a number")
    why = "" if ended else _want(extras, "why", str, "timeout")
    waiting = _waiting(event, content)
    asks = waiting if waiting and why == "input" else None
    command = _want(extras, "command", int, _want(event, "cause", int))
    end = _want(_want(event, "output", dict, {}), "to", int, 0)
    return Result(command, _want(event, "session", str, "main"), content, code, asks, why,
                  end, extras.get("left_out"), event)


def _cell(event: Json) -> CellResult:
    extras = _want(event, "extras", dict, {})
    pictures = [_image(each) for each in _want(extras, "images", list, [])]
    count = extras.get("count")
    return CellResult(_want(event, "cause", int), _want(event, "content", str, ""),
                      _want(extras, "end", str), [p for p in pictures if p],
                      _want(extras, "kernel", str, ""),
                      count if isinstance(count, int) else None,
                      _want(extras, "why", str, ""), event)


def _page(event: Json) -> Page:
    extras = _want(event, "extras", dict, {})
    wrong = _want(extras, "last_browser_action_error", str, "")
    return Page(_want(event, "cause", int), _want(extras, "url", str, ""),
                _want(event, "content", str, ""), wrong,
                _image(extras.get("screenshot")), event)


def _name_of(m: Json, name: str) -> str:
    """A path in an answer. Bytes that are not UTF-8 are decoded as by os.fsdecode."""
    exact = m.get(name + "_base64")
    if exact is None:
        return _want(m, name, str, "")
    try:
        return base64.b64decode(exact, validate=True).decode("utf-8", "surrogateescape")
    except (binascii.Error, ValueError, TypeError):
        raise ProtocolError(f"{name}_base64 in an answer is not base64") from None


def _named(name: str, path: str) -> Json:
    """A path as an argument: a name of any bytes."""
    data = path.encode("utf-8", "surrogateescape")
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {name + "_base64": base64.b64encode(data).decode()}


def _file(m: Json) -> FileInfo:
    _want(m, "path", str)
    return FileInfo(_name_of(m, "path"), _want(m, "type", str), _want(m, "size", int, 0),
                    _want(m, "mode", str, ""), _want(m, "mtime", float, 0.0),
                    _name_of(m, "target"), m)


# ---- connections ----
#
# The code above a connection is written once, as coroutines. With _Blocking none of them
# ever waits in an event loop, so that one step of a coroutine is the whole call (_finish);
# with _Asyncio they are ordinary coroutines.


class _Channel:
    """A connection: bytes both ways."""

    async def receive(self, seconds: float) -> bytes:
        """Some bytes, b"" at the end. Raises _Quiet if none came in time, and _Lost."""
        raise NotImplementedError

    async def send(self, data: bytes, seconds: float) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class _Net:
    async def open(self, host: str, port: int, tls: Optional[ssl.SSLContext],
                   seconds: float) -> _Channel:
        raise NotImplementedError

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


def _refusal(error: BaseException, host: str, port: int) -> Exception:
    """The error for a failed attempt to connect."""
    at = f"{host}:{port}"
    if isinstance(error, ssl.SSLCertVerificationError):
        why = getattr(error, "verify_message", "") or str(error)
        return Untrusted(
            f"the certificate of {at} is not trusted: {why}. If it is the right server, "
            "save the certificate of its issuer as a file and name it: cafile=FILE, "
            "--cafile FILE, or SSL_CERT_FILE in the environment")
    if isinstance(error, ssl.SSLError):
        return Untrusted(f"TLS with {at} failed: {error.reason or error}; does the server "
                         "speak https at this port?")
    if isinstance(error, socket.gaierror):
        return _Lost(f"the name {host} has no address: {error.strerror}")
    if isinstance(error, (socket.timeout, asyncio.TimeoutError)):
        return _Lost(f"{at} did not answer in time")
    return _Lost(f"cannot connect to {at}: {error}")


class _BlockingChannel(_Channel):
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    async def receive(self, seconds: float) -> bytes:
        try:
            self.sock.settimeout(seconds)
            return self.sock.recv(CHUNK)
        except socket.timeout:
            raise _Quiet() from None
        except ssl.SSLError as error:
            if "timed out" in str(error):
                raise _Quiet() from None
            raise _Lost(f"TLS ended: {error.reason or error}") from None
        except OSError as error:
            raise _Lost(f"the connection broke: {error}") from None

    async def send(self, data: bytes, seconds: float) -> None:
        try:
            self.sock.settimeout(seconds)
            self.sock.sendall(data)
        except (socket.timeout, OSError) as error:
            raise _Lost(f"the connection broke: {error}") from None

    def close(self) -> None:
        self.sock.close()


class _Blocking(_Net):
    async def open(self, host: str, port: int, tls: Optional[ssl.SSLContext],
                   seconds: float) -> _Channel:
        try:
            sock = socket.create_connection((host, port), seconds)
        except (OSError, UnicodeError) as error:
            raise _refusal(error, host, port) from None
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls:
                sock = tls.wrap_socket(sock, server_hostname=host)
        except (OSError, ValueError) as error:
            sock.close()
            raise _refusal(error, host, port) from None
        return _BlockingChannel(sock)

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class _AsyncioChannel(_Channel):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def receive(self, seconds: float) -> bytes:
        try:
            return await asyncio.wait_for(self.reader.read(CHUNK), seconds)
        except asyncio.TimeoutError:
            raise _Quiet() from None
        except OSError as error:
            raise _Lost(f"the connection broke: {error}") from None

    async def send(self, data: bytes, seconds: float) -> None:
        try:
            self.writer.write(data)
            await asyncio.wait_for(self.writer.drain(), seconds)
        except (asyncio.TimeoutError, OSError) as error:
            raise _Lost(f"the connection broke: {error}") from None

    def close(self) -> None:
        try:
            self.writer.close()
        except RuntimeError:  # its loop has ended
            pass


class _Asyncio(_Net):
    async def open(self, host: str, port: int, tls: Optional[ssl.SSLContext],
                   seconds: float) -> _Channel:
        try:
            reader, writer = await asyncio.wait_for(
                asyncio.open_connection(host, port, ssl=tls, limit=CHUNK), seconds)
        except (OSError, UnicodeError, ValueError, asyncio.TimeoutError) as error:
            raise _refusal(error, host, port) from None
        return _AsyncioChannel(reader, writer)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _finish(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine of a client whose connections are _Blocking."""
    try:
        work.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    work.close()
    raise RuntimeError("a coroutine waits in an event loop: use AsyncClient")


# ---- HTTP/1.1 ----


class _Answer:
    """An HTTP answer: the head, and the body as it comes."""

    def __init__(self, http: _Http, status: int, headers: Dict[str, str]) -> None:
        self.http, self.status, self.headers = http, status, headers
        coding = headers.get("transfer-encoding", "").lower()
        length = headers.get("content-length")
        self.chunked = coding == "chunked"
        if coding and not self.chunked:
            raise ProtocolError(f"the answer has the unknown transfer coding {coding[:60]}")
        self.left: Optional[int] = None
        if not self.chunked and length is not None:
            if not (length.isascii() and length.isdigit()) or len(length) > 18:
                raise ProtocolError("the length of an answer is not a number")
            self.left = int(length)
        self.length = self.left
        self.over = self.left == 0 or status in (204, 304)

    async def _chunk(self) -> None:
        line = await self.http.line()
        size = line.split(b";")[0].strip()
        try:
            if not size or len(size) > 15 or size[:1] in b"+-" or b"_" in size:
                raise ValueError
            self.left = int(size, 16)
        except ValueError:
            raise ProtocolError("a chunk of an answer has no size") from None
        if self.left == 0:
            while await self.http.line():
                pass
            self.over = True

    async def read(self) -> bytes:
        """The next bytes of the body, b"" at its end."""
        while not self.over:
            if self.chunked and not self.left:
                await self._chunk()
                continue
            if not self.http.buf and not await self.http.fill():
                if self.left is None:
                    self.over = True
                    self.http.fresh = False
                    break
                raise _Lost("the connection ended in the middle of an answer")
            n = len(self.http.buf) if self.left is None else min(self.left, len(self.http.buf))
            data = bytes(self.http.buf[:n])
            del self.http.buf[:n]
            if self.left is not None:
                self.left -= n
                if self.left == 0 and self.chunked:
                    if await self.http.line():
                        raise ProtocolError("a chunk of an answer is longer than it says")
                elif self.left == 0:
                    self.over = True
            return data
        return b""

    async def whole(self, most: int = BODY_MAX) -> bytes:
        out = bytearray()
        while True:
            data = await self.read()
            if not data:
                return bytes(out)
            out += data
            if len(out) > most:
                raise ProtocolError(f"the answer is longer than {most} bytes")

    async def json(self) -> Json:
        kind = self.headers.get("content-type", "").split(";")[0].strip().lower()
        if kind != "application/json":
            raise ProtocolError(f"the answer (status {self.status}) is "
                                f"{kind[:60] or 'of no type'} and not application/json: is "
                                "this the address of an od server?", status=self.status)
        return _parse(await self.whole(), "the answer")


class _Http:
    """One connection, used by one request at a time."""

    def __init__(self, channel: _Channel, seconds: float) -> None:
        self.channel, self.seconds = channel, seconds
        self.buf = bytearray()
        self.fresh = True  # the next request may use it

    async def fill(self) -> bool:
        """More bytes in buf; False at the end of the connection."""
        data = await self.channel.receive(self.seconds)
        self.buf += data
        return bool(data)

    async def line(self) -> bytes:
        while True:
            end = self.buf.find(b"\n")
            if end >= 0:
                line = bytes(self.buf[:end]).rstrip(b"\r")
                del self.buf[:end + 1]
                return line
            if len(self.buf) > HEAD_MAX:
                raise ProtocolError("a line of the answer does not end")
            if not await self.fill():
                raise _Lost("the connection ended before the answer")

    async def answer(self) -> _Answer:
        while True:
            first = (await self.line()).split(b" ", 2)
            if len(first) < 2 or not first[0].startswith(b"HTTP/1.") or \
                    len(first[1]) != 3 or not first[1].isdigit():
                raise ProtocolError("what answers does not speak HTTP")
            headers: Dict[str, str] = {}
            size = 0
            while True:
                line = await self.line()
                if not line:
                    break
                size += len(line)
                name, colon, value = line.decode("latin-1").partition(":")
                if not colon or size > HEAD_MAX:
                    raise ProtocolError("the head of the answer is not HTTP, or too long")
                headers[name.strip().lower()] = value.strip()
            status = int(first[1])
            if status >= 200 or status == 101:
                answer = _Answer(self, status, headers)
                if headers.get("connection", "").lower() == "close" or \
                        first[0] == b"HTTP/1.0":
                    self.fresh = False
                return answer

    def close(self) -> None:
        self.fresh = False
        self.channel.close()


# ---- WebSocket (RFC 6455), the client's side ----


class _WebSocket:
    """Messages of text, after the handshake."""

    def __init__(self, http: _Http) -> None:
        self.http = http
        self.closed = False

    async def send(self, text: str) -> None:
        await self._frame(1, text.encode())

    async def _frame(self, opcode: int, data: bytes) -> None:
        n = len(data)
        head = bytes([0x80 | opcode])
        if n < 126:
            head += bytes([0x80 | n])
        elif n < 65536:
            head += struct.pack("!BH", 0x80 | 126, n)
        else:
            head += struct.pack("!BQ", 0x80 | 127, n)
        mask = os.urandom(4)
        key = (mask * (n // 4 + 1))[:n]
        masked = (int.from_bytes(data, "big") ^ int.from_bytes(key, "big")).to_bytes(n, "big")
        await self.http.channel.send(head + mask + masked, self.http.seconds)

    async def _take(self, n: int) -> bytes:
        asked = False
        while len(self.http.buf) < n:
            try:
                if not await self.http.fill():
                    raise _Lost("the connection ended")
                asked = False
            except _Quiet:
                if asked:
                    raise _Lost("the server is silent and answers no ping") from None
                asked = True
                await self._frame(9, b"od")
        data = bytes(self.http.buf[:n])
        del self.http.buf[:n]
        return data

    async def _next(self, room: int) -> Tuple[int, bool, bytes]:
        """A frame: its opcode, whether it is the last of its message, its bytes."""
        first, second = await self._take(2)
        opcode, fin, n = first & 15, bool(first & 0x80), second & 0x7f
        if first & 0x70 or opcode not in (0, 1, 2, 8, 9, 10):
            raise ProtocolError("the server sent a frame of an unknown kind")
        if second & 0x80:
            raise ProtocolError("the server sent a frame with a mask")
        if opcode >= 8 and (not fin or n > 125):
            raise ProtocolError("the server sent a control frame that is cut or too long")
        if n >= 126:
            wide = n == 127
            n, = struct.unpack("!Q" if wide else "!H", await self._take(8 if wide else 2))
            if n < (65536 if wide else 126) or n >> 63:
                raise ProtocolError("the length of a frame is not the shortest")
        if n > room:
            raise ProtocolError(f"a message is longer than {MESSAGE_MAX} bytes")
        return opcode, fin, await self._take(n)

    async def message(self) -> str:
        """The next message. Raises _Lost when the connection is over."""
        parts, begun, size = [], False, 0
        while True:
            opcode, fin, data = await self._next(MESSAGE_MAX - size)
            if opcode == 8:
                await self._closing(data)
            elif opcode == 9:
                await self._frame(10, data)
            elif opcode != 10:
                if begun != (opcode == 0):
                    raise ProtocolError("the parts of a message are out of order")
                if opcode == 2:
                    raise ProtocolError("a message is not text")
                begun = True
                parts.append(data)
                size += len(data)
                if fin:
                    try:
                        return b"".join(parts).decode()
                    except UnicodeDecodeError:
                        raise ProtocolError("a message is not UTF-8") from None

    async def _closing(self, data: bytes) -> None:
        code = struct.unpack("!H", data[:2])[0] if len(data) >= 2 else 1005
        reason = data[2:].decode("utf-8", "replace")
        try:
            await self._frame(8, data[:2])
        except _Lost:
            pass
        self.close()
        if code == 1008:
            raise Denied(reason or "the server refused the connection")
        if code in (1002, 1003, 1007, 1009, 1010):
            raise ProtocolError(f"the server closed the connection: {code} {reason}")
        raise _Lost(f"the server closed the connection: {code} {reason}", code == 1013)

    def close(self) -> None:
        self.closed = True
        self.http.close()


# ---- the client ----


def _new_id() -> str:
    return "py-" + uuid.uuid4().hex


def _key_from_environment() -> Optional[str]:
    path = os.environ.get("OD_SERVER_KEY_FILE")
    if path:
        try:
            with open(path, encoding="utf-8") as file:
                return file.read(64 << 10).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Error(f"cannot read OD_SERVER_KEY_FILE {path}: {error}", "INVALID") from None
    return os.environ.get("OD_SERVER_KEY") or None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class AsyncClient:
    """A server, for programs with asyncio. Client is the same without.

    url: https://HOST[:PORT]/PREFIX, or http://. key: one of the server's keys. cafile: a
    PEM file with the authorities to trust, instead of the system's. timeout: seconds to
    connect, and of silence in an answer. patience: seconds for which a lost connection is
    retried. insecure: send the key without TLS to another machine."""

    def __init__(self, url: Optional[str] = None, key: Optional[str] = None, *,
                 cafile: Optional[str] = None, timeout: float = 30.0,
                 patience: float = 60.0, insecure: bool = False,
                 _net: Optional[_Net] = None) -> None:
        url = url or os.environ.get("OD_SERVER") or ""
        self._key = key if key is not None else _key_from_environment()
        parts = urlsplit(url)
        try:
            port, host = parts.port, parts.hostname
        except ValueError:
            port, host = None, None
        if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
            raise Error(f"the server's address must be https://HOST[:PORT]/PREFIX, not "
                        f"{url!r}; it is an argument, or OD_SERVER in the environment",
                        "INVALID")
        if self._key and not (self._key.isascii() and self._key.isprintable()):
            raise Error("a key has only printable ASCII characters", "INVALID")
        self._tls: Optional[ssl.SSLContext] = None
        if parts.scheme == "https":
            try:
                self._tls = ssl.create_default_context(cafile=cafile)
            except (OSError, ssl.SSLError) as error:
                raise Untrusted(f"cannot use the authorities in {cafile}: {error}") from None
            self._tls.minimum_version = ssl.TLSVersion.TLSv1_2
        elif self._key and not insecure and not _is_loopback(host):
            raise Untrusted(f"the key is not sent to {host} without TLS: use https://, or "
                            "insecure=True")
        self._host, self._port = host, port or (443 if self._tls else 80)
        self._authority = parts.netloc.rpartition("@")[2]
        self._prefix = parts.path.rstrip("/")
        self.timeout, self.patience = timeout, patience
        self._net = _net or _Asyncio()
        self._idle: List[_Http] = []
        self._met = False  # this server has answered before

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections. What runs on the server goes on."""
        while self._idle:
            self._idle.pop().close()

    def session(self, name: str = "main") -> AsyncSession:
        """The shell of that name. The server makes it when it is first used."""
        return AsyncSession(self, name)

    # -- requests --

    async def _again(self, what: str, attempt: Callable[[], Awaitable[T]]) -> T:
        """Calls attempt until it does not raise _Lost, for `patience` seconds."""
        since: Optional[float] = None
        wait = 0.02
        while True:
            try:
                return await attempt()
            except _Lost as lost:
                now = time.monotonic()
                since = now if since is None else since
                if not self._met:
                    raise Unreachable(f"{what}: {lost}") from None
                if now - since >= self.patience:
                    raise ConnectionLost(f"{what}: the connection was lost and did not come "
                                         f"back in {self.patience:g} s: {lost}") from None
                await self._net.sleep(max(lost.after, wait * (0.5 + random.random())))
                wait = min(2 * wait, 2.0)

    async def _connect(self, kept: bool) -> _Http:
        while kept and self._idle:
            http = self._idle.pop()
            if http.fresh:
                return http
        return _Http(await self._net.open(self._host, self._port, self._tls, self.timeout),
                     self.timeout)

    def _head(self, method: str, path: str, headers: Mapping[str, str]) -> bytes:
        lines = [f"{method} {self._prefix}{path} HTTP/1.1", f"Host: {self._authority}",
                 f"User-Agent: od-client-py/{VERSION}"]
        if self._key:
            lines.append(f"X-Session-API-Key: {self._key}")
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    async def _ask(self, http: _Http, method: str, path: str, headers: Mapping[str, str],
                   body: bytes = b"") -> _Answer:
        more = dict(headers)
        if body or method in ("POST", "PUT"):
            more["Content-Length"] = str(len(body))
        await http.channel.send(self._head(method, path, more) + body, self.timeout)
        answer = await http.answer()
        self._met = True
        return answer

    async def _judge(self, answer: _Answer) -> None:
        """Raises the error for a status other than 2XX."""
        status = answer.status
        if 200 <= status < 300:
            return
        after = answer.headers.get("retry-after", "")
        seconds = min(float(after), 30.0) if after.isdigit() else 0.0
        plain = answer.headers.get("content-type", "").split(";")[0] != "application/json"
        if status == 429 or (status == 503 and after) or (status in (502, 503, 504) and plain):
            raise _Lost(f"the server answers with status {status}", seconds)
        if plain and status in (401, 403):
            raise Denied(f"the server, or a proxy in front of it, refuses: status {status}",
                         status=status)
        if 300 <= status < 400:
            raise ProtocolError(f"the server answers with a redirect to "
                                f"{answer.headers.get('location', '')[:200]!r}: use its right "
                                "address", status=status)
        if plain and status == 404:
            raise VersionError("there is no such path: this is not the address of an od "
                               "server, or it has another version", status=status)
        raise _error_of(await answer.json(), status)

    def _keep(self, http: _Http, answer: _Answer) -> None:
        if http.fresh and answer.over and not http.buf and len(self._idle) < 8:
            self._idle.append(http)
        else:
            http.close()

    async def _json(self, method: str, path: str, body: bytes = b"") -> Json:
        """A request that may be sent again, and its answer, an object."""
        kind = {"Content-Type": "application/json"} if body else {}

        async def attempt() -> Json:
            kept = bool(self._idle)
            http = await self._connect(kept)
            try:
                answer = await self._ask(http, method, path, kind, body)
                await self._judge(answer)
                value = await answer.json()
            except _Lost:
                http.close()
                if not kept:
                    raise
                self._met = True  # the kept connection was old: a new one, at once
                return await attempt()
            except _Quiet:
                http.close()
                return await self._alive(attempt)
            except BaseException:
                http.close()
                raise
            self._keep(http, answer)
            return value

        return await self._again(f"{method} {path.split('?')[0]}", attempt)

    async def _alive(self, then: Callable[[], Awaitable[Json]]) -> Json:
        """After a long silence: if the server lives, the same request again."""
        http = await self._connect(False)
        try:
            answer = await self._ask(http, "GET", "/alive", {})
            await answer.whole()
        except _Quiet:
            raise _Lost("the server is silent") from None
        finally:
            http.close()
        return await then()

    # -- actions --

    async def action(self, action: str, args: Optional[Json] = None, *, session: str = "main",
                     timeout: Optional[float] = None, secrets: Optional[Mapping[str, str]] = None,
                     client_id: Optional[str] = None) -> Json:
        """Does any action of the server (`od help actions`) once; its observation.

        Raises ServerError if the observation is an error. client_id: the action's name; an
        action of the same name that was sent before is not done again."""
        m = self._message(action, args, session, timeout, secrets, client_id)
        return _checked(await self._json("POST", "/events", json.dumps(m).encode()))

    @staticmethod
    def _message(action: str, args: Optional[Json], session: str, timeout: Optional[float],
                 secrets: Optional[Mapping[str, str]], client_id: Optional[str]) -> Json:
        m: Json = {"action": action, "args": args or {}, "session": session,
                   "client_id": client_id or _new_id()}
        if timeout is not None:
            m["timeout"] = timeout
        if secrets:
            m["secrets"] = dict(secrets)
        return m

    async def _begin(self, action: str, args: Json, session: str,
                     timeout: Optional[float] = None,
                     secrets: Optional[Mapping[str, str]] = None) -> int:
        """Starts an action; its id."""
        m = self._message(action, args, session, timeout, secrets, None)
        answer = await self._json("POST", "/events?wait=0", json.dumps(m).encode())
        return _want(answer, "cause" if "cause" in answer else "id", int)

    async def alive(self) -> bool:
        """Whether a server answers."""
        try:
            await self._json("GET", "/alive")
        except (Unreachable, ConnectionLost):
            return False
        return True

    async def wait_ready(self, seconds: float = 60.0) -> None:
        """Returns when the server answers and its sandbox is prepared."""
        end = time.monotonic() + seconds
        while True:
            try:
                await self._json("GET", "/ready")
                return
            except (Unreachable, ConnectionLost, ServerError) as error:
                if time.monotonic() >= end:
                    raise
                if isinstance(error, ServerError) and error.status != 503:
                    raise
            await self._net.sleep(0.1)

    def events(self, since: Optional[int] = None, *, live: bool = False,
               follow: bool = True) -> AsyncEvents:
        """The events after the id `since` (0: all that are kept; None: only new ones).

        It continues by itself after a lost connection, without a loss or a repetition;
        `last` is the cursor for the next time. live: also the output of commands as it is written
        (observation "delta", without an id). follow False: ends with the newest event."""
        return AsyncEvents(self, since, live, follow)

    # -- WebSocket --

    async def _websocket(self, path: str) -> _WebSocket:
        nonce = base64.b64encode(os.urandom(16)).decode()
        http = _Http(await self._net.open(self._host, self._port, self._tls, self.timeout),
                     min(self.timeout, QUIET))
        try:
            answer = await self._ask(http, "GET", path, {
                "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": nonce,
                "Sec-WebSocket-Version": "13", "Sec-WebSocket-Protocol": PROTOCOL})
            if answer.status != 101:
                await self._judge(answer)
                raise ProtocolError("the server, or a proxy in front of it, does not know "
                                    "WebSockets", status=answer.status)
            digest = hashlib.sha1((nonce + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode())
            if answer.headers.get("sec-websocket-accept") != \
                    base64.b64encode(digest.digest()).decode():
                raise ProtocolError("the server's handshake of the WebSocket is wrong")
            chosen = answer.headers.get("sec-websocket-protocol")
            if chosen != PROTOCOL:
                raise VersionError(f"the server speaks {chosen or 'no known protocol'}, this "
                                   f"client {PROTOCOL}")
        except _Quiet:
            http.close()
            raise _Lost("the server did not answer in time") from None
        except BaseException:
            http.close()
            raise
        return _WebSocket(http)


class _Link:
    """A WebSocket to /events that continues after lost connections where it stopped."""

    def __init__(self, client: AsyncClient, since: Optional[int],
                 outputs: Optional[Dict[int, int]] = None) -> None:
        self.client, self.last = client, since
        self.outputs: Dict[int, int] = outputs or {}
        self.ws: Optional[_WebSocket] = None

    async def _open(self) -> _WebSocket:
        query: Dict[str, str] = {}
        if self.last is not None:
            query["since"] = str(self.last)
        newest = sorted(self.outputs.items())[-OUTPUTS_MAX:]
        if newest:
            query["output"] = ",".join(f"{cause}:{at}" for cause, at in newest)
        ws = await self.client._websocket("/events?" + urlencode(query, safe=":,"))
        try:
            m = _parse(await ws.message(), "the first message")
            if "error" in m:
                raise _error_of(m)
            hello = _want(m, "hello", dict)
            if hello.get("protocol") != PROTOCOL:
                raise VersionError(f"the server speaks {str(hello.get('protocol'))[:60]}, this "
                                   f"client {PROTOCOL}")
            if "until" not in _want(hello, "features", list, []):
                raise VersionError("the server is older than this client: it does not know "
                                   "\"until\"")
            if self.last is None:
                self.last = _want(hello, "next", int) - 1
        except BaseException:
            ws.close()
            raise
        return ws

    async def next(self) -> Json:
        """The next event or delta: events by their ids, deltas by their offsets."""
        while True:
            if self.ws is None:
                self.ws = await self.client._again("GET /events", self._open)
            try:
                m = _parse(await self.ws.message(), "a message")
            except _Lost:
                self.close()
                continue
            except BaseException:
                self.close()
                raise
            if self._note(m):
                return m

    def _note(self, m: Json) -> bool:
        """Whether the message is new; moves the cursors."""
        if "error" in m:
            raise _error_of(m)
        if m.get("observation") == "delta":
            cause, extras = _want(m, "cause", int), _want(m, "extras", dict)
            start, end = _want(extras, "from", int), _want(extras, "to", int)
            at = self.outputs.get(cause)
            if at is not None and end <= at:
                return False
            if at is not None and at > 0 and start != at:
                raise ProtocolError(f"output of {cause} goes on at {start}, not at {at}")
            _want(m, "content", str)
            self.outputs[cause] = end
            return True
        if "id" not in m:
            return False
        id = _want(m, "id", int)
        first = id
        if m.get("observation") == "gap":
            first = _want(_want(m, "extras", dict), "from", int)
        last = self.last or 0
        if id <= last:
            return False
        if first > last + 1:
            raise ProtocolError(f"the events {last + 1} to {first - 1} are missing")
        self.last = id
        if "cause" in m and "waiting" not in m:
            self.outputs.pop(_want(m, "cause", int), None)
        return True

    def close(self) -> None:
        if self.ws:
            self.ws.close()
        self.ws = None


class AsyncEvents(AsyncIterator[Json]):
    """The event stream: an asynchronous iterator of events, each a dict."""

    def __init__(self, client: AsyncClient, since: Optional[int], live: bool,
                 follow: bool) -> None:
        self._client, self._live, self._follow = client, live, follow
        self._link = _Link(client, 0 if since is None and not follow else since)
        self._page: List[Json] = []

    @property
    def last(self) -> Optional[int]:
        """The id of the last event: the `since` with which to continue."""
        return self._link.last

    def __aiter__(self) -> AsyncEvents:
        return self

    async def __anext__(self) -> Json:
        if not self._follow:
            return await self._next_of_page()
        while True:
            m = await self._link.next()
            if "id" in m or self._live:
                return m

    async def _next_of_page(self) -> Json:
        if not self._page:
            m = await self._client._json("GET", f"/events?since={self._link.last or 0}")
            self._page = [e for e in _want(m, "events", list) if isinstance(e, dict)]
        while self._page:
            event = self._page.pop(0)
            if self._link._note(event):
                return event
        raise StopAsyncIteration

    async def close(self) -> None:
        self._link.close()


class AsyncRun(AsyncIterator[str]):
    """A command that runs: an asynchronous iterator of its output, as it is written.

    The iteration ends when the command ends, asks for input (`waiting`; then `answer` and
    iterate again), or its time is over. `result` is then the state of the command."""

    def __init__(self, session: AsyncSession, id: int, answer: Optional[AsyncAnswer]) -> None:
        self.session, self.id = session, id
        self.result: Optional[Result] = None
        self.waiting: Optional[Waiting] = None
        self._ask = answer
        self._link = _Link(session.client, id - 1, {id: 0})
        self._wait = id  # the action whose observation comes next
        self._to: Optional[int] = None  # output up to here comes before the pause
        self._paused = False

    def __aiter__(self) -> AsyncRun:
        return self

    @property
    def _at(self) -> int:
        return self._link.outputs.get(self.id, 0)

    async def __anext__(self) -> str:
        while True:
            if self.result and self.result.ended:
                await self.close()
                raise StopAsyncIteration
            if self._paused:
                if not (self.waiting and self._ask):
                    raise StopAsyncIteration
                words = self._ask(self.waiting)
                text = await words if isawaitable(words) else words
                if text is None:
                    self._ask = None
                    continue
                await self.answer(text)
            m = await self._link.next()
            if m.get("observation") == "delta" and m["cause"] == self.id:
                self._pause()
                if m["content"]:
                    return str(m["content"])
            elif "id" in m and m.get("cause") == self._wait or \
                    (m.get("cause") == self.id and m.get("observation") == "ended"):
                self._observe(m)

    def _observe(self, m: Json) -> None:
        result = _result(_checked(m))
        if m["cause"] != self.id and result.ended:
            return  # the event `ended` of the command follows, after its output
        self.result = result
        self._to = result.end
        if not result.ended:  # its output begins there, even if there is none yet
            start = _want(_want(m, "output", dict, {}), "from", int, 0)
            self._link.outputs[self.id] = max(self._at, min(start, result.end))
        self._pause()

    def _pause(self) -> None:
        if self._to is not None and self.result and not self.result.ended and \
                self._at >= self._to:
            self.waiting, self._paused, self._to = self.result.waiting, True, None

    async def answer(self, text: str, enter: bool = True) -> None:
        """Types text, and a newline if enter, and lets the iteration go on."""
        await self.session.input(text + ("\n" if enter else ""))
        await self.proceed()

    async def proceed(self, timeout: Optional[float] = None) -> None:
        """Lets the iteration go on after a pause, without typing anything."""
        if self.result and self.result.ended:
            return
        self.waiting, self._paused = None, False
        self._wait = await self.session.client._begin(
            "wait", {"id": self.id, "until": "input", "from": self._at},
            self.session.name, timeout)

    async def wait(self) -> Result:
        """Reads to the next pause or the end; the result."""
        async for _ in self:
            pass
        if self.result is None:
            raise ProtocolError("the command has no result")
        return self.result

    async def cancel(self) -> None:
        """Ends the command (TERM, then KILL); the iteration then ends, too."""
        await self.session.client.action("cancel", {"id": self.id}, session=self.session.name)

    async def close(self) -> None:
        """Closes the stream. The command goes on."""
        self._link.close()


class AsyncSession:
    """A shell that remembers its directory and variables, with files, cells and pages."""

    def __init__(self, client: AsyncClient, name: str) -> None:
        self.client, self.name = client, name

    async def _act(self, action: str, args: Json, timeout: Optional[float] = None,
                   secrets: Optional[Mapping[str, str]] = None) -> Json:
        return await self.client.action(action, args, session=self.name, timeout=timeout,
                                        secrets=secrets)

    # -- commands --

    async def run(self, command: str, *, timeout: Optional[float] = None,
                  answer: Optional[AsyncAnswer] = None,
                  secrets: Optional[Mapping[str, str]] = None) -> Result:
        """Runs a command; returns when it ends, asks for input, or after timeout seconds.

        answer: called when it asks, with the question; the returned text is typed (None: it
        keeps waiting). secrets: names and values that events and output do not show."""
        result = _result(await self._act("run", {"command": command, "until": "input"},
                                         timeout, secrets))
        while answer and result.waiting:
            words = answer(result.waiting)
            text = await words if isawaitable(words) else words
            if text is None:
                break
            await self.input(text + "\n")
            result = await self._wait(result, timeout)
        return result

    async def _wait(self, before: Result, timeout: Optional[float]) -> Result:
        return _result(await self._act(
            "wait", {"until": "input", "id": before.id, "from": before.end}, timeout))

    async def start(self, command: str, *, timeout: Optional[float] = None,
                    answer: Optional[AsyncAnswer] = None,
                    secrets: Optional[Mapping[str, str]] = None) -> AsyncRun:
        """Starts a command; iterate over the result for its output as it is written."""
        id = await self.client._begin("run", {"command": command, "until": "input"},
                                      self.name, timeout, secrets)
        return AsyncRun(self, id, answer)

    async def wait(self, before: Optional[Result] = None, *,
                   timeout: Optional[float] = None) -> Result:
        """Waits until the running command of this session ends or asks for input.

        before: an earlier result of it; the new one has the text since then."""
        if before:
            return await self._wait(before, timeout)
        return _result(await self._act("wait", {"until": "input"}, timeout))

    async def answer(self, text: str, before: Optional[Result] = None, *,
                     timeout: Optional[float] = None) -> Result:
        """Types a line for the program that asks, and waits as `wait` does."""
        await self.input(text + "\n")
        return await self.wait(before, timeout=timeout)

    async def input(self, text: str) -> None:
        """Types text as it is; a line ends with "\\n"."""
        await self._act("input", {"text": text})

    async def key(self, key: str) -> None:
        """Presses a key: C-c, Enter, Up, F1 … or types a text that names no key."""
        await self._act("key", {"key": key})

    async def signal(self, signal: str, *, tree: bool = False) -> None:
        """Sends a signal to the job in the foreground; tree: to all of the command."""
        await self._act("signal", {"signal": signal, "tree": tree} if tree
                        else {"signal": signal})

    # -- cells, pages --

    async def cell(self, code: str, *, timeout: Optional[float] = None, kernel: str = "",
                   answer: Optional[AsyncAnswer] = None,
                   output: Optional[Callable[[str], None]] = None) -> CellResult:
        """Runs a cell in a Jupyter kernel of the session.

        output: called with the text as it is printed. answer: called when the cell asks
        (input(), getpass()); without it, a cell that asks fails."""
        args: Json = {"code": code}
        if timeout is not None:
            args["timeout"] = timeout
        if kernel:
            args["kernel"] = kernel
        if not answer and not output:
            return _cell(await self._act("cell", args))
        if answer:
            args["input"] = True
        id = await self.client._begin("cell", args, self.name)
        link = _Link(self.client, id - 1)
        at = 0
        try:
            while True:
                m = await link.next()
                extras = _want(m, "extras", dict, {})
                if m.get("cause") == id:
                    return _cell(_checked(m))
                if extras.get("id") != id:
                    continue
                content = _want(m, "content", str, "")
                if m.get("observation") == "cell_output" and output:
                    start, end = _want(extras, "from", int), _want(extras, "to", int)
                    fresh = content.encode()[max(at - start, 0):].decode("utf-8", "replace")
                    at = max(at, end)
                    if fresh:
                        output(fresh)
                elif m.get("observation") == "cell_input" and answer:
                    words = answer(Waiting(content, _want(extras, "password", bool, False)))
                    text = await words if isawaitable(words) else words
                    if text is None:
                        await self._act("cancel", {"id": id})
                    else:
                        await self._act("input", {"id": id, "text": text})
        finally:
            link.close()

    async def browse(self, url: str) -> Page:
        """Opens a page of the web in the session's browser."""
        return _page(await self._act("browse", {"url": url}))

    async def browse_interactive(self, actions: str) -> Page:
        """Takes steps in the browser: click("12"), fill("7", "text") … (BrowserGym's)."""
        return _page(await self._act("browse_interactive", {"browser_actions": actions}))

    # -- files --

    async def stat(self, path: str) -> FileInfo:
        """Describes a file or folder. Raises ServerError NOTFOUND."""
        return _file(_want(await self._act("stat", _named("path", path)), "extras", dict))

    async def list(self, path: str = ".", *, recursive: bool = False) -> List[FileInfo]:
        """The entries of a folder, sorted by name; paths are relative to it."""
        out: List[FileInfo] = []
        args: Json = {**_named("path", path), "recursive": recursive, "limit": 1000}
        while True:
            page = _want(await self._act("list", args), "extras", dict)
            out += [_file(e) for e in _want(page, "entries", list) if isinstance(e, dict)]
            if "cursor" not in page:
                return out
            cursor = _want(page, "cursor", str)
            if cursor == args.get("cursor"):
                raise ProtocolError("the list of files does not advance")
            args["cursor"] = cursor

    async def mkdir(self, path: str) -> None:
        """Makes a folder and its parents, unless they exist."""
        await self._act("mkdir", _named("path", path))

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        await self._act("remove", {**_named("path", path), "recursive": recursive})

    async def checkpoint(self, label: str = "", *, dir: Optional[str] = None,
                         pin: bool = False) -> int:
        """Keeps what all files of the directory are; returns the checkpoint's number."""
        args: Json = {"label": label, "pin": pin, **({"dir": dir} if dir else {})}
        return _want(_want(await self._act("checkpoint", args), "extras", dict), "id", int)

    async def changes(self, since: Optional[int] = None, *, diff: bool = False,
                      paths: Optional[List[str]] = None) -> Json:
        """What changed since a checkpoint (the newest): {"changes": [{"path", …}], …}."""
        args: Json = {"diff": diff, **({"from": since} if since else {}),
                      **({"paths": paths} if paths else {})}
        return _want(await self._act("changes", args), "extras", dict)

    async def rollback(self, to: int, *, paths: Optional[List[str]] = None,
                       dry_run: bool = False) -> Json:
        """Makes files what they were in a checkpoint. "safety" of the result is the
        checkpoint of what they were before."""
        args: Json = {"to": to, "dry_run": dry_run, **({"paths": paths} if paths else {})}
        return _want(await self._act("rollback", args), "extras", dict)

    async def move(self, source: str, target: str, *, overwrite: bool = False) -> None:
        await self._act("move", {**_named("from", source), **_named("to", target),
                                 "overwrite": overwrite})

    async def copy(self, source: str, target: str, *, overwrite: bool = False) -> None:
        await self._act("copy", {**_named("from", source), **_named("to", target),
                                 "overwrite": overwrite})

    async def write(self, path: str, data: Union[str, bytes]) -> None:
        """Writes a file of the server, whole or not at all."""
        await self.upload(data.encode() if isinstance(data, str) else data, path)

    async def read(self, path: str) -> bytes:
        """A file of the server, at most BODY_MAX bytes."""
        out = io.BytesIO()
        info = await self.stat(path)
        if info.size > BODY_MAX:
            raise Error(f"{path} has {info.size} bytes: use download", "LIMIT")
        await self.download(path, out)
        return out.getvalue()

    async def upload(self, source: Source, path: str, *, mode: Optional[int] = None,
                     progress: Optional[Progress] = None) -> int:
        """Sends a file, bytes or a stream to `path`; returns the number of bytes.

        The file is written whole or not at all, and replaces an existing one; its folder is
        made. After a lost connection the upload continues where it stopped; if the source
        is a path, so does the next call. A stream that cannot seek is copied to a temporary
        file first."""
        if isinstance(source, bytes):
            return await self._upload(io.BytesIO(source), path, mode, progress)
        if isinstance(source, (str, os.PathLike)):
            try:
                with open(source, "rb") as file:
                    about = os.fstat(file.fileno())
                    if mode is None:
                        mode = about.st_mode & 0o777
                    same = (os.path.realpath(source), about.st_dev, about.st_ino,
                            about.st_size, about.st_mtime_ns, self.name, path)
                    token = hashlib.sha256(repr(same).encode("utf-8", "surrogateescape"))
                    return await self._upload(file, path, mode, progress,
                                              token.hexdigest()[:32])
            except OSError as error:
                raise Error(f"cannot read {source}: {error}", "IO") from None
        if source.seekable():
            return await self._upload(source, path, mode, progress)
        with tempfile.TemporaryFile() as copy:
            while True:
                data = source.read(CHUNK)
                if not data:
                    break
                copy.write(data)
            copy.seek(0)
            return await self._upload(copy, path, mode, progress)

    async def _upload(self, source: IO[bytes], path: str, mode: Optional[int],
                      progress: Optional[Progress], token: str = "") -> int:
        """token: names the upload, also for later calls; None: only this call knows it."""
        folder, name = posixpath.split(path)
        if name in ("", ".", ".."):
            raise Error(f"{path!r} does not name a file", "INVALID")
        start = source.tell()
        size = source.seek(0, io.SEEK_END) - start
        if folder:
            await self.mkdir(folder)
        part = {**_named("path", path), "session": self.name,
                "token": token or uuid.uuid4().hex}
        look = bool(token)  # a part may have arrived before

        async def attempt() -> int:
            nonlocal look
            done = 0
            if look:
                known = await self.client._json("GET", "/files/upload?" + urlencode(part))
                done = _want(known, "size", int)
                if done < 0:
                    raise ProtocolError("the size in an answer is below 0")
                done = done if done <= size else 0
            look = True
            query = urlencode({**part, "size": size, "offset": done,
                               "mode": f"{0o644 if mode is None else mode & 0o7777:04o}"})
            source.seek(start + done)
            http = await self.client._connect(False)
            try:
                await http.channel.send(self.client._head("PUT", "/files/content?" + query, {
                    "Content-Type": "application/octet-stream",
                    "Content-Length": str(size - done)}), self.client.timeout)
                try:
                    while done < size:
                        data = source.read(min(CHUNK, size - done))
                        if not data:
                            raise Error(f"the source of {path} became shorter", "IO")
                        await http.channel.send(data, self.client.timeout)
                        done += len(data)
                        if progress:
                            progress(done, size)
                except _Lost as lost:  # the server may have answered before the end
                    await self._refused(http, lost)
                answer = await http.answer()
                self.client._met = True
                try:
                    await self.client._judge(answer)
                except ServerError as error:
                    if error.code == "BUSY":  # the server has less than it reported
                        raise _Lost(str(error)) from None
                    raise
                if _want(await answer.json(), "size", int) != size:
                    raise ProtocolError("the server does not have the whole file")
                return size
            except _Quiet:
                raise _Lost("the server did not answer in time") from None
            finally:
                http.close()

        try:
            return await self.client._again(f"the upload of {path}", attempt)
        except OSError as error:
            raise Error(f"cannot read the source of {path}: {error}", "IO") from None

    async def _refused(self, http: _Http, lost: _Lost) -> None:
        """The answer to an upload that could not be sent to its end; raises always."""
        try:
            answer = await http.answer()
            self.client._met = True
        except (_Lost, _Quiet, ProtocolError):
            raise lost from None
        await self.client._judge(answer)
        raise lost

    async def download(self, path: str, target: Target, *,
                       progress: Optional[Progress] = None) -> int:
        """Gets a file of the server; returns the number of bytes.

        target: a path, which is written whole or not at all, or a stream. After a lost
        connection the download continues where it stopped, or from the beginning if the
        file has changed (which is an error for a stream that cannot seek)."""
        if not isinstance(target, (str, os.PathLike)):
            return await self._download(path, target, progress)
        place = os.fspath(target)
        if os.path.isdir(place):
            place = os.path.join(place, posixpath.basename(path.rstrip("/")))
        part = f"{place}.{uuid.uuid4().hex[:8]}.part"
        try:
            with open(part, "wb") as file:
                n = await self._download(path, file, progress)
            os.replace(part, place)
            return n
        except OSError as error:
            raise Error(f"cannot write {place}: {error}", "IO") from None
        finally:
            if os.path.exists(part):
                os.unlink(part)

    async def _download(self, path: str, out: IO[bytes], progress: Optional[Progress]) -> int:
        where = "/files/content?" + urlencode({**_named("path", path), "session": self.name})
        start = out.tell() if out.seekable() else 0
        done, tag = 0, ""
        size: Optional[int] = None

        def note(answer: _Answer) -> None:
            nonlocal done, tag, size
            if answer.status == 200:
                if done and not out.seekable():
                    raise Error(f"{path} changed during the download", "IO")
                if done:
                    out.seek(start)
                    out.truncate()
                done, size = 0, answer.length
            elif answer.status != 206 or \
                    not answer.headers.get("content-range", "").startswith(f"bytes {done}-"):
                raise ProtocolError("the server sent another range than it was asked for")
            tag = answer.headers.get("etag", "")

        async def attempt() -> int:
            nonlocal done
            http = await self.client._connect(False)
            try:
                more = {"Range": f"bytes={done}-", "If-Range": tag} if done and tag else {}
                answer = await self.client._ask(http, "GET", where, more)
                await self.client._judge(answer)
                note(answer)
                while True:
                    data = await answer.read()
                    if not data:
                        break
                    out.write(data)
                    done += len(data)
                    if progress:
                        progress(done, size)
                if size is not None and done != size:
                    raise _Lost("the connection ended in the middle of the file")
                return done
            except _Quiet:
                raise _Lost("the server is silent") from None
            finally:
                http.close()

        return await self.client._again(f"the download of {path}", attempt)


# ---- the same without asyncio ----


class Client:
    """A server. See AsyncClient for the arguments; AsyncClient is the same for asyncio."""

    def __init__(self, url: Optional[str] = None, key: Optional[str] = None, *,
                 cafile: Optional[str] = None, timeout: float = 30.0,
                 patience: float = 60.0, insecure: bool = False) -> None:
        self._a = AsyncClient(url, key, cafile=cafile, timeout=timeout, patience=patience,
                              insecure=insecure, _net=_Blocking())

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. What runs on the server goes on."""
        _finish(self._a.close())

    def session(self, name: str = "main") -> Session:
        """The shell of that name. The server makes it when it is first used."""
        return Session(self._a.session(name))

    def action(self, action: str, args: Optional[Json] = None, *, session: str = "main",
               timeout: Optional[float] = None, secrets: Optional[Mapping[str, str]] = None,
               client_id: Optional[str] = None) -> Json:
        """Does any action of the server (`od help actions`) once; its observation.

        Raises ServerError if the observation is an error. client_id: the action's name; an
        action of the same name that was sent before is not done again."""
        return _finish(self._a.action(action, args, session=session, timeout=timeout,
                                      secrets=secrets, client_id=client_id))

    def alive(self) -> bool:
        """Whether a server answers."""
        return _finish(self._a.alive())

    def wait_ready(self, seconds: float = 60.0) -> None:
        """Returns when the server answers and its sandbox is prepared."""
        _finish(self._a.wait_ready(seconds))

    def events(self, since: Optional[int] = None, *, live: bool = False,
               follow: bool = True) -> Events:
        """The events after the id `since` (0: all that are kept; None: only new ones).

        It continues by itself after a lost connection, without a loss or a repetition;
        `last` is the cursor for the next time. live: also the output of commands as it is written
        (observation "delta", without an id). follow False: ends with the newest event."""
        return Events(self._a.events(since, live=live, follow=follow))


class _Iterates(Generic[T]):
    """An asynchronous iterator, step by step."""

    def __init__(self, steps: AsyncIterator[T]) -> None:
        self._steps = steps

    async def _step(self) -> Tuple[bool, Optional[T]]:
        try:
            return True, await self._steps.__anext__()
        except StopAsyncIteration:
            return False, None

    def __next__(self) -> T:
        more, value = _finish(self._step())
        if not more:
            raise StopIteration
        return value  # type: ignore[return-value]


class Events(_Iterates[Json], Iterator[Json]):
    """The event stream: an iterator of events, each a dict."""

    def __init__(self, a: AsyncEvents) -> None:
        super().__init__(a)
        self._a = a

    @property
    def last(self) -> Optional[int]:
        """The id of the last event: the `since` with which to continue."""
        return self._a.last

    def close(self) -> None:
        _finish(self._a.close())


class Run(_Iterates[str], Iterator[str]):
    """A command that runs: an iterator of its output, as it is written.

    The iteration ends when the command ends, asks for input (`waiting`; then `answer` and
    iterate again), or its time is over. `result` is then the state of the command."""

    def __init__(self, a: AsyncRun) -> None:
        super().__init__(a)
        self._a = a

    @property
    def id(self) -> int:
        """The id of its action."""
        return self._a.id

    @property
    def result(self) -> Optional[Result]:
        return self._a.result

    @property
    def waiting(self) -> Optional[Waiting]:
        return self._a.waiting

    def answer(self, text: str, enter: bool = True) -> None:
        """Types text, and a newline if enter, and lets the iteration go on."""
        _finish(self._a.answer(text, enter))

    def proceed(self, timeout: Optional[float] = None) -> None:
        """Lets the iteration go on after a pause, without typing anything."""
        _finish(self._a.proceed(timeout))

    def wait(self) -> Result:
        """Reads to the next pause or the end; the result."""
        return _finish(self._a.wait())

    def cancel(self) -> None:
        """Ends the command (TERM, then KILL); the iteration then ends, too."""
        _finish(self._a.cancel())

    def close(self) -> None:
        """Closes the stream. The command goes on."""
        _finish(self._a.close())


class Session:
    """A shell that remembers its directory and variables, with files, cells and pages."""

    def __init__(self, a: AsyncSession) -> None:
        self._a = a

    @property
    def name(self) -> str:
        return self._a.name

    def run(self, command: str, *, timeout: Optional[float] = None,
            answer: Optional[SyncAnswer] = None,
            secrets: Optional[Mapping[str, str]] = None) -> Result:
        """Runs a command; returns when it ends, asks for input, or after timeout seconds.

        answer: called when it asks, with the question; the returned text is typed (None: it
        keeps waiting). secrets: names and values that events and output do not show."""
        return _finish(self._a.run(command, timeout=timeout, answer=answer, secrets=secrets))

    def start(self, command: str, *, timeout: Optional[float] = None,
              answer: Optional[SyncAnswer] = None,
              secrets: Optional[Mapping[str, str]] = None) -> Run:
        """Starts a command; iterate over the result for its output as it is written."""
        return Run(_finish(self._a.start(command, timeout=timeout, answer=answer,
                                         secrets=secrets)))

    def wait(self, before: Optional[Result] = None, *,
             timeout: Optional[float] = None) -> Result:
        """Waits until the running command of this session ends or asks for input.

        before: an earlier result of it; the new one has the text since then."""
        return _finish(self._a.wait(before, timeout=timeout))

    def answer(self, text: str, before: Optional[Result] = None, *,
               timeout: Optional[float] = None) -> Result:
        """Types a line for the program that asks, and waits as `wait` does."""
        return _finish(self._a.answer(text, before, timeout=timeout))

    def input(self, text: str) -> None:
        """Types text as it is; a line ends with "\\n"."""
        _finish(self._a.input(text))

    def key(self, key: str) -> None:
        """Presses a key: C-c, Enter, Up, F1 … or types a text that names no key."""
        _finish(self._a.key(key))

    def signal(self, signal: str, *, tree: bool = False) -> None:
        """Sends a signal to the job in the foreground; tree: to all of the command."""
        _finish(self._a.signal(signal, tree=tree))

    def cell(self, code: str, *, timeout: Optional[float] = None, kernel: str = "",
             answer: Optional[SyncAnswer] = None,
             output: Optional[Callable[[str], None]] = None) -> CellResult:
        """Runs a cell in a Jupyter kernel of the session.

        output: called with the text as it is printed. answer: called when the cell asks
        (input(), getpass()); without it, a cell that asks fails."""
        return _finish(self._a.cell(code, timeout=timeout, kernel=kernel, answer=answer,
                                    output=output))

    def browse(self, url: str) -> Page:
        """Opens a page of the web in the session's browser."""
        return _finish(self._a.browse(url))

    def browse_interactive(self, actions: str) -> Page:
        """Takes steps in the browser: click("12"), fill("7", "text") … (BrowserGym's)."""
        return _finish(self._a.browse_interactive(actions))

    def stat(self, path: str) -> FileInfo:
        """Describes a file or folder. Raises ServerError NOTFOUND."""
        return _finish(self._a.stat(path))

    def list(self, path: str = ".", *, recursive: bool = False) -> List[FileInfo]:
        """The entries of a folder, sorted by name; paths are relative to it."""
        return _finish(self._a.list(path, recursive=recursive))

    def mkdir(self, path: str) -> None:
        """Makes a folder and its parents, unless they exist."""
        _finish(self._a.mkdir(path))

    def remove(self, path: str, *, recursive: bool = False) -> None:
        """Removes a file, a link or an empty folder; recursive: with what is in it."""
        _finish(self._a.remove(path, recursive=recursive))

    def checkpoint(self, label: str = "", *, dir: Optional[str] = None,
                   pin: bool = False) -> int:
        """Keeps what all files of the directory are; returns the checkpoint's number."""
        return _finish(self._a.checkpoint(label, dir=dir, pin=pin))

    def changes(self, since: Optional[int] = None, *, diff: bool = False,
                paths: Optional[List[str]] = None) -> Json:
        """What changed since a checkpoint (the newest): {"changes": [{"path", …}], …}."""
        return _finish(self._a.changes(since, diff=diff, paths=paths))

    def rollback(self, to: int, *, paths: Optional[List[str]] = None,
                 dry_run: bool = False) -> Json:
        """Makes files what they were in a checkpoint. "safety" of the result is the
        checkpoint of what they were before."""
        return _finish(self._a.rollback(to, paths=paths, dry_run=dry_run))

    def move(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """Renames a file or folder; target is the new name itself."""
        _finish(self._a.move(source, target, overwrite=overwrite))

    def copy(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """Copies a file or folder; target is the new name itself."""
        _finish(self._a.copy(source, target, overwrite=overwrite))

    def write(self, path: str, data: Union[str, bytes]) -> None:
        """Writes a file of the server, whole or not at all."""
        _finish(self._a.write(path, data))

    def read(self, path: str) -> bytes:
        """A file of the server, at most BODY_MAX bytes."""
        return _finish(self._a.read(path))

    def upload(self, source: Source, path: str, *, mode: Optional[int] = None,
               progress: Optional[Progress] = None) -> int:
        """Sends a file, bytes or a stream to `path`; returns the number of bytes.

        The file is written whole or not at all, and replaces an existing one; its folder is
        made. After a lost connection the upload continues where it stopped; if the source
        is a path, so does the next call. A stream that cannot seek is copied to a temporary
        file first."""
        return _finish(self._a.upload(source, path, mode=mode, progress=progress))

    def download(self, path: str, target: Target, *,
                 progress: Optional[Progress] = None) -> int:
        """Gets a file of the server; returns the number of bytes.

        target: a path, which is written whole or not at all, or a stream. After a lost
        connection the download continues where it stopped, or from the beginning if the
        file has changed (which is an error for a stream that cannot seek)."""
        return _finish(self._a.download(path, target, progress=progress))


# ---- the command line ----


def _ask_person(waiting: Waiting) -> Optional[str]:
    """The answer of the person at the terminal; None if there is none."""
    if not sys.stdin or not sys.stdin.isatty():
        return None
    try:
        return getpass.getpass("") if waiting.hidden else input()
    except EOFError:
        return None


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _exec(box: Client, given: argparse.Namespace) -> int:
    shell = box.session(given.session)
    words = given.command[1:] if given.command[:1] == ["--"] else given.command
    if given.input is not None:
        shell.input(given.input + "\n")
    if words:
        run = shell.start(" ".join(words), timeout=given.timeout, answer=_ask_person)
        try:
            for text in run:
                _write(text)
        except KeyboardInterrupt:
            run.cancel()
            return 130
        result = run.result
    elif given.wait or given.input is not None:
        result = shell.wait(timeout=given.timeout)
        _write(result.text)
    else:
        raise Error("exec takes a command, --wait or --input TEXT", "INVALID")
    if result is None or not result.ended:
        asks = bool(result and result.waiting)
        print(f"client: {'it waits for input' if asks else 'it goes on'}; see exec "
              f"{'--input TEXT' if asks else '--wait'} -s {given.session}", file=sys.stderr)
        return 124
    if result.exit_code is None:
        print("client: it is not known how it ended", file=sys.stderr)
        return 125
    return result.exit_code


def _cp(box: Client, given: argparse.Namespace) -> int:
    shell = box.session(given.session)
    shown = sys.stderr.isatty() and not given.quiet

    def progress(done: int, size: Optional[int]) -> None:
        of = f" of {size}" if size is not None else ""
        sys.stderr.write(f"\r{done}{of} bytes")
        sys.stderr.flush()

    tell = progress if shown else None
    source, target = given.source, given.target
    if source.startswith(":") == target.startswith(":"):
        raise Error("cp takes one path of the server, which begins with \":\", and one here",
                    "INVALID")
    if target.startswith(":"):
        target = target[1:]
        if not target or target.endswith("/"):
            target += os.path.basename(source) if source != "-" else ""
        if source == "-":
            n = shell.upload(sys.stdin.buffer, target, progress=tell)
        else:
            n = shell.upload(source, target, progress=tell)
    elif target == "-":
        n = shell.download(source[1:], sys.stdout.buffer, progress=tell)
        sys.stdout.flush()
    else:
        n = shell.download(source[1:], target, progress=tell)
    if shown:
        sys.stderr.write(f"\r{n} bytes\n")
    return 0


def _events(box: Client, given: argparse.Namespace) -> int:
    since = given.since if given.since is not None else None if given.follow else 0
    for event in box.events(since, live=given.live, follow=given.follow):
        if given.json:
            _write(json.dumps(event, ensure_ascii=False) + "\n")
        else:
            what = event.get("action") or event.get("observation")
            about = event.get("content") or json.dumps(event.get("args", ""))
            line = str(about).strip().split("\n")[0][:120]
            _write(f"{event.get('id', '-')} {event.get('session', '')} {what}: {line}\n")
    return 0


def main(argv: Optional[List[str]] = None) -> int:
    """The command line; returns its exit status."""
    # Options come before or after the subcommand: an absent one must not undo the other.
    server = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    server.add_argument("--server", metavar="URL",
                        help="https://HOST[:PORT]/PREFIX; else OD_SERVER")
    server.add_argument("--cafile", help="a PEM file with the authorities to trust")
    server.add_argument("--insecure", action="store_true",
                        help="send the key without TLS to another machine")
    server.add_argument("--patience", type=float, metavar="SECONDS",
                        help="seconds for which a lost connection is retried (60)")
    p = argparse.ArgumentParser(
        prog="client.py", description="A computer of an AI agent, from any machine.",
        epilog="The key is in the file OD_SERVER_KEY_FILE or in OD_SERVER_KEY.",
        parents=[server])
    sub = p.add_subparsers(dest="verb", required=True)
    x = sub.add_parser("exec", parents=[server],
                       help="run a command; its exit status is that of the command")
    x.add_argument("-s", "--session", default="main")
    x.add_argument("-t", "--timeout", type=float, metavar="SECONDS",
                   help="return after this time; the command goes on (status 124)")
    x.add_argument("--wait", action="store_true", help="wait for the running command")
    x.add_argument("--input", metavar="TEXT", help="type a line, then wait")
    x.add_argument("command", nargs=argparse.REMAINDER)
    c = sub.add_parser("cp", parents=[server],
                       help="copy a file: cp LOCAL :REMOTE, cp :REMOTE LOCAL")
    c.add_argument("-s", "--session", default="main")
    c.add_argument("-q", "--quiet", action="store_true")
    c.add_argument("source", help="- is the standard input")
    c.add_argument("target", help="- is the standard output")
    e = sub.add_parser("events", parents=[server], help="print the events")
    e.add_argument("--since", type=int, metavar="ID")
    e.add_argument("--follow", action="store_true")
    e.add_argument("--live", action="store_true", help="with the output of commands")
    e.add_argument("--json", action="store_true")
    given = p.parse_args(argv)
    try:
        about = {name: getattr(given, name) for name in
                 ("cafile", "insecure", "patience") if hasattr(given, name)}
        with Client(getattr(given, "server", None), **about) as box:
            verbs = {"exec": _exec, "cp": _cp, "events": _events}
            return verbs[given.verb](box, given)
    except Error as error:
        print(f"client: {error}", file=sys.stderr)
        return 125
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
