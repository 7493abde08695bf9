# SPDX-License-Identifier: MIT
"""eval_files.py [PATTERN]: tasks with files, as a model that knows only the descriptions
begins them; each in every way to the server."""
import base64
import os
import pathlib
import re
import struct
import sys
import zlib

from eval_lib import T, Server
from tap import Tap, same

W = pathlib.Path(T, "w")
TABS = "class A:\n\tdef load(self):\n\t\treturn self.cfg.port\n\nport = 80\n"
CALLS_MAX, BYTES_MAX = 2, 40000

# What a state line of these tools says, in full.
FORM = (r"(; indented with tabs( and spaces, mixed)?)?(; line ends CRLF( and LF, mixed)?)?"
        r"(; UTF-16|; not UTF-8, shown as Latin-1|; not UTF-8, such bytes are shown as .*)?")
LINES = r"lines? \d+(-\d+)? of \d+(; the (file|output) has \d+ lines)?"
GRAMMAR = re.compile("|".join([
    LINES + r"(; more: offset=\d+)?(; to find something: search( path=\"@\d+\")?)?" + FORM
    + r"(; more may come)?",
    r"empty file|the document has no text|no output( yet)?",
    r"picture \d+x\d+ px, [\d.]+ (bytes|kB|MB): .+",
    r".+, binary; shell: file, xxd \| head",
    r"directory: \d+ folders?, \d+ files?(, \d+ hidden)?(; .*)?",
    r"changed .+: \d+ places?, lines? [\d, …]+(; .+)?(, but it no longer parses: .+; "
    r"edit undo=true takes it back)?",
    r".+ is (as before the edit|removed, as before it was made)( (of|at) \d\d:\d\d:\d\d)?"
    r"(; \d+ more can be taken back)?",
    r"(created .+, \d+ lines?|replaced .+: \d+ lines? by \d+)(, and it has a line that stands "
    r"for left-out code \(\".+\"\); if that is not meant: edit undo=true)?(; made .+/)?",
    r"\d+ match(es)? in (\d+ of \d+ files?|\d+ files?|the \d+ lines? of @\d+)(, \d+ shown; "
    r".+)?",
    r"no match in (\d+ files?|the \d+ lines? of @\d+)(; \d+ in hidden or ignored files: "
    r"all=true)?(; \d+ with other case: ignore_case=true)?(; \d+ could not be read \(.+\))?",
    r"no file( is named .+)?(; \d+ in hidden or ignored files: all=true)?",
    r"\d+ files?, (newest first|the newest; there are more: .+)",
]))


def chunk(kind, data):
    return (struct.pack(">I", len(data)) + kind + data
            + struct.pack(">I", zlib.crc32(kind + data)))


def png(width, height):
    rows = zlib.compress((b"\0" + b"\x80" * 3 * width) * height)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows)
            + chunk(b"IEND", b""))


def pdf(text):
    stream = f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for n, each in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (n, each)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1, start)


class Task:
    """A client of one task: it counts calls, and looks at each answer's last line."""

    def __init__(self, server, client, folder):
        self.server, self.client, self.folder = server, client, folder
        self.calls = 0

    def put(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def bytes(self, name):
        return (self.folder / name).read_bytes()

    def call(self, tool, **arguments):
        """Paths are below the task's folder, which the session's directory is above."""
        self.calls += 1
        for name in ("path", "file_path", "target_file"):
            value = arguments.get(name)
            if value is not None and not value.startswith("@"):
                arguments[name] = os.path.join(self.folder.name, value)
        answer = self.client.call(tool, **arguments)
        same(answer.structured, None)
        if not answer.failed and not GRAMMAR.fullmatch(answer.state):
            raise AssertionError(f"no state line: {answer.text!r}")
        return answer

    def fails(self, tool, **arguments):
        answer = self.call(tool, **arguments)
        same((answer.failed, answer.state), (True, ""), answer.text)
        return answer

    def works(self, tool, **arguments):
        answer = self.call(tool, **arguments)
        same(answer.failed, False, answer.text)
        return answer


TASKS = []


def task(name):
    def keep(function):
        TASKS.append((name, function))
        return function

    return keep


def holds(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"{part!r} is not in {text!r}")


@task("17: a wrong name is answered with the right one")
def _(t):
    t.put("src/config.py", "x = 1\n")
    text = t.fails("read", path="src/confg.py").text
    near = re.search(r"Near: ([^,\s]+)", text)
    same(near and near[1], str(t.folder / "src/config.py"), text)
    same(t.works("read", path=near[1]).body, "1\tx = 1\n")


@task("what a server of ours keeps is never proposed")
def _(t):
    state = next(pathlib.Path(os.environ["T"]).rglob("spool")).parent
    (state.parent / "spoils").write_text("")
    text = t.fails("read", path=str(state.parent / "spoil")).text
    same(text.partition("Near: ")[2], str(state.parent / "spoils"), text)


@task("bytes that are not UTF-8, in a file that else is: shown, edited, kept")
def _(t):
    t.put("mixed", "г\nä \U0010ff98\nö\n".encode().replace("\U0010ff98".encode(), b"\x98"))
    seen = t.works("read", path="mixed")
    same(seen.body, "1\tг\n2\tä \U0010ff98\n3\tö\n")
    t.works("edit", path="mixed", old_string="г", new_string="два €")
    t.works("edit", path="mixed", old_string="ä \U0010ff98", new_string="\U0010ff98 ü")
    same(t.bytes("mixed"), "два €\n".encode() + b"\x98" + " ü\nö\n".encode())
    t.put("one", b"one\n\xff\ntwo\n")
    t.works("edit", path="one", old_string="two", new_string="2")
    same(t.bytes("one"), b"one\n\xff\n2\n")
    t.calls = 0


@task("18: a picture, a PDF, a folder")
def _(t):
    t.put("p.png", png(40, 30))
    t.put("d.pdf", pdf("Hello from a page"))
    t.put("f/one.txt", "1")
    seen = t.works("read", path="p.png")
    same([(p["mimeType"], base64.b64decode(p["data"])) for p in seen.pictures],
         [("image/png", t.bytes("p.png"))])
    same(seen.result["kind"], "image")
    seen = t.works("read", path="d.pdf")
    holds(seen.body, "Hello from a page")
    same(seen.result["kind"], "document")
    seen = t.works("read", path="f")
    same((seen.body, seen.result["kind"]), ("one.txt\n", "directory"))


@task("18: a picture that is too large is refused, with what scales it")
def _(t):
    t.put("wide.png", png(2100, 2))
    t.put("heavy.png", png(40, 30) + os.urandom(600000))
    holds(t.fails("read", path="wide.png").text, "too large", "2100x2 px", "Scale it", "1568")
    holds(t.fails("read", path="heavy.png").text, "too large", "40x30 px", "600.1 kB")


@task("19: spaces typed where the file has tabs")
def _(t):
    t.put("app.py", TABS)
    seen = t.works("edit", path="app.py",
                   old_string="    def load(self):\n        return self.cfg.port",
                   new_string="    def load(self):\n        return 1")
    holds(seen.state, "1 place, line 2", "tabs put for spaces in both strings")
    same(t.bytes("app.py").decode(), TABS.replace("self.cfg.port", "1"))
    same((seen.result["matched"], seen.result["undo"]), ("indent", 1))


@task("20: one word is wrong in old_string")
def _(t):
    t.put("app.py", TABS)
    text = t.fails("edit", path="app.py", old_string="  return self.config.port",
                   new_string="x").text
    name = os.path.join(t.folder.name, "app.py")
    same(text, f"not changed: old_string is not in {name}. Nearest, line 3; first difference "
         "marked:\n3\t\t\treturn self.cfg.port\n \t\t\t             ^ file: self.cfg   "
         "old_string: self.config\nSend the text of the file.")
    same(t.bytes("app.py").decode(), TABS)


@task("20: the file was changed by someone else")
def _(t):
    t.put("a.txt", "one\ntwo\n")
    t.works("read", path="a.txt")
    t.put("a.txt", "one\nzwei, two\n")
    holds(t.fails("edit", path="a.txt", old_string="two\n\n", new_string="x").text,
          "was changed by someone else since you read it; nearest, line 2")


@task("21: a text that is there three times")
def _(t):
    t.put("a.txt", "x\nport\ny\nport\nport\n")
    text = t.fails("edit", path="a.txt", old_string="port", new_string="gate").text
    holds(text, "occurs 3 times, at lines 2, 4, 5", "replace_all=true")
    seen = t.works("edit", path="a.txt", old_string="port", new_string="gate",
                   replace_all=True)
    same((seen.result["places"], seen.result["lines"]), (3, [2, 4, 5]))
    same(t.bytes("a.txt"), b"x\ngate\ny\ngate\ngate\n")


@task("22: a change that breaks the syntax, taken back")
def _(t):
    t.put("app.py", TABS)
    seen = t.works("edit", path="app.py", old_string="def load(self)",
                   new_string="def load(self")
    holds(seen.state, "1 place, line 2, but it no longer parses: line 2, ",
          "edit undo=true takes it back")
    same(seen.result["parses"], False)
    t.works("edit", path="app.py", undo=True)
    same(t.bytes("app.py").decode(), TABS)


@task("22: what a worker did that is gone is taken back, too")
def _(t):
    t.put("app.py", TABS)
    t.works("write", path="app.py", content="x = 1\n")
    t.works("write", path="new.py", content="y = 1\n")
    t.server.kill_worker()
    t.works("edit", path="app.py", undo=True)
    same(t.bytes("app.py").decode(), TABS)
    holds(t.works("edit", path="new.py", undo=True).state, "is removed")
    same((t.folder / "new.py").exists(), False)
    holds(t.fails("edit", path="new.py", undo=True).text, "nothing to take back")
    t.calls = 0


@task("23: a new file in a new folder")
def _(t):
    seen = t.works("write", path="etc/conf/app.toml", content="a = 1\nb = 2\n")
    name = os.path.join(t.folder.name, "etc/conf/app.toml")
    same(seen.state, f"created {name}, 2 lines; made {os.path.join(t.folder.name, 'etc')}/")
    same((seen.result["created"], seen.result["lines"]), (True, 2))
    same(t.bytes("etc/conf/app.toml"), b"a = 1\nb = 2\n")


@task("23: mode stays, left-out code is told, a file is no folder")
def _(t):
    t.put("run.sh", "#!/bin/sh\necho 1\n")
    os.chmod(t.folder / "run.sh", 0o750)
    seen = t.works("write", path="run.sh", content="#!/bin/sh\n# ... existing code ...\n")
    holds(seen.state, "2 lines by 2", 'stands for left-out code ("existing code")')
    same(os.stat(t.folder / "run.sh").st_mode & 0o777, 0o750)
    holds(t.fails("write", path="run.sh/x", content="").text, "run.sh is a file")


@task("24: where main( is")
def _(t):
    t.put("a.c", "int main(void)\n")
    seen = t.works("search", pattern="main(", path=".")
    holds(seen.body, "taken as plain text: missing closing parenthesis", "a.c\n1\tint main(")
    same((seen.result["literal"], seen.result["matches"]), (True, 1))


@task("24: nothing is found, and what would be")
def _(t):
    t.put("a.c", "int Main;\n")
    t.put(".env", "main\n")
    t.put("deps/x.c", "main\n")
    t.put(".gitignore", "deps\n")
    t.put(".git/HEAD", "main\n")
    state = t.works("search", pattern="main", path=".").state
    same(state, "no match in 1 file; 2 in hidden or ignored files: all=true; 1 with other "
         "case: ignore_case=true")
    same(t.works("search", pattern="main", path=".", all=True).result["matches"], 2)
    same(t.works("search", pattern="main", path=".", ignore_case=True).result["matches"], 1)
    t.calls = 2


@task("24: too many matches are counted, and the proposed call shows them")
def _(t):
    t.put("a.txt", "load\n" * 150)
    t.put("b.txt", "load\n" * 30)
    seen = t.works("search", pattern="load", path=".")
    name = t.folder.name
    same(seen.state, f"180 matches in 2 files, 100 shown; counts: {name}/a.txt 150, "
         f"{name}/b.txt 30; narrow with path or glob, or limit=1000")
    same(t.works("search", pattern="load", path=".", limit=1000).result["shown"], 180)


@task("a pipe is neither read nor searched")
def _(t):
    os.mkfifo(t.folder / "pipe")
    holds(t.fails("read", path="pipe").text, "pipe: it is a pipe")
    holds(t.fails("search", path="pipe", pattern="x").text, "cannot search", "pipe")
    holds(t.fails("edit", path="pipe", old_string="a", new_string="b").text, "pipe")
    t.calls = 0


@task("25: files named *.toml")
def _(t):
    for name in ("a.toml", "b/c.toml", "d.txt"):
        t.put(name, "x")
    os.utime(t.folder / "a.toml", (1, 1))
    seen = t.works("search", glob="*.toml", path=".")
    name = t.folder.name
    same((seen.body, seen.state),
         (f"{name}/b/c.toml\n{name}/a.toml\n", "2 files, newest first"))


@task("29: bent arguments are taken as they are meant")
def _(t):
    t.put("a.txt", "1\n2\n3\n4\n")
    same(t.works("read", file_path="a.txt", limit="2", offset=2.0).body, "2\t2\n3\t3\n")
    same(t.works("read", target_file="a.txt", view_range="[2, 3]", limit="").body,
         "2\t2\n3\t3\n")
    same(t.works("read", path="a.txt", start_line="-1", limit=None).body, "4\t4\n")
    t.works("edit", path="a.txt", old_str="2", new_str="", replace_all="true", undo=None)
    same(t.bytes("a.txt"), b"1\n\n3\n4\n")
    t.works("edit", path="a.txt", undo="true", old_string="")
    same(t.works("search", query="[34]", path="a.txt", glob="", context="0",
                 ignore_case="false", limit=100.0).result["matches"], 2)
    t.works("write", path="b.txt", file_text="")
    same(t.bytes("b.txt"), b"")
    seen = t.works("read", path="a.txt", encoding="utf-8")
    holds(seen.text, "encoding is not an argument of read and was ignored", "path, offset?")
    holds(t.fails("edit", path="a.txt").text, "old_string is missing; edit needs {path")
    holds(t.fails("edit", path="a.txt", old_string="1").text,
          'new_string is missing; "" removes')
    holds(t.fails("write", content="x").text, "path is missing; write needs {path, content}")
    t.calls = 0


@task("a long file: what fits, and the next part")
def _(t):
    t.put("big.txt", "".join(f"{i:05} {'y' * 74}\n" for i in range(1, 1301)))
    seen = t.works("read", path="big.txt")
    same(len(seen.text.encode()) <= 16000, True)
    more = re.search(r"more: offset=(\d+); to find something: search", seen.state)
    at = int(more[1])
    same((seen.result["to"], seen.result["more"]), (at - 1, True))
    seen = t.works("read", path="big.txt", offset=at, limit=1)
    same(seen.body, f"{at}\t{at:05} {'y' * 74}\n")


@task("12, 13: kept output by its lines")
def _(t):
    seen = t.server.event({"action": "run", "args": {"command": "seq 50000"},
                           "session": "main"})
    path = f"@{seen['cause']}"
    seen = t.works("read", path=path, offset=25000, limit=3)
    same((seen.body, seen.state), ("25000\t25000\n25001\t25001\n25002\t25002\n",
                                   "lines 25000-25002 of 50000"))
    same(t.works("read", path=path, offset=-1).body, "50000\t50000\n")
    seen = t.works("search", path=path, pattern="^2500[0-2]$", context=1)
    same(seen.body, "24999-\t24999\n25000\t25000\n25001\t25001\n25002\t25002\n"
         "25003-\t25003\n")
    same(seen.state, f"3 matches in the 50000 lines of {path}")
    holds(t.works("search", path=path, pattern="(9").body, "taken as plain text")
    seen = t.works("read", path=path)
    holds(seen.state, f'search path="{path}"')
    holds(t.fails("read", path="@99999999").text, "99999999")
    holds(t.fails("search", path=path).text, "pattern is missing")
    t.calls = 0


def run(tap, server, client, number, name, function):
    folder = W / f"{client.name.replace(', ', '-')}{number}"
    folder.mkdir(parents=True)
    t = Task(server, client, folder)
    try:
        function(t)
        wrong = [] if t.calls <= CALLS_MAX + 1 else [f"{t.calls} calls"]
    except Exception as why:  # whatever it is, the task is not done
        wrong = str(why).split("\n") or [repr(why)]
    tap.line(not wrong, f"{client.name}: {name}", wrong)


def check_definitions(tap, client):
    tools = client.tools()
    wrong = []
    for name in ("read", "edit", "write", "search"):
        schema = tools[name]["inputSchema"]
        if set(schema) - {"type", "properties", "required", "additionalProperties"} or \
                schema["type"] != "object":
            wrong.append(f"{name}: {sorted(schema)}")
        for each, row in schema["properties"].items():
            if set(row) - {"type", "description", "enum"}:
                wrong.append(f"{name}.{each}: {row}")
        if len(tools[name]["description"]) > 700:
            wrong.append(f"{name}: the description is long")
        if tools[name]["annotations"]["readOnlyHint"] != (name in ("read", "search")):
            wrong.append(f"{name}: {tools[name]['annotations']}")
    tap.line(not wrong, f"{client.name}: definitions that every client takes", wrong)


def main(pattern=""):
    tap = Tap()
    with Server(str(W)) as server:
        clients = server.clients()
        for client in clients:
            if not pattern:
                check_definitions(tap, client)
            for number, (name, function) in enumerate(TASKS):
                if pattern in f"{client.name}: {name}":
                    run(tap, server, client, number, name, function)
            fine = client.bytes <= BYTES_MAX
            tap.line(fine, f"{client.name}: few bytes", [f"{client.bytes} bytes"])
            client.close()
    return tap.done()


sys.exit(main(*sys.argv[1:]))
