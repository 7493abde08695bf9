# SPDX-License-Identifier: MIT
"""A site for HTTP Archives, on a port of 127.0.0.1 that is printed; it serves until its
input ends. Its page says what all its parts have given it."""

import gzip
import http.server
import sys
import threading
import zlib


def png():
    """A picture of one pixel."""

    def part(kind, data):
        crc = zlib.crc32(kind + data).to_bytes(4, "big")
        return len(data).to_bytes(4, "big") + kind + data + crc

    head = (1).to_bytes(4, "big") * 2 + b"\x08\x02\x00\x00\x00"
    return (
        b"\x89PNG\r\n\x1a\n"
        + part(b"IHDR", head)
        + part(b"IDAT", zlib.compress(b"\0\xff\0\0"))
        + part(b"IEND", b"")
    )


PAGE = b"""<!doctype html><title>Parts</title><link rel=stylesheet href=/style.css><img id=i
src=/pixel.png><iframe src=http://localhost:PORT/inner></iframe><p id=o>-</p>
<script src=/code.js></script>"""
CODE = """onload=async()=>{const a=await(await fetch('/api?q=h%20%C3%A9&n=1',{method:'POST',
headers:{'Content-Type':'text/x-od'},body:'h\u00e9llo'})).json();o.textContent=[a.got,i.naturalWidth,
getComputedStyle(o).color].join(' ')}"""


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def handle(self):
        try:
            super().handle()
        except ConnectionError:  # a browser that has ended
            pass

    def answer(self, body, kind="text/html; charset=utf-8", status=200, **fields):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(b'{"got":"' + body + b'"}', "application/json")

    def do_GET(self):
        port = str(self.server.server_address[1]).encode()
        if self.path == "/begin":
            self.answer(b"", status=302, Location="/page")
        elif self.path == "/page":
            self.answer(
                gzip.compress(PAGE.replace(b"PORT", port)),
                Content_Encoding="gzip",
                Set_Cookie="taste=sweet; Path=/",
            )
        elif self.path == "/style.css":
            self.answer(b"p{color:rgb(1, 2, 3)}", "text/css")
        elif self.path == "/code.js":
            self.answer(CODE.encode(), "text/javascript; charset=utf-8")
        elif self.path == "/pixel.png":
            self.answer(png(), "image/png")
        elif self.path == "/inner":
            self.answer(b"<p>inside")
        else:
            self.answer(b"none", status=404)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
