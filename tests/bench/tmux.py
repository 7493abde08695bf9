# SPDX-License-Identifier: MIT
"""tmux.py OURS THEIRS LINES: od tmux and Debian's tmux, as lines of a name and a number. OURS is a link
named tmux to od, THEIRS is tmux, LINES a program that writes numbered lines (lines.c).

  ours_whole theirs_whole    ms of capture-pane -p -S - of 1,000,000 lines of 80 characters, the median
  ours_kib theirs_kib        memory (Pss) of all processes of the server with 10,000,000 such lines
  ours_more theirs_more      of that, what the lines have added
  ours_write theirs_write    seconds until they had been written
  ours_list theirs_list      ms of list-panes -a while 100 panes get 1 MB a second each, the median
  ours_worst theirs_worst    the same, the slowest
  ours_lost theirs_lost      panes of these whose lines are not all there
  ours_flow theirs_flow      seconds until the last of their 5 MB each was there
  ours_warm theirs_warm      ms from new-session to a capture that shows the prompt, the median
  ours_cold theirs_cold      the same where there was no server"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

LINES = sys.argv[3]
PANES, SECONDS = 100, 5
WIDE = "0" * 79 + "7"


class Peer:
    def __init__(self, name, program):
        self.name = name
        self.dir = tempfile.mkdtemp()
        self.env = {"PATH": os.environ["PATH"], "HOME": self.dir, "TMUX_TMPDIR": self.dir, "SHELL": "/bin/sh", "LC_ALL": "C.UTF-8",
                    "TERM": "xterm", "OD_STATE_DIR": self.dir + "/state"}
        self.line = [program, "-f", "/dev/null"]

    def run(self, *words, out=None):
        """A process, as cheap as it can be from here; into a file if there is one, else its output."""
        r, w = (None, os.open(out, os.O_WRONLY)) if out else os.pipe()
        null = os.open(os.devnull, os.O_RDONLY)
        pid = os.posix_spawnp(self.line[0], [*self.line, *words], self.env,
                              file_actions=[(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, w, 1)])
        os.close(w)
        os.close(null)
        text = b""
        if r is not None:
            with os.fdopen(r, "rb") as pipe:
                text = pipe.read()
        if os.waitpid(pid, 0)[1] and words[0] != "kill-server":
            raise SystemExit(f"{self.name}: {words[0]} has failed")
        return text

    def until(self, target, text):
        while text not in self.run("capture-pane", "-p", "-t", target):
            time.sleep(0.05)

    def put(self, what, number):
        print(f"{self.name}_{what}", f"{number:.3f}", flush=True)

    def kib(self):
        """Of the server's own processes: those of its program."""
        server = int(self.run("display-message", "-p", "#{pid}"))
        program, total, left = os.readlink(f"/proc/{server}/exe"), 0, [server]
        while left:
            pid = left.pop()
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
                left += [int(n) for n in f.read().split()]
            if os.readlink(f"/proc/{pid}/exe") == program:
                with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
                    total += next(int(x.split()[1]) for x in f if x.startswith("Pss:"))
        return total

    def end(self):
        """The server's end, and that of its processes."""
        server = int(self.run("display-message", "-p", "#{pid}"))
        self.run("kill-server")
        while os.path.exists(f"/proc/{server}"):
            time.sleep(0.01)


def took(function, *words, **more):
    begin = time.perf_counter()
    function(*words, **more)
    return (time.perf_counter() - begin) * 1000


def write(peer, count):
    """Lines of 80 characters into the pane of a new session."""
    peer.run("start-server", ";", "set-option", "-g", "history-limit", "20000000", ";", "new-session", "-d", "-s", "x", "-x",
             "100", "-y", "30", f"yes {WIDE} | head -n {count}; echo begins; cat")
    begin = time.perf_counter()
    peer.until("x", b"begins")
    return time.perf_counter() - begin


def whole(peers):
    for peer in peers:
        write(peer, 1000000)
        if len(peer.run("capture-pane", "-p", "-S", "-", "-t", "x")) < 81000000:
            raise SystemExit(peer.name + ": the history is not whole")
    times = {peer.name: [] for peer in peers}
    for _ in range(5):
        for peer in peers:
            times[peer.name].append(took(peer.run, "capture-pane", "-p", "-S", "-", "-t", "x", out=os.devnull))
    for peer in peers:
        peer.put("whole", statistics.median(times[peer.name]))
        peer.end()


def memory(peer):
    peer.run("new-session", "-d", "-s", "first", "cat")
    before = peer.kib()
    peer.put("write", write(peer, 10000000))
    after = peer.kib()
    peer.put("kib", after)
    peer.put("more", after - before)
    peer.end()


def flow(peer):
    go = peer.dir + "/go"
    size = SECONDS * 1000000
    peer.run("start-server", ";", "set-option", "-g", "history-limit", "10000000", ";", "new-session", "-d", "-s", "x", "-n", "n0",
             "cat")
    for i in range(1, PANES + 1):
        peer.run("new-window", "-d", "-t", f"x:{i}", "-n", f"n{i}",
                 f"until [ -e {go} ]; do sleep 0.1; done; {LINES} {size} 1000000; echo begins; cat")
    with open(go, "w", encoding="ascii"):
        begin = time.perf_counter()
    times = []
    while time.perf_counter() - begin < SECONDS:
        times.append(took(peer.run, "list-panes", "-a", out=os.devnull))
        time.sleep(0.02)
    for i in range(1, PANES + 1):
        peer.until(f"x:{i}", b"begins")
    peer.put("flow", time.perf_counter() - begin)
    wanted = subprocess.run([LINES, str(size)], stdout=subprocess.PIPE, check=True).stdout + b"begins\n"
    lost = sum(peer.run("capture-pane", "-p", "-S", "-", "-t", f"x:{i}").rstrip(b"\n") + b"\n" != wanted for i in range(1, PANES + 1))
    peer.put("list", statistics.median(times))
    peer.put("worst", max(times))
    peer.put("lost", lost)
    peer.end()


def prompts(peers):
    def prompt(peer, name):
        peer.run("new-session", "-d", "-s", name)
        while not peer.run("capture-pane", "-p", "-t", name).strip():
            pass
    for kind in ("cold", "warm"):
        times = {peer.name: [] for peer in peers}
        for i in range(30):
            for peer in peers:
                times[peer.name].append(took(prompt, peer, f"s{i}"))
                if kind == "cold":
                    peer.end()
        for peer in peers:
            peer.put(kind, statistics.median(times[peer.name]))
    for peer in peers:
        peer.end()


def main():
    peers = [Peer("ours", sys.argv[1]), Peer("theirs", sys.argv[2])]
    prompts(peers)
    whole(peers)
    for peer in peers:
        flow(peer)
    for peer in peers:
        memory(peer)


main()
