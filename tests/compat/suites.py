# SPDX-License-Identifier: MIT
"""Public conformance suites against our readers: rates, and what deviates and why.

    suites.py FOLDER READER [SUITE...]

FOLDER has html5lib-tests, JSONTestSuite and url; READER is tests/lib/suite_reader.c. A case
that fails is listed in suites.tsv with its reason, and one that is listed fails: anything
else fails the test.
"""
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SHOWN = 40  # differences that are printed, of a suite


class Reader:
    """What READER answers; one that crashed is begun again, and answers b"crashed"."""

    def __init__(self, path):
        self.path = path
        self.begin()

    def begin(self):
        self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def ask(self, what, *fields):
        fields = list(fields) + [b""] * (3 - len(fields))
        sizes = " ".join(str(len(field)) for field in fields)
        try:
            self.process.stdin.write(f"{what} {sizes}\n".encode() + b"".join(fields))
            self.process.stdin.flush()
            return self.process.stdout.read(int(self.process.stdout.readline()))
        except (ValueError, OSError):
            self.process.wait()
            self.begin()
            return b"crashed"


def to_bytes(text):
    """UTF-8; a half of a pair becomes what a decoder makes of it."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.encode()


# ---- html5lib-tests ----

def unescaped(value):
    if isinstance(value, str):
        return re.sub(r"\\u([0-9A-Fa-f]{4})", lambda m: chr(int(m[1], 16)), value)
    if isinstance(value, list):
        return [unescaped(item) for item in value]
    if isinstance(value, dict):
        return {unescaped(name): unescaped(item) for name, item in value.items()}
    return value


def from_hex(word):
    return bytes.fromhex(word[1:]).decode("utf-8", "replace")


def token_of(line):
    words = line.split(" ")
    kind, flag, text, rest = words[0], words[1], from_hex(words[2]), words[3:]
    if kind == "C":
        return ["Character", text]
    if kind == "N":
        return ["Comment", text]
    if kind == "E":
        return ["EndTag", text]
    if kind == "D":
        ids = [from_hex(rest[3]) if rest[1] == "1" else None,
               from_hex(rest[4]) if rest[2] == "1" else None]
        return ["DOCTYPE", text] + ids + [rest[0] == "0"]
    attrs = [from_hex(word) for word in rest]
    return ["StartTag", text, dict(zip(attrs[::2], attrs[1::2]))] + [True] * int(flag)


def joined(tokens):
    """Without breaks in runs of characters, and a doctype's missing name as ""."""
    out = []
    for token in tokens:
        if token[0] == "Character" and out and out[-1][0] == "Character":
            out[-1] = ["Character", out[-1][1] + token[1]]
        elif token[0] == "DOCTYPE":
            out.append([token[0], token[1] or ""] + token[2:])
        elif token != ["Character", ""]:
            out.append(token)
    return out


def whole(value):
    """Halves of pairs as to_bytes has them."""
    if isinstance(value, dict):
        return {whole(name): whole(item) for name, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return to_bytes(value).decode() if isinstance(value, str) else value


def html_tokens(folder, reader):
    folder = os.path.join(folder, "html5lib-tests", "tokenizer")
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".test"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            tests = json.load(file).get("tests", [])  # xmlViolation's are of another parser
        for number, test in enumerate(tests):
            if test.get("doubleEscaped"):
                test["input"] = unescaped(test["input"])
                test["output"] = unescaped(test["output"])
            want = joined(whole(test["output"]))
            for state in test.get("initialStates", ["Data state"]):
                answer = reader.ask("tokens", state.encode(),
                                    test.get("lastStartTag", "").encode(),
                                    to_bytes(test["input"])).decode()
                got = "crashed" if answer == "crashed" else joined(
                    [token_of(line) for line in answer.splitlines()])
                label = state.replace(" state", "").replace(" ", "-")
                yield f"{name}#{number}/{label}", test["input"], want, got


SECTIONS = {"#data", "#errors", "#new-errors", "#document-fragment", "#script-off",
            "#script-on", "#document"}


def dat_tests(path):
    """The tests of a .dat file as {section: text}."""
    with open(path, "rb") as file:
        lines = file.read().decode("utf-8").split("\n")
    test, section = None, None
    for line in lines:
        if line == "#data":
            if test:
                yield test
            test, section = {"#data": []}, "#data"
        elif line in SECTIONS and not (line == "#document" and section == "#document"):
            section = line
            test[section] = []
        elif test is not None:
            test[section].append(line)
    if test:
        yield test


def html_trees(folder, reader):
    folder = os.path.join(folder, "html5lib-tests", "tree-construction")
    for name in sorted(os.listdir(folder)):  # those of "scripted" run scripts
        if not name.endswith(".dat"):
            continue
        for number, test in enumerate(dat_tests(os.path.join(folder, name))):
            data = "\n".join(test["#data"])
            want = "\n".join(test["#document"]).rstrip("\n")
            context = test.get("#document-fragment", [""])[0]
            for mode in ("off", "on"):
                other = {"off": "#script-on", "on": "#script-off"}[mode]
                if other in test:
                    continue
                got = reader.ask("tree", b"1" if mode == "on" else b"0", context.encode(),
                                 data.encode()).decode("utf-8", "replace").rstrip("\n")
                yield f"{name}#{number}/script-{mode}", data + (
                    f" IN {context}" if context else ""), want, got


# ---- JSONTestSuite ----

def json_texts(folder, reader):
    folder = os.path.join(folder, "JSONTestSuite")
    with open(os.path.join(HERE, "suites-json.tsv"), encoding="utf-8") as file:
        rows = [line.split("\t") for line in file if not line.startswith("#")]
    left = {row[0]: f"{row[1]} {row[2]}" for row in rows}  # i_: as the reader likes
    for name in sorted(set(os.listdir(folder)) | set(left)):
        with open(os.path.join(folder, name), "rb") as file:
            text = file.read()
        want = {"y": "yes yes", "n": "no no"}.get(name[0]) or left.get(name, "unlisted")
        yield name, text[:100], want, reader.ask("json", text).decode()


# ---- WPT's URLs ----

WEB = re.compile(r"(https?|wss?|file):", re.I)
PORTS = {"http:": "80", "https:": "443", "ws:": "80", "wss:": "443"}


def urls(folder, reader):
    with open(os.path.join(folder, "url", "urltestdata.json"), encoding="utf-8") as file:
        tests = json.load(file)
    for number, test in enumerate(tests):
        if isinstance(test, str):  # a heading
            continue
        given, base = test["input"], test.get("base") or ""
        bare = re.sub(r"[\t\r\n]", "", given).strip("".join(map(chr, range(33))))
        scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", bare)
        if not WEB.match(scheme[0] if scheme else base):
            continue  # of another scheme
        want = ""
        if not test.get("failure"):
            want = test["href"]
            if test["protocol"] != "file:":
                port = test["port"] or PORTS[test["protocol"]]
                want += f" {test['hostname'].strip('[]')} {port}"
        got = reader.ask("url", to_bytes(given), to_bytes(base)).decode()
        yield f"#{number}", f"{given} ON {base}", want, got


def hosts(folder, reader):
    with open(os.path.join(folder, "url", "toascii.json"), encoding="utf-8") as file:
        tests = json.load(file)
    for number, test in enumerate(tests):
        if isinstance(test, str):
            continue
        host = test["output"]
        want = f"http://{host}/ {host} 80" if host else ""
        got = reader.ask("url", b"http://" + to_bytes(test["input"]) + b"/", b"").decode()
        yield f"#{number}", test["input"], want, got


# ---- all of it ----

SUITES = {"html-tokens": html_tokens, "html-trees": html_trees, "json": json_texts,
          "urls": urls, "hosts": hosts}


def listed(path):
    """{(suite, case): reason}"""
    out = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                suite, case, reason = line.rstrip("\n").split("\t")
                out[suite, case] = reason
    return out


def run(name, cases, known):
    """Prints one line, its rate, and what was not expected; true: nothing was."""
    start, seen, good, odd, shown = time.monotonic(), set(), 0, 0, []
    for case, given, want, got in cases:
        seen.add(case)
        good += want == got
        if want != got and (name, case) in known:
            shown.append(f"{case}: {known[name, case]}")
        elif (want == got) == ((name, case) in known):
            odd += 1
            if odd <= SHOWN:
                shown.append(f"{case}: " + ("passes, and is listed" if want == got else
                             f"given {given!r}\n  want {want!r}\n  got  {got!r}"))
    gone = [case for suite, case in known if suite == name and case not in seen]
    shown += [f"{case}: is listed, and there is no such case" for case in gone]
    for text in shown:
        print("# " + text.replace("\n", "\n# "))
    total = max(len(seen), 1)
    print(f"# {name}: {good} of {len(seen)} ({100 * good / total:.2f} %), "
          f"{odd} unexpected, {time.monotonic() - start:.1f} s")
    return not odd and not gone and bool(seen)


def main():
    folder, path, *names = sys.argv[1:]
    known, reader = listed(os.path.join(HERE, "suites.tsv")), Reader(path)
    names = names or list(SUITES)
    failed = 0
    for number, name in enumerate(names, 1):
        fine = run(name, SUITES[name](folder, reader), known)
        failed += not fine
        print(f"{'ok' if fine else 'not ok'} {number} - {name}", flush=True)
    print(f"1..{len(names)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
