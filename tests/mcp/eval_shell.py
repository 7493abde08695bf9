# SPDX-License-Identifier: MIT
"""eval_shell.py [PATTERN]: the tools shell, shell_input, python and sessions, as a model
calls them that has seen their descriptions only. Each state line is of the grammar below,
and each call that it proposes is one that the tools take."""
import base64
import contextlib
import os
import re
import subprocess
import sys

import eval_lib
from eval_lib import Stdio
from events_client import log_text, request, server_for
from mcp_client import Client
from tap import Rows, Tap, has, holds, lacks, run_rows, same, wait_for

row = Rows()

PROGRAM = r"[\w.+@:/?-]+(?: command)?"
WHO = rf"{PROGRAM}(?: \(pid \d+\))?"
SESSION = r'(?: session="[^"]+")?'
TIME = r"(?:\d+(?:\.\d+)? s|\d+ min)"
REST = (r'(?:; it has bytes that are not UTF-8)?(?:; \d+ bytes of it are no longer kept)?'
        r'(?:; rest: read path="@\d+" offset=\d+(?:, or search path="@\d+")?)?')
GRAMMAR = [re.compile(x) for x in (
    rf"(?:exit \d+(?: in {TIME})?|killed by (?:SIG\w+|signal \d+) after {TIME})"
    rf"(?:: command \d+)?(?:; no output)?(?:; now in .+?)?{REST}",
    r"the shell ended \(exit \d+\); a new one is in the same directory with the same "
    rf"environment|the shell ended .*: command \d+{REST}",
    rf"waiting for input(?: without echo, perhaps a password)?: {WHO}(?:, command \d+)?{REST}"
    rf'\. shell_input{SESSION} text="…"',
    rf"perhaps waiting for input: {WHO}(?:, command \d+)?, .*the line is unfinished, quiet for "
    rf'{TIME}{REST}\. shell_input{SESSION} text="…", or shell_input{SESSION} to wait',
    rf"full screen program: {PROGRAM}(?:, command \d+)?; shown as it looks\. "
    rf"shell_input{SESSION} key=…",
    rf"still running after {TIME}(?:, this call waited {TIME})?: (?:{PROGRAM}(?:, command \d+)?|cell \d+), \d+ lines? so far"
    rf"(?:, quiet for {TIME})?{REST}\. Wait: shell_input{SESSION}; stop: shell_input{SESSION} "
    rf'key="C-c"(?:; meanwhile: shell session="[^"]+")?',
    rf"(?:ok in|raised .+ after) {TIME}(?:; no output)?"
    r"(?:; a new kernel: the previous one ended, and its variables are lost)?"
    rf"(?:; the kernel ended: its variables are lost, and the next cell has a new one)?{REST}(?:; picture.*)?",
    rf'waiting for input(?: without echo, perhaps a password)?: cell \d+{REST}\. '
    rf'shell_input{SESSION} text="…"',
    r"the kernel died(?: \(.*\))?; a new one runs, its variables are gone",
    r'\d+ sessions?|no session yet; shell makes "main"',
)]


class Model(Client):
    """Looks at each state line."""

    def tool(self, name, **args):
        said = super().tool(name, **args)
        if said is not None and not said.error and name not in ("read", "search"):
            holds(any(x.fullmatch(said.state) for x in GRAMMAR), "a state line", said)
            holds(len(said.text.encode()) <= 16000, "an answer's bytes", len(said.text))
        return said


class Piped(Stdio):
    """By od mcp, as the user of the server."""

    def __init__(self, case):
        self.process = subprocess.Popen(
            [*case.user.before, os.environ["OD"], "mcp"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=case.env, text=True)
        eval_lib.Client.__init__(self)


def asked(function):
    def inside(case):
        function(case, Model(case.url, modern=case.modern))

    return inside


def ends(said, exit=0):
    holds(not said.error, said)
    same([said.object["state"], said.object.get("exit_code")], ["ended", exit], said)
    return said


def sleeps(word):
    """Is a process there whose arguments have the word?"""
    for pid in os.listdir("/proc"):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if pid.isdigit() and word.encode() in file.read().split(b"\0"):
                    return True
        except OSError:
            pass
    return False


# ---- shell


@row("task 1: which user, and where")
@asked
def _(case, model):
    said = ends(model.tool("shell", command="id -u; pwd"))
    same(said.body, f"{os.stat(case.dir).st_uid}\n{case.dir}")
    has(said.state, "exit 0 in ")
    same(ends(model.tool("shell", command="true")).state, "exit 0; no output")


@row("task 2: a directory stays, and is told once")
@asked
def _(case, model):
    ends(model.tool("shell", command="true"))
    has(ends(model.tool("shell", command="cd /tmp; echo x")).state, "; now in /tmp")
    lacks(ends(model.tool("shell", command="pwd")).state, "now in")
    same(ends(model.tool("shell", command="pwd", cwd="/usr")).body, "/usr")
    same(ends(model.tool("shell", command="pwd")).body, "/usr")


@row("task 3: a status is a result, and no error")
@asked
def _(case, model):
    said = ends(model.tool("shell", command="sh -c 'exit 3'"), 3)
    same(said.state, "exit 3; no output")
    said = ends(model.tool("shell", command="sh -c 'kill -9 $$'"), 137)
    has(said.state, "killed by SIGKILL after ")
    same(said.object["signal"], "SIGKILL")


@row("task 4: a question is told, answered, and the end comes")
@asked
def _(case, model):
    said = model.tool("shell", command="read -p 'Continue? [Y/n] ' x; echo got $x")
    same([said.object["state"], said.body], ["waiting", "Continue? [Y/n] "])
    has(said.state, "waiting for input: bash (pid ", ', command ', '. shell_input text="…"')
    waiting = said.object["waiting"]
    same([waiting["program"], waiting["echo"], waiting["pid"] > 0], ["bash", True, True])
    again = model.tool("shell_input")
    same([again.object["state"], again.body], ["waiting", "(no new output)"])
    said = ends(model.tool("shell_input", text="Y"))
    same(said.body, "got Y")
    has(said.state, "exit 0 in ", f": command {again.object['command']}")
    late = ends(model.tool("shell_input"))
    same(late.body, "(no new output)")


@row("task 5: a password is known as one, and is not in the log")
@asked
def _(case, model):
    said = model.tool("shell", command="read -s -p 'Password: ' p; echo; echo ${#p}")
    has(said.state, "waiting for input without echo, perhaps a password: bash (pid ")
    same(said.object["waiting"]["echo"], False)
    same(ends(model.tool("shell_input", text="hunter-two")).body.strip(), "10")
    said = model.tool("shell", command="python3 -c 'import getpass; print(len(getpass.getpass()))'")
    has(said.state, "waiting for input without echo, perhaps a password: python3 (pid ")
    same(ends(model.tool("shell_input", text="hunter-two")).body.strip(), "10")
    lacks(log_text(case), "hunter-two")


@row("a command that is not waited for runs, however long its shell takes to start")
@asked
def _(case, model):
    ends(model.tool("shell", command="echo 'sleep 1; RC=read' > ~/.bashrc"))
    said = model.tool("shell", command="echo $RC", session="slow", wait_s=0)
    holds(not said.error, said)
    holds("read" in said.body or "read" in model.tool("shell_input", session="slow").body, said)


@row("progress: what comes last, and that it waits")
@asked
def _(case, model):
    seen = []
    said = model.tool("shell", command="echo early; sleep 6; echo late", seen=seen, wait_s=20)
    same(ends(said).body, "early\nlate")
    told = [x["params"] for x in seen if x.get("method") == "notifications/progress"]
    has([x.get("message") for x in told], "early")
    values = [x["progress"] for x in told]
    same(values, sorted(set(values)))


@row("over standard input", legacy=True)
def _(case):
    client = Piped(case)
    same(client.call("shell", command="cd /usr; pwd").body, "/usr\n")
    waits = client.call("shell", command="read x; echo got $x")
    has(waits.state, 'shell_input text="…"')
    same(client.call("shell_input", text="it").body, "got it\n")
    client.close()


@row("task 6: a REPL")
@asked
def _(case, model):
    said = model.tool("shell", command="python3 -i -q")
    same(said.object["state"], "waiting", said)
    said = model.tool("shell_input", text="1+1")
    holds("2" in said.body.split("\n"), said)
    same(said.object["state"], "waiting", said)
    ends(model.tool("shell_input", key="C-d"))


@row("task 7: a pager, and keys", needs=("less",))
@asked
def _(case, model):
    ends(model.tool("shell", command="seq 500 > many"))
    said = model.tool("shell", command="less many")
    has(said.state, "full screen program: less, command ", "shown as it looks")
    same(said.lines[:3], ["1", "2", "3"])
    said = model.tool("shell_input", key="G")
    holds("500" in said.lines, said)
    said = ends(model.tool("shell_input", key="q"))
    same(said.body, "(no new output)")
    said = model.tool("shell_input", key="q")
    holds(said.error, said)
    has(said.text, "nothing runs in main (command ", "ended with exit 0); to run a command use shell")
    said = model.tool("shell", command="less many")
    said = model.tool("shell_input", key="nokey")
    holds(said.error, said)
    has(said.text, "there is no key nokey. Keys are ", "use text")
    ends(model.tool("shell_input", key="q"))


@row("task 8: a long build is waited for in one call")
@asked
def _(case, model):
    os.mkfifo(os.path.join(case.dir, "gate"))
    os.chmod(os.path.join(case.dir, "gate"), 0o666)
    said = model.tool("shell", command="echo one; read x < gate; echo done", wait_s=1)
    same([said.object["state"], said.body], ["running", "one"])
    has(said.state, "still running after ", "1 line so far", 'Wait: shell_input; stop: '
        'shell_input key="C-c"; meanwhile: shell session="2"')
    said = model.tool("shell_input", wait_s=1)  # the command's time, and this call's
    ran, waited = re.match(r"still running after ([0-9.]+) s, this call waited (1\.\d) s: ",
                           said.state).groups()
    holds(float(ran) > float(waited), said)
    begun = model.begin("shell_input")
    with open(os.path.join(case.dir, "gate"), "w") as file:
        file.write("x\n")
    same(ends(begun.end()).body, "done")


@row("task 9: a server, in the list of sessions with its port; task 10: it is stopped")
@asked
def _(case, model):
    serve = "import http.server as h; s = h.HTTPServer(('127.0.0.1', 0), h.BaseHTTPRequestHandler); " \
            "print('port', s.server_port, flush=True); s.serve_forever()"
    said = model.tool("shell", command=f'sh -c "exec python3 -c \\"{serve}\\""', session="web",
                      wait_s=0)
    has(said.state, 'Wait: shell_input session="web"')
    said = wait_for(lambda: (x := model.tool("shell_input", session="web", wait_s=0)) and
                    "port" in x.text + said.text and x, "the server")
    port = None
    for line in wait_for(lambda: [x for x in model.tool("sessions").lines
                                  if "listening on" in x], "it listens"):
        port = re.search(r"listening on (\d+)", line)[1]
        has(line, "web ", "running ", "(command ", "output @")
    holds(port, "a port")
    said = ends(model.tool("shell_input", session="web", signal="TERM"), 143)
    has(said.state, "killed by SIGTERM after ")
    lacks(model.tool("sessions").text, "listening on")
    has(model.tool("sessions").text, "idle in ", "exit 143")


@row("tasks 11 to 13: much output is cut at lines, and the hint is right")
@asked
def _(case, model):
    said = ends(model.tool("shell", command="seq 50000"))
    same([said.lines[0], said.lines[-2]], ["1", "50000"])
    cut = [x for x in said.lines if x.startswith("[... lines ")]
    same(len(cut), 1)
    first, last = map(int, re.match(r"\[\.\.\. lines (\d+)-(\d+) of 50000 left out", cut[0]).groups())
    at = said.lines.index(cut[0])
    same([said.lines[at - 1], said.lines[at + 1]], [str(first - 1), str(last + 1)])
    has(said.state, f'rest: read path="@{said.object["command"]}" offset={first}, or search '
        f'path="@{said.object["command"]}"')
    same([said.object["lines"], said.object["shown"]],
         [50000, [[1, first - 1], [last + 1, 50000]]])
    n = said.object["command"]
    said = model.tool("read", path=f"@{n}", offset=25000, limit=3)  # task 12
    same(said.lines[:3], ["25000\t25000", "25001\t25001", "25002\t25002"])
    said = model.tool("search", path=f"@{n}", pattern="^4999[12]$")  # task 13
    same(said.lines[:2], ["49991\t49991", "49992\t49992"])
    said = ends(model.tool("shell", command="printf '%3000s\\n' x; printf 'a\\377b\\n'"))
    has(said.body, "… [+1000 bytes]", "a\ufffdb")
    has(said.state, "it has bytes that are not UTF-8")
    # Clients cut an answer at 2,000 lines, and keep its beginning.
    said = ends(model.tool("shell", command="head -c 1000 /dev/zero | tr '\\0' a | fold -w 250; "
                                            "yes '' | head -9000; seq 9004 9010"))
    holds(len(said.lines) <= 1502, len(said.lines))
    first, last = map(int, re.search(r"(?m)^\[\.\.\. lines (\d+)-(\d+) of 9010 left out \.\.\.\]$",
                                     said.text).groups())
    same([said.text.count("left out"), said.lines[:2], said.lines[-3:-1]],
         [1, ["a" * 250] * 2, ["9009", "9010"]])
    same((said.lines.index(f"[... lines {first}-{last} of 9010 left out ...]"),
          len(said.lines) - 1), (first - 1, first + 9010 - last))
    same(said.object["shown"], [[1, first - 1], [last + 1, 9010]])
    has(said.state, f"offset={first}, or")
    said = ends(model.tool("shell", command="yes '' | head -1600 >blank"))
    said = model.tool("read", path="blank")
    same(len(said.lines), 1501)
    has(said.state, "offset=1501")
    said = ends(model.tool("shell", command=r"printf '10%%\r50%%\r\033[32m100%%\033[0m\ndone\n'"))
    same(said.body, "100%\ndone")


@row("task 14: a busy session says so, and how to go on")
@asked
def _(case, model):
    model.tool("shell", command="read x")
    said = model.tool("shell", command="echo no > ran")
    holds(said.error, said)
    has(said.text, "session main is busy: bash (command ", ") waits for input; your command was "
        'not run. Leave it with shell_input key="C-d", or use session="2".')
    same(said.object["state"], "busy")
    same(ends(model.tool("shell", command="echo yes", session="2")).body, "yes")
    ends(model.tool("shell_input", key="C-d"), 1)
    model.tool("shell", command="sleep 1000", wait_s=0)
    said = model.tool("shell", command="echo no > ran", wait_s=1)
    holds(said.error, said)
    has(said.text, "session main is busy: sleep (command ", ") still runs; your command was not run. "
        'Wait for it with shell_input, stop it with shell_input key="C-c", or use session="3".')
    ends(model.tool("shell_input", key="C-c"), 130)
    ends(model.tool("shell", command="test ! -e ran"))


@row("task 15: two sessions at the same time")
@asked
def _(case, model):
    os.mkfifo(os.path.join(case.dir, "gate"))
    os.chmod(os.path.join(case.dir, "gate"), 0o666)
    one = model.begin("shell", command="read x < gate; echo $x", session="a")
    two = model.begin("shell", command="echo both > gate; echo other", session="b")
    same([ends(one.end()).body, ends(two.end()).body], ["both", "other"])


@row("task 16: exit in a command is told, and the next one has a shell")
@asked
def _(case, model):
    ends(model.tool("shell", command="cd /usr; export KEPT=1"))
    said = ends(model.tool("shell", command="exit 2"), 2)
    same(said.state, "the shell ended (exit 2); a new one is in the same directory with the same "
         "environment")
    same(ends(model.tool("shell", command="pwd; echo $KEPT")).body, "/usr\n1")


@row("commands that are no shell text, names and arguments of other tools")
@asked
def _(case, model):
    said = model.tool("shell", command='["ls", "-l"]')
    same([said.error, said.text], [True, "command is shell text; this is a JSON list"])
    same(ends(model.tool("shell", cmd="echo hi", timeout="120000", cwd=None, session="")).body
         .split("\n")[0], "hi")
    said = model.tool("shell_input", session="web")
    holds(said.error, said)
    has(said.text, "no session web; there are: main")
    said = model.tool("shell", command="read x; echo got $x")
    same(ends(model.tool("shell", command="it", is_input=True)).body, "got it")


# ---- calls that are over early


@row("task 30: a client that gives up gets the answer later; one that stops it ends it", legacy=True)
@asked
def _(case, model):
    os.mkfifo(os.path.join(case.dir, "gate"))
    os.chmod(os.path.join(case.dir, "gate"), 0o666)
    ends(model.tool("shell", command="true"))
    begun = model.begin("shell", command="echo begun; read x < gate; echo ok")
    wait_for(lambda: "begun" in log_text(case), "it is in the log")
    wait_for(lambda: "running" in model.tool("sessions").text, "it runs")
    model.stop(begun, "McpError: MCP error -32001: Request timed out")
    same(begun.end(), None)
    with open(os.path.join(case.dir, "gate"), "w") as file:
        file.write("x\n")
    said = ends(model.tool("shell_input"))
    same(said.body.split("\n")[1:], ["begun", "ok"], said)
    has(said.lines[0], "[command ", ", begun before")
    begun = model.begin("shell", command="echo again; read x < gate; echo ok")
    wait_for(lambda: "running" in model.tool("sessions").text, "it runs")
    model.stop(begun, "timed out")
    begun.end()
    with open(os.path.join(case.dir, "gate"), "w") as file:
        file.write("x\n")
    said = ends(model.tool("shell", command="echo next"))
    has(said.lines[0], "[command ", ", begun before, exit 0 in ")
    same(said.lines[1:-1], ["again", "ok", "next"], said)
    begun = model.begin("shell", command="sleep 60")
    wait_for(lambda: "running" in model.tool("sessions").text, "it runs")
    model.stop(begun, "the user pressed Esc")
    begun.end()
    same(ends(model.tool("shell", command="echo lives")).lines[-2:-1], ["lives"])


@row("a client that gives up a call for a busy session: its command never runs", legacy=True)
@asked
def _(case, model):
    gate, late = os.path.join(case.dir, "gate"), os.path.join(case.dir, "late")
    os.mkfifo(gate)
    os.chmod(gate, 0o666)
    ends(model.tool("shell", command="true"))
    first = model.begin("shell", command="read x < gate; echo ok")
    wait_for(lambda: "running" in model.tool("sessions").text, "it runs")
    model.stop(first, "timed out")
    same(first.end(), None)
    second = model.begin("shell", command=f"touch {late}")
    wait_for(lambda: f"touch {late}" in log_text(case), "it is in the log")
    model.stop(second, "McpError: MCP error -32001: Request timed out")
    same(second.end(), None)
    with open(gate, "w") as file:
        file.write("x\n")
    said = ends(model.tool("shell_input"))
    has(said.lines[0], "[command ", ", begun before")
    same(said.body.split("\n")[1:], ["ok"], said)
    same(ends(model.tool("shell", command="ls")).body, "gate")


@row("a call that is stopped ends all that it started, also what ignores INT", legacy=True)
@asked
def _(case, model):
    word = f"1{os.getpid()}.25"
    begun = model.begin("shell", command=f"sh -c \"trap '' INT; sleep {word} & wait; sleep {word}\"")
    wait_for(lambda: sleeps(word), "it sleeps")
    model.stop(begun, "AbortError")
    wait_for(lambda: not sleeps(word), "it is gone")
    same(ends(model.tool("shell", command="echo lives")).body.split("\n")[-1], "lives")


@row("a call that waits is stopped, and what it waits for goes on", legacy=True)
@asked
def _(case, model):
    model.tool("shell", command="read x; echo got $x")
    model.tool("shell", command="sleep 1000", session="b", wait_s=0)
    begun = model.begin("shell_input", session="b")
    wait_for(lambda: '"action":"wait"' in log_text(case), "it waits")
    model.stop(begun, "the user pressed Esc")
    begun.end()
    has(model.tool("sessions").text, "running ")
    same(ends(model.tool("shell_input", text="it")).body, "got it")


@row("a worker that is killed: the answer comes, and the command ran once", legacy=True)
@asked
def _(case, model):
    os.mkfifo(os.path.join(case.dir, "gate"))
    os.chmod(os.path.join(case.dir, "gate"), 0o666)
    ends(model.tool("shell", command="true"))
    begun = model.begin("shell", command="echo x >> once; read x < gate; echo $(wc -l < once) $x")
    wait_for(lambda: os.path.exists(os.path.join(case.dir, "once")), "it runs")
    case.kill_worker()
    wait_for(lambda: alive(case), "the next worker")
    with open(os.path.join(case.dir, "gate"), "w") as file:
        file.write("it\n")
    said = begun.end()
    same([said.object["exit_code"], said.lines[-2]], [0, "1 it"], said)


def alive(case):
    try:
        return request(case, "/alive")[0] == 200
    except OSError:
        return False


# ---- python


@row("python: values, text, errors, variables, and its kept output")
@asked
def _(case, model):
    said = model.tool("python", code="import math; math.tau")
    same([said.body, said.object["state"]], ["6.283185307179586", "ended"], said)
    has(said.state, "ok in ")
    said = model.tool("python", code="x = 5\nprint('a')\nprint(x)")
    same(said.body, "a\n5")
    said = model.tool("python", code="{}['k']")
    has(said.state, "raised KeyError: 'k' after ")
    same([said.error, said.object["error"]], [False, {"name": "KeyError", "message": "'k'"}])
    said = model.tool("python", code="import os\ntry: {}['k']\nexcept KeyError:\n"
                      "    raise ValueError('a size: 3\\nis too large')")
    has(said.state, "raised ValueError: a size: 3 after ")
    same(said.object["error"], {"name": "ValueError", "message": "a size: 3"})
    said = model.tool("python", code="display(1); display(2); display({'application/pdf': 'eHl6'}, raw=True)")
    shown = re.fullmatch(r"1\n2\n\[application/pdf, 3 bytes: (/.*/cell-\d+-output-1\.pdf)\]", said.body)
    holds(shown, said)
    same(open(shown[1]).read(), "xyz")
    chain = "\n".join(f"def f{i}(n): return f{i + 1}(n)" for i in range(20))
    said = model.tool("python", code=f"{chain}\ndef f20(n): return 1 / n\nprint('out')\nf0(0)")
    has(said.body, "out\n[... ", "lines of the traceback left out ...]", "ZeroDivisionError")
    holds(len(said.lines) < 26, said)
    same(model.tool("python", code="x = 6").state.split(";")[1:], [" no output"])
    said = model.tool("python", code="x", restart=True)
    has(said.state, "raised NameError: ")


@row("task 26: a picture, with a file next to it")
@asked
def _(case, model):
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x80\0\0\1\xe0\x08\2\0\0\0").decode()
    said = model.tool("python", code="from IPython.display import Image, display\nimport base64\n"
                      f"display(Image(base64.b64decode('{png}')))")
    if "ModuleNotFoundError" in said.text:
        return
    has(said.state, "ok in ", "; picture 640x480, also ", "/cell-")
    same([x["type"] for x in said.blocks], ["text", "image"])
    same([said.blocks[1]["mimeType"], said.blocks[1]["data"]], ["image/png", png])
    same(said.object["pictures"], 1)


@row("task 27: input() is answered by shell_input; a cell is waited for, and interrupted")
@asked
def _(case, model):
    said = model.tool("python", code="n = input('n? ')\nprint('got', n)")
    same([said.object["state"], said.body], ["waiting", "n? "], said)
    same(said.state, f'waiting for input: cell {said.object["command"]}. shell_input '
         'session="python" text="…"')
    has(model.tool("sessions").text, "python   waiting for input: cell ")
    asks = said.object["command"]
    refused = model.tool("python", code="1")
    same(refused.error, True)
    has(refused.text, f"kernel python is busy: cell {asks} waits for input; your cell was not "
        "run. Answer it with shell_input")
    said = model.tool("shell_input", session="python", text="7")
    same([said.object["state"], said.body], ["ended", "got 7"], said)
    said = model.tool("python", code="import getpass\nlen(getpass.getpass('word? '))")
    has(said.state, "waiting for input without echo, perhaps a password: cell ")
    same(model.tool("shell_input", session="python", text="hunter-two").body.strip(), "10")
    lacks(log_text(case), "hunter-two")
    said = model.tool("python", code="import time\nprint('said', flush=True)\ntime.sleep(1000)", wait_s=1)
    has(said.state, "still running after ", ": cell ", 'stop: shell_input session="python" key="C-c"')
    same(said.body, "said")
    said = model.tool("shell_input", session="python", key="C-c")
    has(said.state, "raised KeyboardInterrupt")
    said = model.tool("shell_input", session="python", text="x")
    holds(said.error, said)
    has(said.text, "nothing runs in python (cell ", "has ended); to run code use python")


@row("python: a kernel that dies, and a call that is stopped", legacy=True)
@asked
def _(case, model):
    said = model.tool("python", code="x = 1\nimport os\nos._exit(3)")
    has(said.state, "the kernel died", "; a new one runs, its variables are gone")
    said = model.tool("python", code="x = 1\nexit()")
    has(said.state, "; a new kernel: the previous one ended, and its variables are lost",
        "; the kernel ended: its variables are lost, and the next cell has a new one")
    has(model.tool("python", code="x").state, "NameError")
    begun = model.begin("python", code="import time\nopen('begun', 'w').close()\ntime.sleep(1000)")
    wait_for(lambda: os.path.exists(os.path.join(case.dir, "begun")), "it runs")
    model.stop(begun, "the user pressed Esc")
    begun.end()
    same(model.tool("python", code="1 + 1").body, "2")


@row("python: a client that gives up: a cell behind another one never runs; one that waits for "
     "its kernel's start does", legacy=True)
@asked
def _(case, model):
    gate = os.path.join(case.dir, "gate")
    os.mkfifo(gate)
    os.chmod(gate, 0o666)

    def gives_up(code, known):
        begun = model.begin("python", code=code)
        wait_for(known, "it waits or runs")
        model.stop(begun, "McpError: MCP error -32001: Request timed out")
        same(begun.end(), None)
    gives_up("early = 7", lambda: "early = 7" in log_text(case))
    gives_up("open('begun', 'w').close()\nwith open('gate') as f: f.read()\nprint('ok', early)",
             lambda: os.path.exists(os.path.join(case.dir, "begun")))
    gives_up("late = 1", lambda: "late = 1" in log_text(case))
    with open(gate, "w") as file:
        file.write("x\n")
    has(model.tool("shell_input", session="python").text, "ok 7\n")
    has(model.tool("python", code="late").state, "NameError")


def era_of(modern):
    @contextlib.contextmanager
    def fixture(each):
        with server_for(each) as case:
            case.modern = modern
            yield case

    return fixture


def main():
    """Each row in both eras, except those with `legacy`, which need its sessions."""
    tap = Tap()
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    wanted = [each for each in row if pattern in each.name]
    work = [("shell tools", each, era_of(False)) for each in wanted]
    work += [("shell tools, 2026-07-28", each, era_of(True)) for each in wanted
             if not each.options.get("legacy")]
    run_rows(tap, work, 4)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
