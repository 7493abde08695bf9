# SPDX-License-Identifier: MIT
"""Hosts for the test of secrets: HTTPS servers that answer with what they were asked, and
a DNS server. What each host saw is kept, as bytes."""
import base64
import hashlib
import http.server
import json
import socket
import socketserver
import ssl
import struct
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        whole = b""
        while size := int(self.rfile.readline(), 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def answer(self, data, status=200, **fields):
        self.send_response(status)
        for name, value in {"Content-Length": len(data), **fields}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def echo(self):
        path, _, query = self.path.partition("?")
        if self.headers.get("Upgrade") == "websocket" and path == "/ws":
            self.web_socket()
            return
        body = self.body()
        head = self.requestline + "\r\n" + str(self.headers)
        self.server.seen.append(head.encode() + b"\r\n" + body)
        if path == "/sum":
            self.answer(hashlib.sha256(body).hexdigest().encode())
        elif path == "/big":
            self.answer(b"0123456789abcdef" * (int(query) // 16))
        elif path == "/pieces":
            self.pieces(query.encode())
        elif path == "/until-end":
            self.close_connection = True
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body or query.encode())
        elif path == "/basic" and not self.headers.get("Authorization"):
            self.answer(b"", 401, WWW_Authenticate='Basic realm="x"')
        elif path.startswith("/basic/"):  # a repository of git, as files
            user = base64.b64decode((self.headers.get("Authorization") or "Basic ")[6:]).decode()
            if self.server.secret not in user:
                self.answer(b"", 401, WWW_Authenticate='Basic realm="x"')
            elif path.endswith("/info/refs"):
                self.answer(b"5" * 40 + b"\trefs/heads/main\n")
            else:
                self.answer(b"ref: refs/heads/main\n", 200 if path.endswith("HEAD") else 404)
        else:
            text = {"line": self.requestline, "fields": dict(self.headers), "body": body.decode("latin-1")}
            self.answer(json.dumps(text).encode(), Echo=self.headers.get("Authorization") or "none")

    do_GET = do_POST = do_PUT = do_HEAD = do_OPTIONS = echo

    def pieces(self, data):
        """A piece for each byte."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for byte in data:
            self.wfile.write(b"1\r\n%c\r\n" % byte)
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def web_socket(self):
        """Changes the protocol, and then returns each byte."""
        self.server.seen.append(str(self.headers).encode())
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.end_headers()
        while data := self.connection.recv(4096):
            self.server.seen.append(data)
            self.connection.sendall(data)
        self.close_connection = True


class Host(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, address, cert, key, secret=""):
        super().__init__(address, Handler)
        self.seen, self.secret, self.peers = [], secret, 0
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(cert, key)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def get_request(self):
        connection, peer = super().get_request()
        self.peers += 1
        return self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), peer

    def handle_error(self, *_):
        pass


class Names(socketserver.ThreadingUDPServer):
    """Answers with the IPv4 address of a name that it knows, else with no such name."""
    daemon_threads = True

    def __init__(self, address, names):
        self.names, self.asked = names, []
        outer = self

        class Question(socketserver.BaseRequestHandler):
            def handle(self):
                data, reply = self.request
                labels, at = [], 12
                while data[at]:
                    labels.append(data[at + 1:at + 1 + data[at]].decode())
                    at += 1 + data[at]
                name, kind = ".".join(labels).lower(), data[at + 1:at + 3]
                outer.asked.append(name)
                known = outer.names.get(name)
                found = known if kind == b"\0\1" else None
                answer = data[:2] + (b"\x81\x80" if known else b"\x81\x83") + b"\0\1" + struct.pack(">H", bool(found)) + bytes(4)
                answer += data[12:at + 5]
                if found:
                    answer += b"\xc0\x0c\0\1\0\1\0\0\0\x05\0\4" + socket.inet_aton(found)
                reply.sendto(answer, self.client_address)

        super().__init__(address, Question)
        threading.Thread(target=self.serve_forever, daemon=True).start()
