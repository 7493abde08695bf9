# SPDX-License-Identifier: MIT
"""A client of the V0 API, written from its contract and never from the server.

It is as strict and as forgiving as the client that agents run: one pool of
connections is kept for all servers; an answer that was cut off is asked for
again, five times, and a 429 three times; an action may take its timeout and
five seconds; every key of `extras` becomes an argument of a constructor, so a
key too many is an exception. Nothing here waits except for the server.

    box = Box("http://127.0.0.1:3000")
    box.wait_until_alive()
    seen = box.run("make", timeout=60)      # Ran, or Failed for an `error`
    box.copy_to("dir", "/workspace", recursive=True)
"""
import dataclasses
import itertools
import json
import os
import pathlib
import tempfile
import time
import zipfile

import httpx

MAX_SHOWN = 30000
CUT = "\n[... Observation truncated due to length ...]\n"
ACTION_TIMEOUT = 120.0
AGAIN_AFTER_CUT = 5
AGAIN_AFTER_429 = 3

# One pool for all servers. No test needs TLS, nor a proxy of the environment.
pool = httpx.Client(trust_env=False, verify=False, timeout=30)


class Refused(Exception):
    """An answer of 400 and more, with what the server said."""

    def __init__(self, response):
        self.status = response.status_code
        try:
            self.body = response.json()
            self.detail = self.body.get("detail", "")
        except (ValueError, AttributeError):
            self.body, self.detail = response.content, ""
        super().__init__(f"{self.status}: Details: {self.detail}")


@dataclasses.dataclass
class Metadata:
    """What the prompt said. Other keys than these are passed over."""

    exit_code: int = -1
    pid: int = -1
    username: str | None = None
    hostname: str | None = None
    working_dir: str | None = None
    py_interpreter_path: str | None = None
    prefix: str = ""
    suffix: str = ""

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type is int and type(value) is not int:
                raise TypeError(f"metadata.{field.name} is {value!r}")
            if field.type is not int and not isinstance(value, str):
                if value is not None or field.type is str:
                    raise TypeError(f"metadata.{field.name} is {value!r}")


def metadata(given):
    known = {field.name for field in dataclasses.fields(Metadata)}
    return Metadata(**{key: value for key, value in given.items() if key in known})


def shortened(text):
    """The client cuts too, whatever the server did."""
    if len(text) <= MAX_SHOWN:
        return text
    return text[: MAX_SHOWN // 2] + CUT + text[-(MAX_SHOWN // 2) :]


class Ran:
    """`run`: the one kind that swallows arguments it does not know."""

    def __init__(self, content, command, metadata=None, hidden=False, **other):
        self.sent = content
        self.content = content if hidden else shortened(content)
        self.command, self.hidden, self.other = command, hidden, other
        self.metadata = metadata or Metadata()
        if "exit_code" in other:
            self.metadata.exit_code = other["exit_code"]

    exit_code = property(lambda self: self.metadata.exit_code)
    prefix = property(lambda self: self.metadata.prefix)
    suffix = property(lambda self: self.metadata.suffix)

    def __repr__(self):
        text = self.content
        if len(text) > 600:
            text = f"{text[:300]}[{len(text) - 600} more]{text[-300:]}"
        return f"Ran({self.command!r}, {text!r}, {self.metadata})"


@dataclasses.dataclass
class RanCell:
    content: str
    code: str
    image_urls: list | None = None


@dataclasses.dataclass
class Read:
    content: str
    path: str
    impl_source: str = "default"


@dataclasses.dataclass
class Written:
    content: str
    path: str


@dataclasses.dataclass
class Edited:
    content: str = ""
    path: str = ""
    prev_exist: bool = False
    old_content: str | None = None
    new_content: str | None = None
    impl_source: str = "llm_based_edit"
    diff: str | None = None
    _diff_cache: str | None = None


@dataclasses.dataclass
class Browsed:
    content: str
    url: str
    trigger_by_action: str
    screenshot: str = ""
    screenshot_path: str | None = None
    set_of_marks: str = ""
    error: bool = False
    goal_image_urls: list = dataclasses.field(default_factory=list)
    open_pages_urls: list = dataclasses.field(default_factory=list)
    active_page_index: int = -1
    dom_object: dict = dataclasses.field(default_factory=dict)
    axtree_object: dict = dataclasses.field(default_factory=dict)
    extra_element_properties: dict = dataclasses.field(default_factory=dict)
    last_browser_action: str = ""
    last_browser_action_error: str = ""
    focused_element_bid: str = ""
    filter_visible_only: bool = False


@dataclasses.dataclass
class Downloaded:
    content: str
    file_path: str


@dataclasses.dataclass
class Failed:
    content: str
    error_id: str = ""


@dataclasses.dataclass
class McpAnswer:
    content: str
    name: str = ""
    arguments: dict = dataclasses.field(default_factory=dict)


KINDS = {
    "run": Ran,
    "run_ipython": RanCell,
    "read": Read,
    "write": Written,
    "edit": Edited,
    "browse": Browsed,
    "download": Downloaded,
    "error": Failed,
    "mcp": McpAnswer,
}


def observation(answer):
    """An observation from an answer, or an exception if it cannot be made."""
    answer = dict(answer)
    kind = KINDS[answer.pop("observation")]
    content = answer.pop("content")
    if not isinstance(content, str):
        raise TypeError(f"content is {content!r}")
    extras = dict(answer.pop("extras", {}))
    if kind is Ran and isinstance(extras.get("metadata"), dict):
        extras["metadata"] = metadata(extras["metadata"])
    return kind(content=content, **extras)


class Box:
    """A server and what is done with it. `again_after` is the pause in seconds
    before an attempt that follows a failed one; with 0 it comes at once."""

    ids = itertools.count(1)

    def __init__(self, url, key=None, again_after=0):
        self.url, self.again_after = url.rstrip("/"), again_after
        self.headers = {"X-Session-API-Key": key} if key else {}
        self.cuts = self.sent = 0
        self.answer = None

    # --- HTTP

    def trace(self, event, _):
        """Counts the requests of which every byte was written."""
        self.sent += event.endswith("send_request_body.complete")

    def ask(self, method, path, timeout, **how):
        """One request. Cut off: again, the same bytes. Then Refused, or the response."""
        cuts = busy = 0
        while True:
            try:
                response = pool.request(
                    method, self.url + path, headers=self.headers, timeout=timeout,
                    extensions={"trace": self.trace}, **how
                )
            except httpx.RemoteProtocolError:
                cuts += 1
                self.cuts += 1
                if cuts >= AGAIN_AFTER_CUT:
                    raise
            else:
                if response.status_code < 400:
                    return response
                if response.status_code != 429 or (busy := busy + 1) >= AGAIN_AFTER_429:
                    raise Refused(response)
            time.sleep(self.again_after)

    def is_alive(self):
        try:
            return self.ask("GET", "/alive", 5).status_code < 300
        except (httpx.TransportError, Refused):
            return False

    def wait_until_alive(self, seconds=120, every=2.0):
        end = time.monotonic() + seconds
        while not self.is_alive():
            if time.monotonic() > end:
                raise TimeoutError(f"{self.url} is not alive after {seconds} seconds")
            time.sleep(every)

    def server_info(self):
        return self.ask("GET", "/server_info", 10).json()

    # --- actions

    def event(self, action, args, timeout=ACTION_TIMEOUT, **top):
        """The event as the client writes it; `top` are keys beside `args`."""
        every = {"thought": "", "security_risk": -1}
        if action in ("run", "run_ipython"):
            every["confirmation_state"] = "confirmed"
        event = {
            "id": next(self.ids),
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000001"),
            "source": "agent",
            "message": f"Running {action}",
            "action": action,
            "args": {**args, **every},
            "timeout": float(timeout),
        }
        return {**event, **top}

    def act(self, event):
        """Executes it; the answer as it came is in self.answer."""
        timeout = event.get("timeout") or ACTION_TIMEOUT
        response = self.ask(
            "POST", "/execute_action", timeout + 5, json={"action": event}
        )
        self.answer = response.json()
        return observation(self.answer)

    def run_event(self, command, timeout=ACTION_TIMEOUT, top=None, **args):
        plain = {
            "command": command,
            "is_input": False,
            "blocking": False,
            "is_static": False,
            "cwd": None,
            "hidden": False,
        }
        return self.event("run", {**plain, **args}, timeout, **(top or {}))

    def run(self, command, timeout=ACTION_TIMEOUT, **args):
        return self.act(self.run_event(command, timeout, **args))

    def input(self, text, timeout=ACTION_TIMEOUT):
        return self.run(text, timeout, is_input=True)

    def poll(self, timeout=ACTION_TIMEOUT):
        return self.run("", timeout)

    def read(self, path, start=0, end=-1):
        plain = {"path": path, "start": start, "end": end}
        return self.act(
            self.event("read", {**plain, "impl_source": "default", "view_range": None})
        )

    def write(self, path, content, start=0, end=-1):
        plain = {"path": path, "content": content, "start": start, "end": end}
        return self.act(self.event("write", plain))

    # --- files

    def copy_to(self, source, destination, recursive=False):
        """A file, or a folder as an archive that is stored and has files only,
        named from the folder's parent."""
        if not os.path.exists(source):
            raise FileNotFoundError(f"Source file {source} does not exist")
        if not recursive:
            with open(source, "rb") as file:
                return self.upload(os.path.basename(source), file, destination)
        with tempfile.NamedTemporaryFile(suffix=".zip") as file:
            zip_folder(source, file)
            file.seek(0)
            return self.upload(os.path.basename(file.name), file, destination, True)

    def upload(self, name, file, destination, recursive=False):
        return self.ask(
            "POST",
            "/upload_file",
            300,
            params={"destination": destination, "recursive": str(recursive).lower()},
            files={"file": (name, file)},
        ).json()

    def copy_from(self, path, chunk=64 * 1024):
        """A file that holds whatever the answer was: nobody looks at its status."""
        with pool.stream(
            "GET",
            self.url + "/download_files",
            params={"path": path},
            headers=self.headers,
            timeout=30,
        ) as response:
            with tempfile.NamedTemporaryFile(suffix=".zip", delete=False) as file:
                for part in response.iter_bytes(chunk):
                    file.write(part)
        return pathlib.Path(file.name)

    def list_files(self, path=None):
        given = {} if path is None else {"path": path}
        names = self.ask("POST", "/list_files", 10, json=given).json()
        if not isinstance(names, list):
            raise TypeError(f"a list of names, not {names!r}")
        return names

    # --- what is done after connecting

    def add_env_vars(self, variables):
        """For the shell and for those to come; both must succeed."""
        if not variables:
            return
        pairs = {name.upper(): json.dumps(value) for name, value in variables.items()}
        now = " ".join(f"export {name}={value};" for name, value in pairs.items())
        later = "touch ~/.bashrc; " + " ".join(
            f'grep -q "^export {name}=" ~/.bashrc || echo "export {name}={value}"'
            " >> ~/.bashrc;"
            for name, value in pairs.items()
        )
        for command in (now, later):
            seen = self.run(command)
            if not isinstance(seen, Ran) or seen.exit_code != 0:
                raise RuntimeError(f"Failed to add env vars: {seen!r}")

    def set_up(self, variables=None, startup=None):
        self.add_env_vars(variables or {})
        self.add_env_vars(startup or {})
        return self.run(
            'git config --global user.name "openhands" && '
            'git config --global user.email "openhands@all-hands.dev"'
        )


def zip_folder(source, file):
    parent = os.path.dirname(os.path.abspath(source))
    with zipfile.ZipFile(file, "w") as archive:
        for folder, _, names in os.walk(source):
            for name in names:
                whole = os.path.join(folder, name)
                archive.write(whole, os.path.relpath(whole, parent))
