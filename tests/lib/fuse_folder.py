# SPDX-License-Identifier: MIT
"""fuse_folder.py FOLDER WORD...: mounts a file system on FOLDER and serves it until it is unmounted. Takes root and
/dev/fuse. Files are in memory. Of what file systems over a network may lack, it lacks what the words say:

  no-sockets   a socket cannot be made (Operation not permitted)
  no-locks     flock and fcntl locks fail (No locks available)
  no-links     neither do hard and symbolic links

Each request is a line on standard output, after "mounted": its number, and of a lock that it was one."""
import ctypes
import errno
import os
import stat
import struct
import sys

LOOKUP, FORGET, GETATTR, SETATTR, SYMLINK, MKNOD, MKDIR, UNLINK, RMDIR = 1, 2, 3, 4, 6, 8, 9, 10, 11
RENAME, LINK, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC = 12, 13, 14, 15, 16, 17, 18, 20
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, FSYNCDIR = 25, 26, 27, 28, 29, 30
GETLK, SETLK, SETLKW, CREATE, INTERRUPT, DESTROY, BATCH_FORGET, RENAME2 = 31, 32, 33, 35, 36, 38, 42, 45
POSIX_LOCKS, FLOCK_LOCKS, BIG_WRITES = 1 << 1, 1 << 10, 1 << 5


class Node:
    def __init__(self, number, mode, uid, gid):
        self.number, self.mode, self.uid, self.gid = number, mode, uid, gid
        self.data, self.names, self.links = bytearray(), {}, 1


class Folder:
    def __init__(self, words):
        self.words = words
        self.nodes = {1: Node(1, stat.S_IFDIR | 0o755, os.getuid(), os.getgid())}
        self.last = 1

    def make(self, parent, name, mode, head):
        if name in parent.names:
            raise OSError(errno.EEXIST, "")
        if stat.S_ISSOCK(mode) and "no-sockets" in self.words:
            raise OSError(errno.EPERM, "")
        self.last += 1
        node = self.nodes[self.last] = Node(self.last, mode, head[0], head[1])
        parent.names[name] = node
        return node

    @staticmethod
    def attr(n):
        kind = 4096 if stat.S_ISDIR(n.mode) else len(n.data)
        return struct.pack("<QQQQQQIIIIIIIIII", n.number, kind, (kind + 511) // 512, 0, 0, 0, 0, 0, 0, n.mode,
                           n.links, n.uid, n.gid, 0, 4096, 0)

    def entry(self, n):
        return struct.pack("<QQQQII", n.number, 0, 0, 0, 0, 0) + self.attr(n)

    def child(self, parent, name):
        if name not in parent.names:
            raise OSError(errno.ENOENT, "")
        return parent.names[name]

    def rename(self, parent, body, at):
        to = self.nodes[struct.unpack_from("<Q", body)[0]]
        old, new = body[at:].split(b"\0")[:2]
        to.names[new] = self.child(parent, old)
        del parent.names[old]
        return b""

    def answer(self, op, number, head, body):
        """The bytes of the answer; None: it has none."""
        n = self.nodes.get(number)
        if op in (FORGET, BATCH_FORGET, INTERRUPT):
            return None
        if op == INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, 1 << 16, POSIX_LOCKS | FLOCK_LOCKS | BIG_WRITES, 16, 12, 1 << 16, 1, 0, 0,
                               0)
        if op in (GETLK, SETLK, SETLKW):
            raise OSError(errno.ENOLCK if "no-locks" in self.words else errno.ENOSYS, "")
        if op == LOOKUP:
            return self.entry(self.child(n, body.split(b"\0")[0]))
        if op == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self.attr(n)
        if op == SETATTR:
            return self.change(n, body)
        if op == MKNOD:
            return self.entry(self.make(n, body[16:].split(b"\0")[0], struct.unpack_from("<I", body)[0], head))
        if op == MKDIR:
            mode = stat.S_IFDIR | struct.unpack_from("<I", body)[0]
            return self.entry(self.make(n, body[8:].split(b"\0")[0], mode, head))
        if op == CREATE:
            mode = struct.unpack_from("<II", body)[1]
            return self.entry(self.make(n, body[16:].split(b"\0")[0], mode, head)) + struct.pack("<QII", 0, 0, 0)
        if op in (UNLINK, RMDIR):
            name = body.split(b"\0")[0]
            if op == RMDIR and self.child(n, name).names:
                raise OSError(errno.ENOTEMPTY, "")
            self.child(n, name).links -= 1
            del n.names[name]
            return b""
        if op == RENAME:
            return self.rename(n, body, 8)
        if op == RENAME2:
            return self.rename(n, body, 16)
        if op in (SYMLINK, LINK):
            raise OSError(errno.EPERM, "")
        if op in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, 0, 0)
        if op == READ:
            at, size = struct.unpack_from("<QI", body, 8)
            return bytes(n.data[at:at + size])
        if op == WRITE:
            at, size = struct.unpack_from("<QI", body, 8)
            if len(n.data) < at:
                n.data.extend(bytes(at - len(n.data)))
            n.data[at:at + size] = body[40:40 + size]
            return struct.pack("<II", size, 0)
        if op == READDIR:
            return self.list(n, *struct.unpack_from("<QI", body, 8))
        if op == STATFS:
            return struct.pack("<QQQQQIIII24x", 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 4096, 255, 4096, 0)
        if op in (RELEASE, FSYNC, FLUSH, RELEASEDIR, FSYNCDIR, DESTROY):
            return b""
        raise OSError(errno.ENOSYS, "")

    def change(self, n, body):
        valid, = struct.unpack_from("<I", body)
        size, = struct.unpack_from("<Q", body, 16)
        mode, _, uid, gid = struct.unpack_from("<IIII", body, 68)
        if valid & 1:
            n.mode = stat.S_IFMT(n.mode) | mode & 0o7777
        n.uid, n.gid = (uid if valid & 2 else n.uid), (gid if valid & 4 else n.gid)
        if valid & 8:
            del n.data[size:]
            n.data.extend(bytes(size - len(n.data)))
        return struct.pack("<QII", 0, 0, 0) + self.attr(n)

    @staticmethod
    def list(n, at, size):
        out = b""
        for i, (name, x) in enumerate(list(n.names.items())[at:], at + 1):
            row = struct.pack("<QQII", x.number, i, len(name), stat.S_IFMT(x.mode) >> 12) + name
            row += bytes(-len(row) % 8)
            if len(out) + len(row) > size:
                break
            out += row
        return out


def main():
    place, words = sys.argv[1], sys.argv[2:]
    fd = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other,default_permissions"
    if libc.mount(b"folder", place.encode(), b"fuse", 6, options.encode()) < 0:
        raise SystemExit("mount: " + os.strerror(ctypes.get_errno()))
    print("mounted", flush=True)
    folder = Folder(words)
    while True:
        try:
            message = os.read(fd, (1 << 16) + 4096)
        except OSError as e:
            if e.errno == errno.ENODEV:  # it was unmounted
                return
            if e.errno in (errno.EINTR, errno.ENOENT):
                continue
            raise
        _, op, unique, number, uid, gid, _ = struct.unpack_from("<IIQQIII", message)
        try:
            out, error = folder.answer(op, number, (uid, gid), message[40:]), 0
        except OSError as e:
            out, error = b"", e.errno
        print(op, "lock" if op in (GETLK, SETLK, SETLKW) else "", flush=True)
        if out is None:
            continue
        try:
            os.write(fd, struct.pack("<IiQ", 16 + len(out), -error, unique) + out)
        except OSError as e:
            if e.errno != errno.ENOENT:  # the call was interrupted
                raise


main()
