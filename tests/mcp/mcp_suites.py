# SPDX-License-Identifier: MIT
"""The official suites, whose failures are those of baseline.tsv and no others; the
official clients of both versions; and the inspector."""
import json
import os
import re
import subprocess
import sys

import wire_client as mcp
from tap import Tap

HERE = os.path.dirname(os.path.abspath(__file__))
NODE, MODULES = os.environ["NODE"], os.environ["MODULES"] + "/node_modules/"
LIMIT = 100 * int(os.environ.get("OD_TEST_SLOW") or 2)
RUNS = {"0.1.16": ("@modelcontextprotocol/conformance", ["--suite", "all"]),
        "2025-11-25": ("conformance-next", ["--requirements", "2025-11-25"]),
        "2026-07-28": ("conformance-next", ["--requirements", "2026-07-28"])}


def line(tap, fine, name, notes):
    tap.line(fine, name, [] if fine else notes)


def node(*words, env=None):
    done = subprocess.run([NODE, *words], capture_output=True, text=True, timeout=LIMIT, check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})},
                          cwd=os.environ["T"])
    return done.returncode, done.stdout, done.stderr


def baseline(run):
    """Scenarios that fail in this run, with their reasons."""
    found = {}
    with open(HERE + "/baseline.tsv", encoding="utf-8") as file:
        for each in file:
            if each.strip() and not each.startswith("#"):
                runs, name, reason = each.rstrip("\n").split("\t")
                if run in runs.split(","):
                    found[name] = reason
    return found


def conformance(tap, run, server):
    package, words = RUNS[run]
    rc, out, err = node(MODULES + package + "/dist/index.js", "server", "--url", server.url, *words)
    summary = out.partition("=== SUMMARY ===")[2].partition("Not scored")[0]
    got = re.findall(r"^(✓|✗) (\S+): (\d+) passed, (\d+) failed", summary, re.M)
    known = baseline(run)
    line(tap, len(got) > 20, f"conformance {run}: it ran", [out[-2000:], err[-2000:], f"status {rc}"])
    for mark, name, _, _ in got:
        failed = mark == "✗"
        if name in known:
            line(tap, failed, f"conformance {run}: {name} is as baseline.tsv has it",
                     ["it passes now: take it out of baseline.tsv"])
        else:
            line(tap, not failed, f"conformance {run}: {name}",
                 [each for each in out.split("\n") if name in each][:5])
    gone = set(known) - {name for _, name, _, _ in got}
    line(tap, not gone, f"conformance {run}: baseline.tsv has only what ran", sorted(gone))


def client(tap, version, era, server):
    _, out, err = node(HERE + "/sdk.mjs", MODULES.rstrip("/"), version, era, server.url, mcp.OD,
                       server.work, env=server.env)
    found = re.findall(r"^(ok|not ok) (\w+)(.*)$", out, re.M)
    line(tap, len(found) == 3, f"SDK v{version}, {era}: it ran", [out, err[-2000:]])
    for verdict, way, why in found:
        line(tap, verdict == "ok", f"SDK v{version}, {era}: {way}", [why])


def inspect(server, over, *words):
    """The inspector's command line, by HTTP or with od mcp as its child."""
    target = [server.url, "--transport", "http"]
    if over == "stdio":  # a client gives its child few variables
        target = ["env", "OD_SOCKET=" + server.env["OD_SOCKET"], server.od, "mcp"]
    return node(MODULES + "@modelcontextprotocol/inspector/" + INSPECTOR, "--cli", *target,
                *words, env=server.env)


def inspector(tap, server):
    for over in ("HTTP", "stdio"):
        rc, out, err = inspect(server, over, "--method", "tools/list")
        names = [t["name"] for t in json.loads(out)["tools"]] if rc == 0 else []
        line(tap, "act" in names, f"inspector, {over}: lists", [out[-1000:], err[-1000:]])
        rc, out, err = inspect(server, over, "--method", "tools/call", "--tool-name", "act",
                               "--tool-arg", "command=echo inspected")
        line(tap, rc == 0 and "inspected" in out, f"inspector, {over}: calls", [out[-1000:], err[-1000:]])


def real_tools(tap):
    """All tools of the program as it is, whose schemas every client takes."""
    with mcp.server("--mcp-tools", "all", od=os.environ["REAL"]) as server:
        rc, out, err = inspect(server, "HTTP", "--method", "tools/list", "--strict")
        names = [t["name"] for t in json.loads(out)["tools"]] if rc == 0 else []
        line(tap, rc == 0 and {"shell", "grep", "process", "files", "events"} <= set(names),
             "inspector, --strict: every tool of the program", [f"status {rc}", out[-1500:], err[-1500:]])
        for over in ("HTTP", "stdio"):
            rc, out, err = inspect(server, over, "--method", "tools/call", "--tool-name", "shell",
                                   "--tool-arg", "command=echo $((6*7))")
            line(tap, rc == 0 and "42" in out and "exit 0 in" in out,
                 f"inspector, {over}: calls shell", [out[-1000:], err[-1000:]])


with open(MODULES + "@modelcontextprotocol/inspector/package.json", encoding="utf-8") as package:
    INSPECTOR = list(json.load(package)["bin"].values())[0]


def main():
    tap = Tap()
    with mcp.server("--mcp-tools", "all") as server:
        work = [(f"conformance {run}", lambda r=run: conformance(tap, r, server)) for run in RUNS]
        work += [(f"SDK v{v} {era}", lambda v=v, e=era: client(tap, v, e, server))
                 for v, era in (("1", "legacy"), ("2", "legacy"), ("2", "modern"))]
        work += [("inspector", lambda: inspector(tap, server)),
                 ("inspector, real tools", lambda: real_tools(tap))]
        for name, run in work:
            if all(word in name for word in sys.argv[1:]):
                run()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
