# SPDX-License-Identifier: MIT
"""What the project's own tests of its runtime ask of a server, a row for each,
as far as running, reading, writing, uploading, downloading and listing go; and
what its contract says of these beside."""
import concurrent.futures
import os
import pathlib
import re
import socket
import zipfile

from tap import Rows, has, holds, lacks, same, wait_for
from v0_client import Failed, Ran, Read, Refused, Written
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
    timed_out,
)

row = Rows()

ASKER = (
    "python -c \"name = input('Enter your name: '); age = input('Enter your age: '); "
    "print(f'Hello {name}, you are {age} years old')\""
)


def make(folder, **files):
    os.makedirs(folder, exist_ok=True)
    for name, text in files.items():
        pathlib.Path(folder, name).with_suffix(".txt").write_text(text)
    return str(folder)


# --- commands


@row("bash: a server is timed out, interrupted, and can start again")
def _(c):
    serving = f"python -u -m http.server {free_port()}"
    seen = c.box.run(serving, timeout=1)
    has(seen.content, "Serving HTTP on")
    goes_on(seen, timed_out(1))
    seen = c.box.run("C-c", timeout=30, is_input=True)
    ended(seen, 0, key="C")
    has(seen.content, "Keyboard interrupt received, exiting.")
    has(seen.metadata.working_dir, c.dir)
    seen = ended(c.box.run("ls", timeout=10))
    lacks(seen.content, "Keyboard interrupt received, exiting.")
    has(seen.metadata.working_dir, c.dir)
    seen = c.box.run(serving, timeout=1)
    same(seen.exit_code, -1)
    has(seen.content, "Serving HTTP on")


@row("bash: a server in the background is found and killed", needs=("curl", "pkill"))
def _(c):
    port = free_port()
    seen = ended(c.box.run(f"python3 -m http.server {port} &"))
    holds(seen.metadata.pid > 0, seen.metadata)
    fetch = f"curl -s --retry 40 --retry-connrefused --retry-delay 1 http://localhost:{port}"
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


@row("bash: seven commands at once are refused, and each one alone runs")
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


@row("bash: listing, making a folder, its owner")
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


@row("bash: two commands on one line")
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


@row("bash: a command that is not there; blanks and newlines stay")
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
    ended(c.box.run(made, timeout=60))
    seen = ended(c.box.run(f"ls -R {c.dir}/deep", timeout=60))
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
    for i in range(10):
        ended(c.box.run(look))
        goes_on(c.box.run(ask), quiet(1), "Do you want to continue? [Y/n]")
        done = "Proceeding with operation...\nOperation completed successfully!"
        has(ended(c.box.input("Y")).content, done)
        seen = c.box.run(
            f'export i={i}; for j in $(seq 1 100); do echo "Line $j - Iteration $i - '
            "$(printf '%1000s' | tr \" \" \"*\")\"; sleep 1; done",
            timeout=2,
        )
        same(seen.exit_code, -1)
        has(seen.content, f"Line 1 - Iteration {i} - {'*' * 1000}")
        seen = c.box.run("ls")
        goes_on(seen, refused("ls"), prefix=BELOW)
        ended(c.box.input("C-c"), 130, key="C")
        ended(c.box.run("ls"), 0, "")


@row("bash: output goes on where the last look ended", slow=True)
def _(c):
    seen = c.box.run("for i in {1..5}; do echo $i; sleep 3; done", timeout=2.5)
    goes_on(seen, timed_out(2.5), "1")
    for number in "2345":
        goes_on(c.box.poll(timeout=2.5), timed_out(2.5), number, BELOW)
    seen = ended(c.box.poll())
    same((seen.prefix, seen.content), ("", ""))


@row("bash: a command while another runs is refused, and shows what came", slow=True)
def _(c):
    seen = c.box.run("for i in {1..3}; do echo $i; sleep 3; done", timeout=2.5)
    goes_on(seen, timed_out(2.5), "1")
    goes_on(c.box.poll(timeout=2.5), timed_out(2.5), "2", BELOW)
    seen = c.box.run("sleep 15", timeout=2.5)
    goes_on(seen, refused("sleep 15"), prefix=BELOW)
    lacks(seen.content, "3")
    same(seen.command, "sleep 15")
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
    goes_on(c.box.run("for i in {1..3}; do echo $i; sleep 3; done"), quiet(2), "1")
    goes_on(c.box.input(""), quiet(2), "2", BELOW)
    seen = goes_on(c.box.run("sleep 15"), refused("sleep 15"), prefix=BELOW)
    lacks(seen.content, "3")

    def third():
        seen = c.box.run("sleep 15", timeout=20)
        if "3" in seen.content:
            return goes_on(seen, refused("sleep 15"), "3", BELOW)

    wait_for(third, "the third line")
    ended(c.box.poll())


@row("session: a document typed line by line", slow=True, no_change=2)
def _(c):
    goes_on(c.box.run("cat << EOF"), quiet(2))
    goes_on(c.box.input("line 1"), quiet(2), prefix=BELOW)
    goes_on(c.box.input("line 2"), quiet(2), prefix=BELOW)
    seen = ended(c.box.input("EOF"))
    has(seen.content, "line 1", "line 2")
    same(seen.prefix, "")


@row("session: C-c ends a loop", no_change=2)
def _(c):
    seen = c.box.run("while true; do echo 'looping'; sleep 3; done")
    goes_on(seen, quiet(2), "looping")
    seen = c.box.input("C-c")
    holds(seen.exit_code in (1, 130), seen)
    same(seen.suffix, completed(seen.exit_code, "C"))
    same(seen.prefix, "")


@row("session: numbers come once each", slow=True, no_change=1)
def _(c):
    seen = c.box.run("for i in {1..5}; do echo $i; sleep 2; done")
    goes_on(seen, quiet(1), "1")
    got = [seen.content]
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
    goes_on(c.box.run("sleep 2; echo old; > over; (exit 7)"), quiet(1), "")
    wait_for(lambda: os.path.exists(f"{c.dir}/over"), "the command is over")
    ended(c.box.poll(), 7, "old")
    goes_on(c.box.run("sleep 2; echo older; > over2"), quiet(1), "")
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


@row("session: a static run has a shell of its own, and leaves the other alone", no_change=1)
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


@row("session: what is told of a command, key by key", set_up=False)
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


# --- text: in


@row("text: what is one command and what is several")
def _(c):
    for one, wanted in (
        ("  echo a  ", "a"),
        ("# a note\necho a", "a"),
        ("echo a # a note\n# and another", "a"),
        ("{ echo a\necho b; }", "a\nb"),
        ("(echo a\necho b)", "a\nb"),
        ("f() {\necho in\n}; f", "in"),
        ("true &&\necho a", "a"),
        ("echo a |\ncat", "a"),
        ("case x in\nx) echo a ;;\nesac", "a"),
        ("[[ a == a ]] &&\necho a", "a"),
        ("for ((i = 0; i < 2; i++)); do\necho $i\ndone", "0\n1"),
        ("while read -r l; do\necho $l\ndone << E\na\nb\nE", "a\nb"),
        ('echo "a\n\nb"', "a\n\nb"),
        ("cat << 'E' | tr a b\na\nE", "b"),
        ("echo a;", "a"),
    ):
        ended(c.box.run(one), 0, wanted)
    many(c.box.run("echo a\necho b"), "echo a", "echo b")
    many(c.box.run("echo a\n\n\necho b"), "echo a", "echo b")
    many(c.box.run("cat << E\na\nE\necho b"), "cat << E\na\nE", "echo b")
    many(c.box.run("cd /\n# a note\npwd"), "cd /", "pwd")
    ended(c.box.run("pwd"), 0, c.dir)


@row("text: nothing is escaped on the way")
def _(c):
    for command, wanted in (
        ("echo 'a\tb' | od -An -c | tr -d ' '", "a\\tb\\n"),
        ("echo a\\;b\\&c\\|d\\>e\\<f", "a;b&c|d>e<f"),
        ('echo "a!b" \'!!\'', "a!b !!"),
        ("echo $'\\x41'\\ \\\\", "A \\"),
        ("echo 'käse ☃ 𝄞'", "käse ☃ 𝄞"),
        ("printf '%s' '%d C-c Enter'", "%d C-c Enter"),
        ("echo ~+", c.dir),
    ):
        ended(c.box.run(command), 0, wanted)
    text = "x" * 9000
    ended(c.box.run(f"v={text}; echo ${{#v}}"), 0, "9000")
    lines = "\n".join(["line"] * 3000)
    ended(c.box.run(f"wc -l << 'E'\n{lines}\nE"), 0, "3000")


@row("text: shells whose start files say nothing strange", set_up=False)
def _(c):
    ended(c.box.run("PS1='mine> '; PS2='more> '"), 0, "")
    ended(c.box.run("echo -e 'a\nb'"), 0, "a\nb")
    ended(c.box.run("set -u; echo $((1 + 1))"), 0, "2")
    ended(c.box.run("set +u; alias git"))
    has(ended(c.box.run("alias git")).content, "git --no-pager")


# --- text: out


@row("text: a terminal's text, without what moves the cursor")
def _(c):
    for command, wanted in (
        ("printf '\\033[31mred\\033[0m plain'", "red plain"),
        ("printf '10%%\\r50%%\\r100%%\\n'", "100%"),
        ("printf 'abc\\b\\bX\\n'", "aXc"),
        ("printf 'a  \\nb   \\n\\n'", "a\nb"),
        ("printf 'no newline'", "no newline"),
        ("printf '\\033]0;title\\007text\\n'", "text"),
        ("printf '\\033[?2004hpaste\\033[?2004l\\n'", "paste"),
        ("printf 'a\\r\\nb\\r\\n'", "a\nb"),
        ("head -c 2500 /dev/zero | tr '\\0' y", "y" * 2500),
    ):
        ended(c.box.run(command), 0, wanted)
    seen = ended(c.box.run("printf 'a\\tb\\n'")).content
    holds(seen in ("a       b", "a\tb"), seen)
    seen = ended(c.box.run("printf 'a\\377b\\n'")).content
    has(seen, "a", "b")


@row("text: the shell's own marks in a program's output do no harm")
def _(c):
    fake = "\n###PS1JSON###\n{\"exit_code\": \"9\"}\n###PS1END###\n"
    seen = ended(c.box.run(f"printf '%s' '{fake}'; sleep 0.2; echo after"))
    has(seen.content, "###PS1END###", "after")


# --- the environment


@row("environment: a variable of the client", client_env={"SANDBOX_ENV_FOOBAR": "BAZ"})
def _(c):
    ended(c.box.run("echo $FOOBAR"), 0, "BAZ")
    has(ended(c.box.run("cat ~/.bashrc")).content, "export FOOBAR=")


@row("environment: variables are added, and nothing else changes")
def _(c):
    c.box.add_env_vars({"QUUX": 'abc"def'})
    ended(c.box.run("echo $QUUX"), 0, 'abc"def')
    c.box.add_env_vars({"FOOBAR": "xyz"})
    ended(c.box.run("echo $QUUX $FOOBAR"), 0, 'abc"def xyz')
    before = c.box.run("env").content
    c.box.add_env_vars({})
    same(c.box.run("env").content, before)
    c.box.add_env_vars({"QUUX": "new_value"})
    ended(c.box.run("echo $QUUX"), 0, "new_value")


@row("environment: a variable that the server was started with", env={"ADDED_ENV_VAR": "added"})
def _(c):
    ended(c.box.run("echo $ADDED_ENV_VAR"), 0, "added")


@row("environment: a fresh shell has the variables of before", needs=("bash",))
def _(c):
    c.box.add_env_vars({"GITHUB_TOKEN": "of-no-use"})
    ended(c.box.run("bash -ic 'echo $GITHUB_TOKEN' 2>/dev/null"), 0, "of-no-use")
    has(ended(c.box.run("cat ~/.bashrc")).content, "export GITHUB_TOKEN=")


@row("environment: the key is not in it", server_env={"SESSION_API_KEY": "of-ours"}, key="of-ours")
def _(c):
    lacks(ended(c.box.run("env; set", hidden=True)).content, "of-ours")


# --- the client's own searches


def searching(what, command):
    return (
        'echo "Below are the execution results of the '
        + what
        + " command: "
        + command.replace('"', '\\"').replace("$", "\\$").replace("`", "\\`")
        + '\n"; '
        + command
    )


def grep(pattern, path):
    word = "'" + pattern.replace("'", "'\"'\"'") + "'"
    where = "'" + path + "'" if " " in path else path
    return searching("search", f"rg -li {word} --sortr=modified {where} | head -n 100")


def glob(pattern, path):
    where = "'" + path + "'" if " " in path else path
    return searching("glob", f"rg --files {where} -g '{pattern}' --sortr=modified | head -n 100")


def found(c, command, *names):
    seen = ended(c.box.run(command))
    lacks(seen.content, "command not found", "syntax error", "unexpected")
    has(seen.content, *names)


@row("search: patterns with quotes", needs=("rg",))
def _(c):
    ended(c.box.run(f"echo 'const message = \"Hello\";' > {c.dir}/quotes.js"))
    found(c, grep(r'const message = "Hello"', c.dir), f"{c.dir}/quotes.js")
    ended(c.box.run(f"echo \"function('test') {{}}\" > {c.dir}/quotes2.js"))
    found(c, grep(r"function\('test'\)", c.dir), f"{c.dir}/quotes2.js")


@row("search: patterns with what a shell would read", needs=("rg",))
def _(c):
    texts = {
        "logical": ("testing x && y || z pattern", r"x && y \|\| z"),
        "function": ("function() { return x; }", r"function\(\) \{ return x; \}"),
        "dollar": (r"using \$variable here", r"\$variable"),
        "newline": (r"line with \\n newline chars", r"\\n newline"),
        "wildcard": ("matching *.js wildcard", r"\*\.js"),
        "redirect": ("testing x > y redirection", r"x > y"),
        "pipe": ("testing a | b pipe", r"a \| b"),
        "comment": ("line with #comment", r"#comment"),
    }
    setup = "\n        mkdir -p special && \\\n" + " && \\\n".join(
        f'        echo "{text}" > special/{name}.txt' for name, (text, _) in texts.items()
    )
    ended(c.box.run(setup + "\n        "))
    for name, (_, pattern) in texts.items():
        found(c, grep(pattern, f"{c.dir}/special"), f"{name}.txt")


@row("search: paths with blanks", needs=("rg",))
def _(c):
    ended(
        c.box.run(
            '\n   mkdir -p "src/my project" "test files/unit tests" "src/special$chars" && \\\n'
            '   echo "function a() {}" > "src/my project/test.js" && \\\n'
            '   echo "function b() {}" > "test files/unit tests/test.js"\n   '
        )
    )
    for path in ("src/my project", "test files/unit tests"):
        found(c, grep("function", path), f"{path}/test.js")
        found(c, glob("*.js", path), f"{path}/test.js")


@row("search: globs", needs=("rg",))
def _(c):
    ended(
        c.box.run(
            "mkdir -p src/parts && touch src/file1.js src/file2.js src/file9.js "
            "src/parts/comp.jsx src/parts/comp.tsx src/$special-file.js src/temp1.js "
            'src/file.ts src/file.js src/file.jsx "src/weird\\`file\\`.js" '
            '"src/file with spaces.js"'
        )
    )
    for pattern, names in (
        ("**/*.js", ("file1.js", "file2.js")),
        ("**/{*.jsx,*.tsx}", ("comp.jsx", "comp.tsx")),
        ("file[0-9].js", ("file1.js", "file2.js", "file9.js")),
        ("temp?.js", ("temp1.js",)),
        ("file.{js,ts,jsx}", ("file.js", "file.ts", "file.jsx")),
        ("file with spaces.js", ("file with spaces.js",)),
    ):
        found(c, glob(pattern, "src"), *names)


# --- the set-up script of a repository


@row("set-up script: one that is silent is waited for", no_change=1)
def _(c):
    holds(isinstance(c.box.write("README.md", ""), Written))
    text = "#!/bin/bash\nsleep 3 && echo 'Hello World' > README.md\n"
    holds(isinstance(c.box.write(".openhands/setup.sh", text), Written))
    script = "chmod +x .openhands/setup.sh && source .openhands/setup.sh"
    ended(c.box.run(script, timeout=600, blocking=True), 0, "")
    same(c.box.read("README.md").content, "Hello World\n")


@row("set-up script: one that exits says so, and there is a shell after it")
def _(c):
    c.box.write(".openhands/setup.sh", "#!/bin/bash\necho 'Setup failed' && exit 3\n")
    seen = c.box.run(
        "chmod +x .openhands/setup.sh && source .openhands/setup.sh", timeout=60, blocking=True
    )
    holds(isinstance(seen, Ran) and seen.exit_code != 0, seen)
    has(seen.content, "Setup failed")
    ended(c.box.run("echo alive"), 0, "alive")


# --- instructions and microagents of a repository


@row("microagents: instructions are read, folders listed and fetched")
def _(c):
    c.box.write(".openhands_instructions", "Always be nice")
    c.box.write(".openhands/microagents/one.md", "# one")
    c.box.write(".openhands/microagents/sub/two.md", "# two")
    same(c.box.read(".openhands_instructions").content, "Always be nice\n")
    holds(isinstance(c.box.read(".none"), Failed))
    for path in (".openhands/microagents", f"{c.dir}/.openhands/microagents/"):
        same(c.box.list_files(path), ["sub/", "one.md"])
    same(c.box.list_files(".openhands/none"), [])
    with zipfile.ZipFile(c.box.copy_from(f"{c.dir}/.openhands/microagents/")) as got:
        same(sorted(got.namelist()), ["one.md", "sub/two.md"])
        same(got.read("sub/two.md"), b"# two\n")
    os.unlink(got.filename)


# --- reading and writing


@row("read: what is not there, a folder, a binary file")
def _(c):
    ended(c.box.run("mkdir d && head -c 3000 /dev/zero > zeros && printf 'a\\377' > latin"))
    for path in ("none", f"{c.dir}/none"):
        seen = c.box.read(path)
        holds(isinstance(seen, Failed), seen)
        same(
            seen.content,
            f"File not found: {c.dir}/none. Your current working directory is {c.dir}.",
        )
        same((seen.error_id, c.box.answer["message"]), ("", seen.content))
    for path in ("d", f"{c.dir}/d"):
        seen = c.box.read(path)
        same(seen, Failed(f"Path is a directory: {c.dir}/d. You can only read files"))
    same(c.box.read(f"{c.dir}/zeros"), Failed("ERROR_BINARY_FILE"))
    holds(isinstance(c.box.read("latin"), Failed))


@row("read: by lines, from the shell's folder, with any end of line")
def _(c):
    ended(c.box.run("printf '1\\n2\\n3\\n4' > f; printf 'a\\r\\nb\\r\\n' > dos; : > empty"))
    for start, end, wanted in (
        (0, -1, "1\n2\n3\n4"),
        (0, 2, "1\n2\n"),
        (1, 3, "2\n3\n"),
        (3, -1, "4"),
        (0, 100, "1\n2\n3\n4"),
        (2, 2, "3\n"),
        (9, 10, "3\n4"),
    ):
        seen = c.box.read("f", start, end)
        holds(isinstance(seen, Read), seen)
        same(seen.content, wanted, f"[{start}:{end}]")
        same(seen.path, f"{c.dir}/f")
    same(c.box.read("dos").content, "a\nb\n")
    same(c.box.read("empty").content, "")
    ended(c.box.run("mkdir sub && cd sub && echo in > g"))
    same(c.box.read("g"), Read("in\n", f"{c.dir}/sub/g"))
    same(c.box.read(f"{c.dir}/f").content, "1\n2\n3\n4")
    same(c.box.answer["message"], f"I read the file {c.dir}/f.")
    same(set(c.box.answer["extras"]), {"path", "impl_source"})


@row("read: a picture is a data URL")
def _(c):
    ended(c.box.run("printf '\\211PNG\\r\\n\\032\\n\\0\\0' > p.png; cp p.png q.JPG"))
    same(c.box.read("p.png").content, "data:image/png;base64,iVBORw0KGgoAAA==")
    has(c.box.read("q.JPG").content, "data:image/jpeg;base64,iVBORw0KGgoAAA==")


@row("write: text gets an end of line, folders are made, the path is whole")
def _(c):
    seen = c.box.write("a/b/hello.sh", 'echo "Hello, World!"')
    same(seen, Written("", f"{c.dir}/a/b/hello.sh"))
    same(c.box.answer["message"], f"I wrote to the file {c.dir}/a/b/hello.sh.")
    same(c.box.read("a/b/hello.sh").content, 'echo "Hello, World!"\n')
    c.box.write("a/b/hello.sh", "one\n")
    same(c.box.read("a/b/hello.sh").content, "one\n\n")
    info = os.stat(f"{c.dir}/a/b/hello.sh")
    same(info.st_mode & 0o777, 0o664)
    same(info.st_uid, int(ended(c.box.run("id -u")).content))
    ended(c.box.run("echo more >> a/b/hello.sh"))


@row("write: into a file, whose mode and owner stay")
def _(c):
    ended(c.box.run("printf '1\\n2\\n3\\n4\\n' > f; chmod 751 f"))
    c.box.write("f", "x", 1, 3)
    same(c.box.read("f").content, "1\nx\n4\n")
    same(os.stat(f"{c.dir}/f").st_mode & 0o777, 0o751)
    same(os.stat(f"{c.dir}/f").st_uid, int(ended(c.box.run("id -u")).content))
    c.box.write("f", "all")
    same(c.box.read("f").content, "all\n")
    c.box.write("f", "snow ☃ \u0000 nul")
    same(pathlib.Path(c.dir, "f").read_bytes(), "snow ☃ \0 nul\n".encode())


@row("write: not over a folder")
def _(c):
    ended(c.box.run("mkdir d"))
    seen = c.box.write("d", "x")
    same(seen, Failed(f"Path is a directory: {c.dir}/d. You can only write to files"))
    holds(os.path.isdir(f"{c.dir}/d"))


# --- files in


def source(c):
    """A folder that stands for the client's machine."""
    path = os.path.join(c.root, "client")
    os.makedirs(path, exist_ok=True)
    return path


@row("upload: one file")
def _(c):
    here = make(source(c), test_file="Hello, World!")
    said = c.box.copy_to(f"{here}/test_file.txt", c.dir)
    same(said, {"filename": "test_file.txt", "destination": c.dir, "recursive": False})
    has(ended(c.box.run(f"ls -alh {c.dir}")).content, "test_file.txt")
    ended(c.box.run(f"cat {c.dir}/test_file.txt"), 0, "Hello, World!")


@row("upload: a folder")
def _(c):
    here = make(source(c) + "/test_dir", file1="File 1 content", file2="File 2 content")
    make(here + "/below", deep="Deep content")
    said = c.box.copy_to(here, c.dir, recursive=True)
    same((said["destination"], said["recursive"]), (c.dir, True))
    listing = ended(c.box.run(f"ls -alh {c.dir}")).content
    has(listing, "test_dir")
    lacks(listing, "file1.txt", ".zip")
    has(ended(c.box.run(f"ls -alh {c.dir}/test_dir")).content, "file1.txt", "file2.txt")
    ended(c.box.run(f"cat {c.dir}/test_dir/file1.txt"), 0, "File 1 content")
    ended(c.box.run(f"cat {c.dir}/test_dir/below/deep.txt"), 0, "Deep content")


@row("upload: into a folder that is made for it")
def _(c):
    here = make(source(c), test_file="Hello, World!")
    c.box.copy_to(f"{here}/test_file.txt", f"{c.dir}/new_dir/of it")
    ended(c.box.run(f"cat '{c.dir}/new_dir/of it/test_file.txt'"), 0, "Hello, World!")


@row("upload: over a file")
def _(c):
    here = make(source(c), test_file="Hello, World!")
    lacks(ended(c.box.run(f"ls -alh {c.dir}")).content, "test_file.txt")
    ended(c.box.run(f"touch {c.dir}/test_file.txt"))
    ended(c.box.run(f"cat {c.dir}/test_file.txt"), 0, "")
    c.box.copy_to(f"{here}/test_file.txt", c.dir)
    ended(c.box.run(f"cat {c.dir}/test_file.txt"), 0, "Hello, World!")
    same(c.box.list_files(), ["test_file.txt"])


@row("upload: what is not there is the client's own error")
def _(c):
    try:
        c.box.copy_to(f"{source(c)}/none.txt", f"{c.dir}/should_not_exist.txt")
        raise AssertionError("no error")
    except FileNotFoundError:
        pass
    holds(c.box.run(f"ls {c.dir}/should_not_exist.txt").exit_code != 0)


@row("upload: names and sizes of all kinds")
def _(c):
    here = source(c)
    for name, size in (("empty", 0), ("naïve ☃.bin", 70000), ("-rf", 1), ("a'b;c", 3)):
        body = os.urandom(size)
        pathlib.Path(here, name).write_bytes(body)
        c.box.copy_to(f"{here}/{name}", c.dir)
        same(pathlib.Path(c.dir, name).read_bytes(), body, name)
    same(len(c.box.list_files()), 4)


# --- files out


@row("download: a folder comes back as it was sent")
def _(c):
    here = make(source(c) + "/test_dir", file1="File 1 content", file2="File 2 content")
    make(here + "/below/further", deep="Deep content")
    c.box.copy_to(here, c.dir, recursive=True)
    ended(c.box.run("cd test_dir && mkdir empty && touch .hidden 'naïve ☃' && ln -s file1.txt l"))
    got = c.box.copy_from(f"{c.dir}/test_dir")
    holds(isinstance(got, pathlib.Path))
    with zipfile.ZipFile(got) as archive:
        same(archive.testzip(), None)
        same(
            sorted(archive.namelist()),
            sorted(
                [".hidden", "below/further/deep.txt", "file1.txt", "file2.txt", "l", "naïve ☃"]
            ),
        )
        same(archive.read("l"), b"File 1 content")
        same(archive.read("below/further/deep.txt"), b"Deep content")
    got.unlink()


@row("download: what the answer says of itself")
def _(c):
    ended(c.box.run("mkdir 'my dir' && echo a > 'my dir/a'"))
    answer = c.box.ask("GET", "/download_files", 30, params={"path": f"{c.dir}/my dir"})
    same(answer.headers["content-type"], "application/zip")
    has(answer.headers["content-disposition"], "attachment", "my dir.zip")
    if "content-length" in answer.headers:
        same(int(answer.headers["content-length"]), len(answer.content))


@row("download: one file; a folder with nothing in it")
def _(c):
    ended(c.box.run("mkdir e && echo alone > f"))
    got = c.box.copy_from(f"{c.dir}/f")
    with zipfile.ZipFile(got) as archive:
        holds(archive.namelist() in ([], ["f"]), archive.namelist())
    got.unlink()
    got = c.box.copy_from(f"{c.dir}/e")
    with zipfile.ZipFile(got) as archive:
        same(archive.namelist(), [])
    got.unlink()


# --- listing


@row("list: folders first, names in order, hidden ones too")
def _(c):
    ended(
        c.box.run(
            "mkdir docs Src && touch .gitignore README.md a.txt && ln -s none dangling "
            "&& ln -s docs linked && ln -s a.txt b"
        )
    )
    wanted = ["docs/", "linked/", "Src/", ".gitignore", "a.txt", "b", "README.md"]
    same(c.box.list_files(), wanted)
    same(c.box.list_files(c.dir), wanted)
    same(c.box.list_files(f"{c.dir}/"), wanted)
    ended(c.box.run("cd docs && touch x"))
    same(c.box.list_files(), wanted)
    same(c.box.list_files("docs"), ["x"])
    same(c.box.list_files("none"), [])
    same(c.box.list_files("a.txt"), [])


# --- the rest of what a client asks


@row("server: alive, and how it is", set_up=False)
def _(c):
    same(c.box.ask("GET", "/alive", 5).json(), {"status": "ok"})
    info = c.box.server_info()
    same(set(info), {"uptime", "idle_time", "resources"})
    holds(0 <= info["idle_time"] <= info["uptime"] + 0.001, info)
    parts = info["resources"]
    same(set(parts), {"cpu_percent", "memory", "disk", "io"})
    same(set(parts["memory"]), {"rss", "vms", "percent"})
    same(set(parts["disk"]), {"total", "used", "free", "percent"})
    same(set(parts["io"]), {"read_bytes", "write_bytes"})
    holds(parts["memory"]["rss"] > 0 and parts["disk"]["total"] > 0, parts)


@row("server: tokens and tool servers are answered", set_up=False)
def _(c):
    same(set(c.box.ask("GET", "/vscode/connection_token", 10).json()), {"token"})
    tool = {"name": "t", "command": "true", "args": [], "env": {}}
    said = c.box.ask("POST", "/update_mcp_server", 60, json=[tool]).json()
    holds(isinstance(said["router_error_log"], str), said)


@row("server: a browser that is off says so", set_up=False)
def _(c):
    for action, args in (
        ("browse", {"url": "http://localhost:1", "return_axtree": False}),
        ("browse_interactive", {"browser_actions": "noop(1)", "return_axtree": False}),
    ):
        seen = c.box.act(c.box.event(action, args))
        same(seen, Failed("Browser functionality is not supported or disabled."))


@row("server: the V0 form of its command line", set_up=False, form="port")
def _(c):
    ended(c.box.run("echo fixed"), 0, "fixed")
