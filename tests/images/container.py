# SPDX-License-Identifier: MIT
"""An image and its containers: made by podman, out of a store of our own, or, where
podman cannot (a container without /proc), by unshare on what podman mounts.

    image = Image("bookworm", "/path/bookworm.tar")
    with Container(image, "uid", "bind") as box:
        box.inside("exec", "pwd")         # od exec, in the container
        box.http.get("/alive")            # to its unix socket, in a shared folder
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading

import cells
import httpx
from tap import holds, wait_for

T = pathlib.Path(os.environ["T"])
OD = os.environ["OD"]
LIMIT = 60 * int(os.environ.get("OD_TEST_SLOW") or 2)  # seconds for anything that is waited for
UID = 1000
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
WORD = "a word of the image"
REFUSED = ["pidfd_open", "close_range", "openat2", "splice", "memfd_create"]
ERRNO = {"EPERM": 1, "ENOSYS": 38}
MEMORY = 16 << 20
FILES = 64
KINDS = ("root", "uid", "ro", "notmp", "nopts", "noproc", "nonet", "seccomp", "nofile", "memory")

# The image's own program: says where it is, leaves an orphan to the first process,
# says which signals it got, and ends at TERM.
OWN = """
trap 'echo "own: USR1"' USR1
trap 'echo "own: TERM"; kill $p; exit 7' TERM
(@sleep 1000 & echo $! >/v/orphan.new; @mv /v/orphan.new /v/orphan)
@sleep 1000 &
p=$!
echo "own: $PWD, $WORD"
while kill -0 $p 2>/dev/null; do wait $p; done
"""

# runc cannot use the hybrid hierarchy of systemd, and raising limits may be refused.
CONF = """
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
default_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]
netns = "none"
log_driver = "none"
"""
STORE = """
[storage]
driver = "overlay"
graphroot = "{0}/graph"
runroot = "{0}/run"
"""

# A root file system as podman would lay it out, but without /proc. $0 is the root,
# the rest what is bound into it, pairs of source and target up to "--", then a command.
NO_PROC = r"""
set -e
root=$0
mount --make-rprivate /
mount -t tmpfs -o mode=755 none "$root/dev"
for node in 'null 1 3' 'zero 1 5' 'full 1 7' 'random 1 8' 'urandom 1 9' 'tty 5 0'; do
    set -- $node "$@"
    mknod -m 666 "$root/dev/$1" c "$2" "$3"
    shift 3
done
mkdir "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=666 none "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
while [ "$1" != -- ]; do
    if [ -d "$1" ]; then mkdir -p "$root$2"; else : >"$root$2"; fi
    mount --bind "$1" "$root$2"
    shift 2
done
shift
exec unshare --root="$root" --wd=/srv "$@"
"""


def setup():
    """What podman is to use, for all that follows."""
    (T / "containers.conf").write_text(CONF)
    (T / "storage.conf").write_text(STORE.format(T / "podman"))
    os.environ["CONTAINERS_CONF"] = str(T / "containers.conf")
    os.environ["CONTAINERS_STORAGE_CONF"] = str(T / "storage.conf")
    for refusal, errno in ERRNO.items():
        rule = {"names": REFUSED, "action": "SCMP_ACT_ERRNO", "errnoRet": errno}
        profile = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [rule]}
        (T / f"{refusal}.json").write_text(json.dumps(profile))


def run(*argv, **options):
    """A program to its end: its output, or an exception with all it said."""
    done = subprocess.run(argv, capture_output=True, timeout=LIMIT * 2, **options)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).decode(errors="replace")
        raise AssertionError(f"{' '.join(argv)[:300]}: status {done.returncode}: {said[-2000:]}")
    return done.stdout.decode(errors="replace").strip()


def podman(*argv):
    return run("podman", *argv)


class Image:
    """The image NAME out of a root file system's archive, and what the ways make of it."""

    def __init__(self, name, archive):
        self.name, self.lock, self.made = name, threading.Lock(), {}
        self.has_shell = name != "scratch"
        self.shell = ["sh", "-c"] if self.has_shell else ["/busybox", "sh", "-c"]
        self.own = [*self.shell, OWN.replace("@", "" if self.has_shell else "/busybox ")]
        self.base = f"localhost/{name}"
        changes = [f"CMD {json.dumps(self.own)}", "WORKDIR /srv", f"ENV WORD={json.dumps(WORD)}"]
        arguments = [word for change in changes for word in ("--change", change)]
        podman("import", "-q", *arguments, archive, self.base)
        self.passwd = T / "passwd"
        with open(self.passwd, "wb") as out:
            subprocess.run(["tar", "-xOf", archive, "./etc/passwd"], stdout=out, stderr=-3)

    def by(self, way):
        """What that way needs, tried once: an image, or a path on this machine."""
        with self.lock:
            if way not in self.made:
                try:
                    self.made[way] = getattr(self, "by_" + way)()
                except Exception as error:
                    self.made[way] = error
        if isinstance(self.made[way], Exception):
            raise self.made[way]
        return self.made[way]

    def build(self, tag, text):
        context = T / f"context-{tag}"
        context.mkdir()
        shutil.copy(OD, context / "od")
        (context / "Dockerfile").write_text(text)
        podman("build", "-q", "--pull=never", "-t", f"localhost/{tag}", str(context))
        return f"localhost/{tag}"

    def by_copy(self):
        entry = json.dumps(["/usr/local/bin/od", "serve", "--"])
        return self.build(
            self.name + "_copy",
            f"FROM {self.base}\nCOPY od /usr/local/bin/od\nENTRYPOINT {entry}\n"
            f"CMD {json.dumps(self.own)}\n",
        )

    def by_add(self):
        plain, added = T / f"{self.name}.tar", T / f"{self.name}_add.tar"
        podman("save", "-q", "-o", str(plain), self.base)
        tag = f"localhost/{self.name}_add:latest"
        run(OD, "image", "add", str(plain), str(added), "--entrypoint", "od", "--tag", tag)
        plain.unlink()
        podman("load", "-q", "-i", str(added))
        added.unlink()
        return tag

    def by_install(self):
        """A container of an image with nothing but od in it fills a volume."""
        folder, carrier = T / "volume", T / "carrier.tar"
        folder.mkdir(mode=0o755)
        run(OD, "image", "make", str(carrier), "--tag", "localhost/carrier:latest")
        podman("load", "-q", "-i", str(carrier))
        podman("run", "--rm", "-v", f"{folder}:/out", "localhost/carrier", "install", "/out")
        return folder

    def by_bind(self):
        return OD


class Container:
    """One cell: started, up to the first answer, by `with`; ended after it, and removed.

    box.pid is the first process as this machine sees it, box.shared the folder /v, and
    box.conditions what holds: a set of KINDS."""

    count = 0

    def __init__(self, image, condition, way):
        self.image, self.condition, self.way = image, condition, way
        everything = set(KINDS) - {"root", "noproc"}
        self.conditions = everything if condition == "all" else {condition}
        self.by_podman = "noproc" not in self.conditions
        Container.count += 1
        self.name = f"cell{Container.count}"
        self.shared, self.pidfile = T / self.name, T / f"{self.name}.pid"
        self.process = self.holder = self.pid = None
        self.ids = (UID, UID) if "uid" in self.conditions else (0, 0)

    def __enter__(self):
        try:
            self.shared.mkdir()
            self.shared.chmod(0o1777)
            self.listen = ["unix:/v/http"]
            if self.has_loopback:
                self.listen.append("3000")
            self.create()
            self.start()
            transport = httpx.HTTPTransport(uds=str(self.shared / "http"))
            self.http = httpx.Client(transport=transport, base_url="http://localhost", timeout=LIMIT)
            wait_for(self.answers, "an answer", LIMIT)
        except BaseException as error:
            error.log = self.log()
            self.remove()
            raise
        return self

    def __exit__(self, kind, error, trace):
        if error is not None:
            error.log = self.log()
        self.http.close()
        self.remove()

    @property
    def has_loopback(self):
        return not self.conditions & {"nonet", "noproc"}

    @property
    def od(self):
        return {"install": "/od/od", "bind": "/od"}.get(self.way, "/usr/local/bin/od")

    def mounts(self):
        pairs = [(str(self.shared), "/v")]
        made = self.image.by(self.way)
        if self.way == "install":
            pairs.append((str(made), "/od"))
        elif self.way == "bind":
            pairs.append((str(made), "/od"))
        return pairs

    def refusal(self):
        refusal = cells.refusal(self.image.name)
        if self.condition != "all":
            return refusal
        return "EPERM" if refusal == "ENOSYS" else "ENOSYS"

    def create(self):
        made = self.image.by(self.way)
        arguments = ["--name", self.name, "--pidfile", str(self.pidfile)]
        arguments += ["-e", "OD_LISTEN=" + ",".join(self.listen)]
        for source, target in self.mounts():
            arguments += ["-v", f"{source}:{target}" + ("" if target == "/v" else ":ro")]
        if self.way in ("copy", "add"):
            what = [made]
        else:
            arguments += ["--entrypoint", self.od]
            what = [self.image.base, "serve", "--", *self.image.own]
        holds_here = self.conditions
        if "uid" in holds_here:
            # Without a file of ours podman mounts one with an entry for the user.
            arguments += ["-u", f"{UID}:{UID}", "-v", f"{self.image.passwd}:/etc/passwd:ro"]
        if "ro" in holds_here:
            arguments += ["--read-only", "--read-only-tmpfs=false"]
        if "nopts" in holds_here:
            arguments += ["--tmpfs", "/dev/pts:ro"]
        if "nonet" in holds_here:
            self.holder = subprocess.Popen(["unshare", "-n", "sleep", "1000"])
            ours = os.readlink("/proc/self/ns/net")
            its = f"/proc/{self.holder.pid}/ns/net"
            wait_for(lambda: os.readlink(its) != ours, "a network of its own", LIMIT)
            arguments += ["--network", f"ns:{its}"]
        if "seccomp" in holds_here:
            arguments += ["--security-opt", f"seccomp={T / self.refusal()}.json"]
        if "nofile" in holds_here:
            arguments += ["--ulimit", f"nofile={FILES}:{FILES}", "--ulimit", "nproc=4096:4096"]
        if "memory" in holds_here:
            arguments += ["--memory", str(MEMORY)]
        podman("create", *arguments, *what)
        if "notmp" in holds_here or not self.by_podman:
            self.root = pathlib.Path(podman("mount", self.name))
            if "notmp" in holds_here:
                shutil.rmtree(self.root / "tmp", ignore_errors=True)

    def start(self):
        self.out, self.err = self.shared / ".out", self.shared / ".err"
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            files = dict(stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            if self.by_podman:
                command = ["podman", "start", "-a", "--sig-proxy=false", self.name]
                self.process = subprocess.Popen(command, **files)
            else:
                self.process = self.start_without_proc(files)
        self.pid = wait_for(self.find_pid, "the first process", LIMIT)

    def start_without_proc(self, files):
        binds = [word for pair in self.mounts() for word in pair]
        serve = [self.od, "serve", "--", *self.image.own]
        return subprocess.Popen(
            ["unshare", "-mpuin", "--fork", "--kill-child", "sh", "-c", NO_PROC, str(self.root)]
            + [*binds, "--", *serve],
            env={"PATH": PATH, "WORD": WORD, "OD_LISTEN": ",".join(self.listen)},
            **files,
        )

    def find_pid(self):
        holds(self.process.poll() is None, "the container ended", self.process.returncode)
        if self.by_podman:
            there = self.pidfile.exists() and self.pidfile.read_text()
            pids = [int(there)] if there else []
        else:
            pids = children(self.process.pid)
        return next((pid for pid in pids if command_line(pid).startswith("od-keeper")), None)

    def answers(self):
        holds(self.process.poll() is None, "the container ended", self.process.returncode)
        try:
            return self.http.get("/alive").status_code == 200
        except httpx.TransportError:
            return False

    def begin(self, *argv):
        """A program in the container's namespaces, as its user: a Popen with pipes."""
        uid, gid = self.ids
        enter = ["nsenter", "-t", str(self.pid), "-m", "-u", "-i", "-n", "-p", "-r", "-w"]
        if uid:
            enter += ["-S", str(uid), "-G", str(gid)]
        return subprocess.Popen(
            [*enter, "--", *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": PATH, "HOME": "/"},
        )

    def exec(self, *argv):
        """od exec, in the container: (status, output, errors)."""
        with self.begin(self.od, "exec", *argv) as client:
            out, err = client.communicate(timeout=LIMIT)
        return client.returncode, out.decode(), err.decode()

    def log(self):
        said = []
        for name in (".out", ".err"):
            path = self.shared / name
            if path.exists():
                said.append(path.read_text(errors="replace")[-3000:])
        return "\n".join(said)

    def end(self):
        """TERM to the first process; its status."""
        os.kill(self.pid, signal.SIGTERM)
        return self.process.wait(LIMIT)

    def remove(self):
        if self.process and self.process.poll() is None:
            if not self.by_podman:
                self.process.kill()
            else:
                subprocess.run(["podman", "kill", self.name], capture_output=True)
            self.process.wait()
        subprocess.run(["podman", "rm", "-f", "-t", "0", self.name], capture_output=True)
        if self.holder:
            self.holder.kill()
            self.holder.wait()
        shutil.rmtree(self.shared, ignore_errors=True)


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def status_of(pid):
    """The lines of /proc/PID/status, by name; {} for one that is gone."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().split("\n")
    except OSError:
        return {}
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def children(parent):
    return [pid for pid in processes() if status_of(pid).get("PPid") == str(parent)]
