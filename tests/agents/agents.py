# SPDX-License-Identifier: MIT
"""Coding agents as programs: how each is configured, asked once (`words`, as in scripts) and
talked to (`talk`, as by an editor or an SDK, which can cancel).

Each has a home of its own, `od mcp` as its MCP server "computer", and the scripted model
(model.py) as its only way out. Telemetry, updates and downloads are off.
"""
import glob
import itertools
import json
import os
import signal
import subprocess
import threading
import time

from tap import LIMIT, at_end, holds, show_log, wait_for

OD, MODULES = os.environ["OD"], os.environ["MODULES"] + "/node_modules/"
NODE = os.environ["NODE"]
numbers = itertools.count(1)


def program(*patterns):
    """The first program of the packages that fits; packages are for one processor."""
    for pattern in patterns:
        for path in sorted(glob.glob(MODULES + pattern)):
            os.chmod(path, 0o755)
            return path
    raise FileNotFoundError(patterns)


class Run:
    """A process of an agent, in a group of its own; what it writes goes to a log."""

    def __init__(self, agent, words, stdin=subprocess.DEVNULL, stdout=None):
        self.log = f"{agent.home}/{agent.name}-{next(numbers)}.log"
        show_log(self.log)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                words, env=agent.env, cwd=agent.work, stdin=stdin, stdout=stdout or log,
                stderr=log, start_new_session=True)
        at_end(self.kill)

    def kill(self):
        """SIGKILL to all that it started itself; a server is in a session of its own."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def interrupt(self):
        """As Ctrl-C on a terminal: to its whole group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self):
        """Its status."""
        try:
            return self.process.wait(3 * LIMIT)
        finally:
            self.kill()

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()


class Talk(Run):
    """A conversation: lines of JSON both ways."""

    def __init__(self, agent, words):
        super().__init__(agent, words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.agent, self.seen = agent, []
        threading.Thread(target=self.listen, daemon=True).start()
        self.begin()

    def listen(self):
        with open(self.log, "ab") as log:
            for line in self.process.stdout:
                log.write(line)
                log.flush()
                try:
                    self.seen.append(json.loads(line))
                except ValueError:
                    pass

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def wait(self, fits, what):
        found = wait_for(lambda: [m for m in self.seen if fits(m)] or self.ended(), what)
        holds(found is not True, "the agent ended", what, self.said()[-3000:])
        return found[-1]

    def ended(self):
        return self.process.poll() is not None

    def ready(self):
        """Asks until the model is given the tools: an agent may be asked while it still
        connects to its servers, and connects more slowly while it answers."""
        pause, since = 0.25, len(self.agent.model.asked)
        while True:
            self.say("hello")
            self.turn_ends()
            if self.agent.model.knows("shell", since):
                return
            holds(pause < LIMIT, "the model never got the tools")
            time.sleep(pause)
            pause *= 2


class Rpc(Talk):
    version = {"jsonrpc": "2.0"}

    def ask(self, method, **params):
        """Sends a request; answer() waits for what comes of it."""
        id = next(numbers)
        self.send({**self.version, "id": id, "method": method, "params": params})
        return id

    def answer(self, id, what):
        message = self.wait(lambda m: m.get("id") == id and "method" not in m, what)
        holds("result" in message, what, message)
        return message["result"]

    def tell(self, method, **params):
        self.send({**self.version, "method": method, "params": params})


class Acp(Rpc):
    """The Agent Client Protocol: what editors speak to gemini, qwen and opencode."""

    def begin(self):
        self.answer(self.ask("initialize", protocolVersion=1, clientCapabilities={}), "initialize")
        asked = self.ask("session/new", cwd=self.agent.work, mcpServers=[])
        made = self.answer(asked, "session/new")
        self.session = made["sessionId"]

    def say(self, text):
        parts = [{"type": "text", "text": text}]
        self.turn = self.ask("session/prompt", sessionId=self.session, prompt=parts)

    def cancel(self):
        self.tell("session/cancel", sessionId=self.session)

    def turn_ends(self):
        return self.answer(self.turn, "the turn ends")["stopReason"]


class AppServer(Rpc):
    """What editors speak to codex."""

    version = {}

    def begin(self):
        who = {"name": "od-tests", "title": "od", "version": "1"}
        self.answer(self.ask("initialize", clientInfo=who), "initialize")
        self.tell("initialized")
        made = self.answer(self.ask("thread/start", cwd=self.agent.work), "thread/start")
        self.thread = made["thread"]["id"]

    def say(self, text):
        parts = [{"type": "text", "text": text}]
        begun = self.answer(self.ask("turn/start", threadId=self.thread, input=parts), "turn/start")
        self.turn = begun["turn"]["id"]

    def cancel(self):
        self.ask("turn/interrupt", threadId=self.thread, turnId=self.turn)

    def turn_ends(self):
        ended = self.wait(lambda m: m.get("method") == "turn/completed" and
                          m["params"]["turn"]["id"] == self.turn, "the turn ends")
        return ended["params"]["turn"]["status"]


class Stream(Talk):
    """What the SDK speaks to claude."""

    def begin(self):
        self.turns = 0

    def say(self, text):
        self.turns += 1
        self.send({"type": "user", "message": {"role": "user", "content": text}})

    def cancel(self):
        self.send({"type": "control_request", "request_id": f"r{next(numbers)}",
                   "request": {"subtype": "interrupt"}})

    def turn_ends(self):
        def results():
            return [m for m in self.seen if m["type"] == "result"][self.turns - 1:]

        wait_for(lambda: results() or self.ended(), "the turn ends")
        holds(results(), "the agent ended", self.said()[-3000:])
        return results()[0]["subtype"]


class Agent:
    """patience: seconds after which it gives up a call; None: its own.

    What an agent does, where they differ; each is a row of rows.py:

    deferred    tools that the model does not see before it searches for them
    also        arguments that the agent adds to a tool's schema, for itself
    longest     seconds that od lets a call of it wait
    interrupt   SIGINT stops the command in od, too; None: if the agent wrote its cancellation
                before it ended, and od read that before its own SIGINT
    cancel      a cancelled turn does
    gives_up    when its patience is over: "goes on" or "stops" is the command; "waits":
                progress keeps it patient
    """

    deferred, also, longest = (), {}, 50
    interrupt, cancel, gives_up = False, True, "goes on"

    def __init__(self, model, patience=None):
        self.model, self.patience = model, patience
        self.root = os.environ["T"]
        self.home = f"{self.root}/{self.name}-home{next(numbers)}"
        self.work = self.root + "/work"
        os.makedirs(self.home)
        os.makedirs(self.work, exist_ok=True)
        self.server = {name: os.environ[name] for name in ("OD_SOCKET", "OD_STATE_DIR")}
        self.env = {"PATH": os.environ["PATH"], "HOME": self.home, "TMPDIR": os.environ["TMPDIR"],
                    "LANG": "C.UTF-8", "TERM": "xterm-256color", "NO_COLOR": "1", **self.server}
        self.configure()

    def write(self, path, content):
        path = f"{self.home}/{path}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content, indent=1))
        return path

    def run(self, text):
        return Run(self, self.words(text))

    def talk(self):
        return self.conversation(self, self.talking())


class Claude(Agent):
    name, conversation = "claude", Stream
    prefix, longest = "mcp__computer__", 240
    deferred = ("write", "python", "browse", "browser_act", "sessions")

    def configure(self):
        self.env.update(ANTHROPIC_BASE_URL=self.model.url, ANTHROPIC_API_KEY="none",
                        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_AUTOUPDATER="1")
        if self.patience:
            self.env["MCP_TOOL_TIMEOUT"] = str(self.patience * 1000)
        self.config = self.write("mcp.json", {"mcpServers": {"computer": {
            "command": OD, "args": ["mcp"]}}})
        self.program = [program("@anthropic-ai/claude-code-linux-*/claude"), "-p", "--mcp-config",
                        self.config, "--strict-mcp-config", "--allowedTools", "mcp__computer",
                        "--verbose", "--output-format", "stream-json"]

    def words(self, text):
        return [*self.program, text]

    def talking(self):
        return [*self.program, "--input-format", "stream-json"]


class Codex(Agent):
    name, conversation = "codex", AppServer
    prefix, interrupt, gives_up = "mcp__computer.", True, "stops"

    def configure(self):
        server = "".join(f"{name} = {json.dumps(value)}\n" for name, value in self.server.items())
        limit = f"tool_timeout_sec = {self.patience}\n" if self.patience else ""
        self.write(".codex/config.toml", f"""
model = "gpt-5.2"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "{self.model.url}/v1"
wire_api = "responses"
[mcp_servers.computer]
command = "{OD}"
args = ["mcp"]
{limit}[mcp_servers.computer.env]
{server}""")
        self.program = program("@openai/codex-linux-*/vendor/*/bin/codex")

    def words(self, text):
        return [self.program, "exec", "--skip-git-repo-check", "--json", text]

    def talking(self):
        return [self.program, "app-server"]


def settings(agent, auth, **more):
    """Those of gemini, and of qwen, which came from it."""
    limit = {"timeout": agent.patience * 1000} if agent.patience else {}
    return {"mcpServers": {"computer": {"command": OD, "args": ["mcp"], "env": agent.server,
                                        "trust": True, **limit, **more}},
            "security": {"auth": {"selectedType": auth}, "folderTrust": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False}}


class Gemini(Agent):
    name, conversation = "gemini", Acp
    prefix, cancel, longest = "mcp_computer_", False, 240
    also = {"wait_for_previous": True}

    def configure(self):
        self.env.update(GEMINI_API_KEY="none", GOOGLE_GEMINI_BASE_URL=self.model.url,
                        GEMINI_CLI_NO_RELAUNCH="true")
        self.write(".gemini/settings.json", settings(self, "gemini-api-key"))
        self.program = [NODE, program("@google/gemini-cli/bundle/gemini.js"), "-m",
                        "gemini-2.5-flash", "--skip-trust"]

    def words(self, text):
        return [*self.program, "-o", "stream-json", "-p", text]

    def talking(self):
        return [*self.program, "--acp"]


class Qwen(Agent):
    name, conversation = "qwen", Acp
    prefix, longest, interrupt = "mcp__computer__", 240, None

    def configure(self):
        self.env.update(OPENAI_API_KEY="none", OPENAI_BASE_URL=self.model.url + "/v1",
                        OPENAI_MODEL="qwen3-vl-plus",
                        QWEN_CODE_LEGACY_MCP_BLOCKING="1")  # `qwen -p` connects first
        self.write(".qwen/settings.json", settings(self, "openai", alwaysLoadTools=True))
        self.program = [NODE, program("@qwen-code/qwen-code/cli-entry.js")]

    def words(self, text):
        return [*self.program, "-o", "stream-json", "-p", text]

    def talking(self):
        return [*self.program, "--acp"]


class Opencode(Agent):
    name, conversation = "opencode", Acp
    prefix, gives_up = "computer_", "waits"

    def configure(self):
        self.env.update(OPENCODE_DISABLE_AUTOUPDATE="1", OPENCODE_DISABLE_MODELS_FETCH="1",
                        OPENCODE_DISABLE_LSP_DOWNLOAD="1", OPENCODE_DISABLE_DEFAULT_PLUGINS="1")
        model = {"name": "one", "tool_call": True, "attachment": True,
                 "modalities": {"input": ["text", "image"], "output": ["text"]},
                 "limit": {"context": 200000, "output": 8000}}
        limit = {"timeout": self.patience * 1000} if self.patience else {}
        self.write(".config/opencode/opencode.json", {
            "autoupdate": False, "share": "disabled", "model": "scripted/one",
            "small_model": "scripted/one",
            "provider": {"scripted": {
                "npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": {"one": model},
                "options": {"baseURL": self.model.url + "/v1", "apiKey": "none"}}},
            "mcp": {"computer": {"type": "local", "command": [OD, "mcp"], "enabled": True,
                                 "environment": self.server, **limit}}})
        self.program = program("opencode-linux-*/bin/opencode")

    def words(self, text):
        return [self.program, "run", "--format", "json", text]

    def talking(self):
        return [self.program, "acp"]


AGENTS = {kind.name: kind for kind in (Claude, Codex, Gemini, Qwen, Opencode)}
