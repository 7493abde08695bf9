# SPDX-License-Identifier: MIT
"""peer_v0.py PORT FOLDER: the V0 API as a Python program has it, to measure
against: an HTTP server of the standard library, one bash that pexpect holds, a
prompt that prints what the shell knows, and a look every POLL seconds for it.

It knows run, read, write, upload_file, download_files and list_files, and of
these only what a client that behaves needs. POLL=0.5 is what agents meet today.
Prints "ready PORT"; PORT 0 is any."""
import email.parser
import email.policy
import http.server
import io
import json
import os
import re
import sys
import threading
import time
import urllib.parse
import zipfile

import pexpect

POLL = float(os.environ.get("POLL", "0.5"))
QUIET = float(os.environ.get("NO_CHANGE_TIMEOUT_SECONDS", "10"))
BEGIN, END = "###PS1JSON###", "###PS1END###"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
FIELDS = {
    "pid": "$!",
    "exit_code": "$?",
    "username": r"\u",
    "hostname": r"\h",
    "working_dir": "$(pwd)",
    "py_interpreter_path": "$(command -v python || echo)",
}


class Shell:
    """One bash and the command that runs in it."""

    def __init__(self, folder):
        prompt = "\n%s\n%s\n%s\n" % (BEGIN, json.dumps(FIELDS).replace('"', r"\""), END)
        env = {**os.environ, "PROMPT_COMMAND": f"export PS1=$'{escaped(prompt)}'", "PS2": ""}
        self.bash = pexpect.spawn(
            "bash", ["--norc"], cwd=folder, env=env, echo=False, dimensions=(1000, 1000)
        )
        self.bash.delaybeforesend = None
        self.seen, self.running = "", False
        self.prompt(5)
        self.seen = ""
        self.bash.sendline("bind 'set enable-bracketed-paste off'; PS2=")
        self.prompt(5)

    def more(self):
        """What came since the last look."""
        try:
            return self.bash.read_nonblocking(1 << 20, 0).decode(errors="replace")
        except (pexpect.TIMEOUT, pexpect.EOF):
            return ""

    def prompt(self, timeout, quiet=None):
        """Waits, a look at a time; gives the block of the prompt, or why not."""
        begin = changed = time.monotonic()
        while True:
            if more := self.more():
                self.seen += more
                changed = time.monotonic()
            if END in self.seen:
                return self.seen.replace("\r\n", "\n")
            now = time.monotonic()
            if quiet is not None and now - changed >= quiet:
                return f"has no new output after {int(quiet)} seconds"
            if now - begin >= timeout:
                return f"timed out after {timeout} seconds"
            time.sleep(POLL)

    def run(self, args, timeout):
        self.seen = "" if not self.running else self.seen
        text = args["command"].strip()
        if text:
            self.bash.sendline(text)
        self.running = True
        said = self.prompt(timeout, None if args.get("blocking") else QUIET)
        if END not in said:
            return self.seen, {"exit_code": -1, "suffix": f"\n[The command {said}. ]"}
        self.running, self.seen = False, ""
        text, _, rest = said.partition("\n" + BEGIN)
        told = json.loads(rest.partition(END)[0])
        told["pid"], told["exit_code"] = number(told["pid"]), number(told["exit_code"])
        told["suffix"] = f"\n[The command completed with exit code {told['exit_code']}.]"
        return text, told


def escaped(prompt):
    return prompt.replace("\n", r"\n").replace("'", r"\'").replace("\\\"", "\\\\\"")


def number(text):
    return int(text) if text.strip().isdigit() else -1


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True
    shell, lock = None, threading.Lock()

    def log_message(self, *_):
        pass

    def reply(self, answer, status=200, kind="application/json"):
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def query(self):
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))

    def do_GET(self):
        if self.path == "/alive":
            return self.reply({"status": "ok"})
        if self.path == "/server_info":
            return self.reply({"uptime": time.monotonic(), "idle_time": 0.0, "resources": {}})
        if not self.path.startswith("/download_files"):
            return self.reply({"detail": "Not Found"}, 404)
        top, file = self.query()["path"], io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for folder, _, names in os.walk(top):
                for name in names:
                    path = os.path.join(folder, name)
                    archive.write(path, os.path.relpath(path, top))
        self.reply(file.getvalue(), kind="application/zip")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/execute_action":
            event = json.loads(body)["action"]
            with self.lock:
                return self.reply(getattr(self, event["action"])(event["args"], event))
        if self.path == "/list_files":
            path = json.loads(body).get("path") or os.getcwd()
            names = sorted(os.listdir(path)) if os.path.isdir(path) else []
            folders = [n + "/" for n in names if os.path.isdir(os.path.join(path, n))]
            return self.reply(folders + [n for n in names if n + "/" not in folders])
        self.upload(body)

    def upload(self, body):
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
        part, query = next(form.iter_parts()), self.query()
        os.makedirs(query["destination"], exist_ok=True)
        data, name = part.get_payload(decode=True), part.get_filename()
        if name.endswith(".zip"):
            zipfile.ZipFile(io.BytesIO(data)).extractall(query["destination"])
        else:
            with open(os.path.join(query["destination"], name), "wb") as file:
                file.write(data)
        recursive = query["recursive"] == "true"
        self.reply({"filename": name, "destination": query["destination"], "recursive": recursive})

    def run(self, args, event):
        text, told = self.shell.run(args, event.get("timeout") or 120.0)
        text = "\n".join(ESCAPES.sub("", line).rstrip() for line in text.split("\n")).strip()
        extras = {"command": args["command"], "hidden": False, "metadata": told}
        return {"message": "", "observation": "run", "content": text, "extras": extras}

    def read(self, args, _):
        try:
            with open(args["path"]) as file:
                text = file.read()
        except OSError as error:
            return {"observation": "error", "content": str(error), "extras": {"error_id": ""}}
        return {"observation": "read", "content": text, "extras": {"path": args["path"]}}

    def write(self, args, _):
        os.makedirs(os.path.dirname(args["path"]) or ".", exist_ok=True)
        with open(args["path"], "w") as file:
            file.write(args["content"] + "\n")
        return {"observation": "write", "content": "", "extras": {"path": args["path"]}}


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    Handler.shell = Shell(sys.argv[2])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print("ready", server.server_address[1], flush=True)
    server.serve_forever()
