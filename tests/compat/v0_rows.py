# SPDX-License-Identifier: MIT
"""What the project's own tests of its runtime ask of a server's shell, a row for
each: those of bash, and those of the session by itself."""
import concurrent.futures
import json
import os
import pathlib
import re
import socket

from tap import Rows, has, holds, lacks, same, wait_for
from v0_client import Ran
from v0_server import free_port
from v0_text import (
    BELOW,
    NOTHING_RUNS,
    NOTHING_TO_TYPE_INTO,
    completed,
    ended,
    goes_on,
    many,
    quiet,
    refused,
    shows,
    timed_out,
)

row = Rows()
ENGLISH = {"LC_ALL": "C"}  # for rows that know words of programs

ASKER = (
    "python -c \"name = input('Enter your name: '); age = input('Enter your age: '); "
    "print(f'Hello {name}, you are {age} years old')\""
)


# Who wrote last may still have the FIFO open: that one's end is no line.
GO = "until read x < go; do :; done"


def line_by_line(c, lines):
    """A command whose next line comes when next_line() asks for it."""
    ended(c.box.run("mkfifo go"))
    return f"for i in {{1..{lines}}}; do echo $i; : > at$i; {GO}; done"


def next_line(c, number=None):
    """The line `number` is written, or the command is over."""
    pathlib.Path(c.dir, "go").write_text("\n")
    if number:
        wait_for(lambda: os.path.exists(f"{c.dir}/at{number}"), f"line {number}")


# --- commands


@row("bash: a server is timed out, interrupted, and can start again")
def _(c):
    serving = f"python -u -m http.server {free_port()}"
    shows(c.box, goes_on(c.box.run(serving, timeout=1), timed_out(1)), "Serving HTTP on")
    seen = c.box.run("C-c", timeout=30, is_input=True)
    ended(seen, 0, key="C")
    has(seen.content, "Keyboard interrupt received, exiting.")
    has(seen.metadata.working_dir, c.dir)
    seen = ended(c.box.run("ls", timeout=10))
    lacks(seen.content, "Keyboard interrupt received, exiting.")
    has(seen.metadata.working_dir, c.dir)
    shows(c.box, goes_on(c.box.run(serving, timeout=1), timed_out(1)), "Serving HTTP on")


@row("bash: a server in the background is found and killed", needs=("curl", "pkill"))
def _(c):
    port = free_port()
    seen = ended(c.box.run(f"python3 -m http.server {port} &"))
    holds(seen.metadata.pid > 0, seen.metadata)
    fetch = f"curl -s --retry 40 --retry-connrefused --retry-delay 1 http://127.0.0.1:{port}"
    has(ended(c.box.run(fetch)).content, "Directory listing for")
    ended(c.box.run(f'pkill -f "http.server {port}"'))
    ended(c.box.run("true"))


@row("bash: a command over several lines")
def _(c):
    ended(c.box.run('echo \\\n -e "foo"'), 0, "foo")
    ended(c.box.run('echo -e "hello\nworld"'), 0, "hello\nworld")
    ended(c.box.run('echo -e "a\\n\\n\\nz"'), 0, "a\n\n\nz")


@row("bash: a loop on one line")
def _(c):
    loop = (
        'n=0; tries=0; while [ $n -lt 3 ]; do side=$(echo "Heads"); tries=$((tries+1)); '
        'echo "Flip $tries: $side"; if [ "$side" = "Heads" ]; then n=$((n+1)); else n=0; fi; '
        'done; echo "Got 3 heads in a row after $tries flips!";'
    )
    has(ended(c.box.run(loop)).content, "Got 3 heads in a row after 3 flips!")


@row("bash: no second prompt in the output")
def _(c):
    lacks(ended(c.box.run('echo -e "hello\nworld"'), 0, "hello\nworld").content, ">")


@row("bash: loops over several lines")
def _(c):
    first = (
        "mkdir -p _mods && \\\nfor month in {01..04}; do\n    for day in {01..05}; do\n"
        '        touch "_mods/2024-${month}-${day}-sample.md"\n    done\ndone '
        '&& echo "created files"\n'
    )
    second = (
        "for file in _mods/*.md; do\n    new=$(echo $file | sed -E "
        "'s/2024-(01|02|03|04)-/2024-/;s/2024-01/2024-08/;s/2024-02/2024-09/')\n"
        '    mv "$file" "$new"\ndone && echo "success"\n'
    )
    ended(c.box.run(first), 0, "created files")
    ended(c.box.run(second), 0, "success")


@row("bash: seven commands at once are refused, and each one alone runs", server_env=ENGLISH)
def _(c):
    commands = {
        "ls -l": "total 0",
        'echo -e "hello\nworld"': "hello\nworld",
        'echo -e "hello it\'s me"': "hello it's me",
        "echo \\\n    -e 'hello' \\\n    world": "hello world",
        "echo -e 'hello\\nworld\\nare\\nyou\\nthere?'": "hello\nworld\nare\nyou\nthere?",
        "echo -e 'hello\nworld\nare\nyou\n\nthere?'": "hello\nworld\nare\nyou\n\nthere?",
        "echo -e 'hello\nworld \"'": 'hello\nworld "',
    }
    many(c.box.run("\n".join(commands)), *commands)
    for command, wanted in commands.items():
        ended(c.box.run(command), 0, wanted)


@row("bash: listing, making a folder, its owner", server_env=ENGLISH)
def _(c):
    ended(c.box.run(f"ls -l {c.dir}"))
    ended(c.box.run("ls -l"), 0, "total 0")
    ended(c.box.run("mkdir test"), 0, "")
    listing = ended(c.box.run("ls -l")).content
    has(listing, "test", c.user.shell_user or "")
    if c.user.shell_user is None:
        same(os.stat(f"{c.dir}/test").st_uid, os.stat(c.home).st_uid)
    ended(c.box.run("touch test/foo.txt"))
    has(ended(c.box.run("ls -l test")).content, "foo.txt")
    ended(c.box.run("rm -rf test"))


@row("bash: the home is that of the user")
def _(c):
    ended(c.box.run("cd ~ && pwd"), 0, c.home)


@row("bash: the user's name, home and shell are in the environment")
def _(c):
    seen = ended(c.box.run('echo "$HOME $TERM $COLUMNS"; tty; id -un; id -u'))
    lines = seen.content.split("\n")
    same(lines[0], f"{c.home} screen 1000")
    has(lines[1], "/dev/")
    if c.user.shell_user:
        same(lines[2], c.user.shell_user)
        ended(c.box.run('echo "$USER $LOGNAME"'), 0, f"{c.user.shell_user} {c.user.shell_user}")


@row("bash: two commands on one line", server_env=ENGLISH)
def _(c):
    ended(c.box.run("pwd && ls -l"), 0, f"{c.dir}\ntotal 0")


@row("bash: a folder changed stays changed")
def _(c):
    ended(c.box.run("mkdir -p test"))
    same(ended(c.box.run("cd test")).metadata.working_dir, f"{c.dir}/test")
    ended(c.box.run("pwd"), 0, f"{c.dir}/test")


@row("bash: a failed command has its status")
def _(c):
    ended(c.box.run("non_existing_command"), 127)
    ended(c.box.run("(exit 3)"), 3, "")


@row("bash: git on a folder that the user was given", needs=("git", "sudo"))
def _(c):
    name = c.user.shell_user
    if name:
        ended(c.box.run(f"sudo chown -R {name}:root ."))
        for line in ended(c.box.run("ls -alh .")).content.split("\n"):
            if line.endswith(" .."):
                has(line, "root")
                lacks(line, name)
            elif line.endswith(" ."):
                has(line, name, "root")
    ended(c.box.run("git init -q"))
    ended(c.box.run('echo "hello" > test_file.txt'), 0, "")
    ended(c.box.run("git add test_file.txt"), 0, "")
    diff = ended(c.box.run("git diff --no-color --cached")).content
    has(diff, "b/test_file.txt", "+hello")
    ended(c.box.run('git commit -m "test commit"'))
    has(ended(c.box.run("git log")).content, "openhands@all-hands.dev", "test commit")


@row("bash: python is there")
def _(c):
    has(ended(c.box.run("python --version")).content, "Python 3")


@row("bash: where it is follows a change of folder")
def _(c):
    ended(c.box.run("mkdir -p random_dir"))
    seen = ended(c.box.run("cd random_dir && pwd"), 0, f"{c.dir}/random_dir")
    same(seen.metadata.working_dir, f"{c.dir}/random_dir")
    ended(c.box.run("ln -s random_dir linked && cd .. && ln -s random_dir linked"))
    same(ended(c.box.run("cd linked")).metadata.working_dir, f"{c.dir}/linked")


@row("bash: a command that is not there; blanks and newlines stay", server_env=ENGLISH)
def _(c):
    ended(c.box.run("echo 'hello world'"), 0, "hello world")
    seen = ended(c.box.run("nonexistent_command"), 127)
    has(seen.content, "nonexistent_command: command not found")
    same(seen.prefix, "")
    wanted = "hello   world    with\nspecial  chars"
    ended(c.box.run(f"echo '{wanted}'"), 0, wanted)
    ended(c.box.run('echo "first" && echo "second" && echo "third"'), 0, "first\nsecond\nthird")


@row("bash: a program that asks, after a second of silence", no_change=1)
def _(c):
    seen = c.box.run('read -p "Enter name: " name && echo "Hello $name"')
    goes_on(seen, quiet(1), "Enter name:")
    ended(c.box.input("John"), 0)
    ended(c.box.run("cat << EOF\nline 1\nline 2\nEOF"), 0, "line 1\nline 2")


@row("bash: an answer to a question that shows none is not in the log", no_change=1)
def _(c):
    goes_on(c.box.run("read -s answer; echo; echo ${#answer}"), quiet(1), "")
    ended(c.box.input("qx7"), 0)
    shown = c.box.ask("GET", "/events?since=0", 30).text
    lacks(shown, "qx7")
    has(shown, '"command":"<secret_hidden>"')


@row("bash: 5000 lines are whole")
def _(c):
    seen = c.box.run('for i in $(seq 1 5000); do echo "Line $i"; done', timeout=30, hidden=True)
    ended(seen, 0, "\n".join(f"Line {i}" for i in range(1, 5001)))
    same(seen.prefix, "")
    seen = c.box.run('for i in $(seq 1 5000); do echo "Line $i"; done', timeout=30)
    lines = ended(seen).content.split("\n")
    same((lines[0], lines[-1], seen.prefix), ("Line 1", "Line 5000", ""))
    holds(len(seen.sent) <= 30100, len(seen.sent))


@row("bash: of 50000 lines the last ten thousand, with a word about the rest")
def _(c):
    seen = c.box.run('for i in $(seq 1 50000); do echo "Line $i"; done', timeout=60)
    ended(seen)
    first = re.match(
        r"\[Previous command outputs are truncated\. "
        r"Showing the last (\d+) lines of the output below\.\]\n$",
        seen.prefix,
    )
    holds(first, seen.prefix)
    has(seen.content, "Line 40000\n", "Line 50000")
    holds(10001 <= int(first[1]) <= 11361, seen.prefix)


@row("bash: a listing of a hundred folders is wide enough to be seen whole")
def _(c):
    made = (
        'mkdir -p deep && cd deep && for i in $(seq 1 100); do mkdir -p "folder_$i"; '
        'for j in $(seq 1 100); do : > "folder_$i/file_$j.txt"; done; done'
    )
    ended(c.box.run(made, timeout=100, blocking=True))
    seen = ended(c.box.run(f"ls -R {c.dir}/deep", timeout=60, blocking=True))
    has(seen.content, "folder_1", "file_1.txt", "folder_100", "file_100.txt")


@row("bash: a backslash reaches find")
def _(c):
    ended(c.box.run('mkdir -p dir && echo "implemented_function" > dir/file_1.txt'))
    seen = c.box.run(f'find {c.dir}/dir -type f -exec grep -l "implemented_function" {{}} \\;')
    ended(seen, 0, f"{c.dir}/dir/file_1.txt")


@row("bash: ten rounds of silence, long lines, refusal and C-c", slow=True, no_change=1)
def _(c):
    look = (
        "ps aux | awk '{printf \"%8.1f KB  %s\\n\", $6, $0}' | sort -nr "
        '| grep "/usr/bin/tmux" | grep -v grep | awk \'{print $1}\''
    )
    ask = (
        'read -p "Do you want to continue? [Y/n] " answer; if [[ $answer == "Y" ]]; then '
        'echo "Proceeding with operation..."; echo "Operation completed successfully!"; '
        'else echo "Operation cancelled."; exit 1; fi'
    )

    def comes(seen, text):
        """It goes on and shows text; a busy shell may be silent for a second before."""
        content, looks = seen.content, 0
        while text not in content:
            same(seen.exit_code, -1)
            holds((looks := looks + 1) < 60, content)
            seen = c.box.poll(timeout=2.5)
            content += seen.content
        same(seen.exit_code, -1)
        return seen.suffix, content

    for i in range(10):
        ended(c.box.run(look, blocking=True))
        question = "Do you want to continue? [Y/n]"
        same(comes(c.box.run(ask), question), (quiet(1), question))
        done = "Proceeding with operation...\nOperation completed successfully!"
        has(ended(c.box.run("Y", is_input=True, blocking=True)).content, done)
        seen = c.box.run(
            f'export i={i}; for j in $(seq 1 100); do echo "Line $j - Iteration $i - '
            # a C-c between two sleeps of a loop is lost on bash itself
            "$(printf '%1000s' | tr \" \" \"*\")\"; sleep 100; done",
            timeout=2.5,
        )
        comes(seen, f"Line 1 - Iteration {i} - {'*' * 1000}")
        seen = c.box.run("ls")
        goes_on(seen, refused("ls"), prefix=BELOW)
        ended(c.box.run("C-c", is_input=True, blocking=True), 130, key="C")
        ended(c.box.run("ls", blocking=True), 0, "")


@row("bash: output goes on where the last look ended", slow=True)
def _(c):
    goes_on(c.box.run(line_by_line(c, 5), timeout=1.5), timed_out(1.5), "1")
    for number in "2345":
        next_line(c, number)
        goes_on(c.box.poll(timeout=1.5), timed_out(1.5), number, BELOW)
    next_line(c)
    seen = ended(c.box.poll())
    same((seen.prefix, seen.content), ("", ""))


@row("bash: a command while another runs is refused, and shows what came", slow=True)
def _(c):
    goes_on(c.box.run(line_by_line(c, 3), timeout=1.5), timed_out(1.5), "1")
    next_line(c, 2)
    goes_on(c.box.poll(timeout=1.5), timed_out(1.5), "2", BELOW)
    seen = c.box.run("sleep 15", timeout=1.5)
    goes_on(seen, refused("sleep 15"), prefix=BELOW)
    lacks(seen.content, "3")
    same(seen.command, "sleep 15")
    next_line(c, 3)
    next_line(c)
    has(ended(c.box.poll()).content, "3")


@row("bash: nothing to look at, nothing to type into", set_up=False)
def _(c):
    for _again in range(2):
        for seen, wanted in (
            (c.box.poll(), NOTHING_RUNS),
            (c.box.input("x"), NOTHING_TO_TYPE_INTO),
            (c.box.input("C-c"), NOTHING_TO_TYPE_INTO),
        ):
            holds(isinstance(seen, Ran), seen)
            same((seen.content, seen.command), (wanted, ""))
            same((seen.exit_code, seen.prefix, seen.suffix), (-1, "", ""))
        ended(c.box.run("true"), 0, "")


@row("bash: a program that asks twice, after ten seconds of silence", slow=True)
def _(c):
    goes_on(c.box.run(ASKER), quiet(10), "Enter your name:")
    goes_on(c.box.input("Alice"), quiet(10), "Enter your age:", BELOW)
    ended(c.box.input("25"), 0, "Hello Alice, you are 25 years old")


@row("bash: an answer that is not given as input is refused", slow=True)
def _(c):
    goes_on(c.box.run(ASKER), quiet(10), "Enter your name:")
    seen = goes_on(c.box.run("Alice"), refused("Alice"), "", BELOW)
    lacks(seen.content, "Enter your age:")
    goes_on(c.box.input("Alice"), quiet(10), "Enter your age:", BELOW)
    ended(c.box.input("25"), 0, "Hello Alice, you are 25 years old")


@row("bash: the command is not in its output", needs=("git",))
def _(c):
    ended(c.box.run("git init -q && git remote add origin https://example.com/a/b"))
    seen = ended(c.box.run("git remote -v"))
    has(seen.content, "https://example.com/a/b")
    lacks(seen.content, "git remote -v")


# --- the session by itself


@row("session: where it starts, and what the prompt says", set_up=False)
def _(c):
    seen = ended(c.box.run("pwd"), 0, c.dir)
    m = seen.metadata
    same((m.working_dir, m.pid, m.prefix), (c.dir, -1, ""))
    same(m.hostname, socket.gethostname().split(".")[0])
    has(m.py_interpreter_path, "/python")
    if c.user.shell_user:
        same(m.username, c.user.shell_user)
    same(ended(c.box.run("cd /")).metadata.working_dir, "/")


@row("session: silence of two seconds, polls that are input, refusals that go on", no_change=2)
def _(c):
    goes_on(c.box.run(line_by_line(c, 3)), quiet(2), "1")
    next_line(c, 2)
    goes_on(c.box.input(""), quiet(2), "2", BELOW)
    seen = goes_on(c.box.run("sleep 15"), refused("sleep 15"), prefix=BELOW)
    lacks(seen.content, "3")
    next_line(c, 3)

    def third():
        seen = c.box.run("sleep 15", timeout=20)
        if "3" in seen.content:
            return goes_on(seen, refused("sleep 15"), "3", BELOW)

    wait_for(third, "the third line")
    goes_on(c.box.poll(), quiet(2), "", BELOW)
    next_line(c)
    ended(c.box.poll(), 0, "")


@row("session: a document typed line by line", slow=True, no_change=2)
def _(c):
    goes_on(c.box.run("cat << EOF"), quiet(2))
    goes_on(c.box.input("line 1"), quiet(2), prefix=BELOW)
    goes_on(c.box.input("line 2"), quiet(2), prefix=BELOW)
    seen = ended(c.box.input("EOF"))
    has(seen.content, "line 1", "line 2")
    same(seen.prefix, "")


@row("session: a document without its lines is answered at once", no_change=3600,
     server_env=ENGLISH)
def _(c):
    goes_on(c.box.run("cat << EOF"), quiet(3600))
    goes_on(c.box.poll(), quiet(3600), prefix=BELOW)
    goes_on(c.box.input("a"), quiet(3600), prefix=BELOW)
    ended(c.box.input("EOF"), 0, "a")
    has(ended(c.box.run("cat << EOF", blocking=True)).content, "wanted `EOF'")


@row("session: text that is not finished is answered at once", no_change=3600,
     server_env=ENGLISH)
def _(c):
    for text, status, wanted in (
        ('echo "a', 2, "looking for matching `\"'"),
        ("echo b\necho 'a", 2, "looking for matching `''"),
        ("for i in 1 2", 2, "unexpected end of file"),
        ("f() {\necho a", 2, "unexpected end of file"),
        ("echo begun\ncat <<'EOF'\nline", 0, "line"),
        ("python3 - <<EOF\nprint(1)", 0, "wanted `EOF'"),
    ):
        has(ended(c.box.run(text), status).content, wanted)
        ended(c.box.run("echo whole"), 0, "whole")


@row("session: C-c ends a loop", no_change=2)
def _(c):
    seen = c.box.run("while true; do echo 'looping'; sleep 100; done")
    goes_on(seen, quiet(2), "looping")
    seen = c.box.input("C-c")
    holds(seen.exit_code in (1, 130), seen)
    same(seen.suffix, completed(seen.exit_code, "C"))
    same(seen.prefix, "")


@row("session: numbers come once each", slow=True, no_change=1)
def _(c):
    seen = c.box.run("for i in {1..5}; do echo $i; sleep 2; done")
    goes_on(seen, quiet(1))
    got = seen.content.split()
    while seen.exit_code == -1:
        seen = c.box.input("")
        got += seen.content.split()
    ended(seen)
    same(got, list("12345"))


@row("session: an if over lines")
def _(c):
    ended(c.box.run('if true; then\necho "inside if"\nfi'), 0, "inside if")


@row("session: a blocking command may be silent", no_change=1)
def _(c):
    ended(c.box.run("sleep 3; echo done", blocking=True), 0, "done")
    seen = c.box.run("sleep 60", timeout=2, blocking=True)
    goes_on(seen, timed_out(2), "")
    ended(c.box.input("C-c"), 130, key="C")


@row("session: one that ended unseen is told first, and the new one runs", no_change=1)
def _(c):
    ended(c.box.run("mkfifo go"))
    goes_on(c.box.run(f"{GO}; echo old; > over; (exit 7)"), quiet(1), "")
    next_line(c)
    wait_for(lambda: os.path.exists(f"{c.dir}/over"), "the command is over")
    ended(c.box.poll(), 7, "old")
    goes_on(c.box.run(f"{GO}; echo older; > over2"), quiet(1), "")
    next_line(c)
    wait_for(lambda: os.path.exists(f"{c.dir}/over2"), "the command is over")

    def new():
        seen = c.box.run("echo new; echo x >> count")
        return seen.exit_code == 0 and seen

    seen = ended(wait_for(new, "a new command"))
    same(seen.content.split("\n")[-1], "new")
    same(seen.command, "echo new; echo x >> count")
    same(pathlib.Path(c.dir, "count").read_text(), "x\n")


@row("session: C-z stops and says so; C-d ends what reads", no_change=1)
def _(c):
    goes_on(c.box.run("sleep 100"), quiet(1), "")
    ended(c.box.input("C-z"), 148, key="Z")
    ended(c.box.run("kill %1; wait %1 2>/dev/null; true"))
    goes_on(c.box.run("cat"), quiet(1), "")
    ended(c.box.input("C-d"), 0, key="D")


@row("session: two who ask at once are served one after the other")
def _(c):
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        seen = [
            threads.submit(c.box.run, f"echo begin{i}; sleep 0.3; echo end{i}")
            for i in range(4)
        ]
        for i, each in enumerate(seen):
            ended(each.result(), 0, f"begin{i}\nend{i}")


@row("session: one whose client left is waited for by the next", set_up=False)
def _(c):
    event = c.box.run_event("> begun; sleep 1; echo a >> log", timeout=20)
    body = json.dumps({"action": event}).encode()
    head = b"POST /execute_action HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n"
    with socket.create_connection(("127.0.0.1", c.port), 20) as s:
        s.sendall(head % len(body) + body)
        wait_for(lambda: os.path.exists(f"{c.dir}/begun"), "it has begun")
    ended(c.box.run("cat log"), 0, "a")


@row("session: sixty at once are all answered", set_up=False)
def _(c):
    with concurrent.futures.ThreadPoolExecutor(60) as threads:
        seen = [threads.submit(c.box.run, f"echo {i}") for i in range(60)]
        for i, each in enumerate(seen):
            ended(each.result(), 0, str(i))


@row("session: a static run has a shell of its own, and leaves the other alone", no_change=1,
     server_env=ENGLISH)
def _(c):
    ended(c.box.run("mkdir sub; X=1; cd /"))
    ended(c.box.run('pwd; echo "x$X"; cd sub', is_static=True), 0, f"{c.dir}\nx")
    ended(c.box.run("pwd", is_static=True, cwd=f"{c.dir}/sub"), 0, f"{c.dir}/sub")
    ended(c.box.run("(exit 5)", is_static=True), 5, "")
    seen = c.box.run("nonexistent_command", is_static=True, hidden=True)
    has(ended(seen, 127).content, "command not found")
    goes_on(c.box.run("echo a; read line; echo got $line"), quiet(1), "a")
    ended(c.box.run("echo beside", is_static=True, hidden=True), 0, "beside")
    ended(c.box.input("it"))
    ended(c.box.run('pwd; echo "x$X"'), 0, "/\nx1")


@row("session: what is hidden is not cut, what is shown is")
def _(c):
    line = "head -c 40000 /dev/zero | tr '\\0' x | fold -w 100"
    seen = ended(c.box.run(line, hidden=True))
    same(len(seen.sent.replace("\n", "")), 40000)
    same(seen.hidden, True)
    seen = ended(c.box.run(line))
    has(seen.content, "\n[... Observation truncated due to length ...]\n")
    holds(len(seen.sent) <= 30046 + 2, len(seen.sent))


@row("session: what is reported of a command, key by key", set_up=False)
def _(c):
    seen = c.box.run("echo hi; sleep 0 & wait")
    answer = c.box.answer
    holds(set(answer) <= {"message", "observation", "content", "extras", "success"}, answer)
    same(answer["observation"], "run")
    same(answer["success"], True)
    same(answer["message"], "Command `echo hi; sleep 0 & wait` executed with exit code 0.")
    holds(set(answer["extras"]) <= {"command", "metadata", "hidden", "exit_code", "command_id"})
    same(answer["extras"]["command"], "echo hi; sleep 0 & wait")
    same(answer["extras"]["hidden"], False)
    holds(seen.metadata.pid > 0, seen.metadata)
    c.box.run("false")
    same(c.box.answer["success"], False)
