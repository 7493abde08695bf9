# SPDX-License-Identifier: MIT
"""What callers of tmux do, with both programs: each step's result is one row.

Harbor's runner of Terminal-Bench, OpenHands' terminal and its pool of windows (by
libtmux), agent teams of Claude Code, an agent's own instructions, and libtmux by itself.
"""
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
import traceback

try:
    import libtmux
except ImportError:
    libtmux = None

WAIT_S = 20


class Peer:
    """One of the two programs, with a folder and a socket of its own."""

    def __init__(self, program, room):
        self.program = program
        self.room = room
        os.makedirs(room, 0o700, exist_ok=True)
        self.rows = []
        self.missed = False
        self.env = {"PATH": os.path.dirname(program) + ":/usr/bin:/bin", "HOME": room,
                    "SHELL": "/bin/bash", "TERM": "xterm-256color", "LANG": "C.UTF-8",
                    "LC_ALL": "C.UTF-8", "TMUX_TMPDIR": room, "HISTFILE": "", "PS1": "$ ",
                    "OD_STATE_DIR": os.path.join(room, "state")}

    def row(self, name, value):
        text = repr(value).replace(self.room, "ROOM").replace(self.program, "TMUX")
        text = re.sub(r"/dev/pts/\d+", "PTS", text)
        text = re.sub(r"error connecting to (\S+) \(No such file or directory\)",
                      r"no server running on \1", text)
        self.rows.append((name, text))

    def run(self, *words, seconds=WAIT_S, shell=False, env=None):
        r = subprocess.run(words[0] if shell else words, env=env or self.env, cwd=self.room,
                           shell=shell, executable="/bin/bash" if shell else None,
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds,
                           check=False)
        return (r.returncode, r.stdout.decode(errors="replace"),
                r.stderr.decode(errors="replace"))

    def do(self, *words):
        """Runs tmux, which is a row."""
        r = self.run(self.program, *words)
        name = " ".join(w.split("\n")[0] for w in words).replace(self.room, "ROOM")
        self.row(name.replace(self.program, "TMUX")[:100], r)
        return r

    def until(self, condition):
        end = time.time() + WAIT_S
        while time.time() < end:
            if condition():
                return True
            time.sleep(0.02)
        return False

    def runs(self, program, *where):
        """Waits for it: an Enter that is typed before is no newline to what reads then."""
        self.row(f"{program} runs", self.until(lambda: self.run(
            self.program, *where[:2], "display-message", "-p", "-t", where[2],
            "#{pane_current_command}")[1] == program + "\n"))

    def ends(self, *where):
        """A server that has lost its last session answers for a moment more."""
        self.row("the server ends", self.until(lambda: re.search(
            "no server|error connecting", self.run(self.program, *where, "has-session")[2])
            is not None))

    def sees(self, regex, *where):
        found = self.until(lambda: re.search(
            regex, self.run(self.program, *where[:2], "capture-pane", "-p", "-S", "-", "-t",
                            where[2])[1]))
        self.missed |= not found
        self.row(f"the pane shows {regex}", found)


def harbor(p):
    """agents/terminus_2/tmux_session.py, with a socket in a path."""
    sock = p.room + "/harbor.sock"
    s = ("-S", sock)
    p.do("-V")
    p.row("which tmux", p.run("which tmux >/dev/null", shell=True))
    p.do(*s, "list-sessions")
    p.row("the dummy session", p.run(
        f'script -qc "tmux -S {sock} new-session -d -s _dummy" /dev/null', shell=True))
    p.do(*s, "set-option", "-g", "history-limit", "10000000")
    log = p.room + "/pane.log"
    p.row("the session", p.run(
        "export TERM=xterm-256color SHELL=/bin/bash; "
        f'script -qc "tmux -S {sock} new-session -e K=V -e TERM_X=1 -x 160 -y 40 -d -s agent '
        f"'bash --norc --noprofile' \\; pipe-pane -t agent 'cat > {log}'\" /dev/null",
        shell=True))
    p.do(*s, "kill-session", "-t", "_dummy")
    p.do(*s, "list-sessions", "-F", "#{session_name} #{session_windows}")
    p.do(*s, "has-session", "-t", "agent")
    p.do(*s, "display-message", "-p", "-t", "agent",
         "#{history_limit} #{pane_width}x#{pane_height} #{pane_pipe}")
    p.do(*s, "send-keys", "-t", "agent", "PS1='> '; clear", "Enter")
    p.sees(r"(?m)^>", *s, "agent")
    p.do(*s, "send-keys", "-t", "agent",
         f"echo $K; echo two; {p.program} -S {sock} wait -S done", "Enter")
    p.row("wait done", p.run("timeout", "20s", p.program, "-S", sock, "wait", "done"))
    p.sees(r"(?m)^V\n", *s, "agent")
    p.do(*s, "send-keys", "-t", "agent", "cat > long.txt <<'END'\n" + "x" * 200 + "\nEND\n")
    p.sees(r"END\n>", *s, "agent")
    p.do(*s, "send-keys", "-t", "agent", "echo '" + "0123456789" * 1500 + "' | wc -c", "Enter")
    p.sees(r"(?m)^15001\n", *s, "agent")
    p.do(*s, "send-keys", "-t", "agent", "clear; wc -c long.txt", "Enter")
    p.sees(r"201 long.txt\n>", *s, "agent")
    p.do(*s, "capture-pane", "-p", "-t", "agent")
    p.do(*s, "send-keys", "-t", "agent", "cat", "Enter")
    p.runs("cat", *s, "agent")
    p.do(*s, "send-keys", "-t", "agent", "mark", "C-d")
    p.do(*s, "send-keys", "-t", "agent", "C-c")
    p.sees(r"\^C\n+>", *s, "agent")  # what is typed before may be lost at an interrupt
    p.do(*s, "send-keys", "-t", "agent", "clear; seq 1000 | sed s/^/row/", "Enter")
    p.sees(r"row1000\n>", *s, "agent")
    whole = p.run(p.program, *s, "capture-pane", "-p", "-S", "-", "-t", "agent")[1]
    p.row("all rows are kept", re.findall(r"row\d+", whole)[-1000:] ==
          [f"row{i}" for i in range(1, 1001)])
    p.do(*s, "capture-pane", "-p", "-t", "agent")
    p.row("the pipe had all", p.until(lambda: b"row1000" in open(log, "rb").read()))
    p.do(*s, "send-keys", "-t", "agent", "C-d")
    p.ends(*s)
    p.do(*s, "has-session", "-t", "agent")


def claude(p):
    """Agent teams: a pane for each, whose placeholder is replaced by the program."""
    s = ("-L", "claude")
    p.do(*s, "new-session", "-d", "-s", "team", "-x", "120", "-y", "40", "-P", "-F",
         "#{pane_id}", "cat")
    p.do(*s, "display-message", "-p", "#{pane_id}")
    p.do(*s, "list-panes", "-F", "#{pane_id}")
    p.do(*s, "split-window", "-d", "-t", "%0", "-h", "-l", "70%", "-P", "-F", "#{pane_id}",
         "--", "cat")
    p.do(*s, "select-pane", "-t", "%1", "-T", "worker one")
    p.do(*s, "set-option", "-p", "-t", "%1", "remain-on-exit", "failed")
    p.do(*s, "set-option", "-p", "-t", "%1", "pane-border-style", "fg=blue")
    p.do(*s, "set-option", "-w", "-t", "team", "pane-border-status", "top")
    p.do(*s, "set-option", "-w", "-t", "team", "pane-border-status", "off")
    p.do(*s, "respawn-pane", "-k", "-t", "%1", "--", "echo begun; read x; echo got $x; exit 4")
    p.sees("begun", *s, "%1")
    p.do(*s, "send-keys", "-t", "%1", "-l", "some text; Enter")
    p.do(*s, "send-keys", "-t", "%1", "Enter")
    p.sees("got some text; Enter", *s, "%1")
    p.sees("Pane is dead", *s, "%1")
    p.do(*s, "list-panes", "-F",
         "#{pane_id} #{pane_title} #{pane_dead} #{pane_dead_status} #{pane_width}")
    p.do(*s, "respawn-pane", "-k", "-t", "%1", "--", "cat")
    p.do(*s, "split-window", "-d", "-t", "%1", "-v", "-P", "-F", "#{pane_id}", "--", "cat")
    p.do(*s, "select-layout", "-t", "team", "main-vertical")
    p.do(*s, "resize-pane", "-t", "%0", "-x", "30%")
    p.do(*s, "list-panes", "-t", "team", "-F", "#{pane_id} #{pane_width}x#{pane_height}")
    p.do(*s, "select-layout", "-t", "team", "tiled")
    p.do(*s, "list-panes", "-t", "team", "-F", "#{pane_id} #{pane_width}x#{pane_height}")
    p.do(*s, "kill-pane", "-t", "%1")
    p.do(*s, "kill-pane", "-t", "%1")
    p.do(*s, "list-panes", "-F", "#{pane_id} #{pane_active}")
    p.do(*s, "kill-session", "-t", "team")
    p.ends(*s)
    p.do(*s, "has-session", "-t", "team")


def skill(p):
    """An agent's own instructions."""
    s = ("-L", "skill")
    p.do(*s, "new-session", "-d", "-s", "work", "-x", "60", "-y", "10",
         "PS1='$ ' exec bash --norc --noprofile")
    p.sees(r"(?m)^\$", *s, "work")
    p.do(*s, "send-keys", "-t", "work", "read -p 'name: ' n && echo hello $n", "Enter")
    p.sees(r"(?m)^name:", *s, "work")
    p.do(*s, "send-keys", "-t", "work", "Ann Other", "Enter")
    p.sees(r"(?m)^hello", *s, "work")
    p.do(*s, "send-keys", "-t", "work", "printf '\\e[32mgreen\\e[0m\\n'; echo " + "y" * 70,
         "Enter")
    p.sees(r"y{10}\n\$", *s, "work")
    p.do(*s, "capture-pane", "-p", "-t", "work")
    p.do(*s, "capture-pane", "-p", "-e", "-J", "-t", "work")
    p.do(*s, "ls", "-F", "#{session_name}: #{session_windows} windows")
    p.do(*s, "kill-session", "-t", "work")
    p.ends(*s)
    p.do(*s, "ls")


def control(p):
    """Control mode, as iTerm2 and tests of libtmux use it: blocks, their order, errors."""
    s = ("-L", "control")
    p.do(*s, "new-session", "-d", "-s", "c", "-n", "w", "-x", "80", "-y", "24", "cat")
    lines = ("list-windows -F '#{window_name}'", "nope", "display-message -p hi",
             "has-session -t zz", "rename-window other", "show-options -g base-index",
             "set-buffer text", "show-buffer", "wait-for -S x", "wait-for x",
             "new-window -d -n two cat ; display-message -p '#{session_windows}'")
    with subprocess.Popen([p.program, *s, "-C", "attach-session", "-t", "c"], env=p.env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        out, ends = b"", 0
        while ends < len(lines) + 2:  # the attach, and one line has two commands
            line = client.stdout.readline()
            if not line:
                break
            out += line
            ends += line.startswith((b"%end", b"%error"))
            if line.startswith(b"%session-changed"):
                client.stdin.write("".join(x + "\n" for x in lines).encode())
                client.stdin.flush()
        client.stdin.close()
        out += client.stdout.read()
    text = re.sub(rb"^%(begin|end|error) \d+ \d+ ", rb"%\1 T N ", out, flags=re.M)
    # Notifications come when they come.
    blocks = re.findall(rb"^%begin.*?^%(?:end|error)[^\n]*\n", text, re.M | re.S)
    p.row("blocks", blocks)
    p.row("the last line", (client.returncode, text.split(b"\n")[-2:]))
    p.row("the window's new name", b"%window-renamed @0 other\n" in text)
    p.row("is attached", b"%session-changed $0 c\n" in text)
    p.do(*s, "kill-server")


def subscriptions(p):
    """refresh-client -B: what is told at first, and after a change; the end of one."""
    s = ("-L", "subscriptions")
    p.do(*s, "new-session", "-d", "-s", "first", "-n", "w", "-x", "80", "-y", "24", "cat")
    p.do(*s, "new-session", "-d", "-s", "second", "cat")
    p.do(*s, "split-window", "-d", "-t", "first", "cat")
    p.do(*s, "new-window", "-d", "-t", "first", "-n", "two", "cat")
    with subprocess.Popen([p.program, *s, "-C", "attach-session", "-t", "first"], env=p.env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        def late():
            p.missed = True
            client.kill()
        timer = threading.Timer(2 * WAIT_S, late)
        timer.start()

        def say(*lines):
            client.stdin.write("".join(x + "\n" for x in lines).encode())
            client.stdin.flush()

        def told(count):
            """So many changes, and errors."""
            found = []
            while len(found) < count and (line := client.stdout.readline()):
                if line.startswith((b"%subscription", b"%error")):
                    found.append(line)
            return sorted(found)
        while (line := client.stdout.readline()) and not line.startswith(b"%session-changed"):
            pass
        say("refresh-client -B 'one:@0:#{window_name}' -B 'all:@*:#{window_name}'",
            "refresh-client -B 'pane:%2:#{pane_index} of #{window_panes}'",
            "refresh-client -B 'panes:%*:#{pane_id}: #{?pane_active,on,off}'",
            "refresh-client -B 'none:%77:x' -B 'bad' -B 'bad:x' -B 'gone:@9:y'",
            "refresh-client -B 'here::#{session_name} #{window_name} #{pane_id}'")
        p.row("at first", told(8))
        say("rename-window new")
        p.row("another name", told(3))
        say("refresh-client -B one -B here", "refresh-client -B 'all:@*:#{window_id}'",
            "select-window -t :1", "refresh-client -B 'here:x:now #{window_name}'")
        p.row("less of them", told(3))
        client.stdin.close()
        client.stdout.read()
        timer.cancel()
    p.do(*s, "refresh-client", "-B", "x:@0:y")
    p.do(*s, "kill-server")


class Terminal:
    """A person at attach-session. What is written to the terminal is read, and forgotten."""

    def __init__(self, p, *words):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(p.room)
            os.execve(p.program, [p.program, *words], p.env)
        self.text = b""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        try:
            while data := os.read(self.fd, 65536):
                self.text = (self.text + data)[-1000:]
        except OSError:  # the other end is closed
            pass

    def type(self, data):
        """From a thread of its own: the terminal may take it later."""
        def write():
            at = 0
            while at < len(data):
                at += os.write(self.fd, data[at:at + 4096])
        threading.Thread(target=write, daemon=True).start()

    def end(self, p):
        """The client's status, and what it has said last, in brackets."""
        status = []
        if not p.until(lambda: status.append(os.waitpid(self.pid, os.WNOHANG)) or status[-1][0]):
            os.kill(self.pid, signal.SIGKILL)
            return "does not end"
        self.reader.join(WAIT_S)
        return os.waitstatus_to_exitcode(status[-1][1]), re.findall(rb"\[\w[^[]*\]", self.text)[-1:]


def attached(p):
    """Keys on a terminal: for a pane that reads them late, for a client that may not type; when they were."""
    s = ("-L", "attached")
    text = b"0123456789abcde\n" * 10000  # more than waits for a pane anywhere
    read = (text + b"\x02") * 2
    p.do(*s, "new-session", "-d", "-s", "c", "-x", "80", "-y", "24",
         f"stty raw -echo; echo begins; until [ -e go ]; do sleep 0.1; done; head -c {len(read)} | cksum; exec cat")
    p.do(*s, "set-option", "-g", "assume-paste-time", "0")
    p.sees("begins", *s, "c")

    def clients(form):
        return p.run(p.program, *s, "list-clients", "-F", form)[1].strip()
    person = Terminal(p, *s, "attach-session", "-t", "c")
    p.row("a client", p.until(lambda: clients("#{client_session}")) and clients("#{client_session} #{client_readonly}"))
    made = clients("#{client_created}")
    p.row("its activity is its start", clients("#{client_activity}") == made)
    p.row("a second goes by", p.until(lambda: time.time() >= int(made) + 2))
    p.row("which is none", clients("#{client_activity}") == made)
    person.type((text + b"\x02\x02") * 2)
    p.row("keys are", p.until(lambda: int(clients("#{client_activity}")) > int(made)))
    p.row("also of the session", int(clients("#{session_activity}")) > int(made))
    p.row("but it is as old", clients("#{client_created}") == made)
    p.row("the pane reads", p.run("touch", "go")[0])
    wanted = subprocess.run(["cksum"], input=read, capture_output=True, check=True).stdout.decode().strip()
    p.sees(wanted, *s, "c")
    person.type(b"\x02d")
    p.row("C-b d", person.end(p))
    p.row("is gone", clients("#{client_session}"))
    person = Terminal(p, *s, "attach-session", "-r", "-t", "c")
    p.row("a reader", p.until(lambda: clients("#{client_session}")) and clients("#{client_session} #{client_readonly}"))
    person.type(b"secret\x02d")
    p.row("C-b d of it", person.end(p))
    p.do(*s, "send-keys", "-t", "c", "after")
    p.sees("after", *s, "c")
    p.row("typed nothing", "secret" in p.run(p.program, *s, "capture-pane", "-p", "-t", "c")[1])
    p.do(*s, "kill-server")


def facts_of(x, names):
    return {n: getattr(x, n, None) for n in names}


def openhands(p):
    """openhands-tools: a session, whose windows are a pool of terminals."""
    os.environ.clear()
    os.environ.update(p.env)
    server = libtmux.Server(socket_name="openhands")
    p.row("there is no server", server.is_alive())
    # Without it, the second new_session meets a server that ends with its last session.
    keep = server.new_session(session_name="keep")
    session = server.new_session(session_name="pool", start_directory=p.room, x=200, y=50,
                                 kill_session=True)
    session = server.new_session(session_name="pool", start_directory=p.room, x=1000, y=1000,
                                 kill_session=True)
    session.set_option("history-limit", "10000", _global=True)
    session.cmd("set-environment", "AGENT", "yes")
    p.row("the environment", session.show_environment())
    windows = [session.new_window(window_name=f"w{i}", window_shell="/bin/bash --norc",
                                  start_directory=p.room) for i in range(3)]
    session.attached_window.kill_window()
    names = lambda: [w.window_name for w in session.windows]
    p.until(lambda: "tmux" not in names())  # as tmux calls one whose shell has not begun
    p.row("the pool", names())
    pane = windows[0].attached_pane
    p.row("a pane", facts_of(pane, ("pane_id", "pane_width", "pane_height", "history_limit")))
    pane.send_keys("PS1='<P>'; PS2=''; clear")
    end = lambda: pane.cmd("capture-pane", "-J", "-pS", "-").stdout
    p.row("a prompt", p.until(lambda: end()[-1:] == ["<P>"]))
    pane.cmd("clear-history")
    pane.send_keys("echo $AGENT; pwd; echo 'a   b'", enter=False, literal=True)
    pane.enter()
    p.row("an answer", p.until(lambda: end()[-1:] == ["<P>"] and len(end()) > 2))
    p.row("what the pane shows", end())
    prompts = lambda: sum(line.startswith("<P>") for line in end())
    had = prompts()
    pane.send_keys("C-c", enter=False)
    p.row("another prompt", p.until(lambda: prompts() > had))
    pane.send_keys("cat; echo over", literal=True)
    pane.enter()
    p.runs("cat", "-L", "openhands", pane.pane_id)
    pane.send_keys("C-d", enter=False)
    p.row("cat has ended", p.until(lambda: "over" in end()))
    pane.cmd("clear-history")
    windows[1].kill_window()
    p.row("the pool", names())
    session.kill_session()
    keep.kill_session()
    p.ends("-L", "openhands")
    p.row("the end", server.is_alive())


def libtmux_itself(p):
    os.environ.clear()
    os.environ.update(p.env)
    server = libtmux.Server(socket_name="lib")
    s = server.new_session("one", window_name="first", window_command="cat")
    p.row("session", facts_of(s, ("session_name", "session_id", "session_windows",
                                  "session_attached", "session_width")))
    for name, f in {
        "has_session": lambda: (server.has_session("one"), server.has_session("o"),
                                server.has_session("o", exact=False)),
        "duplicate": lambda: server.new_session("one"),
        "rename_session": lambda: s.rename_session("two").session_name,
        "new_window": lambda: s.new_window("w", window_shell="cat", attach=False).window_index,
        "new_window with -e": lambda: s.new_window("e", environment={"A": "b"}).window_name,
        "windows": lambda: [facts_of(w, ("window_name", "window_index", "window_layout",
                                         "window_panes", "window_active", "window_flags"))
                            for w in s.windows],
        "select_window": lambda: s.select_window("first").window_name,
        "split": lambda: facts_of(s.attached_window.split_window(vertical=False, percent=30,
                                                                      shell="cat"),
                                  ("pane_width", "pane_height", "pane_index", "pane_id")),
        "panes": lambda: [facts_of(x, ("pane_id", "pane_active", "pane_at_right", "pane_left"))
                          for x in s.attached_window.panes],
        "select_layout": lambda: s.attached_window.select_layout("even-vertical") and
                         s.attached_window.cmd("display-message", "-p",
                                               "#{window_layout}").stdout,
        "set_window_option": lambda: s.attached_window.set_window_option(
            "main-pane-height", 10).show_window_options(),
        "bad option": lambda: s.attached_window.set_window_option("nope", 1),
        "show_options": lambda: s.show_options(_global=True),
        "set_option": lambda: (s.set_option("status", False), s.show_option("status"))[1],
        "resize": lambda: s.attached_pane.resize_pane(height=5).pane_height,
        "rename_window": lambda: s.attached_window.rename_window("new name").window_name,
        "move_window": lambda: s.attached_window.move_window("9").window_index,
        "set_environment": lambda: (s.set_environment("X", "1"), s.getenv("X"),
                                    s.remove_environment("X"), s.getenv("X")),
        "display_message": lambda: s.attached_pane.display_message("#{pane_index}", True),
        # What was typed, and what cat has written.
        "capture_pane": lambda: (s.attached_pane.send_keys("hello"),
                                 p.until(lambda: s.attached_pane.capture_pane()[:2] ==
                                         ["hello", "hello"]),
                                 s.attached_pane.capture_pane(0, 2))[1:],
        "server.panes": lambda: [x.pane_id for x in server.panes],
        "server.windows": lambda: [w.window_id for w in server.windows],
        "attached_sessions": lambda: server.attached_sessions,
        "kill_window": lambda: (s.kill_window("w"), len(s.windows))[1],
        "bad target": lambda: s.kill_window("nope"),
        "kill_session": lambda: server.kill_session("two") and p.until(
            lambda: not server.is_alive()),
        "dead": lambda: server.raise_if_dead(),
    }.items():
        try:
            value = f()
        except Exception as e:  # what libtmux makes of the texts is compared
            value = f"{type(e).__name__}: {e}"
        p.row(name, value)


def main():
    ours, theirs, room = sys.argv[1:4]
    only = sys.argv[4] if len(sys.argv) > 4 else ""
    peers = Peer(ours, room + "/od"), Peer(theirs, room + "/tmux")
    count = failed = 0
    for f in (harbor, openhands, claude, skill, control, subscriptions, attached, libtmux_itself):
        if only not in f.__name__:
            continue
        if not libtmux and f in (openhands, libtmux_itself):
            count += 1
            print(f"ok {count} - {f.__name__} # SKIP no python3-libtmux")
            continue
        # A pane of tmux's own may miss the end of its program: all begins again then.
        for attempt in range(6):
            for p in peers:
                p.rows, p.missed = [], False
                try:
                    f(p)
                except Exception:
                    p.row("no exception", traceback.format_exc())
            if not peers[1].missed or peers[0].missed:
                break
            for p in peers:
                for s in (("-S", p.room + "/harbor.sock"), ("-L", "claude"), ("-L", "skill"),
                          ("-L", "attached")):
                    p.run(p.program, *s, "kill-server")
        us, them = (p.rows for p in peers)
        for i in range(max(len(us), len(them))):
            count += 1
            a, b = (r[i] if i < len(r) else ("nothing", "") for r in (us, them))
            failed += a != b
            name = (a if i < len(us) else b)[0].replace("#", "%")
            print(f"{'ok' if a == b else 'not ok'} {count} - {f.__name__}: {name}")
            if a != b:
                print(f"# od:   {a[1][:1500]}\n# tmux: {b[1][:1500]}", flush=True)
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main())
