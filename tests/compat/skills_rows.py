# SPDX-License-Identifier: MIT
"""What the functions print, in the words of OpenHands' agent_skills and openhands-aci.

A row is a name, files that are there, and calls in their order, each with its text. $W
is the folder. What is no text of theirs (glob, grep, facts of media) is in ours.
"""
import base64
import io
import zipfile

BEGIN, END = "(this is the beginning of the file)\n", "(this is the end of the file)\n"
MORE = "[Use `scroll_down` to view the next 100 lines of the file!]\n"
UPDATED = (
    "[File updated (edited at line %d). Please review the changes and make sure they are "
    "correct (correct indentation, no duplicate lines, etc). Edit the file again if "
    "necessary.]\n"
)
REVIEW = "Review the changes and make sure they are as expected"
NOT_OPEN = "ERROR: No file open. Use the open_file function first.\n"
GONE = "cannot read $W/gone: No such file or directory"
NUMBERED = "Here's the result of running `cat -n` on "


class Call:
    """One function. failed: what it tells is a failure. fresh: of a session in which
    nothing was opened. wire: the editor's fields."""

    def __init__(self, name, *args, text, failed=False, fresh=False, wire=None, **named):
        self.name, self.args, self.named = name, args, named
        self.text, self.failed, self.fresh, self.wire = text, failed, fresh, wire


class Bad:
    """Invalid arguments: the errors, without the way of the call."""

    def __init__(self, name, args, why):
        self.name, self.args, self.why = name, args, why


def fail(name, *args, text, **named):
    return Call(name, *args, text=text, failed=True, **named)


def edit(command, path, text, output=None, **fields):
    """file_editor: its text, which is an output or an error; fields it was given, and
    with `old`, `new` what is reported of the contents."""
    told = {"old_content": fields.pop("old", None), "new_content": fields.pop("new", None)}
    failed = text.startswith("ERROR:\n")
    wire = {
        "output": None if failed else text,
        "error": text[len("ERROR:\n") :] if failed else None,
        "path": None if failed else path,
        "prev_exist": command != "create" or failed,
        **told,
        "formatted_output_and_error": text,
    }
    return Call("file_editor", command, path, text=text, failed=failed, wire=wire, **fields)


def numbers(first, last, total):
    """Lines `line N`, with what is above and below."""
    lines = "".join(f"{i}|line {i}\n" for i in range(first, last + 1))
    above = f"({first - 1} more lines above)\n" if first > 1 else BEGIN
    below = f"({total - last} more lines below)\n" if last < total else END
    return f"[File: $W/long ({total} lines total)]\n{above}{lines}{below}"


def package(**parts):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml"), part)
        archive.writestr("_rels/.rels", "<r/>")
    return out.getvalue()


def docx(*paragraphs):
    body = "".join(f"<w:p><w:r><w:t>{p}</w:t></w:r></w:p>" for p in paragraphs)
    return package(word__document_xml=f"<w:document><w:body>{body}</w:body></w:document>")


def pptx(*slides):
    parts = {
        "ppt__presentation_xml": "<p>"
        + "".join(f"<sldId r:id='r{i}'/>" for i in range(len(slides)))
        + "</p>",
        "ppt__s_xml": "",
    }
    relations = ""
    for i, slide in enumerate(slides):
        parts[f"ppt__{i}_xml"] = f"<s><sp><p><t>{slide}</t></p></sp></s>"
        relations += f"<Relationship Id='r{i}' Target='{i}.xml'/>"
    out = io.BytesIO(package(**parts))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("ppt/_rels/presentation.xml.rels", f"<r>{relations}</r>")
    return out.getvalue()


def pdf(*pages):
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Count %d/Kids[%s]>>"
        % (len(pages), " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for i, words in enumerate(pages):
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {5 + 2 * i} 0 R"
            "/Resources<</Font<</F 3 0 R>>>>>>"
        )
        drawn = f"BT /F 12 Tf 50 700 Td ({words}) Tj ET"
        objects.append(f"<</Length {len(drawn)}>>stream\n{drawn}\nendstream")
    body = "".join(f"{i + 1} 0 obj{each}endobj\n" for i, each in enumerate(objects))
    return f"%PDF-1.4\n%\xff\xfe\n{body}trailer<</Root 1 0 R>>\n".encode("latin-1")


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x80\0\0\1\xe0"
LONG = "".join(f"line {i}\n" for i in range(1, 251))
TREE = {"d/a": "hit\nmiss\n", "d/sub/b.txt": "x\n  a hit  \n", "d/.hidden": "hit\n"}
NEEDLE = b"needle\0"


def url(kind, content):
    return f"data:{kind};base64,{base64.b64encode(content).decode()}\n"


TABS = "class A:\n\tdef load(self):\n\t\treturn self.cfg.port\nx = 0\nport = 80\n"

ROWS = [
    # ---- the tools of models
    (
        "a file as numbered lines",
        {"f": TABS, "empty": "", "crlf": "a\r\nb\r\n", "wide": "x" * 2100 + "\n",
         "binary": b"\x7fELF\0\0", "old.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0",
         "latin": b"caf\xe9\n", "d/one": "", "d/two/three": "",
         "d/.hidden": ""},
        [
            Call("view", "f", text="1\tclass A:\n2\t\tdef load(self):\n"
                 "3\t\t\treturn self.cfg.port\n4\tx = 0\n5\tport = 80\n"
                 "[lines 1-5 of 5; indented with tabs]\n"),
            Call("view", "$W/f", 2, 1, text="2\t\tdef load(self):\n"
                 "[line 2 of 5; indented with tabs]\n"),
            Call("view", "f", offset=-1, text="5\tport = 80\n"
                 "[line 5 of 5; indented with tabs]\n"),
            Call("view", "f", offset=90, limit=1, text="5\tport = 80\n"
                 "[line 5 of 5; the file has 5 lines; indented with tabs]\n"),
            Call("view", "empty", text="[empty file]\n"),
            Call("view", "crlf", text="1\ta\n2\tb\n[lines 1-2 of 2; line ends CRLF]\n"),
            Call("view", "wide", text="1\t" + "x" * 2000 + "\u2026 [+100 bytes]\n"
                 "[line 1 of 1]\n"),
            fail("view", "old.xls", text="cannot read old.xls: it is encrypted, or "
                 "of the format before 2007: save it again without a password, as .docx, .pptx "
                 "or .xlsx\n"),
            Call("view", "binary", text="[ELF, 6 bytes, binary; shell: file, xxd | head]\n"),
            Call("view", "latin", text="1\tcaf\u00e9\n"
                 "[line 1 of 1; not UTF-8, shown as Latin-1]\n"),
            Call("view", "d", text="one\ntwo/ (1)\n  three\n"
                 "[directory: 1 folder, 1 file, 1 hidden]\n"),
        ],
    ),
    (
        "what fits into an answer, and where it goes on",
        {"long": "".join(f"{i:04} {'y' * 94}\n" for i in range(1, 1201))},
        [
            Call("view", "long", text="".join(f"{i}\t{i:04} {'y' * 94}\n"
                                              for i in range(1, 155))
                 + "[lines 1-154 of 1200; more: offset=155; to find something: search]\n"),
        ],
    ),
    (
        "a name that is almost right",
        {"src/config.py": "", "src/conf/Config.py": "", "readme": ""},
        [
            fail("view", "src/confg.py", text="no file $W/src/confg.py. Near: "
                 "$W/src/config.py, $W/src/conf/Config.py\n"),
            fail("view", "scr/config.py", text="no file $W/scr/config.py. Near: "
                 "$W/src/config.py, $W/src/conf/Config.py\n"),
            fail("replace", "README", "a", "b", text="no file $W/README. Near: $W/readme\n"),
            fail("search", "x", "zzzzzz", text="no file $W/zzzzzz\n"),
            fail("view", "", text="path is empty; it has to name a file\n"),
        ],
    ),
    (
        "a text is replaced, and taken back",
        {"m1": TABS, "m1.crlf": "a\r\nb\r\n"},
        [
            Call("replace", "m1", "port = 80", "port = 8080",
                 text="[changed m1: 1 place, line 5]\n"),
            fail("replace", "m1", "port", "x", text="not changed: old_string occurs 2 times, "
                 "at lines 3, 5: add lines around it, or replace_all=true\n"),
            Call("replace", "m1", "port", "gate", True,
                 text="[changed m1: 2 places, lines 3, 5]\n"),
            Call("view", "m1", 5, text="5\tgate = 8080\n[line 5 of 5; indented with tabs]\n"),
            Call("undo", "m1",
                 text="[m1 is as before the edit of TIME; 1 more can be taken back]\n"),
            Call("undo", "m1", text="[m1 is as before the edit of TIME]\n"),
            Call("view", "m1", 5, text="5\tport = 80\n[line 5 of 5; indented with tabs]\n"),
            fail("undo", "m1", text="nothing to take back: m1 has no change by edit or write "
                 "that is kept\n"),
            Call("replace", "m1.crlf", "a\nb", "c\nd",
                 text="[changed m1.crlf: 1 place, line 1; line ends changed to those of the file]\n"),
            Call("view", "m1.crlf", text="1\tc\n2\td\n[lines 1-2 of 2; line ends CRLF]\n"),
            Call("undo", "m1.crlf", text="[m1.crlf is as before the edit of TIME]\n"),
        ],
    ),
    (
        "a text whose form differs",
        {"m2": TABS},
        [
            Call("replace", "m2", "    def load(self):\n        return self.cfg.port",
                 "    def load(self):\n        return 1", text="[changed m2: 1 place, line 2; "
                 "tabs put for spaces in both strings]\n"),
            Call("view", "m2", 3, 1, text="3\t\t\treturn 1\n"
                 "[line 3 of 5; indented with tabs]\n"),
            Call("undo", "m2", text="[m2 is as before the edit of TIME]\n"),
            Call("replace", "m2", "5\tport = 80", "5\tport = 81",
                 text="[changed m2: 1 place, line 5; line numbers taken off]\n"),
            Call("undo", "m2", text="[m2 is as before the edit of TIME]\n"),
            fail("replace", "m2", "  return self.config.port", "x",
                 text="not changed: old_string is not in m2. Nearest, line 3; first "
                 "difference marked:\n3\t\t\treturn self.cfg.port\n"
                 " \t\t\t             ^ file: self.cfg   old_string: self.config\n"
                 "Send the text of the file.\n"),
            fail("replace", "m2", "0123456789", "x", text="not changed: old_string is not in "
                 "m2, and no line of it is similar; read it first\n"),
            fail("replace", "m2", "port", "port",
                 text="not changed: old_string and new_string are the same\n"),
            fail("replace", "m2", "", "port", text="not changed: old_string is empty, and m2 "
                 "exists; to replace its whole content use write\n"),
            fail("replace", "$W", "a", "b", text="not changed: $W is a directory\n"),
        ],
    ),
    (
        "a change that breaks a file is made, and said",
        {"m3.json": "[1]\n", "m4.json": "[\n"},
        [
            Call("replace", "m3.json", "[1]", "[1", text="[changed m3.json: 1 place, line 1, "
                 "but it no longer parses: invalid JSON at byte 2: not a value, or misplaced; "
                 "edit undo=true takes it back]\n"),
            Call("undo", "m3.json", text="[m3.json is as before the edit of TIME]\n"),
            Call("insert", "m4.json", 1, "1", text="[changed m4.json: 1 line put after line 1]\n"),
            fail("insert", "m4.json", 7, "1",
                 text="not changed: m4.json has 2 lines, there is no line 7\n"),
            Call("undo", "m4.json", text="[m4.json is as before the edit of TIME]\n"),
        ],
    ),
    (
        "a file is made, written over, and taken back",
        {"m5": "a\nb\n", "m5.bin": b"\0\xff\0"},
        [
            Call("create", "new/er/m6", "a\n", text="[created new/er/m6, 1 line; made new/]\n"),
            Call("undo", "new/er/m6", text="[new/er/m6 is removed, as before it was made at "
                 "TIME]\n"),
            fail("view", "new/er/m6", text="no file $W/new/er/m6. Near: $W/m5\n"),
            Call("replace", "m7", "", "x", text="[created m7, 1 line]\n"),
            Call("undo", "m7", text="[m7 is removed, as before it was made at TIME]\n"),
            Call("create", "m5", "c\n# ... rest of the file unchanged ...\n",
                 text="[replaced m5: 2 lines by 2, and it has a line that stands for left-out "
                 'code ("rest of the file unchanged"); if that is not meant: edit undo=true]\n'),
            Call("undo", "m5", text="[m5 is as before the edit of TIME]\n"),
            Call("view", "m5", text="1\ta\n2\tb\n[lines 1-2 of 2]\n"),
            Call("create", "m5.bin", "c", text="[replaced m5.bin: 1 line by 1]\n"),
            Call("undo", "m5.bin", text="[m5.bin is as before the edit of TIME]\n"),
            fail("create", "$W", "a", text="not written: $W is a directory\n"),
            fail("create", "m5/x", "a", text="not written: $W/m5 is a file\n"),
        ],
    ),
    (
        "lines that match",
        {"src/a.py": "one\ndef load(x):\ntwo\nthree\ndef load(y):\n", "src/b.c": "load\n",
         ".hidden": "secret load\n"},
        [
            Call("search", "def lo+ad", text="src/a.py\n2\tdef load(x):\n5\tdef load(y):\n"
                 "[2 matches in 1 of 2 files]\n"),
            Call("search", "load", "src", "*.c", text="src/b.c\n1\tload\n"
                 "[1 match in 1 of 1 file]\n"),
            Call("search", "(x)", "src/a.py", context=1, literal=True,
                 text="src/a.py\n1-\tone\n2\tdef load(x):\n3-\ttwo\n"
                 "[1 match in 1 of 1 file]\n"),
            Call("search", "load(x", text="(taken as plain text: missing closing parenthesis "
                 "at offset 6)\nsrc/a.py\n2\tdef load(x):\n[1 match in 1 of 2 files]\n"),
            Call("search", "def", context=1, limit=1, text="src/a.py\n1-\tone\n"
                 "2\tdef load(x):\n3-\ttwo\n[2 matches in 1 file, 1 shown; narrow the "
                 "pattern, or limit=1000]\n"),
            Call("search", "load", limit=2, text="src/a.py\n2\tdef load(x):\n"
                 "5\tdef load(y):\n[3 matches in 2 files, 2 shown; counts: src/a.py 2, "
                 "src/b.c 1; narrow with path or glob, or limit=1000]\n"),
            Call("search", "LOAD", text="[no match in 2 files; 3 with other case: "
                 "ignore_case=true]\n"),
            Call("search", "secret", text="[no match in 2 files; 1 in hidden or ignored files: "
                 "all=true]\n"),
            Call("search", "secret", all=True,
                 text=".hidden\n1\tsecret load\n[1 match in 1 of 3 files]\n"),
            Call("search", glob="*.c", text="src/b.c\n[1 file, newest first]\n"),
            Call("search", glob="*.rs", text="[no file is named *.rs]\n"),
        ],
    ),
    # ---- windows
    (
        "a small file is seen whole",
        {"f": "one\n\n two\n", "empty": "", "open": "no newline"},
        [
            Call("open_file", "f", text="[File: $W/f (3 lines total)]\n" + BEGIN
                 + "1|one\n2|\n3| two\n" + END),
            Call("goto_line", 3, text="[File: $W/f (3 lines total)]\n" + BEGIN
                 + "1|one\n2|\n3| two\n" + END),
            Call("open_file", "empty", text="[File: $W/empty (1 lines total)]\n" + BEGIN
                 + "1|\n" + END),
            Call("open_file", "$W/open", text="[File: $W/open (1 lines total)]\n" + BEGIN
                 + "1|no newline\n" + END),
        ],
    ),
    (
        "a window of a long file, and moved",
        {"long": LONG},
        [
            Call("open_file", "long", text=numbers(1, 100, 250) + MORE),
            Call("scroll_down", text=numbers(101, 201, 250)),
            Call("scroll_down", text=numbers(151, 250, 250)),
            Call("scroll_up", text=numbers(101, 201, 250)),
            Call("goto_line", 60, text=numbers(10, 110, 250)),
            Call("open_file", "long", 150, 4, text=numbers(148, 152, 250) + MORE),
            Call("open_file", "long", context_lines=2, line_number=2,
                 text=numbers(1, 2, 250) + MORE),
            Call("open_file", "long", 250, 10, text=numbers(241, 250, 250)),
            Call("open_file", "long", 1, 1000, text=numbers(1, 100, 250) + MORE),
        ],
    ),
    (
        "no file is open",
        {},
        [
            fail("goto_line", 1, text=NOT_OPEN),
            fail("scroll_down", text=NOT_OPEN),
            fail("scroll_up", text=NOT_OPEN),
            fail("search_file", "two", fresh=True, text="ERROR: No file specified or open. "
                 "Use the open_file function first.\n"),
        ],
    ),
    (
        "windows that there are none of",
        {"f": "one\ntwo\n"},
        [
            fail("open_file", "gone", text="ERROR: File gone not found.\n"),
            fail("open_file", "$W", text="ERROR: File $W not found.\n"),
            fail("open_file", "", text="ERROR: File  not found.\n"),
            fail("open_file", "f", 0, text="ERROR: Line number must be between 1 and 2\n"),
            fail("open_file", "f", 3, text="ERROR: Line number must be between 1 and 2\n"),
            Call("open_file", "f", text="[File: $W/f (2 lines total)]\n" + BEGIN
                 + "1|one\n2|two\n" + END),
            fail("goto_line", 3, text="ERROR: Line number must be between 1 and 2.\n"),
            fail("goto_line", -1, text="ERROR: Line number must be between 1 and 2.\n"),
        ],
    ),
    # ---- searches
    (
        "search_dir",
        TREE,
        [
            Call("search_dir", "hit", "d", text='[Found 2 matches for "hit" in d]\n'
                 "d/a (Line 1): hit\nd/sub/b.txt (Line 2): a hit\n"
                 '[End of matches for "hit" in d]\n'),
            Call("search_dir", "miss", text='[Found 1 matches for "miss" in ./]\n'
                 './d/a (Line 2): miss\n[End of matches for "miss" in ./]\n'),
            Call("search_dir", "h.t", "d", text='No matches found for "h.t" in d\n'),
            fail("search_dir", "x", "gone", text="ERROR: Directory gone not found\n"),
        ],
    ),
    (
        "search_dir, too much of it",
        {f"m/{i}": "hit\n" for i in range(101)},
        [
            Call("search_dir", "hit", "m", text='More than 101 files matched for "hit" in m. '
                 "Please narrow your search.\n"),
        ],
    ),
    (
        "search_file",
        {"f": "one\n  two\nand two\n"},
        [
            Call("search_file", "two", "f", text='[Found 2 matches for "two" in f]\n'
                 'Line 2: two\nLine 3: and two\n[End of matches for "two" in f]\n'),
            Call("search_file", "x", "f", text='[No matches found for "x" in f]\n'),
            fail("search_file", "x", "gone", text="ERROR: File gone not found.\n"),
            Call("open_file", "f", text="[File: $W/f (3 lines total)]\n" + BEGIN
                 + "1|one\n2|  two\n3|and two\n" + END),
            Call("search_file", "one", text='[Found 1 matches for "one" in $W/f]\n'
                 'Line 1: one\n[End of matches for "one" in $W/f]\n'),
        ],
    ),
    (
        "find_file",
        TREE,
        [
            Call("find_file", "b", "d", text='[Found 1 matches for "b" in d]\nd/sub/b.txt\n'
                 '[End of matches for "b" in d]\n'),
            Call("find_file", "b.t", text='[Found 1 matches for "b.t" in ./]\n'
                 './d/sub/b.txt\n[End of matches for "b.t" in ./]\n'),
            Call("find_file", "none", "d", text='[No matches found for "none" in d]\n'),
            fail("find_file", "b", "gone", text="ERROR: Directory gone not found\n"),
        ],
    ),
    (
        "glob and grep",
        TREE,
        [
            Call("glob", "*.txt", text="Found 1 file(s) matching pattern '*.txt' in '$W':\n"
                 "$W/d/sub/b.txt\n"),
            Call("glob", "*.c", "d", text="No files found matching pattern '*.c' in directory "
                 "'$W/d'\n"),
            fail("glob", "*", "gone", text="ERROR: Search path '$W/gone' is not a valid "
                 "directory\n"),
            Call("grep", "A H.T", text="Found 1 file(s) containing pattern 'A H.T' in '$W':\n"
                 "$W/d/sub/b.txt\n"),
            Call("grep", "hit", "d", include="*.c", text="No files found containing pattern "
                 "'hit' in directory '$W/d' (filtered by '*.c')\n"),
            fail("grep", "x", "gone", text="ERROR: Search path '$W/gone' is not a valid "
                 "directory\n"),
            fail("grep", "(", text='ERROR: Invalid regex pattern: "(" is not a regular '
                 "expression: missing closing parenthesis at offset 1\n"),
        ],
    ),
    # ---- the edits of 2024
    (
        "create_file and append_file",
        {},
        [
            Call("create_file", "n", text="[File: $W/n (1 lines total)]\n" + BEGIN + "1|\n"
                 + END + "[File n created.]\n"),
            fail("create_file", "n", text="ERROR: File 'n' already exists.\n"),
            Call("append_file", "n", "a\n  b", text="[File: $W/n (2 lines total after edit)]\n"
                 + BEGIN + "1|a\n2|  b\n" + END + UPDATED % 1),
            Call("append_file", "n", "c\n", text="[File: $W/n (3 lines total after edit)]\n"
                 + BEGIN + "1|a\n2|  b\n3|c\n" + END + UPDATED % 2),
            fail("append_file", "gone", "x", text="ERROR: File gone not found.\n"),
        ],
    ),
    (
        "insert_content_at_line",
        {"f": "a\nb\n"},
        [
            Call("insert_content_at_line", "f", 2, "x\ny",
                 text="[File: $W/f (4 lines total after edit)]\n" + BEGIN
                 + "1|a\n2|x\n3|y\n4|b\n" + END + UPDATED % 2),
            Call("goto_line", 1, text="[File: $W/f (4 lines total)]\n" + BEGIN
                 + "1|a\n2|x\n3|y\n4|b\n" + END),
            fail("insert_content_at_line", "f", 9, "z",
                 text="[Error editing file f. Please confirm the file is correct.]\n"
                 "Invalid line number: 9. Line numbers must be between 1 and 4 "
                 "(inclusive).\nYour changes have NOT been applied. Please fix your edit "
                 "command and try again.\nYou either need to 1) Open the correct file and "
                 "try again or 2) Specify the correct line number arguments.\nDO NOT "
                 "re-run the same failed edit command. Running it again will lead to the "
                 "same error.\n"),
            fail("insert_content_at_line", "gone", 1, "z", text="ERROR: File gone not found.\n"),
        ],
    ),
    (
        "edit_file_by_replace",
        {"f": "a\nb\na\nc\n"},
        [
            Call("edit_file_by_replace", "f", "b", "B\nB",
                 text="[File: $W/f (5 lines total after edit)]\n" + BEGIN
                 + "1|a\n2|B\n3|B\n4|a\n5|c\n" + END + UPDATED % 2),
            fail("edit_file_by_replace", "f", "zz", "y", text="[No exact match found in f "
                 "for\n```\nzz\n```\n]\n"),
            fail("edit_file_by_replace", "f", "a", "y", text="ERROR: `to_replace` appears "
                 "more than once, please include enough lines to make code in `to_replace` "
                 "unique.\n"),
            fail("edit_file_by_replace", "f", " \n", "y",
                 text="ERROR: `to_replace` must not be empty.\n"),
            fail("edit_file_by_replace", "f", "a", "a",
                 text="ERROR: `to_replace` and `new_content` must be different.\n"),
            fail("edit_file_by_replace", "gone", "a", "b", text="ERROR: File gone not found.\n"),
        ],
    ),
    # ---- file_editor
    (
        "file_editor: create, view, str_replace, insert, undo_edit",
        {},
        [
            edit("create", "$W/e", "File created successfully at: $W/e", file_text="a\nb\tb\n",
                 new="a\nb\tb\n"),
            edit("view", "$W/e", NUMBERED + "$W/e:\n     1\ta\n     2\tb\tb\n     3\t\n"),
            edit("view", "$W/e", NUMBERED + "$W/e:\n     2\tb\tb\n", view_range=[2, -1]),
            edit("view", "$W/e", "NOTE: We only show up to 2 since there're only 2 lines in "
                 "this file.\n" + NUMBERED + "$W/e:\n     1\ta\n     2\tb\tb\n",
                 view_range=[1, 9]),
            edit("str_replace", "$W/e", "The file $W/e has been edited. " + NUMBERED
                 + "a snippet of $W/e:\n     1\ta\n     2\tc\n     3\t\n" + REVIEW
                 + ". Edit the file again if necessary.", old_str="b\tb", new_str="c",
                 old="a\nb\tb\n", new="a\nc\n"),
            edit("insert", "$W/e", "The file $W/e has been edited. " + NUMBERED
                 + "a snippet of the edited file:\n     1\ta\n     2\tx\n     3\tc\n     4\t\n"
                 + REVIEW + " (correct indentation, no duplicate lines, etc). Edit the file "
                 "again if necessary.", insert_line=1, new_str="x", old="a\nc\n",
                 new="a\nx\nc\n"),
            edit("undo_edit", "$W/e", "Last edit to $W/e undone successfully. " + NUMBERED
                 + "$W/e:\n     1\ta\n     2\tc\n     3\t\n", old="a\nx\nc\n", new="a\nc\n"),
            edit("undo_edit", "$W/e", "Last edit to $W/e undone successfully. " + NUMBERED
                 + "$W/e:\n     1\ta\n     2\tb\tb\n     3\t\n", old="a\nc\n",
                 new="a\nb\tb\n"),
        ],
    ),
    (
        "file_editor: a folder, and documents",
        {"w/sub/f": "", "w/.no": "", "w/t.txt": "", "a.docx": docx("One", "Two"),
         "bad.docx": "x", "a.pdf": pdf("Hello", "again"), "a.wav": "RIFF"},
        [
            edit("view", "$W/w", "Here's the files and directories up to 2 levels deep in "
                 "$W/w, excluding hidden items:\n$W/w/\n$W/w/sub/\n$W/w/sub/f\n$W/w/t.txt\n\n"
                 "1 hidden files/directories in this directory are excluded. You can use "
                 "'ls -la $W/w' to see them."),
            edit("view", "$W/a.docx", "Here's the content of the file $W/a.docx displayed in "
                 "Markdown format:\nOne\n\nTwo\n"),
            edit("view", "$W/a.pdf", "Here's the content of the file $W/a.pdf displayed in "
                 "Markdown format:\n<!-- Page number: 1 -->\nHello\n\n<!-- Page number: 2 "
                 "-->\nagain\n"),
            edit("view", "$W/a.wav", "Here's the content of the file $W/a.wav displayed in "
                 "Markdown format:\nType: audio/wav\nBytes: 4\n[A transcript needs a model for "
                 "speech: none is available.]\n"),
            edit("view", "$W/bad.docx", "ERROR:\nError in converting file to Markdown: cannot "
                 "read $W/bad.docx: not a zip archive, or a damaged one: there is no end of "
                 "central directory. Please use Python code to read $W/bad.docx"),
            edit("insert", "$W/a.docx", "ERROR:\nInvalid `path` parameter: $W/a.docx. The path "
                 "$W/a.docx points to a binary file (.docx) and only the `view` command can "
                 "be used on supported binary files.", insert_line=1, new_str="x"),
        ],
    ),
    (
        "file_editor: what is wrong",
        {"never": "a\na\n", "zeros": NEEDLE * 100},
        [
            edit("view", "$W/never", "ERROR:\nInvalid `view_range` parameter: [3, 4]. Its first "
                 "element `3` should be within the range of lines of the file: [1, 2].",
                 view_range=[3, 4]),
            edit("view", "$W/never", "ERROR:\nInvalid `view_range` parameter: [2, 1]. Its second "
                 "element `1` should be greater than or equal to the first element `2`.",
                 view_range=[2, 1]),
            edit("view", "$W/never", "ERROR:\nInvalid `view_range` parameter: [1]. It should be a "
                 "list of two integers.", view_range=[1]),
            edit("view", "$W", "ERROR:\nInvalid `view_range` parameter: [1, 2]. The "
                 "`view_range` parameter is not allowed when `path` points to a directory.",
                 view_range=[1, 2]),
            edit("view", "$W/zeros", "ERROR:\nFile validation failed for $W/zeros: File appears "
                 "to be binary and this file type cannot be read or edited by this tool."),
            edit("create", "$W/never", "ERROR:\nInvalid `path` parameter: $W/never. File already exists "
                 "at: $W/never. Cannot overwrite files using command `create`.", file_text="x"),
            edit("create", "$W/g", "ERROR:\nParameter `file_text` is required for command: "
                 "create."),
            edit("create", "$W/no/g", "ERROR:\nRan into [Errno 2] No such file or directory: "
                 "'$W/no/g' while trying to write to $W/no/g", file_text="x"),
            edit("view", "$W/gone", "ERROR:\nInvalid `path` parameter: $W/gone. The path "
                 "$W/gone does not exist. Please provide a valid path."),
            edit("insert", "$W", "ERROR:\nInvalid `path` parameter: $W. The path $W is a "
                 "directory and only the `view` command can be used on directories.",
                 insert_line=0, new_str="x"),
            edit("str_replace", "$W/never", "ERROR:\nParameter `old_str` is required for command: "
                 "str_replace.", new_str="x"),
            edit("str_replace", "$W/never", "ERROR:\nNo replacement was performed, old_str `zz` did "
                 "not appear verbatim in $W/never.", old_str="zz", new_str="y"),
            edit("str_replace", "$W/never", "ERROR:\nNo replacement was performed. Multiple "
                 "occurrences of old_str `a` in lines [1, 2]. Please ensure it is unique.",
                 old_str="a", new_str="y"),
            edit("str_replace", "$W/never", "ERROR:\nInvalid `new_str` parameter: a. No replacement "
                 "was performed. `new_str` and `old_str` must be different.", old_str="a",
                 new_str="a"),
            edit("insert", "$W/never", "ERROR:\nParameter `insert_line` is required for command: "
                 "insert.", new_str="x"),
            edit("insert", "$W/never", "ERROR:\nParameter `new_str` is required for command: "
                 "insert.", insert_line=1),
            edit("insert", "$W/never", "ERROR:\nInvalid `insert_line` parameter: 3. It should be "
                 "within the range of allowed values: [0, 2]", insert_line=3, new_str="x"),
            edit("undo_edit", "$W/never", "ERROR:\nNo edit history found for $W/never."),
            edit("erase", "$W/never", "ERROR:\nUnrecognized command erase. The allowed commands for "
                 "the oh_editor tool are: view, create, str_replace, insert, undo_edit"),
        ],
    ),
    # ---- documents
    (
        "documents as text",
        {"a.pdf": pdf("Hello", "again"), "a.docx": docx("One", "Two"),
         "a.pptx": pptx("First", "Second"), "a.tex": "\\section{Top}\nWords.\n",
         "a.html": "<h1>Top</h1><p>Words.</p>",
         "a.ipynb": '{"nbformat":4,"cells":[{"cell_type":"code","source":["1+1"],"outputs":'
         '[{"output_type":"stream","text":["2\\n"]}]}]}'},
        [
            Call("parse_pdf", "a.pdf", text="[Reading PDF file from a.pdf]\n@@ Page 1 @@\n"
                 "Hello\n\n@@ Page 2 @@\nagain\n"),
            Call("parse_docx", "a.docx", text="[Reading DOCX file from a.docx]\n"
                 "@@ Page 1 @@\nOne\n\n@@ Page 2 @@\nTwo\n\n\n"),
            Call("parse_pptx", "a.pptx", text="[Reading PowerPoint file from a.pptx]\n"
                 "@@ Slide 1 @@\nFirst\n@@ Slide 2 @@\nSecond\n"),
            Call("parse_latex", "a.tex", text="[Reading LaTex file from a.tex]\n§ Top\n\n"
                 "Words.\n"),
            Call("parse_html", "a.html", text="[Reading HTML file from a.html]\nTop\n\n"
                 "Words.\n"),
            Call("parse_ipynb", "a.ipynb", text="[Reading notebook file from a.ipynb]\n"
                 "@@ Cell 1 (code) @@\n1+1\nOutput:\n2\n"),
        ],
    ),
    (
        "facts of media",
        {"a.png": PNG, "a.mp3": "x", "a.mp4": "y"},
        [
            Call("parse_image", "a.png", text="[Reading image file from a.png]\n"
                 "Type: image/png\nSize: 640 x 480 pixels\nBytes: 24\n[A description of it "
                 "needs a model that sees: none is available. The data URL can be given to one.]\n"
                 + url("image/png", PNG)),
            Call("parse_audio", "a.mp3", text="[Transcribing audio file from a.mp3]\n"
                 "Type: audio/mpeg\nBytes: 1\n[A transcript needs a model for speech: none is "
                 "available. The data URL can be given to one.]\n" + url("audio/mpeg", b"x")),
            Call("parse_video", "a.mp4", frame_interval=7,
                 text="[Processing video file from a.mp4 with frame interval 7]\n"
                 "Type: video/mp4\nBytes: 1\n[A description of it needs a model that sees: "
                 "none is available. The data URL can be given to one.]\n" + url("video/mp4", b"y")),
        ],
    ),
    (
        "documents that are none",
        {"x": "x"},
        [
            fail("parse_pdf", "x", text="ERROR: cannot read x: it does not begin with %PDF-\n"),
            fail("parse_docx", "x", text="ERROR: cannot read x: not a zip archive, or a damaged "
                 "one: there is no end of central directory\n"),
            fail("parse_pptx", "x", text="[Reading PowerPoint file from x]\nError reading "
                 "PowerPoint file: cannot read x: not a zip archive, or a damaged one: there is "
                 "no end of central directory\n"),
            fail("parse_ipynb", "x", text="ERROR: cannot read x: invalid JSON at byte 0: no value begins so\n"),
            fail("parse_pptx", "gone", text="[Reading PowerPoint file from gone]\nError reading "
                 f"PowerPoint file: {GONE}\n"),
            *[
                fail(f"parse_{kind}", "gone", text=f"ERROR: {GONE}\n")
                for kind in "pdf docx latex html ipynb image audio video".split()
            ],
            fail("parse_pdf", "", text="ERROR: File  not found.\n"),
        ],
    ),
    # ---- arguments of another kind
    (
        "arguments that are none",
        {"f": "one\n"},
        [
            Bad("open_file", {"path": 7}, "open_file: path must be a string"),
            Bad("open_file", {"path": "f", "line_number": "x"},
                "open_file: line_number must be a whole number"),
            Bad("open_file", {"path": "f", "line_number": 1.5},
                "open_file: line_number must be a whole number"),
            Bad("goto_line", {"line_number": None},
                "goto_line needs an argument line_number: the line in the middle of the window"),
            Bad("find_file", {"file_name": ["b"]}, "find_file: file_name must be a string"),
            Bad("file_editor", {"command": "view", "path": "/", "view_range": "1"},
                "file_editor: view_range must be a list of whole numbers"),
            Bad("file_editor", {"command": "view", "path": "/", "enable_linting": "no"},
                "file_editor: enable_linting must be true or false"),
        ],
    ),
]
