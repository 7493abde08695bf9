#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cells.py [--full]: which cells of the matrix are run, as lines IMAGE CONDITION WAY,
then those that cannot exist, as lines "- IMAGE CONDITION WAY: REASON".

A cell is an image, a condition under which its container runs, and a way in which the
program comes into it. All three by each other are some 250. The cover has every pair
of image and condition, of image and way, of condition and way, that can exist: the
ways take turns along the conditions, and each image begins with another one, so no
search is needed and a cell is the same in every run. cover() checks what it says.
"""
import itertools
import sys

IMAGES = {
    "scratch": "nothing but one static program",
    "busybox": "busybox, no libc",
    "bullseye": "Debian 11",
    "bookworm": "Debian 12",
    "trixie": "Debian 13",
    "sid": "Debian unstable",
}

CONDITIONS = {
    "root": "root, nothing refused",
    "uid": "uid 1000, without an entry in passwd",
    "ro": "a root file system that cannot be written",
    "notmp": "no /tmp",
    "nopts": "no /dev/pts",
    "noproc": "no /proc",
    "nonet": "no network, not even a loopback interface that is up",
    "seccomp": "pidfd_open, close_range, openat2, splice, memfd_create refused",
    "nofile": "64 descriptors",
    "memory": "16 MB of memory",
    "all": "uid, ro, notmp, nopts, nonet, seccomp, nofile and memory together",
}

WAYS = {
    "copy": "an image built with COPY",
    "add": "an image that od image add made, loaded",
    "install": "a folder that od install filled, as an init container does",
    "bind": "the file, mounted",
}


def impossible(image, condition, way):
    """Why there is no such cell, or None."""
    if image == "scratch" and condition == "notmp":
        return "an empty image never has a /tmp: every other cell of it is that one"
    return None


def possible():
    for cell in itertools.product(IMAGES, CONDITIONS, WAYS):
        if impossible(*cell) is None:
            yield cell


def cannot():
    """What cannot exist, with the reasons."""
    for cell in itertools.product(IMAGES, CONDITIONS, WAYS):
        reason = impossible(*cell)
        if reason:
            yield cell, reason


def refusal(image):
    """Which of the two answers to a refused system call an image sees."""
    return ("EPERM", "ENOSYS")[list(IMAGES).index(image) % 2]


def cover():
    ways = list(WAYS)
    cells = [
        (image, condition, ways[(i + j) % len(ways)])
        for i, image in enumerate(IMAGES)
        for j, condition in enumerate(CONDITIONS)
        if impossible(image, condition, ways[(i + j) % len(ways)]) is None
    ]
    for a, b in itertools.combinations(range(3), 2):
        wanted = {(cell[a], cell[b]) for cell in possible()}
        lacking = wanted - {(cell[a], cell[b]) for cell in cells}
        assert not lacking, f"pairs without a cell: {sorted(lacking)}"
    return cells


def main():
    for cell in possible() if "--full" in sys.argv[1:] else cover():
        print(*cell)
    for cell, reason in cannot():
        print("-", " ".join(cell) + ":", reason)


if __name__ == "__main__":
    main()
