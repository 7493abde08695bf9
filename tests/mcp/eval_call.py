# SPDX-License-Identifier: MIT
"""One call of a tool over HTTP: eval_call.py URL NAME ARGUMENTS-AS-JSON [PATH...]

Prints the text of the result, "ERROR " before it if the tool says that it failed, or, with a
PATH, that member of the result: `_meta od/result shown`. The session of the first call
is kept in the file mcp-session of the working directory.
"""
import json
import sys
import urllib.request

URL, NAME, ARGUMENTS, *PATH = sys.argv[1:]
KEPT = "mcp-session"


def post(message, session=None):
    """The answer to a message, and the session that it names."""
    headers = {"Content-Type": "application/json",
               "Accept": "application/json, text/event-stream"}
    if session:
        headers["Mcp-Session-Id"] = session
    request = urllib.request.Request(URL, json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=180) as reply:
        text = reply.read().decode()
        named = reply.headers.get("Mcp-Session-Id")
        if "event-stream" in reply.headers.get("Content-Type", ""):
            lines = [x[5:].strip() for x in text.splitlines() if x.startswith("data:")]
            found = [json.loads(x) for x in lines if x]
            return [x for x in found if x.get("id") == message.get("id")][0], named
        return json.loads(text) if text else None, named


def session():
    """Opens one, or takes the one that is open."""
    try:
        with open(KEPT, encoding="utf-8") as file:
            return file.read()
    except OSError:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {},
                 "clientInfo": {"name": "eval", "version": "1"}}
        _, named = post({"jsonrpc": "2.0", "id": 1, "method": "initialize",
                         "params": hello})
        post({"jsonrpc": "2.0", "method": "notifications/initialized"}, named)
        with open(KEPT, "w", encoding="utf-8") as file:
            file.write(named or "")
        return named


def main():
    answer, _ = post({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                      "params": {"name": NAME, "arguments": json.loads(ARGUMENTS)}},
                     session())
    if "result" not in answer:
        sys.exit("eval_call.py: " + json.dumps(answer))
    it = answer["result"]
    for name in PATH:
        it = it[int(name)] if isinstance(it, list) else it[name]
    if PATH:
        print(it if isinstance(it, str) else json.dumps(it))
        return
    text = "\n".join(x["text"] for x in it["content"] if x["type"] == "text")
    if it.get("isError") and text.endswith("\n[failed]"):
        text = "ERROR " + text.removesuffix("\n[failed]")
    print(text)


main()
