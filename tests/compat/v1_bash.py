# SPDX-License-Identifier: MIT
"""OpenHands' agent-server: what its own tests of commands ask for, and what its users
complain about."""
import concurrent.futures
import json
import os
import re
import uuid

from tap import Rows, has, holds, lacks, same, wait_for
from v1_server import BASH, EVENTS

row = Rows()

HEX = re.compile("[0-9a-f]{32}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")


# --- test_bash_service, test_terminal_service, test_terminal_router


@row("a command has one BashCommand and one BashOutput, with all fields")
def _(s):
    command = s.start_command('echo "Hello World"', cwd="/tmp")
    same(set(command), {"command", "cwd", "timeout", "id", "timestamp", "kind"})
    same((command["cwd"], command["timeout"], command["kind"]), ("/tmp", 300, "BashCommand"))
    holds(HEX.fullmatch(command["id"]) and TIME.fullmatch(command["timestamp"]), command)
    (output,) = s.ended(command)
    same(set(output), {"id", "timestamp", "command_id", "order", "exit_code", "stdout",
                       "stderr", "kind"})
    same((output["command_id"], output["order"], output["exit_code"], output["stdout"],
          output["stderr"], output["kind"]),
         (command["id"], 0, 0, "Hello World\n", None, "BashOutput"))
    for event in (command, output):
        same(s.http.get(f"{EVENTS}/{event['id']}").json(), event)


@row("several lines are one output")
def _(s):
    output = s.execute("for i in 1 2 3; do echo line $i; done")
    same((output["stdout"], output["stderr"], output["order"]),
         ("line 1\nline 2\nline 3\n", None, 0))


@row("output and error output are apart")
def _(s):
    output = s.execute('echo "stdout message"; echo "stderr message" >&2')
    same((output["stdout"], output["stderr"], output["exit_code"]),
         ("stdout message\n", "stderr message\n", 0))


@row("exit codes: of the shell, and of a signal")
def _(s):
    same(s.execute("exit 42")["exit_code"], 42)
    same(s.execute("")["exit_code"], 0)
    same(s.execute("kill -9 $$")["exit_code"], -9)


@row("no state carries over")
def _(s):
    s.execute("cd /; X=1; export X")
    same(s.execute("echo [$X] $PWD")["stdout"], f"[] {s.dir}\n")


@row("a directory may be relative")
def _(s):
    os.mkdir(s.dir + "/below")
    same(s.execute("pwd", cwd="below")["stdout"], s.dir + "/below\n")


@row("a time-out: exit -1, and stderr says so")
def _(s):
    output = s.execute("echo before; sleep 60", timeout=1)
    same((output["exit_code"], output["stdout"]), (-1, "before\n"))
    has(output["stderr"], "Command timed out after 1 seconds", "timed out")


@row("a time-out of 0 or less comes at once")
def _(s):
    for seconds in (0, -5):
        same(s.execute("sleep 60", timeout=seconds)["exit_code"], -1)


@row("a time-out sends TERM first, and the log has no command")
def _(s):
    mark = os.path.join(s.root, "mark")
    command = s.start_command(
        f"SECRET=planted-secret; trap 'touch {mark}; exit 0' TERM; while :; do sleep 0.1; done",
        timeout=1)
    same(s.ended(command)[-1]["exit_code"], -1)
    holds(os.path.exists(mark))
    has(s.logged(), "Command timed out")
    lacks(s.logged(), "planted-secret")


@row("a time-out kills what ignores TERM, and its children")
def _(s):
    command = s.start_command("trap '' TERM; sleep 600 & echo $!; wait", timeout=1)
    output = s.ended(command)[-1]
    same(output["exit_code"], -1)
    pid = int(output["stdout"])

    def gone():
        try:
            with open(f"/proc/{pid}/stat") as stat:
                return stat.read().split()[2] in "ZX"
        except OSError:
            return True

    wait_for(gone, "the child is gone")


@row("a command ends with its shell; a background child that holds the output lives on")
def _(s):
    output = s.execute("sleep 1000 & echo $!; exit 4", timeout=1000)
    same(output["exit_code"], 4)
    os.kill(int(output["stdout"]), 9)  # raises if it is gone


@row("a start failure is an output, and the log has no command")
def _(s):
    output = s.execute("echo planted-secret", cwd="/nope")
    same((output["order"], output["exit_code"], output["stdout"]), (0, -1, None))
    holds(output["stderr"].startswith("Error executing command: "), output)
    has(output["stderr"], "No such file or directory", "/nope")
    has(s.logged(), "Error executing bash command")
    lacks(s.logged(), "planted-secret")


@row("more than a chunk of output: events in order, all of it in the end", slow=True)
def _(s):
    most = 1 << 20
    command = s.start_command(f"head -c {most + 1000} /dev/zero | tr '\\0' x")
    outputs = s.ended(command)
    same([each["order"] for each in outputs], list(range(len(outputs))))
    same([each["exit_code"] for each in outputs], [None] * (len(outputs) - 1) + [0])
    same(len(outputs[0]["stdout"]), most)
    same("".join(each["stdout"] or "" for each in outputs), "x" * (most + 1000))


@row("execute answers all output of a command, not its last chunk", slow=True)
def _(s):
    output = s.execute("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo no >&2; exit 5")
    same((len(output["stdout"]), output["stderr"], output["exit_code"], output["kind"]),
         (3000001, "no\n", 5, "BashOutput"))


@row("execute answers 60 MB of output, and what it writes to the other stream", slow=True)
def _(s):
    output = s.execute("head -c 60000000 /dev/zero | tr '\\0' x; echo end; echo no >&2; exit 6",
                       timeout=100)
    same((len(output["stdout"]), output["stdout"][-5:], output["stderr"], output["exit_code"]),
         (60000004, "xend\n", "no\n", 6))


@row("execute names pieces that were removed from the events before the end", slow=True)
def _(s):
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        answer = threads.submit(
            s.execute, "head -c 3000000 /dev/zero | tr '\\0' x; until [ -e go ]; do sleep 0.1; "
            "done; echo end", timeout=100)
        wait_for(lambda: len(s.search(kind__eq="BashOutput")["items"]) == 2, "two pieces are events")
        same(s.http.delete(BASH + "bash_events").status_code, 200)
        with open(s.dir + "/go", "w", encoding="ascii"):
            pass
        output = answer.result()
    same((output["stdout"][-4:], output["exit_code"]), ("end\n", 0))
    same(len(output["stdout"]), 3000000 - 2 * (1 << 20) + 4)
    has(output["stderr"], "2 pieces of this command's output", "had been removed")


@row("characters of four bytes count as one, and stay whole", slow=True)
def _(s):
    n = (1 << 20) + 10
    command = s.start_command(
        "x=$(printf '\\360\\237\\230\\200%.0s' 1 2 3 4 5 6 7 8 9 10); i=0; "
        f"yes $x | tr -d '\\n' | head -c {4 * n}")
    outputs = s.ended(command)
    same([len(each["stdout"]) for each in outputs], [1 << 20, 10])
    same("".join(each["stdout"] for each in outputs), "\U0001f600" * n)


@row("a character that comes in two pieces stays whole")
def _(s):
    output = s.execute("printf 'a\\303'; sleep 0.3; printf '\\251b'")
    same(output["stdout"], "a\u00e9b")


@row("what is not UTF-8 is replaced")
def _(s):
    same(s.execute("printf 'a\\377b\\303'")["stdout"], "a\ufffdb\ufffd")


@row("commands run at once, and each has its own outputs")
def _(s):
    commands = [s.start_command(f"sleep 0.2; echo number {i}") for i in range(8)]
    for i, command in enumerate(commands):
        (output,) = s.ended(command)
        same((output["command_id"], output["stdout"]), (command["id"], f"number {i}\n"))
    same(len(s.search(kind__eq="BashCommand")["items"]), 8)


@row("a client that goes does not stop its command")
def _(s):
    import socket
    mark = os.path.join(s.root, "mark")
    body = '{"command":"sleep 0.5; touch %s"}' % mark
    with socket.create_connection(("127.0.0.1", s.port)) as c:
        c.sendall((f"POST {BASH}execute_bash_command HTTP/1.1\r\nHost: localhost\r\n"
                   f"X-Session-API-Key: {s.key}\r\nContent-Length: {len(body)}\r\n\r\n"
                   f"{body}").encode())
        wait_for(lambda: s.search(kind__eq="BashCommand")["items"], "it has begun")
    wait_for(lambda: os.path.exists(mark), "the command went on")


@row("keys of the server are not in the environment of commands",
     env={"OH_SECRET_KEY": "planted-secret-1", "OH_SESSION_API_KEYS_1": "planted-secret-2",
          "SESSION_API_KEY": "planted-secret-3", "OTHER": "is there"})
def _(s):
    same(s.execute('echo "SESSION_API_KEY=$SESSION_API_KEY"')["stdout"], "SESSION_API_KEY=\n")
    seen = s.execute("env")["stdout"]
    lacks(seen, "planted-secret", "SESSION_API_KEY", "OH_SECRET_KEY", s.key)
    has(seen, "OTHER=is there", "AI_AGENT=openhands")


@row("AI_AGENT stays, LD_LIBRARY_PATH is as it was",
     env={"AI_AGENT": "mine", "LD_LIBRARY_PATH": "/bundle", "LD_LIBRARY_PATH_ORIG": "/was"})
def _(s):
    same(s.execute("echo $AI_AGENT $LD_LIBRARY_PATH")["stdout"], "mine /was\n")


@row("LD_LIBRARY_PATH goes where there was none before",
     env={"LD_LIBRARY_PATH": "/bundle", "LD_LIBRARY_PATH_ORIG": ""})
def _(s):
    same(s.execute("echo ${LD_LIBRARY_PATH-gone}")["stdout"], "gone\n")


@row("standard input is at its end")
def _(s):
    same(s.execute("cat; echo over")["stdout"], "over\n")


# --- search


@row("search: kind, command, pages")
def _(s):
    first, second = s.start_command("echo one"), s.start_command("echo two")
    s.ended(first), s.ended(second)
    same(len(s.search(kind__eq="BashCommand")["items"]), 2)
    same(len(s.search(kind__eq="BashOutput")["items"]), 2)
    dashed = str(uuid.UUID(first["id"]))
    for each in (first["id"], dashed, dashed.upper()):
        (found,) = s.search(command_id__eq=each)["items"]
        same(found["stdout"], "one\n")
    same(s.search(command_id__eq=first["id"], kind__eq="BashCommand")["items"], [])
    same(s.search(command_id__eq=uuid.uuid4().hex), {"items": [], "next_page_id": None})


@row("search: pages follow each other, in both orders")
def _(s):
    for i in range(5):
        s.execute(f"echo {i}")
    for order in ("TIMESTAMP", "TIMESTAMP_DESC"):
        whole = [each["id"] for each in s.search(sort_order=order)["items"]]
        same(len(whole), 10)
        pages, page = [], None
        while True:
            query = {"page_id": page} if page else {}
            found = s.search(sort_order=order, limit=3, **query)
            pages.append([each["id"] for each in found["items"]])
            page = found["next_page_id"]
            if page is None:
                break
        same([len(each) for each in pages], [3, 3, 3, 1])
        same(sum(pages, []), whole)
    up = [each["id"] for each in s.search()["items"]]
    same(whole, up[::-1])
    same(len(s.search(page_id="unknown")["items"]), 10)
    same(s.search(limit=10)["next_page_id"], None)


@row("search: order__gt counts before paging")
def _(s):
    command = s.start_command("head -c 2200000 /dev/zero | tr '\\0' x")
    s.ended(command)
    of = {"command_id__eq": command["id"]}
    same([each["order"] for each in s.search(order__gt=0, **of)["items"]], [1, 2])
    found = s.search(order__gt=0, limit=1, **of)
    same([each["order"] for each in found["items"]], [1])
    holds(found["next_page_id"])
    same(s.search(order__gt=2, **of)["items"], [])
    holds(any(each["kind"] == "BashCommand" for each in s.search(order__gt=7)["items"]))


def reads(worker):
    """System calls of this process that read, until now."""
    with open(f"/proc/{worker}/io") as file:
        return int(re.search(r"syscr: (\d+)", file.read())[1])


@row("search: thousands of events in files: pages, order__gt, and few of them are read",
     words=("--v1-bash-events-dir", "ROOT/events"), root="reads the worker's /proc/PID/io")
def _(s):
    command, count = uuid.uuid4().hex, 4000
    os.makedirs(s.root + "/events", exist_ok=True)
    s.stop()
    with open(f"{s.root}/events/20200102030400000000_BashCommand_{command}", "w") as file:
        file.write(json.dumps({"id": command, "kind": "BashCommand"}))
    for n in range(count):
        name = f"20200102{30405 + n // 1000:06}{n % 1000:06}_BashOutput_{command}_{n:032x}"
        with open(f"{s.root}/events/{name}", "w") as file:
            file.write(json.dumps({"id": f"{n:032x}", "command_id": command, "order": n + 3,
                                   "exit_code": None, "kind": "BashOutput"}))
    s.start()
    worker = wait_for(s.worker, "there is a worker")  # this makes it read, too
    before = reads(worker)
    found = s.search(command_id__eq=command, order__gt=2500)["items"]
    same([each["order"] for each in found], list(range(2501, 2601)))
    holds(reads(worker) - before < 500, reads(worker) - before)
    found = s.search(command_id__eq=command, order__gt=3990, sort_order="TIMESTAMP_DESC")
    same([each["order"] for each in found["items"]], list(range(count + 2, 3990, -1)))
    same(s.search(command_id__eq=command, order__gt=count + 2)["items"], [])
    same(len(s.search(command_id__eq=command, order__gt=-1)["items"]), 100)
    page, seen = None, []
    while page or not seen:
        answer = s.search(command_id__eq=command, **({"page_id": page} if page else {}))
        seen += [each["order"] for each in answer["items"]]
        page = answer["next_page_id"]
    same(seen, list(range(3, count + 3)))
    new = s.execute("echo new")
    s.search(timestamp__gte="2021-01-01")
    before = reads(worker)
    for _ in range(5):
        same(s.search(kind__eq="BashOutput", timestamp__gte="2021-01-01")["items"], [new])
    holds(reads(worker) - before < 60, "the newest events are read again", reads(worker) - before)


@row("search: times, with zones")
def _(s):
    from datetime import datetime, timedelta, timezone
    s.execute("echo one")
    second = s.start_command("echo two")
    s.ended(second)
    at = second["timestamp"]
    same([each["kind"] for each in s.search(timestamp__gte=at)["items"]],
         ["BashCommand", "BashOutput"])
    same(len(s.search(timestamp__lt=at)["items"]), 2)
    when = datetime.fromisoformat(at[:-1]).replace(tzinfo=timezone.utc)
    east = when.astimezone(timezone(timedelta(hours=2))).isoformat()
    same(len(s.search(timestamp__gte=east)["items"]), 2)
    same(len(s.search(timestamp__gte=at[:-1])["items"]), 2)
    same(s.search(timestamp__lt="2020-01-01T00:00:00Z")["items"], [])


@row("search: what is wrong with a query is 422, and says where")
def _(s):
    wrong = {
        "kind__eq=Other": ("literal_error", "kind__eq"),
        "limit=0": ("greater_than", "limit"),
        "limit=-1": ("greater_than", "limit"),
        "limit=101": ("less_than_equal", "limit"),
        "limit=x": ("int_parsing", "limit"),
        "command_id__eq=x": ("uuid_parsing", "command_id__eq"),
        "timestamp__gte=x": ("datetime_from_date_parsing", "timestamp__gte"),
        "order__gt=x": ("int_parsing", "order__gt"),
        "sort_order=UP": ("enum", "sort_order"),
    }
    for query, (kind, name) in wrong.items():
        answer = s.http.get(f"{EVENTS}/search?{query}")
        same(answer.status_code, 422, query)
        (item,) = answer.json()["detail"]
        same((item["type"], item["loc"]), (kind, ["query", name]))
        holds(item["msg"] and item["input"] == query.partition("=")[2], item)
    same(len(s.http.get(f"{EVENTS}/search?limit=0&order__gt=x").json()["detail"]), 2)


@row("search: a page may be long, and comes whole", slow=True)
def _(s):
    command = s.start_command("head -c 9000000 /dev/zero | tr '\\0' x")
    s.ended(command)
    found = s.outputs(command)
    same(sum(len(each["stdout"]) for each in found), 9000000)


# --- by id


@row("by id: with hyphens too; unknown ones are 404")
def _(s):
    command = s.start_command("true")
    for each in (command["id"], str(uuid.UUID(command["id"]))):
        same(s.http.get(f"{EVENTS}/{each}").json(), command)
    for each in (uuid.uuid4().hex, "x", "..%2F..%2Fetc%2Fpasswd"):
        answer = s.http.get(f"{EVENTS}/{each}")
        same((answer.status_code, answer.json()), (404, {"detail": "Not Found"}))


@row("batch: a body of ids, or a query; what is missing is null")
def _(s):
    command = s.start_command("true")
    (output,) = s.ended(command)
    ids = [output["id"], uuid.uuid4().hex, command["id"]]
    wanted = [output, None, command]
    same(s.http.request("GET", EVENTS + "/", json=ids).json(), wanted)
    same(s.http.get(EVENTS + "/", params={"event_ids": ids}).json(), wanted)
    for body, kind in ((None, "missing"), (b"{", "json_invalid"), (b"{}", "list_type"),
                       (b"[1]", "string_type")):
        answer = s.http.request("GET", EVENTS + "/", content=body)
        same((answer.status_code, answer.json()["detail"][0]["type"]), (422, kind))


@row("clear: says how many there were; none is found after it")
def _(s):
    same(s.http.delete(EVENTS).json(), {"cleared_count": 0})
    first, second = s.start_command("echo one"), s.start_command("echo two")
    (output,) = s.ended(first)
    s.ended(second)
    same(s.http.delete(EVENTS).json(), {"cleared_count": 4})
    same(s.search(), {"items": [], "next_page_id": None})
    for each in (first, output):
        same(s.http.get(f"{EVENTS}/{each['id']}").status_code, 404)


@row("clear: a command that runs goes on, and writes its output")
def _(s):
    command = s.start_command("sleep 0.4; echo after")
    same(s.http.delete(EVENTS).json(), {"cleared_count": 1})
    same(s.ended(command)[-1]["stdout"], "after\n")


# --- bodies


@row("bodies: what is wrong is 422; what upstream accepts is accepted")
def _(s):
    url = BASH + "start_bash_command"
    wrong = [
        ({}, "missing", ["body", "command"]),
        ({"command": 3}, "string_type", ["body", "command"]),
        ({"command": None}, "string_type", ["body", "command"]),
        ({"command": "true", "timeout": 2.5}, "int_from_float", ["body", "timeout"]),
        ({"command": "true", "timeout": "x"}, "int_parsing", ["body", "timeout"]),
        ({"command": "true", "cwd": 1}, "string_type", ["body", "cwd"]),
        ([], "model_attributes_type", ["body"]),
    ]
    for body, kind, loc in wrong:
        answer = s.http.post(url, json=body)
        same(answer.status_code, 422, body)
        same([(each["type"], each["loc"]) for each in answer.json()["detail"]], [(kind, loc)])
    same(s.http.post(url).json()["detail"][0]["type"], "missing")
    answer = s.http.post(url, content=b'{"command": "true"')
    same((answer.status_code, answer.json()["detail"][0]["type"]), (422, "json_invalid"))
    same(answer.json()["detail"][0]["loc"][0], "body")
    (item,) = s.http.post(url, content=b"nonsense").json()["detail"]
    same((item["loc"], item["ctx"]), (["body", 0], {"error": "Expecting value"}))
    for seconds in (2.0, "2"):
        same(s.start_command("true", timeout=seconds, unknown=[1])["timeout"], 2)
    same(s.start_command("true", cwd=None)["cwd"], None)
    same(s.search(kind__eq="BashCommand")["items"].__len__(), 3)


@row("bodies: JSON with another Content-Type is read, too")
def _(s):
    for kind in ("application/x-www-form-urlencoded", "text/plain", ""):
        answer = s.http.post(BASH + "execute_bash_command", content=b'{"command":"echo yes"}',
                             headers={"Content-Type": kind} if kind else {})
        same((answer.status_code, answer.json()["stdout"]), (200, "yes\n"), kind)


@row("a command that is too long to run is an output")
def _(s):
    output = s.execute("#" + "x" * 400000)
    same(output["exit_code"], -1)
    has(output["stderr"], "Error executing command: ")
    output = s.execute("#" + "x" * 2000000)
    same(output["exit_code"], -1)


# --- events on disk


@row("events are files of the agent-server's names, and survive a restart",
     words=("--v1-bash-events-dir", "ROOT/events"))
def _(s):
    command = s.start_command("echo kept")
    (output,) = s.ended(command)
    folder = s.root + "/events"
    names = sorted(os.listdir(folder))
    same(len(names), 2)
    holds(re.fullmatch(r"\d{20}_BashCommand_" + command["id"], names[0]), names)
    holds(re.fullmatch(rf"\d{{20}}_BashOutput_{command['id']}_{output['id']}", names[1]), names)
    s.stop()
    s.start()
    same(s.search()["items"], [command, output])
    same(s.http.get(f"{EVENTS}/{output['id']}").json(), output)
    later = s.start_command("echo later")
    s.ended(later)
    same([each["id"] for each in s.search(kind__eq="BashCommand")["items"]],
         [command["id"], later["id"]])


@row("events of the agent-server itself are read; files that are none are passed over",
     words=("--v1-bash-events-dir", "ROOT/events"))
def _(s):
    folder = s.root + "/events"
    s.execute("true")
    s.stop()
    ids = [uuid.uuid4().hex for _ in range(4)]
    with open(f"{folder}/20200102030405000006_BashOutput_{ids[0]}_{ids[1]}", "w") as file:
        file.write('{\n  "id": "%s",\n  "order": 7,\n  "kind": "BashOutput"\n}' % ids[1])
    with open(f"{folder}/20200102030406000006_BashCommand_{ids[2]}", "w") as file:
        file.write('{"id": "torn')
    for name in ("x", "20200102030406000006_BashCommand_x", "20200102030406000006_BashOther_"
                 + ids[3], ".hidden"):
        with open(f"{folder}/{name}", "w") as file:
            file.write("{}")
    s.start()
    same([each["id"] for each in s.search(timestamp__lt="2021-01-01")["items"]], [ids[1]])
    same(s.search(order__gt=7, timestamp__lt="2021-01-01")["items"], [])
    same(len(s.search()["items"]), 3)
    same(s.http.get(f"{EVENTS}/{ids[2]}").status_code, 404)
    has(s.logged(), "is skipped")


@row("by default nothing is written outside of the state directory")
def _(s):
    s.execute("true")
    same(os.listdir(s.dir), [])
    same(os.listdir(s.root + "/home"), [])


@row("retention removes old events at the start",
     words=("--v1-bash-events-dir", "ROOT/events", "--v1-bash-events-retention", "3600"))
def _(s):
    command = s.start_command("true")
    s.ended(command)
    s.stop()
    name = "20200102030405000006_BashCommand_" + "a" * 32
    with open(f"{s.root}/events/{name}", "w") as file:
        file.write('{"id":"%s","kind":"BashCommand"}' % ("a" * 32))
    s.start()
    wait_for(lambda: name not in os.listdir(s.root + "/events"), "the old one is gone")
    same(len(s.search()["items"]), 2)


@row("events are kept in memory where the folder cannot be written",
     words=("--v1-bash-events-dir", "ROOT/log/events"))
def _(s):
    command = s.start_command("echo kept")
    (output,) = s.ended(command)
    same(s.search()["items"], [command, output])
    same(s.http.get(f"{EVENTS}/{output['id']}").json(), output)
    has(s.logged(), "kept in memory only")
    same(s.http.delete(EVENTS).json(), {"cleared_count": 2})


@row("a command that has ended leaves no process behind, and no output next to its events")
def _(s):
    commands = [s.start_command(f"echo {i}") for i in range(5)]
    for command in commands:
        s.ended(command)
    spool = s.root + "/run/state/default/spool"
    wait_for(lambda: not [name for name in os.listdir(spool) if "v1-" in name],
             "their spools are gone")


# --- a worker that dies


@row("a killed worker: the command goes on and has exactly one last output", slow=True)
def _(s):
    mark = os.path.join(s.root, "go")
    command = s.start_command(
        f"echo before; while [ ! -e {mark} ]; do sleep 0.05; done; echo after; exit 7")
    s.kill_worker()
    same(s.outputs(command), [])
    open(mark, "w").close()
    (output,) = s.ended(command)
    same((output["stdout"], output["exit_code"], output["order"]), ("before\nafter\n", 7, 0))
    s.kill_worker()
    same(s.outputs(command), [output])


@row("a killed worker: long output has no gap and nothing twice", slow=True)
def _(s):
    mark = os.path.join(s.root, "go")
    command = s.start_command(
        f"seq 300000; seq 300000 >&2; while [ ! -e {mark} ]; do sleep 0.05; done; "
        "seq 300001 600000; seq 300001 600000 >&2")
    wait_for(lambda: any(each["stderr"] for each in s.outputs(command)), "there is a chunk")
    s.kill_worker()
    open(mark, "w").close()
    outputs = s.ended(command)
    same([each["order"] for each in outputs], list(range(len(outputs))))
    for stream in ("stdout", "stderr"):
        text = "".join(each[stream] or "" for each in outputs)
        holds(text == "".join(f"{i}\n" for i in range(1, 600001)), (stream, len(text)))


@row("a killed worker: the end while there is none is not lost", slow=True)
def _(s):
    commands = [s.start_command(f"sleep 0.{i}; echo {i}") for i in range(1, 9)]
    s.kill_worker()
    for i, command in enumerate(commands, 1):
        outputs = s.ended(command)
        same([(each["stdout"], each["exit_code"]) for each in outputs], [(f"{i}\n", 0)])


@row("a killed worker: the time-out holds", slow=True)
def _(s):
    command = s.start_command("sleep 600", timeout=3)
    s.kill_worker()
    (output,) = s.ended(command)
    same(output["exit_code"], -1)
    has(output["stderr"], "timed out")


@row("a killed keeper: the next server ends its commands with an error, each once")
def _(s):
    silent = s.start_command("sleep 600")
    ended = s.execute("echo ended")
    spoke = s.start_command("head -c 2000000 /dev/zero | tr '\\0' x; sleep 600")
    first = wait_for(lambda: s.outputs(spoke), "there is a chunk")
    for _ in range(2):
        s.kill()
        s.start()
    (output,) = s.outputs(silent)
    same((output["exit_code"], output["stdout"], output["order"]), (-1, None, 0))
    same(output["stderr"], "Error executing command: the server was killed, and the command "
                           "with it; all that the command wrote is lost")
    outputs = s.outputs(spoke)
    same(outputs[:-1], first)
    same([(x["order"], x["exit_code"]) for x in outputs], [(0, None), (1, -1)])
    has(outputs[-1]["stderr"], "what the command wrote after the previous event is lost")
    same(s.search(command_id__eq=ended["command_id"])["items"], [ended])


@row("the end of the server ends commands with an output",
     words=("--v1-bash-events-dir", "ROOT/events"))
def _(s):
    command = s.start_command("echo said; sleep 600")
    wait_for(lambda: "said" in s.execute("cat /dev/null; echo said")["stdout"], "it runs")
    s.stop()
    s.start()
    outputs = s.outputs(command)
    same(len(outputs), 1)
    holds(outputs[-1]["exit_code"] is not None, outputs)


@row("many polls at once are answered")
def _(s):
    command = s.start_command("sleep 0.3; echo done")
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: s.ended(command), range(8)))
    same(len({each[-1]["id"] for each in found}), 1)
