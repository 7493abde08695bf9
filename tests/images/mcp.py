# SPDX-License-Identifier: MIT
"""mcp.py ARCHIVE: the tasks of tests/mcp, as far as they apply, in an image without
bash and Python (busybox), or without any shell (scratch), in both eras of MCP."""
import itertools
import json
import pathlib
import subprocess
import sys
import threading

import container
from tap import Rows, Tap, has, holds, same, wait_for

MODERN, LEGACY = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol/"
SETS = "?tools=default,process,files,events"
row = Rows()


class Said:
    def __init__(self, result):
        self.failed = result.get("isError", False)
        self.text = "\n".join(x["text"] for x in result["content"] if x["type"] == "text")
        if self.failed:  # so also for a client that drops isError
            holds(self.text.endswith("\n[failed]"), self.text)
            self.text = self.text.removesuffix("\n[failed]")
        self.pictures = [x for x in result["content"] if x["type"] == "image"]
        last = self.text.rsplit("\n", 1)[-1]
        self.state = last[1:-1] if last[:1] == "[" and last[-1:] == "]" else ""
        self.body = self.text[: -len(last)] if self.state else self.text
        self.object = result["_meta"]["od/result"]


class Model:
    """A client of one era, that looks at each state line."""

    def __init__(self, box, era):
        self.box, self.era, self.numbers, self.fields = box, era, itertools.count(1), {}
        self.shell = box.image.has_shell
        if era == "legacy":
            self.ask("initialize", protocolVersion=LEGACY, capabilities={},
                     clientInfo={"name": "images", "version": "1"})

    def post(self, method, params):
        fields = {"Accept": "application/json, text/event-stream", **self.fields}
        if self.era == "modern":
            params["_meta"] = {META + "protocolVersion": MODERN, META + "clientCapabilities": {},
                               META + "clientInfo": {"name": "images", "version": "1"}}
            fields.update({"MCP-Protocol-Version": MODERN, "Mcp-Method": method})
            if "name" in params:
                fields["Mcp-Name"] = params["name"]
        body = {"jsonrpc": "2.0", "id": next(self.numbers), "method": method, "params": params}
        return self.box.http.post("/mcp" + SETS, json=body, headers=fields, timeout=3 * container.LIMIT)

    def ask(self, method, **params):
        answer = self.post(method, params)
        same(answer.status_code, 200, answer.text)
        self.fields.update({name: value for name, value in answer.headers.items()
                            if name.lower() == "mcp-session-id"})
        data = [x[5:] for x in answer.text.splitlines() if x.startswith("data:") and x[5:].strip()]
        answer = json.loads(data[-1] if data else answer.text)
        holds("result" in answer, answer)
        return answer["result"]

    def call(self, tool, /, **arguments):
        said = Said(self.ask("tools/call", name=tool, arguments=arguments))
        holds(len(said.text.encode()) <= 16000, len(said.text))
        holds(said.failed or said.state, said.text)
        return said

    def works(self, tool, /, **arguments):
        said = self.call(tool, **arguments)
        holds(not said.failed, said.text)
        return said

    def fails(self, tool, /, **arguments):
        said = self.call(tool, **arguments)
        holds(said.failed, said.text)
        return said


# ---- with a shell


@row("1, 3: who and where; a status", shell=True)
def _(model):
    said = model.works("shell", command="id -u; pwd")
    same((said.body, said.object["exit_code"]), ("0\n/srv\n", 0))
    same(model.works("shell", command="sh -c 'exit 3'").state, "exit 3; no output")


@row("2: a folder that stays", shell=True)
def _(model):
    model.works("shell", command="mkdir -p /srv/in && cd /srv/in && echo text > x")
    same(model.works("read", path="x").body, "1\ttext\n")
    model.works("shell", command="cd /srv")


@row("4, 5: a question, and one without echo", shell=True)
def _(model):
    said = model.works("shell", command="sh -c 'printf \"go on? \"; read x; echo got $x'")
    has(said.state, "waiting for input: ", 'shell_input text="…"')
    same(model.works("shell_input", text="yes").body, "got yes\n")
    said = model.works("shell", command="read -s -p 'Password: ' p; echo; echo ${#p}")
    has(said.state, "waiting for input without echo, perhaps a password")
    same(model.works("shell_input", text="hunter-two").body.strip(), "10")
    holds("hunter-two" not in model.works("events", since=0, limit=500).text, "it is not in the log")


@row("7: a pager", shell=True)
def _(model):
    model.works("shell", command="seq 500 > many")
    said = model.works("shell", command="less many")
    holds("1" in said.body.split("\n"), said.text)
    same(model.works("shell_input", key="q").object["state"], "ended")


@row("8: what takes longer than wait_s goes on", shell=True)
def _(model):
    said = model.works("shell", command="echo one; sleep 3; echo done", wait_s=1)
    has(said.state, "still running after ", 'stop: shell_input key="C-c"')
    same(model.works("shell_input").body, "done\n")


@row("9, 10: a server that starts, is looked at, and is stopped", shell=True)
def _(model):
    model.works("shell", command="echo '<title>Hello</title><h1>From here</h1>' > index.html")
    model.works("shell", session="web", command="httpd -f -p 127.0.0.1:8123 -h /srv", wait_s=0)
    wait_for(lambda: "listening on 8123" in model.works("sessions").text, "it listens")
    said = model.works("browse", url="http://127.0.0.1:8123/index.html")
    has(said.text, "From here", "text browser, no scripts")
    has(model.works("shell_input", session="web", signal="TERM").state, "killed by SIG")


@row("11 to 13: much output, the middle of it, and a search in it", shell=True)
def _(model):
    said = model.works("shell", command="seq 50000")
    n = said.object["command"]
    has(said.state, f'rest: read path="@{n}" offset=')
    same(model.works("read", path=f"@{n}", offset=25000, limit=2).body, "25000\t25000\n25001\t25001\n")
    same(model.works("search", path=f"@{n}", pattern="^4999[12]$").body, "49991\t49991\n49992\t49992\n")


@row("14, 16: a busy session, another one, and a shell that ends", shell=True)
def _(model):
    model.works("shell", command="cat", wait_s=1)
    has(model.fails("shell", command="echo no").text, "session main is busy: cat", "was not run")
    same(model.works("shell", command="echo yes", session="b").body, "yes\n")
    model.works("shell_input", key="C-d")
    has(model.works("shell", command="exit 2").state, "the shell ended (exit 2)")
    same(model.works("shell", command="echo again").body, "again\n")


@row("15: two at the same time", shell=True)
def _(model):
    begun = threading.Thread(target=model.call, args=("shell",),
                             kwargs={"command": "sleep 4; echo ok", "session": "late"})
    begun.start()
    wait_for(lambda: "late     running" in model.works("sessions").text, "it runs")
    same(model.works("shell", command="echo meanwhile").body, "meanwhile\n")
    begun.join()
    has(model.works("sessions").text, "late     idle")


# ---- without


@row("the shell says that there is none, and what runs programs", shell=False)
def _(model):
    has(model.fails("shell", command="id").text, "no shell here", "the tool process", "--tools process")


@row("a program runs without a shell, and a server of it is looked at", shell=False)
def _(model):
    said = model.works("process", command="/busybox sh -c 'echo out; echo err >&2; exit 3'")
    same(said.body, "out\nstderr:\nerr\n")
    model.works("write", path="index.html", content="<title>Hello</title><h1>From here</h1>")
    model.works("process", name="web", command="/busybox httpd -f -p 127.0.0.1:8124 -h /srv", wait_s=0)

    def page():
        said = model.call("browse", url="http://127.0.0.1:8124/index.html")
        return said if not said.failed else None

    has(wait_for(page, "it listens").text, "From here")
    has(model.works("process", name="web", signal="TERM").state, "killed by SIGTERM")
    same(model.works("process", command="/busybox cat", stdin="a b").body, "a b\n")


# ---- with and without


@row("17, 18: a wrong name, a folder, a picture")
def _(model):
    model.works("write", path="src/config.py", content="x = 1\n")
    has(model.fails("read", path="src/confg.py").text, "Near: ", "config.py")
    has(model.works("read", path="src").body, "config.py")


@row("19 to 23: edits, taken back, and new files")
def _(model):
    model.works("write", path="new/app.py", content="def f():\n\treturn 1\n\nport = 80\nport = 80\n")
    has(model.works("edit", path="new/app.py", old_string="    return 1", new_string="    return 2").state,
        "tabs put for spaces")
    has(model.fails("edit", path="new/app.py", old_string="\treturn 3", new_string="x").text, "Nearest")
    has(model.fails("edit", path="new/app.py", old_string="port = 80", new_string="x").text, "replace_all")
    has(model.works("edit", path="new/app.py", undo=True).state, "is as before the edit")
    same(model.works("read", path="new/app.py", offset=2, limit=1).body, "2\t\treturn 1\n")


@row("24, 25: where a text is, and files by their name")
def _(model):
    model.works("write", path="s/a.c", content="int main(void)\n")
    model.works("write", path="s/b.toml", content="x\n")
    has(model.works("search", pattern="main(", path="s").body, "taken as plain text", "a.c\n1\tint main(")
    has(model.works("search", glob="*.toml", path="s").body, "b.toml\n")


@row("26: no Python is a sentence")
def _(model):
    has(model.fails("python", code="1").text, "no Python in this image; kernels found: none. shell: which")


@row("29: bent arguments")
def _(model):
    model.works("write", file_path="bent.txt", file_text="1\n2\n3\n")
    same(model.works("read", target_file="bent.txt", offset="2", limit=1.0).body, "2\t2\n")


@row("files and the log")
def _(model):
    model.works("write", path="one/x", content="x")
    has(model.works("files", action="copy", path="one", to=f"two-{model.era}").state, "copied one to two-")
    has(model.works("events", since=-5).body, "copy: one")


def by_exec(box):
    """The line that clients are given: podman exec -i CONTAINER od mcp."""
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
             "params": {"protocolVersion": LEGACY, "capabilities": {},
                        "clientInfo": {"name": "images", "version": "1"}}}
    ask = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    done = subprocess.run(["podman", "exec", "-i", box.name, box.od, "mcp"], capture_output=True,
                          input=json.dumps(hello) + "\n" + json.dumps(ask) + "\n", text=True,
                          timeout=container.LIMIT, check=False)
    same(done.returncode, 0, done.stderr)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    same([x["id"] for x in answers], [1, 2])
    same([x["name"] for x in answers[1]["result"]["tools"]][:2], ["shell", "shell_input"])


def main(archive, name):
    tap = Tap()
    container.setup()
    image = container.Image(name, archive)
    with container.Container(image, "root", "bind") as box:
        for era in ("legacy", "modern"):
            model = Model(box, era)
            for each in row:
                if each.options.get("shell", image.has_shell) != image.has_shell:
                    continue
                try:
                    each.function(model)
                except Exception as error:  # whatever it is, the row does not hold
                    tap.line(False, f"{name}, {era}: {each.name}", [str(error)[:1500], box.log()[-500:]])
                else:
                    tap.line(True, f"{name}, {era}: {each.name}")
        try:
            by_exec(box)
        except Exception as error:  # the same
            tap.line(False, f"{name}: podman exec -i", [str(error)[:1500], box.log()[-500:]])
        else:
            tap.line(True, f"{name}: podman exec -i")
        box.end()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[1]).stem))
