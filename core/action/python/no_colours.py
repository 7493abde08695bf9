# SPDX-License-Identifier: MIT
# IPython's escapes have forms that clients do not know; od's own kernel has none.
import sys
if 'IPython.core' in sys.modules:
    try:
        get_ipython().run_line_magic('colors', 'nocolor')
    except Exception:
        pass
