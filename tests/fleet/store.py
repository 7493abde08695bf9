# SPDX-License-Identifier: MIT
"""store.py WHAT..., run in a dispatcher's pod: its store, by its own class.

    ask COUNT SANDBOX...    stores COUNT actions for each; each adds its number to a file
    left                    prints the number of actions without an observation
    stale SANDBOX FENCE     prints what an event gets that is put with this fence
    last SANDBOX            prints the number of its last event
    check SANDBOX...        prints what is wrong: with events, each once and in order from
                            the first one on, and with observations, one for each action
"""
import collections
import json
import os
import sys

sys.path.insert(0, "/usr/local/bin")
import dispatcher  # pylint: disable=wrong-import-position

store = dispatcher.Store(os.environ["BUS_STORE"])


def rows(words, *values):
    return store.db.execute(words, values).fetchall()


def ask(count, *sandboxes):
    for _ in range(int(count)):
        for sandbox in sandboxes:
            (number,), = rows("SELECT count(*) FROM actions WHERE sandbox = ?", sandbox)
            store.ask(sandbox, f"sleep 0.2; echo {number} >>/workspace/ran")


def left():
    print(*rows("SELECT count(*) FROM actions WHERE NOT done")[0])


def stale(sandbox, fence):
    try:
        print("stored up to", store.put(sandbox, int(fence), [(1 << 40, "{}")]))
    except dispatcher.Fenced as behind:
        print("refused, behind by", *behind.args)


def last(sandbox):
    print(*rows("SELECT max(id) FROM events WHERE sandbox = ?", sandbox)[0])


def check(*sandboxes):
    for sandbox in sandboxes:
        found = rows("SELECT id, line FROM events WHERE sandbox = ? ORDER BY rowid", sandbox)
        if [at for at, _ in found] != list(range(1, len(found) + 1)):
            print(sandbox, "has the events", [at for at, _ in found])
        events = [json.loads(line) for _, line in found]
        seen = collections.Counter(e["client_id"] for e in events
                                   if "cause" in e and e.get("client_id", "").startswith("c-"))
        asked = [name for name, in rows("SELECT client_id FROM actions WHERE sandbox = ?", sandbox)]
        if sorted(seen.elements()) != sorted(asked):
            print(sandbox, "has for", len(asked), "actions the observations", seen)


globals()[sys.argv[1]](*sys.argv[2:])
