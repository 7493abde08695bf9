# SPDX-License-Identifier: MIT
#
# The embedded kernel: what every cell needs. Python 3.6 and later, the standard
# library only, and of that only what the interpreter has loaded or built in, so
# that it starts in little more than the interpreter's own time. The rest is in
# extra.py, compiled when a cell asks for it.
#
# It speaks Jupyter's messages (messaging document 5.3), one JSON object a line with
# its channel, on one descriptor; who started it owns descriptors 0, 1 and 2, sends
# what comes out of 1 and 2 as stream messages, and interrupts by SIGINT.
#
# Run with these globals: FD; EXTRA, the source of extra.py; code_of(name, source), the
# code of a source, which may lie in a file; FRESH, what it had to compile for that.
import _signal
import _thread
import builtins
import os
import sys
import time

try:
    from _json import encode_basestring_ascii as quoted, make_scanner

    class _Scan:
        strict, object_hook, object_pairs_hook = False, None, None
        parse_float, parse_int, parse_constant, memo = float, int, float, {}

    _scan = make_scanner(_Scan)

    def loads(text):
        return _scan(text, 0)[0]
except (ImportError, TypeError, AttributeError):
    from json import dumps as quoted, loads

NO_STDIN = 'raw_input was called, but this frontend does not support input requests.'
JOIN_BYTES, JOIN_SECONDS = 65536, 0.05
ONLY_AST, TOP_LEVEL_AWAIT, COROUTINE, FUTURES = 0x400, 0x2000, 0x80, 0x1ff0000


def dumps(value):
    """JSON of plain values; anything else as its text."""
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return 'null'
    if value is True or value is False:
        return 'true' if value else 'false'
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        text = float.__repr__(value)
        return text if text[-1] not in 'fn' else 'null'
    if isinstance(value, dict):
        return '{%s}' % ','.join(quoted(str(k)) + ':' + dumps(v) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return '[%s]' % ','.join(map(dumps, value))
    return quoted(str(value))


class StdinNotImplementedError(NotImplementedError):
    """Nobody is there to answer input()."""


class Wire:
    """Lines in, lines out. An interrupt never cuts one in two."""

    def __init__(self, fd):
        self.fd, self.left, self.lines, self.count = fd, b'', [], 0
        self.lock, self.session = _thread.RLock(), os.urandom(8).hex()
        self.held = False     # a line is on its way: the handler waits
        self.pending = False  # SIGINT came meanwhile

    def send(self, channel, kind, content, parent, metadata=None):
        now = time.time()
        with self.lock:
            self.count += 1
            self.tell('{"channel":"%s","header":{"msg_id":"%s_%d","session":"%s","username":"od",'
                    '"date":"%s.%06dZ","msg_type":"%s","version":"5.3"},"parent_header":%s,'
                    '"metadata":%s,"content":%s}\n' % (
                        channel, self.session, self.count, self.session,
                        time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now)),
                        int(now % 1 * 1e6), kind, dumps(parent), dumps(metadata or {}),
                        dumps(content)))

    def tell(self, text):
        data = memoryview(text.encode('ascii', 'backslashreplace'))
        with self.lock:
            mine = not self.held and _thread.get_ident() == MAIN
            if mine:
                self.held = True
            try:
                while data:
                    data = data[os.write(self.fd, data):]
            finally:
                if mine:
                    self.held = False
        if mine and self.pending:
            self.pending = False
            raise KeyboardInterrupt

    def line(self):
        """The next message; None at the end. Blocks."""
        while not self.lines:
            data = os.read(self.fd, 65536)
            if not data:
                return None
            parts = (self.left + data).split(b'\n')
            self.left = parts.pop()
            self.lines = [loads(p.decode('utf-8', 'replace')) for p in parts if p]
        return self.lines.pop(0)


class Raw:
    """sys.stdout.buffer: bytes for the descriptor itself."""

    def __init__(self, owner, fd):
        self.owner, self.fd, self.closed = owner, fd, False

    def write(self, data):
        self.owner.flush()
        left = memoryview(data).cast('B')
        n = len(left)
        while left:
            left = left[os.write(self.fd, left):]
        return n

    def flush(self):
        pass

    def fileno(self):
        return self.fd

    def writable(self):
        return True


class Out:
    """sys.stdout and sys.stderr: joins what comes quickly one after the other."""
    encoding, errors, newlines, closed = 'UTF-8', 'strict', None, False
    line_buffering = write_through = False
    mode = 'w'
    other = None  # the other one: what was written there first is sent first

    def __init__(self, name, fd):
        self.name, self.fd, self.parts, self.size = name, fd, [], 0
        self.of, self.last, self.waiting = {}, 0.0, False
        self.buffer = Raw(self, fd)

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError('write() argument must be str, not ' + type(text).__name__)
        if not text:
            return 0
        with wire.lock:
            parent = kernel.parent_now()
            if self.parts and self.of is not parent:
                self._flush()
            if self.other:
                self.other._flush()
            self.of = parent
            self.parts.append(text)
            self.size += len(text)
            now = time.monotonic()
            if self.size >= JOIN_BYTES or now - self.last > JOIN_SECONDS and '\n' in text:
                self._flush()
            elif not self.waiting:
                self.waiting = True
                _thread.start_new_thread(self._later, ())
        return len(text)

    def _later(self):
        time.sleep(JOIN_SECONDS)
        self.waiting = False
        self.flush()

    def _flush(self):
        if self.parts:
            text, self.parts, self.size = ''.join(self.parts), [], 0
            for i in range(0, len(text), JOIN_BYTES):
                wire.send('iopub', 'stream',
                          {'name': self.name, 'text': text[i:i + JOIN_BYTES]}, self.of)
            self.last = time.monotonic()

    def flush(self):
        with wire.lock:
            self._flush()

    def writelines(self, lines):
        for each in lines:
            self.write(each)

    def fileno(self):
        return self.fd

    def isatty(self):
        return False

    def writable(self):
        return True

    def readable(self):
        return False

    def seekable(self):
        return False

    def close(self):
        self.flush()

    def reconfigure(self, **_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.flush()


class Kernel:
    def __init__(self):
        self.parent = {}
        self.parents = {}    # of threads that a cell started: their cell's header
        self.count = 0       # cells with a number so far
        self.cells = 0       # cells so far: for their file names
        self.running = False
        self.flags = 0       # what cells imported from __future__
        self.loop = None     # asyncio's, once a cell awaited
        self.tasks = False   # the cell makes tasks: the loop must be running
        self.payload = []
        self.allow_stdin = False
        self.sources = {}    # file name: (cell's number, source)
        self.leaving = None  # False: the kernel ends after this message
        self.result = None   # a magic's way to fail: (ename, evalue)

    # ---- names that cells see

    def prepare(self):
        module = type(sys)('__main__')
        sys.modules['__main__'] = module
        self.ns = ns = module.__dict__
        self.inputs, self.outputs = [''], {}
        self.shown = {'_': '', '__': '', '___': ''}
        ns.update(__builtins__=builtins, In=self.inputs, _ih=self.inputs, Out=self.outputs,
                  _oh=self.outputs, _i='', _ii='', _iii='', exit=Exit(), quit=Exit(),
                  **self.shown)
        self.own = set(ns)
        builtins.input, builtins.display = self.input, display
        builtins.get_ipython = lambda: extra('Shell')()
        sys.displayhook = lambda value: self.show(value)
        os.environ.setdefault('MPLBACKEND', 'module://od_inline')
        sys.meta_path.insert(0, Finder)

    def parent_now(self):
        who = _thread.get_ident()
        return self.parent if who == MAIN else self.parents.get(who, self.parent)

    # ---- messages

    def publish(self, kind, content, metadata=None):
        self.flush()
        if os.getpid() != PID:  # a cell forked, and its child goes on
            return
        wire.send('iopub', kind, content, self.parent_now(), metadata)

    def serve(self):
        while self.leaving is None:
            message = wire.line() if wire.lines or not self.loop else self.idle()
            if message is None:
                return
            header = message.get('header') or {}
            kind, channel = header.get('msg_type', ''), message.get('channel', 'shell')
            if not kind.endswith('_request'):
                continue
            self.flush()
            self.parent = header
            if kind == 'execute_request':
                wire.tell('{"host":"cell"}\n')
            wire.send('iopub', 'status', {'execution_state': 'busy'}, header)
            content = message.get('content') or {}
            try:
                if kind == 'execute_request':
                    reply = self.execute(content)
                elif kind == 'kernel_info_request':
                    reply = self.info()
                elif kind == 'shutdown_request':
                    reply = {'status': 'ok', 'restart': bool(content.get('restart'))}
                    self.leaving = False
                else:
                    reply = extra('answer')(self, kind, content)
            except KeyboardInterrupt:
                reply = {'status': 'error', 'ename': 'KeyboardInterrupt', 'evalue': '',
                         'traceback': []}
            self.flush()
            if os.getpid() != PID:
                os._exit(0)
            if reply is not None:
                wire.send(channel, kind[:-7] + 'reply', reply, header)
            wire.send('iopub', 'status', {'execution_state': 'idle'}, header)

    def flush(self):
        sys.stdout.flush()
        sys.stderr.flush()

    def idle(self):
        """Waits for a message, and lets what cells left in the loop go on."""
        loop = self.loop

        def ready():
            loop.remove_reader(wire.fd)
            loop.stop()
        try:
            loop.add_reader(wire.fd, ready)
            loop.run_forever()
        except KeyboardInterrupt:
            loop.remove_reader(wire.fd)
        return wire.line()

    def info(self):
        v = '%d.%d.%d' % sys.version_info[:3]
        return {'status': 'ok', 'protocol_version': '5.3', 'implementation': 'od',
                'implementation_version': '1', 'banner': 'Python ' + sys.version,
                'help_links': [], 'supported_features': [],
                'language_info': {'name': 'python', 'version': v, 'mimetype': 'text/x-python',
                                  'file_extension': '.py', 'pygments_lexer': 'ipython3',
                                  'codemirror_mode': {'name': 'ipython', 'version': 3},
                                  'nbconvert_exporter': 'python'}}

    # ---- a cell

    def execute(self, content):
        code, silent = content.get('code', ''), bool(content.get('silent'))
        numbered = bool(content.get('store_history', True)) and not silent
        self.allow_stdin = bool(content.get('allow_stdin'))
        self.payload, self.result = [], None
        number = self.count + 1
        if code.strip():
            if not silent:
                wire.send('iopub', 'execute_input',
                          {'code': code, 'execution_count': number}, self.parent)
            self.number, self.silent = number, silent
            failed = self.run(code)
            if numbered:
                self.remember(code)
                self.count += 1
        else:
            failed, number = None, self.count
        if failed:
            if not silent and not self.result:
                self.publish('error', failed)
            reply = dict(failed, status='error')
        else:
            reply = {'status': 'ok', 'user_expressions': {}}
            for name, text in (content.get('user_expressions') or {}).items():
                reply['user_expressions'][name] = extra('expression')(self, text)
        reply.update(execution_count=number, payload=self.payload)
        return reply

    def remember(self, code):
        ns = self.ns
        self.inputs.append(code.rstrip('\n'))
        ns['_iii'], ns['_ii'], ns['_i'] = ns.get('_ii', ''), ns.get('_i', ''), self.inputs[-1]
        ns['_i%d' % (len(self.inputs) - 1)] = self.inputs[-1]

    def run(self, code):
        """Runs a cell; the content of its error message, or None."""
        _signal.signal(_signal.SIGINT, on_interrupt)  # whatever an earlier cell did
        self.running = True
        try:
            try:
                self.run_code(code)
                return None
            finally:
                if 'matplotlib.pyplot' in sys.modules:
                    extra('figures')(self)
        except KeyboardInterrupt as error:
            self.running = False
            return extra('failure')(self, error)
        except BaseException as error:  # SystemExit too: the kernel lives on
            self.running = False
            return extra('failure')(self, error)
        finally:
            self.running = wire.pending = False

    def run_code(self, code):
        self.cells += 1
        name = '/tmp/ipykernel_%d/%d.py' % (PID, self.cells)
        if needs_rewriting(code, self.ns):
            code = extra('rewrite')(self, code)
            if code is None:
                return
        self.sources[name] = (self.number, code)
        self.tasks = ('create_task(' in code or 'get_running_loop(' in code) and 'asyncio.run(' not in code
        if 'linecache' in sys.modules:
            extra('to_linecache')(name, code)
        self.run_source(code, name, self.ns)

    def run_source(self, code, name, ns, quiet=False):
        flags = self.flags | (TOP_LEVEL_AWAIT if sys.version_info >= (3, 8) else 0)
        tree = compile(code, name, 'exec', flags | ONLY_AST, True)
        last = tree.body[-1] if tree.body else None
        if last is None or type(last).__name__ != 'Expr' or ends_quietly(code):
            return self.run_tree(tree, name, 'exec', flags, ns)
        tree.body.pop()
        if tree.body:
            self.run_tree(tree, name, 'exec', flags, ns)
        from _ast import Expression
        value = self.run_tree(Expression(body=last.value), name, 'eval', flags, ns)
        if not quiet:
            sys.displayhook(value)
        return value

    def run_tree(self, tree, name, mode, flags, ns):
        code = compile(tree, name, mode, flags | self.flags, True)
        self.flags |= code.co_flags & FUTURES
        if code.co_flags & COROUTINE:
            return extra('wait_for')(self, eval(code, ns))
        return extra('in_loop')(self, code, ns) if self.tasks else eval(code, ns)

    def show(self, value):
        """The value of a cell."""
        if value is None or getattr(self, 'silent', False):
            return
        data, metadata = bundle(value)
        ns = self.ns
        if all(ns.get(k) is self.shown[k] for k in self.shown):
            self.shown = {'___': ns['__'], '__': ns['_'], '_': value}
            ns.update(self.shown)
        self.outputs[self.number] = ns['_%d' % self.number] = value
        if data:
            self.publish('execute_result', {'execution_count': self.number, 'data': data,
                                            'metadata': metadata})

    def input(self, prompt='', password=False):
        if not self.allow_stdin:
            raise StdinNotImplementedError(NO_STDIN)
        self.flush()
        wire.send('stdin', 'input_request', {'prompt': str(prompt), 'password': password},
                  self.parent)
        later = []
        try:
            while True:
                message = wire.line()
                if message is None:
                    raise EOFError('nobody is there to answer any more')
                if message.get('channel') == 'stdin':
                    value = (message.get('content') or {}).get('value', '')
                    if value == '\x04':
                        raise EOFError
                    return value
                later.append(message)
        except KeyboardInterrupt:
            raise KeyboardInterrupt('Interrupted by user') from None
        finally:
            wire.lines[:0] = later


class Exit:
    """exit, exit() and quit(): the kernel ends after this cell."""

    def __call__(self, keep_kernel=False):
        kernel.leaving = None if keep_kernel else False
        kernel.payload.append({'source': 'ask_exit', 'keepkernel': bool(keep_kernel)})

    def __repr__(self):
        self()
        return ''


class Finder:
    """Modules that programs for notebooks expect, also where IPython is installed: the
    real ones would speak to a shell of its own that is not there."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == 'linecache':  # inspect.getsource of this cell's functions needs it
            return with_cells(sys.modules['_frozen_importlib_external'].PathFinder.find_spec(name))
        if name == 'od_inline' or name == 'IPython' or name.startswith('IPython.'):
            return extra('shim')(name)
        return None


def with_cells(spec):
    """The spec of linecache, which has the sources of cells when it was loaded."""
    load = getattr(spec and spec.loader, 'exec_module', None)

    def load_more(module):
        load(module)
        for name, (_, code) in kernel.sources.items():
            module.cache[name] = (len(code), None, code.splitlines(True), name)
    try:
        if load:
            spec.loader.exec_module = load_more
    except AttributeError:
        pass
    return spec


def extra(name, have={}):
    if not have:
        have.update(__name__='od_kernel', kernel=kernel, wire=wire, display=display, dumps=dumps, bundle=bundle,
                    MAIN=MAIN, PID=PID, needs_rewriting=needs_rewriting, ends_quietly=ends_quietly)
        was, kernel.running = kernel.running, False
        exec(code_of('extra', EXTRA), have)
        keep_code()
        kernel.running = was
    return have[name]


def keep_code():
    """For the next kernel of this interpreter; a file is whole or not there."""
    from marshal import dumps as marshalled
    while FRESH:
        path, head, code = FRESH.pop()
        own = '%s.%d' % (path, PID)
        try:
            fd = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, 'wb') as file:
                file.write(head + marshalled(code))
            os.rename(own, path)
        except OSError:
            try:
                os.unlink(own)
            except OSError:
                pass


def bundle(value):
    """What is to be shown of a value: data and metadata by MIME type."""
    kind = type(value)
    if kind in (int, float, bool, complex):
        return {'text/plain': repr(value)}, {}
    if kind is str and len(value) < 70:
        return {'text/plain': repr(value)}, {}
    return extra('rich')(value)


def display(*values, **options):
    for value in values:
        extra('show')(value, options)
    if not values and options.get('display_id'):
        return extra('show')(None, options)
    if options.get('display_id'):
        return extra('handle')(options['display_id'])
    return None


def ends_quietly(code):
    """Whether the last line of code asks for no result, by a semicolon."""
    text = code.rstrip()
    if '#' in text[text.rfind('\n') + 1:] and ';' in text:
        return extra('ends_quietly_before_comment')(text)
    return text.endswith(';')


def needs_rewriting(code, ns):
    """Whether it may be more than Python: magics, !commands, prompts, help."""
    if code[0] in ' \t>\n' or '%' in code or '!' in code or '?' in code or 'In [' in code:
        return True
    first = code.split(None, 1)[0]
    return first in ('cd', 'ls', 'pwd', 'mkdir', 'rm', 'cp', 'mv', 'cat', 'll', 'rmdir', 'env',
                     'pip', 'who', 'whos', 'conda') and '\n' not in code.strip() and first not in ns


def on_interrupt(signum, frame):
    if not kernel.running:
        return
    if wire.held:
        wire.pending = True
    else:
        raise KeyboardInterrupt


MAIN, PID = _thread.get_ident(), os.getpid()
wire, kernel = Wire(FD), Kernel()
os.set_inheritable(FD, False)
# For the kernel's whole life: a default one would come back inside of asyncio.
_signal.signal(_signal.SIGINT, on_interrupt)
_signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)
sys.stdout, sys.stderr = Out('stdout', 1), Out('stderr', 2)
sys.stdout.other, sys.stderr.other = sys.stderr, sys.stdout
kernel.prepare()
keep_code()
try:
    kernel.serve()
finally:
    sys.stdout.flush()
    sys.stderr.flush()
