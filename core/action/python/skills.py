# SPDX-License-Identifier: MIT
# The functions of od skills, without a prefix, where the module is installed.
try:
    from agentskills import *
except ImportError:
    pass
