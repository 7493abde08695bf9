# SPDX-License-Identifier: MIT
"""A model that plays scripts, on a port of loopback, in the four dialects that agents
speak: Anthropic's messages, OpenAI's responses and chat completions, Gemini's content.

    model = Model()
    model.plays["tour"] = [Call("shell", command="echo hi"), Call("read", path="x.png")]
    ... an agent is asked "play tour", and does what the script says ...
    model.results("tour")[0].text

A request is answered by what it has: the last "play NAME" of a user chooses the script, and
the number of results after it the step. After the last step the model says "played NAME".
Whatever else an agent asks (titles, summaries) gets a short text. Every request is kept.
The tools are those of a server that the agent knows as "computer".
"""
import base64
import http.server
import itertools
import json
import re
import threading
import traceback

PLAY = re.compile(r"\bplay ([a-z]+)\b")
numbers = itertools.count(1)


class Call:
    """A step: the tool's name as od has it, and its arguments. before() is called when the
    model is asked for it, so when the agent waits for nothing else."""

    def __init__(self, tool, before=None, **arguments):
        self.tool, self.before, self.arguments = tool, before, arguments


class Result:
    """What the model is given of a call."""

    def __init__(self):
        self.text, self.pictures, self.error = "", [], False

    def __repr__(self):
        pictures = f" and {len(self.pictures)} pictures" if self.pictures else ""
        return f"{'ERROR ' if self.error else ''}{self.text!r}{pictures}"

    def add(self, text):
        self.text += ("\n" if self.text and text else "") + text


class Tool:
    def __init__(self, name, about, schema, group=None, strict=None):
        self.name, self.about, self.schema = name, about or "", schema or {}
        self.group, self.strict = group, strict


class Asked:
    """A request, whatever its dialect: tools, the script's name, results since then."""

    def __init__(self, path, body):
        self.path, self.body = path, body
        self.tools, self.play, self.results = {}, None, []

    def user(self, text):
        found = PLAY.findall(text)
        if found:
            self.play, self.results = found[-1], []

    def tool(self, *what, **more):
        tool = Tool(*what, **more)
        self.tools[tool.name] = tool


def picture(url):
    """The bytes of a data: URL."""
    return base64.b64decode(url.partition("base64,")[2])


# --- each dialect: what a request has, and the lines of an answer


class Anthropic:
    @staticmethod
    def read(asked):
        for tool in asked.body.get("tools", ()):
            asked.tool(tool["name"], tool.get("description"), tool.get("input_schema"),
                       strict=tool.get("strict"))
        for message in asked.body["messages"]:
            blocks = message["content"]
            if isinstance(blocks, str):
                blocks = [{"type": "text", "text": blocks}]
            for block in blocks:
                if block["type"] == "text" and message["role"] == "user":
                    asked.user(block["text"])
                elif block["type"] == "tool_result":
                    asked.results.append(Anthropic.result(block))

    @staticmethod
    def result(block):
        result = Result()
        result.error = bool(block.get("is_error"))
        content = block.get("content") or ""
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text":
                result.add(part["text"])
            elif part["type"] == "image":
                result.pictures.append(base64.b64decode(part["source"]["data"]))
        return result

    @staticmethod
    def answer(asked, tool, arguments, text):
        usage = {"input_tokens": 9, "output_tokens": 9}
        start = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": text}
        if tool:
            start = {"type": "tool_use", "id": f"toolu_{next(numbers)}", "name": tool.name,
                     "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        message = {"id": f"msg_{next(numbers)}", "type": "message", "role": "assistant",
                   "model": asked.body["model"], "content": [], "stop_reason": None,
                   "stop_sequence": None}
        if not asked.body.get("stream"):
            whole = {**message, "content": [{**start, "text": text}], "stop_reason": "end_turn"}
            return [{**whole, "usage": usage}]
        stop = {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None}
        return [{"type": "message_start", "message": {**message, "usage": usage}},
                {"type": "content_block_start", "index": 0, "content_block": start},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": stop, "usage": usage},
                {"type": "message_stop"}]


class Responses:
    @staticmethod
    def read(asked):
        for tool in asked.body.get("tools", ()):
            for each in tool.get("tools", [tool]):
                if each.get("type", "function") == "function":
                    group = tool["name"] if tool["type"] == "namespace" else None
                    name = f"{group}.{each['name']}" if group else each["name"]
                    asked.tool(name, each.get("description"), each.get("parameters"), group=group,
                               strict=each.get("strict"))
        for item in asked.body["input"]:
            if item["type"] == "message" and item["role"] == "user":
                for part in item["content"]:
                    asked.user(part.get("text", ""))
            elif item["type"] == "function_call_output":
                asked.results.append(Responses.result(item["output"]))

    @staticmethod
    def result(output):
        result = Result()
        for part in [{"type": "input_text", "text": output}] if isinstance(output, str) else output:
            if part["type"] == "input_image":
                result.pictures.append(picture(part["image_url"]))
            else:
                result.add(part.get("text", ""))
        return result

    @staticmethod
    def answer(asked, tool, arguments, text):
        said = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": f"msg_{next(numbers)}", "role": "assistant",
                "status": "completed", "content": [said]}
        if tool:
            item = {"type": "function_call", "id": f"fc_{next(numbers)}", "status": "completed",
                    "call_id": f"call_{next(numbers)}", "arguments": json.dumps(arguments),
                    "name": tool.name}
            if tool.group:
                item.update(namespace=tool.group, name=tool.name.partition(".")[2])
        response = {"id": f"resp_{next(numbers)}", "object": "response", "status": "completed",
                    "model": asked.body["model"], "output": [item],
                    "usage": {"input_tokens": 9, "input_tokens_details": None, "output_tokens": 9,
                              "output_tokens_details": None, "total_tokens": 18}}
        if not asked.body.get("stream"):
            return [response]
        return [{"type": "response.created", "response": {**response, "status": "in_progress"}},
                {"type": "response.output_item.added", "output_index": 0, "item": item},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": response}]


class Chat:
    @staticmethod
    def read(asked):
        for tool in asked.body.get("tools", ()):
            about = tool["function"]
            asked.tool(about["name"], about.get("description"), about.get("parameters"),
                       strict=about.get("strict"))
        for message in asked.body["messages"]:
            content = message.get("content") or ""
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if message["role"] == "tool":
                asked.results.append(Result())
            for part in parts:
                if part["type"] == "image_url" and asked.results:  # also as a user's message
                    asked.results[-1].pictures.append(picture(part["image_url"]["url"]))
                elif message["role"] == "tool":
                    asked.results[-1].add(part.get("text", ""))
                elif message["role"] == "user":
                    asked.user(part.get("text", ""))

    @staticmethod
    def answer(asked, tool, arguments, text):
        message = {"role": "assistant", "content": text}
        if tool:
            called = {"name": tool.name, "arguments": json.dumps(arguments)}
            message = {"role": "assistant", "content": None, "tool_calls": [
                {"index": 0, "id": f"call_{next(numbers)}", "type": "function",
                 "function": called}]}
        end = "tool_calls" if tool else "stop"
        whole = {"id": f"chat_{next(numbers)}", "created": 1, "model": asked.body["model"],
                 "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}}
        if not asked.body.get("stream"):
            return [{**whole, "object": "chat.completion",
                     "choices": [{"index": 0, "message": message, "finish_reason": end}]}]
        whole["object"] = "chat.completion.chunk"
        return [{**whole, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                {**whole, "choices": [{"index": 0, "delta": {}, "finish_reason": end}]}, "[DONE]"]


class Gemini:
    @staticmethod
    def read(asked):
        for tool in asked.body.get("tools", ()):
            for each in tool.get("functionDeclarations", ()):
                schema = each.get("parametersJsonSchema") or each.get("parameters")
                asked.tool(each["name"], each.get("description"), schema)
        for content in asked.body.get("contents", ()):
            for part in content["parts"]:
                if "functionResponse" in part:
                    asked.results.append(Gemini.result(part["functionResponse"]))
                elif "inlineData" in part and asked.results:
                    asked.results[-1].pictures.append(base64.b64decode(part["inlineData"]["data"]))
                elif content.get("role") == "user":
                    asked.user(part.get("text", ""))

    @staticmethod
    def result(response):
        result = Result()
        given = response["response"]
        result.error = "error" in given
        result.add(str(given.get("error", given.get("output", ""))))
        for part in response.get("parts", ()):
            if "inlineData" in part:
                result.pictures.append(base64.b64decode(part["inlineData"]["data"]))
        return result

    @staticmethod
    def answer(asked, tool, arguments, text):
        part = {"text": text}
        if tool:
            part = {"functionCall": {"id": f"call_{next(numbers)}", "name": tool.name,
                                     "args": arguments}}
        return [{"candidates": [{"index": 0, "finishReason": "STOP",
                                 "content": {"role": "model", "parts": [part]}}],
                 "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 9,
                                   "totalTokenCount": 18}}]


def dialect(path):
    for end, kind in (("/messages", Anthropic), ("/responses", Responses),
                      ("/chat/completions", Chat), (":streamGenerateContent", Gemini),
                      (":generateContent", Gemini)):
        if path.partition("?")[0].endswith(end):
            return kind
    return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kind = dialect(self.path)
        try:
            if self.path.partition("?")[0].endswith((":countTokens", "/count_tokens")):
                self.reply(200, "application/json", b'{"totalTokens": 9, "input_tokens": 9}')
                return
            if not kind:
                self.server.model.strangers.append(f"{self.command} {self.path}")
                self.reply(404, "application/json", b'{"error": {"message": "not here"}}')
                return
            asked = Asked(self.path, json.loads(body))
            lines = self.server.model.answer(kind, asked)
            if asked.body.get("stream") or "streamGenerate" in self.path:
                self.reply(200, "text/event-stream", b"".join(map(event, lines)))
            else:
                self.reply(200, "application/json", json.dumps(lines[0]).encode())
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # an agent that ended
        except Exception:
            self.server.model.faults.append(traceback.format_exc())
            self.reply(500, "application/json", b'{"error": {"message": "the test has a fault"}}')

    do_GET = do_HEAD = do_PUT = do_POST


def event(line):
    if isinstance(line, str):
        return f"data: {line}\n\n".encode()
    name = f"event: {line['type']}\n" if "type" in line else ""
    return f"{name}data: {json.dumps(line)}\n\n".encode()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A connection that its agent broke; all else is in Model.faults."""


class Model:
    def __init__(self):
        self.plays, self.asked = {}, []
        self.strangers, self.faults, self.missing = [], [], []  # requests, traces, tools
        self.lock = threading.Lock()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.model = self
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, kind, asked):
        kind.read(asked)
        with self.lock:
            self.asked.append(asked)
        script, step = self.plays.get(asked.play), len(asked.results)
        if script is None or not asked.tools:
            return kind.answer(asked, None, None, "A short text")
        if step >= len(script):
            return kind.answer(asked, None, None, f"played {asked.play}")
        call = script[step]
        if call.before:
            call.before()
        tools = self.names(asked, call.tool)
        if not tools:
            self.missing.append(call.tool)
            return kind.answer(asked, None, None, f"there is no tool {call.tool}")
        return kind.answer(asked, tools[0], call.arguments, "")

    def knows(self, name, since):
        """Did a request after the first `since` have this tool? Those for titles and
        proposals have others."""
        with self.lock:
            return any(self.names(each, name) for each in self.asked[since:])

    @staticmethod
    def names(asked, name):
        """The tool as its agent has named it, in a list."""
        return [each for each in asked.tools.values()
                if re.search(rf"computer(__|_|\.){name}$", each.name)]

    def played(self, name):
        """The requests of a play."""
        with self.lock:
            return [each for each in self.asked if each.play == name and each.tools]

    def results(self, name):
        return max((each.results for each in self.played(name)), key=len, default=[])
