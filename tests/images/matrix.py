# SPDX-License-Identifier: MIT
"""matrix.py ARCHIVE IMAGE [PATTERN]: the cells of one image, two at a time, a line
of TAP for each check of each; FULL=1: every cell there can be, not only the cover's.
out/test/images/IMAGE.json gets the same for the table: [cell, check, outcome], where the
outcome is null or why the check did not hold."""
import concurrent.futures
import json
import os
import pathlib
import sys
import traceback

import cells
import container
from checks import check
from tap import Tap, short


def run_cell(tap, image, cell, results):
    name = " ".join(cell)
    rows = list(check)
    try:
        with container.Container(image, cell[1], cell[2]) as box:
            while rows:
                rows[0].function(box)
                tap.line(True, f"{name}: {rows[0].name}")
                results.append([cell, rows.pop(0).name, None])
    except Exception as error:
        log = getattr(error, "log", "")
        notes = short(traceback.format_exc()) + short("log: " + log)[-20:]
        for row in rows:
            tap.line(False, f"{name}: {row.name}", notes)
            results.append([cell, row.name, str(error)[:300]])
            notes = ["not come to"]


def main():
    archive, name, pattern = (sys.argv + [""])[1:4]
    full = os.environ.get("FULL", "") not in ("", "0")
    mine = [cell for cell in (cells.possible() if full else cells.cover()) if cell[0] == name]
    mine = [cell for cell in mine if pattern in " ".join(cell)]
    tap, results = Tap(), []
    container.setup()
    image = container.Image(name, archive)
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        for cell in mine:
            threads.submit(run_cell, tap, image, cell, results)
    if not pattern:
        folder = pathlib.Path(os.environ["ROOT"]) / "out/test/images"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps(results, indent=0))
    sys.exit(tap.done())


main()
