# SPDX-License-Identifier: MIT
"""har.py FILE: checks that an archive has all members that HAR 1.2 requires, with their
types, and prints a line for each entry."""

import base64
import datetime
import json
import sys

PAIR = {"name": str, "value": str}
REQUEST = {
    "method": str,
    "url": str,
    "httpVersion": str,
    "cookies": [PAIR],
    "headers": [PAIR],
    "queryString": [PAIR],
    "headersSize": int,
    "bodySize": int,
}
RESPONSE = {
    "status": int,
    "statusText": str,
    "httpVersion": str,
    "cookies": [PAIR],
    "headers": [PAIR],
    "content": {"size": int, "mimeType": str},
    "redirectURL": str,
    "headersSize": int,
    "bodySize": int,
}
ENTRY = {
    "startedDateTime": "time",
    "time": float,
    "request": REQUEST,
    "response": RESPONSE,
    "cache": {},
    "timings": {"send": float, "wait": float, "receive": float},
}
PAGE = {"startedDateTime": "time", "id": str, "title": str, "pageTimings": {}}
NAMED = {"name": str, "version": str}
LOG = {"version": str, "creator": NAMED, "pages": [PAGE], "entries": [ENTRY]}


def check(value, shape, where):
    if isinstance(shape, dict):
        assert isinstance(value, dict), where
        for name, inner in shape.items():
            assert name in value, f"{where}.{name} is missing"
            check(value[name], inner, f"{where}.{name}")
    elif isinstance(shape, list):
        assert isinstance(value, list), where
        for i, inner in enumerate(value):
            check(inner, shape[0], f"{where}[{i}]")
    elif shape == "time":
        datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    elif shape is float:
        assert isinstance(value, (int, float)) and value >= 0, f"{where} is {value}"
    else:
        assert isinstance(value, shape) and not isinstance(value, bool), f"{where} is {value}"


with open(sys.argv[1], encoding="utf-8") as file:
    log = json.load(file)["log"]
check(log, LOG, "log")
pages = {page["id"] for page in log["pages"]}
for entry in log["entries"]:
    total = sum(v for v in entry["timings"].values() if v > 0)
    assert abs(total - entry["time"]) < 0.01, (total, entry["time"])
    assert entry["pageref"] in pages, entry["pageref"]
    request, response = entry["request"], entry["response"]
    content = response["content"]
    body = content.get("text", "").encode()
    body = base64.b64decode(body) if content.get("encoding") else body
    assert content["size"] == len(body), (content["size"], len(body))
    print(
        request["method"],
        "/" + request["url"].split("/", 3)[3],
        response["status"],
        content.get("encoding", "text" if "text" in content else "-"),
        *(c["name"] for c in request["cookies"]),
        *(c["name"] + "=" + c["value"] for c in response["cookies"]),
        *(q["name"] + "=" + q["value"] for q in request["queryString"]),
        *([request["postData"]["mimeType"]] if "postData" in request else []),
    )
