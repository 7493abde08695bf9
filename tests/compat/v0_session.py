# SPDX-License-Identifier: MIT
"""A whole working session, as an agent has it, with one server from beginning to
end. Alone, against a server that is there:

    v0_session.py URL FOLDER     FOLDER is where the server's shell starts
"""
import os
import pathlib
import sys
import tempfile
import zipfile

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / "lib")]
from tap import Rows, has, holds, same  # noqa: E402
from v0_client import Box, Failed, Written  # noqa: E402
from v0_text import BELOW, completed, ended, goes_on, many, refused, shows, timed_out  # noqa: E402

row = Rows()

PROGRAM = """import sys

def total(path):
    with open(path) as lines:
        return sum(int(line) for line in lines)

if __name__ == "__main__":
    print("total", total(sys.argv[1]))
"""


@row("a whole session", slow=True, set_up=False)
def _(c):
    session(c.box, c.dir)


def session(box, where):
    box.wait_until_alive(20, every=0.05)
    ended(box.set_up({"token_of_git": 'a"b$c'}, {"added": "x y"}))
    ended(box.run(f"cd {where}"))
    project(box, where)
    commands(box, where)
    programs(box)
    files(box, where)
    interrupts(box)
    goodbye(box, where)


def project(box, where):
    """What is written is read, run, found wrong and put right."""
    same(box.list_files(where), [])
    holds(isinstance(box.write(f"{where}/sum/sum.py", PROGRAM), Written))
    holds(isinstance(box.write(f"{where}/sum/numbers", "1\n2\nx"), Written))
    same(box.read(f"{where}/sum/sum.py").content, PROGRAM + "\n")
    seen = ended(box.run("cd sum && python3 sum.py numbers"), 1)
    has(seen.content, "Traceback", "ValueError")
    holds(isinstance(box.write("numbers", "3", 2, 3), Written))
    ended(box.run("python3 sum.py numbers"), 0, "total 6")
    same(box.read("numbers").content, "1\n2\n3\n")
    same(box.list_files(f"{where}/sum"), ["numbers", "sum.py"])
    holds(isinstance(box.read("none.py"), Failed))


def commands(box, where):
    same(ended(box.run("pwd")).metadata.working_dir, f"{where}/sum")
    ended(box.run("cd .."), 0, "")
    ended(box.run('x=1; f() { echo "f $1 $x"; }'), 0, "")
    ended(box.run("f a"), 0, "f a 1")
    ended(box.run("echo $ADDED"), 0, "x y")
    many(box.run("echo one\necho two"), "echo one", "echo two")
    ended(box.run("ls nothing 2>&1 | cat; false || (exit 4)"), 4)
    seen = ended(box.run("sleep 0.1 & echo $!; disown"))
    same(str(seen.metadata.pid), seen.content.split("\n")[-1])
    ended(box.run("for i in 1 2 3; do\n  echo $i\ndone"), 0, "1\n2\n3")


def programs(box):
    """Two that ask, and one that is asked for more too early."""
    seen = box.run('read -p "Name: " n; read -p "Age: " a; echo "$n is $a"', timeout=1)
    goes_on(seen, timed_out(1), "Name:")
    goes_on(box.run("ls", timeout=1), refused("ls"), "", BELOW)
    seen = box.input("Ann", timeout=1)
    goes_on(seen, timed_out(1), prefix=BELOW)
    has(seen.content, "Age:")
    ended(box.input("30"), 0, "Ann is 30")
    shows(box, goes_on(box.run("python3 -q", timeout=1), timed_out(1)), ">>>")
    seen = goes_on(box.input("print(6 * 7)", timeout=1), timed_out(1), prefix=BELOW)
    shows(box, seen, "42")
    ended(box.input("C-d"), 0, key="D")


def files(box, where):
    with tempfile.TemporaryDirectory() as here:
        make = pathlib.Path(here, "tools")
        (make / "bin").mkdir(parents=True)
        (make / "bin" / "say").write_text("#!/bin/sh\necho said \"$@\"\n")
        (make / "data.bin").write_bytes(bytes(range(256)) * 1000)
        box.copy_to(make, where, recursive=True)
        ended(box.run("chmod +x tools/bin/say && tools/bin/say hello"), 0, "said hello")
        box.copy_to(make / "data.bin", f"{where}/incoming")
        ended(box.run("cmp tools/data.bin incoming/data.bin"), 0, "")
        got = box.copy_from(f"{where}/tools")
        with zipfile.ZipFile(got) as archive:
            same(sorted(archive.namelist()), ["bin/say", "data.bin"])
            same(archive.read("data.bin"), (make / "data.bin").read_bytes())
        os.unlink(got)
    same(box.list_files(where), ["incoming/", "sum/", "tools/"])


def interrupts(box):
    loop = "trap 'echo caught; exit 9' INT; while :; do read -t 1 x; done"
    goes_on(box.run(f'bash -c "{loop}"', timeout=1), timed_out(1), "")
    ended(box.input("C-c"), 9, key="C")
    goes_on(box.run("sleep 100", timeout=1), timed_out(1), "")
    seen = ended(box.input("C-c"), 130, key="C")
    same(seen.suffix, completed(130, "C"))
    ended(box.run("f b"), 0, "f b 1")


def goodbye(box, where):
    ended(box.run("git status", is_static=True, hidden=True), 128)
    ended(box.run("pwd; jobs"), 0, where)
    holds(box.server_info()["uptime"] > 0)
    same(box.cuts, 0)


if __name__ == "__main__":
    session(Box(sys.argv[1]), sys.argv[2])
    print("a whole session: fine")
