# SPDX-License-Identifier: MIT
"""The fixed texts of the V0 API, and checks of an observation with them."""
from tap import has, holds, same, wait_for
from v0_client import Failed, Ran

HINT = (
    "You may wait longer to see additional output by sending empty command '', "
    "send other commands to interact with the current process, "
    'send keys ("C-c", "C-z", "C-d") to interrupt/kill the previous command '
    "before sending your new command, or use the timeout parameter in execute_bash "
    "for future commands."
)
BELOW = "[Below is the output of the previous command.]\n"
NOTHING_RUNS = "ERROR: No previous running command to retrieve logs from."
NOTHING_TO_TYPE_INTO = "ERROR: No previous running command to interact with."
STILL_RUNNING = "The previous command is still running"
TRUNCATED = "Previous command outputs are truncated"
MANY = """ERROR: Cannot execute multiple commands at once.
Please run each command separately OR chain them into a single command via && or ;
Provided commands:
"""


def completed(status, key=None):
    sent = f" CTRL+{key} was sent." if key else ""
    return f"\n[The command completed with exit code {status}.{sent}]"


def quiet(seconds):
    return f"\n[The command has no new output after {seconds} seconds. {HINT}]"


def timed_out(seconds):
    return f"\n[The command timed out after {float(seconds)} seconds. {HINT}]"


def refused(command):
    return (
        f'\n[Your command "{command}" is NOT executed. The previous command is still '
        "running - You CANNOT send new commands until the previous command is completed. "
        "By setting `is_input` to `true`, you can interact with the current process: "
        f"{HINT}]"
    )


def ended(seen, status=0, content=None, key=None):
    """It completed, now or before: its status, and its output to the letter."""
    holds(isinstance(seen, Ran), seen)
    same(seen.exit_code, status, f"exit code of {seen!r}:")
    same(seen.suffix, completed(status, key), "suffix")
    if content is not None:
        same(seen.content, content, "content")
    return seen


def goes_on(seen, suffix, content=None, prefix=""):
    holds(isinstance(seen, Ran), seen)
    same(seen.suffix, suffix, "suffix")
    same(seen.exit_code, -1, f"exit code of {seen!r}:")
    same(seen.prefix, prefix, "prefix")
    if content is not None:
        same(seen.content, content, "content")
    return seen


def shows(box, seen, text, timeout=1):
    """A program that goes on shows `text`, at once or to those who look again."""
    got = [seen.content]

    def there():
        if text not in "".join(got):
            again = goes_on(box.poll(timeout), timed_out(timeout), prefix=BELOW)
            got.append(again.content)
        return text in "".join(got)

    wait_for(there, f"{text} is shown")


def many(seen, *commands):
    """Refused as more than one command."""
    holds(isinstance(seen, Failed), seen)
    has(seen.content, MANY)
    for number, command in enumerate(commands, 1):
        has(seen.content, f"({number}) {command}")
    return seen
