#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""first.py PROGRAM PROGRAM.debug >build/first.ld: the functions that a server runs
until it has answered, a process after the other, as a script for the linker.

Linux maps a file's pages in windows of 64 KiB. With these functions next to each
other, a process maps and counts the few windows that it uses, and takes fewer faults.
To be run again when much of the start has changed (x86-64, GNU ld). A name
that is gone does no harm, and a function that is not listed stays where it was.

It sets a breakpoint at each function of each process that runs PROGRAM, and notes
and removes those that are reached.
"""
import collections
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TRACEME, GETREGS, SETREGS, CONT, DETACH, SETOPTIONS = 0, 12, 13, 7, 17, 0x4200
FORK, VFORK, CLONE, EXEC, EXITKILL = 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 20
EVENT_EXEC = 4
WALL = 0x40000000
RIP, REGISTERS = 16, 27
ORDER = ["reaper", "keeper", "worker", "exec", "serve"]

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def functions(debug):
    """Address: (name, object file or "")."""
    found = {}
    text = subprocess.run(["nm", "-l", debug], capture_output=True, text=True, check=True)
    for line in text.stdout.splitlines():
        symbol, _, place = line.partition("\t")
        word = symbol.split()
        if len(word) == 3 and word[1] in "tTwW":
            source = os.path.basename(place.rpartition(":")[0]) if "/" in place else ""
            obj = source[:-2] + ".o" if source.endswith(".c") else ""
            found.setdefault(int(word[0], 16), (word[2], obj))
    return found


class Tracer:
    """Runs commands, and collects in .reached[role] which addresses were."""

    def __init__(self, program, addresses):
        self.program = os.path.realpath(program)
        self.addresses = addresses
        with open(program, "rb") as f:
            self.text = f.read()
        self.patched = bytearray(self.text)
        for a in addresses:
            self.patched[a] = 0xCC
        self.end = max(addresses) + 1
        self.base, self.role = {}, {}
        self.reached = collections.defaultdict(set)

    def look(self, pid):
        """Where the program is in a process, and what it is; False: another program."""
        self.base.pop(pid, None)
        with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
            for line in f:
                if line.rstrip().endswith(self.program):
                    self.base[pid] = int(line.split("-")[0], 16)
                    break
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            words = f.read().decode().split("\0")
        name = os.path.basename(words[0])
        self.role[pid] = name[3:] if name.startswith("od-") else words[1]
        return pid in self.base

    def write(self, pid, at, data):
        with open(f"/proc/{pid}/mem", "r+b", buffering=0) as f:
            f.seek(self.base[pid] + at)
            f.write(data)

    def breakpoint(self, pid):
        """Whether a process stands behind a breakpoint; notes and removes it."""
        r = (ctypes.c_ulong * REGISTERS)()
        libc.ptrace(GETREGS, pid, None, r)
        at = r[RIP] - 1 - self.base.get(pid, 0)
        if at not in self.addresses:
            return False
        self.reached[self.role[pid]].add(at)
        self.write(pid, at, self.text[at:at + 1])
        r[RIP] -= 1
        libc.ptrace(SETREGS, pid, None, r)
        return True

    def start(self, *command):
        pid = os.fork()
        if pid == 0:
            quiet = os.open("/dev/null", os.O_RDWR)
            for fd in range(3):
                os.dup2(quiet, fd)
            libc.ptrace(TRACEME, 0, None, None)
            os.kill(os.getpid(), signal.SIGSTOP)
            os.execv(self.program, [self.program, *command])
        os.waitpid(pid, 0)
        libc.ptrace(SETOPTIONS, pid, None, FORK | VFORK | CLONE | EXEC | EXITKILL)
        self.look(pid)
        libc.ptrace(CONT, pid, None, None)
        return pid

    def follow(self, until, seconds):
        """Until the process `until` has ended, or so many seconds are over."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pid, status = os.waitpid(-1, WALL | os.WNOHANG)
            if pid == 0:
                time.sleep(0.001)
                continue
            if not os.WIFSTOPPED(status):
                if pid == until:
                    return
                continue
            sig, event, give = os.WSTOPSIG(status), status >> 16, 0
            if event == EVENT_EXEC:
                if not self.look(pid):
                    libc.ptrace(DETACH, pid, None, None)
                    continue
                self.write(pid, 0x1000, bytes(self.patched[0x1000:self.end]))
            elif not event and pid not in self.base:
                self.look(pid)  # a new child, at its first stop
            elif not event and (sig != signal.SIGTRAP or not self.breakpoint(pid)):
                give = sig
            libc.ptrace(CONT, pid, None, give)


def script(tracer, found):
    print("/* SPDX-License-Identifier: MIT */")
    print("/* Made by build/first.py, which says what for. */")
    print("SECTIONS\n{\n    .text.first :\n    {")
    done = set()
    for role in ORDER:
        print(f"        /* {role} */")
        files = collections.defaultdict(set)
        for a in tracer.reached[role] - done:
            files["*" + found[a][1]].add(".text." + found[a][0])
        done |= tracer.reached[role]
        for name in sorted(files):
            line = f"        {name}("
            for section in sorted(files[name]):
                if len(line) + len(section) > 96:
                    print(line.rstrip())
                    line = "            "
                line += section + " "
            print(line.rstrip() + ")")
    print("    }\n}\nINSERT BEFORE .text;")


def main():
    program, debug = sys.argv[1:]
    found = functions(debug)
    tracer = Tracer(program, found)
    folder = tempfile.mkdtemp()
    os.environ |= {"OD_SOCKET": folder + "/sock", "OD_STATE_DIR": folder, "HOME": folder}
    for port in [], ["0"]:
        server = tracer.start("serve", "--log", "error", *port)
        tracer.follow(server, 3)
        tracer.follow(tracer.start("exec", "true"), 10)
        tracer.follow(server, 2)
        os.kill(server, signal.SIGKILL)
        tracer.follow(server, 5)
        time.sleep(0.5)
    shutil.rmtree(folder, ignore_errors=True)
    script(tracer, found)


main()
