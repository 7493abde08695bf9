# SPDX-License-Identifier: MIT
"""connect_rows.py [PATTERN]: od dials backends that let it in, that do not, that lie,
fall silent or break off, with TLS and without, directly and through proxies. What
each of them comes to has a name in the log and in the metrics."""
import contextlib
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import tempfile

from dialled import (
    T, WAIT, Od, Proxy, Socket, answers, certificate, frame, read_head, server_context, shake,
    stay,
)
from tap import Rows, Tap, has, holds, lacks, run_rows, same, wait_for

row = Rows()
CA = ("--ca", certificate("root.pem"))
FAST = ("--connect-wait", "0.2")


def link(conn, _number=0, since=0):
    """A backend that lets everybody in, and listens."""
    if not shake(conn):
        return
    conn.sendall(frame(json.dumps({"since": since})))
    stay(conn)


def dial(url, *options, **more):
    return Od("--connect", url, *FAST, *options, **more)


def url_of(server, scheme="ws", host="127.0.0.1", path="/"):
    return f"{scheme}://{host}:{server.port}{path}"


def read_message(conn):
    """One frame of a client, which is masked, and shorter than 64 KiB."""
    data = b""

    def need(n):
        nonlocal data
        while len(data) < n:
            piece = conn.recv(4096)
            holds(piece, "the client has gone")
            data += piece

    need(2)
    n, at = data[1] & 0x7F, 2
    if n == 126:
        need(4)
        n, at = int.from_bytes(data[2:4], "big"), 4
    need(at + 4 + n)
    mask, body = data[at:at + 4], data[at + 4:at + 4 + n]
    return bytes(b ^ mask[i % 4] for i, b in enumerate(body)).decode()


# --- what is said


@row("the request and the hello say who we are")
def _(_case):
    heads, hellos = [], []

    def script(conn, _number):
        heads.append(shake(conn, "Sec-WebSocket-Protocol: od.events.v1\r\n"))
        hellos.append(json.loads(read_message(conn)))
        conn.sendall(frame('{"since":0}'))
        stay(conn)

    options = ("--connect-header", "X-One: 1", "--connect-header=X-Two: a, b",
               "--connect-token", "tok")
    with Socket(script) as server, dial(url_of(server, path="/a/b?c=d"), *options) as od:
        od.linked()
        has(heads[0], "GET /a/b?c=d HTTP/1.1\r\n", f"\r\nHost: 127.0.0.1:{server.port}\r\n",
            "\r\nX-One: 1\r\n", "\r\nX-Two: a, b\r\n", "\r\nAuthorization: Bearer tok\r\n",
            "\r\nSec-WebSocket-Protocol: od.events.v1\r\n", "\r\nUser-Agent: od/")
        hello = hellos[0]["hello"]
        same(hello["protocol"], "od.events.v1")
        same(len(hello["sandbox"]), 32)
        holds(hello["next"] >= 1 and "run" in hello["capabilities"], hello)
        image, uname = hello["image"], os.uname()
        same((image["arch"], image["kernel"], image["hostname"], image["uid"], image["cwd"]),
             (uname.machine, uname.release, uname.nodename, os.getuid(), od.dir))
        holds(os.access(image["shell"], os.X_OK), image)
        with open("/etc/os-release", encoding="utf-8") as f:
            has(f.read(), image["os"], f'ID={image["os_id"]}')
        metrics = od.get("/metrics")
        has(metrics, "\nod_connect_up 1\n", "\nod_connect_links_total 1\n",
            '\nod_connect_ends_total{outcome="cut"} 0\n')


@row("front/connect/README.md says what is said, and names each end")
def _(_case):
    with open(os.path.join(os.environ["ROOT"], "core/front/connect/README.md"), encoding="utf-8") as f:
        page = f.read()
    example = json.loads(page.split("```json")[1].split("```")[0])["hello"]
    hellos = []

    def script(conn, _number):
        shake(conn)
        hellos.append(json.loads(read_message(conn))["hello"])
        stay(conn)

    with Socket(script) as server, dial(url_of(server)) as od:
        wait_for(lambda: hellos, "no hello", WAIT)
        metrics = od.get("/metrics")
    same(list(hellos[0]), list(example))
    same(list(hellos[0]["image"]), list(example["image"]))
    same(hellos[0]["capabilities"], example["capabilities"])
    same(sorted(re.findall(r"^\| `([a-z-]+)` \|", page, re.M)),
         sorted(re.findall(r'outcome="([a-z-]+)"', metrics)))


@row("options by the environment, with a name and a password in the URL")
def _(_case):
    heads = []

    def script(conn, _number):
        heads.append(shake(conn))
        stay(conn)

    with Socket(script) as server:
        env = {
            "OD_CONNECT": f"ws://me:p%40ss@localhost:{server.port}",
            "OD_CONNECT_HEADER": "X-One: 1, 2\n X-Two: 3",
            "OD_CONNECT_WAIT": "0.2",
        }
        with Od(env=env):
            wait_for(lambda: heads, "nobody came", WAIT)
        has(heads[0], "GET / HTTP/1.1\r\n", "\r\nX-One: 1, 2\r\n", "\r\nX-Two: 3\r\n",
            "\r\nAuthorization: Basic bWU6cEBzcw==\r\n")


@row("the token's file is read again")
def _(_case):
    heads = []

    def script(conn, number):
        if number < 3:
            heads.append(read_head(conn))
            conn.sendall(b"HTTP/1.1 401 x\r\nContent-Length: 0\r\n\r\n")
        else:
            heads.append(shake(conn))
            conn.sendall(frame('{"since":0}'))
            stay(conn)

    path = os.path.join(tempfile.mkdtemp(dir=T), "token")
    with open(path, "w", encoding="utf-8") as f:
        f.write("first\n")
    with Socket(script) as server:
        with dial(url_of(server), "--connect-token-file", path) as od:
            wait_for(lambda: heads, "nobody came", WAIT)
            with open(path + ".new", "w", encoding="utf-8") as f:
                f.write("second\n")
            os.rename(path + ".new", path)
            od.linked()
        has(heads[0], "Bearer first\r\n")
        has(heads[2], "Bearer second\r\n")


@row("no token, header or password can be seen")
def _(_case):
    options = ("--connect-header", "X-Key: secret1-of-ours", "--connect-token",
               "secret2-of-ours")
    env = {"OD_CONNECT_HEADER": "X: secret3-of-ours", "OD_CONNECT_TOKEN": "secret4-of-ours"}
    with Socket(link) as server:
        url = url_of(server, path="/secret5-of-ours")
        with dial(url, *options, env=env, command=("--", "sh", "-c", "env; exec sleep 1000")) as od:
            od.linked()
            same(od.exec("env; set; cat /proc/$$/environ").stdout.count("-of-ours"), 0)
            found, looked, todo = [], 0, [od.process.pid]
            for pid in todo:
                with contextlib.suppress(OSError):
                    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
                        todo += f.read().split()
                    for name in ("environ", "cmdline"):
                        looked += 1
                        # what its own user may not read is not seen, either
                        with contextlib.suppress(PermissionError), \
                                open(f"/proc/{pid}/{name}", "rb") as f:
                            if b"-of-ours" in f.read():
                                found.append((pid, name))
            same(found, [])
            holds(looked >= 10, looked)
            lacks(od.log(), "-of-ours")
            files = subprocess.run(["grep", "-raq", "secret[0-9]-of-ours", od.state], check=False)
            same(files.returncode, 1, "in the state directory")


# --- a backend that refuses access

STATUSES = (
    (401, "refused", "--connect-token-file"),
    (403, "refused", "refuses access (403 Forbidden); its answer: go away"),
    (404, "not-found", "nothing at the path"),
    (426, "no-websocket", "another protocol"),
    (503, "busy", "not able to answer (503"),
    (200, "no-websocket", "not as a WebSocket"),
)

for status, name, words in STATUSES:

    @row(f"status {status}")
    def _(_case, status=status, name=name, words=words):
        text = f"HTTP/1.1 {status} x\nContent-Length: 8\n\ngo away\n"
        with Socket(answers(text.replace("away\n", "away!"))) as server, dial(url_of(server)) as od:
            od.ends(name, words)
            wait_for(lambda: server.taken > 1, "no other try", WAIT)
            has(od.get("/metrics"), "\nod_connect_up 0\n")
            lacks(od.get("/metrics"), f'\nod_connect_ends_total{{outcome="{name}"}} 0\n')


@row("a redirect is followed to the same host")
def _(_case):
    heads = []

    def script(conn, number):
        if number == 1:
            heads.append(read_head(conn))
            conn.sendall(b"HTTP/1.1 307 x\r\nLocation: ../there?x=1\r\nContent-Length: 4\r\n\r\nmore")
            stay(conn)
        else:
            heads.append(shake(conn))
            conn.sendall(frame('{"since":0}'))
            stay(conn)

    with Socket(script) as server, dial(url_of(server), "--connect-token", "tok") as od:
        od.linked()
        has(heads[1], "GET /../there?x=1 HTTP/1.1\r\n", "Bearer tok\r\n")
        has(od.log(), "linked, after try 1;")


@row("and not to another, nor away from TLS, nor endlessly")
def _(_case):
    def to(location):
        return answers(f"HTTP/1.1 302 x\nLocation: {location}\nContent-Length: 0\n\n")

    with Socket(link) as other:
        script = to(f"ws://localhost:{other.port}/")
        with Socket(script) as server, dial(url_of(server)) as od:
            od.ends("redirect", f"redirects to ws://localhost:{other.port}, which is another host")
        script = to(f"ws://127.0.0.1:{other.port}/")
        with Socket(script, server_context()) as server, dial(url_of(server, "wss"), *CA) as od:
            od.ends("redirect", "from TLS to none")
        same(other.taken, 0)
    with Socket(to("/again")) as server, dial(url_of(server)) as od:
        od.ends("redirect", "too many times")


@row("nobody listens, and no such name")
def _(_case):
    with Socket(link) as server:
        url = url_of(server)
    with dial(url) as od:
        od.ends("unreachable", "nothing listens at 127.0.0.1:")
    with dial("ws://no.such.name.invalid/") as od:
        od.ends("no-address")


# --- who lies, falls silent, breaks off


@row("a backend that takes the connection and says nothing")
def _(_case):
    with Socket(lambda conn, _: stay(conn)) as server:
        with dial(url_of(server), "--connect-timeout", "0.3") as od:
            od.ends("silent", "has not answered for 300 ms")
            wait_for(lambda: server.taken > 1, "no other try", WAIT)
        with dial(url_of(server, "wss"), *CA, "--connect-timeout", "0.3") as od:
            od.ends("silent", "TLS handshake was not finished within 300 ms")


@row("a backend that lets us in and says nothing")
def _(_case):
    def script(conn, number):
        if number < 3:
            shake(conn)
            stay(conn)
        else:
            link(conn)

    with Socket(script) as server, dial(url_of(server), "--connect-timeout", "1") as od:
        od.ends("silent", 'has not sent {"since":N} for 1000 ms')
        od.linked()


GARBAGE = (
    ("no HTTP", None, b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "garbage"),
    ("a head that is none", None, b"HTTP/1.1 101 x\r\nno colon\r\n\r\n", "garbage"),
    ("another key's answer", None,
     b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
     b"Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n", "no-websocket"),
    ("half a head", None, b"HTTP/1.1 101 x\r\nUpgra", "cut"),
    ("nothing", None, b"", "cut"),
    ("a masked frame", True, frame('{"since":0}', mask=True), "garbage"),
    ("a reserved opcode", True, frame("x", opcode=3), "garbage"),
    ("a reserved bit", True, frame("x", first=0xC0), "garbage"),
    ("a frame of 2^63 bytes", True, b"\x81\x7f\x80" + bytes(7), "garbage"),
    ("a message that is too long", True, b"\x81\x7f" + (1 << 40).to_bytes(8, "big"), "garbage"),
    ("text that is none", True, frame(b"\xff\xfe"), "garbage"),
    ("half a frame", True, frame('{"since":0}')[:7], "cut"),
    ("no JSON", True, frame("hello"), "garbage"),
    ("no object", True, frame("[1]"), "garbage"),
    ("no number", True, frame('{"since":"0"}'), "garbage"),
    ("a negative one", True, frame('{"since":-1}'), "garbage"),
    ("bytes in place of text", True, frame('{"since":0}', opcode=2), "garbage"),
    ("events from the future", True, frame('{"since":1000000}'), "future-id"),
    ("a Close", True, frame(b"\x0f\xa0no more", opcode=8), "closed"),
)

for name, hand, data, outcome in GARBAGE:

    @row(f"a backend that says {name}")
    def _(_case, hand=hand, data=data, outcome=outcome):
        def script(conn, number):
            if number > 1:
                link(conn)
            elif shake(conn) if hand else read_head(conn):
                conn.sendall(data)
                if outcome != "cut":
                    stay(conn)

        with Socket(script) as server, dial(url_of(server)) as od:
            od.ends(outcome)
            od.linked()
            has(od.get("/metrics"), f'\nod_connect_ends_total{{outcome="{outcome}"}} 1\n')


@row("a link that breaks in the middle of a frame")
def _(_case):
    def script(conn, number):
        if shake(conn):
            conn.sendall(frame('{"since":0}') + (frame("x" * 1000)[:500] if number == 1 else b""))
            if number == 1:
                conn.shutdown(socket.SHUT_WR)  # a reset would say so
            stay(conn)

    with Socket(script) as server, dial(url_of(server)) as od:
        od.ends("cut", "1006: the peer hung up without closing")
        od.linked(2)
    # Nor does TLS say that this is the end.
    with Socket(script, server_context()) as server, dial(url_of(server, "wss"), *CA) as od:
        od.ends("cut", "1006: 127.0.0.1", "ended the connection without saying so")
        lacks(od.log(), "Protocol error")
        od.linked(2)


@row("a link whose other end is no more there", slow=True)
def _(_case):
    def script(conn, number):
        if number > 1:
            link(conn)
        elif shake(conn):
            conn.sendall(frame('{"since":0}'))
            wait_for(lambda: "[dead]" in od.log(), "the link is not found dead", WAIT)

    # Reads nothing, so it answers no ping; its kernel goes on to acknowledge.
    with Socket(script) as server:
        with dial(url_of(server), "--connect-ping", "0.5") as od:
            od.ends("dead", "no sign of life")
            od.linked(2)


@row("a link that is silent, but answers pings, stays", slow=True)
def _(_case):
    pings = []

    def script(conn, _number):
        if shake(conn):
            read_message(conn)
            conn.sendall(frame('{"since":0}'))
            while len(pings) < 4:
                head = conn.recv(2)
                holds(len(head) == 2 and head[0] == 0x89, head)
                n = head[1] & 0x7F
                mask = conn.recv(4)
                body = conn.recv(n) if n else b""
                pings.append(n)
                conn.sendall(frame(bytes(b ^ mask[i % 4] for i, b in enumerate(body)), 10))
            stay(conn)

    with Socket(script) as server:
        with dial(url_of(server), "--connect-ping", "1.5") as od:
            wait_for(lambda: len(pings) == 4, "no pings", WAIT)
            lacks(od.log(), "[dead]")
            same(od.log().count("linked, after"), 1)


# --- TLS


@row("wss, 1.2 and 1.3, by address and by name")
def _(_case):
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        for cert in ("good", "rsa"):
            context = server_context(cert, version=version)
            with Socket(link, context) as server, dial(url_of(server, "wss"), *CA) as od:
                od.linked()
    with Socket(link, server_context()) as server:
        env = {"SSL_CERT_FILE": certificate("root.pem")}
        with dial(url_of(server, "wss"), env=env) as od:
            od.linked()
        with Proxy({"x.w.test:443": ("127.0.0.1", server.port)}) as proxy:
            env["HTTPS_PROXY"] = f"http://127.0.0.1:{proxy.port}"
            with dial("wss://x.w.test/", env=env) as od:
                od.linked()


DISTRUST = (
    ("expired", "127.0.0.1", ("expired at 2001-01-01 00:00:00 UTC, and this machine's clock says 2",
                              "one of the two is wrong")),
    ("early", "127.0.0.1", ("is valid only from 2099-01-01 00:00:00 UTC, and this machine's clock",)),
    ("direct", "127.0.0.1", ("its certificate is for other names: a.test",)),
    ("other", "127.0.0.1", ("issued by \"CN=stranger of tests\", which is not among the authorities",
                            "root.pem", "--ca FILE")),
    ("self", "127.0.0.1", ("signed by itself",)),
    ("good", "localhost", ("other names: a.test, *.w.test, 127.0.0.1",)),
)

for cert, host, words in DISTRUST:

    @row(f"wss, a certificate that is {cert}, of {host}")
    def _(_case, cert=cert, host=host, words=words):
        with Socket(link, server_context(cert)) as server:
            with dial(url_of(server, "wss", host), *CA, "--connect-token", "tok") as od:
                od.ends("tls", f"cannot trust {host}: ", *words)
                lacks(od.log(), "linked")


@row("wss, mended while we try", slow=True)
def _(_case):
    ca = os.path.join(tempfile.mkdtemp(dir=T), "ca.pem")
    with open(ca, "w", encoding="ascii") as f, open(certificate("stranger.pem"), encoding="ascii") as g:
        f.write(g.read())
    with Socket(link, server_context()) as server:
        with dial(url_of(server, "wss"), "--ca", ca) as od:
            od.ends("tls", "not among the authorities")
            os.unlink(ca)
            od.ends("local", "cannot open the trusted certificates")
            os.symlink(certificate("root.pem"), ca)
            od.linked()


@row("wss, our own certificate")
def _(_case):
    own = ("--connect-cert", certificate("client.pem"), "--connect-key", certificate("client.key"))
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = server_context(client_ca="root", version=version)
        with Socket(link, context) as server:
            with dial(url_of(server, "wss"), *CA, *own) as od:
                od.linked()
    with Socket(link, server_context(client_ca="root", version=ssl.TLSVersion.TLSv1_2)) as server:
        with dial(url_of(server, "wss"), *CA) as od:
            od.waits_for("again in")
            lacks(od.log(), "linked")


@row("wss to what has no TLS, and ws to what has")
def _(_case):
    def plain(conn, _number):
        conn.recv(100)
        conn.sendall(b"HTTP/1.1 400 x\r\n\r\n")
        stay(conn)

    with Socket(plain) as server, dial(url_of(server, "wss"), *CA) as od:
        od.ends("tls", "speaks plain HTTP on that port, not TLS")
    with Socket(link, server_context()) as server, dial(url_of(server)) as od:
        od.waits_for("again in")
        lacks(od.log(), "linked")


@contextlib.contextmanager
def s_server(cert, *options):
    """openssl's own server, which answers pages; its port."""
    words = ["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", certificate(cert + ".one"),
             "-key", certificate(cert + ".key"), "-cert_chain", certificate("middle.pem"), "-www"]
    with subprocess.Popen([*words, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as process:
        try:
            for line in process.stdout:
                if line.startswith("ACCEPT "):
                    break
            yield int(line.rsplit(":", 1)[1])
        finally:
            process.kill()


@row("openssl s_server, 1.2 and 1.3")
def _(_case):
    for version in ("-tls1_2", "-tls1_3"):
        with s_server("good", version) as port, dial(f"wss://127.0.0.1:{port}/", *CA) as od:
            od.ends("no-websocket", "(200 OK)")
        with s_server("expired", version) as port, dial(f"wss://127.0.0.1:{port}/", *CA) as od:
            od.ends("tls", "expired at 2001-01-01 00:00:00 UTC")
    with s_server("good", "-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0") as port:
        with dial(f"wss://127.0.0.1:{port}/", *CA) as od:
            od.ends("tls")


# --- proxies


@row("through a proxy, with a password")
def _(_case):
    with Socket(link, server_context()) as server, Proxy() as proxy:
        env = {"https_proxy": f"http://me:p%40ss@127.0.0.1:{proxy.port}"}
        with dial(url_of(server, "wss"), *CA, "--connect-token", "tok", env=env) as od:
            od.linked()
            od.kill_worker()
            od.linked(2)
        holds(len(proxy.heads) >= 2, proxy.heads)
        has(proxy.heads[0], f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\n",
            "\r\nProxy-Authorization: Basic bWU6cEBzcw==\r\n")
        lacks(proxy.heads[0], "tok")


@row("ws through http_proxy, and around it with NO_PROXY")
def _(_case):
    with Socket(link) as server, Proxy() as proxy:
        env = {"http_proxy": f"127.0.0.1:{proxy.port}", "HTTPS_PROXY": "http://127.0.0.1:1"}
        with dial(url_of(server), env=env) as od:
            od.linked()
        same(len(proxy.heads), 1)
        with dial(url_of(server), env={**env, "NO_PROXY": "x.test, 127.0.0.0/8"}) as od:
            od.linked()
        same(len(proxy.heads), 1)


PROXIES = (
    (b"HTTP/1.1 407 x\r\nContent-Length: 0\r\n\r\n", "NAME:PASSWORD"),
    (b"HTTP/1.1 403 x\r\nContent-Length: 0\r\n\r\n", "does not allow"),
    (b"HTTP/1.1 502 x\r\nContent-Length: 0\r\n\r\n", "refused to connect"),
    (b"SSH-2.0-x\r\n\r\n", "through the proxy"),
    (b"HTTP/1.1 200 x\r\n\r\nbytes of its own", "behind its answer"),
)

for said, words in PROXIES:

    @row(f"a proxy that says {said[:30]!r}")
    def _(_case, said=said, words=words):
        with Socket(link, server_context()) as server, Proxy(answer=said) as proxy:
            env = {"HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}"}
            with dial(url_of(server, "wss"), *CA, env=env) as od:
                od.waits_for(words)
                holds("[proxy]" in od.log() or "[tls]" in od.log(), od.log())
        same(server.taken, 0)


@row("a proxy that is not there, and one that never answers")
def _(_case):
    with Socket(lambda conn, _: stay(conn)) as mute:
        port = mute.port
        env = {"http_proxy": f"http://127.0.0.1:{port}"}
        with dial("ws://far.test/", "--connect-timeout", "0.3", env=env) as od:
            od.ends("proxy", "the proxy has not connected us within 300 ms")
    with dial("ws://far.test/", env=env) as od:
        od.ends("proxy", f"nothing listens at 127.0.0.1:{port}")


# --- what lasts


@row("the sandbox's id lasts as long as its log")
def _(_case):
    hellos = []

    def script(conn, _number):
        if shake(conn):
            hellos.append(json.loads(read_message(conn))["hello"]["sandbox"])
            conn.sendall(frame('{"since":0}'))
            stay(conn)

    with Socket(script) as server:
        with dial(url_of(server)) as od:
            od.linked()
            od.kill_worker()
            od.linked(2)
            state = od.state
        with dial(url_of(server), state=state) as od:
            od.linked()
        with dial(url_of(server)) as od:
            od.linked()
    same(len(hellos), 4)
    same(len({*hellos[:3]}), 1, hellos)
    holds(hellos[3] != hellos[0], hellos)


@row("the end of the server is a Close to the backend")
def _(_case):
    said = []

    def script(conn, _number):
        if shake(conn):
            read_message(conn)
            conn.sendall(frame('{"since":0}'))
            said.append(b"".join(iter(lambda: conn.recv(4096), b"")))

    with Socket(script) as server:
        with dial(url_of(server)) as od:
            od.linked()
        wait_for(lambda: said, "the connection is open", WAIT)
    holds(said[0][:1] == b"\x88", said)
    mask, body = said[0][2:6], said[0][6:8]
    code = bytes(b ^ mask[i] for i, b in enumerate(body))
    same(int.from_bytes(code, "big"), 1001)


@row("metrics are as Prometheus reads them, and want the key")
def _(_case):
    with Socket(link) as server, dial(url_of(server), env={"SESSION_API_KEY": "k"}) as od:
        od.linked()
        has(od.get("/metrics"), "HTTP/1.1 403 ")
        head, _, body = od.get("/metrics", "X-Session-API-Key: k\r\n").partition("\r\n\r\n")
    has(head, "HTTP/1.1 200 ", "Content-Type: text/plain; version=0.0.4")
    helped, kinds, values = set(), {}, {}
    for line in body.splitlines():
        words = line.split(" ")
        if line.startswith("# HELP "):
            holds(words[2] not in helped, "HELP twice", line)
            helped.add(words[2])
        elif line.startswith("# TYPE "):
            kinds[words[2]] = words[3]
        else:
            name = re.fullmatch(r'([a-z][a-z0-9_]*)(\{[a-z]+="[a-z-]+"\})? (\d+(\.\d+)?)', line)
            holds(name, line)
            of = re.sub("_(sum|count)$", "", name[1])
            holds(of in helped and of in kinds, line)
            same(kinds[of] == "counter", of.endswith("_total"), line)
            holds(line[: name.end(2) if name[2] else name.end(1)] not in values, "twice", line)
            values[name[1] + (name[2] or "")] = float(name[3])
    same((values["od_connect_up"], values["od_subscribers"]), (1, 1))


def main():
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    tap = Tap()

    @contextlib.contextmanager
    def none(_row):
        yield None

    run_rows(tap, [("connect", one, none) for one in row if pattern in one.name], at_once=6)
    return tap.done()


sys.exit(main())
