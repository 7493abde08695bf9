# SPDX-License-Identifier: MIT
"""client_pages.py FOLDER FILE: serves FOLDER at 127.0.0.1, prints the port; what is posted
is appended to FILE."""
import functools
import http.server
import sys

FOLDER, FILE = sys.argv[1:]


class Pages(http.server.SimpleHTTPRequestHandler):
    extensions_map = {".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript",
                      "": "text/plain"}

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"]))
        with open(FILE, "ab") as file:
            file.write(text)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


handler = functools.partial(Pages, directory=FOLDER)
with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as pages:
    print(pages.server_port, flush=True)
    pages.serve_forever()
