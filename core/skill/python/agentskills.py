# SPDX-License-Identifier: MIT
"""Files, editing, searches, documents and the web for agents: from agentskills import *

Every function prints; file_editor returns. They are od's: a server that runs is asked
over its socket (OD_SERVER, OD_SOCKET), else od itself is run. This is what
`od skills --python` prints.
"""

import json as _json
import os as _os
import shutil as _shutil
import socket as _socket
import stat as _stat
import struct as _struct
import subprocess as _subprocess
import sys as _sys
import time as _time
import uuid as _uuid

__all__ = [
    'open_file', 'goto_line', 'scroll_down', 'scroll_up', 'search_dir', 'search_file',
    'find_file', 'glob', 'grep', 'create_file', 'edit_file_by_replace',
    'insert_content_at_line', 'append_file', 'file_editor', 'parse_pdf', 'parse_docx',
    'parse_latex', 'parse_pptx', 'parse_html', 'parse_ipynb', 'parse_audio',
    'parse_image', 'parse_video', 'view', 'replace', 'insert', 'create', 'undo', 'search',
    'browse', 'execute_bash', 'goto', 'go_back',
    'go_forward', 'new_tab', 'tab_close', 'tab_focus', 'click', 'dblclick', 'hover',
    'fill', 'clear', 'select_option', 'press', 'focus', 'drag_and_drop', 'upload_file',
    'scroll', 'noop',
]

_OD = '@OD@'  # where the program was that printed this
_LOST_S = 60  # how long a server that was there is looked for
_DESCRIBE = 'Describe this image as detail as possible.'


class _NoServer(Exception):
    pass


# ---- the server ----


def _places():
    """Sockets in directories. Other servers, by name or abstract, are od's to find."""
    server, path = (_os.environ.get(name, '') for name in ('OD_SERVER', 'OD_SOCKET'))
    if server or path:
        given = server or (path if path[0] in '/@' else './' + path)
        return [given] if '/' in given and given[0] != '@' and '://' not in given else []
    runtime = _os.environ.get('XDG_RUNTIME_DIR', '')
    places = ['/tmp/od-%d' % _os.geteuid()]
    if runtime.startswith('/'):
        places.insert(0, runtime + '/od')
    return [place + '/sock' for place in places if _is_ours(place)]


def _is_ours(directory):
    try:
        at = _os.lstat(directory)
    except OSError:
        return False
    return _stat.S_ISDIR(at.st_mode) and at.st_uid == _os.geteuid()


def _reach(place):
    s = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        s.connect(place)
        peer = s.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        if _struct.unpack('3i', peer)[1] in (0, _os.geteuid()):
            return s
    except OSError:
        pass
    s.close()
    return None


def _connect():
    for place in _places():
        s = _reach(place)
        if s:
            return s
    raise _NoServer


def _take(s, n):
    parts = []
    while n:
        part = s.recv(min(n, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        n -= len(part)
    return b''.join(parts)


def _exchange(s, request):
    """The output's bytes and the result of a request. EOFError: the server went away."""
    body = _json.dumps(request).encode()
    s.sendall(_struct.pack('<IB', len(body), ord('Q')) + body)
    output = []
    while True:
        length, kind = _struct.unpack('<IB', _take(s, 5))
        payload = _take(s, length)
        if kind == ord('O'):
            output.append(payload[8:])
        elif kind == ord('R'):
            return b''.join(output), _json.loads(payload.decode())


def _ask(request):
    """The same under one id, over as many connections as that takes."""
    request = dict(request, v=1, id=_uuid.uuid4().hex)
    s = _connect()
    lost = None
    while True:
        try:
            with s:
                output, result = _exchange(s, request)
            break
        except (EOFError, OSError) as why:
            lost = lost or _time.monotonic() + _LOST_S
            while True:
                if _time.monotonic() > lost:
                    raise RuntimeError('the connection to od was lost: %s' % why)
                try:
                    s = _connect()
                    break
                except _NoServer:
                    _time.sleep(0.05)
    if not result.get('ok'):
        raise RuntimeError(result.get('error', {}).get('text', 'od refused'))
    return output.decode('utf-8', 'replace'), result


def _lints():
    return _os.environ.get('ENABLE_AUTO_LINT', '').lower() == 'true'


def _session():
    return _os.environ.get('OD_SESSION') or 'main'


# ---- or the program ----


def _program():
    for name in (_OD, _shutil.which('od-skills')):
        if name and _os.access(name, _os.X_OK):
            return name
    raise RuntimeError('no server of od is running, and there is no %s to run' % _OD)


def _run_od(name, args):
    argv = [_program(), 'skills', '--json', '--args', '-', name]
    if _os.path.basename(argv[0]) == 'od-skills':
        del argv[1]
    done = _subprocess.run(argv, input=_json.dumps(args).encode(),
                           stdout=_subprocess.PIPE, stderr=_subprocess.PIPE)
    if done.returncode not in (0, 1):
        why = done.stderr.decode('utf-8', 'replace').strip()
        raise RuntimeError(why or 'od skills: status %d' % done.returncode)
    return _json.loads(done.stdout.decode())['text']


def _call(name, args):
    for key, value in args.items():
        if isinstance(value, _os.PathLike):
            args[key] = _os.fspath(value)
    try:
        return _ask({'do': 'skill', 'skill': name, 'args': args, 'session': _session(),
                     'cwd': _os.getcwd(), 'home': _os.path.expanduser('~'), 'lint': _lints()})[0]
    except _NoServer:
        return _run_od(name, args)


def _print(name, args):
    _sys.stdout.write(_call(name, args))
    _sys.stdout.flush()


# ---- windows ----


def open_file(path, line_number=1, context_lines=100):
    """Shows a file's lines around a line, and remembers the file."""
    _print('open_file', locals())


def goto_line(line_number):
    """Shows the open file around a line."""
    _print('goto_line', locals())


def scroll_down():
    """Shows the next 100 lines of the open file."""
    _print('scroll_down', {})


def scroll_up():
    """Shows the 100 lines before those."""
    _print('scroll_up', {})


# ---- searches ----


def search_dir(search_term, dir_path='./'):
    """Finds a text in all files of a folder."""
    _print('search_dir', locals())


def search_file(search_term, file_path=None):
    """Finds a text in a file; without one, in the open one."""
    _print('search_file', locals())


def find_file(file_name, dir_path='./'):
    """Finds files by a part of their name."""
    _print('find_file', locals())


def glob(pattern, path=None):
    """Finds files by a shell pattern, the newest first."""
    _print('glob', locals())


def grep(pattern, path=None, include=None):
    """Finds files with a line that matches a regular expression."""
    _print('grep', locals())


# ---- edits ----


def create_file(filename):
    """Makes a new file and opens it."""
    _print('create_file', locals())


def edit_file_by_replace(file_name, to_replace, new_content):
    """Replaces the lines that have a text by others."""
    _print('edit_file_by_replace', locals())


def insert_content_at_line(file_name, line_number, content):
    """Inserts lines before a line."""
    _print('insert_content_at_line', locals())


def append_file(file_name, content):
    """Adds lines at the end of a file."""
    _print('append_file', locals())


def file_editor(command, path, file_text=None, view_range=None, old_str=None,
                new_str=None, insert_line=None, enable_linting=False):
    """Returns what view, create, str_replace, insert or undo_edit did."""
    return _call('file_editor', locals())


# ---- documents ----


def parse_pdf(file_path):
    """Prints the text of a PDF file."""
    _print('parse_pdf', locals())


def parse_docx(file_path):
    """Prints the text of a Word file."""
    _print('parse_docx', locals())


def parse_latex(file_path):
    """Prints the text of a LaTeX file."""
    _print('parse_latex', locals())


def parse_pptx(file_path):
    """Prints the text of a PowerPoint file."""
    _print('parse_pptx', locals())


def parse_html(file_path):
    """Prints the text of an HTML file."""
    _print('parse_html', locals())


def parse_ipynb(file_path):
    """Prints the cells of a notebook."""
    _print('parse_ipynb', locals())


def parse_audio(file_path, model='whisper-1'):
    """Prints the facts of a sound file, and its data."""
    _print('parse_audio', locals())


def parse_image(file_path, task=_DESCRIBE):
    """Prints the facts of a picture, and its data."""
    _print('parse_image', locals())


def parse_video(file_path, task=_DESCRIBE, frame_interval=30):
    """Prints the facts of a film, and its data."""
    _print('parse_video', locals())


# ---- for models that call tools ----


def view(path, offset=1, limit=None):
    """Shows a file as numbered lines, a document as text, or a folder."""
    _print('view', locals())


def replace(path, old_string, new_string, replace_all=False, whole_lines=False):
    """Replaces a text in a file, which has it once."""
    _print('replace', locals())


def insert(path, line, text):
    """Inserts lines behind a line of a file."""
    _print('insert', locals())


def create(path, content):
    """Makes a file, or replaces its whole content."""
    _print('create', locals())


def undo(path):
    """Takes back the last change of a file by replace, insert or create."""
    _print('undo', locals())


def search(pattern=None, path='.', glob=None, context=0, ignore_case=False, literal=False,
           all=False, limit=100):
    """Finds lines that match a regular expression, or files by name."""
    _print('search', locals())


# ---- the web ----


def browse(actions='', page=1):
    """Acts in the session's browser, and prints the page; without actions it only looks."""
    _print('browse', {'actions': actions, 'page': page})


def _act(name, *args):
    browse('%s(%s)' % (name, ', '.join(repr(a) for a in args)))


def goto(url):
    """Opens an address."""
    _act('goto', str(url))


def go_back():
    """Goes to the page before."""
    _act('go_back')


def go_forward():
    """Goes to the page from which it went back."""
    _act('go_forward')


def new_tab():
    """Opens a blank tab."""
    _act('new_tab')


def tab_close():
    """Closes the tab."""
    _act('tab_close')


def tab_focus(index):
    """Shows the tab with this number, from 0."""
    _act('tab_focus', index)


def click(bid, button='left', modifiers=()):
    """Clicks an element."""
    _act('click', str(bid), button, list(modifiers))


def dblclick(bid, button='left', modifiers=()):
    """Clicks an element twice."""
    _act('dblclick', str(bid), button, list(modifiers))


def hover(bid):
    """Moves the pointer over an element."""
    _act('hover', str(bid))


def fill(bid, value):
    """Replaces the text of a field."""
    _act('fill', str(bid), str(value))


def clear(bid):
    """Empties a field."""
    _act('clear', str(bid))


def select_option(bid, options):
    """Chooses by value or label; a list for several."""
    _act('select_option', str(bid), options)


def press(bid, key_comb):
    """Presses keys on an element, as Control+a."""
    _act('press', str(bid), key_comb)


def focus(bid):
    """Puts an element in focus."""
    _act('focus', str(bid))


def drag_and_drop(from_bid, to_bid):
    """Drags one element onto another."""
    _act('drag_and_drop', str(from_bid), str(to_bid))


def upload_file(bid, file):
    """Gives a field a file, or a list of files."""
    files = [_os.path.abspath(f) for f in ([file] if isinstance(file, (str, _os.PathLike)) else file)]
    _act('upload_file', str(bid), files)


def scroll(delta_x, delta_y):
    """Turns the wheel."""
    _act('scroll', delta_x, delta_y)


def noop(wait_ms=1000):
    """Waits."""
    _act('noop', wait_ms)


# ---- a shell ----


def execute_bash(command, timeout=120):
    """Runs a command in a shell that stays, and prints its output."""
    try:
        result = _ask({'do': 'run', 'session': _session() + '-agentskills',
                       'command': command, 'cwd': _os.getcwd(), 'text': True,
                       'on_input': 'return', 'timeout_ms': int(timeout * 1000)})[1]
        text, status = result.get('output', ''), result.get('exit')
    except _NoServer:
        shell = _shutil.which('bash') or '/bin/sh'
        try:
            done = _subprocess.run([shell, '-c', command], stdin=_subprocess.DEVNULL,
                                   stdout=_subprocess.PIPE, stderr=_subprocess.STDOUT,
                                   timeout=timeout)
            text, status = done.stdout.decode('utf-8', 'replace'), done.returncode
        except _subprocess.TimeoutExpired as why:
            text, status = (why.stdout or b'').decode('utf-8', 'replace'), None
    if text and not text.endswith('\n'):
        text += '\n'
    if status is None:
        text += '[The command has no new output after %g seconds.]\n' % timeout
    elif status:
        text += '[The command completed with exit code %d.]\n' % status
    _sys.stdout.write(text)
    _sys.stdout.flush()
