# SPDX-License-Identifier: MIT
"""A server of our own for each row, and for whom.

Users of a server:
  openhands  root starts it with --username openhands, in a mount namespace with
             an /etc and a /home of its own and a /root that cannot be written, so
             that the user is made there and nothing is left on the machine
  own        who runs the test, or uid 1000 if that is root; nobody is made
"""
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile

from served import Served
from tap import holds, wait_for
from v0_client import Box

T = os.environ["T"]
OD = os.environ["OD"]
OTHER_UID = 1000
MADE_UID = 4242
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KEPT_OUT = re.compile("^(OD_|SANDBOX_|SESSION_API_KEY|SUDO_)")

OWN_MOUNTS = """
mkdir -p "$0/etc" "$0/homes" && mount -t tmpfs none "$0/etc" && cp -a /etc/. "$0/etc" || exit
for home in /home/*; do
    [ -d "$home" ] || continue
    mkdir -p "$0/homes/${home##*/}" && mount --rbind "$home" "$0/homes/${home##*/}"
done
case $0 in
/root/*) ;;
*) mount --bind /root /root && mount -o remount,ro,bind /root || exit ;;
esac
mount --bind "$0/etc" /etc && mount --rbind "$0/homes" /home && exec "$@"
"""

class User:
    """Whom the shell runs as, and how the server is started for that."""

    def __init__(self, name, shell_user, home, before, options):
        self.name, self.shell_user, self.home = name, shell_user, home
        self.before, self.options = before, options


def users():
    """Those that are possible here, and why others are not."""
    possible, why = [], {}
    root = os.getuid() == 0
    if root and subprocess.run(["unshare", "-m", "true"], stderr=-3).returncode == 0:
        before = ["unshare", "-m", "--propagation", "private", "sh", "-c", OWN_MOUNTS]
        options = ["--username", "openhands", "--user-id", str(MADE_UID)]
        possible.append(User("openhands", "openhands", "/home/openhands", before, options))
    else:
        why["openhands"] = "only root can have an /etc of its own"
    before = []
    if root:
        before = ["setpriv", f"--reuid={OTHER_UID}", f"--regid={OTHER_UID}", "--clear-groups"]
    possible.append(User("own", None, None, before, []))
    return possible, why


class Server(Served):
    """`od serve` with folders of its own; self.box asks it.

    env is added to what every server gets. key is the one the box sends. form
    "port" is the command line that OpenHands writes. stop() ends it and looks at
    what it had to say."""

    def __init__(self, user, env=None, key=None, form=None, more=()):
        self.user = user
        self.root = tempfile.mkdtemp(dir=T, prefix="v0.")
        os.chmod(self.root, 0o755)
        self.dir = self.folder("workspace")
        self.home = user.home or self.folder("home")
        # Appended to: the server shares the position that logged() moves.
        self.log = open(os.path.join(self.root, "log"), "a+b")
        self.process = None
        words = ["--working-dir", self.dir, "--plugins", "agent_skills", "jupyter"]
        words += [*user.options, "--no-enable-browser", *more]
        if form == "port":
            words = [OD, "serve", str(free_port()), *words]
        else:
            words = [OD, "serve", *words, "--listen", "127.0.0.1:0"]
        self.words, self.env = words, {**self.environment(), **(env or {})}
        self.start()
        self.box = Box(self.url, key=key)

    def folder(self, name):
        path = os.path.join(self.root, name)
        os.mkdir(path)
        os.chmod(path, 0o755)
        if os.getuid() == 0 and self.user.name == "own":
            os.chown(path, OTHER_UID, OTHER_UID)
        return path

    def environment(self):
        bin = os.path.join(self.root, "bin")
        os.mkdir(bin)
        os.symlink(os.path.realpath(sys.executable), os.path.join(bin, "python"))
        env = {key: value for key, value in os.environ.items() if not KEPT_OUT.match(key)}
        run = self.folder("run")
        return {
            **env,
            "PATH": f"{bin}:{PATH}",
            "HOME": self.folder("home") if self.user.shell_user else self.home,
            "TMPDIR": self.folder("tmp"),
            "XDG_RUNTIME_DIR": run,
            "OD_SOCKET": os.path.join(run, "sock"),
            "OD_STATE_DIR": os.path.join(run, "state"),
            "USER": "root" if self.user.shell_user else "tester",
        }

    def start(self):
        before = list(self.user.before)
        if before and before[0] == "unshare":
            before.append(self.root)
        self.launch([*before, *self.words], self.home if os.path.isdir(self.home) else "/")

    def ready(self, said):
        """The first address is ours."""
        self.addresses = [line.split()[-1] for line in said.split("\n")
                          if line.startswith("listening ")]
        http = [re.search(r"127\.0\.0\.1:(\d+)$", each) for each in self.addresses]
        ports = [each[1] for each in http if each]
        holds(ports, "an address of ours among", self.addresses, self.logged())
        self.port = int(ports[0])
        self.url = f"http://127.0.0.1:{self.port}"

    def worker(self):
        """The pid of the worker: the keeper's child of that name."""
        for name in os.listdir("/proc"):
            if name.isdigit() and parent_and_name(name) == (self.process.pid, b"od-worker"):
                return int(name)

    def kill_worker(self):
        old = wait_for(self.worker, "there is a worker")
        os.kill(old, signal.SIGKILL)
        return old


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def parent_and_name(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            parent = int(stat.read().rpartition(b")")[2].split()[1])
        with open(f"/proc/{pid}/cmdline", "rb") as words:
            return parent, words.read().split(b"\0")[0].split()[0]
    except (OSError, IndexError):
        return None


def server_for(user):
    """A fixture: a server with the options of the row, set up as a client does."""

    @contextlib.contextmanager
    def fixture(row):
        o = row.options
        quiet = o.get("no_change")
        env = dict(o.get("env", {}))
        if quiet:
            env["NO_CHANGE_TIMEOUT_SECONDS"] = str(quiet)
        server = Server(user, {**env, **o.get("server_env", {})}, o.get("key"), o.get("form"))
        with server.alive():
            if o.get("set_up", True):
                variables = {
                    name[len("SANDBOX_ENV_") :]: value
                    for name, value in o.get("client_env", {}).items()
                    if name.startswith("SANDBOX_ENV_")
                }
                server.box.set_up(variables, env)
            yield server

    return fixture
