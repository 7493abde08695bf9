# SPDX-License-Identifier: MIT
"""deploy_bus.py FILE: a file of build/deploy with the bus that is commented out in it."""
import re
import sys


def with_bus(text):
    """Takes the # away from the lines of OD_BUS, and of what belongs to it."""
    def bare(found):
        return re.sub(r"(?m)^( *)# ", r"\1", found[0])

    return re.sub(r"(?m)^ *# (?:- name: )?OD_BUS.*\n(?: *#   .*\n)*", bare, text)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print(with_bus(file.read()), end="")
