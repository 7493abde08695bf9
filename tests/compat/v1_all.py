# SPDX-License-Identifier: MIT
"""v1_all.py MODULES [PATTERN]: the rows of these modules whose names have PATTERN."""
import importlib
import sys

from tap import Tap, run_rows
from v1_server import fixture

pattern = sys.argv[2] if len(sys.argv) > 2 else ""
tap = Tap()
work = []
for name in sys.argv[1].split(","):
    for row in importlib.import_module(name).row:
        if pattern in f"{name}: {row.name}":
            work.append((name, row, fixture))
run_rows(tap, work, at_once=6)
sys.exit(tap.done())
