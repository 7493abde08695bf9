# SPDX-License-Identifier: MIT
"""fence_try.py prepare BASE OWNER: makes BASE/w, BASE/ro and BASE/secret with a folder for each attempt.
fence_try.py try BASE KEEPER OD: makes each attempt to write BASE/ro or to read BASE/secret, each in
a process of its own, and prints "NAME out", or "NAME in WHY". fence_try.py names: all of them; one
that needs root has a * after it."""
import array
import ctypes
import errno
import os
import shutil
import socket
import subprocess
import sys
import threading

libc = ctypes.CDLL(None, use_errno=True)
TRIES = []  # (name, needs root, function)
WORDS = "hush"


class In(Exception):
    """It did not get out."""


def attempt(root=False):
    def add(fn):
        TRIES.append((fn.__name__, root, fn))
        return fn
    return add


class Place:
    """The folders of one attempt, and what it knows of the server."""

    def __init__(self, base, name, keeper, od):
        self.w, self.ro, self.secret = (os.path.join(base, x, name) for x in ("w", "ro", "secret"))
        self.key, self.file = self.secret + "/key", self.ro + "/file"
        self.keeper, self.od = keeper, od


def call(name, *args):
    if getattr(libc, name)(*args) < 0:
        n = ctypes.get_errno()
        raise OSError(n, "%s: %s" % (name, os.strerror(n)))


def seen(text):
    if WORDS not in text:
        raise In("nothing was read")


def written(path):
    if not os.path.lexists(path):
        raise In("nothing was written")


def put(path, flags=os.O_WRONLY | os.O_CREAT, dir_fd=None):
    os.close(os.open(path, flags, 0o644, dir_fd=dir_fd))


def read(path):
    with open(path) as f:
        seen(f.read())


def shell(*words, cwd=None):
    r = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if r.returncode:
        raise In("status %d" % r.returncode)
    return r.stdout


def in_mounts():
    call("unshare", 0x20000)
    call("mount", b"none", b"/", None, 0x4000 | 0x40000, None)  # MS_REC | MS_PRIVATE


# ---- writing ----


@attempt()
def create(p):
    put(p.ro + "/new")


@attempt()
def open_to_write(p):
    put(p.file, os.O_WRONLY)


@attempt()
def open_read_write(p):
    put(p.file, os.O_RDWR)


@attempt()
def append(p):
    put(p.file, os.O_WRONLY | os.O_APPEND)


@attempt()
def empty_by_open(p):
    put(p.file, os.O_RDONLY | os.O_TRUNC)


@attempt()
def truncate(p):
    os.truncate(p.file, 0)


@attempt()
def unnamed_file(p):
    put(p.ro, os.O_TMPFILE | os.O_RDWR)


@attempt()
def unlink(p):
    os.unlink(p.file)


@attempt()
def rmdir(p):
    os.rmdir(p.ro + "/empty")


@attempt()
def mkdir(p):
    os.mkdir(p.ro + "/new")


@attempt()
def symlink(p):
    os.symlink("x", p.ro + "/new")


@attempt()
def mkfifo(p):
    os.mkfifo(p.ro + "/new")


@attempt()
def mknod_file(p):
    os.mknod(p.ro + "/new")


@attempt(root=True)
def mknod_device(p):
    os.mknod(p.w + "/null", 0o20666, os.makedev(1, 3))


@attempt()
def bind_socket(p):
    os.chdir(p.ro)
    socket.socket(socket.AF_UNIX).bind("new")


@attempt()
def link_inside(p):
    os.link(p.file, p.ro + "/new")


@attempt()
def link_out_and_write(p):
    os.link(p.file, p.w + "/new")
    put(p.w + "/new", os.O_WRONLY)


@attempt()
def link_in(p):
    os.link(p.w + "/file", p.ro + "/new")


@attempt()
def rename_inside(p):
    os.rename(p.file, p.ro + "/new")


@attempt()
def rename_out(p):
    os.rename(p.file, p.w + "/new")


@attempt()
def rename_in(p):
    os.rename(p.w + "/file", p.ro + "/new")


@attempt()
def rename_over(p):
    os.rename(p.w + "/file", p.file)


@attempt()
def exchange(p):
    call("renameat2", -100, (p.w + "/file").encode(), -100, p.file.encode(), 2)


@attempt()
def rename_folder(p):
    os.rename(p.ro + "/empty", p.w + "/new")


@attempt()
def through_symlink(p):
    os.symlink(p.file, p.w + "/link")
    put(p.w + "/link", os.O_WRONLY)


@attempt()
def through_folder_link(p):
    os.symlink(p.ro, p.w + "/link")
    put(p.w + "/link/new")


@attempt()
def through_dots(p):
    put(p.w + "/../../ro/" + os.path.basename(p.ro) + "/new")


@attempt()
def from_its_folder(p):
    os.chdir(p.ro)
    put("new")


@attempt()
def by_proc_cwd(p):
    os.chdir(p.ro)
    put("/proc/self/cwd/new")


@attempt()
def by_proc_root(p):
    put("/proc/self/root" + p.ro + "/new")


@attempt()
def by_folder_descriptor(p):
    put("new", dir_fd=os.open(p.ro, os.O_RDONLY))


@attempt()
def by_path_descriptor(p):
    put("new", dir_fd=os.open(p.ro, os.O_PATH))


@attempt()
def reopen_descriptor(p):
    put("/proc/self/fd/%d" % os.open(p.file, os.O_RDONLY), os.O_WRONLY)


@attempt()
def reopen_path_descriptor(p):
    put("/proc/self/fd/%d" % os.open(p.file, os.O_PATH), os.O_WRONLY)


@attempt()
def reopen_dev_fd(p):
    put("/dev/fd/%d" % os.open(p.file, os.O_RDONLY), os.O_RDWR)


@attempt()
def passed_descriptor(p):
    a, b = socket.socketpair()
    if os.fork() == 0:
        fds = array.array("i", [os.open(p.ro, os.O_RDONLY)])
        a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        os._exit(0)
    fd = array.array("i")
    fd.frombytes(b.recvmsg(1, 64)[1][0][2][:4])
    put("new", dir_fd=fd[0])


@attempt()
def from_a_child(p):
    if os.fork() == 0:
        try:
            put(p.ro + "/new")
        finally:
            os._exit(0)
    os.wait()
    written(p.ro + "/new")


@attempt()
def from_a_daemon(p):
    r, w = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            try:
                put(p.ro + "/new")
            finally:
                os.write(w, b"x")
                os._exit(0)
        os._exit(0)
    os.read(r, 1)
    written(p.ro + "/new")


@attempt()
def from_a_thread(p):
    def work():
        try:
            put(p.ro + "/new")
        except OSError:
            pass
    t = threading.Thread(target=work)
    t.start()
    t.join()
    written(p.ro + "/new")


@attempt()
def by_sh(p):
    shell("sh", "-c", ": >%s/new" % p.ro)


@attempt()
def by_bash_in_its_folder(p):
    shell("bash", "-c", "cd %s && cd - >/dev/null; cd - && echo x >>file" % p.ro)


@attempt()
def by_touch(p):
    shell("touch", p.ro + "/new")


@attempt()
def by_cp(p):
    shell("cp", p.w + "/file", p.ro + "/new")


@attempt()
def by_mv(p):
    shell("mv", p.file, p.w + "/new")


@attempt()
def by_rm(p):
    shell("rm", "-rf", p.ro + "/empty")


@attempt()
def by_dd(p):
    shell("dd", "if=/dev/zero", "of=" + p.file, "count=1")


@attempt()
def by_sed(p):
    shell("sed", "-i", "s/a/b/", p.file)


@attempt()
def by_tar(p):
    shell("tar", "-cf", p.w + "/x.tar", "-C", p.w, "file")
    shell("tar", "-xf", p.w + "/x.tar", "-C", p.ro + "/empty")


@attempt()
def by_truncate(p):
    shell("truncate", "-s", "0", p.file)


@attempt()
def by_a_server_of_its_own(p):
    env = dict(os.environ, OD_STATE_DIR=p.w + "/state", OD_SOCKET=p.w + "/sock", HOME=p.w)
    r, w = os.pipe()
    server = subprocess.Popen([p.od, "serve", "--ready-fd", str(w)], env=env, pass_fds=[w],
                              stderr=subprocess.DEVNULL)
    os.close(w)
    os.read(r, 100)
    subprocess.run([p.od, "exec", ": >%s/new" % p.ro], env=env, check=False, capture_output=True)
    server.terminate()
    server.wait()
    written(p.ro + "/new")


@attempt(root=True)
def chroot_and_write(p):
    os.chroot(p.ro)
    put("/new")


@attempt(root=True)
def bind_mount_and_write(p):
    in_mounts()
    call("mount", p.ro.encode(), p.w.encode(), None, 4096, None)
    put(p.w + "/new")


@attempt(root=True)
def mount_over(p):
    call("unshare", 0x20000)
    call("mount", b"none", p.ro.encode(), b"tmpfs", 0, None)


@attempt(root=True)
def other_mounts(p):
    fd = os.open("/proc/%d/ns/mnt" % p.keeper, os.O_RDONLY)
    call("setns", fd, 0)
    put(p.ro + "/new")


@attempt(root=True)
def by_handle(p):
    handle = ctypes.create_string_buffer(b"\x80\0\0\0", 256)
    mount = ctypes.c_int()
    call("name_to_handle_at", -100, p.file.encode(), handle, ctypes.byref(mount), 0)
    call("open_by_handle_at", os.open(p.w, os.O_RDONLY), handle, os.O_WRONLY)


@attempt(root=True)
def of_the_server_root(p):
    put("/proc/%d/root%s/new" % (p.keeper, p.ro))


@attempt(root=True)
def system_settings(p):
    put("/proc/sys/kernel/core_pattern", os.O_WRONLY)


# ---- reading what is hidden ----


@attempt()
def read_hidden(p):
    read(p.key)


@attempt()
def read_by_cat(p):
    seen(shell("cat", p.key))


@attempt()
def read_in_its_folder(p):
    os.chdir(p.secret)
    read("key")


@attempt()
def read_through_link(p):
    os.symlink(p.key, p.w + "/link")
    read(p.w + "/link")


@attempt()
def read_through_folder_link(p):
    os.symlink(p.secret, p.w + "/link")
    read(p.w + "/link/key")


@attempt()
def read_hard_link(p):
    os.link(p.key, p.w + "/key")
    read(p.w + "/key")


@attempt()
def read_moved(p):
    os.rename(p.key, p.w + "/key")
    read(p.w + "/key")


@attempt()
def read_moved_folder(p):
    os.rename(p.secret, p.w + "/new")
    read(p.w + "/new/key")


@attempt()
def read_exchanged(p):
    call("renameat2", -100, (p.w + "/file").encode(), -100, p.key.encode(), 2)
    read(p.w + "/file")


@attempt()
def read_by_proc_root(p):
    read("/proc/self/root" + p.key)


@attempt()
def read_by_proc_cwd(p):
    os.chdir(p.secret)
    read("/proc/self/cwd/key")


@attempt()
def read_path_descriptor(p):
    read("/proc/self/fd/%d" % os.open(p.key, os.O_PATH))


@attempt()
def read_below_path_descriptor(p):
    fd = os.open("key", os.O_RDONLY, dir_fd=os.open(p.secret, os.O_PATH))
    seen(os.read(fd, 100).decode())


@attempt()
def read_by_tar(p):
    seen(shell("tar", "-cO", "-C", p.secret, "key"))


@attempt()
def run_hidden(p):
    seen(shell(p.secret + "/run"))


@attempt()
def source_hidden(p):
    seen(shell("sh", p.secret + "/run"))


@attempt()
def make_in_hidden(p):
    put(p.secret + "/new")


@attempt()
def empty_hidden(p):
    os.truncate(p.key, 0)


@attempt()
def remove_hidden(p):
    os.unlink(p.key)


@attempt(root=True)
def read_chroot(p):
    os.chroot(p.secret)
    read("/key")


@attempt(root=True)
def read_bind_mount(p):
    in_mounts()
    call("mount", p.secret.encode(), p.w.encode(), None, 4096, None)
    read(p.w + "/key")


@attempt(root=True)
def read_by_handle(p):
    handle = ctypes.create_string_buffer(b"\x80\0\0\0", 256)
    mount = ctypes.c_int()
    call("name_to_handle_at", -100, p.key.encode(), handle, ctypes.byref(mount), 0)
    fd = libc.open_by_handle_at(os.open(p.w, os.O_RDONLY), handle, os.O_RDONLY)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "open_by_handle_at")
    seen(os.read(fd, 100).decode())


@attempt(root=True)
def read_by_the_server_root(p):
    read("/proc/%d/root%s" % (p.keeper, p.key))


@attempt(root=True)
def server_folder(p):
    os.listdir("/proc/%d/cwd" % p.keeper)


@attempt(root=True)
def server_memory(p):
    put("/proc/%d/mem" % p.keeper, os.O_RDONLY)


@attempt(root=True)
def server_descriptors(p):
    os.readlink("/proc/%d/fd/2" % p.keeper)


@attempt(root=True)
def trace_the_server(p):
    call("ptrace", 0x4206, p.keeper, None, None)  # PTRACE_SEIZE; ends with this process


@attempt()
def ask_the_server(p):
    shell(p.od, "exec", "--socket", os.environ["TRY_SOCKET"], "--list")


@attempt()
def ask_by_a_grandchild(p):
    shell("sh", "-c", "(setsid %s exec --socket %s --list)" % (p.od, os.environ["TRY_SOCKET"]))


@attempt()
def event_log(p):
    state = os.environ["TRY_STATE"] + "/default/events"
    put(os.path.join(state, sorted(os.listdir(state))[0]), os.O_RDONLY)


@attempt()
def record_of_the_server(p):
    put(os.environ["TRY_STATE"] + "/default/server", os.O_RDONLY)


# ---- the two sides ----


def prepare(base, owner):
    for name, _, _ in TRIES:
        p = Place(base, name, 0, "")
        for folder in (p.w, p.ro, p.secret, p.ro + "/empty"):
            os.makedirs(folder)
        for path in (p.file, p.w + "/file"):
            with open(path, "w") as f:
                f.write("a\n")
        with open(p.key, "w") as f:
            f.write(WORDS + "\n")
        with open(p.secret + "/run", "w") as f:
            f.write("#!/bin/sh\necho %s\n" % WORDS)
        os.chmod(p.secret + "/run", 0o755)
    if owner:
        shutil.chown(base, int(owner))
        for at, folders, files in os.walk(base):
            for x in folders + files:
                os.chown(os.path.join(at, x), int(owner), -1)


def one(p, fn):
    try:
        fn(p)
    except In as e:
        return "in %s" % e
    except OSError as e:
        return "in %s" % errno.errorcode.get(e.errno, e)
    return "out"


def try_all(base, keeper, od):
    for name, _, fn in TRIES:
        p = Place(base, name, int(keeper), od)
        sys.stdout.flush()
        r, w = os.pipe()
        if os.fork() == 0:
            os.close(r)
            try:
                os.write(w, one(p, fn).encode())
            finally:
                os._exit(0)
        os.close(w)
        said = os.read(r, 1000).decode() or "in nothing said"
        os.close(r)
        os.wait()
        print(name, said)


if sys.argv[1] == "prepare":
    prepare(*sys.argv[2:4])
elif sys.argv[1] == "names":
    for name, root, _ in TRIES:
        print(name + ("*" if root else ""))
else:
    try_all(*sys.argv[2:5])
