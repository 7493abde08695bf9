# SPDX-License-Identifier: MIT
"""jupyter_rows.py [PATTERN]: what smolagents, AutoGen and OpenHands send to a Jupyter server
or gateway, and what the rules of the channels are: core/front/jupyter/README.md."""
import concurrent.futures
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import time

import httpx
import websocket

import front_case
from front_case import LIMIT, answers, wait_for
from jupyter_channels import TOKEN, Channels, text
from v0_server import OD
from tap import Rows, has, holds, lacks, same

row = Rows()


def start(case, **body):
    answer = case.http.post("/api/kernels", json=body)
    same(answer.status_code, 201, answer.text)
    same(answer.headers["location"], "/api/kernels/" + answer.json()["id"])
    return answer.json()["id"]


def make(user, options):
    """websocket-client sends an Origin, which needs a token."""
    case = front_case.Case("jupyter", user, {**options, "env": {"JUPYTER_TOKEN": TOKEN, **options.get("env", {})}})
    case.http.headers["Authorization"] = "token " + TOKEN
    return case


def channels_cwd(case, path):
    """The folder in which a kernel of this path runs."""
    kernel = start(case, path=path)
    channels = Channels(case, kernel)
    where = text(channels.run("import os; print(os.getcwd())")).strip()
    channels.close()
    same(case.http.delete("/api/kernels/" + kernel).status_code, 204)
    return where


EMBEDDED = {"JUPYTER_PATH": "/nowhere"}


@row("the routes of the API")
def _(case):
    has(case.http.get("/api").json(), "version")
    same(set(case.http.get("/api/status").json()), {"started", "last_activity", "connections", "kernels"})
    has(case.http.get("/api/me").json(), "identity")
    specs = case.http.get("/api/kernelspecs").json()
    name = specs["default"]
    one = case.http.get("/api/kernelspecs/" + name).json()
    same(one, specs["kernelspecs"][name])
    same(set(one["spec"]) >= {"argv", "env", "display_name", "language", "interrupt_mode", "metadata"}, True)
    for spec in specs["kernelspecs"].values():
        for where in spec["resources"].values():
            same(case.http.get(where).status_code, 200, where)
    for where in ("/api/kernelspecs/none", f"/kernelspecs/{name}/none.png", f"/kernelspecs/{name}/..%2fkernel.json",
                  "/api/kernels/none", "/api/sessions/none"):
        answer = case.http.get(where)
        same(answer.status_code, 404, where)
        same(set(answer.json()), {"message", "reason"}, where)
    same(case.http.post("/api/kernels", json={"name": "no-such-kernel"}).status_code, 404)
    same(case.http.post("/api/kernels", content=b"{").status_code, 400)
    for event, why in (({}, "Missing `schema_id`"), ({"schema_id": "x", "version": "1", "data": {}}, "Unregistered schema")):
        answer = case.http.post("/api/events", json=event)
        same(answer.status_code, 400)
        same(why in answer.json()["message"], True, answer.text)


@row("a key is needed, in one of its places")
def _(case):
    token = TOKEN
    del case.http.headers["Authorization"]
    same(case.http.get("/api").status_code, 200)
    for headers, query, status in (({}, "", 403), ({"Authorization": "token wrong-token"}, "", 403),
                                   ({}, "?token=wrong-token", 403), ({"Authorization": "token " + token}, "", 200),
                                   ({"Authorization": "Bearer " + token}, "", 200), ({}, "?token=" + token, 200)):
        answer = case.http.get("/api/kernels" + query, headers=headers)
        same(answer.status_code, status, (headers, query, answer.text))
    kernel = case.http.post("/api/kernels?token=" + token, json={}).json()["id"]
    for query in ("?token=", "?token=wrong"):
        try:
            Channels(case, kernel, query)
        except websocket.WebSocketBadStatusException as error:
            same(error.status_code, 403)
        else:
            raise AssertionError("a WebSocket was opened without the token")
    channels = Channels(case, kernel, "?token=" + token)
    has(text(channels.run("print(5)")), "5")
    channels.close()


@row("cells as smolagents and AutoGen send them, in both forms of frames")
def _(case):
    kernel = start(case)
    for v1 in (False, True):
        channels = Channels(case, kernel, v1=v1)
        seen = channels.run("print('é', end='')\n'value'")
        same(text(seen), "é")
        same([m["msg_type"] for m in seen if m["channel"] == "iopub"],
             ["status", "execute_input", "stream", "execute_result", "status"])
        seen = channels.run("1/0")
        same([m["content"]["ename"] for m in seen if m["msg_type"] == "error"], ["ZeroDivisionError"])
        same({m["parent_header"]["session"] for m in seen}, {channels.session})
        info = channels.send("shell", "kernel_info_request", {})
        reply = channels.until(lambda m, i=info: m["channel"] == "shell" and m["parent_header"]["msg_id"] == i)[-1]
        same(reply["content"]["language_info"]["name"], "python")
        channels.close()


@row("the embedded kernel", env=EMBEDDED)
def _(case):
    spec = case.http.get("/api/kernelspecs").json()["kernelspecs"]["od-python3"]
    same(spec["spec"]["argv"], [])
    kernel = start(case, name="od-python3")
    channels = Channels(case, kernel)
    seen = channels.run("print('own')\n3")
    same(text(seen), "own\n")
    same([m["content"].get("execution_state") for m in seen if m["msg_type"] == "status"], ["busy", "idle"])
    channels.close()


@row("each cell is once in the log, with its source", listen="jupyter@127.0.0.1:0",
     more=["--listen", "127.0.0.1:0"])
def _(case):
    kernel = start(case)
    channels = Channels(case, kernel)
    channels.run("print('seen in the log')")
    log = case.http.get(case.native() + "/events").text
    same(log.count('"source":"jupyter","action":"cell"'), 2, log[:2000])
    same(log.count('"code":"print(\'seen in the log\')"'), 1, log[:2000])
    channels.close()


@row("a client that connects again gets what it missed, once; so it does after the worker was killed")
def _(case):
    kernel = start(case)
    channels = Channels(case, kernel, "?session_id=mine")
    channels.run("import os, time")
    go = case.path("go")
    asked = channels.send("shell", "execute_request",
                          {"code": f"print('before')\nwhile not os.path.exists({go!r}): time.sleep(.02)\n"
                                   "print('after')", "silent": False})
    seen = channels.until(lambda m: m["msg_type"] == "stream")
    channels.close()
    wait_for(lambda: case.http.get("/api/kernels/" + kernel).json()["connections"] == 0, "it left")
    with open(go, "w", encoding="ascii"):
        pass
    wait_for(lambda: case.http.get("/api/kernels/" + kernel).json()["execution_state"] == "idle", "the cell's end")
    channels = Channels(case, kernel, "?session_id=mine")
    seen += channels.until(lambda m: m["msg_type"] == "execute_reply" or
                           m["content"].get("execution_state") == "idle")
    same(text(seen), "before\nafter\n")
    other = case.path("other")
    asked = channels.send("shell", "execute_request",
                          {"code": f"print('one')\nwhile not os.path.exists({other!r}): time.sleep(.02)\n"
                                   "print('two')", "silent": False})
    seen = channels.until(lambda m: m["msg_type"] == "stream" and m["parent_header"]["msg_id"] == asked)
    # Its place is stored after it was sent: by now, as another request has its answer.
    same(case.http.get("/api/kernels/" + kernel).status_code, 200)
    case.server.kill_worker()
    wait_for(answers(lambda: case.http.get("/api/kernels/" + kernel).status_code == 200), "the next worker")
    with open(other, "w", encoding="ascii"):
        pass
    channels = Channels(case, kernel, "?session_id=mine")
    seen += channels.answers(asked)
    same(text(m for m in seen if m["parent_header"].get("msg_id") == asked), "one\ntwo\n")
    same(text(channels.run("print('three')")), "three\n")
    channels.close()


@row("a client that never reads does not stop the others")
def _(case):
    kernel = start(case)
    deaf = Channels(case, kernel)
    channels = Channels(case, kernel)
    size = 48 << 20
    seen = channels.run(f"for i in range({size >> 16}): print('x' * 65535)")
    same(len(text(seen)), size)
    same(text(channels.run("print('on')")), "on\n")
    deaf.socket.shutdown()
    channels.close()


@row("a client that answers no ping while its agent thinks is still connected", slow=True)
def _(case):
    kernel = start(case)
    channels = Channels(case, kernel)
    same(text(channels.run("print('before')")), "before\n")
    # Each ping is two bytes, every 10 s; after 30 s without an answer others would be given up.
    wait_for(lambda: channels.socket.sock.recv(100, socket.MSG_PEEK).count(b"\x89\0") >= 4, "four pings wait")
    same(text(channels.run("print('after')")), "after\n")
    channels.close()


@row("requests that cannot be done get a reply")
def _(case):
    kernel = start(case)
    channels = Channels(case, kernel)
    for msg_id in ("x" * 65, "a b", 'a"b'):
        asked = channels.send("shell", "execute_request", {"code": "1"}, msg_id=msg_id)
        reply = channels.until(lambda m: m["msg_type"] == "execute_reply")[-1]
        same((reply["parent_header"]["msg_id"], reply["content"]["status"]), (asked, "error"))
    asked = channels.send("shell", "execute_request", {"code": "a = 1"}, msg_id="once")
    channels.answers(asked)
    channels.send("shell", "execute_request", {"code": "a = 2"}, msg_id="once")
    reply = channels.until(lambda m: m["msg_type"] == "execute_reply")[-1]
    same(reply["content"]["status"], "error")
    same([m["content"]["data"]["text/plain"] for m in channels.run("a") if m["msg_type"] == "execute_result"], ["1"])
    channels.close()


@row("malformed frames end their connection, and nothing else")
def _(case):
    kernel = start(case)
    good = Channels(case, kernel)
    for v1, frame in ((False, "no json"), (False, "[]"), (False, b"\0\0\0\1"), (False, b"\xff\xff\xff\xff" * 9),
                      (True, b""), (True, struct.pack("<3Q", 2, 1 << 60, 5)), (True, b"\1" * 64),
                      (True, struct.pack("<8Q", 7, *[64] * 7))):
        bad = Channels(case, kernel, v1=v1)
        bad.socket.send(frame, websocket.ABNF.OPCODE_TEXT if isinstance(frame, str) else websocket.ABNF.OPCODE_BINARY)
        same(bad.socket.recv(), "", (v1, frame))
        bad.close()
    same(text(good.run("print('well')")), "well\n")
    good.close()


@row("buffers in a frame without a subprotocol")
def _(case):
    kernel = start(case)
    channels = Channels(case, kernel)
    seen = channels.run("get_ipython().kernel.session.send(get_ipython().kernel.iopub_socket, 'display_data', "
                        "{'data': {}, 'metadata': {}}, parent=get_ipython().parent_header, "
                        "buffers=[b'\\x00\\xff', b''])")
    shown = [m for m in seen if m["msg_type"] == "display_data"]
    same([m["buffers"] for m in shown], [[b"\0\xff", b""]], [m["msg_type"] for m in seen])
    channels.close()


MIRROR = """
def opened(comm, message):
    comm.on_msg(lambda m: comm.send({'n': len(m['buffers'][0]), 'sum': sum(m['buffers'][0][::4096])}))
get_ipython().kernel.comm_manager.register_target('mirror', opened)
"""


def mirror(channels, v1=True):
    """Opens a comm that answers with what it got."""
    same(channels.run(MIRROR)[-1]["content"].get("ename"), None)
    channels.send("shell", "comm_open", {"comm_id": "one", "target_name": "mirror", "data": {}})


def mirrored(channels, n):
    """The next n answers of that comm."""
    got = []
    while len(got) < n:
        got += [m["content"]["data"] for m in [channels.next()] if m["msg_type"] == "comm_msg"]
    return got


@row("messages that the kernel's input has no room for are whole, in order, and before the cells after them")
def _(case):
    kernel = start(case)
    channels = Channels(case, kernel, v1=True)
    mirror(channels)
    wholes = [os.urandom(n) for n in (9 << 20, 9 << 20, 5, 300 << 10, 9 << 20, 100 << 10)]
    for whole in wholes:
        channels.send("shell", "comm_msg", {"comm_id": "one", "data": {}}, [whole])
    asked = channels.send("shell", "execute_request", {"code": "print('after')", "silent": False})
    same(mirrored(channels, len(wholes)), [{"n": len(one), "sum": sum(one[::4096])} for one in wholes])
    same(text(channels.answers(asked)), "after\n")
    channels.close()


def settled(number):
    """Waits until number() is above 0 and has not changed for two seconds."""
    seen = [number(), time.monotonic()]

    def same_for_long():
        if number() != seen[0]:
            seen[:] = [number(), time.monotonic()]
        return seen[0] > 0 and time.monotonic() - seen[1] > 2
    wait_for(same_for_long, "it settles")


@row("a kernel that reads nothing for a while, with more messages than it has room for: all of them arrive")
def _(case):
    kernel = start(case)
    channels = Channels(case, kernel, v1=True)
    mirror(channels)
    pid = int(text(channels.run("import os; print(os.getpid())")))
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        host = int(file.read().rpartition(")")[2].split()[1])

    def taken():
        with open(f"/proc/{host}/io", encoding="ascii") as file:
            return int(file.read().split()[1]) - before
    before = 0
    before = taken()
    wholes = [os.urandom(9 << 20) for _ in range(10)]
    os.kill(pid, signal.SIGSTOP)

    def send_all():
        for whole in wholes:
            channels.send("shell", "comm_msg", {"comm_id": "one", "data": {}}, [whole])
        return channels.send("shell", "execute_request", {"code": "print('after')", "silent": False})
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        sent = threads.submit(send_all)
        settled(taken)
        os.kill(pid, signal.SIGCONT)
        same(mirrored(channels, len(wholes)), [{"n": len(one), "sum": sum(one[::4096])} for one in wholes])
        same(text(channels.answers(sent.result())), "after\n")
    channels.close()


@row("a cell that runs while messages fill the kernel's input: it prints more than the window, it is interrupted, and the next runs")
def _(case):
    kernel = start(case)
    channels, other = Channels(case, kernel, v1=True), Channels(case, kernel)
    go = case.path("go")
    asked = other.send("shell", "execute_request", {
        "code": f"import os\nwhile not os.path.exists({go!r}): pass\nfor _ in range(500): print('x' * 65535)\nwhile True: pass",
        "silent": False})
    other.until(lambda m: m["msg_type"] == "execute_input" and m["parent_header"]["msg_id"] == asked)
    sent = [0]

    def send_all():
        for n in range(3010):  # libzmq queues at most 1000 at each end
            channels.send("shell", "comm_msg", {"comm_id": "one", "data": {}}, [bytes(9 << 20)] if n >= 3000 else [])
            sent[0] += 1
        return channels.send("shell", "execute_request", {"code": "print('after')", "silent": False})
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        last = threads.submit(send_all)
        settled(lambda: sent[0])
        holds(sent[0] < 3010, "its client waits", sent)
        with open(go, "w", encoding="ascii"):
            pass
        size = 0
        while size < 500 << 16:
            size += len(text([other.next()]))
        same(case.http.post(f"/api/kernels/{kernel}/interrupt").status_code, 204)
        has([m["content"].get("ename") for m in other.answers(asked)], "KeyboardInterrupt")
        same(text(channels.answers(last.result())), "after\n")
    channels.close()
    other.close()


@row("a cell of 900 KB, one that is too long, and one while a long one waits, before and after the worker was killed")
def _(case):
    kernel = start(case)
    channels = Channels(case, kernel, v1=True)
    for size in (150 << 10, 200 << 10, 900 << 10):
        same(text(channels.run(f"print(len('{'x' * size}'))")), f"{size}\n")
    same([m["content"]["ename"] for m in channels.run("x" * (2 << 20)) if m["msg_type"] == "error"], ["RequestError"])
    asked = [channels.send("shell", "execute_request", {"code": f"print(len('{'x' * (900 << 10)}'))", "silent": False}) for _ in range(3)]
    same([text(channels.answers(one)) for one in asked[2:]], [f"{900 << 10}\n"])
    go = case.path("go")
    asked = channels.send("shell", "execute_request", {
        "code": f"import os, time\nwhile not os.path.exists({go!r}): time.sleep(.02)\nprint(len('{'x' * (900 << 10)}'))", "silent": False})
    channels.until(lambda m: m["msg_type"] == "execute_input" and m["parent_header"]["msg_id"] == asked)
    case.server.kill_worker()
    wait_for(answers(lambda: case.http.get("/api/kernels/" + kernel).status_code == 200), "the next worker")
    again = Channels(case, kernel, "?session_id=" + channels.session, v1=True)
    with open(go, "w", encoding="ascii"):
        pass
    same(text(again.run(f"print(len('{'y' * (800 << 10)}'))")), f"{800 << 10}\n")
    again.close()


@row("a kernel that ends while a long message is on its way, and a worker that is killed then")
def _(case):
    kernel = start(case)
    big = os.urandom(9 << 20)
    channels = Channels(case, kernel, v1=True)
    mirror(channels)
    channels.send("shell", "execute_request", {"code": "import os, time; time.sleep(1); os._exit(1)", "silent": False})
    for _ in range(6):
        channels.send("shell", "comm_msg", {"comm_id": "one", "data": {}}, [big])
    channels.until(lambda m: m["content"].get("execution_state") == "restarting")
    same(text(channels.run("print('again')")), "again\n")
    mirror(channels)
    for _ in range(4):
        channels.send("shell", "comm_msg", {"comm_id": "one", "data": {}}, [big])
    case.server.kill_worker()
    wait_for(answers(lambda: case.http.get("/api/kernels/" + kernel).status_code == 200), "the next worker")
    channels = Channels(case, kernel, v1=True)
    same(text(channels.run("print('well')")), "well\n")
    channels.send("shell", "comm_open", {"comm_id": "two", "target_name": "mirror", "data": {}})
    channels.send("shell", "comm_msg", {"comm_id": "two", "data": {}}, [big])
    wait_for(lambda: {"n": len(big), "sum": sum(big[::4096])} in mirrored(channels, 1), "the comm answers")
    channels.close()


@row("100 MB of buffers in one message become a line that says so; 100 MB of text in one, or many, are all there")
def _(case):
    kernel = start(case)
    size = 100 << 20
    for v1 in (False, True):
        channels = Channels(case, kernel, v1=v1)
        asked = channels.send("shell", "execute_request",
                              {"code": "get_ipython().kernel.session.send(get_ipython().kernel.iopub_socket, 'display_data', "
                                       "{'data': {}, 'metadata': {}}, parent=get_ipython().parent_header, "
                                       f"buffers=[bytes({size})])", "silent": False})
        seen = channels.until(lambda m, a=asked: m["content"].get("execution_state") == "idle" and m["parent_header"].get("msg_id") == a)
        same([(m["msg_type"], text([m])) for m in seen if m["msg_type"] in ("stream", "display_data")],
             [("stream", "od: a message of the kernel is missing here: it is too long\n")])
        same(text(channels.run("print('on')")), "on\n")
        channels.close()
    channels = Channels(case, kernel, v1=True)
    for cell in (f"print('x' * {size - 1})", f"for i in range({size >> 16}): print('x' * 65535)"):
        same(len(text(channels.run(cell))), size, cell)
    with open(f"/proc/{case.server.worker()}/status", encoding="ascii") as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    holds(peak < 200 << 10, "the worker's memory stays bounded", peak)
    channels.close()


@row("a base URL", more=["--jupyter-base-url", "/user/me/"])
def _(case):
    same(case.http.get("/user/me/api/status").status_code, 200)
    answer = case.http.post("/user/me/api/kernels", json={})
    kernel = answer.json()["id"]
    same(answer.headers["location"], "/user/me/api/kernels/" + kernel)
    channels = Channels(case, kernel, prefix="/user/me")
    same(text(channels.run("print(1)")), "1\n")
    channels.close()


@row("a link among a kernelspec's files leads nowhere, and only files that clients show are there")
def _(case):
    folder = os.path.join(case.server.home, ".local", "share", "jupyter", "kernels", "mine")
    os.makedirs(folder)
    secret = case.path("secret")
    for path, text in ((secret, '{"word": "hidden"}'), (folder + "/logo-svg.svg", "<svg/>"), (folder + "/other", "x"),
                       (folder + "/kernel.json", '{"argv": ["/bin/sh", "{connection_file}"], "display_name": "Mine"}')):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    os.symlink(secret, folder + "/logo-32x32.png")
    same(case.http.get("/kernelspecs/mine/logo-svg.svg").text, "<svg/>")
    for name in ("logo-32x32.png", "other", "kernel.json"):
        same(case.http.get("/kernelspecs/mine/" + name).status_code, 404, name)
    os.replace(folder + "/kernel.json", folder + "/old")
    os.symlink(secret, folder + "/kernel.json")
    lacks(case.http.get("/api/kernelspecs").text, "hidden")


@row("an id that a path, a header or a log could not have as it is")
def _(case):
    before = [k["id"] for k in case.http.get("/api/kernels").json()]
    for kernel_id in ("a\r\nX: y", "a b", "../x", "x" * 41, '"', "é"):
        answer = case.http.post("/api/kernels", json={"kernel_id": kernel_id})
        same(answer.status_code, 400, kernel_id)
    same([k["id"] for k in case.http.get("/api/kernels").json()], before)


@row("a kernel starts in the folder of its path, with its variables, and an agent's cells are seen",
     listen="jupyter@127.0.0.1:0", more=["--listen", "127.0.0.1:0"])
def _(case):
    root = channels_cwd(case, "")
    os.makedirs(root + "/sub", exist_ok=True)
    same(channels_cwd(case, "sub/n.ipynb"), root + "/sub")
    same(channels_cwd(case, "../../.."), root)
    kernel = start(case)
    channels = Channels(case, kernel)
    case.http.post(case.native() + "/events", json={"action": "cell", "args": {"code": "print('agent')", "kernel": kernel}})
    has(text(channels.until(lambda m: m["msg_type"] == "stream")), "agent")
    channels.close()


@row("a session's kernel has its variables, and ends with it")
def _(case):
    session = case.http.post("/api/sessions", json={"path": "n.ipynb", "type": "notebook", "name": "n.ipynb",
                                                    "kernel": {"name": ""}})
    same(session.status_code, 201, session.text)
    kernel = start(case, env={"KERNEL_X": "given"})
    channels = Channels(case, kernel)
    same(text(channels.run("import os; print(os.environ['KERNEL_X'])")), "given\n")
    before = len(case.http.get("/api/kernels").json())
    same(case.http.delete("/api/sessions/" + session.json()["id"]).status_code, 204)
    wait_for(lambda: len(case.http.get("/api/kernels").json()) == before - 1, "its kernel ends")
    same(case.http.delete("/api/kernels/" + kernel).status_code, 204)
    same(channels.until(lambda m: m["msg_type"] == "status" and m["content"]["execution_state"] == "dead")[-1]
         ["channel"], "iopub")
    same(channels.socket.recv(), "")


# --- contents, terminals

def save(case, path, content, **more):
    return case.http.put("/api/contents/" + path, json={"type": "file", "format": "text", "content": content, **more})


@row("changes of contents are actions in the log, each once", listen="jupyter@127.0.0.1:0",
     more=["--listen", "127.0.0.1:0"])
def _(case):
    same(save(case, "a.txt", "the only text").status_code, 201)
    same(case.http.patch("/api/contents/a.txt", json={"path": "b.txt"}).status_code, 200)
    same(case.http.post("/api/contents", json={"copy_from": "b.txt"}).json()["path"], "b-Copy1.txt")
    same(case.http.put("/api/contents/dir", json={"type": "directory"}).status_code, 201)
    same(case.http.delete("/api/contents/b.txt").status_code, 204)
    same(case.http.delete("/api/contents/none").status_code, 404)
    same(case.http.get("/api/contents/b-Copy1.txt").json()["content"], "the only text")
    log = case.http.get(case.native() + "/events")
    same([one["action"] for one in log.json()["events"] if one.get("source") == "jupyter"],
         ["receive", "move", "copy", "mkdir", "remove"])
    lacks(log.text, "the only text")


@row("two saves at once with the hash that both have read: one of them wins")
def _(case):
    save(case, "a.txt", "old")
    for round_ in range(5):
        known = case.http.get("/api/contents/a.txt?hash=1&content=0").json()
        same(known["hash_algorithm"], "sha256")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            got = list(pool.map(lambda n: save(case, "a.txt", f"{round_} by {n}", hash=known["hash"]), range(3)))
        same(sorted(answer.status_code for answer in got), [200, 409, 409])
        winner = next(n for n, answer in enumerate(got) if answer.status_code == 200)
        same(case.http.get("/api/contents/a.txt").json()["content"], f"{round_} by {winner}")
    same(save(case, "none.txt", "x", hash="0" * 64).status_code, 409)
    same(save(case, "a.txt", "y", hash=case.http.get("/api/contents/a.txt?hash=1").json()["hash"]).status_code, 200)
    # Names are free when they are taken, however many ask.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        got = list(pool.map(lambda _: case.http.post("/api/contents", json={"type": "file", "ext": ".x"}).json()["path"],
                            range(8)))
    same(sorted(got), ["untitled.x", *(f"untitled{n}.x" for n in range(1, 8))])


@row("large files: saved and read whole, in chunks, refused; what a client leaves behind")
def _(case):
    big = "0123456789abcde\n" * (1 << 20)
    same(save(case, "big.txt", big).status_code, 201)
    same(case.http.get("/files/big.txt").text == big, True)
    same(case.http.get("/api/contents/big.txt").json()["content"] == big, True)
    same(case.http.get("/files/big.txt", headers={"Range": "bytes=16-19"}).text, "0123")
    for number in (1, 2, -1):
        answer = save(case, "parts.txt", big[:1 << 20], chunk=number)
    same(answer.json()["size"], 3 << 20)
    with open(case.path("huge"), "wb") as file:
        file.truncate((64 << 20) + 1)
    same(case.http.get("/api/contents/huge").status_code, 413)
    same(case.http.get("/api/contents/huge?content=0").json()["size"], (64 << 20) + 1)
    with socket.create_connection(case.http.base_url.raw[1:3]) as left:
        left.sendall(f"PUT /api/contents/left.txt HTTP/1.1\r\nHost: x\r\nAuthorization: token {TOKEN}\r\n"
                     "Content-Length: 1000\r\n\r\n{\"type\"".encode())
    same(save(case, "after.txt", "x").status_code, 201)
    same(sorted(name for name in os.listdir(case.dir) if not name.startswith(".ipynb")),
         ["after.txt", "big.txt", "huge", "parts.txt"])


@row("no path leaves the root, and what may not be written is refused",
     more=["--jupyter-root", "/usr/share"])
def _(case):
    same(case.http.get("/api/contents").json()["type"], "directory")
    for path in ("..%2fbin", "%2e%2e/bin", "doc/..%2f..%2f..%2fetc/passwd", "..", "a%00b"):
        for where in ("/api/contents/", "/files/"):
            answer = case.http.get(where + path)
            holds(answer.status_code in (400, 404), where + path, answer.text)
            lacks(answer.text, "root:")
    same(save(case, "%2e%2e/x", "x").status_code, 404)
    same(case.http.post("/api/contents/doc", json={"copy_from": "../../etc/passwd"}).status_code, 404)
    if not os.access("/usr/share", os.W_OK) or os.getuid() == 0:  # then the server is another user
        same(save(case, "a-new-file", "x").status_code, 403)
        same(case.http.get("/api/contents").json()["writable"], False)
        same(case.http.get("/api/contents/a-new-file").status_code, 404)


@row("contents, a session and a terminal are there after the worker was killed")
def _(case):
    same(save(case, "a.txt", "kept").status_code, 201)
    same(case.http.get("/api/config/mine").json(), {})
    same(case.http.put("/api/config/mine", json={"a": {"b": 1, "c": 1}, "d": [1]}).status_code, 204)
    same(case.http.patch("/api/config/mine", json={"a": {"b": 2, "c": None}, "d": None}).json(), {"a": {"b": 2}})
    same(case.http.patch("/api/config/mine", json={"x": "y" * (300 << 10)}).status_code, 413)
    name = case.http.post("/api/terminals", json={}).json()["name"]
    url = f"{case.address().replace('http', 'ws')}/terminals/websocket/{name}?token={TOKEN}"
    first = websocket.create_connection(url, timeout=LIMIT)
    first.send(json.dumps(["stdin", "word=kept; echo $word-one\r"]))
    seen = ""
    while "kept-one" not in seen:
        seen += str(json.loads(first.recv())[1])
    case.server.kill_worker()
    wait_for(answers(lambda: case.http.get("/api/terminals/" + name).status_code == 200), "the next worker")
    again = websocket.create_connection(url, timeout=LIMIT)
    again.send(json.dumps(["stdin", "echo $word-two\r"]))
    seen = ""
    while "kept-two" not in seen:
        seen += str(json.loads(again.recv())[1])
    has(seen, "kept-one")
    same(case.http.get("/api/contents/a.txt").json()["content"], "kept")
    same(save(case, "a.txt", "new").status_code, 200)
    same(case.http.get("/api/config/mine").json(), {"a": {"b": 2}})
    again.close()


# --- kernels of other languages

OTHERS = {
    # kernelspec: (a cell, its text, assigns 5 to a name, the name, what runs without an end, what ends the process)
    "ir": ("cat('seen')", "seen", "five <- 5", "five", "repeat Sys.sleep(.01)", "tools::pskill(Sys.getpid(), 9)"),
    "octave": ("printf('seen')", "seen", "five = 5;", "five", "while true; pause(.01); end", "kill(getppid(), 9)"),
    "deno": ("console.log('seen')", "seen\n", "const five = 5", "five", "while (true) {}", "Deno.kill(Deno.pid, 'SIGKILL')"),
}


def shown(messages):
    return text(messages) + "".join(m["content"]["data"].get("text/plain", "") for m in messages if "data" in m["content"])


def says(channels, cell, said):
    """Deno's kernel may send what a cell prints, or its value, after the cell is idle."""
    messages = channels.run(cell)
    while said not in shown(messages):
        messages.append(channels.next())


def drives(case, name):
    """Starts, executes, interrupts, restarts, dies, by the channels."""
    cell, said, assigns, variable, endless, ends = OTHERS[name]
    kernel = start(case, name=name)
    channels = Channels(case, kernel, v1=True)
    says(channels, cell, said)
    channels.run(assigns)
    says(channels, variable, "5")
    asked = channels.send("shell", "execute_request", {"code": endless, "silent": False})
    channels.until(lambda m: m["msg_type"] == "execute_input" and m["parent_header"]["msg_id"] == asked)
    same(case.http.post(f"/api/kernels/{kernel}/interrupt").status_code, 204)
    channels.answers(asked)
    says(channels, cell, said)
    same(case.http.post(f"/api/kernels/{kernel}/restart").status_code, 200)
    lacks(shown([m for m in channels.run(variable) if m["msg_type"] != "error"]), "5")
    asked = channels.send("shell", "execute_request", {"code": ends, "silent": False})
    channels.until(lambda m: m["msg_type"] == "status" and m["content"]["execution_state"] == "restarting")
    wait_for(lambda: case.http.get("/api/kernels/" + kernel).json()["execution_state"] == "idle", "it is started again")
    says(channels, cell, said)
    same(case.http.delete("/api/kernels/" + kernel).status_code, 204)
    channels.until(lambda m: m["msg_type"] == "status" and m["content"]["execution_state"] == "dead")
    channels.close()


@row("R's kernel: starts, executes, is interrupted, restarts, dies", needs=("R",))
def _(case):
    drives(case, "ir")


@row("Octave's kernel: starts, executes, is interrupted, restarts, dies", needs=("octave",))
def _(case):
    drives(case, "octave")


@row("Deno's kernel: starts, executes, is interrupted, restarts, dies", needs=("deno",))
def _(case):
    deno = shutil.which("deno")
    folder = os.path.join(case.server.home, ".local", "share", "jupyter", "kernels", "deno")
    os.makedirs(folder)
    with open(folder + "/kernel.json", "w", encoding="ascii") as file:
        json.dump({"argv": [deno, "jupyter", "--kernel", "--conn", "{connection_file}"], "display_name": "Deno",
                   "language": "typescript", "env": {"DENO_DIR": case.path("deno-cache"), "NO_COLOR": "1"}}, file)
    drives(case, "deno")


# --- the programs

def plain_env(case):
    """Without the names of the row's own server; the programs name theirs."""
    run = case.path("run")
    os.makedirs(run, 0o700, exist_ok=True)
    return {**{name: value for name, value in case.server.env.items() if not name.startswith("OD_")},
            "XDG_RUNTIME_DIR": run, "OD_STATE_DIR": run}


def program(case, name, *words, **env):
    """A link of this name, until its socket is there: where it listens, and the process."""
    link = case.path(name)
    os.symlink(OD, link)
    done = subprocess.Popen([link, *words], env={**plain_env(case), **env}, cwd=case.dir, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = ""
    while " is available at http://" not in said:
        line = done.stdout.readline()
        holds(line, said)
        said += line
    return said.partition("jupyter@")[2].split(";")[0].split(",")[0].replace("0.0.0.0", "127.0.0.1"), done, said


@row("the gateway, as AutoGen's local server starts it: it waits for a line on standard error, which ends with the port")
def _(case):
    link = case.path("jupyter")
    os.symlink(OD, link)
    words = [link, "kernelgateway", "--KernelGatewayApp.ip", "127.0.0.1", "--KernelGatewayApp.auth_token", "secret-of-rows",
             "--JupyterApp.answer_yes", "true", "--JupyterApp.log_file", "gateway.log", "--JupyterApp.log_level", "INFO",
             "--JupyterWebsocketPersonality.list_kernels", "true", "--KernelGatewayApp.port", "0", "--KernelGatewayApp.port_retries", "0"]
    process = subprocess.Popen(words, env={**plain_env(case), "JUPYTER_TOKEN": ""}, cwd=case.dir, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line, said = " ", ""
        while "is available at" not in line:
            line = process.stderr.readline()
            said += line
            holds(line and "ERROR:" not in line, said)
        port = int(line.split(":")[-1])
        url, head = f"http://127.0.0.1:{port}", {"Authorization": "token secret-of-rows"}
        kernel = httpx.post(url + "/api/kernels", headers=head, json={}, timeout=LIMIT).json()["id"]
        channels = websocket.create_connection(f"ws://127.0.0.1:{port}/api/kernels/{kernel}/channels", header=head, timeout=LIMIT)
        channels.close()
        same(httpx.get(url + "/api/kernels", timeout=LIMIT).status_code, 403)
    finally:
        process.terminate()
        process.communicate(timeout=LIMIT)


@row("a folder with more entries than are listed is refused by name, and its files are there")
def _(case):
    os.mkdir(case.path("many"))
    for n in range(100001):
        os.mknod(case.path("many", str(n)))
    os.mknod(case.path("few"))
    answer = case.http.get("/api/contents/many")
    same((answer.status_code, answer.json()["message"]), (413, "many has more than 100000 entries"))
    same(case.http.get("/api/contents/many?content=0").status_code, 200)
    same(case.http.get("/api/contents/many/99999?content=0").json()["size"], 0)
    os.unlink(case.path("many", "0"))
    same(len(case.http.get("/api/contents/many").json()["content"]), 100000)


@row("the programs, as AutoGen, smolagents and people start them")
def _(case):
    for name, words, env, token, prefix in (
            ("jupyter", ("kernelgateway", "--KernelGatewayApp.ip=0.0.0.0", "--KernelGatewayApp.port=0",
                         '--KernelGatewayApp.auth_token="secret-of-rows"', "--JupyterApp.answer_yes=true",
                         "--JupyterWebsocketPersonality.list_kernels=true"), {"JUPYTER_TOKEN": ""}, "secret-of-rows", ""),
            ("jupyter-kernelgateway", ("--KernelGatewayApp.allow_origin='*'",),
             {"KG_AUTH_TOKEN": "secret-of-env", "KG_PORT": "0", "KG_BASE_URL": "/base/", "JUPYTER_TOKEN": ""},
             "secret-of-env", "/base"),
            ("jupyter-server", ("--port", "0", "--no-browser", "--ServerApp.root_dir=.", "-y"), {"JUPYTER_TOKEN": ""}, None, "")):
        at, process, said = program(case, name, *words, **env)
        try:
            token = token or said.partition("?token=")[2].split()[0]
            url = f"http://{at}{prefix}/api/kernels"
            same(httpx.get(url, timeout=LIMIT).status_code, 403, said)
            same(httpx.get(url, headers={"Authorization": "token " + token}, timeout=LIMIT).status_code, 200, said)
            lacks(said.replace("?token=" + token, ""), token)
        finally:
            process.terminate()
            process.communicate(timeout=LIMIT)
    for words, wanted in ((("lab",), "lab"), (("server", "--ServerApp.password=x"), "password"), (("server", "--port"), "missing"),
                          (("server", "--port", "x"), "a port is a number"), (("kernelgateway", "word"), "word")):
        done = subprocess.run([case.path("jupyter"), *words], env=plain_env(case), capture_output=True, text=True, timeout=LIMIT)
        same(done.returncode, 2, words)
        has(done.stderr, wanted)
    done = subprocess.run([case.path("jupyter"), "--help"], env=plain_env(case), capture_output=True, text=True, timeout=LIMIT)
    same((done.returncode, done.stdout[:6]), (0, "usage:"))


front_case.run_all("jupyter", row, make, 3)
