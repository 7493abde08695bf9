#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""documents.py [FOLDER]: how well documents are read, and how fast.

PDF files are those of Debian's -doc packages (apt-get download, unpacked into
FOLDER, by default a new one that is removed): of each producer that a file names,
the middle one by size of the first six. Word files are made by pandoc of the HTML
pages in the same packages. Pairs of neighbouring words are compared with those of
pdftotext and of pandoc: the part of theirs that ours has too. pdftotext's two ways
of ordering (as usual, and -raw) are compared with each other, for what a table of
contents or a table can cost between two that are both right. Time is that of the
processor, of whole processes, taken in turn.

Needs pdftotext and pdfinfo (poppler-utils), pandoc, apt-get and dpkg-deb.
"""

import collections
import os
import re
import resource
import subprocess
import sys
import tempfile
import unicodedata

PACKAGES = """asymptote-doc avr-libc bash-doc cimg-doc debian-policy debian-reference-en
    debmake-doc developers-reference doxygen-doc elk-lapw gnuplot-doc gretl-doc groff
    installation-guide-amd64 iproute2-doc kicad-doc-en lilypond-doc-pdf maxima-doc
    menhir-doc mpich-doc mummer-doc ne-doc ngspice-doc octave-doc phylip-doc plplot-doc
    python-reportlab-doc r-doc-pdf sdcc-doc swi-prolog-doc texlive-latex-base-doc
    texlive-latex-recommended-doc texlive-publishers-doc valgrind zsh-doc""".split()
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
READER = os.path.join(ROOT, "out", os.uname().machine + "-release", "bench", "docread")
LEAST_WORDS, WORD_FILES = 200, 40


def run(*command):
    """Its output and the seconds of processor time it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          timeout=120, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return done.stdout.decode("utf-8", "replace"), spent


def words(text):
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).lower())


def pairs(text):
    all_of_them = words(text)
    return collections.Counter(zip(all_of_them, all_of_them[1:]))


def part(theirs, ours):
    return sum((theirs & ours).values()) / max(1, sum(theirs.values()))


def our_text(path):
    text, spent = run(READER, path)
    text = text.partition("\n")[2]
    return re.sub(r"(?m)^@@ (Page|Slide) \d+ @@$", "", text), spent


def fetch(folder):
    for package in PACKAGES:
        target = os.path.join(folder, package)
        if os.path.isdir(target):
            continue
        with tempfile.TemporaryDirectory() as deb:
            os.chmod(deb, 0o755)
            subprocess.run(["apt-get", "-qq", "download", package], cwd=deb, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for name in os.listdir(deb):
                subprocess.run(["dpkg-deb", "-x", os.path.join(deb, name), target],
                               check=False)
        if not os.path.isdir(target):
            print("not to be had:", package, file=sys.stderr)


def files(folder, endings):
    for where, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(where, name)
            if os.path.islink(path):
                continue
            if name.endswith(".gz") and name[:-3].endswith(endings):
                subprocess.run(["gunzip", "-f", path], check=False)
                path = path[:-3]
            if path.endswith(endings) and os.path.isfile(path):
                yield path


def by_producer(folder):
    found = collections.OrderedDict()
    for path in files(folder, ".pdf"):
        match = re.search(r"(?m)^Producer: *(\S.*)$", run("pdfinfo", path)[0])
        if match:
            found.setdefault(match.group(1), []).append(path)
    for producer, paths in sorted(found.items()):
        paths = sorted(paths[:6], key=os.path.getsize)
        yield producer, paths[len(paths) // 2]


def show(title, rows, folder):
    """rows: part, other part, pairs, our seconds, theirs, name, path, and more."""
    rows.sort()
    count = len(rows)
    print(f"\n{title}: {count} documents, {sum(r[2] for r in rows)} pairs of words")
    print(f"  of theirs, ours has {100 * sum(r[0] for r in rows) / count:.2f} % on average,"
          f" {100 * rows[count // 2][0]:.2f} % in the middle,"
          f" {100 * sum(r[0] * r[2] for r in rows) / sum(r[2] for r in rows):.2f} % of all pairs")
    if rows[0][1] is not None:
        print(f"  pdftotext -raw has {100 * sum(r[1] for r in rows) / count:.2f} % of pdftotext's,"
              f" on average; ours has {100 * sum(r[7] for r in rows) / count:.2f} % of -raw's")
        print(f"  of their single words, in whatever order, ours has"
              f" {100 * sum(r[8] for r in rows) / count:.2f} % on average")
    ours, theirs = sum(r[3] for r in rows), sum(r[4] for r in rows)
    print(f"  processor time: ours {ours:.2f} s, theirs {theirs:.2f} s, ratio"
          f" {ours / theirs:.2f}")
    for row in rows[:5]:
        print(f"  {100 * row[0]:6.2f} %  {row[5][:32]:32} {os.path.relpath(row[6], folder)}")


def pdf(folder):
    rows = []
    for producer, path in by_producer(folder):
        text, theirs = run("pdftotext", "-enc", "UTF-8", path, "-")
        wanted = pairs(text)
        if sum(wanted.values()) < LEAST_WORDS:
            continue
        raw = pairs(run("pdftotext", "-raw", "-enc", "UTF-8", path, "-")[0])
        our, ours = our_text(path)
        got = pairs(our)
        single = part(collections.Counter(words(text)), collections.Counter(words(our)))
        rows.append((part(wanted, got), part(wanted, raw), sum(wanted.values()), ours, theirs,
                     producer, path, part(raw, got), single))
    show("PDF, against pdftotext", rows, folder)


def docx(folder):
    rows = []
    made = os.path.join(folder, "made.docx")
    pages = [p for p in files(folder, (".html",)) if 4000 < os.path.getsize(p) < 400000]
    for path in pages[::max(1, len(pages) // WORD_FILES)]:
        run("pandoc", path, "-o", made)
        if not os.path.exists(made):
            continue
        text, theirs = run("pandoc", "-t", "plain", "--wrap=none", made)
        wanted = pairs(text)
        our, ours = our_text(made)
        os.remove(made)
        if sum(wanted.values()) >= LEAST_WORDS:
            rows.append((part(wanted, pairs(our)), None, sum(wanted.values()), ours, theirs,
                         "pandoc", path))
    show("Word, against pandoc", rows, folder)


def main():
    subprocess.run(["make", "--no-print-directory", "-s", "-f", "Makefile", "-f",
                    "tests/bench/bench.mk", os.path.relpath(READER, ROOT)], cwd=ROOT,
                   check=True, stdout=sys.stderr)
    with tempfile.TemporaryDirectory() as new:
        folder = sys.argv[1] if len(sys.argv) > 1 else new
        os.makedirs(folder, exist_ok=True)
        fetch(folder)
        pdf(folder)
        docx(folder)


if __name__ == "__main__":
    main()
