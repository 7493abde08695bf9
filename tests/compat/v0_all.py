# SPDX-License-Identifier: MIT
"""v0_all.py [PATTERN]: the rows of all v0_*.py whose names have PATTERN in them,
for each user that is possible here."""
import sys

import v0_again
import v0_bad
import v0_edit
import v0_files
import v0_paths
import v0_rows
import v0_session
import v0_words
from tap import Tap, run_rows
from v0_server import server_for, users

pattern = sys.argv[1] if len(sys.argv) > 1 else ""
tap = Tap()
possible, why = users()
work = []
for module in (v0_session, v0_rows, v0_words, v0_paths, v0_files, v0_edit, v0_bad, v0_again):
    for row in module.row:
        for user in possible:
            if pattern in f"{user.name}: {row.name}":
                work.append((user.name, row, server_for(user)))
for name, reason in why.items():
    tap.line(True, f"{name}: all rows", skip=reason)
run_rows(tap, work)
sys.exit(tap.done())
