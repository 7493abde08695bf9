#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutate.py [ROOM...]: whether the tests notice small mistakes.

One line of a room is changed: a condition negated or half of it turned, a boundary or a
constant moved by one, a statement, a call or a `return` left out, two arguments swapped.
The changed file alone is compiled, and linked in front of libcore.a into the tests that
run the changed function; they run, the fastest first, until one fails: the mutant is
killed; a program of ROOMS must fail twice, as a loaded machine fails it at times. A change
that does not compile, or leaves the object as it is, is not a mutant.

First the rooms' files are compiled with -fsanitize-coverage (tests/lib/cover.c), and each
unit test and each program of ROOMS runs once: that gives the map from functions to tests,
and the time after which a test of a mutant counts as hanging. A test that fails then is
left out, and named; a unit test that has no code of these files is not run. The sample is chosen by SEED (1) before a mutant runs: MUTANTS (60) of
each room, no two of one line. A mutant is given up as a survivor after ALL (200) seconds.

  --sample          only writes the sample
  --map             has the last run's map for tests that were not edited since
  --keep            the last run's copy of the tree, with --map
  --again           the survivors of the last run, with --map
  --units           the unit tests alone: at least so many are killed, and soon known
  --only FILE:LINE  the mutants of that line (with :WHAT, those whose change starts so),
                    with --map

In out/mutate: ROOM.sample and ROOM.results (how, by which test, FILE:LINE, change, the new
line, why, seconds), ROOM.survivors (of the last run), map. Everything runs on a copy,
out/mutate/tree, in namespaces of its own: its processes see no others and no network, may
write to a private /tmp alone, and end with the test. Not part of `make test`.
"""
import hashlib
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, "out/mutate")
TREE = os.path.join(OUT, "tree")
O = f"out/{os.uname().machine}-release"
MUTANTS, SEED = int(os.environ.get("MUTANTS", "60")), int(os.environ.get("SEED", "1"))

# Programs of tests/ beside the unit tests; none that asks a name server, as browser/page does.
ROOMS = {
    "http": ["wire/http.test", "wire/https.test", "wire/fronts.test", "compat/ws.test",
             "compat/ws-cases.test", "compat/suites.test", "scenario/connect.test"],
    "keeper": ["scenario/session.test", "scenario/survive.test", "scenario/upgrade.test",
               "scenario/upgrade-flow.test", "scenario/keeper-killed.test",
               "scenario/lifetime.test", "scenario/limits.test", "scenario/users.test"],
    "shell": ["scenario/session.test", "scenario/input.test", "scenario/ends.test",
              "scenario/flow.test", "scenario/attach.test", "scenario/survive.test",
              "scenario/limits.test", "scenario/odd-shells.test"],
    "action": ["scenario/actions.test", "scenario/orders.test", "wire/exec-cancel.test",
               "compat/events-doc.test", "compat/files.test", "compat/events.test",
               "compat/connect.test", "compat/v0.test", "kernels/events.test",
               "mcp/eval-browse.test", "mcp/eval-shell.test"],
}
# Programs of tests/lib that hold code of core, of the tests whose names start so.
PROGRAMS = {"wire/http": ["httpd_echo"], "compat/ws": ["ws_echo"], "compat/suites": ["suite_reader"]}
LIMIT, ALL = 240, int(os.environ.get("ALL", "200"))  # seconds: of a test, of a mutant
WAIT, SLOWER = 8, 4  # seconds that a unit test polls; a test hangs after that and times its own
HITS = 16 << 20  # bytes of program that are looked at

SWAPS = [(r" == ", " != "), (r" != ", " == "), (r" <= ", " < "), (r" >= ", " > "),
         (r" < ", " <= "), (r" > ", " >= "), (r" && ", " || "), (r" \|\| ", " && "),
         (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r" \+ ", " - "), (r" - ", " + "),
         (r" \+= ", " -= "), (r" -= ", " += "), (r" \|= ", " = "), (r" & ", " | "),
         (r" << ", " >> "), (r" >> ", " << "), (r"\+\+", "--"), (r"(?<=[(& |])!(?=[\w(])", "")]
STATEMENT = re.compile(r"^( +)(?!case|default|static|const|struct|else|do|typedef|ASSERT|BUG_ON)"
                       r"[a-z_*(][^{}]*;$")
DECLARES = re.compile(r"^ +(?:unsigned |const |enum \w+ )*(?:int|char|bool|size_t|ssize_t|"
                      r"u?int\d+_t|long|void|pid_t|off_t|enum|unsigned|NOT_ZEROED)\b(?! *\))")
ARGUMENT = r"((?:[^(),\"]|\([^()]*\))+)"
CALL = re.compile(rf"\b(?!str_eq|sizeof)[a-z_]\w*\({ARGUMENT}, {ARGUMENT}(?=[,)])")
# What of a swapped call is refused where the compiler would only warn.
STRICT = ["-Werror=incompatible-pointer-types", "-Werror=int-conversion",
          "-Werror=return-type", "-Werror=discarded-qualifiers"]


def functions_of(lines):
    """For each line the function that it is in, as (its first words, its line), or None."""
    where, start = [None] * len(lines), 0
    for at, line in enumerate(lines):
        if line == "{":
            start = at
        if line == "}" and start:
            head = next(i for i in range(start - 1, -1, -1) if re.match(r"\w", lines[i]))
            where[start:at] = [(lines[head], start)] * (at - start)
            start = 0
    return where


def mutants_of(path):
    """(line number, what, new line) of each change that there is in a file."""
    with open(path) as file:
        lines = file.read().split("\n")
    inside = functions_of(lines)
    comment = False
    for at, line in enumerate(lines):
        code = re.sub(r"/\*.*?\*/", "", line)
        was, comment = comment, "/*" in code or comment and "*/" not in code
        if was or comment or not inside[at] or code.startswith("#") or "log_" in code:
            continue
        literals = [m.span() for m in re.finditer(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)+\'', line)]

        def free(m):
            return not any(a <= m.start() < b for a, b in literals) and "/*" not in line[: m.start()]

        for pattern, text in SWAPS:
            for m in filter(free, re.finditer(pattern, line)):
                yield (at, f"{m[0].strip()} -> {text.strip() or 'nothing'}",
                       line[: m.start()] + text + line[m.end():])
        for m in filter(free, re.finditer(r"(?<![\w.{])\d+(?![\w.])", line)):
            for more in (1, -1):
                if int(m[0]) + more >= 0:
                    text = str(int(m[0]) + more)
                    yield at, f"{m[0]} -> {text}", line[: m.start()] + text + line[m.end():]
        m = re.match(r"^( *(?:\} else )?(?:if|while) )\((.*)\)( \{|;)?$", line)
        if m and m[2].count("(") == m[2].count(")"):
            yield at, "negated", f"{m[1]}(!({m[2]})){m[3] or ''}"
        for m in filter(free, CALL.finditer(line)):
            if m[1] != m[2]:
                yield (at, f"swapped {m[1].strip()}, {m[2].strip()}",
                       f"{line[:m.start(1)]}{m[2]}, {m[1]}{line[m.end(2):]}")
        m = STATEMENT.match(line)
        if m and not DECLARES.match(line) and line.count("(") == line.count(")") and (
                re.search(r"[;{}:]$|\)$", lines[at - 1]) or not lines[at - 1].strip()):
            yield at, "left out", m[1] + ";"


# What a test may see: everything, read-only, with the tree at /mnt/tree, and an empty /tmp.
# Arguments: tree, folder of the programs that replace the tree's, file of hits, command.
BOX = f"""
tree=$1 over=$2 hits=$3
shift 3
ip link set lo up 2>/dev/null
mount -t tmpfs box /mnt && mkdir /mnt/tree && touch /mnt/hits || exit 99
mount --bind "$tree" /mnt/tree && mount --bind "$hits" /mnt/hits || exit 99
for file in "$over"/*; do
    case ${{file##*/}} in '*') continue ;; od) to=od ;; *) to=lib/${{file##*/}} ;; esac
    mount --bind "$file" "/mnt/tree/{O}/$to" || exit 99
done
for at in $(awk '$2 !~ "^/(proc|dev|mnt/hits)" {{ print $2 }}' /proc/self/mounts); do
    mount -o remount,bind,ro "$at" 2>/dev/null
done
for at in /tmp /var/tmp /run /dev/shm; do
    mount -t tmpfs -o mode=1777 box "$at" || exit 99
done
mount --bind /bin/true "$(command -v make)" # what tests would make is there
mkdir -m 700 /tmp/home && cd /mnt/tree && touch /mnt/tree/x 2>/dev/null && exit 99
"$@"
"""
BOXED = ["unshare", *([] if os.getuid() == 0 else ["--map-root-user"]), "--mount", "--pid", "--net",
         "--ipc", "--fork", "--kill-child", "--mount-proc", "sh", "-c", BOX, "box"]


def boxed(command, limit, over="/nonexistent", hits="/dev/null"):
    """Runs a test until something in it fails: "" or what, and the seconds it took."""
    begin = time.monotonic()
    process = subprocess.Popen(
        [*BOXED, TREE, over, hits, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True,
        env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
             "HOME": "/tmp/home", "LC_ALL": "C", "OD_TOOLS": "no",
             **{name: os.environ[name] for name in ("OD_CACHE", "OD_SUITES") if name in os.environ}})
    why, rest, seen = "", b"", b""
    try:
        while not why:
            left = begin + limit - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                why = "hangs"
                break
            more = os.read(process.stdout.fileno(), 65536)
            if not more:
                break
            *lines, rest = (rest + more).split(b"\n")
            seen = b"\n".join([seen, *lines])[-2000:]
            why = next((one.decode(errors="replace") for one in lines
                        if one.startswith((b"not ok", b"Bail out"))), "")
    finally:
        if why:
            process.kill()  # and with it, all that is in its namespace of processes
        status = process.wait()
        process.stdout.close()
    if status == 99 and not why:
        sys.exit(f"no private place for {command[0]}")
    if not why and status:
        why = f"status {status}: " + seen.decode(errors="replace").strip()[-200:]
    if not why and re.search(rb"^1\.\.0 # SKIP", seen, re.M):
        why = "skipped"
    return why, time.monotonic() - begin


class Build:
    """The commands of the Makefile, for single files."""

    def __init__(self):
        self.units = set()  # that are compiled
        run = subprocess.run(
            ["make", "--no-print-directory", "--eval=flags: ; @printf '%s\\n' '$(CC)' "
             "'$(CPPFLAGS) $(DEPS_CPPFLAGS)' '$(CFLAGS)' '$(LDFLAGS)' '$(DEPS_LIBS)' '$(PROGRAM)'", "flags"],
            cwd=ROOT, check=True, capture_output=True, text=True)
        cc, self.cpp, cflags, ld, self.libs, self.applets = [
            line.split() for line in run.stdout.split("\n")[-7:-1]]
        self.cc = [*cc, *(flag for flag in cflags if flag != "-g" and not flag.startswith("-W"))]
        self.link_flags = [*self.cc, *ld]

    def compile(self, text, name, to, *flags):
        """Whether it compiles: the file with another text, or as it is without one."""
        run = subprocess.run(
            [*self.cc, *self.cpp, *STRICT, *flags, "-c", "-o", to,
             *(["-x", "c", "-"] if text else [name])], cwd=TREE,
            input=f'#line 1 "{name}"\n{text}', text=True, stdout=-3, stderr=-3)
        return run.returncode == 0

    def archive(self, instead, *more):
        """libcore.a with other objects {core/FILE.c: object} for some, and more."""
        path = os.path.join(OUT, "libcore.a")
        if os.path.exists(path):
            os.unlink(path)
        members = [instead.get(name, f"{TREE}/{O}/obj/{name[:-2]}.o") for name in sources("core")]
        subprocess.run(["ar", "qcs", "--thin", path, *members, *more], cwd=TREE, check=True)

    def link(self, to, *objects):
        run = subprocess.run([*self.link_flags, "-o", to, *objects, f"{OUT}/libcore.a", *self.libs],
                             cwd=TREE, capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"cannot link {to}: {run.stderr[-500:]}")

    def program(self, test, folder):
        """The command of a test, its programs linked with the last archive into a folder."""
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        if test.startswith("t_"):
            path, unit = f"{O}/unit/{test}", os.path.join(OUT, f"{test}.o")
            if test not in self.units and not self.compile(
                    "", path_of(test), unit, f"-DT_WAIT_MS={1000 * WAIT}"):
                sys.exit(f"cannot compile {test}")
            self.units.add(test)
            self.link(os.path.join(TREE, path), unit)
            return [path]
        self.link(os.path.join(folder, "od"), *self.applets)
        for start, names in PROGRAMS.items():
            for name in names if test.startswith(start) else ():
                self.link(os.path.join(folder, name), f"{O}/obj/tests/lib/{name}.o")
        return [*read_lines(path_of(test))[0][2:].split(), path_of(test)]


def run_lines(binary, hits):
    """(file, line) of the blocks that were run."""
    with open(hits, "rb") as file:
        data = file.read()
    at, places = data.find(b"\1"), []
    while at >= 0:
        places.append(at)
        at = data.find(b"\1", at + 1)
    run = subprocess.run(["addr2line", "-e", binary], capture_output=True, text=True,
                         input="\n".join(f"{place - 1:#x}" for place in places))
    matches = (re.search(r"\b(core/[^\s:]+\.c):(\d+)", line) for line in run.stdout.split("\n"))
    return {(m[1], int(m[2]) - 1) for m in matches if m}


def sources(folder):
    return sorted(os.path.relpath(os.path.join(where, name), TREE)
                  for where, _, names in os.walk(os.path.join(TREE, folder))
                  for name in names if name.endswith(".c"))


def path_of(test):
    if not test.startswith("t_"):
        return f"tests/{test}"
    return next(path for path in sources("tests/unit") if path.endswith(f"/{test}.c"))


def read_lines(name):
    with open(os.path.join(TREE, name)) as file:
        return file.read().split("\n")


def is_counted(binary):
    """Whether a program has code of the files that were compiled to be counted."""
    with open(binary, "rb") as file:
        return b"__sanitizer_cov_trace_pc" in file.read()


def map_of(build, files, tests, old):
    """{test: {"s": seconds, "of": its text's sum, "runs": {file: {function: [lines in it]}}}}

    What fails by itself is left out. A test of the old map is not run again."""
    folder, hits = os.path.join(OUT, "cover"), os.path.join(OUT, "hits")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "obj"))
    objects, inside, found = {}, {}, {}

    def compile_all():
        counter = os.path.join(folder, "obj/cover.o")
        if not build.compile("", "tests/lib/cover.c", counter,
                             '-DCOVER_FILE="/mnt/hits"'):
            sys.exit("cannot compile tests/lib/cover.c")
        for name in files:
            objects[name] = os.path.join(folder, "obj", name.replace("/", "_")[:-2] + ".o")
            inside[name] = functions_of(read_lines(name))
            if not build.compile("", name, objects[name], "-O1", "-g",
                                 "-fno-inline", "-fsanitize-coverage=trace-pc"):
                sys.exit(f"cannot compile {name}")
        build.archive(objects, counter)

    for test in tests:
        of = hashlib.sha256("\n".join(read_lines(path_of(test))).encode()).hexdigest()
        if test in old and old[test]["of"] == of:
            found[test] = old[test]
            continue
        if not objects:
            compile_all()
        command = build.program(test, os.path.join(folder, "bin"))
        if test.startswith("t_") and not is_counted(os.path.join(TREE, command[0])):
            os.unlink(os.path.join(TREE, command[0]))
            found[test] = {"s": 0, "of": of, "runs": {}}
            continue
        with open(hits, "wb") as file:
            file.truncate(HITS)
        os.chmod(hits, 0o666)  # servers may be another user's
        why, seconds = boxed(command, LIMIT, os.path.join(folder, "bin"), hits)
        if why:
            print(f"without {test}, which fails by itself: {why}", flush=True)
            continue
        # Programs of one test share the file, so a line may be another one's. That costs
        # a run of a test, no more.
        binaries = [os.path.join(TREE, command[0])] if test.startswith("t_") else [
            os.path.join(folder, "bin", name) for name in os.listdir(os.path.join(folder, "bin"))]
        runs = {}
        for binary in binaries:
            for name, at in run_lines(binary, hits):
                if name in inside and at < len(inside[name]) and inside[name][at]:
                    head, start = inside[name][at]
                    runs.setdefault(name, {}).setdefault(head, set()).add(at - start)
        if test.startswith("t_"):
            os.unlink(binaries[0])
        found[test] = {"s": seconds, "of": of, "runs": {
            name: {head: sorted(at) for head, at in heads.items()} for name, heads in runs.items()}}
        with open(os.path.join(OUT, "map"), "w") as file:
            json.dump({**old, **found}, file)
        print(f"{test} {seconds:.1f} s, runs {sum(map(len, runs.values()))} functions", flush=True)
    return found


def code_of(path):
    """The object without what is only for debuggers."""
    subprocess.run(["objcopy", "--strip-debug", path], check=True)
    with open(path, "rb") as file:
        return file.read()


def sample_of(build, room, files):
    """[(file, line, what, new line, old line)] by SEED; each compiles to another object."""
    every = [(name, *m) for name in files for m in mutants_of(os.path.join(TREE, name))]
    random.Random(SEED).shuffle(every)
    chosen, lines, plain, refused, same = [], set(), {}, 0, 0
    scratch = os.path.join(OUT, "scratch.o")
    for name, at, what, new in every:
        if len(chosen) == MUTANTS:
            break
        if (name, at) in lines:
            continue
        text = read_lines(name)
        if name not in plain:
            build.compile("\n".join(text), name, scratch)
            plain[name] = code_of(scratch)
        old, text[at] = text[at], new
        if not build.compile("\n".join(text), name, scratch):
            refused += 1
        elif code_of(scratch) == plain[name]:
            same += 1
        else:
            lines.add((name, at))
            chosen.append((name, at, what, new, old))
    with open(os.path.join(OUT, f"{room}.sample"), "w") as file:
        json.dump(chosen, file)
    print(f"{room}: {len(chosen)} of {len(every)} changes chosen; on the way {refused} did not "
          f"compile, {same} left the object as it is", flush=True)
    return chosen


def killer(build, known, mutant):
    """(test, what failed) or (None, the tests that were tried)."""
    name, at, _, new, old = mutant
    text = read_lines(name)
    if at >= len(text) or text[at] != old:  # the file was edited since
        at = min((i for i, line in enumerate(text) if line == old), key=lambda i: abs(i - at),
                 default=None)
        if at is None:
            return "edit", "the line is gone"
    head, start = functions_of(text)[at]
    text[at] = new
    scratch, folder = os.path.join(OUT, "scratch.o"), os.path.join(OUT, "mutant")
    if not build.compile("\n".join(text), name, scratch):
        return "compiler", "refused"
    reach = []
    for test, about in known.items():
        lines = about["runs"].get(name, {}).get(head)
        if lines:
            # First those that run the line's block, as far as can be seen.
            near = any(-2 <= start + line - at <= 1 for line in lines)
            reach.append((not test.startswith("t_"), not near, about["s"], test))
    build.archive({name: scratch})
    tried, begin = [], time.monotonic()
    for *_, seconds, test in sorted(reach):
        if tried and time.monotonic() - begin > ALL:
            tried.append("…")
            break
        command = build.program(test, folder)
        why, _ = boxed(command, WAIT + SLOWER * seconds, folder)
        if why and not test.startswith("t_"):  # a loaded machine fails such a test at times
            why, _ = boxed(command, WAIT + SLOWER * seconds, folder)
        if test.startswith("t_"):
            os.unlink(os.path.join(TREE, command[0]))
        if why:
            return test, why
        tried.append(test)
    return None, " ".join(tried) or "no test runs its function"


def mutate(build, room, files, known, options):
    results = os.path.join(OUT, f"{room}.results")
    survivors = os.path.join(OUT, f"{room}.survivors")
    if options["again"]:
        with open(survivors) as file:
            chosen = json.load(file)
    elif options["only"]:
        chosen = [(name, *m, read_lines(name)[m[0]]) for name in files
                  for m in mutants_of(os.path.join(TREE, name))
                  if f"{name}:{m[0] + 1}:{m[1]}".startswith(options["only"])]
    else:
        chosen = sample_of(build, room, files)
    if options["sample"]:
        return
    killed, left, begin = 0, [], time.monotonic()
    with open(results, "w") as out:
        for mutant in chosen:
            name, at, what, new, _ = mutant
            start = time.monotonic()
            test, why = killer(build, known, mutant)
            killed += test is not None
            if test is None:
                left.append(mutant)
            line = (f"{'killed by ' + test if test else 'survived'}: {name}:{at + 1}: {what}: "
                    f"{new.strip()} [{why}] {time.monotonic() - start:.1f} s")
            print(line, file=out, flush=True)
            print(line, flush=True)
    with open(survivors, "w") as file:
        json.dump(left, file)
    print(f"{room}: {killed} of {len(chosen)} killed ({100 * killed // len(chosen)} %), "
          f"in {(time.monotonic() - begin) / 60:.0f} minutes", flush=True)


def copy_tree():
    """What the tests need of the tree, and what the Makefile has made of it."""
    subprocess.run(["make", "all", "test-programs", f"{O}/lib/fake_worker"], cwd=ROOT,
                   check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(TREE, ignore_errors=True)
    os.makedirs(os.path.join(TREE, O, "unit"))
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    tar = subprocess.Popen(["tar", "-c", "--null", "-T", "-"], cwd=ROOT, stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE)
    into = subprocess.Popen(["tar", "-x"], cwd=TREE, stdin=tar.stdout)
    tar.stdin.write(names.stdout)
    tar.stdin.close()
    if tar.wait() or into.wait():
        sys.exit("cannot copy the tree")
    for name in ("gen", "lib", "obj", "od"):
        source, to = os.path.join(ROOT, O, name), os.path.join(TREE, O, name)
        if os.path.isdir(source):
            shutil.copytree(source, to)
        else:
            shutil.copy2(source, to)


def main():
    options, rooms = {"only": "", "again": False, "sample": False, "map": False, "keep": False,
                      "units": False}, []
    words = iter(sys.argv[1:])
    for word in words:
        if word in ("-h", "--help"):
            print(__doc__)
            return
        if word == "--only":
            options["only"] = next(words)
        elif word in ("--again", "--sample", "--map", "--keep", "--units"):
            options[word[2:]] = True
        else:
            rooms.append(word)
    if options["only"] and not rooms:
        rooms = [options["only"].split("/")[1]]
    os.makedirs(OUT, exist_ok=True)
    if not options["keep"]:
        copy_tree()
    build = Build()
    files = {room: sources(f"core/{room}") for room in rooms or ROOMS}
    tests = [os.path.basename(path)[:-2] for path in sources("tests/unit")
             if os.path.basename(path).startswith("t_")]
    if not options["units"]:
        tests += dict.fromkeys(test for room in files for test in ROOMS.get(room, ()))
    known, old = {}, {}
    if options["again"] or options["only"] or options["map"] or options["keep"]:
        with open(os.path.join(OUT, "map")) as file:
            old = json.load(file)
    if not options["sample"]:
        known = map_of(build, [name for room in ROOMS for name in sources(f"core/{room}")], tests, old)
    for room in files:
        mutate(build, room, files[room], known, options)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
for ignored in (signal.SIGINT, signal.SIGQUIT):  # of a job in the background, and of its tests
    if signal.getsignal(ignored) == signal.SIG_IGN:
        signal.signal(ignored, signal.SIG_DFL)
main()
