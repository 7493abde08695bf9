# SPDX-License-Identifier: MIT
"""start.py ARCHIVE IMAGE [TIMES]: from `podman start` to the first command in it, with
and without od as the first process, in turn; medians in milliseconds. Run by

    sh tests/images/image.sh --run start.py bookworm

  plain    the image's command is the first process and prints a word
  beside   it does, below od serve
  asked    od serve answers a command that is sent to it, over a socket
  exec     `podman exec` does the same in a container that only sleeps
"""
import statistics
import subprocess
import sys
import time

import container

ENTRY = 'ENTRYPOINT ["/usr/local/bin/od", "serve", "--"]'
SERVE = 'ENTRYPOINT ["/usr/local/bin/od", "serve"]\nCMD []'


def until_a_word(image, name):
    """One container's start to the first bytes of its output."""
    container.podman("create", "--name", name, image, "sh", "-c", "echo word; exec sleep 1000")
    start = time.monotonic()
    with subprocess.Popen(["podman", "start", "-a", name], stdout=subprocess.PIPE) as run:
        word = run.stdout.readline()
        took = time.monotonic() - start
        container.podman("rm", "-f", "-t", "0", name)
    assert word == b"word\n", word
    return took


def until_an_answer(image, name):
    """To the answer of a first command that somebody outside sends into it."""
    folder = container.T / name
    folder.mkdir()
    socket = folder / "sock"
    serves = image.endswith("_serve")
    what = [image] if serves else [image, "sleep", "1000"]
    mount = ["-v", f"{folder}:/v", "-e", "OD_SOCKET=/v/sock"]
    container.podman("create", "--name", name, *mount, *what)
    if serves:
        ask = [container.OD, "exec", "--socket", str(socket), "echo word"]
    else:
        ask = ["podman", "exec", name, "sh", "-c", "echo word"]
    start = time.monotonic()
    container.podman("start", name)
    while serves and not socket.exists():
        time.sleep(0.001)
    word = container.run(*ask)
    took = time.monotonic() - start
    container.podman("rm", "-f", "-t", "0", name)
    assert word == "word", word
    return took


def main():
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 15
    container.setup()
    image = container.Image(sys.argv[2], sys.argv[1])
    text = f"FROM {image.base}\nCOPY od /usr/local/bin/od\n"
    beside = image.build("od_beside", text + ENTRY)
    serve = image.build("od_serve", text + SERVE)
    took = {"plain": [], "beside": [], "exec": [], "asked": []}
    for i in range(times):
        took["plain"].append(until_a_word(image.base, f"plain{i}"))
        took["beside"].append(until_a_word(beside, f"beside{i}"))
        took["exec"].append(until_an_answer(image.base, f"exec{i}"))
        took["asked"].append(until_an_answer(serve, f"asked{i}"))
    for name, values in took.items():
        print(f"{name:8} {statistics.median(values) * 1000:7.0f} ms of {times}")


main()
