# SPDX-License-Identifier: MIT
"""A client of SWE-ReX's server, from the contract of its routes: every field of a model
is sent, nulls too, each request has an X-Request-ID of its own, and an exception that the
server reports (511) is raised as Raised, which has its class and its extra_info."""
import contextlib
import io
import os
import re
import shutil
import subprocess
import tempfile
import time
import uuid
import zipfile

import httpx
from tap import LIMIT, at_end, last_words, wait_for

T = os.environ["T"]
OD = os.environ["OD"]
KEY = "testkey"


class Raised(Exception):
    def __init__(self, body):
        self.class_path, self.message = body["class_path"], body["message"]
        self.extra, self.traceback = body["extra_info"], body["traceback"]
        super().__init__(f"{self.class_path}: {self.message}")


class Client:
    def __init__(self, url, key=KEY):
        headers = {"X-API-Key": key} if key is not None else {}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=LIMIT, trust_env=False)

    def post(self, path, body, request_id=None):
        """As the client of the protocol: one connection for each request."""
        headers = {"X-Request-ID": request_id or str(uuid.uuid4()), "Connection": "close"}
        answer = self.http.post(path, json=body, headers=headers)
        return self.result(answer)

    @staticmethod
    def result(answer):
        assert answer.headers["content-type"] == "application/json", answer.headers
        if answer.status_code == 511:
            raise Raised(answer.json()["swerexception"])
        assert answer.status_code == 200, (answer.status_code, answer.text)
        return answer.json()

    def is_alive(self):
        return self.http.get("/is_alive", timeout=LIMIT).json()

    def create(self, session="default", source=(), timeout=30.0, **more):
        return self.post("/create_session", {
            "session": session, "session_type": "bash", "startup_source": list(source),
            "startup_timeout": timeout}, **more)

    def close_session(self, session="default", **more):
        return self.post("/close_session", {"session": session, "session_type": "bash"}, **more)

    def run(self, command, session="default", timeout=LIMIT, interactive=False, quit=False,
            check="raise", error_msg="", expect=(), **more):
        return self.post("/run_in_session", {
            "action_type": "bash", "command": command, "session": session, "timeout": timeout,
            "is_interactive_command": interactive, "is_interactive_quit": quit,
            "check": check, "error_msg": error_msg, "expect": list(expect)}, **more)

    def output(self, command, **more):
        return self.run(command, **more)["output"]

    def interrupt(self, session="default", timeout=0.2, n_retry=3, expect=()):
        return self.post("/run_in_session", {
            "action_type": "bash_interrupt", "session": session, "timeout": timeout,
            "n_retry": n_retry, "expect": list(expect)})

    def execute(self, command, timeout=LIMIT, shell=False, check=False, error_msg="", env=None,
                cwd=None, merge=False, **more):
        return self.post("/execute", {
            "command": command, "timeout": timeout, "shell": shell, "check": check,
            "error_msg": error_msg, "env": env, "cwd": cwd,
            "merge_output_streams": merge}, **more)

    def read_file(self, path, encoding=None, errors=None):
        return self.post("/read_file", {"path": str(path), "encoding": encoding,
                                        "errors": errors})["content"]

    def write_file(self, path, content, **more):
        return self.post("/write_file", {"path": str(path), "content": content}, **more)

    def upload_bytes(self, name, content, target, unzip, kind="application/octet-stream"):
        """Fields in the order of the protocol: the file comes before its target."""
        answer = self.http.post("/upload", files=[
            ("file", (name, content, kind)), ("target_path", (None, str(target))),
            ("unzip", (None, "true" if unzip else "false"))])
        return self.result(answer)

    def upload_folder(self, folder, target):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for base, _, names in os.walk(folder):
                for name in names:
                    path = os.path.join(base, name)
                    archive.write(path, os.path.relpath(path, folder))
        return self.upload_bytes("zipped_transfer.zip", content.getvalue(), target, True,
                                 "application/zip")

    def close(self):
        answer = self.http.post("/close", headers={"X-Request-ID": str(uuid.uuid4())})
        return self.result(answer)


class Server(Client):
    """swerex-remote with a folder of its own."""

    def __init__(self, *words, key=KEY, env=None):
        self.root = tempfile.mkdtemp(dir=T, prefix="swerex.")
        self.dir = os.path.join(self.root, "work")
        os.mkdir(self.dir)
        self.program = os.path.join(self.root, "swerex-remote")
        os.symlink(OD, self.program)
        self.log_path = os.path.join(self.root, "log")
        self.env = {**{k: v for k, v in os.environ.items() if not k.startswith("OD_")},
                    "OD_STATE_DIR": os.path.join(self.root, "state"),
                    "OD_SOCKET": os.path.join(self.root, "sock"), "HOME": self.dir,
                    **(env or {})}
        self.env.pop("SESSION_API_KEY", None)
        words = words or ("--host", "127.0.0.1", "--port", "0", "--auth-token", key)
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([self.program, *words], env=self.env, cwd=self.dir,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        at_end(self.stop)
        super().__init__(self.url(), key)
        wait_for(self.serves, "the server does not answer")

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()

    def url(self):
        def address():
            found = re.search(r"http swerex@([0-9.:\[\]]+)", self.log())
            assert found or self.process.poll() is None, self.log()
            return found and "http://" + found[1]
        return wait_for(address, "the server listens nowhere")

    def serves(self):
        with contextlib.suppress(httpx.TransportError):
            return self.http.get("/is_alive").status_code in (200, 401, 403)

    def od(self, *words):
        return subprocess.run([OD, *words], env=self.env, cwd=self.dir, capture_output=True,
                              text=True, timeout=LIMIT)

    def worker(self):
        said = self.od("serve", "--status", "--json", "--socket", self.env["OD_SOCKET"]).stdout
        found = re.search(r'"worker":(\d+)', said)
        return int(found[1]) if found else 0

    def kill_worker(self):
        old = self.worker()
        os.kill(old, 9)
        wait_for(lambda: self.worker() not in (0, old), "no other worker came")
        wait_for(self.serves, "the other worker does not answer")

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                last_words("swerex-remote", self.log())
                self.process.kill()
        return self.process.returncode


@contextlib.contextmanager
def server(row):
    """What a row gets: a server, with a session `default` unless it says otherwise."""
    box = Server()
    try:
        if row.options.get("session", True):
            box.create()
        yield box
    except BaseException as error:
        error.log = box.log()
        raise
    finally:
        box.stop()
        box.http.close()
        shutil.rmtree(box.root, ignore_errors=True)


def raises(class_path, function, *words, **more):
    """The exception of this class that function raises."""
    try:
        value = function(*words, **more)
    except Raised as error:
        if error.class_path != class_path:
            raise AssertionError(f"{error.class_path}, not {class_path}: {error.message}")
        return error
    raise AssertionError(f"{class_path} is not raised: {value!r}")


def monotonic():
    return time.monotonic()
