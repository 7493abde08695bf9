# SPDX-License-Identifier: MIT
"""eval_sets.py [PATTERN]: the tools outside of the default set, as a model calls them, and
how sets are chosen: by od mcp, in the address, and by od serve."""
import json
import os
import re
import shlex
import subprocess
import sys

import wire_client as wire
from eval_lib import Answer
from tap import LIMIT, Rows, Tap, has, holds, run_row, same, wait_for

row = Rows()
DEFAULT = ["shell", "shell_input", "read", "edit", "write", "search", "python", "browse",
           "browser_act", "sessions"]
OLD_NAMES = {"view", "replace", "insert", "create", "undo", "search"}


class Case:
    """A server, and clients of it with a list of tools."""

    def __init__(self, options):
        self.options = options

    def __enter__(self):
        self.server, self.clients = wire.Server(*self.options), []
        return self

    def __exit__(self, *_):
        for client in self.clients:
            client.kill()
        self.server.stop()

    def model(self, tools):
        client = wire.Stdio(self.server, "--tools", tools)
        self.clients.append(client)
        client.begin()
        return Model(client)

    def path(self, name):
        return os.path.join(self.server.work, name)

    def put(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()


class Model:
    def __init__(self, client):
        self.client, self.last = client, 0

    def ask(self, method, **params):
        self.last += 1
        return self.client.ask(wire.request(self.last, method, **params))

    def names(self):
        return [tool["name"] for tool in self.ask("tools/list")["result"]["tools"]]

    def call(self, tool, /, **arguments):
        return Answer(self.ask("tools/call", name=tool, arguments=arguments)["result"])

    def works(self, tool, /, **arguments):
        answer = self.call(tool, **arguments)
        holds(not answer.failed, answer.text)
        return answer

    def fails(self, tool, /, **arguments):
        answer = self.call(tool, **arguments)
        holds(answer.failed, answer.text)
        return answer


def skills(case):
    said = subprocess.run([wire.OD, "skills", "--schema"], capture_output=True, check=True,
                          env=case.server.env, timeout=LIMIT).stdout
    found = {each["function"]["name"]: each["function"] for each in json.loads(said)}
    return {name: each for name, each in found.items() if name not in OLD_NAMES}


# ---- which tools there are


@row("sets and names, in the order of the table, each once")
def _(case):
    same(case.model("default").names(), DEFAULT)
    same(case.model("core").names(), DEFAULT[:6])
    same(case.model("read,shell,shell").names(), ["shell", "shell_input", "read"])
    same(case.model(" readonly , grep").names(), ["read", "search", "sessions", "grep"])
    names = case.model("all").names()
    same((names[:10], len(names)), (DEFAULT, len(set(names))))


@row("a name that is not known is refused with those that are, wherever it is said")
def _(case):
    known = ["skills", "browser_act", "edit_file_by_replace", "parse_video"]
    done = subprocess.run([wire.OD, "mcp", "--tools", "read,nosuch"], env=case.server.env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=LIMIT)
    same((done.returncode, done.stdout), (125, ""), done.stderr)
    has(done.stderr, "there is no tool or set nosuch", *known)
    answer = wire.Http(case.server, query="?tools=nosuch").post(
        wire.request(1, "initialize", protocolVersion=wire.LEGACY, capabilities={}))
    same(answer.status, 400)
    has(json.dumps(answer.json()), "there is no tool or set nosuch", *known)
    done = subprocess.run([wire.OD, "serve", "--mcp-tools", "nosuch"], env=case.server.env,
                          capture_output=True, text=True, check=False, timeout=LIMIT)
    same(done.returncode, 125, done.stderr)
    has(done.stderr, "there is no tool or set nosuch", *known)


@row("the address chooses tools in both eras; a tool that was not chosen is unknown")
def _(case):
    http = wire.Http(case.server, query="?tools=readonly,glob")
    http.begin()
    listed = http.ask(wire.request(1, "tools/list"))["result"]["tools"]
    same([tool["name"] for tool in listed], ["read", "search", "sessions", "glob"])
    answer = http.ask(wire.call(2, "shell", command="id"))
    same((answer["error"]["code"], "shell" in answer["error"]["message"]), (-32602, True))
    modern = wire.Http(case.server, query="?tools=glob")
    listed = modern.modern(wire.request(3, "tools/list")).json()["result"]["tools"]
    same([tool["name"] for tool in listed], ["glob"])


# ---- what the README has


# In the place of docker, podman and kubectl: what stands behind the container or image.
IN_PLACE = """#!/bin/sh
case " $* " in *" -i "*) ;; *) echo "without -i there is no input" >&2; exit 9 ;; esac
while [ "$1" != od ]; do shift || exit 9; done
shift
exec "$OD_TEST_BINARY" "$@"
"""


def lines_to_paste():
    """The commands of the README's table and of its JSON: lists of words."""
    path = os.path.join(os.path.dirname(__file__), "../../core/front/mcp/README.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    found = []
    for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL):
        for each in json.loads(block)["mcpServers"].values():
            found.append([each["command"], *each["args"]])
    for line in re.findall(r"`([^`\n]*od mcp[^`\n]*)`", text):
        words = shlex.split(line.split(" -- ")[-1] if line.startswith(("claude", "codex")) else line)
        if "LIST" not in words:
            found.append(words)
    return found


@row("the README's lines for clients start a server that answers")
def _(case):
    folder = case.path("bin")
    os.mkdir(folder)
    for name in ("docker", "podman", "kubectl"):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(IN_PLACE)
        os.chmod(os.path.join(folder, name), 0o755)
    os.symlink(wire.OD, os.path.join(folder, "od"))
    env = {**case.server.env, "PATH": f"{folder}:{os.environ['PATH']}", "OD_TEST_BINARY": wire.OD}
    found = lines_to_paste()
    same({words[0] for words in found}, {"docker", "podman", "kubectl", "od"})
    holds(len(found) >= 9, found)
    for words in found:
        if words == ["od", "mcp"]:
            continue  # the name of the program, in a sentence
        hello = wire.request(1, "initialize", protocolVersion=wire.LEGACY, capabilities={},
                             clientInfo={"name": "readme", "version": "1"})
        done = subprocess.run(words, input=json.dumps(hello) + "\n", capture_output=True, text=True,
                              env=env, check=False, timeout=LIMIT)
        same(done.returncode, 0, f"{words}: {done.stderr}")
        same(json.loads(done.stdout)["result"]["serverInfo"]["name"], "od-computer", words)


@row("with --log-commands none tools work, and the log has no text of commands or code",
     more=("--log-commands", "none"))
def _(case):
    model = case.model("all")
    seen = model.works("shell", command="echo se''cret-one; seq 3000")
    has(seen.body, "secret-one\n")
    same(model.works("read", path=f"@{seen.result['command']}", offset=2, limit=1).body, "2\t1\n")
    seen = model.works("shell", command="read x; echo got $x # se''cret-two")
    has(seen.state, "waiting for input")
    same(model.works("shell_input", text="it").body, "got it\n")
    same(model.works("process", command="echo 'secret''-three'").body, "secret-three\n")
    seen = model.works("python", code="print('secret-' + 'four')")
    has(seen.body, "secret-four")
    has(model.works("events", since=0, limit=500).body, "run", "process", "end of ")
    for word in ("se''cret-one", "se''cret-two", "'secret''-three'", "print('secret-'"):
        same(logged(case, word), [], word)


# ---- agentskills


@row("agentskills: names and arguments are those of od skills")
def _(case):
    table = skills(case)
    same(len(table), 24)
    listed = case.model("skills").ask("tools/list")["result"]["tools"]
    same([tool["name"].replace("skill_browse", "browse") for tool in listed], list(table))
    for tool in listed:
        wanted = table[tool["name"].replace("skill_browse", "browse")]
        ours, theirs = tool["inputSchema"], wanted["parameters"]
        same(tool["description"], wanted["description"])
        same(list(ours["properties"]), list(theirs["properties"]), tool["name"])
        same(ours.get("required", []), theirs["required"], tool["name"])
        for name, each in ours["properties"].items():
            same(each["type"], theirs["properties"][name]["type"])
            same(set(each) - {"type", "description", "items"}, set())
        holds(not set(ours) - {"type", "properties", "required", "additionalProperties"}, ours)


@row("every tool says that it takes no other arguments; one that comes is named")
def _(case):
    model = case.model("all")
    listed = model.ask("tools/list")["result"]["tools"]
    holds(len(listed) > 30, len(listed))
    same([t["name"] for t in listed if t["inputSchema"].get("additionalProperties") is not False], [])
    has(model.fails("read", path="x", paht="y").text, "paht is not an argument of read", "it takes path")


@row("agentskills: windows, edits and searches print what they print elsewhere")
def _(case):
    model = case.model("skills")
    case.put("a.txt", "".join(f"line {i}\n" for i in range(1, 301)))
    seen = model.works("open_file", path="a.txt", line_number="150", context_lines=10)
    has(seen.text, f"[File: {case.path('a.txt')} (300 lines total)]", "150|line 150")
    has(model.works("goto_line", line_number=20).text, "20|line 20")
    has(model.works("scroll_down").text, "120|line 120")
    model.works("create_file", filename="new.txt")
    model.works("append_file", file_name="new.txt", content="one\ntwo\n")
    model.works("edit_file_by_replace", file_name="new.txt", to_replace="two", new_content="2")
    has(case.text("new.txt"), "one\n2\n")
    model.works("edit_file_by_replace", file_name="new.txt", to_replace="one", new_content="")
    holds("one" not in case.text("new.txt"), case.text("new.txt"))
    has(model.works("search_dir", search_term="line 299").text, "a.txt", "299")
    has(model.works("grep", pattern="LINE 7$").text, "a.txt")
    has(model.works("glob", pattern="*.txt").text, "a.txt", "new.txt")
    seen = model.works("file_editor", command="view", path=case.path("a.txt"), view_range="[3, 4]")
    has(seen.text, "line 3", "line 4")
    has(model.fails("file_editor", command="view", path="a.txt").text, "absolute")
    has(model.fails("search_file").text, "search_term is missing; search_file needs {search_term, "
        "file_path?}")
    has(model.fails("goto_line", line_number="x").text, 'line_number must be a whole number')
    has(model.fails("open_file", path="none.txt").text, "ERROR: ")


@row("agentskills: a text that is longer than an answer says how much of it this is")
def _(case):
    model = case.model("skills")
    body = "".join(f"<p>paragraph number {i}</p>" for i in range(4000))
    case.put("long.html", f"<html><body>{body}</body></html>")
    seen = model.works("parse_html", file_path="long.html")
    holds(len(seen.text.encode()) <= 16000, len(seen.text))
    has(seen.state, "the first ", " lines; in parts: read path=\"long.html\"")
    shown = int(seen.state.split()[2])
    same(seen.body.count("\n"), shown)


# ---- files


@row("files: copied, moved, packed, unpacked and removed as a whole; what is there stays")
def _(case):
    model = case.model("files")
    os.mkdir(case.path("a"))
    case.put("a/f.txt", "text")
    seen = model.works("files", action="copy", path="a", to="b")
    has(seen.state, "copied a to b; ")
    same(case.text("b/f.txt"), "text")
    has(model.fails("files", action="copy", path="a", to="b").text, "b", "ask for overwrite")
    has(model.fails("files", action="copy", path="a").text, "to is missing")
    model.works("files", action="copy", source="a/f.txt", dest="b/f.txt", overwrite="true")
    has(model.works("files", action="move", path="b", to="c").state, "moved b to c")
    seen = model.works("files", action="pack", path="c", to="c.tar.gz")
    has(seen.state, "packed c to c.tar.gz; ", " bytes")
    has(model.works("files", action="unpack", path="c.tar.gz", to="d").state, "unpacked c.tar.gz to d; ")
    same(case.text("d/f.txt"), "text")
    has(model.fails("files", action="remove", path="d").text, "recursive")
    has(model.works("files", action="remove", path="d", recursive=True).state, "removed d; 2 entries")
    same(os.path.exists(case.path("d")), False)
    same(model.works("files", action="mkdir", path="e/f").state, "made e/f")
    same(model.works("files", action="mkdir", path="e/f").state, "e/f was there")
    has(model.fails("files", action="link", path="a").text, "action must be one of copy, move")


def logged(case, *words):
    """Lines of the server's log with all of these words."""
    found = []
    for at, _, names in os.walk(os.path.join(case.server.root, "state")):
        for name in names:
            if name.endswith(".jsonl"):
                with open(os.path.join(at, name), encoding="utf-8", errors="replace") as file:
                    found += [line for line in file if all(word in line for word in words)]
    return found


@row("files: watch answers at a change, at its time, and leaves no watch behind")
def _(case):
    model = case.model("files,events")
    os.mkdir(case.path("w"))
    seen = model.works("files", action="watch", path="w", wait_s=1)
    has(seen.state, "nothing changed in 1")
    model.client.send(wire.call("watch", "files", action="watch", path="w", wait_s=50))
    wait_for(lambda: len(logged(case, '"kind":"watching"')) == 2, "it watches")
    case.put("w/new.txt", "text")
    said = Answer(model.client.answer("watch")["result"])
    has(said.body, "created new.txt\n")
    has(said.state, " changes in ")
    log = model.works("events", since=0)
    same(log.body.count("watch: w"), 2, log.body)
    same(log.body.count("end of "), 2, log.body)
    has(model.fails("files", action="watch", path="nowhere").text, "nowhere")


# ---- patch

SOURCE = "support = 80\nport = 80\n\nclass A:\n\tdef f(self):\n\t\treturn 1\n"


@row("apply_patch: changes, makes, moves and removes files, found by whole lines")
def _(case):
    model = case.model("patch,edit")
    case.put("a.py", SOURCE)
    case.put("old.txt", "old\n")
    case.put("b.txt", "one\ntwo\n")
    seen = model.works("apply_patch", patch="*** Begin Patch\n*** Update File: a.py\n@@\n-port = 80\n"
                       "+port = 8080\n@@ class A:\n     def f(self):\n-        return 1\n"
                       "+        return 2\n*** Add File: new/c.txt\n+text\n*** Delete File: old.txt\n"
                       "*** Update File: b.txt\n*** Move to: d.txt\n@@\n one\n-two\n*** End Patch\n")
    same(case.text("a.py"), SOURCE.replace("\nport = 80\n", "\nport = 8080\n").replace("return 1", "return 2"))
    same((case.text("new/c.txt"), case.text("d.txt")), ("text\n", "one\n"))
    same((os.path.exists(case.path("old.txt")), os.path.exists(case.path("b.txt"))), (False, False))
    same(seen.body, "M a.py\nA new/c.txt\nM b.txt\nD old.txt\nR b.txt to d.txt\n")
    same(seen.state, "applied: 6 changes in 5 files; edit undo=true takes back one change of a file")
    model.works("edit", path="a.py", undo=True)
    has(case.text("a.py"), "return 1", "port = 8080")
    seen = model.works("apply_patch", diff="--- a/d.txt\n+++ b/d.txt\n@@ -1,1 +1,2 @@\n one\n+three\n")
    same(case.text("d.txt"), "one\nthree\n")


@row("apply_patch: nothing is changed when one part does not fit, also over a crash")
def _(case):
    model = case.model("patch")
    case.put("a.py", SOURCE)
    text = model.fails("apply_patch", patch="*** Begin Patch\n*** Add File: n.txt\n+n\n*** Update File: a.py\n"
                       "@@\n-port = 80\n+port = 81\n@@\n-\t\treturn 7\n+\t\treturn 8\n*** End Patch\n").text
    has(text, "part 3 of 3 does not fit, and nothing is changed: not changed: old_string is not in a.py. "
        "Nearest, line 6")
    same(case.text("a.py"), SOURCE)
    same(os.path.exists(case.path("n.txt")), False)
    has(model.fails("apply_patch", patch="please").text, "this is not a patch")
    case.put("many.txt", "".join(f"line {i}\n" for i in range(100)))
    patch = "*** Update File: many.txt\n" + "".join(f"@@\n-line {i}\n+row {i}\n" for i in range(30))
    model.client.send(wire.call("many", "apply_patch", patch=patch))
    wait_for(lambda: logged(case, "line 1\\n") or "row 1\n" in case.text("many.txt"), "it is at work")
    case.server.crash()
    said = Answer(model.client.answer("many")["result"])
    holds(not said.failed, said.text)
    same(case.text("many.txt"), "".join(f"{'row' if i < 30 else 'line'} {i}\n" for i in range(100)))


# ---- events


@row("events: a line each, in parts, and a wait for the next")
def _(case):
    model = case.model("shell,events")
    model.works("shell", command="echo one")
    seen = model.works("events", since=0)
    has(seen.body, "1\t", " main run: echo one\n", "end of 1: ", ", exit 0: one\n")
    same(seen.state, "events 1 to 2")
    for i in range(3):
        model.works("shell", command=f"echo {i}")
    seen = model.works("events", since="0", limit=3)
    same(seen.state, "events 1 to 3 of 8; more: since=3")
    same(model.works("events", since=3, limit=3).result["first"], 4)
    same(model.works("events", since=-1).state, "events 8 to 8")
    seen = model.works("events", since=8)
    same((seen.body, seen.state), ("", "no event after 8. To wait for one: events since=8 wait_s=30"))
    has(model.works("events", since=8, wait_s=1).state, "no event after 8 in 1")
    other = case.model("shell")
    model.client.send(wire.call("next", "events", since=8, wait_s=50))
    other.works("shell", command="echo later")
    said = Answer(model.client.answer("next")["result"])
    has(said.body, "9\t", "run: echo later")


# ---- process


@row("process: two outputs, a status, words that are not expanded, standard input")
def _(case):
    model = case.model("process")
    seen = model.works("process", command="sh -c 'echo out; echo err >&2; exit 3'")
    same(seen.body, "out\nstderr:\nerr\n")
    has(seen.state, "exit 3 in ", "; stdout 1 line, stderr 1 line")
    same((seen.result["exit_code"], seen.result["state"]), (3, "ended"))
    same(model.works("process", command="echo '$HOME' *").body, "$HOME *\n")
    same(model.works("process", command="pwd").body, case.server.work + "\n")
    same(model.works("process", command="cat", stdin="some\ntext").body, "some\ntext\n")
    has(model.fails("process", command="echo 'open").text, "quote")
    has(model.fails("process").text, "command or name is missing; process needs {command")
    has(model.fails("process", name="none").text, "no process none; there are: ")
    has(model.fails("process", command="no-such-program").text, "no-such-program")


@row("process: one that goes on is waited for, written to and stopped by its name")
def _(case):
    model = case.model("process,events")
    program = "import sys; print('begun', flush=True); [print('got', x, end='', flush=True) " \
              "for x in sys.stdin]"
    seen = model.works("process", command=f'python3 -c "{program}"', name="own", stdin="", wait_s=0)
    seen = wait_for(lambda: seen if "begun" in seen.body else
                    model.works("process", name="own", wait_s=0), "it begins")
    holds(seen.result["state"] == "ended" or 'process name="own" signal="TERM"' in seen.state, seen.text)
    model.works("process", command="sleep 1000", name="slow", wait_s=0)
    seen = model.works("process", name="slow", wait_s=1)
    has(seen.state, "still running after ", ", this call waited 1", ": slow; stdout 0 lines, stderr 0 lines. Wait: process "
        'name="slow"; stop: process name="slow" signal="TERM"')
    seen = model.works("process", name="slow", signal="TERM")
    has(seen.state, "killed by SIGTERM after ")
    has(model.fails("process", name="slow", signal="TERM").text, "slow has ended")
    log = model.works("events", since=0).body
    has(log, "process: sleep 1000", "signal: TERM")


@row("process: cancel stops it, a client that gives up does not; a worker that ends, neither")
def _(case):
    model = case.model("process")
    case.put("begun", "")
    model.client.send(wire.call("one", "process", name="one",
                                command="sh -c 'echo x >begun; exec sleep 1000'"))
    wait_for(lambda: case.text("begun"), "it is begun")
    model.client.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                       "params": {"requestId": "one", "reason": "the user pressed Esc"}})
    has(model.works("process", name="one", wait_s=20).state, "killed by SIGTERM after ")
    case.put("once", "")
    model.client.send(wire.call("two", "process", name="two", command="sh -c 'echo x >>once; sleep 3; "
                                "wc -l <once'"))
    wait_for(lambda: case.text("once"), "it is begun")
    case.server.crash()
    said = Answer(model.client.answer("two")["result"])
    same(said.body.strip(), "1", said.text)
    has(said.state, "exit 0 in ")


# ---- a long search


def huge(case):
    """Some files, and one that takes long to search: a hole behind some text."""
    for i in range(3):
        case.put(f"small{i}.txt", "text\n")
    case.put("z-huge.txt", "text\n" * 20000)
    os.truncate(case.path("z-huge.txt"), 200 << 30)


def helpers(case):
    """Processes that the worker has started for work of its own."""
    done = subprocess.run(["pgrep", "-P", str(case.server.worker())], capture_output=True,
                          text=True, check=False)
    return set(done.stdout.split())


@row("a long search tells how many files it has searched, and ends when it is cancelled")
def _(case):
    huge(case)
    model = case.model("search")
    before = helpers(case)
    model.client.send(wire.call("long", "search", token="p1", pattern="nowhere-[0-9]{9}"))
    told = []
    for _ in range(2):
        message = model.client.next()
        same(message["method"], "notifications/progress")
        same(message["params"]["progressToken"], "p1")
        told.append(message["params"])
    holds(told[1]["progress"] > told[0]["progress"], told)
    has(told[1]["message"], " searched")
    holds(helpers(case) - before, "it is at work")
    model.client.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                       "params": {"requestId": "long", "reason": "the user pressed Esc"}})
    wait_for(lambda: not helpers(case) - before, "what searched is gone")
    seen = model.works("search", pattern="text", path="small0.txt")
    same(seen.result["matches"], 1)


@row("a long search of the modern era ends with its connection")
def _(case):
    huge(case)
    http = wire.Http(case.server, query="?tools=search")
    before = helpers(case)
    stream = http.modern(wire.call(1, "search", token=7, pattern="nowhere-[0-9]{9}"))
    message = stream.next()
    same((message["method"], message["params"]["progressToken"]), ("notifications/progress", 7))
    holds(helpers(case) - before, "it is at work")
    stream.close()
    wait_for(lambda: not helpers(case) - before, "what searched is gone")


def main():
    tap = Tap()
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    for each in row:
        if pattern in each.name:
            run_row(tap, "sets", each, lambda one: Case(one.options.get("more", ())))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
