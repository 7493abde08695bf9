# SPDX-License-Identifier: MIT
"""Compiles standard input as the file that is named; what is wrong goes to standard error."""
import sys

try:
    compile(sys.stdin.buffer.read(), sys.argv[1], 'exec')
except (SyntaxError, ValueError) as e:
    sys.exit('%s:%s:%s: E999 %s: %s' % (sys.argv[1], getattr(e, 'lineno', 1),
        getattr(e, 'offset', 1), type(e).__name__, getattr(e, 'msg', e)))
