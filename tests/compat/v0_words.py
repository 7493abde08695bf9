# SPDX-License-Identifier: MIT
"""Text on its way to the shell and back, the environment it finds, and the
commands that a client writes by itself: searches and set-up scripts."""
from tap import Rows, has, holds, lacks, same
from v0_client import Ran, Written
from v0_text import ended, many

row = Rows()


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


@row("text: several commands with what the original's parser does not know run whole")
def _(c):
    for text, wanted in (
        ("cat <<'E'\n$HOME\nE\necho b", "$HOME\nb"),
        ("echo $((1 + 1))\necho b", "2\nb"),
        ("[[ a > b ]]\necho $?", "1"),
        ("case x in\nx) echo a ;;\nesac\necho b", "a\nb"),
        ("a=(1 2)\necho ${a[1]}", "2"),
        ("echo $(cd / && pwd)\necho b", "/\nb"),
        ("for ((i = 0; i < 2; i++)); do\necho $i\ndone\necho b", "0\n1\nb"),
    ):
        ended(c.box.run(text), 0, wanted)
    many(c.box.run("cat <<E\n$((1))\nE\necho b"), "cat <<E\n$((1))\nE", "echo b")
    many(c.box.run("echo '$((1))'\necho b"), "echo '$((1))'", "echo b")


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
    before = c.box.run("env").content.split("\n")
    c.box.add_env_vars({})
    after = c.box.run("env").content.split("\n")
    same(set(after) ^ set(before), set())
    same(after, before)
    c.box.add_env_vars({"QUUX": "new_value"})
    ended(c.box.run("echo $QUUX"), 0, "new_value")


@row("environment: a variable that the server was started with", env={"ADDED_ENV_VAR": "added"})
def _(c):
    ended(c.box.run("echo $ADDED_ENV_VAR"), 0, "added")


@row("environment: a fresh shell has the variables of the previous one", needs=("bash",))
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
