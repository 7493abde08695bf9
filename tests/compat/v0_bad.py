# SPDX-License-Identifier: MIT
"""What is wrong with a request, and what is said of it: the status and the form
of the answer, and that server and session are there after it."""
import json
import socket

from tap import Rows, has, holds, same
from v0_client import pool
from v0_text import ended

row = Rows()

INVALID = "Invalid request parameters"


def post(c, path, body=None, kind="application/json", **how):
    """The status and the JSON of an answer to bytes or to an object."""
    if not isinstance(body, (bytes, type(None))):
        body = json.dumps(body).encode()
    headers = {"content-type": kind} if body is not None else {}
    answer = pool.post(
        c.url + path, content=body, headers={**headers, **c.box.headers}, **how
    )
    same(answer.headers["content-type"].split(";")[0], "application/json", path)
    return answer.status_code, answer.json()


def invalid(answer, *about):
    status, said = answer
    same(status, 422, f"{about}: {said}")
    same(set(said), {"detail", "errors"}, about)
    same(said["detail"], INVALID, about)
    holds(isinstance(said["errors"], str), said, about)


def failed(answer, *parts, statuses=(500,), start="Internal server error: "):
    """An exception's answer: `detail` and nothing else."""
    status, said = answer
    holds(status in statuses, status, said, parts)
    same(set(said), {"detail"}, said)
    holds(said["detail"].startswith(start), said)
    has(said["detail"], *parts)


def well(c):
    """The server answers, and the session is the one that it was."""
    same(c.box.ask("GET", "/alive", 5).json(), {"status": "ok"})
    ended(c.box.run('echo "still $KEPT here"'), 0, "still 17 here")


def kept(function):
    """The row begins with a variable in the session, and ends with a look at it."""

    def whole(c):
        ended(c.box.run("KEPT=17"))
        function(c)
        well(c)

    return whole


def action(name="run", args=None, **top):
    given = {"command": "echo ran"} if args is None else args
    return {"action": {"action": name, "args": given, "timeout": 20.0, **top}}


@row("bad: what is no JSON, or no JSON object", set_up=False)
@kept
def _(c):
    for body in (
        b"",
        b"no json",
        b"{",
        b'{"action": {"action": "run", "args": {"command": "echo"}}',
        b'{"action": {}}}',
        b'{"action": {"action": "run"}} trailing',
        b"[]",
        b"null",
        b"17",
        b'"text"',
        b"\xff\xfe{}",
        b'{"action": {"action": "run", "args": {"command": "\xff\xfe"}}}',
        b"{'action': 1}",
    ):
        invalid(post(c, "/execute_action", body), body)
    invalid(post(c, "/execute_action"), "no body")


@row("bad: an action that is missing or no object", set_up=False)
@kept
def _(c):
    for body in ({}, {"act": {}}, {"action": None}, {"action": "run"}, {"action": []},
                 {"action": 1}, {"action": True}):
        invalid(post(c, "/execute_action", body), body)


@row("bad: an action of no kind, or of one that nobody knows", set_up=False)
@kept
def _(c):
    failed(post(c, "/execute_action", {"action": {}}), "action")
    failed(post(c, "/execute_action", {"action": {"args": {}}}), "'action' key is not found in")
    failed(
        post(c, "/execute_action", action("jump")),
        "jump",
        "is not defined. Available actions: ",
    )
    for kind in (None, 5, [], {}, True, "", "RUN", "r" * 100000):
        failed(post(c, "/execute_action", action(kind)))
    for kind in ("think", "finish", "message", "recall", "delegate", "null"):
        failed(post(c, "/execute_action", action(kind, {})), kind)
    failed(
        post(c, "/execute_action", {"action": {"observation": "run", "content": ""}}),
        "Invalid action type",
        statuses=(400, 500),
    )


@row("bad: arguments that are missing or of the wrong type", set_up=False)
@kept
def _(c):
    for name, args in (
        ("run", {}),
        ("run", None),
        ("run", []),
        ("run", "echo"),
        ("run", 7),
        ("run", {"command": None}),
        ("run", {"command": 5}),
        ("run", {"command": ["echo"]}),
        ("run", {"command": {"a": 1}}),
        ("read", {}),
        ("read", {"path": None}),
        ("read", {"path": 3}),
        ("read", {"path": ["a"]}),
        ("write", {"path": "f"}),
        ("write", {"content": "x"}),
        ("write", {"path": 1, "content": "x"}),
        ("write", {"path": "f", "content": None}),
        ("write", {"path": "f", "content": 5}),
    ):
        body = {"action": {"action": name, "timeout": 20.0}}
        if args is not None:
            body["action"]["args"] = args
        failed(post(c, "/execute_action", body))
    same(c.box.list_files(), [])


@row("bad: a NUL is in no text", set_up=False)
@kept
def _(c):
    for name, args in (
        ("run", {"command": "echo a\u0000b"}),
        ("run", {"command": "\u0000"}),
        ("read", {"path": "a\u0000b"}),
        ("write", {"path": "f\u0000g", "content": "x"}),
        ("write", {"path": "f", "content": "a\u0000b"}),
    ):
        invalid(post(c, "/execute_action", action(name, args)), args)
    same(c.box.list_files(), [])


@row("bad: keys that nobody knows are passed over", set_up=False)
@kept
def _(c):
    more = {"new_of_tomorrow": [1], "command": "echo ran"}
    status, said = post(c, "/execute_action", {**action(args=more, later=1), "extra": {}})
    same((status, said.get("content")), (200, "ran"))
    args = {"command": "echo ran", "security_risk": "high", "is_confirmed": "confirmed"}
    status, said = post(c, "/execute_action", action(args=args))
    same((status, said.get("content")), (200, "ran"))
    status, said = post(c, "/execute_action", action(source="martian"))
    same(status, 500, said)


@row("bad: JSON that is deep, long or full of numbers", set_up=False)
@kept
def _(c):
    deep = b"[" * 100000 + b"]" * 100000
    for body in (
        deep,
        b"[" * 1000000,
        b'{"action":' * 100000,
        b'{"action": {"action": "run", "args": {"command": "true", "deep": ' + deep + b"}}}",
        b'{"action": ' + b"9" * 100000 + b"}",
    ):
        status, said = post(c, "/execute_action", body)
        holds(status in (413, 422, 500), status)
        holds(isinstance(said["detail"], str), said)
    many = b'{"action": {"action": "run", "args": {"command": "echo ran"'
    many += b"".join(b', "k%d": %d' % (i, i) for i in range(20000)) + b"}}}"
    status, said = post(c, "/execute_action", many)
    same((status, said.get("content")), (200, "ran"))


@row("bad: a body that is too large is refused in words", set_up=False)
@kept
def _(c):
    args = {"path": "large", "content": "x" * (17 << 20)}
    status, said = post(c, "/execute_action", action("write", args))
    same((status, set(said)), (413, {"detail"}))
    head = b"POST /execute_action HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n{"
    said = raw(c, head % (64 << 20), end=True)
    has(said.decode(), "HTTP/1.1 413 ", '{"detail":')
    same(c.box.list_files(), [])


@row("bad: numbers that no clock and no file has", set_up=False)
@kept
def _(c):
    for number in ("1e308", "1e999", "-1e999", "99999999999999999999999", "1e-400"):
        body = '{"action": {"action": "run", "args": {"command": "echo ran"}, "timeout": T}}'
        status, said = post(c, "/execute_action", body.replace("T", number).encode())
        holds(status in (200, 422, 500), status, said, number)
    for timeout in ("soon", [], {}, -5, 0, True):
        status, said = post(c, "/execute_action", action(timeout=timeout))
        holds(status in (200, 422, 500), status, said, timeout)
        if status == 200:
            c.box.poll(timeout=10)
    for number in (2**31, 2**53 + 1, 2**63, 2**64, -1, 10**40):
        status, said = post(c, "/execute_action", action(id=number))
        same((status, said.get("content")), (200, "ran"), number)
    ended(c.box.run("printf '1\\n2\\n' > f"))
    for start, end in ((2**31, -1), (-(2**31), 2**63), (10**40, 10**40), (-5, -7), (1.5, 2.5)):
        body = action("read", {"path": "f", "start": start, "end": end})
        status, said = post(c, "/execute_action", body)
        holds(status in (200, 500), status, said)


@row("bad: infinity and the like are no JSON", set_up=False)
@kept
def _(c):
    for number in (b"NaN", b"Infinity", b"-Infinity", b"0x10", b"01", b"+1", b".5", b"1."):
        body = b'{"action": {"action": "run", "args": {"command": "true"}, "timeout": T}}'
        status, said = post(c, "/execute_action", body.replace(b"T", number))
        holds(status in (422, 500), status, said, number)


@row("bad: text that is no text", set_up=False)
@kept
def _(c):
    lone = b'{"action": {"action": "run", "args": {"command": "echo \\ud800"}, "timeout": 9.0}}'
    status, said = post(c, "/execute_action", lone)
    holds(status in (200, 422, 500), status, said)
    pair = b'{"action": {"action": "run", "args": {"command": "echo \\ud834\\udd1e"}}}'
    status, said = post(c, "/execute_action", pair)
    same((status, said.get("content")), (200, "\U0001d11e"))
    status, said = post(c, "/execute_action", action(args={"command": "echo a\rb\x1b[31m\x03\x04"}))
    holds(status in (200, 422, 500), status, said)


@row("bad: paths that do not exist, or that nobody may have", set_up=False)
@kept
def _(c):
    for path in ("/none/none", "none", "../" * 50 + "none", "x" * 300, "/" + "y/" * 3000, ""):
        status, said = post(c, "/execute_action", action("read", {"path": path}))
        holds(status in (200, 500), status, said)
        if status == 200:
            same(said["observation"], "error", said)
    for path in ("/proc/self/none/x", "/dev/null/x", "x" * 300, f"{c.dir}"):
        status, said = post(c, "/execute_action", action("write", {"path": path, "content": "x"}))
        holds(status in (200, 500), status, said)
        if status == 200:
            same(said["observation"], "error", said)
    same(c.box.list_files("/none"), [])
    same(c.box.list_files("x" * 5000), [])


@row("bad: a device is no file to wait for", set_up=False)
@kept
def _(c):
    ended(c.box.run("mkfifo pipe"))
    for path in ("pipe", "/dev/zero", "/dev/tty"):
        status, said = post(c, "/execute_action", action("read", {"path": path}))
        holds(status in (200, 500), status, said)
    status, said = post(c, "/execute_action", action("write", {"path": "pipe", "content": "x"}))
    holds(status in (200, 500), status, said)


@row("bad: a list of something else", set_up=False)
@kept
def _(c):
    for body in (b"", b"no", b"[]", b'{"path": 5}', b'{"path": ["a"]}', b'{"path": "\\u0000"}'):
        status, said = post(c, "/list_files", body)
        holds((status, said) == (200, []) or status in (422, 500), status, said, body)
    same(post(c, "/list_files", {"path": None}), (200, []))
    same(post(c, "/list_files", {}), (200, []))
    status, said = post(c, "/update_mcp_server", {"not": "a list"})
    same((status, said.get("detail")), (400, "Request must be a list of MCP tools to sync"))


@row("bad: paths of the server that are not there, and methods", set_up=False)
@kept
def _(c):
    for method, path, status, detail in (
        ("GET", "/", 404, "Not Found"),
        ("GET", "/nothing", 404, "Not Found"),
        ("POST", "/alive/", 404, "Not Found"),
        ("GET", "/execute_action/more", 404, "Not Found"),
        ("GET", "/" + "a" * 3000, 404, "Not Found"),
        ("GET", "/execute_action", 405, "Method Not Allowed"),
        ("PUT", "/execute_action", 405, "Method Not Allowed"),
        ("POST", "/alive", 405, "Method Not Allowed"),
        ("DELETE", "/alive", 405, "Method Not Allowed"),
        ("POST", "/server_info", 405, "Method Not Allowed"),
        ("GET", "/upload_file", 405, "Method Not Allowed"),
        ("POST", "/download_files", 405, "Method Not Allowed"),
        ("GET", "/list_files", 405, "Method Not Allowed"),
    ):
        answer = pool.request(method, c.url + path, follow_redirects=False)
        if path.endswith("/") and answer.status_code in (307, 405):
            continue
        same((answer.status_code, answer.json()), (status, {"detail": detail}), (method, path))
    for path in ("/%00", "/%zz", "/a%2"):
        answer = pool.get(c.url + path)
        holds(answer.status_code in (400, 404) and answer.json()["detail"], answer, path)


@row("bad: the key", set_up=False, server_env={"SESSION_API_KEY": "k3y-of-ours"}, key="k3y-of-ours")
@kept
def _(c):
    no = (403, {"detail": "Invalid API Key"}, None)
    late = (429, {"detail": "Too many wrong API keys. Try again in a second"}, "1")
    for headers in ({}, {"X-Session-API-Key": ""}, {"X-Session-API-Key": "k3y-of-our"},
                    {"X-Session-API-Key": "k3y-of-ours2"}, {"X-Session-API-Key": "K3Y-OF-OURS"}):
        for method, path in (("POST", "/execute_action"), ("POST", "/upload_file"),
                             ("GET", "/download_files"), ("POST", "/list_files"),
                             ("GET", "/nothing"), ("GET", "/mcp/sse"), ("GET", "/execute_action"),
                             ("GET", "/vscode/connection_token")):
            answer = pool.request(method, c.url + path, headers=headers)
            got = (answer.status_code, answer.json(), answer.headers.get("retry-after"))
            holds(got in ((no, late) if headers else (no,)), method, path, headers, got)
        for path in ("/alive", "/server_info"):
            same(pool.get(c.url + path, headers=headers).status_code, 200)
    same(c.box.list_files(), [])


@row("bad: uploads without a file, to no place", set_up=False)
@kept
def _(c):
    def upload(query="?destination=" + c.dir, files=None, **how):
        answer = pool.post(c.url + "/upload_file" + query, files=files, **how)
        return answer.status_code, answer.json()

    file = {"file": ("f.txt", b"text")}
    there = "?destination=" + c.dir
    invalid(upload(), "no body")
    invalid(upload(files={"other": ("f.txt", b"text")}), "another part")
    invalid(upload(data={"file": "no file"}), "a field")
    invalid(upload(content=b"x", headers={"content-type": "multipart/form-data"}), "no boundary")
    invalid(upload(content=b"{}", headers={"content-type": "application/json"}), "JSON")
    invalid(upload(there + "&recursive=perhaps", file), "perhaps")
    failed(upload("?destination=relative", file), "Destination must be an absolute path",
           statuses=(400, 500), start="")
    failed(upload("?destination=/dev/null/x", file), statuses=(400, 500), start="")
    failed(upload("?destination=" + "/y" * 3000, file), statuses=(400, 500), start="")
    failed(upload("?destination=/a%00b", file), statuses=(400, 422, 500), start="")
    failed(upload(there + "&recursive=true", file), "Recursive uploads must be zip files",
           statuses=(400, 500), start="")
    failed(upload(files={"file": ("f.zip", b"no archive")}), statuses=(400, 500), start="")
    same(c.box.list_files(), [])
    for word in ("1", "yes", "on", "true", "True"):
        failed(upload(there + "&recursive=" + word, file), "zip", statuses=(400, 500), start="")
    for word in ("0", "no", "off", "false"):
        same(upload(there + "&recursive=" + word, file)[0], 200, word)
    same(c.box.list_files(), ["f.txt"])


@row("bad: downloads of nothing", set_up=False)
@kept
def _(c):
    def download(query):
        answer = pool.get(c.url + "/download_files" + query)
        return answer.status_code, answer.json()

    invalid(download(""), "no path")
    failed(download("?path=relative"), "Path must be an absolute path",
           statuses=(400, 500), start="")
    failed(download(f"?path={c.dir}/none"), "File not found", statuses=(404, 500), start="")
    failed(download("?path=/a%00b"), statuses=(400, 404, 422, 500), start="")
    got = c.box.copy_from(f"{c.dir}/none")
    has(json.loads(got.read_text())["detail"], "File not found")
    got.unlink()


# --- bytes that are no HTTP, and clients that go away


def raw(c, data, read=True, end=False):
    """What comes back for some bytes, to the end; `end` says that no more are sent."""
    with socket.create_connection(("127.0.0.1", c.port), 60) as s:
        s.sendall(data)
        if end:
            s.shutdown(socket.SHUT_WR)
        got = b""
        while read and (more := s.recv(65536)):
            got += more
        return got


@row("bad: bytes that are no request", set_up=False)
@kept
def _(c):
    to_post = b"POST /execute_action HTTP/1.1\r\nHost: a\r\n"
    for data in (
        b"\r\n\r\n\r\nnonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500,
        b"GET /alive HTTP/9.9\r\n\r\n",
        b"GET /alive\r\n\r\n",
        b"GET /alive HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        to_post + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        to_post + b"Content-Length: 99999999999999999999\r\n\r\n",
        to_post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /alive HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"y" * 1000000 + b"\r\n\r\n",
        b"GET /alive HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 100000 + b"\r\n",
    ):
        try:
            got = raw(c, data)
        except ConnectionError:
            continue
        holds(got == b"" or got.startswith(b"HTTP/1."), got[:100], data[:60])
        if got:
            holds(int(got.split()[1]) in range(400, 600), got[:100], data[:60])


@row("bad: a request in single bytes, two in one write, one with a chunked body", set_up=False)
@kept
def _(c):
    get = b"GET /alive HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    with socket.create_connection(("127.0.0.1", c.port), 20) as s:
        for i in range(len(get + b"Connection: close\r\n\r\n")):
            s.sendall((get + b"Connection: close\r\n\r\n")[i : i + 1])
        got = b""
        while more := s.recv(65536):
            got += more
        has(got.decode(), "200", '"ok"')
    two = raw(c, get + b"\r\n" + get + b"Connection: close\r\n\r\n")
    same(two.count(b'"ok"'), 2, two)
    body = json.dumps(action()).encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in (body[:9], body[9:])) + b"0\r\n\r\n"
    head = (
        b"POST /execute_action HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    has(raw(c, head + chunks).decode(), '"content"', "ran")


@row("bad: clients that leave at every point of a request", set_up=False)
@kept
def _(c):
    body = json.dumps(action(args={"command": "echo left >> left"})).encode()
    head = b"POST /execute_action HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body)
    for data in (b"", b"P", head[:20], head, head + body[:-1]):
        raw(c, data, read=False)
    same(c.box.list_files(), [])


@row("bad: many clients that say nothing leave room for one that does", set_up=False, slow=True)
@kept
def _(c):
    idle = []
    try:
        for _i in range(200):
            idle.append(socket.create_connection(("127.0.0.1", c.port), 20))
        ended(c.box.run("echo heard"), 0, "heard")
    finally:
        for each in idle:
            each.close()
