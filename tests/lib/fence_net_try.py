# SPDX-License-Identifier: MIT
"""fence_net_try.py outside FOLDER: the world outside of a fence, in a network namespace of
its own: a greeting by TCP, an echo by UDP, a web server, a resolver. It writes FOLDER/packets,
a line for each packet that arrives, and FOLDER/questions, one for each question for a name.
try FOLDER KEEPER: makes each attempt to get out, each in a process of its own, and prints
"NAME out", or "NAME in WHY". names: all of them. A mark after a name: * needs root; ? it may be
that this kernel has no such way.
works FOLDER: does ordinary work, and prints "NAME works" or why not. worknames: all of that.
orphan FOLDER: waits for FOLDER/orphan-go, then writes to orphan-said what connections do."""
import array
import asyncio
import ctypes
import errno
import http.server
import mmap
import os
import random
import select
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request

libc = ctypes.CDLL(None, use_errno=True)
TRIES, WORKS = [], []
OUT, OUT6, ALLOWED, RESOLVER = "10.77.0.2", "fd77::2", "10.77.0.3", "10.77.0.53"
PUBLIC, OURS, OURS6 = "11.22.33.44", "10.77.0.1", "fd77::1"
PORT, OWN, LISTEN, CLOSED = 7001, 7090, 7100, 6999
WAIT_S = float(os.environ.get("TRY_WAIT", "0.5"))  # for a packet to be with the witness
ROUNDS = int(os.environ.get("TRY_ROUNDS", "5000"))
I4, I6, STREAM, DGRAM = socket.AF_INET, socket.AF_INET6, socket.SOCK_STREAM, socket.SOCK_DGRAM


class In(Exception):
    """It did not get out."""


def attempt(mark=""):
    def add(fn):
        TRIES.append((fn.__name__, mark, fn))
        return fn
    return add


def work(fn):
    WORKS.append((fn.__name__, fn))
    return fn


class Place:
    """What an attempt knows."""

    def __init__(self, name, folder, keeper):
        self.name, self.folder, self.keeper = name, folder, keeper
        self.before = len(self.lines("packets"))

    def lines(self, file):
        with open(os.path.join(self.folder, file), errors="replace") as f:
            return f.read().splitlines()

    def sent(self, to=OUT):
        """Raises In unless a packet to this address has arrived since the beginning."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            if any(x.startswith(to + " ") for x in self.lines("packets")[self.before:]):
                return
            time.sleep(0.02)
        raise In("nothing arrived")


def call(name, *args):
    r = getattr(libc, name)(*args)
    if r < 0:
        n = ctypes.get_errno()
        raise OSError(n, "%s: %s" % (name, os.strerror(n)))
    return r


def system(number, *args):
    return call("syscall", ctypes.c_long(number), *[ctypes.c_long(x) for x in args])


def tcp(family=I4):
    s = socket.socket(family, STREAM)
    s.settimeout(5)
    return s


def udp(family=I4):
    s = socket.socket(family, DGRAM)
    s.settimeout(1)
    return s


def patient():
    """A socket that blocks, as those do that programs in C make."""
    s = socket.socket(I4, STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("=QQ", 5, 0))
    return s


def greeted(s):
    s.settimeout(5)
    if s.recv(100) != b"hello\n":
        raise In("nothing said")


def go(s, to=(OUT, PORT)):
    s.connect(to)
    greeted(s)


def echoed(s):
    s.settimeout(1)
    if not s.recv(100).startswith(b"echo"):
        raise In("nothing said")


def local(host="127.0.0.1"):
    """A listener of this process."""
    s = socket.socket(I4, STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    for port in range(LISTEN, LISTEN + 90):
        try:
            s.bind((host, port))
            s.listen(200)
            return s
        except OSError as e:
            if e.errno != errno.EADDRINUSE:
                raise
    raise In("no port is free")


def in_child(fn):
    """Runs fn in another process; its failure is ours."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            fn()
            os.write(w, b"0")
        except OSError as e:
            os.write(w, b"%d" % (e.errno or errno.ETIMEDOUT))
        finally:
            os._exit(0)
    os.close(w)
    said = os.read(r, 20)
    os.waitpid(pid, 0)
    if said != b"0":
        raise OSError(int(said or 5), "in a child")


def passed(fd):
    """The descriptor after its way through a unix socket to itself."""
    a, b = socket.socketpair(socket.AF_UNIX, STREAM)
    socket.send_fds(a, [b"x"], [fd])
    return socket.recv_fds(b, 1, 1)[1][0]


def address(to, port=PORT):
    return struct.pack("=H", I4) + struct.pack(">H", port) + socket.inet_aton(to) + bytes(8)


def raw_address(to=OUT, port=PORT):
    return ctypes.create_string_buffer(address(to, port), 16)


def as_socket(fd, family=I4, kind=STREAM):
    s = socket.socket(family, kind, 0, fd)
    s.settimeout(5)
    return s


# ---- TCP ----


@attempt()
def tcp4(p):
    go(tcp())


@attempt()
def tcp6(p):
    go(tcp(I6), (OUT6, PORT))


@attempt()
def tcp_mapped(p):
    go(tcp(I6), ("::ffff:" + OUT, PORT))


@attempt()
def tcp_with_a_long_address(p):
    s = patient()
    call("connect", s.fileno(), ctypes.create_string_buffer(address(OUT), 100), 100)
    greeted(s)


@attempt()
def tcp_nonblocking(p):
    s = tcp()
    s.setblocking(False)
    n = s.connect_ex((OUT, PORT))
    if n != errno.EINPROGRESS:
        raise OSError(n, "connect")
    select.select([], [s], [], 3)
    greeted(s)


@attempt()
def connect_twice(p):
    s = tcp()
    s.connect_ex((OUT, PORT + 500))
    s.connect_ex((OUT, PORT + 500))  # ECONNABORTED: the end of the first
    go(s)


@attempt()
def after_a_refused_one(p):
    s = tcp()
    s.connect_ex(("127.0.0.1", CLOSED))
    s.connect_ex(("127.0.0.1", CLOSED))  # ECONNABORTED: the end of the first
    go(s)


@attempt()
def after_bind(p):
    s = tcp()
    s.bind((OURS, 0))
    go(s)


@attempt()
def by_dup(p):
    s = tcp()
    go(as_socket(os.dup(s.fileno())))


@attempt()
def by_dup2(p):
    s = tcp()
    os.dup2(s.fileno(), 60)
    s.close()
    go(as_socket(60))


@attempt()
def by_dup3(p):
    s = tcp()
    call("dup3", s.fileno(), 61, os.O_CLOEXEC)
    s.close()
    go(as_socket(61))


@attempt()
def by_dupfd(p):
    import fcntl
    s = tcp()
    go(as_socket(fcntl.fcntl(s.fileno(), fcntl.F_DUPFD, 300)))


@attempt()
def by_dup_to_a_stand_ins_number(p):
    s = tcp()
    os.dup2(s.fileno(), 800)
    go(as_socket(800))


@attempt()
def over_a_stand_in(p):
    s, u = tcp(), udp()
    os.dup2(s.fileno(), u.fileno())
    go(as_socket(u.detach()))


@attempt()
def over_a_unix_socket(p):
    s, u = tcp(), socket.socket(socket.AF_UNIX, STREAM)
    os.dup2(s.fileno(), u.fileno())
    go(as_socket(u.detach()))


@attempt()
def passed_before_connect(p):
    s = tcp()
    go(as_socket(passed(s.fileno())))


@attempt()
def passed_to_a_child(p):
    a, b = socket.socketpair(socket.AF_UNIX, STREAM)
    s = tcp()

    def child():
        go(as_socket(socket.recv_fds(b, 1, 1)[1][0]))
    socket.send_fds(a, [b"x"], [s.fileno()])
    s.close()
    in_child(child)


@attempt()
def passed_after_connect(p):
    a, b = socket.socketpair(socket.AF_UNIX, STREAM)

    def child():
        s = tcp()
        s.connect((OUT, PORT))
        socket.send_fds(a, [b"x"], [s.fileno()])
    in_child(child)
    greeted(as_socket(socket.recv_fds(b, 1, 1)[1][0]))


@attempt()
def after_fork(p):
    s = tcp()
    in_child(lambda: go(s))


@attempt()
def after_exec(p):
    s = tcp()
    os.set_inheritable(s.fileno(), True)
    r = subprocess.run([sys.executable, __file__, "connect", str(s.fileno())], close_fds=False,
                       capture_output=True, text=True, check=False)
    if r.returncode:
        raise OSError(r.returncode, "exec")


@attempt()
def by_a_shell(p):
    r = subprocess.run(["bash", "-c", "exec 3<>/dev/tcp/%s/%d && read -r x <&3" % (OUT, PORT)],
                       capture_output=True, text=True, check=False)
    if r.returncode:
        raise In("nothing by bash: %s" % r.stderr.strip()[-60:])


@attempt()
def in_a_thread(p):
    what = []

    def run():
        try:
            go(tcp())
        except OSError as e:
            what.append(e)
    t = threading.Thread(target=run)
    t.start()
    t.join()
    if what:
        raise what[0]


@attempt()
def in_a_clone_with_the_same_files(p):
    s = tcp()
    pid = system(56, 0x400 | signal.SIGCHLD, 0, 0, 0, 0)  # CLONE_FILES
    if pid == 0:
        try:
            s.connect((OUT, PORT))
        except OSError as e:
            os._exit(e.errno)
        os._exit(0)
    n = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if n:
        raise OSError(n, "in a clone")
    greeted(s)


@attempt("*")
def in_a_namespace_of_its_own(p):
    call("unshare", 0x40000000 | 0x20000)  # CLONE_NEWNET, CLONE_NEWNS
    os.system("ip link set lo up")
    fd = os.open("/proc/%d/ns/net" % os.getppid(), os.O_RDONLY)
    call("setns", fd, 0x40000000)
    go(tcp())


def dissolve(s):
    call("connect", s.fileno(), ctypes.create_string_buffer(16), 16)  # AF_UNSPEC


@attempt()
def dissolved(p):
    s = tcp()
    s.connect((ALLOWED, PORT))
    dissolve(s)
    go(s)


@attempt()
def dissolved_accepted(p):
    l = local("0.0.0.0")
    c = tcp()
    c.connect(("127.0.0.1", l.getsockname()[1]))
    s = l.accept()[0]
    l.close()
    dissolve(s)
    go(s)


@attempt()
def dissolved_listener(p):
    s = local("0.0.0.0")
    dissolve(s)
    go(s)


@attempt()
def shut_listener(p):
    s = local("0.0.0.0")
    s.shutdown(socket.SHUT_RD)
    go(s)


@attempt()
def dissolved_twice(p):
    s = tcp()
    for _ in range(2):
        s.connect((ALLOWED, PORT))
        dissolve(s)
    go(s)


@attempt()
def fast_open_sendto(p):
    s = patient()
    s.sendto(b"x", 0x20000000, (OUT, PORT))
    greeted(s)


@attempt()
def fast_open_sendmsg(p):
    s = patient()
    s.sendmsg([b"x"], [], 0x20000000, (OUT, PORT))
    greeted(s)


class Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("size", ctypes.c_uint), ("iov", ctypes.c_void_p),
                ("n", ctypes.c_size_t), ("control", ctypes.c_void_p), ("controls", ctypes.c_size_t),
                ("flags", ctypes.c_int), ("done", ctypes.c_uint), ("pad", ctypes.c_uint)]


def batch(s, to=OUT, flags=0, port=PORT):
    name, text = raw_address(to, port), ctypes.create_string_buffer(b"batch", 5)
    iov = (ctypes.c_size_t * 2)(ctypes.addressof(text), 5)
    m = Message(ctypes.addressof(name), 16, ctypes.addressof(iov), 1, None, 0, 0, 0, 0)
    call("sendmmsg", s.fileno(), ctypes.byref(m), 1, flags)


@attempt()
def fast_open_sendmmsg(p):
    s = patient()
    batch(s, flags=0x20000000)
    greeted(s)


@attempt()
def fast_open_high_flags(p):
    """The filter looks at 32 of the 64 bits of the flags."""
    s = patient()
    a = raw_address()
    system(44, s.fileno(), ctypes.addressof(a), 1, 0x7fffffff20000000, ctypes.addressof(a), 16)
    greeted(s)


@attempt()
def fast_open_connect(p):
    s = tcp()
    s.setsockopt(6, 30, 1)
    s.connect((OUT, PORT))
    s.send(b"x")
    greeted(s)


@attempt("?")
def upper_layer_smc(p):
    s = tcp()
    s.setsockopt(6, 31, b"smc")
    go(s)


@attempt("?")
def upper_layer_tls(p):
    s = tcp()
    s.setsockopt(6, 31, b"tls")
    go(s)


@attempt("*")
def repair(p):
    s = tcp()
    s.setsockopt(6, 19, 1)
    s.bind((OURS, 7150))
    s.connect((OUT, PORT))
    s.setsockopt(6, 19, 0)
    s.send(b"x")
    p.sent()


def source_route(s, by):
    s.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS,
                 bytes([131, 7, 4]) + socket.inet_aton(by) + b"\0")


def segments(s, by):
    """A routing header of type 4 (RFC 8754) through one address."""
    s.setsockopt(socket.IPPROTO_IPV6, 57,
                 bytes([0, 4, 4, 1, 1, 0, 0, 0]) + bytes(16) + socket.inet_pton(I6, by))


@attempt()
def source_route_by_tcp(p):
    s = tcp()
    s.settimeout(0.3)
    source_route(s, OUT)
    try:
        s.connect((ALLOWED, PORT))
    except TimeoutError:
        pass
    p.sent()


@attempt()
def source_route_by_udp(p):
    s = udp()
    source_route(s, OUT)
    s.sendto(b"data", (ALLOWED, PORT))
    p.sent()


@attempt()
def segments_by_tcp(p):
    s = tcp(I6)
    s.settimeout(0.3)
    segments(s, OUT6)
    try:
        s.connect(("fd77::3", PORT))
    except TimeoutError:
        pass
    p.sent(OUT6)


@attempt()
def segments_by_udp(p):
    s = udp(I6)
    segments(s, OUT6)
    s.sendto(b"data", ("fd77::3", PORT))
    p.sent(OUT6)


# ---- other protocols ----


def other(name, mark, *args, connects=True):
    def fn(p):
        s = socket.socket(*args)
        s.settimeout(3)
        if connects:
            go(s)
    fn.__name__ = name
    attempt(mark)(fn)


other("mptcp", "", I4, STREAM, 262)
other("sctp", "?", I4, STREAM, 132)
other("sctp_packets", "?", I4, socket.SOCK_SEQPACKET, 132)
other("dccp", "?", I4, 6, 33)
other("smc", "?", 43, STREAM, 0)


@attempt("?")
def udplite(p):
    s = socket.socket(I4, DGRAM, 136)
    s.sendto(b"x", (OUT, PORT))
    p.sent()


ICMP = bytes([8, 0, 0xf7, 0xfd, 0, 1, 0, 1])


@attempt("*")
def raw_icmp(p):
    socket.socket(I4, socket.SOCK_RAW, 1).sendto(ICMP, (OUT, 0))
    p.sent()


@attempt("*")
def raw_own_header(p):
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28, 1, 0, 64, 17, 0, socket.inet_aton(OURS),
                       socket.inet_aton(OUT))
    socket.socket(I4, socket.SOCK_RAW, 255).sendto(
        head + struct.pack(">HHHH", 5, PORT, 8, 0), (OUT, 0))
    p.sent()


@attempt("*")
def raw_v6(p):
    socket.socket(I6, socket.SOCK_RAW, 58).sendto(bytes([128]) + bytes(7), (OUT6, 0))
    p.sent(OUT6)


@attempt()
def ping(p):
    socket.socket(I4, DGRAM, 1).sendto(ICMP, (OUT, 0))
    p.sent()


@attempt()
def ping6(p):
    socket.socket(I6, DGRAM, 58).sendto(bytes([128]) + bytes(7), (OUT6, 0))
    p.sent(OUT6)


@attempt("*")
def packets(p):
    s = socket.socket(socket.AF_PACKET, DGRAM, socket.htons(0x800))
    s.bind(("inside", 0x800))


@attempt("*")
def packets_of_old(p):
    socket.socket(I4, 10, socket.htons(0x800))  # SOCK_PACKET


for family_name, family_number in (("vsock", 40), ("algorithms", 38), ("xdp", 44), ("can", 29),
                                   ("tipc", 30), ("keys", 15), ("rds", 21), ("bluetooth", 31),
                                   ("qipcrtr", 42), ("phonet", 35), ("kernel_connections", 41),
                                   ("appletalk", 5), ("x25", 9), ("llc", 26), ("nfc", 39),
                                   ("ieee802154", 36), ("pppox", 24), ("mctp", 45)):
    for family_type in (STREAM, DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        if (family_name, family_type) in (("vsock", STREAM), ("algorithms", socket.SOCK_SEQPACKET),
                                          ("xdp", socket.SOCK_RAW)) or \
                (family_number not in (40, 38, 44) and family_type == DGRAM):
            other("family_" + family_name, "?" if family_number != 38 else "?", family_number,
                  family_type, 0, connects=False)

for netlink in ("USERSOCK:2", "SOCK_DIAG:4", "XFRM:6", "AUDIT:9", "NETFILTER:12", "UEVENT:15",
                "GENERIC:16", "CRYPTO:21"):
    other("netlink_" + netlink.split(":")[0].lower(), "?", socket.AF_NETLINK, socket.SOCK_RAW,
          int(netlink.split(":")[1]), connects=False)


@attempt()
def netlink_route_write(p):
    """Adds an address to loopback."""
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    a = socket.inet_aton("10.78.0.%d" % (os.getpid() % 250 + 1))
    lo = socket.if_nametoindex("lo")
    body = struct.pack("=BBBBI", I4, 32, 0, 0, lo) + struct.pack("=HH4s", 8, 2, a)
    s.send(struct.pack("=IHHII", 16 + len(body), 20, 0x605, 1, 0) + body)
    n = struct.unpack("=i", s.recv(1000)[16:20])[0]
    if n:
        raise OSError(-n, "netlink")


@attempt()
def interface_by_ioctl(p):
    import fcntl
    s = socket.socket(I4, DGRAM)
    fcntl.ioctl(s.fileno(), 0x8914, struct.pack("=16sH22x", b"lo", 0x49))  # SIOCSIFFLAGS


@attempt()
def kernel_program(p):
    """A BPF program: one that is attached to a cgroup changes where others connect to."""
    code = ctypes.create_string_buffer(bytes([0xb7]) + bytes(7) + bytes([0x95]) + bytes(7))
    licence = ctypes.create_string_buffer(b"GPL")
    kind = 18  # BPF_PROG_TYPE_CGROUP_SOCK_ADDR
    attr = ctypes.create_string_buffer(
        struct.pack("=IIQQIIQII16sII", kind, 2, ctypes.addressof(code), ctypes.addressof(licence),
                    0, 0, 0, 0, 0, b"", 0, 10), 128)
    code[0:16] = bytes([0xb7, 0, 0, 0, 1, 0, 0, 0, 0x95]) + bytes(7)
    system(321, 5, ctypes.addressof(attr), 128)


@attempt()
def tunnel(p):
    import fcntl
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, 0x400454ca, struct.pack("=16sH22x", b"", 1))


@attempt("?")
def pair_of_internet_sockets(p):
    socket.socketpair(I4, STREAM)


@attempt()
def io_uring(p):
    about = ctypes.create_string_buffer(200)
    system(425, 4, ctypes.addressof(about))


@attempt("?")
def io_uring_enter(p):
    system(426, 0, 0, 0, 0, 0, 0)


@attempt("?")
def io_uring_register(p):
    system(427, 0, 0, 0, 0)


@attempt("?")
def x32_socket(p):
    system(0x40000000 + 41, I4, STREAM, 0)


@attempt("?")
def x32_connect(p):
    s, a = tcp(), raw_address()
    system(0x40000000 + 42, s.fileno(), ctypes.addressof(a), 16)
    greeted(s)


def old_call(*args):
    """A call by int 0x80, as 32-bit programs make them."""
    if os.uname().machine != "x86_64":
        raise OSError(errno.ENOSYS, "only x86-64 has it")
    m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    m.write(bytes.fromhex("53 89f8 89f3 87d1 cd80 5b c3"))
    at = ctypes.addressof(ctypes.c_char.from_buffer(m))
    r = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_uint] * 4)(at)(*args)
    if r < 0:
        raise OSError(-r, "int 0x80")
    return r


def low(content):
    """An address below 4 GB with this."""
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, 4096, 3, 0x22 | 0x40, -1, 0)
    ctypes.memmove(at, content, len(content))
    return at


@attempt("?")
def old_socket(p):
    in_child(lambda: old_call(359, I4, STREAM, 0))


@attempt("?")
def old_connect(p):
    s = tcp()
    s.setblocking(True)
    in_child(lambda: old_call(362, s.fileno(), low(address(OUT)), 16))
    greeted(s)


@attempt("?")
def old_socketcall(p):
    in_child(lambda: old_call(102, 1, low(struct.pack("=III", I4, STREAM, 0)), 0))


# ---- UDP ----


@attempt()
def udp_sendto(p):
    s = udp()
    s.sendto(b"x", (OUT, PORT))
    echoed(s)


@attempt()
def udp6_sendto(p):
    s = udp(I6)
    s.sendto(b"x", (OUT6, PORT))
    echoed(s)


@attempt()
def udp_mapped(p):
    s = udp(I6)
    s.sendto(b"x", ("::ffff:" + OUT, PORT))
    echoed(s)


@attempt()
def udp_sendmsg(p):
    s = udp()
    s.sendmsg([b"x", b"y"], [], 0, (OUT, PORT))
    echoed(s)


@attempt()
def udp_sendmmsg(p):
    s = udp()
    batch(s)
    echoed(s)


@attempt()
def udp_connect_send(p):
    s = udp()
    s.connect((OUT, PORT))
    s.send(b"x")
    echoed(s)


@attempt()
def udp_connect_fails_then_write(p):
    s = udp()
    s.connect_ex((OUT, PORT))
    os.write(s.fileno(), b"x")
    echoed(s)


@attempt()
def udp_connect_fails_then_writev(p):
    s = udp()
    s.connect_ex((OUT, PORT))
    os.writev(s.fileno(), [b"x"])
    p.sent()


@attempt()
def udp_connect_fails_then_sendfile(p):
    s = udp()
    s.connect_ex((OUT, PORT))
    fd = os.open(__file__, os.O_RDONLY)
    os.sendfile(s.fileno(), fd, 0, 20)
    p.sent()


@attempt()
def udp_connect_fails_then_sendmsg(p):
    s = udp()
    s.connect_ex((OUT, PORT))
    s.sendmsg([b"x"])
    echoed(s)


@attempt()
def udp_of_another_peer(p):
    s = udp()
    s.connect((ALLOWED, PORT))
    s.sendto(b"x", (OUT, PORT))
    p.sent()


@attempt()
def udp_with_packet_info(p):
    s = udp()
    s.sendmsg([b"x"], [(0, 8, struct.pack("=I4s4s", 0, bytes(4), socket.inet_aton(OUT)))], 0,
              (OUT, PORT))
    p.sent()


@attempt("?")
def udp_with_options_in_the_message(p):
    """IP_RETOPTS: a source route for one datagram."""
    s = udp()
    s.sendmsg([b"x"], [(0, 7, bytes([131, 7, 4]) + socket.inet_aton(OUT) + b"\0")], 0,
              (ALLOWED, PORT))
    p.sent()


@attempt()
def udp_by_a_low_number(p):
    s = udp()
    os.dup2(s.fileno(), 60)
    as_socket(60, I4, DGRAM).sendmsg([b"x"], [], 0, (OUT, PORT))
    p.sent()


@attempt()
def udp_by_a_low_number_sendto(p):
    s = udp()
    os.dup2(s.fileno(), 61)
    as_socket(61, I4, DGRAM).sendto(b"x", (OUT, PORT))
    p.sent()


@attempt()
def udp_connected_by_a_low_number(p):
    s = udp()
    os.dup2(s.fileno(), 62)
    t = as_socket(62, I4, DGRAM)
    t.connect((OUT, PORT))
    t.send(b"x")
    p.sent()


@attempt()
def udp_with_a_peer_by_a_low_number(p):
    s = udp()
    s.connect((ALLOWED, PORT))
    os.dup2(s.fileno(), 63)
    as_socket(63, I4, DGRAM).sendto(b"x", (OUT, PORT))
    p.sent()


@attempt()
def udp_by_a_high_number(p):
    s = udp()
    os.dup2(s.fileno(), 1010)
    as_socket(1010, I4, DGRAM).sendto(b"x", (OUT, PORT))
    p.sent()


@attempt()
def udp_batch_by_a_low_number(p):
    s = udp()
    os.dup2(s.fileno(), 64)
    batch(as_socket(64, I4, DGRAM))
    p.sent()


@attempt()
def udp_passed(p):
    s = udp()
    as_socket(passed(s.fileno()), I4, DGRAM).sendto(b"x", (OUT, PORT))
    p.sent()


@attempt()
def udp_passed_to_a_child(p):
    a, b = socket.socketpair(socket.AF_UNIX, STREAM)
    s = udp()
    socket.send_fds(a, [b"x"], [s.fileno()])

    def child():
        as_socket(socket.recv_fds(b, 1, 1)[1][0], I4, DGRAM).sendto(b"x", (OUT, PORT))
    in_child(child)
    p.sent()


@attempt()
def udp_after_fork(p):
    s = udp()
    in_child(lambda: s.sendto(b"x", (OUT, PORT)))
    p.sent()


@attempt()
def udp_fast_open_flag(p):
    s = udp()
    s.sendto(b"x", 0x20000000, (OUT, PORT))
    p.sent()


@attempt()
def udp_broadcast(p):
    s = udp()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.sendto(b"x", ("10.77.0.255", PORT))
    p.sent("10.77.0.255")


@attempt()
def udp_broadcast_everywhere(p):
    s = udp()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.sendto(b"x", ("255.255.255.255", PORT))
    p.sent("255.255.255.255")


@attempt()
def udp_multicast(p):
    s = udp()
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(OURS))
    s.sendto(b"x", ("239.1.1.1", PORT))
    p.sent("239.1.1.1")


@attempt()
def udp_multicast6(p):
    s = udp(I6)
    s.sendto(b"x", ("ff02::1234", PORT, 0, socket.if_nametoindex("inside")))
    p.sent("ff02::1234")


# ---- names ----


def question(name, kind=1, extra=b"", count=1):
    q = struct.pack(">HHHHHH", 7, 0x100, count, 0, 0, 0)
    one = b"".join(bytes([len(x)]) + x for x in name.encode().split(b".")) + b"\0" + \
        struct.pack(">HH", kind, 1)
    return q + one * count + extra


def asked(p, word):
    """Raises In unless the resolver has been asked for a name with this word."""
    end = time.monotonic() + 0.6
    while time.monotonic() < end:
        if any(word in x for x in p.lines("questions")):
            return
        time.sleep(0.02)
    raise In("nothing arrived")


def ask(p, name, word, to=(RESOLVER, 53), **more):
    s = udp()
    s.sendto(question(name, **more), to)
    asked(p, word)


@attempt()
def name_of_no_rule(p):
    try:
        socket.getaddrinfo("leak1.denied.test", 80)
    except socket.gaierror:
        pass
    asked(p, "leak1")


@attempt()
def name_with_data(p):
    ask(p, "leak2-c2VjcmV0.denied.test", "leak2")


@attempt()
def name_below_an_allowed_one(p):
    ask(p, "leak3.allowed.test", "leak3")


@attempt()
def name_above_a_pattern(p):
    ask(p, "wild.test", "wild.test 1")


@attempt()
def name_that_ends_alike(p):
    ask(p, "leak4-allowed.test", "leak4")


@attempt()
def name_with_letters_as_data(p):
    ask(p, "aLLowEd.TesT", "aLLowEd.TesT")


@attempt()
def name_of_an_address(p):
    ask(p, "5.4.3.2.in-addr.arpa", "5.4.3.2", kind=12)


@attempt()
def name_text(p):
    ask(p, "allowed.test", "allowed.test 16", kind=16)


@attempt()
def name_mail(p):
    ask(p, "allowed.test", "allowed.test 15", kind=15)


@attempt()
def name_with_data_behind(p):
    ask(p, "allowed.test", "LEAK5", extra=b"LEAK5")


@attempt()
def name_two_questions(p):
    ask(p, "leak6.denied.test", "leak6", count=2)


@attempt()
def name_by_another_server(p):
    ask(p, "leak7.denied.test", "leak7", to=(OUT, 53))


@attempt()
def name_by_a_connected_socket(p):
    s = udp()
    s.connect((RESOLVER, 53))
    os.write(s.fileno(), question("leak8.denied.test"))
    asked(p, "leak8")


@attempt()
def name_by_sendmsg_of_a_low_number(p):
    s = udp()
    s.connect((RESOLVER, 53))
    os.dup2(s.fileno(), 65)
    as_socket(65, I4, DGRAM).sendmsg([question("leak9.denied.test")])
    asked(p, "leak9")


@attempt()
def name_by_tcp(p):
    s = tcp()
    s.connect((RESOLVER, 53))
    q = question("leak10.denied.test")
    s.sendall(struct.pack(">H", len(q)) + q)
    asked(p, "leak10")


@attempt()
def name_that_is_no_question(p):
    s = udp()
    s.sendto(b"leak11 leak11 leak11", (OUT, 53))
    p.sent()


@attempt()
def name_with_other_bytes(p):
    ask(p, "leak12 /=.wild.test", "leak12")


@attempt()
def name_of_a_private_address(p):
    go(tcp(), ("private.test", PORT))


@attempt()
def name_of_loopback(p):
    tcp().connect(("loopback.test", OWN))


@attempt()
def name_at_another_port(p):
    s = tcp()
    s.connect(("allowed.test", PORT))
    greeted(s)


@attempt()
def address_of_an_allowed_name(p):
    s = tcp()
    s.connect((PUBLIC, 80))


@attempt("?")
def address_that_was_not_handed_out(p):
    go(tcp(), ("198.18.77.77", PORT))


@attempt("?")
def address_that_may_come_next(p):
    go(tcp(), ("198.18.1.200", PORT))


# ---- listening ----


@attempt()
def bind_a_port_of_no_rule(p):
    s = tcp()
    s.bind(("0.0.0.0", 7300))
    s.listen()


@attempt()
def bind6_a_port_of_no_rule(p):
    s = tcp(I6)
    s.bind(("::", 7301))
    s.listen()


@attempt()
def bind_reuse_port(p):
    s = tcp()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(("127.0.0.1", 7302))
    s.listen()


@attempt()
def listen_without_bind(p):
    tcp().listen()


@attempt()
def listen_at_any_port(p):
    s = tcp()
    s.bind(("0.0.0.0", 0))
    s.listen()


@attempt()
def listen_in_a_child(p):
    s = tcp()
    in_child(s.listen)


@attempt()
def listen_by_dup(p):
    s = tcp()
    as_socket(os.dup(s.fileno())).listen()


@attempt()
def udp_bind_a_port_of_no_rule(p):
    udp().bind(("0.0.0.0", 7303))


@attempt()
def listen_after_dissolving(p):
    s = tcp()
    s.connect((ALLOWED, PORT))
    dissolve(s)
    s.listen()


# ---- the server itself ----


for own_name, own_family, own_host in (
        ("loopback", I4, "127.0.0.1"), ("another_loopback", I4, "127.0.0.2"),
        ("loopback6", I6, "::1"), ("its_address", I4, OURS), ("its_address6", I6, OURS6),
        ("any", I4, "0.0.0.0"), ("any6", I6, "::"), ("mapped", I6, "::ffff:127.0.0.1"),
        ("mapped_any", I6, "::ffff:0.0.0.0")):
    def own_listener(p, family=own_family, host=own_host):
        tcp(family).connect((host, OWN))
    own_listener.__name__ = "own_listener_by_" + own_name
    attempt()(own_listener)


@attempt("?")
def own_listener_shared(p):
    s = tcp()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(("127.0.0.1", OWN))
    s.listen()


def process(p, name):
    if name == "keeper":
        return p.keeper
    for pid in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % pid) as f:
                above = f.read().rpartition(")")[2].split()[1]
            with open("/proc/%s/cmdline" % pid) as f:
                text = f.read()
        except OSError:
            continue
        if text.startswith("od-" + name) and above == str(p.keeper):
            return int(pid)
    raise OSError(errno.ENOENT, "there is no od-" + name)


def trace(p, pid):
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    call("ptrace", 0x4206, pid, 0, 0)


def peek(p, pid):
    there, here = ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)
    with open("/proc/%d/maps" % pid) as f:
        at = int([x for x in f if " r" in x][0].split("-")[0], 16)
    a = (ctypes.c_size_t * 2)(ctypes.addressof(here), 4)
    b = (ctypes.c_size_t * 2)(at, 4)
    call("process_vm_readv", pid, a, ctypes.c_ulong(1), b, ctypes.c_ulong(1), ctypes.c_ulong(0))
    del there


def poke(p, pid):
    here = ctypes.create_string_buffer(8)
    a = (ctypes.c_size_t * 2)(ctypes.addressof(here), 4)
    b = (ctypes.c_size_t * 2)(4096, 4)
    try:
        call("process_vm_writev", pid, a, ctypes.c_ulong(1), b, ctypes.c_ulong(1),
             ctypes.c_ulong(0))
    except OSError as e:
        if e.errno != errno.EFAULT:  # nothing is there: it was let in
            raise


def memory(p, pid):
    os.close(os.open("/proc/%d/mem" % pid, os.O_RDWR))


def descriptor(p, pid):
    fd = os.pidfd_open(pid)
    system(438, fd, 0, 0)


def files(p, pid):
    os.readlink("/proc/%d/fd/0" % pid)


for process_name in ("keeper", "reaper", "worker"):
    for how in (trace, peek, poke, memory, descriptor, files):
        def into(p, way=how, who=process_name):
            way(p, process(p, who))
        into.__name__ = "%s_of_%s" % (how.__name__, process_name)
        attempt("?")(into)


@attempt()
def faults_of_memory(p):
    system(323, 1)  # UFFD_USER_MODE_ONLY


@attempt()
def faults_by_the_device(p):
    import fcntl
    fd = os.open("/dev/userfaultfd", os.O_RDWR)
    fcntl.ioctl(fd, 0xaa00, 0)


@attempt("?")
def another_listener(p):
    """A filter of our own whose calls we would decide."""
    call("prctl", 38, 1, 0, 0, 0)
    code = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0x7fff0000))
    prog = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", 1, ctypes.addressof(code)))
    system(317, 1, 8, ctypes.addressof(prog))


@attempt("?")
def another_filter(p):
    """connect goes to nobody's listener."""
    call("prctl", 38, 1, 0, 0, 0)
    code = ctypes.create_string_buffer(
        struct.pack("=HBBI", 0x20, 0, 0, 0) + struct.pack("=HBBI", 0x15, 0, 1, 42) +
        struct.pack("=HBBI", 6, 0, 0, 0x7fc00000) + struct.pack("=HBBI", 6, 0, 0, 0x7fff0000))
    prog = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", 4, ctypes.addressof(code)))
    s = tcp()
    system(317, 1, 0, ctypes.addressof(prog))
    go(s)


# ---- races ----


def flipper(at, forms):
    """A process that writes one after the other into shared memory."""
    pid = os.fork()
    if pid == 0:
        try:
            while True:
                at[200] = 1
                for _ in range(1000):
                    for x in forms:
                        at[0:len(x)] = x
                if os.getppid() == 1:
                    break
        finally:
            os._exit(0)
    return pid


def race(p, forms, fn, to=OUT):
    at = mmap.mmap(-1, 4096)
    at[0:len(forms[0])] = forms[0]
    pointer = ctypes.addressof(ctypes.c_char.from_buffer(at))
    pid = flipper(at, forms)
    try:
        while at[200] == 0:  # it has not begun
            time.sleep(0.001)
        for i in range(ROUNDS):
            fn(pointer, i)
            if i % 500 == 0 and any(x.startswith(to + " ")
                                    for x in p.lines("packets")[p.before:]):
                break
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    p.sent(to)


LOOP = "127.0.0.1"


@attempt()
def race_of_an_address(p):
    def one(at, _):
        s = socket.socket(I4, STREAM)
        libc.connect(s.fileno(), ctypes.c_void_p(at), 16)
        s.close()
    race(p, [address(LOOP, CLOSED), address(OUT, CLOSED)], one)


@attempt()
def race_of_a_family(p):
    def one(at, _):
        s = socket.socket(I4, STREAM)
        libc.connect(s.fileno(), ctypes.c_void_p(at), 16)
        s.close()
    race(p, [bytes(2) + address(OUT, CLOSED)[2:], address(OUT, CLOSED)], one)


@attempt()
def race_of_a_datagram(p):
    s = udp()
    s.setblocking(False)

    def one(at, _):
        libc.sendto(s.fileno(), b"x", 1, 0, ctypes.c_void_p(at), 16)
    race(p, [address(LOOP, CLOSED), address(OUT, CLOSED)], one)


@attempt()
def race_of_a_message(p):
    s = udp()
    s.setblocking(False)
    good, bad = raw_address(LOOP, CLOSED), raw_address(OUT, CLOSED)
    text = ctypes.create_string_buffer(b"x", 1)
    iov = (ctypes.c_size_t * 2)(ctypes.addressof(text), 1)
    forms = [bytes(Message(ctypes.addressof(x), 16, ctypes.addressof(iov), 1, None, 0, 0, 0, 0))
             for x in (good, bad)]

    def one(at, _):
        libc.sendmsg(s.fileno(), ctypes.c_void_p(at), 0)
    race(p, forms, one)


def race_of_numbers(p, first, second):
    """connect of a number that becomes another socket meanwhile."""
    done = threading.Event()
    a = raw_address(OUT, CLOSED)

    def change():
        while not done.is_set():
            # By chance: two threads in step would leave the same one each time.
            os.dup2(random.choice((first, second)).fileno(), 70)
    os.dup2(first.fileno(), 70)
    t = threading.Thread(target=change)
    t.start()
    try:
        for _ in range(ROUNDS // 4):
            libc.connect(70, a, 16)
            time.sleep(0)  # the other thread's turn: else each has a long one
    finally:
        done.set()
        t.join()
    p.sent()


@attempt()
def race_of_a_number(p):
    s = socket.socket(I4, STREAM)
    s.setblocking(False)
    race_of_numbers(p, socket.socket(socket.AF_UNIX, STREAM), s)


@attempt("?")
def race_of_a_stand_ins_number(p):
    s = socket.socket(I4, STREAM)
    s.setblocking(False)
    race_of_numbers(p, socket.socket(I4, DGRAM), s)


# ---- ordinary work ----


def served(port=80):
    with urllib.request.urlopen("http://allowed.test:%d/" % port, timeout=10) as f:
        assert f.read() == b"page\n"


@work
def a_page_by_name(p):
    served()


@work
def a_page_by_curl(p):
    r = subprocess.run(["curl", "-sS", "--max-time", "20", "http://allowed.test/"],
                       capture_output=True, text=True, check=False)
    assert r.stdout == "page\n", r


@work
def an_address_of_a_rule(p):
    go(tcp(), (ALLOWED, PORT))


@work
def an_address_of_a_rule_without_waiting(p):
    s = socket.socket(I4, STREAM)
    s.setblocking(False)
    n = s.connect_ex((ALLOWED, PORT))
    assert n == errno.EINPROGRESS, n
    assert select.select([], [s], [], 10)[1]
    assert s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
    greeted(s)


@work
def poll_before_connect(p):
    s = socket.socket(I4, STREAM)
    s.setblocking(False)
    q = select.poll()
    q.register(s, select.POLLOUT)
    s.connect_ex((ALLOWED, PORT))
    end = time.monotonic() + 10
    while time.monotonic() < end and q.poll(1000)[0][1] & select.POLLHUP:
        pass
    greeted(s)


@work
def epoll_before_connect(p):
    """As Go does it: edge-triggered, registered when the socket is made."""
    s = socket.socket(I4, STREAM)
    s.setblocking(False)
    q = select.epoll()
    q.register(s, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET | select.EPOLLRDHUP)
    q.poll(0)
    s.connect_ex((ALLOWED, PORT))
    end = time.monotonic() + 10
    while time.monotonic() < end and s.connect_ex((ALLOWED, PORT)) not in (0, errno.EISCONN):
        assert q.poll(10)
    greeted(s)
    assert s.getpeername() == (ALLOWED, PORT)


@work
def a_refused_connection(p):
    assert tcp().connect_ex(("127.0.0.1", CLOSED)) == errno.ECONNREFUSED


@work
def a_connect_that_times_out(p):
    s = socket.socket(I4, STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("=QQ", 0, 300000))
    a, before = raw_address("10.77.0.200", 7), time.monotonic()
    r = libc.connect(s.fileno(), a, 16)
    assert r == -1 and ctypes.get_errno() in (errno.EINPROGRESS, errno.EHOSTUNREACH)
    assert time.monotonic() - before < 10


def interrupted(flags):
    """A connect to a host that is not there, with a signal meanwhile."""
    hits = []
    signal.signal(signal.SIGALRM, lambda *_: hits.append(1))
    signal.siginterrupt(signal.SIGALRM, flags)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    s = socket.socket(I4, STREAM)
    r = libc.connect(s.fileno(), raw_address("10.77.0.201", 7), 16)
    n = ctypes.get_errno()
    return r, n, s


@work
def an_interrupted_connect(p):
    r, n, _ = interrupted(True)
    assert r == -1 and n in (errno.EINTR, errno.EHOSTUNREACH), n


@work
def a_restarted_connect(p):
    r, n, _ = interrupted(False)
    assert r == -1 and n in (errno.EHOSTUNREACH, errno.ETIMEDOUT), n


@work
def connections_at_once(p):
    l = local()
    peers = []

    def one():
        s = tcp()
        s.connect(l.getsockname())
        peers.append(s)
    threads = [threading.Thread(target=one) for _ in range(200)]
    for t in threads:
        t.start()
    for _ in threads:
        l.accept()[0].close()
    for t in threads:
        t.join()
    assert len(peers) == 200


@work
def a_server_that_begins_again(p):
    for i in range(20):
        s = socket.socket(I4, STREAM)
        s.bind(("127.0.0.1", LISTEN + 91))
        s.listen()
        s.close()


@work
def bound_and_closed(p):
    for i in range(20):
        s = socket.socket(I4, STREAM)
        s.bind(("127.0.0.1", LISTEN + 92))
        s.close()


@work
def a_free_port(p):
    s = socket.socket(I4, STREAM)
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
    s.close()
    s = socket.socket(I4, STREAM)
    s.bind(("127.0.0.1", port))
    s.close()


@work
def names(p):
    found = {x[4][0] for x in socket.getaddrinfo("allowed.test", 80)}
    assert found, "no address"
    assert socket.gethostbyname("localhost").startswith("127.")
    assert socket.getaddrinfo("data.wild.test", 80)
    try:
        socket.getaddrinfo("denied.test", 80)
        assert False, "an address"
    except socket.gaierror:
        pass


@work
def udp_on_loopback(p):
    a, b = socket.socket(I4, DGRAM), socket.socket(I4, DGRAM)
    a.settimeout(10)
    b.settimeout(10)
    a.bind(("127.0.0.1", LISTEN + 93))
    b.connect(a.getsockname())
    assert b.getpeername() == a.getsockname()
    b.send(b"one")
    got, at = a.recvfrom(100)
    assert got == b"one" and at[0] == "127.0.0.1", (got, at)
    a.sendto(b"two", at)
    assert select.select([b], [], [], 10)[0]
    assert b.recv(100) == b"two"
    b.sendmsg([b"th", b"ree"])
    got, _, _, at = a.recvmsg(100)
    assert got == b"three", got
    a.sendmsg([b"x"], [], 0, at)
    assert b.recvmsg(100)[0] == b"x"
    os.write(b.fileno(), b"four")
    assert select.select([a], [], [], 10)[0]  # it comes by the supervisor, a moment later
    assert os.read(a.fileno(), 100) == b"four"
    a.settimeout(0.2)
    try:
        a.recv(1)
        assert False, "bytes"
    except TimeoutError:
        pass


@work
def udp_to_an_address_of_a_rule(p):
    s = udp()
    s.settimeout(10)
    s.sendto(b"x", (ALLOWED, PORT))
    got, at = s.recvfrom(100)
    assert got.startswith(b"echo") and at == (ALLOWED, PORT), (got, at)


@work
def asyncio_server(p):
    async def serve(r, w):
        w.write(await r.readline())
        await w.drain()
        w.close()

    async def main():
        server = await asyncio.start_server(serve, "127.0.0.1", LISTEN + 94)
        for _ in range(20):
            r, w = await asyncio.open_connection("127.0.0.1", LISTEN + 94)
            w.write(b"line\n")
            assert await r.readline() == b"line\n"
            w.close()
        server.close()
    asyncio.run(main())


@work
def megabytes(p):
    with urllib.request.urlopen("http://allowed.test/large", timeout=60) as f:
        assert len(f.read()) == 3000000


@work
def node(p):
    if not shutil.which("node"):
        return
    script = """
const dgram = require('dgram'), http = require('http');
const s = dgram.createSocket('udp4');
s.on('message', (m) => { s.close(); http.get('http://allowed.test/', (r) => {
  r.on('data', (d) => process.stdout.write(d)); }); });
s.bind(%d, '127.0.0.1', () => s.send('x', %d, '127.0.0.1'));
""" % (LISTEN + 95, LISTEN + 95)
    r = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=False,
                       timeout=60)
    assert r.stdout == "page\n", r


@work
def many_sockets(p):
    """More than the number of stand-ins, one after the other and some at once."""
    for _ in range(500):
        socket.socket(I4, DGRAM).close()
    some = [socket.socket(I4, DGRAM) for _ in range(200)]
    assert len({s.fileno() for s in some}) == 200


@work
def selectors_of_python(p):
    l = local()
    c = tcp()
    c.connect(l.getsockname())
    s = l.accept()[0]
    q = selectors.DefaultSelector()
    q.register(s, selectors.EVENT_READ)
    c.send(b"x")
    assert q.select(10)


# ---- the outside ----


def answer_dns(folder, data):
    name, at = [], 12
    while data[at]:
        name.append(data[at + 1:at + 1 + data[at]].decode("latin-1"))
        at += 1 + data[at]
    kind = struct.unpack(">H", data[at + 1:at + 3])[0]
    text = ".".join(name)
    with open(os.path.join(folder, "questions"), "a") as f:
        f.write("%s %d %s\n" % (text, kind, data[at + 5:].decode("latin-1", "replace")))
    known = {"allowed.test": PUBLIC, "private.test": OUT, "loopback.test": "127.0.0.1",
             "data.wild.test": PUBLIC}
    ip = known.get(text.lower())
    head = data[:2] + struct.pack(">HHHHH", 0x8180 if ip else 0x8183, 1,
                                  1 if ip and kind == 1 else 0, 0, 0)
    tail = data[12:at + 5]
    if ip and kind == 1:
        tail += struct.pack(">HHHIH", 0xc00c, 1, 1, 5, 4) + socket.inet_aton(ip)
    return head + tail


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"x" * 3000000 if self.path == "/large" else b"page\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def outside(folder):
    q = selectors.DefaultSelector()
    sniff = socket.socket(socket.AF_PACKET, DGRAM, socket.htons(3))
    q.register(sniff, 1, "sniff")
    for kind, proto in ((STREAM, 0), (STREAM, 262)):
        s = socket.socket(I6, kind, proto)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if kind == STREAM and proto == 0:
            s.setsockopt(6, 23, 5)  # TCP_FASTOPEN
            s.bind(("::", PORT))
            s.listen(500)
            q.register(s, 1, "tcp")
    t = socket.socket(I6, STREAM)
    t.bind(("::", 53))
    t.listen(50)
    q.register(t, 1, "tcp53")
    for port in (PORT, 53):
        u = socket.socket(I4, DGRAM)
        u.bind(("0.0.0.0", port))
        u.setsockopt(0, 8, 1)  # IP_PKTINFO: the answer comes from where it was asked
        q.register(u, 1, "udp" if port == PORT else "dns")
    u6 = socket.socket(I6, DGRAM)
    u6.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    u6.bind(("::", PORT))
    q.register(u6, 1, "udp6")
    web = http.server.ThreadingHTTPServer(("0.0.0.0", 80), Page)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    log = open(os.path.join(folder, "packets"), "a", buffering=1)
    open(os.path.join(folder, "questions"), "a").close()
    open(os.path.join(folder, "ready"), "w").close()
    while True:
        for key, _ in q.select():
            s = key.fileobj
            try:
                if key.data == "sniff":
                    b, at = s.recvfrom(2000)
                    if at[2] == 4 or at[0] == "lo":  # PACKET_OUTGOING
                        continue
                    if at[1] == 0x800:
                        log.write("%s %d\n" % (socket.inet_ntoa(b[16:20]), b[9]))
                    elif at[1] == 0x86dd and not (b[6] == 58 and 133 <= b[40] <= 137):
                        log.write("%s %d\n" % (socket.inet_ntop(I6, b[24:40]), b[6]))
                elif key.data == "tcp":
                    c = s.accept()[0]
                    c.send(b"hello\n")
                    c.close()
                elif key.data == "tcp53":
                    c = s.accept()[0]
                    c.settimeout(1)
                    b = c.recv(1000)
                    c.send(struct.pack(">H", 0) + answer_dns(folder, b[2:]))
                    c.close()
                elif key.data == "udp6":
                    b, at = s.recvfrom(2000)
                    s.sendto(b"echo " + b, at)
                else:
                    b, anc, _, at = s.recvmsg(2000, 200)
                    s.sendmsg([b"echo " + b if key.data == "udp" else answer_dns(folder, b)],
                              [(0, 8, struct.pack("=I4s4s", 0, x[2][4:8], bytes(4)))
                               for x in anc if x[1] == 8], 0, at)
            except (OSError, IndexError, struct.error):
                pass


# ---- the inside ----


def one(p, fn):
    try:
        fn(p)
    except In as e:
        return "in %s" % e
    except OSError as e:
        return "in %s" % (errno.errorcode.get(e.errno) or e)
    return "out"


def one_work(p, fn):
    try:
        fn(p)
    except Exception as e:  # noqa: any is a failure
        return "%s %s" % (type(e).__name__, e)
    return "works"


def all_of(which, run, folder, keeper, wanted):
    for name, fn in which:
        if wanted and name not in wanted:
            continue
        p = Place(name, folder, keeper)
        sys.stdout.flush()
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(r)
            try:
                os.write(w, run(p, fn).replace("\n", " ").encode())
            finally:
                os._exit(0)
        os.close(w)
        said = b"in no time" if not select.select([r], [], [], 90)[0] else os.read(r, 1000)
        os.close(r)
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
        os.waitpid(pid, 0)
        print(name, said.decode() or "ended")


def orphan(folder):
    """What calls return when the supervisor is gone: FOLDER/orphan-said has it."""
    s = tcp()
    open(os.path.join(folder, "orphan-ready"), "w").close()
    end = time.monotonic() + 100
    while not os.path.exists(os.path.join(folder, "orphan-go")) and time.monotonic() < end:
        time.sleep(0.02)
    said = []
    for fn in (lambda: s.connect((ALLOWED, PORT)), lambda: go(tcp()), udp,
               lambda: socket.getaddrinfo("allowed.test", 80)):
        try:
            fn()
            said.append("done")
        except OSError:
            said.append("failed")
    with open(os.path.join(folder, "orphan-part"), "w") as f:
        f.write(" ".join(said) + "\n")
    os.rename(os.path.join(folder, "orphan-part"), os.path.join(folder, "orphan-said"))


def main(what, args):
    if what == "outside":
        outside(args[0])
    elif what == "names":
        for name, mark, _ in TRIES:
            print(name + mark)
    elif what == "worknames":
        for name, _ in WORKS:
            print(name)
    elif what == "connect":
        try:
            go(as_socket(int(args[0])))
        except OSError as e:
            sys.exit(e.errno or 1)
    elif what == "orphan":
        orphan(args[0])
    elif what == "try":
        all_of([(n, f) for n, _, f in TRIES], one, args[0], int(args[1]), args[2:])
    else:
        all_of(WORKS, one_work, args[0], 0, args[1:])


main(sys.argv[1], sys.argv[2:])
