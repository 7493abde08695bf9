#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""table.py FOLDER [README]: what the cells of the last run came to, out of the FOLDER into
which they wrote it. Writes FOLDER/table.md, every cell by every check, with date and
commit; in README, what is between the two comments "images" becomes the short form."""
import datetime
import json
import pathlib
import re
import subprocess
import sys

import cells

FINE = "✓"


def read(folder):
    """{cell: {check: None or why not}}"""
    found = {}
    for image in cells.IMAGES:
        file = folder / f"{image}.json"
        if file.exists():
            for cell, name, why in json.loads(file.read_text()):
                found.setdefault(tuple(cell), {})[name] = why
    return found


def lines_of(rows):
    rows = [list(row) for row in rows]
    rows.insert(1, ["---"] * len(rows[0]))
    return [("| " + " | ".join(row) + " |").replace("|  |", "| |") for row in rows]


def whole(found):
    names = list(dict.fromkeys(name for got in found.values() for name in got))
    head = ["image", "condition", "way", *names]
    rows = [[*cell, *(FINE if got.get(n, n) is None else "**no**" for n in names)]
            for cell, got in found.items()]
    return lines_of([head, *rows])


def outcome(found, image, condition):
    """One field of the short form: all ways of one image under one condition."""
    ways = {cell[2]: got for cell, got in found.items() if cell[:2] == (image, condition)}
    if not ways:
        return "–"
    bad = sorted({name for got in ways.values() for name, why in got.items() if why is not None})
    return ", ".join(bad) if bad else FINE


def short(found):
    head = ["", *cells.CONDITIONS]
    rows = [[image, *(outcome(found, image, condition) for condition in cells.CONDITIONS)]
            for image in cells.IMAGES]
    return lines_of([head, *rows])


def caption(found):
    when = datetime.date.today().isoformat()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    fine = sum(all(why is None for why in got.values()) for got in found.values())
    return f"{fine} of {len(found)} cells hold; {when}, commit {commit.stdout.strip() or 'unknown'}."


def main():
    folder = pathlib.Path(sys.argv[1])
    found = read(folder)
    if not found:
        sys.exit(f"table.py: no results in {folder}: run make test-images first")
    notes = [f"- {name}: {what}" for name, what in (cells.CONDITIONS | cells.WAYS).items()]
    cannot = [f"- {' '.join(cell)}: {why}" for cell, why in cells.cannot()]
    text = [caption(found), "", *whole(found), "", *notes, "", "Not there:", "", *cannot]
    (folder / "table.md").write_text("\n".join(text) + "\n")
    if len(sys.argv) > 2:
        readme = pathlib.Path(sys.argv[2])
        new = "\n".join([*short(found), "", caption(found)])
        between = r"(<!-- images -->\n).*?(<!-- /images -->)"
        was = readme.read_text()
        if not re.search(between, was, re.S):
            sys.exit(f'table.py: {readme} has no comments "images" to write between')
        readme.write_text(re.sub(between, lambda m: f"{m[1]}{new}\n{m[2]}", was, flags=re.S))


if __name__ == "__main__":
    main()
