# SPDX-License-Identifier: MIT
"""events_doc.py: the examples of core/front/events/README.md do what it says.

    ```sh           lines are run one after the other on a new server, `#>` lines are
                    what the one before prints
    ```json client  each line is taken as a message: a known action, or no error
    ```json event   lines have the members of events in their order
    ```json plugin  is the log of a server with the plugins of SETUPS
"""
import asyncio
import json
import os
import re
import subprocess
import sys

from events_client import Peer, request, run, server_for
from tap import LIMIT, Rows, Tap, holds, run_rows, same, wait_for

ROOT = os.path.join(os.path.dirname(__file__), "../..")
row = Rows()


def blocks(kind):
    with open(os.path.join(ROOT, "core/front/events/README.md"), encoding="utf-8") as file:
        found = re.findall(rf"^```{kind}\n(.*?)^```", file.read(), re.M | re.S)
    holds(found, "there are examples of", kind)
    return [block.splitlines() for block in found]


@row("commands print what is said")
def _(case):
    command = None
    for line in sum(blocks("sh"), []):
        if not line.startswith("#> "):
            command = line
            done = subprocess.run(["sh", "-c", line], env={**os.environ, "OD": case.url},
                                  capture_output=True, text=True, timeout=LIMIT)
            same(done.returncode, 0, line)
        else:
            same(done.stdout.strip(), line[3:], command)


@row("messages are taken")
def _(case):
    async def talk():
        async with Peer(case, since=0) as peer:
            await peer.next()
            run(case, "true", session="another")
            run(case, "true")
            for line in sum(blocks("json client"), []):
                await peer.ws.send(line)
                if "action" in json.loads(line):
                    sent = json.loads(line)
                    event = await peer.action(
                        lambda e: (e["action"], e.get("args")) == (sent["action"], sent.get("args"))
                    )
                    await peer.end(event["id"])
            holds(all("error" not in message for message in peer.other), peer.other)

    asyncio.run(asyncio.wait_for(talk(), 3 * LIMIT))


@row("events look like that")
def _(case):
    request(case, "/events", {"action": "run", "client_id": "a-1",
                              "args": {"command": "echo hi", "until": "input"}})

    async def read():
        async with Peer(case, since=0) as peer:
            await peer.until(lambda e: e.get("id") == 2)
            return peer.events

    events = asyncio.run(asyncio.wait_for(read(), LIMIT))
    for line in sum(blocks("json event"), []):
        said = json.loads(line)
        real = events[said["id"]]
        same([name for name in real if name in said], list(said), "members in their order")


@row("od exec is in the log like that")
def _(case):
    sock = os.path.join(case.root, "run", "sock")
    done = subprocess.run([os.environ["OD"], "exec", "--socket", sock, "echo hi"],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT,
                          user=os.stat(sock).st_uid)
    same((done.returncode, done.stdout, done.stderr), (0, b"hi\n", b""), "od exec")
    lines = [json.loads(line) for line in sum(blocks("json exec"), [])]

    def page():
        return request(case, "/events?since=0")[1]["events"]

    wait_for(lambda: len(page()) == len(lines), "the log has both")
    for said, real in zip(lines, page()):
        same(list(real), list(said), "members in their order")
        same(list(real.get("extras", {})), list(said.get("extras", {})), "and of extras")
        same(list(real.get("args", {})), list(said.get("args", {})), "and of args")


@row("a command that goes on ends like that")
def _(case):
    (said,) = [json.loads(line) for line in sum(blocks("json ended"), [])]

    async def talk():
        async with Peer(case, since=0) as peer:
            await peer.ws.send(json.dumps({
                "action": "run", "session": "asks", "client_id": "a-1",
                "args": {"command": "read -p name: n; echo hello $n", "until": "input"}}))
            await peer.until(lambda e: "waiting" in e)
            await peer.ws.send(json.dumps(
                {"action": "input", "session": "asks", "args": {"text": "bob\n"}}))
            await peer.until(lambda e: e.get("observation") == "ended")
            return list(peer.events.values()), peer.other

    events, other = asyncio.run(asyncio.wait_for(talk(), LIMIT))
    (real,) = [e for e in events if e.get("observation") == "ended"]
    same(list(real), list(said), "members in their order")
    same((real["exit_code"], real["content"]), (0, "hello bob\n"), "what came of it")
    holds(other[0]["hello"]["features"] == ["until"], other[0])


SETUPS = {"tool": "echo tool is here", "bad": "exit 7"}


def plugin(name):
    """A folder that sets up what SETUPS says."""
    folder = os.path.join(os.environ["T"], name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "setup.sh"), "w", encoding="utf-8") as file:
        file.write(SETUPS[name] + "\n")
    return folder


@row("plugins tell like that", env={"OPENHANDS_SESSION_ID": "sandbox-7"},
     more=("--plugins", plugin("tool"), plugin("bad")))
def _(case):
    wanted = [json.loads(line) for line in sum(blocks("json plugin"), [])]

    def page():
        return request(case, "/events?since=0")[1]["events"]

    wait_for(lambda: len(page()) >= len(wanted), "the plugins are through")
    events = page()
    same([list(event) for event in events], [list(event) for event in wanted], "members")
    for event in events + wanted:
        del event["timestamp"]
    same(events, wanted)
    same(run(case, "echo on")["content"], "on", "a session after a failure")


def main():
    tap = Tap()
    run_rows(tap, [("front/events/README.md", each, server_for) for each in row], 3)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
