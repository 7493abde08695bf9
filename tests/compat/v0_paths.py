# SPDX-License-Identifier: MIT
"""Files by name: read, written, listed; and what else a client asks a server."""
import os
import pathlib
import zipfile

from tap import Rows, has, holds, same
from v0_client import Failed, Read, Written
from v0_text import ended

row = Rows()


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
    c.box.write("f", "snow ☃")
    same(pathlib.Path(c.dir, "f").read_bytes(), "snow ☃\n".encode())


@row("write: not over a folder")
def _(c):
    ended(c.box.run("mkdir d"))
    seen = c.box.write("d", "x")
    same(seen, Failed(f"Path is a directory: {c.dir}/d. You can only write to files"))
    holds(os.path.isdir(f"{c.dir}/d"))


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


@row("server: the V0 form of its command line; ended and started again", form="port")
def _(c):
    port = c.port
    c.box.add_env_vars({"KEPT_FOR_LATER": "a-b"})
    ended(c.box.run("echo $KEPT_FOR_LATER; echo x > f"), 0, "a-b")
    c.stop()
    c.start()
    same(c.port, port)
    c.box.wait_until_alive(20, every=0.05)
    same(c.box.list_files(), ["f"])
    if not c.user.shell_user:  # the other's home went with the mounts of the first
        ended(c.box.run("echo $KEPT_FOR_LATER"), 0, "a-b")
