# SPDX-License-Identifier: MIT
"""A backend that od dials: for tests, and the smallest example of one.

    backend.py ADDRESS PORT FOLDER [CERTIFICATE-AND-KEY]

In FOLDER it keeps its state:

  transcript   each event that came, one a line, written before it is acknowledged
  actions      what is to be done, one JSON a line; others append to it
  hellos       each hello, for those who look
  port, pid    of this process, once it listens

It may be killed at any instant: the next one cuts a torn line off the transcript,
sends {"since":LAST} to each peer that dials, and the actions that have no final
observation again, which is safe since each has a client_id.
"""
import asyncio
import json
import os
import ssl
import sys

import websockets

PROTOCOL = "od.events.v1"
ACK_EVERY = 10


def whole_lines(path):
    """The lines of a file; what a killed writer left of the last one is cut off."""
    if not os.path.exists(path):
        return []
    with open(path, "r+b") as f:
        data = f.read()
        end = data.rfind(b"\n") + 1
        f.truncate(end)
    return data[:end].decode().splitlines()


def is_final(event):
    """The answer to an action; "cause" is the action's id."""
    return "observation" in event and "cause" in event and event["observation"] != "delta"


class Backend:
    def __init__(self, folder):
        self.folder = folder
        self.last = 0
        self.names = {}  # of actions by their id
        self.done = set()  # client_ids with a final observation
        self.link = None  # the newest; an older one may be dead, and not know it
        self.asked = set()  # client_ids that were sent on it
        for line in whole_lines(self.path("transcript")):
            self.take(json.loads(line))
        self.transcript = open(self.path("transcript"), "ab", buffering=0)

    def path(self, name):
        return os.path.join(self.folder, name)

    def take(self, event):
        self.last = event["id"]
        if "action" in event and "client_id" in event:
            self.names[event["id"]] = event["client_id"]
        if is_final(event) and event["cause"] in self.names:
            self.done.add(self.names[event["cause"]])

    async def send_actions(self, ws):
        """Everything that is not done, and what comes to it."""
        at = 0
        while self.link is ws:
            with open(self.path("actions"), encoding="utf-8") as f:
                f.seek(at)
                text = f.read()
            end = text.rfind("\n") + 1
            at += len(text[:end].encode())
            for line in text[:end].splitlines():
                if self.link is not ws:
                    return
                name = json.loads(line)["client_id"]
                if name not in self.done and name not in self.asked:
                    self.asked.add(name)
                    await ws.send(line)
            await asyncio.sleep(0.02)

    def is_repeat(self, event):
        """The answer to an action that we asked again, while it was on its way."""
        return (
            event["id"] <= self.last
            and is_final(event)
            and self.names.get(event["cause"]) in self.asked
        )

    async def receive(self, ws):
        async for message in ws:
            if self.link is not ws:
                return
            event = json.loads(message)
            if "id" not in event or event.get("observation") == "delta" or self.is_repeat(event):
                continue
            self.transcript.write(message.encode() + b"\n")
            self.take(event)
            if self.last % ACK_EVERY == 0 or is_final(event):
                await ws.send(json.dumps({"ack": self.last}))

    async def serve(self, ws, _path):
        hello = json.loads(await ws.recv())["hello"]
        with open(self.path("hellos"), "a", encoding="utf-8") as f:
            f.write(json.dumps(hello) + "\n")
        self.link, self.asked = ws, set()
        await ws.send(json.dumps({"since": self.last}))
        sending = asyncio.ensure_future(self.send_actions(ws))
        try:
            await self.receive(ws)
        except websockets.ConnectionClosed:
            pass
        finally:
            sending.cancel()


async def main(address, port, folder, certificate=None):
    context = None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate + ".pem", certificate + ".key")
    open(os.path.join(folder, "actions"), "a", encoding="utf-8").close()
    backend = Backend(folder)
    async with websockets.serve(
        backend.serve, address, int(port), subprotocols=[PROTOCOL], ssl=context
    ) as server:
        for name, value in (("pid", os.getpid()), ("port", server.sockets[0].getsockname()[1])):
            with open(backend.path(name + ".new"), "w", encoding="utf-8") as f:
                f.write(str(value))
            os.rename(backend.path(name + ".new"), backend.path(name))
        await asyncio.Future()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
