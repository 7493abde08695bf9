# SPDX-License-Identifier: MIT
"""Servers that mean no good, on ports of 127.0.0.1 that are printed: HTTP, HTTPS with
each certificate that is named, and a proxy that says what it was asked. They serve
until their input ends. hostile.py FOLDER NAME..."""

import gzip
import socket
import ssl
import sys
import threading
import zlib

MEGABYTE = b"x" * (1 << 20)
SCRIPTS = b"""<!doctype html><title>App</title><div id=root></div><noscript>Enable it.
</noscript><script src=/a.js></script><script>""" + b"render();" * 400 + b"</script>"
DEEP = b"<div>" * 50000 + b"the bottom"
WIDE = b"<table><tr>" + b"<td>cell" * 100000
MANY = b"<p " + b" ".join(b"a%d=1" % i for i in range(100000)) + b">after attributes"
BOMB = gzip.compress(b"\0" * (80 << 20), 1)
DEFLATED = zlib.compress(b"\0" * (80 << 20), 1)


def head(status, *fields):
    return "\r\n".join(("HTTP/1.1 " + status, "Connection: close") + fields).encode() + b"\r\n\r\n"


def page(body, *fields):
    return head("200 OK", "Content-Type: text/html", f"Content-Length: {len(body)}", *fields) + body


def for_ever(begin, piece):
    yield begin
    while True:
        yield piece


def answers(path, port):
    if path == "/endless":
        return for_ever(head("200 OK", "Content-Type: text/html"), MEGABYTE)
    if path == "/chunks":
        return for_ever(head("200 OK", "Content-Type: text/html", "Transfer-Encoding: chunked"),
                        b"100000\r\n" + MEGABYTE + b"\r\n")
    if path == "/fields":
        return for_ever(b"HTTP/1.1 200 OK\r\n", b"X-Field: " + b"y" * 60000 + b"\r\n")
    if path == "/interim":
        return for_ever(b"", b"HTTP/1.1 100 Continue\r\n\r\n")
    return [{
        "/round": head("302 Found", "Location: /round"),
        "/grows": head("302 Found", "Location: /grows?" + "z" * 60000),
        "/port": head("302 Found", "Location: http://127.0.0.1:25/"),
        "/file": head("302 Found", "Location: file:///etc/passwd"),
        "/self": page(b"<meta http-equiv=refresh content='0;url=/self?1'>"),
        "/self?1": page(b"<meta http-equiv=refresh content='0;url=/self'>"),
        "/hundred": head("200 OK", "Content-Length: 104857600") + MEGABYTE,
        "/short": head("200 OK", "Content-Type: text/html", "Content-Length: 1000") + b"<p>a",
        "/bomb": page(BOMB, "Content-Encoding: gzip"),
        "/deflated": page(DEFLATED, "Content-Encoding: deflate"),
        "/broken": page(b"\x1f\x8b\x08\0nothing", "Content-Encoding: gzip"),
        "/twice": head("200 OK", "Content-Length: 4", "Content-Length: 5") + b"<p>ab",
        "/none": b"what is this\r\n\r\n",
        "/scripts": page(SCRIPTS),
        "/deep": page(DEEP),
        "/wide": page(WIDE),
        "/many": page(MANY),
        "/cookie": page(b"<p>set", "Set-Cookie: a=" + "c" * 30000, "Set-Cookie: b=1; Domain=com"),
    }.get(path.split("&")[0] if path.startswith("/self") else path, page(b"<p>a page"))]


def talk(c, port):
    try:
        request = b""
        while b"\r\n\r\n" not in request:
            piece = c.recv(65536)
            if not piece:
                return
            request += piece
            if request[:1] == b"\x16":  # TLS
                c.sendall(head("400 Bad Request"))
                return
        for piece in answers(request.split()[1].decode("latin-1"), port):
            c.sendall(piece)
        c.shutdown(socket.SHUT_WR)
        c.recv(1)
    except OSError:
        pass
    finally:
        c.close()


def proxy(c, _):
    try:
        asked = c.recv(65536).split(b"\r\n")[0]
        c.sendall(head("403 Forbidden", "Content-Length: 0")
                  if asked.endswith(b":2 HTTP/1.1") else b"HTTP/1.1 200 OK\r\n\r\n")
        c.recv(65536)
        c.sendall(page(b"<p>asked for: " + asked))
        c.shutdown(socket.SHUT_WR)
        c.recv(1)
    except OSError:
        pass
    finally:
        c.close()


def listen(fn, context=None):
    s = socket.create_server(("127.0.0.1", 0), backlog=16)
    port = s.getsockname()[1]

    def one(c):
        try:
            fn(context.wrap_socket(c, server_side=True) if context else c, port)
        except OSError:
            c.close()

    def loop():
        while True:
            threading.Thread(target=one, args=(s.accept()[0],), daemon=True).start()

    threading.Thread(target=loop, daemon=True).start()
    return port


def main():
    folder, ports = sys.argv[1], [listen(talk), listen(proxy)]
    for name in sys.argv[2:]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/{name}.pem", f"{folder}/{name}.key")
        ports.append(listen(talk, context))
    sys.stdout.write(" ".join(map(str, ports)) + "\n")
    sys.stdout.flush()
    sys.stdin.read()


main()
