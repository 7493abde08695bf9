#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""webpages.py [FOLDER]: how well pages are read without a browser, and how fast.

Pages are the largest HTML files of Debian packages (apt-get download, unpacked into
FOLDER, by default a new one that is removed), PER_PACKAGE of each. Pairs of neighbouring
words are compared with those of w3m -dump: the part of theirs that ours has too; lynx
-dump against w3m shows what two that are both right differ in. Numbers of links and
marks of Markdown are taken out before. Time is that of the processor, memory the most
that was resident, of whole processes, taken in turn.

Needs w3m, lynx, busybox, apt-get and dpkg-deb. The last lines are "KEY NUMBER", for run.sh.
"""

import os
import re
import subprocess
import sys
import tempfile

import documents

documents.PACKAGES = """apache2-doc bash-doc debian-policy debian-reference-en
    developers-reference doxygen-doc git-doc nodejs-doc postgresql-doc-15 python3.11-doc
    sqlite3-doc valgrind zsh-doc""".split()
READER = os.path.join(documents.ROOT, "out", os.uname().machine + "-release", "bench",
                      "webpage")
PER_PACKAGE = 3
W3M = "w3m -dump -cols 250 -T text/html -I UTF-8 -O UTF-8".split()
LYNX = "lynx -dump -nolist -width=990 -force_html -assume_charset=utf-8 " \
       "-display_charset=utf-8".split()
UTF8 = dict(os.environ, LC_ALL="C.UTF-8")


def run(*command):
    """Its output, the seconds of processor time, and its memory in KiB."""
    # A child of ours would begin with the memory that we have had.
    command = ("busybox", "time", "-f", "\n%M", *command)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, stdout=out, stderr=said,
                                 stdin=subprocess.DEVNULL, env=UTF8)
        _, _, used = os.wait4(child.pid, 0)
        child.returncode = 0
        out.seek(0)
        said.seek(0)
        return (out.read().decode("utf-8", "replace"), used.ru_utime + used.ru_stime,
                int(said.read().split()[-1]))


def plain(markdown):
    """Its words as a page shows them."""
    text = re.sub(r"\]\[\d+\]", "]", markdown)
    text = re.sub(r"(?m)^\[\d+\]: .*$", "", text)
    text = re.sub(r"\[\d+: \w+ ?", "[", text)
    return re.sub(r"\\(.)", r"\1", text)


def pairs(text):
    return documents.pairs(text.replace("_", " "))


def pages(folder):
    for package in documents.PACKAGES:
        found = [p for p in documents.files(os.path.join(folder, package), (".html", ".htm"))
                 if os.path.getsize(p) < 4_000_000]
        yield from sorted(found, key=os.path.getsize)[-PER_PACKAGE:]


def main():
    with tempfile.TemporaryDirectory() as new:
        folder = sys.argv[1] if len(sys.argv) > 1 else new
        os.makedirs(folder, exist_ok=True)
        documents.fetch(folder)
        rows = []
        for path in pages(folder):
            ours, w3m, lynx = run(READER, path), run(*W3M, path), run(*LYNX, path)
            wanted = pairs(w3m[0])
            if sum(wanted.values()) < documents.LEAST_WORDS:
                continue
            rows.append((documents.part(wanted, pairs(plain(ours[0]))),
                         documents.part(wanted, pairs(lynx[0])), ours, w3m, lynx, path))
    rows.sort(key=lambda r: r[0])
    for row in rows[:6]:
        print(f"# {100 * row[0]:6.2f} %, lynx {100 * row[1]:6.2f} %  "
              f"{os.path.relpath(row[5], folder)}")
    count = len(rows)
    print("pages", count)
    print(f"pairs {100 * sum(r[0] for r in rows) / count:.2f}")
    print(f"pairs_lynx {100 * sum(r[1] for r in rows) / count:.2f}")
    for at, name in ((2, "ours"), (3, "w3m"), (4, "lynx")):
        print(f"time_{name} {1000 * sum(r[at][1] for r in rows) / count:.1f}")
        print(f"memory_{name} {max(r[at][2] for r in rows)}")
        print(f"memory_{name}_mean {sum(r[at][2] for r in rows) / count:.0f}")


if __name__ == "__main__":
    main()
