# SPDX-License-Identifier: MIT
"""For checkpoint-send.test: what is sent, what is not, and what a server refuses."""
import hashlib
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
import zlib

from served import Served

T, OD = os.environ["T"], os.environ["OD"]
KEY = "the-key-of-the-server"
count = [0, 0]


def ok(good, name, why=""):
    count[0] += 1
    count[1] += not good
    print("%sok %d - %s" % ("" if good else "not ", count[0], name))
    if not good:
        print("# %s" % (why,))


class Server(Served):
    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="server-", dir=T)
        self.log = open(self.root + "/log", "a+b")
        self.env = {**os.environ, "HOME": self.root, "OD_SERVER_KEY": KEY}
        self.launch([OD, "serve", "--listen", "127.0.0.1:0", "--api-key", KEY, "--socket",
                     self.root + "/socket", "--state-dir", self.root + "/state"], self.root)

    def ready(self, said):
        at = [x for x in said.split() if "127.0.0.1:" in x]
        self.port = int(at[0].rpartition(":")[2])
        self.url = "http://127.0.0.1:%d" % self.port

    def od(self, *words):
        return subprocess.run([OD, "checkpoint", "--json", *words], env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def send(self, number, url=None):
        return self.od("send", str(number), "--store", STORE, "--server", url or self.url)

    def list(self):
        p = self.od("list", "--socket", self.root + "/socket")
        return json.loads(p.stdout)["checkpoints"]

    def post(self, path, body, key=KEY):
        r = urllib.request.Request(self.url + path, data=body, method="POST",
                                   headers={"X-Session-API-Key": key})
        try:
            with urllib.request.urlopen(r) as a:
                return a.status, json.load(a)
        except urllib.error.HTTPError as e:
            return e.code, json.load(e)

    def actions(self):
        p = subprocess.run([OD, "events", "--json", "--socket", self.root + "/socket"], env=self.env,
                           stdout=subprocess.PIPE)
        return sum(json.loads(x).get("action") == "checkpoint_import"
                   for x in p.stdout.splitlines() if x.startswith(b"{"))


class Proxy:
    """Counts what goes to the server; ends each connection at its nth answer, if told to."""

    def __init__(self, port, cut=0, once=False):
        self.bytes, self.answers, self.cut, self.once = 0, 0, cut, once
        self.was_cut = threading.Event()
        self.port = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near = self.listener.accept()[0]
            far = socket.create_connection(("127.0.0.1", self.port))
            threading.Thread(target=self.pump, args=(near, far, True), daemon=True).start()
            threading.Thread(target=self.pump, args=(far, near, False), daemon=True).start()

    def pump(self, a, b, up):
        try:
            while data := a.recv(65536):
                if up:
                    self.bytes += len(data)
                elif data.startswith(b"HTTP/1.1 200"):
                    self.answers += 1
                    if self.cut and (self.answers == self.cut or
                                     not self.once and self.answers > self.cut):
                        self.was_cut.set()
                        break
                b.sendall(data)
        except OSError:
            pass
        for s in a, b:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def look(tree):
    return subprocess.run("find . -printf '%p %m %U %G %T@ %n %y %l %s\\n' | sort; "
                          "find . -type f -exec md5sum {} + | sort", shell=True, cwd=tree,
                          stdout=subprocess.PIPE, check=True).stdout


def local(*words):
    p = subprocess.run([OD, "checkpoint", "--json", "--store", STORE, *words],
                       stdout=subprocess.PIPE, check=True)
    return json.loads(p.stdout)


def packed(raw, stored=None, name=None):
    stored = raw if stored is None else stored
    return struct.pack("<IIII", 0x3163646f, len(stored), len(raw), 0) + \
        (name or hashlib.sha256(raw).digest()) + stored


def asks(name):
    return struct.pack("<IIII", 0x3163646f, 0, 0, 0) + name


STORE, TREE = T + "/store", T + "/tree"


def sent():
    os.makedirs(TREE + "/empty")
    for i in range(5):
        with open("%s/large%d" % (TREE, i), "wb") as f:
            f.write(os.urandom(4500000))
    for i in range(300):
        os.makedirs("%s/d%d" % (TREE, i % 20), exist_ok=True)
        with open("%s/d%d/f%d" % (TREE, i % 20, i), "w") as f:
            f.write("%d\n" % i * i)
    os.link(TREE + "/large0", TREE + "/d1/same")
    os.symlink("nowhere", TREE + "/link")
    os.truncate(os.open(TREE + "/hole", os.O_WRONLY | os.O_CREAT), 3000000)
    first = local("create", "--dir", TREE, "--label", "first")
    was = look(TREE)

    a = Server()
    through = Proxy(a.port)
    p = a.send(first["id"], through.url)
    made = json.loads(p.stdout or "{}")
    ok(p.returncode == 0 and made["label"] == "first" and made["why"] == "import" and
       all(made[x] == first[x] for x in ("files", "folders", "others", "bytes", "dirs")),
       "a checkpoint is sent", p)
    ok(through.bytes > 22000000, "with all its contents", through.bytes)
    subprocess.run("rm -rf %s/*; echo other >%s/other" % (TREE, TREE), shell=True, check=True)
    p = a.od("restore", str(made["id"]), "--socket", a.root + "/socket")
    ok(p.returncode == 0 and look(TREE) == was, "and restored there", p)
    with open(TREE + "/d1/new", "w") as f:
        f.write("new")
    second = local("create", "--dir", TREE)
    through.bytes = 0
    p = a.send(second["id"], through.url)
    ok(p.returncode == 0 and through.bytes < 100000, "then only what is missing",
       (p, through.bytes))
    newest = a.list()[0]["id"]
    p = a.send(second["id"])
    again = json.loads(p.stdout or "{}")
    ok(again.get("id") == newest and again.get("same"), "the same once more is that one", p)
    ok(a.actions() == 3, "each is an action in the log", a.actions())
    return a, first, second


def cut(first):
    b = Server()
    # The connection ends at the third answer: it is made again.
    p = b.send(first["id"], Proxy(b.port, 3, once=True).url)
    ok(p.returncode == 0 and len(b.list()) == 1, "a connection that is cut is made again", p)
    b.stop()
    b.remove()
    b = Server()
    gone = Proxy(b.port, 4)
    sender = subprocess.Popen([OD, "checkpoint", "send", str(first["id"]), "--store", STORE,
                               "--server", gone.url], env=b.env)
    holds = gone.was_cut.wait(60)
    sender.terminate()
    status = sender.wait(60)
    ok(holds and status == 125 and b.list() == [], "a sender that is ended leaves nothing",
       (status, b.list()))
    # A sweep meanwhile leaves what has arrived.
    made = json.loads(b.od("create", "--dir", T + "/store", "--socket",
                           b.root + "/socket").stdout)
    b.od("drop", str(made["id"]), "--socket", b.root + "/socket")
    through = Proxy(b.port)
    p = b.send(first["id"], through.url)
    ok(p.returncode == 0 and through.bytes < 17000000, "what has arrived is not sent again",
       (p, through.bytes))
    verified = subprocess.run([OD, "checkpoint", "--json", "--store",
                               b.root + "/state/checkpoints", "verify"],
                              stdout=subprocess.PIPE)
    ok(verified.returncode == 0, "all is whole", verified)
    b.stop()
    b.remove()


def refused(a, first):
    before = [x["id"] for x in a.list()]
    text = b"a text that shrinks " * 50
    small = zlib.compress(text, 9)[2:-4]
    head = packed(text)[:48]
    for name, body, words in (
            ("other bytes than its name says", packed(text, name=bytes(32)), "of its name"),
            ("bytes that do not unpack", head[:4] + struct.pack("<I", 9) + head[8:] +
             b"\xff" * 9, "of its name"),
            ("packed bytes of another length", struct.pack(
                "<IIII", 0x3163646f, len(small), len(text) + 1, 0) + head[16:] + small,
             "of its name"),
            ("a head that is cut off", packed(text)[:40], "cut off"),
            ("bytes that are cut off", packed(text)[:-1], "cut off"),
            ("bytes that are more than they become", struct.pack(
                "<IIII", 0x3163646f, 10, 5, 0) + bytes(42), "cut off"),
            ("a size of 4 GiB", struct.pack("<IIII", 0x3163646f, 0, 0xffffffff, 0) +
             bytes(32), "cut off"),
            ("no record", b"x" * 100, "cut off")):
        status, said = a.post("/checkpoints/contents", body)
        ok(status == 400 and words in said["error"]["message"], name + " is refused",
           (status, said))
    status, said = a.post("/checkpoints/contents", asks(hashlib.sha256(text).digest()))
    ok(status == 200 and said == {"missing": [hashlib.sha256(text).hexdigest()], "taken": 0},
       "nothing of these is there", said)
    status, said = a.post("/checkpoints/contents", packed(text) + b"x" * 60)
    ok(status == 400 and a.post("/checkpoints/contents", asks(
        hashlib.sha256(text).digest()))[1]["missing"] == [], "a good one before a bad one is",
       said)
    status, said = a.post("/checkpoints/contents", b"")
    ok(status == 200 and said == {"missing": [], "taken": 0}, "an empty body is nothing", said)
    status, said = a.post("/checkpoints/contents", bytes((12 << 20) + 1))
    ok(status == 413, "a body that is too long is refused", (status, said))

    def tree(entries):
        """A manifest of folders, in the store; its name."""
        a.post("/checkpoints/contents", packed(entries))
        return "1" + hashlib.sha256(entries).hexdigest()

    def folder(name, child=b""):
        return (b"\x42" if child else b"\x02") + b"\0" + bytes([len(name)]) + name + \
            b"\xed\x03" + bytes(7) + child

    where = ["L3RtcA=="]  # /tmp
    for name, args, words in (
            ("a tree that was not sent", {"tree": "1" + "0" * 64, "dirs_base64": where},
             "missing"),
            ("a folder in it that was not sent",
             {"tree": tree(folder(b"10", bytes(32))), "dirs_base64": where}, "missing"),
            ("another number of folders",
             {"tree": tree(folder(b"10") + folder(b"11")), "dirs_base64": where}, "2 folders"),
            ("folders of other names", {"tree": tree(folder(b"12")), "dirs_base64": where},
             "other than folders"),
            ("names that lead out", {"tree": tree(folder(b"10", hashlib.sha256(folder(
                b"..")).digest()) if tree(folder(b"..")) else b""), "dirs_base64": where},
             "damaged"),
            ("no tree", {"tree": "x", "dirs_base64": where}, "no tree"),
            ("a folder that is relative", {"tree": tree(folder(b"10")),
                                           "dirs_base64": ["dG1w"]}, "no folder"),
            ("no folders", {"tree": tree(folder(b"10")), "dirs_base64": []}, "has 0")):
        status, said = a.post("/checkpoints/import", json.dumps(args).encode())
        ok(status >= 400 and words in said["error"]["message"], name + " is refused",
           (status, said))
    ok([x["id"] for x in a.list()] == before, "and no checkpoint is there", a.list())
    status, said = a.post("/checkpoints/contents", b"", "another")
    ok(status in (401, 403), "not without the key", (status, said))
    p = subprocess.run([OD, "checkpoint", "send", str(first["id"]), "--store", STORE,
                        "--server", a.url], env={**a.env, "OD_SERVER_KEY": "wrong"},
                       stderr=subprocess.PIPE)
    ok(p.returncode == 125 and b"does not accept the key" in p.stderr, "nor by send", p)
    p = a.od("send", str(first["id"]), "--store", STORE, "--server", a.root + "/socket")
    ok(p.returncode == 2 and b"server elsewhere" in p.stderr, "not to a socket", p)
    p = a.send(777)
    ok(p.returncode == 125 and b"no checkpoint 777" in p.stderr, "not what is not there", p)


a, first, second = sent()
cut(first)
refused(a, first)
a.stop()
a.remove()
shutil.rmtree(TREE)
print("1..%d" % count[0])
raise SystemExit(1 if count[1] else 0)
