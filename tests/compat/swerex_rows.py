# SPDX-License-Identifier: MIT
"""swerex_rows.py [PATTERN]: what SWE-ReX's own tests demand of its server, row by row,
and where this one is to be better: nothing typed that a user sees, nothing lost, nothing
that hangs."""
import json
import os
import signal
import stat
import sys
import threading

from swerex_client import KEY, OD, Client, Server, monotonic, raises, server
from tap import Rows, Tap, has, holds, lacks, run_rows, same, wait_for

row = Rows()
E = "swerex.exceptions."
PROMPT = "SHELLPS1PREFIX"


# --- the program


@row("the program: version, missing token, unknown options", session=False)
def _(box):
    import subprocess

    def call(*words):
        done = subprocess.run([box.program, *words], env=box.env, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr
    same(call("--version")[:2], (0, "1.4.0\n"))
    same(call("-v")[:2], (0, "1.4.0\n"))
    code, out, _err = call("-v", "--port", "3")
    same((code, out), (1, "Error: --version cannot be combined with other arguments\n"))
    code, out, err = call("--port", "8000")
    same((code, out), (2, ""))
    has(err, "usage: swerex-remote", "the following arguments are required: --auth-token")
    same(call("--auth-token", "x", "--prot", "1")[0], 2)
    same(call("--auth-token", "x", "--port", "many")[0], 2)


@row("the program: as deployments start it, found in PATH, before they would install one",
     session=False)
def _(box):
    import re
    import signal
    import subprocess

    log = os.path.join(box.root, "deployed.log")
    env = {**box.env, "PATH": box.root + ":" + box.env["PATH"],
           "OD_SOCKET": os.path.join(box.root, "deployed.sock"),
           "OD_STATE_DIR": os.path.join(box.root, "deployed")}
    script = "trap : INT; swerex-remote --port 0 --auth-token deployed || { echo installs; exit 9; }"
    with open(log, "wb") as file:
        shell = subprocess.Popen(["/bin/sh", "-c", script], env=env, cwd=box.dir, stdout=file,
                                 stderr=file, stdin=subprocess.DEVNULL, start_new_session=True)

    def port():
        with open(log) as file:
            found = re.search(r"http swerex@0\.0\.0\.0:(\d+)", file.read())
        return found and found[1]

    try:
        client = Client("http://127.0.0.1:" + wait_for(port, "it listens everywhere"), "deployed")
        same(client.is_alive()["is_alive"], True)
        client.create()
        same(client.output("echo $((6*7))"), "42\n")
    finally:
        os.killpg(shell.pid, signal.SIGINT)
        code = shell.wait(60)
    same(code, 0)
    with open(log) as file:
        lacks(file.read(), "installs")


@row("the program: TERM ends it with 0; the token is in no process's words", session=False)
def _(box):
    lacks(box.od("exec", "cat /proc/[0-9]*/cmdline").stdout, KEY)
    same(box.stop(), 0)


@row("the program: an empty token means no key", session=False)
def _(_box):
    other = Server("--host", "127.0.0.1", "--port=0", "--auth-token=", key=None)
    try:
        same(other.is_alive()["is_alive"], True)
        same(other.execute(["echo", "a"])["stdout"], "a\n")
    finally:
        other.stop()


# --- the frame


@row("server_alive, hello_world", session=False)
def _(box):
    same(box.is_alive(), {"is_alive": True, "message": ""})
    same(box.http.get("/").json(), {"message": "hello world"})


@row("unauthenticated_request: 403 without a key on every path, 401 with a wrong one", session=False)
def _(box):
    anyone, wrong = Client(str(box.http.base_url), None), Client(str(box.http.base_url), "no")
    paths = ["/", "/is_alive", "/create_session", "/run_in_session", "/close_session",
             "/execute", "/read_file", "/write_file", "/upload", "/close", "/nothing"]
    for path in paths:
        for method in ("GET", "POST"):
            answer = anyone.http.request(method, str(box.http.base_url) + "/" + path)
            same((answer.status_code, answer.json()), (403, {"detail": "Not authenticated"}))
        answer = anyone.http.get(path)
        same((answer.status_code, answer.json()), (403, {"detail": "Not authenticated"}))
    answer = wrong.http.get("/is_alive")
    same((answer.status_code, answer.json()), (401, {"detail": "Invalid API Key"}))
    answer = anyone.http.get("/is_alive", headers={"X-API-Key": ""})
    same((answer.status_code, answer.json()), (403, {"detail": "Not authenticated"}))


@row("unknown paths and methods", session=False)
def _(box):
    answer = box.http.get("/nothing")
    same((answer.status_code, answer.json()), (404, {"detail": "Not Found"}))
    answer = box.http.get("/execute")
    same((answer.status_code, answer.json()), (405, {"detail": "Method Not Allowed"}))
    has(answer.headers["allow"], "POST")
    for path in ("/docs", "/openapi.json"):
        answer = box.http.get(path)
        same(answer.status_code, 501)
        has(answer.json()["detail"], "no page")


@row("bad input has the protocol's errors", session=False)
def _(box):
    def detail(path, **body):
        answer = box.http.post(path, **body)
        same(answer.status_code, 422, answer.text)
        same(answer.headers["content-type"], "application/json")
        return answer.json()["detail"]
    one = detail("/run_in_session")[0]
    same((one["type"], one["loc"], one["msg"], one["input"]),
         ("missing", ["body"], "Field required", None))
    (one,) = detail("/execute", content=b"{nonsense")
    same((one["loc"], one["ctx"]["error"]),
         (["body", 1], "Expecting property name enclosed in double quotes"))
    (one,) = detail("/execute", content=b"nonsense")
    same((one["type"], one["loc"], one["msg"], one["ctx"]),
         ("json_invalid", ["body", 0], "JSON decode error", {"error": "Expecting value"}))
    same(detail("/execute", content='{"é": nonsense'.encode())[0]["loc"], ["body", 6])
    for path, by in (("/create_session", "session_type"), ("/run_in_session", "action_type"),
                     ("/close_session", "session_type")):
        one = detail(path, json={"session": "a", "command": "b"})[0]
        same((one["type"], one["msg"]),
             ("union_tag_not_found", f"Unable to extract tag using discriminator '{by}'"))
        one = detail(path, json={by: "zsh"})[0]
        same(one["type"], "union_tag_invalid")
        has(one["msg"], "'zsh'", "'bash'", by)
    one = detail("/run_in_session", json={"action_type": "bash"})[0]
    same((one["type"], one["loc"]), ("missing", ["body", "bash", "command"]))
    types = [one["type"] for one in detail("/execute", json={"command": 7})]
    same(types, ["string_type", "list_type"])
    detail("/execute", json={"command": ["a", 1]})
    bash = {"action_type": "bash", "command": "true"}
    for path, body, kind, place, given in (
            ("/execute", {"command": "x", "env": {"B": "b", "A": 1}}, "string_type", ["env", "A"], 1),
            ("/run_in_session", {**bash, "expect": ["x", 2]}, "string_type",
             ["bash", "expect", 1], 2),
            ("/run_in_session", {**bash, "expect": "x"}, "list_type", ["bash", "expect"], "x"),
            ("/run_in_session", {**bash, "timeout": "soon"}, "float_parsing",
             ["bash", "timeout"], "soon"),
            ("/run_in_session", {**bash, "check": "maybe"}, "literal_error", ["bash", "check"],
             "maybe"),
            ("/run_in_session", {"action_type": "bash_interrupt", "n_retry": "x"}, "int_parsing",
             ["bash_interrupt", "n_retry"], "x"),
            ("/create_session", {"session_type": "bash", "session": None}, "string_type",
             ["bash", "session"], None),
            ("/create_session", {"session_type": "bash", "startup_source": None}, "list_type",
             ["bash", "startup_source"], None)):
        (one,) = detail(path, json=body)
        same((one["type"], one["loc"], one["input"]), (kind, ["body", *place], given))
    detail("/read_file", json={})
    detail("/read_file", json=[])
    detail("/write_file", json={"path": "/x"})
    def form(*parts):
        return [(one["type"], one["loc"][1], one["input"]) for one in detail("/upload", files=parts)]
    target, file = ("target_path", (None, "/x")), ("file", ("f", b"f"))
    lacks_file, lacks_target = ("missing", "file", None), ("missing", "target_path", None)
    same([one["loc"] for one in detail("/upload", content=b"")],
         [["body", "file"], ["body", "target_path"]])
    same(form(target), [lacks_file])
    same(form(file), [lacks_target])
    same(form(("unzip", (None, "maybe"))),
         [lacks_file, lacks_target, ("bool_parsing", "unzip", "maybe")])
    same(form(target, ("file", (None, "text"))), [("value_error", "file", None)])
    detail("/run_in_session", json={"action_type": "bash", "command": "x", "check": "maybe"})
    same(box.http.post("/execute", json={"command": ["true"], "new": 1}).status_code, 200)


@row("the same X-Request-ID does nothing twice, and is no key")
def _(box):
    box.run("n=0")
    for _ in range(3):
        same(box.output("n=$((n+1)); echo $n", request_id="again"), "1\n")
    same(box.output("echo $n"), "1\n")
    for _ in range(2):
        same(box.execute("echo x >>counted", shell=True, request_id="e1")["exit_code"], 0)
        box.write_file(box.path("f"), "once", request_id="w1")
    same(box.read_file(box.path("counted")), "x\n")
    box.create("other", request_id="c1")
    box.create("other", request_id="c1")
    answer = Client(str(box.http.base_url), None).http.post(
        "/run_in_session", json={}, headers={"X-Request-ID": "again"})
    same(answer.status_code, 403)


# --- execute


@row("execute_command: leading space, echo -n, empty strings", session=False)
def _(box):
    for command, out in ((("echo 'hello world'"), "hello world\n"), ("echo ''", "\n"),
                         ("echo '\n \nhello world'", "\n \nhello world\n"), ("", ""), ("\n", "")):
        same(box.execute(command, shell=True, check=True),
             {"stdout": out, "stderr": "", "exit_code": 0})
    for text in ("hello world", "hello world\n", "\nhello world"):
        same(box.execute(["echo", "-n", text])["stdout"], text)
    same(box.execute(["echo", "hello world"])["stdout"], "hello world\n")
    same(box.execute(["echo a", "b"], shell=True)["stdout"], "a\n")


@row("execute: streams apart and merged, status, signals, cwd, env", session=False)
def _(box):
    script = "echo out; echo err >&2"
    same(box.execute(["bash", "-lc", script])["stdout"].strip(), "out")
    same(box.execute(["bash", "-lc", script])["stderr"].strip(), "err")
    merged = box.execute(["bash", "-lc", script], merge=True)
    same((merged["stderr"], merged["stdout"].split()), ("", ["out", "err"]))
    same(box.execute("kill -9 $$", shell=True)["exit_code"], -9)
    same(box.execute(["pwd"], cwd="/tmp")["stdout"], "/tmp\n")
    same(box.execute(["/usr/bin/env"], env={"A": "b c"})["stdout"], "A=b c\n")
    same(box.execute("cat", shell=True)["stdout"], "")
    same(box.execute("printf 'a\\377\\r\\n\\033[1mb'", shell=True)["stdout"],
         "a\\xff\r\n\033[1mb")


@row("execute: exceptions", session=False)
def _(box):
    late = raises(E + "CommandTimeoutError", box.execute,
                  ["sh", "-c", "echo early; sleep 60"], timeout=2.5)
    same(late.message, "Timeout (2.5s) exceeded while running command")
    same(late.extra["stdout"], "early\n")
    late = raises(E + "CommandTimeoutError", box.execute, ["sleep", "10"], timeout=1)
    same(late.message, "Timeout (1.0s) exceeded while running command")
    same(box.execute(["true"], env={})["exit_code"], 0)  # found without a PATH
    raises("builtins.IndexError", box.execute, [])
    bad = raises(E + "NonZeroExitCodeError", box.execute, "echo a; echo b >&2; exit 3",
                 shell=True, check=True, error_msg="no good")
    same(bad.message, "no good: Command 'echo a; echo b >&2; exit 3' failed with exit code 3. "
                      "Stdout:\n'a\\n'\nStderr:\n'b\\n'")
    gone = raises("builtins.FileNotFoundError", box.execute, "echo hi")
    same(gone.message, "[Errno 2] No such file or directory: 'echo hi'")
    raises("builtins.FileNotFoundError", box.execute, "")
    gone = raises("builtins.FileNotFoundError", box.execute, ["true"], cwd="/nowhere")
    has(gone.message, "'/nowhere'")
    box.write_file(box.path("plain"), "x")
    raises("builtins.PermissionError", box.execute, [box.path("plain")])


@row("execute ends with the command, not with a child that holds the output", session=False)
def _(box):
    got = box.execute("sleep 1000 & echo early; echo $! >pid; exit 3", shell=True, cwd=box.path(""))
    same((got["stdout"], got["exit_code"]), ("early\n", 3))
    with open(box.path("pid"), encoding="ascii") as file:
        os.kill(int(file.read()), signal.SIGKILL)  # raises if it is gone


# --- files


@row("read_write_file, write_to_non_existent_directory, read_large_file", session=False)
def _(box):
    path = box.path("deep", "er", "file")
    same(box.write_file(path, "test"), {})
    with open(path, "rb") as file:
        same(file.read(), b"test")
    same(box.read_file(path), "test")
    box.write_file(path, "new")
    same(box.read_file(path), "new")
    with open(path, "w") as file:
        file.write("x" * (1 << 20))
    same(box.read_file(path), "x" * (1 << 20))
    with open(path, "wb") as file:
        file.write("é\r\n\x00\"\\\r".encode())
    same(box.read_file(path), "é\n\x00\"\\\n")


@row("read_non_existent_file and other errors of files", session=False)
def _(box):
    gone = raises("builtins.FileNotFoundError", box.read_file, "/non_existent")
    same(gone.message, "[Errno 2] No such file or directory: '/non_existent'")
    same(gone.traceback, "")
    folder = raises("builtins.IsADirectoryError", box.read_file, box.dir)
    same(folder.message, f"[Errno 21] Is a directory: '{box.dir}'")
    answer = box.http.post("/read_file", json={"path": "/none"})
    same((answer.status_code, answer.reason_phrase, set(answer.json()),
          set(answer.json()["swerexception"])),
         (511, "Network Authentication Required", {"swerexception"},
          {"message", "class_path", "traceback", "extra_info"}))
    raises("builtins.IsADirectoryError", box.write_file, box.dir, "x")
    box.write_file(box.path("f"), "x")
    raises("builtins.NotADirectoryError", box.read_file, box.path("f", "g"))


@row("write_file keeps mode, link and owner, and makes files by the umask", session=False)
def _(box):
    path, link = box.path("kept"), box.path("link")
    box.write_file(path, "one")
    mask = os.umask(0)
    os.umask(mask)
    same(stat.S_IMODE(os.stat(path).st_mode), 0o666 & ~mask)
    os.chmod(path, 0o750)
    os.symlink("kept", link)
    box.write_file(link, "two\r\n")
    with open(path, "rb") as file:
        same(file.read(), b"two\r\n")
    holds(os.path.islink(link))
    same(stat.S_IMODE(os.stat(path).st_mode), 0o750)
    raises("builtins.FileNotFoundError", box.write_file, "", "x")
    box.write_file("relative", "x")
    same(box.read_file("relative"), "x")
    raises("builtins.OSError", box.write_file, "/" + "x" * 5000, "x")


@row("a pipe, a device: an exception, and nothing hangs or is replaced", session=False)
def _(box):
    pipe = box.path("pipe")
    os.mkfifo(pipe)
    for function, words in ((box.read_file, ()), (box.write_file, ("x",)),):
        raises("builtins.NotImplementedError", function, pipe, *words)
    raises("builtins.NotImplementedError", box.upload_bytes, "x", b"x", pipe, False)
    same(box.is_alive()["is_alive"], True)
    holds(stat.S_ISFIFO(os.stat(pipe).st_mode))
    raises("builtins.NotImplementedError", box.write_file, "/dev/null", "x")


@row("read_file: encodings and handlers of errors", session=False)
def _(box):
    path = box.path("bytes")
    with open(path, "wb") as file:
        file.write(b"a\xff\xc3\xa9")
    bad = raises("builtins.UnicodeDecodeError", box.read_file, path)
    same(bad.message, "'utf-8' codec can't decode byte 0xff in position 1: invalid start byte")
    for errors, text in (("ignore", "aé"), ("replace", "a\ufffdé"), ("backslashreplace", "a\\xffé")):
        same(box.read_file(path, errors=errors), text)
    same(box.read_file(path, encoding="latin-1"), "aÿÃ©")
    same(box.read_file(path, encoding="UTF_8", errors="ignore"), "aé")
    bad = raises("builtins.LookupError", box.read_file, path, encoding="nonsense")
    same(bad.message, "unknown encoding: nonsense")
    raises("builtins.UnicodeDecodeError", box.read_file, path, encoding="ascii")
    raises("builtins.LookupError", box.read_file, path, errors="nonsense")


@row("upload_file, upload_directory", session=False)
def _(box):
    target = box.path("new", "file")
    same(box.upload_bytes("test.txt", b"test\x00\xff", target, False), {})
    with open(target, "rb") as file:
        same(file.read(), b"test\x00\xff")
    source = os.path.join(box.root, "source")
    os.makedirs(os.path.join(source, "sub"))
    for name, text in (("file1.txt", "test1"), ("file2.txt", "test2"), ("sub/run", "#!/bin/sh\n")):
        with open(os.path.join(source, name), "w") as file:
            file.write(text)
    os.chmod(os.path.join(source, "sub/run"), 0o755)
    box.upload_folder(source, box.path("there", "dir"))
    same(box.read_file(box.path("there", "dir", "file1.txt")), "test1")
    same(box.read_file(box.path("there", "dir", "file2.txt")), "test2")
    mode = os.stat(box.path("there", "dir", "sub", "run")).st_mode
    holds(mode & stat.S_IXUSR, "an executable file stays one")
    box.upload_bytes("x", b"inside", box.dir, False)
    same(box.read_file(box.path("temp_file_transfer")), "inside")
    bad = raises("zipfile.BadZipFile", box.upload_bytes, "x.zip", b"no zip", box.path("z"), True)
    same(bad.message, "File is not a zip file")
    big = os.urandom(1 << 20) * 12
    box.upload_bytes("big", big, box.path("big"), False)
    with open(box.path("big"), "rb") as file:
        holds(file.read() == big, "12 MiB arrive whole")
    raises("builtins.NotADirectoryError", box.upload_bytes, "x", b"", box.path("big", "x"), False)
    same([name for name in os.listdir(box.dir) if name.startswith(".od")], [])


# --- sessions


@row("create_close_shell, close_shell_twice, names", session=False)
def _(box):
    same(box.create(), {"output": "", "session_type": "bash"})
    taken = raises(E + "SessionExistsError", box.create)
    same(taken.message, "session default already exists")
    same(box.close_session(), {"session_type": "bash"})
    gone = raises(E + "SessionDoesNotExistError", box.close_session)
    same(gone.message, "session 'default' does not exist")
    gone = raises(E + "SessionDoesNotExistError", box.run, "true", session="it's")
    same(gone.message, "session \"it's\" does not exist")
    raises(E + "SessionDoesNotExistError", box.interrupt)
    for name in ("default", "with blank/ö", "", "x" * 200, "-", "main"):
        box.create(name)
        same(box.output("echo a", session=name), "a\n")
    raises("builtins.OSError", box.create, "x" * 300)


@row("close ends all sessions, and the server goes on")
def _(box):
    box.create("one")
    box.close_session("one")
    same(box.close(), {})
    gone = raises("builtins.RuntimeError", box.run, "true")
    same(gone.message, "shell not initialized")
    raises(E + "SessionDoesNotExistError", box.run, "true", session="one")
    box.create("one")
    same(box.output("echo a", session="one"), "a\n")
    box.create()
    same(box.output("echo b"), "b\n")


@row("create: startup_source, its output and its limit", session=False)
def _(box):
    box.write_file(box.path("one.sh"), "A=1; echo hello\n")
    box.write_file(box.path("it's 2.sh"), "B=2\n")
    made = box.create(source=[box.path("one.sh"), box.path("it's 2.sh"), "~/none.sh"])
    has(made["output"], "hello\n", "none.sh: ")
    same(box.output("echo $A$B"), "12\n")
    box.write_file(box.path("slow.sh"), "sleep 60\n")
    late = raises("pexpect.exceptions.TIMEOUT", box.create, "slow",
                  source=[box.path("slow.sh")], timeout=0.3)
    has(late.message, "startup_timeout")
    box.create("slow")
    same(box.output("echo $A", session="slow"), "\n")
    with open(box.path(".bashrc"), "w") as file:
        file.write("sleep 1.5; READ=1\n")
    box.create("patient", timeout=0.3)
    same(box.output("echo $READ", session="patient"), "1\n")


@row("the user's bashrc is read, and what it does to the prompt does no harm", session=False)
def _(box):
    with open(box.path(".bashrc"), "w") as file:
        file.write("alias hi='echo alias'\nPS1='mine> '\nexport RC=1\n")
    box.create()
    same(box.output("hi; echo $RC"), "alias\n1\n")
    same(box.output("PS1='other> '"), "")
    same(box.output("PS1=\"(venv) $PS1\"; PROMPT_COMMAND='echo prompting'"), "")
    same(box.output("echo a"), "a\n")


@row("what a command prints is its output, and nothing else")
def _(box):
    for command, output in (
            ("echo ''", "\n"), ("printf '\\nx'", "\nx"), ("printf '\\n\\nx\\n\\n\\n'", "\n\nx\n\n\n"),
            ("printf '  x'", "  x"), ("echo '\n \nhello\nworld'", "\n \nhello\nworld\n"),
            ("echo 'hello\nworld'", "hello\nworld\n"), ("true", ""), ("printf 'a\\rb'", "a\rb"),
            ("printf 'a\\r\\nb'", "a\nb"), ("printf '\\033[31mred\\033[0m\\033[K\\r\\n'", "red\n"),
            ("printf '\\033]0;title\\007x'", "x"), ("printf '\\377\\n'", "\\xff\n"),
            ("printf 'é€😀'", "é€😀"), ("printf 'a\\0b'", "a\0b"), ("printf '\\033'", "\033")):
        seen = box.run(command)
        same(seen, {"output": output, "exit_code": 0, "failure_reason": "",
                    "expect_string": PROMPT, "session_type": "bash"}, command)


@row("run_in_shell: exit codes and check")
def _(box):
    same(box.run("doesntexit", check="silent")["exit_code"], 127)
    same(box.run("false && true", check="silent")["exit_code"], 1)
    same(box.run("false || true", timeout=1e300)["exit_code"], 0)
    same(box.execute(["true"], timeout=1e300)["exit_code"], 0)
    bad = raises(E + "NonZeroExitCodeError", box.run, "echo \"it's\"; false", error_msg="oh")
    same(bad.message, "oh: Command 'echo \"it\\'s\"; false' failed with exit code 1. "
                      "Here is the output:\n\"it's\\n\"")
    seen = box.run("echo a; (exit 3)", check="ignore")
    same((seen["output"], seen["exit_code"]), ("a\n", None))
    same(box.output("echo $?"), "3\n")
    same(box.run("A=(); false", check="silent"), {
        "output": "", "exit_code": 1, "failure_reason": "", "expect_string": PROMPT,
        "session_type": "bash"})


@row("empty commands, comments, blank lines, here-documents, loops")
def _(box):
    for command, output in (
            ("", ""), ("\n", ""), ("\n\n \n", ""), ("\n echo 'test'\n\n", "test\n"),
            ("\necho test1\n\n   \n\necho test2\n\n", "test1\ntest2\n"),
            ("# echo hello", ""), ("echo 'hello world'; echo 'hello again'",
                                   "hello world\nhello again\n"),
            ("echo 'hello world' && echo 'hello again'", "hello world\nhello again\n"),
            ("for i in {1..3};\ndo\necho 'hello world'\ndone", "hello world\n" * 3),
            ("[[ $env == $env ]]", ""), ("echo 'hw';A=();echo 'asdf'", "hw\nasdf\n"),
            ("/usr/bin/env bash -n <<'EOF'\necho 'hello world'\nEOF", ""),
            ("python3 <<EOF\nprint('hello world')\nprint('hello world 2')\nEOF",
             "hello world\nhello world 2\n"),
            ("cat <<EOF\na\nEOF\necho after", "a\nafter\n"),
            ("sleep 0.1 &>/dev/null &\ndisown; echo after", None),
            ("echo 'a\tb'", "a\tb\n"), ('echo "a!b"', "a!b\n")):
        seen = box.run(command)
        if output is not None:
            same(seen["output"], output, command)
        else:
            has(seen["output"], "after\n")
        same(seen["exit_code"], 0, command)
    same(box.run("false", check="silent")["exit_code"], 1)
    same(box.run("\n")["exit_code"], 0)


@row("run_in_shell_subshell_command: a background job does not hold it")
def _(box):
    box.run("(sleep 1000) &")
    same(box.output("echo a"), "a\n")


@row("check_bash_command_invalid, and what may be run is not refused")
def _(box):
    for command in ("(a", "a='", "for", "echo a\n(b", "if true", "a &&", "| b", "done",
                    "echo a;; b", "a && && b", "case x in"):
        bad = raises(E + "BashIncorrectSyntaxError", box.run, "touch ran\n" + command)
        has(bad.message, "Error (exit code 2) while checking bash command \n", "---- Stderr ----")
        same(set(bad.extra), {"bash_stdout", "bash_stderr"})
        has(bad.extra["bash_stderr"], "bash:")
    holds(not os.path.exists(box.path("ran")), "no line of it was run")
    for command in ("(true)", "a=''", "true; true", "true &&\ntrue", "true |\ncat",
                    "echo a=b if then", "true # it's"):
        same(box.run(command)["exit_code"], 0, command)


@row("check_bash_command: the session's extglob, also that of its startup files")
def _(box):
    command, wrong = "touch ran\ncase x in @(x|y)) echo yes;; esac", E + "BashIncorrectSyntaxError"
    raises(wrong, box.run, command)
    holds(not os.path.exists(box.path("ran")), "off: no line of it was run")
    box.run("shopt -s extglob")
    same(box.output(command), "yes\n")
    raises(wrong, box.run, "echo @(x|")
    same(box.output("case x in\n+(x)) shopt -u extglob; echo off;; esac"), "off\n")
    raises(wrong, box.run, command)
    with open(box.path("start"), "w", encoding="ascii") as file:
        file.write("shopt -s extglob\n")
    box.create("other", source=[box.path("start")])
    same(box.output(command, session="other"), "yes\n")


@row("run_in_shell_timeout: the exception has the output until then, and nothing is lost")
def _(box):
    os.mkfifo(box.path("go"))
    late = raises(E + "CommandTimeoutError", box.run,
                  "echo partial; cat <go; echo rest", timeout=2.5)
    same(late.message, "timeout after 2.5 seconds while running command "
                       "'echo partial; cat <go; echo rest'")
    same(late.extra, {"output": "partial\n", "session_alive": True})
    with open(box.path("go"), "w"):
        pass  # a pipe: cat ends
    same(box.output("echo next"), "rest\nnext\n")
    same(box.output("echo next"), "next\n")
    box.close_session()


@row("a command that waits for its turn until its timeout is not run")
def _(box):
    raises(E + "CommandTimeoutError", box.run, "sleep 1000", timeout=0.2)
    late = raises(E + "CommandTimeoutError", box.run, "touch late", timeout=0.2)
    has(late.extra["reason"], "busy")
    box.interrupt()
    same(box.output("ls"), "")


@row("interrupt_session")
def _(box):
    raises(E + "CommandTimeoutError", box.run, "sleep 10", timeout=0.1)
    seen = box.interrupt()
    same((seen["exit_code"], seen["expect_string"]), (0, PROMPT))
    same(box.output("echo 'asdf'"), "asdf\n")
    same(box.interrupt()["output"], "")
    same(box.output("echo 'asdf'"), "asdf\n")


@row("interrupt_pager: what ignores C-c is killed, and the next output tells of it",
     needs=("less",))
def _(box):
    raises(E + "CommandTimeoutError", box.run, "echo 'blargh'|less -+F", timeout=0.3)
    has(box.interrupt()["output"], "Killed")
    output = box.output("echo 'asdf'")
    has(output, "asdf")
    has(output.lower(), "kill")
    same(box.output("echo 'asdf'"), "asdf\n")


@row("interrupt: a program that ignores INT, with its children")
def _(box):
    raises(E + "CommandTimeoutError", box.run,
           "trap '' INT; sh -c 'trap \"\" INT; echo $$ >pid; while :; do sleep 0.1; done'",
           timeout=0.5)
    has(box.interrupt(timeout=0.05, n_retry=2)["output"], "Killed")
    pid = box.read_file(box.path("pid")).strip()
    wait_for(lambda: not os.path.exists(f"/proc/{pid}/cwd"), "it lives")
    has(box.output("echo a"), "a\n")


@row("interactive programs: python, its expect and its end")
def _(box):
    def ask(command, **more):
        return box.run(command, timeout=20, **more)
    for _ in range(2):
        seen = ask("python3 -q", interactive=True, expect=[">>> "])
        same((seen["output"], seen["exit_code"], seen["expect_string"]), ("", 0, ">>> "))
        same(ask("print('hello world')", interactive=True, expect=[">>> "])["output"],
             "hello world")
        same(ask("print(6*7)", interactive=True, expect=[">>> "])["output"], "42")
        same(ask("quit()\n", quit=True)["output"], "")
        same(box.output("echo back"), "back\n")


@row("an interactive command whose pattern never comes times out; interrupting goes on")
def _(box):
    late = raises(E + "CommandTimeoutError", box.run, "python3 -q", interactive=True,
                  expect=["WONTSHOWUP"], timeout=4)
    has(late.extra["output"], ">>> ")
    seen = box.interrupt(expect=[">>> "], timeout=5)
    same(seen["expect_string"], ">>> ")
    same(box.run("print(1)", interactive=True, expect=[">>> "], timeout=20)["output"], "1")
    has(box.interrupt(timeout=0.1)["output"], "Killed")
    has(box.output("echo a"), "a\n")


@row("a command that an ending program did not read is run when it has ended")
def _(box):
    for last in (":", "exit 3"):
        script = f"sh -c 'echo ready; sleep 0.5; echo tail; {last}'"
        box.run(script, interactive=True, expect=["ready"], timeout=20)
        seen = box.run("x=6; echo hello $((x*7))", timeout=20)
        has(seen["output"], "hello 42\n")
        has(seen["output"], "tail")
        same((seen["exit_code"], box.output("echo $x")), (0, "6\n"))
    box.run("sh -c 'echo ready; read y; echo got $y'", interactive=True, expect=["ready"],
            timeout=20)
    has(box.run("echo words", timeout=20)["output"], "got echo words")


@row("expect: the match that begins first, then the order of the list; expressions")
def _(box):
    script = "printf 'one\\ntwo three'; read x; echo got $x"
    seen = box.run(script, interactive=True, expect=["three", "two", r"t.o", "never"], timeout=20)
    same((seen["output"], seen["expect_string"]), ("one", "two"))
    seen = box.run("hello", interactive=True, expect=[r"g(o+)t hel{2}o\r\n"], timeout=20)
    same((seen["output"], seen["expect_string"]), ("three", r"g(o+)t hel{2}o\r\n"))
    box.interrupt()  # the program has ended, or ends now
    seen = box.run("echo a; echo b", expect=["nothing", "b\r\n"])
    same((seen["output"], seen["exit_code"], seen["expect_string"]), ("a\n", 0, "b\r\n"))
    bad = raises("re.error", box.run, "true", expect=["("])
    has(bad.message, "(")
    bad = raises("re.error", box.run, "head -c 60000 /dev/zero | tr '\\0' a; touch printed; sleep 1000",
                 expect=["(a|aa)+(?=cb|db)"])
    has(bad.message, "too many steps")
    wait_for(lambda: os.path.exists(box.path("printed")), "all of it is printed")
    same(box.interrupt()["output"].strip(), "a" * 60000)
    long = box.run("seq 1 200000; echo needle; sleep 1000", expect=["nee[d]le"], check="ignore")
    same(long["output"], "".join(f"{n}\n" for n in range(1, 200001)))
    box.interrupt()


@row("a plain command with expect whose program goes on has no exit code")
def _(box):
    seen = box.run("printf 'name? '; read x", expect=[r"name\? "], check="silent", timeout=20)
    same((seen["output"], seen["exit_code"], seen["expect_string"]), ("", None, r"name\? "))
    box.interrupt()
    raises(E + "NoExitCodeError", box.run, "printf 'name? '; read x", expect=[r"name\? "])
    box.interrupt()
    raises("builtins.AssertionError", box.run, "true", interactive=True, quit=True)


@row("words of the protocol in the output are only words")
def _(box):
    text = "a SHELLPS1PREFIX b EXITCODESTART5EXITCODEEND c UNIQUESTRING29234\n"
    seen = box.run(f"echo '{text.strip()}'; (exit 4)", check="silent")
    same((seen["output"], seen["exit_code"]), (text, 4))
    same(box.output("echo a"), "a\n")


@row("a session survives exit and set -e, with its directory and variables")
def _(box):
    box.run("export A=1; mkdir sub; cd sub")
    same(box.run("echo bye; exit 7", check="silent")["exit_code"], 7)
    same(box.output("echo $A; pwd"), f"1\n{box.dir}/sub\n")
    same(box.run("set -e; false", check="silent")["exit_code"], 1)
    same(box.output("echo alive"), "alive\n")


@row("is_alive while a command runs, and sessions do not wait for each other", session=False)
def _(box):
    for name in ("a", "b"):
        box.create(name)
    box.run("mkfifo one two", session="a")
    seen = {}

    def run(name, command):
        client = Client(str(box.http.base_url))
        seen[name] = client.output(command, session=name)
    threads = [threading.Thread(target=run, args=pair) for pair in (
        ("a", "x=42; cat one; echo to b >two; echo $x"), ("b", "x=24; echo to a >one; cat two; echo $x"))]
    threads[0].start()
    same(box.is_alive()["is_alive"], True)
    threads[1].start()
    for thread in threads:
        thread.join()
    same(seen, {"a": "to a\n42\n", "b": "to b\n24\n"})
    for name in ("a", "b"):
        same(box.output("echo $y", session=name), "\n")


@row("two commands in one session run one after the other")
def _(box):
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(
        Client(str(box.http.base_url)).output("n=$((n+1)); echo $n"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same(sorted(seen), [f"{n}\n" for n in range(1, 7)])


@row("big outputs and big commands arrive whole")
def _(box):
    box.run("head -c 10000000 /dev/zero | tr '\\0' x >big")
    holds(box.output("cat big") == "x" * 10000000, "10 MB")
    text = "é'" * 100000
    word = text.replace("'", "'\\''")
    same(box.output(f"printf %s '{word}' | wc -c"), f"{len(text.encode())}\n")
    bad = raises(E + "NonZeroExitCodeError", box.run, "head -c 100000 big; false")
    has(bad.message, "x" * 100000)


@row("no byte is at the border of two pieces", session=False)
def _(box):
    box.create()
    box.write_file(box.path("p.py"), "import sys\nfor i in range(70000):\n"
                   "    sys.stdout.write('\\r\\né\\033[1m€\\033[0m%d' % i)\n")
    wanted = "".join(f"\né€{i}" for i in range(70000))
    holds(box.output("python3 p.py") == wanted, "the text is another one")


@row("a client that goes takes nothing with it")
def _(box):
    import httpx
    try:
        box.http.post("/run_in_session", json={
            "action_type": "bash", "command": "echo first; sleep 0.7; echo second >done; echo last",
            "session": "default"}, timeout=0.3)
        raise AssertionError("it was answered")
    except httpx.TimeoutException:
        pass
    wait_for(lambda: os.path.exists(box.path("done")), "the command is not done")
    same(box.output("echo next"), "first\nlast\nnext\n")


# --- restart


@row("sessions, names and interactive programs outlive the worker")
def _(box):
    box.run("x=5; cd /tmp")
    box.create("with blank")
    box.run("python3 -q", session="with blank", interactive=True, expect=[">>> "], timeout=20)
    raises(E + "CommandTimeoutError", box.run, "echo early; read y; echo $y", timeout=0.3)
    box.kill_worker()
    raises(E + "SessionExistsError", box.create)
    same(box.run("print(6*7)", session="with blank", interactive=True, expect=[">>> "],
                 timeout=20)["output"], "42")
    box.interrupt()
    same(box.output("echo $x; pwd"), "5\n/tmp\n")


@row("a repeated request gets its command after the worker died, and not another one")
def _(box):
    body = {"action_type": "bash", "session": "default", "check": "raise",
            "command": "echo x >>count; until [ -e go ]; do sleep 0.1; done; wc -l <count"}
    failed = []

    def ask():
        try:
            box.post("/run_in_session", body, request_id="r1")
        except Exception as error:
            failed.append(error)
    first = threading.Thread(target=ask)
    first.start()
    wait_for(lambda: os.path.exists(box.path("count")), "it does not begin")
    box.kill_worker()
    first.join()
    same(len(failed), 1)
    box.write_file(box.path("go"), "")
    same(box.post("/run_in_session", body, request_id="r1")["output"], "1\n")
    same(box.post("/run_in_session", body, request_id="r1")["output"], "1\n")


def events_of(box):
    lines = box.od("events", "--json", "--socket", box.env["OD_SOCKET"]).stdout.splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def actions_of(box):
    """The actions of this front-end, each with its observations."""
    events = events_of(box)
    return [(e, [o["observation"] for o in events if o.get("cause") == e["id"]])
            for e in events if e.get("source") == "swerex" and "action" in e]


def staged(box):
    """Files between a request and the action that puts them in their place."""
    return [name for _, _, names in os.walk(box.env["OD_STATE_DIR"]) for name in names
            if name.startswith(".od-")]


@row("read_file, write_file and upload are actions in the log, without their bytes",
     session=False)
def _(box):
    box.write_file(box.path("f"), "secret words", request_id="w1")
    box.write_file(box.path("f"), "secret words", request_id="w1")
    same(box.read_file(box.path("f")), "secret words")
    raises("builtins.FileNotFoundError", box.read_file, box.path("none"))
    raises("builtins.NotADirectoryError", box.write_file, box.path("f", "g"), "x")
    box.upload_bytes("u", b"secret bytes", box.path("u"), False)
    os.mkdir(os.path.join(box.root, "source"))
    with open(os.path.join(box.root, "source", "z"), "w") as file:
        file.write("secret text")
    box.upload_folder(os.path.join(box.root, "source"), box.path("dir"))
    seen = wait_for(lambda: len(actions_of(box)) == 6 and actions_of(box), "six actions")
    same([(e["action"], e["args"].get("to") or e["args"]["path"], observed)
          for e, observed in seen],
         [("move", box.path("f"), ["move"]), ("send", box.path("f"), ["send"]),
          ("send", box.path("none"), ["error"]), ("move", box.path("f", "g"), ["error"]),
          ("move", box.path("u"), ["move"]), ("extract", box.path("dir"), ["extract"])])
    lacks(json.dumps(events_of(box)), "secret")
    same(staged(box), [])


@row("files that are written while the worker is killed: each once, and whole",
     session=False)
def _(box):
    from httpx import TransportError
    texts = {box.path(f"f{n}"): f"{n} " * 100000 for n in range(12)}

    def write(path):
        client = Client(str(box.http.base_url))
        for _ in range(100):
            try:
                client.write_file(path, texts[path], request_id="id-" + path)
                return
            except TransportError:
                wait_for(box.serves, "a worker")
    threads = [threading.Thread(target=write, args=(path,)) for path in texts]
    for thread in threads:
        thread.start()
    wait_for(lambda: os.path.exists(box.path("f0")) or staged(box), "it begins")
    box.kill_worker()
    for thread in threads:
        thread.join()
    for path, text in texts.items():
        holds(box.read_file(path) == text, path)
    moves = [(e["args"]["to"], observed) for e, observed in actions_of(box)
             if e["action"] == "move"]
    same(sorted(moves), sorted((path, ["move"]) for path in texts))
    wait_for(lambda: staged(box) == [], "nothing is left")


@row("a zip is unpacked to its end by the next worker", session=False)
def _(box):
    import io
    import zipfile
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for n in range(8000):  # some tenths of a second
            archive.writestr(f"d{n % 40}/f{n}", str(n))

    def unpacks():
        return any(name.startswith(".od") for name in os.listdir(box.path()))

    def send():
        try:
            box.upload_bytes("a.zip", content.getvalue(), box.path("all"), True)
        except Exception as error:
            failed.append(error)
    failed = []
    thread = threading.Thread(target=send)
    thread.start()
    wait_for(unpacks, "it begins")
    box.kill_worker()
    thread.join()
    same(len(failed), 1)
    wait_for(lambda: os.path.isdir(box.path("all")), "it is there")
    same(sum(len(names) for _, _, names in os.walk(box.path("all"))), 8000)
    same(box.read_file(box.path("all", "d39", "f1479")), "1479")
    wait_for(lambda: [(e["action"], observed) for e, observed in actions_of(box)][:1] ==
             [("extract", ["extract"])], "it is in the log, once")
    wait_for(lambda: staged(box) == [] and not unpacks(), "nothing is left")


@row("the log has each command once, with its source")
def _(box):
    box.run("echo a")
    box.execute(["true"])
    events = events_of(box)
    asked = [(e["action"], e["args"].get("command") or e["args"].get("argv"))
             for e in events if e.get("source") == "swerex"]
    same([one for one in asked if one[1] == "echo a"], [("run", "echo a")])
    has(asked, ("process", ["true"]))


def main():
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    tap = Tap()
    run_rows(tap, [("swerex", r, server) for r in row if pattern in r.name], at_once=6)
    sys.exit(tap.done())


assert OD and monotonic
main()
