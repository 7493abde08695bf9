# SPDX-License-Identifier: MIT
# Imports the functions of od skills without a prefix, if the module is installed.
try:
    from agentskills import *
except ImportError:
    pass
