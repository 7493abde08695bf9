# SPDX-License-Identifier: MIT
"""apt_user.py ARCHIVE: a user whom the server made installs packages in a Debian
image, from the real archive, through sessions, and answers what is asked."""
import sys

import container
from tap import Tap, has, same, wait_for

QUESTION = "Do you want to continue? [Y/n]"
DEBCONF = "[yes/no]"
SLOW = 240  # seconds: packages come over a network

# What the sandbox's image has; the user is made when the server starts.
DOCKERFILE = """
FROM {base}
RUN apt-get -qq update && apt-get -qq -y --no-install-recommends install sudo
COPY od /usr/local/bin/od
WORKDIR /srv
ENTRYPOINT ["/usr/local/bin/od", "serve", "--username", "openhands", "--no-change-timeout", "1"]
"""


class Sandbox(container.Container):
    """The container of that image, with this machine's network."""

    def __init__(self, image):
        super().__init__(image, "root", "copy")
        self.listen = ["unix:/v/http"]

    def create(self):
        made = self.image.build("sandbox", DOCKERFILE.format(base=self.image.base))
        container.podman(
            *("create", "--name", self.name, "--pidfile", str(self.pidfile), "--network", "host"),
            *("-e", "OD_LISTEN=unix:/v/http", "-v", f"{self.shared}:/v", made),
        )

    def run(self, command, is_input=False):
        """One action of OpenHands': (exit code or -1 while it runs, content)."""
        what = {"command": command, "is_input": is_input}
        answer = self.http.post("/execute_action", json={"action": {"action": "run", "args": what}})
        same(answer.status_code, 200, answer.text)
        seen = answer.json()
        same(seen["observation"], "run", seen)
        return seen["extras"]["metadata"]["exit_code"], seen["content"]

    def run_until(self, command, text, is_input=False):
        """The same, asked for more until it has ended, or has said that text."""
        code, said = self.run(command, is_input)

        def done():
            nonlocal code, said
            if code != -1 or (text and text in said):
                return True
            code, more = self.run("")
            said += more
            return False

        wait_for(done, f"{command!r} to end or to say {text!r}", SLOW)
        return code, said


class Shell:
    """od exec as that user; every answer comes after a second of silence at the latest."""

    def __init__(self, box):
        self.box = box

    def until(self, text, *argv):
        status, said, errors = self.box.exec("-s", "q", "--idle", "1", *argv)

        def done():
            nonlocal status, said, errors
            if status != 124 or (text and text in said):
                return True
            status, more, errors = self.box.exec("-s", "q", "--idle", "1", "--wait")
            said += more
            return False

        wait_for(done, f"{argv} to end or to say {text!r}", SLOW)
        return status, said, errors


def said_no(box):
    code, said = box.run_until("sudo apt-get install --no-install-recommends bc", QUESTION)
    same(code, -1, said)
    code, said = box.run_until("n", None, is_input=True)
    same(code, 1, said)
    has(said, "Abort.")
    same(box.run("type bc")[0], 1)


def said_yes(box):
    same(box.run("cd /var; kept=yes; whoami; id -u; sudo -n id -u"), (0, "openhands\n1000\n0"))
    code, said = box.run_until("sudo apt-get install --no-install-recommends bc", QUESTION)
    same(code, -1, said)
    has(said, "NEW packages will be installed", QUESTION)
    same(box.run("dpkg -s bc")[0], -1)  # refused: the session is waiting
    code, said = box.run_until("y", None, is_input=True)
    same(code, 0, said)
    has(said, "Setting up bc")
    same(box.run("echo '6 * 7' | bc; echo $PWD $kept"), (0, "42\n/var yes"))


def asked_by_debconf(box):
    shell = Shell(box)
    install = "sudo apt-get install -y --no-install-recommends popularity-contest"
    status, said, errors = shell.until(DEBCONF, "--user", "openhands", install)
    same(status, 124, said + errors)
    has(said, "Participate in the package usage survey?")
    status, said, errors = shell.until(None, "--input", "yes", "--wait")
    same(status, 0, said + errors)
    same(shell.until(None, "grep ^PARTICIPATE /etc/popularity-contest.conf; whoami")[:2],
         (0, 'PARTICIPATE="yes"\nopenhands\n'))


def main():
    container.setup()
    tap = Tap()
    steps = [said_no, said_yes, asked_by_debconf]
    try:
        with Sandbox(container.Image("bookworm", sys.argv[1])) as box:
            while steps:
                steps[0](box)
                tap.line(True, steps.pop(0).__name__.replace("_", " "))
    except Exception as error:
        notes = [*str(error).split("\n"), *getattr(error, "log", "").split("\n")]
        for step in steps:
            tap.line(False, step.__name__.replace("_", " "), notes)
            notes = ["not come to"]
    sys.exit(tap.done())


main()
