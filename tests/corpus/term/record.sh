#!/bin/sh
# SPDX-License-Identifier: MIT
#
# record.sh NAME [-n] [-k KEYS]... -- COMMAND...
#
# Records what a command writes to a terminal of 24 rows and 80 columns into
# NAME.raw beside this script. The terminal translates no newlines, as that of
# a session; with -n it does, as most others. KEYS are typed when the program
# has begun and is quiet for half a second, one -k after the other ("\r", "\033[A");
# when they are used up and it is quiet again, the program is killed.
#
# It runs in /tmp/demo with a short environment, so that no name of the machine
# or of its user gets in; look at the result nevertheless. NAME.txt, what one
# sees after it, is written by hand or by another terminal, never by od.
set -eu
cd "$(dirname "$0")"
mkdir -p /tmp/demo
exec python3 - "$PWD" "$@" <<'END'
import fcntl, os, pty, select, signal, struct, sys, termios

out, name, args = sys.argv[1], sys.argv[2], sys.argv[3:]
keys, opost = [], False
while args[0] != "--":
    flag = args.pop(0)
    if flag == "-n":
        opost = True
    elif flag == "-k":
        keys.append(args.pop(0).encode().decode("unicode_escape").encode("latin-1"))
    else:
        sys.exit("record.sh: what is %s?" % flag)
args.pop(0)
interactive = bool(keys)

pid, fd = pty.fork()
if pid == 0:
    mode = termios.tcgetattr(0)
    if not opost:
        mode[1] &= ~termios.OPOST
    if not interactive:
        mode[3] &= ~termios.ECHO
    termios.tcsetattr(0, termios.TCSANOW, mode)
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.chdir("/tmp/demo")
    env = {"PATH": os.environ["PATH"], "HOME": "/tmp/demo", "USER": "demo",
           "TERM": os.environ.get("RECORD_TERM", "xterm-256color"),
           "LANG": os.environ.get("RECORD_LANG", "C.UTF-8"), "PS1": "$ "}
    for k, v in os.environ.items():
        if k.startswith("RECORD_ENV_"):
            env[k[11:]] = v
    os.execvpe(args[0], args, env)

data = b""
while True:
    quiet = 0.5 if interactive and data else 60
    ready, _, _ = select.select([fd], [], [], quiet)
    if ready:
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        data += part
    elif keys:
        os.write(fd, keys.pop(0))
    else:
        os.kill(pid, signal.SIGKILL)
        break
os.waitpid(pid, 0)
with open(os.path.join(out, name + ".raw"), "wb") as f:
    f.write(data)
END
