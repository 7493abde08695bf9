# SPDX-License-Identifier: MIT
"""OpenHands' agent-server: keys, health, CORS, deferred init, static files, errors."""
import http.client
import json
import os
import re
import signal
import subprocess

import httpx

from tap import LIMIT, Rows, has, holds, lacks, same, wait_for
from v1_server import BASH, EVENTS, KEY, OD

row = Rows()

HEADER = "X-Session-API-Key"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = "/api/tools/"


# --- health and server info


@row("health, alive, ready: without a key")
def _(s):
    for path in ("/health", "/alive"):
        same((s.bare.get(path).status_code, s.bare.get(path).json()), (200, {"status": "ok"}))
    same(s.bare.get("/ready").json(), {"status": "ready"})


@row("server info: every field, without a key",
     env={"OH_RUNTIME_IDLE_TIMEOUT_SECONDS": "1200", "OPENHANDS_BUILD_GIT_SHA": "abc"})
def _(s):
    answer = s.bare.get("/server_info")
    info = answer.json()
    same(set(info), {"uptime", "idle_time", "title", "version", "sdk_version", "tools_version",
                     "workspace_version", "build_git_sha", "build_git_ref", "python_version",
                     "usable_tools", "runtime_idle_timeout_seconds", "capabilities",
                     "max_foreground_terminal_timeout_seconds", "docs", "redoc"})
    has(answer.text, '"runtime_idle_timeout_seconds":1200.0',
        '"max_foreground_terminal_timeout_seconds":1080.0')
    holds(re.search(r'"uptime":\d+\.0,"idle_time":\d+\.0,', answer.text), answer.text)
    same((info["title"], info["build_git_sha"], info["build_git_ref"], info["docs"]),
         ("OpenHands Agent Server", "abc", "unknown", "/docs"))
    same(set(s.bare.get("/").json()), set(info))
    same(info["usable_tools"], s.http.get(TOOLS).json())


@row("server info: no idle time-out", env={"OH_RUNTIME_IDLE_TIMEOUT_SECONDS": "-3"})
def _(s):
    info = s.bare.get("/server_info").json()
    same((info["runtime_idle_timeout_seconds"], info["max_foreground_terminal_timeout_seconds"]),
         (None, None))


@row("server info: calls count as activity, polls do not", slow=True)
def _(s):
    def info():
        for path in (EVENTS + "/search", "/health", TOOLS):
            same(s.http.get(path).status_code, 200)
        return s.bare.get("/server_info").json()

    same({path: s.http.get(path, params={"path": s.dir}).status_code for path in (
        "/api/file/download", "/api/git/changes")}, {"/api/file/download": 400,
                                                     "/api/git/changes": 200})
    wait_for(lambda: info()["idle_time"] >= 1, "the polls are no activity")
    s.execute("true")
    wait_for(lambda: info()["idle_time"] >= 1, "it is idle again")
    now = info()
    holds(now["uptime"] >= now["idle_time"] + 1, now)


@row("VSCode and desktop are disabled")
def _(s):
    same(s.http.get("/api/vscode/status").json(),
         {"running": False, "enabled": False, "message": "VSCode is disabled in configuration"})
    for path, text in (
            ("/api/vscode/url",
             "503: VSCode is disabled in configuration. Set enable_vscode=true to enable."),
            ("/api/desktop/url",
             "503: Desktop is disabled in configuration. Set enable_vnc=true to enable.")):
        answer = s.http.get(path)
        same((answer.status_code, answer.json()),
             (503, {"detail": "Internal Server Error", "exception": text}))


@row("the description in OpenAPI; the pages that lead to it", env={"OH_WEB_URL":
     "https://example.com/runtime/1/"})
def _(s):
    text = s.bare.get("/openapi.json").json()
    has(text, "openapi", "paths")
    same(text["servers"], [{"url": "/runtime/1"}])
    has(text["paths"], TOOLS, BASH + "start_bash_command", EVENTS + "/{event_id}")
    lacks(text["paths"], "/api/conversations", "/sockets/bash-events",
          "/api/file/upload/{path}", "/api/git/changes/{path}")
    search = text["paths"][EVENTS + "/search"]["get"]["parameters"]
    same({each["name"] for each in search if not each["required"]},
         {"kind__eq", "command_id__eq", "timestamp__gte", "timestamp__lt", "order__gt",
          "sort_order", "page_id", "limit"})
    for page in ("/docs", "/redoc"):
        same(s.bare.get(page).status_code, 200)


@row("the README's table has every route, and says which answer 501")
def _(s):
    with open(os.path.join(ROOT, "core/front/v1/README.md"), encoding="utf-8") as file:
        rows = [line for line in file if line.startswith("| ")]
    said = subprocess.run([OD, "serve", "--routes"], capture_output=True, timeout=LIMIT).stdout
    routes = [each for each in json.loads(said) if each["listener"] == "v1"]
    holds(len(routes) > 40, len(routes))
    for route in routes:
        path = route["path"]
        names = {path, path.replace("*", "{path}"), path.removesuffix("/*") + "…",
                 path.removesuffix("*") + "…", re.sub("{.*", "…", path)}
        found = [line for line in rows if any(f"{name}`" in line.split("|")[1] for name in names)]
        holds(found, path)
        if set(route["methods"]) > {"GET", "POST", "PATCH"}:
            has(found[0].split("|")[2], "501")


# --- keys


@row("keys: missing, empty and wrong are 401, each right one is not",
     env={"OH_SESSION_API_KEYS_1": "key@with#special$chars"})
def _(s):
    wrong = (None, "", KEY + "x", KEY.upper(), KEY[:-1])
    for path in (TOOLS, "/api/conversations", "/api/file/download?path=/test.txt",
                 EVENTS + "/search"):
        for key in (wrong[:1] if path != TOOLS else wrong):
            answer = s.bare.get(path, headers={HEADER: key} if key is not None else {})
            same((answer.status_code, answer.json()), (401, {"detail": "Unauthorized"}))
            lacks(answer.headers, "www-authenticate")
        for key in (KEY, "key@with#special$chars"):
            holds(s.bare.get(path, headers={HEADER: key}).status_code != 401, path)
    for name in (HEADER.lower(), HEADER.upper(), "x-Session-api-Key"):
        same(s.bare.get(TOOLS, headers={name: KEY}).status_code, 200)


@row("keys: not in a query, a cookie or a bearer token")
def _(s):
    same(s.bare.get(TOOLS, params={"session_api_key": KEY}).status_code, 401)
    same(s.bare.get(TOOLS, headers={"Cookie": f"oh_workspace_session_key={KEY}"}).status_code, 401)
    same(s.bare.get(TOOLS, headers={"Authorization": f"Bearer {KEY}"}).status_code, 401)


@row("keys: a list in one variable", key=None,
     env={"OH_SESSION_API_KEYS": '["list-key-one", "list-key-two"]'})
def _(s):
    same(s.bare.get(TOOLS).status_code, 401)
    for key in ("list-key-one", "list-key-two"):
        same(s.bare.get(TOOLS, headers={HEADER: key}).status_code, 200)
    lacks(s.bare.post(BASH + "execute_bash_command", json={"command": "env"},
                      headers={HEADER: "list-key-one"}).text, "list-key")


@row("keys: the configuration file gives those that the environment does not", key=None,
     env={"OPENHANDS_AGENT_SERVER_CONFIG_PATH": "ROOT/home/config.json"})
def _(s):
    same(s.bare.get(TOOLS).status_code, 200)  # no file: no key
    s.stop()
    with open(s.root + "/home/config.json", "w") as file:
        file.write('{"session_api_keys": ["file-key"], "max_concurrent_runs": 3}')
    s.start()
    same(s.bare.get(TOOLS).status_code, 401)
    same(s.bare.get(TOOLS, headers={HEADER: "file-key"}).status_code, 200)


@row("no key: everything is open to programs of this machine", key=None)
def _(s):
    same(s.bare.get(TOOLS).status_code, 200)
    same(s.bare.get(TOOLS, headers={HEADER: "any"}).status_code, 200)
    same(s.execute("echo yes")["stdout"], "yes\n")


@row("no key: pages of the web are refused", key=None)
def _(s):
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        answer = s.bare.get(TOOLS, headers=headers)
        same(answer.status_code, 403)
        holds(answer.json()["detail"])


# --- errors


@row("errors: no such path, other methods, a slash more or less")
def _(s):
    answer = s.http.get("/api/nothing")
    same((answer.status_code, answer.json()), (404, {"detail": "Not Found"}))
    for method in ("POST", "PUT", "DELETE", "PATCH", "FOO"):
        answer = s.http.request(method, TOOLS)
        same((answer.status_code, answer.json()), (405, {"detail": "Method Not Allowed"}), method)
        has(answer.headers["allow"], "GET")
    same(s.http.get(BASH + "start_bash_command").status_code, 405)
    same(s.http.get(EVENTS).status_code, 405)
    answer = s.http.get("/api/tools?a=b")
    same((answer.status_code, answer.headers["location"]),
         (307, s.url + TOOLS + "?a=b"))
    same(s.http.get(EVENTS + "/search/").headers["location"], s.url + EVENTS + "/search")
    same(s.http.get("/api/tools", follow_redirects=True).status_code, 200)
    holds(s.http.options(TOOLS).status_code == 405)
    same(s.bare.options(TOOLS).status_code, 405)
    same(s.bare.options("/api/nothing").status_code, 404)


@row("errors: what an agent's server has answers 501 and says where it lives")
def _(s):
    for method, path in (
            ("GET", "/api/conversations"), ("POST", "/api/conversations"),
            ("POST", "/api/conversations/x/run"), ("GET", "/api/conversations/x/events/search"),
            ("GET", "/api/conversations/x/workspace/a/b.html"), ("GET", "/api/settings"),
            ("PATCH", "/api/settings"), ("GET", "/api/settings/secrets/X"),
            ("GET", "/api/profiles"), ("GET", "/api/llm/models"), ("GET", "/v1/models"),
            ("POST", "/v1/chat/completions"), ("GET", "/api/skills"), ("GET", "/api/plugins/a"),
            ("GET", "/api/hooks"), ("GET", "/api/mcp/servers"), ("GET", "/api/workspaces"),
            ("GET", "/api/file/download-trajectory/x")):
        answer = s.http.request(method, path, json={} if method != "GET" else None)
        same(answer.status_code, 501, path)
        has(answer.json()["detail"], "agent-server", "runs the agent")
        same(s.bare.request(method, path).status_code, 401, path)


# --- CORS


def preflight(s, origin, path=TOOLS):
    return s.bare.options(path, headers={
        "Origin": origin, "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "x-session-api-key, content-type"})


ALLOWED = ("http://localhost", "http://localhost:3000", "https://127.0.0.1:9", "app://localhost",
           "https://app.example", "http://docker-host:1", "https://x.preview.example")
NOT_ALLOWED = ("https://evil.example", "null", "https://app.example.evil.example",
               "http://app.example", "https://localhost.evil.example",
               "https://xx.preview.example.evil", "http://evil.example/localhost")
CORS = {"OH_ALLOW_CORS_ORIGINS_0": "https://app.example", "DOCKER_HOST_ADDR": "docker-host",
        "OH_ALLOW_CORS_ORIGIN_REGEX": r"https://[a-z]\.preview\.example"}


@row("CORS: preflights need no key", env=CORS)
def _(s):
    for origin in ALLOWED:
        answer = preflight(s, origin)
        same((answer.status_code, answer.text), (200, "OK"), origin)
        same({name: answer.headers.get("access-control-" + name) for name in (
            "allow-origin", "allow-credentials", "allow-methods", "allow-headers", "max-age")},
            {"allow-origin": origin, "allow-credentials": "true",
             "allow-methods": "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT",
             "allow-headers": "x-session-api-key, content-type", "max-age": "600"})
        has(answer.headers["vary"], "Origin")
    for origin in NOT_ALLOWED:
        answer = preflight(s, origin)
        same((answer.status_code, answer.text), (400, "Disallowed CORS origin"), origin)
        lacks(answer.headers, "access-control-allow-origin")


@row("CORS: answers, refusals too, have the fields", env=CORS)
def _(s):
    for client, status in ((s.http, 200), (s.bare, 401)):
        for origin in ALLOWED:
            answer = client.get(TOOLS, headers={"Origin": origin})
            same((answer.status_code, answer.headers.get("access-control-allow-origin"),
                  answer.headers.get("access-control-allow-credentials")),
                 (status, origin, "true"), origin)
            has(answer.headers["vary"], "Origin")
        for origin in NOT_ALLOWED:
            answer = client.get(TOOLS, headers={"Origin": origin})
            same(answer.status_code, status)
            lacks(answer.headers, "access-control-allow-origin")
    lacks(s.http.get(TOOLS).headers, "access-control-allow-origin")
    same(s.http.get("/api/nothing", headers={"Origin": ALLOWED[0]}).headers.get(
        "access-control-allow-origin"), ALLOWED[0])


@row("CORS: workspace files and their cookie are for any site")
def _(s):
    for path in ("/api/auth/workspace-session", "/api/conversations/x/workspace",
                 "/api/conversations/x/workspace/a/b"):
        same(preflight(s, "https://any.example", path).status_code, 200)
        same(preflight(s, "null", path).status_code, 400)
    same(preflight(s, "https://any.example", "/api/conversations/x/workspaces").status_code, 400)


# --- the cookie, static files


def plain_get(s, path):
    """The status; httpx would take the dots out of the path."""
    connection = http.client.HTTPConnection("127.0.0.1", s.port, timeout=LIMIT)
    connection.request("GET", path)
    status = connection.getresponse().status
    connection.close()
    return status


@row("the cookie of workspace files")
def _(s):
    path = "/api/auth/workspace-session"
    same(s.bare.post(path).status_code, 401)
    cookie = "oh_workspace_session_key={}; HttpOnly; Max-Age={}; Path=/api/conversations; " \
        "SameSite=none; Secure; Partitioned"
    answer = s.http.post(path)
    same((answer.status_code, answer.headers["set-cookie"], answer.content),
         (204, cookie.format(KEY, 315360000), b""))
    answer = s.http.delete(path)
    same((answer.status_code, answer.headers["set-cookie"]), (204, cookie.format("", 0)))
    answer = s.http.post(path, headers={"Host": "box.example"})
    lacks(answer.headers["set-cookie"], "Secure")
    answer = s.http.post(path, headers={"Host": "box.example", "X-Forwarded-Proto": "https"})
    has(answer.headers["set-cookie"], "Secure")


@row("static files", env={"OH_STATIC_FILES_PATH": "ROOT/static"})
def _(s):
    same(s.bare.get("/static/test.txt").status_code, 404)
    same(s.bare.get("/").json()["title"], "OpenHands Agent Server")  # no folder yet
    os.makedirs(s.root + "/static/sub")
    for name, text in (("static/test.txt", "plain"), ("static/page.html", "<p>"),
                       ("static/sub/a.css", "p{}"), ("secret.txt", "secret")):
        with open(f"{s.root}/{name}", "w") as file:
            file.write(text)
    os.symlink("../secret.txt", s.root + "/static/link.txt")
    for name, kind, text in (("test.txt", "text/plain; charset=utf-8", "plain"),
                             ("page.html", "text/html; charset=utf-8", "<p>"),
                             ("sub/a.css", "text/css; charset=utf-8", "p{}")):
        answer = s.bare.get("/static/" + name)
        same((answer.status_code, answer.headers["content-type"], answer.text), (200, kind, text))
    for name in ("missing", "sub", "", "..%2Fsecret.txt", "%2E%2E/secret.txt", "link.txt",
                 "sub/../../secret.txt", "sub%00"):
        holds(plain_get(s, "/static/" + name) in (400, 404), name)
    answer = s.bare.get("/")
    same((answer.status_code, answer.headers["location"]), (302, "/static/"))
    with open(s.root + "/static/index.html", "w") as file:
        file.write("index")
    same(s.bare.get("/").headers["location"], "/static/index.html")
    for path in ("index.html", "pipe"):
        if os.path.exists(f"{s.root}/static/{path}"):
            os.remove(f"{s.root}/static/{path}")
        os.mkfifo(f"{s.root}/static/{path}")
        same(s.bare.get("/static/" + path).status_code, 404)
    same(s.bare.get("/").headers["location"], "/static/")


@row("static files: parts, what a client has, and no file is open in the worker",
     env={"OH_STATIC_FILES_PATH": "ROOT/static"}, root="reads the worker's /proc/PID/fd")
def _(s):
    os.makedirs(s.root + "/static")
    with open(s.root + "/static/f.bin", "wb") as file:
        file.write(b"0123456789")
    with open(s.root + "/static/big", "wb") as file:
        file.truncate(1 << 30)
    whole = s.bare.get("/static/f.bin")
    same((whole.content, whole.headers["accept-ranges"]), (b"0123456789", "bytes"))
    for fields in ({"If-None-Match": whole.headers["etag"]},
                   {"If-Modified-Since": whole.headers["last-modified"]}):
        answer = s.bare.get("/static/f.bin", headers=fields)
        same((answer.status_code, answer.content, answer.headers["etag"]),
             (304, b"", whole.headers["etag"]))
    answer = s.bare.get("/static/f.bin", headers={"Range": "bytes=3-5"})
    same((answer.status_code, answer.content), (206, b"345"))
    same(s.bare.get("/static/f.bin", headers={"Range": "bytes=10-"}).status_code, 416)
    answer = s.bare.head("/static/f.bin")
    same((answer.status_code, answer.headers["content-length"], answer.content), (200, "10", b""))
    folder = f"/proc/{s.worker()}/fd/"
    with s.bare.stream("GET", "/static/big") as answer:
        pieces = answer.iter_bytes(1 << 16)
        next(pieces)
        held = subprocess.run(["ls", "-l", folder], capture_output=True, timeout=LIMIT).stdout
        holds(b"socket:" in held and b"/static/big" not in held, held)
        same(s.bare.get("/alive").status_code, 200)
    same(s.actions("send"), [])


@row("static files: without a folder there are none")
def _(s):
    same(s.bare.get("/static/test.txt").status_code, 404)
    same(plain_get(s, "/static/../../../etc/passwd"), 404)


# --- deferred init


@row("deferred init: not in this mode")
def _(s):
    text = "server is not running with deferred_init=True; the /api/init endpoint is not available"
    for answer in (s.bare.get("/api/init"), s.http.post("/api/init", json={})):
        same((answer.status_code, answer.json()), (404, {"detail": text}))


DEFERRED = {"OH_DEFERRED_INIT": "1", "OH_SECRET_KEY": "the-secret"}
SECRET = {"X-Init-API-Key": "the-secret"}


@row("deferred init: 503 until it came; keys and variables count from then on", key=None,
     env=DEFERRED, slow=True)
def _(s):
    same(s.bare.get("/ready").status_code, 200)
    same(s.bare.get("/api/init").json(), {"state": "dormant", "error": None})
    answer = s.bare.get(TOOLS)
    same((answer.status_code, answer.json()["exception"]),
         (503, "503: server is in deferred-init state 'dormant'; call POST /api/init first"))
    body = {"session_api_keys": ["new-key"], "env": {"GIVEN": "value"},
            "allow_cors_origins": ["https://later.example"]}
    for headers in ({}, {"X-Init-API-Key": "wrong"}, {"X-Init-API-Key": ""}):
        same(s.bare.post("/api/init", json=body, headers=headers).status_code, 401)
    for wrong, kind in (({"unknown": 1}, "extra_forbidden"),
                        ({"max_concurrent_runs": 0}, "greater_than_equal"),
                        ({"session_api_keys": "x"}, "list_type"),
                        ({"session_api_keys": [""]}, "value_error"),
                        ({"session_api_keys": ["x" * 1025]}, "value_error"),
                        ({"session_api_keys": ["x"] * 65}, "value_error"), ({"env": {"A": 1}}, "string_type")):
        answer = s.bare.post("/api/init", json=wrong, headers=SECRET)
        same((answer.status_code, answer.json()["detail"][0]["type"]), (422, kind))
    answer = s.bare.post("/api/init", json=body, headers=SECRET)
    same((answer.status_code, answer.json()), (200, {"state": "ready", "error": None}))

    def counts():
        same(s.bare.get(TOOLS).status_code, 401)
        key = {HEADER: "new-key"}
        same(s.bare.get(TOOLS, headers=key).status_code, 200)
        seen = s.bare.post(BASH + "execute_bash_command", json={"command": "echo $GIVEN"},
                           headers=key).json()
        same(seen["stdout"], "value\n")
        same(preflight(s, "https://later.example").status_code, 200)
        same(s.bare.get("/api/init").json()["state"], "ready")
        answer = s.bare.post("/api/init", json=body, headers=SECRET)
        same((answer.status_code, answer.json()),
             (400, {"detail": "server already in state: ready"}))

    counts()
    s.kill_worker()
    counts()


@row("deferred init: a key that was removed stays so over a killed worker", key=None, env=DEFERRED)
def _(s):
    def manage(*words):
        subprocess.run([OD, "serve", *words, "--socket", s.env["OD_SOCKET"]], check=True,
                       stdout=subprocess.DEVNULL, timeout=LIMIT)

    same(s.bare.post("/api/init", json={"session_api_keys": ["gone-key"]}, headers=SECRET).status_code, 200)
    same(s.bare.get(TOOLS, headers={HEADER: "gone-key"}).status_code, 200)
    manage("--key-add", "other", "--listener", "v1@")
    manage("--key-remove", "v1")
    same(s.bare.get(TOOLS, headers={HEADER: "gone-key"}).status_code, 401)
    s.kill_worker()
    same(s.bare.get(TOOLS, headers={HEADER: "gone-key"}).status_code, 401)


@row("deferred init: a wrong key is 401 first, and the first key is the secret",
     env={"OH_DEFERRED_INIT": "true"})
def _(s):
    same(s.bare.get(TOOLS).status_code, 401)
    same(s.http.get(TOOLS).status_code, 503)
    same(s.bare.post("/api/init").status_code, 401)
    same(s.bare.post("/api/init", headers={"X-Init-API-Key": KEY}).status_code, 200)
    same(s.http.get(TOOLS).status_code, 200)


@row("deferred init: without a secret key it is open", key=None, env={"OH_DEFERRED_INIT": "yes"})
def _(s):
    same(s.bare.post("/api/init", json={}).status_code, 200)
    same(s.bare.get(TOOLS).status_code, 200)


# --- the program


class Program:
    """openhands-agent-server by a link to od, with a command line of its own."""

    def __init__(self, server, words, env):
        self.link = server.root + "/openhands-agent-server"
        if not os.path.lexists(self.link):
            os.symlink(OD, self.link)
        kept = {name: value for name, value in server.env.items() if not name.startswith("OH_")}
        self.log = server.root + "/program.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [self.link, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=server.dir, start_new_session=True,
                env={**kept, "OD_SOCKET": server.root + "/program.sock",
                     "OD_STATE_DIR": server.root + "/program", **env})

    def said(self):
        with open(self.log) as log:
            return log.read()

    def address(self):
        found = re.search(r"http v1@(\S+?:\d+)", self.said())
        return found and found[1]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT)


@row("by its name it reads the agent-server's command line")
def _(s):
    program = Program(s, ["--host", "127.0.0.1", "--port=0", "--reload", "--import-modules", "a"],
                      {"OH_SESSION_API_KEYS_0": "program-key"})
    at = "http://" + wait_for(program.address, "it listens")
    same(httpx.get(at + "/health").json(), {"status": "ok"})
    same(httpx.get(at + TOOLS).status_code, 401)
    same(httpx.get(at + TOOLS, headers={HEADER: "program-key"}).status_code, 200)
    program.end()


@row("by its name: where it listens depends on whether there is a key")
def _(s):
    for words, env, where in (
            ((), {}, "127.0.0.1:"), ((), {"OH_SESSION_API_KEYS_0": "program-key"}, "0.0.0.0:"),
            (("--host", "0.0.0.0"), {}, "0.0.0.0:")):
        program = Program(s, ["--port", "0", *words], env)
        holds(wait_for(program.address, "it listens").startswith(where), program.said())
        if words:
            has(program.said(), "warning", "no session key")
        program.end()


@row("by its name it reads the agent-server's environment")
def _(s):
    os.makedirs(s.root + "/static")
    with open(s.root + "/static/index.html", "w") as file:
        file.write("index")
    program = Program(s, ["--host", "127.0.0.1", "--port", "0"], {
        "SESSION_API_KEY": "older-key", "OH_BASH_EVENTS_DIR": "workspace/bash_events",
        "OH_STATIC_FILES_PATH": s.root + "/static", "OH_ALLOW_CORS_ORIGINS_0": "https://a.example",
        "OH_RUNTIME_IDLE_TIMEOUT_SECONDS": "100", "OPENHANDS_BUILD_GIT_REF": "a-ref",
        "OH_DEFERRED_INIT": "false", "OH_ENABLE_VNC": "false", "LOG_JSON": "true"})
    with httpx.Client(base_url="http://" + wait_for(program.address, "it listens"),
                      timeout=LIMIT) as http:
        info = http.get("/server_info").json()
        same((info["build_git_ref"], info["runtime_idle_timeout_seconds"]), ("a-ref", 100))
        same(http.get("/static/index.html").text, "index")
        same(http.get(TOOLS).status_code, 401)
        answer = http.get(TOOLS, headers={HEADER: "older-key", "Origin": "https://a.example"})
        same((answer.status_code, answer.headers["access-control-allow-origin"]),
             (200, "https://a.example"))
        same(http.post(BASH + "execute_bash_command", json={"command": "env; cd workspace && ls"},
                       headers={HEADER: "older-key"}).json()["stdout"].count("older-key"), 0)
    same(len(os.listdir(s.dir + "/workspace/bash_events")), 2)
    program.end()


@row("by its name: help and refusals")
def _(s):
    for words, status, text in ((["--help"], 0, "usage: openhands-agent-server"),
                                (["--bad"], 2, "unrecognized arguments: --bad"),
                                (["--port", "x"], 2, "invalid int value"),
                                (["--port"], 2, "expected one argument after --port")):
        program = Program(s, words, {})
        same(program.process.wait(LIMIT), status)
        has(program.said(), text)


@row("a setting that cannot be is refused by name", key=None)
def _(s):
    for name, value in (("OH_DEFERRED_INIT", "perhaps"),
                        ("OH_BASH_EVENTS_RETENTION_SECONDS", "soon")):
        program = Program(s, ["--port", "0"], {name: value})
        holds(program.process.wait(LIMIT) != 0)
        has(program.said(), name, value)
    for value in ('[""]', '["%s"]' % ("x" * 1025), json.dumps(["key"] * 33)):
        program = Program(s, ["--port", "0"], {"OH_SESSION_API_KEYS": value})
        holds(program.process.wait(LIMIT) != 0, value)
        has(program.said(), "OH_SESSION_API_KEYS", "1 to 1024 bytes")
