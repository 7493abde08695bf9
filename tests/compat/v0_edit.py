# SPDX-License-Identifier: MIT
"""The editor: what the project's own tests ask of it, what its contract says beyond
that, and edits whose worker dies."""
import contextlib
import difflib
import os
import pathlib
import threading
import zipfile

import httpx
from tap import Rows, has, holds, lacks, same
from v0_again import cutting
from v0_client import Box, Edited, Failed, Read, Refused
from v0_text import ended

row = Rows()

REVIEW = (
    "Review the changes and make sure they are as expected. "
    "Edit the file again if necessary."
)
CUT = "Due to the max output limit, only part of this file has been shown to you."


def event(box, path, command, **args):
    """As the client writes it: every argument is there."""
    plain = dict.fromkeys(("file_text", "old_str", "new_str", "insert_line"))
    old = {"content": "", "start": 1, "end": -1, "impl_source": "oh_aci"}
    every = {"path": str(path), "command": command, **plain, **old, **args}
    return box.event("edit", every)


def edit(c, path, command, **args):
    seen = c.box.act(event(c.box, path, command, **args))
    holds(isinstance(seen, Edited), seen)
    same((seen.path, seen.prev_exist, seen.impl_source), (str(path), False, "oh_aci"))
    same(seen.old_content, args.get("old_str"))
    same(seen.new_content, args.get("new_str"))
    same(c.box.answer["message"], f"I edited the file {path}.")
    return seen


def wrong(c, path, command, *parts, **args):
    """An edit that changes nothing and says why."""
    before = here(path)
    seen = edit(c, path, command, **args)
    holds(seen.content.startswith("ERROR:\n"), seen.content)
    for part in parts:
        has(seen.content, part)
    same((seen.diff, here(path)), ("", before))
    return seen.content[len("ERROR:\n") :]


def view(c, path, view_range=None):
    args = {"path": str(path), "start": 0, "end": -1}
    seen = c.box.act(
        c.box.event("read", {**args, "impl_source": "oh_aci", "view_range": view_range})
    )
    holds(isinstance(seen, Read), seen)
    same((seen.path, seen.impl_source), (str(path), "oh_aci"))
    return seen.content


def here(path):
    path = pathlib.Path(path)
    return path.read_bytes() if path.is_file() else None


def put(c, path, content):
    """A file that the shell's user may write."""
    path.write_bytes(content)
    if os.getuid() == 0:
        folder = os.stat(c.dir)
        os.chown(path, folder.st_uid, folder.st_gid)


def created(c, text, name="test.txt"):
    path = pathlib.Path(c.dir, name)
    seen = edit(c, path, "create", file_text=text)
    has(seen.content, f"File created successfully at: {path}")
    same(here(path), text.encode())
    has(f"{seen.diff}\n", *(f"\n+{line}\n" for line in text.split("\n")[:-1]))
    return path


def difference(old, new, path):
    """Without context, as Python sees it."""
    lines = difflib.unified_diff(old.split("\n"), new.split("\n"), str(path), str(path), n=0)
    return "\n".join(line.rstrip() for line in lines)


def block(of, *lines, first=1):
    numbered = [f"{first + i:6}\t{line}\n" for i, line in enumerate(lines)]
    return f"Here's the result of running `cat -n` on {of}:\n" + "".join(numbered)


# --- as the project's tests


@row("edit: a file is viewed")
def _(c):
    path = created(c, "This is a test file.\nThis file is for testing purposes.")
    for content in (edit(c, path, "view").content, view(c, path)):
        same(
            content,
            block(path, "This is a test file.", "This file is for testing purposes."),
        )


@row("edit: a folder is viewed")
def _(c):
    folder = pathlib.Path(c.dir, "w")
    ended(c.box.run("mkdir -p w/sub/deep w/.downloads && touch w/sub/deep/er"))
    created(c, "x", "w/test.txt")
    wanted = (
        f"Here's the files and directories up to 2 levels deep in {folder}, excluding "
        f"hidden items:\n{folder}/\n{folder}/sub/\n{folder}/sub/deep/\n{folder}/test.txt\n\n"
        "1 hidden files/directories in this directory are excluded. You can use "
        f"'ls -la {folder}' to see them."
    )
    same(edit(c, folder, "view").content, wanted)
    same(view(c, folder), wanted)
    has(view(c, folder, [1, 2]), "The `view_range` parameter is not allowed when `path`")


@row("edit: files are created, the shell's user has them")
def _(c):
    path = created(c, "New file content")
    same(view(c, path), block(path, "New file content"))
    same(str(path.stat().st_uid), ended(c.box.run("id -u")).content)
    empty = created(c, "", "empty.txt")
    has(view(c, empty), "1\t")
    none = pathlib.Path(c.dir, "none.txt")
    same(
        wrong(c, none, "create"), "Parameter `file_text` is required for command: create."
    )
    wrong(c, path, "create", f"File already exists at: {path}", file_text="other")


@row("edit: a text is replaced")
def _(c):
    path = created(c, "This is a test file.\nThis file is for testing purposes.")
    seen = edit(c, path, "str_replace", old_str="test file", new_str="sample file")
    has(seen.content, f"The file {path} has been edited")
    same(here(path), b"This is a sample file.\nThis file is for testing purposes.")
    edit(
        c,
        path,
        "str_replace",
        old_str="This is a sample file.\nThis file is for testing purposes.",
        new_str="one\ntwo",
    )
    same(here(path), b"one\ntwo")
    edit(c, path, "str_replace", old_str="\ntwo", new_str="")
    same(here(path), b"one")
    edit(c, path, "str_replace", old_str="ne")
    same(here(path), b"o")


@row("edit: tabs stay when a text is replaced")
def _(c):
    path = created(c, 'def test():\n\tprint("Hello, World!")')
    seen = edit(
        c,
        path,
        "str_replace",
        old_str='def test():\n\tprint("Hello, World!")',
        new_str='def test():\n\tprint("Hello, Universe!")',
    )
    same(
        seen.content,
        f"The file {path} has been edited. "
        + block(f"a snippet of {path}", "def test():", '\tprint("Hello, Universe!")')
        + REVIEW,
    )
    same(
        seen.diff,
        f"--- {path}\n+++ {path}\n@@ -2 +2 @@\n"
        '-\tprint("Hello, World!")\n+\tprint("Hello, Universe!")',
    )


@row("edit: a text that is there several times, or not at all")
def _(c):
    path = created(c, "This is a test file.\nThis file is for testing purposes.\n\n")
    for old, lines in (("test", "[1, 2]"), ("", "[1, 2, 3, 4]")):
        same(
            wrong(c, path, "str_replace", old_str=old, new_str="sample"),
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in "
            f"lines {lines}. Please ensure it is unique.",
        )
    same(
        wrong(c, path, "str_replace", old_str="Non-existent Line", new_str="New Line"),
        "No replacement was performed, old_str `Non-existent Line` did not appear "
        f"verbatim in {path}.",
    )
    same(
        wrong(c, path, "str_replace", new_str="sample"),
        "Parameter `old_str` is required for command: str_replace.",
    )
    wrong(
        c,
        path,
        "str_replace",
        "No replacement was performed. `new_str` and `old_str` must be different.",
        old_str="test file",
        new_str="test file",
    )
    lines = created(c, "a\nb\nx\ny\nz\nq\na\nb\n", "lines.txt")
    wrong(c, lines, "str_replace", "in lines [1, 7]", old_str="a\nb", new_str="c")


@row("edit: lines are inserted")
def _(c):
    path = created(c, "Line 1\nLine 2")
    seen = edit(c, path, "insert", insert_line=1, new_str="Inserted Line")
    has(seen.content, f"The file {path} has been edited", "1\tLine 1\n", "2\tInserted Line\n")
    has(seen.content, "3\tLine 2\n")
    same(here(path), b"Line 1\nInserted Line\nLine 2")
    empty = created(c, "Line 1\nLine 2", "empty.txt")
    seen = edit(c, empty, "insert", insert_line="1", new_str="")
    has(seen.content, "1\tLine 1\n", "2\t\n", "3\tLine 2\n")


@row("edit: lines that cannot be inserted")
def _(c):
    path = created(c, "Line 1\nLine 2")
    wrong(
        c,
        path,
        "insert",
        "Invalid `insert_line` parameter",
        "It should be within the range of allowed values: [0, 2]",
        insert_line=10,
        new_str="x",
    )
    for name, args in (("new_str", {"insert_line": 1}), ("insert_line", {"new_str": "x"})):
        said = wrong(c, path, "insert", **args)
        same(said, f"Parameter `{name}` is required for command: insert.")
    said = wrong(c, path, "insert", insert_line="two", new_str="x")
    same(said, "Invalid insert_line value: 'two'. Expected an integer.")


@row("edit: an edit is undone")
def _(c):
    path = created(c, "This is a test file.")
    same(wrong(c, "/etc/passwd", "undo_edit"), "No edit history found for /etc/passwd.")
    edit(c, path, "str_replace", old_str="test", new_str="sample")
    seen = edit(c, path, "undo_edit")
    same(
        seen.content,
        f"Last edit to {path} undone successfully. " + block(path, "This is a test file."),
    )
    same(here(path), b"This is a test file.")
    same(seen.diff, difference("This is a sample file.", "This is a test file.", path))


@row("edit: paths that are none")
def _(c):
    has(view(c, "/none/file"), "ERROR:\nInvalid `path` parameter", "The path /none/file does")
    created(c, "x")
    wrong(c, "test.txt", "str_replace", f"Maybe you meant {c.dir}/test.txt?", old_str="x")
    wrong(c, c.dir, "insert", "is a directory and only the `view` command", insert_line=0)
    wrong(c, f"{c.dir}/no/f", "create", "No such file or directory", file_text="x")
    wrong(c, f"{c.dir}/test.txt", "erase", "Unrecognized command erase. The allowed")


@row("edit: a large file is cut")
def _(c):
    path = pathlib.Path(c.dir, "large.txt")
    path.write_text("".join(f"Line {i}\n" for i in range(1, 5001)))
    for content in (edit(c, path, "view").content, view(c, path)):
        has(content, CUT)
        holds(len(content) < 40000, len(content))
    same(view(c, path, [4000, 4001]), block(path, "Line 4000", "Line 4001", first=4000))
    lacks(view(c, path, [4000, 4001]), CUT)


# --- beyond them


@row("edit: mode, owner, links and line ends stay")
def _(c):
    ended(c.box.run("printf '#!/bin/sh\\r\\necho a\\r\\n' > s && chmod 750 s && ln -s s l"))
    before = os.stat(f"{c.dir}/s")
    for name in ("s", "l"):
        edit(c, f"{c.dir}/{name}", "insert", insert_line=1, new_str="echo b")
    edit(c, f"{c.dir}/s", "str_replace", old_str="echo a\n", new_str="echo c\n")
    after = os.stat(f"{c.dir}/s")
    same(here(f"{c.dir}/s"), b"#!/bin/sh\r\necho b\r\necho b\r\necho c\r\n")
    same((after.st_mode, after.st_uid), (before.st_mode, before.st_uid))
    holds(os.path.islink(f"{c.dir}/l"), "it is a link")


@row("edit: a document is viewed as Markdown, also by a read")
def _(c):
    path = pathlib.Path(c.dir, "a.docx")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_rels/.rels", "<r/>")
        archive.writestr(
            "word/document.xml",
            "<w:document><w:body><w:p><w:pPr><w:pStyle w:val='Heading1'/></w:pPr><w:r>"
            "<w:t>Title</w:t></w:r></w:p><w:p><w:r><w:t>Text</w:t></w:r></w:p></w:body>"
            "</w:document>",
        )
    path.chmod(0o644)
    wanted = f"Here's the content of the file {path} displayed in Markdown format:\n"
    for content in (edit(c, path, "view").content, view(c, path), view(c, path, [1, 2])):
        same(content, wanted + "# Title\n\nText\n")
    said = wrong(c, path, "insert", insert_line=0, new_str="x")
    has(said, "points to a binary file (.docx) and only the `view` command can be used on")
    path.write_bytes(b"PK")
    has(view(c, path), "ERROR:\nError in converting file to Markdown: cannot read", c.dir)


@row("edit: encodings stay, what is no text is said to be binary")
def _(c):
    for bytes_, encoding in ((b"caf\xe9\n", "latin-1"), ("caf\u00e9\n".encode("utf-16"), "utf-16")):
        path = pathlib.Path(c.dir, encoding)
        put(c, path, bytes_)
        same(view(c, path), block(path, "caf\u00e9", ""))
        edit(c, path, "str_replace", old_str="caf\u00e9", new_str="th\u00e9")
        same(here(path), bytes_.decode(encoding).replace("caf", "th").encode(encoding))
    zeros = pathlib.Path(c.dir, "zeros")
    put(c, zeros, bytes(3000))
    wrong(c, zeros, "str_replace", "File appears to be binary", old_str="x", new_str="y")
    args = {"path": str(zeros), "impl_source": "oh_aci"}
    same(c.box.act(c.box.event("read", args)), Failed("ERROR_BINARY_FILE"))
    os.truncate(zeros, 13 << 20)
    wrong(c, zeros, "insert", "(13.0MB). Maximum allowed size is 10MB.", insert_line=0, new_str="")


@row("edit: ranges of lines")
def _(c):
    path = created(c, "1\n2\n3\n")
    same(view(c, path, [2, -1]), block(path, "2", "3", first=2))
    has(view(c, path, [2, 9]), "NOTE: We only show up to 3 since there're only 3 lines in")
    for range_, why in (
        ([1], "[1]. It should be a list of two integers."),
        ([4, 5], "[4, 5]. Its first element `4` should be within the range of lines"),
        ([3, 2], "[3, 2]. Its second element `2` should be greater than or equal to"),
    ):
        has(view(c, path, range_), f"ERROR:\nInvalid `view_range` parameter: {why}")


@row("edit: arguments of another type are refused")
def _(c):
    for args in ({"file_text": 1}, {"old_str": []}, {"impl_source": "llm_based_edit"}):
        try:
            c.box.act(event(c.box, "/tmp/none", "create", **args))
            holds(False, args)
        except Refused as refused:
            same(refused.status, 500)
            has(refused.detail, "Internal server error: ", next(iter(args)))


# --- the worker is killed


def asked(box, *words, **args):
    """More patient than five times: a worker dies ten times a second here."""
    what = event(box, *words, **args)
    while True:
        try:
            return box.act(what)
        except httpx.TransportError:
            continue


@row("killed: at any time of forty edits, each is done once", set_up=False, slow=True)
def _(c):
    path = created(c, "")
    stop = threading.Event()

    def killer():
        while not stop.wait(0.07):
            if worker := c.worker():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, 9)

    box = Box(c.url, again_after=0.02)
    thread = threading.Thread(target=killer)
    thread.start()
    try:
        for i in range(40):
            seen = asked(box, path, "insert", insert_line=i, new_str=f"line {i}")
            has(seen.content, f"{i + 1:6}\tline {i}\n")
            has(seen.diff, f"\n+line {i}")
        for i in range(39, 31, -1):
            seen = asked(box, path, "undo_edit")
            has(seen.content, "undone successfully")
            has(seen.diff, f"\n-line {i}")
    finally:
        stop.set()
        thread.join()
    same(here(path).decode(), "".join(f"line {i}\n" for i in range(32)))


@row("killed: an edit whose answer was lost is answered, and not done again", set_up=False)
def _(c):
    path = created(c, "")
    wanted = []
    for i in range(6):
        for command in ("insert", "insert", "undo_edit"):
            with cutting(c, [0], at_request=c.kill_worker) as box:
                seen = asked(box, path, command, insert_line=0, new_str=f"line {i}")
                holds(box.cuts > 0, "the answer was lost")
            wanted = wanted[1:] if command == "undo_edit" else [f"line {i}", *wanted]
            same(here(path).decode(), "".join(f"{line}\n" for line in wanted))
            has(seen.diff, ("\n-" if command == "undo_edit" else "\n+") + f"line {i}")
    same(len(wanted), 6)


@row("killed: what was edited before can be undone", set_up=False)
def _(c):
    path = created(c, "one")
    edit(c, path, "str_replace", old_str="one", new_str="two")
    c.kill_worker()
    with contextlib.suppress(httpx.TransportError):
        c.box.is_alive()
    has(edit(c, path, "undo_edit").content, "undone successfully")
    same(here(path), b"one")
