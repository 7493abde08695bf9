# SPDX-License-Identifier: MIT
"""A client of the event stream, on python3-websockets, and a server for it."""
import asyncio
import base64
import contextlib
import json
import os
import urllib.error
import urllib.request

import websockets
from tap import LIMIT, holds, same
from v0_server import Server, User, users

PROTOCOL = "od.events.v1"


# What root can do to a server that is another user's: its words follow.
AS_OTHER = 'exec setpriv --reuid=1000 --regid=1000 --clear-groups "$@"'
SMALL_STATE = f"""
mkdir -p "$OD_STATE_DIR" && mount -t tmpfs -o size=6m,uid=1000,gid=1000,mode=700 none "$OD_STATE_DIR" && {AS_OTHER}
"""
NO_STATE = f"""
places=$(ls -d /var/tmp /tmp /run /dev/shm 2>/dev/null)
for place in $places; do mount --rbind "$place" "$place" || exit; done
mount --bind "$0" "$0" || exit
for place in $places; do mount -o remount,ro,bind "$place" || exit; done
unset OD_STATE_DIR XDG_STATE_HOME XDG_RUNTIME_DIR
export HOME=/
{AS_OTHER}
"""
FEW_FILES = 'ulimit -n "$0" && exec "$@"'
MOUNTS = ["unshare", "-m", "--propagation", "private", "sh", "-c"]


def own_user():
    return [user for user in users()[0] if user.name == "own"][0]


class Peer:
    """One connection. It keeps every event it got, by id, and the deltas by cause; that
    ids come once and in order, and output without holes, is checked on the way."""

    def __init__(self, server, since=None, query="", key=None, say_key=None, sock=None):
        self.url = server.url.replace("http:", "ws:") + "/events?"
        if since is not None:
            self.url += f"since={since}&"
        self.url += query
        self.since, self.key, self.say_key, self.sock = since, key, say_key, sock
        self.events, self.output, self.at, self.gaps = {}, {}, {}, []
        self.last, self.other = since, []

    async def __aenter__(self):
        headers = {"X-Session-API-Key": self.key} if self.key else {}
        self.ws = await websockets.connect(
            self.url, subprotocols=[PROTOCOL], max_size=None, extra_headers=headers,
            ping_interval=None, max_queue=4, sock=self.sock, open_timeout=LIMIT,
        )
        same(self.ws.subprotocol, PROTOCOL)
        if self.say_key:
            await self.say(api_key=self.say_key)
        return self

    async def __aexit__(self, *_):
        await self.ws.close()

    async def say(self, **message):
        await self.ws.send(json.dumps(message))

    async def act(self, action, client_id=None, session=None, timeout=None, **args):
        message = {"action": action, "args": args}
        for name, value in (("client_id", client_id), ("session", session), ("timeout", timeout)):
            if value is not None:
                message[name] = value
        await self.say(**message)

    async def next(self, limit=LIMIT):
        """The next message, noted."""
        message = json.loads(await asyncio.wait_for(self.ws.recv(), limit))
        self.note(message)
        return message

    def note(self, message):
        if message.get("observation") == "delta":
            self.note_delta(message)
        elif "id" in message:
            self.note_event(message)
        else:
            self.other.append(message)

    def note_event(self, event):
        id = event["id"]
        first = event.get("extras", {}).get("from", id) if event.get("observation") == "gap" else id
        if self.last is not None:
            same(first, self.last + 1, "the next id")
        self.last = id
        self.events[id] = event
        if event.get("observation") == "ended":
            holds(self.end_of(event["cause"]) is not event, "it has an observation before", event)
        if "cause" in event and "output" in event and event["cause"] in self.at:
            same(self.at[event["cause"]], event["output"]["to"], "output before its observation")

    def note_delta(self, delta):
        cause, extras = delta["cause"], delta["extras"]
        if cause in self.at:
            same(extras["from"], self.at[cause], f"the next byte of {cause}")
        observed = any(e.get("cause") == cause for e in self.events.values())
        same(observed, extras.get("after", False), "output after the observation")
        self.at[cause] = extras["to"]
        if extras.get("gap"):
            self.gaps.append((cause, extras["from"], extras["to"]))
        elif extras.get("encoding") == "base64":
            data = base64.b64decode(delta["content"])
            same(len(data), extras["to"] - extras["from"])
            self.output[cause] = self.output.get(cause, b"") + data
        else:
            self.output[cause] = self.output.get(cause, "") + delta["content"]

    async def until(self, fact, limit=LIMIT):
        """Reads until fact(message) of one, which is given."""
        while True:
            message = await self.next(limit)
            if fact(message):
                return message

    def end_of(self, id):
        for event in self.events.values():
            if event.get("cause") == id:
                return event
        return None

    async def action(self, fact=lambda e: True):
        return await self.until(lambda e: "action" in e and fact(e))

    async def end(self, id, limit=LIMIT):
        """The observation of an action."""
        return self.end_of(id) or await self.until(lambda e: e.get("cause") == id and "id" in e,
                                                   limit)

    async def run(self, command, **more):
        """A command, and its observation."""
        await self.act("run", command=command, **more)
        event = await self.action(lambda e: e["args"].get("command") == command)
        return await self.end(event["id"])


def request(server, path, body=None, headers=None, limit=LIMIT):
    """(status, JSON or text) of a request."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    asked = urllib.request.Request(server.url + path, data, headers or {})
    try:
        with urllib.request.urlopen(asked, timeout=limit) as answer:
            status, text = answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read().decode()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text


def act(server, action, wait=True, headers=None, limit=LIMIT, **more):
    status, event = request(
        server, "/events" + ("" if wait else "?wait=0"), {"action": action, **more}, headers, limit
    )
    same(status, 200 if wait else 202, event)
    return event


def run(server, command, wait=True, **more):
    return act(server, "run", wait, args={"command": command}, **more)


def log_text(server):
    """All lines that are in the log's folder, as they are there."""
    text = ""
    top = os.path.join(server.root, "run", "state")
    for folder, _, names in sorted(os.walk(top)):
        if os.path.basename(folder) == "events":
            for name in sorted(names):
                if name.endswith(".jsonl"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        text += file.read()
    return text


@contextlib.contextmanager
def server_for(one):
    options = one.options
    env, key = dict(options.get("env", {})), options.get("key")
    if key:
        env["SESSION_API_KEY"] = key
    user = own_user()
    if options.get("state"):
        user = User("own", None, None, [*MOUNTS, options["state"]], user.options)
    if options.get("files"):
        before = [*user.before, "sh", "-c", FEW_FILES, str(options["files"])]
        user = User("own", None, None, before, user.options)
    server = Server(user, env, key, more=options.get("more", ()))
    with server.alive():
        yield server
