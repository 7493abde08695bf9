# SPDX-License-Identifier: MIT
"""What is looked at in each cell, in this order; the last ones end the container."""
import asyncio
import json
import os
import pathlib
import signal

from container import FILES, LIMIT, MEMORY, UID, WORD, children, command_line, podman, processes, run, status_of
from tap import Rows, has, holds, same, wait_for

check = Rows()


# --- start: the program is the first process, and the condition holds


def is_uid(box):
    same(status_of(box.pid)["Uid"].split(), [str(UID)] * 4)
    passwd = pathlib.Path(f"/proc/{box.pid}/root/etc/passwd")
    text = passwd.read_text() if passwd.exists() else ""
    holds(f":{UID}:" not in text, text)


def is_ro(box):
    lines = pathlib.Path(f"/proc/{box.pid}/mountinfo").read_text().split("\n")
    of_root = [line.split() for line in lines if line and line.split()[4] == "/"]
    holds("ro" in of_root[-1][5].split(","), of_root)


def is_notmp(box):
    holds(not os.path.exists(f"/proc/{box.pid}/root/tmp"), "there is a /tmp")


def is_nopts(box):
    same(os.listdir(f"/proc/{box.pid}/root/dev/pts"), [])


def is_noproc(box):
    same(os.listdir(f"/proc/{box.pid}/root/proc"), [])


def is_nonet(box):
    same(pathlib.Path(f"/proc/{box.pid}/net/if_inet6").read_text(), "")


def is_seccomp(box):
    same(status_of(box.pid)["Seccomp"], "2")


def is_nofile(box):
    limits = pathlib.Path(f"/proc/{box.pid}/limits").read_text().split("\n")
    limit = next(line for line in limits if line.startswith("Max open files")).split()
    same(limit[3:5], [str(FILES)] * 2)


def is_memory(box):
    lines = pathlib.Path(f"/proc/{box.pid}/cgroup").read_text().split()
    found = {line.split(":")[1]: line.split(":", 2)[2] for line in lines}
    if "memory" in found:
        file = f"/sys/fs/cgroup/memory{found['memory']}/memory.limit_in_bytes"
    else:
        file = f"/sys/fs/cgroup{found['']}/memory.max"
    same(int(pathlib.Path(file).read_text()), MEMORY)


IN_FORCE = {
    "uid": is_uid,
    "ro": is_ro,
    "notmp": is_notmp,
    "nopts": is_nopts,
    "noproc": is_noproc,
    "nonet": is_nonet,
    "seccomp": is_seccomp,
    "nofile": is_nofile,
    "memory": is_memory,
}


@check("start")
def start(box):
    same(status_of(box.pid)["NSpid"].split()[-1], "1")
    for condition, in_force in IN_FORCE.items():
        if condition in box.conditions:
            in_force(box)
    if box.has_loopback:
        at = ["nsenter", "-t", str(box.pid), "-n", "curl", "-s", "-S", "-m", str(LIMIT)]
        has(run(*at, "http://127.0.0.1:3000/alive"), "ok")


# --- commands


def gives(box, status, out, *argv):
    got = box.exec(*argv)
    same(got[:2], (status, out), f"{argv}, which said {got[2]!r}:")


@check("commands")
def commands(box):
    if box.by_podman:
        said = podman("exec", box.name, box.od, "exec", "--list")
        holds(said.startswith("SESSION") or said == "" or "main" in said, said)
    if not box.image.has_shell:
        got = box.exec("true")
        same(got[0], 125)
        has(got[2], "shell")
        gives(box, 0, "of its own\n", "--new", "/busybox", "echo", "of its own")
        gives(box, 3, "", "--new", "/busybox", "sh", "-c", "exit 3")
        return
    gives(box, 3, "a\nb", "-s", "m", "cd /srv; v=kept; printf 'a\\nb'; (exit 3)")
    gives(box, 0, "kept /srv\n", "-s", "m", 'echo "$v $PWD"')
    gives(box, 0, "x\ty!\n", "-s", "m", "cat <<'END'\nx\ty!\nEND")
    gives(box, 127, "", "-s", "m", "nosuchprogram 2>/dev/null")
    gives(box, 0, "of its own\n", "--new", "echo", "of its own")
    if "nopts" not in box.conditions:
        gives(box, 124, "", "-s", "m", "-t", "1", "read answer; echo got $answer")
        gives(box, 0, "got yes\n", "-s", "m", "--input", "yes", "--wait")
    seen = act(box, "run", command="echo $((6 * 7))")
    same(seen["observation"], "run")
    same(seen["content"], "42")


# --- programs that od stands in for


@check("stand-ins")
def stand_ins(box):
    if not box.image.has_shell:
        return
    script = f"{box.od} script -qec 'exit 3' /dev/null </dev/null"
    if "nopts" in box.conditions:
        why = "script: cannot make a terminal: No such file or directory\n"
        gives(box, 0, why + "1\n", "-s", "p", f"{script} 2>&1; echo $?")
        return
    gives(box, 0, "3\n", "-s", "p", f"{script}; echo $?")
    record = f"{box.od} asciinema rec -q --return -c 'exit 4' - </dev/null >/dev/null"
    gives(box, 0, "4\n", "-s", "p", f"{record}; echo $?")
    tmux = f"{box.od} tmux -f /dev/null -S /v/tmux.sock"
    made = f"{tmux} new-session -d -s a 'echo seen; exec cat' </dev/null && {tmux} has-session -t a"
    gives(box, 0, "", "-s", "p", made)
    gives(box, 0, "", "-s", "p", f"{tmux} kill-server")


def worker_of(box):
    found = [pid for pid in children(box.pid) if command_line(pid).startswith("od-worker")]
    return found[0] if found else None


@check("killed")
def killed(box):
    """The worker dies in the middle of a command, which loses nothing by it."""
    wait = "echo begun; while [ ! -e /v/go ]; do @sleep 0.1; done; echo ended; exit 5"
    if box.image.has_shell:
        argv = ["exec", "-s", "m", "(" + wait.replace("@", "") + ")"]
    else:
        argv = ["exec", "--new", "/busybox", "sh", "-c", wait.replace("@", "/busybox ")]
    with box.begin(box.od, *argv) as caller:
        same(caller.stdout.readline(), b"begun\n")
        old = worker_of(box)
        os.kill(old, signal.SIGKILL)
        wait_for(lambda: worker_of(box) not in (None, old), "another worker", LIMIT)
        (box.shared / "go").touch()
        out, err = caller.communicate(timeout=LIMIT)
        same((out, caller.returncode), (b"ended\n", 5), f"with {err!r}:")


def act(box, kind, **arguments):
    answer = box.http.post("/execute_action", json={"action": {"action": kind, "args": arguments}})
    same(answer.status_code, 200, answer.text)
    return answer.json()


# --- files


def folder_of(box):
    """One that the container's user may write."""
    return "/v" if box.conditions & {"uid", "ro"} else "/srv"


@check("files")
def files(box):
    folder = folder_of(box)
    text = "one\ntwo \N{GREEK SMALL LETTER ALPHA}\n"
    same(act(box, "write", path=f"{folder}/made", content=text)["observation"], "write")
    has(act(box, "read", path=f"{folder}/made")["content"], "two \N{GREEK SMALL LETTER ALPHA}")
    data = bytes(range(256)) * 5000
    sent = box.http.post(
        "/upload_file", params={"destination": folder}, files={"file": ("sent", data)}
    )
    same(sent.status_code, 200, sent.text)
    got = box.http.get("/download_files", params={"path": f"{folder}/sent", "raw": "true"})
    same(got.status_code, 200)
    holds(got.content == data, "the bytes sent are not those that came back")
    listed = box.http.post("/list_files", json={"path": folder})
    same(listed.status_code, 200, listed.text)
    has(listed.json(), "made", "sent")
    owner = os.stat(f"/proc/{box.pid}/root{folder}/sent").st_uid
    same(owner, box.ids[0])


# --- events


def replayed(box, last):
    """The ids and kinds of all events up to one, as an event stream has them."""
    found = []
    accept = {"Accept": "text/event-stream"}
    with box.http.stream("GET", "/events", params={"since": 0}, headers=accept) as answer:
        same(answer.status_code, 200)
        for line in answer.iter_lines():
            if not line.startswith("data:"):
                continue
            event = json.loads(line[5:])
            if "id" in event:
                found.append((event["id"], event.get("action") or event.get("observation")))
                if event["id"] >= last:
                    return found
    raise AssertionError(f"the stream ended after {found}")


async def by_websocket(box, since, action):
    """An action's observation, over a WebSocket that follows the log."""
    import websockets

    socket = str(box.shared / "http")
    uri = f"ws://localhost/events?since={since}"
    async with websockets.unix_connect(socket, uri, subprotocols=["od.events.v1"],
                                       open_timeout=LIMIT) as ws:
        await ws.send(json.dumps(action))
        while True:
            event = json.loads(await asyncio.wait_for(ws.recv(), LIMIT))
            same(event.get("error"), None)
            if "observation" in event and event.get("client_id") == action["client_id"]:
                return event


@check("events")
def events(box):
    """An action runs once and has its events; a new worker has them all the same."""
    folder = folder_of(box)
    write = {"action": "write", "args": {"path": f"{folder}/event", "content": "by event\n"}}
    first = box.http.post("/events", json={**write, "client_id": "first"})
    same(first.status_code, 200, first.text)
    same(first.json()["observation"], "write")
    again = box.http.post("/events", json={**write, "client_id": "first"})
    same(again.json()["id"], first.json()["id"])
    last = first.json()["id"]
    before = replayed(box, last)
    same([event[0] for event in before], list(range(1, last + 1)))
    old = worker_of(box)
    os.kill(old, signal.SIGKILL)
    wait_for(lambda: worker_of(box) not in (None, old) and box.answers(), "a worker", LIMIT)
    same(replayed(box, last), before)
    read = {"action": "read", "args": {"path": f"{folder}/event"}, "client_id": "second"}
    got = asyncio.run(by_websocket(box, last, read))
    same(got["observation"], "read")
    has(got["content"], "by event")
    holds(got["id"] > got["cause"] > last, got)


# --- what PID 1 must do, and the image's own program


def inside_pids(box):
    """The container's processes: pid inside to status, as this machine sees them."""
    ours = os.readlink(f"/proc/{box.pid}/ns/pid")
    found = {}
    for pid in processes():
        try:
            if os.readlink(f"/proc/{pid}/ns/pid") != ours:
                continue
        except OSError:
            continue
        status = status_of(pid)
        if status:
            found[int(status["NSpid"].split()[-1])] = status
    return found


@check("pid1")
def pid1(box):
    file = box.shared / "orphan"
    wait_for(file.exists, "the orphan", LIMIT)
    orphan = int(file.read_text())

    def adopted():
        return inside_pids(box)[orphan]["PPid"] == str(box.pid)

    wait_for(adopted, "the first process is the orphan's parent", LIMIT)
    os.kill(int(inside_pids(box)[orphan]["Pid"]), signal.SIGKILL)
    wait_for(lambda: orphan not in inside_pids(box), "the orphan is reaped", LIMIT)
    os.kill(box.pid, signal.SIGUSR1)
    wait_for(lambda: b"own: USR1" in box.out.read_bytes(), "the signal is passed on", LIMIT)
    left = list(inside_pids(box).values())
    same(box.end(), 7, "the container's status")
    wait_for(lambda: not any(status_of(int(s["Pid"])) for s in left), "all are gone", LIMIT)


@check("own")
def own(box):
    same(box.out.read_text(), f"own: /srv, {WORD}\nown: USR1\nown: TERM\n")
    lines = [line for line in box.err.read_text().split("\n") if line]
    wrong = [line for line in lines if "BUG" in line or "core/" in line or "died" in line]
    same(wrong, [])
