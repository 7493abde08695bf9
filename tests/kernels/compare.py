#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The same cells through ipykernel and through the embedded kernel.

    compare.py [-v]     with $OD and a server that runs ($OD_SOCKET)

What each says (text, pictures, how it ended) is compared to the byte; only the
heading `Cell In [N]` of IPython before 8.7 is made the later one's. Prints each
difference with its reason as a table in Markdown; exit status 1 if fewer than nine
in ten are equal, or if a difference has no reason here.
"""
import json
import os
import re
import subprocess
import sys

CELLS = r'''
1 + 1
---
x = 5
x
---
_ + 1
---
print("a"); print("b")
3
---
"text"
---
None
---
5;
---
5; # with a comment
---
list(range(100))
---
{"key %d" % i: list(range(i)) for i in range(12)}
---
{"b": 1, "a": {"z": (1, 2), "y": {3, 4}}}
---
(1,)
---
set("abcab") == {"a", "b", "c"}
---
1.5, 1e100, float("nan"), 2 + 3j, b"bytes", True
---
"long text " * 30
---
int
---
len
---
def f(a, b=1, *args, c=2, **kw):
    """Says what it is."""
    y = a / b
    return y
f
---
class A:
    def __repr__(self): return "an A"
A(), [A()] * 3
---
A
---
1/0
---
f(1, 0)
---
def g(n):
    if n == 0:
        raise ValueError("deep")
    return g(n - 1)

g(2)
---
try:
    {}["a"]
except KeyError as e:
    raise RuntimeError("second") from e
---
try:
    {}["a"]
except KeyError:
    undefined_name
---
x =
---
for i in range(3)
    print(i)
---
 print("indented")
---
import json
json.loads("{")
---
raise KeyError("a key")
---
class MyError(Exception): pass
raise MyError("mine", 2)
---
assert 1 == 2, "not equal"
---
[1, 2, 3][7]
---
"a" + 1
---
import sys
print("to stderr", file=sys.stderr)
---
sys.stdout.write("written\n")
---
print("no newline", end="")
---
print("a\rb\tc")
---
!echo from sh; echo more
---
!exit 3
---
_exit_code
---
y = !printf 'one\ntwo\n'
y
---
name = "world"
!echo hello $name {name.upper()} $$HOME_NOT
---
for i in range(2):
    !echo $i
---
%pwd
---
%cd /tmp
---
%cd -
---
%env KN_A=b
---
%env KN_A
---
%nosuch
---
%%nosuch
body
---
%%bash
echo out
---
%%bash
echo err >&2
---
%%bash
exit 2
---
%%writefile kn_written.txt
one
two
---
%%writefile -a kn_written.txt
three
---
open("kn_written.txt").read()
---
!rm kn_written.txt
---
%timeit -n1 -r1 1
---
%who_ls int
---
%%capture captured
print("inside")
7
---
captured.stdout
---
import asyncio
await asyncio.sleep(0.001)
"awaited"
---
async def h():
    await asyncio.sleep(0)
    raise ValueError("in a task")
await h()
---
async for z in (i async for i in (lambda: (_ async for _ in a()))()):
    pass
---
import os
n = os.system("echo by the system")
---
import subprocess
r = subprocess.run(["echo", "by a program"]).returncode
---
import threading
t = threading.Thread(target=lambda: print("in a thread")); t.start(); t.join()
---
from IPython.display import display, HTML, Markdown
HTML("<b>bold</b>")
---
display(1, "two", [3])
---
display(Markdown("# title"))
---
class P:
    def _repr_png_(self): return b"\x89PNG\r\n\x1a\n"
    def __repr__(self): return "a picture"
P()
---
class H:
    def _repr_html_(self): return "<i>i</i>"
H()
---
class B:
    def __repr__(self): raise ValueError("no repr")
B()
---
d = display("shown", display_id="same")
---
d.update("changed")
---
import matplotlib.pyplot as plt
plt.plot([1, 2, 3]);
---
input("question ")
---
sys.exit(3)
---
import this_is_not_there
---
from math import pi, tau
round(pi, 3), round(tau, 3)
---
lambda a: a
---
[int, len, f], {"t": str, "n": None}, {3, 1, 2}
---
[[], {}, (), set()], [[["deep" * 10] * 2] * 2]
---
list(range(1003))[-1], len(str(list(range(1003))))
---
[b"x", 1.0, None, "quote'd", 'double"d', "new\nline"]
---
range(5), enumerate([]).__class__.__name__
---
f?
---
nothing_here?
---
>>> 2 + 2
---
In [1]: 3 + 3
---
import warnings
warnings.warn("careful")
---
import collections
collections.OrderedDict(a=1), collections.Counter("aab"), collections.defaultdict(int, a=1)
---
import datetime, pathlib
datetime.date(2024, 1, 2), pathlib.Path("/tmp/x")
---
[[i * j for i in range(12)] for j in range(12)]
---
def long_function():
    a = 1
    b = 2
    c = 3
    d = 4
    e = 5
    raise OSError(2, "No such file", "name")
    f = 6
    return f

long_function()
---
%%time
pass
---
x: int = 3
x
---
if True:
    10
---
with open("/nonexistent/file") as fh:
    pass
---
eval("1 +")
---
print(*range(3), sep="\n")
---
help(len)
---
del x
x
---
from multiprocessing import Process
p = Process(target=print, args=("in a process",)); p.start(); p.join()
---
(lambda: 1/0)()
---
[1/i for i in (1, 0)]
'''.strip('\n').split('\n---\n')

# Why they differ, by the beginning of the cell.
REASONS = {
    '%timeit': 'a time',
    '%%time': 'a time',
    '%%bash\nexit 2': 'ipykernel shows frames of IPython\'s own files',
    'class H:': 'the address of an object',
    'f?': 'the name of the cell\'s file holds the process and a number',
    'input(': 'ipykernel shows frames of its own files',
    'sys.exit(3)': 'ipykernel warns with a line of IPython\'s own file',
    'eval("1 +")': 'ipykernel shows a frame of IPython\'s own',
    'class B:': 'ipykernel shows frames of IPython\'s own files',
    'import warnings': 'the name of the cell\'s file holds the process and a number',
}


def run(arguments, code):
    p = subprocess.run([os.environ['OD'], 'jupyter-bridge', '--json', '-t', '30', *arguments,
                        '-c', code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=60, check=False)
    try:
        r = json.loads(p.stdout)
    except ValueError:
        return 'no result: ' + p.stderr.decode()
    text = re.sub(r'Cell In \[(\d+)\]', r'Cell In[\1]', r['text'])
    return '%s %s\n%s' % (r['end'], [i[:60] for i in r['images']], text)


def reason(code):
    for begin, why in REASONS.items():
        if code.startswith(begin):
            return why
    return None


def main():
    equal, unknown = 0, 0
    print('| cell | why |\n| --- | --- |')
    theirs = [run(['-n', 'theirs', '--jupyter'], code) for code in CELLS]
    ours = [run(['-n', 'ours', '--embedded'], code) for code in CELLS]
    for code, a, b in zip(CELLS, theirs, ours):
        if a == b:
            equal += 1
            continue
        why = reason(code)
        unknown += why is None
        print('| `%s` | %s |' % (code.replace('\n', '⏎')[:60], why or '**not known**'))
        if '-v' in sys.argv or why is None:
            print('ipykernel:\n%s\nembedded:\n%s' % (a[:2500], b[:2500]), file=sys.stderr)
    print('\n%d of %d cells are equal' % (equal, len(CELLS)))
    return 0 if equal * 10 >= len(CELLS) * 9 and not unknown else 1


sys.exit(main())
