# SPDX-License-Identifier: MIT
"""What a key, a login, a signature lets its holder do, when that ends, and what somebody who
has none of them cannot do. Each row judges by an effect: a file that is there or not, the
list of keys, a stream that ends.

    @row("what holds", listen=("v1@",), key=KEY, env={...}, words=(...))
"""
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile

import httpx

from served import Served
from tap import LIMIT, Rows, Tap, holds, run_rows, same

T, OD = os.environ["T"], os.environ["OD"]
KEPT_OUT = re.compile("^(OD_|OH_|SESSION_API_KEY|EXECD_|SWEREX_)")
KEY = "the-key-of-the-start-0123456789"
HEADER = "X-Session-API-Key"
row = Rows()


class Box(Served):
    """A server with one listener of each name in listen ("" is the native set)."""

    def __init__(self, listen=("",), key=None, env=None, words=()):
        self.root = tempfile.mkdtemp(dir=T, prefix="box.")
        for name in ("run", "tmp", "work", "home"):
            os.mkdir(self.path(name), 0o700)
        self.log = open(self.path("log"), "a+b")
        kept = {name: value for name, value in os.environ.items() if not KEPT_OUT.match(name)}
        self.env = {**kept, "HOME": self.path("home"), "TMPDIR": self.path("tmp"),
                    "XDG_RUNTIME_DIR": self.path("run"), "OD_SOCKET": self.path("run/sock"),
                    "OD_STATE_DIR": self.path("run/state"), **(env or {})}
        if key:
            self.env["SESSION_API_KEY"] = key
        self.words, self.at = words, {}
        listeners = [word for name in listen for word in ("--listen", name + "127.0.0.1:0")]
        self.launch([OD, "serve", *listeners, *words], self.path("work"))
        self.http = httpx.Client(timeout=LIMIT)

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def ready(self, said):
        for name, port in re.findall(r"^listening (?:https?://)?(\w*@?)127\.0\.0\.1:(\d+)$", said,
                                     re.MULTILINE):
            self.at[name] = "http://127.0.0.1:" + port

    def manage(self, *words, check=True):
        return subprocess.run([OD, "serve", *words, "--socket", self.env["OD_SOCKET"]],
                              env=self.env, check=check, capture_output=True, timeout=LIMIT,
                              text=True).stdout.strip()

    def add(self, name, *words):
        return self.manage("--key-add", name, *words)

    def keys(self):
        return [each["name"] for each in json.loads(self.manage("--keys", "--json"))["keys"]]

    def there(self, name):
        return os.path.exists(self.path("work", name))

    def touch(self, listener, name, **fields):
        """Asks for a file by what this listener can do, and says whether it is there."""
        at = self.path("work", name)
        url = self.at[listener]
        if listener == "v1@":
            answer = self.http.post(url + "/api/bash/execute_bash_command", headers=fields,
                                    json={"command": f"touch {at}"})
        else:
            answer = self.http.post(url + "/files/mkdir", headers=fields, json={"path": at})
        return answer.status_code, self.there(name)


@contextlib.contextmanager
def box(each):
    wanted = {name: each.options[name] for name in ("listen", "key", "env", "words")
              if name in each.options}
    with Box(**wanted).alive() as one:
        yield one


# --- the deferred init of V1

DEFERRED = {"OH_DEFERRED_INIT": "1"}
MINE = {"session_api_keys": ["the-key-of-a-stranger"], "env": {"MINE": "1"},
        "allow_cors_origins": ["http://evil.example"]}


def refused(answer):
    """A wrong key, or too many of them within a second."""
    holds(answer.status_code in (401, 403, 429), answer, answer.text)


def is_closed_to_strangers(s):
    """Nobody sets a key by POST /api/init, nor runs anything with it."""
    before = s.keys()
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "http://localhost:1"},
                    {"X-Init-API-Key": ""}, {"X-Init-API-Key": "x"}, {HEADER: "x"},
                    {"X-Init-API-Key": "the-key-of-a-stranger", HEADER: "the-key-of-a-stranger"}):
        answer = s.http.post(s.at["v1@"] + "/api/init", json=MINE, headers=headers)
        refused(answer)
        same(s.http.get(s.at["v1@"] + "/api/init").json()["state"], "dormant")
        same(s.keys(), before)
    same(s.touch("v1@", "stranger", **{HEADER: "the-key-of-a-stranger"})[1], False)


@row("deferred init: SESSION_API_KEY closes it to strangers", listen=("v1@",), key=KEY, env=DEFERRED)
def _(s):
    is_closed_to_strangers(s)
    answer = s.http.post(s.at["v1@"] + "/api/init", json={}, headers={HEADER: KEY})
    same((answer.status_code, answer.json()["state"]), (200, "ready"))
    same(s.touch("v1@", "mine", **{HEADER: KEY}), (200, True))


@row("deferred init: so does --api-key-file", listen=("v1@",), env=DEFERRED,
     words=("--api-key-file", T + "/key-file"))
def _(s):
    is_closed_to_strangers(s)
    same(s.http.post(s.at["v1@"] + "/api/init", json=MINE, headers={HEADER: KEY}).status_code, 200)
    holds("v1" in s.keys(), s.keys())


@row("deferred init: so does a key that was added", listen=("v1@",), env=DEFERRED)
def _(s):
    added, seen = s.add("later"), s.add("watcher", "--view")
    is_closed_to_strangers(s)
    answer = s.http.post(s.at["v1@"] + "/api/init", json=MINE, headers={HEADER: seen})
    refused(answer)
    same(s.keys(), ["later", "watcher"])
    same(s.http.post(s.at["v1@"] + "/api/init", json=MINE, headers={HEADER: added}).status_code, 200)


@row("deferred init: so does a key of another listener", listen=("", "v1@"), env=DEFERRED)
def _(s):
    other = s.add("other", "--listener", s.at[""].removeprefix("http://"))
    is_closed_to_strangers(s)
    answer = s.http.post(s.at["v1@"] + "/api/init", json=MINE, headers={HEADER: other})
    refused(answer)
    same(s.keys(), ["other"])


@row("deferred init: a secret closes it, and the secret opens it", listen=("v1@",), key=KEY,
     env={**DEFERRED, "OH_SECRET_KEY": "the-secret"})
def _(s):
    is_closed_to_strangers(s)
    secret = {"X-Init-API-Key": "the-secret"}
    answer = s.http.post(s.at["v1@"] + "/api/init", json=MINE,
                         headers={**secret, "Origin": "http://evil.example"})
    same((answer.status_code, s.keys()), (403, ["start"]))
    same(s.http.post(s.at["v1@"] + "/api/init", json=MINE, headers=secret).status_code, 200)
    same(s.touch("v1@", "theirs", **{HEADER: "the-key-of-a-stranger"}), (200, True))


@row("deferred init: without a key, it is for programs of this machine, not for pages",
     listen=("v1@",), env=DEFERRED)
def _(s):
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "http://localhost:1"},
                    {"Host": "evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = s.http.post(s.at["v1@"] + "/api/init", json=MINE, headers=headers)
        same((answer.status_code, s.keys()), (403, []), headers)
    same(s.http.post(s.at["v1@"] + "/api/init", json=MINE).status_code, 200)
    same(s.keys(), ["v1"])


@row("deferred init: nor for other machines", listen=("v1@",), env=DEFERRED,
     words=("--listen", "v1@0.0.0.0:0", "--insecure-open"))
def _(s):
    port = next(each for each in json.loads(s.manage("--status", "--json"))["servers"][0]["addresses"]
                if "0.0.0.0" in each).rpartition(":")[2]
    found = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout
    outside = [one for one in found.split() if "." in one and not one.startswith("127.")]
    holds(outside, found)
    answer = s.http.post(f"http://{outside[0]}:{port}/api/init", json=MINE)
    refused(answer)
    same(s.keys(), [])


def main():
    tap, like = Tap(), sys.argv[1] if len(sys.argv) > 1 else ""
    with open(T + "/key-file", "w", encoding="ascii") as file:
        file.write(KEY)
    run_rows(tap, [("access", each, box) for each in row if like in each.name], 6)
    return tap.done()


if __name__ == "__main__":
    raise SystemExit(main())
