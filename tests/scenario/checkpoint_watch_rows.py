# SPDX-License-Identifier: MIT
"""For checkpoint-watch.test: after each change, a checkpoint of the server, which reads the
folders that changed, has no difference to one that reads the whole tree."""
import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys

OD = os.environ["OD"]
TREE, STATE, KEEPER = sys.argv[1:]
count = [0, 0]
programs = []


def ok(good, name, why=""):
    count[0] += 1
    count[1] += not good
    print("%sok %d - %s" % ("" if good else "not ", count[0], name))
    if not good:
        print("# %s" % (why,))


def od(*words, **more):
    p = subprocess.run([OD, "checkpoint", *words, "--json"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, **more)
    return json.loads(p.stdout) if p.stdout else {"error": p.stderr.decode()}


def store():
    return next(os.path.join(at, "checkpoints") for at, folders, _ in os.walk(STATE)
                if "checkpoints" in folders)


def differs():
    """What a scan of everything finds that the server's checkpoint has not."""
    made = od("--dir", TREE)
    whole = od("--store", store(), "--dir", TREE)
    seen = od("diff", str(made.get("id")), str(whole.get("id")), "--store", store())
    same = [made.get(x) == whole.get(x) for x in ("files", "folders", "others", "bytes", "gaps")]
    return [] if seen.get("changes") == [] and all(same) else [made, whole, seen]


def settle():
    """Until no file is so new that its time does not tell: a folder without events is then
    not read."""
    for _ in range(3):
        od("--dir", TREE)
        os.utime(TREE)
        subprocess.run(["sleep", "0.03"], check=True)


def write(path, text, mode="w"):
    with open(os.path.join(TREE, path), mode) as f:
        f.write(text)


def program(text, *args):
    """A process that says when it is ready, and goes on with each line."""
    p = subprocess.Popen([sys.executable, "-c", text, *args], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True, bufsize=1)
    programs.append(p)
    p.stdout.readline()
    return p


def tell(p):
    p.stdin.write("go\n")
    p.stdout.readline()


def build():
    for a in range(6):
        for b in range(6):
            os.makedirs("%s/a%d/b%d/c" % (TREE, a, b))
            for i in range(4):
                write("a%d/b%d/f%d" % (a, b, i), "file %d of %d and %d\n" % (i, a, b))
            write("a%d/b%d/c/deep" % (a, b), "deep\n")


def row(name, change):
    settle()
    change()
    seen = differs()
    ok(not seen, name, seen)


MAPS = """
import mmap, sys
f = open(sys.argv[1], 'r+b')
m = mmap.mmap(f.fileno(), 0)
f.close()
print('ready', flush=True)
for i, line in enumerate(sys.stdin):
    m[0:1] = b'%d' % (i % 10)
    print('done', flush=True)
"""
HOLDS = """
import os, sys
f = os.open(sys.argv[1], os.O_RDWR)
print('ready', flush=True)
for i, line in enumerate(sys.stdin):
    os.pwrite(f, b'%d' % (i % 10), 0)
    print('done', flush=True)
"""


def rows():
    build()
    row("nothing changed", lambda: None)
    row("a file is written", lambda: write("a1/b1/f1", "x", "a"))
    row("a file is made deep below", lambda: write("a2/b2/c/new", "x"))
    row("a file is removed", lambda: os.unlink(TREE + "/a2/b2/f0"))
    row("a mode", lambda: os.chmod(TREE + "/a3/b2/f0", 0o600))
    row("the mode of a folder", lambda: os.chmod(TREE + "/a3/b2/c", 0o700))
    row("a time", lambda: os.utime(TREE + "/a3/b1/c/deep", (1, 1)))
    row("a link", lambda: os.symlink("f0", TREE + "/a3/b3/link"))
    row("a file is replaced", lambda: (write("a4/b0/new", "new"),
                                       os.rename(TREE + "/a4/b0/new", TREE + "/a4/b0/f0")))
    row("a folder moves", lambda: os.rename(TREE + "/a0/b0", TREE + "/a5/moved"))
    row("two folders change places", lambda: (
        os.rename(TREE + "/a1/b0", TREE + "/x"), os.rename(TREE + "/a1/b2", TREE + "/a1/b0"),
        os.rename(TREE + "/x", TREE + "/a1/b2")))
    row("a folder is made again under its name", lambda: (
        shutil.rmtree(TREE + "/a2/b3"), os.mkdir(TREE + "/a2/b3"), write("a2/b3/f0", "again")))
    row("a folder becomes a file", lambda: (shutil.rmtree(TREE + "/a2/b4"), write("a2/b4", "f")))
    row("a folder is moved out, and changed", lambda: (
        os.rename(TREE + "/a2/b5", os.path.dirname(TREE) + "/out"),
        write("../out/f0", "out"), os.rename(os.path.dirname(TREE) + "/out", TREE + "/a2/back")))
    row("a second name in another folder", lambda: os.link(TREE + "/a3/b4/f0", TREE + "/a4/b4/g"))
    row("what has two names is written by one", lambda: write("a4/b4/g", "more", "a"))
    os.link(TREE + "/a5/b5/f0", os.path.dirname(TREE) + "/outside")
    od("--store", store(), "--dir", TREE)
    od("--dir", TREE)
    row("what has a name outside is written by that", lambda: write("../outside", "more", "a"))
    row("one of two names goes", lambda: os.unlink(TREE + "/a4/b4/g"))
    mapped = program(MAPS, TREE + "/a0/b1/f1")
    row("a mapped file is written", lambda: tell(mapped))
    row("and again", lambda: tell(mapped))
    mapped.stdin.close()
    row("and its program has ended", mapped.wait)
    mapped_again()
    held = program(HOLDS, TREE + "/a0/b2/f1")
    row("an open file is written", lambda: tell(held))
    row("and again after a checkpoint", lambda: tell(held))
    row("a mapping that was made and ended in between", lambda: (
        lambda p: (tell(p), p.stdin.close(), p.wait()))(program(MAPS, TREE + "/a0/b3/f1")))
    many()
    worker()
    whole_folders()
    random_rows()


def mapped_again():
    """Writes by a mapping after the first one, for which the kernel sets no time."""
    path = TREE + "/a0/b5/f1"
    p = program(MAPS, path)
    was = []
    for i in range(4):
        tell(p)
        if i == 3:
            p.stdin.close()
            p.wait()
        with open(path) as f:
            was.append((f.read(), od("--dir", TREE).get("id")))
    bad = []
    for text, made in was:
        od("restore", str(made))
        with open(path) as f:
            bad += [(made, text, x) for x in [f.read()] if x != text]
    ok(not bad, "each of four writes by one mapping comes back", bad)


def many():
    """More folders change than the kernel has room for events."""
    def change():
        for i in range(9000):
            write("many/%d/g" % i, "x")
    os.mkdir(TREE + "/many")
    for i in range(9000):
        os.mkdir("%s/many/%d" % (TREE, i))
        write("many/%d/f" % i, "x")
    row("9,000 folders are new", lambda: None)
    row("all of them change", change)
    row("a file in one of them", lambda: write("many/77/f", "y"))
    row("they go", lambda: shutil.rmtree(TREE + "/many"))


def worker():
    def change():
        out = subprocess.run(["ps", "-o", "pid=", "--ppid", KEEPER], stdout=subprocess.PIPE,
                             text=True).stdout.split()
        write("a0/b4/f0", "while nobody looks", "a")
        for pid in out:
            with open("/proc/%s/comm" % pid) as f:
                if f.read().startswith("od-worker"):
                    os.kill(int(pid), signal.SIGKILL)
    row("the worker is killed", change)
    row("and the next one sees changes", lambda: write("a0/b4/f1", "x", "a"))


def whole_folders():
    """Two folders, of which one is in the other."""
    def both():
        write("a1/b1/f2", "twice", "a")
        made = od("--dir", TREE + "/a1")
        return made
    row("another tree, which is in this one", both)
    row("and this one again", lambda: write("a1/b1/f3", "x", "a"))
    row("a restore", lambda: od("restore", "1", TREE + "/a1"))


def change_some(r):
    """Up to three changes of any kind."""
    folders = [at for at, _, _ in os.walk(TREE)]
    files = [os.path.join(at, f) for at, _, names in os.walk(TREE) for f in names]
    for _ in range(r.randrange(4)):
        f, d = r.choice(files), r.choice(folders)
        try:
            what = r.randrange(9)
            if what == 0:
                with open(f, "a") as out:
                    out.write("x")
            elif what == 1:
                os.unlink(f)
            elif what == 2:
                os.rename(f, d + "/m%d" % r.randrange(1000))
            elif what == 3:
                os.mkdir(d + "/d%d" % r.randrange(1000))
            elif what == 4:
                os.link(f, d + "/l%d" % r.randrange(1000))
            elif what == 5:
                os.rename(r.choice(folders[1:]), d + "/r%d" % r.randrange(1000))
            elif what == 6:
                os.chmod(d, r.choice((0o700, 0o755)))
            elif what == 7:
                with open(f, "r+b") as out, mmap.mmap(out.fileno(), 0) as m:
                    m[0] = 65 + r.randrange(26)
            else:
                with open(d + "/n%d" % r.randrange(1000), "w") as out:
                    out.write("new")
        except (OSError, ValueError):
            pass


def state():
    """What the tree is: without od."""
    out, names = {}, {}
    for at, folders, files in os.walk(TREE):
        folders.sort()  # the first name of a file is the same one, in whatever order they are
        for path in [at] + [os.path.join(at, x) for x in folders + sorted(files)]:
            st = os.lstat(path)
            what = os.readlink(path) if os.path.islink(path) else ""
            if os.path.isfile(path) and not what:
                names.setdefault((st.st_dev, st.st_ino), path)
                what = names[(st.st_dev, st.st_ino)]
                with open(path, "rb") as f:
                    what = (what, f.read())
            out[path] = (st.st_mode, st.st_uid, st.st_mtime_ns, what)
    return out


def unlike(a, b):
    return [(x, a.get(x), b.get(x)) for x in sorted(set(a) | set(b)) if a.get(x) != b.get(x)][:3]


def random_rows():
    seed = int(os.environ.get("OD_TEST_SEED", random.randrange(1 << 30)))
    r = random.Random(seed)
    print("# seed %d" % seed)
    bad = []
    for _ in range(60):
        change_some(r)
        bad = differs()
        if bad:
            break
    ok(not bad, "random changes", (seed, bad))
    bad = []
    for _ in range(40):
        then = od("--dir", TREE), state()
        for _ in range(r.randrange(1, 4)):
            change_some(r)
        before = state()
        back = od("restore", str(then[0].get("id")))
        bad += unlike(then[1], state()) + back.get("problems", [back])
        if r.randrange(2):
            change_some(r)
            od("restore", str(back.get("safety")))
            bad += unlike(before, state())
        if bad:
            break
    ok(not bad, "random restores, some taken back", (seed, bad))


try:
    rows()
finally:
    for p in programs:
        p.kill()
print("1..%d" % count[0])
sys.exit(1 if count[1] else 0)
