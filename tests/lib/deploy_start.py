# SPDX-License-Identifier: MIT
"""deploy_start.py FILE...: the command lines of build/deploy, run with the real program.

Each container's command is started with its variables and directories, as the user that
the file names (if root runs this), at free ports and in folders that are as an engine
makes them. Its probes must succeed, its key count, its listeners for others answer, and
TERM end it with 0. With the bus that is commented out in a file, it is on a Redis by then;
the dispatcher is started next to one of these, and has a command run.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import yaml

from deploy_bus import with_bus
from tap import LIMIT, Tap, at_end, same, show_log, wait_for

try:
    import redis
    from redis_server import Redis
except ImportError:
    redis = None

OD, T = os.environ["OD"], pathlib.Path(os.environ["T"])
KEY = "a-key-of-the-fleet"
DISPATCHER = pathlib.Path(os.environ["ROOT"], "build/deploy/dispatcher/dispatcher.py")
USER = {"user": 1000, "group": 1000, "extra_groups": []} if os.geteuid() == 0 else {}
running = set()
at_end(lambda: [process.kill() for process in running])


class Box:
    """A container: its command, variables and paths, with those paths below a folder."""

    def __init__(self, name, command, variables, paths, workdir):
        self.name = name
        self.dir = T / name.replace(" ", "-")
        self.dir.mkdir()
        self.paths = {path: self.dir / path.strip("/").replace("/", "-") for path in paths}
        for place in self.paths.values():  # as a kubelet makes an emptyDir for fsGroup 1000
            place.mkdir()
            if USER:
                os.chown(place, 0, 1000)
            place.chmod(0o2777)
        self.command = [self.moved(word) for word in command]
        self.env = {name: self.moved(value) for name, value in variables.items()}
        self.env |= {"PATH": os.environ["PATH"], "OD_SOCKET": str(self.dir / "run/sock")}
        run = self.dir / "run"
        run.mkdir()
        if USER:
            os.chown(run, 1000, 1000)
        self.cwd = self.moved(workdir) if workdir else self.dir

    def moved(self, text):
        if text == "/usr/bin/python3":
            return sys.executable
        if text == "/usr/local/bin/dispatcher.py":
            return str(DISPATCHER)
        if text.endswith("/od") and text.startswith(("/usr/local/bin/", "/od-files/")):
            return OD
        for path, place in self.paths.items():
            text = str(place) if text == path else text
        return text

    def run(self, words):
        return subprocess.run([self.moved(word) for word in words], env=self.env,
                              cwd=self.cwd, timeout=LIMIT, capture_output=True, text=True,
                              check=False, **USER)


@contextlib.contextmanager
def served(box):
    """The server of the box, at free ports; yields {front-end or "": address}."""
    fronts = [one.rpartition("@")[0] for one in box.env["OD_LISTEN"].split(",")]
    box.env["OD_LISTEN"] = ",".join(f"{f}@0.0.0.0:0" if f else "0.0.0.0:0" for f in fronts)
    ready, end = os.pipe()
    log = box.dir / "log"
    show_log(log)
    with open(log, "wb") as out:
        process = subprocess.Popen(box.command + ["--ready-fd", str(end)], env=box.env,
                                   cwd=box.cwd, stdout=out, stderr=out, pass_fds=[end], **USER)
    running.add(process)
    os.close(end)
    try:
        with os.fdopen(ready) as lines:
            said = []
            for line in lines:
                said.append(line.strip())
                if line == "ready\n" or line.startswith("error"):
                    break
        same(said[-1:], ["ready"])
        yield dict(zip(fronts, [line.split()[1].rpartition(":")[2] for line in said[:-1]]))
        process.send_signal(signal.SIGTERM)
        same(process.wait(LIMIT), 0, "the status after TERM:")
    finally:
        process.kill()
        process.wait()
        running.discard(process)


def status(port, path, key=None, data=None):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=data)
    if key:
        request.add_header("X-Session-API-Key", key)
    if data:
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def try_server(box, gets, check):
    """gets: paths of probes; check: the words of a health check."""
    with served(box) as ports:
        for path in gets:
            same(status(ports[""], path)[0], 200, path)
        if check:
            same(box.run(check).returncode, 0, "the health check:")
        same(status(ports[""], "/events?since=0")[0], 403, "without the key:")
        same(status(ports[""], "/events?since=0", KEY)[0], 200, "with the key:")
        if "sandbox" in ports:
            body = json.dumps({"command": "pwd"}).encode()
            code, answer = status(ports["sandbox"], "/execute", data=body)
            same(code, 200, "the runtime API without a key:")
            same(json.loads(answer)["stdout"], f"{box.paths['/workspace']}\n")
        state = box.paths["/state"]
        if USER:
            same([p.name for p in state.iterdir()], ["od-1000"], "in the state directory:")
    if check:
        same(box.run(check).returncode != 0, True, "the health check fails without it:")


# --- with the bus


def sandboxes(server):
    """Those that have said hello."""
    client = server.client()
    return [each for key in client.keys("od:*:hello") for each in client.hkeys(key)]


def try_bus(box):
    """It is on the bus by the time when it is ready, or soon after."""
    with Redis() as server:
        box.env["OD_BUS"] = server.url()
        with served(box):
            wait_for(lambda: sandboxes(server), "no hello on the bus", LIMIT)


def try_store():
    """Workers that begin at the same moment make one store between them."""
    begin = ("import multiprocessing, runpy, sys; Store = runpy.run_path(sys.argv[1])['Store']\n"
             "def make(path): Store(path)\n"
             "with multiprocessing.Pool(8) as workers:\n"
             "    for i in range(30): workers.map(make, [f'{sys.argv[2]}{i}'] * 8, chunksize=1)")
    done = subprocess.run([sys.executable, "-c", begin, DISPATCHER, T / "store"], timeout=LIMIT,
                          capture_output=True, text=True, check=False)
    same((done.returncode, done.stderr[-300:]), (0, ""))


def try_dispatcher(box, sandbox):
    with Redis() as server:
        sandbox.env["OD_BUS"] = box.env["BUS_REDIS"] = server.url()
        box.env["BUS_STORE"] = str(box.paths["/store"] / "fleet.db")
        with served(sandbox):
            ours, = wait_for(lambda: sandboxes(server), "no hello on the bus", LIMIT)
            log = box.dir / "log"
            show_log(log)
            with open(log, "wb") as out:
                process = subprocess.Popen(box.command, env=box.env, cwd=box.cwd, stderr=out,
                                           **USER)
            running.add(process)
            try:
                same(box.run([*box.command[:2], "run", ours, "echo $((6 * 7))"]).returncode, 0)
                query = ("import os, sqlite3; print(*sqlite3.connect(os.environ['BUS_STORE'])"
                         ".execute('SELECT line FROM events'))")
                wait_for(lambda: '"content":"42' in box.run([sys.executable, "-c", query]).stdout
                         .replace(" ", ""), "no observation in the store", LIMIT)
                process.send_signal(signal.SIGTERM)
                same(process.wait(LIMIT), 0, "the status after TERM:")
            finally:
                process.kill()
                process.wait()
                running.discard(process)


def buses(path):
    """The rows of a file with the bus that is commented out in it, or of the dispatcher."""
    text = with_bus(path.read_text())
    if path.parent.name == "dispatcher":
        sandbox, = pods(text=(path.parent.parent / "statefulset.yaml").read_text())
        worker, = pods(text=text)
        yield f"{path.stem} store", lambda name: try_store()
        yield f"{path.stem} dispatcher", lambda name: try_dispatcher(
            container(name, worker["containers"][0]),
            container(f"{name} sandbox", sandbox["containers"][0]))
    elif text != path.read_text():
        yield f"{path.stem} with a bus", lambda name: try_bus(
            container(name, next(pods(text=text))["containers"][0]) if "kind: " in text
            else compose_box(name, compose_service(text)))


# --- what a file has


def pods(path=None, text=None):
    for doc in yaml.safe_load_all(text or path.read_text()):
        spec = doc["spec"]
        spec = spec.get("template", spec.get("podTemplate", doc)).get("spec")
        if "containers" in spec:
            yield spec


def variables(container):
    return {v["name"]: KEY if "valueFrom" in v else v["value"] for v in container["env"]}


def container(name, c):
    return Box(name, c["command"], variables(c),
               [mount["mountPath"] for mount in c["volumeMounts"]], c["workingDir"])


def kubernetes(path):
    for spec in pods(path):
        for c in spec["initContainers"]:
            yield f"{path.stem} init {c['name']}", lambda name, c=c: try_install(name, c)
        for c in spec["containers"]:
            gets = [c[probe]["httpGet"]["path"]
                    for probe in ("startupProbe", "readinessProbe", "livenessProbe")]
            yield f"{path.stem} {c['name']}", lambda name, c=c, gets=gets: try_server(
                container(name, c), gets, None)


def try_install(name, c):
    box = Box(name, c["command"], {}, [mount["mountPath"] for mount in c["volumeMounts"]], None)
    done = box.run(c["command"])
    same((done.returncode, done.stderr), (0, ""))
    file = box.paths[c["command"][-1]] / "od"
    same(file.read_bytes(), pathlib.Path(OD).read_bytes(), "the file that it makes:")


def compose_box(name, service):
    places = [v["target"] if isinstance(v, dict) else v.split(":")[1] for v in service["volumes"]]
    places += [v.split(":")[0] for v in service.get("tmpfs", [])]
    given = {n: KEY if n == "SESSION_API_KEY" else v for n, v in service["environment"].items()}
    if "OD_API_KEY_FILE" in given:
        secret = T / "secret"
        secret.write_text(KEY)
        secret.chmod(0o644)
        given["OD_API_KEY_FILE"] = str(secret)
    return Box(name, service["entrypoint"], given,
               [place for place in places if not place.endswith("/od")], service["working_dir"])


def compose_service(text):
    return yaml.safe_load(text)["services"]["sandbox"]


def compose(path):
    service = compose_service(path.read_text())
    yield f"{path.stem} sandbox", lambda name: try_server(
        compose_box(name, service), ["/alive"], service["healthcheck"]["test"][1:])


def rows(path):
    if path.parent.name != "dispatcher":
        yield from (kubernetes if "kind: " in path.read_text() else compose)(path)
    if redis and shutil.which("redis-server"):
        yield from buses(path)


tap = Tap()
for file in map(pathlib.Path, sys.argv[1:]):
    for row, function in rows(file):
        try:
            function(row)
        except (AssertionError, OSError, KeyError, subprocess.TimeoutExpired) as error:
            tap.line(False, row, str(error).split("\n"))
        else:
            tap.line(True, row)
if not (redis and shutil.which("redis-server")):
    tap.line(True, "with a bus", skip="no redis-server, or no Python with redis")
sys.exit(tap.done())
