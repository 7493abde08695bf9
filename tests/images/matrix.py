# SPDX-License-Identifier: MIT
"""matrix.py IMAGE ARCHIVE RESULTS [PATTERN]: the cells of one image, two at a time, a line
of TAP for each check of each; FULL=1: every cell there can be, not only the cover's; OD_TEST_WAYS, a list, has only those ways.
RESULTS, a file, gets the same for the table: [cell, check, outcome] in JSON, where the
outcome is null or why the check did not hold."""
import concurrent.futures
import json
import os
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
    name, archive, file = sys.argv[1:4]
    cells.only_ways(os.environ.get("OD_TEST_WAYS", "").split())
    pattern = sys.argv[4] if len(sys.argv) > 4 else ""
    full = os.environ.get("FULL", "") not in ("", "0")
    mine = [cell for cell in (cells.possible() if full else cells.cover()) if cell[0] == name]
    mine = [cell for cell in mine if pattern in " ".join(cell)]
    tap, results = Tap(), []
    container.setup()
    image = container.Image(name, archive)
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        for cell in mine:
            threads.submit(run_cell, tap, image, cell, results)
    with open(file + ".new", "w") as out:
        json.dump(results, out, indent=0)
    os.replace(file + ".new", file)
    sys.exit(tap.done())


main()
