# SPDX-License-Identifier: MIT
"""jupyter_old_kernel.py CONNECTION_FILE: a kernel as those before jupyter_client 4.1 are: version
5.0 of the messages. Its headers have no date, its replies to kernel_info no status, and what it
does not know it does not answer, such as comm_info_request and interrupt_request.

A cell is `say TEXT`, `fail`, `wait` (until it is interrupted) or `die`."""
import hashlib
import hmac
import json
import os
import signal
import sys
import uuid

import zmq

with open(sys.argv[1], encoding="utf-8") as file:
    about = json.load(file)
context, session = zmq.Context(), uuid.uuid4().hex
sockets = {}
for name, kind in (("shell", zmq.ROUTER), ("control", zmq.ROUTER), ("stdin", zmq.ROUTER), ("iopub", zmq.PUB), ("hb", zmq.REP)):
    sockets[name] = context.socket(kind)
    sockets[name].bind(f"{about['transport']}://{about['ip']}:{about[name + '_port']}")
INFO = {"protocol_version": "5.0", "implementation": "old", "implementation_version": "1", "banner": "old",
        "language_info": {"name": "old", "version": "1", "mimetype": "text/plain", "file_extension": ".old"}}


def send(where, kind, content, parent, to=()):
    header = {"msg_id": uuid.uuid4().hex, "username": "old", "session": session, "msg_type": kind, "version": "5.0"}
    parts = [json.dumps(one).encode() for one in (header, parent, {}, content)]
    sign = hmac.new(about["key"].encode(), b"".join(parts), hashlib.sha256).hexdigest().encode()
    sockets[where].send_multipart([*to, b"<IDS|MSG>", sign, *parts])


def execute(where, content, header, to, count):
    word, _, rest = content["code"].partition(" ")
    if word == "wait":  # an interrupt that comes at once waits, too
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    send("iopub", "execute_input", {"code": content["code"], "execution_count": count}, header)
    failed = None
    if word == "say":
        send("iopub", "stream", {"name": "stdout", "text": rest}, header)
    elif word == "fail":
        failed = "Failed"
    elif word == "die":
        os._exit(1)
    elif word == "wait":
        signal.sigwait({signal.SIGINT})
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        failed = "Interrupted"
    if failed:
        error = {"ename": failed, "evalue": "", "traceback": []}
        send("iopub", "error", error, header)
        send(where, "execute_reply", {"status": "error", "execution_count": count, **error}, header, to)
    else:
        send(where, "execute_reply", {"status": "ok", "execution_count": count, "payload": [], "user_expressions": {}}, header, to)


def serve(where, count):
    """One request; returns the number of cells so far."""
    parts = sockets[where].recv_multipart()
    at = parts.index(b"<IDS|MSG>")
    header, content = json.loads(parts[at + 2]), json.loads(parts[at + 5])
    kind = header["msg_type"]
    send("iopub", "status", {"execution_state": "busy"}, header)
    if kind == "kernel_info_request":
        send(where, "kernel_info_reply", INFO, header, parts[:at])
    elif kind == "execute_request":
        count += not content.get("silent")
        execute(where, content, header, parts[:at], count)
    elif kind == "shutdown_request":
        send(where, "shutdown_reply", {"restart": content.get("restart", False)}, header, parts[:at])
        send("iopub", "shutdown_reply", {"restart": content.get("restart", False)}, header)
        context.destroy(linger=1000)
        sys.exit(0)
    send("iopub", "status", {"execution_state": "idle"}, header)
    return count


def main():
    poller, cells = zmq.Poller(), 0
    for name in ("control", "shell", "hb"):
        poller.register(sockets[name], zmq.POLLIN)
    while True:
        try:
            for socket, _ in poller.poll():
                if socket is sockets["hb"]:
                    socket.send(socket.recv())
                else:
                    cells = serve("control" if socket is sockets["control"] else "shell", cells)
        except KeyboardInterrupt:
            continue


main()
