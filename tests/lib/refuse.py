# SPDX-License-Identifier: MIT
"""refuse.py NUMBER ERRNO PROGRAM [ARGUMENT...]: runs a program; in it, and in what it starts,
the system call of this number fails with this errno, as where the kernel or the file system
does not know it."""
import ctypes
import errno
import os
import struct
import sys

LOAD_NUMBER, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
NO_NEW_PRIVS, SECCOMP, FILTER = 38, 22, 2


def refuse(number, why):
    steps = [(LOAD_NUMBER, 0, 0, 0), (EQUAL, 0, 1, number), (RETURN, 0, 0, FAIL | why),
             (RETURN, 0, 0, ALLOW)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(SECCOMP, FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "no seccomp filter")


refuse(int(sys.argv[1]), getattr(errno, sys.argv[2]))
os.execvp(sys.argv[3], sys.argv[3:])
