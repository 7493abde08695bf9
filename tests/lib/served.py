# SPDX-License-Identifier: MIT
"""What servers that a test starts have in common: how they start and end, and their log.

A subclass sets root, a folder that is removed with it; log, a file that is open to be
read and appended to; and env, and calls launch.
"""
import contextlib
import os
import re
import select
import shutil
import socket
import subprocess

from tap import LIMIT, at_end, holds, last_words, wait_for

running = set()


def until_ready(pipe, logged):
    """Reads what --ready-fd gets, lines `listening ADDRESS` and `ready`, and returns it."""
    said = b""
    while b"ready" not in said.split(b"\n"):
        holds(select.select([pipe], [], [], LIMIT)[0], "not ready:", said, logged())
        more = os.read(pipe, 4096)
        holds(more, "it ended:", said, logged())
        said += more
    return said.decode()


def answers(path):
    """Does anybody listen at this unix socket?"""
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.connect(path or "")
        except OSError:
            return False
    return True


class Served:
    process = None

    def launch(self, words, cwd):
        """Starts these words and calls self.ready with what until_ready returns."""
        get, put = os.pipe()
        self.process = subprocess.Popen(
            [*words, "--ready-fd", str(put)], env=self.env, cwd=cwd,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, pass_fds=[put],
            start_new_session=True)
        running.add(self)
        os.close(put)
        try:
            self.ready(until_ready(get, self.logged))
        except BaseException:
            self.kill()
            raise
        finally:
            os.close(get)

    def logged(self, most=2000):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-most:]

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            # Its worker notices a little later, and has its socket until then.
            wait_for(lambda: not answers(self.env.get("OD_SOCKET")), "its socket is closed")
        running.discard(self)

    def stop(self):
        """Ends it, and looks at what it logged."""
        try:
            self.process.terminate()
            self.process.wait(LIMIT)
        finally:
            self.kill()
        said = self.logged(1 << 20).partition("ERROR: LeakSanitizer")[0]
        holds(not re.search(r"Sanitizer|runtime error|BUG|core/.*\.c:\d", said), said)

    def remove(self):
        self.log.close()
        shutil.rmtree(self.root, ignore_errors=True)

    @contextlib.contextmanager
    def alive(self):
        """Lives as long as this: then it has to end well. An error gets its log."""
        try:
            yield self
            self.stop()
        except BaseException as error:
            error.log = self.logged()
            raise
        finally:
            self.kill()
            self.remove()


def end_all():
    for server in list(running):
        last_words(server.root, server.logged())
        server.kill()


at_end(end_all)
