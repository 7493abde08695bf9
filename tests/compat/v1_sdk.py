# SPDX-License-Identifier: MIT
"""OpenHands' agent-server as the SDK's RemoteWorkspace uses it: the calls that its
execute_command makes, in their order, and what it makes of the answers."""
import base64
import time

import httpx

from tap import Rows, has, holds, same
from v1_server import BASH, EVENTS

row = Rows()


class Duplicate(Exception):
    pass


def execute_command(s, command, cwd=None, timeout=30.0):
    """software-agent-sdk, workspace/remote: execute_command's generator of requests."""
    stdout, stderr, code, seen, highest = [], [], None, set(), None
    body = {"command": command, "timeout": int(timeout)}
    if cwd is not None:
        body["cwd"] = cwd
    started = s.http.post(BASH + "start_bash_command", json=body, timeout=timeout + 5)
    started.raise_for_status()
    end = time.monotonic() + timeout
    while time.monotonic() < end and code is None:
        query = {"command_id__eq": started.json()["id"], "sort_order": "TIMESTAMP",
                 "limit": 100, "kind__eq": "BashOutput"}
        if highest is not None:
            query["order__gt"] = highest
        found = s.http.get(EVENTS + "/search", params=query, timeout=timeout)
        found.raise_for_status()
        for event in found.json()["items"]:
            if event["id"] in seen:
                raise Duplicate(event["id"])
            seen.add(event["id"])
            if event["order"] is not None:
                highest = max(highest if highest is not None else -1, event["order"])
            stdout.append(event["stdout"] or "")
            stderr.append(event["stderr"] or "")
            if event["exit_code"] is not None:
                code = event["exit_code"]
                break
        if code is None:
            time.sleep(0.1)
    if code is None:
        code = -1
        stderr.append(f"Command timed out after {timeout} seconds")
    text = "".join(stderr)
    return {"exit_code": code, "stdout": "".join(stdout), "stderr": text,
            "timeout_occurred": code == -1 and "timed out" in text}


@row("a command")
def _(s):
    same(execute_command(s, "echo out; echo err >&2; exit 4", cwd="/"),
         {"exit_code": 4, "stdout": "out\n", "stderr": "err\n", "timeout_occurred": False})


@row("a command that is slower than a poll")
def _(s):
    same(execute_command(s, "for i in 1 2 3 4 5; do echo $i; sleep 0.2; done")["stdout"],
         "1\n2\n3\n4\n5\n")


@row("a time-out is known as one, whoever finds it first")
def _(s):
    for seconds in (1.0, 1.9):
        result = execute_command(s, "echo before; sleep 60", timeout=seconds)
        same((result["exit_code"], result["timeout_occurred"]), (-1, True))
        has(result["stderr"], "timed out")


@row("base64 of a long output is whole", slow=True)
def _(s):
    result = execute_command(s, "head -c 5000000 /dev/urandom | tee data | base64 -w 0", timeout=60)
    with open(s.dir + "/data", "rb") as file:
        holds(base64.b64decode(result["stdout"]) == file.read(), len(result["stdout"]))


@row("more than a hundred chunks: later ones are found, too", slow=True)
def _(s):
    n = 110 << 20
    result = execute_command(s, f"head -c {n} /dev/zero | tr '\\0' x", timeout=60)
    same((result["exit_code"], len(result["stdout"])), (0, n))


@row("a base URL and relative paths")
def _(s):
    with httpx.Client(base_url=s.url + "/", headers={"X-Session-API-Key": s.key}) as client:
        same(client.get("health").status_code, 200)
        same(client.get("api/tools/").status_code, 200)
