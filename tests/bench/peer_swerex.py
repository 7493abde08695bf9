# SPDX-License-Identifier: MIT
"""peer_swerex.py: SWE-ReX's session routes as a Python program has them, to measure
against: an HTTP server of the standard library, one bash on a terminal, a prompt that is
the end of a command, a second line that prints the status, and a wait of PAUSE seconds for
the prompt after it. It knows create_session and run_in_session with a plain command.
Prints "ready PORT"."""
import http.server
import json
import os
import pty
import re
import select
import termios
import time

PAUSE = 0.1
PROMPT = "SHELLPS1PREFIX"
STATUS = re.compile(r"EXITCODESTART(\d+)EXITCODEEND")


class Shell:
    def __init__(self):
        pid, self.fd = pty.fork()
        if pid == 0:
            os.execvpe("bash", ["bash", "--norc"], {
                **os.environ, "PS1": PROMPT, "PS2": "", "TERM": "dumb"})
        mode = termios.tcgetattr(self.fd)
        mode[3] &= ~termios.ECHO
        termios.tcsetattr(self.fd, termios.TCSANOW, mode)
        self.seen = ""
        self.until(PROMPT, 10)

    def until(self, text, seconds):
        """What comes before text, which is taken too; None when the time is over."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                return None
            self.seen += os.read(self.fd, 65536).decode(errors="backslashreplace")
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, line):
        os.write(self.fd, line.encode() + b"\n")

    def run(self, command, timeout):
        self.type(command)
        output = self.until(PROMPT, timeout)
        self.type("\necho EXITCODESTART$?EXITCODEEND")
        status = (self.until("EXITCODEEND", 1) or "") + "EXITCODEEND"
        while self.until(PROMPT, PAUSE) is not None:
            pass
        return output.replace("\r\n", "\n"), int(STATUS.search(status)[1])


shells = {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"output": "", "session_type": "bash"}
        if self.path == "/create_session":
            shells[body["session"]] = Shell()
        else:
            output, status = shells[body["session"]].run(body["command"], body["timeout"])
            answer |= {"output": output, "exit_code": status, "expect_string": PROMPT}
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
    print("ready", server.server_address[1], flush=True)
    server.serve_forever()
