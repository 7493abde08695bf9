# SPDX-License-Identifier: MIT
#
# What a plain python3 is started with (-c): it reads three lengths and three texts from
# descriptor 0, puts /dev/null or nothing in that one's place, and runs the first text.
# They are core.py; extra.py; and what code compiled of these is known by, a space, and
# the folder where it is kept. Code is taken only from a file of this user's that nobody
# else can write to, and if it is of this very interpreter.
import marshal
import os
import sys


def take(n):
    b = b''
    while len(b) < n:
        d = os.read(0, n - len(b))
        if not d:
            os._exit(1)
        b += d
    return b.decode('utf-8', 'surrogateescape')


def code_of(name, source):
    path = '%s/%s-%s-%x' % (place, name, sys.implementation.cache_tag, sys.hexversion)
    head = ('%s %s %d\n' % (known, sys.version, sys.flags.optimize)).encode()
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            about = os.fstat(fd)
            data = os.read(fd, about.st_size)
        finally:
            os.close(fd)
        if (about.st_uid == os.geteuid() and not about.st_mode & 0o22
                and data.startswith(head)):
            return marshal.loads(data[len(head):])
    except Exception:
        pass
    code = compile(source, '<od kernel>', 'exec')
    fresh.append((path, head, code))
    return code


fresh = []
core, extra, known = map(take, map(int, take(27).split()))
known, _, place = known.partition(' ')
fd = os.dup(0)
try:
    os.dup2(os.open('/dev/null', os.O_RDWR), 0)
except OSError:
    r, w = os.pipe()
    os.close(w)
    os.dup2(r, 0)
exec(code_of('core', core), {'FD': fd, 'EXTRA': extra, 'code_of': code_of, 'FRESH': fresh,
                             '__name__': 'od_kernel'})
