# SPDX-License-Identifier: MIT
"""cast.py FILE.cast >FILE.svg: a recording (asciicast v2) as a picture that plays by itself.

Only text and ends of lines: a recording that moves the cursor is an error."""
import html
import json
import re
import sys

SIZE, WIDE, HIGH = 14, 8.43, 20  # pixels: a font, its character, a line
PAUSE = 4  # seconds after the end, before it begins again

with open(sys.argv[1], encoding="utf-8") as f:
    head, *events = [json.loads(line) for line in f]
if head["version"] != 2:
    sys.exit("cast.py: this is no asciicast v2")

parts, row, column, wide = [], 0, 0, 0
for at, kind, text in events:
    if kind != "o":
        continue
    for piece in re.split("(\r?\n)", text):
        if piece in ("\n", "\r\n"):
            row, column = row + 1, 0
        elif re.search("[\0-\x1f]", piece):
            sys.exit("cast.py: cannot draw %r" % piece)
        elif piece:
            parts.append((at, row, column, piece))
            column += len(piece)
            wide = max(wide, column)

last = max(at for at, *_ in parts)
total = last + PAUSE
print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d">'
      % (wide * WIDE + 32, (row + 1) * HIGH + 24, wide * WIDE + 32))
print("<style>")
print("text { font: %dpx ui-monospace, Menlo, Consolas, monospace; fill: #d6deeb;"
      " white-space: pre }" % SIZE)
print(".typed { fill: #9ece6a }")
print("@media (prefers-reduced-motion: no-preference) {")
print("  text { animation: %.2fs step-end infinite }" % total)
for i, at in enumerate(sorted({at for at, *_ in parts})):
    if at > 0:
        print("  .t%d { animation-name: k%d }" % (i, i))
        print("  @keyframes k%d { 0%% { opacity: 0 } %.3f%% { opacity: 1 } }"
              % (i, 100 * at / total))
print("}\n</style>")
print('<rect width="100%" height="100%" rx="8" fill="#1a1d27"/>')
times = {at: i for i, at in enumerate(sorted({at for at, *_ in parts}))}
for at, row, column, text in parts:
    typed = " typed" if text.startswith("$ ") else ""
    print('<text class="t%d%s" x="%.1f" y="%d" textLength="%.1f">%s</text>'
          % (times[at], typed, 16 + column * WIDE, 12 + HIGH * row + SIZE, len(text) * WIDE,
             html.escape(text, quote=False)))
print("</svg>")
